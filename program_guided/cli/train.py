"""`proto train`: teach an executor, with progress, logs and checkpoints; interrupted, it goes on with --resume."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import tyro

from program_guided.cli.output import Flag, OptionalPath, provenance
from program_guided.errors import DataError
from program_guided.learning.settings import RECIPES, Settings, Target
from program_guided.models.config import Form, Parts

__all__ = ["Train"]

RESUMABLE = "go on with the same command and --resume (the last saved state is in {})"


@dataclass(frozen=True)
class Train:
    """Teach an executor to carry out programs.

    Options that belong to a target and a model are shown with these: proto train minecraft --target reward --help
    """

    task: tyro.conf.Positional[Literal["minecraft"]]
    """What to learn."""
    target: Target = "dense"
    """dense: the planner's actions are the targets (L_D). reward: +1 when the program is finished, nothing else (L_R).
    progress: +1 for every routine that is finished."""
    model: Form = "plus"
    """plus: the best there is here. paper: as close to the paper as works."""
    seed: int = 0
    """Seed of the weights, the worlds and chance."""
    out: OptionalPath = None
    """Folder of the run; out/TASK-TARGET-MODEL-SEED if left out."""
    start: OptionalPath = None
    """A checkpoint to begin with, instead of weights that are drawn by chance."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the worlds."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Where tensors live."""
    held_out: int = 200
    """Programs of train that are not trained on, but evaluated on."""
    without: tuple[str, ...] = ()
    """Leave out the programs that contain one of these routines, like "mine(gold)" or "is_there[river]"."""
    parts: tyro.conf.OmitArgPrefixes[Parts] = field(default_factory=Parts)
    settings: tyro.conf.OmitArgPrefixes[Settings] = RECIPES["minecraft", "dense", "plus"]

    @classmethod
    def default(cls, arguments: list[str]) -> Train:
        """What is done unless the arguments say more than a target and a model."""
        chosen = {"target": "dense", "model": "plus"}
        for name in chosen:
            for i, argument in enumerate(arguments):
                flag, _, value = argument.partition("=")
                if flag == f"--{name}":
                    chosen[name] = value or next(iter(arguments[i + 1 :]), "")
        recipe = RECIPES.get(("minecraft", chosen["target"], chosen["model"]), RECIPES["minecraft", "dense", "plus"])
        return cls(tyro.MISSING, settings=recipe)

    def run(self) -> int:
        from program_guided.learning.execution import minecraft_config
        from program_guided.learning.progress import ProgressBar
        from program_guided.learning.tasks import WorldTask
        from program_guided.learning.training import STATE, Job, train

        if not 1 <= self.held_out < 4000:
            raise DataError("--held-out is from 1 to 3999: train has 4,000 programs")
        folder = self.out or Path("out") / f"{self.task}-{self.target}-{self.model}-{self.seed}"
        job = Job(
            minecraft_config(self.model, **dataclasses.asdict(self.parts)),
            self.settings,
            folder,
            task=WorldTask(self.target, self.held_out, self.without),
            seed=self.seed,
            processes=self.processes,
            accelerator=self.accelerator,
            start=self.start,
            resume=self.resume,
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
            print(f"wrote {folder}; next: proto evaluate {folder}    proto run examples/bridge.prg --agent {folder}")
        return 0
