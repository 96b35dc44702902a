"""The curriculum of learning from reward: which programs the coming episodes draw from.

Programs are admitted from short to long, one more routine whenever enough of the recent episodes were finished. Those
are drawn more often whose routines have failed more often lately. Episodes are truncated after a time that grows with
the programs. Once all programs are admitted, failed episodes may be tried again in the same world.

    curriculum = Curriculum(worlds, settings)
    curriculum.offer(random)                    # before the episodes of an iteration
    curriculum.count(passed, failed)            # in every step
    curriculum.admit(recent)                    # after the iteration
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.settings import RewardSettings
from program_guided.learning.worlds import Worlds

__all__ = ["Curriculum"]

DRAWN = 4096
"""Programs drawn for the episodes that begin in an iteration."""
FAILURE_DECAY = 0.8
"""Weight of earlier failures after an iteration."""


class Curriculum:
    """The programs that are admitted, and what has failed lately."""

    def __init__(self, worlds: Worlds, settings: RewardSettings) -> None:
        programs, kinds = worlds.programs, len(worlds.operation_names())
        self.worlds, self.settings = worlds, settings
        self.limit = int(programs.size.min() if settings.curriculum_threshold else programs.size.max())
        """Routines of the longest programs that are admitted."""
        self._longest_time = worlds.time_limit
        self._ends, self._offered = np.zeros((2, kinds)), np.zeros(0, np.int32)
        owner = np.repeat(np.arange(len(programs.size)), programs.size)
        self._has = np.zeros((len(programs.size), kinds), np.bool_)
        self._has[owner, programs.operation] = True

    def count(self, passed: NDArray[np.int64], failed: NDArray[np.int64]) -> None:
        """Rows of the programs whose routines ended in a step, and those in which an episode failed."""
        for number, rows in enumerate((passed, failed)):
            self._ends[number] += np.bincount(self.worlds.programs.operation[rows], minlength=self._ends.shape[1])

    def admit(self, recent: NDArray[np.bool_]) -> bool:
        """Admit programs of one more routine if enough of the recent episodes were finished; whether it was so."""
        if len(recent) < self.settings.window or recent.mean() < self.settings.curriculum_threshold:
            return False
        sizes = self.worlds.programs.size
        longer = sizes[sizes > self.limit]
        if len(longer):
            self.limit = int(longer.min())
        return bool(len(longer))

    def offer(self, random: np.random.Generator) -> None:
        """Draw the programs of the coming episodes from what is admitted."""
        (passed, failed), focus = self._ends, self.settings.curriculum_focus
        admitted = self.worlds.programs.size <= self.limit
        weights = (self._has * (failed + 1) / (passed + failed + 2)).max(axis=1) * admitted
        share = focus * weights / weights.sum() + (1 - focus) * admitted / admitted.sum()
        self._draw_from(random.choice(len(share), DRAWN, p=share).astype(np.int32))
        self._ends *= FAILURE_DECAY

    def _draw_from(self, programs: NDArray[np.int32]) -> None:
        """Set the programs of the coming episodes; hopeless ones are truncated soon (and bootstrapped)."""
        self._offered = programs
        self.worlds.time_limit = min(self._longest_time, self.settings.steps_per_routine * (self.limit + 1))
        complete = self.limit >= self.worlds.programs.size.max()
        self.worlds.retry_share = self.settings.retry_share if complete else 0.0
        self.worlds.offer(programs)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything, as tensors and numbers by name."""
        tensors = {"ends": torch.from_numpy(self._ends.copy()), "offered": torch.from_numpy(self._offered)}
        return tensors, {"limit": self.limit}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Everything as it was in a `state`."""
        self.limit = int(numbers["limit"])
        self._ends = tensors["ends"].numpy()
        self._draw_from(tensors["offered"].numpy())
