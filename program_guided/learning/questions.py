"""Visual questions as tensors: programs from an index, objects from the features' files, targets from the oracle.

    index, features = Index.open(folder / "index"), ObjectFeatures(folder / "objects")
    data = Questions(index, "train_balanced", features, Vocabulary.of(index, features))
    examples = data.examples(numbers, dense=True)
    examples.pictures, examples.programs, examples.objects, examples.answers

Pictures are kept in memory as long as there is room; targets are computed when a question is first asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.syntax import Call, Program
from program_guided.learning.reasoning import RESULTS, Programs
from program_guided.models.objects import Pictures
from program_guided.tasks.visual.assembly import UNKNOWN_WORD
from program_guided.tasks.visual.domain import COMPARATIVES, DOMAIN, ROWS, routine_words
from program_guided.tasks.visual.features import Detected, ObjectFeatures
from program_guided.tasks.visual.index import WIDTH, Index
from program_guided.tasks.visual.oracle import execute
from program_guided.tasks.visual.targets import DenseTargets, dense_targets

__all__ = ["NO_TARGET", "WORDS", "Examples", "Questions", "Vocabulary", "moved", "pictures_of", "programs_of"]

T = TypeVar("T")

NO_TARGET = -1
WORDS = 8
"""L of the paper; a routine has at most `WIDTH` words here."""
TRUTHS = {"no": 0, "yes": 1}
"""What a Boolean is called as an answer."""
_FAMILIES = [(row.family, row.category in COMPARATIVES) for row in (ROWS[each.name] for each in DOMAIN.operations)]
KINDS = np.array([_FAMILIES.index(each) for each in _FAMILIES])
"""Kind of question, by the last operation: its family, comparatives apart."""
TYPES = np.array([*(RESULTS.index(operation.output) for operation in DOMAIN.operations), -1])
"""Result type of every operation, -1 of none."""
MOST_KEPT = 2_000_000_000
"""Bytes of features that are kept in memory."""
MOST_TARGETS = 200_000
"""Questions whose targets are kept in memory."""


@dataclass(frozen=True)
class Vocabulary:
    """What an executor can be told and can say; it goes with the weights."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    numbers: int
    """Length of an object's vector."""

    @classmethod
    def of(cls, index: Index, features: ObjectFeatures) -> Vocabulary:
        """What train says, and how objects are described."""
        numbers = features.read(features.image_ids[0], 1).features.shape[1]
        return cls(tuple(index.words[: index.known_words]), tuple(index.answers[: index.known_answers]), numbers)

    @classmethod
    def read(cls, record: Any) -> Vocabulary:
        """What `as_dict` gave; KeyError, TypeError or ValueError if it is something else."""
        words, answers = (tuple(map(str, record[name])) for name in ("words", "answers"))
        return cls(words, answers, int(record["numbers"]))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def encode(self, routines: Sequence[Call]) -> Programs:
        """One program, about the first picture."""
        words, parents = np.zeros((1, len(routines), WIDTH), np.int64), np.full((1, len(routines), 2), -1)
        for row, call in enumerate(routines):
            said = [self.word_numbers.get(word, UNKNOWN_WORD) for word in routine_words(call)]
            words[0, row, : len(said)], parents[0, row, : len(call.inputs)] = said, call.inputs
        return programs_of(words, parents, np.ones(parents.shape[:2], np.bool_), np.zeros(1))

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def answer_numbers(self) -> dict[str, int]:
        return {answer: number for number, answer in enumerate(self.answers)}


@dataclass(frozen=True)
class Examples:
    """Questions, what they are about, and what is known of the results of their routines."""

    operations: NDArray[np.integer]
    """(batch, routines) rows of the domain, -1 for no routine"""
    pictures: Pictures
    programs: Programs
    types: Tensor
    """(batch, routines) result types, by their place in `reasoning.RESULTS`"""
    last: Tensor
    """(batch,) the routine that gives the answer"""
    objects: Tensor
    """(batch, routines, objects + 1) distribution over the objects, the last slot for none; 0 where it is not known"""
    booleans: Tensor
    """(batch, routines) 1 for true; NO_TARGET where it is not known"""
    answers: Tensor
    """(batch, routines) numbers of answers; NO_TARGET where it is not known, or no answer that train gives"""


class Questions:
    """A set of questions of an index, with the features of their pictures."""

    def __init__(self, index: Index, name: str, features: ObjectFeatures, vocabulary: Vocabulary) -> None:
        self.index, self.set, self._features, self.vocabulary = index, index.questions(name), features, vocabulary
        self._kept: OrderedDict[int, Detected] = OrderedDict()
        self._kept_bytes = 0
        self._targets: dict[int, DenseTargets] = {}
        words, answers = vocabulary.word_numbers, vocabulary.answer_numbers
        self._words = np.array([words.get(word, UNKNOWN_WORD) for word in index.words])
        self._truths = np.array([*(TRUTHS.get(answer, NO_TARGET) for answer in index.answers), NO_TARGET])
        self._answers = np.array([*(answers.get(answer, NO_TARGET) for answer in index.answers), NO_TARGET])

    def __len__(self) -> int:
        return len(self.set)

    @cached_property
    def by_picture(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Questions in the order of their pictures, and where those of each picture begin (one entry more)."""
        images = np.asarray(self.set.columns["image"])
        order = np.argsort(images, kind="stable")
        starts = np.flatnonzero(np.diff(images[order], prepend=-1))
        return order, np.append(starts, len(order))

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """How much more often each question should be asked than it is there: the rarer its kind, the more."""
        columns = self.set.columns
        kinds = KINDS[np.asarray(columns["operation"])[np.asarray(columns["routine"][1:]) - 1]]
        return np.sqrt(1 / np.bincount(kinds)[kinds])

    def examples(
        self, numbers: NDArray[np.int64], dense: bool = True, about: NDArray[np.int64] | None = None
    ) -> Examples:
        """Some questions; with `dense` also what the oracle knows of their routines. If they are asked `about` other
        pictures than their own, only the oracle knows the answer."""
        batch = self.set.batch(numbers, every_word=True)
        shown = batch.images if about is None else about
        images, of = np.unique(shown, return_inverse=True)
        found = [self._detected(int(image)) for image in images]
        pictures = pictures_of(found)
        shape = batch.operations.shape
        objects = np.zeros((*shape, pictures.exists.shape[1] + 1), np.float32)
        booleans, answers = np.full(shape, NO_TARGET, np.int64), np.full(shape, NO_TARGET, np.int64)
        last = batch.lengths.astype(np.int64) - 1
        rows = np.arange(len(numbers))
        types = TYPES[batch.operations]
        if dense:
            for row, number in enumerate(numbers):
                self._fill(row, int(number), int(shown[row]), found[of[row]], types, objects, booleans, answers)
        own = shown == batch.images
        rows, last_ones = rows[own], last[own]
        ends_in_boolean = types[rows, last_ones] == 1
        booleans[rows, last_ones] = np.where(ends_in_boolean, self._truths[batch.answers[rows]], NO_TARGET)
        answers[rows, last_ones] = np.where(ends_in_boolean, NO_TARGET, self._answers[batch.answers[rows]])
        programs = programs_of(self._words[batch.words], batch.parents, batch.operations >= 0, of)
        targets = (torch.from_numpy(each) for each in (types, last, objects, booleans, answers))
        return Examples(batch.operations, pictures, programs, *targets)

    def _fill(
        self,
        row: int,
        number: int,
        image: int,
        detected: Detected,
        types: NDArray[np.int64],
        objects: NDArray[np.float32],
        booleans: NDArray[np.int64],
        answers: NDArray[np.int64],
    ) -> None:
        """What the oracle knows of one question, asked about a picture."""
        own = image == int(self.set.columns["image"][number])
        targets = self._targets.get(number) if own else None
        if targets is None:
            scene = self.index.scene(self.index.images[image])
            results = execute(Program(self.set.program(number)), scene)
            targets = dense_targets(results, scene, detected.boxes)
            if own and len(self._targets) < MOST_TARGETS:
                self._targets[number] = targets
        for routine in np.flatnonzero(targets.supervised):
            kind = types[row, routine]
            if kind == 0:
                objects[row, routine, : len(detected.boxes)] = targets.objects[routine, :-1]
                objects[row, routine, -1] = targets.objects[routine, -1]
            elif kind == 1:
                booleans[row, routine] = targets.booleans[routine]
            else:
                answer = str(targets.answers[routine])
                answers[row, routine] = self.vocabulary.answer_numbers.get(answer, NO_TARGET)

    def _detected(self, image: int) -> Detected:
        """A picture's objects; the ones that were used least lately are forgotten when there is no room."""
        if image in self._kept:
            self._kept.move_to_end(image)
            return self._kept[image]
        found = self._features.read(self.index.images[image])
        self._kept[image] = found
        self._kept_bytes += found.features.nbytes
        while self._kept_bytes > MOST_KEPT:
            _, forgotten = self._kept.popitem(last=False)
            self._kept_bytes -= forgotten.features.nbytes
        return found


def moved(parts: T, device: torch.device) -> T:
    """A dataclass of tensors, on a device."""
    if not is_dataclass(parts) or device.type == "cpu":
        return parts
    changes = {each.name: getattr(parts, each.name) for each in fields(parts)}
    changes = {
        name: part.to(device) if isinstance(part, Tensor) else moved(part, device) for name, part in changes.items()
    }
    return replace(parts, **changes)  # type: ignore[type-var]


def programs_of(words: NDArray[Any], parents: NDArray[Any], exists: NDArray[Any], of: NDArray[Any]) -> Programs:
    """Programs as tensors; words (batch, routines, WIDTH), parents (batch, routines, 2)."""
    padded = np.pad(words, ((0, 0), (0, 0), (0, WORDS - WIDTH)))
    arrays = (padded.astype(np.int64), parents.astype(np.int64), exists, of.astype(np.int64))
    return Programs(*map(torch.from_numpy, arrays))


def pictures_of(found: Sequence[Detected]) -> Pictures:
    """Pictures as tensors, boxes as shares of their sides."""
    most = max([1, *(len(each.boxes) for each in found)])
    numbers = found[0].features.shape[1]
    features = np.zeros((len(found), most, numbers), np.float32)
    boxes = np.zeros((len(found), most, 4), np.float32)
    exists = np.zeros((len(found), most), np.bool_)
    for row, each in enumerate(found):
        count = len(each.boxes)
        features[row, :count], exists[row, :count] = each.features, True
        boxes[row, :count] = each.boxes / np.array([each.width, each.height] * 2, np.float32)
    return Pictures(*(torch.from_numpy(each) for each in (features, boxes, exists)))
