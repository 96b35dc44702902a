"""Compilation of the world's kernels, and the cache of their machine code.

Kernels take whole tuples of arrays and call each other; Numba would count references to every array in each call, which
costs ten times the work itself. They allocate no memory (a `Workspace` is passed instead), so counting is disabled.

Numba's disk cache depends only on a function's own file. Here its folder is named by a hash of all kernels' sources, so
that a change in one file also invalidates the machine code of functions that call it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["compiled", "inlined"]

Function = TypeVar("Function", bound=Callable[..., object])


def _cache_folder() -> Path:
    sources = [*sorted(Path(__file__).parent.glob("*.py")), Path(__file__).parents[1] / "domain.py"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for parent in (home, Path(tempfile.gettempdir())):
        folder = parent / "program_guided" / f"kernels-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="program_guided-"))


_FOLDER = str(_cache_folder())


def compiled(function: Function) -> Function:
    """Compile at first use; keep the machine code for the next start."""
    return _compile(function, inline=False)


def inlined(function: Function) -> Function:
    """The same for the innermost loop, inlined: passing all arrays in a call would cost more than the work."""
    return _compile(function, inline=True)


def _compile(function: Function, inline: bool) -> Function:
    settings: Any = numba.config
    before, settings.CACHE_DIR = settings.CACHE_DIR, _FOLDER
    try:
        compiler: Any = numba.njit
        kernel: Function = compiler(cache=True, _nrt=False, forceinline=inline)(function)
    finally:
        settings.CACHE_DIR = before
    return kernel
