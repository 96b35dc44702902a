"""Text -> syntax tree, checked against a domain; all mistakes of a text are reported together.

Lines are parsed one by one (`lines.py`) and grouped into blocks by their indentation here, with an explicit stack:
a bad line costs one message, and no depth of nesting can exhaust Python's own stack. A line belongs to a block if its
indentation is the same string of spaces and tabs; a deeper indentation starts with that string, so tabs and spaces may
be mixed only where their meaning is unambiguous.

    program = parse("if is_there[River]: build_bridge()", DOMAIN)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from program_guided.errors import DataError, Problem, ProgramError, quote
from program_guided.language.checker import Checker, result_name
from program_guided.language.domain import Domain
from program_guided.language.lines import Header, Line, LineError, Piece, RawCall, read_line
from program_guided.language.scope import Names
from program_guided.language.syntax import Block, Call, If, Loop, Node, Program, While

__all__ = [
    "LARGEST_TEXT",
    "MAX_LOOPS",
    "MAX_NESTED",
    "MAX_PROBLEMS",
    "MAX_ROUTINES",
    "parse",
    "read_program",
    "read_text",
]

LARGEST_TEXT = 200_000
"""Characters."""
MAX_NESTED = 50
MAX_ROUTINES = 1_000
"""Maximum number of routines; those of a `loop` count once for each repetition."""
MAX_LOOPS = 1_000
"""The largest n of `loop(n)`."""
BYTE_ORDER_MARK = "\ufeff"
MAX_PROBLEMS = 20
"""Maximum number of mistakes reported; reading stops there."""


def read_program(path: str | Path, domain: Domain) -> Program:
    """Read a program from a file."""
    return parse(read_text(path), domain, str(path))


def read_text(path: str | Path) -> str:
    """The text of a file; one clear error if there is none, or if it is not UTF-8."""
    source = str(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(
            f"{source if source.isprintable() else quote(source)}: cannot be read ({reason}); is the path right?"
        ) from None
    return decoded(data, source)


def decoded(data: bytes, source: str) -> str:
    """The text of bytes; one clear error if they are not UTF-8."""
    data = data.removeprefix(BYTE_ORDER_MARK.encode("utf-8"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _split(data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        problem = Problem(len(before), len(before[-1]) + 1, 1, message)
        raise ProgramError([problem], data.decode("utf-8", "replace"), source) from None


def parse(text: str, domain: Domain, source: str = "<program>") -> Program:
    """Parse a program into canonical words; `ProgramError` lists all its mistakes."""
    if len(text) > LARGEST_TEXT:
        message = f"the program has {len(text):,} characters; at most {LARGEST_TEXT:,} are read"
        raise ProgramError([Problem(0, 0, 0, message)], "", source)
    text = text.removeprefix(BYTE_ORDER_MARK)
    reader = _Reader(domain)
    body: Block = ()
    try:
        for number, line in enumerate(_split(text), start=1):
            reader.read(line, number)
        body = reader.finish()
    except _StopReading:
        pass
    if reader.problems:
        ordered = sorted(reader.problems, key=lambda problem: (problem.line == 0, problem.line, problem.column))
        raise ProgramError(ordered, text, source)
    return Program(body)


def _split(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


class _StopReading(Exception):
    """Raised where further reading would only repeat mistakes."""


@dataclass
class _Open:
    """A block being read."""

    indentation: str | None
    """None until its first line has been read."""
    header: Header
    line: int
    start: int
    """Position of its header in that line."""
    nodes: list[_Draft] = field(default_factory=list)


@dataclass
class _Branching:
    """An `if` whose `elif` and `else` may still come."""

    parts: list[tuple[Header, int, _Open]]


@dataclass
class _Statement:
    call: RawCall
    line: int


_Draft = _Branching | _Statement


class _Reader:
    """Groups lines into blocks. `stack` holds the open blocks, outermost first."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.problems: list[Problem] = []
        self.stack = [_Open("", Header("", Piece("", 0, 0)), 0, 0)]
        self.defined = 0
        self.calls = 0
        self.offsets: dict[int, int] = {}

    def report(self, line: int, start: int, width: int, message: str, expected: str = "") -> None:
        self.problems.append(Problem(line, start + 1, width, message, expected))
        if len(self.problems) >= MAX_PROBLEMS:
            self.problems.append(Problem(0, 0, 0, "too many mistakes; the rest was not read"))
            raise _StopReading

    def read(self, text: str, number: int) -> None:
        content = text.lstrip(" \t")
        if not content.strip() or content.lstrip().startswith("#"):
            return
        indentation = text[: len(text) - len(content)]
        if content[0].isspace():
            self.report(number, len(indentation), 1, "indentation with a character other than space and tab")
        self._enter(indentation, number)
        self.offsets[number] = len(indentation)
        line = read_line(content)
        if isinstance(line, LineError):
            self.report(number, len(indentation) + line.start, line.width, line.message, line.expected)
            line = Line((line.opens,) if line.opens else (), ())
        self._place(line, number)

    def _enter(self, indentation: str, number: int) -> None:
        """Close the blocks that this indentation ends."""
        top = self.stack[-1]
        if top.indentation is None:
            outer = next(block.indentation for block in reversed(self.stack) if block.indentation is not None)
            if not outer.startswith(indentation):
                for block in self.stack:
                    block.indentation = indentation if block.indentation is None else block.indentation
                if not indentation.startswith(outer):
                    self._report_indentation(number, indentation, outer, "deeper than ")
                return
            self._report_empty(top)
        levels = [block.indentation or "" for block in self.stack]
        if indentation not in levels:
            # The level nearest in width is probably the one meant; assuming it avoids further messages.
            meant = min(reversed(levels), key=lambda level: abs(len(level) - len(indentation)))
            self._report_indentation(number, indentation, meant, "")
            indentation = meant
        while self.stack[-1].indentation != indentation:
            self.stack.pop()

    def _report_indentation(self, number: int, indentation: str, meant: str, relation: str) -> None:
        mixed = any(" " in one and "\t" in other for one, other in ((indentation, meant), (meant, indentation)))
        what = "indentation mixes tabs and spaces" if mixed else "unexpected indentation"
        expected = f"expected {relation}{_describe_indentation(meant)}"
        self.report(number, 0, max(1, len(indentation)), what, expected)

    def _report_empty(self, block: _Open) -> None:
        """A header with nothing indented below it."""
        while self.stack[-1].indentation is None:
            self.stack.pop()
        if not block.header.guessed:
            keyword = block.header.keyword
            message = f"nothing is indented below '{keyword}'"
            self.report(block.line, block.start, len(keyword), message, "expected an indented block")

    def _push(self, header: Header, number: int, start: int) -> _Open:
        if len(self.stack) > MAX_NESTED + bool(self.defined):
            message = f"blocks are nested more than {MAX_NESTED} deep"
            self.problems.append(Problem(number, start + 1, len(header.keyword), message))
            raise _StopReading
        block = _Open(None, header, number, start)
        self.stack.append(block)
        return block

    def _place(self, line: Line, number: int) -> None:
        """Add a line to the innermost block; a line may open several blocks and fill the last one."""
        depth = len(self.stack)
        for header in line.headers:
            self._open(header, number, first=header is line.headers[0])
        self.calls += len(line.calls)
        if self.calls > MAX_ROUTINES:
            self._report_size()
        for call in line.calls:
            self.stack[-1].nodes.append(_Statement(call, number))
        if line.calls:
            del self.stack[depth:]

    def _open(self, header: Header, number: int, first: bool) -> None:
        nodes, start = self.stack[-1].nodes, self.offsets[number] + header.place.start
        width = len(header.keyword)
        if header.keyword == "def":
            if self.defined or nodes or len(self.stack) > 1:
                self.report(number, start, width, "'def' can only open the program")
            else:
                self.defined = number
        elif header.keyword == "while" and not self.domain.sequential and not header.guessed:
            message = f"nothing changes in {self.domain.name} programs, so 'while' would never end"
            self.report(number, start, width, message, "expected 'if' or 'loop(n)'")
        block = self._push(header, number, start)
        if header.keyword in ("elif", "else"):
            before = nodes[-1] if nodes and first else None
            parts = before.parts if isinstance(before, _Branching) else []
            if parts and parts[0][0].keyword == "if" and parts[-1][0].keyword != "else":
                parts.append((header, number, block))
                return
            if not header.guessed:
                self.report(number, start, width, f"'{header.keyword}' does not follow an 'if' of the same indentation")
        nodes.append(_Branching([(header, number, block)]))

    def finish(self) -> Block:
        if self.stack[-1].indentation is None:
            self._report_empty(self.stack[-1])
        checker = Checker(self.domain, self.report, self.offsets)
        body = self._block(self.stack[0], checker)
        checker.finish()
        if not body and not self.problems:
            self.problems.append(Problem(0, 0, 0, "the program is empty", "expected at least one routine"))
        if self.defined and len(self.stack[0].nodes) > 1 and not self.problems:
            self.report(self.defined, 0, 3, "statements stand outside of 'def'", "expected them indented below it")
        return body

    def _block(self, block: _Open, checker: Checker) -> Block:
        nodes: list[Node] = []
        for draft in block.nodes:
            if isinstance(draft, _Statement):
                call = checker.statement(draft.call, draft.line)
                nodes += [call] if call else []
            elif draft.parts[0][0].keyword == "def":
                nodes += self._block(draft.parts[0][2], checker)
            else:
                nodes += self._branching(draft, checker)
            if checker.routines > MAX_ROUTINES:
                self._report_size()
        return tuple(nodes)

    def _report_size(self) -> None:
        self.problems.append(Problem(0, 0, 0, f"the program has more than {MAX_ROUTINES:,} routines"))
        raise _StopReading

    def _branching(self, draft: _Branching, checker: Checker) -> list[Node]:
        keyword = draft.parts[0][0].keyword
        if keyword == "loop":
            return self._loop(*draft.parts[0], checker)
        return self._while(*draft.parts[0], checker) if keyword == "while" else self._if(draft, checker)

    def _loop(self, header: Header, number: int, block: _Open, checker: Checker) -> list[Node]:
        times = checker.times(header, number, MAX_LOOPS)
        if times > 1:
            checker.scope.expect(_assigned(block), "later, inside of the loop")
        before = checker.routines
        body = self._block(block, checker)
        checker.routines += (checker.routines - before) * (times - 1)
        return [Loop(times, body)]

    def _while(self, header: Header, number: int, block: _Open, checker: Checker) -> list[Node]:
        scope, entry, assigned = checker.scope, dict(checker.scope.names), _assigned(block)
        scope.expect(assigned, "later, inside of the while")
        condition = checker.condition(header, number)
        first = len(scope)
        body = self._block(block, checker)
        scope.close(first, "a while")
        scope.names = entry
        scope.expect(assigned, "inside of a while")
        return [While(condition, body)] if condition else []

    def _if(self, draft: _Branching, checker: Checker) -> list[Node]:
        scope, names = checker.scope, dict(checker.scope.names)
        branches: list[tuple[Call, Block]] = []
        otherwise: Block = ()
        ends: list[Names] = []
        decided: int | None = None
        for header, number, block in draft.parts:
            scope.names = dict(names)
            condition = checker.condition(header, number)
            first = len(scope)
            decided = first if decided is None else decided
            body = self._block(block, checker)
            scope.close(first, "an if")
            ends.append(scope.names)
            if header.keyword == "else":
                otherwise = body
            elif condition:
                branches.append((condition, body))
        if draft.parts[-1][0].keyword != "else":
            ends.append(names)
        scope.close(decided or 0, "an if")
        scope.join(ends, "an if")
        return [If(tuple(branches), otherwise)] if branches else []


def _assigned(block: _Open) -> dict[str, int]:
    """Names that are set below a block, each with the last line that sets it."""
    lines: dict[str, int] = {}
    for draft in block.nodes:
        if isinstance(draft, _Branching):
            for _, _, inner in draft.parts:
                lines.update(_assigned(inner))
        elif (name := result_name(draft.call)) is not None:
            lines[name] = draft.line
    return lines


def _describe_indentation(indentation: str) -> str:
    if not indentation:
        return "no indentation"
    spaces, tabs = indentation.count(" "), indentation.count("\t")
    counted = ((spaces, "space"), (tabs, "tab"))
    return " and ".join(f"{count} {unit}{'s' * (count > 1)}" for count, unit in counted if count)
