"""Paints an object of the embedded world on transparent tiles, with all of its attributes.

Departures from the paper: its pictures are photographs.

A tile is larger than the object's box by `PADDING` on every side. An object has two layers: its body, and what is in
front of the things that it holds, wears or contains (hands, props, the wall of a container).

    body, front = paint_thing(scene.objects["3"], (48, 48), unit=1, random=Random(0))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image, ImageColor, ImageDraw

from program_guided.tasks.visual.drawing.cues import cues_of, textured
from program_guided.tasks.visual.drawing.glyphs import GLYPHS, LEGS
from program_guided.tasks.visual.drawing.people import PEOPLE, figure
from program_guided.tasks.visual.drawing.strokes import Point, Stroke
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, RULE_OF
from program_guided.tasks.visual.graph import SceneObject

__all__ = ["INK", "PADDING", "paint_thing"]

INK, PLAIN = "#1d1d1d", "#b9c4cc"
PADDING = 0.12
"""Space around the box on a tile, in sides of the box."""
COLORS = {
    "white": "#f7f7f7",
    "black": "#3a3a3a",
    "brown": "#8b5a2b",
    "blue": "#3b6fd4",
    "green": "#3c9d4e",
    "red": "#d43b3b",
    "yellow": "#f0c930",
    "purple": "#8a4fc7",
    "chocolate": "#6b4226",
    "vanilla": "#f3e5ab",
    "strawberry": "#f08a9b",
}
"""Attribute -> color."""
CLOTHES = ("#7d93a8", "#a58f6f", "#86a68c", "#b07f8f", "#8f86b5", "#c2a45f")
"""Colors of people, who have no color attribute."""
SKINS = ("#f2cfae", "#e8b892", "#c68a5f", "#8f5b3c")
HAIRS = {"old": ("#dcdcdc",), "young": ("#d07a2d", "#c9622a")}
"""Age -> colors of the hair; others in `USUAL_HAIRS`."""
USUAL_HAIRS = ("#5a3b22", "#2b2220", "#3f2a1a")
NATURAL = {"fast food": "#e0a648"}
"""Class whose objects have no color attribute -> color."""
FIXED = {
    "ink": INK,
    "white": "#fbfbfb",
    "skin": "#e8b892",
    "hair": "#5a3b22",
    "wood": "#7a5230",
    "leaf": "#4c9a52",
    "gold": "#eeb033",
    "rose": "#e5738a",
    "red": "#e02020",
    "lit": "#ffe94a",
    "denim": "#4a6a94",
    "glass": "#cfe3ee",
    "steel": "#8d979e",
    "shadow": "#00000050",
}
"""Colors of strokes that do not depend on the object's own."""
SCREENS = {"on": "#fff27a", "off": "#2b3136"}
"""State of a device -> color of its glass."""
SHADES = {"main": (0.0, "#000000"), "dark": (0.25, "#000000"), "pale": (0.6, "#ffffff")}
"""Colors of strokes that mix the object's own with a share of another."""
BAR = 0.045
"""Width of a bar in sides of the tile."""
CUTS = 3
"""Number of corner-cutting iterations of a blob (Chaikin's algorithm)."""
WARP = 0.07
"""Maximum deformation of a variant."""
LYING = 0.8
"""Share of the height of an animal that is left when it lies."""

Points = list[Point]


@dataclass(frozen=True)
class Pen:
    """Canvas and color of a stroke, and the widths of outlines and bars."""

    draw: ImageDraw.ImageDraw
    color: str
    outline: int
    bar: int


def _oval(pen: Pen, points: Points) -> None:
    pen.draw.ellipse(points, pen.color, None if _is_clear(pen) else INK, pen.outline)


def _is_clear(pen: Pen) -> bool:
    """True for colors that are not opaque, which have no outline."""
    return len(pen.color) > len(INK)


def _ring(pen: Pen, points: Points) -> None:
    """An oval that is not filled."""
    (x1, y1), (x2, y2) = points
    edge = pen.outline
    pen.draw.ellipse(points, None, INK, pen.bar + 2 * edge)
    if min(x2 - x1, y2 - y1) > 2 * edge:
        pen.draw.ellipse((x1 + edge, y1 + edge, x2 - edge, y2 - edge), None, pen.color, pen.bar)


def _box(pen: Pen, points: Points) -> None:
    pen.draw.rectangle(_ordered(points), pen.color, INK, pen.outline)


def _soft(pen: Pen, points: Points) -> None:
    """A rectangle with round corners."""
    (x1, y1), (x2, y2) = _ordered(points)
    pen.draw.rounded_rectangle(((x1, y1), (x2, y2)), 0.25 * min(x2 - x1, y2 - y1), pen.color, INK, pen.outline)


def _ordered(points: Points) -> Points:
    (x1, y1), (x2, y2) = points
    return [(min(x1, x2), min(y1, y2)), (max(x1, x2), max(y1, y2))]


def _shape(pen: Pen, points: Points) -> None:
    """A polygon."""
    pen.draw.polygon(points, pen.color)
    pen.draw.line([*points, *points[:2]], INK, pen.outline, "curve")


def _blob(pen: Pen, points: Points) -> None:
    """A polygon whose corners are cut until it is round."""
    for _ in range(CUTS):
        points = [each for at, point in enumerate(points) for each in _cut(points[at - 1], point)]
    _shape(pen, points)


def _cut(one: Point, other: Point) -> tuple[Point, Point]:
    """The points at a quarter and at three quarters of an edge."""
    (x1, y1), (x2, y2) = one, other
    return (0.75 * x1 + 0.25 * x2, 0.75 * y1 + 0.25 * y2), (0.25 * x1 + 0.75 * x2, 0.25 * y1 + 0.75 * y2)


def _line(pen: Pen, points: Points) -> None:
    pen.draw.line(points, pen.color, 2 * pen.outline, "curve")


def _bar(pen: Pen, points: Points) -> None:
    """A thick line with an outline."""
    pen.draw.line(points, INK, pen.bar + 2 * pen.outline)
    pen.draw.line(points, pen.color, pen.bar)


KINDS: dict[str, Callable[[Pen, Points], None]] = {
    "oval": _oval,
    "ring": _ring,
    "box": _box,
    "soft": _soft,
    "shape": _shape,
    "blob": _blob,
    "line": _line,
    "bar": _bar,
}


def paint_thing(
    thing: SceneObject, size: tuple[int, int], unit: int, random: Random, light: float = 0.0
) -> tuple[Image.Image, Image.Image | None]:
    """Paint an object's body, and what is in front of its guests, on tiles around a box of a size.

    `unit` is the width of an outline in pixels, `light` the direction that light comes from, -1 (left) to 1. The random
    numbers choose the variant: colors that no attribute names, optional strokes, deformation, direction.
    """
    relations = {name for name, _ in thing.relations if name in RULE_OF}
    colors = _colors(thing, random)
    warped = _warp(random)
    if thing.name in PEOPLE:
        body, front = figure(thing.name, thing.attributes, relations)
        tile = _painted(_varied(body, random), colors, size, unit, warped)
        over = _painted(front, colors, size, unit, warped) if front else None
        return _lit(tile, light), over
    strokes = _varied(_strokes_of(thing, relations), random)
    mirrored = thing.name not in HANDED and not relations and random.random() < 0.5
    tile = textured(_painted(strokes, colors, size, unit, warped), thing.attributes, unit, random)
    cues = cues_of(thing.name, thing.attributes)
    tile = _painted(cues, colors, size, unit, warped, _lit(tile, light))
    if mirrored:
        tile = tile.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return tile, _wall(tile) if CLASS_OF.get(thing.name) == "container" else None


HANDED = frozenset({"street sign", "traffic sign", "stop sign", "radio", "phone"})
"""Names with signs or letters, which are not mirrored."""


def _strokes_of(thing: SceneObject, relations: Collection[str]) -> tuple[Stroke, ...]:
    kind = CLASS_OF.get(thing.name, "")
    strokes = GLYPHS[thing.name if thing.name in GLYPHS else kind if kind in GLYPHS else ""]
    if "lying on" not in relations:
        return strokes
    kept = [each for each in strokes if each not in LEGS]
    return tuple(each._replace(points=tuple((x, min(1.0, y / LYING)) for x, y in each.points)) for each in kept)


def _colors(thing: SceneObject, random: Random) -> dict[str, str]:
    """Colors of the strokes; those that no attribute names are chosen."""
    clothes = CLOTHES[random.randrange(len(CLOTHES))]
    usual = clothes if thing.name in PEOPLE else NATURAL.get(CLASS_OF.get(thing.name, ""), PLAIN)
    own = next((COLORS[value] for value in thing.attributes if value in COLORS), usual)
    own = _tinted(own, random)
    age = next((value for value in thing.attributes if value in HAIRS), "")
    hairs = HAIRS.get(age, USUAL_HAIRS)
    found = FIXED | {shade: _mixed(own, *how) for shade, how in SHADES.items()}
    found["skin"] = SKINS[random.randrange(len(SKINS))]
    found["hair"] = hairs[random.randrange(len(hairs))]
    found["glass"] = next((SCREENS[value] for value in thing.attributes if value in SCREENS), FIXED["glass"])
    return found


def _tinted(color: str, random: Random) -> str:
    """A color, slightly lighter or darker."""
    return _mixed(color, 0.12 * random.random(), "#ffffff" if random.random() < 0.5 else "#000000")


def _varied(strokes: Iterable[Stroke], random: Random) -> list[Stroke]:
    """The strokes of a variant."""
    return [each for each in strokes if not each.optional or random.random() < 0.5]


Warp = Callable[[float, float], Point]


def _warp(random: Random) -> Warp:
    """A slight deformation: the box is narrower at the top or at the bottom, leans, and bulges."""
    taper, lean, bulge = (WARP * (2 * random.random() - 1) for _ in range(3))

    def warped(x: float, y: float) -> Point:
        across, down = x - 0.5, y - 0.5
        x = 0.5 + across * (1 - abs(taper) + 2 * taper * down) + lean * down * 0.6
        return x, y + bulge * (0.25 - across * across) * (0.25 - down * down) * 2

    return warped


def _painted(
    strokes: Sequence[Stroke],
    colors: dict[str, str],
    size: tuple[int, int],
    unit: int,
    warped: Warp,
    tile: Image.Image | None = None,
) -> Image.Image:
    """A tile with strokes."""
    width, height = size
    left, top = round(PADDING * width), round(PADDING * height)
    tile = tile or Image.new("RGBA", (width + 2 * left, height + 2 * top))
    draw, bar = ImageDraw.Draw(tile), max(unit, round(BAR * min(size)))
    for stroke in strokes:
        points = [
            (left + x * (width - 1), top + y * (height - 1)) for x, y in (warped(*each) for each in stroke.points)
        ]
        KINDS[stroke.kind](Pen(draw, colors[stroke.color], unit, bar), points)
    return tile


def _lit(tile: Image.Image, light: float) -> Image.Image:
    """The tile with light from a side."""
    pixels = np.asarray(tile).astype(np.float32)
    across = np.linspace(-1, 1, tile.width, dtype=np.float32)[None, :, None]
    pixels[..., :3] *= 1 + 0.13 * light * across - 0.03
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8), "RGBA")


WALL = 0.42
"""Height at which the front wall of a container begins, in sides of the tile."""


def _wall(tile: Image.Image) -> Image.Image:
    """The lower part of a container, which hides the lower part of what is in it."""
    front = Image.new("RGBA", tile.size)
    top = round(WALL * tile.height)
    front.paste(tile.crop((0, top, *tile.size)), (0, top))
    return front


def _mixed(color: str, share: float, other: str) -> str:
    one, two = ImageColor.getrgb(color), ImageColor.getrgb(other)
    red, green, blue = (round((1 - share) * a + share * b) for a, b in zip(one[:3], two[:3], strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
