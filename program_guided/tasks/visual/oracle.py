"""Executes a program on a scene graph: the result of every routine, or the reason why it has none.

Departures from the paper: it states only that intermediate results come from the annotations. Here nothing beyond them
is assumed: a verification is false only if a known value excludes the one in question, objects that disagree give no
answer, nothing is found only if nothing looks like it (`ontology.py`) and no value in question is missing, and a
routine is not executed if an input has no result. Where graphs are complete, as in the embedded world, a missing value
does not hold.

    results = execute(program, scene)
    results[0].value == ("7", "12")        results[1].problem == "color is not known"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from program_guided.language.pointer import advance, start
from program_guided.language.syntax import Call, Program, flatten
from program_guided.language.table import Kind, RoutineTable, compile_program
from program_guided.tasks.visual.concepts import CONVERSE, RELATION_ANSWERS
from program_guided.tasks.visual.domain import DOMAIN, Row, negated, row_of
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN, Ontology

__all__ = ["COMMON", "PLACED", "SCENE", "Ids", "Repair", "Result", "Value", "answer_of", "execute", "position"]

SCENE = "scene"
"""Id of the picture as a whole: the result of `select(scene)`."""
ANYTHING = "_"
PRONOUNS = ("this", "he", "she", "him", "her", "it", "they", "them")
"""Names that mean an object which the words do not name."""
ROLES_OF_EDGES = ("subject", "object")
"""Roles of the named object in a relation of the graph."""
NOT_REACHED = "the program does not get here"
COMMON = ("color", "material", "shape")


class Placed(NamedTuple):
    """Positions along an axis of the picture."""

    axis: int
    words: tuple[str, str, str]
    borders: tuple[float, float]
    """Shares of the picture's side at which a box's centre comes to the next position."""


PLACED = {
    "hposition": Placed(0, ("left", "middle", "right"), (0.3, 0.7)),
    "vposition": Placed(1, ("top", "middle", "bottom"), (0.18, 0.82)),
}
"""Category of positions -> the release's positions."""

Ids = tuple[str, ...]
Value = Ids | bool | str


@dataclass(frozen=True)
class Result:
    """Result of a routine: object ids in the graph's order, a Boolean or an answer; or the problem."""

    value: Value | None
    problem: str = ""


class _Undetermined(Exception):
    """The scene graph does not determine the result."""


Repair = Callable[[int, Row, Ids, Sequence[Value]], Ids]
"""The objects to go on with where a routine, by its number, row, words and inputs, has found none."""


def execute(
    program: Program,
    scene: Scene,
    ontology: Ontology = BUILT_IN,
    found: Sequence[Ids | None] = (),
    repair: Repair | None = None,
) -> tuple[Result, ...]:
    """Results of all routines; with `if` or `loop`, of all rows of the routine table. `found`: what routines are known
    to find (`domain.found_ids`), which is better than executing their words again. `repair`: called for every routine
    whose result is no object."""
    view = _View(scene, ontology, repair)
    if any(not isinstance(node, Call) for node in program.body):
        return _execute_branching(compile_program(program, DOMAIN), view)
    results: list[Result] = []
    for number, call in enumerate(flatten(program.body)):
        known = found[number] if number < len(found) else None
        if known is None or not scene.objects.keys() >= set(known):
            results.append(_step(view, number, call, results))
        else:
            results.append(Result(tuple(key for key in scene.objects if key in known)))
    return tuple(results)


def _execute_branching(table: RoutineTable, view: _View) -> tuple[Result, ...]:
    """Results of a program with conditions; the pointer stops at a condition without a result."""
    results, pointer = [Result(None, NOT_REACHED)] * len(table), start(table)
    while not pointer.finished(table):
        row = pointer.routine
        result = results[row] = _step(view, row, table.calls[row], results)
        if table.kind[row] != Kind.STEP and result.value is None:
            break
        pointer = advance(table, pointer, bool(result.value))
    return tuple(results)


def answer_of(results: Sequence[Result]) -> str | None:
    """Answer of a program in the release's words: the result of the last routine executed; None if it has none."""
    value = next((each.value for each in reversed(results) if each.problem != NOT_REACHED), None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else None


def position(scene: Scene, key: str, category: str) -> str:
    """Name of the position of an object: where its box's centre is."""
    placed = PLACED[category]
    share = scene.objects[key].box.centre[placed.axis] / (scene.width, scene.height)[placed.axis]
    low, high = placed.borders
    return placed.words[(share >= low) + (share > high)]


def _step(view: _View, number: int, call: Call, results: Sequence[Result]) -> Result:
    row, words = row_of(call)
    inputs: list[Value] = []
    for given in call.inputs:
        value = results[given].value
        if value is None:
            return Result(None, f"step {given} was not executed")
        inputs.append(value)
    texts = tuple(map(str, words))
    try:
        value = _FAMILIES[row.family](view, row, texts, inputs)
    except _Undetermined as reason:
        return Result(None, str(reason))
    return Result(view.repair(number, row, texts, inputs) if value == () and view.repair is not None else value)


class _View:
    """Queries about the objects of a scene graph."""

    def __init__(self, scene: Scene, ontology: Ontology, repair: Repair | None = None) -> None:
        self.scene, self.ontology, self.repair = scene, ontology, repair

    def named(self, name: str, among: Callable[[str], bool] = lambda key: True) -> Ids:
        """Objects of a name; undetermined if there is none, but one that looks like it."""
        objects = self.scene.objects
        found = {key: name == ANYTHING or self.ontology.is_a(objects[key].name, name) for key in objects if among(key)}
        certain = tuple(key for key, truth in found.items() if truth)
        if not certain and None in found.values():
            similar = next(objects[key].name for key, truth in found.items() if truth is None)
            raise _Undetermined(f"a {similar} may be called {name}")
        return certain

    def name(self, key: str) -> str:
        if key == SCENE:
            raise _Undetermined("the scene as a whole has no name")
        return self.scene.objects[key].name

    def position(self, key: str, category: str) -> str:
        if key == SCENE:
            raise _Undetermined("the scene as a whole has no position")
        return position(self.scene, key, category)

    def attributes(self, key: str) -> frozenset[str]:
        if key == SCENE:
            known = (self.scene.location, self.scene.weather)
            return frozenset(value for value in known if value is not None)
        thing = self.scene.objects[key]
        return frozenset(thing.attributes) | self.ontology.implied.get(thing.name, frozenset())

    def values(self, key: str, category: str) -> frozenset[str]:
        """Known values of an object in a category."""
        if category in PLACED:
            return frozenset({self.position(key, category)})
        if category in ("name", "type"):
            return frozenset({self.name(key)})
        known = map(self.ontology.value, self.attributes(key))
        return frozenset(known) & self.ontology.values.get(category, frozenset())

    def holds(self, key: str, category: str, word: str) -> bool | None:
        """True if a value, possibly negated, holds for an object; None if that is unknown."""
        negative, value = negated(word)
        truth = self._holds(key, category, value)
        return truth if truth is None else truth != negative

    def _holds(self, key: str, category: str, value: str) -> bool | None:
        if category in PLACED:
            return self.position(key, category) == value
        if category in ("name", "type"):
            return self.ontology.is_a(self.name(key), value)
        return self.ontology.holds(self.attributes(key), category, value)

    def share_value(self, one: str, other: str, category: str) -> bool | None:
        """True if two objects share a value of a category; None if one of them has no known value."""
        first, second = self.values(one, category), self.values(other, category)
        if first & second:
            return True
        similar = any(self.ontology.might_be(*pair) for pair in product(first, second))
        return False if first and second and not similar else None

    def related(self, name: str, relation: str, role: str, inputs: Ids) -> Ids:
        """Objects of a name that have a relation to an input."""
        if SCENE in inputs:
            raise _Undetermined("the scene as a whole has no relations")
        truth = self._linked(relation, role, inputs)
        found = self.named(name, lambda key: truth(key) is True)
        if not found and not self.ontology.complete and self.named(name, lambda key: truth(key) is None):
            raise _Undetermined(f"whether anything is related by {relation} is not known")
        return found

    def _linked(self, relation: str, role: str, inputs: Ids) -> Callable[[str], bool | None]:
        """Whether an object has a relation to one of the inputs; None if that is not certain."""

        def test(key: str, other: str) -> bool | None:
            if role in ROLES_OF_EDGES:
                return self._edge(key, relation, other) if role == "subject" else self._edge(other, relation, key)
            return key != other and self.share_value(key, other, relation.removeprefix("same "))

        if role not in ROLES_OF_EDGES and not relation.startswith("same "):
            raise _Undetermined(f"the role of the named object in '{relation}' is missing")
        return lambda key: _any(test(key, other) for other in inputs)

    def _edge(self, subject: str, relation: str, other: str) -> bool | None:
        """Whether the graph has a relation; None if it has one of the same meaning, or the opposite the other way
        round."""
        names, inverse = self._edges(subject, other), self._edges(other, subject)
        if relation in names:
            return True
        similar = any(self.ontology.mean_the_same(relation, name) for name in names)
        return None if similar or any(self.ontology.are_opposite(relation, name) for name in inverse) else False

    def exceeds(self, key: str, comparative: str, than: str) -> bool:
        """Whether the graph says that an object is more so than another."""
        words = SAME_MEANING.get(comparative, (comparative,))
        return SCENE not in (key, than) and any(f"{word} than" in self._edges(key, than) for word in words)

    def _edges(self, subject: str, other: str) -> list[str]:
        """Relations of one object to another."""
        return [name for name, target in self.scene.objects[subject].relations if target == other]


def _any(truths: Iterable[bool | None]) -> bool | None:
    """True if one is true; None if none is, but one is unknown."""
    found = set(truths)
    return True if True in found else None if None in found else False


def _ids(value: Value) -> Ids:
    """An input of type Objects, which must not be empty."""
    assert isinstance(value, tuple)
    if not value:
        raise _Undetermined("there is no object to look at")
    return value


def _agreed(truths: Iterable[bool | None], what: str) -> bool:
    """The truth value that all share; undetermined if one is unknown or they differ."""
    found = set(truths)
    if None in found:
        raise _Undetermined(f"{what} is not known")
    if len(found) != 1:
        raise _Undetermined(f"objects disagree on {what}")
    return found == {True}


def _only(words: Iterable[str], what: str) -> str:
    found = sorted(set(words))
    if len(found) != 1:
        raise _Undetermined(f"{what} is not known" if not found else f"{what} is not clear: {' or '.join(found)}")
    return found[0]


def _select(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    name = words[0]
    if name == SCENE:
        return (SCENE,)
    if name in PRONOUNS:
        raise _Undetermined(f"'{name}' is known only by the id that stood in brackets")
    return view.named(name)


def _relate(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    name, relation, role = words
    assert isinstance(inputs[0], tuple)
    return view.related(name, relation, role, inputs[0])


def _filter(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    """Objects of which the value is known to hold; where graphs are complete, an unknown value does not hold, so that
    `not(..)` does. Undetermined if none is kept and it is unknown of one."""
    assert isinstance(inputs[0], tuple)
    truths = {key: view.holds(key, row.category, words[0]) for key in inputs[0]}
    if view.ontology.complete:
        truths = {key: negated(words[0])[0] if truth is None else truth for key, truth in truths.items()}
    kept = tuple(key for key, truth in truths.items() if truth)
    if not kept and None in truths.values():
        raise _Undetermined(f"whether anything is {words[0]} is not known")
    return kept


def _exist(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    return bool(inputs[0])


def _and(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    return bool(inputs[0] and inputs[1])


def _or(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    return bool(inputs[0] or inputs[1])


def _query(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    category = words[0]
    known = [view.values(key, category) for key in _ids(inputs[0])]
    if not all(known):
        raise _Undetermined(f"{category} is not known")
    return _only(frozenset().union(*known), category)


def _verify(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    if row.category == "rel":
        name, relation, role = words
        return bool(view.related(name, relation, role, _ids(inputs[0])))
    return _agreed((view.holds(key, row.category, words[0]) for key in _ids(inputs[0])), row.category or words[0])


def _choose(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    if len(inputs) == 2:
        return _compare(view, row, inputs)
    ids = _ids(inputs[0])
    if row.category == "rel":
        name, *options, role = words
        true = [option for option in options if view.related(name, option, role, ids)]
    else:
        true = [option for option in words if all(view.holds(key, row.category, option) is True for key in ids)]
    chosen = _only(true, row.category or "which holds")
    return RELATION_ANSWERS.get(chosen, chosen) if row.category == "rel" else chosen


def _compare(view: _View, row: Row, inputs: Sequence[Value]) -> Value:
    """Name of the object that is more so: by a relation such as `taller than` if there is one, else by its measure."""
    one, other = (_only(_ids(value), "the object to compare") for value in inputs)
    for key, than in ((one, other), (other, one)):
        if view.exceeds(key, row.category, than) or view.exceeds(than, CONVERSE.get(row.category, ""), key):
            return view.name(key)
    measure, sign = COMPARED.get(row.category, (_nothing, 1))
    first, second = (measure(view, key) for key in (one, other))
    if first is None or second is None or first == second:
        raise _Undetermined(f"it is not known which is {row.category}")
    return view.name(one if sign * first > sign * second else other)


def _common(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    pairs = list(product(_ids(inputs[0]), _ids(inputs[1])))
    shared = [
        category for category in COMMON if all(view.share_value(one, other, category) is True for one, other in pairs)
    ]
    return _only(shared, "what they have in common")


def _same(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    """With two inputs, all pairs must give the same truth value; with one, a pair that differs makes it false."""
    category = row.category or words[0]
    if len(inputs) == 2:
        pairs = product(_ids(inputs[0]), _ids(inputs[1]))
        return _agreed((view.share_value(one, other, category) for one, other in pairs), category)
    ids = _ids(inputs[0])
    if not all(view.values(key, category) for key in ids):
        raise _Undetermined(f"{category} is not known")
    shared = {view.share_value(one, other, category) for one, other in combinations(ids, 2)}
    if None in shared and False not in shared:
        raise _Undetermined(f"whether they are equal in {category} is not certain")
    return False not in shared


def _different(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    return not _same(view, row, words, inputs)


Measure = Callable[[_View, str], float | None]


def _box_measure(read: Callable[[Scene, str], float]) -> Measure:
    return lambda view, key: None if key == SCENE else read(view.scene, key)


def _age(view: _View, key: str) -> float | None:
    """Rank of an age; an adult without a known age ranks above young and below old."""
    ages = view.values(key, "age")
    if len(ages) == 1:
        return 0.0 if ages == {"young"} else 2.0
    if key == SCENE or ages:
        return None
    grown = view.ontology.is_a(view.name(key), "person") and view.ontology.is_a(view.name(key), "child") is False
    return 1.0 if grown else None


def _health(view: _View, key: str) -> float | None:
    healthy = None if key == SCENE else view.ontology.health(view.name(key))
    return None if healthy is None else float(healthy)


def _nothing(view: _View, key: str) -> float | None:
    return None


_area = _box_measure(lambda scene, key: scene.objects[key].box.area)
_height = _box_measure(lambda scene, key: scene.objects[key].box.height)
_width = _box_measure(lambda scene, key: scene.objects[key].box.width)
_altitude = _box_measure(lambda scene, key: -scene.objects[key].box.centre[1])

COMPARED: dict[str, tuple[Measure, int]] = {
    "larger": (_area, 1),
    "bigger": (_area, 1),
    "smaller": (_area, -1),
    "taller": (_height, 1),
    "shorter": (_height, -1),
    "longer": (_width, 1),
    "higher": (_altitude, 1),
    "lower": (_altitude, -1),
    "older": (_age, 1),
    "younger": (_age, -1),
    "healthier": (_health, 1),
    "less healthy": (_health, -1),
}

SAME_MEANING = {"larger": ("larger", "bigger"), "bigger": ("larger", "bigger")}
_FAMILIES: dict[str, Callable[[_View, Row, Ids, Sequence[Value]], Value]] = {
    "select": _select,
    "relate": _relate,
    "filter": _filter,
    "exist": _exist,
    "and": _and,
    "or": _or,
    "query": _query,
    "verify": _verify,
    "choose": _choose,
    "common": _common,
    "same": _same,
    "different": _different,
}
