"""Weak labels: the words that questions and their answers imply of pictures, and their prediction for other pictures.

Departures from the paper: it has detected objects. Here there are no labels of positions; but an answered question
implies words that are true of its picture ("What is on the ham?" "mustard": ham and mustard). Ridge regression, in
closed form, from a pretrained network's features of a picture to these words gives the evidence for a word: the log
ratio of its predicted weight to its mean weight. Pictures of train must have the same distribution of evidence as
pictures without labels, so theirs is predicted from the labels of other pictures (cross-fitting).

    labels = WeakLabels.of(programs, answers, pictures, count)
    evidence = predict(views, labels, labelled, random)       # (pictures, words, KINDS)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Call
from program_guided.tasks.visual.domain import row_of
from program_guided.tasks.visual.features import ObjectFeatures

__all__ = ["KINDS", "TRUST", "Views", "WeakLabels", "implied_words", "predict", "singular"]

Floats = NDArray[np.float64]

KINDS = 3
"""Kinds of evidence for a word: predicted from weak labels, by the names of classes, and the difference of the first
between the right and the left half of the picture."""
TRUST = (0.2, 0.4)
"""Initial weights of the first kinds as evidence for answers. By Bayes' rule these would be 1, but the answer prior has
a part of the same information."""
STRENGTH = 1.0
"""Strength of ridge regression; a group of descriptors has a mean square of 1."""
PARTS = 8
"""Number of folds for cross-fitting."""
LABEL_SMOOTHING, CLASS_SMOOTHING = 0.003, 0.001
"""Added to the weights of words, and to probabilities of classes, before their ratio is taken."""
MIN_RATIO = 0.1
"""Minimum of the ratio of a word's predicted weight to its mean."""
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
    weights: Floats
    """(pictures, words) log(1 + n) for a word that n questions imply"""

    @classmethod
    def of(
        cls, programs: Sequence[Sequence[Call]], answers: Sequence[str], pictures: NDArray[np.int64], count: int
    ) -> WeakLabels:
        """Labels of `count` pictures by answered questions; `pictures` are those that the questions are about."""
        implied = [
            (picture, singular(word))
            for program, answer, picture in zip(programs, answers, pictures.tolist(), strict=True)
            for word in implied_words(program, answer)
        ]
        numbers = {word: number for number, word in enumerate(sorted({word for _, word in implied}))}
        counts = np.zeros((count, len(numbers)))
        for picture, word in implied:
            counts[picture, numbers[word]] += 1
        return cls(tuple(numbers), np.log1p(counts))

    def rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Rows of these words in the evidence; words without labels have the last row."""
        numbers = {word: number for number, word in enumerate(self.words)}
        return np.array([numbers.get(singular(word), len(self.words)) for word in words], np.int64)


@dataclass(frozen=True)
class Views:
    """Features of whole pictures, of their left halves and of their right halves, by a pretrained network."""

    groups: tuple[Floats, ...]
    """Descriptors of each kind, (pictures, 3, dimension)"""
    classes: Floats
    """(pictures, classes) probabilities, mean over cells; no classes without a classifier"""
    class_names: tuple[str, ...]

    @classmethod
    def read(cls, features: ObjectFeatures, images: Sequence[str]) -> Views:
        """Read the views of the pictures with these ids."""
        names = features.class_names() if features.classifies else ()
        found = [_views(features, image) for image in images]
        groups = tuple(np.stack(group) for group in zip(*(each for each, _ in found), strict=True))
        return cls(groups, np.stack([each for _, each in found]), names)

    def similarity(self, labelled: NDArray[np.int64]) -> Floats:
        """(3, pictures, labelled) dot products of standardised descriptors with those of the labelled pictures."""
        total = np.zeros((3, len(self.classes), len(labelled)))
        for group in self.groups:
            mean, deviation = group[labelled, 0].mean(axis=0), group[labelled, 0].std(axis=0) + 1e-6
            scaled = (group - mean) / deviation / np.sqrt(group.shape[2])
            total += np.einsum("pvn,tn->vpt", scaled, scaled[labelled, 0], optimize=True)
        return total / len(self.groups)


def _views(features: ObjectFeatures, image: str) -> tuple[list[Floats], Floats]:
    """(descriptors of each kind (3, dimension), class probabilities) of a picture."""
    detected = features.read(image, max_detected=1_000_000)
    centres = (detected.boxes[:, 0] + detected.boxes[:, 2]) / 2
    sides = [np.ones(len(centres), np.bool_), centres < detected.width / 2, centres >= detected.width / 2]
    sides = [side if side.any() else sides[0] for side in sides]  # an empty half: the whole picture
    cells = [detected.features[side].astype(np.float64) for side in sides]
    groups = [np.stack([_root(each.mean(axis=0), 2) for each in cells])]
    groups.append(np.stack([_root((each**3).mean(axis=0), 3) for each in cells]))
    if not features.classifies:
        return groups, np.zeros(0)
    weights, bias = features.classifier()
    logits = (detected.features @ weights.T + bias).astype(np.float64)
    log_probabilities = _log_softmax(logits)
    logs = [log_probabilities[side] for side in sides]
    groups.append(np.stack([_log_softmax(np.asarray(logits[side].mean(axis=0))) for side in sides]))
    groups.append(np.stack([each.max(axis=0) for each in logs]))
    groups.append(np.stack([np.sqrt(np.exp(each).mean(axis=0)) for each in logs]))
    return groups, np.exp(log_probabilities).mean(axis=0)


def _root(values: Floats, degree: int) -> Floats:
    return np.asarray(np.sign(values) * np.abs(values) ** (1 / degree))


def _log_softmax(scores: Floats) -> Floats:
    """Log-softmax over the last axis."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))


def predict(
    views: Views, labels: WeakLabels, labelled: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float32]:
    """(pictures, words + 1, KINDS) evidence for words in pictures; 0 in the last row, for words without labels.

    Only the labels of the `labelled` pictures are used, and not for the evidence of the same picture.
    """
    evidence = np.zeros((len(views.classes), len(labels.words) + 1, KINDS), np.float32)
    similarity, weights = views.similarity(labelled), labels.weights[labelled]
    others = np.setdiff1d(np.arange(len(views.classes)), labelled)
    part = random.permutation(len(labelled)) % PARTS
    tasks = [(others, np.ones(len(labelled), np.bool_))]
    tasks += [(labelled[part == number], part != number) for number in range(min(PARTS, len(labelled)))]
    for predicted, known in tasks:
        kernel = similarity[0][np.ix_(labelled[known], known)]
        whole, left, right = _log_ratios(similarity[:, predicted], kernel, weights, known)
        evidence[predicted, :-1, 0] = whole
        evidence[predicted, :-1, 2] = right - left
    evidence[:, :-1, 1] = _class_evidence(views, labels.words, labelled)
    return evidence


def _log_ratios(similarity: Floats, kernel: Floats, labels: Floats, known: NDArray[np.bool_]) -> Floats:
    """(3, predicted, words) evidence by kernel ridge regression: `similarity` (3, predicted, labelled) to the labelled
    pictures, `kernel` among those that are `known`."""
    mean = labels[known].mean(axis=0)
    weights = np.linalg.solve(kernel + STRENGTH * np.eye(len(kernel)), labels[known] - mean)
    expected = np.maximum(mean + similarity[:, :, known] @ weights, MIN_RATIO * mean)
    return np.asarray(np.log((expected + LABEL_SMOOTHING) / (mean + LABEL_SMOOTHING)))


def _class_evidence(views: Views, words: Sequence[str], labelled: NDArray[np.int64]) -> Floats:
    """(pictures, words) evidence by the probabilities of the classes whose name is the word."""
    numbers = {word: number for number, word in enumerate(words)}
    names = np.zeros((len(words), len(views.class_names)))
    for number, synonyms in enumerate(views.class_names):
        for synonym in synonyms.split(","):
            name = singular(synonym.strip())
            for word in {name, name.rpartition(" ")[2]} & numbers.keys():
                names[numbers[word], number] = 1.0
    probabilities = views.classes @ names.T
    mean = probabilities[labelled].mean(axis=0)
    return np.asarray(np.log((probabilities + CLASS_SMOOTHING) / (mean + CLASS_SMOOTHING)))
