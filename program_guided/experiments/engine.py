"""Finds the runs that are missing, lets workers train and measure them, and writes a line of results for each."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from program_guided.bars import Bars
from program_guided.errors import DataError
from program_guided.experiments.declaration import Budget, Experiment, Row
from program_guided.experiments.lines import (
    add_line,
    counts,
    file_of,
    is_finished,
    line_of,
    measured_minutes,
    read_lines,
)
from program_guided.experiments.pools import LocalPool, Pool, RayPool, cores
from program_guided.experiments.runs import (
    OUTPUT,
    TRAINED,
    TRAINING,
    Commits,
    Run,
    folder_of,
    measure_commands,
    runs_of,
)
from program_guided.experiments.worker import BUSY, DONE, STOPPED, UNUSABLE, Job
from program_guided.files import check_writable
from program_guided.output import counted, progress_bars

__all__ = ["Engine", "Plan", "Status", "Use", "announcement", "minutes_of", "status"]

SECONDS = 0.2
"""Between two looks at the workers."""
BUSY_SECONDS = 2.0
"""Until a run that another process has is tried again."""


@dataclass(frozen=True)
class Plan:
    """Which runs are meant, and where their files are."""

    budget: Budget = "full"
    seeds: int | None = None
    """Number of seeds; None: the experiment's own, or one of the small budget."""
    commits: Commits = field(default_factory=lambda: Commits(""))
    rows: tuple[str, ...] = ()
    """Only rows whose names have one of these texts in them; none: all."""
    out: Path = Path("out/experiments")
    results: Path = Path("results")

    def seeds_of(self, experiment: Experiment) -> int:
        return self.seeds or (experiment.seeds if self.budget == "full" else 1)

    def file(self, experiment: Experiment) -> Path:
        """The experiment's lines."""
        return file_of(experiment.name, self.budget, self.results, self.out)

    def folder(self, run: Run) -> Path:
        return folder_of(run, self.out, self.commits)


@dataclass(frozen=True)
class Use:
    """A run as a row of an experiment, and whether its line is there."""

    experiment: Experiment
    row: Row
    run: Run
    done: bool


def uses_of(experiment: Experiment, plan: Plan) -> Iterator[Use]:
    """All runs that an experiment needs. A table that is whole at one commit, whichever, is done; else only the commits
    of the plan count, so that rows of several are not mixed."""
    lines = read_lines(plan.file(experiment))
    runs = list(runs_of(experiment, plan.seeds_of(experiment), plan.budget))

    def done(commits: Commits) -> list[bool]:
        return [any(counts(line, experiment, row, run, commits) for line in lines) for row, run in runs]

    every = (done(Commits(commit)) for commit in dict.fromkeys(line["commit"] for line in lines))
    found = next((each for each in every if all(each)), None) or done(plan.commits)
    for (row, run), is_done in zip(runs, found, strict=True):
        if not plan.rows or any(text in row.name for text in plan.rows):
            yield Use(experiment, row, run, is_done)


@dataclass(frozen=True)
class Status:
    """Runs of an experiment that are done and needed, and how long the others take here."""

    uses: tuple[Use, ...]
    minutes: float
    """Minutes of one core for the runs that are not done and of which it is known."""
    unknown: int
    """Number of the others."""

    @property
    def done(self) -> int:
        return sum(use.done for use in self.uses)

    def hours(self, workers: int) -> str:
        """Hours that are left."""
        return hours_of(self.minutes, self.unknown, workers)


def hours_of(minutes: float, unknown: int, workers: int) -> str:
    """A duration on several cores, as far as it is known."""
    shown = f"{minutes / 60 / workers:.1f}"
    if not unknown:
        return shown
    return f"{shown} + {unknown} of unknown length" if minutes else "unknown"


def status(experiments: Iterable[Experiment], plan: Plan) -> Status:
    """Status of experiments together: a run that two of them share takes its time once."""
    uses = tuple(use for experiment in experiments for use in uses_of(experiment, plan))
    known = measured_minutes(plan.results)
    left = {use.run: minutes_of(use, known) for use in uses if not use.done}
    measured = [minutes for minutes in left.values() if minutes is not None]
    return Status(uses, sum(measured), len(left) - len(measured))


def minutes_of(use: Use, known: dict[tuple[tuple[str, ...], str], float]) -> float | None:
    """Minutes of a run: measured, declared, or not known."""
    if use.run.budget == "small":
        return None
    return known.get((use.run.train, use.run.agent), use.row.minutes)


@dataclass
class Task:
    """A run that is to be finished, for one row or several."""

    run: Run
    folder: Path
    uses: list[Use]
    attempts: int = 0
    not_before: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.uses[0].row.name}, seed {self.run.seed}"

    def files(self) -> dict[str, list[str]]:
        """File of each measure of all its rows -> arguments of `proto`."""
        every = [measure_commands(use.experiment, use.row, use.run, self.folder) for use in self.uses]
        return {str(file): arguments for each in every for file, arguments in each.values()}


class Engine:
    """Finishes the runs of experiments that are missing."""

    def __init__(
        self,
        plan: Plan,
        *,
        on: Literal["local", "ray"] = "local",
        address: str | None = None,
        workers: int | None = None,
        retries: int = 2,
    ) -> None:
        self.plan, self.on, self.address, self.retries = plan, on, address, retries
        self.workers = workers
        self.failed: list[str] = []
        """A line for each run that failed."""

    def run(self, experiments: Sequence[Experiment]) -> None:
        """Finish all runs; those that fail are in `failed`. KeyboardInterrupt stops the workers first."""
        check_writable(self.plan.out / "any")
        check_writable(self.plan.results / "any")
        tasks = self._missing(experiments)
        if not tasks:
            return
        pool = self._pool()
        try:
            with progress_bars() as bars:
                _Loop(self, pool, bars, tasks).to_the_end()
        finally:
            pool.stop()

    def _pool(self) -> Pool:
        if self.on == "ray":
            return RayPool(self.address, self.workers, self.retries)
        return LocalPool(self.workers or cores())

    def _missing(self, experiments: Sequence[Experiment]) -> list[Task]:
        """Runs to be worked on; what is finished already only needs its line."""
        tasks: dict[Run, Task] = {}
        for use in (use for each in experiments for use in uses_of(each, self.plan) if not use.done):
            task = tasks.setdefault(use.run, Task(use.run, self.plan.folder(use.run), []))
            task.uses.append(use)
        open_tasks = []
        for task in tasks.values():
            if all(is_finished(use.experiment, use.row, use.run, task.folder) for use in task.uses):
                self.write_lines(task)
            else:
                open_tasks.append(task)
        return sorted(open_tasks, key=lambda task: task.run.seed)

    def write_lines(self, task: Task) -> None:
        """Add the lines of a finished run to its experiments."""
        for use in task.uses:
            line = line_of(use.experiment, use.row, use.run, task.folder)
            add_line(self.plan.file(use.experiment), line, [row.name for row in use.experiment.rows])

    def job(self, task: Task) -> Job:
        """A run as its worker is given it."""
        return Job(os.getcwd(), str(task.folder), task.run, self.plan.commits.present, task.files())


class _Loop:
    """Starts runs where a worker is free, until all have ended."""

    def __init__(self, engine: Engine, pool: Pool, bars: Bars, tasks: Sequence[Task]) -> None:
        self.engine, self.pool, self.bars = engine, pool, bars
        self.queue, self.count, self.done = deque(tasks), len(tasks), 0
        self.running: dict[str, Task] = {}
        self.total = bars.add_task("runs", total=len(tasks))
        self.shown: dict[Path, Any] = {}

    def to_the_end(self) -> None:
        while self.queue or self.running:
            self._start()
            for job, code in self.pool.ended():
                self._ended(self.running.pop(job.folder), code)
            for task in self.running.values():
                self._show(task)
            time.sleep(SECONDS)

    def _start(self) -> None:
        for _ in range(len(self.queue)):
            if not self.pool.free():
                return
            task = self.queue.popleft()
            if task.not_before > time.monotonic():
                self.queue.append(task)
                continue
            self.running[str(task.folder)] = task
            self.pool.start(self.engine.job(task))

    def _ended(self, task: Task, code: int) -> None:
        self._hide(task)
        if code == DONE:
            self._finished(task)
        elif code == BUSY:
            task.not_before = time.monotonic() + BUSY_SECONDS
            self.queue.append(task)
        elif code == STOPPED:
            raise KeyboardInterrupt
        else:
            self._retried(task, code)

    def _finished(self, task: Task) -> None:
        try:
            self.engine.write_lines(task)
        except DataError as error:
            self._given_up(task, str(error))
            return
        self._count(f"{task.name}: done")

    def _retried(self, task: Task, code: int) -> None:
        task.attempts += 1
        reason = f"{_last_line(task.folder / OUTPUT)} ({task.folder / OUTPUT})"
        if code == UNUSABLE or task.attempts > self.engine.retries:
            self._given_up(task, reason)
            return
        self._say(f"{task.name}: failed, is tried again: {reason}")
        self.queue.append(task)

    def _given_up(self, task: Task, reason: str) -> None:
        self.engine.failed.append(f"{task.name}: {reason}")
        self._count(f"{task.name}: failed")

    def _count(self, message: str) -> None:
        self.done += 1
        self.bars.update(self.total, completed=self.done)
        self._say(f"{message} ({self.done} of {self.count})")

    def _say(self, message: str) -> None:
        if self.bars.disable:
            print(message, file=sys.stderr, flush=True)
        else:
            self.bars.console.print(message, markup=False, highlight=False)

    def _show(self, task: Task) -> None:
        """A bar of a running run: the steps of its training, or its measures."""
        if self.bars.disable:
            return
        if task.folder not in self.shown:
            self.shown[task.folder] = self.bars.add_task(task.name, total=None, rate="")
        self.bars.update(self.shown[task.folder], **_progress(task))

    def _hide(self, task: Task) -> None:
        if task.folder in self.shown:
            self.bars.remove_task(self.shown.pop(task.folder))


def _progress(task: Task) -> dict[str, Any]:
    """Amount of a run that is done, as its folder shows it."""
    files = task.files()
    if not task.run.train or (task.folder / TRAINED).is_file():
        done = sum(Path(file).is_file() for file in files)
        return {"completed": done, "total": max(1, len(files)), "notes": ("measures",)}
    training = task.folder / TRAINING
    try:
        steps = json.loads((training / "options.json").read_text("utf-8"))["steps"]
        last = json.loads((training / "log.jsonl").read_text("utf-8").splitlines()[-1])
        notes = ("steps", f"held-out {last['completion']:.1f} %")
        return {"completed": min(last["step"], steps), "total": steps, "notes": notes}
    except (OSError, ValueError, LookupError, TypeError):  # nothing is there yet, or a line is just being written
        return {"notes": ("training",)}


def _last_line(path: Path) -> str:
    try:
        lines = [line for line in path.read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "no output"


def announcement(experiments: Sequence[Experiment], plan: Plan, workers: int) -> str:
    """The cost of what is missing, in a line."""
    found = status(experiments, plan)
    runs = len({use.run for use in found.uses})
    left = len({use.run for use in found.uses if not use.done})
    if not left:
        return f"all {counted(runs, 'run')} done; to do them again, remove their lines from {plan.results}"
    cost = "a minute or two each" if plan.budget == "small" else f"about {found.hours(workers)} hours"
    return (
        f"{counted(left, 'run')} of {runs} to do, {cost}, with {counted(workers, 'worker')} at {plan.commits.present}"
    )
