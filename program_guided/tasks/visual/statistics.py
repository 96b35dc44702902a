"""Statistics of a set of questions, and the accuracy of guessing without the picture.

Departures from the paper: it does not report how well its programs alone predict answers.

    describe(train, test)["blind_prior"]["whole program"]        percent of test answers
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeVar

from program_guided.language.syntax import Call, Program, flatten
from program_guided.tasks.visual.domain import row_of
from program_guided.tasks.visual.metrics import step_count
from program_guided.tasks.visual.release.reading import Question

__all__ = ["BLIND_VIEWS", "blind_prior", "describe"]

T = TypeVar("T")
View = Callable[[Program], Hashable]

FREQUENT_ANSWERS = 20
"""Number of the most frequent answers of train that are counted in train and test."""


def _last(program: Program) -> Call:
    return flatten(program.body)[-1]


BLIND_VIEWS: dict[str, View] = {
    "majority": lambda program: None,
    "last operation": lambda program: _last(program).operation,
    "last routine": lambda program: (_last(program).operation, _last(program).words),
    "all operations": lambda program: tuple(call.operation for call in flatten(program.body)),
    "whole program": lambda program: program,
}
"""Features of a program that the answer is guessed from; where train lacks the value, by the last routine, by its
operation, then by majority."""


def describe(train: Iterable[Question] | None, test: Iterable[Question] | None) -> dict[str, Any]:
    """Statistics of two sets of balanced questions, and the blind prior fitted to train and tested on test; of one set
    alone, its statistics.

    Each set is iterated over once and not kept in memory: train may have a million questions.
    """
    priors = {name: _Prior(view) for name, view in BLIND_VIEWS.items()}
    counts = {"train": _Counts(), "test": _Counts()}
    for question in _balanced(train or ()):
        counts["train"].add(question)
        for prior in priors.values():
            prior.learn(question)
    unseen = 0
    for question in _balanced(test or ()):
        counts["test"].add(question)
        unseen += str(question.answer) not in counts["train"].answers
        for prior in priors.values():
            prior.test(question)
    given = [name for name, questions in (("train", train), ("test", test)) if questions is not None]
    answers = list(_by_frequency(counts[given[0]].answers))[:FREQUENT_ANSWERS]
    figures: dict[str, Any] = {name: counts[name].report(answers) for name in given}
    if len(given) == len(counts):
        figures["blind_prior"] = {name: prior.percent() for name, prior in priors.items()}
        figures["unseen_answers"] = 100 * unseen / max(1, counts["test"].answers.total())
    return figures


def blind_prior(train: Iterable[Question], test: Iterable[Question], view: View) -> float:
    """Percent of answers guessed correctly: the most frequent answer of train to questions with the same features."""
    prior = _Prior(view)
    for question in train:
        prior.learn(question)
    for question in test:
        prior.test(question)
    return prior.percent()


def _balanced(questions: Iterable[Question]) -> Iterator[Question]:
    """Balanced questions with a program and an answer; the release's test files have neither."""
    return (each for each in questions if each.is_balanced and each.has_program and each.answer is not None)


def _by_frequency(counts: Counter[T]) -> dict[T, int]:
    """Counts in descending order, ties in their order of insertion."""
    return dict(sorted(counts.items(), key=itemgetter(1), reverse=True))


class _Prior:
    """Predicts the most frequent answer to questions with the same features."""

    def __init__(self, view: View) -> None:
        fallbacks = [BLIND_VIEWS[name] for name in ("last routine", "last operation", "majority")]
        start = fallbacks.index(view) + 1 if view in fallbacks else 0
        self._views = (view, *fallbacks[start:])
        self._votes: list[defaultdict[int, Counter[str]]] = [defaultdict(Counter) for _ in self._views]
        self._tested = self._right = 0

    def learn(self, question: Question) -> None:
        for view, votes in zip(self._views, self._votes, strict=True):
            votes[hash(view(question.program))][str(question.answer)] += 1

    def test(self, question: Question) -> None:
        self._tested += 1
        self._right += self._guess(question.program) == question.answer

    def percent(self) -> float:
        return 100 * self._right / max(1, self._tested)

    def _guess(self, program: Program) -> str | None:
        for view, votes in zip(self._views, self._votes, strict=True):
            answers = votes.get(hash(view(program)))
            if answers is not None:
                return max(answers, key=answers.__getitem__)
        return None


class _Counts:
    """Counts over a set of questions."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self._images: set[str] = set()
        self._programs: set[int] = set()
        self._counts: defaultdict[str, Counter[Any]] = defaultdict(Counter)

    def add(self, question: Question) -> None:
        self.answers[str(question.answer)] += 1
        self._images.add(question.image_id)
        self._programs.add(hash(question.program))
        for call in flatten(question.program.body):
            self._counts["operations"][call.operation] += 1
            self._counts["families"][row_of(call)[0].family] += 1
        for name, value in (("structural", question.structural), ("semantic", question.semantic_type)):
            self._counts[name][value] += value is not None
        self._counts["steps"][step_count(question) or 0] += 1

    def report(self, answers: Iterable[str]) -> dict[str, Any]:
        """Counts as a dictionary; of the answers, only these."""
        frequent = {
            name: {value: count for value, count in _by_frequency(self._counts[name]).items() if count}
            for name in ("families", "operations", "structural", "semantic")
        }
        return {
            "questions": self.answers.total(),
            "images": len(self._images),
            "programs": len(self._programs),
            "answers": len(self.answers),
            "frequent_answers": {answer: self.answers[answer] for answer in answers},
            **frequent,
            "steps": dict(sorted(self._counts["steps"].items())),
        }
