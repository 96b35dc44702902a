"""Speed of learning from reward on all cores: steps a second of acting, the world and the updates together.

Ours: PPO and A2C, as `proto train minecraft --target reward --processes N` runs them, a process for each core; A2C also
with as many worlds as suit it, and with an executor that reads the map once (`--blocks 1`) instead of twice. The peer
is Stable-Baselines3's A2C with its MultiInputPolicy (an MLP of two layers of 64 over the flattened observation) on the
same environment: with one world, as it comes, and with as many worlds as the paper has, stepped one after another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from benchmarks.timing import Timed, Watch, unwatched
from program_guided.learning.a2c import A2C
from program_guided.learning.learner import AllReduce, alone
from program_guided.learning.ppo import PPO
from program_guided.learning.settings import A2CSettings, PPOSettings
from program_guided.learning.trainer import launch
from program_guided.models.config import ModelConfig, PaperConfig, PlusConfig
from program_guided.registry import build_model
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft

__all__ = ["Options", "measure", "print_figures"]

PEERS = {1: "Stable-Baselines3 A2C, MLP, one world", A2CSettings().num_envs: "Stable-Baselines3 A2C, MLP, 64 worlds"}
MANY = A2CSettings(num_envs=4096, num_steps=20)
PROCESSES = os.cpu_count() or 1
ROUNDS = 3
"""Measurements take turns so often, so that a busy moment of the machine meets all."""


@dataclass(frozen=True)
class Options(Timed):
    """Options of the measurement."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        return measure(self.seconds, show)


def measure(seconds: float, show: Watch = unwatched) -> dict[str, Any]:
    """All figures; each measurement runs about so many seconds. `show` is called with how many turns are done."""
    plus, paper = PlusConfig(memory=False), PaperConfig(memory=False)
    runs: dict[str, Callable[[float], float]] = {
        "PPO, plus": partial(_ours, plus, PPOSettings(curriculum_threshold=0.0)),
        "A2C, plus, 4,096 worlds": partial(_ours, plus, MANY),
        "A2C, plus, 4,096 worlds, --blocks 1": partial(_ours, replace(plus, blocks=1), MANY),
        "A2C, paper, 64 worlds (the paper's)": partial(_ours, paper, A2CSettings()),
    }
    ours = tuple(runs)
    runs |= {name: peer for worlds, name in PEERS.items() if (peer := _peer(worlds)) is not None}
    speeds = dict.fromkeys(runs, 0.0)
    for number, name in enumerate(list(runs) * ROUNDS):
        show("measured", number, len(runs) * ROUNDS)
        speeds[name] = max(speeds[name], runs[name](seconds / ROUNDS))
    ratios = {name: {peer: speeds[name] / speeds[peer] for peer in PEERS.values() if peer in speeds} for name in ours}
    return {"cores": PROCESSES, "steps_per_second": speeds, "times_faster_than": ratios}


def _speed(run: Callable[[], int], seconds: float, all_reduce: AllReduce = alone) -> float:
    """`run` takes some steps and says how many; all processes stop together."""
    run()
    steps, begin = 0, time.perf_counter()
    while steps == 0 or all_reduce(torch.tensor(time.perf_counter() - begin)) < seconds:
        steps += run()
    return steps / (time.perf_counter() - begin)


def _ours(config: ModelConfig, settings: PPOSettings | A2CSettings, seconds: float) -> float:
    speed: float = launch(partial(_learn, config=config, settings=settings, seconds=seconds), PROCESSES)
    return speed


def _learn(fabric: Any, config: ModelConfig, settings: PPOSettings | A2CSettings, seconds: float) -> float:
    """The work of each process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    share = (fabric.global_rank, fabric.world_size)
    all_reduce = partial(fabric.all_reduce, reduce_op="mean") if fabric.world_size > 1 else alone
    name, task = ("plus" if isinstance(config, PlusConfig) else "paper"), Minecraft()
    model = build_model(name, config, task.sizes(), replace(Minecraft.reader, names=name == "plus"))
    worlds = task.worlds(load_split("train"), settings.num_envs // share[1], variants=settings.variants)
    kind: Any = PPO if isinstance(settings, PPOSettings) else A2C
    training = kind(model, worlds, settings, 0, share, all_reduce)

    def run() -> int:
        training.step()
        return settings.samples

    return _speed(run, seconds, all_reduce)


def _peer(worlds: int) -> Callable[[float], float] | None:
    try:
        import gymnasium
        import stable_baselines3
        from stable_baselines3.common.env_util import make_vec_env

        from program_guided.tasks.minecraft.registration import MINECRAFT, register
    except ImportError:
        return None
    register()
    settings = A2CSettings()
    made = make_vec_env(lambda: gymnasium.make(MINECRAFT), n_envs=worlds, seed=0)
    model = stable_baselines3.A2C("MultiInputPolicy", made, n_steps=settings.num_steps, seed=0, device="cpu")
    steps = 10 * worlds * settings.num_steps

    def run() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return partial(_speed, run)


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    from rich.console import Console
    from rich.table import Table

    speeds, ratios = figures["steps_per_second"], figures["times_faster_than"]
    peers = [name for name in speeds if name not in ratios]
    table = Table(title=f"learning from reward, {figures['cores']} cores", title_justify="left", box=None)
    for heading in ("", "steps/s", *(f"against {peer.split(', ')[-1]} of the peer" for peer in peers)):
        table.add_column(heading, justify="right" if heading else "left")
    for name, speed in speeds.items():
        against = (f"{ratios[name][peer]:.1f}x" if name in ratios else "" for peer in peers)
        table.add_row(name, f"{speed:,.0f}", *against)
    Console().print(table)
    if not peers:
        print("Stable-Baselines3 is not installed; it comes with the extra `bench`")
