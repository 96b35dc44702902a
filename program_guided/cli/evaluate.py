"""`proto evaluate`: how many programs of a split an agent finishes, and which routines fail and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal

import tyro

from program_guided.cli.output import Flag, OptionalNumber, OptionalPath, OptionalText, print_json, refuse, save_json
from program_guided.cli.run import named_agent
from program_guided.errors import DataError, WorldError
from program_guided.files import check_writable
from program_guided.models.config import left_out

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.batch import Entry

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
"""A planner that acts at random on a routine, and ProTo that has learned without it, on programs that contain it."""
PAPER_SIDES = (5, 8)
SPLITS = ("standard", "longer", "complex")
"""On what is measured, if nothing else is said."""
LONG_PROGRAMS = 100
"""Programs made for --tokens."""

WORLD_OPTIONS = ("tokens", "unseen", "worlds", "sides", "reluctance", "sample", "seed", "figure", "against")
"""That mean nothing for pictures."""


@dataclass(frozen=True)
class Evaluate:
    """Measure how many programs of the fixed splits agents finish."""

    agent: tyro.conf.Positional[tuple[str, ...]] = ()
    """Whom to measure: checkpoints (folders that 'proto train' wrote, or those that ship: minecraft, minecraft-reward,
    visual; if none is named, the one with the task's name), planner, random; visual: oracle, or files that
    --save wrote before (AGENT@FILE: one agent of it). Several are shown side by side; checkpoints that differ in
    their seed only are averaged too."""
    task: Literal["minecraft", "visual"] = "minecraft"
    """visual: answers to questions about pictures, by the release's measures."""
    split: tuple[str, ...] = SPLITS
    """Which splits: train, test (or standard), longer, complex, test-complex, or all. visual: as test, which is meant
    if none is said, or val."""
    tokens: OptionalNumber = None
    """Instead of splits: 100 programs of about this many tokens."""
    unseen: OptionalText = None
    """Only programs that contain this routine, like "mine(gold)"; the planner does anything at it, as if it did not
    know it."""
    worlds: int = 1
    """Worlds to run each program in."""
    sides: tuple[int, int] = PAPER_SIDES
    """Smallest and largest side of the maps, up to 12; the paper's are 5 to 8."""
    reluctance: float = 1.0
    """How much less willingly, in logits, greedy executors do again what they did in the same place to no avail, each
    time; 0: strictly greedily, even in circles."""
    sample: Flag = False
    """Let executors act by chance, as their probabilities say, instead of greedily."""
    seed: int = 0
    """Seed of chance, for agents that use it."""
    breakdown: Flag = False
    """Show which routines fail and why, and completion by program length."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""
    figure: OptionalPath = None
    """Draw held-out completion along the checkpoints' trainings to this PNG file."""
    against: Literal["time", "steps"] = "time"
    """What the figure is drawn against."""
    data: OptionalPath = None
    """visual: folder with an index and features; left out, the embedded world in out/visual, or where that is not,
    its test split, made in out/visual-test (if only that is measured)."""
    features: OptionalPath = None
    """visual: folder or file of the pictures' features, if it is not the folder `objects` in the data."""
    sheet: OptionalPath = None
    """visual: draw how the first checkpoint reasons about some questions, to this PNG file."""
    shown: int = 6
    """visual: how many questions are drawn."""

    def run(self) -> int:
        if self.task == "visual":
            from program_guided.cli.evaluate_visual import measure

            refuse(self, "visual", *WORLD_OPTIONS)
            return measure(self)
        refuse(self, "minecraft", "data", "features", "sheet", "shown")
        from program_guided.learning.evaluation import evaluate
        from program_guided.tasks.minecraft.agents import AGENTS

        agents = self.agent or ("minecraft",)
        if not self.split or self.worlds < 1:
            raise DataError("nothing to measure: name at least one split and one world")
        if not 0 <= self.reluctance < float("inf"):
            raise DataError(f"--reluctance {self.reluctance}: it must be 0 or more")
        if self.unseen is not None and self.tokens is not None:
            raise DataError("--unseen is measured on splits, not on programs made for --tokens; leave one of them out")
        if self.figure is not None and not set(agents) - set(AGENTS):
            raise DataError("--figure: only checkpoints have a training to draw")
        for path, suffix in ((self.save, ".json"), (self.figure, ".png")):
            if path is not None:
                if path.suffix.lower() != suffix:
                    raise DataError(f"{path}: the file's name must end with {suffix}")
                check_writable(path)
        splits = self._splits()
        for name in agents:
            self._named(name)  # a checkpoint that cannot be read is told before anything is measured
        settings: dict[str, Any] = {"worlds": self.worlds, "sides": self.sides}
        acting = {"reluctance": self.reluctance, "sample": self.sample, "seed": self.seed}
        figures: dict[str, Any] = {**acting, "unseen": self.unseen, **settings, "agents": {}}
        with _Waiting(not self.json) as waiting:
            for name in agents:
                found: dict[str, Any] = {}
                for split, entries in splits.items():
                    waiting.say(f"{name} on {split}")
                    agent, training = self._named(name)
                    try:
                        found[split] = evaluate(agent, entries, **settings)
                    except WorldError as error:
                        raise DataError(f"{split}: {error}") from None
                figures["agents"][name] = {"training": training, "splits": found}
        figures["means"] = _means(figures["agents"])
        self._report(figures)
        return 0

    def _splits(self) -> dict[str, tuple[Entry, ...]]:
        from program_guided.tasks.minecraft.routines import read_routine
        from program_guided.tasks.minecraft.splits import SIZES, load_split, split_name

        if self.tokens is not None:
            from program_guided.tasks.minecraft.building import programs_of_length

            return {f"{self.tokens} tokens": programs_of_length(self.tokens, LONG_PROGRAMS)}
        names = tuple(SIZES) if "all" in self.split else tuple(split_name(name) for name in self.split)
        splits = {name: load_split(name) for name in names}
        if self.unseen is None:
            return splits
        routine = read_routine(self.unseen)
        splits = {
            name: tuple(entry for entry in entries if routine.in_program(entry.program))
            for name, entries in splits.items()
        }
        if not all(splits.values()):
            raise DataError(f"--unseen {self.unseen}: no program of {', '.join(names)} contains it")
        return splits

    def _named(self, name: str) -> tuple[Any, dict[str, Any] | None]:
        if self.unseen is not None and name == "planner":
            from program_guided.tasks.minecraft.routines import IgnorantPlanner, read_routine

            return IgnorantPlanner(read_routine(self.unseen), self.seed), None
        agent = named_agent(name, self.seed, reluctance=self.reluctance, sample=self.sample)
        return agent, _training(agent) if hasattr(agent, "model") else None

    def _report(self, figures: dict[str, Any]) -> None:
        if self.save is not None:
            save_json(figures, self.save)
        if self.figure is not None:
            from program_guided.tasks.minecraft.pictures.plots import plot_trainings

            groups = _groups(figures["agents"])
            curves = {kind: [agent["training"]["curve"] for agent in group] for kind, group in groups.items()}
            targets = {agent["training"].get("target") for group in groups.values() for agent in group} & set(PAPER)
            ends = {f"ProTo, {target}, in the paper (test)": PAPER[target]["test"] for target in sorted(targets)}
            plot_trainings(curves, self.figure, by="seconds" if self.against == "time" else "samples", ends=ends)
        if self.json:
            print_json(figures)
            return
        print_completion(figures)
        if self.breakdown:
            for name, agent in figures["agents"].items():
                _print_breakdown(name, agent["splits"])
        written = [str(path) for path in (self.save, self.figure) if path is not None]
        if written:
            print("wrote", " and ".join(written))


def _training(agent: Any) -> dict[str, Any]:
    """What the checkpoint of an executor says of its training."""
    told = agent.config.get("training", {})
    kept = (
        "command",
        "commit",
        "machine",
        "target",
        "seed",
        "processes",
        "without",
        "settings",
        "samples",
        "minutes",
        "curve",
    )
    executor = agent.config["executor"]
    size = sum(parameter.numel() for parameter in agent.model.parameters())
    return {"executor": executor, "parameters": size, **{key: told[key] for key in kept if key in told}}


def _groups(agents: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Checkpoints that differ in their seed only, by kind: form, target, what was left out, and what is set otherwise
    than in the first of that kind."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for agent in agents.values():
        training = agent["training"]
        if training:
            executor = training["executor"]
            missing = left_out(executor) + training.get("without", [])
            kind = ", ".join([executor["form"], training.get("target", "dense"), *(f"no {name}" for name in missing)])
            if kind in groups:
                kind += "".join(f", {name} {value}" for name, value in _other(training, groups[kind][0]["training"]))
            groups.setdefault(kind, []).append(agent)
    return groups


def _other(training: Mapping[str, Any], first: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Sizes and settings that a training has otherwise than another one."""
    for part in ("executor", "settings"):
        ours, theirs = training.get(part, {}), first.get(part, {})
        yield from ((name, value) for name, value in ours.items() if name in theirs and theirs[name] != value)


def _means(agents: Mapping[str, Any]) -> dict[str, Any]:
    """Mean and spread over checkpoints of one kind with different seeds."""
    return {
        kind: {
            split: {
                "seeds": [agent["training"].get("seed") for agent in group],
                "completion": fmean(agent["splits"][split]["completion"] for agent in group),
                "standard_error": stdev(agent["splits"][split]["completion"] for agent in group) / len(group) ** 0.5,
            }
            for split in group[0]["splits"]
        }
        for kind, group in _groups(agents).items()
        if len(group) > 1
    }


class _Waiting:
    """Says what is being measured, where a person is looking."""

    def __init__(self, wanted: bool) -> None:
        from rich.console import Console

        self._status = Console(stderr=True).status("") if wanted else None

    def __enter__(self) -> _Waiting:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def say(self, what: str) -> None:
        if self._status:
            self._status.update(f"measuring {what} ...")


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
    for kind, splits in figures["means"].items():
        for split, mean in splits.items():
            form, target, *_ = kind.split(", ")
            paper = _in_paper(figures, target, split)
            table.add_row(split, f"{form}, {len(mean['seeds'])} seeds", "", f"{mean['completion']:.2f}", paper, "")
    console = Console()
    (console if console.is_terminal else Console(width=120)).print(table)


def _in_paper(figures: Mapping[str, Any], kind: str, split: str) -> str:
    """What the paper says of ProTo by its training target, or of the planner, if it does."""
    if tuple(figures["sides"]) != PAPER_SIDES:
        return ""
    if figures["unseen"] is None:
        return str(PAPER.get(kind, {}).get(split, ""))
    unseen = PAPER_UNSEEN.get(figures["unseen"].replace(" ", "").lower(), {})
    return str(unseen.get(kind, "")) if split == "test" else ""


def _print_breakdown(name: str, splits: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from program_guided.learning.evaluation import ANY_LENGTH

    for split, found in splits.items():
        table = Table(title=f"\n{Path(name).name} on {split}", title_justify="left", box=None, padding=(0, 1, 0, 0))
        table.add_column("routine")
        table.add_column("begun", justify="right")
        table.add_column("programs that failed in it")
        for operation, figures in found["routines"].items():
            failed = ", ".join(f"{count} {reason}" for reason, count in figures["failed"].items())
            table.add_row(operation, f"{figures['begun']:,}", failed or "none")
        Console().print(table)
        lengths = "   ".join(
            f"{each['up_to'] if each['up_to'] < ANY_LENGTH else 'more'}: {each['completion']:.1f} %"
            for each in found["tokens"]
        )
        print(f"finished by length, up to so many tokens:   {lengths}")
