"""Speed of learning from reward on two cores: steps a second of acting, the world and the updates together.

Ours: PPO with `plus` and A2C with both models, as `proto train minecraft --target reward` runs them, every core used by
torch's threads. The peer is Stable-Baselines3's A2C with its MultiInputPolicy (an MLP of two layers of 64 over the
flattened observation) on the same environment, with as many worlds and steps between updates as our A2C.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from program_guided.learning.a2c import A2CTraining
from program_guided.learning.execution import build, minecraft_config
from program_guided.learning.ppo import PPOTraining
from program_guided.learning.settings import A2CSettings, PPOSettings
from program_guided.tasks.minecraft.splits import load_split

__all__ = ["measure", "print_figures"]

PEER = "Stable-Baselines3 A2C, MLP"
ROUNDS = 3
"""Measurements take turns so often, so that a busy moment of the machine meets all."""


def measure(seconds: float) -> dict[str, Any]:
    """All figures; each measurement runs about so many seconds."""
    runs = {
        "PPO, plus": _ours("plus", PPOSettings(admit=0.0)),
        "A2C, plus": _ours("plus", A2CSettings(worlds=512)),
        "A2C, paper, as in the paper": _ours("paper", A2CSettings()),
    }
    peer = _peer()
    if peer is not None:
        runs[PEER] = peer
    speeds = dict.fromkeys(runs, 0.0)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            speeds[name] = max(speeds[name], _speed(run, seconds / ROUNDS))
    figures: dict[str, Any] = {"threads": torch.get_num_threads(), "steps_per_second": speeds}
    if PEER in speeds:
        figures["times_faster_than_peer"] = {
            name: speed / speeds[PEER] for name, speed in speeds.items() if name != PEER
        }
    return figures


def _speed(run: Callable[[], int], seconds: float) -> float:
    """`run` takes some steps and says how many."""
    steps, begin = 0, time.perf_counter()
    while steps == 0 or time.perf_counter() - begin < seconds:
        steps += run()
    return steps / (time.perf_counter() - begin)


def _ours(form: Any, settings: PPOSettings | A2CSettings) -> Callable[[], int]:
    torch.manual_seed(0)
    kind: Any = PPOTraining if isinstance(settings, PPOSettings) else A2CTraining
    training = kind(build(minecraft_config(form)), load_split("train"), settings, 0)
    training.step()

    def run() -> int:
        training.step()
        return settings.samples

    return run


def _peer() -> Callable[[], int] | None:
    try:
        import gymnasium
        from stable_baselines3 import A2C
        from stable_baselines3.common.env_util import make_vec_env

        from program_guided.tasks.minecraft.registration import MINECRAFT, register
    except ImportError:
        return None
    register()
    settings = A2CSettings()
    worlds = make_vec_env(lambda: gymnasium.make(MINECRAFT), n_envs=settings.worlds, seed=0)
    model = A2C("MultiInputPolicy", worlds, n_steps=settings.horizon, seed=0, device="cpu")
    steps = 10 * settings.samples
    model.learn(steps)

    def run() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return run


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    from rich.console import Console
    from rich.table import Table

    ratios = figures.get("times_faster_than_peer", {})
    table = Table(title=f"steps a second, {figures['threads']} threads", title_justify="left", box=None)
    for heading in ("", "steps/s", "against Stable-Baselines3"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, speed in figures["steps_per_second"].items():
        table.add_row(name, f"{speed:,.0f}", f"{ratios[name]:.1f}x" if name in ratios else "")
    Console().print(table)
    if not ratios:
        print("Stable-Baselines3 is not installed; it comes with the extra `bench`")
