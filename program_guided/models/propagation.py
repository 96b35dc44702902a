"""Value propagation over a grid, learned end to end: the path finding of `plus`.

Every head gives each cell a goal score and each kind of cell a cost. The value of a cell is its own score, or the best
neighbour's value minus the cost of leaving the cell, if that is greater:

    value(c) = max(goal(c), max over neighbours n of value(n) - cost(kind of c))

At the fixed point, moving to the neighbour of greatest value follows a path of least cost to a goal, around cells of
high cost. It is value iteration whose rewards and costs are computed from the query of a routine; the gradient flows
along the best path only.

`spread` is compiled (one sample at a time, exact); `spread_plain` computes the same in torch, for any device
(tests/test_propagation.py compares them).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from program_guided.compiled import kernel
from program_guided.models.simd import LANES, load, maximum, store, sub

__all__ = ["NEIGHBOURS", "OUTSIDE", "spread", "spread_plain"]

NEIGHBOURS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""Cells whose values are read, relative to the agent: its own, then up, down, left, right."""
OUTSIDE = -30.0
"""Value of a cell that is not on the map, and lower bound of the values that are read."""
UNREACHABLE = -1e30


@kernel(fastmath={"nnan", "nsz"})
def _forward(kinds, agent, goal_kind, goal_row, goal_column, cost, values, out):  # type: ignore[no-untyped-def]
    """Sweep over the map, from each of its corners in turn, until nothing changes."""
    batch, side, heads = goal_row.shape
    wide = side + 2
    value, gained = np.empty((wide * wide, LANES), np.float32), np.empty((1, LANES), np.float32)
    step_cost = np.zeros((side * side, LANES), np.float32)
    for b in range(batch):
        last_row = last_column = -1
        for cell in range(side * side):
            if kinds[b, cell] > 0:
                last_row, last_column = max(last_row, cell // side), max(last_column, cell % side)
        for first in range(0, heads, LANES):
            count = min(LANES, heads - first)
            value[:] = np.float32(UNREACHABLE)
            for row in range(last_row + 1):
                for column in range(last_column + 1):
                    cell, place = row * side + column, (row + 1) * wide + column + 1
                    kind = kinds[b, cell]
                    for h in range(count):
                        at = first + h
                        if kind > 0:
                            value[place, h] = goal_kind[b, kind, at] + goal_row[b, row, at] + goal_column[b, column, at]
                            step_cost[cell, h] = cost[b, kind, at]
                        else:
                            step_cost[cell, h] = np.float32(-UNREACHABLE)
            turn = 0
            changed = True
            while changed:
                gained[:] = 0
                gain = load(gained, 0)
                upwards, leftwards = turn % 2 == 1, (turn + 1) // 2 % 2 == 1
                for r in range(last_row + 1):
                    row = last_row - r if upwards else r
                    for c in range(last_column + 1):
                        column = last_column - c if leftwards else c
                        place = (row + 1) * wide + column + 1
                        up_down = maximum(load(value, place - wide), load(value, place + wide))
                        around = maximum(up_down, maximum(load(value, place - 1), load(value, place + 1)))
                        through, now = sub(around, load(step_cost, row * side + column)), load(value, place)
                        gain = maximum(gain, sub(through, now))
                        store(value, place, maximum(now, through))
                store(gained, 0, gain)
                changed = False
                for h in range(LANES):
                    changed = changed or gained[0, h] > 0
                turn += 1
            for place in range(wide * wide):
                for h in range(count):
                    values[b, place, first + h] = value[place, h]
        here = (agent[b, 0] + 1) * wide + agent[b, 1] + 1
        for k, place in enumerate((here, here - wide, here + wide, here - 1, here + 1)):
            for h in range(heads):
                out[b, k, h] = max(values[b, place, h], np.float32(OUTSIDE))


@kernel
def _backward(kinds, agent, values, goals, gradient, grad_kind, grad_row, grad_column, grad_cost):  # type: ignore[no-untyped-def]
    """Follow the best path from each cell that was read, to the cell whose value is its own score."""
    goal_kind, goal_row, goal_column = goals
    batch, side, heads = goal_row.shape
    wide = side + 2
    for b in range(batch):
        value = values[b]
        here = (agent[b, 0] + 1) * wide + agent[b, 1] + 1
        for k, start in enumerate((here, here - wide, here + wide, here - 1, here + 1)):
            for h in range(heads):
                amount, place = gradient[b, k, h], start
                row, column = place // wide - 1, place % wide - 1
                if amount == 0 or not (0 <= row < side and 0 <= column < side) or value[place, h] < OUTSIDE:
                    continue
                for _ in range(wide * wide):
                    row, column = place // wide - 1, place % wide - 1
                    kind = kinds[b, row * side + column]
                    if kind == 0:
                        break
                    if value[place, h] == goal_kind[b, kind, h] + goal_row[b, row, h] + goal_column[b, column, h]:
                        grad_kind[b, kind, h] += amount
                        grad_row[b, row, h] += amount
                        grad_column[b, column, h] += amount
                        break
                    grad_cost[b, kind, h] -= amount
                    best = place - wide
                    for other in (place + wide, place - 1, place + 1):
                        if value[other, h] > value[best, h]:
                            best = other
                    place = best


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, kinds: Tensor, agent: Tensor, *tables: Tensor) -> Tensor:
        batch, side, heads = tables[1].shape
        values = np.empty((batch, (side + 2) ** 2, heads), np.float32)
        out = torch.empty(batch, len(NEIGHBOURS), heads)
        given = [table.detach().contiguous() for table in tables]
        goal_kind, goal_row, goal_column, cost = (table.numpy() for table in given)
        _forward(kinds.numpy(), agent.numpy(), goal_kind, goal_row, goal_column, cost, values, out.numpy())
        context.values = values
        context.save_for_backward(kinds, agent, *given)
        return out

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        kinds, agent, *given = context.saved_tensors
        goals = tuple(table.numpy() for table in given[:3])
        grad_tables = [torch.zeros_like(table) for table in given]
        arrays = [table.numpy() for table in grad_tables]
        around = (kinds.numpy(), agent.numpy(), context.values)
        _backward(*around, goals, gradient.contiguous().numpy(), *arrays)
        return None, None, *grad_tables


def spread(
    kinds: Tensor, agent: Tensor, goal_kind: Tensor, goal_row: Tensor, goal_column: Tensor, cost: Tensor
) -> Tensor:
    """Values at the agent's cell and its neighbours: (batch, 5, heads).

    kinds (batch, side * side; 0 is off the map) and agent (batch, 2) are integers; goal_kind and cost (batch, kinds,
    heads) and goal_row, goal_column (batch, side, heads) are scores; cost must be positive.
    """
    tables = (goal_kind, goal_row, goal_column, cost)
    if goal_kind.device.type != "cpu" or goal_kind.dtype != torch.float32:
        return spread_plain(kinds, agent, *tables)
    result: Tensor = _Spread.apply(kinds, agent, *tables)  # type: ignore[no-untyped-call]
    return result


def spread_plain(
    kinds: Tensor, agent: Tensor, goal_kind: Tensor, goal_row: Tensor, goal_column: Tensor, cost: Tensor
) -> Tensor:
    """The same values, updated at all cells at once until nothing changes."""
    batch, side, heads = goal_row.shape
    index = kinds.long()[:, :, None].expand(batch, side * side, heads)
    grid = (batch, side, side, heads)
    goal = goal_kind.gather(1, index).view(grid) + goal_row[:, :, None] + goal_column[:, None]
    leaving = cost.gather(1, index).view(grid)
    on_map = (kinds > 0).view(batch, side, side, 1)
    values = goal = torch.where(on_map, goal, UNREACHABLE)
    for _ in range(side * side):  # no path is longer
        around = torch.nn.functional.pad(values, (0, 0, 1, 1, 1, 1), value=UNREACHABLE)
        beside = torch.stack([around[:, :-2, 1:-1], around[:, 2:, 1:-1], around[:, 1:-1, :-2], around[:, 1:-1, 2:]])
        after = torch.where(on_map, torch.maximum(goal, beside.amax(dim=0) - leaving), UNREACHABLE)
        if torch.equal(after, values):
            break
        values = after
    number = torch.arange(batch, device=kinds.device)
    row, column = agent[:, 0].long() + 1, agent[:, 1].long() + 1
    read = torch.stack([around[number, row + down, column + right] for down, right in NEIGHBOURS], dim=1)
    return read.clamp(min=OUTSIDE)
