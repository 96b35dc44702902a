"""Statistics of the splits: lengths, control flow, plans, conditions, and the completion of agents without
perception."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from program_guided.language.printer import count_control, count_tokens
from program_guided.language.table import Kind, compile_program
from program_guided.tasks.minecraft.agents import PriorAgent, RandomAgent, WalkingAgent, rollout
from program_guided.tasks.minecraft.building import Conditions, condition_traces
from program_guided.tasks.minecraft.domain import COMPARATORS, DOMAIN, KINDS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.splits import DATA_FLOW, SIZES, load_split
from program_guided.tasks.minecraft.world.rules import Operation

__all__ = ["condition_shares", "describe"]

MIN_MET = 20
"""Minimum number of occurrences of a kind of condition whose share is reported."""


def describe() -> dict[str, Any]:
    """Figures of every split; prior answers are those of the train split in the same language."""
    plain, data_flow = (_prior_answers(condition_traces(load_split(name))[0]) for name in ("train", "data-flow-train"))
    return {name: _describe(load_split(name), data_flow if name in DATA_FLOW else plain) for name in SIZES}


def condition_shares(traces: Sequence[Conditions]) -> dict[str, dict[str, float]]:
    """Number of occurrences of each kind of condition, and the percentage that was true."""
    answers: dict[str, list[bool]] = defaultdict(list)
    for key, holds in (met for trace in traces for met in trace):
        operation, thing, comparison, _ = key
        name = DOMAIN.operations[operation].name
        if operation >= Operation.GREATER:
            answers[f"{name}(...)"].append(holds)
            continue
        answers[f"{name}[...]"].append(holds)
        answers[f"{name}[{KINDS[thing]}]"].append(holds)
        if name != "is_there":
            answers[f"{name}[...] {COMPARATORS[comparison]}"].append(holds)
    return {kind: {"met": len(given), "true": 100 * sum(given) / len(given)} for kind, given in sorted(answers.items())}


def _prior_answers(traces: Sequence[Conditions]) -> dict[tuple[int, ...], bool]:
    """The more frequent answer to each condition, by its words."""
    votes = Counter[tuple[int, ...]]()
    for key, holds in (met for trace in traces for met in trace):
        votes[key] += 1 if holds else -1
    return {key: vote >= 0 for key, vote in votes.items()}


def _describe(entries: Sequence[Entry], prior: dict[tuple[int, ...], bool]) -> dict[str, Any]:
    traces, steps = condition_traces(entries)
    tables = [compile_program(entry.program, DOMAIN) for entry in entries]
    shares = condition_shares(traces)
    true = [share["true"] for share in shares.values() if share["met"] >= MIN_MET]
    operations = Counter(call.operation for table in tables for call in table.calls)
    return {
        "programs": len(entries),
        "tokens": _spread([count_tokens(entry.program, DOMAIN) for entry in entries]),
        "routines": _spread([len(table) for table in tables]),
        "control_flows": _spread([count_control(entry.program.body) for entry in entries]),
        "plan_steps": _spread(steps.tolist()),
        "operations": dict(sorted(operations.items(), key=itemgetter(1), reverse=True)),
        "if_routines": int(sum((table.kind == Kind.IF).sum() for table in tables)),
        "while_routines": int(sum((table.kind == Kind.WHILE).sum() for table in tables)),
        "conditions": {
            "min_true": min(true),
            "max_true": max(true),
            "true": 100 * float(np.mean([holds for trace in traces for _, holds in trace])),
            "kinds": shares,
        },
        "finished_by": {
            "random": _completion(entries, RandomAgent()),
            "walks_at_random": _completion(entries, WalkingAgent()),
            "answers_by_prior": _completion(entries, PriorAgent(prior)),
        },
    }


def _completion(entries: Sequence[Entry], agent: RandomAgent | WalkingAgent | PriorAgent) -> float:
    return float(100 * rollout(entries, agent).finished.mean())


def _spread(values: Sequence[int]) -> dict[str, Any]:
    counts = np.bincount(values)
    return {
        "mean": float(np.mean(values)),
        "minimum": int(min(values)),
        "maximum": int(max(values)),
        "histogram": counts.tolist(),
    }
