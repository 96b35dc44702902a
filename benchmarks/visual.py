"""Speed of visual reasoning on one core: routines one after another or in parallel, and training.

Sequential (Algorithm 1) has one pointer in a program, parallel (Algorithm 3) as many as there are routines whose
inputs are known; nothing else differs. Both are measured on the whole test split, for one program at a time, for all
about a picture at once, and for many; and for those that branch, one at a time. Programs are executed alone, the
pictures looked at before, and from the picture to the answer.

    figures = measure(3.0, Path("out/visual"), "visual")
    figures["times_faster"]["executed, the programs of a picture at once"]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.timing import Watch, one_core, speeds, unwatched
from program_guided.learning.evaluation import Outputs, outputs_of
from program_guided.learning.examples import Examples
from program_guided.learning.execution import Programs, execute
from program_guided.learning.learner import Learner
from program_guided.learning.results import ResultType
from program_guided.models.model import Model
from program_guided.registry import build_model, model_config
from program_guided.tasks.executor import load_executor
from program_guided.tasks.visual.batches import Questions
from program_guided.tasks.visual.task import Visual

__all__ = ["measure", "print_figures"]

MANY = 256
"""Programs executed at once."""
UPDATES = 2
"""In one call that is timed."""
ALONE, BRANCHING, TOGETHER = "one program at a time", "one that branches at a time", f"{MANY} programs at once"
ORDERS = {"sequential": False, "parallel": True}


def measure(seconds: float, folder: Path, checkpoint: Path | str, watch: Watch = unwatched) -> dict[str, Any]:
    """Measure each thing for about so many seconds; programs are executed by a checkpoint."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core():
            return _measure(seconds, folder, checkpoint, watch)
    finally:
        torch.set_num_threads(threads)


def _measure(seconds: float, folder: Path, checkpoint: Path | str, watch: Watch) -> dict[str, Any]:
    torch.manual_seed(0)
    task, reasoner = Visual(data=folder), load_executor(checkpoint)
    model, types, data = reasoner.model, list(reasoner.task.results.values()), task.opened
    name = data.first_of(("test_balanced", "val_balanced", "train_balanced"))
    test = Questions(data, name, reasoner.task.vocabulary, reasoner.task.results)
    ways = _ways(test)
    runs = {
        f"{what}, {way}, {order}": [run(model, types, each, parallel) for each in batches]
        for what, run in {"executed": _executing, "from picture to answer": _answering}.items()
        for way, batches in ways.items()
        for order, parallel in ORDERS.items()
        if batches
    }
    found = speeds(runs, seconds, watch) | speeds({"trained": [_training(task)]}, seconds)
    compared = [run.removesuffix(", parallel") for run in runs if run.endswith(", parallel")]
    return {
        "checkpoint": Path(checkpoint).name,
        "set": name,
        "programs": len(ways[ALONE]),
        "branching": len(ways[BRANCHING]),
        "steps": {
            way: {order: _mean_steps(batches, parallel) for order, parallel in ORDERS.items()}
            for way, batches in ways.items()
            if batches
        },
        "questions_per_second": found,
        "times_faster": {what: found[f"{what}, parallel"] / found[f"{what}, sequential"] for what in compared},
        "largest_difference": max(_difference(model, types, each) for each in ways[TOGETHER]),
    }


def _ways(test: Questions) -> dict[str, list[Examples]]:
    """The questions of a set in batches of several kinds."""
    own = test.specification_numbers()
    order: NDArray[np.int64] = np.argsort(own, kind="stable")
    starts = [*np.flatnonzero(np.diff(own[order], prepend=-1)).tolist(), len(order)]
    pictures = [test.batch(order[first:end], dense=False) for first, end in itertools.pairwise(starts)]
    alone = [_only(each, number) for each in pictures for number in range(len(each.last))]
    return {
        ALONE: alone,
        BRANCHING: [each for each in alone if bool((each.programs.inputs >= 0).all(dim=2).any())],
        "the programs of a picture at once": pictures,
        TOGETHER: [test.batch(order[first : first + MANY], dense=False) for first in range(0, len(order), MANY)],
    }


def _training(task: Visual) -> Callable[[], int]:
    """Some updates of `plus` with the default settings."""
    recipe = task.recipe("dense", "plus", "ppo")
    model = build_model("plus", model_config("plus")(**recipe.model), task.sizes(), task.reader_config)
    task.prepare(model)
    learner: Learner[Any] = task.learner(model, recipe.settings, "dense", seed=0)

    def run() -> int:
        for _ in range(UPDATES):
            learner.step()
        return UPDATES * recipe.settings.samples

    return run


def _only(examples: Examples, number: int) -> Examples:
    """One of some questions about a picture, without the padding that others need."""
    programs, length = examples.programs, int(examples.last[number]) + 1
    whole = (programs.words, programs.inputs, programs.exists)
    words, inputs, exists = (each[number : number + 1, :length] for each in whole)
    return replace(examples, programs=Programs(words, inputs, exists, programs.of[number : number + 1]))


def _executing(model: Model, types: list[ResultType], examples: Examples, parallel: bool) -> Callable[[], int]:
    with torch.inference_mode():
        scene = model.reader.encode(examples.arrays)

    @torch.inference_mode()
    def run() -> int:
        return len(execute(model, scene, examples.programs, parallel=parallel))

    return run


def _answering(model: Model, types: list[ResultType], examples: Examples, parallel: bool) -> Callable[[], int]:
    return lambda: len(_outputs(model, types, examples, parallel).last)


def _outputs(model: Model, types: list[ResultType], examples: Examples, parallel: bool) -> Outputs:
    return outputs_of(model, examples.arrays, examples.programs, types, parallel=parallel)


def _difference(model: Model, types: list[ResultType], examples: Examples) -> float:
    """The largest difference between the probabilities of the two orders."""
    one, other = (_outputs(model, types, examples, parallel).probabilities for parallel in (True, False))
    there = examples.programs.exists
    return max(float((one[name][there] - other[name][there]).abs().max()) for name in one)


def _mean_steps(batches: list[Examples], parallel: bool) -> float:
    """Steps of a batch."""
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
    for way, steps in figures["steps"].items():
        print(f"{way}: {steps['sequential']:.2f} steps, {steps['parallel']:.2f} in parallel")
    print(f"largest difference of a probability: {figures['largest_difference']:.1e}")
    print(f"trained: {found['trained']:,.0f} questions a second")
