"""A moment of an execution in a terminal: coloured cells of two characters, readable without colour too.

The agent is @, followed by half of what it stands on.

    animate(snapshots)                 plays them in place
    Console().print(view(snapshot))    prints one:

        1 2 3 4 5     Go gold     2       1 def run():
     1  · · ·Go ·     Wo wood     0    >  2   mine(gold)
     2  ·@  ·## ·     Ir iron     1       3   sell(gold)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from program_guided.tasks.minecraft.domain import OBJECTS, TERRAIN
from program_guided.tasks.minecraft.pictures.listing import Row, headline, mood, window, words
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot

__all__ = ["animate", "text", "view"]

SYMBOLS = {
    "flat": (" ·", "#6f9a52 on #a9d08a"),
    "wall": ("##", "#f0d9c4 on #a94a35"),
    "river": ("~~", "#d3ecfd on #2f7fc9"),
    "bridge": ("==", "#4a2a10 on #c68b52"),
    "merchant": ("$$", "bold #ffffff on #d6333a"),
    "gold": ("Go", "bold #5a3a00 on #ffcf33"),
    "wood": ("Wo", "bold #ffe2b8 on #7a4a24"),
    "iron": ("Ir", "bold #ffb48a on #3f454f"),
    "silver": ("Si", "bold #3a4452 on #e6ecf3"),
    "triangle": ("/\\", "bold #ffffff on #7a3fc0"),
    "circle": ("()", "bold #7a0f18 on #ff9aa0"),
    "rectangle": ("[]", "bold #ffffff on #1d46b0"),
}
"""Two characters, distinguishable without colour, and their colours."""
AGENT = ("@", "bold #ffffff on #e0186f")
BANNERS = {
    "running": "bold #2e3440 on #dcd5c5",
    "finished": "bold #ffffff on #2f9e44",
    "failed": "bold #ffffff on #d6333a",
    "timeout": "bold #000000 on #ec8305",
}
BANDS = {**BANNERS, "running": "bold #000000 on #ffd43b"}
WORDS = {"keyword": "magenta", "number": "yellow", "thing": "green", "name": "cyan", "other": ""}

BORDERS = 2
ROW_NUMBER = 3
CARRIED = 15
"""Characters: a symbol, a name and a count."""
MAX_WIDTH = 100
"""Wider terminals stay empty on the right."""
MAX_LINES = 17
"""Maximum lines of a program: with borders, banner and legend they fit into a terminal of 24 lines."""
MAX_LABELS = 9
"""Maximum columns of a map with a number over each; on wider maps, two-digit numbers would run together."""


def view(snapshot: Snapshot) -> RenderableType:
    """The map, what the agent carries, the program and what has just happened, as wide as the terminal or less."""
    lines = window(snapshot.program, snapshot.pointed, MAX_LINES)
    height = max(len(snapshot.cells) + 1, len(OBJECTS), len(lines)) + BORDERS
    body = Table.grid(expand=True)
    body.add_column(width=2 * len(snapshot.cells[0]) + ROW_NUMBER + BORDERS)
    body.add_column(width=CARRIED + BORDERS)
    body.add_column(ratio=1)
    parts: dict[str, RenderableType] = {
        "map": _map(snapshot),
        "carries": _inventory(snapshot),
        "program": _program(lines, BANDS[mood(snapshot.outcome)]),
    }
    body.add_row(*(_panel(title, content, height) for title, content in parts.items()))
    return Constrain(Group(_banner(snapshot), body, _legend()), MAX_WIDTH)


def animate(snapshots: Iterable[Snapshot], delay: float = 0.15, console: Console | None = None) -> None:
    """Play an execution in place; if the output is no terminal, print its two ends and the messages in between."""
    console = console or Console()
    play = _play if console.is_terminal and not console.is_dumb_terminal else _log
    play(snapshots, delay, console)


def text(snapshot: Snapshot) -> str:
    """The view as a string with the terminal's colour codes, for Gymnasium's render mode "ansi"."""
    console = Console(width=80, force_terminal=True, color_system="truecolor", legacy_windows=False)
    with console.capture() as capture:
        console.print(view(snapshot))
    return capture.get()


def _play(snapshots: Iterable[Snapshot], delay: float, console: Console) -> None:
    with Live(console=console, auto_refresh=False) as live:
        for snapshot in snapshots:
            live.update(view(snapshot), refresh=True)
            time.sleep(delay)


def _log(snapshots: Iterable[Snapshot], delay: float, console: Console) -> None:
    """Print without delay, for output that is no terminal."""
    remaining = iter(snapshots)
    for first in islice(remaining, 1):
        console.print(view(first))
    latest = None
    for snapshot in remaining:
        if latest is not None and latest.message:
            console.print(_one_line(f"step {latest.time}: {headline(latest.outcome, latest.message)}"))
        latest = snapshot
    if latest is not None:
        console.print(view(latest))


def _one_line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def _panel(title: str, content: RenderableType, height: int) -> Panel:
    return Panel(content, title=title, title_align="left", height=height, padding=0, border_style="dim")


def _map(snapshot: Snapshot) -> Text:
    columns = len(snapshot.cells[0])
    step = 1 if columns <= MAX_LABELS else 2
    labels = (f"{column + 1:2}".ljust(2 * step) for column in range(0, columns, step))
    drawn = Text(" " * ROW_NUMBER + "".join(labels))
    for row, names in enumerate(snapshot.cells):
        drawn.append(f"\n{row + 1:{ROW_NUMBER - 1}} ")
        for column, name in enumerate(names):
            drawn.append_text(_cell(name, (row, column) == snapshot.agent))
    return drawn


def _cell(name: str, agent: bool) -> Text:
    """A cell; half of the symbol stays visible beside the agent."""
    symbol, style = SYMBOLS[name]
    return Text.assemble(AGENT, (symbol[0], style)) if agent else Text(symbol, style)


def _inventory(snapshot: Snapshot) -> Text:
    rows = []
    for name in OBJECTS:
        count = snapshot.inventory.get(name, 0)
        rows.append(Text.assemble(SYMBOLS[name], (f" {name:9} {count:2}", "bold" if count else "dim")))
    return Text("\n").join(rows)


def _program(lines: Sequence[Row], band: str) -> Table:
    listing = Table.grid(expand=True)
    listing.add_column(no_wrap=True, overflow="ellipsis")
    for row in lines:
        listing.add_row(_line(row), style=band if row.pointed else None)
    return listing


def _line(row: Row) -> Text:
    if row.pointed:
        return Text(f">{row.number:3} {row.text}")
    pieces = [(word, WORDS[kind]) for word, kind in words(row.text)]
    return Text.assemble((f" {row.number or '':3} ", "dim"), *pieces)


def _banner(snapshot: Snapshot) -> RenderableType:
    event = headline(snapshot.outcome, snapshot.message)
    banner = _one_line(f"step {snapshot.time:<4} {snapshot.action or 'start':6} {event}")
    return Padding(banner, (0, 1), style=BANNERS[mood(snapshot.outcome)])


def _legend() -> Text:
    terrain = [Text.assemble(SYMBOLS[name], f" {name}") for name in TERRAIN]
    return Text("   ").join([Text.assemble(AGENT, " agent"), *terrain])
