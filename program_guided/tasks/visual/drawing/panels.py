"""Drawings of an executed program: the scene with the result of every routine, right or wrong.

Departures from the paper's figures: the oracle's result is shown next to the executor's.

    draw_reasoning(scene, findings, "Is there a bag to the left of the bottle?").save("reasoning.png")
    contact_sheet([draw_card(scene, findings, "Is there a bag to the left of the bottle?"), ...]).save("sheet.png")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from program_guided.tasks.visual.drawing.painting import INK
from program_guided.tasks.visual.drawing.scene import Corners, draw_labels, draw_picture, outline_boxes
from program_guided.tasks.visual.graph import Scene

__all__ = ["Corners", "Finding", "contact_sheet", "draw_card", "draw_reasoning"]

SCALE, CARD_SCALE = 0.5, 0.5
"""Scale of a scene in a panel, and on a card."""
COLUMNS, CARD_COLUMNS = 3, 2
CARD_WIDTH = 880
MARGIN, LINE, TEXT_SIZE = 10, 18, 14
CARD_LINE, CARD_TEXT_SIZE = 15, 12
RULE = "#b5b5b5"
"""Color of the lines between the cards of a sheet."""
VERDICTS = {True: ("right", "#1a7f37"), False: ("wrong", "#c62828"), None: ("not known", "#6b6b6b")}

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class Finding:
    """The result of a routine, and the oracle's."""

    routine: str
    """The routine's text in the program."""
    result: str
    """A list of objects, yes or no, or an answer."""
    truth: str
    """The oracle's result, or the reason why it has none."""
    right: bool | None
    """None if the oracle has no result."""
    boxes: tuple[Corners, ...] = ()
    """Boxes of the objects in the result."""
    probability: float = 1.0
    """The executor's probability of the result."""


def draw_reasoning(scene: Scene, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw one panel for every routine, below a title."""
    picture = draw_picture(scene, SCALE)
    panels = [_panel(picture, scene, finding, number) for number, finding in enumerate(findings, 1)]
    sheet = _rows(panels, min(COLUMNS, len(panels)))
    return _titled(sheet, title) if title else sheet


def draw_card(scene: Scene, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw the scene once, with the boxes of all results, and a list of the routines on its right."""
    picture = draw_picture(scene, CARD_SCALE)
    outline_boxes(picture, dict.fromkeys(box for finding in findings for box in finding.boxes), CARD_SCALE)
    draw_labels(picture, scene, CARD_SCALE)
    left = picture.width + 2 * MARGIN
    lines = [_listed(finding, number) for number, finding in enumerate(findings, 1)]
    text = _written(lines, CARD_WIDTH - left - MARGIN, CARD_TEXT_SIZE, CARD_LINE)
    card = Image.new("RGB", (CARD_WIDTH, max(picture.height, text.height) + MARGIN), "white")
    card.paste(picture, (MARGIN, 0))
    card.paste(text, (left, 0))
    return _titled(card, title) if title else card


def contact_sheet(pictures: Sequence[Image.Image], columns: int = CARD_COLUMNS) -> Image.Image:
    """Arrange pictures in rows with lines between them; pictures wider than a card are scaled down."""
    small = [each if each.width <= CARD_WIDTH else _shrunk(each, CARD_WIDTH) for each in pictures]
    return _rows(small, max(1, min(columns, len(small))), RULE)


def _rows(pictures: Sequence[Image.Image], columns: int, rule: str | None = None) -> Image.Image:
    """Arrange pictures in columns of equal width; a row is as high as its highest picture."""
    columns = max(1, columns)
    width = max((each.width for each in pictures), default=1)
    rows = [pictures[at : at + columns] for at in range(0, len(pictures), columns)]
    sheet = Image.new("RGB", (columns * width, max(1, sum(_highest(row) for row in rows))), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for row in rows:
        for column, picture in enumerate(row):
            sheet.paste(picture, (column * width, top))
            if rule is not None:
                draw.rectangle((column * width, top, (column + 1) * width, top + _highest(row)), outline=rule)
        top += _highest(row)
    return sheet


def _highest(pictures: Sequence[Image.Image]) -> int:
    return max(each.height for each in pictures)


def _shrunk(picture: Image.Image, width: int) -> Image.Image:
    return picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)


def _titled(picture: Image.Image, title: str) -> Image.Image:
    """The picture with a title above."""
    text = _written([(title, INK)], picture.width - 2 * MARGIN, TEXT_SIZE, LINE)
    whole = Image.new("RGB", (picture.width, picture.height + text.height + 2 * MARGIN), "white")
    whole.paste(text, (MARGIN, MARGIN))
    whole.paste(picture, (0, text.height + 2 * MARGIN))
    return whole


def _panel(picture: Image.Image, scene: Scene, finding: Finding, number: int) -> Image.Image:
    marked = picture.copy()
    outline_boxes(marked, finding.boxes, SCALE)
    draw_labels(marked, scene, SCALE)
    verdict, color = VERDICTS[finding.right]
    verdict_text = verdict if finding.right else f"{verdict}: {finding.truth}"
    lines = [(f"{number}  {finding.routine}", INK), (_result(finding), color), (verdict_text, color)]
    text = _written(lines, marked.width, TEXT_SIZE, LINE)
    top = text.height + MARGIN
    panel = Image.new("RGB", (marked.width + 2 * MARGIN, top + marked.height + 2 * MARGIN), "white")
    panel.paste(text, (MARGIN, MARGIN // 2))
    panel.paste(marked, (MARGIN, top))
    ImageDraw.Draw(panel).rectangle(
        (MARGIN - 3, top - 3, MARGIN + marked.width + 2, top + marked.height + 2), outline=color, width=3
    )
    return panel


def _listed(finding: Finding, number: int) -> tuple[str, str]:
    """A routine and its result in one line, and its color."""
    verdict, color = VERDICTS[finding.right]
    verdict_text = "" if finding.right else f"  {verdict}: {finding.truth}"
    return f"{number}  {finding.routine}:  {_result(finding)}{verdict_text}", color


def _result(finding: Finding) -> str:
    return f"{finding.result}  ({finding.probability:.2f})"


def _written(lines: Sequence[tuple[str, str]], width: int, size: int, line: int) -> Image.Image:
    """Picture of colored lines of text, wrapped."""
    font = ImageFont.load_default(size)
    wrapped = [(part, color) for text, color in lines for part in _wrapped(text, width, font)]
    picture = Image.new("RGB", (width, max(1, line * len(wrapped))), "white")
    draw = ImageDraw.Draw(picture)
    for number, (part, color) in enumerate(wrapped):
        draw.text((0, line * number), part, fill=color, font=font)
    return picture


def _wrapped(text: str, width: int, font: Font) -> list[str]:
    """Lines of a text, wrapped at spaces to a width in pixels."""
    parts: list[str] = []
    for word in text.split(" "):
        longer = f"{parts[-1]} {word}" if parts else word
        if parts and font.getlength(longer) <= width:
            parts[-1] = longer
        else:
            parts.append(word)
    return parts
