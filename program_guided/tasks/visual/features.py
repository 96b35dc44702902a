"""Detector features of the GQA release: `gqa_objects_*.h5` and `gqa_spatial_*.h5` with their info files.

Departures from the paper: none; it takes the first 50 objects of 2048 numbers. A picture's row is looked up by its id,
written exactly as the info file writes it, in the chunk that the info file names.

    with ObjectFeatures(Path("objects")) as features:
        found = features.read("2386621", most=50)
        found.features.shape, found.boxes.shape        (n, 2048), (n, 4)

`ObjectFeatures(Path("my.h5"))` reads one file of the same layout: features of one's own pictures, as
`proto features extract` makes them. Their objects are the cells of a grid, and the classifier that comes with them says
what is in each.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py  # type: ignore[import-untyped,unused-ignore]
import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.files import read_json

__all__ = ["DIMENSION", "MOST_DETECTED", "Detected", "ObjectFeatures", "SpatialFeatures", "info_path"]

DIMENSION = 2048
MOST_DETECTED = 50
"""N of the paper."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Detected:
    """What a detector found in a picture."""

    features: Floats
    """(n, dimension)"""
    boxes: Floats
    """(n, 4) x1, y1, x2, y2 in pixels"""
    width: int
    height: int


def info_path(path: Path) -> Path:
    """Where it is said which row of a file is whose: `my_info.json` of `my.h5`, `gqa_objects_info.json` of a chunk."""
    return path.with_name(re.sub(r"_\d+$", "", path.stem) + "_info.json")


class _Chunks:
    """Files `{name}_{number}.h5` beside `{name}_info.json`, or one file alone; opened when first needed."""

    def __init__(self, place: Path, name: str) -> None:
        self._place = place
        self._name = name
        self.info_path = info_path(self._path(0))
        self._info = _read_info(self.info_path)
        self._open: dict[int, Any] = {}
        self._kept: dict[str, NDArray[Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()

    @property
    def image_ids(self) -> tuple[str, ...]:
        return tuple(self._info)

    def _path(self, number: int) -> Path:
        alone = self._place.suffix == ".h5" and number == 0
        return self._place if alone else self._place / f"{self._name}_{number}.h5"

    def _entry(self, image_id: str, *names: str) -> list[int]:
        """Whole numbers of a picture's info record."""
        record = self._info.get(image_id)
        if record is None:
            raise DataError(f"{self.info_path}: there are no features of image {quote(image_id)}")
        values = [record.get(name) if isinstance(record, dict) else None for name in names]
        for name, value in zip(names, values, strict=True):
            if type(value) is not int or value < 0:
                raise DataError(f"{self.info_path}: image {quote(image_id)}: '{name}' must be a whole number")
        return [int(value) for value in values if value is not None]

    def _rows(self, image_id: str, dataset: str, file: int, row: int, shape: tuple[int | None, ...]) -> Floats:
        """One picture's rows of a dataset, of the shape expected (None: any length)."""
        path = self._path(file)
        where = f"{path}: '{dataset}' row {row} (image {quote(image_id)})"
        try:
            data = self._file(file, path)[dataset]
            if row >= len(data):
                raise DataError(f"{where}: there are only {len(data)} rows")
            values = np.asarray(data[row], np.float32)
        except KeyError:
            raise DataError(f"{path}: has no '{dataset}'") from None
        except (OSError, RuntimeError) as error:
            raise DataError(f"{where}: cannot be read ({error})") from None
        if len(values.shape) != len(shape) or any(
            wanted not in (None, side) for wanted, side in zip(shape, values.shape, strict=True)
        ):
            raise DataError(f"{where}: has the shape {values.shape}")
        return values

    def _file(self, number: int, path: Path) -> Any:
        if number not in self._open:
            if not path.is_file():
                raise DataError(f"{path}: is missing, though {self.info_path.name} names it")
            try:
                self._open[number] = h5py.File(path, "r")
            except OSError as error:
                raise DataError(f"{path}: is cut off or no HDF5 file ({error})") from None
        return self._open[number]


class ObjectFeatures(_Chunks):
    """`gqa_objects`: boxes and a vector of each; a folder of the release, or one file."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "gqa_objects")

    def read(self, image_id: str, most: int = MOST_DETECTED) -> Detected:
        """The first objects of a picture, at most `most`."""
        file, row, count, width, height = self._entry(image_id, "file", "idx", "objectsNum", "width", "height")
        features = self._rows(image_id, "features", file, row, (None, None))
        boxes = self._rows(image_id, "bboxes", file, row, (len(features), 4))
        if count > len(features):
            wrong = f"'objectsNum' is {count}, but there are {len(features)} rows"
            raise DataError(f"{self.info_path}: image {quote(image_id)}: {wrong}")
        kept = min(count, most)
        return Detected(features[:kept], boxes[:kept], width, height)

    def class_names(self) -> tuple[str, ...]:
        """What the classifier can say, synonyms parted by commas; only files of one's own pictures have one."""
        return tuple(name.decode("utf-8") for name in self._classifier("class_names").tolist())

    def class_logits(self, image_id: str, most: int | None = None) -> Floats:
        """(n, classes) what the classifier says of each object; their softmax is its probabilities."""
        features = self.read(image_id, most or sys.maxsize).features
        weights, bias = self.classifier()
        return features @ weights.T + bias

    @property
    def classifies(self) -> bool:
        """Whether there is a classifier."""
        return self._path(0).is_file() and "class_weights" in self._file(0, self._path(0))

    def classifier(self) -> tuple[Floats, Floats]:
        """Weights (classes, dimension) and bias (classes,) of what says of an object what it is."""
        weights, bias = (self._classifier(name).astype(np.float32) for name in ("class_weights", "class_bias"))
        return weights, bias

    def _classifier(self, name: str) -> NDArray[Any]:
        path = self._path(0)
        if name not in self._file(0, path):
            raise DataError(f"{path}: has no '{name}'; only proto features extract stores a classifier")
        if name not in self._kept:
            self._kept[name] = np.asarray(self._file(0, path)[name][()])
        return self._kept[name]


class SpatialFeatures(_Chunks):
    """`gqa_spatial`: a grid of 7 x 7 vectors."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "gqa_spatial")

    def read(self, image_id: str) -> Floats:
        """(2048, 7, 7)"""
        file, row = self._entry(image_id, "file", "idx")
        return self._rows(image_id, "features", file, row, (None, 7, 7))


def _read_info(path: Path) -> dict[str, Any]:
    info = read_json(path)
    if not isinstance(info, dict):
        raise DataError(f"{path}: expected an object, image id to its place")
    return info
