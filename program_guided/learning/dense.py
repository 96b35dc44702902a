"""Dense supervision (L_D): the planner's best actions as targets, on the states the learner itself visits (DAgger).

Every best action is a right answer: the loss is minus the log of their total probability. One forward pass both acts
and learns, so a world's step costs one forward and one backward. Early on the planner leads half of the steps, so that
the ends of programs are seen before conditions have been learned.

    for step in train_dense(model, entries, steps=20_000, seed=0): print(step.loss)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from program_guided.learning.execution import Execution
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.batch import Batch, Entry
from program_guided.tasks.minecraft.rules import Outcome

__all__ = ["DenseSettings", "Progress", "dense_loss", "train_dense"]


@dataclass(frozen=True)
class DenseSettings:
    """How dense training goes."""

    worlds: int = 1024
    variants: int = 64
    rate: float = 2e-3
    """Learning rate at its height; it rises over `warm_up` steps and falls to 0 along a cosine."""
    warm_up: int = 200
    decay: float = 0.01
    clip: float = 1.0
    average: float = 0.999
    """Of the weights that are kept: an average over the last thousand or so steps."""
    guided: float = 0.5
    """Share of the planner's steps at the beginning; it falls to 0 over the first twentieth of the training."""


DEFAULTS = DenseSettings()


@dataclass(frozen=True)
class Progress:
    """After one step of training."""

    step: int
    samples: int
    loss: float
    average: Executor
    """The averaged model, the one to evaluate and keep."""


def dense_loss(log_probabilities: Tensor, best: Tensor) -> Tensor:
    """Minus the log of the probability of all best actions; states without any are left out."""
    supervised = best.any(dim=1)
    right = log_probabilities.masked_fill(~best, -torch.inf)[supervised]
    return -right.logsumexp(dim=1).sum() / supervised.sum().clamp(min=1)


def train_dense(
    model: Executor, entries: Sequence[Entry], steps: int, seed: int, settings: DenseSettings = DEFAULTS
) -> Iterator[Progress]:
    """Train the model in place, one step at a time."""
    batch = Batch(entries, settings.worlds, variants=settings.variants)
    batch.seed(seed)
    batch.reset()
    execution, average = Execution(model, batch), copy.deepcopy(model)
    random, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * _schedule(step, steps, settings.warm_up)
        best, _ = batch.best_actions()
        logits, rows = execution.infer()
        log_probabilities = logits.log_softmax(dim=1)
        loss = dense_loss(log_probabilities, torch.from_numpy(best))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        _follow(average, model, min(settings.average, (step + 1) / (step + 10)))
        sampled = torch.multinomial(log_probabilities.detach().exp(), 1, generator=generator)[:, 0].numpy()
        led = random.random(settings.worlds) < settings.guided * max(0.0, 1 - 20 * step / steps)
        execution.keep(rows)
        over = batch.outcome != Outcome.RUNNING
        batch.step_or_reset(np.where(led, best.argmax(axis=1), sampled))
        execution.forget(over)
        yield Progress(step + 1, (step + 1) * settings.worlds, float(loss.detach()), average)


def _schedule(step: int, steps: int, warm_up: int) -> float:
    return min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * step / steps))


@torch.no_grad()
def _follow(average: Executor, model: Executor, share: float) -> None:
    """Move the average a little towards the model."""
    kept, latest = list(average.parameters()), list(model.parameters())
    torch._foreach_mul_(kept, share)
    torch._foreach_add_(kept, latest, alpha=1 - share)
