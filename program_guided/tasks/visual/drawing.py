"""Pictures of the embedded world that a person can check: every box drawn as what it shows, numbered, with a legend.

Departures from the paper: its pictures are photographs.

    draw_scene(sample_scene(7)).save("scene.png")
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from PIL import Image, ImageDraw, ImageFont

from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.vocabulary import CLASS_OF, CLASSES, SPATIAL, WORLD_VALUES

__all__ = ["draw_scene"]

LEGEND_WIDTH = 520
LINE = 15
TEXT_SIZE = 12
COLORS = {
    "white": "#f7f7f7",
    "black": "#2b2b2b",
    "brown": "#8b5a2b",
    "blue": "#3b6fd4",
    "green": "#3c9d4e",
    "red": "#d43b3b",
    "yellow": "#f0c930",
    "purple": "#8a4fc7",
}
SKIN, PLAIN, INK = "#e8b892", "#b9c4cc", "#1d1d1d"
SKIES = {"sunny": "#cfe8fb", "cloudy": "#d5dbe0", "rainy": "#b7c3cf", "foggy": "#e9ebec"}
GROUNDS = {"street": "#b8b8b8", "beach": "#efdfb2", "park": "#bfdcb0", "farm": "#d6cf9c", "outdoors": "#c8dcb8"}
INDOOR_GROUND = "#d9c7b0"
MARKED = "#e0007a"

Paint = Callable[[ImageDraw.ImageDraw, Box, str], None]


def draw_scene(scene: Scene, marked: Collection[str] = (), legend: bool = True) -> Image.Image:
    """The picture; `marked` objects are outlined."""
    picture = Image.new("RGB", (scene.width, scene.height), SKIES.get(scene.weather or "", "#e6eef2"))
    draw = ImageDraw.Draw(picture)
    ground = GROUNDS.get(scene.location or "", INDOOR_GROUND)
    draw.rectangle((0, scene.height * 2 // 3, scene.width, scene.height), fill=ground)
    back_to_front = sorted(scene.objects.items(), key=lambda item: -item[1].box.area)
    for key, thing in back_to_front:
        _draw_object(draw, thing, key in marked)
    for key, thing in back_to_front:
        _draw_label(draw, f"{key} {thing.name}", thing)
    return _with_legend(picture, scene) if legend else picture


def _draw_object(draw: ImageDraw.ImageDraw, thing: SceneObject, marked: bool) -> None:
    color = next((COLORS[value] for value in thing.attributes if value in COLORS), PLAIN)
    shape = next((value for value in thing.attributes if value in WORLD_VALUES["shape"]), None)
    paint = SHAPES[shape] if shape in SHAPES else PAINTED.get(CLASS_OF.get(thing.name, ""), _rectangle)
    paint(draw, thing.box, color)
    _draw_pattern(draw, thing)
    if marked:
        draw.rectangle(thing.box.corners, outline=MARKED, width=4)


def _draw_label(draw: ImageDraw.ImageDraw, text: str, thing: SceneObject) -> None:
    """Over a large thing, under a small one: what is small is often in front of something large."""
    font = ImageFont.load_default(TEXT_SIZE)
    x1, y1, _, y2 = thing.box.corners
    large = CLASSES[CLASS_OF[thing.name]].large if thing.name in CLASS_OF else True
    corner = (x1, max(0, y1 - LINE) if large else y2)
    draw.rectangle(draw.textbbox(corner, text, font=font), fill="white")
    draw.text(corner, text, fill=INK, font=font)


def _draw_pattern(draw: ImageDraw.ImageDraw, thing: SceneObject) -> None:
    x1, y1, x2, y2 = (round(side) for side in thing.box.corners)
    across, along = range(x1 + 6, x2 - 2, 8), range(y1 + 6, y2 - 2, 8)
    if "striped" in thing.attributes or "checkered" in thing.attributes:
        for x in across:
            draw.line((x, y1 + 3, x, y2 - 3), fill=INK)
    if "checkered" in thing.attributes:
        for y in along:
            draw.line((x1 + 3, y, x2 - 3, y), fill=INK)
    if "dotted" in thing.attributes:
        for x, y in ((x, y) for x in across for y in along):
            draw.ellipse((x - 1, y - 1, x + 1, y + 1), fill=INK)


def _rectangle(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    draw.rectangle(box.corners, fill=color, outline=INK)


def _ellipse(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    draw.ellipse(box.corners, fill=color, outline=INK)


def _triangle(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    x1, y1, x2, y2 = box.corners
    draw.polygon(((x1, y2), (x2, y2), (box.centre[0], y1)), fill=color, outline=INK)


def _square(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    """A square as large as the box has room for, in the box's outline."""
    side = min(box.width, box.height)
    x, y = box.centre
    draw.rectangle(box.corners, outline=INK)
    draw.rectangle((x - side / 2, y - side / 2, x + side / 2, y + side / 2), fill=color, outline=INK)


def _person(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    x1, y1, x2, y2 = box.corners
    middle, head = box.centre[0], min(box.width, box.height) * 0.2
    draw.ellipse((middle - head, y1, middle + head, y1 + 2 * head), fill=SKIN, outline=INK)
    draw.rounded_rectangle(
        (x1 + box.width * 0.15, y1 + 2 * head, x2 - box.width * 0.15, y2), 8, fill=color, outline=INK
    )


def _animal(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    x1, y1, x2, y2 = box.corners
    for share in (0.2, 0.7):
        draw.rectangle(
            (x1 + box.width * share, box.centre[1], x1 + box.width * (share + 0.1), y2), fill=color, outline=INK
        )
    draw.ellipse((x1, y1 + box.height * 0.25, x2 - box.width * 0.15, y2 - box.height * 0.2), fill=color, outline=INK)
    draw.ellipse((x2 - box.width * 0.35, y1, x2, y1 + box.height * 0.45), fill=color, outline=INK)


def _vehicle(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    x1, y1, x2, y2 = box.corners
    wheel = box.height * 0.15
    draw.rounded_rectangle((x1, y1, x2, y2 - wheel), 10, fill=color, outline=INK)
    for x in (x1 + box.width * 0.22, x2 - box.width * 0.22):
        draw.ellipse((x - wheel, y2 - 2 * wheel, x + wheel, y2), fill=INK)


def _plant(draw: ImageDraw.ImageDraw, box: Box, color: str) -> None:
    x1, y1, x2, y2 = box.corners
    draw.rectangle((box.centre[0] - 5, box.centre[1], box.centre[0] + 5, y2), fill="#7a5230", outline=INK)
    draw.ellipse((x1, y1, x2, y2 - box.height * 0.25), fill=color, outline=INK)


SHAPES: dict[str | None, Paint] = {
    "round": _ellipse,
    "rectangular": _rectangle,
    "triangular": _triangle,
    "square": _square,
}
PAINTED: dict[str, Paint] = {
    **dict.fromkeys(("adult", "worker", "child"), _person),
    **dict.fromkeys(("animal", "bird"), _animal),
    **dict.fromkeys(("fruit", "vegetable", "toy"), _ellipse),
    "vehicle": _vehicle,
    "plant": _plant,
}


def _with_legend(picture: Image.Image, scene: Scene) -> Image.Image:
    """All that the graph says, beside the picture; relations that anyone can see from the boxes are left out."""
    lines = [f"{scene.location or '?'}, {scene.weather or '?'}"]
    for key, thing in scene.objects.items():
        lines.append(f"{key} {thing.name}: {', '.join(thing.attributes)}")
        seen = [f"{name} {other} {scene.objects[other].name}" for name, other in thing.relations if name not in SPATIAL]
        lines += [f"      {each}" for each in seen]
    height = max(picture.height, LINE * (len(lines) + 1))
    whole = Image.new("RGB", (picture.width + LEGEND_WIDTH, height), "white")
    whole.paste(picture, (0, 0))
    draw, font = ImageDraw.Draw(whole), ImageFont.load_default(TEXT_SIZE)
    for number, line in enumerate(lines):
        draw.text((picture.width + 10, 6 + LINE * number), line, fill=INK, font=font)
    return whole
