"""The world's step, compiled: `step_world` for one world of a batch.

The pointer's tables are read inside the kernel (`on_true`, `on_false`), so a program's control flow costs no Python
call. Counts of every kind are kept up to date, so a condition is one comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.domain import NUMBERS
from program_guided.tasks.minecraft.world.compiled import compiled, inlined, inner
from program_guided.tasks.minecraft.world.rules import (
    BUILD_ORDER,
    FIRST_NUMBER,
    FIRST_OBJECT,
    MOVES,
    WALKABLE,
    Action,
    Cell,
    Operation,
    Outcome,
)
from program_guided.tasks.minecraft.world.state import ProgramSet, Worlds

__all__ = ["begin", "compare_counts", "compares", "conditions_hold", "right_answer", "step_world"]

# Numba reads module constants at compile time; it does not support enumerations everywhere.
FLAT, RIVER, BRIDGE, MERCHANT = int(Cell.FLAT), int(Cell.RIVER), int(Cell.BRIDGE), int(Cell.MERCHANT)
RUNNING, FINISHED, TIMEOUT = int(Outcome.RUNNING), int(Outcome.FINISHED), int(Outcome.TIMEOUT)
WRONG_ANSWER, WRONG_PLACE = int(Outcome.WRONG_ANSWER), int(Outcome.WRONG_PLACE)
MISSING_OBJECT = int(Outcome.MISSING_OBJECT)
MINE, GOTO, PLACE, SELL = int(Operation.MINE), int(Operation.GOTO), int(Operation.PLACE), int(Operation.SELL)
BUILD_BRIDGE, AGENT, CARRIED = int(Operation.BUILD_BRIDGE), int(Operation.AGENT), int(Operation.CARRIED)
FIRST_COMPARISON, FIRST_COUNT = int(Operation.GREATER), int(Operation.COUNT)
LARGEST_NUMBER = NUMBERS[-1]
DO_MINE, DO_BUILD, DO_PLACE = int(Action.MINE), int(Action.BUILD), int(Action.PLACE)
DO_SELL, ANSWER_TRUE, ANSWER_FALSE = int(Action.SELL), int(Action.TRUE), int(Action.FALSE)
WOOD = int(Cell.WOOD) - FIRST_OBJECT
NONE = -1


@inlined
def compares(count: int, comparison: int, number: int) -> bool:
    """Compare by the number of a comparator in the domain."""
    if comparison == 0:
        return bool(count > number)
    if comparison == 1:
        return bool(count >= number)
    if comparison == 2:
        return bool(count == number)
    if comparison == 3:
        return bool(count < number)
    return bool(count <= number)


@compiled
def compare_counts(comparisons: NDArray[np.int16], numbers: NDArray[np.int16], result: NDArray[np.float32]) -> None:
    """(conditions, counts) 1 where a count satisfies a comparison with a number, else 0."""
    for k in range(len(numbers)):
        for count in range(result.shape[1]):
            result[k, count] = compares(count, comparisons[k], numbers[k])


@inlined
def _count(worlds: Worlds, i: int, operation: int, kind: int) -> int:
    """Number of a kind that is carried (`agent`, `carried`) or on the map (the others)."""
    if operation in (AGENT, CARRIED):
        return int(worlds.inventory[i, kind - FIRST_OBJECT]) if kind >= FIRST_OBJECT else 0
    return int(worlds.counts[i, kind])


@inlined
def right_answer(worlds: Worlds, i: int, programs: ProgramSet, row: int) -> int:
    """The action that answers a row of the programs in world i: true, false or a number. `is_there[t]` is
    `env[t] > 0`."""
    operation, comparison, number = programs.operation[row], programs.arguments[row, 1], programs.arguments[row, 2]
    if FIRST_COMPARISON <= operation < FIRST_COUNT:
        count = int(worlds.counted[i, programs.inputs[row, 0]])
        if programs.inputs[row, 1] >= 0:
            number = worlds.counted[i, programs.inputs[row, 1]]
    else:
        count = _count(worlds, i, operation, programs.arguments[row, 0])
        if operation >= FIRST_COUNT:
            return int(FIRST_NUMBER + min(count, LARGEST_NUMBER))
    return ANSWER_TRUE if compares(count, comparison, number) else ANSWER_FALSE


@compiled
def conditions_hold(
    worlds: Worlds, numbers: NDArray[np.int64], programs: ProgramSet, rows: NDArray[np.int64], result: NDArray[np.bool_]
) -> None:
    """Evaluate conditions: True for each pair of a world and a row of the programs whose condition holds."""
    for k in range(len(numbers)):
        result[k] = right_answer(worlds, numbers[k], programs, rows[k]) == ANSWER_TRUE


@inner
def _set_cell(worlds: Worlds, i: int, row: int, column: int, kind: int) -> None:
    worlds.counts[i, worlds.cells[i, row, column]] -= 1
    worlds.counts[i, kind] += 1
    worlds.cells[i, row, column] = kind


@inlined
def _skip_reached(worlds: Worlds, i: int, programs: ProgramSet) -> None:
    """End every `goto` to the agent's own cell without a step. Terminates: every cycle of a program has a condition."""
    first, size = programs.first[worlds.program[i]], programs.size[worlds.program[i]]
    while worlds.routine[i] < size:
        row = first + worlds.routine[i]
        if (
            programs.operation[row] != GOTO
            or programs.arguments[row, 0] != worlds.agent[i, 0]
            or programs.arguments[row, 1] != worlds.agent[i, 1]
        ):
            return
        worlds.previous[i] = worlds.routine[i]
        worlds.routine[i] = programs.on_true[row]


@inlined
def begin(worlds: Worlds, i: int, programs: ProgramSet, program: int) -> None:
    """Start a program in a world whose map, agent and inventory are set."""
    worlds.program[i] = program
    worlds.routine[i] = 0
    worlds.previous[i] = NONE
    worlds.time[i] = 0
    worlds.outcome[i] = RUNNING
    _skip_reached(worlds, i, programs)


@inlined
def _act(worlds: Worlds, i: int, operation: int, arguments: NDArray[np.int16], action: int) -> bool:
    """Execute an action at a behaviour; True if the routine ended. May set a failed outcome."""
    row, column = int(worlds.agent[i, 0]), int(worlds.agent[i, 1])
    if action < 4:
        to_row, to_column = row + MOVES[action, 0], column + MOVES[action, 1]
        side = worlds.side[i]
        if 0 <= to_row < side and 0 <= to_column < side and WALKABLE[worlds.cells[i, to_row, to_column]]:
            worlds.agent[i, 0] = to_row
            worlds.agent[i, 1] = to_column
            return bool(operation == GOTO and arguments[0] == to_row and arguments[1] == to_column)
        return False
    if action == DO_MINE:
        kind = worlds.cells[i, row, column]
        if kind < FIRST_OBJECT:
            return False
        _set_cell(worlds, i, row, column, FLAT)
        worlds.inventory[i, kind - FIRST_OBJECT] += 1
        return bool(operation == MINE and arguments[0] == kind - FIRST_OBJECT)
    if action == DO_BUILD:
        return _build(worlds, i, row, column) and operation == BUILD_BRIDGE
    if action == DO_PLACE and operation == PLACE:
        kind = worlds.cells[i, row, column]
        right_place = arguments[1] == row and arguments[2] == column and (kind == FLAT or kind >= FIRST_OBJECT)
        if _take_from_inventory(worlds, i, arguments[0], right_place):
            _set_cell(worlds, i, row, column, FIRST_OBJECT + arguments[0])
        return True
    if action == DO_SELL and operation == SELL:
        _take_from_inventory(worlds, i, arguments[0], worlds.cells[i, row, column] == MERCHANT)
        return True
    return False


@inner
def _build(worlds: Worlds, i: int, row: int, column: int) -> bool:
    if worlds.inventory[i, WOOD] == 0:
        return False
    side = worlds.side[i]
    for way in range(4):
        r, c = row + BUILD_ORDER[way, 0], column + BUILD_ORDER[way, 1]
        if 0 <= r < side and 0 <= c < side and worlds.cells[i, r, c] == RIVER:
            _set_cell(worlds, i, r, c, BRIDGE)
            worlds.inventory[i, WOOD] -= 1
            return True
    return False


@inner
def _take_from_inventory(worlds: Worlds, i: int, item: int, right_place: bool) -> bool:
    """Remove one object from the inventory; in the wrong place or without the object the program fails."""
    if not right_place:
        worlds.outcome[i] = WRONG_PLACE
        return False
    if worlds.inventory[i, item] == 0:
        worlds.outcome[i] = MISSING_OBJECT
        return False
    worlds.inventory[i, item] -= 1
    return True


@inlined
def step_world(worlds: Worlds, i: int, programs: ProgramSet, action: int, time_limit: int) -> int:
    """One time step of world i; the routine that ended in it, or -1."""
    first, size = programs.first[worlds.program[i]], programs.size[worlds.program[i]]
    worlds.time[i] += 1
    routine = worlds.routine[i]
    if routine == size:  # a program that was over before the first step
        worlds.outcome[i] = FINISHED
        return NONE
    row = first + routine
    operation = programs.operation[row]
    target, ended = programs.on_true[row], False
    if operation >= AGENT:
        if action >= ANSWER_TRUE and (action >= FIRST_NUMBER) == (operation >= FIRST_COUNT):
            ended = True
            if action != right_answer(worlds, i, programs, row):
                worlds.outcome[i] = WRONG_ANSWER
            if action >= FIRST_NUMBER:
                worlds.counted[i, routine] = action - FIRST_NUMBER
            elif action == ANSWER_FALSE:
                target = programs.on_false[row]
    else:
        ended = _act(worlds, i, operation, programs.arguments[row], action)
    if ended:
        worlds.previous[i] = routine
        worlds.routine[i] = target
        if worlds.outcome[i] == RUNNING:
            if target < size:
                _skip_reached(worlds, i, programs)
            if worlds.routine[i] == size:
                worlds.outcome[i] = FINISHED
    if worlds.outcome[i] == RUNNING and worlds.time[i] >= time_limit:
        worlds.outcome[i] = TIMEOUT
    return routine if ended else NONE
