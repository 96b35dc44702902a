"""`proto dataset build, index, stats visual` as a user runs them: real processes, their output and exit codes."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from program_guided.errors import DataError
from program_guided.tasks.visual.commands.dataset import Build
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.drawing.scene import Camera
from program_guided.tasks.visual.embedded.building import DEFAULT_SIGHTS, scenes_of
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.plan import complete_world
from program_guided.tasks.visual.task import Visual
from tests.detectors import save_detector

SMALL_WORLD = """
from program_guided.cli.main import main
from program_guided.tasks.visual.embedded import building
building.SPLITS = {"train": 3, "val": 1, "test": 2}
main()
"""


def proto(*arguments, folder=None, quick=False):
    """Run the command; `quick` with an embedded world of few scenes."""
    command = [sys.executable, *(("-c", SMALL_WORLD) if quick else ("-m", "program_guided.cli.main"))]
    command += map(str, arguments)
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=environment)


@pytest.fixture(name="world", scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "world"
    save_detector(folder.parent / "detector")
    command = ("dataset", "build", "visual", "--out", folder, "--scenes", 6, 2, 2, "--pictures", 1)
    made = proto(*command, folder=folder.parent)
    assert made.returncode == 0, made.stderr
    assert f"next: proto dataset index visual --root {folder}" in made.stdout
    return folder


def test_a_built_world_has_the_release_s_files_and_pictures(world):
    names = {path.name for path in world.iterdir()}
    for split in ("train", "val", "test"):
        assert {f"{split}_balanced_questions.json", f"{split}_sceneGraphs.json", f"{split}_choices.json"} <= names
    assert len(list((world / "train_all_questions").glob("*.json"))) == 10
    features = {path.parent.name for path in world.glob("*/gqa_objects_info.json")}
    assert features == set(Build.sights) == set(DEFAULT_SIGHTS) == {"objects", "clean"}
    assert len(list((world / "pictures").glob("*.png"))) == 1


def test_an_index_of_other_files_is_not_used(tmp_path):
    save_detector(tmp_path / "detector")

    def build(seed):
        made = proto("dataset", "build", "visual", "--scenes", 1, 1, 1, "--seed", seed, folder=tmp_path)
        assert made.returncode == 0, made.stderr

    build(1)
    assert proto("dataset", "index", "visual", "--root", "out/visual", folder=tmp_path).returncode == 0
    VisualData(tmp_path / "out" / "visual")
    build(2)
    evaluated = proto("evaluate", "oracle", "--task", "visual", "--data", "out/visual", folder=tmp_path)
    assert "there is no finished index" in evaluated.stderr
    assert proto("dataset", "index", "visual", "--root", "out/visual", folder=tmp_path).returncode == 0
    with (tmp_path / "out" / "visual" / "test_balanced_questions.json").open("a") as file:
        file.write(" ")
    evaluated = proto("evaluate", "oracle", "--task", "visual", "--data", "out/visual", folder=tmp_path)
    assert evaluated.stderr.startswith("error: out/visual/test_balanced_questions.json: has ")
    assert "build it again with proto dataset build visual" in evaluated.stderr


def boxes_of(folder):
    with ObjectFeatures(folder) as features:
        assert features.read(features.image_ids[0]).features.shape[1] == SIZE
        return [features.read(image).boxes.tolist() for image in features.image_ids]


def test_the_sights_of_a_world_are_chosen_and_noise_is_of_the_camera(tmp_path):
    save_detector(tmp_path / "detector")

    def build(name, *options):
        command = ("dataset", "build", "visual", "--scenes", 1, 1, 1, "--pictures", 0, "--out", name)
        built = proto(*command, *options, folder=tmp_path)
        assert built.returncode == 0, built.stderr
        return complete_world(tmp_path / name, verify=True).plan["features"]

    assert build("simulated", "--sights", "clean").keys() == {"clean"}
    assert not (tmp_path / "simulated" / "objects").exists()
    usual, loud = build("usual", "--sights", "objects", "true"), build("loud", "--sights", "true", "--noise", 3)
    assert usual["objects"]["camera"] == asdict(Camera()) == usual["true"]["camera"]
    assert loud["true"]["camera"] == asdict(Camera().times(3)) != usual["true"]["camera"]
    true = [[list(each.box.corners) for each in scene.objects.values()] for scene in worlds_scenes()]
    assert boxes_of(tmp_path / "usual" / "true") == boxes_of(tmp_path / "loud" / "true") == true
    assert boxes_of(tmp_path / "usual" / "objects") != true


def worlds_scenes():
    return [scene for split in ("train", "val", "test") for scene in scenes_of(split, 1, 0)]


def test_a_world_without_its_detector_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("program_guided.learning.checkpoint.SHIPPED", tmp_path)
    with pytest.raises(DataError, match="^detector: does not exist"):
        Build(scenes=(1, 1, 1)).run(Visual())
    assert not list(tmp_path.rglob("*.json"))


def test_index_writes_verifies_and_does_nothing_twice(world, tmp_path):
    command = ("dataset", "index", "visual", "--root", world, "--out", tmp_path / "index")
    assert "there is no finished index" in proto(*command, "--verify").stderr
    first = proto(*command)
    assert first.returncode == 0, first.stderr
    assert f"wrote {tmp_path / 'index'}" in first.stdout
    assert Index.open(tmp_path / "index", verify=True).sets["train_balanced"] == 120
    assert "nothing to do" in proto(*command, "--processes", 1).stdout
    assert "whole, every file has its checksum" in proto(*command, "--verify").stdout
    column = tmp_path / "index" / "questions" / "train_balanced" / "answer.npy"
    whole = column.read_bytes()
    column.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "make it with" in proto(*command, "--verify").stderr
    assert proto(*command).stdout.startswith("wrote"), "a damaged index is made again"
    assert column.read_bytes() == whole


def test_an_empty_index_is_not_made(tmp_path):
    (tmp_path / "train_balanced_questions.json").write_text("nothing")
    run = proto("dataset", "index", "visual", "--root", tmp_path, "--skip-bad")
    assert run.returncode == 1
    assert "no record could be read" in run.stderr
    assert not (tmp_path / "index" / "index.json").exists()


def test_index_lists_skipped_records(world, tmp_path):
    good = (world / "train_balanced_questions.json").read_text("utf-8")
    (tmp_path / "train_questions.json").write_text(good, "utf-8")
    (tmp_path / "val_questions.json").write_text(json.dumps({str(number): {} for number in range(12)}), "utf-8")
    command = ("dataset", "index", "visual", "--root", tmp_path)
    stopped = proto(*command)
    assert stopped.returncode == 1
    assert stopped.stderr.splitlines()[-1].startswith("error: ")
    assert "val_questions.json: question '0': 'imageId' is missing" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    printed = proto(*command, "--skip-bad").stdout
    assert "skipped 12 pieces that could not be read:" in printed
    assert "question '9': 'imageId' is missing" in printed
    assert f"and 2 more, listed in {tmp_path / 'index' / 'skipped.txt'}" in printed


def test_stats_describe_a_world_and_save_the_blind_prior(world, tmp_path):
    printed = proto("dataset", "stats", "visual", "--root", world, "--save", tmp_path / "stats.json")
    assert printed.returncode == 0, printed.stderr
    assert "answers guessed from the program alone" in printed.stdout
    figures = json.loads((tmp_path / "stats.json").read_text())
    assert figures["sets"] == {"train": "train_balanced", "test": "test_balanced"}
    assert (figures["train"]["questions"], figures["test"]["questions"]) == (120, 20)
    assert sum(figures["train"]["steps"].values()) == 120
    assert figures["train"]["operations"]["select"] == figures["train"]["families"]["select"] >= 120
    assert 0 <= figures["blind_prior"]["majority"] <= 100
    assert {"command", "commit", "machine"} <= figures.keys()
    printed = proto("dataset", "stats", "visual", "--root", world, "--test", "val_balanced", "--json")
    assert json.loads(printed.stdout)["sets"]["test"] == "val_balanced"


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["index", "visual", "--root", "nowhere"], "nowhere: there is no such folder"),
        (["index", "visual", "--root", ".", "--processes", "0"], "processes 0: at least 1 is needed"),
        (["build", "visual", "--scenes", "0", "1", "1"], "scenes 0 1 1: must be 1 or more"),
        (["build", "visual", "--noise", "-0.5"], "noise -0.5: must be from 0 to 20"),
        (["build", "visual", "--noise", "inf"], "noise inf: must be from 0 to 20"),
        (["build", "visual", "--noise", "nan"], "noise nan: must be from 0 to 20"),
        (["stats", "visual", "--root", "."], "there are no questions"),
        (["stats", "visual", "--test", "val"], "test needs root"),
    ],
)
def test_a_wrong_command_gets_one_clear_error(arguments, fragment, tmp_path):
    run = proto("dataset", *arguments, folder=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("error: ")
    assert fragment in run.stderr
    assert run.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["build", "minecraft", "--scenes", "2", "2", "2"], "--scenes"),
        (["build", "visual", "--verify"], "--verify"),
        (["build", "visual", "--data", "x"], "--data"),
        (["build", "visual", "--misses", "1"], "--misses"),
        (["build", "visual", "--sights", "x-ray"], "x-ray"),
        (["index", "visual"], "--root"),
    ],
)
def test_an_option_of_another_command_is_refused_and_a_missing_one_is_named(arguments, option, tmp_path):
    run = proto("dataset", *arguments, folder=tmp_path)
    assert run.returncode == 2
    assert option in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.iterdir())


def test_json_output_is_pure_even_if_the_world_is_built_first(tmp_path):
    save_detector(tmp_path / "detector")
    printed = proto("evaluate", "oracle", "--task", "visual", "--split", "test", "--json", folder=tmp_path, quick=True)
    assert printed.returncode == 0, printed.stderr
    assert "building the embedded world in out/visual-test" in printed.stderr
    assert json.loads(printed.stdout)["agents"]["oracle"]["splits"]["test"]["accuracy"] == 100
    assert not (tmp_path / "out" / "visual").exists()


def test_a_set_without_answers_is_one_clear_error(world, tmp_path):
    (tmp_path / "train_questions.json").write_bytes((world / "train_balanced_questions.json").read_bytes())
    (tmp_path / "test_questions.json").write_text('{"1": {"imageId": "n1", "question": "What?", "isBalanced": true}}')
    run = proto("dataset", "stats", "visual", "--root", tmp_path, "--test", "test")
    assert run.returncode == 1
    assert "test has no balanced question with a program and an answer" in run.stderr
