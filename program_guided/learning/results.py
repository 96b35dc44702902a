"""Result types: what a routine's result can be, and all that depends on it. A user may add one.

| type | a result is | its head gives |
|---|---|---|
| `Boolean` | True or False | two scores |
| `Value` | one of a list of values, or of a range of whole numbers | a score for each |
| `Answer` | one of the values that occur in the training data | a score for each |
| `Subset` | a set of parts of the specification (objects, items), by number | a score for each part, and for none |
| `Action` | an action in a world | a score for each |

A result type encodes a known result as a target, gives the loss of scores against targets, decodes scores, compares two
results and shows one. Torch is imported only where tensors are at hand, so that a task's file needs none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "NO_TARGET",
    "OUT_OF_VOCABULARY",
    "Action",
    "Answer",
    "Boolean",
    "Categorical",
    "ResultType",
    "Subset",
    "Value",
]

NO_TARGET = -1
"""The target of a result that is not known."""
OUT_OF_VOCABULARY = -2
"""The target of a result that is known and that the head cannot give: it is never right."""
SUBSET_WEIGHT = 0.25
"""Weight of one part's loss beside that of a categorical result."""
THRESHOLD = 0.5
"""A part is in the decoded set if its probability is larger."""


@dataclass(frozen=True)
class ResultType(ABC):
    """A result type; `name` is what programs and errors call it."""

    name: str

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Outputs of its head; None: one for each part of the specification, and one for none of them."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], parts: int) -> NDArray[Any]:
        """Targets (*shape, ...) none of which is known."""

    @abstractmethod
    def encode(self, value: Any, parts: int) -> Any:
        """A known result as an element of `empty`."""

    @abstractmethod
    def known(self, targets: Tensor) -> Tensor:
        """(batch, routines) where targets are known and can be learned."""

    def judged(self, targets: Tensor) -> Tensor:
        """(batch, routines) where results can be right or wrong."""
        return self.known(targets)

    @abstractmethod
    def loss(self, scores: Tensor, targets: Tensor, exists: Tensor, independent: bool) -> Tensor:
        """The sum of the losses of scores (N, ...) against known targets; exists (N, parts) says which parts there are,
        `independent` whether parts are pointed at one by one (`Reader.independent`)."""

    @abstractmethod
    def probabilities(self, scores: Tensor, independent: bool) -> Tensor:
        """Probabilities of the values, or of the parts without the one for none."""

    @abstractmethod
    def decode(self, probabilities: NDArray[np.float32]) -> tuple[Any, float]:
        """A result, and how sure it is."""

    @abstractmethod
    def same(self, probabilities: Tensor, targets: Tensor, exists: Tensor) -> Tensor:
        """(N,) whether decoded results are the known ones."""

    def show(self, value: Any) -> str:
        """A result as a person reads it."""
        return str(value)


@dataclass(frozen=True)
class Categorical(ResultType):
    """One of some values."""

    values: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        return len(self.values)

    @cached_property
    def index(self) -> dict[Any, int]:
        return {value: number for number, value in enumerate(self.values)}

    def empty(self, shape: tuple[int, ...], parts: int) -> NDArray[Any]:
        return np.full(shape, NO_TARGET, np.int64)

    def encode(self, value: Any, parts: int) -> int:
        return self.index.get(value, OUT_OF_VOCABULARY)

    def known(self, targets: Tensor) -> Tensor:
        return targets >= 0

    def judged(self, targets: Tensor) -> Tensor:
        return targets != NO_TARGET

    def loss(self, scores: Tensor, targets: Tensor, exists: Tensor, independent: bool) -> Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(scores, targets, reduction="sum")

    def probabilities(self, scores: Tensor, independent: bool) -> Tensor:
        return scores.softmax(dim=-1)

    def decode(self, probabilities: NDArray[np.float32]) -> tuple[Any, float]:
        best = int(probabilities.argmax())
        return self.values[best], float(probabilities[best])

    def same(self, probabilities: Tensor, targets: Tensor, exists: Tensor) -> Tensor:
        return probabilities.argmax(dim=-1) == targets


@final
@dataclass(frozen=True)
class Boolean(Categorical):
    """True or false; true first, as in the actions of a world."""

    name: str = "Boolean"
    values: tuple[Any, ...] = (True, False)

    def show(self, value: Any) -> str:
        return "yes" if value else "no"


@final
@dataclass(frozen=True)
class Value(Categorical):
    """One of a list of words, or of a range of whole numbers."""


@final
@dataclass(frozen=True)
class Answer(Categorical):
    """One of the values that the training data gives; known once that has been read."""

    name: str = "Answer"

    def of(self, values: Sequence[Any]) -> Answer:
        """With these values."""
        return replace(self, values=tuple(values))


@final
@dataclass(frozen=True)
class Action(Categorical):
    """An action in a world."""

    name: str = "Action"


@final
@dataclass(frozen=True)
class Subset(ResultType):
    """A set of parts of the specification, by their numbers from 0. A target is a distribution over the parts, the
    last one for none; all zero where it is not known."""

    name: str = "Objects"

    @property
    def size(self) -> None:
        return None

    def empty(self, shape: tuple[int, ...], parts: int) -> NDArray[Any]:
        return np.zeros((*shape, parts + 1), np.float32)

    def encode(self, value: Collection[int], parts: int) -> NDArray[np.float32]:
        target = np.zeros(parts + 1, np.float32)
        chosen = _numbers(value)
        if chosen and not (chosen[0] >= 0 and chosen[-1] < parts):
            raise ValueError(f"parts are numbered from 0 to {parts - 1}, not {chosen[0]} to {chosen[-1]}")
        target[chosen or [parts]] = 1 / max(1, len(chosen))
        return target

    def known(self, targets: Tensor) -> Tensor:
        return targets.sum(dim=-1) > 0

    def loss(self, scores: Tensor, targets: Tensor, exists: Tensor, independent: bool) -> Tensor:
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

        if not independent:
            return cross_entropy(scores, targets, reduction="sum")
        there = torch.cat([exists, exists.new_ones(len(exists), 1)], dim=1)
        losses = binary_cross_entropy_with_logits(scores, (targets > 0).float(), reduction="none")
        return SUBSET_WEIGHT * losses.masked_fill(~there, 0.0).sum()

    def probabilities(self, scores: Tensor, independent: bool) -> Tensor:
        if independent:
            return scores[..., :-1].sigmoid()
        shares = scores.softmax(dim=-1)  # parts share one unit, so each is measured by the most probable one
        return (shares / shares.amax(dim=-1, keepdim=True))[..., :-1]

    def decode(self, probabilities: NDArray[np.float32]) -> tuple[frozenset[int], float]:
        chosen = probabilities > THRESHOLD
        sure = np.where(chosen, probabilities, 1 - probabilities).min(initial=1.0)
        return frozenset(np.flatnonzero(chosen).tolist()), float(sure)

    def same(self, probabilities: Tensor, targets: Tensor, exists: Tensor) -> Tensor:
        return (((probabilities > THRESHOLD) == (targets[..., :-1] > 0)) | ~exists).all(dim=-1)

    def show(self, value: Collection[int]) -> str:
        return ", ".join(map(str, _numbers(value))) or "none"


def _numbers(value: Collection[int]) -> list[int]:
    """Numbers of parts in ascending order; a mask of booleans says which ones."""
    array = np.asarray(list(value))
    return np.flatnonzero(array).tolist() if array.dtype == np.bool_ else sorted(int(part) for part in array)
