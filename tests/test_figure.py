"""Figures of executed programs: layout of the graph, marks and labels on the picture, crops, heat, sheets."""

import sys
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from PIL import Image

import program_guided
from program_guided.cli import main as command_line
from program_guided.learning.settings import SupervisedSettings
from program_guided.learning.trainer import Job, train
from program_guided.registry import model_config
from program_guided.tasks.visual.drawing.canvas import canvas_of
from program_guided.tasks.visual.drawing.figure import (
    CARD,
    CARD_WIDTH,
    FULL,
    compose,
    contact_sheet,
    draw_card,
    draw_figure,
)
from program_guided.tasks.visual.drawing.findings import Finding, Photograph
from program_guided.tasks.visual.drawing.labels import area, overlap_area, scaled
from program_guided.tasks.visual.drawing.layout import WAY, arrange
from program_guided.tasks.visual.drawing.marks import COLORS, colors_of, faces_of, marks_of
from program_guided.tasks.visual.drawing.nodes import FILLS
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.embedded.scenes import sample_scene
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.graph import scene_of
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.reasoner import Reasoning
from program_guided.tasks.visual.task import Visual

pytestmark = pytest.mark.usefixtures("one_thread")

SEEDS = range(12)


def rgb(text):
    return tuple(int(text[at : at + 2], 16) for at in (1, 3, 5))


def has(picture, color):
    """True if a picture has a pixel of a color."""
    return bool((np.asarray(picture) == rgb(color)).all(axis=2).any())


def findings_of(scene, seed, count=6):
    """Findings with random objects, the last one an answer."""
    random = Random(seed)
    found = []
    for number in range(count - 1):
        boxes, missed = ([], [])
        for thing in scene.objects.values():
            (boxes if random.random() < 0.3 else missed if random.random() < 0.1 else []).append(thing.box.corners)
        inputs = tuple({random.randrange(number) for _ in range(random.randrange(3))}) if number else ()
        right = None if random.random() < 0.2 else not missed
        found.append(
            Finding(f"r{number} = select(bag)", "3 bag", "bag", right, tuple(boxes), 0.7, inputs, missed=tuple(missed))
        )
    return [*found, Finding("exist(r0)", "yes", "no", False, inputs=(0, count - 2))]


def graphs():
    """Inputs of the routines of random programs."""
    for seed in range(300):
        random = Random(seed)
        yield [
            tuple(sorted({random.randrange(number) for _ in range(random.randrange(3))})) if number else ()
            for number in range(random.randrange(1, 10))
        ]


def test_routines_stand_below_their_inputs_and_nothing_overlaps():
    for inputs in graphs():
        layout = arrange(inputs)
        for number, sources in enumerate(inputs):
            assert all(layout.layers[source] < layout.layers[number] for source in sources)
        spans = [(layout.layers[n], left, left + 1) for n, left in enumerate(layout.across)]
        for (source, _), ways in layout.ways.items():
            first = layout.layers[source] + 1
            spans += [(layer, way - WAY / 2, way + WAY / 2) for layer, way in enumerate(ways, first)]
        assert set(layout.ways) == {(source, n) for n, sources in enumerate(inputs) for source in sources}
        for (one, left, right), (other, start, end) in combinations(spans, 2):
            assert one != other or right <= start + 1e-5 or end <= left + 1e-5, inputs
        assert min(left for _, left, _ in spans) >= -1e-5
        assert max(right for *_, right in spans) <= layout.width + 1e-5


def test_a_graph_is_compact():
    chain, pair = arrange([(), (0,), (1,)]), arrange([(), (0,), (0,), (1, 2)])
    assert (chain.width, chain.layers) == (1, (0, 1, 2))
    assert (pair.width, pair.layers, pair.across) == (2, (0, 1, 1, 2), (0.5, 0, 1, 0.5))
    late = arrange([(), (0,), (1,), (), (2, 3)])
    assert late.layers == (0, 1, 2, 2, 3), "an input stands just above the routine that takes it"


def test_what_a_condition_decides_stands_below_it():
    layout = arrange([(), (0,), (), (2,)], [None, None, 1, None])
    assert layout.layers == (0, 1, 2, 3)


@pytest.mark.parametrize("form", [FULL, CARD], ids=["figure", "card"])
def test_labels_cover_neither_labels_nor_faces(form):
    count = 0
    for seed in SEEDS:
        scene = sample_scene(seed)
        found = findings_of(scene, seed)
        figure = compose(scene, found, form=form)
        scale = canvas_of(scene, form.picture).scale if form is FULL else None
        for one, other in combinations(figure.labels, 2):
            assert overlap_area(one.place, other.place) < 1e-6, (seed, one, other)
        for label in figure.labels:
            count += 1
            assert min(label.place[:2]) >= 0
            for face in faces_of(scene, marks_of(found, scene)) if scale else ():
                assert overlap_area(label.place, scaled(face, scale)) < 1e-6, (seed, label)
    assert count > 40


def test_a_label_is_near_its_box_where_there_is_room():
    box = (100.0, 100.0, 160.0, 180.0)
    figure = compose(Photograph(480, 360), [Finding("select(bag)", "1 object", None, None, (box,))])
    (label,) = figure.labels
    assert overlap_area(label.place, label.box) == 0
    apart = [max(label.box[k] - label.place[k + 2], label.place[k] - label.box[k + 2]) for k in (0, 1)]
    assert max(apart) < 5


def test_every_routine_has_its_mark_on_the_picture_and_in_the_graph():
    for seed in SEEDS:
        scene = sample_scene(seed)
        found = findings_of(scene, seed)
        figure, colors = compose(scene, found), colors_of(found)
        assert len(figure.nodes) == len(found)
        for one, other in combinations(figure.nodes, 2):
            assert overlap_area(one, other) == 0
        assert set(colors) == {number for number, each in enumerate(found) if each.boxes or each.missed}
        assert len(set(colors.values())) == len(colors) <= len(COLORS)
        labelled = {number for label in figure.labels for number in (*label.mark.found, *label.mark.missed)}
        assert labelled == set(colors)
        picture = figure.image.crop((0, 0, int(figure.nodes[0][0]) - 60, figure.image.height))
        for number, color in colors.items():
            assert has(picture, color)
            assert has(figure.image.crop([round(side) for side in figure.nodes[number]]), color)


def test_a_box_has_the_numbers_of_all_routines_that_found_it():
    boxes = ((10.0, 10.0, 50.0, 50.0), (60.0, 10.0, 90.0, 50.0))
    near = (11.0, 11.0, 51.0, 50.0)
    found = [
        Finding("a", "2", "2", True, boxes),
        Finding("b", "1", "2", False, boxes[:1], missed=(boxes[1],)),
        Finding("c", "none", "1", False, missed=(near,)),
    ]
    one, other = marks_of(found)
    assert (one.box, one.found, one.missed) == (boxes[0], (0, 1), (2,))
    assert (other.found, other.missed) == ((0,), (1,))


def test_crops_are_of_the_right_boxes():
    colors = ["#ff0000", "#00ff00", "#0000ff", "#ffff00"]
    boxes = [(30.0 + 110 * number, 40.0 + 60 * number, 90.0 + 110 * number, 110.0 + 60 * number) for number in range(4)]
    picture = Image.new("RGB", (480, 360), "#808080")
    for box, color in zip(boxes, colors, strict=True):
        picture.paste(color, [round(side) for side in box])
    found = [
        Finding("a = select(bag)", "2", None, None, (boxes[0], boxes[2])),
        Finding("b = select(bag)", "1", None, None, (boxes[3],)),
        Finding("exist(b)", "yes", None, None, inputs=(1,)),
    ]
    figure = compose(Photograph(480, 360, picture), found)
    assert [len(each) for each in figure.crops] == [2, 1, 0]
    for crops, node in zip(figure.crops, figure.nodes, strict=True):
        for box, place in crops:
            middle = round((place[0] + place[2]) / 2), round((place[1] + place[3]) / 2)
            assert figure.image.getpixel(middle) == rgb(colors[boxes.index(box)])
            assert overlap_area(place, node) == area(place), "inside its routine"


def test_crops_of_a_picture_of_another_size_than_its_boxes():
    picture = Image.new("RGB", (120, 90), "#808080")
    picture.paste("#00ff00", (60, 45, 90, 70))
    found = [Finding("select(bag)", "1", None, None, ((240.0, 180.0, 360.0, 280.0),))]
    figure = compose(Photograph(480, 360, picture), found)
    (((_, place),),) = figure.crops
    assert figure.image.getpixel((round((place[0] + place[2]) / 2), round((place[1] + place[3]) / 2))) == (0, 255, 0)


def test_many_objects_are_counted_where_there_is_no_room_for_crops():
    boxes = tuple((40.0 * number, 50.0, 40.0 * number + 30, 90.0) for number in range(9))
    for form in (FULL, CARD):
        figure = compose(
            Photograph(480, 360, Image.new("RGB", (480, 360))), [Finding("a", "9", None, None, boxes)], form=form
        )
        (crops,), (node,) = figure.crops, figure.nodes
        assert len(crops) == 3
        assert all(place[2] < node[2] for _, place in crops)


def test_the_same_findings_give_the_same_figure():
    scene = sample_scene(3)
    one, other = (draw_figure(scene, findings_of(scene, 3), "Is there a bag?") for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_what_is_wrong_is_seen_at_once():
    def drawn(*verdict):
        return draw_figure(Photograph(400, 300), [Finding("exist(bag)", "yes", *verdict)])

    assert has(drawn("no", False), FILLS[False])
    for verdict in (("yes", True), ("color is not known", None), (None, None)):
        assert not has(drawn(*verdict), FILLS[False])
    assert len({drawn(*verdict).tobytes() for verdict in (("yes", True), ("no", False), (None, None))}) == 3


def test_a_photograph_a_drawn_scene_and_boxes_without_a_picture_are_drawn_on():
    box = (100.0, 100.0, 900.0, 300.0)
    found = [Finding("bag = select(bag)", "1 object", None, None, (box,)), Finding("exist(bag)", "yes", None, None)]
    blue = Photograph(1000, 500, Image.new("RGB", (100, 50), "#0000ff"), (box,))
    for ground in (blue, Photograph(1000, 500, None, (box, (0.0, 0.0, 10.0, 10.0)))):
        for draw in (draw_figure, draw_card):
            drawn = draw(ground, found, "Is there a bag?")
            assert has(drawn, COLORS[0])
            assert has(drawn, "#0000ff") == (ground is blue)
        assert not has(draw_figure(ground, found[1:]), COLORS[0])
    assert draw_card(Photograph(1_000_000, 1, None, (box,)), found).height < 300


def test_a_scene_graph_of_a_photograph_is_drawn_as_boxes_with_names():
    thing = {"x": 20, "y": 30, "w": 200, "h": 120, "attributes": [], "relations": []}
    scenes = [
        scene_of({"width": 400, "height": 300, "objects": {"1": thing | {"name": name}}}, "1")
        for name in ("oven mitt", "toboggan")
    ]
    found = [Finding("exist(oven)", "no", "no", True)]
    one, other = (compose(scene, found) for scene in scenes)
    assert one.image.tobytes() != other.image.tobytes(), "names are written"
    assert not one.labels
    marked = compose(scenes[0], [Finding("select(oven)", "1", "1", True, ((20.0, 30.0, 220.0, 150.0),))])
    assert [label.mark.name for label in marked.labels] == ["oven mitt"]
    assert marked.crops == ((),), "there is nothing to see in a crop"


def test_heat_is_where_attention_is():
    parts = [(x, y, x + 100.0, y + 100.0) for y in (0.0, 100.0) for x in (0.0, 100.0)]
    canvas = canvas_of(Photograph(200, 200, Image.new("RGB", (200, 200), "#808080")), (200, 200))
    heat = np.asarray(canvas.heated(list(zip(parts, (0.0, 0.9, 0.1, 0.4), strict=True)), 100), int)
    redness = [(heat[y, x, 0] - heat[y, x, 2]) for y in (25, 75) for x in (25, 75)]
    assert redness[0] == 0
    assert redness[1] > redness[3] > redness[2] > 0
    assert not np.ptp(np.asarray(canvas.heated([(parts[0], 0.0)], 100), int), axis=2).any(), "no attention at all"


def test_attention_is_drawn_on_request():
    box, ground = (50.0, 50.0, 150.0, 150.0), Photograph(400, 300, Image.new("RGB", (400, 300), "#404040"))
    plain, hot = (
        compose(ground, [Finding("exist(bag)", "yes", None, None, attention=attention)])
        for attention in ((), ((box, 0.9),))
    )
    assert hot.nodes[0][3] > plain.nodes[0][3]


def test_long_texts_stay_in_their_routines_and_titles_are_wrapped():
    scene, long = sample_scene(0), Finding("bag = " + "relate(bottle, " * 40, "3 bag, " * 60, "3 bag", False)
    figure = compose(scene, [long])
    assert figure.nodes[0][3] < 400
    heights = [draw_figure(scene, [long], "a question " * words).height for words in (0, 1, 40)]
    assert heights[0] < heights[1] < heights[2]


def test_a_sheet_has_cards_of_one_width_and_rows_as_high_as_their_highest():
    scene = sample_scene(0)
    chains = [
        [replace(each, inputs=(number - 1,) * bool(number)) for number, each in enumerate(findings_of(scene, 0, count))]
        for count in (2, 9, 3, 2, 4)
    ]
    cards = [draw_card(scene, chain, "Is there a bag?") for chain in chains]
    assert {card.width for card in cards} == {CARD_WIDTH}
    sheet = contact_sheet(cards)
    tall = [max(card.height for card in cards[at : at + 2]) for at in (0, 2, 4)]
    assert sheet.size == (2 * CARD_WIDTH, sum(tall))
    assert contact_sheet(cards[:1]).size == cards[0].size
    assert contact_sheet([draw_figure(scene, findings_of(scene, 0))] * 2).width == 2 * CARD_WIDTH
    assert contact_sheet([]).size == (1, 1)


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, {"train": 12, "val": 2, "test": 3}, 0, {"objects": Simulation()})
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="checkpoint", scope="module")
def checkpoint_fixture(world, one_thread, tmp_path_factory):
    folder, task = tmp_path_factory.mktemp("checkpoint") / "model", Visual(data=world)
    config = model_config("plus")(word_width=8, hidden=32, heads=4, blocks=1)
    settings = SupervisedSettings(steps=6, eval_every=3, batch_size=32, warmup=2)
    train(Job(task, "plus", config, task.reader_config, settings, folder, target="dense"))
    return folder


@pytest.fixture(name="reasoner")
def reasoner_fixture(checkpoint, world):
    """A reasoner, and what was detected in a picture."""
    with ObjectFeatures(world / "objects") as features:
        return program_guided.load(checkpoint), features.read(features.image_ids[0])


def test_findings_know_their_inputs_and_their_attention(reasoner):
    reasoner, detected = reasoner
    program = "a = select(furniture)\nb = select(person)\nx = exist(a)\ny = exist(b)\nand(x, y)"
    plain, watched = (reasoner.reason(program, None, detected, attention=attention) for attention in (False, True))
    assert [each.inputs for each in plain.findings] == [(), (), (0,), (1,), (2, 3)]
    assert {each.attention for each in plain.findings} == {()}
    assert [each.result for each in plain.findings] == [each.result for each in watched.findings]
    for each in watched.findings:
        assert len(each.attention) == len(detected.boxes)
        assert all(0 <= weight <= 1 for _, weight in each.attention)
    assert len({each.attention for each in watched.findings[:3]}) == 3, "each routine has its own"
    assert watched.picture().height >= plain.picture().height


def test_a_condition_decides_about_the_next_routine(reasoner):
    reasoner, detected = reasoner
    program = "a = select(person)\nif exist(a):\n  exist(select(furniture))\nelse:\n  exist(a)"
    found = reasoner.reason(program, None, detected).findings
    assert [each.condition for each in found[:3]] == [None, None, 1]
    assert all(number < place for place, each in enumerate(found) for number in each.inputs)
    assert reasoner.reason(program, None, detected).picture().width > 100


@pytest.fixture(name="proto")
def proto_fixture(monkeypatch, capsys, tmp_path):
    """Run a command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.mark.parametrize("only", ["right", "wrong"])
def test_questions_answered_right_or_wrong_are_drawn(only, world, proto, checkpoint, tmp_path, monkeypatch):
    titles, card = [], Reasoning.card
    monkeypatch.setattr(Reasoning, "card", lambda self, title: titles.append(title) or card(self, title))
    command = ("evaluate", checkpoint, "--data", world, "--only", only)
    code, _, error = proto(*command, "--sheet", tmp_path / "s.png", "--shown", "3")
    assert code == 0, error
    assert len(titles) == 3
    assert all(("(right: " in title) == (only == "wrong") for title in titles), titles
    assert "it chooses the questions of a sheet" in proto(*command)[2]


def test_attention_is_drawn_by_a_command(world, proto, checkpoint, tmp_path):
    image = next(iter(Index.open(world / "index").scene_ids))
    command = ("run", "--program", "exist(select(furniture))", "--agent", checkpoint, "--data", world, "--image", image)
    pictures = []
    for options in ((), ("--attention",)):
        assert proto(*command, "--png", tmp_path / "one.png", *options)[0] in (0, 1)
        with Image.open(tmp_path / "one.png") as picture:
            pictures.append(np.asarray(picture).tobytes())
    assert pictures[0] != pictures[1]
    assert "name a PNG file" in proto(*command, "--attention")[2]
