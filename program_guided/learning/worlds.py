"""What trainings in the 2D Minecraft world have in common: worlds that run, and a network carrying out programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.execution import Execution
from program_guided.learning.learner import Agree, Learner, Share, alone
from program_guided.learning.settings import WorldSettings
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.batch import Batch, Entry
from program_guided.tasks.minecraft.rules import Outcome

__all__ = ["WorldLearner"]


AnyWorldSettings = TypeVar("AnyWorldSettings", bound=WorldSettings)


class WorldLearner(Learner[AnyWorldSettings]):
    """A learner with worlds of its own, which run the programs of `entries`."""

    def __init__(
        self,
        model: Executor,
        entries: Sequence[Entry],
        settings: AnyWorldSettings,
        seed: int,
        share: Share = (0, 1),
        agree: Agree = alone,
    ) -> None:
        super().__init__(model, settings, seed, share, agree)
        self.batch = Batch(entries, settings.worlds // share[1], variants=settings.variants)
        self.batch.seed(self.own_seed)
        self.batch.reset()
        self._numpy = np.random.default_rng(self.own_seed)
        self.execution = Execution(model, self.batch, shifts=self.chance)

    def walk(self, actions: NDArray[np.int64], rows: Tensor) -> None:
        """Keep the new results and step the worlds; those that are over begin again."""
        self.execution.keep(rows)
        over = self.batch.outcome != Outcome.RUNNING
        self.batch.step_or_reset(actions)
        self.execution.forget(over)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        tensors |= {f"worlds.{name}": torch.from_numpy(array) for name, array in _storable(self.batch.state()).items()}
        longest = int(self.batch.programs.size.max())
        tensors["results"] = self.execution.results[:, :longest].cpu()
        if self.execution.shift is not None:
            tensors["shift"] = self.execution.shift.cpu()
        return tensors, numbers | {"numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._numpy.bit_generator.state = numbers["numpy"]
        worlds = self.batch.state()
        stored = {name: tensors[f"worlds.{name}"].numpy().view(array.dtype) for name, array in worlds.items()}
        self.batch.restore(stored)
        self.execution.results.zero_()
        results = tensors["results"]
        self.execution.results[:, : results.shape[1]] = results.to(self.execution.device)
        if self.execution.shift is not None:
            self.execution.shift.copy_(tensors["shift"])


def _storable(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Unsigned whole numbers, which torch hardly knows, as signed ones of the same bits."""
    return {name: array.view(np.int64) if array.dtype == np.uint64 else array for name, array in arrays.items()}
