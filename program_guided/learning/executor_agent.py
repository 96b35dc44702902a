"""A model as an agent in worlds: acts greedily but not in circles, strictly greedily, or by sampling.

agent = ExecutorAgent(model)
actions = agent.act(worlds)
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.learning.execution import WorldExecution, infer
from program_guided.learning.observation import Observation
from program_guided.learning.worlds import Outcome, Worlds
from program_guided.models.attention import Watch
from program_guided.models.model import Model

__all__ = ["REPETITION_PENALTY", "ExecutorAgent", "RepetitionPenalty"]

REPETITION_PENALTY = 1.0
"""Amount by which an action's logit falls each time it was chosen in the same state during the same routine."""


class RepetitionPenalty:
    """Greedy choice that does not go in circles: who comes back to a state and acts as before goes on so for ever. So
    this counts the actions in each state since the routine began, and subtracts from their logits."""

    def __init__(self, penalty: float, count: int) -> None:
        self.penalty = penalty
        self._chosen: list[Counter[tuple[bytes, int]]] = [Counter() for _ in range(count)]

    def forget(self, where: NDArray[np.bool_]) -> None:
        """A new routine begins in these worlds."""
        for number in np.flatnonzero(where):
            self._chosen[number].clear()

    def choose(self, logits: NDArray[np.float32], seen: Observation, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The best actions in these worlds."""
        arrays = [array.cpu().numpy() for array in seen.arrays.values()]
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


class ExecutorAgent:
    """Acts by a model: greedily with a repetition penalty (0: strictly greedily), or by sampling."""

    def __init__(
        self, model: Model, *, repetition_penalty: float = REPETITION_PENALTY, sample: bool = False, seed: int = 0
    ) -> None:
        self.model, self.repetition_penalty, self.sample = model.eval(), repetition_penalty, sample
        self.watch: list[Watch] | None = None
        """Set it to a list, and every step adds its attention weights (see `Executor.forward`)."""
        self._generator = torch.Generator().manual_seed(seed)
        self._execution: WorldExecution | None = None
        self._penalty: RepetitionPenalty

    @torch.inference_mode()
    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action in every world that still runs (0 in the others).

        Results are kept between calls, and forgotten at time 0.
        """
        if self._execution is None or self._execution.worlds is not worlds:
            self._execution = WorldExecution(self.model, worlds)
            self._penalty = RepetitionPenalty(self.repetition_penalty, worlds.count)
        running = worlds.outcome == Outcome.RUNNING
        numbers, actions = np.flatnonzero(running), np.zeros(worlds.count, np.int64)
        if len(numbers) == 0:
            return actions
        begun = (worlds.time == 0) & running
        self._execution.forget(begun)
        self._penalty.forget(begun | (worlds.ended >= 0))
        watch: Watch | None = None if self.watch is None else {}
        seen = self._execution.observe(numbers)
        logits, rows = infer(self.model, seen, watch)
        if self.watch is not None and watch is not None:
            self.watch.append(watch)
        self._execution.keep(rows, numbers)
        if self.sample:
            drawn = torch.multinomial(logits.softmax(dim=1).cpu(), 1, generator=self._generator)[:, 0].numpy()
        elif self.repetition_penalty:
            drawn = self._penalty.choose(logits.cpu().numpy(), seen, numbers)
        else:
            drawn = logits.argmax(dim=1).cpu().numpy()
        actions[numbers] = drawn
        return actions
