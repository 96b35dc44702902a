"""`proto ask`: a question or an order in English; its program, and what comes of executing it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from program_guided.cli.parsing import asks_for_help, own_options, parse, select
from program_guided.cli.tasks import command_of, with_options
from program_guided.errors import UsageError
from program_guided.output import Flag, OptionalText, print_json
from program_guided.registry import SHIPPED

if TYPE_CHECKING:
    from program_guided.tasks.parser import Asked

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Ask in English: a parser makes a program of the question, and a learned executor executes it.

Options that belong to a task are shown with a parser of it: proto ask "..." --parser PARSER --help"""
SURE = 0.8
"""Confidence below which alternatives are shown."""


@dataclass(frozen=True)
class Selection:
    """A question, and who reads and executes it."""

    question: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="QUESTION")] = ()
    """The question, in quotes."""
    parser: OptionalText = None
    """A parser (a folder that 'proto train parser' wrote, or a shipped one by name); by default the shipped one that is
    surest of the question."""
    agent: OptionalText = None
    """Who executes the program, as for 'proto run'; by default the shipped checkpoint of the task."""
    task: OptionalText = None
    """The parser's task, if it is a file of one's own; or the task that is meant, among shipped parsers."""
    program_only: Flag = False
    """Print the program, and execute nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    chosen = select(Selection, arguments, "proto ask")
    if not chosen.question:
        if asks_for_help(arguments):
            parse("proto ask", DESCRIPTION, arguments, {"selection": Selection()})
        raise UsageError('name the question before the options, as in: proto ask "Is the bag red?" --seed 3')
    asked = _read(" ".join(chosen.question), chosen)
    command = command_of(asked.task, "run")
    parts = {"selection": Selection(), "running": command, **own_options(asked.task, command)}
    options = parse("proto ask", DESCRIPTION, arguments, parts)
    agent = chosen.agent or _shipped(asked.task.task_name)
    figures = _figures(asked)
    if not options.running.json:
        _print(asked)
    if not asked.understood or agent is None or chosen.program_only:
        if options.running.json:
            print_json(figures)
        elif agent is None and asked.understood and not chosen.program_only:
            print(f"nothing was executed: no executor of {asked.task.task_name} ships; name one with --agent")
        return int(not asked.understood)
    task = with_options(asked.task, getattr(options, "task_options", None))
    program = asked.reading.program
    if not options.running.json:
        return int(options.running.run(task, Path("<question>"), program, agent))
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = options.running.run(task, Path("<question>"), program, agent)
    print_json({**figures, "execution": json.loads(printed.getvalue())})
    return int(code)


def _read(question: str, chosen: Selection) -> Asked:
    from program_guided.tasks.parser import ask

    return ask(question, chosen.parser, chosen.task)


def _shipped(name: str) -> str | None:
    return name if (SHIPPED / name).is_dir() else None


def _figures(asked: Asked) -> dict[str, Any]:
    return {
        "question": asked.reading.question,
        "task": asked.task.task_name,
        "understood": asked.understood,
        "confidence": asked.confidence,
        "program": asked.program,
        "alternatives": [
            {"program": program, "log_probability": each.log_probability}
            for program, each in zip(asked.alternatives, asked.reading.alternatives, strict=True)
        ],
        "unknown": dict(asked.reading.unknown),
    }


def _print(asked: Asked) -> None:
    """The program; where the parser is unsure, also what else it may be, and the words that it does not know."""
    if not asked.understood:
        print(f"not understood (confidence {asked.confidence:.2f})")
    for word, near in asked.reading.unknown.items():
        print(f"unknown word {word!r}" + (f": did you mean {' or '.join(map(repr, near))}?" if near else ""))
    if asked.program is not None:
        print(f"{'program' if asked.understood else 'best guess'} (confidence {asked.confidence:.2f}):")
        print(_indented(asked.program))
    if asked.confidence < SURE:
        for program in asked.alternatives[1:3]:
            print("or:")
            print(_indented(program))


def _indented(program: str) -> str:
    return "\n".join(f"  {line}" for line in program.splitlines())
