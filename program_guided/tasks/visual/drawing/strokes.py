"""Strokes: filled shapes and lines on a tile, written as text.

A drawing is a text of strokes separated by semicolons, from back to front. A stroke is a color (by default the
object's own), a kind and points (x, y) in percent of the tile from its top left. A stroke that begins with `?` is drawn
in some variants only. Kinds and colors are those of `painting.py`.

    read_strokes("oval 0 24 100 80") == (Stroke("oval", "main", ((0.0, 0.24), (1.0, 0.8))),)
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

__all__ = ["Point", "Stroke", "read_strokes"]

Point = tuple[float, float]


class Stroke(NamedTuple):
    """A filled shape, or a line."""

    kind: str
    color: str
    points: tuple[Point, ...]
    """Coordinates (x, y) in sides of the tile."""
    optional: bool = False
    """True if some variants are without it."""


@lru_cache(maxsize=8192)
def read_strokes(text: str) -> tuple[Stroke, ...]:
    """The strokes of a text."""
    return tuple(_stroke(each) for each in text.split(";") if each.strip())


def _stroke(text: str) -> Stroke:
    optional, text = text.strip().startswith("?"), text.strip().removeprefix("?")
    *color, kind = (word for word in text.split() if word.isalpha())
    numbers = [float(word) / 100 for word in text.split() if not word.isalpha()]
    return Stroke(kind, color[0] if color else "main", tuple(zip(numbers[::2], numbers[1::2], strict=True)), optional)
