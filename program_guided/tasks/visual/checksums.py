"""Records that know their own checksum, and the files that they list with sizes and checksums.

write_record(path, {"files": {"a.npy": {"bytes": 3, "sha256": "..."}}})        read_record(path)
check_file(folder / "a.npy", record["files"]["a.npy"], REMEDY)        verify=True compares the checksum too
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.files import read_json, record_checksum, write_atomically

__all__ = ["check_file", "described", "read_checked", "read_record", "write_record"]

CHECKSUM = "sha256"


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a JSON object together with its checksum."""
    data = {**record, CHECKSUM: record_checksum(record)}
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode("ascii"))


def read_record(path: Path, kind: str, remedy: str) -> dict[str, Any]:
    """Read a JSON object of `write_record` whose "format" is `kind`."""
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != kind:
        raise DataError(f"{path}: is not the header of a {kind}; {remedy}")
    if record.pop(CHECKSUM, None) != record_checksum(record):
        raise DataError(f"{path}: is damaged, or of another version (its checksum is wrong); {remedy}")
    return record


def described(path: Path) -> dict[str, Any]:
    """Size and checksum of a file."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, CHECKSUM: hashlib.file_digest(file, "sha256").hexdigest()}


def check_file(path: Path, about: Mapping[str, Any], remedy: str, verify: bool = False) -> None:
    """Raise `DataError` if a file has another size than was recorded; with `verify`, another checksum."""
    try:
        size = path.stat().st_size
        if size != about["bytes"]:
            raise DataError(f"{path}: has {size:,} bytes, but {about['bytes']:,} were written; {remedy}")
        if verify and described(path) != about:
            raise DataError(f"{path}: is damaged, its checksum is not the recorded one; {remedy}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}), though it is listed; {remedy}") from None


def read_checked(path: Path, about: Mapping[str, Any], remedy: str) -> bytes:
    """Read a small file, and compare its checksum."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}), though it is listed; {remedy}") from None
    if {"bytes": len(data), CHECKSUM: hashlib.sha256(data).hexdigest()} != about:
        raise DataError(f"{path}: is damaged, its checksum is not the recorded one; {remedy}")
    return data
