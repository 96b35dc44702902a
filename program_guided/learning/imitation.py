"""Dense supervision in a world (L_D): the planner's best actions as labels.

Every best action is right: the loss is minus the log of their total probability (or the paper's L2 distance). States
come from the learner's own actions (DAgger) or from the planner's (behaviour cloning, as in the paper). One forward
pass both acts and learns, so a step of a world costs one forward and one backward. Early on the planner leads half of
the learner's steps, so that the ends of programs are reached before conditions have been learned; more and more worlds
act greedily, since greedy steps that go in circles are what sampled ones never show. Conditions are few in a program's
own steps; a world can answer any of them at any time, so the learner may also be asked those of other programs.

    learner = Imitation(model, worlds, ImitationSettings(steps=20_000), seed=0)
    loss = learner.step()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.execution import infer
from program_guided.learning.observation import Observation
from program_guided.learning.settings import ImitationSettings
from program_guided.learning.world_learner import WorldLearner

__all__ = ["Imitation", "dense_loss", "squared_loss"]

GUIDED_FOR = 0.05
"""Share of the training in which the planner leads some of the steps."""


def dense_loss(logits: Tensor, best: Tensor) -> Tensor:
    """Minus the log of the probability of all best actions, by state; where there are none, any is right."""
    right = best | ~best.any(dim=1, keepdim=True)
    return -logits.log_softmax(dim=1).masked_fill(~right, -torch.inf).logsumexp(dim=1)


def squared_loss(logits: Tensor, best: Tensor) -> Tensor:
    """The paper's L2 distance, between the probabilities and an even choice among the best actions, by state."""
    target = best / best.sum(dim=1, keepdim=True).clamp(min=1)
    distance = (logits.softmax(dim=1) - target).square().sum(dim=1)
    return distance.masked_fill(~best.any(dim=1), 0.0)


LOSSES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {"cross-entropy": dense_loss, "l2": squared_loss}


class Imitation(WorldLearner[ImitationSettings]):
    """An iteration is `num_steps` steps of every world, and one update."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._conditions = np.flatnonzero(self.worlds.conditions().number >= 0)

    def step(self) -> float:
        """Step the worlds, update the weights; the loss (NaN if the training has diverged)."""
        self.execution.detach()
        losses = [self._step() for _ in range(self.settings.num_steps)]
        mean = self.optimizer_step(torch.stack(losses).mean())
        self.done += math.isfinite(mean)
        return mean

    def _step(self) -> Tensor:
        """One step of every world; its loss."""
        best, _ = self.worlds.best_actions()
        # a copy: the worlds step before the gradient is computed
        seen, labels, count = self.execution.observe().kept(), torch.from_numpy(best), self.worlds.count
        if self.settings.extra_conditions and len(self._conditions):
            asked, answers = self._ask(seen)
            seen, labels = Observation.together([seen, asked]), torch.cat([labels, answers])
        logits, rows = infer(self.model, seen)
        if bool(logits[:count].max(dim=1).values.isfinite().all()):
            self._act(best, logits[:count].detach().softmax(dim=1).cpu(), rows[:count])
        return self._loss(logits, labels.to(logits.device))

    def _ask(self, seen: Observation) -> tuple[Observation, Tensor]:
        """Some worlds as if some condition were pointed at, and the right answers."""
        worlds = self.worlds
        count = math.ceil(self.settings.extra_conditions * worlds.count)
        numbers = self._numpy.choice(worlds.count, count, replace=False)
        conditions = self._numpy.choice(self._conditions, count)
        part, row = seen.take(torch.from_numpy(numbers).to(self.execution.device)), torch.arange(count)
        part = part.asking(torch.from_numpy(worlds.programs.words[conditions]))
        assert worlds.answers is not None
        true, false = worlds.answers
        actions = part.mask.shape[1]
        part.mask[:] = torch.zeros(actions, dtype=torch.bool).index_fill(0, torch.tensor([true, false]), True)
        answers = np.zeros((count, actions), np.bool_)
        answers[row, np.where(worlds.conditions_hold(numbers, conditions), true, false)] = True
        return part, torch.from_numpy(answers)

    def _loss(self, logits: Tensor, best: Tensor) -> Tensor:
        """The mean over states that have a best action, conditions weighted by `condition_weight`."""
        losses = LOSSES[self.settings.loss](logits, best)
        conditions = best[:, list(self.worlds.answers or ())].any(dim=1)
        losses = torch.where(conditions, self.settings.condition_weight * losses, losses)
        return losses.sum() / best.any(dim=1).sum().clamp(min=1)

    def _act(self, best: np.ndarray, probabilities: Tensor, rows: Tensor) -> None:
        count, settings = self.worlds.count, self.settings
        actions = torch.multinomial(probabilities, 1, generator=self.generator)[:, 0]
        greedy = torch.arange(count) < settings.greedy_share * count * min(1.0, self.share_done / settings.greedy_rise)
        actions = torch.where(greedy, probabilities.argmax(dim=1), actions)
        led = np.ones(count, np.bool_)
        if settings.states == "learner":
            left = max(0.0, 1 - self.share_done / GUIDED_FOR)
            led = self._numpy.random(count) < settings.planner_share * left
        planned = (self._numpy.random(best.shape) * best).argmax(axis=1)
        self.step_worlds(np.where(led, planned, actions.numpy()), rows)
