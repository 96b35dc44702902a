"""Common parts of the benchmarks: options, timing, progress."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from program_guided.errors import DataError

__all__ = ["Timed", "Watch", "check_counts", "one_core", "speeds", "unwatched"]

MIN_TURNS = 3
Watch = Callable[[str, int, int], None]
"""Progress callback: description, done, total."""


def unwatched(description: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Timed:
    """Options of every benchmark."""

    seconds: float = 3.0
    """Duration of each measurement."""

    def check(self) -> None:
        """Raise `DataError` for an impossible duration."""
        if not 0 < self.seconds < float("inf"):
            raise DataError(f"seconds {self.seconds}: it must be more than 0")


def check_counts(minimum: int = 1, **counts: int) -> None:
    """Raise `DataError` for counts that are too small."""
    for name, count in counts.items():
        if count < minimum:
            raise DataError(f"{name.replace('_', '-')} {count}: at least {minimum} is needed")


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Pin the process to one core, threads of peers included, if the system allows it."""
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
    """Units per second of each run; a piece of a run returns the number of units it did. Runs take turns, for about
    `seconds` each, and the shortest CPU time of a piece counts, so that other load on the machine does not matter."""
    done = {name: [0] * len(pieces) for name, pieces in runs.items()}
    times = {name: [float("inf")] * len(pieces) for name, pieces in runs.items()}
    turns, begin = 0, time.process_time()
    while turns < MIN_TURNS or time.process_time() - begin < seconds * len(runs):
        for number, (name, pieces) in enumerate(runs.items()):
            for at, piece in enumerate(pieces):
                started = time.process_time()
                done[name][at] = piece()
                times[name][at] = min(times[name][at], time.process_time() - started)
            watch("measured, in turns", turns * len(runs) + number + 1, max(MIN_TURNS, turns + 1) * len(runs))
        turns += 1
    return {name: sum(done[name]) / sum(times[name]) for name in runs}
