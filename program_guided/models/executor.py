"""The Program-guided Transformer (section 4), form `plus`.

One step carries out the pointed routine: its row of the result matrix Z is told its words (P^s, Eq. 1), its parents'
results (the masked self-attention of Eq. 4) and the specification (Eq. 5), and is decoded by the head of its result
type. Departures from the paper: a row reads its own words directly instead of attending over all routines (which only
the positional encoding would lead back to its own), residual paths and LayerNorm, inactive rows keep their results, and
the specification is read by a reader made for its kind, more than once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Executor", "ExecutorConfig"]


@dataclass(frozen=True)
class ExecutorConfig:
    """Sizes of an executor."""

    vocabulary: int
    words: int
    """L: words of a routine."""
    results: tuple[tuple[str, int], ...]
    """Result types and the size of each one's output."""
    word_width: int = 32
    """d_m; the executor's width d is L times this."""
    heads: int = 8
    hidden: int = 256
    passes: int = 2
    """How often the specification is read."""
    plans: int = 6
    structure: bool = True
    semantics: bool = True

    @property
    def width(self) -> int:
        return self.words * self.word_width

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Executor(nn.Module):
    """`reader` answers queries about a specification: (batch, width), specification -> (batch, width)."""

    def __init__(self, config: ExecutorConfig, reader: nn.Module) -> None:
        super().__init__()
        self.config, self.reader = config, reader
        width = config.width
        self.word = nn.Embedding(config.vocabulary, config.word_width, padding_idx=0)
        self.inject = nn.Linear(2 * width, width)
        self.parents = nn.MultiheadAttention(width, config.heads, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + 2 * config.passes))
        self.think = nn.ModuleList(_mlp(width, config.hidden, width) for _ in range(config.passes))
        self.heads = nn.ModuleDict({name: _mlp(width, config.hidden, size) for name, size in config.results})

    def semantics(self, words: Tensor) -> Tensor:
        """P^s (Eq. 1): the words' embeddings side by side; (..., L) -> (..., d)."""
        embedded = self.word(words.long()).flatten(-2)
        return embedded if self.config.semantics else torch.zeros_like(embedded)

    def forward(
        self,
        specification: Any,
        words: Tensor,
        result: Tensor,
        parent_words: Tensor,
        parent_results: Tensor,
        has_parent: Tensor,
    ) -> Tensor:
        """The new row of Z of the pointed routine.

        words (batch, L), result (batch, d): the pointed routine and its row of Z so far. parent_words (batch, K, L),
        parent_results (batch, K, d), has_parent (batch, K): its parents.
        """
        own = self._injected(words[:, None], result[:, None])
        keys = torch.cat([own, self._injected(parent_words, parent_results)], dim=1)
        allowed = torch.cat([torch.ones_like(has_parent[:, :1]), has_parent], dim=1)
        informed, _ = self.parents(own, keys, keys, key_padding_mask=~allowed, need_weights=False)
        row = (own + informed)[:, 0] + self.reader.context(specification)
        for number, think in enumerate(self.think):
            row = row + self.reader(self.norms[2 + 2 * number](row), specification)
            row = row + think(self.norms[3 + 2 * number](row))
        return self.norms[1](row)

    def _injected(self, words: Tensor, results: Tensor) -> Tensor:
        """H_1: results told what their routines say."""
        return self.norms[0](self.inject(torch.cat([self.semantics(words), results], dim=-1)))

    def decode(self, rows: Tensor, result_type: str) -> Tensor:
        """The explicit output of rows of one result type."""
        output: Tensor = self.heads[result_type](rows)
        return output


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))
