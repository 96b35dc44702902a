"""`proto train`: train a model on a task, with progress, logs and checkpoints; interrupted, it goes on with
--resume."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import tyro

from program_guided.cli.parsing import asks_for_help, parse, part_of, select
from program_guided.cli.tasks import named_task
from program_guided.errors import DataError
from program_guided.learning.settings import Algorithm, Target
from program_guided.output import Flag, OptionalPath, provenance
from program_guided.registry import MODELS, model_config

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Train a model on a task.

Options that belong to a task, a target, an algorithm or a model are shown with these:
proto train TASK --target reward --help"""
RESUMABLE = "go on with the same command and --resume (the last saved state is in {})"
MAX_BLOCKS = 8


@dataclass(frozen=True)
class Selection:
    """Options that decide which others there are."""

    task: tyro.conf.Positional[str]
    """A built-in or installed task, path/to/file.py, or module:Class."""
    target: Target = "dense"
    """dense: the oracle's results, or the planner's actions, are labels (L_D). partial: only the answer is (L_P).
    reward: +1 when the program is finished, nothing else (L_R). progress: +1 for every routine that is finished."""
    model: Literal[tuple(MODELS)] = "plus"  # type: ignore[valid-type]
    """plus: the best there is here. paper: as close to the paper as works."""
    algorithm: Algorithm = "ppo"
    """Algorithm for the targets reward and progress."""


@dataclass(frozen=True)
class Partly(Selection):
    """The same, where it may be missing."""

    task: tyro.conf.Positional[tuple[str, ...]] = ()  # type: ignore[assignment]


@dataclass(frozen=True)
class Run:
    """Options of the run."""

    seed: int = 0
    """Seed of the weights, the data's order, the worlds and chance."""
    out: OptionalPath = None
    """Folder of the run; out/TASK-TARGET-MODEL-SEED if left out."""
    start: OptionalPath = None
    """A checkpoint to begin with, instead of weights that are drawn by chance."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the work."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Device of the tensors."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    chosen = select(Partly, arguments)
    if not chosen.task:
        if asks_for_help(arguments):
            parse("proto train", DESCRIPTION, arguments, {"selection": Selection, "run": Run()})
        raise DataError("name the task before the options, as in: proto train lists.py --seed 1")
    task = named_task(chosen.task[0])
    recipe = task().recipe(chosen.target, chosen.model, chosen.algorithm)
    reader = task().plain_reader
    optional = {"reader": part_of(replace(reader, **recipe.reader), "Reader", only=reader.options)}
    parts = {
        "selection": Selection,
        "run": Run(),
        "task": task(),
        "model": model_config(chosen.model)(**recipe.model),
        **{name: part for name, part in optional.items() if part is not None},
        "settings": recipe.settings,
    }
    return _train(parse("proto train", DESCRIPTION, arguments, parts))


def _train(options: Any) -> int:
    from program_guided.learning.progress import ProgressBar
    from program_guided.learning.trainer import STATE, Job, train

    chosen, run, task = options.selection, options.run, options.task
    if not 1 <= options.model.blocks <= MAX_BLOCKS:
        raise DataError(f"blocks {options.model.blocks}: it is from 1 to {MAX_BLOCKS}")
    folder = run.out or Path("out") / f"{task.task_name}-{chosen.target}-{chosen.model}-{run.seed}"
    options.settings.check(run.processes)
    task.check(chosen.target)
    reader = task.reader_config
    if hasattr(options, "reader"):
        reader = replace(reader, **vars(options.reader))
    job = Job(
        task,
        chosen.model,
        options.model,
        reader,
        options.settings,
        folder,
        target=chosen.target,
        algorithm=chosen.algorithm,
        seed=run.seed,
        processes=run.processes,
        accelerator=run.accelerator,
        start=run.start,
        resume=run.resume,
        about=provenance(),
    )
    job.check()
    first = os.environ.get("RANK", "0") == "0"
    if first:
        print(f"training in {folder}; watch it with: tensorboard --logdir {folder}", flush=True)
    try:
        with ProgressBar() as bar:
            train(job, bar)
    except KeyboardInterrupt:
        resumable = (folder / STATE).is_file()
        print("interrupted;", RESUMABLE.format(folder) if resumable else "no state had been saved yet")
        return 130
    if first:
        print(f"wrote {folder}; next: proto evaluate {folder}    proto run PROGRAM --agent {folder}")
    return 0
