"""Values that spread over a grid, learned end to end: how `plus` finds its way.

Every head scores each cell as a goal and each kind of cell as passable. A cell's value is its own score, or the best
neighbour's value less the cost of leaving the cell:

    value(c) = max(goal(c), max over neighbours n of value(n) - cost(kind of c))

At the fixed point, stepping to the neighbour of greatest value is the shortest way to a goal, around walls and over
whatever the head has learned to cross. It is a value iteration whose rewards and walls come from attention scores
between a routine and the cells; the gradient runs along the best path only.

`spread` is the compiled form (one sample at a time, exact, path by path); `spread_plain` the same in torch, for any
device. They agree (tests/test_propagation.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

__all__ = ["NEIGHBOURS", "OUTSIDE", "spread", "spread_plain"]

NEIGHBOURS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""Where values are read, relative to the agent: its own cell, then up, down, left, right."""
OUTSIDE = -30.0
"""The value of a cell that is not on the map."""


@njit(cache=True, fastmath=True)
def _forward(kinds, agent, goal_kind, goal_row, goal_column, cost, values, following, out):  # type: ignore[no-untyped-def]
    batch, heads = goal_kind.shape[0], goal_kind.shape[1]
    side = goal_row.shape[2]
    for b in range(batch):
        for h in range(heads):
            for row in range(side):
                for column in range(side):
                    cell = row * side + column
                    values[cell] = goal_kind[b, h, kinds[b, cell]] + goal_row[b, h, row] + goal_column[b, h, column]
                    following[b, h, cell] = -1
            changed = True
            forward = True
            while changed:
                changed = False
                for step in range(side * side):
                    cell = step if forward else side * side - 1 - step
                    row, column = cell // side, cell % side
                    best, best_cell = np.float32(-1e30), -1
                    if row > 0 and values[cell - side] > best:
                        best, best_cell = values[cell - side], cell - side
                    if row < side - 1 and values[cell + side] > best:
                        best, best_cell = values[cell + side], cell + side
                    if column > 0 and values[cell - 1] > best:
                        best, best_cell = values[cell - 1], cell - 1
                    if column < side - 1 and values[cell + 1] > best:
                        best, best_cell = values[cell + 1], cell + 1
                    through = best - cost[b, h, kinds[b, cell]]
                    if through > values[cell]:
                        values[cell] = through
                        following[b, h, cell] = best_cell
                        changed = True
                forward = not forward
            for k in range(5):
                row = agent[b, 0] + (-1 if k == 1 else 1 if k == 2 else 0)
                column = agent[b, 1] + (-1 if k == 3 else 1 if k == 4 else 0)
                inside = 0 <= row < side and 0 <= column < side
                out[b, h, k] = values[row * side + column] if inside else np.float32(OUTSIDE)


@njit(cache=True)
def _backward(kinds, agent, following, gradient, to_goal_kind, to_goal_row, to_goal_column, to_cost):  # type: ignore[no-untyped-def]
    batch, heads = gradient.shape[0], gradient.shape[1]
    side = to_goal_row.shape[2]
    for b in range(batch):
        for h in range(heads):
            for k in range(5):
                row = agent[b, 0] + (-1 if k == 1 else 1 if k == 2 else 0)
                column = agent[b, 1] + (-1 if k == 3 else 1 if k == 4 else 0)
                amount = gradient[b, h, k]
                if not (0 <= row < side and 0 <= column < side) or amount == 0:
                    continue
                cell = row * side + column
                while following[b, h, cell] >= 0:
                    to_cost[b, h, kinds[b, cell]] -= amount
                    cell = following[b, h, cell]
                to_goal_kind[b, h, kinds[b, cell]] += amount
                to_goal_row[b, h, cell // side] += amount
                to_goal_column[b, h, cell % side] += amount


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        kinds: Tensor,
        agent: Tensor,
        goal_kind: Tensor,
        goal_row: Tensor,
        goal_column: Tensor,
        cost: Tensor,
    ) -> Tensor:
        batch, heads, side = goal_row.shape
        following = np.empty((batch, heads, side * side), np.int16)
        out = np.empty((batch, heads, len(NEIGHBOURS)), np.float32)
        tables = [table.detach().contiguous().numpy() for table in (goal_kind, goal_row, goal_column, cost)]
        _forward(kinds.numpy(), agent.numpy(), *tables, np.empty(side * side, np.float32), following, out)
        context.following = following
        context.save_for_backward(kinds, agent)
        context.shapes = [table.shape for table in (goal_kind, goal_row, goal_column, cost)]
        return torch.from_numpy(out)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        kinds, agent = context.saved_tensors
        gradients = [np.zeros(tuple(shape), np.float32) for shape in context.shapes]
        _backward(kinds.numpy(), agent.numpy(), context.following, gradient.contiguous().numpy(), *gradients)
        return None, None, *(torch.from_numpy(each) for each in gradients)


def spread(
    kinds: Tensor, agent: Tensor, goal_kind: Tensor, goal_row: Tensor, goal_column: Tensor, cost: Tensor
) -> Tensor:
    """Values at the agent's cell and its neighbours: (batch, heads, 5).

    kinds (batch, side * side) and agent (batch, 2) are whole numbers; goal_kind and cost (batch, heads, kinds) and
    goal_row, goal_column (batch, heads, side) are scores; cost must be positive.
    """
    tables = (goal_kind, goal_row, goal_column, cost)
    if goal_kind.device.type != "cpu" or goal_kind.dtype != torch.float32:
        return spread_plain(kinds, agent, *tables)
    result: Tensor = _Spread.apply(kinds, agent, *tables)  # type: ignore[no-untyped-call]
    return result


def spread_plain(
    kinds: Tensor, agent: Tensor, goal_kind: Tensor, goal_row: Tensor, goal_column: Tensor, cost: Tensor
) -> Tensor:
    """The same, all cells at once, repeated until nothing changes."""
    batch, heads, side = goal_row.shape
    index = kinds.long()[:, None, :].expand(batch, heads, side * side)
    grid = (batch, heads, side, side)
    goal = goal_kind.gather(2, index).view(grid) + goal_row[..., :, None] + goal_column[..., None, :]
    leaving = cost.gather(2, index).view(grid)
    values = goal
    while True:
        padded = torch.nn.functional.pad(values, (1, 1, 1, 1), value=-1e30)
        around = torch.stack(
            [padded[..., :-2, 1:-1], padded[..., 2:, 1:-1], padded[..., 1:-1, :-2], padded[..., 1:-1, 2:]]
        )
        after = torch.maximum(goal, around.amax(dim=0) - leaving)
        if torch.equal(after, values):
            break
        values = after
    padded = torch.nn.functional.pad(values, (1, 1, 1, 1), value=OUTSIDE)
    number = torch.arange(batch, device=kinds.device)
    row, column = agent[:, 0].long() + 1, agent[:, 1].long() + 1
    return torch.stack([padded[number, :, row + down, column + right] for down, right in NEIGHBOURS], dim=2)
