"""Grid worlds as specifications: what a grid is made of, and two ways of reading one.

A cell is the sum of what lies there, where it lies seen from the agent, and where it lies on the map, so attention over
the cells is a `TableAttention`. `CellReader` is the paper's CrossAtt2 (Eq. 5) over these cells and what is carried. The
reader of `plus`, `GridReader`, adds what attention is bad at: counting (an average does not count), and finding the way
around walls and rivers (`propagation.py`).

    seen = reader.prepare(grid, heard, allowed, said)   # what all queries of a step have in common
    reader(query, seen, number)             # (batch, rows, width) -> (batch, rows, width); number: which block asks
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from program_guided.models.attention import Projected, TableAttention, Watch
from program_guided.models.guidance import mlp, sinusoids
from program_guided.models.propagation import NEIGHBOURS, spread

__all__ = ["CellReader", "Grid", "GridReader", "GridSizes"]

COUNTED = 6
"""A count is shown as thresholds passed, up to this one."""
MOST_CARRIED = 7
FARTHEST = 7
"""Offsets to the agent beyond this are not told apart."""


@dataclass(frozen=True)
class GridSizes:
    """What the tables of a reader must hold."""

    kinds: int
    """Kinds of cells, 0 among them: not on the map."""
    items: int
    side: int
    """The largest side."""


@dataclass(frozen=True)
class Grid:
    """A batch of square maps. Rows and columns count from 0."""

    kinds: Tensor
    """(batch, side * side)"""
    agent: Tensor
    """(batch, 2) row and column"""
    inventory: Tensor
    """(batch, items)"""

    @property
    def side(self) -> int:
        return round(self.kinds.shape[1] ** 0.5)

    def repeated(self, times: int) -> Grid:
        """Every map `times` times, one after the other."""
        if times == 1:
            return self
        return Grid(*(each.repeat_interleave(times, dim=0) for each in (self.kinds, self.agent, self.inventory)))


class Cells(nn.Module):
    """The cells of a grid as sums of table rows: what | row | column | offset to the agent, if asked for."""

    def __init__(self, width: int, hidden: int, sizes: GridSizes, offsets: bool, scaled: bool) -> None:
        super().__init__()
        self.sizes, self.offsets = sizes, offsets
        self.what = _encoder(sizes.kinds, hidden, width, scaled)
        if offsets:
            self.where = _encoder(2 * (2 * FARTHEST + 1), hidden, width, scaled)
        self.rows: Tensor
        self.columns: Tensor
        place = sinusoids(sizes.side, width // 2)
        self.register_buffer("rows", torch.cat([place, torch.zeros_like(place)], dim=1), persistent=False)
        self.register_buffer("columns", torch.cat([torch.zeros_like(place), place], dim=1), persistent=False)

    def table(self, side: int) -> Tensor:
        """(rows, width)"""
        device = self.rows.device
        table = [self.what(torch.eye(self.sizes.kinds, device=device)), self.rows[:side], self.columns[:side]]
        if self.offsets:
            offset = torch.arange(1 - side, side, device=device).clamp(-FARTHEST, FARTHEST) + FARTHEST
            down, right = torch.cartesian_prod(offset, offset).T
            seen = torch.eye(2 * FARTHEST + 1, device=device)
            table.append(self.where(torch.cat([seen[down], seen[right]], dim=1)))
        return torch.cat(table)

    def index(self, grid: Grid) -> Tensor:
        """(batch, cells, 3 or 4) rows of the table; -1 where there is no cell."""
        side, first, device = grid.side, self.sizes.kinds, grid.kinds.device
        kinds = grid.kinds[..., None].to(torch.int16)
        parts = [kinds, _place_rows(side, first, device).expand(len(kinds), -1, -1)]
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
    """(cells, 2) table rows of every cell's row and column, from the `first` one."""
    return (_places(side, device) + torch.tensor([first, first + side], device=device)).to(torch.int16)


@dataclass(frozen=True)
class SeenCells:
    """What `CellReader` attends to."""

    table: Tensor
    index: Tensor
    carried: Tensor | None
    visible: Tensor | None


def _encoder(inputs: int, hidden: int, outputs: int, scaled: bool) -> nn.Sequential:
    """An MLP; if `scaled`, its outputs are as large as positional encodings are."""
    return nn.Sequential(*mlp(inputs, hidden, outputs), *([nn.LayerNorm(outputs)] if scaled else []))


class CellReader(nn.Module):
    """CrossAtt2 of `paper`: attention over the cells, and over what the agent carries.

    The paper's encoders: the map by a two-layer MLP (hidden 256; here one for what and one for where, whose sum a cell
    is), the inventory by another (hidden 128). With `objects` each kind of thing that is carried is an object to attend
    to; without, the inventory is added to every cell, as in the paper. With `blind` half of the heads choose cells by
    what lies there alone, whatever the place: equal cells then have equal weights, which can be counted.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        blocks: int,
        sizes: GridSizes,
        hidden: int,
        *,
        sink: bool,
        objects: bool,
        blind: bool,
        tells: bool,
        scaled: bool,
    ) -> None:
        super().__init__()
        self.sizes, self.objects, self.blind, self.heads = sizes, objects, blind, heads
        self.cells = Cells(width, hidden, sizes, offsets=True, scaled=scaled)
        self.carried = _encoder(sizes.items + (MOST_CARRIED + 1) * objects, hidden // 2, width, scaled)
        self.attend = nn.ModuleList(TableAttention(width, heads, sink, tells) for _ in range(blocks))

    def prepare(self, grid: Grid, heard: Tensor, allowed: Tensor, said: Tensor) -> SeenCells:
        """The cells and what is carried, as sums of table rows; `heard` (batch, rows, ..) says for how many queries."""
        grid = grid.repeated(heard.shape[1])
        table, index, carried = self.cells.table(grid.side), self.cells.index(grid), None
        places = slice(self.sizes.kinds, len(table))
        if self.objects:
            index = torch.cat([index, self._carried_index(grid, len(table))], dim=1)
            table = torch.cat([table, self._carried_table()])
        else:
            carried = self.carried(grid.inventory.float())
        visible = None
        if self.blind:
            visible = table.new_ones(len(table), self.heads)
            visible[places, : self.heads // 2] = 0
        return SeenCells(table, index, carried, visible)

    def forward(self, query: Tensor, seen: SeenCells, number: int, watch: Watch | None = None) -> Tensor:
        asked, given = query.flatten(0, 1), (seen.table, seen.index, seen.carried)
        attended: Tensor = self.attend[number](asked, *given, watch=watch, name=f"cells {number}", visible=seen.visible)
        return attended.view_as(query)

    def _carried_table(self) -> Tensor:
        """A row for nothing, then one for every number of every thing."""
        device, amounts = self.cells.rows.device, MOST_CARRIED + 1
        thing, amount = torch.eye(self.sizes.items, device=device), torch.eye(amounts, device=device)
        every = torch.cat([thing.repeat_interleave(amounts, dim=0), amount.repeat(self.sizes.items, 1)], dim=1)
        return torch.cat([every.new_zeros(1, self.cells.rows.shape[1]), self.carried(every)])

    def _carried_index(self, grid: Grid, first: int) -> Tensor:
        """(batch, things, 4): its own row, and nothing else."""
        things = torch.arange(self.sizes.items, device=grid.kinds.device) * (MOST_CARRIED + 1)
        own = first + 1 + things + grid.inventory.long().clamp(max=MOST_CARRIED)
        nothing = torch.full_like(own, first)
        return torch.stack([own, nothing, nothing, nothing], dim=2).to(torch.int16)


@cache
def _multiples(count: int, number: int, device: torch.device) -> Tensor:
    return torch.arange(count, device=device) * number


@cache
def _beside(side: int, device: torch.device) -> Tensor:
    """Neighbours on a map with a border, relative to the agent's place counted without it."""
    wide = side + 2
    return torch.tensor([(down + 1) * wide + right + 1 for down, right in NEIGHBOURS], device=device)


@dataclass(frozen=True)
class SeenGrid:
    """What `GridReader` works on."""

    grid: Grid
    table: Tensor
    projected: Projected
    index: Tensor
    context: Tensor
    amounts: Tensor
    named: Tensor | None
    """(queries, kinds + items) 1 for what the routine's words name"""


class GridReader(nn.Module):
    """The reader of `plus`: attention over the cells, counts, ways, and what the agent carries and stands beside.

    With `names` (vocabulary, kinds + items; 1 where a word names a kind of cell or what is carried) counts and ways can
    be of whatever a routine names: `mine(gold)` and `mine(iron)` are one skill, and a name that was never heard works.
    """

    def __init__(
        self, width: int, heads: int, sizes: GridSizes, plans: int, hidden: int, names: Tensor | None = None
    ) -> None:
        super().__init__()
        self.heads, self.sizes, self.plans = heads, sizes, plans
        self.cells = Cells(width, hidden // 4, sizes, offsets=False, scaled=False)
        self.attend = TableAttention(width, heads, sink=True)
        self.carried = nn.Embedding(sizes.items * (MOST_CARRIED + 1), width)
        self.beside = nn.Embedding(len(NEIGHBOURS) * sizes.kinds, width)
        self.pick = nn.Linear(width, heads * (sizes.kinds + sizes.items))
        self.plan = nn.Linear(width, plans * (2 * sizes.kinds + 2 * sizes.side))
        self.join = nn.Linear(heads * (COUNTED + 1) + plans * len(NEIGHBOURS), width)
        self.names: Tensor | None
        self.register_buffer("names", names, persistent=False)
        if names is not None:
            self.mean = nn.Linear(width, 2 * heads + plans)
            nn.init.normal_(self.mean.bias, std=2.0)  # from the beginning, some mean what is named, some do not

    def prepare(self, grid: Grid, heard: Tensor, allowed: Tensor, said: Tensor) -> SeenGrid:
        """What does not depend on the query; `heard` (batch, rows, ..) says for how many queries."""
        rows = heard.shape[1]
        context, amounts = self._context(grid), self._amounts(grid)
        if rows > 1:
            context, amounts = context.repeat_interleave(rows, dim=0), amounts.repeat_interleave(rows, dim=0)
        grid, table = grid.repeated(rows), self.cells.table(grid.side)
        named = None
        if self.names is not None:
            named = nn.functional.embedding_bag(said.flatten(0, 1).long(), self.names, mode="sum")
        return SeenGrid(grid, table, self.attend.project(table), self.cells.index(grid), context, amounts, named)

    def forward(self, query: Tensor, seen: SeenGrid, number: int, watch: Watch | None = None) -> Tensor:
        asked = query.flatten(0, 1)
        given = (seen.table, seen.index)
        attended = self.attend(asked, *given, watch=watch, name=f"cells {number}", projected=seen.projected)
        to_pick = to_reach = None
        if seen.named is not None:
            to_pick, to_reach = self._meant(asked, seen.named)
        found = torch.cat([self.count(asked, seen.amounts, to_pick), self.find_way(asked, seen.grid, to_reach)], dim=1)
        return (attended + self.join(found) + seen.context).view_as(query)

    def _context(self, grid: Grid) -> Tensor:
        """What the agent carries and stands beside."""
        device, amounts, side = grid.kinds.device, MOST_CARRIED + 1, grid.side
        carried = grid.inventory.long().clamp(max=MOST_CARRIED) + _multiples(self.sizes.items, amounts, device)
        around = nn.functional.pad(grid.kinds.view(-1, side, side), (1, 1, 1, 1)).flatten(1)
        agent = grid.agent.long()
        beside = around.gather(1, agent[:, :1] * (side + 2) + agent[:, 1:] + _beside(side, device))
        beside = beside + _multiples(len(NEIGHBOURS), self.sizes.kinds, device) + len(self.carried.weight)
        table = torch.cat([self.carried.weight, self.beside.weight])
        return nn.functional.embedding_bag(torch.cat([carried, beside], dim=1), table, mode="sum")

    def _amounts(self, grid: Grid) -> Tensor:
        """(batch, kinds + items, 1) how many there are of each kind of cell and of each carried object."""
        present = torch.zeros(len(grid.kinds), self.sizes.kinds, device=grid.kinds.device)
        present.scatter_add_(1, grid.kinds.long(), (grid.kinds > 0).float())
        return torch.cat([present, grid.inventory.float()], dim=1).clamp(max=COUNTED + 1)[..., None]

    def _meant(self, query: Tensor, named: Tensor) -> tuple[Tensor, Tensor]:
        """How much more heads pick (queries, heads, kinds + items) and reach (queries, kinds, plans) what is named."""
        kinds, items, goal = torch.split(self.mean(query), [self.heads, self.heads, self.plans], dim=1)
        of_kind, of_item = torch.split(named, [self.sizes.kinds, self.sizes.items], dim=1)
        to_pick = torch.cat([kinds[:, :, None] * of_kind[:, None], items[:, :, None] * of_item[:, None]], dim=2)
        return to_pick, of_kind[:, :, None] * goal[:, None]

    def count(self, query: Tensor, amounts: Tensor, named: Tensor | None = None) -> Tensor:
        """How many there are of what each head picks (a kind of cell, or a carried object), as thresholds passed."""
        scores = self.pick(query).view(len(query), self.heads, -1)
        picked = (scores if named is None else scores + named).softmax(dim=2)
        counts = torch.bmm(picked, amounts)
        steps = _multiples(COUNTED, 1, query.device) + 0.5
        return torch.cat([counts / COUNTED, ((counts - steps) * 2).tanh()], dim=2).flatten(1)

    def find_way(self, query: Tensor, grid: Grid, named: Tensor | None = None) -> Tensor:
        """Values around the agent: at its own cell, and how much better each neighbour is."""
        kinds, largest, side = self.sizes.kinds, self.sizes.side, grid.side
        scores = self.plan(query).view(len(query), -1, self.plans)
        of_kind, cost, of_row, of_column = scores.split([kinds, kinds, largest, largest], dim=1)
        of_kind = of_kind if named is None else of_kind + named
        cost = nn.functional.softplus(cost) + 0.05
        values = spread(grid.kinds, grid.agent, of_kind, of_row[:, :side], of_column[:, :side], cost)
        better = (values[:, 1:] - values[:, :1]).clamp(-3, 3)
        return torch.cat([values[:, :1].clamp(-10, 10) / 3, better], dim=1).flatten(1)
