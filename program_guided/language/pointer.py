"""The pointer: the only control flow in the project (Algorithm 2; Algorithm 4 is the same over many pointers).

    pointer = start(table)
    while not pointer.finished(table):
        pointer = advance(table, pointer, answer)      # answer: True or False at a condition, else None

The world's kernels and the batched tensors implement the same on arrays; tests compare them with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from program_guided.language.table import Kind, RoutineTable

__all__ = ["Pointer", "advance", "path", "start"]

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


def path(table: RoutineTable, execute: Callable[[int], Any]) -> Iterator[int]:
    """The routines in the order of their execution, where `execute` gives the value of each; up to a condition whose
    value is not known (None)."""
    pointer = start(table)
    while not pointer.finished(table):
        routine = pointer.routine
        value, is_condition = execute(routine), table.kind[routine] != Kind.STEP
        yield routine
        if is_condition and value is None:
            return
        pointer = advance(table, pointer, bool(value) if is_condition else None)
