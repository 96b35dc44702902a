"""Grid worlds as specifications: cells, an agent and its inventory, and two readers of them.

A cell is the sum of its kind, its offset to the agent, and its position on the map, so attention over the cells is a
`TableAttention`. `GridAttention` is the paper's CrossAtt2 (Eq. 5) over these cells and the
inventory. `GridReader`, of `plus`, adds what attention does not compute: counts (an average does not count), and paths
around obstacles (`propagation.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from program_guided.models.attention import Projected, TableAttention, Watch
from program_guided.models.model import Sizes
from program_guided.models.propagation import NEIGHBOURS, spread
from program_guided.models.readers.config import CrossAttention, Grid
from program_guided.models.semantics import mlp, sinusoids

__all__ = ["MAX_VISITS", "GridAttention", "GridReader", "Maps", "find_paths", "score_count"]

COUNTED = 6
"""Number of thresholds by which a count is encoded."""
MAX_CARRIED = 7
MAX_OFFSET = 7
"""Offsets to the agent are clipped to this."""
MAX_VISITS = 7
"""Visits of a cell are counted up to this."""


@dataclass(frozen=True)
class Maps:
    """A batch of square maps. Rows and columns are numbered from 0."""

    kinds: Tensor
    """(batch, side * side)"""
    agent: Tensor
    """(batch, 2) row and column"""
    inventory: Tensor
    """(batch, items)"""
    visits: Tensor | None = None
    """(batch, side * side) visits of the agent to each cell since the pointed routine began; None if not counted"""

    @property
    def side(self) -> int:
        return round(self.kinds.shape[1] ** 0.5)

    @classmethod
    def read(cls, arrays: Mapping[str, Tensor]) -> Maps:
        """Arrays `map` (batch, side, side), `agent` (batch, 2), `inventory` (batch, items), perhaps `visits` (batch,
        side, side)."""
        visits = arrays["visits"].flatten(1) if "visits" in arrays else None
        return cls(arrays["map"].flatten(1), arrays["agent"], arrays["inventory"], visits)

    def about(self, of: Tensor) -> Maps:
        """Select the map of each program, by its number."""
        return self._each(lambda tensor: tensor.index_select(0, of))

    def repeated(self, times: int) -> Maps:
        """Every map `times` times, in sequence."""
        return self if times == 1 else self._each(lambda tensor: tensor.repeat_interleave(times, dim=0))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Maps:
        parts = (self.kinds, self.agent, self.inventory, self.visits)
        return Maps(*(None if each is None else change(each) for each in parts))  # type: ignore[arg-type]


class Cells(nn.Module):
    """The cells of a map as sums of table rows: kind and visits | row | column | offset to the agent (if `offsets`)."""

    def __init__(self, width: int, hidden: int, config: Grid, offsets: bool, normalised: bool) -> None:
        super().__init__()
        self.kinds, self.offsets = config.kind_count, offsets
        self.levels = MAX_VISITS + 1 if config.visits else 1
        """Counts of visits that are distinguished."""
        self.contents = self.kinds * self.levels
        """Rows of the table that say what a cell holds: every kind with every count of visits."""
        self.what = _encoder(self.kinds + self.levels * config.visits, hidden, width, normalised)
        if offsets:
            self.where = _encoder(2 * (2 * MAX_OFFSET + 1), hidden, width, normalised)
        self.rows: Tensor
        self.columns: Tensor
        place = sinusoids(config.side, width // 2)
        self.register_buffer("rows", torch.cat([place, torch.zeros_like(place)], dim=1), persistent=False)
        self.register_buffer("columns", torch.cat([torch.zeros_like(place), place], dim=1), persistent=False)

    def table(self, side: int) -> Tensor:
        """(rows, width)"""
        device = self.rows.device
        contents = torch.eye(self.kinds, device=device)
        if self.levels > 1:
            visits = torch.eye(self.levels, device=device).repeat(self.kinds, 1)
            contents = torch.cat([contents.repeat_interleave(self.levels, dim=0), visits], dim=1)
        table = [self.what(contents), self.rows[:side], self.columns[:side]]
        if self.offsets:
            offset = torch.arange(1 - side, side, device=device).clamp(-MAX_OFFSET, MAX_OFFSET) + MAX_OFFSET
            down, right = torch.cartesian_prod(offset, offset).T
            one_hot = torch.eye(2 * MAX_OFFSET + 1, device=device)
            table.append(self.where(torch.cat([one_hot[down], one_hot[right]], dim=1)))
        return torch.cat(table)

    def index(self, grid: Maps) -> Tensor:
        """(batch, cells, 3 or 4) rows of the table; -1 where there is no cell."""
        side, first, device = grid.side, self.contents, grid.kinds.device
        kinds = grid.kinds[..., None].to(torch.int16)
        contents = kinds
        if self.levels > 1:
            assert grid.visits is not None
            contents = kinds * self.levels + grid.visits[..., None].clamp(max=MAX_VISITS)
        parts = [contents, _place_rows(side, first, device).expand(len(kinds), -1, -1)]
        if self.offsets:
            down, right = (_places(side, device) - grid.agent[:, None] + side - 1).unbind(dim=2)
            parts.append((first + 2 * side + down * (2 * side - 1) + right)[..., None].to(torch.int16))
        return torch.cat(parts, dim=2).masked_fill_(kinds == 0, -1)


@cache
def _places(side: int, device: torch.device) -> Tensor:
    """(cells, 2) row and column of every cell."""
    return torch.cartesian_prod(*[torch.arange(side, device=device)] * 2)


@cache
def _place_rows(side: int, first: int, device: torch.device) -> Tensor:
    """(cells, 2) table rows of every cell's row and column; the table's positions start at `first`."""
    return (_places(side, device) + torch.tensor([first, first + side], device=device)).to(torch.int16)


@dataclass(frozen=True)
class AttendedCells:
    """The keys and values of `GridAttention`."""

    table: Tensor
    index: Tensor
    inventory: Tensor | None
    visible: Tensor | None


def _encoder(inputs: int, hidden: int, outputs: int, normalised: bool) -> nn.Sequential:
    """An MLP; if `normalised`, its outputs have the scale of positional encodings."""
    return nn.Sequential(*mlp(inputs, hidden, outputs), *([nn.LayerNorm(outputs)] if normalised else []))


@final
class GridAttention(nn.Module):
    """CrossAtt2 of `paper`: attention over the cells, and over the inventory.

    The paper's encoders: a two-layer MLP for the map (hidden 256; here one for kinds and one for offsets, and a cell is
    the sum of both), and another one for the inventory (hidden 128). With `inventory_items` each kind of item is an
    item of the attention; without, the inventory is added to every cell, as in the paper. With `position_free_heads`
    half of the heads ignore positions: equal cells then have equal weights, which can be counted.
    """

    independent = False

    def __init__(self, config: Grid, width: int, attention: CrossAttention) -> None:
        super().__init__()
        self.kinds, self.items, self.attention = config.kind_count, config.item_count, attention
        self.visits = config.visits
        normalised = attention.normalised_encoders
        self.cells = Cells(width, attention.hidden, config, offsets=True, normalised=normalised)
        inputs = self.items + (MAX_CARRIED + 1) * attention.inventory_items
        self.carried = _encoder(inputs, attention.hidden // 2, width, normalised)
        given = (width, attention.heads, attention.null_key, attention.count_feature, attention.projections)
        self.attend = nn.ModuleList(TableAttention(*given) for _ in range(attention.blocks))

    def encode(self, arrays: Mapping[str, Tensor]) -> Maps:
        return Maps.read(arrays)

    def prepare(
        self,
        grid: Maps,
        parents: Float[Tensor, "batch rows parents width"],
        exists: Bool[Tensor, "batch rows parents"],
        words: Integer[Tensor, "batch rows words"],
    ) -> AttendedCells:
        grid = grid.repeated(words.shape[1])
        table, index, inventory = self.cells.table(grid.side), self.cells.index(grid), None
        places = slice(self.cells.contents, len(table))
        if self.attention.inventory_items:
            index = torch.cat([index, self._carried_index(grid, len(table))], dim=1)
            table = torch.cat([table, self._carried_table()])
        else:
            inventory = self.carried(grid.inventory.float())
        visible = None
        if self.attention.position_free_heads:
            visible = table.new_ones(len(table), self.attention.heads)
            visible[places, : self.attention.heads // 2] = 0
        return AttendedCells(table, index, inventory, visible)

    def forward(
        self, query: Float[Tensor, "batch rows width"], view: AttendedCells, block: int, watch: Watch | None = None
    ) -> Float[Tensor, "batch rows width"]:
        given = (view.table, view.index, view.inventory)
        attended: Tensor = self.attend[block](
            query.flatten(0, 1), *given, watch=watch, name=f"cells {block}", visible=view.visible
        )
        return attended.view_as(query)

    def point(
        self, rows: Float[Tensor, "batch rows width"], specification: Maps
    ) -> Float[Tensor, "batch rows parts_and_none"]:
        raise NotImplementedError("results that are parts of a map cannot be pointed at")

    def parts(self, specification: Maps) -> Bool[Tensor, "batch parts"]:
        return specification.kinds > 0

    def _carried_table(self) -> Tensor:
        """A row of zeros, then one for every count of every item."""
        device, amounts = self.cells.rows.device, MAX_CARRIED + 1
        item, amount = torch.eye(self.items, device=device), torch.eye(amounts, device=device)
        every = torch.cat([item.repeat_interleave(amounts, dim=0), amount.repeat(self.items, 1)], dim=1)
        return torch.cat([every.new_zeros(1, self.cells.rows.shape[1]), self.carried(every)])

    def _carried_index(self, grid: Maps, first: int) -> Tensor:
        """(batch, items, 4): the row of each item and its count, padded with the row of zeros."""
        items = torch.arange(self.items, device=grid.kinds.device) * (MAX_CARRIED + 1)
        own = first + 1 + items + grid.inventory.long().clamp(max=MAX_CARRIED)
        nothing = torch.full_like(own, first)
        return torch.stack([own, nothing, nothing, nothing], dim=2).to(torch.int16)


@cache
def _multiples(count: int, number: int, device: torch.device) -> Tensor:
    return torch.arange(count, device=device) * number


@cache
def _beside(side: int, device: torch.device) -> Tensor:
    """Offsets of the neighbours on a map with a border, from the agent's place on the map without."""
    wide = side + 2
    return torch.tensor([(down + 1) * wide + right + 1 for down, right in NEIGHBOURS], device=device)


def _bordered(cells: Tensor, side: int) -> Tensor:
    """(batch, side * side) -> (batch, (side + 2) ** 2) with a border of 0."""
    return nn.functional.pad(cells.view(-1, side, side), (1, 1, 1, 1)).flatten(1)


@dataclass(frozen=True)
class GridView:
    """Values used by all queries of a step."""

    grid: Maps
    table: Tensor
    projected: Projected
    index: Tensor
    context: Tensor | None
    amounts: Tensor
    named: Tensor | None
    """(queries, kinds + items) 1 for kinds and items that the routine's words name"""


@final
class GridReader(nn.Module):
    """The reader of `plus`: attention over the cells, counts, paths, the inventory and the cells beside the agent.

    If words are names of kinds or items (`Grid.names`), counts and paths can be those of whatever a routine names:
    `mine(gold)` and `mine(iron)` are one skill, and names that did not occur in training work too.
    """

    independent = True

    def __init__(self, config: Grid, sizes: Sizes, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.plans, self.side, self.visits = heads, config.plans, config.side, config.visits
        self.kinds, self.items = config.kind_count, config.item_count
        self.cells = Cells(width, hidden // 4, config, offsets=False, normalised=False)
        self.attend = TableAttention(width, heads, null_key=True)
        self.config = config
        if config.context:
            self.carried = nn.Embedding(self.items * (MAX_CARRIED + 1), width)
            self.beside = nn.Embedding(len(NEIGHBOURS) * self.kinds, width)
        if config.context and self.visits:
            self.visited = nn.Embedding(len(NEIGHBOURS) * (MAX_VISITS + 1), width)
        if config.counting:
            self.pick = nn.Linear(width, heads * (self.kinds + self.items))
        if config.propagation:
            self.plan = nn.Linear(width, score_count(config) * self.plans)
        features = heads * (COUNTED + 1) * config.counting + self.plans * len(NEIGHBOURS) * config.propagation
        self.join = nn.Linear(features, width) if features else None
        named = config.named(sizes.vocabulary)
        self.names: Tensor | None
        self.register_buffer("names", None if named is None else torch.from_numpy(named), persistent=False)
        self.named_words = [] if named is None else np.flatnonzero(named.any(axis=1)).tolist()
        """Words that are distinguished only by what they name, so that they share one embedding."""
        if named is not None:
            self.mean = nn.Linear(width, 2 * heads + self.plans)
            nn.init.normal_(self.mean.bias, std=2.0)  # some heads start with scores of what is named, some without

    def encode(self, arrays: Mapping[str, Tensor]) -> Maps:
        return Maps.read(arrays)

    def prepare(
        self,
        grid: Maps,
        parents: Float[Tensor, "batch rows parents width"],
        exists: Bool[Tensor, "batch rows parents"],
        words: Integer[Tensor, "batch rows words"],
    ) -> GridView:
        rows = words.shape[1]
        context, amounts = self._context(grid) if self.config.context else None, self._amounts(grid)
        if rows > 1:
            context = None if context is None else context.repeat_interleave(rows, dim=0)
            amounts = amounts.repeat_interleave(rows, dim=0)
        grid, table = grid.repeated(rows), self.cells.table(grid.side)
        named = None
        if self.names is not None:
            named = nn.functional.embedding_bag(words.flatten(0, 1).long(), self.names, mode="sum")
        return GridView(grid, table, self.attend.project(table), self.cells.index(grid), context, amounts, named)

    def forward(
        self, query: Float[Tensor, "batch rows width"], view: GridView, block: int, watch: Watch | None = None
    ) -> Float[Tensor, "batch rows width"]:
        queries, given = query.flatten(0, 1), (view.table, view.index)
        attended = self.attend(queries, *given, watch=watch, name=f"cells {block}", projected=view.projected)
        to_pick = to_reach = None
        if view.named is not None:
            to_pick, to_reach = self._named_scores(queries, view.named)
        features = [self.count(queries, view.amounts, to_pick)] if self.config.counting else []
        if self.config.propagation:
            features.append(self.find_path(queries, view.grid, to_reach))
        attended = attended if self.join is None else attended + self.join(torch.cat(features, dim=1))
        return (attended if view.context is None else attended + view.context).view_as(query)

    def point(
        self, rows: Float[Tensor, "batch rows width"], specification: Maps
    ) -> Float[Tensor, "batch rows parts_and_none"]:
        raise NotImplementedError("results that are parts of a map cannot be pointed at")

    def parts(self, specification: Maps) -> Bool[Tensor, "batch parts"]:
        return specification.kinds > 0

    def _context(self, grid: Maps) -> Tensor:
        """The inventory and the cells beside the agent, and how often these were visited."""
        device, amounts, side = grid.kinds.device, MAX_CARRIED + 1, grid.side
        carried = grid.inventory.long().clamp(max=MAX_CARRIED) + _multiples(self.items, amounts, device)
        agent = grid.agent.long()
        places = agent[:, :1] * (side + 2) + agent[:, 1:] + _beside(side, device)
        tables, rows, first = [self.carried.weight, self.beside.weight], [carried], len(self.carried.weight)
        rows.append(
            _bordered(grid.kinds, side).gather(1, places) + _multiples(len(NEIGHBOURS), self.kinds, device) + first
        )
        if self.visits:
            assert grid.visits is not None
            visits = _bordered(grid.visits.clamp(max=MAX_VISITS), side).gather(1, places)
            first += len(self.beside.weight)
            rows.append(visits + _multiples(len(NEIGHBOURS), MAX_VISITS + 1, device) + first)
            tables.append(self.visited.weight)
        return nn.functional.embedding_bag(torch.cat(rows, dim=1), torch.cat(tables), mode="sum")

    def _amounts(self, grid: Maps) -> Tensor:
        """(batch, kinds + items, 1) counts of each kind of cell and of each item."""
        present = torch.zeros(len(grid.kinds), self.kinds, device=grid.kinds.device)
        present.scatter_add_(1, grid.kinds.long(), (grid.kinds > 0).float())
        return torch.cat([present, grid.inventory.float()], dim=1).clamp(max=COUNTED + 1)[..., None]

    def _named_scores(self, query: Tensor, named: Tensor) -> tuple[Tensor, Tensor]:
        """Scores added to named kinds and items: to pick (queries, heads, kinds + items), to reach (queries, kinds,
        plans)."""
        kinds, items, goal = torch.split(self.mean(query), [self.heads, self.heads, self.plans], dim=1)
        of_kind, of_item = torch.split(named, [self.kinds, self.items], dim=1)
        to_pick = torch.cat([kinds[:, :, None] * of_kind[:, None], items[:, :, None] * of_item[:, None]], dim=2)
        return to_pick, of_kind[:, :, None] * goal[:, None]

    def count(self, query: Tensor, amounts: Tensor, named: Tensor | None = None) -> Tensor:
        """Count of the kind of cell or item that each head picks, scaled and as thresholds."""
        scores = self.pick(query).view(len(query), self.heads, -1)
        picked = (scores if named is None else scores + named).softmax(dim=2)
        counts = torch.bmm(picked, amounts)
        steps = _multiples(COUNTED, 1, query.device) + 0.5
        return torch.cat([counts / COUNTED, ((counts - steps) * 2).tanh()], dim=2).flatten(1)

    def find_path(self, query: Tensor, grid: Maps, named: Tensor | None = None) -> Tensor:
        """Values of the propagation (see `find_paths`)."""
        return find_paths(self.plan(query).view(len(query), -1, self.plans), grid, self.config, named)


def score_count(config: Grid) -> int:
    """Scores that `find_paths` takes of each head: goals and costs of kinds, goals of rows and of columns."""
    return 2 * config.kind_count + 2 * config.side


def find_paths(scores: Tensor, grid: Maps, config: Grid, named: Tensor | None = None) -> Tensor:
    """(queries, 5 * heads) values of the propagation: at the agent's cell, and the advantage of each neighbour over it.

    scores (queries, `score_count`, heads); `named` (queries, kinds, heads) is added to the goals of kinds."""
    sizes, side = [config.kind_count, config.kind_count, config.side, config.side], grid.side
    of_kind, cost, of_row, of_column = torch.split(scores, sizes, dim=1)
    of_kind = of_kind if named is None else of_kind + named
    cost = nn.functional.softplus(cost) + 0.05
    if 0 < config.train_side < side:
        of_row, of_column = _bounded(of_row, config.train_side), _bounded(of_column, config.train_side)
    values = spread(grid.kinds, grid.agent, of_kind, of_row[:, :side], of_column[:, :side], cost)
    better = (values[:, 1:] - values[:, :1]).clamp(-3, 3)
    return torch.cat([values[:, :1].clamp(-10, 10) / 3, better], dim=1).flatten(1)


def _bounded(scores: Tensor, train_side: int) -> Tensor:
    """Scores of rows or columns (queries, side, heads); those that no map of train has score as the lowest of the
    others."""
    known = scores[:, :train_side]
    unknown = known.amin(dim=1, keepdim=True).expand(-1, scores.shape[1] - train_side, -1)
    return torch.cat([known, unknown], dim=1)
