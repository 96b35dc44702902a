"""Programs to ask about a scene: one function a kind of question, each drawing what it asks at random.

Departures from the paper: GQA's 524 patterns are not public; these cover every family of its operations. A template
wants yes or no (one option or the other) with even odds before it looks for something to ask.

    program = TEMPLATES["verifyAttr"](Asker(scene, Random(0)))        None where the scene gives no such question
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from program_guided.language.sampler import pick
from program_guided.language.syntax import Program
from program_guided.tasks.visual.concepts import kinds, parent_of
from program_guided.tasks.visual.domain import ROWS, canonical
from program_guided.tasks.visual.oracle import SCENE
from program_guided.tasks.visual.references import POSITIONS, Asker, Steps, extend, join, operation
from program_guided.tasks.visual.vocabulary import (
    CLASS_OF,
    CLASSES,
    LOCATIONS,
    NAMES,
    PLACES,
    WEATHERS,
    release_category,
)

__all__ = ["ABOUT_SCENE", "OPPOSITES", "TEMPLATES", "ask"]

OPPOSITES = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
OPPOSITES |= {other: one for one, other in OPPOSITES.items()}
COMPARED_KINDS = {
    "person": ("older", "younger"),
    "food": ("healthier", "less healthy"),
    **dict.fromkeys(("animal", "vehicle", "furniture", "clothing", "container", "plant", "toy", "sign"), ()),
}
BOX_COMPARATIVES = ("larger", "smaller", "taller", "shorter", "longer", "higher", "lower")
ABOUT_SCENE = {"place": PLACES, "location": LOCATIONS, "weather": WEATHERS}

Template = Callable[[Asker], Steps | None]


def _query_attribute(asker: Asker) -> Steps | None:
    key = asker.thing()
    named = [category for category, _ in asker.attributes(key) if release_category(category)]
    steps, category = asker.reference(key), asker.pick(named)
    return extend(steps, "query", category) if steps and category else None


def _query_name(asker: Asker) -> Steps | None:
    key = asker.thing()
    edge = asker.edge(key)
    other = asker.reference(edge[2]) if edge else None
    if edge is None or other is None:
        return None
    called = parent_of(asker.name(key)) if asker.coin() else "_"
    return extend(extend(other, "relate", called or "_", edge[0], edge[1]), "query", "name")


def _query_category(asker: Asker) -> Steps | None:
    key = asker.thing()
    parent, found = parent_of(asker.name(key)), asker.pick(asker.attributes(key))
    if parent is None or found is None:
        return None
    return extend(extend(extend((), "select", parent), operation("filter", found[0]), found[1]), "query", "name")


def _query_alike(asker: Asker) -> Steps | None:
    """`What is the name of the furniture of the same color as the bag?`"""
    steps, category = asker.reference(), pick(asker.random, ("color", "material", "shape"))
    parent = parent_of(asker.name(asker.thing()))
    if steps is None or parent is None:
        return None
    return extend(extend(steps, "relate", parent, f"same {category}", "either"), "query", "name")


def _query_position(asker: Asker) -> Steps | None:
    steps = asker.reference()
    return extend(steps, "query", pick(asker.random, tuple(POSITIONS))) if steps else None


def _query_scene(asker: Asker) -> Steps | None:
    return extend(extend((), "select", SCENE), "query", pick(asker.random, tuple(ABOUT_SCENE)))


def _verify_attribute(asker: Asker) -> Steps | None:
    key = asker.thing()
    steps, found = asker.reference(key), asker.pick(asker.attributes(key))
    if steps is None or found is None:
        return None
    return extend(steps, operation("verify", found[0]), found[1] if asker.coin() else asker.other_value(*found))


def _verify_position(asker: Asker) -> Steps | None:
    steps, category = asker.reference(), pick(asker.random, tuple(POSITIONS))
    return extend(steps, f"verify_{category}", pick(asker.random, POSITIONS[category])) if steps else None


def _verify_scene(asker: Asker) -> Steps | None:
    category = pick(asker.random, tuple(ABOUT_SCENE))
    return extend(extend((), "select", SCENE), f"verify_{category}", pick(asker.random, ABOUT_SCENE[category]))


def _relation_words(asker: Asker, key: str) -> tuple[str, str, str] | None:
    """(name, relation, role) that holds of an object, or as likely a word's change away from one that does."""
    edge = asker.edge(key)
    if edge is None:
        return None
    relation, role, other = edge
    name, flipped = asker.name(other), "object" if role == "subject" else "subject"
    if asker.coin():
        return name, relation, flipped
    if relation in OPPOSITES and asker.coin():
        return name, OPPOSITES[relation], flipped
    return pick(asker.random, CLASSES[CLASS_OF[name]].names), relation, flipped


def _verify_relation(asker: Asker) -> Steps | None:
    key = asker.thing()
    steps, words = asker.reference(key), _relation_words(asker, key)
    return extend(steps, "verify_rel", *words) if steps and words else None


def _exist(asker: Asker) -> Steps | None:
    name = asker.name(asker.thing()) if asker.coin() else asker.absent()
    parent = parent_of(name)
    return extend(extend((), "select", parent if parent and asker.coin() else name), "exist")


def _exist_attribute(asker: Asker) -> Steps | None:
    key = asker.thing()
    found = asker.pick(asker.attributes(key))
    if found is None:
        return None
    value = found[1] if asker.coin() else asker.other_value(*found)
    word = f"not({value})" if asker.random.random() < 0.3 else value
    return extend(extend(extend((), "select", asker.called(key)), operation("filter", found[0]), word), "exist")


def _exist_relation(asker: Asker) -> Steps | None:
    key = asker.thing()
    steps, words = asker.reference(key), _relation_words(asker, key)
    return extend(extend(steps, "relate", *words), "exist") if steps and words else None


def _logical(asker: Asker) -> Steps | None:
    parts = (_exist, _exist_attribute, _exist_relation, _verify_attribute, _verify_position, _verify_relation)
    return _joined(asker, pick(asker.random, parts)(asker), pick(asker.random, parts)(asker))


def _logical_four(asker: Asker) -> Steps | None:
    """`.. and .., or .. and ..`: four things that can be found out at the same time."""
    return _joined(asker, _logical(asker), _logical(asker))


def _joined(asker: Asker, first: Steps | None, second: Steps | None) -> Steps | None:
    return join(first, second, "and" if asker.coin() else "or") if first and second else None


def _choose_attribute(asker: Asker) -> Steps | None:
    key = asker.thing()
    steps, found = asker.reference(key), asker.pick(asker.attributes(key))
    if steps is None or found is None:
        return None
    return extend(steps, operation("choose", found[0]), found[1], asker.other_value(*found))


def _choose_name(asker: Asker) -> Steps | None:
    """`Is the red vehicle a bus or a van?`"""
    key = asker.thing()
    name, parent, found = asker.name(key), parent_of(asker.name(key)), asker.pick(asker.attributes(key))
    siblings = [other for other in NAMES if other != name and parent and other in kinds(parent)]
    if not siblings or parent is None or found is None:
        return None
    steps = extend(extend((), "select", parent), operation("filter", found[0]), found[1])
    return extend(steps, "choose_name", name, pick(asker.random, siblings))


def _choose_relation(asker: Asker) -> Steps | None:
    key, other = asker.thing(), asker.thing()
    steps, relation = asker.reference(key), pick(asker.random, tuple(OPPOSITES))
    role = "subject" if asker.coin() else "object"
    return extend(steps, "choose_rel", asker.name(other), relation, OPPOSITES[relation], role) if steps else None


def _choose_position(asker: Asker) -> Steps | None:
    steps, category = asker.reference(), pick(asker.random, tuple(POSITIONS))
    first, _, last = POSITIONS[category]
    return extend(steps, f"choose_{category}", first, last) if steps else None


def _choose_scene(asker: Asker) -> Steps | None:
    category = pick(asker.random, tuple(ABOUT_SCENE))
    first = pick(asker.random, ABOUT_SCENE[category])
    second = pick(asker.random, [value for value in ABOUT_SCENE[category] if value != first])
    return extend(extend((), "select", SCENE), f"choose_{category}", first, second)


def _two(asker: Asker, names: Sequence[str]) -> Steps | None:
    """Two objects, and an operation that takes both."""
    first, second = asker.reference(), asker.reference()
    return join(first, second, pick(asker.random, names)) if first and second and first != second else None


def _compare(asker: Asker) -> Steps | None:
    """Both are called by their kind: names would tell which is larger, older or healthier."""
    kind = pick(asker.random, tuple(COMPARED_KINDS))
    first, second = (_of_kind(asker, kind) for _ in range(2))
    if first is None or second is None:
        return None
    word = pick(asker.random, (*BOX_COMPARATIVES, *COMPARED_KINDS[kind]))
    return join(first, second, operation("choose", word))


def _of_kind(asker: Asker, kind: str) -> Steps | None:
    key = asker.pick([key for key in asker.ids if asker.name(key) in kinds(kind)])
    return asker.reference(key, called=kind) if key else None


def _common(asker: Asker) -> Steps | None:
    return _two(asker, ["common"])


def _two_same(asker: Asker) -> Steps | None:
    return _two(
        asker, [row.operation.name for row in ROWS.values() if row.family in ("same", "different") and row.category]
    )


def _all_same(asker: Asker) -> Steps | None:
    """`Is the type of every animal the same?`"""
    parent = parent_of(asker.name(asker.thing()))
    category = pick(asker.random, ("type", "color", "gender", "material"))
    family = "same" if asker.coin() else "different"
    return extend(extend((), "select", parent), family, category) if parent else None


TEMPLATES: dict[str, Template] = {
    "queryAttr": _query_attribute,
    "relName": _query_name,
    "category": _query_category,
    "sameRelate": _query_alike,
    "positionQuery": _query_position,
    "sceneQuery": _query_scene,
    "verifyAttr": _verify_attribute,
    "positionVerify": _verify_position,
    "sceneVerify": _verify_scene,
    "relVerify": _verify_relation,
    "exist": _exist,
    "existAttr": _exist_attribute,
    "existRel": _exist_relation,
    "logical": _logical,
    "logicalFour": _logical_four,
    "chooseAttr": _choose_attribute,
    "chooseName": _choose_name,
    "relChoose": _choose_relation,
    "positionChoose": _choose_position,
    "sceneChoose": _choose_scene,
    "comparativeChoose": _compare,
    "twoCommon": _common,
    "twoSame": _two_same,
    "allSame": _all_same,
}


def ask(template: str, asker: Asker) -> Program | None:
    """A program of a template, options in their one order."""
    steps = TEMPLATES[template](asker)
    return canonical(Program(steps)) if steps else None
