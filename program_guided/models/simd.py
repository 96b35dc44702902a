"""Vectors of eight numbers in compiled code: written out one by one, they become single vector instructions.

total = add(load(table, 3), load(table, 5)); store(table, 7, total)      # rows of an array (n, LANES)
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from program_guided.compiled import kernel

__all__ = ["LANES", "add", "load", "maximum", "mul", "store", "sub"]

LANES = 8
FAST = {"nnan", "nsz"}
"""Fast-math flags: no NaN occurs, and the sign of zero is ignored."""


@kernel(inner=True)
def load(rows, n):
    """Load row n."""
    return (rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3], rows[n, 4], rows[n, 5], rows[n, 6], rows[n, 7])


@kernel(inner=True)
def store(rows, n, x):
    """Store x in row n."""
    rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = x[0], x[1], x[2], x[3]
    rows[n, 4], rows[n, 5], rows[n, 6], rows[n, 7] = x[4], x[5], x[6], x[7]


@kernel(inner=True, fastmath=FAST)
def add(x, y):
    """Elementwise sum."""
    return (x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5], x[6] + y[6], x[7] + y[7])


@kernel(inner=True, fastmath=FAST)
def sub(x, y):
    """Elementwise difference."""
    return (x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3], x[4] - y[4], x[5] - y[5], x[6] - y[6], x[7] - y[7])


@kernel(inner=True, fastmath=FAST)
def mul(x, y):
    """Elementwise product."""
    return (x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3], x[4] * y[4], x[5] * y[5], x[6] * y[6], x[7] * y[7])


@kernel(inner=True, fastmath=FAST)
def maximum(x, y):
    """Elementwise maximum."""
    one = (max(x[0], y[0]), max(x[1], y[1]), max(x[2], y[2]), max(x[3], y[3]))
    return (*one, max(x[4], y[4]), max(x[5], y[5]), max(x[6], y[6]), max(x[7], y[7]))
