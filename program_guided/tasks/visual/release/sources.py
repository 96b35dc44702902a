"""Finds the files of the release in a folder or its subfolders, as the archives unpack them.

Departures from the paper: it does not describe files.

    {set}_questions.json      train_balanced, train_all (a folder of ten chunks), val_all, testdev_balanced, ...
    {split}_sceneGraphs.json  {split}_choices.json

    for source in find_sources(Path("gqa")): source.kind, source.name, source.path
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from program_guided.errors import DataError
from program_guided.language.domain import unknown
from program_guided.tasks.visual.release.reading import chunk_paths
from program_guided.tasks.visual.release.skipping import OnBad

__all__ = ["CHOICES", "QUESTIONS", "SCENES", "Source", "find_sources", "is_train", "question_sets", "split_of"]

QUESTIONS, SCENES, CHOICES = "questions", "scenes", "choices"
NAMES = {
    QUESTIONS: re.compile(r"(\w+)_questions\.json"),
    SCENES: re.compile(r"(?:(\w+?)_)?(?:sceneGraphs|scene_graphs)\.json"),
    CHOICES: re.compile(r"(\w+)_choices\.json"),
}
UNNAMED = "all"
"""Name of scene graphs without a split."""
DEPTH = 2
"""Maximum depth of the subfolders searched."""
EXPECTED = "expected train_balanced_questions.json or another set, in it or in a subfolder"


@dataclass(frozen=True)
class Source:
    """A file of the release; `size` and `modified` change if it is replaced."""

    kind: str
    name: str
    """Name of its set: `train_balanced`, `val`, ..."""
    path: Path
    size: int
    modified: int

    def fingerprint(self, root: Path) -> list[str | int]:
        return [self.kind, self.name, self.path.relative_to(root).as_posix(), self.size, self.modified]

    def is_unchanged(self) -> bool:
        """True if the file has not been replaced."""
        return self == _source(self.kind, self.name, self.path)


def find_sources(root: Path, only: Sequence[str] = (), on_bad: OnBad | None = None) -> list[Source]:
    """Files of questions, scene graphs and choices, in the order of the index.

    `only` restricts the sets of questions, and the graphs and choices to their splits. A file that cannot be read, or a
    folder in its place, is an error, or skipped and its error passed to `on_bad`.
    """
    found = _found(root)
    sets = _sets(found)
    for name in only:
        if name not in sets:
            raise DataError(f"{root}: {unknown('set of questions', name, sets)} (there are {', '.join(sets)})")
    return [
        source
        for (kind, name), path in sorted(found.items(), key=lambda item: (list(NAMES).index(item[0][0]), item[0][1]))
        if not only or name in (only if kind == QUESTIONS else (UNNAMED, *map(split_of, only)))
        for source in _sources(kind, name, path, on_bad)
    ]


def question_sets(root: Path) -> list[str]:
    """Names of the sets of questions in a folder."""
    return _sets(_found(root))


def is_train(name: str) -> bool:
    """True if a set belongs to the training split, which defines the known words and answers."""
    return split_of(name) == "train"


def split_of(name: str) -> str:
    """`train` of `train_balanced`."""
    return name.split("_")[0]


def _found(root: Path) -> dict[tuple[str, str], Path]:
    """(kind, name) -> file, or folder of chunks."""
    if not root.is_dir():
        raise DataError(f"{root}: there is no such folder; {EXPECTED}")
    found: dict[tuple[str, str], Path] = {}
    for path in _candidates(root, DEPTH):
        for kind, pattern in NAMES.items():
            match = pattern.fullmatch(path.name if path.suffix == ".json" else f"{path.name}.json")
            if match:
                key = kind, match[1] or UNNAMED
                if found.setdefault(key, path) != path:
                    raise DataError(f"{path}: is a duplicate of {found[key]}; remove one")
    if not _sets(found):
        raise DataError(f"{root}: there are no questions; {EXPECTED}")
    return found


def _sets(found: dict[tuple[str, str], Path]) -> list[str]:
    return [name for kind, name in found if kind == QUESTIONS]


def _candidates(folder: Path, depth: int) -> Iterator[Path]:
    """JSON files, or what stands in their place, and folders of chunks."""
    for path in sorted(folder.iterdir()):
        is_chunked = path.is_dir() and NAMES[QUESTIONS].fullmatch(f"{path.name}.json")
        if is_chunked or path.suffix == ".json":
            yield path
        elif path.is_dir() and depth:
            yield from _candidates(path, depth - 1)


def _sources(kind: str, name: str, path: Path, on_bad: OnBad | None) -> Iterator[Source]:
    """The file, or all chunks of a folder."""
    is_chunked = path.suffix != ".json"
    for file in chunk_paths(path, on_bad) if is_chunked else [path]:
        try:
            yield _source(kind, name, file)
        except DataError as error:
            if on_bad is None:
                raise
            on_bad(error)


def _source(kind: str, name: str, path: Path) -> Source:
    try:
        about = path.stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if S_ISDIR(about.st_mode):
        raise DataError(f"{path}: is a folder; a file of records is expected")
    return Source(kind, name, path, about.st_size, about.st_mtime_ns)
