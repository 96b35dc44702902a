"""What a detector would see of a scene of the embedded world: boxes and a vector of each, with a detector's faults.

Departures from the paper: it takes the features of the release. Here a vector is the sum of one random direction for
each thing that is true of the object (name, kinds, attributes, the picture's place and weather), plus noise of the same
length; relations are in no vector, only where the boxes stand.

    detected = detect(scene, Detector(noise=1.0, misses=0.05), seed=0)
    detected.features.shape == (n, 2048)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.concepts import implied, parent_of
from program_guided.tasks.visual.features import DIMENSION, MOST_DETECTED, Detected
from program_guided.tasks.visual.graph import Scene, SceneObject

__all__ = ["Detector", "detect"]

CONTEXT = 0.5
"""Length of what the surroundings add to every vector."""
SMALLEST_SIDE = 4.0

Floats = NDArray[np.float32]
Sighting = tuple[Floats, NDArray[np.float64]]
"""What is seen, and its box."""


@dataclass(frozen=True)
class Detector:
    """How good the detector is."""

    noise: float = 1.0
    """Length of the noise; what is true of an object has length 1 each."""
    misses: float = 0.005
    """How often an object is not found."""
    doubles: float = 0.15
    """How often it is found twice."""
    clutter: int = 4
    """The most boxes around nothing."""
    jitter: float = 0.015
    """How far an edge is off, in sides of the box."""
    dimension: int = DIMENSION
    most: int = MOST_DETECTED


def detect(scene: Scene, detector: Detector, seed: int) -> Detected:
    """Boxes and vectors in no particular order, at most `most`."""
    random = np.random.Generator(np.random.PCG64(seed))
    context = CONTEXT * _sum(filter(None, (scene.location, scene.weather)), detector.dimension)
    found = [*_sightings(scene, detector, random), *_clutter(scene, detector, random)]
    order = random.permutation(len(found))[: detector.most]
    features = np.zeros((len(order), detector.dimension), np.float32)
    boxes = np.zeros((len(order), 4), np.float32)
    for row, at in enumerate(order):
        noise = random.standard_normal(detector.dimension) * detector.noise / np.sqrt(detector.dimension)
        features[row] = found[at][0] + context + noise
        boxes[row] = _jittered(found[at][1], detector.jitter, scene, random)
    return Detected(features, boxes, scene.width, scene.height)


def _sightings(scene: Scene, detector: Detector, random: np.random.Generator) -> Iterator[Sighting]:
    """Each object as often as it is found."""
    for thing in scene.objects.values():
        times = 0 if random.random() < detector.misses else 1 + (random.random() < detector.doubles)
        for _ in range(times):
            yield _sum(_truths(thing), detector.dimension), np.array(thing.box.corners, np.float64)


def _clutter(scene: Scene, detector: Detector, random: np.random.Generator) -> Iterator[Sighting]:
    """Boxes around nothing."""
    scale = np.array([scene.width, scene.height])
    for _ in range(int(random.integers(detector.clutter + 1))):
        corner, sides = random.random(2) * 0.7, 0.1 + random.random(2) * 0.2
        yield np.zeros(detector.dimension, np.float32), np.concatenate([corner * scale, (corner + sides) * scale])


def _truths(thing: SceneObject) -> Iterator[str]:
    """All that is true of an object: name, kinds, attributes, and what the name implies."""
    name: str | None = thing.name
    while name is not None:
        yield name
        name = parent_of(name)
    yield from {*thing.attributes, *implied(thing.name)}


def _sum(words: Iterable[str], dimension: int) -> Floats:
    total = np.zeros(dimension, np.float32)
    for word in sorted(words):
        total += _direction(word, dimension)
    return total


@lru_cache(maxsize=1024)
def _direction(word: str, dimension: int) -> Floats:
    """The same random direction for a word on every machine."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(word.encode("utf-8"))))
    direction = random.standard_normal(dimension).astype(np.float32)
    direction /= np.linalg.norm(direction)
    direction.flags.writeable = False
    return direction


def _jittered(
    box: NDArray[np.float64], jitter: float, scene: Scene, random: np.random.Generator
) -> NDArray[np.float64]:
    """The box with each edge a little off, inside the picture and not turned inside out."""
    sides = np.tile(box[2:] - box[:2], 2)
    moved = box + jitter * sides * random.standard_normal(4)
    limits = np.array([scene.width, scene.height], np.float64)
    low = np.clip(moved[:2], 0, limits - SMALLEST_SIDE)
    high = np.clip(moved[2:], low + SMALLEST_SIDE, limits)
    return np.concatenate([low, high])
