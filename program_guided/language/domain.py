"""A domain: the table of a language's operations. Data only; their meaning is defined by the task.

    Operation("mine", (Choice("object", ("gold", "wood")),), output=ACTION)
    Operation("count", (Choice("object", ("gold", "wood")),), output="Integer")
    Operation("less", (Input("first", "Integer"), Number("second", 0, 99, type="Integer")))

Adding an operation, an object or a whole task is adding rows.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from program_guided.errors import DataError, quote
from program_guided.language.syntax import Call, Word

__all__ = [
    "ACTION",
    "BOOLEAN",
    "Choice",
    "Domain",
    "Input",
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
ACTION = "Action"
"""The result type of behaviours: routines that change the world."""

MAX_GUESS_LENGTH = 40


def fold(name: str) -> str:
    """Fold the spellings of a name: `BuildBridge`, `build_bridge` and `BUILD BRIDGE` are one name."""
    return name.replace("_", "").replace(" ", "").lower()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one; None if none is."""
    by_folded = {fold(candidate): candidate for candidate in known}
    close = difflib.get_close_matches(fold(name), by_folded, n=1, cutoff=0.6) if len(name) <= MAX_GUESS_LENGTH else []
    return by_folded[close[0]] if close else None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown object 'glod': did you mean 'gold'?`"""
    close = nearest(name, known)
    return f"unknown {what} {quote(name)}" + (f": did you mean '{close}'?" if close else "")


def listed(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _check_different(place: str, names: Iterable[str]) -> None:
    """One clear error for two names that fold to one."""
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(fold(name), name) != name:
            raise DataError(f"{place}: {seen[fold(name)]!r} and {name!r} are spellings of one name; rename one of them")


class Mismatch(Exception):
    """An argument that its parameter does not accept."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected


@dataclass(frozen=True)
class Parameter(ABC):
    """One parameter of an operation: it accepts a word, a result of another routine, or either."""

    name: str

    @property
    def takes(self) -> str | None:
        """The type of results it accepts; None if it accepts words only."""
        return None

    @property
    def is_word(self) -> bool:
        """True if it accepts a word."""
        return True

    @abstractmethod
    def read(self, text: str) -> Word:
        """The word in its canonical form, or `Mismatch`."""


@final
@dataclass(frozen=True)
class Input(Parameter):
    """A result of another routine, never a word."""

    type: str

    @property
    def takes(self) -> str | None:
        return self.type

    @property
    def is_word(self) -> bool:
        return False

    def read(self, text: str) -> Word:
        raise Mismatch(f"{quote(text)} is not a result", f"expected {self.type}")


@final
@dataclass(frozen=True)
class Choice(Parameter):
    """One of a closed list of words, in any spelling that folds to it; or a result, if `type` names its type."""

    words: tuple[str, ...] = ()
    type: str | None = None

    @property
    def takes(self) -> str | None:
        return self.type

    def __post_init__(self) -> None:
        _check_different(self.name, self.words)

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
    """A whole number between two bounds, both included; or a result, if `type` names its type."""

    low: int = 0
    high: int = 99
    type: str | None = None

    @property
    def takes(self) -> str | None:
        return self.type

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
    """Free text; white space is normalised, case is kept."""

    wraps: tuple[str, ...] = ()
    """Words that may stand around a text, as in `not(large)`."""

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
    output: str = BOOLEAN
    lookup: bool = False
    """Written `name[first] rest` instead of `name(first, rest)`, where all arguments are words."""
    about: str = field(default="", compare=False)
    """Meaning, in one line."""
    unordered: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Pairs of parameters whose arguments mean the same in either order."""

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The types of the results it accepts, in the order of its parameters."""
        return tuple(parameter.takes for parameter in self.parameters if parameter.takes is not None)

    @cached_property
    def words(self) -> tuple[Parameter, ...]:
        """The parameters that accept words."""
        return tuple(parameter for parameter in self.parameters if parameter.is_word)


@dataclass(frozen=True)
class Domain:
    """The operations of one task."""

    name: str
    version: int
    operations: tuple[Operation, ...]
    sequential: bool = False
    """True if routines act on a world that changes: they are executed one after another, and the one executed before
    is a parent too. False if the specification is static."""
    header: str | None = None
    """The name after `def` in the canonical spelling, if it has one."""
    routine_words: Callable[[Call], tuple[str, ...]] | None = None
    """The words of a routine, where they are not the operation followed by its words."""
    operation_words: int = 1
    """Number of a routine's first words that name its operation."""
    width: int | None = None
    """Maximum number of words that `routine_words` gives."""
    extends: Domain | None = None
    """A domain whose words come first, with the same numbers, so that models of it stay valid."""

    def __post_init__(self) -> None:
        if (self.routine_words is None) != (self.width is None):
            raise ValueError(f"domain {self.name}: routine_words and width go together")
        _check_different(self.name, [operation.name for operation in self.operations])

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
        """All words of routines, padding first, free text excluded."""
        words: dict[str, None] = dict.fromkeys(self.extends.vocabulary if self.extends else ("",))
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

    def alternatives(self, word: str) -> set[str]:
        """The other words of all closed lists that contain this one."""
        parameters = (parameter for operation in self.operations for parameter in operation.parameters)
        lists = [set(each.words) for each in parameters if isinstance(each, Choice) and word in each.words]
        return set().union(*lists) - {word}

    @cached_property
    def has_conditions(self) -> bool:
        """True if any operation can be a condition."""
        return any(operation.output == BOOLEAN for operation in self.operations)

    @cached_property
    def has_text(self) -> bool:
        """True if any parameter accepts free text."""
        return any(isinstance(parameter, Text) for operation in self.operations for parameter in operation.parameters)

    @cached_property
    def max_inputs(self) -> int:
        """K: maximum number of results that an operation accepts."""
        return max(len(operation.inputs) for operation in self.operations)

    @cached_property
    def routine_width(self) -> int:
        """L of Eq. 1: maximum number of words of a routine."""
        return self.width or 1 + max(len(operation.words) for operation in self.operations)

    def words_of(self, call: Call) -> tuple[str, ...]:
        """The words of a routine: its operation, then one for each parameter that accepts words, "" for a result."""
        return tuple(map(str, self.layout(call)))

    def layout(self, call: Call) -> tuple[Word, ...]:
        """`words_of` with numbers as numbers."""
        if self.routine_words is not None:
            return self.routine_words(call)
        if len(call.words) == len(call.arguments):
            return (call.operation, *call.words)
        given = zip(self.operation(call.operation).parameters, call.arguments, strict=False)
        words = (argument if isinstance(argument, str | int) else "" for each, argument in given if each.is_word)
        return (call.operation, *words)
