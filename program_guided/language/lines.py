"""One line of text -> its headers and calls, by the Lark grammar beside this file.

    read_line("while env[Gold] > 0: mine(Gold)")
    -> Line(headers=(Header("while", RawCall("env", ("Gold", ">", "0"))),), calls=(RawCall("mine", ("Gold",)),))

Programs repeat their lines, so what a line says is remembered: reading 4,000 programs takes a second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from program_guided.errors import quote
from program_guided.language.domain import listed, nearest

__all__ = ["Header", "Line", "LineError", "Piece", "RawCall", "read_line"]

KEYWORDS = ("def", "if", "elif", "else", "while", "loop")
LONGEST_REMEMBERED = 200
COMPARATOR_SPELLINGS = {"=": "==", "≥": ">=", "≤": "<="}

CODE = re.compile(r'(?:[^"#]|"(?:[^"\\]|\\.)*"?)*')
"""A line up to its comment."""

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
    """A word of the text and where it stands in its line, from 0."""

    text: str
    start: int
    end: int
    reference: int | None = None
    """The number in `[1]`, which names another routine's result."""
    quoted: bool = False
    """A text in quotes is never a result's name."""


@dataclass(frozen=True)
class RawCall:
    """A call as it was typed, before any domain has seen it."""

    name: Piece
    arguments: tuple[Piece, ...]
    result: Piece | None = None


@dataclass(frozen=True)
class Header:
    """What opens a block."""

    keyword: str
    place: Piece
    condition: RawCall | None = None
    number: Piece | None = None
    guessed: bool = False
    """Its line has a mistake, which has been told; nothing more is to be said of it."""


@dataclass(frozen=True)
class Line:
    """What one line says: the blocks it opens, and the calls in the last of them."""

    headers: tuple[Header, ...]
    calls: tuple[RawCall, ...]


@dataclass(frozen=True)
class LineError:
    """A line that is none: its one mistake."""

    start: int
    width: int
    message: str
    expected: str
    opens: Header | None
    """The block it was probably meant to open: what is indented below it is no second mistake."""


def read_line(text: str) -> Line | LineError:
    """Read one line, without its indentation."""
    return _remember(text) if len(text) <= LONGEST_REMEMBERED else _read(text)


@lru_cache(maxsize=1 << 14)
def _remember(text: str) -> Line | LineError:
    return _read(text)


def _read(text: str) -> Line | LineError:
    try:
        line: Line = _parser().parse(text)  # type: ignore[assignment]  # the transformer's result
        return line
    except UnexpectedInput as error:
        return _explain(text, error)


@v_args(inline=True)
class _Build(Transformer[Token, Line]):
    """Lark calls a method a rule, bottom up, while it parses."""

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
        return RawCall(call.name, call.arguments, _piece(parts[0])) if len(parts) == 2 else call

    def condition(self, call: RawCall, *comparison: Token) -> RawCall:
        return RawCall(call.name, call.arguments + tuple(_piece(token) for token in comparison))

    def call(self, name: Token, *arguments: Piece) -> RawCall:
        return RawCall(_piece(name), arguments)

    def reference(self, number: Token) -> Piece:
        digits = str(number)
        return Piece(f"[{digits}]", _start(number) - 1, _start(number) + len(digits) + 1, int(digits[:9]))

    def string(self, token: Token) -> Piece:
        text = re.sub(r"\\(.)", r"\1", str(token)[1:-1])
        return Piece(text, _start(token), _start(token) + len(token), quoted=True)

    def phrase(self, first: Token, *inner: Token) -> Piece:
        if not inner:
            return _piece(first)
        return Piece(f"{first}({inner[0]})", _start(first), _start(inner[0]) + len(inner[0]) + 1)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", start="line", transformer=_Build(), maybe_placeholders=False)


def _start(token: Token) -> int:
    return token.start_pos or 0


def _piece(token: Token) -> Piece:
    text = COMPARATOR_SPELLINGS.get(str(token), str(token))
    return Piece(text, _start(token), _start(token) + len(token))


def _explain(text: str, error: UnexpectedInput) -> LineError:
    """Lark's complaint in the words of someone who writes programs."""
    code = text[: CODE.match(text).end()].rstrip()  # type: ignore[union-attr]  # matches any text
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
    expected = _expected(terminals)
    misspelt, keyword = _misspelt_keyword(code)
    opens = Header(keyword, Piece(keyword, 0, 1), guessed=True) if keyword else None
    if misspelt:
        message = f"unknown statement {quote(misspelt)}: did you mean '{keyword}'?"
        return LineError(0, len(misspelt), message, "", opens)
    return LineError(start, width, message, expected, opens)


def _describe(character: str) -> str:
    return f"'{character}'" if character.isprintable() else unicodedata.name(character, f"U+{ord(character):04X}")


def _expected(terminals: Iterable[str]) -> str:
    words = [word for terminal, word in EXPECTED_WORDS.items() if terminal in set(terminals)]
    return f"expected {listed(words)}" if words else ""


def _misspelt_keyword(code: str) -> tuple[str, str]:
    """What stands where a keyword should (`whlie env[gold] > 0:`, `else if ...:`), and the keyword meant, if any."""
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
