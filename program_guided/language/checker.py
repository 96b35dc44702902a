"""Calls as typed -> calls of a domain: names found, arguments read, inputs resolved, types compared.

An input of a graph program is named (`bag`), numbered (`[1]`, counting calls) or left out; left out, inputs are the
nearest results before it that nobody has used yet:

    Select(bag)    Select(wine)    Verify_relation(left)        takes the bag and the wine
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from program_guided.errors import quote
from program_guided.language.domain import BOOLEAN, Domain, Mismatch, Operation, unknown
from program_guided.language.lines import Header, Piece, RawCall
from program_guided.language.syntax import Call, Word

__all__ = ["Checker", "Report"]


class Report(Protocol):
    """Takes a mistake: its line from 1, its start in that line from 0, and what to say."""

    def __call__(self, line: int, start: int, width: int, message: str, expected: str = "") -> None: ...


class Checker:
    """Reads a program's calls in order; mistakes go to `report`, and the call that has one is left out."""

    def __init__(self, domain: Domain, report: Report, offsets: Mapping[int, int]) -> None:
        self.domain = domain
        self.routines = 0
        self._report = report
        self._offsets = offsets
        self._outputs: list[str | None] = []
        """Result type of each call so far; None for one that has a mistake."""
        self._used: set[int] = set()
        self._names: dict[str, int] = {}

    def statement(self, raw: RawCall, line: int) -> Call | None:
        """A call that stands alone."""
        operation = self._operation(raw, line)
        if operation is not None and self.domain.control and operation.output == BOOLEAN:
            message = f"'{operation.name}' is a condition and does nothing by itself"
            self._complain(line, raw.name, message, "expected it after 'if' or 'while'")
            operation = None
        return self._call(raw, operation, line)

    def condition(self, header: Header, line: int) -> Call | None:
        """The call after `if`, `elif` or `while`."""
        raw = header.condition
        if raw is None:
            return None
        operation = self._operation(raw, line)
        if operation is not None and operation.output != BOOLEAN:
            conditions = [row.name for row in self.domain.operations if row.output == BOOLEAN]
            message = f"'{operation.name}' is not a condition"
            self._complain(line, raw.name, message, f"expected one of {', '.join(conditions)}")
            operation = None
        return self._call(raw, operation, line)

    def times(self, header: Header, line: int, most: int) -> int:
        """The n of `loop(n)`; 1 where it cannot be read."""
        if header.number is None:
            return 1
        digits = header.number.text
        if len(digits) <= 9 and 1 <= int(digits) <= most:
            return int(digits)
        self._complain(line, header.number, f"cannot loop {digits[:20]} times", f"expected a number from 1 to {most:,}")
        return 1

    def _complain(self, line: int, piece: Piece, message: str, expected: str = "") -> None:
        self._report(line, self._offsets[line] + piece.start, piece.end - piece.start, message, expected)

    def _operation(self, raw: RawCall, line: int) -> Operation | None:
        operation = self.domain.find(raw.name.text)
        if operation is None:
            known = [row.name for row in self.domain.operations]
            expected = f"expected one of {', '.join(known)}" if len(known) <= 12 else ""
            self._complain(line, raw.name, unknown("operation", raw.name.text, known), expected)
        return operation

    def _call(self, raw: RawCall, operation: Operation | None, line: int) -> Call | None:
        """Read arguments and inputs; the call takes its number even if it is wrong, so that `[3]` stays true."""
        self.routines += 1
        inputs: tuple[int, ...] | None = None
        words: list[Word] | None = None
        if operation is not None:
            given, inputs = self._inputs(operation, raw, line)
            words = self._words(operation, given, raw, line) if given is not None else None
        complete = operation is not None and inputs is not None and words is not None
        self._outputs.append(operation.output if operation is not None and complete else None)
        self._used.update(inputs or ())
        result = self._name(raw, line)
        if operation is None or inputs is None or words is None:
            return None
        return Call(operation.name, tuple(words), inputs, result, line)

    def _name(self, raw: RawCall, line: int) -> str | None:
        if raw.result is None:
            return None
        if self.domain.control:
            message = f"results have no names in {self.domain.name} programs"
            self._complain(line, raw.result, message, "expected a call alone")
        name = _lower(raw.result.text)
        self._names[name] = len(self._outputs) - 1
        return name

    def _words(self, operation: Operation, given: Sequence[Piece], raw: RawCall, line: int) -> list[Word] | None:
        """The arguments in canonical form, each mistake reported."""
        wanted = operation.parameters
        if len(given) != len(wanted):
            inputs = f"{_counted(len(operation.inputs), 'input')} and " if operation.inputs else ""
            takes, in_all = f"{inputs}{_counted(len(wanted), 'argument')}", " in all" * bool(inputs)
            message = f"'{operation.name}' takes {takes}, not {len(raw.arguments)}{in_all}"
            self._complain(line, raw.name, message, _expected(operation))
            return None
        words: list[Word] = []
        for parameter, piece in zip(wanted, given, strict=True):
            try:
                words.append(parameter.read(piece.text))
            except Mismatch as mismatch:
                self._complain(line, piece, mismatch.message, mismatch.expected)
        return words if len(words) == len(wanted) else None

    def _inputs(
        self, operation: Operation, raw: RawCall, line: int
    ) -> tuple[Sequence[Piece] | None, tuple[int, ...] | None]:
        """Part a call's arguments into words and inputs: (words, inputs), either None after a mistake."""
        positions = self._input_positions(operation, raw.arguments)
        if not positions:
            named = next((piece for piece in raw.arguments if operation.inputs and self._names_result(piece)), None)
            if named is not None and len(raw.arguments) == len(operation.parameters):
                message = f"{quote(named.text)[1:-1]} is a result; then an argument of '{operation.name}' is missing"
                self._complain(line, named, message, f"{_expected(operation)} (if it is meant as a word: in quotes)")
                return None, None
            return raw.arguments, self._nearest_unused(operation, raw, line)
        given = [piece for index, piece in enumerate(raw.arguments) if index not in positions]
        inputs: list[int] = []
        for index, wanted in zip(positions, operation.inputs, strict=False):
            piece = raw.arguments[index]
            number = self._resolve(piece)
            if number is None:
                count = len(self._outputs)
                problem = f"there is no result {quote(piece.text)[1:-1]} before this call ({count} so far)"
                hint = "one call a line: give its result a name, and use that" if "(" in piece.text else ""
                self._complain(line, piece, problem, hint)
            elif self._outputs[number] not in (wanted, None):
                message = f"{quote(piece.text)[1:-1]} is {self._outputs[number]}, but '{operation.name}' takes {wanted}"
                self._complain(line, piece, message)
            else:
                inputs.append(number)
        return given, tuple(inputs) if len(inputs) == len(operation.inputs) else None

    def _resolve(self, piece: Piece) -> int | None:
        """The number of the call whose result a piece names, if it names one."""
        if piece.reference is None:
            return None if piece.quoted else self._names.get(_lower(piece.text))
        return piece.reference - 1 if 1 <= piece.reference <= len(self._outputs) else None

    def _names_result(self, piece: Piece) -> bool:
        return piece.reference is not None or self._resolve(piece) is not None

    def _input_positions(self, operation: Operation, arguments: Sequence[Piece]) -> list[int]:
        """Which arguments are inputs: none, or as many as the operation takes.

        The canonical order is tried first (an input, the words, the other inputs), then any order, from the left.
        """
        count, words = len(operation.inputs), len(operation.parameters)
        if count == 0 or len(arguments) != count + words:
            return []
        canonical = [0, *range(1 + words, count + words)]

        if all(self._names_result(arguments[position]) for position in canonical):
            return canonical
        found = [position for position, piece in enumerate(arguments) if self._names_result(piece)]
        return found[:count] if len(found) >= count else canonical

    def _nearest_unused(self, operation: Operation, raw: RawCall, line: int) -> tuple[int, ...] | None:
        wanted = list(operation.inputs)
        found: list[int] = []
        for number in range(len(self._outputs) - 1, -1, -1):
            if wanted and number not in self._used and self._outputs[number] in (wanted[-1], None):
                found.append(number)
                wanted.pop()
        if not wanted:
            return tuple(reversed(found))
        needs = " and ".join(operation.inputs)
        message = f"'{operation.name}' takes {needs}, but no unused result of that type stands before it"
        self._complain(line, raw.name, message, "expected a name, a number such as [1], or an earlier call")
        return None


def _expected(operation: Operation) -> str:
    """What a call says, in the canonical order."""
    first, *others = operation.inputs or [""]
    names = [first, *(parameter.name for parameter in operation.parameters), *others]
    return f"expected {', '.join(filter(None, names)) or 'none'}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _lower(name: str) -> str:
    """In lower case, unless that is another number of letters (`İ`): a name must stay a name when it is printed."""
    lower = name.lower()
    return lower if len(lower) == len(name) else name
