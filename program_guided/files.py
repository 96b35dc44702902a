"""Files that are written whole or not at all, under a temporary name; folders that one process at a time writes to."""

from __future__ import annotations

import fcntl
import io
import json
import math
import os
import shlex
import shutil
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from program_guided.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LOCK",
    "check_writable",
    "held",
    "make_folder_of",
    "read_arrays",
    "read_json",
    "record_checksum",
    "refuse_constant",
    "renamed",
    "sweep",
    "unfinished",
    "write_arrays",
    "write_atomically",
]

MAX_DIGITS = 19
"""Digits of a whole number in a JSON file."""

LOCK = ".lock"
"""The file that its owner holds while it writes to a folder."""
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error)
"""Errors of damaged archives, beside Python's own."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part."""
    with renamed(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # complete after a power cut too


@contextmanager
def renamed(path: Path) -> Iterator[Path]:
    """A temporary name to write under; the file is renamed to `path` when it is complete."""
    make_folder_of(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Only this process writes to a folder; another that tries gets an error. The lock dies with its owner."""
    path = folder / LOCK
    make_folder_of(path)
    while True:
        try:
            file = path.open("a+")
        except OSError as error:
            raise DataError(f"{folder}: cannot be written to ({error.strerror})") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                owner = file.read() or "another process"
                raise DataError(
                    f"{folder}: {owner} is writing to it; wait until it has ended, or name another folder"
                ) from None
            if not (path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))):
                continue  # its last owner has just removed it
            file.truncate(0)
            file.write(f"process {os.getpid()} ({shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])})")
            file.flush()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def sweep(folder: Path, name: str = "*") -> None:
    """Remove temporary files that `renamed` left behind when it was killed."""
    for stale in folder.glob(f".{name}.*.tmp"):
        stale.unlink(missing_ok=True)


def unfinished(folder: Path, plan: Any) -> Path:
    """A folder for the pieces of a long computation; emptied unless they were computed for the same plan."""
    path = folder / "plan.json"
    try:
        begun = read_json(path)
    except DataError:
        begun = None
    if begun != plan:
        shutil.rmtree(folder, ignore_errors=True)
        write_atomically(path, json.dumps(plan).encode("ascii"))
    return folder


def write_arrays(path: Path, about: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, and JSON metadata about them, to one file (npz)."""
    import numpy as np

    data = io.BytesIO()
    metadata = np.frombuffer(json.dumps(about).encode("ascii"), np.uint8)
    np.savez(data, allow_pickle=False, about=metadata, **arrays)
    write_atomically(path, data.getvalue())


def read_arrays(path: Path, only: str | None = None) -> tuple[Any, dict[str, NDArray[Any]]] | None:
    """Metadata and arrays (or one of them) of a file of `write_arrays`; None if it is missing or incomplete."""
    import numpy as np

    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            names = [name for name in file.files if name != "about" and only in (None, name)]
            return json.loads(file["about"].tobytes()), {name: file[name] for name in names}
    except (OSError, ValueError, TypeError, LookupError, EOFError, RuntimeError, MemoryError, *DAMAGED):
        return None


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(
            path.read_bytes(), parse_constant=refuse_constant, parse_int=_whole_number, parse_float=_finite
        )
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); is the path right?") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is cut off or damaged ({error})") from None


def record_checksum(record: Mapping[str, Any]) -> str:
    """The checksum of a JSON object, however it is laid out in a file."""
    import hashlib

    return hashlib.sha256(json.dumps(record, sort_keys=True).encode("ascii")).hexdigest()


def refuse_constant(name: str) -> Any:
    """Raise `ValueError` for NaN and Infinity, which Python's reader of JSON takes for numbers."""
    raise ValueError(f"{name} is no number of JSON")


def _whole_number(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def check_writable(path: Path) -> None:
    """One clear error if a file could not be written, before any work is done for it."""
    make_folder_of(path)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        reason = "it is a folder" if path.is_dir() else f"{path.parent} cannot be written to"
        raise DataError(f"{path}: cannot be written: {reason}")


def make_folder_of(path: Path) -> None:
    """Make the folder that a file is to be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {path.parent} cannot be a folder ({error.strerror})") from None
