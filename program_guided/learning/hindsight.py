"""Hindsight: what was done by the way, though another routine was asked for, as a success of the routine that it was.

    history = History(named_in(batch.programs))
    with history.step(batch): ...                        # a step of all worlds
    numbers, routines, delays = history.lessons(share, random)
    WORDS[routines]                                      # what such a routine says

A lesson is a step of the past (a number: step * worlds + world), a routine that was then carried out in `delay` more
steps while another one was asked for, all within one routine of the program: walking somewhere is `goto`, an object
taken on the way is `mine`, a bridge `build_bridge`; an object put down in the wrong place was put down somewhere, and
one that could not be sold for want of it could have been another. Nothing but what the world did is used, and nothing
is called by a name that no program of the training has: `mine(gold)` stays unseen if it was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from program_guided.language.syntax import Call, Program, Word
from program_guided.language.table import compile_program
from program_guided.tasks.minecraft.agents import pointed
from program_guided.tasks.minecraft.batch import Batch
from program_guided.tasks.minecraft.domain import DOMAIN, LARGEST_SIDE, OBJECTS
from program_guided.tasks.minecraft.rules import FIRST_OBJECT, Cell, Operation, Outcome
from program_guided.tasks.minecraft.state import ProgramSet

__all__ = ["WORDS", "History", "named_in", "routine_of"]

PLACES = LARGEST_SIDE**2
GOTO = 0
MINE = GOTO + PLACES
SELL = MINE + len(OBJECTS)
BUILD = SELL + len(OBJECTS)
PLACE = BUILD + 1
ROUTINES = PLACE + len(OBJECTS) * PLACES
NONE = -1
SPECIAL = 0.5
"""How often something rarer than walking is chosen, if there was any."""


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
    """(routines,) whether the programs have such a routine: the operation with its first argument."""
    names = {tuple(words) for words in programs.words[:, :2].tolist()}
    return np.array([tuple(words) in names for words in WORDS[:, :2].tolist()])


class History:
    """What happened in the latest steps of all worlds; lessons are about routines that are `named`."""

    def __init__(self, named: NDArray[np.bool_]) -> None:
        self._named = named
        self._steps: list[tuple[NDArray[Any], ...]] = []

    @contextmanager
    def step(self, batch: Batch) -> Iterator[None]:
        """Notes what the step of the worlds, made inside, did."""
        worlds = batch.worlds
        running = batch.outcome == Outcome.RUNNING
        before, had, bridges = _place(worlds.agent), worlds.inventory.copy(), worlds.counts[:, Cell.BRIDGE].copy()
        row = pointed(batch)
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
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Steps by their numbers, a routine each that was carried out later, and how much later. Of the steps that only
        went somewhere a share is taken, of the rarer ones all."""
        before, *others = (np.stack(each) for each in zip(*self._steps, strict=True))
        chance = random.random((2, *before.shape))
        routines, delays = np.full(before.shape, NONE, np.int64), np.zeros(before.shape, np.int64)
        _choose(before, *others, chance, routines, delays)  # type: ignore[call-arg]
        taken = (routines >= MINE) | (random.random(before.shape) < share)
        numbers = np.flatnonzero((routines != NONE) & taken & self._named[routines])
        return numbers, routines.ravel()[numbers], delays.ravel()[numbers]


def _place(agent: NDArray[np.int8]) -> NDArray[np.int32]:
    return agent[:, 0].astype(np.int32) * LARGEST_SIDE + agent[:, 1]


def _number(operation: NDArray[np.int8], arguments: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of routines; NONE of conditions."""
    first, second, third = arguments[:, :3].T
    numbers = {
        Operation.GOTO: GOTO + first * LARGEST_SIDE + second,
        Operation.MINE: MINE + first,
        Operation.SELL: SELL + first,
        Operation.BUILD_BRIDGE: np.full_like(first, BUILD),
        Operation.PLACE: PLACE + first * PLACES + second * LARGEST_SIDE + third,
    }
    return np.select([operation == each for each in numbers], list(numbers.values()), NONE)


def _missed(batch: Batch, operation: NDArray[np.int8], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """What an episode that failed by placing or selling would have been a success of."""
    worlds, number = batch.worlds, np.arange(batch.count)
    kind = worlds.cells[number, worlds.agent[:, 0], worlds.agent[:, 1]]
    carried = worlds.inventory > 0
    thing = np.where(carried[number, np.minimum(asked, len(OBJECTS) - 1)], asked, carried.argmax(axis=1))
    failed = ((batch.outcome == Outcome.WRONG_PLACE) | (batch.outcome == Outcome.MISSING_OBJECT)) & carried.any(axis=1)
    placed = failed & (operation == Operation.PLACE) & ((kind == Cell.FLAT) | (kind >= FIRST_OBJECT))
    sold = failed & (operation == Operation.SELL) & (kind == Cell.MERCHANT)
    there = PLACE + thing * PLACES + _place(worlds.agent)
    return np.where(placed, there, np.where(sold, SELL + thing, NONE))


@njit(cache=True)
def _choose(before, after, special, asked, running, ended, chance, routines, delays):  # type: ignore[no-untyped-def]
    """For every step: something not asked for that was done in it or later in the same routine, at its first time."""
    steps, worlds = before.shape
    for i in range(worlds):
        end = steps - 1
        for t in range(steps - 1, -1, -1):
            if ended[t, i]:
                end = t
            if not running[t, i]:
                continue
            chosen = NONE
            if chance[0, t, i] < SPECIAL:
                for later in range(t, end + 1):
                    if special[later, i] != NONE:
                        chosen = special[later, i]
                        break
            if chosen == NONE:
                chosen = GOTO + after[t + int(chance[1, t, i] * (end + 1 - t)), i]
                if before[t, i] == chosen - GOTO:
                    continue
            if chosen == asked[t, i]:
                continue
            for later in range(t, end + 1):
                if special[later, i] == chosen or (chosen < MINE and after[later, i] == chosen - GOTO):
                    routines[t, i], delays[t, i] = chosen, later - t
                    break
