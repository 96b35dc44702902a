"""Compilation of the world's kernels.

Kernels take whole tuples of arrays and call each other; Numba would count references to every array in each call, which
costs ten times the work itself. They allocate no memory (a `Workspace` is passed instead), so counting is disabled.

Numba compiles a function once more for every constant that it is called with: `int(NONE)` is a number like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from program_guided.compiled import kernel

__all__ = ["compiled", "inlined", "inner"]

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """A kernel that Python calls."""
    return cast(Function, kernel(function, _nrt=False))


def inner(function: Function) -> Function:
    """A kernel that only kernels call."""
    return cast(Function, kernel(function, inner=True, _nrt=False))


def inlined(function: Function) -> Function:
    """The same for the innermost loop, inlined: passing all arrays in a call would cost more than the work."""
    return cast(Function, kernel(function, inner=True, _nrt=False, forceinline=True))
