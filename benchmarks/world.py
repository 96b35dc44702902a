"""Speed of the 2D Minecraft world on one core, beside MiniGrid and EnvPool's MiniGrid.

The unit is environment steps per second. *Step alone*: the kernel, called from Python on worlds that all run (finished
ones are replaced between the timed calls). *Environment*: the vector environment with random actions: observe, step,
and new episodes in feasible worlds. Those worlds come from a pool that is filled before (and timed separately), because
random agents end an episode every few steps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Timed, Watch, check_counts, one_core, unwatched
from program_guided.tasks.minecraft.domain import ACTIONS
from program_guided.tasks.minecraft.environment import MinecraftVectorEnv
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["Options", "measure", "print_figures"]

POOL_VARIANTS = 4
ACTION_ROWS = 256
PEER_WORLDS = {"minigrid": 16, "envpool": 256}
PEER_ENVIRONMENT = "MiniGrid-Empty-8x8-v0"


@dataclass(frozen=True)
class Options(Timed):
    """Options of the benchmark."""

    batch: int = 1024
    """Worlds stepped at once."""
    memory_steps: int = 100_000_000
    """Steps over which memory must stay constant."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        check_counts(batch=self.batch)
        check_counts(minimum=0, memory_steps=self.memory_steps)
        return measure(self.seconds, self.batch, self.memory_steps, show)


def measure(seconds: float, batch: int, memory_steps: int, show: Watch = unwatched) -> dict[str, Any]:
    """All figures; each measurement runs for about `seconds`."""
    with one_core():
        figures: dict[str, Any] = {"batch": batch, "cores": 1}
        worlds, fill = _filled_environment(batch)
        runs: dict[str, Callable[[], Any]] = {
            "step_alone": lambda: _step_alone(batch, seconds),
            "environment": lambda: _environment(worlds, seconds, copy=False),
            "environment_copying_observations": lambda: _environment(worlds, seconds, copy=True),
            "minigrid": lambda: _peer(_minigrid, seconds),
            "envpool": lambda: _peer(_envpool, seconds),
            "labels": lambda: _labels(batch, seconds),
            "memory": lambda: _memory(worlds, memory_steps),
        }
        found = {}
        for number, (name, run) in enumerate(runs.items()):
            show("measured", number, len(runs))
            found[name] = run()
        show("measured", len(runs), len(runs))
        figures["worlds_made_per_second"] = fill
        figures["planner_labels_per_second"], figures["memory"] = found.pop("labels"), found.pop("memory")
        figures["steps_per_second"] = found
    ours = figures["steps_per_second"]["environment"]
    peers = {peer: figures["steps_per_second"][peer] for peer in ("minigrid", "envpool")}
    figures["times_faster_than"] = {peer: ours / speed if speed else None for peer, speed in peers.items()}
    return figures


def _random_actions(batch: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(0, len(ACTIONS), (ACTION_ROWS, batch))


def _repeat(run: Callable[[int], int], seconds: float) -> float:
    """Steps per second; `run(number)` returns the number of steps it did."""
    run(0)
    steps, number, begin = 0, 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        steps += run(number)
        number += 1
    return steps / (time.perf_counter() - begin)


def _filled_environment(batch: int) -> tuple[MinecraftVectorEnv, float]:
    """An environment with a full pool of worlds, and the number of worlds made per second."""
    environment = MinecraftVectorEnv(batch, variants=POOL_VARIANTS, copy=False)
    environment.reset(seed=0)
    inner, begin, made = environment.batch, time.perf_counter(), 0
    for program in range(len(inner.entries)):
        for variant in range(POOL_VARIANTS):
            made += inner.possible(program, variant)
    return environment, made / (time.perf_counter() - begin)


def _step_alone(count: int, seconds: float) -> float:
    """Steps per second inside of `Batch.step`; every world runs in every step counted."""
    batch, actions = Batch(load_split("test"), count, variants=POOL_VARIANTS), _random_actions(count)
    batch.reset()
    for row in actions:
        batch.step_or_reset(row)
    inside, steps, begin = 0.0, 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for row in actions:
            batch.reset(batch.outcome != 0)
            started = time.perf_counter()
            batch.step(row)
            inside += time.perf_counter() - started
            steps += count
    return steps / inside


def _environment(environment: MinecraftVectorEnv, seconds: float, copy: bool) -> float:
    environment.copy = copy
    environment.reset(seed=0)
    actions = _random_actions(environment.num_envs)

    def run(number: int) -> int:
        for row in actions:
            environment.step(row)
        return actions.size

    return _repeat(run, seconds)


def _labels(count: int, seconds: float) -> float:
    """Labels (best actions) per second, along the planner's own trajectory."""
    batch = Batch(load_split("test"), count, variants=POOL_VARIANTS)
    batch.reset()

    def run(number: int) -> int:
        best, _ = batch.best_actions()
        batch.step_or_reset(best.argmax(axis=1))
        return count

    return _repeat(run, seconds)


def _memory(environment: MinecraftVectorEnv, steps: int) -> dict[str, Any]:
    """Resident memory before and after a number of steps."""
    environment.copy = True
    environment.reset(seed=1)
    actions = _random_actions(environment.num_envs)
    for row in actions:
        environment.step(row)
    before, done = _resident(), 0
    while done < steps:
        for row in actions:
            environment.step(row)
        done += actions.size
    return {"steps": done, "megabytes_before": before, "megabytes_after": _resident()}


def _resident() -> float | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return None


def _peer(measure_peer: Callable[[float], float], seconds: float) -> float | None:
    """A peer's steps per second; None if it is not installed."""
    try:
        return measure_peer(seconds)
    except ImportError:
        return None


def _minigrid(seconds: float) -> float:
    import gymnasium
    import minigrid  # noqa: F401  # registers its environments

    count = PEER_WORLDS["minigrid"]
    environment = gymnasium.make_vec(PEER_ENVIRONMENT, count, vectorization_mode="sync")
    environment.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 7, (ACTION_ROWS, count))

    def run(number: int) -> int:
        environment.step(actions[number % ACTION_ROWS])
        return count

    return _repeat(run, seconds)


def _envpool(seconds: float) -> float:
    import envpool

    count = PEER_WORLDS["envpool"]
    environment = envpool.make_gymnasium(PEER_ENVIRONMENT, num_envs=count, num_threads=1)
    environment.reset()
    actions = np.random.default_rng(0).integers(0, 7, (ACTION_ROWS, count)).astype(np.int32)

    def run(number: int) -> int:
        environment.step(actions[number % ACTION_ROWS])
        return count

    return _repeat(run, seconds)


def print_figures(figures: dict[str, Any]) -> None:
    """Print the figures as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"one core, batch {figures['batch']}", title_justify="left")
    for heading in ("", "steps/s", "ours is"):
        table.add_column(heading, justify="left" if not heading else "right")
    names = {
        "step_alone": "step alone",
        "environment": "observe + step + new episodes",
        "environment_copying_observations": "… copying observations",
        "minigrid": "MiniGrid, SyncVectorEnv",
        "envpool": "EnvPool's MiniGrid",
    }
    for key, name in names.items():
        speed, ratio = figures["steps_per_second"][key], figures["times_faster_than"].get(key)
        shown = f"{speed:,.0f}" if speed else "not installed (make bench)"
        table.add_row(name, shown, f"{ratio:,.0f}x" if ratio else "")
    console = Console()
    console.print(table)
    console.print(f"worlds made, each tried by the planner: {figures['worlds_made_per_second']:,.0f} a second")
    console.print(f"planner's labels: {figures['planner_labels_per_second']:,.0f} a second")
    memory = figures["memory"]
    if memory["megabytes_before"] is not None:
        before, after = memory["megabytes_before"], memory["megabytes_after"]
        console.print(f"memory over {memory['steps']:,} steps: {before:.0f} MB before, {after:.0f} MB after")
