"""The oracle against a slow reference implementation of the definitions, on the raw records.

Definitions. A name covers itself and all names below it. A value is true of an object that has it as an attribute or by
its name; it is false if the object lacks it but has another value of the category (bare: of a category or group that
holds the value); else it is unknown. Positions are those of the release: where the box's centre is.
Filters keep objects for which the value is true; `not(..)` keeps the others. Routines on no object, with unknown
values, or on objects that disagree are not executed, nor are routines that depend on them. With the release's files,
graphs are not complete: filters keep objects for which the value is certain, and are not executed if there are none but
it is unknown of one.
"""

import json
import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from program_guided.tasks.visual.concepts import CHILDREN, GROUPS, IMPLIED, UPPER, VALUES
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS, parse_visual, program_of
from program_guided.tasks.visual.graph import scene_of
from program_guided.tasks.visual.ontology import BUILT_IN, read_ontology
from program_guided.tasks.visual.oracle import COMPARED, answer_of, execute
from program_guided.tasks.visual.targets import dense_targets, overlap
from tests.test_visual_data import real_folder, real_json

SAMPLED_PROGRAMS = 20_000
UNKNOWN = "unknown"
ABOVE = {name: parent for parent, below in CHILDREN.items() for name in below.split(",")}


class Reference:
    """Plain loops over the raw records; the result of a step is its value or UNKNOWN."""

    def __init__(self, record):
        self.record = record

    def run(self, semantic):
        results = []
        for step in semantic:
            inputs = [results[number] for number in step["dependencies"]]
            family, _, category = step["operation"].partition(" ")
            if any(isinstance(value, str) and value == UNKNOWN for value in inputs):
                results.append(UNKNOWN)
            else:
                results.append(getattr(self, "do_" + family)(category, step["argument"], *inputs))
        return results

    def is_a(self, name, hypernym):
        while name is not None:
            if name == hypernym:
                return True
            name = ABOVE.get(name)
        return False

    def known(self, key):
        if key == "scene":
            return [self.record[field] for field in ("location", "weather") if self.record.get(field)]
        thing = self.record["objects"][key]
        return thing["attributes"] + [v for v, names in IMPLIED.items() if thing["name"] in names.split(",")]

    def position(self, key, category):
        thing = self.record["objects"][key]
        low, side, whole = ("x", "w", "width") if category == "hposition" else ("y", "h", "height")
        share = (thing[low] + thing[side] / 2) / self.record[whole]
        words = ("left", "middle", "right") if category == "hposition" else ("top", "middle", "bottom")
        low, high = (0.3, 0.7) if category == "hposition" else (0.18, 0.82)
        if share < low:
            return words[0]
        return words[2] if share > high else words[1]

    def values(self, key, category):
        if category in ("hposition", "vposition"):
            return {self.position(key, category)}
        if category in ("name", "type"):
            return {self.record["objects"][key]["name"]}
        return {value for value in self.known(key) if value in VALUES.get(category, "").split(",")}

    def truth(self, key, category, value):
        if category in ("hposition", "vposition"):
            return self.position(key, category) == value
        if category in ("name", "type"):
            return self.is_a(self.record["objects"][key]["name"], value)
        if value in self.known(key):
            return True
        lists = [VALUES.get(category, "")] if category else [*VALUES.values(), *GROUPS]
        for words in (words.split(",") for words in lists):
            if (category or value in words) and any(other in words and other != value for other in self.known(key)):
                return False
        return UNKNOWN

    def negated_truth(self, key, category, word):
        if not word.startswith("not("):
            return self.truth(key, category, word)
        truth = self.truth(key, category, word[4:-1])
        return truth if truth == UNKNOWN else not truth

    def one(self, truths):
        truths = list(truths)
        if not truths or any(truth != truths[0] for truth in truths):
            return UNKNOWN
        return truths[0]

    def positioned_scene(self, ids, category):
        return "scene" in ids and category in ("hposition", "vposition", "name", "type")

    def do_select(self, category, argument):
        if argument == "scene":
            return ("scene",)
        if argument == "this":
            return UNKNOWN
        return tuple(key for key, thing in self.record["objects"].items() if self.is_a(thing["name"], argument))

    def do_filter(self, category, argument, ids):
        if self.positioned_scene(ids, category):
            return UNKNOWN
        kept = []
        for key in ids:
            value = argument[4:-1] if argument.startswith("not(") else argument
            if (self.truth(key, category, value) is True) == (value == argument):
                kept.append(key)
        return tuple(kept)

    def do_relate(self, category, argument, ids):
        name, relation, role = argument.split(",")
        if "scene" in ids:
            return UNKNOWN
        found = []
        for key, thing in self.record["objects"].items():
            fits = name == "_" or self.is_a(thing["name"], name)
            if fits and any(self.linked(key, other, relation, role) for other in ids):
                found.append(key)
        return tuple(found)

    def linked(self, key, other, relation, role):
        if role == "_":
            category = relation.split(" ", 1)[1]
            return key != other and bool(self.values(key, category) & self.values(other, category))
        subject, target = (key, other) if role == "s" else (other, key)
        return {"name": relation, "object": target} in self.record["objects"][subject]["relations"]

    def do_exist(self, category, argument, ids):
        return len(ids) > 0

    def do_and(self, category, argument, one, other):
        return one and other

    def do_or(self, category, argument, one, other):
        return one or other

    def do_verify(self, category, argument, ids):
        if not ids or self.positioned_scene(ids, category):
            return UNKNOWN
        if category == "rel":
            related = self.do_relate("", argument, ids)
            return related if related == UNKNOWN else len(related) > 0
        return self.one(self.negated_truth(key, category, argument) for key in ids)

    def do_query(self, category, argument, ids):
        if not ids or self.positioned_scene(ids, argument):
            return UNKNOWN
        found = set()
        for key in ids:
            values = self.values(key, argument)
            if not values:
                return UNKNOWN
            found |= values
        return found.pop() if len(found) == 1 else UNKNOWN

    def do_choose(self, category, argument, ids, others=None):
        if others is not None:
            return self.compare(category, ids, others)
        if not ids or self.positioned_scene(ids, category):
            return UNKNOWN
        if category == "rel":
            name, options, role = argument.split(",")
            linked = {option: self.do_relate("", f"{name},{option},{role}", ids) for option in options.split("|")}
            if UNKNOWN in linked.values():
                return UNKNOWN
            chosen = [option for option, found in linked.items() if found]
            short = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
            return short.get(chosen[0], chosen[0]) if len(chosen) == 1 else UNKNOWN
        chosen = [
            option for option in argument.split("|") if all(self.truth(key, category, option) is True for key in ids)
        ]
        return chosen[0] if len(chosen) == 1 else UNKNOWN

    def compare(self, word, ids, others):
        if len(ids) != 1 or len(others) != 1 or "scene" in ids + others:
            return UNKNOWN
        amounts = [self.amount(word, key) for key in (ids[0], others[0])]
        if None in amounts or amounts[0] == amounts[1]:
            return UNKNOWN
        more = word not in ("smaller", "shorter", "lower", "younger", "less healthy")
        winner = ids[0] if (amounts[0] > amounts[1]) == more else others[0]
        return self.record["objects"][winner]["name"]

    def amount(self, word, key):
        thing = self.record["objects"][key]
        if word in ("larger", "smaller"):
            return thing["w"] * thing["h"]
        if word in ("taller", "shorter", "longer"):
            return thing["w" if word == "longer" else "h"]
        if word in ("higher", "lower"):
            return -(thing["y"] + thing["h"] / 2)
        if word in ("older", "younger"):
            ages = {value for value in self.known(key) if value in ("young", "old")}
            person = self.is_a(thing["name"], "person") and not self.is_a(thing["name"], "child")
            return {("young",): 0, ("old",): 2, (): 1 if person else None}.get(tuple(sorted(ages)))
        good = any(self.is_a(thing["name"], kind) for kind in ("fruit", "vegetable"))
        bad = any(self.is_a(thing["name"], kind) for kind in ("fast food", "dessert", "baked good"))
        return 1 if good else 0 if bad else None

    def shared(self, one, other, category):
        if self.positioned_scene((one, other), category):
            return UNKNOWN
        first, second = self.values(one, category), self.values(other, category)
        return bool(first & second) if first and second else UNKNOWN

    def do_common(self, category, argument, ids, others):
        if not ids or not others:
            return UNKNOWN
        pairs = [(one, other) for one in ids for other in others]
        found = [c for c in ("color", "material", "shape") if all(self.shared(a, b, c) is True for a, b in pairs)]
        return found[0] if len(found) == 1 else UNKNOWN

    def do_same(self, category, argument, ids, others=None):
        if others is not None:
            return self.one(self.shared(one, other, category) for one in ids for other in others)
        if not ids or self.positioned_scene(ids, argument) or not all(self.values(key, argument) for key in ids):
            return UNKNOWN
        return all(self.shared(one, other, argument) for one in ids for other in ids)

    def do_different(self, category, argument, ids, others=None):
        same = self.do_same(category, argument, ids, others)
        return same if same == UNKNOWN else not same


PAIRS = {"larger": "smaller", "taller": "shorter", "higher": "lower", "older": "younger"}


class ReleaseReference(Reference):
    """The same with the release's files: "no" is not certain of what looks the same, is similar or means the same."""

    def __init__(self, record):
        super().__init__(record)
        self.objects, self.attributes, self.edges = (
            {fields[0]: fields[1:] for fields in raw_lines(name)}
            for name in ("objects.txt", "attributes.txt", "relations.txt")
        )
        self.same_name = {word: name for name in self.objects for word in self.listed(self.objects[name], "E", ".")}
        self.same_value = {
            word: value
            for value, fields in self.attributes.items()
            for word in self.listed(fields, "E", ",") + self.listed(fields, "A", ",")
        }

    @staticmethod
    def listed(fields, letter, separator):
        return [
            word.strip()
            for field in fields
            if field.startswith(letter + ":")
            for word in field[2:].split(separator)
            if word.strip()
        ]

    def name_of(self, word):
        return word if word in self.objects or word in UPPER else self.same_name.get(word, word)

    def value_of(self, word):
        return word if self.groups_of(word) else self.same_value.get(word, word)

    def above(self, name):
        found = [field for field in self.objects.get(name, [])[1:] if len(field) > 2 and ":" not in field]
        return {*found, *([UPPER[name]] if name in UPPER else [])} - {name}

    def is_a(self, name, hypernym):
        return self.called(name, hypernym) is True

    def called(self, name, word):
        name, word = self.name_of(name), self.name_of(word)
        return True if self.covered(name, word) else self.look_the_same(name, word)

    def looks(self, name):
        return {name, *self.listed(self.objects.get(name, []), "K", ".")}

    def covered(self, name, word):
        """Whether a name is below a word, or a plural below a plural, whatever looks the same."""
        reached, fresh = set(), {name}
        while fresh:
            reached |= fresh
            fresh = {parent for each in fresh for parent in self.above(each)} - reached
        fields = self.objects.get(word, [])
        if {"P", "A"} <= set(fields):
            category = min(self.above(word), default=None)
            return name == word or (category in reached and "P" in self.objects.get(name, []))
        return word in reached

    def look_the_same(self, name, word):
        close = self.looks(name) & self.looks(word) or any(self.covered(each, word) for each in self.looks(name))
        return UNKNOWN if close else False

    def groups_of(self, value):
        plain = [field for field in self.attributes.get(value, [])[1:] if ":" not in field]
        words = [word.strip() for field in plain for word in field.split(",")]
        own = {word for word in words if len(word) > 1 or word.isdigit()}
        builtin = {
            name for name, values in VALUES.items() if value in values.split(",") and name not in self.listed_groups
        }
        return own | builtin

    @property
    def listed_groups(self):
        if not hasattr(self, "_listed"):
            plain = [field for fields in self.attributes.values() for field in fields[1:] if ":" not in field]
            self._listed = {word.strip() for field in plain for word in field.split(",")}
        return self._listed

    def values(self, key, category):
        if category in ("hposition", "vposition", "name", "type"):
            return super().values(key, category)
        return {self.value_of(value) for value in self.known(key) if category in self.groups_of(self.value_of(value))}

    def truth(self, key, category, value):
        if category in ("hposition", "vposition"):
            return self.position(key, category) == value
        if category in ("name", "type"):
            return self.called(self.record["objects"][key]["name"], value)
        value, known = self.value_of(value), {self.value_of(each) for each in self.known(key)}
        if value in known or any(value in self.listed(self.attributes.get(each, []), "C", ",") for each in known):
            return True
        rivals = self.beside(known, category, value)
        return False if rivals and not any(self.close(each, value) for each in rivals) else UNKNOWN

    def beside(self, known, category, value):
        groups = {category} if category else self.groups_of(value)
        return {each for each in known if each != value and self.groups_of(each) & groups}

    def close(self, one, other):
        fields = {each: self.attributes.get(each, []) for each in (one, other)}
        if one in self.listed(fields[other], "S", ",") or other in self.listed(fields[one], "S", ","):
            return True
        return bool({one, *self.listed(fields[one], "C", ",")} & {other, *self.listed(fields[other], "C", ",")})

    def do_select(self, category, argument):
        if argument in ("scene", "this"):
            return super().do_select(category, argument)
        if argument in ("he", "she", "it"):
            return UNKNOWN
        return self.all_called(argument, self.record["objects"])

    def all_called(self, word, keys):
        truths = {key: word == "_" or self.called(self.record["objects"][key]["name"], word) for key in keys}
        found = tuple(key for key, truth in truths.items() if truth is True)
        return UNKNOWN if not found and UNKNOWN in truths.values() else found

    def do_filter(self, category, argument, ids):
        if self.positioned_scene(ids, category):
            return UNKNOWN
        truths = [self.negated_truth(key, category, argument) for key in ids]
        found = tuple(key for key, truth in zip(ids, truths, strict=True) if truth is True)
        return UNKNOWN if not found and UNKNOWN in truths else found

    def do_relate(self, category, argument, ids):
        name, relation, role = argument.split(",")
        if "scene" in ids:
            return UNKNOWN
        for certain in (True, False):
            keys = [
                key
                for key in self.record["objects"]
                if any(self.linked_at_all(key, other, relation, role, certain) for other in ids)
            ]
            found = self.all_called(name, keys)
            if found:
                return found if certain else UNKNOWN
        return ()

    def linked_at_all(self, key, other, relation, role, certain):
        if role == "_" and not certain:
            return key != other and self.shared(key, other, relation.split(" ", 1)[1]) is not False
        if any(self.linked(key, other, each, role) for each in ([relation] if certain else self.meaning(relation))):
            return True
        return not certain and any(self.linked(other, key, each, role) for each in self.opposite(relation))

    def every(self):
        return {edge["name"] for thing in self.record["objects"].values() for edge in thing["relations"]}

    def meaning(self, relation):
        groups = {each: {*self.listed(self.edges.get(each, []), "G", ".")} - {"then"} for each in self.every()}
        own = {relation, *self.listed(self.edges.get(relation, []), "G", ".")} - {"then"}
        return [each for each in self.every() if {each, *groups[each]} & own]

    def opposite(self, relation):
        axes = {each: [*self.listed(self.edges.get(each, []), "D", "."), each][0] for each in {*self.every(), relation}}
        return [each for each in self.every() - {*self.meaning(relation)} if axes[each] == axes[relation]]

    def linked(self, key, other, relation, role):
        if role == "_":
            return key != other and self.shared(key, other, relation.split(" ", 1)[1]) is True
        return super().linked(key, other, relation, role)

    def shared(self, one, other, category):
        same = super().shared(one, other, category)
        pairs = [(a, b) for a in self.values(one, category) for b in self.values(other, category)]
        return UNKNOWN if same is False and any(self.close(*pair) for pair in pairs) else same

    def do_same(self, category, argument, ids, others=None):
        if others is None and ids and not self.positioned_scene(ids, argument):
            if all(self.values(key, argument) for key in ids):
                truths = [self.shared(one, other, argument) for one in ids for other in ids]
                return False if False in truths else UNKNOWN if UNKNOWN in truths else True
            return UNKNOWN
        return super().do_same(category, argument, ids, others)

    def compare(self, word, ids, others):
        if len(ids) == len(others) == 1 and "scene" not in ids + others:
            for one, other in ((ids[0], others[0]), (others[0], ids[0])):
                converse = PAIRS.get(word) or {less: more for more, less in PAIRS.items()}.get(word)
                for subject, said, target in ((one, word, other), (other, converse, one)):
                    if {"name": f"{said} than", "object": target} in self.record["objects"][subject]["relations"]:
                        return self.record["objects"][one]["name"]
        return super().compare(word, ids, others)

    def amount(self, word, key):
        if word not in ("healthier", "less healthy"):
            return super().amount(word, key)
        flags = set(self.objects.get(self.name_of(self.record["objects"][key]["name"]), []))
        return 1 if "H" in flags else 0 if "U" in flags else None


@cache
def raw_lines(name):
    """Fields of each line of a file of the ontology."""
    text = (real_folder() / "ontology" / name).read_text("utf-8").replace("nylon,51", "nylon;51")
    lines = [line for line in text.splitlines() if line.strip()]
    return [[field.strip() for field in line.split(";" if name == "attributes.txt" else ",")] for line in lines]


class Sampler:
    """Random programs for a scene, of all operations; most words occur in the scene."""

    def __init__(self, record, seed):
        self.random = random.Random(seed)
        things = list(record["objects"].values())
        self.names = sorted({thing["name"] for thing in things}) + ["furniture", "person", "animal", "vehicle"]
        self.attributes = sorted({value for thing in things for value in thing["attributes"]}) or ["red"]
        self.relations = sorted({edge["name"] for thing in things for edge in thing["relations"]}) or ["on"]
        self.by_family = {name: [row for row in ROWS.values() if row.family == name] for name in FAMILY_NAMES}

    def value(self, category):
        pick = self.random.choice
        if category == "hposition":
            return pick(["left", "middle", "right"])
        if category == "vposition":
            return pick(["top", "middle", "bottom"])
        if category in ("name", "type"):
            return pick(self.names)
        known = [value for value in self.attributes if not category or value in VALUES.get(category, "").split(",")]
        pool = known if known and self.random.random() < 0.7 else VALUES.get(category, "red,large").split(",")
        return pick(pool)

    def argument(self, row):
        pick, form = self.random.choice, len(row.form.parameters)
        if row.family == "select":
            return (
                "scene" if self.random.random() < 0.04 else "this" if self.random.random() < 0.01 else pick(self.names)
            )
        if row.family == "query":
            return pick(["name", "color", "hposition", "vposition", "material", "size", "weather", "place"])
        if row.family in ("same", "different") and form == 1:
            return pick(["gender", "type", "color", "material"])
        if row.family == "exist":
            return "?"
        if row.family == "relate" and self.random.random() < 0.15:
            return f"{pick([*self.names, '_'])},same {pick(['color', 'material', 'shape'])},_"
        if form >= 3:
            options = sorted(self.random.sample([*self.relations, "near", "on top of"], form - 2))
            return f"{pick([*self.names, '_', '_'])},{'|'.join(options)},{pick('so')}"
        if form == 2:
            return "|".join(sorted({self.value(row.category), self.value(row.category)} | {"zebra", "red"})[:2])
        value = self.value(row.category) if form else ""
        return f"not({value})" if row.family in ("filter", "verify") and self.random.random() < 0.15 else value

    def program(self):
        semantic, kinds_so_far = [], []
        self.add(semantic, kinds_so_far, self.by_family["select"])
        for _ in range(self.random.randint(1, 6)):
            family = self.random.choice(FAMILY_NAMES)
            usable = [
                row for row in self.by_family[family] if all(kind in kinds_so_far for kind in row.operation.inputs)
            ]
            if usable:
                self.add(semantic, kinds_so_far, usable)
        return semantic

    def add(self, semantic, kinds_so_far, rows):
        frequent = [row for row in rows if row.category in FREQUENT]
        row = self.random.choice(frequent if frequent and self.random.random() < 0.6 else rows)
        inputs = [
            self.random.choice([at for at, kind in enumerate(kinds_so_far) if kind == expected])
            for expected in row.operation.inputs
        ]
        semantic.append({"operation": row.release_name, "dependencies": inputs, "argument": self.argument(row)})
        kinds_so_far.append(row.operation.output)


FREQUENT = ("", "color", "material", "size", "hposition", "vposition", "name", "rel", "larger", "higher")
FAMILY_NAMES = sorted({row.family for row in ROWS.values()})


def ontologies():
    return {"built in": (BUILT_IN, Reference), "release": (read_ontology(real_folder() / "ontology"), ReleaseReference)}


@pytest.mark.parametrize("name", ["built in", "release"])
def test_sampled_programs_on_the_real_scene_graphs_agree_with_the_reference(name):
    records, (ontology, reference_of) = real_json("scene_graphs.json"), ontologies()[name]
    assert len(records) == 75
    places = (("indoors", None), ("beach", "sunny"), (None, None))
    counts = Counter()
    per_scene = -(-SAMPLED_PROGRAMS // len(records))
    for number, (image_id, record) in enumerate(records.items()):
        location, weather = places[number % 3]
        record = {**record, "location": location, "weather": weather}
        scene, reference, sampler = scene_of(record, image_id), reference_of(record), Sampler(record, number)
        for _ in range(per_scene):
            semantic = sampler.program()
            results = execute(program_of(semantic), scene, ontology)
            expected = reference.run(semantic)
            for step, result, value in zip(semantic, results, expected, strict=True):
                assert (UNKNOWN if result.value is None else result.value) == value, (image_id, semantic, result)
                assert bool(result.problem) == (result.value is None)
                counts[step["operation"].split(" ")[0], result.value is None] += 1
    assert per_scene * len(records) >= SAMPLED_PROGRAMS
    for family in FAMILY_NAMES:
        assert counts[family, False] >= 100, (family, counts)
    for family in ("query", "verify", "choose", "common", "same", "different", "and"):
        assert counts[family, True] >= 100, (family, counts)


ROOM = {
    "width": 300,
    "height": 300,
    "location": "indoors",
    "objects": {
        "1": {
            "name": "man",
            "x": 0,
            "y": 0,
            "w": 60,
            "h": 200,
            "attributes": [],
            "relations": [{"name": "holding", "object": "4"}],
        },
        "2": {"name": "girl", "x": 120, "y": 80, "w": 60, "h": 120, "attributes": [], "relations": []},
        "3": {
            "name": "chair",
            "x": 220,
            "y": 200,
            "w": 80,
            "h": 80,
            "attributes": ["red", "wood", "large"],
            "relations": [],
        },
        "4": {"name": "apple", "x": 50, "y": 90, "w": 20, "h": 20, "attributes": ["red", "small"], "relations": []},
        "5": {
            "name": "cake",
            "x": 130,
            "y": 250,
            "w": 40,
            "h": 40,
            "attributes": ["brown"],
            "relations": [{"name": "to the left of", "object": "3"}],
        },
    },
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select(person)", ("1", "2")),
        ("select(furniture); filter_size(not(large))", ()),
        ("select(food); filter_color(not(red))", ("5",)),
        ("select(person); filter_hposition(left)", ("1",)),
        ("select(food); filter_vposition(bottom)", ("5",)),
        ("select(chair); query(hposition)", "right"),
        ("select(apple); relate(person, holding, subject)", ("1",)),
        ("select(man); relate(_, holding, object); query(name)", "apple"),
        ("select(chair); relate(food, same color, either)", ("4",)),
        ("select(cake); verify_color(red)", "no"),
        ("select(cake); verify_size(small)", "size is not known"),
        ("select(food); verify_color(red)", "objects disagree on color"),
        ("select(dog); verify_color(red)", "there is no object to look at"),
        ("select(dog); exist()", "no"),
        ("select(chair); choose_rel(cake, to the left of, to the right of, subject)", "left"),
        ("select(girl); choose_name(boy, girl)", "girl"),
        ("select(girl); choose_gender(male, female)", "female"),
        ("select(apple); select(cake); choose_healthier()", "apple"),
        ("select(apple); select(cake); choose_less_healthy()", "cake"),
        ("select(girl); select(man); choose_younger()", "girl"),
        ("select(girl); select(man); choose_taller()", "man"),
        ("select(chair); select(apple); common()", "color"),
        ("select(chair); select(apple); same_color()", "yes"),
        ("select(chair); select(cake); different_color()", "yes"),
        ("select(chair); select(apple); same_material()", "material is not known"),
        ("select(person); same(gender)", "no"),
        ("select(person); different(type)", "yes"),
        ("select(scene); verify_location(outdoors)", "no"),
        ("select(scene); query(weather)", "weather is not known"),
        ("select(this); exist()", "step 0 was not executed"),
        ("select(cake); exist(); select(dog); exist(); and([2], [4])", "no"),
        ("select(cake); exist(); select(dog); exist(); or([2], [4])", "yes"),
    ],
)
def test_a_room_computed_by_hand(text, expected):
    results = execute(parse_visual(text.replace("; ", "\n")), scene_of(ROOM, "room"))
    last = results[-1]
    assert (last.value if isinstance(last.value, tuple) else answer_of(results) or last.problem) == expected


def test_every_comparative_of_the_language_is_measured():
    assert set(COMPARED) == {*COMPARATIVES, "bigger"}


def test_the_hypernyms_are_a_tree():
    below = [name for names in CHILDREN.values() for name in names.split(",")]
    assert len(below) == len(set(below))
    assert all(parent not in BUILT_IN.kinds(name) for parent, names in CHILDREN.items() for name in names.split(","))


def test_overlap_in_pixels_computed_by_hand():
    one = np.array([[0, 0, 10, 10], [5, 5, 5, 5]])
    other = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [0, 0, 5, 5], [20, 20, 30, 30]])
    np.testing.assert_allclose(overlap(one, other), [[1, 1 / 3, 1 / 4, 0], [0, 0, 0, 0]])


def test_targets_split_each_object_among_its_matching_boxes():
    scene = scene_of(ROOM, "room")
    boxes = np.array([[0, 0, 60, 200], [0, 0, 60, 100], [120, 80, 180, 200], [0, 0, 300, 300]], np.float32)
    text = "select(person)\nselect(dog)\nselect(chair)\nexist([1])\nselect(girl)\nquery([5], name)\nquery([3], weather)"
    targets = dense_targets(execute(parse_visual(text), scene), scene, boxes)
    man = np.array([1, 0.5]) / 1.5 / 2
    np.testing.assert_allclose(targets.objects[0], [*man, 0.5, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(targets.objects[1], [0, 0, 0, 0, 1])
    np.testing.assert_allclose(targets.objects[4], [0, 0, 1, 0, 0])
    assert targets.supervised.tolist() == [True, True, False, True, True, True, False]
    assert targets.booleans.tolist() == [False, False, False, True, False, False, False]
    assert targets.answers == (None, None, None, None, None, "girl", None)


def test_a_picture_without_detections_supervises_only_what_needs_none():
    scene = scene_of(json.loads(json.dumps(ROOM)), "room")
    targets = dense_targets(execute(parse_visual("select(man)\nexist()"), scene), scene, np.zeros((0, 4), np.float32))
    assert targets.objects.shape == (2, 1)
    assert targets.supervised.tolist() == [False, True]
