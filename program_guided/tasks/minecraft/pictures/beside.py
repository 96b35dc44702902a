"""Executions of one program by several agents, beside each other, as in the paper's figures.

The program and the world at its start stand on the left. Each agent has a strip of pictures: the world at the end of
every routine that it executed, with a green tick, or a red cross where the program failed. A red circle on the map
marks the place of a behaviour that failed.

    ┌ program ────┐  agent   [ finished after 12 steps ]
    │ line        │  ✓ true ───── ✓ 5 steps ───── ✓ 6 steps
    │ line        │  ┌ map ┐      ┌ map ┐         ┌ map ┐
    └─────────────┘  other   [ wrong answer after 1 step ]
    ┌ start ┐        ✗ false, but it is true
    └───────┘        ┌ map ┐

    save_comparison(start, [Strip("minecraft", routines, end), ...], "beside.png")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil
from pathlib import Path

from PIL import Image, ImageDraw

from program_guided.language.display import EDITOR
from program_guided.output import counted
from program_guided.tasks.minecraft.domain import OBJECTS
from program_guided.tasks.minecraft.pictures.fonts import fitted, label_font, write_code
from program_guided.tasks.minecraft.pictures.layout import Box
from program_guided.tasks.minecraft.pictures.listing import ELLIPSIS, Row, cut, mood, window
from program_guided.tasks.minecraft.pictures.picture import (
    ARROWS,
    BANDS,
    BANNERS,
    CARD,
    CARD_DIM,
    EDITOR_FAINT,
    FAINT,
    INK,
    PAPER,
    map_picture,
    write,
    write_line,
)
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.pictures.sprites import sprite

__all__ = ["MAX_FRAMES", "Executed", "Strip", "comparison", "save_comparison"]

MAX_FRAMES, MAX_COLUMNS = 12, 6
"""Pictures of a strip, and of a row of it."""

MARGIN, GAP = 28, 22
MAP, NUMBERS, PADDING = 240, 20, 8
FRAME_WIDTH = NUMBERS + MAP + 2 * PADDING
CHIP, CARRIED = 34, 38
FRAME_HEIGHT = CHIP + NUMBERS + MAP + CARRIED + PADDING
TIMELINE = 44
ROW_HEIGHT = TIMELINE + FRAME_HEIGHT + GAP
START_HEIGHT = GAP + FRAME_HEIGHT
"""The world at the start, below the program."""
HEADER = 52
STRIP_GAP = 26
PITCH, LINE, TITLE, GUTTER = 9, 24, 40, 46
NARROWEST, WIDEST, FEWEST_LINES = 32, 44, 20
"""Bounds of the characters of a program's line, and the lines that are always shown."""
MARK = 26
"""Diameter of ticks and crosses."""
TICK = (((0.26, 0.53), (0.44, 0.70), (0.75, 0.33)),)
CROSS = (((0.31, 0.31), (0.69, 0.69)), ((0.31, 0.69), (0.69, 0.31)))
"""Strokes, as parts of the diameter."""
RIGHT, WRONG = BANNERS["finished"], BANNERS["failed"]


@dataclass(frozen=True)
class Executed:
    """A routine that an agent executed, and the world when it ended."""

    routine: str
    """As the program says it."""
    end: Snapshot
    steps: int
    """Time steps that it took."""
    answer: str = ""
    """Given to a condition or count; empty for a behaviour."""
    problem: str = ""
    """Reason for which the program failed here, empty where it did not: "it is false", "wrong place", "timeout"."""

    @property
    def result(self) -> str:
        """The answer, or the number of steps; and the problem."""
        if self.answer:
            return f"{self.answer}, but {self.problem}" if self.problem else self.answer
        return ", ".join(part for part in (counted(self.steps, "step"), self.problem) if part)


@dataclass(frozen=True)
class Strip:
    """The execution of a program by one agent."""

    agent: str
    routines: tuple[Executed, ...]
    end: Snapshot

    def shown(self, focus: int | None = None) -> tuple[Executed | int, ...]:
        """At most `MAX_FRAMES` routines to draw: the first, the last, and those around `focus`, a routine from 0; a
        number stands for that many others."""
        count = len(self.routines)
        if count <= MAX_FRAMES:
            return self.routines
        kept = set(range(count - MAX_FRAMES // 2, count))
        if focus is not None and focus < count:
            kept = {each for each in (*range(focus - 3, focus + 2), count - 2, count - 1) if 0 <= each < count}
        for each in range(count):
            if len(_with_gaps({*kept, each}, count)) <= MAX_FRAMES:
                kept.add(each)
        return tuple(self.routines[each.start] if len(each) == 1 else len(each) for each in _with_gaps(kept, count))

    @property
    def headline(self) -> str:
        """The outcome and the time."""
        stopped = self.end.message if self.end.outcome == "running" else self.end.outcome
        return f"{stopped} after {counted(self.end.time, 'step')}"


def _with_gaps(kept: set[int], count: int) -> list[range]:
    """The numbers below `count` in pieces: each that is kept, and those between them together."""
    edges = sorted({0, count, *kept, *(each + 1 for each in kept)})
    return [range(first, last) for first, last in pairwise(edges)]


def save_comparison(start: Snapshot, strips: Sequence[Strip], path: str | Path, note: str = "program") -> None:
    """Write the comparison to a PNG file; DataError where it cannot be written."""
    drawn = comparison(start, strips, note).quantize(255, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    write(Path(path), lambda file: drawn.save(file, "PNG", optimize=True))


def comparison(start: Snapshot, strips: Sequence[Strip], note: str = "program") -> Image.Image:
    """Draw executions that begin in the same world; `note` says which program and world it is."""
    failed = [len(strip.routines) - 1 for strip in strips if strip.end.outcome != "finished"]
    shown = [strip.shown(min(failed, default=None)) for strip in strips]
    columns = _columns(max(map(len, shown)))
    heights = [HEADER + ceil(max(1, len(each)) / columns) * ROW_HEIGHT for each in shown]
    right_height = sum(heights) + STRIP_GAP * (len(strips) - 1)
    listing = _Listing.of(start, strips, note, right_height)
    left = MARGIN + listing.width + 2 * GAP
    width = left + columns * (FRAME_WIDTH + GAP) - GAP + MARGIN
    height = 2 * MARGIN + max(right_height - GAP, listing.height + START_HEIGHT)
    image = Image.new("RGB", (width, height), PAPER)
    page = _Page(image, ImageDraw.Draw(image, "RGBA"))
    listing.draw(page, MARGIN, MARGIN)
    _draw_start(page, start, MARGIN + (listing.width - FRAME_WIDTH) // 2, MARGIN + listing.height + GAP)
    top = MARGIN
    for strip, frames, own in zip(strips, shown, heights, strict=True):
        if top > MARGIN:
            page.draw.line((left, top - GAP, width - MARGIN, top - GAP), "#d9d2c2", 2)
        _draw_header(page, strip, (left, top, width - MARGIN, top + HEADER))
        _draw_frames(page, frames, (left, top + HEADER), columns)
        top += own + STRIP_GAP
    return image


def _columns(frames: int) -> int:
    """Frames of a row, such that all rows are about equally long."""
    rows = ceil(max(1, frames) / MAX_COLUMNS)
    return max(3, ceil(frames / rows))


@dataclass(frozen=True)
class _Page:
    """The image that all of it is drawn on."""

    image: Image.Image
    draw: ImageDraw.ImageDraw

    def card(self, box: Box, fill: str, radius: int, rim: str = "", wide: int = 2) -> None:
        """A filled rectangle with smooth round corners, and perhaps a rim."""
        left, top, right, bottom = box
        if rim:
            self.card((left - wide, top - wide, right + wide, bottom + wide), rim, radius + wide)
        self.image.paste(fill, box, _rounded(right - left, bottom - top, radius))

    def label(
        self, place: tuple[float, float], text: str, fill: str, size: int, anchor: str, bold: bool = False
    ) -> None:
        self.draw.text(place, text, fill, label_font(size), anchor, stroke_width=0.4 if bold else 0)

    def mark(self, place: tuple[int, int], right: bool, size: int = MARK) -> None:
        """A tick or a cross on a disc, by its left upper corner."""
        drawing = _mark(right, size)
        self.image.paste(drawing, place, drawing)


@cache
def _rounded(width: int, height: int, radius: int) -> Image.Image:
    mask = Image.new("L", (width * 4, height * 4))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * 4 - 1, height * 4 - 1), radius * 4, 255)
    return mask.reduce(4)


@cache
def _mark(right: bool, size: int) -> Image.Image:
    whole = size * 4
    image = Image.new("RGBA", (whole, whole))
    draw = ImageDraw.Draw(image)
    draw.ellipse((0, 0, whole - 1, whole - 1), RIGHT if right else WRONG)
    for stroke in TICK if right else CROSS:
        points = [(x * whole, y * whole) for x, y in stroke]
        draw.line(points, CARD, round(whole * 0.12), joint="curve")
        for x, y in (points[0], points[-1]):
            reach = whole * 0.06
            draw.ellipse((x - reach, y - reach, x + reach, y + reach), CARD)
    return image.reduce(4)


@cache
def _ring(size: int) -> Image.Image:
    """A red circle with a white rim."""
    whole = size * 4
    image = Image.new("RGBA", (whole, whole))
    draw = ImageDraw.Draw(image)
    draw.ellipse((0, 0, whole - 1, whole - 1), outline=CARD, width=6 * 4)
    draw.ellipse((4, 4, whole - 5, whole - 5), outline=WRONG, width=4 * 4)
    return image.reduce(4)


@dataclass(frozen=True)
class _Listing:
    """The program, with the lines at which agents failed."""

    rows: tuple[Row, ...]
    characters: int
    note: str
    failed: dict[int, tuple[str, ...]]
    """Line from 1 -> the agents that failed there."""

    @classmethod
    def of(cls, start: Snapshot, strips: Sequence[Strip], note: str, height: int) -> _Listing:
        """The program, shortened to a column of this height with the start's picture below it."""
        failed: dict[int, tuple[str, ...]] = {}
        for strip in strips:
            line = strip.end.pointed
            if strip.end.outcome != "finished" and line is not None:
                failed[line + 1] = (*failed.get(line + 1, ()), strip.agent)
        room = max(FEWEST_LINES, (height - GAP - START_HEIGHT - TITLE - LINE // 2) // LINE)
        shown = _noted(window(start.program, min(failed, default=1) - 1, room), len(start.program))
        longest = max(len(line) for line in start.program)
        return cls(shown, min(max(longest, NARROWEST), WIDEST), note, failed)

    @property
    def width(self) -> int:
        return GUTTER + (self.characters + 1) * PITCH

    @property
    def height(self) -> int:
        return TITLE + len(self.rows) * LINE + LINE // 2

    def draw(self, page: _Page, left: int, top: int) -> None:
        right, inset = left + self.width, 14
        page.card((left, top, right, top + self.height), EDITOR, 8)
        title = fitted(self.note, label_font(14), self.width - 2 * inset)
        page.label((left + inset, top + TITLE / 2), title, EDITOR_FAINT, 14, "lm")
        for index, row in enumerate(self.rows):
            above = top + TITLE + index * LINE
            self._row(page, row, (left, above, right, above + LINE))

    def _row(self, page: _Page, row: Row, box: Box) -> None:
        left, top, right, bottom = box
        x, middle = left + GUTTER, (top + bottom) / 2
        if row.number in self.failed:
            page.draw.rectangle((left, top, right - 1, bottom - 1), BANDS["failed"])
            page.draw.rectangle((left, top, left + 4, bottom - 1), ARROWS["failed"])
        if row.number is None:
            write_code(page.draw, (x, middle), row.text, EDITOR_FAINT, PITCH)
            return
        text, number = cut(row.text, self.characters), str(row.number)
        write_code(page.draw, (x - (len(number) + 1.5) * PITCH, middle), number, EDITOR_FAINT, PITCH)
        write_line(page.draw, (x, middle), text, PITCH)
        who = " and ".join(self.failed.get(row.number, ()))
        room = right - 10 - (x + (len(text) + 1) * PITCH)
        if who and label_font(14).getlength(who) + 20 <= room:
            page.label((right - 10, middle), who, ARROWS["failed"], 14, "rm")
            edge = right - 10 - label_font(14).getlength(who)
            page.mark((round(edge) - 20, round(middle) - 7), False, 14)


def _noted(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """The rows, with the number of lines that each mark stands for."""
    shown = list(rows)
    if shown[0].number is None:
        shown[0] = Row(None, f"{ELLIPSIS} {counted((shown[1].number or 1) - 1, 'line')} above")
    if shown[-1].number is None:
        shown[-1] = Row(None, f"{ELLIPSIS} {counted(count - (shown[-2].number or 1), 'line')} below")
    return tuple(shown)


def _draw_frames(page: _Page, shown: Sequence[Executed | int], place: tuple[int, int], columns: int) -> None:
    """The routines in rows, from a left upper corner on, each row with its timeline."""
    left, top = place
    number = 0
    for index, each in enumerate(shown):
        x = left + index % columns * (FRAME_WIDTH + GAP)
        y = top + index // columns * ROW_HEIGHT
        frame = x, y + TIMELINE, x + FRAME_WIDTH, y + TIMELINE + FRAME_HEIGHT
        if index % columns == 0:
            count = min(columns, len(shown) - index)
            ends = x + (count - 1) * (FRAME_WIDTH + GAP) + (FRAME_WIDTH if index + count < len(shown) else 0)
            page.draw.line((x + 4, y + TIMELINE // 2, ends, y + TIMELINE // 2), "#c9c1ae", 3)
        if isinstance(each, int):
            _draw_omission(page, each, frame)
            number += each
        else:
            number += 1
            _draw_result(page, each, (x, y, x + FRAME_WIDTH, y + TIMELINE))
            _draw_routine(page, each, number, frame)


def _draw_header(page: _Page, strip: Strip, box: Box) -> None:
    """The agent's name, and its outcome on a coloured ground."""
    left, top, right, _ = box
    middle, tone = top + 20, mood(strip.end.outcome)
    text = strip.headline
    room = right - left - label_font(18).getlength(text) - 80
    name = fitted(strip.agent, label_font(26), max(160, room))
    page.label((left, middle), name, INK, 26, "lm", bold=True)
    x = round(left + label_font(26).getlength(name)) + 18
    text = fitted(text, label_font(18), right - x - 28)
    end = round(x + 28 + label_font(18).getlength(text))
    page.card((x, top + 4, end, top + 36), BANNERS[tone], 16)
    page.label(((x + end) / 2, middle), text, INK if tone == "running" else CARD, 18, "mm")


def _draw_result(page: _Page, each: Executed, box: Box) -> None:
    """Tick or cross, the result beside it, and the time on the right."""
    left, top, right, bottom = box
    middle, ink = (top + bottom) // 2, WRONG if each.problem else INK
    time = f"step {each.end.time}"
    room = right - left - MARK - 30 - label_font(14).getlength(time)
    text = fitted(each.result, label_font(17), room)
    end = left + MARK + 16 + label_font(17).getlength(text)
    page.draw.rectangle((left, top, end, bottom), PAPER)
    page.draw.rectangle((right - label_font(14).getlength(time) - 8, top, right + 6, bottom), PAPER)
    page.mark((left, middle - MARK // 2), not each.problem)
    page.label((left + MARK + 8, middle), text, ink, 17, "lm", bold=bool(each.problem or each.answer))
    page.label((right, middle), time, FAINT, 14, "rm")


def _draw_routine(page: _Page, each: Executed, number: int, box: Box) -> None:
    """The routine's text above the world."""
    left, top, right, _ = box
    _draw_world(page, each.end, box, WRONG if each.problem else "")
    chip = left, top, right, top + CHIP
    page.card(chip, BANDS["failed"] if each.problem else EDITOR, 6)
    middle, digits = top + CHIP / 2, f"{number}"
    write_code(page.draw, (left + 10, middle), digits, EDITOR_FAINT, PITCH)
    x = left + 10 + (len(digits) + 1) * PITCH
    write_line(page.draw, (x, middle), cut(each.routine, (right - x - 6) // PITCH), PITCH)
    if each.problem and not each.answer:
        _draw_ring(page, each.end, box)


def _draw_start(page: _Page, start: Snapshot, left: int, top: int) -> None:
    box = left, top, left + FRAME_WIDTH, top + FRAME_HEIGHT
    _draw_world(page, start, box, "")
    page.card((left, top, left + FRAME_WIDTH, top + CHIP), CARD_DIM, 6)
    page.label((left + FRAME_WIDTH / 2, top + CHIP / 2), "the world at the start", INK, 16, "mm")


def _draw_omission(page: _Page, count: int, box: Box) -> None:
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    page.card(box, CARD_DIM, 8)
    page.label((x, y - 24), ELLIPSIS, FAINT, 40, "mm")
    page.label((x, y + 14), counted(count, "routine"), FAINT, 18, "mm")
    page.label((x, y + 38), "not shown", FAINT, 18, "mm")


def _draw_world(page: _Page, snapshot: Snapshot, box: Box, rim: str) -> None:
    """The map with its numbers, and what the agent carries; the space above is for the title."""
    page.card(box, CARD, 8, rim or "#d9d2c2", 4 if rim else 1)
    left, top, cell = _map_place(snapshot, box)
    page.image.paste(map_picture(snapshot, cell), (left - 2, top - 2))
    row, column = snapshot.agent
    for index in range(len(snapshot.cells)):
        along = (index + 0.5) * cell
        page.label((left + along, top - NUMBERS / 2 - 1), str(index + 1), INK if index == column else FAINT, 12, "mm")
        page.label((left - NUMBERS / 2, top + along), str(index + 1), INK if index == row else FAINT, 12, "mm")
    _draw_carried(page, snapshot, box)


def _map_place(snapshot: Snapshot, box: Box) -> tuple[int, int, int]:
    """Left and top of the cells, and the size of one."""
    left, top, *_ = box
    cell = MAP // len(snapshot.cells)
    spare = (MAP - cell * len(snapshot.cells)) // 2
    return left + PADDING // 2 + NUMBERS + spare, top + CHIP + NUMBERS + spare, cell


def _draw_carried(page: _Page, snapshot: Snapshot, box: Box) -> None:
    left, _, right, bottom = box
    carried = [(name, snapshot.inventory.get(name, 0)) for name in OBJECTS if snapshot.inventory.get(name, 0)]
    size = 24 if len(carried) < len(OBJECTS) else 20
    middle, x = bottom - (CARRIED + PADDING) // 2 + 4, left + PADDING
    if not carried:
        page.label((x + 4, middle), "carries nothing", FAINT, 14, "lm")
    width = min(56, (right - left - 2 * PADDING) // max(1, len(carried)))
    for name, count in carried:
        drawing = sprite(name, size)
        page.image.paste(drawing, (x, middle - size // 2), drawing)
        page.label((x + size + 1, middle), str(count), INK, 15, "lm")
        x += width


def _draw_ring(page: _Page, snapshot: Snapshot, box: Box) -> None:
    left, top, cell = _map_place(snapshot, box)
    size = round(cell * 1.7)
    row, column = snapshot.agent
    ring = _ring(size)
    x, y = left + (column + 0.5) * cell - size / 2, top + (row + 0.5) * cell - size / 2
    page.image.paste(ring, (round(x), round(y)), ring)
