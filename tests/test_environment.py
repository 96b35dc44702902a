"""The Gymnasium side: one environment, many environments, and the promises that Gymnasium makes for both."""

import subprocess
import sys
import warnings
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics
from gymnasium.wrappers.vector import DictInfoToList
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

import program_guided  # noqa: F401  # registers the environments
from program_guided.errors import ProgramGuidedError, WorldError
from program_guided.tasks.minecraft.agents import AGENTS, PlannerAgent, RandomAgent
from program_guided.tasks.minecraft.domain import ACTIONS
from program_guided.tasks.minecraft.environment import MinecraftEnv, MinecraftVectorEnv
from program_guided.tasks.minecraft.splits import SIZES, load_difficulty, load_split
from program_guided.tasks.minecraft.world.rules import TIME_LIMIT, Action, Outcome

NAME = "ProgramGuided/Minecraft-v0"
FIELD = """
@.g..
..w..
..$..
~~~~~
...i.
"""
BEHAVIOUR = [name not in ("true", "false") for name in ACTIONS]
CONDITION = [name in ("true", "false") for name in ACTIONS]


def one(split="test", **settings):
    return gymnasium.make(NAME, split=split, **settings)


def many(count, split="test", **settings):
    return gymnasium.make_vec(NAME, num_envs=count, split=split, **settings)


def in_the_field(program, inventory=None, **settings):
    """An environment at the start of this program in the map above."""
    environment = one(**settings)
    options = {"program": program, "map": FIELD, "inventory": inventory or {}}
    observation, info = environment.reset(seed=0, options=options)
    return environment, observation, info


def act(environment, names):
    """The results of these actions, one after the other."""
    return [environment.step(ACTIONS.index(name)) for name in names.split()]


def best_action(environment):
    return int(PlannerAgent().act(environment.unwrapped.batch)[0])


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def of_world(observations, world):
    return {key: value[world] for key, value in observations.items()}


# --- made by Gymnasium, checked by Gymnasium


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_gymnasiums_own_checker_finds_nothing_to_warn_of(render_mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(NAME, render_mode=render_mode).unwrapped)


def test_importing_the_package_registers_the_environments_and_imports_no_compiler():
    program = (
        "import sys, gymnasium, program_guided\n"
        f"specification = gymnasium.spec({NAME!r})\n"
        "assert specification.entry_point and specification.vector_entry_point\n"
        "assert 'numba' not in sys.modules, 'importing the package imports numba'\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_make_and_make_vec_give_the_environments_with_their_settings():
    single, vector = one(split="longer", sides=(6, 9), time_limit=7), many(3, split="longer", sides=(6, 9))
    assert isinstance(single.unwrapped, MinecraftEnv)
    assert isinstance(vector, MinecraftVectorEnv)
    assert vector.num_envs == 3
    assert vector.single_observation_space == single.observation_space
    assert vector.single_action_space == single.action_space
    observation, info = single.reset(seed=1)
    assert observation["map"].shape == (9, 9)
    assert info["program"] in {entry.text for entry in load_split("longer")}
    observations, infos = vector.reset(seed=1)
    assert observations["map"].shape == (3, 9, 9)
    assert (infos["program"] < SIZES["longer"]).all()


def test_gymnasiums_own_vectors_can_hold_the_single_environment():
    vector = many(2, vectorization_mode="sync")
    assert isinstance(vector, SyncVectorEnv)
    vector.reset(seed=0)
    for _ in range(40):
        observations, *_ = vector.step(vector.action_space.sample())
        assert observations in vector.observation_space


# --- observations


@pytest.mark.parametrize("split", SIZES)
@pytest.mark.parametrize("agent", AGENTS)
def test_observations_are_in_the_space_through_whole_episodes(split, agent):
    environment = one(split=split)
    space = environment.observation_space
    environment.action_space.seed(0)
    for seed in range(3):
        observation, _ = environment.reset(seed=seed)
        over, steps = False, 0
        while not over:
            assert observation in space
            assert {key: value.dtype for key, value in observation.items()} == {key: space[key].dtype for key in space}
            action = best_action(environment) if agent == "planner" else environment.action_space.sample()
            observation, _, terminated, truncated, _ = environment.step(action)
            over, steps = terminated or truncated, steps + 1
        assert observation in space
        assert steps <= TIME_LIMIT


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("sides", [(5, 8), (10, 12)])
def test_observations_of_many_worlds_are_in_the_space_through_whole_episodes(name, sides):
    environments, agent = many(24, split="complex", sides=sides), AGENTS[name](0)
    observations, _ = environments.reset(seed=3)
    ends = 0
    for _ in range(320):
        assert observations in environments.observation_space
        observations, _, terminated, truncated, _ = environments.step(agent.act(environments.batch))
        ends += (terminated | truncated).sum()
    assert ends > 24


def test_an_observation_shows_the_world_and_the_program_as_its_table_says():
    _, observation, _ = in_the_field("while env[gold] > 0:\n  mine(gold)\nplace(iron, 4, 2)", {"iron": 2})
    kinds = ("outside", "flat", "wall", "river", "bridge", "merchant")
    assert observation["map"][:5, :5].tolist()[3] == [kinds.index("river")] * 5
    assert observation["map"][2, 2] == kinds.index("merchant")
    assert not observation["map"][5:].any()
    assert not observation["map"][:, 5:].any()
    assert observation["agent"].tolist() == [0, 0]
    assert observation["inventory"].tolist() == [0, 0, 2, 0, 0, 0, 0]
    assert observation["pointer"].tolist() == [0, -1]
    assert observation["flow"][:4].tolist() == [[2, 1, 2], [0, 0, 0], [0, 3, 3], [-1, 0, 0]]
    assert (observation["words"][:3] > 0).sum(axis=1).tolist() == [4, 2, 4]
    assert not observation["words"][3:].any()
    assert observation["time"].tolist() == [0]


def test_what_was_handed_out_does_not_change_later():
    environments, agent = many(6), RandomAgent(1)
    kept = [environments.reset(seed=0)]
    copies = [{key: value.copy() for key, value in kept[0][0].items()}]
    masks = [kept[0][1]["action_mask"].copy()]
    for _ in range(30):
        observations, *_, infos = environments.step(agent.act(environments.batch))
        kept.append((observations, infos))
        copies.append({key: value.copy() for key, value in observations.items()})
        masks.append(infos["action_mask"].copy())
    assert all(same(observations, copy) for (observations, _), copy in zip(kept, copies, strict=True))
    assert all(np.array_equal(infos["action_mask"], mask) for (_, infos), mask in zip(kept, masks, strict=True))


def test_without_copies_the_arrays_of_the_batch_are_handed_out():
    environments = many(3, copy=False)
    observations, infos = environments.reset(seed=0)
    assert np.shares_memory(observations["map"], environments.batch.worlds.cells)
    assert infos["action_mask"] is environments.batch.view.mask


# --- one and many are the same world


def test_single_and_vector_environments_agree_step_by_step():
    indices, random, outcomes = list(range(0, 500, 16)), np.random.default_rng(0), []
    environments = many(len(indices), autoreset_mode="Disabled", time_limit=40)
    observations, infos = environments.reset(seed=5, options={"split": "test", "index": indices})
    singles = [one(split="train", time_limit=40) for _ in indices]
    for world, (single, index) in enumerate(zip(singles, indices, strict=True)):
        observation, info = single.reset(seed=world, options={"split": "test", "index": index})
        assert same(observation, of_world(observations, world))
        assert info["program"] == load_split("test")[int(infos["program"][world])].text
    running = np.ones(len(indices), bool)
    while running.any():
        wild = random.random(len(indices)) < 0.15
        actions = np.where(wild, random.integers(0, len(ACTIONS), len(indices)), PlannerAgent().act(environments.batch))
        observations, rewards, terminated, truncated, infos = environments.step(actions)
        for world in np.flatnonzero(running):
            observation, *result, info = singles[world].step(actions[world])
            assert same(observation, of_world(observations, world))
            assert result == [rewards[world], terminated[world], truncated[world]]
            assert (info["action_mask"] == infos["action_mask"][world]).all()
            assert info["ended_routine"] == infos["ended_routine"][world]
            assert info["outcome"] == infos["outcome"][world]
            if terminated[world] or truncated[world]:
                outcomes.append(info["outcome"])
                running[world] = False
    assert {Outcome.FINISHED, Outcome.WRONG_ANSWER, Outcome.TIMEOUT} < set(outcomes)


# --- the three ways to begin anew


def episodes(mode, steps=150, count=6):
    """By world: (first map, return, length, outcome) of its finished episodes, played by the planner."""
    environments = many(count, autoreset_mode=mode, time_limit=25)
    observations, _ = environments.reset(seed=11)
    first, played = list(observations["map"].copy()), [[] for _ in range(count)]
    total, length, waiting = np.zeros(count), np.zeros(count, int), np.zeros(count, bool)
    for _ in range(steps):
        observations, rewards, terminated, truncated, infos = environments.step(PlannerAgent().act(environments.batch))
        for world in np.flatnonzero(waiting):
            first[world] = observations["map"][world].copy()
        total, length = total + rewards, length + ~waiting
        over = terminated | truncated
        for world in np.flatnonzero(over):
            assert infos["_ended_routine"][world]
            played[world].append((first[world].tolist(), total[world], length[world], bool(terminated[world])))
            total[world], length[world] = 0, 0
        if mode == AutoresetMode.DISABLED and over.any():
            observations, _ = environments.reset(options={"reset_mask": over})
        if mode != AutoresetMode.NEXT_STEP:
            for world in np.flatnonzero(over):
                first[world] = observations["map"][world].copy()
        waiting = over & (mode == AutoresetMode.NEXT_STEP)
    return played


def test_all_ways_to_begin_anew_play_the_same_episodes():
    played = [episodes(mode) for mode in AutoresetMode]
    ends = [end for world in played[0] for *_, end in world]
    assert True in ends
    assert False in ends
    for worlds in zip(*played, strict=True):
        count = min(len(world) for world in worlds)
        assert count >= 4
        assert worlds[0][:count] == worlds[1][:count] == worlds[2][:count]


def test_next_step_gives_the_reset_observation_with_no_reward_in_the_step_after_the_end():
    environments, random = many(16, time_limit=12), np.random.default_rng(0)
    environments.reset(seed=2)
    over, ends = np.zeros(16, bool), 0
    for _ in range(120):
        actions = random.integers(0, len(ACTIONS), 16)
        observations, rewards, terminated, truncated, infos = environments.step(actions)
        assert (environments.batch.worlds.time[over] == 0).all()
        assert not rewards[over].any()
        assert not (terminated | truncated)[over].any()
        assert (infos["outcome"][over] == Outcome.RUNNING).all()
        assert (infos["ended_routine"][over] == -1).all()
        if over.any():
            assert (infos["_program"] == over).all()
            assert (infos["program"][over] == environments.batch.worlds.program[over]).all()
            assert (observations["inventory"][over] == environments.batch.worlds.inventory[over]).all()
        else:
            assert "program" not in infos
        over = terminated | truncated
        ends += over.sum()
    assert ends > 50


def test_next_step_ignores_the_action_in_the_step_after_the_end():
    first, second, random = many(8, time_limit=10), many(8, time_limit=10), np.random.default_rng(0)
    first.reset(seed=3)
    second.reset(seed=3)
    over, ends = np.zeros(8, bool), 0
    for _ in range(100):
        actions, others = random.integers(0, len(ACTIONS), (2, 8))
        results = first.step(actions), second.step(np.where(over, others, actions))
        assert same(results[0][0], results[1][0])
        assert all((ours == theirs).all() for ours, theirs in zip(results[0][1:4], results[1][1:4], strict=True))
        over = results[0][2] | results[0][3]
        ends += over.sum()
    assert ends > 40


def test_same_step_gives_the_final_observation_and_the_next_episodes_first():
    environments = many(8, autoreset_mode="SameStep", time_limit=15)
    mirror = many(8, autoreset_mode="Disabled", time_limit=15)
    assert same(environments.reset(seed=4)[0], mirror.reset(seed=4)[0])
    agent, ends = RandomAgent(5), 0
    for _ in range(120):
        actions = agent.act(mirror.batch)
        observations, rewards, terminated, truncated, infos = environments.step(actions)
        last, *expected, mirrored = mirror.step(actions)
        over = terminated | truncated
        assert all(
            (ours == theirs).all() for ours, theirs in zip((rewards, terminated, truncated), expected, strict=True)
        )
        assert ("final_obs" in infos) == over.any()
        if over.any():
            assert (infos["_final_obs"] == over).all()
            assert [final is not None for final in infos["final_obs"]] == over.tolist()
            assert all(same(infos["final_obs"][world], of_world(last, world)) for world in np.flatnonzero(over))
            last, mirrored = mirror.reset(options={"reset_mask": over})
        assert same(observations, last)
        assert (infos["action_mask"] == mirrored["action_mask"]).all()
        ends += over.sum()
    assert ends > 40


def test_same_step_says_in_final_info_how_the_episodes_ended():
    environments = many(8, autoreset_mode="SameStep", time_limit=15)
    mirror = many(8, autoreset_mode="Disabled", time_limit=15)
    environments.reset(seed=4)
    mirror.reset(seed=4)
    agent, ends = RandomAgent(5), 0
    while ends < 20:
        actions = agent.act(mirror.batch)
        *_, terminated, truncated, infos = environments.step(actions)
        *_, mirrored = mirror.step(actions)
        over = terminated | truncated
        if over.any():
            assert (infos["_final_info"] == over).all()
            assert isinstance(infos["final_info"], dict), "Gymnasium's final_info is a dict of arrays"
            for key in ("outcome", "ended_routine", "action_mask"):
                assert (infos["final_info"][key][over] == mirrored[key][over]).all()
            mirror.reset(options={"reset_mask": over})
        ends += over.sum()


def test_same_step_says_which_programs_begin():
    environments = many(4, autoreset_mode="SameStep", time_limit=1)
    environments.reset(seed=0)
    *_, infos = environments.step(np.zeros(4, int))
    assert infos["_program"].all()
    assert (infos["program"] == environments.batch.worlds.program).all()


def test_disabled_begins_anew_only_where_the_mask_says():
    environments = many(6, autoreset_mode="Disabled", time_limit=5)
    environments.reset(seed=6)
    for _ in range(5):
        last, _, terminated, truncated, info = environments.step(np.zeros(6, int))
    assert (terminated | truncated).all()
    later, *_ = environments.step(np.zeros(6, int))
    assert same(later, last), "worlds that are over stand still"
    mask = np.array([True, False, False, True, False, False])
    observations, infos = environments.reset(options={"reset_mask": mask})
    assert (environments.batch.worlds.time == np.where(mask, 0, 5)).all()
    assert (infos["outcome"] == np.where(mask, Outcome.RUNNING, info["outcome"])).all()
    for world in np.flatnonzero(~mask):
        assert same(of_world(observations, world), of_world(last, world))
    *_, terminated, truncated, _ = environments.step(np.zeros(6, int))
    assert ((terminated | truncated) == ~mask).all()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_infos_are_named_as_in_gymnasiums_own_vector_environment(mode):
    ours = many(2, autoreset_mode=mode, time_limit=1)
    theirs = many(2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, time_limit=1)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == mode
    assert ours.reset(seed=0)[1].keys() == theirs.reset(seed=0)[1].keys()
    steps = 1 if mode == AutoresetMode.DISABLED else 2
    for _ in range(steps):
        *results, ours_infos = ours.step(np.zeros(2, int))
        *expected, theirs_infos = theirs.step(np.zeros(2, int))
        assert ours_infos.keys() == theirs_infos.keys()
        for result, other in zip(results[1:], expected[1:], strict=True):
            assert result.dtype == other.dtype
            assert (result == other).all()


def test_an_unknown_way_to_begin_anew_is_refused():
    with pytest.raises(WorldError, match="autoreset_mode 'Sometimes': expected one of 'NextStep'"):
        many(2, autoreset_mode="Sometimes")


# --- how episodes end


@pytest.mark.parametrize(
    ("program", "inventory", "actions", "outcome", "ended"),
    [
        ("mine(gold)", {}, "right right mine", Outcome.FINISHED, 0),
        ("goto(1, 2)", {}, "down", Outcome.FINISHED, 0),
        ("place(iron, 2, 1)", {"iron": 1}, "right place", Outcome.FINISHED, 0),
        ("sell(iron)", {"iron": 1}, "right right down down sell", Outcome.FINISHED, 0),
        ("build_bridge()", {"wood": 1}, "down down build", Outcome.FINISHED, 0),
        ("if is_there[gold]: goto(1, 2)", {}, "true down", Outcome.FINISHED, 1),
        ("while agent[iron] > 0: sell(iron)", {}, "false", Outcome.FINISHED, 0),
        ("if is_there[gold]: goto(1, 2)", {}, "false", Outcome.WRONG_ANSWER, 0),
        ("if is_there[wall]: goto(1, 2)", {}, "true", Outcome.WRONG_ANSWER, 0),
        ("while agent[iron] > 0: sell(iron)", {}, "true", Outcome.WRONG_ANSWER, 0),
        ("goto(1, 2)\nif env[wood] == 2: mine(wood)", {}, "down true", Outcome.WRONG_ANSWER, 1),
        ("place(iron, 2, 1)", {"iron": 1}, "place", Outcome.WRONG_PLACE, 0),
        ("sell(iron)", {"iron": 1}, "right sell", Outcome.WRONG_PLACE, 0),
        ("place(iron, 2, 1)", {}, "right place", Outcome.MISSING_OBJECT, 0),
        ("sell(iron)", {"gold": 1}, "right right down down sell", Outcome.MISSING_OBJECT, 0),
    ],
)
def test_every_end_but_time_is_terminated_with_its_reason_and_a_reward_only_if_finished(
    program, inventory, actions, outcome, ended
):
    environment, *_ = in_the_field(program, inventory)
    *before, last = act(environment, actions)
    for _, reward, terminated, truncated, info in before:
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["outcome"] == Outcome.RUNNING
    _, reward, terminated, truncated, info = last
    assert (terminated, truncated) == (True, False)
    assert reward == float(outcome == Outcome.FINISHED)
    assert info["outcome"] is outcome
    assert info["ended_routine"] == ended


@pytest.mark.parametrize("program", ["mine(gold)", "if is_there[gold]: mine(gold)"])
def test_time_is_over_after_exactly_300_steps_and_that_is_truncated(program):
    environment, *_ = in_the_field(program)
    *before, last = act(environment, " ".join(["up"] * 300))
    assert all(not terminated and not truncated for _, _, terminated, truncated, _ in before)
    _, reward, terminated, truncated, info = last
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["outcome"] is Outcome.TIMEOUT
    assert info["ended_routine"] == -1


def test_many_worlds_are_truncated_after_exactly_300_steps_too():
    environments = many(3)
    environments.reset(seed=0, options={"program": "mine(gold)", "map": FIELD})
    for step in range(1, 301):
        _, rewards, terminated, truncated, infos = environments.step(np.zeros(3, int))
        assert (truncated == (step == 300)).all()
        assert not terminated.any()
        assert not rewards.any()
    assert (infos["outcome"] == Outcome.TIMEOUT).all()


@pytest.mark.parametrize(("actions", "outcome"), [("down", Outcome.FINISHED), ("up", Outcome.TIMEOUT)])
def test_a_program_finished_in_the_very_last_step_is_finished(actions, outcome):
    environment, *_ = in_the_field("goto(1, 2)")
    *_, (_, reward, terminated, truncated, info) = act(environment, "up " * 299 + actions)
    assert info["outcome"] is outcome
    assert terminated == (outcome == Outcome.FINISHED)
    assert truncated == (outcome == Outcome.TIMEOUT)
    assert reward == terminated


def test_a_failure_in_the_very_last_step_is_no_timeout():
    environment, *_ = in_the_field("sell(iron)", {"iron": 1})
    *_, (_, _, terminated, truncated, info) = act(environment, "up " * 299 + "sell")
    assert (terminated, truncated, info["outcome"]) == (True, False, Outcome.WRONG_PLACE)


@pytest.mark.parametrize("name", AGENTS)
def test_the_reward_is_one_at_a_finished_programs_end_and_nothing_anywhere_else(name):
    environments, agent = many(64), AGENTS[name](3)
    environments.reset(seed=8)
    finished, failed = 0, 0
    for _ in range(250):
        _, rewards, terminated, truncated, infos = environments.step(agent.act(environments.batch))
        assert (rewards == (infos["outcome"] == Outcome.FINISHED)).all()
        assert not (terminated & truncated).any()
        assert ((terminated | truncated) == (infos["outcome"] != Outcome.RUNNING)).all()
        assert (truncated == (infos["outcome"] == Outcome.TIMEOUT)).all()
        finished += rewards.sum()
        failed += (terminated & (rewards == 0)).sum()
    assert finished > {"planner": 200, "random": 0}[name]
    assert (failed > 100) == (name == "random")


def test_whoever_steps_on_after_the_end_gets_the_reward_only_once():
    environment, *_ = in_the_field("goto(1, 2)")
    assert sum(reward for _, reward, *_ in act(environment, "down down up")) == 1


def test_whoever_steps_on_after_the_end_of_one_of_many_worlds_gets_the_reward_only_once():
    environments = many(2, autoreset_mode="Disabled")
    environments.reset(seed=0, options={"program": "goto(1, 2)", "map": FIELD})
    rewards = [environments.step(np.full(2, Action.DOWN))[1] for _ in range(3)]
    assert np.sum(rewards, axis=0).tolist() == [1, 1]


# --- infos


def test_infos_say_which_routine_ended_and_the_pointer_follows():
    program = "if is_there[gold]:\n  mine(gold)\n  goto(3, 1)\nsell(gold)"
    environment, _, info = in_the_field(program)
    assert info["ended_routine"] == -1
    assert info["outcome"] is Outcome.RUNNING
    assert info["program"] == "def run():\n" + "".join(f"  {line}\n" for line in program.splitlines())
    results = act(environment, "true right right mine down down sell")
    assert [info["ended_routine"] for *_, info in results] == [0, -1, -1, 1, -1, -1, 3]
    pointers = [tuple(observation["pointer"]) for observation, *_ in results]
    assert pointers == [(1, 0), (1, 0), (1, 0), (3, 2), (3, 2), (3, 2), (4, 3)]


def test_a_loop_is_reported_in_every_round():
    environment, *_ = in_the_field("while env[gold] > 0: mine(gold)")
    results = act(environment, "true right right mine false")
    assert [info["ended_routine"] for *_, info in results] == [0, -1, -1, 1, 0]
    assert results[-1][-1]["outcome"] is Outcome.FINISHED


@pytest.mark.parametrize(
    ("routine", "mask"),
    [
        ("mine(gold)", BEHAVIOUR),
        ("goto(2, 2)", BEHAVIOUR),
        ("place(iron, 2, 2)", BEHAVIOUR),
        ("sell(iron)", BEHAVIOUR),
        ("build_bridge()", BEHAVIOUR),
        ("if is_there[gold]: mine(gold)", CONDITION),
        ("while is_there[gold]: mine(gold)", CONDITION),
        ("if agent[iron] > 0: mine(gold)", CONDITION),
        ("while env[gold] >= 1: mine(gold)", CONDITION),
    ],
)
def test_the_mask_allows_deeds_at_behaviours_and_answers_at_conditions(routine, mask):
    environment, _, info = in_the_field(routine, {"iron": 1})
    assert info["action_mask"].tolist() == mask
    assert environment.unwrapped.action_masks().tolist() == mask
    vector = many(2)
    _, infos = vector.reset(seed=0, options={"program": routine, "map": FIELD})
    assert infos["action_mask"].tolist() == [mask] * 2


def test_the_mask_follows_the_pointer():
    environment, _, info = in_the_field("goto(1, 2)\nif is_there[gold]: goto(1, 1)\ngoto(1, 2)")
    masks = [info["action_mask"], *(info["action_mask"] for *_, info in act(environment, "up down left true up"))]
    assert [mask.tolist() for mask in masks[:5]] == [BEHAVIOUR, BEHAVIOUR, CONDITION, CONDITION, BEHAVIOUR]


@pytest.mark.parametrize(
    ("program", "actions"),
    [("mine(gold)", "true false"), ("if is_there[gold]: goto(1, 2)", "up down left right mine build place sell")],
)
def test_an_action_without_meaning_only_lets_time_pass(program, actions):
    environment, before, _ = in_the_field(program, {"wood": 1, "iron": 1})
    for time, (observation, reward, terminated, truncated, info) in enumerate(act(environment, actions), 1):
        assert same(observation, {**before, "time": np.array([time])})
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["ended_routine"] == -1
    assert environment.unwrapped.snapshot().time == len(actions.split())


# --- wrong use


@pytest.mark.parametrize("action", [-1, len(ACTIONS), 1000, 2.7, "up", None])
def test_an_action_that_does_not_exist_is_refused(action):
    environment, *_ = in_the_field("mine(gold)")
    with pytest.raises(WorldError, match=f"action {action}"):
        environment.unwrapped.step(action)


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param(np.array([0, 0]), id="too few"),
        pytest.param(np.array([[0], [0], [0]]), id="one axis too many"),
        pytest.param(np.array([0, -1, 0]), id="below"),
        pytest.param(np.array([0, 0, len(ACTIONS)]), id="above"),
        pytest.param(np.array([0.5, 1.0, 2.0]), id="fractions"),
        pytest.param(["up", "up", "up"], id="words"),
        pytest.param(None, id="none at all"),
    ],
)
def test_actions_that_do_not_exist_are_refused_by_many_worlds_too(actions):
    environments = many(3)
    environments.reset(seed=0)
    with pytest.raises(WorldError, match="action"):
        environments.step(actions)


def test_a_step_or_a_picture_before_the_first_reset_is_refused():
    environment = one(render_mode="rgb_array").unwrapped
    with pytest.raises(WorldError, match="reset"):
        environment.step(0)
    with pytest.raises(WorldError, match="reset"):
        environment.render()


def test_a_step_of_many_worlds_before_the_first_reset_is_refused():
    with pytest.raises(WorldError, match="reset"):
        many(2).step(np.zeros(2, int))


def test_too_small_a_table_of_routines_is_refused_with_advice():
    with pytest.raises(WorldError, match="max_routines"):
        one(split="longer", max_routines=10).reset(seed=0)
    with pytest.raises(WorldError, match="max_routines"):
        many(2, split="longer", max_routines=10)


@pytest.mark.parametrize("sides", [(4, 8), (5, 13), (8, 7)])
def test_sides_that_no_map_has_are_refused(sides):
    with pytest.raises(WorldError, match=f"sides {sides[0]} to {sides[1]}"):
        one(sides=sides).reset(seed=0)
    with pytest.raises(WorldError, match=f"sides {sides[0]} to {sides[1]}"):
        many(2, sides=sides)


# --- Gymnasium's wrappers


def test_record_episode_statistics_counts_an_episode():
    environment = RecordEpisodeStatistics(one())
    for seed in range(4):
        environment.reset(seed=seed)
        steps, over = 0, False
        while not over:
            _, _, terminated, truncated, info = environment.step(best_action(environment))
            steps, over = steps + 1, terminated or truncated
        assert (info["episode"]["r"], info["episode"]["l"]) == (1.0, steps)
    assert list(environment.return_queue) == [1.0] * 4


@pytest.mark.parametrize("mode", AutoresetMode)
def test_record_episode_statistics_counts_the_episodes_of_many_worlds(mode):
    environments = RecordVectorStatistics(many(8, autoreset_mode=mode))
    environments.reset(seed=1)
    length, waiting, ends = np.zeros(8, int), np.zeros(8, bool), 0
    for _ in range(120):
        *_, terminated, truncated, infos = environments.step(PlannerAgent().act(environments.unwrapped.batch))
        length += ~waiting
        over = terminated | truncated
        if over.any():
            assert (infos["_episode"] == over).all()
            assert (infos["episode"]["r"] == over).all()
            assert (infos["episode"]["l"] == np.where(over, length, 0)).all()
            if mode == AutoresetMode.DISABLED:
                environments.reset(options={"reset_mask": over})
        length[over], waiting = 0, over & (mode == AutoresetMode.NEXT_STEP)
        ends += over.sum()
    assert ends >= 16
    assert environments.episode_count == ends


@pytest.mark.parametrize("mode", AutoresetMode)
def test_infos_can_be_turned_into_one_dictionary_a_world(mode):
    environments = DictInfoToList(many(3, autoreset_mode=mode, time_limit=1))
    _, infos = environments.reset(seed=0)
    assert len(infos) == 3
    *_, infos = environments.step(np.zeros(3, int))
    ends = [info["final_info"] if mode == AutoresetMode.SAME_STEP else info for info in infos]
    assert [end["outcome"] for end in ends] == [Outcome.TIMEOUT] * 3
    assert [end["ended_routine"] for end in ends] == [-1] * 3


def test_observations_can_be_flattened():
    environment, twin = FlattenObservation(one()), one()
    flat, _ = environment.reset(seed=5)
    observation, _ = twin.reset(seed=5)
    for _ in range(30):
        assert flat in environment.observation_space
        assert (flat == gymnasium.spaces.flatten(twin.observation_space, observation)).all()
        assert same(gymnasium.spaces.unflatten(twin.observation_space, flat), observation)
        action = best_action(twin)
        flat, _, terminated, truncated, _ = environment.step(action)
        observation, *_ = twin.step(action)
        if terminated or truncated:
            break
    assert terminated


# --- pictures


def test_rgb_array_draws_every_moment_in_one_size():
    environment, *_ = in_the_field("mine(gold)", render_mode="rgb_array")
    frames = [environment.render()]
    for name in ("right", "right", "mine"):
        act(environment, name)
        frames.append(environment.render())
    assert {(frame.dtype, frame.ndim, frame.shape[2]) for frame in frames} == {(np.dtype(np.uint8), 3, 3)}
    assert len({frame.shape for frame in frames}) == 1
    assert all((first != second).any() for first, second in pairwise(frames))


def test_ansi_shows_the_map_the_program_and_what_happened():
    environment, *_ = in_the_field("mine(gold)", render_mode="ansi")
    before = environment.render()
    act(environment, "right right mine")
    after = environment.render()
    assert isinstance(before, str)
    assert "mine(gold)" in before
    assert "@" in before
    assert before != after
    assert "finished" in after.lower()
    assert "finished" not in before.lower()


def test_many_worlds_are_drawn_one_picture_each():
    environments = many(3, render_mode="rgb_array")
    environments.reset(seed=0)
    frames = environments.render()
    assert len(frames) == 3
    assert all(frame.dtype == np.uint8 and frame.ndim == 3 for frame in frames)
    alone = one(render_mode="rgb_array")
    alone.reset(options={"split": "test", "index": 7})
    environments.reset(options={"index": 7})
    assert (environments.render()[2] == alone.render()).all()


def test_a_render_mode_that_does_not_exist_is_refused():
    with pytest.raises(WorldError, match="ansi"):
        many(2, render_mode="ansi")
    assert many(2).render() is None


def test_a_snapshot_names_the_last_action_and_what_it_did():
    environment, *_ = in_the_field("mine(gold)")
    assert environment.unwrapped.snapshot().action == ""
    act(environment, "right right mine")
    snapshot = environment.unwrapped.snapshot()
    assert (snapshot.action, snapshot.time, snapshot.outcome) == ("mine", 3, "finished")
    assert snapshot.inventory["gold"] == 1
    assert snapshot.agent == (0, 2)


# --- seeds


def played(environment, seed, steps=60):
    """Everything that a seed brings, over several episodes."""
    observation, info = environment.reset(seed=seed)
    record = [(observation, info["program"])]
    for step in range(steps):
        observation, reward, terminated, truncated, info = environment.step(step % len(ACTIONS))
        record.append((observation, (reward, terminated, truncated, info["outcome"])))
        if terminated or truncated:
            observation, info = environment.reset()
            record.append((observation, info["program"]))
    return record


def equal(first, second):
    return len(first) == len(second) and all(
        same(ours, theirs) and one == other for (ours, one), (theirs, other) in zip(first, second, strict=True)
    )


def test_the_same_seed_gives_the_same_episodes_whatever_was_played_before():
    environment, other = one(), one()
    first = played(environment, 1)
    assert sum(isinstance(each, str) for _, each in first) > 2
    assert not equal(first, played(environment, 2))
    other.reset(options={"split": "longer", "index": 3})
    assert equal(first, played(other, 1))
    assert equal(first, played(environment, 1))


def test_different_seeds_give_different_programs_and_worlds():
    environment = one()
    episodes = [environment.reset(seed=seed) for seed in range(40)]
    assert len({info["program"] for _, info in episodes}) > 30
    assert len({observation["map"].tobytes() for observation, _ in episodes}) > 35


def test_the_same_seed_gives_a_vector_environment_the_same_episodes():
    first, second, third = many(5), many(5), many(5)
    second.reset(seed=99)
    second.step(np.zeros(5, int))
    starts = [first.reset(seed=1)[0], second.reset(seed=1)[0], third.reset(seed=2)[0]]
    assert same(starts[0], starts[1])
    assert not (starts[0]["words"] == starts[2]["words"]).all(axis=(1, 2)).any()
    for step in range(80):
        actions = np.full(5, step % len(ACTIONS))
        results = first.step(actions), second.step(actions)
        assert same(results[0][0], results[1][0])


def test_the_worlds_of_a_vector_environment_differ_from_each_other():
    observations, infos = many(32).reset(seed=0)
    assert len(set(infos["program"].tolist())) > 25
    assert len({cells.tobytes() for cells in observations["map"]}) > 28


def test_without_a_seed_episodes_are_unlike_from_one_environment_to_the_next():
    starts = [one().reset()[1]["program"] for _ in range(8)]
    assert len(set(starts)) > 1


def test_without_a_seed_many_worlds_are_unlike_from_one_environment_to_the_next():
    starts = [tuple(many(8).reset()[1]["program"].tolist()) for _ in range(3)]
    assert len(set(starts)) > 1


def test_resets_without_a_seed_go_on_to_other_episodes():
    environment, environments = one(), many(4)
    environment.reset(seed=0)
    environments.reset(seed=0)
    assert len({environment.reset()[1]["program"] for _ in range(10)}) > 5
    assert len({tuple(environments.reset()[1]["program"].tolist()) for _ in range(10)}) == 10


def test_a_list_of_seeds_gives_every_world_its_own():
    first, again, swapped = (many(2).reset(seed=seeds)[0] for seeds in ([1, 2], [1, 2], [2, 1]))
    assert same(first, again)
    assert (first["map"] == swapped["map"][::-1]).all()
    assert (first["map"][0] != first["map"][1]).any()
    for seeds in ([1], [1, -2], [1, "a"]):
        with pytest.raises(WorldError, match="seed"):
            many(2).reset(seed=seeds)


def test_an_environment_of_one_program_draws_new_worlds_for_it():
    environment, environments = one(program="mine(gold)\nsell(gold)"), many(16, program="mine(gold)\nsell(gold)")
    starts = [environment.reset(seed=seed) for seed in range(10)]
    assert {info["program"] for _, info in starts} == {"def run():\n  mine(gold)\n  sell(gold)\n"}
    assert len({observation["map"].tobytes() for observation, _ in starts}) > 8
    observations, infos = environments.reset(seed=0)
    assert not infos["program"].any()
    assert len({cells.tobytes() for cells in observations["map"]}) > 8


# What a reset leaves behind ------------------------------------------------------------------------------------------


def test_many_worlds_return_to_their_own_split_when_nothing_is_asked():
    environments = gymnasium.make_vec(NAME, num_envs=3, split="train")
    environments.reset(seed=0, options={"split": "test", "index": 0})
    assert len(environments.unwrapped.batch.entries) == SIZES["test"]
    environments.reset()
    assert len(environments.unwrapped.batch.entries) == SIZES["train"]


def test_new_episodes_begin_in_the_map_that_was_given_with_the_program():
    environments = gymnasium.make_vec(NAME, num_envs=2)
    given = {"program": "while agent[gold] < 9: mine(gold)", "map": "@gggg\nggggg\nggggg\n.....\n....."}
    first, _ = environments.reset(seed=0, options=given)
    for _ in range(100):
        best, _ = environments.unwrapped.batch.best_actions()
        observation, _, terminated, *_ = environments.step(best.argmax(axis=1))
        if terminated.all():
            break
    observation, *_ = environments.step(np.zeros(2, np.int64))
    assert (observation["map"] == first["map"]).all()


def test_a_refused_index_changes_no_world():
    environments = gymnasium.make_vec(NAME, num_envs=2)
    environments.reset(seed=0)
    before = environments.unwrapped.batch.worlds.program.copy()
    with pytest.raises(WorldError, match="index 9999"):
        environments.reset(options={"index": [3, 9999]})
    assert (environments.unwrapped.batch.worlds.program == before).all()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"render_mode": "nonsense"}, "render_mode 'nonsense': expected None or one of"),
        ({"split": "trian"}, "unknown split 'trian'"),
        ({"difficulty": "hard"}, "unknown difficulty 'hard'.*easy, medium, full"),
        ({"split": "longer", "difficulty": "medium"}, "split 'longer': has no programs of difficulty 'medium'"),
        ({"program": 3}, "program: 3 is neither a text"),
        ({"program": "mine(gld)"}, "gld"),
        ({"time_limit": 0}, "time_limit 0: expected a number from 1"),
        ({"time_limit": 2.5}, "time_limit 2.5: not a whole number"),
        ({"sides": (3, 8)}, "sides 3 to 8"),
        ({"sides": (8, 5)}, "sides 8 to 5"),
        ({"sides": 8}, "sides 8: the smallest and the largest"),
        ({"variants": 0}, "variants 0: expected a number from 1"),
        ({"variants": "many"}, "variants many: not a whole number"),
        ({"max_routines": 10**6}, "max_routines 1000000: expected a number from 1"),
        ({"max_routines": 1}, "observations have room for 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, problem):
    with pytest.raises(ProgramGuidedError, match=problem):
        MinecraftEnv(**settings).reset()
    with pytest.raises(ProgramGuidedError, match=problem):
        MinecraftVectorEnv(2, **settings)


@pytest.mark.parametrize(
    ("count", "problem"),
    [
        (0, "0 worlds: at least 1"),
        (-3, "-3 worlds"),
        (10**9, "1000000000 worlds .* need 1,0.. GB of memory"),
        (2.0, "num_envs 2.0: not a whole number"),
        ("8", "num_envs 8: not a whole number"),
    ],
)
def test_a_number_of_worlds_that_cannot_be_is_refused_before_memory_is_taken(count, problem):
    with pytest.raises(WorldError, match=problem):
        MinecraftVectorEnv(count)


@pytest.mark.parametrize(
    ("seed", "problem"), [(-1, "seed -1: a seed is 0 or above"), ("a", "seed a"), (1.5, "seed 1.5")]
)
def test_a_seed_that_is_none_is_refused(seed, problem):
    for environment in (one(), many(2)):
        with pytest.raises(WorldError, match=problem):
            environment.reset(seed=seed)


# Difficulties --------------------------------------------------------------------------------------------------------


def test_the_environments_differ_in_their_programs_only():
    easy, medium, full = (gymnasium.make(f"ProgramGuided/Minecraft{name}-v0") for name in ("-Easy", "-Medium", ""))
    assert easy.observation_space == medium.observation_space == full.observation_space
    routines = {
        environment: [int((environment.reset(seed=seed)[0]["flow"][:, 0] >= 0).sum()) for seed in range(40)]
        for environment in (easy, medium, full)
    }
    assert set(routines[easy]) == {1}
    assert set(routines[medium]) == {2, 3, 4}
    assert max(routines[full]) > 8


@pytest.mark.parametrize("split", ["train", "test"])
def test_easy_programs_are_one_behaviour_and_medium_ones_have_at_most_one_condition(split):
    assert len(load_difficulty(split, "easy")) == SIZES[split]
    assert load_difficulty(split, "easy") is load_difficulty(split, "easy")
    assert {len(entry.table) for entry in load_difficulty(split, "easy")} == {1}
    assert not any(entry.table.kind.any() for entry in load_difficulty(split, "easy"))
    kept = set(load_difficulty(split, "medium"))
    for entry in load_split(split):
        assert (entry in kept) == (len(entry.table) <= 4 and np.count_nonzero(entry.table.kind) <= 1)
    assert load_difficulty(split, "full") is load_split(split)


def test_a_split_that_is_asked_for_is_of_the_same_difficulty():
    name = "ProgramGuided/Minecraft-Easy-v0"
    single, vector = gymnasium.make(name), gymnasium.make_vec(name, num_envs=2)
    expected = load_difficulty("test", "easy")[7].text
    assert single.reset(seed=0, options={"split": "test", "index": 7})[1]["program"] == expected
    vector.reset(seed=0, options={"split": "test", "index": 7})
    assert vector.batch.entries[int(vector.batch.program[0])].text == expected
