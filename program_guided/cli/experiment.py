"""`proto experiment`: a question, and the figures that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from program_guided.cli.output import Flag, OptionalPath
from program_guided.learning.settings import PictureSettings

__all__ = ["Experiment"]


@dataclass(frozen=True)
class Experiment:
    """Teach executors and measure them, to answer one question. Interrupted, it goes on by the same command."""

    what: tyro.conf.Positional[Literal["pictures"]]
    """pictures: does an executor that learns from few real pictures, by answers alone, make use of them? Beside one
    that is shown none, and beside itself when it is shown wrong ones."""
    root: Path
    """Folder with train_questions.json and dev_questions.json (or other names of the release), and `images`."""
    features: OptionalPath = None
    """The pictures' features: a file, extracted at need, or a folder of the release; left out, a file in --out."""
    seeds: int = 3
    """So many times everything is learned anew."""
    folds: int = 0
    """Ask about parts of train instead of the test, one after another: to choose settings by. So many parts."""
    out: Path = Path("out/real-pictures")
    """Folder of the index, the features and the seeds that are done."""
    steps: int = PictureSettings.steps
    """Updates of the weights of each executor."""
    members: int = PictureSettings.members
    """Executors of a seed, whose probabilities are averaged."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self) -> int:
        from program_guided.cli.experiment_pictures import run_pictures

        return run_pictures(self)
