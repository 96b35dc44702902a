"""`WorldTask`: a task in a world that changes, in one class; `BatchWorldTask`: one whose worlds are native.

    class Lamps(WorldTask):
        name, actions, limit = "lamps", ("up", "down", "left", "right", "press"), 80
        reader = readers.Grid(kinds=("floor", "wall", "lamp"), side=6)
        def draw(self, random): ...                      # a world
        def act(self, world, action): ...
        def encode(self, world): return {"map": world.map, "agent": world.agent}
        @behaviour
        def visit(self, world, lamp: Lamp): ...          # has it ended?
        @condition
        def lit(self, world, lamp: Lamp): ...

docs/your_task.md is the guide.
"""

from __future__ import annotations

import hashlib
import random
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.language.printer import print_program
from program_guided.language.sampler import Shape, UniformVocabulary, sample_program
from program_guided.language.syntax import Call, Program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.results import ResultType
from program_guided.learning.settings import A2CSettings, Algorithm, ImitationSettings, PPOSettings, Recipe, Target
from program_guided.tasks.base import TaskBase
from program_guided.tasks.signatures import Signatures, arguments_of, read_signatures

if TYPE_CHECKING:
    from program_guided.learning.checkpoint import Checkpoint
    from program_guided.learning.learner import AllReduce, Learner, Share
    from program_guided.learning.trainer import Validation
    from program_guided.learning.worlds import Worlds
    from program_guided.models.model import Model
    from program_guided.tasks.python_worlds import PythonWorlds

__all__ = ["BatchWorldTask", "Entry", "Failed", "WorldTask"]

MAX_DRAWS = 200
"""Programs drawn for each that is wanted."""


class Failed(Exception):
    """Raised by a behaviour: the program has failed, and the episode ends."""


@dataclass(frozen=True)
class Entry:
    """A program and the seed of its worlds."""

    program: Program
    seed: int


@dataclass(eq=False)
class BatchWorldTask(TaskBase):
    """A task in a world: programs, and many worlds that run them."""

    targets: ClassVar[tuple[Target, ...]] = ("dense", "reward", "progress")

    @abstractmethod
    def entries(self, split: str) -> Sequence[Any]:
        """The programs of a split, each with the seed of its worlds (`Entry`)."""

    @abstractmethod
    def worlds(self, entries: Sequence[Any], count: int, *, variants: int = 1) -> Worlds:
        """Many worlds that run these programs."""

    @property
    def has_planner(self) -> bool:
        """Whether there are best actions to learn from."""
        return True

    def result_sizes(self) -> tuple[tuple[str, int | None], ...]:
        from program_guided.models.config import VALUE

        return (*super().result_sizes(), (VALUE, 1))

    def recipe(self, target: Target, model: str, algorithm: Algorithm) -> Recipe:
        if target == "dense":
            return Recipe(ImitationSettings(steps=3000, num_envs=128, variants=16))
        if algorithm == "a2c":
            return Recipe(A2CSettings(), model={"memory": False})
        settings = PPOSettings(steps=800_000, eval_every=80_000, num_envs=256, variants=16)
        return Recipe(settings, model={"memory": False})

    def check_data(self, target: Target) -> None:
        if target == "dense" and not self.has_planner:
            raise DataError(f"target dense: {type(self).__name__} has no `best`; give it one, or learn from reward")
        entries = len(self.entries("train"))
        if entries <= self.held_out:
            raise DataError(f"held-out {self.held_out}: train has {entries} programs; at least one must be trained on")

    def learner(
        self,
        model: Model,
        settings: Any,
        target: Target,
        seed: int,
        share: Share = (0, 1),
        all_reduce: AllReduce | None = None,
    ) -> Learner[Any]:
        from program_guided.learning.learner import alone
        from program_guided.tasks.learners import world_learner

        entries = self.entries("train")[: -self.held_out]
        worlds = self.worlds(entries, settings.num_envs // share[1], variants=settings.variants)
        learner = world_learner(model, worlds, settings, target, seed, share, all_reduce or alone)
        learner.stand_ins = self._stand_ins(worlds.programs.words)
        return learner

    def _stand_ins(self, words: NDArray[Any]) -> dict[int, list[int]]:
        """Each word that these programs lack -> the words that they have in such a place."""
        known, index = set(np.unique(words).tolist()), self.vocabulary.index
        stand_ins = {}
        for word in (word for word, number in index.items() if number not in known):
            others = [index[other] for other in sorted(self.learned_domain.alternatives(word))]
            stand_ins[index[word]] = [other for other in others if other in known]
        return {word: others for word, others in stand_ins.items() if others}

    def validate(self, model: Model) -> Validation:
        from program_guided.learning.executor_agent import ExecutorAgent
        from program_guided.learning.trainer import Validation
        from program_guided.tasks.learners import evaluate_entries

        found = evaluate_entries(self, ExecutorAgent(model), self.entries("train")[-self.held_out :])
        routines = found["routines"].items()
        return Validation(
            found["completion"],
            {name: 100 * (1 - sum(each["failed"].values()) / each["begun"]) for name, each in routines},
            {str(each["up_to"]): each["completion"] for each in found["tokens"]},
        )

    def identity(self) -> dict[str, Any]:
        texts = "\n".join(print_program(entry.program, self.domain) for entry in self.entries("train"))
        digest = hashlib.sha256(texts.encode("utf-8")).hexdigest()[:16]
        return {"held_out": self.held_out, **self.options(), "programs": digest}


@dataclass(eq=False)
class WorldTask(BatchWorldTask):
    """A task in a world that is written in Python. Fields of a dataclass derived from it are its options."""

    actions: ClassVar[tuple[str, ...]] = ()
    commands: ClassVar[Mapping[str, str]] = {
        "evaluate": "program_guided.tasks.commands:EvaluateWorld",
        "run": "program_guided.tasks.commands:RunWorld",
        "stats": "program_guided.tasks.commands:StatsWorld",
    }
    limit: ClassVar[int] = 100
    """Steps, then an episode is truncated."""
    shape: ClassVar[Shape] = Shape(routines=(1, 6), depth=2, control=0.4, while_=0.3, else_=0.4)
    """Shape of sampled programs, unless `programs` gives others."""
    split_sizes: ClassVar[Mapping[str, int]] = {"train": 1000, "test": 200}

    @abstractmethod
    def encode(self, world: Any) -> Mapping[str, ArrayLike]:
        """A world as the arrays that the reader reads."""

    @abstractmethod
    def draw(self, random: random.Random) -> Any:
        """A world."""

    @abstractmethod
    def act(self, world: Any, action: str) -> None:
        """One step of a world, in place; the same action in the same world must always do the same."""

    def best(self, world: Any, routine: str, *arguments: Any) -> str | Collection[str]:
        """The best action or actions at a behaviour; enables dense supervision."""
        raise NotImplementedError

    def programs(self, split: str) -> Iterable[str | Program]:
        """The programs of a split; unless given, different ones are sampled from the language, and only those that the
        planner, if there is one, can finish."""
        return self._sampled[split]

    @cached_property
    def _sampled(self) -> dict[str, list[Program]]:
        vocabulary, seen = UniformVocabulary(self.domain), set[str]()
        source = random.Random(f"{self.task_name} {self.version}")
        chosen: dict[str, list[Program]] = {name: [] for name in self.split_sizes}
        for _ in range(MAX_DRAWS * sum(self.split_sizes.values())):
            missing = {name: size - len(chosen[name]) for name, size in self.split_sizes.items()}
            if not any(missing.values()):
                break
            (name,) = source.choices(list(missing), list(missing.values()))
            program = sample_program(vocabulary, self.shape, source)
            text = print_program(program, self.domain)
            if text not in seen and self._possible(program, len(seen)):
                chosen[name].append(program)
            seen.add(text)
        return chosen

    def _possible(self, program: Program, seed: int) -> bool:
        """Whether the planner finishes a program in some of its worlds."""
        from program_guided.tasks.python_worlds import feasible

        return not self.has_planner or feasible(self, self.compile(program), seed)

    def check_data(self, target: Target) -> None:
        super().check_data(target)
        _ = self._planner_finishes

    @cached_property
    def _planner_finishes(self) -> bool:
        """True; one clear error for a program of train that the planner, if there is one, finishes in no world."""
        from program_guided.tasks.python_worlds import MAX_REDRAWS, feasible

        ended = dict[str, bool]()
        for entry in self.entries("train") if self.has_planner else ():
            if not feasible(self, self.compile(entry.program), entry.seed, MAX_REDRAWS, ended):
                raise DataError(
                    f"{self.task_name}: the planner (`best`) finishes this program of train in none of {MAX_REDRAWS} "
                    f"worlds within {self.limit} steps; leave it out, or mend `best` or `draw`:\n"
                    + print_program(entry.program, self.domain)
                )
        never = ", ".join(name for name, once in ended.items() if not once)
        if never:
            raise DataError(
                f"{self.task_name}: the planner (`best`) never ends {never} in any world of train; does the behaviour "
                "return True at its end, and does `act` change the world?"
            )
        return True

    @property
    def has_planner(self) -> bool:
        return type(self).best is not WorldTask.best

    @cached_property
    def signatures(self) -> Signatures:
        if not self.actions:
            raise DataError(f"{type(self).__name__}: has no actions; give them, as in: actions = ('up', 'down')")
        return read_signatures(type(self), tuple(self.actions))

    @cached_property
    def domain(self) -> Domain:
        return Domain(self.task_name, self.version, self.signatures.operations, sequential=True)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        programs = (entry.program for entry in self.entries("train")) if self.domain.has_text else ()
        return Vocabulary.of(self.domain, programs)

    @cached_property
    def results(self) -> Mapping[str, ResultType]:
        return self.signatures.results

    @cached_property
    def _entries(self) -> dict[str, tuple[Entry, ...]]:
        return {}

    def entries(self, split: str) -> tuple[Entry, ...]:
        if split not in self._entries:
            if split not in self.splits:
                raise DataError(f"there is no split {split!r} of {self.task_name}; there are {', '.join(self.splits)}")
            first = 1_000_000 * (1 + self.splits.index(split))
            programs = [self.parse(each) if isinstance(each, str) else each for each in self.programs(split)]
            if not programs:
                raise DataError(f"{self.task_name}: there is no program of {split}; is there any that can be finished?")
            self._entries[split] = tuple(Entry(each, first + number) for number, each in enumerate(programs))
        return self._entries[split]

    def worlds(self, entries: Sequence[Entry], count: int, *, variants: int = 1) -> PythonWorlds:
        from program_guided.tasks.python_worlds import PythonWorlds

        return PythonWorlds(self, entries, count, variants=variants)

    def executor(self, model: Model, checkpoint: Checkpoint, **acting: Any) -> Any:
        from program_guided.tasks.executor import WorldExecutor

        return WorldExecutor.of(self, model, checkpoint, **acting)

    def show(self, world: Any) -> str:
        """A world as a person reads it."""
        return str(world)

    def call(self, world: Any, call: Call, inputs: Sequence[Any]) -> Any:
        """The result of a method: an answer, or whether a behaviour has ended."""
        arguments = arguments_of(self.signatures.methods[call.operation], call, inputs)
        return getattr(self, call.operation)(world, *arguments)
