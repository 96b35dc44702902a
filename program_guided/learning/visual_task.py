"""The visual task as a training sees it: questions about pictures, from an index.

task = VisualTask(Path("out/visual"), target="partial")
model = task.build(task.config("plus")); learner = task.learner(model, VisualSettings(), seed=0)
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.learning.learner import Agree, Learner, Share, alone
from program_guided.learning.outcomes import examine
from program_guided.learning.questions import WORDS, Questions, Vocabulary
from program_guided.learning.reasoning import build_visual, visual_config
from program_guided.learning.settings import Target, VisualSettings
from program_guided.learning.tasks import Standing
from program_guided.learning.visual import VisualTraining
from program_guided.models.config import ExecutorConfig, Form
from program_guided.models.executor import Executor
from program_guided.tasks.visual.domain import DOMAIN
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.index import Index

__all__ = ["VisualData", "VisualTask"]

TRAIN, HELD_OUT = ("train_balanced", "train", "train_all"), ("val_balanced", "val", "val_all")
"""Sets to learn from and to be held out: the first that is there."""
FITTED = 1000
"""Pictures from which it is known, before any question, what varies in the vectors of objects."""


class VisualData:
    """A folder with an index, and the features of the pictures: a folder of it, or a file."""

    def __init__(self, folder: Path, features: Path | None = None) -> None:
        self.index = Index.open(folder / "index")
        self.index.check_sources(folder)
        self.features = ObjectFeatures(features or folder / "objects")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.index, self.features)

    def first_of(self, names: tuple[str, ...]) -> str:
        """The first of some sets that is there."""
        found = next((name for name in names if name in self.index.sets), None)
        if found is None:
            there = ", ".join(self.index.sets)
            raise DataError(f"{self.index.folder}: has none of the sets {', '.join(names)} (there are {there})")
        return found

    def check_pictures(self, name: str) -> None:
        """One clear error if a set asks about pictures that have no features."""
        asked = {self.index.images[image] for image in np.unique(self.index.questions(name).columns["image"]).tolist()}
        missing = sorted(asked.difference(self.features.image_ids))
        if missing:
            raise DataError(
                f"{self.features.info_path}: knows no features of {len(missing):,} of the {len(asked):,} pictures of "
                f"{name}, as {missing[0]}; name other features with --features"
            )

    def questions(self, name: str, vocabulary: Vocabulary | None = None) -> Questions:
        """A set of questions, in the words of the data or of a checkpoint."""
        return Questions(self.index, name, self.features, vocabulary or self.vocabulary)


@dataclass(frozen=True)
class VisualTask:
    """Questions about pictures; `dense` supervises every routine that the oracle can execute, `partial` the answer."""

    folder: Path
    target: Target = "dense"
    features: Path | None = None
    """Where the features are, if not in the folder."""
    train: str | None = None
    """The set of questions to learn from; left out, the first of TRAIN that is there."""
    held_out: int = 2000
    """So many questions of the validation split are evaluated on."""

    domain: ClassVar[Domain] = DOMAIN

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes open the files themselves."""
        return VisualTask, (self.folder, self.target, self.features, self.train, self.held_out)

    def check(self) -> None:
        if self.target not in ("dense", "partial"):
            raise DataError(f"--target {self.target}: the targets of visual are dense and partial")
        data = self._data
        if self.target == "dense" and not data.index.scene_ids:
            raise DataError(f"{data.index.folder}: there are no scene graphs for --target dense; take partial")
        for name in (data.first_of(self._train), data.first_of(HELD_OUT)):
            data.check_pictures(name)

    @property
    def _train(self) -> tuple[str, ...]:
        return TRAIN if self.train is None else (self.train,)

    @cached_property
    def _data(self) -> VisualData:
        return VisualData(self.folder, self.features)

    @cached_property
    def _held_out(self) -> Questions:
        return self._data.questions(self._data.first_of(HELD_OUT))

    def config(self, form: Form, **settings: Any) -> ExecutorConfig:
        """An executor's configuration, for the words of the data."""
        vocabulary = self._data.vocabulary
        return visual_config(form, len(vocabulary.words), WORDS, len(vocabulary.answers), **settings)

    def build(self, config: ExecutorConfig) -> Executor:
        """An executor that has seen pictures, but no questions."""
        model = build_visual(config, self._data.vocabulary.numbers)
        if config.form == "plus":
            model.reader.objects.what.fit(torch.from_numpy(self._vectors()))
        return model

    def _vectors(self) -> NDArray[np.float32]:
        """Vectors of objects in some pictures of train, evenly spaced."""
        data = self._data
        images = np.unique(data.index.questions(data.first_of(self._train)).columns["image"])
        chosen = images[np.linspace(0, len(images) - 1, min(FITTED, len(images))).astype(np.int64)]
        return np.concatenate([data.features.read(data.index.images[image]).features for image in chosen])

    def learner(
        self, model: Executor, settings: VisualSettings, seed: int, share: Share = (0, 1), agree: Agree = alone
    ) -> Learner[Any]:
        data = self._data.questions(self._data.first_of(self._train))
        return VisualTraining(model, data, settings, seed, share, agree, dense=self.target == "dense")

    def examine(self, model: Executor) -> Standing:
        found = examine(model, self._held_out, np.arange(min(self.held_out, len(self._held_out))))
        return Standing(found.accuracy, found.families)

    def told(self) -> dict[str, Any]:
        """The data are known by what the index says of its files, wherever they lie."""
        files = json.dumps(self._data.index.header["files"], sort_keys=True)
        digest = hashlib.sha256(files.encode("utf-8")).hexdigest()
        train = self._data.first_of(self._train)
        return {"target": self.target, "train": train, "held_out": self.held_out, "data": digest[:16]}

    def knows(self) -> dict[str, Any]:
        return self._data.vocabulary.as_dict()
