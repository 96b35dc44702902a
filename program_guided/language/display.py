"""Programs, routine tables and other results as HTML, for notebooks: no scripts, no style sheets, no other files.

program                 # the last line of a cell: highlighted text
table                   # a table of routines
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from program_guided.language.printer import print_call, print_program

if TYPE_CHECKING:
    from program_guided.language.syntax import Program
    from program_guided.language.table import RoutineTable

__all__ = ["COLOURS", "EDITOR", "Html", "highlighted", "html_table", "program_html", "table_html"]

EDITOR = "#262b38"
COLOURS = {"keyword": "#c9a2f2", "number": "#f6b26b", "thing": "#8fd694", "name": "#8ac6f5", "other": "#d5dae5"}
"""Colours of the kinds of words in a program, on `EDITOR`; the pictures of the world have the same."""
CODE = f"background:{EDITOR};color:{COLOURS['other']};border-radius:6px;font-family:monospace;text-align:left"
CELL = '"text-align:left;padding:3px 10px"'

_WORD = re.compile(
    r"(?P<keyword>\b(?:def|if|elif|else|while|loop)\b)"
    r"|(?P<number>\b\d+\b)"
    r"|(?P<name>\w+(?=[(\[]))"
    r'|(?P<thing>"(?:[^"\\]|\\.)*"|\w+(?=[\w ]*[,)\]]))'
    r"|(?P<other>.)",
    re.DOTALL,
)


class Html(str):
    """Text that is HTML already."""


def program_html(program: Program) -> str:
    """A program with its words coloured by kind."""
    return f'<pre style="{CODE};padding:10px 14px;display:inline-block">{highlighted(print_program(program))}</pre>'


def table_html(table: RoutineTable) -> str:
    """A routine table: which routine follows which, and whose results each takes."""
    names = [call.result for call in table.calls]

    def target(row: int) -> str:
        return str(row) if row < len(table) else "end"

    rows = (
        (
            str(row),
            _code(print_call(call, table.domain, names)),
            target(int(table.on_true[row])),
            target(int(table.on_false[row])) if table.kind[row] else "",
            ", ".join(map(str, table.parents[row])),
        )
        for row, call in enumerate(table.calls)
    )
    return html_table(("", "routine", "then", "if false", "parents"), rows)


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table; cells are escaped unless they are `Html`."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    return Html(f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def highlighted(text: str) -> Html:
    """A program's text with its words coloured by kind."""
    return Html("".join(_coloured(text)))


def _coloured(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        kind, word = match.lastgroup or "other", escape(match.group())
        yield word if kind == "other" else f'<span style="color:{COLOURS[kind]}">{word}</span>'


def _code(text: str) -> Html:
    return Html(f'<code style="{CODE};padding:2px 6px">{highlighted(text)}</code>')


def _row(tag: str, cells: Sequence[str]) -> str:
    shown = (cell if isinstance(cell, Html) else escape(cell) for cell in cells)
    return f"<tr>{''.join(f'<{tag} style={CELL}>{cell}</{tag}>' for cell in shown)}</tr>"
