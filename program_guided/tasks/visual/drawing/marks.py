"""Marks on a picture: boxes in the colors of the routines that found them, with the numbers of these routines.

    marks = marks_of(findings, scene)
    draw_marks(picture, marks, scale=1.5, text=13, faces=faces_of(background), objects=boxes_of(background))

Every routine that finds objects has a color. A box that several routines found has an outline in all their colors. An
object that a routine has missed has a dashed outline, and the routine's number on white.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from PIL import Image, ImageDraw

from program_guided.tasks.visual.drawing.findings import Background, Corners, Finding, Photograph
from program_guided.tasks.visual.drawing.labels import area, overlap_area, place_labels, scaled
from program_guided.tasks.visual.drawing.painting import INK
from program_guided.tasks.visual.drawing.shapes import font_of, paste_card, paste_disc, text_width
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN

__all__ = ["COLORS", "Label", "Mark", "boxes_of", "colors_of", "draw_marks", "faces_of", "marks_of", "scene_behind"]

COLORS = ("#d6186f", "#1c6fd8", "#ef8500", "#7a3cc4", "#00899a", "#9a5326", "#b39700", "#4b5bb8")
"""Colors of the routines that find objects; green and red are those of verdicts."""
SAME = 0.5
"""Intersection over union from which a box is that of an object."""
DASH = 11
"""Length of a part of an outline, in pixels."""
FACE, BABY_FACE = 0.31, 0.46
"""Height of a face, with its hat, as a share of the person's."""


@dataclass(frozen=True)
class Mark:
    """A box that routines have found or missed."""

    box: Corners
    found: tuple[int, ...]
    """Numbers, from 0, of the routines that found it."""
    missed: tuple[int, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Label:
    """The place of a mark's label, in the picture's pixels."""

    mark: Mark
    place: Corners
    box: Corners


def colors_of(findings: Sequence[Finding]) -> dict[int, str]:
    """Number of a routine that finds or misses objects -> its color."""
    pointing = [number for number, finding in enumerate(findings) if finding.boxes or finding.missed]
    return {number: COLORS[place % len(COLORS)] for place, number in enumerate(pointing)}


def marks_of(findings: Sequence[Finding], scene: Scene | None = None) -> list[Mark]:
    """The boxes of all findings, each once; with a scene graph, they have names."""
    marks: dict[Corners, Mark] = {}
    for number, finding in enumerate(findings):
        for box in dict.fromkeys(finding.boxes):
            mark = marks.get(box, Mark(box, ()))
            marks[box] = replace(mark, found=(*mark.found, number))
    for number, finding in enumerate(findings):
        for box in dict.fromkeys(finding.missed):
            known = next((each for each in marks if number not in marks[each].found and _same(each, box)), box)
            mark = marks.get(known, Mark(box, ()))
            marks[known] = replace(mark, missed=(*mark.missed, number))
    return [replace(mark, name=_name(mark.box, scene)) for mark in marks.values()]


def draw_marks(
    picture: Image.Image,
    marks: Sequence[Mark],
    colors: dict[int, str],
    scale: float,
    text: int,
    faces: Sequence[Corners],
    objects: Sequence[Corners],
) -> list[Label]:
    """Draw marks, and their labels where they cover no faces; returns the labels."""
    boxes = [_inside(scaled(mark.box, scale), picture.size) for mark in marks]
    for mark, box in sorted(zip(marks, boxes, strict=True), key=lambda pair: -area(pair[1])):
        _outline(picture, box, [colors[each] for each in mark.found or mark.missed], dashed=not mark.found)
    marked = {mark.box for mark in marks}
    others = [scaled(box, scale) for box in objects if not any(_same(box, each) for each in marked)]
    sizes = [_size(mark, text) for mark in marks]
    places = place_labels(sizes, boxes, picture.size, [scaled(face, scale) for face in faces], others)
    labels = [Label(*each) for each in zip(marks, places, boxes, strict=True)]
    for label in labels:
        _leader(picture, label, colors)
    for label in labels:
        _draw_label(picture, label, colors, text)
    return labels


def scene_behind(background: Background) -> Scene | None:
    """The scene graph of a picture, if there is one."""
    return background if isinstance(background, Scene) else background.scene


def boxes_of(background: Background) -> list[Corners]:
    """Boxes of all objects of a picture, those of its scene graph if there is one."""
    scene = scene_behind(background)
    if scene is not None:
        return [thing.box.corners for thing in scene.objects.values()]
    return [] if isinstance(background, Scene) else list(background.detected)


def faces_of(background: Background, marks: Sequence[Mark]) -> list[Corners]:
    """Where faces are: at the top of people; where they are not known, at the top of everything upright that is
    marked."""
    scene = scene_behind(background)
    if isinstance(background, Photograph) and background.people is not None:
        return [_top(box, FACE) for box in background.people]
    if scene is None:
        upright = [mark.box for mark in marks if mark.box[3] - mark.box[1] > mark.box[2] - mark.box[0]]
        return [_top(box, FACE) for box in upright]
    people = [thing for thing in scene.objects.values() if BUILT_IN.is_a(thing.name, "person")]
    return [_top(thing.box.corners, BABY_FACE if thing.name == "baby" else FACE) for thing in people]


def _top(box: Corners, share: float) -> Corners:
    """The upper part of a box, without what is left and right of a head."""
    x1, y1, x2, y2 = box
    side = 0.15 * (x2 - x1)
    return x1 + side, y1, x2 - side, y1 + share * (y2 - y1)


def _same(one: Corners, other: Corners) -> bool:
    both = overlap_area(one, other)
    return both >= SAME * max(1e-9, area(one) + area(other) - both)


def _name(box: Corners, scene: Scene | None) -> str:
    """Name of the object whose box it is."""
    if scene is None or not scene.objects:
        return ""
    shared = {key: overlap_area(box, thing.box.corners) for key, thing in scene.objects.items()}
    union = {key: area(box) + thing.box.area - shared[key] for key, thing in scene.objects.items()}
    best = max(shared, key=lambda key: shared[key] / max(1e-9, union[key]))
    return scene.objects[best].name if _same(box, scene.objects[best].box.corners) else ""


def _inside(box: Corners, size: tuple[int, int]) -> Corners:
    """A box cut off at the picture's sides."""
    (x1, y1, x2, y2), (width, height) = box, size
    return max(1, min(x1, width - 4)), max(1, min(y1, height - 4)), min(width - 2, x2), min(height - 2, y2)


def _outline(picture: Image.Image, box: Corners, colors: Sequence[str], dashed: bool) -> None:
    """The outline of a box, its parts in turn in one of the colors."""
    draw = ImageDraw.Draw(picture)
    draw.rectangle([round(side) + by for side, by in zip(box, (-3, -3, 3, 3), strict=True)], outline="white", width=5)
    parts = [*colors, "white"] if dashed else colors
    for number, (one, other) in enumerate(_dashes(box)):
        (x1, y1), (x2, y2) = one, other
        corners = (min(x1, x2) - 1, min(y1, y2) - 1, max(x1, x2) + 1, max(y1, y2) + 1)
        draw.rectangle(corners, fill=parts[number % len(parts)])


def _dashes(box: Corners) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The outline of a box in parts, clockwise."""
    x1, y1, x2, y2 = map(round, box)
    for (ax, ay), (bx, by) in pairwise([(x1, y1), (x2, y1), (x2, y2), (x1, y2), (x1, y1)]):
        count = max(1, round(max(abs(bx - ax), abs(by - ay)) / DASH))
        ends = [(round(ax + (bx - ax) * at / count), round(ay + (by - ay) * at / count)) for at in range(count + 1)]
        yield from pairwise(ends)


def _size(mark: Mark, text: int) -> tuple[float, float]:
    """Width and height of a label."""
    height = text + 7
    discs = (height - 1) * (len(mark.found) + len(mark.missed))
    return discs + (text_width(mark.name, text) + 7 if mark.name else 3), height


def _leader(picture: Image.Image, label: Label, colors: dict[int, str]) -> None:
    """A line from a box to its label, if they are apart."""
    ends = []
    for axis in (0, 1):
        low, high = (
            max(box[axis] for box in (label.place, label.box)),
            min(b[axis + 2] for b in (label.place, label.box)),
        )
        ends.append(
            ((low + high) / 2,) * 2 if low <= high else (_near(label.place, axis, low), _near(label.box, axis, low))
        )
    (x1, x2), (y1, y2) = ends
    if max(abs(x1 - x2), abs(y1 - y2)) > 6:
        first = (label.mark.found or label.mark.missed)[0]
        draw = ImageDraw.Draw(picture)
        draw.line((x1, y1, x2, y2), "white", 5)
        draw.line((x1, y1, x2, y2), colors[first], 2)


def _near(box: Corners, axis: int, low: float) -> float:
    """The side of a box that faces the other one, of two that are apart along an axis."""
    return box[axis] if box[axis] == low else box[axis + 2]


def _draw_label(picture: Image.Image, label: Label, colors: dict[int, str], text: int) -> None:
    x1, y1, x2, y2 = label.place
    height = y2 - y1
    paste_card(picture, (round(x1), round(y1), round(x2), round(y2)), height / 2.2, "white")
    x, y = x1 + height / 2, (y1 + y2) / 2
    for numbers, hollow in ((label.mark.found, False), (label.mark.missed, True)):
        for number in numbers:
            paste_disc(picture, (x, y), height / 2 - 1.5, colors[number], str(number + 1), hollow)
            x += height - 1
    draw = ImageDraw.Draw(picture)
    draw.text((x - height / 2 + 3, y), label.mark.name, fill=INK, font=font_of(text), anchor="lm")
