"""Settings of trainings; no torch here, so that the command line can show them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from program_guided.errors import DataError

__all__ = ["DenseSettings", "Settings"]


@dataclass(frozen=True)
class Settings:
    """What every training must be told."""

    steps: int
    """Steps of the training."""
    worlds: int = 512
    """Worlds stepped at once, in all processes together."""
    variants: int = 64
    """Worlds of each program."""
    rate: float = 2e-3
    """Learning rate at its height; it rises over `warm_up` steps and falls to 0 along a cosine."""
    warm_up: int = 200
    """Steps over which the learning rate rises."""
    decay: float = 0.01
    """Weight decay."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    average: float = 0.999
    """The weights that are kept are an average over about the last 1 / (1 - this) updates."""

    COUNTS: ClassVar[tuple[str, ...]] = ("steps", "worlds", "variants", "warm_up")
    SHARES: ClassVar[tuple[str, ...]] = ("average", "decay")

    def check(self, processes: int = 1) -> None:
        """One clear error for settings that cannot be."""
        for name in self.COUNTS:
            if getattr(self, name) < 1:
                raise DataError(f"--{name.replace('_', '-')} {getattr(self, name)}: at least 1 is needed")
        for name in self.SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"--{name.replace('_', '-')} {getattr(self, name)}: a share is from 0 to 1")
        if not (self.rate > 0 and self.clip > 0):
            raise DataError("--rate and --clip must be more than 0")
        if processes < 1 or self.worlds % processes:
            raise DataError(f"--worlds {self.worlds} cannot be shared evenly by --processes {processes}")


@dataclass(frozen=True)
class DenseSettings(Settings):
    """How dense training goes."""

    steps: int = 20_000
    """Steps of all worlds, each with one update of the weights."""
    states: Literal["learner", "planner"] = "learner"
    """Whose steps lead through the worlds: the learner's own (DAgger), or the planner's (behaviour cloning)."""
    loss: Literal["cross-entropy", "l2"] = "cross-entropy"
    """Minus the log of the probability of all best actions, or the paper's L2 distance."""
    greedy: float = 0.5
    """Share of the worlds in which the learner acts greedily instead of sampling, at the end; it rises from 0."""
    guided: float = 0.5
    """Share of the planner's steps at the beginning; it falls to 0 over the first twentieth of the training."""

    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "greedy", "guided")
