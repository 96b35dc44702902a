"""Lines of results: one for each finished run, in `results/NAME.jsonl`, and the runs that they make superfluous."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.experiments.declaration import Budget, Experiment, Row
from program_guided.experiments.runs import (
    RESULT,
    Commits,
    Run,
    commands,
    measure_arguments,
    measure_commands,
    read_run,
)
from program_guided.files import held, read_json, refuse_constant, write_atomically

__all__ = ["add_line", "counts", "file_of", "is_finished", "line_of", "measured_minutes", "read_lines"]

Line = Mapping[str, Any]
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "row": str,
    "seed": int,
    "commit": str,
    "settings": dict,
    "figures": dict,
    "curve": list,
    "minutes": (int, float),
    "parameters": (int, type(None)),
    "machine": dict,
}
"""Keys that every line has, and the types of their values."""
PATIENCE = 60.0
"""Seconds to wait for another process that writes results."""


def file_of(experiment: str, budget: Budget, results: Path, out: Path) -> Path:
    """The file of an experiment's lines; a trial's are no results."""
    return results / f"{experiment}.jsonl" if budget == "full" else out / f"{experiment}.small.jsonl"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; none if it does not exist. One clear error for a line that is damaged."""
    if not path.exists():
        return []
    try:
        texts = path.read_text("utf-8").split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeError:
        raise DataError(f"{path}: is not UTF-8, so no file of results") from None
    if texts[-1]:
        raise DataError(f"{path}:{len(texts)}: the line is cut off; remove it, and run the same command again")
    return [_read(text, f"{path}:{number}") for number, text in enumerate(texts[:-1], 1)]


def _read(text: str, place: str) -> dict[str, Any]:
    try:
        line = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: the line is damaged ({error}); remove it, and run the same command again") from None
    known = line if isinstance(line, dict) else {}
    wrong = [name for name, kind in KINDS.items() if not isinstance(known.get(name, ...), kind)]
    if wrong:
        raise DataError(f"{place}: is no line of results: {wrong[0]!r} is missing or of another type")
    return known


def add_line(path: Path, line: Line, rows: Sequence[str]) -> None:
    """Put a line into a file, instead of one of the same row and seed, in the order of the rows and seeds."""
    order = {name: number for number, name in enumerate(rows)}
    with _waited_for(path.parent):
        kept = [each for each in read_lines(path) if (each["row"], each["seed"]) != (line["row"], line["seed"])]
        every = sorted([*kept, line], key=lambda each: (order.get(each["row"], len(order)), each["row"], each["seed"]))
        write_atomically(path, "".join(json.dumps(each) + "\n" for each in every).encode("utf-8"))


@contextmanager
def _waited_for(folder: Path) -> Iterator[None]:
    """Only this process writes to a folder, as soon as no other one does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        lock = held(folder)
        try:
            lock.__enter__()
            break
        except DataError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def settings_of(experiment: Experiment, row: Row, run: Run) -> dict[str, Any]:
    """The arguments that a line's figures were made with."""
    return {"train": list(run.train), "agent": run.agent, "measures": measure_arguments(experiment, row, run)}


def counts(line: Line, experiment: Experiment, row: Row, run: Run, commits: Commits) -> bool:
    """Whether a line is of this run, with the same arguments, at a commit that counts."""
    is_of = line["row"] == row.name and line["seed"] == run.seed and commits.accept(line["commit"])
    settings = {name: value for name, value in line["settings"].items() if name != "options"}
    return is_of and settings == settings_of(experiment, row, run)


def is_finished(experiment: Experiment, row: Row, run: Run, folder: Path) -> bool:
    """Whether a folder holds everything that a line needs."""
    files = [file for file, _ in measure_commands(experiment, row, run, folder).values()]
    if not (folder / RESULT).is_file():
        return False
    return {file.name for file in files} <= read_json(folder / RESULT).get("measures", {}).keys()


def line_of(experiment: Experiment, row: Row, run: Run, folder: Path) -> dict[str, Any]:
    """The line of a finished run."""
    result = read_json(folder / RESULT)
    measured = measure_commands(experiment, row, run, folder)
    reports = {name: result["measures"][file.name] for name, (file, _) in measured.items()}
    splits = {name: _splits(report) for name, report in reports.items()}
    return {
        "experiment": experiment.name,
        "row": row.name,
        "seed": run.seed,
        "budget": run.budget,
        "commands": commands(experiment, row, run, folder),
        "commit": read_run(folder)["commit"],
        "commits": result["commits"],
        "settings": {**settings_of(experiment, row, run), "options": result.get("options", {})},
        "parameters": result.get("parameters"),
        "minutes": result.get("minutes", 0.0),
        "measure_minutes": result["measure_minutes"],
        "curve": result.get("curve", []),
        "figures": _each(splits, experiment.score),
        "outcomes": _each(splits, "outcomes"),
        "tokens": _each(splits, "tokens"),
        "machine": result["machine"],
    }


def _splits(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Splits of what `proto evaluate` (of one agent) or `proto dataset stats` saved."""
    agents = report.get("agents")
    return next(iter(agents.values()))["splits"] if agents else report.get("splits", {})


def _each(splits: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    """One figure of each measure and split that has it."""
    return {name: {split: found[key] for split, found in each.items() if key in found} for name, each in splits.items()}


def measured_minutes(results: Path) -> dict[tuple[tuple[str, ...], str], float]:
    """Mean minutes of a run, with its measures, by its training and agent, from all lines of results."""
    found: dict[tuple[tuple[str, ...], str], list[float]] = {}
    for line in _all_lines(sorted(results.glob("*.jsonl"))):
        settings = line["settings"]
        key = (tuple(settings.get("train", ())), str(settings.get("agent", "")))
        found.setdefault(key, []).append(line["minutes"] + line.get("measure_minutes", 0.0))
    return {key: sum(each) / len(each) for key, each in found.items()}


def _all_lines(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from read_lines(path)
