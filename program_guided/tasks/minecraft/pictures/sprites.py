"""The things of the world as small drawings, made of shapes at first use; there are no image files.

A sprite is drawn on a canvas of 48 x 48 units, four times as large as wanted, and reduced. Terrain fills its
cell (but for the merchant); objects and the agent leave the rest of the cell transparent.

    sprite("gold", 48).save("gold.png")
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from PIL import Image, ImageDraw, ImageFilter

__all__ = ["SPRITES", "sprite"]

UNITS = 48
OVERSAMPLING = 4
Point = tuple[float, float]

GRASS, GRASS_DARK, GRASS_LIGHT = "#a9d08a", "#8dba6e", "#bfe0a2"
WATER, WATER_DARK, WATER_LIGHT = "#4c9fe3", "#3b87cb", "#a5d8fa"
PLANK, PLANK_LIGHT, PLANK_DARK = "#c68b52", "#dba76d", "#7a4a24"
INK = "#3a2b25"


@cache
def sprite(name: str, size: int) -> Image.Image:
    """The drawing of a thing (or of "agent"), `size` pixels wide and high. It is shared: copy it to change it."""
    brush = Brush(size * OVERSAMPLING)
    SPRITES[name](brush)
    return brush.image.reduce(OVERSAMPLING)


class Brush:
    """Draws on a transparent square, in units."""

    def __init__(self, pixels: int) -> None:
        self.scale = pixels / UNITS
        self.image = Image.new("RGBA", (pixels, pixels))
        self.draw = ImageDraw.Draw(self.image)

    def box(self, left: float, top: float, right: float, bottom: float, fill: str, radius: float = 0) -> None:
        self.draw.rounded_rectangle(self._corners(left, top, right, bottom), radius * self.scale, fill)

    def oval(self, left: float, top: float, right: float, bottom: float, fill: str) -> None:
        self.draw.ellipse(self._corners(left, top, right, bottom), fill)

    def disc(self, x: float, y: float, radius: float, fill: str) -> None:
        self.oval(x - radius, y - radius, x + radius, y + radius, fill)

    def half_disc(self, x: float, y: float, radius: float, fill: str, start: float = 180) -> None:
        """Half of a disc, from the angle `start` clockwise; 180 is the upper half."""
        corners = self._corners(x - radius, y - radius, x + radius, y + radius)
        self.draw.pieslice(corners, start, start + 180, fill)

    def area(self, points: Sequence[Point], fill: str) -> None:
        self.draw.polygon(self._scaled(points), fill)

    def line(self, points: Sequence[Point], fill: str, width: float) -> None:
        """A line with round joints and ends."""
        self.draw.line(self._scaled(points), fill, round(width * self.scale), joint="curve")
        for x, y in (points[0], points[-1]):
            self.disc(x, y, width / 2, fill)

    def outline(self, fill: str, width: float) -> None:
        """Surround all that is drawn so far."""
        spread = self.image.getchannel("A").filter(ImageFilter.GaussianBlur(width * self.scale))
        behind = Image.new("RGBA", self.image.size, fill)
        behind.putalpha(spread.point([0] * 40 + [255] * 216))
        self._put_behind(behind)

    def shadow(self, left: float, top: float, right: float, bottom: float) -> None:
        """A soft oval on the ground, under all that is drawn so far."""
        behind = Image.new("RGBA", self.image.size)
        ImageDraw.Draw(behind).ellipse(self._corners(left, top, right, bottom), "#1f3a1460")
        self._put_behind(behind.filter(ImageFilter.GaussianBlur(self.scale)))

    def _put_behind(self, behind: Image.Image) -> None:
        self.image = Image.alpha_composite(behind, self.image)
        self.draw = ImageDraw.Draw(self.image)

    def _scaled(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self.scale, y * self.scale) for x, y in points]

    def _corners(self, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        # PIL paints the last pixel too.
        return left * self.scale, top * self.scale, right * self.scale - 1, bottom * self.scale - 1


def _flat(brush: Brush) -> None:
    brush.box(0, 0, 48, 48, GRASS)
    for x, y in ((9, 13), (34, 9), (22, 29), (40, 36), (8, 40)):
        for lean in (-2.5, 0, 2.5):
            brush.line([(x, y), (x + lean, y - 4 + abs(lean) / 2)], GRASS_DARK, 1.1)
    for x, y in ((21, 8), (42, 20), (8, 26), (27, 42)):
        brush.disc(x, y, 1.1, GRASS_LIGHT)


def _wall(brush: Brush) -> None:
    brush.box(0, 0, 48, 48, "#e3d0bd")
    courses = ((-12, "#b5523b"), (12, "#c4644a"), (36, "#b5523b")), ((0, "#bf5b42"), (24, "#a94a35"))
    for course in range(4):
        top = course * 12
        for left, colour in courses[course % 2]:
            brush.box(left + 1, top + 1, left + 23, top + 11, colour, 1)
            brush.box(left + 1.6, top + 1.4, left + 22.4, top + 3, "#d88468", 0.8)
            brush.box(left + 1.6, top + 9.4, left + 22.4, top + 11, "#8f3a29", 0.8)


def _river(brush: Brush) -> None:
    brush.box(0, 0, 48, 48, WATER)
    for middle, phase, colour, width in (
        (4, 1.5, WATER_DARK, 2.4),
        (12, 0, WATER_LIGHT, 2.2),
        (20, 1.5, WATER_DARK, 2.4),
        (28, 3, WATER_LIGHT, 2.2),
        (36, 4.5, WATER_DARK, 2.4),
        (43, 1, WATER_LIGHT, 1.6),
    ):
        # Two whole periods a cell, so that waves run on into the next one.
        wave = [(x, middle + 2.2 * math.sin(x * math.pi / 12 + phase)) for x in range(-2, 51)]
        brush.line(wave, colour, width)


def _bridge(brush: Brush) -> None:
    """Crossed from top to bottom, the river flowing on both sides."""
    _river(brush)
    brush.box(9, 0, 39, 48, PLANK_DARK)
    for number in range(6):
        top = number * 8
        brush.box(11, top + 0.6, 37, top + 7.4, PLANK if number % 2 else PLANK_LIGHT, 0.8)
        brush.line([(15, top + 5), (24, top + 5)], "#a86f3c", 0.8)
        brush.line([(28, top + 3), (33, top + 3)], "#a86f3c", 0.8)
    for left in (7, 36.5):
        brush.box(left, 0, left + 4.5, 48, PLANK_DARK)
        brush.box(left + 0.9, 0, left + 3.2, 48, "#9a6132")
        for middle in (8, 40):
            brush.disc(left + 2.2, middle, 3.4, INK)
            brush.disc(left + 2.2, middle - 0.4, 2.5, PLANK_LIGHT)


def _merchant(brush: Brush) -> None:
    """A stall with a striped awning and a person behind the counter."""
    brush.box(8, 14, 40, 34, "#5b4636")
    brush.disc(24, 23, 6, "#f3c9a0")
    brush.half_disc(24, 22, 6.4, "#6b3f22")
    brush.box(17, 28.5, 31, 36, "#3f8f6b", 3)
    for x in (21.6, 26.4):
        brush.disc(x, 23.6, 0.9, INK)
    brush.line([(22, 26), (24, 26.8), (26, 26)], "#a2543c", 0.9)
    for left in (5.0, 40.0):
        brush.box(left, 12, left + 3, 45, "#8a5a30")
    brush.box(3, 32, 45, 36, PLANK_LIGHT, 1)
    brush.box(5, 36, 43, 45, PLANK, 1)
    for x in (14.5, 24, 33.5):
        brush.line([(x, 37), (x, 44)], "#9a6132", 0.9)
    for x, colour in ((8, "#e5484d"), (13, "#f2b21b"), (35, "#f2b21b"), (40, "#7cb342")):
        brush.disc(x, 30.2, 2.6, colour)
    for number in range(5):
        colour = "#fff6ea" if number % 2 else "#e0413a"
        upper, left = 7 + number * 6.8, 2 + number * 8.8
        brush.area([(upper, 3), (upper + 6.8, 3), (left + 8.8, 13), (left, 13)], colour)
        brush.half_disc(left + 4.4, 12.8, 4.4, colour, start=0)
    brush.outline(INK, 0.8)
    brush.shadow(1, 41, 47, 48)


def _bar(brush: Brush, left: float, bottom: float, width: float, colours: tuple[str, str, str]) -> None:
    """A cast bar from the front and slightly above; colours of its front, top and right side."""
    front, top, side = colours
    right = left + width
    brush.area([(left, bottom), (right, bottom), (right - 3, bottom - 10), (left + 3, bottom - 10)], front)
    high, back = bottom - 10, bottom - 14.5
    brush.area([(left + 3, high), (right - 3, high), (right + 1, back), (left + 7, back)], top)
    brush.area([(right, bottom), (right - 3, high), (right + 1, back), (right + 4, bottom - 5)], side)


def _sparkle(brush: Brush, x: float, y: float, radius: float) -> None:
    inner = radius / 4
    turns = [(index * math.pi / 4, radius if index % 2 == 0 else inner) for index in range(8)]
    brush.area([(x + length * math.sin(turn), y - length * math.cos(turn)) for turn, length in turns], "#ffffff")


def _gold(brush: Brush) -> None:
    for left, bottom in ((3, 41), (23, 41), (13, 28.5)):
        _bar(brush, left, bottom, 18, ("#f7b917", "#ffe98a", "#c78307"))
        brush.line([(left + 5.5, bottom - 7.5), (left + 11, bottom - 7.5)], "#ffd95a", 1.5)
    brush.outline("#6b4300", 0.8)
    brush.shadow(2, 36, 47, 46)
    _sparkle(brush, 15, 12, 6)


def _iron(brush: Brush) -> None:
    """Dark ingots that begin to rust."""
    for left, bottom, width in ((2.5, 42, 38), (6.5, 28.5, 31)):
        _bar(brush, left, bottom, width, ("#656d79", "#a4adba", "#3f454f"))
        brush.line([(left + 1, bottom - 0.8), (left + width - 1, bottom - 0.8)], "#2b2f37", 1.6)
        for x, y, radius in ((6.5, 3.6, 2.4), (9.5, 2.6, 1.6), (width - 9, 6.6, 2.2), (width - 6.4, 4.6, 1.5)):
            brush.disc(left + x, bottom - y, radius, "#c2612c")
    brush.outline("#1f2228", 0.8)
    brush.shadow(2, 37, 47, 46)


def _silver(brush: Brush) -> None:
    for x, bottom, coins in ((31, 27, 4), (17, 36, 3)):
        for number in range(coins):
            y = bottom - number * 4.6
            brush.oval(x - 13, y - 4.5, x + 13, y + 8.5, "#8f9cad")
            brush.oval(x - 13, y - 6, x + 13, y + 6, "#ffffff")
            brush.oval(x - 11.6, y - 5, x + 11.6, y + 5.2, "#dfe6ee")
    brush.outline("#55606f", 0.8)
    brush.shadow(3, 36, 45, 47)


def _wood(brush: Brush) -> None:
    brush.oval(33, 12, 47, 38, "#7a4a24")
    brush.box(12, 12, 40, 38, "#9a6132")
    brush.box(12, 31, 40, 38, "#7a4a24")
    for left, right, y in ((20, 42, 17), (26, 38, 22), (23, 44, 27), (20, 33, 33)):
        brush.line([(left, y), (right, y)], "#64391a", 1.3)
    rings = ((8.5, 13, "#64391a"), (7, 11.3, "#f0cf9b"), (5, 8.2, "#b98148"), (4, 6.8, "#f0cf9b"), (2, 3.4, "#b98148"))
    for wide, high, colour in rings:
        brush.oval(12 - wide, 25 - high, 12 + wide, 25 + high, colour)
    brush.outline("#3d220e", 0.8)
    brush.shadow(3, 34, 47, 44)


def _shape_done(brush: Brush) -> None:
    """The shapes are tokens with a white rim: bright on any ground."""
    brush.outline("#ffffff", 1.5)
    brush.outline("#2b2f3a", 0.7)
    brush.shadow(7, 36, 41, 46)


def _triangle(brush: Brush) -> None:
    brush.area([(24, 7), (42, 39), (6, 39)], "#7a3fc0")
    brush.area([(24, 13), (37, 36), (11, 36)], "#9b5de5")
    _shape_done(brush)


def _circle(brush: Brush) -> None:
    brush.disc(24, 24, 17, "#c2303a")
    brush.disc(24, 24, 14, "#ef4b55")
    _shape_done(brush)


def _rectangle(brush: Brush) -> None:
    brush.box(6, 12, 42, 36, "#1d46b0", 1)
    brush.box(9, 15, 39, 33, "#2f6bf0")
    _shape_done(brush)


def _agent(brush: Brush) -> None:
    """Small and to the right, so that the cell below stays visible."""
    for left in (29.8, 35.2):
        brush.box(left, 37, left + 4, 45.4, "#2c3e75", 1)
    for x in (27.4, 41.6):
        brush.line([(34.5 + (x - 34.5) * 0.7, 28.4), (x, 34)], "#d81b6e", 3.4)
        brush.disc(x, 35.4, 1.8, "#f7cfa6")
    brush.box(29.2, 26, 39.8, 38.6, "#ff2e88", 2.6)
    brush.disc(34.5, 20.6, 6.4, "#f7cfa6")
    brush.half_disc(34.5, 19.4, 7, "#ffd21f")
    brush.box(26.2, 18, 42.8, 20.2, "#f0b400", 1)
    for x in (32, 37):
        brush.disc(x, 22.2, 1, INK)
    brush.line([(32.8, 24.4), (34.5, 25), (36.2, 24.4)], "#a2543c", 0.8)
    brush.outline("#ffffff", 0.9)
    brush.outline("#23202b", 0.8)


SPRITES: dict[str, Callable[[Brush], None]] = {
    "flat": _flat,
    "wall": _wall,
    "river": _river,
    "bridge": _bridge,
    "merchant": _merchant,
    "gold": _gold,
    "wood": _wood,
    "iron": _iron,
    "silver": _silver,
    "triangle": _triangle,
    "circle": _circle,
    "rectangle": _rectangle,
    "agent": _agent,
}
