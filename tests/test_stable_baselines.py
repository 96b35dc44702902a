"""Stable-Baselines3 trains on the environment as it is, and on many native worlds as a `VecEnv`."""

import re
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor

import program_guided  # noqa: F401  # registers the environments
from benchmarks import easy
from benchmarks.timing import unwatched
from program_guided.errors import DataError, WorldError
from program_guided.stable_baselines import NativeVecEnv, make_vec_env
from program_guided.tasks.minecraft.agents import PlannerAgent
from program_guided.tasks.minecraft.world.rules import Outcome
from program_guided.wrappers import VectorFlatVector, VectorOneHotPlanes

NAME = "ProgramGuided/Minecraft-v0"
STEPS = 20_000


pytestmark = pytest.mark.usefixtures("one_thread")


def ppo(environment):
    return PPO("MultiInputPolicy", environment, n_steps=512, batch_size=256, n_epochs=1, seed=0, device="cpu")


def weights(model):
    return {name: values.clone() for name, values in model.policy.state_dict().items()}


def test_the_checker_of_stable_baselines_only_remarks_that_maps_and_programs_are_tables():
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        check_env(gymnasium.make(NAME, split="test").unwrapped)
    messages = [str(remark.message) for remark in remarks]
    assert [text for text in messages if "neither an image, nor a 1D vector" not in text] == []
    assert sorted(text.split()[2] for text in messages) == ["flow", "map", "words"]


def test_ppo_trains_20000_steps_and_predicts_actions():
    environment = gymnasium.make(NAME)
    model = ppo(environment)
    before = weights(model)
    model.learn(STEPS)
    after = weights(model)
    assert model.num_timesteps >= STEPS
    assert all(torch.isfinite(values).all() for values in after.values())
    assert any((after[name] != before[name]).any() for name in before)
    episodes = list(model.ep_info_buffer)
    assert len(episodes) == 100
    assert all(episode["r"] in (0.0, 1.0) and 1 <= episode["l"] <= 300 for episode in episodes)
    observation, _ = environment.reset(seed=1)
    for _ in range(50):
        action, _ = model.predict(observation)
        assert action in environment.action_space
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            observation, _ = environment.reset()


def test_two_trainings_with_the_same_seed_are_the_same():
    first, second = (weights(ppo(gymnasium.make(NAME, split="test")).learn(1024)) for _ in range(2))
    untrained = weights(ppo(gymnasium.make(NAME, split="test")))
    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != untrained[name]).any() for name in first)


# Many worlds as a VecEnv ---------------------------------------------------------------------------------------------


def of_world(observations, world):
    return {key: value[world] for key, value in observations.items()}


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def test_a_vec_env_gives_what_gymnasium_gives_and_says_how_episodes_ended():
    """Beside it the same worlds, reset by hand."""
    vec_env = make_vec_env(NAME, 6, seed=3, split="test", time_limit=20)
    mirror = gymnasium.make_vec(NAME, num_envs=6, split="test", time_limit=20, autoreset_mode="Disabled")
    observations, (expected, _) = vec_env.reset(), mirror.reset(seed=list(range(3, 9)))
    random, played, ends = np.random.default_rng(0), np.zeros((2, 6)), []
    for _ in range(60):
        assert same(observations, expected)
        best = PlannerAgent().act(mirror.batch)
        actions = np.where(random.random(6) < 0.2, random.integers(0, 10, 6), best)
        observations, rewards, dones, infos = vec_env.step(actions)
        expected, mirrored, terminated, truncated, given = mirror.step(actions)
        played += [mirrored, np.ones(6)]
        assert rewards.dtype == np.float32
        assert (rewards == mirrored).all()
        assert (dones == (terminated | truncated)).all()
        for world, info in enumerate(infos):
            assert info["TimeLimit.truncated"] == truncated[world]
            assert info["outcome"] == given["outcome"][world]
            assert ("terminal_observation" in info) == ("episode" in info) == dones[world]
            if dones[world]:
                assert same(info["terminal_observation"], of_world(expected, world))
                assert (info["episode"]["r"], info["episode"]["l"]) == tuple(played[:, world])
                assert info["episode"]["t"] >= 0
                ends.append(Outcome(info["outcome"]))
        played[:, dones] = 0
        if dones.any():
            expected, _ = mirror.reset(options={"reset_mask": dones})
    assert {Outcome.FINISHED, Outcome.TIMEOUT} < set(ends)


def test_a_vec_env_is_seeded_as_stable_baselines_does_it():
    first, second, other = (make_vec_env(NAME, 3, seed=seed).reset() for seed in (5, 5, 6))
    assert same(first, second)
    assert not same(first, other)
    vec_env = make_vec_env(NAME, 3, seed=6)
    vec_env.seed(5)
    assert same(vec_env.reset(), first)
    assert not same(vec_env.reset(), first), "seeds are used once"
    assert same(of_world(first, 1), of_world(other, 0)), "world i has the seed plus i"


def test_a_vec_env_answers_what_stable_baselines_asks():
    vec_env = make_vec_env(NAME, 3, seed=0, render_mode="rgb_array")
    vec_env.reset()
    masks = vec_env.env_method("action_masks", indices=[0, 2])
    assert [mask.shape for mask in masks] == [(10,), (10,)]
    assert vec_env.get_attr("render_mode") == ["rgb_array"] * 3
    assert not vec_env.has_attr("nonsense")
    assert vec_env.env_is_wrapped(Monitor) == [True] * 3
    assert [image.shape[2] for image in vec_env.get_images()] == [3] * 3
    assert [set(info) >= {"program", "action_mask"} for info in vec_env.reset_infos] == [True] * 3
    for refused in (lambda: vec_env.set_attr("copy", True), lambda: vec_env.set_options({"index": 3})):
        with pytest.raises(WorldError, match="share one environment"):
            refused()
    with pytest.raises(WorldError, match="autoreset_mode='Disabled'"):
        NativeVecEnv(gymnasium.make_vec(NAME, num_envs=2))


@pytest.mark.parametrize(
    ("wrapper", "policy"),
    [(None, "MultiInputPolicy"), (VectorOneHotPlanes, "MultiInputPolicy"), (VectorFlatVector, "MlpPolicy")],
)
def test_ppo_trains_on_many_native_worlds(wrapper, policy):
    environments = make_vec_env("ProgramGuided/Minecraft-Easy-v0", 16, seed=0, wrapper=wrapper)
    model = PPO(policy, environments, n_steps=64, batch_size=256, n_epochs=1, seed=0, device="cpu")
    before = weights(model)
    model.learn(2 * 16 * 64)
    after = weights(model)
    assert all(torch.isfinite(values).all() for values in after.values())
    assert any((after[name] != before[name]).any() for name in before)
    assert {episode["r"] for episode in model.ep_info_buffer} == {0.0, 1.0}
    action, _ = model.predict(environments.reset())
    assert action.shape == (16,)


def test_the_benchmark_gives_a_curve_beside_chance(monkeypatch, capsys):
    monkeypatch.setattr(easy, "ROUNDS", 1)
    monkeypatch.setattr(easy, "EPISODES", 64)
    figures = easy.Options(steps=1).measure(unwatched)
    (point,) = figures["curve"]
    assert point["steps"] == 64 * 128
    assert 0 < point["minutes"] < 10
    assert 20 < point["completion"] < 90
    assert 20 < figures["random"] < 80
    easy.print_figures(figures)
    assert re.search(r"8,192 +\d", capsys.readouterr().out)
    for wrong in ({"seconds": 0.0}, {"steps": -1}, {"seed": -1}):
        with pytest.raises(DataError, match="none may be negative"):
            easy.Options(**wrong).measure(unwatched)
