"""The planner against brute force: every reachable state of a small world, searched without any cleverness."""

import heapq

import numpy as np
import pytest
from world_kernels import begin, recount

from program_guided.language.parser import parse
from program_guided.language.table import compile_program
from program_guided.tasks.minecraft.domain import DOMAIN, OBJECTS
from program_guided.tasks.minecraft.world.planner import UNREACHABLE, label
from program_guided.tasks.minecraft.world.rules import Cell
from program_guided.tasks.minecraft.world.state import Workspace, Worlds, program_set

SIDE = 5
WOOD = OBJECTS.index("wood")
WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))
BUILD_ORDER = ((-1, 0), (0, 1), (1, 0), (0, -1))
ROUTINES = (
    [f"mine({thing})" for thing in ("gold", "wood")]
    + [f"goto({x}, {y})" for x in range(1, SIDE + 1) for y in range(1, SIDE + 1)]
    + [f"place({thing}, {x}, {y})" for thing in ("gold", "wood") for x, y in ((1, 1), (3, 2), (5, 5), (3, 3), (4, 1))]
    + ["build_bridge()"] * 4
    + ["sell(gold)", "sell(wood)"] * 4
)
PROGRAMS = program_set([compile_program(parse(text, DOMAIN), DOMAIN) for text in ROUTINES])


def random_cells(generator):
    """A 5 x 5 world with hardly anything in it but trouble; walls may cut it to pieces."""
    cells = np.full((SIDE, SIDE), Cell.FLAT, np.int8)
    free = [tuple(map(int, divmod(number, SIDE))) for number in generator.permutation(SIDE * SIDE)]
    if generator.random() < 0.8:
        line, across = generator.integers(1, SIDE - 1), generator.random() < 0.5
        for step in range(SIDE):
            cells[(line, step) if across else (step, line)] = Cell.RIVER
        if generator.random() < 0.3:
            step = generator.integers(SIDE)
            cells[(line, step) if across else (step, line)] = Cell.BRIDGE
    for kind, most in ((Cell.WALL, 3), (Cell.GOLD, 2), (Cell.WOOD, 3), (Cell.MERCHANT, 1)):
        for _ in range(generator.integers(0, most + 1)):
            place = next(place for place in free if cells[place] == Cell.FLAT)
            cells[place] = kind
    start = next(place for place in reversed(free) if cells[place] not in (Cell.WALL, Cell.RIVER))
    return cells, start


def ends(text, before, after, action):
    """The routine's ending, from the text of the rules."""
    (cells, position, carried), (_, position_after, carried_after) = before, after
    operation, words = text[:-1].split("(")
    words = [word.strip() for word in words.split(",")]
    if operation == "goto":
        return position_after == (int(words[1]) - 1, int(words[0]) - 1)
    if operation == "build_bridge":
        return action == "build" and carried_after != carried
    item = ("gold", "wood").index(words[0])
    if operation == "mine":
        return action == "mine" and carried_after[item] == carried[item] + 1
    here = cells[position[0] * SIDE + position[1]]
    if carried[item] == 0 or action != operation:
        return False
    if operation == "sell":
        return here == Cell.MERCHANT
    right = position == (int(words[2]) - 1, int(words[1]) - 1)
    return right and here not in (Cell.BRIDGE, Cell.MERCHANT)


def moves_from(state):
    """(action, is it an extra bridge, next state); place and sell change nothing but the ending."""
    cells, (row, column), carried = state
    for way, (down, right) in enumerate(WAYS):
        r, c = row + down, column + right
        if 0 <= r < SIDE and 0 <= c < SIDE and cells[r * SIDE + c] not in (Cell.WALL, Cell.RIVER):
            yield ("up", "down", "left", "right")[way], (cells, (r, c), carried)
    here = row * SIDE + column
    for item, kind in enumerate((Cell.GOLD, Cell.WOOD)):
        if cells[here] == kind:
            more = tuple(count + (index == item) for index, count in enumerate(carried))
            yield "mine", (cells[:here] + (int(Cell.FLAT),) + cells[here + 1 :], (row, column), more)
    for down, right in BUILD_ORDER:
        r, c = row + down, column + right
        if carried[1] and 0 <= r < SIDE and 0 <= c < SIDE and cells[r * SIDE + c] == Cell.RIVER:
            place = r * SIDE + c
            built = cells[:place] + (int(Cell.BRIDGE),) + cells[place + 1 :]
            yield "build", (built, (row, column), (carried[0], carried[1] - 1))
            break
    yield "place", state
    yield "sell", state


def brute_force(text, start, max_bridges=1):
    """Least (extra bridges, steps) that ends the routine, by searching all states in that order."""
    seen, queue, number = set(), [((0, 0), 0, start)], 0
    while queue:
        (bridges, steps), _, state = heapq.heappop(queue)
        if state in seen:
            continue
        seen.add(state)
        for action, after in moves_from(state):
            number += 1
            if ends(text, state, after, action):
                return bridges, steps + 1
            cost = (bridges + (action == "build"), steps + 1)
            if cost[0] <= max_bridges and after not in seen:
                heapq.heappush(queue, (cost, number, after))
    return 0, UNREACHABLE


def world_of(cells, start, carried, program):
    worlds = Worlds.empty(1, SIDE)
    worlds.cells[0], worlds.side[0], worlds.agent[0] = cells, SIDE, start
    worlds.inventory[0, OBJECTS.index("gold")], worlds.inventory[0, WOOD] = carried
    recount(worlds, 0)
    begin(worlds, 0, PROGRAMS, program)
    return worlds


NAMES = ("up", "down", "left", "right", "mine", "build", "place", "sell")


def labelled(worlds):
    """Names of the best actions, and the steps to the end."""
    bits, steps = np.zeros(1, np.uint16), np.zeros(1, np.int32)
    label(worlds, PROGRAMS, bits, steps, Workspace.empty(SIDE))
    return {name for number, name in enumerate(NAMES) if bits[0] >> number & 1}, int(steps[0])


def test_one_extra_bridge_is_better_than_two_in_as_many_steps():
    """Build here and then another bridge beside it, and mine a wood to place; or go around the wall and build one."""
    symbols = {".": Cell.FLAT, "#": Cell.WALL, "~": Cell.RIVER, "w": Cell.WOOD, "$": Cell.MERCHANT}
    rows = ("..#..", "w#.w.", "~~~~~", "..#..", "#.$.w")
    cells, start, carried = np.array([[symbols[each] for each in row] for row in rows]), (3, 1), (1, 2)
    best, steps = labelled(world_of(cells, start, carried, ROUTINES.index("place(wood, 3, 2)")))
    assert best == {"down"}
    state = tuple(int(cell) for cell in cells.ravel()), start, carried
    assert brute_force("place(wood, 3, 2)", state) == (1, steps)
    built = next(after for action, after in moves_from(state) if action == "build")
    assert brute_force("place(wood, 3, 2)", built) == (1, steps - 1), "two in all"


@pytest.mark.parametrize("chunk", range(4))
def test_path_lengths_and_actions_equal_brute_force_on_small_worlds(chunk):
    generator = np.random.default_rng(chunk)
    extra, hopeless = 0, 0
    for _ in range(300):
        cells, start = random_cells(generator)
        program = int(generator.integers(len(ROUTINES)))
        carried = tuple(int(count) for count in generator.choice([0, 0, 1, 2], 2))
        worlds = world_of(cells, start, carried, program)
        if worlds.routine[0] == 1:
            continue
        untouched, had = worlds.cells.copy(), worlds.inventory.copy()
        found, steps = labelled(worlds)
        assert (worlds.cells == untouched).all()
        assert (worlds.inventory == had).all()
        text, state = ROUTINES[program], (tuple(int(cell) for cell in cells.ravel()), start, carried)
        bridges, expected = brute_force(text, state)
        assert steps == expected, (text, cells, start, carried)
        hopeless += expected == UNREACHABLE
        extra += bridges
        if expected == UNREACHABLE:
            assert not found
            continue
        best = set()
        for action, after in moves_from(state):
            left = (0, 0) if ends(text, state, after, action) else brute_force(text, after)
            if (left[0] + (action == "build" and text != "build_bridge()"), left[1] + 1) == (bridges, expected):
                best.add(action)
        assert found == best, (text, cells, start)
    assert extra > 5
    assert hopeless > 5
