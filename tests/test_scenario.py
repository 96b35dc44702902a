"""Worlds that a person asks for: `reset(options={...})` of one environment and of many."""

import gymnasium
import numpy as np
import pytest

import program_guided
from program_guided.errors import DataError, ProgramError, WorldError
from program_guided.language.parser import parse
from program_guided.language.syntax import Call, If, Loop, Program, While
from program_guided.tasks.minecraft.agents import PlannerAgent
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, OBJECTS, THINGS
from program_guided.tasks.minecraft.scenario import SYMBOLS, read_scenario
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import WALKABLE, Action, Outcome

NAME = "ProgramGuided/Minecraft-v0"
FIELD = """
    .#~=$
    gwis.
    tcr@.
    .....
    ....g
"""
FLAT = "@....\n" + ".....\n" * 4
WALLED = "#....\n" * 5


def one(**settings):
    return gymnasium.make(NAME, **{"split": "test", **settings}).unwrapped


def many(count=2, **settings):
    return gymnasium.make_vec(NAME, num_envs=count, **{"split": "test", **settings})


MAKERS = [pytest.param(one, id="one"), pytest.param(many, id="many")]


def asked(maker, seed=0, **options):
    """The world's observation and the program's text after a reset with these options; of many worlds, the last's."""
    environment = maker()
    observation, info = environment.reset(seed=seed, options=options)
    if maker is many:
        assert all((value[0] == value[-1]).all() for value in observation.values()), "all worlds are set up equally"
        observation = {key: value[-1] for key, value in observation.items()}
        return environment, observation, environment.batch.entries[int(info["program"][-1])].text
    return environment, observation, info["program"]


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def act(environment, name):
    """One step; of many worlds, all do the same, and the last one's results are returned."""
    if isinstance(environment, gymnasium.vector.VectorEnv):
        _, *results, infos = environment.step(np.full(environment.num_envs, ACTIONS.index(name)))
        return [array[-1] for array in results], infos["outcome"][-1]
    _, *results, info = environment.step(ACTIONS.index(name))
    return results, info["outcome"]


# --- programs


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "program",
    [
        "if is_there[river]:\n  build_bridge()",
        "def run():\n  if is_there[River]: build_bridge()",
        "If IsThere(river):\n    BuildBridge()",
        parse("if is_there[river]: build_bridge()", DOMAIN),
    ],
)
def test_a_program_is_given_in_any_spelling_or_already_read(maker, program):
    _, observation, text = asked(maker, program=program)
    assert text == "def run():\n  if is_there[river]:\n    build_bridge()\n"
    assert observation["flow"][:3].tolist() == [[1, 1, 2], [0, 2, 2], [-1, 0, 0]]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_given_programs_world_depends_on_the_seed(maker):
    maps = [asked(maker, seed=seed, program="mine(gold)")[1]["map"].tobytes() for seed in (1, 1, 2, 3)]
    assert maps[0] == maps[1]
    assert len(set(maps)) == 3


@pytest.mark.parametrize("maker", MAKERS)
def test_a_given_program_can_be_finished(maker):
    environment, *_ = asked(maker, program="mine(gold)\nsell(gold)\nif agent[gold] > 0: sell(gold)")
    for _ in range(300):
        best = PlannerAgent().act(environment.batch)
        _, outcome = act(environment, ACTIONS[int(best[-1])])
        if outcome != Outcome.RUNNING:
            break
    assert outcome == Outcome.FINISHED


def test_after_a_given_program_one_environment_goes_back_to_its_split():
    environment, *_ = asked(one, program="mine(gold)\nmine(gold)\nmine(gold)")
    texts = {entry.text for entry in load_split("test")}
    assert environment.reset()[1]["program"] in texts


# --- entries of a split


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("split", "index"), [("test", 0), ("test", 499), ("longer", 13), ("standard", 7), ("train", 3999)]
)
def test_an_entry_of_a_split_is_the_same_for_everyone(maker, split, index):
    entry = load_split(split)[index]
    expected = Batch([entry], 1)
    expected.place(0, 0)
    for seed in (1, 2):
        _, observation, text = asked(maker, seed=seed, split=split, index=index)
        assert text == entry.text
        assert (observation["map"] == expected.worlds.cells[0]).all()
        assert (observation["agent"] == expected.worlds.agent[0]).all()
        assert (observation["inventory"] == expected.worlds.inventory[0]).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_without_a_split_an_index_means_the_environments_own(maker):
    assert asked(maker, index=5)[2] == load_split("test")[5].text


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("program", [{"index": 5}, {"program": "mine(gold)"}])
def test_a_variant_is_another_world_of_the_same_program(maker, program):
    worlds = [asked(maker, **program, variant=variant) for variant in (0, 1, 2, 63)]
    assert len({text for *_, text in worlds}) == 1
    assert len({observation["map"].tobytes() for _, observation, _ in worlds}) == 4
    assert same(worlds[0][1], asked(maker, **program)[1])
    assert same(worlds[2][1], asked(maker, **program, variant=2)[1])


def test_a_split_without_an_index_draws_from_it():
    environment = one()
    drawn = {environment.reset(seed=seed, options={"split": "complex"})[1]["program"] for seed in range(10)}
    assert len(drawn) > 5
    assert drawn < {entry.text for entry in load_split("complex")}
    _, infos = many(32).reset(seed=0, options={"split": "complex"})
    assert len(set(infos["program"].tolist())) > 20


def test_each_of_many_worlds_can_be_given_its_own_index():
    environments = many(4)
    observations, infos = environments.reset(seed=0, options={"split": "longer", "index": [3, 1, 4, 1]})
    assert infos["program"].tolist() == [3, 1, 4, 1]
    for world, index in enumerate([3, 1, 4, 1]):
        expected = one().reset(options={"split": "longer", "index": index})[0]
        assert same({key: value[world] for key, value in observations.items()}, expected)


def test_a_mask_and_an_index_touch_only_the_masked_worlds():
    environments = many(3)
    before, _ = environments.reset(seed=0)
    after, infos = environments.reset(options={"reset_mask": np.array([False, True, False]), "index": 77})
    assert infos["program"][1] == 77
    assert (after["map"][[0, 2]] == before["map"][[0, 2]]).all()
    assert (after["words"][[0, 2]] == before["words"][[0, 2]]).all()
    assert (after["words"][1] != before["words"][1]).any()


def test_another_name_of_the_same_split_is_the_same_split():
    environments = many(2, split="test")
    environments.reset(seed=0)
    _, infos = environments.reset(options={"reset_mask": np.array([True, False]), "split": "standard", "index": 3})
    assert infos["program"][0] == 3


# --- maps


@pytest.mark.parametrize("maker", MAKERS)
def test_a_map_is_given_as_text_as_rows_of_symbols_or_as_rows_of_names(maker):
    rows = FIELD.split()
    names = [[{symbol: thing for thing, symbol in SYMBOLS.items()}.get(cell, "flat") for cell in row] for row in rows]
    _, observation, _ = asked(maker, program="goto(1, 4)", map=FIELD)
    _, from_rows, _ = asked(maker, program="goto(1, 4)", map=rows)
    _, from_names, _ = asked(maker, program="goto(1, 4)", map=names, agent=(4, 3))
    assert same(observation, from_rows)
    assert same(observation, from_names)
    assert observation["agent"].tolist() == [2, 3]
    assert observation["map"][0, :5].tolist() == [
        KINDS.index(kind) for kind in ("flat", "wall", "river", "bridge", "merchant")
    ]
    assert observation["map"][2, 3] == KINDS.index("flat"), "the agent stands on flat ground"
    assert {KINDS[cell] for cell in observation["map"][:5, :5].ravel()} == set(THINGS)
    assert not observation["map"][5:].any()
    assert not observation["map"][:, 5:].any()


def test_every_thing_has_a_symbol_of_its_own():
    assert set(SYMBOLS) == set(THINGS)
    assert len(set(SYMBOLS.values()) | {"@"}) == len(THINGS) + 1


@pytest.mark.parametrize("maker", MAKERS)
def test_conditions_count_what_is_on_a_given_map(maker):
    program = "if env[gold] == 2:\n  if env[flat] == 13:\n    if agent[gold] == 0: goto(1, 4)"
    environment, *_ = asked(maker, program=program, map=FIELD)
    for _ in range(3):
        _, outcome = act(environment, "true")
    assert outcome == Outcome.RUNNING
    assert (environment.batch.worlds.routine == 3).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_a_smaller_map_after_a_larger_one_leaves_nothing_behind(maker):
    environment, *_ = asked(maker, program="mine(gold)", map="@" + "g" * 7 + ("\n" + "g" * 8) * 7)
    environment.reset(options={"program": "mine(gold)", "map": FIELD})
    cells = environment.batch.worlds.cells[0]
    assert (cells[:5, :5] > 0).all()
    assert cells.astype(bool).sum() == 25
    assert environment.batch.worlds.counts[0].sum() == 25


@pytest.mark.parametrize("maker", [one, many])
def test_large_maps_are_for_environments_with_large_sides(maker):
    large = "@" + "." * 11 + ("\n" + "." * 12) * 11
    environment = maker(sides=(5, 12))
    observation, _ = environment.reset(seed=0, options={"program": "goto(12, 12)", "map": large})
    assert observation["map"].shape[-2:] == (12, 12)
    assert (observation["map"] == KINDS.index("flat")).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_a_map_without_a_program_keeps_the_drawn_program(maker):
    _, observation, text = asked(maker, index=9, map=FLAT)
    assert text == load_split("test")[9].text
    assert (observation["map"][:5, :5] == KINDS.index("flat")).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_a_program_that_only_the_given_map_lets_finish_is_executed_in_it(maker):
    """No drawn world has so much gold; the person who gives the map knows better."""
    environment, *_ = asked(maker, program="while agent[gold] < 9: mine(gold)", map="@gggg\nggggg\nggggg\n.....\n.....")
    for _ in range(100):
        _, outcome = act(environment, ACTIONS[int(PlannerAgent().act(environment.batch)[-1])])
        if outcome != Outcome.RUNNING:
            break
    assert outcome == Outcome.FINISHED


# --- agent and inventory


@pytest.mark.parametrize("maker", MAKERS)
def test_the_agent_stands_where_asked_counted_from_one(maker):
    assert asked(maker, program="mine(gold)", map=FIELD)[1]["agent"].tolist() == [2, 3]
    assert asked(maker, program="mine(gold)", map=FIELD, agent=(5, 1))[1]["agent"].tolist() == [0, 4]
    assert asked(maker, program="mine(gold)", map=FIELD, agent=[1, 5])[1]["agent"].tolist() == [4, 0]


@pytest.mark.parametrize("maker", MAKERS)
def test_without_being_placed_the_agent_stands_on_a_free_cell(maker):
    assert asked(maker, program="goto(5, 5)", map="#~...\n" + "....." + "\n....." * 3)[1]["agent"].tolist() == [0, 2]


@pytest.mark.parametrize("maker", MAKERS)
def test_the_agent_can_be_moved_in_a_drawn_world(maker):
    _, drawn, _ = asked(maker, index=3)
    free = np.argwhere(np.isin(drawn["map"], [KINDS.index(kind) for kind in ("flat", "gold", "merchant")]))
    row, column = next(place for place in free.tolist() if place != drawn["agent"].tolist())
    _, moved, _ = asked(maker, index=3, agent=(column + 1, row + 1))
    assert moved["agent"].tolist() == [row, column]
    assert (moved["map"] == drawn["map"]).all()
    assert (moved["inventory"] == drawn["inventory"]).all()


@pytest.mark.parametrize("maker", MAKERS)
def test_the_inventory_holds_what_is_named_and_nothing_else(maker):
    _, drawn, _ = asked(maker, index=0)
    assert drawn["inventory"].any()
    _, given, _ = asked(maker, index=0, inventory={"wood": 2, "circle": 99})
    assert {thing: int(count) for thing, count in zip(OBJECTS, given["inventory"], strict=True) if count} == {
        "wood": 2,
        "circle": 99,
    }
    assert (given["map"] == drawn["map"]).all()
    assert not asked(maker, index=0, inventory={})[1]["inventory"].any()
    assert not asked(maker, index=0, map=FLAT)[1]["inventory"].any()


@pytest.mark.parametrize("maker", MAKERS)
def test_an_option_that_is_none_is_left_out(maker):
    nothing = dict.fromkeys(("program", "split", "variant", "map", "agent", "inventory"))
    assert same(asked(maker, index=4, **nothing)[1], asked(maker, index=4)[1])


# --- gotos that are there, programs that are over


@pytest.mark.parametrize("maker", MAKERS)
def test_a_goto_ends_without_a_step_where_the_agent_already_stands(maker):
    environment, observation, _ = asked(maker, program="goto(4, 3)\ngoto(4, 3)\ngoto(4, 4)", map=FIELD)
    assert observation["pointer"].tolist() == [2, 1]
    assert act(environment, "down") == ([1.0, True, False], Outcome.FINISHED)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_goto_that_is_reached_on_the_way_ends_without_a_step_too(maker):
    environment, *_ = asked(maker, program="goto(4, 4)\ngoto(4, 4)\nif is_there[gold]:\n  goto(4, 4)", map=FIELD)
    assert act(environment, "down") == ([0.0, False, False], Outcome.RUNNING)
    assert (environment.batch.worlds.routine == 2).all()
    assert act(environment, "true") == ([1.0, True, False], Outcome.FINISHED)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("action", ["up", "mine", "false"])
def test_a_program_that_is_over_before_it_begins_ends_at_the_first_step_with_its_reward(maker, action):
    environment, observation, _ = asked(maker, program="goto(4, 3)", map=FIELD)
    assert observation["pointer"].tolist() == [1, 0]
    assert (environment.batch.outcome == Outcome.RUNNING).all()
    assert act(environment, action) == ([1.0, True, False], Outcome.FINISHED)
    assert (environment.batch.worlds.agent == (2, 3)).all()


def test_a_world_that_is_asked_for_twice_is_the_same_after_playing_in_it():
    environment = one()
    options = {"program": "mine(gold)", "map": FIELD, "inventory": {"gold": 1}}
    first, _ = environment.reset(seed=0, options=options)
    for action in (Action.DOWN, Action.DOWN, Action.RIGHT, Action.MINE):
        environment.step(action)
    assert environment.batch.worlds.inventory[0, 0] == 2
    assert same(first, environment.reset(seed=0, options=options)[0])
    assert options == {"program": "mine(gold)", "map": FIELD, "inventory": {"gold": 1}}, "the options are the caller's"


# --- what is refused


def row(options, place, name):
    return pytest.param(options, place, id=name)


WRONG = [
    row({"colour": "red"}, "colour", "unknown option"),
    row({"maps": FLAT}, "did you mean 'map'", "misspelled option"),
    row({3: 1}, "3", "option that is a number"),
    row({"split": "tests"}, "tests", "unknown split"),
    row({"split": 5}, "5", "split that is a number"),
    row({"split": ["test"]}, "test", "split that is a list"),
    row({"index": -1}, "index -1", "index below"),
    row({"index": 500}, "index 500", "index above"),
    row({"split": "train", "index": 4000}, "index 4000", "index above another split"),
    row({"index": "a"}, "index", "index that is a word"),
    row({"index": 1.5}, "index", "index that is a fraction"),
    row({"index": {}}, "index", "index that is a mapping"),
    row({"program": "mine(gold)", "index": 7}, "index", "index of a single program"),
    row({"index": 0, "variant": -1}, "variant -1", "variant below"),
    row({"index": 0, "variant": 64}, "variant 64", "variant above"),
    row({"program": "mine(gold)", "variant": 64}, "variant 64", "variant of a program above"),
    row({"index": 0, "variant": "a"}, "variant", "variant that is a word"),
    row({"index": 0, "variant": 1.5}, "variant", "variant that is a fraction"),
    row({"index": 0, "variant": [1]}, "variant", "variant that is a list"),
    row({"variant": 3}, "variant", "variant of nothing"),
    row({"program": ""}, "empty", "no program"),
    row({"program": "fly()"}, "fly", "unknown operation"),
    row({"program": "mine(glod)"}, "glod", "unknown object"),
    row({"program": "goto(13, 1)"}, "13", "coordinate that no map has"),
    row({"program": 5}, "5", "program that is a number"),
    row({"program": Program(())}, "program", "read program without routines"),
    row({"program": Program((Call("fly"),))}, "fly", "read program of an unknown operation"),
    row({"program": Program((If(((Call("agent"), (Call("mine", ("gold",)),)),)),))}, "agent", "read program, no words"),
    row({"program": "goto(9, 9)"}, "goto(9, 9)", "coordinate that the environments maps do not have"),
    row({"program": "while agent[gold] < 99: mine(gold)"}, "agent[gold] < 99", "impossible program"),
    row({"map": 5}, "map", "map that is a number"),
    row({"map": np.array(5)}, "map", "map that is a lonely array"),
    row({"map": ""}, "map", "empty map"),
    row({"map": []}, "map", "map without rows"),
    row({"map": "....."}, "map", "map of one row"),
    row({"map": "...\n" * 3}, "map's side is at least 5", "map too small"),
    row({"map": ".....\n" * 6}, "map is square", "map not square"),
    row({"map": FLAT[:-2]}, "map is square", "map with a short row"),
    row({"map": "." * 9 + ("\n" + "." * 9) * 8}, "sides=(5, 9)", "map too large"),
    row({"map": "." * 13 + ("\n" + "." * 13) * 12}, "12", "map larger than any environments"),
    row({"map": FLAT.replace("@", "?")}, "row 1, column 1", "unknown symbol"),
    row({"map": [["flat"] * 5] * 4 + [["flat"] * 4 + ["lava"]]}, "row 5, column 5", "unknown name"),
    row({"map": [["flat"] * 5] * 4 + [["flat"] * 4 + ["outside"]]}, "row 5, column 5", "padding as a cell"),
    row({"map": [[1] * 5] * 5}, "row 1, column 1", "cells that are numbers"),
    row({"map": [[["flat"]] * 5] * 5}, "row 1, column 1", "cells that are lists"),
    row({"map": [1, 2, 3, 4, 5]}, "map", "rows that are numbers"),
    row({"map": b"....."}, "map", "map of bytes"),
    row({"map": FLAT[:-2] + "@"}, "row 5, column 5", "two agents"),
    row({"map": "#####\n" * 5}, "agent", "map without a free cell"),
    row({"agent": 3}, "agent", "agent that is a number"),
    row({"agent": np.array(3)}, "agent", "agent that is a lonely array"),
    row({"agent": (1,)}, "agent", "agent with one coordinate"),
    row({"agent": (1, 2, 3)}, "agent", "agent with three coordinates"),
    row({"agent": ("a", "b")}, "agent", "agent at words"),
    row({"agent": "ab"}, "agent", "agent that is a word"),
    row({"agent": (1.5, 1)}, "agent", "agent between cells"),
    row({"agent": (0, 1)}, "agent (0, 1)", "agent left of the map"),
    row({"agent": (9, 9)}, "agent", "agent outside"),
    row({"agent": (300, 1)}, "agent", "agent far outside"),
    row({"map": FLAT, "agent": (6, 1)}, "(6, 1)", "agent outside a given map"),
    row({"map": WALLED, "agent": (1, 2)}, "(1, 2)", "agent in a wall"),
    row({"inventory": [1]}, "inventory", "inventory that is a list"),
    row({"inventory": 3}, "inventory", "inventory that is a number"),
    row({"inventory": "gold"}, "inventory", "inventory that is a word"),
    row({"inventory": {"glod": 1}}, "did you mean 'gold'", "misspelled object"),
    row({"inventory": {"river": 1}}, "river", "object that cannot be carried"),
    row({"inventory": {3: 1}}, "inventory", "object that is a number"),
    row({"inventory": {"gold": -1}}, "-1 gold", "less than nothing"),
    row({"inventory": {"gold": 100}}, "100 gold", "more than can be carried"),
    row({"inventory": {"gold": "a"}}, "inventory", "count that is a word"),
    row({"inventory": {"gold": 1.5}}, "inventory", "count that is a fraction"),
    row({"inventory": {"gold": None}}, "inventory", "count that is nothing"),
]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("options", "place"), WRONG)
def test_a_wrong_option_is_refused_and_the_message_names_the_place(maker, options, place):
    environment = maker()
    with pytest.raises((WorldError, ProgramError, DataError)) as refused:
        environment.reset(seed=0, options=options)
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        row({"reset_mask": np.ones(5, bool)}, "reset_mask", "mask too long"),
        row({"reset_mask": np.ones(1, bool)}, "reset_mask", "mask too short"),
        row({"reset_mask": 3}, "reset_mask", "mask that is a number"),
        row({"reset_mask": "ab"}, "reset_mask", "mask that is a word"),
        row({"reset_mask": np.array([0, 2])}, "reset_mask", "mask of numbers"),
        row({"reset_mask": np.ones(5, bool), "index": 3}, "reset_mask", "mask too long for an index"),
        row({"reset_mask": np.array([True, False]), "program": "mine(gold)"}, "reset_mask", "program for a few worlds"),
        row({"index": [0, 1, 2]}, "index", "too many indices"),
        row({"index": [[0, 1]]}, "index", "indices in two axes"),
        row({"index": [0, 500]}, "index 500", "an index above"),
        row({"index": ["a", "b"]}, "index", "indices that are words"),
        row({"index": [0.5, 1.5]}, "index", "indices that are fractions"),
    ],
)
def test_a_wrong_option_of_many_worlds_is_refused_and_the_message_names_the_place(options, place):
    environments = many()
    environments.reset(seed=0)
    with pytest.raises((WorldError, ProgramError, DataError)) as refused:
        environments.reset(options=options)
    assert place in str(refused.value)


def test_there_is_no_mask_for_one_world():
    with pytest.raises(WorldError, match="reset_mask"):
        one().reset(options={"reset_mask": np.ones(1, bool)})


@pytest.mark.parametrize("maker", MAKERS)
def test_what_was_refused_once_is_refused_again(maker):
    """A refused split must not be taken for the one that is played."""
    environment = maker(max_routines=16)
    environment.reset(seed=0)
    for _ in range(2):
        with pytest.raises(WorldError, match="max_routines"):
            environment.reset(options={"split": "longer"})


REFUSED = [{"agent": (9, 9)}, {"program": "fly()"}, {"index": 999}, {"map": WALLED, "agent": (1, 1)}]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("options", REFUSED)
def test_after_a_refused_option_the_environment_can_be_reset_as_if_nothing_had_been(maker, options):
    environment = maker()
    expected, _ = maker().reset(seed=5)
    with pytest.raises((WorldError, ProgramError)):
        environment.reset(seed=0, options=options)
    assert same(environment.reset(seed=5)[0], expected)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("options", REFUSED)
def test_after_a_refused_option_no_agent_is_left_where_it_cannot_stand(maker, options):
    """The kernels trust that it stands inside: outside they would read and write memory that is not theirs."""
    environment = maker()
    environment.reset(seed=0)
    with pytest.raises((WorldError, ProgramError)):
        environment.reset(options=options)
    worlds = environment.batch.worlds
    assert (worlds.agent < worlds.side[:, None]).all()
    assert WALKABLE[worlds.cells[np.arange(len(worlds.side)), worlds.agent[:, 0], worlds.agent[:, 1]]].all()


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("options", REFUSED)
def test_a_refused_first_reset_is_no_reset(maker, options):
    environment = maker()
    with pytest.raises((WorldError, ProgramError)):
        environment.reset(seed=0, options=options)
    with pytest.raises(WorldError, match="reset"):
        act(environment, "up")


@pytest.mark.parametrize(
    ("settings", "error", "place"),
    [
        ({"split": "tests"}, DataError, "tests"),
        ({"program": "fly()"}, ProgramError, "fly"),
        ({"program": "goto(9, 9)"}, WorldError, "goto"),
        ({"variants": 0}, WorldError, "variant"),
    ],
)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_wrong_setting_is_refused_at_the_latest_with_the_first_reset(maker, settings, error, place):
    with pytest.raises(error) as refused:
        maker(**settings).reset(seed=0)
    assert place in str(refused.value)


MINE = Call("mine", ("gold",))
IS_THERE = Call("is_there", ("gold",))


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (Loop(0, (MINE,)), r"loop\(0\); expected 1 to 1000"),
        (Loop(40_000, (MINE,)), r"loop\(40000\); expected"),
        (If(((MINE, (MINE,)),)), "mine stands where a condition is expected"),
        (While(MINE, (MINE,)), "mine stands where a condition is expected"),
        (IS_THERE, "is_there stands where a behaviour is expected"),
        (While(IS_THERE, ()), "a body is empty"),
        (If(((IS_THERE, (MINE,)),), (IS_THERE,)), "is_there stands where a behaviour is expected"),
    ],
)
def test_a_tree_that_no_text_says_is_one_clear_error(node, problem):
    with pytest.raises(WorldError, match=problem):
        read_scenario({"program": Program((MINE, node))}, 0)


def test_a_program_that_is_over_at_its_start_is_finished_by_any_step():
    execution = program_guided.load("minecraft").run("goto(1, 1)", map="@....\n.....\n.....\n.....\n....$\n")
    assert execution[0].routine == ""
    assert execution[-1].outcome == "finished"


def test_worlds_with_maps_begin_again_each_with_its_own_program():
    worlds = gymnasium.make_vec("ProgramGuided/Minecraft-v0", num_envs=2, vectorization_mode="vector_entry_point")
    worlds.reset(seed=[1, None])
    worlds.reset(options={"program": "mine(gold)"})
    worlds.reset(options={"reset_mask": np.array([True, False])})
    assert set(worlds.unwrapped.batch.tables) == {worlds.unwrapped.batch.tables[0]}, "the program stays"
    given = {"index": [30, 16], "map": "@g...\n.....\n.....\n.....\n....$\n"}
    worlds.reset(options=given)
    worlds.reset(options={"reset_mask": np.array([False, True])})
    batch = worlds.unwrapped.batch
    assert batch.program.tolist() == [30, 16]
    assert batch.worlds.side.tolist() == [5, 5]
    worlds.unwrapped._restart(np.array([True, True]))
    assert batch.program.tolist() == [30, 16]
    assert batch.worlds.cells[0, :5, :5].tolist() == batch.worlds.cells[1, :5, :5].tolist()
