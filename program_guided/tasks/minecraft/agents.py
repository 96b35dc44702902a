"""Agents that need no learning, and how any agent is run to the end of its programs.

result = rollout(entries, PlannerAgent())
result.finished.mean(), result.steps
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.minecraft.batch import DEFAULT_SIDES, Batch, Entry
from program_guided.tasks.minecraft.rules import Action, Operation, Outcome

__all__ = [
    "AGENTS",
    "Agent",
    "PlannerAgent",
    "PriorAgent",
    "RandomAgent",
    "Rollout",
    "WalkingAgent",
    "pointed",
    "rollout",
]

Actions = NDArray[np.int64]


class Agent(Protocol):
    """Chooses an action in every world of a batch."""

    def act(self, batch: Batch) -> Actions: ...


class PlannerAgent:
    """The oracle: any best action, the first in the order of the actions."""

    def act(self, batch: Batch) -> Actions:
        best, _ = batch.best_actions()
        return best.argmax(axis=1)


class RandomAgent:
    """Any action that the pointed routine allows."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, batch: Batch) -> Actions:
        return (self._random.random(batch.view.mask.shape) * batch.view.mask).argmax(axis=1)


class WalkingAgent:
    """Knows the answer of every condition and does everything else at random."""

    def __init__(self, seed: int = 0) -> None:
        self._random = RandomAgent(seed)

    def act(self, batch: Batch) -> Actions:
        return np.where(_at_condition(batch), PlannerAgent().act(batch), self._random.act(batch))


class PriorAgent:
    """Plans like the oracle, but answers a condition by what is usual for its words, without looking."""

    def __init__(self, usual: Mapping[tuple[int, ...], bool]) -> None:
        self._usual = usual

    def act(self, batch: Batch) -> Actions:
        actions = PlannerAgent().act(batch)
        for world in np.flatnonzero(_at_condition(batch) & (batch.outcome == Outcome.RUNNING)):
            usual = self._usual.get(condition_key(batch, world), True)
            actions[world] = Action.TRUE if usual else Action.FALSE
        return actions


AGENTS: Mapping[str, Callable[[int], Agent]] = {"planner": lambda seed: PlannerAgent(), "random": RandomAgent}
"""Agents a user can name, made from a seed."""


def pointed(batch: Batch) -> NDArray[np.int64]:
    """The row of the program set that each world points at (its last one where the program is over)."""
    programs, worlds = batch.programs, batch.worlds
    routine = np.minimum(worlds.routine, programs.size[worlds.program] - 1)
    return (programs.first[worlds.program] + routine).astype(np.int64)


def _at_condition(batch: Batch) -> NDArray[np.bool_]:
    return batch.programs.operation[pointed(batch)] >= Operation.AGENT


def condition_key(batch: Batch, world: int | np.intp) -> tuple[int, ...]:
    """The words of the condition a world points at, as numbers: operation, kind, comparison, number."""
    row = pointed(batch)[world]
    return (int(batch.programs.operation[row]), *(int(number) for number in batch.programs.arguments[row]))


@dataclass(frozen=True)
class Rollout:
    """How every entry went."""

    outcome: NDArray[np.int8]
    steps: NDArray[np.int32]
    failed_at: NDArray[np.int16]
    """The routine at which a program failed or ran out of time; -1 where it was finished."""

    @property
    def finished(self) -> NDArray[np.bool_]:
        return self.outcome == Outcome.FINISHED

    def figures(self) -> dict[str, Any]:
        """Counts and means."""
        counts = {str(outcome): int((self.outcome == outcome).sum()) for outcome in Outcome}
        return {
            "programs": len(self.outcome),
            "completion": float(100 * self.finished.mean()),
            "mean_steps": float(self.steps.mean()),
            "outcomes": {outcome: count for outcome, count in counts.items() if count},
        }


def rollout(
    entries: Sequence[Entry],
    agent: Agent,
    *,
    variant: int = 0,
    sides: tuple[int, int] = DEFAULT_SIDES,
    watch: Callable[[Batch, Actions], None] | None = None,
) -> Rollout:
    """Run every entry once, in its own world; `watch` sees the batch and the actions before each step."""
    batch = Batch(entries, len(entries), variants=variant + 1, sides=sides)
    for number in range(len(entries)):
        batch.place(number, number, variant)
    while (batch.outcome == Outcome.RUNNING).any():
        actions = agent.act(batch)
        if watch is not None:
            watch(batch, actions)
        batch.step(actions)
    worlds = batch.worlds
    at_fault = np.where(worlds.outcome == Outcome.TIMEOUT, worlds.routine, worlds.previous)
    failed_at = np.where(worlds.outcome == Outcome.FINISHED, np.int16(-1), at_fault)
    return Rollout(worlds.outcome.copy(), worlds.time.copy(), failed_at)
