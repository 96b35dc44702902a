"""Photographs: the words that answered questions imply, evidence for pictures without labels, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.tasks.visual.commands.experiment import Experiment
from program_guided.tasks.visual.domain import program_of
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.photographs.answer_prior import AnswerPrior
from program_guided.tasks.visual.photographs.evidence import Evidence, EvidenceReader
from program_guided.tasks.visual.photographs.study import (
    NOT_COMPARABLE,
    PictureData,
    PictureSettings,
    PictureTraining,
    _shuffled,
    difference,
    learn,
    scores,
)
from program_guided.tasks.visual.photographs.weak_labels import (
    KINDS,
    Views,
    WeakLabels,
    implied_words,
    predict,
    singular,
)

REAL = Path(__file__).parent.parent.parent / "shared" / "data" / "gqa"
SMALL = {"members": 1, "word_width": 4, "hidden": 16, "batch_size": 64, "reader_dropout": 0.1}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, {"train": 60, "val": 1, "test": 12}, 0, {"objects": Simulation(noise=0.1, misses=0.0)})
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="data", scope="module")
def data_fixture(world):
    with ObjectFeatures(world / "objects") as features:
        return PictureData.read(Index.open(world / "index"), "train_balanced", "test_balanced", features)


def implied(answer, *steps):
    semantic = [{"operation": each[0], "argument": each[1], "dependencies": list(each[2:])} for each in steps]
    return list(implied_words(tuple(calls(program_of(semantic).body)), answer))


def revealed(data):
    """The same questions about pictures whose features are their labels, also in the test."""
    every = [*data.train.questions, *data.test.questions]
    of = torch.cat([data.train.programs.of, data.test.programs.of]).numpy()
    programs = [tuple(calls(each.program.body)) for each in every]
    labels = WeakLabels.of(programs, [str(each.answer) for each in every], of, len(data.views.classes))
    return replace(data, views=replace(data.views, groups=(np.repeat(labels.weights[:, None], 3, axis=1),)))


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


def test_evidence_for_a_picture_does_not_depend_on_its_own_labels(data):
    """Change the labels of a picture: its evidence stays equal."""
    views, labels, labelled = data.views, data.weak_labels, data.train.pictures
    found = predict(views, labels, labelled, np.random.default_rng(0))
    one = labelled[3]
    wrong = labels.weights.copy()
    wrong[one], wrong[data.test.pictures] = wrong[one, ::-1], 5.0
    other = predict(views, WeakLabels(labels.words, wrong), labelled, np.random.default_rng(0))
    assert np.allclose(found[one], other[one])
    assert not np.allclose(found[labelled], other[labelled])
    assert np.allclose(found[:, -1], 0)


def test_evidence_distinguishes_pictures_with_an_object_from_those_without():
    random = np.random.default_rng(0)
    present = random.random((80, 5)) < 0.3
    features = np.repeat(
        (present @ random.normal(size=(5, 30)) + 0.1 * random.normal(size=(80, 30)))[:, None], 3, axis=1
    )
    views = Views((features,), np.zeros((80, 0)), ())
    labelled = np.arange(60)
    evidence = predict(views, WeakLabels(tuple("abcde"), present.astype(float)), labelled, random)
    for pictures in (labelled, np.arange(60, 80)):
        found, true = evidence[pictures, :-1, 0], present[pictures]
        assert found[true].mean() > 0.5 > 0 > found[~true].mean()


def test_a_class_is_evidence_for_the_words_of_its_name():
    classes = np.array([[0.9, 0.1], [0.1, 0.9]])
    views = Views((np.zeros((2, 3, 4)),), classes, ("tabby, tabby cat", "fire engine, fire truck"))
    labels = WeakLabels(("cat", "dog", "fire truck"), np.zeros((2, 3)))
    named = predict(views, labels, np.arange(2), np.random.default_rng(0))[..., 1]
    assert named[0, 0] > 0 > named[1, 0]
    assert named[1, 2] > 0 > named[0, 2]
    assert not named[:, 1].any()


def prior_of(data, kind, without=()):
    """The prior of open questions of train, by their programs and by random similarities of pictures."""
    rows = (~data.train.boolean & ~torch.isin(data.train.programs.of, torch.tensor(without))).nonzero()[:, 0]
    drawn = torch.randn(len(data.views.classes), 8, generator=torch.Generator().manual_seed(0))
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
    _, right, wrong = data.with_prior("blind", [data.test, _shuffled(data.test)])
    assert torch.equal(right.prior, wrong.prior)
    _, right, wrong = data.with_prior("picture", [data.test, _shuffled(data.test)])
    unlike = (right.prior != wrong.prior).any(dim=1).numpy()
    assert set(data.test.types()[unlike]) == {"query"}


def test_an_executor_learns_more_from_pictures_than_from_programs(data):
    data, settings = revealed(data), PictureSettings(steps=60, **SMALL)
    found, blind = learn(data, settings, 0, "picture"), learn(data, settings, 0, "blind")
    assert accuracy(data, found["picture"]) > accuracy(data, blind["blind"]) + 0.02
    assert accuracy(data, found["picture"]) > accuracy(data, found["shuffled"]) + 0.02


def test_learning_is_deterministic(data):
    settings = PictureSettings(steps=3, **SMALL)
    assert learn(data, settings, 1, "picture") == learn(data, settings, 1, "picture")


def test_an_executor_without_pictures_does_not_depend_on_them(data):
    training = PictureTraining(data, data.no_evidence(), PictureSettings(steps=2, **SMALL), 0)
    training.step()
    model = training.average.eval()
    right, wrong = (scores(model, data.no_evidence(), batch) for batch in (data.test, _shuffled(data.test)))
    assert all(torch.equal(one, other) for one, other in zip(right, wrong, strict=True))


def test_wrong_pictures_are_other_pictures(data):
    assert not (_shuffled(data.test).programs.of == data.test.programs.of).any()


def test_folds_partition_the_pictures_of_train(data):
    parts = [data.fold(number, 3) for number in range(3)]
    held_out = np.concatenate([part.test.pictures for part in parts])
    assert sorted(held_out.tolist()) == data.train.pictures.tolist()
    for part in parts:
        assert not set(part.test.pictures.tolist()) & set(part.train.pictures.tolist())
        assert not part.weak_labels.weights[part.test.pictures].any()


def test_a_routine_reads_the_evidence_for_its_own_words_in_its_own_picture():
    """Two programs about two pictures."""
    words = torch.arange(2 * 5 * KINDS).float().view(2, 5, KINDS)
    evidence = Evidence(words, torch.zeros(2, 1, 2), torch.zeros(1).long())
    reader = EvidenceReader(8, 4, words=3, kinds=KINDS, trust=(0.5, 0.1), dropout=0.0)
    routines = torch.tensor([[[1, 4, 0]], [[2, 2, 3]]])
    nothing = torch.zeros(2, 1, 0, 8), torch.zeros(2, 1, 0, dtype=torch.bool)
    view = reader.prepare(evidence.about(torch.tensor([1, 0])), *nothing, routines)
    assert torch.equal(view[0, 0], words[1, [1, 4, 0]].flatten())
    assert torch.equal(view[1, 0], words[0, [2, 2, 3]].flatten())


def test_answers_that_a_program_mentions_are_marked():
    """Mentions by the last routine, and by any; words of the operation, and no word, do not count."""
    words = torch.tensor([[[5, 5, 5, 0, 1, 0], [5, 5, 5, 2, 0, 0], [0] * 6]])
    evidence = Evidence(torch.zeros(1, 6, KINDS), torch.zeros(1, 4, 2), torch.tensor([1, 2, 5, 0]))
    found = evidence.mentioning(words, torch.tensor([1])).candidates[0, :, 2:]
    assert found.tolist() == [[0, 1], [1, 1], [0, 0], [0, 0]]


def test_the_reader_adds_evidence_before_it_has_learned():
    reader = EvidenceReader(8, 4, words=2, kinds=KINDS, trust=(0.5, 0.1), dropout=0.0)
    answers = torch.zeros(1, 3, 2)
    answers[0, 1, 0] = 2.0
    evidence = reader.encode({"words": torch.zeros(1, 1, KINDS), "answers": answers, "spelt": torch.zeros(3).long()})
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


def test_the_command_keeps_finished_seeds_and_prints_that_figures_are_not_comparable(world, tmp_path, capsys):
    options = experiment(world, tmp_path, seeds=2, save=tmp_path / "figures.json")
    assert options.run() == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert NOT_COMPARABLE in printed
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert set(figures["accuracy"]) == {"picture", "blind", "shuffled"}
    assert figures["questions"]["test"] == sum(each["questions"] for each in figures["structural"].values())
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "test").glob("*-*.json")}
    assert len(done) == 4
    (tmp_path / "test" / "blind-1.json").unlink()
    assert options.run() == 0
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["accuracy"] == figures["accuracy"]
    assert sum(path.stat().st_mtime_ns == before for path, before in done.items()) == 3


def test_the_command_can_cross_validate_on_train(world, tmp_path, capsys):
    assert experiment(world, tmp_path, seeds=1, folds=2, json=True).run() == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["folds"]) == 2
    assert figures["note"] == NOT_COMPARABLE


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
