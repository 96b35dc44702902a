"""Learners and evaluation of tasks in a world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from program_guided.language.printer import count_tokens
from program_guided.language.table import compile_program
from program_guided.learning.a2c import A2C
from program_guided.learning.agents import Agent, Runs, completion_by_length, run_programs
from program_guided.learning.imitation import Imitation
from program_guided.learning.learner import AllReduce, Learner, Share
from program_guided.learning.ppo import PPO
from program_guided.learning.settings import A2CSettings, ImitationSettings, PPOSettings, Settings, Target
from program_guided.learning.worlds import Outcome, Worlds
from program_guided.models.model import Model

if TYPE_CHECKING:
    from program_guided.tasks.world_task import BatchWorldTask

__all__ = ["ended_to", "evaluate_entries", "figures_of", "world_learner"]

LEARNERS: Mapping[type[Settings], type[Any]] = {ImitationSettings: Imitation, PPOSettings: PPO, A2CSettings: A2C}


def world_learner(
    model: Model, worlds: Worlds, settings: Any, target: Target, seed: int, share: Share, all_reduce: AllReduce
) -> Learner[Any]:
    """The learner of some settings."""
    more = {"each_routine": True} if target == "progress" else {}
    learner: Learner[Any] = LEARNERS[type(settings)](model, worlds, settings, seed, share, all_reduce, **more)
    return learner


def evaluate_entries(
    task: BatchWorldTask,
    agent: Agent,
    entries: Sequence[Any],
    variants: int = 1,
    progress: Callable[[int], None] = lambda ended: None,
) -> dict[str, Any]:
    """Run every program once in each of its first worlds; `progress` is called with how many have ended."""
    runs = []
    for variant in range(variants):
        worlds = task.worlds(entries, len(entries), variants=variant + 1)
        for number in range(len(entries)):
            worlds.place(number, number, variant)
        runs.append(run_programs(worlds, agent, ended_to(progress, variant * len(entries))))
    return figures_of(task, entries, runs, worlds)


def ended_to(progress: Callable[[int], None], before: int) -> Callable[[Worlds, Any], None]:
    """For `run_programs`: shows how many programs have ended, `before` among them."""
    return lambda worlds, actions: progress(before + int((worlds.outcome != Outcome.RUNNING).sum()))


def figures_of(task: BatchWorldTask, entries: Sequence[Any], runs: Sequence[Runs], worlds: Worlds) -> dict[str, Any]:
    """Completion in all, by operation and by length."""
    outcome = np.concatenate([run.outcome for run in runs])
    finished = np.concatenate([run.finished for run in runs])
    counts = {worlds.outcome_name(int(code)): int((outcome == code).sum()) for code in np.unique(outcome)}
    tokens = np.array([count_tokens(entry.program, task.domain) for entry in entries])
    return {
        "programs": len(entries),
        "worlds": len(runs),
        "completion": float(100 * finished.mean()),
        "mean_steps": float(np.concatenate([run.steps for run in runs]).mean()),
        "outcomes": counts,
        "routines": _routines(task, entries, runs, worlds),
        "tokens": completion_by_length(tokens, finished.reshape(-1, len(entries)).mean(axis=0)),
    }


def _routines(task: BatchWorldTask, entries: Sequence[Any], runs: Sequence[Runs], worlds: Worlds) -> dict[str, Any]:
    """For each operation: how often it was begun, and how often a program ended in it, by the reason."""
    begun: Counter[int] = sum((run.begun for run in runs), Counter())
    failed: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for number in np.flatnonzero(~run.finished):
            table = compile_program(entries[int(number)].program, task.domain)
            reason = worlds.outcome_name(int(run.outcome[number]))
            failed[table.calls[int(run.failed_at[number])].operation, reason] += 1
    return {
        operation.name: {
            "begun": begun[row],
            "failed": {reason: count for (name, reason), count in failed.items() if name == operation.name},
        }
        for row, operation in enumerate(task.domain.operations)
        if begun[row]
    }
