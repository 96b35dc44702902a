"""Many native worlds as a `VecEnv` of Stable-Baselines3.

    from program_guided.stable_baselines import make_vec_env
    environments = make_vec_env("ProgramGuided/Minecraft-Easy-v0", n_envs=64, seed=0, wrapper=VectorOneHotPlanes)
    PPO("MultiInputPolicy", environments).learn(1_000_000)

Stable-Baselines3 is an optional dependency: `pip install stable-baselines3`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from program_guided.errors import DataError, WorldError

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise DataError("Stable-Baselines3 is not installed: pip install stable-baselines3") from None

__all__ = ["NativeVecEnv", "make_vec_env"]

Indices = int | Iterable[int] | None


def make_vec_env(
    env_id: str,
    n_envs: int = 1,
    seed: int | None = None,
    *,
    wrapper: Callable[[VectorEnv[Any, Any, Any]], VectorEnv[Any, Any, Any]] | None = None,
    **settings: Any,
) -> NativeVecEnv:
    """A vector environment by its id; `settings` are those of the environment."""
    environments = gymnasium.make_vec(env_id, num_envs=n_envs, autoreset_mode=AutoresetMode.DISABLED, **settings)
    made = NativeVecEnv(environments if wrapper is None else wrapper(environments))
    made.seed(seed)
    return made


class NativeVecEnv(VecEnv):
    """A vector environment of Gymnasium, which resets only what it is asked to (`AutoresetMode.DISABLED`), as a
    `VecEnv`. Infos have what `Monitor` records of a finished episode: "episode", with return, length and time."""

    def __init__(self, environments: VectorEnv[Any, Any, Any]) -> None:
        if environments.metadata.get("autoreset_mode") != AutoresetMode.DISABLED:
            raise WorldError("the environments reset themselves; make them with autoreset_mode='Disabled'")
        self.environments = environments
        super().__init__(environments.num_envs, environments.single_observation_space, environments.single_action_space)
        self._actions: NDArray[np.int64]
        self._return, self._length = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._begun = time.time()

    def reset(self) -> Any:
        """Begin an episode in every world, with the seeds that were set before."""
        seeds = None if self._seeds[0] is None else self._seeds
        observations, infos = self.environments.reset(seed=seeds)  # type: ignore[arg-type]
        self._reset_seeds()
        self._return[:], self._length[:] = 0, 0
        self.reset_infos = self._listed(infos)
        return observations

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        if options:
            raise WorldError("options: the worlds share one environment; give it a program or a split when it is made")

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        """One step; worlds that are over begin a new episode."""
        observations, rewards, terminated, truncated, arrays = self.environments.step(self._actions)
        infos, over = self._listed(arrays), terminated | truncated
        self._return, self._length = self._return + rewards, self._length + 1
        for world, info in enumerate(infos):
            info["TimeLimit.truncated"] = bool(truncated[world] and not terminated[world])
        if over.any():
            for world in np.flatnonzero(over).tolist():
                infos[world]["terminal_observation"] = _of(observations, world)
                infos[world]["episode"] = self._episode(world)
            self._return[over], self._length[over] = 0, 0
            observations, arrays = self.environments.reset(options={"reset_mask": over})
            begun = self._listed(arrays)
            for world in np.flatnonzero(over).tolist():
                self.reset_infos[world] = begun[world]
        return observations, rewards.astype(np.float32), over, infos

    def _episode(self, world: int) -> dict[str, Any]:
        elapsed = round(time.time() - self._begun, 6)
        return {"r": float(self._return[world]), "l": int(self._length[world]), "t": elapsed}

    def _listed(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """One dictionary for each world, of Gymnasium's arrays and masks."""
        names = [name for name in infos if f"_{name}" in infos]
        return [
            {name: infos[name][world] for name in names if infos[f"_{name}"][world]} for world in range(self.num_envs)
        ]

    def close(self) -> None:
        self.environments.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return self.environments.render() or [None] * self.num_envs  # type: ignore[return-value]

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        return [getattr(self.environments.unwrapped, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise WorldError(f"{attr_name}: the worlds share one environment, whose attributes are set when it is made")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """The result of a method of the vector environment that gives one value for each world."""
        values = getattr(self.environments.unwrapped, method_name)(*args, **kwargs)
        return [values[world] for world in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """Episodes are recorded as by `Monitor`; there are no other wrappers of single worlds."""
        return [wrapper_class is Monitor] * len(list(self._get_indices(indices)))


def _of(observations: Any, world: int) -> Any:
    if isinstance(observations, dict):
        return {name: array[world].copy() for name, array in observations.items()}
    return observations[world].copy()
