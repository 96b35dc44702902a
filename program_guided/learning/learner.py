"""What trainings in the world have in common: worlds, an optimizer, averaged weights, a state to resume from."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.execution import Execution
from program_guided.learning.settings import Settings
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.batch import Batch, Entry
from program_guided.tasks.minecraft.rules import Outcome

__all__ = ["Learner"]

AnySettings = TypeVar("AnySettings", bound=Settings)


class Learner(ABC, Generic[AnySettings]):
    """A training that can be stepped, and taken up again from its `state`.

    `share` is this process's number and how many there are; `agree` averages a tensor over them.
    """

    def __init__(
        self,
        model: Executor,
        entries: Sequence[Entry],
        settings: AnySettings,
        seed: int,
        share: tuple[int, int] = (0, 1),
        agree: Callable[[Tensor], Tensor] = lambda tensor: tensor,
    ) -> None:
        number, processes = share
        settings.check(processes)
        self.model, self.average = model, copy.deepcopy(model)
        self.settings, self._agree = settings, agree
        self.done = 0
        """Turns that are over."""
        self.batch = Batch(entries, settings.worlds // processes, variants=settings.variants)
        own_seed = seed + (number << 32)
        self.batch.seed(own_seed)
        self.batch.reset()
        self._numpy, self.chance = np.random.default_rng(own_seed), torch.Generator().manual_seed(own_seed)
        self.execution = Execution(model, self.batch, shifts=self.chance)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay
        )

    @abstractmethod
    def step(self) -> float:
        """One turn of the training; its loss, not a number if the training has broken down."""

    def figures(self) -> dict[str, float]:
        """How the training stands, besides its loss."""
        return {}

    def descend(self, loss: Tensor) -> float:
        """One step of the optimizer along the mean gradient of all processes; their mean loss."""
        settings = self.settings
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        used = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        flat = torch.cat([loss.detach()[None], *(parameter.grad.flatten() for parameter in used)])  # type: ignore[union-attr]
        flat = self._agree(flat)
        if not bool(flat.isfinite().all()):
            return math.nan
        gradients = torch.split(flat[1:], [parameter.numel() for parameter in used])
        for parameter, gradient in zip(used, gradients, strict=True):
            parameter.grad = gradient.view_as(parameter)
        torch.nn.utils.clip_grad_norm_(used, settings.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.rate * self._warmth()
        self.optimizer.step()
        self._follow(min(settings.average, (self.done + 1) / (self.done + 10)))
        return float(flat[0])

    def _warmth(self) -> float:
        """Share of the learning rate's height at this time."""
        warm = min(1.0, (self.done + 1) / self.settings.warm_up)
        return warm * 0.5 * (1 + math.cos(math.pi * self.share_done)) if self.settings.falling else warm

    @property
    def share_done(self) -> float:
        return self.done / self.settings.turns

    @torch.no_grad()
    def _follow(self, share: float) -> None:
        """Move the average a little towards the model."""
        kept: list[Tensor] = list(self.average.parameters())
        latest: list[Tensor] = list(self.model.parameters())
        torch._foreach_mul_(kept, share)
        torch._foreach_add_(kept, latest, alpha=1 - share)

    def walk(self, actions: NDArray[np.int64], rows: Tensor) -> None:
        """Keep the new results and step the worlds; those that are over begin again."""
        self.execution.keep(rows)
        over = self.batch.outcome != Outcome.RUNNING
        self.batch.step_or_reset(actions)
        self.execution.forget(over)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What the rest of the training depends on besides the weights: this process's tensors, and its numbers."""
        tensors = {f"worlds.{name}": torch.from_numpy(array) for name, array in _storable(self.batch.state()).items()}
        longest = int(self.batch.programs.size.max())
        tensors |= {"results": self.execution.results[:, :longest].cpu(), "random": self.chance.get_state()}
        if self.execution.shift is not None:
            tensors["shift"] = self.execution.shift.cpu()
        return tensors, {"done": self.done, "numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Go on from a `state`."""
        self.done = int(numbers["done"])
        self._numpy.bit_generator.state = numbers["numpy"]
        self.chance.set_state(tensors["random"])
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
