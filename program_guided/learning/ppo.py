"""Learning from reward alone (L_R), as `plus` does it: proximal policy optimisation.

+1 when the whole program is finished, and nothing else. What makes that enough:

- Programs are admitted from short to long: one more routine whenever enough of the latest episodes were finished.
  Those are drawn more often whose routines have failed more often lately.
- Conditions are learned from what the interpreter shows (`experience.py`), again and again, with all that follows from
  it (`facts.py`); behaviours from their advantage.
- What was done by the way is a success of the routine that it was (`hindsight.py`).
- The value is told how many routines are left, which says most of what the rest of a program is worth.
- Actions are sampled more and more sharply, so that the greedy executor's own failures are met while there is time.

    training = PPOTraining(model, entries, PPOSettings(), seed=0)
    loss = training.step()       # a rollout in every world, and the updates that follow
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

from program_guided.learning.execution import Observation
from program_guided.learning.experience import Experience, RewardLearner, entropy
from program_guided.learning.facts import Facts
from program_guided.learning.hindsight import WORDS, History, named_in
from program_guided.learning.settings import PPOSettings
from program_guided.tasks.minecraft.rules import TIME_LIMIT, Operation

__all__ = ["PPOTraining"]

DRAWN = 4096
"""So many programs are drawn for the episodes that begin in a turn."""
FADING = 0.8
"""What is left of the memory of failures after a turn."""


class PPOTraining(RewardLearner[PPOSettings]):
    """A turn is a rollout of `horizon` steps in every world, then `epochs` passes over it in small batches."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        sizes = self.batch.programs.size
        self.limit = int(sizes.min() if self.settings.admit else sizes.max())
        self._named, self._facts = named_in(self.batch.programs), Facts(self.settings.remembered, self.batch.programs)
        self._history = History(self._named)
        self._ends, self._offered = np.zeros((2, len(Operation))), np.zeros(0, np.int32)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        self._has = np.zeros((len(sizes), len(Operation)), np.bool_)
        self._has[owner, self.batch.programs.operation] = True
        self._offer()
        self.batch.reset()

    def step(self) -> float:
        """Act, learn from it, admit longer programs; the mean loss."""
        self._history = History(self._named)
        with torch.no_grad():
            experience, every = self._collect()
            lessons = self._lessons(every)
            self._facts.add(experience)
        parts = zip(self._parts(len(experience)), self._parts(len(lessons)), strict=True)
        losses = []
        for one, other in parts:
            losses.append(self.descend(self._loss(experience.take(one), lessons.take(other))))
            if math.isnan(losses[-1]):
                return math.nan
        self._admit()
        self._offer()
        self.done += 1
        return float(np.mean(losses))

    def noted(self) -> AbstractContextManager[None]:
        return self._history.step(self.batch)

    def _lessons(self, every: Experience) -> Experience:
        """Steps in hindsight, as if the routine that they carried out had been the whole program."""
        numbers, routines, delays = self._history.lessons(self.settings.hindsight, self._numpy)
        part = every.take(torch.from_numpy(numbers))
        seen, row = part.observation, torch.arange(len(numbers))
        words = seen.words.clone()
        words[row, seen.pointed[:, 0]] = torch.from_numpy(WORDS[routines]).to(words)
        return replace(
            part,
            observation=replace(seen, words=words),
            left=torch.ones_like(part.left),
            returns=self.settings.discount ** torch.from_numpy(delays).float(),
        )

    def _parts(self, count: int) -> Iterator[Tensor]:
        """Equally many in every process, since each update waits for all."""
        parts = math.ceil(self.settings.samples / self.settings.minibatch)
        for _ in range(self.settings.epochs):
            yield from torch.randperm(count, generator=self.chance).tensor_split(parts)

    def _loss(self, part: Experience, lessons: Experience) -> Tensor:
        observations = [part.observation, lessons.observation]
        recalled = min(self.settings.recalled, len(self._facts))
        if recalled:
            known, answers = self._facts.draw(recalled, self.chance)
            observations.append(known)
        log_probabilities, rows = self.policy(Observation.together(observations))
        sizes = [len(part), len(lessons), recalled]
        lived, imagined, certain = torch.split(log_probabilities, sizes)
        loss = self._loss_of_experience(part, lived, rows[: len(part)])
        loss = loss + self._loss_of_lessons(lessons, imagined, rows[len(part) : len(part) + len(lessons)])
        if recalled:
            loss = loss - self.settings.conditions * certain.gather(1, answers[:, None]).mean()
        return loss

    def _loss_of_experience(self, part: Experience, log_probabilities: Tensor, rows: Tensor) -> Tensor:
        settings = self.settings
        counted = (part.answers < 0) | (settings.recalled == 0)
        taken = log_probabilities.gather(1, part.actions[:, None])[:, 0]
        gain = _standard(part.advantages, counted)
        ratio = (taken - part.log_probabilities).exp()
        surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - settings.ratio, 1 + settings.ratio) * gain)
        policy = (surrogate + self.entropy_weight * entropy(log_probabilities)).masked_fill(~counted, 0.0).mean()
        error = (self.value(rows, part.left) - part.returns).square().mean()
        return settings.value * error - policy

    def _loss_of_lessons(self, lessons: Experience, log_probabilities: Tensor, rows: Tensor) -> Tensor:
        """Self-imitation: do again what went better than it would be expected to. The value learns nothing from this:
        all lessons are successes."""
        taken = log_probabilities.gather(1, lessons.actions[:, None])[:, 0]
        better = (lessons.returns - self.value(rows, lessons.left)).clamp(min=0).detach()
        return -(taken * better).sum() / max(1, len(lessons))

    @property
    def sharpness(self) -> float:
        return 1 + (self.settings.sharpen - 1) * self.share_done

    def count(self, passed: NDArray[np.int64], failed: NDArray[np.int64]) -> None:
        for number, rows in enumerate((passed, failed)):
            self._ends[number] += np.bincount(self.batch.programs.operation[rows], minlength=len(Operation))

    def _admit(self) -> None:
        """Admit programs of one more routine when the latest episodes went well."""
        if len(self._recent) < self.settings.window or self._recent.mean() < self.settings.admit:
            return
        sizes = self.batch.programs.size
        if (sizes > self.limit).any():
            self.limit, self._recent = int(sizes[sizes > self.limit].min()), self._recent[:0]

    def _offer(self) -> None:
        """Draw the programs of the coming episodes from what is admitted."""
        (passed, failed), focus = self._ends, self.settings.focus
        admitted = self.batch.programs.size <= self.limit
        weights = (self._has * (failed + 1) / (passed + failed + 2)).max(axis=1) * admitted
        share = focus * weights / weights.sum() + (1 - focus) * admitted / admitted.sum()
        self._give(self._numpy.choice(len(share), DRAWN, p=share).astype(np.int32))
        self._ends *= FADING

    def _give(self, programs: NDArray[np.int32]) -> None:
        """Programs of the coming episodes; hopeless ones are cut off soon (a cut is bootstrapped)."""
        self._offered = programs
        self.batch.time_limit = min(TIME_LIMIT, self.settings.patience * (self.limit + 1))
        self.batch.offer(programs)

    def figures(self) -> dict[str, float]:
        """% of the latest episodes finished, and the length of the programs that are admitted."""
        return {**super().figures(), "admitted routines": self.limit}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        own = {"ends": torch.from_numpy(self._ends), "offered": torch.from_numpy(self._offered)}
        return tensors | own | self._facts.state(), numbers | {"limit": self.limit}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self.limit = int(numbers["limit"])
        self._ends = tensors["ends"].numpy()
        self._facts.restore(tensors)
        self._give(tensors["offered"].numpy())


def _standard(advantages: Tensor, among: Tensor) -> Tensor:
    """Shifted and scaled so that those `among` have mean 0 and deviation 1."""
    counted = advantages[among]
    if len(counted) < 2:
        return advantages
    return (advantages - counted.mean()) / (counted.std() + 1e-6)
