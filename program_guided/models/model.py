"""The interface of every model.

A model holds no programs and no results. A step contains both, and the model computes the new rows of the result matrix
Z (routines, d) of the pointed routines:

    rows = model(Step(specification, words, results, pointed, parents))      # (batch, rows, d)
    scores = model.decode(rows, "Boolean")                                   # (batch, rows, 2)
    scores = model.decode(rows, "Objects", specification)                    # (batch, rows, parts + 1)

`Sizes` is all that a model depends on of a task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from program_guided.models.attention import Watch
from program_guided.models.config import VALUE
from program_guided.models.semantics import Semantics, mlp, sinusoids

__all__ = ["Model", "Sizes", "Step", "take"]


@dataclass(frozen=True)
class Sizes:
    """A task in numbers."""

    vocabulary: tuple[str, ...]
    """All words, "" (no word) first."""
    words: int
    """L: words of a routine."""
    operation_words: int
    """Words at the beginning of a routine that name its operation; the others are its arguments."""
    inputs: int
    """K: maximum number of results that a routine takes."""
    sequential: bool
    """True if the routine executed before is a parent too."""
    results: tuple[tuple[str, int | None], ...]
    """Result types and the size of each one's output; None: it points at parts of the specification."""

    @property
    def parents(self) -> int:
        return int(self.sequential) + self.inputs

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Sizes:
        """Read a record of `as_dict`; KeyError, TypeError or ValueError if it is not one."""
        results = tuple((str(name), None if size is None else int(size)) for name, size in record["results"])
        numbers = {name: int(record[name]) for name in ("words", "operation_words", "inputs")}
        if not (1 <= numbers["operation_words"] <= numbers["words"] <= 256 and 0 <= numbers["inputs"] <= 256):
            raise ValueError(numbers)
        return cls(
            tuple(map(str, record["vocabulary"])), **numbers, sequential=bool(record["sequential"]), results=results
        )


@dataclass(frozen=True)
class Step:
    """The input of a model: a batch of programs, one step of each."""

    specification: Any
    """The specifications as encoded by the reader (`Reader.encode`)."""
    words: Tensor
    """(batch, routines, L) numbers of words, 0 for none."""
    results: Tensor
    """(batch, routines, d) the result matrix Z."""
    pointed: Tensor
    """(batch, rows) the routines to execute."""
    parents: Tensor
    """(batch, rows, parents) their parents, -1 for none: the routine executed before (if `Sizes.sequential`), then the
    inputs in their order."""
    shift: Tensor | None = None
    """(batch,) shift of the positions of routines, in training."""
    tokens: Tensor | None = None
    """(batch, tokens) the programs as tokens (`language/tokens.py`), for models without a pointer (`recurrent`)."""
    allowed: Tensor | None = None
    """(batch, actions) actions that are allowed now, where the results are actions."""


class Model(nn.Module, ABC):
    """A model that executes programs."""

    local = False
    """True if it reads only the pointed routines and their parents, so that the others need not be given."""
    recurrent = False
    """True if it has no pointer, but a memory of the whole episode (`models/recurrent.py`)."""
    shift_range = 0
    """Upper bound of the shift of positions of routines in training; 0 for none."""

    def __init__(self, sizes: Sizes, reader: Any, width: int, hidden: int) -> None:
        super().__init__()
        self.sizes, self.width, self.reader = sizes, width, reader
        heads = {name: mlp(width, hidden, size) for name, size in sizes.results if size is not None}
        self.heads = nn.ModuleDict(heads)
        self.encoding: Tensor
        self.register_buffer("encoding", sinusoids(2 * width, width) * 2**0.5, persistent=False)

    @abstractmethod
    def forward(self, step: Step, watch: Watch | None = None) -> Tensor:
        """New rows of Z of the pointed routines, (batch, rows, d). `watch` is filled with attention weights."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Its configuration as JSON."""

    def decode(self, rows: Tensor, result_type: str, specification: Any = None) -> Tensor:
        """Scores of rows (..., d) of one result type; a type that points at parts needs rows (batch, rows, d)."""
        if result_type in self.heads:
            output: Tensor = self.heads[result_type](rows)
        else:
            output = self.reader.point(rows, specification)
        return output

    def value(self, rows: Tensor, left: Tensor | None = None) -> Tensor:
        """(batch,) values of states, from their rows (batch, d) and the number of routines left, if given."""
        if left is not None:
            rows = rows + self.encoding[left.to(rows.device).clamp(max=len(self.encoding) - 1)]
        return self.decode(rows, VALUE)[:, 0]

    def word_axes(self) -> dict[str, tuple[int, ...]]:
        """Parameter or buffer -> its axes that are numbered by the words of the vocabulary."""
        found = {f"{name}.word.weight": (0,) for name, each in self.named_modules() if isinstance(each, Semantics)}
        of_reader: dict[str, tuple[int, ...]] = getattr(self.reader, "word_axes", dict)()
        return found | {f"reader.{name}": axes for name, axes in of_reader.items()}

    def value_axes(self, result_type: str) -> dict[str, tuple[int, ...]]:
        """Parameter -> its axes that are numbered by the values of a result type."""
        last = len(self.heads[result_type]) - 1  # type: ignore[arg-type]
        return {f"heads.{result_type}.{last}.{part}": (0,) for part in ("weight", "bias")}

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def take(rows: Tensor, numbers: Tensor) -> Tensor:
    """Rows by number: (batch, routines, d), (batch, N) -> (batch, N, d); row 0 where the number is -1."""
    numbers = numbers.clamp(min=0)
    if rows.requires_grad:  # the gradient of indexing is summed in any order by several threads
        return rows.gather(1, numbers[..., None].expand(-1, -1, rows.shape[2]))
    return rows[torch.arange(len(rows), device=rows.device)[:, None], numbers]
