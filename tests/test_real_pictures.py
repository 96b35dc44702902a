"""Real pictures: what answered questions say of a picture, evidence that nobody told, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from program_guided.cli.experiment import Experiment
from program_guided.errors import DataError
from program_guided.experiments.pictures import NOT_COMPARABLE, PictureData, difference, learn, scores
from program_guided.experiments.recollection import Memory
from program_guided.experiments.testimony import KINDS, Said, Views, foretell, singular, statements
from program_guided.language.syntax import calls
from program_guided.learning.settings import PictureSettings
from program_guided.models.evidence import MENTIONS, EvidenceReader
from program_guided.tasks.visual.building import write_world
from program_guided.tasks.visual.detections import Detector
from program_guided.tasks.visual.domain import program_of
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.indexing import make_index

REAL = Path(__file__).parent.parent.parent / "shared" / "data" / "gqa"
SMALL = {"members": 1, "word_width": 4, "hidden": 16, "questions": 64, "unread": 0.1}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    detector = Detector(dimension=64, noise=0.1, misses=0.0)
    write_world(folder, {"train": 60, "val": 1, "test": 12}, 0, detector)
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="data", scope="module")
def data_fixture(world):
    with ObjectFeatures(world / "objects") as features:
        return PictureData.read(Index.open(world / "index"), "train_balanced", "test_balanced", features)


def said(answer, *steps):
    semantic = [{"operation": each[0], "argument": each[1], "dependencies": list(each[2:])} for each in steps]
    return list(statements(tuple(calls(program_of(semantic).body)), answer))


def revealed(data):
    """The same questions about pictures that show what is said of them, also in the test, as a vector would."""
    every = [*data.train.questions, *data.test.questions]
    of = torch.cat([data.train.programs.of, data.test.programs.of]).numpy()
    programs = [tuple(calls(each.program.body)) for each in every]
    said = Said.of(programs, [str(each.answer) for each in every], of, len(data.views.classes))
    return replace(data, views=replace(data.views, groups=(np.repeat(said.often[:, None], 3, axis=1),)))


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
def test_an_answered_question_says_what_follows_from_it_and_no_more(answer, steps, expected):
    assert said(answer, *steps) == expected


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
def test_words_are_known_by_their_singular(word, expected):
    assert singular(word) == expected


def test_evidence_of_a_picture_is_not_what_was_said_of_it(data):
    """Whatever is said of the pictures that are asked about, what is foretold of them is the same."""
    views, testimony, told = data.views, data.testimony, data.train.pictures
    found = foretell(views, testimony, told, np.random.default_rng(0))
    one = told[3]
    lies = testimony.often.copy()
    lies[one], lies[data.test.pictures] = lies[one, ::-1], 5.0
    other = foretell(views, Said(testimony.words, lies), told, np.random.default_rng(0))
    assert np.allclose(found[one], other[one])
    assert not np.allclose(found[told], other[told])
    assert np.allclose(found[:, -1], 0)


def test_evidence_tells_pictures_with_a_thing_from_those_without():
    random = np.random.default_rng(0)
    there = random.random((80, 5)) < 0.3
    seen = np.repeat((there @ random.normal(size=(5, 30)) + 0.1 * random.normal(size=(80, 30)))[:, None], 3, axis=1)
    views = Views((seen,), np.zeros((80, 0)), ())
    told = np.arange(60)
    evidence = foretell(views, Said(tuple("abcde"), there.astype(float)), told, random)
    for pictures in (told, np.arange(60, 80)):
        shown, true = evidence[pictures, :-1, 0], there[pictures]
        assert shown[true].mean() > 0.5 > 0 > shown[~true].mean()


def test_a_class_speaks_for_the_words_of_its_name():
    classes = np.array([[0.9, 0.1], [0.1, 0.9]])
    views = Views((np.zeros((2, 3, 4)),), classes, ("tabby, tabby cat", "fire engine, fire truck"))
    testimony = Said(("cat", "dog", "fire truck"), np.zeros((2, 3)))
    named = foretell(views, testimony, np.arange(2), np.random.default_rng(0))[..., 1]
    assert named[0, 0] > 0 > named[1, 0]
    assert named[1, 2] > 0 > named[0, 2]
    assert not named[:, 1].any()


def memories(data, kind, without=()):
    """Of the questions of train that have answers, by their programs, and by pictures that differ at random."""
    rows = (~data.train.boolean & ~torch.isin(data.train.programs.of, torch.tensor(without))).nonzero()[:, 0]
    drawn = torch.randn(len(data.views.classes), 8, generator=torch.Generator().manual_seed(0))
    pictures = drawn @ drawn.T / 8 if kind == "picture" else None
    traits = data.train.traits(rows, data._stems)
    return traits, Memory.of(traits, data.train.target[rows], len(data.answers), pictures)


@pytest.mark.parametrize("kind", ["picture", "blind"])
def test_what_is_recalled_for_a_question_leaves_out_all_questions_about_its_picture(data, kind):
    one = int(data.train.pictures[3])
    traits, whole = memories(data, kind)
    _, without = memories(data, kind, (one,))
    about = traits.of == one
    assert 0 < about.sum() < len(about)
    assert torch.allclose(whole.own[about], without.recall(traits)[about], atol=1e-3)


def test_a_question_is_most_like_itself(data):
    traits, _ = memories(data, "blind")
    alike = traits.alike(traits)
    assert torch.allclose(alike.diagonal(), torch.ones(len(alike)))
    assert torch.allclose(alike, alike.T)
    assert alike.min() >= 0
    assert alike.max() < 1.0001


def test_pictures_alike_matter_for_open_questions_and_not_without_pictures(data):
    from program_guided.experiments.pictures import _shuffled

    _, right, wrong = data.remembered("blind", [data.test, _shuffled(data.test)])
    assert torch.equal(right.recalled, wrong.recalled)
    _, right, wrong = data.remembered("picture", [data.test, _shuffled(data.test)])
    unlike = (right.recalled != wrong.recalled).any(dim=1).numpy()
    assert set(data.test.types()[unlike]) == {"query"}


def test_an_executor_learns_from_pictures_what_programs_do_not_say(data):
    data, settings = revealed(data), PictureSettings(steps=60, **SMALL)
    seen, blind = learn(data, settings, 0, "picture"), learn(data, settings, 0, "blind")
    assert accuracy(data, seen["picture"]) > accuracy(data, blind["blind"]) + 0.02
    assert accuracy(data, seen["picture"]) > accuracy(data, seen["shuffled"]) + 0.02


def test_learning_is_the_same_again(data):
    settings = PictureSettings(steps=3, **SMALL)
    assert learn(data, settings, 1, "picture") == learn(data, settings, 1, "picture")


def test_an_executor_without_pictures_sees_none(data):
    from program_guided.experiments.pictures import PictureTraining, _shuffled

    training = PictureTraining(data, data.nothing(), PictureSettings(steps=2, **SMALL), 0)
    training.step()
    model = training.average.eval()
    right, wrong = (scores(model, data.nothing(), asked) for asked in (data.test, _shuffled(data.test)))
    assert all(torch.equal(one, other) for one, other in zip(right, wrong, strict=True))


def test_wrong_pictures_are_other_pictures(data):
    from program_guided.experiments.pictures import _shuffled

    assert not (_shuffled(data.test).programs.of == data.test.programs.of).any()


def test_folds_part_the_pictures_of_train(data):
    parts = [data.fold(number, 3) for number in range(3)]
    held_out = np.concatenate([part.test.pictures for part in parts])
    assert sorted(held_out.tolist()) == data.train.pictures.tolist()
    for part in parts:
        assert not set(part.test.pictures.tolist()) & set(part.train.pictures.tolist())
        assert not part.testimony.often[part.test.pictures].any()


def test_the_reader_adds_evidence_before_it_has_learned():
    reader = EvidenceReader(8, 4, words=2, kinds=KINDS, trust=(0.5, 0.1), dropout=0.0)
    candidates = torch.zeros(1, 3, 2 + MENTIONS)
    candidates[0, 1, 0] = 2.0
    assert reader.point(torch.randn(1, 1, 8), candidates).flatten().tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_an_interval_is_of_pictures_and_not_of_questions():
    """Ten pictures of a hundred questions that stand or fall together leave more open than a thousand pictures."""
    one = np.repeat(np.random.default_rng(0).random(10) < 0.5, 100)[None]
    other = np.zeros_like(one)
    few = difference(one, other, np.repeat(np.arange(10), 100))
    many = difference(one, other, np.arange(1000))
    assert few["points"] == pytest.approx(100 * one.mean()) == pytest.approx(many["points"])
    assert few["low"] <= many["low"] <= few["points"] <= many["high"] <= few["high"]
    assert few["high"] - few["low"] > 5 * (many["high"] - many["low"])


def experiment(world, out, **options):
    return Experiment("pictures", world, features=world / "objects", out=out, steps=2, members=1, **options)


def test_the_command_keeps_what_is_done_and_says_what_it_cannot_be_compared_with(world, tmp_path, capsys):
    options = experiment(world, tmp_path, seeds=2, save=tmp_path / "figures.json")
    assert options.run() == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert NOT_COMPARABLE in shown
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert set(figures["accuracy"]) == {"picture", "blind", "shuffled"}
    assert figures["questions"]["test"] == sum(each["questions"] for each in figures["structural"].values())
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "test").glob("*-*.json")}
    assert len(done) == 4
    (tmp_path / "test" / "blind-1.json").unlink()
    assert options.run() == 0
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["accuracy"] == figures["accuracy"]
    assert sum(path.stat().st_mtime_ns == before for path, before in done.items()) == 3


def test_the_command_can_ask_about_parts_of_train(world, tmp_path, capsys):
    assert experiment(world, tmp_path, seeds=1, folds=2, json=True).run() == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["folds"]) == 2
    assert figures["note"] == NOT_COMPARABLE


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seeds": 0}, "--seeds"), ({"folds": 1}, "--folds"), ({"root": Path("nowhere")}, "no such folder")],
)
def test_what_cannot_be_is_one_clear_error(world, tmp_path, options, message):
    command = {"what": "pictures", "root": world, "features": world / "objects", "out": tmp_path} | options
    with pytest.raises(DataError, match=message):
        Experiment(**command).run()


@pytest.mark.skipif(not REAL.is_dir(), reason="needs real questions and pictures in ../shared/data/gqa")
def test_real_questions_are_read_and_say_what_their_pictures_show(tmp_path):
    make_index(REAL, tmp_path / "index", ("train", "dev"))
    questions = Index.open(tmp_path / "index").questions("train")
    asked = [questions.question(number) for number in range(0, len(questions), 10)]
    heard = [statements(tuple(calls(each.program.body)), str(each.answer)) for each in asked]
    words = {singular(word) for each in heard for word in each}
    assert {"man", "chair", "white"} <= words
    assert not any(set(word) & set("(-)0123456789") for word in words if " " not in word and "-" not in word)
