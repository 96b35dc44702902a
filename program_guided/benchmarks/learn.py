"""Speed of learning from reward on all cores: steps a second of acting, the world and the updates together.

Ours: PPO and A2C, as `proto train minecraft --target reward --processes N` runs them, a process for each core. The peer
is Stable-Baselines3's A2C with its MultiInputPolicy (an MLP of two layers of 64 over the flattened observation) on the
same environment: with one world, as it comes, and with as many worlds as the paper has. Ratios are against the faster.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from program_guided.learning.a2c import A2CTraining
from program_guided.learning.execution import build, minecraft_config
from program_guided.learning.learner import Agree, alone
from program_guided.learning.ppo import PPOTraining
from program_guided.learning.settings import A2CSettings, PPOSettings
from program_guided.learning.training import launch
from program_guided.models.config import ExecutorConfig
from program_guided.tasks.minecraft.splits import load_split

__all__ = ["measure", "print_figures"]

PEER = "Stable-Baselines3 A2C, MLP, worlds: {}"
PEER_WORLDS = (1, A2CSettings().worlds)
PROCESSES = os.cpu_count() or 1
ROUNDS = 3
"""Measurements take turns so often, so that a busy moment of the machine meets all."""


def measure(seconds: float) -> dict[str, Any]:
    """All figures; each measurement runs about so many seconds."""
    plus, paper = minecraft_config("plus", memory=False), minecraft_config("paper", memory=False)
    runs: dict[str, Callable[[float], float]] = {
        "PPO, plus": partial(_ours, plus, PPOSettings(admit=0.0)),
        "A2C, plus": partial(_ours, plus, A2CSettings(worlds=1024)),
        "A2C, paper, as in the paper": partial(_ours, paper, A2CSettings()),
    }
    peers = {PEER.format(worlds): peer for worlds in PEER_WORLDS if (peer := _peer(worlds)) is not None}
    runs |= peers
    speeds = dict.fromkeys(runs, 0.0)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            speeds[name] = max(speeds[name], run(seconds / ROUNDS))
    figures: dict[str, Any] = {"cores": PROCESSES, "steps_per_second": speeds}
    if peers:
        fastest = max(speeds[name] for name in peers)
        figures["times_faster_than_peer"] = {name: speeds[name] / fastest for name in speeds if name not in peers}
    return figures


def _speed(run: Callable[[], int], seconds: float, agree: Agree = alone) -> float:
    """`run` takes some steps and says how many; all processes stop together."""
    run()
    steps, begin = 0, time.perf_counter()
    while steps == 0 or agree(torch.tensor(time.perf_counter() - begin)) < seconds:
        steps += run()
    return steps / (time.perf_counter() - begin)


def _ours(config: ExecutorConfig, settings: PPOSettings | A2CSettings, seconds: float) -> float:
    speed: float = launch(partial(_learn, config=config, settings=settings, seconds=seconds), PROCESSES)
    return speed


def _learn(fabric: Any, config: ExecutorConfig, settings: PPOSettings | A2CSettings, seconds: float) -> float:
    """What each process does."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    share = (fabric.global_rank, fabric.world_size)
    agree = partial(fabric.all_reduce, reduce_op="mean") if fabric.world_size > 1 else alone
    kind: Any = PPOTraining if isinstance(settings, PPOSettings) else A2CTraining
    training = kind(build(config), load_split("train"), settings, 0, share, agree)

    def run() -> int:
        training.step()
        return settings.samples

    return _speed(run, seconds, agree)


def _peer(worlds: int) -> Callable[[float], float] | None:
    try:
        import gymnasium
        from stable_baselines3 import A2C
        from stable_baselines3.common.env_util import make_vec_env

        from program_guided.tasks.minecraft.registration import MINECRAFT, register
    except ImportError:
        return None
    register()
    settings = A2CSettings()
    made = make_vec_env(lambda: gymnasium.make(MINECRAFT), n_envs=worlds, seed=0)
    model = A2C("MultiInputPolicy", made, n_steps=settings.horizon, seed=0, device="cpu")
    steps = 10 * worlds * settings.horizon

    def run() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return partial(_speed, run)


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    from rich.console import Console
    from rich.table import Table

    ratios = figures.get("times_faster_than_peer", {})
    table = Table(title=f"steps a second, {figures['cores']} cores", title_justify="left", box=None)
    for heading in ("", "steps/s", "against the faster peer"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, speed in figures["steps_per_second"].items():
        table.add_row(name, f"{speed:,.0f}", f"{ratios[name]:.1f}x" if name in ratios else "")
    Console().print(table)
    if not ratios:
        print("Stable-Baselines3 is not installed; it comes with the extra `bench`")
