"""Settings of trainings; no torch here, so that the command line can show them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from program_guided.errors import DataError

__all__ = [
    "A2CSettings",
    "Algorithm",
    "ImitationSettings",
    "PPOSettings",
    "Recipe",
    "RewardSettings",
    "Settings",
    "SupervisedSettings",
    "Target",
    "TranslationSettings",
    "WorldSettings",
]

Target = Literal["dense", "partial", "reward", "progress"]
Algorithm = Literal["ppo", "a2c"]


@dataclass(frozen=True)
class Settings:
    """Settings of every training."""

    steps: int
    """Steps of the training."""
    eval_every: int = 500
    """Steps between evaluations on the held-out part of train, and saved states."""
    learning_rate: float = 2e-3
    """Learning rate at its height."""
    warmup: int = 200
    """Iterations (an update, or a rollout and its updates) over which the learning rate rises."""
    anneal: bool = True
    """Let the learning rate fall to 0 along a cosine."""
    weight_decay: float = 0.01
    """Weight decay of AdamW."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    ema: float = 0.999
    """The weights that are kept are an exponential moving average with this decay."""

    COUNTS: ClassVar[tuple[str, ...]] = ("steps", "eval_every", "warmup")
    SHARES: ClassVar[tuple[str, ...]] = ("ema", "weight_decay")
    POSITIVE: ClassVar[tuple[str, ...]] = ("learning_rate", "max_grad_norm")
    WEIGHTS: ClassVar[tuple[str, ...]] = ()

    @property
    def stride(self) -> int:
        """Steps of one iteration."""
        return 1

    @property
    def shared(self) -> tuple[str, int]:
        """The setting that processes share out."""
        raise NotImplementedError

    @property
    def samples(self) -> int:
        """Samples in one iteration."""
        return self.shared[1]

    @property
    def iterations(self) -> int:
        """Iterations of the whole training."""
        return -(-self.steps // self.stride)

    def check(self, processes: int = 1) -> None:
        """One clear error for settings that cannot be."""
        for name in self.COUNTS:
            if getattr(self, name) < 1:
                raise DataError(f"{_named(self, name)}: at least 1 is needed")
        for name in self.SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{_named(self, name)}: it must be from 0 to 1")
        if self.ema == 1:
            raise DataError("ema 1: an average that never moves; it must be less than 1")
        for name in self.POSITIVE:
            if not getattr(self, name) > 0:
                raise DataError(f"{_named(self, name)}: it must be more than 0")
        for name in self.WEIGHTS:
            if not getattr(self, name) >= 0:
                raise DataError(f"{_named(self, name)}: it cannot be less than 0")
        if processes < 1:
            raise DataError(f"processes {processes}: at least 1 is needed")
        name, count = self.shared
        if count % processes:
            raise DataError(f"{name} {count} cannot be shared evenly by processes {processes}")


def _named(settings: Settings, name: str) -> str:
    return f"{name.replace('_', '-')} {getattr(settings, name)}"


@dataclass(frozen=True)
class SupervisedSettings(Settings):
    """Dense (L_D) or partial (L_P) supervision on static specifications."""

    steps: int = 3_000
    """Updates of the weights."""
    batch_size: int = 128
    """Programs in each update, in all processes together."""
    per_specification: int = 8
    """Programs about one specification in an update, at most as many as there are on average."""
    weight_decay: float = 0.1
    """Weight decay of AdamW."""
    feature_dropout: float = 0.0
    """Share of the numbers of features that is set to 0 in training."""
    relabelled: float = 0.25
    """dense: share of the programs executed on another specification than their own; the oracle labels them."""
    easy_share: float = 0.5
    """Share of the training, at its beginning, with specifications that are easier to read, where a task has such."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "batch_size", "per_specification")
    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "feature_dropout", "relabelled", "easy_share")

    @property
    def shared(self) -> tuple[str, int]:
        return "batch-size", self.batch_size

    def check(self, processes: int = 1) -> None:
        super().check(processes)
        if self.feature_dropout == 1:
            raise DataError("feature-dropout 1: nothing would be left of the features; it must be less than 1")


@dataclass(frozen=True)
class TranslationSettings(Settings):
    """Training of a parser on questions and their programs."""

    steps: int = 10_000
    """Updates of the weights."""
    eval_every: int = 1_000
    """Steps between evaluations on the held-out part of train, and saved states."""
    batch_size: int = 32
    """Questions in each update, in all processes together."""
    learning_rate: float = 1e-3
    """Learning rate at its height."""
    ema: float = 0.998
    """The weights that are kept are an exponential moving average with this decay."""
    rephrased: float = 0.6
    """Share of the questions that the task varies: other words, other arguments, other programs."""
    word_dropout: float = 0.05
    """Share of the words that are read as unknown in training."""
    familiar_coef: float = 0.2
    """Weight of the loss of recognising words without sense."""
    held_out: float = 0.08
    """Share of the groups of questions (the pictures) that is evaluated on and not trained on."""
    fold: int = 0
    """Which groups are held out: 0 for the first share of them, 1 for the next."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "batch_size")
    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "rephrased", "word_dropout", "held_out")
    WEIGHTS: ClassVar[tuple[str, ...]] = ("familiar_coef", "fold")

    @property
    def shared(self) -> tuple[str, int]:
        return "batch-size", self.batch_size


@dataclass(frozen=True)
class WorldSettings(Settings):
    """Settings of every training in a world."""

    num_envs: int = 512
    """Worlds stepped at once, in all processes together."""
    variants: int = 64
    """Worlds of each program."""

    COUNTS: ClassVar[tuple[str, ...]] = (*Settings.COUNTS, "num_envs", "variants")

    @property
    def shared(self) -> tuple[str, int]:
        return "num-envs", self.num_envs


@dataclass(frozen=True)
class ImitationSettings(WorldSettings):
    """Dense supervision (L_D) in a world: the planner's actions as labels."""

    steps: int = 20_000
    """Steps of all worlds."""
    num_steps: int = 1
    """Steps of all worlds for each update of the weights; gradients of a model without a pointer flow through them."""
    states: Literal["learner", "planner"] = "learner"
    """Whose actions lead through the worlds: the learner's own (DAgger), or the planner's (behaviour cloning)."""
    loss: Literal["cross-entropy", "l2"] = "cross-entropy"
    """Minus the log of the probability of all best actions, or the paper's L2 distance."""
    condition_weight: float = 1.0
    """Weight of a condition's loss beside that of a behaviour's step; there are fewer of them."""
    extra_conditions: float = 0.0
    """Share of the worlds that are also asked a condition of some other program, in each update."""
    greedy_share: float = 0.5
    """Share of the worlds in which the learner acts greedily instead of sampling, at the end; it rises from 0."""
    greedy_rise: float = 1.0
    """Share of the training over which that rises."""
    planner_share: float = 0.5
    """Share of the planner's actions at the beginning; it falls to 0 over the first twentieth of the training."""

    COUNTS: ClassVar[tuple[str, ...]] = (*WorldSettings.COUNTS, "num_steps")
    SHARES: ClassVar[tuple[str, ...]] = (*Settings.SHARES, "extra_conditions", "greedy_share", "planner_share")
    POSITIVE: ClassVar[tuple[str, ...]] = (*Settings.POSITIVE, "condition_weight", "greedy_rise")

    @property
    def stride(self) -> int:
        return self.num_steps

    @property
    def samples(self) -> int:
        return self.num_steps * self.num_envs


@dataclass(frozen=True)
class RewardSettings(WorldSettings):
    """Settings of every training from reward (L_R)."""

    steps: int = 10_000_000
    """Steps of single worlds."""
    eval_every: int = 250_000
    """Steps between evaluations on the held-out part of train, and saved states."""
    num_steps: int = 32
    """Steps of each world in a rollout."""
    gamma: float = 0.97
    """Discount factor, at the beginning."""
    gamma_end: float | None = None
    """Discount factor at the end; gamma if left out. 1 - gamma falls along a geometric sequence."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    ent_coef: float = 0.01
    """Weight of the entropy, at the beginning if the learning rate is annealed: it falls along."""
    vf_coef: float = 0.5
    """Weight of the value's error."""
    window: int = 1024
    """Latest episodes that count as recent, in each process."""
    answers: Literal["learned", "given", "forgiven"] = "learned"
    """Answers of conditions. learned: the agent's, a wrong one ends the episode. given: the interpreter's; nothing is
    learned of them. forgiven: the agent's are learned from, the interpreter's are executed."""
    curriculum_threshold: float = 0.0
    """Programs of one more routine are admitted when this share of the recent episodes was finished; 0: all at once."""
    curriculum_focus: float = 0.0
    """Share of the episodes whose programs are drawn by how often such routines have failed lately."""
    retry_share: float = 0.0
    """Share of the failed episodes that are tried again, in the same world, once all programs are admitted."""
    steps_per_routine: int = 10
    """Steps for each admitted routine, plus one, after which an episode of the curriculum is truncated."""

    COUNTS: ClassVar[tuple[str, ...]] = (*WorldSettings.COUNTS, "num_steps", "window", "steps_per_routine")
    SHARES: ClassVar[tuple[str, ...]] = (
        *Settings.SHARES,
        "gamma",
        "gae_lambda",
        "curriculum_threshold",
        "curriculum_focus",
        "retry_share",
    )
    WEIGHTS: ClassVar[tuple[str, ...]] = ("ent_coef", "vf_coef")

    def check(self, processes: int = 1) -> None:
        super().check(processes)
        if self.gamma_end is not None and not self.gamma <= self.gamma_end <= 1:
            raise DataError(f"{_named(self, 'gamma_end')}: it must be from gamma, {self.gamma:g}, to 1")

    @property
    def stride(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def samples(self) -> int:
        return self.stride


@dataclass(frozen=True)
class PPOSettings(RewardSettings):
    """Proximal policy optimisation, with a curriculum, hindsight and answer replay."""

    steps: int = 5_000_000
    """Steps of single worlds, rounded up to whole rollouts."""
    learning_rate: float = 1e-3
    """Learning rate at its height."""
    warmup: int = 5
    """Iterations (a rollout and its updates) over which the learning rate rises."""
    ema: float = 0.995
    """The weights that are kept are an exponential moving average with this decay."""
    gamma_end: float | None = 0.995
    """Discount factor at the end; gamma if left out. 1 - gamma falls along a geometric sequence, so that a shorter way
    counts for less and less beside all that comes after."""
    update_epochs: int = 2
    """Passes over a rollout."""
    minibatch_size: int = 1024
    """Steps in one update of the weights, in all processes together."""
    clip_coef: float = 0.2
    """Clipping of the probability ratio."""
    inverse_temperature: float = 4.0
    """Logits are multiplied by up to this; it rises from 1. So the learner acts more and more as it will when it acts
    greedily, and meets what goes wrong then."""
    replay_size: int = 16_384
    """Labels of answers that are kept: an episode that ends at an answer was answered wrongly."""
    replay_batch: int = 256
    """Labels learned from in each update, with what follows from them; 0: answers are learned from their advantage,
    like actions."""
    replay_coef: float = 0.5
    """Weight of the loss of replayed answers."""
    hindsight_share: float = 0.25
    """Share of the steps that are learned from as a success of a frequent routine that they happened to end; of rare
    routines, all are."""
    curriculum_threshold: float = 0.7
    """Programs of one more routine are admitted when this share of the recent episodes was finished; 0: all at once."""
    curriculum_focus: float = 0.5
    """Share of the episodes whose programs are drawn by how often such routines have failed lately."""

    COUNTS: ClassVar[tuple[str, ...]] = (
        *RewardSettings.COUNTS,
        "update_epochs",
        "minibatch_size",
        "replay_size",
    )
    SHARES: ClassVar[tuple[str, ...]] = (*RewardSettings.SHARES, "hindsight_share")
    POSITIVE: ClassVar[tuple[str, ...]] = (*RewardSettings.POSITIVE, "clip_coef", "inverse_temperature")
    WEIGHTS: ClassVar[tuple[str, ...]] = (*RewardSettings.WEIGHTS, "replay_batch", "replay_coef")


@dataclass(frozen=True)
class A2CSettings(RewardSettings):
    """Advantage actor-critic with the paper's settings."""

    num_envs: int = 64
    """Worlds stepped at once, in all processes together."""
    num_steps: int = 5
    """Steps of each world in a rollout."""
    learning_rate: float = 1e-3
    """Learning rate at its height."""
    warmup: int = 1
    """Iterations (a rollout and its update) over which the learning rate rises."""
    anneal: bool = False
    """Let the learning rate fall to 0 along a cosine."""
    weight_decay: float = 0.0
    """Weight decay of AdamW."""
    max_grad_norm: float = 0.5
    """Gradients are clipped to this norm."""
    ema: float = 0.0
    """The weights that are kept are an exponential moving average with this decay."""
    gamma: float = 0.99
    """Discount factor, at the beginning."""
    gae_lambda: float = 1.0
    """Lambda of generalised advantage estimation."""
    ent_coef: float = 0.1
    """Weight of the entropy, at the beginning if the learning rate is annealed: it falls along."""
    standardise: bool = False
    """Shift and scale the advantages of a rollout to mean 0 and deviation 1."""


@dataclass(frozen=True)
class Recipe:
    """Defaults of a training."""

    settings: Settings
    model: Mapping[str, Any] = field(default_factory=dict)
    """Defaults of the model's configuration that differ from its own."""
    reader: Mapping[str, Any] = field(default_factory=dict)
    """The same of the reader's."""
