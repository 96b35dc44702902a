"""Attention, in the two kinds the executor needs.

`RowAttention` is multi-head attention between rows of Z (Eq. 4).

`TableAttention` is multi-head attention over items that are *sums of table rows*: a routine is the sum of its words'
embeddings and its position, a cell of what lies there and where it is. There are many items and few table rows, so
queries are scored against the rows, an item's score is the sum of its rows' scores, and what is attended to is the
rows' values, each weighted by the items it is part of. It is exact: `plain` projects every item as usual, and tests
hold the two together. On a CPU the gathering is compiled; elsewhere `plain` is used.

    attention(query, table, index)     # index (batch, items, parts): rows of the table; -1 throughout for no item
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from program_guided.models.lanes import LANES, add, load, most, mul, store, sub

__all__ = ["Projected", "RowAttention", "TableAttention", "Watch"]

Watch = dict[str, Tensor]
"""Attention weights that were asked for, by name: hand in an empty one and it is filled."""
Projected = tuple[Tensor, Tensor]
"""A table's keys (heads, width / heads, rows) and values (heads, rows, width / heads)."""


class RowAttention(nn.Module):
    """queries (batch, Q, width), keys (batch, K, width), allowed (batch, Q, K) -> (batch, Q, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.join = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str) -> Tensor:
        batch, count, width = queries.shape
        shape = (batch, -1, self.heads, width // self.heads)
        query, key, value = self.query(queries).view(shape), self.key(keys).view(shape), self.value(keys).view(shape)
        scores = (query[:, :, None] * key[:, None]).sum(dim=4) * shape[-1] ** -0.5
        weights = scores.masked_fill(~allowed[..., None], -torch.inf).softmax(dim=2)
        if watch is not None:
            watch[name] = weights.detach().movedim(3, 1)
        attended = (weights[..., None] * value[:, None]).sum(dim=2).reshape(batch, count, width)
        return self.join(attended)


class TableAttention(nn.Module):
    """query (batch, width), table (rows, width), index (batch, items, parts) -> (batch, width).

    An item whose index is -1 does not exist and gets no weight. With `sink` there is one more item, a sum of nothing,
    for heads that find nothing to look at; it also makes counts visible, since n equal items then share n / (n + 1) of
    the weight instead of all of it. `common` (batch, width) is added to every item, the sink included. `values` (rows,
    width) are what is attended to, if that is something else than what is compared with the query. `visible` (rows,
    heads) says which heads compare the query with a row (1) and which ignore it (0), if not all do. If it `tells`, the
    log of how many items there are like the best one (their scores' exponentials, the best one's being 1, summed) is
    part of what is joined: a mean does not say how many it was taken of. `projected` is what `project` made of it.
    """

    def __init__(self, width: int, heads: int, sink: bool = False, tells: bool = False) -> None:
        super().__init__()
        self.heads, self.sink, self.tells = heads, sink, tells
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.join = nn.Linear(width + heads * tells, width)

    def forward(
        self,
        query: Tensor,
        table: Tensor,
        index: Tensor,
        common: Tensor | None = None,
        values: Tensor | None = None,
        watch: Watch | None = None,
        name: str = "",
        visible: Tensor | None = None,
        projected: Projected | None = None,
    ) -> Tensor:
        if query.device.type != "cpu" or query.dtype != torch.float32:
            return self.plain(query, table, index, common, values, watch, name, visible)
        batch, width = query.shape
        asked = self.query(query).view(batch, self.heads, -1).transpose(0, 1)
        keys, shown = self.project(table, values, visible) if projected is None else projected
        scores = torch.bmm(asked, keys)
        weights, shares, many = _Gather.apply(scores, index.to(torch.int16), self.sink)  # type: ignore[no-untyped-call]
        if watch is not None:
            watch[name] = weights.detach().transpose(1, 2)
        attended = torch.bmm(shares, shown).transpose(0, 1).reshape(batch, width)
        return self._joined(attended if common is None else attended + self.value(common), many.T)

    def project(self, table: Tensor, values: Tensor | None = None, visible: Tensor | None = None) -> Projected:
        """What queries meet of a table: worth keeping if it is asked more than once."""
        width = table.shape[1]
        shape = (-1, self.heads, width // self.heads)
        keys = self.key(table).view(shape) * shape[-1] ** -0.5
        keys = keys if visible is None else keys * visible[..., None]
        return keys.movedim(0, 2), self.value(table if values is None else values).view(shape).transpose(0, 1)

    def _joined(self, attended: Tensor, many: Tensor) -> Tensor:
        joined: Tensor = self.join(torch.cat([attended, many], dim=1) if self.tells else attended)
        return joined

    def plain(
        self,
        query: Tensor,
        table: Tensor,
        index: Tensor,
        common: Tensor | None = None,
        values: Tensor | None = None,
        watch: Watch | None = None,
        name: str = "",
        visible: Tensor | None = None,
    ) -> Tensor:
        """The same, item by item."""
        batch, width = query.shape
        shape = (batch, -1, self.heads, width // self.heads)
        keys = self.key(self._items(table, index, common)).view(shape)
        if visible is not None:
            hidden = [self.key(self._items(table * visible[:, [head]], index, common)) for head in range(self.heads)]
            keys = torch.stack([each.view(shape)[:, :, head] for head, each in enumerate(hidden)], dim=2)
        items = self.value(self._items(table if values is None else values, index, common)).view(shape)
        exists = index[..., 0] >= 0
        if self.sink:
            exists = torch.cat([exists.new_ones(batch, 1), exists], dim=1)
        scores = torch.einsum("bqhd,bnhd->bhn", self.query(query).view(shape), keys) * shape[-1] ** -0.5
        scores = scores.masked_fill(~exists[:, None], -torch.inf)
        weights = scores.softmax(dim=2)
        if watch is not None:
            watch[name] = weights[..., int(self.sink) :].detach()
        attended = torch.einsum("bhn,bnhd->bhd", weights, items).reshape(batch, width)
        return self._joined(attended, scores.logsumexp(dim=2) - scores.amax(dim=2))

    def _items(self, table: Tensor, index: Tensor, common: Tensor | None) -> Tensor:
        """(batch, items, width), the sink first."""
        items = torch.cat([table, table.new_zeros(1, table.shape[1])])[index.long()].sum(dim=2)
        if self.sink:
            items = torch.cat([items.new_zeros(len(items), 1, items.shape[2]), items], dim=1)
        return items if common is None else items + common[:, None]


NO_ITEM = np.uint16(65535)
"""What -1 is without its sign; indices without a sign are faster, since they cannot count from the end."""


@njit(cache=True, fastmath=True, error_model="numpy")
def _exponentials(values, powers, bits):  # type: ignore[no-untyped-def]
    """e to the power of each value, none of which is positive, in place: 2**whole by the bits of a float, 2**rest by
    its series. Written so that it becomes vector instructions, which a call of exp does not. `bits` views `powers`."""
    for n in range(len(values)):
        power = max(values[n] * np.float32(1.4426950408889634), np.float32(-126.0))
        whole = np.floor(power)
        rest = (power - whole) * np.float32(0.6931471805599453)
        bits[n] = (np.int32(whole) + np.int32(127)) << np.int32(23)
        series = np.float32(1 / 5040)
        series = series * rest + np.float32(1 / 720)
        series = series * rest + np.float32(1 / 120)
        series = series * rest + np.float32(1 / 24)
        series = series * rest + np.float32(1 / 6)
        series = series * rest + np.float32(0.5)
        series = series * rest + np.float32(1.0)
        values[n] = series * rest + np.float32(1.0)
    for n in range(len(values)):
        values[n] *= powers[n]


@njit(cache=True, fastmath=True, error_model="numpy")
def _forward(scores, index, sink, weights, shares, many):  # type: ignore[no-untyped-def]
    heads, batch, rows = scores.shape
    items, parts = index.shape[1], index.shape[2]
    score, share = np.zeros((rows, LANES), np.float32), np.zeros((rows, LANES), np.float32)
    weight, line = np.empty((items, LANES), np.float32), np.empty((2, LANES), np.float32)
    flat, powers = weight.reshape(-1), np.empty(items * LANES, np.float32)
    bits = powers.view(np.int32)
    there = np.empty(items, np.uint32)
    for b in range(batch):
        count = 0
        for n in range(items):
            there[count] = n
            count += int(index[b, n, 0] != NO_ITEM)
        for first in range(0, heads, LANES):
            lanes = min(LANES, heads - first)
            for h in range(lanes):
                for row in range(rows):
                    score[row, h] = scores[first + h, b, row]
            line[0] = np.float32(0.0) if sink else np.float32(-1e30)
            best = load(line, 0)
            for i in range(count):
                total = load(score, index[b, there[i], 0])
                for k in range(1, parts):
                    total = add(total, load(score, index[b, there[i], k]))
                best = most(best, total)
                store(weight, i, total)
            for i in range(count):
                store(weight, i, sub(load(weight, i), best))
            _exponentials(flat[: count * LANES], powers, bits)
            store(line, 0, best)
            for h in range(LANES):
                line[1, h] = np.exp(-line[0, h]) if sink else np.float32(0.0)
            total = load(line, 1)
            for i in range(count):
                total = add(total, load(weight, i))
            store(line, 0, total)
            for h in range(LANES):
                line[1, h] = np.float32(1.0) / line[0, h]
            for h in range(lanes):
                many[first + h, b] = np.log(line[0, h])
            scale = load(line, 1)
            share[:] = 0
            for i in range(count):
                part = mul(load(weight, i), scale)
                store(weight, i, part)
                for k in range(parts):
                    row = index[b, there[i], k]
                    store(share, row, add(load(share, row), part))
            for h in range(lanes):
                for row in range(rows):
                    shares[first + h, b, row] = share[row, h]
            for i in range(count):
                for h in range(lanes):
                    weights[b, there[i], first + h] = weight[i, h]


@njit(cache=True, fastmath=True, error_model="numpy")
def _backward(weights, index, sink, to_shares, to_many, to_scores):  # type: ignore[no-untyped-def]
    batch, items, heads = weights.shape
    rows, parts = to_shares.shape[2], index.shape[2]
    to_share, to_score = np.zeros((rows, LANES), np.float32), np.zeros((rows, LANES), np.float32)
    weight, to_weight = np.zeros((items, LANES), np.float32), np.zeros((items, LANES), np.float32)
    line = np.zeros((1, LANES), np.float32)
    for b in range(batch):
        for first in range(0, heads, LANES):
            lanes = min(LANES, heads - first)
            for h in range(lanes):
                for row in range(rows):
                    to_share[row, h] = to_shares[first + h, b, row]
            line[:] = 0
            mean = load(line, 0)
            for n in range(items):
                if index[b, n, 0] == NO_ITEM:
                    continue
                for h in range(lanes):
                    weight[n, h] = weights[b, n, first + h]
                total = load(to_share, index[b, n, 0])
                for k in range(1, parts):
                    total = add(total, load(to_share, index[b, n, k]))
                store(to_weight, n, total)
                mean = add(mean, mul(total, load(weight, n)))
            for h in range(lanes):
                line[0, h] = to_many[first + h, b]
            less = sub(mean, load(line, 0))
            to_score[:] = 0
            for n in range(items):
                if index[b, n, 0] == NO_ITEM:
                    continue
                amount = mul(load(weight, n), sub(load(to_weight, n), less))
                for k in range(parts):
                    row = index[b, n, k]
                    store(to_score, row, add(load(to_score, row), amount))
            for h in range(lanes):
                if to_many[first + h, b] != 0:
                    _without_best(weights[b, :, first + h], index[b], sink, to_many[first + h, b], to_score[:, h])
                for row in range(rows):
                    to_scores[first + h, b, row] = to_score[row, h]


@njit(cache=True, error_model="numpy")
def _without_best(weight, index, sink, to_many, to_score):  # type: ignore[no-untyped-def]
    """How many there are like the best item does not grow with that one's own score; nor with the sink's, which has
    none."""
    best, left = 0, np.float32(1.0)
    for n in range(len(weight)):
        left -= weight[n]
        best = n if weight[n] > weight[best] else best
    if index[best, 0] != NO_ITEM and not (sink and left >= weight[best]):
        for k in range(index.shape[1]):
            to_score[index[best, k]] -= to_many


class _Gather(torch.autograd.Function):
    """Scores of rows (heads, batch, rows) -> weights of items (batch, items, heads), shares of rows, and the log of how
    many items there are like the best (heads, batch)."""

    @staticmethod
    def forward(context: Any, scores: Tensor, index: Tensor, sink: bool) -> tuple[Tensor, Tensor, Tensor]:
        weights = torch.zeros(*index.shape[:2], len(scores))
        shares, many = torch.empty_like(scores), torch.empty(scores.shape[:2])
        rows, given = index.numpy().view(np.uint16), scores.detach().contiguous().numpy()
        _forward(given, rows, sink, weights.numpy(), shares.numpy(), many.numpy())
        context.sink = sink
        context.save_for_backward(weights, index)
        context.mark_non_differentiable(weights)
        return weights, shares, many

    @staticmethod
    def backward(context: Any, _: Tensor, to_shares: Tensor, to_many: Tensor) -> tuple[Tensor | None, ...]:
        weights, index = context.saved_tensors
        to_scores = torch.empty_like(to_shares, memory_format=torch.contiguous_format)
        rows, given = index.numpy().view(np.uint16), (to_shares.contiguous().numpy(), to_many.contiguous().numpy())
        _backward(weights.numpy(), rows, context.sink, *given, to_scores.numpy())
        return to_scores, None, None
