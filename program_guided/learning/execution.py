"""The execution loop of Algorithms 1 and 3, for every task and every model.

Only pointed rows of the result matrix Z are computed. On a static specification a whole program is executed:

    specification = model.reader.encode(arrays)
    results = execute(model, specification, programs)                    # Z of every program: (batch, routines, d)
    results = execute(model, specification, programs, parallel=False)    # the same, one routine of a program at a time
    executed, last = follow(programs, truths)                            # the path through conditions

In parallel (Algorithm 3) a step executes all routines whose inputs are known, so a program takes as many steps as it is
deep; else (Algorithm 1) as many as it has routines on its path. On a static specification a routine depends on its
inputs alone, so the branches that are not taken may be executed too, and the pointer follows the answers afterwards.

In a world, which changes, one pointer of each program moves as the world says, and Z is kept between the steps:

    execution = WorldExecution(model, worlds)
    logits, rows = infer(model, execution.observe())
    execution.keep(rows); worlds.step(actions); execution.forget(restarted)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.errors import WorldError
from program_guided.language.domain import BOOLEAN
from program_guided.language.table import Kind
from program_guided.learning.observation import Observation
from program_guided.learning.worlds import Observable, Only
from program_guided.models.attention import Watch
from program_guided.models.config import VALUE
from program_guided.models.model import Model, Step
from program_guided.models.recurrent import Recurrent

__all__ = ["Programs", "WorldExecution", "execute", "follow", "infer"]

TRUE = 0
"""The score for true, of the two of a Boolean."""
VISITS = "visits"
"""The array of visits to each cell, for readers that want it."""
MAX_COUNT = 100
"""Visits are counted up to this."""

Routines = tuple[Tensor, ...]
"""Programs (N,) of a batch, and a routine (N,) of each."""


@dataclass(frozen=True)
class Programs:
    """A batch of programs about static specifications."""

    words: Tensor
    """(batch, routines, L), 0 for no word"""
    inputs: Tensor
    """(batch, routines, K) routines whose results a routine takes, -1 for none"""
    exists: Tensor
    """(batch, routines)"""
    of: Tensor
    """(batch,) the specification that a program is about"""
    flow: Tensor | None = None
    """(batch, routines, 3) kind, routine after true, routine after false; None if no program has conditions"""

    @cached_property
    def in_sequence(self) -> list[Routines]:
        """The routines of each step, one of every program at a time."""
        every = torch.arange(self.exists.shape[1], device=self.words.device)
        return _by_step(every.expand_as(self.exists), self.exists)

    @cached_property
    def in_parallel(self) -> list[Routines]:
        """The routines of each step, all whose inputs are known; these stand before them."""
        inputs = self.inputs.cpu().numpy()
        depth = np.full((len(inputs), inputs.shape[1] + 1), -1)  # the last one is for -1: no input
        programs = np.arange(len(inputs))[:, None]
        for routine in range(inputs.shape[1]):
            depth[:, routine] = depth[programs, inputs[:, routine]].max(axis=1, initial=-1) + 1
        return _by_step(torch.from_numpy(depth[:, :-1]).to(self.inputs.device), self.exists)


def _by_step(when: Tensor, exists: Tensor) -> list[Routines]:
    """The routines (batch, routines) that exist, by their steps."""
    when = when.masked_fill(~exists, -1)
    return [(when == step).nonzero(as_tuple=True) for step in range(int(when.max()) + 1)]


def execute(
    model: Model,
    specification: Any,
    programs: Programs,
    *,
    parallel: bool = True,
    watch: list[Watch] | None = None,
) -> Tensor:
    """Z of every program, (batch, routines, d); 0 for routines that were not executed. `watch` gets the attention
    weights of each step, unless a pointer is moved step by step."""
    results = torch.zeros(*programs.exists.shape, model.width, device=programs.words.device)
    if programs.flow is not None and not (parallel and model.local):
        return _execute_path(model, specification, programs, results)
    for sample, routine in programs.in_parallel if parallel else programs.in_sequence:
        weights: Watch | None = None
        if watch is not None:
            watch.append(weights := {})
        rows = _step(model, specification, programs, results, sample, routine, weights)
        results = results.index_put((sample, routine), rows)
    return results


def _execute_path(model: Model, specification: Any, programs: Programs, results: Tensor) -> Tensor:
    """Algorithm 1 with a pointer in every program, which the model's own answers move."""
    assert programs.flow is not None
    size = programs.exists.sum(dim=1)
    routine = torch.zeros_like(size)
    while bool((routine < size).any()):
        (sample,) = (routine < size).nonzero(as_tuple=True)
        rows = _step(model, specification, programs, results, sample, routine[sample], None)
        results = results.index_put((sample, routine[sample]), rows)
        truth = torch.ones_like(size, dtype=torch.bool)
        truth[sample] = model.decode(rows, BOOLEAN).argmax(dim=1) == TRUE
        routine = _advance(programs.flow, routine, truth, size)
    return results


def _advance(flow: Tensor, routine: Tensor, truth: Tensor, size: Tensor) -> Tensor:
    """Algorithm 2, in every program of a batch: where the pointer goes; it stays where a program is over."""
    here = flow[torch.arange(len(routine), device=flow.device), routine.clamp(max=flow.shape[1] - 1)]
    after = torch.where(truth | (here[:, 0] == Kind.STEP), here[:, 1], here[:, 2])
    return torch.where(routine < size, after, routine)


def follow(programs: Programs, truth: Tensor) -> tuple[Tensor, Tensor]:
    """Routines that are executed (batch, routines), and the last one of each program (batch,), where the conditions
    have these answers (batch, routines)."""
    size = programs.exists.sum(dim=1)
    if programs.flow is None:
        return programs.exists, size - 1
    every = torch.arange(len(size), device=size.device)
    executed, routine, last = torch.zeros_like(programs.exists), torch.zeros_like(size), torch.zeros_like(size)
    while bool((routine < size).any()):
        running = routine < size
        last = torch.where(running, routine, last)
        executed[every[running], routine[running]] = True
        routine = _advance(programs.flow, routine, truth[every, routine.clamp(max=truth.shape[1] - 1)], size)
    return executed, last


def _step(
    model: Model,
    specification: Any,
    programs: Programs,
    results: Tensor,
    sample: Tensor,
    routine: Tensor,
    watch: Watch | None,
) -> Tensor:
    """New rows of these routines of these programs."""
    parents = programs.inputs[sample, routine]
    if not bool((parents >= 0).any()):
        parents = parents[:, :0]
    if model.local:
        rows = torch.cat([routine[:, None], parents.clamp(min=0)], dim=1)
        words, known = programs.words[sample[:, None], rows], results[sample[:, None], rows]
        pointed = torch.zeros_like(sample)[:, None]
        parents = torch.where(parents >= 0, torch.arange(1, rows.shape[1], device=parents.device), -1)
    else:
        words, known, pointed = programs.words[sample], results[sample], routine[:, None]
    step = Step(specification.about(programs.of[sample]), words, known, pointed, parents[:, None])
    output: Tensor = model(step, watch)
    return output[:, 0]


def infer(model: Model, observation: Observation, watch: Watch | None = None, length: int = 1) -> tuple[Tensor, Tensor]:
    """Logits (worlds, actions), impossible ones at minus infinity, and the new rows of Z (worlds, d).

    `length`: a model without a pointer goes through that many steps of each world, one after another."""
    specification = model.reader.encode(observation.arrays)
    given = (observation.words, observation.results, observation.pointed, observation.parents)
    step = Step(specification, *given, observation.shift, observation.tokens, observation.mask)
    if isinstance(model, Recurrent) and length > 1:
        assert observation.begun is not None
        rows = model.unroll(step, observation.begun, length)
    else:
        rows = model(step, watch)[:, 0]
    heads = [model.decode(rows, name) for name, size in model.sizes.results if size is not None and name != VALUE]
    return torch.cat(heads, dim=1).masked_fill(~observation.mask, -torch.inf), rows


class WorldExecution:
    """Kept between the steps: the results of every world's routines, and the agent's visits, if the model reads them.

    With `shifts`, routines are given positions that begin anywhere, anew in every episode: for training, so that
    positions which short programs never reach are learned too.
    """

    def __init__(self, model: Model, worlds: Observable, shifts: torch.Generator | None = None) -> None:
        self.model, self.worlds = model, worlds
        self.device = next(model.parameters()).device
        self.actions = sum(size for name, size in model.sizes.results if size is not None and name != VALUE)
        routines = 1 if model.recurrent else worlds.max_routines
        self.results = torch.zeros(worlds.count, routines, model.width, device=self.device)
        self.visits: Tensor | None = None
        """(worlds, side, side) visits of the agent to each cell since the pointed routine began"""
        if getattr(model.reader, "visits", False):
            shape = worlds.observe(slice(0, 1)).specification["map"].shape[1:]
            self.visits = torch.zeros(worlds.count, *shape, dtype=torch.int8, device=self.device)
        self._shifts = shifts
        self.shift = self._draw_shifts(worlds.count)
        self._number = torch.arange(worlds.count, device=self.device)

    def observe(self, only: Only = slice(None)) -> Observation:
        """The model's inputs of these worlds."""
        seen = self.worlds.observe(only)
        longest = seen.longest
        arrays = {name: self._tensor(array) for name, array in seen.specification.items()}
        if self.visits is not None:
            self.forget_visits()
            arrays[VISITS] = self.visits[only]
        mask, shift = self._mask(seen.mask), None if self.shift is None else self.shift[only]
        words, parents = self._tensor(seen.words)[:, :longest], self._tensor(seen.parents).long()[:, None]
        if self.model.recurrent:
            nowhere = torch.zeros(len(words), 1, dtype=torch.long, device=self.device)
            tokens, begun = self._tensor(self.worlds.tokens(only)), self._tensor(self.worlds.time[only] == 0)
            none = torch.full_like(parents, -1)
            return Observation(arrays, words[:, :1], self.results[only], nowhere, none, mask, shift, tokens, begun)
        pointed = self._tensor(seen.routine).long().clamp(max=longest - 1)[:, None]
        observation = Observation(arrays, words, self.results[only, :longest], pointed, parents, mask, shift)
        return observation.pointed_only() if self.model.local else observation

    def forget_visits(self) -> None:
        """Visits are counted anew where a routine has ended."""
        if self.visits is not None:
            self.visits[self._tensor(self.worlds.ended >= 0)] = 0

    def keep(self, rows: Tensor, only: Only = slice(None)) -> None:
        """Store the pointed routines' new results, and where the agents are. A memory keeps its gradients until
        `detach`."""
        if self.model.recurrent:
            self.results = self.results.index_copy(0, self._number[only], rows[:, None])
        else:
            pointed = self._tensor(self.worlds.routine[only]).long().clamp(max=self.results.shape[1] - 1)
            self.results[self._number[only], pointed] = rows.detach()
        if self.visits is not None:
            row, column = self._tensor(self.worlds.observe(only).specification["agent"]).long().T
            visits = self.visits[self._number[only], row, column]
            self.visits[self._number[only], row, column] = (visits + 1).clamp(max=MAX_COUNT)

    def detach(self) -> None:
        """No gradient flows to the steps before."""
        self.results = self.results.detach()

    def moved_to(self, worlds: Observable) -> WorldExecution:
        """A copy that goes on in other worlds, of the same number and size."""
        copy = WorldExecution(self.model, worlds)
        copy.results = self.results.clone()
        copy.visits = None if self.visits is None else self.visits.clone()
        return copy

    def forget(self, where: NDArray[np.bool_]) -> None:
        """Z is zero when a program begins."""
        restarted = torch.from_numpy(np.flatnonzero(where))
        if len(restarted):
            if self.model.recurrent:
                self.results = self.results.index_fill(0, restarted.to(self.device), 0.0)
            else:
                self.results[restarted] = 0
            if self.visits is not None:
                self.visits[restarted] = 0
            drawn = self._draw_shifts(len(restarted))
            if self.shift is not None and drawn is not None:
                self.shift[restarted] = drawn

    def _mask(self, mask: NDArray[np.bool_]) -> Tensor:
        """(worlds, actions of the model): worlds whose programs need fewer answers have only the first of them."""
        if mask[:, self.actions :].any():
            raise WorldError(
                "a program asks for a result, such as a number, that this executor was not trained to give; take the "
                "planner, or an executor that was trained on such programs (proto train with --data-flow)"
            )
        own = mask[:, : self.actions]
        return torch.nn.functional.pad(self._tensor(own), (0, self.actions - own.shape[1]))

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _draw_shifts(self, count: int) -> Tensor | None:
        if self._shifts is None or not self.model.shift_range:
            return None
        return torch.randint(self.model.shift_range, (count,), generator=self._shifts).to(self.device)
