"""The 2D Minecraft world as a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, final

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, BOOLEAN, Domain
from program_guided.language.sentences import Lexicon
from program_guided.language.syntax import Program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.results import Action, Boolean, ResultType, Value
from program_guided.learning.settings import A2CSettings, Algorithm, ImitationSettings, PPOSettings, Recipe, Target
from program_guided.models.readers.config import Grid
from program_guided.tasks.minecraft.domain import (
    ACTIONS,
    CONTROL_FLOW,
    COUNT,
    DEFAULT_SIDES,
    DOMAIN,
    LARGEST_SIDE,
    NUMBERS,
    OBJECTS,
    THINGS,
)
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.splits import SIZES
from program_guided.tasks.world_task import BatchWorldTask

if TYPE_CHECKING:
    from program_guided.learning.checkpoint import Checkpoint
    from program_guided.models.model import Model
    from program_guided.tasks.minecraft.executor import MinecraftExecutor
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["Minecraft"]

BEHAVIOURS = ACTIONS.index("true")
"""Actions with smaller numbers belong to behaviours, the others are answers."""


@final
@dataclass(eq=False)
class Minecraft(BatchWorldTask):
    """Programs in the 2D Minecraft world."""

    held_out: int = 200
    """Number of programs at the end of train that are held out for evaluation."""
    without: tuple[str, ...] = ()
    """Leave out programs that contain one of these routines, like "mine(gold)" or "is_there[river]"."""

    data_flow: bool = False
    """Learn the whole language: train also on programs that count and compare. Without, the paper's."""

    name: ClassVar[str] = "minecraft"
    version: ClassVar[int] = DOMAIN.version
    reader: ClassVar[Any] = Grid(kinds=THINGS, side=LARGEST_SIDE, items=OBJECTS, train_side=DEFAULT_SIDES[1])
    splits: ClassVar[tuple[str, ...]] = tuple(SIZES)
    training_options: ClassVar[tuple[str, ...]] = ("held_out", "without")
    commands: ClassVar[Mapping[str, str]] = {
        "evaluate": "program_guided.tasks.minecraft.commands.evaluate:Evaluate",
        "run": "program_guided.tasks.minecraft.commands.run:Run",
        "build": "program_guided.tasks.minecraft.commands.dataset:Build",
        "stats": "program_guided.tasks.minecraft.commands.dataset:Stats",
    }

    @property
    def domain(self) -> Domain:
        return DOMAIN

    @property
    def learned_domain(self) -> Domain:
        return DOMAIN if self.data_flow else CONTROL_FLOW

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.learned_domain)

    @cached_property
    def results(self) -> Mapping[str, ResultType]:
        plain: dict[str, ResultType] = {ACTION: Action(values=ACTIONS[:BEHAVIOURS]), BOOLEAN: Boolean()}
        return plain | {COUNT: Value(COUNT, NUMBERS)} if self.data_flow else plain

    def entries(self, split: str) -> tuple[Entry, ...]:
        from program_guided.tasks.minecraft.routines import read_routine
        from program_guided.tasks.minecraft.splits import load_mixed_train, load_split

        removed = [read_routine(text) for text in self.without]
        every = load_mixed_train() if self.data_flow and split == "train" else load_split(split)
        return tuple(entry for entry in every if not any(each.in_program(entry.program) for each in removed))

    def questions(self, split: str) -> Iterator[tuple[str, Program]]:
        """The programs of a split in English, the same sentences every time; `by-hand`: sentences of a person. In train
        are those of the whole language."""
        from program_guided.tasks.minecraft.english import by_hand, say
        from program_guided.tasks.minecraft.splits import load_mixed_train, load_split

        if split == "by-hand":
            yield from by_hand()
            return
        for number, entry in enumerate(load_mixed_train() if split == "train" else load_split(split)):
            yield say(entry.program, Random(number)), entry.program

    def rephrased(self, question: str, program: Program, lexicon: Lexicon, random: Random) -> tuple[str, Program]:
        from program_guided.tasks.minecraft.english import rephrase

        return rephrase(program, random)

    def restored(self, checkpoint: Checkpoint) -> Minecraft:
        own = replace(self, data_flow=checkpoint.task.options.get("data_flow", False))
        task = super(Minecraft, own).restored(checkpoint)
        assert isinstance(task, Minecraft)
        return task

    def worlds(self, entries: Sequence[Entry], count: int, *, variants: int = 1) -> Batch:
        from program_guided.tasks.minecraft.world.batch import Batch

        return Batch(entries, count, variants=variants, data_flow=self.data_flow or None)

    def executor(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> MinecraftExecutor:
        from program_guided.tasks.minecraft.executor import MinecraftExecutor

        return MinecraftExecutor(model, checkpoint, self, **acting)

    def recipe(self, target: Target, model: str, algorithm: Algorithm) -> Recipe:
        if target == "dense":
            settings = ImitationSettings()
            if model == "paper":
                settings = replace(settings, steps=18_000, learning_rate=1e-3, extra_conditions=0.25, greedy_rise=0.4)
            if model == "pga":
                settings = replace(settings, extra_conditions=0.25)
            if model in ("transformer", "tree_rnn"):  # gradients through 16 steps, and as many steps of single worlds
                settings = replace(settings, steps=80_000, num_envs=128, num_steps=16, eval_every=2000)
            return Recipe(settings, reader={"visits": True})
        settings_of_reward = A2CSettings() if algorithm == "a2c" else PPOSettings()
        reader = {"names": model == "plus", "visits": True}
        return Recipe(settings_of_reward, model={"memory": False}, reader=reader)

    def check_data(self, target: Target) -> None:
        if len(self.entries("train")) <= self.held_out:
            left = len(self.entries("train"))
            problem = f"{left} programs of train are left" if self.without else f"train has {left} programs"
            raise DataError(f"held-out {self.held_out}: {problem}; at least one must be trained on")

    def identity(self) -> dict[str, Any]:
        return {"held_out": self.held_out, "without": list(self.without), **self.options()}
