"""The protocol of many worlds that run programs: what learning in a world and evaluation stand on. No torch here.

A native world, of compiled kernels, keeps it directly; `tasks/python_worlds.py` keeps it for worlds written in
Python. World i of a batch depends on the seed and on i, never on the number of worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Conditions",
    "Hindsight",
    "Observable",
    "Only",
    "Outcome",
    "ProgramRows",
    "WorldObservation",
    "Worlds",
    "pointed_rows",
    "routines_left",
]

Only = NDArray[np.int64] | slice
"""Numbers of some worlds, or all of them."""


class Outcome(IntEnum):
    """The state of an episode. A task may have ways to fail of its own, with numbers from FAILED on."""

    RUNNING = 0
    FINISHED = 1
    WRONG_ANSWER = 2
    TIMEOUT = 3
    FAILED = 4

    def __str__(self) -> str:
        return self.name.replace("_", " ").lower()


@dataclass(frozen=True)
class WorldObservation:
    """An observation of some worlds, as arrays."""

    specification: dict[str, NDArray[Any]]
    words: NDArray[Any]
    """(worlds, routines, L)"""
    routine: NDArray[Any]
    """(worlds,) the pointed routine; the number of routines where the program is over"""
    parents: NDArray[Any]
    """(worlds, parents) the routine executed before, then the inputs of the pointed one; -1 for none"""
    mask: NDArray[np.bool_]
    """(worlds, actions) what may be done at the pointed routine"""
    longest: int
    """Routines of the longest program among these."""


class ProgramRows(Protocol):
    """Routine tables laid end to end; the rows of program p are `first[p] : first[p] + size[p]`."""

    @property
    def first(self) -> NDArray[Any]: ...
    @property
    def size(self) -> NDArray[Any]: ...
    @property
    def operation(self) -> NDArray[Any]: ...
    @property
    def on_true(self) -> NDArray[Any]: ...
    @property
    def on_false(self) -> NDArray[Any]: ...
    @property
    def words(self) -> NDArray[Any]: ...


class Hindsight(Protocol):
    """Records the steps of a rollout, and finds those that achieved another routine than the pointed one (hindsight
    relabelling)."""

    def step(self) -> AbstractContextManager[None]:
        """Around a step of the worlds."""

    def lessons(
        self, share: float, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Steps by number (step * worlds + world), the words (lessons, L) of a routine that each would have begun, and
        after how many more steps it ended; of frequent ones a share."""


class Conditions(Protocol):
    """All conditions of the programs, and the implications between them."""

    @property
    def words(self) -> NDArray[Any]:
        """(conditions, L)"""

    @property
    def number(self) -> NDArray[np.int64]:
        """(rows,) of each row of the programs the number of its condition, -1 of what is none or takes results"""

    @property
    def implied(self) -> NDArray[np.int8]:
        """(conditions, 2, conditions): where a condition is false or true, whether another one is: 1, 0, or -1 if that
        does not follow"""


class Observable(Protocol):
    """`count` worlds, each running a program, as an agent sees them."""

    count: int
    max_routines: int
    ended: NDArray[Any]
    """The routine that ended in the last step of each world, or -1."""

    @property
    def routine(self) -> NDArray[Any]:
        """(worlds,) the pointed routine of each, from 0 in its program."""

    @property
    def previous(self) -> NDArray[Any]:
        """(worlds,) the routine executed before it, -1 at the start."""

    @property
    def time(self) -> NDArray[Any]: ...
    @property
    def outcome(self) -> NDArray[Any]:
        """An `Outcome` for each world."""

    def observe(self, only: Only = slice(None)) -> WorldObservation: ...
    def tokens(self, only: Only = slice(None)) -> NDArray[np.int16]:
        """(worlds, tokens) the programs as tokens (`language/tokens.py`), for models without a pointer."""


class Worlds(Observable, Protocol):
    """Worlds that can be stepped and asked."""

    time_limit: int
    retry_share: float
    """Share of the failed episodes after which the same program begins again, in the same world as it was."""

    @property
    def answers(self) -> tuple[int, int] | None:
        """The actions that answer a condition: (true, false); None if there are no conditions."""

    @property
    def first_answer(self) -> int:
        """Actions from this number on are answers: to a condition, or the value of an operation."""

    @property
    def programs(self) -> ProgramRows: ...
    @property
    def program(self) -> NDArray[Any]:
        """(worlds,) which program each world runs."""

    def operation_names(self) -> tuple[str, ...]: ...
    def outcome_name(self, code: int) -> str:
        """An `Outcome` as a person reads it; a task may have ways to fail of its own."""

    def seed(self, seed: int) -> None: ...
    def offer(self, programs: NDArray[np.int32]) -> None:
        """Draw the coming episodes from these programs only."""

    def reset(self, where: NDArray[np.bool_] | None = None) -> None: ...
    def place(self, i: int, program: int, variant: int = 0) -> None:
        """Begin a program in one of its worlds."""

    def step(self, actions: NDArray[np.int64]) -> None:
        """One time step of the worlds that still run; the others stand still."""

    def step_or_reset(self, actions: NDArray[np.int64]) -> None:
        """One time step of the worlds that still run; the others begin a new episode (their action is ignored)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all that the future of the worlds depends on, by name."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...
    def best_actions(self) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """(worlds, actions) every best action at the pointed routine, and the steps to its end."""

    def conditions_hold(self, numbers: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the conditions in these rows of the programs hold in these worlds, whatever they are at."""

    def conditions(self) -> Conditions: ...
    def hindsight(self) -> Hindsight: ...


def pointed_rows(worlds: Worlds) -> NDArray[np.int64]:
    """The row of the programs that each world points at (its last one where the program is over)."""
    programs, program = worlds.programs, worlds.program
    routine = np.minimum(worlds.routine, programs.size[program] - 1)
    return (programs.first[program] + routine).astype(np.int64)


def routines_left(programs: ProgramRows) -> NDArray[np.int64]:
    """For every row of the programs: how many routines are executed at least from it to the end, itself included."""
    owner = np.repeat(np.arange(len(programs.size)), programs.size)
    first, size = programs.first[owner], programs.size[owner]
    left = np.full(len(owner) + 1, len(owner), np.int64)
    left[-1] = 0
    ways = [np.where(way < size, first + way, len(owner)) for way in (programs.on_true, programs.on_false)]
    while True:
        nearer = 1 + np.minimum(left[ways[0]], left[ways[1]])
        if np.array_equal(nearer, left[:-1]):
            return nearer
        left[:-1] = nearer
