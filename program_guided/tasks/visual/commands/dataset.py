"""`proto dataset build, index, stats visual`: the embedded world, an index of the release, and a description of it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from program_guided.errors import DataError
from program_guided.output import (
    Flag,
    OptionalPath,
    OptionalText,
    announce,
    bar_for_each,
    print_table,
    progress_bars,
    report,
)
from program_guided.tasks.visual.release.skipping import Skipped

if TYPE_CHECKING:
    from program_guided.tasks.visual.task import Visual

__all__ = ["PROCESSES", "Build", "Index", "Stats"]

PROCESSES = min(4, os.cpu_count() or 1)
"""Default number of processes that read questions."""
INTERRUPTED = "interrupted; the same command resumes it"
BOUNDS = (
    ("scenes", 1, math.inf),
    ("seed", 0, math.inf),
    ("pictures", 0, math.inf),
    ("noise", 0, 20),
)
"""(option of `Build`, minimum, maximum)"""
TEST_SETS = ("testdev_balanced", "dev", "test_balanced", "val_balanced", "val_all", "val")
"""Possible test sets of the blind prior; the first available one is used. (The release's `test` has no answers.)"""


@dataclass(frozen=True)
class Build:
    """Generate the embedded world in the formats of the release; deterministic in the seed."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data", "features")
    out: Path = Path("out/visual")
    """Folder of the files."""
    scenes: tuple[int, int, int] = (4000, 200, 300)
    """Number of scenes of train, val and test, with 20, 10 and 10 balanced questions each."""
    seed: int = 0
    """Seed of the world."""
    pictures: int = 12
    """Number of scenes of test that are drawn as pictures."""
    noise: float = 1.0
    """Noise, blur, light and clutter of the camera: 0 is a perfect picture, 2 is twice as uncertain as the default."""
    sights: tuple[Literal["objects", "clean", "true", "patches", "perfect"], ...] = ("objects", "clean")
    """Folders of features: objects, by the detector; clean, simulated; true, by the detector in the true boxes;
    patches, cells of pixels; perfect, simulated without any error."""

    def run(self, task: Visual) -> int:
        from program_guided.tasks.visual.embedded.building import cost_of, sights_of, write_world

        self._check()
        splits = dict(zip(("train", "val", "test"), self.scenes, strict=True))
        sights = sights_of(self.sights, self.noise)
        announce(f"building a world in {self.out}", *cost_of(splits))
        try:
            with progress_bars() as progress:
                write_world(self.out, splits, self.seed, sights, bar_for_each(progress), self.pictures, self.noise)
        except KeyboardInterrupt:
            print(INTERRUPTED, file=sys.stderr)
            return 130
        print(f"wrote {self.out}; next: proto dataset index visual --root {self.out}")
        return 0

    def _check(self) -> None:
        for name, low, high in BOUNDS:
            option = getattr(self, name)
            values = option if isinstance(option, tuple) else (option,)
            if not all(low <= value <= high for value in values):
                bound = f"{low} or more" if high == math.inf else f"from {low} to {high}"
                raise DataError(f"{name} {' '.join(map(str, values))}: must be {bound}")


@dataclass(frozen=True)
class Index:
    """Build the index of the release, which training reads. An interrupted build is resumed by the same command."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data", "features")
    root: Path
    """Folder of the unpacked release (questions, scene graphs, choices), or of a generated world."""
    out: OptionalPath = None
    """Folder of the index; by default `index` in the root."""
    only: tuple[str, ...] = ()
    """Sets of questions to read, such as train_balanced val_balanced; by default all."""
    features: OptionalPath = None
    """Folder or file of the pictures' features; if given, a question about a picture without features is a bad
    record."""
    skip_bad: Flag = False
    """Skip, count and list records that cannot be read, instead of stopping at the first."""
    processes: int = PROCESSES
    """Number of files read in parallel."""
    verify: Flag = False
    """Only verify all checksums: of an existing index, and of a generated world with its features."""

    def run(self, task: Visual) -> int:
        from program_guided.tasks.visual import index

        folder = self.out or self.root / "index"
        if self.processes < 1:
            raise DataError(f"processes {self.processes}: at least 1 is needed")
        if self.verify:
            return self._verify(folder)
        try:
            new = self._make(folder)
        except KeyboardInterrupt:
            print(INTERRUPTED, file=sys.stderr)
            return 130
        _describe(index.Index.open(folder), new)
        print(f'next: proto dataset stats visual --root {self.root}    in Python: Index.open(Path("{folder}"))')
        return 0

    def _make(self, folder: Path) -> bool:
        """Build the index; False if it was complete."""
        from program_guided.tasks.visual.index.building import Progress, make_index

        with progress_bars("{task.percentage:.0f} %  {task.fields[figures]}") as progress:
            bar = progress.add_task("", total=None, figures="", visible=False)
            first: list[Progress] = []

            def show(moment: Progress) -> None:
                first[:] = first or [moment]
                seconds = progress.tasks[0].elapsed or 0
                rate = (moment.records - first[0].records) / seconds if seconds else 0
                bad = f", {moment.skipped:,} skipped" if moment.skipped else ""
                figures = f"{moment.records:,} records{bad}, {rate:,.0f}/s"
                amounts: dict[str, Any] = {"completed": moment.done, "total": moment.total, "figures": figures}
                progress.update(bar, description=moment.doing, visible=True, **amounts)

            begin = partial(announce, f"indexing {self.root} in {folder}")
            pictures = self._pictures()
            return make_index(self.root, folder, self.only, self.skip_bad, self.processes, show, begin, pictures)

    def _pictures(self) -> tuple[str, ...] | None:
        """Pictures that questions may be about; None for any."""
        from program_guided.tasks.visual.features import ObjectFeatures

        if self.features is None:
            return None
        with ObjectFeatures(self.features) as features:
            return features.image_ids

    def _verify(self, folder: Path) -> int:
        """Verify checksums; the header of a damaged index is removed, so that the next command builds it again."""
        from program_guided.tasks.visual import index
        from program_guided.tasks.visual.index.assembly import HEADER
        from program_guided.tasks.visual.plan import complete_world

        world = complete_world(self.root, verify=True)
        try:
            index.Index.open(folder, verify=True)
        except DataError:
            (folder / HEADER).unlink(missing_ok=True)
            raise
        also = f" and the world in {self.root}" if world else ""
        print(f"{folder}{also}: whole, every file has its checksum")
        return 0


def _describe(index: Any, new: bool) -> None:
    """Print the contents of an index, and the skipped records."""
    from program_guided.tasks.visual.index.assembly import SKIPPED
    from program_guided.tasks.visual.release.sources import is_train

    sets = ", ".join(f"{name} {count:,}" for name, count in index.sets.items())
    print(f"{'wrote' if new else 'nothing to do: there is'} {index.folder}")
    print(f"questions: {sets}; scene graphs: {len(index.scene_ids):,}")
    if any(map(is_train, index.sets)):
        print(f"train has {index.known_words:,} of {len(index.words):,} words, {index.known_answers:,} answers")
    else:
        print("there are no questions of train; executors answer with the words that they were trained on")
    for line in Skipped(index.skipped()).lines(str(index.folder / SKIPPED)):
        print(line)


@dataclass(frozen=True)
class Stats:
    """Describe the questions: programs, answers, and the accuracy of guessing without the picture."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data", "features")
    root: OptionalPath = None
    """Folder of the release, or of a generated world; by default the embedded world."""
    test: OptionalText = None
    """The set of questions that guessing is tested on, such as testdev_balanced."""
    skip_bad: Flag = False
    """Skip, count and list records that cannot be read, instead of stopping at the first."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Also write the figures to this file."""

    def run(self, task: Visual) -> int:
        from program_guided.tasks.visual.statistics import describe

        names, skipped = self._sets(), Skipped()
        with progress_bars("{task.percentage:.0f} %") as progress:
            parts = [self._questions(names.get(part), progress, skipped) for part in PARTS]
            figures = {"task": "visual", "sets": names, **describe(*parts)}
        for part, name in names.items():
            if not figures[part]["questions"]:
                raise DataError(f"{name} has no balanced question with a program and an answer; name another test set")
        if self.skip_bad:
            figures["skipped"] = skipped.as_dict()
        report(figures, self.save, self.json, _print)
        for line in () if self.json else skipped.lines():
            print(line)
        return 0

    def _sets(self) -> dict[str, str]:
        """Names of the sets of train and test, or of one of them alone."""
        from program_guided.tasks.visual.release.sources import is_train, question_sets

        if self.root is None:
            if self.test is not None:
                raise DataError("test needs root: the embedded world is always tested on its test split")
            if self.skip_bad:
                raise DataError("skip-bad needs root: the embedded world is generated, it has no bad records")
            return {"train": "train", "test": "test"}
        sets = question_sets(self.root)
        if self.test not in (None, *sets):
            raise DataError(f"{self.root}: there is no set {self.test}; name one of {', '.join(sets)} as test")
        train = next(iter(sorted(filter(is_train, sets), key=lambda name: name != "train_balanced")), None)
        test = next((name for name in (self.test, *TEST_SETS) if name in sets), sets[0] if train is None else None)
        return {part: name for part, name in zip(PARTS, (train, test), strict=True) if name is not None}

    def _questions(self, name: str | None, progress: Any, skipped: Skipped) -> Iterator[Any] | None:
        """The questions of a set."""
        if name is None:
            return None
        return _generated(name, progress) if self.root is None else self._read(self.root, name, progress, skipped)

    def _read(self, root: Path, name: str, progress: Any, skipped: Skipped) -> Iterator[Any]:
        """Questions of one set of the release."""
        from program_guided.tasks.visual.release.reading import read_questions
        from program_guided.tasks.visual.release.sources import QUESTIONS, find_sources

        on_bad = skipped.add if self.skip_bad else None
        files = [source for source in find_sources(root, [name], on_bad) if source.kind == QUESTIONS]
        bar = progress.add_task(name, total=sum(source.size for source in files))
        before = 0
        for file in files:
            yield from read_questions(file.path, on_bad, partial(_advance, progress, bar, before))
            before += file.size


def _advance(progress: Any, bar: Any, before: int, done: int) -> None:
    progress.update(bar, completed=before + done)


def _generated(split: str, progress: Any) -> Iterator[Any]:
    """Questions of the embedded world."""
    from program_guided.tasks.visual.embedded.building import SPLITS, questions_of

    bar = progress.add_task(split, total=SPLITS[split])
    pictures: set[str] = set()
    for question in questions_of(split, SPLITS[split], seed=0):
        pictures.add(question.image_id)
        progress.update(bar, completed=len(pictures))
        yield question


PARTS = ("train", "test")
SHARES = {
    "structural": "structural types, % of questions",
    "semantic": "semantic types, % of questions",
    "steps": "steps of reasoning, % of questions",
    "families": "operations, % of routines",
    "frequent_answers": "most frequent answers of {first}, % of questions",
}


def _print(figures: Mapping[str, Any]) -> None:
    parts = list(figures["sets"])
    headings = ("", *(f"{part} ({name})" for part, name in figures["sets"].items()))
    counts = [
        [key, *(f"{figures[part][key]:,}" for part in parts)] for key in ("questions", "images", "programs", "answers")
    ]
    _print_below("balanced questions", headings, counts)
    for key, title in SHARES.items():
        _print_below(title.format(first=parts[0]), headings, _shares(figures, key))
    if len(parts) < len(PARTS):
        print("answers are guessed where there are questions of train, to fit the guesses to, and of another set")
        return
    priors = [[name, f"{share:.1f}"] for name, share in figures["blind_prior"].items()]
    _print_below("answers guessed from the program alone, fitted to train, tested on test", ("by", "%"), priors)
    print(f"{figures['unseen_answers']:.1f} % of the answers of test do not occur in train.")


def _print_below(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table below its title, which may be wider."""
    print(title)
    print_table("", headings, rows)


def _shares(figures: Mapping[str, Any], key: str) -> list[list[str]]:
    """Rows of shares in both sets, in the order of train."""
    parts = list(figures["sets"])
    totals = {
        part: sum(figures[part][key].values()) if key == "families" else figures[part]["questions"] for part in parts
    }
    values = list(dict.fromkeys(value for part in parts for value in figures[part][key]))
    values = sorted(values) if key == "steps" else values
    return [
        [str(value), *(f"{100 * figures[part][key].get(value, 0) / max(1, totals[part]):.1f}" for part in parts)]
        for value in values
    ]
