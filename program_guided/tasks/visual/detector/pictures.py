"""Drawn pictures of scenes that carry no questions, for the detector: drawn once, in files of some hundred each.

pictures = Pictures(Path("out/detector-pictures"), count=4000, seed=0)
pictures.draw()                                   # what is missing
pictures.picture(7), pictures.labels(7)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from program_guided.errors import DataError
from program_guided.files import renamed
from program_guided.tasks.visual.detector.labels import Labels, labels_of
from program_guided.tasks.visual.drawing.scene import Camera, draw_picture
from program_guided.tasks.visual.embedded.building import VERSION, hash_seed
from program_guided.tasks.visual.embedded.scenes import HEIGHT, WIDTH, sample_scene
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.photographs.files import read_picture

__all__ = ["SECONDS_PER_PICTURE", "Pictures", "bytes_of", "pixels", "read_drawing"]

PER_FILE = 250
SECONDS_PER_PICTURE = 0.055
"""Measured on one core."""
FIRST = 2**40
"""First number of their scenes, which no question is about."""

Bytes = NDArray[np.uint8]


def pixels(scene: Scene, camera: Camera) -> Bytes:
    """(3, height, width) a scene as a camera sees it."""
    return bytes_of(draw_picture(scene, camera=camera))


def bytes_of(picture: Image.Image) -> Bytes:
    """(3, height, width) of a picture."""
    return np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))


def read_drawing(path: Path) -> Image.Image:
    """A picture file, at the size of the embedded world's pictures."""
    return read_picture(path).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


class Pictures:
    """Pictures and labels by number."""

    def __init__(self, folder: Path, count: int, seed: int, camera: Camera | None = None) -> None:
        self.folder = folder
        self.count = count
        self.seed = seed
        self.camera = camera or Camera()
        self._open: dict[int, Any] = {}
        self._labels: dict[int, Labels] = {}

    @property
    def megabytes(self) -> float:
        return self.count * 3 * HEIGHT * WIDTH / 1e6

    @property
    def missing(self) -> list[int]:
        """Numbers of the files that are not there."""
        return [number for number in range(-(-self.count // PER_FILE)) if not self._path(number).is_file()]

    def draw(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Draw what is missing; interrupted, the next call goes on."""
        for number in self.missing:
            first = number * PER_FILE
            whole = np.zeros((min(PER_FILE, self.count - first), 3, HEIGHT, WIDTH), np.uint8)
            for at in range(len(whole)):
                whole[at] = pixels(self.scene(first + at), self.camera)
                progress(first + at + 1, self.count)
            with renamed(self._path(number)) as temporary, temporary.open("wb") as file:
                np.save(file, whole)

    def scene(self, number: int) -> Scene:
        return sample_scene(hash_seed(self.seed, FIRST + number), f"{self.seed}-{number}")

    def labels(self, number: int) -> Labels:
        if number not in self._labels:
            self._labels[number] = labels_of(self.scene(number))
        return self._labels[number]

    def picture(self, number: int) -> Bytes:
        """(3, height, width)"""
        file = number // PER_FILE
        if file not in self._open:
            try:
                self._open[file] = np.load(self._path(file), mmap_mode="r")
            except (OSError, ValueError) as error:
                raise DataError(
                    f"{self._path(file)}: cannot be read ({error}); remove it, and it is drawn again"
                ) from None
        found: Bytes = self._open[file][number % PER_FILE]
        return found

    def _path(self, number: int) -> Path:
        """A file's name has all in it that its pictures depend on."""
        camera = "-".join(f"{value:g}" for value in vars(self.camera).values())
        count = min(PER_FILE, self.count - number * PER_FILE)
        return self.folder / f"{VERSION}_{self.seed}_{camera}_{number}_{count}.npy"
