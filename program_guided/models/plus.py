"""`plus`: our executor.

Departures from the paper:
- A row reads its own words directly instead of attending to all routines (no CrossAtt1), so the cost of a step does not
  depend on the length of the program.
- The specification is read `blocks` times, with an MLP after each, by a reader made for its kind (`readers/`).
- Inputs are ordered, and two inputs are compared explicitly: similarity and difference of their decoded results, type
  by type.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, final

import torch
from torch import Tensor, nn

from program_guided.models.attention import RowAttention, Watch
from program_guided.models.config import VALUE, PlusConfig
from program_guided.models.executor import Executor
from program_guided.models.model import Sizes, Step, take
from program_guided.models.readers.config import ReaderConfig
from program_guided.models.semantics import Semantics, mlp

__all__ = ["Plus"]

SCALES = 4
"""Number of learned scales on which the difference of two inputs is measured."""


@dataclass(frozen=True)
class Words:
    """Programs as blocks read them."""

    semantics: Semantics
    words: Tensor
    """(batch, routines, L)"""


@final
class Plus(Executor):
    """The executor of `PlusConfig`."""

    def __init__(self, config: PlusConfig, sizes: Sizes, reader: ReaderConfig) -> None:
        width = config.width_of(sizes.words)
        network: Any = reader.build(sizes, width, config.heads, config.blocks, config.hidden)
        shared = getattr(network, "named_words", ())
        vocabulary = len(sizes.vocabulary)
        semantics = Semantics(vocabulary, sizes.words, width // sizes.words, config.semantics, shared)
        super().__init__(sizes, network, width, config.hidden, semantics, guided=config.structure, memory=config.memory)
        self.config = config
        self.blocks = nn.ModuleList([PlusBlock(width, config)])
        self.compared = {name: size for name, size in sizes.results if size is not None and size > 1 and name != VALUE}
        if sizes.inputs > 1:
            scales = {name: nn.Linear(size, SCALES, bias=False) for name, size in self.compared.items()}
            self.scales = nn.ModuleDict(scales)
            self.difference = nn.Linear((1 + SCALES) * len(self.compared), width)

    @property
    def local(self) -> bool:  # type: ignore[override]
        return self.guided

    def settings(self) -> dict[str, Any]:
        return asdict(self.config)

    def value_axes(self, result_type: str) -> dict[str, tuple[int, ...]]:
        compared = {f"scales.{result_type}.weight": (1,)} if self.sizes.inputs > 1 else {}
        return super().value_axes(result_type) | compared

    def read_program(self, step: Step) -> Words:
        return Words(self.semantics, step.words)

    def compare_inputs(self, rows: Tensor, parents: Tensor, exists: Tensor) -> Tensor:
        first = int(self.sizes.sequential)
        if self.sizes.inputs < 2 or parents.shape[2] < first + 2:
            return rows
        decoded = {name: self.decode(parents[:, :, first:], name).softmax(dim=3) for name in self.compared}
        for one, other in pairwise(range(parents.shape[2] - first)):
            features = []
            for name, shares in decoded.items():
                left, right = shares[:, :, one], shares[:, :, other]
                features += [(left * right).sum(dim=2, keepdim=True), self.scales[name](left - right)]
            both = (exists[:, :, first + one] & exists[:, :, first + other])[..., None]
            rows = rows + self.difference(torch.cat(features, dim=2)).masked_fill(~both, 0.0)
        return rows


class PlusBlock(nn.Module):
    """Reads the words directly, then the parents' results, then the specification `blocks` times."""

    def __init__(self, width: int, config: PlusConfig) -> None:
        super().__init__()
        self.words, self.rows = nn.Linear(2 * width, width), RowAttention(width, config.heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + 2 * config.blocks))
        self.mlps = nn.ModuleList(mlp(width, config.hidden, width) for _ in range(config.blocks))

    def attend_words(
        self, rows: Tensor, numbers: Tensor, program: Words, watch: Watch | None = None, name: str = ""
    ) -> Tensor:
        words = program.semantics(take(program.words, numbers))
        return self.norms[0](self.words(torch.cat([words, rows], dim=2)))

    def read_ahead(self, rows: Tensor, reader: Any, view: Any, number: int) -> Tensor:
        return rows

    def attend_parents(
        self, rows: Tensor, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str
    ) -> Tensor:
        return rows + self.rows(queries, keys, allowed, watch, name).view_as(rows)

    def read_specification(
        self, rows: Tensor, reader: Any, view: Any, number: int, watch: Watch | None = None
    ) -> Tensor:
        for reading, feed_forward in enumerate(self.mlps):
            rows = rows + reader(self.norms[2 + 2 * reading](rows), view, reading, watch)
            rows = rows + feed_forward(self.norms[3 + 2 * reading](rows))
        return self.norms[1](rows)
