"""Typed calls -> calls of a domain: look up names, read arguments, resolve results, compare types.

Arguments are positional. A result is given by name (`bag`), by number (`[1]`, counting calls), as a nested call, or
omitted. Omitted inputs are the nearest preceding results that no other call has used:

    Select(bag)    Select(wine)    Verify_relation(left)        takes the bag and the wine
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from program_guided.errors import quote
from program_guided.language.domain import ACTION, BOOLEAN, Domain, Input, Mismatch, Operation, Parameter, unknown
from program_guided.language.lines import Header, Piece, RawArgument, RawCall
from program_guided.language.scope import Named, Scope
from program_guided.language.syntax import Argument, Call, Ref, Word

__all__ = ["Checker", "Report", "result_name"]

MAX_LISTED = 16
"""Operations that a message lists at most."""

HOW_TO_TAKE = "expected a name, a number such as [1], or an earlier call"


class Report(Protocol):
    """Callback for a mistake: its line from 1, its start in that line from 0, and the message."""

    def __call__(self, line: int, start: int, width: int, message: str, expected: str = "") -> None: ...


class Checker:
    """Reads a program's calls in order; mistakes go to `report`, and a call with a mistake is omitted."""

    def __init__(self, domain: Domain, report: Report, offsets: Mapping[int, int]) -> None:
        self.domain = domain
        self.routines = 0
        self.scope = Scope()
        self._report = report
        self._offsets = offsets
        self._alone: dict[int, tuple[RawCall, Operation, int]] = {}
        """Calls without effect whose results are unused so far: as typed, operation, line."""

    def statement(self, raw: RawCall, line: int) -> Call | None:
        """A call that stands alone."""
        operation = self._operation(raw, line)
        call, number = self._call(raw, operation, line)
        if call and operation and not call.result and self.domain.sequential and operation.output != ACTION:
            self._alone[number] = raw, operation, line
        return call

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
        return self._call(raw, operation, line)[0]

    def times(self, header: Header, line: int, maximum: int) -> int:
        """The n of `loop(n)`; 1 where it cannot be read."""
        if header.number is None:
            return 1
        digits = header.number.text
        if len(digits) <= 9 and 1 <= int(digits) <= maximum:
            return int(digits)
        expected = f"expected a number from 1 to {maximum:,}"
        self._complain(line, header.number, f"cannot loop {digits[:20]} times", expected)
        return 1

    def finish(self) -> None:
        """Report the calls that have no effect and whose results are unused; all calls must have been read."""
        for number, (raw, operation, line) in self._alone.items():
            if number not in self.scope.used:
                self._complain(line, raw.name, *_without_effect(operation))

    def _complain(self, line: int, piece: RawArgument, message: str, expected: str = "") -> None:
        self._report(line, self._offsets[line] + piece.start, piece.end - piece.start, message, expected)

    def _operation(self, raw: RawCall, line: int) -> Operation | None:
        operation = self.domain.find(raw.name.text)
        if operation is None:
            known = [row.name for row in self.domain.operations]
            expected = f"expected one of {', '.join(known)}" if len(known) <= MAX_LISTED else ""
            self._complain(line, raw.name, unknown("operation", raw.name.text, known), expected)
        return operation

    def _call(self, raw: RawCall, operation: Operation | None, line: int) -> tuple[Call | None, int]:
        """Read the arguments. A call with a mistake is numbered too, so that later references stay right."""
        call, result = None, result_name(raw)
        if operation is None:
            self._skim(raw.arguments, line)
        elif (arguments := self._arguments(operation, raw, line)) is not None:
            call = Call(operation.name, arguments, result, line)
        self.routines += 1
        number = self.scope.add(operation.output if operation and call else None, line)
        if result is not None:
            self.scope.assign(result, number)
        return call, number

    def _arguments(self, operation: Operation, raw: RawCall, line: int) -> tuple[Argument, ...] | None:
        """One argument for each parameter; every mistake is reported."""
        given = self._places(operation, raw, line)
        if given is None:
            self._skim(raw.arguments, line)
            return None
        read: list[Argument | None] = []
        for parameter, argument in zip(operation.parameters, given, strict=True):
            read.append(argument if isinstance(argument, Ref) else self._argument(operation, parameter, argument, line))
        return None if None in read else tuple(each for each in read if each is not None)

    def _argument(self, operation: Operation, parameter: Parameter, given: RawArgument, line: int) -> Argument | None:
        if parameter.takes is None:
            return self._word(parameter, given, line)
        if isinstance(given, RawCall):
            is_word = self.domain.find(given.name.text) is None and _reads(parameter, given.word)
            return self._word(parameter, given, line) if is_word else self._nested(operation, parameter, given, line)
        if isinstance(parameter, Input) or self._names_result(given):
            return self._reference(operation, parameter, given, line)
        return self._word(parameter, given, line)

    def _word(self, parameter: Parameter, given: RawArgument, line: int) -> Word | None:
        piece = given.word if isinstance(given, RawCall) else given
        if piece is None:
            message = f"a call stands in the place of {parameter.name}, which is a word"
            self._complain(line, given, message, "expected a word, in quotes if it has brackets")
            return None
        try:
            return parameter.read(piece.text)
        except Mismatch as mismatch:
            self._complain(line, piece, mismatch.message, mismatch.expected)
            return None

    def _nested(self, operation: Operation, parameter: Parameter, raw: RawCall, line: int) -> Argument | None:
        inner = self._operation(raw, line)
        call, number = self._call(raw, inner, line)
        self.scope.used.add(number)
        if inner is not None and inner.output != parameter.takes:
            message = f"'{operation.name}' takes {parameter.takes}, but '{inner.name}' gives {inner.output}"
            self._complain(line, raw.name, message)
            return None
        return call

    def _reference(self, operation: Operation, parameter: Parameter, piece: Piece, line: int) -> Ref | None:
        number = self._resolve(piece, line)
        if number is None:
            return None
        self.scope.used.add(number)
        output = self.scope.outputs[number]
        if output not in (parameter.takes, None):
            message = f"{_shown(piece)} is {output}, but '{operation.name}' takes {parameter.takes}"
            self._complain(line, piece, message)
            return None
        return Ref(number)

    def _resolve(self, piece: Piece, line: int) -> int | None:
        """The number of the call whose result a piece refers to; None, and a report, if there is no such call."""
        if piece.reference is not None:
            return self._numbered(piece, piece.reference - 1, line)
        named = None if piece.quoted else self.scope.names.get(_lower(piece.text))
        return self._named(piece, named, line) if named else self._numbered(piece, -1, line)

    def _numbered(self, piece: Piece, number: int, line: int) -> int | None:
        scope = self.scope
        if not 0 <= number < len(scope):
            self._complain(line, piece, f"there is no result {_shown(piece)} before this call ({len(scope)} so far)")
            return None
        doubt = scope.doubt(number)
        if not doubt:
            return number
        message = f"{_shown(piece)} may have no result here (line {scope.lines[number]}): it stands {doubt}"
        self._complain(line, piece, message, "expected a call that is always executed before")
        return None

    def _named(self, piece: Piece, named: Named, line: int) -> int | None:
        lines = sorted(named.given)
        number = named.given[lines[0]]
        if len(lines) == 1 and not named.doubt and number is not None:
            return number
        if named.doubt:
            message = f"{quote(piece.text)} may not be set here (line {lines[0]}): it is set {named.doubt}"
            self._complain(line, piece, message, "expected a name that is always set before")
            return None
        places = " or of ".join(f"line {each}" for each in lines)
        message = f"{quote(piece.text)} could be the result of {places}; give them different names"
        self._complain(line, piece, message)
        return None

    def _names_result(self, given: RawArgument) -> bool:
        """True if an argument that is not a call is the number or the name of a result."""
        if isinstance(given, RawCall) or given.quoted:
            return False
        return given.reference is not None or _lower(given.text) in self.scope.names

    def _gives(self, given: RawArgument, types: Sequence[str]) -> bool:
        """True if an argument is a result. A call must give one of these types, else it may be a word."""
        if isinstance(given, RawCall):
            inner = self.domain.find(given.name.text)
            return inner is not None and inner.output in types
        return self._names_result(given)

    def _places(self, operation: Operation, raw: RawCall, line: int) -> Sequence[RawArgument | Ref] | None:
        """The arguments in the order of the parameters, omitted inputs filled in."""
        given, wanted = raw.arguments, operation.parameters
        inputs = [parameter.type for parameter in wanted if isinstance(parameter, Input)]
        if len(given) == len(wanted):
            return self._reordered(given, wanted)
        if inputs and len(given) == len(wanted) - len(inputs):
            return self._completed(operation, raw, line, inputs)
        counted = f"{_counted(len(inputs), 'input')} and " if inputs else ""
        takes, in_all = f"{counted}{_counted(len(wanted) - len(inputs), 'argument')}", " in all" * bool(inputs)
        message = f"'{operation.name}' takes {takes}, not {len(given)}{in_all}"
        self._complain(line, raw.name, message, _expected(operation))
        self.scope.used.update(self.scope.nearest_unused(inputs) or ())
        return None

    def _reordered(self, given: Sequence[RawArgument], wanted: Sequence[Parameter]) -> Sequence[RawArgument]:
        """Arguments in the order of the parameters: as given if they fit, else inputs first to last, then words.

        If a parameter accepts both a word and a result, another order would be ambiguous and is not tried.
        """
        types = [parameter.type for parameter in wanted if isinstance(parameter, Input)]
        places = zip(wanted, given, strict=True)
        fits = all(self._gives(each, [parameter.type]) for parameter, each in places if isinstance(parameter, Input))
        if fits or any(parameter.is_word and parameter.takes for parameter in wanted):
            return given
        found = [at for at, each in enumerate(given) if self._gives(each, types)][: len(types)]
        if len(found) < len(types):
            return given
        inputs = iter([given[at] for at in found])
        words = iter([each for at, each in enumerate(given) if at not in found])
        return [next(inputs if isinstance(parameter, Input) else words) for parameter in wanted]

    def _completed(
        self, operation: Operation, raw: RawCall, line: int, types: Sequence[str]
    ) -> Sequence[RawArgument | Ref] | None:
        """The arguments, omitted inputs replaced by the nearest unused results."""
        words = operation.words
        for parameter, given in zip(words, raw.arguments, strict=True):
            if parameter.takes is None and self._gives(given, types):
                self._complain(line, given, *_missing(operation, given))
                return None
        found = self.scope.nearest_unused(types)
        if found is None:
            message = (
                f"'{operation.name}' takes {' and '.join(types)}, but no unused result of that type stands before it"
            )
            self._complain(line, raw.name, message, HOW_TO_TAKE)
            return None
        self.scope.used.update(found)
        numbers, given_words = iter(found), iter(raw.arguments)
        return [
            Ref(next(numbers)) if isinstance(parameter, Input) else next(given_words)
            for parameter in operation.parameters
        ]

    def _skim(self, arguments: Sequence[RawArgument], line: int) -> None:
        """Read the arguments of a call with a mistake: nested calls are numbered, and results count as used."""
        for given in arguments:
            if isinstance(given, RawCall):
                inner = self.domain.find(given.name.text)
                if inner is not None:
                    self.scope.used.add(self._call(given, inner, line)[1])
            elif self._names_result(given):
                named = self.scope.names.get(_lower(given.text))
                numbers = named.given.values() if named else (int(given.reference or 0) - 1,)
                self.scope.used.update(number for number in numbers if number is not None)


def _reads(parameter: Parameter, piece: Piece | None) -> bool:
    """True if a parameter accepts a piece as a word."""
    try:
        return piece is not None and parameter.read(piece.text) is not None
    except Mismatch:
        return False


def result_name(raw: RawCall) -> str | None:
    """The name of a call's result in its canonical form."""
    return None if raw.result is None else _lower(raw.result.text)


def _without_effect(operation: Operation) -> tuple[str, str]:
    is_condition = operation.output == BOOLEAN
    what = "is a condition" if is_condition else f"gives {operation.output}"
    where = "it after 'if' or 'while', or " if is_condition else ""
    return (
        f"'{operation.name}' {what} and does nothing by itself",
        f"expected {where}a name for its result, as in: x = ...",
    )


def _missing(operation: Operation, given: RawArgument) -> tuple[str, str]:
    text = f"{given.name.text}(...)" if isinstance(given, RawCall) else _shown(given)
    message = f"{text} is a result; then an argument of '{operation.name}' is missing"
    return message, f"{_expected(operation)} (if it is meant as a word: in quotes)"


def _shown(piece: Piece) -> str:
    return quote(piece.text)[1:-1]


def _expected(operation: Operation) -> str:
    """The arguments of a call, in the order of its parameters."""
    names = [each.type if isinstance(each, Input) else each.name for each in operation.parameters]
    return f"expected {', '.join(names) or 'none'}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _lower(name: str) -> str:
    """Lower case, unless that changes the number of letters (`İ`): the printed name must be a name again."""
    lower = name.lower()
    return lower if len(lower) == len(name) else name
