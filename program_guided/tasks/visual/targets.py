"""Results of the oracle as training targets over detected boxes.

Departures from the paper and its code: a set of objects is a distribution over all boxes that match one of them, by
overlap in pixels, not the first object alone; "none" has its own slot; results that the graph does not determine, and
objects that were not detected, are masked. Where the boxes are cells that tile the picture, an object matches the cell
of its centre.

    targets = dense_targets(execute(program, scene), scene, detected.boxes)
    targets.objects[row], targets.supervised[row]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.features import tile
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.oracle import SCENE, Result

__all__ = ["MATCHING_OVERLAP", "DenseTargets", "dense_targets", "matching", "overlap"]

MATCHING_OVERLAP = 0.5
"""Minimum intersection over union of a box and an object that match."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class DenseTargets:
    """Targets of a program: `n` routines, one row each; `b` boxes."""

    objects: Floats
    """(n, b + 1) distribution over boxes, the last slot for "none"; zeros for other types"""
    booleans: NDArray[np.bool_]
    """(n,)"""
    answers: tuple[str | None, ...]
    supervised: NDArray[np.bool_]
    """(n,) True where the target is known"""


def overlap(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """(m, n) intersection over union of boxes x1, y1, x2, y2."""
    first, second = np.asarray(one, np.float64)[:, None], np.asarray(other, np.float64)[None]
    low, high = np.maximum(first[..., :2], second[..., :2]), np.minimum(first[..., 2:], second[..., 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    union = _area(first) + _area(second) - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def matching(objects: NDArray[np.floating], boxes: NDArray[np.floating], cells: bool) -> NDArray[np.float64]:
    """(objects, boxes) intersection over union of those that match, 0 elsewhere; with `cells`, 1 for the cell of each
    object's centre."""
    if cells:
        centres = ((objects[:, :2] + objects[:, 2:]) / 2)[:, None]
        inside = (boxes[None, :, :2] <= centres) & (centres < boxes[None, :, 2:])
        return inside.prod(axis=-1, dtype=np.float64)
    overlaps = overlap(objects, boxes)
    return np.where(overlaps >= MATCHING_OVERLAP, overlaps, 0.0)


def dense_targets(results: Sequence[Result], scene: Scene, boxes: NDArray[np.floating]) -> DenseTargets:
    """Targets of every routine of a program."""
    objects = np.zeros((len(results), len(boxes) + 1), np.float32)
    supervised = np.array([result.value is not None for result in results])
    for row, result in enumerate(results):
        if isinstance(result.value, tuple):
            distribution = _distribution(result.value, scene, boxes)
            supervised[row] = distribution is not None
            objects[row] = 0 if distribution is None else distribution
    return DenseTargets(
        objects,
        np.array([result.value is True for result in results]),
        tuple(result.value if isinstance(result.value, str) else None for result in results),
        supervised,
    )


def _distribution(ids: Sequence[str], scene: Scene, boxes: NDArray[np.floating]) -> NDArray[np.float64] | None:
    """(boxes + 1,) equal shares for the detected objects, each split among its boxes by overlap; None if none was
    detected."""
    if not ids:
        return np.append(np.zeros(len(boxes)), 1.0)
    if SCENE in ids or not len(boxes):
        return None
    corners = np.array([scene.objects[key].box.corners for key in ids])
    overlaps = matching(corners, boxes, tile(boxes, scene.width, scene.height))
    detected = overlaps[overlaps.sum(1) > 0]
    if not len(detected):
        return None
    shares = detected / detected.sum(1, keepdims=True)
    return np.append(shares.mean(0), 0.0)


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(boxes[..., 2:] - boxes[..., :2], 0, None).prod(-1)
