"""Real pictures: the executor learns from a few hundred of them, by answers alone, and is asked about others.

Beside it learns one that is shown no pictures, in everything else the same, and the one that has learned from pictures
is shown wrong ones. The executor is that of all tasks (`plus`, the target `partial`); pictures are read as evidence for
words (`models/evidence.py`), which is learned from the same questions (`testimony.py`). Executors learn what to add to
what questions alike were answered (`recollection.py`); without pictures, to what they were by their programs alone. A
seed is a few executors whose probabilities are averaged.

    data = PictureData.read(index, "train", "dev", features)
    answers = learn(data, PictureSettings(), seed=0, kind="picture")      # of each question of dev
    figures = measure(data, {"picture": [answers, ...], "blind": [...], "shuffled": [...]})

Departures from the paper: its pictures have detected objects, and a million questions. Where these data are a part of
the release, they come from testdev, so figures are not comparable with the paper's split.
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
from program_guided.experiments.recollection import Memory, Traits
from program_guided.experiments.testimony import KINDS, TRUST, Said, Views, foretell, singular
from program_guided.language.syntax import Call, calls
from program_guided.learning.learner import Learner
from program_guided.learning.questions import NO_TARGET, TRUTHS, TYPES, WORDS, programs_of
from program_guided.learning.reasoning import RESULTS, Programs, carry_out, visual_config
from program_guided.learning.settings import PictureSettings
from program_guided.models.evidence import FIRST_ARGUMENT, Evidence, EvidenceReader
from program_guided.models.executor import Executor
from program_guided.tasks.visual.assembly import UNKNOWN_WORD
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.release import Question
from program_guided.tasks.visual.statistics import BLIND_VIEWS, blind_prior

__all__ = ["KINDS_OF_MODEL", "NOT_COMPARABLE", "PictureData", "learn", "measure", "plan_of"]

Kind = Literal["picture", "blind"]
KINDS_OF_MODEL = ("picture", "blind", "shuffled")
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
"""Structural type of a question, by the family of its last operation; comparatives compare too."""
BOOLEAN = RESULTS.index("Boolean")
AT_ONCE = 512
"""Questions that are answered at once."""
RESAMPLED = 10_000
"""Times that pictures are drawn anew for an interval."""
COVERED = 95
"""Percent of the draws that lie in an interval."""


@dataclass(frozen=True)
class Asked:
    """Answered questions as tensors."""

    questions: tuple[Question, ...]
    programs: Programs
    """`of` are numbers of all pictures, of train and test"""
    last: Tensor
    """(questions,) the routine that gives the answer"""
    boolean: Tensor
    """(questions,) whether the answer is yes or no"""
    target: Tensor
    """(questions,) 1 for yes, 0 for no, else the answer's number; NO_TARGET if train never gives it"""
    recalled: Tensor
    """(questions, 2 + answers) what speaks for no, for yes and for each answer by what questions alike were answered"""

    @classmethod
    def read(cls, index: Index, name: str, pictures: Mapping[str, int]) -> Asked:
        """A set of an index."""
        found = index.questions(name)
        questions = tuple(found)
        if not questions or any(each.answer is None or not each.semantic for each in questions):
            raise DataError(f"{index.folder}: '{name}' needs questions, each with a program and an answer")
        batch = found.batch(np.arange(len(found)))
        of = np.array([pictures[each.image_id] for each in questions], np.int64)
        last = batch.lengths.astype(np.int64) - 1
        boolean = TYPES[batch.operations[np.arange(len(last)), last]] == BOOLEAN
        truths = np.array([TRUTHS.get(str(each.answer), NO_TARGET) for each in questions])
        answers = np.where(batch.answers < index.known_answers, batch.answers, NO_TARGET)
        target = np.where(boolean, truths, answers)
        programs = programs_of(batch.words, batch.parents, batch.operations >= 0, of)
        nothing = np.zeros((len(questions), len(TRUTHS) + index.known_answers), np.float32)
        return cls(questions, programs, *map(torch.from_numpy, (last, boolean, target, nothing)))

    def some(self, numbers: NDArray[np.int64]) -> Asked:
        """The questions of these numbers, padded no longer than they need."""
        rows = torch.from_numpy(numbers)
        most = int(self.last[rows].max()) + 1
        programs = self.programs
        words, parents, exists = (part[rows, :most] for part in (programs.words, programs.parents, programs.exists))
        questions = tuple(self.questions[number] for number in numbers.tolist())
        chosen = Programs(words, parents, exists, programs.of[rows])
        answers = (self.boolean[rows], self.target[rows], self.recalled[rows])
        return Asked(questions, chosen, self.last[rows], *answers)

    def traits(self, rows: Tensor, stems: Tensor) -> Traits:
        """What makes the questions of these numbers alike."""
        programs = self.programs
        parts = (each[rows] for each in (programs.words, programs.parents, programs.exists, programs.of))
        asks = torch.from_numpy(self.types() == "query").float()
        return Traits.read(Programs(*parts), self.last[rows], stems, asks[rows])

    @cached_property
    def pictures(self) -> NDArray[np.int64]:
        """Numbers of the pictures that are asked about."""
        return np.unique(self.programs.of.numpy())

    def types(self) -> NDArray[np.str_]:
        """Structural type of each question."""
        return np.array([_structural(question) for question in self.questions])


def _structural(question: Question) -> str:
    row = ROWS[_routines(question)[-1].operation]
    return "compare" if row.category in COMPARATIVES else STRUCTURAL[row.family]


def _routines(question: Question) -> tuple[Call, ...]:
    return tuple(calls(question.program.body))


@dataclass(frozen=True)
class PictureData:
    """Questions to learn from, questions to be asked, and what is seen in the pictures of both."""

    train: Asked
    test: Asked
    views: Views
    words: tuple[str, ...]
    answers: tuple[str, ...]

    @classmethod
    def read(cls, index: Index, train: str, test: str, features: ObjectFeatures) -> PictureData:
        """From an index and a file of features."""
        sets = (index.questions(name) for name in (train, test))
        images = [
            index.images[number] for number in np.unique(np.concatenate([each.columns["image"] for each in sets]))
        ]
        pictures = {image: number for number, image in enumerate(images)}
        learned, tested = (Asked.read(index, name, pictures) for name in (train, test))
        words, answers = index.words[: index.known_words], index.answers[: index.known_answers]
        data = cls(learned, tested, Views.read(features, images), tuple(words), tuple(answers))
        both = set(data.train.pictures.tolist()) & set(data.test.pictures.tolist())
        if both:
            raise DataError(
                f"{index.folder}: '{train}' and '{test}' ask about the same pictures, as {images[min(both)]}"
            )
        return data

    def fold(self, number: int, folds: int) -> PictureData:
        """A part of the pictures of train to be asked about, the rest to learn from; test is not looked at."""
        pictures = self.train.pictures
        part = np.random.default_rng(0).permutation(len(pictures)) % folds
        held_out = np.isin(self.train.programs.of.numpy(), pictures[part == number])
        train, test = (self.train.some(np.flatnonzero(which)) for which in (~held_out, held_out))
        return PictureData(train, test, self.views, self.words, self.answers)

    @cached_property
    def testimony(self) -> Said:
        """What the questions of train say of their pictures."""
        programs = [_routines(question) for question in self.train.questions]
        answers = [str(question.answer) for question in self.train.questions]
        return Said.of(programs, answers, self.train.programs.of.numpy(), len(self.views.classes))

    def evidence(self, seed: int) -> Evidence:
        """What is foretold of all pictures from what is said of those of train."""
        testimony = self.testimony
        found = torch.from_numpy(foretell(self.views, testimony, self.train.pictures, np.random.default_rng(seed)))
        answers = found[:, testimony.rows(self.answers), : len(TRUST)]
        return Evidence(found[:, testimony.rows(self.words)], answers, self._spelt)

    def nothing(self) -> Evidence:
        """No evidence, for an executor that is shown no picture."""
        count = len(self.views.classes)
        words, answers = torch.zeros(count, len(self.words), KINDS), torch.zeros(count, len(self.answers), len(TRUST))
        return Evidence(words, answers, self._spelt)

    def remembered(self, kind: Kind, asked: Sequence[Asked]) -> list[Asked]:
        """The questions of train, then others, with what is recalled for them; `blind` looks at no pictures."""
        every, pictures = [self.train, *asked], self._alike() if kind == "picture" else None
        found = [each.recalled.clone() for each in every]
        for boolean, first, count in ((True, 0, len(TRUTHS)), (False, len(TRUTHS), len(self.answers))):
            rows = [(each.boolean == boolean).nonzero()[:, 0] for each in every]
            traits = [each.traits(which, self._stems) for each, which in zip(every, rows, strict=True)]
            memory = Memory.of(traits[0], self.train.target[rows[0]], count, pictures)
            given = [memory.own, *(memory.recall(each) for each in traits[1:])]
            for recalled, which, answers in zip(found, rows, given, strict=True):
                recalled[which, first : first + count] = answers
        return [replace(each, recalled=recalled) for each, recalled in zip(every, found, strict=True)]

    def _alike(self) -> Tensor:
        """(pictures, pictures) how alike they are to those of train, which are alike to themselves by 1 on average."""
        told, found = self.train.pictures, np.zeros((len(self.views.classes),) * 2, np.float32)
        found[:, told] = self.views.likeness(told)[0]
        return torch.from_numpy(found / found[told, told].mean())

    @property
    def _stems(self) -> Tensor:
        """(words,) the first word of the same singular."""
        first: dict[str, int] = {}
        return torch.tensor([first.setdefault(singular(word), number) for number, word in enumerate(self.words)])

    @property
    def _spelt(self) -> Tensor:
        numbers = {word: number for number, word in enumerate(self.words)}
        return torch.tensor([numbers.get(answer, 0) for answer in self.answers])


def scores(model: Executor, evidence: Evidence, asked: Asked) -> tuple[Tensor, Tensor]:
    """(questions, 2) of no and yes and (questions, answers), whatever the type of the answer."""
    programs = asked.programs
    results = carry_out(model, evidence, programs)
    rows = results[torch.arange(len(results)), asked.last]
    candidates = evidence.candidates(programs.of, programs.words, asked.last)
    answers = model.decode(rows, "Answer") + model.point(rows[:, None], candidates)[:, 0]
    return model.decode(rows, "Boolean") + asked.recalled[:, : len(TRUTHS)], answers + asked.recalled[:, len(TRUTHS) :]


class PictureTraining(Learner[PictureSettings]):
    """Updates on questions drawn from all, some of their words hidden."""

    def __init__(self, data: PictureData, evidence: Evidence, settings: PictureSettings, seed: int) -> None:
        torch.manual_seed(seed)
        super().__init__(_untrained(data, settings), settings, seed)
        self._asked, self._evidence, self._random = data.train, evidence, np.random.default_rng(seed)

    def step(self) -> float:
        asked = self._asked.some(self._random.integers(0, len(self._asked.questions), self.settings.questions))
        truths, answers = scores(self.model.train(), self._evidence, self._hidden(asked))
        losses = [truths.sum() * 0, answers.sum() * 0]
        for given, which in ((truths, asked.boolean), (answers, ~asked.boolean)):
            known = which & (asked.target != NO_TARGET)
            losses.append(cross_entropy(given[known], asked.target[known], reduction="sum"))
        loss = self.descend(torch.stack(losses).sum() / len(asked.questions))
        self.done += 1
        return loss

    def _hidden(self, asked: Asked) -> Asked:
        """The same questions, some words of which are not understood."""
        words = asked.programs.words
        hidden = (torch.rand(words.shape, generator=self.chance) < self.settings.dropout) & (words > 0)
        hidden[..., :FIRST_ARGUMENT] = False
        programs = asked.programs
        heard = Programs(words.masked_fill(hidden, UNKNOWN_WORD), programs.parents, programs.exists, programs.of)
        return replace(asked, programs=heard)


def _untrained(data: PictureData, settings: PictureSettings) -> Executor:
    sizes: dict[str, int] = {"hidden": settings.hidden, "blocks": settings.blocks}
    config = visual_config("plus", len(data.words), WORDS, len(data.answers), settings.word_width, **sizes)
    reader = EvidenceReader(config.width, config.hidden, WORDS, KINDS, TRUST, settings.unread)
    return Executor(config, reader)


def learn(
    data: PictureData,
    settings: PictureSettings,
    seed: int,
    kind: Kind,
    progress: Callable[[int], None] = lambda steps: None,
) -> dict[str, list[str]]:
    """Teach the executors of a seed and ask the questions of the test: answers with the right pictures and, if it has
    learned from pictures, with wrong ones (`shuffled`). `progress` is told the updates so far."""
    shown = {kind: data.test} | ({"shuffled": _shuffled(data.test)} if kind == "picture" else {})
    train, *others = data.remembered(kind, list(shown.values()))
    data, shown = replace(data, train=train), dict(zip(shown, others, strict=True))
    totals: dict[str, list[Tensor]] = {}
    for member in range(settings.members):
        own_seed = seed * settings.members + member
        evidence = data.evidence(own_seed) if kind == "picture" else data.nothing()
        training = PictureTraining(data, evidence, settings, own_seed)
        for done in range(settings.steps):
            training.step()
            progress(member * settings.steps + done + 1)
        for name, asked in shown.items():
            totals.setdefault(name, []).append(_shares(training.average.eval(), evidence, asked))
    return {name: _said(torch.stack(found).mean(dim=0), data, shown[name]) for name, found in totals.items()}


def _shuffled(asked: Asked) -> Asked:
    """The same questions, each about the picture half way round the list."""
    pictures = asked.pictures
    other = np.roll(pictures, len(pictures) // 2)[np.searchsorted(pictures, asked.programs.of.numpy())]
    programs = asked.programs
    wrong = Programs(programs.words, programs.parents, programs.exists, torch.from_numpy(other))
    return replace(asked, programs=wrong)


@torch.inference_mode()
def _shares(model: Executor, evidence: Evidence, asked: Asked) -> Tensor:
    """(questions, 2 + answers) probabilities of no and yes, and of answers."""
    count, found = len(asked.questions), list[Tensor]()
    for first in range(0, count, AT_ONCE):
        some = asked.some(np.arange(first, min(count, first + AT_ONCE)))
        found.append(torch.cat([each.softmax(dim=1) for each in scores(model, evidence, some)], dim=1))
    return torch.cat(found)


def _said(shares: Tensor, data: PictureData, asked: Asked) -> list[str]:
    truths, answers = shares[:, :2].argmax(dim=1).tolist(), shares[:, 2:].argmax(dim=1).tolist()
    return [
        ("no", "yes")[truth] if boolean else data.answers[answer]
        for boolean, truth, answer in zip(asked.boolean.tolist(), truths, answers, strict=True)
    ]


def measure(data: PictureData, given: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, Any]:
    """Percent of right answers; `given` are those of each seed, by kind of model."""
    asked = data.test
    wanted = np.array([str(question.answer) for question in asked.questions])
    right = {name: np.array([np.array(each) == wanted for each in answers]) for name, answers in given.items()}
    types = asked.types()
    views = {name: BLIND_VIEWS[name] for name in PRIORS}
    return {
        "note": NOT_COMPARABLE,
        "questions": {"train": len(data.train.questions), "test": len(asked.questions)},
        "pictures": {"train": len(data.train.pictures), "test": len(asked.pictures)},
        "seeds": {name: [float(100 * each.mean()) for each in rights] for name, rights in right.items()},
        "accuracy": {name: float(100 * rights.mean()) for name, rights in right.items()},
        "differences": {
            f"picture - {other}": difference(right["picture"], right[other], asked.programs.of.numpy())
            for other in right
            if other != "picture"
        },
        "priors": {name: blind_prior(data.train.questions, asked.questions, view) for name, view in views.items()},
        "unknown_answers": float(100 * np.mean([answer not in data.answers for answer in wanted])),
        "structural": {
            str(kind): {"questions": int((types == kind).sum())}
            | {name: float(100 * rights[:, types == kind].mean()) for name, rights in right.items()}
            for kind in np.unique(types)
        },
    }


def difference(
    one: NDArray[np.bool_], other: NDArray[np.bool_], pictures: NDArray[np.int64], seed: int = 0
) -> dict[str, float]:
    """Points between two models (seeds, questions), and an interval: pictures are drawn anew, with all their
    questions, since questions about one picture stand or fall together."""
    _, of = np.unique(pictures, return_inverse=True)
    gained = np.bincount(of, one.mean(axis=0) - other.mean(axis=0))
    asked = np.bincount(of)
    drawn = np.random.default_rng(seed).integers(0, len(asked), (RESAMPLED, len(asked)))
    points = 100 * gained[drawn].sum(axis=1) / asked[drawn].sum(axis=1)
    low, high = np.percentile(points, [(100 - COVERED) / 2, (100 + COVERED) / 2])
    return {"points": float(100 * gained.sum() / asked.sum()), "low": float(low), "high": float(high)}


def plan_of(data: PictureData, settings: PictureSettings) -> dict[str, Any]:
    """What the answers of a seed depend on besides the seed."""
    return {
        "settings": asdict(settings),
        "questions": [[each.key for each in asked.questions] for asked in (data.train, data.test)],
        "seen": float(sum(np.abs(group).sum() for group in data.views.groups)),
    }
