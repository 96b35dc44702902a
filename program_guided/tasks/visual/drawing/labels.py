"""Places of labels: beside the boxes that they name, on no other label, on no face.

places = place_labels([(60, 18), ...], [box, ...], picture.size, faces, objects)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.drawing.findings import Corners

__all__ = ["area", "overlap_area", "place_labels", "scaled"]

GAP = 3
"""Pixels between a box and its label."""
STEP = 7
"""Pixels between the places that are tried all over the picture."""
FORBIDDEN = 1e6
"""Cost of a label on another label or on a face, which any free place in the picture outweighs."""
HIDDEN, HIDDEN_OBJECT = 8.0, 3.0
"""Cost of hiding all of a labelled box, or of another object."""
COVERED = 0.6
"""Cost of a label that lies on a labelled box with all of its area."""
DISTANCE = 0.035
"""Cost of a pixel between a box and its label."""

Floats = NDArray[np.float64]


def place_labels(
    sizes: Sequence[tuple[float, float]],
    boxes: Sequence[Corners],
    picture: tuple[int, int],
    faces: Sequence[Corners] = (),
    objects: Sequence[Corners] = (),
) -> list[Corners]:
    """The boxes of labels of some sizes for some boxes; those of small boxes are placed first."""
    places: dict[int, Corners] = {}
    for number in sorted(range(len(boxes)), key=lambda at: (area(boxes[at]), at)):
        found = _candidates(boxes[number], sizes[number], picture)
        cost = FORBIDDEN * _covered(found, [*places.values(), *faces]).sum(axis=1)
        cost += (_covered(found, boxes) * (HIDDEN / _areas(boxes) + COVERED / area(found[0]))).sum(axis=1)
        cost += HIDDEN_OBJECT * (_covered(found, objects) / _areas(objects)).sum(axis=1)
        cost += DISTANCE * _distances(found, boxes[number])
        x1, y1, x2, y2 = found[int(cost.argmin())].tolist()
        places[number] = x1, y1, x2, y2
    return [places[number] for number in range(len(boxes))]


def area(box: Sequence[float] | Floats) -> float:
    """Area of a box."""
    return float(max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1]))


def overlap_area(one: Corners, other: Corners) -> float:
    """Area of the intersection of two boxes."""
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


def scaled(box: Corners, scale: float) -> Corners:
    """A box in a picture of another size."""
    x1, y1, x2, y2 = box
    return x1 * scale, y1 * scale, x2 * scale, y2 * scale


def _candidates(box: Corners, size: tuple[float, float], picture: tuple[int, int]) -> Floats:
    """(n, 4) places of a label: beside its box, in its corners, and all over the picture."""
    (x1, y1, x2, y2), (width, height) = box, size
    columns, rows = ((x1 + x2 - width) / 2, x1, x2 - width), (y1, (y1 + y2 - height) / 2, y2 - height)
    points = [(x, y) for y in (y1 - height - GAP, y2 + GAP) for x in columns]
    points += [(x, y) for x in (x2 + GAP, x1 - width - GAP) for y in rows]
    points += [(x, y) for x in columns[1:] for y in (rows[0], rows[2])]
    across, down = (max(0.0, side - 1 - own) for side, own in zip(picture, size, strict=True))
    grid = np.stack(np.meshgrid(np.arange(0, across + 1, STEP), np.arange(0, down + 1, STEP)), axis=2).reshape(-1, 2)
    corners = np.concatenate([np.array(points), grid]).clip(0, (across, down))
    return np.concatenate([corners, corners + np.array(size)], axis=1)


def _areas(boxes: Sequence[Corners]) -> Floats:
    return np.array([max(1.0, area(box)) for box in boxes])


def _covered(places: Floats, boxes: Sequence[Corners]) -> Floats:
    """(places, boxes) areas of their intersections."""
    other = np.array(boxes, dtype=float).reshape(-1, 4)
    low, high = np.maximum(places[:, None, :2], other[:, :2]), np.minimum(places[:, None, 2:], other[:, 2:])
    covered: Floats = (high - low).clip(min=0).prod(axis=2)
    return covered


def _distances(places: Floats, box: Corners) -> Floats:
    """(places,) pixels between a box and each place, more than the gap."""
    apart = np.maximum(np.array(box[:2]) - places[:, 2:], places[:, :2] - np.array(box[2:])).clip(min=0)
    distances: Floats = (np.hypot(*apart.T) - GAP).clip(min=0)
    return distances
