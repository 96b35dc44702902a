"""A simulated detector for scenes of the embedded world: noisy boxes and a feature vector for each.

Departures from the paper: it takes the features of the release. Here a vector is the sum of one random direction for
each word that is true of the object (name, hypernyms, attributes, the picture's place and weather), plus noise of the
same length; relations are not in the vectors, only in the positions of the boxes.

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

from program_guided.tasks.visual.features import DIMENSION, MAX_DETECTED, Detected
from program_guided.tasks.visual.graph import Scene, SceneObject
from program_guided.tasks.visual.ontology import BUILT_IN

__all__ = ["Detector", "detect"]

CONTEXT = 0.5
"""Length of the part of every vector that is due to the picture's place and weather."""
MIN_SIDE = 4.0

Floats = NDArray[np.float32]
Detection = tuple[Floats, NDArray[np.float64]]
"""(feature vector without context and noise, exact box)"""


@dataclass(frozen=True)
class Detector:
    """Error rates and sizes of the detector."""

    noise: float = 1.0
    """Length of the noise; each word that is true of an object has length 1."""
    misses: float = 0.005
    """Probability that an object is missed."""
    doubles: float = 0.15
    """Probability that a detected object is detected twice."""
    clutter: int = 4
    """Maximum number of false positives."""
    jitter: float = 0.015
    """Standard deviation of an edge, in sides of the box."""
    dimension: int = DIMENSION
    max_detected: int = MAX_DETECTED


def detect(scene: Scene, detector: Detector, seed: int) -> Detected:
    """Detect at most `max_detected` objects, in random order."""
    random = np.random.Generator(np.random.PCG64(seed))
    context = CONTEXT * _sum(filter(None, (scene.location, scene.weather)), detector.dimension)
    detections = [*_objects(scene, detector, random), *_clutter(scene, detector, random)]
    order = random.permutation(len(detections))[: detector.max_detected]
    features = np.zeros((len(order), detector.dimension), np.float32)
    boxes = np.zeros((len(order), 4), np.float32)
    for row, at in enumerate(order):
        noise = random.standard_normal(detector.dimension) * detector.noise / np.sqrt(detector.dimension)
        features[row] = detections[at][0] + context + noise
        boxes[row] = _jittered(detections[at][1], detector.jitter, scene, random)
    return Detected(features, boxes, scene.width, scene.height)


def _objects(scene: Scene, detector: Detector, random: np.random.Generator) -> Iterator[Detection]:
    """Detections of the objects: none, one or two each."""
    for thing in scene.objects.values():
        times = 0 if random.random() < detector.misses else 1 + (random.random() < detector.doubles)
        for _ in range(times):
            yield _sum(_true_words(thing), detector.dimension), np.array(thing.box.corners, np.float64)


def _clutter(scene: Scene, detector: Detector, random: np.random.Generator) -> Iterator[Detection]:
    """False positives."""
    scale = np.array([scene.width, scene.height])
    for _ in range(int(random.integers(detector.clutter + 1))):
        corner, sides = random.random(2) * 0.7, 0.1 + random.random(2) * 0.2
        yield np.zeros(detector.dimension, np.float32), np.concatenate([corner * scale, (corner + sides) * scale])


def _true_words(thing: SceneObject) -> Iterator[str]:
    """Words that are true of an object: name, hypernyms, attributes, and attributes that the name implies."""
    name: str | None = thing.name
    while name is not None:
        yield name
        name = BUILT_IN.parent_of(name)
    yield from {*thing.attributes, *BUILT_IN.implied.get(thing.name, frozenset())}


def _sum(words: Iterable[str], dimension: int) -> Floats:
    total = np.zeros(dimension, np.float32)
    for word in sorted(words):
        total += _direction(word, dimension)
    return total


@lru_cache(maxsize=1024)
def _direction(word: str, dimension: int) -> Floats:
    """Random direction of a word, the same on every machine."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(word.encode("utf-8"))))
    direction = random.standard_normal(dimension).astype(np.float32)
    direction /= np.linalg.norm(direction)
    direction.flags.writeable = False
    return direction


def _jittered(
    box: NDArray[np.float64], jitter: float, scene: Scene, random: np.random.Generator
) -> NDArray[np.float64]:
    """The box with noise on each edge, clipped to the picture and to a minimum side."""
    sides = np.tile(box[2:] - box[:2], 2)
    moved = box + jitter * sides * random.standard_normal(4)
    limits = np.array([scene.width, scene.height], np.float64)
    low = np.clip(moved[:2], 0, limits - MIN_SIDE)
    high = np.clip(moved[2:], low + MIN_SIDE, limits)
    return np.concatenate([low, high])
