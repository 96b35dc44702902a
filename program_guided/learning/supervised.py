"""Supervision on static specifications: dense (L_D) of every routine that the oracle can execute, or partial (L_P) of
the answer alone.

    learner = Supervised(model, source, SupervisedSettings(), seed=0, dense=True)
    loss = learner.step()
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.examples import Examples, ExampleSource, moved
from program_guided.learning.execution import execute
from program_guided.learning.learner import AllReduce, Learner, Share, alone
from program_guided.learning.results import ResultType
from program_guided.learning.settings import SupervisedSettings
from program_guided.models.model import Model

__all__ = ["Supervised", "result_loss"]

FEATURES = "features"
"""The array whose numbers are dropped out."""


def result_loss(
    model: Model,
    specification: Any,
    examples: Examples,
    results: Tensor,
    types: Mapping[str, ResultType],
) -> Tensor:
    """The mean loss of the routines whose results are known."""
    losses, total = [results.sum() * 0], 1e-6
    for name, target in examples.targets.items():
        known = examples.executed & types[name].known(target)
        if bool(known.any()):
            sample, _ = known.nonzero(as_tuple=True)
            about = specification.about(examples.programs.of[sample])
            scores = model.decode(results[known][:, None], name, about)[:, 0]
            there = model.reader.parts(about)
            losses.append(types[name].loss(scores, target[known], there, model.reader.independent))
            total += float(known.sum())
    return torch.stack(losses).sum() / total


class Supervised(Learner[SupervisedSettings]):
    """An iteration is one update on programs about some specifications, `per_specification` about each."""

    model: Model

    def __init__(
        self,
        model: Model,
        source: ExampleSource,
        settings: SupervisedSettings,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce = alone,
        *,
        dense: bool = True,
        easy: ExampleSource | None = None,
    ) -> None:
        """`easy`: the same examples about specifications that are easier to read, for `easy_share` of the training."""
        super().__init__(model, settings, seed, share, all_reduce)
        self._source, self._easy, self._dense = source, easy, dense
        self._count = settings.batch_size // share[1]
        self._numpy = np.random.default_rng(self.own_seed)
        self._own = source.specification_numbers()
        self._order = np.argsort(self._own, kind="stable")
        starts = np.flatnonzero(np.diff(self._own[self._order], prepend=-1))
        self._starts = np.append(starts, len(self._order))
        """Starts of each specification's examples in that order."""
        self._chances = np.append(0, np.cumsum(source.weights()[self._order]))
        mean = len(self._order) / (len(self._starts) - 1)
        self._together = max(1, min(settings.per_specification, round(mean)))

    def step(self) -> float:
        numbers = self._draw()
        source = self._easy if self._easy is not None and self.share_done < self.settings.easy_share else self._source
        examples = source.batch(numbers, self._dense, self._about(numbers))
        examples = moved(self._dropped(examples), next(self.model.parameters()).device)
        specification = self.model.reader.encode(examples.arrays)
        on_path = replace(examples.programs, flow=None, exists=examples.executed)
        results = execute(self.model, specification, on_path)
        given = (specification, examples, results, self._source.results)
        loss = self.optimizer_step(result_loss(self.model, *given))
        self.done += 1
        return loss

    def _about(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The specifications that programs are executed on: some on others than their own, in which what they name may
        be missing; the oracle knows the results there too."""
        if not (self._dense and self.settings.relabelled):
            return None
        own = self._own[numbers]
        return np.where(self._numpy.random(len(own)) < self.settings.relabelled, self._numpy.permutation(own), own)

    def _dropped(self, examples: Examples) -> Examples:
        """Examples with some numbers of each feature set to 0, the others larger in their place, against overfitting to
        single objects."""
        share = self.settings.feature_dropout
        pixels = getattr(self.model.reader, "reads_pixels", False)
        if not share or FEATURES not in examples.arrays or pixels:
            return examples
        features = examples.arrays[FEATURES]
        kept = torch.rand(features.shape, generator=self.generator) >= share
        return replace(examples, arrays={**examples.arrays, FEATURES: features * kept / (1 - share)})

    def _draw(self) -> NDArray[np.int64]:
        """Examples about random specifications, rare ones more often."""
        order, starts, together = self._order, self._starts, self._together
        drawn = self._numpy.integers(0, len(starts) - 1, -(-self._count // together))
        low, high = (self._chances[starts[drawn + more]][:, None] for more in (0, 1))
        at = np.searchsorted(self._chances, low + self._numpy.random((len(drawn), together)) * (high - low), "right")
        return order[np.minimum(at.ravel() - 1, len(order) - 1)[: self._count]]

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        return tensors, numbers | {"numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._numpy.bit_generator.state = numbers["numpy"]
