"""Readers of the release: correct files are read, and errors name the file and the record."""

import json

import h5py
import numpy as np
import pytest

from program_guided.errors import DataError
from program_guided.tasks.visual.features import ObjectFeatures, SpatialFeatures
from program_guided.tasks.visual.graph import record_of
from program_guided.tasks.visual.release import streaming
from program_guided.tasks.visual.release.reading import read_choices, read_predictions, read_questions, read_scenes
from program_guided.tasks.visual.release.streaming import stream_records
from tests.test_visual_data import real_folder, real_json

QUESTION = {
    "question": "Is there a bag?",
    "imageId": "1",
    "answer": "yes",
    "semantic": [
        {"operation": "select", "dependencies": [], "argument": "bag (7)"},
        {"operation": "exist", "dependencies": [0], "argument": "?"},
    ],
    "isBalanced": True,
    "groups": {"global": None, "local": "g"},
    "entailed": ["2"],
    "types": {"structural": "verify", "semantic": "obj", "detailed": "exist"},
}
SCENE = {
    "width": 10,
    "height": 20,
    "weather": "sunny",
    "objects": {
        "7": {
            "name": "bag",
            "x": 1,
            "y": 2,
            "w": 3,
            "h": 4,
            "attributes": ["red"],
            "relations": [{"name": "on", "object": "8"}],
        },
        "8": {"name": "table", "x": 0, "y": 0, "w": 5, "h": 5, "attributes": [], "relations": []},
    },
}


def write(path, value):
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_a_question_is_read_with_all_its_fields(tmp_path):
    (question,) = read_questions(write(tmp_path / "questions.json", {"5": QUESTION}))
    assert (question.key, question.image_id, question.text, question.answer) == ("5", "1", "Is there a bag?", "yes")
    assert (question.global_group, question.local_group, question.entailed) == (None, "g", ("2",))
    assert (question.structural, question.semantic_type, question.detailed) == ("verify", "obj", "exist")
    assert [call.operation for call in question.program.body] == ["select", "exist"]


def test_a_test_question_has_no_answer_and_no_program(tmp_path):
    record = {"imageId": "n1", "question": "What?", "isBalanced": False}
    (question,) = read_questions(write(tmp_path / "questions.json", {"5": record}))
    assert (question.answer, question.semantic, question.is_balanced) == (None, None, False)
    with pytest.raises(DataError, match="question '5' has no program"):
        _ = question.program


def test_all_real_files_are_read():
    folder = real_folder()
    assert sum(1 for _ in read_questions(folder / "train_questions.json")) == 9_644
    dev = {question.key: question for question in read_questions(folder / "dev_questions.json")}
    raw = real_json("dev_questions.json")
    assert list(dev) == list(raw)
    assert all(dev[key].entailed == tuple(raw[key]["entailed"]) for key in raw)
    scenes = {scene.image_id: record_of(scene) for scene in read_scenes(folder / "scene_graphs.json")}
    assert scenes == real_json("scene_graphs.json")


def test_streaming_equals_pythons_reader_whatever_the_window(tmp_path, monkeypatch):
    value = {f'k{i} "é': {"a": [1, 2.5, None, True, "x" * i], "b": {}} for i in range(40)} | {"n": 12345, "s": "end"}
    for indent in (None, 2):
        path = tmp_path / "file.json"
        path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", "utf-8")
        for window in (1, 2, 7, 64, 1 << 20):
            monkeypatch.setattr(streaming, "FIRST_READ", window)
            assert dict(stream_records(path)) == value
    assert dict(stream_records(write(path, {}))) == {}


def test_the_ten_chunks_are_read_in_their_order_and_none_may_be_missing(tmp_path):
    for number in reversed(range(10)):
        write(tmp_path / f"train_all_questions_{number}.json", {f"{number}{i}": QUESTION for i in range(3)})
    assert [question.key for question in read_questions(tmp_path)] == [f"{n}{i}" for n in range(10) for i in range(3)]
    (tmp_path / "train_all_questions_4.json").unlink()
    with pytest.raises(DataError, match=r"chunk 4 of 10 \(\.\.\._4\.json\) is missing"):
        list(read_questions(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"imageId": None}, "'imageId' is missing"),
        ({"imageId": 5}, "'imageId' must be a text"),
        ({"answer": None}, "'answer' is missing"),
        ({"semantic": None}, "'semantic' is missing"),
        ({"semantic": "select"}, "'semantic' must be a list"),
        ({"semantic": [{"operation": "fly", "dependencies": [], "argument": ""}]}, "unknown operation 'fly'"),
        ({"entailed": [3]}, "'entailed' must hold texts"),
        ({"groups": []}, "'groups' must be an object"),
        ({"isBalanced": "yes"}, "'isBalanced' must be true or false"),
    ],
)
def test_a_bad_question_is_an_error_with_path_and_key_or_skipped_and_reported(tmp_path, change, message):
    path = write(tmp_path / "questions.json", {"4": QUESTION, "5": QUESTION | change, "6": QUESTION})
    with pytest.raises(DataError, match=message) as caught:
        list(read_questions(path))
    assert str(path) in str(caught.value)
    assert "question '5'" in str(caught.value)
    errors = []
    assert [question.key for question in read_questions(path, errors.append)] == ["4", "6"]
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        ([], "expected 'width', 'height' and 'objects'"),
        ({"width": 1, "height": 1}, "'objects' is missing"),
        (SCENE | {"weather": 3}, "'location' and 'weather' must be texts"),
        (SCENE | {"width": 0}, "'width' and 'height' must be numbers from 1 to 1,000,000"),
        (SCENE | {"objects": {"7": {"name": "bag"}}}, "object '7': 'x' is missing"),
        (
            SCENE | {"objects": {"7": SCENE["objects"]["7"]}},
            "object '7' has a relation to '8', which is not among the objects",
        ),
        (SCENE | {"objects": {"8": SCENE["objects"]["8"] | {"x": "left"}}}, "object '8': its box must be four numbers"),
        (SCENE | {"objects": {"8": SCENE["objects"]["8"] | {"name": 3}}}, "must be texts"),
    ],
)
def test_a_bad_scene_is_named(tmp_path, scene, message):
    path = write(tmp_path / "scenes.json", {"99": scene})
    with pytest.raises(DataError, match=message) as caught:
        list(read_scenes(path))
    assert f"{path}: image '99'" in str(caught.value)


def test_choices_are_sets_and_a_bad_one_is_named(tmp_path):
    path = write(tmp_path / "choices.json", {"1": {"valid": ["a", "b"], "plausible": ["a"]}, "2": {"valid": ["a"]}})
    with pytest.raises(DataError, match=r"choices.json: question '2': 'plausible' is missing"):
        list(read_choices(path))
    ((key, choices),) = read_choices(path, lambda error: None)
    assert (key, choices.valid, choices.plausible) == ("1", {"a", "b"}, {"a"})


def test_predictions_are_read_and_what_is_wrong_with_them_is_named(tmp_path):
    path = write(tmp_path / "predictions.json", [{"questionId": "1", "prediction": "yes"}] * 2)
    assert read_predictions(path) == {"1": "yes"}
    two = [{"questionId": "1", "prediction": "yes"}, {"questionId": "1", "prediction": "no"}]
    for value, message in [
        ({"1": "yes"}, "expected a list of predictions"),
        (two, "question '1' has two predictions"),
        ([{"questionId": "1"}], "prediction 0: 'prediction' is missing"),
        ([{"questionId": 1, "prediction": "yes"}], "prediction 0: 'questionId' must be a text"),
        (["yes"], "prediction 0: is not an object of fields"),
    ]:
        with pytest.raises(DataError, match=message):
            read_predictions(write(path, value))
    path.write_text("[", "utf-8")
    with pytest.raises(DataError, match="predictions.json: is cut off or damaged"):
        read_predictions(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_predictions(tmp_path / "absent.json")


def test_a_missing_or_cut_off_or_foreign_file_is_named(tmp_path):
    whole = json.dumps({"5": QUESTION, "6": QUESTION})
    cases = {
        "absent": (None, "cannot be read"),
        "empty": ("", "cut off"),
        "cut": (whole[: len(whole) * 3 // 4], "cut off or damaged after record '5'"),
        "cut_at_end": (whole[:-1], "cut off or damaged after record"),
        "list": ("[1]", "expected '{', not '\\['"),
        "number_key": ("{1: 2}", "expected a key in quotes"),
        "tail": (whole + "x", "expected the end of the file"),
        "no_comma": ('{"5": {} "6": {}}', "expected ',', not '\"'"),
    }
    for name, (text, message) in cases.items():
        path = tmp_path / f"{name}.json"
        if text is not None:
            path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=message) as caught:
            list(stream_records(path))
        assert str(path) in str(caught.value)
    path.write_bytes(b'{"5": "\xff"}')
    with pytest.raises(DataError, match="is not UTF-8"):
        list(stream_records(path))


def features_folder(folder):
    """Two chunks of unequal length; row r of chunk c holds 100 c + r + object / 10, so that all rows differ."""
    info = {}
    for chunk, length in enumerate((3, 2)):
        rows = (100 * chunk + np.arange(length))[:, None] + np.arange(100) / 10
        with h5py.File(folder / f"gqa_objects_{chunk}.h5", "w") as file:
            file["features"] = np.repeat(rows[:, :, None], 8, 2).astype(np.float32)
            file["bboxes"] = np.repeat(rows[:, :, None], 4, 2).astype(np.float32)
        with h5py.File(folder / f"gqa_spatial_{chunk}.h5", "w") as file:
            file["features"] = np.broadcast_to(rows[:, :1, None, None], (length, 8, 7, 7)).astype(np.float32)
        for row in range(length):
            place = {"file": chunk, "idx": row, "objectsNum": 60 - row, "width": 640, "height": 480}
            info[f"n{100 * chunk + row}"] = place
    write(folder / "gqa_objects_info.json", info)
    write(folder / "gqa_spatial_info.json", {key: {"file": v["file"], "idx": v["idx"]} for key, v in info.items()})
    return info


def test_a_picture_gets_its_own_row_of_its_own_chunk(tmp_path):
    info = features_folder(tmp_path)
    with ObjectFeatures(tmp_path) as objects, SpatialFeatures(tmp_path) as spatial:
        assert objects.image_ids == tuple(info)
        for image_id in info:
            detected = objects.read(image_id)
            assert detected.features.shape == (50, 8)
            assert detected.boxes.shape == (50, 4)
            np.testing.assert_allclose(detected.features[:, 0], int(image_id[1:]) + np.arange(50) / 10, rtol=1e-6)
            np.testing.assert_array_equal(detected.boxes[:, 0], detected.features[:, 0])
            assert objects.read(image_id, max_detected=100).features.shape[0] == info[image_id]["objectsNum"]
            assert spatial.read(image_id).shape == (8, 7, 7)
            assert spatial.read(image_id)[0, 0, 0] == int(image_id[1:])


def test_what_is_wrong_with_features_is_named(tmp_path):
    info = features_folder(tmp_path)
    bad = {
        "row": info["n0"] | {"idx": 3},
        "file": info["n0"] | {"file": 9},
        "field": {"file": 0},
        "count": info["n0"] | {"objectsNum": 101},
    }
    path = write(tmp_path / "gqa_objects_info.json", bad)
    messages = {
        "row": "gqa_objects_0.h5: 'features' row 3 .image 'row'.: there are only 3 rows",
        "file": "gqa_objects_9.h5: is missing",
        "field": "gqa_objects_info.json: image 'field': 'idx' must be a whole number",
        "count": "'objectsNum' is 101, but there are 100 rows",
        "absent": "there are no features of image 'absent'",
    }
    with ObjectFeatures(tmp_path) as objects:
        for image_id, message in messages.items():
            with pytest.raises(DataError, match=message):
                objects.read(image_id)
    path.write_text('{"row": {', "utf-8")
    with pytest.raises(DataError, match="gqa_objects_info.json: is cut off or damaged"):
        ObjectFeatures(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        ObjectFeatures(tmp_path / "nowhere")


def test_a_cut_off_or_foreign_h5_file_is_named(tmp_path):
    features_folder(tmp_path)
    whole = (tmp_path / "gqa_objects_0.h5").read_bytes()
    (tmp_path / "gqa_objects_0.h5").write_bytes(whole[: len(whole) // 2])
    with h5py.File(tmp_path / "gqa_objects_1.h5", "w") as file:
        file["other"] = np.zeros(3)
    with ObjectFeatures(tmp_path) as objects:
        with pytest.raises(DataError, match=r"gqa_objects_0.h5: is cut off or no HDF5 file"):
            objects.read("n0")
        with pytest.raises(DataError, match=r"gqa_objects_1.h5: has no 'features'"):
            objects.read("n100")
