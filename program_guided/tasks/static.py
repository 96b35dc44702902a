"""Examples of a `Task` as batches: programs parsed and compiled once, specifications encoded once, the oracle's results
computed when they are first needed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError, ProgramError
from program_guided.language.pointer import path
from program_guided.language.printer import print_program
from program_guided.language.syntax import Program
from program_guided.language.table import Kind, RoutineTable, compile_program
from program_guided.learning.examples import Examples, programs_of, tensors_of
from program_guided.learning.results import Answer, ResultType

if TYPE_CHECKING:
    from program_guided.tasks.task import Task

__all__ = ["StaticSource", "answers_of"]

MAX_CACHED = 200_000
"""Executions by the oracle whose results are kept."""
FITTED = 1000
"""Specifications that readers are fitted to."""


@dataclass(frozen=True, eq=False)
class CompiledExamples:
    """A split as it was given: programs compiled, specifications numbered."""

    programs: list[Program]
    tables: list[RoutineTable]
    specifications: list[Any]
    own: NDArray[np.int64]
    """(examples,) the specification that each is about"""
    answers: list[Any]
    """None where none was given"""


def read_examples(task: Task, split: str) -> CompiledExamples:
    """The examples of a split; `DataError` names an example that cannot be read."""
    parsed: dict[str, tuple[Program, RoutineTable]] = {}
    programs, tables, own, answers = list[Program](), list[RoutineTable](), list[int](), list[Any]()
    specifications, numbers = list[Any](), dict[int, int]()
    try:
        given = task.examples(split)
    except NotImplementedError:
        raise DataError(f"{task.task_name}: has no examples; write the method examples(self, split)") from None
    for number, example in enumerate(given or ()):
        if not isinstance(example, Sequence) or not 2 <= len(example) <= 3:
            raise DataError(
                f"{split}, example {number}: expected (program, specification) or (program, specification, answer)"
            )
        program, specification, answer = (*example, None)[:3]
        try:
            tree, table = _compiled(task, program, parsed)
        except ProgramError as error:
            raise DataError(f"{split}, example {number}: {error}") from None
        programs.append(tree)
        tables.append(table)
        if id(specification) not in numbers:
            numbers[id(specification)] = len(specifications)
            specifications.append(specification)  # kept, so that its id stays its own
        own.append(numbers[id(specification)])
        answers.append(answer)
    return CompiledExamples(programs, tables, specifications, np.array(own, np.int64), answers)


def _compiled(
    task: Task, program: str | Program, parsed: dict[str, tuple[Program, RoutineTable]]
) -> tuple[Program, RoutineTable]:
    """Parsed and compiled once, however often a text occurs."""
    key = program if isinstance(program, str) else print_program(program, task.domain)
    if key not in parsed:
        tree = task.parse(program, "program") if isinstance(program, str) else program
        parsed[key] = tree, compile_program(tree, task.domain)
    return parsed[key]


def answers_of(task: Task, name: str) -> list[Any]:
    """The answers of one result type that train gives, the most frequent first."""
    texts = compiled_examples(task, "train")
    counts: Counter[Any] = Counter()
    for table, own, answer in zip(texts.tables, texts.own, texts.answers, strict=True):
        results = task.execute(table, texts.specifications[own])
        *_, last = path(table, results.__getitem__)
        counts.update(
            value
            for call, value in zip(table.calls, results, strict=True)
            if task.domain.operation(call.operation).output == name and value is not None
        )
        if answer is not None and task.domain.operation(table.calls[last].operation).output == name:
            counts[answer] += 1
    return sorted(counts, key=lambda value: (-counts[value], str(value)))


def compiled_examples(task: Task, split: str) -> CompiledExamples:
    """The examples of a split, read once for a task."""
    kept: dict[str, CompiledExamples] = task.__dict__.setdefault("_texts", {})
    if split not in kept:
        kept[split] = read_examples(task, split)
    return kept[split]


@dataclass(eq=False)
class StaticSource:
    """Examples of a task (`learning.examples.ExampleSource`)."""

    task: Task
    split: str
    texts: CompiledExamples
    numbers: NDArray[np.int64]
    """The examples of the split that belong to it."""
    _executed: dict[tuple[int, int, bool], list[Any]] = field(default_factory=dict)
    _encoded: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task, split: str) -> StaticSource:
        texts = compiled_examples(task, split)
        if not texts.tables:
            raise DataError(f"{task.task_name}: there are no examples of {split}")
        return cls(task, split, texts, np.arange(len(texts.tables)))

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def results(self) -> Mapping[str, ResultType]:
        return self.task.results

    def part(self, first: int | None, last: int | None) -> StaticSource:
        """Some of the examples."""
        return replace(self, numbers=self.numbers[first:last])

    def specification_numbers(self) -> NDArray[np.int64]:
        return self.texts.own[self.numbers]

    def weights(self) -> NDArray[np.float64]:
        """Rare operations more often, by the operation that gives the answer."""
        last = np.array([self.texts.tables[number].operation[-1] for number in self.numbers])
        return np.sqrt(1 / np.bincount(last)[last])

    def check(self) -> None:
        """One clear error if too few examples are left to train on, or the first one cannot be encoded."""
        if len(self) <= self.task.held_out:
            raise DataError(
                f"held-out {self.task.held_out}: train has only {len(self)} examples, of which at least one must be "
                "trained on; hold out fewer"
            )
        self.batch(np.zeros(1, np.int64))

    def sample(self) -> dict[str, torch.Tensor]:
        """Some specifications, evenly spaced, for what is fitted without labels."""
        chosen = np.unique(np.linspace(0, len(self.texts.specifications) - 1, FITTED).astype(int)).tolist()
        return tensors_of(self.task.reader_config.collate([self._encode(number) for number in chosen]))

    def digest(self) -> str:
        """A digest of the examples: all programs and answers, and the specifications that readers are fitted to."""
        printed = {id(each): print_program(each, self.task.domain) for each in self.texts.programs}
        examples = zip(self.texts.programs, self.texts.own.tolist(), self.texts.answers, strict=True)
        digest = hashlib.sha256()
        for program, own, answer in examples:
            digest.update(f"{printed[id(program)]}\n{own}\n{answer!r}\n".encode())
        for name, array in sorted(self.sample().items()):
            digest.update(name.encode() + array.numpy().tobytes())
        return digest.hexdigest()[:16]

    def batch(self, numbers: NDArray[np.int64], dense: bool = True, about: NDArray[np.int64] | None = None) -> Examples:
        chosen = self.numbers[numbers]
        shown = self.texts.own[chosen] if about is None else about
        specifications, of = np.unique(shown, return_inverse=True)
        arrays = self.task.reader_config.collate([self._encode(int(number)) for number in specifications])
        tables = [self.texts.tables[number] for number in chosen]
        programs = programs_of(tables, self.task.vocabulary, of)
        outcomes = [self._execute(int(number), int(at)) for number, at in zip(chosen, shown, strict=True)]
        return self._examples(chosen, shown, tables, outcomes, tensors_of(arrays), programs, dense)

    def _encode(self, number: int) -> Mapping[str, Any]:
        if number not in self._encoded:
            encoded = self.task.encode(self.texts.specifications[number])
            try:
                self.task.reader_config.collate([encoded])
            except (DataError, TypeError) as error:
                example = int(np.flatnonzero(self.texts.own == number)[0])
                raise DataError(f"{self.task.task_name}, example {example} of {self.split}: {error}") from None
            self._encoded[number] = encoded
        return self._encoded[number]

    def _execute(self, number: int, about: int) -> list[Any]:
        """The oracle's results of an example's program on a specification."""
        own = bool(about == self.texts.own[number])
        key = (id(self.texts.tables[number]), about, own)
        if key not in self._executed:
            if len(self._executed) >= MAX_CACHED:
                self._executed.clear()
            specification = self.texts.specifications[about]
            self._executed[key] = self.task.execute(self.texts.tables[number], specification, own)
        return self._executed[key]

    def _examples(
        self,
        chosen: NDArray[np.int64],
        shown: NDArray[np.int64],
        tables: Sequence[RoutineTable],
        outcomes: Sequence[list[Any]],
        arrays: dict[str, torch.Tensor],
        programs: Any,
        dense: bool,
    ) -> Examples:
        shape, kinds = programs.exists.shape, list(self.results.values())
        index = {kind.name: number for number, kind in enumerate(kinds)}
        parts = next((array.shape[1] for name, array in arrays.items() if name == "exists"), 0)
        targets = {kind.name: kind.empty(shape, parts) for kind in kinds}
        operations, types = np.full(shape, -1), np.full(shape, -1)
        executed, last = np.zeros(shape, np.bool_), np.zeros(len(tables), np.int64)
        for row, (table, values) in enumerate(zip(tables, outcomes, strict=True)):
            names = [self.task.domain.operations[number].output for number in table.operation]
            operations[row, : len(table)], types[row, : len(table)] = table.operation, [index[name] for name in names]
            executed_rows = list(path(table, values.__getitem__))
            final = executed_rows[-1]
            executed[row, executed_rows], last[row] = True, final
            for routine in executed_rows if dense else [final]:
                if values[routine] is not None:
                    kind = self.results[names[routine]]
                    targets[kind.name][row, routine] = self._target(
                        kind, values[routine], parts, table, routine, chosen[row]
                    )
            answer = self.texts.answers[chosen[row]]
            complete = table.kind[final] == Kind.STEP or values[final] is not None
            if answer is not None and complete and shown[row] == self.texts.own[chosen[row]]:
                kind = self.results[names[final]]
                targets[kind.name][row, final] = self._target(kind, answer, parts, table, final, chosen[row])
        given = {name: torch.from_numpy(target) for name, target in targets.items()}
        return Examples(
            arrays,
            programs,
            operations,
            torch.from_numpy(types),
            given,
            torch.from_numpy(executed),
            torch.from_numpy(last),
        )

    def _target(self, kind: ResultType, value: Any, parts: int, table: RoutineTable, routine: int, example: int) -> Any:
        """A result as a target; one clear error for one that is not of its type."""
        place = f"{self.task.task_name}, {self.split}, example {example}: {table.calls[routine].operation}"
        try:
            target = kind.encode(value, parts)
        except (TypeError, ValueError) as error:
            raise DataError(f"{place}: {value!r} is not {kind.name}: {error}") from None
        if isinstance(target, int) and target < 0 and not isinstance(kind, Answer):
            expected = getattr(kind, "values", "")
            raise DataError(f"{place}: {value!r} is not {kind.name}; expected one of {expected}")
        return target
