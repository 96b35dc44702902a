"""Parts of an index: some megabytes of a source file as columns of numbers, in one file that is whole or absent.

Departures from the paper: it does not describe files. Each part has its own numbering of texts; `assembly.py` merges
them. Object ids of programs are dropped by the reader.

    part = read_part(source, start=0)        part.end, part.last, part.columns["operation"]
    write_part(path, part)                   load_part(path)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError, quote
from program_guided.files import read_arrays, write_arrays
from program_guided.language.syntax import Call, flatten
from program_guided.tasks.visual.domain import DOMAIN, found_ids, negated
from program_guided.tasks.visual.graph import scene_of
from program_guided.tasks.visual.release.reading import Question, choices_of, has_answers, in_record, question_of
from program_guided.tasks.visual.release.skipping import refuse
from program_guided.tasks.visual.release.sources import CHOICES, QUESTIONS, SCENES, Source
from program_guided.tasks.visual.release.streaming import open_records

__all__ = ["COLUMNS", "MAX_INPUTS", "MAX_WORDS", "NOTHING", "Column", "Part", "load_part", "read_part", "write_part"]

PART_BYTES = 1 << 24
"""Approximate size of the piece of a source that a part covers: the work lost when indexing is killed."""
MAX_WORDS = max(len(operation.words) for operation in DOMAIN.operations)
MAX_INPUTS = DOMAIN.max_inputs
MAX_ROUTINES = 1000
NOTHING = -1
"""Number for no answer, no label, no parent."""


NO_OBJECT = b"-"
"""Instead of an id: the routine finds no object."""


@dataclass(frozen=True)
class Column:
    """Storage of the values of a column."""

    kind: str
    """number; key: a short text; bytes: a long text; count: the number of rows in the columns that follow; or the table
    of texts that the values index (`words`, `answers`, `images`, `labels`, `sets`)"""
    dtype: str = "int32"
    width: int = 1
    """Number of values in a row."""


_COUNT, _KEY, _LABEL, _IMAGE = Column("count"), Column("key"), Column("labels"), Column("images")
COLUMNS: dict[str, dict[str, Column]] = {
    QUESTIONS: {
        "question_id": _KEY,
        "image": _IMAGE,
        "answer": Column("answers"),
        "balanced": Column("number", "bool"),
        "structural": _LABEL,
        "semantic": _LABEL,
        "detailed": _LABEL,
        "global_group": _LABEL,
        "local_group": _LABEL,
        # of every routine
        "routine": _COUNT,
        "operation": Column("number", "uint8"),
        "negated": Column("number", "uint8"),
        "words": Column("words", width=MAX_WORDS),
        "parents": Column("number", "int16", width=MAX_INPUTS),
        # of every object that a routine finds, as far as the release says it
        "found": _COUNT,
        "found_id": _KEY,
        # of every entailed or equivalent question
        "entailed": _COUNT,
        "entailed_id": _KEY,
        "equivalent": _COUNT,
        "equivalent_id": _KEY,
        # of every byte
        "text": _COUNT,
        "text_bytes": Column("bytes", "uint8"),
    },
    SCENES: {
        "image": _IMAGE,
        "size": Column("number", "int32", width=2),
        "location": _LABEL,
        "weather": _LABEL,
        # of every object
        "object": _COUNT,
        "object_id": _KEY,
        "name": _LABEL,
        "box": Column("number", "float64", width=4),
        # of every attribute, of every relation
        "attribute": _COUNT,
        "attribute_name": _LABEL,
        "relation": _COUNT,
        "relation_name": _LABEL,
        "relation_object": Column("number", "int32"),
    },
    CHOICES: {"question_id": _KEY, "valid": Column("sets"), "plausible": Column("sets")},
}
"""Columns of every kind of source. The columns after a count have one row for each item counted."""


@dataclass(frozen=True)
class Part:
    """A piece of a source."""

    source: str
    """Path of the source."""
    start: int
    end: int
    """Bytes of the source."""
    last: bool
    records: int
    skipped: tuple[str, ...]
    """Errors of skipped records."""
    columns: dict[str, NDArray[Any]]
    tables: dict[str, list[str]]


def read_part(source: Source, start: int, skip_bad: bool = False, pictures: Collection[str] | None = None) -> Part:
    """Read some megabytes of a source; raises `DataError` at a bad record, or skips it. Questions about other than
    these `pictures` are bad records."""
    columns = _Columns(source.kind, source.kind == QUESTIONS and has_answers(source.path), pictures)
    records, last, end, skipped = 0, True, source.size, list[str]()
    try:
        with open_records(source.path, start) as reader:
            for key, record in reader.records():
                try:
                    _ADD[source.kind](columns, key, record)
                    records += 1
                except DataError as error:
                    named = in_record(source.path, "image" if source.kind == SCENES else "question", key, error)
                    if not skip_bad:
                        refuse(named)
                    skipped.append(str(named))
                if reader.read_so_far >= PART_BYTES:
                    last, end = False, reader.position()
                    break
    except DataError as error:
        if not skip_bad:
            raise
        skipped.append(str(error))
    return Part(str(source.path), start, end, last, records, tuple(skipped), columns.arrays(), columns.lists())


def write_part(path: Path, part: Part) -> None:
    """Write a part into one file."""
    write_arrays(path, {name: value for name, value in vars(part).items() if name != "columns"}, part.columns)


def load_part(path: Path, only: str | None = None) -> Part | None:
    """Load a part, with all columns or only one; None if it is missing or damaged."""
    found = read_arrays(path, only)
    if found is None:
        return None
    about, columns = found
    try:
        return Part(**about | {"columns": columns, "skipped": tuple(about["skipped"])})
    except (TypeError, KeyError):
        return None


class _Columns:
    """Columns and tables of texts under construction."""

    def __init__(self, kind: str, answered: bool, pictures: Collection[str] | None) -> None:
        self.kinds, self.answered, self.pictures = COLUMNS[kind], answered, pictures
        self.values: dict[str, list[Any]] = {name: [] for name in self.kinds}
        self.tables: dict[str, dict[str, int]] = {}
        self.routines: dict[tuple[str, tuple[Any, ...]], tuple[int, int, list[int]]] = {}

    def number(self, table: str, text: str | None) -> int:
        """Number of a text in a table; a new text is added at the end."""
        if text is None:
            return NOTHING
        numbers = self.tables.setdefault(table, {})
        return numbers.setdefault(text, len(numbers))

    def routine(self, call: Call) -> tuple[int, int, list[int]]:
        """(operation, bit mask of the negated words, words) of a call; cached, since routines repeat."""
        key = call.operation, call.words
        if key not in self.routines:
            plain = [negated(str(word)) for word in call.words]
            bits = sum(is_negated << at for at, (is_negated, _) in enumerate(plain))
            words = [self.number("words", word) for _, word in plain]
            words += [NOTHING] * (MAX_WORDS - len(words))
            self.routines[key] = DOMAIN.index[call.operation], bits, words
        return self.routines[key]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: _array(values, self.kinds[name]) for name, values in self.values.items()}

    def lists(self) -> dict[str, list[str]]:
        return {table: list(numbers) for table, numbers in self.tables.items()}


def _array(values: Sequence[Any], column: Column) -> NDArray[Any]:
    if column.kind == "key":
        return np.array(values, np.bytes_) if values else np.zeros(0, "S1")
    if column.kind == "bytes":
        return np.frombuffer(b"".join(values), np.uint8)
    array = np.array(values, column.dtype)
    return array.reshape(-1, column.width) if column.width > 1 else array


def _bytes(text: str, what: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{what} is no text (it has an unpaired surrogate)") from None
    if b"\0" in data:
        raise DataError(f"{what} has a NUL character")
    return data


def _add_question(columns: _Columns, key: str, record: Any) -> None:
    question = question_of(key, record, columns.answered)
    if columns.pictures is not None and question.image_id not in columns.pictures:
        raise DataError(f"there is no picture {quote(question.image_id)}, or it has no features")
    routines = _routines(question)
    text = _bytes(question.text, "'question'")
    keys = [_bytes(key, "its id")]
    entailed, equivalent = (
        [_bytes(other, f"'{name}'") for other in getattr(question, name)] for name in ("entailed", "equivalent")
    )
    number, values = columns.number, columns.values
    values["question_id"] += keys
    values["image"].append(number("images", question.image_id))
    values["answer"].append(number("answers", question.answer))
    values["balanced"].append(question.is_balanced)
    values["structural"].append(number("labels", question.structural))
    values["semantic"].append(number("labels", question.semantic_type))
    values["detailed"].append(number("labels", question.detailed))
    values["global_group"].append(number("labels", question.global_group))
    values["local_group"].append(number("labels", question.local_group))
    values["routine"].append(len(routines))
    for call, found in zip(routines, found_ids(question.semantic or ()), strict=True):
        operation, bits, words = columns.routine(call)
        values["operation"].append(operation)
        values["negated"].append(bits)
        values["words"] += words
        values["parents"] += [*call.inputs, *([NOTHING] * (MAX_INPUTS - len(call.inputs)))]
        ids = [] if found is None else [each.encode("ascii") for each in found] or [NO_OBJECT]
        values["found"].append(len(ids))
        values["found_id"] += ids
    values["entailed"].append(len(entailed))
    values["entailed_id"] += entailed
    values["equivalent"].append(len(equivalent))
    values["equivalent_id"] += equivalent
    values["text"].append(len(text))
    values["text_bytes"].append(text)


def _routines(question: Question) -> tuple[Call, ...]:
    if question.semantic is None:
        return ()
    if len(question.semantic) > MAX_ROUTINES:
        raise DataError(f"'semantic' has {len(question.semantic):,} steps; at most {MAX_ROUTINES:,} are read")
    return flatten(question.program.body)


def _add_scene(columns: _Columns, key: str, record: Any) -> None:
    scene = scene_of(record, key)
    keys = [_bytes(name, "an object's id") for name in scene.objects]
    number, values = columns.number, columns.values
    values["image"].append(number("images", key))
    values["size"] += [scene.width, scene.height]
    values["location"].append(number("labels", scene.location))
    values["weather"].append(number("labels", scene.weather))
    values["object"].append(len(scene.objects))
    values["object_id"] += keys
    rows = {name: row for row, name in enumerate(scene.objects)}
    for thing in scene.objects.values():
        values["name"].append(number("labels", thing.name))
        values["box"] += [thing.box.x, thing.box.y, thing.box.width, thing.box.height]
        values["attribute"].append(len(thing.attributes))
        values["attribute_name"] += [number("labels", attribute) for attribute in thing.attributes]
        values["relation"].append(len(thing.relations))
        values["relation_name"] += [number("labels", name) for name, _ in thing.relations]
        values["relation_object"] += [rows[other] for _, other in thing.relations]


def _add_choices(columns: _Columns, key: str, record: Any) -> None:
    _, choices = choices_of(key, record)
    columns.values["question_id"].append(_bytes(key, "its id"))
    for name in ("valid", "plausible"):
        answers: frozenset[str] = getattr(choices, name)
        columns.values[name].append(columns.number("sets", json.dumps(sorted(answers))))


_ADD: dict[str, Callable[[_Columns, str, Any], None]] = {
    QUESTIONS: _add_question,
    SCENES: _add_scene,
    CHOICES: _add_choices,
}
