"""The progress of a training: a bar in a terminal with where it stands below, a line at each evaluation elsewhere."""

from __future__ import annotations

from types import TracebackType

from program_guided.bars import Bars
from program_guided.learning.trainer import Moment
from program_guided.output import counted

__all__ = ["ProgressBar"]

MEASURED_FOR = 10.0
"""Seconds after which the time that is left is announced."""


class ProgressBar:
    """Call it with every moment."""

    def __init__(self) -> None:
        self._bars = Bars("{task.completed:,.0f}/{task.total:,.0f} steps")
        self._task = self._bars.add_task("training", total=None, rate="")
        self._loss: float | None = None
        self._start: tuple[int, float] | None = None
        self._announced = False
        self.moments = 0
        """Calls so far."""

    def __enter__(self) -> ProgressBar:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, moment: Moment) -> None:
        self.moments += 1
        self._loss = moment.loss if self._loss is None else 0.98 * self._loss + 0.02 * moment.loss
        self._start = self._start or (moment.samples, moment.seconds)
        done, seconds = moment.samples - self._start[0], moment.seconds - self._start[1]
        rate = f"{done / seconds:,.0f} samples/s" if seconds > 0 else ""
        finished = "" if moment.completion is None else f"held-out {moment.completion:.1f} %"
        below = {"below": _validation(moment)} if moment.evaluated else {}
        notes = (f"loss {self._loss:.3f}", finished)
        self._bars.update(self._task, completed=moment.step, total=moment.steps, rate=rate, notes=notes, **below)
        if self._bars.disable and not self._announced and seconds > MEASURED_FOR:
            self._announced = True
            left = seconds / done * (moment.samples / moment.step * moment.steps - moment.samples)
            print(f"about {counted(max(1, round(left / 60)), 'minute')} to go, and the evaluations", flush=True)
        if moment.evaluated and self._bars.disable:
            shown = f"{rate}  loss {moment.loss:.3f}  {finished}"
            print(f"step {moment.step:,} of {moment.steps:,}  {moment.seconds / 60:.1f} min  {shown}", flush=True)


def _validation(moment: Moment) -> list[str]:
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
