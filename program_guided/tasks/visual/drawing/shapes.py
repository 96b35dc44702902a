"""Shapes with smooth edges, and wrapped text, on a picture.

paste_disc(canvas, (20, 20), 9, "#d81b60", "1")
write(canvas, (40, 12), ["is there a bag?"], 14, "#1d1d1d")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

__all__ = [
    "font_of",
    "paste_card",
    "paste_curve",
    "paste_disc",
    "paste_shape",
    "text_width",
    "verdict_icon",
    "wrapped",
    "write",
]

FINE = 4
"""Factor of supersampling of shapes."""
LINE = 1.32
"""Distance of lines of text, in sizes of the text."""

Point = tuple[float, float]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Drawing = Callable[[ImageDraw.ImageDraw, Callable[..., list[Point]]], None]
"""Draws a white shape on a mask, with a function from points (x, y) of the picture to those of the mask."""


def font_of(size: int) -> Font:
    """The font of all texts, in a size."""
    return ImageFont.load_default(size)


def text_width(text: str, size: int) -> float:
    """Width of a text in pixels."""
    return font_of(size).getlength(text)


def paste_shape(canvas: Image.Image, box: tuple[float, float, float, float], color: str, draw: Drawing) -> None:
    """Paste a shape that lies in a box."""
    left, top = int(box[0]) - 2, int(box[1]) - 2
    width, height = int(box[2]) + 3 - left, int(box[3]) + 3 - top
    mask = Image.new("L", (width * FINE, height * FINE))

    def at(*points: Point) -> list[Point]:
        return [((x - left) * FINE, (y - top) * FINE) for x, y in points]

    draw(ImageDraw.Draw(mask), at)
    canvas.paste(color, (left, top), mask.resize((width, height), Image.Resampling.BOX))


def paste_card(
    canvas: Image.Image, box: tuple[float, float, float, float], radius: float, fill: str, edge: str | None = None
) -> None:
    """A rectangle with round corners, and an edge one pixel wide."""
    x1, y1, x2, y2 = box

    def draw(by: float) -> Drawing:
        return lambda mask, at: mask.rounded_rectangle(
            at((x1 + by, y1 + by), (x2 - by, y2 - by)), (radius - by) * FINE, 255
        )

    if edge is not None:
        paste_shape(canvas, box, edge, draw(0))
    paste_shape(canvas, box, fill, draw(0 if edge is None else 1))


def paste_disc(
    canvas: Image.Image, centre: Point, radius: float, color: str, text: str = "", hollow: bool = False
) -> None:
    """A disc with a text in it; hollow: a white one with a coloured edge."""
    x, y = centre
    box = (x - radius, y - radius, x + radius, y + radius)
    paste_shape(canvas, box, color, lambda mask, at: mask.ellipse(at(box[:2], box[2:]), 255))
    if hollow:
        inner = radius - 1.6
        around = ((x - inner, y - inner), (x + inner, y + inner))
        paste_shape(canvas, box, "white", lambda mask, at: mask.ellipse(at(*around), 255))
    size = round(radius * (1.3 if len(text) < 2 else 1.1))
    draw = ImageDraw.Draw(canvas)
    draw.text((x, y), text, fill=color if hollow else "white", font=font_of(size), anchor="mm")


def verdict_icon(canvas: Image.Image, centre: Point, radius: float, right: bool | None, color: str) -> None:
    """A disc with a tick, a cross or a question mark."""
    x, y = centre
    paste_disc(canvas, centre, radius, color, "?" if right is None else "")
    box, a = (x - radius, y - radius, x + radius, y + radius), radius * 0.42
    tick = ((x - 1.1 * a, y + 0.1 * a), (x - 0.25 * a, y + 0.95 * a), (x + 1.2 * a, y - 0.85 * a))
    crossed = [((x - a, y - a), (x + a, y + a)), ((x - a, y + a), (x + a, y - a))]
    strokes: list[tuple[Point, ...]] = [] if right is None else [tick] if right else [*crossed]
    width = max(1, round(0.28 * radius * FINE))

    def draw(mask: ImageDraw.ImageDraw, at: Callable[..., list[Point]]) -> None:
        for stroke in strokes:
            mask.line(at(*stroke), 255, width, "curve")

    paste_shape(canvas, box, "white", draw)


def paste_curve(canvas: Image.Image, points: Sequence[Point], color: str, width: float, dashed: bool = False) -> None:
    """A curve from above to below that is vertical at every point, with an arrowhead."""
    *_, (x, y) = points
    path = [point for one, other in pairwise(points) for point in _bent(one, other)]
    size = 3.2 * width
    path[-1] = x, y - size
    box = (
        min(a for a, _ in path) - size,
        min(b for _, b in path) - size,
        max(a for a, _ in path) + size,
        max(b for _, b in path) + size,
    )

    def draw(mask: ImageDraw.ImageDraw, at: Callable[..., list[Point]]) -> None:
        parts = [path[first : first + 3] for first in range(0, len(path) - 1, 4)] if dashed else [path]
        for part in parts:
            mask.line(at(*part), 255, round(width * FINE), "curve")
        mask.polygon(at((x, y), (x - size, y - 1.6 * size), (x + size, y - 1.6 * size)), 255)

    paste_shape(canvas, box, color, draw)


def _bent(one: Point, other: Point, steps: int = 24) -> list[Point]:
    """Points of a cubic curve that is vertical at both ends."""
    (x1, y1), (x2, y2) = one, other
    shares = [step / steps for step in range(steps + 1)]
    return [(x1 + (x2 - x1) * t * t * (3 - 2 * t), y1 + (y2 - y1) * t) for t in shares]


def wrapped(text: str, width: float, size: int, limit: int = 100) -> list[str]:
    """Lines of a text, wrapped at spaces to a width in pixels; what exceeds a number of lines is cut off."""
    parts: list[str] = []
    for word in text.split():
        longer = f"{parts[-1]} {word}" if parts else word
        if parts and text_width(longer, size) <= width:
            parts[-1] = longer
        else:
            parts.append(word)
    if len(parts) > limit:
        parts = [*parts[: limit - 1], f"{parts[limit - 1]} …"]
    return [_cut(part, width, size) for part in parts]


def _cut(text: str, width: float, size: int) -> str:
    """A text cut off at a width in pixels."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text.rstrip(' …')}…"


def write(canvas: Image.Image, corner: Point, lines: Sequence[str], size: int, color: str) -> float:
    """Write lines of text below a corner; returns the y of their end."""
    draw, font, (x, y) = ImageDraw.Draw(canvas), font_of(size), corner
    for line in lines:
        draw.text((x, y), line, fill=color, font=font)
        y += round(LINE * size)
    return y
