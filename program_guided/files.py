"""Files that are whole or absent: written under another name, then renamed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from program_guided.errors import DataError

__all__ = ["make_folder_of", "read_json", "write_atomically"]


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


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); is the path right?") from None
    except ValueError as error:
        raise DataError(f"{path}: is cut off or damaged ({error})") from None


def make_folder_of(path: Path) -> None:
    """Make the folder that a file is to be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {path.parent} cannot be a folder ({error.strerror})") from None
