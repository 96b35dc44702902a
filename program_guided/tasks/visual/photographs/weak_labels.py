"""Weak labels: the words that questions and their answers imply of pictures; and features of whole pictures.

Departures from the paper: it has detected objects. Here there are no labels of positions; but an answered question
implies words that are true of its picture ("What is on the ham?" "mustard": ham and mustard), and some that are not.
Where in the picture they are true is learned by `part_words.py`.

    labels = WeakLabels.of(programs, answers, pictures, count)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Call
from program_guided.tasks.visual.domain import row_of
from program_guided.tasks.visual.features import ObjectFeatures

__all__ = ["Views", "WeakLabels", "denied_words", "implied_words", "singular"]

Floats = NDArray[np.float64]

IRREGULAR = {
    "children": "child",
    "knives": "knife",
    "leaves": "leaf",
    "loaves": "loaf",
    "men": "man",
    "people": "person",
    "shelves": "shelf",
    "women": "woman",
}
BOOLEAN_ANSWERS = ("yes", "no")
SINGULAR_IN_S = ("glasses", "jeans", "pants", "shorts", "tennis", "bus", "sunglasses", "scissors")


def singular(word: str) -> str:
    """The singular of a noun phrase: `chairs` -> `chair`."""
    front, _, last = word.lower().rpartition(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif last in SINGULAR_IN_S or last.endswith("ss") or len(last) < 4:
        pass
    elif last.endswith("ies"):
        last = f"{last[:-3]}y"
    elif last.endswith(("shes", "ches", "xes", "sses", "uses")):
        last = last[:-2]
    elif last.endswith("s"):
        last = last[:-1]
    return f"{front} {last}".strip()


def implied_words(routines: Sequence[Call], answer: str) -> Iterator[str]:
    """Words that are true of a picture, implied by an answered question about it."""
    last = routines[-1]
    if answer in BOOLEAN_ANSWERS:
        yield from _boolean_words(routines, len(routines) - 1, answer == "yes")
        return
    for parent in last.inputs:
        yield from _object_words(routines, parent)
    if row_of(last)[0].family in ("query", "choose"):
        yield answer


def denied_words(routines: Sequence[Call], answer: str) -> Iterator[str]:
    """Words that are true of no part of a picture, implied by an answered question about it."""
    last = routines[-1]
    row, words = row_of(last)
    if row.family == "exist" and answer == "no" and row_of(routines[last.inputs[0]])[0].family == "select":
        yield from _word(routines[last.inputs[0]])
    elif row.family == "choose" and row.form.options is not None and not row.form.has_role:
        yield from (str(word) for word in words if str(word) != answer)


def _object_words(routines: Sequence[Call], routine: int) -> Iterator[str]:
    """Words of a routine whose result is not empty, and of its ancestors."""
    call = routines[routine]
    for parent in call.inputs:
        yield from _object_words(routines, parent)
    yield from _word(call)


def _boolean_words(routines: Sequence[Call], routine: int, value: bool | None) -> Iterator[str]:
    """Words implied by a Boolean routine; `value` None: its result is not known."""
    call, family = routines[routine], row_of(routines[routine])[0].family
    if family in ("and", "or"):
        known = value if value is (family == "and") else None
        for parent in call.inputs:
            yield from _boolean_words(routines, parent, known)
        return
    # The input of `exist` may be empty; its parents, and the inputs of other operations, are not.
    existing = routines[call.inputs[0]].inputs if family == "exist" and not value else call.inputs
    for parent in existing:
        yield from _object_words(routines, parent)
    if family == "verify" and value:
        yield from _word(call)


def _word(call: Call) -> Iterator[str]:
    """The first word of a routine; none if it is a placeholder or negated."""
    word = str(call.words[0])
    if word not in ("_", "scene") and not word.startswith("not("):
        yield word


@dataclass(frozen=True)
class WeakLabels:
    """Weak labels of pictures: words that are true of them."""

    words: tuple[str, ...]
    """Words in the singular."""
    implied: Floats
    """(pictures, words) number of questions that imply a word"""
    denied: Floats
    """(pictures, words) number of questions that deny it"""

    @classmethod
    def of(
        cls, programs: Sequence[Sequence[Call]], answers: Sequence[str], pictures: NDArray[np.int64], count: int
    ) -> WeakLabels:
        """Labels of `count` pictures by answered questions; `pictures` are those that the questions are about."""
        found = [
            [
                (picture, singular(word))
                for program, answer, picture in zip(programs, answers, pictures.tolist(), strict=True)
                for word in words(program, answer)
            ]
            for words in (implied_words, denied_words)
        ]
        numbers = {word: number for number, word in enumerate(sorted({word for _, word in found[0]}))}
        counts = np.zeros((2, count, len(numbers)))
        for kind, pairs in enumerate(found):
            for picture, word in pairs:
                if word in numbers:
                    counts[kind, picture, numbers[word]] += 1
        return cls(tuple(numbers), *counts)

    def rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Rows of these words in the evidence; words without labels have the last row."""
        numbers = {word: number for number, word in enumerate(self.words)}
        return np.array([numbers.get(singular(word), len(self.words)) for word in words], np.int64)


@dataclass(frozen=True)
class Views:
    """Features of whole pictures, of their left halves and of their right halves, by a pretrained network."""

    groups: tuple[Floats, ...]
    """Descriptors of each kind, (pictures, 3, dimension)"""

    @classmethod
    def read(cls, features: ObjectFeatures, images: Sequence[str]) -> Views:
        """Read the views of the pictures with these ids."""
        found = [_views(features, image) for image in images]
        return cls(tuple(np.stack(group) for group in zip(*found, strict=True)))

    def __len__(self) -> int:
        return len(self.groups[0])

    def similarity(self, labelled: NDArray[np.int64]) -> Floats:
        """(3, pictures, labelled) dot products of standardised descriptors with those of the labelled pictures."""
        total = np.zeros((3, len(self), len(labelled)))
        for group in self.groups:
            mean, deviation = group[labelled, 0].mean(axis=0), group[labelled, 0].std(axis=0) + 1e-6
            scaled = (group - mean) / deviation / np.sqrt(group.shape[2])
            total += np.einsum("pvn,tn->vpt", scaled, scaled[labelled, 0], optimize=True)
        return total / len(self.groups)


def _views(features: ObjectFeatures, image: str) -> list[Floats]:
    """Descriptors of each kind, (3, dimension), of a picture."""
    detected = features.read(image, max_detected=1_000_000)
    centres = (detected.boxes[:, 0] + detected.boxes[:, 2]) / 2
    sides = [np.ones(len(centres), np.bool_), centres < detected.width / 2, centres >= detected.width / 2]
    sides = [side if side.any() else sides[0] for side in sides]  # an empty half: the whole picture
    cells = [detected.features[side].astype(np.float64) for side in sides]
    groups = [np.stack([_root(each.mean(axis=0), 2) for each in cells])]
    groups.append(np.stack([_root((each**3).mean(axis=0), 3) for each in cells]))
    if not features.classifies:
        return groups
    weights, bias = features.classifier()
    logits = (detected.features @ weights.T + bias).astype(np.float64)
    log_probabilities = _log_softmax(logits)
    logs = [log_probabilities[side] for side in sides]
    groups.append(np.stack([_log_softmax(np.asarray(logits[side].mean(axis=0))) for side in sides]))
    groups.append(np.stack([each.max(axis=0) for each in logs]))
    groups.append(np.stack([np.sqrt(np.exp(each).mean(axis=0)) for each in logs]))
    return groups


def _root(values: Floats, degree: int) -> Floats:
    return np.asarray(np.sign(values) * np.abs(values) ** (1 / degree))


def _log_softmax(scores: Floats) -> Floats:
    """Log-softmax over the last axis."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))
