"""Figures of executed programs: the picture, and beside it the program's graph with the result of every routine.

    draw_figure(scene, findings, "Is there a bag to the left of the bottle?").save("reasoning.png")
    draw_figure(Photograph(640, 480, read_picture(Path("2386621.jpg"))), findings)
    contact_sheet([draw_card(scene, findings, "Is there a bag to the left of the bottle?"), ...]).save("sheet.png")

Departures from the paper's figures: the oracle's result is shown beside the executor's, if there is a scene graph; what
a routine has found has its color and its number on the picture; soft attention is drawn on small copies of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from PIL import Image, ImageDraw

from program_guided.tasks.visual.drawing.canvas import Canvas, canvas_of, draw_names
from program_guided.tasks.visual.drawing.findings import Background, Corners, Finding
from program_guided.tasks.visual.drawing.flow import Flow
from program_guided.tasks.visual.drawing.layout import arrange
from program_guided.tasks.visual.drawing.marks import (
    Label,
    boxes_of,
    colors_of,
    draw_marks,
    faces_of,
    marks_of,
    scene_behind,
)
from program_guided.tasks.visual.drawing.nodes import NEUTRAL, Style
from program_guided.tasks.visual.drawing.painting import INK
from program_guided.tasks.visual.drawing.shapes import wrapped, write

__all__ = ["CARD", "CARD_WIDTH", "FULL", "Figure", "Form", "compose", "contact_sheet", "draw_card", "draw_figure"]

CARD_WIDTH = 880
"""Width of a card, in pixels."""
CARD_COLUMNS = 2
RULE = "#c8ced6"
"""Color of the lines between the cards of a sheet."""
MISSED = "numbers on white: found by the oracle, not by the executor"


@dataclass(frozen=True)
class Form:
    """Sizes of a figure, in pixels."""

    picture: tuple[int, int]
    """Maximum width and height of the picture."""
    styles: tuple[Style, ...]
    """Sizes of the routines in a graph of one column, of two, and of more."""
    title: int
    margin: int
    width: int = 0
    """Minimum width of the figure, which the picture leaves room for."""

    @property
    def text(self) -> int:
        return self.styles[0].text


FULL = Form((760, 600), tuple(Style(node, 14, 64, 96, 9, (24, 44)) for node in (320, 266, 240)), 20, 22)
CARD = Form((500, 360), tuple(Style(node, 11, 42, 66, 6, (16, 30)) for node in (340, 212, 186)), 14, 12, CARD_WIDTH)


@dataclass(frozen=True)
class Figure:
    """A drawn figure, and where its parts are."""

    image: Image.Image
    labels: tuple[Label, ...]
    """Labels of the marks, in pixels of the shown picture."""
    nodes: tuple[Corners, ...]
    """The routines of the graph, in the figure's pixels."""
    crops: tuple[tuple[tuple[Corners, Corners], ...], ...]
    """For each routine, boxes of the background, and where their crops are in the figure."""


def draw_figure(background: Background, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw an executed program."""
    return compose(background, findings, title).image


def draw_card(background: Background, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw a small figure of an executed program, for a `contact_sheet` of many."""
    return compose(background, findings, title, CARD).image


def compose(background: Background, findings: Sequence[Finding], title: str = "", form: Form = FULL) -> Figure:
    """Draw an executed program, and note where the figure's parts are."""
    layout = arrange([each.inputs for each in findings], [each.condition for each in findings])
    style = form.styles[max(1, min(len(form.styles), ceil(layout.width - 0.5))) - 1]
    room = form.picture[0]
    if form.width:
        graph = round(layout.width * (style.node + 2 * style.pad))
        room = max(room // 2, min(room, form.width - graph - 3 * form.margin))
    canvas = canvas_of(background, (room, form.picture[1]))
    flow = Flow(findings, layout, colors_of(findings), canvas, style)
    picture, labels = _marked(background, findings, canvas, form.text)
    width = max(form.width, picture.width + flow.width + 3 * form.margin)
    lines = wrapped(title, width - 2 * form.margin, form.title)
    top = form.margin + bool(lines) * (round(1.32 * form.title) * len(lines) + form.margin // 2)
    image = Image.new("RGB", (width, top + max(picture.height, flow.height) + form.margin), "white")
    write(image, (form.margin, form.margin), lines, form.title, INK)
    image.paste(picture, (form.margin, top))
    spare = width - picture.width - flow.width - 3 * form.margin
    corner = (2 * form.margin + picture.width + spare // 2, top)
    nodes, crops = flow.draw(image, corner, picture.height)
    return Figure(image, tuple(labels), tuple(nodes), tuple(map(tuple, crops)))


def _marked(
    background: Background, findings: Sequence[Finding], canvas: Canvas, text: int
) -> tuple[Image.Image, list[Label]]:
    """The picture with the marks of all routines, and a note below it on objects that were missed."""
    picture, marks = canvas.picture.copy(), marks_of(findings, scene_behind(background))
    faces = faces_of(background, marks) if canvas.drawn else []
    labels = draw_marks(picture, marks, colors_of(findings), canvas.scale, text, faces, boxes_of(background))
    if not canvas.drawn:
        draw_names(picture, background, canvas.scale, text - 2, labels)
    if not any(mark.missed for mark in marks):
        return picture, labels
    whole = Image.new("RGB", (picture.width, picture.height + 2 * text), "white")
    whole.paste(picture, (0, 0))
    write(whole, (0, picture.height + text // 2), [MISSED], text - 1, NEUTRAL)
    return whole, labels


def contact_sheet(pictures: Sequence[Image.Image], columns: int = CARD_COLUMNS) -> Image.Image:
    """Arrange pictures in rows with lines between them; pictures wider than a card are scaled down."""
    small = [each if each.width <= CARD_WIDTH else _shrunk(each, CARD_WIDTH) for each in pictures]
    columns = max(1, min(columns, len(small)))
    width = max((each.width for each in small), default=1)
    rows = [small[at : at + columns] for at in range(0, len(small), columns)]
    heights = [max(each.height for each in row) for row in rows]
    sheet = Image.new("RGB", (columns * width, max(1, sum(heights))), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for row, height in zip(rows, heights, strict=True):
        for column, picture in enumerate(row):
            sheet.paste(picture, (column * width, top))
            draw.rectangle((column * width, top, (column + 1) * width, top + height), outline=RULE)
        top += height
    return sheet


def _shrunk(picture: Image.Image, width: int) -> Image.Image:
    return picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
