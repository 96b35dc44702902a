"""Semantic guidance (Eq. 1) and structure guidance (Eq. 2, 6) of programs, as tensors; and the pointer over batches.

A batch of programs is an array of words (batch, routines, L), 0 where there is none.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["Semantics", "mlp", "sinusoids", "structure"]


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two layers."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


def sinusoids(count: int, width: int) -> Tensor:
    """(count, width) positional encoding by sines and cosines.

    Frequencies are evenly spaced, not in powers of 10,000 as in the standard transformer: there, neighbours are nearly
    equal and a row could hardly tell its own words from the next routine's; here, different positions are orthogonal
    (up to `width` apart).
    """
    frequency = math.pi * (torch.arange(width // 2) + 0.5) / (width // 2)
    angle = torch.arange(count)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


class Semantics(nn.Module):
    """P^s (Eq. 1): a routine is its words' embeddings, side by side."""

    def __init__(self, vocabulary: int, words: int, word_width: int, enabled: bool = True) -> None:
        super().__init__()
        self.vocabulary, self.words, self.word_width, self.enabled = vocabulary, words, word_width, enabled
        self.word = nn.Embedding(vocabulary, word_width, padding_idx=0)

    def forward(self, words: Tensor) -> Tensor:
        """(..., L) -> (..., L * d_m)"""
        embedded = self.word(words.long()).flatten(-2)
        return embedded if self.enabled else torch.zeros_like(embedded)

    def table(self) -> Tensor:
        """(L * vocabulary, d): a routine is the sum of these rows at `index`, one for each of its words."""
        slots = torch.eye(self.words, device=self.word.weight.device)
        table = torch.einsum("st,vm->svtm", slots, self.word.weight).reshape(-1, self.words * self.word_width)
        return table if self.enabled else torch.zeros_like(table)

    def index(self, words: Tensor) -> Tensor:
        """(batch, routines, L) rows of the table; -1 where there is no routine."""
        first = torch.arange(self.words, device=words.device) * self.vocabulary
        return (words.long() + first).masked_fill((words == 0).all(dim=2, keepdim=True), -1)


def structure(pointed: Tensor, parents: Tensor, routines: int) -> Tensor:
    """P^t (Eq. 2, 6) as what is allowed: (batch, routines, routines), true where the paper has 0.

    pointed (batch, R) and parents (batch, R, K): row numbers, -1 for none.
    """
    batch = len(pointed)
    allowed = torch.eye(routines, dtype=torch.bool, device=pointed.device).expand(batch, -1, -1)
    is_pointed = torch.nn.functional.one_hot(pointed + 1, routines + 1)[..., 1:]
    is_parent = torch.nn.functional.one_hot(parents + 1, routines + 1)[..., 1:].amax(dim=2)
    return allowed | (torch.einsum("bri,brj->bij", is_pointed, is_parent) > 0)
