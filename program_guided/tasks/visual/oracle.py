"""Executes a program on a scene graph: the result of every routine, or the reason why it has none.

Departures from the paper: it states only that intermediate results come from the annotations. Here nothing beyond them
is assumed: a verification is false only if a known value excludes the one in question, objects that disagree give no
answer, and a routine is not executed if an input has no result.

    results = execute(program, scene)
    results[0].value == ("7", "12")        results[1].problem == "color is not known"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from program_guided.language.pointer import advance, start
from program_guided.language.syntax import Call, Program, flatten
from program_guided.language.table import Kind, RoutineTable, compile_program
from program_guided.tasks.visual.concepts import RELATION_ANSWERS, VALUES, implied, kinds, rivals
from program_guided.tasks.visual.domain import DOMAIN, ROWS, Row, negated
from program_guided.tasks.visual.graph import Scene

__all__ = ["COMMON", "PLACED", "SCENE", "Result", "Value", "answer_of", "execute", "position"]

SCENE = "scene"
"""Id of the picture as a whole: the result of `select(scene)`."""
ANYTHING = "_"
NOT_REACHED = "the program does not get here"
COMMON = ("color", "material", "shape")
PLACED = {"hposition": (0, ("left", "middle", "right")), "vposition": (1, ("top", "middle", "bottom"))}
"""Category of positions -> (axis, names of the thirds of the picture that can hold a box's centre)."""

Ids = tuple[str, ...]
Value = Ids | bool | str


@dataclass(frozen=True)
class Result:
    """Result of a routine: object ids in the graph's order, a Boolean or an answer; or the problem."""

    value: Value | None
    problem: str = ""


class _Undetermined(Exception):
    """The scene graph does not determine the result."""


def execute(program: Program, scene: Scene) -> tuple[Result, ...]:
    """Results of all routines; with `if` or `loop`, of all rows of the routine table."""
    view = _View(scene)
    if any(not isinstance(node, Call) for node in program.body):
        return _execute_branching(compile_program(program, DOMAIN), view)
    results: list[Result] = []
    for call in flatten(program.body):
        results.append(_step(view, call, results))
    return tuple(results)


def _execute_branching(table: RoutineTable, view: _View) -> tuple[Result, ...]:
    """Results of a program with conditions; the pointer stops at a condition without a result."""
    results, pointer = [Result(None, NOT_REACHED)] * len(table), start(table)
    while not pointer.finished(table):
        row = pointer.routine
        result = results[row] = _step(view, table.calls[row], results)
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
    """The third of the picture that holds the centre of an object's box."""
    axis, words = PLACED[category]
    centre = scene.objects[key].box.centre[axis]
    extent = (scene.width, scene.height)[axis]
    return words[(centre > extent / 3) + (centre > 2 * extent / 3)]


def _step(view: _View, call: Call, results: Sequence[Result]) -> Result:
    row = ROWS[call.operation]
    inputs: list[Value] = []
    for number in call.inputs:
        value = results[number].value
        if value is None:
            return Result(None, f"step {number} was not executed")
        inputs.append(value)
    try:
        return Result(_FAMILIES[row.family](view, row, tuple(map(str, call.words)), inputs))
    except _Undetermined as reason:
        return Result(None, str(reason))


class _View:
    """Queries about the objects of a scene graph."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def named(self, name: str) -> Ids:
        names = kinds(name)
        return tuple(key for key, thing in self.scene.objects.items() if name == ANYTHING or thing.name in names)

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
        return frozenset(thing.attributes) | implied(thing.name)

    def values(self, key: str, category: str) -> frozenset[str]:
        """Known values of an object in a category."""
        if category in PLACED:
            return frozenset({self.position(key, category)})
        if category in ("name", "type"):
            return frozenset({self.name(key)})
        return self.attributes(key) & frozenset(VALUES.get(category, "").split(","))

    def holds(self, key: str, category: str, word: str) -> bool | None:
        """True if a value, possibly negated, holds for an object; None if that is unknown."""
        negative, value = negated(word)
        truth = self._holds(key, category, value)
        return truth if truth is None else truth != negative

    def _holds(self, key: str, category: str, value: str) -> bool | None:
        if category in PLACED:
            return self.position(key, category) == value
        if category in ("name", "type"):
            return self.name(key) in kinds(value)
        known = self.attributes(key)
        if value in known:
            return True
        return False if known & rivals(category, value) else None

    def share_value(self, one: str, other: str, category: str) -> bool | None:
        """True if two objects share a value of a category; None if one of them has no known value."""
        first, second = self.values(one, category), self.values(other, category)
        return bool(first & second) if first and second else None

    def related(self, name: str, relation: str, role: str, inputs: Ids) -> Ids:
        """Objects of a name that have a relation to an input."""
        if SCENE in inputs:
            raise _Undetermined("the scene as a whole has no relations")
        test = self._relation_test(relation, role)
        return tuple(key for key in self.named(name) if any(test(key, other) for other in inputs))

    def _relation_test(self, relation: str, role: str) -> Callable[[str, str], bool]:
        objects = self.scene.objects
        if role == "subject":
            return lambda key, other: (relation, other) in objects[key].relations
        if role == "object":
            return lambda key, other: (relation, key) in objects[other].relations
        if not relation.startswith("same "):
            raise _Undetermined(f"the role of the named object in '{relation}' is missing")
        category = relation.removeprefix("same ")
        return lambda key, other: key != other and self.share_value(key, other, category) is True


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
    if name == "this":
        raise _Undetermined("'this' is known only by the id that stood in brackets")
    return view.named(name)


def _relate(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    name, relation, role = words
    assert isinstance(inputs[0], tuple)
    return view.related(name, relation, role, inputs[0])


def _filter(view: _View, row: Row, words: Ids, inputs: Sequence[Value]) -> Value:
    """`not(..)` keeps the complement, objects without a known value included."""
    negative, value = negated(words[0])
    assert isinstance(inputs[0], tuple)
    return tuple(key for key in inputs[0] if (view.holds(key, row.category, value) is True) != negative)


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
    if row.category in COMPARED:
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
    """Name of the object whose measure is larger or, with sign -1, smaller."""
    measure, sign = COMPARED[row.category]
    one, other = (_only(_ids(value), "the object to compare") for value in inputs)
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
    return all(view.share_value(one, other, category) for one, other in combinations(ids, 2))


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
    grown = key != SCENE and view.name(key) in kinds("person") - kinds("child")
    return 1.0 if grown and not ages else None


def _health(view: _View, key: str) -> float | None:
    if key == SCENE:
        return None
    ranks = {"fruit": 2.0, "vegetable": 2.0, "fast food": 0.0, "dessert": 0.0, "baked good": 0.0}
    found = {rank for parent, rank in ranks.items() if view.name(key) in kinds(parent)}
    return found.pop() if len(found) == 1 else None


_area = _box_measure(lambda scene, key: scene.objects[key].box.area)
_height = _box_measure(lambda scene, key: scene.objects[key].box.height)
_width = _box_measure(lambda scene, key: scene.objects[key].box.width)
_altitude = _box_measure(lambda scene, key: -scene.objects[key].box.centre[1])

COMPARED: dict[str, tuple[Measure, int]] = {
    "larger": (_area, 1),
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
