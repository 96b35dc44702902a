"""Scenes of the embedded world: objects with attributes and boxes, and the relations that follow from the boxes.

Departures from the paper: it has no such world; see `vocabulary.py`.

    scene = sample_scene(seed=7)
    scene.objects["3"].name, scene.objects["3"].relations
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from program_guided.language.sampler import between, pick
from program_guided.tasks.visual.embedded.vocabulary import (
    CLASS_OF,
    CLASSES,
    LOCATIONS,
    PLACES,
    RULES,
    WEATHERS,
    WORLD_VALUES,
    Rule,
)
from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.ontology import BUILT_IN

__all__ = ["HEIGHT", "WIDTH", "sample_scene", "spatial_relations"]

WIDTH, HEIGHT = 800, 600
HOSTS = (3, 5)
GUESTS = (4, 8)
STANDING = (*(key for key, kind in CLASSES.items() if kind.large), "furniture", "furniture", "vehicle", "vehicle")
"""Classes of hosts, to draw from; furniture and vehicles, which have the most rules, are three times as likely."""
TRIES = 40
MARGIN = 0.02
"""Minimum distance of a centre to the borders between thirds, as a share of the picture: no position is ambiguous."""
NEAR = 25
"""Maximum distance in pixels of objects that are near each other."""
MAX_COVERED = 0.15
SCALES = {"small": (0.75, 0.75), "large": (1.2, 1.2), "tall": (1.0, 1.15), "long": (1.2, 1.0)}
"""Attribute -> factors of a box's width and height."""


@dataclass
class _Draft:
    name: str
    box: Box
    attributes: tuple[str, ...]
    relations: list[tuple[str, str]] = field(default_factory=list)
    attached: set[int] = field(default_factory=set)


def sample_scene(seed: int, image_id: str | None = None) -> Scene:
    """Generate the scene of a seed."""
    random = Random(seed)
    drafts: list[_Draft] = []
    for _ in range(between(random, *HOSTS)):
        _place_alone(random, drafts)
    for _ in range(between(random, *GUESTS)):
        _place_guest(random, drafts)
    order = sorted(range(len(drafts)), key=lambda _: random.random())
    ids = {number: str(at + 1) for at, number in enumerate(order)}
    objects = {ids[number]: _finish(number, drafts, ids) for number in order}
    location = pick(random, LOCATIONS) if random.random() < 0.5 else pick(random, PLACES)
    return Scene(image_id or str(seed), WIDTH, HEIGHT, objects, location, pick(random, WEATHERS))


def spatial_relations(one: Box, other: Box, attached: bool) -> Iterator[str]:
    """Relations of a box to another that follow from their positions."""
    x1, y1, x2, y2 = one.corners
    u1, v1, u2, v2 = other.corners
    if x2 <= u1:
        yield "to the left of"
    if u2 <= x1:
        yield "to the right of"
    if y2 <= v1:
        yield "above"
    if v2 <= y1:
        yield "below"
    gap = max(x1 - u2, u1 - x2, y1 - v2, v1 - y2)
    if attached:
        return
    if gap < 0:
        yield "in front of" if y2 > v2 else "behind"
    elif gap <= NEAR:
        yield "near"


def _finish(number: int, drafts: Sequence[_Draft], ids: dict[int, str]) -> SceneObject:
    draft = drafts[number]
    relations = [(name, ids[int(other)]) for name, other in draft.relations]
    for at, other in enumerate(drafts):
        if at != number:
            names = spatial_relations(draft.box, other.box, at in draft.attached)
            relations += [(name, ids[at]) for name in names]
    return SceneObject(draft.name, draft.box, draft.attributes, tuple(relations))


def _thing(random: Random, key: str) -> tuple[str, tuple[str, ...], tuple[float, float]]:
    """Draw an object of a class: name, attributes, sides."""
    kind = CLASSES[key]
    name = pick(random, kind.names)
    attributes = tuple(pick(random, WORLD_VALUES[category]) for category in kind.categories)
    width, height = kind.width * (0.85 + 0.3 * random.random()), kind.height * (0.85 + 0.3 * random.random())
    for wide, high in (SCALES[value] for value in attributes if value in SCALES):
        width, height = width * wide, height * high
    return (
        name,
        tuple(value for value in attributes if value not in BUILT_IN.implied.get(name, frozenset())),
        (width, height),
    )


def _place_alone(random: Random, drafts: list[_Draft]) -> None:
    key = pick(random, STANDING)
    name, attributes, (width, height) = _thing(random, key)
    for _ in range(TRIES):
        box = _box(random.random() * WIDTH, random.random() * HEIGHT, width, height)
        if _fits(box) and all(_covered(box, draft.box) <= MAX_COVERED for draft in drafts):
            drafts.append(_Draft(name, box, attributes))
            return


def _place_guest(random: Random, drafts: list[_Draft]) -> None:
    """Attach a new object to one of the scene, if a try finds room for it."""
    for _ in range(TRIES):
        number = between(random, 0, len(drafts) - 1)
        rules = _rules_for(number, drafts)
        if not rules:
            continue
        rule = pick(random, rules)
        name, attributes, sides = _thing(random, pick(random, rule.guests))
        box = _guest_box(drafts[number].box, rule, sides)
        taken = any(_covered(box, draft.box) > MAX_COVERED for at, draft in enumerate(drafts) if at != number)
        if _fits(box) and not taken:
            _attach(number, rule, _Draft(name, box, attributes), drafts)
            return


def _rules_for(number: int, drafts: Sequence[_Draft]) -> list[Rule]:
    """Rules that an object can still be the host of: each relation once, so that guests do not overlap."""
    host = drafts[number]
    taken = {name for name, _ in host.relations}
    taken |= {name for at in host.attached for name, other in drafts[at].relations if other == str(number)}
    return [rule for rule in RULES if CLASS_OF[host.name] in rule.hosts and rule.relation not in taken]


def _attach(number: int, rule: Rule, guest: _Draft, drafts: list[_Draft]) -> None:
    at = len(drafts)
    drafts.append(guest)
    subject, other = (at, number) if rule.guest_is_subject else (number, at)
    drafts[subject].relations.append((rule.relation, str(other)))
    drafts[at].attached.add(number)
    drafts[number].attached.add(at)


def _guest_box(host: Box, rule: Rule, sides: tuple[float, float]) -> Box:
    """Box of a guest around its anchor, scaled down to the rule's maximum size."""
    longest = rule.scale * max(host.width, host.height)
    shrink = min(1.0, longest / max(sides)) if rule.scale < 1 else 1.0
    width, height = sides[0] * shrink, sides[1] * shrink
    x, y = host.x + rule.anchor[0] * host.width, host.y + rule.anchor[1] * host.height
    return _box(x, y, width, height)


def _box(x: float, y: float, width: float, height: float) -> Box:
    """Box around a centre, in integer pixels."""
    return Box(round(x - width / 2), round(y - height / 2), round(width), round(height))


def _fits(box: Box) -> bool:
    """True if a box is inside the picture and its centre is not near a border between thirds."""
    x1, y1, x2, y2 = box.corners
    inside = x1 >= 0 and y1 >= 0 and x2 <= WIDTH and y2 <= HEIGHT
    shares = (box.centre[0] / WIDTH, box.centre[1] / HEIGHT)
    return inside and all(abs(share - border / 3) > MARGIN for share in shares for border in (1, 2))


def _covered(one: Box, other: Box) -> float:
    """Area of the intersection as a share of the smaller box."""
    (x1, y1, x2, y2), (u1, v1, u2, v2) = one.corners, other.corners
    common = max(0.0, min(x2, u2) - max(x1, u1)) * max(0.0, min(y2, v2) - max(y1, v1))
    return common / min(one.area, other.area)
