"""The two type faces of the pictures, at any size, on any machine.

DejaVu Sans Mono comes with matplotlib and with most Linux systems; where neither is found, PIL's own face takes its
place. Code is written on a fixed pitch either way, so a picture has the same size everywhere.

    write_code(draw, (10, 20), "mine(gold)", "#ffffff", pitch=8)
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageDraw, ImageFont

from program_guided.tasks.minecraft.pictures.listing import ELLIPSIS

__all__ = ["Font", "fitted", "label_font", "write_code"]

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
CODE_FACE = "DejaVuSansMono.ttf"
EMS_PER_PITCH = 1 / 0.602
"""The face's size, for characters one pitch wide."""


@cache
def label_font(size: int) -> Font:
    """The face of all text but code."""
    return ImageFont.load_default(size)


@cache
def _code_font(pitch: int) -> Font:
    size = pitch * EMS_PER_PITCH
    for place in _code_faces():
        try:
            return ImageFont.truetype(place, size)
        except OSError:
            continue
    return ImageFont.load_default(round(size))


def _code_faces() -> tuple[str, ...]:
    # find_spec locates matplotlib without importing it, which would take a second.
    matplotlib = find_spec("matplotlib")
    if matplotlib is None or matplotlib.origin is None:
        return (CODE_FACE,)
    return (str(Path(matplotlib.origin).parent / "mpl-data" / "fonts" / "ttf" / CODE_FACE), CODE_FACE)


def write_code(draw: ImageDraw.ImageDraw, place: tuple[float, float], text: str, fill: str, pitch: int) -> None:
    """Write from the left, vertically centred on the place, each character one pitch after the last."""
    x, y = place
    for index, character in enumerate(text):
        if not character.isspace():
            draw.text((x + (index + 0.5) * pitch, y), character, fill, _code_font(pitch), anchor="mm")


def fitted(text: str, font: Font, width: float) -> str:
    """The text, cut so that it is at most `width` pixels wide."""
    if font.getlength(text) <= width:
        return text
    room = bisect_right(range(len(text)), width, key=lambda count: font.getlength(text[:count] + ELLIPSIS))
    return text[: max(0, room - 1)] + ELLIPSIS
