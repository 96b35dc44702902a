"""The base of all tasks: the paper's tuple (S, Γ, O, G) as learning and the commands see it.

`Task` (static specifications, tasks/task.py) and `WorldTask` (worlds that change, tasks/world_task.py) are what a user
derives from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from random import Random
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.language.parser import parse
from program_guided.language.recombination import recombined
from program_guided.language.sentences import Lexicon, closed_words
from program_guided.language.syntax import Program
from program_guided.language.table import RoutineTable, compile_program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.results import Answer, ResultType
from program_guided.learning.settings import Algorithm, Recipe, Target
from program_guided.models.readers.config import Custom, ReaderConfig
from program_guided.registry import load_task

if TYPE_CHECKING:
    from program_guided.learning.checkpoint import Checkpoint, Origin
    from program_guided.learning.learner import AllReduce, Learner, Share
    from program_guided.learning.trainer import Validation
    from program_guided.models.model import Model, Sizes

__all__ = ["TaskBase"]

METHODS = (FunctionType, property, cached_property)
REPLACEABLE = (
    *(
        "agreement",
        "best",
        "check_data",
        "identity",
        "learner",
        "lexicon",
        "prepare",
        "programs",
        "questions",
        "recipe",
    ),
    *("rephrased", "show", "validate"),
)
"""Methods that a task may replace, besides those that it has to write."""


@dataclass(eq=False)
class TaskBase(ABC):
    """A task. Fields of a dataclass derived from it are its options."""

    held_out: int = 200
    """Examples or programs at the end of train that are not trained on, but evaluated on."""

    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    """Raised when the meaning of programs or specifications changes."""
    reader: ClassVar[Any]
    """A `ReaderConfig`, or a function (sizes, width) -> nn.Module that keeps the protocol of a reader."""
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    targets: ClassVar[tuple[Target, ...]] = ("dense",)
    given: ClassVar[str] = ""
    """The task as the user named it."""
    training_options: ClassVar[tuple[str, ...]] = ("held_out",)
    """Options that only training has."""
    commands: ClassVar[Mapping[str, str]] = {}
    """Commands of this task: name -> module:Class of a dataclass of options with a method `run(task, ...)`."""

    def __init_subclass__(cls, **given: Any) -> None:
        """One clear error where a task hides a method that every task has."""
        super().__init_subclass__(**given)
        cls.given = ""  # of this class alone
        if cls.__module__.startswith("program_guided."):
            return
        ours = [vars(base) for base in cls.__mro__ if base.__module__.startswith("program_guided.")]
        for name in vars(cls):
            hidden = [base[name] for base in ours if name in base and isinstance(base[name], METHODS)]
            is_open = name.startswith("__") or name in REPLACEABLE
            if hidden and not is_open and not any(getattr(each, "__isabstractmethod__", False) for each in hidden):
                raise DataError(
                    f"{cls.__name__}.{name}: {name!r} is a method of program_guided's tasks; give yours another name"
                )

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """Γ: operations, their parameters and result types."""

    @property
    def learned_domain(self) -> Domain:
        """The part of Γ that is learned; by default all of it."""
        return self.domain

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """All words of the language, and the free text that train says."""

    @property
    @abstractmethod
    def results(self) -> Mapping[str, ResultType]:
        """O: result types by name."""

    @abstractmethod
    def recipe(self, target: Target, model: str, algorithm: Algorithm) -> Recipe:
        """Defaults of a training."""

    @abstractmethod
    def check_data(self, target: Target) -> None:
        """One clear error if the data do not serve a target."""

    @abstractmethod
    def learner(
        self,
        model: Model,
        settings: Any,
        target: Target,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce | None = None,
    ) -> Learner[Any]:
        """The learner of a target."""

    @abstractmethod
    def validate(self, model: Model) -> Validation:
        """Figures of a model on what is held out."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Options and data that must be the same when a training is resumed; JSON."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes load the task as the user named it, and open its data themselves."""
        options = {each.name: getattr(self, each.name) for each in fields(self)}
        return _loaded, (self.given or f"{type(self).__module__}:{type(self).__qualname__}", options)

    @property
    def task_name(self) -> str:
        return self.name or type(self).__name__.lower()

    @abstractmethod
    def executor(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> Any:
        """A trained executor as a user holds it."""

    @cached_property
    def reader_config(self) -> ReaderConfig:
        """The reader of the data at hand."""
        return self.plain_reader

    @property
    def plain_reader(self) -> ReaderConfig:
        """The reader as the class gives it."""
        if not hasattr(type(self), "reader"):
            example = "reader = readers.Objects(features=15)"
            raise DataError(f"{type(self).__name__}: has no reader; give one, as in: {example}")
        reader = type(self).reader
        if isinstance(reader, ReaderConfig):
            return reader
        if not callable(reader):
            raise DataError(f"{type(self).__name__}: reader is {reader!r}; give one of program_guided.readers")
        return Custom(reader)

    def questions(self, split: str) -> Iterable[Sequence[Any]]:
        """Questions in English: (question, program) or (question, program, group), programs as texts or trees. Those of
        a group, such as a picture, are trained on together or held out together."""
        raise DataError(
            f"{self.task_name}: has no questions in English; give it a method questions(split) that yields (question, "
            "program)"
        )

    def real_questions(self, root: Path, split: str) -> Iterable[Sequence[Any]]:
        """The same from files of one's own."""
        raise DataError(f"{self.task_name}: reads no files of questions; leave the root out")

    def lexicon(self, root: Path | None = None) -> Lexicon:
        """Phrases and words that are known without questions; `root`: of files of one's own."""
        return Lexicon(closed_words(self.domain))

    def rephrased(self, question: str, program: Program, lexicon: Lexicon, random: Random) -> tuple[str, Program]:
        """Another question like this one, with its program, to train on: by default, with other arguments."""
        return recombined(question, program, self.domain, lexicon, random)

    def agreement(self, root: Path | None = None) -> Callable[[Program, Program], bool | None] | None:
        """Whether two programs have the same results wherever the oracle executes both, None where it cannot; None if
        the task cannot say."""
        return None

    def parse(self, text: str, source: str = "<program>") -> Program:
        """The program that a text says."""
        return parse(text, self.domain, source)

    def compile(self, program: str | Program) -> RoutineTable:
        """The routine table of a program."""
        return compile_program(self.parse(program) if isinstance(program, str) else program, self.domain)

    def result_sizes(self) -> tuple[tuple[str, int | None], ...]:
        """Result types and the sizes of their heads."""
        return tuple((name, kind.size) for name, kind in self.results.items())

    def sizes(self) -> Sizes:
        from program_guided.models.model import Sizes

        return Sizes(
            vocabulary=self.vocabulary.words,
            words=self.learned_domain.routine_width,
            operation_words=self.learned_domain.operation_words,
            inputs=self.learned_domain.max_inputs,
            sequential=self.learned_domain.sequential,
            results=self.result_sizes(),
        )

    def check(self, target: Target) -> None:
        """One clear error for a target or options that cannot be."""
        if target not in self.targets:
            raise DataError(f"target {target}: the targets of {self.task_name} are {', '.join(self.targets)}")
        if self.held_out < 1:
            raise DataError(f"held-out {self.held_out}: at least 1 is needed")
        pointing = [name for name, size in self.result_sizes() if size is None]
        if pointing and not self.plain_reader.has_parts:
            raise DataError(
                f"{self.task_name}: {', '.join(pointing)} are sets of parts, which a map does not have; give a "
                "reader of objects or of a sequence"
            )
        self.check_data(target)

    def prepare(self, model: Model) -> None:  # noqa: B027  (nothing, for most tasks)
        """Fit an untrained model to what the data show without labels."""

    def origin(self) -> Origin:
        from program_guided.learning.checkpoint import Origin

        answers = {name: list(kind.values) for name, kind in self.results.items() if isinstance(kind, Answer)}
        return Origin(self.task_name, self.version, self.given or self.task_name, answers, self.options())

    def options(self) -> dict[str, Any]:
        """Options that belong to the task itself: neither to training nor, being paths, to a machine."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in self.training_options}
        return {name: value for name, value in kept.items() if isinstance(value, bool | int | float | str)}

    def restored(self, checkpoint: Checkpoint) -> TaskBase:
        """The task as a checkpoint knows it: with its words and answers, whatever the data at hand are."""
        task = replace(self)
        task.__dict__ |= {name: value for name, value in self.__dict__.items() if name.startswith("_")}
        task.__dict__["vocabulary"] = Vocabulary(checkpoint.sizes.vocabulary)
        task.__dict__["results"] = _with_answers(self.plain_results, checkpoint.task.answers)
        return task

    @property
    def plain_results(self) -> Mapping[str, ResultType]:
        """Result types before any data have been read."""
        return self.results


def _loaded(given: str, options: dict[str, Any]) -> Any:
    return load_task(given)(**options)


def _with_answers(kinds: Mapping[str, ResultType], answers: Mapping[str, list[Any]]) -> dict[str, ResultType]:
    return {
        name: kind.of(answers[name]) if isinstance(kind, Answer) and name in answers else kind
        for name, kind in kinds.items()
    }
