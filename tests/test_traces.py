"""Three executions of one program agree: the interpreter's over the tree, the pointer's over the table, the kernel's in
a world. And the world's own rules, one test each, in maps drawn by hand."""

import operator
from collections import Counter
from itertools import islice, pairwise
from random import Random

import numpy as np
import pytest
from domains import PAPER_PROGRAM
from world_kernels import begin, recount, step_world

from program_guided.language import (
    ACTION,
    BOOLEAN,
    Kind,
    Pointer,
    Shape,
    UniformVocabulary,
    advance,
    compile_program,
    interpret,
    parse,
    print_program,
    sample_program,
    start,
)
from program_guided.language.syntax import Ref
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, OBJECTS, TERRAIN, THINGS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.environment import MinecraftEnv
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, TIME_LIMIT, WALKABLE, Cell, Outcome
from program_guided.tasks.minecraft.world.state import Worlds, program_set

COMPARE = {
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}
WAYS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Row and column of a step."""

# Random programs -------------------------------------------------------------------------------------------------

SIDE = 12
PROGRAMS = 10_000
LONGEST_TRACE = 200
FOREVER = 10**9
SHAPES = (
    Shape(routines=(1, 5)),
    Shape(routines=(2, 12), depth=2, control=0.6, while_=0.4, loop=0.2),
    Shape(routines=(6, 24), depth=4, control=0.7, while_=0.3, loop=0.15, else_=0.6, elif_=0.6),
    Shape(routines=(10, 40), depth=7, control=0.85, while_=0.25, loop=0.1, else_=0.5, elif_=0.5),
)


def sampled(count):
    vocabulary = UniformVocabulary(DOMAIN)
    return [sample_program(vocabulary, SHAPES[seed % len(SHAPES)], Random(seed)) for seed in range(count)]


def is_condition(call):
    return DOMAIN.operation(call.operation).output == BOOLEAN


def is_asked(call):
    return DOMAIN.operation(call.operation).output != ACTION


def identity(call):
    """The table holds the tree's own calls, so that equal calls at different places are distinguished, but for those
    that take results."""
    return id(call) if len(call.words) == len(call.arguments) else (call.operation, call.words, call.line)


def goto_target(call):
    """Row and column, if it is a goto."""
    return (call.words[1] - 1, call.words[0] - 1) if call.operation == "goto" else None


class Stage:
    """Flat worlds in which every routine can be made to end at once."""

    def __init__(self, programs, seed):
        self.random = Random(seed)
        self.tables = [compile_program(program, DOMAIN) for program in programs]
        self.programs = program_set(self.tables)
        self.worlds = Worlds.empty(len(programs), SIDE, max(map(len, self.tables)))
        self.worlds.side[:] = SIDE
        self.numbers = [{} for _ in programs]
        self.worlds.cells[:] = Cell.FLAT
        self.targets = [[goto_target(call) for call in table.calls if goto_target(call)] for table in self.tables]
        for i in range(len(programs)):
            self.worlds.agent[i] = self.somewhere(i)
            begin(self.worlds, i, self.programs, i)

    def agent_of(self, i):
        row, column = self.worlds.agent[i].tolist()
        return row, column

    def somewhere(self, i):
        """A random cell; often one that the program goes to, so that its goto ends without a step."""
        if self.targets[i] and self.random.random() < 0.4:
            return self.random.choice(self.targets[i])
        return self.random.randrange(SIDE), self.random.randrange(SIDE)

    def beside(self, row, column):
        """A way to a cell, and the cell that it comes from."""
        inside = [
            (name, (row - down, column - right))
            for name, (down, right) in WAYS.items()
            if 0 <= row - down < SIDE and 0 <= column - right < SIDE
        ]
        return self.random.choice(inside)

    def arrange(self, i, call):
        """Make the world such that a routine ends at the next step: (action, answer or None)."""
        self.worlds.cells[i] = Cell.FLAT
        self.worlds.inventory[i] = 0
        numbers = self.numbers[i]
        given = (numbers[each.number] if isinstance(each, Ref) else each for each in call.arguments)
        action, answer = getattr(self, call.operation)(i, *given)
        if call.operation in ("count", "carried"):
            numbers[int(self.worlds.routine[i])] = answer
        return action, answer

    def put(self, i, agent, kind=Cell.FLAT):
        self.worlds.agent[i] = agent
        self.worlds.cells[i, agent[0], agent[1]] = kind

    def carry(self, i, thing):
        self.worlds.inventory[i, OBJECTS.index(thing)] = self.random.randint(1, 3)

    def mine(self, i, thing):
        self.put(i, self.somewhere(i), KINDS.index(thing))
        return "mine", None

    def goto(self, i, x, y):
        way, agent = self.beside(y - 1, x - 1)
        self.put(i, agent)
        return way, None

    def place(self, i, thing, x, y):
        self.put(i, (y - 1, x - 1), self.random.choice([Cell.FLAT, KINDS.index(self.random.choice(OBJECTS))]))
        self.carry(i, thing)
        return "place", None

    def build_bridge(self, i):
        agent = self.somewhere(i)
        _, river = self.beside(*agent)
        self.put(i, agent)
        self.worlds.cells[i, river[0], river[1]] = Cell.RIVER
        self.carry(i, "wood")
        return "build", None

    def sell(self, i, thing):
        self.put(i, self.somewhere(i), Cell.MERCHANT)
        self.carry(i, thing)
        return "sell", None

    def agent(self, i, thing, comparison, number):
        count = self.near(number) if thing in OBJECTS else 0
        if thing in OBJECTS:
            self.worlds.inventory[i, OBJECTS.index(thing)] = count
        return self.say(COMPARE[comparison](count, number))

    def env(self, i, thing, comparison, number):
        self.worlds.counts[i] = self.random.randint(0, 120)
        self.worlds.counts[i, KINDS.index(thing)] = count = self.near(number)
        return self.say(COMPARE[comparison](count, number))

    def is_there(self, i, thing):
        self.worlds.counts[i] = self.random.randint(0, 3)
        self.worlds.counts[i, KINDS.index(thing)] = count = self.random.choice([0, 0, 1, 7])
        return self.say(count > 0)

    def greater(self, i, first, second):
        return self.say(first > second)

    def less(self, i, first, second):
        return self.say(first < second)

    def equal(self, i, first, second):
        return self.say(first == second)

    def count(self, i, thing):
        self.worlds.counts[i] = self.random.randint(0, 120)
        self.worlds.counts[i, KINDS.index(thing)] = count = self.random.randint(0, 22)
        return str(min(count, 20)), min(count, 20)

    def carried(self, i, thing):
        self.worlds.inventory[i, OBJECTS.index(thing)] = count = self.random.randint(0, 22)
        return str(min(count, 20)), min(count, 20)

    def near(self, number):
        return max(0, number + self.random.choice([-1, 0, 1]))

    def say(self, truth):
        return ("true" if truth else "false"), truth


class Execution:
    """The pointer's moves in one world: `rows` are the routines executed; `steps` are those that took a step, each
    with the pointer behind it."""

    def __init__(self, table, agent):
        self.table, self.pointer = table, start(table)
        self.rows, self.steps, self.answers = [], [], []
        self.pass_gotos_at(agent)

    @property
    def running(self):
        return not self.pointer.finished(self.table) and len(self.rows) < LONGEST_TRACE

    @property
    def call(self):
        return self.table.calls[self.pointer.routine]

    def end(self, answer):
        """The pointed routine ends; the answer is None at a behaviour."""
        self.rows.append(self.pointer.routine)
        if answer is not None:
            self.answers.append(answer)
        self.pointer = advance(self.table, self.pointer, answer)

    def pass_gotos_at(self, agent):
        """A goto whose target is the agent's own cell ends without a step."""
        while not self.pointer.finished(self.table) and goto_target(self.call) == agent:
            self.end(None)


@pytest.fixture(scope="module")
def traces():
    """All programs run, the kernel and the pointer side by side: (programs, stage, executions, the kernel's steps)."""
    programs = sampled(PROGRAMS)
    stage = Stage(programs, seed=0)
    executions, kernel = [], []
    for i, table in enumerate(stage.tables):
        execution = Execution(table, stage.agent_of(i))
        executions.append(execution)
        kernel.append(run(stage, i, execution))
    return programs, stage, executions, kernel


def run(stage, i, execution):
    """Execute a program in world i; for each step the row that the kernel says has ended, and where it points."""
    steps, worlds = [], stage.worlds
    while execution.running:
        action, answer = stage.arrange(i, execution.call)
        row = execution.pointer.routine
        ended = step_world(worlds, i, stage.programs, ACTION_NAMES.index(action), FOREVER)
        execution.end(answer)
        execution.pass_gotos_at(stage.agent_of(i))
        execution.steps.append((row, execution.pointer))
        steps.append((ended, Pointer(int(worlds.routine[i]), int(worlds.previous[i]))))
    return steps


def test_the_kernel_and_the_pointer_execute_the_same_rows(traces):
    programs, _, executions, kernel = traces
    for program, execution, steps in zip(programs, executions, kernel, strict=True):
        assert steps == execution.steps, print_program(program, DOMAIN)


def test_the_interpreter_and_the_pointer_execute_the_same_calls(traces):
    programs, _, executions, _ = traces
    for program, execution in zip(programs, executions, strict=True):
        answers = iter(execution.answers)
        trace = interpret(program, lambda call, _, answers=answers: next(answers) if is_asked(call) else None)
        by_pointer = [execution.table.calls[row] for row in execution.rows]
        executed = list(islice(trace, len(by_pointer)))
        by_interpreter = [call for call, _, _ in executed]
        assert list(map(identity, by_interpreter)) == list(map(identity, by_pointer)), print_program(program, DOMAIN)
        latest = {}
        for row, call, (_, inputs, value) in zip(execution.rows, by_pointer, executed, strict=True):
            assert tuple(latest[number] for number in call.inputs) == inputs, print_program(program, DOMAIN)
            latest[row] = value
        if execution.pointer.finished(execution.table):
            assert next(trace, None) is None
            assert next(answers, None) is None


def test_a_world_is_finished_when_and_only_when_the_pointer_is(traces):
    _, stage, executions, _ = traces
    for execution, outcome, time in zip(executions, stage.worlds.outcome, stage.worlds.time, strict=True):
        stepped = len(execution.steps) > 0
        finished = execution.pointer.finished(execution.table) and stepped
        assert outcome == (Outcome.FINISHED if finished else Outcome.RUNNING)
        assert time == len(execution.steps)


def test_every_pointer_is_among_its_tables_successors_and_parents(traces):
    for execution in traces[2]:
        table, rows = execution.table, execution.rows
        assert rows[0] == table.entrance
        for before, after in pairwise(rows):
            assert after in table.successors[before]
            assert before in table.parents[after]
        if execution.pointer.finished(table):
            assert rows[-1] in table.exits


def test_the_random_traces_reach_every_corner(traces):
    programs, _, executions, _ = traces
    text = "".join(print_program(program, DOMAIN) for program in programs)
    assert min(text.count(word) for word in ("while ", "if ", "elif ", "else:", "loop(")) > 1_000
    assert max(len(line) - len(line.lstrip()) for line in text.splitlines()) >= 2 * 6
    lengths = [len(execution.rows) for execution in executions]
    passed = sum(len(execution.rows) - len(execution.steps) for execution in executions)
    assert sum(execution.pointer.finished(execution.table) for execution in executions) > 0.6 * PROGRAMS
    assert sum(length >= LONGEST_TRACE for length in lengths) > 100
    assert sum(not execution.steps for execution in executions) > 10
    assert passed > 1_000
    answers = Counter(answer for execution in executions for answer in execution.answers)
    assert min(answers[True], answers[False]) > 10_000
    executed = Counter(execution.table.calls[row].operation for execution in executions for row in execution.rows)
    assert min(executed[operation.name] for operation in DOMAIN.operations) > 3_000


def test_a_wrong_answer_at_any_condition_ends_the_episode(traces):
    stage, met = Stage(traces[0][:1_000], seed=1), Counter()
    for i, table in enumerate(stage.tables):
        conditions = [row for row, kind in enumerate(table.kind) if kind != Kind.STEP]
        for row in conditions[:3]:
            stage.worlds.routine[i], stage.worlds.outcome[i] = row, Outcome.RUNNING
            for number in table.calls[row].inputs:
                stage.worlds.counted[i, number] = stage.numbers[i][number] = stage.random.randint(0, 20)
            _, truth = stage.arrange(i, table.calls[row])
            action = ACTIONS.index("false" if truth else "true")
            assert step_world(stage.worlds, i, stage.programs, action, FOREVER) == row
            assert stage.worlds.outcome[i] == Outcome.WRONG_ANSWER
            met[table.calls[row].operation, truth] += 1
    assert len(met) == 12
    assert min(met.values()) > 20


def test_a_wrong_number_at_any_count_ends_the_episode(traces):
    stage, met = Stage(traces[0][:1_000], seed=2), Counter()
    for i, table in enumerate(stage.tables):
        for row, call in enumerate(table.calls):
            if call.operation in ("count", "carried"):
                stage.worlds.routine[i], stage.worlds.outcome[i] = row, Outcome.RUNNING
                _, count = stage.arrange(i, call)
                wrong = (count + stage.random.randint(1, 20)) % 21
                assert step_world(stage.worlds, i, stage.programs, ACTION_NAMES.index(str(wrong)), FOREVER) == row
                assert stage.worlds.outcome[i] == Outcome.WRONG_ANSWER
                met[call.operation] += 1
    assert min(met["count"], met["carried"]) > 50


# The rules, one by one -------------------------------------------------------------------------------------------

SYMBOLS = dict(zip(".#~=$gwistcr", THINGS, strict=True))
MEADOW = """
    .....
    .....
    .....
    .....
    .....
"""


class Play:
    """One world drawn by hand, with an agent at (x, y) from 1."""

    def __init__(self, drawing, program, agent=(1, 1), time_limit=TIME_LIMIT, **carrying):
        rows = drawing.split()
        side = len(rows)
        self.worlds, self.time_limit = Worlds.empty(1, 8, 64), time_limit
        self.worlds.side[0] = side
        self.worlds.cells[0, :side, :side] = [[KINDS.index(SYMBOLS[symbol]) for symbol in row] for row in rows]
        self.worlds.agent[0] = agent[1] - 1, agent[0] - 1
        for thing, count in carrying.items():
            self.worlds.inventory[0, OBJECTS.index(thing)] = count
        recount(self.worlds, 0)
        self.programs = program_set([compile_program(parse(program, DOMAIN), DOMAIN)])
        begin(self.worlds, 0, self.programs, 0)

    def do(self, *actions):
        """Take actions; returns the routine that ended in the last one, or -1."""
        ended = -1
        for action in actions:
            ended = step_world(self.worlds, 0, self.programs, ACTION_NAMES.index(action), self.time_limit)
        return ended

    def cell(self, x, y):
        return KINDS[self.worlds.cells[0, y - 1, x - 1]]

    def drawing(self):
        by_kind = {thing: symbol for symbol, thing in SYMBOLS.items()}
        side = self.worlds.side[0]
        return ["".join(by_kind[KINDS[cell]] for cell in row[:side]) for row in self.worlds.cells[0, :side]]

    def count(self, thing):
        return int(self.worlds.counts[0, KINDS.index(thing)])

    @property
    def agent(self):
        row, column = self.worlds.agent[0].tolist()
        return column + 1, row + 1

    @property
    def carried(self):
        return {thing: count for thing, count in zip(OBJECTS, self.worlds.inventory[0].tolist(), strict=True) if count}

    @property
    def outcome(self):
        return Outcome(int(self.worlds.outcome[0]))

    @property
    def routine(self):
        return int(self.worlds.routine[0])

    @property
    def time(self):
        return int(self.worlds.time[0])


def test_x_is_the_column_from_the_left_and_y_the_row_from_the_top():
    play = Play(MEADOW, "goto(4, 2)", agent=(4, 1))
    assert play.do("down") == 0
    assert (play.worlds.agent[0, 0], play.worlds.agent[0, 1]) == (1, 3)
    assert play.outcome == Outcome.FINISHED


@pytest.mark.parametrize(("action", "there"), [("up", (3, 2)), ("down", (3, 4)), ("left", (2, 3)), ("right", (4, 3))])
def test_a_step_goes_one_cell(action, there):
    play = Play(MEADOW, "mine(gold)", agent=(3, 3))
    play.do(action)
    assert play.agent == there


@pytest.mark.parametrize("action", ["up", "down", "left", "right"])
@pytest.mark.parametrize("symbol", ["#", "~"], ids=["wall", "river"])
def test_walls_and_rivers_block_but_time_passes(action, symbol):
    drawing = MEADOW.replace(".", symbol)
    middle = drawing.split()
    middle[2] = symbol * 2 + "." + symbol * 2
    play = Play("\n".join(middle), "mine(gold)", agent=(3, 3))
    play.do(action)
    assert (play.agent, play.time, play.outcome) == ((3, 3), 1, Outcome.RUNNING)


@pytest.mark.parametrize(("action", "corner"), [("up", (1, 1)), ("left", (1, 1)), ("down", (5, 5)), ("right", (5, 5))])
def test_the_border_of_the_map_blocks_though_the_array_goes_on(action, corner):
    play = Play(MEADOW, "mine(gold)", agent=corner)
    play.do(action)
    assert (play.agent, play.time) == (corner, 1)


@pytest.mark.parametrize("symbol", ["=", "$", "g", "w", "i", "s", "t", "c", "r", "."])
def test_bridges_merchants_and_objects_can_be_walked_on(symbol):
    play = Play(MEADOW.replace(".....", "." + symbol + "...", 1), "mine(gold)")
    play.do("right")
    assert play.agent == (2, 1)


@pytest.mark.parametrize(("action", "corner"), [("up", (1, 1)), ("left", (1, 1)), ("down", (8, 8)), ("right", (8, 8))])
def test_the_border_of_the_largest_map_blocks(action, corner):
    play = Play("\n".join(["........"] * 8), "mine(gold)", agent=corner)
    play.do(action)
    assert (play.agent, play.time) == (corner, 1)


def test_build_does_not_reach_across_the_border():
    rows = [".......~"] * 7 + ["~" * 8]
    play = Play("\n".join(rows), "build_bridge()", wood=1)
    assert play.do("build") == -1
    assert (play.count("bridge"), play.carried) == (0, {"wood": 1})


def test_mine_takes_the_object_under_the_agent_and_leaves_flat_ground():
    play = Play(MEADOW.replace("....", "g...", 1), "mine(gold)", gold=2)
    assert (play.count("gold"), play.count("flat")) == (1, 24)
    assert play.do("mine") == 0
    assert (play.cell(1, 1), play.carried) == ("flat", {"gold": 3})
    assert (play.count("gold"), play.count("flat")) == (0, 25)
    assert play.outcome == Outcome.FINISHED


@pytest.mark.parametrize("symbol", [".", "=", "$"])
def test_mine_finds_nothing_where_no_object_lies(symbol):
    play = Play(MEADOW.replace(".....", symbol + "....", 1), "mine(gold)")
    before = play.drawing()
    assert play.do("mine") == -1
    assert (play.drawing(), play.carried, play.time) == (before, {}, 1)


def test_mine_ends_only_with_its_own_object_but_others_may_be_mined_on_the_way():
    play = Play(MEADOW.replace(".....", "wg...", 1), "mine(gold)")
    assert play.do("mine") == -1
    assert (play.carried, play.outcome, play.routine) == ({"wood": 1}, Outcome.RUNNING, 0)
    assert play.do("right", "mine") == 0
    assert (play.carried, play.outcome) == ({"wood": 1, "gold": 1}, Outcome.FINISHED)


@pytest.mark.parametrize("thing", OBJECTS)
def test_every_object_can_be_mined_placed_and_sold(thing):
    symbol = next(symbol for symbol, kind in SYMBOLS.items() if kind == thing)
    drawing = MEADOW.replace(".....", symbol + ".$..", 1)
    play = Play(drawing, f"mine({thing})\nplace({thing}, 2, 1)\nmine({thing})\nsell({thing})")
    assert [play.do("mine"), play.do("right"), play.do("place")] == [0, -1, 1]
    assert (play.cell(2, 1), play.count(thing), play.carried) == (thing, 1, {})
    assert [play.do("mine"), play.do("right"), play.do("sell")] == [2, -1, 3]
    assert (play.carried, play.outcome, play.count(thing)) == ({}, Outcome.FINISHED, 0)


def test_an_object_may_be_mined_during_any_behaviour():
    for program in ("goto(5, 5)", "build_bridge()", "place(iron, 5, 5)", "sell(iron)"):
        play = Play(MEADOW.replace("....", "g...", 1), program)
        assert play.do("mine") == -1
        assert (play.carried, play.outcome) == ({"gold": 1}, Outcome.RUNNING)


ISLAND = """
    .....
    ..~..
    .~.~.
    ..~..
    .....
"""


def test_build_turns_the_first_river_cell_of_up_right_down_left_into_a_bridge():
    play = Play(ISLAND, "mine(gold)", agent=(3, 3), wood=4)
    for x, y in ((3, 2), (4, 3), (3, 4), (2, 3)):
        assert play.cell(x, y) == "river"
        play.do("build")
        assert play.cell(x, y) == "bridge"
    assert (play.count("river"), play.count("bridge"), play.carried) == (0, 4, {})


def test_build_costs_one_wood_and_ends_build_bridge():
    play = Play(ISLAND, "build_bridge()", agent=(3, 3), wood=3, iron=1)
    assert play.do("build") == 0
    assert (play.carried, play.outcome) == ({"wood": 2, "iron": 1}, Outcome.FINISHED)


def test_build_without_wood_builds_nothing():
    play = Play(ISLAND, "build_bridge()", agent=(3, 3), gold=3)
    assert play.do("build") == -1
    assert (play.count("bridge"), play.carried, play.outcome) == (0, {"gold": 3}, Outcome.RUNNING)


def test_build_away_from_a_river_builds_nothing():
    play = Play(ISLAND, "build_bridge()", agent=(2, 2), wood=1)
    assert play.cell(2, 3) == "river"
    assert play.do("up", "build") == -1
    assert (play.agent, play.count("bridge"), play.carried) == ((2, 1), 0, {"wood": 1})


def test_a_river_beside_a_corner_is_not_beside_the_agent():
    play = Play(".....\n.~...\n.....\n.....\n.....", "build_bridge()", wood=1)
    assert play.do("build") == -1
    assert play.do("right", "build") == 0


def test_a_bridge_built_on_the_way_does_not_end_another_routine():
    play = Play(ISLAND, "goto(3, 2)", agent=(3, 3), wood=1)
    assert play.do("build") == -1
    assert play.do("up") == 0
    assert (play.agent, play.outcome, play.carried) == ((3, 2), Outcome.FINISHED, {})


def test_place_puts_the_routines_object_on_the_agents_cell():
    play = Play(MEADOW, "place(iron, 2, 1)", iron=2, gold=1)
    assert play.do("right", "place") == 0
    assert (play.cell(2, 1), play.carried) == ("iron", {"gold": 1, "iron": 1})
    assert (play.count("iron"), play.count("flat"), play.outcome) == (1, 24, Outcome.FINISHED)


def test_place_replaces_an_object_that_lies_there():
    play = Play(MEADOW.replace("....", "g...", 1), "place(iron, 1, 1)", iron=1)
    play.do("place")
    assert (play.cell(1, 1), play.count("gold"), play.count("iron")) == ("iron", 0, 1)
    assert (play.carried, play.outcome) == ({}, Outcome.FINISHED)


def test_place_in_another_cell_fails():
    play = Play(MEADOW, "place(iron, 2, 1)\nmine(gold)", iron=1)
    assert play.do("place") == 0
    assert (play.outcome, play.carried, play.cell(1, 1)) == (Outcome.WRONG_PLACE, {"iron": 1}, "flat")


def test_place_with_x_and_y_exchanged_fails():
    play = Play(MEADOW, "place(iron, 2, 1)", agent=(1, 2), iron=1)
    play.do("place")
    assert play.outcome == Outcome.WRONG_PLACE


@pytest.mark.parametrize("symbol", ["=", "$"], ids=["bridge", "merchant"])
def test_nothing_can_be_placed_on_a_bridge_or_a_merchant(symbol):
    play = Play(MEADOW.replace(".....", symbol + "....", 1), "place(iron, 1, 1)", iron=1)
    before = play.drawing()
    assert play.do("place") == 0
    assert (play.outcome, play.drawing(), play.carried) == (Outcome.WRONG_PLACE, before, {"iron": 1})


def test_place_without_the_object_fails():
    play = Play(MEADOW, "place(iron, 1, 1)\nmine(gold)", gold=3)
    assert play.do("place") == 0
    assert (play.outcome, play.cell(1, 1), play.carried) == (Outcome.MISSING_OBJECT, "flat", {"gold": 3})


def test_sell_gives_one_object_to_the_merchant():
    play = Play(MEADOW.replace("....", "$...", 1), "sell(gold)", gold=2, iron=1)
    assert play.do("sell") == 0
    assert (play.carried, play.outcome) == ({"gold": 1, "iron": 1}, Outcome.FINISHED)
    assert (play.cell(1, 1), play.count("merchant")) == ("merchant", 1)


def test_sell_beside_the_merchant_fails():
    play = Play(MEADOW.replace(".....", ".$...", 1), "sell(gold)\nmine(gold)", gold=2)
    assert play.do("sell") == 0
    assert (play.outcome, play.carried) == (Outcome.WRONG_PLACE, {"gold": 2})


def test_sell_without_the_object_fails():
    play = Play(MEADOW.replace("....", "$...", 1), "sell(gold)\nmine(gold)", iron=2)
    assert play.do("sell") == 0
    assert (play.outcome, play.carried) == (Outcome.MISSING_OBJECT, {"iron": 2})


def test_in_the_wrong_place_and_without_the_object_the_place_is_reported():
    play = Play(MEADOW, "sell(gold)")
    play.do("sell")
    assert play.outcome == Outcome.WRONG_PLACE


@pytest.mark.parametrize(
    ("program", "actions"),
    [
        ("mine(gold)", ("place", "sell", "true", "false")),
        ("goto(5, 5)", ("place", "sell", "true", "false")),
        ("build_bridge()", ("place", "sell", "true", "false")),
        ("place(iron, 1, 1)", ("sell", "true", "false")),
        ("sell(iron)", ("place", "true", "false")),
        ("if is_there[gold]: mine(gold)", ("up", "down", "left", "right", "mine", "build", "place", "sell")),
    ],
)
def test_an_action_without_meaning_at_the_routine_only_lets_time_pass(program, actions):
    for action in actions:
        play = Play("g~...\n.....\n.....\n.....\n.....", program, iron=1, wood=1)
        before = (play.drawing(), play.agent, play.carried, play.routine, play.outcome)
        assert play.do(action) == -1
        assert (play.drawing(), play.agent, play.carried, play.routine, play.outcome) == before
        assert play.time == 1


def test_goto_ends_when_the_agent_stands_there():
    play = Play(MEADOW, "goto(2, 2)\nmine(gold)")
    assert (play.do("right"), play.routine) == (-1, 0)
    assert (play.do("down"), play.routine) == (0, 1)


def test_passing_a_later_gotos_cell_does_not_end_it():
    play = Play(MEADOW, "goto(3, 1)\ngoto(2, 1)")
    play.do("right", "right")
    assert (play.routine, play.outcome) == (1, Outcome.RUNNING)
    assert play.do("left") == 1
    assert play.outcome == Outcome.FINISHED


def test_a_goto_to_the_agents_own_cell_ends_without_a_step():
    play = Play(MEADOW, "goto(1, 1)\ngoto(1, 1)\nmine(gold)")
    assert (play.routine, play.time, int(play.worlds.previous[0])) == (2, 0, 1)


def test_a_goto_that_follows_a_routine_which_ended_in_its_cell_ends_with_it():
    play = Play(MEADOW, "goto(2, 1)\ngoto(2, 1)\nif is_there[gold]: mine(gold)\ngoto(2, 1)")
    assert play.do("right") == 0
    assert play.routine == 2
    assert play.do("false") == 2
    assert (play.outcome, play.time, int(play.worlds.previous[0])) == (Outcome.FINISHED, 2, 4)


def test_a_program_of_nothing_but_reached_gotos_is_finished_by_any_first_step():
    play = Play(MEADOW, "goto(1, 1)")
    assert (play.routine, play.outcome) == (1, Outcome.RUNNING)
    assert play.do("up") == -1
    assert play.outcome == Outcome.FINISHED


def test_a_failed_place_does_not_pass_the_goto_behind_it():
    play = Play(MEADOW, "place(iron, 1, 1)\ngoto(1, 1)")
    play.do("place")
    assert (play.outcome, play.routine) == (Outcome.MISSING_OBJECT, 1)


@pytest.mark.parametrize("truth", [True, False])
def test_a_condition_ends_in_one_step_and_sends_the_pointer_down_its_branch(truth):
    program = "if is_there[gold]: mine(gold)\nelse: mine(wood)"
    play = Play(MEADOW.replace(".....", "....g", 1) if truth else MEADOW, program)
    assert play.do("true" if truth else "false") == 0
    assert (play.routine, play.time, play.outcome) == (1 if truth else 2, 1, Outcome.RUNNING)


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("header", ["if is_there[gold]", "while is_there[gold]", "while env[gold] > 0"])
def test_a_wrong_answer_fails_at_once(truth, header):
    play = Play(MEADOW.replace(".....", "....g", 1) if truth else MEADOW, f"{header}: mine(gold)\nmine(wood)")
    assert play.do("false" if truth else "true") == 0
    assert (play.outcome, play.time) == (Outcome.WRONG_ANSWER, 1)


def test_a_wrong_answer_that_leaves_the_program_does_not_finish_it():
    play = Play(MEADOW.replace(".....", "....g", 1), "while is_there[gold]: mine(gold)")
    play.do("false")
    assert play.outcome == Outcome.WRONG_ANSWER


def test_a_wrong_answer_fails_even_where_both_branches_lead_to_the_same_routine():
    play = Play(MEADOW, "if is_there[gold]:\n  goto(1, 1)\nmine(wood)")
    play.do("true")
    assert play.outcome == Outcome.WRONG_ANSWER


def test_agent_counts_what_is_carried_and_env_what_lies_on_the_map():
    drawing = MEADOW.replace(".....", "gg$=#", 1)
    for condition in ("agent[gold] == 3", "env[gold] == 2", "agent[wood] == 0", "env[merchant] = 1", "env[wall] == 1"):
        play = Play(drawing, f"if {condition}: mine(wood)", gold=3)
        play.do("true")
        assert play.outcome == Outcome.RUNNING, condition


@pytest.mark.parametrize("thing", TERRAIN)
def test_nobody_carries_terrain(thing):
    play = Play("=~#$.\n.....\n.....\n.....\n.....", f"if agent[{thing}] == 0: mine(wood)", gold=3, wood=3, silver=3)
    play.do("true")
    assert play.outcome == Outcome.RUNNING


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("operation", ["agent", "env"])
def test_comparisons_compare(comparison, count, operation):
    drawing = MEADOW.replace("...", "gggggg"[:count].ljust(3, "."), 1)
    play = Play(drawing, f"if {operation}[gold] {comparison} 2: mine(wood)", gold=count)
    play.do("true" if COMPARE[comparison](count, 2) else "false")
    assert play.outcome in (Outcome.RUNNING, Outcome.FINISHED)
    assert play.routine == (1 if COMPARE[comparison](count, 2) else 2)


def test_counts_look_at_cells_inside_the_map_only():
    play = Play(MEADOW, "if env[flat] == 25: mine(gold)")
    assert play.worlds.cells.shape[1] > 5
    play.do("true")
    assert play.outcome == Outcome.RUNNING
    play = Play(MEADOW, "if is_there[wall]: mine(gold)")
    play.do("true")
    assert play.outcome == Outcome.WRONG_ANSWER


def test_the_cell_under_the_agent_counts_as_what_lies_there():
    play = Play(MEADOW.replace(".....", "g....", 1), "if is_there[gold]: mine(gold)")
    play.do("true")
    assert play.outcome == Outcome.RUNNING


COUNTED = """
    gg...
    w....
    .....
    .....
    .....
"""


def test_count_counts_the_map_and_carried_what_is_carried():
    play = Play(COUNTED, "a = count(gold)\nb = carried(gold)\nmine(wood)", gold=3)
    assert play.do("2") == 0
    assert play.do("3") == 1
    assert play.outcome == Outcome.RUNNING


@pytest.mark.parametrize("wrong", ["1", "3", "0", "20"])
def test_a_wrong_number_fails_at_once(wrong):
    play = Play(COUNTED, "a = count(gold)\nmine(wood)")
    assert play.do(wrong) == 0
    assert play.outcome == Outcome.WRONG_ANSWER


@pytest.mark.parametrize("action", ["true", "false", "up", "mine", "sell"])
def test_only_a_number_answers_a_count(action):
    play = Play(COUNTED, "a = count(gold)\nmine(wood)")
    assert play.do(action) == -1
    assert play.outcome == Outcome.RUNNING
    assert play.do("2") == 0


def test_a_number_answers_no_condition():
    play = Play(COUNTED, "if is_there[gold]: mine(gold)")
    assert play.do("2", "0") == -1
    assert play.do("true") == 0


def test_more_than_twenty_is_twenty():
    play = Play(COUNTED, "a = carried(gold)\nif greater(a, 19): mine(wood)", gold=57)
    assert play.do("20") == 0
    assert play.do("true") == 1
    assert play.outcome == Outcome.RUNNING


@pytest.mark.parametrize(("name", "holds"), [("greater", operator.gt), ("less", operator.lt), ("equal", operator.eq)])
@pytest.mark.parametrize("gold", [1, 2, 3])
@pytest.mark.parametrize("second", ["b", "2"])
def test_numbers_are_compared_in_their_order(name, holds, gold, second):
    text = f"a = carried(gold)\nb = carried(wood)\nif {name}(a, {second}): mine(wood)\nmine(iron)"
    play = Play(COUNTED, text, gold=gold, wood=2)
    play.do(str(gold), "2")
    truth = holds(gold, 2)
    assert play.do("true" if truth else "false") == 2
    assert play.outcome == Outcome.RUNNING
    assert play.worlds.routine[0] == (3 if truth else 4)


def test_a_number_is_compared_as_it_was_counted():
    play = Play(COUNTED, "n = count(gold)\nmine(gold)\nif equal(n, 2): mine(wood)")
    play.do("2", "mine")
    assert play.count("gold") == 1
    assert play.do("true") == 2
    assert play.outcome == Outcome.RUNNING


def test_a_number_of_a_while_is_counted_anew_each_time():
    play = Play(COUNTED, "n = count(gold)\nwhile less(carried(gold), n): mine(gold)")
    play.do("2", "0", "true", "mine", "1", "true", "right", "mine", "2", "false")
    assert play.outcome == Outcome.FINISHED


def test_a_while_is_asked_again_after_each_turn():
    play = Play(MEADOW.replace(".....", "gg...", 1), "while env[gold] > 0: mine(gold)\nmine(wood)")
    assert [play.do(action) for action in ("true", "mine", "true", "right", "mine", "false")] == [0, 1, 0, -1, 1, 0]
    assert (play.routine, play.carried, play.outcome) == (2, {"gold": 2}, Outcome.RUNNING)


def test_time_is_up_after_the_limit_and_the_episode_is_truncated():
    play = Play(MEADOW, "mine(gold)")
    play.do(*["up"] * (TIME_LIMIT - 1))
    assert (play.outcome, play.time) == (Outcome.RUNNING, 299)
    play.do("up")
    assert (play.outcome, play.time) == (Outcome.TIMEOUT, 300)


def test_a_program_finished_in_the_last_step_is_finished():
    play = Play(MEADOW.replace(".....", "g....", 1), "mine(gold)", time_limit=3)
    play.do("up", "up", "mine")
    assert play.outcome == Outcome.FINISHED


def test_a_program_that_fails_in_the_last_step_has_failed():
    play = Play(MEADOW, "sell(gold)", time_limit=1)
    play.do("sell")
    assert play.outcome == Outcome.WRONG_PLACE


def test_a_routine_that_ends_in_the_last_step_does_not_save_a_program_that_goes_on():
    play = Play(MEADOW.replace(".....", "g....", 1), "mine(gold)\nmine(wood)", time_limit=1)
    assert play.do("mine") == 0
    assert play.outcome == Outcome.TIMEOUT


def test_the_papers_program_can_be_finished_by_hand():
    drawing = """
        w~...
        .~.i.
        .~.g.
        .~...
        .~...
    """
    play = Play(drawing, PAPER_PROGRAM)
    ended = [play.do(action) for action in ("true", "mine", "build", "true")]
    assert ended == [0, 1, 2, 3]
    there, back = ("right", "right", "right", "down", "mine"), ("up", "left", "left", "left", "place")
    assert (play.do(*there), play.do(*back), play.do("true")) == (4, 5, 7)
    assert play.do("right", "right", "right", "down", "down", "mine") == 8
    assert play.outcome == Outcome.RUNNING
    assert play.do("false") == 7
    assert play.outcome == Outcome.FINISHED
    assert play.drawing() == ["i=...", ".~...", ".~...", ".~...", ".~..."]


def test_counts_are_kept_up_to_date_whatever_is_done():
    random, programs = Random(0), ["place(gold, {0}, {1})", "mine(silver)", "build_bridge()", "sell(gold)"]
    for number in range(200):
        rows = ["".join(random.choice(".....~=$gwi#") for _ in range(6)) for _ in range(6)]
        agent = (random.randint(1, 6), random.randint(1, 6))
        rows[agent[1] - 1] = rows[agent[1] - 1][: agent[0] - 1] + "." + rows[agent[1] - 1][agent[0] :]
        play = Play("\n".join(rows), programs[number % 4].format(*agent), agent=agent, wood=5, gold=3)
        play.do(*(random.choice(ACTIONS) for _ in range(60)))
        kept = play.worlds.counts.copy()
        recount(play.worlds, 0)
        assert (play.worlds.counts == kept).all()
        assert (play.worlds.inventory >= 0).all()


# The worlds that are sampled -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batch():
    texts = ("mine(gold)", "if is_there[river]: build_bridge()\nelse: goto(4, 2)", "while env[wood] > 1: mine(wood)")
    texts += ("if is_there[bridge]: sell(iron)\nelse: place(iron, 3, 3)",)
    batch = Batch([Entry(parse(text, DOMAIN), seed) for seed, text in enumerate(texts)], 400, variants=100)
    for i in range(400):
        batch.place(i, i // 100, i % 100)
    return batch


def maps_of(batch):
    for cells, side in zip(batch.worlds.cells, batch.worlds.side, strict=True):
        yield cells[:side, :side]


def test_maps_are_five_to_eight_wide_and_padded_to_eight(batch):
    assert set(batch.worlds.side.tolist()) == {5, 6, 7, 8}
    assert batch.worlds.cells.shape == (400, 8, 8)
    for cells, side in zip(batch.worlds.cells, batch.worlds.side, strict=True):
        inside = np.zeros((8, 8), bool)
        inside[:side, :side] = True
        assert ((cells == Cell.OUTSIDE) == ~inside).all()


def test_a_river_is_one_full_row_or_column_with_at_most_one_bridge(batch):
    seen = Counter()
    for cells in maps_of(batch):
        water = np.isin(cells, (Cell.RIVER, Cell.BRIDGE))
        full_rows, full_columns = water.all(axis=1).sum(), water.all(axis=0).sum()
        assert water.sum() in (0, len(cells))
        assert full_rows + full_columns == (1 if water.any() else 0)
        bridges = int((cells == Cell.BRIDGE).sum())
        assert bridges <= 1
        seen["row" if full_rows else "column" if full_columns else "none", bridges] += 1
    assert set(seen) == {("none", 0), ("row", 0), ("row", 1), ("column", 0), ("column", 1)}


def test_there_are_two_to_four_merchants(batch):
    assert {int((cells == Cell.MERCHANT).sum()) for cells in maps_of(batch)} == {2, 3, 4}


def test_the_inventory_starts_random_and_often_not_empty(batch):
    carried = batch.worlds.inventory
    assert (carried.sum(axis=1) > 0).mean() > 0.5
    assert all(len(set(column.tolist())) > 2 for column in carried.T)
    assert (carried >= 0).all()


def test_the_agent_starts_anywhere_it_can_stand(batch):
    starts = [tuple(agent) for agent in batch.worlds.agent.tolist()]
    assert all(WALKABLE[cells[start]] for cells, start in zip(batch.worlds.cells, starts, strict=True))
    assert len(set(starts)) > 50


def test_every_program_can_be_finished_from_its_start_within_the_limit(batch):
    for i in range(batch.count):
        batch.place(i, i // 100, i % 100)
    assert (batch.outcome == Outcome.RUNNING).all()
    for _ in range(TIME_LIMIT):
        best, _ = batch.best_actions()
        batch.step(best.argmax(axis=1))
    assert (batch.outcome == Outcome.FINISHED).all()


def test_finished_and_failed_are_terminated_and_only_time_truncates(batch):
    for outcome in Outcome:
        batch.outcome[:] = outcome
        assert batch.terminated.all() == (outcome not in (Outcome.RUNNING, Outcome.TIMEOUT))
        assert batch.truncated.all() == (outcome == Outcome.TIMEOUT)
        assert batch.terminated.any() == batch.terminated.all()


@pytest.mark.parametrize(
    ("program", "actions", "end"),
    [
        ("mine(gold)", ("right", "mine"), (1.0, True, False)),
        ("sell(gold)", ("right", "sell"), (0.0, True, False)),
        ("if is_there[gold]: mine(gold)", ("up", "false"), (0.0, True, False)),
        ("mine(wood)", ("up", "up"), (0.0, False, False)),
        ("mine(wood)", ("up",) * TIME_LIMIT, (0.0, False, True)),
    ],
    ids=["finished", "failed", "wrong answer", "running", "time"],
)
def test_the_reward_is_one_when_the_program_is_finished_and_else_nothing(program, actions, end):
    environment = MinecraftEnv(program="mine(gold)")
    environment.reset(seed=0, options={"program": program, "map": MEADOW.replace(".....", "@g...", 1)})
    for number, action in enumerate(actions):
        _, reward, terminated, truncated, _ = environment.step(np.int64(ACTIONS.index(action)))
        if number + 1 < len(actions):
            assert (reward, terminated, truncated) == (0.0, False, False)
    assert (reward, terminated, truncated) == end
