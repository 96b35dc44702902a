"""`proto run`: execute a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from program_guided.cli.parsing import asks_for_help, own_options, parse, select
from program_guided.cli.tasks import command_of, program_of, task_of_agents, with_options
from program_guided.errors import DataError
from program_guided.output import OptionalText
from program_guided.registry import SHIPPED

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Execute a program with a learned executor, or with a built-in agent.

Options that belong to a task are shown with a program of it: proto run PROGRAM --help"""


@dataclass(frozen=True)
class Selection:
    """A program, and who executes it."""

    program: tyro.conf.Positional[Path]
    """File that holds the program; its language tells its task."""
    agent: OptionalText = None
    """A checkpoint (a folder that 'proto train' wrote, or a shipped one by name), or a built-in agent of the task:
    planner, random. Left out, the shipped checkpoint with the task's name."""
    task: OptionalText = None
    """A built-in or installed task, path/to/file.py, or module:Class; left out, that of the checkpoint or program."""


@dataclass(frozen=True)
class Partly(Selection):
    """The same, where it may be missing."""

    program: tyro.conf.Positional[tuple[Path, ...]] = ()  # type: ignore[assignment]


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    chosen = select(Partly, arguments)
    if not chosen.program:
        if asks_for_help(arguments):
            parse("proto run", DESCRIPTION, arguments, {"selection": Selection})
        raise DataError("name the program before the options, as in: proto run program.prg --seed 1")
    named = None
    if chosen.task is not None or (chosen.agent is not None and _is_checkpoint(chosen.agent)):
        named = task_of_agents((chosen.agent or "",), chosen.task)
    task, program = program_of(chosen.program[0], named)
    agent = chosen.agent or _shipped(task)
    command = command_of(task, "run")
    parts = {"selection": Selection, "running": command, **own_options(task, command)}
    options = parse("proto run", DESCRIPTION, arguments, parts)
    given = with_options(task, getattr(options, "task_options", None))
    return int(options.running.run(given, chosen.program[0], program, agent, chosen.task))


def _is_checkpoint(agent: str) -> bool:
    return Path(agent).is_dir() or (SHIPPED / agent).is_dir()


def _shipped(task: type) -> str:
    name = str(getattr(task, "name", ""))
    if not (SHIPPED / name).is_dir():
        raise DataError(f"name an agent: a folder that 'proto train {task.given or name}' wrote")  # type: ignore[attr-defined]
    return name
