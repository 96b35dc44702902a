"""A trained executor as an agent: what `program_guided.load` gives.

executor = program_guided.load("minecraft")
moments = executor.run("mine(gold); sell(gold)", seed=0)
moments[-1].outcome
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.learning.checkpoint import from_pretrained, save_pretrained
from program_guided.learning.execution import Execution
from program_guided.models.attention import Watch
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.batch import Batch
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.rules import Outcome
from program_guided.tasks.minecraft.scenario import world_of
from program_guided.tasks.minecraft.snapshots import execution

__all__ = ["ExecutorAgent"]


RELUCTANCE = 1.0
"""How much an action's logit falls each time it has been done in the same place to no avail."""


class Tried:
    """Greedy choice that does not go in circles.

    Who comes back to a place and finds nothing changed, and leaves it as before, goes on so for ever. So this counts
    what was done in each place since the routine began or the world last changed, and the more often something was
    done, the more reluctantly it is done again.
    """

    def __init__(self, batch: Batch, reluctance: float) -> None:
        self.reluctance, side = reluctance, batch.worlds.cells.shape[1]
        self._times = np.zeros((batch.count, side, side, batch.view.mask.shape[1]), np.int32)
        self._cells, self._inventory = batch.worlds.cells.copy(), batch.worlds.inventory.copy()

    def choose(self, logits: NDArray[np.float32], batch: Batch, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The best actions for these worlds of the batch."""
        worlds = batch.worlds
        changed = (worlds.cells != self._cells).any(axis=(1, 2)) | (worlds.inventory != self._inventory).any(axis=1)
        self._times[changed | (batch.ended >= 0) | (worlds.time == 0)] = 0
        np.copyto(self._cells, worlds.cells)
        np.copyto(self._inventory, worlds.inventory)
        here = (numbers, *worlds.agent[numbers].T)
        chosen = (logits - self.reluctance * self._times[here]).argmax(axis=1)
        self._times[(*here, chosen)] += 1
        return chosen


class ExecutorAgent:
    """Acts greedily but not in circles (strictly greedily: `reluctance=0`), or by chance as its probabilities say
    (`sample=True`)."""

    def __init__(
        self,
        model: Executor,
        config: Mapping[str, Any] | None = None,
        *,
        reluctance: float = RELUCTANCE,
        sample: bool = False,
        seed: int = 0,
    ) -> None:
        self.model, self.config, self.reluctance, self.sample = model.eval(), dict(config or {}), reluctance, sample
        self.watch: list[Watch] | None = None
        """Set it to a list, and every step adds its attention weights (see `Executor.forward`)."""
        self._generator = torch.Generator().manual_seed(seed)
        self._execution: Execution | None = None
        self._tried: Tried

    @classmethod
    def from_pretrained(cls, name: Path | str = "minecraft", **acting: Any) -> ExecutorAgent:
        """From a shipped checkpoint by name, or from a folder; `acting` as above."""
        return cls(*from_pretrained(name), **acting)

    def save_pretrained(self, folder: Path | str) -> None:
        """Write a folder with `config.json` and `model.safetensors`."""
        save_pretrained(self.model, folder, self.config.get("training"))

    def run(
        self, program: str, seed: int = 0, map: str | None = None, inventory: Mapping[str, int] | None = None
    ) -> list[Snapshot]:
        """Carry out a program in a drawn world, or in a given one; the moments from beginning to end."""
        batch = world_of({"program": program, "map": map, "inventory": inventory}, seed)
        return list(execution(batch, self))

    @torch.inference_mode()
    def act(self, batch: Batch) -> NDArray[np.int64]:
        """An action in every world of the batch that still runs (0 in the others).

        Results are kept between calls, and forgotten at time 0.
        """
        if self._execution is None or self._execution.batch is not batch:
            self._execution, self._tried = Execution(self.model, batch), Tried(batch, self.reluctance)
        running = np.flatnonzero(batch.outcome == Outcome.RUNNING)
        actions = np.zeros(batch.count, np.int64)
        if len(running) == 0:
            return actions
        self._execution.forget((batch.worlds.time == 0) & (batch.outcome == Outcome.RUNNING))
        watch: Watch | None = None if self.watch is None else {}
        logits, rows = self._execution.infer(watch, running)
        if self.watch is not None and watch is not None:
            self.watch.append(watch)
        self._execution.keep(rows, running)
        if self.sample:
            chosen = torch.multinomial(logits.softmax(dim=1).cpu(), 1, generator=self._generator)[:, 0].numpy()
        else:
            chosen = self._tried.choose(logits.cpu().numpy(), batch, running)
        actions[running] = chosen
        return actions
