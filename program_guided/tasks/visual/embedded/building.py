"""Writes the embedded world in the formats of the release, so that one reader serves both.

    train_balanced_questions.json    train_all_questions/train_all_questions_{0..9}.json
    train_sceneGraphs.json           train_choices.json
    objects/gqa_objects_{0..}.h5     objects/gqa_objects_info.json
    pictures/{image}.png             world.json: the plan, and checksums of all the others (`visual/plan.py`)

and the same of `val` and `test` (whose "all" questions are one file). Departures from the paper: see `vocabulary.py`.

    write_world(Path("world"), {"train": 4000, "val": 200, "test": 300}, seed=0)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from program_guided.errors import DataError
from program_guided.files import renamed, write_atomically
from program_guided.language.domain import unknown
from program_guided.tasks.visual.embedded.detections import Simulation, simulate
from program_guided.tasks.visual.embedded.questions import PER_SCENE, Questioner
from program_guided.tasks.visual.embedded.records import choices_record, question_record
from program_guided.tasks.visual.embedded.scenes import sample_scene
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.features import MAX_DETECTED
from program_guided.tasks.visual.graph import Scene, record_of
from program_guided.tasks.visual.h5 import CHECKED, write_h5
from program_guided.tasks.visual.index.assembly import HEADER
from program_guided.tasks.visual.plan import OBJECTS_FOLDER, built
from program_guided.tasks.visual.release.reading import CHUNKS, Question, question_of

__all__ = [
    "SPLITS",
    "cost_of",
    "plan_of",
    "questions_of",
    "scenes_of",
    "write_features",
    "write_questions",
    "write_world",
]

VERSION = 2
"""Raised when the same seed gives another world."""

SPLITS = {"train": 4000, "val": 200, "test": 300}
"""Number of scenes of each split."""
QUESTIONS = {"train": 20, "val": PER_SCENE, "test": PER_SCENE}
"""Number of balanced questions about each scene."""
MAX_SCENES = 1_000_000
FIRST_IMAGE = {"train": MAX_SCENES, "val": 2 * MAX_SCENES, "test": 3 * MAX_SCENES}
"""First picture id of each split; the ranges are disjoint."""
PICTURES_PER_FILE = 1000
MEGABYTES_PER_SCENE, SECONDS_PER_SCENE = 0.118, 0.06
"""Measured on one core."""

Progress = Callable[[str, int, int], None]
"""Called with (description, number done, total)."""


def scenes_of(split: str, count: int, seed: int) -> Iterator[Scene]:
    """Generate the scenes of a split; deterministic in the seed."""
    _check(split, count)
    for number in range(count):
        image_id = str(FIRST_IMAGE[split] + number)
        yield sample_scene(hash_seed(seed, int(image_id)), image_id)


def _check(split: str, count: int) -> None:
    if split not in FIRST_IMAGE:
        raise DataError(f"{unknown('split', split, FIRST_IMAGE)} (there are {', '.join(FIRST_IMAGE)})")
    if count > MAX_SCENES:
        raise DataError(f"a split has at most {MAX_SCENES:,} scenes, not {count:,}")


def hash_seed(seed: int, number: int) -> int:
    """Derive the seed of item `number` from a seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def questions_of(split: str, count: int, seed: int) -> Iterator[Question]:
    """Generate the questions about the scenes of a split, as `release.reading` reads them."""
    generator = _generator(split, seed)
    for scene in scenes_of(split, count, seed):
        yield from (question_of(each.key, question_record(each)) for each in generator.about(scene))


def plan_of(splits: Mapping[str, int], seed: int, detector: Simulation, pictures: int = 0) -> dict[str, Any]:
    """All that the files of a world depend on."""
    return {
        "version": VERSION,
        "seed": seed,
        "scenes": dict(splits),
        "detector": asdict(detector),
        "pictures": pictures,
    }


def cost_of(splits: Mapping[str, int]) -> tuple[float, float]:
    """(megabytes, seconds) that a world takes."""
    scenes = sum(splits.values())
    return MEGABYTES_PER_SCENE * scenes, SECONDS_PER_SCENE * scenes


def write_world(
    folder: Path,
    splits: Mapping[str, int] = SPLITS,
    seed: int = 0,
    detector: Simulation | None = None,
    progress: Progress = lambda what, done, total: None,
    pictures: int = 0,
) -> None:
    """Write the questions, scene graphs, choices and features of all splits, and some scenes of test as pictures.

    A world that is already there is replaced: its plan and its index are removed first.
    """
    detector = detector or Simulation()
    for split, count in splits.items():
        _check(split, count)
    with built(folder, plan_of(splits, seed, detector, pictures)) as files:
        (folder / "index" / HEADER).unlink(missing_ok=True)
        for split, count in splits.items():
            files += write_questions(folder, split, count, seed, progress=progress)
        scenes = (scene for split, count in splits.items() for scene in scenes_of(split, count, seed))
        files += write_features(folder / OBJECTS_FOLDER, scenes, sum(splits.values()), seed, detector, progress)
        files += _draw(folder / "pictures", min(pictures, splits.get("test", 0)), seed, progress)


def write_questions(
    folder: Path,
    split: str,
    count: int,
    seed: int,
    progress: Progress = lambda what, done, total: None,
) -> list[Path]:
    """Write the questions, scene graphs and choices of a split, one scene at a time; the paths of the files."""
    scenes = scenes_of(split, count, seed)
    generator = _generator(split, seed)
    kinds = ("balanced_questions", "sceneGraphs", "choices")
    paths = [*(folder / f"{split}_{kind}.json" for kind in kinds), *_all_paths(folder, split)]
    with ExitStack() as stack:
        balanced, graphs, choices, *everything = (stack.enter_context(_records(path)) for path in paths)
        for number, scene in enumerate(scenes):
            graphs(scene.image_id, record_of(scene))
            for each in generator.about(scene):
                record = question_record(each)
                everything[number * len(everything) // count](each.key, record)
                choices(each.key, choices_record(each))
                if each.balanced:
                    balanced(each.key, record)
            progress(f"{split} questions", number + 1, count)
    return paths


def write_features(
    folder: Path, scenes: Iterable[Scene], count: int, seed: int, detector: Simulation, progress: Progress
) -> list[Path]:
    """Write detected objects; the paths of the files. The info file is written last, when the files it names exist."""
    info: dict[str, dict[str, int]] = {}
    info_file = folder / "gqa_objects_info.json"
    info_file.unlink(missing_ok=True)
    scenes, paths = iter(scenes), list[Path]()
    for start in range(0, count, PICTURES_PER_FILE):
        length = min(PICTURES_PER_FILE, count - start)
        paths.append(folder / f"gqa_objects_{start // PICTURES_PER_FILE}.h5")
        with _h5_file(paths[-1], length, detector) as (features, boxes, check):
            for row in range(length):
                scene = next(scenes)
                detected = simulate(scene, detector, hash_seed(seed + 1, int(scene.image_id)))
                features[row, : len(detected.features)] = detected.features
                boxes[row, : len(detected.boxes)] = detected.boxes
                check()
                place = {"file": start // PICTURES_PER_FILE, "idx": row, "objectsNum": len(detected.boxes)}
                info[scene.image_id] = place | {"width": scene.width, "height": scene.height}
                progress("features", start + row + 1, count)
    write_atomically(info_file, json.dumps(info).encode("utf-8"))
    return [*paths, info_file]


def _draw(folder: Path, count: int, seed: int, progress: Progress) -> list[Path]:
    """Draw scenes of test; the paths of the pictures."""
    from program_guided.tasks.visual.drawing.scene import draw_scene

    paths: list[Path] = []
    for scene in scenes_of("test", count, seed):
        paths.append(folder / f"{scene.image_id}.png")
        with renamed(paths[-1]) as temporary:
            draw_scene(scene).save(temporary, "PNG")
        progress("pictures", len(paths), count)
    return paths


def _generator(split: str, seed: int) -> Questioner:
    return Questioner(hash_seed(seed, FIRST_IMAGE.get(split, 0)), QUESTIONS.get(split, PER_SCENE))


def _all_paths(folder: Path, split: str) -> list[Path]:
    if split != "train":
        return [folder / f"{split}_all_questions.json"]
    return [folder / "train_all_questions" / f"train_all_questions_{number}.json" for number in range(CHUNKS)]


@contextmanager
def _h5_file(path: Path, length: int, detector: Simulation) -> Iterator[tuple[Any, Any, Callable[[], None]]]:
    """Datasets of a file in the release's layout, and a check of the disk; it is renamed to its path when complete."""
    with write_h5(path) as (file, check):
        shape, boxes = (MAX_DETECTED, SIZE), (MAX_DETECTED, 4)
        features = file.create_dataset("features", (length, *shape), "float16", chunks=(1, *shape), **CHECKED)
        yield features, file.create_dataset("bboxes", (length, *boxes), "float32", chunks=(1, *boxes), **CHECKED), check


@contextmanager
def _records(path: Path) -> Iterator[Callable[[str, Any], None]]:
    """Function that writes the records of a JSON object; the file is renamed to its path when complete."""
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
