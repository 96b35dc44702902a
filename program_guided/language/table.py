"""Syntax tree -> `RoutineTable`: one row for each routine, immutable; execution needs nothing else of a program.

`loop(n)` decides nothing, so it is no routine: its body is repeated n times in the table. A nested call is a row before
that of the call that takes it. Rows are in reading order; the row after the last one means "the program is over".

    table = compile_program(program, DOMAIN)
    table.words[table.entrance], table.inputs, table.parents, table.exits
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.language.syntax import Argument, Block, Call, If, Loop, Program, Ref, While, Word
from program_guided.language.vocabulary import Vocabulary

__all__ = ["NOTHING", "Kind", "RoutineTable", "compile_program"]

NOTHING = -1
"""Row number of a parameter that takes no result."""


class Kind(IntEnum):
    """Kinds of routines, by their effect on the pointer."""

    STEP = 0
    IF = 1
    WHILE = 2


@dataclass(frozen=True, eq=False)
class RoutineTable:
    """The compiled program, column by column; `n` is the number of rows."""

    domain: Domain = field(repr=False)
    calls: tuple[Call, ...]
    """Flat calls; a `Ref` holds the row whose result is taken."""
    operation: NDArray[np.int16]
    """(n,) row of the domain's table."""
    inputs: NDArray[np.int16]
    """(n, K) for each parameter that accepts results, the row whose result it takes; -1 for none."""
    kind: NDArray[np.int8]
    """(n,) a `Kind`."""
    on_true: NDArray[np.int16]
    """(n,) row that follows when the routine ends (for a condition: if it is true)."""
    on_false: NDArray[np.int16]
    """(n,) row that follows if a condition is false; equal to `on_true` for other routines."""

    def __len__(self) -> int:
        return len(self.calls)

    def _repr_html_(self) -> str:
        from program_guided.language.display import table_html

        return table_html(self)

    @property
    def entrance(self) -> int:
        return 0

    @cached_property
    def parallel(self) -> bool:
        """True if routines may be executed in parallel: nothing changes, and nothing is decided."""
        return not self.domain.sequential and not self.kind.any()

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """Routines that may be the last one executed."""
        end = len(self)
        return tuple(row for row in range(end) if end in (self.on_true[row], self.on_false[row]))

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Rows that may be pointed at next, the end (`n`) included."""
        return tuple(tuple(sorted({int(yes), int(no)})) for yes, no in zip(self.on_true, self.on_false, strict=True))

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Parents(P_k) of Eq. 2: the routines whose results a routine takes.

        They are its inputs. In sequential domains the routine executed before is a parent too; all candidates for it
        come first, and the pointer's `previous` is the actual one.
        """
        inputs = [call.inputs for call in self.calls]
        if not self.domain.sequential:
            return tuple(inputs)
        before: list[set[int]] = [set() for _ in range(len(self) + 1)]
        for row, after in enumerate(self.successors):
            for successor in after:
                before[successor].add(row)
        return tuple(tuple(dict.fromkeys((*sorted(rows), *own))) for rows, own in zip(before, inputs, strict=False))

    @cached_property
    def words(self) -> tuple[tuple[Word, ...], ...]:
        """The words of each routine (for P^s), without trailing ""."""
        return tuple(_trimmed(self.domain.layout(call)) for call in self.calls)

    @cached_property
    def word_ids(self) -> NDArray[np.int16]:
        """(n, L) the words as numbers of the domain's closed vocabulary, 0 where there is none."""
        ids = Vocabulary.of(self.domain).encode(self).astype(np.int16)
        ids.flags.writeable = False
        return ids


def compile_program(program: Program, domain: Domain) -> RoutineTable:
    """Compile a program into a table."""
    rows = _Rows()
    rows.block(program.body)
    if not domain.sequential and Kind.WHILE in rows.kind:
        raise DataError(
            f"nothing changes in {domain.name} programs, so 'while' would never end; expected 'if' or 'loop(n)'"
        )
    end = len(rows.calls)
    inputs = np.full((end, domain.max_inputs), NOTHING, np.int16)
    for row, call in enumerate(rows.calls):
        if call.inputs:
            taken = _inputs(call, domain)
            inputs[row, : len(taken)] = taken
    inputs.flags.writeable = False
    return RoutineTable(
        domain,
        tuple(rows.calls),
        operation=_frozen([domain.index[call.operation] for call in rows.calls], np.int16),
        inputs=inputs,
        kind=_frozen(rows.kind, np.int8),
        on_true=_frozen([min(target, end) for target in rows.on_true], np.int16),
        on_false=_frozen([min(target, end) for target in rows.on_false], np.int16),
    )


@dataclass
class _Rows:
    """Rows so far. An unknown successor is set to the next free row and corrected by `redirect`."""

    calls: list[Call] = field(default_factory=list)
    kind: list[Kind] = field(default_factory=list)
    on_true: list[int] = field(default_factory=list)
    on_false: list[int] = field(default_factory=list)
    number: int = 0
    """Number of the next call in the syntax tree, in which the body of a loop occurs once."""
    latest: dict[int, int] = field(default_factory=dict)
    """The last row so far of each call of the tree. The scope rules allow references only to calls that are always
    executed before, so this is the row referred to: within a loop that of the same copy, after it that of the last
    copy."""

    def add(self, call: Call, kind: Kind) -> int:
        """Add the row of a call after those of the calls nested in it; its number."""
        arguments = tuple(self.argument(argument) for argument in call.arguments)
        row = len(self.calls)
        self.calls.append(call if arguments == call.arguments else replace(call, arguments=arguments))
        self.kind.append(kind)
        self.on_true.append(row + 1)
        self.on_false.append(row + 1)
        self.latest[self.number] = row
        self.number += 1
        return row

    def argument(self, argument: Argument) -> Argument:
        if isinstance(argument, Call):
            return Ref(self.add(argument, Kind.STEP))
        return Ref(self.latest[argument.number]) if isinstance(argument, Ref) else argument

    def block(self, block: Block) -> None:
        for node in block:
            if isinstance(node, Call):
                self.add(node, Kind.STEP)
            elif isinstance(node, Loop):
                self.loop(node)
            elif isinstance(node, While):
                self.while_(node)
            else:
                self.if_(node)

    def loop(self, node: Loop) -> None:
        first = self.number
        for _ in range(node.times):
            self.number = first
            self.block(node.body)

    def while_(self, node: While) -> None:
        """The body's exits go back to the condition, or to the first of the calls nested in it."""
        first = len(self.calls)
        condition = self.add(node.condition, Kind.WHILE)
        self.block(node.body)
        after = len(self.calls)
        self.redirect(condition + 1, after, first)
        self.on_false[condition] = after

    def if_(self, node: If) -> None:
        """The exits of every branch go to the row after the whole."""
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
        """Let rows [first, last) whose successor is `last` go to `target` instead."""
        for row in range(first, last):
            self.on_true[row] = target if self.on_true[row] == last else self.on_true[row]
            self.on_false[row] = target if self.on_false[row] == last else self.on_false[row]


def _inputs(call: Call, domain: Domain) -> list[int]:
    """The row whose result is taken, for each parameter that accepts results."""
    given = zip(domain.operation(call.operation).parameters, call.arguments, strict=False)
    return [each.number if isinstance(each, Ref) else NOTHING for parameter, each in given if parameter.takes]


def _trimmed(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Words without trailing ""."""
    return _trimmed(words[:-1]) if words and words[-1] == "" else words


def _frozen(values: Sequence[int], dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array
