"""Measures of the detector: average precision of boxes and of named boxes, accuracy of attributes and of the scene.

measures = measure(detections, labels)
measures["AP50"], measures["AP50 by name"], measures["attributes"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.tasks.visual.detector.labels import NONE, Labels
from program_guided.tasks.visual.detector.network import Detections, overlap
from program_guided.tasks.visual.embedded.vectors import SCENE_VALUES, VALUE_PARTS
from program_guided.tasks.visual.embedded.vocabulary import NAMES

__all__ = ["average_precision", "measure"]

IOU = 0.5
PRECISION, RECALL = "roles, precision", "roles, recall"


def measure(found: Sequence[Detections], labels: Sequence[Labels]) -> dict[str, float]:
    """Measures of the detections of pictures, from 0 to 1. Attributes and roles are those of detected objects."""
    boxes = [
        (each.boxes.numpy(), each.scores.numpy(), np.zeros(len(each.boxes), np.int64), true.boxes, 0 * true.names)
        for each, true in zip(found, labels, strict=True)
    ]
    named = [
        (each.boxes.numpy(), *_best_names(each), true.boxes, true.names)
        for each, true in zip(found, labels, strict=True)
    ]
    by_name = [average_precision(named, name) for name in range(len(NAMES))]
    right, counted = Counter[str](), Counter[str]()
    for each, true in zip(found, labels, strict=True):
        for what, verdicts in _verdicts(each, true):
            right[what] += int(verdicts.sum())
            counted[what] += len(verdicts)
    values = [category for category in VALUE_PARTS if counted[category]]
    total = sum(counted[category] for category in values)
    return {
        "AP50": average_precision(boxes, 0),
        "AP50 by name": float(np.nanmean(by_name)),
        "names": _share(right, counted, "names"),
        "attributes": sum(right[category] for category in values) / max(1, total),
        **{what: _share(right, counted, what) for what in (*SCENE_VALUES, PRECISION, RECALL, *values)},
    }


def _share(right: Mapping[str, int], counted: Mapping[str, int], what: str) -> float:
    return right[what] / max(1, counted[what])


def _verdicts(found: Detections, true: Labels) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Verdicts by what they are about."""
    parts = found.scene.split(list(map(len, SCENE_VALUES.values())))  # type: ignore[no-untyped-call]
    for what, part, value in zip(SCENE_VALUES, parts, true.scene, strict=True):
        yield what, np.array([int(part.argmax()) == value])
    if not len(found.boxes):
        return
    best, which = overlap(torch.from_numpy(true.boxes), found.boxes).max(dim=1)
    objects = (best >= IOU).nonzero()[:, 0].numpy()
    at, heads = which[objects], found.heads
    yield "names", heads.names[at].argmax(dim=1).numpy() == true.names[objects]
    seen, there = (heads.roles[at] > 0).numpy(), true.roles[objects] > 0
    yield PRECISION, there[seen]
    yield RECALL, seen[there]
    for column, (category, part) in enumerate(VALUE_PARTS.items()):
        values = true.attributes[objects, column]
        yield category, (heads.values[at, part].argmax(dim=1).numpy() == values)[values != NONE]


Found = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]
"""Boxes, scores and names found in a picture; true boxes and names."""


def _best_names(each: Detections) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    shares, names = each.heads.names.softmax(dim=1).max(dim=1) if len(each.boxes) else (each.scores, each.scores.long())
    return (each.scores * shares).numpy(), names.numpy()


def average_precision(pictures: Sequence[Found], name: int) -> float:
    """Area under the curve of precision against recall at an intersection over union of 0.5, all points; NaN if no
    picture has an object of the name."""
    ranked: list[tuple[float, bool]] = []
    total = 0
    for boxes, scores, names, true, true_names in pictures:
        wanted = true[true_names == name]
        total += len(wanted)
        taken = np.zeros(len(wanted), bool)
        chosen = np.flatnonzero(names == name)
        for at in chosen[np.argsort(-scores[chosen], kind="stable")]:
            shares = _overlaps(boxes[at], wanted)
            shares[taken] = 0
            best = int(shares.argmax()) if len(shares) else -1
            hit = best >= 0 and shares[best] >= IOU
            if hit:
                taken[best] = True
            ranked.append((float(scores[at]), hit))
    if not total:
        return float("nan")
    hits = np.array([hit for _, hit in sorted(ranked, key=lambda each: -each[0])], float)
    if not len(hits):
        return 0.0
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float((envelope * hits).sum() / total)


def _overlaps(box: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    return shared / np.maximum(np.prod(box[2:] - box[:2]) + areas - shared, 1e-6)
