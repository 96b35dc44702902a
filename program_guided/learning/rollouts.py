"""Rollouts: the learner's own steps, their advantages, and the labels that answers give away.

    rollout = learner.collect()

A world that is over shows its last state for one more step and then begins again; its action in that step is ignored,
and the step is left out. So the value of the state after a step is always known: a truncated episode is bootstrapped
from it, a terminated one is not.

Conditions teach more than the reward: an episode that ends at a condition was answered wrongly, so the other answer was
right; one that goes on was answered right. So do the values of operations, of which a wrong one leaves all others. The
interpreter shows that without being asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from program_guided.learning.curriculum import Curriculum
from program_guided.learning.execution import infer
from program_guided.learning.observation import Observation
from program_guided.learning.settings import RewardSettings
from program_guided.learning.world_learner import WorldLearner
from program_guided.learning.worlds import Outcome, pointed_rows, routines_left

__all__ = ["RewardLearner", "Rollout", "advantages", "entropy", "right_answers", "standardised"]

AnyRewardSettings = TypeVar("AnyRewardSettings", bound=RewardSettings)


@dataclass(frozen=True)
class Rollout:
    """Steps of all worlds, one after the other."""

    observation: Observation
    rows: Tensor
    """Rows of the programs that were pointed at."""
    left: Tensor
    """Routines left, at least, to the program's end."""
    actions: Tensor
    log_probabilities: Tensor
    entropy: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    right: Tensor
    """(steps, actions) mask of the answers that can be right; none at a behaviour, or where nothing is known."""
    running: Tensor
    """Steps that are learned from: of worlds that were not over."""

    def __len__(self) -> int:
        return len(self.actions)

    def to(self, device: torch.device) -> Rollout:
        """The same on a device; observations are moved when they are read."""
        return replace(self, **{name: getattr(self, name).to(device) for name in self._plain()})

    def _plain(self) -> list[str]:
        return [name for name in self.__annotations__ if name != "observation"]

    def take(self, numbers: Tensor) -> Rollout:
        """These steps only."""
        others = {name: getattr(self, name)[numbers] for name in self._plain()}
        return replace(self, observation=self.observation.take(numbers), **others)


def advantages(
    rewards: Tensor, values: Tensor, terminated: Tensor, ended: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """Generalised advantage estimates, (steps, worlds).

    values has one row more: the value after the last step. `ended` (terminated, truncated, or over already) cuts the
    sum of temporal-difference errors; `terminated` also says that nothing comes after."""
    result = torch.zeros_like(rewards)
    later = torch.zeros_like(rewards[0])
    for step in reversed(range(len(rewards))):
        error = rewards[step] + gamma * values[step + 1] * ~terminated[step] - values[step]
        later = error + gamma * gae_lambda * later * ~ended[step]
        result[step] = later
    return result


def entropy(log_probabilities: Tensor) -> Tensor:
    """Entropy of each row; impossible actions add nothing."""
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1)


class RewardLearner(WorldLearner[AnyRewardSettings]):
    """A learner that samples its actions and is rewarded: +1 when a program is finished, or for `each_routine` that
    is."""

    counts_routines_left = True
    """Whether the value function is given the number of routines left."""

    def __init__(self, *given: Any, each_routine: bool = False, **named: Any) -> None:
        super().__init__(*given, **named)
        self._each_routine, self._left = each_routine, routines_left(self.worlds.programs)
        self._recent = np.zeros(0, np.bool_)
        self.curriculum: Curriculum | None = None
        if self.settings.curriculum_threshold or self.settings.curriculum_focus:
            self.curriculum = Curriculum(self.worlds, self.settings)
            self.curriculum.offer(self._numpy)
            self.worlds.reset()

    def end_iteration(self) -> None:
        """Admit longer programs, and draw those of the coming episodes."""
        if self.curriculum is not None:
            if self.curriculum.admit(self._recent):
                self._recent = self._recent[:0]
            self.curriculum.offer(self._numpy)
        self.done += 1

    def collect(self) -> Rollout:
        """Act for `num_steps` steps in every world; `log_probabilities`, `entropy` and `values` have gradients, if
        these are enabled."""
        return self._collect()[0]

    def _collect(self) -> tuple[Rollout, Rollout]:
        """The rollout, and all steps of all worlds: those of worlds that were over too."""
        self.execution.detach()
        seen, records = list[Observation](), list[dict[str, Tensor]]()
        for _ in range(self.settings.num_steps):
            seen.append(self.execution.observe().kept())
            records.append(self._act(seen[-1]))
        with torch.no_grad():
            _, rows = infer(self.model, self.execution.observe())
            last = self.value(rows, self._remaining()).cpu()
        every = _rollout(seen, records, last, self.gamma, self.settings.gae_lambda)
        return every.take(every.running.nonzero()[:, 0]), every

    def _act(self, observation: Observation) -> dict[str, Tensor]:
        """One step of every world, and its record."""
        worlds, remaining, running = self.worlds, self._remaining(), self.worlds.outcome == Outcome.RUNNING
        at = pointed_rows(worlds)
        log_probabilities, rows = self.policy(observation)
        log_probabilities = log_probabilities.cpu()
        actions = torch.multinomial(log_probabilities.detach().exp(), 1, generator=self.generator)[:, 0]
        executed, counted = self._answered(observation, actions)
        with self.noted():
            self.step_worlds(executed.numpy(), rows)
        outcome = np.where(running, worlds.outcome, Outcome.RUNNING)
        over, finished = outcome != Outcome.RUNNING, outcome == Outcome.FINISHED
        self._recent = np.concatenate([self._recent, finished[over]])[-self.settings.window :]
        rewarded = finished | (running & ~over & (worlds.ended >= 0) & self._each_routine)
        failed = over & ~finished
        if self.curriculum is not None:
            self.curriculum.count(at[running & ~failed & (worlds.ended >= 0)], at[failed])
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
            "right": right_answers(observation.mask.cpu(), executed, torch.from_numpy(outcome), worlds.first_answer),
            "running": torch.from_numpy(running) & counted,
        }

    def _answered(self, observation: Observation, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The actions that are executed, and (worlds,) whether they are learned from (`RewardSettings.answers`)."""
        due = ~observation.mask.cpu()[:, : self.worlds.first_answer].any(dim=1)
        if self.settings.answers == "learned":
            return actions, torch.ones_like(due)
        best = torch.from_numpy(self.worlds.best_actions()[0].argmax(axis=1))
        return torch.where(due, best, actions), ~due | (self.settings.answers == "forgiven")

    def noted(self) -> AbstractContextManager[None]:
        """Context of every step of the worlds."""
        return nullcontext()

    @property
    def gamma(self) -> float:
        """The discount factor now."""
        first, end = self.settings.gamma, self.settings.gamma_end
        if end is None:
            return first
        return 1 - (1 - first) ** (1 - self.share_done) * (1 - end) ** self.share_done

    @property
    def entropy_weight(self) -> float:
        """It falls evenly to 0 if the learning rate is annealed."""
        return self.settings.ent_coef * (1 - self.share_done if self.settings.anneal else 1.0)

    def policy(self, observation: Observation, length: int = 1) -> tuple[Tensor, Tensor]:
        """Logarithms of the actions' probabilities, and the new rows of Z (see `infer`)."""
        logits, rows = infer(self.model, observation, length=length)
        return (logits * self.inverse_temperature).log_softmax(dim=1), rows

    @property
    def inverse_temperature(self) -> float:
        """Factor of the logits of actions."""
        return 1.0

    def value(self, rows: Tensor, left: Tensor) -> Tensor:
        """Values of the states behind these rows of Z."""
        return self.model.value(rows, left if self.counts_routines_left else None)

    def _remaining(self) -> Tensor:
        """Routines left in every world."""
        worlds, programs = self.worlds, self.worlds.programs
        left = self._left[pointed_rows(worlds)]
        return torch.from_numpy(np.where(worlds.routine < programs.size[worlds.program], left, 0))

    def figures(self) -> dict[str, float]:
        """% of the latest episodes finished, and the length of the programs that are admitted."""
        finished = {"episodes finished": 100 * float(self._recent.mean())} if len(self._recent) else {}
        return finished if self.curriculum is None else {**finished, "admitted routines": self.curriculum.limit}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, numbers = super().state()
        more = ({}, {}) if self.curriculum is None else self.curriculum.state()
        return tensors | {"recent": torch.from_numpy(self._recent)} | more[0], numbers | more[1]

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        super().restore(tensors, numbers)
        self._recent = tensors["recent"].numpy()
        if self.curriculum is not None:
            self.curriculum.restore(tensors, numbers)


def standardised(advantages: Tensor, among: Tensor) -> Tensor:
    """Shifted and scaled so that those `among` have mean 0 and deviation 1."""
    counted = advantages[among]
    if len(counted) < 2:
        return advantages
    return (advantages - counted.mean()) / (counted.std() + 1e-6)


def right_answers(mask: Tensor, actions: Tensor, outcome: Tensor, first_answer: int) -> Tensor:
    """(steps, actions) mask of the answers that can be right, given the outcome: the given one if it passed, else all
    others; none at a behaviour, or where the episode was truncated."""
    known = ~mask[:, :first_answer].any(dim=1) & (outcome != Outcome.TIMEOUT)
    given = one_hot(actions, mask.shape[1]).bool()
    passed = (outcome == Outcome.RUNNING) | (outcome == Outcome.FINISHED)
    return torch.where(passed[:, None], given, mask & ~given) & known[:, None]


def _rollout(
    seen: list[Observation], records: list[dict[str, Tensor]], last: Tensor, gamma: float, gae_lambda: float
) -> Rollout:
    """The steps end to end."""
    record = {name: torch.stack([each[name] for each in records]) for name in records[0]}
    values = torch.cat([record["values"].detach(), last[None]])
    ends = (record["terminated"], record["ended"])
    kept = ("rows", "left", "actions", "log_probabilities", "entropy", "values", "right", "running")
    gained = advantages(record["rewards"], values, *ends, gamma, gae_lambda)
    return Rollout(
        Observation.together(seen),
        advantages=gained.flatten(),
        returns=(gained + values[:-1]).flatten(),
        **{name: record[name].flatten(0, 1) for name in kept},
    )
