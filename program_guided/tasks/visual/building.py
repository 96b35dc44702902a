"""Writes the embedded world in the release's own files, so that one reader serves both.

    train_balanced_questions.json    train_all_questions/train_all_questions_{0..9}.json
    train_sceneGraphs.json           train_choices.json
    objects/gqa_objects_{0..}.h5     objects/gqa_objects_info.json

and the same of `val` and `test` (whose "all" questions are one file). Departures from the paper: see `vocabulary.py`.

    write_world(Path("world"), {"train": 4000, "val": 200, "test": 300}, seed=0)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import h5py  # type: ignore[import-untyped,unused-ignore]
import numpy as np

from program_guided.errors import DataError
from program_guided.files import renamed, write_atomically
from program_guided.language.domain import unknown
from program_guided.tasks.visual.detections import Detector, detect
from program_guided.tasks.visual.graph import Scene, record_of
from program_guided.tasks.visual.questions import PER_SCENE, Questioner
from program_guided.tasks.visual.records import choices_record, question_record
from program_guided.tasks.visual.release import CHUNKS, Question, question_of
from program_guided.tasks.visual.scenes import sample_scene

__all__ = ["SPLITS", "questions_of", "scenes_of", "write_features", "write_questions", "write_world"]

SPLITS = {"train": 4000, "val": 200, "test": 300}
"""Scenes of each split."""
QUESTIONS = {"train": 20, "val": PER_SCENE, "test": PER_SCENE}
"""Balanced questions about each scene."""
MOST_SCENES = 1_000_000
FIRST_IMAGE = {"train": MOST_SCENES, "val": 2 * MOST_SCENES, "test": 3 * MOST_SCENES}
"""Ids of a split's pictures count from here: no picture is in two splits."""
PICTURES_PER_FILE = 1000

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, of how much."""


def scenes_of(split: str, count: int, seed: int) -> Iterator[Scene]:
    """The scenes of a split, one by one; the same for the same seed."""
    if split not in FIRST_IMAGE:
        raise DataError(f"{unknown('split', split, FIRST_IMAGE)} (there are {', '.join(FIRST_IMAGE)})")
    if count > MOST_SCENES:
        raise DataError(f"a split has at most {MOST_SCENES:,} scenes, not {count:,}")
    for number in range(count):
        image_id = str(FIRST_IMAGE[split] + number)
        yield sample_scene(hash_seed(seed, int(image_id)), image_id)


def hash_seed(seed: int, number: int) -> int:
    """A seed for the `number`-th thing that has this seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def questions_of(split: str, count: int, seed: int) -> Iterator[Question]:
    """The questions that are asked about the scenes of a split, as the reader of the release gives them."""
    questioner = _questioner(split, seed)
    for scene in scenes_of(split, count, seed):
        yield from (question_of(each.key, question_record(each)) for each in questioner.about(scene))


def write_world(
    folder: Path,
    splits: Mapping[str, int] = SPLITS,
    seed: int = 0,
    detector: Detector | None = None,
    progress: Progress = lambda what, done, total: None,
) -> None:
    """Write questions, scene graphs, choices and features of all splits."""
    for split, count in splits.items():
        write_questions(folder, split, count, seed, progress=progress)
    scenes = (scene for split, count in splits.items() for scene in scenes_of(split, count, seed))
    write_features(folder / "objects", scenes, sum(splits.values()), seed, detector or Detector(), progress)


def write_questions(
    folder: Path,
    split: str,
    count: int,
    seed: int,
    progress: Progress = lambda what, done, total: None,
) -> None:
    """Write a split's questions, scene graphs and choices, without ever holding them all."""
    scenes = scenes_of(split, count, seed)
    questioner = _questioner(split, seed)
    with ExitStack() as stack:
        balanced = stack.enter_context(_records(folder / f"{split}_balanced_questions.json"))
        graphs = stack.enter_context(_records(folder / f"{split}_sceneGraphs.json"))
        choices = stack.enter_context(_records(folder / f"{split}_choices.json"))
        everything = [stack.enter_context(_records(path)) for path in _all_paths(folder, split)]
        for number, scene in enumerate(scenes):
            graphs(scene.image_id, record_of(scene))
            asked = questioner.about(scene)
            for each in asked:
                record = question_record(each)
                everything[number * len(everything) // count](each.key, record)
                choices(each.key, choices_record(each))
                if each.balanced:
                    balanced(each.key, record)
            progress(f"{split} questions", number + 1, count)


def write_features(
    folder: Path, scenes: Iterable[Scene], count: int, seed: int, detector: Detector, progress: Progress
) -> None:
    """Write what a detector sees; the info file comes last, so that what it names is there."""
    info: dict[str, dict[str, int]] = {}
    scenes = iter(scenes)
    for start in range(0, count, PICTURES_PER_FILE):
        length = min(PICTURES_PER_FILE, count - start)
        with _h5_file(folder / f"gqa_objects_{start // PICTURES_PER_FILE}.h5", length, detector) as (features, boxes):
            for row in range(length):
                scene = next(scenes)
                found = detect(scene, detector, hash_seed(seed + 1, int(scene.image_id)))
                features[row, : len(found.features)] = found.features
                boxes[row, : len(found.boxes)] = found.boxes
                place = {"file": start // PICTURES_PER_FILE, "idx": row, "objectsNum": len(found.boxes)}
                info[scene.image_id] = place | {"width": scene.width, "height": scene.height}
                progress("features", start + row + 1, count)
    write_atomically(folder / "gqa_objects_info.json", json.dumps(info).encode("utf-8"))


def _questioner(split: str, seed: int) -> Questioner:
    return Questioner(hash_seed(seed, FIRST_IMAGE.get(split, 0)), QUESTIONS.get(split, PER_SCENE))


def _all_paths(folder: Path, split: str) -> list[Path]:
    if split != "train":
        return [folder / f"{split}_all_questions.json"]
    return [folder / "train_all_questions" / f"train_all_questions_{number}.json" for number in range(CHUNKS)]


@contextmanager
def _h5_file(path: Path, length: int, detector: Detector) -> Iterator[tuple[Any, Any]]:
    """A file of the release's layout; it has its name only when it is whole."""
    with renamed(path) as temporary, h5py.File(temporary, "w") as file:
        shape = (length, detector.most, detector.dimension)
        features = file.create_dataset("features", shape, "float16", chunks=(1, *shape[1:]), compression="lzf")
        yield features, file.create_dataset("bboxes", (length, detector.most, 4), "float32")


@contextmanager
def _records(path: Path) -> Iterator[Callable[[str, Any], None]]:
    """A JSON object written record by record; it has its name only when it is whole."""
    with renamed(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        writer = _Records(file)
        yield writer.add
        file.write("}\n" if writer.count else "{}\n")


class _Records:
    def __init__(self, file: TextIO) -> None:
        self.count = 0
        self._file = file

    def add(self, key: str, record: Any) -> None:
        self._file.write(f"{',' if self.count else '{'}{json.dumps(key)}:{json.dumps(record, separators=(',', ':'))}\n")
        self.count += 1
