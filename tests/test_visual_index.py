"""The index: equal to the release, without leaks of answers, complete or absent."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.tasks.visual.checksums import write_record
from program_guided.tasks.visual.domain import DOMAIN, OPERATION_WORDS, routine_words, semantic_of
from program_guided.tasks.visual.embedded.building import write_questions
from program_guided.tasks.visual.index import WIDTH, Index, building, parts
from program_guided.tasks.visual.index.assembly import HEADER, SKIPPED, UNKNOWN_WORD
from program_guided.tasks.visual.index.building import UNFINISHED, make_index
from program_guided.tasks.visual.oracle import execute
from program_guided.tasks.visual.release.reading import read_choices, read_questions, read_scenes
from program_guided.tasks.visual.release.streaming import open_records
from tests.test_visual_data import real_folder
from tests.test_visual_release import QUESTION, SCENE, write

SETS = {
    "train_all": "train_all_questions",
    "train_balanced": "train_balanced_questions.json",
    "val_all": "val_all_questions.json",
    "val_balanced": "val_balanced_questions.json",
}


@pytest.fixture(name="world", scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_questions(folder, "train", 12, seed=5)
    write_questions(folder, "val", 3, seed=5)
    return folder


@pytest.fixture(name="index", scope="module")
def indexed(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    assert make_index(world, folder)
    return Index.open(folder, verify=True)


def as_indexed(question):
    return replace(question, full_answer=None, grounding=None, semantic=None, indexed_program=question.program)


def contents(folder):
    """Contents of all files of an index; the header without its sources, whose times differ, and its checksum."""
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    header = json.loads(files.pop(Path(HEADER)))
    return files | {"header": {key: value for key, value in header.items() if key not in ("sources", "sha256")}}


def small(folder, **records):
    """A release of one training file."""
    folder.mkdir(exist_ok=True)
    write(folder / "train_questions.json", records or {"1": QUESTION})
    return folder


def test_every_question_scene_and_choice_is_read_back_from_the_index(world, index):
    assert set(index.sets) == set(SETS)
    for name, file in SETS.items():
        expected = [as_indexed(question) for question in read_questions(world / file)]
        assert list(index.questions(name)) == expected
        assert index.sets[name] == len(expected)
    for split in ("train", "val"):
        assert index.choices(split) == dict(read_choices(world / f"{split}_choices.json"))
        for scene in read_scenes(world / f"{split}_sceneGraphs.json"):
            assert index.scene(scene.image_id) == scene
    assert len(index.scene_ids) == 15


def test_categories_that_were_never_seen_are_indexed_as_words(tmp_path):
    steps = [
        {"operation": "select", "dependencies": [], "argument": "bag (7)"},
        {"operation": "filter sharpness", "dependencies": [0], "argument": "not(very sharp) (7)"},
        {"operation": "select", "dependencies": [], "argument": "cup (8)"},
        {"operation": "choose bigger", "dependencies": [1, 2], "argument": ""},
    ]
    root = small(tmp_path / "root", **{"1": {**QUESTION, "semantic": steps}})
    make_index(root, tmp_path / "index")
    index = Index.open(tmp_path / "index", verify=True)
    (question,) = index.questions("train")
    assert [step["operation"] for step in semantic_of(question.program)] == [step["operation"] for step in steps]
    words = index.questions("train").batch([0]).words[0]
    shown = [tuple(index.words[word] for word in row) for row in words]
    assert shown == [
        (*routine_words(call), *[""] * (WIDTH - len(routine_words(call)))) for call in question.program.body
    ]
    assert shown[1][:5] == ("filter", "sharpness", "not", "", "very sharp")
    assert shown[3][:2] == ("choose", "bigger")


def test_a_batch_equals_the_programs(world, index):
    questions = list(read_questions(world / SETS["train_all"]))
    chosen = [7, 0, len(questions) - 1, 7]
    batch = index.questions("train_all").batch(chosen)
    longest = max(len(questions[number].program.body) for number in chosen)
    assert batch.words.shape == (4, longest, WIDTH)
    for row, number in enumerate(chosen):
        question = questions[number]
        steps = list(calls(question.program.body))
        assert batch.lengths[row] == len(steps)
        assert index.answers[batch.answers[row]] == question.answer
        assert index.images[batch.images[row]] == question.image_id
        for step in range(longest):
            words = [index.words[word] for word in batch.words[row, step]]
            if step >= len(steps):
                assert (words, batch.operations[row, step]) == ([""] * WIDTH, -1)
                assert list(batch.parents[row, step]) == [-1, -1]
                continue
            expected = list(routine_words(steps[step]))
            assert words == expected + [""] * (WIDTH - len(expected))
            assert DOMAIN.operations[batch.operations[row, step]].name == steps[step].operation
            assert [parent for parent in batch.parents[row, step] if parent >= 0] == list(steps[step].inputs)


def test_an_empty_batch_and_a_missing_question(index):
    questions = index.questions("val_all")
    assert questions.batch([]).words.shape == (0, 0, WIDTH)
    for wrong in (-1, len(questions)):
        with pytest.raises(DataError, match="val_all has the questions 0 to"):
            questions.batch([wrong])
    assert questions.numbers[questions.key(2)] == 2


def leaking(ids, swap):
    """Questions with these ids, and with the options in this order."""
    options = ["top", "bottom"][:: -1 if swap else 1]
    choose = [
        {"operation": "select", "dependencies": [], "argument": f"bag ({ids[0]})"},
        {"operation": "relate", "dependencies": [0], "argument": f"_,on,s ({ids[1]})"},
        {"operation": "choose vposition", "dependencies": [1], "argument": "|".join(options)},
    ]
    choose_relation = [
        choose[0],
        {
            "operation": "choose rel",
            "dependencies": [0],
            "argument": f"cup,{'|'.join(['on', 'under'][:: -1 if swap else 1])},s ({ids[1]})",
        },
    ]
    exist = [choose[0], {"operation": "exist", "dependencies": [0], "argument": "?"}]
    annotations = {"question": {"1": ids[0]}, "answer": {}, "fullAnswer": {}}
    return {
        str(number): QUESTION | {"semantic": semantic, "annotations": annotations, "answer": answer}
        for number, (semantic, answer) in enumerate([(choose, "top"), (choose_relation, "under"), (exist, "yes")])
    }


def test_ids_reach_only_targets_and_the_order_of_options_nothing(tmp_path):
    made, batches, found = [], [], []
    for number, (ids, swap) in enumerate([(("7", "8,9"), False), (("-", "123456"), True)]):
        root = small(tmp_path / str(number), **leaking(ids, swap))
        make_index(root, root / "index")
        files = contents(root / "index")
        files["header"]["files"] = {
            name: each for name, each in files["header"]["files"].items() if "found" not in name
        }
        made.append({name: each for name, each in files.items() if "found" not in str(name)})
        questions = Index.open(root / "index").questions("train")
        batches.append([array.tolist() for array in vars(questions.batch([0, 1, 2])).values()])
        found.append(questions.found(0))
    assert made[0] == made[1]
    assert batches[0] == batches[1]
    assert {"words.npy", "operation.npy", "negated.npy", "parents.npy"} <= {Path(name).name for name in made[0]}
    assert found == [(("7",), ("8", "9"), None), ((), ("123456",), None)]


def test_what_the_release_says_is_found_is_what_the_words_find(world, index):
    """In the embedded world, where both are certain."""
    compared = 0
    for name in SETS:
        questions = index.questions(name)
        for number in range(len(questions)):
            question, found = questions.question(number), questions.found(number)
            scene = index.scene(question.image_id)
            by_words, by_ids = execute(question.program, scene), execute(question.program, scene, found=found)
            assert by_words == by_ids
            known = [(ids, result.value) for ids, result in zip(found, by_words, strict=True) if ids is not None]
            assert all(set(ids) == set(value) for ids, value in known)
            compared += len(known)
    assert compared > 500


def test_words_that_train_lacks_are_unknown_in_batches_but_kept_in_questions(tmp_path):
    root = small(tmp_path / "root", **{"1": QUESTION, "2": QUESTION, "3": QUESTION | {"answer": "maybe"}})
    other = [QUESTION["semantic"][0] | {"argument": "not(zebra) (5)"}, QUESTION["semantic"][1]]
    write(root / "val_questions.json", {"4": QUESTION | {"semantic": other, "answer": "never"}})
    make_index(root, root / "index")
    index = Index.open(root / "index")
    assert index.answers == ["yes", "maybe", "never"]
    assert index.known_answers == 2
    assert "zebra" not in index.words[: index.known_words]
    batch = index.questions("val").batch([0])
    assert batch.words[0, 0, OPERATION_WORDS] == UNKNOWN_WORD
    assert index.words[batch.words[0, 0, 2]] == "not"
    assert batch.answers[0] == 2
    assert semantic_of(index.questions("val").question(0).program)[0]["argument"] == "not(zebra)"


def test_a_test_question_without_program_and_answer_is_kept(tmp_path):
    root = small(tmp_path / "root")
    write(root / "test_questions.json", {"9": {"imageId": "n1", "question": "What é?", "isBalanced": False}})
    make_index(root, root / "index")
    questions = Index.open(root / "index").questions("test")
    assert questions.batch([0]).lengths[0] == 0
    assert questions.batch([0]).answers[0] == -1
    assert questions.question(0) == next(iter(read_questions(root / "test_questions.json")))


def test_an_index_of_fewer_sets_keeps_no_columns_of_the_others(world, tmp_path):
    make_index(world, tmp_path / "once", ("val_balanced",))
    make_index(world, tmp_path / "twice")
    make_index(world, tmp_path / "twice", ("val_balanced",))
    assert contents(tmp_path / "twice") == contents(tmp_path / "once")
    assert sorted(path.name for path in (tmp_path / "twice" / "questions").iterdir()) == ["val_balanced"]


def test_a_replaced_source_of_equal_size_is_warned_of(tmp_path, capsys):
    root = small(tmp_path / "root")
    make_index(root, root / "index")
    Index.open(root / "index").check_sources(root)
    assert not capsys.readouterr().err
    path = root / "train_questions.json"
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(0, 0))
    Index.open(root / "index").check_sources(root)
    assert "train_questions.json: has another time than when it was indexed" in capsys.readouterr().err


def test_processes_and_the_size_of_parts_change_nothing(world, index, tmp_path, monkeypatch):
    assert make_index(world, tmp_path / "two", processes=2)
    assert contents(tmp_path / "two") == contents(index.folder)
    monkeypatch.setattr(parts, "PART_BYTES", 3000)
    assert make_index(world, tmp_path / "small")
    assert contents(tmp_path / "small") == contents(index.folder)


def test_a_reader_resumes_after_any_record(tmp_path):
    value = {f"k{number} é": {"x": "ü" * number, "y": [number]} for number in range(9)}
    for text in (
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\r\n"),
    ):
        path = tmp_path / "file.json"
        path.write_bytes(text.encode("utf-8"))
        with open_records(path) as reader:
            positions = [reader.position() for _ in reader.records()]
        for number, position in enumerate(positions):
            with open_records(path, position) as reader:
                assert list(reader.records()) == list(value.items())[number + 1 :]


KILLED = """
import os, signal, sys
from pathlib import Path
from program_guided.tasks.visual.index import building, parts
parts.PART_BYTES = 3000
moments = []
def progress(moment):
    moments.append(moment)
    if len(moments) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
building.make_index(Path(sys.argv[1]), Path(sys.argv[2]), progress=progress)
"""


def test_a_killed_build_is_resumed_with_the_same_result(world, index, tmp_path, monkeypatch):
    folder = tmp_path / "index"
    killed = subprocess.run([sys.executable, "-c", KILLED, world, folder], timeout=600)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(DataError, match="there is no finished index"):
        Index.open(folder)
    kept = sorted((folder / UNFINISHED).glob("*.npz"))
    assert len(kept) == 5
    stale = folder / "questions" / "train_all" / ".words.npy.1.tmp"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"left by a killed process")
    behind_second = parts.load_part(kept[1]).end
    kept[2].write_bytes(kept[2].read_bytes()[:-100])
    monkeypatch.setattr(parts, "PART_BYTES", 3000)
    made = []
    monkeypatch.setattr(building, "read_part", lambda *arguments: made.append(arguments) or parts.read_part(*arguments))
    assert make_index(world, folder)
    assert min(start for source, start, *_ in made if source.name == "train_balanced") == behind_second
    assert contents(folder) == contents(index.folder)
    assert not (folder / UNFINISHED).exists()


def test_an_interrupted_build_leaves_no_process_and_is_resumed(world, index, tmp_path):
    def interrupt(moment):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_index(world, tmp_path, processes=2, progress=interrupt)
    assert not multiprocessing.active_children()
    moments = []
    assert make_index(world, tmp_path, progress=moments.append)
    assert moments[-1].done == moments[-1].total
    assert contents(tmp_path) == contents(index.folder)


def test_a_finished_index_is_made_again_only_when_its_sources_change(tmp_path):
    root = small(tmp_path / "root")
    assert make_index(root, root / "index")
    assert not make_index(root, root / "index")
    small(root, **{"1": QUESTION, "2": QUESTION})
    assert make_index(root, root / "index")
    assert Index.open(root / "index").sets == {"train": 2}
    assert make_index(root, root / "index", skip_bad=True)


def test_killed_at_its_very_end_a_build_is_swept_by_the_next(world, tmp_path):
    assert make_index(world, tmp_path)
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "0000-00000.npz").write_bytes(b"")
    (tmp_path / ".lock").touch()
    assert not make_index(world, tmp_path)
    assert not {"unfinished", ".lock"} & {path.name for path in tmp_path.iterdir()}


def test_parts_of_other_sources_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", 10)
    root = small(tmp_path / "root", **{"1": QUESTION, "2": QUESTION})

    def stop(moment):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_index(root, root / "index", progress=stop)
    small(root, **{"1": QUESTION | {"answer": "no, not this"}, "2": QUESTION})
    make_index(root, root / "index")
    assert [question.answer for question in Index.open(root / "index").questions("train")] == ["no, not this", "yes"]


BAD = {
    "a record": ({"1": QUESTION, "5": QUESTION | {"imageId": None}}, None, "question '5': 'imageId' is missing", 1),
    "a step": (
        {"5": QUESTION | {"semantic": [{"operation": "fly", "dependencies": [], "argument": ""}]}, "1": QUESTION},
        None,
        "question '5': step 0 of 'semantic': unknown operation 'fly'",
        1,
    ),
    "half a character": (
        {"1": QUESTION, "5": QUESTION | {"question": "\ud800"}},
        None,
        "question '5': 'question' is no",
        1,
    ),
    "a long program": (
        {"1": QUESTION, "5": QUESTION | {"semantic": QUESTION["semantic"][:1] * 1001}},
        None,
        "question '5': 'semantic' has 1,001 steps",
        1,
    ),
    "a cut": ({"1": QUESTION, "5": QUESTION}, -40, "cut off or damaged after record '1'", 1),
    "a foreign file": ({}, 0, "cut off or damaged after its beginning", 0),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_record_is_an_error_or_skipped_counted_and_listed(case, tmp_path):
    records, cut, message, left = BAD[case]
    root = small(tmp_path / "root")
    path = write(root / "val_questions.json", records)
    if cut is not None:
        path.write_bytes(path.read_bytes()[:cut])
    for processes in (1, 2) if case == "a record" else (1,):
        with pytest.raises(DataError, match=re.escape(message)) as caught:
            make_index(root, root / "index", processes=processes)
        assert str(path) in str(caught.value)
    make_index(root, root / "index", skip_bad=True)
    index = Index.open(root / "index")
    assert index.sets == {"train": 1, "val": left}
    assert index.header["skipped"] == 1
    (line,) = (root / "index" / SKIPPED).read_text("utf-8").splitlines()
    assert message in line
    assert str(path) in line
    assert [question.key for question in index.questions("val")] == ["1"] * left


def test_a_bad_scene_graph_or_choice_is_named(tmp_path):
    root = small(tmp_path / "root")
    path = write(root / "train_sceneGraphs.json", {"1": SCENE, "2": SCENE | {"width": 0}})
    with pytest.raises(
        DataError, match="image '2': 'width' and 'height' must be numbers from 1 to 1,000,000"
    ) as caught:
        make_index(root, root / "index")
    assert str(path) in str(caught.value)
    write(path, {"1": SCENE})
    write(root / "train_choices.json", {"1": {"valid": ["a"]}})
    with pytest.raises(DataError, match=r"train_choices.json: question '1': 'plausible' is missing"):
        make_index(root, root / "index")


def test_a_missing_chunk_is_an_error_or_skipped(tmp_path):
    for number in (0, 1, 2, 3, 5, 6, 7, 8, 9):
        (tmp_path / "train_all_questions").mkdir(exist_ok=True)
        write(tmp_path / "train_all_questions" / f"train_all_questions_{number}.json", {str(number): QUESTION})
    with pytest.raises(DataError, match="chunk 4 of 10"):
        make_index(tmp_path, tmp_path / "index")
    make_index(tmp_path, tmp_path / "index", skip_bad=True)
    index = Index.open(tmp_path / "index")
    assert [question.key for question in index.questions("train_all")] == list("012356789")
    assert index.header["skipped"] == 1


def test_files_are_found_where_the_archives_unpack_them(tmp_path):
    for folder, name in (("questions1.2", "train_balanced_questions.json"), ("a/b", "val_balanced_questions.json")):
        (tmp_path / folder).mkdir(parents=True)
        write(tmp_path / folder / name, {"1": QUESTION})
    make_index(tmp_path, tmp_path / "index", only=["train_balanced"])
    assert Index.open(tmp_path / "index").sets == {"train_balanced": 1}
    with pytest.raises(DataError, match="unknown set of questions 'val_balancd': did you mean 'val_balanced'"):
        make_index(tmp_path, tmp_path / "index", only=["val_balancd"])
    make_index(tmp_path, tmp_path / "other", only=["val_balanced"])
    alone = Index.open(tmp_path / "other")
    assert (alone.sets, alone.known_answers) == ({"val_balanced": 1}, 0), "any set can be indexed alone"
    write(tmp_path / "val_balanced_questions.json", {})
    with pytest.raises(DataError, match="is a duplicate of"):
        make_index(tmp_path, tmp_path / "index")


def test_a_folder_without_questions_is_an_error(tmp_path):
    with pytest.raises(DataError, match="there are no questions; expected train_balanced_questions.json"):
        make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="there is no such folder"):
        make_index(tmp_path / "nowhere", tmp_path / "index")
    assert not list(tmp_path.iterdir())


def test_a_damaged_index_is_named_on_opening(tmp_path):
    root = small(tmp_path / "root")
    make_index(root, tmp_path / "index")
    path = tmp_path / "index" / "questions" / "train" / "words.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"words.npy: has \d+ bytes, but \d+ were written; make it with"):
        Index.open(tmp_path / "index")
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    questions = Index.open(tmp_path / "index").questions("train")
    for reading in (lambda: questions.batch([0]), lambda: Index.open(tmp_path / "index", verify=True)):
        with pytest.raises(DataError, match=r"words.npy: is damaged, its checksum is not the recorded one"):
            reading()
    path.unlink()
    with pytest.raises(DataError, match=r"words.npy: cannot be read"):
        Index.open(tmp_path / "index")
    assert make_index(root, tmp_path / "index")
    header = tmp_path / "index" / HEADER
    about = json.loads(header.read_text())
    for change, message in (
        ({"version": 99}, "is version 99"),
        ({"format": "x"}, "is not the header of a program_guided visual index"),
    ):
        write_record(header, {key: value for key, value in (about | change).items() if key != "sha256"})
        with pytest.raises(DataError, match=message):
            Index.open(tmp_path / "index")
    with pytest.raises(DataError, match="unknown set 'tran': did you mean 'train'"):
        Index(tmp_path / "index", about).questions("tran")


def test_an_unwritable_folder_is_an_error(tmp_path):
    root = small(tmp_path / "root")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        make_index(root, tmp_path / "file")


def test_all_real_questions_go_through_the_index(tmp_path):
    folder = real_folder()
    make_index(folder, tmp_path, processes=2)
    index = Index.open(tmp_path)
    assert index.sets == {"dev": 1_418, "train": 9_644}
    for name in index.sets:
        expected = map(as_indexed, read_questions(folder / f"{name}_questions.json"))
        assert list(index.questions(name)) == list(expected)
    assert [index.scene(scene.image_id) for scene in read_scenes(folder / "scene_graphs.json")] == list(
        read_scenes(folder / "scene_graphs.json")
    )
    words = index.questions("dev").batch(np.arange(1_418)).words
    assert words.max() < index.known_words
