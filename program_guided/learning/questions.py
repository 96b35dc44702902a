"""Visual questions as tensors: programs from an index, objects from the features' files, targets from the oracle.

    data = Questions(Index.open(folder / "index"), "train_balanced", ObjectFeatures(folder / "objects"))
    examples = data.examples(numbers, dense=True)
    examples.pictures, examples.programs, examples.objects, examples.answers

Pictures are kept in memory as long as there is room; targets are computed when a question is first asked.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.syntax import Program
from program_guided.learning.reasoning import Programs
from program_guided.models.objects import Pictures
from program_guided.tasks.visual.domain import DOMAIN
from program_guided.tasks.visual.features import MOST_DETECTED, Detected, ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.oracle import execute
from program_guided.tasks.visual.targets import DenseTargets, dense_targets

__all__ = ["NO_TARGET", "Examples", "Questions"]

NO_TARGET = -1
MOST_KEPT = 2_000_000_000
"""Bytes of features that are kept in memory."""


@dataclass(frozen=True)
class Examples:
    """Questions, what they are about, and what is known of the results of their routines."""

    numbers: NDArray[np.int64]
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

    def __init__(self, index: Index, name: str, features: ObjectFeatures, most: int = MOST_DETECTED) -> None:
        self.index, self.set, self._features, self._most = index, index.questions(name), features, most
        self._kept: OrderedDict[int, Detected] = OrderedDict()
        self._kept_bytes = 0
        self._targets: dict[int, DenseTargets] = {}
        outputs = [{"Objects": 0, "Boolean": 1, "Answer": 2}[operation.output] for operation in DOMAIN.operations]
        self._types = np.array([*outputs, -1])
        answers = index.answers[: index.known_answers]
        self._yes, self._no = ("yes", "no")
        self._answers = {answer: number for number, answer in enumerate(answers)}

    def __len__(self) -> int:
        return len(self.set)

    @cached_property
    def by_picture(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Questions in the order of their pictures, and where those of each picture begin (one entry more)."""
        images = np.asarray(self.set.columns["image"])
        order = np.argsort(images, kind="stable")
        starts = np.flatnonzero(np.diff(images[order], prepend=-1))
        return order, np.append(starts, len(order))

    def answer(self, number: int) -> str:
        """The word of an answer's number."""
        return self.index.answers[number]

    def examples(self, numbers: NDArray[np.int64], dense: bool = True) -> Examples:
        """Some questions; with `dense` also what the oracle knows of their routines."""
        batch = self.set.batch(numbers)
        images, of = np.unique(batch.images, return_inverse=True)
        found = [self._detected(int(image)) for image in images]
        pictures = _pictures(found)
        shape = batch.operations.shape
        objects = np.zeros((*shape, pictures.exists.shape[1] + 1), np.float32)
        booleans, answers = np.full(shape, NO_TARGET, np.int64), np.full(shape, NO_TARGET, np.int64)
        last = batch.lengths.astype(np.int64) - 1
        rows = np.arange(len(numbers))
        types = self._types[batch.operations]
        if dense:
            for row, number in enumerate(numbers):
                self._fill(row, int(number), found[of[row]], types, objects, booleans, answers)
        known = np.where(batch.answers < self.index.known_answers, batch.answers, NO_TARGET)
        is_yes = known == self._answers.get(self._yes, NO_TARGET - 1)
        ends_in_boolean = types[rows, last] == 1
        booleans[rows, last] = np.where(ends_in_boolean, is_yes, NO_TARGET)
        answers[rows, last] = np.where(ends_in_boolean, NO_TARGET, known)
        programs = Programs(
            torch.from_numpy(batch.words.astype(np.int64)),
            torch.from_numpy(batch.parents.astype(np.int64)),
            torch.from_numpy(batch.operations >= 0),
            torch.from_numpy(of),
        )
        targets = (torch.from_numpy(each) for each in (types, last, objects, booleans, answers))
        return Examples(np.asarray(numbers), pictures, programs, *targets)

    def _fill(
        self,
        row: int,
        number: int,
        detected: Detected,
        types: NDArray[np.int64],
        objects: NDArray[np.float32],
        booleans: NDArray[np.int64],
        answers: NDArray[np.int64],
    ) -> None:
        """What the oracle knows of one question."""
        targets = self._targets.get(number)
        if targets is None:
            scene = self.index.scene(self.index.images[int(self.set.columns["image"][number])])
            results = execute(Program(self.set.program(number)), scene)
            targets = self._targets[number] = dense_targets(results, scene, detected.boxes)
        for routine in np.flatnonzero(targets.supervised):
            kind = types[row, routine]
            if kind == 0:
                objects[row, routine, : len(detected.boxes)] = targets.objects[routine, :-1]
                objects[row, routine, -1] = targets.objects[routine, -1]
            elif kind == 1:
                booleans[row, routine] = targets.booleans[routine]
            else:
                answers[row, routine] = self._answers.get(str(targets.answers[routine]), NO_TARGET)

    def _detected(self, image: int) -> Detected:
        """A picture's objects; the ones that were used least lately are forgotten when there is no room."""
        if image in self._kept:
            self._kept.move_to_end(image)
            return self._kept[image]
        found = self._features.read(self.index.images[image], self._most)
        self._kept[image] = found
        self._kept_bytes += found.features.nbytes
        while self._kept_bytes > MOST_KEPT:
            _, forgotten = self._kept.popitem(last=False)
            self._kept_bytes -= forgotten.features.nbytes
        return found


def _pictures(found: list[Detected]) -> Pictures:
    most = max(1, *(len(each.boxes) for each in found))
    numbers = found[0].features.shape[1]
    features = np.zeros((len(found), most, numbers), np.float32)
    boxes = np.zeros((len(found), most, 4), np.float32)
    exists = np.zeros((len(found), most), np.bool_)
    for row, each in enumerate(found):
        count = len(each.boxes)
        features[row, :count], exists[row, :count] = each.features, True
        boxes[row, :count] = each.boxes / np.array([each.width, each.height] * 2, np.float32)
    return Pictures(*(torch.from_numpy(each) for each in (features, boxes, exists)))
