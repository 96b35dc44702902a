"""Programs as tensors: semantic guidance P^s (Eq. 1), structure guidance P^t (Eq. 2, 6), and pointers over batches.

A batch of programs is an array of words (batch, routines, L), 0 where there is none. Pointers do what
`language/pointer.py` does, many at once, and are held equal to it by tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["Pointers", "Semantics", "mlp", "ready", "sinusoids", "structure"]


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two layers."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


def sinusoids(count: int, width: int, spaced: bool = True) -> Tensor:
    """(count, width) positional encoding by sines and cosines.

    Frequencies are evenly `spaced`, not in powers of 10,000 as in the standard transformer: there, neighbours are
    nearly equal and a row could hardly tell its own words from the next routine's; here, different positions are
    orthogonal (up to `width` apart).
    """
    half = width // 2
    frequency = math.pi * (torch.arange(half) + 0.5) / half if spaced else 10_000.0 ** (-torch.arange(half) / half)
    angle = torch.arange(count)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


class Semantics(nn.Module):
    """P^s (Eq. 1): a routine is its words' embeddings, side by side. Words that are `alike` share the first one's."""

    def __init__(
        self, vocabulary: int, words: int, word_width: int, enabled: bool = True, alike: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.vocabulary, self.words, self.word_width, self.enabled = vocabulary, words, word_width, enabled
        self.word = nn.Embedding(vocabulary, word_width, padding_idx=0)
        self.read_as: Tensor | None
        read_as = torch.arange(vocabulary)
        read_as[list(alike)] = min(alike, default=0)
        self.register_buffer("read_as", read_as if alike else None, persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        """(..., L) -> (..., L * d_m)"""
        words = words.long() if self.read_as is None else self.read_as[words.long()]
        embedded = self.word(words).flatten(-2)
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


@dataclass(frozen=True)
class Pointers:
    """A pointer in each program of a batch (Algorithm 2)."""

    routine: Tensor
    """(batch,)"""
    previous: Tensor
    """(batch,) the routine executed before, -1 at the start"""

    @classmethod
    def start(cls, batch: int) -> Pointers:
        """At the entrances."""
        return cls(torch.zeros(batch, dtype=torch.long), torch.full((batch,), -1))

    def advance(self, on_true: Tensor, on_false: Tensor, ended: Tensor, answer: Tensor) -> Pointers:
        """Move on where the pointed routine has `ended` (batch,), by its `answer` (batch,; true where it has none).

        on_true, on_false (batch, routines): where to go, a program's size for its end.
        """
        here = self.routine.clamp(max=on_true.shape[1] - 1)[:, None]
        after = torch.where(answer, on_true.gather(1, here)[:, 0], on_false.gather(1, here)[:, 0])
        return Pointers(torch.where(ended, after, self.routine), torch.where(ended, self.routine, self.previous))


def ready(parents: Tensor, exists: Tensor, ended: Tensor) -> Tensor:
    """Where pointers stand in graphs (Algorithm 3 and 4): routines that have not ended and whose parents all have.

    parents (batch, routines, K) with -1 for none; exists, ended (batch, routines).
    """
    batch, routines, most = parents.shape
    found = ended.gather(1, parents.clamp(min=0).view(batch, -1)).view(batch, routines, most)
    return exists & ~ended & (found | (parents < 0)).all(dim=2)
