"""GQA questions as examples: programs from an index, objects from the files of features, targets from the oracle.

    source = Questions(VisualData(folder), "train_balanced", vocabulary, results_of(answers))
    examples = source.batch(numbers, dense=True)        # `learning.examples.Examples`

Targets are computed when a question is first drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import BOOLEAN
from program_guided.language.syntax import Program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.examples import Examples, tensors_of
from program_guided.learning.execution import Programs
from program_guided.learning.results import NO_TARGET, Answer, ResultType
from program_guided.models.readers.config import Arrays, Objects
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.domain import ANSWER, DOMAIN, OBJECTS, OPEN_ROWS, RESULTS, ROWS
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.index.assembly import UNKNOWN_WORD
from program_guided.tasks.visual.index.parts import NOTHING
from program_guided.tasks.visual.oracle import execute
from program_guided.tasks.visual.perceived import perceived
from program_guided.tasks.visual.targets import DenseTargets, dense_targets

__all__ = ["BOOLEAN_TARGETS", "TYPES", "Questions", "arrays_of", "other_pictures", "programs_of"]

BOOLEAN_TARGETS = {"yes": 0, "no": 1}
"""Answer of a Boolean -> its target."""
_ROWS = [(ROWS | OPEN_ROWS)[each.name] for each in DOMAIN.operations]
_FAMILIES = [(row.family, row.compares) for row in _ROWS]
KINDS = np.array([_FAMILIES.index(each) for each in _FAMILIES])
"""Kind of question by its last operation: the family, comparatives as a kind of their own."""
TYPES = np.array([*(RESULTS.index(operation.output) for operation in DOMAIN.operations), -1])
"""Result type of every operation; -1, the last, for no operation."""
MAX_TARGETS = 200_000
"""Maximum number of questions whose targets are kept in memory."""


class Questions:
    """A set of questions of an index, with the features of their pictures (`learning.examples.ExampleSource`)."""

    def __init__(
        self,
        data: VisualData,
        name: str,
        vocabulary: Vocabulary,
        results: Mapping[str, ResultType],
        named: Mapping[str, int] | None = None,
    ) -> None:
        """`named`: word -> the feature of the same name; without `dense`, batches then have the targets that these
        names give."""
        index, self._named = data.index, named or {}
        self.index, self.set, self.ontology, self._features = index, index.questions(name), data.ontology, data.detected
        self.vocabulary, self.results = vocabulary, results
        self._targets: dict[int, DenseTargets] = {}
        answers = results[ANSWER]
        assert isinstance(answers, Answer)
        self.answers: tuple[str, ...] = answers.values
        self._words = np.array([vocabulary.index.get(word, UNKNOWN_WORD) for word in index.words])
        self._boolean_targets = np.array(
            [*(BOOLEAN_TARGETS.get(answer, NO_TARGET) for answer in index.answers), NO_TARGET]
        )
        self._answer_targets = np.array(
            [*(answers.index.get(answer, NO_TARGET) for answer in index.answers), NO_TARGET]
        )

    def __len__(self) -> int:
        return len(self.set)

    def specification_numbers(self) -> NDArray[np.int64]:
        return np.asarray(self.set.columns["image"], np.int64)

    @property
    def has_program(self) -> NDArray[np.bool_]:
        return np.diff(self.set.columns["routine"]) > 0

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """Questions that have a program and an answer."""
        return self.has_program & (np.asarray(self.set.columns["answer"]) != NOTHING)

    def weights(self) -> NDArray[np.float64]:
        """Sampling weights of the questions, larger for rare kinds."""
        columns = self.set.columns
        kinds = KINDS[np.asarray(columns["operation"])[np.asarray(columns["routine"][1:]) - 1]]
        return np.bincount(kinds)[kinds] ** -0.6

    def batch(self, numbers: NDArray[np.int64], dense: bool = True, about: NDArray[np.int64] | None = None) -> Examples:
        batch = self.set.batch(numbers, unknown_words=True)
        pictures = batch.images if about is None else about
        images, of = np.unique(pictures, return_inverse=True)
        detected = [self._detected(int(image)) for image in images]
        arrays, shape = arrays_of(detected), batch.operations.shape
        kinds = list(self.results.values())
        targets = {kind.name: kind.empty(shape, arrays["exists"].shape[1]) for kind in kinds}
        types = TYPES[batch.operations]
        for row, number in enumerate(numbers) if dense else ():
            if self.index.images[int(pictures[row])] in self._with_graph:
                self._fill(row, int(number), int(pictures[row]), detected[of[row]], types, targets)
        for row, number in enumerate(numbers) if self._named and not dense else ():
            program = Program(self.set.routines(int(number)))
            for routine, found in enumerate(perceived(program, detected[of[row]].features, self._named)):
                if found is not None:
                    targets[OBJECTS][row, routine, : len(found)] = found / max(1, found.sum())
                    targets[OBJECTS][row, routine, -1] = not found.any()
        last = batch.lengths.astype(np.int64) - 1
        own = np.flatnonzero(pictures == batch.images)
        boolean = types[own, last[own]] == RESULTS.index(BOOLEAN)
        answers = batch.answers[own]
        targets[BOOLEAN][own, last[own]] = np.where(boolean, self._boolean_targets[answers], NO_TARGET)
        targets[ANSWER][own, last[own]] = np.where(boolean, NO_TARGET, self._answer_targets[answers])
        exists = batch.operations >= 0
        return Examples(
            tensors_of(arrays),
            programs_of(self._words[batch.words], batch.parents, exists, of),
            batch.operations,
            torch.from_numpy(types),
            {name: torch.from_numpy(target) for name, target in targets.items()},
            torch.from_numpy(exists),
            torch.from_numpy(last),
        )

    def _fill(
        self,
        row: int,
        number: int,
        image: int,
        detected: Detected,
        types: NDArray[np.int64],
        targets: Mapping[str, NDArray[Any]],
    ) -> None:
        """Write the oracle's results of one question about a picture into the targets. About its own picture, the
        release says what many routines find."""
        own = image == int(self.set.columns["image"][number])
        known = self._targets.get(number) if own else None
        if known is None:
            scene = self.index.scene(self.index.images[image])
            found = self.set.found(number) if own else ()
            results = execute(Program(self.set.routines(number)), scene, self.ontology, found)
            known = dense_targets(results, scene, detected.boxes)
            if own and len(self._targets) < MAX_TARGETS:
                self._targets[number] = known
        for routine in np.flatnonzero(known.supervised):
            kind = RESULTS[types[row, routine]]
            if kind == OBJECTS:
                targets[kind][row, routine, : len(detected.boxes)] = known.objects[routine, :-1]
                targets[kind][row, routine, -1] = known.objects[routine, -1]
            elif kind == BOOLEAN:
                targets[kind][row, routine] = BOOLEAN_TARGETS["yes" if known.booleans[routine] else "no"]
            else:
                targets[kind][row, routine] = self.results[ANSWER].encode(str(known.answers[routine]), 0)

    @cached_property
    def _with_graph(self) -> frozenset[str]:
        """Pictures that have a scene graph; the routines of questions about others are not supervised."""
        return frozenset(self.index.scene_ids)

    def _detected(self, image: int) -> Detected:
        """Detected objects of a picture."""
        return self._features(image)

    def detected(self, number: int) -> Detected:
        """Detected objects of a question's picture."""
        return self._detected(int(self.set.columns["image"][number]))

    @cached_property
    def families(self) -> NDArray[np.str_]:
        """Family of every operation; "", the last, for no operation."""
        return np.array([*(row.family for row in _ROWS), ""])


def other_pictures(pictures: NDArray[np.int64]) -> NDArray[np.int64]:
    """Another picture for each: the one half way round the list of all."""
    every, at = np.unique(pictures, return_inverse=True)
    if len(every) == 1:
        raise DataError("shuffled: all questions are about one picture, and there is no other to answer them about")
    return np.roll(every, len(every) // 2)[at]


def programs_of(words: NDArray[Any], inputs: NDArray[Any], exists: NDArray[Any], of: NDArray[Any]) -> Programs:
    """Programs as tensors."""
    arrays = (words.astype(np.int64), inputs.astype(np.int64), exists, np.asarray(of, np.int64))
    return Programs(*map(torch.from_numpy, arrays))


def arrays_of(detected: Sequence[Detected]) -> Arrays:
    """Detected objects of pictures as arrays for the reader, boxes as shares of the picture's sides."""
    sides = [np.array([each.width, each.height] * 2, np.float32) for each in detected]
    shares = [each.boxes / side for each, side in zip(detected, sides, strict=True)]
    pictures = [{"features": each.features, "boxes": boxes} for each, boxes in zip(detected, shares, strict=True)]
    return Objects(features=detected[0].features.shape[1], positions=4).collate(pictures)
