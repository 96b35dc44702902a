"""The pointer: the only control flow in the project (Algorithm 2; Algorithm 4 is the same over many pointers).

    pointer = start(table)
    while not pointer.finished(table):
        pointer = advance(table, pointer, answer)      # answer: True or False at a condition, else None

The world's kernels and the batched tensors implement the same on arrays; tests compare them with this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from program_guided.language.table import Kind, RoutineTable

__all__ = ["Frontier", "Pointer", "advance", "advance_parallel", "start", "start_parallel"]

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Pointer:
    """The routine to be executed, and the one executed before it."""

    routine: int
    previous: int = NOWHERE

    def finished(self, table: RoutineTable) -> bool:
        return self.routine == len(table)

    def parents(self, table: RoutineTable) -> tuple[int, ...]:
        """Parents(P_p) at this moment: the routine executed before (in sequential domains only), then the inputs."""
        inputs = table.calls[self.routine].inputs
        if not table.domain.sequential or self.previous == NOWHERE:
            return inputs
        return (self.previous, *inputs)


def start(table: RoutineTable) -> Pointer:
    """Point at the entrance."""
    return Pointer(table.entrance)


def advance(table: RoutineTable, pointer: Pointer, answer: bool | None = None) -> Pointer:
    """The pointer after the pointed routine has ended (Algorithm 2)."""
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
