"""The rules of the world, as tables and numbers; `kernels.py` implements them.

| action | does |
|---|---|
| up, down, left, right | one cell, unless the border, a wall or a river is in the way (time passes anyway) |
| mine | takes the object on the agent's own cell; the cell becomes flat |
| build | turns the first river cell of up, right, down, left of the agent into a bridge, for one wood |
| place | during `place(t, x, y)`: puts t on the agent's cell, replacing an object that lies there |
| sell | during `sell(t)`: gives one t to the merchant on the agent's cell |
| true, false | during a condition: its answer |
| 0, 1, 2 ... | during `count` and `carried`: the number; only in worlds whose programs have them |

An action that has no meaning at the pointed routine only lets time pass.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from program_guided.language.domain import ACTION, BOOLEAN
from program_guided.tasks.minecraft.domain import ACTIONS, COUNT, DOMAIN, KINDS, NUMBERS, OBJECTS

__all__ = [
    "ACTION_MASK",
    "ACTION_NAMES",
    "FIRST_NUMBER",
    "FIRST_OBJECT",
    "MERCHANTS",
    "MOVES",
    "TIME_LIMIT",
    "WALKABLE",
    "Action",
    "Cell",
    "Operation",
    "Outcome",
]


class Cell(IntEnum):
    """Values of a map's cells: indices of `KINDS`."""

    OUTSIDE = 0
    FLAT = 1
    WALL = 2
    RIVER = 3
    BRIDGE = 4
    MERCHANT = 5
    GOLD = 6
    WOOD = 7
    IRON = 8
    SILVER = 9
    TRIANGLE = 10
    CIRCLE = 11
    RECTANGLE = 12


class Action(IntEnum):
    """Indices of `ACTIONS`."""

    UP = 0
    DOWN = 1
    LEFT = 2
    RIGHT = 3
    MINE = 4
    BUILD = 5
    PLACE = 6
    SELL = 7
    TRUE = 8
    FALSE = 9


class Operation(IntEnum):
    """Rows of the domain's table."""

    MINE = 0
    GOTO = 1
    PLACE = 2
    BUILD_BRIDGE = 3
    SELL = 4
    AGENT = 5
    ENV = 6
    IS_THERE = 7
    GREATER = 8
    LESS = 9
    EQUAL = 10
    COUNT = 11
    CARRIED = 12


class Outcome(IntEnum):
    """State of an episode; the first four are those of every world (`learning.worlds.Outcome`)."""

    RUNNING = 0
    FINISHED = 1
    WRONG_ANSWER = 2
    TIMEOUT = 3
    WRONG_PLACE = 4
    MISSING_OBJECT = 5

    def __str__(self) -> str:
        return self.name.replace("_", " ").lower()


TIME_LIMIT = 300
"""Steps after which the episode is truncated."""
MERCHANTS = (2, 4)
"""Minimum and maximum number in a sampled world."""
FIRST_OBJECT = KINDS.index(OBJECTS[0])
"""Smallest value of cells that are objects; subtracted, it gives the object's place in the inventory."""

_BLOCKED = ("outside", "wall", "river")
WALKABLE = np.array([kind not in _BLOCKED for kind in KINDS])
MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)], np.int8)
"""Row and column of a step, by action."""
BUILD_ORDER = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)], np.int8)
"""Neighbours that `build` searches for a river, in this order."""
ACTION_NAMES = (*ACTIONS, *map(str, NUMBERS))
"""All actions; the numbers come last, in worlds whose programs need them."""
FIRST_NUMBER = len(ACTIONS)
"""The action that answers 0."""
_RESULTS = [ACTION] * Action.TRUE + [BOOLEAN] * 2 + [COUNT] * len(NUMBERS)
ACTION_MASK = np.array([[output == row.output for output in _RESULTS] for row in DOMAIN.operations])
"""(operations, actions): True for actions allowed at a routine, by its result type."""


def _names(enumeration: type[IntEnum]) -> tuple[str, ...]:
    return tuple(member.name.lower() for member in enumeration)


if (_names(Cell), _names(Action), _names(Operation)) != (KINDS, ACTIONS, tuple(row.name for row in DOMAIN.operations)):
    raise AssertionError("the enumerations of rules.py no longer agree with domain.py")
