"""The two kinds of attention of the executors.

`RowAttention` is multi-head attention between rows of Z (Eq. 4).

`TableAttention` is multi-head attention over items that are *sums of table rows*: a routine is the sum of its words'
embeddings and its position; a cell is the sum of its content and its position. There are many items and few table rows,
so queries are scored against the rows, an item's score is the sum of its rows' scores, and the output is a sum of the
rows' values, each weighted by the items it is part of. It is exact: tests compare it with `plain`, which projects every
item. On a CPU the gathering is compiled; on other devices `plain` is used.

    attention(query, table, index)     # index (batch, items, parts): rows of the table; -1 throughout for no item
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from program_guided.compiled import kernel
from program_guided.models.simd import LANES, add, load, maximum, mul, store, sub

__all__ = ["DotAttention", "Projected", "RowAttention", "TableAttention", "Watch"]

Watch = dict[str, Tensor]
"""Attention weights by name; a model fills the one it is given. Those of readers of objects are (rows of all programs,
1, heads, objects), all others (rows of all programs, heads, ...)."""
Projected = tuple[Tensor, Tensor]
"""A table's keys (heads, width / heads, rows) and values (heads, rows, width / heads)."""


class RowAttention(nn.Module):
    """queries (batch, Q, width), keys (batch, K, width), allowed (batch, Q, K) -> (batch, Q, width). Without
    `projections` there are no weights: queries, keys and values are the rows themselves."""

    def __init__(self, width: int, heads: int, projections: bool = True) -> None:
        super().__init__()
        self.heads = heads
        layers = (nn.Linear(width, width) if projections else nn.Identity() for _ in range(4))
        self.query, self.key, self.value, self.output = layers

    def forward(self, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str) -> Tensor:
        batch, count, width = queries.shape
        shape = (batch, -1, self.heads, width // self.heads)
        query, key, value = self.query(queries).view(shape), self.key(keys).view(shape), self.value(keys).view(shape)
        scores = (query[:, :, None] * key[:, None]).sum(dim=4) * shape[-1] ** -0.5
        weights = scores.masked_fill(~allowed[..., None], -torch.inf).softmax(dim=2)
        if watch is not None:
            watch[name] = weights.detach().movedim(3, 1)
        attended = (weights[..., None] * value[:, None]).sum(dim=2).reshape(batch, count, width)
        return self.output(attended)


class DotAttention(nn.Module):
    """Attention without projections, called as `nn.MultiheadAttention` is: the heads share out the width."""

    def __init__(self, width: int, heads: int, batch_first: bool = True) -> None:
        super().__init__()
        self.heads = heads

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, *, key_padding_mask: Tensor, **others: bool
    ) -> tuple[Tensor, Tensor]:
        """(batch, Q, width), and the weights (batch, heads, Q, K)."""
        parts = [each.unflatten(2, (self.heads, -1)).transpose(1, 2) for each in (query, keys, values)]  # type: ignore[no-untyped-call]
        scores = parts[0] @ parts[1].transpose(2, 3) * parts[0].shape[3] ** -0.5
        weights = scores.masked_fill(key_padding_mask[:, None, None], -torch.inf).softmax(dim=3)
        return (weights @ parts[2]).transpose(1, 2).flatten(2), weights


class TableAttention(nn.Module):
    """query (batch, width), table (rows, width), index (batch, items, parts) -> (batch, width).

    An item whose index is -1 does not exist and has weight 0. With `null_key` there is one more item without content,
    for heads that find nothing to attend to; it also makes counts visible, since n equal items then share n / (n + 1)
    of the weight instead of all of it. `common` (batch, width) is added to every item, the null key included. `values`
    (rows, width) replace the table as values; the keys remain those of the table. `visible` (rows, heads) is 0 where a
    head ignores a row in the keys, else 1. With `count_feature` the log of the number of items similar to the best one
    (the sum of exp(score - best score)) is part of the output, since a mean does not depend on the number of its items.
    Without `projections`, queries, keys and values are not projected, nor is the output but for that number.
    `projected` is the result of `project`."""

    def __init__(
        self, width: int, heads: int, null_key: bool = False, count_feature: bool = False, projections: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.null_key, self.count_feature, self.projections = heads, null_key, count_feature, projections
        layers = (nn.Linear(width, width, bias=False) if projections else nn.Identity() for _ in range(3))
        self.query, self.key, self.value = layers
        self.output: nn.Module = nn.Identity()
        if projections or count_feature:
            self.output = nn.Linear(width * projections + heads * count_feature, width)

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
        queries = self.query(query).view(batch, self.heads, -1).transpose(0, 1)
        keys, attended_values = self.project(table, values, visible) if projected is None else projected
        scores = torch.bmm(queries, keys)
        weights, shares, count = _Gather.apply(scores, index.to(torch.int16), self.null_key)  # type: ignore[no-untyped-call]
        if watch is not None:
            watch[name] = weights.detach().transpose(1, 2)
        attended = torch.bmm(shares, attended_values).transpose(0, 1).reshape(batch, width)
        return self._output(attended if common is None else attended + self.value(common), count.T)

    def project(self, table: Tensor, values: Tensor | None = None, visible: Tensor | None = None) -> Projected:
        """Keys and values of a table, computed once if it is queried more than once."""
        width = table.shape[1]
        shape = (-1, self.heads, width // self.heads)
        keys = self.key(table).view(shape) * shape[-1] ** -0.5
        keys = keys if visible is None else keys * visible[..., None]
        return keys.movedim(0, 2), self.value(table if values is None else values).view(shape).transpose(0, 1)

    def _output(self, attended: Tensor, count: Tensor) -> Tensor:
        if not self.count_feature:
            joined: Tensor = self.output(attended)
        elif self.projections:
            joined = self.output(torch.cat([attended, count], dim=1))
        else:
            joined = attended + self.output(count)
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
        """The same output as `forward`, computed item by item."""
        batch, width = query.shape
        shape = (batch, -1, self.heads, width // self.heads)
        keys = self.key(self._items(table, index, common)).view(shape)
        if visible is not None:
            hidden = [self.key(self._items(table * visible[:, [head]], index, common)) for head in range(self.heads)]
            keys = torch.stack([each.view(shape)[:, :, head] for head, each in enumerate(hidden)], dim=2)
        items = self.value(self._items(table if values is None else values, index, common)).view(shape)
        exists = index[..., 0] >= 0
        if self.null_key:
            exists = torch.cat([exists.new_ones(batch, 1), exists], dim=1)
        scores = torch.einsum("bqhd,bnhd->bhn", self.query(query).view(shape), keys) * shape[-1] ** -0.5
        scores = scores.masked_fill(~exists[:, None], -torch.inf)
        weights = scores.softmax(dim=2)
        if watch is not None:
            watch[name] = weights[..., int(self.null_key) :].detach()
        attended = torch.einsum("bhn,bnhd->bhd", weights, items).reshape(batch, width)
        return self._output(attended, scores.logsumexp(dim=2) - scores.amax(dim=2))

    def _items(self, table: Tensor, index: Tensor, common: Tensor | None) -> Tensor:
        """(batch, items, width) the items, the null key first."""
        items = torch.cat([table, table.new_zeros(1, table.shape[1])])[index.long()].sum(dim=2)
        if self.null_key:
            items = torch.cat([items.new_zeros(len(items), 1, items.shape[2]), items], dim=1)
        return items if common is None else items + common[:, None]


NO_ITEM = np.uint16(65535)
"""-1 as an unsigned number; unsigned indices are faster, since they cannot count from the end."""


@kernel(inner=True, fastmath=True, error_model="numpy")
def _exponentials(values, powers, bits):  # type: ignore[no-untyped-def]
    """Exponentials of values that are not positive, in place: 2**whole by the bits of a float, 2**rest by its series.
    This form is compiled to vector instructions; a call of exp is not. `bits` is a view of `powers`."""
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


@kernel(fastmath=True, error_model="numpy")
def _forward(scores, index, null_key, weights, shares, counts):  # type: ignore[no-untyped-def]
    heads, batch, rows = scores.shape
    items, parts = index.shape[1], index.shape[2]
    score, share = np.zeros((rows, LANES), np.float32), np.zeros((rows, LANES), np.float32)
    weight, line = np.empty((items, LANES), np.float32), np.empty((2, LANES), np.float32)
    flat, powers = weight.reshape(-1), np.empty(items * LANES, np.float32)
    bits = powers.view(np.int32)
    present = np.empty(items, np.uint32)
    for b in range(batch):
        count = 0
        for n in range(items):
            present[count] = n
            count += int(index[b, n, 0] != NO_ITEM)
        for first in range(0, heads, LANES):
            lanes = min(LANES, heads - first)
            for h in range(lanes):
                for row in range(rows):
                    score[row, h] = scores[first + h, b, row]
            line[0] = np.float32(0.0) if null_key else np.float32(-1e30)
            best = load(line, 0)
            for i in range(count):
                total = load(score, index[b, present[i], 0])
                for k in range(1, parts):
                    total = add(total, load(score, index[b, present[i], k]))
                best = maximum(best, total)
                store(weight, i, total)
            for i in range(count):
                store(weight, i, sub(load(weight, i), best))
            _exponentials(flat[: count * LANES], powers, bits)
            store(line, 0, best)
            for h in range(LANES):
                line[1, h] = np.exp(-line[0, h]) if null_key else np.float32(0.0)
            total = load(line, 1)
            for i in range(count):
                total = add(total, load(weight, i))
            store(line, 0, total)
            for h in range(LANES):
                line[1, h] = np.float32(1.0) / line[0, h]
            for h in range(lanes):
                counts[first + h, b] = np.log(line[0, h])
            scale = load(line, 1)
            share[:] = 0
            for i in range(count):
                part = mul(load(weight, i), scale)
                store(weight, i, part)
                for k in range(parts):
                    row = index[b, present[i], k]
                    store(share, row, add(load(share, row), part))
            for h in range(lanes):
                for row in range(rows):
                    shares[first + h, b, row] = share[row, h]
            for i in range(count):
                for h in range(lanes):
                    weights[b, present[i], first + h] = weight[i, h]


@kernel(fastmath=True, error_model="numpy")
def _backward(weights, index, null_key, grad_shares, grad_count, grad_scores):  # type: ignore[no-untyped-def]
    batch, items, heads = weights.shape
    rows, parts = grad_shares.shape[2], index.shape[2]
    grad_share, grad_score = np.zeros((rows, LANES), np.float32), np.zeros((rows, LANES), np.float32)
    weight, grad_weight = np.zeros((items, LANES), np.float32), np.zeros((items, LANES), np.float32)
    line = np.zeros((1, LANES), np.float32)
    for b in range(batch):
        for first in range(0, heads, LANES):
            lanes = min(LANES, heads - first)
            for h in range(lanes):
                for row in range(rows):
                    grad_share[row, h] = grad_shares[first + h, b, row]
            line[:] = 0
            mean = load(line, 0)
            for n in range(items):
                if index[b, n, 0] == NO_ITEM:
                    continue
                for h in range(lanes):
                    weight[n, h] = weights[b, n, first + h]
                total = load(grad_share, index[b, n, 0])
                for k in range(1, parts):
                    total = add(total, load(grad_share, index[b, n, k]))
                store(grad_weight, n, total)
                mean = add(mean, mul(total, load(weight, n)))
            for h in range(lanes):
                line[0, h] = grad_count[first + h, b]
            less = sub(mean, load(line, 0))
            grad_score[:] = 0
            for n in range(items):
                if index[b, n, 0] == NO_ITEM:
                    continue
                amount = mul(load(weight, n), sub(load(grad_weight, n), less))
                for k in range(parts):
                    row = index[b, n, k]
                    store(grad_score, row, add(load(grad_score, row), amount))
            for h in range(lanes):
                if grad_count[first + h, b] != 0:
                    weight_of_head, grad = weights[b, :, first + h], grad_count[first + h, b]
                    _without_best(weight_of_head, index[b], null_key, grad, grad_score[:, h])
                for row in range(rows):
                    grad_scores[first + h, b, row] = grad_score[row, h]


@kernel(inner=True, error_model="numpy")
def _without_best(weight, index, null_key, grad_count, grad_score):  # type: ignore[no-untyped-def]
    """Correct the gradient of the count: it does not depend on the best item's own score, nor on that of the null key,
    which is constant."""
    best, left = 0, np.float32(1.0)
    for n in range(len(weight)):
        left -= weight[n]
        best = n if weight[n] > weight[best] else best
    if index[best, 0] != NO_ITEM and not (null_key and left >= weight[best]):
        for k in range(index.shape[1]):
            grad_score[index[best, k]] -= grad_count


class _Gather(torch.autograd.Function):
    """Scores of rows (heads, batch, rows) -> weights of items (batch, items, heads), shares of rows, and the log of the
    number of items similar to the best (heads, batch)."""

    @staticmethod
    def forward(context: Any, scores: Tensor, index: Tensor, null_key: bool) -> tuple[Tensor, Tensor, Tensor]:
        weights = torch.zeros(*index.shape[:2], len(scores))
        shares, count = torch.empty_like(scores), torch.empty(scores.shape[:2])
        rows, given = index.numpy().view(np.uint16), scores.detach().contiguous().numpy()
        _forward(given, rows, null_key, weights.numpy(), shares.numpy(), count.numpy())
        context.null_key = null_key
        context.save_for_backward(weights, index)
        context.mark_non_differentiable(weights)
        return weights, shares, count

    @staticmethod
    def backward(context: Any, _: Tensor, grad_shares: Tensor, grad_count: Tensor) -> tuple[Tensor | None, ...]:
        weights, index = context.saved_tensors
        grad_scores = torch.empty_like(grad_shares, memory_format=torch.contiguous_format)
        rows, given = index.numpy().view(np.uint16), (grad_shares.contiguous().numpy(), grad_count.contiguous().numpy())
        _backward(weights.numpy(), rows, context.null_key, *given, grad_scores.numpy())
        return grad_scores, None, None
