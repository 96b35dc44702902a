"""Syntax tree -> `RoutineTable`: one row a routine, immutable, all that execution needs to know of a program.

`loop(n)` decides nothing, so it is no routine: its body stands n times in the table. Row numbers run in reading order;
the row after the last means "the program is over".

    table = compile_program(program, DOMAIN)
    table.words[table.entrance], table.parents, table.exits, table.waves
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.language.domain import Domain
from program_guided.language.syntax import Block, Call, If, Loop, Program, While, Word

__all__ = ["Kind", "RoutineTable", "compile_program"]


class Kind(IntEnum):
    """How a routine moves the pointer."""

    STEP = 0
    IF = 1
    WHILE = 2


@dataclass(frozen=True, eq=False)
class RoutineTable:
    """The columns; `n` is the number of rows."""

    domain: Domain
    calls: tuple[Call, ...]
    operation: NDArray[np.int16]
    """(n,) row of the domain's table."""
    kind: NDArray[np.int8]
    """(n,) a `Kind`."""
    on_true: NDArray[np.int16]
    """(n,) where the pointer goes when the routine ends (for a condition: with the answer true)."""
    on_false: NDArray[np.int16]
    """(n,) where it goes when a condition is answered false; equal to `on_true` for other routines."""

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def entrance(self) -> int:
        return 0

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """Routines that may be the last one executed; of a graph, the last one, whose result is the answer."""
        end = len(self)
        return tuple(row for row in range(end) if end in (self.on_true[row], self.on_false[row]))

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Rows that may be pointed at next, the end (`n`) included."""
        return tuple(tuple(sorted({int(yes), int(no)})) for yes, no in zip(self.on_true, self.on_false, strict=True))

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Parents(P_k) of Eq. 2: the routines whose results a routine takes.

        In a graph they are its inputs. In a flow the parent is the routine executed just before, so these are the
        candidates, and the pointer's `previous` is the one.
        """
        if not self.domain.control:
            return tuple(call.inputs for call in self.calls)
        before: list[set[int]] = [set() for _ in range(len(self) + 1)]
        for row, after in enumerate(self.successors):
            for successor in after:
                before[successor].add(row)
        return tuple(tuple(sorted(rows)) for rows in before[: len(self)])

    @cached_property
    def words(self) -> tuple[tuple[Word, ...], ...]:
        """The words of each routine, operation first (for P^s)."""
        return tuple((call.operation, *call.words) for call in self.calls)

    @cached_property
    def word_ids(self) -> NDArray[np.int16]:
        """(n, L) the words as numbers of the domain's vocabulary, 0 where there is none (and for free text)."""
        ids = np.zeros((len(self), self.domain.routine_width), np.int16)
        for row, words in enumerate(self.words):
            ids[row, : len(words)] = [self.domain.word_index.get(str(word), 0) for word in words]
        ids.flags.writeable = False
        return ids

    @cached_property
    def waves(self) -> tuple[tuple[int, ...], ...]:
        """Rows that may be executed in parallel, in the order of execution: in a flow, each alone."""
        if self.domain.control:
            return tuple((row,) for row in range(len(self)))
        depth = np.zeros(len(self), np.int64)
        for row, inputs in enumerate(self.parents):
            depth[row] = 1 + max((depth[parent] for parent in inputs), default=0)
        return tuple(tuple(int(row) for row in np.flatnonzero(depth == level)) for level in range(1, depth.max() + 1))


def compile_program(program: Program, domain: Domain) -> RoutineTable:
    """Lay a program out as a table."""
    rows = _Rows()
    rows.block(program.body)
    end = len(rows.calls)
    return RoutineTable(
        domain,
        tuple(rows.calls),
        operation=_frozen([domain.index[call.operation] for call in rows.calls], np.int16),
        kind=_frozen(rows.kind, np.int8),
        on_true=_frozen([min(target, end) for target in rows.on_true], np.int16),
        on_false=_frozen([min(target, end) for target in rows.on_false], np.int16),
    )


@dataclass
class _Rows:
    """Rows so far. A successor that is not known yet points at the next free row and is corrected by `join`."""

    calls: list[Call] = field(default_factory=list)
    kind: list[Kind] = field(default_factory=list)
    on_true: list[int] = field(default_factory=list)
    on_false: list[int] = field(default_factory=list)

    def add(self, call: Call, kind: Kind) -> int:
        row = len(self.calls)
        self.calls.append(call)
        self.kind.append(kind)
        self.on_true.append(row + 1)
        self.on_false.append(row + 1)
        return row

    def block(self, block: Block) -> None:
        for node in block:
            if isinstance(node, Call):
                self.add(node, Kind.STEP)
            elif isinstance(node, Loop):
                for _ in range(node.times):
                    self.block(node.body)
            elif isinstance(node, While):
                self.while_(node)
            else:
                self.if_(node)

    def while_(self, node: While) -> None:
        """The body's exits go back to the condition."""
        condition = self.add(node.condition, Kind.WHILE)
        self.block(node.body)
        after = len(self.calls)
        self.redirect(condition + 1, after, condition)
        self.on_false[condition] = after

    def if_(self, node: If) -> None:
        """The exits of every branch go behind the whole."""
        ends: list[tuple[int, int]] = []
        for condition, body in node.branches:
            row = self.add(condition, Kind.IF)
            self.block(body)
            ends.append((row + 1, len(self.calls)))
            self.on_false[row] = len(self.calls)
        self.block(node.otherwise)
        after = len(self.calls)
        for first, last in ends:
            self.redirect(first, last, after)

    def redirect(self, first: int, last: int, target: int) -> None:
        """Rows [first, last) that leave this range at its end go to `target` instead."""
        for row in range(first, last):
            self.on_true[row] = target if self.on_true[row] == last else self.on_true[row]
            self.on_false[row] = target if self.on_false[row] == last else self.on_false[row]


def _frozen(values: Sequence[int], dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array
