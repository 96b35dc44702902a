"""Settings of the study of photographs, in a module without torch, so that the command line starts fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from program_guided.learning.settings import SupervisedSettings

__all__ = ["PictureSettings"]


@dataclass(frozen=True)
class PictureSettings(SupervisedSettings):
    """Partial supervision on few photographs."""

    steps: int = 200
    """Number of updates of each executor."""
    learning_rate: float = 3e-3
    """Peak learning rate."""
    warmup: int = 50
    """Number of updates over which the learning rate rises."""
    ema: float = 0.98
    """Decay of the exponential moving average of the weights, which is the result of training."""
    relabelled: float = 0.0
    """Share of relabelled programs: 0, since the oracle needs scene graphs."""
    word_dropout: float = 0.2
    """Probability that a word of a program is replaced by the unknown word in training."""
    reader_dropout: float = 0.4
    """Dropout in the reader of evidence."""
    members: int = 3
    """Number of executors of a seed, whose probabilities are averaged."""
    word_width: int = 16
    """Width of a word's embedding; an executor is eight times as wide."""
    hidden: int = 128
    """Hidden width of MLPs."""
    blocks: int = 1
    """Number of blocks: readings of the picture by a routine."""

    COUNTS: ClassVar[tuple[str, ...]] = (*SupervisedSettings.COUNTS, "members", "word_width", "hidden", "blocks")
    SHARES: ClassVar[tuple[str, ...]] = (*SupervisedSettings.SHARES, "word_dropout", "reader_dropout")
