"""Resolution of the task: named by the user, recorded in a checkpoint, or given by a program's language."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from program_guided.errors import DataError, ProgramError
from program_guided.language.syntax import Program
from program_guided.registry import DEFAULT_TASK, SHIPPED, known_tasks, load_task, remember

__all__ = [
    "Source",
    "command_of",
    "is_checkpoint",
    "named_task",
    "program_of",
    "read_source",
    "task_of_agents",
    "with_options",
]


def named_task(given: str) -> Any:
    """A task that the user has named."""
    task = load_task(given)
    remember(given)
    return task()


def task_of_agents(agents: Sequence[str], given: str | None) -> Any:
    """The task that agents are measured in, with its options: that of the first checkpoint, which may have to be
    named."""
    from program_guided.learning.checkpoint import find, read_checkpoint
    from program_guided.tasks.executor import trained_task

    if given is not None:
        named_task(given)
    checkpoints = [name for name in agents if is_checkpoint(name)]
    if checkpoints:
        return trained_task(read_checkpoint(checkpoints[0]), given)
    unknown = [name for name in agents if name not in BUILT_IN and not name.endswith(".json")]
    if unknown and given is None:
        find(unknown[0])
    symbolic = any(name in SYMBOLIC for name in agents)
    return named_task(given or (SYMBOLIC_TASK if symbolic else DEFAULT_TASK))


def is_checkpoint(agent: str) -> bool:
    """Whether an agent is a folder, or a checkpoint that ships."""
    return agent not in ("", *BUILT_IN) and (Path(agent).is_dir() or (SHIPPED / agent).is_dir())


SYMBOLIC, SYMBOLIC_TASK = ("symbolic", "symbolic-majority", "symbolic-repair"), "visual"
"""Agents that execute programs on a detector's labels, and the one task that has them."""
BUILT_IN = ("oracle", "planner", "random", *SYMBOLIC)
"""Agents that are no checkpoints."""


class Source(NamedTuple):
    """The text of a program, and where it is from."""

    path: Path
    text: str


def read_source(file: Path | None, program: str | None = None) -> Source:
    """A program as a user gives it: a file, the name of an example, `-` for standard input, or the text itself."""
    from program_guided.language.domain import unknown
    from program_guided.language.parser import decoded, read_text
    from program_guided.shipped import EXAMPLES, example

    if file is None:
        return Source(Path("<program>"), program or "")
    if str(file) == "-":
        name = "<standard input>"
        return Source(Path(name), decoded(sys.stdin.buffer.read(), name))
    path = example(file)
    if path.suffix == ".py":
        raise DataError(f"{file}: is no program; if it is a task: proto train {file}")
    if not path.exists() and path.name == str(path):
        names = [each.stem for each in EXAMPLES.glob("*.prg")]
        problem = unknown("example", str(file), names)
        raise DataError(f"{problem} (there is no such file either; proto examples lists what there is)")
    return Source(path, read_text(path))


def program_of(source: Source, task: Any | None) -> tuple[Any, Program]:
    """A program and its task: the named one, else the one in whose language it is written."""
    if task is not None:
        try:
            return task, _parsed(task, source)
        except ProgramError as error:
            other = _written_for(source, task)
            if other is None:
                raise
            raise DataError(f"{source.path}: is a program of {other}, not of {task.task_name}") from error
    problems: list[ProgramError] = []
    for name in _by_default():
        candidate = load_task(name)()
        try:
            return candidate, _parsed(candidate, source)
        except ProgramError as error:
            problems.append(error)
    nearest = min(problems, key=lambda error: len(error.problems))
    if any(problem.message.startswith("unknown operation") for problem in nearest.problems):
        nearest.advice = "if it is a program of a task of your own, name that: --task FILE.py"
    raise nearest


def _written_for(source: Source, task: Any) -> str | None:
    """Another task in whose language a program is written."""
    for name in _by_default():
        candidate = load_task(name)()
        if candidate.task_name != task.task_name:
            with suppress(ProgramError):
                _parsed(candidate, source)
                return name
    return None


def _by_default() -> Iterator[str]:
    yield DEFAULT_TASK
    yield from (name for name in known_tasks() if name != DEFAULT_TASK)


def _parsed(task: Any, source: Source) -> Program:
    return task.parse(source.text, str(source.path))


def command_of(task: Any, name: str) -> Any:
    """The class of what a command does for a task."""
    import importlib

    if name not in task.commands:
        there = ", ".join(task.commands)
        raise DataError(f"{task.task_name} has no command '{name}'; it has {there}")
    module, _, attribute = task.commands[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def with_options(task: Any, options: Any | None) -> Any:
    """A task with the options that were given."""
    return task if options is None else replace(task, **vars(options))
