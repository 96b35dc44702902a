"""Pictures of reasoning: the scene, and for every routine what was found, right or wrong.

Departures from the paper's figures: the oracle's result is said beside the executor's.

    draw_reasoning(scene, findings, "Is there a bag to the left of the bottle?").save("reasoning.png")
    contact_sheet([draw_reasoning(...), ...]).save("sheet.png")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from program_guided.tasks.visual.drawing import INK, MARKED, draw_scene
from program_guided.tasks.visual.graph import Scene

__all__ = ["Finding", "contact_sheet", "draw_reasoning"]

SCALE = 0.5
"""Size of a scene in a panel."""
COLUMNS = 3
MARGIN, LINE, TEXT_SIZE = 10, 18, 14
CAPTION = 3 * LINE + MARGIN
LONGEST = 56
"""Characters of a line."""
VERDICTS = {True: ("right", "#1a7f37"), False: ("wrong", "#c62828"), None: ("not known", "#6b6b6b")}

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Finding:
    """What a routine has found, and what is true."""

    routine: str
    """As it is written in the program."""
    said: str
    """A list of objects, yes or no, or an answer."""
    truth: str
    """The same, by the oracle; or why it does not know."""
    right: bool | None
    """None where it is not known."""
    boxes: tuple[Corners, ...] = ()
    """Of the objects that were found."""
    probability: float = 1.0
    """How sure the executor is."""


def draw_reasoning(scene: Scene, findings: Sequence[Finding], title: str = "") -> Image.Image:
    """One panel for every routine, below a title."""
    picture = draw_scene(scene, legend=False)
    panels = [_panel(picture, finding, number) for number, finding in enumerate(findings)]
    sheet = contact_sheet(panels, min(COLUMNS, len(panels)))
    if not title:
        return sheet
    whole = Image.new("RGB", (sheet.width, sheet.height + LINE + 2 * MARGIN), "white")
    whole.paste(sheet, (0, LINE + 2 * MARGIN))
    _write(ImageDraw.Draw(whole), (MARGIN, MARGIN), title, INK)
    return whole


def contact_sheet(pictures: Sequence[Image.Image], columns: int = 1) -> Image.Image:
    """Pictures side by side and below each other, in places of the same size."""
    columns = max(1, columns)
    width, height = (max((getattr(each, side) for each in pictures), default=1) for side in ("width", "height"))
    rows = max(1, math.ceil(len(pictures) / columns))
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (number % columns * width, number // columns * height))
    return sheet


def _panel(picture: Image.Image, finding: Finding, number: int) -> Image.Image:
    marked = picture.copy()
    draw = ImageDraw.Draw(marked)
    for box in finding.boxes:
        draw.rectangle(box, outline=MARKED, width=6)
    small = marked.resize((round(picture.width * SCALE), round(picture.height * SCALE)), Image.Resampling.LANCZOS)
    panel = Image.new("RGB", (small.width + 2 * MARGIN, small.height + CAPTION + 2 * MARGIN), "white")
    panel.paste(small, (MARGIN, CAPTION))
    verdict, color = VERDICTS[finding.right]
    draw = ImageDraw.Draw(panel)
    draw.rectangle(
        (MARGIN - 3, CAPTION - 3, MARGIN + small.width + 2, CAPTION + small.height + 2), outline=color, width=3
    )
    _write(draw, (MARGIN, MARGIN // 2), f"{number + 1}  {finding.routine}", INK)
    _write(draw, (MARGIN, MARGIN // 2 + LINE), f"{finding.said}  ({finding.probability:.2f})", color)
    told = verdict if finding.right else f"{verdict}: {finding.truth}"
    _write(draw, (MARGIN, MARGIN // 2 + 2 * LINE), told, color)
    return panel


def _write(draw: ImageDraw.ImageDraw, corner: tuple[int, int], text: str, color: str) -> None:
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    draw.text(corner, cut, fill=color, font=ImageFont.load_default(TEXT_SIZE))
