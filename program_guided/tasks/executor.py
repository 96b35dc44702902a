"""Trained executors as a user holds them: what `program_guided.load` gives.

    executor = program_guided.load("out/lists-dense-plus-0", task="lists.py")
    execution = executor.run("greater(maximum(), count(3))", [3, 1, 3])
    execution.answer, execution.findings[0].result, execution.findings[0].right

Which task a checkpoint was trained for is in its `config.json`; that task's code is run only if it is built in or
installed, or if the user names it or has named it before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from program_guided.errors import DataError
from program_guided.language.domain import Domain, unknown
from program_guided.language.printer import print_call
from program_guided.language.syntax import Program, calls
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.checkpoint import Checkpoint, read_checkpoint
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.worlds import Outcome
from program_guided.models.model import Model
from program_guided.registry import load_task, named_before

if TYPE_CHECKING:
    from program_guided.tasks.task import Task
    from program_guided.tasks.world_task import WorldTask

__all__ = [
    "Execution",
    "Finding",
    "StaticExecutor",
    "WorldExecutor",
    "WorldRun",
    "check_words",
    "load_executor",
    "task_of",
]


def task_of(checkpoint: Checkpoint, given: str | None = None) -> Any:
    """The class of a checkpoint's task; one clear error if it must be named, or is another one."""
    origin, path = checkpoint.task, checkpoint.folder / "config.json"
    if given is None and not named_before(origin.given):
        raise DataError(
            f"{path}: was trained for the task '{origin.name}', given as {origin.given}; code is not run because a "
            f"checkpoint says so: name the task yourself (--task {origin.given}, or task={origin.given!r} in Python)"
        )
    task = load_task(given or origin.given)
    name = task.name or task.__name__.lower()
    if name != origin.name:
        raise DataError(f"{path}: was trained for the task '{origin.name}', not '{name}'")
    if task.version != origin.version:
        raise DataError(
            f"{path}: was trained for version {origin.version} of the task '{origin.name}', this is version "
            f"{task.version}; train it again"
        )
    return task


def load_executor(name: str | Path, task: str | None = None, **acting: Any) -> Any:
    """The executor of a checkpoint: a shipped one by name, or a folder."""
    checkpoint = read_checkpoint(name)
    known = task_of(checkpoint, task)().restored(checkpoint)
    return known.executor(checkpoint.build(known.plain_reader), checkpoint, **acting)


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

    routine: str
    result: str
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

    def as_dict(self) -> dict[str, Any]:
        return {"answer": self.findings[-1].result, "routines": [asdict(finding) for finding in self.findings]}


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
        truths = task.execute(table, specification)
        names, findings, result = [call.result for call in table.calls], list[Finding](), None
        for row in np.flatnonzero(outputs.executed[0].numpy()).tolist():
            output = task.domain.operations[table.operation[row]].output
            number = [kind.name for kind in types].index(output)
            result, probability = outputs.result(types, 0, row, number)
            truth, kind = truths[row], types[number]
            shown = "not known" if truth is None else kind.show(truth)
            right = None if truth is None else kind.show(result) == shown
            text = print_call(table.calls[row], task.domain, names)
            findings.append(Finding(text, kind.show(result), probability, shown, right))
        return Execution(tuple(findings), result)


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


class WorldExecutor:
    """A trained executor of a `WorldTask`; or any agent in its worlds."""

    def __init__(self, task: WorldTask, agent: Any, checkpoint: Checkpoint | None = None) -> None:
        self.task, self.agent, self.checkpoint = task, agent, checkpoint

    @classmethod
    def of(cls, task: WorldTask, model: Model, checkpoint: Checkpoint, **acting: Any) -> WorldExecutor:
        """By a model; `acting` is given to `ExecutorAgent`."""
        return cls(task, ExecutorAgent(model, **acting), checkpoint)

    def run(self, program: str | Program, seed: int = 0) -> WorldRun:
        """Execute a program in a world drawn from a seed."""
        from program_guided.tasks.world_task import Entry

        parsed = self.task.parse(program) if isinstance(program, str) else program
        check_words(parsed, self.task.vocabulary, self.task.domain)
        worlds: Any = self.task.worlds([Entry(parsed, seed)], 1)
        worlds.place(0, 0)
        steps, table = list[WorldStep](), worlds.tables[0]
        names = [call.result for call in table.calls]
        while worlds.outcome[0] == Outcome.RUNNING:
            routine = print_call(table.calls[int(worlds.routine[0])], self.task.domain, names)
            action = self.agent.act(worlds)
            worlds.step(action)
            steps.append(WorldStep(int(worlds.time[0]), routine, worlds.action_name(int(action[0]))))
        return WorldRun(tuple(steps), worlds.outcome_name(int(worlds.outcome[0])), worlds.world(0))
