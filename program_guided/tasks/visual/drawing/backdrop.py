"""Backdrops: the place of a picture, its weather in the sky or in a window, and clutter without a name.

Departures from the paper: its pictures are photographs.

    canvas = draw_backdrop("kitchen", "rainy", (960, 720), Random(0))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from PIL import Image, ImageDraw

__all__ = ["HORIZON", "draw_backdrop", "draw_fog"]

HORIZON = 0.42
"""Height of the horizon, or of the foot of a wall, as a share of the picture's."""
SKIES = {"sunny": "#8ec9f5", "cloudy": "#c3ccd4", "rainy": "#8b98a6", "foggy": "#dfe3e6"}
FOG = 110
"""Opacity of fog at the top of the picture, of 255."""
ROOMS = ("indoors", "kitchen", "office")

Box = tuple[float, float, float, float]


class Canvas:
    """A picture that is drawn on in shares of its sides."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.picture = Image.new("RGB", size)
        self._draw = ImageDraw.Draw(self.picture, "RGBA")
        self._size = size

    def _at(self, *points: float) -> list[tuple[float, float]]:
        width, height = self._size
        return [(x * width, y * height) for x, y in zip(points[::2], points[1::2], strict=True)]

    def box(self, color: str, *points: float) -> None:
        self._draw.rectangle(self._at(*points), color)

    def oval(self, color: str, *points: float) -> None:
        self._draw.ellipse(self._at(*points), color)

    def shape(self, color: str, *points: float) -> None:
        self._draw.polygon(self._at(*points), color)

    def line(self, color: str, width: float, *points: float) -> None:
        self._draw.line(self._at(*points), color, max(1, round(width * self._size[1])))


def draw_backdrop(location: str | None, weather: str | None, size: tuple[int, int], random: Random) -> Image.Image:
    """Draw the place and the weather of a picture; both may be unknown."""
    canvas = Canvas(size)
    place = location if location in PLACES else "outdoors"
    whole = (0.0, 0.0, 1.0, HORIZON)
    if place not in ROOMS:
        _sky(canvas, weather, whole, random)
    PLACES[place](canvas, random)
    if place in ROOMS:
        left = 0.1 + 0.5 * random.random()
        window = (left, 0.06, left + 0.24, 0.3)
        canvas.box("#6d5138", window[0] - 0.015, window[1] - 0.02, window[2] + 0.015, window[3] + 0.02)
        _sky(canvas, weather, window, random)
        canvas.line("#6d5138", 0.012, (window[0] + window[2]) / 2, window[1], (window[0] + window[2]) / 2, window[3])
    return canvas.picture


def _sky(canvas: Canvas, weather: str | None, area: Box, random: Random) -> None:
    """The weather in an area of the picture."""
    x1, y1, x2, y2 = area
    width, height = x2 - x1, y2 - y1
    canvas.box(SKIES.get(weather or "", "#b9d3e4"), *area)

    def at(x: float, y: float) -> tuple[float, float]:
        return x1 + x * width, y1 + y * height

    if weather == "sunny":
        x, y = 0.15 + 0.7 * random.random(), 0.3
        for turn in range(8):
            dx, dy = ((1, 0), (0.7, 0.7), (0, 1), (-0.7, 0.7), (-1, 0), (-0.7, -0.7), (0, -1), (0.7, -0.7))[turn]
            r = min(0.055, height / 3)
            cx, cy = at(x, y)
            canvas.line("#ffdf3a", 0.008, cx + dx * r, cy + dy * r * 1.3, cx + dx * 1.7 * r, cy + dy * 1.7 * r * 1.3)
            canvas.oval("#ffdf3a", cx - r * 0.8, cy - r * 1.05, cx + r * 0.8, cy + r * 1.05)
    if weather in ("cloudy", "rainy"):
        color = "#f4f6f8" if weather == "cloudy" else "#5d6a76"
        for number in range(4):
            x, y = at(0.04 + 0.24 * number + 0.06 * random.random(), 0.12 + 0.2 * random.random())
            for shift in (0.0, 0.2, 0.4):
                canvas.oval(
                    color,
                    x + shift * width * 0.3,
                    y - (0.06 if shift == 0.2 else 0) * height,
                    x + (shift * 0.3 + 0.12) * width,
                    y + 0.3 * height,
                )
    if weather == "rainy":
        for number in range(26):
            x, y = at((number * 0.39 + 0.05 * random.random()) % 1, 0.4 + 0.5 * random.random())
            canvas.line("#dcebf7", 0.006, x, y, x - 0.006, min(y + 0.045, y2))
    if weather == "foggy":
        for y in (0.3, 0.55, 0.8):
            canvas.box("#ffffffb0", x1, y1 + y * height, x2, y1 + (y + 0.1) * height)


def draw_fog(canvas: Image.Image, weather: str | None, location: str | None) -> None:
    """Fog in front of everything, outdoors."""
    if location not in ROOMS and weather == "foggy":
        fade = Image.new("L", (1, canvas.height))
        fade.putdata([round(FOG * (1 - y / canvas.height)) for y in range(canvas.height)])
        canvas.paste("#eef1f3", mask=fade.resize(canvas.size))


# Places

Place = Callable[[Canvas, Random], None]


def _ground(canvas: Canvas, color: str, bands: Sequence[str] = ()) -> None:
    canvas.box(color, 0, HORIZON, 1, 1)
    for number, band in enumerate(bands):
        y = HORIZON + (1 - HORIZON) * ((number + 1) / (len(bands) + 1)) ** 1.6
        canvas.box(band, 0, y, 1, y + 0.012 + 0.02 * number)


def _outdoors(canvas: Canvas, random: Random) -> None:
    """Hills."""
    shift = random.random()
    for number in range(3):
        x = (shift + 0.45 * number) % 1.3 - 0.2
        canvas.oval("#9dbf9a", x - 0.3, HORIZON - 0.12, x + 0.3, HORIZON + 0.2)
    _ground(canvas, "#b9d3a0", ("#b0cb96", "#b0cb96"))


def _park(canvas: Canvas, random: Random) -> None:
    """Hedges, a pond and a path."""
    for number in range(9):
        x = number * 0.13 + 0.03 * random.random()
        canvas.oval("#6fa45f", x - 0.08, HORIZON - 0.1, x + 0.08, HORIZON + 0.06)
    _ground(canvas, "#a6d08c")
    x = 0.2 + 0.6 * random.random()
    canvas.shape("#e3d3ae", x - 0.02, HORIZON, x + 0.02, HORIZON, x + 0.25, 1, x - 0.05, 1)
    x = (x + 0.4) % 0.8
    canvas.oval("#9cc9e4", x, HORIZON + 0.03, x + 0.25, HORIZON + 0.1)


def _beach(canvas: Canvas, random: Random) -> None:
    """The sea, with a sail."""
    canvas.box("#4f9fc9", 0, HORIZON - 0.13, 1, HORIZON)
    for _ in range(6):
        x, y = random.random(), HORIZON - 0.12 + 0.1 * random.random()
        canvas.line("#d8eef7", 0.005, x, y, x + 0.06, y)
    x = random.random() * 0.8
    canvas.shape("#ffffff", x, HORIZON - 0.12, x + 0.06, HORIZON - 0.12, x, HORIZON - 0.22)
    _ground(canvas, "#efdfae", ("#e6d4a0",))
    for _ in range(14):
        x, y = random.random(), HORIZON + 0.05 + 0.5 * random.random()
        canvas.oval("#dcc48a", x, y, x + 0.012, y + 0.008)


def _street(canvas: Canvas, random: Random) -> None:
    """Houses, a pavement and a road with marks."""
    x = -0.05
    while x < 1:
        width, height = 0.12 + 0.1 * random.random(), 0.12 + 0.2 * random.random()
        canvas.box(
            ("#b98a74", "#a9a3b5", "#c7b299", "#8fa0a8")[random.randrange(4)], x, HORIZON - height, x + width, HORIZON
        )
        for row in range(3):
            y = HORIZON - height + 0.03 + 0.09 * row
            for column in range(3):
                if y + 0.04 < HORIZON:
                    canvas.box(
                        "#e9e5c8", x + width * (0.12 + 0.3 * column), y, x + width * (0.28 + 0.3 * column), y + 0.04
                    )
        x += width + 0.01
    _ground(canvas, "#8d8f92")
    canvas.box("#c9c4ba", 0, HORIZON, 1, HORIZON + 0.07)
    for number in range(5):
        x = 0.25 * number - 0.1
        canvas.shape("#f3f0e2", x, 0.74, x + 0.13, 0.74, x + 0.12, 0.765, x - 0.01, 0.765)


def _farm(canvas: Canvas, random: Random) -> None:
    """A barn, a fence and furrows."""
    canvas.oval("#c5cf8e", -0.2, HORIZON - 0.08, 1.2, HORIZON + 0.2)
    x = 0.08 + 0.6 * random.random()
    canvas.box("#a8392f", x, HORIZON - 0.16, x + 0.2, HORIZON + 0.01)
    canvas.shape("#7d2a23", x - 0.02, HORIZON - 0.16, x + 0.1, HORIZON - 0.26, x + 0.22, HORIZON - 0.16)
    canvas.box("#f2e8d5", x + 0.07, HORIZON - 0.1, x + 0.13, HORIZON + 0.01)
    _ground(canvas, "#cdbb7c")
    for number in range(-6, 18):
        x = number / 11
        canvas.line("#b9a463", 0.012, 0.5 + (x - 0.5) * 0.45, HORIZON, 0.5 + (x - 0.5) * 2.2, 1)
    for number in range(9):
        canvas.box("#7a5a38", number / 8.5, HORIZON - 0.05, number / 8.5 + 0.014, HORIZON + 0.05)
    canvas.box("#7a5a38", 0, HORIZON - 0.03, 1, HORIZON - 0.015)


def _kitchen(canvas: Canvas, random: Random) -> None:
    """Tiles, a worktop with an oven, a chequered floor."""
    canvas.box("#e9eef0", 0, 0, 1, HORIZON)
    for number in range(1, 14):
        canvas.line("#cfdade", 0.004, number / 14, 0, number / 14, HORIZON)
    for number in range(1, 6):
        canvas.line("#cfdade", 0.004, 0, number * HORIZON / 6, 1, number * HORIZON / 6)
    x = (0.05, 0.55)[random.randrange(2)]
    canvas.box("#b78d5d", x, HORIZON - 0.1, x + 0.38, HORIZON + 0.02)
    canvas.box("#6f7479", x - 0.01, HORIZON - 0.12, x + 0.39, HORIZON - 0.09)
    canvas.box("#2e3338", x + 0.12, HORIZON - 0.08, x + 0.26, HORIZON + 0.01)
    _tiles(canvas, "#d9cfc0", "#c4b7a4")


def _tiles(canvas: Canvas, one: str, other: str) -> None:
    """A chequered floor in perspective."""
    canvas.box(one, 0, HORIZON, 1, 1)
    rows = [HORIZON + (1 - HORIZON) * (number / 6) ** 1.5 for number in range(7)]
    for row, (top, bottom) in enumerate(pairwise(rows)):
        a, b = 0.5 + 1.1 * (top - HORIZON) * 2, 0.5 + 1.1 * (bottom - HORIZON) * 2
        for column in range(-9, 9):
            if (row + column) % 2:
                x1, x2 = column / 6, (column + 1) / 6
                canvas.shape(
                    other,
                    0.5 + x1 * a * 1.6,
                    top,
                    0.5 + x2 * a * 1.6,
                    top,
                    0.5 + x2 * b * 1.6,
                    bottom,
                    0.5 + x1 * b * 1.6,
                    bottom,
                )


def _office(canvas: Canvas, random: Random) -> None:
    """Blue walls with folders, a carpet, a clock."""
    canvas.box("#b9cbd8", 0, 0, 1, HORIZON)
    x = (0.06, 0.66)[random.randrange(2)]
    canvas.box("#7d8790", x, 0.12, x + 0.28, 0.36)
    for row in (0.14, 0.26):
        for number in range(8):
            color = ("#c95f4e", "#4f7fb5", "#e0b04f", "#5f9a68")[random.randrange(4)]
            canvas.box(color, x + 0.015 + 0.032 * number, row, x + 0.04 + 0.032 * number, row + 0.09)
    canvas.oval("#ffffff", 0.47, 0.05, 0.54, 0.145)
    canvas.line("#30363b", 0.006, 0.505, 0.07, 0.505, 0.098, 0.525, 0.098)
    _ground(canvas, "#7f8aa0", ("#76819a", "#76819a", "#76819a"))


def _indoors(canvas: Canvas, random: Random) -> None:
    """Papered walls and a wooden floor."""
    canvas.box("#efe0c8", 0, 0, 1, HORIZON)
    for number in range(17):
        canvas.box("#e6d2b3", number / 16, 0, number / 16 + 0.02, HORIZON)
    canvas.box("#a3764a", 0, HORIZON, 1, 1)
    for number in range(-8, 20):
        x = number / 12
        canvas.line("#8d6239", 0.006, 0.5 + (x - 0.5) * 0.6, HORIZON, 0.5 + (x - 0.5) * 2.2, 1)
    canvas.box("#8d6239", 0, HORIZON, 1, HORIZON + 0.012)


PLACES: dict[str, Place] = {
    "outdoors": _outdoors,
    "park": _park,
    "beach": _beach,
    "street": _street,
    "farm": _farm,
    "kitchen": _kitchen,
    "office": _office,
    "indoors": _indoors,
}
