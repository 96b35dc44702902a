"""Evidence for words at the parts of photographs, from weak labels: multiple-instance logistic regression.

A word that an answered question implies is true of *some* part of its picture. The score of a word at a part is linear
in the network's features of the part, plus what classifiers say whose classes have the word's name by the ontology: the
detector's kinds and ImageNet's classes. The probability that a picture has the word is that of a noisy or of its parts.
Pictures of train must have the same distribution of evidence as others: theirs is by weights that were fitted without
them (cross-fitting).

    evidence, fitted = cross_fit(features, classes, labels, train, ontology, random)
    fitted.score(features, classes)                                         # of other pictures

Departures from the paper: it is given objects, and features that were trained to distinguish these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from program_guided.tasks.visual.ontology import Ontology
from program_guided.tasks.visual.photographs.weak_labels import singular

__all__ = ["Classes", "PartLabels", "WordModel", "cross_fit"]

Floats = NDArray[np.float32]

COMPONENTS = 128
"""Principal components of the features of parts."""
DAMPING = 0.02
"""Share of the first component's variance that is added to every component's before it is scaled to 1."""
STEPS, LEARNING_RATE, STRENGTH = 80, 0.05, 5.0
"""Updates by Adam, and the strength of the penalty on squared weights."""
UNKNOWN = 0.3
"""Weight of a word of which a picture's questions say nothing, as a label for false; known labels have 1."""
FOLDS = 4
SMOOTHING = {"kinds": 0.02, "classes": 0.003}
"""Added to probabilities of classes before their logarithm is taken."""
NAMED = (-3.0, 5.0)
"""Bounds of the sum of what classifiers say."""
BOUNDS = (-3.0, 6.0)
"""Bounds of standardised evidence."""
LEAST_DEVIATION = 0.3


@dataclass(frozen=True)
class Classes:
    """Probabilities of named classes at parts, (pictures, parts, classes) each."""

    kinds: Floats
    kind_names: tuple[str, ...]
    classes: Floats
    class_names: tuple[str, ...]

    def at(self, pictures: NDArray[np.int64]) -> Classes:
        return Classes(self.kinds[pictures], self.kind_names, self.classes[pictures], self.class_names)


@dataclass(frozen=True)
class PartLabels:
    """Labels of pictures: (pictures, words) 1 for true of some part, and the weights of labels."""

    words: tuple[str, ...]
    true: Floats
    weights: Floats

    @classmethod
    def of(cls, words: Sequence[str], implied: NDArray[np.float64], denied: NDArray[np.float64]) -> PartLabels:
        """Labels from numbers (pictures, words) of questions that imply a word, and of those that deny it."""
        true = (implied > 0).astype(np.float32)
        return cls(tuple(words), true, np.where((implied > 0) | (denied > 0), 1.0, UNKNOWN).astype(np.float32))


@dataclass(frozen=True)
class WordModel:
    """Fitted scores of words at parts."""

    arrays: Mapping[str, Tensor]
    """Weights, and the constants of inputs and outputs, by name, as they are kept."""

    def score(self, features: Floats, classes: Classes) -> Tensor:
        """(pictures, parts, words + 1) standardised evidence; 0 for the last, no word."""
        arrays = self.arrays
        scores = self.raw(features, classes)
        scores = ((scores - arrays["centre"]) / arrays["deviation"]).clamp(*BOUNDS)
        return torch.cat([scores, torch.zeros(*scores.shape[:2], 1)], dim=2)

    def raw(self, features: Floats, classes: Classes) -> Tensor:
        """(pictures, parts, words) scores before they are standardised."""
        arrays = self.arrays
        return self.components(features) @ arrays["weights"] + arrays["bias"] + _named(arrays, classes)

    def components(self, features: Floats) -> Tensor:
        """(pictures, parts, components)"""
        return (_roots(features) - self.arrays["mean"]) @ self.arrays["basis"]


def cross_fit(
    features: Floats,
    classes: Classes,
    labels: PartLabels,
    train: NDArray[np.int64],
    ontology: Ontology,
    random: np.random.Generator,
) -> tuple[Tensor, WordModel]:
    """Evidence (pictures, parts, words + 1), of pictures of train without their own labels, and what was fitted to all
    of train."""
    shared = _components(features[train]) | _names(labels.words, classes, ontology)
    shared |= _means(shared, classes.at(train))
    part = random.permutation(len(train)) % FOLDS
    scores = torch.zeros(*features.shape[:2], len(labels.words))
    for number in range(FOLDS):
        held_out = train[part == number]
        if len(held_out):
            model = _fit(shared, features, classes, labels, train[part != number])
            scores[held_out] = model.raw(features[held_out], classes.at(held_out))
    model = _fit(shared, features, classes, labels, train)
    others = np.setdiff1d(np.arange(len(features)), train)
    scores[others] = model.raw(features[others], classes.at(others))
    known = scores[train].flatten(0, 1)
    found = {"centre": known.mean(dim=0), "deviation": known.std(dim=0).clamp(min=LEAST_DEVIATION)}
    standardised = ((scores - found["centre"]) / found["deviation"]).clamp(*BOUNDS)
    evidence = torch.cat([standardised, torch.zeros(*scores.shape[:2], 1)], dim=2)
    return evidence, WordModel(dict(model.arrays) | found)


def _fit(
    shared: Mapping[str, Tensor], features: Floats, classes: Classes, labels: PartLabels, pictures: NDArray[np.int64]
) -> WordModel:
    """Fit weights and biases to the labels of these pictures."""
    unfitted = WordModel(shared)
    inputs = unfitted.components(features[pictures]).flatten(0, 1)
    named = _named(shared, classes.at(pictures)).flatten(0, 1)
    true, weight = torch.from_numpy(labels.true[pictures]), torch.from_numpy(labels.weights[pictures])
    count, parts, words = len(pictures), features.shape[1], len(labels.words)
    share = ((true * weight).sum(dim=0) + UNKNOWN) / (weight.sum(dim=0) + 6.0)
    bias = ((share / (1 - share)).log() - 2.0).requires_grad_()
    weights = torch.zeros(inputs.shape[1], words, requires_grad=True)
    optimizer = torch.optim.Adam([weights, bias], lr=LEARNING_RATE)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - step / STEPS)
        none = -softplus(torch.addmm(named, inputs, weights) + bias).view(count, parts, words).sum(dim=1)
        some = torch.log1p(-none.exp().clamp(max=1 - 1e-6))
        loss = -(weight * (true * some + (1 - true) * none)).sum() + STRENGTH * (weights**2).sum()
        optimizer.zero_grad()
        (loss / count).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return WordModel(dict(shared) | {"weights": weights.detach(), "bias": bias.detach()})


def _roots(features: Floats) -> Tensor:
    values = torch.from_numpy(features)
    return values.sign() * values.abs().sqrt()


def _components(features: Floats) -> dict[str, Tensor]:
    """Mean and principal components, scaled, of the parts of pictures."""
    rows = _roots(features).flatten(0, 1)
    mean = rows.mean(dim=0)
    variances, vectors = torch.linalg.eigh((rows - mean).T @ (rows - mean) / len(rows))
    variances, vectors = variances.flip(0)[:COMPONENTS].clamp(min=0), vectors.flip(1)[:, :COMPONENTS]
    scales = (DAMPING * variances[0] + (1 - DAMPING) * variances + 1e-9).sqrt()
    return {"mean": mean, "basis": vectors / scales}


def _names(words: Sequence[str], classes: Classes, ontology: Ontology) -> dict[str, Tensor]:
    """For each way in which a class can stand for a word, (classes, words) 1 where it does."""
    same, above, below = _relations(words, classes.kind_names, ontology)
    found = {"kinds_same": same, "kinds_above": above, "kinds_below": below}
    same, above, _ = _relations(words, classes.class_names, ontology)
    return found | {"classes_same": same, "classes_above": above}


def _relations(words: Sequence[str], names: Sequence[str], ontology: Ontology) -> tuple[Tensor, Tensor, Tensor]:
    """(classes, words) 1 where the class has the word's name, where it is a kind of the word, and where the word is."""
    spelt = [ontology.name(singular(word)) for word in words]
    found = torch.zeros(3, len(names), len(words))
    for row, synonyms in enumerate(names):
        each = [singular(synonym.strip()) for synonym in synonyms.split(",") if synonym.strip()]
        own = {ontology.name(name) for one in each for name in (one, one.rpartition(" ")[2])}
        above = {name for one in own for name in ontology.ancestors(one)}
        for column, word in enumerate(spelt):
            if word in own:
                found[0, row, column] = 1
            elif word in above:
                found[1, row, column] = 1
            elif ontology.ancestors(word) & own:
                found[2, row, column] = 1
    return found[0], found[1], found[2]


def _probabilities(arrays: Mapping[str, Tensor], classes: Classes) -> dict[str, Tensor]:
    """For each way in which classes stand for words, (pictures, parts, words) their probability."""
    kinds, others = torch.from_numpy(classes.kinds), torch.from_numpy(classes.classes)
    missed = torch.log1p(-kinds.clamp(0, 0.999))
    return {
        name: 1 - (missed @ names).exp() if name.startswith("kinds") else others @ names
        for name, names in arrays.items()
        if name in ("kinds_same", "kinds_above", "kinds_below", "classes_same", "classes_above")
    }


def _means(arrays: Mapping[str, Tensor], classes: Classes) -> dict[str, Tensor]:
    return {f"mean_{name}": each.mean(dim=(0, 1)) for name, each in _probabilities(arrays, classes).items()}


def _named(arrays: Mapping[str, Tensor], classes: Classes) -> Tensor:
    """(pictures, parts, words) log ratios of the probabilities of classes to their means, summed."""
    total = torch.zeros(())
    for name, found in _probabilities(arrays, classes).items():
        smoothing = SMOOTHING[name.partition("_")[0]]
        total = total + ((found + smoothing) / (arrays[f"mean_{name}"] + smoothing)).log()
    return total.clamp(*NAMED)
