"""Answers to conditions that the interpreter has shown to be right: they stay right, so they are learned from again.

A fact says more than was asked: where `env[gold] > 2` is true, `env[gold] >= 1` is true as well and `env[gold] == 2` is
not. So each time a fact is recalled, it is asked for as any condition of the programs whose answer follows from it.

    facts = Facts(most=16_384, programs=batch.programs)
    facts.add(experience)
    observation, answers = facts.draw(256, generator)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.execution import Observation
from program_guided.learning.experience import Experience
from program_guided.tasks.minecraft.domain import LARGEST_SIDE
from program_guided.tasks.minecraft.kernels import compares
from program_guided.tasks.minecraft.rules import Action, Operation
from program_guided.tasks.minecraft.state import ProgramSet

__all__ = ["Conditions", "Facts"]

NAME = "fact"
COUNTS = LARGEST_SIDE**2 + 1
"""So many different numbers of things there can be."""


class Conditions:
    """All conditions of some programs, and what follows from what."""

    def __init__(self, programs: ProgramSet) -> None:
        rows = np.flatnonzero(programs.operation >= Operation.AGENT)
        words, first, number = np.unique(programs.words[rows], axis=0, return_index=True, return_inverse=True)
        self.words = torch.from_numpy(words)
        """(conditions, L)"""
        self.number = np.full(len(programs.operation), -1)
        """Of each row of the programs; -1 of what is no condition."""
        self.number[rows] = number.ravel()
        kinds, comparisons, numbers = programs.arguments[rows[first]].T
        carried = programs.operation[rows[first]] == Operation.AGENT
        true = np.array(
            [
                [compares(count, comparison, number) for count in range(COUNTS)]
                for comparison, number in zip(comparisons, numbers, strict=True)
            ],
            np.float32,
        ).reshape(-1, COUNTS)
        same = (kinds[:, None] == kinds) & (carried[:, None] == carried)
        self.implied = torch.from_numpy(np.stack([_implied(1 - true, true, same), _implied(true, true, same)], axis=1))
        """(conditions, 2, conditions): where a condition is false or true, whether another one is: 1, 0, or -1 if that
        does not follow."""


def _implied(possible: np.ndarray, true: np.ndarray, same: np.ndarray) -> np.ndarray:
    """What follows for each condition from counts being possible."""
    both, every = possible @ true.T, possible.sum(axis=1, keepdims=True)
    return np.where(same, np.where(both == every, 1, np.where(both == 0, 0, -1)), -1).astype(np.int8)


class Facts:
    """The latest `most` of them."""

    def __init__(self, most: int, programs: ProgramSet) -> None:
        self._most, self._conditions = most, Conditions(programs)
        self._known: tuple[Observation, Tensor, Tensor] | None = None
        """What was seen, the condition's number, and whether it was true."""

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known[1])

    def add(self, experience: Experience) -> None:
        """Remember what was answered in these steps, and forget the oldest."""
        shown = (experience.answers >= 0).nonzero()[:, 0]
        observation, true = experience.observation.take(shown), experience.answers[shown] == Action.TRUE
        conditions = torch.from_numpy(self._conditions.number[experience.rows[shown].numpy()])
        if self._known is not None:
            observation = Observation.together([self._known[0], observation])
            conditions, true = torch.cat([self._known[1], conditions]), torch.cat([self._known[2], true])
        latest = torch.arange(len(true))[-self._most :]
        self._known = observation.take(latest), conditions[latest], true[latest]

    def draw(self, count: int, chance: torch.Generator) -> tuple[Observation, Tensor]:
        """So many by chance, some of them twice, each as a condition that follows from it, and the right answers."""
        if self._known is None:
            raise ValueError("nothing has been added yet")
        seen, conditions, true = self._known
        drawn = torch.randint(len(true), (min(count, len(true)),), generator=chance)
        follows = self._conditions.implied[conditions[drawn], true[drawn].long()]
        asked = torch.multinomial((follows >= 0).float(), 1, generator=chance)
        seen = seen.take(drawn)
        words = seen.words.clone()
        words[torch.arange(len(drawn)), seen.pointed[:, 0]] = self._conditions.words[asked[:, 0]].to(words)
        answers = torch.where(follows.gather(1, asked)[:, 0] == 1, Action.TRUE, Action.FALSE)
        return replace(seen, words=words), answers

    def state(self) -> dict[str, Tensor]:
        """Everything, by name."""
        if self._known is None:
            return {}
        parts = (*self._known[0].parts(), *self._known[1:])
        return {f"{NAME} {number}": part for number, part in enumerate(parts) if part is not None}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Everything as it was in a `state`."""
        count = 1 + max((int(name.split()[1]) for name in tensors if name.startswith(f"{NAME} ")), default=-1)
        parts = [tensors.get(f"{NAME} {number}") for number in range(count)]
        *seen, conditions, true = parts if parts else (None, None)
        self._known = None
        if conditions is not None and true is not None:
            self._known = Observation.of(seen), conditions, true
