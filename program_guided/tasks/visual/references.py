"""Words for one object of a scene, so that they mean no other: the noun phrases of questions, as programs.

Departures from the paper: it has no such generator; see `vocabulary.py`.

    Asker(scene, Random(0)).reference("7")        select(bag), filter_color([1], red): steps whose result is object 7
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from program_guided.language.sampler import pick
from program_guided.language.syntax import Call, Program
from program_guided.tasks.visual.concepts import parent_of
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.oracle import PLACED, execute, position
from program_guided.tasks.visual.vocabulary import CLASS_OF, CLASSES, NAMES, WORLD_VALUES, release_category

__all__ = ["POSITIONS", "Asker", "Steps", "extend", "join", "operation"]

Steps = tuple[Call, ...]
T = TypeVar("T")
TRIES = 12
DEEPER = 0.4
"""How often the other end of a relation is itself described."""
POSITIONS = {category: words for category, (_, words) in PLACED.items()}


def extend(steps: Steps, operation: str, *words: str, inputs: tuple[int, ...] | None = None) -> Steps:
    """One more routine, on the last result unless told otherwise."""
    before = (len(steps) - 1,) if steps else ()
    return (*steps, Call(operation, words, before if inputs is None else inputs))


def join(first: Steps, second: Steps, operation: str) -> Steps:
    """Two programs, and a routine that takes both results."""
    moved = tuple(replace(call, inputs=tuple(number + len(first) for number in call.inputs)) for call in second)
    both = (*first, *moved)
    return extend(both, operation, inputs=(len(first) - 1, len(both) - 1))


class Asker:
    """A scene, and draws from it."""

    def __init__(self, scene: Scene, random: Random) -> None:
        self.scene = scene
        self.random = random
        self.ids = tuple(scene.objects)

    def pick(self, items: Sequence[T]) -> T | None:
        return pick(self.random, items) if items else None

    def coin(self) -> bool:
        return self.random.random() < 0.5

    def name(self, key: str) -> str:
        return self.scene.objects[key].name

    def attributes(self, key: str) -> list[tuple[str, str]]:
        """(category of the world, value) of an object."""
        known = self.scene.objects[key].attributes
        categories = CLASSES[CLASS_OF[self.name(key)]].categories
        return [(category, value) for category in categories for value in WORLD_VALUES[category] if value in known]

    def other_value(self, category: str, value: str) -> str:
        return pick(self.random, [other for other in WORLD_VALUES[category] if other != value])

    def thing(self) -> str:
        return pick(self.random, self.ids)

    def reference(self, key: str | None = None, called: str | None = None) -> Steps | None:
        """Words for one object, so that they mean no other; `called`: the noun to use."""
        for _ in range(TRIES):
            wanted = key or self.thing()
            noun = called or self.called(wanted)
            steps = pick(self.random, (_by_name, _by_name, _by_attribute, _by_place, _by_relation))(self, wanted, noun)
            if steps and execute(Program(steps), self.scene)[-1].value == (wanted,):
                return steps
        return None

    def called(self, key: str) -> str:
        """Its name, or sometimes what kind of thing it is."""
        parent = parent_of(self.name(key))
        return parent if parent and self.random.random() < 0.25 else self.name(key)

    def edge(self, key: str) -> tuple[str, str, str] | None:
        """(relation, role of this object in it, the other object), rare relations as often as frequent ones."""
        edges = [(name, "subject", other) for name, other in self.scene.objects[key].relations]
        edges += [
            (name, "object", at)
            for at, thing in self.scene.objects.items()
            for name, to in thing.relations
            if to == key
        ]
        relation = self.pick(sorted({edge[0] for edge in edges}))
        return self.pick([edge for edge in edges if edge[0] == relation])

    def absent(self) -> str:
        """A name of nothing in the picture."""
        present = {thing.name for thing in self.scene.objects.values()}
        return pick(self.random, [name for name in NAMES if name not in present])


def _by_name(asker: Asker, key: str, noun: str) -> Steps | None:
    return extend((), "select", noun)


def _by_attribute(asker: Asker, key: str, noun: str) -> Steps | None:
    found = asker.pick(asker.attributes(key))
    if found is None:
        return None
    word = f"not({asker.other_value(*found)})" if asker.random.random() < 0.2 else found[1]
    return extend(extend((), "select", noun), operation("filter", found[0]), word)


def _by_place(asker: Asker, key: str, noun: str) -> Steps | None:
    category = pick(asker.random, tuple(POSITIONS))
    return extend(extend((), "select", noun), f"filter_{category}", position(asker.scene, key, category))


def _by_relation(asker: Asker, key: str, noun: str) -> Steps | None:
    edge = asker.edge(key)
    if edge is None:
        return None
    relation, role, other = edge
    deeper = asker.reference(other) if asker.random.random() < DEEPER else None
    return extend(deeper or extend((), "select", asker.name(other)), "relate", noun, relation, role)


def operation(family: str, category: str) -> str:
    """`filter`, `face expression` -> `filter_face_expression`; the bare operation for what has no name there."""
    return "_".join([family, *release_category(category).split()])
