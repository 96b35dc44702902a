"""The world as Gymnasium environments, one and many.

    gymnasium.make("ProgramGuided/Minecraft-v0", split="train")
    gymnasium.make_vec("ProgramGuided/Minecraft-v0", num_envs=1024)
    gymnasium.make("ProgramGuided/Minecraft-Easy-v0")       # programs of one routine; Medium: of up to four

## Mission
Execute the program, routine by routine; it is part of the observation.
## Actions
up, down, left, right, mine, build, place, sell, true, false. `info["action_mask"]` marks those that have a meaning at
the pointed routine: the first eight at a behaviour, true and false at a condition. The others only let time pass. Where
programs have data flow (`split="data-flow"`, or such a `program`), the numbers 0 to 20 follow: answers to `count` and
`carried`. What was answered is not observed: an agent has to remember it.
## Observation
`observation.py` has the table.
## Reward
+1 when the program is finished, else 0.
## Termination and truncation
Terminated: the program is finished; a condition or a count was answered wrongly; something was placed or sold in the
wrong place or without having it. Truncated: 300 steps have passed.
## Infos
`ended_routine`: the routine that ended in this step, or -1. `outcome`: an `Outcome`. `action_mask`. `program` (one
environment: its text; many: its number in the split).
## Options of reset
`scenario.py` has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.tasks.minecraft.domain import ACTIONS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.observation import observation_space, observe
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.scenario import Scenario, read_scenario, whole_number
from program_guided.tasks.minecraft.snapshots import snapshot
from program_guided.tasks.minecraft.splits import DATA_FLOW, Difficulty, check_difficulty, split_name
from program_guided.tasks.minecraft.world.batch import DEFAULT_SIDES, MAX_ROUTINES, Batch, check_sizes, has_data_flow
from program_guided.tasks.minecraft.world.kernels import RUNNING
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, TIME_LIMIT, Outcome

__all__ = ["WORLDS_PER_PROGRAM", "MinecraftEnv", "MinecraftVectorEnv"]

WORLDS_PER_PROGRAM = 64
"""Number of worlds of each program of a split in training."""

Observation = dict[str, NDArray[Any]]
_LARGEST_SEED = 2**31 - 1


def _settings(variants: Any, sides: Any, time_limit: Any, max_routines: Any) -> dict[str, Any]:
    """Arguments of a `Batch`, each of the right type."""
    if not isinstance(sides, Sequence) or isinstance(sides, str) or len(sides) != 2:
        raise WorldError(f"sides {sides!r}: the smallest and the largest side of a map are needed, as in (5, 8)")
    smallest, largest = (whole_number("sides", side) for side in sides)
    return {
        "variants": whole_number("variants", variants),
        "sides": (smallest, largest),
        "time_limit": whole_number("time_limit", time_limit),
        "max_routines": whole_number("max_routines", max_routines),
    }


def _has_data_flow(default: dict[str, Any], difficulty: Difficulty) -> bool:
    """Whether the program, or a program of the split, has data flow."""
    if "program" not in default and default["split"] not in DATA_FLOW:
        return False
    entries = read_scenario(default, 0, difficulty).entries or ()
    return any(has_data_flow(entry.table.operation) for entry in entries)


def _action_space(data_flow: bool) -> gymnasium.spaces.Discrete:
    return gymnasium.spaces.Discrete(len(ACTION_NAMES if data_flow else ACTIONS))


def _check_render_mode(render_mode: Any, known: Sequence[str]) -> None:
    if render_mode is not None and render_mode not in known:
        raise WorldError(f"render_mode {render_mode!r}: expected None or one of {', '.join(known)}")


def _read_seed(seed: Any) -> int:
    number = whole_number("seed", seed)
    if number < 0:
        raise WorldError(f"seed {number}: a seed is 0 or above")
    return number


def _read_options(options: Any) -> dict[str, Any]:
    if options is not None and not isinstance(options, dict):
        raise WorldError(f"options: {options!r} is not a dictionary of options")
    return dict(options or {})


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise WorldError(f"autoreset_mode {given!r}: expected one of {known}") from None


class MinecraftEnv(gymnasium.Env[Observation, np.int64]):
    """One world; see the module's documentation."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012  # Gymnasium's own form

    def __init__(
        self,
        split: str = "train",
        *,
        difficulty: Difficulty = "full",
        program: str | None = None,
        variants: int = WORLDS_PER_PROGRAM,
        sides: tuple[int, int] = DEFAULT_SIDES,
        time_limit: int = TIME_LIMIT,
        max_routines: int = MAX_ROUTINES,
        render_mode: str | None = None,
    ) -> None:
        _check_render_mode(render_mode, self.metadata["render_modes"])
        self._settings = _settings(variants, sides, time_limit, max_routines)
        check_sizes(1, 1, **self._settings)
        self._difficulty = check_difficulty(difficulty)
        self._default = {"split": split_name(split)} if program is None else {"program": program}
        self._settings["data_flow"] = _has_data_flow(self._default, self._difficulty)
        self._batch: Batch | None = None
        self._batch_of: tuple[Entry, ...] = ()
        self._begun = False
        self.render_mode = render_mode
        space = observation_space(sides[1], max_routines, self._settings["data_flow"])
        self.observation_space: gymnasium.spaces.Dict = space  # type: ignore[assignment]
        self.action_space: gymnasium.spaces.Discrete = _action_space(self._settings["data_flow"])
        self._last_action = ""

    @property
    def batch(self) -> Batch:
        """The world behind the environment."""
        if self._batch is None or not self._begun:
            raise WorldError("call reset() first")
        return self._batch

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; `options` specify a program or world."""
        super().reset(seed=None if seed is None else _read_seed(seed))
        world_seed = int(self.np_random.integers(_LARGEST_SEED))
        given = _read_options(options)
        chosen = given if given.get("program") is not None or given.get("split") is not None else given | self._default
        scenario = read_scenario(chosen, world_seed, self._difficulty)
        assert scenario.entries is not None
        batch = self._batch_for(scenario.entries, require_worlds=scenario.cells is None)
        batch.seed(world_seed)
        if scenario.index is None:
            batch.reset()
        scenario.put(batch, 0)
        self._begun, self._last_action = True, ""
        return self._observe(), self._info() | {"program": self._entry().text}

    def _batch_for(self, entries: tuple[Entry, ...], require_worlds: bool) -> Batch:
        """A batch of these programs; the existing one if they have not changed."""
        if self._batch is None or self._batch_of is not entries:
            self._batch = Batch(entries, 1, require_worlds=require_worlds, **self._settings)
            self._batch_of = entries
        return self._batch

    def _entry(self) -> Entry:
        return self.batch.entries[int(self.batch.worlds.program[0])]

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One time step."""
        batch = self.batch
        number = whole_number(
            "action", action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action
        )
        if not 0 <= number < batch.action_count:
            raise WorldError(f"action {number}: an action is a number from 0 to {batch.action_count - 1}")
        batch.step(np.array([number], np.int64))
        self._last_action = batch.action_name(number)
        reward = float(batch.reward[0])
        return self._observe(), reward, bool(batch.terminated[0]), bool(batch.truncated[0]), self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """The action mask, in the form that sb3-contrib's MaskablePPO needs."""
        return self.batch.view.mask[0].copy()

    def snapshot(self) -> Snapshot:
        """This moment, for pictures."""
        return snapshot(self.batch, 0, self._last_action)

    def _repr_png_(self) -> bytes:
        return self.snapshot()._repr_png_()

    def render(self) -> Any:
        """A picture (rgb_array) or a text (ansi)."""
        if self.render_mode == "rgb_array":
            from program_guided.tasks.minecraft.pictures.picture import picture

            return np.asarray(picture(self.snapshot()).convert("RGB"))
        if self.render_mode == "ansi":
            from program_guided.tasks.minecraft.pictures.terminal import text

            return text(self.snapshot())
        return None

    def _observe(self) -> Observation:
        return {key: value[0].copy() for key, value in observe(self.batch).items()}

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self.batch.view.mask[0].copy(),
            "ended_routine": int(self.batch.ended[0]),
            "outcome": Outcome(int(self.batch.outcome[0])),
        }


class MinecraftVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Many worlds in one batch of arrays; see the module's documentation. `copy=False` returns the batch's own arrays,
    which the next step overwrites."""

    def __init__(
        self,
        num_envs: int = 1,
        split: str = "train",
        *,
        difficulty: Difficulty = "full",
        program: str | None = None,
        variants: int = WORLDS_PER_PROGRAM,
        sides: tuple[int, int] = DEFAULT_SIDES,
        time_limit: int = TIME_LIMIT,
        max_routines: int = MAX_ROUTINES,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": ["rgb_array"], "render_fps": 4}
        _check_render_mode(render_mode, self.metadata["render_modes"])
        self.num_envs, self.copy, self.render_mode = whole_number("num_envs", num_envs), copy, render_mode
        self._settings, self._difficulty = _settings(variants, sides, time_limit, max_routines), difficulty
        default = {"split": split} if program is None else {"program": program}
        entries = read_scenario(default, 0, check_difficulty(difficulty)).entries
        assert entries is not None
        self._entries = self._own_entries = entries
        self.batch = Batch(entries, self.num_envs, **self._settings)
        self._scenarios: list[Scenario | None] = [None] * self.num_envs
        """By world: the program and map that were given, and with which it begins again."""
        self._given = np.zeros(self.num_envs, np.bool_)
        """(worlds,) where there are such."""
        self._settings["data_flow"] = self.batch.data_flow
        self.single_observation_space = observation_space(sides[1], max_routines, self.batch.data_flow)
        self.single_action_space = _action_space(self.batch.data_flow)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._everywhere = np.ones(num_envs, np.bool_)
        self._begun = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every world, or in those of `options["reset_mask"]`."""
        if isinstance(seed, list | tuple | np.ndarray):
            if len(seed) != self.num_envs:
                raise WorldError(
                    f"seed: {len(seed)} of them; one seed or {self.num_envs}, one for each world, is needed"
                )
            numbers = [None if one is None else _read_seed(one) for one in seed]
            self.batch.seed_each(numbers)
            super().reset(seed=numbers[0])
        else:
            super().reset(seed=None if seed is None else _read_seed(seed))
            if seed is not None or not self._begun:
                self.batch.seed(int(self.np_random.integers(_LARGEST_SEED)) if seed is None else seed % 2**63)
        given = _read_options(options)
        where = self._mask(given.pop("reset_mask", None))
        self._arrange(given, where)
        self._begun = True
        return self._observe(), self._infos() | self._information("program", self.batch.worlds.program.copy())

    def _mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return self._everywhere
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise WorldError(f"reset_mask: {mask!r} is not an array of {self.num_envs} Booleans")
        return mask

    def _arrange(self, options: dict[str, Any], where: NDArray[np.bool_]) -> None:
        """Set up worlds by the options; `index` may be one number or one for each world. Some worlds without options
        begin again as they were set up before."""
        if not options and not where.all():
            self._restart(where)
            return
        indices = self._indices(options)
        seed = int(self.np_random.integers(_LARGEST_SEED)) if options else 0
        scenario = read_scenario(options, seed, self._difficulty)
        entries = scenario.entries if scenario.entries is not None else self._own_entries
        for index in [scenario.index] if indices is None else indices:
            if index is not None and not 0 <= index < len(entries):
                raise WorldError(f"index {index}: there are {len(entries)} programs, from 0 to {len(entries) - 1}")
        if entries is not self._entries:
            if not where.all():
                raise WorldError("reset_mask: other programs can only be given to all worlds at once")
            settings = self._settings | {"require_worlds": scenario.cells is None}
            self.batch = Batch(entries, self.num_envs, **settings)
            self._entries = entries
            self.batch.seed(int(self.np_random.integers(_LARGEST_SEED)))
        if scenario.index is None:
            self.batch.reset(where)
        if options:
            for world in np.flatnonzero(where):
                index = scenario.index if indices is None else indices[world]
                replace(scenario, index=index).put(self.batch, int(world))
        kept = scenario.cells is not None and scenario.index is not None
        for world in np.flatnonzero(where):
            index = scenario.index if indices is None else indices[world]
            self._scenarios[world] = replace(scenario, index=index) if kept else None
        self._given[where] = kept

    def _restart(self, over: NDArray[np.bool_]) -> None:
        """Begin new episodes: on the map that was given with the program, if any, else in sampled worlds."""
        sampled = over & ~self._given
        if sampled.any():
            self.batch.reset(sampled)
        for world in np.flatnonzero(over & self._given):
            scenario = self._scenarios[world]
            assert scenario is not None
            scenario.put(self.batch, int(world))

    def _indices(self, options: dict[str, Any]) -> list[int] | None:
        """The list of indices in the options, one for each world; None if there is no list."""
        given = options.get("index")
        if not isinstance(given, list | tuple | np.ndarray):
            return None
        numbers = np.asarray(given)
        if numbers.shape != (self.num_envs,) or not np.issubdtype(numbers.dtype, np.integer):
            raise WorldError(f"index: {given!r} is neither a whole number nor {self.num_envs} of them")
        options["index"] = int(numbers[0])
        return [int(number) for number in numbers]

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One time step of every world; worlds that are over are reset according to `autoreset_mode`."""
        batch, chosen = self.batch, self._read_actions(actions)
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            before = batch.outcome != RUNNING
            batch.step(chosen)
            restarted = before.any()
            if restarted:
                self._restart(before)
            infos = self._infos()
            if restarted:
                infos |= self._information("program", batch.worlds.program.copy(), before)
            return self._observe(), batch.reward, batch.terminated, batch.truncated, infos
        batch.step(chosen)
        reward, terminated, truncated = batch.reward, batch.terminated, batch.truncated
        infos, over = self._infos(), terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over.any():
            final = self._information("final_obs", self._final(over), over)
            final |= self._information("final_info", self._infos(over, copy=True), over)
            self._restart(over)
            infos = self._infos() | self._information("program", batch.worlds.program.copy(), over) | final
        return self._observe(), reward, terminated, truncated, infos

    def _read_actions(self, actions: Any) -> NDArray[np.int64]:
        if not self._begun:
            raise WorldError("call reset() first")
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or not np.issubdtype(given.dtype, np.integer):
            found = f"actions of shape {given.shape} and type {given.dtype}"
            raise WorldError(f"{found}: one whole number for each of {self.num_envs} worlds is needed")
        chosen = np.ascontiguousarray(given, np.int64)
        if chosen.min() < 0 or chosen.max() >= self.batch.action_count:
            raise WorldError(f"an action is a number from 0 to {self.batch.action_count - 1}")
        return chosen

    def action_masks(self) -> NDArray[np.bool_]:
        """(worlds, actions) the action masks, in the form that sb3-contrib's MaskablePPO needs."""
        return self.batch.view.mask.copy()

    def _final(self, over: NDArray[np.bool_]) -> NDArray[Any]:
        """Copies of the last observations of the worlds that are over, which a new episode overwrites."""
        observation, final = observe(self.batch), np.full(self.num_envs, None)
        for world in np.flatnonzero(over):
            final[world] = {key: value[world].copy() for key, value in observation.items()}
        return final

    def render(self) -> tuple[Any, ...] | None:
        """A picture of every world."""
        from program_guided.tasks.minecraft.pictures.picture import picture

        if self.render_mode is None:
            return None
        return tuple(np.asarray(picture(snapshot(self.batch, i)).convert("RGB")) for i in range(self.num_envs))

    def _observe(self) -> Observation:
        observation = observe(self.batch)
        return {key: value.copy() for key, value in observation.items()} if self.copy else observation

    def _information(self, name: str, values: Any, where: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        """One entry of Gymnasium's vector infos: the values, and the mask of worlds in which they are valid."""
        return {name: values, f"_{name}": self._everywhere if where is None else where}

    def _infos(self, where: NDArray[np.bool_] | None = None, copy: bool | None = None) -> dict[str, Any]:
        batch, copying = self.batch, self.copy if copy is None else copy
        return (
            self._information("action_mask", batch.view.mask.copy() if copying else batch.view.mask, where)
            | self._information("ended_routine", batch.ended.copy() if copying else batch.ended, where)
            | self._information("outcome", batch.outcome.copy(), where)
        )
