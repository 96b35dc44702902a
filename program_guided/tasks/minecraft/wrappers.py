"""Observation wrappers through which common networks read the world, for one environment and for many.

    environment = OneHotPlanes(gymnasium.make("ProgramGuided/Minecraft-Easy-v0"))
    environments = VectorOneHotPlanes(gymnasium.make_vec("ProgramGuided/Minecraft-Easy-v0", num_envs=64))

- `OneHotPlanes` (a dictionary): `planes` of the map, see `PLANES`; `routine`, the words of the pointed routine, a row a
  word; `inventory`.
- `FlatVector`: the same as one vector.
- `ProgramTokens`: what the environment gives, and `tokens`, the text of the program.

A transform changes the observations of many worlds at once; the wrapper of one environment gives it a batch of one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorObservationWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from program_guided.errors import WorldError
from program_guided.tasks.minecraft.domain import DOMAIN, KINDS
from program_guided.tasks.minecraft.observation import pointed_words

__all__ = [
    "MAX_TOKENS",
    "PLANES",
    "TOKENS",
    "FlatVector",
    "OneHotPlanes",
    "ProgramTokens",
    "VectorFlatVector",
    "VectorOneHotPlanes",
    "VectorProgramTokens",
    "restored",
    "text_of",
]

Arrays = Mapping[str, NDArray[Any]]

PROGRAM = ("pointer", "words", "flow", "time")
"""Entries of an observation that an agent of one routine can do without."""
NEEDED = ("map", "agent", "inventory", *PROGRAM)
PLANES = (*KINDS[1:], "agent", "named kind", "named place")
"""Planes of `OneHotPlanes`: a kind of cell each (beyond the map's edge all are 0), the agent, the cells whose kind the
pointed routine names, and the cell whose coordinates it names."""
AGENT, NAMED_KIND, NAMED_PLACE = range(len(KINDS) - 1, len(PLANES))
_NAMED_KINDS = np.array([[word == kind for kind in KINDS] for word in DOMAIN.vocabulary])
_COORDINATES = np.array([int(word) - 1 if word.isdecimal() else -1 for word in DOMAIN.vocabulary])
_FIRST_COORDINATE = np.array([{"goto": 1, "place": 2}.get(word, -1) for word in DOMAIN.vocabulary])
"""By operation, the number of the word that is x."""
NEWLINE, INDENT = "\n", "  "
SYNTAX = ("def", "run", "if", "elif", "else", "while", "loop", "(", ")", "[", "]", ",", ":")
NAMES = tuple(f"name{number}" for number in range(32))
TOKENS = ("", NEWLINE, INDENT, *SYNTAX, *DOMAIN.vocabulary[1:], "=", *NAMES)
"""Tokens of programs; the index of one is its number, "" is padding. Names of results are numbered anew in each
program."""
MAX_TOKENS = 512
_NUMBERS = {token: number for number, token in enumerate(TOKENS)}
_TOKEN = re.compile(r"\n|  |\w+|[<>=]+|[^\w\s]")


class _Transform(ABC):
    """Changes observations of many worlds, (worlds, ...) each."""

    space: Any
    """The space of one world's observations."""

    @abstractmethod
    def __call__(self, observations: Arrays, environment: Any) -> Any: ...


class _One(gymnasium.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Base of the wrappers of one environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], transform: _Transform, **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.ObservationWrapper.__init__(self, env)
        self._transform, self.observation_space = transform, transform.space

    def observation(self, observation: Arrays) -> Any:
        many = self._transform({name: array[None] for name, array in observation.items()}, self.env.unwrapped)
        return {name: array[0] for name, array in many.items()} if isinstance(many, dict) else many[0]


class _Many(VectorObservationWrapper):  # no generic class before Gymnasium 1.4
    """Base of the wrappers of vector environments."""

    def __init__(self, env: VectorEnv[Any, Any, Any], transform: _Transform) -> None:
        super().__init__(env)
        self._transform, self.single_observation_space = transform, transform.space
        self.observation_space = batch_space(transform.space, env.num_envs)

    def observations(self, observations: Arrays) -> Any:
        return self._transform(observations, self.env.unwrapped)


class _Planes(_Transform):
    def __init__(self, given: spaces.Space[Any], centred: bool, program: bool) -> None:
        own = _entries(given, *NEEDED)
        self._side, self._centred = own["map"].shape[1], centred
        self._kept = ("inventory", *(["agent"] if centred else []), *(PROGRAM if program else []))
        extent = 2 * self._side - 1 if centred else self._side
        words = (DOMAIN.routine_width, len(DOMAIN.vocabulary))
        self.space = spaces.Dict(
            {
                "planes": spaces.Box(0, 1, (len(PLANES), extent, extent), np.uint8),
                "routine": spaces.Box(0, 1, words, np.uint8),
                **{name: own[name] for name in self._kept},
            }
        )

    def __call__(self, observations: Arrays, environment: Any) -> dict[str, NDArray[Any]]:
        cells, words = observations["map"], pointed_words(observations)
        planes = np.zeros((len(cells), len(PLANES), *cells.shape[1:]), np.uint8)
        planes[:, :-3] = cells[:, None] == np.arange(1, len(KINDS))[:, None, None]
        worlds, (row, column) = np.arange(len(cells)), observations["agent"].T.astype(np.intp)
        planes[worlds, AGENT, row, column] = 1
        named: NDArray[np.bool_] = np.any(_NAMED_KINDS[words], axis=1)
        planes[:, NAMED_KIND] = named[worlds[:, None, None], cells]
        x, y = _coordinates(words)
        inside = (x >= 0) & (x < cells.shape[2]) & (y >= 0) & (y < cells.shape[1])
        planes[worlds[inside], NAMED_PLACE, y[inside], x[inside]] = 1
        routine = (words[..., None] == np.arange(len(DOMAIN.vocabulary))).astype(np.uint8)
        shown = _centred(planes, row, column) if self._centred else planes
        return {"planes": shown, "routine": routine, **{name: observations[name] for name in self._kept}}


def _coordinates(words: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Column and row, from 0, of the place that routines (worlds, 4) name; -1 where there is none."""
    first = _FIRST_COORDINATE[words[:, 0]][:, None]
    numbers = _COORDINATES[np.take_along_axis(words, np.maximum(first, 0) + np.arange(2), axis=1)]
    x, y = np.where(first >= 0, numbers, -1).T
    return x, y


def _centred(planes: NDArray[np.uint8], row: NDArray[np.intp], column: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Planes (worlds, planes, 2 * side - 1, 2 * side - 1) with the agent in the middle."""
    side = planes.shape[2]
    wide = np.pad(planes, ((0, 0), (0, 0), (side - 1, side - 1), (side - 1, side - 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (2 * side - 1, 2 * side - 1), axis=(2, 3))
    found: NDArray[np.uint8] = windows[np.arange(len(planes)), :, row, column]
    return found


class _Flat(_Transform):
    def __init__(self, given: spaces.Space[Any], centred: bool) -> None:
        self._planes = _Planes(given, centred, program=False)
        self.space = spaces.flatten_space(self._planes.space)

    def __call__(self, observations: Arrays, environment: Any) -> NDArray[np.float32]:
        parts = self._planes(observations, environment)
        flat = [parts[name].reshape(len(parts[name]), -1) for name in self._planes.space.spaces]
        return np.concatenate(flat, axis=1).astype(self.space.dtype)


class _Tokens(_Transform):
    """The tokens of each program are made when it is first met."""

    def __init__(self, given: spaces.Space[Any], max_tokens: int) -> None:
        own = _entries(given, *NEEDED)
        self._known: dict[int, tuple[Any, NDArray[np.int16]]] = {}
        """By the id of an entry: the entry, so that the id stays its own, and the tokens."""
        self._max_tokens = max_tokens
        self.space = spaces.Dict({**own, "tokens": spaces.Box(0, len(TOKENS) - 1, (max_tokens,), np.int16)})

    def __call__(self, observations: Arrays, environment: Any) -> dict[str, NDArray[Any]]:
        batch, found = environment.batch, np.zeros((len(observations["words"]), self._max_tokens), np.int16)
        for world, program in enumerate(batch.program.tolist()):
            entry = batch.entries[program]
            if id(entry) not in self._known:
                self._known[id(entry)] = entry, self._tokens(entry.text)
            found[world] = self._known[id(entry)][1]
        return {**observations, "tokens": found}

    def _tokens(self, text: str) -> NDArray[np.int16]:
        tokens, names = _TOKEN.findall(text), re.findall(r"^\s*(\w+) =(?!=)", text, re.MULTILINE)
        renamed = dict(zip(dict.fromkeys(names), NAMES, strict=False))
        following = [*tokens[1:], ""]
        tokens = [
            token if after == "(" else renamed.get(token, token) for token, after in zip(tokens, following, strict=True)
        ]
        if len(tokens) > self._max_tokens:
            raise WorldError(f"the program has {len(tokens)} tokens, more than {self._max_tokens}: raise max_tokens")
        unknown = [token for token in tokens if token not in _NUMBERS]
        if unknown:
            raise WorldError(f"the program has a word that is not among the tokens: {unknown[0]}")
        numbers = np.zeros(self._max_tokens, np.int16)
        numbers[: len(tokens)] = [_NUMBERS[token] for token in tokens]
        return numbers


def restored(observation: Any) -> dict[str, NDArray[Any]]:
    """The environment's own observation, of one that a wrapper has changed; `WorldError` if it was lost."""
    if not isinstance(observation, Mapping):
        raise WorldError(
            f"an observation is a dictionary of arrays ({', '.join(NEEDED)}), not {type(observation).__name__}; "
            "leave out wrappers that flatten it"
        )
    arrays = {name: np.asarray(array) for name, array in observation.items()}
    if "planes" in arrays and "map" not in arrays and all(name in arrays for name in PROGRAM):
        arrays |= _without_planes(arrays)
    missing = [name for name in NEEDED if name not in arrays]
    if missing:
        raise WorldError(
            f"the observation has no {', '.join(missing)}, which an executor needs; leave out the wrapper that removes "
            "them, or let it keep them, as in OneHotPlanes(environment, program=True)"
        )
    return {name: arrays[name] for name in NEEDED}


def _without_planes(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Map and agent of an observation with planes, of one world or of many."""
    planes = arrays["planes"]
    cells = (planes[..., : len(KINDS) - 1, :, :] * np.arange(1, len(KINDS))[:, None, None]).sum(axis=-3)
    if "agent" not in arrays:
        place = planes[..., AGENT, :, :].reshape(*planes.shape[:-3], -1).argmax(axis=-1)
        return {"map": cells, "agent": np.stack(np.divmod(place, planes.shape[-1]), axis=-1)}
    side = (planes.shape[-1] + 1) // 2
    row, column = np.moveaxis(arrays["agent"].astype(np.intp), -1, 0)
    around = np.arange(side)
    rows = (side - 1 - row)[..., None, None] + around[:, None]
    columns = (side - 1 - column)[..., None, None] + around
    if cells.ndim == 2:
        return {"map": cells[rows, columns]}
    return {"map": cells[np.arange(len(cells))[:, None, None], rows, columns]}


def text_of(tokens: NDArray[np.integer[Any]]) -> str:
    """The text of a program, of its tokens."""
    return " ".join(TOKENS[token] for token in tokens if token).replace(f" {NEWLINE} ", NEWLINE)


def _entries(given: spaces.Space[Any], *names: str) -> dict[str, spaces.Box]:
    """The entries of the environment's own observation space."""
    if not isinstance(given, spaces.Dict) or any(name not in given.spaces for name in names):
        found = ", ".join(given.spaces) if isinstance(given, spaces.Dict) else str(given)
        raise WorldError(
            f"observations of {found}: the wrapper needs {', '.join(names)}; wrap the environment of the world itself"
        )
    return {name: box for name in names if isinstance(box := given.spaces[name], spaces.Box)}


class OneHotPlanes(_One):
    """Ones and zeros for all that is a kind or a word.

    With `centred` the agent is in the middle of the planes, which are (2 * side - 1) wide, and `agent` is kept;
    `program` keeps the rest of the observation (`pointer`, `words`, `flow`, `time`), which an agent of more than one
    routine needs."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, centred: bool = False, program: bool = False) -> None:
        transform = _Planes(env.observation_space, centred, program)
        super().__init__(env, transform, centred=centred, program=program)


class VectorOneHotPlanes(_Many):
    """`OneHotPlanes` of many worlds."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, centred: bool = False, program: bool = False) -> None:
        super().__init__(env, _Planes(env.single_observation_space, centred, program))


class FlatVector(_One):
    """The entries of `OneHotPlanes` as one vector."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, centred: bool = False) -> None:
        super().__init__(env, _Flat(env.observation_space, centred), centred=centred)


class VectorFlatVector(_Many):
    """`FlatVector` of many worlds."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, centred: bool = False) -> None:
        super().__init__(env, _Flat(env.single_observation_space, centred))


class ProgramTokens(_One):
    """Adds `tokens`: numbers of `TOKENS`, the text of the program with newlines and indentation."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, max_tokens: int = MAX_TOKENS) -> None:
        super().__init__(env, _Tokens(env.observation_space, max_tokens), max_tokens=max_tokens)


class VectorProgramTokens(_Many):
    """`ProgramTokens` of many worlds."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, max_tokens: int = MAX_TOKENS) -> None:
        super().__init__(env, _Tokens(env.single_observation_space, max_tokens))
