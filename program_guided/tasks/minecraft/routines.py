"""Single routines named by a user: select the programs that contain one, to train without it and to evaluate on it.

removed = read_routine("mine(gold)")       # or is_there[river], agent[silver] (any comparison), build_bridge()
[entry for entry in entries if removed.in_program(entry.program)]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import Mismatch, unknown
from program_guided.language.syntax import Call, Program, Word, calls
from program_guided.learning.worlds import pointed_rows
from program_guided.tasks.minecraft.agents import PlannerAgent, RandomAgent
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["IgnorantPlanner", "Routine", "read_routine"]


@dataclass(frozen=True)
class Routine:
    """An operation and its first words; further words are arbitrary."""

    operation: str
    words: tuple[Word, ...]

    def is_call(self, call: Call) -> bool:
        """True if a call is one of this routine."""
        return call.operation == self.operation and call.words[: len(self.words)] == self.words

    def in_program(self, program: Program) -> bool:
        """True if a program contains it."""
        return any(self.is_call(call) for call in calls(program.body))


def read_routine(text: str) -> Routine:
    """Read a routine; `DataError` for a text that names none."""
    found = re.fullmatch(r"\s*(\w+)\s*[\[(](.*)[\])]\s*", text)
    if not found:
        raise DataError(f"{text!r} is no routine; write one like mine(gold), is_there[river] or agent[silver]")
    name, listed = found.groups()
    operation = DOMAIN.find(name)
    if operation is None:
        raise DataError(unknown("operation", name, [each.name for each in DOMAIN.operations]))
    given = [word.strip() for word in listed.split(",") if word.strip()]
    if len(given) > len(operation.parameters):
        raise DataError(f"{text!r}: {operation.name} has {len(operation.parameters)} arguments, not {len(given)}")
    try:
        words = tuple(each.read(word) for each, word in zip(operation.parameters, given, strict=False))
    except Mismatch as mismatch:
        raise DataError(f"{text!r}: {mismatch}; {mismatch.expected}") from None
    return Routine(operation.name, words)


class IgnorantPlanner:
    """The planner, without knowledge of one routine: there, it takes a random allowed action."""

    def __init__(self, unseen: Routine, seed: int = 0) -> None:
        self._unseen, self._planner, self._random = unseen, PlannerAgent(), RandomAgent(seed)

    def act(self, batch: Batch) -> NDArray[np.int64]:
        rows = [self._unseen.is_call(call) for table in batch.tables for call in table.calls]
        unseen = np.array(rows)[pointed_rows(batch)]
        return np.where(unseen, self._random.act(batch), self._planner.act(batch))
