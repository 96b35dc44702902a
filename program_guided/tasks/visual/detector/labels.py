"""Labels of the detector: boxes, names, attributes, and the roles that an object has in relations.

Departures from the paper: it takes detections of the release's own detector.

    labels = labels_of(scene)
    labels.boxes[0], NAMES[labels.names[0]], labels.attributes[0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.embedded.vectors import PARTS, SCENE_VALUES, VALUE_PARTS, true_vectors
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, CLASSES, NAMES
from program_guided.tasks.visual.graph import Scene

__all__ = ["NONE", "SLOTS", "Labels", "labels_of", "slot_of"]

NONE = -1
"""Instead of a value: the object has none of the category."""
SLOTS = 2
"""Objects that can have their centres in one cell of the detector."""


@dataclass(frozen=True)
class Labels:
    """Labels of a picture."""

    boxes: NDArray[np.float32]
    """(n, 4) x1, y1, x2, y2 in pixels"""
    names: NDArray[np.int64]
    """(n,) numbers in `NAMES`"""
    attributes: NDArray[np.int64]
    """(n, categories) numbers among the values of the category, or NONE"""
    roles: NDArray[np.float32]
    """(n, roles) 1 where the object has the role"""
    ground: NDArray[np.float32]
    """(n,) height of the ground that it stands on"""
    scene: NDArray[np.int64]
    """(2,) numbers of location and weather, or NONE"""


def labels_of(scene: Scene) -> Labels:
    """The labels of a scene of the embedded world."""
    vectors = true_vectors(scene)
    values = vectors[:, PARTS["values"]]
    each = [_number(vectors[0, PARTS[part]]) if len(vectors) else NONE for part in SCENE_VALUES]
    return Labels(
        np.array([thing.box.corners for thing in scene.objects.values()], np.float32).reshape(-1, 4),
        vectors[:, PARTS["names"]].argmax(axis=1),
        np.stack([np.where(part.any(axis=1), part.argmax(axis=1), NONE) for part in _by_category(values)], axis=1),
        vectors[:, PARTS["roles"]],
        vectors[:, PARTS["ground"]][:, 0],
        np.array(each, np.int64),
    )


def _by_category(values: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    return [values[:, part] for part in VALUE_PARTS.values()]


def _number(part: NDArray[np.float32]) -> int:
    return int(part.argmax()) if part.any() else NONE


def slot_of(name: int) -> int:
    """Slot of a name's objects: 0 for those that can be hosts, 1 for others."""
    return 0 if CLASSES[CLASS_OF[NAMES[name]]].large else 1
