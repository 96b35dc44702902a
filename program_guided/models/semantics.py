"""Programs as tensors: semantic guidance P^s (Eq. 1) and structure guidance P^t (Eq. 2, 6).

A batch of programs is an array of words (batch, routines, L), 0 where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["Semantics", "mlp", "sinusoids", "structure"]


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """A two-layer perceptron."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


def sinusoids(count: int, width: int, linear: bool = True) -> Tensor:
    """(count, width) positional encoding by sines and cosines.

    Frequencies are `linear`, not powers of 10,000 as in the standard transformer. There, neighbours are nearly equal,
    and a row can hardly distinguish its own words from the next routine's; here, positions up to `width` apart are
    orthogonal.
    """
    half = width // 2
    frequency = math.pi * (torch.arange(half) + 0.5) / half if linear else 10_000.0 ** (-torch.arange(half) / half)
    angle = torch.arange(count)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


class Semantics(nn.Module):
    """P^s (Eq. 1): a routine is the concatenation of its words' embeddings. Words in `shared` share one embedding."""

    def __init__(
        self, vocabulary: int, words: int, word_width: int, enabled: bool = True, shared: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.vocabulary, self.words, self.word_width, self.enabled = vocabulary, words, word_width, enabled
        self.word = nn.Embedding(vocabulary, word_width, padding_idx=0)
        self.read_as: Tensor | None
        read_as = torch.arange(vocabulary)
        read_as[list(shared)] = min(shared, default=0)
        self.register_buffer("read_as", read_as if shared else None, persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        """(..., L) -> (..., L * d_m)"""
        words = words.long() if self.read_as is None else self.read_as[words.long()]
        embedded = self.word(words).flatten(-2)
        return embedded if self.enabled else torch.zeros_like(embedded)

    def table(self) -> Tensor:
        """(L * vocabulary, d): a routine is the sum of the rows at `index`, one for each of its words."""
        slots = torch.eye(self.words, device=self.word.weight.device)
        table = torch.einsum("st,vm->svtm", slots, self.word.weight).reshape(-1, self.words * self.word_width)
        return table if self.enabled else torch.zeros_like(table)

    def index(self, words: Tensor) -> Tensor:
        """(batch, routines, L) rows of the table; -1 where there is no routine."""
        first = torch.arange(self.words, device=words.device) * self.vocabulary
        return (words.long() + first).masked_fill((words == 0).all(dim=2, keepdim=True), -1)


def structure(pointed: Tensor, parents: Tensor, routines: int) -> Tensor:
    """P^t (Eq. 2, 6) as a mask (batch, 1 + parents, routines, routines): true (allowed) where the paper has 0.

    pointed (batch, rows) and parents (batch, rows, parents): numbers of routines, -1 for none. The first matrix allows
    every routine to attend to itself; there is another one for each place of a parent, since inputs are ordered.
    """
    own = torch.eye(routines, dtype=torch.bool, device=pointed.device).expand(len(pointed), 1, -1, -1)
    is_pointed = torch.nn.functional.one_hot(pointed + 1, routines + 1)[..., 1:]
    is_parent = torch.nn.functional.one_hot(parents + 1, routines + 1)[..., 1:]
    return torch.cat([own, torch.einsum("bri,brpj->bpij", is_pointed, is_parent) > 0], dim=1)
