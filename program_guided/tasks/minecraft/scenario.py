"""Worlds specified by a user: `reset(options={...})`, and `proto run --map FILE`.

| option | meaning |
|---|---|
| program | text of a program, or a `Program` |
| split, index | an entry of a split (default index: drawn) |
| variant | number of the program's world (default 0; needs `index` or `program`) |
| map | rows of cells: names of `THINGS`, or a text of symbols, below |
| agent | (x, y) from 1; default: as sampled, or the first free cell of a given map |
| inventory | {"wood": 2}; objects that are not named are 0 |

Symbols of a map: `.` flat  `#` wall  `~` river  `=` bridge  `$` merchant  `g` gold  `w` wood  `i` iron  `s` silver
`t` triangle  `c` circle  `r` rectangle. `@` is the agent, on flat ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.language.domain import ACTION, BOOLEAN, Mismatch, unknown
from program_guided.language.parser import MAX_LOOPS, parse
from program_guided.language.printer import print_program, relined
from program_guided.language.syntax import Block, Call, If, Program, Ref, While, calls
from program_guided.tasks.minecraft.domain import DOMAIN, KINDS, LARGEST_SIDE, OBJECTS, SMALLEST_SIDE, THINGS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.splits import Difficulty, load_difficulty
from program_guided.tasks.minecraft.world.batch import DEFAULT_SIDES, MAX_ROUTINES, Batch
from program_guided.tasks.minecraft.world.rules import WALKABLE, Cell
from program_guided.tasks.minecraft.world.state import Worlds

__all__ = ["SYMBOLS", "Scenario", "read_scenario", "whole_number", "world_of", "worlds_of"]

SYMBOLS = dict(zip(THINGS, ".#~=$gwistcr", strict=True))
AGENT = "@"
MAX_GIVEN = 99
_BY_SYMBOL = {symbol: kind for kind, symbol in SYMBOLS.items()}
_OPTIONS = ("program", "split", "index", "variant", "map", "agent", "inventory")


@dataclass(frozen=True)
class Scenario:
    """Validated options."""

    entries: tuple[Entry, ...] | None
    """Programs to draw from; None for those of the environment."""
    index: int | None
    variant: int
    cells: NDArray[np.int8] | None
    agent: tuple[int, int] | None
    """Row and column."""
    inventory: NDArray[np.int16] | None

    def put(self, batch: Batch, i: int) -> None:
        """Set up world i of a batch; unspecified parts stay as sampled. After a `WorldError` the world remains in a
        valid state."""
        worlds = batch.worlds
        if self.cells is not None:
            self._draw_map(worlds, i)
        elif self.index is not None:
            batch.place(i, self.index, self.variant)
        if self.agent is not None:
            row, column = self.agent
            if max(row, column) >= worlds.side[i] or not WALKABLE[worlds.cells[i, row, column]]:
                raise WorldError(f"the agent cannot stand at ({column + 1}, {row + 1})")
            worlds.agent[i] = self.agent
        if self.inventory is not None:
            worlds.inventory[i] = self.inventory
        batch.begin(i, int(worlds.program[i]) if self.index is None else self.index)

    def _draw_map(self, worlds: Worlds, i: int) -> None:
        assert self.cells is not None
        side, largest = len(self.cells), worlds.cells.shape[1]
        if side > largest:
            raise WorldError(
                f"the map's side is {side}, the environment's largest is {largest}: give sides=(5, {side})"
            )
        free = np.argwhere(WALKABLE[self.cells])
        if len(free) == 0:
            raise WorldError("the map has no cell on which the agent can stand")
        worlds.cells[i] = Cell.OUTSIDE
        worlds.cells[i, :side, :side] = self.cells
        worlds.side[i] = side
        worlds.agent[i] = free[0]
        worlds.inventory[i] = 0
        worlds.counts[i] = np.bincount(self.cells.ravel(), minlength=len(KINDS))


def read_scenario(options: Mapping[str, Any], seed: int, difficulty: Difficulty = "full") -> Scenario:
    """Read options; `seed` is that of a given program's worlds, `difficulty` that of a split. An option that is None is
    ignored."""
    if not isinstance(options, Mapping):
        raise WorldError(f"options: {options!r} is not a dictionary of options")
    for name in options:
        if name not in _OPTIONS:
            raise WorldError(f"{unknown('option', str(name), _OPTIONS)} (there are {', '.join(_OPTIONS)})")
    given = {name: value for name, value in options.items() if value is not None}
    if "program" in given and "split" in given:
        raise WorldError("program and split: give one of them, not both")
    entries = _entries(given, seed, difficulty)
    index = whole_number("index", given["index"]) if "index" in given else None
    if "program" in given:
        if index:
            raise WorldError(f"index {index}: a given program is the only one there is, with index 0")
        index = 0
    if index is not None and entries is not None and not 0 <= index < len(entries):
        raise WorldError(f"index {index}: the split has {len(entries)} entries, from 0 to {len(entries) - 1}")
    if "variant" in given and index is None:
        raise WorldError("variant: of which program? Give an index or a program too")
    cells, agent = _read_map(given["map"]) if "map" in given else (None, None)
    agent = _read_agent(given["agent"]) if "agent" in given else agent
    inventory = _read_inventory(given["inventory"]) if "inventory" in given else None
    return Scenario(entries, index, whole_number("variant", given.get("variant", 0)), cells, agent, inventory)


def whole_number(name: str, value: object) -> int:
    """A value that must be an integer; `name` is the option's name in the error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WorldError(f"{name} {value}: not a whole number")
    return int(value)


def _is_list(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, bytes)


def _entries(given: Mapping[str, Any], seed: int, difficulty: Difficulty) -> tuple[Entry, ...] | None:
    program = given.get("program")
    if program is not None:
        if not isinstance(program, str | Program):
            raise WorldError(f"program: {program!r} is neither a text nor a Program")
        parsed = parse(program, DOMAIN, "program") if isinstance(program, str) else _checked(program)
        return (Entry(relined(parsed, DOMAIN), seed),)
    return load_difficulty(str(given["split"]), difficulty) if "split" in given else None


def _checked(program: Program) -> Program:
    """Validate a tree that may not come from the parser; `WorldError` for one that no text could produce."""
    routines = list(calls(program.body))
    if not routines:
        raise WorldError("program: it is empty; at least one routine is needed")
    for call in routines:
        if call.operation not in DOMAIN.index:
            raise WorldError(f"program: {unknown('operation', call.operation, DOMAIN.index)}")
        parameters = DOMAIN.operation(call.operation).parameters
        if len(call.arguments) != len(parameters):
            raise WorldError(f"program: {call.operation} with {len(call.arguments)} arguments")
        for parameter, argument in zip(parameters, call.arguments, strict=True):
            if isinstance(argument, Call | Ref) and parameter.takes is not None:
                continue
            try:
                right = isinstance(argument, str | int) and parameter.read(str(argument)) == argument
            except Mismatch as mismatch:
                raise WorldError(f"program: {call.operation}: {mismatch.message}; {mismatch.expected}") from None
            if not right:
                raise WorldError(f"program: {call.operation}: {argument!r} is not a {parameter.name}")
    _check_blocks(program.body)
    if any(call.result or len(call.words) < len(call.arguments) for call in routines):
        parse(print_program(program, DOMAIN), DOMAIN, "program")
    return program


def _check_blocks(block: Block) -> None:
    """Conditions stand after `if` and `while` and nowhere else, bodies are not empty, loops are finite."""
    if not block:
        raise WorldError("program: a body is empty; at least one routine is needed")
    for node in block:
        if isinstance(node, Call):
            _check_kind(node, condition=False)
        elif isinstance(node, If):
            for condition, body in node.branches:
                _check_kind(condition, condition=True)
                _check_blocks(body)
            if node.otherwise:
                _check_blocks(node.otherwise)
        else:
            if isinstance(node, While):
                _check_kind(node.condition, condition=True)
            elif not 1 <= node.times <= MAX_LOOPS:
                raise WorldError(f"program: loop({node.times}); expected 1 to {MAX_LOOPS}")
            _check_blocks(node.body)


def _check_kind(call: Call, condition: bool) -> None:
    output = DOMAIN.operation(call.operation).output
    if (output != BOOLEAN) if condition else (output != ACTION and call.result is None):
        expected = "a condition" if condition else "a behaviour"
        raise WorldError(f"program: {call.operation} stands where {expected} is expected")


def _read_agent(given: object) -> tuple[int, int]:
    """Row and column of (x, y)."""
    if isinstance(given, str) or not _is_list(given) or len(given) != 2:  # type: ignore[arg-type]
        raise WorldError(f"agent: {given!r} is not a place (x, y)")
    x, y = (whole_number("agent", number) for number in given)  # type: ignore[attr-defined]
    if not (1 <= x <= LARGEST_SIDE and 1 <= y <= LARGEST_SIDE):
        raise WorldError(f"agent ({x}, {y}): x and y are from 1 to the map's side")
    return y - 1, x - 1


def _read_map(given: object) -> tuple[NDArray[np.int8], tuple[int, int] | None]:
    """Cells of a map, and the place of the agent on it, if any."""
    rows: Any = [list(line.strip()) for line in given.strip().splitlines()] if isinstance(given, str) else given
    if not _is_list(rows):
        raise WorldError(f"map: {given!r} is neither a text nor rows of cells")
    if not all(_is_list(row) for row in rows):
        raise WorldError("map: a row is a text of symbols or a list of cells")
    if len(rows) == 0 or any(len(row) != len(rows) for row in rows):
        found = f"here are {len(rows)} rows, of {', '.join(str(len(row)) for row in rows)} cells"
        raise WorldError(f"a map is square, as many rows as each row has cells; {found}")
    if not SMALLEST_SIDE <= len(rows) <= LARGEST_SIDE:
        least = f"a map's side is at least {SMALLEST_SIDE} and at most {LARGEST_SIDE}"
        raise WorldError(f"{least}, not {len(rows)}")
    cells, agent = np.zeros((len(rows), len(rows)), np.int8), None
    for row, line in enumerate(rows):
        for column, symbol in enumerate(line):
            place = f"map, row {row + 1}, column {column + 1}"
            if isinstance(symbol, str) and symbol == AGENT:
                if agent is not None:
                    raise WorldError(f"{place}: a second agent")
                agent, symbol = (row, column), SYMBOLS["flat"]
            cells[row, column] = _read_cell(symbol, place)
    return cells, agent


def _read_cell(symbol: object, place: str) -> int:
    kind = _BY_SYMBOL.get(symbol, symbol) if isinstance(symbol, str) else None
    if kind not in THINGS:
        known = f"a symbol ({' '.join(SYMBOLS.values())} {AGENT}) or a name ({', '.join(THINGS)})"
        raise WorldError(f"{place}: {symbol!r} is not {known}")
    return KINDS.index(kind)


def _read_inventory(given: object) -> NDArray[np.int16]:
    if not isinstance(given, Mapping):
        raise WorldError(f"inventory: {given!r} does not say how many of what, as in {{'wood': 2}}")
    inventory = np.zeros(len(OBJECTS), np.int16)
    for thing, number in given.items():
        if thing not in OBJECTS:
            raise WorldError(f"inventory: {unknown('object', str(thing), OBJECTS)} (there are {', '.join(OBJECTS)})")
        count = whole_number("inventory", number)
        if not 0 <= count <= MAX_GIVEN:
            raise WorldError(f"inventory: {count} {thing}; a count is from 0 to {MAX_GIVEN}")
        inventory[OBJECTS.index(thing)] = count
    return inventory


def world_of(options: Mapping[str, Any], seed: int) -> Batch:
    """A batch of one world, at the start of the program of the options."""
    return worlds_of([options], [seed])


def worlds_of(options: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> Batch:
    """A batch of worlds, each at the start of the program of its options; either all maps are given, or none."""
    scenarios = [read_scenario(each, seed) for each, seed in zip(options, seeds, strict=True)]
    entries = [entry for scenario in scenarios for entry in scenario.entries or ()]
    drawn = scenarios[0].cells is None
    sides = DEFAULT_SIDES if drawn else (DEFAULT_SIDES[0], LARGEST_SIDE)
    routines = max(MAX_ROUTINES, *(len(entry.table) for entry in entries))
    batch = Batch(entries, len(entries), sides=sides, max_routines=routines, require_worlds=drawn)
    for number, scenario in enumerate(scenarios):
        replace(scenario, index=number).put(batch, number)
    return batch
