"""A network carrying out programs in a batch of worlds: Algorithm 1 over many worlds at once.

Holds the result matrix Z of every world and computes only the pointed row, from its own past and its parent's result
(the routine executed before it): a step costs the same whatever the program's length.

    execution = Execution(model, batch)
    logits, rows = execution.infer()
    execution.keep(rows); batch.step(actions); execution.forget(restarted)
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.models.executor import Executor, ExecutorConfig
from program_guided.models.grid import Grid, GridReader, GridSizes
from program_guided.tasks.minecraft.batch import Batch
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, LARGEST_SIDE, OBJECTS

__all__ = ["Execution", "ExecutorAgent", "minecraft_executor"]

BEHAVIOURS = ACTIONS.index("true")
"""Actions before this are done at behaviours, the rest at conditions."""
RESULTS = (("Action", BEHAVIOURS), ("Boolean", len(ACTIONS) - BEHAVIOURS), ("Value", 1))


def minecraft_executor(**settings: int | bool) -> Executor:
    """An untrained executor for the 2D Minecraft world."""
    config = ExecutorConfig(len(DOMAIN.vocabulary), DOMAIN.routine_width, RESULTS, **settings)  # type: ignore[arg-type]
    sizes = GridSizes(len(KINDS), len(OBJECTS), LARGEST_SIDE)
    return Executor(config, GridReader(config.width, config.heads, sizes, config.plans))


class Execution:
    """The results of every world's routines, and one step of inference."""

    def __init__(self, model: Executor, batch: Batch) -> None:
        self.model, self.batch = model, batch
        self.results = torch.zeros(batch.count, batch.view.words.shape[1], model.config.width)
        self._number = torch.arange(batch.count)

    def infer(self) -> tuple[Tensor, Tensor]:
        """Logits (worlds, actions), impossible ones at minus infinity, and the new rows of Z (worlds, d)."""
        worlds, view = self.batch.worlds, self.batch.view
        words = torch.from_numpy(view.words)
        routine = torch.from_numpy(worlds.routine.astype(np.int64)).clamp(max=words.shape[1] - 1)
        previous = torch.from_numpy(worlds.previous.astype(np.int64))
        before = previous.clamp(min=0)
        grid = Grid(
            torch.from_numpy(worlds.cells).flatten(1),
            torch.from_numpy(worlds.agent),
            torch.from_numpy(worlds.inventory),
        )
        rows = self.model(
            grid,
            words[self._number, routine],
            self.results[self._number, routine],
            words[self._number, before][:, None],
            self.results[self._number, before][:, None],
            (previous >= 0)[:, None],
        )
        logits = torch.cat([self.model.decode(rows, "Action"), self.model.decode(rows, "Boolean")], dim=1)
        return logits.masked_fill(~torch.from_numpy(view.mask), -torch.inf), rows

    def keep(self, rows: Tensor) -> None:
        """Store the pointed routines' new results."""
        routine = torch.from_numpy(self.batch.worlds.routine.astype(np.int64)).clamp(max=self.results.shape[1] - 1)
        self.results[self._number, routine] = rows.detach()

    def forget(self, where: NDArray[np.bool_]) -> None:
        """Z is zero when a program begins."""
        restarted = np.flatnonzero(where)
        if len(restarted):
            self.results[torch.from_numpy(restarted)] = 0


class ExecutorAgent:
    """A trained executor as an agent of the world: greedy, or sampling."""

    def __init__(self, model: Executor, sample: bool = False, seed: int = 0) -> None:
        self.model, self.sample = model, sample
        self._generator = torch.Generator().manual_seed(seed)
        self._execution: Execution | None = None

    @torch.no_grad()
    def act(self, batch: Batch) -> NDArray[np.int64]:
        if self._execution is None or self._execution.batch is not batch:
            self._execution = Execution(self.model, batch)
        logits, rows = self._execution.infer()
        self._execution.keep(rows)
        if self.sample:
            noise = -torch.log(-torch.log(torch.rand(logits.shape, generator=self._generator).clamp(1e-9, 1 - 1e-9)))
            logits = logits + noise
        return logits.argmax(dim=1).numpy()
