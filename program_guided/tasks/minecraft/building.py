"""Building of the splits: programs are sampled, solved by the planner, balanced, and unique.

Balanced means that answers cannot be guessed: a candidate is rejected if it would move the share of true answers of a
kind of condition further from a half. All random draws have fixed seeds, so that the files are reproduced byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from string import ascii_lowercase

import numpy as np

from program_guided.errors import DataError
from program_guided.language.printer import count_control, count_tokens
from program_guided.language.sampler import Shape, between, sample_program
from program_guided.language.syntax import Block, Call, If, Node, Program, calls
from program_guided.tasks.minecraft.agents import PlannerAgent, at_condition, condition_key, rollout
from program_guided.tasks.minecraft.domain import DOMAIN, LARGEST_COUNT
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.sampler import MAX_COUNTED, SHAPES, DataFlowVocabulary, MinecraftVocabulary
from program_guided.tasks.minecraft.splits import DATA_FLOW, SIZES
from program_guided.tasks.minecraft.world.batch import DEFAULT_SIDES, Batch
from program_guided.tasks.minecraft.world.rules import Action, Outcome

__all__ = ["Conditions", "build_splits", "condition_traces", "programs_of_length", "programs_with_numbers"]

CHUNK = 500
SHORTEST, LONGEST = 40, 400
"""Bounds of the tokens of `programs_of_length`."""
SHORTEST_PLAN = 3
LONGEST_TRAIN, MAX_TRAIN_CONTROL = 80, 4
TWICE_TRAIN = (80, 120)
"""Tokens of test-complex; train's programs have 50 on average."""
FROM_HALF = 0.12
"""Distance of the share of true answers from a half above which candidates are rejected."""

Conditions = list[tuple[tuple[int, ...], bool]]
"""Conditions in the order of an execution: their words, and True if they held."""


@dataclass
class Balance:
    """Counts of true and of all answers, by operation, by operation and thing, by operation and comparison."""

    true: Counter[tuple[object, ...]] = field(default_factory=Counter)
    all: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def accepts(self, conditions: Conditions) -> bool:
        true, total = Counter(self.true), Counter(self.all)
        _count(conditions, true, total)
        return all(
            self._distance(self.true, self.all, kind) >= self._distance(true, total, kind)
            or self._distance(true, total, kind) <= FROM_HALF
            for key, _ in conditions
            for kind in _kinds(key)
        )

    def add(self, conditions: Conditions) -> None:
        _count(conditions, self.true, self.all)

    @staticmethod
    def _distance(
        true: Counter[tuple[object, ...]], total: Counter[tuple[object, ...]], kind: tuple[object, ...]
    ) -> float:
        """Distance of the share of true answers from a half, with pseudocounts."""
        return abs((true[kind] + 5) / (total[kind] + 10) - 0.5)


def build_splits(progress: Callable[[str, int], None] = lambda name, done: None) -> dict[str, Sequence[Entry]]:
    """All splits, in the order of `SIZES`; `progress` is called with a split and its number of entries."""
    taken: set[str] = set()
    splits: dict[str, Sequence[Entry]] = {}
    for name, size in SIZES.items():
        balance, entries = Balance(), list[Entry]()
        for entry, conditions in _candidates(name):
            if entry.text in taken or not balance.accepts(conditions):
                continue
            taken.add(entry.text)
            balance.add(conditions)
            entries.append(entry)
            progress(name, len(entries))
            if len(entries) == size:
                break
        splits[name] = entries
    return splits


def programs_of_length(tokens: int, count: int) -> tuple[Entry, ...]:
    """`count` programs of about `tokens` tokens (5 % more or less), the same on every call."""
    if not SHORTEST <= tokens <= LONGEST:
        raise DataError(f"programs of {tokens} tokens: from {SHORTEST} to {LONGEST} can be made")
    shape = Shape(routines=(max(2, tokens // 8), max(4, tokens // 4)), depth=3)

    def fits(program: Program) -> bool:
        return abs(count_tokens(program, DOMAIN) - tokens) <= tokens * 0.05

    return _possible_programs(f"{tokens} tokens", shape, fits, count)


def programs_with_numbers(low: int, high: int, count: int) -> tuple[Entry, ...]:
    """`count` programs like those of test with a condition that compares with a number from `low` to `high`, the same
    on every call. Worlds have up to 4 objects of a kind."""
    if not MAX_COUNTED < low < high <= LARGEST_COUNT:
        raise DataError(f"numbers {low} {high}: two numbers from {MAX_COUNTED + 1} to {LARGEST_COUNT}, rising")

    def fits(program: Program) -> bool:
        compared = [call.words[2] for call in calls(program.body) if call.operation in ("agent", "env")]
        return _is_short(program) and any(low <= int(number) <= high for number in compared)

    return _possible_programs(f"numbers {low} to {high}", SHAPES["test"], fits, count, (low, high))


def _possible_programs(
    name: str,
    shape: Shape,
    fits: Callable[[Program], bool],
    count: int,
    numbers: tuple[int, int] = (0, MAX_COUNTED),
) -> tuple[Entry, ...]:
    """Sampled programs that fit and can be finished in some world; the draw depends on the name."""
    random = Random(f"program_guided minecraft {DOMAIN.version} {name}")
    found: list[Entry] = []
    while len(found) < count:
        vocabulary = MinecraftVocabulary(between(random, *DEFAULT_SIDES), numbers)
        entry = Entry(sample_program(vocabulary, shape, random), between(random, 0, 2**31 - 1))
        if fits(entry.program) and Batch([entry], 1, require_worlds=False).possible(0):
            found.append(entry)
    return tuple(found)


def condition_traces(entries: Sequence[Entry]) -> tuple[list[Conditions], np.ndarray]:
    """The conditions that the planner encounters in every entry, and its steps."""
    traces: list[Conditions] = [[] for _ in entries]

    def watch(batch: Batch, actions: np.ndarray) -> None:
        for world in np.flatnonzero(at_condition(batch) & (batch.outcome == Outcome.RUNNING)):
            traces[world].append((condition_key(batch, world), bool(actions[world] == Action.TRUE)))

    return traces, rollout(entries, PlannerAgent(), watch=watch).steps


def _candidates(name: str) -> Iterator[tuple[Entry, Conditions]]:
    random = Random(f"program_guided minecraft {DOMAIN.version} {name}")
    while True:
        entries = [entry for entry in (_sample(name, random) for _ in range(CHUNK)) if entry is not None]
        trial = Batch(entries, 1)
        possible = [entry for number, entry in enumerate(entries) if trial.possible(number)]
        traces, steps = condition_traces(possible)
        for entry, conditions, length in zip(possible, traces, steps, strict=True):
            if length >= SHORTEST_PLAN:
                yield entry, conditions


def _sample(name: str, random: Random) -> Entry | None:
    """A sampled program, or None if it does not fit the split."""
    source = DataFlowVocabulary if name in DATA_FLOW else MinecraftVocabulary
    program = _renamed(sample_program(source(between(random, *DEFAULT_SIDES)), SHAPES[name], random))
    seed = between(random, 0, 2**31 - 1)
    tokens, control, short = count_tokens(program, DOMAIN), count_control(program.body), _is_short(program)
    fits = {
        "train": short,
        "test": short,
        "longer": tokens > LONGEST_TRAIN,
        "complex": control > MAX_TRAIN_CONTROL,
        "test-complex": TWICE_TRAIN[0] <= tokens <= TWICE_TRAIN[1],
        "data-flow-train": short and _uses_results(program),
        "data-flow": short and _uses_results(program),
    }
    return Entry(program, seed) if fits[name] else None


def _is_short(program: Program) -> bool:
    """Whether it is as short and simple as all programs of train."""
    return count_tokens(program, DOMAIN) <= LONGEST_TRAIN and count_control(program.body) <= MAX_TRAIN_CONTROL


def _uses_results(program: Program) -> bool:
    """Whether named results are used, all but at most one, nothing is compared with itself, and flat cells, of which
    there are too many, are not counted."""
    every = list(calls(program.body))
    if any(call.words == ("flat",) for call in every):
        return False
    used = {number for call in every for number in call.inputs}
    unused = sum(bool(call.result) and number not in used for number, call in enumerate(every))
    equal = any(len(call.arguments) == 2 and call.arguments[0] == call.arguments[1] for call in every)
    return bool(used) and unused <= 1 and not equal


def _renamed(program: Program) -> Program:
    """The same program, its results named a, b, c and so on."""
    names = iter(ascii_lowercase)
    return Program(_renamed_block(program.body, names))


def _renamed_block(block: Block, names: Iterator[str]) -> Block:
    nodes: list[Node] = []
    for node in block:
        if isinstance(node, Call):
            nodes.append(replace(node, result=next(names)) if node.result else node)
        elif isinstance(node, If):
            branches = tuple((condition, _renamed_block(body, names)) for condition, body in node.branches)
            nodes.append(If(branches, _renamed_block(node.otherwise, names)))
        else:
            nodes.append(replace(node, body=_renamed_block(node.body, names)))
    return tuple(nodes)


def _kinds(key: tuple[int, ...]) -> tuple[tuple[object, ...], ...]:
    operation, thing, comparison, _ = key
    return (operation,), (operation, "thing", thing), (operation, "comparison", comparison)


def _count(conditions: Conditions, true: Counter[tuple[object, ...]], total: Counter[tuple[object, ...]]) -> None:
    for key, holds in conditions:
        for kind in _kinds(key):
            total[kind] += 1
            true[kind] += holds
