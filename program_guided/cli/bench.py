"""`proto bench`: measurements, beside a peer or a naive form in the same run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import tyro

from program_guided.cli.output import Flag, OptionalPath, bar_for_each, progress_bars, report
from program_guided.errors import DataError

__all__ = ["Bench"]


@dataclass(frozen=True)
class Bench:
    """Measure speed, beside peers in the same run (they come with the extra `bench`)."""

    what: tyro.conf.Positional[Literal["world", "executor", "learn", "visual"]]
    """world: the 2D Minecraft world on one core, beside MiniGrid and EnvPool. executor: the network on one core, by
    program length, against its plain forms and beside torch's decoder. learn: learning from reward on all cores,
    beside Stable-Baselines3. visual: reasoning about pictures on one core, in parallel or one routine at a time, and
    indexing questions on all cores (about ten minutes)."""
    seconds: float = 3.0
    """How long each measurement runs; visual: at least three times through the test split."""
    batch: int = 1024
    """world: worlds stepped at once."""
    memory_steps: int = 100_000_000
    """world: steps over which memory must stay flat."""
    data: OptionalPath = None
    """visual: folder with an index and features; left out, the embedded world, made in out/visual at need."""
    checkpoint: OptionalPath = None
    """visual: the executor that carries out programs; left out, the one that ships."""
    questions: int = 1_000_000
    """visual: questions that are written to be indexed, in a temporary folder; a million take 2 GB of it."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self) -> int:
        from program_guided.benchmarks import executor, indexing, learn, visual, world
        from program_guided.cli.dataset import PROCESSES
        from program_guided.cli.visual_world import ready_world

        if not (self.seconds > 0 and self.batch >= 1 and self.memory_steps >= 0 and self.questions >= 1):
            message = "--seconds must be more than 0, --batch and --questions at least 1, --memory-steps at least 0"
            raise DataError(message)
        show = {"world": world, "executor": executor, "learn": learn, "visual": visual}[self.what].print_figures
        if self.what == "world":
            figures = world.measure(self.seconds, self.batch, self.memory_steps)
        elif self.what == "executor":
            figures = executor.measure(self.seconds)
        elif self.what == "learn":
            with progress_bars() as progress:
                figures = learn.measure(self.seconds, bar_for_each(progress))
        else:
            folder = self.data or ready_world()
            with progress_bars() as progress:
                show_bar = bar_for_each(progress)
                figures = visual.measure(self.seconds, folder, self.checkpoint or "visual", show_bar)
                figures["index"] = indexing.measure(self.questions, PROCESSES, self.seconds, show_bar)
        report(figures, self.save, self.json, show)
        return 0
