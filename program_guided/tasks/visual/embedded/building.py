"""Writes the embedded world in the formats of the release, so that one reader serves both.

    train_balanced_questions.json    train_all_questions/train_all_questions_{0..9}.json
    train_sceneGraphs.json           train_choices.json
    objects/gqa_objects_{0..}.h5     objects/gqa_objects_info.json        seen in drawn pictures by a detector
    clean/gqa_objects_{0..}.h5       clean/gqa_objects_info.json          simulated: the truth, with little noise
    true/gqa_objects_{0..}.h5        true/gqa_objects_info.json           if wanted: by a detector, in the true boxes
    patches/gqa_objects_{0..}.h5     patches/gqa_objects_info.json        if wanted: cells of pixels, without a detector
    perfect/gqa_objects_{0..}.h5     perfect/gqa_objects_info.json        if wanted: simulated, without any error
    pictures/{image}.png             world.json: the plan, and checksums of all the others (`visual/plan.py`)

and the same of `val` and `test` (whose "all" questions are one file). Departures from the paper: see `vocabulary.py`.

    write_world(Path("world"), {"train": 4000, "val": 200, "test": 300}, seed=0)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from program_guided.errors import DataError
from program_guided.files import renamed, write_atomically
from program_guided.language.domain import unknown
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.embedded.questions import PER_SCENE, Questioner
from program_guided.tasks.visual.embedded.records import choices_record, question_record
from program_guided.tasks.visual.embedded.scenes import HEIGHT, WIDTH, sample_scene
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.graph import Scene, record_of
from program_guided.tasks.visual.h5 import CHECKED, open_h5, write_h5
from program_guided.tasks.visual.index.assembly import HEADER
from program_guided.tasks.visual.plan import FEATURE_FOLDERS, OBJECTS_FOLDER, built
from program_guided.tasks.visual.release.reading import CHUNKS, Question, question_of

__all__ = [
    "CLEAN_FOLDER",
    "DEFAULT_SIGHTS",
    "PATCHES_FOLDER",
    "PERFECT_FOLDER",
    "SPLITS",
    "TRUE_FOLDER",
    "VERSION",
    "Sight",
    "cost_of",
    "hash_seed",
    "plan_of",
    "questions_of",
    "scenes_of",
    "sights_of",
    "write_features",
    "write_questions",
    "write_world",
]

VERSION = 3
"""Raised when the same seed gives another world."""

SPLITS = {"train": 4000, "val": 200, "test": 300}
"""Number of scenes of each split."""
QUESTIONS = {"train": 20, "val": PER_SCENE, "test": PER_SCENE}
"""Number of balanced questions about each scene."""
MAX_SCENES = 1_000_000
FIRST_IMAGE = {"train": MAX_SCENES, "val": 2 * MAX_SCENES, "test": 3 * MAX_SCENES}
"""First picture id of each split; the ranges are disjoint."""
PICTURES_PER_FILE = 250
COUNTS = "objectsNum"
"""Dataset of the numbers of objects, as the info file has them."""
_, CLEAN_FOLDER, TRUE_FOLDER, PATCHES_FOLDER, PERFECT_FOLDER = FEATURE_FOLDERS
DEFAULT_SIGHTS = (OBJECTS_FOLDER, CLEAN_FOLDER)
"""Folders of a world's features."""
MEGABYTES_PER_SCENE, SECONDS_PER_SCENE = 0.118, 0.22
"""Measured on one core."""

Progress = Callable[[str, int, int], None]
"""Called with (description, number done, total)."""


def scenes_of(split: str, count: int, seed: int) -> Iterator[Scene]:
    """Generate the scenes of a split; deterministic in the seed."""
    _check(split, count)
    for number in range(count):
        yield scene_of_split(split, number, seed)


def scene_of_split(split: str, number: int, seed: int) -> Scene:
    """Generate one scene of a split."""
    image_id = str(FIRST_IMAGE[split] + number)
    return sample_scene(hash_seed(seed, int(image_id)), image_id)


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


class Sight(Protocol):
    """Something that sees the objects of scenes."""

    @property
    def shape(self) -> tuple[int, int]:
        """Maximum number of objects of a scene, and length of a vector."""

    @property
    def dtype(self) -> str:
        """Type of the numbers of vectors, as they are written."""

    def see(self, scene: Scene, seed: int) -> Detected: ...
    def plan(self) -> dict[str, Any]:
        """All that its vectors depend on, besides the scene and the seed; JSON."""


def sights_of(folders: Sequence[str] = DEFAULT_SIGHTS, noise: float = 1.0) -> dict[str, Sight]:
    """Folder of features -> what has seen them: the shipped detector in drawn pictures, in boxes of its own or the true
    ones, and a simulated one. `noise`: of the camera."""
    from program_guided.tasks.visual.detector.sight import PixelSight
    from program_guided.tasks.visual.drawing.scene import Camera
    from program_guided.tasks.visual.embedded.patches import Patches

    camera = Camera().times(noise)
    every: dict[str, Sight] = {
        OBJECTS_FOLDER: PixelSight(camera=camera),
        CLEAN_FOLDER: Simulation(),
        TRUE_FOLDER: PixelSight(camera=camera, boxes="true"),
        PATCHES_FOLDER: Patches(camera),
        PERFECT_FOLDER: Simulation(noise=0, misses=0, doubles=0, clutter=0, jitter=0),
    }
    return {folder: every[folder] for folder in folders}


def plan_of(splits: Mapping[str, int], seed: int, sights: Mapping[str, Sight], pictures: int = 0) -> dict[str, Any]:
    """All that the files of a world depend on."""
    return {
        "version": VERSION,
        "seed": seed,
        "scenes": dict(splits),
        "features": {folder: sight.plan() for folder, sight in sights.items()},
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
    sights: Mapping[str, Sight] | None = None,
    progress: Progress = lambda what, done, total: None,
    pictures: int = 0,
    noise: float = 1.0,
) -> None:
    """Write the questions, scene graphs, choices and features of all splits, and some scenes of test as pictures, with
    the `noise` of their camera.

    A world that is already there is replaced: its plan and its index are removed first. One that was interrupted is
    completed: files that are there are not written again.
    """
    sights = sights_of() if sights is None else sights
    for split, count in splits.items():
        _check(split, count)
    with built(folder, plan_of(splits, seed, sights, pictures)) as (files, resumed):
        (folder / "index" / HEADER).unlink(missing_ok=True)
        for split, count in splits.items():
            files += write_questions(folder, split, count, seed, resumed, progress)
        for name, sight in sights.items():
            files += write_features(folder / name, splits, seed, sight, resumed, progress)
        files += _draw(folder / "pictures", min(pictures, splits.get("test", 0)), seed, noise, progress)


def write_questions(
    folder: Path,
    split: str,
    count: int,
    seed: int,
    resumed: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> list[Path]:
    """Write the questions, scene graphs and choices of a split, one scene at a time; the paths of the files. Files that
    are there are kept if `resumed`."""
    scenes = scenes_of(split, count, seed)
    generator = _generator(split, seed)
    kinds = ("balanced_questions", "sceneGraphs", "choices")
    paths = [*(folder / f"{split}_{kind}.json" for kind in kinds), *_all_paths(folder, split)]
    if resumed and all(path.is_file() for path in paths):
        return paths
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
    folder: Path, splits: Mapping[str, int], seed: int, sight: Sight, resumed: bool, progress: Progress
) -> list[Path]:
    """Write detected objects; the paths of the files. Files that are there are kept if `resumed`; the info file is
    written last, when the files it names exist."""
    ids = [(split, number) for split, count in splits.items() for number in range(count)]
    info_file, paths = folder / "gqa_objects_info.json", list[Path]()
    for number, start in enumerate(range(0, len(ids), PICTURES_PER_FILE)):
        paths.append(folder / f"gqa_objects_{number}.h5")
        some = ids[start : start + PICTURES_PER_FILE]
        if not (resumed and paths[-1].is_file()):
            _write_chunk(paths[-1], some, seed, sight, partial(_shown, progress, folder.name, start, len(ids)))
    info: dict[str, dict[str, int]] = {}
    for number, path in enumerate(paths):
        info |= _rows(path, number, ids[number * PICTURES_PER_FILE :])
    write_atomically(info_file, json.dumps(info).encode("utf-8"))
    return [*paths, info_file]


def _shown(progress: Progress, what: str, first: int, total: int, done: int) -> None:
    progress(what, first + done, total)


def _write_chunk(
    path: Path, ids: Sequence[tuple[str, int]], seed: int, sight: Sight, progress: Callable[[int], None]
) -> None:
    """Write the objects of some scenes."""
    with write_h5(path) as (file, check):
        shape, boxes = sight.shape, (sight.shape[0], 4)
        length = len(ids)
        features = file.create_dataset("features", (length, *shape), sight.dtype, chunks=(1, *shape), **CHECKED)
        corners = file.create_dataset("bboxes", (length, *boxes), "float32", chunks=(1, *boxes), **CHECKED)
        counts = file.create_dataset(COUNTS, (length,), "int32", **CHECKED)
        for row, (split, number) in enumerate(ids):
            scene = scene_of_split(split, number, seed)
            detected = sight.see(scene, hash_seed(seed + 1, int(scene.image_id)))
            counts[row] = len(detected.boxes)
            features[row, : len(detected.boxes)] = detected.features
            corners[row, : len(detected.boxes)] = detected.boxes
            check()
            progress(row + 1)


def _rows(path: Path, number: int, ids: Sequence[tuple[str, int]]) -> dict[str, dict[str, int]]:
    """The info records of a file."""
    with open_h5(path) as file:
        counts = file[COUNTS][:].tolist()
    return {
        str(FIRST_IMAGE[split] + scene): {
            "file": number,
            "idx": row,
            "objectsNum": count,
            "width": WIDTH,
            "height": HEIGHT,
        }
        for row, (count, (split, scene)) in enumerate(zip(counts, ids, strict=False))
    }


def _draw(folder: Path, count: int, seed: int, noise: float, progress: Progress) -> list[Path]:
    """Draw scenes of test; the paths of the pictures."""
    from program_guided.tasks.visual.drawing.scene import Camera, draw_picture

    paths, camera = list[Path](), Camera().times(noise)
    for scene in scenes_of("test", count, seed):
        paths.append(folder / f"{scene.image_id}.png")
        with renamed(paths[-1]) as temporary:
            draw_picture(scene, camera=camera).save(temporary, "PNG")
        progress("pictures", len(paths), count)
    return paths


def _generator(split: str, seed: int) -> Questioner:
    return Questioner(hash_seed(seed, FIRST_IMAGE.get(split, 0)), QUESTIONS.get(split, PER_SCENE))


def _all_paths(folder: Path, split: str) -> list[Path]:
    if split != "train":
        return [folder / f"{split}_all_questions.json"]
    return [folder / "train_all_questions" / f"train_all_questions_{number}.json" for number in range(CHUNKS)]


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
