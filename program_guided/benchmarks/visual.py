"""Speed of visual reasoning on one core: routines one after another or in parallel, learning, reading the index.

Sequential (Algorithm 1) has one pointer in a program, parallel (Algorithm 3) as many as there are routines whose
parents are done; both are measured for one program at a time and for many at once, on the test split.

    figures = measure(3.0, Path("out/visual"))
    figures["times_faster"]["parallel than sequential, one program at a time"]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from program_guided.benchmarks.timing import one_core
from program_guided.learning.outcomes import outcomes_of
from program_guided.learning.questions import Examples
from program_guided.learning.settings import VisualSettings
from program_guided.learning.visual_task import VisualData, VisualTask
from program_guided.models.executor import Executor

__all__ = ["measure", "print_figures"]

MANY, ALONE = 256, 32
"""Programs carried out at once, and how many are tried one at a time."""
ROUNDS = 3
"""Measurements alternate, and the best counts; it is CPU time, so that what else runs on the machine does not."""


def measure(seconds: float, folder: Path) -> dict[str, Any]:
    """Measure each thing for about so many seconds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core():
            return _measure(seconds, folder)
    finally:
        torch.set_num_threads(threads)


def _measure(seconds: float, folder: Path) -> dict[str, Any]:
    torch.manual_seed(0)
    task, data = VisualTask(folder), VisualData(folder)
    model = task.build(task.config("plus")).eval()
    test = data.questions(data.first_of(("test_balanced", "val_balanced", "train_balanced")))
    chosen = np.random.default_rng(0).permutation(len(test))[:MANY]
    many = test.examples(chosen, dense=False)
    branches = (many.programs.parents >= 0).all(dim=2).any(dim=1).numpy()
    ways = {
        "one program at a time": [test.examples(chosen[[at]], dense=False) for at in range(min(ALONE, len(chosen)))],
        "one that branches at a time": [test.examples(each[None], dense=False) for each in chosen[branches][:ALONE]],
        "many programs at once": [many],
    }
    runs = {
        f"{order}, {way}": _carrying_out(model, batches, order == "parallel")
        for way, batches in ways.items()
        for order in ("sequential", "parallel")
        if batches
    }
    learner = task.learner(model, VisualSettings(), seed=0)
    train = data.questions(data.first_of(("train_balanced", "train")))
    numbers = np.random.default_rng(0).integers(0, len(train), (16, 1024))

    def learn() -> int:
        learner.step()
        return VisualSettings().questions

    def read() -> int:
        return sum(len(train.set.batch(each).lengths) for each in numbers)

    speeds = _speeds({**runs, "learned": learn, "read from the index": read}, seconds)
    faster = {
        f"parallel than sequential, {way}": speeds[f"parallel, {way}"] / speeds[f"sequential, {way}"]
        for way, batches in ways.items()
        if batches
    }
    alone, together = speeds["sequential, one program at a time"], speeds["parallel, many programs at once"]
    return {
        "programs": len(chosen),
        "branching": int(branches.sum()),
        "questions_per_second": speeds,
        "times_faster": {**faster, "parallel in many programs than one routine at a time": together / alone},
        "largest_difference": _difference(model, many),
        "steps": {"sequential": _mean_steps(many, False), "parallel": _mean_steps(many, True)},
    }


def _carrying_out(model: Executor, batches: list[Examples], parallel: bool) -> Callable[[], int]:
    def run() -> int:
        for each in batches:
            outcomes_of(model, each.pictures, each.programs, parallel=parallel)
        return sum(len(each.last) for each in batches)

    return run


def _speeds(runs: dict[str, Callable[[], int]], seconds: float) -> dict[str, float]:
    speeds = dict.fromkeys(runs, 0.0)
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            done, begin = 0, time.process_time()
            while done == 0 or time.process_time() - begin < seconds / ROUNDS:
                done += run()
            speeds[name] = max(speeds[name], done / (time.process_time() - begin))
    return speeds


def _difference(model: Executor, examples: Examples) -> float:
    """Between the probabilities that the two ways end with."""
    one, other = (
        outcomes_of(model, examples.pictures, examples.programs, parallel=parallel) for parallel in (True, False)
    )
    there = examples.programs.exists
    parts = ((one.objects, other.objects), (one.booleans, other.booleans), (one.answers, other.answers))
    return max(float((first[there] - second[there]).abs().max()) for first, second in parts)


def _mean_steps(examples: Examples, parallel: bool) -> float:
    """Of a program."""
    programs = examples.programs
    steps = (
        programs.depth().masked_fill(~programs.exists, 0).amax(dim=1) + 1 if parallel else programs.exists.sum(dim=1)
    )
    return float(steps.float().mean())


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="questions a second, one core", title_justify="left", box=None)
    table.add_column("")
    table.add_column("questions/s", justify="right")
    for name, speed in figures["questions_per_second"].items():
        table.add_row(name, f"{speed:,.0f}")
    console = Console()
    console.print(table)
    for name, ratio in figures["times_faster"].items():
        console.print(f"{name}: {ratio:.2f}x", highlight=False)
    steps = figures["steps"]
    console.print(f"steps of a program: {steps['sequential']:.2f} sequential, {steps['parallel']:.2f} parallel")
    console.print(f"largest difference of a probability: {figures['largest_difference']:.1e}")
