"""Drawings of people, put together from parts: legs by pose, clothes by name, hair by age and gender, a face, props.

Departures from the paper: its pictures are photographs.

A figure has two layers: the body, and what is in front of the things that it wears or holds (props and hands).

    body, front = figure("chef", {"old", "walking", "reading"}, {"holding"})
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from program_guided.tasks.visual.drawing.strokes import Stroke, read_strokes
from program_guided.tasks.visual.embedded.vocabulary import RAISED

__all__ = ["PEOPLE", "figure"]

SEATED = ("sitting on", "riding")
"""Relations whose subject is seated."""
# Legs of a pose: (trouser legs, shoes), each for x from 22 to 78 below the hips.
LEGS = {
    "standing": "leg box 29 58 48 96; leg box 52 58 71 96; ink soft 21 93 48 100; ink soft 52 93 79 100",
    "walking": "leg shape 34 58 54 58 30 94 12 90; leg shape 46 58 68 58 90 90 74 95; ink soft 4 89 30 97; "
    "ink soft 72 92 98 100",
    "sitting": "leg soft 20 68 49 84; leg soft 51 68 80 84; leg box 26 80 44 96; leg box 56 80 74 96; "
    "ink soft 18 93 45 100; ink soft 55 93 82 100",
    "jumping": "shadow oval 18 94 82 100; leg shape 28 54 50 54 34 70 38 84 22 84 14 68; "
    "leg shape 50 54 72 54 86 68 78 84 62 84 66 70; ink soft 14 81 40 88; ink soft 60 81 86 88",
}
ARMS = {
    "down": (
        "blob 26 28 36 30 18 60 4 56; skin oval 3 52 18 61",
        "blob 74 28 64 30 82 60 96 56; skin oval 82 52 97 61",
    ),
    "up": ("blob 26 34 36 30 14 2 2 8; skin oval 0 0 15 9", "blob 74 34 64 30 86 2 98 8; skin oval 85 0 100 9"),
    "out": (
        "blob 26 30 34 38 2 56 -2 46; skin oval -6 45 10 55",
        "blob 74 30 66 38 98 56 102 46; skin oval 90 45 106 55",
    ),
    "mouth": (
        "blob 28 32 34 42 18 50 12 40; blob 12 46 14 36 40 26 44 32",
        "blob 72 32 66 42 82 50 88 40; blob 88 46 86 36 60 26 56 32",
    ),
}
"""State of the arms -> strokes of the left and of the right one."""
GRIPS = {
    "holding": "skin oval 90 46 110 56; ink line 96 48 96 54; ink line 102 48 102 54",
    "carrying": "skin oval -8 54 12 64; ink line -2 56 -2 62; ink line 4 56 4 62",
    "eating": "skin oval 36 24 50 32; skin oval 50 24 64 32",
    "pushing": "skin oval 94 44 110 55; ink line 105 46 105 53",
}
"""Relation -> the hands that it is seen by."""
FACE = "skin oval 25 2 75 28"
FLUSHED = "rose"
EYES = "ink oval 38 12 44 16; ink oval 56 12 62 16"
CLOSED = "ink line 36 14 40 16 45 14; ink line 55 14 60 16 64 14"
MOUTHS = {
    "happy": "white blob 34 18 66 18 60 26 40 26; ink line 34 18 66 18; rose oval 26 15 36 20; rose oval 64 15 74 20",
    "sad": "ink line 40 25 45 22 55 22 60 25; glass oval 30 15 43 27; glass oval 57 15 70 27",
    "angry": "ink shape 30 5 48 11 48 14 30 9; ink shape 70 5 52 11 52 14 70 9; ink line 38 24 44 21 56 21 62 24",
}
HAIR = "hair blob 23 15 24 0 50 -4 76 0 77 15 64 7 36 7"
LONG_HAIR = "hair soft 18 1 82 40"
MOUSTACHE = "hair blob 36 21 50 16 64 21 58 21 50 19 42 21"
PROPS = {
    "talking": "white soft 70 -2 104 12; white shape 74 10 84 10 70 18; ink line 76 3 98 3; ink line 76 8 92 8",
    "reading": "white shape 16 42 50 47 84 42 84 60 50 65 16 60; ink line 50 47 50 64; ink line 24 49 42 52; "
    "ink line 58 52 76 49; ink line 24 55 42 58; ink line 58 58 76 55",
    "sleeping": "ink line 78 0 96 0 78 10 96 10; ink line 70 14 80 14 70 20 80 20",
    "playing": "wood bar 56 50 102 26; wood oval 22 44 66 66; ink oval 36 51 50 59",
}
"""Activity -> what it is seen by."""
CANE = "wood bar 97 54 97 99; wood bar 97 54 88 52"

TORSO = "soft 24 27 76 62"
DRESS = "blob 30 26 70 26 70 44 90 76 10 76 30 44"
PEOPLE = {
    "man": (TORSO, "white shape 40 27 60 27 50 39; rose shape 46 31 54 31 57 52 50 58 43 52"),
    "woman": (DRESS, "gold line 36 30 50 36 64 30; dark box 29 42 71 47"),
    "lady": ("blob 32 26 68 26 66 46 98 88 2 88 34 46", "white blob 30 27 50 34 70 27 64 40 36 40"),
    "player": (TORSO, "white box 40 33 60 55; ink line 44 37 56 37 48 52"),
    "pilot": (
        TORSO,
        "white blob 34 26 66 26 60 34 40 34; gold box 24 29 36 33; gold box 64 29 76 33; ink line 50 34 50 60",
    ),
    "chef": (TORSO, "white box 32 34 68 76; white box 34 27 40 36; white box 60 27 66 36"),
    "farmer": (TORSO, "denim box 30 40 70 64; denim box 31 27 38 42; denim box 62 27 69 42; gold oval 44 46 56 54"),
    "driver": (TORSO, "ring 30 36 70 58; ink line 32 47 68 47; ink line 50 47 50 57"),
    "boy": (TORSO, "white box 24 36 76 41; white box 24 48 76 53"),
    "girl": (TORSO, "rose shape 28 50 72 50 88 76 12 76; rose shape 40 29 50 33 40 38; rose shape 60 29 50 33 60 38"),
    "baby": ("soft 22 40 78 82", "white blob 34 42 66 42 60 58 40 58; gold oval 45 62 55 69"),
}
"""Name -> torso, and what is on it."""
HATS = {
    "lady": "rose oval 4 3 96 10; rose soft 28 -4 72 7; white blob 66 4 80 -4 92 -2 78 7",
    "player": "main soft 26 -3 74 7; main oval 50 4 92 10",
    "pilot": "ink blob 18 6 24 -4 76 -4 82 6; gold line 24 7 76 7; gold oval 45 -1 55 4; gold line 30 12 70 12",
    "chef": "white blob 28 8 14 -2 34 -6 50 -2 66 -6 86 -2 72 8; white box 28 4 72 9",
    "farmer": "gold oval 4 3 96 11; gold soft 28 -4 72 8",
    "driver": "wood blob 20 8 26 -4 74 -4 84 8; wood oval 54 5 94 11; ink soft 32 11 48 18; ink soft 52 11 68 18; "
    "ink line 46 13 54 13",
    "boy": "denim blob 24 10 26 -4 74 -4 76 10; denim oval 2 6 46 12",
    "girl": "hair oval 4 8 25 27; hair oval 75 8 96 27; rose oval 19 8 28 14; rose oval 72 8 81 14",
}
BARE_LEGS = {"woman": "skin", "player": "skin", "boy": "skin", "girl": "skin", "lady": "skin", "baby": "main"}
"""Name -> color of the legs, where they are not trousers."""


def figure(
    name: str, attributes: Collection[str], relations: Collection[str]
) -> tuple[tuple[Stroke, ...], tuple[Stroke, ...]]:
    """Strokes of a person, and those in front of what it wears and holds. Relations are those that it is subject of."""
    pose = pose_of(attributes, relations)
    torso, details = PEOPLE[name]
    legs = LEGS[pose].replace("leg", BARE_LEGS.get(name, "dark"))
    long = name in ("woman", "lady", "girl") or "female" in attributes
    head = _baby_head if name == "baby" else _head
    parts = [LONG_HAIR if long else "", *_arms(pose, relations), torso, details]
    up = RAISED[pose]
    body = [*read_strokes(legs), *_scaled("; ".join(filter(None, parts)), up), *_scaled(head(name, attributes), up)]
    props = [
        *(PROPS[each] for each in PROPS if each in attributes),
        *(GRIPS[each] for each in GRIPS if each in relations),
    ]
    if "old" in attributes:
        props.append(CANE)
    return tuple(body), tuple(_scaled("; ".join(props), min(up, 1.0) if "old" in attributes else up))


def pose_of(attributes: Collection[str], relations: Collection[str]) -> str:
    """The pose that a person is drawn in."""
    if any(relation in SEATED for relation in relations):
        return "sitting"
    return next((pose for pose in RAISED if pose in attributes), "standing")


def _arms(pose: str, relations: Collection[str]) -> list[str]:
    plain = "up" if pose == "jumping" else "down"
    left = "out" if "carrying" in relations else plain
    right = "out" if {"holding", "pushing"} & set(relations) else plain
    if "eating" in relations:
        left = right = "mouth"
    return [ARMS[left][0], ARMS[right][1]]


def _head(name: str, attributes: Collection[str]) -> str:
    eyes = CLOSED if "sleeping" in attributes else EYES
    face = FACE.replace("skin", FLUSHED) if "angry" in attributes else FACE
    parts = [face, eyes, *(MOUTHS[each] for each in MOUTHS if each in attributes), HAIR]
    parts += [MOUSTACHE] if "male" in attributes else []
    return "; ".join([*parts, *filter(None, [HATS.get(name, "")])])


def _baby_head(name: str, attributes: Collection[str]) -> str:
    """A larger head, with a tuft of hair and a pacifier."""
    face = "; ".join(_head("", attributes).split("; ")[:-1])
    return f"{_enlarged(face)}; hair line 50 -2 58 4 52 8; hair line 46 -1 40 4"


def _enlarged(text: str) -> str:
    """Strokes of a head, 1.5 times as large."""
    words = text.replace(";", " ;").split()
    places: list[str] = []
    across = True
    for word in words:
        if word.lstrip("-").isdigit():
            number = int(word)
            places.append(str(round(50 + 1.5 * (number - 50)) if across else round(1.5 * number)))
            across = not across
        else:
            places.append(word)
    return " ".join(places).replace(" ;", ";")


def _scaled(text: str, by: float) -> list[Stroke]:
    scale: Callable[[float, float], tuple[float, float]] = lambda x, y: (x, y * by)  # noqa: E731
    return [each._replace(points=tuple(scale(*point) for point in each.points)) for each in read_strokes(text)]
