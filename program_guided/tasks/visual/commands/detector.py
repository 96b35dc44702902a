"""`proto train detector` and `proto evaluate detector`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro

from program_guided.errors import DataError
from program_guided.output import Flag, OptionalPath, announce, print_table, progress_bars, provenance, report
from program_guided.tasks.visual.detector.settings import DetectorConfig, DetectorSettings

__all__ = ["EvaluateDetector", "TrainDetector"]

PICTURES = Path("out/detector-pictures")


@dataclass(frozen=True)
class TrainDetector:
    """Train the detector of the embedded world, on drawn pictures of scenes that carry no questions."""

    what: tyro.conf.Positional[Literal["detector"]]
    """detector: boxes, names, attributes and vectors of the objects of a picture."""
    seed: int = 0
    """Seed of the weights and of the order of the pictures."""
    out: OptionalPath = None
    """Folder of the run; out/detector-SEED if left out."""
    start: OptionalPath = None
    """A checkpoint to begin with, instead of weights that are drawn by chance."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the work."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Device of the tensors."""
    wandb: Flag = False
    """Log to Weights & Biases too (extra `wandb`)."""
    network: tyro.conf.OmitArgPrefixes[DetectorConfig] = field(default_factory=DetectorConfig)
    settings: tyro.conf.OmitArgPrefixes[DetectorSettings] = field(default_factory=DetectorSettings)

    def run(self) -> int:
        from program_guided.learning.progress import ProgressBar
        from program_guided.learning.trainer import train
        from program_guided.tasks.visual.detector.pictures import SECONDS_PER_PICTURE
        from program_guided.tasks.visual.detector.training import DetectorJob

        folder = self.out or Path("out") / f"detector-{self.seed}"
        self.settings.check(self.processes)
        job = DetectorJob(
            settings=self.settings,
            folder=folder,
            pictures=PICTURES,
            config=self.network,
            seed=self.seed,
            processes=self.processes,
            accelerator=self.accelerator,
            start=self.start,
            resume=self.resume,
            wandb=self.wandb,
            about=provenance(),
            options={"what": self.what, **asdict(self.network), **asdict(self.settings), "seed": self.seed},
        )
        drawn = job.drawn
        try:
            if drawn.missing:
                announce(f"drawing pictures in {PICTURES} (once)", drawn.megabytes, SECONDS_PER_PICTURE * drawn.count)
                with progress_bars() as progress:
                    bar = progress.add_task("pictures", total=drawn.count)
                    drawn.draw(lambda done, total: progress.update(bar, completed=done))
            job.check()
            print(f"training in {folder}; watch it with: tensorboard --logdir {folder}", flush=True)
            with ProgressBar() as bar_of_training:
                train(job, bar_of_training)
        except KeyboardInterrupt:
            print("interrupted; go on with the same command, and --resume if it was training", file=sys.stderr)
            return 130
        print(f"wrote {folder}; next: proto evaluate {folder}")
        return 0


@dataclass(frozen=True)
class EvaluateDetector:
    """Measure a detector on the pictures of the embedded world's test split."""

    detector: tyro.conf.Positional[Path]
    """A checkpoint: a folder, or the shipped one by its name, detector."""
    pictures: int = 300
    """Number of pictures."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Also write the figures to this file."""

    def run(self) -> int:
        import time

        import torch

        from program_guided.tasks.visual.detector.evaluation import measure
        from program_guided.tasks.visual.detector.labels import labels_of
        from program_guided.tasks.visual.detector.pictures import pixels
        from program_guided.tasks.visual.detector.training import load_detector
        from program_guided.tasks.visual.drawing.scene import Camera
        from program_guided.tasks.visual.embedded.building import SPLITS, scenes_of

        if not 1 <= self.pictures <= SPLITS["test"]:
            raise DataError(f"pictures {self.pictures}: from 1 to {SPLITS['test']}")
        torch.set_num_threads(1)
        network = load_detector(self.detector)
        found, labels, seconds = [], [], 0.0
        with progress_bars() as progress:
            bar = progress.add_task("pictures", total=self.pictures)
            for scene in scenes_of("test", self.pictures, seed=0):
                picture = torch.from_numpy(pixels(scene, Camera()))[None]
                begun = time.process_time()
                found += network.detect(picture)
                seconds += time.process_time() - begun
                labels.append(labels_of(scene))
                progress.update(bar, advance=1)
        figures = {
            "command": "evaluate detector",
            "pictures": self.pictures,
            "milliseconds": 1000 * seconds / self.pictures,  # of CPU time, by one thread
            "measures": measure(found, labels),
            **provenance(),
        }
        report(figures, self.save, self.json, _print)
        return 0


def _print(figures: Mapping[str, Any]) -> None:
    rows = [[name, f"{100 * share:.1f}"] for name, share in figures["measures"].items()]
    print_table("", ("measure", "%"), rows)
    print(f"{figures['milliseconds']:.1f} ms of CPU time a picture, of {figures['pictures']} pictures")
