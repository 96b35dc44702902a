"""Runs: a row's training with one seed, and the folder it lives in.

Rows with the same training share their runs, in all experiments. A run is a folder, named by a digest of its training,
seed, budget and commit:

    run.json          the run
    training/         the folder of `proto train`, or of another command that trains
    trained.json      written when the training has ended
    measure-*.json    one for each measure, as `proto evaluate --save` writes it
    result.json       all of it, when everything has been measured
    starts.jsonl      every command that was started, when and where
    output.txt        the output of these commands
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.experiments.declaration import AGENT, MODULE, SEED, Budget, Experiment, Measure, Row
from program_guided.files import read_json, write_atomically
from program_guided.version import VERSION

__all__ = [
    "ANY",
    "OUTPUT",
    "RESULT",
    "RUN",
    "STARTS",
    "TRAINED",
    "TRAINING",
    "Commits",
    "Run",
    "code_commit",
    "commands",
    "digest",
    "folder_of",
    "in_process",
    "measure_arguments",
    "measure_commands",
    "read_run",
    "run_of",
    "runs_of",
    "shown",
    "train_command",
    "write_run",
]

ANY = "any"
"""Instead of a commit: all of them."""
RUN, TRAINING, TRAINED, RESULT, STARTS = "run.json", "training", "trained.json", "result.json", "starts.jsonl"
OUTPUT = "output.txt"
DIGITS = 16
CODE = (".", ":(exclude)experiments", ":(exclude)cli/experiment.py")
"""Files that a training depends on: the package, but not the declarations, whose arguments are part of the digest."""


@dataclass(frozen=True)
class Run:
    """A training (or an agent that needs none) with one seed."""

    train: tuple[str, ...]
    agent: str
    seed: int
    budget: Budget

    def digest(self, commit: str) -> str:
        """The name of its folder."""
        return digest({**asdict(self), "commit": commit})


def digest(record: Any) -> str:
    """A short name of a JSON value."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode("ascii")).hexdigest()[:DIGITS]


def runs_of(experiment: Experiment, seeds: int, budget: Budget) -> Iterator[tuple[Row, Run]]:
    """All runs that an experiment needs, the first seed of every row first."""
    for seed in range(seeds):
        for row in experiment.rows:
            yield row, run_of(experiment, row, seed, budget)


def run_of(experiment: Experiment, row: Row, seed: int, budget: Budget) -> Run:
    """The run of a row with a seed."""
    small = experiment.small if row.small is None else row.small
    further = small if budget == "small" and row.train else ()
    return Run((*row.train, *further), row.agent, seed, budget)


def train_command(run: Run, folder: Path) -> list[str]:
    """Arguments of `proto`, or of Python, that train a run from its beginning."""
    own = () if run.train[0] == MODULE else ("train",)
    return [*own, *run.train, "--seed", str(run.seed), "--out", str(folder / TRAINING)]


def measure_commands(experiment: Experiment, row: Row, run: Run, folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """By the name of each measure: the file that its figures are saved to, and the arguments of `proto`."""
    found = {}
    for name, arguments in measure_arguments(experiment, row, run).items():
        file = folder / f"measure-{digest(arguments)}.json"
        agent = str(folder / TRAINING) if run.train else run.agent
        found[name] = (file, [*(agent if each == AGENT else each for each in arguments), "--save", str(file)])
    return found


def measure_arguments(experiment: Experiment, row: Row, run: Run) -> dict[str, list[str]]:
    """By the name of each measure, arguments of `proto` in which the agent is still to be named."""
    return {each.name: _arguments(experiment, each, run) for each in experiment.measures_of(row)}


def _arguments(experiment: Experiment, measure: Measure, run: Run) -> list[str]:
    further = experiment.small_measure if run.budget == "small" and AGENT in measure.command else ()
    task = run.train[0] if run.train else ""
    by_file = ("--task", task) if AGENT in measure.command and (task.endswith(".py") or ":" in task) else ()
    every = (*measure.command, *by_file, *measure.arguments, *further)
    return [str(run.seed) if each == SEED else each for each in every]


def commands(experiment: Experiment, row: Row, run: Run, folder: Path) -> list[str]:
    """All commands of a run, as a person types them."""
    train = [shown(train_command(run, folder))] if run.train else []
    return [*train, *(shown(each) for _, each in measure_commands(experiment, row, run, folder).values())]


def shown(arguments: Sequence[str]) -> str:
    """A command as a person types it."""
    return shlex.join(["python" if arguments[0] == MODULE else "proto", *arguments])


def in_process(arguments: Sequence[str]) -> list[str]:
    """The same command in a process of this Python."""
    return [sys.executable, *([] if arguments[0] == MODULE else [MODULE, "program_guided"]), *arguments]


@dataclass(frozen=True)
class Commits:
    """Commits whose runs count: the present one, and another one or `ANY` if the user says so."""

    present: str
    other: str | None = None

    def accept(self, commit: str) -> bool:
        """Whether the runs of a commit count."""
        return self.other == ANY or commit in (self.present, self.other)


def folder_of(run: Run, out: Path, commits: Commits) -> Path:
    """The folder of a run: one that was begun at another commit, if that counts and there is none of the present."""
    own = out / run.digest(commits.present)
    if commits.other is None or (own / RUN).is_file():
        return own
    every = [path.parent for path in sorted(out.glob(f"*/{RUN}")) if _is_of(run, path, commits)]
    return max(every, key=_progress, default=own)


def _progress(folder: Path) -> tuple[bool, ...]:
    return tuple((folder / name).is_file() for name in (RESULT, TRAINED))


def _is_of(run: Run, path: Path, commits: Commits) -> bool:
    """Whether a folder's run is this one, at a commit that counts."""
    recorded = read_run(path.parent)
    return recorded == {**_as_json(run), "commit": recorded["commit"]} and commits.accept(str(recorded["commit"]))


def _as_json(run: Run) -> dict[str, Any]:
    return {**asdict(run), "train": list(run.train)}


def write_run(run: Run, folder: Path, commit: str) -> None:
    """Note which run a folder is of."""
    path = folder / RUN
    if not path.is_file():
        write_atomically(path, (json.dumps({**_as_json(run), "commit": commit}, indent=2) + "\n").encode("ascii"))


def read_run(folder: Path) -> dict[str, Any]:
    """The run that a folder is of, with its commit."""
    found = read_json(folder / RUN)
    if not isinstance(found, dict) or "commit" not in found:
        raise DataError(f"{folder / RUN}: does not name a run; remove the folder, and run the same command again")
    return found


def code_commit() -> str:
    """The last commit that changed the package's code, marked if it has been changed since; its version, if it is not
    in git."""
    if _git("ls-files", "--error-unmatch", "version.py") is None:  # installed inside of another repository
        return f"version {VERSION}"
    commit = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *CODE)
    changed = _git("status", "--porcelain", "--", *CODE)
    return f"{commit}-changed" if changed else str(commit)


def _git(*arguments: str) -> str | None:
    folder = Path(__file__).parents[1]
    try:
        completed = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() or None
