"""What the learner lived through: its own steps, what each was worth, and what conditions have taught.

    experience = learner.collect()

A world that is over shows its last state for one more step and then begins again; its action in that step is ignored,
and the step is left out. So the value of the state after a step is always seen: a truncated episode is bootstrapped
from it, a terminated one is not.

Conditions teach more than the reward says: an episode that ends at a condition was answered wrongly, so the other
answer was right; one that goes on was answered right. The interpreter shows that without being asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.execution import Observation, infer
from program_guided.learning.settings import RewardSettings
from program_guided.learning.worlds import WorldLearner
from program_guided.tasks.minecraft.agents import pointed
from program_guided.tasks.minecraft.rules import Action, Outcome
from program_guided.tasks.minecraft.state import ProgramSet

__all__ = ["Experience", "RewardLearner", "advantages", "entropy", "routines_left"]

AnyRewardSettings = TypeVar("AnyRewardSettings", bound=RewardSettings)


@dataclass(frozen=True)
class Experience:
    """Steps of all worlds, one after the other."""

    observation: Observation
    rows: Tensor
    """Of the program set, that were pointed at."""
    left: Tensor
    """Routines that are at least left to the program's end."""
    actions: Tensor
    log_probabilities: Tensor
    entropy: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    answers: Tensor
    """The right answer at a condition, as an action; -1 elsewhere."""

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, numbers: Tensor) -> Experience:
        """These steps only."""
        others = {name: getattr(self, name)[numbers] for name in self.__annotations__ if name != "observation"}
        return replace(self, observation=self.observation.take(numbers), **others)


def advantages(
    rewards: Tensor, values: Tensor, terminated: Tensor, ended: Tensor, discount: float, trace: float
) -> Tensor:
    """Generalised advantage estimates, (steps, worlds).

    values has one row more: the value after the last step. `ended` (terminated, truncated, or over already) cuts the
    trace; `terminated` also says that nothing comes after.
    """
    result = torch.zeros_like(rewards)
    later = torch.zeros_like(rewards[0])
    for step in reversed(range(len(rewards))):
        surprise = rewards[step] + discount * values[step + 1] * ~terminated[step] - values[step]
        later = surprise + discount * trace * later * ~ended[step]
        result[step] = later
    return result


def entropy(log_probabilities: Tensor) -> Tensor:
    """Of each row; what is impossible adds nothing."""
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1)


def routines_left(programs: ProgramSet) -> NDArray[np.int64]:
    """For every routine of every program: how many are carried out at least from it to the end, itself included."""
    owner = np.repeat(np.arange(len(programs.size)), programs.size)
    first, size = programs.first[owner], programs.size[owner]
    left = np.full(len(owner) + 1, len(owner), np.int64)
    left[-1] = 0
    ways = [np.where(way < size, first + way, len(owner)) for way in (programs.on_true, programs.on_false)]
    while True:
        nearer = 1 + np.minimum(left[ways[0]], left[ways[1]])
        if np.array_equal(nearer, left[:-1]):
            return nearer
        left[:-1] = nearer


class RewardLearner(WorldLearner[AnyRewardSettings]):
    """A learner that acts by chance and is rewarded: +1 when a program is finished, or for `each_routine` that is."""

    tells_left = True
    """Whether the value is told how many routines are left."""

    def __init__(self, *given: Any, each_routine: bool = False, **named: Any) -> None:
        super().__init__(*given, **named)
        self._each_routine, self._left = each_routine, routines_left(self.batch.programs)
        self._recent = np.zeros(0, np.bool_)

    def collect(self) -> Experience:
        """Act for `horizon` steps in every world; what it was expected to do (`log_probabilities`, `entropy`, `values`)
        can be learned from at once, if gradients are asked for."""
        return self._collect()[0]

    def _collect(self) -> tuple[Experience, Experience]:
        """The experience, and all steps of all worlds: those of worlds that were over too."""
        seen, records = list[Observation](), list[dict[str, Tensor]]()
        for _ in range(self.settings.horizon):
            seen.append(self.execution.observe().kept())
            records.append(self._act(seen[-1]))
        with torch.no_grad():
            _, rows = self.execution.infer()
            last = self.value(rows, self._remaining()).cpu()
        every, running = _experience(seen, records, last, self.settings)
        return every.take(running), every

    def _act(self, observation: Observation) -> dict[str, Tensor]:
        """One step of every world, and what is to be remembered of it."""
        batch, remaining, running = self.batch, self._remaining(), self.batch.outcome == Outcome.RUNNING
        at = pointed(batch)
        log_probabilities, rows = self.policy(observation)
        log_probabilities = log_probabilities.cpu()
        actions = torch.multinomial(log_probabilities.detach().exp(), 1, generator=self.chance)[:, 0]
        with self.noted():
            self.walk(actions.numpy(), rows)
        outcome = np.where(running, batch.outcome, Outcome.RUNNING)
        over, finished = outcome != Outcome.RUNNING, outcome == Outcome.FINISHED
        self._recent = np.concatenate([self._recent, finished[over]])[-self.settings.window :]
        rewarded = finished | (running & ~over & (batch.ended >= 0) & self._each_routine)
        failed = over & ~finished
        self.count(at[running & ~failed & (batch.ended >= 0)], at[failed])
        return {
            "rows": torch.from_numpy(at),
            "left": remaining,
            "actions": actions,
            "log_probabilities": log_probabilities.gather(1, actions[:, None])[:, 0],
            "entropy": entropy(log_probabilities),
            "values": self.value(rows, remaining).cpu(),
            "rewards": torch.from_numpy(rewarded).float(),
            "terminated": torch.from_numpy(over & (outcome != Outcome.TIMEOUT)),
            "ended": torch.from_numpy(over | ~running),
            "answers": _answers(observation.mask.cpu(), actions, torch.from_numpy(outcome)),
            "running": torch.from_numpy(running),
        }

    def count(self, passed: NDArray[np.int64], failed: NDArray[np.int64]) -> None:
        """Told in every step which rows of the program set were finished with, and in which ones an episode failed."""

    def noted(self) -> AbstractContextManager[None]:
        """Around every step of the worlds."""
        return nullcontext()

    @property
    def entropy_weight(self) -> float:
        """It falls evenly to 0 if the learning rate falls."""
        return self.settings.entropy * (1 - self.share_done if self.settings.falling else 1.0)

    def policy(self, observation: Observation) -> tuple[Tensor, Tensor]:
        """Logarithms of the actions' probabilities, and the new rows of Z."""
        logits, rows = infer(self.model, observation)
        return (logits * self.sharpness).log_softmax(dim=1), rows

    @property
    def sharpness(self) -> float:
        """What scores of actions are multiplied by."""
        return 1.0

    def value(self, rows: Tensor, left: Tensor) -> Tensor:
        """What the states behind these rows of Z are worth."""
        told = rows + self.model.encoding[left.to(rows.device)] if self.tells_left else rows
        return self.model.decode(told, "Value")[:, 0]

    def _remaining(self) -> Tensor:
        """Routines left in every world."""
        worlds, programs = self.batch.worlds, self.batch.programs
        size = programs.size[worlds.program]
        left = self._left[programs.first[worlds.program] + np.minimum(worlds.routine, size - 1)]
        return torch.from_numpy(np.where(worlds.routine < size, left, 0))

    def figures(self) -> dict[str, float]:
        """% of the latest episodes finished."""
        return {"episodes finished": 100 * float(self._recent.mean())} if len(self._recent) else {}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        return tensors | {"recent": torch.from_numpy(self._recent)}, numbers

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._recent = tensors["recent"].numpy()


def _answers(mask: Tensor, actions: Tensor, outcome: Tensor) -> Tensor:
    """What was right at conditions, known from what came of the answers; -1 where it is not known."""
    known = mask[:, Action.TRUE] & (outcome != Outcome.TIMEOUT)
    other = Action.TRUE + Action.FALSE - actions
    right = torch.where((outcome == Outcome.RUNNING) | (outcome == Outcome.FINISHED), actions, other)
    return torch.where(known, right, -1)


def _experience(
    seen: list[Observation], records: list[dict[str, Tensor]], last: Tensor, settings: RewardSettings
) -> tuple[Experience, Tensor]:
    """The steps end to end, and which of them are of worlds that were running."""
    record = {name: torch.stack([each[name] for each in records]) for name in records[0]}
    values = torch.cat([record["values"].detach(), last[None]])
    ends = (record["terminated"], record["ended"])
    kept = ("rows", "left", "actions", "log_probabilities", "entropy", "values", "answers")
    gained = advantages(record["rewards"], values, *ends, settings.discount, settings.trace)
    every = Experience(
        Observation.together(seen),
        advantages=gained.flatten(),
        returns=(gained + values[:-1]).flatten(),
        **{name: record[name].flatten() for name in kept},
    )
    return every, record["running"].flatten().nonzero()[:, 0]
