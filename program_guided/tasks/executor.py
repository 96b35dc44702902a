"""Trained executors as a user holds them: what `program_guided.load` gives.

    executor = program_guided.load("out/lists-dense-plus-0", task="lists.py")
    execution = executor.run("greater(maximum(), count(3))", [3, 1, 3])
    execution.answer, execution.findings[0].result, execution.findings[0].right

Which task a checkpoint was trained for is in its `config.json`; that task's code is run only if it is built in or
installed, or if the user names it or has named it before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
import torch

from program_guided.errors import DataError, WorldError
from program_guided.language.display import html_table
from program_guided.language.domain import Domain, unknown
from program_guided.language.pointer import path as path_of
from program_guided.language.printer import print_call
from program_guided.language.syntax import Program, calls
from program_guided.language.table import RoutineTable
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.checkpoint import Checkpoint, read_checkpoint
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.worlds import Outcome
from program_guided.models.model import Model
from program_guided.registry import load_task, named_before
from program_guided.tasks.base import TaskBase

if TYPE_CHECKING:
    from program_guided.tasks.python_worlds import PythonWorlds
    from program_guided.tasks.task import Task
    from program_guided.tasks.world_task import WorldTask

__all__ = [
    "Execution",
    "Finding",
    "ProgramList",
    "StaticExecutor",
    "StaticOracle",
    "TrainedExecutor",
    "WorldExecutor",
    "WorldRun",
    "check_words",
    "load_executor",
    "paired",
    "shown",
    "task_of",
    "trained_task",
]

ProgramList = list[str] | list[Program] | list[str | Program]


class TrainedExecutor(Protocol):
    """The executor of any task."""

    @property
    def checkpoint(self) -> Checkpoint | None: ...
    @property
    def run(self) -> Callable[..., Any]:
        """Execute a program; what else it takes, and what it returns, depends on the task."""


def task_of(checkpoint: Checkpoint, given: str | type[TaskBase] | None = None) -> Any:
    """The class of a checkpoint's task; one clear error if it must be named."""
    if isinstance(given, type):
        return given
    origin, path = checkpoint.task, checkpoint.folder / "config.json"
    if given is None and not named_before(origin.given):
        raise DataError(
            f"{path}: was trained for the task '{origin.name}', given as {origin.given}; code is not run because a "
            f"checkpoint says so: name the task yourself (--task {origin.given}, or task={origin.given!r} in Python)"
        )
    return load_task(given or origin.given)


def load_executor(
    name: str | Path,
    task: str | TaskBase | type[TaskBase] | None = None,
    *,
    device: str | torch.device = "cpu",
    **acting: Any,
) -> Any:
    """The executor of a checkpoint: a shipped one by name, or a folder. `task` is given as the user names it, or with
    options; left out, it has those that it was trained with."""
    checkpoint = read_checkpoint(name)
    known = (task if isinstance(task, TaskBase) else trained_task(checkpoint, task)).restored(checkpoint)
    _check_task(checkpoint, known)
    return known.executor(_moved(checkpoint.build(known.plain_reader), device), checkpoint, **acting)


def trained_task(checkpoint: Checkpoint, given: str | type[TaskBase] | None = None) -> Any:
    """A checkpoint's task with the options that it was trained with."""
    task, options = task_of(checkpoint, given), checkpoint.task.options
    known = {each.name for each in fields(task)}
    if not known.issuperset(options):
        gone = ", ".join(sorted(options.keys() - known))
        path = checkpoint.folder / "config.json"
        raise DataError(f"{path}: was trained with options that the task '{task.name}' does not have any more: {gone}")
    return task(**options)


def _check_task(checkpoint: Checkpoint, task: TaskBase) -> None:
    """One clear error if the task is not the one that a checkpoint was trained for."""
    origin, path = checkpoint.task, checkpoint.folder / "config.json"
    if task.task_name != origin.name:
        raise DataError(f"{path}: was trained for the task '{origin.name}', not '{task.task_name}'")
    if task.version != origin.version:
        raise DataError(
            f"{path}: was trained for version {origin.version} of the task '{origin.name}', this is version "
            f"{task.version}; train it again"
        )
    then, now = checkpoint.sizes.as_dict(), task.sizes().as_dict()
    changes = [f"{key}: {then[key]}, now {now[key]}" for key in now if then[key] != now[key]]
    words = task.learned_domain.vocabulary if task.learned_domain.routine_words is None else ()
    new = [word for word in words if word not in checkpoint.sizes.vocabulary]
    changes += [f"new words: {', '.join(new)}"] if new else []
    if changes:
        raise DataError(
            f"{path}: the task '{origin.name}' has changed since ({'; '.join(changes)}); raise its version, and train "
            "it again"
        )


def _moved(model: Model, device: str | torch.device) -> Model:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"device {str(device)!r}: cannot be used ({reason}); is it there? 'cpu' always is") from None


def check_words(program: Program, vocabulary: Vocabulary, domain: Domain, source: str = "program") -> None:
    """One clear error if a program says a word that an executor has never read."""
    for call in calls(program.body):
        for word in vocabulary.unknown_words(call, domain):
            problem = unknown("word", word, vocabulary.words)
            raise DataError(
                f"{source}, line {call.line}, {call.operation}: {problem} (the executor has never read it; the words "
                "that it knows are in its config.json, under sizes)"
            )


@dataclass(frozen=True)
class Finding:
    """The result of one routine, beside the oracle's."""

    number: int
    """Number of the routine in the program, from 1."""
    routine: str
    result: str
    """As a person reads it."""
    probability: float
    truth: str
    right: bool | None
    """None if it is not known what is right."""


@dataclass(frozen=True)
class Execution:
    """A program executed on a static specification."""

    findings: tuple[Finding, ...]
    """Findings of the executed routines, in their order."""
    answer: Any
    """The result of the last one."""
    truth: Any
    """The oracle's answer, None if it is not known. It may be another routine's result: the oracle may have taken
    another branch."""
    shown_truth: str
    """The same as a person reads it."""
    right: bool | None
    """None if it is not known what is right."""

    def as_dict(self) -> dict[str, Any]:
        routines = [asdict(finding) for finding in self.findings]
        return {
            "answer": self.findings[-1].result,
            "truth": self.shown_truth,
            "right": self.right,
            "routines": routines,
        }

    def _repr_html_(self) -> str:
        rows = ((each.routine, each.result, f"{each.probability:.2f}", each.truth) for each in self.findings)
        return html_table(("routine", "result", "probability", "oracle"), rows)

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.as_dict(), indent=indent)


class StaticExecutor:
    """A trained executor of a `Task`."""

    def __init__(self, task: Task, model: Model, checkpoint: Checkpoint) -> None:
        self.task, self.model, self.checkpoint = task, model.eval(), checkpoint

    def run(self, program: str | Program, specification: Any) -> Execution:
        """Execute a program on a specification; the oracle is only compared with."""
        task = self.task
        parsed = task.parse(program) if isinstance(program, str) else program
        check_words(parsed, task.vocabulary, task.domain)
        table, types = task.compile(parsed), list(task.results.values())
        arrays = tensors_of(task.reader_config.collate([task.encode(specification)]))
        outputs = outputs_of(self.model, arrays, programs_of([table], task.vocabulary, np.zeros(1)), types)
        truths = task.execute(table, specification, own=False)
        names, findings, result = [call.result for call in table.calls], list[Finding](), None
        last = list(path_of(table, truths.__getitem__))[-1]
        expected = self._shown(table, last, truths[last])
        for row in np.flatnonzero(outputs.executed[0].numpy()).tolist():
            output = task.domain.operations[table.operation[row]].output
            number = [kind.name for kind in types].index(output)
            result, probability = outputs.result(types, 0, row, number)
            found, truth = types[number].show(result), self._shown(table, row, truths[row])
            text = print_call(table.calls[row], task.domain, names)
            right = None if truths[row] is None else found == truth
            findings.append(Finding(row + 1, text, found, probability, truth, right))
        right = None if truths[last] is None else findings[-1].result == expected
        return Execution(tuple(findings), result, truths[last], expected, right)

    def _shown(self, table: RoutineTable, row: int, value: Any) -> str:
        return shown(self.task, table, row, value)


class StaticOracle:
    """The oracle of a `Task` in the place of a trained executor."""

    checkpoint = None

    def __init__(self, task: Task) -> None:
        self.task, self.last = task, 0
        """The routine whose result was the last answer."""

    def run(self, program: str | Program, specification: Any) -> Execution:
        """The oracle's results."""
        task = self.task
        table = task.compile(program)
        truths = task.execute(table, specification)
        names, findings = [call.result for call in table.calls], list[Finding]()
        for row in path_of(table, truths.__getitem__):
            found = shown(task, table, row, truths[row])
            right = None if truths[row] is None else True
            text = print_call(table.calls[row], task.domain, names)
            findings.append(Finding(row + 1, text, found, 1.0, found, right))
        self.last = row
        return Execution(tuple(findings), truths[row], truths[row], findings[-1].truth, findings[-1].right)


def shown(task: Task, table: RoutineTable, row: int, value: Any) -> str:
    """A result of the oracle as a person reads it."""
    output = task.domain.operations[table.operation[row]].output
    return "not known" if value is None else task.results[output].show(value)


@dataclass(frozen=True)
class WorldStep:
    """One step of an execution in a world."""

    time: int
    routine: str
    action: str


@dataclass(frozen=True)
class WorldRun:
    """A program executed in a world."""

    steps: tuple[WorldStep, ...]
    outcome: str
    world: Any
    """The world at the end."""

    def as_dict(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "steps": len(self.steps), "trace": [asdict(step) for step in self.steps]}

    def _repr_html_(self) -> str:
        rows = ((str(step.time), step.routine, step.action) for step in self.steps)
        return html_table(("step", "routine", "action"), (*rows, ("", self.outcome, "")))

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.as_dict(), indent=indent)


class WorldExecutor:
    """A trained executor of a `WorldTask`; or any agent in its worlds."""

    def __init__(self, task: WorldTask, agent: Any, checkpoint: Checkpoint | None = None) -> None:
        self.task, self.agent, self.checkpoint = task, agent, checkpoint

    @classmethod
    def of(cls, task: WorldTask, model: Model, checkpoint: Checkpoint, **acting: Any) -> WorldExecutor:
        """By a model; `acting` is given to `ExecutorAgent`."""
        return cls(task, ExecutorAgent(model, **acting), checkpoint)

    @overload
    def run(self, program: str | Program, seed: int = 0) -> WorldRun: ...
    @overload
    def run(self, program: ProgramList, seed: int | Sequence[int] = 0) -> list[WorldRun]: ...
    @overload
    def run(self, program: str | Program, seed: Sequence[int]) -> list[WorldRun]: ...
    def run(self, program: str | Program | ProgramList, seed: int | Sequence[int] = 0) -> WorldRun | list[WorldRun]:
        """Execute a program in a world drawn from a seed. With a list of programs, of seeds, or of both: all of them at
        once, and a list of runs."""
        from program_guided.tasks.world_task import Entry

        programs, seeds = paired(program, seed)
        parsed = [self.task.parse(each) if isinstance(each, str) else each for each in programs]
        for each in parsed:
            check_words(each, self.task.vocabulary, self.task.domain)
        worlds = self.task.worlds([Entry(*each) for each in zip(parsed, seeds, strict=True)], len(parsed))
        for number in range(len(parsed)):
            worlds.place(number, number)
        runs = self._execute(worlds)
        return runs[0] if isinstance(program, str | Program) and isinstance(seed, Integral) else runs

    def _execute(self, worlds: PythonWorlds) -> list[WorldRun]:
        """Run every world to its end; world i executes program i."""
        steps: list[list[WorldStep]] = [[] for _ in worlds.tables]
        while running := np.flatnonzero(worlds.outcome == Outcome.RUNNING).tolist():
            routines = [self._routine(worlds, number) for number in running]
            actions = self.agent.act(worlds)
            worlds.step(actions)
            for number, routine in zip(running, routines, strict=True):
                name = worlds.action_name(int(actions[number]))
                steps[number].append(WorldStep(int(worlds.time[number]), routine, name))
        return [
            WorldRun(tuple(each), worlds.outcome_name(int(worlds.outcome[number])), worlds.world(number))
            for number, each in enumerate(steps)
        ]

    def _routine(self, worlds: PythonWorlds, number: int) -> str:
        """The text of the pointed routine of a world."""
        calls_of = worlds.tables[number].calls
        names = [call.result for call in calls_of]
        return print_call(calls_of[int(worlds.routine[number])], self.task.domain, names)


def paired(
    program: str | Program | Sequence[str | Program], seed: int | Sequence[int]
) -> tuple[list[str | Program], list[int]]:
    """Programs and seeds, one of each for every execution."""
    programs = [program] if isinstance(program, str | Program) else list(program)
    seeds = [int(each) for each in seed] if isinstance(seed, Sequence | np.ndarray) else [seed]
    count = max(len(programs), len(seeds)) if programs and seeds else 0
    if count == 0 or not {len(programs), len(seeds)} <= {1, count}:
        raise WorldError(f"{len(programs)} programs and {len(seeds)} seeds: give as many of both, or one of either")
    return programs * (count // len(programs)), seeds * (count // len(seeds))
