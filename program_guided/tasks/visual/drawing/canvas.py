"""Canvases of figures: a photograph, a drawn scene, or boxes where there is no picture; crops, and heat on them.

canvas = canvas_of(background, (760, 600))
canvas.crop(box, 64, 100), canvas.heated(((box, 0.9), (other, 0.1)), 84)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from program_guided.tasks.visual.drawing.findings import Background, Corners
from program_guided.tasks.visual.drawing.labels import overlap_area, scaled
from program_guided.tasks.visual.drawing.marks import Label, boxes_of, scene_behind
from program_guided.tasks.visual.drawing.scene import draw_picture
from program_guided.tasks.visual.drawing.shapes import font_of, text_width
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF
from program_guided.tasks.visual.graph import Scene

__all__ = ["Canvas", "canvas_of", "draw_names"]

MAX_SCALE = 2.0
"""Maximum enlargement of a picture."""
SMALLEST = (160, 120)
"""Smallest canvas; a picture that is narrower stands in its corner."""
PAPER, OUTLINE, NAME = "#f4f5f7", "#b5b9c0", "#737a84"
"""Colors of an empty canvas, of boxes on it, and of their names."""
CONTEXT, ASPECTS = 0.12, (0.6, 1.7)
"""Space around an object in its crop, as a share of its sides, and limits of the crop's width over its height."""
WARM, HOT = (255, 214, 74), (214, 16, 32)
"""Colors of little and of much attention."""
FAINTEST = 0.1
"""Largest attention weight of a picture from which heat is relative to it."""


@dataclass(frozen=True)
class Canvas:
    """A picture at the scale at which it is shown."""

    picture: Image.Image
    scale: float
    drawn: bool
    """False for an empty canvas with boxes."""

    def crop(self, box: Corners, height: int, width: int) -> Image.Image:
        """The contents of a box with some context, of a height and at most of a width."""
        x1, y1, x2, y2 = scaled(box, self.scale)
        wide, high = ((1 + 2 * CONTEXT) * max(4.0, side) for side in (x2 - x1, y2 - y1))
        widest = min(ASPECTS[1], width / height)
        wide, high = max(wide, min(ASPECTS[0], widest) * high), max(high, wide / widest)
        left, top = (x1 + x2 - wide) / 2, (y1 + y2 - high) / 2
        left, wide = _inside(left, wide, self.picture.width)
        top, high = _inside(top, high, self.picture.height)
        part = self.picture.crop((left, top, left + wide, top + high))
        fitted = max(1, min(round(part.width * height / part.height), width))
        return part.resize((fitted, height), Image.Resampling.LANCZOS)

    def heated(self, attention: Sequence[tuple[Corners, float]], height: int) -> Image.Image:
        """The whole picture, small and grey, with heat where attention is."""
        size = max(1, round(self.picture.width * height / self.picture.height)), height
        small = np.asarray(self.picture.resize(size, Image.Resampling.LANCZOS).convert("L").convert("RGB"), float)
        heat = np.zeros((height, size[0]))
        scale = self.scale * height / self.picture.height
        for box, weight in attention:
            x1, y1, x2, y2 = (max(0, round(side)) for side in scaled(box, scale))
            area = heat[y1 : max(y2, y1 + 1), x1 : max(x2, x1 + 1)]
            np.maximum(area, weight, out=area)
        heat /= max(FAINTEST, max((weight for _, weight in attention), default=0.0))
        soft = Image.fromarray((255 * heat.clip(0, 1)).astype(np.uint8)).filter(ImageFilter.GaussianBlur(height / 60))
        share = (np.asarray(soft, float) / 255)[..., None]
        color = np.array(WARM) * (1 - share) + np.array(HOT) * share
        alpha = 0.8 * share**0.6
        mixed = (1 - alpha) * (60 + 0.7 * small) + alpha * color
        return Image.fromarray(mixed.clip(0, 255).astype(np.uint8))


def _inside(start: float, length: float, side: int) -> tuple[int, int]:
    """Start and length of a crop along a side, moved into the picture."""
    length = max(1, min(side, round(length)))
    return max(0, min(side - length, round(start))), length


def canvas_of(background: Background, limits: tuple[int, int]) -> Canvas:
    """The picture of a background, as large as fits."""
    scale = min(MAX_SCALE, limits[0] / background.width, limits[1] / background.height)
    size = max(1, round(background.width * scale)), max(1, round(background.height * scale))
    if isinstance(background, Scene) and all(thing.name in CLASS_OF for thing in background.objects.values()):
        return Canvas(_padded(draw_picture(background, scale)), scale, True)
    if not isinstance(background, Scene) and background.picture is not None:
        return Canvas(_padded(background.picture.resize(size, Image.Resampling.LANCZOS)), scale, True)
    picture = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, size[0] - 1, size[1] - 1), outline=OUTLINE)
    for box in boxes_of(background):
        draw.rectangle([round(side) for side in scaled(box, scale)], outline=OUTLINE)
    return Canvas(_padded(picture), scale, False)


def _padded(picture: Image.Image) -> Image.Image:
    """The picture on a canvas that is not too small for labels."""
    size = max(picture.width, SMALLEST[0]), max(picture.height, SMALLEST[1])
    if size == picture.size:
        return picture
    whole = Image.new("RGB", size, "white")
    whole.paste(picture, (0, 0))
    return whole


def draw_names(picture: Image.Image, background: Background, scale: float, text: int, labels: Sequence[Label]) -> None:
    """Write the names of the objects without labels into their boxes, small ones first, where there is room."""
    scene, taken = scene_behind(background), [label.place for label in labels]
    named, draw = {label.mark.box for label in labels}, ImageDraw.Draw(picture)
    for thing in sorted(scene.objects.values() if scene else (), key=lambda thing: thing.box.area):
        x1, y1, x2, _ = scaled(thing.box.corners, scale)
        place = (x1, y1, x1 + text_width(thing.name, text) + 6, y1 + text + 6)
        fits = x1 >= 0 and y1 >= 0 and place[2] < min(picture.width, max(x2, x1 + 40)) and place[3] < picture.height
        if fits and thing.box.corners not in named and not any(overlap_area(place, other) for other in taken):
            draw.text((x1 + 3, y1 + 2), thing.name, fill=NAME, font=font_of(text))
            taken.append(place)
