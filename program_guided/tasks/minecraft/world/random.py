"""Random numbers inside the kernels: SplitMix64, integers only, so that a seed gives the same numbers on every machine
and for every batch size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.world.compiled import compiled, inner

__all__ = ["draw", "mix"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def mix(seed: int | np.uint64, number: int) -> np.uint64:
    """Derive the `number`-th seed from a seed."""
    z = np.uint64(seed) + (np.uint64(number) + np.uint64(1)) * _STEP
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@inner
def draw(state: NDArray[np.uint64], i: int, bound: int) -> int:
    """The next number from 0 to bound - 1 of stream i."""
    state[i] += _STEP
    z = state[i]
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    z = z ^ (z >> _31)
    number: int = np.int64(((z >> _32) * np.uint64(bound)) >> _32)  # type: ignore[assignment]  # an int to callers
    return number
