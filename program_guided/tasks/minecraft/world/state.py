"""Many worlds and many programs as plain arrays (structure of arrays), the form the compiled kernels work on.

    programs = program_set([table, ...])
    worlds = Worlds.empty(count=1024, side=8)

`Workspace` and `Draft` are memory for the planner and the generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.language.syntax import Call
from program_guided.language.table import RoutineTable
from program_guided.tasks.minecraft.domain import COMPARATORS, KINDS, OBJECTS
from program_guided.tasks.minecraft.world.rules import Operation

__all__ = ["ARGUMENTS", "Draft", "ProgramSet", "Workspace", "Worlds", "program_set"]

ARGUMENTS = 3
_COMPARED = {Operation.GREATER: ">", Operation.LESS: "<", Operation.EQUAL: "=="}


class ProgramSet(NamedTuple):
    """Concatenated routine tables; the rows of program p are `first[p] : first[p] + size[p]`."""

    first: NDArray[np.int32]
    size: NDArray[np.int16]
    operation: NDArray[np.int8]
    arguments: NDArray[np.int16]
    """(rows, 3) mine, sell: object; goto: row, column; place: object, row, column; conditions: kind of cell,
    comparison, number; greater, less, equal: 0, comparison, number (if it is no result); count, carried: kind of
    cell."""
    inputs: NDArray[np.int16]
    """(rows, 2) routines of the same program whose results a routine takes, -1 for none."""
    on_true: NDArray[np.int16]
    on_false: NDArray[np.int16]
    words: NDArray[np.uint8]
    """(rows, L) for observations."""
    kind: NDArray[np.int8]


class Worlds(NamedTuple):
    """One row for each world."""

    cells: NDArray[np.int8]
    """(worlds, side, side) kinds; `outside` beyond the world's own side."""
    side: NDArray[np.int8]
    agent: NDArray[np.int8]
    """(worlds, 2) row and column."""
    inventory: NDArray[np.int16]
    counts: NDArray[np.int16]
    """(worlds, kinds) number of cells of each kind on the map, kept up to date."""
    program: NDArray[np.int32]
    routine: NDArray[np.int16]
    """The pointer, from 0 within the program; the program's size when it is over."""
    previous: NDArray[np.int16]
    """The routine executed before, -1 at the start."""
    time: NDArray[np.int32]
    outcome: NDArray[np.int8]
    counted: NDArray[np.int16]
    """(worlds, routines) latest results of `count` and `carried`; of no width if no program has them."""

    @staticmethod
    def empty(count: int, side: int, routines: int = 0) -> Worlds:
        return Worlds(
            cells=np.zeros((count, side, side), np.int8),
            side=np.zeros(count, np.int8),
            agent=np.zeros((count, 2), np.int8),
            inventory=np.zeros((count, len(OBJECTS)), np.int16),
            counts=np.zeros((count, len(KINDS)), np.int16),
            program=np.zeros(count, np.int32),
            routine=np.zeros(count, np.int16),
            previous=np.full(count, -1, np.int16),
            time=np.zeros(count, np.int32),
            outcome=np.zeros(count, np.int8),
            counted=np.zeros((count, routines), np.int16),
        )


class Workspace(NamedTuple):
    """Memory of the planner, whose kernels allocate none."""

    fields: NDArray[np.int32]
    """(7, cells) one field for each stage of a plan; `planner.py` lists their use."""
    waiting: NDArray[np.int16]
    front: NDArray[np.int16]

    @staticmethod
    def empty(side: int) -> Workspace:
        cells = side * side
        return Workspace(np.zeros((7, cells), np.int32), np.zeros(cells, np.int16), np.zeros(2 * cells, np.int16))


class Draft(NamedTuple):
    """Memory of the generator: the contents of the map to be made."""

    on_map: NDArray[np.int16]
    """Number of cells of each kind."""
    settled: NDArray[np.bool_]
    """(2, kinds) counts of the inventory and of the map that a condition has decided."""
    visited: NDArray[np.bool_]
    random: NDArray[np.uint64]

    @staticmethod
    def empty(side: int) -> Draft:
        kinds = len(KINDS)
        return Draft(
            np.zeros(kinds, np.int16),
            np.zeros((2, kinds), np.bool_),
            np.zeros(side * side, np.bool_),
            np.zeros(1, np.uint64),
        )


def program_set(tables: Sequence[RoutineTable]) -> ProgramSet:
    """Concatenate tables."""
    if not tables:
        raise WorldError("no programs: at least one is needed")
    sizes = np.array([len(table) for table in tables])
    return ProgramSet(
        first=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32),
        size=sizes.astype(np.int16),
        operation=np.concatenate([table.operation for table in tables]).astype(np.int8),
        arguments=np.array([_arguments(call) for table in tables for call in table.calls], np.int16),
        inputs=np.concatenate([table.inputs for table in tables]),
        on_true=np.concatenate([table.on_true for table in tables]),
        on_false=np.concatenate([table.on_false for table in tables]),
        words=np.concatenate([table.word_ids for table in tables]).astype(np.uint8),
        kind=np.concatenate([table.kind for table in tables]),
    )


def _arguments(call: Call) -> tuple[int, int, int]:
    """A call's words as a row of `ProgramSet.arguments`."""
    words = list(call.words) + [0] * (ARGUMENTS - len(call.words))
    operation = Operation[call.operation.upper()]
    if operation in (Operation.MINE, Operation.SELL):
        return OBJECTS.index(str(words[0])), 0, 0
    if operation == Operation.GOTO:
        return int(words[1]) - 1, int(words[0]) - 1, 0
    if operation == Operation.PLACE:
        return OBJECTS.index(str(words[0])), int(words[2]) - 1, int(words[1]) - 1
    if operation == Operation.BUILD_BRIDGE:
        return 0, 0, 0
    if operation in _COMPARED:
        number = call.arguments[1]
        return 0, COMPARATORS.index(_COMPARED[operation]), number if isinstance(number, int) else 0
    if operation in (Operation.COUNT, Operation.CARRIED):
        return KINDS.index(str(words[0])), 0, 0
    comparison = 0 if operation == Operation.IS_THERE else COMPARATORS.index(str(words[1]))
    return KINDS.index(str(words[0])), comparison, int(words[2])
