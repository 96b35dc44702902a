"""Hindsight: steps that achieved a routine other than the pointed one, relabelled as successes of that routine.

    history = History(batch, named_in(batch.programs))
    with history.step(): ...                             # a step of all worlds
    numbers, words, delays = history.lessons(share, random)

A lesson is a past step (a number: step * worlds + world) and a routine that was achieved `delay` steps later while
another one was pointed at, all within one routine of the program. Walking to a cell achieves `goto`, mining any object
`mine`, building a bridge `build_bridge`. An object placed in the wrong place achieves `place` there; a failed sale for
want of the object is relabelled with an object that is carried. Only observed transitions are used, and only routines
that occur in the training programs are named: `mine(gold)` stays unseen if it was removed from them.

This is the array form of `tasks/python_worlds.py::PythonHindsight`, for all cells and objects at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from program_guided.compiled import kernel
from program_guided.language.syntax import Call, Program, Word
from program_guided.language.table import compile_program
from program_guided.learning.worlds import pointed_rows
from program_guided.tasks.minecraft.domain import DOMAIN, LARGEST_SIDE, OBJECTS
from program_guided.tasks.minecraft.world.rules import FIRST_OBJECT, Cell, Operation, Outcome
from program_guided.tasks.minecraft.world.state import ProgramSet

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["WORDS", "History", "named_in", "routine_of"]

PLACES = LARGEST_SIDE**2
GOTO = 0
MINE = GOTO + PLACES
SELL = MINE + len(OBJECTS)
BUILD = SELL + len(OBJECTS)
PLACE = BUILD + 1
ROUTINES = PLACE + len(OBJECTS) * PLACES
NONE = -1
SPECIAL_PROBABILITY = 0.5
"""Probability of choosing a routine other than `goto`, if one was achieved."""


def routine_of(number: int) -> Call:
    """A routine by its number."""
    if number >= PLACE:
        thing, place = divmod(number - PLACE, PLACES)
        return Call("place", (OBJECTS[thing], *_coordinates(place)))
    if number == BUILD:
        return Call("build_bridge", ())
    if number >= SELL:
        return Call("sell", (OBJECTS[number - SELL],))
    if number >= MINE:
        return Call("mine", (OBJECTS[number - MINE],))
    return Call("goto", _coordinates(number))


def _coordinates(place: int) -> tuple[Word, Word]:
    """x and y, from 1."""
    row, column = divmod(place, LARGEST_SIDE)
    return column + 1, row + 1


WORDS = np.concatenate(
    [compile_program(Program((routine_of(number),)), DOMAIN).word_ids for number in range(ROUTINES)]
).astype(np.uint8)
"""(routines, L)"""


def named_in(programs: ProgramSet) -> NDArray[np.bool_]:
    """(routines,) True if the programs contain the routine: its operation with its first argument."""
    names = {tuple(words) for words in programs.words[:, :2].tolist()}
    return np.array([tuple(words) in names for words in WORDS[:, :2].tolist()])


class History:
    """The latest steps of all worlds; lessons are about routines that are `named`."""

    def __init__(self, batch: Batch, named: NDArray[np.bool_]) -> None:
        self._batch, self._named = batch, named
        self._steps: list[tuple[NDArray[Any], ...]] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """Record the effects of the step of the worlds that is made inside of the context."""
        batch, worlds = self._batch, self._batch.worlds
        running = batch.outcome == Outcome.RUNNING
        before, had, bridges = _place(worlds.agent), worlds.inventory.copy(), worlds.counts[:, Cell.BRIDGE].copy()
        row = pointed_rows(batch)
        operation, arguments = batch.programs.operation[row], batch.programs.arguments[row].astype(np.int64)
        yield
        after, over = _place(worlds.agent), (batch.outcome != Outcome.RUNNING) | ~running
        more = worlds.inventory > had
        special = np.where(more.any(axis=1), MINE + more.argmax(axis=1), NONE)
        special = np.where(worlds.counts[:, Cell.BRIDGE] > bridges, BUILD, special)
        special = np.where(over, _missed(batch, operation, arguments[:, 0]), special)
        ended = over | (batch.ended >= 0)
        self._steps.append((before, after, special, _number(operation, arguments), running, ended))

    def lessons(
        self, share: float, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
        """Numbers of steps, the words of a routine that each achieved, and the delays. Lessons of `goto` are subsampled
        to a share; all others are kept."""
        before, *others = (np.stack(each) for each in zip(*self._steps, strict=True))
        chance = random.random((2, *before.shape))
        routines, delays = np.full(before.shape, NONE, np.int64), np.zeros(before.shape, np.int64)
        _choose(before, *others, chance, routines, delays)
        taken = (routines >= MINE) | (random.random(before.shape) < share)
        numbers = np.flatnonzero((routines != NONE) & taken & self._named[routines])
        return numbers, WORDS[routines.ravel()[numbers]], delays.ravel()[numbers]


def _place(agent: NDArray[np.int8]) -> NDArray[np.int32]:
    return agent[:, 0].astype(np.int32) * LARGEST_SIDE + agent[:, 1]


def _number(operation: NDArray[np.int8], arguments: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of routines; NONE for conditions."""
    first, second, third = arguments[:, :3].T
    numbers = {
        Operation.GOTO: GOTO + first * LARGEST_SIDE + second,
        Operation.MINE: MINE + first,
        Operation.SELL: SELL + first,
        Operation.BUILD_BRIDGE: np.full_like(first, BUILD),
        Operation.PLACE: PLACE + first * PLACES + second * LARGEST_SIDE + third,
    }
    return np.select([operation == each for each in numbers], list(numbers.values()), NONE)


def _missed(batch: Batch, operation: NDArray[np.int8], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """The routine that an episode that failed by placing or selling would have achieved."""
    worlds, number = batch.worlds, np.arange(batch.count)
    kind = worlds.cells[number, worlds.agent[:, 0], worlds.agent[:, 1]]
    carried = worlds.inventory > 0
    thing = np.where(carried[number, np.minimum(target, len(OBJECTS) - 1)], target, carried.argmax(axis=1))
    failed = ((batch.outcome == Outcome.WRONG_PLACE) | (batch.outcome == Outcome.MISSING_OBJECT)) & carried.any(axis=1)
    placed = failed & (operation == Operation.PLACE) & ((kind == Cell.FLAT) | (kind >= FIRST_OBJECT))
    sold = failed & (operation == Operation.SELL) & (kind == Cell.MERCHANT)
    there = PLACE + thing * PLACES + _place(worlds.agent)
    return np.where(placed, there, np.where(sold, SELL + thing, NONE))


@kernel
def _choose(before, after, special, pointed, running, ended, chance, routines, delays):  # type: ignore[no-untyped-def]
    """Choose for every step a routine other than the pointed one that was achieved in it or later, and the delay."""
    steps, worlds = before.shape
    for i in range(worlds):
        end = steps - 1
        for t in range(steps - 1, -1, -1):
            if ended[t, i]:
                end = t
            if not running[t, i]:
                continue
            chosen = NONE
            if chance[0, t, i] < SPECIAL_PROBABILITY:
                for later in range(t, end + 1):
                    if special[later, i] != NONE:
                        chosen = special[later, i]
                        break
            if chosen == NONE:
                chosen = GOTO + after[t + int(chance[1, t, i] * (end + 1 - t)), i]
                if before[t, i] == chosen - GOTO:
                    continue
            if chosen == pointed[t, i]:
                continue
            for later in range(t, end + 1):
                if special[later, i] == chosen or (chosen < MINE and after[later, i] == chosen - GOTO):
                    routines[t, i], delays[t, i] = chosen, later - t
                    break
