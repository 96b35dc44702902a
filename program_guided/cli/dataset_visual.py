"""What `proto dataset ... visual` does; apart from the command itself so that `proto --help` need not load the task."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from program_guided.cli.dataset import Build, Index, Stats
from program_guided.cli.output import bar_for_each, counted, progress_bars, report
from program_guided.errors import DataError

__all__ = ["build", "index", "stats"]

BOUNDS = (
    ("scenes", 1, math.inf),
    ("seed", 0, math.inf),
    ("pictures", 0, math.inf),
    ("noise", 0, sys.float_info.max),
    ("misses", 0, 1),
)
"""Options of `build`, the least and the most that each may be."""
SHOWN = 10
"""Lines of what was left out that are printed; the rest is in a file."""
TEST_SETS = ("testdev_balanced", "dev", "test_balanced", "val_balanced", "val_all", "val")
"""Where guessing is tried: the first that is there. (The release's own `test` has neither programs nor answers.)"""


def build(options: Build) -> int:
    """Write the embedded world."""
    from program_guided.tasks.visual.assembly import HEADER
    from program_guided.tasks.visual.building import scenes_of, write_world
    from program_guided.tasks.visual.detections import Detector
    from program_guided.tasks.visual.drawing import draw_scene

    for name, least, most in BOUNDS:
        given = getattr(options, name)
        values = given if isinstance(given, tuple) else (given,)
        if not all(least <= value <= most for value in values):
            bound = f"from {least} to {most}" if most == 1 else f"{least} or more"
            raise DataError(f"--{name} {' '.join(map(str, values))}: must be {bound}")
    folder, detector = options.out or Path("out/visual"), Detector(noise=options.noise, misses=options.misses)
    splits = dict(zip(("train", "val", "test"), options.scenes, strict=True))
    (folder / "index" / HEADER).unlink(missing_ok=True)  # of a world that was there before
    with progress_bars() as progress:
        show = bar_for_each(progress)
        write_world(folder, splits, options.seed, detector, show)
        drawn = min(options.pictures, splits["test"])
        for number, scene in enumerate(scenes_of("test", drawn, options.seed)):
            path = folder / "pictures" / f"{scene.image_id}.png"
            path.parent.mkdir(exist_ok=True)
            draw_scene(scene).save(path)
            show("pictures", number + 1, drawn)
    print(f"wrote {folder}; next: proto dataset index visual --root {folder}")
    return 0


def index(options: Index) -> int:
    """Make an index, go on making it, or verify it."""
    from program_guided.tasks.visual import index as indices
    from program_guided.tasks.visual.assembly import HEADER
    from program_guided.tasks.visual.indexing import Progress, make_index

    folder = options.out or options.root / "index"
    if options.processes < 1:
        raise DataError(f"--processes {options.processes}: at least 1 is needed")
    if options.verify:
        try:
            indices.Index.open(folder, verify=True)
        except DataError:
            (folder / HEADER).unlink(missing_ok=True)  # so that it is made again
            raise
        print(f"{folder} is whole: every file has its checksum")
        return 0
    try:
        with progress_bars("{task.percentage:.0f} %  {task.fields[figures]}") as progress:
            bar = progress.add_task("", total=None, figures="", visible=False)
            first: list[Progress] = []

            def show(moment: Progress) -> None:
                first[:] = first or [moment]
                seconds = progress.tasks[0].elapsed or 0
                rate = (moment.records - first[0].records) / seconds if seconds else 0
                bad = f", {moment.skipped:,} left out" if moment.skipped else ""
                figures = f"{moment.records:,} records{bad}, {rate:,.0f}/s"
                amounts = {"completed": moment.done, "total": moment.total, "figures": figures}
                progress.update(bar, description=moment.doing, visible=True, **amounts)

            made = make_index(options.root, folder, options.only, options.skip_bad, options.processes, show)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped")
        return 130
    _tell(indices.Index.open(folder), made)
    print(f'next: proto dataset stats visual --root {options.root}    in Python: Index.open(Path("{folder}"))')
    return 0


def _tell(made: Any, new: bool) -> None:
    """What the index holds, and what it does not."""
    from program_guided.tasks.visual.assembly import SKIPPED

    sets = ", ".join(f"{name} {count:,}" for name, count in made.sets.items())
    print(f"{'wrote' if new else 'nothing to do: there is'} {made.folder}")
    print(f"questions: {sets}; scene graphs: {len(made.scene_ids):,}")
    print(f"train says {made.known_words:,} of {len(made.words):,} words, {made.known_answers:,} answers")
    left_out = made.header["skipped"]
    if left_out:
        path = made.folder / SKIPPED
        with path.open(encoding="utf-8") as lines:
            shown = [line.rstrip("\n") for _, line in zip(range(SHOWN), lines, strict=False)]
        print(f"left out {counted(left_out, 'piece')} that could not be read:")
        print("\n".join(f"  {line}" for line in shown))
        if left_out > len(shown):
            print(f"  and {left_out - len(shown):,} more, listed in {path}")


def stats(options: Stats) -> int:
    """Describe questions, and what is guessed without looking."""
    from program_guided.tasks.visual.statistics import describe

    with progress_bars("{task.percentage:.0f} %") as progress:
        names, train, test = _questions(options, progress)
        figures = {"task": "visual", "sets": names, **describe(train, test)}
    if not (figures["train"]["questions"] and figures["test"]["questions"]):
        empty = next(name for part, name in names.items() if not figures[part]["questions"])
        raise DataError(f"{empty} has no balanced question with a program and an answer; say another set with --test")
    report(figures, options.save, options.json, _print)
    return 0


def _questions(options: Stats, progress: Any) -> tuple[dict[str, str], Iterator[Any], Iterator[Any]]:
    """(names of the two sets, train, test)."""
    from program_guided.tasks.visual.building import SPLITS, questions_of
    from program_guided.tasks.visual.release import read_questions
    from program_guided.tasks.visual.sources import QUESTIONS, find_sources, is_train

    def made(split: str) -> Iterator[Any]:
        bar = progress.add_task(split, total=SPLITS[split])
        seen: set[str] = set()
        for question in questions_of(split, SPLITS[split], seed=0):
            seen.add(question.image_id)
            progress.update(bar, completed=len(seen))
            yield question

    def read(name: str) -> Iterator[Any]:
        files = [source for source in sources if source.name == name]
        bar = progress.add_task(name, total=sum(source.size for source in files))
        path = files[0].path if len(files) == 1 else files[0].path.parent
        yield from read_questions(path, watch=lambda done: progress.update(bar, completed=done))

    if options.root is None:
        if options.test is not None:
            raise DataError("--test needs --root: the embedded world is tried on its test split")
        return {"train": "train", "test": "test"}, made("train"), made("test")
    sources = [source for source in find_sources(options.root) if source.kind == QUESTIONS]
    sets = list(dict.fromkeys(source.name for source in sources))
    train = sorted(filter(is_train, sets), key=lambda name: name != "train_balanced")[0]
    test = options.test or next((name for name in TEST_SETS if name in sets), None)
    if test not in sets:
        raise DataError(f"{options.root}: there is no set to try on; say one of {', '.join(sets)} with --test")
    return {"train": train, "test": test}, read(train), read(test)


def _print(figures: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    sides = ("train", "test")

    def show(title: str, rows: dict[str, tuple[str, ...]], headings: tuple[str, ...]) -> None:
        console.print(title)
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for heading in headings:
            table.add_column(heading, justify="left" if heading == headings[0] else "right")
        for name, cells in rows.items():
            table.add_row(name, *cells)
        console.print(table)

    named = tuple(f"{side} ({figures['sets'][side]})" for side in sides)
    counts = ("questions", "images", "programs", "answers")
    show(
        "balanced questions", {key: tuple(f"{figures[side][key]:,}" for side in sides) for key in counts}, ("", *named)
    )
    for key, title in (
        ("structural", "types, % of questions"),
        ("semantic", "what they are about, % of questions"),
        ("steps", "steps of reasoning, % of questions"),
        ("families", "operations, % of routines"),
        ("frequent_answers", "most frequent answers of train, % of questions"),
    ):
        show(title, _shares(figures, key, sides), ("", *named))
    show(
        "answers guessed from the program alone, learned on train, tried on test",
        {name: (f"{share:.1f}",) for name, share in figures["blind_prior"].items()},
        ("by", "%"),
    )
    console.print(f"{figures['unseen_answers']:.1f} % of the answers of test are never given in train.")


def _shares(figures: dict[str, Any], key: str, sides: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Shares of both sides, in the order of train."""
    totals = {
        side: sum(figures[side][key].values()) if key == "families" else figures[side]["questions"] for side in sides
    }
    values = list(dict.fromkeys(value for side in sides for value in figures[side][key]))
    values = sorted(values) if key == "steps" else values
    return {
        str(value): tuple(f"{100 * figures[side][key].get(value, 0) / max(1, totals[side]):.1f}" for side in sides)
        for value in values
    }
