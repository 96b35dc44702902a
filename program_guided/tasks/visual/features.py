"""Detector features of the GQA release: `gqa_objects_*.h5` and `gqa_spatial_*.h5` with their info files.

Departures from the paper: none; it takes the first 50 objects of 2048 numbers. A picture's row is looked up by its id,
written exactly as the info file writes it, in the chunk that the info file names.

    with ObjectFeatures(Path("objects")) as features:
        detected = features.read("2386621", max_detected=50)
        detected.features.shape, detected.boxes.shape        (n, 2048), (n, 4)

`ObjectFeatures(Path("my.h5"))` reads one file of the same layout, such as `proto features extract` writes for a folder
of pictures. Its objects are the cells of a grid, and it includes a classifier of cells.
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

__all__ = ["DIMENSION", "MAX_DETECTED", "Detected", "ObjectFeatures", "SpatialFeatures", "info_path"]

DIMENSION = 2048
MAX_DETECTED = 50
"""N of the paper."""

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


def info_path(path: Path) -> Path:
    """File that maps pictures to rows: `my_info.json` for `my.h5`, `gqa_objects_info.json` for a chunk."""
    return path.with_name(re.sub(r"_\d+$", "", path.stem) + "_info.json")


class _Chunks:
    """Files `{name}_{number}.h5` and `{name}_info.json`, or one file alone; opened when first needed."""

    def __init__(self, place: Path, name: str) -> None:
        self._place = place
        self._name = name
        self.info_path = info_path(self._path(0))
        self._info = _read_info(self.info_path)
        self._open: dict[int, Any] = {}
        self._arrays: dict[str, NDArray[Any]] = {}

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
        """Integers of a picture's info record."""
        record = self._info.get(image_id)
        if record is None:
            raise DataError(f"{self.info_path}: there are no features of image {quote(image_id)}")
        values = [record.get(name) if isinstance(record, dict) else None for name in names]
        for name, value in zip(names, values, strict=True):
            if type(value) is not int or value < 0:
                raise DataError(f"{self.info_path}: image {quote(image_id)}: '{name}' must be a whole number")
        return [int(value) for value in values if value is not None]

    def _rows(self, image_id: str, dataset: str, file: int, row: int, shape: tuple[int | None, ...]) -> Floats:
        """A picture's row of a dataset, checked against a shape (None: any length)."""
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
            expected not in (None, side) for expected, side in zip(shape, values.shape, strict=True)
        ):
            expected_shape = ", ".join("any" if side is None else str(side) for side in shape)
            raise DataError(f"{where}: has the shape {values.shape}; expected ({expected_shape})")
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
    """`gqa_objects`: boxes and a feature vector for each; a folder of the release, or one file."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, "gqa_objects")

    def read(self, image_id: str, max_detected: int = MAX_DETECTED) -> Detected:
        """The first `max_detected` objects of a picture."""
        file, row, count, width, height = self._entry(image_id, "file", "idx", "objectsNum", "width", "height")
        features = self._rows(image_id, "features", file, row, (None, None))
        boxes = self._rows(image_id, "bboxes", file, row, (len(features), 4))
        if count > len(features):
            problem = f"'objectsNum' is {count}, but there are {len(features)} rows"
            raise DataError(f"{self.info_path}: image {quote(image_id)}: {problem}")
        count = min(count, max_detected)
        return Detected(features[:count], boxes[:count], width, height)

    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, synonyms separated by commas; only extracted features have a classifier."""
        return tuple(name.decode("utf-8") for name in self._classifier("class_names").tolist())

    def class_logits(self, image_id: str, max_detected: int | None = None) -> Floats:
        """(n, classes) logits of the classifier for each object."""
        features = self.read(image_id, max_detected or sys.maxsize).features
        weights, bias = self.classifier()
        return features @ weights.T + bias

    @property
    def classifies(self) -> bool:
        """True if the file includes a classifier."""
        return self._path(0).is_file() and "class_weights" in self._file(0, self._path(0))

    def classifier(self) -> tuple[Floats, Floats]:
        """Weights (classes, dimension) and bias (classes,) of the linear classifier of objects."""
        weights, bias = (self._classifier(name).astype(np.float32) for name in ("class_weights", "class_bias"))
        return weights, bias

    def _classifier(self, name: str) -> NDArray[Any]:
        path = self._path(0)
        if name not in self._file(0, path):
            raise DataError(f"{path}: has no '{name}'; only features of proto features extract have a classifier")
        if name not in self._arrays:
            self._arrays[name] = np.asarray(self._file(0, path)[name][()])
        return self._arrays[name]


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
        raise DataError(f"{path}: expected an object that maps image ids to rows")
    return info
