"""A domain: the table of operations a language speaks of. Data only; nothing here knows what they mean.

    Operation("mine", (Choice("object", ("gold", "wood")),), output="Action")

Adding an operation, an object or a whole task is adding rows.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import final

from program_guided.errors import quote
from program_guided.language.syntax import Word

__all__ = [
    "BOOLEAN",
    "Choice",
    "Domain",
    "Mismatch",
    "Number",
    "Operation",
    "Parameter",
    "Text",
    "fold",
    "listed",
    "nearest",
    "unknown",
]

BOOLEAN = "Boolean"
"""The result type that a condition must have."""

LONGEST_GUESS = 40


def fold(name: str) -> str:
    """`BuildBridge`, `build_bridge` and `BUILD BRIDGE` are one name."""
    return name.replace("_", "").replace(" ", "").lower()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that someone probably meant."""
    by_folded = {fold(candidate): candidate for candidate in known}
    close = difflib.get_close_matches(fold(name), by_folded, n=1, cutoff=0.6) if len(name) <= LONGEST_GUESS else []
    return by_folded[close[0]] if close else None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown object 'glod': did you mean 'gold'?`"""
    close = nearest(name, known)
    return f"unknown {what} {quote(name)}" + (f": did you mean '{close}'?" if close else "")


def listed(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


class Mismatch(Exception):
    """An argument that its parameter does not take."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected


@dataclass(frozen=True)
class Parameter(ABC):
    """One argument of an operation."""

    name: str

    @abstractmethod
    def read(self, text: str) -> Word:
        """The argument in its canonical form, or `Mismatch`."""


@final
@dataclass(frozen=True)
class Choice(Parameter):
    """One of a closed list of words, in any spelling that folds to it."""

    words: tuple[str, ...] = ()

    @cached_property
    def _by_folded(self) -> dict[str, str]:
        return {fold(word): word for word in self.words}

    def read(self, text: str) -> Word:
        word = self._by_folded.get(fold(text))
        if word is None:
            raise Mismatch(unknown(self.name, text, self.words), f"expected {listed(self.words)}")
        return word


@final
@dataclass(frozen=True)
class Number(Parameter):
    """A whole number between two bounds, both included."""

    low: int = 0
    high: int = 99

    def read(self, text: str) -> Word:
        expected = f"expected a whole number from {self.low} to {self.high}"
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise Mismatch(f"{self.name} {quote(text)} is not a number", expected)
        if len(digits) > 9 or not self.low <= int(text) <= self.high:
            raise Mismatch(f"{self.name} {quote(text)[1:-1]} is out of range", expected)
        return int(text)


@final
@dataclass(frozen=True)
class Text(Parameter):
    """Any text; white space is folded, case is kept."""

    def read(self, text: str) -> Word:
        words = " ".join(text.split())
        if not words:
            raise Mismatch(f"{self.name} is empty", f"expected a {self.name}")
        return words


@dataclass(frozen=True)
class Operation:
    """One row of the table."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    inputs: tuple[str, ...] = ()
    """Result types it takes from other routines."""
    output: str = BOOLEAN
    lookup: bool = False
    """Written `name[first] rest` instead of `name(first, rest)`."""


@dataclass(frozen=True)
class Domain:
    """The operations of one task. With `control` a program is a flow of routines, without it a graph of calls."""

    name: str
    version: int
    operations: tuple[Operation, ...]
    control: bool = False
    header: str | None = None
    """The name after `def` in the canonical spelling, if it has one."""

    def __post_init__(self) -> None:
        if self.control and any(operation.inputs for operation in self.operations):
            raise ValueError(f"domain {self.name}: operations that take results need a domain without control flow")

    @cached_property
    def _by_folded(self) -> dict[str, Operation]:
        return {fold(operation.name): operation for operation in self.operations}

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each operation."""
        return {operation.name: row for row, operation in enumerate(self.operations)}

    def find(self, name: str) -> Operation | None:
        return self._by_folded.get(fold(name))

    def operation(self, name: str) -> Operation:
        """The row of a canonical name."""
        return self.operations[self.index[name]]

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word a routine can hold, padding first. Free text is not in it."""
        words: dict[str, None] = {"": None}
        words.update((operation.name, None) for operation in self.operations)
        parameters = [parameter for operation in self.operations for parameter in operation.parameters]
        for parameter in parameters:
            if isinstance(parameter, Choice):
                words.update((word, None) for word in parameter.words)
        numbers = {
            number
            for parameter in parameters
            if isinstance(parameter, Number)
            for number in range(parameter.low, parameter.high + 1)
        }
        words.update((str(number), None) for number in sorted(numbers))
        return tuple(words)

    @cached_property
    def word_index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.vocabulary)}

    @cached_property
    def routine_width(self) -> int:
        """L of Eq. 1: the most words a routine has."""
        return 1 + max(len(operation.parameters) for operation in self.operations)
