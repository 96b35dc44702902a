"""What an agent observes: the one place that says so.

map (side, side) int8: the kind of every cell, a number of `KINDS`; 0 (outside) beyond the world's own side.
agent (2,) int8: row and column of the agent, from 0.
inventory (7,) int16: how many of each of `OBJECTS` it carries.
pointer (2,) int16: the pointed routine, from 0 (the number of routines when the program is over), and the routine
    executed before it (-1 at the start).
words (routines, 4) uint8: the words of every routine, numbers of `DOMAIN.vocabulary`; 0 where there is none.
flow (routines, 3) int16: of every routine its kind (0 behaviour, 1 if, 2 while, -1 beyond the end), the routine that
    follows when it ends (for a condition: with true), and the routine that follows with false.

`side` is the largest side a world may have (8 unless asked otherwise). Programs speak of (x, y) from 1; the map's row
is y - 1 and its column x - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from program_guided.tasks.minecraft.batch import FLOW, Batch
from program_guided.tasks.minecraft.domain import DOMAIN, KINDS, OBJECTS

__all__ = ["MOST_CARRIED", "observation_space", "observe"]

MOST_CARRIED = 999


def observation_space(side: int, most_routines: int) -> spaces.Dict:
    """The space of one world's observations."""
    return spaces.Dict(
        {
            "map": spaces.Box(0, len(KINDS) - 1, (side, side), np.int8),
            "agent": spaces.Box(0, side - 1, (2,), np.int8),
            "inventory": spaces.Box(0, MOST_CARRIED, (len(OBJECTS),), np.int16),
            "pointer": spaces.Box(-1, most_routines, (2,), np.int16),
            "words": spaces.Box(0, len(DOMAIN.vocabulary) - 1, (most_routines, DOMAIN.routine_width), np.uint8),
            "flow": spaces.Box(-1, most_routines, (most_routines, FLOW), np.int16),
        }
    )


def observe(batch: Batch) -> dict[str, NDArray[Any]]:
    """What every world of a batch shows. All but `pointer` are the batch's own arrays, which the next step changes."""
    worlds = batch.worlds
    return {
        "map": worlds.cells,
        "agent": worlds.agent,
        "inventory": worlds.inventory,
        "pointer": np.stack((worlds.routine, worlds.previous), axis=1),
        "words": batch.view.words,
        "flow": batch.view.flow,
    }
