"""Cost of an update of the paper's executor at the sizes of GQA: arithmetic, time and memory, on one core.

The model and its settings are those of `proto train visual --model paper`; a picture has 50 objects of 2,048 numbers,
as the paper takes them. Questions are those of the embedded world, features are noise: neither changes what an update
costs, but the number of routines of a program does, and is given. Arithmetic is what torch's counter finds in matrix
products, two operations for a product and a sum. Questions are read for the first time: no targets are kept.

    figures = measure(batch=32, updates=2)
    figures["update"]["gigaflop_per_question"]
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.features import write_objects
from benchmarks.timing import Timed, Watch, check_counts, one_core, speeds, unwatched
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.learner import Learner
from program_guided.learning.settings import SupervisedSettings
from program_guided.registry import build_model, model_config
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.features import MAX_DETECTED, ObjectChunks, ObjectFeatures
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.packing import pack
from program_guided.tasks.visual.task import Visual

__all__ = ["Options", "measure", "print_figures"]

TRAIN = "train_balanced"
SCENES = {"train": 20, "val": 1, "test": 1}


@dataclass(frozen=True)
class Options(Timed):
    """Options of the measurement."""

    seconds: float = 3.0
    """Seconds for which questions are read."""
    batch: int = 32
    """Questions of an update: the share of one of eight processes in the paper's batch of 256."""
    updates: int = 2
    """Updates that are timed; the shortest counts."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        check_counts(batch=self.batch, updates=self.updates)
        return measure(self.batch, self.updates, self.seconds, show)


def measure(batch: int, updates: int, seconds: float, watch: Watch = unwatched, **sizes: int) -> dict[str, Any]:
    """Count and time updates; `sizes` are options of the model, by default those of the paper."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, one_core():
            return _measure(_task(Path(name), watch), batch, updates, seconds, watch, sizes)
    finally:
        torch.set_num_threads(threads)


def _task(folder: Path, watch: Watch) -> Visual:
    """Questions of the embedded world, and features of the release's size."""
    write_world(folder / "world", SCENES, seed=0, sights={"objects": Simulation()})
    make_index(folder / "world", folder / "world" / "index")
    with ObjectFeatures(folder / "world" / "objects") as features:
        images = features.image_ids
    write_objects(folder / "objects", images, watch)
    with ObjectChunks(folder / "objects") as chunks:
        pack(chunks, folder / "packed")
    return Visual(data=folder / "world", features=folder / "packed")


def _measure(
    task: Visual, batch: int, updates: int, seconds: float, watch: Watch, sizes: dict[str, int]
) -> dict[str, Any]:
    torch.manual_seed(0)
    recipe = task.recipe("dense", "paper", "ppo")
    config = model_config("paper")(**{**recipe.model, **sizes})
    model = build_model("paper", config, task.sizes(), task.reader_config)
    task.prepare(model)
    assert isinstance(recipe.settings, SupervisedSettings)
    learner: Learner[Any] = task.learner(model, replace(recipe.settings, batch_size=batch), "dense", seed=0)
    questions = task.question_set(TRAIN)
    examples = questions.batch(np.arange(batch), dense=False)
    types = list(task.results.values())
    answering = partial(outputs_of, model, examples.arrays, examples.programs, types)
    watch("updates", 0, updates + 1)
    counted = _gigaflop(learner.step)
    times = []
    for number in range(updates):
        watch("updates", number + 1, updates + 1)
        begin = time.process_time()
        learner.step()
        times.append(time.process_time() - begin)
    watch("updates", updates + 1, updates + 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    numbers = np.random.default_rng(0).integers(0, len(questions), batch)
    return {
        "model": "paper",
        "parameters": sum(each.numel() for each in model.parameters()),
        "objects": MAX_DETECTED,
        "routines_per_question": float(questions.set.batch(np.arange(len(questions))).lengths.mean()),
        "update": {
            "questions": batch,
            "gigaflop_per_question": counted / batch,
            "questions_per_second": batch / min(times),
            "peak_megabytes": peak,
        },
        "answer_gigaflop": _gigaflop(answering) / batch,
        "read_per_second": speeds({"read": [lambda: len(task.question_set(TRAIN).batch(numbers).last)]}, seconds)[
            "read"
        ],
    }


def _gigaflop(run: Callable[[], Any]) -> float:
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() / 1e9


def print_figures(figures: dict[str, Any]) -> None:
    """Lines for a person."""
    update = figures["update"]
    print(
        f"{figures['model']}, {figures['parameters']:,} parameters, {figures['objects']} objects, "
        f"{figures['routines_per_question']:.1f} routines: {update['gigaflop_per_question']:.1f} GFLOP a question, "
        f"{update['questions_per_second']:.1f} questions a second, {update['peak_megabytes']:,.0f} MB at most with "
        f"{update['questions']} questions an update"
    )
    print(f"an answer: {figures['answer_gigaflop']:.1f} GFLOP")
    print(f"questions read, targets made: {figures['read_per_second']:,.0f} a second")
