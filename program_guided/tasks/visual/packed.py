"""Packed features of objects: half precision, without padding, in shards that are mapped into memory.

    packed.json          format, version, maximum number of objects, dimension, sources; checksums of shards' records
    shard_0000.json      picture -> first row, objects, width, height, CRC-32; size and SHA-256 of the two files below
    features_0000.npy    (rows, dimension) float16
    boxes_0000.npy       (rows, 4) float32: x1, y1, x2, y2 in pixels

Departures from the paper: features are rounded to half precision. `packed.json` names no shards until all are complete
(`packing.py`). On opening, the records and the sizes of all files are compared; the checksum of a picture's rows, when
they are first read. Nothing but memory is shared with a forked process, so that it may go on reading.

    packed = Packed(Path("packed"))
    features, boxes, width, height = packed.read("2386621", max_detected=50)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.tasks.visual.checksums import check_file, read_record

__all__ = [
    "BOX",
    "FORMAT",
    "HALF",
    "RECORD",
    "REMEDY",
    "SHARD_FORMAT",
    "VERSION",
    "Packed",
    "checksum",
    "is_packed",
    "shard_names",
]

FORMAT, SHARD_FORMAT = "program_guided packed features", "program_guided shard of packed features"
VERSION = 1
RECORD = "packed.json"
REMEDY = "run the same proto features pack again, which makes anew what is missing or damaged"
HALF, BOX = np.dtype("<f2"), np.dtype("<f4")
UNSHARED = 32_767
"""Elements that torch converts in one thread (ATen/TensorIterator.h: GRAIN_SIZE is 32,768)."""

Floats = NDArray[np.float32]


class Place(NamedTuple):
    """Where a picture's rows are."""

    shard: int
    first: int
    objects: int
    width: int
    height: int
    checksum: int


class Shard(NamedTuple):
    """Mapped files of a shard."""

    features: NDArray[np.float16]
    boxes: Floats


def is_packed(folder: Path) -> bool:
    """True for a folder of packed features, complete or not."""
    return (folder / RECORD).is_file()


def shard_names(number: int) -> tuple[str, str, str]:
    """Files of a shard: its record, features, boxes."""
    return f"shard_{number:04d}.json", f"features_{number:04d}.npy", f"boxes_{number:04d}.npy"


def checksum(features: NDArray[np.float16], boxes: Floats) -> int:
    """CRC-32 of a picture's rows."""
    return zlib.crc32(boxes.data, zlib.crc32(features.data))


class Packed:
    """An open folder of packed features."""

    def __init__(self, folder: Path, verify: bool = False) -> None:
        """Check the records and the sizes of all files and, with `verify`, all checksums."""
        self.folder = folder
        self.info_path = folder / RECORD
        record = self._read_record()
        self.plan: Mapping[str, Any] | None = record["world"]
        """Plan of the world that the features were built with; None for those of a release, and for extracted ones."""
        self.made_by: Mapping[str, Any] | None = record.get("made_by")
        """Part of the plan that describes these features; None where there is none."""
        self.content: list[Any] = record["shards"]
        """Sizes and checksums of the shards' records."""
        self._dimension = int(record["dimension"])
        self._rows: list[int] = []
        self._places: dict[str, Place] = {}
        for number, about in enumerate(record["shards"]):
            self._open(number, about, verify)
        self._shards: dict[int, Shard] = {}
        self._compared: set[str] = set()

    def _read_record(self) -> dict[str, Any]:
        record = read_record(self.info_path, FORMAT, REMEDY)
        if record.get("version") != VERSION:
            raise DataError(f"{self.info_path}: is version {record.get('version')}, but {VERSION} is needed; {REMEDY}")
        if record["shards"] is None:
            raise DataError(f"{self.folder}: is being packed, or that was interrupted; wait, or {REMEDY}")
        return record

    def _open(self, number: int, about: Mapping[str, Any], verify: bool) -> None:
        """Read the record of a shard, and check its files."""
        path = self.folder / shard_names(number)[0]
        check_file(path, about, REMEDY, verify=True)
        shard = read_record(path, SHARD_FORMAT, REMEDY)
        for name, file in shard["files"].items():
            check_file(self.folder / name, file, REMEDY, verify)
        self._rows.append(shard["rows"])
        self._places |= {image: Place(number, *place) for image, place in shard["pictures"].items()}

    def close(self) -> None:
        self._shards.clear()

    @property
    def image_ids(self) -> tuple[str, ...]:
        return tuple(self._places)

    def read(self, image_id: str, max_detected: int) -> tuple[Floats, Floats, int, int]:
        """Features, boxes, width and height of a picture: its first `max_detected` objects, of those that were
        packed."""
        place = self._places.get(image_id)
        if place is None:
            raise DataError(f"{self.info_path}: there are no features of image {quote(image_id)}")
        shard = self._shards.get(place.shard) or self._map(place.shard)
        if image_id not in self._compared:
            self._compare(image_id, place, shard)
        rows = slice(place.first, place.first + min(place.objects, max_detected))
        return _widened(shard.features[rows]), shard.boxes[rows].copy(), place.width, place.height

    def _map(self, number: int) -> Shard:
        _, features, boxes = (self.folder / name for name in shard_names(number))
        rows = self._rows[number]
        self._shards[number] = Shard(_mapped(features, HALF, (rows, self._dimension)), _mapped(boxes, BOX, (rows, 4)))
        return self._shards[number]

    def _compare(self, image_id: str, place: Place, shard: Shard) -> None:
        rows = slice(place.first, place.first + place.objects)
        if checksum(shard.features[rows], shard.boxes[rows]) != place.checksum:
            _, features, boxes = shard_names(place.shard)
            raise DataError(
                f"{self.folder / features}: is damaged, or {boxes} is: the checksum of image {quote(image_id)} is not "
                f"the recorded one; {REMEDY}"
            )
        self._compared.add(image_id)


def _mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """The rows at the end of a file, mapped into memory; writable copies of pages, which torch asks for."""
    size = shape[0] * shape[1] * kind.itemsize
    try:
        return np.asarray(np.memmap(path, kind, "c", path.stat().st_size - size, shape))
    except (OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {REMEDY}") from None


def _widened(half: NDArray[np.float16]) -> Floats:
    """The same numbers in single precision, by torch, which is twenty times as fast as numpy; in pieces that it shares
    among no threads, since a forked process would wait for these for ever."""
    import torch

    if torch.get_num_threads() == 1:
        return torch.from_numpy(half).float().numpy()
    wide = torch.empty(half.shape, dtype=torch.float32).numpy()  # aligned, unlike numpy's own
    to, of = wide.reshape(-1), half.reshape(-1)
    for first in range(0, half.size, UNSHARED):
        torch.from_numpy(to[first : first + UNSHARED]).copy_(torch.from_numpy(of[first : first + UNSHARED]))
    return wide
