"""Agents of the world that need no learning, and rollouts of any agent on the programs of a split.

runs = rollout(entries, PlannerAgent())
runs.finished.mean(), runs.steps
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.learning.agents import Agent, OracleAgent, RandomAgent, Runs, run_programs
from program_guided.learning.worlds import pointed_rows
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.world.batch import DEFAULT_SIDES, Batch
from program_guided.tasks.minecraft.world.rules import Action, Operation, Outcome

__all__ = [
    "AGENTS",
    "PlannerAgent",
    "PriorAgent",
    "RandomAgent",
    "WalkingAgent",
    "at_condition",
    "condition_key",
    "placed",
    "rollout",
]

Actions = NDArray[np.int64]
PlannerAgent = OracleAgent
"""The oracle of the world: the first of the best actions."""


class WalkingAgent:
    """Answers like the oracle and acts at random at behaviours."""

    def __init__(self, seed: int = 0) -> None:
        self._random = RandomAgent(seed)

    def act(self, batch: Any) -> Actions:
        asked = batch.programs.operation[pointed_rows(batch)] >= Operation.AGENT
        return np.where(asked, PlannerAgent().act(batch), self._random.act(batch))


class PriorAgent:
    """Plans like the oracle, but answers a condition by its prior: the more frequent answer to its words."""

    def __init__(self, answers: Mapping[tuple[int, ...], bool]) -> None:
        self._answers = answers

    def act(self, batch: Any) -> Actions:
        actions = PlannerAgent().act(batch)
        for world in np.flatnonzero(at_condition(batch) & (batch.outcome == Outcome.RUNNING)):
            answer = self._answers.get(condition_key(batch, world), True)
            actions[world] = Action.TRUE if answer else Action.FALSE
        return actions


AGENTS: Mapping[str, Callable[[int], Agent]] = {"planner": lambda seed: PlannerAgent(), "random": RandomAgent}
"""Name -> function that makes the agent from a seed."""


def at_condition(batch: Batch) -> NDArray[np.bool_]:
    """The worlds that point at a condition."""
    operation = batch.programs.operation[pointed_rows(batch)]
    return (operation >= Operation.AGENT) & (operation < Operation.COUNT)


def condition_key(batch: Batch, world: int | np.intp) -> tuple[int, ...]:
    """The words of the pointed condition of a world, as numbers: operation, kind, comparison, number (-1 if it is a
    result)."""
    row, programs = pointed_rows(batch)[world], batch.programs
    kind, comparison, number = (int(argument) for argument in programs.arguments[row])
    return int(programs.operation[row]), kind, comparison, -1 if programs.inputs[row, 1] >= 0 else number


def rollout(
    entries: Sequence[Entry],
    agent: Agent,
    *,
    variant: int = 0,
    sides: tuple[int, int] = DEFAULT_SIDES,
    watch: Callable[[Any, Actions], None] | None = None,
) -> Runs:
    """Run every entry once, in its own world; `watch` is called with the batch and the actions before each step."""
    return run_programs(placed(entries, variant, sides), agent, watch)


def placed(entries: Sequence[Entry], variant: int = 0, sides: tuple[int, int] = DEFAULT_SIDES) -> Batch:
    """A batch with every entry at the start of its program, in its own world."""
    batch = Batch(entries, len(entries), variants=variant + 1, sides=sides)
    for number in range(len(entries)):
        batch.place(number, number, variant)
    return batch
