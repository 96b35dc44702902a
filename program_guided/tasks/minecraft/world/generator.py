"""World generation: a seed and a program determine one world in which the program can be finished.

Worlds are drawn until the planner finishes the program in one (rejection sampling). The draw depends on the program's
conditions: a fair coin decides whether each is true at the start, and counts are chosen accordingly, so that the answer
cannot be guessed from the text. What it counts is drawn uniformly. Objects that the program mines are put on the map.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.domain import KINDS, OBJECTS
from program_guided.tasks.minecraft.world.compiled import compiled, inlined, inner
from program_guided.tasks.minecraft.world.kernels import (
    AGENT,
    BRIDGE,
    BUILD_BRIDGE,
    CARRIED,
    FIRST_COMPARISON,
    FIRST_COUNT,
    FLAT,
    GOTO,
    MERCHANT,
    MINE,
    PLACE,
    RIVER,
    SELL,
    WOOD,
    begin,
    compares,
)
from program_guided.tasks.minecraft.world.planner import finish
from program_guided.tasks.minecraft.world.random import draw, mix
from program_guided.tasks.minecraft.world.rules import FIRST_OBJECT, MERCHANTS, MOVES, TIME_LIMIT, WALKABLE, Cell
from program_guided.tasks.minecraft.world.state import Draft, ProgramSet, Workspace, Worlds

__all__ = ["IMPOSSIBLE", "MAX_DRAWS", "READY", "UNKNOWN", "copy_world", "generate"]

UNKNOWN, READY, IMPOSSIBLE = 0, 1, 2
"""States of a world: not yet made, made, or not found."""
MAX_DRAWS = 2_000
"""Number of draws after which a program is regarded as impossible."""
WALL, OUTSIDE = int(Cell.WALL), int(Cell.OUTSIDE)
MAX_ON_MAP = 3
MAX_CARRIED = 4
FREE_CELLS = 4
"""Minimum number of flat cells of a map."""
FIRST = 0
KIND_COUNT, OBJECT_COUNT = len(KINDS), len(OBJECTS)
MIN_MERCHANTS, MAX_MERCHANTS = MERCHANTS

Stack = NDArray[np.int16]


@inner
def _choose(
    random: NDArray[np.uint64], count: int, low: int, high: int, comparison: int, number: int, wanted: bool
) -> int:
    """A random count from low to high for which the comparison is as wanted; the old one if there is none."""
    fitting = 0
    for candidate in range(low, high + 1):
        if compares(candidate, comparison, number) == wanted:
            fitting += 1
            if draw(random, 0, fitting) == 0:
                count = candidate
    return count


@inner
def _counts(programs: ProgramSet, program: int, side: int, carried: NDArray[np.int16], draft: Draft) -> None:
    """Draw the counts of each kind on the map and in the inventory."""
    random, on_map, settled = draft.random, draft.on_map, draft.settled
    on_map[:] = 0
    settled[:] = False
    for item in range(OBJECT_COUNT):
        on_map[FIRST_OBJECT + item] = min(draw(random, 0, MAX_ON_MAP + 1), draw(random, 0, MAX_ON_MAP + 1))
        carried[item] = draw(random, 0, MAX_CARRIED + 1) if draw(random, 0, 2) else 0
    on_map[RIVER] = draw(random, 0, 2)
    on_map[BRIDGE] = draw(random, 0, 2)
    on_map[WALL] = draw(random, 0, side) if draw(random, 0, 2) else 0
    on_map[MERCHANT] = MIN_MERCHANTS + draw(random, 0, MAX_MERCHANTS - MIN_MERCHANTS + 1)
    first = programs.first[program]
    for row in range(first, first + programs.size[program]):
        operation, kind = programs.operation[row], programs.arguments[row, 0]
        comparison, number = programs.arguments[row, 1], programs.arguments[row, 2]
        if operation < AGENT or FIRST_COMPARISON <= operation < FIRST_COUNT:
            continue
        on_the_map = int(operation != AGENT and operation != CARRIED)
        if settled[on_the_map, kind]:
            continue
        settled[on_the_map, kind] = True
        if operation >= FIRST_COUNT:
            _draw_counted(random, kind, on_the_map == 1, carried, on_map)
            continue
        wanted = draw(random, 0, 2) == 1
        if operation == AGENT:
            if kind >= FIRST_OBJECT:
                item = kind - FIRST_OBJECT
                carried[item] = _choose(random, carried[item], 0, MAX_CARRIED, comparison, number, wanted)
        elif kind >= FIRST_OBJECT or kind == WALL:
            on_map[kind] = _choose(random, on_map[kind], 0, MAX_ON_MAP + 1, comparison, number, wanted)
        elif kind == MERCHANT:
            on_map[kind] = _choose(random, on_map[kind], MIN_MERCHANTS, MAX_MERCHANTS, comparison, number, wanted)
        elif kind == BRIDGE:
            on_map[kind] = _choose(random, on_map[kind], 0, 1, comparison, number, wanted)
            on_map[RIVER] = max(on_map[RIVER], on_map[kind])
        elif kind == RIVER:
            on_map[kind] = int(compares(side, comparison, number) == wanted)
    for row in range(first, first + programs.size[program]):
        _provide(programs.operation[row], programs.arguments[row, 0], carried, draft)
    if on_map[RIVER] == 0:
        on_map[BRIDGE] = 0


@inner
def _draw_counted(
    random: NDArray[np.uint64], kind: int, on_the_map: bool, carried: NDArray[np.int16], on_map: NDArray[np.int16]
) -> None:
    """Draw the count of an object that the program counts, uniformly."""
    if kind < FIRST_OBJECT:
        return
    if on_the_map:
        on_map[kind] = draw(random, 0, MAX_ON_MAP + 2)
    else:
        carried[kind - FIRST_OBJECT] = draw(random, 0, MAX_CARRIED + 1)


@inner
def _provide(operation: int, item: int, carried: NDArray[np.int16], draft: Draft) -> None:
    """Provide the object that a behaviour needs, unless a condition has settled its count."""
    on_map, settled = draft.on_map, draft.settled
    if operation == BUILD_BRIDGE:
        item = WOOD
        if not settled[1, RIVER]:
            on_map[RIVER] = 1
    elif operation != MINE and operation != SELL and operation != PLACE:
        return
    if operation != MINE and not settled[0, FIRST_OBJECT + item] and draw(draft.random, 0, 2) == 0:
        carried[item] = min(carried[item] + 1, MAX_CARRIED)
    elif not settled[1, FIRST_OBJECT + item]:
        on_map[FIRST_OBJECT + item] = min(on_map[FIRST_OBJECT + item] + 1, MAX_ON_MAP + 1)


@inner
def _random_cell(random: NDArray[np.uint64], worlds: Worlds, i: int, kind: int) -> int:
    """A random cell of this kind, as row * width + column; -1 if there is none."""
    found, side, width = -1, worlds.side[i], worlds.cells.shape[1]
    count = 0
    for row in range(side):
        for column in range(side):
            if worlds.cells[i, row, column] == kind:
                count += 1
                if draw(random, 0, count) == 0:
                    found = row * width + column
    return found


@inner
def _pieces(worlds: Worlds, i: int, draft: Draft, stack: Stack) -> int:
    """Number of connected components of the map for walking without a bridge."""
    width, side = worlds.cells.shape[1], worlds.side[i]
    visited = draft.visited
    visited[:] = False
    pieces = 0
    for start in range(width * width):
        kind = worlds.cells[i, start // width, start % width]
        if visited[start] or not WALKABLE[kind] or kind == BRIDGE:
            continue
        pieces += 1
        visited[start] = True
        stack[0], top = start, 1
        while top > 0:
            top -= 1
            row, column = stack[top] // width, stack[top] % width
            for way in range(4):
                r, c = row + MOVES[way, 0], column + MOVES[way, 1]
                if not (0 <= r < side and 0 <= c < side) or visited[r * width + c]:
                    continue
                kind = worlds.cells[i, r, c]
                if WALKABLE[kind] and kind != BRIDGE:
                    visited[r * width + c] = True
                    stack[top] = r * width + c
                    top += 1
    return pieces


@inner
def _lay_out(worlds: Worlds, i: int, draft: Draft, stack: Stack) -> bool:
    """Put river, bridge, walls, merchants and objects on a flat map; False if they do not fit."""
    random, on_map = draft.random, draft.on_map
    side, width = int(worlds.side[i]), worlds.cells.shape[1]
    worlds.cells[i] = OUTSIDE
    worlds.cells[i, :side, :side] = FLAT
    if on_map[RIVER]:
        across, line = draw(random, 0, 2), 1 + draw(random, 0, side - 2)
        for step in range(side):
            worlds.cells[i, line if across else step, step if across else line] = RIVER
        if on_map[BRIDGE]:
            step = draw(random, 0, side)
            worlds.cells[i, line if across else step, step if across else line] = BRIDGE
    pieces = 2 if on_map[RIVER] else 1
    for _ in range(on_map[WALL]):
        cell = _random_cell(random, worlds, i, FLAT)
        worlds.cells[i, cell // width, cell % width] = WALL
        if _pieces(worlds, i, draft, stack) != pieces or not _bridge_is_open(worlds, i):
            worlds.cells[i, cell // width, cell % width] = FLAT
    total = 0
    for kind in range(MERCHANT, KIND_COUNT):
        total += on_map[kind]
    flat = 0
    for cell in range(width * width):
        flat += worlds.cells[i, cell // width, cell % width] == FLAT
    if total + FREE_CELLS > flat:
        return False
    for kind in range(MERCHANT, KIND_COUNT):
        for _ in range(on_map[kind]):
            cell = _random_cell(random, worlds, i, FLAT)
            worlds.cells[i, cell // width, cell % width] = kind
    return True


@inner
def _bridge_is_open(worlds: Worlds, i: int) -> bool:
    """True if no wall stands at an end of the bridge."""
    side = worlds.side[i]
    for row in range(side):
        for column in range(side):
            if worlds.cells[i, row, column] == BRIDGE:
                for way in range(4):
                    r, c = row + MOVES[way, 0], column + MOVES[way, 1]
                    if 0 <= r < side and 0 <= c < side and worlds.cells[i, r, c] == WALL:
                        return False
    return True


@inner
def _recount(worlds: Worlds, i: int) -> None:
    """Count the map's cells by kind."""
    worlds.counts[i] = 0
    for row in range(worlds.side[i]):
        for column in range(worlds.side[i]):
            worlds.counts[i, worlds.cells[i, row, column]] += 1


@inner
def _smallest_side(programs: ProgramSet, program: int, smallest: int) -> int:
    """The smallest map that holds every coordinate of the program."""
    first = programs.first[program]
    for row in range(first, first + programs.size[program]):
        if programs.operation[row] == GOTO:
            smallest = max(smallest, programs.arguments[row, 0] + 1, programs.arguments[row, 1] + 1)
        elif programs.operation[row] == PLACE:
            smallest = max(smallest, programs.arguments[row, 1] + 1, programs.arguments[row, 2] + 1)
    return smallest


@inlined
def copy_world(source: Worlds, i: int, target: Worlds, j: int) -> None:
    """Copy a map, its agent and its inventory."""
    for row in range(source.cells.shape[1]):
        for column in range(source.cells.shape[1]):
            target.cells[j, row, column] = source.cells[i, row, column]
    for item in range(OBJECT_COUNT):
        target.inventory[j, item] = source.inventory[i, item]
    for kind in range(KIND_COUNT):
        target.counts[j, kind] = source.counts[i, kind]
    target.side[j] = source.side[i]
    target.agent[j, 0], target.agent[j, 1] = source.agent[i, 0], source.agent[i, 1]


@inner
def _draw_world(
    worlds: Worlds, i: int, programs: ProgramSet, program: int, smallest: int, largest: int, draft: Draft, stack: Stack
) -> bool:
    """Draw a map, the agent's place and the inventory; False if they do not fit."""
    side = smallest + draw(draft.random, 0, largest - smallest + 1)
    worlds.side[i] = side
    _counts(programs, program, side, worlds.inventory[i], draft)
    if not _lay_out(worlds, i, draft, stack):
        return False
    _recount(worlds, i)
    row, column = -1, -1
    while row < 0 or not WALKABLE[worlds.cells[i, row, column]]:
        row, column = draw(draft.random, 0, side), draw(draft.random, 0, side)
    worlds.agent[i, 0], worlds.agent[i, 1] = row, column
    return True


@compiled
def generate(
    worlds: Worlds,
    state: NDArray[np.int8],
    rows: NDArray[np.int64],
    variants: int,
    programs: ProgramSet,
    seeds: NDArray[np.uint64],
    sides: tuple[int, int],
    trial: Worlds,
    draft: Draft,
    workspace: Workspace,
) -> None:
    """Make the worlds of these rows, of which every program has `variants`; their state is then READY or IMPOSSIBLE.
    `trial` is a batch of one world, in which the planner executes the program."""
    for i in rows:
        program, variant = i // variants, i % variants
        seed = seeds[program] if variant == 0 else mix(seeds[program], variant)
        state[i] = IMPOSSIBLE
        smallest = _smallest_side(programs, program, sides[0])
        draft.random[0] = mix(seed, int(FIRST))
        for _ in range(MAX_DRAWS if smallest <= sides[1] else 0):
            if not _draw_world(worlds, i, programs, program, smallest, sides[1], draft, workspace.front):
                continue
            first = int(FIRST)
            copy_world(worlds, i, trial, first)
            begin(trial, first, programs, program)
            if trial.routine[0] < programs.size[program] and finish(trial, first, programs, int(TIME_LIMIT), workspace):
                state[i] = READY
                break
