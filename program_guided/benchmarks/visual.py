"""Speed of visual reasoning on one core: routines one after another or in parallel, and learning.

Sequential (Algorithm 1) has one pointer in a program, parallel (Algorithm 3) as many as there are routines whose
parents are done; nothing else differs. Both are measured on the whole test split, for one program at a time, for all
about a picture at once, and for many; and for those that branch, one at a time. Programs are carried out alone, the
pictures looked at before, and from the picture to the answer.

    figures = measure(3.0, Path("out/visual"), "visual")
    figures["times_faster"]["carried out, the programs of a picture at once"]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from program_guided.benchmarks.timing import Watch, one_core, speeds, unwatched
from program_guided.learning.outcomes import outcomes_of
from program_guided.learning.questions import Examples
from program_guided.learning.reasoner import Reasoner
from program_guided.learning.reasoning import Programs, carry_out
from program_guided.learning.settings import VisualSettings
from program_guided.learning.visual_task import VisualData, VisualTask
from program_guided.models.executor import Executor

__all__ = ["measure", "print_figures"]

MANY = 256
"""Programs carried out at once."""
UPDATES = 2
"""In a turn."""
ORDERS = {"sequential": False, "parallel": True}


def measure(seconds: float, folder: Path, checkpoint: Path | str, watch: Watch = unwatched) -> dict[str, Any]:
    """Measure each thing for about so many seconds; programs are carried out by a checkpoint."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core():
            return _measure(seconds, folder, checkpoint, watch)
    finally:
        torch.set_num_threads(threads)


def _measure(seconds: float, folder: Path, checkpoint: Path | str, watch: Watch) -> dict[str, Any]:
    torch.manual_seed(0)
    task, data, reasoner = VisualTask(folder), VisualData(folder), Reasoner.from_pretrained(checkpoint)
    model = reasoner.model
    name = data.first_of(("test_balanced", "val_balanced", "train_balanced"))
    test = data.questions(name, reasoner.vocabulary)
    order, starts = test.by_picture
    pictures = [test.examples(order[first:end], dense=False) for first, end in itertools.pairwise(starts)]
    alone = [_only(each, number) for each in pictures for number in range(len(each.last))]
    branching = [each for each in alone if bool((each.programs.parents >= 0).all(dim=2).any())]
    many = [test.examples(order[first : first + MANY], dense=False) for first in range(0, len(order), MANY)]
    ways = {
        "one program at a time": alone,
        "one that branches at a time": branching,
        "the programs of a picture at once": pictures,
        f"{MANY} programs at once": many,
    }
    runs = {
        f"{what}, {way}, {order}": [run(model, each, parallel) for each in batches]
        for what, run in {"carried out": _carrying_out, "from picture to answer": _answering}.items()
        for way, batches in ways.items()
        for order, parallel in ORDERS.items()
        if batches
    }
    learner = task.learner(task.build(task.config("plus")), VisualSettings(), seed=0)

    def learn() -> int:
        for _ in range(UPDATES):
            learner.step()
        return UPDATES * learner.settings.questions

    found = speeds(runs, seconds, watch) | speeds({"learned": [learn]}, seconds)
    compared = [run.removesuffix(", parallel") for run in runs if run.endswith(", parallel")]
    return {
        "checkpoint": Path(checkpoint).name,
        "set": name,
        "programs": len(alone),
        "branching": len(branching),
        "steps": {
            way: {order: _mean_steps(batches, parallel) for order, parallel in ORDERS.items()}
            for way, batches in ways.items()
            if batches
        },
        "questions_per_second": found,
        "times_faster": {what: found[f"{what}, parallel"] / found[f"{what}, sequential"] for what in compared},
        "largest_difference": max(_difference(model, each) for each in many),
    }


def _only(examples: Examples, number: int) -> Examples:
    """One of some questions about a picture, without what others need room for."""
    programs, length = examples.programs, int(examples.last[number]) + 1
    parts = (each[number : number + 1, :length] for each in (programs.words, programs.parents, programs.exists))
    return replace(examples, programs=Programs(*parts, programs.of[number : number + 1]))


def _carrying_out(model: Executor, examples: Examples, parallel: bool) -> Callable[[], int]:
    with torch.inference_mode():
        scene = model.reader.look(examples.pictures)

    @torch.inference_mode()
    def run() -> int:
        return len(carry_out(model, scene, examples.programs, parallel=parallel))

    return run


def _answering(model: Executor, examples: Examples, parallel: bool) -> Callable[[], int]:
    return lambda: len(outcomes_of(model, examples.pictures, examples.programs, parallel=parallel).answers)


def _difference(model: Executor, examples: Examples) -> float:
    """Between the probabilities that the two ways end with."""
    one, other = (
        outcomes_of(model, examples.pictures, examples.programs, parallel=parallel) for parallel in (True, False)
    )
    there = examples.programs.exists
    parts = ((one.objects, other.objects), (one.booleans, other.booleans), (one.answers, other.answers))
    return max(float((first[there] - second[there]).abs().max()) for first, second in parts)


def _mean_steps(batches: list[Examples], parallel: bool) -> float:
    """That a batch takes."""
    return fmean(len(each.programs.in_parallel if parallel else each.programs.in_sequence) for each in batches)


def print_figures(figures: dict[str, Any]) -> None:
    """Tables for a person."""
    from rich.console import Console
    from rich.table import Table

    console, found = Console(), figures["questions_per_second"]
    table = Table(title="questions a second, one core", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("", *ORDERS, "times faster"):
        table.add_column(heading, justify="right" if heading else "left")
    for what, ratio in figures["times_faster"].items():
        table.add_row(what, *(f"{found[f'{what}, {order}']:,.0f}" for order in ORDERS), f"{ratio:.2f}")
    (console if console.is_terminal else Console(width=120)).print(table)
    index = figures["index"]
    for way, steps in figures["steps"].items():
        print(f"{way}: {steps['sequential']:.2f} steps, {steps['parallel']:.2f} in parallel")
    print(f"largest difference of a probability: {figures['largest_difference']:.1e}")
    print(f"learned: {found['learned']:,.0f} questions a second")
    memory = "" if index["peak_megabytes"] is None else f", {index['peak_megabytes']:,.0f} MB at most"
    print(
        f"{index['questions']:,} questions ({index['different_questions']:,} different ones, under fresh ids) indexed "
        f"in {index['seconds']:,.0f} s ({index['cpu_seconds']:,.0f} s of CPU time){memory}; "
        f"read: {index['read_per_second']:,.0f} a second"
    )
