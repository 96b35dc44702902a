"""A trained executor in the 2D Minecraft world, as returned by `program_guided.load("minecraft")`.

executor = program_guided.load("minecraft")
execution = executor.run("mine(gold); sell(gold)", seed=0)
execution[-1].outcome
executions = executor.run(["mine(gold)", "mine(iron)"], seed=[1, 2])        # in one batch

observation, info = environment.reset()
action, state = executor.predict(observation)                                # then: predict(observation, state)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.language.syntax import Program
from program_guided.learning.checkpoint import Checkpoint
from program_guided.learning.executor_agent import Decision, ExecutorAgent, Memory
from program_guided.learning.worlds import Outcome, Worlds, pointed_rows, routines_left
from program_guided.models.model import Model
from program_guided.tasks.executor import ProgramList, paired
from program_guided.tasks.minecraft.execution import Choice, Execution, Moment
from program_guided.tasks.minecraft.observation import ObservedWorlds
from program_guided.tasks.minecraft.scenario import worlds_of
from program_guided.tasks.minecraft.snapshots import routine_text, snapshot
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.wrappers import restored

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.task import Minecraft

__all__ = ["MinecraftExecutor", "PredictState"]


@dataclass(frozen=True)
class PredictState:
    """Kept by `predict` from step to step."""

    worlds: ObservedWorlds
    memory: Memory


class MinecraftExecutor:
    """An agent that acts by a model; `acting` is passed on to `ExecutorAgent`."""

    def __init__(
        self, model: Model, checkpoint: Checkpoint | None, task: Minecraft | None = None, **acting: Any
    ) -> None:
        self.model, self.checkpoint, self.task = model, checkpoint, task
        self.agent = ExecutorAgent(model, **acting)

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action in every world that still runs."""
        return self.agent.act(worlds)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Actions for what an environment or a vector environment observes, and the state to go on with; the signature
        is that of Stable-Baselines3.

        The state, a `PredictState`, is not changed, but a new one is returned. New episodes are recognised by their
        time, so `episode_start` may be left out. With `deterministic=False` actions are sampled.
        """
        arrays = restored(observation)
        single = np.ndim(arrays["map"]) == 2
        arrays = {name: array[None] for name, array in arrays.items()} if single else arrays
        worlds = ObservedWorlds(arrays, None if state is None else _same(state, arrays).worlds)
        if episode_start is not None:
            worlds.restart(np.atleast_1d(np.asarray(episode_start, np.bool_)))
        memory = self.agent.begin(worlds) if state is None else state.memory.moved_to(worlds)
        actions = self.agent.decide(worlds, memory, sample=not deterministic).actions
        return (actions[0, ...] if single else actions), PredictState(worlds, memory)

    @overload
    def run(
        self, program: str | Program, seed: int = 0, map: str | None = None, inventory: Mapping[str, int] | None = None
    ) -> Execution: ...
    @overload
    def run(
        self,
        program: ProgramList,
        seed: int | Sequence[int] = 0,
        map: str | None = None,
        inventory: Mapping[str, int] | None = None,
    ) -> list[Execution]: ...
    @overload
    def run(
        self,
        program: str | Program,
        seed: Sequence[int],
        map: str | None = None,
        inventory: Mapping[str, int] | None = None,
    ) -> list[Execution]: ...
    def run(
        self,
        program: str | Program | ProgramList,
        seed: int | Sequence[int] = 0,
        map: str | None = None,
        inventory: Mapping[str, int] | None = None,
    ) -> Execution | list[Execution]:
        """Execute a program in a sampled world, or on a given map. With a list of programs, of seeds, or of both: all
        of them at once, and a list of executions."""
        programs, seeds = paired(program, seed)
        batch = worlds_of([{"program": each, "map": map, "inventory": inventory} for each in programs], seeds)
        executions = self._execute(batch, seeds)
        return executions[0] if isinstance(program, str | Program) and isinstance(seed, Integral) else executions

    def _execute(self, batch: Batch, seeds: Sequence[int]) -> list[Execution]:
        moments: list[list[Moment]] = [[] for _ in seeds]
        memory, latest = self.agent.begin(batch), [""] * batch.count
        while (batch.outcome == Outcome.RUNNING).any():
            decision = self.agent.decide(batch, memory, sample=self.agent.sample, watch=True)
            choices = self._choices(batch, decision)
            for world, choice in choices.items():
                moments[world].append(_moment(batch, world, latest[world], choice))
                latest[world] = choice.action
            batch.step(decision.actions)
            for world in choices:
                if batch.outcome[world] != Outcome.RUNNING:
                    moments[world].append(_moment(batch, world, latest[world], None))
        return [Execution(each, seed) for each, seed in zip(moments, seeds, strict=True)]

    @torch.inference_mode()
    def _choices(self, batch: Batch, decision: Decision) -> dict[int, Choice]:
        """The choices in the worlds that run."""
        values, mask, largest = self._values(batch, decision), batch.view.mask, batch.worlds.cells.shape[1]
        readings = [weights for name, weights in decision.attention.items() if name.startswith("cells")]
        attention = torch.zeros(len(decision.numbers), largest, largest)
        for weights in readings:
            cells = weights[:, :, : largest**2].mean(dim=1).cpu()
            attention += cells.view_as(attention) / len(readings)
        found = {}
        for row, world in enumerate(decision.numbers.tolist()):
            side, chances = int(batch.worlds.side[world]), decision.probabilities[row].tolist()
            found[world] = Choice(
                batch.action_name(int(decision.actions[world])),
                {batch.action_name(number): chances[number] for number in np.flatnonzero(mask[world]).tolist()},
                None if values is None else values[row],
                tuple(tuple(line) for line in attention[row, :side, :side].tolist()),
            )
        return found

    def _values(self, batch: Batch, decision: Decision) -> list[float] | None:
        """The values of the states, if the executor was trained to know them."""
        training = {} if self.checkpoint is None else self.checkpoint.training
        if training.get("target", "dense") == "dense":
            return None
        left = torch.from_numpy(routines_left(batch.programs)[pointed_rows(batch)[decision.numbers]])
        values: list[float] = self.model.value(
            decision.rows, None if training.get("algorithm") == "a2c" else left
        ).tolist()
        return values


def _same(state: PredictState, arrays: Mapping[str, NDArray[Any]]) -> PredictState:
    found, expected = arrays["words"].shape[:2], state.memory.shape
    if found != expected:
        raise WorldError(
            f"state: it is of {expected[0]} worlds with programs of up to {expected[1]} routines, the observation of "
            f"{found[0]} with up to {found[1]}; begin with state=None"
        )
    return state


def _moment(batch: Batch, world: int, action: str, choice: Choice | None) -> Moment:
    """World `world` now, `action` having led here."""
    table, routine = batch.tables[int(batch.program[world])], int(batch.routine[world])
    over = batch.outcome[world] != Outcome.RUNNING or routine >= len(table)  # `goto` to where the agent stands
    pointed = "" if over else routine_text(table, routine)
    return Moment(**vars(snapshot(batch, world, action)), routine=pointed, choice=choice)
