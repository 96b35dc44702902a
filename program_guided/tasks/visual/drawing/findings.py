"""Results of executed routines, as figures show them, and the pictures that figures are drawn on.

Finding("bag = select(bag)", "3 bag", "3 bag", True, boxes=((60.0, 200.0, 140.0, 270.0),), probability=0.98)
"""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

from program_guided.tasks.visual.graph import Scene

__all__ = ["Background", "Corners", "Finding", "Photograph"]

Corners = tuple[float, float, float, float]
"""x1, y1, x2, y2 of a box in the picture's pixels."""


@dataclass(frozen=True)
class Finding:
    """The result of a routine, and the oracle's."""

    routine: str
    """The routine's text in the program."""
    result: str
    """A list of objects, yes or no, or an answer."""
    truth: str | None
    """The oracle's result, or the reason why it has none; None without a scene graph."""
    right: bool | None
    """None if the oracle has no result."""
    boxes: tuple[Corners, ...] = ()
    """Boxes of the objects in the result."""
    probability: float = 1.0
    """The executor's probability of the result."""
    inputs: tuple[int, ...] = ()
    """Numbers, from 0, of the findings whose results the routine takes."""
    condition: int | None = None
    """Number of the condition that decided that the routine is executed next."""
    missed: tuple[Corners, ...] = ()
    """Boxes of the objects in the oracle's result that are not in this one."""
    attention: tuple[tuple[Corners, float], ...] = ()
    """Boxes of the picture's parts with their attention weights; empty if it was not asked for."""


@dataclass(frozen=True)
class Photograph:
    """A picture to draw on; without one, an empty canvas with the outlines of the detected boxes."""

    width: int
    height: int
    """Size in the pixels of boxes; the picture may have another one."""
    picture: Image.Image | None = None
    detected: tuple[Corners, ...] = ()
    scene: Scene | None = None
    """The scene graph, if there is one, whose objects are named."""
    people: tuple[Corners, ...] | None = None
    """Boxes of people; None where they are not known."""


Background = Scene | Photograph
"""A picture to draw on."""
