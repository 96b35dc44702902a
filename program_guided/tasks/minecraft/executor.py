"""A trained executor in the 2D Minecraft world, as returned by `program_guided.load("minecraft")`.

executor = program_guided.load("minecraft")
moments = executor.run("mine(gold); sell(gold)", seed=0)
moments[-1].outcome
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Program
from program_guided.learning.checkpoint import Checkpoint
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.worlds import Worlds
from program_guided.models.model import Model
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.scenario import world_of
from program_guided.tasks.minecraft.snapshots import execution

__all__ = ["MinecraftExecutor"]


class MinecraftExecutor:
    """An agent that acts by a model; `acting` is passed on to `ExecutorAgent`."""

    def __init__(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> None:
        self.model, self.checkpoint = model, checkpoint
        self.agent = ExecutorAgent(model, **acting)

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action in every world that still runs."""
        return self.agent.act(worlds)

    def run(
        self,
        program: str | Program,
        seed: int = 0,
        map: str | None = None,
        inventory: Mapping[str, int] | None = None,
    ) -> list[Snapshot]:
        """Execute a program in a sampled world, or on a given map; the snapshots from beginning to end."""
        batch = world_of({"program": program, "map": map, "inventory": inventory}, seed)
        return list(execution(batch, self))
