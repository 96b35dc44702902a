"""`proto evaluate`: how many programs of a split an agent finishes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from program_guided.cli.output import print_json, save_json

__all__ = ["Evaluate"]


@dataclass(frozen=True)
class Evaluate:
    """Measure how many programs of the fixed splits an agent finishes."""

    agent: Literal["planner", "random"] = "planner"
    """Whom to measure."""
    split: tuple[str, ...] = ("standard", "longer", "complex")
    """Which splits: train, test (or standard), longer, complex, test-complex, or all."""
    seed: int = 0
    """Seed of chance, for agents that use it."""
    json: bool = False
    """Print the figures as JSON."""
    save: Path | None = None
    """Write the figures to this file too."""

    def run(self) -> int:
        from program_guided.tasks.minecraft.agents import AGENTS, rollout
        from program_guided.tasks.minecraft.splits import SIZES, load_split, split_name

        names = tuple(SIZES) if "all" in self.split else tuple(split_name(name) for name in self.split)
        figures: dict[str, Any] = {"agent": self.agent, "seed": self.seed, "splits": {}}
        for name in names:
            result = rollout(load_split(name), AGENTS[self.agent](self.seed))
            figures["splits"][name] = result.figures()
        if self.save is not None:
            save_json(figures, self.save)
        if self.json:
            print_json(figures)
        else:
            _print(figures)
            if self.save is not None:
                print("wrote", self.save)
        return 0


def _print(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{figures['agent']}: programs finished", title_justify="left")
    for heading in ("split", "programs", "finished %", "mean steps", "what else happened"):
        table.add_column(heading, justify="left" if heading in ("split", "what else happened") else "right")
    for name, split in figures["splits"].items():
        others = ", ".join(f"{outcome} {count}" for outcome, count in split["outcomes"].items() if outcome != "finished")
        completion, steps = f"{split['completion']:.1f}", f"{split['mean_steps']:.1f}"
        table.add_row(name, str(split["programs"]), completion, steps, others)
    Console().print(table)
