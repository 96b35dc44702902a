"""An entry of a split: a program and the seed of its worlds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from program_guided.language.printer import print_program
from program_guided.language.syntax import Program
from program_guided.language.table import RoutineTable, compile_program
from program_guided.tasks.minecraft.domain import DOMAIN

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """A program and the seed of its worlds."""

    program: Program
    seed: int

    @property
    def text(self) -> str:
        return print_program(self.program, DOMAIN)

    @cached_property
    def table(self) -> RoutineTable:
        """The compiled program, cached."""
        return compile_program(self.program, DOMAIN)
