"""Parts -> the index: one numbering of all texts, one file for each column, the header last.

Departures from the paper: none. Words and answers are numbered by descending frequency in train; those that do not
occur in train come last, so that a model's vocabulary is a prefix.

    index.json                          version, plan of the world, sizes and checksums of all the others
    texts/{words,answers,...}.json      lists of texts
    {questions,scenes,choices}/{set}/{column}.npy
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.files import renamed, sweep, write_atomically
from program_guided.tasks.visual.checksums import write_record
from program_guided.tasks.visual.domain import DOMAIN, ROWS
from program_guided.tasks.visual.index.parts import COLUMNS, NOTHING, Column, Part, load_part
from program_guided.tasks.visual.release.sources import QUESTIONS, is_train

__all__ = [
    "FORMAT",
    "HEADER",
    "NO_WORD",
    "SKIPPED",
    "UNKNOWN_WORD",
    "VERSION",
    "PartFile",
    "assemble",
]

FORMAT = "program_guided visual index"
VERSION = 3
HEADER = "index.json"
SKIPPED = "skipped.txt"
"""File of the errors of skipped records, one a line."""
TABLES = ("words", "answers", "images", "labels", "sets")
LEARNED = ("words", "answers")
"""Tables that are ordered by frequency in train."""
NO_WORD, UNKNOWN_WORD = 0, 1
FIRST_WORDS = tuple(
    dict.fromkeys(
        ("", "<unknown>", "not", *(row.family for row in ROWS.values()), *(row.category for row in ROWS.values()))
    )
)
"""First words of every index: no word, the unknown word, `not`, families, categories."""


@dataclass(frozen=True)
class PartFile:
    """A part on disk, with the kind and the name of its source."""

    kind: str
    name: str
    path: Path

    def load(self, only: str | None = None) -> Part:
        part = load_part(self.path, only)
        if part is None:
            raise DataError(f"{self.path}: is gone or damaged; run the same command again")
        return part


@dataclass
class _Shape:
    """Shape of a column over all parts."""

    rows: int = 0
    key_width: int = 1


@dataclass
class _Survey:
    """Results of a first pass over all parts."""

    shapes: dict[tuple[str, str, str], _Shape] = field(default_factory=dict)
    texts: dict[str, set[str]] = field(default_factory=lambda: {table: set() for table in TABLES})
    frequencies: dict[str, Counter[str]] = field(default_factory=lambda: {table: Counter() for table in LEARNED})
    records: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    def add(self, file: PartFile, part: Part) -> None:
        self.records[file.kind, file.name] += part.records
        self.skipped += part.skipped
        for table, texts in part.tables.items():
            self.texts[table].update(texts)
        for name, column in COLUMNS[file.kind].items():
            shape = self.shapes.setdefault((file.kind, file.name, name), _Shape())
            values = part.columns[name]
            shape.rows += len(values)
            if column.kind == "key":
                shape.key_width = max(shape.key_width, values.dtype.itemsize)
            if column.kind in LEARNED and file.kind == QUESTIONS and is_train(file.name):
                self._count(column.kind, values, part)

    def _count(self, table: str, values: NDArray[Any], part: Part) -> None:
        texts = part.tables.get(table, [])
        counts = np.bincount(values[values != NOTHING].ravel(), minlength=len(texts))
        self.frequencies[table].update(dict(zip(texts, counts.tolist(), strict=True)))

    def tables(self) -> tuple[dict[str, list[str]], dict[str, int]]:
        """(texts in the order of their numbers, number of those that occur in train)."""
        ordered, known = {}, {}
        for table, texts in self.texts.items():
            first = list(FIRST_WORDS) if table == "words" else []
            counts = self.frequencies.get(table, Counter())
            learned = sorted(counts.keys() - set(first), key=lambda text: (-counts[text], text))
            ordered[table] = first + learned + sorted(texts - set(learned) - set(first))
            if table in LEARNED:
                known[table] = len(first) + len(learned)
        return ordered, known


def assemble(folder: Path, files: Sequence[PartFile], about: Mapping[str, Any], skipped: Iterable[str] = ()) -> None:
    """Write the index, its header last: an index without a header is not opened."""
    survey = _Survey(skipped=list(skipped))
    for file in files:
        survey.add(file, file.load())
    tables, known = survey.tables()
    (folder / HEADER).unlink(missing_ok=True)
    for each in (folder, folder / "texts"):
        sweep(each)
    written: dict[str, dict[str, Any]] = {}
    for table, texts in tables.items():
        data = json.dumps(texts).encode("ascii")
        write_atomically(folder / "texts" / f"{table}.json", data)
        written[f"texts/{table}.json"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    numbers = {table: {text: number for number, text in enumerate(texts)} for table, texts in tables.items()}
    for (kind, name, column), shape in survey.shapes.items():
        place = f"{kind}/{name}/{column}.npy"
        sweep((folder / place).parent)
        parts = (file for file in files if (file.kind, file.name) == (kind, name))
        written[place] = _write_column(folder / place, COLUMNS[kind][column], column, shape, parts, numbers)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "domain_version": DOMAIN.version,
        "known": known,
        "sets": _sizes(survey),
        "skipped": len(survey.skipped),
        **about,
        "files": written,
    }
    write_atomically(folder / SKIPPED, "".join(f"{line}\n" for line in survey.skipped).encode("utf-8", "replace"))
    write_record(folder / HEADER, header)
    _remove_others(folder, written)


def _remove_others(folder: Path, written: Collection[str]) -> None:
    """Remove the columns of a former index of other sets."""
    for kind in COLUMNS:
        for path in folder.glob(f"{kind}/*/*.npy"):
            if path.relative_to(folder).as_posix() not in written:
                path.unlink()
        for place in folder.glob(f"{kind}/*"):
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()


def _sizes(survey: _Survey) -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = {}
    for (kind, name), records in survey.records.items():
        sizes.setdefault(kind, {})[name] = records
    return sizes


def _write_column(
    path: Path,
    column: Column,
    name: str,
    shape: _Shape,
    files: Iterable[PartFile],
    numbers: Mapping[str, Mapping[str, int]],
) -> dict[str, Any]:
    """Write a column part by part, so that memory does not grow with the index."""
    arrays = _values(column, name, files, numbers)
    dtype, rows = np.dtype(column.dtype), shape.rows
    if column.kind == "key":
        dtype = np.dtype(f"S{shape.key_width}")
    elif column.kind == "count":
        dtype, rows, arrays = np.dtype(np.int64), rows + 1, _starts(arrays)
    elif column.kind in TABLES:
        dtype = np.dtype(np.int16 if len(numbers[column.kind]) < np.iinfo(np.int16).max else np.int32)
    full = (rows, column.width) if column.width > 1 else (rows,)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": full}
    with renamed(path) as temporary, temporary.open("wb") as file:
        hashed = _Hashed(file)
        np.lib.format.write_array_header_1_0(hashed, header)
        for array in arrays:
            hashed.write(np.ascontiguousarray(array, dtype).tobytes())
    return {"bytes": hashed.size, "sha256": hashed.digest.hexdigest()}


def _values(
    column: Column, name: str, files: Iterable[PartFile], numbers: Mapping[str, Mapping[str, int]]
) -> Iterator[NDArray[Any]]:
    for file in files:
        part = file.load(name)
        values = part.columns[name]
        if column.kind in TABLES:
            # NOTHING (-1) indexes the additional last entry: word 0, or NOTHING again.
            nothing = NO_WORD if column.kind == "words" else NOTHING
            known = numbers[column.kind]
            values = np.array([*(known[text] for text in part.tables.get(column.kind, [])), nothing])[values]
        yield values


def _starts(counts: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Row offsets of counts, with one more entry at the end."""
    total = 0
    yield np.zeros(1, np.int64)
    for values in counts:
        starts = total + np.cumsum(values, dtype=np.int64)
        total = int(starts[-1]) if len(starts) else total
        yield starts


class _Hashed:
    """A file with the checksum of the data written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.size, self.digest = file, 0, hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.digest.update(data)
        self.size += len(data)
