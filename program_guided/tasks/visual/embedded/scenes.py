"""Scenes of the embedded world: things on a ground plane, with attributes and boxes, and their relations.

Departures from the paper: it has no such world; see `vocabulary.py`.

Hosts stand on the ground: what is near is large and low. Guests are attached to hosts by a relation. Bystanders stand
where a guest might be, without the relation: what is held, worn or sat on cannot be inferred from boxes alone.

    scene = sample_scene(seed=7)
    scene.objects["3"].name, scene.objects["3"].relations
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from program_guided.language.sampler import between, pick
from program_guided.tasks.visual.embedded.vocabulary import (
    BACK,
    CLASS_OF,
    CLASSES,
    HEIGHTS,
    LOCATIONS,
    OPEN_BELOW,
    PLACES,
    RAISED,
    RULES,
    SEATED,
    SURFACES,
    WEATHERS,
    WORLD_VALUES,
    Rule,
)
from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import PLACED

__all__ = ["FAR", "HEIGHT", "SMALLEST", "WIDTH", "sample_scene", "spatial_relations"]

WIDTH, HEIGHT = 480, 360
FAR, NEAR = 200, 352
"""Lower edges of the farthest and of the nearest hosts."""
SMALLEST, LARGEST = 0.85, 1.45
"""Scales of the farthest and of the nearest hosts."""
HOSTS = (3, 5)
GUESTS = (4, 7)
FLYING = 0.5
"""Probability of something in the air."""
FLYERS = ("duck", "eagle", "parrot", "kite", "frisbee")
AIR = (14, 110)
"""Range of the centres of what flies."""
BYSTANDER = 0.3
"""Probability that something stands where a guest might be, instead of a guest."""
OVERLAPPING = 0.4
"""Probability that a host is placed so that it overlaps with another."""
STANDING = (*(key for key, kind in CLASSES.items() if kind.large), "furniture", "furniture", "vehicle", "vehicle")
"""Classes of hosts, to draw from; furniture and vehicles, which have the most rules, are three times as likely."""
TRIES = 40
MARGIN = 0.02
"""Minimum distance of a centre to the borders between positions, as a share of the picture."""
TOUCH = 15
"""Maximum distance in pixels of objects that are near each other."""
OVERLAP = (0.2, 0.5)
"""Share of a host that may be covered, if it overlaps with another."""
MAX_COVERED = 0.5
"""Maximum share of an object that is covered by nearer ones."""
COVERS = 0.1
"""Minimum share of the smaller of two objects that is covered by the nearer one, which is then in front of it."""
JITTER = 0.08
SCALES = {
    ("size", "small"): (0.78, 0.78),
    ("size", "large"): (1.28, 1.28),
    ("height", "tall"): (1.0, 1.18),
    ("height", "short"): (1.0, 0.85),
    ("length", "long"): (1.22, 1.0),
    ("length", "short"): (0.85, 1.0),
}
"""(Category, value) -> factors of a box's width and height."""
POSES = {"sitting on": "sitting", "riding": "sitting", "pushing": "walking"}
"""Relation -> pose of its subject."""


@dataclass
class _Draft:
    name: str
    box: Box
    attributes: tuple[str, ...]
    ground: float
    """Lower edge of the thing on the ground, its own or its host's; nearer things have a larger one."""
    relations: list[tuple[str, int]] = field(default_factory=list)
    root: int = -1
    """Number of the root of what it is attached to: the host of its host, and so on."""

    @property
    def kind(self) -> str:
        return CLASS_OF[self.name]


def sample_scene(seed: int, image_id: str | None = None) -> Scene:
    """Generate the scene of a seed."""
    random = Random(seed)
    drafts: list[_Draft] = []
    for _ in range(between(random, *HOSTS)):
        _place_host(random, drafts)
    for _ in range(between(random, *GUESTS)):
        _place_guest(random, drafts)
    if random.random() < FLYING:
        _place_flyer(random, drafts)
    order = sorted(range(len(drafts)), key=lambda _: random.random())
    ids = {number: str(at + 1) for at, number in enumerate(order)}
    objects = {ids[number]: _finish(number, drafts, ids) for number in order}
    location = pick(random, LOCATIONS) if random.random() < 0.5 else pick(random, PLACES)
    return Scene(image_id or str(seed), WIDTH, HEIGHT, objects, location, pick(random, WEATHERS))


def spatial_relations(one: Box, other: Box, nearer: bool | None) -> Iterator[str]:
    """Relations of a box to another that follow from their positions, and from which is nearer; None: they are attached
    to each other."""
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
    if nearer is None:
        return
    gap = max(x1 - u2, u1 - x2, y1 - v2, v1 - y2)
    if _shared(one, other) >= COVERS * min(one.area, other.area):
        yield "in front of" if nearer else "behind"
    elif 0 <= gap <= TOUCH:
        yield "near"


def _finish(number: int, drafts: Sequence[_Draft], ids: dict[int, str]) -> SceneObject:
    draft = drafts[number]
    relations = [(name, ids[other]) for name, other in draft.relations]
    for at, other in enumerate(drafts):
        if at != number:
            nearer = None if other.root == draft.root else draft.ground > other.ground
            relations += [(name, ids[at]) for name in spatial_relations(draft.box, other.box, nearer)]
    return SceneObject(draft.name, draft.box, draft.attributes, tuple(relations))


def _thing(random: Random, key: str, name: str | None = None) -> tuple[str, tuple[str, ...], tuple[float, float]]:
    """Draw an object of a class: name, attributes, sides at scale 1."""
    kind = CLASSES[key]
    name = name or pick(random, kind.names)
    values = {category: pick(random, WORLD_VALUES[category]) for category in kind.categories}
    width, height = (side * (1 - JITTER + 2 * JITTER * random.random()) for side in (kind.width, kind.height))
    for wide, high in (SCALES[item] for item in values.items() if item in SCALES):
        width, height = width * wide, height * high
    if values.get("pose") == "sitting":
        height *= SEATED
    implied = BUILT_IN.implied.get(name, frozenset())
    return name, tuple(value for value in values.values() if value not in implied), (width, height)


def _scale(ground: float) -> float:
    """Scale of things that stand at a height of the picture."""
    return SMALLEST + (LARGEST - SMALLEST) * (ground - FAR) / (NEAR - FAR)


def _place_host(random: Random, drafts: list[_Draft]) -> None:
    name, attributes, sides = _thing(random, pick(random, STANDING))
    low, high = OVERLAP if drafts and random.random() < OVERLAPPING else (0.0, 0.1)
    for _ in range(TRIES):
        draft = _standing(name, attributes, sides, random.random() * WIDTH, between(random, FAR, NEAR))
        covered = max((_overlap(draft, other) for other in drafts), default=low)
        if low <= covered <= high and _accept(draft, drafts):
            return


def _standing(name: str, attributes: tuple[str, ...], sides: tuple[float, float], x: float, ground: float) -> _Draft:
    width, height = (side * _scale(ground) for side in sides)
    return _Draft(name, _box(x - width / 2, ground - height, width, height), attributes, ground)


def _place_flyer(random: Random, drafts: list[_Draft]) -> None:
    """Something in the air, behind everything."""
    name = pick(random, FLYERS)
    name, attributes, (width, height) = _thing(random, CLASS_OF[name], name)
    for _ in range(TRIES):
        x, y = random.random() * WIDTH, between(random, *AIR)
        draft = _Draft(name, _box(x - width / 2, y - height / 2, width, height), attributes, FAR - 1)
        if all(_overlap(draft, other) == 0 for other in drafts) and _accept(draft, drafts):
            return


def _place_guest(random: Random, drafts: list[_Draft]) -> None:
    """Attach a new object to one of the scene, or place it there without the relation, if a try finds room."""
    bystander = random.random() < BYSTANDER
    for _ in range(TRIES):
        if not drafts:
            return
        number = between(random, 0, len(drafts) - 1)
        rules = _rules_for(number, drafts)
        if not rules:
            continue
        rule = pick(random, rules)
        guest = _guest(random, drafts[number], rule)
        if not bystander:
            if _accept(guest, drafts, number):
                _relate(number, rule, drafts)
                return
            continue
        x, _ = guest.box.centre
        ground = guest.box.corners[3]
        if not FAR <= ground <= NEAR or abs(ground - drafts[number].ground) < 4:
            continue
        name, attributes, sides = _thing(random, guest.kind, guest.name)
        if _accept(_standing(name, attributes, sides, x, ground), drafts):
            return


def _rules_for(number: int, drafts: Sequence[_Draft]) -> list[Rule]:
    """Rules that an object can still be the host of: each relation once, so that guests do not overlap."""
    host = drafts[number]
    taken = {name for name, _ in host.relations}
    taken |= {name for draft in drafts for name, other in draft.relations if other == number}
    if host.ground < FAR:
        return []
    if "pushing" in taken or "eating" in taken:
        taken |= {"holding", "carrying", "eating"}
    if {"holding", "carrying"} & taken:
        taken.add("eating")
    if host.kind == "furniture" and host.name not in OPEN_BELOW:
        taken.add("under")
    if "sitting on" in taken or "lying on" in taken:
        taken |= {"sitting on", "lying on"}
    return [rule for rule in RULES if host.kind in rule.hosts and rule.relation not in taken]


def _guest(random: Random, host: _Draft, rule: Rule) -> _Draft:
    """A guest of a rule, where it touches its host."""
    name, attributes, (width, height) = _thing(random, pick(random, rule.guests))
    pose = POSES.get(rule.relation)
    if pose is not None:
        was = next(value for value in attributes if value in RAISED)
        height *= (SEATED if pose == "sitting" else 1) / (SEATED if was == "sitting" else 1)
        attributes = tuple(pose if value == was else value for value in attributes)
    width, height = (side * _scale(host.ground) for side in (width, height))
    x = host.box.x + (rule.x[0] + (rule.x[1] - rule.x[0]) * random.random()) * host.box.width
    y = host.box.y + _height(rule, host, name) * host.box.height
    return _Draft(name, _box(x - width / 2, y - rule.touch * height, width, height), attributes, host.ground)


def _height(rule: Rule, host: _Draft, guest: str) -> float:
    """Height at which a guest touches its host, in heights of the host."""
    if rule.y is None:
        return BACK if host.kind == "animal" else SURFACES[host.name]
    if rule.relation not in ("wearing", "holding", "carrying", "eating"):
        return rule.y
    pose = next((RAISED[value] for value in host.attributes if value in RAISED), 1.0)
    return pose * (HEIGHTS.get(guest, rule.y) if rule.relation == "wearing" else rule.y)


def _relate(number: int, rule: Rule, drafts: list[_Draft]) -> None:
    """Add the relation of the last object, a guest, to its host."""
    at, host = len(drafts) - 1, drafts[number]
    subject, other = (at, number) if rule.guest_is_subject else (number, at)
    drafts[subject].relations.append((rule.relation, other))
    drafts[at].root = host.root
    if rule.relation == "in":
        host.attributes = tuple(value for value in host.attributes if value not in WORLD_VALUES["fullness"])


def _accept(draft: _Draft, drafts: list[_Draft], host: int | None = None) -> bool:
    """Add an object, if it is inside the picture, its position is clear and nothing is covered too much."""
    if not _fits(draft.box):
        return False
    root = -1 if host is None else drafts[host].root
    others = [other for other in drafts if other.root != root]
    if any(_overlap(draft, other) > MAX_COVERED for other in others):
        return False
    if host is not None and any(
        _shared(draft.box, other.box) > MAX_COVERED * min(draft.box.area, other.box.area)
        for at, other in enumerate(drafts)
        if other.root == root and at != host
    ):
        return False
    if any(abs(draft.ground - other.ground) < 3 and _overlap(draft, other) for other in others):
        return False
    drafts.append(draft)
    draft.root = root if host is not None else len(drafts) - 1
    return True


def _overlap(one: _Draft, other: _Draft) -> float:
    """Share of the farther of two objects that the nearer one covers."""
    farther = one if one.ground < other.ground else other
    return _shared(one.box, other.box) / farther.box.area


def _shared(one: Box, other: Box) -> float:
    """Area of the intersection of two boxes."""
    x1, y1, x2, y2 = one.corners
    u1, v1, u2, v2 = other.corners
    return max(0.0, min(x2, u2) - max(x1, u1)) * max(0.0, min(y2, v2) - max(y1, v1))


def _box(x: float, y: float, width: float, height: float) -> Box:
    """Box in integer pixels."""
    return Box(round(x), round(y), max(1, round(width)), max(1, round(height)))


def _fits(box: Box) -> bool:
    """True if a box is inside the picture and its centre is not near a border between positions."""
    x1, y1, x2, y2 = box.corners
    if x1 < 0 or y1 < 0 or x2 > WIDTH or y2 > HEIGHT:
        return False
    shares = zip(box.centre, (WIDTH, HEIGHT), ("hposition", "vposition"), strict=True)
    return all(abs(at / side - line) > MARGIN for at, side, axis in shares for line in PLACED[axis].borders)
