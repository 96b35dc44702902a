"""Pixels of cells instead of detected objects: the sight that cuts pictures up, targets among cells, the network."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from program_guided.cli.main import run
from program_guided.errors import DataError
from program_guided.models.readers.config import Objects
from program_guided.models.readers.patches import PatchEncoder
from program_guided.tasks.visual.checksums import read_record, write_record
from program_guided.tasks.visual.embedded.building import scenes_of, sights_of, write_world
from program_guided.tasks.visual.embedded.patches import CELLS, COLUMNS, NUMBERS, ROWS, SIDE, Patches, cells_of
from program_guided.tasks.visual.features import ObjectChunks, ObjectFeatures, tile
from program_guided.tasks.visual.graph import scene_of
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.oracle import Result
from program_guided.tasks.visual.packed import FORMAT, RECORD
from program_guided.tasks.visual.packing import pack
from program_guided.tasks.visual.targets import dense_targets
from program_guided.tasks.visual.task import Visual

torch.set_num_threads(1)

CONFIG = Objects(features=NUMBERS, positions=4, patch=SIDE, columns=COLUMNS, vector=7)


@pytest.fixture(name="world", scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("patches")
    write_world(folder, {"train": 3, "val": 1, "test": 1}, sights=sights_of(("patches", "clean")))
    make_index(folder, folder / "index")
    return folder


def test_cells_are_the_picture_cut_up():
    pixels = np.random.default_rng(0).integers(0, 256, (ROWS * SIDE, COLUMNS * SIDE, 3), np.uint8)
    cells = cells_of(Image.fromarray(pixels))
    assert cells.shape == (CELLS, NUMBERS)
    row, column = 5, 3
    part = pixels[row * SIDE : (row + 1) * SIDE, column * SIDE : (column + 1) * SIDE]
    assert np.array_equal(cells[row * COLUMNS + column], part.transpose(2, 0, 1).ravel())


def test_the_network_puts_cells_together_again():
    pixels = np.random.default_rng(0).integers(0, 256, (ROWS * SIDE, COLUMNS * SIDE, 3), np.uint8)
    detected = Patches().look(Image.fromarray(pixels))
    encoder, seen = PatchEncoder(CONFIG), list[torch.Tensor]()
    encoder.layers.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    shares = detected.boxes / np.array([detected.width, detected.height] * 2)
    arrays = {"features": detected.features[None], "boxes": shares[None].astype(np.float32)}
    found, scores = encoder({name: torch.from_numpy(each) for name, each in arrays.items()})
    assert scores.shape == (1, CELLS)
    expected = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 127.5 - 1
    torch.testing.assert_close(seen[0], expected)
    assert found["features"].shape == (1, CELLS, 7)
    assert bool(((found["features"] > 0) & (found["features"] < 1)).all())
    centres = (found["boxes"][..., :2] + found["boxes"][..., 2:]) / 2
    cells = torch.from_numpy(arrays["boxes"])
    assert bool(((cells[..., :2] <= centres) & (centres <= cells[..., 2:])).all()), "a box's centre stays in its cell"


def test_boxes_that_tile_the_picture_are_cells():
    detected = Patches().look(Image.new("RGB", (480, 360)))
    assert tile(detected.boxes, 480, 360)
    assert not tile(detected.boxes[:-1], 480, 360)
    assert not tile(detected.boxes, 640, 360)
    assert not tile(detected.boxes[:1], 30, 30)
    assert not tile(np.zeros((0, 4), np.float32), 480, 360)


def test_an_object_is_found_by_the_cell_of_its_centre():
    thing = {"name": "bag", "x": 100, "y": 50, "w": 100, "h": 60, "attributes": [], "relations": []}
    other = {"name": "cup", "x": 0, "y": 0, "w": 20, "h": 20, "attributes": [], "relations": []}
    scene = scene_of({"width": 480, "height": 360, "objects": {"1": thing, "2": other}}, "mine")
    boxes = Patches().look(Image.new("RGB", (480, 360))).boxes
    targets = dense_targets([Result(("1",)), Result(("1", "2")), Result(())], scene, boxes).objects
    bag, cup = (80 // 30) * COLUMNS + 150 // 30, 0
    assert np.flatnonzero(targets[0]).tolist() == [bag]
    assert targets[1, [bag, cup]].tolist() == [0.5, 0.5]
    assert np.flatnonzero(targets[2]).tolist() == [CELLS], "none"


def test_features_of_cells_are_read_whole_and_as_drawn(world):
    with ObjectFeatures(world / "patches") as features:
        scene = next(scenes_of("train", 1, seed=0))
        found = features.read(scene.image_id)
        assert np.array_equal(found.features, Patches().see(scene).features)
        assert found.features.shape == (CELLS, NUMBERS)
        assert features.read(scene.image_id, 3).boxes.shape == (3, 4)
    with ObjectFeatures(world / "clean") as features:
        assert len(features.read(scene.image_id).boxes) <= 50


def test_packed_cells_are_whole_and_known_as_cells(world, tmp_path):
    packed = tmp_path / "packed"
    with ObjectChunks(world / "patches") as chunks:
        with pytest.raises(DataError, match="objects 50: the objects are 192 cells of a picture, of which none"):
            pack(chunks, packed, 50)
        pack(chunks, packed)
    image = next(scenes_of("train", 1, seed=0)).image_id
    with ObjectFeatures(world / "patches") as exact, ObjectFeatures(packed) as features:
        assert np.array_equal(exact.read(image).features, features.read(image).features)
    exact, found = (Visual(data=world, features=each) for each in (world / "patches", packed))
    assert found.opened.patches == (ROWS, COLUMNS, SIDE)
    assert found.reader_config == exact.reader_config


def test_numbers_that_are_no_vectors_of_the_detector_have_no_names(world, tmp_path):
    with ObjectChunks(world / "patches") as chunks:
        pack(chunks, tmp_path / "packed")
    path = tmp_path / "packed" / RECORD
    record = read_record(path, FORMAT, "")
    write_record(path, {key: value for key, value in record.items() if key != "made_by"})
    config = Visual(data=world, features=path.parent).reader_config
    assert (config.named, config.depth, config.patch) == (False, -1, 0)


@pytest.mark.parametrize("model", ["plus", "paper"])
def test_an_executor_learns_from_pixels_end_to_end(world, tmp_path, capsys, model):
    """And begins with one that has learned from vectors, all but the network of pixels."""
    small = ["--steps", "2", "--eval-every", "2", "--batch-size", "8", "--hidden", "32", "--word-width", "4"]
    given = ["--data", str(world), "--model", model, "--heads", "4"]
    first, second = tmp_path / "clean", tmp_path / "pixels"
    assert run(["train", "visual", *given, "--features", str(world / "clean"), *small, "--out", str(first)]) == 0
    pixels = ["--features", str(world / "patches")]
    begun = ["--start", str(first), "--out", str(second)]
    assert run(["train", "visual", *given, *pixels, *small, *begun]) == 0
    reader = json.loads((second / "config.json").read_text())["reader"]
    assert (reader["patch"], reader["columns"]) == (SIDE, COLUMNS)
    capsys.readouterr()
    measured = ["evaluate", str(second), "--data", str(world), *pixels, "--json"]
    assert run(measured) == 0
    assert 0 <= json.loads(capsys.readouterr().out)["agents"][str(second)]["splits"]["test"]["accuracy"] <= 100


def test_gradients_reach_the_pixels_network():
    from program_guided.models.model import Sizes
    from program_guided.models.readers.objects import ObjectReader

    sizes = Sizes(("", "a", "b"), 2, 1, 2, False, (("Boolean", 2), ("Objects", None)))
    reader = ObjectReader(CONFIG, sizes, width=16, heads=2, blocks=1, hidden=16)
    detected = Patches().look(Image.new("RGB", (480, 360), (200, 30, 30)))
    arrays = {"features": detected.features[None], "boxes": detected.boxes[None] / 480}
    scene = reader.encode({k: torch.from_numpy(v) for k, v in arrays.items()} | {"exists": torch.ones(1, CELLS).bool()})
    reader.point(torch.randn(1, 1, 16), scene)
    view = reader.prepare(scene, torch.zeros(1, 1, 2, 16), torch.ones(1, 1, 2).bool(), torch.tensor([[[1, 2]]]))
    reader(torch.randn(1, 1, 16), view, 0).sum().backward()
    assert all(each.grad is not None and bool(each.grad.any()) for each in reader.look.layers.parameters())
