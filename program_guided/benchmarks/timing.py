"""What measurements have in common."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["Watch", "one_core", "speeds", "unwatched"]

LEAST_TURNS = 3
Watch = Callable[[str, int, int], None]
"""Told what is done, how much of it, of how much."""


def unwatched(what: str, done: int, total: int) -> None:
    """Nobody is told."""


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


def speeds(
    runs: Mapping[str, Sequence[Callable[[], int]]], seconds: float, watch: Watch = unwatched
) -> dict[str, float]:
    """What each run does in a second, as its pieces say. All take turns, for about so many seconds each, and the
    shortest time of a piece counts; it is CPU time, so that what else runs on the machine does not."""
    done = {name: [0] * len(pieces) for name, pieces in runs.items()}
    times = {name: [float("inf")] * len(pieces) for name, pieces in runs.items()}
    turns, begin = 0, time.process_time()
    while turns < LEAST_TURNS or time.process_time() - begin < seconds * len(runs):
        for number, (name, pieces) in enumerate(runs.items()):
            for at, piece in enumerate(pieces):
                started = time.process_time()
                done[name][at] = piece()
                times[name][at] = min(times[name][at], time.process_time() - started)
            watch("measured, in turns", turns * len(runs) + number + 1, max(LEAST_TURNS, turns + 1) * len(runs))
        turns += 1
    return {name: sum(done[name]) / sum(times[name]) for name in runs}
