"""`proto dataset`: make, index or describe the data of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import tyro

from program_guided.cli.parsing import asks_for_help, own_options, parse, select
from program_guided.cli.tasks import command_of, named_task, with_options
from program_guided.errors import UsageError
from program_guided.registry import DEFAULT_TASK

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Make, index or describe what is learned from.

Options that belong to a task are shown with it: proto dataset stats TASK --help"""
Action = Literal["build", "index", "stats"]


@dataclass(frozen=True)
class Selection:
    """The action, and the task whose data it is for."""

    action: tyro.conf.Positional[Action]
    """build: make the data anew from its seed. index: read data once into a compact index. stats: describe them."""
    task: tyro.conf.Positional[str] = DEFAULT_TASK
    """A built-in or installed task, path/to/file.py, or module:Class."""


@dataclass(frozen=True)
class PartialSelection:
    """The same, where it may be missing."""

    words: tyro.conf.Positional[tuple[str, ...]] = ()


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words = select(PartialSelection, arguments, "proto dataset").words
    if not words or words[0] not in get_args(Action):
        if asks_for_help(arguments) or words:
            parse("proto dataset", DESCRIPTION, arguments, {"selection": Selection})
        raise UsageError("say what to do before the options, as in: proto dataset stats")
    task = named_task(words[1] if len(words) > 1 else DEFAULT_TASK)
    kind = command_of(task, words[0])
    parts = {"selection": Selection, "doing": kind, **own_options(task, kind)}
    options = parse("proto dataset", DESCRIPTION, arguments, parts)
    given = with_options(task, getattr(options, "task_options", None))
    return int(options.doing.run(given))
