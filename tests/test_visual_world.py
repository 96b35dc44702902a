"""The embedded world: its vocabulary, scenes, questions, detections, pictures and files."""

import json
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from program_guided.errors import DataError
from program_guided.language import print_program
from program_guided.tasks.visual.concepts import GROUPS, VALUES
from program_guided.tasks.visual.domain import DOMAIN, ROWS, parse_visual, program_of, semantic_of
from program_guided.tasks.visual.drawing.scene import draw_scene
from program_guided.tasks.visual.embedded.building import hash_seed, scenes_of, sights_of, write_world
from program_guided.tasks.visual.embedded.detections import Simulation, simulate
from program_guided.tasks.visual.embedded.entailment import entailed_programs
from program_guided.tasks.visual.embedded.phrases import full_answer, question_text
from program_guided.tasks.visual.embedded.questions import make_questions, possible_answers
from program_guided.tasks.visual.embedded.records import question_record
from program_guided.tasks.visual.embedded.scenes import FAR, HEIGHT, WIDTH, sample_scene, spatial_relations
from program_guided.tasks.visual.embedded.templates import TEMPLATES
from program_guided.tasks.visual.embedded.vectors import PARTS, SIZE, grounds, hosts, true_vectors
from program_guided.tasks.visual.embedded.vocabulary import (
    CLASS_OF,
    CLASSES,
    NAMES,
    RELATIONS,
    RULES,
    WORLD_VALUES,
)
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.graph import Box, record_of, scene_of
from program_guided.tasks.visual.metrics import evaluate
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import answer_of, execute
from program_guided.tasks.visual.release.reading import Question, read_choices, read_questions, read_scenes
from program_guided.tasks.visual.statistics import BLIND_VIEWS, blind_prior, describe
from program_guided.tasks.visual.symbolic import answer_symbolically
from program_guided.tasks.visual.targets import dense_targets, overlap
from tests.test_visual_oracle import Reference

SCENES = 600
"""Enough to measure accuracies within three points."""
DETECTED_SCENES = 40
PERFECT = Simulation(noise=0, misses=0, doubles=0, clutter=0, jitter=0)
SIMULATED = {"objects": Simulation()}


@cache
def scenes():
    return tuple(scenes_of("train", SCENES, seed=3))


@cache
def generated():
    return tuple(make_questions(scenes(), seed=4))


def balanced():
    return [each for each in generated() if each.balanced]


def as_question(each):
    return Question(each.key, each.image_id, "", each.answer, tuple(semantic_of(each.program)))


def test_the_vocabulary_has_its_minimum_size_and_the_oracle_covers_it():
    assert len(NAMES) == len(set(NAMES)) >= 60
    assert len(WORLD_VALUES) >= 12
    assert len(set(RELATIONS)) == len(RELATIONS) >= 20
    assert all(BUILT_IN.parent_of(name) for name in NAMES)
    assert len({BUILT_IN.parent_of(name) for name in NAMES}) >= 12
    known = {value for values in (*VALUES.values(), *GROUPS) for value in values.split(",")}
    assert {value for values in WORLD_VALUES.values() for value in values} <= known


def test_every_relation_and_name_occurs():
    names = {thing.name for scene in scenes() for thing in scene.objects.values()}
    relations = {name for scene in scenes() for thing in scene.objects.values() for name, _ in thing.relations}
    assert names == set(NAMES)
    assert relations == set(RELATIONS)


def test_objects_are_inside_the_picture_and_their_positions_are_clear():
    for scene in scenes():
        assert 2 <= len(scene.objects) <= 13
        for thing in scene.objects.values():
            x1, y1, x2, y2 = thing.box.corners
            assert 0 <= x1 < x2 <= WIDTH
            assert 0 <= y1 < y2 <= HEIGHT
            assert all(abs(thing.box.centre[0] / WIDTH - line) > 0.02 for line in (0.3, 0.7))
            assert all(abs(thing.box.centre[1] / HEIGHT - line) > 0.02 for line in (0.18, 0.82))


@pytest.mark.parametrize(
    ("other", "nearer", "expected"),
    [
        (Box(20, 0, 10, 10), False, {"to the left of", "near"}),
        (Box(60, 60, 10, 10), False, {"to the left of", "above"}),
        (Box(5, -40, 10, 10), False, {"below"}),
        (Box(5, -4, 10, 10), True, {"in front of"}),
        (Box(5, 4, 10, 10), False, {"behind"}),
        (Box(5, 4, 10, 10), None, set()),
        (Box(9, 9, 10, 10), True, set()),
    ],
)
def test_spatial_relations_of_a_box_computed_by_hand(other, nearer, expected):
    assert set(spatial_relations(Box(0, 0, 10, 10), other, nearer)) == expected


def test_spatial_relations_have_their_inverses():
    inverse = {"to the left of": "to the right of", "above": "below", "in front of": "behind", "near": "near"}
    for scene in scenes()[:100]:
        edges = {(key, *edge) for key, thing in scene.objects.items() for edge in thing.relations}
        for key, name, other in edges:
            if name in inverse:
                assert (other, inverse[name], key) in edges


def test_relations_do_not_follow_from_boxes_alone():
    """Bystanders stand where a guest might be: of the things of a class that could be on a host and overlap with it,
    many are not."""
    related, others = 0, 0
    for scene in scenes():
        host_of = hosts(scene)
        for key, thing in scene.objects.items():
            for other, host in scene.objects.items():
                fits = any(CLASS_OF[host.name] in rule.hosts and CLASS_OF[thing.name] in rule.guests for rule in RULES)
                if key != other and fits and overlap(_corners(thing), _corners(host))[0, 0] > 0.05:
                    related += host_of.get(key) == other
                    others += host_of.get(key) != other
    assert 0.25 < related / (related + others) < 0.9, (related, others)


def _corners(thing):
    return np.array([thing.box.corners], np.float64)


def test_near_things_are_low_and_large():
    """Things that stand on the ground: the lower, the larger for their class."""
    lower, size = [], []
    for scene in scenes():
        attached = hosts(scene)
        for key, thing in scene.objects.items():
            if key not in attached and thing.box.corners[3] >= FAR:
                kind = CLASSES[CLASS_OF[thing.name]]
                lower.append(thing.box.corners[3])
                size.append(math.log(thing.box.area / (kind.width * kind.height)))
    assert np.corrcoef(lower, size)[0, 1] > 0.4


def test_things_overlap_and_the_nearer_one_is_in_front():
    shares = []
    for scene in scenes():
        ground = dict(zip(scene.objects, grounds(scene), strict=True))
        for key, thing in scene.objects.items():
            for relation, other in thing.relations:
                if relation == "in front of":
                    assert ground[key] >= ground[other]
                    shares.append(overlap(_corners(thing), _corners(scene.objects[other]))[0, 0])
    assert len(shares) > SCENES
    assert max(shares) > 0.2


def test_the_same_seed_gives_the_same_world_in_any_process():
    code = (
        "import json,hashlib\n"
        "from program_guided.tasks.visual.embedded.scenes import sample_scene\n"
        "from program_guided.tasks.visual.graph import record_of\n"
        "from program_guided.tasks.visual.embedded.questions import make_questions\n"
        "from program_guided.tasks.visual.embedded.records import question_record\n"
        "from program_guided.tasks.visual.embedded.detections import Simulation, simulate\n"
        "scenes=[sample_scene(seed) for seed in range(12)]\n"
        "records=[record_of(s) for s in scenes]+[question_record(a) for a in make_questions(scenes,1)]\n"
        "detected=simulate(scenes[0],Simulation(),5).features.tobytes()\n"
        "print(hashlib.sha256(json.dumps(records).encode()+detected).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert record_of(sample_scene(1)) != record_of(sample_scene(2))


def test_every_answer_is_that_of_the_slow_reference():
    by_image = {scene.image_id: Reference(record_of(scene)) for scene in scenes()}
    for each in generated()[:4000]:
        last = by_image[each.image_id].run(semantic_of(each.program))[-1]
        assert {True: "yes", False: "no"}.get(last, last) == each.answer


def test_all_families_and_templates_occur():
    assert {ROWS[call.operation].family for each in balanced() for call in each.program.body} == {
        row.family for row in ROWS.values()
    }
    counts = Counter(each.template for each in balanced())
    assert set(counts) == set(TEMPLATES)
    assert min(counts.values()) >= 0.005 * len(balanced())
    assert len(balanced()) >= 9 * SCENES


def test_every_answer_is_among_the_possible_ones():
    for each in generated():
        assert each.answer in possible_answers(each.program)


def test_no_answer_can_be_guessed_from_the_program():
    questions = [as_question(each) for each in balanced()]
    tests = [as_question(each) for each in make_questions(tuple(scenes_of("test", 200, 3)), 5) if each.balanced]
    chance = 100 * np.mean([1 / len(possible_answers(each.program)) for each in tests])
    for name, view in BLIND_VIEWS.items():
        assert blind_prior(questions, tests, view) < chance + 3, name


def test_naive_bayes_on_words_cannot_distinguish_yes_from_no():
    """Naive Bayes on the routines' words, fitted to half of the yes/no questions and tested on the other."""
    questions = [each for each in balanced() if each.answer in ("yes", "no")]
    counts = {"yes": Counter(), "no": Counter()}
    for each in questions[::2]:
        counts[each.answer].update(words_of(each.program))
    right = 0
    for each in questions[1::2]:
        odds = sum(math.log((counts["yes"][w] + 1) / (counts["no"][w] + 1)) for w in words_of(each.program))
        right += (odds > 0) == (each.answer == "yes")
    assert right / len(questions[1::2]) < 0.55


def words_of(program):
    return {(call.operation, at, word) for call in program.body for at, word in enumerate(("", *call.words))}


def test_yes_and_no_are_even_for_every_last_operation():
    votes = defaultdict(Counter)
    for each in balanced():
        if each.answer in ("yes", "no"):
            votes[each.program.body[-1].operation][each.answer] += 1
    for operation, counts in votes.items():
        assert counts.total() < 40 or 0.4 < counts["yes"] / counts.total() < 0.6, (operation, counts)


def test_the_refers_to_one_object_and_every_to_several():
    for each in balanced():
        for call in each.program.body:
            row = ROWS[call.operation]
            inputs = [each.results[number].value for number in call.inputs]
            if row.operation.inputs[:1] == ("Objects",) and row.family not in ("relate", "filter", "exist"):
                several = row.family in ("same", "different") and not row.category
                assert all(len(ids) > 1 if several else len(ids) == 1 for ids in inputs), each
                assert len(inputs) == 1 or inputs[0] != inputs[1]


@pytest.mark.parametrize(
    ("text", "answer", "entailed"),
    [
        ("select(bag); query(color)", "red", ["select(bag); verify_color([1], red)"]),
        (
            "select(man); relate([1], _, holding, object); query(name)",
            "cup",
            ["select(man); relate([1], cup, holding, object); exist([2])"],
        ),
        (
            "select(bag); choose(open, closed)",
            "open",
            ["select(bag); verify([1], closed)", "select(bag); verify([1], open)"],
        ),
        ("select(bag); filter_color(red); exist()", "yes", ["select(bag); exist([1])"]),
        ("select(bag); filter_color(red); exist()", "no", []),
        (
            "select(bag); exist(); select(cup); exist(); and([2], [4])",
            "yes",
            ["select(bag); exist([1])", "select(cup); exist([1])"],
        ),
        ("select(bag); exist(); select(cup); exist(); and([2], [4])", "no", []),
        ("select(bag); select(cup); common()", "shape", ["select(bag); select(cup); same_shape([1], [2])"]),
        (
            "select(food); select(food); choose_healthier([1], [2])",
            "apple",
            ["select(food); select(food); choose_less_healthy([1], [2])"],
        ),
    ],
)
def test_what_an_answer_entails(text, answer, entailed):
    programs = entailed_programs(parse_visual(text.replace("; ", "\n")), answer)
    assert sorted(print_program(each, DOMAIN).strip().replace("\n", "; ") for each in programs) == entailed


def test_entailed_questions_exist_and_their_answers_agree():
    every = {each.key: each for each in generated()}
    assert len(every) == len(generated())
    with_entailed = [each for each in balanced() if len(each.entailed) > 1]
    assert len(with_entailed) > 0.3 * len(balanced())
    for each in with_entailed:
        assert each.key in each.entailed
        for other in (every[key] for key in each.entailed):
            assert other.image_id == each.image_id
        if each.program.body[-1].operation == "query" and each.program.body[-1].words != ("name",):
            assert all(every[key].answer == "yes" for key in each.entailed if key != each.key)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("select(bag); filter_color(red); exist()", "Is there a red bag in the picture?"),
        ("select(apple); exist()", "Is there an apple in the picture?"),
        ("select(fries); exist()", "Is there a portion of fries in the picture?"),
        (
            "select(man); relate(shirt, wearing, object); query(color)",
            "What is the color of the shirt that the man is wearing?",
        ),
        (
            "select(shirt); relate(_, wearing, subject); query(name)",
            "What is the name of the thing that is wearing the shirt?",
        ),
        (
            "select(furniture); filter_size(not(large)); query(name)",
            "What is the name of the piece of furniture that is not large?",
        ),
        ("select(bag); filter_hposition(left); verify_color(red)", "Is the bag on the left red?"),
        ("select(bag); choose_rel(cup, above, below, subject)", "Is the cup above or below the bag?"),
        ("select(scene); query(weather)", "How is the weather?"),
        ("select(scene); choose_location(indoors, outdoors)", "Is it indoors or outdoors?"),
        ("select(bag); select(cup); choose_larger()", "Which is larger, the bag or the cup?"),
        ("select(bag); select(cup); common()", "What do the bag and the cup have in common?"),
        ("select(bag); select(cup); different_color()", "Is it so that the bag and the cup have a different color?"),
        ("select(animal); same(type)", "Is it so that the type of every animal is the same?"),
        ("select(bag); verify_rel(cup, near, object)", "Is it so that the bag is near a cup?"),
        (
            "select(bag); exist(); select(cup); verify_color(red); or([2], [4])",
            "Is it so that there is a bag in the picture or the cup is red?",
        ),
        (
            "select(bag); relate(cup, same color, either); choose_name(cup, bowl)",
            "Is the cup of the same color as the bag a bowl or a cup?",
        ),
    ],
)
def test_a_program_in_english(text, question):
    assert question_text(parse_visual(text.replace("; ", "\n"))) == question


def test_every_question_has_words_and_a_full_answer():
    for each in generated():
        text = question_text(each.program)
        assert re.fullmatch(r"[A-Z][a-z, ]+\?", text), text
        assert full_answer(each.program, each.answer).endswith(".")


def test_a_perfect_detector_finds_every_object_where_it_is():
    scene = scenes()[0]
    found = simulate(scene, PERFECT, seed=1)
    truth = np.array([thing.box.corners for thing in scene.objects.values()])
    overlaps = overlap(truth, found.boxes)
    assert found.features.shape == (len(truth), SIZE)
    assert (np.sort(overlaps.max(1)) == 1).all()
    for thing, row in zip(scene.objects.values(), overlaps.argmax(1), strict=True):
        assert NAMES[int(found.features[row, PARTS["names"]].argmax())] == thing.name


def test_perfect_sight_is_the_truth():
    sight = sights_of(("perfect",))["perfect"]
    for scene in scenes_of("train", 20, 0):
        detected = sight.see(scene, 3)
        corners = np.array([thing.box.corners for thing in scene.objects.values()])
        order = [int(np.abs(corners - box).sum(axis=1).argmin()) for box in detected.boxes]
        assert sorted(order) == list(range(len(corners)))
        np.testing.assert_allclose(detected.boxes, corners[order], atol=1e-3)
        np.testing.assert_allclose(detected.features, true_vectors(scene)[order], atol=1e-6)


def test_noise_misses_doubles_and_clutter_are_adjustable():
    scene = scenes()[0]
    count = len(scene.objects)
    assert len(simulate(scene, Simulation(misses=1, clutter=0), 1).boxes) == 0
    assert len(simulate(scene, Simulation(misses=0, doubles=1, clutter=0), 1).boxes) == 2 * count
    loud = simulate(scene, replace(PERFECT, noise=2.0), 1)
    quiet = simulate(scene, PERFECT, 1)
    np.testing.assert_allclose((loud.features - quiet.features).std(), 2, rtol=0.1)


def test_detections_of_the_default_detector_supervise_nearly_all_steps():
    known, steps = 0, 0
    for scene in scenes()[:60]:
        found = simulate(scene, Simulation(), hash_seed(0, int(scene.image_id)))
        for each in (each for each in generated() if each.image_id == scene.image_id):
            if each.program.body[0].words != ("scene",):
                targets = dense_targets(each.results, scene, found.boxes)
                known, steps = known + targets.supervised.sum(), steps + len(targets.supervised)
                assert np.allclose(targets.objects.sum(1)[targets.objects.any(1)], 1)
    assert known / steps > 0.97


@pytest.mark.parametrize(("simulation", "bound"), [(PERFECT, 1.0), (Simulation(), 0.93)], ids=["perfect", "default"])
def test_questions_can_be_answered_from_the_detections(simulation, bound):
    """Perfect sight answers every question: whatever is asked is in the boxes and vectors."""
    right, total = 0, 0
    for scene in scenes()[:DETECTED_SCENES]:
        detected = simulate(scene, simulation, hash_seed(0, int(scene.image_id)))
        for each in (each for each in balanced() if each.image_id == scene.image_id):
            right += answer_symbolically(each.program, detected, repair=True) == each.answer
            total += 1
    assert right / total >= bound, right / total


def test_a_picture_shows_its_scene_and_marks_objects():
    scene = scenes()[0]
    plain, marked = draw_scene(scene, legend=False), draw_scene(scene, marked=list(scene.objects)[:1], legend=False)
    assert plain.size == (WIDTH, HEIGHT)
    assert plain.tobytes() != marked.tobytes()
    assert draw_scene(scene).width > WIDTH
    assert draw_scene(scene_of({"width": 50, "height": 40, "objects": {}}, "0"), legend=False).size == (50, 40)


@pytest.fixture(name="world", scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, {"train": 24, "val": 6, "test": 6}, 9, SIMULATED)
    return folder


def test_the_written_world_is_read_by_the_reader_of_the_release(world):
    every = {question.key: question for question in read_questions(world / "train_all_questions")}
    kept = {question.key: question for question in read_questions(world / "train_balanced_questions.json")}
    graphs = {scene.image_id: scene for scene in read_scenes(world / "train_sceneGraphs.json")}
    choices = dict(read_choices(world / "train_choices.json"))
    assert {key for key, question in every.items() if question.is_balanced} == set(kept)
    assert len(graphs) == 24
    assert set(choices) == set(every)
    assert list(graphs.values()) == list(scenes_of("train", 24, 9))
    for question in every.values():
        assert answer_of(execute(question.program, graphs[question.image_id])) == question.answer
        assert question.answer in choices[question.key].plausible <= choices[question.key].valid
        assert set(question.entailed) <= set(every)
    with ObjectFeatures(world / "objects") as features:
        assert len(features.image_ids) == 36
        for image_id, scene in graphs.items():
            found = features.read(image_id)
            expected = simulate(scene, Simulation(), hash_seed(10, int(image_id)))
            np.testing.assert_array_equal(found.boxes, expected.boxes)
            np.testing.assert_allclose(found.features, expected.features, atol=2e-3)
            assert (found.width, found.height) == (WIDTH, HEIGHT)


def test_no_picture_is_in_two_splits_and_no_temporary_file_remains(world):
    ids = [
        scene.image_id
        for split in ("train", "val", "test")
        for scene in read_scenes(world / f"{split}_sceneGraphs.json")
    ]
    assert len(ids) == len(set(ids)) == 36
    assert not list(world.rglob("*.tmp"))


def test_right_answers_score_full_marks_on_the_written_world(world):
    questions = {question.key: question for question in read_questions(world / "test_all_questions.json")}
    choices = dict(read_choices(world / "test_choices.json"))
    scores = evaluate(questions, {key: str(question.answer) for key, question in questions.items()}, choices)
    for name in ("accuracy", "binary", "open", "consistency", "validity", "plausibility"):
        assert scores[name] == 100, name
    assert scores["distribution"] == 0
    assert set(scores["structural"]) == {"query", "verify", "choose", "logical", "compare"}
    assert set(scores["semantic"]) == {"obj", "attr", "rel", "cat", "global"}


def test_statistics_have_sizes_and_the_blind_prior(world):
    train, test = (list(read_questions(world / f"{split}_balanced_questions.json")) for split in ("train", "test"))
    figures = describe(train, test)
    assert figures["train"]["images"] == 24
    assert figures["test"]["questions"] == len(test)
    assert set(figures["blind_prior"]) == set(BLIND_VIEWS)
    json.dumps(figures)


def test_a_blind_prior_computed_by_hand():
    def question(key, answer, text):
        return Question(key, "1", "", answer, tuple(semantic_of(parse_visual(text.replace("; ", "\n")))))

    train = [
        question("1", "yes", "select(bag); exist()"),
        question("2", "yes", "select(bag); exist()"),
        question("3", "no", "select(cup); exist()"),
        question("4", "red", "select(cup); query(color)"),
    ]
    test = [
        question("5", "no", "select(cup); exist()"),
        question("6", "yes", "select(pan); exist()"),
        question("7", "red", "select(pan); query(color)"),
        question("8", "blue", "select(pan); query(color)"),
    ]
    # majority predicts yes: 6; the last operation yes, yes, red, red: 6 and 7; the whole program predicts 5 too
    assert blind_prior(train, test, BLIND_VIEWS["majority"]) == 25
    assert blind_prior(train, test, BLIND_VIEWS["last operation"]) == 50
    assert blind_prior(train, test, BLIND_VIEWS["whole program"]) == 75


def test_an_unwritable_world_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_world(tmp_path / "file", {"val": 1}, 0, SIMULATED)


def test_an_unknown_or_too_large_split_is_an_error(tmp_path):
    with pytest.raises(DataError, match="unknown split 'tset': did you mean 'test'"):
        write_world(tmp_path, {"tset": 1}, 0, SIMULATED)
    with pytest.raises(DataError, match="at most 1,000,000 scenes"):
        list(scenes_of("val", 1_000_001, 0))
    assert not list(tmp_path.iterdir())


def test_records_have_the_fields_of_the_release():
    record = question_record(balanced()[0])
    fields = "semantic semanticStr question imageId answer fullAnswer isBalanced groups entailed equivalent types"
    assert set(record) == {*fields.split(), "annotations"}
    assert program_of(record["semantic"]) == balanced()[0].program
    brackets = [step["argument"] for each in balanced()[:50] for step in question_record(each)["semantic"]]
    assert any(re.search(r" \(\d", argument) for argument in brackets)
    assert any("(-)" in argument for argument in brackets)


def test_compared_objects_are_never_named():
    compared = [each for each in balanced() if each.template == "comparativeChoose"]
    assert compared
    for each in compared:
        assert each.answer not in {word for call in each.program.body for word in call.words}
