"""Implications between conditions of the world: if `env[gold] > 2` is true, `env[gold] >= 1` is true as well.

Every condition compares one count with a number, so implications are found by enumerating all possible counts
(`learning.worlds.Conditions`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.domain import LARGEST_SIDE
from program_guided.tasks.minecraft.world.kernels import compare_counts
from program_guided.tasks.minecraft.world.rules import Operation
from program_guided.tasks.minecraft.world.state import ProgramSet

__all__ = ["CountConditions"]

COUNTS = LARGEST_SIDE**2 + 1
"""Number of possible counts."""


class CountConditions:
    """All conditions of some programs that take no results."""

    def __init__(self, programs: ProgramSet) -> None:
        plain = (programs.operation >= Operation.AGENT) & (programs.operation <= Operation.IS_THERE)
        rows = np.flatnonzero(plain)
        words, first, number = np.unique(programs.words[rows], axis=0, return_index=True, return_inverse=True)
        self.words = words
        self.number = np.full(len(programs.operation), -1, np.int64)
        self.number[rows] = number.ravel()
        kinds, comparisons, numbers = programs.arguments[rows[first]].T
        carried = programs.operation[rows[first]] == Operation.AGENT
        true = np.zeros((len(words), COUNTS), np.float32)
        compare_counts(comparisons, numbers, true)
        same = (kinds[:, None] == kinds) & (carried[:, None] == carried)
        self.implied = np.stack([_implied(1 - true, true, same), _implied(true, true, same)], axis=1)


def _implied(possible: NDArray[np.float32], true: NDArray[np.float32], same: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Value of each condition implied by a set of possible counts: 1 true, 0 false, -1 undecided."""
    both, every = possible @ true.T, possible.sum(axis=1, keepdims=True)
    return np.where(same, np.where(both == every, 1, np.where(both == 0, 0, -1)), -1).astype(np.int8)
