"""What questions and their answers say of pictures, and what can be foretold of pictures nobody has asked about.

Departures from the paper: it has detected objects. Here nobody says where anything is; but a question that was
answered says which words are true of its picture ("What is on the ham?" "mustard": ham and mustard).
Ridge regression, in closed form, from what a pretrained network sees in a picture to these words, gives the evidence
of a word: the logarithm of how many times likelier it is than usual. A picture to learn from must look like one that
nobody has asked about, so its evidence comes from the questions about the others (cross-fitting).

    said = Said.of(programs, answers, pictures, count)
    evidence = foretell(views, said, told, random)       # (pictures, words, KINDS)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Call
from program_guided.tasks.visual.domain import ROWS
from program_guided.tasks.visual.features import ObjectFeatures

__all__ = ["KINDS", "TRUST", "Said", "Views", "foretell", "singular", "statements"]

Floats = NDArray[np.float64]

KINDS = 3
"""Numbers of each word: evidence learned from train, evidence by the name of a class, and how much further right than
left it is seen."""
TRUST = (0.2, 0.4)
"""The first of them speak for answers too, and count so much before anything is learned. By Bayes' rule it would be 1,
but what questions alike were answered is known as well."""
STRENGTH = 1.0
"""Of ridge regression; a group of descriptors has a mean square of 1."""
PARTS = 8
"""Parts of the pictures for cross-fitting."""
RARE, FAINT = 0.003, 0.001
"""Added to what is usual, and to probabilities, before they are compared."""
LEAST = 0.1
"""Evidence never makes a word less likely than this, times what is usual."""
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
TRUTHS = ("yes", "no")
SINGULAR_IN_S = ("glasses", "jeans", "pants", "shorts", "tennis", "bus", "sunglasses", "scissors")


def singular(word: str) -> str:
    """One form for what is one thing: `chairs` is `chair`."""
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


def statements(program: Sequence[Call], answer: str) -> Iterator[str]:
    """Words that are true of a picture by an answered question about it, and no others."""
    last = program[-1]
    if answer in TRUTHS:
        yield from _judged(program, len(program) - 1, answer == "yes")
        return
    for parent in last.inputs:
        yield from _found(program, parent)
    if ROWS[last.operation].family in ("query", "choose"):
        yield answer


def _found(program: Sequence[Call], routine: int) -> Iterator[str]:
    """Of objects that are there."""
    call = program[routine]
    for parent in call.inputs:
        yield from _found(program, parent)
    yield from _word(call)


def _judged(program: Sequence[Call], routine: int, truth: bool | None) -> Iterator[str]:
    """Of yes or no; None if it is not known which."""
    call, family = program[routine], ROWS[program[routine].operation].family
    if family in ("and", "or"):
        known = truth if truth is (family == "and") else None
        for parent in call.inputs:
            yield from _judged(program, parent, known)
        return
    # What is asked for may be missing; what it would stand beside, or what is judged, is there.
    surely = program[call.inputs[0]].inputs if family == "exist" and not truth else call.inputs
    for parent in surely:
        yield from _found(program, parent)
    if family == "verify" and truth:
        yield from _word(call)


def _word(call: Call) -> Iterator[str]:
    """The thing or quality that a routine names; none if it leaves that open, or says what is not so."""
    word = str(call.words[0])
    if word not in ("_", "scene") and not word.startswith("not("):
        yield word


@dataclass(frozen=True)
class Said:
    """Which words are said of which pictures."""

    words: tuple[str, ...]
    """In their singular."""
    often: Floats
    """(pictures, words) log(1 + n) where it is said n times to be true"""

    @classmethod
    def of(
        cls, programs: Sequence[Sequence[Call]], answers: Sequence[str], pictures: NDArray[np.int64], count: int
    ) -> Said:
        """Of answered questions about these pictures, of so many."""
        heard = [
            (picture, singular(word))
            for program, answer, picture in zip(programs, answers, pictures.tolist(), strict=True)
            for word in statements(program, answer)
        ]
        numbers = {word: number for number, word in enumerate(sorted({word for _, word in heard}))}
        said = np.zeros((count, len(numbers)))
        for picture, word in heard:
            said[picture, numbers[word]] += 1
        return cls(tuple(numbers), np.log1p(said))

    def rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Where these words are in evidence; one that is never said is behind all others."""
        numbers = {word: number for number, word in enumerate(self.words)}
        return np.array([numbers.get(singular(word), len(self.words)) for word in words], np.int64)


@dataclass(frozen=True)
class Views:
    """Pictures as a pretrained network sees them: whole, their left half and their right half."""

    groups: tuple[Floats, ...]
    """Descriptors of each kind: (pictures, 3, numbers)"""
    classes: Floats
    """(pictures, classes) probabilities, a mean over the cells; no classes if there is no classifier"""
    class_names: tuple[str, ...]

    @classmethod
    def read(cls, features: ObjectFeatures, images: Sequence[str]) -> Views:
        """Of the pictures of these ids."""
        names = features.class_names() if features.classifies else ()
        seen = [_views(features, image) for image in images]
        groups = tuple(np.stack(group) for group in zip(*(each for each, _ in seen), strict=True))
        return cls(groups, np.stack([each for _, each in seen]), names)

    def likeness(self, told: NDArray[np.int64]) -> Floats:
        """(3, pictures, told) products of standardised descriptors with those of the pictures that were told of."""
        total = np.zeros((3, len(self.classes), len(told)))
        for group in self.groups:
            mean, deviation = group[told, 0].mean(axis=0), group[told, 0].std(axis=0) + 1e-6
            scaled = (group - mean) / deviation / np.sqrt(group.shape[2])
            total += np.einsum("pvn,tn->vpt", scaled, scaled[told, 0], optimize=True)
        return total / len(self.groups)


def _views(features: ObjectFeatures, image: str) -> tuple[list[Floats], Floats]:
    """(descriptors of each kind (3, numbers), class probabilities) of a picture."""
    found = features.read(image, most=1_000_000)
    centres = (found.boxes[:, 0] + found.boxes[:, 2]) / 2
    sides = [np.ones(len(centres), np.bool_), centres < found.width / 2, centres >= found.width / 2]
    sides = [side if side.any() else sides[0] for side in sides]  # where nothing was detected: as the whole
    cells = [found.features[side].astype(np.float64) for side in sides]
    groups = [np.stack([_root(each.mean(axis=0), 2) for each in cells])]
    groups.append(np.stack([_root((each**3).mean(axis=0), 3) for each in cells]))
    if not features.classifies:
        return groups, np.zeros(0)
    weights, bias = features.classifier()
    logits = (found.features @ weights.T + bias).astype(np.float64)
    every = _log_shares(logits)
    logs = [every[side] for side in sides]
    groups.append(np.stack([_log_shares(np.asarray(logits[side].mean(axis=0))) for side in sides]))
    groups.append(np.stack([each.max(axis=0) for each in logs]))
    groups.append(np.stack([np.sqrt(np.exp(each).mean(axis=0)) for each in logs]))
    return groups, np.exp(every).mean(axis=0)


def _root(values: Floats, degree: int) -> Floats:
    return np.asarray(np.sign(values) * np.abs(values) ** (1 / degree))


def _log_shares(scores: Floats) -> Floats:
    """The logarithm of a softmax over the last axis."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))


def foretell(
    views: Views, testimony: Said, told: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float32]:
    """(pictures, words + 1, KINDS) evidence of every word in every picture, 0 for the last, which is never said.

    What is said of the `told` pictures is all that is known; of each of them it is foretold from the others.
    """
    evidence = np.zeros((len(views.classes), len(testimony.words) + 1, KINDS), np.float32)
    likeness, said = views.likeness(told), testimony.often[told]
    others = np.setdiff1d(np.arange(len(views.classes)), told)
    part = random.permutation(len(told)) % PARTS
    tasks = [(others, np.ones(len(told), np.bool_))]
    tasks += [(told[part == number], part != number) for number in range(min(PARTS, len(told)))]
    for asked, known in tasks:
        whole, left, right = _lifts(likeness[:, asked], likeness[0][np.ix_(told[known], known)], said, known)
        evidence[asked, :-1, 0] = whole
        evidence[asked, :-1, 2] = right - left
    evidence[:, :-1, 1] = _named(views, testimony.words, told)
    return evidence


def _lifts(asked: Floats, among: Floats, said: Floats, known: NDArray[np.bool_]) -> Floats:
    """(3, asked, words) evidence by ridge regression from the known pictures, which are so like each other (`among`)
    and so like the asked ones (3, asked, told)."""
    usual = said[known].mean(axis=0)
    weights = np.linalg.solve(among + STRENGTH * np.eye(len(among)), said[known] - usual)
    expected = np.maximum(usual + asked[:, :, known] @ weights, LEAST * usual)
    return np.asarray(np.log((expected + RARE) / (usual + RARE)))


def _named(views: Views, words: Sequence[str], told: NDArray[np.int64]) -> Floats:
    """(pictures, words) evidence by the names of the classes: what the classifier says of those that a word names."""
    numbers = {word: number for number, word in enumerate(words)}
    names = np.zeros((len(words), len(views.class_names)))
    for number, synonyms in enumerate(views.class_names):
        for synonym in synonyms.split(","):
            name = singular(synonym.strip())
            for word in {name, name.rpartition(" ")[2]} & numbers.keys():
                names[numbers[word], number] = 1.0
    seen = views.classes @ names.T
    return np.asarray(np.log((seen + FAINT) / (seen[told].mean(axis=0) + FAINT)))
