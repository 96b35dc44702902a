"""Scene graphs: the objects of a picture with their names, boxes, attributes and relations.

Departures from the paper: none; these are the records of the release's `sceneGraphs.json`.

    scene_of({"width": 640, "height": 480, "objects": {"7": {"name": "bag", "x": 10, "y": 20, "w": 30, "h": 40,
              "attributes": ["red"], "relations": [{"name": "on", "object": "8"}]}, "8": {...}}}, "2386621")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from program_guided.errors import DataError, quote

__all__ = ["MAX_SIDE", "Box", "Scene", "SceneObject", "record_of", "scene_of"]

MAX_SIDE = 1_000_000
"""Maximum side of a picture, and maximum distance of a box from its corner, in pixels."""


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, from its top left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """x1, y1, x2, y2."""
        return self.x, self.y, self.x + self.width, self.y + self.height


@dataclass(frozen=True)
class SceneObject:
    """An object of a scene graph."""

    name: str
    box: Box
    attributes: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    """(relation, id of the other object); this object is the subject."""


@dataclass(frozen=True)
class Scene:
    """Scene graph of a picture; objects by id, in the file's order."""

    image_id: str
    width: int
    height: int
    objects: Mapping[str, SceneObject]
    location: str | None = None
    weather: str | None = None

    def _repr_png_(self) -> bytes:
        from program_guided.tasks.visual.drawing.scene import draw_scene, png_bytes

        return png_bytes(draw_scene(self, legend=False))


def scene_of(record: Any, image_id: str) -> Scene:
    """Read one record; raises `DataError` that names the wrong field."""
    try:
        objects = {str(key): _object(value, str(key)) for key, value in record["objects"].items()}
        width, height = record["width"], record["height"]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"expected 'width', 'height' and 'objects' ({_reason(error)})") from None
    if not (_is_number(width) and _is_number(height) and width >= 1 and height >= 1):
        raise DataError(f"'width' and 'height' must be numbers from 1 to {MAX_SIDE:,}")
    where = {name: record.get(name) for name in ("location", "weather")}
    if not all(value is None or isinstance(value, str) for value in where.values()):
        raise DataError("'location' and 'weather' must be texts")
    for key, thing in objects.items():
        missing = next((other for _, other in thing.relations if other not in objects), None)
        if missing is not None:
            raise DataError(f"object {quote(key)} has a relation to {quote(missing)}, which is not among the objects")
    return Scene(image_id, int(width), int(height), objects, **where)


def record_of(scene: Scene) -> dict[str, Any]:
    """The record that `scene_of` reads."""
    where = {"location": scene.location, "weather": scene.weather}
    return {
        "width": scene.width,
        "height": scene.height,
        **{key: value for key, value in where.items() if value is not None},
        "objects": {key: _object_record(thing) for key, thing in scene.objects.items()},
    }


def _object(value: Any, key: str) -> SceneObject:
    try:
        sides = [value[side] for side in ("x", "y", "w", "h")]
        relations = tuple((relation["name"], str(relation["object"])) for relation in value["relations"])
        name, attributes = value["name"], tuple(value["attributes"])
        if not isinstance(value["attributes"], list):
            raise TypeError
    except (KeyError, TypeError) as error:
        raise DataError(f"object {quote(key)}: {_reason(error)}") from None
    if not all(isinstance(text, str) for text in (name, *attributes, *(relation for relation, _ in relations))):
        raise DataError(f"object {quote(key)}: its name, attributes and relations must be texts")
    if not all(map(_is_number, sides)):
        raise DataError(f"object {quote(key)}: its box must be four numbers of at most {MAX_SIDE:,}")
    return SceneObject(name, Box(*sides), attributes, relations)


def _object_record(thing: SceneObject) -> dict[str, Any]:
    box = thing.box
    return {
        "name": thing.name,
        **dict(zip("xywh", (box.x, box.y, box.width, box.height), strict=True)),
        "attributes": list(thing.attributes),
        "relations": [{"name": name, "object": other} for name, other in thing.relations],
    }


def _is_number(value: Any) -> bool:
    """True for a number of pixels; false for not a number, too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_SIDE


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else "a value has the wrong type"
