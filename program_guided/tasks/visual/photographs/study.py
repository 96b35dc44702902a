"""Study of photographs: an executor is trained on a few hundred of them, by answers alone, and tested on others.

Two controls: `blind`, trained in the same way without pictures, and `shuffled`, the trained executor with wrong
pictures. The executor is that of all tasks (`plus`, the target `partial`); pictures are read as evidence for words
(`evidence.py`), predicted from weak labels of the same questions (`weak_labels.py`). The outputs of an executor are
added to the answer prior (`answer_prior.py`), which for `blind` compares programs alone. A seed is an ensemble of
executors whose probabilities are averaged.

    data = PictureData.read(index, "train", "dev", features)
    answers = learn(data, PictureSettings(), seed=0, kind="picture")      # {"picture": [...], "shuffled": [...]}
    figures = measure(data, {"picture": [answers["picture"], ...], "blind": [...], "shuffled": [...]})

Departures from the paper: it has detected objects and a million questions. The data come from the release's testdev
split, so figures are not comparable with the paper's split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from program_guided.errors import DataError
from program_guided.language.domain import BOOLEAN
from program_guided.language.syntax import Call, flatten
from program_guided.learning.execution import Programs, execute
from program_guided.learning.learner import Learner
from program_guided.learning.results import NO_TARGET
from program_guided.models.config import PlusConfig
from program_guided.models.model import Model, Sizes
from program_guided.models.readers.config import Custom
from program_guided.registry import build_model
from program_guided.tasks.visual.batches import BOOLEAN_TARGETS, TYPES, programs_of
from program_guided.tasks.visual.domain import ANSWER, COMPARATIVES, DOMAIN, OBJECTS, RESULTS, row_of
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.assembly import UNKNOWN_WORD
from program_guided.tasks.visual.photographs.answer_prior import AnswerPrior, Traits
from program_guided.tasks.visual.photographs.evidence import ARGUMENTS, Evidence, EvidenceReader
from program_guided.tasks.visual.photographs.settings import PictureSettings
from program_guided.tasks.visual.photographs.weak_labels import KINDS, TRUST, Views, WeakLabels, predict, singular
from program_guided.tasks.visual.release.reading import Question
from program_guided.tasks.visual.statistics import BLIND_VIEWS, blind_prior

__all__ = ["NOT_COMPARABLE", "PictureData", "PictureSettings", "learn", "measure", "plan_of"]

Kind = Literal["picture", "blind"]
NOT_COMPARABLE = "The data come from the testdev split: these figures are not comparable with the paper's split."
PRIORS = ("majority", "last operation", "whole program")
STRUCTURAL = {
    "query": "query",
    "choose": "choose",
    "verify": "verify",
    "exist": "verify",
    "and": "logical",
    "or": "logical",
    "same": "compare",
    "different": "compare",
    "common": "compare",
}
"""Family of the last operation -> structural type; comparatives of `choose` are `compare` too."""
BATCH = 512
"""Questions answered in one batch."""
RESAMPLES = 10_000
"""Number of bootstrap resamples of the pictures for an interval."""
CONFIDENCE = 95
"""Percent of the resamples inside of an interval."""


@dataclass(frozen=True)
class QuestionTensors:
    """Answered questions as tensors."""

    questions: tuple[Question, ...]
    programs: Programs
    """Programs; `of` numbers the pictures of train and test together"""
    last: Tensor
    """(questions,) the routine that gives the answer"""
    boolean: Tensor
    """(questions,) True if the answer is yes or no"""
    target: Tensor
    """(questions,) that of yes or no (`BOOLEAN_TARGETS`), else the answer's number; NO_TARGET if train lacks it"""
    prior: Tensor
    """(questions, 2 + answers) the answer prior: logarithms for yes, for no and for each answer"""

    @classmethod
    def read(cls, index: Index, name: str, pictures: Mapping[str, int]) -> QuestionTensors:
        """Read a set of an index."""
        found = index.questions(name)
        questions = tuple(found)
        if not questions or any(each.answer is None or not each.has_program for each in questions):
            raise DataError(
                f"{index.folder}: '{name}' has no questions, or one without a program or an answer; name another set"
            )
        batch = found.batch(np.arange(len(found)))
        of = np.array([pictures[each.image_id] for each in questions], np.int64)
        last = batch.lengths.astype(np.int64) - 1
        boolean = TYPES[batch.operations[np.arange(len(last)), last]] == RESULTS.index(BOOLEAN)
        booleans = np.array([BOOLEAN_TARGETS.get(str(each.answer), NO_TARGET) for each in questions])
        answers = np.where(batch.answers < index.known_answers, batch.answers, NO_TARGET)
        target = np.where(boolean, booleans, answers)
        programs = programs_of(batch.words, batch.parents, batch.operations >= 0, of)
        no_prior = np.zeros((len(questions), len(BOOLEAN_TARGETS) + index.known_answers), np.float32)
        return cls(questions, programs, *map(torch.from_numpy, (last, boolean, target, no_prior)))

    def some(self, numbers: NDArray[np.int64]) -> QuestionTensors:
        """The questions of these numbers, padded to the longest of their programs."""
        rows = torch.from_numpy(numbers)
        longest = int(self.last[rows].max()) + 1
        programs = self.programs
        words, inputs, exists = (part[rows, :longest] for part in (programs.words, programs.inputs, programs.exists))
        questions = tuple(self.questions[number] for number in numbers.tolist())
        chosen = Programs(words, inputs, exists, programs.of[rows])
        answers = (self.boolean[rows], self.target[rows], self.prior[rows])
        return QuestionTensors(questions, chosen, self.last[rows], *answers)

    def traits(self, rows: Tensor, stems: Tensor) -> Traits:
        """Traits of the questions of these numbers."""
        programs = self.programs
        parts = (each[rows] for each in (programs.words, programs.inputs, programs.exists, programs.of))
        is_open = torch.from_numpy(self.types() == "query").float()
        return Traits.read(Programs(*parts), self.last[rows], stems, is_open[rows])

    @cached_property
    def pictures(self) -> NDArray[np.int64]:
        """Numbers of the pictures that the questions are about."""
        return np.unique(self.programs.of.numpy())

    def types(self) -> NDArray[np.str_]:
        """Structural type of each question."""
        return np.array([_structural(question) for question in self.questions])


def _structural(question: Question) -> str:
    row = row_of(_routines(question)[-1])[0]
    return "compare" if row.category in COMPARATIVES else STRUCTURAL[row.family]


def _routines(question: Question) -> tuple[Call, ...]:
    return flatten(question.program.body)


@dataclass(frozen=True)
class PictureData:
    """Questions of train and test, and the features of their pictures."""

    train: QuestionTensors
    test: QuestionTensors
    views: Views
    words: tuple[str, ...]
    answers: tuple[str, ...]

    @classmethod
    def read(cls, index: Index, train: str, test: str, features: ObjectFeatures) -> PictureData:
        """Read the data from an index and a file of features."""
        sets = (index.questions(name) for name in (train, test))
        images = [
            index.images[number] for number in np.unique(np.concatenate([each.columns["image"] for each in sets]))
        ]
        pictures = {image: number for number, image in enumerate(images)}
        train_questions, test_questions = (QuestionTensors.read(index, name, pictures) for name in (train, test))
        words, answers = index.words[: index.known_words], index.answers[: index.known_answers]
        data = cls(train_questions, test_questions, Views.read(features, images), tuple(words), tuple(answers))
        both = set(data.train.pictures.tolist()) & set(data.test.pictures.tolist())
        if both:
            raise DataError(
                f"{index.folder}: '{train}' and '{test}' have questions about the same pictures, such as "
                f"{images[min(both)]}; take sets without common pictures"
            )
        return data

    def fold(self, number: int, folds: int) -> PictureData:
        """Cross-validation fold: a part of the pictures of train is the test, the rest is train; test is not used."""
        pictures = self.train.pictures
        part = np.random.default_rng(0).permutation(len(pictures)) % folds
        held_out = np.isin(self.train.programs.of.numpy(), pictures[part == number])
        train, test = (self.train.some(np.flatnonzero(which)) for which in (~held_out, held_out))
        return PictureData(train, test, self.views, self.words, self.answers)

    @cached_property
    def weak_labels(self) -> WeakLabels:
        """The words that the questions of train imply of their pictures."""
        programs = [_routines(question) for question in self.train.questions]
        answers = [str(question.answer) for question in self.train.questions]
        return WeakLabels.of(programs, answers, self.train.programs.of.numpy(), len(self.views.classes))

    def evidence(self, seed: int) -> Evidence:
        """Evidence for all pictures, predicted from the weak labels of those of train."""
        labels = self.weak_labels
        found = torch.from_numpy(predict(self.views, labels, self.train.pictures, np.random.default_rng(seed)))
        answers = found[:, labels.rows(self.answers), : len(TRUST)]
        return Evidence(found[:, labels.rows(self.words)], answers, self._spelt)

    def no_evidence(self) -> Evidence:
        """Evidence of zeros, for an executor without pictures."""
        count = len(self.views.classes)
        words, answers = torch.zeros(count, len(self.words), KINDS), torch.zeros(count, len(self.answers), len(TRUST))
        return Evidence(words, answers, self._spelt)

    def with_prior(self, kind: Kind, others: Sequence[QuestionTensors]) -> list[QuestionTensors]:
        """The questions of train, then others, with their answer prior; for `blind`, pictures are not compared."""
        every, pictures = [self.train, *others], self._similarity() if kind == "picture" else None
        found = [each.prior.clone() for each in every]
        for boolean, first, count in (
            (True, 0, len(BOOLEAN_TARGETS)),
            (False, len(BOOLEAN_TARGETS), len(self.answers)),
        ):
            rows = [(each.boolean == boolean).nonzero()[:, 0] for each in every]
            traits = [each.traits(which, self._stems) for each, which in zip(every, rows, strict=True)]
            prior = AnswerPrior.of(traits[0], self.train.target[rows[0]], count, pictures)
            logarithms = [prior.own, *(prior.predict(each) for each in traits[1:])]
            for filled, which, values in zip(found, rows, logarithms, strict=True):
                filled[which, first : first + count] = values
        return [replace(each, prior=prior) for each, prior in zip(every, found, strict=True)]

    def _similarity(self) -> Tensor:
        """(pictures, pictures) similarity to those of train, scaled to a mean of 1 on the diagonal."""
        train, found = self.train.pictures, np.zeros((len(self.views.classes),) * 2, np.float32)
        found[:, train] = self.views.similarity(train)[0]
        return torch.from_numpy(found / found[train, train].mean())

    @property
    def _stems(self) -> Tensor:
        """(words,) the first word with the same singular."""
        first: dict[str, int] = {}
        return torch.tensor([first.setdefault(singular(word), number) for number, word in enumerate(self.words)])

    @property
    def _spelt(self) -> Tensor:
        numbers = {word: number for number, word in enumerate(self.words)}
        return torch.tensor([numbers.get(answer, 0) for answer in self.answers])


def scores(model: Model, evidence: Evidence, batch: QuestionTensors) -> tuple[Tensor, Tensor]:
    """(questions, 2) scores of yes and no, and (questions, answers) scores of answers, for all questions."""
    programs, count = batch.programs, len(BOOLEAN_TARGETS)
    results = execute(model, evidence, programs)
    rows = results[torch.arange(len(results)), batch.last]
    specification = evidence.about(programs.of).mentioning(programs.words, batch.last)
    answers = model.decode(rows, ANSWER) + model.reader.point(rows[:, None], specification)[:, 0, :-1]
    return model.decode(rows, BOOLEAN) + batch.prior[:, :count], answers + batch.prior[:, count:]


class PictureTraining(Learner[PictureSettings]):
    """Updates on uniformly drawn questions, with word dropout."""

    model: Model
    average: Model

    def __init__(self, data: PictureData, evidence: Evidence, settings: PictureSettings, seed: int) -> None:
        torch.manual_seed(seed)
        super().__init__(_untrained(data, settings), settings, seed)
        self._train, self._evidence, self._random = data.train, evidence, np.random.default_rng(seed)

    def step(self) -> float:
        batch = self._train.some(self._random.integers(0, len(self._train.questions), self.settings.batch_size))
        booleans, answers = scores(self.model.train(), self._evidence, self._dropped(batch))
        losses = [booleans.sum() * 0, answers.sum() * 0]
        for logits, which in ((booleans, batch.boolean), (answers, ~batch.boolean)):
            known = which & (batch.target != NO_TARGET)
            losses.append(cross_entropy(logits[known], batch.target[known], reduction="sum"))
        loss = self.optimizer_step(torch.stack(losses).sum() / len(batch.questions))
        self.done += 1
        return loss

    def _dropped(self, batch: QuestionTensors) -> QuestionTensors:
        """The same questions, with some words replaced by the unknown word."""
        words = batch.programs.words
        dropped = (torch.rand(words.shape, generator=self.generator) < self.settings.word_dropout) & (words > 0)
        dropped[..., :ARGUMENTS] = False
        programs = batch.programs
        kept = Programs(words.masked_fill(dropped, UNKNOWN_WORD), programs.inputs, programs.exists, programs.of)
        return replace(batch, programs=kept)


def _untrained(data: PictureData, settings: PictureSettings) -> Model:
    config = PlusConfig(word_width=settings.word_width, heads=4, hidden=settings.hidden, blocks=settings.blocks)
    sizes = Sizes(
        vocabulary=data.words,
        words=DOMAIN.routine_width,
        operation_words=DOMAIN.operation_words,
        inputs=DOMAIN.max_inputs,
        sequential=DOMAIN.sequential,
        results=((OBJECTS, None), (BOOLEAN, len(BOOLEAN_TARGETS)), (ANSWER, len(data.answers))),
    )

    def reader(sizes: Sizes, width: int) -> EvidenceReader:
        return EvidenceReader(width, settings.hidden, sizes.words, KINDS, TRUST, settings.reader_dropout)

    model: Model = build_model("plus", config, sizes, Custom(reader))
    return model


def learn(
    data: PictureData,
    settings: PictureSettings,
    seed: int,
    kind: Kind,
    progress: Callable[[int], None] = lambda steps: None,
) -> dict[str, list[str]]:
    """Train the executors of a seed and predict the answers of test: with the right pictures and, for `picture`, with
    wrong ones (`shuffled`). `progress` is called with the number of updates so far."""
    tests = {kind: data.test} | ({"shuffled": _shuffled(data.test)} if kind == "picture" else {})
    train, *others = data.with_prior(kind, list(tests.values()))
    data, tests = replace(data, train=train), dict(zip(tests, others, strict=True))
    found: dict[str, list[Tensor]] = {}
    for member in range(settings.members):
        own_seed = seed * settings.members + member
        evidence = data.evidence(own_seed) if kind == "picture" else data.no_evidence()
        training = PictureTraining(data, evidence, settings, own_seed)
        for done in range(settings.steps):
            training.step()
            progress(member * settings.steps + done + 1)
        for name, test in tests.items():
            found.setdefault(name, []).append(_probabilities(training.average.eval(), evidence, test))
    return {name: _answers(torch.stack(each).mean(dim=0), data, tests[name]) for name, each in found.items()}


def _shuffled(batch: QuestionTensors) -> QuestionTensors:
    """The same questions, each about the picture half way round the list."""
    pictures = batch.pictures
    other = np.roll(pictures, len(pictures) // 2)[np.searchsorted(pictures, batch.programs.of.numpy())]
    programs = batch.programs
    wrong = Programs(programs.words, programs.inputs, programs.exists, torch.from_numpy(other))
    return replace(batch, programs=wrong)


@torch.inference_mode()
def _probabilities(model: Model, evidence: Evidence, batch: QuestionTensors) -> Tensor:
    """(questions, 2 + answers) probabilities of yes and no, and of answers."""
    count, found = len(batch.questions), list[Tensor]()
    for first in range(0, count, BATCH):
        some = batch.some(np.arange(first, min(count, first + BATCH)))
        found.append(torch.cat([each.softmax(dim=1) for each in scores(model, evidence, some)], dim=1))
    return torch.cat(found)


def _answers(probabilities: Tensor, data: PictureData, batch: QuestionTensors) -> list[str]:
    names, count = list(BOOLEAN_TARGETS), len(BOOLEAN_TARGETS)
    booleans = probabilities[:, :count].argmax(dim=1).tolist()
    answers = probabilities[:, count:].argmax(dim=1).tolist()
    return [
        names[boolean] if is_boolean else data.answers[answer]
        for is_boolean, boolean, answer in zip(batch.boolean.tolist(), booleans, answers, strict=True)
    ]


def measure(data: PictureData, predicted: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, Any]:
    """Percent of correct answers; `predicted` maps a kind of model to the answers of each seed."""
    test = data.test
    labels = np.array([str(question.answer) for question in test.questions])
    right = {name: np.array([np.array(each) == labels for each in answers]) for name, answers in predicted.items()}
    types = test.types()
    views = {name: BLIND_VIEWS[name] for name in PRIORS}
    return {
        "note": NOT_COMPARABLE,
        "questions": {"train": len(data.train.questions), "test": len(test.questions)},
        "pictures": {"train": len(data.train.pictures), "test": len(test.pictures)},
        "seeds": {name: [float(100 * each.mean()) for each in rights] for name, rights in right.items()},
        "accuracy": {name: float(100 * rights.mean()) for name, rights in right.items()},
        "differences": {
            f"picture - {other}": difference(right["picture"], right[other], test.programs.of.numpy())
            for other in right
            if other != "picture"
        },
        "priors": {name: blind_prior(data.train.questions, test.questions, view) for name, view in views.items()},
        "unknown_answers": float(100 * np.mean([answer not in data.answers for answer in labels])),
        "structural": {
            str(kind): {"questions": int((types == kind).sum())}
            | {name: float(100 * rights[:, types == kind].mean()) for name, rights in right.items()}
            for kind in np.unique(types)
        },
    }


def difference(
    one: NDArray[np.bool_], other: NDArray[np.bool_], pictures: NDArray[np.int64], seed: int = 0
) -> dict[str, float]:
    """Difference of two models (seeds, questions) in points, and its bootstrap interval: pictures are resampled with
    all their questions, since questions about one picture are correlated."""
    _, of = np.unique(pictures, return_inverse=True)
    gained = np.bincount(of, one.mean(axis=0) - other.mean(axis=0))
    counts = np.bincount(of)
    drawn = np.random.default_rng(seed).integers(0, len(counts), (RESAMPLES, len(counts)))
    points = 100 * gained[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(points, [(100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2])
    return {"points": float(100 * gained.sum() / counts.sum()), "low": float(low), "high": float(high)}


def plan_of(data: PictureData, settings: PictureSettings) -> dict[str, Any]:
    """Everything that the answers depend on, apart from the seed."""
    return {
        "settings": asdict(settings),
        "questions": [[each.key for each in batch.questions] for batch in (data.train, data.test)],
        "features": float(sum(np.abs(group).sum() for group in data.views.groups)),
    }
