"""Settings of trainings; no torch here, so that the command line can show them at once.

RECIPES["minecraft", "reward", "plus"]     # what `proto train minecraft --target reward --model plus` does by default
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from program_guided.errors import DataError

__all__ = [
    "RECIPES",
    "A2CSettings",
    "DenseSettings",
    "PPOSettings",
    "PictureSettings",
    "RewardSettings",
    "Settings",
    "Target",
    "VisualSettings",
    "WorldSettings",
]

Target = Literal["dense", "partial", "reward", "progress"]


@dataclass(frozen=True)
class Settings:
    """What every training must be told."""

    steps: int
    """Steps of the training."""
    every: int = 500
    """Steps between evaluations on the held-out part of train, and saved states."""
    rate: float = 2e-3
    """Learning rate at its height."""
    warm_up: int = 200
    """Turns (a step, or a rollout and its updates) over which the learning rate rises."""
    falling: bool = True
    """Whether the learning rate falls to 0 along a cosine."""
    decay: float = 0.01
    """Weight decay."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    average: float = 0.999
    """The weights that are kept are an average over about the last 1 / (1 - this) updates."""

    COUNTS: ClassVar[tuple[str, ...]] = ("steps", "every", "warm_up")
    SHARES: ClassVar[tuple[str, ...]] = ("average", "decay")
    POSITIVE: ClassVar[tuple[str, ...]] = ("rate", "clip")
    WEIGHTS: ClassVar[tuple[str, ...]] = ()

    @property
    def stride(self) -> int:
        """Steps of one turn."""
        return 1

    @property
    def shared(self) -> tuple[str, int]:
        """The setting that processes share out."""
        raise NotImplementedError

    @property
    def samples(self) -> int:
        """Examples in one turn."""
        return self.shared[1]

    @property
    def turns(self) -> int:
        """Turns of the whole training."""
        return -(-self.steps // self.stride)

    def check(self, processes: int = 1) -> None:
        """One clear error for settings that cannot be."""
        for name in self.COUNTS:
            if getattr(self, name) < 1:
                raise DataError(f"{_flag(self, name)}: at least 1 is needed")
        for name in self.SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{_flag(self, name)}: a share is from 0 to 1")
        if self.average == 1:
            raise DataError("--average 1: an average that never moves; it must be less than 1")
        for name in self.POSITIVE:
            if not getattr(self, name) > 0:
                raise DataError(f"{_flag(self, name)}: it must be more than 0")
        for name in self.WEIGHTS:
            if not getattr(self, name) >= 0:
                raise DataError(f"{_flag(self, name)}: it cannot be less than 0")
        if processes < 1:
            raise DataError(f"--processes {processes}: at least 1 is needed")
        name, count = self.shared
        if count % processes:
            raise DataError(f"--{name} {count} cannot be shared evenly by --processes {processes}")


def _flag(settings: Settings, name: str) -> str:
    return f"--{name.replace('_', '-')} {getattr(settings, name)}"


@dataclass(frozen=True)
class WorldSettings(Settings):
    """What every training in the world must be told."""

    worlds: int = 512
    """Worlds stepped at once, in all processes together."""
    variants: int = 64
    """Worlds of each program."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "worlds", "variants")

    @property
    def shared(self) -> tuple[str, int]:
        return "worlds", self.worlds


@dataclass(frozen=True)
class DenseSettings(WorldSettings):
    """How dense training goes."""

    steps: int = 20_000
    """Steps of all worlds, each with one update of the weights."""
    states: Literal["learner", "planner"] = "learner"
    """Whose steps lead through the worlds: the learner's own (DAgger), or the planner's (behaviour cloning)."""
    loss: Literal["cross-entropy", "l2"] = "cross-entropy"
    """Minus the log of the probability of all best actions, or the paper's L2 distance."""
    conditions: float = 1.0
    """Weight of a condition's loss beside that of a behaviour's step; there are fewer of them."""
    asked: float = 0.0
    """Share of the worlds in which the learner is also asked a condition of some other program, in each update."""
    greedy: float = 0.5
    """Share of the worlds in which the learner acts greedily instead of sampling, at the end; it rises from 0."""
    rising: float = 1.0
    """Share of the training over which that rises."""
    guided: float = 0.5
    """Share of the planner's steps at the beginning; it falls to 0 over the first twentieth of the training."""

    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "asked", "greedy", "guided")
    POSITIVE: ClassVar[tuple[str, ...]] = (*Settings.POSITIVE, "conditions", "rising")


@dataclass(frozen=True)
class RewardSettings(WorldSettings):
    """What every training from reward must be told."""

    steps: int = 10_000_000
    """Steps of single worlds."""
    every: int = 250_000
    """Steps between evaluations on the held-out part of train, and saved states."""
    horizon: int = 32
    """Steps of each world between updates."""
    discount: float = 0.97
    """What a reward is worth one step earlier."""
    trace: float = 0.95
    """How far back surprises reach in the advantages (lambda of generalised advantage estimation)."""
    entropy: float = 0.01
    """Weight of the entropy, at the beginning if the learning rate falls: it falls along."""
    value: float = 0.5
    """Weight of the value's error."""
    window: int = 1024
    """So many episodes are the latest, in each process."""

    COUNTS: ClassVar[tuple[str, ...]] = (*WorldSettings.COUNTS, "horizon", "window")
    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "discount", "trace")
    WEIGHTS: ClassVar[tuple[str, ...]] = ("entropy", "value")

    @property
    def stride(self) -> int:
        return self.worlds * self.horizon

    @property
    def samples(self) -> int:
        return self.stride


@dataclass(frozen=True)
class PPOSettings(RewardSettings):
    """How `plus` learns from reward: proximal policy optimisation."""

    steps: int = 5_000_000
    """Steps of single worlds."""
    rate: float = 1e-3
    """Learning rate at its height."""
    warm_up: int = 5
    """Turns (a step, or a rollout and its updates) over which the learning rate rises."""
    average: float = 0.995
    """The weights that are kept are an average over about the last 1 / (1 - this) updates."""
    epochs: int = 2
    """Passes over a rollout."""
    minibatch: int = 1024
    """Steps in one update of the weights, in all processes together."""
    ratio: float = 0.2
    """Beyond this change of an action's probability there is nothing to gain."""
    sharpen: float = 4.0
    """Scores of actions are multiplied by up to this; it rises from 1. So the learner acts more and more as it will
    when it acts greedily, and meets what goes wrong then."""
    remembered: int = 16_384
    """So many right answers to conditions are remembered: an episode that ends at one was answered wrongly."""
    recalled: int = 256
    """So many of them are learned from in each update, with what follows from them; 0: conditions are learned from
    their advantage, like actions."""
    conditions: float = 0.5
    """Weight of that."""
    hindsight: float = 0.25
    """Share of the steps that are learned from as going where they went, though it was not asked for; what is done by
    the way and rarer, like placing in a wrong place, is always learned from."""
    admit: float = 0.7
    """Programs of one more routine are admitted when this share of the latest episodes was finished; 0: all at once."""
    focus: float = 0.5
    """Share of the episodes whose programs are drawn by how often such routines have failed lately."""
    patience: int = 10
    """An episode is cut off after so many steps for each routine that is admitted, and as many more."""

    COUNTS: ClassVar[tuple[str, ...]] = (*RewardSettings.COUNTS, "epochs", "minibatch", "patience", "remembered")
    SHARES: ClassVar[tuple[str, ...]] = (*RewardSettings.SHARES, "admit", "focus", "hindsight")
    POSITIVE: ClassVar[tuple[str, ...]] = (*RewardSettings.POSITIVE, "ratio", "sharpen")
    WEIGHTS: ClassVar[tuple[str, ...]] = (*RewardSettings.WEIGHTS, "recalled", "conditions")


@dataclass(frozen=True)
class A2CSettings(RewardSettings):
    """How `paper` learns from reward: advantage actor-critic with the paper's settings."""

    worlds: int = 64
    """Worlds stepped at once, in all processes together."""
    horizon: int = 5
    """Steps of each world between updates."""
    rate: float = 1e-3
    """Learning rate at its height."""
    warm_up: int = 1
    """Turns (a step, or a rollout and its updates) over which the learning rate rises."""
    falling: bool = False
    """Whether the learning rate falls to 0 along a cosine."""
    decay: float = 0.0
    """Weight decay."""
    clip: float = 0.5
    """Largest norm of the gradient."""
    average: float = 0.0
    """The weights that are kept are an average over about the last 1 / (1 - this) updates."""
    discount: float = 0.99
    """What a reward is worth one step earlier."""
    trace: float = 1.0
    """How far back surprises reach in the advantages (lambda of generalised advantage estimation)."""
    entropy: float = 0.1
    """Weight of the entropy, at the beginning if the learning rate falls: it falls along."""


@dataclass(frozen=True)
class VisualSettings(Settings):
    """How visual reasoning is learned."""

    steps: int = 3_000
    """Updates of the weights."""
    questions: int = 128
    """Questions of each update, in all processes together."""
    together: int = 8
    """So many questions of a picture are asked in one update."""
    rate: float = 2e-3
    """Learning rate at its height."""
    decay: float = 0.1
    """Weight decay."""
    dropout: float = 0.2
    """Share of the features that is hidden."""
    elsewhere: float = 0.0
    """dense: share of the questions that are asked about another picture than their own."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "questions", "together")
    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "dropout", "elsewhere")

    @property
    def shared(self) -> tuple[str, int]:
        return "questions", self.questions


@dataclass(frozen=True)
class PictureSettings(VisualSettings):
    """How executors learn from few pictures."""

    steps: int = 150
    """Updates of the weights of each executor."""
    rate: float = 3e-3
    """Learning rate at its height."""
    warm_up: int = 50
    """Updates over which the learning rate rises."""
    average: float = 0.98
    """The weights that are kept are an average over about the last 1 / (1 - this) updates."""
    dropout: float = 0.2
    """Share of the words of programs that is hidden."""
    unread: float = 0.4
    """Share of what is read of pictures that is hidden."""
    members: int = 6
    """Executors of a seed, whose probabilities are averaged."""
    word_width: int = 16
    """Width of a word; an executor is eight times as wide."""
    hidden: int = 128
    """Hidden width of MLPs."""
    blocks: int = 1
    """How often a routine reads the picture."""

    COUNTS: ClassVar[tuple[str, ...]] = (*VisualSettings.COUNTS, "members", "word_width", "hidden", "blocks")
    SHARES: ClassVar[tuple[str, ...]] = (*VisualSettings.SHARES, "unread")


RECIPES: Mapping[tuple[str, str, str], Settings] = {
    ("minecraft", "dense", "plus"): DenseSettings(),
    ("minecraft", "dense", "paper"): DenseSettings(steps=18_000, rate=1e-3, asked=0.25, rising=0.4),
    ("minecraft", "reward", "plus"): PPOSettings(),
    ("minecraft", "reward", "paper"): A2CSettings(),
    ("minecraft", "progress", "plus"): PPOSettings(),
    ("minecraft", "progress", "paper"): A2CSettings(),
    ("visual", "dense", "plus"): VisualSettings(elsewhere=0.25),
    ("visual", "partial", "plus"): VisualSettings(),
    ("visual", "dense", "paper"): VisualSettings(questions=256, rate=1e-4, decay=0.01, dropout=0.0),
    ("visual", "partial", "paper"): VisualSettings(questions=256, rate=1e-4, decay=0.01, dropout=0.0),
}
"""By task, target and model."""
