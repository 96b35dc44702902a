"""Pictures as evidence for words, and how an executor reads it.

Where there are few pictures, an executor that looks at vectors knows every picture by heart. Here a picture is instead
what is known of it before any question: for every word of the vocabulary some numbers, such as how much more likely the
word is than usual. A routine is told the numbers of its own words; an answer is what the executor makes of the program
(its head), and what the picture says of the words that it could be (`point`): logarithms are added, as in Bayes' rule.

    shown = evidence.about(of, said)                     # of the words that routines say
    reader(query, shown, number)                         # (batch, rows, width) -> (batch, rows, width)
    reader.point(rows, evidence.candidates(of, words))   # (batch, rows, answers)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from program_guided.models.attention import Watch

__all__ = ["FIRST_ARGUMENT", "MENTIONS", "Evidence", "EvidenceReader"]

MENTIONS = 2
"""What a program tells of a possible answer: whether its last routine names it, and whether any routine does."""
FIRST_ARGUMENT = 3
"""Words of a routine before this one are its family, its category and `not`."""


@dataclass(frozen=True)
class Evidence:
    """Pictures, and which answers are words."""

    words: Tensor
    """(pictures, vocabulary, kinds) numbers of every word, 0 where nothing is known"""
    answers: Tensor
    """(pictures, answers, kinds of answers) numbers of every answer"""
    spelt: Tensor
    """(answers,) the word that an answer is, 0 if it is none"""

    def about(self, of: Tensor, said: Tensor | None = None) -> Tensor:
        """(batch, L * kinds) what the pictures of these numbers tell of the words (batch, L) of routines."""
        assert said is not None
        return self.words[of[:, None], said].flatten(1)

    def candidates(self, of: Tensor, words: Tensor, last: Tensor) -> Tensor:
        """(batch, answers, kinds of answers + MENTIONS) what speaks for every answer to programs of these words
        (batch, routines, L) with these last routines."""
        named = torch.zeros(len(of), self.words.shape[1], MENTIONS)
        rows = torch.arange(len(of))
        said = words[rows, last][:, FIRST_ARGUMENT:]
        named[..., 0].scatter_(1, said, 1.0)
        named[..., 1].scatter_(1, words[:, :, FIRST_ARGUMENT:].flatten(1), 1.0)
        named[:, 0] = 0.0
        return torch.cat([self.answers[of], named[:, self.spelt]], dim=2)


class EvidenceReader(nn.Module):
    """The reader of `plus` for evidence: `kinds` numbers of each of `words` words, and of each answer so
    many as are trusted, by so much before anything is learned."""

    def __init__(self, width: int, hidden: int, words: int, kinds: int, trust: Sequence[float], dropout: float) -> None:
        super().__init__()
        self.shown, self.gate = nn.Linear(words * kinds, hidden), nn.Linear(width, hidden)
        self.join, self.dropout = nn.Linear(hidden, width), nn.Dropout(dropout)
        self.weigh = nn.Linear(width, len(trust) + MENTIONS)
        nn.init.ones_(self.gate.bias)
        nn.init.zeros_(self.weigh.weight)
        nn.init.zeros_(self.weigh.bias)
        with torch.no_grad():
            self.weigh.bias[: len(trust)] = torch.tensor(trust)

    def prepare(self, shown: Tensor, heard: Tensor, allowed: Tensor, said: Tensor) -> Tensor:
        return shown

    def forward(self, query: Tensor, shown: Tensor, number: int, watch: Watch | None = None) -> Tensor:
        told: Tensor = self.join(self.dropout(self.shown(shown)[:, None] * self.gate(query)))
        return told

    def point(self, rows: Tensor, candidates: Tensor) -> Tensor:
        """(batch, rows, answers) how much the picture, and the words of the program, speak for each answer."""
        return torch.einsum("brk,bak->bra", self.weigh(rows), candidates)
