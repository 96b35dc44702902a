"""Cues of attributes: what an attribute is seen by, as strokes on the object or as a texture of its surface.

Departures from the paper: its pictures are photographs. Every value that a question may ask for can be seen; where a
category has two values, the absence of a cue may stand for one (a thing without blotches is clean).

    cues_of("bag", {"open", "red"})     strokes in front of the object's own
    textured(tile, {"wood", "dirty"}, unit=2, random=Random(0))
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from program_guided.tasks.visual.drawing.strokes import Stroke, read_strokes
from program_guided.tasks.visual.embedded.vocabulary import SURFACES

__all__ = ["CUES", "HEADS", "TEXTURES", "cues_of", "textured"]

CUES = {
    "soft": "ink line 20 6 30 18 40 6; ink line 40 6 50 18 60 6; ink line 60 6 70 18 80 6",
    "hard": "white shape 16 -4 21 10 36 16 21 22 16 36 11 22 -4 16 11 10",
    "heavy": "ink shape 66 78 94 78 102 100 58 100; ink ring 72 66 88 82; white line 70 90 90 90",
    "light": "white blob 60 102 62 78 92 66 100 74 88 94; ink line 60 99 94 72",
    "full": "gold oval 16 0 46 24; rose oval 38 -6 66 20; leaf oval 58 0 86 24",
    "empty": "ink oval 20 4 80 24",
    "open": "pale shape 18 12 26 -8 74 -8 82 12; ink blob 14 8 86 8 76 28 24 28",
    "closed": "ink line 12 24 88 24; gold box 40 18 60 34",
    "on": "lit line 50 -10 50 2; lit line 16 -6 24 4; lit line 84 -6 76 4; lit oval 60 80 76 96",
    "off": "red oval 60 80 76 96",
    "round": "pale oval 32 42 68 78",
    "square": "pale box 34 44 66 76",
    "rectangular": "pale box 20 50 80 72",
    "triangular": "pale shape 50 38 74 78 26 78",
}
"""Value of a thing -> strokes."""
ANIMAL_CUES = {
    "talking": "white soft 14 -6 54 16; white shape 42 14 54 12 60 24; ink line 20 1 48 1; ink line 20 8 40 8",
    "reading": "white shape 64 76 84 82 104 76 104 98 84 104 64 98; ink line 84 82 84 102; ink line 69 84 79 88; "
    "ink line 89 88 99 84",
    "sleeping": "ink line 20 -4 44 -4 20 14 44 14; ink line 46 6 58 6 46 16 58 16",
    "playing": "rose oval 80 76 104 104; white line 82 90 102 90",
    "fat": "blob 2 52 20 44 64 44 82 56 74 94 44 102 10 94; dark oval 38 76 44 82",
    "skinny": "ink line 26 40 30 54 26 68; ink line 38 40 42 54 38 68; ink line 50 40 54 54 50 68",
}
"""Value of an animal, which looks to the right -> strokes."""
HEAD_CUES = {
    "old": "white blob 40 84 96 78 84 128 56 128; white line 22 22 50 14; white line 64 14 92 22",
    "young": "rose shape 2 -24 46 0 2 24; rose shape 90 -24 46 0 90 24; rose oval 36 -10 56 10",
}
"""Value of an animal -> strokes in percent of its head."""
HEADS = {
    "cat": (66, 8, 100, 48),
    "dog": (64, 6, 100, 46),
    "horse": (70, 2, 102, 38),
    "zebra": (70, 2, 102, 38),
    "cow": (66, 12, 96, 52),
    "sheep": (66, 12, 98, 54),
    "elephant": (62, 12, 96, 46),
    "giraffe": (66, 0, 102, 20),
    "goat": (64, 8, 100, 42),
    "rabbit": (56, 34, 92, 70),
    "duck": (54, 4, 90, 42),
    "eagle": (58, 12, 92, 46),
    "parrot": (58, 6, 92, 40),
}
"""Animal -> its head: x1, y1, x2, y2 in percent of the box."""


def cues_of(name: str, attributes: Collection[str]) -> list[Stroke]:
    """Strokes of the attributes of a thing or an animal."""
    strokes: list[Stroke] = []
    for value in attributes:
        found = read_strokes((ANIMAL_CUES if name in HEADS else CUES).get(value, ""))
        if value in ("soft", "hard"):  # on the surface of furniture
            found = tuple(_within(each, (0, round(100 * SURFACES.get(name, 0)), 100, 100)) for each in found)
        strokes += found
        if name in HEADS and value in HEAD_CUES:
            strokes += [_within(each, HEADS[name]) for each in read_strokes(HEAD_CUES[value])]
    return strokes


def _within(stroke: Stroke, part: tuple[int, int, int, int]) -> Stroke:
    """A stroke of a part of the tile."""
    x1, y1, x2, y2 = (side / 100 for side in part)
    return stroke._replace(points=tuple((x1 + x * (x2 - x1), y1 + y * (y2 - y1)) for x, y in stroke.points))


# Textures: drawn on a layer of the tile's size, then masked by the object. `unit` is the width of an outline.

Texture = Callable[[ImageDraw.ImageDraw, Image.Image, int, Random], None]


def _wood(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Grain."""
    width, height = tile.size
    for y in range(2 * unit, height, 7 * unit):
        points = [(x, y + random.randint(-unit, unit)) for x in range(0, width + 4 * unit, 4 * unit)]
        draw.line(points, (92, 52, 20, 240), 2 * unit)


def _metal(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Bright and dark bands of a reflection."""
    width, height = tile.size
    at = round(width * (0.3 + 0.2 * random.random()))
    draw.polygon(
        [(at, 0), (at + 4 * unit, 0), (at - height // 3 + 4 * unit, height), (at - height // 3, height)],
        (255, 255, 255, 215),
    )
    at += 6 * unit
    draw.polygon(
        [(at, 0), (at + 3 * unit, 0), (at - height // 3 + 3 * unit, height), (at - height // 3, height)],
        (40, 50, 60, 150),
    )


def _plastic(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Studs."""
    width, height = tile.size
    for x in range(4 * unit, width, 8 * unit):
        for y in range(4 * unit, height, 8 * unit):
            draw.ellipse(
                (x - 2 * unit, y - 2 * unit, x + 2 * unit, y + 2 * unit),
                (255, 255, 255, 220),
                (20, 20, 20, 220),
                unit,
            )


def _glass(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Pairs of thin glints."""
    width, height = tile.size
    for at in range(-height, width, 14 * unit):
        for further in (0, 3 * unit):
            draw.line((at + further, height, at + further + height, 0), (255, 255, 255, 235), unit)


def _leather(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Crossed seams."""
    width, height = tile.size
    for at in range(-height, width + height, 14 * unit):
        for along in range(0, height, 5 * unit):
            x = at + along
            draw.line((x + 2 * unit, along, x + 4 * unit, along + 2 * unit), (40, 20, 10, 240), 2 * unit)
            draw.line((x, along, x + 2 * unit, along + 2 * unit), (250, 235, 200, 250), 2 * unit)


def _cloth(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Weave."""
    width, height = tile.size
    for x in range(0, width, 6 * unit):
        for y in range(0, height, 6 * unit):
            if (x + y) // (6 * unit) % 2:
                draw.line((x, y, x + 5 * unit, y), (20, 20, 20, 190), 2 * unit)
            else:
                draw.line((x, y, x, y + 5 * unit), (255, 255, 255, 190), 2 * unit)


def _dirty(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    """Blotches, on the object."""
    rows, columns = np.asarray(tile.getchannel("A")).nonzero()
    for _ in range(BLOTCHES if len(rows) else 0):
        at, r = random.randrange(len(rows)), (0.05 + 0.06 * random.random()) * min(tile.size) + unit
        x, y = float(columns[at]), float(rows[at])
        draw.ellipse((x - 1.3 * r, y - r, x + 1.3 * r, y + r), (70, 72, 28, 240), (38, 36, 12, 255), unit)


BLOTCHES = 4
GAP = 9
"""Distance of the lines of a pattern in widths of the outline."""


def _striped(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    for x in range(GAP * unit // 2, tile.width, GAP * unit):
        draw.line((x, 0, x, tile.height), (0, 0, 0, 255), 3 * unit)


def _checkered(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    side = GAP * unit // 2
    for x in range(0, tile.width, side):
        for y in range((x // side % 2) * side, tile.height, 2 * side):
            draw.rectangle((x, y, x + side, y + side), (0, 0, 0, 255))


def _dotted(draw: ImageDraw.ImageDraw, tile: Image.Image, unit: int, random: Random) -> None:
    gap = GAP * unit
    for row, y in enumerate(range(gap // 2, tile.height, gap)):
        for x in range(gap // 2 * (1 + row % 2), tile.width, gap):
            draw.ellipse((x - 2 * unit, y - 2 * unit, x + 2 * unit, y + 2 * unit), (0, 0, 0, 255))


TEXTURES: dict[str, Texture] = {
    "wood": _wood,
    "metal": _metal,
    "plastic": _plastic,
    "glass": _glass,
    "leather": _leather,
    "cloth": _cloth,
    "striped": _striped,
    "checkered": _checkered,
    "dotted": _dotted,
    "dirty": _dirty,
}
"""Value -> its texture, in the order in which they are laid on."""
PATTERNS = ("striped", "checkered", "dotted")
"""Patterns, of the lower half: the material is seen in the upper one."""
MATERIALS = ("wood", "metal", "plastic", "glass", "leather", "cloth")
GRAIN = 40
"""Sides of a tile in units of the texture of a material, at most: it is as coarse as the object is large."""
CLEAR = 0.6
"""Opacity of glass."""


def textured(tile: Image.Image, attributes: Collection[str], unit: int, random: Random) -> Image.Image:
    """The tile with the textures of an object's attributes."""
    if "glass" in attributes:
        tile.putalpha(tile.getchannel("A").point([round(CLEAR * value) for value in range(256)]))
    for value, draw_texture in TEXTURES.items():
        if value in attributes:
            layer = Image.new("RGBA", tile.size)
            grain = max(unit + 1, min(tile.size) // GRAIN) if value in MATERIALS else unit
            draw_texture(ImageDraw.Draw(layer), tile, grain, random)
            if value in PATTERNS:
                if "black" in attributes:
                    layer = ImageChops.add(layer, Image.new("RGBA", tile.size, (245, 245, 245, 0)))
                layer.paste((0, 0, 0, 0), (0, 0, tile.width, tile.height // 2))
            shown = ImageChops.multiply(layer.getchannel("A"), tile.getchannel("A"))
            tile.paste(layer.convert("RGB"), mask=shown)
    return tile
