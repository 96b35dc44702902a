"""The oracle: for any state of any world, every action that is a shortest way to end the pointed routine.

A routine's plan may need more than walking: to place or sell what the agent does not have it is mined first, and what
lies behind a river is reached over a bridge that is built first, with wood that is mined first if there is none. Extra
bridges are built only when there is no way without (they cost wood that the program may want): plans are compared by
bridges, then by steps. Worlds whose river is one line and whose banks are connected never need two extra bridges; a
state that would is called hopeless.

The search runs backwards. A *field* holds, for every cell, the steps from there to the end of the routine. Fields of
later stages are sources of earlier ones: "wood in hand" feeds on "bridge built", "no wood" on "wood in hand". So one
field answers for all cells, and going downhill in it is A* with a perfect heuristic.

Rooms of `Room.fields`: 0 to 4 belong to the stages below, 5 holds the plan, 6 the plan of a tried action.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.compiled import compiled
from program_guided.tasks.minecraft.kernels import (
    AGENT,
    BRIDGE,
    BUILD_BRIDGE,
    DO_BUILD,
    DO_MINE,
    DO_PLACE,
    DO_SELL,
    FINISHED,
    FLAT,
    GOTO,
    MERCHANT,
    MINE,
    NONE,
    PLACE,
    RIVER,
    RUNNING,
    SAY_FALSE,
    SAY_TRUE,
    SELL,
    WOOD,
    condition_holds,
    step_world,
)
from program_guided.tasks.minecraft.rules import BUILD_ORDER, FIRST_OBJECT, MOVES, WALKABLE
from program_guided.tasks.minecraft.state import ProgramSet, Room, Worlds

__all__ = ["HOPELESS", "best_actions", "finish", "label"]

HOPELESS = 30_000
"""Steps of a plan that does not exist."""

Field = NDArray[np.int32]


@compiled
def _spread(cells: NDArray[np.int8], bridge: int, field: Field, room: Room) -> None:
    """Turn sources into distances: each cell gets the least of source + steps to it. `bridge`: a river cell taken as
    bridged, or -1. Sources may differ in value: they join the front in the order of their values."""
    width = cells.shape[0]
    waiting, front = room.waiting, room.front
    sources = 0
    for cell in range(width * width):
        if field[cell] < HOPELESS:
            place = sources
            while place > 0 and field[waiting[place - 1]] > field[cell]:
                waiting[place] = waiting[place - 1]
                place -= 1
            waiting[place] = cell
            sources += 1
    head, tail, next_source = 0, 0, 0
    while head < tail or next_source < sources:
        if head == tail or (next_source < sources and field[waiting[next_source]] <= field[front[head]]):
            cell = waiting[next_source]
            next_source += 1
        else:
            cell = front[head]
            head += 1
        row, column = cell // width, cell % width
        for way in range(4):
            r, c = row + MOVES[way, 0], column + MOVES[way, 1]
            if 0 <= r < width and 0 <= c < width:
                to = r * width + c
                if (WALKABLE[cells[r, c]] or to == bridge) and field[to] > field[cell] + 1:
                    field[to] = field[cell] + 1
                    front[tail] = to
                    tail += 1


@compiled
def _river_beside(cells: NDArray[np.int8], row: int, column: int) -> int:
    """The river cell that `build` would bridge from here, or -1."""
    width = cells.shape[0]
    for way in range(4):
        r, c = row + BUILD_ORDER[way, 0], column + BUILD_ORDER[way, 1]
        if 0 <= r < width and 0 <= c < width and cells[r, c] == RIVER:
            return int(r * width + c)
    return NONE


@compiled
def _is_goal(cells: NDArray[np.int8], row: int, column: int, operation: int, arguments: NDArray[np.int16]) -> bool:
    """Whether the routine's last action (for `goto`, the last step) can be taken on this cell."""
    kind = cells[row, column]
    if operation == MINE:
        return bool(kind == FIRST_OBJECT + arguments[0])
    if operation == GOTO:
        return bool(row == arguments[0] and column == arguments[1])
    if operation == PLACE:
        free = kind == FLAT or kind >= FIRST_OBJECT
        return bool(row == arguments[1] and column == arguments[2] and free)
    if operation == SELL:
        return bool(kind == MERCHANT)
    return _river_beside(cells, row, column) != NONE


@compiled
def _to_goal(
    cells: NDArray[np.int8], bridge: int, operation: int, arguments: NDArray[np.int16], field: Field, room: Room
) -> None:
    """Field of the last stage: nothing is missing."""
    width = cells.shape[0]
    last = 0 if operation == GOTO else 1
    for cell in range(width * width):
        row, column = cell // width, cell % width
        reachable = WALKABLE[cells[row, column]] or cell == bridge
        goal = reachable and _is_goal(cells, row, column, operation, arguments)
        field[cell] = last if goal else HOPELESS
    _spread(cells, bridge, field, room)


@compiled
def _add_mining(cells: NDArray[np.int8], item: int, after: Field, field: Field) -> None:
    """Sources: mine one `item`, then go on as in `after`."""
    width = cells.shape[0]
    for cell in range(width * width):
        if cells[cell // width, cell % width] == FIRST_OBJECT + item:
            field[cell] = min(field[cell], after[cell] + 1)


@compiled
def _without_bridge(
    cells: NDArray[np.int8],
    bridge: int,
    operation: int,
    arguments: NDArray[np.int16],
    item: int,
    field: Field,
    room: Room,
) -> None:
    """Field of a plan that builds no extra bridge; `item`: the object to be mined first, or -1."""
    _to_goal(cells, bridge, operation, arguments, field, room)
    if item != NONE:
        after = room.fields[0]
        for cell in range(field.size):
            after[cell], field[cell] = field[cell], HOPELESS
        _add_mining(cells, item, after, field)
        _spread(cells, bridge, field, room)


@compiled
def _add_building(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, room: Room
) -> None:
    """Sources: build a bridge from a cell beside the river, then go on over it; `item` is mined after that."""
    width = cells.shape[0]
    after = room.fields[1]
    for river in range(width * width):
        if cells[river // width, river % width] != RIVER:
            continue
        computed = False
        for way in range(4):
            row, column = river // width + MOVES[way, 0], river % width + MOVES[way, 1]
            if not (0 <= row < width and 0 <= column < width and WALKABLE[cells[row, column]]):
                continue
            if _river_beside(cells, row, column) == river:
                if not computed:
                    _without_bridge(cells, river, operation, arguments, item, after, room)
                    computed = True
                cell = row * width + column
                field[cell] = min(field[cell], after[cell] + 1)


@compiled
def _over_bridge(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, room: Room
) -> None:
    """Field with wood in hand and a bridge to be built; `item`: an object to be mined before or after, or -1."""
    complete = room.fields[2]
    for missing in (NONE, item):
        target = field if missing == item else complete
        target[:] = HOPELESS
        _add_building(cells, operation, arguments, missing, target, room)
        if missing != NONE:
            _add_mining(cells, item, complete, target)
        _spread(cells, NONE, target, room)
        if item == NONE:
            return


@compiled
def _fetch_wood(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, room: Room
) -> None:
    """The same with no wood in hand. Where wood is also the missing object two logs are needed: the first is gone when
    the second is looked for, so each log is tried as the first."""
    width = cells.shape[0]
    after, complete = room.fields[3], room.fields[4]
    for missing in (NONE, item):
        target = field if missing == item else complete
        target[:] = HOPELESS
        computed = False
        for cell in range(field.size):
            row, column = cell // width, cell % width
            if cells[row, column] == FIRST_OBJECT + WOOD:
                if missing == WOOD or not computed:
                    cells[row, column] = FLAT
                    _over_bridge(cells, operation, arguments, missing, after, room)
                    cells[row, column] = FIRST_OBJECT + WOOD
                    computed = True
                target[cell] = after[cell] + 1
        if missing != NONE and item != WOOD:
            _add_mining(cells, item, complete, target)
        _spread(cells, NONE, target, room)
        if item == NONE:
            return


@compiled
def _plan(
    cells: NDArray[np.int8],
    inventory: NDArray[np.int16],
    here: int,
    operation: int,
    arguments: NDArray[np.int16],
    field: Field,
    room: Room,
) -> tuple[int, int]:
    """Fill the field of the best plan from this state; how many extra bridges and steps it takes."""
    item = NONE
    if operation == BUILD_BRIDGE:
        item = WOOD
    elif operation in (PLACE, SELL):
        item = int(arguments[0])
    missing = NONE if item == NONE or inventory[item] > 0 else item
    _without_bridge(cells, NONE, operation, arguments, missing, field, room)
    if field[here] < HOPELESS or operation == BUILD_BRIDGE:
        return 0, min(HOPELESS, field[here])
    if item == WOOD and inventory[WOOD] == 1:
        missing = WOOD  # the bridge takes the one there is
    if inventory[WOOD] > 0:
        _over_bridge(cells, operation, arguments, missing, field, room)
    else:
        _fetch_wood(cells, operation, arguments, missing, field, room)
    return 1, min(HOPELESS, field[here])


@compiled
def _downhill(cells: NDArray[np.int8], here: int, field: Field) -> int:
    """Bits of the moves that go down in the field by one."""
    width = cells.shape[0]
    row, column = here // width, here % width
    bits = 0
    for way in range(4):
        r, c = row + MOVES[way, 0], column + MOVES[way, 1]
        inside = 0 <= r < width and 0 <= c < width
        if inside and WALKABLE[cells[r, c]] and field[r * width + c] == field[here] - 1:
            bits |= 1 << way
    return bits


@compiled
def _best(
    cells: NDArray[np.int8],
    inventory: NDArray[np.int16],
    here: int,
    operation: int,
    arguments: NDArray[np.int16],
    room: Room,
) -> tuple[int, int]:
    """Bits of all best actions at a behaviour routine, and the steps to its end; (0, HOPELESS) if there is no way.

    The plan from here comes first; then mining and building are tried and undone: they pay if the plan that remains is
    one step shorter.
    """
    width = cells.shape[0]
    bits, bridges, steps = 0, 0, 0
    for action in (NONE, DO_MINE, DO_BUILD):
        cell, kind, item, gain = here, cells[here // width, here % width], 0, 0
        if action == DO_MINE:
            if kind < FIRST_OBJECT:
                continue
            item, kind, gain = kind - FIRST_OBJECT, FLAT, 1
            if operation == MINE and arguments[0] == item:
                bits |= 1 << DO_MINE
                continue
        if action == DO_BUILD:
            cell, kind, item, gain = _river_beside(cells, here // width, here % width), BRIDGE, WOOD, -1
            if cell == NONE or inventory[WOOD] == 0:
                continue
            if operation == BUILD_BRIDGE:
                bits |= 1 << DO_BUILD
                continue
            if bridges == 0:
                continue
        before = cells[cell // width, cell % width]
        cells[cell // width, cell % width] = kind
        inventory[item] += gain
        field = room.fields[5 if action == NONE else 6]
        needed, remaining = _plan(cells, inventory, here, operation, arguments, field, room)
        cells[cell // width, cell % width] = before
        inventory[item] -= gain
        if action == NONE:
            bridges, steps = needed, remaining
            if steps >= HOPELESS:
                return 0, HOPELESS
            bits = _downhill(cells, here, field)
        elif needed == bridges - int(action == DO_BUILD) and remaining == steps - 1:
            bits |= 1 << action
    if steps == 1 and operation == PLACE:
        bits |= 1 << DO_PLACE
    if steps == 1 and operation == SELL:
        bits |= 1 << DO_SELL
    return bits, steps


@compiled
def best_actions(worlds: Worlds, i: int, programs: ProgramSet, room: Room) -> tuple[int, int]:
    """Bits of all best actions in world i, and the steps to the end of the routine; (0, HOPELESS) where none leads
    there, (0, 0) where the program is over."""
    program = worlds.program[i]
    if worlds.outcome[i] != RUNNING or worlds.routine[i] == programs.size[program]:
        return 0, 0
    row = programs.first[program] + worlds.routine[i]
    operation, arguments = programs.operation[row], programs.arguments[row]
    if operation >= AGENT:
        holds = condition_holds(worlds, i, operation, arguments[0], arguments[1], arguments[2])
        return 1 << (SAY_TRUE if holds else SAY_FALSE), 1
    here = worlds.agent[i, 0] * worlds.cells.shape[1] + worlds.agent[i, 1]
    return _best(worlds.cells[i], worlds.inventory[i], here, operation, arguments, room)


@compiled
def label(worlds: Worlds, programs: ProgramSet, bits: NDArray[np.uint16], steps: NDArray[np.int32], room: Room) -> None:
    """`best_actions` of every world."""
    for i in range(len(bits)):
        bits[i], steps[i] = best_actions(worlds, i, programs, room)


@compiled
def finish(worlds: Worlds, i: int, programs: ProgramSet, time_limit: int, room: Room) -> bool:
    """Execute the program of world i to its end; False if the planner gets stuck or runs out of time. While the
    agent only walks, one field serves all its steps."""
    valid = False
    while worlds.outcome[i] == RUNNING:
        here = worlds.agent[i, 0] * worlds.cells.shape[1] + worlds.agent[i, 1]
        bits = _downhill(worlds.cells[i], here, room.fields[5]) if valid else 0
        if bits == 0:
            bits, _ = best_actions(worlds, i, programs, room)
            if bits == 0 and worlds.routine[i] < programs.size[worlds.program[i]]:
                return False
        action = 0
        while action < SAY_FALSE and not bits & (1 << action):
            action += 1
        ended = step_world(worlds, i, programs, action, time_limit)
        valid = action < 4 and ended == NONE
    return bool(worlds.outcome[i] == FINISHED)
