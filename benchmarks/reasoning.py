"""`proto bench visual`: reasoning about pictures (`visual.py`), indexing questions (`indexing.py`), reading features
(`features.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.timing import Timed, Watch, check_counts
from program_guided.output import OptionalPath

__all__ = ["Options", "print_figures"]


@dataclass(frozen=True)
class Options(Timed):
    """Options of the measurement."""

    seconds: float = 3.0
    """Seconds that each measurement runs; at least three times through the test split."""
    data: OptionalPath = None
    """Folder with an index and features; left out, the embedded world, made in out/visual at need."""
    checkpoint: OptionalPath = None
    """The executor of the programs; left out, the one that ships."""
    questions: int = 1_000_000
    """Questions that are written to be indexed, in a temporary folder; a million take 2 GB of it."""
    pictures: int = 400
    """Pictures whose features are written to be read at random, in a temporary folder; 400 take 0.4 GB of it."""
    parts: tuple[Literal["reasoning", "index", "features"], ...] = ("reasoning", "index", "features")
    """Parts of the benchmark that are run."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        check_counts(questions=self.questions, pictures=self.pictures)
        from benchmarks import features, indexing, visual
        from program_guided.tasks.visual.commands.dataset import PROCESSES
        from program_guided.tasks.visual.embedded.folders import ready_world

        figures: dict[str, Any] = {}
        if "reasoning" in self.parts:
            data = self.data or ready_world(show=show)
            figures |= visual.measure(self.seconds, data, self.checkpoint or "visual", show)
        if "index" in self.parts:
            figures["index"] = indexing.measure(self.questions, PROCESSES, self.seconds, show)
        if "features" in self.parts:
            figures["features"] = features.measure(self.pictures, self.seconds, show)
        return figures


def print_figures(figures: dict[str, Any]) -> None:
    """Tables for a person."""
    from benchmarks import features, indexing, visual

    if "steps" in figures:
        visual.print_figures(figures)
    for part, module in {"index": indexing, "features": features}.items():
        if part in figures:
            module.print_figures(figures[part])
