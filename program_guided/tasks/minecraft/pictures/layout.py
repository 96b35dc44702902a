"""Layout of a picture, in pixels.

It depends on the map's side, the program and the size of a cell alone, so that all pictures of one execution have the
same size: they become the frames of one GIF.

    ┌ numbers ───────┐ ┌ program ──────┐
    │ map            │ │ line          │
    │                │ │ > pointed     │
    ├ inventory ─────┤ │ line          │
    └────────────────┘ └───────────────┘
    [ time   action   message          ]

    >>> Layout(cell=48, rows=8, columns=8, longest=30).map
    (34, 34, 418, 418)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from program_guided.tasks.minecraft.domain import OBJECTS
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot

__all__ = ["CELL", "GUTTER", "LINE", "NUMBERS", "TITLE", "Box", "Layout"]

Box = tuple[int, int, int, int]
"""Edges of a rectangle: left, top, right, bottom."""

CELL = 48
"""The cell for which the lengths below are given; others follow in proportion."""
MARGIN = 12
NUMBERS = 22
GAP = 12
SLOT_WIDTH = 46
SLOT_HEIGHT = 56
TITLE = 32
LINE = 20
GUTTER = 52
"""Space left of the program's text, for the arrow and the line's number."""
BANNER = 42
NARROWEST, WIDEST = 26, 44
"""Bounds of the number of characters of a program's line that are shown."""


@dataclass(frozen=True)
class Layout:
    """All lengths and places of the pictures of one execution."""

    cell: int
    rows: int
    columns: int
    longest: int
    """Characters of the program's longest line."""

    @classmethod
    def of(cls, snapshot: Snapshot, cell: int) -> Layout:
        """The layout for a snapshot, and so for all of its execution."""
        longest = max((len(line) for line in snapshot.program), default=0)
        return cls(cell, len(snapshot.cells), len(snapshot.cells[0]), longest)

    def scaled(self, length: float) -> int:
        """A length given for a cell of 48 pixels."""
        return max(1, round(length * self.cell / CELL))

    @property
    def pitch(self) -> int:
        """The width of a character of code."""
        return self.scaled(8)

    @property
    def characters(self) -> int:
        """Number of characters of a line that fit."""
        return min(max(self.longest, NARROWEST), WIDEST)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        right, bottom = self.banner[2:]
        return right + self.scaled(MARGIN), bottom + self.scaled(MARGIN)

    @property
    def map(self) -> Box:
        """The cells, without the numbers; a small map stands in the middle over the inventory."""
        width, height = self.columns * self.cell, self.rows * self.cell
        first = self.scaled(MARGIN) + self.scaled(NUMBERS)
        left = first + max(0, self._left_width - self.scaled(NUMBERS) - width) // 2
        return left, first, left + width, first + height

    @property
    def inventory(self) -> Box:
        """The inventory, below the map."""
        left, top = self.scaled(MARGIN), self.map[3] + self.scaled(GAP)
        return left, top, left + self._left_width, top + self.scaled(SLOT_HEIGHT)

    @property
    def program(self) -> Box:
        """The listing, as high as map and inventory together."""
        left = self.inventory[2] + self.scaled(GAP)
        width = self.scaled(GUTTER) + (self.characters + 1) * self.pitch
        return left, self.scaled(MARGIN), left + width, self.inventory[3]

    @property
    def program_rows(self) -> int:
        """Number of lines of the program that fit."""
        _, top, _, bottom = self.program
        return (bottom - top - self.scaled(TITLE) - self.scaled(LINE) // 2) // self.scaled(LINE)

    @property
    def banner(self) -> Box:
        """Time, action and message, over the whole width."""
        top = self.inventory[3] + self.scaled(GAP)
        return self.scaled(MARGIN), top, self.program[2], top + self.scaled(BANNER)

    @property
    def slots(self) -> Sequence[Box]:
        """The inventory's places, one an object, in their order."""
        left, top, right, bottom = self.inventory
        between = self.scaled(4)
        edges = [left + (right + between - left) * index // len(OBJECTS) for index in range(len(OBJECTS) + 1)]
        return [(edge, top, following - between, bottom) for edge, following in pairwise(edges)]

    @property
    def _left_width(self) -> int:
        cells = self.scaled(NUMBERS) + self.columns * self.cell
        return max(cells, len(OBJECTS) * self.scaled(SLOT_WIDTH))

    def cell_at(self, row: int, column: int) -> Box:
        """A cell of the map, by its row and column from 0."""
        left, top = self.map[0] + column * self.cell, self.map[1] + row * self.cell
        return left, top, left + self.cell, top + self.cell

    def row_at(self, index: int) -> Box:
        """A row of the program, counted from the first that is shown."""
        left, top, right, _ = self.program
        above = top + self.scaled(TITLE) + index * self.scaled(LINE)
        return left, above, right, above + self.scaled(LINE)
