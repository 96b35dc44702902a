"""The answer prior: answers of train to similar questions about similar pictures.

Kernel ridge regression over answered questions. The similarity of two questions counts equal routines and words, with
more weight near the last routine; for open questions it also depends on the similarity of the pictures (for yes and no,
and for options to choose from, that did not help). A question of train must have the same distribution of priors as one
about a new picture, so its prior leaves out all questions about its picture, by the closed form of leave-one-group-out
residuals: the solution of the group's block of the inverse.

    prior = AnswerPrior.of(traits, answers, count, pictures)    # pictures None: not compared
    prior.own                                                   # (questions, answers) for the questions of train
    prior.predict(others)                                       # (questions, answers) for others

Departures from the paper: it has a million questions and no such prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from program_guided.learning.execution import Programs
from program_guided.tasks.visual.domain import OPERATION_WORDS
from program_guided.tasks.visual.photographs.evidence import ARGUMENTS

__all__ = ["AnswerPrior", "Traits"]

DECAY = 0.5
"""Factor of the weight of equal parts for each step back from the last routine."""
WORD = 0.3
"""Weight of a common word, at any position; an equal whole program has weight 1."""
DEPTH = 2
"""Maximum number of steps back from the last routine that are compared."""
STRENGTH = 1.0
"""Strength of ridge regression; a question's similarity to itself is 1, or about 2 if pictures are compared."""
SMOOTHING = 0.01
"""Added to expected answers before their logarithm is taken."""


@dataclass(frozen=True)
class Traits:
    """Features of questions for their similarity: parts and words of their programs."""

    parts: Tensor
    """(questions, parts) hashes of parts of programs, 0 for none"""
    weights: Tensor
    """(parts,)"""
    words: Tensor
    """(questions, vocabulary) 1 for words that occur"""
    of: Tensor
    """(questions,) numbers of the pictures"""
    open: Tensor
    """(questions,) 1 for open questions, which are compared by their pictures too"""

    @classmethod
    def read(cls, programs: Programs, last: Tensor, stems: Tensor, open_ones: Tensor) -> Traits:
        """Traits of questions with these last routines; words with the same stem (vocabulary,) are equal."""
        words, inputs, rows = stems[programs.words], programs.inputs, torch.arange(len(last))
        place = torch.arange(words.shape[1])[:, None].expand(*words.shape[:2], 1)
        whole = _hash(torch.cat([words, inputs, place], dim=2)) * programs.exists
        parts, weights, routines = [whole.sum(dim=1)], [1.0], [last]
        for distance in range(DEPTH + 1):
            for routine in routines:
                for columns in _columns(words.shape[2]):
                    parts.append(_hash(words[rows, routine][:, columns]) * (routine >= 0))
                    weights.append(DECAY**distance)
            routines = [torch.where(each >= 0, inputs[rows, each, k], -1) for each in routines for k in range(2)]
        named = torch.zeros(len(words), len(stems)).scatter_(1, words[:, :, ARGUMENTS:].flatten(1), 1.0)
        named[:, 0] = 0.0
        return cls(torch.stack(parts, dim=1), torch.tensor(weights), named, programs.of, open_ones)

    def similarity(self, other: Traits) -> Tensor:
        """(questions, questions of the other) similarity, 1 for equal programs."""
        total = WORD * self.words @ other.words.T
        for part, weight in enumerate(self.weights.tolist()):
            mine, theirs = self.parts[:, part], other.parts[:, part]
            total += weight * ((mine[:, None] == theirs) & (theirs != 0))
        return total / (self._size()[:, None] * other._size())

    def _size(self) -> Tensor:
        return ((self.parts != 0).float() @ self.weights + WORD * self.words.sum(dim=1)).sqrt()


def _columns(width: int) -> tuple[list[int], ...]:
    """Groups of a routine's words that are compared: the operation; with `not` and the first name; all."""
    return [0, 1], [0, 1, 2, OPERATION_WORDS], list(range(width))


def _hash(words: Tensor) -> Tensor:
    """Polynomial hash of the words of the last axis."""
    total = torch.ones(words.shape[:-1], dtype=torch.int64)
    for column in words.unbind(dim=-1):
        total = total * 1_000_003 + column + 2  # overflow wraps, which is harmless
    return total


@dataclass(frozen=True)
class AnswerPrior:
    """Kernel ridge regression from questions to answers, fitted."""

    traits: Traits
    pictures: Tensor | None
    """(pictures, pictures) similarity, 1 on average for the same picture; None if pictures are not compared"""
    weights: Tensor
    """(questions, answers)"""
    own: Tensor
    """(questions, answers) logarithms of expected answers, by the questions about other pictures"""

    @classmethod
    def of(cls, traits: Traits, answers: Tensor, count: int, pictures: Tensor | None) -> AnswerPrior:
        """Fit the prior to questions with these answers, numbers below `count`; -1 for none."""
        labels = one_hot(answers + 1, count + 1)[:, 1:].float()
        similarity = _similarity(traits, traits, pictures)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(similarity + STRENGTH * torch.eye(len(similarity))))
        weights, expected = inverse @ labels, labels.clone()
        for picture in set(traits.of.tolist()):
            block = (traits.of == picture).nonzero()[:, 0]
            expected[block] -= torch.linalg.solve(inverse[block][:, block], weights[block])
        return cls(traits, pictures, weights, _logarithm(expected))

    def predict(self, traits: Traits) -> Tensor:
        """(questions, answers) logarithms of expected answers to other questions."""
        return _logarithm(_similarity(traits, self.traits, self.pictures) @ self.weights)


def _similarity(some: Traits, others: Traits, pictures: Tensor | None) -> Tensor:
    similarity = some.similarity(others)
    if pictures is None:
        return similarity
    return similarity * (1 + some.open[:, None] * others.open * pictures[some.of][:, others.of])


def _logarithm(expected: Tensor) -> Tensor:
    return (expected.clamp(min=0.0) + SMOOTHING).log()
