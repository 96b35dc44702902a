"""Agents that need no learning, and how any agent runs programs to their end. No torch here.

runs = run_programs(worlds, OracleAgent())
runs.finished.mean(), runs.steps
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from program_guided.learning.worlds import Outcome, Worlds, pointed_rows

__all__ = ["ANY_LENGTH", "Agent", "OracleAgent", "RandomAgent", "Runs", "completion_by_length", "run_programs"]

LENGTHS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)
"""Bounds of the classes of program length, in tokens."""
ANY_LENGTH = 10**6


class Agent(Protocol):
    """Chooses an action in every world."""

    def act(self, worlds: Worlds) -> NDArray[np.int64]: ...


class OracleAgent:
    """Any best action, the first in the order of the actions."""

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        best, _ = worlds.best_actions()
        return best.argmax(axis=1)


class RandomAgent:
    """Any action that the pointed routine allows."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        mask = worlds.observe().mask
        return (self._random.random(mask.shape) * mask).argmax(axis=1)


@dataclass(frozen=True)
class Runs:
    """Outcomes of programs."""

    outcome: NDArray[np.int8]
    steps: NDArray[np.int32]
    failed_at: NDArray[np.int64]
    """The routine at which a program failed or was truncated; -1 where it was finished."""
    begun: Counter[int]
    """Routines begun, by operation."""

    @property
    def finished(self) -> NDArray[np.bool_]:
        return self.outcome == Outcome.FINISHED


def run_programs(
    worlds: Worlds, agent: Agent, watch: Callable[[Worlds, NDArray[np.int64]], None] | None = None
) -> Runs:
    """Run worlds to the end; `watch` sees them and the actions before each step."""
    begun: Counter[int] = Counter()
    while (worlds.outcome == Outcome.RUNNING).any():
        fresh = (worlds.outcome == Outcome.RUNNING) & ((worlds.time == 0) | (worlds.ended >= 0))
        begun.update(worlds.programs.operation[pointed_rows(worlds)[fresh]].tolist())
        actions = agent.act(worlds)
        if watch is not None:
            watch(worlds, actions)
        worlds.step(actions)
    outcome = worlds.outcome.copy()
    at_fault = np.where(outcome == Outcome.TIMEOUT, worlds.routine, worlds.previous)
    return Runs(outcome, worlds.time.copy(), np.where(outcome == Outcome.FINISHED, -1, at_fault), begun)


def completion_by_length(tokens: NDArray[np.int64], finished: NDArray[np.floating[Any]]) -> list[dict[str, Any]]:
    """Completion, in %, by program length in tokens."""
    found = []
    for low, high in zip((0, *LENGTHS), (*LENGTHS, ANY_LENGTH), strict=True):
        inside = (tokens > low) & (tokens <= high)
        if inside.any():
            share = float(100 * finished[inside].mean())
            found.append({"more_than": low, "up_to": high, "programs": int(inside.sum()), "completion": share})
    return found
