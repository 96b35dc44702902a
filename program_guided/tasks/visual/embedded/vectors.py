"""Vectors of objects in the embedded world: how probable each name, value and role is, as a detector sees it.

Departures from the paper: it takes the vectors of the release's detector, whose numbers have no names.

A vector has a part for the name, one for the values of attributes, one for the roles in relations that are seen in the
object itself (a hand that grips), one each for the location and the weather of the picture, and the height of the
ground that the object, or its host, stands on.

    truth = true_vectors(scene)                    (objects, SIZE) with zeros and ones
    truth[0, PARTS["names"]].argmax()              number of the name in NAMES
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from program_guided.tasks.visual.embedded.vocabulary import (
    CLASS_OF,
    CLASSES,
    LOCATIONS,
    NAMES,
    PLACES,
    RULE_OF,
    WEATHERS,
    WORLD_VALUES,
)
from program_guided.tasks.visual.graph import Scene

__all__ = [
    "CATEGORIES",
    "FEATURE_NAMES",
    "PARTS",
    "ROLES",
    "SCENE_VALUES",
    "SIZE",
    "VALUES",
    "VALUE_PARTS",
    "applicable",
    "grounds",
    "hosts",
    "true_vectors",
]

CATEGORIES = tuple(WORLD_VALUES)
VALUES = tuple((category, value) for category in CATEGORIES for value in WORLD_VALUES[category])
"""All values of attributes, those of a category one after another."""
ROLES = tuple((relation, role) for relation in RULE_OF for role in ("subject", "object"))
"""Relations that are seen in an object, and its role in them."""
SCENE_VALUES = {"location": (*LOCATIONS, *PLACES), "weather": WEATHERS}

Floats = NDArray[np.float32]


def _parts(sizes: Mapping[str, int]) -> dict[str, slice]:
    ends = list(accumulate(sizes.values()))
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


PARTS = _parts(
    {
        "names": len(NAMES),
        "values": len(VALUES),
        "roles": len(ROLES),
        **{name: len(values) for name, values in SCENE_VALUES.items()},
        "ground": 1,
    }
)
"""Part of a vector -> its place."""
VALUE_PARTS = _parts({category: len(WORLD_VALUES[category]) for category in CATEGORIES})
"""Category -> its place among the values."""
SIZE = PARTS["ground"].stop
FEATURE_NAMES = (
    *NAMES,
    *(value for _, value in VALUES),
    *("" for _ in ROLES),
    *(value for values in SCENE_VALUES.values() for value in values),
    "",
)
"""Word of each number of a vector; "" where it has none."""


def true_vectors(scene: Scene) -> Floats:
    """Vectors of the objects of a scene, without any error."""
    found = np.zeros((len(scene.objects), SIZE), np.float32)
    keys = list(scene.objects)
    for at, thing in enumerate(scene.objects.values()):
        found[at, PARTS["names"]][NAMES.index(thing.name)] = 1
        own = CLASSES[CLASS_OF[thing.name]].categories
        found[at, PARTS["values"]] = [category in own and value in thing.attributes for category, value in VALUES]
        for relation, other in thing.relations:
            if relation in RULE_OF:
                found[at, PARTS["roles"]][ROLES.index((relation, "subject"))] = 1
                found[keys.index(other), PARTS["roles"]][ROLES.index((relation, "object"))] = 1
    for part, value in (("location", scene.location), ("weather", scene.weather)):
        if value in SCENE_VALUES[part]:
            found[:, PARTS[part]][:, SCENE_VALUES[part].index(value)] = 1
    found[:, PARTS["ground"]] = grounds(scene)[:, None]
    return found


def hosts(scene: Scene) -> dict[str, str]:
    """Guest -> its host."""
    found: dict[str, str] = {}
    for key, thing in scene.objects.items():
        for relation, other in thing.relations:
            if relation in RULE_OF:
                guest, host = (key, other) if RULE_OF[relation].guest_is_subject else (other, key)
                found[guest] = host
    return found


def grounds(scene: Scene) -> Floats:
    """Height of the ground that each object, or its host, stands on, as a share of the picture from its top."""
    host = hosts(scene)

    def root(key: str) -> str:
        seen = {key}
        while key in host and host[key] not in seen:
            key = host[key]
            seen.add(key)
        return key

    return np.array([scene.objects[root(key)].box.corners[3] / scene.height for key in scene.objects], np.float32)


@cache
def applicable() -> Floats:
    """(names, values) 1 where objects of a name have the category of a value."""
    categories = [set(CLASSES[CLASS_OF[name]].categories) for name in NAMES]
    return np.array([[category in own for category, _ in VALUES] for own in categories], np.float32)
