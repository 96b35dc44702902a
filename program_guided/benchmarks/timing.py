"""What measurements have in common."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping

__all__ = ["one_core", "speeds"]

ROUNDS = 3


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


def speeds(runs: Mapping[str, Callable[[], int]], seconds: float) -> dict[str, float]:
    """What each does in a second, as it says itself. They take turns, and the best round counts; it is CPU time, so
    that what else runs on the machine does not."""
    found = dict.fromkeys(runs, 0.0)
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            done, begin = 0, time.process_time()
            while done == 0 or time.process_time() - begin < seconds / ROUNDS:
                done += run()
            found[name] = max(found[name], done / (time.process_time() - begin))
    return found
