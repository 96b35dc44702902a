"""A routine in a program's graph: its number, text, result, verdict and probability, and crops of what it found.

node = Node(number, finding, colors.get(number), canvas, style)
node.draw(figure, left, top)        node.height
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from PIL import Image, ImageDraw

from program_guided.tasks.visual.drawing.canvas import Canvas
from program_guided.tasks.visual.drawing.findings import Corners, Finding
from program_guided.tasks.visual.drawing.painting import INK
from program_guided.tasks.visual.drawing.shapes import (
    LINE,
    font_of,
    paste_card,
    paste_disc,
    verdict_icon,
    wrapped,
    write,
)

__all__ = ["NEUTRAL", "Node", "Style"]

NEUTRAL = "#5d6673"
"""Color of routines that find no objects."""
VERDICTS = {True: "#1a7f37", False: "#c62828", None: "#5d6673"}
FILLS = {True: "#ffffff", False: "#fdeeee", None: "#ffffff"}
EDGE, TRACK = "#c8ced6", "#e3e7ec"
MAX_CROPS = 3
MORE = 2
"""Width of the number of crops that are not shown, in sizes of the text."""
HEAT_SHARE = 0.62
"""Maximum width of the picture with attention, as a share of the routine's."""
MAX_LINES = 4
"""Maximum number of lines of a routine's text, and of its result."""


@dataclass(frozen=True)
class Style:
    """Sizes of a figure, in pixels."""

    node: int
    """Width of a routine."""
    text: int
    thumb: int
    """Height of a crop."""
    heat: int
    """Height of the picture with attention."""
    pad: int
    gaps: tuple[int, int]
    """Minimum and maximum distance of layers."""

    @property
    def radius(self) -> float:
        """Radius of the disc with a routine's number."""
        return 0.72 * self.text


@dataclass(frozen=True)
class Node:
    """A routine of a graph."""

    number: int
    """From 0."""
    finding: Finding
    color: str | None
    """Color of its marks; None for a routine that finds no objects."""
    canvas: Canvas
    style: Style
    last: bool
    """True for the routine whose result is the answer."""

    @cached_property
    def _left(self) -> int:
        """Width of the disc's column."""
        return round(self.style.pad + 2 * self.style.radius + 0.5 * self.style.text)

    @cached_property
    def _right(self) -> int:
        """Width of the column of the verdict and the probability."""
        return round(self.style.pad + 2.9 * self.style.text)

    @cached_property
    def _texts(self) -> list[tuple[list[str], int, str]]:
        """Lines of text, with their size and color."""
        finding, size, width = self.finding, self.style.text, self.style.node - self._left - self._right
        color = INK if finding.truth is None else VERDICTS[finding.right]
        large = round(1.4 * size) if self.last else size + 1
        found = [
            (wrapped(finding.routine, width, size, MAX_LINES), size, INK),
            (wrapped(finding.result, width, large, MAX_LINES), large, color),
        ]
        if finding.truth is not None and not finding.right:
            found.append((wrapped(f"oracle: {finding.truth}", width, size - 1, MAX_LINES), size - 1, color))
        return found

    @cached_property
    def _boxes(self) -> list[Corners]:
        return list(dict.fromkeys(self.finding.boxes))

    @cached_property
    def _heat(self) -> Image.Image | None:
        """The picture with attention, which leaves room for a crop."""
        if not self.finding.attention:
            return None
        heat = self.canvas.heated(self.finding.attention, self.style.heat)
        room = round(HEAT_SHARE * self.style.node)
        return heat if heat.width <= room else heat.resize((room, max(1, heat.height * room // heat.width)))

    @cached_property
    def _thumbs(self) -> list[Image.Image]:
        """Crops of the boxes that were found, as many as there is room for; none of an empty canvas."""
        if not self.canvas.drawn:
            return []
        style, count = self.style, min(len(self._boxes), MAX_CROPS if self._heat is None else 1)
        room = style.node - style.pad - (self._heat.width + style.pad if self._heat else 0)
        room -= MORE * style.text * (len(self._boxes) > count)
        height = self._heat.height if self._heat else style.thumb
        return [self.canvas.crop(box, height, room // count - style.pad) for box in self._boxes[:count]]

    @cached_property
    def _height_of_text(self) -> int:
        lines = sum(len(lines) * round(LINE * size) for lines, size, _ in self._texts)
        return max(lines, round(3.1 * self.style.text))

    @cached_property
    def height(self) -> int:
        pad = self.style.pad
        row = max((each.height for each in [*self._thumbs, *filter(None, [self._heat])]), default=-pad)
        return self._height_of_text + row + 3 * pad

    def draw(self, figure: Image.Image, left: int, top: int) -> list[tuple[Corners, Corners]]:
        """Draw the routine; returns the boxes whose crops are shown, and where."""
        style, finding = self.style, self.finding
        right, fill = left + style.node, FILLS[finding.right if finding.truth is not None else None]
        paste_card(figure, (left, top, right, top + self.height), 0.6 * style.text, fill, self.color or EDGE)
        radius = style.radius
        disc = (left + style.pad + radius, top + style.pad + radius)
        paste_disc(figure, disc, radius, self.color or NEUTRAL, str(self.number + 1))
        y = float(top + style.pad)
        for lines, size, color in self._texts:
            y = write(figure, (left + self._left, y), lines, size, color)
        self._draw_certainty(figure, right - style.pad, top + style.pad)
        x, bottom = left + style.pad, top + style.pad + self._height_of_text + style.pad
        if self._heat is not None:
            figure.paste(self._heat, (x, bottom))
            x += self._heat.width + style.pad
        return self._draw_crops(figure, x, bottom)

    def _draw_certainty(self, figure: Image.Image, right: int, top: int) -> None:
        """The verdict, if there is an oracle, and the probability with a bar as long as it is high."""
        size, finding, draw = self.style.text, self.finding, ImageDraw.Draw(figure)
        width, y = 2.3 * size, float(top)
        if finding.truth is not None:
            color = VERDICTS[finding.right]
            verdict_icon(figure, (right - 0.66 * size, y + 0.66 * size), 0.66 * size, finding.right, color)
            y += 1.6 * size
        font = font_of(size - 2)
        draw.text((right, y), f"{finding.probability:.2f}", fill=NEUTRAL, font=font, anchor="ra")
        y = round(y + 1.15 * size)
        draw.rectangle((right - width, y, right - 1, y + 2), fill=TRACK)
        if finding.probability > 0:
            draw.rectangle((right - width, y, right - width + finding.probability * (width - 1), y + 2), fill=NEUTRAL)

    def _draw_crops(self, figure: Image.Image, x: int, y: int) -> list[tuple[Corners, Corners]]:
        shown: list[tuple[Corners, Corners]] = []
        draw = ImageDraw.Draw(figure)
        for box, crop in zip(self._boxes, self._thumbs, strict=False):
            figure.paste(crop, (x, y))
            place = (x, y, x + crop.width, y + crop.height)
            draw.rectangle((x, y, place[2] - 1, place[3] - 1), outline=self.color, width=2)
            shown.append((box, place))
            x += crop.width + self.style.pad
        more = len(self._boxes) - len(shown)
        if more and shown:
            middle = (x, y + self._thumbs[0].height / 2)
            draw.text(middle, f"+ {more}", fill=self.color, font=font_of(self.style.text), anchor="lm")
        return shown
