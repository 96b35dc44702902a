"""The paper's tables and figures, and ours, as declarations; the engine that trains and measures them.

`proto experiment list` shows them.
"""

from __future__ import annotations

from program_guided.errors import DataError
from program_guided.experiments.declaration import Experiment, Measure, Row
from program_guided.experiments.minecraft import EXPERIMENTS as MINECRAFT

__all__ = ["EXPERIMENTS", "Experiment", "Measure", "Row", "find"]

EXPERIMENTS = {each.name: each for each in MINECRAFT}
"""All experiments by name."""


def find(name: str) -> Experiment:
    """The experiment of a name; one clear error if there is none."""
    from program_guided.language.domain import unknown

    if name not in EXPERIMENTS:
        raise DataError(f"{unknown('experiment', name, EXPERIMENTS)} (there are {', '.join(EXPERIMENTS)})")
    return EXPERIMENTS[name]
