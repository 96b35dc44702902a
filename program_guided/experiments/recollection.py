"""What questions alike, about pictures alike, were answered.

Kernel ridge regression over answered questions. Two questions are alike as far as their last routines, those before
these, and so on, are the same; open ones are the more so about pictures that are alike. (For yes and no, and for what
can be chosen, that did not help.) A question to learn from must look like one about a picture that nobody has
asked about, so what is recalled for it leaves out all questions about its picture, exactly: what they miss is the
solution of their block of the inverse.

    memory = Memory.of(traits, answers, count, pictures)    # pictures None: they are not looked at
    memory.own                                              # (questions, answers) for the questions themselves
    memory.recall(others)                                   # (questions, answers) for others

Departures from the paper: it has a million questions, and needs no memory of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from program_guided.learning.reasoning import Programs
from program_guided.models.evidence import FIRST_ARGUMENT

__all__ = ["Memory", "Traits"]

NEARER = 0.5
"""What routines have in common counts so much less for each routine between them and the last."""
WORD = 0.3
"""What a word in common counts, wherever it is; the same whole program counts 1."""
BEFORE = 2
"""So many routines before the last are compared."""
STRENGTH = 1.0
"""Of ridge regression; a question is alike to itself by 1, or about 2 if pictures are looked at."""
FAINT = 0.01
"""Added to what is expected before its logarithm is taken."""


@dataclass(frozen=True)
class Traits:
    """What makes questions alike."""

    parts: Tensor
    """(questions, parts) equal numbers for equal parts of programs, 0 for none"""
    weights: Tensor
    """(parts,)"""
    said: Tensor
    """(questions, vocabulary) 1 for words that are said"""
    of: Tensor
    """(questions,) pictures"""
    open: Tensor
    """(questions,) 1 for questions that leave the answer open: about these it matters whether pictures are alike"""

    @classmethod
    def read(cls, programs: Programs, last: Tensor, stems: Tensor, open_ones: Tensor) -> Traits:
        """Of questions with these last routines; words of one stem (vocabulary,) are the same."""
        words, parents, rows = stems[programs.words], programs.parents, torch.arange(len(last))
        place = torch.arange(words.shape[1])[:, None].expand(*words.shape[:2], 1)
        whole = _number(torch.cat([words, parents, place], dim=2)) * programs.exists
        parts, weights, routines = [whole.sum(dim=1)], [1.0], [last]
        for distance in range(BEFORE + 1):
            for routine in routines:
                for most in (FIRST_ARGUMENT - 1, FIRST_ARGUMENT + 1, words.shape[2]):
                    parts.append(_number(words[rows, routine, :most]) * (routine >= 0))
                    weights.append(NEARER**distance)
            routines = [torch.where(each >= 0, parents[rows, each, k], -1) for each in routines for k in range(2)]
        said = torch.zeros(len(words), len(stems)).scatter_(1, words[:, :, FIRST_ARGUMENT:].flatten(1), 1.0)
        said[:, 0] = 0.0
        return cls(torch.stack(parts, dim=1), torch.tensor(weights), said, programs.of, open_ones)

    def alike(self, other: Traits) -> Tensor:
        """(questions, questions of the other), 1 for the same program."""
        total = WORD * self.said @ other.said.T
        for part, weight in enumerate(self.weights.tolist()):
            mine, theirs = self.parts[:, part], other.parts[:, part]
            total += weight * ((mine[:, None] == theirs) & (theirs != 0))
        return total / (self._size()[:, None] * other._size())

    def _size(self) -> Tensor:
        return ((self.parts != 0).float() @ self.weights + WORD * self.said.sum(dim=1)).sqrt()


def _number(words: Tensor) -> Tensor:
    """A number for the words of the last axis, the same for the same words."""
    total = torch.ones(words.shape[:-1], dtype=torch.int64)
    for column in words.unbind(dim=-1):
        total = total * 1_000_003 + column + 2  # overflows, as it may
    return total


@dataclass(frozen=True)
class Memory:
    """Answered questions."""

    traits: Traits
    pictures: Tensor | None
    """(pictures, pictures) how alike they are, on the scale of 1; None if they are not looked at"""
    weights: Tensor
    """(questions, answers)"""
    own: Tensor
    """(questions, answers) logarithms of what is expected, from the questions about other pictures"""

    @classmethod
    def of(cls, traits: Traits, answers: Tensor, count: int, pictures: Tensor | None) -> Memory:
        """Of questions with these answers, of so many; -1 is none of them."""
        wanted = one_hot(answers + 1, count + 1)[:, 1:].float()
        alike = _alike(traits, traits, pictures)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(alike + STRENGTH * torch.eye(len(alike))))
        weights, expected = inverse @ wanted, wanted.clone()
        for picture in set(traits.of.tolist()):
            block = (traits.of == picture).nonzero()[:, 0]
            expected[block] -= torch.linalg.solve(inverse[block][:, block], weights[block])
        return cls(traits, pictures, weights, _logarithm(expected))

    def recall(self, traits: Traits) -> Tensor:
        """(questions, answers) logarithms of what is expected for other questions."""
        return _logarithm(_alike(traits, self.traits, self.pictures) @ self.weights)


def _alike(some: Traits, others: Traits, pictures: Tensor | None) -> Tensor:
    alike = some.alike(others)
    if pictures is None:
        return alike
    return alike * (1 + some.open[:, None] * others.open * pictures[some.of][:, others.of])


def _logarithm(expected: Tensor) -> Tensor:
    return (expected.clamp(min=0.0) + FAINT).log()
