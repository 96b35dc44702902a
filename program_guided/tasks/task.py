"""`Task`: a task with static specifications, in one class.

    class Lists(Task):
        name = "lists"
        reader = readers.Sequence(values=10)                # how S is read
        def encode(self, numbers): return {"items": numbers}
        def examples(self, split): yield "count(3)", [3, 1, 3]
        @operation
        def count(self, numbers, value: Digit) -> Digit: return numbers.count(value)

docs/your_task.md is the guide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from program_guided.language.domain import Domain
from program_guided.language.pointer import path
from program_guided.language.syntax import Call
from program_guided.language.table import RoutineTable
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.results import Answer, ResultType
from program_guided.learning.settings import Algorithm, Recipe, SupervisedSettings, Target
from program_guided.tasks.base import TaskBase
from program_guided.tasks.signatures import Signatures, arguments_of, read_signatures

if TYPE_CHECKING:
    from program_guided.learning.checkpoint import Checkpoint
    from program_guided.learning.learner import AllReduce, Learner, Share
    from program_guided.learning.trainer import Validation
    from program_guided.models.model import Model
    from program_guided.tasks.static import StaticSource

__all__ = ["Task"]


@dataclass(eq=False)
class Task(TaskBase):
    """A task with static specifications. Fields of a dataclass derived from it are its options."""

    targets: ClassVar[tuple[Target, ...]] = ("dense", "partial")
    commands: ClassVar[Mapping[str, str]] = {
        "evaluate": "program_guided.tasks.commands:EvaluateStatic",
        "run": "program_guided.tasks.commands:RunStatic",
        "stats": "program_guided.tasks.commands:StatsStatic",
    }

    @abstractmethod
    def encode(self, specification: Any) -> Mapping[str, ArrayLike]:
        """A specification as the arrays that the reader reads."""

    @abstractmethod
    def examples(self, split: str) -> Iterable[Sequence[Any]]:
        """(program, specification) or (program, specification, answer), programs as texts or trees."""

    @cached_property
    def signatures(self) -> Signatures:
        return read_signatures(type(self))

    @cached_property
    def domain(self) -> Domain:
        return Domain(self.task_name, self.version, self.signatures.operations)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        from program_guided.tasks.static import compiled_examples

        return Vocabulary.of(self.domain, compiled_examples(self, "train").programs if self.domain.has_text else ())

    @property
    def plain_results(self) -> Mapping[str, ResultType]:
        return self.signatures.results

    @cached_property
    def results(self) -> Mapping[str, ResultType]:
        """O: result types by name; answers are those that train gives."""
        found = dict(self.signatures.results)
        for name, kind in found.items():
            if isinstance(kind, Answer) and not kind.values:
                from program_guided.tasks.static import answers_of

                found[name] = kind.of(answers_of(self, name))
        return found

    def call(self, specification: Any, call: Call, inputs: Sequence[Any]) -> Any:
        """The oracle's result of one routine, given those of its inputs; None where it is not known."""
        if any(value is None for value in inputs):
            return None
        arguments = arguments_of(self.signatures.methods[call.operation], call, inputs)
        return getattr(self, call.operation)(specification, *arguments)

    def execute(self, table: RoutineTable, specification: Any, own: bool = True) -> list[Any]:
        """The oracle's results of all routines, None where they are not known or not executed.

        On a specification that is not a program's `own` a routine may make no sense: one that raises an error there has
        no result.
        """
        results: list[Any] = [None] * len(table)

        def execute(routine: int) -> Any:
            inputs = [results[row] for row in table.inputs[routine] if row >= 0]
            with nullcontext() if own else suppress(Exception):
                results[routine] = self.call(specification, table.calls[routine], inputs)
            return results[routine]

        for _ in path(table, execute):
            pass
        return results

    @cached_property
    def train(self) -> StaticSource:
        return self.source("train")

    def source(self, split: str) -> StaticSource:
        """The examples of a split."""
        from program_guided.tasks.static import StaticSource

        return StaticSource.of(self, split)

    def recipe(self, target: Target, model: str, algorithm: Algorithm) -> Recipe:
        sizes = {"heads": 4, "blocks": 1} if model == "plus" else {}
        return Recipe(SupervisedSettings() if target == "dense" else SupervisedSettings(relabelled=0.0), model=sizes)

    def check_data(self, target: Target) -> None:
        self.train.check()

    def prepare(self, model: Model) -> None:
        fit = getattr(model.reader, "fit", None)
        if fit is not None:
            fit(self.train.sample())

    def learner(
        self,
        model: Model,
        settings: Any,
        target: Target,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce | None = None,
    ) -> Learner[Any]:
        from program_guided.learning.learner import alone
        from program_guided.learning.supervised import Supervised

        part = self.train.part(0, -self.held_out)
        return Supervised(model, part, settings, seed, share, all_reduce or alone, dense=target == "dense")

    def validate(self, model: Model) -> Validation:
        from program_guided.learning.evaluation import measure
        from program_guided.learning.trainer import Validation

        held_out = self.train.part(-self.held_out, None)
        found = measure(model, held_out, [each.name for each in self.domain.operations])
        return Validation(found.accuracy, found.routines)

    def executor(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> Any:
        from program_guided.tasks.executor import StaticExecutor

        return StaticExecutor(self, model, checkpoint)

    def show(self, specification: Any) -> str:
        """A specification as a person reads it."""
        return str(specification)

    def identity(self) -> dict[str, Any]:
        return {"held_out": self.held_out, **self.options(), "examples": self.train.digest()}
