"""Drawings of scenes of the embedded world: every object as its glyph, with its id, and a legend.

Departures from the paper: its pictures are photographs.

    draw_scene(sample_scene(7)).save("scene.png")
"""

from __future__ import annotations

from collections.abc import Collection
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from program_guided.tasks.visual.drawing.painting import INK, paint_thing
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, CLASSES, SPATIAL
from program_guided.tasks.visual.graph import Scene, SceneObject

__all__ = ["Corners", "draw_labels", "draw_scene", "draw_things", "outline_boxes", "png_bytes"]

LEGEND_WIDTH = 520
LINE = 15
TEXT_SIZE = LABEL_SIZE = 12
GAP = 2
"""Pixels between an object and its label."""
DETAIL = 3
"""Factor of supersampling, for smooth edges."""
SKIES = {"sunny": "#cfe8fb", "cloudy": "#d5dbe0", "rainy": "#b7c3cf", "foggy": "#e9ebec"}
GROUNDS = {"street": "#b8b8b8", "beach": "#efdfb2", "park": "#bfdcb0", "farm": "#d6cf9c", "outdoors": "#c8dcb8"}
INDOOR_GROUND = "#d9c7b0"
MARKED = "#e0007a"

Corners = tuple[float, float, float, float]


def draw_scene(scene: Scene, marked: Collection[str] = (), legend: bool = True) -> Image.Image:
    """Draw a scene; `marked` objects are outlined."""
    picture = draw_things(scene)
    outline_boxes(picture, [thing.box.corners for key, thing in scene.objects.items() if key in marked])
    draw_labels(picture, scene)
    return _with_legend(picture, scene) if legend else picture


def draw_things(scene: Scene, scale: float = 1.0) -> Image.Image:
    """Draw the objects without labels, the largest at the back."""
    width, height = round(scene.width * scale), round(scene.height * scale)
    large = Image.new("RGB", (width * DETAIL, height * DETAIL), SKIES.get(scene.weather or "", "#e6eef2"))
    ground = GROUNDS.get(scene.location or "", INDOOR_GROUND)
    ImageDraw.Draw(large).rectangle((0, large.height * 2 // 3, *large.size), fill=ground)
    for _, thing in _back_to_front(scene):
        x1, y1, x2, y2 = (round(side * scale * DETAIL) for side in thing.box.corners)
        if x2 > x1 and y2 > y1:
            tile = paint_thing(thing, (x2 - x1, y2 - y1), DETAIL)
            large.paste(tile, (x1, y1), tile)
    return large.resize((width, height), Image.Resampling.LANCZOS)


def outline_boxes(picture: Image.Image, boxes: Collection[Corners], scale: float = 1.0) -> None:
    """Draw the outlines of boxes into a picture."""
    draw = ImageDraw.Draw(picture)
    for box in boxes:
        draw.rectangle([side * scale for side in box], outline=MARKED, width=3)


def draw_labels(picture: Image.Image, scene: Scene, scale: float = 1.0) -> None:
    """Label every object, where the label overlaps least with other labels and objects."""
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(LABEL_SIZE)
    boxes = {key: _scaled(thing.box.corners, scale) for key, thing in scene.objects.items()}
    taken: list[Corners] = []
    for key, thing in _back_to_front(scene)[::-1]:
        text = f"{key} {thing.name}"
        size = draw.textlength(text, font=font) + 4, LABEL_SIZE + 3
        small = [box for box in boxes.values() if _area(box) <= 4 * _area(boxes[key])]
        large = [box for box in boxes.values() if box not in small]
        places = [_kept_in(place, picture.size) for place in _places(thing, boxes[key], size)]
        hidden = [9 * _covered(place, taken) + _covered(place, small) + _covered(place, large) / 3 for place in places]
        place = places[hidden.index(min(hidden))]
        taken.append(place)
        draw.rounded_rectangle(place, 3, fill="white")
        draw.text((place[0] + 2, (place[1] + place[3]) / 2), text, fill=INK, font=font, anchor="lm")


def png_bytes(picture: Image.Image) -> bytes:
    """A picture as the contents of a PNG file."""
    memory = BytesIO()
    picture.save(memory, "PNG")
    return memory.getvalue()


def _back_to_front(scene: Scene) -> list[tuple[str, SceneObject]]:
    return sorted(scene.objects.items(), key=lambda item: -item[1].box.area)


def _places(thing: SceneObject, box: Corners, size: tuple[float, float]) -> list[Corners]:
    """Candidate boxes of a label: first above a large object, below a small one (often in front of a large one)."""
    (x1, y1, x2, y2), (width, height) = box, size
    large = CLASSES[CLASS_OF[thing.name]].large if thing.name in CLASS_OF else True
    over, under, middle = y1 - height - GAP, y2 + GAP, (y1 + y2 - height) / 2
    left, right, columns = x1 - width - GAP, x2 + GAP, ((x1 + x2 - width) / 2, x1, x2 - width)
    corners = [(x, y) for y in ((over, under) if large else (under, over)) for x in columns]
    corners += [(x, y) for y in (middle, y1, y2 - height) for x in (right, left)]
    corners += [(x, y) for y in (y1, y2 - height, middle) for x in columns]
    return [(x, y, x + width, y + height) for x, y in corners]


def _kept_in(place: Corners, size: tuple[int, int]) -> Corners:
    """A label's box moved into the picture."""
    x1, y1, x2, y2 = place
    across = min(0, size[0] - 1 - x2) - min(0, x1)
    down = min(0, size[1] - 1 - y2) - min(0, y1)
    return x1 + across, y1 + down, x2 + across, y2 + down


def _scaled(box: Corners, scale: float) -> Corners:
    x1, y1, x2, y2 = box
    return x1 * scale, y1 * scale, x2 * scale, y2 * scale


def _area(box: Corners) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _covered(place: Corners, boxes: Collection[Corners]) -> float:
    """Area of the intersections of a label's box with boxes."""
    x1, y1, x2, y2 = place
    return sum(_area((max(x1, u1), max(y1, v1), min(x2, u2), min(y2, v2))) for u1, v1, u2, v2 in boxes)


def _with_legend(picture: Image.Image, scene: Scene) -> Image.Image:
    """The picture with the scene graph as text on its right, without spatial relations."""
    lines = [f"{scene.location or '?'}, {scene.weather or '?'}"]
    for key, thing in scene.objects.items():
        lines.append(f"{key} {thing.name}: {', '.join(thing.attributes)}")
        relations = [
            f"{name} {other} {scene.objects[other].name}" for name, other in thing.relations if name not in SPATIAL
        ]
        lines += [f"      {each}" for each in relations]
    height = max(picture.height, LINE * (len(lines) + 1))
    whole = Image.new("RGB", (picture.width + LEGEND_WIDTH, height), "white")
    whole.paste(picture, (0, 0))
    draw, font = ImageDraw.Draw(whole), ImageFont.load_default(TEXT_SIZE)
    for number, line in enumerate(lines):
        draw.text((picture.width + 10, 6 + LINE * number), line, fill=INK, font=font)
    return whole
