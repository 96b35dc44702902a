"""The observations of an agent.

map (side, side) int8: the kind of every cell, a number of `KINDS`; 0 (outside) beyond the world's own side.
agent (2,) int8: row and column of the agent, from 0.
inventory (7,) int16: number of each of `OBJECTS` that it carries.
pointer (2,) int16: the pointed routine, from 0 (the number of routines when the program is over), and the routine
    executed before it (-1 at the start).
words (routines, 4) uint8: the words of every routine, numbers of `DOMAIN.vocabulary`; 0 where there is none.
flow (routines, 3) int16: of every routine its kind (0 behaviour, 1 if, 2 while, -1 beyond the end), the routine that
    follows when it ends (for a condition: with true), and the routine that follows with false. With data flow,
    (routines, 5): behind them the two routines whose results it takes, -1 for none.
time (1,) int32: steps since the episode began.

`side` is the maximum side of a world (default 8). Coordinates (x, y) in programs start at 1; the map's row is y - 1 and
its column x - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.learning.worlds import Only, Outcome, WorldObservation
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, OBJECTS
from program_guided.tasks.minecraft.world.batch import FLOW, MAX_SETTING, Batch
from program_guided.tasks.minecraft.world.rules import ACTION_MASK, ACTION_NAMES, Action

__all__ = ["MAX_CARRIED", "ObservedWorlds", "observation_space", "observe", "pointed_words"]

MAX_CARRIED = 999


def observation_space(side: int, max_routines: int, data_flow: bool = False) -> spaces.Dict:
    """The space of one world's observations; `data_flow`: of programs that have it."""
    columns = FLOW + (DOMAIN.max_inputs if data_flow else 0)
    return spaces.Dict(
        {
            "map": spaces.Box(0, len(KINDS) - 1, (side, side), np.int8),
            "agent": spaces.Box(0, side - 1, (2,), np.int8),
            "inventory": spaces.Box(0, MAX_CARRIED, (len(OBJECTS),), np.int16),
            "pointer": spaces.Box(-1, max_routines, (2,), np.int16),
            "words": spaces.Box(0, len(DOMAIN.vocabulary) - 1, (max_routines, DOMAIN.routine_width), np.uint8),
            "flow": spaces.Box(-1, max_routines, (max_routines, columns), np.int16),
            "time": spaces.Box(0, MAX_SETTING, (1,), np.int32),
        }
    )


def observe(batch: Batch) -> dict[str, NDArray[Any]]:
    """The observation of every world of a batch: the arrays that learning reads (`Batch.observe`), the flow and the
    time. All but `pointer` are the batch's own, which the next step changes."""
    pointer = np.stack((batch.routine, batch.previous), axis=1)
    program: dict[str, NDArray[Any]] = {"pointer": pointer, "words": batch.view.words, "flow": batch.view.flow}
    return {**batch.specification, **program, "time": batch.time[:, None]}


def pointed_words(observations: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """(worlds, 4) the words of the pointed routines; 0 where a program is over."""
    words, routine = observations["words"], observations["pointer"][:, 0].astype(np.intp)
    inside = routine < words.shape[1]
    return np.where(inside[:, None], words[np.arange(len(words)), np.where(inside, routine, 0)], 0)


class ObservedWorlds:
    """Worlds as they are seen from outside: the part of the protocol `learning.worlds.Worlds` that an agent needs."""

    def __init__(self, observations: Mapping[str, NDArray[Any]], before: ObservedWorlds | None = None) -> None:
        """`before`: the same worlds one step ago."""
        self._arrays = _checked(observations)
        self.count, self.max_routines = self._arrays["words"].shape[:2]
        self.routine, self.previous = self._arrays["pointer"].T
        self.time = self._arrays["time"][:, 0]
        kind = self._arrays["flow"][:, :, 0]
        self.size = (kind >= 0).sum(axis=1)
        self.outcome = np.where(self.routine < self.size, Outcome.RUNNING, Outcome.FINISHED)
        every, pointed = np.arange(self.count), np.minimum(self.routine, np.maximum(self.size - 1, 0))
        self._inputs = self._arrays["flow"][every, pointed, FLOW:]
        self._operation = _OPERATIONS[self._arrays["words"][every, pointed, 0]]
        self.at_condition = ACTION_MASK[self._operation, Action.TRUE]
        self.ended = np.full(self.count, -1) if before is None else self._ended_since(before)

    def _ended_since(self, before: ObservedWorlds) -> NDArray[np.int64]:
        """The routine that ended, or -1. A condition ends with every answer, even if it is the next routine again."""
        moved = (self.routine != before.routine) | (self.previous != before.previous) | before.at_condition
        return np.where(moved, before.routine, -1)

    def restart(self, where: NDArray[np.bool_]) -> None:
        """Episodes have begun in these worlds."""
        if where.shape != (self.count,):
            raise WorldError(f"episode_start: {self.count} Booleans are needed, one for each world, not {where.shape}")
        self.time = np.where(where, 0, self.time)

    def observe(self, only: Only = slice(None)) -> WorldObservation:
        """The observation of some worlds, as `Batch.observe` gives it."""
        arrays = self._arrays
        specification = {name: arrays[name][only] for name in ("map", "agent", "inventory")}
        actions = len(ACTION_NAMES) if self._inputs.shape[1] else len(ACTIONS)
        mask = ACTION_MASK[self._operation[only], :actions]
        parents = np.concatenate([self.previous[only][:, None], self._inputs[only]], axis=1)
        return WorldObservation(
            specification, arrays["words"][only], self.routine[only], parents, mask, int(self.size[only].max())
        )

    def tokens(self, only: Only = slice(None)) -> NDArray[np.int16]:
        raise WorldError(
            "this model has no pointer and reads the program's text, which observations do not hold; use "
            "executor.run(program), or a model with a pointer (plus, paper, pga)"
        )


_OPERATIONS = np.array([DOMAIN.index.get(word, 0) for word in DOMAIN.vocabulary])
"""The operation that a word names; 0 for other words."""


@cache
def _limits(side: int, routines: int, data_flow: bool) -> dict[str, tuple[tuple[int, ...], Any, int, int]]:
    """Shape, type, smallest and largest value of every entry."""
    space = observation_space(side, routines, data_flow)
    boxes = {name: box for name, box in space.items() if isinstance(box, spaces.Box)}
    return {name: (box.shape, box.dtype, int(box.low.min()), int(box.high.max())) for name, box in boxes.items()}


def _checked(observations: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Observations of many worlds, with the types and bounds of the space."""
    worlds, side, routines = (
        len(observations["map"]),
        np.shape(observations["map"])[-1],
        np.shape(observations["words"])[1],
    )
    data_flow = np.shape(observations["flow"])[-1] > FLOW
    found = dict[str, NDArray[Any]]()
    for name, (shape, dtype, low, high) in _limits(side, routines, data_flow).items():
        array = np.asarray(observations[name])
        if array.shape != (worlds, *shape):
            raise WorldError(f"observation, {name}: expected the shape {(worlds, *shape)}, not {array.shape}")
        if array.size and not (low <= array.min() and array.max() <= high):
            raise WorldError(f"observation, {name}: a value is not from {low} to {high}")
        found[name] = np.ascontiguousarray(array, dtype)
    return found
