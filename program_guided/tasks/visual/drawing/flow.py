"""A program's graph: its routines from top to bottom, with edges from inputs to the routines that take them.

    flow = Flow(findings, layout, colors, canvas, style)
    flow.draw(figure, (left, top), height)        flow.width, flow.height

Dashed edges lead from a condition to the routine that is executed next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from PIL import Image, ImageDraw

from program_guided.tasks.visual.drawing.canvas import Canvas
from program_guided.tasks.visual.drawing.findings import Corners, Finding
from program_guided.tasks.visual.drawing.layout import Layout
from program_guided.tasks.visual.drawing.nodes import NEUTRAL, Node, Style
from program_guided.tasks.visual.drawing.shapes import font_of, paste_curve

__all__ = ["Flow"]


@dataclass(frozen=True)
class Flow:
    """The graph of a program's executed routines."""

    findings: Sequence[Finding]
    layout: Layout
    colors: dict[int, str]
    """Number of a routine that finds objects -> its color."""
    canvas: Canvas
    """Source of the crops."""
    style: Style

    @cached_property
    def nodes(self) -> list[Node]:
        return [
            Node(number, finding, self.colors.get(number), self.canvas, self.style, number == len(self.findings) - 1)
            for number, finding in enumerate(self.findings)
        ]

    @property
    def _unit(self) -> int:
        """Distance of columns."""
        return self.style.node + 2 * self.style.pad

    @property
    def width(self) -> int:
        return round(self.layout.width * self._unit) - 2 * self.style.pad

    @cached_property
    def _heights(self) -> list[int]:
        """Height of each layer."""
        layers = range(max(self.layout.layers, default=-1) + 1)
        pairs = list(zip(self.layout.layers, self.nodes, strict=True))
        return [max(node.height for layer, node in pairs if layer == each) for each in layers]

    @property
    def height(self) -> int:
        """Minimum height."""
        return sum(self._heights) + self.style.gaps[0] * max(0, len(self._heights) - 1)

    def draw(
        self, figure: Image.Image, corner: tuple[int, int], height: int
    ) -> tuple[list[Corners], list[list[tuple[Corners, Corners]]]]:
        """Draw the graph, with distances of layers that suit a height; returns the places of routines and crops."""
        tops = self._tops(corner[1], height)
        corners = [
            (corner[0] + round(across * self._unit), tops[layer])
            for layer, across in zip(self.layout.layers, self.layout.across, strict=True)
        ]
        places = [
            (float(left), float(top), float(left + self.style.node), float(top + node.height))
            for node, (left, top) in zip(self.nodes, corners, strict=True)
        ]
        self._draw_edges(figure, corner[0], tops, places)
        return places, [node.draw(figure, *each) for node, each in zip(self.nodes, corners, strict=True)]

    def _tops(self, top: int, height: int) -> list[int]:
        """Top of each layer."""
        low, high = self.style.gaps
        gap = (height - sum(self._heights)) // max(1, len(self._heights) - 1)
        gap = max(low, min(high, gap))
        return [top + sum(self._heights[:layer]) + gap * layer for layer in range(len(self._heights))]

    def _draw_edges(self, figure: Image.Image, left: int, tops: Sequence[int], places: Sequence[Corners]) -> None:
        for (source, number), ways in self.layout.ways.items():
            (x, _, _, y), taken = places[source], self.findings[number].inputs
            points = [(x + self.style.node / 2, y)]
            for layer, way in enumerate(ways, self.layout.layers[source] + 1):
                across = left + way * self._unit - self.style.pad
                points += [(across, tops[layer]), (across, tops[layer] + self._heights[layer])]
            share = (1 + tuple(dict.fromkeys(taken)).index(source)) / (1 + len(set(taken)))
            points.append((places[number][0] + share * self.style.node, places[number][1]))
            paste_curve(figure, points, self.colors.get(source, NEUTRAL), self._stroke)
        for number, finding in enumerate(self.findings):
            if finding.condition is not None:
                self._draw_condition(
                    figure, places[finding.condition], places[number], self.findings[finding.condition]
                )

    @property
    def _stroke(self) -> float:
        return self.style.text / 7

    def _draw_condition(self, figure: Image.Image, one: Corners, other: Corners, condition: Finding) -> None:
        """A dashed edge near the left sides, with the condition's result."""
        aside = 0.12 * self.style.node
        (x1, y1), (x2, y2) = (one[0] + aside, one[3]), (other[0] + aside, other[1])
        paste_curve(figure, [(x1, y1), (x2, y2)], NEUTRAL, self._stroke, dashed=True)
        middle = ((x1 + x2) / 2 + 0.5 * self.style.text, (y1 + y2) / 2)
        font = font_of(self.style.text - 1)
        ImageDraw.Draw(figure).text(middle, condition.result, fill=NEUTRAL, font=font, anchor="lm")
