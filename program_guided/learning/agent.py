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


class ExecutorAgent:
    """Acts greedily, or by chance as its probabilities say (`sample=True`)."""

    def __init__(
        self, model: Executor, config: Mapping[str, Any] | None = None, *, sample: bool = False, seed: int = 0
    ) -> None:
        self.model, self.config, self.sample = model.eval(), dict(config or {}), sample
        self.watch: list[Watch] | None = None
        """Set it to a list, and every step adds its attention weights (see `Executor.forward`)."""
        self._generator = torch.Generator().manual_seed(seed)
        self._execution: Execution | None = None

    @classmethod
    def from_pretrained(cls, name: Path | str = "minecraft", *, sample: bool = False, seed: int = 0) -> ExecutorAgent:
        """From a shipped checkpoint by name, or from a folder."""
        return cls(*from_pretrained(name), sample=sample, seed=seed)

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
            self._execution = Execution(self.model, batch)
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
        chosen = logits.argmax(dim=1).cpu()
        if self.sample:
            chosen = torch.multinomial(logits.softmax(dim=1).cpu(), 1, generator=self._generator)[:, 0]
        actions[running] = chosen.numpy()
        return actions
