"""Symbolic execution of detections: the scene graph of the likely labels, and what repair does where a routine finds
nothing."""

import numpy as np
import pytest

from program_guided.tasks.visual.domain import parse_visual
from program_guided.tasks.visual.embedded.vectors import PARTS, ROLES, SCENE_VALUES, SIZE, VALUES
from program_guided.tasks.visual.embedded.vocabulary import NAMES
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.symbolic import answer_symbolically, scene_of_detections


def thing(box, names, values=None, roles=None, ground=0.5):
    """(vector, box) of an object, by the probabilities of its names, values and roles."""
    vector = np.zeros(SIZE, np.float32)
    for part, known, given in (
        ("names", NAMES, names),
        ("values", VALUES, values or {}),
        ("roles", ROLES, roles or {}),
        ("weather", SCENE_VALUES["weather"], {"rainy": 0.8, "sunny": 0.2}),
    ):
        for key, share in given.items():
            vector[PARTS[part]][known.index(key)] = share
    vector[PARTS["ground"]] = ground
    return vector, box


def seen(*things):
    vectors, boxes = zip(*things, strict=True)
    return Detected(np.stack(vectors), np.array(boxes, np.float32), 480, 360)


def colors(**shares):
    return {("color", name): share for name, share in shares.items()}


APPLE = thing((10, 100, 40, 130), {"apple": 0.6, "orange": 0.3}, colors(red=0.7, green=0.3))
PEAR = thing((200, 100, 230, 130), {"pear": 0.9}, colors(green=0.8, red=0.1))
FRUIT = seen(APPLE, PEAR)


def answers(program, detected=FRUIT):
    """(strict, repaired)"""
    parsed = parse_visual(program)
    return tuple(answer_symbolically(parsed, detected, repair=repair) for repair in (False, True))


def test_the_likely_labels_are_the_scene_graph():
    again = thing((11, 100, 40, 130), {"apple": 0.5}, colors(green=0.9))
    clutter = thing((300, 300, 340, 340), {"apple": 0.14, "pear": 0.1})
    orange = thing((11, 100, 40, 130), {"orange": 0.4}, colors(red=0.9))
    scene = scene_of_detections(seen(clutter, again, PEAR, APPLE, orange))
    assert [(key, each.name) for key, each in scene.objects.items()] == [("2", "pear"), ("3", "apple"), ("4", "orange")]
    assert scene.objects["3"].box.corners == (10, 100, 40, 130)
    assert "red" in scene.objects["3"].attributes
    assert "green" in scene.objects["2"].attributes
    assert ("to the left of", "2") in scene.objects["3"].relations
    assert ("to the right of", "3") in scene.objects["2"].relations
    assert scene.weather == "rainy"


def test_a_role_is_of_the_nearest_object_with_the_other_role():
    wears, worn = {("wearing", "subject"): 0.9}, {("wearing", "object"): 0.8}
    man = thing((100, 100, 140, 200), {"man": 0.9}, roles=wears)
    boy = thing((300, 100, 340, 200), {"boy": 0.9}, roles={("wearing", "subject"): 0.4})
    hat, scarf = (
        thing(box, {name: 0.9}, roles=worn)
        for box, name in (((110, 95, 130, 110), "hat"), ((200, 95, 220, 110), "scarf"))
    )
    scene = scene_of_detections(seen(man, boy, hat, scarf))
    edges = [(key, *edge) for key, each in scene.objects.items() for edge in each.relations]
    wearing = [edge for edge in edges if edge[1] == "wearing"]
    assert wearing == [("0", "wearing", "2")], "the boy's is unlikely, the scarf is farther"


def test_what_is_in_front_is_lower_on_the_ground():
    near = thing((100, 100, 160, 200), {"chair": 0.9}, ground=200 / 360)
    far = thing((120, 80, 180, 180), {"table": 0.9}, ground=180 / 360)
    scene = scene_of_detections(seen(near, far))
    assert ("in front of", "1") in scene.objects["0"].relations
    assert ("behind", "0") in scene.objects["1"].relations


ORANGE_TWICE = (
    "one = select(orange)\nthere = exist(one)\nother = select(orange)\nred = verify_color(other, red)\nand(there, red)"
)
"""The first step is tested, the second, of the same words, is not."""


@pytest.mark.parametrize(
    ("program", "strict", "repaired"),
    [
        ("fruit = select(apple)\nquery(fruit, color)", "red", "red"),
        ("fruit = select(orange)\nquery(fruit, color)", None, "red"),
        ("fruit = select(fruit)\nred = filter_color(fruit, green)\nquery(red, name)", "pear", "pear"),
        ("fruit = select(pear)\nred = filter_color(fruit, red)\nquery(red, name)", None, "pear"),
        ("all = select(fruit)\nred = filter_color(all, purple)\nquery(red, name)", None, "apple"),
        (
            'pear = select(pear)\nleft = relate(pear, apple, "to the left of", subject)\nquery(left, color)',
            "red",
            "red",
        ),
        (
            'pear = select(pear)\nleft = relate(pear, orange, "to the left of", subject)\nquery(left, color)',
            None,
            "red",
        ),
        ("fruit = select(orange)\nexist(fruit)", "no", "no"),
        ("fruit = select(fruit)\nblue = filter_color(fruit, blue)\nexist(blue)", "no", "no"),
        ("everything = select(scene)\nquery(everything, weather)", "rainy", "rainy"),
        (ORANGE_TWICE, None, "no"),
        (ORANGE_TWICE.replace("and(there, red)", "or(there, red)"), None, "yes"),
    ],
)
def test_repair_finds_what_is_most_likely_unless_it_is_asked_whether_there_is_something(program, strict, repaired):
    assert answers(program) == (strict, repaired)


def test_a_relation_is_repaired_by_role_and_by_position():
    man = thing((100, 100, 140, 200), {"man": 0.9})
    things = [
        thing((200 + 40 * at, 100, 230 + 40 * at, 130), {name: 0.9}, roles={("holding", "object"): share})
        for at, (name, share) in enumerate((("ball", 0.1), ("kite", 0.4), ("doll", 0.2)))
    ]
    held = 'man = select(man)\nheld = relate(man, toy, "holding", object)\nquery(held, name)'
    assert answers(held, seen(man, *things)) == (None, "kite")


def test_nothing_is_answered_where_nothing_is_detected():
    nothing = Detected(np.zeros((0, SIZE), np.float32), np.zeros((0, 4), np.float32), 480, 360)
    assert answers("fruit = select(apple)\nquery(fruit, color)", nothing) == (None, None)
    assert answers("fruit = select(apple)\nexist(fruit)", nothing) == ("no", "no")
    branching = "things = select(furniture)\nif exist(things):\n    query(things, name)\nelse:\n    exist(things)"
    assert answers(branching, nothing) == ("no", "no")
