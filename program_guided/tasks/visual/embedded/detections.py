"""A simulated detector for scenes of the embedded world: noisy boxes, and true vectors with noise.

Departures from the paper: it takes the features of the release. This one looks at no pixels: it is for measuring an
executor alone, and for a clean beginning of its training; `detector/` looks at pictures.

    detected = simulate(scene, Simulation(noise=0.1), seed=0)
    detected.features.shape == (n, SIZE)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.embedded.vectors import PARTS, SIZE, true_vectors
from program_guided.tasks.visual.features import MAX_DETECTED, Detected
from program_guided.tasks.visual.graph import Scene

__all__ = ["Simulation", "simulate"]

MIN_SIDE = 4.0

Floats = NDArray[np.float32]
Detection = tuple[Floats, NDArray[np.float64]]
"""(true vector, true box)"""


@dataclass(frozen=True)
class Simulation:
    """Error rates of the simulated detector."""

    noise: float = 0.1
    """Standard deviation of each probability in a vector."""
    misses: float = 0.005
    """Probability that an object is missed."""
    doubles: float = 0.1
    """Probability that a detected object is detected twice."""
    clutter: int = 2
    """Maximum number of false positives."""
    jitter: float = 0.015
    """Standard deviation of an edge, in sides of the box, and of the ground, in heights of the picture."""

    shape: ClassVar[tuple[int, int]] = (MAX_DETECTED, SIZE)
    dtype: ClassVar[str] = "float16"

    def see(self, scene: Scene, seed: int) -> Detected:
        """Objects of a scene."""
        return simulate(scene, self, seed)

    def plan(self) -> dict[str, Any]:
        """All that the vectors depend on, besides the scene and the seed."""
        return {"simulation": asdict(self)}


def simulate(scene: Scene, simulation: Simulation, seed: int) -> Detected:
    """Detect at most `MAX_DETECTED` objects, in random order."""
    random = np.random.Generator(np.random.PCG64(seed))
    detections = [*_objects(scene, simulation, random), *_clutter(scene, simulation, random)]
    order = random.permutation(len(detections))[:MAX_DETECTED]
    features = np.zeros((len(order), SIZE), np.float32)
    boxes = np.zeros((len(order), 4), np.float32)
    spread = np.full(SIZE, simulation.noise)
    spread[PARTS["ground"]] = simulation.jitter
    for row, at in enumerate(order):
        features[row] = detections[at][0] + spread * random.standard_normal(SIZE)
        boxes[row] = _jittered(detections[at][1], simulation.jitter, scene, random)
    return Detected(features, boxes, scene.width, scene.height)


def _objects(scene: Scene, simulation: Simulation, random: np.random.Generator) -> Iterator[Detection]:
    """Detections of the objects: none, one or two each."""
    for vector, thing in zip(true_vectors(scene), scene.objects.values(), strict=True):
        times = 0 if random.random() < simulation.misses else 1 + (random.random() < simulation.doubles)
        for _ in range(times):
            yield vector, np.array(thing.box.corners, np.float64)


def _clutter(scene: Scene, simulation: Simulation, random: np.random.Generator) -> Iterator[Detection]:
    """False positives: nothing but the place and the weather is seen in them."""
    scale = np.array([scene.width, scene.height])
    vector = np.zeros(SIZE, np.float32)
    if scene.objects:
        for part in ("location", "weather"):
            vector[PARTS[part]] = true_vectors(scene)[0, PARTS[part]]
    for _ in range(int(random.integers(simulation.clutter + 1))):
        corner, sides = random.random(2) * 0.7, 0.1 + random.random(2) * 0.2
        yield vector, np.concatenate([corner * scale, (corner + sides) * scale])


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
