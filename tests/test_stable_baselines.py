"""Stable-Baselines3 trains on the environment as it is: no wrapper, no adapter."""

import warnings

import gymnasium
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env

import program_guided  # noqa: F401  # registers the environments

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
