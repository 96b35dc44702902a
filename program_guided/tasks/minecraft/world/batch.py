"""A batch of worlds that run programs: the basis of the environments, the evaluation and the learners.

    batch = Batch(entries, count=1024)
    batch.seed(0); batch.reset()
    batch.step(actions)
    batch.observe(), batch.ended, batch.outcome, batch.best_actions()

It implements the protocol `learning.worlds.Worlds` on arrays.

Every program has `variants` worlds, each made when it is first needed from the program's own seed; an episode draws a
program and one of its worlds. World i of a batch depends on the seed and on i, never on the batch's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.language.table import RoutineTable
from program_guided.language.tokens import token_table
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.worlds import Conditions, Hindsight, Only, WorldObservation, pointed_rows
from program_guided.tasks.minecraft.domain import ACTIONS, DEFAULT_SIDES, DOMAIN, LARGEST_SIDE, SMALLEST_SIDE
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.world.compiled import compiled, inlined
from program_guided.tasks.minecraft.world.generator import READY, UNKNOWN, copy_world, generate
from program_guided.tasks.minecraft.world.kernels import (
    FINISHED,
    NONE,
    RUNNING,
    TIMEOUT,
    begin,
    conditions_hold,
    step_world,
)
from program_guided.tasks.minecraft.world.planner import label
from program_guided.tasks.minecraft.world.random import draw, mix
from program_guided.tasks.minecraft.world.rules import (
    ACTION_MASK,
    ACTION_NAMES,
    TIME_LIMIT,
    Action,
    Operation,
    Outcome,
)
from program_guided.tasks.minecraft.world.state import Draft, ProgramSet, Workspace, Worlds, program_set

__all__ = ["DEFAULT_SIDES", "MAX_ROUTINES", "MAX_SETTING", "Batch", "check_sizes", "has_data_flow"]

MAX_ROUTINES = 96
"""Rows of an observed routine table; enough for programs of 200 tokens and more."""
FLOW = 3
"""Columns of the control flow."""
MAX_REDRAWS = 10_000
NO_WORLD = -2
MAX_SETTING = 2**15 - 1
"""Largest number of variants, routines and steps; routines are counted in 16 bits."""
MAX_BYTES = 8 * 2**30
"""Limit of the memory of a batch."""
WORLD_BYTES = 100
"""Memory of a world beside its cells, roughly."""


class Pool(NamedTuple):
    """The worlds of all programs, `variants` rows each, filled as they are needed."""

    worlds: Worlds
    state: NDArray[np.int8]
    """State of each row: UNKNOWN, READY, or IMPOSSIBLE if no world was found for it."""
    offered: NDArray[np.int32]
    """The programs that episodes are drawn from."""
    variants: int
    slot: NDArray[np.int64]
    """(worlds,) the row that each world was copied from, -1 for none"""
    retries: int
    """Percentage of the failed episodes that are tried again."""


class View(NamedTuple):
    """Parts of the observation other than the world itself, kept up to date by the kernels."""

    words: NDArray[np.uint8]
    """(worlds, routines, L) words of each routine, 0 beyond the program's end."""
    flow: NDArray[np.int16]
    """(worlds, routines, 3) kind (-1 beyond the end), row after true, row after false; with data flow (worlds,
    routines, 5), the rows of the two inputs behind them, -1 for none."""
    mask: NDArray[np.bool_]
    """(worlds, actions) True for actions allowed at the pointed routine."""


@inlined
def _show_mask(worlds: Worlds, i: int, programs: ProgramSet, view: View) -> None:
    program = worlds.program[i]
    routine = min(worlds.routine[i], programs.size[program] - 1)
    operation = programs.operation[programs.first[program] + routine]
    for action in range(view.mask.shape[1]):
        view.mask[i, action] = ACTION_MASK[operation, action]


@inlined
def _show_program(worlds: Worlds, i: int, programs: ProgramSet, view: View) -> None:
    first, size = programs.first[worlds.program[i]], programs.size[worlds.program[i]]
    for routine in range(view.words.shape[1]):
        inside = routine < size
        row = first + routine if inside else 0
        for word in range(view.words.shape[2]):
            view.words[i, routine, word] = programs.words[row, word] if inside else 0
        view.flow[i, routine, 0] = programs.kind[row] if inside else -1
        view.flow[i, routine, 1] = programs.on_true[row] if inside else 0
        view.flow[i, routine, 2] = programs.on_false[row] if inside else 0
        for place in range(view.flow.shape[2] - FLOW):
            view.flow[i, routine, FLOW + place] = programs.inputs[row, place] if inside else NONE


@inlined
def _reset(worlds: Worlds, i: int, programs: ProgramSet, pool: Pool, view: View, random: NDArray[np.uint64]) -> int:
    """Begin a new episode: draw a program and one of its worlds, until there is such a world; perhaps the same again,
    if it failed. For a world that has not been made yet, return its row of the pool (else -1) and undo the draw."""
    before = random[i]
    again = worlds.outcome[i] > FINISHED and pool.retries > 0 and pool.slot[i] != NONE
    again = again and draw(random, i, 100) < pool.retries
    for _ in range(MAX_REDRAWS):
        if again:
            slot = pool.slot[i]
        else:
            program = pool.offered[draw(random, i, len(pool.offered))]
            slot = np.int64(program) * pool.variants + draw(random, i, pool.variants)
        if pool.state[slot] == UNKNOWN:
            random[i] = before
            return int(slot)
        if pool.state[slot] == READY:
            pool.slot[i] = slot
            copy_world(pool.worlds, slot, worlds, i)
            begin(worlds, i, programs, slot // pool.variants)
            _show_program(worlds, i, programs, view)
            _show_mask(worlds, i, programs, view)
            return NONE
    return NO_WORLD


@compiled
def _begin(worlds: Worlds, i: int, programs: ProgramSet, program: int, view: View) -> None:
    """Start a program in a world whose map, agent and inventory are set, and show it."""
    begin(worlds, i, programs, program)
    _show_program(worlds, i, programs, view)
    _show_mask(worlds, i, programs, view)


@compiled
def _show(worlds: Worlds, programs: ProgramSet, view: View) -> None:
    """Show the programs of all worlds."""
    for i in range(len(worlds.program)):
        _show_program(worlds, i, programs, view)
        _show_mask(worlds, i, programs, view)


@compiled
def _reset_where(
    where: NDArray[np.bool_],
    wanted: NDArray[np.int64],
    worlds: Worlds,
    programs: ProgramSet,
    pool: Pool,
    view: View,
    random: NDArray[np.uint64],
) -> int:
    """Begin new episodes; worlds whose map must be made first stay in `where`, and the maps' rows go to `wanted`."""
    count = 0
    for i in range(len(where)):
        if where[i]:
            slot = _reset(worlds, i, programs, pool, view, random)
            if slot == NO_WORLD:
                return NO_WORLD
            where[i] = slot != NONE
            if slot != NONE:
                wanted[count] = slot
                count += 1
    return count


@compiled
def _step(
    actions: NDArray[np.int64],
    over: NDArray[np.bool_],
    worlds: Worlds,
    programs: ProgramSet,
    view: View,
    ended: NDArray[np.int16],
    time_limit: int,
) -> None:
    """Step the worlds that run; `over` marks those that were over before."""
    for i in range(len(actions)):
        ended[i] = NONE
        over[i] = worlds.outcome[i] != RUNNING
        if not over[i]:
            ended[i] = step_world(worlds, i, programs, actions[i], time_limit)
            if ended[i] != NONE:
                _show_mask(worlds, i, programs, view)


def has_data_flow(operations: NDArray[Any]) -> bool:
    """Whether any of these operations gives or takes a result."""
    return bool((operations >= Operation.GREATER).any())


def check_sizes(
    count: int, programs: int, variants: int, sides: tuple[int, int], time_limit: int, max_routines: int
) -> None:
    """One clear error for worlds that cannot be, or would not fit into memory."""
    low, high = sides
    if not SMALLEST_SIDE <= low <= high <= LARGEST_SIDE:
        raise WorldError(
            f"sides {low} to {high}: a map's side is from {SMALLEST_SIDE} to {LARGEST_SIDE}, the smaller first"
        )
    for name, value in (("variants", variants), ("time_limit", time_limit), ("max_routines", max_routines)):
        if not 1 <= value <= MAX_SETTING:
            raise WorldError(f"{name} {value}: expected a number from 1 to {MAX_SETTING}")
    if count < 1:
        raise WorldError(f"{count} worlds: at least 1 is needed")
    of_program = max_routines * (DOMAIN.routine_width + 2 * FLOW)
    needed = (count + programs * variants) * (high**2 + WORLD_BYTES) + count * of_program
    if needed > MAX_BYTES:
        raise WorldError(
            f"{count} worlds of {max_routines} routines, and {variants} variants of {programs} programs: they need "
            f"{needed / 2**30:,.0f} GB of memory, the limit is {MAX_BYTES // 2**30} GB; take fewer"
        )


class Batch:
    """`count` worlds that draw their programs from `entries`."""

    def __init__(
        self,
        entries: Sequence[Entry],
        count: int,
        *,
        variants: int = 1,
        sides: tuple[int, int] = DEFAULT_SIDES,
        time_limit: int = TIME_LIMIT,
        max_routines: int = MAX_ROUTINES,
        require_worlds: bool = True,
        data_flow: bool | None = None,
    ) -> None:
        """`require_worlds=False`: the caller provides the maps and never resets. `data_flow`: whether numbers are among
        the actions; by default, if a program needs them."""
        check_sizes(count, len(entries), variants, sides, time_limit, max_routines)
        high = sides[1]
        self.entries = tuple(entries)
        for entry in self.entries:
            if not 0 <= entry.seed < 2**63:
                raise WorldError(f"seed {entry.seed}: a seed is from 0 to 2**63 - 1")
        self.tables: tuple[RoutineTable, ...] = tuple(_table(entry, max_routines) for entry in self.entries)
        self.count, self.variants, self.sides, self.time_limit = count, variants, sides, time_limit
        self.max_routines = max_routines
        self.answers, self.first_answer = (int(Action.TRUE), int(Action.FALSE)), int(Action.TRUE)
        self.programs = program_set(self.tables)
        self.data_flow = self._check_data_flow(data_flow)
        self.action_count = len(ACTION_NAMES) if self.data_flow else len(ACTIONS)
        numbers = max_routines if self.data_flow else 0
        self.worlds = Worlds.empty(count, high, numbers)
        columns = FLOW + (DOMAIN.max_inputs if self.data_flow else 0)
        self.view = View(
            words=np.zeros((count, max_routines, DOMAIN.routine_width), np.uint8),
            flow=np.zeros((count, max_routines, columns), np.int16),
            mask=np.zeros((count, self.action_count), np.bool_),
        )
        self.ended = np.full(count, NONE, np.int16)
        """The routine that ended in the last step of each world, or -1."""
        self._pool = Pool(
            worlds=Worlds.empty(len(self.entries) * variants, high),
            state=np.zeros(len(self.entries) * variants, np.int8),
            offered=np.arange(len(self.entries), dtype=np.int32),
            variants=variants,
            slot=np.full(count, NONE, np.int64),
            retries=0,
        )
        self._named: NDArray[np.bool_] | None = None
        """(routines,) those that hindsight may name, once computed."""
        self._seeds = np.array([entry.seed for entry in self.entries], np.uint64)
        self._trial = Worlds.empty(1, high, numbers)
        self._draft, self._workspace = Draft.empty(high), Workspace.empty(high)
        self._random = np.zeros(count, np.uint64)
        self._over = np.zeros(count, np.bool_)
        self._wanted = np.zeros(count, np.int64)
        self.seed(0)
        if require_worlds:
            self.offer(self._pool.offered)

    def _check_data_flow(self, wanted: bool | None) -> bool:
        needed = has_data_flow(self.programs.operation)
        if wanted is False and needed:
            text = next(each.text for each in self.entries if has_data_flow(each.table.operation))
            raise WorldError(
                "this program has data flow, and there are no numbers among the actions; make the environment with "
                f"such a program or split:\n{text}"
            )
        return needed if wanted is None else wanted

    def seed(self, seed: int) -> None:
        """Set every world's own stream of random numbers."""
        self._random[:] = [mix(seed, i) for i in range(self.count)]

    def seed_each(self, seeds: Sequence[int | None]) -> None:
        """Set the streams of random numbers one by one."""
        self._random[:] = [mix((seed or 0) % 2**63, 0) for seed in seeds]

    def offer(self, programs: NDArray[np.int32]) -> None:
        """Draw the coming episodes from these programs only; the first of them must have a world."""
        if len(programs) == 0:
            raise WorldError("no programs are offered: at least one is needed")
        for program in (int(min(programs)), int(max(programs))):
            self._check(program)
        self._require(int(programs[0]), 0)
        self._pool = self._pool._replace(offered=np.ascontiguousarray(programs, np.int32))

    @property
    def retry_share(self) -> float:
        return self._pool.retries / 100

    @retry_share.setter
    def retry_share(self, share: float) -> None:
        self._pool = self._pool._replace(retries=round(100 * share))

    def reset(self, where: NDArray[np.bool_] | None = None) -> None:
        """Begin a new episode in every world, or only in those of the mask."""
        self._over[:] = True if where is None else where
        self.ended[self._over] = NONE
        self._reset_over()

    def _reset_over(self) -> None:
        """Reset the worlds that `_over` marks, and make the worlds of the pool that they need."""
        missing = -1
        while missing:
            missing = _reset_where(
                self._over, self._wanted, self.worlds, self.programs, self._pool, self.view, self._random
            )
            if missing == NO_WORLD:
                raise WorldError("a new episode cannot begin: no world was found for any of the programs")
            self._make(np.unique(self._wanted[:missing]))

    def _make(self, slots: NDArray[np.int64]) -> None:
        """Make the worlds of these rows of the pool."""
        if len(slots):
            worlds, state, variants = self._pool.worlds, self._pool.state, self._pool.variants
            memory = (self._trial, self._draft, self._workspace)
            generate(worlds, state, slots, variants, self.programs, self._seeds, self.sides, *memory)

    def place(self, i: int, program: int, variant: int = 0) -> None:
        """Begin a program in world i, a copy of one of the program's worlds."""
        slot = self._require(program, variant)
        self._pool.slot[i] = slot
        for name in ("cells", "side", "agent", "inventory", "counts"):
            getattr(self.worlds, name)[i] = getattr(self._pool.worlds, name)[slot]
        self.begin(i, program)

    def _check(self, program: int) -> None:
        if not 0 <= program < len(self.entries):
            raise WorldError(f"program {program}: there are {len(self.entries)}, from 0 to {len(self.entries) - 1}")

    def possible(self, program: int, variant: int = 0) -> bool:
        """True if the program has such a world."""
        self._check(program)
        if not 0 <= variant < self.variants:
            raise WorldError(
                f"variant {variant}: every program has {self.variants} worlds, from 0 to {self.variants - 1}"
            )
        slot = program * self.variants + variant
        if self._pool.state[slot] == UNKNOWN:
            self._make(np.array([slot]))
        return bool(self._pool.state[slot] == READY)

    def _require(self, program: int, variant: int) -> int:
        """The pool's row of a world; `WorldError` if there is none."""
        if not self.possible(program, variant):
            raise WorldError(
                f"no world of side {self.sides[0]} to {self.sides[1]} was found in which this program can be "
                f"finished within {TIME_LIMIT} steps; does it ask for something impossible?\n"
                f"{self.entries[program].text}"
            )
        return program * self.variants + variant

    def begin(self, i: int, program: int) -> None:
        """Begin this program in world i as it is now."""
        _begin(self.worlds, i, self.programs, program, self.view)
        self.ended[i] = NONE

    def step(self, actions: NDArray[np.int64]) -> None:
        """One time step of the worlds that still run; the others do not change."""
        _step(actions, self._over, self.worlds, self.programs, self.view, self.ended, self.time_limit)

    def step_or_reset(self, actions: NDArray[np.int64]) -> None:
        """One time step of the worlds that still run; the others begin a new episode (their action is ignored)."""
        self.step(actions)
        self._reset_over()

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the full state of the worlds and of their random numbers, by name."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Restore a `state` of a batch made with the same arguments."""
        for name, array in self._arrays().items():
            array[...] = state[name]
        self.ended[:] = NONE
        _show(self.worlds, self.programs, self.view)

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**self.worlds._asdict(), "random": self._random, "slot": self._pool.slot}

    @property
    def program(self) -> NDArray[np.int32]:
        return self.worlds.program

    @property
    def routine(self) -> NDArray[np.int16]:
        return self.worlds.routine

    @property
    def previous(self) -> NDArray[np.int16]:
        return self.worlds.previous

    @property
    def time(self) -> NDArray[np.int32]:
        return self.worlds.time

    @property
    def outcome(self) -> NDArray[np.int8]:
        """An `Outcome` for each world."""
        return self.worlds.outcome

    def operation_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in DOMAIN.operations)

    def outcome_name(self, code: int) -> str:
        return str(Outcome(code))

    def action_name(self, action: int) -> str:
        return ACTION_NAMES[action]

    @property
    def specification(self) -> dict[str, NDArray[Any]]:
        """The worlds as arrays, their own."""
        return {"map": self.worlds.cells, "agent": self.worlds.agent, "inventory": self.worlds.inventory}

    def observe(self, only: Only = slice(None)) -> WorldObservation:
        """The observation of some worlds; for all worlds, its arrays are the batch's own."""
        worlds, view = self.worlds, self.view
        specification = {name: array[only] for name, array in self.specification.items()}
        longest = int(self.programs.size[worlds.program[only]].max())
        parents = worlds.previous[only][:, None]
        if self.data_flow:
            parents = np.concatenate([parents, self.programs.inputs[pointed_rows(self)[only]]], axis=1)
        return WorldObservation(
            specification, view.words[only], worlds.routine[only], parents, view.mask[only], longest
        )

    def tokens(self, only: Only = slice(None)) -> NDArray[np.int16]:
        return self._token_table[self.program[only]]

    @cached_property
    def _token_table(self) -> NDArray[np.int16]:
        """(programs, tokens)"""
        return token_table([entry.program for entry in self.entries], DOMAIN, Vocabulary.of(DOMAIN))

    def conditions(self) -> Conditions:
        from program_guided.tasks.minecraft.replay import CountConditions

        return CountConditions(self.programs)

    def hindsight(self) -> Hindsight:
        from program_guided.tasks.minecraft.hindsight import History, named_in

        if self._named is None:
            self._named = named_in(self.programs)
        return History(self, self._named)

    @property
    def reward(self) -> NDArray[np.float64]:
        """+1 in the step that finishes a program, else 0."""
        return ((self.outcome == FINISHED) & ~self._over).astype(np.float64)

    @property
    def terminated(self) -> NDArray[np.bool_]:
        return (self.outcome != RUNNING) & (self.outcome != TIMEOUT)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        return self.outcome == TIMEOUT

    def best_actions(self) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """(worlds, actions) mask of the planner's best actions, and its steps to the end of the pointed routine."""
        bits, steps = np.zeros(self.count, np.uint32), np.zeros(self.count, np.int32)
        label(self.worlds, self.programs, bits, steps, self._workspace)
        return (bits[:, None] >> np.arange(self.action_count, dtype=np.uint32) & 1).astype(np.bool_), steps

    def conditions_hold(self, numbers: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Evaluate conditions: True for each pair of a world and a row of the programs whose condition holds."""
        result = np.zeros(len(numbers), np.bool_)
        conditions_hold(self.worlds, numbers, self.programs, rows, result)
        return result


def _table(entry: Entry, max_routines: int) -> RoutineTable:
    table = entry.table
    if len(table) > max_routines:
        raise WorldError(
            f"the program has {len(table)} routines, observations have room for {max_routines}; "
            f"give a larger max_routines"
        )
    return table
