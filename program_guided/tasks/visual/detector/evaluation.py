"""Measures of the detector: average precision of boxes and of named boxes, accuracy of attributes and of the scene.

measures = measure(detections, labels)
measures["AP50"], measures["AP50 by name"], measures["attributes"]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.detector.labels import NONE, Labels
from program_guided.tasks.visual.detector.network import Detections, overlap
from program_guided.tasks.visual.embedded.vectors import SCENE_VALUES, VALUE_PARTS
from program_guided.tasks.visual.embedded.vocabulary import NAMES

__all__ = ["average_precision", "measure"]

IOU = 0.5


def measure(found: Sequence[Detections], labels: Sequence[Labels]) -> dict[str, float]:
    """Measures of the detections of pictures, from 0 to 1."""
    import torch

    boxes = [
        (each.boxes.numpy(), each.scores.numpy(), np.zeros(len(each.boxes), np.int64), true.boxes, 0 * true.names)
        for each, true in zip(found, labels, strict=True)
    ]
    named = [
        (each.boxes.numpy(), *_best_names(each), true.boxes, true.names)
        for each, true in zip(found, labels, strict=True)
    ]
    by_name = [average_precision(named, name) for name in range(len(NAMES))]
    right, known, by_category = 0, 0, {}
    hits = {"name": [0, 0], "location": [0, 0], "weather": [0, 0], "role": [0, 0, 0]}
    for each, true in zip(found, labels, strict=True):
        for key, part, value in zip(
            SCENE_VALUES, each.scene.split([len(values) for values in SCENE_VALUES.values()]), true.scene, strict=True
        ):
            hits[key][0] += int(part.argmax()) == int(value)
            hits[key][1] += 1
        if not len(each.boxes):
            continue
        best, which = overlap(each.boxes, torch.from_numpy(true.boxes)).max(dim=0)
        for number in range(len(true.names)):
            if best[number] < IOU:
                continue
            at = int(which[number])
            hits["name"][0] += int(each.heads.names[at].argmax()) == int(true.names[number])
            hits["name"][1] += 1
            said = (each.heads.roles[at] > 0).numpy()
            hits["role"][0] += int((said & (true.roles[number] > 0)).sum())
            hits["role"][1] += int(said.sum())
            hits["role"][2] += int(true.roles[number].sum())
            parts = {category: each.heads.values[at, part] for category, part in VALUE_PARTS.items()}
            for (category, part), value in zip(parts.items(), true.attributes[number], strict=True):
                if value != NONE:
                    ok = int(part.argmax()) == int(value)
                    right, known = right + ok, known + 1
                    by_category.setdefault(category, [0, 0])
                    by_category[category][0] += ok
                    by_category[category][1] += 1
    return {
        "AP50": average_precision(boxes, 0),
        "AP50 by name": float(np.nanmean(by_name)),
        "names": hits["name"][0] / max(1, hits["name"][1]),
        "attributes": right / max(1, known),
        "location": hits["location"][0] / max(1, hits["location"][1]),
        "weather": hits["weather"][0] / max(1, hits["weather"][1]),
        "roles, precision": hits["role"][0] / max(1, hits["role"][1]),
        "roles, recall": hits["role"][0] / max(1, hits["role"][2]),
        **{category: one / all_ for category, (one, all_) in by_category.items()},
    }


Found = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]
"""Of a picture: boxes, scores and names found; true boxes and names."""


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
