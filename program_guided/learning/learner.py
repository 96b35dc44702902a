"""The base of all learners: an optimizer, averaged weights, a state to resume from."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn

from program_guided.errors import DataError
from program_guided.learning.settings import Settings
from program_guided.models.semantics import Semantics

__all__ = ["AllReduce", "AnySettings", "Learner", "Share", "alone", "check_device"]

AnySettings = TypeVar("AnySettings", bound=Settings)
Share = tuple[int, int]
"""(rank, world size) of a process."""
AllReduce = Callable[[Tensor], Tensor]
"""The mean of a tensor over all processes."""


def alone(tensor: Tensor) -> Tensor:
    """The mean over a single process."""
    return tensor


def check_device(name: str) -> None:
    """One clear error for a device that is not there."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(name, True):
        raise DataError(f"device {name}: torch finds no such device here; leave it out for cpu")


class Learner(ABC, Generic[AnySettings]):
    """A training that can be stepped, and taken up again from its `state`."""

    shapes_recur: ClassVar[bool] = False
    """Whether the tensors of one step mostly have the shapes of earlier ones."""

    def __init__(
        self, model: nn.Module, settings: AnySettings, seed: int, share: Share = (0, 1), all_reduce: AllReduce = alone
    ) -> None:
        number, processes = share
        settings.check(processes)
        self.model: nn.Module = model
        self.average: nn.Module = copy.deepcopy(model).eval()
        self.settings, self._all_reduce = settings, all_reduce
        kept = model.state_dict().keys() - dict(model.named_parameters()).keys()
        averaged = dict(self.average.named_buffers())
        self._word_tables = [each.word.weight for each in self.average.modules() if isinstance(each, Semantics)]
        self.stand_ins: Mapping[int, Sequence[int]] = {}
        """Word that no training program has -> the words whose mean it is read as."""
        self._buffers = [(averaged[name], given) for name, given in model.named_buffers() if name in kept]
        self.done = 0
        """Iterations that are over."""
        self.own_seed = seed + (number << 32)
        self.generator = torch.Generator().manual_seed(self.own_seed)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay
        )

    @abstractmethod
    def step(self) -> float:
        """One iteration of the training; its loss, NaN if the training has diverged."""

    def figures(self) -> dict[str, float]:
        """Figures of the training, besides its loss."""
        return {}

    def optimizer_step(self, loss: Tensor) -> float:
        """One step of the optimizer along the mean gradient of all processes; their mean loss."""
        settings = self.settings
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        used = self._used()
        flat = self._all_reduce(
            torch.cat([loss.detach()[None], *(_gradient(parameter).flatten() for parameter in used)])
        )
        if not bool(flat.isfinite().all()):
            return math.nan
        gradients = torch.split(flat[1:], [parameter.numel() for parameter in used])
        for parameter, gradient in zip(used, gradients, strict=True):
            parameter.grad = gradient.view_as(parameter)
        torch.nn.utils.clip_grad_norm_(used, settings.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * self._schedule()
        self.optimizer.step()
        self._update_average(min(settings.ema, (self.done + 1) / (self.done + 10)))
        return float(flat[0])

    def _used(self) -> list[Tensor]:
        """Parameters that have a gradient in any process: one may have met no question of some kind."""
        every = list(self.model.parameters())
        here = torch.tensor([float(each.grad is not None) for each in every], device=every[0].device)
        return [each for each, share in zip(every, self._all_reduce(here).tolist(), strict=True) if share > 0]

    def _schedule(self) -> float:
        """The learning rate now, as a share of its height."""
        warm = min(1.0, (self.done + 1) / self.settings.warmup)
        return warm * 0.5 * (1 + math.cos(math.pi * self.share_done)) if self.settings.anneal else warm

    @property
    def share_done(self) -> float:
        return self.done / self.settings.iterations

    @torch.no_grad()
    def _update_average(self, decay: float) -> None:
        """Update the exponential moving average; buffers are those of the model."""
        kept: list[Tensor] = list(self.average.parameters())
        latest: list[Tensor] = list(self.model.parameters())
        torch._foreach_mul_(kept, decay)
        torch._foreach_add_(kept, latest, alpha=1 - decay)
        for own, given in self._buffers:
            own.copy_(given)
        for word, others in self.stand_ins.items():
            for table in self._word_tables:
                table[word] = table[list(others)].mean(dim=0)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that the rest of the training depends on besides the weights: this process's tensors, and its numbers."""
        return {"random": self.generator.get_state(), "torch": torch.get_rng_state()}, {"done": self.done}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Go on from a `state`."""
        self.done = int(numbers["done"])
        self.generator.set_state(tensors["random"])
        torch.set_rng_state(tensors["torch"])  # a model may have dropout


def _gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
