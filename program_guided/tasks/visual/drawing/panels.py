"""Drawings of an executed program: the picture with the result of every routine, right or wrong.

Departures from the paper's figures: the oracle's result is shown next to the executor's, if there is a scene graph.

    draw_reasoning(scene, findings, "Is there a bag to the left of the bottle?").save("reasoning.png")
    contact_sheet([draw_card(scene, findings, "Is there a bag to the left of the bottle?"), ...]).save("sheet.png")
    draw_reasoning(Photograph(640, 480, read_photograph(Path("images"), "2386621")), findings)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps, UnidentifiedImageError

from program_guided.errors import DataError, quote
from program_guided.tasks.visual.drawing.painting import INK
from program_guided.tasks.visual.drawing.scene import Corners, draw_labels, draw_picture, outline_boxes
from program_guided.tasks.visual.graph import Scene

__all__ = [
    "Corners",
    "Finding",
    "Photograph",
    "contact_sheet",
    "draw_card",
    "draw_reasoning",
    "open_picture",
    "read_photograph",
]

SCALE, CARD_SCALE = 0.5, 0.5
"""Scale of a scene in a panel, and on a card."""
PHOTOGRAPH_SIDE = 360
"""Longer side of a photograph in a panel, and on a card, in pixels."""
COLUMNS, CARD_COLUMNS = 3, 2
CARD_WIDTH = 880
MARGIN, LINE, TEXT_SIZE = 10, 18, 14
CARD_LINE, CARD_TEXT_SIZE = 15, 12
RULE = "#b5b5b5"
"""Color of the lines between the cards of a sheet, and of detected boxes on an empty canvas."""
VERDICTS = {True: ("right", "#1a7f37"), False: ("wrong", "#c62828"), None: ("not known", "#6b6b6b")}

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


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


@dataclass(frozen=True)
class Photograph:
    """A picture to draw on; without one, an empty canvas with the outlines of the detected boxes."""

    width: int
    height: int
    """Size in the pixels of boxes; the picture may have another one."""
    picture: Image.Image | None = None
    detected: tuple[Corners, ...] = ()
    scene: Scene | None = None
    """The scene graph, if there is one, whose objects are labelled."""


Ground = Scene | Photograph
"""A picture to draw on."""


def draw_reasoning(ground: Ground, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw one panel for every routine, below a title."""
    canvas = _canvas(ground, SCALE)
    panels = [_panel(canvas, finding, number) for number, finding in enumerate(findings, 1)]
    sheet = _rows(panels, min(COLUMNS, len(panels)))
    return _titled(sheet, title) if title else sheet


def draw_card(ground: Ground, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """Draw the picture once, with the boxes of all results, and a list of the routines on its right."""
    picture = _canvas(ground, CARD_SCALE).marked(
        dict.fromkeys(box for finding in findings for box in finding.boxes).keys()
    )
    left = picture.width + 2 * MARGIN
    lines = [_listed(finding, number) for number, finding in enumerate(findings, 1)]
    text = _written(lines, CARD_WIDTH - left - MARGIN, CARD_TEXT_SIZE, CARD_LINE)
    card = Image.new("RGB", (CARD_WIDTH, max(picture.height, text.height) + MARGIN), "white")
    card.paste(picture, (MARGIN, 0))
    card.paste(text, (left, 0))
    return _titled(card, title) if title else card


def read_photograph(folder: Path, image_id: str) -> Image.Image:
    """Read the picture of an id from a folder of pictures."""
    from program_guided.tasks.visual.photographs.extraction import SUFFIXES

    paths = [folder / f"{image_id}{suffix}" for suffix in SUFFIXES]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise DataError(f"{folder}: there is no picture {quote(image_id)} ({', '.join(SUFFIXES)})")
    return open_picture(path)


def open_picture(path: Path) -> Image.Image:
    """Read a picture file, upright."""
    try:
        with Image.open(path) as opened:
            return ImageOps.exif_transpose(opened).convert("RGB")
    except UnidentifiedImageError:  # its text would name the file again
        raise DataError(f"{path}: is not a readable picture (its format is unknown)") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: is not a readable picture ({error})") from None


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


@dataclass(frozen=True)
class _Canvas:
    """A picture at the scale at which it is shown."""

    picture: Image.Image
    scale: float
    scene: Scene | None

    def marked(self, boxes: Collection[Corners]) -> Image.Image:
        """The picture with the outlines of boxes, and the labels of the scene's objects."""
        picture = self.picture.copy()
        outline_boxes(picture, boxes, self.scale)
        if self.scene is not None:
            draw_labels(picture, self.scene, self.scale)
        return picture


def _canvas(ground: Ground, scale: float) -> _Canvas:
    if isinstance(ground, Scene):
        return _Canvas(draw_picture(ground, scale), scale, ground)
    scale = PHOTOGRAPH_SIDE / max(ground.width, ground.height)
    size = max(1, round(ground.width * scale)), max(1, round(ground.height * scale))
    if ground.picture is not None:
        return _Canvas(ground.picture.resize(size, Image.Resampling.LANCZOS), scale, ground.scene)
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for box in ground.detected:
        draw.rectangle([side * scale for side in box], outline=RULE)
    return _Canvas(picture, scale, ground.scene)


def _panel(canvas: _Canvas, finding: Finding, number: int) -> Image.Image:
    marked = canvas.marked(finding.boxes)
    color = VERDICTS[finding.right][1]
    lines = [(f"{number}  {finding.routine}", INK), (_result(finding), color)]
    if finding.truth is not None:
        lines.append((_verdict(finding), color))
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
    verdict = "" if finding.right or finding.truth is None else f"  {_verdict(finding)}"
    return f"{number}  {finding.routine}:  {_result(finding)}{verdict}", VERDICTS[finding.right][1]


def _verdict(finding: Finding) -> str:
    verdict = VERDICTS[finding.right][0]
    return verdict if finding.right else f"{verdict}: {finding.truth}"


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
