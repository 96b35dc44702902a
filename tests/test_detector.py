"""The detector: labels, losses, detections, measures; training is resumed to equal weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from program_guided.errors import DataError
from program_guided.learning.networks import kind_of, read_network, save_network
from program_guided.learning.trainer import train
from program_guided.tasks.visual.detector.evaluation import average_precision, measure
from program_guided.tasks.visual.detector.labels import NONE, labels_of, slot_of
from program_guided.tasks.visual.detector.learning import detector_loss
from program_guided.tasks.visual.detector.network import (
    CELL,
    UNIT,
    Detections,
    DetectorNetwork,
    Heads,
    Map,
    decoded,
    overlap,
    proposals,
    suppressed,
)
from program_guided.tasks.visual.detector.pictures import Pictures, pixels, read_drawing
from program_guided.tasks.visual.detector.settings import DetectorSettings
from program_guided.tasks.visual.detector.sight import PixelSight, detected_in, vectors_of
from program_guided.tasks.visual.detector.training import DetectorJob, load_detector
from program_guided.tasks.visual.drawing.scene import CLEAN, Camera, draw_picture
from program_guided.tasks.visual.embedded.scenes import HEIGHT, WIDTH, sample_scene
from program_guided.tasks.visual.embedded.vectors import PARTS, SCENE_VALUES, SIZE, VALUE_PARTS, true_vectors
from program_guided.tasks.visual.embedded.vocabulary import NAMES, WORLD_VALUES
from program_guided.tasks.visual.features import MAX_DETECTED
from tests.detectors import TINY, save_detector

SETTINGS = DetectorSettings(steps=4, eval_every=2, warmup=1, batch_size=2, pictures=6, held_out=2)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(name="drawn", scope="module")
def drawn_pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    Pictures(folder, SETTINGS.pictures + SETTINGS.held_out, seed=0).draw()
    return folder


def job(folder, drawn, **changes):
    return replace(DetectorJob(SETTINGS, folder, drawn, TINY), **changes)


def test_labels_are_those_of_the_scene():
    scene = sample_scene(11)
    labels = labels_of(scene)
    for at, thing in enumerate(scene.objects.values()):
        assert NAMES[labels.names[at]] == thing.name
        assert tuple(labels.boxes[at]) == thing.box.corners
        for category, value in zip(VALUE_PARTS, labels.attributes[at], strict=True):
            assert value == NONE or WORLD_VALUES[category][value] in thing.attributes
    location, weather = (values[at] for values, at in zip(SCENE_VALUES.values(), labels.scene, strict=True))
    assert (location, weather) == (scene.location, scene.weather)
    assert slot_of(NAMES.index("table")) == 0
    assert slot_of(NAMES.index("apple")) == 1


def perfect_map(labels):
    """Stage one's output for which every box is decoded exactly."""
    rows, columns = HEIGHT // CELL, WIDTH // CELL
    scores, boxes = torch.full((1, 2, rows, columns), -9.0), torch.zeros(1, 2, 4, rows, columns)
    for name, box in zip(labels.names.tolist(), torch.from_numpy(labels.boxes), strict=True):
        x, y = ((box[:2] + box[2:]) / (2 * CELL)).tolist()
        slot = slot_of(name) if scores[0, slot_of(name), int(y), int(x)] < 0 else 1 - slot_of(name)
        scores[0, slot, int(y), int(x)] = 9.0
        sides = ((box[2:] - box[:2]) / UNIT).log()
        boxes[0, slot, :, int(y), int(x)] = torch.cat([torch.tensor([x - int(x), y - int(y)]), sides])
    return Map(scores, boxes, torch.zeros(1, 8, rows, columns), torch.zeros(1, 12))


def test_boxes_are_decoded_from_cells():
    for seed in range(20):
        labels = labels_of(sample_scene(seed))
        found, scores = proposals(perfect_map(labels), 0, (1, 3, HEIGHT, WIDTH), 0.5)
        best = overlap(torch.from_numpy(labels.boxes), found).max(dim=1).values
        assert (best > 0.99).float().mean() > 0.8, "neighbouring cells can hide each other"
        assert (scores > 0.99).all()


def test_near_copies_are_suppressed():
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 5, 10], [50, 50, 60, 60]])
    assert suppressed(boxes).tolist() == [0, 2, 3]
    assert overlap(boxes[:1], boxes).tolist()[0] == pytest.approx([1, 0.9, 0.5, 0])
    raw = torch.tensor([[0.5, 0.5, 9.0, 0.0]])
    far = decoded(raw, torch.tensor([1]), torch.tensor([1]), (3, 100, 200))
    assert far.tolist() == [[0.0, 0.0, 200.0, 28.0]], "inside the picture, at most so large"


def test_average_precision_computed_by_hand():
    true = np.array([[0, 0, 10, 10], [20, 20, 30, 30]], np.float32)
    names = np.zeros(2, np.int64)
    found = np.array([[0, 0, 10, 10], [50, 50, 60, 60], [20, 20, 30, 30]], np.float32)
    scores, said = np.array([0.9, 0.8, 0.7], np.float32), np.zeros(3, np.int64)
    # precision 1 at recall 1/2, 2/3 at recall 1
    assert average_precision([(found, scores, said, true, names)], 0) == pytest.approx(0.5 + 0.5 * 2 / 3)
    twice = np.array([[0, 0, 10, 10], [0, 0, 10, 10]], np.float32)
    assert average_precision([(twice, scores[:2], said[:2], true, names)], 0) == pytest.approx(0.5)
    assert average_precision([(found[:0], scores[:0], said[:0], true, names)], 0) == 0
    assert np.isnan(average_precision([(found, scores, said, true, names)], 1))


def perfect_detections(scene):
    """Detections that are certain of the truth."""
    labels, vectors = labels_of(scene), torch.from_numpy(true_vectors(scene))
    sure = 20 * vectors - 10
    heads = Heads(vectors, sure[:, PARTS["names"]], sure[:, PARTS["values"]], sure[:, PARTS["roles"]], vectors[:, -1])
    of_scene = torch.cat([sure[0, PARTS[part]] for part in SCENE_VALUES])
    return Detections(torch.from_numpy(labels.boxes), torch.ones(len(vectors)), heads, of_scene)


def test_certain_detections_have_full_measures_and_true_vectors():
    scenes = [sample_scene(seed) for seed in range(8)]
    found = [perfect_detections(scene) for scene in scenes]
    measures = measure(found, [labels_of(scene) for scene in scenes])
    assert measures["AP50"] == measures["AP50 by name"] == measures["attributes"] == measures["weather"] == 1
    for scene, each in zip(scenes, found, strict=True):
        known = true_vectors(scene)
        np.testing.assert_allclose(vectors_of(each)[:, PARTS["names"]], known[:, PARTS["names"]], atol=0.01)
        np.testing.assert_allclose(vectors_of(each)[:, PARTS["roles"]], known[:, PARTS["roles"]], atol=0.01)
        has = known[:, PARTS["values"]] > 0
        assert (vectors_of(each)[:, PARTS["values"]][has] > 0.9).all()


def test_the_loss_falls_on_a_few_pictures(drawn):
    torch.manual_seed(0)
    network, pictures = DetectorNetwork(TINY), Pictures(drawn, SETTINGS.pictures + SETTINGS.held_out, seed=0)
    batch = torch.from_numpy(np.stack([pictures.picture(number) for number in range(2)]))
    labels = [pictures.labels(number) for number in range(2)]
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        loss = detector_loss(network, batch, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_a_training_that_was_interrupted_ends_with_the_same_weights(tmp_path, drawn):
    train(job(tmp_path / "whole", drawn))

    class Stop(Exception):
        pass

    def stop(moment):
        if moment.step == 3:
            raise Stop

    with pytest.raises(Stop):
        train(job(tmp_path / "parts", drawn), stop)
    train(job(tmp_path / "parts", drawn, resume=True))
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_saved_detector_sees_the_same_in_half_precision(tmp_path, drawn):
    train(job(tmp_path, drawn))
    assert kind_of(tmp_path) == "detector"
    scene = sample_scene(3)
    found = detected_in(load_detector(tmp_path), pixels(scene, CLEAN), torch.from_numpy(labels_of(scene).boxes))
    assert found.features.shape == (len(scene.objects), SIZE)
    assert np.isfinite(found.features).all()
    seen = PixelSight(str(tmp_path), "true", CLEAN).see(scene)
    np.testing.assert_array_equal(seen.features, found.features)
    assert PixelSight(str(tmp_path)).plan() != PixelSight(str(tmp_path), camera=Camera(noise=30)).plan()


def equal(one, other):
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.boxes, other.boxes)
    return (one.width, one.height) == (other.width, other.height)


def test_a_drawn_picture_is_seen_as_its_scene_is(tmp_path):
    """The picture of a scene and camera, drawn elsewhere: also from a file, of another mode, and larger."""
    scene, camera = sample_scene(5), Camera(noise=12)
    sight, picture = PixelSight(str(save_detector(tmp_path)), camera=camera), draw_picture(scene, camera=camera)
    found = sight.look(picture)
    assert equal(found, sight.see(scene))
    assert not np.array_equal(found.features, PixelSight(str(tmp_path), camera=CLEAN).see(scene).features)
    assert 0 < len(found.boxes) <= MAX_DETECTED
    assert (found.boxes >= 0).all()
    assert (found.boxes <= [WIDTH, HEIGHT, WIDTH, HEIGHT]).all()
    picture.save(tmp_path / "scene.png")
    picture.convert("RGBA").save(tmp_path / "transparent.png")
    assert equal(found, sight.look(read_drawing(tmp_path / "scene.png")))
    assert equal(found, sight.look(read_drawing(tmp_path / "transparent.png")))
    draw_picture(scene, 2.0).convert("L").save(tmp_path / "large.png")
    large = sight.look(read_drawing(tmp_path / "large.png"))
    assert (large.width, large.height) == (WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("gone.png", None, "gone.png: "), ("text.png", b"text", "text.png: "), ("cut.png", "cut", "cut.png: ")],
)
def test_a_file_that_is_no_picture_is_one_clear_error(tmp_path, name, content, message):
    path = tmp_path / name
    if content == "cut":
        draw_picture(sample_scene(5)).save(path)
        content = path.read_bytes()[:5000]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_drawing(path)


def test_pictures_that_are_missing_are_drawn_and_equal(tmp_path):
    first = Pictures(tmp_path / "one", 3, seed=5)
    first.draw()
    before = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    first.draw()
    assert {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()} == before
    other = Pictures(tmp_path / "two", 3, seed=5)
    other.draw()
    assert {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()} == before
    np.testing.assert_array_equal(first.picture(1), pixels(first.scene(1), Camera()))


def test_what_is_no_detector_is_one_clear_error(tmp_path, drawn):
    with pytest.raises(DataError, match="does not exist"):
        load_detector(tmp_path / "none")
    with pytest.raises(DataError, match="is not a detector"):
        load_detector("minecraft")
    save_network(tmp_path / "other", "parser", torch.nn.Linear(2, 2), {})
    with pytest.raises(DataError, match="is not a detector"):
        read_network(tmp_path / "other", "detector")
    save_network(tmp_path / "wrong", "detector", torch.nn.Linear(2, 2), {"width": 4})
    with pytest.raises(DataError, match="do not fit"):
        load_detector(tmp_path / "wrong")
    with pytest.raises(DataError, match="pictures are missing"):
        train(job(tmp_path / "run", Path(tmp_path / "no pictures")))
