"""`proto train parser` and `proto evaluate PARSER`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from program_guided.errors import DataError
from program_guided.learning.settings import TranslationSettings
from program_guided.models.config import TRANSLATORS, TranslatorConfig
from program_guided.output import (
    Flag,
    OptionalNumber,
    OptionalPath,
    OptionalText,
    print_table,
    progress_bars,
    provenance,
    report,
)
from program_guided.registry import load_task, remember

__all__ = ["EvaluateParser", "TrainParser"]


@dataclass(frozen=True)
class TrainParser:
    """Train a parser: from questions in English to programs of a task."""

    what: tyro.conf.Positional[Literal["parser"]]
    """parser: an encoder-decoder transformer with a copy mechanism."""
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """A built-in or installed task, path/to/file.py, or module:Class, which has questions."""
    root: OptionalPath = None
    """Folder of real questions (train_questions.json) and, in ontology/, of what is known of their words; by default
    the task's own questions."""
    model: Literal["plus", "paper"] = "plus"
    """plus: small enough for a CPU. paper: the paper's size."""
    seed: int = 0
    """Seed of the weights and of the order of the questions."""
    out: OptionalPath = None
    """Folder of the run; by default out/TASK-parser-SEED."""
    start: OptionalPath = None
    """A checkpoint to begin with, of the same questions."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the work."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Device of the tensors."""
    wandb: Flag = False
    """Log to Weights & Biases too (extra `wandb`)."""
    network: tyro.conf.OmitArgPrefixes[TranslatorConfig] = field(default_factory=TranslatorConfig)
    settings: tyro.conf.OmitArgPrefixes[TranslationSettings] = field(default_factory=TranslationSettings)

    def run(self) -> int:
        from program_guided.learning.progress import ProgressBar
        from program_guided.learning.trainer import train
        from program_guided.learning.translation import TranslationJob

        task = load_task(self.task)()
        remember(self.task)
        folder = self.out or Path("out") / f"{task.task_name}-parser-{self.seed}"
        config = self._config(task.domain.sequential)
        job = TranslationJob(
            task,
            self.settings,
            folder,
            self.model,
            config,
            self.root,
            self.seed,
            self.processes,
            self.accelerator,
            self.start,
            self.resume,
            self.wandb,
            provenance(),
            {"what": self.what, "task": self.task, **asdict(config), **asdict(self.settings), "seed": self.seed},
        )
        try:
            job.check()
            print(f"training in {folder}; watch it with: tensorboard --logdir {folder}", flush=True)
            with ProgressBar() as bar:
                train(job, bar)
        except KeyboardInterrupt:
            print("interrupted; go on with the same command and --resume", file=sys.stderr)
            return 130
        print(f'wrote {folder}; next: proto evaluate {folder}    proto ask "..." --parser {folder}')
        return 0

    def _config(self, sequential: bool) -> TranslatorConfig:
        """The model's configuration, with the options that were given."""
        default = TranslatorConfig()
        given = {name: value for name, value in asdict(self.network).items() if value != getattr(default, name)}
        return replace(TRANSLATORS[self.model], **{"cursor": sequential, **given})


@dataclass(frozen=True)
class EvaluateParser:
    """Measure a parser on questions whose programs are known."""

    parser: tyro.conf.Positional[Path]
    """A checkpoint: a folder that 'proto train parser' wrote, or a shipped one by its name."""
    task: OptionalText = None
    """The parser's task, if it is a file of one's own."""
    split: OptionalText = None
    """Questions of this split; by default test, with a root dev."""
    root: OptionalPath = None
    """Folder of real questions, as for training."""
    questions: OptionalNumber = None
    """Only so many, evenly spaced."""
    beam: int = 4
    """Hypotheses that are kept."""
    unconstrained: Flag = False
    """Let any terminal follow any other, for comparison."""
    wrong: Flag = False
    """Print the questions that are read wrongly, with the programs."""
    every: Flag = False
    """Print every question, with the program that was read."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Also write the figures to this file."""

    def run(self) -> int:
        from functools import partial

        from program_guided.learning.checkpoint import find
        from program_guided.learning.codec import checked
        from program_guided.learning.networks import read_network
        from program_guided.learning.parsing import measure
        from program_guided.learning.translation import KIND
        from program_guided.tasks.parser import load_parser

        if self.beam < 1 or (self.questions is not None and self.questions < 1):
            raise DataError("beam and questions: at least 1 is needed")
        task, parser = load_parser(self.parser, self.task)
        split = self.split or ("test" if self.root is None else "dev")
        given = [
            task.questions(each) if self.root is None else task.real_questions(self.root, each)
            for each in (split, "train")
        ]
        asked, trained_on = (checked(each, task.parse) for each in given)
        count = len(asked) if self.questions is None else min(self.questions, len(asked))
        chosen = [asked[at * len(asked) // count] for at in range(count)]
        if not chosen:
            raise DataError(f"{split}: holds no questions")
        with progress_bars() as progress:
            bar = progress.add_task("questions", total=len(chosen))
            measures = measure(
                parser,
                chosen,
                trained_on,
                task.agreement(self.root),
                self.beam,
                not self.unconstrained,
                self.every,
                lambda done: progress.update(bar, completed=done),
            )
        saved = read_network(find(self.parser), KIND)
        about = {"task": task.task_name, "split": split, "beam": self.beam, "training": saved.training}
        about["parameters"] = sum(each.numel() for each in parser.network.parameters())
        report({**about, "measures": measures, **provenance()}, self.save, self.json, partial(_print, wrong=self.wrong))
        return 0


SHOWN = (
    "strict",
    "canonical",
    "same result",
    "valid",
    "number and category ignored",
    "new texts",
    "unseen templates",
    "understood",
    "right of the understood",
    "expected calibration error",
)


def _print(figures: Mapping[str, Any], wrong: bool) -> None:
    measures = figures["measures"]
    rows = [[name, f"{measures[name]:.1f}"] for name in SHOWN if measures[name] is not None]
    print_table("", ("measure", "%"), rows)
    low, high = (measures["interval"][end] for end in ("low", "high"))
    print(f"{measures['questions']} questions of {figures['split']}; canonical: 95 % interval {low:.1f} to {high:.1f}")
    for name in ("lengths", "coverage", "causes"):
        shown = "   ".join(f"{key}: {value:.1f}".removesuffix(".0") for key, value in measures[name].items())
        print(f"{TITLES[name]}:  {shown}")
    for each in measures["read"] or (measures["wrong"] if wrong else ()):
        doubt = "" if each["understood"] else ", not understood"
        print(f"\n{each['question']}  ({each['confidence']:.2f}{doubt})\n  read:  {each['read']}")
        print("  right" if each["right"] else f"  meant: {each['meant']}")


TITLES = {
    "lengths": "canonical, by words up to",
    "coverage": "canonical, of the surest %",
    "causes": "errors, by cause",
}
