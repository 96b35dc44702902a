"""Pixels instead of detected objects: a drawn picture as cells that tile it, each a patch of pixels.

sight = Patches()
sight.see(scene).features          (CELLS, NUMBERS) uint8, the pixels of a cell row by row
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from program_guided.tasks.visual.drawing.scene import Camera, draw_picture
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.graph import Scene

__all__ = ["CELLS", "COLUMNS", "NUMBERS", "ROWS", "SIDE", "Patches", "cells_of"]

ROWS, COLUMNS, SIDE = 12, 16, 16
"""Cells, and pixels of a cell's side."""
CELLS, NUMBERS = ROWS * COLUMNS, 3 * SIDE * SIDE


def cells_of(picture: Image.Image) -> NDArray[np.uint8]:
    """(CELLS, NUMBERS) pixels of the cells of a picture, scaled to ROWS x COLUMNS of them."""
    scaled = np.asarray(picture.convert("RGB").resize((COLUMNS * SIDE, ROWS * SIDE), Image.Resampling.BOX))
    cells = scaled.reshape(ROWS, SIDE, COLUMNS, SIDE, 3).transpose(0, 2, 4, 1, 3)
    return np.ascontiguousarray(cells).reshape(CELLS, NUMBERS)


def _boxes(width: int, height: int) -> NDArray[np.float32]:
    """(CELLS, 4) the cells of a picture, in its pixels."""
    row, column = np.divmod(np.arange(CELLS), COLUMNS)
    shares = np.stack([column, row, column + 1, row + 1], axis=1) / [COLUMNS, ROWS, COLUMNS, ROWS]
    return (shares * [width, height, width, height]).astype(np.float32)


@dataclass(frozen=True)
class Patches:
    """Sees scenes by drawing them."""

    camera: Camera = field(default_factory=Camera)

    shape: ClassVar[tuple[int, int]] = (CELLS, NUMBERS)
    dtype: ClassVar[str] = "uint8"

    def see(self, scene: Scene, seed: int = 0) -> Detected:
        """The cells of a drawn scene."""
        return self.look(draw_picture(scene, camera=self.camera))

    def look(self, picture: Image.Image) -> Detected:
        """The cells of a picture."""
        return Detected(cells_of(picture).astype(np.float32), _boxes(*picture.size), *picture.size)

    def plan(self) -> dict[str, Any]:
        """All that the cells depend on, besides the scene."""
        return {"cells": [ROWS, COLUMNS, SIDE], "camera": asdict(self.camera)}
