"""How well an agent carries out the programs of a split: how many are finished, and which routines fail and why.

figures = evaluate(agent, load_split("longer"), worlds=4)
figures["completion"], figures["routines"]["mine"], figures["tokens"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.language.printer import count_tokens
from program_guided.language.table import compile_program
from program_guided.tasks.minecraft.agents import Agent, Rollout, pointed, rollout
from program_guided.tasks.minecraft.batch import DEFAULT_SIDES, Batch, Entry
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.rules import Outcome

__all__ = ["ANY_LENGTH", "evaluate"]

LENGTHS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)
"""Bounds of the classes of program length, in tokens."""
ANY_LENGTH = 10**6


def evaluate(
    agent: Agent,
    entries: Sequence[Entry],
    *,
    worlds: int = 1,
    sides: tuple[int, int] = DEFAULT_SIDES,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Run every program once in each of its first `worlds` worlds."""
    begun: Counter[str] = Counter()

    def watch(batch: Batch, actions: NDArray[np.int64]) -> None:
        fresh = (batch.outcome == Outcome.RUNNING) & ((batch.worlds.time == 0) | (batch.ended >= 0))
        operations = batch.programs.operation[pointed(batch)[fresh]]
        begun.update(DOMAIN.operations[number].name for number in operations)

    runs = []
    for variant in range(worlds):
        runs.append(rollout(entries, agent, variant=variant, sides=sides, watch=watch))
        progress(variant + 1)
    together = Rollout(*(np.concatenate([getattr(run, name) for run in runs]) for name in Rollout.__annotations__))
    return {
        **together.figures(),
        "programs": len(entries),
        "worlds": worlds,
        "routines": _routines(entries, together, begun),
        "tokens": _lengths(entries, together),
    }


def _routines(entries: Sequence[Entry], run: Rollout, begun: Counter[str]) -> dict[str, Any]:
    """For each operation: how often it was begun, and how often a program ended in it, by the reason."""
    failed: Counter[tuple[str, str]] = Counter()
    for number in np.flatnonzero(~run.finished):
        table = compile_program(entries[int(number) % len(entries)].program, DOMAIN)
        failed[table.calls[int(run.failed_at[number])].operation, str(Outcome(int(run.outcome[number])))] += 1
    return {
        operation.name: {
            "begun": begun[operation.name],
            "failed": {reason: count for (name, reason), count in failed.items() if name == operation.name},
        }
        for operation in DOMAIN.operations
        if begun[operation.name]
    }


def _lengths(entries: Sequence[Entry], run: Rollout) -> list[dict[str, Any]]:
    """Completion by program length in tokens."""
    tokens = np.array([count_tokens(entry.program, DOMAIN) for entry in entries])
    finished = run.finished.reshape(-1, len(entries)).mean(axis=0)
    found = []
    for low, high in zip((0, *LENGTHS), (*LENGTHS, ANY_LENGTH), strict=True):
        inside = (tokens > low) & (tokens <= high)
        if inside.any():
            share = float(100 * finished[inside].mean())
            found.append({"more_than": low, "up_to": high, "programs": int(inside.sum()), "completion": share})
    return found
