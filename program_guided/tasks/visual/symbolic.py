"""Symbolic execution of the labels that a detector finds most likely (the way of NS-VQA): a baseline without learning.

Departures from the paper: it quotes NS-VQA's figure. Here the oracle executes programs on the scene graph of the most
likely names, attributes and roles.

    scene = scene_of_detections(detected)
    answer_symbolically(program, detected)                   None if a routine has no result
    answer_symbolically(program, detected, repair=True)      a routine that finds nothing takes what is most likely it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Program
from program_guided.language.table import compile_program
from program_guided.tasks.visual.domain import DOMAIN, Row, negated, row_of
from program_guided.tasks.visual.embedded.scenes import spatial_relations
from program_guided.tasks.visual.embedded.vectors import PARTS, ROLES, SCENE_VALUES, VALUE_PARTS, VALUES
from program_guided.tasks.visual.embedded.vocabulary import CLASS_OF, CLASSES, NAMES, RULE_OF, WORLD_VALUES
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import ANYTHING, SCENE, Ids, Value, answer_of, execute
from program_guided.tasks.visual.targets import overlap

__all__ = ["answer_symbolically", "scene_of_detections"]

ROLE = 0.5
"""Probability from which an object has a role."""
NAMED = 0.15
"""Probability of its most likely name below which a detection is clutter."""
SAME = 0.6
"""Intersection over union of two detections of one name from which they are one object."""
UNLIKELY = 0.05
"""Weight of an object whose position does not fit a relation."""


def answer_symbolically(program: Program, detected: Detected, repair: bool = False) -> str | None:
    """The answer, if every routine has a result."""
    scene = scene_of_detections(detected)
    if not repair:
        return answer_of(execute(program, scene))
    likely = _Likely(scene, detected)
    calls = compile_program(program, DOMAIN).calls
    tested = {call.inputs[0] for call in calls if row_of(call)[0].family == "exist"}

    def likeliest(number: int, row: Row, words: Ids, inputs: Sequence[Value]) -> Ids:
        """Nothing for a routine of which the program tests whether it finds something."""
        return () if number in tested else likely.best(row, words, inputs)

    return answer_of(execute(program, scene, repair=likeliest))


def scene_of_detections(detected: Detected) -> Scene:
    """The scene graph of the most likely labels."""
    vectors = detected.features
    kept = _kept(vectors, detected.boxes)
    names = {str(at): NAMES[int(vectors[at, PARTS["names"]].argmax())] for at in kept}
    boxes = {str(at): _box(detected.boxes[at]) for at in kept}
    relations: dict[str, list[tuple[str, str]]] = {key: [] for key in names}
    for subject, relation, other in _rule_relations(vectors, boxes):
        relations[subject].append((relation, other))
    grounds = {str(at): float(vectors[at, PARTS["ground"]][0]) for at in kept}
    groups = _groups(relations)
    for one, other in permutations(names, 2):
        nearer = None if groups[one] == groups[other] else grounds[one] > grounds[other]
        relations[one] += [(name, other) for name in spatial_relations(boxes[one], boxes[other], nearer)]
    objects = {
        key: SceneObject(name, boxes[key], _attributes(name, vectors[int(key)]), tuple(relations[key]))
        for key, name in names.items()
    }
    location, weather = (_scene_value(vectors, part) for part in SCENE_VALUES)
    return Scene("", detected.width, detected.height, objects, location, weather)


def _groups(relations: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Object -> the first of those that are attached to each other."""
    group = {key: key for key in relations}
    for key, edges in relations.items():
        for _, other in edges:
            one, two = sorted((group[key], group[other]))
            group = {each: one if own == two else own for each, own in group.items()}
    return group


def _kept(vectors: NDArray[np.float32], boxes: NDArray[np.float32]) -> list[int]:
    """Detections that are no clutter, each object once."""
    shares, overlaps = vectors[:, PARTS["names"]], overlap(boxes, boxes)
    kept: list[int] = []
    for at in np.argsort(-shares.max(axis=1, initial=0), kind="stable").tolist():
        again = any(shares[at].argmax() == shares[other].argmax() and overlaps[at, other] > SAME for other in kept)
        if shares[at].max() >= NAMED and not again:
            kept.append(at)
    return sorted(kept)


def _box(corners: NDArray[np.float32]) -> Box:
    x1, y1, x2, y2 = map(float, corners)
    return Box(x1, y1, x2 - x1, y2 - y1)


def _attributes(name: str, vector: NDArray[np.float32]) -> Ids:
    values, own = vector[PARTS["values"]], CLASSES[CLASS_OF[name]].categories
    found = [WORLD_VALUES[category][int(values[VALUE_PARTS[category]].argmax())] for category in own]
    return tuple(value for value in found if value not in BUILT_IN.implied.get(name, frozenset()))


def _scene_value(vectors: NDArray[np.float32], part: str) -> str | None:
    if not len(vectors):
        return None
    return SCENE_VALUES[part][int(vectors[:, PARTS[part]].mean(axis=0).argmax())]


def _rule_relations(vectors: NDArray[np.float32], boxes: dict[str, Box]) -> Iterator[tuple[str, str, str]]:
    """Relations that are seen in objects: each subject with the nearest object that has the other role."""
    for relation in RULE_OF:
        subjects, objects = (_with_role(vectors, boxes, relation, role) for role in ("subject", "object"))
        for subject in subjects:
            others = [other for other in objects if other != subject]
            if others:
                yield subject, relation, min(others, key=lambda other: _gap(boxes[subject], boxes[other]))


def _with_role(vectors: NDArray[np.float32], boxes: dict[str, Box], relation: str, role: str) -> list[str]:
    at = ROLES.index((relation, role))
    return [key for key in boxes if vectors[int(key), PARTS["roles"]][at] >= ROLE]


def _gap(one: Box, other: Box) -> float:
    """Distance of two boxes, then of their centres."""
    x1, y1, x2, y2 = one.corners
    u1, v1, u2, v2 = other.corners
    apart = max(0.0, x1 - u2, u1 - x2) + max(0.0, y1 - v2, v1 - y2)
    (a, b), (c, d) = one.centre, other.centre
    return 1000 * apart + abs(a - c) + abs(b - d)


class _Likely:
    """The objects that are most likely those that a routine looks for."""

    def __init__(self, scene: Scene, detected: Detected) -> None:
        self.scene = scene
        self.vectors = {key: detected.features[int(key)] for key in scene.objects}

    def best(self, row: Row, words: Ids, inputs: Sequence[Value]) -> Ids:
        among = inputs[0] if row.family == "filter" else tuple(self.scene.objects)
        assert isinstance(among, tuple)
        keys = [key for key in among if key in self.vectors]
        if row.family == "relate":
            keys = [key for key in keys if inputs and key not in inputs[0]]  # type: ignore[operator]
        if not keys:
            return ()
        return (max(keys, key=lambda key: self._score(row, words, inputs, key)),)

    def _score(self, row: Row, words: Ids, inputs: Sequence[Value], key: str) -> float:
        if row.family == "select":
            return self._named(key, words[0])
        if row.family == "filter":
            negative, value = negated(words[0])
            share = self._value(key, row.category, value)
            return 1 - share if negative else share
        name, relation, role = words
        return self._named(key, name) * self._related(key, relation, role, inputs[0])

    def _named(self, key: str, name: str) -> float:
        if name == ANYTHING:
            return 1.0
        shares = self.vectors[key][PARTS["names"]]
        return float(
            sum(
                share for share, each in zip(shares, NAMES, strict=True) if each == name or each in BUILT_IN.kinds(name)
            )
        )

    def _value(self, key: str, category: str, value: str) -> float:
        shares = self.vectors[key][PARTS["values"]]
        return float(
            max(
                (
                    share
                    for share, (kind, each) in zip(shares, VALUES, strict=True)
                    if each == value and (not category or kind == category)
                ),
                default=0.0,
            )
        )

    def _related(self, key: str, relation: str, role: str, inputs: Value) -> float:
        fits = (
            any(
                (relation, other) in self.scene.objects[key].relations
                if role == "subject"
                else (relation, key) in self.scene.objects[other].relations
                for other in inputs
                if other != SCENE
            )
            if isinstance(inputs, tuple)
            else False
        )
        if relation not in RULE_OF:
            return 1.0 if fits else UNLIKELY
        share = float(self.vectors[key][PARTS["roles"]][ROLES.index((relation, role))])
        return max(share, UNLIKELY)
