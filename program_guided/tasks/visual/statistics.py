"""What a set of questions is like, and how far one gets without looking at the picture.

Departures from the paper: it does not say how well its programs alone predict answers.

    describe(train, test)["blind_prior"]["whole program"]        percent of test answers
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from program_guided.language.syntax import Call, Program, calls
from program_guided.tasks.visual.domain import ROWS
from program_guided.tasks.visual.metrics import step_count
from program_guided.tasks.visual.release import Question

__all__ = ["BLIND_VIEWS", "blind_prior", "describe"]

View = Callable[[Program], Hashable]

SHOWN_ANSWERS = 20
"""How many of the most frequent answers of train are counted on both sides."""


def _last(program: Program) -> Call:
    return tuple(calls(program.body))[-1]


BLIND_VIEWS: dict[str, View] = {
    "majority": lambda program: None,
    "last operation": lambda program: _last(program).operation,
    "last routine": lambda program: (_last(program).operation, _last(program).words),
    "all operations": lambda program: tuple(call.operation for call in calls(program.body)),
    "whole program": lambda program: program,
}
"""What a guesser looks at; what it has never seen it guesses by the last routine, its operation, then by majority."""


def describe(train: Iterable[Question], test: Iterable[Question]) -> dict[str, Any]:
    """Figures of two sets of balanced questions, and the blind prior learned on one and tried on the other.

    Each is gone through once and never held: train may have a million.
    """
    priors = {name: _Prior(view) for name, view in BLIND_VIEWS.items()}
    learned, tried = _Figures(), _Figures()
    for question in _balanced(train):
        learned.add(question)
        for prior in priors.values():
            prior.learn(question)
    unseen = 0
    for question in _balanced(test):
        tried.add(question)
        unseen += str(question.answer) not in learned.answers
        for prior in priors.values():
            prior.test(question)
    answers = [answer for answer, _ in learned.answers.most_common(SHOWN_ANSWERS)]
    return {
        "train": learned.report(answers),
        "test": tried.report(answers),
        "blind_prior": {name: prior.percent() for name, prior in priors.items()},
        "unseen_answers": 100 * unseen / max(1, tried.answers.total()),
    }


def blind_prior(train: Iterable[Question], test: Iterable[Question], view: View) -> float:
    """Percent of answers guessed by the most frequent one among the training questions that look the same."""
    prior = _Prior(view)
    for question in train:
        prior.learn(question)
    for question in test:
        prior.test(question)
    return prior.percent()


def _balanced(questions: Iterable[Question]) -> Iterator[Question]:
    """Those that are measured; one without a program or an answer, as in the release's test files, is not."""
    return (each for each in questions if each.is_balanced and each.semantic is not None and each.answer is not None)


class _Prior:
    """Answers by what was answered before to questions that look the same."""

    def __init__(self, view: View) -> None:
        fallbacks = [BLIND_VIEWS[name] for name in ("last routine", "last operation", "majority")]
        start = fallbacks.index(view) + 1 if view in fallbacks else 0
        self._views = (view, *fallbacks[start:])
        self._votes: list[defaultdict[int, Counter[str]]] = [defaultdict(Counter) for _ in self._views]
        self._tried = self._right = 0

    def learn(self, question: Question) -> None:
        for view, votes in zip(self._views, self._votes, strict=True):
            votes[hash(view(question.program))][str(question.answer)] += 1

    def test(self, question: Question) -> None:
        self._tried += 1
        self._right += self._guess(question.program) == question.answer

    def percent(self) -> float:
        return 100 * self._right / max(1, self._tried)

    def _guess(self, program: Program) -> str | None:
        for view, votes in zip(self._views, self._votes, strict=True):
            given = votes.get(hash(view(program)))
            if given is not None:
                return max(given, key=given.__getitem__)
        return None


class _Figures:
    """Counts of a set of questions."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self._images: set[str] = set()
        self._programs: set[int] = set()
        self._counts: defaultdict[str, Counter[Any]] = defaultdict(Counter)

    def add(self, question: Question) -> None:
        self.answers[str(question.answer)] += 1
        self._images.add(question.image_id)
        self._programs.add(hash(question.program))
        for call in calls(question.program.body):
            self._counts["operations"][call.operation] += 1
            self._counts["families"][ROWS[call.operation].family] += 1
        for name, value in (("structural", question.structural), ("semantic", question.semantic_type)):
            self._counts[name][value] += value is not None
        self._counts["steps"][step_count(question) or 0] += 1

    def report(self, answers: Iterable[str]) -> dict[str, Any]:
        """All counts; of the answers, those that are asked for."""
        frequent = {
            name: {value: count for value, count in self._counts[name].most_common() if count}
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
