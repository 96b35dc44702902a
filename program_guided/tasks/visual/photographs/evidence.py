"""Evidence of pictures for words, and the reader of evidence.

With few pictures, an executor that reads their vectors overfits. Here a picture is instead represented by evidence:
for every word of the vocabulary some numbers, such as the log ratio of its probability to its mean probability. A
routine reads the evidence for its own words. The scores of answers are the sum of the executor's head and of the
evidence for the answers' words (`point`): log-probabilities are added, as in Bayes' rule.

    specification = evidence.about(of)                            # the pictures that programs are about
    view = reader.prepare(specification, parents, exists, words)  # the evidence for the words of routines
    reader(query, view, block)                                    # (batch, rows, width) -> (batch, rows, width)
    reader.point(rows, specification.mentioning(words, last))     # (batch, rows, answers + 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from program_guided.models.attention import Watch

__all__ = ["ARGUMENTS", "MENTIONS", "Evidence", "EvidenceReader", "PartEvidence"]

MENTIONS = 2
"""Number of binary features of an answer: the last routine mentions it, any routine mentions it."""
ARGUMENTS = 3
"""Position of a routine's role and names among its words, after family, category and `not`."""


@dataclass(frozen=True)
class PartEvidence:
    """Evidence at the parts of pictures."""

    words: Tensor
    """(pictures, parts, words + 1) evidence for words, 0 for the last"""
    features: Tensor
    """(pictures, parts, features) what heads read"""
    boxes: Tensor
    """(pictures, parts, 4) shares of the picture"""
    pairs: Tensor
    """(pictures, parts, parts, features of pairs) how parts stand to each other"""
    rows: Tensor
    """(vocabulary,) the row in `words` of each word of programs"""
    answers: Tensor
    """(pictures, parts, answers) evidence for answers"""
    odds: Tensor
    """(pictures, parts, answers) its exponential"""
    sides: Tensor
    """(vocabulary,) the answer that a relation is, -1 for none"""

    @property
    def count(self) -> int:
        """Number of parts."""
        return self.boxes.shape[1]


@dataclass(frozen=True)
class Evidence:
    """Evidence of pictures for words and answers."""

    words: Tensor
    """(pictures, vocabulary, kinds) evidence for every word, 0 if there is none"""
    answers: Tensor
    """(pictures, answers, kinds of answers) evidence for every answer"""
    spelt: Tensor
    """(answers,) the number of an answer's word, 0 if it is not in the vocabulary"""
    of: Tensor | None = None
    """(batch,) the picture that each program is about; None: program i is about picture i"""
    parts: PartEvidence | None = None
    """Evidence at the parts of the pictures; None for an executor without pictures"""
    mentions: Tensor | None = None
    """(batch, answers, MENTIONS) 1 for answers that the programs mention; None: all 0"""

    def about(self, of: Tensor) -> Evidence:
        """The evidence for programs about the pictures of these numbers (batch,)."""
        return replace(self, of=of, mentions=None)

    def mentioning(self, words: Tensor, last: Tensor) -> Evidence:
        """The evidence with the mentions of programs: words (batch, routines, L), last routines (batch,)."""
        named = torch.zeros(len(last), self.words.shape[1], MENTIONS)
        every = torch.arange(len(last))
        named[..., 0].scatter_(1, words[every, last][:, ARGUMENTS:], 1.0)
        named[..., 1].scatter_(1, words[:, :, ARGUMENTS:].flatten(1), 1.0)
        named[:, 0] = 0.0
        return replace(self, mentions=named[:, self.spelt])

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of parts of a picture, and of the features of a part that heads read."""
        return (0, 1) if self.parts is None else (self.parts.boxes.shape[1], self.parts.features.shape[2])

    @property
    def pictures(self) -> Tensor:
        """(batch,) the picture that each program is about."""
        return torch.arange(len(self.words)) if self.of is None else self.of

    @property
    def candidates(self) -> Tensor:
        """(batch, answers, kinds of answers + MENTIONS) features of every answer."""
        answers = self.answers[self.pictures]
        mentions = answers.new_zeros(*answers.shape[:2], MENTIONS) if self.mentions is None else self.mentions
        return torch.cat([answers, mentions], dim=2)


class EvidenceReader(nn.Module):
    """The reader of `plus` for evidence: `kinds` numbers for each of a routine's `words` words. `trust` are the initial
    weights of the evidence for answers. The parts of this specification, which can be pointed at, are the answers."""

    independent = False

    def __init__(self, width: int, hidden: int, words: int, kinds: int, trust: Sequence[float], dropout: float) -> None:
        super().__init__()
        self.evidence, self.gate = nn.Linear(words * kinds, hidden), nn.Linear(width, hidden)
        self.join, self.dropout = nn.Linear(hidden, width), nn.Dropout(dropout)
        self.weigh = nn.Linear(width, len(trust) + MENTIONS)
        nn.init.ones_(self.gate.bias)
        nn.init.zeros_(self.weigh.weight)
        nn.init.zeros_(self.weigh.bias)
        with torch.no_grad():
            self.weigh.bias[: len(trust)] = torch.tensor(trust)

    def encode(self, arrays: Mapping[str, Tensor]) -> Evidence:
        """Evidence from arrays with the names of its fields."""
        return Evidence(arrays["words"], arrays["answers"], arrays["spelt"])

    def prepare(self, specification: Evidence, parents: Tensor, exists: Tensor, words: Tensor) -> Tensor:
        """(batch, rows, L * kinds) the evidence for the words of routines."""
        return specification.words[specification.pictures[:, None, None], words.long()].flatten(2)

    def forward(self, query: Tensor, view: Tensor, block: int, watch: Watch | None = None) -> Tensor:
        read: Tensor = self.join(self.dropout(self.evidence(view) * self.gate(query)))
        return read

    def point(self, rows: Tensor, specification: Evidence) -> Tensor:
        """(batch, rows, answers + 1) scores of the answers, by the picture and by mentions; 0 for none of them."""
        scores = torch.einsum("brk,bak->bra", self.weigh(rows), specification.candidates)
        return torch.cat([scores, scores.new_zeros(*scores.shape[:2], 1)], dim=2)

    def parts(self, specification: Evidence) -> Tensor:
        """(batch, answers) True: all answers exist."""
        return torch.ones(len(specification.pictures), specification.answers.shape[1], dtype=torch.bool)
