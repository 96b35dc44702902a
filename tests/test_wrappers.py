"""Observation wrappers: in their spaces, the same for one world and for many, and nothing is lost that need not be."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import program_guided  # noqa: F401  # registers the environments
from program_guided.errors import WorldError
from program_guided.language.parser import parse
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN
from program_guided.tasks.minecraft.wrappers import restored
from program_guided.wrappers import (
    PLANES,
    FlatVector,
    OneHotPlanes,
    ProgramTokens,
    VectorFlatVector,
    VectorOneHotPlanes,
    VectorProgramTokens,
    text_of,
)

NAME = "ProgramGuided/Minecraft-v0"
FIELD = "@.g..\n..w..\n..$..\n~~~~~\n...i."
WRAPPERS = {
    "planes": (OneHotPlanes, VectorOneHotPlanes, {}),
    "centred": (OneHotPlanes, VectorOneHotPlanes, {"centred": True}),
    "program": (OneHotPlanes, VectorOneHotPlanes, {"program": True}),
    "flat": (FlatVector, VectorFlatVector, {}),
    "tokens": (ProgramTokens, VectorProgramTokens, {}),
}
every = pytest.mark.parametrize("name", WRAPPERS)


def same(first, second):
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)
    return np.array_equal(first, second)


@every
def test_gymnasiums_checker_finds_nothing_wrong(name):
    wrapper, _, settings = WRAPPERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*different from the unwrapped version.*")
        check_env(wrapper(gymnasium.make(NAME), **settings))


@every
def test_one_world_and_many_are_observed_in_the_same_way(name):
    wrapper, vector, settings = WRAPPERS[name]
    options = {"split": "complex", "index": 4}
    many, one = vector(gymnasium.make_vec(NAME, num_envs=3), **settings), wrapper(gymnasium.make(NAME), **settings)
    assert many.single_observation_space == one.observation_space
    (observations, _), (observation, _) = many.reset(seed=0, options=options), one.reset(seed=0, options=options)
    for action in [0, 3, 8, 1, 9, 4] * 3:
        for world in range(3):
            mine = {key: value[world] for key, value in observations.items()} if name != "flat" else observations[world]
            assert same(mine, observation)
        assert observations in many.observation_space
        assert observation in one.observation_space
        observations, *_ = many.step(np.full(3, action))
        observation, _, terminated, truncated, _ = one.step(action)
        if terminated or truncated:
            break


def in_the_field(program, **settings):
    environment = OneHotPlanes(gymnasium.make(NAME), **settings)
    return environment.reset(seed=0, options={"program": program, "map": FIELD, "inventory": {"iron": 2}})[0]


def marked(planes, name):
    return [tuple(map(int, place)) for place in np.argwhere(planes[PLANES.index(name)])]


def test_planes_mark_cells_the_agent_and_what_the_routine_names():
    observation = in_the_field("place(iron, 4, 2)")
    planes = observation["planes"]
    assert marked(planes, "gold") == [(0, 2)]
    assert marked(planes, "river") == [(3, column) for column in range(5)]
    assert marked(planes, "agent") == [(0, 0)]
    assert marked(planes, "named kind") == marked(planes, "iron") == [(4, 3)]
    assert marked(planes, "named place") == [(1, 3)]
    assert not planes[:, 5:].any()
    words = [DOMAIN.vocabulary[number] for number in observation["routine"].argmax(axis=1)]
    assert words == ["place", "iron", "4", "2"]
    assert observation["inventory"].tolist() == [0, 0, 2, 0, 0, 0, 0]
    assert marked(in_the_field("goto(12, 12)")["planes"], "named place") == [], "beyond the map"
    assert marked(in_the_field("if env[gold] > 3: mine(wood)")["planes"], "named place") == [], "numbers of conditions"
    assert marked(in_the_field("build_bridge()")["planes"], "named kind") == []


def test_centred_planes_have_the_agent_in_the_middle():
    environment = OneHotPlanes(gymnasium.make(NAME), centred=True)
    environment.reset(seed=0, options={"program": "mine(iron)", "map": FIELD})
    for action in ("right", "down", "down"):
        observation, *_ = environment.step(ACTIONS.index(action))
    assert observation["planes"].shape == (len(PLANES), 15, 15)
    assert marked(observation["planes"], "agent") == [(7, 7)]
    assert marked(observation["planes"], "gold") == [(5, 8)]
    assert marked(observation["planes"], "named kind") == [(9, 9)]


@pytest.mark.parametrize("settings", [{"program": True}, {"program": True, "centred": True}])
def test_planes_with_the_program_lose_nothing(settings):
    plain = gymnasium.make_vec(NAME, num_envs=8, split="test")
    wrapped = VectorOneHotPlanes(gymnasium.make_vec(NAME, num_envs=8, split="test"), **settings)
    one = OneHotPlanes(gymnasium.make(NAME), **settings)
    (expected, _), (observations, _) = plain.reset(seed=3), wrapped.reset(seed=3)
    random = np.random.default_rng(0)
    for _ in range(20):
        assert same(restored(observations), expected)
        actions = random.integers(0, 4, 8)
        expected, observations = plain.step(actions)[0], wrapped.step(actions)[0]
    observation, _ = one.reset(seed=1)
    assert same(restored(observation), gymnasium.make(NAME).reset(seed=1)[0])


def test_tokens_are_the_text_of_the_program():
    environment = ProgramTokens(gymnasium.make(NAME, split="complex"))
    for seed in range(5):
        observation, info = environment.reset(seed=seed)
        assert parse(text_of(observation["tokens"]), DOMAIN) == parse(info["program"], DOMAIN)


def test_tokens_of_many_worlds_follow_their_programs_into_new_episodes():
    environments = VectorProgramTokens(gymnasium.make_vec(NAME, num_envs=4, time_limit=2))
    observations, _ = environments.reset(seed=0)
    begun = set()
    for _ in range(9):
        batch = environments.unwrapped.batch
        for world, tokens in enumerate(observations["tokens"]):
            program = batch.entries[int(batch.program[world])].program
            assert parse(text_of(tokens), DOMAIN) == program
            begun.add(tokens.tobytes())
        observations, *_ = environments.step(np.zeros(4, np.int64))
    assert len(begun) > 8


def test_a_program_that_does_not_fit_is_refused():
    with pytest.raises(WorldError, match="more than 8: raise max_tokens"):
        ProgramTokens(gymnasium.make(NAME), max_tokens=8).reset(seed=0)


@every
def test_a_wrapper_of_another_environment_is_refused(name):
    wrapper, _, settings = WRAPPERS[name]
    with pytest.raises(WorldError, match="wrap the environment of the world itself"):
        wrapper(OneHotPlanes(gymnasium.make(NAME)), **settings)


def test_programs_with_one_table_keep_their_own_tokens():
    """`loop(2)` and the same routine twice have equal routine tables."""
    found = {}
    for text in ("loop(2): mine(gold)", "mine(gold); mine(gold)"):
        environment = ProgramTokens(gymnasium.make("ProgramGuided/Minecraft-v0"))
        environment.reset(seed=0, options={"program": "loop(2): mine(gold)"})
        observation, _ = environment.reset(seed=0, options={"program": text})
        found[text] = text_of(observation["tokens"])
    one, other = found.values()
    assert "loop" in one
    assert "loop" not in other
