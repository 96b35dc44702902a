"""The base of all learners in a world: worlds that run, and a model executing programs in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.execution import WorldExecution
from program_guided.learning.learner import AllReduce, Learner, Share, alone
from program_guided.learning.settings import WorldSettings
from program_guided.learning.worlds import Outcome, Worlds
from program_guided.models.model import Model

__all__ = ["WorldLearner"]


AnyWorldSettings = TypeVar("AnyWorldSettings", bound=WorldSettings)


class WorldLearner(Learner[AnyWorldSettings]):
    """A learner with worlds of its own (`num_envs` of them, shared out among the processes)."""

    model: Model
    shapes_recur = True

    def __init__(
        self,
        model: Model,
        worlds: Worlds,
        settings: AnyWorldSettings,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce = alone,
    ) -> None:
        super().__init__(model, settings, seed, share, all_reduce)
        self.worlds = worlds
        worlds.seed(self.own_seed)
        worlds.reset()
        self._numpy = np.random.default_rng(self.own_seed)
        self.execution = WorldExecution(model, worlds, shifts=self.generator)

    def step_worlds(self, actions: NDArray[np.int64], rows: Tensor) -> None:
        """Keep the new results and step the worlds; those that are over begin again."""
        self.execution.keep(rows)
        over = self.worlds.outcome != Outcome.RUNNING
        self.worlds.step_or_reset(actions)
        self.execution.forget(over)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        stored = _storable(self.worlds.state())
        tensors |= {f"worlds.{name}": torch.from_numpy(array) for name, array in stored.items()}
        longest = 1 if self.model.recurrent else int(self.worlds.programs.size.max())
        tensors["results"] = self.execution.results[:, :longest].detach().cpu()
        if self.execution.shift is not None:
            tensors["shift"] = self.execution.shift.cpu()
        if self.execution.visits is not None:
            self.execution.forget_visits()
            tensors["visits"] = self.execution.visits.cpu()
        return tensors, numbers | {"numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._numpy.bit_generator.state = numbers["numpy"]
        prefix = "worlds."
        arrays = {name: tensor.numpy() for name, tensor in tensors.items() if name.startswith(prefix)}
        kinds = {name: array.dtype for name, array in self.worlds.state().items()}
        given = {name.removeprefix(prefix): array for name, array in arrays.items()}
        self.worlds.restore({name: _as(array, kinds.get(name)) for name, array in given.items()})
        self.execution.results.zero_()
        results = tensors["results"]
        self.execution.results[:, : results.shape[1]] = results.to(self.execution.device)
        if self.execution.shift is not None:
            self.execution.shift.copy_(tensors["shift"])
        if self.execution.visits is not None:
            self.execution.visits.copy_(tensors["visits"])


def _storable(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Unsigned whole numbers, which torch hardly knows, as signed ones of the same bits."""
    return {name: array.view(np.int64) if array.dtype == np.uint64 else array for name, array in arrays.items()}


def _as(array: NDArray[Any], dtype: np.dtype[Any] | None) -> NDArray[Any]:
    return array.view(dtype) if dtype == np.uint64 else array
