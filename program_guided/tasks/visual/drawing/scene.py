"""Pictures of scenes: every object as it is, in front of what is farther away, in its place and weather.

Departures from the paper: its pictures are photographs.

Things that stand on the ground are drawn from the farthest (whose lower edge is highest) to the nearest; what a thing
wears, holds, contains or carries is drawn with it. A camera adds light, clutter, blur and noise.

    draw_picture(sample_scene(7)).save("scene.png")
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from program_guided.tasks.visual.drawing.backdrop import HORIZON, draw_backdrop, draw_fog
from program_guided.tasks.visual.drawing.labels import place_labels
from program_guided.tasks.visual.drawing.painting import INK, PADDING, paint_thing
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, RULE_OF, SPATIAL
from program_guided.tasks.visual.graph import Box, Scene

__all__ = ["CLEAN", "Camera", "draw_labels", "draw_picture", "draw_scene", "png_bytes"]

LEGEND_WIDTH = 520
LINE = 15
TEXT_SIZE = LABEL_SIZE = 12
DETAIL = 2
"""Factor of supersampling, for smooth edges."""
MARKED = "#e0007a"
UNIT = 480
"""Width of a picture whose outlines are one pixel wide."""


@dataclass(frozen=True)
class Camera:
    """Sources of uncertainty of a picture."""

    noise: float = 6.0
    """Standard deviation of a pixel's noise, of 255."""
    blur: float = 0.7
    """Maximum radius of the blur, in pixels."""
    light: float = 0.15
    """Maximum change of brightness and contrast, as a share."""
    clutter: int = 6
    """Maximum number of things without a name."""

    def times(self, factor: float) -> Camera:
        """A camera that is less or more uncertain."""
        return Camera(
            factor * self.noise, factor * self.blur, min(1.0, factor * self.light), round(factor * self.clutter)
        )


CLEAN = Camera(0.0, 0.0, 0.0, 0)


def draw_picture(scene: Scene, scale: float = 1.0, camera: Camera = CLEAN) -> Image.Image:
    """Draw a scene as a camera sees it; the same scene and camera give the same picture."""
    width, height = round(scene.width * scale), round(scene.height * scale)
    random = Random(f"{scene.image_id} {len(scene.objects)}")
    canvas = draw_backdrop(scene.location, scene.weather, (width * DETAIL, height * DETAIL), random)
    painter = _Painter(scene, canvas, scale * DETAIL, 2 * random.random() - 1)
    _scatter(canvas, random.randrange(camera.clutter + 1), random)
    painter.draw_all()
    draw_fog(canvas, scene.weather, scene.location)
    return _seen(canvas.resize((width, height), Image.Resampling.BOX), camera, random)


class _Painter:
    """Draws the objects of a scene on a canvas."""

    def __init__(self, scene: Scene, canvas: Image.Image, scale: float, light: float) -> None:
        self.scene = scene
        self.canvas = canvas
        self.scale = scale
        self.light = light
        self.unit = max(1, round(scene.width * scale / UNIT))
        self.guests = _guests(scene)

    def draw_all(self) -> None:
        attached = {guest for guests in self.guests.values() for _, guest in guests}
        alone = [key for key in self.scene.objects if key not in attached]
        for key in sorted(alone, key=lambda key: self.scene.objects[key].box.corners[3]):
            box = self.scene.objects[key].box
            if box.corners[3] > HORIZON * self.scene.height:  # what flies has no shadow
                self._shade(box, 0.05)
            self._draw(key)

    def _draw(self, key: str, tilt: float = 0.0) -> None:
        """An object, with its guests behind it, on it, and its own hands or wall in front of them."""
        thing, guests = self.scene.objects[key], self.guests[key]
        for rule, guest in guests:
            if RULE_OF[rule].behind:
                self._guest(rule, key, guest)
        body, front = paint_thing(thing, self._size(thing.box), self.unit, self._random(key), self.light)
        self._paste(body, thing.box, tilt)
        inside = [guest for guest in guests if guest[0] == "in"]
        before = [guest for guest in guests if guest not in inside and not RULE_OF[guest[0]].behind]
        wall_first = CLASS_OF.get(thing.name) == "container"
        for rule, guest in inside if wall_first else before:
            self._guest(rule, key, guest)
        if front is not None and (inside or not wall_first):
            self._paste(front, thing.box, tilt)
        for rule, guest in before if wall_first else inside:
            self._guest(rule, key, guest)

    def _guest(self, rule: str, host: str, guest: str) -> None:
        box = self.scene.objects[guest].box
        draw = ImageDraw.Draw(self.canvas)
        if rule in ("on", "standing on", "lying on", "under"):
            self._shade(box, 0.03)
        if rule == "hanging on":
            (x, _), top = box.centre, box.y
            points = [(x, top - 0.1 * box.height), (x, top + 0.1 * box.height)]
            draw.line([(a * self.scale, b * self.scale) for a, b in points], INK, 2 * self.unit)
        if rule == "pulling":
            one, other = box.centre, self.scene.objects[host].box.centre
            draw.line([(a * self.scale, b * self.scale) for a, b in (one, other)], "#6b4a2b", 3 * self.unit)
        self._draw(guest, 14.0 if rule == "leaning on" else 0.0)

    def _random(self, key: str) -> Random:
        return Random(f"{self.scene.image_id} {key}")

    def _size(self, box: Box) -> tuple[int, int]:
        return max(2, round(box.width * self.scale)), max(2, round(box.height * self.scale))

    def _paste(self, tile: Image.Image, box: Box, tilt: float) -> None:
        if tilt:
            tile = tile.rotate(tilt, Image.Resampling.BILINEAR)
        width, height = self._size(box)
        left, top = (
            round(box.x * self.scale) - round(PADDING * width),
            round(box.y * self.scale) - round(PADDING * height),
        )
        self.canvas.paste(tile, (left, top), tile)

    def _shade(self, box: Box, depth: float) -> None:
        """The shadow of a thing where it touches the ground."""
        x1, _, x2, y2 = (side * self.scale for side in box.corners)
        high = max(2.0, depth * (x2 - x1))
        layer = Image.new("L", (max(1, round(x2 - x1)), max(1, round(2 * high))))
        ImageDraw.Draw(layer).ellipse((0, 0, layer.width - 1, layer.height - 1), 95)
        self.canvas.paste("#101010", (round(x1), round(y2 - high)), layer)


def _guests(scene: Scene) -> dict[str, list[tuple[str, str]]]:
    """Host -> its guests: (relation, guest)."""
    found: dict[str, list[tuple[str, str]]] = {key: [] for key in scene.objects}
    for key, thing in scene.objects.items():
        for relation, other in thing.relations:
            rule = RULE_OF.get(relation)
            if rule is not None:
                host, guest = (other, key) if rule.guest_is_subject else (key, other)
                found[host].append((relation, guest))
    return found if _is_forest(found) else {key: [] for key in scene.objects}


def _is_forest(guests: dict[str, list[tuple[str, str]]]) -> bool:
    """True if no object has two hosts or is its own guest, as in all scenes of the embedded world."""
    hosts = [guest for each in guests.values() for _, guest in each]
    seen: set[str] = set()

    def visit(key: str) -> None:
        seen.add(key)
        for _, guest in guests[key]:
            visit(guest)

    if len(hosts) != len(set(hosts)):
        return False
    for key in guests:
        if key not in hosts:
            visit(key)
    return len(seen) == len(guests)


CLUTTER = ("#7f7a6d", "#9a8f7a", "#6d7a5a", "#a59a8a")


def _scatter(canvas: Image.Image, count: int, random: Random) -> None:
    """Stones, tufts and scraps on the ground."""
    draw, (width, height) = ImageDraw.Draw(canvas), canvas.size
    for _ in range(count):
        x, y = random.random() * width, (HORIZON + (1 - HORIZON) * random.random()) * height
        r = (0.004 + 0.012 * (y / height - HORIZON)) * width
        color = CLUTTER[random.randrange(len(CLUTTER))]
        if random.random() < 0.5:
            draw.ellipse((x - r, y - 0.6 * r, x + r, y + 0.6 * r), color)
        else:
            draw.polygon(
                [(x - r, y), (x - 0.5 * r, y - 1.6 * r), (x, y), (x + 0.5 * r, y - 1.8 * r), (x + r, y)], color
            )


def _seen(picture: Image.Image, camera: Camera, random: Random) -> Image.Image:
    """The picture as a camera sees it."""
    if camera == CLEAN:
        return picture
    if camera.blur:
        picture = picture.filter(ImageFilter.GaussianBlur(camera.blur * random.random()))
    pixels = np.asarray(picture).astype(np.float32)
    bright, contrast = (1 + camera.light * (2 * random.random() - 1) for _ in range(2))
    noise = np.random.Generator(np.random.PCG64(random.randrange(2**32))).standard_normal(pixels.shape, np.float32)
    pixels = (pixels - 128) * contrast + 128 * bright + camera.noise * random.random() * noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def draw_scene(scene: Scene, marked: Collection[str] = (), legend: bool = True) -> Image.Image:
    """Draw a scene with the names of its objects; `marked` objects are outlined."""
    picture = draw_picture(scene)
    draw = ImageDraw.Draw(picture)
    for key, thing in scene.objects.items():
        if key in marked:
            draw.rectangle(thing.box.corners, outline=MARKED, width=3)
    draw_labels(picture, scene)
    return _with_legend(picture, scene) if legend else picture


def draw_labels(picture: Image.Image, scene: Scene) -> None:
    """Label every object, where the label hides least."""
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(LABEL_SIZE)
    texts = [f"{key} {thing.name}" for key, thing in scene.objects.items()]
    sizes = [(draw.textlength(text, font=font) + 4, LABEL_SIZE + 3) for text in texts]
    boxes = [thing.box.corners for thing in scene.objects.values()]
    for text, place in zip(texts, place_labels(sizes, boxes, picture.size), strict=True):
        draw.rounded_rectangle(place, 3, fill="white")
        draw.text((place[0] + 2, (place[1] + place[3]) / 2), text, fill=INK, font=font, anchor="lm")


def png_bytes(picture: Image.Image) -> bytes:
    """A picture as the contents of a PNG file."""
    memory = BytesIO()
    picture.save(memory, "PNG")
    return memory.getvalue()


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
