"""`proto evaluate`, `run` and `dataset stats` for any task; a task may bring commands of its own.

A command is a dataclass of options whose method `run` returns the exit code:

    evaluate: run(task, agents)                        agents: checkpoints, or agents of the task by name
    run:      run(task, path, program, agent)          the program as a syntax tree, and the file that it was read from
    stats:    run(task)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.files import check_writable
from program_guided.language.printer import count_tokens, print_program
from program_guided.output import Flag, OptionalPath, counted, print_json, print_table, progress_bars, report

if TYPE_CHECKING:
    from program_guided.language.syntax import Program
    from program_guided.tasks.task import Task
    from program_guided.tasks.world_task import WorldTask

__all__ = [
    "EvaluateStatic",
    "EvaluateWorld",
    "RunStatic",
    "RunWorld",
    "StatsStatic",
    "StatsWorld",
    "means_of",
    "training_of",
]

ORACLE = "oracle"
"""The agent that gives the oracle's results."""
KEPT = (
    "command",
    "commit",
    "machine",
    "target",
    "algorithm",
    "task",
    "seed",
    "settings",
    "samples",
    "minutes",
    "curve",
)


def training_of(checkpoint: Any, model: Any) -> dict[str, Any]:
    """The record of a checkpoint's training, for figures."""
    kept = {key: checkpoint.training[key] for key in KEPT if key in checkpoint.training}
    about = {"model": checkpoint.model, "config": model.settings(), "parameters": model.parameter_count()}
    return {**about, "reader": dict(checkpoint.reader), **kept}


def means_of(agents: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Mean and standard error over checkpoints that differ in their seed only."""
    groups: dict[str, list[str]] = {}
    for name, agent in agents.items():
        if agent["training"]:
            groups.setdefault(str(_recipe(agent["training"])), []).append(name)
    return [
        {
            "model": agents[names[0]]["training"]["model"],
            "target": agents[names[0]]["training"].get("target"),
            "agents": names,
            "split": split,
            "seeds": [agents[name]["training"].get("seed") for name in names],
            key: fmean(values := [agents[name]["splits"][split][key] for name in names]),
            "standard_error": stdev(values) / len(values) ** 0.5,
        }
        for names in groups.values()
        if len(names) > 1
        for split in agents[names[0]]["splits"]
    ]


def _recipe(training: Mapping[str, Any]) -> tuple[Any, ...]:
    """All that a training depends on, but its seed."""
    settings = {name: value for name, value in training.get("settings", {}).items() if name != "eval_every"}
    parts = [training.get(name) for name in ("model", "config", "reader", "target", "algorithm", "task")]
    return (*parts, settings)


def _check_splits(task: Any, splits: Sequence[str]) -> None:
    for split in splits:
        if split not in task.splits:
            raise DataError(f"there is no split {split!r} of {task.task_name}; there are {', '.join(task.splits)}")


@dataclass(frozen=True)
class EvaluateStatic:
    """Measure which results executors find."""

    split: tuple[str, ...] = ("test",)
    """Splits to measure on."""
    breakdown: Flag = False
    """Show every operation: how many of its results are right, and of the answers it gives."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self, task: Task, agents: Sequence[str]) -> int:
        if self.save is not None:
            check_writable(self.save)
        _check_splits(task, self.split)
        figures: dict[str, Any] = {"task": task.task_name, "agents": {}}
        with progress_bars() as progress:
            for name in agents:
                found, training = dict[str, Any](), dict[str, Any]()
                for split in self.split:
                    bar = progress.add_task(f"{name} on {split}", total=None)
                    found[split], training = self._measured(task, name, split, progress, bar)
                figures["agents"][name] = {"training": training, "splits": found}
        figures["means"] = means_of(figures["agents"], "accuracy")
        report(figures, self.save, self.json, self._print)
        return 0

    def _measured(
        self, task: Task, name: str, split: str, progress: Any, bar: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from program_guided.learning.evaluation import measure
        from program_guided.tasks.executor import load_executor

        if name == ORACLE:
            return _oracle_figures(task, split), {}
        if name in ("planner", "random"):
            raise DataError(f"{name}: {task.task_name} has no such agent; name a checkpoint, or oracle")
        executor = load_executor(name, task)
        source = executor.task.source(split)
        progress.update(bar, total=len(source))
        names = [each.name for each in task.domain.operations]
        found = measure(executor.model, source, names, progress=lambda done: progress.update(bar, completed=done))
        unseen = _unseen(task, split)
        on_unseen = measure(executor.model, source, names, unseen).accuracy if len(unseen) else None
        figures = {**found.as_dict(), "unseen_programs": on_unseen, "unseen_examples": len(unseen)}
        return figures, training_of(executor.checkpoint, executor.model)

    def _print(self, figures: Mapping[str, Any]) -> None:
        rows = [
            [
                Path(name).name,
                split,
                f"{found['accuracy']:.1f}",
                _percent(found["unseen_programs"]),
                str(found["examples"]),
                _weakest(found["routines"]),
            ]
            for name, agent in figures["agents"].items()
            for split, found in agent["splits"].items()
        ]
        for mean in figures["means"]:
            title = f"{mean['model']}, {len(mean['seeds'])} seeds"
            rows.append([title, mean["split"], f"{mean['accuracy']:.2f} ± {mean['standard_error']:.2f}", "", "", ""])
        headings = ("agent", "split", "%", "unseen programs, %", "answers", "weakest operation")
        print_table("last results right", headings, rows)
        if self.breakdown:
            for name, agent in figures["agents"].items():
                for split, found in agent["splits"].items() if name != ORACLE else ():
                    answers = found["answers"]
                    shown = [
                        [each, str(found["counts"][each]), f"{right:.1f}", _percent(answers.get(each))]
                        for each, right in found["routines"].items()
                    ]
                    title = f"\n{Path(name).name} on {split}: results right, %"
                    print_table(title, ("operation", "results", "right", "as the answer"), shown)


def _oracle_figures(task: Task, split: str) -> dict[str, Any]:
    """Share of the answers given by examples that are the oracle's; where an example gives none, its answer is."""
    from program_guided.tasks.executor import StaticOracle, shown
    from program_guided.tasks.static import compiled_examples

    oracle, texts = StaticOracle(task), compiled_examples(task, split)
    right = Counter[bool]()
    for table, program, own, answer in zip(texts.tables, texts.programs, texts.own, texts.answers, strict=True):
        execution = oracle.run(program, texts.specifications[own])
        if answer is not None or execution.right is not None:
            right[answer is None or shown(task, table, oracle.last, answer) == execution.shown_truth] += 1
    examples = right.total()
    accuracy = 100 * right[True] / max(1, examples)
    return {"accuracy": accuracy, "examples": examples, "routines": {}, "unseen_programs": None}


def _unseen(task: Task, split: str) -> NDArray[np.int64]:
    """Examples of a split whose programs train does not have."""
    from program_guided.tasks.static import compiled_examples

    trained = {print_program(each, task.domain) for each in compiled_examples(task, "train").programs}
    programs = compiled_examples(task, split).programs
    return np.array([at for at, each in enumerate(programs) if print_program(each, task.domain) not in trained], int)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _weakest(routines: Mapping[str, float]) -> str:
    name = min(routines, key=lambda each: routines[each], default="")
    return f"{name} {routines[name]:.1f}" if name and routines[name] < 100 else ""


@dataclass(frozen=True)
class RunStatic:
    """Execute a program on a specification, every routine's result beside the oracle's."""

    example: int = 0
    """The specification: that of this example of the split."""
    split: str = "test"
    """Whose examples."""
    json: Flag = False
    """Print the execution as JSON."""

    def run(self, task: Task, path: Path, program: Program, agent: str) -> int:
        """1 if the answer is known to be wrong."""
        from program_guided.tasks.executor import StaticOracle, load_executor
        from program_guided.tasks.static import compiled_examples

        _check_splits(task, [self.split])
        executor = StaticOracle(task) if agent == ORACLE else load_executor(agent, task)
        texts = compiled_examples(task, self.split)
        if not 0 <= self.example < len(texts.own):
            raise DataError(f"example {self.example}: {self.split} has {len(texts.own)}, from 0")
        specification = texts.specifications[texts.own[self.example]]
        execution = executor.run(program, specification)
        if self.json:
            print_json({"program": str(path), "example": self.example, **execution.as_dict()})
            return int(execution.right is False)
        print(f"{task.task_name}, example {self.example} of {self.split}: {_short(task.show(specification))}")
        verdicts = {True: "right", False: "wrong", None: "not known"}
        rows = [
            [
                str(each.number),
                each.routine,
                f"{each.result} ({each.probability:.2f})",
                each.truth,
                verdicts[each.right],
            ]
            for each in execution.findings
        ]
        if executor.checkpoint is None:
            print_table("", ("", "routine", "oracle"), [[*row[:2], row[3]] for row in rows])
            print(f"answer: {execution.shown_truth}")
            return 0
        print_table("", ("", "routine", Path(agent).name, "oracle", ""), rows)
        answer, verdict = execution.findings[-1].result, verdicts[execution.right]
        print(f"answer: {answer}; the oracle's: {execution.shown_truth} ({verdict})")
        return int(execution.right is False)


def _short(text: str, most: int = 400) -> str:
    return text if len(text) <= most else text[: most - 1] + "… (a method `show` shows it better)"


@dataclass(frozen=True)
class StatsStatic:
    """Describe the examples: programs, operations, answers, and what guessing achieves."""

    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self, task: Task) -> int:
        figures = {"task": task.task_name, "splits": {split: _describe(task, split) for split in task.splits}}
        report(figures, self.save, self.json, _print_static)
        return 0


def _describe(task: Task, split: str) -> dict[str, Any]:
    from program_guided.tasks.static import compiled_examples

    texts = compiled_examples(task, split)
    if not texts.tables:
        raise DataError(f"{task.task_name}: there are no examples of {split}")
    operations = Counter(call.operation for table in texts.tables for call in table.calls)
    answers: Counter[str] = Counter()
    for table, own in zip(texts.tables, texts.own, strict=True):
        results = task.execute(table, texts.specifications[own])
        last = next((row for row in range(len(table) - 1, -1, -1) if results[row] is not None), None)
        if last is not None:
            kind = task.results[task.domain.operations[table.operation[last]].output]
            answers[kind.show(results[last])] += 1
    different = {print_program(each, task.domain) for each in texts.programs}
    return {
        "examples": len(texts.tables),
        "programs": len(different),
        "specifications": len(texts.specifications),
        "routines": _spread([len(table) for table in texts.tables]),
        "tokens": _spread([count_tokens(each, task.domain) for each in texts.programs]),
        "operations": dict(operations.most_common()),
        "answers": dict(answers.most_common(20)),
        "most_frequent_answer": 100 * max(answers.values(), default=0) / max(1, sum(answers.values())),
    }


def _spread(numbers: Sequence[int]) -> dict[str, float]:
    return {"mean": fmean(numbers), "minimum": min(numbers), "maximum": max(numbers)}


def _shown(spread: Mapping[str, float]) -> str:
    return f"{spread['mean']:.1f} ({spread['minimum']}–{spread['maximum']})"


def _print_static(figures: Mapping[str, Any]) -> None:
    splits = figures["splits"]
    rows = [
        [
            name,
            *(f"{each[key]:,}" for key in ("examples", "programs", "specifications")),
            _shown(each["routines"]),
            _shown(each["tokens"]),
            f"{each['most_frequent_answer']:.1f}",
        ]
        for name, each in splits.items()
    ]
    headings = ("split", "examples", "programs", "specifications", "routines", "tokens", "most frequent answer, %")
    print_table(figures["task"], headings, rows)
    names = list(dict.fromkeys(name for each in splits.values() for name in each["operations"]))
    counted_rows = [[name, *(f"{each['operations'].get(name, 0):,}" for each in splits.values())] for name in names]
    print_table("\nroutines by operation", ("operation", *splits), counted_rows)


@dataclass(frozen=True)
class EvaluateWorld:
    """Measure how many programs agents finish."""

    split: tuple[str, ...] = ("test",)
    """Splits to measure on."""
    variants: int = 1
    """Worlds to run each program in."""
    repetition_penalty: float = 1.0
    """Amount by which the logit of an action falls each time it was chosen in the same state; 0: strictly greedy."""
    sample: Flag = False
    """Sample actions instead of choosing greedily."""
    seed: int = 0
    """Seed of agents that sample."""
    breakdown: Flag = False
    """Show which routines fail and why, and completion by program length."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self, task: WorldTask, agents: Sequence[str]) -> int:
        from program_guided.tasks.learners import evaluate_entries

        if self.save is not None:
            check_writable(self.save)
        if self.variants < 1:
            raise DataError(f"variants {self.variants}: at least 1 is needed")
        _check_splits(task, self.split)
        acting = {"repetition_penalty": self.repetition_penalty, "sample": self.sample, "seed": self.seed}
        figures: dict[str, Any] = {"task": task.task_name, **acting, "variants": self.variants, "agents": {}}
        with progress_bars() as progress:
            for name in agents:
                found, training = dict[str, Any](), dict[str, Any]()
                agent, training, known = world_agent(task, name, **acting)
                for split in self.split:
                    entries = task.entries(split)
                    show = progress.bar(f"{name} on {split}", len(entries) * self.variants)
                    found[split] = evaluate_entries(known, agent, entries, self.variants, show)
                    show(len(entries) * self.variants)
                figures["agents"][name] = {"training": training, "splits": found}
        figures["means"] = means_of(figures["agents"], "completion")
        report(figures, self.save, self.json, self._print)
        return 0

    def _print(self, figures: Mapping[str, Any]) -> None:
        agents = figures["agents"].values()
        reasons = sorted({name for agent in agents for each in agent["splits"].values() for name in each["outcomes"]})
        reasons = [name for name in reasons if name != "finished"]
        rows = [
            [
                Path(name).name,
                split,
                str(each["programs"]),
                f"{each['completion']:.1f}",
                f"{each['mean_steps']:.1f}",
                *(str(each["outcomes"].get(reason, "")) for reason in reasons),
            ]
            for name, agent in figures["agents"].items()
            for split, each in agent["splits"].items()
        ]
        for mean in figures["means"]:
            title = f"{mean['model']}, {len(mean['seeds'])} seeds"
            rows.append([title, mean["split"], "", f"{mean['completion']:.2f} ± {mean['standard_error']:.2f}", ""])
        print_table("programs finished", ("agent", "split", "programs", "finished %", "steps", *reasons), rows)
        if self.breakdown:
            for name, agent in figures["agents"].items():
                for split, each in agent["splits"].items():
                    print_breakdown(name, split, each)


def print_breakdown(name: str, split: str, found: Mapping[str, Any]) -> None:
    """Print which routines fail and why, and completion by program length."""
    from program_guided.learning.agents import ANY_LENGTH

    rows = [
        [
            each,
            f"{about['begun']:,}",
            str(sum(about["failed"].values())),
            ", ".join(f"{count} {reason}" for reason, count in about["failed"].items()),
        ]
        for each, about in found["routines"].items()
    ]
    print_table(f"\n{Path(name).name} on {split}", ("routine", "begun", "failed", "why"), rows)
    lengths = [
        [
            f"{each['more_than'] + 1} or more"
            if each["up_to"] == ANY_LENGTH
            else f"{each['more_than'] + 1}–{each['up_to']}",
            str(each["programs"]),
            f"{each['completion']:.1f}",
        ]
        for each in found["tokens"]
    ]
    print_table("", ("tokens", "programs", "finished %"), lengths)


def world_agent(task: Any, name: str, **acting: Any) -> tuple[Any, dict[str, Any], Any]:
    """The planner, chance, or the executor of a checkpoint; the record of its training; and the task as it knows it."""
    from program_guided.learning.agents import OracleAgent, RandomAgent

    if name in ("planner", "oracle"):
        if not task.has_planner:
            raise DataError(f"{name}: {task.task_name} has no planner (no method `best`)")
        return OracleAgent(), {}, task
    if name == "random":
        return RandomAgent(acting.get("seed", 0)), {}, task
    import torch

    from program_guided.tasks.executor import load_executor

    torch.set_num_threads(1)  # steps are small: threads gain nothing, and wait for each other where cores are busy
    executor = load_executor(name, task, **acting)
    return executor.agent, training_of(executor.checkpoint, executor.agent.model), executor.task


@dataclass(frozen=True)
class RunWorld:
    """Execute a program in a world, step by step."""

    seed: int = 0
    """Seed of the world; left out, the one that the program names (# seed: 9), or 0."""
    json: Flag = False
    """Print the execution as JSON."""

    def run(self, task: WorldTask, path: Path, program: Program, agent: str) -> int:
        """1 if the program was not finished."""
        from program_guided.tasks.executor import WorldExecutor

        acting, _, known = world_agent(task, agent)
        run = WorldExecutor(known, acting).run(program, self.seed)
        if self.json:
            print_json({"program": str(path), "seed": self.seed, **run.as_dict()})
        else:
            rows = [[str(step.time), step.routine, step.action] for step in run.steps]
            print_table("", ("step", "routine", "action"), rows)
            print(_short(task.show(run.world)))
            print(f"{agent}: {run.outcome} after {counted(len(run.steps), 'step')} (seed {self.seed})")
        return int(run.outcome != "finished")


@dataclass(frozen=True)
class StatsWorld:
    """Describe the programs, and what acting at random achieves."""

    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self, task: WorldTask) -> int:
        figures = {"task": task.task_name, "splits": {split: _describe_world(task, split) for split in task.splits}}
        report(figures, self.save, self.json, _print_world)
        return 0


def _describe_world(task: WorldTask, split: str) -> dict[str, Any]:
    from program_guided.learning.agents import OracleAgent, RandomAgent
    from program_guided.tasks.learners import evaluate_entries

    entries = task.entries(split)
    tables = [task.compile(entry.program) for entry in entries]
    agents = {"random": RandomAgent()} | ({"planner": OracleAgent()} if task.has_planner else {})
    runs = {name: evaluate_entries(task, agent, entries) for name, agent in agents.items()}
    return {
        "programs": len(entries),
        "routines": _spread([len(table) for table in tables]),
        "tokens": _spread([count_tokens(entry.program, task.domain) for entry in entries]),
        "operations": dict(Counter(call.operation for table in tables for call in table.calls).most_common()),
        "finished_by": {name: run["completion"] for name, run in runs.items()},
        "steps": runs["planner"]["mean_steps"] if "planner" in runs else None,
    }


def _print_world(figures: Mapping[str, Any]) -> None:
    splits = figures["splits"]
    agents = list(next(iter(splits.values()))["finished_by"])
    rows = [
        [
            name,
            f"{each['programs']:,}",
            _shown(each["routines"]),
            _shown(each["tokens"]),
            "" if each["steps"] is None else f"{each['steps']:.1f}",
            *(f"{each['finished_by'][agent]:.1f}" for agent in agents),
        ]
        for name, each in splits.items()
    ]
    headings = ("split", "programs", "routines", "tokens", "plan steps", *(f"{agent} finishes, %" for agent in agents))
    print_table(figures["task"], headings, rows)
    names = list(dict.fromkeys(name for each in splits.values() for name in each["operations"]))
    counts = [[name, *(f"{each['operations'].get(name, 0):,}" for each in splits.values())] for name in names]
    print_table("\nroutines by operation", ("operation", *splits), counts)
