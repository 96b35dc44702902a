"""The observations of an agent.

map (side, side) int8: the kind of every cell, a number of `KINDS`; 0 (outside) beyond the world's own side.
agent (2,) int8: row and column of the agent, from 0.
inventory (7,) int16: number of each of `OBJECTS` that it carries.
pointer (2,) int16: the pointed routine, from 0 (the number of routines when the program is over), and the routine
    executed before it (-1 at the start).
words (routines, 4) uint8: the words of every routine, numbers of `DOMAIN.vocabulary`; 0 where there is none.
flow (routines, 3) int16: of every routine its kind (0 behaviour, 1 if, 2 while, -1 beyond the end), the routine that
    follows when it ends (for a condition: with true), and the routine that follows with false.

`side` is the maximum side of a world (default 8). Coordinates (x, y) in programs start at 1; the map's row is y - 1 and
its column x - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from program_guided.tasks.minecraft.domain import DOMAIN, KINDS, OBJECTS
from program_guided.tasks.minecraft.world.batch import FLOW, Batch

__all__ = ["MAX_CARRIED", "observation_space", "observe"]

MAX_CARRIED = 999


def observation_space(side: int, max_routines: int) -> spaces.Dict:
    """The space of one world's observations."""
    return spaces.Dict(
        {
            "map": spaces.Box(0, len(KINDS) - 1, (side, side), np.int8),
            "agent": spaces.Box(0, side - 1, (2,), np.int8),
            "inventory": spaces.Box(0, MAX_CARRIED, (len(OBJECTS),), np.int16),
            "pointer": spaces.Box(-1, max_routines, (2,), np.int16),
            "words": spaces.Box(0, len(DOMAIN.vocabulary) - 1, (max_routines, DOMAIN.routine_width), np.uint8),
            "flow": spaces.Box(-1, max_routines, (max_routines, FLOW), np.int16),
        }
    )


def observe(batch: Batch) -> dict[str, NDArray[Any]]:
    """The observation of every world of a batch: the one that learning reads (`Batch.observe`), and the flow. All but
    `pointer` are the batch's own arrays, which the next step changes."""
    observed = batch.observe()
    pointer = np.stack((observed.routine, observed.parents[:, 0]), axis=1)
    return {**observed.specification, "pointer": pointer, "words": observed.words, "flow": batch.view.flow}
