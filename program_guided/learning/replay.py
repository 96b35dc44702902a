"""Answer replay: labels that the interpreter has given away stay right, so they are learned from again.

A label of a condition says more than was asked: where `env[gold] > 2` is true, `env[gold] >= 1` is true as well and
`env[gold] == 2` is not. So each other time that such a label is drawn, it is asked for as any condition of the programs
whose answer follows from it (`Worlds.conditions`); that `env[gold] == 2` is true follows from nothing but itself, so it
is asked for as it was the other times. Values, and answers that depend on results of other routines, always are.

    replay = AnswerReplay(16_384, worlds)
    replay.add(rollout)
    observation, right = replay.draw(256, generator)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from program_guided.learning.observation import Observation
from program_guided.learning.rollouts import Rollout
from program_guided.learning.worlds import Worlds

__all__ = ["AnswerReplay", "equal_only"]

PREFIX = "replay "
AS_THEY_WERE = 0.5
"""Share of the conditions that are asked for as they were."""


class AnswerReplay:
    """The latest `size` labels."""

    def __init__(self, size: int, worlds: Worlds) -> None:
        conditions = worlds.conditions()
        self._size, self._answers = size, torch.tensor(worlds.answers or (-1, -1))
        self._words, self._number = torch.from_numpy(conditions.words), conditions.number
        self._implied = torch.from_numpy(conditions.implied)
        self._kept: tuple[Observation, Tensor, Tensor] | None = None
        """Observations, the conditions' numbers (-1 for what is asked for as it was), and the right answers."""

    def __len__(self) -> int:
        return 0 if self._kept is None else len(self._kept[1])

    def add(self, rollout: Rollout) -> None:
        """Keep the labels of these steps, and drop the oldest."""
        labelled = rollout.right.any(dim=1).nonzero()[:, 0]
        observation, right = rollout.observation.take(labelled), rollout.right[labelled]
        conditions = torch.from_numpy(self._number[rollout.rows[labelled].numpy()])
        if self._kept is not None:
            observation = Observation.together([self._kept[0], observation])
            conditions, right = torch.cat([self._kept[1], conditions]), torch.cat([self._kept[2], right])
        latest = torch.arange(len(right))[-self._size :]
        self._kept = observation.take(latest), conditions[latest], right[latest]

    def draw(self, count: int, generator: torch.Generator) -> tuple[Observation, Tensor]:
        """`count` labels drawn with replacement, each as it was or as a condition that follows from it, and (labels,
        actions) a mask of the answers that can be right."""
        if self._kept is None:
            raise ValueError("nothing has been added yet")
        seen, conditions, right = self._kept
        drawn = torch.randint(len(right), (min(count, len(right)),), generator=generator)
        plain = conditions[drawn] >= 0
        others, drawn = drawn[~plain], drawn[plain]
        true, actions = right[drawn, self._answers[0]], right.shape[1]
        observations, answers = [seen.take(others)], [right[others]]
        if len(drawn):
            follows = self._implied[conditions[drawn], true.long()]
            asked = torch.multinomial((follows >= 0).float(), 1, generator=generator)
            as_it_was = torch.rand(len(asked), 1, generator=generator) < AS_THEY_WERE
            asked = torch.where(as_it_was, conditions[drawn, None], asked)
            implied = self._answers[(follows.gather(1, asked)[:, 0] != 1).long()]
            observations.append(seen.take(drawn).asking(self._words[asked[:, 0]]))
            answers.append(one_hot(implied, actions).bool())
        return Observation.together(observations), torch.cat(answers)

    def state(self) -> dict[str, Tensor]:
        """Everything, by name."""
        if self._kept is None:
            return {}
        parts = self._kept[0].parts() | {"conditions": self._kept[1], "right": self._kept[2]}
        return {f"{PREFIX}{name}": part for name, part in parts.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Everything as it was in a `state`."""
        parts = {name.removeprefix(PREFIX): part for name, part in tensors.items() if name.startswith(PREFIX)}
        self._kept = None
        if parts:
            conditions, right = parts.pop("conditions"), parts.pop("right")
            self._kept = Observation.of(parts), conditions, right


def equal_only(words: np.ndarray) -> np.ndarray:
    """Implications where nothing is known of the conditions' meaning: each follows from itself alone."""
    implied = np.full((len(words), 2, len(words)), -1, np.int8)
    every = np.arange(len(words))
    implied[every, 0, every], implied[every, 1, every] = 0, 1
    return implied
