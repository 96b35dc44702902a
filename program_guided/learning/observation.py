"""Observations of worlds as tensors: what a model is given for one step of many worlds. They can be kept, taken apart,
put together, and executed again later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from program_guided.language.tokens import tokens_of_routines

__all__ = ["Observation"]


@dataclass(frozen=True)
class Observation:
    """One step of many worlds."""

    arrays: dict[str, Tensor]
    """The specification, as the reader reads it."""
    words: Tensor
    """(worlds, routines, L)"""
    results: Tensor
    """(worlds, routines, d)"""
    pointed: Tensor
    """(worlds, 1)"""
    parents: Tensor
    """(worlds, 1, parents)"""
    mask: Tensor
    """(worlds, actions)"""
    shift: Tensor | None = None
    tokens: Tensor | None = None
    """(worlds, tokens) the programs as tokens, for models without a pointer"""
    begun: Tensor | None = None
    """(worlds,) whether an episode begins with this step, for the same"""

    def __len__(self) -> int:
        return len(self.words)

    def pointed_only(self) -> Observation:
        """Without the routines that neither are pointed at nor are parents."""
        rows = torch.cat([self.pointed, self.parents[:, 0].clamp(min=0)], dim=1)[..., None]
        words = self.words.gather(1, rows.expand(-1, -1, self.words.shape[2]))
        results = self.results.gather(1, rows.expand(-1, -1, self.results.shape[2]))
        places = torch.arange(1, rows.shape[1], device=rows.device)
        parents = torch.where(self.parents >= 0, places, -1)
        return replace(self, words=words, results=results, pointed=torch.zeros_like(self.pointed), parents=parents)

    def kept(self) -> Observation:
        """A copy that stays as it is when the worlds go on."""
        return self._each(torch.clone)

    def take(self, numbers: Tensor) -> Observation:
        """These worlds only."""
        return self._each(lambda tensor: tensor[numbers])

    def asking(self, words: Tensor) -> Observation:
        """As if the pointed routines had these words (worlds, L), no inputs, and no result yet."""
        changed, results, every = self.words.clone(), self.results.clone(), torch.arange(len(self.words))
        changed[every, self.pointed[:, 0]] = words.to(changed)
        results[every, self.pointed[:, 0]] = 0
        parents = self.parents.clone()
        parents[..., 1:] = -1  # the first one is the routine executed before
        tokens = None if self.tokens is None else self._tokens(words)
        return replace(self, words=changed, results=results, parents=parents, tokens=tokens)

    def _tokens(self, words: Tensor) -> Tensor:
        """The tokens of programs of one routine each, as wide as those of these programs."""
        assert self.tokens is not None
        tokens = torch.from_numpy(tokens_of_routines(words.cpu().numpy())).to(self.tokens)
        return pad(tokens, (0, self.tokens.shape[1] - tokens.shape[1]))

    @classmethod
    def together(cls, observations: Sequence[Observation]) -> Observation:
        """Many observations as one of many worlds; programs are as long as the longest."""
        longest = max(each.words.shape[1] for each in observations)
        parts = [each._lengthened(longest - each.words.shape[1]).parts() for each in observations]
        return cls.of({name: torch.cat([each[name] for each in parts]) for name in parts[0]})

    def _lengthened(self, more: int) -> Observation:
        beyond = (0, 0, 0, more)
        return replace(self, words=pad(self.words, beyond), results=pad(self.results, beyond)) if more else self

    def parts(self) -> dict[str, Tensor]:
        """All tensors by name; those of the specification begin with `S.`."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "arrays"}
        arrays = {f"S.{name}": tensor for name, tensor in self.arrays.items()}
        return arrays | {name: tensor for name, tensor in own.items() if tensor is not None}

    @classmethod
    def of(cls, parts: Mapping[str, Tensor]) -> Observation:
        """The observation of such `parts`."""
        arrays = {name.removeprefix("S."): part for name, part in parts.items() if name.startswith("S.")}
        own: dict[str, Any] = {name: part for name, part in parts.items() if not name.startswith("S.")}
        return cls(arrays, **own)

    def _each(self, change: Callable[[Tensor], Tensor]) -> Observation:
        return self.of({name: change(part) for name, part in self.parts().items()})
