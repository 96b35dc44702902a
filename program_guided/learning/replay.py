"""Condition replay: labels of conditions that the interpreter has given away stay right, so they are learned from
again.

A label says more than was asked: where `env[gold] > 2` is true, `env[gold] >= 1` is true as well and `env[gold] == 2`
is not. So each time a label is drawn, it is asked for as any condition of the programs whose answer follows from it
(`Worlds.conditions`).

    replay = ConditionReplay(16_384, worlds)
    replay.add(rollout)
    observation, answers = replay.draw(256, generator)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.observation import Observation
from program_guided.learning.rollouts import Rollout
from program_guided.learning.worlds import Worlds

__all__ = ["ConditionReplay"]

PREFIX = "replay "


class ConditionReplay:
    """The latest `size` labels."""

    def __init__(self, size: int, worlds: Worlds) -> None:
        conditions = worlds.conditions()
        self._size, (self._true, self._false) = size, worlds.answers or (-1, -1)
        self._words, self._number = torch.from_numpy(conditions.words), conditions.number
        self._implied = torch.from_numpy(conditions.implied)
        self._kept: tuple[Observation, Tensor, Tensor] | None = None
        """Observations, the conditions' numbers, and whether they were true."""

    def __len__(self) -> int:
        return 0 if self._kept is None else len(self._kept[1])

    def add(self, rollout: Rollout) -> None:
        """Keep the labels of these steps, and drop the oldest."""
        conditions = torch.from_numpy(self._number[rollout.rows.numpy()])
        labelled = ((rollout.answers >= 0) & (conditions >= 0)).nonzero()[:, 0]
        observation, true = rollout.observation.take(labelled), rollout.answers[labelled] == self._true
        conditions = conditions[labelled]
        if self._kept is not None:
            observation = Observation.together([self._kept[0], observation])
            conditions, true = torch.cat([self._kept[1], conditions]), torch.cat([self._kept[2], true])
        latest = torch.arange(len(true))[-self._size :]
        self._kept = observation.take(latest), conditions[latest], true[latest]

    def draw(self, count: int, generator: torch.Generator) -> tuple[Observation, Tensor]:
        """`count` labels by chance, some of them twice, each as a condition that follows from it, and the answers."""
        if self._kept is None:
            raise ValueError("nothing has been added yet")
        seen, conditions, true = self._kept
        drawn = torch.randint(len(true), (min(count, len(true)),), generator=generator)
        follows = self._implied[conditions[drawn], true[drawn].long()]
        asked = torch.multinomial((follows >= 0).float(), 1, generator=generator)
        answers = torch.where(follows.gather(1, asked)[:, 0] == 1, self._true, self._false)
        return seen.take(drawn).asking(self._words[asked[:, 0]]), answers

    def state(self) -> dict[str, Tensor]:
        """Everything, by name."""
        if self._kept is None:
            return {}
        parts = self._kept[0].parts() | {"conditions": self._kept[1], "true": self._kept[2]}
        return {f"{PREFIX}{name}": part for name, part in parts.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Everything as it was in a `state`."""
        parts = {name.removeprefix(PREFIX): part for name, part in tensors.items() if name.startswith(PREFIX)}
        self._kept = None
        if parts:
            conditions, true = parts.pop("conditions"), parts.pop("true")
            self._kept = Observation.of(parts), conditions, true


def equal_only(words: np.ndarray) -> np.ndarray:
    """Implications where nothing is known of the conditions' meaning: each follows from itself alone."""
    implied = np.full((len(words), 2, len(words)), -1, np.int8)
    every = np.arange(len(words))
    implied[every, 0, every], implied[every, 1, every] = 0, 1
    return implied
