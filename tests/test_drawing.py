"""Pictures of the embedded world: what can be asked can be seen."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from PIL import Image

from program_guided.tasks.visual.drawing.backdrop import PLACES, draw_backdrop
from program_guided.tasks.visual.drawing.cues import ANIMAL_CUES, CUES, HEAD_CUES, HEADS
from program_guided.tasks.visual.drawing.glyphs import DRAWINGS, GLYPHS
from program_guided.tasks.visual.drawing.painting import FIXED, KINDS, SHADES, paint_thing
from program_guided.tasks.visual.drawing.people import PEOPLE, figure
from program_guided.tasks.visual.drawing.scene import CLEAN, Camera, draw_picture, draw_scene
from program_guided.tasks.visual.drawing.strokes import read_strokes
from program_guided.tasks.visual.embedded.scenes import HEIGHT, SMALLEST, WIDTH, sample_scene
from program_guided.tasks.visual.embedded.vocabulary import (
    CLASSES,
    LOCATIONS,
    NAMES,
    WEATHERS,
    WORLD_VALUES,
)
from program_guided.tasks.visual.embedded.vocabulary import (
    PLACES as ASKED,
)
from program_guided.tasks.visual.graph import Box, SceneObject, scene_of

CUE = 16
"""Pixels, 4 x 4, that show the difference of two values."""
SEEN = 40
"""Difference of a pixel that can be seen, of 255."""
BY_SIZE = ("size", "length", "height")
"""Categories that a box's sides show."""
DETAIL = 2


def seen(name, *attributes, seed=0, scale=1.0, relations=()):
    """The pixels of an object on a gray ground, as a picture shows it."""
    kind = next(kind for kind in CLASSES.values() if name in kind.names)
    size = tuple(round(side * scale * DETAIL) for side in (kind.width, kind.height))
    thing = SceneObject(name, Box(0, 0, *size), attributes, tuple((each, "1") for each in relations))
    body, front = paint_thing(thing, size, DETAIL, Random(seed))
    whole = Image.new("RGB", body.size, "#a8b0a0")
    whole.paste(body, mask=body)
    if front is not None:
        whole.paste(front, mask=front)
    return np.asarray(whole.reduce(DETAIL)).astype(int)


def differing(one, other):
    """Number of pixels that differ visibly."""
    return int((np.abs(one - other).max(axis=-1) > SEEN).sum())


CASES = [
    (name, category)
    for kind in CLASSES.values()
    for name in kind.names
    for category in kind.categories
    if category not in BY_SIZE
]


@pytest.mark.parametrize(("name", "category"), CASES)
def test_what_is_asked_is_drawn(name, category):
    """Any two values of a category differ by a cue of at least 4 x 4 pixels, on the smallest objects of their kind."""
    pictures = {value: seen(name, value, scale=SMALLEST) for value in WORLD_VALUES[category]}
    for one, other in combinations(pictures, 2):
        assert differing(pictures[one], pictures[other]) >= CUE, (one, other)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_name_has_a_drawing_of_its_own(kind):
    names = CLASSES[kind].names
    for one, other in combinations(names, 2):
        assert differing(seen(one, scale=SMALLEST), seen(other, scale=SMALLEST)) >= 2 * CUE, (one, other)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_several_variants(name):
    pictures = [seen(name, "red", seed=seed) for seed in range(8)]
    assert len({picture.tobytes() for picture in pictures}) >= 6
    assert seen(name, "red", seed=3).tobytes() == pictures[3].tobytes()


def test_strokes_are_of_known_kinds_and_colors():
    texts = [*DRAWINGS.values(), *CUES.values(), *ANIMAL_CUES.values(), *HEAD_CUES.values()]
    strokes = [each for text in texts for each in read_strokes(text)]
    for name in PEOPLE:
        for pose in WORLD_VALUES["pose"]:
            body, front = figure(name, {pose, "old", "reading", "male", "happy"}, {"holding", "eating"})
            strokes += [*body, *front]
    assert {stroke.kind for stroke in strokes} <= set(KINDS)
    assert {stroke.color for stroke in strokes} <= set(FIXED) | set(SHADES)
    assert set(GLYPHS) | set(PEOPLE) >= set(NAMES)
    assert set(HEADS) == {*CLASSES["animal"].names, *CLASSES["bird"].names}


@pytest.mark.parametrize("relation", ["holding", "carrying", "eating", "pushing", "sitting on", "riding"])
def test_what_a_person_does_is_seen_in_the_person(relation):
    """Hands grip, and who sits is seated: the boxes alone do not show it."""
    for name in ("man", "girl", "chef"):
        plain, doing = seen(name, "standing"), seen(name, "standing", relations=[relation])
        assert differing(plain, doing) >= CUE


def test_places_and_weathers_differ():
    def pixels(place, weather):
        return np.asarray(draw_backdrop(place, weather, (240, 180), Random(0))).astype(int)

    for one, other in combinations([*ASKED, *LOCATIONS], 2):
        assert differing(pixels(one, "sunny"), pixels(other, "sunny")) > 2000, (one, other)
    for place in PLACES:
        for one, other in combinations(WEATHERS, 2):
            assert differing(pixels(place, one), pixels(place, other)) > 200, (place, one, other)


def test_a_picture_is_the_same_twice_and_a_camera_changes_it():
    scene = sample_scene(3)
    clean = draw_picture(scene)
    assert clean.size == (WIDTH, HEIGHT)
    assert draw_picture(scene).tobytes() == clean.tobytes()
    noisy = draw_picture(scene, camera=Camera())
    assert noisy.tobytes() == draw_picture(scene, camera=Camera()).tobytes() != clean.tobytes()
    assert draw_picture(scene, 0.5, CLEAN).size == (WIDTH // 2, HEIGHT // 2)


def test_a_camera_is_less_or_more_uncertain_by_a_factor():
    camera = Camera(noise=6.0, blur=0.5, light=0.25, clutter=5)
    assert camera.times(2) == Camera(12.0, 1.0, 0.5, 10)
    assert camera.times(0.5) == Camera(3.0, 0.25, 0.125, 2)
    assert camera.times(1) == camera
    assert camera.times(20).light == 1.0, "at most, all of it"
    assert camera.times(0) == CLEAN
    scene = sample_scene(3)
    clean, *others = (
        np.asarray(draw_picture(scene, camera=Camera().times(factor))).astype(int) for factor in (0, 1, 4)
    )
    assert clean.tobytes() == np.asarray(draw_picture(scene)).astype(int).tobytes()
    errors = [np.abs(other - clean).mean() for other in others]
    assert 0 < 1.5 * errors[0] < errors[1]
    draw_picture(scene, camera=Camera().times(20))


def test_nearer_things_cover_farther_ones():
    boxes = {"1": ("cabinet", 100, 100, 120, 120), "2": ("car", 140, 160, 120, 80)}
    record = {
        key: {"name": name, "x": x, "y": y, "w": w, "h": h, "attributes": [], "relations": []}
        for key, (name, x, y, w, h) in boxes.items()
    }
    both = scene_of({"width": WIDTH, "height": HEIGHT, "objects": record}, "7")
    near = scene_of({"width": WIDTH, "height": HEIGHT, "objects": {"2": record["2"]}}, "7")
    area = (slice(200, 215), slice(175, 210))
    shown, alone = (np.asarray(draw_picture(each)).astype(int)[area] for each in (both, near))
    assert differing(shown, alone) < 0.1 * shown[..., 0].size


def test_graphs_of_other_pictures_are_drawn_too():
    """Unknown names, no objects, relations in a circle."""
    assert draw_scene(scene_of({"width": 50, "height": 40, "objects": {}}, "0"), legend=False).size == (50, 40)
    around = {
        key: {
            "name": "robot",
            "x": 5,
            "y": 5,
            "w": 0,
            "h": 30,
            "attributes": ["red"],
            "relations": [{"name": "on", "object": other}],
        }
        for key, other in (("1", "2"), ("2", "1"))
    }
    assert draw_scene(scene_of({"width": 90, "height": 60, "objects": around}, "0")).height >= 60
