"""Packed features: those of the h5 files up to half precision; resumed byte by byte; damage is one clear error."""

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
import torch

from benchmarks import features as benchmark
from program_guided.cli.main import run
from program_guided.errors import DataError, UsageError
from program_guided.files import held
from program_guided.tasks.visual import packing
from program_guided.tasks.visual.batches import arrays_of
from program_guided.tasks.visual.checksums import read_record, write_record
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.features import ObjectChunks, ObjectFeatures
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.packed import FORMAT, RECORD, REMEDY, Packed, _widened
from program_guided.tasks.visual.packing import Packing, pack
from tests.test_visual_release import write

DIMENSION = 700
"""Length of a vector; 50 of them are more numbers than torch converts in one thread."""
COUNTS = {"n1": 60, "7": 3, "n3": 0, "4": 100, "n5": 50, "6": 37, "n0": 51}
PER_SHARD = 3


def write_release(folder):
    """Two chunks, whose pictures the info file names in another order; what is behind an object's last row is noise."""
    random, info = np.random.default_rng(0), {}
    folder.mkdir()
    for chunk, names in enumerate((("4", "n1", "n3", "6"), ("n5", "n0", "7"))):
        with h5py.File(folder / f"gqa_objects_{chunk}.h5", "w") as file:
            file["features"] = random.gamma(0.3, 2.0, (len(names), 100, DIMENSION)).astype(np.float32)
            file["bboxes"] = (640 * random.random((len(names), 100, 4))).astype(np.float32)
        for row, name in enumerate(names):
            place = {"file": chunk, "idx": row, "objectsNum": COUNTS[name], "width": 640 + row, "height": 480}
            info[name] = place
    write(folder / "gqa_objects_info.json", {name: info[name] for name in COUNTS})
    return folder


@pytest.fixture(name="release", scope="module")
def released(tmp_path_factory):
    return write_release(tmp_path_factory.mktemp("release") / "objects")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(packing, "PER_SHARD", PER_SHARD)


@pytest.fixture(name="packed")
def packed_folder(release, tmp_path):
    assert packed_from(release, tmp_path / "packed") == Packing(pictures=7, shards=3, made=3)
    return tmp_path / "packed"


def packed_from(release, out, *arguments, **options):
    with ObjectChunks(release) as chunks:
        return pack(chunks, out, *arguments, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def change_byte(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("max_detected", [1, 50, 1000])
def test_packed_features_are_those_of_the_h5_files_up_to_half_precision(release, packed, threads, max_detected):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with ObjectFeatures(release) as exact, ObjectFeatures(packed) as features:
            assert set(features.image_ids) == set(COUNTS)
            for name, count in COUNTS.items():
                found, expected = features.read(name, max_detected), exact.read(name, min(max_detected, 50))
                assert found.features.shape == (min(count, max_detected, 50), DIMENSION)
                assert found.features.dtype == found.boxes.dtype == np.float32
                np.testing.assert_array_equal(found.features, expected.features.astype(np.float16))
                np.testing.assert_allclose(found.features, expected.features, rtol=2**-11, atol=2**-25)
                np.testing.assert_array_equal(found.boxes, expected.boxes)
                assert (found.width, found.height) == (expected.width, expected.height)
            assert features.read("4").features.shape == (50, DIMENSION), "the default"
    finally:
        torch.set_num_threads(before)


def test_every_number_of_half_precision_is_widened_exactly():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = np.concatenate([every[np.isfinite(every)]] * 2)
    np.testing.assert_array_equal(_widened(finite), finite.astype(np.float32))


def test_what_is_read_is_the_reader_s_own(packed):
    with ObjectFeatures(packed) as features:
        first = features.read("n1")
        kept = first.features.copy(), first.boxes.copy()
        first.features[:], first.boxes[:] = -1, -1
        again = features.read("n1")
        np.testing.assert_array_equal(again.features, kept[0])
        np.testing.assert_array_equal(again.boxes, kept[1])
    Packed(packed, verify=True)


def test_only_so_many_objects_are_stored(release, tmp_path):
    packed_from(release, tmp_path / "few", max_detected=4)
    with ObjectFeatures(release) as exact, ObjectFeatures(tmp_path / "few") as features:
        for name, count in COUNTS.items():
            found = features.read(name)
            assert found.features.shape == (min(count, 4), DIMENSION)
            np.testing.assert_array_equal(found.boxes, exact.read(name, 4).boxes)
    rows = sum(min(count, 4) for count in COUNTS.values())
    sizes = {
        kind: sum(path.stat().st_size for path in (tmp_path / "few").glob(f"{kind}_*"))
        for kind in ("features", "boxes")
    }
    headers = 3 * 128
    assert sizes == {"features": 2 * DIMENSION * rows + headers, "boxes": 16 * rows + headers}, "no padding"


def test_shards_are_arrays_that_numpy_reads(packed):
    loaded = [np.load(packed / f"{kind}_0001.npy", allow_pickle=False) for kind in ("features", "boxes")]
    shard = json.loads((packed / "shard_0001.json").read_text())
    assert list(shard["pictures"]) == ["6", "n5", "n0"], "in the order in which they are stored"
    assert [each.dtype for each in loaded] == [np.float16, np.float32]
    assert [each.shape for each in loaded] == [(137, DIMENSION), (137, 4)]
    assert shard["rows"] == 137


def test_one_file_of_extracted_features_is_packed_but_its_classifier_is_not(tmp_path):
    with h5py.File(tmp_path / "my.h5", "w") as file:
        file["features"], file["bboxes"] = np.ones((1, 2, 3)), np.ones((1, 2, 4))
        file["class_weights"], file["class_bias"] = np.ones((5, 3)), np.ones(5)
    place = {"file": 0, "idx": 0, "objectsNum": 2, "width": 1, "height": 1}
    write(tmp_path / "my_info.json", {"a": place})
    packed_from(tmp_path / "my.h5", tmp_path / "packed")
    with ObjectFeatures(tmp_path / "my.h5") as exact, ObjectFeatures(tmp_path / "packed") as features:
        assert exact.classifies
        assert not features.classifies
        np.testing.assert_array_equal(features.read("a").features, exact.read("a").features)
        for reading in (features.class_names, features.classifier, partial(features.class_logits, "a")):
            with pytest.raises(DataError, match="packed features have no classifier; give the file"):
                reading()


KILLED = """
import os, signal, sys
from pathlib import Path
from program_guided.tasks.visual import packing
from program_guided.tasks.visual.features import ObjectChunks
packing.PER_SHARD = int(sys.argv[3])
def progress(done, total):
    if done == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
packing.pack(ObjectChunks(Path(sys.argv[1])), Path(sys.argv[2]), progress=progress)
"""


@pytest.mark.parametrize("at", [1, 5, 6, 7])
def test_packing_that_was_killed_is_resumed_with_the_same_bytes(release, packed, tmp_path, at):
    out = tmp_path / "killed"
    arguments = [sys.executable, "-c", KILLED, release, out, PER_SHARD, at]
    assert subprocess.run(list(map(str, arguments)), timeout=600).returncode == -signal.SIGKILL
    with pytest.raises(DataError, match=f"killed: is being packed, or that was interrupted; wait, or {REMEDY}"):
        ObjectFeatures(out)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("features_*.npy")}
    shards = (at - 1) // PER_SHARD
    assert len(kept) == shards
    assert packed_from(release, out) == Packing(pictures=7, shards=3, made=3 - shards)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "complete shards are not made again"
    assert contents(out) == contents(packed)
    assert packed_from(release, out).made == 0
    assert contents(out) == contents(packed), "neither a lock nor temporary files are left"


def test_an_interruption_leaves_nothing_that_is_half_written(release, packed, tmp_path):
    def interrupt(done, total):
        if done == 5:
            raise KeyboardInterrupt

    out = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        packed_from(release, out, progress=interrupt)
    assert sorted(contents(out)) == ["boxes_0000.npy", "features_0000.npy", RECORD, "shard_0000.json"]
    packed_from(release, out)
    assert contents(out) == contents(packed)


def test_progress_and_costs_are_of_what_is_left(release, packed):
    (packed / "shard_0001.json").unlink()
    done, costs = [], []
    packed_from(release, packed, progress=lambda *moment: done.append(moment), begin=lambda *cost: costs.append(cost))
    assert done == [(each, 7) for each in (3, 4, 5, 6, 7)]
    ((megabytes, seconds),) = costs
    assert megabytes == pytest.approx(137 * (2 * DIMENSION + 16) / 1e6)
    size = sum(path.stat().st_size for path in release.iterdir())
    assert seconds == pytest.approx(3 / 7 * size / packing.BYTES_PER_SECOND)
    packed_from(release, packed, begin=lambda *cost: pytest.fail("there is nothing to do"))


@pytest.mark.parametrize("name", ["features_0001.npy", "boxes_0001.npy", "shard_0001.json"])
@pytest.mark.parametrize("damage", ["a byte", "the end", "the file"])
def test_a_damaged_shard_is_named_and_made_anew_by_the_same_command(release, packed, name, damage):
    whole, path = contents(packed), packed / name
    if damage == "a byte":
        change_byte(path)
    elif damage == "the end":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.unlink()
    message = {
        "a byte": "is damaged",
        "the end": "bytes, but .* were written",
        "the file": "cannot be read .No such file or directory., though it is listed",
    }[damage]
    for reading in (partial(Packed, packed, verify=True), partial(read_all, packed)):
        with pytest.raises(DataError, match=f"_0001.*{message}.*; {REMEDY}") as caught:
            reading()
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
    assert packed_from(release, packed).made == 1
    assert contents(packed) == whole


def read_all(folder):
    with ObjectFeatures(folder) as features:
        return [features.read(name) for name in features.image_ids]


def test_exchanged_shards_are_noticed(release, packed):
    whole = contents(packed)
    for name in ("features_{}.npy", "boxes_{}.npy", "shard_{}.json"):
        one, other = (packed / name.format(number) for number in ("0000", "0001"))
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
    with pytest.raises(DataError, match="shard_0000.json: "):
        ObjectFeatures(packed)
    assert packed_from(release, packed).made == 2
    assert contents(packed) == whole


def test_a_shard_that_is_cut_off_while_the_folder_is_open_is_an_error(packed):
    with ObjectFeatures(packed) as features:
        (packed / "features_0000.npy").write_bytes(b"short")
        with pytest.raises(DataError, match="features_0000.npy: cannot be read"):
            features.read("4")


def test_another_format_or_version_is_refused(release, packed, tmp_path):
    whole = contents(packed)
    record = read_record(packed / RECORD, FORMAT, REMEDY)
    write_record(packed / RECORD, record | {"version": 99})
    with pytest.raises(DataError, match=f"packed.json: is version 99, but 1 is needed; {REMEDY}"):
        ObjectFeatures(packed)
    write_record(packed / RECORD, record | {"format": "another"})
    with pytest.raises(DataError, match="packed.json: is not the header of a program_guided packed features"):
        ObjectFeatures(packed)
    change_byte(packed / RECORD, -5)
    with pytest.raises(DataError, match=r"packed.json: is "):
        ObjectFeatures(packed)
    assert packed_from(release, packed).made == 3, "nothing is known of the shards"
    assert contents(packed) == whole


def test_an_unknown_picture_is_named(packed):
    with ObjectFeatures(packed) as features, pytest.raises(DataError, match="there are no features of image '5'"):
        features.read("5")


def test_another_plan_replaces_what_was_packed(release, packed, tmp_path):
    packed_from(release, tmp_path / "few", max_detected=4)
    assert packed_from(release, packed, max_detected=4).made == 3
    assert contents(packed) == contents(tmp_path / "few")
    shutil.copytree(release, tmp_path / "fewer")
    info = json.loads((release / "gqa_objects_info.json").read_text())
    write(tmp_path / "fewer" / "gqa_objects_info.json", {name: info[name] for name in ("4", "n5")})
    assert packed_from(tmp_path / "fewer", packed) == Packing(pictures=2, shards=1, made=1)
    assert len(contents(packed)) == 4, "shards of the other plan are gone"


def test_files_of_others_are_left_alone(release, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "features_0000.npy").write_bytes(b"of somebody else")
    with pytest.raises(DataError, match="other: is not empty, and holds no packed features; name another folder"):
        packed_from(release, other)
    with pytest.raises(DataError, match="objects: is not empty"):
        packed_from(release, release)
    with pytest.raises(DataError, match="features_0000.npy: is a file; name a folder"):
        packed_from(release, other / "features_0000.npy")
    assert contents(other) == {"features_0000.npy": b"of somebody else"}


def changed(release, folder, change, chunk=1):
    shutil.copytree(release, folder)
    with h5py.File(folder / f"gqa_objects_{chunk}.h5", "r+") as file:
        change(file)
    return folder


def put(name, at, value):
    def change(file):
        file[name][at] = value

    return change


def narrow(file):
    del file["features"]
    file["features"] = np.zeros((3, 100, 9), np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("features", (0, 3, 0), 7e4), "image 'n5' has features above 65,504, which half precision cannot hold"),
        (put("features", (0, 3, 0), -7e4), "image 'n5' has features above 65,504"),
        (put("features", (1, 3, 0), np.nan), "row 1 .image 'n0'. has values that are not finite"),
        (narrow, "image 'n5' has vectors of 9, the first picture of 700; pack them apart"),
    ],
)
def test_features_that_cannot_be_packed_are_named(release, tmp_path, change, message):
    source = changed(release, tmp_path / "source", change)
    with pytest.raises(DataError, match=message):
        packed_from(source, tmp_path / "packed")
    with pytest.raises(DataError, match="is being packed, or that was interrupted"):
        ObjectFeatures(tmp_path / "packed")


def test_a_missing_chunk_is_named_before_anything_is_written(release, tmp_path):
    shutil.copytree(release, tmp_path / "source")
    (tmp_path / "source" / "gqa_objects_1.h5").unlink()
    with pytest.raises(DataError, match=r"gqa_objects_1.h5: is missing, though gqa_objects_info.json names it"):
        packed_from(tmp_path / "source", tmp_path / "packed")
    with pytest.raises(DataError, match="objects 0: at least 1 is needed"):
        packed_from(release, tmp_path / "packed", 0)
    assert not (tmp_path / "packed").exists()


def test_sources_that_change_while_they_are_packed_are_an_error(release, tmp_path):
    source, out = Path(shutil.copytree(release, tmp_path / "source")), tmp_path / "packed"
    touch = partial(os.utime, source / "gqa_objects_0.h5", (0, 0))
    with pytest.raises(DataError, match="source: has changed while it was packed; run the same command again"):
        packed_from(source, out, progress=lambda done, total: touch())
    with pytest.raises(DataError, match="is being packed, or that was interrupted"):
        ObjectFeatures(out)


def test_one_process_at_a_time_packs_but_all_may_read(release, packed):
    with held(packed):
        read_all(packed)
        with pytest.raises(DataError, match="is writing to it; wait until it has ended"):
            packed_from(release, packed)


FULL = """
import sys
from pathlib import Path
from program_guided.errors import DataError
from program_guided.tasks.visual.features import ObjectChunks
from program_guided.tasks.visual.packing import pack
try:
    pack(ObjectChunks(Path(sys.argv[1])), Path(sys.argv[2]))
except DataError as error:
    print(error)
"""


def test_a_full_disk_is_one_clear_error(release, tmp_path, monkeypatch):
    """A limit of a file's size stands for a full disk: it fails in the same place."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))

    out = tmp_path / "packed"
    command = [sys.executable, "-c", FULL, release, out]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=limit)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{out / 'features_0000.npy'}: cannot be written (File too large); the same command resumes\n"
    assert list(contents(out)) == [RECORD]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 100))
    with pytest.raises(DataError, match="0.0 GB are needed, but only 0.0 GB are free; make room, or name another"):
        packed_from(release, out)


def test_a_batch_of_training_has_the_packed_objects(release, packed):
    with ObjectFeatures(release) as exact, ObjectFeatures(packed) as features:
        names = ["n1", "7", "n3"]
        arrays, expected = (arrays_of([each.read(name) for name in names]) for each in (features, exact))
    assert arrays.keys() == expected.keys()
    assert arrays["features"].shape == (3, 50, DIMENSION)
    assert arrays["exists"].sum(1).tolist() == [50, 3, 0]
    np.testing.assert_array_equal(arrays["exists"], expected["exists"])
    np.testing.assert_array_equal(arrays["boxes"], expected["boxes"])
    np.testing.assert_allclose(arrays["features"], expected["features"], rtol=2**-11, atol=2**-25)


FORKED = """
import os, signal, sys
from pathlib import Path
import numpy as np
import torch
from program_guided.tasks.visual.features import ObjectFeatures
torch.set_num_threads(2)
features = ObjectFeatures(Path(sys.argv[1]))
torch.ones(1000, 1000).half().float()  # starts the threads, which a forked process lacks
expected = features.read("4").features
children = []
for name in ("4", "n1", "4"):
    child = os.fork()
    if not child:
        signal.alarm(60)
        features.read(name)
        os._exit(int(not np.array_equal(features.read("4").features, expected)))
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_forked_processes_read(packed):
    ran = subprocess.run([sys.executable, "-c", FORKED, packed], capture_output=True, text=True, timeout=600)
    assert (ran.stdout, ran.stderr) == ("[0, 0, 0]\n", "")


def test_packed_features_of_a_world_are_trained_on_unless_it_is_another(tmp_path):
    world = tmp_path / "world"
    for seed, folder in enumerate((world, tmp_path / "other")):
        write_world(folder, {"train": 1, "val": 1, "test": 1}, seed, {"objects": Simulation()})
        packed_from(folder / "objects", folder / "packed")
    make_index(world, world / "index")
    data = VisualData(world, world / "packed")
    data.check_pictures("train_balanced")
    assert data.feature_count == SIZE
    with pytest.raises(DataError, match=r"packed.json: is of the world with seed 1 .*questions are of seed 0"):
        VisualData(world, tmp_path / "other" / "packed")


def test_the_command_packs_resumes_and_verifies(release, tmp_path, capsys):
    out = tmp_path / "packed"
    command = ["features", "pack", "--from", str(release), "--out", str(out), "--objects", "20"]
    assert run(command) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(f"packing {release} in {out}: about 1 MB of disk and 1 second ...\n")
    assert f"wrote {out} of 7 pictures, in 3 shards\n" in printed.out
    assert f"next: proto train visual --features {out} --data DIR" in printed.out
    assert run(command) == 0
    assert f"nothing to do: there is {out} of 7 pictures" in capsys.readouterr().out
    verify = ["features", "pack", "--out", str(out), "--verify"]
    assert run(verify) == 0
    assert capsys.readouterr().out == f"{out}: whole, every file has its checksum (7 pictures)\n"
    change_byte(out / "boxes_0002.npy")
    with pytest.raises(DataError, match="boxes_0002.npy: is damaged, its checksum is not the recorded one"):
        run(verify)
    with pytest.raises(UsageError, match="missing: --from PATH"):
        run(["features", "pack", "--out", str(out)])


def test_ctrl_c_says_that_the_same_command_resumes(release, tmp_path, capsys, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "pack", interrupted)
    assert run(["features", "pack", "--from", str(release), "--out", str(tmp_path / "packed")]) == 130
    assert capsys.readouterr().err == "interrupted; the same command resumes it\n"


def test_the_speed_of_reading_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    figures = benchmark.measure(pictures=3, seconds=0.01)
    assert min(figures["pictures_per_second"].values()) > 0
    assert figures["times_faster"].keys() == {"packed", "packed, read for the first time"}
    assert figures["bytes_per_picture"]["h5"] > 100 * 2048 * 4 > 50 * 2048 * 2
    assert figures["bytes_per_picture"]["packed"] == pytest.approx(50 * (2048 * 2 + 16), rel=0.01)
    benchmark.print_figures(figures)
    assert "times as fast" in capsys.readouterr().out
    assert not list(tmp_path.iterdir()), "the temporary folder is gone"


def bad_release(release, folder):
    """Five of seven pictures are sound: one has a number that is not finite, one no place."""
    source = changed(release, folder, put("features", (1, 3, 0), np.nan))
    info = json.loads((source / "gqa_objects_info.json").read_text())
    del info["6"]["idx"]
    write(source / "gqa_objects_info.json", info)
    return source


def test_bad_pictures_are_an_error_or_skipped_and_listed(release, packed, tmp_path):
    source, out = bad_release(release, tmp_path / "source"), tmp_path / "packed_too"
    for _ in range(2):
        with pytest.raises(DataError, match=r"image '6': 'idx' must be .*; correct it, or skip bad records"):
            packed_from(source, out)
        found = packed_from(source, out, skip_bad=True)
        assert (found.pictures, found.shards) == (5, 2)
        assert ["'6'" in found.skipped[0], "row 1 (image 'n0') has values that" in found.skipped[1]] == [True, True]
        assert len(found.skipped) == 2
    with ObjectFeatures(out) as features, ObjectFeatures(release) as exact:
        assert set(features.image_ids) == COUNTS.keys() - {"6", "n0"}
        for name in features.image_ids:
            np.testing.assert_array_equal(features.read(name).boxes, exact.read(name).boxes)
        with pytest.raises(DataError, match="there are no features of image 'n0'"):
            features.read("n0")


def test_pictures_of_a_missing_file_are_skipped_and_said_once(release, tmp_path):
    source = Path(shutil.copytree(release, tmp_path / "source"))
    (source / "gqa_objects_1.h5").unlink()
    found = packed_from(source, tmp_path / "packed", skip_bad=True)
    message = f"{source / 'gqa_objects_1.h5'}: is missing, though gqa_objects_info.json names it (3 pictures)"
    assert (found.pictures, found.skipped) == (4, (message,))
    (source / "gqa_objects_0.h5").unlink()
    with pytest.raises(DataError, match="no picture could be read; pack without skipping bad pictures to see"):
        packed_from(source, tmp_path / "none", skip_bad=True)


def test_a_shard_with_skipped_pictures_is_whole_only_where_they_may_be_skipped(release, tmp_path):
    source, out = changed(release, tmp_path / "source", put("features", (1, 3, 0), np.nan)), tmp_path / "packed"
    with pytest.raises(DataError, match="image 'n0'"):
        packed_from(source, out)
    found = packed_from(source, out, skip_bad=True)
    assert (found.pictures, found.made, len(found.skipped)) == (6, 2, 1), "the first shard was complete"
    assert packed_from(source, out, skip_bad=True).made == 0
    with pytest.raises(DataError, match="image 'n0'"):
        packed_from(source, out)


def test_the_command_skips_bad_pictures_and_questions_about_them(tmp_path, capsys):
    world = tmp_path / "world"
    write_world(world, {"train": 2, "val": 1, "test": 1}, 0, {"objects": Simulation()})
    (world / "world.json").unlink()
    with h5py.File(world / "objects" / "gqa_objects_0.h5", "r+") as file:
        file["features"][0, 0] = np.inf
    packed = str(world / "packed")
    assert run(["features", "pack", "--from", str(world / "objects"), "--out", packed, "--skip-bad"]) == 0
    printed = capsys.readouterr().out
    assert f"wrote {packed} of 3 pictures" in printed
    assert "skipped 1 piece that could not be read:\n" in printed
    index = [
        "dataset",
        "index",
        "visual",
        "--root",
        str(world),
        "--processes",
        "1",
        "--features",
        str(world / "packed"),
    ]
    with pytest.raises(DataError, match="there is no picture '.*', or it has no features; correct it, or skip bad"):
        run(index)
    assert run([*index, "--skip-bad"]) == 0
    data = VisualData(world, world / "packed")
    for name in data.index.sets:
        data.check_pictures(name)
