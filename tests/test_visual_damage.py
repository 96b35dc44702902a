"""Data of the visual task that is incomplete, mixed, damaged or hostile: one clear error, never another result."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest

from program_guided.errors import DataError
from program_guided.files import held, read_json
from program_guided.tasks.visual.commands import evaluate
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.embedded import building, folders
from program_guided.tasks.visual.embedded.building import VERSION, write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.h5 import open_h5, read_text, write_h5, write_text
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.plan import WORLD_FILE, complete_world
from program_guided.tasks.visual.release.reading import read_questions, read_scenes
from program_guided.tasks.visual.task import Visual
from tests.detectors import save_detector
from tests.test_visual_release import QUESTION, SCENE, features_folder, write
from tools.soak.damage import KINDS, soak

SIZES = {"train": 1, "val": 1, "test": 1}
SIGHTS = {"objects": Simulation()}
UNFINISHED = r"its world \(seed 2, scenes 1 1 1\) is being built, or that was interrupted; wait, or build it again"


@pytest.fixture(name="whole", scope="module")
def built(tmp_path_factory):
    """An indexed world, not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "world"
    write_world(folder, SIZES, 1, SIGHTS, pictures=1)
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="world")
def copied(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "world"))


def stop_at(description):
    def progress(what, done, total):
        if what == description:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("moment", ["train questions", "objects"])
def test_an_interrupted_rebuild_is_read_by_nobody(world, whole, moment, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_world(world, SIZES, 2, SIGHTS, stop_at(moment))
    for reading in (
        lambda: make_index(world, tmp_path / "index"),
        lambda: Index.open(whole / "index").check_sources(world),
        lambda: ObjectFeatures(world / "objects"),
        lambda: complete_world(world),
    ):
        with pytest.raises(DataError, match=UNFINISHED):
            reading()
    with pytest.raises(DataError, match="there is no finished index"):
        VisualData(world)
    write_world(world, SIZES, 1, SIGHTS)
    assert make_index(world, world / "index")
    one, other = (list(VisualData(folder).index.questions("train_all")) for folder in (world, whole))
    assert one == other


def test_a_killed_build_of_the_default_world_is_made_again_but_none_of_another_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "SPLITS", SIZES)
    save_detector(tmp_path / "detector")
    with pytest.raises(KeyboardInterrupt):
        folders.ready_world(show=stop_at("objects"))
    assert folders.ready_world(show=lambda what, done, total: None) == folders.WORLD
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "building the embedded world in out/visual again, which was interrupted: about 1 MB of disk" in printed.err
    assert "indexing out/visual in out/visual/index: about 1 MB of disk and 1 second ..." in printed.err
    (folders.WORLD / "index" / "index.json").write_text("{}")
    folders.ready_world(show=lambda what, done, total: None)
    with pytest.raises(KeyboardInterrupt):
        write_world(folders.WORLD, SIZES, 2, progress=stop_at("objects"))
    with pytest.raises(DataError, match=UNFINISHED):
        folders.ready_world()


def test_what_a_rebuild_leaves_is_its_own(world):
    stale = world / "objects" / ".gqa_objects_0.h5.1.tmp"
    stale.write_bytes(b"left by a killed process")
    write_world(world, {"val": 1}, 1, SIGHTS)
    found = {path.relative_to(world).as_posix() for path in world.rglob("*") if path.is_file()}
    own = {name for name in found if not name.startswith("index/")}
    assert own == {*complete_world(world).files, WORLD_FILE}
    assert len(own) == 7
    with pytest.raises(DataError, match="there is no finished index"):
        Index.open(world / "index")


def test_pictures_have_the_noise_that_the_detector_sees(tmp_path):
    for noise in (1.0, 5.0):
        write_world(tmp_path / str(noise), SIZES, 0, SIGHTS, pictures=1, noise=noise)
    one, other = (next(tmp_path.glob(f"{noise}/pictures/*.png")).read_bytes() for noise in (1.0, 5.0))
    assert one != other


def test_features_of_another_world_that_was_interrupted_are_removed(tmp_path):
    both = {"objects": Simulation(), "clean": Simulation(noise=0.0)}
    with pytest.raises(KeyboardInterrupt):
        write_world(tmp_path, SIZES, 5, both, stop_at("clean"))
    (tmp_path / "clean" / "gqa_objects_0.h5").write_bytes(b"of seed 5")
    (tmp_path / "clean" / "mine.txt").write_bytes(b"")
    write_world(tmp_path, SIZES, 0, SIGHTS)
    assert [path.name for path in (tmp_path / "clean").iterdir()] == ["mine.txt"]


def test_a_folder_of_features_that_the_world_does_not_name_is_refused(world):
    shutil.copytree(world / "objects", world / "clean")
    make_index(world, world / "index")
    with pytest.raises(DataError, match="clean: is no part of the world in"):
        ObjectFeatures(world / "clean")
    assert Visual(data=world)._clean is None


def test_index_and_features_must_be_of_one_world(world, whole, tmp_path):
    write_world(tmp_path / "other", SIZES, 3, SIGHTS)
    with pytest.raises(
        DataError, match=f"is of the world with seed 3 .version {VERSION}., but the questions are of seed 1"
    ):
        VisualData(world, tmp_path / "other" / "objects")
    with pytest.raises(DataError, match="was made of another world than the one in"):
        Index.open(whole / "index").check_sources(tmp_path / "other")
    write_world(tmp_path / "noisy", SIZES, 1, {"objects": Simulation(noise=2.0)})
    VisualData(world, tmp_path / "noisy" / "objects")
    (tmp_path / "other" / WORLD_FILE).unlink()
    VisualData(world, tmp_path / "other" / "objects")  # of a release nothing is known


def read_all(world):
    with ObjectFeatures(world / "objects") as features:
        return [features.read(image) for image in features.image_ids]


def test_a_changed_byte_of_any_file_is_noticed(world):
    complete_world(world, verify=True)
    for name in complete_world(world).files:
        path = world / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(DataError, match=f"{path.name}: is damaged, its checksum is not the recorded one"):
            complete_world(world, verify=True)
        reading = {".json": lambda: make_index(world, world / "another"), ".h5": lambda: read_all(world)}.get(
            path.suffix
        )
        if path.name == "gqa_objects_info.json":
            reading = partial(ObjectFeatures, world / "objects")
        if reading is not None:
            with pytest.raises(DataError, match=f"{path.name}: "):
                reading()
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    record = world / WORLD_FILE
    record.write_text(record.read_text().replace('"seed": 1', '"seed": 5'))
    with pytest.raises(DataError, match=r"world.json: is damaged, or of another version \(its checksum is wrong\)"):
        VisualData(world)


def test_sources_that_change_while_they_are_indexed_are_an_error(tmp_path):
    path = write(tmp_path / "train_questions.json", {"1": QUESTION})
    with pytest.raises(DataError, match=r"train_questions.json: has changed while it was indexed"):
        make_index(tmp_path, tmp_path / "index", progress=lambda moment: os.utime(path, (0, 0)))
    assert not (tmp_path / "index" / "index.json").exists()


def test_one_process_at_a_time_builds_or_indexes_but_all_may_read(world):
    with held(world), held(world / "index"):
        VisualData(world).index.questions("train_all").batch([0])
        assert not make_index(world, world / "index"), "nothing to do"
        with pytest.raises(DataError, match="is writing to it; wait until it has ended"):
            write_world(world, SIZES, 1, SIGHTS)
        with pytest.raises(DataError, match="index: process .* is writing to it"):
            make_index(world, world / "index", only=["train_all"])
    VisualData(world)


FULL = """
import sys
from pathlib import Path
import numpy as np
from program_guided.errors import DataError
from program_guided.tasks.visual.h5 import CHECKED, write_h5

def fill(check_often):
    try:
        with write_h5(Path(sys.argv[1]) / "my.h5") as (file, check):
            data = file.create_dataset("features", (400, 100, 100), "f4", chunks=(1, 100, 100), **CHECKED)
            for row in range(400):
                data[row] = np.random.default_rng(row).random((100, 100))
                if check_often:
                    check()
    except DataError as error:
        print(error)

fill(True)
fill(False)
"""


def fill(folder, **options):
    run = subprocess.run([sys.executable, "-c", FULL, folder], capture_output=True, text=True, timeout=100, **options)
    assert (run.returncode, run.stderr) == (0, ""), "no crash, also not when Python ends"
    assert [path.name for path in folder.iterdir()] == []
    return run.stdout.splitlines()


def test_a_full_disk_is_an_error_and_no_crash(tmp_path):
    """A limit of a file's size stands for a full disk: it fails in the same place."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    assert fill(tmp_path, preexec_fn=limit) == [f"{tmp_path / 'my.h5'}: cannot be written (File too large)"] * 2


def test_a_disk_of_one_megabyte_is_an_error_and_no_crash(tmp_path):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here: that needs root")
    try:
        line = f"{tmp_path / 'my.h5'}: cannot be written (No space left on device)"
        assert fill(tmp_path) == [line] * 2
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def put(name, **options):
    def change(file):
        del file[name]
        if options:
            file.create_dataset(name, **options)

    return change


def link(kind):
    def change(file):
        del file["features"]
        file["features"] = kind

    return change


def virtual(file):
    del file["features"]
    layout = h5py.VirtualLayout((3, 100, 8), "f4")
    layout[:] = h5py.VirtualSource("/etc/hostname", "features", (3, 100, 8), "f4")
    file.create_virtual_dataset("features", layout)


HUGE = {"shape": (3, 1 << 15, 1 << 15), "dtype": "f4", "chunks": (1, 1, 1 << 10)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("features"), "has no 'features'"),
        (put("bboxes"), "has no 'bboxes'"),
        (put("features", data=np.zeros((3, 100, 8), "S3")), "is of |S3 with 3 dimensions; expected numbers with 3"),
        (put("features", data=np.zeros((3, 100, 8), bool)), "is of bool with 3 dimensions; expected numbers with 3"),
        (put("features", data=np.zeros((3, 100))), "is of float64 with 2 dimensions; expected numbers with 3"),
        (put("features", data=3.0), "is of float64 with 0 dimensions; expected numbers with 3"),
        (put("features", data=np.zeros((0, 100, 8))), "there are only 0 rows"),
        (put("features", data=np.zeros((3, 0, 8))), "has the shape (100, 4); expected (0, 4)"),
        (put("features", data=np.full((3, 100, 8), np.nan)), "has values that are not finite"),
        (put("features", data=np.full((3, 100, 8), 1e300)), "has values that are not finite"),
        (put("bboxes", data=np.full((3, 100, 4), np.inf)), "has values that are not finite"),
        (put("bboxes", data=np.zeros((3, 100, 5))), "has the shape (100, 5); expected (100, 4)"),
        (put("features", **HUGE), "has rows or pieces above 256 MB"),
        (link(h5py.SoftLink("/bboxes")), "is a link or a group; a dataset of the file itself is expected"),
        (link(h5py.ExternalLink("/etc/hostname", "/x")), "is a link or a group"),
        (lambda file: (file.pop("features"), file.create_group("features")), "is a link or a group"),
        (virtual, "is a link or a group"),
    ],
)
def test_an_odd_dataset_is_named(tmp_path, change, message):
    features_folder(tmp_path)
    with h5py.File(tmp_path / "gqa_objects_0.h5", "r+") as file:
        change(file)
    with ObjectFeatures(tmp_path) as features, pytest.raises(DataError, match=r"gqa_objects_.*") as caught:
        features.read("n0")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"width": 0}, {"width": 10**18}, {"height": -1}, {"idx": 10**18}, {"file": 10**18}, {"idx": True}]
)
def test_an_odd_number_of_a_picture_is_named(tmp_path, change):
    info = features_folder(tmp_path)
    write(tmp_path / "gqa_objects_info.json", {"n0": info["n0"] | change})
    with (
        ObjectFeatures(tmp_path) as features,
        pytest.raises(DataError, match=f"'{next(iter(change))}' must be a whole"),
    ):
        features.read("n0")
    write(tmp_path / "gqa_objects_info.json", {})
    with pytest.raises(DataError, match="expected an object that maps image ids to rows"):
        ObjectFeatures(tmp_path)


def test_a_picture_without_objects_is_read(tmp_path):
    info = features_folder(tmp_path)
    write(tmp_path / "gqa_objects_info.json", {"n0": info["n0"] | {"objectsNum": 0}})
    with ObjectFeatures(tmp_path) as features:
        assert features.read("n0").features.shape == (0, 8)


HOSTILE = {
    "deep": ("[" * 100_000, "nested too deeply|recursion depth"),
    "deep objects": ('{"a":' * 100_000, "nested too deeply|recursion depth"),
    "long": ("9" * 5000, "4300|5000 digits"),
    "not a number": ("NaN", "NaN is no number of JSON"),
    "infinite": ("-Infinity", "-Infinity is no number of JSON"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_json_is_one_clear_error(tmp_path, case):
    text, message = HOSTILE[case]
    path = tmp_path / "train_questions.json"
    path.write_text(json.dumps({"5": QUESTION | {"x": "?"}}).replace('"?"}', text))
    for reading in (
        lambda: list(read_questions(path)),
        lambda: read_json(path),
        lambda: make_index(tmp_path, tmp_path),
    ):
        with pytest.raises(DataError, match=message) as caught:
            reading()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e300, 10**7])
def test_a_number_of_pixels_is_bounded(tmp_path, number):
    boxed = SCENE | {"objects": {"8": SCENE["objects"]["8"] | {"x": number}}}
    for scene, message in ((SCENE | {"width": number}, "must be numbers from 1"), (boxed, "must be four numbers")):
        with pytest.raises(DataError, match=message):
            list(read_scenes(write(tmp_path / "scenes.json", {"1": scene})))


def figures(**scores):
    parts = {name: {"x": 50.0} for name in evaluate.BREAKDOWN}
    measures = {"questions": 2, "accuracy": 50.0, "distribution": 0.1, **parts, **scores}
    return {"task": "visual", "agents": {"oracle": {"training": {}, "splits": {"test": measures}}}}


@pytest.mark.parametrize(
    "saved",
    [
        [],
        {"task": "visual"},
        {"task": "visual", "agents": []},
        {"task": "visual", "agents": {}},
        {"task": "visual", "agents": {"oracle": {}}},
        {"task": "visual", "agents": {"oracle": {"training": {"model": "x", "config": {}}, "splits": {}}}},
        figures(accuracy="high"),
        figures(steps=None),
        figures(routines={"x": [1]}),
        figures(questions="many"),
    ],
)
def test_a_foreign_file_is_no_file_of_figures(tmp_path, saved):
    assert evaluate._saved(str(write(tmp_path / "right.json", figures())), ["test"])
    with pytest.raises(DataError, match=r"x.json: is no file that 'proto evaluate --task visual --save' wrote"):
        evaluate._saved(str(write(tmp_path / "x.json", saved)), ["test"])


def test_parts_of_an_index_that_are_exchanged_are_read_again(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    KINDS["parts"].make(folder)
    first, second, *_ = sorted((folder / "index" / "unfinished").glob("*.npz"))
    first.rename(tmp_path / "kept")
    second.rename(first)
    (tmp_path / "kept").rename(second)
    assert make_index(folder, folder / "index")
    assert {name: len(Index.open(folder / "index").questions(name)) for name in ("train", "val")} == {
        "train": 3,
        "val": 1,
    }


def test_a_changed_row_of_an_extracted_picture_is_noticed(tmp_path):
    KINDS["extracted"].make(tmp_path)
    info = json.loads((tmp_path / "my_info.json").read_text())
    write(tmp_path / "my_info.json", info | {"b": info["a"]})
    with ObjectFeatures(tmp_path / "my.h5") as features, pytest.raises(DataError, match=r"is damaged, or not of my.h5"):
        features.read("b")


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_give_an_error_or_the_same_result(kind, tmp_path):
    """Some cases of `tools/soak/damage.py`."""
    outcomes = soak(kind, 0, range(5 * KINDS[kind].weight), tmp_path, lambda number: None)
    assert outcomes["error"] or kind == "parts", "parts are read again"
    assert outcomes["unnoticed"] == 0 or not KINDS[kind].exact


def test_a_text_of_variable_length_is_refused_since_the_library_may_never_return(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["made_of"] = "of variable length"
        file.attrs["size"] = 3
    with h5py.File(tmp_path / "a.h5", "r") as file:
        for name in ("made_of", "size"):
            with pytest.raises(DataError, match=f"a.h5: '{name}' is no text of fixed length"):
                read_text(file, tmp_path / "a.h5", name)
        assert read_text(file, tmp_path / "a.h5", "other") is None


@pytest.mark.parametrize("text", ["short", "", "Übergröße", "x" * 200_000])
def test_texts_of_a_file_are_read_as_they_were_written(tmp_path, text):
    with write_h5(tmp_path / "a.h5") as (file, _):
        write_text(file, "text", text)
    with open_h5(tmp_path / "a.h5") as file:
        assert read_text(file, tmp_path / "a.h5", "text") == text


@pytest.mark.parametrize("text", ["1" + "0" * 400, "-" + "9" * 5000, "1e999", "-1e999", "[" * 100_000, "NaN"])
def test_numbers_that_no_figure_can_be_are_one_clear_error(tmp_path, text):
    (tmp_path / "a.json").write_text(f'{{"a": {text}}}', "ascii")
    with pytest.raises(DataError, match="a.json: is cut off or damaged"):
        read_json(tmp_path / "a.json")
