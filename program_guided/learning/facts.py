"""Answers to conditions that the interpreter has shown to be right: they stay right, so they are learned from again.

facts = Facts(most=16_384)
facts.add(experience)
observation, answers = facts.draw(256, generator)
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from program_guided.learning.execution import Observation
from program_guided.learning.experience import Experience

__all__ = ["Facts"]

NAME = "fact"


class Facts:
    """The latest `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: tuple[Observation, Tensor] | None = None

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known[1])

    def add(self, experience: Experience) -> None:
        """Remember what was answered in these steps, and forget the oldest."""
        shown = (experience.answers >= 0).nonzero()[:, 0]
        observation, answers = experience.observation.take(shown), experience.answers[shown]
        if self._known is not None:
            observation = Observation.together([self._known[0], observation])
            answers = torch.cat([self._known[1], answers])
        latest = torch.arange(len(answers))[-self._most :]
        self._known = observation.take(latest), answers[latest]

    def draw(self, count: int, chance: torch.Generator) -> tuple[Observation, Tensor]:
        """So many by chance, some of them twice."""
        if self._known is None:
            raise ValueError("nothing has been added yet")
        observation, answers = self._known
        drawn = torch.randint(len(answers), (min(count, len(answers)),), generator=chance)
        return observation.take(drawn), answers[drawn]

    def state(self) -> dict[str, Tensor]:
        """Everything, by name."""
        if self._known is None:
            return {}
        parts = (*self._known[0].parts(), self._known[1])
        return {f"{NAME} {number}": part for number, part in enumerate(parts) if part is not None}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Everything as it was in a `state`."""
        count = 1 + max((int(name.split()[1]) for name in tensors if name.startswith(f"{NAME} ")), default=-1)
        parts = [tensors.get(f"{NAME} {number}") for number in range(count)]
        answers = parts.pop() if parts else None
        self._known = None if answers is None else (Observation.of(parts), answers)
