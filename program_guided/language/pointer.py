"""The pointer: the only control flow in the project (Algorithm 2; Algorithm 4 is the same over many pointers).

    pointer = start(table)
    while not pointer.finished(table):
        pointer = advance(table, pointer, answer)      # answer: True or False at a condition, else None

The world's kernels and the batched tensors do the same on arrays and are held equal to this by tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from program_guided.language.table import Kind, RoutineTable

__all__ = ["Frontier", "Pointer", "advance", "advance_parallel", "start", "start_parallel"]

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which routine is to be executed, and which one was executed before it (its parent, in a flow)."""

    routine: int
    previous: int = NOWHERE

    def finished(self, table: RoutineTable) -> bool:
        return self.routine == len(table)

    def parents(self, table: RoutineTable) -> tuple[int, ...]:
        """Parents(P_p) at this moment of the execution."""
        if not table.domain.control:
            return table.parents[self.routine]
        return () if self.previous == NOWHERE else (self.previous,)


def start(table: RoutineTable) -> Pointer:
    """Point at the entrance."""
    return Pointer(table.entrance)


def advance(table: RoutineTable, pointer: Pointer, answer: bool | None = None) -> Pointer:
    """Where the pointer goes when the pointed routine has ended (Algorithm 2)."""
    routine = pointer.routine
    if answer is None and table.kind[routine] != Kind.STEP:
        raise ValueError(f"routine {routine} is a condition: it ends with an answer, True or False")
    column = table.on_true if answer is None or answer else table.on_false
    return Pointer(int(column[routine]), routine)


@dataclass(frozen=True)
class Frontier:
    """The pointers of a parallel execution, and the routines that have ended."""

    pointers: tuple[Pointer, ...]
    ended: frozenset[int] = frozenset()

    def finished(self) -> bool:
        return not self.pointers


def start_parallel(table: RoutineTable) -> Frontier:
    """Algorithm 3: a pointer at every routine that needs no other's result; in a flow, at the entrance."""
    return Frontier((start(table),)) if table.domain.control else _spawn(table, frozenset())


def advance_parallel(table: RoutineTable, frontier: Frontier, answers: Mapping[int, bool | None]) -> Frontier:
    """Algorithm 4: `answers` holds, for each pointed routine that has ended, its answer (None if it has none)."""
    ended = frontier.ended | answers.keys()
    if not table.domain.control:
        return _spawn(table, ended)
    moved = [
        advance(table, pointer, answers[pointer.routine]) if pointer.routine in answers else pointer
        for pointer in frontier.pointers
    ]
    return Frontier(tuple(pointer for pointer in moved if not pointer.finished(table)), ended)


def _spawn(table: RoutineTable, ended: frozenset[int]) -> Frontier:
    ready = (row for row, inputs in enumerate(table.parents) if row not in ended and ended.issuperset(inputs))
    return Frontier(tuple(Pointer(row) for row in ready), ended)
