"""`proto experiment`: the paper's tables and figures, and ours, each by one command."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import tyro

from program_guided.cli.parsing import asks_for_help, parse, read
from program_guided.errors import DataError, UsageError
from program_guided.experiments import EXPERIMENTS, Experiment, find
from program_guided.experiments.engine import Engine, Plan, Status, announcement, minutes_of, status
from program_guided.experiments.lines import measured_minutes, read_lines
from program_guided.experiments.pools import cores
from program_guided.experiments.runs import Commits, code_commit, commands
from program_guided.experiments.tables import draw, table
from program_guided.files import check_writable
from program_guided.output import OptionalNumber, OptionalText, print_table
from program_guided.registry import EXPERIMENTS as OF_TASKS

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Train and measure all rows of a table, and draw it beside the paper's figures.

What is done is not done again; interrupted, the same command goes on. Experiments with options of their own:"""
MAX_SEEDS = 100
Action = Literal["list", "show", "run", "draw"]


@dataclass(frozen=True)
class Options:
    """Action, experiments, and where their files are."""

    action: tyro.conf.Positional[Action]
    """list: all experiments. show: the runs of some, and their commands. run: do what is missing. draw: table and
    figure, from the results alone."""
    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of experiments, as `list` shows them."""
    seeds: OptionalNumber = None
    """Number of seeds; by default those of the experiment, or one of the small budget."""
    rows: tuple[str, ...] = ()
    """Only rows whose names have one of these texts in them, as `show` prints them."""
    budget: Literal["small", "full"] = "full"
    """full: the results. small: a trial in which every training takes seconds; it is kept apart from the results."""
    on: Literal["local", "ray"] = "local"
    """Where the runs are worked on: processes here, or tasks on a Ray cluster (extra `cluster`)."""
    address: OptionalText = None
    """Address of the Ray cluster; by default the one that runs here."""
    workers: OptionalNumber = None
    """Runs at a time, on one core each; by default as many as there are cores, here or in the cluster."""
    out: Path = Path("out/experiments")
    """Folder of the runs; machines of a cluster share it."""
    results: Path = Path("results")
    """Folder of the lines of results, NAME.jsonl."""
    docs: Path = Path("docs")
    """Folder of the figures, NAME.png."""
    retries: int = 2
    """Number of times that a run which failed is resumed."""
    commit: OptionalText = None
    """Runs of this commit count too, beside those of the present code: a commit as the tables name it, or `any`."""

    def plan(self) -> Plan:
        self._check()
        commits = Commits(code_commit(), self.commit)
        plan = Plan(self.budget, self.seeds, commits, self.rows, self.out, self.results)
        for text in self.rows:
            if not any(text in row.name for each in self.named() or EXPERIMENTS.values() for row in each.rows):
                raise DataError(f"rows {text!r}: no row has this in its name; see: proto experiment show NAME")
        return plan

    def _check(self) -> None:
        """One clear error for options that cannot be."""
        if self.seeds is not None and not 1 <= self.seeds <= MAX_SEEDS:
            raise DataError(f"seeds {self.seeds}: it must be from 1 to {MAX_SEEDS}")
        if self.workers is not None and self.workers < 1:
            raise DataError(f"workers {self.workers}: at least 1 is needed")
        if self.retries < 0:
            raise DataError(f"retries {self.retries}: it cannot be less than 0")
        if self.address is not None and self.on != "ray":
            raise DataError("address: only Ray has one; run it on ray")

    def named(self) -> list[Experiment]:
        """The experiments, each once."""
        return [find(name) for name in dict.fromkeys(self.names)]

    @property
    def workers_here(self) -> int:
        return self.workers or cores()


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    if arguments and arguments[0] in OF_TASKS:
        return int(read(_of_task(arguments[0]), "proto experiment", arguments).run())
    if not arguments:
        raise UsageError("say what to do, as in: proto experiment list")
    if asks_for_help(arguments) and arguments[0] not in ACTIONS:
        arguments = ["--help"]
    description = "\n\n".join([DESCRIPTION, *map(_own_options, OF_TASKS)]) if asks_for_help(arguments) else DESCRIPTION
    options = parse("proto experiment", description, arguments, {"options": Options}).options
    if options.action != "list" and not options.names:
        raise UsageError(f"name an experiment, as in: proto experiment {options.action} {next(iter(EXPERIMENTS))}")
    return ACTIONS[options.action](options)


def _of_task(name: str) -> Any:
    """The class of an experiment of one task."""
    module, _, attribute = OF_TASKS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _own_options(name: str) -> str:
    """An experiment of one task, and the names of its options."""
    options = [f"--{each.name.replace('_', '-')}" for each in fields(_of_task(name)) if each.name != "what"]
    return f"proto experiment {name} [{' '.join(options)}]"


def list_all(options: Options) -> int:
    """Print all experiments, or some."""
    plan = options.plan()
    rows = []
    for experiment in options.named() or EXPERIMENTS.values():
        found = status([experiment], plan)
        rows.append([experiment.name, experiment.about, _done(found), found.hours(options.workers_here)])
    print_table("", ("name", "what it asks", "runs done", "hours left here"), rows)
    return 0


def _done(found: Status) -> str:
    return f"{found.done} of {len(found.uses)}"


def show(options: Options) -> int:
    """Print the rows of experiments, and the commands of their runs."""
    plan = options.plan()
    known = measured_minutes(plan.results)
    for experiment in options.named():
        found = status([experiment], plan)
        print(f"{experiment.name}: {experiment.title}\n{experiment.about}")
        print(f"{_done(found)} runs done, {found.hours(options.workers_here)} hours left here\n")
        for use in found.uses:
            minutes = minutes_of(use, known)
            cost = "unknown length" if minutes is None else f"about {minutes:.0f} minutes"
            print(f"{use.row.name}, seed {use.run.seed}: {'done' if use.done else cost}")
            for command in commands(experiment, use.row, use.run, plan.folder(use.run)):
                print(f"  {command}")
    return 0


def run(options: Options) -> int:
    """Do what is missing; 1 if a run failed."""
    plan, experiments = options.plan(), options.named()
    engine = Engine(plan, on=options.on, address=options.address, workers=options.workers, retries=options.retries)
    print(announcement(experiments, plan, options.workers_here), file=sys.stderr, flush=True)
    try:
        engine.run(experiments)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    for experiment in experiments:
        _draw(options, plan, experiment)
    for line in engine.failed:
        print(f"failed: {line}", file=sys.stderr)
    return int(bool(engine.failed))


def redraw(options: Options) -> int:
    """Draw tables and figures from the lines of results alone."""
    plan = options.plan()
    for experiment in options.named():
        if not read_lines(plan.file(experiment)):
            command = f"proto experiment run {experiment.name}"
            raise DataError(f"{plan.file(experiment)}: there are no results yet; make them with: {command}")
        _draw(options, plan, experiment)
    return 0


def _draw(options: Options, plan: Plan, experiment: Experiment) -> None:
    lines = read_lines(plan.file(experiment))
    if not lines:
        return
    table(experiment, lines).print()
    name = f"{experiment.name}.png" if plan.budget == "full" else f"{experiment.name}.small.png"
    path = (options.docs if plan.budget == "full" else plan.out) / name
    if experiment.draw is not None:
        check_writable(path)
        if draw(experiment, lines, path):
            print("wrote", path)


ACTIONS: dict[str, Callable[[Options], int]] = {"list": list_all, "show": show, "run": run, "draw": redraw}
