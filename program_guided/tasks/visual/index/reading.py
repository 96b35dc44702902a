"""Reads an index: memory-mapped columns, batches of padded arrays, and questions and scenes as the release has them.

Departures from the paper: none. A model reads `Batch`, which holds neither the ids in brackets nor the order of
options. Words that do not occur in train are replaced by `<unknown>`.

    index = Index.open(Path("gqa/index"))
    train = index.questions("train_balanced")
    batch = train.batch([5, 0, 7])            batch.words.shape == (3, longest program, WIDTH)
    index.words[batch.words[0, 0, 0]]         "select"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from program_guided.errors import DataError, quote
from program_guided.language.domain import unknown
from program_guided.language.syntax import Call, Program
from program_guided.tasks.visual.checksums import check_file, read_checked, read_record
from program_guided.tasks.visual.domain import DOMAIN, OPEN_ROWS, OPERATION_WORDS, ROWS, routine
from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.index.assembly import FORMAT, HEADER, NO_WORD, SKIPPED, UNKNOWN_WORD, VERSION
from program_guided.tasks.visual.index.parts import COLUMNS, NO_OBJECT, NOTHING
from program_guided.tasks.visual.plan import complete_world
from program_guided.tasks.visual.release.reading import Choices, Question
from program_guided.tasks.visual.release.sources import CHOICES, QUESTIONS, SCENES

__all__ = ["WIDTH", "Batch", "Index", "QuestionSet"]

WIDTH = DOMAIN.routine_width
_ROWS = [(ROWS | OPEN_ROWS)[each.name] for each in DOMAIN.operations]
ROLE_AT = np.array([len(row.form.parameters) - 1 if row.form.has_role else -1 for row in _ROWS])
"""Position of the role of a relation among the words of each operation, -1 for none."""
IS_OPEN = np.array([row.operation.name in OPEN_ROWS for row in _ROWS])
"""Operations whose category is their first word."""
REMEDY = "make it with proto dataset index visual"

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class Batch:
    """`b` questions of up to `r` routines."""

    operations: Ints
    """(b, r) rows of the domain's table, -1 behind a program's end"""
    words: Ints
    """(b, r, WIDTH) numbers of `Index.words`, 0 where there is none"""
    parents: Ints
    """(b, r, 2) routines whose results a routine takes, -1 where there is none"""
    lengths: Ints
    """(b,) number of routines"""
    answers: Ints
    """(b,) numbers of `Index.answers`, -1 where there is none; those from `known_answers` on do not occur in train"""
    images: Ints
    """(b,) numbers of `Index.images`"""


class Index:
    """An open index."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder = folder
        self.header = header
        self._arrays: dict[str, NDArray[Any]] = {}

    @classmethod
    def open(cls, folder: Path, verify: bool = False) -> Index:
        """Open an index; checks the header and the size of every file and, with `verify`, all checksums. Otherwise the
        checksum of a file is compared when it is first read."""
        path = folder / HEADER
        if not path.is_file():
            raise DataError(f"{folder}: there is no finished index; {REMEDY}")
        header = read_record(path, FORMAT, REMEDY)
        if (header.get("version"), header.get("domain_version")) != (VERSION, DOMAIN.version):
            found = f"version {header.get('version')} (operations {header.get('domain_version')})"
            raise DataError(f"{path}: is {found}, but {VERSION} (operations {DOMAIN.version}) is needed; {REMEDY}")
        for name, about in header["files"].items():
            check_file(folder / name, about, REMEDY, verify)
        return cls(folder, header)

    def check_sources(self, root: Path) -> None:
        """Raise `DataError` if the root holds a world that is incomplete, or other sources than the index was built
        of, by their plan and their sizes; a release's file of another time is a warning, since it may be a copy."""
        world = complete_world(root)
        if world is not None and world.plan != self.header["plan"]:
            raise DataError(f"{self.folder}: was made of another world than the one in {root}; {REMEDY}")
        for _, _, name, size, time in self.header["sources"]:
            path = root / name
            if not path.is_file():
                continue
            if path.stat().st_size != size:
                raise DataError(f"{path}: is not the file that {self.folder} was made of; {REMEDY} (root {root})")
            if world is None and path.stat().st_mtime_ns != time:
                print(
                    f"{path}: has another time than when it was indexed; if it has changed, {REMEDY}", file=sys.stderr
                )

    @property
    def sets(self) -> dict[str, int]:
        """Set of questions -> number of questions."""
        return dict(self.header["sets"][QUESTIONS])

    def skipped(self) -> list[str]:
        """Errors of the records that were skipped when the index was built."""
        path = self.folder / SKIPPED
        try:
            return path.read_text("utf-8").splitlines() if self.header["skipped"] else []
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read ({error}); {REMEDY}") from None

    def questions(self, name: str) -> QuestionSet:
        """A set of questions, such as `train_balanced`."""
        if name not in self.sets:
            raise DataError(f"{self.folder}: {unknown('set', name, self.sets)} (there are {', '.join(self.sets)})")
        return QuestionSet(self, name)

    @property
    def known_words(self) -> int:
        """Number of the words that every index has, and of those that occur in train."""
        return int(self.header["known"]["words"])

    @property
    def known_answers(self) -> int:
        """Number of the answers that occur in train."""
        return int(self.header["known"]["answers"])

    @cached_property
    def words(self) -> list[str]:
        """Words, known ones first."""
        return self.texts("words")

    @cached_property
    def answers(self) -> list[str]:
        """Answers, known ones first, by descending frequency in train."""
        return self.texts("answers")

    @cached_property
    def images(self) -> list[str]:
        """Ids of pictures."""
        return self.texts("images")

    @cached_property
    def labels(self) -> list[str]:
        """Types, groups, and the words of scene graphs."""
        return self.texts("labels")

    def texts(self, table: str) -> list[str]:
        """Table of texts that columns index."""
        place = f"texts/{table}.json"
        return list(json.loads(read_checked(self.folder / place, self.header["files"][place], REMEDY)))

    def choices(self, split: str) -> dict[str, Choices]:
        """The choices of a split's questions, by their ids."""
        columns = self._columns(CHOICES, split)
        sets = [frozenset(json.loads(text)) for text in self.texts("sets")]
        rows = zip(
            columns["question_id"].tolist(), columns["valid"].tolist(), columns["plausible"].tolist(), strict=True
        )
        return {key.decode("utf-8"): Choices(sets[valid], sets[plausible]) for key, valid, plausible in rows}

    def scene(self, image_id: str) -> Scene:
        """The graph of a picture."""
        if image_id not in self._scene_rows:
            raise DataError(f"{self.folder}: there is no scene graph of image {quote(image_id)}")
        name, row = self._scene_rows[image_id]
        return _scene(self._scene_columns[name], row, image_id, self.labels)

    @property
    def scene_ids(self) -> tuple[str, ...]:
        """Ids of the pictures that have a graph."""
        return tuple(self._scene_rows)

    @cached_property
    def _scene_columns(self) -> dict[str, Mapping[str, NDArray[Any]]]:
        return {name: self._columns(SCENES, name) for name in self.header["sets"].get(SCENES, {})}

    @cached_property
    def _scene_rows(self) -> dict[str, tuple[str, int]]:
        return {
            self.images[image]: (name, row)
            for name, columns in self._scene_columns.items()
            for row, image in enumerate(columns["image"].tolist())
        }

    def _columns(self, kind: str, name: str) -> Mapping[str, NDArray[Any]]:
        known = self.header["sets"].get(kind, {})
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise DataError(f"{self.folder}: no {kind} of {quote(name)} ({there})")
        return _Columns(self, f"{kind}/{name}", tuple(COLUMNS[kind]))

    def array(self, place: str) -> NDArray[Any]:
        """A column, mapped into memory; its checksum is compared once."""
        if place not in self._arrays:
            path = self.folder / place
            check_file(path, self.header["files"][place], REMEDY, verify=True)
            self._arrays[place] = _mapped(path)
        return self._arrays[place]

    @cached_property
    def _known_or_unknown(self) -> Ints:
        """(words,) the number of each word that train has, UNKNOWN_WORD for the others."""
        numbers = np.arange(len(self.words), dtype=np.int32)
        numbers[self.known_words :] = UNKNOWN_WORD
        return numbers

    @cached_property
    def _operation_words(self) -> Ints:
        """(operations + 1, 2) family and category; the last row stands for no operation."""
        numbers = {word: number for number, word in enumerate(self.words[: self.known_words])}
        rows = [(numbers[row.family], numbers.get(row.category, NO_WORD)) for row in _ROWS]
        return np.array([*rows, (NO_WORD, NO_WORD)], np.int32)


class _Columns(Mapping[str, NDArray[Any]]):
    """Columns of a set, each read when it is first needed."""

    def __init__(self, index: Index, folder: str, names: tuple[str, ...]) -> None:
        self._index, self._folder, self._names = index, folder, names

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._index.array(f"{self._folder}/{name}.npy")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class QuestionSet:
    """Questions of an index, numbered from 0."""

    def __init__(self, index: Index, name: str) -> None:
        self.index = index
        self.name = name
        self.columns = index._columns(QUESTIONS, name)
        """Columns as listed in `parts.py`; counts are stored as row offsets, with one more entry at the end."""
        self._not = index.words.index("not")

    def __len__(self) -> int:
        return len(self.columns["question_id"])

    @property
    def pictures(self) -> set[str]:
        """Pictures that its questions are about."""
        return {self.index.images[number] for number in np.unique(self.columns["image"]).tolist()}

    def __iter__(self) -> Iterator[Question]:
        return (self.question(number) for number in range(len(self)))

    def batch(self, numbers: ArrayLike, unknown_words: bool = False) -> Batch:
        """Programs and answers of questions. With `unknown_words`, words that do not occur in train are kept, for a
        model with another vocabulary."""
        chosen = np.asarray(numbers, np.int64).reshape(-1)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise DataError(f"{self.name} has the questions 0 to {len(self) - 1:,}, but other numbers were given")
        starts = self.columns["routine"][chosen]
        lengths = self.columns["routine"][chosen + 1] - starts
        steps = np.arange(lengths.max(initial=0))
        inside = steps < lengths[:, None]
        rows = (starts[:, None] + steps)[inside]
        operations = np.full(inside.shape, NOTHING, np.int16)
        operations[inside] = self.columns["operation"][rows]
        words = np.zeros((*inside.shape, WIDTH), np.int32)
        words[..., :2] = self.index._operation_words[operations]
        words[inside, 2] = np.where(self.columns["negated"][rows] != 0, self._not, NO_WORD)
        arguments = self.columns["words"][rows]
        arguments = arguments if unknown_words else self.index._known_or_unknown[arguments]
        is_open = IS_OPEN[operations[inside]]
        words[inside, 1] = np.where(is_open, arguments[:, 0], words[inside, 1])
        arguments = np.where(is_open[:, None], np.roll(arguments, -1, axis=1), arguments)
        arguments[is_open, -1] = NO_WORD
        role, each = ROLE_AT[operations[inside]], np.arange(len(arguments))
        words[inside, 3] = np.where(role >= 0, arguments[each, role], NO_WORD)
        words[inside, OPERATION_WORDS : OPERATION_WORDS + arguments.shape[1]] = np.where(
            np.arange(arguments.shape[1]) == role[:, None], NO_WORD, arguments
        )
        parents = np.full((*inside.shape, self.columns["parents"].shape[1]), NOTHING, np.int16)
        parents[inside] = self.columns["parents"][rows]
        answers, images = (self.columns[name][chosen].astype(np.int64) for name in ("answer", "image"))
        return Batch(operations, words, parents, lengths, answers, images)

    def question(self, number: int) -> Question:
        """A question as `release.reading` reads it, without ids, full answer and grounding."""
        columns, labels = self.columns, self.index.labels
        answer = columns["answer"][number]

        def label(name: str) -> str | None:
            value = columns[name][number]
            return None if value == NOTHING else labels[value]

        return Question(
            self.key(number),
            image_id=self.index.images[columns["image"][number]],
            text=columns["text_bytes"][self._rows("text", number)].tobytes().decode("utf-8"),
            answer=None if answer == NOTHING else self.index.answers[answer],
            indexed_program=Program(routines) if (routines := self.routines(number)) else None,
            is_balanced=bool(columns["balanced"][number]),
            global_group=label("global_group"),
            local_group=label("local_group"),
            entailed=_decoded(columns["entailed_id"][self._rows("entailed", number)]),
            equivalent=_decoded(columns["equivalent_id"][self._rows("equivalent", number)]),
            structural=label("structural"),
            semantic_type=label("semantic"),
            detailed=label("detailed"),
        )

    def routines(self, number: int) -> tuple[Call, ...]:
        """The routines of a question's program; empty if it has none."""
        rows = range(len(self.columns["operation"]))[self._rows("routine", number)]
        return tuple(self._call(row) for row in rows)

    def found(self, number: int) -> tuple[tuple[str, ...] | None, ...]:
        """Ids of the objects that each routine finds (`domain.found_ids`): for targets, never for inputs."""
        rows = range(len(self.columns["operation"]))[self._rows("routine", number)]
        return tuple(self._found(row) for row in rows)

    def _found(self, row: int) -> tuple[str, ...] | None:
        ids = self.columns["found_id"][self._rows("found", row)]
        return None if not len(ids) else tuple(each for each in _decoded(ids) if each != NO_OBJECT.decode())

    def key(self, number: int) -> str:
        """The id of a question."""
        return _decoded(self.columns["question_id"][number : number + 1])[0]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each question by its id."""
        return {key: number for number, key in enumerate(_decoded(self.columns["question_id"]))}

    def _call(self, row: int) -> Call:
        operation = DOMAIN.operations[self.columns["operation"][row]]
        bits = int(self.columns["negated"][row])
        plain = [self.index.words[word] for word in self.columns["words"][row, : len(operation.words)]]
        words = tuple(f"not({word})" if bits >> at & 1 else word for at, word in enumerate(plain))
        parents = self.columns["parents"][row].tolist()
        return routine(operation.name, words, [parent for parent in parents if parent != NOTHING])

    def _rows(self, count: str, number: int) -> slice:
        starts = self.columns[count]
        return slice(int(starts[number]), int(starts[number + 1]))


def _scene(columns: Mapping[str, NDArray[Any]], row: int, image_id: str, labels: Sequence[str]) -> Scene:
    first, end = columns["object"][row : row + 2].tolist()
    keys = _decoded(columns["object_id"][first:end])
    objects = {}
    for at, key in zip(range(first, end), keys, strict=True):
        attributes, relations = (slice(*columns[name][at : at + 2].tolist()) for name in ("attribute", "relation"))
        names, others = columns["relation_name"][relations].tolist(), columns["relation_object"][relations].tolist()
        objects[key] = SceneObject(
            labels[columns["name"][at]],
            Box(*columns["box"][at].tolist()),
            tuple(labels[number] for number in columns["attribute_name"][attributes].tolist()),
            tuple((labels[name], keys[other]) for name, other in zip(names, others, strict=True)),
        )
    where = [columns[name][row] for name in ("location", "weather")]
    location, weather = (None if number == NOTHING else labels[number] for number in where)
    width, height = columns["size"][row].tolist()
    return Scene(image_id, width, height, objects, location, weather)


def _decoded(keys: NDArray[Any]) -> tuple[str, ...]:
    return tuple(key.decode("utf-8") for key in keys.tolist())


def _mapped(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {REMEDY}") from None
