"""Detector features of the GQA release: `gqa_objects_*.h5` and `gqa_spatial_*.h5` with their info files.

Departures from the paper: none; it takes the first 50 objects of 2048 numbers. A picture's row is looked up by its id,
written exactly as the info file writes it, in the chunk that the info file names.

    with ObjectFeatures(Path("objects")) as features:
        detected = features.read("2386621", max_detected=50)
        detected.features.shape, detected.boxes.shape        (n, 2048), (n, 4)

`ObjectFeatures(Path("my.h5"))` reads one file of the same layout, such as `proto features extract` writes for a folder
of pictures. Its objects are the cells of a grid, and it includes a classifier of cells. A folder that `proto features
pack` has made is read in the same way.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.files import read_json, record_checksum
from program_guided.tasks.visual.checksums import described, read_checked
from program_guided.tasks.visual.graph import MAX_SIDE
from program_guided.tasks.visual.h5 import FAULTS, NUMBERS, TEXTS, checked_dataset, open_h5, read_text
from program_guided.tasks.visual.packed import Packed, is_packed
from program_guided.tasks.visual.plan import FEATURE_FOLDERS, REMEDY, World, complete_world
from program_guided.tasks.visual.release.skipping import OnBad, refuse

__all__ = [
    "DIMENSION",
    "INFO_CHECKSUM",
    "MAX_DETECTED",
    "Detected",
    "ObjectChunks",
    "ObjectFeatures",
    "SpatialFeatures",
    "info_path",
    "tile",
]

DIMENSION = 2048
MAX_DETECTED = 50
"""N of the paper."""
MAX_NUMBER = 2**31 - 1
"""Maximum number of a file, a row or an object."""
INFO_CHECKSUM = "info_sha256"
"""Attribute of an extracted file: checksum of the file that maps pictures to its rows."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Detected:
    """Detected objects of a picture."""

    features: Floats
    """(n, dimension)"""
    boxes: Floats
    """(n, 4) x1, y1, x2, y2 in pixels"""
    width: int
    height: int


def tile(boxes: NDArray[np.floating], width: int, height: int) -> bool:
    """Whether boxes are equal cells that tile a picture."""
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1, dtype=np.float64)
    return len(boxes) > 1 and bool(np.ptp(areas) < 0.01 * areas[0] and abs(areas.sum() / (width * height) - 1) < 1e-3)


def info_path(path: Path) -> Path:
    """File that maps pictures to rows: `my_info.json` for `my.h5`, `gqa_objects_info.json` for a chunk."""
    return path.with_name(re.sub(r"_\d+$", "", path.stem) + "_info.json")


class _Closable(ABC):
    """A context manager that closes itself at the end of `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...


class _Chunks(_Closable):
    """Files `{name}_{number}.h5` and `{name}_info.json`, or one file alone; opened when first needed."""

    def __init__(self, place: Path, name: str) -> None:
        self._place = place
        self._name = name
        self.info_path = info_path(self._path(0))
        self._world = self._find_world()
        self._info, self._info_digest = self._read_info()
        self._open: dict[int, Any] = {}
        self._datasets: dict[tuple[int, str], Any] = {}
        self._arrays: dict[str, NDArray[Any]] = {}

    def close(self) -> None:
        self._datasets.clear()
        for file in self._open.values():
            file.close()
        self._open.clear()

    @property
    def image_ids(self) -> tuple[str, ...]:
        return tuple(self._info)

    def _path(self, number: int) -> Path:
        alone = self._place.suffix == ".h5" and number == 0
        return self._place if alone else self._place / f"{self._name}_{number}.h5"

    @property
    def plan(self) -> Mapping[str, Any] | None:
        """Plan of the world that the features were built with; None for those of a release, and for extracted ones."""
        return self._world.plan if self._world else None

    @property
    def made_by(self) -> Mapping[str, Any] | None:
        """Part of the world's plan that describes these features; None where there is no plan."""
        found = self._world.plan.get("features", {}).get(self.info_path.parent.name) if self._world else None
        return dict(found) if found else None

    @property
    def content(self) -> str:
        """Checksum of the file that maps pictures to rows."""
        return self._info_digest

    def _find_world(self) -> World | None:
        folder = self.info_path.parent
        world = complete_world(folder.parent) if folder.name in FEATURE_FOLDERS else None
        if world is not None and folder.name not in world.plan.get("features", (folder.name,)):
            raise DataError(f"{folder}: is no part of the world in {folder.parent}; remove it, or {REMEDY}")
        return world

    def _read_info(self) -> tuple[dict[str, Any], str]:
        """The rows by picture, and the checksum of their file."""
        about = self._world.about(self.info_path) if self._world else None
        if about:
            read_checked(self.info_path, about, REMEDY)
        info = read_json(self.info_path)
        if not isinstance(info, dict) or not info:
            raise DataError(f"{self.info_path}: expected an object that maps image ids to rows")
        return info, described(self.info_path)["sha256"]

    def _entry(self, image_id: str, *names: str) -> list[int]:
        """Integers of a picture's info record."""
        record = self._info.get(image_id)
        if record is None:
            raise DataError(f"{self.info_path}: there are no features of image {quote(image_id)}")
        values = [record.get(name) if isinstance(record, dict) else None for name in names]
        for name, value in zip(names, values, strict=True):
            low, high = (1, MAX_SIDE) if name in ("width", "height") else (0, MAX_NUMBER)
            if type(value) is not int or not low <= value <= high:
                raise DataError(
                    f"{self.info_path}: image {quote(image_id)}: '{name}' must be a whole number from {low} to {high:,}"
                )
        return [int(value) for value in values if value is not None]

    def _rows(self, image_id: str, dataset: str, file: int, row: int, shape: tuple[int | None, ...]) -> Floats:
        """A picture's row of a dataset, checked against a shape (None: any length)."""
        path = self._path(file)
        where = f"{path}: '{dataset}' row {row} (image {quote(image_id)})"
        data = self._dataset(file, dataset, NUMBERS, 1 + len(shape))
        if row >= len(data):
            raise DataError(f"{where}: there are only {len(data)} rows")
        try:
            with np.errstate(over="ignore"):
                values = np.asarray(data[row], np.float32)
        except FAULTS as error:
            raise DataError(f"{where}: cannot be read ({error})") from None
        if any(expected not in (None, side) for expected, side in zip(shape, values.shape, strict=True)):
            expected_shape = ", ".join("any" if side is None else str(side) for side in shape)
            raise DataError(f"{where}: has the shape {values.shape}; expected ({expected_shape})")
        return values

    def _dataset(self, number: int, name: str, kinds: str, rank: int) -> Any:
        if (number, name) not in self._datasets:
            path = self._path(number)
            data = checked_dataset(self._file(number), path, name, kinds, rank)
            if data is None:
                raise DataError(f"{path}: has no '{name}'{self._without(name)}")
            self._datasets[number, name] = data
        return self._datasets[number, name]

    def _without(self, name: str) -> str:
        return ""

    def _existing(self, number: int) -> Path:
        path = self._path(number)
        if not path.is_file():
            raise DataError(f"{path}: is missing, though {self.info_path.name} names it")
        return path

    def _file(self, number: int) -> Any:
        if number not in self._open:
            path = self._existing(number)
            file = open_h5(path)
            digest = read_text(file, path, INFO_CHECKSUM)
            if digest not in (None, self._info_digest):
                raise DataError(f"{self.info_path}: is damaged, or not of {path.name}; extract the features again")
            self._open[number] = file
        return self._open[number]


@final
class ObjectChunks(_Chunks):
    """`gqa_objects`: boxes and a feature vector for each; a folder of the release, or one file."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "gqa_objects")

    def files(self, skip_missing: bool = False) -> list[Path]:
        """The info file, and all files that it names."""
        numbers = sorted({file for file, *_ in self._places(lambda error: None).values()})
        named = [self._path(number) if skip_missing else self._existing(number) for number in numbers]
        return [self.info_path, *(path for path in named if path.is_file())]

    def stored(self, on_bad: OnBad = refuse) -> dict[str, int]:
        """Pictures in the order in which they are stored -> number of objects."""
        places = self._places(on_bad)
        return {image_id: count for image_id, (*_, count) in sorted(places.items(), key=lambda each: each[1][:2])}

    def _places(self, on_bad: OnBad) -> dict[str, list[int]]:
        """Picture -> file, row, number of objects."""
        found: dict[str, list[int]] = {}
        for image_id in self._info:
            try:
                found[image_id] = self._entry(image_id, "file", "idx", "objectsNum")
            except DataError as error:
                on_bad(error)
        return found

    def read(self, image_id: str, max_detected: int = MAX_DETECTED) -> Detected:
        """The first `max_detected` objects of a picture."""
        file, row, count, width, height = self._entry(image_id, "file", "idx", "objectsNum", "width", "height")
        features = self._rows(image_id, "features", file, row, (None, None))
        boxes = self._rows(image_id, "bboxes", file, row, (len(features), 4))
        if count > len(features):
            problem = f"'objectsNum' is {count}, but there are {len(features)} rows"
            raise DataError(f"{self.info_path}: image {quote(image_id)}: {problem}")
        count = min(count, max_detected)
        if not (np.isfinite(features[:count]).all() and np.isfinite(boxes[:count]).all()):
            raise DataError(f"{self._path(file)}: row {row} (image {quote(image_id)}) has values that are not finite")
        return Detected(features[:count], boxes[:count], width, height)

    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, synonyms separated by commas; only extracted features have a classifier."""
        names = self._classifier("class_names", TEXTS, 1).tolist()
        return tuple(name.decode("utf-8", "replace") for name in names)

    def class_logits(self, image_id: str, max_detected: int | None = None) -> Floats:
        """(n, classes) logits of the classifier for each object."""
        features = self.read(image_id, max_detected or sys.maxsize).features
        weights, bias = self.classifier()
        if features.shape[1] != weights.shape[1] or len(weights) != len(bias):
            raise DataError(f"{self._path(0)}: the classifier does not fit the features; extract them again")
        return features @ weights.T + bias

    @property
    def classifies(self) -> bool:
        """True if the file includes a classifier."""
        path = self._path(0)
        return path.is_file() and checked_dataset(self._file(0), path, "class_weights", NUMBERS, rank=2) is not None

    def classifier(self) -> tuple[Floats, Floats]:
        """Weights (classes, dimension) and bias (classes,) of the linear classifier of objects."""
        weights, bias = self._classifier("class_weights", NUMBERS, 2), self._classifier("class_bias", NUMBERS, 1)
        return weights.astype(np.float32), bias.astype(np.float32)

    def _classifier(self, name: str, kinds: str, rank: int) -> NDArray[Any]:
        if name not in self._arrays:
            data = self._dataset(0, name, kinds, rank)
            try:
                self._arrays[name] = np.asarray(data[()])
            except FAULTS as error:
                raise DataError(f"{self._path(0)}: '{name}' cannot be read ({error})") from None
        return self._arrays[name]

    def _without(self, name: str) -> str:
        return "; only features of proto features extract have a classifier" if name.startswith("class_") else ""


@final
class ObjectFeatures(_Closable):
    """Boxes and a feature vector of every object: of a folder of the release, of one file, or packed."""

    def __init__(self, place: Path) -> None:
        self._store = Packed(place) if is_packed(place) else ObjectChunks(place)
        self.info_path = self._store.info_path
        self.plan = self._store.plan
        """Plan of the world that the features were built with; None for those of a release, and for extracted ones."""
        self.made_by = self._store.made_by
        """Part of the plan that describes these features; None where there is none."""
        self._most: int | None = None

    @property
    def digest(self) -> str:
        """Identifier of the features, wherever they are: of their part of a world's plan or, without one, of the file
        that maps pictures to rows, or of the packed shards."""
        return record_checksum({"made by": self.made_by, "content": None if self.made_by else self._store.content})

    def close(self) -> None:
        self._store.close()

    @property
    def image_ids(self) -> tuple[str, ...]:
        return self._store.image_ids

    def read(self, image_id: str, max_detected: int | None = None) -> Detected:
        """The first `max_detected` objects of a picture: by default, `MAX_DETECTED` objects, or all of its cells."""
        if max_detected is None:
            max_detected = self._most or self._find_most(image_id)
        if isinstance(self._store, Packed):
            return Detected(*self._store.read(image_id, max_detected))
        return self._store.read(image_id, max_detected)

    def _find_most(self, image_id: str) -> int:
        """Default maximum number of objects, by those of one picture."""
        found = self.read(image_id, sys.maxsize)
        self._most = len(found.boxes) if tile(found.boxes, found.width, found.height) else MAX_DETECTED
        return self._most

    @property
    def classifies(self) -> bool:
        """True if the file includes a classifier."""
        return isinstance(self._store, ObjectChunks) and self._store.classifies

    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, synonyms separated by commas; only extracted features have a classifier."""
        return self._chunks.class_names()

    def class_logits(self, image_id: str, max_detected: int | None = None) -> Floats:
        """(n, classes) logits of the classifier for each object."""
        return self._chunks.class_logits(image_id, max_detected)

    def classifier(self) -> tuple[Floats, Floats]:
        """Weights (classes, dimension) and bias (classes,) of the linear classifier of objects."""
        return self._chunks.classifier()

    @property
    def _chunks(self) -> ObjectChunks:
        if isinstance(self._store, ObjectChunks):
            return self._store
        raise DataError(f"{self.info_path}: packed features have no classifier; give the file they were packed of")


@final
class SpatialFeatures(_Chunks):
    """`gqa_spatial`: a grid of 7 x 7 vectors."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "gqa_spatial")

    def read(self, image_id: str) -> Floats:
        """(2048, 7, 7)"""
        file, row = self._entry(image_id, "file", "idx")
        return self._rows(image_id, "features", file, row, (None, 7, 7))
