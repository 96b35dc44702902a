"""Predicted answers to questions about pictures, and the accuracy of routines by family.

asked = select_questions(data, "val_balanced", "val_all", features=True, graphs=False)
found = answer_questions(model, source, asked.numbers)
found.predictions, found.accuracy, found.families
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.language.syntax import flatten
from program_guided.language.table import compile_program
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.parser import Parser
from program_guided.models.model import Model
from program_guided.output import counted
from program_guided.tasks.visual.batches import Questions, arrays_of, other_pictures
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.domain import DOMAIN
from program_guided.tasks.visual.index import QuestionSet
from program_guided.tasks.visual.index.parts import NOTHING
from program_guided.tasks.visual.metrics import lacks_choices
from program_guided.tasks.visual.oracle import answer_of, execute
from program_guided.tasks.visual.release.reading import Choices, Question
from program_guided.tasks.visual.release.skipping import OnBad, Skipped, refuse
from program_guided.tasks.visual.release.sources import CHOICES, is_train, split_of
from program_guided.tasks.visual.symbolic import answer_symbolically

__all__ = [
    "Answers",
    "Asked",
    "answer_elsewhere",
    "answer_questions",
    "oracle_answers",
    "predicted_answers",
    "right_by_picture",
    "select_questions",
    "symbolic_answers",
]

BATCH = 256
"""Questions executed in one batch."""
NO_PROGRAMS = (
    "programs are needed to answer questions: let a parser predict them, or name a set whose questions have 'semantic'"
)
SEE_ERROR = "answer without skipping bad records to see the first error"


@dataclass(frozen=True)
class Answers:
    """Answers to a set of questions."""

    predictions: dict[str, str]
    """Answer by the question's id."""
    accuracy: float
    """% of the questions answered correctly, among those whose answer is known."""
    families: dict[str, float]
    """% of correct results by family of routines, among those with a known target."""


@dataclass(frozen=True)
class Asked:
    """The questions of a set that are answered and scored."""

    name: str
    every: str
    """The set that holds the entailed questions too."""
    numbers: NDArray[np.int64]
    questions: dict[str, Question]
    """The balanced ones by id, which are scored."""
    choices: dict[str, Choices] | None
    answered: bool
    """True if the questions have answers."""
    bad: Mapping[str, str]
    """Pictures that cannot be reasoned about -> error."""
    programs: bool = True
    """True if the questions have programs."""

    def entailed(self, questions: QuestionSet) -> NDArray[np.int64]:
        """Numbers of the questions of `every` that the balanced ones entail, and that can be answered and scored."""
        keys = {key for question in self.questions.values() for key in question.entailed} - self.questions.keys()
        numbers = np.array(sorted(questions.numbers[key] for key in keys if key in questions.numbers), np.int64)
        good = (_have_program(questions) | (not self.programs)) & _have_answer(questions) & ~_about(questions, self.bad)
        return numbers[good[numbers]]


def select_questions(
    data: VisualData,
    name: str,
    every: str,
    features: bool,
    graphs: bool,
    skipped: Skipped | None = None,
    predicted: bool = False,
) -> Asked:
    """Choose the questions of a set that can be answered from `features`, and on scene `graphs`. What lacks these, or
    the program, the answer or the choices that others have, is an error, or counted as skipped; a set without any
    programs is one too, unless they are `predicted`."""
    index, on_bad = data.index, refuse if skipped is None else skipped.add
    found = index.questions(name)
    if not len(found):
        raise DataError(f"{index.folder}: {name} has no questions")
    programs = bool(_have_program(found).any())
    if not programs and not predicted:
        raise DataError(f"{index.folder}: the questions of {name} have no programs; {NO_PROGRAMS}")
    if graphs and data.pictures(name).isdisjoint(index.scene_ids):
        raise DataError(f"{index.folder}: there are no scene graphs of {name}, which the oracle needs; leave it out")
    bad = _bad_pictures(data, name, features, graphs, read_features=skipped is not None)
    numbers = _answerable(found, bad, on_bad)
    if not len(numbers):
        raise DataError(f"{index.folder}: no question of {name} can be answered; {SEE_ERROR}")
    balanced = numbers[found.columns["balanced"][numbers]]
    questions = {question.key: question for question in map(found.question, balanced.tolist())}
    choices = _choices(found, questions.values(), on_bad)
    return Asked(name, every, numbers, questions, choices, bool(_have_answer(found).any()), bad, programs)


def _bad_pictures(data: VisualData, name: str, features: bool, graphs: bool, read_features: bool) -> dict[str, str]:
    """Pictures of a set whose features or scene graphs are needed and missing -> error; to `read_features`, all of
    them, takes longer."""
    found: dict[str, str] = {}
    known, drawn = frozenset(() if read_features else data.features.image_ids), frozenset(data.index.scene_ids)
    for image in sorted(data.pictures(name)):
        try:
            if features and image not in known:
                data.features.read(image)
            if graphs and image not in drawn:
                data.index.scene(image)
        except DataError as error:
            found[image] = str(error)
    return found


def _answerable(questions: QuestionSet, bad: Mapping[str, str], on_bad: OnBad) -> NDArray[np.int64]:
    """Numbers of the questions about other than bad pictures that have a program and, if any has one, an answer."""
    images, name, place = questions.index.images, questions.name, questions.index.folder
    counts = Counter(images[number] for number in questions.columns["image"].tolist()) if bad else Counter()
    for image, error in bad.items():
        on_bad(DataError(f"{error} ({counted(counts[image], 'question')} of {name})"))
    answered, good = _have_answer(questions), ~_about(questions, bad)
    programs = _have_program(questions)
    for there, what in ((programs | ~programs.any(), "program"), (answered | ~answered.any(), "answer")):
        for number in np.flatnonzero(good & ~there).tolist():
            on_bad(DataError(f"{place}: question {quote(questions.key(number))} of {name} has no {what}"))
        good &= there
    return np.flatnonzero(good)


def _choices(found: QuestionSet, questions: Iterable[Question], on_bad: OnBad) -> dict[str, Choices] | None:
    """Choices of the set's split; None if there are none."""
    index, split = found.index, split_of(found.name)
    if split not in index.header["sets"].get(CHOICES, {}):
        return None
    choices = index.choices(split)
    for question in questions:
        if lacks_choices(question, choices):
            on_bad(
                DataError(f"{index.folder}: there are no choices for question {quote(question.key)} of {found.name}")
            )
    return choices


def _about(questions: QuestionSet, images: Collection[str]) -> NDArray[np.bool_]:
    """True for each question that is about one of these pictures."""
    numbers = [number for number, image in enumerate(questions.index.images) if image in images]
    return np.isin(questions.columns["image"], numbers)


def _have_program(questions: QuestionSet) -> NDArray[np.bool_]:
    return np.diff(questions.columns["routine"]) > 0


def _have_answer(questions: QuestionSet) -> NDArray[np.bool_]:
    return np.asarray(questions.columns["answer"]) != NOTHING


def answer_questions(
    model: Model,
    source: Questions,
    numbers: NDArray[np.int64],
    progress: Callable[[int], None] = lambda done: None,
    shuffled: bool = False,
) -> Answers:
    """Answer questions; `progress` is called with the number answered so far. With `shuffled`, each is answered about
    another picture."""
    types = list(source.results.values())
    own = source.specification_numbers()[numbers]
    about = other_pictures(own) if shuffled else own
    predictions: dict[str, str] = {}
    right: Counter[str] = Counter()
    known: Counter[str] = Counter()
    answered = correct = 0
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        examples = source.batch(some, about=about[first : first + BATCH])
        outputs = outputs_of(model, examples.arrays, examples.programs, types)
        rows, last = range(len(some)), examples.last.tolist()
        kinds = examples.types[torch.arange(len(some)), examples.last].tolist()
        results = [outputs.result(types, *each)[0] for each in zip(rows, last, kinds, strict=True)]
        answers = [types[kind].show(result) for kind, result in zip(kinds, results, strict=True)]
        predictions |= {source.set.key(int(number)): answer for number, answer in zip(some, answers, strict=True)}
        labels = source.set.columns["answer"][some].tolist()
        answered += sum(label != NOTHING for label in labels)
        correct += sum(
            label != NOTHING and source.index.answers[label] == answer
            for label, answer in zip(labels, answers, strict=True)
        )
        families = source.families[examples.operations]
        judged, verdict = (each.numpy() for each in outputs.right(examples, types))
        known.update(families[judged].tolist())
        right.update(families[verdict].tolist())
        progress(len(predictions))
    accuracy = 100 * correct / max(1, answered)
    return Answers(predictions, accuracy, {key: 100 * right[key] / known[key] for key in known})


def predicted_answers(
    model: Model,
    parser: Parser,
    source: Questions,
    numbers: NDArray[np.int64],
    progress: Callable[[int], None] = lambda done: None,
) -> Answers:
    """Answers to questions whose programs a parser predicts; none where it finds no program."""
    types, names = list(source.results.values()), [each.name for each in source.results.values()]
    predictions: dict[str, str] = {}
    right = 0
    for first in range(0, len(numbers), BATCH):
        questions = [source.set.question(number) for number in numbers[first : first + BATCH].tolist()]
        read = parser.read([question.text for question in questions])
        programs = [each.program for each in read]
        tables = [compile_program(each, DOMAIN) for each in programs if each is not None]
        rows = [row for row, each in enumerate(programs) if each is not None]
        answers = [""] * len(questions)
        if tables:
            arrays = arrays_of([source.detected(int(numbers[first + row])) for row in rows])
            asked = programs_of(tables, source.vocabulary, np.arange(len(tables)))
            outputs = outputs_of(model, tensors_of(arrays), asked, types)
            for place, (row, table) in enumerate(zip(rows, tables, strict=True)):
                last = int(outputs.last[place])
                kind = names.index(DOMAIN.operation(table.calls[last].operation).output)
                answers[row] = types[kind].show(outputs.result(types, place, last, kind)[0])
        predictions |= {question.key: answer for question, answer in zip(questions, answers, strict=True)}
        right += sum(answer == question.answer for question, answer in zip(questions, answers, strict=True))
        progress(len(predictions))
    return Answers(predictions, 100 * right / max(1, len(numbers)), {})


def answer_elsewhere(model: Model, source: Questions, numbers: NDArray[np.int64]) -> tuple[int, float | None]:
    """Answer each question about another picture: (number of questions to which the oracle has an answer, % of these
    that are correct, None if there are none)."""
    own = source.specification_numbers()[numbers]
    if len(np.unique(own)) == 1:
        return 0, None
    about = other_pictures(own)
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
    return known, 100 * right / known if known else None


Progress = Callable[[int], None]
Answering = Callable[[int, Question], str]
"""The answer to a question, by its number in the set."""


def oracle_answers(source: Questions, numbers: NDArray[np.int64], progress: Progress) -> Answers:
    """Answers of the oracle, which executes programs on scene graphs."""

    def answer(number: int, question: Question) -> str:
        return answer_of(execute(question.program, source.index.scene(question.image_id), source.ontology)) or ""

    return _each(answer, source, numbers, progress)


def symbolic_answers(
    form: Literal["strict", "majority", "repair"], source: Questions, numbers: NDArray[np.int64], progress: Progress
) -> Answers:
    """Answers of the detector's most likely labels. `strict`: none where a routine has no result; `majority`: then the
    most frequent answer of train to its kind of question; `repair`: a routine that finds nothing takes what is most
    likely it, and the most frequent answer is the last resort."""
    frequent = {} if form == "strict" else _frequent_answers(source)

    def answer(number: int, question: Question) -> str:
        found = answer_symbolically(question.program, source.detected(number), repair=form == "repair")
        return found or frequent.get(_last_operation(question), "")

    return _each(answer, source, numbers, progress)


def _each(answer: Answering, source: Questions, numbers: NDArray[np.int64], progress: Progress) -> Answers:
    predictions: dict[str, str] = {}
    right = 0
    for number in numbers.tolist():
        question = source.set.question(number)
        predictions[question.key] = answer(number, question)
        right += predictions[question.key] == question.answer
        progress(len(predictions))
    return Answers(predictions, 100 * right / max(1, len(numbers)), {})


def _frequent_answers(source: Questions) -> dict[str, str]:
    """Last operation -> its most frequent answer in a set of train."""
    name = next((name for name in source.index.sets if is_train(name)), None)
    if name is None:
        raise DataError(f"{source.index.folder}: there are no questions of train, whose answers would be the fallback")
    found = source.index.questions(name)
    counts: dict[str, Counter[str]] = {}
    last = np.asarray(found.columns["operation"])[np.asarray(found.columns["routine"][1:]) - 1]
    for operation, answer in zip(last.tolist(), np.asarray(found.columns["answer"]).tolist(), strict=True):
        if answer != NOTHING:
            counts.setdefault(DOMAIN.operations[operation].name, Counter())[source.index.answers[answer]] += 1
    return {operation: each.most_common(1)[0][0] for operation, each in counts.items()}


def _last_operation(question: Question) -> str:
    return flatten(question.program.body)[-1].operation


def right_by_picture(questions: Mapping[str, Question], predictions: Mapping[str, str]) -> dict[str, list[int]]:
    """Right answers and questions of every picture, in the order of their ids."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for key, question in questions.items():
        if question.answer is not None:
            asked[question.image_id] += 1
            right[question.image_id] += predictions[key] == question.answer
    return {"right": [right[image] for image in sorted(asked)], "asked": [asked[image] for image in sorted(asked)]}
