"""Templates of questions: one function for each kind, which samples a program for a scene.

Departures from the paper: GQA's 524 patterns are not public; these cover every family of its operations. A template
first draws the answer (yes or no, the first or the second option) with equal probability, then a program for it.

    steps = TEMPLATES["verifyAttr"](SceneSampler(scene, Random(0)))        None if the scene has no such question
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from program_guided.language.sampler import pick
from program_guided.language.syntax import Program
from program_guided.tasks.visual.domain import ROWS, canonical
from program_guided.tasks.visual.embedded.references import POSITIONS, SceneSampler, Steps, extend, join, operation
from program_guided.tasks.visual.embedded.vocabulary import (
    CLASS_OF,
    CLASSES,
    LOCATIONS,
    NAMES,
    PLACES,
    WEATHERS,
    release_category,
)
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import SCENE

__all__ = ["ABOUT_SCENE", "OPPOSITES", "TEMPLATES", "sample_program"]

OPPOSITES = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
OPPOSITES |= {other: one for one, other in OPPOSITES.items()}
COMPARED_KINDS = {
    "person": ("older", "younger"),
    "food": ("healthier", "less healthy"),
    **dict.fromkeys(("animal", "vehicle", "furniture", "clothing", "container", "plant", "toy", "sign"), ()),
}
BOX_COMPARATIVES = ("larger", "smaller", "taller", "shorter", "longer", "higher", "lower")
ABOUT_SCENE = {"place": PLACES, "location": LOCATIONS, "weather": WEATHERS}

Template = Callable[[SceneSampler], Steps | None]


def _query_attribute(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    named = [category for category, _ in sampler.attributes(key) if release_category(category)]
    steps, category = sampler.reference(key), sampler.pick(named)
    return extend(steps, "query", category) if steps and category else None


def _query_name(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    edge = sampler.edge(key)
    other = sampler.reference(edge[2]) if edge else None
    if edge is None or other is None:
        return None
    called = BUILT_IN.parent_of(sampler.name(key)) if sampler.coin() else "_"
    return extend(extend(other, "relate", called or "_", edge[0], edge[1]), "query", "name")


def _query_category(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    parent, found = BUILT_IN.parent_of(sampler.name(key)), sampler.pick(sampler.attributes(key))
    if parent is None or found is None:
        return None
    return extend(extend(extend((), "select", parent), operation("filter", found[0]), found[1]), "query", "name")


def _query_same(sampler: SceneSampler) -> Steps | None:
    """`What is the name of the furniture of the same color as the bag?`"""
    steps, category = sampler.reference(), pick(sampler.random, ("color", "material", "shape"))
    parent = BUILT_IN.parent_of(sampler.name(sampler.thing()))
    if steps is None or parent is None:
        return None
    return extend(extend(steps, "relate", parent, f"same {category}", "either"), "query", "name")


def _query_position(sampler: SceneSampler) -> Steps | None:
    steps = sampler.reference()
    return extend(steps, "query", pick(sampler.random, tuple(POSITIONS))) if steps else None


def _query_scene(sampler: SceneSampler) -> Steps | None:
    return extend(extend((), "select", SCENE), "query", pick(sampler.random, tuple(ABOUT_SCENE)))


def _verify_attribute(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    steps, found = sampler.reference(key), sampler.pick(sampler.attributes(key))
    if steps is None or found is None:
        return None
    return extend(steps, operation("verify", found[0]), found[1] if sampler.coin() else sampler.other_value(*found))


def _verify_position(sampler: SceneSampler) -> Steps | None:
    steps, category = sampler.reference(), pick(sampler.random, tuple(POSITIONS))
    return extend(steps, f"verify_{category}", pick(sampler.random, POSITIONS[category])) if steps else None


def _verify_scene(sampler: SceneSampler) -> Steps | None:
    category = pick(sampler.random, tuple(ABOUT_SCENE))
    return extend(extend((), "select", SCENE), f"verify_{category}", pick(sampler.random, ABOUT_SCENE[category]))


def _relation_words(sampler: SceneSampler, key: str) -> tuple[str, str, str] | None:
    """(name, relation, role) that holds for an object or, with equal probability, with the relation or name changed."""
    edge = sampler.edge(key)
    if edge is None:
        return None
    relation, role, other = edge
    name, flipped = sampler.name(other), "object" if role == "subject" else "subject"
    if sampler.coin():
        return name, relation, flipped
    if relation in OPPOSITES and sampler.coin():
        return name, OPPOSITES[relation], flipped
    return pick(sampler.random, CLASSES[CLASS_OF[name]].names), relation, flipped


def _verify_relation(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    steps, words = sampler.reference(key), _relation_words(sampler, key)
    return extend(steps, "verify_rel", *words) if steps and words else None


def _exist(sampler: SceneSampler) -> Steps | None:
    name = sampler.name(sampler.thing()) if sampler.coin() else sampler.absent()
    parent = BUILT_IN.parent_of(name)
    return extend(extend((), "select", parent if parent and sampler.coin() else name), "exist")


def _exist_attribute(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    found = sampler.pick(sampler.attributes(key))
    if found is None:
        return None
    value = found[1] if sampler.coin() else sampler.other_value(*found)
    word = f"not({value})" if sampler.random.random() < 0.3 else value
    return extend(extend(extend((), "select", sampler.called(key)), operation("filter", found[0]), word), "exist")


def _exist_relation(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    steps, words = sampler.reference(key), _relation_words(sampler, key)
    return extend(extend(steps, "relate", *words), "exist") if steps and words else None


def _logical(sampler: SceneSampler) -> Steps | None:
    parts = (_exist, _exist_attribute, _exist_relation, _verify_attribute, _verify_position, _verify_relation)
    return _joined(sampler, pick(sampler.random, parts)(sampler), pick(sampler.random, parts)(sampler))


def _logical_four(sampler: SceneSampler) -> Steps | None:
    """`.. and .., or .. and ..`: four operands that can be executed in parallel."""
    return _joined(sampler, _logical(sampler), _logical(sampler))


def _joined(sampler: SceneSampler, first: Steps | None, second: Steps | None) -> Steps | None:
    return join(first, second, "and" if sampler.coin() else "or") if first and second else None


def _choose_attribute(sampler: SceneSampler) -> Steps | None:
    key = sampler.thing()
    steps, found = sampler.reference(key), sampler.pick(sampler.attributes(key))
    if steps is None or found is None:
        return None
    return extend(steps, operation("choose", found[0]), found[1], sampler.other_value(*found))


def _choose_name(sampler: SceneSampler) -> Steps | None:
    """`Is the red vehicle a bus or a van?`"""
    key = sampler.thing()
    name, parent, found = (
        sampler.name(key),
        BUILT_IN.parent_of(sampler.name(key)),
        sampler.pick(sampler.attributes(key)),
    )
    siblings = [other for other in NAMES if other != name and parent and other in BUILT_IN.kinds(parent)]
    if not siblings or parent is None or found is None:
        return None
    steps = extend(extend((), "select", parent), operation("filter", found[0]), found[1])
    return extend(steps, "choose_name", name, pick(sampler.random, siblings))


def _choose_relation(sampler: SceneSampler) -> Steps | None:
    key, other = sampler.thing(), sampler.thing()
    steps, relation = sampler.reference(key), pick(sampler.random, tuple(OPPOSITES))
    role = "subject" if sampler.coin() else "object"
    return extend(steps, "choose_rel", sampler.name(other), relation, OPPOSITES[relation], role) if steps else None


def _choose_position(sampler: SceneSampler) -> Steps | None:
    steps, category = sampler.reference(), pick(sampler.random, tuple(POSITIONS))
    first, _, last = POSITIONS[category]
    return extend(steps, f"choose_{category}", first, last) if steps else None


def _choose_scene(sampler: SceneSampler) -> Steps | None:
    category = pick(sampler.random, tuple(ABOUT_SCENE))
    first = pick(sampler.random, ABOUT_SCENE[category])
    second = pick(sampler.random, [value for value in ABOUT_SCENE[category] if value != first])
    return extend(extend((), "select", SCENE), f"choose_{category}", first, second)


def _two(sampler: SceneSampler, names: Sequence[str]) -> Steps | None:
    """Two referring expressions and an operation that takes both."""
    first, second = sampler.reference(), sampler.reference()
    return join(first, second, pick(sampler.random, names)) if first and second and first != second else None


def _compare(sampler: SceneSampler) -> Steps | None:
    """Refer to both objects by their hypernym: names would reveal which is larger, older or healthier."""
    kind = pick(sampler.random, tuple(COMPARED_KINDS))
    first, second = (_of_kind(sampler, kind) for _ in range(2))
    if first is None or second is None:
        return None
    word = pick(sampler.random, (*BOX_COMPARATIVES, *COMPARED_KINDS[kind]))
    return join(first, second, operation("choose", word))


def _of_kind(sampler: SceneSampler, kind: str) -> Steps | None:
    key = sampler.pick([key for key in sampler.ids if sampler.name(key) in BUILT_IN.kinds(kind)])
    return sampler.reference(key, called=kind) if key else None


def _common(sampler: SceneSampler) -> Steps | None:
    return _two(sampler, ["common"])


def _two_same(sampler: SceneSampler) -> Steps | None:
    return _two(
        sampler, [row.operation.name for row in ROWS.values() if row.family in ("same", "different") and row.category]
    )


def _all_same(sampler: SceneSampler) -> Steps | None:
    """`Is the type of every animal the same?`"""
    parent = BUILT_IN.parent_of(sampler.name(sampler.thing()))
    category = pick(sampler.random, ("type", "color", "gender", "material"))
    family = "same" if sampler.coin() else "different"
    return extend(extend((), "select", parent), family, category) if parent else None


TEMPLATES: dict[str, Template] = {
    "queryAttr": _query_attribute,
    "relName": _query_name,
    "category": _query_category,
    "sameRelate": _query_same,
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


def sample_program(template: str, sampler: SceneSampler) -> Program | None:
    """A program of a template, options sorted; None if the scene has no such question."""
    steps = TEMPLATES[template](sampler)
    return canonical(Program(steps)) if steps else None
