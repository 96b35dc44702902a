"""Referring expressions: programs whose result is exactly one given object of a scene.

Departures from the paper: it has no such generator; see `vocabulary.py`.

    SceneSampler(scene, Random(0)).reference("7")        select(bag), filter_color([1], red)
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from program_guided.language.sampler import pick
from program_guided.language.syntax import Call, Program
from program_guided.tasks.visual.domain import routine
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, CLASSES, NAMES, WORLD_VALUES, release_category
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import PLACED, execute, position

__all__ = ["POSITIONS", "SceneSampler", "Steps", "extend", "join", "moved", "operation"]

Steps = tuple[Call, ...]
T = TypeVar("T")
TRIES = 12
NESTED = 0.4
"""Probability that the other object of a relation is itself a referring expression."""
POSITIONS = {category: placed.words for category, placed in PLACED.items()}


def extend(steps: Steps, operation: str, *words: str, inputs: tuple[int, ...] | None = None) -> Steps:
    """Append a routine; its input is the last result by default."""
    before = (len(steps) - 1,) if steps else ()
    return (*steps, routine(operation, words, before if inputs is None else inputs))


def join(first: Steps, second: Steps, operation: str) -> Steps:
    """Concatenate two programs and a routine that takes both results."""
    both = (*first, *moved(second, len(first)))
    return extend(both, operation, inputs=(len(first) - 1, len(both) - 1))


def moved(steps: Steps, by: int) -> Steps:
    """The same routines with the numbers of their inputs shifted."""
    return tuple(routine(call.operation, call.words, [number + by for number in call.inputs]) for call in steps)


class SceneSampler:
    """Random choices of objects, words and referring expressions of a scene."""

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
        """Referring expression for an object, random by default, with the noun `called`; None if no try succeeds."""
        for _ in range(TRIES):
            target = key or self.thing()
            noun = called or self.called(target)
            steps = pick(self.random, (_by_name, _by_name, _by_attribute, _by_place, _by_relation))(self, target, noun)
            if steps and execute(Program(steps), self.scene)[-1].value == (target,):
                return steps
        return None

    def called(self, key: str) -> str:
        """The name of an object or, with probability 1/4, its hypernym."""
        parent = BUILT_IN.parent_of(self.name(key))
        return parent if parent and self.random.random() < 0.25 else self.name(key)

    def edge(self, key: str) -> tuple[str, str, str] | None:
        """(relation, role of this object, id of the other), drawn uniformly over relations; None if it has none."""
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
        """A name of no object in the scene."""
        present = {thing.name for thing in self.scene.objects.values()}
        return pick(self.random, [name for name in NAMES if name not in present])


def _by_name(sampler: SceneSampler, key: str, noun: str) -> Steps | None:
    return extend((), "select", noun)


def _by_attribute(sampler: SceneSampler, key: str, noun: str) -> Steps | None:
    found = sampler.pick(sampler.attributes(key))
    if found is None:
        return None
    word = f"not({sampler.other_value(*found)})" if sampler.random.random() < 0.2 else found[1]
    return extend(extend((), "select", noun), operation("filter", found[0]), word)


def _by_place(sampler: SceneSampler, key: str, noun: str) -> Steps | None:
    category = pick(sampler.random, tuple(POSITIONS))
    return extend(extend((), "select", noun), f"filter_{category}", position(sampler.scene, key, category))


def _by_relation(sampler: SceneSampler, key: str, noun: str) -> Steps | None:
    edge = sampler.edge(key)
    if edge is None:
        return None
    relation, role, other = edge
    nested = sampler.reference(other) if sampler.random.random() < NESTED else None
    return extend(nested or extend((), "select", sampler.name(other)), "relate", noun, relation, role)


def operation(family: str, category: str) -> str:
    """`filter`, `face expression` -> `filter_face_expression`; the bare operation if the release lacks the category."""
    return "_".join([family, *release_category(category).split()])
