"""`proto evaluate`: how many programs of a split an agent finishes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from program_guided.cli.output import print_json, save_json
from program_guided.errors import DataError

__all__ = ["Evaluate"]


@dataclass(frozen=True)
class Evaluate:
    """Measure how many programs of the fixed splits agents finish."""

    agent: tuple[Literal["planner", "random"], ...] = ("planner",)
    """Whom to measure; several are shown side by side."""
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

        if not self.split or not self.agent:
            raise DataError("nothing to measure: name at least one split and one agent")
        names = tuple(SIZES) if "all" in self.split else tuple(split_name(name) for name in self.split)
        agents = {
            agent: {name: rollout(load_split(name), AGENTS[agent](self.seed)).figures() for name in names}
            for agent in self.agent
        }
        figures = {"seed": self.seed, "agents": agents}
        if self.save is not None:
            save_json(figures, self.save)
        if self.json:
            print_json(figures)
            return 0
        _print(agents)
        if self.save is not None:
            print("wrote", self.save)
        return 0


def _print(agents: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="programs finished", title_justify="left", box=None, padding=(0, 1, 0, 0))
    failures = ("wrong answer", "wrong place", "missing object", "timeout")
    for heading in ("split", "agent", "programs", "finished %", "steps", *failures):
        justify: Literal["left", "right"] = "left" if heading in ("split", "agent") else "right"
        table.add_column(heading.replace(" ", "\n"), justify=justify, no_wrap=True)
    for agent, splits in agents.items():
        for name, split in splits.items():
            figures = (str(split["programs"]), f"{split['completion']:.1f}", f"{split['mean_steps']:.1f}")
            table.add_row(name, agent, *figures, *(str(split["outcomes"].get(failure, "")) for failure in failures))
    Console().print(table)
