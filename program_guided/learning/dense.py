"""Dense supervision (L_D): the planner's best actions as targets.

Every best action is a right answer: the loss is minus the log of their total probability (or the paper's L2 distance).
States come from the learner's own steps (DAgger) or from the planner's (behaviour cloning, as in the paper). One
forward pass both acts and learns, so a world's step costs one forward and one backward. Early on the planner leads half
of the learner's steps, so that the ends of programs are seen before conditions have been learned; more and more worlds
act greedily, since greedy steps that go in circles are what sampled ones never show. Conditions are few in a program's
own steps; the world can answer any of them at any time, so the learner may also be `asked` those of other programs.

    training = DenseTraining(model, entries, DenseSettings(steps=20_000), seed=0)
    loss = training.step()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.execution import BEHAVIOURS, Observation, infer
from program_guided.learning.settings import DenseSettings
from program_guided.learning.worlds import WorldLearner
from program_guided.tasks.minecraft.domain import ACTIONS
from program_guided.tasks.minecraft.rules import Action, Operation

__all__ = ["DenseTraining", "dense_loss", "squared_loss"]

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


class DenseTraining(WorldLearner[DenseSettings]):
    """A training that can be stepped, and taken up again from its `state`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._conditions = np.flatnonzero(self.batch.programs.operation >= Operation.AGENT)

    def step(self) -> float:
        """Update the weights, step the worlds; the loss (not a number if the training has broken down)."""
        best, _ = self.batch.best_actions()
        seen, known, count = self.execution.observe(), torch.from_numpy(best), self.batch.count
        if self.settings.asked and len(self._conditions):
            asked, answers = self._ask(seen)
            seen, known = Observation.together([seen, asked]), torch.cat([known, answers])
        logits, rows = infer(self.model, seen)
        mean = self.descend(self._loss(logits, known.to(logits.device)))
        if math.isfinite(mean):
            self._act(best, logits[:count].detach().softmax(dim=1).cpu(), rows[:count])
            self.done += 1
        return mean

    def _ask(self, seen: Observation) -> tuple[Observation, Tensor]:
        """Some worlds as if some condition were pointed at, and the right answers."""
        batch, programs = self.batch, self.batch.programs
        count = math.ceil(self.settings.asked * batch.count)
        numbers = self._numpy.choice(batch.count, count, replace=False)
        conditions = self._numpy.choice(self._conditions, count)
        part, row = seen.take(torch.from_numpy(numbers).to(self.execution.device)), torch.arange(count)
        part.words[row, part.pointed[:, 0]] = torch.from_numpy(programs.words[conditions]).to(part.words)
        part.results[row, part.pointed[:, 0]] = 0
        part.mask[:] = torch.arange(len(ACTIONS), device=part.mask.device) >= BEHAVIOURS
        answers = np.zeros((count, len(ACTIONS)), np.bool_)
        answers[row, np.where(batch.conditions_hold(numbers, conditions), Action.TRUE, Action.FALSE)] = True
        return part, torch.from_numpy(answers)

    def _loss(self, logits: Tensor, best: Tensor) -> Tensor:
        """The mean over states that have a best action, conditions counted more often if so asked."""
        losses = LOSSES[self.settings.loss](logits, best)
        losses = torch.where(best[:, BEHAVIOURS:].any(dim=1), self.settings.conditions * losses, losses)
        return losses.sum() / best.any(dim=1).sum().clamp(min=1)

    def _act(self, best: np.ndarray, probabilities: Tensor, rows: Tensor) -> None:
        count = self.batch.count
        actions = torch.multinomial(probabilities, 1, generator=self.chance)[:, 0]
        greedy = torch.arange(count) < self.settings.greedy * count * min(1.0, self.share_done / self.settings.rising)
        actions = torch.where(greedy, probabilities.argmax(dim=1), actions)
        led = np.ones(count, np.bool_)
        if self.settings.states == "learner":
            left = max(0.0, 1 - self.share_done / GUIDED_FOR)
            led = self._numpy.random(count) < self.settings.guided * left
        planned = (self._numpy.random(best.shape) * best).argmax(axis=1)
        self.walk(np.where(led, planned, actions.numpy()), rows)
