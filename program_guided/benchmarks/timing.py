"""What measurements have in common."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["one_core"]


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core, peers' threads included, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
