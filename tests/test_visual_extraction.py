"""Extraction of features: cells, boxes and classes in their rows, resumption after a kill, errors for bad pictures."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
import torch
from PIL import Image

from program_guided.errors import DataError
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.photographs import extraction
from program_guided.tasks.visual.photographs.backbone import MEAN, SCALE, load_backbone
from program_guided.tasks.visual.photographs.extraction import extract
from tests.test_visual_data import real_folder

SIZE = 96
SIDE = SIZE // 32
NAMES = ("a", "b", "c", "d", "e")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(name="pictures", scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    for number, name in enumerate(NAMES):
        pixels = random.integers(0, 256, (6, 4 + number, 3), np.uint8)
        Image.fromarray(pixels).resize((40 + 10 * number, 60), Image.Resampling.BICUBIC).save(folder / f"{name}.png")
    (folder / "notes.txt").write_text("not a picture")
    return folder


@pytest.fixture(name="whole", scope="module")
def extracted(pictures, tmp_path_factory):
    out = tmp_path_factory.mktemp("features") / "my.h5"
    assert extract(pictures, out, SIZE).pictures == len(NAMES)
    return out


def arrays(path):
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file}


def test_a_cell_s_vector_box_and_classes_are_those_of_the_network(pictures, whole):
    backbone = load_backbone()
    with ObjectFeatures(whole) as features:
        assert features.image_ids == NAMES
        for name in NAMES:
            with Image.open(pictures / f"{name}.png") as picture:
                width, height = picture.size
                pixels = np.asarray(picture.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32)
            network = backbone._network
            tensor = (torch.from_numpy(pixels).permute(2, 0, 1)[None] - MEAN) / SCALE
            with torch.no_grad():
                grid, logits = network.extract_features(tensor)[0].numpy(), network(tensor)[0].numpy()
            detected = features.read(name, max_detected=100)
            assert (detected.width, detected.height) == (width, height)
            assert detected.features.shape == (SIDE * SIDE, 1280)
            for row in range(SIDE):
                for column in range(SIDE):
                    cell = row * SIDE + column
                    np.testing.assert_allclose(detected.features[cell], grid[:, row, column], atol=4e-3)
                    box = np.array([column * width, row * height, (column + 1) * width, (row + 1) * height]) / SIDE
                    np.testing.assert_allclose(detected.boxes[cell], box, rtol=1e-6)
            # The classifier is linear: the logits of the whole picture are the mean over the cells.
            np.testing.assert_allclose(features.class_logits(name).mean(0), logits, atol=0.02)
        names = features.class_names()
        assert (len(names), names[1]) == (1000, "goldfish, Carassius auratus")


def test_real_pictures_are_classified(tmp_path):
    expected = {"n115614": "streetcar", "n117888": "ballplayer", "n119886": "washbasin"}
    source = tmp_path / "pictures"
    source.mkdir()
    for name in expected:
        (source / f"{name}.jpg").symlink_to(real_folder() / "images" / f"{name}.jpg")
    extract(source, tmp_path / "my.h5", 224)
    with ObjectFeatures(tmp_path / "my.h5") as features:
        names = features.class_names()
        found = {name: names[features.class_logits(name).mean(0).argmax()].split(",")[0] for name in expected}
    assert found == expected


def test_a_finished_extraction_is_repeated_only_if_the_pictures_change(pictures, tmp_path):
    out = tmp_path / "my.h5"
    source = tmp_path / "pictures"
    source.mkdir()
    Image.new("RGB", (50, 40), "red").save(source / "a.png")
    assert extract(source, out, 32).new
    assert not extract(source, out, 32).new
    assert extract(source, out, 64).new
    Image.new("RGB", (50, 40), "blue").save(source / "b.png")
    again = extract(source, out, 64)
    assert (again.new, again.pictures) == (True, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my.h5", "my_info.json", "pictures"]


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from program_guided.tasks.visual.photographs import extraction
torch.set_num_threads(1)
extraction.PER_PIECE = 2
def progress(done, total):
    if done == 4:
        os.kill(os.getpid(), signal.SIGKILL)
extraction.extract(Path(sys.argv[1]), Path(sys.argv[2]), 96, progress=progress)
"""


def same(one, other):
    """Compare up to the last bits of a float16: the order of sums in convolutions depends on the threads."""
    if one.dtype.kind != "f":
        np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=0.02, atol=0.01)


def test_a_killed_extraction_is_resumed_with_the_same_result(pictures, whole, tmp_path, monkeypatch):
    out = tmp_path / "my.h5"
    killed = subprocess.run([sys.executable, "-c", KILLED, pictures, out], timeout=600)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    with pytest.raises(DataError, match="cannot be read"):
        ObjectFeatures(out)
    pieces = sorted((tmp_path / "my.h5.unfinished" / "pieces").glob("*.npz"))
    assert len(pieces) == 2
    pieces[1].write_bytes(pieces[1].read_bytes()[:-50])
    (tmp_path / ".my.h5.1.tmp").write_bytes(b"left by a killed process")
    monkeypatch.setattr(extraction, "PER_PIECE", 2)
    read = []
    pixels = extraction._pixels
    monkeypatch.setattr(extraction, "_pixels", lambda path, size: read.append(path.stem) or pixels(path, size))
    extract(pictures, out, SIZE)
    assert read == ["c", "d", "e"]
    for name, values in arrays(whole).items():
        same(arrays(out)[name], values)
    assert (tmp_path / "my_info.json").read_bytes() == whole.with_name("my_info.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my.h5", "my_info.json"]


def test_a_bad_picture_is_an_error_or_skipped_and_listed(pictures, whole, tmp_path):
    source = tmp_path / "pictures"
    source.mkdir()
    for name in ("a", "c"):
        (source / f"{name}.png").write_bytes((pictures / f"{name}.png").read_bytes())
    (source / "b.png").write_bytes((pictures / "b.png").read_bytes()[:60])
    (source / "z.jpg").write_text("no picture at all")
    out = tmp_path / "my.h5"
    with pytest.raises(DataError, match=r"b\.png: is not a readable picture"):
        extract(source, out, SIZE)
    assert not out.exists()
    found = extract(source, out, SIZE, skip_bad=True)
    assert found.pictures == 2
    assert [line.split(":")[0] for line in found.skipped] == [str(source / "b.png"), str(source / "z.jpg")]
    assert extract(source, out, SIZE, skip_bad=True).skipped == found.skipped
    with ObjectFeatures(out) as mine, ObjectFeatures(whole) as other:
        assert mine.image_ids == ("a", "c")
        for name in mine.image_ids:
            same(mine.read(name).features, other.read(name).features)


def test_a_photograph_is_rotated_by_its_exif_orientation(tmp_path):
    source = tmp_path / "pictures"
    source.mkdir()
    turned = Image.new("RGB", (40, 20))
    about = turned.getexif()
    about[0x0112] = 6
    turned.save(source / "a.jpg", exif=about)
    extract(source, tmp_path / "my.h5", 32)
    assert json.loads((tmp_path / "my_info.json").read_text())["a"] == {
        "file": 0,
        "idx": 0,
        "objectsNum": 1,
        "width": 20,
        "height": 40,
    }


def test_a_file_named_like_the_release_s_is_read_as_a_folder_of_it(pictures, tmp_path):
    extract(pictures, tmp_path / "gqa_objects_0.h5", 32)
    with ObjectFeatures(tmp_path) as features:
        assert features.read("c").features.shape == (1, 1280)


def test_wrong_arguments_are_errors(pictures, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, message in [
        ((tmp_path / "nowhere", tmp_path / "my.h5"), "there is no such folder of pictures"),
        ((empty, tmp_path / "my.h5"), "there are no pictures"),
        ((pictures, tmp_path / "my.npz"), "must end with .h5"),
        ((pictures, tmp_path / "my.h5", 100), "a multiple of 32 is needed"),
        ((pictures, empty / "x" / "my.h5", 0), "a multiple of 32 is needed"),
    ]:
        with pytest.raises(DataError, match=message):
            extract(*arguments)
    for name in ("a.jpg", "a.png"):
        Image.new("RGB", (5, 5)).save(empty / name)
    with pytest.raises(DataError, match=r"a\.png: has the same name as a\.jpg"):
        extract(empty, tmp_path / "my.h5")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_device_is_an_error(pictures, tmp_path):
    with pytest.raises(DataError, match="device cuda: torch finds no such device here"):
        extract(pictures, tmp_path / "x.h5", device="cuda")
    assert not list(tmp_path.iterdir())


def test_only_extracted_features_have_a_classifier(tmp_path):
    with h5py.File(tmp_path / "my.h5", "w") as file:
        file["features"], file["bboxes"] = np.zeros((1, 2, 3)), np.zeros((1, 2, 4))
    place = {"file": 0, "idx": 0, "objectsNum": 2, "width": 1, "height": 1}
    (tmp_path / "my_info.json").write_text(json.dumps({"a": place}))
    with ObjectFeatures(tmp_path / "my.h5") as features:
        assert features.read("a").features.shape == (2, 3)
        with pytest.raises(DataError, match="only features of proto features extract have a classifier"):
            features.class_logits("a")


def test_the_command_prints_the_written_and_the_skipped_pictures(pictures, tmp_path):
    source = tmp_path / "pictures"
    source.mkdir()
    (source / "a.png").write_bytes((pictures / "a.png").read_bytes())
    (source / "b.png").write_text("no picture")
    command = [sys.executable, "-m", "program_guided.cli.main", "features", "extract", "--size", "32"]
    command += ["--images", str(source), "--out", str(tmp_path / "my.h5")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    stopped = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert stopped.returncode == 1
    assert stopped.stderr.splitlines()[-1].startswith("error: ")
    assert "b.png: is not a readable picture" in stopped.stderr.replace("\n", " ")
    resumed = subprocess.run([*command, "--skip-bad"], capture_output=True, text=True, timeout=600, env=environment)
    assert resumed.returncode == 0
    assert "my_info.json of 1 picture" in resumed.stdout
    assert "skipped 1 picture:" in resumed.stdout
