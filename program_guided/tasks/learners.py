"""Learners and evaluation of tasks in a world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from program_guided.language.printer import count_tokens
from program_guided.language.table import compile_program
from program_guided.learning.a2c import A2C
from program_guided.learning.agents import Agent, Runs, completion_by_length, run_programs
from program_guided.learning.imitation import Imitation
from program_guided.learning.learner import Agree, Learner, Share
from program_guided.learning.ppo import PPO
from program_guided.learning.settings import A2CSettings, ImitationSettings, PPOSettings, Settings, Target
from program_guided.learning.worlds import Worlds
from program_guided.models.model import Model

if TYPE_CHECKING:
    from program_guided.tasks.world_task import BatchWorldTask

__all__ = ["evaluate_entries", "figures_of", "world_learner"]

LEARNERS: Mapping[type[Settings], type[Any]] = {ImitationSettings: Imitation, PPOSettings: PPO, A2CSettings: A2C}


def world_learner(
    model: Model, worlds: Worlds, settings: Any, target: Target, seed: int, share: Share, agree: Agree
) -> Learner[Any]:
    """The learner of some settings."""
    more = {"each_routine": True} if target == "progress" else {}
    learner: Learner[Any] = LEARNERS[type(settings)](model, worlds, settings, seed, share, agree, **more)
    return learner


def evaluate_entries(task: BatchWorldTask, agent: Agent, entries: Sequence[Any], variants: int = 1) -> dict[str, Any]:
    """Run every program once in each of its first worlds."""
    runs = []
    for variant in range(variants):
        worlds: Any = task.worlds(entries, len(entries), variants=variant + 1)
        for number in range(len(entries)):
            worlds.place(number, number, variant)
        runs.append(run_programs(worlds, agent))
    return figures_of(task, entries, runs, worlds)


def figures_of(task: BatchWorldTask, entries: Sequence[Any], runs: Sequence[Runs], worlds: Any) -> dict[str, Any]:
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


def _routines(task: BatchWorldTask, entries: Sequence[Any], runs: Sequence[Runs], worlds: Any) -> dict[str, Any]:
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
