"""Program-guided visual reasoning as a task: questions about pictures, from an index.

task = Visual(data=Path("out/visual"))
source = task.question_set("test_balanced")
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import Domain, unknown
from program_guided.language.sentences import Lexicon
from program_guided.language.syntax import Program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.results import ResultType
from program_guided.learning.settings import Algorithm, Recipe, SupervisedSettings, Target
from program_guided.models.readers.config import Arrays, Objects, ReaderConfig
from program_guided.tasks.base import TaskBase
from program_guided.tasks.visual.domain import DOMAIN, OPERATION_WORDS, parse_visual, results_of

if TYPE_CHECKING:  # the language of visual programs is read without torch and the data's libraries
    from program_guided.learning.checkpoint import Checkpoint
    from program_guided.learning.learner import AllReduce, Learner, Share
    from program_guided.learning.trainer import Validation
    from program_guided.models.model import Model
    from program_guided.tasks.visual.batches import Questions
    from program_guided.tasks.visual.data import VisualData
    from program_guided.tasks.visual.reasoner import Reasoner

__all__ = ["Visual"]

TRAIN, HELD_OUT = ("train_balanced", "train", "train_all"), ("val_balanced", "val", "val_all")
"""Possible names of the training set and of the held-out set; the first available one is used."""
CATEGORY = 1
"""Place of the category among the words of a routine (`domain.routine_words`)."""
INVERTING_ROLE = "object"
"""Role with which a relation is that of what was found before to what is found, instead of the other way round."""
ASKED_SCENES = {"train": 600, "val": 40, "test": 120}
"""Scenes of the embedded world whose questions a parser is trained or measured on."""
CHUNK = 4096
"""Questions read at once."""
PCA_PICTURES = 1000
"""Maximum number of pictures whose vectors the principal components are fitted to."""


@final
@dataclass(eq=False)
class Visual(TaskBase):
    """Questions about pictures; `dense` supervises every routine that the oracle can execute, `partial` the answer."""

    held_out: int = 2000
    """Number of questions that are evaluated on: the first of the validation split or, if there is none, those about
    the last pictures of train, at least so many, which are then not trained on."""
    data: Path | None = None
    """Folder with an index and features; by default the embedded world, built in out/visual if needed."""
    features: Path | None = None
    """Folder or file of the pictures' features; by default the folder `objects` in the data."""
    train_set: str | None = None
    """Set of questions to train on, such as train_all; by default train_balanced."""

    named_features: bool = True
    """Words are true of the objects in which the feature of the same name is large, where features have names."""
    perceived: bool = True
    """With the target partial, `select` and `filter` are also taught by what features are named after, where they have
    names; other routines by the answers alone."""

    name: ClassVar[str] = "visual"
    version: ClassVar[int] = DOMAIN.version
    reader: ClassVar[Any] = Objects(features=1, positions=4)
    splits: ClassVar[tuple[str, ...]] = ("train", "val", "test")
    targets: ClassVar[tuple[Target, ...]] = ("dense", "partial")
    training_options: ClassVar[tuple[str, ...]] = ("held_out", "train_set", "named_features", "perceived")
    commands: ClassVar[Mapping[str, str]] = {
        "evaluate": "program_guided.tasks.visual.commands.evaluate:Evaluate",
        "run": "program_guided.tasks.visual.commands.run:Run",
        "build": "program_guided.tasks.visual.commands.dataset:Build",
        "index": "program_guided.tasks.visual.commands.dataset:Index",
        "stats": "program_guided.tasks.visual.commands.dataset:Stats",
    }

    @property
    def domain(self) -> Domain:
        return DOMAIN

    def parse(self, text: str, source: str = "<program>") -> Program:
        return parse_visual(text, source)

    @cached_property
    def opened(self) -> VisualData:
        """The data; the embedded world is built first if it is needed and missing."""
        from program_guided.tasks.visual.data import VisualData
        from program_guided.tasks.visual.embedded.folders import ready_world

        return VisualData(self.data or ready_world(), self.features)

    @cached_property
    def reader_config(self) -> ReaderConfig:
        from program_guided.tasks.visual.embedded.vectors import PARTS, SIZE

        named, patches = self.opened.named, self.opened.patches
        _, columns, side = patches or (0, 0, 0)
        return Objects(
            features=self.opened.feature_count,
            positions=4,
            depth=PARTS["ground"].start if named or patches else -1,
            named=(named or patches is not None) and self.named_features,
            patch=side,
            columns=columns,
            vector=SIZE if patches else 0,
        )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        index = self.opened.index
        return Vocabulary(tuple(index.words[: index.known_words]))

    @cached_property
    def results(self) -> Mapping[str, ResultType]:
        index = self.opened.index
        return results_of(index.answers[: index.known_answers])

    @property
    def plain_results(self) -> Mapping[str, ResultType]:
        return results_of(())

    def questions(self, split: str) -> Iterator[tuple[str, Program, str]]:
        """Questions of the embedded world, with the picture that each is about."""
        from program_guided.tasks.visual.embedded.building import questions_of

        scenes = ASKED_SCENES.get(split)
        if scenes is None:
            raise DataError(f"{unknown('split', split, ASKED_SCENES)} (there are {', '.join(ASKED_SCENES)})")
        for question in questions_of(split, scenes, seed=0):
            yield question.text, question.program, question.image_id

    def real_questions(self, root: Path, split: str) -> Iterator[tuple[str, Program, str]]:
        """Questions of a file of the release, such as `train_questions.json`."""
        from program_guided.tasks.visual.release.reading import read_questions

        for question in read_questions(root / f"{split}_questions.json"):
            yield question.text, question.program, question.image_id

    def lexicon(self, root: Path | None = None) -> Lexicon:
        from program_guided.tasks.visual.english import lexicon_of
        from program_guided.tasks.visual.ontology import BUILT_IN, find_ontology

        return lexicon_of(BUILT_IN if root is None else find_ontology(root))

    def agreement(self, root: Path | None = None) -> Callable[[Program, Program], bool | None]:
        from program_guided.tasks.visual.english import agreement_on, scenes_to_compare

        return agreement_on(*scenes_to_compare(root))

    def question_set(self, name: str) -> Questions:
        """A set of questions, with the vocabulary and answers of the task."""
        from program_guided.tasks.visual.batches import Questions

        return Questions(self.opened, name, self.vocabulary, self.results, self._perceivable)

    @property
    def _perceivable(self) -> Mapping[str, int] | None:
        """Word -> the feature of the same name, if features have names."""
        from program_guided.tasks.visual.embedded.vectors import FEATURE_NAMES

        if not (self.opened.named and self.perceived):
            return None
        return {name: at for at, name in enumerate(FEATURE_NAMES) if name}

    @property
    def _train_sets(self) -> tuple[str, ...]:
        return TRAIN if self.train_set is None else (self.train_set,)

    @cached_property
    def _train(self) -> Questions:
        return self.question_set(self.opened.first_of(self._train_sets))

    @cached_property
    def _clean(self) -> Questions | None:
        """The questions of train about simulated objects, where the embedded world is seen through its pixels."""
        from program_guided.tasks.visual.batches import Questions
        from program_guided.tasks.visual.data import VisualData
        from program_guided.tasks.visual.embedded.building import CLEAN_FOLDER

        folder, world = self.opened.folder / CLEAN_FOLDER, self.opened.features.plan or {}
        if self.features is not None or CLEAN_FOLDER not in world.get("features", ()):
            return None
        data = VisualData(self.opened.folder, folder)
        return Questions(data, self._train.set.name, self.vocabulary, self.results, self._perceivable)

    @cached_property
    def _held_out(self) -> tuple[Questions, NDArray[np.int64]]:
        """The questions that are evaluated on: a set, and their numbers in it."""
        name = next((name for name in HELD_OUT if name in self.opened.index.sets), None)
        if name is not None and name != self._train.set.name:
            source = self.question_set(name)
            return source, np.flatnonzero(source.answerable)[: self.held_out]
        pictures = self._train.specification_numbers()
        order = np.argsort(pictures, kind="stable")
        first = pictures[order][max(0, len(order) - self.held_out)]
        return self._train, np.flatnonzero(pictures >= first)

    @cached_property
    def _trained_on(self) -> NDArray[np.int64]:
        """Numbers of the questions of train that are trained on."""
        source, held_out = self._held_out
        every = np.arange(len(self._train))
        return every if source is not self._train else np.setdiff1d(every, held_out)

    def recipe(self, target: Target, model: str, algorithm: Algorithm) -> Recipe:
        relabelled = 0.25 if target == "dense" and model == "plus" else 0.0
        if model == "paper":  # the paper's sizes, meant for GPUs
            settings = SupervisedSettings(batch_size=256, learning_rate=1e-4, weight_decay=0.01, relabelled=relabelled)
            return Recipe(settings, model={"word_width": 256, "hidden": 2048})
        settings = SupervisedSettings(steps=6_000, feature_dropout=0.2, relabelled=relabelled)
        return Recipe(settings, model={"heads": 4, "blocks": 1})

    def check_data(self, target: Target) -> None:
        data = self.opened
        train = data.first_of(self._train_sets)
        if target == "dense" and data.pictures(train).isdisjoint(data.index.scene_ids):
            raise DataError(
                f"{data.index.folder}: there are no scene graphs of {train}, which the target dense needs; choose the "
                "target partial"
            )
        source, (_, held_out) = self._train, self._held_out
        fit = source.has_program if target == "dense" else source.answerable
        if not fit.all():
            what = "program" if target == "dense" else "program or answer"
            raise DataError(
                f"{data.index.folder}: {np.sum(~fit):,} questions of {train} have no {what}, which the target "
                f"{target} needs; name another set"
            )
        if not len(held_out):
            raise DataError(
                f"{data.index.folder}: no question of {self._held_out[0].set.name} has a program and an answer, so "
                "that nothing can be evaluated on; index other sets"
            )
        if not len(self._trained_on):
            raise DataError(f"held-out {self.held_out}: {train} has no more questions; hold fewer out")
        for name in dict.fromkeys((train, self._held_out[0].set.name)):
            data.check_pictures(name)

    def prepare(self, model: Model) -> None:
        from program_guided.learning.examples import tensors_of

        fit = getattr(model.reader, "fit", None)
        if fit is not None:
            fit(tensors_of(self._sample()))
        if getattr(model.reader, "has_names", False):
            model.reader.name_features(self._named_features())
        invert = getattr(model.reader, "invert", None)
        if invert is not None:
            invert([at for at, word in enumerate(self.vocabulary.words) if word == INVERTING_ROLE])
        link = getattr(model.reader, "link_words", None)
        if link is not None:
            import torch

            link(torch.from_numpy(self._together()))

    def _named_features(self) -> dict[int, int]:
        """Word -> the feature of the same name, in vectors of the embedded world."""
        from program_guided.tasks.visual.embedded.vectors import FEATURE_NAMES

        numbers = {word: at for at, word in enumerate(self.vocabulary.words)}
        return {numbers[name]: at for at, name in enumerate(FEATURE_NAMES) if name and name in numbers}

    def _sample(self) -> Arrays:
        """Detected objects of evenly spaced pictures of train."""
        from program_guided.tasks.visual.batches import arrays_of

        data = self.opened
        images = np.unique(data.index.questions(data.first_of(self._train_sets)).columns["image"])
        chosen = images[np.linspace(0, len(images) - 1, min(PCA_PICTURES, len(images))).astype(np.int64)]
        return arrays_of([data.features.read(data.index.images[image]) for image in chosen])

    def _together(self) -> NDArray[np.bool_]:
        """(vocabulary, vocabulary) which arguments occur together with which category in programs of train."""
        from program_guided.tasks.visual.index.assembly import UNKNOWN_WORD

        source = self._train
        together = np.zeros((len(self.vocabulary), len(self.vocabulary)), np.bool_)
        for first in range(0, len(source), CHUNK):
            words = source.set.batch(np.arange(first, min(len(source), first + CHUNK))).words
            arguments = words[..., OPERATION_WORDS:]
            category = np.broadcast_to(words[..., CATEGORY, None], arguments.shape)
            there = (category > UNKNOWN_WORD) & (arguments > UNKNOWN_WORD)
            together[category[there], arguments[there]] = True
        return together

    def learner(
        self,
        model: Model,
        settings: Any,
        target: Target,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce | None = None,
    ) -> Learner[Any]:
        from program_guided.learning.examples import Part
        from program_guided.learning.learner import alone
        from program_guided.learning.supervised import Supervised

        if not self.opened.ontology.complete:  # what a graph does not name may be there
            settings = replace(settings, relabelled=0.0)
        source = Part(self._train, self._trained_on)
        easy = None if self._clean is None else Part(self._clean, self._trained_on)
        return Supervised(model, source, settings, seed, share, all_reduce or alone, dense=target == "dense", easy=easy)

    def validate(self, model: Model) -> Validation:
        from program_guided.learning.trainer import Validation
        from program_guided.tasks.visual.evaluation import answer_questions

        found = answer_questions(model, *self._held_out)
        return Validation(found.accuracy, found.families)

    def executor(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> Reasoner:
        from program_guided.tasks.visual.reasoner import Reasoner

        return Reasoner(self, model, checkpoint)

    def identity(self) -> dict[str, Any]:
        """Identify questions, features and ontology by their checksums, independent of their path."""
        files = json.dumps(self.opened.index.header["files"], sort_keys=True)
        digest = hashlib.sha256(files.encode("utf-8")).hexdigest()
        return {
            "train": self.opened.first_of(self._train_sets),
            "held_out": self.held_out,
            "data": digest[:16],
            "features": self.opened.features.digest[:16],
            "ontology": self.opened.ontology.digest[:16],
        }
