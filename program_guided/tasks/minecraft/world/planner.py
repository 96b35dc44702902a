"""The oracle: for any state of any world, all first actions of the shortest plans to end the pointed routine.

A plan may need more than walking: an object to be placed or sold is mined first if the agent does not carry it, and a
cell behind a river is reached over a bridge that is built first, with wood that is mined first if there is none. Extra
bridges are built only if there is no plan without (they cost wood that the program may need): plans are compared by
bridges, then by steps. Worlds whose river is one line and whose banks are connected never need two extra bridges; a
state that would is `UNREACHABLE`.

The search runs backwards. A *field* holds, for every cell, the steps from there to the end of the routine. Fields of
later stages are sources of earlier ones: "bridge built" of "wood carried", "wood carried" of "no wood". So one field
covers all cells, and descending in it is A* with a perfect heuristic.

Use of `Workspace.fields`: 0 to 4 belong to the stages below, 5 holds the plan, 6 the plan after a tried action.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.world.compiled import compiled, inner
from program_guided.tasks.minecraft.world.kernels import (
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
    SELL,
    WOOD,
    right_answer,
    step_world,
)
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, BUILD_ORDER, FIRST_OBJECT, MOVES, WALKABLE
from program_guided.tasks.minecraft.world.state import ProgramSet, Workspace, Worlds

__all__ = ["UNREACHABLE", "best_actions", "finish", "label"]

LAST_ACTION = len(ACTION_NAMES) - 1
UNREACHABLE = 30_000
"""Steps of a plan that does not exist."""

Field = NDArray[np.int32]


@inner
def _spread(cells: NDArray[np.int8], bridge: int, field: Field, workspace: Workspace) -> None:
    """Turn sources into distances: the value of a cell is the minimum of source + steps to it. `bridge`: a river cell
    taken as bridged, or -1. Sources may differ in value: they join the front in the order of their values."""
    width = cells.shape[0]
    waiting, front = workspace.waiting, workspace.front
    sources = 0
    for cell in range(width * width):
        if field[cell] < UNREACHABLE:
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


@inner
def _river_beside(cells: NDArray[np.int8], row: int, column: int) -> int:
    """The river cell that `build` would bridge from here, or -1."""
    width = cells.shape[0]
    for way in range(4):
        r, c = row + BUILD_ORDER[way, 0], column + BUILD_ORDER[way, 1]
        if 0 <= r < width and 0 <= c < width and cells[r, c] == RIVER:
            return int(r * width + c)
    return NONE


@inner
def _is_goal(cells: NDArray[np.int8], row: int, column: int, operation: int, arguments: NDArray[np.int16]) -> bool:
    """True if the routine's last action (for `goto`, the last step) can be taken on this cell."""
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


@inner
def _to_goal(
    cells: NDArray[np.int8],
    bridge: int,
    operation: int,
    arguments: NDArray[np.int16],
    field: Field,
    workspace: Workspace,
) -> None:
    """Field of the last stage: nothing is missing."""
    width = cells.shape[0]
    last = 0 if operation == GOTO else 1
    for cell in range(width * width):
        row, column = cell // width, cell % width
        reachable = WALKABLE[cells[row, column]] or cell == bridge
        goal = reachable and _is_goal(cells, row, column, operation, arguments)
        field[cell] = last if goal else UNREACHABLE
    _spread(cells, bridge, field, workspace)


@inner
def _add_mining(cells: NDArray[np.int8], item: int, after: Field, field: Field) -> None:
    """Add sources: mine one `item`, then continue as in `after`."""
    width = cells.shape[0]
    for cell in range(width * width):
        if cells[cell // width, cell % width] == FIRST_OBJECT + item:
            field[cell] = min(field[cell], after[cell] + 1)


@inner
def _without_bridge(
    cells: NDArray[np.int8],
    bridge: int,
    operation: int,
    arguments: NDArray[np.int16],
    item: int,
    field: Field,
    workspace: Workspace,
) -> None:
    """Field of a plan that builds no extra bridge; `item`: the object to be mined first, or -1."""
    _to_goal(cells, bridge, operation, arguments, field, workspace)
    if item != NONE:
        after = workspace.fields[0]
        for cell in range(field.size):
            after[cell], field[cell] = field[cell], UNREACHABLE
        _add_mining(cells, item, after, field)
        _spread(cells, bridge, field, workspace)


@inner
def _add_building(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, workspace: Workspace
) -> None:
    """Add sources: build a bridge from a cell beside the river, then cross it; `item` is mined after that."""
    width = cells.shape[0]
    after = workspace.fields[1]
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
                    _without_bridge(cells, river, operation, arguments, item, after, workspace)
                    computed = True
                cell = row * width + column
                field[cell] = min(field[cell], after[cell] + 1)


@inner
def _over_bridge(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, workspace: Workspace
) -> None:
    """Field with wood carried and a bridge to be built; `item`: an object to be mined before or after, or -1."""
    complete = workspace.fields[2]
    for missing in (NONE, item):
        target = field if missing == item else complete
        target[:] = UNREACHABLE
        _add_building(cells, operation, arguments, missing, target, workspace)
        if missing != NONE:
            _add_mining(cells, item, complete, target)
        _spread(cells, int(NONE), target, workspace)
        if item == NONE:
            return


@inner
def _fetch_wood(
    cells: NDArray[np.int8], operation: int, arguments: NDArray[np.int16], item: int, field: Field, workspace: Workspace
) -> None:
    """The same without wood. If wood is also the missing object, two are needed; the first is no longer on the map when
    the second is mined, so each is tried as the first."""
    width = cells.shape[0]
    after, complete = workspace.fields[3], workspace.fields[4]
    for missing in (NONE, item):
        target = field if missing == item else complete
        target[:] = UNREACHABLE
        computed = False
        for cell in range(field.size):
            row, column = cell // width, cell % width
            if cells[row, column] == FIRST_OBJECT + WOOD:
                if missing == WOOD or not computed:
                    cells[row, column] = FLAT
                    _over_bridge(cells, operation, arguments, missing, after, workspace)
                    cells[row, column] = FIRST_OBJECT + WOOD
                    computed = True
                target[cell] = after[cell] + 1
        if missing != NONE and item != WOOD:
            _add_mining(cells, item, complete, target)
        _spread(cells, int(NONE), target, workspace)
        if item == NONE:
            return


@inner
def _plan(
    cells: NDArray[np.int8],
    inventory: NDArray[np.int16],
    here: int,
    operation: int,
    arguments: NDArray[np.int16],
    field: Field,
    workspace: Workspace,
) -> tuple[int, int]:
    """Fill the field of the best plan from this state; its numbers of extra bridges and of steps."""
    item = NONE
    if operation == BUILD_BRIDGE:
        item = WOOD
    elif operation in (PLACE, SELL):
        item = int(arguments[0])
    missing = NONE if item == NONE or inventory[item] > 0 else item
    _without_bridge(cells, int(NONE), operation, arguments, missing, field, workspace)
    if field[here] < UNREACHABLE or operation == BUILD_BRIDGE:
        return 0, min(UNREACHABLE, field[here])
    if item == WOOD and inventory[WOOD] == 1:
        missing = WOOD  # the bridge uses the only one
    if inventory[WOOD] > 0:
        _over_bridge(cells, operation, arguments, missing, field, workspace)
    else:
        _fetch_wood(cells, operation, arguments, missing, field, workspace)
    return 1, min(UNREACHABLE, field[here])


@inner
def _downhill(cells: NDArray[np.int8], here: int, field: Field) -> int:
    """Bits of the moves that decrease the field by one."""
    width = cells.shape[0]
    row, column = here // width, here % width
    bits = 0
    for way in range(4):
        r, c = row + MOVES[way, 0], column + MOVES[way, 1]
        inside = 0 <= r < width and 0 <= c < width
        if inside and WALKABLE[cells[r, c]] and field[r * width + c] == field[here] - 1:
            bits |= 1 << way
    return bits


@inner
def _best(
    cells: NDArray[np.int8],
    inventory: NDArray[np.int16],
    here: int,
    operation: int,
    arguments: NDArray[np.int16],
    workspace: Workspace,
) -> tuple[int, int]:
    """Bits of all best actions at a behaviour routine, and the steps to its end; (0, UNREACHABLE) if there is no plan.

    The plan from here is computed first; then mining and building are tried and undone: they are best actions if the
    remaining plan is one step shorter.
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
        field = workspace.fields[5 if action == NONE else 6]
        needed, remaining = _plan(cells, inventory, here, operation, arguments, field, workspace)
        cells[cell // width, cell % width] = before
        inventory[item] -= gain
        if action == NONE:
            bridges, steps = needed, remaining
            if steps >= UNREACHABLE:
                return 0, UNREACHABLE
            bits = _downhill(cells, here, field)
        elif needed == bridges - int(action == DO_BUILD) and remaining == steps - 1:
            bits |= 1 << action
    if steps == 1 and operation == PLACE:
        bits |= 1 << DO_PLACE
    if steps == 1 and operation == SELL:
        bits |= 1 << DO_SELL
    return bits, steps


@inner
def best_actions(worlds: Worlds, i: int, programs: ProgramSet, workspace: Workspace) -> tuple[int, int]:
    """Bits of all best actions in world i, and the steps to the end of the routine; (0, UNREACHABLE) if none leads
    there, (0, 0) if the program is over."""
    program = worlds.program[i]
    if worlds.outcome[i] != RUNNING or worlds.routine[i] == programs.size[program]:
        return 0, 0
    row = programs.first[program] + worlds.routine[i]
    operation, arguments = programs.operation[row], programs.arguments[row]
    if operation >= AGENT:
        return 1 << right_answer(worlds, i, programs, row), 1
    here = worlds.agent[i, 0] * worlds.cells.shape[1] + worlds.agent[i, 1]
    return _best(worlds.cells[i], worlds.inventory[i], here, operation, arguments, workspace)


@compiled
def label(
    worlds: Worlds, programs: ProgramSet, bits: NDArray[np.uint32], steps: NDArray[np.int32], workspace: Workspace
) -> None:
    """`best_actions` of every world."""
    for i in range(len(bits)):
        bits[i], steps[i] = best_actions(worlds, i, programs, workspace)


@inner
def finish(worlds: Worlds, i: int, programs: ProgramSet, time_limit: int, workspace: Workspace) -> bool:
    """Execute the program of world i to its end; False if the planner gets stuck or runs out of time. While the
    agent only walks, one field serves all its steps."""
    valid = False
    while worlds.outcome[i] == RUNNING:
        here = worlds.agent[i, 0] * worlds.cells.shape[1] + worlds.agent[i, 1]
        bits = _downhill(worlds.cells[i], here, workspace.fields[5]) if valid else 0
        if bits == 0:
            bits, _ = best_actions(worlds, i, programs, workspace)
            if bits == 0 and worlds.routine[i] < programs.size[worlds.program[i]]:
                return False
        action = 0
        while action < LAST_ACTION and not bits & (1 << action):
            action += 1
        ended = step_world(worlds, i, programs, action, time_limit)
        valid = action < 4 and ended == NONE
    return bool(worlds.outcome[i] == FINISHED)
