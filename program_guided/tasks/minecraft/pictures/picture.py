"""A moment of an execution as an image: the map, what the agent carries, the program and what has just happened.

Files are written atomically.

    picture(snapshot).show()
    save_gif(snapshots, "execution.gif")
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from PIL import Image, ImageDraw

from program_guided.errors import DataError
from program_guided.language.display import COLOURS, EDITOR
from program_guided.tasks.minecraft.domain import OBJECTS
from program_guided.tasks.minecraft.pictures.fonts import fitted, label_font, write_code
from program_guided.tasks.minecraft.pictures.layout import CELL, GUTTER, LINE, NUMBERS, TITLE, Box, Layout
from program_guided.tasks.minecraft.pictures.listing import Row, cut, headline, mood, window, words
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.pictures.sprites import SPRITES, sprite

__all__ = ["animation_html", "map_picture", "picture", "png_bytes", "save_gif", "save_png", "write", "write_line"]

MILLISECONDS, LAST_MILLISECONDS = 250, 1500
"""Duration of a frame of a GIF, and of the last one."""
PALETTE = 255
"""One less than a GIF's palette has: the last one marks pixels that did not change between frames."""

PAPER, INK, FAINT = "#f3efe6", "#2e3440", "#8b8f98"
CARD, CARD_DIM = "#ffffff", "#e9e4d8"
EDITOR_FAINT = "#7c869c"
AGENT = "#e0186f"
BANNERS = {"running": "#dcd5c5", "finished": "#2f9e44", "failed": "#d6333a", "timeout": "#ec8305"}
BANDS = {"running": "#4a4326", "finished": "#23512f", "failed": "#6b2430", "timeout": "#65431a"}
ARROWS = {"running": "#ffd43b", "finished": "#69db7c", "failed": "#ff6b6b", "timeout": "#ffa94d"}


def picture(snapshot: Snapshot, cell: int = CELL) -> Image.Image:
    """Draw a snapshot; `cell` is the width of a cell in pixels, and all else is in proportion."""
    layout = Layout.of(snapshot, cell)
    image = Image.new("RGB", layout.size, PAPER)
    page = _Page(snapshot, layout, image, ImageDraw.Draw(image, "RGBA"))
    for part in (_map, _numbers, _inventory, _program, _banner):
        part(page)
    return image


def map_picture(snapshot: Snapshot, cell: int = CELL) -> Image.Image:
    """Draw the map of a snapshot alone, with its rim of two pixels."""
    layout = Layout.of(snapshot, cell)
    image = Image.new("RGB", layout.size, PAPER)
    _map(_Page(snapshot, layout, image, ImageDraw.Draw(image, "RGBA")))
    left, top, right, bottom = layout.map
    return image.crop((left - 2, top - 2, right + 2, bottom + 2))


def save_png(snapshot: Snapshot, path: str | Path) -> None:
    """Write the picture to a file; DataError where it cannot be written."""
    write(Path(path), lambda file: picture(snapshot).save(file, "PNG", optimize=True))


def save_gif(snapshots: Iterable[Snapshot], path: str | Path, milliseconds: int = MILLISECONDS) -> None:
    """Write an execution as a moving picture that shows each snapshot for some milliseconds."""
    moments = tuple(snapshots)
    if not moments:
        raise DataError(f"{path}: there is nothing to draw, the execution has no snapshots")
    write(Path(path), lambda file: _save_frames(moments, file, milliseconds))


def png_bytes(snapshot: Snapshot) -> bytes:
    """The picture as the contents of a PNG file."""
    memory = BytesIO()
    picture(snapshot).save(memory, "PNG")
    return memory.getvalue()


def animation_html(snapshots: Iterable[Snapshot]) -> str:
    """An execution as an animation, for notebooks: an image that holds its own data."""
    memory, moments = BytesIO(), tuple(snapshots)
    _save_frames(moments, memory, MILLISECONDS)
    return f'<img alt="{moments[-1].outcome}" src="data:image/gif;base64,{b64encode(memory.getvalue()).decode()}">'


@dataclass(frozen=True)
class _Page:
    """The snapshot, its layout and the image it is drawn on."""

    snapshot: Snapshot
    layout: Layout
    image: Image.Image
    draw: ImageDraw.ImageDraw

    def put(self, name: str, left: int, top: int, size: int, opacity: float = 1) -> None:
        """A sprite by its left upper corner."""
        drawing = sprite(name, size)
        alpha = drawing.getchannel("A").point([round(value * opacity) for value in range(256)])
        self.image.paste(drawing, (left, top), alpha)

    def card(self, box: Box, fill: str, radius: float) -> None:
        """A filled rectangle with smooth round corners."""
        left, top, right, bottom = box
        self.image.paste(fill, box, _rounded(right - left, bottom - top, self.layout.scaled(radius)))

    def label(
        self, place: tuple[float, float], text: str, fill: str, size: float, anchor: str = "mm", halo: str = ""
    ) -> None:
        font, rim = label_font(self.layout.scaled(size)), self.layout.scaled(2) if halo else 0
        self.draw.text(place, text, fill, font, anchor, stroke_width=rim, stroke_fill=halo or None)


@cache
def _rounded(width: int, height: int, radius: int) -> Image.Image:
    mask = Image.new("L", (width * 4, height * 4))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * 4 - 1, height * 4 - 1), radius * 4, 255)
    return mask.reduce(4)


def _map(page: _Page) -> None:
    layout, (left, top, right, bottom) = page.layout, page.layout.map
    for row, names in enumerate(page.snapshot.cells):
        for column in range(len(names)):
            _cell(page, row, column)
    for index in range(1, layout.columns):
        page.draw.line((left + index * layout.cell, top, left + index * layout.cell, bottom - 1), "#00000020")
    for index in range(1, layout.rows):
        page.draw.line((left, top + index * layout.cell, right - 1, top + index * layout.cell), "#00000020")
    page.draw.rectangle((left - 2, top - 2, right + 1, bottom + 1), outline=INK, width=2)
    _agent(page)


def _cell(page: _Page, row: int, column: int) -> None:
    left, top, *_ = page.layout.cell_at(row, column)
    name, size = page.snapshot.cells[row][column], page.layout.cell
    page.put("flat", left, top, size)
    page.put(name, left, top, size)
    if name == "bridge" and _flows_down(page.snapshot.cells, row, column):
        page.image.paste(sprite("bridge", size).transpose(Image.Transpose.ROTATE_90), (left, top))


def _flows_down(cells: tuple[tuple[str, ...], ...], row: int, column: int) -> bool:
    """True if the river runs through a bridge from top to bottom, so that it is crossed sideways."""
    above_and_below = {cells[other][column] for other in (row - 1, row + 1) if 0 <= other < len(cells)}
    return not above_and_below.isdisjoint({"river", "bridge"})


def _agent(page: _Page) -> None:
    left, top, right, bottom = page.layout.cell_at(*page.snapshot.agent)
    wide = page.layout.scaled(2.5)
    page.draw.rectangle((left - 1, top - 1, right, bottom), outline="#ffffff", width=wide + 2)
    page.draw.rectangle((left, top, right - 1, bottom - 1), outline=AGENT, width=wide)
    page.put("agent", left, top, page.layout.cell)


def _numbers(page: _Page) -> None:
    """Columns and rows from 1, as programs count them; those of the agent stand out."""
    layout, (left, top, *_) = page.layout, page.layout.map
    half, middle = layout.cell / 2, layout.scaled(NUMBERS) / 2 + 1
    row, column = page.snapshot.agent
    for index in range(layout.columns):
        _number(page, (left + index * layout.cell + half, top - middle), index + 1, index == column)
    for index in range(layout.rows):
        _number(page, (left - middle, top + index * layout.cell + half), index + 1, index == row)
    page.label((left + middle / 3, top - middle), "x", FAINT, 12)
    page.label((left - middle, top + middle / 3), "y", FAINT, 12)


def _number(page: _Page, place: tuple[float, float], number: int, agent: bool) -> None:
    x, y = (round(coordinate) for coordinate in place)
    if agent:
        reach = page.layout.scaled(9)
        page.card((x - reach, y - reach, x + reach, y + reach), AGENT, 9)
    page.label((x, y), str(number), "#ffffff" if agent else INK, 13)


def _inventory(page: _Page) -> None:
    scaled = page.layout.scaled
    for name, box in zip(OBJECTS, page.layout.slots, strict=True):
        count = page.snapshot.inventory.get(name, 0)
        left, top, right, bottom = box
        middle, size = (left + right) // 2, scaled(34)
        ground, ink, opacity = (CARD, INK, 1.0) if count else (CARD_DIM, FAINT, 0.3)
        page.card(box, ground, 6)
        page.put(name, middle - size // 2 - scaled(3), top + scaled(4), size, opacity)
        page.label((middle + scaled(20), top + scaled(37)), str(count), ink, 17, "rs", halo=ground)
        page.label((middle, bottom - scaled(9)), name, ink, 9.5)


def _program(page: _Page) -> None:
    layout, snapshot = page.layout, page.snapshot
    left, top, right, _ = layout.program
    page.card(layout.program, EDITOR, 8)
    count = len(snapshot.program)
    where = f"{count} lines" if snapshot.pointed is None else f"line {snapshot.pointed + 1} of {count}"
    inset, middle = layout.scaled(14), top + layout.scaled(TITLE) / 2
    page.label((left + inset, middle), "program", EDITOR_FAINT, 13, "lm")
    page.label((right - inset, middle), where, EDITOR_FAINT, 13, "rm")
    for index, row in enumerate(window(snapshot.program, snapshot.pointed, layout.program_rows)):
        _program_row(page, row, layout.row_at(index))


def _program_row(page: _Page, row: Row, box: Box) -> None:
    layout, pitch = page.layout, page.layout.pitch
    left, top, _, bottom = box
    middle = (top + bottom) / 2
    if row.pointed:
        _pointer(page, box)
    number = str(row.number or "")
    x = left + layout.scaled(GUTTER)
    write_code(page.draw, (x - (len(number) + 1.5) * pitch, middle), number, EDITOR_FAINT, pitch)
    write_line(page.draw, (x, middle), cut(row.text, layout.characters), pitch)


def write_line(draw: ImageDraw.ImageDraw, place: tuple[float, float], text: str, pitch: int) -> None:
    """Write a line of a program in its colours, from the left, vertically centred on the place."""
    x, y = place
    for word, kind in words(text):
        write_code(draw, (x, y), word, COLOURS[kind], pitch)
        x += len(word) * pitch


def _pointer(page: _Page, box: Box) -> None:
    """The coloured band behind the pointed line, and its arrow."""
    left, top, right, bottom = box
    tone = mood(page.snapshot.outcome)
    page.draw.rectangle((left, top, right - 1, bottom - 1), BANDS[tone])
    page.draw.rectangle((left, top, left + page.layout.scaled(4) - 1, bottom - 1), ARROWS[tone])
    reach = page.layout.scaled(LINE) / 4
    x, y = left + page.layout.scaled(10), (top + bottom) / 2
    page.draw.polygon([(x, y - reach), (x + 1.7 * reach, y), (x, y + reach)], ARROWS[tone])


def _banner(page: _Page) -> None:
    layout, snapshot, tone = page.layout, page.snapshot, mood(page.snapshot.outcome)
    left, top, right, bottom = layout.banner
    page.card(layout.banner, BANNERS[tone], 8)
    x, middle, inset = left + layout.scaled(8), (top + bottom) / 2, layout.scaled(8)
    for text, width in ((f"step {snapshot.time}", 84), (snapshot.action or "start", 66)):
        pill = x, top + inset, x + layout.scaled(width), bottom - inset
        page.card(pill, CARD, 13)
        text = fitted(text, label_font(layout.scaled(14)), layout.scaled(width - 10))
        page.label(((pill[0] + pill[2]) / 2, middle), text, INK, 14)
        x = pill[2] + inset
    ink, size = (INK, 15) if tone == "running" else (CARD, 18)
    text = headline(snapshot.outcome, snapshot.message)
    message = fitted(text, label_font(layout.scaled(size)), right - x - 3 * inset)
    page.label((x + inset, middle), message, ink, size, "lm")


def _save_frames(moments: tuple[Snapshot, ...], file: BinaryIO, milliseconds: int) -> None:
    palette = _palette(moments)
    first, *others = (picture(moment).quantize(palette=palette, dither=Image.Dither.NONE) for moment in moments)
    durations = [milliseconds] * len(others) + [LAST_MILLISECONDS]
    first.save(file, "GIF", save_all=True, append_images=others, duration=durations, loop=0)


def _palette(moments: tuple[Snapshot, ...]) -> Image.Image:
    """The colours of all frames, so that none flickers: those of both ends, of every sprite, bright and dimmed."""
    poor, rich = replace(moments[0], inventory={}), replace(moments[-1], inventory=dict.fromkeys(OBJECTS, 1))
    images = [picture(poor), picture(rich), *(sprite(name, CELL) for name in SPRITES)]
    sheet = Image.new("RGB", (images[0].width, sum(image.height for image in images)), PAPER)
    top = 0
    for image in images:
        sheet.paste(image, (0, top), image.convert("RGBA"))
        top += image.height
    # Median cut, PIL's first choice, turns the program's thin coloured letters grey.
    return sheet.quantize(PALETTE, Image.Quantize.FASTOCTREE)


def write(path: Path, save: Callable[[BinaryIO], None]) -> None:
    """Write a file atomically."""
    if not os.path.isdir(path.parent):
        raise DataError(f"{path}: cannot be written: there is no folder {path.parent}")
    if os.path.isdir(path):
        raise DataError(f"{path}: cannot be written: it is a folder")
    unfinished = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        with unfinished.open("xb") as file:
            save(file)
        unfinished.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
