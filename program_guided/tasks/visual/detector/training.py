"""Training of the detector, in the loop that trains everything (`learning/trainer.py`).

train(DetectorJob(DetectorSettings(), Path("out/detector")))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from program_guided.errors import DataError
from program_guided.learning.learner import AllReduce, Learner, Share
from program_guided.learning.networks import load_network, read_network, save_network
from program_guided.learning.trainer import Training, Validation
from program_guided.tasks.visual.detector.evaluation import measure
from program_guided.tasks.visual.detector.labels import Labels
from program_guided.tasks.visual.detector.learning import detector_loss
from program_guided.tasks.visual.detector.network import DetectorNetwork
from program_guided.tasks.visual.detector.pictures import Bytes, Pictures
from program_guided.tasks.visual.detector.settings import DetectorConfig, DetectorSettings
from program_guided.tasks.visual.embedded.building import VERSION

__all__ = ["DetectorJob", "load_detector"]

KIND = "detector"


class DetectorLearner(Learner[DetectorSettings]):
    """An iteration is one update on some pictures."""

    model: DetectorNetwork

    def __init__(
        self,
        network: DetectorNetwork,
        pictures: Pictures,
        settings: DetectorSettings,
        seed: int,
        share: Share,
        all_reduce: AllReduce,
    ) -> None:
        super().__init__(network, settings, seed, share, all_reduce)
        self._pictures = pictures
        self._count = settings.batch_size // share[1]
        self._numpy = np.random.default_rng(self.own_seed)

    def step(self) -> float:
        self.model.train()
        drawn = self._numpy.integers(0, self.settings.pictures, self._count)
        flips = self._numpy.random(self._count) < 0.5
        chosen = [self._example(int(number), bool(flip)) for number, flip in zip(drawn, flips, strict=True)]
        pictures = torch.from_numpy(np.stack([picture for picture, _ in chosen]))
        loss = self.optimizer_step(detector_loss(self.model, pictures, [labels for _, labels in chosen]))
        self.done += 1
        return loss

    def _example(self, number: int, flip: bool) -> tuple[Bytes, Labels]:
        """A picture with its labels, or its mirror image."""
        picture, labels = self._pictures.picture(number), self._pictures.labels(number)
        if not flip:
            return picture, labels
        boxes = labels.boxes.copy()
        boxes[:, [0, 2]] = picture.shape[2] - labels.boxes[:, [2, 0]]
        return picture[:, :, ::-1], replace(labels, boxes=boxes)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        return tensors, numbers | {"numpy": self._numpy.bit_generator.state}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._numpy.bit_generator.state = numbers["numpy"]


@dataclass(frozen=True)
class DetectorJob(Training):
    """The training of a detector."""

    settings: DetectorSettings
    folder: Path
    pictures: Path = Path("out/detector-pictures")
    """Folder of the drawn pictures."""
    config: DetectorConfig = field(default_factory=DetectorConfig)
    seed: int = 0
    processes: int = 1
    accelerator: str = "cpu"
    start: Path | None = None
    """A checkpoint whose weights are the first ones."""
    resume: bool = False
    wandb: bool = False
    about: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None

    @property
    def drawn(self) -> Pictures:
        """The pictures; the last ones are held out."""
        return Pictures(self.pictures, self.settings.pictures + self.settings.held_out, seed=0)

    def build(self) -> DetectorNetwork:
        network = DetectorNetwork(self.config)
        if self.start is not None and not self.resume:
            load_network(network, read_network(self.start, KIND))
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def learner(self, model: DetectorNetwork, share: Share, all_reduce: AllReduce) -> DetectorLearner:
        return DetectorLearner(model, self.drawn, self.settings, self.seed, share, all_reduce)

    def validate(self, model: DetectorNetwork) -> Validation:
        drawn, first = self.drawn, self.settings.pictures
        model.eval()
        numbers = range(first, first + self.settings.held_out)
        found = [model.detect(torch.from_numpy(drawn.picture(number).copy())[None])[0] for number in numbers]
        figures = measure(found, [drawn.labels(number) for number in numbers])
        return Validation(100 * figures["AP50 by name"], {name: 100 * share for name, share in figures.items()})

    def save(self, model: DetectorNetwork, training: Mapping[str, Any]) -> None:
        save_network(self.folder, KIND, model, asdict(self.config), training)

    def identity(self) -> dict[str, dict[str, Any]]:
        return {"detector": asdict(self.config), "pictures": {"version": VERSION}, "training": {}}

    def described(self) -> dict[str, Any]:
        return {"pictures": self.settings.pictures, **({"start": self.start.name} if self.start else {})}

    def check_own(self) -> None:
        if self.drawn.missing:
            raise DataError(f"{self.pictures}: pictures are missing; draw them first")
        if self.start is not None and not self.resume:
            self.build()


def load_detector(name: Path | str = KIND) -> DetectorNetwork:
    """A trained detector: a folder, or the shipped one."""
    saved = read_network(name, KIND)
    try:
        network = DetectorNetwork(DetectorConfig(**saved.config))
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"{saved.folder}: is damaged, or a detector of another version") from None
    load_network(network, saved)
    return network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
