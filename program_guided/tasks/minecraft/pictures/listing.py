"""Text of both kinds of pictures: the visible part of a program, the kinds of its words, and the outcome.

A program that is too long scrolls, so that the pointed line is always visible.

    >>> [row.text for row in window(("a()", "b()", "c()", "d()", "e()"), pointed=1, rows=4)]
    ['a()', 'b()', 'c()', '…']
    >>> headline("wrong answer", "failed: wrong answer")
    'failed: wrong answer'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from program_guided.tasks.minecraft.domain import THINGS

__all__ = ["ELLIPSIS", "Row", "cut", "headline", "mood", "window", "words"]

ELLIPSIS = "…"
SMALLEST_WINDOW = 3
"""A mark above, the pointed line, a mark below."""

_WORD = re.compile(
    r"(?P<keyword>\b(?:def|if|elif|else|while|loop)\b)"
    r"|(?P<number>\b\d+\b)"
    rf"|(?P<thing>\b(?:{'|'.join(THINGS)})\b)"
    r"|(?P<name>\w+)"
    r"|(?P<other>[^\w]+)",
    re.IGNORECASE,
)

_NOT_FAILED = ("running", "finished", "timeout")


@dataclass(frozen=True)
class Row:
    """One row of the listing."""

    number: int | None
    """The line's number from 1; None for the mark that stands for lines not shown."""
    text: str
    pointed: bool = False


def window(program: Sequence[str], pointed: int | None, rows: int) -> tuple[Row, ...]:
    """The lines to show in `rows` rows, the pointed one among them; the end of a program that is over."""
    rows = max(rows, SMALLEST_WINDOW)
    last = max(0, len(program) - rows)
    focus = len(program) if pointed is None else pointed
    first = min(max(0, focus - rows // 2), last)
    shown = [Row(index + 1, program[index], index == pointed) for index in range(len(program))][first : first + rows]
    if first > 0:
        shown[0] = Row(None, ELLIPSIS)
    if first < last:
        shown[-1] = Row(None, ELLIPSIS)
    return tuple(shown)


def words(line: str) -> Iterator[tuple[str, str]]:
    """The pieces of a line, each with its kind: keyword, number, thing, name or other."""
    for match in _WORD.finditer(line):
        yield match.group(), match.lastgroup or "other"


def cut(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    text = text.replace("\t", "    ").replace("\n", " ")
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def mood(outcome: str) -> str:
    """running, finished, timeout or failed."""
    return outcome if outcome in _NOT_FAILED else "failed"


def headline(outcome: str, message: str) -> str:
    """One line: the outcome and, if it adds something, the message; while the program runs, the message alone."""
    message = " ".join(message.split())
    shown = {"running": "", "failed": f"failed: {outcome}"}.get(mood(outcome), outcome)
    if message.casefold() in (shown, outcome):
        return shown
    return ": ".join(part for part in (shown, message) if part)
