"""Trained parsers of tasks: `program_guided.ask` and `proto ask`.

answer = ask("Is the bag to the left of the bottle red?", parser="out/visual-parser-0")
answer.program, answer.confidence, answer.alternatives
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.language.printer import print_program
from program_guided.learning.checkpoint import CONFIG, WEIGHTS, find
from program_guided.learning.networks import read_network
from program_guided.learning.parser import Parser, Reading
from program_guided.learning.translation import KIND
from program_guided.registry import SHIPPED, load_task, named_before
from program_guided.tasks.base import TaskBase

__all__ = ["Asked", "ask", "load_parser", "shipped_parsers", "understand"]


@dataclass(frozen=True)
class Asked:
    """A question as a task's parser reads it."""

    task: TaskBase
    reading: Reading

    @property
    def understood(self) -> bool:
        return self.reading.understood

    @property
    def confidence(self) -> float:
        return self.reading.confidence

    @property
    def program(self) -> str | None:
        """The program, or the best guess if the question was not understood."""
        return self.alternatives[0] if self.reading.alternatives else None

    @property
    def alternatives(self) -> list[str]:
        """Programs that the question may mean, the most likely one first."""
        return [print_program(each.program, self.task.domain) for each in self.reading.alternatives]


def task_of(config: Any, folder: Path, given: str | None) -> Any:
    """The task of a parser; code is run only if the user named it."""
    named = given or str(config.get("given", ""))
    if given is None and not named_before(named):
        raise DataError(f"{folder}: the parser is of the task {named}; name it, as in: --task {named}")
    return load_task(named)()


def load_parser(name: Path | str, task: str | None = None) -> tuple[TaskBase, Parser]:
    """A trained parser, from a folder or a shipped one by name, and its task."""
    folder = find(name)
    path = folder / WEIGHTS
    return _loaded(folder, task, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=8)
def _loaded(folder: Path, task: str | None, modified: int) -> tuple[TaskBase, Parser]:
    """The same, kept until the weights change."""
    saved = read_network(folder, KIND)
    owner = task_of(saved.config, saved.folder, task)
    return owner, Parser.restored(saved, owner.domain)


def shipped_parsers() -> list[str]:
    """Names of the parsers that ship."""
    return sorted(each.parent.name for each in SHIPPED.glob(f"*-{KIND}/{CONFIG}"))


def understand(question: str, parsers: Sequence[Path | str], task: str | None = None) -> Asked:
    """The reading of the parser that is surest of the question."""
    read = [(owner, parser.read([question])[0]) for owner, parser in (load_parser(each, task) for each in parsers)]
    return Asked(*max(read, key=lambda each: (each[1].understood, each[1].confidence)))


def ask(question: str, parser: Path | str | None = None, task: str | None = None) -> Asked:
    """The program that a question means, with alternatives and how sure the parser is. Without `parser`, the surest of
    those that ship; `task`: of those of this task."""
    if parser is not None:
        return understand(question, [parser], task)
    shipped = [each for each in shipped_parsers() if task in (None, load_parser(each)[0].task_name)]
    if not shipped:
        whose = f" of {task}" if task else ""
        raise DataError(f"no parser{whose} ships; train one (proto train parser TASK), and name it (--parser FOLDER)")
    return understand(question, shipped)
