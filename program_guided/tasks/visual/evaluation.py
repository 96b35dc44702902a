"""Predicted answers to questions about pictures, and the accuracy of routines by family.

found = answer_questions(model, source, np.arange(len(source)))
found.predictions, found.accuracy, found.families
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.learning.evaluation import outputs_of
from program_guided.models.model import Model
from program_guided.tasks.visual.batches import Questions

__all__ = ["Answers", "answer_elsewhere", "answer_questions"]

BATCH = 256
"""Questions executed in one batch."""


@dataclass(frozen=True)
class Answers:
    """Answers to a set of questions."""

    predictions: dict[str, str]
    """Answer by the question's id."""
    accuracy: float
    """% of the questions answered correctly."""
    families: dict[str, float]
    """% of correct results by family of routines, among those with a known target."""


def answer_questions(
    model: Model,
    source: Questions,
    numbers: NDArray[np.int64],
    progress: Callable[[int], None] = lambda done: None,
) -> Answers:
    """Answer questions; `progress` is called with the number answered so far."""
    types = list(source.results.values())
    predictions: dict[str, str] = {}
    right: Counter[str] = Counter()
    known: Counter[str] = Counter()
    correct = 0
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        examples = source.batch(some)
        outputs = outputs_of(model, examples.arrays, examples.programs, types)
        rows, last = range(len(some)), examples.last.tolist()
        kinds = examples.types[torch.arange(len(some)), examples.last].tolist()
        results = [outputs.result(types, *each)[0] for each in zip(rows, last, kinds, strict=True)]
        answers = [types[kind].show(result) for kind, result in zip(kinds, results, strict=True)]
        predictions |= {source.set.key(int(number)): answer for number, answer in zip(some, answers, strict=True)}
        expected = [source.index.answers[number] for number in source.set.columns["answer"][some].tolist()]
        correct += sum(one == other for one, other in zip(answers, expected, strict=True))
        families = source.families[examples.operations]
        judged, verdict = (each.numpy() for each in outputs.right(examples, types))
        known.update(families[judged].tolist())
        right.update(families[verdict].tolist())
        progress(len(predictions))
    accuracy = 100 * correct / max(1, len(numbers))
    return Answers(predictions, accuracy, {key: 100 * right[key] / known[key] for key in known})


def answer_elsewhere(model: Model, source: Questions, numbers: NDArray[np.int64]) -> tuple[int, float]:
    """Answer each question about the picture half way round the list: (number of questions to which the oracle has an
    answer, % of these that are correct)."""
    own = source.specification_numbers()[numbers]
    about = np.roll(own, len(own) // 2)
    types = list(source.results.values())
    known = right = 0
    for first in range(0, len(numbers), BATCH):
        some = slice(first, first + BATCH)
        examples = source.batch(numbers[some], about=about[some])
        outputs = outputs_of(model, examples.arrays, examples.programs, types)
        rows = torch.arange(len(examples.last))
        judged, verdict = outputs.right(examples, types)
        known += int(judged[rows, examples.last].sum())
        right += int(verdict[rows, examples.last].sum())
    return known, 100 * right / max(1, known)
