"""Files that are whole or absent: written under another name, then renamed."""

from __future__ import annotations

import os
from pathlib import Path

from program_guided.errors import DataError

__all__ = ["make_folder_of", "write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, never a part."""
    make_folder_of(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None


def make_folder_of(path: Path) -> None:
    """Make the folder that a file is to be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {path.parent} cannot be a folder ({error.strerror})") from None
