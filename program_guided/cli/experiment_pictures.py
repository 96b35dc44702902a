"""What `proto experiment pictures` does; apart from the command itself so that `proto --help` need not load torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from program_guided.cli.experiment import Experiment
from program_guided.cli.output import bar_for_each, progress_bars, report
from program_guided.errors import DataError
from program_guided.experiments.pictures import NOT_COMPARABLE, Kind, PictureData, learn, measure, plan_of
from program_guided.files import check_writable, read_json, unfinished, write_atomically
from program_guided.learning.extraction import extract
from program_guided.learning.settings import PictureSettings
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.indexing import make_index
from program_guided.tasks.visual.sources import QUESTIONS, find_sources

__all__ = ["run_pictures"]

TRAIN = ("train_balanced", "train", "train_all")
TEST = ("dev", "testdev_balanced", "test_balanced", "val_balanced", "testdev", "test", "val")
"""Sets of questions to learn from, and to ask in the end: the first that is there."""
MODELS: tuple[Kind, ...] = ("picture", "blind")
Show = Callable[..., None]
"""Told what is done, how much of it, of how much (`total`)."""


def run_pictures(options: Experiment) -> int:
    """Learn what has not been learned yet, and report."""
    if options.seeds < 1 or options.folds < 0 or options.folds == 1:
        raise DataError("--seeds must be at least 1, --folds 0 or at least 2")
    settings = PictureSettings(steps=options.steps, members=options.members)
    settings.check()
    if options.save is not None:
        check_writable(options.save)
    try:
        with progress_bars() as progress:
            show = bar_for_each(progress)
            data = _data(options, show)
            if options.folds:
                parts = [data.fold(number, options.folds) for number in range(options.folds)]
                folds = [
                    _figures(part, settings, options, f"fold-{number + 1}-of-{options.folds}", show)
                    for number, part in enumerate(parts)
                ]
                figures: dict[str, Any] = {"note": NOT_COMPARABLE, "accuracy": _mean(folds), "folds": folds}
            else:
                figures = _figures(data, settings, options, "test", show)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped")
        return 130
    report(figures, options.save, options.json, _print)
    return 0


def _data(options: Experiment, show: Show) -> PictureData:
    """The index and the features, made at need."""
    there = [source.name for source in find_sources(options.root) if source.kind == QUESTIONS]
    train, test = (_first(options.root, names, there) for names in (TRAIN, TEST))
    make_index(options.root, options.out / "index", (train, test))
    features = options.features or options.out / "pictures.h5"
    if not features.exists() or options.features is None:
        extract(options.root / "images", features, progress=lambda done, total: show("features", done, total))
    with ObjectFeatures(features) as opened:
        return PictureData.read(Index.open(options.out / "index"), train, test, opened)


def _first(root: Path, names: Sequence[str], there: Sequence[str]) -> str:
    found = next((name for name in names if name in there), None)
    if found is None:
        raise DataError(f"{root}: has none of the sets {', '.join(names)} (there are {', '.join(there)})")
    return found


def _figures(
    data: PictureData, settings: PictureSettings, options: Experiment, name: str, show: Show
) -> dict[str, Any]:
    """Of one split of the data; the answers of seeds that are done are kept in a folder of that name."""
    folder = unfinished(options.out / name, plan_of(data, settings))
    given: dict[str, list[list[str]]] = {}
    for seed in range(options.seeds):
        for kind in MODELS:
            path, title = folder / f"{kind}-{seed}.json", f"{name} seed {seed} {kind}"
            if not path.is_file():
                updates = partial(show, title, total=settings.steps * settings.members)
                found = learn(data, settings, seed, kind, updates)
                write_atomically(path, json.dumps(found).encode("ascii"))
                if not sys.stderr.isatty():  # where there are no bars
                    print(f"{title}: learned", file=sys.stderr, flush=True)
            for shown, answers in read_json(path).items():
                given.setdefault(shown, []).append(answers)
    return measure(data, given)


def _mean(folds: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {name: fmean(fold["accuracy"][name] for fold in folds) for name in folds[0]["accuracy"]}


def _print(figures: Mapping[str, Any]) -> None:
    from rich.console import Console

    console = Console()
    if "folds" in figures:
        names = list(figures["accuracy"])
        rows = [[str(number + 1), *_shown(fold["accuracy"], names)] for number, fold in enumerate(figures["folds"])]
        rows.append(["mean", *_shown(figures["accuracy"], names)])
        console.print(_table("folds of train: questions answered, %", ("fold", *names), rows))
    else:
        _print_test(console, figures)
    console.print(figures["note"])


def _print_test(console: Any, figures: Mapping[str, Any]) -> None:
    names = list(figures["accuracy"])
    seeds = zip(*(figures["seeds"][name] for name in names), strict=True)
    rows = [[f"seed {number}", *(f"{each:.1f}" for each in row)] for number, row in enumerate(seeds)]
    rows.append(["mean", *_shown(figures["accuracy"], names)])
    asked, pictures = figures["questions"]["test"], figures["pictures"]["test"]
    title = f"{asked:,} questions about {pictures} pictures that nothing was learned from: answered, %"
    console.print(_table(title, ("", *names), rows))
    rows = [
        [name, f"{each['points']:+.1f}", f"{each['low']:+.1f} to {each['high']:+.1f}"]
        for name, each in figures["differences"].items()
    ]
    console.print(_table("differences, points", ("", "points", "95 %, over pictures"), rows))
    rows = [[name, f"{percent:.1f}"] for name, percent in figures["priors"].items()]
    console.print(_table("the most frequent answer of train, %", ("by", "answered"), rows))
    rows = [[kind, str(each["questions"]), *_shown(each, names)] for kind, each in figures["structural"].items()]
    console.print(_table("by structural type, %", ("", "questions", *names), rows))
    console.print(f"Of these answers train never gives {figures['unknown_answers']:.1f} %.")


def _shown(figures: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{figures[name]:.1f}" for name in names]


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table
