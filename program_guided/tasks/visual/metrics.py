"""The release's measures of answers, by its own definitions: balanced questions only, exact match, in percent.

Departures from the paper: its Table 1 does not add up (binary and open, weighted by their shares, do not give its
accuracy); here everything is computed from the predictions. Lower is better for `distribution` alone.

    scores = evaluate(questions, {"201640614": "women", ...}, choices)
    scores["accuracy"], scores["structural"]["query"], scores["consistency"]
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from program_guided.errors import DataError, quote
from program_guided.language.syntax import flatten
from program_guided.tasks.visual.domain import row_of
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.release.reading import Choices, Question

__all__ = ["Cell", "evaluate", "grid_cells", "grounding", "lacks_choices", "step_count"]

COMMON_ANSWERS = frozenset({"color", "material", "shape"})
NOT_A_STEP = ("exist", "query: name", "choose name")
OPEN = "query"

Scores = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A cell of a picture, corners as shares of its sides, and the attention on it."""

    x1: float
    y1: float
    x2: float
    y2: float
    attention: float


def evaluate(
    questions: Mapping[str, Question],
    predictions: Mapping[str, str],
    choices: Mapping[str, Choices] | None = None,
    skip_bad: bool = False,
) -> Scores:
    """Scores of a set of predictions; consistency needs the questions of the "all" file, entailed ones included.

    Of a set without answers, only validity and plausibility are scored. With `skip_bad`, questions without choices are
    left out of these two.
    """
    balanced = [question for question in questions.values() if question.is_balanced]
    if not balanced:
        raise DataError("there is no balanced question to evaluate on")
    answered = balanced if any(question.answer is not None for question in balanced) else []
    right = {question.key: _right(question, predictions) for question in answered}
    chosen = [each for each in balanced if not lacks_choices(each, choices or {})] if skip_bad else balanced
    return {
        "questions": len(balanced),
        "accuracy": _percent(right.values()),
        "binary": _percent(right[each.key] for each in answered if each.structural not in (OPEN, None)),
        "open": _percent(right[each.key] for each in answered if each.structural == OPEN),
        "consistency": _consistency(answered, questions, predictions, right),
        "validity": _belonging(chosen, predictions, choices, lambda each: each.valid),
        "plausibility": _belonging(chosen, predictions, choices, lambda each: each.plausible),
        "distribution": _distribution(answered, predictions),
        "structural": _by(answered, right, lambda each: each.structural),
        "semantic": _by(answered, right, lambda each: each.semantic_type),
        "words": _by(answered, right, lambda each: len(each.text.split())),
        "steps": _by(answered, right, step_count),
    }


def lacks_choices(question: Question, choices: Mapping[str, Choices]) -> bool:
    """True if validity and plausibility of an answer are not known."""
    return question.key not in choices and not _is_common(question)


def step_count(question: Question) -> int | None:
    """Number of reasoning steps, as the release counts them; None without a program."""
    if not question.has_program:
        return None
    rows = map(row_of, flatten(question.program.body))
    texts = (f"{row.release_name}: {row.form.spell(words)}" for row, words in rows)
    return sum(not any(part in text for part in NOT_A_STEP) for text in texts)


def grounding(
    questions: Iterable[Question], attention: Mapping[str, Sequence[Cell]], scenes: Mapping[str, Scene]
) -> float | None:
    """Mean attention on the regions that question and full answer refer to, in %; a region referred to twice counts
    twice."""
    balanced = (question for question in questions if question.is_balanced)
    shares = [
        sum(cell.attention * _covered(cell, region) for region in _regions(question, scenes) for cell in cells)
        for question in balanced
        if (cells := attention.get(question.key)) is not None
    ]
    return _percent(shares)


def grid_cells(attention: Sequence[Sequence[float]]) -> list[Cell]:
    """The cells of a square attention map; its first index runs along x, as in the release."""
    edge = 1 / len(attention)
    return [
        Cell(column * edge, row * edge, (column + 1) * edge, (row + 1) * edge, weight)
        for column, weights in enumerate(attention)
        for row, weight in enumerate(weights)
    ]


def _percent(values: Iterable[float]) -> float | None:
    """Mean times a hundred; None if there are no values."""
    listed = list(values)
    return 100 * sum(listed) / len(listed) if listed else None


def _predicted(key: str, predictions: Mapping[str, str]) -> str:
    if key not in predictions:
        raise DataError(f"there is no prediction for question {quote(key)}")
    return predictions[key]


def _right(question: Question, predictions: Mapping[str, str]) -> bool:
    if question.answer is None:
        raise DataError(f"question {quote(question.key)} has no answer: it cannot be scored")
    return _predicted(question.key, predictions) == question.answer


def _by(
    questions: Iterable[Question], right: Mapping[str, bool], read: Callable[[Question], str | int | None]
) -> dict[str, float | None]:
    groups: defaultdict[str | int, list[bool]] = defaultdict(list)
    for question in questions:
        value = read(question)
        if value is not None:
            groups[value].append(right[question.key])
    return {
        str(value): _percent(groups[value]) for value in sorted(groups, key=lambda value: (str(type(value)), value))
    }


def _consistency(
    balanced: Iterable[Question],
    questions: Mapping[str, Question],
    predictions: Mapping[str, str],
    right: Mapping[str, bool],
) -> float | None:
    """Share of the entailed questions answered correctly, a mean over the questions answered correctly.

    The release's "all" files hold every entailed question; questions absent from smaller files are skipped.
    """
    means: list[float] = []
    for question in balanced:
        entailed = [questions[key] for key in question.entailed if key != question.key and key in questions]
        if right[question.key] and entailed:
            means.append(sum(_right(other, predictions) for other in entailed) / len(entailed))
    return _percent(means)


def _belonging(
    balanced: Iterable[Question],
    predictions: Mapping[str, str],
    choices: Mapping[str, Choices] | None,
    read: Callable[[Choices], frozenset[str]],
) -> float | None:
    if choices is None:
        return None
    return _percent(_predicted(each.key, predictions) in _allowed(each, choices, read) for each in balanced)


def _allowed(
    question: Question, choices: Mapping[str, Choices], read: Callable[[Choices], frozenset[str]]
) -> frozenset[str]:
    if _is_common(question):
        return COMMON_ANSWERS
    if lacks_choices(question, choices):
        raise DataError(f"there are no choices for question {quote(question.key)}")
    return read(choices[question.key])


def _is_common(question: Question) -> bool:
    return "Common" in (question.detailed or "")


def _distribution(balanced: Iterable[Question], predictions: Mapping[str, str]) -> float | None:
    """Chi-square of predicted against true answers in each global group, a mean weighted by group size."""
    gold: defaultdict[str, Counter[str]] = defaultdict(Counter)
    predicted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question in balanced:
        if question.global_group is not None:
            gold[question.global_group][str(question.answer)] += 1
            predicted[question.global_group][_predicted(question.key, predictions)] += 1
    sizes = {group: counts.total() for group, counts in gold.items()}
    if not sizes:
        return None
    squares = {
        group: sum((predicted[group][answer] - count) ** 2 / count for answer, count in counts.items())
        for group, counts in gold.items()
    }
    return sum(squares[group] * size for group, size in sizes.items()) / sum(sizes.values()) / 100


def _regions(question: Question, scenes: Mapping[str, Scene]) -> list[tuple[float, float, float, float]]:
    """Boxes as shares of the picture; the whole picture too if the question selects the scene."""
    annotations = question.grounding or {}
    ids = [key for part in ("question", "fullAnswer") for key in annotations.get(part, {}).values()]
    scene = scenes.get(question.image_id)
    if scene is None:
        raise DataError(f"there is no scene graph of image {quote(question.image_id)}")
    regions = [_region(scene, key) for key in ids]
    routines = flatten(question.program.body) if question.has_program else ()
    whole = any(call.operation == "select" and call.words == ("scene",) for call in routines)
    return [*regions, (0.0, 0.0, 1.0, 1.0)] if whole else regions


def _region(scene: Scene, key: str) -> tuple[float, float, float, float]:
    if key not in scene.objects:
        raise DataError(f"image {quote(scene.image_id)} has no object {quote(key)}")
    x1, y1, x2, y2 = scene.objects[key].box.corners
    return x1 / scene.width, y1 / scene.height, x2 / scene.width, y2 / scene.height


def _covered(cell: Cell, region: tuple[float, float, float, float]) -> float:
    """Share of a cell's area inside a region."""
    wide = min(cell.x2, region[2]) - max(cell.x1, region[0])
    high = min(cell.y2, region[3]) - max(cell.y1, region[1])
    area = (cell.x2 - cell.x1) * (cell.y2 - cell.y1)
    return wide * high / area if wide > 0 and high > 0 else 0.0
