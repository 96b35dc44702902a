"""Algorithms 3 and 4 as the paper writes them, with a pointer for every routine that can be executed: the reference for
the batched execution of `learning/execution.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from program_guided.language import Pointer, RoutineTable, advance, start


def waves(table: RoutineTable) -> tuple[tuple[int, ...], ...]:
    """Groups of rows that may be executed in parallel, in the order of execution."""
    if not table.parallel:
        return tuple((row,) for row in range(len(table)))
    depth = np.zeros(len(table), np.int64)
    for row, inputs in enumerate(table.parents):
        depth[row] = 1 + max((depth[parent] for parent in inputs), default=0)
    return tuple(tuple(int(row) for row in np.flatnonzero(depth == level)) for level in range(1, depth.max() + 1))


@dataclass(frozen=True)
class Frontier:
    """The pointers of a parallel execution, and the routines that have ended."""

    pointers: tuple[Pointer, ...]
    ended: frozenset[int] = frozenset()

    def finished(self) -> bool:
        return not self.pointers


def start_parallel(table: RoutineTable) -> Frontier:
    """Algorithm 3: a pointer at every routine that needs no other's result; one at the entrance if not `parallel`."""
    return _spawn(table, frozenset()) if table.parallel else Frontier((start(table),))


def advance_parallel(table: RoutineTable, frontier: Frontier, answers: Mapping[int, bool | None]) -> Frontier:
    """Algorithm 4: `answers` maps each pointed routine that has ended to its answer (None if it has none)."""
    ended = frontier.ended | answers.keys()
    if table.parallel:
        return _spawn(table, ended)
    moved = [
        advance(table, pointer, answers[pointer.routine]) if pointer.routine in answers else pointer
        for pointer in frontier.pointers
    ]
    return Frontier(tuple(pointer for pointer in moved if not pointer.finished(table)), ended)


def _spawn(table: RoutineTable, ended: frozenset[int]) -> Frontier:
    ready = (row for row, inputs in enumerate(table.parents) if row not in ended and ended.issuperset(inputs))
    return Frontier(tuple(Pointer(row) for row in ready), ended)
