"""Study of photographs: an executor is trained on a few hundred of them, by answers alone, and tested on others.

Three models are compared: the answer prior alone (`answer_prior.py`), which executes nothing; the prior and an
executor, whose scores are added; and an executor alone. Each has two controls: `blind`, the same without pictures, and
`shuffled`, the same model with wrong pictures. The executor is `plus`, and points at parts of the picture
(`pointing.py`); parts are read as evidence for words (`evidence.py`), fitted to weak labels of the same questions
(`weak_labels.py`, `part_words.py`). A seed is an ensemble of executors whose probabilities are averaged.

    data = PictureData.read(index, "train", "dev", features, parts, ontology)
    learned = learn(data, PictureSettings(), seed=0, model="executor")      # the executors of a seed
    answers = learned.answers()                              # {"executor": [...], "executor shuffled": [...]}
    figures = measure(data, {"prior": [...], "executor": [answers["executor"], ...], ...})

Departures from the paper: it has detected objects and a million questions, so figures are not comparable with its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
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
from program_guided.learning.intervals import interval
from program_guided.learning.learner import Learner
from program_guided.learning.results import NO_TARGET
from program_guided.tasks.visual.batches import BOOLEAN_TARGETS, TYPES, other_pictures, programs_of
from program_guided.tasks.visual.domain import RESULTS, row_of, semantic_of
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.assembly import UNKNOWN_WORD
from program_guided.tasks.visual.ontology import Ontology
from program_guided.tasks.visual.photographs.answer_prior import AnswerPrior, Traits
from program_guided.tasks.visual.photographs.evidence import ARGUMENTS, Evidence
from program_guided.tasks.visual.photographs.part_words import Classes, PartLabels, cross_fit
from program_guided.tasks.visual.photographs.parts import Parts
from program_guided.tasks.visual.photographs.pointing import Pointing
from program_guided.tasks.visual.photographs.reading import Reading, no_evidence, untrained
from program_guided.tasks.visual.photographs.settings import PictureSettings
from program_guided.tasks.visual.photographs.weak_labels import Views, WeakLabels, singular
from program_guided.tasks.visual.release.reading import Question
from program_guided.tasks.visual.statistics import BLIND_VIEWS, blind_prior

__all__ = [
    "CONTROLS",
    "FEW_PICTURES",
    "MODELS",
    "OF_TESTDEV",
    "Learned",
    "PictureData",
    "PictureSettings",
    "learn",
    "measure",
    "plan_of",
    "prior_answers",
]

ModelName = Literal["prior", "prior + executor", "executor"]
MODELS: tuple[ModelName, ...] = ("prior", "prior + executor", "executor")
CONTROLS = ("", " blind", " shuffled")
"""Behind the name of a model: with pictures, without, with wrong ones."""
TESTDEV = ("dev", "testdev")
"""Beginnings of the names of sets that come from the testdev split."""
OF_TESTDEV = "The data come from the testdev split: these figures are not comparable with the paper's split."
FEW_PICTURES = "A few pictures alone are trained and tested on: these figures are not comparable with the paper's."
PRIORS = ("majority", "last operation", "whole program")
COMPARED = (("prior + executor", "prior"), *((model, model + control) for model in MODELS for control in CONTROLS[1:]))
"""Pairs of models whose difference is measured."""
BATCH = 512
"""Questions answered in one batch."""
VERSION = 1
"""Raised when the same data and settings give other answers."""


FittedPrior = tuple[bool, int, int, AnswerPrior]
"""Whether it is of Boolean questions, the first and the number of its scores, and the prior."""


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
    return row_of(_routines(question)[-1])[0].structural


def _routines(question: Question) -> tuple[Call, ...]:
    return flatten(question.program.body)


@dataclass(frozen=True)
class PictureData:
    """Questions of train and test, and the features of their pictures."""

    train: QuestionTensors
    test: QuestionTensors
    views: Views
    parts: Parts
    classes: Classes
    ontology: Ontology
    words: tuple[str, ...]
    answers: tuple[str, ...]
    note: str
    """Why figures are not comparable with the paper's."""

    @classmethod
    def read(
        cls, index: Index, train: str, test: str, features: ObjectFeatures, parts: Path | None, ontology: Ontology
    ) -> PictureData:
        """Read the data from an index, a file of features, and one of parts; without it, the objects are the parts."""
        sets = (index.questions(name) for name in (train, test))
        images = [
            index.images[number] for number in np.unique(np.concatenate([each.columns["image"] for each in sets]))
        ]
        pictures = {image: number for number, image in enumerate(images)}
        train_questions, test_questions = (QuestionTensors.read(index, name, pictures) for name in (train, test))
        words, answers = index.words[: index.known_words], index.answers[: index.known_answers]
        views = Views.read(features, images)
        found = Parts.of_objects(features, images) if parts is None else Parts.read(parts, images)
        named = parts is not None and features.classifies
        classes = found.classes((*features.classifier(), features.class_names()) if named else None)
        note = OF_TESTDEV if test.startswith(TESTDEV) else FEW_PICTURES
        data = cls(train_questions, test_questions, views, found, classes, ontology, tuple(words), tuple(answers), note)
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
        return replace(self, train=train, test=test)

    @cached_property
    def weak_labels(self) -> WeakLabels:
        """The words that the questions of train imply of their pictures."""
        programs = [_routines(question) for question in self.train.questions]
        answers = [str(question.answer) for question in self.train.questions]
        return WeakLabels.of(programs, answers, self.train.programs.of.numpy(), len(self.views))

    @cached_property
    def fitted(self) -> tuple[Reading, Tensor]:
        """The reading of parts, fitted to the weak labels of train, and the evidence for words at all parts."""
        labels, train = self.weak_labels, self.train.pictures
        part_labels = PartLabels.of(labels.words, labels.implied, labels.denied)
        random = np.random.default_rng(0)
        evidence, model = cross_fit(self.parts.features, self.classes, part_labels, train, self.ontology, random)
        return Reading.fit(model, labels, self.parts, train, self.words, self.answers), evidence

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence for all pictures; that of a picture of train is without its own labels."""
        reading, evidence = self.fitted
        return reading.evidence(self.parts, evidence)

    @cached_property
    def no_evidence(self) -> Evidence:
        """Evidence of zeros, for an executor without pictures."""
        return no_evidence(len(self.parts.boxes), self.words, self.answers)

    def with_prior(self, blind: bool, others: Sequence[QuestionTensors]) -> list[QuestionTensors]:
        """The questions of train, then others, with their answer prior; if `blind`, pictures are not compared."""
        every = [self.train, *others]
        found = [each.prior.clone() for each in every]
        for boolean, first, count, prior in self._blind_priors if blind else self._priors:
            rows = [(each.boolean == boolean).nonzero()[:, 0] for each in every]
            traits = [each.traits(which, self._stems) for each, which in zip(others, rows[1:], strict=True)]
            logarithms = [prior.own, *map(prior.predict, traits)]
            for filled, which, values in zip(found, rows, logarithms, strict=True):
                filled[which, first : first + count] = values
        return [replace(each, prior=prior) for each, prior in zip(every, found, strict=True)]

    @cached_property
    def _priors(self) -> list[FittedPrior]:
        return list(self._fitted_priors(self._similarity()))

    @cached_property
    def _blind_priors(self) -> list[FittedPrior]:
        return list(self._fitted_priors(None))

    def _fitted_priors(self, pictures: Tensor | None) -> Iterator[FittedPrior]:
        """The priors of Boolean questions and of others, fitted to train."""
        for boolean, first, count in (
            (True, 0, len(BOOLEAN_TARGETS)),
            (False, len(BOOLEAN_TARGETS), len(self.answers)),
        ):
            rows = (self.train.boolean == boolean).nonzero()[:, 0]
            traits = self.train.traits(rows, self._stems)
            yield boolean, first, count, AnswerPrior.of(traits, self.train.target[rows], count, pictures)

    def _similarity(self) -> Tensor:
        """(pictures, pictures) similarity to those of train, scaled to a mean of 1 on the diagonal."""
        train, found = self.train.pictures, np.zeros((len(self.views),) * 2, np.float32)
        found[:, train] = self.views.similarity(train)[0]
        return torch.from_numpy(found / found[train, train].mean())

    @property
    def _stems(self) -> Tensor:
        """(words,) the first word with the same singular."""
        first: dict[str, int] = {}
        return torch.tensor([first.setdefault(singular(word), number) for number, word in enumerate(self.words)])


def scores(model: Pointing, evidence: Evidence, batch: QuestionTensors) -> tuple[Tensor, Tensor]:
    """(questions, 2) scores of yes and no, and (questions, answers) scores of answers, for all questions."""
    programs, count, every = batch.programs, len(BOOLEAN_TARGETS), torch.arange(len(batch.last))
    rows = execute(model, evidence, programs)[every, batch.last]
    specification = evidence.about(programs.of).mentioning(programs.words, batch.last)
    booleans, answers = model.answer(rows, specification, programs.words[every, batch.last])
    recall = model.recall
    return booleans + recall[0] * batch.prior[:, :count], answers + recall[1] * batch.prior[:, count:]


class PictureTraining(Learner[PictureSettings]):
    """Updates on uniformly drawn questions, with word dropout."""

    model: Pointing
    average: Pointing

    def __init__(self, data: PictureData, evidence: Evidence, settings: PictureSettings, seed: int) -> None:
        torch.manual_seed(seed)
        model = untrained(data.words, len(data.answers), evidence.sizes, settings)
        super().__init__(model, settings, seed)
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


@dataclass(frozen=True)
class Learned:
    """The executors of a seed."""

    data: PictureData
    model: ModelName
    blind: bool
    members: tuple[Pointing, ...]

    def answers(self) -> dict[str, list[str]]:
        """Answers to the questions of test, by the name of the model and its control: with the right pictures, and with
        wrong ones if it has pictures."""
        data, evidence = self.data, self.data.no_evidence if self.blind else self.data.evidence
        tests = {"": data.test} | ({} if self.blind else {" shuffled": _shuffled(data.test)})
        if self.model != "executor":
            _, *others = data.with_prior(self.blind, list(tests.values()))
            tests = dict(zip(tests, others, strict=True))
        found = {}
        for control, test in tests.items():
            together = torch.stack([_probabilities(each, evidence, test) for each in self.members]).mean(dim=0)
            found[self.model + (" blind" if self.blind else control)] = _answers(together, data, test)
        return found


def learn(
    data: PictureData,
    settings: PictureSettings,
    seed: int,
    model: ModelName,
    blind: bool = False,
    progress: Callable[[int], None] = lambda steps: None,
) -> Learned:
    """Train the executors of a seed. `progress` is called with the number of updates so far."""
    evidence, trained = data.no_evidence if blind else data.evidence, data
    if model != "executor":
        trained = replace(data, train=data.with_prior(blind, [])[0])
    members = []
    for member in range(settings.members):
        training = PictureTraining(trained, evidence, settings, seed * settings.members + member)
        for done in range(settings.steps):
            training.step()
            progress(member * settings.steps + done + 1)
        average = training.average.eval()
        members.append(average)
    return Learned(data, model, blind, tuple(members))


def prior_answers(data: PictureData) -> dict[str, list[str]]:
    """The most likely answers of the prior alone, with its controls."""
    found, asked = {}, (data.test, data.test, _shuffled(data.test))
    for control, blind, test in zip(CONTROLS, (False, True, False), asked, strict=True):
        _, known = data.with_prior(blind, [test])
        found["prior" + control] = _answers(known.prior.exp(), data, test)
    return found


def _shuffled(batch: QuestionTensors) -> QuestionTensors:
    """The same questions, each about another picture."""
    programs = batch.programs
    other = torch.from_numpy(other_pictures(programs.of.numpy()))
    wrong = Programs(programs.words, programs.inputs, programs.exists, other)
    return replace(batch, programs=wrong)


@torch.inference_mode()
def _probabilities(model: Pointing, evidence: Evidence, batch: QuestionTensors) -> Tensor:
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
        "note": data.note,
        "questions": {"train": len(data.train.questions), "test": len(test.questions)},
        "pictures": {"train": len(data.train.pictures), "test": len(test.pictures)},
        "seeds": {name: [float(100 * each.mean()) for each in rights] for name, rights in right.items()},
        "accuracy": {name: float(100 * rights.mean()) for name, rights in right.items()},
        "differences": {
            f"{one} - {other}": difference(right[one], right[other], test.programs.of.numpy())
            for one, other in COMPARED
            if {one, other} <= right.keys()
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
    """Difference of two models (seeds, questions) in points, and its interval over pictures."""
    _, of = np.unique(pictures, return_inverse=True)
    gained = np.bincount(of, one.mean(axis=0) - other.mean(axis=0)).astype(np.float64)
    return interval(gained, np.bincount(of), seed)


def plan_of(data: PictureData, settings: PictureSettings) -> dict[str, Any]:
    """Everything that the answers depend on, apart from the seed."""
    digest = hashlib.sha256()
    for array in (*data.views.groups, *vars(data.parts).values(), *vars(data.classes).values()):
        digest.update(np.ascontiguousarray(array).tobytes() if isinstance(array, np.ndarray) else repr(array).encode())
    return {
        "version": VERSION,
        "settings": asdict(settings),
        "questions": [
            [[each.key, each.image_id, each.answer, semantic_of(each.program)] for each in batch.questions]
            for batch in (data.train, data.test)
        ],
        "ontology": data.ontology.digest,
        "features": digest.hexdigest(),
    }
