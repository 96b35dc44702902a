"""Learning to reason about pictures: dense supervision (L_D) of every routine that the oracle can execute, or partial
supervision (L_P) of the answer alone.

    training = VisualTraining(model, data, VisualSettings(), seed=0, dense=True)
    loss = training.step()
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from program_guided.learning.learner import Agree, Learner, Share, alone
from program_guided.learning.questions import NO_TARGET, Examples, Questions, moved
from program_guided.learning.reasoning import carry_out
from program_guided.learning.settings import VisualSettings
from program_guided.models.executor import Executor
from program_guided.models.objects import Pictures, Scene

__all__ = ["VisualTraining", "reasoning_loss"]


def reasoning_loss(model: Executor, scene: Scene, examples: Examples, results: Tensor, dense: bool) -> Tensor:
    """The mean loss of the routines whose results are known; without `dense`, of the last ones alone."""
    counted = examples.programs.exists
    if not dense:
        every = torch.arange(counted.shape[1], device=counted.device)
        counted = every == examples.last[:, None]
    losses, total = [results.sum() * 0], 1e-6
    for kind, target in (("Boolean", examples.booleans), ("Answer", examples.answers)):
        known = counted & (target != NO_TARGET)
        if bool(known.any()):
            losses.append(cross_entropy(model.decode(results[known], kind), target[known], reduction="sum"))
            total += float(known.sum())
    known = counted & (examples.objects.sum(dim=2) > 0)
    if bool(known.any()):
        sample, _ = known.nonzero(as_tuple=True)
        about = scene.about(examples.programs.of[sample])
        scores = model.point(results[known][:, None], about)[:, 0]
        losses.append(_pointing_loss(scores, examples.objects[known], about.exists, model.config.form == "plus"))
        total += float(known.sum())
    return torch.stack(losses).sum() / total


def _pointing_loss(scores: Tensor, target: Tensor, exists: Tensor, each_alone: bool) -> Tensor:
    """Of objects and of none: whether each is meant, or, as in the paper's code, one distribution."""
    if not each_alone:
        return cross_entropy(scores, target, reduction="sum")
    meant = (target > 0).float()
    there = torch.cat([exists, exists.new_ones(len(exists), 1)], dim=1)
    losses = binary_cross_entropy_with_logits(scores, meant, reduction="none")
    return losses.masked_fill(~there, 0.0).sum() / 4


class VisualTraining(Learner[VisualSettings]):
    """A turn is one update on questions about some pictures, `together` of each."""

    def __init__(
        self,
        model: Executor,
        data: Questions,
        settings: VisualSettings,
        seed: int,
        share: Share = (0, 1),
        agree: Agree = alone,
        *,
        dense: bool = True,
    ) -> None:
        super().__init__(model, settings, seed, share, agree)
        self._data, self._dense = data, dense
        self._count = settings.questions // share[1]
        self._numpy = np.random.default_rng(self.own_seed)
        self._chances = np.append(0, np.cumsum(data.rarity[data.by_picture[0]]))

    def step(self) -> float:
        numbers = self._draw()
        examples = self._data.examples(numbers, self._dense, self._about(numbers))
        examples = replace(examples, pictures=self._hidden(examples.pictures))
        examples = moved(examples, next(self.model.parameters()).device)
        scene = self.model.reader.look(examples.pictures)
        results = carry_out(self.model, scene, examples.programs)
        loss = self.descend(reasoning_loss(self.model, scene, examples, results, self._dense))
        self.done += 1
        return loss

    def _about(self, numbers: np.ndarray) -> np.ndarray | None:
        """Pictures that questions are asked about: some about others than their own, in which what is named may be
        missing; the oracle knows the results there too."""
        if not (self._dense and self.settings.elsewhere):
            return None
        own = self._data.set.columns["image"][numbers]
        return np.where(self._numpy.random(len(own)) < self.settings.elsewhere, self._numpy.permutation(own), own)

    def _hidden(self, pictures: Pictures) -> Pictures:
        """Pictures with some numbers of each feature left out, others larger in their place: single objects cannot
        be learned by heart."""
        share = self.settings.dropout
        if not share:
            return pictures
        kept = torch.rand(pictures.features.shape, generator=self.chance) >= share
        return replace(pictures, features=pictures.features * kept / (1 - share))

    def _draw(self) -> np.ndarray:
        """Questions of random pictures, rare ones more often."""
        order, starts = self._data.by_picture
        together = self.settings.together
        pictures = self._numpy.integers(0, len(starts) - 1, -(-self._count // together))
        low, high = (self._chances[starts[pictures + more]][:, None] for more in (0, 1))
        at = np.searchsorted(self._chances, low + self._numpy.random((len(pictures), together)) * (high - low), "right")
        return order[np.minimum(at.ravel() - 1, len(order) - 1)[: self._count]]

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        return tensors, numbers | {"numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._numpy.bit_generator.state = numbers["numpy"]
