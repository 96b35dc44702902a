"""The sight of a detector: objects of a drawn picture, as vectors whose numbers are probabilities.

sight = PixelSight()                              the shipped detector, its own boxes
detected = sight.see(scene)                       draws the scene, and looks at the picture
detected = sight.look(picture)                    looks at any drawn picture
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from PIL import Image

from program_guided.tasks.visual.detector.network import THRESHOLD, Detections, DetectorNetwork
from program_guided.tasks.visual.detector.pictures import Bytes, bytes_of, pixels
from program_guided.tasks.visual.detector.training import load_detector
from program_guided.tasks.visual.drawing.scene import Camera
from program_guided.tasks.visual.embedded.vectors import PARTS, SCENE_VALUES, SIZE, VALUE_PARTS, applicable
from program_guided.tasks.visual.features import MAX_DETECTED, Detected
from program_guided.tasks.visual.graph import Scene

__all__ = ["PixelSight", "detected_in", "vectors_of"]


def detected_in(network: DetectorNetwork, picture: Bytes, boxes: torch.Tensor | None = None) -> Detected:
    """Objects of a picture (3, height, width), the most certain first; with `boxes`, the objects in these."""
    pictures = torch.from_numpy(np.ascontiguousarray(picture))[None]
    found = network.detect(pictures)[0] if boxes is None else network.describe_boxes(pictures, boxes)
    _, height, width = picture.shape
    return Detected(vectors_of(found)[:MAX_DETECTED], found.boxes.numpy()[:MAX_DETECTED], width, height)


def vectors_of(found: Detections) -> np.ndarray[Any, np.dtype[np.float32]]:
    """(objects, SIZE) probabilities that there is an object of each name, and of each value; of its roles, of location
    and weather; and the ground."""
    heads = found.heads
    vectors = np.zeros((len(found.boxes), SIZE), np.float32)
    names = (heads.names.softmax(dim=1) * found.scores[:, None]).numpy()
    vectors[:, PARTS["names"]] = names
    values = [heads.values[:, part].softmax(dim=1).numpy() for part in VALUE_PARTS.values()]
    vectors[:, PARTS["values"]] = np.concatenate(values, axis=1) * (names @ applicable())
    vectors[:, PARTS["roles"]] = heads.roles.sigmoid().numpy()
    parts = found.scene.split([len(each) for each in SCENE_VALUES.values()])  # type: ignore[no-untyped-call]
    for name, part in zip(SCENE_VALUES, parts, strict=True):
        vectors[:, PARTS[name]] = part.softmax(dim=0).numpy()
    vectors[:, PARTS["ground"]] = heads.ground.numpy()[:, None]
    return vectors


@dataclass(frozen=True)
class PixelSight:
    """Sees scenes by drawing them and looking at the pictures."""

    detector: str = "detector"
    """A checkpoint."""
    boxes: Literal["detected", "true"] = "detected"
    camera: Camera = field(default_factory=Camera)

    shape: ClassVar[tuple[int, int]] = (MAX_DETECTED, SIZE)
    dtype: ClassVar[str] = "float16"

    @cached_property
    def _network(self) -> DetectorNetwork:
        return load_detector(self.detector)

    def see(self, scene: Scene, seed: int = 0) -> Detected:
        """Objects of a scene."""
        true = torch.tensor([thing.box.corners for thing in scene.objects.values()], dtype=torch.float32).view(-1, 4)
        return detected_in(self._network, pixels(scene, self.camera), true if self.boxes == "true" else None)

    def look(self, picture: Image.Image) -> Detected:
        """Objects of a drawn picture."""
        return detected_in(self._network, bytes_of(picture))

    def plan(self) -> dict[str, Any]:
        """All that the vectors depend on, besides the scene."""
        from program_guided.learning.checkpoint import WEIGHTS, find
        from program_guided.tasks.visual.checksums import described

        weights = described(find(self.detector) / WEIGHTS)["sha256"]
        return {"detector": weights, "threshold": THRESHOLD, "boxes": self.boxes, "camera": asdict(self.camera)}
