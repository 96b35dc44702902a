"""Experiments as declarations: rows, each a training, and measures of what was trained. Data, nothing else.

    Row("PGA", ("minecraft", "--target", "reward", "--model", "pga"), paper={"test": 94.2})
    Measure("strictly greedy", ("--repetition-penalty", "0"))

In the arguments of a measure `{seed}` stands for the run's seed and `{agent}` for what was trained. A command that
begins with `-m MODULE` is one of Python instead of `proto`. If it trains, it takes `--seed` and `--out` too, continues
after an interruption, and writes the record of its training to `trained.json` in that folder (see `worker.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["AGENT", "MODULE", "PARAMETERS", "SEED", "Budget", "Drawing", "Experiment", "Measure", "Row"]

AGENT, SEED = "{agent}", "{seed}"
MODULE = "-m"
"""First word of a command of Python's."""
PARAMETERS = "parameters"
"""Key of the paper's number of parameters, in millions, among its figures."""
Budget = Literal["small", "full"]
Drawing = Literal["curves", "minutes", "lengths"]


@dataclass(frozen=True)
class Measure:
    """A column of a table (or one for each split): a command that measures an agent."""

    name: str
    """As the table calls it: "strictly greedy"."""
    arguments: tuple[str, ...] = ()
    """Arguments of the command, without the agent."""
    command: tuple[str, ...] = ("evaluate", AGENT)
    """The command of `proto`, or of `MODULE`; it has an option --save."""


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    name: str
    train: tuple[str, ...] = ()
    """Arguments of `proto train`, or a command of `MODULE`, without seed and folder."""
    agent: str = ""
    """Instead of a training: an agent that there is already, like `planner`."""
    paper: Mapping[str, float] = field(default_factory=dict)
    """The paper's figures, by split, and its `PARAMETERS`."""
    measures: tuple[Measure, ...] | None = None
    """Instead of the experiment's."""
    minutes: float | None = None
    """Minutes of one run on one of two cores, measured before; those of its results are better known."""
    small: tuple[str, ...] | None = None
    """Instead of the experiment's."""


@dataclass(frozen=True)
class Experiment:
    """A table, a figure, or both."""

    name: str
    title: str
    about: str
    """The question that it answers, in a sentence or two."""
    rows: tuple[Row, ...]
    measures: tuple[Measure, ...] = ()
    seeds: int = 1
    """Number of seeds of the full budget."""
    small: tuple[str, ...] = ()
    """Further arguments of every training of the small budget, so that it takes seconds."""
    small_measure: tuple[str, ...] = ()
    """Further arguments of every measure of the small budget."""
    draw: Drawing | None = None
    """The figure."""
    score: str = "completion"
    """The figure of each split that is shown, as `proto evaluate` names it."""

    def measures_of(self, row: Row) -> tuple[Measure, ...]:
        """The measures of a row."""
        return self.measures if row.measures is None else row.measures
