"""Learning from reward alone (L_R): proximal policy optimisation, in any world and for any model.

+1 when the whole program is finished, and nothing else (target `progress`: for each routine). What makes that enough:

- A curriculum (`curriculum.py`): programs from short to long, those with failures more often.
- Conditions and values are learned from the labels that the interpreter gives away (`rollouts.py`), again and again,
  with all that follows from them (`replay.py`); behaviours from their advantage.
- Hindsight: steps that ended a routine which was not asked for are a success of that routine (`Worlds.hindsight`).
- The value function is given the number of routines left, which says most of what the rest of a program is worth.
- Actions are sampled at a falling temperature, so that the greedy executor's own failures are met while there is time.

    learner = PPO(model, worlds, PPOSettings(), seed=0)
    loss = learner.step()       # a rollout in every world, and the updates that follow
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.observation import Observation
from program_guided.learning.replay import AnswerReplay
from program_guided.learning.rollouts import RewardLearner, Rollout, entropy, standardised
from program_guided.learning.settings import PPOSettings
from program_guided.learning.worlds import Hindsight

__all__ = ["PPO"]


class PPO(RewardLearner[PPOSettings]):
    """An iteration is a rollout of `num_steps` steps in every world, then `update_epochs` passes over it in
    minibatches."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._replay = AnswerReplay(self.settings.replay_size, self.worlds)
        self._hindsight: Hindsight = self.worlds.hindsight()

    def step(self) -> float:
        """Act, learn from it, admit longer programs; the mean loss."""
        self._hindsight = self.worlds.hindsight()
        with torch.no_grad():
            rollout, every = self._collect()
            lessons = self._lessons(every)
            self._replay.add(rollout)
        steps = every if self.model.recurrent else rollout
        numbers = self._sequences() if self.model.recurrent else self._minibatches(len(steps))
        losses = []
        for one, other in zip(numbers, self._minibatches(len(lessons)), strict=True):
            losses.append(self.optimizer_step(self._loss(steps.take(one), lessons.take(other))))
            if math.isnan(losses[-1]):
                return math.nan
        self.end_iteration()
        return float(np.mean(losses))

    def noted(self) -> AbstractContextManager[None]:
        return self._hindsight.step()

    def _lessons(self, every: Rollout) -> Rollout:
        """Steps in hindsight, as if the routine that they ended had been the whole program."""
        numbers, words, delays = self._hindsight.lessons(self.settings.hindsight_share, self._numpy)
        part = every.take(torch.from_numpy(numbers))
        return replace(
            part,
            observation=part.observation.asking(torch.from_numpy(words)),
            left=torch.ones_like(part.left),
            returns=self.gamma ** torch.from_numpy(delays).float(),
        )

    def _minibatches(self, count: int) -> Iterator[Tensor]:
        """Equally many in every process, since each update waits for all."""
        for _ in range(self.settings.update_epochs):
            yield from torch.randperm(count, generator=self.generator).tensor_split(self._parts)

    @property
    def _parts(self) -> int:
        """Minibatches of a pass."""
        parts = math.ceil(self.settings.samples / self.settings.minibatch_size)
        return min(parts, self.worlds.count) if self.model.recurrent else parts

    def _sequences(self) -> Iterator[Tensor]:
        """Minibatches of all steps of some worlds, for a memory: step by step, numbers of `Rollout`."""
        steps = torch.arange(self.settings.num_steps)[:, None] * self.worlds.count
        for worlds in self._minibatches(self.worlds.count):
            yield (steps + worlds).flatten()

    def _loss(self, part: Rollout, lessons: Rollout) -> Tensor:
        observations = [part.observation, lessons.observation]
        replayed = min(self.settings.replay_batch, len(self._replay))
        if replayed:
            known, right = self._replay.draw(replayed, self.generator)
            observations.append(known)
        if not len(part) + len(lessons) + replayed:  # where minibatches are small
            return next(self.model.parameters()).sum() * 0
        acted, imagined, *labelled = self._policies(observations)
        part, lessons = part.to(acted[0].device), lessons.to(acted[0].device)
        loss = self._policy_loss(part, *acted) + self._hindsight_loss(lessons, *imagined)
        for log_probabilities, _ in labelled:
            loss = loss + self._answer_loss(log_probabilities, right.to(log_probabilities.device))
        if self.model.recurrent and replayed:  # labels where they were given: a memory says which answer is due
            known_here = part.right.any(dim=1) & part.running
            loss = loss + self._answer_loss(acted[0][known_here], part.right[known_here])
        return loss

    def _policies(self, observations: list[Observation]) -> list[tuple[Tensor, Tensor]]:
        """Logarithms of probabilities, and rows of Z, of each observation. Without a memory, all at once; with one, the
        first is a sequence."""
        if self.model.recurrent:
            return [self.policy(observations[0], self.settings.num_steps), *self._split(observations[1:])]
        return self._split(observations)

    def _split(self, observations: list[Observation]) -> list[tuple[Tensor, Tensor]]:
        log_probabilities, rows = self.policy(Observation.together(observations))
        sizes = [len(each) for each in observations]
        return list(zip(torch.split(log_probabilities, sizes), torch.split(rows, sizes), strict=True))

    def _answer_loss(self, log_probabilities: Tensor, right: Tensor) -> Tensor:
        """Minus the log of the probability of all answers that can be right."""
        total = log_probabilities.masked_fill(~right, -torch.inf).logsumexp(dim=1)
        return -self.settings.replay_coef * total.sum() / max(1, len(total))

    def _policy_loss(self, part: Rollout, log_probabilities: Tensor, rows: Tensor) -> Tensor:
        settings = self.settings
        counted = (~part.right.any(dim=1) | (settings.replay_batch == 0)) & part.running
        taken = log_probabilities.gather(1, part.actions[:, None])[:, 0]
        gain = standardised(part.advantages, counted)
        ratio = (taken - part.log_probabilities).exp()
        surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef) * gain)
        policy = (surrogate + self.entropy_weight * entropy(log_probabilities)).masked_fill(~counted, 0.0).sum()
        error = (self.value(rows, part.left) - part.returns).square().masked_fill(~part.running, 0.0).sum()
        return (settings.vf_coef * error - policy) / max(1, int(part.running.sum()))

    def _hindsight_loss(self, lessons: Rollout, log_probabilities: Tensor, rows: Tensor) -> Tensor:
        """Self-imitation: imitate what went better than expected. The value function learns nothing from this: all
        lessons are successes."""
        taken = log_probabilities.gather(1, lessons.actions[:, None])[:, 0]
        better = (lessons.returns - self.value(rows, lessons.left)).clamp(min=0).detach()
        return -(taken * better).sum() / max(1, len(lessons))

    @property
    def inverse_temperature(self) -> float:
        return 1 + (self.settings.inverse_temperature - 1) * self.share_done

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        return tensors | self._replay.state(), numbers

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._replay.restore(tensors)
