"""`proto train`: teach an executor, with progress, logs and checkpoints; interrupted, it goes on with --resume."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from program_guided.cli.output import Flag, OptionalNumber, OptionalPath, OptionalText, provenance, refuse
from program_guided.errors import DataError
from program_guided.learning.settings import RECIPES, Settings, Target
from program_guided.models.config import Form, Parts

if TYPE_CHECKING:
    from program_guided.learning.tasks import Task
    from program_guided.models.config import ExecutorConfig

__all__ = ["Train"]

MOST_BLOCKS = 8

RESUMABLE = "go on with the same command and --resume (the last saved state is in {})"


@dataclass(frozen=True)
class Train:
    """Teach an executor to carry out programs.

    Options that belong to a target and a model are shown with these: proto train minecraft --target reward --help
    """

    task: tyro.conf.Positional[Literal["minecraft", "visual"]]
    """What to learn."""
    target: Target = "dense"
    """dense: the planner's actions are the targets (L_D). reward: +1 when the program is finished, nothing else (L_R).
    progress: +1 for every routine that is finished. visual: dense: the oracle's results of all routines; partial: the
    answer alone (L_P)."""
    model: Form = "plus"
    """plus: the best there is here. paper: as close to the paper as works."""
    seed: int = 0
    """Seed of the weights, the worlds and chance."""
    out: OptionalPath = None
    """Folder of the run; out/TASK-TARGET-MODEL-SEED if left out."""
    data: OptionalPath = None
    """visual: folder with an index and features; left out, the embedded world, made in out/visual at need."""
    features: OptionalPath = None
    """visual: folder or file of the pictures' features, if it is not the folder `objects` in the data."""
    train_set: OptionalText = None
    """visual: set of questions to learn from, as train_all; left out, train_balanced."""
    word_width: OptionalNumber = None
    """visual: d_m, an eighth of the width d; left out, 16 (plus), 256 as in the paper (paper; for GPUs)."""
    start: OptionalPath = None
    """A checkpoint to begin with, instead of weights that are drawn by chance."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the worlds."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Where tensors live."""
    held_out: int = 200
    """minecraft: programs of train that are not trained on, but evaluated on."""
    without: tuple[str, ...] = ()
    """minecraft: leave out the programs that contain one of these routines, like "mine(gold)" or "is_there[river]"."""
    memory: bool | None = None
    """minecraft: a routine that takes several steps goes on from its own last result, or begins each step anew; left
    out, anew if it learns from reward."""
    names: bool | None = None
    """minecraft, plus: words that name things are told apart by what they name alone, so that unheard ones work too;
    left out, only if it learns from reward."""
    blocks: OptionalNumber = None
    """Stacked blocks (paper), or how often the specification is read (plus); left out, 2, for plus on
    pictures 1."""
    parts: tyro.conf.OmitArgPrefixes[Parts] = field(default_factory=Parts)
    settings: tyro.conf.OmitArgPrefixes[Settings] = RECIPES["minecraft", "dense", "plus"]

    @classmethod
    def default(cls, arguments: list[str]) -> Train:
        """What is done unless the arguments say more than a target and a model."""
        task = "visual" if "visual" in arguments else "minecraft"
        chosen = {"target": "dense", "model": "plus"}
        for name in chosen:
            for i, argument in enumerate(arguments):
                flag, _, value = argument.partition("=")
                if flag == f"--{name}":
                    chosen[name] = value or next(iter(arguments[i + 1 :]), "")
        recipe = RECIPES.get((task, chosen["target"], chosen["model"]), RECIPES[task, "dense", "plus"])
        return cls(tyro.MISSING, settings=recipe)

    def run(self) -> int:
        from program_guided.learning.progress import ProgressBar
        from program_guided.learning.training import STATE, Job, train

        folder = self.out or Path("out") / f"{self.task}-{self.target}-{self.model}-{self.seed}"
        task, config = self._visual() if self.task == "visual" else self._minecraft()
        job = Job(
            config,
            self.settings,
            folder,
            task=task,
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
            example, option = ("bag_wine", " --task visual") if self.task == "visual" else ("bridge", "")
            run = f"proto run examples/{example}.prg{option} --agent {folder}"
            data = "".join(
                f" --{name} {path}" for name, path in (("data", self.data), ("features", self.features)) if path
            )
            print(f"wrote {folder}; next: proto evaluate {folder}{option}{data}    {run}")
        return 0

    def _minecraft(self) -> tuple[Task, ExecutorConfig]:
        from program_guided.learning.execution import minecraft_config
        from program_guided.learning.tasks import WorldTask

        if not 1 <= self.held_out < 4000:
            raise DataError("--held-out is from 1 to 3999: train has 4,000 programs")
        if self.target == "partial":
            raise DataError("--target partial: the targets of minecraft are dense, reward and progress")
        refuse(self, "minecraft", "data", "features", "train_set", "word_width")
        task = WorldTask(self.target, self.held_out, self.without)
        dense = self.target == "dense"
        memory = dense if self.memory is None else self.memory
        names = (self.model == "plus" and not dense) if self.names is None else self.names
        return task, minecraft_config(self.model, memory=memory, names=names, **self._parts())

    def _parts(self) -> dict[str, Any]:
        if self.blocks is not None and not 1 <= self.blocks <= MOST_BLOCKS:
            raise DataError(f"--blocks {self.blocks}: it is from 1 to {MOST_BLOCKS}")
        return dataclasses.asdict(self.parts) | ({} if self.blocks is None else {"blocks": self.blocks})

    def _visual(self) -> tuple[Task, ExecutorConfig]:
        from program_guided.cli.visual_world import WORLD, is_ready, ready_world
        from program_guided.learning.visual_task import VisualTask

        refuse(self, "visual", "held_out", "without", "memory", "names")
        if self.target not in ("dense", "partial"):
            raise DataError(f"--target {self.target}: the targets of visual are dense and partial")
        if self.word_width is not None and not 1 <= self.word_width <= 1024:
            raise DataError(f"--word-width {self.word_width}: it is from 1 to 1024")
        self.settings.check(self.processes)
        if self.resume and self.data is None and not is_ready(WORLD):
            raise DataError(f"--resume: there is no {WORLD}; say with --data which data the run has learned from")
        task = VisualTask(self.data or ready_world(), self.target, self.features, self.train_set)
        return task, task.config(self.model, word_width=self.word_width, **self._parts())
