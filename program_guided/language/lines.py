"""One line of text -> its headers and calls, by the Lark grammar beside this file.

    read_line("while env[Gold] > 0: mine(Gold)")
    -> Line(headers=(Header("while", RawCall("env", ("Gold", ">", "0"))),), calls=(RawCall("mine", ("Gold",)),))

Programs repeat their lines, so results are cached: reading 4,000 programs takes a second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from program_guided.errors import quote
from program_guided.language.domain import listed, nearest

__all__ = ["MAX_NESTED_CALLS", "Header", "Line", "LineError", "Piece", "RawArgument", "RawCall", "read_line"]

KEYWORDS = ("def", "if", "elif", "else", "while", "loop")
MAX_CACHED_LENGTH = 200
MAX_NESTED_CALLS = 20
"""Maximum depth of nested calls."""
MAX_BRACKETS = MAX_NESTED_CALLS + 2
"""Maximum depth of brackets: those of nested calls, of the outer call, and of a word such as not(large)."""
COMPARATOR_SPELLINGS = {"=": "==", "≥": ">=", "≤": "<="}

CODE = re.compile(r'(?:[^"#]|"(?:[^"\\]|\\.)*"?)*')
"""A line up to its comment."""
BRACKETS = re.compile(r'[()\[\]#]|"(?:[^"\\]|\\.)*"')
"""Brackets, and the strings and comments in which brackets do not count."""
NO_CONDITION = re.compile(r"(if|elif|while)\s+([^\W\d]\w*)\s*:", re.IGNORECASE)

EXPECTED_WORDS = {
    "NAME": "a name",
    "INTEGER": "a whole number",
    "COMPARATOR": "a comparison (> >= == < <=)",
    "PHRASE": "a word",
    "STRING": "a text in quotes",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COLON": "':'",
    "COMMA": "','",
    "SEMICOLON": "';'",
    "EQUAL": "'='",
    "$END": "the end of the line",
}


@dataclass(frozen=True)
class Piece:
    """A word of the text and its place in its line, from 0."""

    text: str
    start: int
    end: int
    reference: int | None = None
    """The number in `[1]`, which refers to another routine's result."""
    quoted: bool = False
    """A text in quotes is never a result's name."""


@dataclass(frozen=True)
class RawCall:
    """A call as typed, not yet checked against a domain; as an argument it may be a word with brackets."""

    name: Piece
    arguments: tuple[RawArgument, ...]
    result: Piece | None = None
    square: bool = False
    """True if it was written `name[first]`."""

    @property
    def start(self) -> int:
        return self.name.start

    @property
    def end(self) -> int:
        """Position after its closing bracket, if no space stands before that."""
        return (self.arguments[-1].end if self.arguments else self.name.end + 1) + 1

    @property
    def word(self) -> Piece | None:
        """The same text read as a word instead of a call: `not(large)`."""
        inner = self.arguments[0] if len(self.arguments) == 1 and not self.square else None
        if not isinstance(inner, Piece) or inner.quoted or inner.reference is not None:
            return None
        return Piece(f"{self.name.text}({inner.text})", self.start, self.end)


RawArgument = Piece | RawCall


@dataclass(frozen=True)
class Header:
    """The beginning of a block."""

    keyword: str
    place: Piece
    condition: RawCall | None = None
    number: Piece | None = None
    guessed: bool = False
    """True if its line has a mistake that has been reported; no other problem of it is."""


@dataclass(frozen=True)
class Line:
    """One line: the blocks it opens, and the calls in the last of them."""

    headers: tuple[Header, ...]
    calls: tuple[RawCall, ...]


@dataclass(frozen=True)
class LineError:
    """The mistake of a line that cannot be parsed."""

    start: int
    width: int
    message: str
    expected: str
    opens: Header | None
    """The block it was probably meant to open, so that the lines indented below it are not reported too."""


def read_line(text: str) -> Line | LineError:
    """Read one line, without its indentation."""
    return _read_cached(text) if len(text) <= MAX_CACHED_LENGTH else _read(text)


@lru_cache(maxsize=1 << 14)
def _read_cached(text: str) -> Line | LineError:
    return _read(text)


def _read(text: str) -> Line | LineError:
    deep = _too_deep(text)
    try:
        line: Line = _parser().parse(text)  # type: ignore[assignment]  # the transformer's result
    except UnexpectedInput as error:
        if deep is None or _place(error, text) < deep:
            return _explain(text, error)
    else:
        if deep is None:
            return line
    message = f"calls are nested more than {MAX_NESTED_CALLS} deep"
    return LineError(deep, 1, message, "give the inner ones names, on lines of their own", _guessed(text))


def _too_deep(text: str) -> int | None:
    """Position at which brackets are nested too deep; None if they are not."""
    depth = 0
    for found in BRACKETS.finditer(text):
        if found[0] == "#":
            return None
        depth += 1 if found[0] in "([" else -1 if found[0] in ")]" else 0
        if depth > MAX_BRACKETS:
            return found.start()
    return None


@v_args(inline=True)
class _Build(Transformer[Token, Line]):
    """Lark calls the method of each rule, bottom up, while it parses."""

    def line(self, *parts: Header | RawCall) -> Line:
        return Line(
            tuple(part for part in parts if isinstance(part, Header)),
            tuple(part for part in parts if isinstance(part, RawCall)),
        )

    def define(self, keyword: Token, name: Token) -> Header:
        return Header("def", _piece(keyword))

    def if_(self, keyword: Token, condition: RawCall) -> Header:
        return Header("if", _piece(keyword), condition)

    def elif_(self, keyword: Token, condition: RawCall) -> Header:
        return Header("elif", _piece(keyword), condition)

    def else_(self, keyword: Token) -> Header:
        return Header("else", _piece(keyword))

    def while_(self, keyword: Token, condition: RawCall) -> Header:
        return Header("while", _piece(keyword), condition)

    def loop(self, keyword: Token, number: Token) -> Header:
        return Header("loop", _piece(keyword), number=_piece(number))

    def statement(self, *parts: Any) -> RawCall:
        call: RawCall = parts[-1]
        return replace(call, result=_piece(parts[0])) if len(parts) == 2 else call

    def comparison(self, call: RawCall, *comparison: Token) -> RawCall:
        if not comparison:
            return call
        return replace(call, arguments=call.arguments + tuple(map(_piece, comparison)), square=True)

    def call(self, name: Token, *arguments: RawArgument) -> RawCall:
        return RawCall(_piece(name), arguments)

    def lookup(self, name: Token, argument: RawArgument) -> RawCall:
        return RawCall(_piece(name), (argument,), square=True)

    def reference(self, number: Token) -> Piece:
        digits = str(number)
        return Piece(f"[{digits}]", _start(number) - 1, _start(number) + len(digits) + 1, int(digits[:9]))

    def string(self, token: Token) -> Piece:
        text = re.sub(r"\\(.)", r"\1", str(token)[1:-1])
        return Piece(text, _start(token), _start(token) + len(token), quoted=True)

    def phrase(self, token: Token) -> Piece:
        return _piece(token)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", start="line", transformer=_Build(), maybe_placeholders=False)


def _start(token: Token) -> int:
    return token.start_pos or 0


def _piece(token: Token) -> Piece:
    text = COMPARATOR_SPELLINGS.get(str(token), str(token))
    return Piece(text, _start(token), _start(token) + len(token))


def _place(error: UnexpectedInput, text: str) -> int:
    """Position at which Lark stopped; the end of the text if more was expected."""
    if isinstance(error, UnexpectedToken):
        return len(text) if error.token.type == "$END" else _start(error.token)
    return (error.pos_in_stream or 0) if isinstance(error, UnexpectedCharacters) else len(text)


def _explain(text: str, error: UnexpectedInput) -> LineError:
    """Turn an error of Lark into a message for authors of programs."""
    code = text[: CODE.match(text).end()].rstrip()  # type: ignore[union-attr]  # matches any text
    misspelt, keyword = _misspelt_keyword(code)
    opens = _guessed(code)
    if misspelt:
        message = f"unknown statement {quote(misspelt)}: did you mean '{keyword}'?"
        return LineError(0, len(misspelt), message, "", opens)
    if named := NO_CONDITION.match(code):
        expected = f"expected a call, as in: {keyword} greater(a, b):"
        return LineError(named.start(2), len(named[2]), f"{quote(named[2])} is not a call", expected, opens)
    start, width, message = len(code), 1, "the line is not complete"
    terminals: Iterable[str] = ()
    if isinstance(error, UnexpectedToken):
        terminals = error.accepts or ()
        if error.token.type != "$END":
            start, width = _start(error.token), len(error.token)
            message = f"unexpected {_describe(error.token) if width == 1 else quote(error.token)}"
    elif isinstance(error, UnexpectedCharacters):
        terminals = error.allowed or ()
        start = error.pos_in_stream or 0
        message = f"unexpected {_describe(text[start])}"
    return LineError(start, width, message, _expected(terminals), opens)


def _describe(character: str) -> str:
    return f"'{character}'" if character.isprintable() else unicodedata.name(character, f"U+{ord(character):04X}")


def _expected(terminals: Iterable[str]) -> str:
    known = set(terminals)
    if "RPAR" in known or "RSQB" in known:
        known -= {"LPAR", "LSQB", "COMPARATOR"}  # the end of this call is more probable than another one in it
    words = [word for terminal, word in EXPECTED_WORDS.items() if terminal in known]
    return f"expected {listed(words)}" if words else ""


def _guessed(code: str) -> Header | None:
    """The block that a bad line was probably meant to open."""
    _, keyword = _misspelt_keyword(code)
    return Header(keyword, Piece(keyword, 0, 1), guessed=True) if keyword else None


def _misspelt_keyword(code: str) -> tuple[str, str]:
    """The misspelt keyword of a line (`whlie env[gold] > 0:`, `else if ...:`), and the keyword meant; "" for none."""
    first = re.split(r"\W", code, maxsplit=1)[0]
    else_if = re.match(r"else\s+if\b", code, re.IGNORECASE)
    if else_if:
        return else_if[0], "elif"
    if first.lower() in KEYWORDS:
        return "", first.lower()
    if not code.endswith(":"):
        return "", ""
    called = code[len(first) :].lstrip().startswith(("(", "["))
    close = nearest(first, ("loop",) if called else KEYWORDS)
    return (first, close) if close else ("", "if")
