"""Paints an object of the embedded world on a transparent tile, with its color, pattern and shape.

Departures from the paper: its pictures are photographs.

    paint_thing(scene.objects["3"], (48, 48), outline=1).save("hat.png")
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from PIL import Image, ImageChops, ImageColor, ImageDraw

from program_guided.tasks.visual.drawing.glyphs import GLYPHS, SMILING, Stroke
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, WORLD_VALUES
from program_guided.tasks.visual.graph import SceneObject

__all__ = ["INK", "paint_thing"]

INK, PLAIN = "#1d1d1d", "#b9c4cc"
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
NATURAL = {"adult": "#7d93a8", "worker": "#a58f6f", "child": "#86a68c", "fast food": "#e0a648"}
"""Class whose objects have no color attribute -> color."""
FIXED = {
    "ink": INK,
    "white": "#fbfbfb",
    "skin": "#e8b892",
    "hair": "#5a3b22",
    "wood": "#7a5230",
    "leaf": "#4c9a52",
    "gold": "#eeb033",
    "rose": "#e58f9b",
    "glass": "#cfe3ee",
    "steel": "#8d979e",
}
"""Colors of strokes that do not depend on the object's own."""
SHADES = {"main": (0.0, "#000000"), "dark": (0.25, "#000000"), "pale": (0.6, "#ffffff")}
"""Colors of strokes that mix the object's own with a share of another."""
WHOLE = (0.0, 0.0, 1.0, 1.0)
ROOM = {
    "round": (0.15, 0.15, 0.85, 0.85),
    "square": (0.08, 0.08, 0.92, 0.92),
    "rectangular": (0.06, 0.08, 0.94, 0.92),
    "triangular": (0.23, 0.44, 0.77, 0.97),
}
"""Area inside of a shape that the object is drawn in: x1, y1, x2, y2 in sides of the box."""
BAR, GAP = 0.045, 9
"""Width of a bar in sides of the tile; distance of the lines of a pattern in widths of the outline."""
CUTS = 3
"""Number of corner-cutting iterations of a blob (Chaikin's algorithm)."""

Point = tuple[float, float]
Room = tuple[float, float, float, float]
Points = list[Point]


@dataclass(frozen=True)
class Pen:
    """Canvas and color of a stroke, and the widths of outlines and bars."""

    draw: ImageDraw.ImageDraw
    color: str
    outline: int
    bar: int


def _oval(pen: Pen, points: Points) -> None:
    pen.draw.ellipse(points, pen.color, INK, pen.outline)


def _ring(pen: Pen, points: Points) -> None:
    """An oval that is not filled."""
    (x1, y1), (x2, y2) = points
    edge = pen.outline
    pen.draw.ellipse(points, None, INK, pen.bar + 2 * edge)
    if min(x2 - x1, y2 - y1) > 2 * edge:
        pen.draw.ellipse((x1 + edge, y1 + edge, x2 - edge, y2 - edge), None, pen.color, pen.bar)


def _box(pen: Pen, points: Points) -> None:
    pen.draw.rectangle(points, pen.color, INK, pen.outline)


def _soft(pen: Pen, points: Points) -> None:
    """A rectangle with round corners."""
    (x1, y1), (x2, y2) = points
    pen.draw.rounded_rectangle(points, 0.25 * min(x2 - x1, y2 - y1), pen.color, INK, pen.outline)


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


def paint_thing(thing: SceneObject, size: tuple[int, int], outline: int) -> Image.Image:
    """Paint an object on a tile of a size, inside of its shape if it has one."""
    kind = CLASS_OF.get(thing.name, "")
    name = thing.name if thing.name in GLYPHS else kind
    own = next((COLORS[value] for value in thing.attributes if value in COLORS), NATURAL.get(kind, PLAIN))
    tile, room = Image.new("RGBA", size), WHOLE
    for shape in _known(thing, ROOM):
        frame = _square(size) if shape == "square" else WHOLE
        _paint(tile, GLYPHS[shape], _mixed(own, *SHADES["pale"]), outline, frame)
        room = _inside(frame, ROOM[shape])
    for drawing in (name, *(_known(thing, WORLD_VALUES["face expression"]) if name in SMILING else ())):
        _paint(tile, GLYPHS[drawing], own, outline, room)
    return _patterned(tile, thing, outline)


def _known(thing: SceneObject, values: Collection[str]) -> list[str]:
    """The first attribute among these values, in a list; empty if there is none."""
    return [value for value in thing.attributes if value in values][:1]


def _paint(tile: Image.Image, strokes: tuple[Stroke, ...], own: str, outline: int, room: Room) -> None:
    draw = ImageDraw.Draw(tile)
    colors = FIXED | {shade: _mixed(own, *how) for shade, how in SHADES.items()}
    x1, y1, x2, y2 = (share * (side - 1) for share, side in zip(room, (*tile.size, *tile.size), strict=True))
    bar = max(outline, round(BAR * min(x2 - x1, y2 - y1)))
    for stroke in strokes:
        points = [(x1 + x * (x2 - x1), y1 + y * (y2 - y1)) for x, y in stroke.points]
        KINDS[stroke.kind](Pen(draw, colors[stroke.color], outline, bar), points)


def _square(size: tuple[int, int]) -> Room:
    """The largest square in the middle of a tile."""
    across, down = (min(size) / side / 2 for side in size)
    return 0.5 - across, 0.5 - down, 0.5 + across, 0.5 + down


def _inside(room: Room, part: Room) -> Room:
    """A part of a room, in coordinates of the tile."""
    x1, y1, x2, y2 = room
    width, height = x2 - x1, y2 - y1
    return x1 + part[0] * width, y1 + part[1] * height, x1 + part[2] * width, y1 + part[3] * height


def _mixed(color: str, share: float, other: str) -> str:
    one, two = ImageColor.getrgb(color), ImageColor.getrgb(other)
    red, green, blue = (round((1 - share) * a + share * b) for a, b in zip(one[:3], two[:3], strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _patterned(tile: Image.Image, thing: SceneObject, outline: int) -> Image.Image:
    """The tile with the object's pattern, masked by the object."""
    pattern = Image.new("L", tile.size)
    draw, (width, height), gap = ImageDraw.Draw(pattern), tile.size, GAP * outline
    across, along = range(gap // 2, width, gap), range(gap // 2, height, gap)
    if "striped" in thing.attributes or "checkered" in thing.attributes:
        for x in across:
            draw.line((x, 0, x, height), 255, 2 * outline)
    if "checkered" in thing.attributes:
        for y in along:
            draw.line((0, y, width, y), 255, 2 * outline)
    if "dotted" in thing.attributes:
        for x, y in ((x, y) for x in across for y in along):
            draw.ellipse((x - 2 * outline, y - 2 * outline, x + 2 * outline, y + 2 * outline), 255)
    tile.paste(
        FIXED["white"] if "black" in thing.attributes else INK, mask=ImageChops.multiply(pattern, tile.getchannel("A"))
    )
    return tile
