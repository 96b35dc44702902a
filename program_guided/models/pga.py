"""`pga`: Program Guided Agent (Sun, Wu and Lim, ICLR 2020), the strongest rival in the paper's world.

The pointer is the same as everybody's; what is learned are two networks that see the pointed routine and the state and
nothing else of the program: a *policy* (actions and values) and a *perception* (answers). Each encodes the map by four
convolutions, the inventory and the routine's words (the goal) by two layers, and lets the goal modulate every channel.
No code was published. Decided here, where the paper is silent: the border is padded and what is left of the map after
the last layer is reduced by its maximum (without padding, small maps vanish); convolutions are normalised, or
it hardly learns; words are embeddings of 32, in the order of the routine; one layer of 256 joins map and inventory.
1.16 million parameters in the paper's world (1.21 there).

A row of Z is the output of the policy beside that of the perception; heads read the half that is theirs. Results of
other routines are not read, so programs with data flow are beyond it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from program_guided.language.domain import ACTION
from program_guided.models.attention import Watch
from program_guided.models.config import VALUE, PGAConfig
from program_guided.models.maps import MapReader, StateEncoder
from program_guided.models.model import Model, Sizes, Step, take
from program_guided.models.propagation import NEIGHBOURS
from program_guided.models.readers.config import ReaderConfig
from program_guided.models.readers.grid import Maps, find_paths, score_count
from program_guided.models.semantics import Semantics, mlp

__all__ = ["PGA"]

GOAL = 64
"""Width of the goal's two layers."""
POLICY = (ACTION, VALUE)
"""Results of the policy; all others are the perception's."""


@final
class PGA(Model):
    """The model of `PGAConfig`."""

    local = True

    def __init__(self, config: PGAConfig, sizes: Sizes, reader: ReaderConfig) -> None:
        maps = MapReader(reader, "pga")
        super().__init__(sizes, maps, 2 * config.hidden, config.hidden)
        heads = {name: mlp(config.hidden, config.hidden, size) for name, size in sizes.results if size is not None}
        self.heads = nn.ModuleDict(heads)
        self.config = config
        self.policy, self.perception = (_Tower(config, sizes, maps) for _ in range(2))

    def settings(self) -> dict[str, Any]:
        return asdict(self.config)

    def forward(self, step: Step, watch: Watch | None = None) -> Tensor:
        words = take(step.words, step.pointed)
        shape, words = words.shape, words.flatten(0, 1)
        maps = step.specification.repeated(shape[1])
        planes = self.reader.planes(maps)
        policy = self.policy(maps, planes, words)
        asked = self._asked(step.allowed, len(words))
        perception = torch.zeros_like(policy)
        if len(asked):
            answers = self.perception(maps.about(asked), planes[asked], words[asked])
            perception = perception.index_copy(0, asked, answers)
        return torch.cat([policy, perception], dim=1).view(*shape[:2], self.width)

    def _asked(self, allowed: Tensor | None, count: int) -> Tensor:
        """Numbers of the rows that may be answers; only these need a perception."""
        if allowed is None:
            return torch.arange(count, device=self.encoding.device)
        actions = dict(self.sizes.results)[ACTION]
        return allowed[:, actions:].any(dim=1).nonzero()[:, 0]

    def decode(self, rows: Tensor, result_type: str, specification: Any = None) -> Tensor:
        policy, perception = rows.chunk(2, dim=-1)
        scores: Tensor = self.heads[result_type](policy if result_type in POLICY else perception)
        return scores


class _Tower(nn.Module):
    """One of the two networks: (map, goal) -> vector."""

    def __init__(self, config: PGAConfig, sizes: Sizes, reader: MapReader) -> None:
        super().__init__()
        self.words = Semantics(len(sizes.vocabulary), sizes.words, config.word_width)
        self.goal = mlp(sizes.words * config.word_width, GOAL, GOAL)
        self.modulated = config.fusion == "modulation"
        self.state = StateEncoder(reader, GOAL if self.modulated else None)
        width = StateEncoder.width + GOAL * (not self.modulated)
        self.grid = reader.config if config.with_propagation else None
        if self.grid is not None:
            self.plan = nn.Linear(width + GOAL, score_count(self.grid) * self.grid.plans)
        paths = 0 if self.grid is None else len(NEIGHBOURS) * self.grid.plans
        self.join = nn.Linear(width + paths, config.hidden)

    def forward(self, maps: Maps, planes: Tensor, words: Tensor) -> Tensor:
        goal = self.goal(self.words(words))
        seen = self.state(planes, maps.inventory, goal if self.modulated else None)
        seen = seen if self.modulated else torch.cat([seen, goal], dim=1)
        if self.grid is not None:
            scores = self.plan(torch.cat([seen, goal], dim=1)).view(len(seen), -1, self.grid.plans)
            seen = torch.cat([seen, find_paths(scores, maps, self.grid)], dim=1)
        return relu(self.join(seen))
