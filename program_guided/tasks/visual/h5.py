"""HDF5 files: written so that a full disk is an error, and read so that only plain datasets of a bounded size are.

with write_h5(path) as (file, check):          # renamed to its path when it is complete
    dataset = file.create_dataset(...)
    dataset[0] = row
    check()                                    # raises the disk's error
checked_dataset(open_h5(path), path, "features", NUMBERS, rank=3)[0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped,unused-ignore]
import numpy as np

from program_guided.errors import DataError
from program_guided.files import renamed

__all__ = ["CHECKED", "FAULTS", "NUMBERS", "TEXTS", "checked_dataset", "open_h5", "read_text", "write_h5", "write_text"]

FAULTS = (OSError, RuntimeError, LookupError, TypeError, ValueError, ArithmeticError, MemoryError)
"""Errors that h5py raises for damaged files."""
MAX_BYTES = 1 << 28
"""Maximum size of a row, or of a compressed piece, of a dataset."""
CHECKED: dict[str, Any] = {"compression": "lzf", "fletcher32": True}
"""Options of a dataset that is compressed and has checksums."""
NUMBERS, TEXTS = "fiu", "S"
"""Kinds of a dataset's values, as numpy abbreviates them."""


@contextmanager
def write_h5(path: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A file to write to, and a function that raises the first error of the disk. All of it has checksums, if datasets
    are created as `CHECKED`."""
    with renamed(path) as temporary, temporary.open("w+b", buffering=0) as raw:
        assert isinstance(raw, FileIO)
        disk = _Disk(raw)
        try:
            with h5py.File(disk, "w", libver="latest") as file:
                yield file, disk.check
        finally:
            disk.check()


class _Disk:
    """A file whose first error is kept: HDF5 crashes if it cannot write, so it is never given one."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise the error."""
        if self._error is not None:
            raise self._error

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while self._error is None and rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:  # Ctrl-C too
            self._error = error
        return size

    def truncate(self, size: int) -> int:
        try:
            return self._file.truncate(size)
        except BaseException as error:
            self._error = self._error or error
            return size

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)

    def seek(self, *place: int) -> int:
        return self._file.seek(*place)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Nothing is buffered."""


def open_h5(path: Path) -> Any:
    """Open a file to read."""
    try:
        return h5py.File(path, "r")
    except FAULTS as error:
        raise DataError(f"{path}: is cut off or no HDF5 file ({error})") from None


def write_text(file: Any, name: str, text: str) -> None:
    """Give a file a text as an attribute, of fixed length: texts of variable length have no checksums."""
    file.attrs[name] = np.bytes_(text.encode("utf-8"))


def read_text(file: Any, path: Path, name: str) -> str | None:
    """A text that `write_text` has written; None if there is none. Of variable length it is refused, since the library
    never returns from some that are damaged."""
    try:
        if name not in file.attrs:
            return None
        kind = file.attrs.get_id(name).get_type()
        if not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
            raise DataError(f"{path}: '{name}' is no text of fixed length; make the file again")
        return bytes(file.attrs[name]).decode("utf-8")
    except FAULTS as error:
        raise DataError(f"{path}: is damaged ({error})") from None


def checked_dataset(file: Any, path: Path, name: str, kinds: str, rank: int) -> Any:
    """A dataset of a file, if it is a plain one of a kind of numbers and a rank; None if there is none."""
    try:
        link = file.get(name, getlink=True)
        if link is None:
            return None
        data = file[name] if isinstance(link, h5py.HardLink) else None
        if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
            raise DataError(f"{path}: '{name}' is a link or a group; a dataset of the file itself is expected")
        if data.dtype.kind not in kinds or data.ndim != rank:
            found = f"{data.dtype} with {data.ndim} dimensions"
            raise DataError(
                f"{path}: '{name}' is of {found}; expected {'texts' if kinds == TEXTS else 'numbers'} with {rank}"
            )
        shapes = (data.shape[1:] if rank > 1 else data.shape, data.chunks or ())
        if any(math.prod(shape) * data.dtype.itemsize > MAX_BYTES for shape in shapes):
            raise DataError(f"{path}: '{name}' has rows or pieces above {MAX_BYTES >> 20} MB (shape {data.shape})")
    except FAULTS as error:
        raise DataError(f"{path}: '{name}' cannot be read ({error})") from None
    return data
