"""`proto run`: execute a program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from program_guided.cli.parsing import asks_for_help, own_options, parse, select
from program_guided.cli.tasks import (
    BUILT_IN,
    Source,
    command_of,
    is_checkpoint,
    named_task,
    program_of,
    read_source,
    task_of_agents,
    with_options,
)
from program_guided.errors import DataError, UsageError
from program_guided.language.syntax import Program
from program_guided.output import OptionalText
from program_guided.registry import DEFAULT_TASK, SHIPPED
from program_guided.shipped import example, written_seed

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Execute a program with a learned executor, or with a built-in agent.

Options that belong to a task are shown with a program of it: proto run bridge --help"""

AS_IN = "as in: proto run bridge --seed 1 (proto examples lists what there is)"
NO_PROGRAM = f"name a program before the options, {AS_IN}"


@dataclass(frozen=True)
class Selection:
    """A program, and who executes it."""

    file: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PROGRAM")] = ()
    """File that holds the program, the name of an example, or - for standard input; its language tells its task."""
    program: OptionalText = None
    """The program itself, instead of a file, as in: --program "mine(gold); sell(gold)"."""
    agent: OptionalText = None
    """A checkpoint (a folder that 'proto train' wrote, or a shipped one by name), or a built-in agent of the task:
    oracle; in a world planner, random. Left out, the shipped checkpoint with the task's name."""
    task: OptionalText = None
    """A built-in or installed task, path/to/file.py, or module:Class; left out, that of the checkpoint or program."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    chosen = select(Selection, arguments, "proto run")
    file = next((each for each in chosen.file if example(each).exists()), next(iter(chosen.file), None))
    of_split = file is None and chosen.program is None and any(each.split("=")[0] == "--split" for each in arguments)
    if (file is None) == (chosen.program is None) and not of_split:
        if asks_for_help(arguments):
            parse("proto run", DESCRIPTION, arguments, {"selection": Selection()})
        raise UsageError(NO_PROGRAM if file is None else f"give a file or --program, not both, {AS_IN}")
    named = None
    if chosen.task is not None or (chosen.agent is not None and is_checkpoint(chosen.agent)):
        named = task_of_agents(() if chosen.agent is None else (chosen.agent,), chosen.task)
    if of_split:
        source, task, program = Source(Path("<split>"), ""), named or named_task(DEFAULT_TASK), Program(())
    else:
        source = read_source(file, chosen.program)
        task, program = program_of(source, named)
    agent = chosen.agent or _shipped(task)
    kind = command_of(task, "run")
    if of_split and not getattr(kind, "FINDS_PROGRAMS", False):
        raise UsageError(NO_PROGRAM)
    command = _with_seed(kind, source.text)
    parts = {"selection": Selection(), "running": command, **own_options(task, command)}
    options = parse("proto run", DESCRIPTION, arguments, parts)
    if len(options.selection.file) > 1:
        raise UsageError(f"one program at a time, not {shlex.join(map(str, options.selection.file))}")
    given = with_options(task, getattr(options, "task_options", None))
    return int(options.running.run(given, source.path, program, agent))


def _with_seed(command: Any, text: str) -> Any:
    """The command, with the seed that the program names as its default."""
    seed = written_seed(text)
    has_seed = any(each.name == "seed" for each in fields(command))
    return command(seed=seed) if seed is not None and has_seed else command()


def _shipped(task: type) -> str:
    name = str(getattr(task, "name", ""))
    if not (SHIPPED / name).is_dir():
        trained = f"a folder that 'proto train {task.given or name}' wrote"  # type: ignore[attr-defined]
        raise DataError(f"name an agent with --agent: {trained}, or a built-in one ({', '.join(BUILT_IN)})")
    return name
