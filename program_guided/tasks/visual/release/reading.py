"""Readers of the files of the GQA release: questions, scene graphs, choices; predictions are written too.

Departures from the paper: none. Records are streamed; a bad one raises a `DataError` that names path and key, or is
skipped and its error passed to `on_bad`; so is the rest of a file that is cut off. Features are read by
`visual/features.py`.

    for question in read_questions(Path("val_balanced_questions.json")):
        question.text, question.program, question.answer
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from program_guided.errors import DataError, quote
from program_guided.files import read_json, write_atomically
from program_guided.language.syntax import Program
from program_guided.tasks.visual.domain import program_of
from program_guided.tasks.visual.graph import Scene, scene_of
from program_guided.tasks.visual.release.skipping import OnBad, refuse
from program_guided.tasks.visual.release.streaming import RecordReader, open_records, stream_records

__all__ = [
    "CHUNKS",
    "Choices",
    "Question",
    "choices_of",
    "chunk_paths",
    "has_answers",
    "in_record",
    "question_of",
    "read_choices",
    "read_predictions",
    "read_questions",
    "read_scenes",
    "write_predictions",
]

CHUNKS = 10
"""Number of files in the folder `train_all_questions`."""
FIRST_QUESTIONS = 100
"""Number of questions that are read to find out whether those of a file have answers."""

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A question; fields that a test file lacks have their defaults."""

    key: str
    image_id: str
    text: str
    answer: str | None = None
    semantic: tuple[Mapping[str, Any], ...] | None = None
    is_balanced: bool = True
    full_answer: str | None = None
    global_group: str | None = None
    local_group: str | None = None
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()
    structural: str | None = None
    semantic_type: str | None = None
    detailed: str | None = None
    grounding: Mapping[str, Mapping[str, str]] | None = None
    """`annotations`: positions of words in question, answer and full answer -> ids of objects."""
    indexed_program: Program | None = None
    """The program of a question that was read from an index, which has no `semantic`."""

    @property
    def has_program(self) -> bool:
        return self.semantic is not None or self.indexed_program is not None

    @cached_property
    def program(self) -> Program:
        if self.indexed_program is not None:
            return self.indexed_program
        if self.semantic is None:
            raise DataError(f"question {quote(self.key)} has no program")
        return program_of(self.semantic)


@dataclass(frozen=True)
class Choices:
    """Valid and plausible answers to a question."""

    valid: frozenset[str]
    plausible: frozenset[str]


def read_questions(
    path: Path, on_bad: OnBad | None = None, progress: Callable[[int], None] = lambda done: None
) -> Iterator[Question]:
    """The questions of a file, or of a folder of chunks, programs checked; `progress` is called with the bytes read."""
    before = 0
    for file in chunk_paths(path, on_bad) if path.is_dir() else [path]:
        read = partial(question_of, answered=has_answers(file))
        yield from _read(file, "question", read, on_bad, partial(_add_before, progress, before))
        before += file.stat().st_size if file.is_file() else 0


def has_answers(path: Path) -> bool:
    """True if one of the first questions of a file has an answer: all others must have one then."""
    with suppress(DataError):
        first = islice(stream_records(path), FIRST_QUESTIONS)
        return any(isinstance(record, dict) and record.get("answer") is not None for _, record in first)
    return False


def read_scenes(path: Path, on_bad: OnBad | None = None) -> Iterator[Scene]:
    """The scene graphs of a file."""
    return _read(path, "image", lambda key, record: scene_of(record, key), on_bad)


def read_choices(path: Path, on_bad: OnBad | None = None) -> Iterator[tuple[str, Choices]]:
    """(question, its choices) of a file."""
    return _read(path, "question", choices_of, on_bad)


def read_predictions(path: Path) -> dict[str, str]:
    """Read predicted answers: a list of `{"questionId", "prediction"}`."""
    listed = read_json(path)
    if not isinstance(listed, list):
        raise DataError(f"{path}: expected a list of predictions")
    predictions: dict[str, str] = {}
    for number, record in enumerate(listed):
        try:
            key, answer = _get(record, "questionId", str), _get(record, "prediction", str)
        except DataError as error:
            raise DataError(f"{path}: prediction {number}: {error}") from None
        if predictions.setdefault(key, answer) != answer:
            raise DataError(f"{path}: question {quote(key)} has two predictions")
    return predictions


def write_predictions(path: Path, predictions: Mapping[str, str]) -> None:
    """Write predicted answers by question, in the format of the evaluation server."""
    listed = [{"questionId": key, "prediction": answer} for key, answer in predictions.items()]
    write_atomically(path, json.dumps(listed).encode("ascii"))


def chunk_paths(folder: Path, on_bad: OnBad | None = None) -> list[Path]:
    """Paths of the ten chunks of `train_all_questions`; a missing one is an error."""
    found: dict[int, Path] = {}
    for path in folder.glob("*.json"):
        match = re.search(r"_(\d+)\.json$", path.name)
        if match:
            found[int(match[1])] = path
    for number in range(CHUNKS):
        if number not in found:
            (on_bad or refuse)(DataError(f"{folder}: chunk {number} of {CHUNKS} (..._{number}.json) is missing"))
    return [found[number] for number in sorted(found)]


def _add_before(progress: Callable[[int], None], before: int, done: int) -> None:
    progress(before + done)


def _read(
    path: Path,
    what: str,
    read: Callable[[str, Any], T],
    on_bad: OnBad | None,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[T]:
    try:
        with open_records(path) as reader:
            yield from _records(path, reader, what, read, on_bad or refuse, progress)
    except DataError as error:
        if on_bad is None:
            raise
        on_bad(error)


def _records(
    path: Path,
    reader: RecordReader,
    what: str,
    read: Callable[[str, Any], T],
    on_bad: OnBad,
    progress: Callable[[int], None],
) -> Iterator[T]:
    for key, record in reader.records():
        try:
            result = read(key, record)
        except DataError as error:
            on_bad(in_record(path, what, key, error))
            continue
        progress(reader.read_so_far)
        yield result


def in_record(path: Path, what: str, key: str, error: DataError) -> DataError:
    """The error with its place."""
    return DataError(f"{path}: {what} {quote(key)}: {error}")


def choices_of(key: str, record: Any) -> tuple[str, Choices]:
    """Read one record of a choices file."""
    sets = [_texts(_get(record, name, list), name) for name in ("valid", "plausible")]
    return key, Choices(frozenset(sets[0]), frozenset(sets[1]))


def question_of(key: str, record: Any, answered: bool = True) -> Question:
    """Read one record of a questions file and check its program. The questions of some sets are not `answered`: the
    release's test and challenge sets, which have no programs either, and sets of one's own."""
    groups, types = _get(record, "groups", dict, {}), _get(record, "types", dict, {})
    semantic = _get(record, "semantic", list, None)
    question = Question(
        key,
        image_id=_get(record, "imageId", str),
        text=_get(record, "question", str),
        answer=_get(record, "answer", str, None),
        semantic=None if semantic is None else tuple(semantic),
        is_balanced=_get(record, "isBalanced", bool, True),
        full_answer=_get(record, "fullAnswer", str, None),
        global_group=_get(groups, "global", str, None),
        local_group=_get(groups, "local", str, None),
        entailed=_texts(_get(record, "entailed", list, []), "entailed"),
        equivalent=_texts(_get(record, "equivalent", list, []), "equivalent"),
        structural=_get(types, "structural", str, None),
        semantic_type=_get(types, "semantic", str, None),
        detailed=_get(types, "detailed", str, None),
        grounding=_get(record, "annotations", dict, None),
    )
    if semantic is not None:
        _ = question.program
    if answered and question.answer is None:
        raise DataError("'answer' is missing")
    if semantic is None and question.answer is not None:
        raise DataError("'semantic' is missing")
    return question


_REQUIRED = object()
_NAMES = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}


def _get(record: Any, name: str, kind: type, default: Any = _REQUIRED) -> Any:
    """A field, checked for its type; `null` counts as missing."""
    if not isinstance(record, dict):
        raise DataError("is not an object of fields")
    value = record.get(name)
    if value is None and default is _REQUIRED:
        raise DataError(f"'{name}' is missing")
    if value is not None and not isinstance(value, kind):
        raise DataError(f"'{name}' must be {_NAMES[kind]}")
    return default if value is None else value


def _texts(values: list[Any], name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"'{name}' must hold texts")
    return tuple(values)
