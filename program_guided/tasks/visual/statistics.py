"""What a set of questions is like, and how far one gets without looking at the picture.

Departures from the paper: it does not say how well its programs alone predict answers.

    describe(train, test)["blind_prior"]["whole program"]        percent of test answers
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from program_guided.language.syntax import Call, Program, calls
from program_guided.tasks.visual.domain import ROWS
from program_guided.tasks.visual.metrics import step_count
from program_guided.tasks.visual.release import Question

__all__ = ["BLIND_VIEWS", "blind_prior", "describe"]

View = Callable[[Program], Hashable]


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
    """Figures of two sets of balanced questions, and the blind prior learned on one and tried on the other."""
    learned, tried = ([each for each in questions if each.is_balanced] for questions in (train, test))
    return {
        "train": _figures(learned),
        "test": _figures(tried),
        "blind_prior": {name: blind_prior(learned, tried, view) for name, view in BLIND_VIEWS.items()},
        "unseen_answers": _share(each.answer not in {other.answer for other in learned} for each in tried),
    }


def blind_prior(train: Sequence[Question], test: Sequence[Question], view: View) -> float:
    """Percent of answers guessed by the most frequent one among the training questions that look the same."""
    views = (view, *(BLIND_VIEWS[name] for name in ("last routine", "last operation", "majority")))
    votes: list[defaultdict[Hashable, Counter[str]]] = [defaultdict(Counter) for _ in views]
    for question in train:
        for each, given in zip(views, votes, strict=True):
            given[each(question.program)][str(question.answer)] += 1
    guesses = [{key: given.most_common(1)[0][0] for key, given in each.items()} for each in votes]

    def guess(program: Program) -> str | None:
        start = views.index(view, 1) if view in views[1:] else 0
        known = zip(views[start:], guesses[start:], strict=True)
        return next((answers[key] for each, answers in known if (key := each(program)) in answers), None)

    return _share(guess(question.program) == question.answer for question in test)


def _figures(questions: Sequence[Question]) -> dict[str, Any]:
    answers = Counter(str(question.answer) for question in questions)
    families = Counter(ROWS[call.operation].family for each in questions for call in calls(each.program.body))
    return {
        "questions": len(questions),
        "images": len({question.image_id for question in questions}),
        "programs": len({question.program for question in questions}),
        "answers": len(answers),
        "frequent_answers": dict(answers.most_common(20)),
        "families": dict(families.most_common()),
        "structural": dict(Counter(question.structural for question in questions if question.structural).most_common()),
        "semantic": dict(Counter(each.semantic_type for each in questions if each.semantic_type).most_common()),
        "steps": dict(sorted(Counter(step_count(question) or 0 for question in questions).items())),
    }


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return 100 * sum(listed) / len(listed) if listed else 0.0
