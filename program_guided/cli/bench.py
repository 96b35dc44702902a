"""`proto bench`: measurements, beside a peer or a naive form in the same run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from program_guided.cli.output import print_json, save_json
from program_guided.errors import DataError

__all__ = ["Bench"]


@dataclass(frozen=True)
class Bench:
    """Measure speed, beside peers in the same run (they come with the extra `bench`)."""

    what: tyro.conf.Positional[Literal["world"]]
    """world: the 2D Minecraft world on one core, beside MiniGrid and EnvPool."""
    seconds: float = 3.0
    """How long each measurement runs."""
    batch: int = 1024
    """Worlds stepped at once."""
    memory_steps: int = 100_000_000
    """Steps over which memory must stay flat."""
    json: bool = False
    """Print the figures as JSON."""
    save: Path | None = None
    """Write the figures to this file too."""

    def run(self) -> int:
        from program_guided.benchmarks.world import measure, print_figures

        if not (self.seconds > 0 and self.batch >= 1 and self.memory_steps >= 0):
            raise DataError("--seconds must be more than 0, --batch at least 1, --memory-steps at least 0")
        figures = measure(self.seconds, self.batch, self.memory_steps)
        if self.save is not None:
            save_json(figures, self.save)
        if self.json:
            print_json(figures)
        else:
            print_figures(figures)
            if self.save is not None:
                print("wrote", self.save)
        return 0
