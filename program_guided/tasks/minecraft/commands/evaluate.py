"""`proto evaluate` in the world: completion of agents on splits, and a breakdown of failures by routine and reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from program_guided.errors import DataError, WorldError
from program_guided.files import check_writable
from program_guided.output import Flag, OptionalNumber, OptionalPath, OptionalText, progress_bars, report
from program_guided.tasks.commands import means_of, print_breakdown, world_agent

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.entry import Entry
    from program_guided.tasks.minecraft.task import Minecraft

__all__ = ["Evaluate", "print_completion"]

PAPER = {
    "dense": {"test": 99.1, "longer": 94.4, "complex": 96.3},
    "reward": {"test": 97.3, "longer": 91.2, "complex": 95.0},
}
"""ProTo by its training target, in the paper's table."""
PAPER_UNSEEN = {
    "mine(gold)": {"planner": 11.4, "reward": 59.3},
    "is_there[river]": {"planner": 43.8, "reward": 65.6},
    "agent[silver]": {"planner": 46.2, "reward": 77.1},
}
"""A planner that acts at random at a routine, and ProTo trained without it, on programs that contain it."""
PAPER_SIDES = (5, 8)
SPLITS = ("standard", "longer", "complex")
"""Default splits."""
MADE = 100
"""Programs made for --tokens and --numbers."""


@dataclass(frozen=True)
class Evaluate:
    """Measure the completion of agents on the fixed splits."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data_flow",)

    split: tuple[str, ...] = SPLITS
    """Splits: train, test (or standard), longer, complex, test-complex, or all of these; data-flow-train, data-flow."""
    tokens: OptionalNumber = None
    """Instead of splits: 100 programs of about this many tokens."""
    numbers: tuple[int, int] | None = None
    """Instead of splits: 100 programs whose conditions compare with numbers from one to another, above the 4 of
    train."""
    unseen: OptionalText = None
    """Only programs that contain this routine, like "mine(gold)"; the planner acts at random at it."""
    worlds: int = 1
    """Worlds to run each program in."""
    sides: tuple[int, int] = PAPER_SIDES
    """Smallest and largest side of the maps, up to 12; the paper's are 5 to 8."""
    repetition_penalty: float = 1.0
    """Decrease of an action's logit for each time it was chosen in the same state during a routine; 0: strictly
    greedy, even in circles."""
    sample: Flag = False
    """Sample actions instead of choosing greedily."""
    seed: int = 0
    """Seed of agents that sample."""
    erase_results: Flag = False
    """Erase the result matrix Z before every step: no routine gets another's result."""
    breakdown: Flag = False
    """Show which routines fail and why, and completion by program length."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""
    figure: OptionalPath = None
    """Draw held-out completion along the checkpoints' trainings to this PNG file."""
    against: Literal["time", "steps"] = "time"
    """Horizontal axis of the figure."""

    def run(self, task: Minecraft, agents: Sequence[str]) -> int:
        self._check(agents)
        splits = self._splits()
        for name in agents:
            self._agent(task, name)  # unreadable checkpoints are errors before anything is measured
        figures: dict[str, Any] = {**self._acting(), "unseen": self.unseen, "worlds": self.worlds, "sides": self.sides}
        figures["agents"] = {}
        with progress_bars() as progress:
            for name in agents:
                found: dict[str, Any] = {}
                for split, entries in splits.items():
                    show = progress.bar(f"{name} on {split}", len(entries) * self.worlds)
                    agent, training = self._agent(task, name)
                    found[split] = self._measured(task, agent, entries, split, show)
                figures["agents"][name] = {"training": training, "splits": found}
        figures["means"] = means_of(figures["agents"], "completion")
        self._draw(figures)
        report(figures, self.save, self.json, self._print)
        return 0

    def _check(self, agents: Sequence[str]) -> None:
        """Raise `DataError` for impossible options before anything is measured."""
        if not self.split or self.worlds < 1:
            raise DataError("nothing to measure: name at least one split and one world")
        if not 0 <= self.repetition_penalty < float("inf"):
            raise DataError(f"repetition-penalty {self.repetition_penalty}: it must be 0 or more")
        if [self.unseen, self.tokens, self.numbers].count(None) < 2:
            raise DataError("tokens, numbers and unseen are measured on programs of their own; name only one of them")
        if self.figure is not None and not set(agents) - {"planner", "random"}:
            raise DataError("figure: only checkpoints have a training to draw")
        for path, suffix in ((self.save, ".json"), (self.figure, ".png")):
            if path is not None:
                if path.suffix.lower() != suffix:
                    raise DataError(f"{path}: the file's name must end with {suffix}")
                check_writable(path)

    def _measured(
        self, task: Minecraft, agent: Any, entries: Sequence[Entry], split: str, show: Callable[[int], None]
    ) -> dict[str, Any]:
        from program_guided.learning.agents import run_programs
        from program_guided.tasks.learners import ended_to, figures_of
        from program_guided.tasks.minecraft.agents import placed

        try:
            runs = []
            for variant in range(self.worlds):
                batch = placed(entries, variant, self.sides)
                runs.append(run_programs(batch, agent, ended_to(show, variant * len(entries))))
            show(len(entries) * self.worlds)
            return figures_of(task, entries, runs, batch)
        except WorldError as error:
            raise DataError(f"{split}: {error}") from None

    def _splits(self) -> dict[str, tuple[Entry, ...]]:
        from program_guided.tasks.minecraft.building import programs_of_length, programs_with_numbers
        from program_guided.tasks.minecraft.routines import read_routine
        from program_guided.tasks.minecraft.splits import DATA_FLOW, SIZES, load_split, split_name

        if self.tokens is not None:
            return {f"{self.tokens} tokens": programs_of_length(self.tokens, MADE)}
        if self.numbers is not None:
            low, high = self.numbers
            return {f"numbers {low} to {high}": programs_with_numbers(low, high, MADE)}
        plain = tuple(name for name in SIZES if name not in DATA_FLOW)
        names = plain if "all" in self.split else tuple(split_name(name) for name in self.split)
        splits = {name: load_split(name) for name in names}
        if self.unseen is None:
            return splits
        routine = read_routine(self.unseen)
        splits = {
            name: tuple(entry for entry in entries if routine.in_program(entry.program))
            for name, entries in splits.items()
        }
        if not all(splits.values()):
            raise DataError(f"unseen {self.unseen}: no program of {', '.join(names)} contains it")
        return splits

    def _agent(self, task: Minecraft, name: str) -> tuple[Any, dict[str, Any]]:
        if self.unseen is not None and name == "planner":
            from program_guided.tasks.minecraft.routines import IgnorantPlanner, read_routine

            return IgnorantPlanner(read_routine(self.unseen), self.seed), {}
        agent, training, _ = world_agent(task, name, **self._acting())
        return agent, training

    def _acting(self) -> dict[str, Any]:
        """The way to act, as `ExecutorAgent` takes it."""
        return {name: getattr(self, name) for name in ("repetition_penalty", "sample", "seed", "erase_results")}

    def _draw(self, figures: Mapping[str, Any]) -> None:
        if self.figure is None:
            return
        from program_guided.tasks.minecraft.pictures.plots import plot_trainings

        groups: dict[str, list[Any]] = {}
        first: dict[str, Mapping[str, Any]] = {}
        for training in (agent["training"] for agent in figures["agents"].values() if agent["training"]):
            kind = _kind(training)
            kind += "".join(f", {name} {value}" for name, value in _changes(training, first.setdefault(kind, training)))
            groups.setdefault(kind, []).append(training["curve"])
        targets = {agent["training"].get("target") for agent in figures["agents"].values()} & set(PAPER)
        ends = {f"ProTo, {target}, in the paper (test)": PAPER[target]["test"] for target in sorted(targets)}
        plot_trainings(groups, self.figure, by="seconds" if self.against == "time" else "samples", ends=ends)

    def _print(self, figures: Mapping[str, Any]) -> None:
        print_completion(figures)
        if self.breakdown:
            for name, agent in figures["agents"].items():
                for split, found in agent["splits"].items():
                    print_breakdown(name, split, found)
        if self.figure is not None:
            print("wrote", self.figure)


def _changes(training: Mapping[str, Any], first: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Sizes and settings of a training that differ from those of another one."""
    for part in ("config", "settings"):
        ours, theirs = training.get(part, {}), first.get(part, {})
        yield from ((name, value) for name, value in ours.items() if theirs.get(name) != value)


def _kind(training: Mapping[str, Any]) -> str:
    """Model, target, and the parts and routines that were left out."""
    missing = [name for name, value in training["config"].items() if value is False and name != "memory"]
    missing += training.get("task", {}).get("without", [])
    names = ["names"] if training["reader"].get("names") else []
    names += ["data flow"] if training.get("task", {}).get("data_flow") else []
    return ", ".join([training["model"], training.get("target", "dense"), *names, *(f"no {name}" for name in missing)])


def print_completion(figures: Mapping[str, Any]) -> None:
    """Every agent on every split, beside the paper."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="programs finished", title_justify="left", box=None, padding=(0, 1, 0, 0))
    failures = ("wrong answer", "wrong place", "missing object", "timeout")
    for heading in ("split", "agent", "programs", "finished %", "in paper", "steps", *failures):
        justify: Literal["left", "right"] = "left" if heading in ("split", "agent") else "right"
        table.add_column(heading.replace(" ", "\n"), justify=justify, no_wrap=True)
    names = [Path(name).name for name in figures["agents"]]
    for name, agent in figures["agents"].items():
        shown = Path(name).name if names.count(Path(name).name) == 1 else name
        for split, found in agent["splits"].items():
            paper = _in_paper(figures, agent["training"].get("target", "dense") if agent["training"] else name, split)
            numbers = (str(found["programs"]), f"{found['completion']:.1f}", paper)
            reasons = (str(found["outcomes"].get(failure, "")) for failure in failures)
            table.add_row(split, shown, *numbers, f"{found['mean_steps']:.1f}", *reasons)
    for mean in figures["means"]:
        paper = _in_paper(figures, mean["target"] or "dense", mean["split"])
        title = f"{mean['model']}, {len(mean['seeds'])} seeds"
        table.add_row(mean["split"], title, "", f"{mean['completion']:.2f}", paper, "")
    console = Console()
    (console if console.is_terminal else Console(width=120)).print(table)


def _in_paper(figures: Mapping[str, Any], kind: str, split: str) -> str:
    """The paper's figure of ProTo by its training target, or of the planner; "" if there is none."""
    if tuple(figures["sides"]) != PAPER_SIDES:
        return ""
    if figures["unseen"] is None:
        return str(PAPER.get(kind, {}).get(split, ""))
    unseen = PAPER_UNSEEN.get(figures["unseen"].replace(" ", "").lower(), {})
    return str(unseen.get(kind, "")) if split == "test" else ""
