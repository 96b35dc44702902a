"""Files that are whole or absent: written under another name, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from program_guided.errors import DataError

__all__ = ["make_folder_of", "read_json", "renamed", "write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, never a part."""
    with renamed(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def renamed(path: Path) -> Iterator[Path]:
    """Another name to write under; what was written there has its own name only when it is whole."""
    make_folder_of(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


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
