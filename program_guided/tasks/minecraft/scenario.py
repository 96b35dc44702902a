"""A world that a person asks for: `reset(options={...})`, and `proto run --map FILE`.

| option | what |
|---|---|
| program | text of a program, or a `Program` |
| split, index | an entry of a split (index: any if left out) |
| variant | which of the program's worlds (0 if left out; needs `index` or `program`) |
| map | rows of cells: names of `THINGS`, or a text of symbols, below |
| agent | (x, y) from 1; anywhere free if left out |
| inventory | {"wood": 2}; what is not named is 0 |

Symbols of a map: `.` flat  `#` wall  `~` river  `=` bridge  `$` merchant  `g` gold  `w` wood  `i` iron  `s` silver
`t` triangle  `c` circle  `r` rectangle. `@` is the agent, on flat ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.language.domain import unknown
from program_guided.language.parser import parse
from program_guided.language.syntax import Program
from program_guided.tasks.minecraft.batch import Batch, Entry
from program_guided.tasks.minecraft.domain import DOMAIN, KINDS, OBJECTS, SMALLEST_SIDE, THINGS
from program_guided.tasks.minecraft.generator import recount
from program_guided.tasks.minecraft.rules import WALKABLE, Cell
from program_guided.tasks.minecraft.splits import load_split

__all__ = ["SYMBOLS", "Scenario", "read_scenario"]

SYMBOLS = dict(zip(THINGS, ".#~=$gwistcr", strict=True))
AGENT = "@"
_OPTIONS = ("program", "split", "index", "variant", "map", "agent", "inventory")


@dataclass(frozen=True)
class Scenario:
    """Options that have been read and found right."""

    entries: tuple[Entry, ...] | None
    """Programs to draw from, if others than before."""
    index: int | None
    variant: int
    cells: NDArray[np.int8] | None
    agent: tuple[int, int] | None
    """Row and column."""
    inventory: NDArray[np.int16] | None

    def put(self, batch: Batch, i: int) -> None:
        """Set up world i of a batch; what the scenario does not say stays as it was drawn."""
        worlds = batch.worlds
        if self.index is not None and self.cells is None:
            batch.place(i, self.index, self.variant)
        if self.cells is not None:
            side, room = len(self.cells), worlds.cells.shape[1]
            if side > room:
                raise WorldError(
                    f"the map's side is {side}, the environment's largest is {room}: give sides=(5, {side})"
                )
            worlds.cells[i] = Cell.OUTSIDE
            worlds.cells[i, :side, :side] = self.cells
            worlds.side[i] = side
            worlds.inventory[i] = 0
            worlds.agent[i] = self._free_cell() if self.agent is None else self.agent
            recount(worlds, i)
        elif self.agent is not None:
            worlds.agent[i] = self.agent
        if self.inventory is not None:
            worlds.inventory[i] = self.inventory
        row, column = worlds.agent[i]
        if max(row, column) >= worlds.side[i] or not WALKABLE[worlds.cells[i, row, column]]:
            raise WorldError(f"the agent cannot stand at ({column + 1}, {row + 1})")
        batch.begin(i, int(worlds.program[i]) if self.index is None else self.index)

    def _free_cell(self) -> tuple[int, int]:
        assert self.cells is not None
        free = np.argwhere(WALKABLE[self.cells])
        if len(free) == 0:
            raise WorldError("the map has no cell on which the agent can stand")
        return int(free[0, 0]), int(free[0, 1])


def read_scenario(options: Mapping[str, Any], seed: int) -> Scenario:
    """Read options; `seed` is that of a given program's worlds."""
    for name in options:
        if name not in _OPTIONS:
            raise WorldError(f"{unknown('option', name, _OPTIONS)} (there are {', '.join(_OPTIONS)})")
    entries = _entries(options, seed)
    index = options.get("index")
    if options.get("program") is not None:
        index = 0
    if index is not None and entries is not None and not 0 <= index < len(entries):
        raise WorldError(f"index {index}: the split has {len(entries)} entries, from 0 to {len(entries) - 1}")
    cells, agent = (None, None) if options.get("map") is None else _read_map(options["map"])
    if options.get("agent") is not None:
        x, y = options["agent"]
        if min(x, y) < 1:
            raise WorldError(f"agent ({x}, {y}): x and y count from 1")
        agent = (y - 1, x - 1)
    inventory = None if options.get("inventory") is None else _read_inventory(options["inventory"])
    return Scenario(entries, index, int(options.get("variant", 0)), cells, agent, inventory)


def _entries(options: Mapping[str, Any], seed: int) -> tuple[Entry, ...] | None:
    program = options.get("program")
    if program is not None:
        parsed = program if isinstance(program, Program) else parse(str(program), DOMAIN)
        return (Entry(parsed, seed),)
    return load_split(str(options["split"])) if options.get("split") is not None else None


def _read_map(given: str | Sequence[Sequence[str]]) -> tuple[NDArray[np.int8], tuple[int, int] | None]:
    """Cells of a map, and where it shows the agent."""
    rows = [list(line.strip()) for line in given.strip().splitlines()] if isinstance(given, str) else list(given)
    if not rows or any(len(row) != len(rows) for row in rows):
        raise WorldError(f"a map is square: {len(rows)} rows of {len(rows)} cells, not {[len(row) for row in rows]}")
    if len(rows) < SMALLEST_SIDE:
        raise WorldError(f"a map's side is at least {SMALLEST_SIDE}, not {len(rows)}")
    by_symbol = {symbol: kind for kind, symbol in SYMBOLS.items()}
    cells, agent = np.zeros((len(rows), len(rows)), np.int8), None
    for row, line in enumerate(rows):
        for column, symbol in enumerate(line):
            if symbol == AGENT:
                agent, symbol = (row, column), SYMBOLS["flat"]
            kind = by_symbol.get(symbol, symbol)
            if kind not in THINGS:
                known = f"a symbol ({' '.join(SYMBOLS.values())} {AGENT}) or a name ({', '.join(THINGS)})"
                raise WorldError(f"map, row {row + 1}, column {column + 1}: '{symbol}' is not {known}")
            cells[row, column] = KINDS.index(kind)
    return cells, agent


def _read_inventory(given: Mapping[str, int]) -> NDArray[np.int16]:
    inventory = np.zeros(len(OBJECTS), np.int16)
    for thing, count in given.items():
        if thing not in OBJECTS:
            raise WorldError(f"inventory: {unknown('object', thing, OBJECTS)}")
        if not 0 <= count <= 99:
            raise WorldError(f"inventory: {count} {thing}; a count is from 0 to 99")
        inventory[OBJECTS.index(thing)] = count
    return inventory
