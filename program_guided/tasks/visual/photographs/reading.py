"""Reading photographs: from parts to the evidence that an executor is given, and executors before training.

A `Reading` is all that was fitted to the pictures of train, apart from executors; it is kept with them.

    reading = Reading.fit(word_model, labels, parts, train, words, answers)
    evidence = reading.evidence(parts, reading.words.score(parts.features, classes))
    executor = untrained(words, len(answers), evidence.sizes, settings)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.domain import BOOLEAN
from program_guided.models.config import PlusConfig
from program_guided.models.model import Sizes
from program_guided.models.plus import Plus
from program_guided.models.readers.config import Custom
from program_guided.registry import build_model
from program_guided.tasks.visual.batches import BOOLEAN_TARGETS
from program_guided.tasks.visual.domain import ANSWER, DOMAIN, OBJECTS
from program_guided.tasks.visual.photographs.evidence import Evidence, EvidenceReader, PartEvidence
from program_guided.tasks.visual.photographs.part_words import WordModel
from program_guided.tasks.visual.photographs.parts import Parts
from program_guided.tasks.visual.photographs.pointing import Pointing, pair_features, placed, sides_of
from program_guided.tasks.visual.photographs.settings import PictureSettings

if TYPE_CHECKING:
    from program_guided.tasks.visual.photographs.weak_labels import WeakLabels

__all__ = ["Reading", "no_evidence", "untrained"]

KINDS = 3
"""Kinds of evidence of a whole picture for a word: the largest of its parts, their mean, and the difference of this
between right and left."""
TRUST = (0.1, 0.1)
"""Initial weights of the first kinds as evidence for answers."""
COMPONENTS, COMPONENT_SCALE, CLASS_SCALE = 64, 0.5, 3.0
"""Number and scale of components of parts that heads read, and scale of the roots of probabilities."""


@dataclass(frozen=True)
class Reading:
    """The constants by which parts are read."""

    words: WordModel
    tensors: Mapping[str, Tensor]
    """`rows`, `answer_rows`: columns of the evidence, for each word of programs and each answer; `spelt`, `sides`: the
    word of an answer, and the answer of a relation; `centre`: mean of the features that heads read"""

    @classmethod
    def fit(
        cls,
        model: WordModel,
        labels: WeakLabels,
        parts: Parts,
        train: NDArray[np.int64],
        words: Sequence[str],
        answers: Sequence[str],
    ) -> Reading:
        """The reading of parts that fits the pictures of train."""
        rows, answer_rows = (torch.from_numpy(labels.rows(each)) for each in (words, answers))
        tensors = {"rows": rows, "answer_rows": answer_rows, "sides": sides_of(words, answers)}
        tensors["spelt"] = _spelt(words, answers)
        centre = _looked_at(model, parts)[train].mean(dim=(0, 1))
        return cls(model, tensors | {"centre": centre})

    def evidence(self, parts: Parts, evidence: Tensor) -> Evidence:
        """Evidence of pictures, from that for words at their parts."""
        tensors, boxes = self.tensors, torch.from_numpy(parts.boxes)
        answers = evidence[:, :, tensors["answer_rows"]]
        looked_at = placed(_looked_at(self.words, parts) - tensors["centre"], boxes)
        at_parts = PartEvidence(
            evidence, looked_at, boxes, pair_features(boxes), tensors["rows"], answers, answers.exp(), tensors["sides"]
        )
        aside = boxes[..., 0] + boxes[..., 2] - 1
        whole = torch.stack(
            [evidence.amax(dim=1), evidence.mean(dim=1), (evidence * aside[..., None]).mean(dim=1)], dim=2
        )
        whole_answers = whole[:, tensors["answer_rows"], : len(TRUST)]
        return Evidence(whole[:, tensors["rows"]], whole_answers, tensors["spelt"], parts=at_parts)


def no_evidence(pictures: int, words: Sequence[str], answers: Sequence[str]) -> Evidence:
    """Evidence of zeros for all pictures."""
    for_words, for_answers = torch.zeros(pictures, len(words), KINDS), torch.zeros(pictures, len(answers), len(TRUST))
    return Evidence(for_words, for_answers, _spelt(words, answers))


def untrained(words: Sequence[str], answers: int, sizes: tuple[int, int], settings: PictureSettings) -> Pointing:
    """An executor before training, for pictures of that many parts and features that heads read."""
    config = PlusConfig(word_width=settings.word_width, heads=4, hidden=settings.hidden, blocks=settings.blocks)
    of_task = Sizes(
        vocabulary=tuple(words),
        words=DOMAIN.routine_width,
        operation_words=DOMAIN.operation_words,
        inputs=DOMAIN.max_inputs,
        sequential=DOMAIN.sequential,
        results=((OBJECTS, None), (BOOLEAN, len(BOOLEAN_TARGETS)), (ANSWER, answers)),
    )

    def reader(sizes: Sizes, width: int) -> EvidenceReader:
        return EvidenceReader(width, settings.hidden, sizes.words, KINDS, TRUST, settings.reader_dropout)

    plus = build_model("plus", config, of_task, Custom(reader))
    assert isinstance(plus, Plus)
    return Pointing(plus, *sizes, answers)


def _looked_at(model: WordModel, parts: Parts) -> Tensor:
    """(pictures, parts, features) what heads read of parts: components, kinds and colours."""
    components = model.components(parts.features)[..., :COMPONENTS] * COMPONENT_SCALE
    shares = torch.from_numpy(np.concatenate([parts.kinds, parts.colours], axis=2))
    return torch.cat([components, CLASS_SCALE * shares.sqrt()], dim=2)


def _spelt(words: Sequence[str], answers: Sequence[str]) -> Tensor:
    numbers = {word: number for number, word in enumerate(words)}
    return torch.tensor([numbers.get(answer, 0) for answer in answers])
