"""A model as an agent in worlds: acts greedily but not in circles, strictly greedily, or by sampling.

agent = ExecutorAgent(model)
actions = agent.act(worlds)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.execution import VISITS, WorldExecution, infer
from program_guided.learning.observation import Observation
from program_guided.learning.worlds import Observable, Outcome
from program_guided.models.attention import Watch
from program_guided.models.model import Model

__all__ = ["REPETITION_PENALTY", "Decision", "ExecutorAgent", "Memory", "RepetitionPenalty"]

REPETITION_PENALTY = 1.0
"""Amount by which an action's logit falls each time it was chosen in the same state during the same routine."""


class RepetitionPenalty:
    """Greedy choice that does not go in circles: a greedy policy that returns to a state repeats itself for ever. So
    this counts the actions in each state since the routine began, and subtracts from their logits."""

    def __init__(self, penalty: float, count: int) -> None:
        self.penalty = penalty
        self._chosen: list[Counter[tuple[bytes, int]]] = [Counter() for _ in range(count)]

    def forget(self, where: NDArray[np.bool_]) -> None:
        """A new routine begins in these worlds."""
        for number in np.flatnonzero(where):
            self._chosen[number].clear()

    def copied(self) -> RepetitionPenalty:
        copy = RepetitionPenalty(self.penalty, 0)
        copy._chosen = [chosen.copy() for chosen in self._chosen]
        return copy

    def choose(self, logits: NDArray[np.float32], seen: Observation, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The best actions in these worlds."""
        arrays = [array.cpu().numpy() for name, array in seen.arrays.items() if name != VISITS]
        states = [b"".join(array[row].tobytes() for array in arrays) for row in range(len(numbers))]
        penalised = logits.copy()
        for row, (state, number) in enumerate(zip(states, numbers, strict=True)):
            chosen = self._chosen[number]
            if chosen:
                penalised[row] -= self.penalty * np.array([chosen[state, action] for action in range(logits.shape[1])])
        actions = penalised.argmax(axis=1)
        for state, number, action in zip(states, numbers, actions.tolist(), strict=True):
            self._chosen[number][state, action] += 1
        return actions


@dataclass(frozen=True)
class Memory:
    """Kept between the steps of worlds: Z, and the actions chosen since a routine began."""

    execution: WorldExecution
    penalty: RepetitionPenalty

    def moved_to(self, worlds: Observable) -> Memory:
        """A copy for other worlds of the same number and size."""
        return Memory(self.execution.moved_to(worlds), self.penalty.copied())

    @property
    def shape(self) -> tuple[int, int]:
        """Worlds, and routines of a program."""
        return self.execution.results.shape[0], self.execution.results.shape[1]


@dataclass(frozen=True)
class Decision:
    """The choice of actions in many worlds."""

    actions: NDArray[np.int64]
    """(worlds,) 0 where the program is over"""
    numbers: NDArray[np.int64]
    """(running,) numbers of the worlds that run"""
    probabilities: Tensor
    """(running, actions) of the model, before the repetition penalty"""
    rows: Tensor
    """(running, d) the new rows of Z"""
    attention: Watch
    """Attention weights by name (see `Executor.forward`); empty unless they were asked for."""


class ExecutorAgent:
    """Acts by a model: greedily with a repetition penalty (0: strictly greedily), or by sampling."""

    def __init__(
        self,
        model: Model,
        *,
        repetition_penalty: float = REPETITION_PENALTY,
        sample: bool = False,
        seed: int = 0,
        erase_results: bool = False,
    ) -> None:
        """`erase_results`: Z is zero before every step, so that no routine gets another's result."""
        self.model, self.repetition_penalty, self.sample = model.eval(), repetition_penalty, sample
        self.erase_results = erase_results
        self._generator = torch.Generator().manual_seed(seed)
        self._worlds: Observable | None = None
        self._memory: Memory

    def act(self, worlds: Observable) -> NDArray[np.int64]:
        """An action in every world that still runs (0 in the others).

        Results are kept between calls, and forgotten at time 0.
        """
        if self._worlds is not worlds:
            self._worlds, self._memory = worlds, self.begin(worlds)
        return self.decide(worlds, self._memory, sample=self.sample).actions

    def begin(self, worlds: Observable) -> Memory:
        """An empty memory."""
        return Memory(WorldExecution(self.model, worlds), RepetitionPenalty(self.repetition_penalty, worlds.count))

    @torch.inference_mode()
    def decide(self, worlds: Observable, memory: Memory, *, sample: bool = False, watch: bool = False) -> Decision:
        """Actions in the worlds that still run, and what they were chosen by; the memory is brought up to date."""
        running = worlds.outcome == Outcome.RUNNING
        numbers, actions = np.flatnonzero(running), np.zeros(worlds.count, np.int64)
        if len(numbers) == 0:
            nothing = torch.zeros(0, 0)
            return Decision(actions, numbers, nothing, nothing, {})
        begun = (worlds.time == 0) & running
        memory.execution.forget(begun)
        memory.penalty.forget(begun | (worlds.ended >= 0))
        if self.erase_results:
            memory.execution.results.zero_()
        seen, attention = memory.execution.observe(numbers), Watch()
        logits, rows = infer(self.model, seen, attention if watch else None)
        memory.execution.keep(rows, numbers)
        probabilities = logits.softmax(dim=1).cpu()
        if sample:
            actions[numbers] = torch.multinomial(probabilities, 1, generator=self._generator)[:, 0].numpy()
        elif self.repetition_penalty:
            actions[numbers] = memory.penalty.choose(logits.cpu().numpy(), seen, numbers)
        else:
            actions[numbers] = logits.argmax(dim=1).cpu().numpy()
        return Decision(actions, numbers, probabilities, rows, attention)
