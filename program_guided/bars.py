"""Progress bars that fit terminals of any width: what has no room in a line goes to the next one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import Progress, Task, TaskID
from rich.text import Text

__all__ = ["AMOUNTS", "Bars"]

AMOUNTS = "{task.completed:,.0f}/{task.total:,.0f}"
BAR_WIDTH = 24
NARROW, NARROW_BAR = 100, 15
"""In terminals of up to this width bars are shorter, so that what stands beside them has room."""
GAP = 2
"""Characters between two pieces of a line."""


class Bars(Progress):
    """Bars on standard error: description, amount done, rate, time left; if it is no terminal, or one that cannot move
    its cursor, a line every `quiet_seconds`.

    Fields of a task: `rate` (a text instead of the amount per second), `notes` (further texts), `below` (lines). Bars
    that begin while others are drawn (kernels are compiled in the middle of a training) are drawn below those.
    """

    _live: ClassVar[Bars | None] = None
    """The bars that are drawn."""

    def __init__(self, amounts: str = AMOUNTS, transient: bool = False, quiet_seconds: float | None = None) -> None:
        console = Console(stderr=True)
        drawn = console.is_terminal and not console.is_dumb_terminal
        self._amounts, self._quiet_seconds, self._printed = amounts, quiet_seconds, time.monotonic()
        self._host: Bars | None = None
        self._guests: list[Bars] = []
        super().__init__(console=console, transient=transient, disable=not drawn)

    def start(self) -> None:
        if self.disable:
            return
        if Bars._live is None:
            Bars._live = self
            super().start()
        else:
            self._host = Bars._live
            self._host._guests.append(self)

    def stop(self) -> None:
        if self._host is not None:
            self._host._guests.remove(self)
            self._host = None
        else:
            super().stop()
            Bars._live = None if Bars._live is self else Bars._live

    def bar(self, description: str, total: int) -> Callable[[int], None]:
        """A new bar; the function shows how much is done."""
        task = self.add_task(description, total=total)
        return lambda done: self.update(task, completed=done)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        quiet = self._quiet_seconds
        if self.disable and quiet is not None and time.monotonic() - self._printed > quiet:
            self._printed, task = time.monotonic(), self._tasks[task_id]
            print(f"{task.description}: {task.percentage:.0f} % done", file=sys.stderr, flush=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from (_Bar(task, self._amounts) for task in self.tasks if task.visible)
        for guest in self._guests:
            yield from guest.get_renderables()


class _Bar:
    """One task."""

    def __init__(self, task: Task, amounts: str) -> None:
        self.task, self.amounts = task, amounts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pieces = [piece for piece in self._pieces(options) if piece.plain]
        yield from _packed(pieces, options.max_width)
        yield from map(Text, self.task.fields.get("below", ()))

    def _pieces(self, options: ConsoleOptions) -> Iterator[Text]:
        task = self.task
        yield Text(task.description)
        yield _drawn(
            task, NARROW_BAR if options.max_width <= NARROW else BAR_WIDTH, "=-" if options.ascii_only else "━─"
        )
        yield Text(f"{task.completed:,.0f}" if task.total is None else self.amounts.format(task=task))
        yield Text(task.fields.get("rate", _rate(task) if self.amounts == AMOUNTS else ""))
        yield from map(Text, task.fields.get("notes", ()))
        if task.finished:
            yield Text(_time(task.elapsed), "progress.elapsed")
        else:
            yield Text(f"{_time(task.time_remaining)} left", "progress.remaining")


def _drawn(task: Task, width: int, characters: str) -> Text:
    done = 0 if not task.total else round(width * min(1.0, task.completed / task.total))
    style = "bar.finished" if task.finished else "bar.complete"
    return Text.assemble((characters[0] * done, style), (characters[1] * (width - done), "bar.back"))


def _rate(task: Task) -> str:
    speed = task.finished_speed or task.speed or (task.completed / task.elapsed if task.elapsed else 0)
    return "" if not speed else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.2g}/s"


def _time(seconds: float | None) -> str:
    return "-:--:--" if seconds is None else str(timedelta(seconds=int(seconds)))


def _packed(pieces: Iterable[Text], width: int) -> Iterator[Text]:
    """Lines that are not wider than the terminal, unless a piece is."""
    line = Text()
    for piece in pieces:
        if line.plain and line.cell_len + GAP + piece.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, " " * GAP, piece) if line.plain else piece
    if line.plain:
        yield line
