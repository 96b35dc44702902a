"""Learning from reward alone (L_R): proximal policy optimisation, in any world and for any model.

+1 when the whole program is finished, and nothing else (target `progress`: for each routine). What makes that enough:

- A curriculum: programs are admitted from short to long, one more routine whenever enough of the recent episodes were
  finished. Those are drawn more often whose routines have failed more often lately.
- Conditions and values are learned from the labels that the interpreter gives away (`rollouts.py`), again and again,
  with all that follows from them (`replay.py`); behaviours from their advantage.
- Hindsight: steps that ended a routine which was not asked for are a success of that routine (`Worlds.hindsight`).
- The value function is given the number of routines left, which says most of what the rest of a program is worth.
- Failed episodes are tried again in the same world, once all programs are admitted: what is rare and hard is met often.
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
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.observation import Observation
from program_guided.learning.replay import AnswerReplay
from program_guided.learning.rollouts import RewardLearner, Rollout, entropy
from program_guided.learning.settings import PPOSettings
from program_guided.learning.worlds import Hindsight

__all__ = ["PPO"]

DRAWN = 4096
"""Programs drawn for the episodes that begin in an iteration."""
FAILURE_DECAY = 0.8
"""Weight of earlier failures after an iteration."""


class PPO(RewardLearner[PPOSettings]):
    """An iteration is a rollout of `num_steps` steps in every world, then `update_epochs` passes over it in
    minibatches."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        programs, kinds = self.worlds.programs, len(self.worlds.operation_names())
        sizes = programs.size
        self.limit = int(sizes.min() if self.settings.curriculum_threshold else sizes.max())
        """Routines of the longest programs that are admitted."""
        self._longest_time = self.worlds.time_limit
        self._replay = AnswerReplay(self.settings.replay_size, self.worlds)
        self._hindsight: Hindsight = self.worlds.hindsight()
        self._ends, self._offered = np.zeros((2, kinds)), np.zeros(0, np.int32)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        self._has = np.zeros((len(sizes), kinds), np.bool_)
        self._has[owner, programs.operation] = True
        self._offer()
        self.worlds.reset()

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
        self._admit()
        self._offer()
        self.done += 1
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
            returns=self.settings.gamma ** torch.from_numpy(delays).float(),
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
        gain = _standard(part.advantages, counted)
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

    def count(self, passed: NDArray[np.int64], failed: NDArray[np.int64]) -> None:
        for number, rows in enumerate((passed, failed)):
            self._ends[number] += np.bincount(self.worlds.programs.operation[rows], minlength=self._ends.shape[1])

    def _admit(self) -> None:
        """Admit programs of one more routine when the latest episodes went well."""
        if len(self._recent) < self.settings.window or self._recent.mean() < self.settings.curriculum_threshold:
            return
        sizes = self.worlds.programs.size
        if (sizes > self.limit).any():
            self.limit, self._recent = int(sizes[sizes > self.limit].min()), self._recent[:0]

    def _offer(self) -> None:
        """Draw the programs of the coming episodes from what is admitted."""
        (passed, failed), focus = self._ends, self.settings.curriculum_focus
        admitted = self.worlds.programs.size <= self.limit
        weights = (self._has * (failed + 1) / (passed + failed + 2)).max(axis=1) * admitted
        share = focus * weights / weights.sum() + (1 - focus) * admitted / admitted.sum()
        self._draw_from(self._numpy.choice(len(share), DRAWN, p=share).astype(np.int32))
        self._ends *= FAILURE_DECAY

    def _draw_from(self, programs: NDArray[np.int32]) -> None:
        """Set the programs of the coming episodes; hopeless ones are truncated soon (and bootstrapped)."""
        self._offered = programs
        self.worlds.time_limit = min(self._longest_time, self.settings.steps_per_routine * (self.limit + 1))
        complete = self.limit >= self.worlds.programs.size.max()
        self.worlds.retry_share = self.settings.retry_share if complete else 0.0
        self.worlds.offer(programs)

    def figures(self) -> dict[str, float]:
        """% of the latest episodes finished, and the length of the programs that are admitted."""
        return {**super().figures(), "admitted routines": self.limit}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        own = {"ends": torch.from_numpy(self._ends), "offered": torch.from_numpy(self._offered)}
        return tensors | own | self._replay.state(), numbers | {"limit": self.limit}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self.limit = int(numbers["limit"])
        self._ends = tensors["ends"].numpy()
        self._replay.restore(tensors)
        self._draw_from(tensors["offered"].numpy())


def _standard(advantages: Tensor, among: Tensor) -> Tensor:
    """Shifted and scaled so that those `among` have mean 0 and deviation 1."""
    counted = advantages[among]
    if len(counted) < 2:
        return advantages
    return (advantages - counted.mean()) / (counted.std() + 1e-6)
