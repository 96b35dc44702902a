"""Examples of a static task as tensors: programs, the specifications they are about, and what is known of the results.

source = task.source("train")                  # an `ExampleSource`
examples = source.batch(numbers, dense=True)
examples.arrays, examples.programs, examples.targets["Boolean"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.table import RoutineTable
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.execution import Programs
from program_guided.learning.results import ResultType
from program_guided.models.readers.config import Arrays

__all__ = ["ExampleSource", "Examples", "Part", "moved", "programs_of", "tensors_of"]

T = TypeVar("T")


@dataclass(frozen=True)
class Examples:
    """A batch of programs about some specifications."""

    arrays: dict[str, Tensor]
    """The specifications, as the reader reads them."""
    programs: Programs
    operations: NDArray[np.integer]
    """(batch, routines) rows of the domain, -1 for no routine"""
    types: Tensor
    """(batch, routines) numbers of result types in the order of the task's, -1 for no routine"""
    targets: Mapping[str, Tensor]
    """By result type, (batch, routines, ...): what is known of the results"""
    executed: Tensor
    """(batch, routines) the routines on the path that the right answers take"""
    last: Tensor
    """(batch,) the routine that gives the answer"""


class ExampleSource(Protocol):
    """A set of examples of a task."""

    @property
    def results(self) -> Mapping[str, ResultType]: ...
    def __len__(self) -> int: ...
    def batch(self, numbers: NDArray[np.int64], dense: bool = True, about: NDArray[np.int64] | None = None) -> Examples:
        """Some examples; with `dense` also the oracle's results of all routines. `about` names other specifications
        than their own; then the oracle alone knows what is right."""

    def specification_numbers(self) -> NDArray[np.int64]:
        """(examples,) the specification that each is about."""

    def weights(self) -> NDArray[np.float64]:
        """(examples,) how often each should be drawn in training, relative to the others."""


class Part:
    """Some examples of a source, numbered from 0 (an `ExampleSource` too)."""

    def __init__(self, source: ExampleSource, numbers: NDArray[np.int64]) -> None:
        self.source, self.numbers = source, numbers

    @property
    def results(self) -> Mapping[str, ResultType]:
        return self.source.results

    def __len__(self) -> int:
        return len(self.numbers)

    def batch(self, numbers: NDArray[np.int64], dense: bool = True, about: NDArray[np.int64] | None = None) -> Examples:
        return self.source.batch(self.numbers[numbers], dense, about)

    def specification_numbers(self) -> NDArray[np.int64]:
        return self.source.specification_numbers()[self.numbers]

    def weights(self) -> NDArray[np.float64]:
        return self.source.weights()[self.numbers]


def tensors_of(arrays: Arrays) -> dict[str, Tensor]:
    """A batch of specifications as tensors."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def programs_of(tables: Sequence[RoutineTable], vocabulary: Vocabulary, of: NDArray[Any]) -> Programs:
    """Programs as tensors, padded to the longest."""
    longest = max(len(table) for table in tables)
    width, inputs = tables[0].domain.routine_width, tables[0].domain.max_inputs
    words = np.zeros((len(tables), longest, width), np.int64)
    parents = np.full((len(tables), longest, inputs), -1, np.int64)
    exists = np.zeros((len(tables), longest), np.bool_)
    flow = np.zeros((len(tables), longest, 3), np.int64)
    for row, table in enumerate(tables):
        size = len(table)
        words[row, :size], parents[row, :size] = vocabulary.encode(table), table.inputs
        exists[row, :size] = True
        flow[row, :size] = np.stack([table.kind, table.on_true, table.on_false], axis=1)
    conditional = any(not table.parallel for table in tables)
    return Programs(
        torch.from_numpy(words),
        torch.from_numpy(parents),
        torch.from_numpy(exists),
        torch.from_numpy(np.asarray(of, np.int64)),
        torch.from_numpy(flow) if conditional else None,
    )


def moved(parts: T, device: torch.device) -> T:
    """A dataclass of tensors, on a device."""
    if not is_dataclass(parts) or device.type == "cpu":
        return parts
    changes = {each.name: _moved(getattr(parts, each.name), device) for each in fields(parts)}
    return replace(parts, **changes)  # type: ignore[type-var]


def _moved(part: Any, device: torch.device) -> Any:
    if isinstance(part, Tensor):
        return part.to(device)
    if isinstance(part, Mapping):
        return {name: _moved(each, device) for name, each in part.items()}
    return moved(part, device)
