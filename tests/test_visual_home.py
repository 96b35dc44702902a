"""At home with the release: any set alone, also without graphs, choices and answers; errors that are said once; bad
records that are skipped; figures of photographs; predictions for the evaluation server."""

import json
import re
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

import program_guided
from program_guided.cli import main as command_line
from program_guided.errors import DataError
from program_guided.learning.trainer import train
from program_guided.tasks.visual.drawing.figure import CARD_WIDTH
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.photographs.files import picture_path, read_picture
from program_guided.tasks.visual.release import skipping
from program_guided.tasks.visual.release.reading import has_answers, read_predictions, read_questions
from program_guided.tasks.visual.release.skipping import Skipped
from tests.test_visual_data import real_folder, real_json
from tests.test_visual_learning import job, written
from tests.test_visual_release import QUESTION, write

pytestmark = pytest.mark.usefixtures("one_thread")

TEST, GRAPHS, CHOICES = "test_balanced_questions.json", "test_sceneGraphs.json", "test_choices.json"


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    return written(tmp_path_factory.mktemp("world"), (20, 2, 3))


@pytest.fixture(name="checkpoint", scope="module")
def checkpoint_fixture(world, one_thread, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    train(job(world, folder))
    return folder


@pytest.fixture(name="release")
def release_fixture(world, tmp_path):
    """The files of the world as those of a release, which has no record of them."""
    folder = tmp_path / "release"
    shutil.copytree(world, folder, ignore=shutil.ignore_patterns("world.json", "index"))
    return folder


@pytest.fixture(name="alone")
def alone_fixture(world, tmp_path):
    """One set of questions and its features: neither graphs nor choices, nor any other set."""
    folder = tmp_path / "alone"
    shutil.copytree(world / "objects", folder / "objects")
    shutil.copy(world / TEST, folder / "testdev_balanced_questions.json")
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="proto")
def proto_fixture(monkeypatch, capsys, tmp_path):
    """Run a command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


def records(path):
    return json.loads(path.read_text("utf-8"))


def change(path, edit):
    """Edit the first record of a file."""
    found = records(path)
    edit(next(iter(found.values())))
    write(path, found)


def without_first(path):
    found = records(path)
    del found[next(iter(found))]
    write(path, found)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replaced(path, by):
    path.unlink()
    by(path)


def misdirect(record):
    record["semantic"][-1]["dependencies"] = [99]


def remove_object(record):
    thing = next(each for each in record["objects"].values() if each["relations"])
    del record["objects"][thing["relations"][0]["object"]]


DAMAGE = {
    "cut off": (TEST, cut, "is cut off or damaged after record"),
    "empty": (TEST, lambda path: path.write_bytes(b""), "is cut off or damaged after its beginning"),
    "no program": (TEST, lambda path: change(path, lambda each: each.pop("semantic")), "'semantic' is missing"),
    "no answer": (TEST, lambda path: change(path, lambda each: each.pop("answer")), "'answer' is missing"),
    "a wrong dependency": (TEST, lambda path: change(path, misdirect), "it depends on step 99, which is not an"),
    "no object": (GRAPHS, lambda path: change(path, remove_object), "which is not among the objects"),
    "a bad choice": (CHOICES, lambda path: change(path, lambda each: each.pop("valid")), "'valid' is missing"),
    "a folder": (TEST, lambda path: replaced(path, Path.mkdir), "is a folder; a file of records is expected"),
    "a folder of graphs": (GRAPHS, lambda path: replaced(path, Path.mkdir), "is a folder; a file of records"),
    "a dead link": (
        TEST,
        lambda path: replaced(path, lambda it: it.symlink_to("gone")),
        "cannot be read (No such file",
    ),
    "a bad disk": (
        TEST,
        lambda path: replaced(path, lambda it: it.symlink_to("/proc/self/mem")),
        "cannot be read (Input/output error)",
    ),
}
"""(file, damage, message)"""


def said_once(code, printed, path):
    """The one error of a command: the file is named once, and nothing is repeated."""
    assert code == 1
    (line,) = [line for line in printed.splitlines() if not line.endswith(" ...")]
    assert line.startswith("error: ")
    assert line.count("error: ") == 1
    assert line.count(str(path)) == 1, line
    parts = re.split(r"[;:,] ", line)
    assert len(parts) == len(set(parts)), line
    return line


@pytest.mark.parametrize("case", DAMAGE)
def test_an_error_is_said_once_or_skipped_and_listed(case, release, proto, checkpoint):
    name, damage, message = DAMAGE[case]
    path = release / name
    damage(path)
    index = ("dataset", "index", "visual", "--root", release)
    for processes in (1, 2) if case in ("no program", "cut off") else (1,):
        code, _, printed = proto(*index, "--processes", processes)
        assert message in said_once(code, printed, path)
    stats = ("dataset", "stats", "visual", "--root", release, "--test", "test_balanced")
    if name == TEST:
        code, _, printed = proto(*stats)
        assert message in said_once(code, printed, path)
        remains = case in ("cut off", "no program", "no answer", "a wrong dependency")
        code, printed, error = proto(*stats, "--skip-bad")
        assert code == (0 if remains else 1), error
        assert not remains or ("skipped 1 piece that could not be read:\n" in printed and message in printed)
        assert remains or error == f"error: test_balanced has no balanced question with {PROGRAM_AND_ANSWER}\n"
    code, printed, error = proto(*index, "--processes", 1, "--skip-bad")
    assert (code, printed.count(message)) == (0, 1), error
    assert (release / "index" / "skipped.txt").read_text("utf-8").count("\n") == 1


PROGRAM_AND_ANSWER = "a program and an answer; name another test set"


def test_a_missing_chunk_is_named_once_and_only_where_it_is_read(release, proto):
    (release / "train_all_questions" / "train_all_questions_4.json").unlink()
    index = ("dataset", "index", "visual", "--root", release, "--processes", 1)
    code, _, printed = proto(*index)
    assert "chunk 4 of 10" in said_once(code, printed, release / "train_all_questions")
    assert proto("dataset", "stats", "visual", "--root", release)[0] == 0, "train_balanced is described"
    (release / "train_balanced_questions.json").unlink()
    code, _, printed = proto("dataset", "stats", "visual", "--root", release)
    assert "chunk 4 of 10" in said_once(code, printed, release / "train_all_questions")
    code, printed, _ = proto("dataset", "stats", "visual", "--root", release, "--skip-bad", "--json")
    assert code == 0
    figures = json.loads(printed)
    assert figures["skipped"]["count"] == 1
    assert "chunk 4 of 10" in figures["skipped"]["first"][0]


def test_what_was_skipped_is_counted_and_the_first_are_named(monkeypatch):
    monkeypatch.setattr(skipping, "MAX_LINES", 2)
    skipped = Skipped()
    assert skipped.lines() == []
    for number in range(1002):
        skipped.add(DataError(f"error {number}"))
    title = "skipped 1,002 pieces that could not be read:"
    assert skipped.lines() == [title, "  error 0", "  error 1", "  and 1,000 more"]
    assert skipped.lines("skipped.txt")[-1] == "  and 1,000 more, listed in skipped.txt"
    assert skipped.as_dict() == {"count": 1002, "first": ["error 0", "error 1"]}


def no_features(release):
    info = records(release / "objects" / "gqa_objects_info.json")
    image = records(release / TEST).popitem()[1]["imageId"]
    write(release / "objects" / "gqa_objects_info.json", {key: each for key, each in info.items() if key != image})


def damaged_features(release):
    image = records(release / TEST).popitem()[1]["imageId"]
    row = records(release / "objects" / "gqa_objects_info.json")[image]["idx"]
    with h5py.File(release / "objects" / "gqa_objects_0.h5", "r+") as file:
        file["features"][row] = np.nan


LACKING = {
    "features": (no_features, "model", "gqa_objects_info.json: there are no features of image"),
    "sound features": (damaged_features, "model", "has values that are not finite"),
    "a scene graph": (lambda release: without_first(release / GRAPHS), "oracle", "index: there is no scene graph of"),
    "choices": (lambda release: without_first(release / CHOICES), "model", "index: there are no choices for question"),
}
"""Damage, the agent that notices it, and the message."""


@pytest.mark.parametrize("case", LACKING)
def test_what_some_questions_lack_is_an_error_or_skipped_for_all_agents(case, release, proto, checkpoint):
    damage, agent, message = LACKING[case]
    damage(release)
    make_index(release, release / "index")
    agents = {"model": [checkpoint], "oracle": ["oracle", "--task", "visual"]}
    code, _, printed = proto("evaluate", *agents[agent], "--data", release)
    assert code == 1
    assert message in printed
    assert printed.count("error: ") == printed.count("\n") == 1
    both = ("evaluate", checkpoint, "oracle", "--data", release, "--skip-bad")
    code, printed, error = proto(*both)
    assert (code, printed.count(message)) == (0, 1), error
    assert "skipped 1 piece that could not be read:\n" in printed
    figures = json.loads(proto(*both, "--json")[1])
    total = Index.open(release / "index").sets["test_balanced"]
    kept = total if case == "choices" else total - 10
    assert {each["splits"]["test"]["questions"] for each in figures["agents"].values()} == {kept}
    assert figures["agents"]["oracle"]["splits"]["test"]["accuracy"] == 100
    assert figures["agents"]["oracle"]["splits"]["test"]["validity"] == 100
    assert figures["skipped"]["count"] == 1


def test_nothing_is_reported_as_skipped_where_nothing_is_bad(release, proto, checkpoint):
    make_index(release, release / "index")
    code, printed, _ = proto("evaluate", checkpoint, "--data", release, "--skip-bad", "--json")
    assert (code, json.loads(printed)["skipped"]) == (0, {"count": 0, "first": []})
    assert "skipped" not in proto("evaluate", checkpoint, "--data", release)[1]


def test_features_of_another_length_are_one_clear_error(alone, checkpoint, proto):
    with h5py.File(alone / "objects" / "gqa_objects_0.h5", "r+") as file:
        shorter = file["features"][..., :96]
        del file["features"]
        file["features"] = shorter
    for command in (
        ("evaluate", checkpoint, "--data", alone, "--split", "testdev"),
        ("run", "bag_wine", "--agent", checkpoint, "--features", alone / "objects", "--image", "3000000"),
    ):
        code, _, printed = proto(*command)
        assert code == 1
        assert "its vectors have 96 numbers, but" in printed
        assert f"was trained on vectors of {SIZE}" in printed
        assert printed.count("\n") == 1


def test_a_set_alone_is_evaluated_without_graphs_and_choices(alone, proto, checkpoint):
    sheet, options = alone / "sheet.png", ("--data", alone, "--split", "testdev")
    code, printed, error = proto("evaluate", checkpoint, *options, "--sheet", sheet, "--shown", "3", "--breakdown")
    assert code == 0, error
    assert f"wrote {sheet}" in printed
    with Image.open(sheet) as picture:
        assert picture.width == 2 * CARD_WIDTH
    figures = json.loads(proto("evaluate", checkpoint, *options, "--json")[1])["agents"][str(checkpoint)]
    scores = figures["splits"]["testdev"]
    assert scores["accuracy"] is not None
    assert [scores[name] for name in ("validity", "plausibility", "elsewhere")] == [None] * 3
    code, _, printed = proto("evaluate", "oracle", "--task", "visual", *options)
    assert code == 1
    assert "there are no scene graphs of testdev_balanced, which the oracle needs; leave it out" in printed
    code, printed, error = proto("dataset", "stats", "visual", "--root", alone)
    assert code == 0, error
    assert "test (testdev_balanced)" in printed
    assert "answers guessed" not in printed


def test_train_alone_is_described(release, proto):
    for path in (*release.glob("val*"), *release.glob("test*")):
        path.unlink()
    figures = json.loads(proto("dataset", "stats", "visual", "--root", release, "--json")[1])
    assert figures["sets"] == {"train": "train_balanced"}
    assert "blind_prior" not in figures
    code, _, printed = proto("dataset", "stats", "visual", "--root", release, "--test", "val")
    assert (code, "there is no set val; name one of" in printed) == (1, True)


def test_photographs_are_drawn_where_they_are_given(alone, proto, checkpoint):
    image = next(iter(read_questions(alone / "testdev_balanced_questions.json"))).image_id
    images = alone / "images"
    command = ("evaluate", checkpoint, "--data", alone, "--split", "testdev", "--sheet", alone / "s.png")
    assert "images: there is no such folder of pictures" in proto(*command, "--images", images)[2]
    images.mkdir()
    code, _, printed = proto(*command, "--images", images)
    assert (code, printed.count("\n")) == (1, 1)
    assert f"images: there is no picture '{image}' (.jpg, " in printed
    code, printed, _ = proto(*command, "--images", images, "--skip-bad", "--shown", "1")
    assert (code, f"there is no picture '{image}'" in printed) == (0, True)
    (images / f"{image}.png").write_bytes(b"no picture")
    code, _, printed = proto(*command, "--images", images)
    assert "is not a readable picture (its format" in said_once(code, printed, images / f"{image}.png")
    Image.new("RGB", (40, 30), "#0000ff").save(images / f"{image}.png")
    assert proto(*command, "--images", images, "--shown", "1")[0] == 0
    with Image.open(alone / "s.png") as sheet:
        assert (0, 0, 255) in {color for _, color in sheet.convert("RGB").getcolors(1 << 20)}


def test_a_program_is_executed_on_a_picture_of_one_s_own(alone, release, proto, checkpoint):
    make_index(release, release / "index")
    image = next(iter(read_questions(release / TEST))).image_id
    program = ("run", "--program", "things = select(furniture)\nexist(things)", "--agent", checkpoint)
    png = alone / "one.png"
    code, printed, error = proto(*program, "--features", alone / "objects", "--image", image, "--png", png)
    assert code == 0, error
    assert f"(image {image})" in printed
    assert "oracle" not in printed
    assert png.stat().st_size > 1000
    found = json.loads(proto(*program, "--data", alone, "--image", image, "--json")[1])
    assert (found["image"], found["right"]) == (image, None)
    assert {each["truth"] for each in found["routines"]} == {None}
    assert "oracle" in proto(*program, "--data", release, "--image", image)[1], "there is a scene graph"
    for options, message in (
        (("--image", image), "there is no such file; if it is a picture of your data, give the data or"),
        (("--data", alone), "name one of these as the image"),
        (("--data", alone, "--image", "gone"), "there are no features of image 'gone'"),
        (("--data", alone, "--image", image, "--images", "gone"), "there is no picture"),
    ):
        code, _, printed = proto(*program, *options)
        assert (code, printed.count("\n")) == (1, 1)
        assert message in printed


def test_a_picture_is_turned_as_its_camera_was(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (40, 30)).save(tmp_path / "n1.jpg", exif=turned)
    assert read_picture(picture_path(tmp_path, "n1")).size == (30, 40)


def test_a_reasoner_reasons_without_a_scene_graph(checkpoint, world):
    reasoner = program_guided.load(checkpoint)
    with ObjectFeatures(world / "objects") as features:
        detected = features.read(features.image_ids[0])
    index = Index.open(world / "index")
    scene = index.scene(index.scene_ids[0])
    one, other = (reasoner.reason("exist(select(furniture))", each, detected) for each in (None, scene))
    assert (one.answer, one.findings[0].boxes) == (other.answer, other.findings[0].boxes)
    assert (one.right, one.findings[0].truth, one.scene) == (None, None, None)
    objects = len(one.findings[0].boxes)
    assert one.findings[0].result == ("none" if not objects else f"{objects} object{'s' * (objects > 1)}")
    assert one.picture().width > 100
    assert one._repr_png_().startswith(b"\x89PNG")


def as_the_release_reads(path, questions):
    """The answers by question, read as the release's `eval.py` does: a list of objects of two texts, complete."""
    listed = records(path)
    assert all(each.keys() == {"questionId", "prediction"} for each in listed)
    assert {type(value) for each in listed for value in each.values()} == {str}
    predictions = {each["questionId"]: each["prediction"] for each in listed}
    assert len(predictions) == len(listed)
    assert [each["questionId"] for each in listed] == list(questions)
    return predictions


def test_predictions_are_those_that_are_measured(release, proto, checkpoint, tmp_path):
    make_index(release, release / "index")
    path = tmp_path / "new" / "predictions.json"
    command = ("evaluate", checkpoint, "--data", release, "--predictions", path)
    code, printed, error = proto(*command)
    assert code == 0, error
    questions = records(release / TEST)
    assert f"wrote {path}: {len(questions)} predictions\n" in printed
    predictions = as_the_release_reads(path, questions)
    assert predictions == read_predictions(path)
    (scores,) = json.loads(proto(*command, "--json")[1])["agents"].values()
    right = [predictions[key] == each["answer"] for key, each in questions.items() if each["isBalanced"]]
    assert scores["splits"]["test"]["accuracy"] == pytest.approx(100 * np.mean(right))
    path.write_text("of before")
    assert proto(*command, "--split", "val_all")[0] == 0
    as_the_release_reads(path, records(release / "val_all_questions.json"))
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_predictions_of_a_set_without_answers(alone, proto, checkpoint, tmp_path):
    questions = records(alone / "testdev_balanced_questions.json")
    keep = ("imageId", "question", "semantic", "isBalanced")
    write(alone / "mine_questions.json", {key: {name: each[name] for name in keep} for key, each in questions.items()})
    make_index(alone, alone / "index")
    path, options = tmp_path / "predictions.json", ("--data", alone, "--split", "mine")
    code, _, printed = proto("evaluate", checkpoint, *options)
    assert (code, printed.count("\n")) == (1, 1)
    assert "mine has no answers to measure with; write predictions" in printed
    code, printed, error = proto("evaluate", checkpoint, *options, "--predictions", path, "--save", tmp_path / "s.json")
    assert code == 0, error
    assert "mine has no answers, or no balanced questions: its accuracy is not reported" in printed
    mine = as_the_release_reads(path, questions)
    assert proto("evaluate", checkpoint, "--data", alone, "--split", "testdev", "--predictions", path)[0] == 0
    assert mine == as_the_release_reads(path, questions), "answers are not looked at"
    code, printed, error = proto("evaluate", tmp_path / "s.json", "--task", "visual", *options, "--json")
    assert code == 0, error
    assert json.loads(printed)["means"][0]["accuracy"] is None


def test_a_set_of_all_questions_has_the_scores_of_its_balanced_ones(release, proto, checkpoint):
    make_index(release, release / "index")
    (agent,) = json.loads(proto("evaluate", checkpoint, "--data", release, "--split", "val", "val_all", "--json")[1])[
        "agents"
    ].values()
    one, other = (
        {name: each[name] for name in each if "elsewhere" not in name and name != "routines"}
        for each in agent["splits"].values()
    )
    assert one == other
    assert one["consistency"] is not None


def test_predictions_of_a_set_without_balanced_questions(alone, proto, checkpoint):
    path = alone / "testdev_balanced_questions.json"
    questions = {key: each | {"isBalanced": False} for key, each in records(path).items()}
    write(path, questions)
    make_index(alone, alone / "index")
    command = ("evaluate", checkpoint, "--data", alone, "--split", "testdev")
    assert "testdev_balanced has no balanced questions to measure with; write predictions" in proto(*command)[2]
    code, _, error = proto(*command, "--predictions", alone / "p.json", "--breakdown")
    assert code == 0, error
    as_the_release_reads(alone / "p.json", questions)


def test_questions_without_programs_need_a_parser(alone, proto, checkpoint):
    keep = ("imageId", "question", "isBalanced")
    questions = records(alone / "testdev_balanced_questions.json")
    write(alone / "test_questions.json", {key: {name: each[name] for name in keep} for key, each in questions.items()})
    make_index(alone, alone / "index")
    command = ("evaluate", checkpoint, "--data", alone, "--predictions", alone / "p.json", "--split", "test")
    for skip in ((), ("--skip-bad",)):
        code, _, printed = proto(*command, *skip)
        assert (code, printed.count("\n")) == (1, 1)
        assert "the questions of test have no programs; programs are needed to answer questions" in printed
        assert "let a parser predict them" in printed
        assert not (alone / "p.json").exists()


def test_questions_that_are_skipped_have_empty_predictions(alone, proto, checkpoint):
    questions = records(alone / "testdev_balanced_questions.json")
    first, second, *_ = questions
    for each in questions.values():
        del each["answer"]
    del questions[first]["semantic"]
    write(alone / "testdev_balanced_questions.json", questions)
    make_index(alone, alone / "index")
    path = alone / "p.json"
    command = ("evaluate", checkpoint, "--data", alone, "--split", "testdev", "--predictions", path)
    assert f"question '{first}' of testdev_balanced has no program; correct it, or skip" in proto(*command)[2]
    code, printed, _ = proto(*command, "--skip-bad")
    assert (code, f"question '{first}' of testdev_balanced has no program" in printed) == (0, True)
    assert f"{len(questions)} predictions, empty for 1 skipped question\n" in printed
    predictions = as_the_release_reads(path, questions)
    assert predictions[first] == ""
    assert predictions[second] != ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("oracle", "visual", "--predictions", "p.json"), "not of oracle, visual on test; name one of each"),
        (
            ("visual", "--predictions", "p.json", "--split", "val", "test"),
            "not of visual on val, test; name one of each",
        ),
        (("visual", "--predictions", "."), "it is a folder"),
    ],
)
def test_wrong_options_of_predictions_are_errors(arguments, message, proto, tmp_path):
    code, _, printed = proto("evaluate", *arguments)
    assert (code, printed.count("\n")) == (1, 1)
    assert message in printed
    assert not list(tmp_path.iterdir())


def test_a_set_has_answers_if_one_of_its_first_questions_has(tmp_path):
    bare = {key: value for key, value in QUESTION.items() if key != "answer"}
    path = write(tmp_path / "q.json", {"1": bare, "2": QUESTION})
    assert has_answers(path)
    with pytest.raises(DataError, match=r"q.json: question '1': 'answer' is missing; correct it, or skip bad records"):
        list(read_questions(path))
    assert not has_answers(write(path, {"1": bare, "2": bare}))
    assert [each.answer for each in read_questions(path)] == [None, None]
    cut(path)
    assert not has_answers(path)
    errors = []
    assert [each.key for each in read_questions(path, errors.append)] == ["1"]
    assert "is cut off" in str(errors)


def pictures_and_questions(folder):
    """Questions of train about the pictures a, b, c and of dev about d, e, f; b and e are damaged."""
    (folder / "images").mkdir(parents=True)
    for number, name in enumerate("abcdef"):
        noise = np.random.default_rng(number).integers(0, 256, (30, 40, 3), np.uint8)
        Image.fromarray(noise).save(folder / "images" / f"{name}.png")
    for name in "be":
        (folder / "images" / f"{name}.png").write_bytes(b"no picture")
    for name, about in (("train", "abc"), ("dev", "def")):
        answers = {f"{name}{number}": ("yes", "no")[number % 2] for number in range(6)}
        questions = {
            key: QUESTION | {"imageId": about[number % 3], "answer": answer}
            for number, (key, answer) in enumerate(answers.items())
        }
        write(folder / f"{name}_questions.json", questions | {"bad": {}})


def test_the_experiment_with_pictures_skips_what_is_bad(proto, tmp_path):
    folder = tmp_path / "root"
    pictures_and_questions(folder)
    options = ("--out", "out", "--steps", "1", "--members", "1", "--seeds", "1")
    command = ("experiment", "pictures", "--root", folder, *options)
    code, _, printed = proto(*command)
    assert (code, printed.count("b.png: is not a readable picture")) == (1, 1)
    code, printed, error = proto(*command, "--skip-bad", "--json")
    assert code == 0, error
    figures = json.loads(printed)
    assert figures["questions"] == {"train": 4, "test": 4}
    assert figures["skipped"]["count"] == 2 + 2 + 4, "pictures, records, and questions about these pictures"
    assert any("question 'train1': there is no picture 'b'" in line for line in figures["skipped"]["first"])
    code, printed, _ = proto(*command, "--skip-bad")
    assert (code, "skipped 8 pieces that could not be read:" in printed) == (0, True)
    for name in "be":
        (folder / "images" / f"{name}.png").unlink()
    code, _, printed = proto(*command)
    message = "there is no picture 'b', or it has no features; correct it, or skip bad records"
    assert message in said_once(code, printed, folder / "train_questions.json")


def test_real_questions_are_answered_about_real_pictures_without_graphs(tmp_path, checkpoint, proto):
    """The questions and photographs are real, the vectors of the detected objects are made up."""
    images, questions = real_folder() / "images", real_json("dev_questions.json")
    write(tmp_path / "testdev_balanced_questions.json", questions)
    make_features(tmp_path / "objects", dict.fromkeys(each["imageId"] for each in questions.values()), images)
    make_index(tmp_path, tmp_path / "index")
    path, sheet = tmp_path / "p.json", tmp_path / "sheet.png"
    options = ("--data", tmp_path, "--split", "testdev", "--images", images, "--sheet", sheet, "--predictions", path)
    code, _, error = proto("evaluate", checkpoint, *options)
    assert code == 0, error
    as_the_release_reads(path, questions)
    assert sheet.stat().st_size > 100_000, "photographs"


def make_features(folder, images, photographs):
    folder.mkdir()
    random, info = np.random.default_rng(0), {}
    with h5py.File(folder / "gqa_objects_0.h5", "w") as file:
        file["features"] = random.normal(size=(len(images), 9, SIZE)).astype("f4")
        boxes = np.sort(random.random((len(images), 9, 2, 2)), axis=2).reshape(-1, 9, 4)
        sizes = [read_picture(picture_path(photographs, image)).size for image in images]
        file["bboxes"] = (boxes * np.array([[*size, *size] for size in sizes])[:, None]).astype("f4")
    for row, (image, (width, height)) in enumerate(zip(images, sizes, strict=True)):
        info[image] = {"file": 0, "idx": row, "objectsNum": 9, "width": width, "height": height}
    write(folder / "gqa_objects_info.json", info)
