"""Sizes and settings of the detector; no torch here, so that the command line can show them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from program_guided.learning.settings import Settings

__all__ = ["DetectorConfig", "DetectorSettings"]


@dataclass(frozen=True)
class DetectorConfig:
    """Sizes of the network."""

    width: int = 24
    """Channels of the first maps of both stages."""
    vector: int = 192
    """Numbers in an object's vector."""
    context: int = 64
    """Numbers of the context of a cell."""


@dataclass(frozen=True)
class DetectorSettings(Settings):
    """Settings of the detector's training."""

    steps: int = 10_000
    """Updates of the weights."""
    eval_every: int = 250
    """Steps between evaluations on held-out pictures, and saved states."""
    batch_size: int = 8
    """Pictures in each update, in all processes together."""
    learning_rate: float = 2e-3
    """Learning rate at its height."""
    weight_decay: float = 0.05
    """Weight decay of AdamW."""
    max_grad_norm: float = 5.0
    """Gradients are clipped to this norm."""
    ema: float = 0.99
    """The weights that are kept are an exponential moving average with this decay."""
    pictures: int = 8_000
    """Pictures to learn from; more are drawn to be held out."""
    held_out: int = 100
    """Pictures that are evaluated on."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "batch_size", "pictures", "held_out")

    @property
    def shared(self) -> tuple[str, int]:
        return "batch-size", self.batch_size
