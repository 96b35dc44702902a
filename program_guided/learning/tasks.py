"""What a training needs to know of its task: how its executor is built, who learns, and how well it is done.

task = WorldTask(target="reward")
model = task.build(config); learner = task.learner(model, settings, seed=0); task.examine(learner.average)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.learning.a2c import A2CTraining
from program_guided.learning.agent import ExecutorAgent
from program_guided.learning.dense import DenseTraining
from program_guided.learning.evaluation import evaluate
from program_guided.learning.execution import build
from program_guided.learning.learner import Agree, Learner, Share, alone
from program_guided.learning.ppo import PPOTraining
from program_guided.learning.settings import A2CSettings, DenseSettings, PPOSettings, Settings, Target
from program_guided.models.config import ExecutorConfig
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.batch import Entry
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.routines import read_routine
from program_guided.tasks.minecraft.splits import load_split

__all__ = ["Standing", "Task", "WorldTask"]


@dataclass(frozen=True)
class Standing:
    """How well an executor does on what is held out, in %."""

    completion: float
    routines: Mapping[str, float] = field(default_factory=dict)
    """By operation."""
    lengths: Mapping[str, float] = field(default_factory=dict)
    """By program length."""


class Task(Protocol):
    """One task, with a target and what it is learned from."""

    @property
    def domain(self) -> Domain: ...

    @property
    def target(self) -> Target: ...

    def check(self) -> None:
        """One clear error for a task that cannot be."""

    def build(self, config: ExecutorConfig) -> Executor: ...

    def learner(
        self, model: Executor, settings: Any, seed: int, share: Share = (0, 1), agree: Agree = alone
    ) -> Learner[Any]: ...

    def examine(self, model: Executor) -> Standing:
        """On what is held out."""

    def told(self) -> dict[str, Any]:
        """What must be the same when a training is resumed; JSON."""

    def knows(self) -> dict[str, Any]:
        """What an executor needs besides its weights, so that it can be used without the data; JSON."""


LEARNERS: Mapping[type[Settings], type[Any]] = {
    DenseSettings: DenseTraining,
    PPOSettings: PPOTraining,
    A2CSettings: A2CTraining,
}


@dataclass(frozen=True)
class WorldTask:
    """Programs in the 2D Minecraft world."""

    target: Target = "dense"
    held_out: int = 200
    """So many programs at the end of train are not trained on, but evaluated on."""
    without: tuple[str, ...] = ()
    """Leave out programs that contain one of these routines."""
    programs: tuple[Entry, ...] | None = None
    """Train on these instead of the train split, and evaluate on them too."""

    domain: ClassVar[Domain] = DOMAIN

    def check(self) -> None:
        left = len(self._entries)
        if not self.programs and left <= self.held_out:
            problem = f"{left} programs of train are left" if self.without else f"train has {left} programs"
            raise DataError(f"--held-out {self.held_out}: {problem}; at least one must be trained on")

    def build(self, config: ExecutorConfig) -> Executor:
        return build(config)

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        removed = [read_routine(text) for text in self.without]
        every = self.programs or load_split("train")
        return tuple(entry for entry in every if not any(each.in_program(entry.program) for each in removed))

    def learner(
        self, model: Executor, settings: Any, seed: int, share: Share = (0, 1), agree: Agree = alone
    ) -> Learner[Any]:
        entries = self._entries if self.programs else self._entries[: -self.held_out]
        more = {"each_routine": True} if self.target == "progress" else {}
        learner: Learner[Any] = LEARNERS[type(settings)](model, entries, settings, seed, share, agree, **more)
        return learner

    def examine(self, model: Executor) -> Standing:
        held_out = self._entries if self.programs else self._entries[-self.held_out :]
        found = evaluate(ExecutorAgent(model), held_out)
        routines = found["routines"].items()
        return Standing(
            found["completion"],
            {name: 100 * (1 - sum(each["failed"].values()) / each["begun"]) for name, each in routines},
            {str(each["up_to"]): each["completion"] for each in found["tokens"]},
        )

    def told(self) -> dict[str, Any]:
        programs = [[entry.text, entry.seed] for entry in self.programs or ()]
        return {"target": self.target, "held_out": self.held_out, "without": list(self.without), "programs": programs}

    def knows(self) -> dict[str, Any]:
        return {}
