"""Resolution of the task: named by the user, recorded in a checkpoint, or given by a program's language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from program_guided.errors import DataError, ProgramError
from program_guided.language.syntax import Program
from program_guided.registry import DEFAULT_TASK, SHIPPED, known_tasks, load_task, remember

__all__ = ["command_of", "named_task", "program_of", "task_of_agents", "with_options"]


def named_task(given: str) -> Any:
    """The class of a task that the user has named."""
    task = load_task(given)
    remember(given)
    return task


def task_of_agents(agents: Sequence[str], given: str | None) -> Any:
    """The class of the task that agents are measured in: the named one, else that of the first checkpoint."""
    if given is not None:
        return named_task(given)
    from program_guided.learning.checkpoint import find, read_checkpoint
    from program_guided.tasks.executor import task_of

    for name in agents:
        if Path(name).exists() or (SHIPPED / name).is_dir():
            with suppress(NotADirectoryError):
                if Path(name).is_file():
                    continue
                return task_of(read_checkpoint(name))
    unknown = [name for name in agents if name not in BUILT_IN and not name.endswith(".json")]
    if unknown:
        find(unknown[0])
    return load_task(DEFAULT_TASK)


BUILT_IN = ("oracle", "planner", "random")
"""Agents that are no checkpoints."""


def program_of(path: Path, task: Any | None) -> tuple[Any, Program]:
    """A program and the class of its task: the named one, else the one in whose language it is written."""
    text = _read(path)
    if task is not None:
        return task, _parsed(task, text, path)
    problems: list[ProgramError] = []
    for name in _by_default():
        candidate = load_task(name)
        try:
            return candidate, _parsed(candidate, text, path)
        except ProgramError as error:
            problems.append(error)
    raise min(problems, key=lambda error: len(error.problems))


def _by_default() -> Iterator[str]:
    yield DEFAULT_TASK
    yield from (name for name in known_tasks() if name != DEFAULT_TASK)


def _parsed(task: Any, text: str, path: Path) -> Program:
    return task().parse(text, str(path))


def _read(path: Path) -> str:
    from program_guided.language.parser import read_text

    return read_text(path)


def command_of(task: Any, name: str) -> Any:
    """The class of what a command does for a task."""
    import importlib

    if name not in task.commands:
        there = ", ".join(task.commands)
        raise DataError(f"{task.name or task.__name__.lower()} has no command '{name}'; it has {there}")
    module, _, attribute = task.commands[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def with_options(task: Any, options: Any | None) -> Any:
    """A task with the options that were given."""
    if options is None:
        return task()
    return task(**{each.name: getattr(options, each.name) for each in fields(options)})
