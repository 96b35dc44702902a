"""Worlds of a `WorldTask`, written in Python, as a batch (`learning.worlds.Worlds`): slower than a native world, with
the same meaning.

A behaviour is asked after every step whether it has ended, so it takes at least one. An answer (to a condition, or the
value of an operation) takes one step, in which the world stands still; a wrong one ends the episode. Worlds are drawn
from the program's seed, and a state to resume from is the actions since then: it holds no code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, BOOLEAN
from program_guided.language.pointer import Pointer, advance, start
from program_guided.language.table import RoutineTable, compile_program
from program_guided.language.tokens import token_table
from program_guided.learning.replay import equal_only
from program_guided.learning.results import Categorical
from program_guided.learning.worlds import Only, Outcome, WorldObservation, pointed_rows
from program_guided.tasks.signatures import arguments_of
from program_guided.tasks.world_task import Entry, Failed, WorldTask

__all__ = ["MAX_REDRAWS", "PythonWorlds", "Rows", "feasible", "seeded"]

NONE = -1
MAX_REDRAWS = 200
"""Tries to draw a world in which the planner finishes a program."""
TRIED = 4
"""Worlds in which a sampled program is tried."""
MAX_CANDIDATES = 32
"""Routines that hindsight looks for in a rollout."""


@dataclass(frozen=True)
class Rows:
    """Routine tables laid end to end (`learning.worlds.ProgramRows`)."""

    first: NDArray[np.int32]
    size: NDArray[np.int16]
    operation: NDArray[np.int16]
    kind: NDArray[np.int8]
    on_true: NDArray[np.int16]
    on_false: NDArray[np.int16]
    words: NDArray[np.int64]
    inputs: NDArray[np.int16]
    """(rows, K) routines of the same program whose results a routine takes, -1 for none"""

    @classmethod
    def of(cls, tables: Sequence[RoutineTable], task: WorldTask) -> Rows:
        sizes = np.array([len(table) for table in tables])
        joined = {
            name: np.concatenate([getattr(table, name) for table in tables])
            for name in ("operation", "kind", "on_true", "on_false", "inputs")
        }
        words = np.concatenate([task.vocabulary.encode(table) for table in tables])
        first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)
        return cls(first, sizes.astype(np.int16), words=words, **joined)


@dataclass(frozen=True)
class PlainConditions:
    """Conditions of which nothing is known but their words (`learning.worlds.Conditions`)."""

    words: NDArray[np.int64]
    number: NDArray[np.int64]
    implied: NDArray[np.int8]


class PythonWorlds:
    """`count` worlds that draw their programs from `entries`."""

    def __init__(self, task: WorldTask, entries: Sequence[Entry], count: int, *, variants: int = 1) -> None:
        self.task, self.entries, self.count, self.variants = task, tuple(entries), count, variants
        self.tables = tuple(compile_program(entry.program, task.domain) for entry in self.entries)
        self.programs = Rows.of(self.tables, task)
        self.max_routines = int(self.programs.size.max())
        self.time_limit, self.retry_share = task.limit, 0.0
        self._slots = _answer_slots(task)
        """By result type, the first action that gives a value of it, and its values."""
        self._actions = self.first_answer = len(task.actions)
        self.action_count = self._actions + sum(len(values) for _, values in self._slots.values())
        true = self._slots[BOOLEAN][0] if BOOLEAN in self._slots else None
        self.answers = None if true is None else (true, true + 1)
        self._mask = np.stack([self._allowed(each.output) for each in task.domain.operations])
        self.program, self._variant = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.routine, self.previous = np.zeros(count, np.int64), np.full(count, NONE)
        self.time, self.outcome = np.zeros(count, np.int32), np.zeros(count, np.int8)
        self.ended = np.full(count, NONE)
        self._history: list[list[int]] = [[] for _ in range(count)]
        self._worlds: list[Any] = [None] * count
        self._values: list[dict[int, Any]] = [{} for _ in range(count)]
        """Results of the routines of each world that were executed."""
        self._encoded: list[Mapping[str, Any]] = [{} for _ in range(count)]
        self._offered = np.arange(len(self.entries), dtype=np.int32)
        self._checked: dict[tuple[int, int], int] = {}
        self._seed, self._episode = 0, np.zeros(count, np.int64)
        self._over = np.ones(count, np.bool_)

    def _allowed(self, output: str) -> NDArray[np.bool_]:
        allowed = np.zeros(self.action_count, np.bool_)
        first, values = (0, self.task.actions) if output == ACTION else self._slots[output]
        allowed[first : first + len(values)] = True
        return allowed

    def operation_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.task.domain.operations)

    def outcome_name(self, code: int) -> str:
        return str(Outcome(code))

    def world(self, i: int) -> Any:
        """A world as the task draws them."""
        return self._worlds[i]

    def action_name(self, action: int) -> str:
        """The name of an action: one of the task's, or the value that it answers."""
        if action < self._actions:
            return self.task.actions[action]
        for name, (first, values) in self._slots.items():
            if first <= action < first + len(values):
                return self.task.results[name].show(values[action - first])
        raise ValueError(action)

    # Episodes -----------------------------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        self._seed, self._episode[:] = seed, 0

    def offer(self, programs: NDArray[np.int32]) -> None:
        self._offered = np.asarray(programs, np.int32)

    def reset(self, where: NDArray[np.bool_] | None = None) -> None:
        every = np.ones(self.count, np.bool_) if where is None else where
        for i in np.flatnonzero(every).tolist():
            source = np.random.default_rng((self._seed, i, self._episode[i]))
            program, variant = int(self.program[i]), int(self._variant[i])
            if not (self.outcome[i] > Outcome.FINISHED and self.retry_share and source.random() < self.retry_share):
                program = int(self._offered[source.integers(len(self._offered))])
                variant = int(source.integers(self.variants))
            self.place(i, program, variant)
            self._episode[i] += 1

    def place(self, i: int, program: int, variant: int = 0) -> None:
        """Begin this program in this one of its worlds."""
        self.program[i], self._variant[i] = program, variant
        self._worlds[i] = self._drawn(program, variant)
        self.routine[i], self.previous[i], self.time[i], self.outcome[i] = 0, NONE, 0, Outcome.RUNNING
        self.ended[i] = NONE
        self._history[i], self._values[i] = [], {}
        self._encoded[i] = self.task.encode(self._worlds[i])

    def _drawn(self, program: int, variant: int) -> Any:
        """A world of a program: the first one drawn in which the planner, if there is one, finishes it."""
        return self.task.draw(seeded(self.entries[program].seed, self._find(program, variant)))

    def _find(self, program: int, variant: int) -> int:
        """The number of that world; simply the first one if there is none."""
        if (program, variant) not in self._checked:
            first, entry = variant * MAX_REDRAWS, self.entries[program]
            every = range(first, first + MAX_REDRAWS if self.task.has_planner else first)
            good = (number for number in every if _finishes(self.task, self.tables[program], entry.seed, number))
            self._checked[program, variant] = next(good, first)
        return self._checked[program, variant]

    def step(self, actions: NDArray[np.int64]) -> None:
        for i in range(self.count):
            self.ended[i] = NONE
            self._over[i] = self.outcome[i] != Outcome.RUNNING
            if not self._over[i]:
                self._step(i, int(actions[i]))

    def step_or_reset(self, actions: NDArray[np.int64]) -> None:
        self.step(actions)
        self.reset(self._over.copy())

    def _step(self, i: int, action: int) -> None:
        table, routine = self.tables[self.program[i]], int(self.routine[i])
        self._history[i].append(action)
        self.time[i] += 1
        if self._output(table, routine) == ACTION:
            try:
                self.task.act(
                    self._worlds[i], self.task.actions[action] if action < self._actions else self.task.actions[0]
                )
                self._encoded[i] = self.task.encode(self._worlds[i])
                if _answer(self.task, self._worlds[i], table, routine, self._values[i]):
                    self._advance(i, table, True)
            except Failed:
                self._end(i, Outcome.FAILED)
        else:
            self._answer(i, table, routine, action)
        if self.outcome[i] == Outcome.RUNNING and self.time[i] >= self.time_limit:
            self.outcome[i] = Outcome.TIMEOUT

    def _answer(self, i: int, table: RoutineTable, routine: int, action: int) -> None:
        """An answer that is wrong ends the episode."""
        right = self._truth(i, table, routine)
        first, values = self._slots[self._output(table, routine)]
        given = values[action - first] if first <= action < first + len(values) else None
        if given is None or given != right:
            self._end(i, Outcome.WRONG_ANSWER)
            return
        self._values[i][routine] = right
        self._advance(i, table, right)

    def _end(self, i: int, outcome: Outcome) -> None:
        self.ended[i] = self.previous[i] = self.routine[i]
        self.outcome[i] = outcome

    def _advance(self, i: int, table: RoutineTable, value: Any) -> None:
        pointer = advance(table, Pointer(int(self.routine[i]), int(self.previous[i])), bool(value))
        self.ended[i] = self.previous[i] = pointer.previous
        self.routine[i] = pointer.routine
        if pointer.finished(table):
            self.outcome[i] = Outcome.FINISHED

    def _output(self, table: RoutineTable, routine: int) -> str:
        return self.task.domain.operations[table.operation[routine]].output

    def _truth(self, i: int, table: RoutineTable, routine: int) -> Any:
        return _answer(self.task, self._worlds[i], table, routine, self._values[i])

    # What learning asks for ---------------------------------------------------------------------------------------

    def observe(self, only: Only = slice(None)) -> WorldObservation:
        numbers = np.arange(self.count)[only]
        rows, programs = pointed_rows(self)[only], self.programs
        program = self.program[only]
        words = np.zeros((len(numbers), self.max_routines, programs.words.shape[1]), np.int64)
        for row, each in enumerate(program):
            size, first = programs.size[each], programs.first[each]
            words[row, :size] = programs.words[first : first + size]
        parents = np.concatenate([self.previous[only][:, None], programs.inputs[rows].astype(np.int64)], axis=1)
        arrays = self.task.reader_config.collate([self._encoded[number] for number in numbers])
        longest = int(programs.size[program].max())
        return WorldObservation(
            arrays, words, self.routine[only], parents, self._mask[programs.operation[rows]], longest
        )

    def tokens(self, only: Only = slice(None)) -> NDArray[np.int16]:
        return self._token_table[self.program[only]]

    @cached_property
    def _token_table(self) -> NDArray[np.int16]:
        """(programs, tokens)"""
        return token_table([entry.program for entry in self.entries], self.task.domain, self.task.vocabulary)

    def best_actions(self) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        best = np.zeros((self.count, self.action_count), np.bool_)
        for i in np.flatnonzero(self.outcome == Outcome.RUNNING).tolist():
            table, routine = self.tables[self.program[i]], int(self.routine[i])
            output = self._output(table, routine)
            if output == ACTION:
                names = _best(self.task, self._worlds[i], table, routine, self._values[i])
                best[i, [self.task.actions.index(name) for name in names]] = True
            else:
                first, values = self._slots[output]
                best[i, first + values.index(self._truth(i, table, routine))] = True
        return best, np.zeros(self.count, np.int32)

    def conditions_hold(self, numbers: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        holds = np.zeros(len(numbers), np.bool_)
        for at, (i, row) in enumerate(zip(numbers.tolist(), rows.tolist(), strict=True)):
            program = int(np.searchsorted(self.programs.first, row, "right")) - 1
            call = self.tables[program].calls[row - int(self.programs.first[program])]
            holds[at] = bool(self.task.call(self._worlds[i], call, ()))
        return holds

    def conditions(self) -> PlainConditions:
        programs = self.programs
        names = self.task.domain.operations
        boolean = np.array([each.output == BOOLEAN for each in names])[programs.operation]
        rows = np.flatnonzero(boolean & (programs.inputs < 0).all(axis=1))
        words, number = np.unique(programs.words[rows], axis=0, return_inverse=True)
        numbers = np.full(len(programs.operation), NONE, np.int64)
        numbers[rows] = number.ravel()
        return PlainConditions(words, numbers, equal_only(words))

    def hindsight(self) -> PythonHindsight:
        return PythonHindsight(self)

    def behaviours(self) -> list[tuple[int, int]]:
        """(program, routine) of the different behaviours that the programs have, those that take results left out."""
        programs, found = self.programs, dict[bytes, tuple[int, int]]()
        actions = np.array([each.output == ACTION for each in self.task.domain.operations])[programs.operation]
        owner = np.repeat(np.arange(len(programs.size)), programs.size)
        for row in np.flatnonzero(actions & (programs.inputs < 0).all(axis=1)):
            place = (int(owner[row]), int(row - programs.first[owner[row]]))
            found.setdefault(programs.words[row].tobytes(), place)
        return list(found.values())

    # Resuming -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        actions = np.full((self.count, max([1, *map(len, self._history)])), NONE, np.int16)
        for i, history in enumerate(self._history):
            actions[i, : len(history)] = history
        arrays: dict[str, NDArray[Any]] = {
            "program": self.program,
            "variant": self._variant,
            "outcome": self.outcome,
            "ended": self.ended,
            "over": self._over,
            "episode": self._episode,
        }
        own = {name: array.copy() for name, array in arrays.items()}
        return own | {"actions": actions, "seed": np.array([self._seed])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.time_limit, limit = 10**9, self.time_limit  # what was truncated is in `outcome`
        for i in range(self.count):
            self.place(i, int(state["program"][i]), int(state["variant"][i]))
            for action in state["actions"][i][state["actions"][i] >= 0].tolist():
                self._step(i, action)
        self.time_limit = limit
        self.outcome[:], self.ended[:], self._over[:] = state["outcome"], state["ended"], state["over"]
        self._seed, self._episode[:] = int(state["seed"][0]), state["episode"]


def seeded(seed: int, variant: int) -> Random:
    """The source of a program's world."""
    return Random(f"{seed} {variant}")


def feasible(
    task: WorldTask, table: RoutineTable, seed: int, worlds: int = TRIED, ended: dict[str, bool] | None = None
) -> bool:
    """Whether the planner finishes a program in one of its first worlds."""
    return any(_finishes(task, table, seed, number, ended) for number in range(worlds))


def _finishes(
    task: WorldTask, table: RoutineTable, seed: int, number: int, ended: dict[str, bool] | None = None
) -> bool:
    """Whether the planner finishes a program in the world of this number; `ended` says of behaviours that it began
    whether one was ever ended."""
    world, pointer, values = task.draw(seeded(seed, number)), start(table), dict[int, Any]()
    for _ in range(task.limit):
        routine = pointer.routine
        is_action = task.domain.operations[table.operation[routine]].output == ACTION
        try:
            if is_action:
                task.act(world, _best(task, world, table, routine, values)[0])
            values[routine] = _answer(task, world, table, routine, values)
        except Failed:
            return False
        if is_action and ended is not None:
            name = table.calls[routine].operation
            ended[name] = ended.get(name, False) or bool(values[routine])
        if is_action and not values[routine]:
            continue
        pointer = advance(table, pointer, bool(values[routine]))
        if pointer.finished(table):
            return True
    return False


def _inputs(table: RoutineTable, routine: int, values: Mapping[int, Any]) -> list[Any]:
    return [values[int(row)] for row in table.inputs[routine] if row >= 0]


def _answer(task: WorldTask, world: Any, table: RoutineTable, routine: int, values: Mapping[int, Any]) -> Any:
    """The right answer at a routine; of a behaviour, whether it has ended."""
    call = table.calls[routine]
    value, output = (
        task.call(world, call, _inputs(table, routine, values)),
        task.domain.operation(call.operation).output,
    )
    if value is None:
        raise DataError(f"{task.task_name}.{call.operation}: gives None; in a world every result must be known")
    if output in (ACTION, BOOLEAN):
        return bool(value)
    expected = task.results[output].values  # type: ignore[attr-defined]
    if value not in expected:
        shown = ", ".join(map(str, expected))
        raise DataError(f"{task.task_name}.{call.operation}: {value!r} is not {output}; expected one of {shown}")
    return value


def _best(task: WorldTask, world: Any, table: RoutineTable, routine: int, values: Mapping[int, Any]) -> list[str]:
    call = table.calls[routine]
    arguments = arguments_of(task.signatures.methods[call.operation], call, _inputs(table, routine, values))
    best = task.best(world, call.operation, *arguments)
    found = [best] if isinstance(best, str) else list(best)
    if not found:
        raise DataError(f"best gives no action at {call.operation}; expected at least one of {', '.join(task.actions)}")
    for action in found:
        if action not in task.actions:
            raise DataError(f"best gives {action!r}, which is no action; expected of {', '.join(task.actions)}")
    return found


def _answer_slots(task: WorldTask) -> dict[str, tuple[int, tuple[Any, ...]]]:
    """By result type, the first action that gives a value of it, and its values: behind the task's own actions, in the
    order of the result types."""
    slots: dict[str, tuple[int, tuple[Any, ...]]] = {}
    first = len(task.actions)
    for name, kind in task.results.items():
        if name == ACTION:
            continue
        if not isinstance(kind, Categorical):
            raise DataError(f"{name}: in a world a result is one of a list of values")
        slots[name] = (first, kind.values)
        first += len(kind.values)
    return slots


class PythonHindsight:
    """A behaviour's own ending says which routines a step would have ended (`learning.worlds.Hindsight`)."""

    def __init__(self, worlds: PythonWorlds) -> None:
        self._worlds, every = worlds, worlds.behaviours()
        self._candidates = every
        if len(every) > MAX_CANDIDATES:
            chosen = np.random.default_rng(int(worlds.time.sum())).choice(len(every), MAX_CANDIDATES, replace=False)
            self._candidates = [every[number] for number in chosen]
        self._steps: list[tuple[NDArray[Any], ...]] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        worlds = self._worlds
        running = (worlds.outcome == Outcome.RUNNING) & worlds._mask[:, 0][
            worlds.programs.operation[pointed_rows(worlds)]
        ]
        before, asked = self._hold(running), worlds.programs.words[pointed_rows(worlds)]
        yield
        over = (worlds.outcome != Outcome.RUNNING) | ~running
        self._steps.append((before, self._hold(running), asked, running, over | (worlds.ended >= 0)))

    def _hold(self, running: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(worlds, candidates) which routines' endings hold."""
        worlds, holds = self._worlds, np.zeros((self._worlds.count, len(self._candidates)), np.bool_)
        for i in np.flatnonzero(running):
            for number, (program, routine) in enumerate(self._candidates):
                table = worlds.tables[program]
                with suppress(Failed):
                    holds[i, number] = bool(_answer(worlds.task, worlds._worlds[i], table, routine, {}))
        return holds

    def lessons(
        self, share: float, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        programs = self._worlds.programs
        if not self._candidates:
            nothing = np.zeros(0, np.int64)
            return nothing, np.zeros((0, programs.words.shape[1]), np.int64), nothing
        words = np.stack([programs.words[programs.first[program] + row] for program, row in self._candidates])
        before, after, asked, running, ended = (np.stack(each) for each in zip(*self._steps, strict=True))
        delays = _delays(after & ~_same(asked, words), ended)
        possible = (delays >= 0) & ~before & running[..., None]
        count = possible.sum(axis=(0, 1))
        keep = np.minimum(1.0, share * max(1.0, count[count > 0].mean() if count.any() else 1.0) / np.maximum(count, 1))
        chance = random.random(possible.shape)
        drawn = np.where(possible & (chance < keep), chance / keep, 2.0)
        chosen = drawn.argmin(axis=2)
        taken = np.flatnonzero(drawn.min(axis=2) < 2.0)
        routines = chosen.ravel()[taken]
        return taken, words[routines], delays.reshape(-1, len(words))[taken, routines]


def _same(asked: NDArray[Any], words: NDArray[Any]) -> NDArray[np.bool_]:
    """(steps, worlds, candidates) whether a candidate is what was asked for."""
    return (asked[:, :, None] == words).all(axis=3)


def _delays(after: NDArray[np.bool_], ended: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(steps, worlds, candidates) after how many more steps of the same routine a candidate's ending holds, -1 if it
    does not."""
    delays = np.full(after.shape, NONE, np.int64)
    later = np.full(after.shape[1:], NONE, np.int64)
    for step in reversed(range(len(after))):
        later = np.where(ended[step][:, None] | (later < 0), NONE, later + 1)
        later = np.where(after[step], 0, later)
        delays[step] = later
    return delays
