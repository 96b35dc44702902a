"""The progress of a training: a bar in a terminal with where it stands below, a line at each evaluation elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from program_guided.learning.trainer import Moment

__all__ = ["ProgressBar"]


class ProgressBar:
    """Call it with every moment."""

    def __init__(self) -> None:
        self._console = Console()
        columns = (
            BarColumn(24),
            TextColumn("{task.fields[steps]}"),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
        )
        self._progress = Progress(*columns, console=self._console)
        self._task = self._progress.add_task("", total=None, figures="", steps="")
        self._live = Live(self._progress, console=self._console) if self._console.is_terminal else None
        self._loss: float | None = None
        self._start: tuple[int, float] | None = None

    def __enter__(self) -> ProgressBar:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, moment: Moment) -> None:
        self._loss = moment.loss if self._loss is None else 0.98 * self._loss + 0.02 * moment.loss
        self._start = self._start or (moment.samples, moment.seconds)
        done, seconds = moment.samples - self._start[0], moment.seconds - self._start[1]
        rate = f"{done / seconds:,.0f} samples/s" if seconds > 0 else ""
        finished = "" if moment.completion is None else f"held-out {moment.completion:.1f} %"
        figures = f"{rate}  loss {self._loss:.3f}  {finished}"
        self._progress.update(
            self._task,
            completed=moment.step,
            total=moment.steps,
            figures=figures,
            steps=f"{moment.step:,}/{moment.steps:,} steps",
        )
        if moment.evaluated and self._live:
            self._live.update(Group(self._progress, *map(Text, _standing(moment))))
        elif moment.evaluated:
            shown = f"{rate}  loss {moment.loss:.3f}  {finished}"
            print(f"step {moment.step:,} of {moment.steps:,}  {moment.seconds / 60:.1f} min  {shown}", flush=True)


def _standing(moment: Moment) -> list[str]:
    """Figures of the held-out programs, a line each."""
    named = {
        "right, by routine": moment.routines,
        "right, by tokens up to": moment.lengths,
        "in training": moment.figures,
    }
    return [
        f"{title}:  " + "   ".join(f"{name} {number:.0f}" for name, number in numbers.items())
        for title, numbers in named.items()
        if numbers
    ]
