"""Packs the features of `gqa_objects_*.h5` files for training; `packed.py` has the format, and reads it.

Shards are written one after another, each under a temporary name until it is complete. The same call resumes: shards
that have their checksums are kept, all others are made, and the bytes are those of an uninterrupted call. The rows of
a picture that is bad and skipped are zeros, and no record names it.

    pack(ObjectChunks(Path("objects")), Path("packed"), max_detected=50)
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.files import held, record_checksum, renamed, sweep
from program_guided.output import counted
from program_guided.tasks.visual.checksums import check_file, described, read_record, write_record
from program_guided.tasks.visual.features import MAX_DETECTED, Detected, ObjectChunks, tile
from program_guided.tasks.visual.packed import (
    BOX,
    FORMAT,
    HALF,
    RECORD,
    REMEDY,
    SHARD_FORMAT,
    VERSION,
    checksum,
    is_packed,
    shard_names,
)
from program_guided.tasks.visual.release.skipping import refuse

__all__ = ["Packing", "pack"]

PER_SHARD = 2048
"""Pictures of a shard: the maximum lost when packing is killed."""
BYTES_PER_SECOND = 3e8
"""Measured: bytes of h5 files, from a disk, by one core."""
SEE_ERROR = "pack without skipping bad pictures to see the first error"
SHARD_FILE = re.compile(r"shard_\d+\.json|(?:features|boxes)_\d+\.npy")

Progress = Callable[[int, int], None]
"""Called with (number of pictures done, total)."""


@dataclass(frozen=True)
class Packing:
    """The outcome of packing."""

    pictures: int
    """Pictures that were packed."""
    shards: int
    made: int
    """Shards made now; the others were there, and have their checksums."""
    skipped: tuple[str, ...] = ()
    """Errors of the pictures that were skipped."""


def pack(
    source: ObjectChunks,
    out: Path,
    max_detected: int | None = None,
    skip_bad: bool = False,
    progress: Progress = lambda done, total: None,
    begin: Callable[[float, float], None] = lambda megabytes, seconds: None,
) -> Packing:
    """Pack the first `max_detected` objects of every picture, or resume that; by default `MAX_DETECTED` objects, or all
    of its cells. `begin` is called with the costs, if there is anything to do. With `skip_bad`, pictures that cannot be
    read are left out."""
    if max_detected is not None and max_detected < 1:
        raise DataError(f"objects {max_detected}: at least 1 is needed")
    _check_folder(out)
    job = _Job(source, out, max_detected, skip_bad)
    with held(out):
        sweep(out)
        complete = job.prepare()
        missing = job.missing(progress)
        if missing or not complete:
            begin(job.bytes_of(missing) / 1e6, job.source_bytes(missing) / BYTES_PER_SECOND)
            job.execute(missing, progress)
        return job.outcome(len(missing))


def _check_folder(out: Path) -> None:
    """Raise `DataError` for a file, and for a folder with files of others."""
    if out.is_file():
        raise DataError(f"{out}: is a file; name a folder")
    if out.exists() and not is_packed(out) and any(not path.name.startswith(".") for path in out.iterdir()):
        raise DataError(f"{out}: is not empty, and holds no packed features; name another folder")


class _Job:
    """Features to pack, divided into shards in the order in which they are stored."""

    def __init__(self, source: ObjectChunks, out: Path, max_detected: int | None, skip_bad: bool) -> None:
        self.source, self.out, self.skip_bad = source, out, skip_bad
        self.skipped: list[str] = []
        """Errors of records of the info file, whose pictures are in no shard."""
        counts = source.stored(self._on_bad)
        first = self._first(counts)
        self.max_detected, self.dimension = _maximum(first, max_detected), int(first.features.shape[1])
        stored = [(image, min(count, self.max_detected)) for image, count in counts.items()]
        self.pictures = len(stored)
        self.shards = [stored[first : first + PER_SHARD] for first in range(0, len(stored), PER_SHARD)]
        self.record: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "max_detected": self.max_detected,
            "per_shard": PER_SHARD,
            "dimension": self.dimension,
            "world": None if source.plan is None else dict(source.plan),
            **({} if source.made_by is None else {"made_by": dict(source.made_by)}),
            "sources": self._sources(),
            "shards": None,
        }
        self.of = record_checksum(self.record)

    def _on_bad(self, error: DataError) -> None:
        if not self.skip_bad:
            refuse(error)
        self.skipped.append(str(error))

    def _first(self, images: Iterable[str]) -> Detected:
        """All objects of the first picture that can be read."""
        for image in images:
            try:
                return self.source.read(image, sys.maxsize)
            except DataError as error:
                if not self.skip_bad:
                    refuse(error)
        raise DataError(f"{self.source.info_path}: no picture could be read; {SEE_ERROR}")

    def _sources(self) -> list[list[Any]]:
        """Name, size and time of every file; pictures of a file that is missing are skipped one by one."""
        stats = {path.name: path.stat() for path in self.source.files(skip_missing=self.skip_bad)}
        return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()]

    def prepare(self) -> bool:
        """True if the folder has a complete record of this job; that of another one is replaced, and its shards are
        removed."""
        try:
            former = read_record(self.out / RECORD, FORMAT, REMEDY)
        except DataError:
            former = {}
        if former | {"shards": None} != self.record:
            write_record(self.out / RECORD, self.record)
            for path in self.out.iterdir():
                if SHARD_FILE.fullmatch(path.name):
                    path.unlink()
            return False
        return former["shards"] is not None

    def missing(self, progress: Progress) -> list[int]:
        """Shards that are missing or damaged."""
        found, done = [], 0
        for number, images in enumerate(self.shards):
            if self._is_whole(number):
                done += len(images)
                progress(done, self.pictures)
            else:
                found.append(number)
        return found

    def _is_whole(self, number: int) -> bool:
        try:
            shard = read_record(self.out / shard_names(number)[0], SHARD_FORMAT, REMEDY)
            for name, about in shard["files"].items():
                check_file(self.out / name, about, REMEDY, verify=True)
        except DataError:
            return False
        return (shard["of"], shard["number"]) == (self.of, number) and (self.skip_bad or not shard["skipped"])

    def bytes_of(self, numbers: Sequence[int]) -> int:
        """Size of some shards."""
        rows = sum(count for number in numbers for _, count in self.shards[number])
        return rows * (self.dimension * HALF.itemsize + 4 * BOX.itemsize)

    def source_bytes(self, numbers: Sequence[int]) -> float:
        """Size of what some shards are made of."""
        size: int = sum(size for _, size, _ in self.record["sources"])
        return size * sum(len(self.shards[number]) for number in numbers) / self.pictures

    def execute(self, missing: Sequence[int], progress: Progress) -> None:
        """Make some shards, then complete the record."""
        self._check_room(missing)
        write_record(self.out / RECORD, self.record)
        done = self.pictures - sum(len(self.shards[number]) for number in missing)
        for number in missing:
            self._make(number, done, progress)
            done += len(self.shards[number])
        if self._sources() != self.record["sources"]:
            raise DataError(
                f"{self.source.info_path.parent}: has changed while it was packed; run the same command again"
            )
        shards = [described(self.out / shard_names(number)[0]) for number in range(len(self.shards))]
        write_record(self.out / RECORD, self.record | {"shards": shards})

    def _check_room(self, missing: Sequence[int]) -> None:
        needed, free = self.bytes_of(missing), shutil.disk_usage(self.out).free
        if needed > free:
            raise DataError(
                f"{self.out}: {needed / 1e9:,.1f} GB are needed, but only {free / 1e9:,.1f} GB are free; make room, or "
                "name another folder"
            )

    def _make(self, number: int, before: int, progress: Progress) -> None:
        """Write the files of a shard, and its record last. `before` is the number of pictures done before it."""
        record, *arrays = (self.out / name for name in shard_names(number))
        rows = sum(count for _, count in self.shards[number])
        pictures, skipped = dict[str, list[int]](), list[str]()
        first = 0
        with (
            _written(arrays[0], HALF, (rows, self.dimension)) as features,
            _written(arrays[1], BOX, (rows, 4)) as boxes,
        ):
            for image, count in self.shards[number]:
                found = self._read(image, skipped)
                if found is None:
                    features.write(bytes(count * self.dimension * HALF.itemsize))
                    boxes.write(bytes(count * 4 * BOX.itemsize))
                else:
                    half, detected = found
                    features.write(half.tobytes())
                    boxes.write(detected.boxes.tobytes())
                    pictures[image] = [first, count, detected.width, detected.height, checksum(half, detected.boxes)]
                first += count
                progress(before + len(pictures) + len(skipped), self.pictures)
        files = {path.name: array.about() for path, array in zip(arrays, (features, boxes), strict=True)}
        about = {"format": SHARD_FORMAT, "of": self.of, "number": number, "rows": rows}
        write_record(record, about | {"files": files, "pictures": pictures, "skipped": skipped})

    def _read(self, image: str, skipped: list[str]) -> tuple[NDArray[np.float16], Detected] | None:
        """A picture's features in half precision, and its detected objects; None if it is bad and skipped."""
        try:
            detected = self.source.read(image, self.max_detected)
            return self._half(image, detected.features), detected
        except DataError as error:
            if not self.skip_bad:
                refuse(error)
            skipped.append(str(error))
            return None

    def outcome(self, made: int) -> Packing:
        """Numbers of what was packed, and the skipped pictures, by the shards' records."""
        paths = [self.out / shard_names(number)[0] for number in range(len(self.shards))]
        records = [read_record(path, SHARD_FORMAT, REMEDY) for path in paths]
        errors = Counter(error for record in records for error in record["skipped"])
        named = [f"{error} ({counted(count, 'picture')})" if count > 1 else error for error, count in errors.items()]
        pictures = sum(len(record["pictures"]) for record in records)
        return Packing(pictures, len(self.shards), made, (*self.skipped, *named))

    def _half(self, image: str, features: NDArray[np.float32]) -> NDArray[np.float16]:
        """Features in half precision, checked."""
        if features.shape[1] != self.dimension:
            lengths = f"vectors of {features.shape[1]}, the first picture of {self.dimension}"
            raise DataError(f"{self.source.info_path}: image {quote(image)} has {lengths}; pack them apart")
        if np.abs(features).max(initial=0) > np.finfo(np.float16).max:
            raise DataError(
                f"{self.source.info_path}: image {quote(image)} has features above {np.finfo(np.float16).max:,.0f}, "
                "which half precision cannot hold"
            )
        return torch.from_numpy(features).half().numpy()


def _maximum(first: Detected, asked: int | None) -> int:
    """Maximum number of objects of a picture. All cells that tile a picture are needed to put it together again."""
    count = len(first.boxes)
    if not tile(first.boxes, first.width, first.height):
        return MAX_DETECTED if asked is None else asked
    if asked is not None and asked < count:
        raise DataError(f"objects {asked}: the objects are {count} cells of a picture, of which none can be left out")
    return count if asked is None else asked


class _Array:
    """A file of rows that is being written."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._digest, self._bytes = path, file, hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:  # named here: two files are open
            raise DataError(f"{self._path}: cannot be written ({error.strerror}); the same command resumes") from None
        self._digest.update(data)
        self._bytes += len(data)

    def about(self) -> dict[str, Any]:
        """Size and checksum, as `checksums.described` gives them."""
        return {"bytes": self._bytes, "sha256": self._digest.hexdigest()}


@contextmanager
def _written(path: Path, kind: np.dtype[Any], shape: tuple[int, int]) -> Iterator[_Array]:
    """A file in numpy's format, renamed to its path when it is complete."""
    with renamed(path) as temporary, temporary.open("wb") as file:
        header, array = io.BytesIO(), _Array(path, file)
        about = {"descr": kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, about)
        array.write(header.getvalue())
        yield array
        file.flush()
        os.fsync(file.fileno())
