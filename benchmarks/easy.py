"""Stable-Baselines3's PPO learns `ProgramGuided/Minecraft-Easy-v0`, programs of one routine, from reward alone.

PPO with its MultiInputPolicy, two layers of 64, on the native vector environment; the observations are one-hot planes
with the agent in the middle (`--observation planes`: not centred; `plain`: as the environment gives them). Completion
is measured on the first behaviours of the programs of test, by sampled actions, beside a policy that acts at random.
Minutes are those of one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.timing import Watch
from program_guided.errors import DataError
from program_guided.tasks.minecraft.registration import EASY, register
from program_guided.wrappers import VectorOneHotPlanes

__all__ = ["Options", "print_figures"]

NUM_ENVS = 64
NUM_STEPS = 128
ROUNDS = 10
"""Rollouts between two evaluations."""
EPISODES = 512
"""Episodes of an evaluation."""
SETTINGS = {"n_steps": NUM_STEPS, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.95}
WRAPPERS: dict[str, Callable[..., Any] | None] = {
    "plain": None,
    "planes": VectorOneHotPlanes,
    "centred": partial(VectorOneHotPlanes, centred=True),
}


@dataclass(frozen=True)
class Options:
    """Options of the measurement."""

    observation: Literal["plain", "planes", "centred"] = "centred"
    """Form in which the policy is given the world."""
    seconds: float = 480.0
    """Stop learning after so long, in seconds of one core."""
    steps: int = 10_000_000
    """Stop learning after this number of steps."""
    seed: int = 0
    """Seed of the worlds and of the policy."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        if not (self.seconds > 0 and self.steps > 0 and self.seed >= 0):
            raise DataError(f"seconds {self.seconds}, steps {self.steps}, seed {self.seed}: none may be negative or 0")
        try:
            from stable_baselines3 import PPO

            from program_guided.stable_baselines import make_vec_env
        except ImportError:
            raise DataError("Stable-Baselines3 is not installed; it comes with the extra `bench`") from None
        register()
        torch.set_num_threads(1)
        make = partial(make_vec_env, EASY, wrapper=WRAPPERS[self.observation])
        settings: dict[str, Any] = SETTINGS | {"ent_coef": 0.01, "seed": self.seed, "device": "cpu"}
        model = PPO("MultiInputPolicy", make(NUM_ENVS, self.seed), **settings)
        test, curve, used = make(NUM_ENVS, self.seed + 1, split="test"), list[dict[str, float]](), 0.0
        while used < self.seconds and model.num_timesteps < self.steps:
            show("seconds of one core", int(used), int(self.seconds))
            begin = time.process_time()
            model.learn(NUM_ENVS * NUM_STEPS * ROUNDS, reset_num_timesteps=False)
            used += time.process_time() - begin
            curve.append({"steps": model.num_timesteps, "minutes": used / 60, "completion": _completion(model, test)})
        return {
            "environment": EASY,
            "observation": self.observation,
            "seed": self.seed,
            "settings": SETTINGS | {"ent_coef": 0.01, "n_envs": NUM_ENVS},
            "random": _completion(_Random(self.seed), test),
            "curve": curve,
        }


class _Random:
    """A policy that acts at random."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> Any:
        return self._random.integers(0, 10, NUM_ENVS), state


def _completion(policy: Any, environments: Any) -> float:
    """% of episodes finished."""
    from stable_baselines3.common.evaluation import evaluate_policy

    returns, _ = evaluate_policy(policy, environments, EPISODES, deterministic=False, return_episode_rewards=True)
    return 100 * float(np.mean(returns))


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    from program_guided.output import print_table

    rows = [[f"{each['steps']:,}", f"{each['minutes']:.1f}", f"{each['completion']:.1f}"] for each in figures["curve"]]
    title = f"PPO, MultiInputPolicy, {figures['environment']}, observation: {figures['observation']}"
    print_table(
        title, ("steps", "minutes of one core", "finished %"), [*rows, ["random", "", f"{figures['random']:.1f}"]]
    )
