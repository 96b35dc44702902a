"""`proto experiment pictures`: does an executor that is trained on few photographs use them?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import tyro

from program_guided.errors import DataError
from program_guided.files import check_writable, held, read_json, unfinished, write_atomically
from program_guided.output import Flag, OptionalPath, announce, bar_for_each, print_table, progress_bars, report
from program_guided.tasks.visual.photographs.settings import PictureSettings
from program_guided.tasks.visual.release.skipping import Skipped

if TYPE_CHECKING:
    from program_guided.tasks.visual.index import Index
    from program_guided.tasks.visual.photographs.study import PictureData

__all__ = ["Experiment"]

TRAIN = ("train_balanced", "train", "train_all")
TEST = ("dev", "testdev_balanced", "test_balanced", "val_balanced", "testdev", "test", "val")
"""Possible names of the training set and of the test set; the first available one is used."""
Show = Callable[..., None]
"""Called with a description, the number done, and the `total`."""


@dataclass(frozen=True)
class Experiment:
    """Train and evaluate executors for one experiment. An interrupted one is resumed by the same command."""

    what: tyro.conf.Positional[Literal["pictures"]]
    """pictures: does an executor that is trained on few photographs, by answers alone, use them? An answer prior, that
    and an executor, and an executor alone; each compared with itself without pictures, and with wrong ones."""
    root: Path
    """Folder in the release's layout: train_questions.json and dev_questions.json (or other names of the release),
    whose questions have programs and answers; `images`, the photographs as ID.jpg; and, if there is one, `ontology`,
    the release's lists of names, attributes and relations."""
    features: OptionalPath = None
    """Features of the release's kind, whose objects are the parts that executors point at; by default, parts and
    features are extracted from the pictures, to files in --out."""
    seeds: int = 3
    """Number of seeds; each trains all executors."""
    folds: int = 0
    """Number of cross-validation folds of train, instead of the test, to choose settings; 0 for the test."""
    out: Path = Path("out/real-pictures")
    """Folder of the index, the features and the answers of finished seeds, and of `executor`: those of the first seed,
    kept for: proto run FILE --image photo.jpg --agent OUT/executor"""
    steps: int = PictureSettings.steps
    """Number of updates of each executor."""
    members: int = PictureSettings.members
    """Number of executors of a seed, whose probabilities are averaged."""
    skip_bad: Flag = False
    """Skip, count and list questions and pictures that cannot be read, and questions about these pictures, instead of
    stopping at the first."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Also write the figures to this file."""

    def run(self) -> int:
        """Train the missing executors, and report."""
        if self.seeds < 1 or self.folds < 0 or self.folds == 1:
            raise DataError(f"seeds {self.seeds}, folds {self.folds}: seeds must be at least 1, folds 0 or at least 2")
        settings = PictureSettings(steps=self.steps, members=self.members)
        settings.check()
        if self.save is not None:
            check_writable(self.save)
        skipped = Skipped()
        try:
            with held(self.out), progress_bars() as progress:
                show = bar_for_each(progress)
                figures = self._measured(self._data(show, skipped), settings, show)
        except KeyboardInterrupt:
            print("interrupted; the same command resumes it", file=sys.stderr)
            return 130
        if self.skip_bad:
            figures["skipped"] = skipped.as_dict()
        report(figures, self.save, self.json, _print)
        for line in () if self.json else skipped.lines():
            print(line)
        return 0

    def _measured(self, data: PictureData, settings: PictureSettings, show: Show) -> dict[str, Any]:
        if not self.folds:
            return self._figures(data, settings, "test", show)
        folds = [
            self._figures(data.fold(number, self.folds), settings, f"fold-{number + 1}-of-{self.folds}", show)
            for number in range(self.folds)
        ]
        return {"note": data.note, "accuracy": _mean(folds), "folds": folds}

    def _data(self, show: Show, skipped: Skipped) -> PictureData:
        """The index and the features, built if missing."""
        from program_guided.tasks.visual.features import ObjectFeatures
        from program_guided.tasks.visual.index import Index
        from program_guided.tasks.visual.index.building import make_index
        from program_guided.tasks.visual.ontology import find_ontology
        from program_guided.tasks.visual.photographs.study import PictureData
        from program_guided.tasks.visual.release.sources import question_sets

        available = question_sets(self.root)
        train, test = (_first(self.root, names, available) for names in (TRAIN, TEST))
        with ObjectFeatures(self._extracted(show, skipped)) as features:
            folder = self.out / "index"
            begin = partial(announce, f"indexing {self.root} in {folder}")
            make_index(self.root, folder, (train, test), self.skip_bad, begin=begin, pictures=features.image_ids)
            index = Index.open(folder)
            for line in index.skipped():
                skipped.add(line)
            parts = None if self.features else self._parts(index, (train, test), show)
            return PictureData.read(index, train, test, features, parts, find_ontology(self.root))

    def _parts(self, index: Index, sets: Sequence[str], show: Show) -> Path:
        """The parts of the pictures that questions are about, extracted if missing."""
        from program_guided.tasks.visual.photographs.parts import extract_parts

        path, images = self.out / "parts.npz", {image for name in sets for image in index.questions(name).pictures}
        extract_parts(self.root / "images", path, images, lambda done, total: show("parts", done, total=total))
        return path

    def _extracted(self, show: Show, skipped: Skipped) -> Path:
        """The named features, else those of the pictures, extracted if missing."""
        from program_guided.tasks.visual.photographs.extraction import extract

        if self.features is not None:
            return self.features
        images, features = self.root / "images", self.out / "pictures.h5"
        begin = partial(announce, f"extracting features of {images}")
        found = extract(
            images,
            features,
            skip_bad=self.skip_bad,
            progress=lambda done, total: show("features", done, total),
            begin=begin,
        )
        for line in found.skipped:
            skipped.add(line)
        return features

    def _figures(self, data: PictureData, settings: PictureSettings, name: str, show: Show) -> dict[str, Any]:
        """Figures of one split of the data; the answers of finished seeds are kept in a folder of that name."""
        from program_guided.tasks.visual.photographs.study import measure, plan_of, prior_answers

        folder = unfinished(self.out / name, plan_of(data, settings))
        path, predicted = folder / "prior.json", dict[str, list[list[str]]]()
        if not path.is_file():
            write_atomically(path, json.dumps(prior_answers(data)).encode("ascii"))
        for of, found in _answers(path, len(data.test.questions)).items():
            predicted[of] = [found] * self.seeds
        for seed in range(self.seeds):
            for model in ("prior + executor", "executor"):
                for blind in (False, True):
                    path = folder / f"{model.replace(' + ', '-')}{'-blind' * blind}-{seed}.json"
                    if not path.is_file():
                        self._learn(data, settings, (seed, model, blind), path, partial(show, f"{name} {path.stem}"))
                    for of, found in _answers(path, len(data.test.questions)).items():
                        predicted.setdefault(of, []).append(found)
        return measure(data, predicted)

    def _learn(
        self, data: PictureData, settings: PictureSettings, which: tuple[int, Any, bool], path: Path, show: Show
    ) -> None:
        """Train the executors of a seed, and keep their answers; and those with pictures alone of the first seed."""
        from program_guided.tasks.visual.photographs.executor import PhotographExecutor
        from program_guided.tasks.visual.photographs.study import learn

        learned = learn(data, settings, *which, partial(show, total=settings.steps * settings.members))
        if which == (0, "executor", False) and not self.folds:
            PhotographExecutor.of(learned, settings).save(self.out / "executor")
        write_atomically(path, json.dumps(learned.answers()).encode("ascii"))
        if not sys.stderr.isatty():  # there are no progress bars
            print(f"{path.stem}: trained", file=sys.stderr, flush=True)


def _answers(path: Path, count: int) -> dict[str, list[str]]:
    """The answers of a finished seed, by pictures that it was given."""
    found = read_json(path)
    lists = list(found.values()) if isinstance(found, dict) else [None]
    if not all(isinstance(each, list) and len(each) == count and set(map(type, each)) <= {str} for each in lists):
        raise DataError(f"{path}: expected lists of {count} answers; remove it, and run the same command again")
    return dict(found)


def _first(root: Path, names: Sequence[str], available: Sequence[str]) -> str:
    found = next((name for name in names if name in available), None)
    if found is None:
        raise DataError(f"{root}: has none of the sets {', '.join(names)} (there are {', '.join(available)})")
    return found


def _mean(folds: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {name: fmean(fold["accuracy"][name] for fold in folds) for name in folds[0]["accuracy"]}


def _print(figures: Mapping[str, Any]) -> None:
    names = list(figures["accuracy"])
    if "folds" in figures:
        rows = [[str(number + 1), *_shown(fold["accuracy"], names)] for number, fold in enumerate(figures["folds"])]
        rows.append(["mean", *_shown(figures["accuracy"], names)])
        print("folds of train: questions answered, %")
        print_table("", ("fold", *names), rows)
    else:
        _print_test(figures, names)
    print(figures["note"])


def _print_test(figures: Mapping[str, Any], names: Sequence[str]) -> None:
    seeds = zip(*(figures["seeds"][name] for name in names), strict=True)
    rows = [[f"seed {number}", *(f"{each:.1f}" for each in row)] for number, row in enumerate(seeds)]
    rows.append(["mean", *_shown(figures["accuracy"], names)])
    questions, pictures = figures["questions"]["test"], figures["pictures"]["test"]
    title = f"{questions:,} questions about {pictures} pictures that are not in train: answered, %"
    print(title)
    print_table("", ("", *names), rows)
    rows = [
        [name, f"{each['points']:+.1f}", f"{each['low']:+.1f} to {each['high']:+.1f}"]
        for name, each in figures["differences"].items()
    ]
    print_table("differences, points", ("", "points", "95 %, over pictures"), rows)
    rows = [[name, f"{percent:.1f}"] for name, percent in figures["priors"].items()]
    print("the most frequent answer of train, %")
    print_table("", ("by", "answered"), rows)
    rows = [[kind, str(each["questions"]), *_shown(each, names)] for kind, each in figures["structural"].items()]
    print_table("by structural type, %", ("", "questions", *names), rows)
    print(f"{figures['unknown_answers']:.1f} % of the answers of test do not occur in train.")


def _shown(figures: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{figures[name]:.1f}" for name in names]
