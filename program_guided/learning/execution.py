"""A network carrying out programs in a batch of worlds: Algorithm 1 over many worlds at once.

Holds the result matrix Z of every world and computes only the pointed row, from its parent's result (the routine
executed before it) and, with memory, from its own last one: a step costs the same whatever the program's length.

    execution = Execution(model, batch)
    logits, rows = execution.infer()
    execution.keep(rows); batch.step(actions); execution.forget(restarted)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from program_guided.models.attention import Watch
from program_guided.models.config import ExecutorConfig, Form
from program_guided.models.executor import Executor
from program_guided.models.grid import CellReader, Grid, GridReader, GridSizes
from program_guided.tasks.minecraft.batch import Batch
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, LARGEST_SIDE, OBJECTS

__all__ = ["Execution", "Observation", "build", "infer", "minecraft_config"]

BEHAVIOURS = ACTIONS.index("true")
"""Actions before this are done at behaviours, the rest at conditions."""
RESULTS = (("Action", BEHAVIOURS), ("Boolean", len(ACTIONS) - BEHAVIOURS), ("Value", 1))
LARGEST_SHIFT = 48
"""Positions of routines are shifted by less than this in training."""


def minecraft_config(form: Form = "plus", **settings: int | bool) -> ExecutorConfig:
    """The configuration of an executor for the 2D Minecraft world."""
    vocabulary, words = len(DOMAIN.vocabulary), DOMAIN.routine_width
    return ExecutorConfig(form=form, vocabulary=vocabulary, words=words, results=RESULTS, **settings)  # type: ignore[arg-type]


def build(config: ExecutorConfig) -> Executor:
    """An untrained executor for the 2D Minecraft world."""
    sizes = GridSizes(len(KINDS), len(OBJECTS), LARGEST_SIDE)
    if config.form == "paper":
        parts = {name: getattr(config, name) for name in ("sink", "blind", "tells", "objects", "scaled")}
        return Executor(config, CellReader(config.width, config.heads, config.blocks, sizes, config.hidden, **parts))
    names = _names() if config.names else None
    reader = GridReader(config.width, config.heads, sizes, config.plans, config.hidden, names)
    return Executor(config, reader, alike=() if names is None else names.any(dim=1).nonzero()[:, 0].tolist())


def _names() -> Tensor:
    """(vocabulary, kinds + objects): which words are names, of a kind of cell or of what is carried."""
    words = np.array(DOMAIN.vocabulary)[:, None]
    return torch.tensor(words == np.array([*KINDS, *OBJECTS])).float()


@dataclass(frozen=True)
class Observation:
    """What a network is shown of a batch of worlds for one step; it can be kept, and carried out again later."""

    grid: Grid
    words: Tensor
    """(worlds, routines, L)"""
    results: Tensor
    """(worlds, routines, d)"""
    pointed: Tensor
    """(worlds, 1)"""
    parents: Tensor
    """(worlds, 1, 1)"""
    mask: Tensor
    """(worlds, actions)"""
    shift: Tensor | None

    def pointed_only(self) -> Observation:
        """Without the routines that neither are pointed at nor are parents: `plus` looks at no others."""
        rows = torch.cat([self.pointed, self.parents[:, 0].clamp(min=0)], dim=1)[..., None]
        words = self.words.gather(1, rows.expand(-1, -1, self.words.shape[2]))
        results = self.results.gather(1, rows.expand(-1, -1, self.results.shape[2]))
        parents = torch.where(self.parents >= 0, 1, -1)
        return replace(self, words=words, results=results, pointed=torch.zeros_like(self.pointed), parents=parents)

    def kept(self) -> Observation:
        """A copy that stays as it is when the worlds go on."""
        return self._each(torch.clone)

    def take(self, numbers: Tensor) -> Observation:
        """Of these worlds only."""
        return self._each(lambda tensor: tensor[numbers])

    @classmethod
    def together(cls, observations: Sequence[Observation]) -> Observation:
        """Many observations as one of many worlds; programs are as long as the longest."""
        longest = max(each.words.shape[1] for each in observations)
        observations = [each._lengthened(longest - each.words.shape[1]) for each in observations]
        parts = zip(*(each.parts() for each in observations), strict=True)
        return cls.of([None if part[0] is None else torch.cat(part) for part in parts])

    def _lengthened(self, more: int) -> Observation:
        beyond = (0, 0, 0, more)
        return replace(self, words=pad(self.words, beyond), results=pad(self.results, beyond)) if more else self

    def parts(self) -> list[Tensor | None]:
        """All tensors in their order."""
        grid = self.grid
        seen = (self.words, self.results, self.pointed, self.parents, self.mask, self.shift)
        return [grid.kinds, grid.agent, grid.inventory, *seen]

    @classmethod
    def of(cls, parts: Sequence[Any]) -> Observation:
        """Of tensors in this order."""
        return cls(Grid(*parts[:3]), *parts[3:])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Observation:
        return self.of([None if part is None else change(part) for part in self.parts()])


def infer(model: Executor, observation: Observation, watch: Watch | None = None) -> tuple[Tensor, Tensor]:
    """Logits (worlds, actions), impossible ones at minus infinity, and the new rows of Z (worlds, d)."""
    seen = observation
    rows = model(seen.grid, seen.words, seen.results, seen.pointed, seen.parents, seen.shift, watch)[:, 0]
    logits = torch.cat([model.decode(rows, "Action"), model.decode(rows, "Boolean")], dim=1)
    return logits.masked_fill(~seen.mask, -torch.inf), rows


class Execution:
    """The results of every world's routines, and one step of inference.

    With `shifts`, routines are given positions that begin anywhere, anew in every episode: for training, so that
    positions which short programs never reach are learned too.
    """

    def __init__(self, model: Executor, batch: Batch, shifts: torch.Generator | None = None) -> None:
        self.model, self.batch = model, batch
        self.device = next(model.parameters()).device
        self.results = torch.zeros(batch.count, batch.view.words.shape[1], model.config.width, device=self.device)
        self._shifts = shifts
        self.shift = self._draw_shifts(batch.count)
        self._number = torch.arange(batch.count, device=self.device)

    def observe(self, only: NDArray[np.int64] | slice = slice(None)) -> Observation:
        """What the network is to be shown of these worlds now."""
        worlds, view = self.batch.worlds, self.batch.view
        longest = int(self.batch.programs.size[worlds.program[only]].max())
        cells, agent, inventory = (self._tensor(part[only]) for part in (worlds.cells, worlds.agent, worlds.inventory))
        observation = Observation(
            Grid(cells.flatten(1), agent, inventory),
            self._tensor(view.words[only])[:, :longest],
            self.results[only, :longest],
            self._pointed(only).clamp(max=longest - 1)[:, None],
            self._tensor(worlds.previous[only]).long()[:, None, None],
            self._tensor(view.mask[only]),
            None if self.shift is None else self.shift[only],
        )
        config = self.model.config
        return observation.pointed_only() if config.form == "plus" and config.structure else observation

    def infer(self, watch: Watch | None = None, only: NDArray[np.int64] | slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Logits (worlds, actions), impossible ones at minus infinity, and the new rows of Z (worlds, d).

        `only` these worlds, if not all of them.
        """
        return infer(self.model, self.observe(only), watch)

    def keep(self, rows: Tensor, only: NDArray[np.int64] | slice = slice(None)) -> None:
        """Store the pointed routines' new results."""
        pointed = self._pointed(only).clamp(max=self.results.shape[1] - 1)
        self.results[self._number[only], pointed] = rows.detach()

    def forget(self, where: NDArray[np.bool_]) -> None:
        """Z is zero when a program begins."""
        restarted = torch.from_numpy(np.flatnonzero(where))
        if len(restarted):
            self.results[restarted] = 0
            drawn = self._draw_shifts(len(restarted))
            if self.shift is not None and drawn is not None:
                self.shift[restarted] = drawn

    def _pointed(self, only: NDArray[np.int64] | slice) -> Tensor:
        return self._tensor(self.batch.worlds.routine[only]).long()

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _draw_shifts(self, count: int) -> Tensor | None:
        if self._shifts is None or self.model.config.form == "plus" or not self.model.config.shifted:
            return None
        return torch.randint(LARGEST_SHIFT, (count,), generator=self._shifts).to(self.device)
