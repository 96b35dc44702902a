"""Reading a grid world: what `plus` does in place of CrossAtt2 (Eq. 5), and what a grid is made of.

A cell is the sum of what lies there and where it is, so its score for a query is a sum of table entries, and so is the
value it contributes: attention over 64 cells needs a few small tables, not 64 projected vectors. Beside the attended
average a routine reads sums (counting wants sums, an average cannot count), and values that spread over the map
(`propagation.py`), which show the way around walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from program_guided.models.propagation import NEIGHBOURS, spread

__all__ = ["Grid", "GridReader", "GridSizes"]

COUNTED = 6
"""A count is shown as thresholds passed, up to this one."""
MOST_CARRIED = 7


@dataclass(frozen=True)
class GridSizes:
    """What the tables of a grid reader must hold."""

    kinds: int
    items: int
    side: int
    """The largest side."""


@dataclass(frozen=True)
class Grid:
    """A batch of grids. Rows and columns count from 0."""

    kinds: Tensor
    """(batch, side * side) uint8"""
    agent: Tensor
    """(batch, 2)"""
    inventory: Tensor
    """(batch, items)"""

    @property
    def side(self) -> int:
        return int(self.kinds.shape[1] ** 0.5)


class GridReader(nn.Module):
    """Query (batch, width) -> what the grid answers (batch, width)."""

    def __init__(self, width: int, heads: int, sizes: GridSizes, plans: int) -> None:
        super().__init__()
        self.heads, self.sizes, self.plans = heads, sizes, plans
        table = sizes.kinds + 2 * sizes.side
        self.carried = nn.Embedding(sizes.items * (MOST_CARRIED + 1), width)
        self.beside = nn.Embedding(len(NEIGHBOURS) * sizes.kinds, width)
        self.score = nn.Linear(width, heads * table)
        self.value = nn.Parameter(torch.randn(heads, table, width // heads) * 0.1)
        self.gate = nn.Linear(width, heads * (sizes.kinds + sizes.items))
        self.plan = nn.Linear(width, plans * (table + sizes.kinds))
        read = width + heads * (COUNTED + 1) + plans * len(NEIGHBOURS)
        self.join = nn.Linear(read, width)

    def context(self, grid: Grid) -> Tensor:
        """What the agent carries and stands beside, which every query is told."""
        items = torch.arange(self.sizes.items, device=grid.kinds.device) * (MOST_CARRIED + 1)
        carried = self.carried(items + grid.inventory.long().clamp(max=MOST_CARRIED)).sum(dim=1)
        return carried + self.beside(self._kinds_beside(grid)).sum(dim=1)

    def _kinds_beside(self, grid: Grid) -> Tensor:
        """(batch, 5) rows of `beside`: kinds of the agent's cell and its neighbours, by place."""
        batch, side = len(grid.kinds), grid.side
        padded = torch.nn.functional.pad(grid.kinds.view(batch, side, side), (1, 1, 1, 1)).long()
        number = torch.arange(batch, device=grid.kinds.device)
        row, column = grid.agent[:, 0].long() + 1, grid.agent[:, 1].long() + 1
        found = [padded[number, row + down, column + right] for down, right in NEIGHBOURS]
        places = torch.arange(len(NEIGHBOURS), device=grid.kinds.device) * self.sizes.kinds
        return torch.stack(found, dim=1) + places

    def forward(self, query: Tensor, grid: Grid) -> Tensor:
        attended, _ = self.attend(query, grid)
        return self.join(torch.cat([attended, self.count(query, grid), self.find_way(query, grid)], dim=1))

    def _tables(self, scores: Tensor, side: int, rest: int) -> tuple[Tensor, ...]:
        """Split scores into those of kinds, rows, columns and what else there is."""
        kinds, largest = self.sizes.kinds, self.sizes.side
        of_kind, of_row, of_column, others = scores.split([kinds, largest, largest, rest], dim=2)
        return of_kind, of_row[..., :side], of_column[..., :side], others

    def attend(self, query: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        """Multi-head attention over the cells, from tables: attended values, and weights (batch, heads, cells)."""
        batch, side = len(query), grid.side
        of_kind, of_row, of_column, _ = self._tables(self.score(query).view(batch, self.heads, -1), side, 0)
        index = grid.kinds.long()[:, None, :].expand(batch, self.heads, side * side)
        places = (of_row[..., :, None] + of_column[..., None, :]).flatten(2)
        weights = (of_kind.gather(2, index) + places).softmax(dim=2)
        kinds = weights.new_zeros(batch, self.heads, self.sizes.kinds).scatter_add(2, index, weights)
        on_map = weights.view(batch, self.heads, side, side)
        pad = weights.new_zeros(batch, self.heads, self.sizes.side - side)
        shares = torch.cat([kinds, on_map.sum(3), pad, on_map.sum(2), pad], dim=2)
        return torch.einsum("bht,htv->bhv", shares, self.value).flatten(1), weights

    def count(self, query: Tensor, grid: Grid) -> Tensor:
        """How many there are of what each head picks (a kind of cell, or a carried object), as thresholds passed."""
        picked = self.gate(query).view(len(query), self.heads, -1).softmax(dim=2)
        present = torch.zeros(len(query), self.sizes.kinds, device=query.device)
        ones = torch.ones(grid.kinds.shape, device=query.device)
        present = present.scatter_add(1, grid.kinds.long(), ones)
        amounts = torch.cat([present, grid.inventory.float()], dim=1).clamp(max=COUNTED + 1)
        counts = torch.einsum("bhk,bk->bh", picked, amounts)
        steps = torch.arange(COUNTED, device=query.device) + 0.5
        thresholds = ((counts[..., None] - steps) * 2).tanh()
        return torch.cat([counts[..., None] / COUNTED, thresholds], dim=2).flatten(1)

    def find_way(self, query: Tensor, grid: Grid) -> Tensor:
        """Values around the agent: at its own cell, and how much better each neighbour is."""
        scores = self.plan(query).view(len(query), self.plans, -1)
        of_kind, of_row, of_column, cost = self._tables(scores, grid.side, self.sizes.kinds)
        cost = torch.nn.functional.softplus(cost) + 0.05
        values = spread(grid.kinds, grid.agent, of_kind, of_row, of_column, cost)
        better = (values[..., 1:] - values[..., :1]).clamp(-3, 3)
        return torch.cat([values[..., :1].clamp(-10, 10) / 3, better], dim=2).flatten(1)
