"""Makes an index of the release: streams every file once, in several processes, and goes on where it was interrupted.

Departures from the paper: it says nothing of files. Finished parts are kept in `unfinished/` until the index is whole;
they are used again only if the sources are still the same.

    make_index(Path("gqa"), Path("gqa/index"), processes=2)        then Index.open(Path("gqa/index"))

With more than one process, a script needs `if __name__ == "__main__":` around the call, as always in Python.
"""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.files import unfinished
from program_guided.tasks.visual.assembly import FORMAT, VERSION, PartFile, assemble
from program_guided.tasks.visual.domain import DOMAIN
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.parts import load_part, read_part, write_part
from program_guided.tasks.visual.sources import Source, find_sources

__all__ = ["UNFINISHED", "Progress", "make_index"]

UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Progress:
    """How far the indexing is."""

    done: int
    total: int
    """Bytes of the sources."""
    records: int
    skipped: int
    doing: str


@dataclass(frozen=True)
class _Task:
    """A part that is to be made."""

    source: Source
    number: int
    """Of the source."""
    part: int = 0
    start: int = 0

    def path(self, folder: Path) -> Path:
        return folder / UNFINISHED / f"{self.number:04d}-{self.part:05d}.npz"


@dataclass(frozen=True)
class _Done:
    """A part that has been made."""

    task: _Task
    end: int
    last: bool
    records: int
    skipped: int

    def next(self) -> list[_Task]:
        """The part behind it, if there is one."""
        return [] if self.last else [replace(self.task, part=self.task.part + 1, start=self.end)]


def make_index(
    root: Path,
    folder: Path,
    only: Sequence[str] = (),
    skip_bad: bool = False,
    processes: int = 1,
    progress: Callable[[Progress], None] = lambda moment: None,
) -> bool:
    """Make the index, or go on making it; False if it is there already and its sources have not changed since."""
    missing: list[str] = []
    sources = find_sources(root, only, (lambda error: missing.append(str(error))) if skip_bad else None)
    plan = {
        "format": FORMAT,
        "version": VERSION,
        "domain_version": DOMAIN.version,
        "skip_bad": skip_bad,
        "sources": [source.fingerprint(root) for source in sources],
    }
    if _is_made(folder, plan):
        return False
    unfinished(folder / UNFINISHED, plan)
    tasks, files = [_Task(source, number) for number, source in enumerate(sources)], list[PartFile]()
    moment = Progress(0, sum(source.size for source in sources), 0, len(missing), "")
    for done in chain(_finished(tasks, folder), _carry_out(tasks, folder, skip_bad, processes)):
        source = done.task.source
        files.append(PartFile(source.kind, source.name, done.task.path(folder)))
        moment = replace(
            moment,
            done=moment.done + done.end - done.task.start,
            records=moment.records + done.records,
            skipped=moment.skipped + done.skipped,
            doing=source.path.name,
        )
        progress(moment)
    if not moment.records:
        raise DataError(f"{root}: nothing in it could be read; without --skip-bad it is said why")
    progress(replace(moment, doing="putting it together"))
    files.sort(key=lambda file: file.path.name)
    assemble(folder, files, {name: plan[name] for name in ("skip_bad", "sources")}, missing)
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    return True


def _is_made(folder: Path, plan: Mapping[str, Any]) -> bool:
    """Whether the index in a folder is whole and is what would be made."""
    try:
        header = Index.open(folder).header
    except DataError:
        return False
    return all(header.get(name) == value for name, value in plan.items())


def _finished(tasks: list[_Task], folder: Path) -> Iterator[_Done]:
    """Parts that are there already; the tasks become those behind them."""
    for task in list(tasks):
        tasks.remove(task)
        todo = [task]
        while todo and (part := load_part(todo[0].path(folder))) is not None and part.start == todo[0].start:
            done = _Done(todo[0], part.end, part.last, part.records, len(part.skipped))
            todo = done.next()
            yield done
        tasks += todo


def _carry_out(tasks: list[_Task], folder: Path, skip_bad: bool, processes: int) -> Iterator[_Done]:
    """Make all parts; the largest sources first, so that no process is left alone with one at the end."""
    waiting = sorted(tasks, key=lambda task: task.start - task.source.size)
    processes = min(processes, len(waiting))
    if processes > 1:
        yield from _in_processes(waiting, folder, skip_bad, processes)
    while waiting:
        done = _make(waiting.pop(0), folder, skip_bad)
        waiting = done.next() + waiting
        yield done


def _make(task: _Task, folder: Path, skip_bad: bool) -> _Done:
    part = read_part(task.source, task.start, skip_bad)
    write_part(task.path(folder), part)
    return _Done(task, part.end, part.last, part.records, len(part.skipped))


def _in_processes(waiting: list[_Task], folder: Path, skip_bad: bool, count: int) -> Iterator[_Done]:
    """The parts of one source come one after the other; those of several, side by side."""
    workers = _start(folder, skip_bad, count)
    idle, busy = list(workers), dict[Connection, _Task]()
    try:
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop()
                busy[worker] = waiting.pop(0)
                worker.send(busy[worker])
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                task = busy.pop(ready)
                answer = _receive(ready, task)
                idle.append(ready)
                waiting[:0] = answer.next()
                yield answer
    finally:
        for connection, process in workers.items():
            connection.close()
            process.terminate()
            process.join()


def _start(folder: Path, skip_bad: bool, count: int) -> dict[Connection, SpawnProcess]:
    """Processes that take tasks; Ctrl-C is heard by this one alone, and without it they end."""
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, SpawnProcess] = {}
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, folder, skip_bad), daemon=True)
            process.start()
            there.close()
            workers[here] = process
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    return workers


def _serve(connection: Connection, folder: Path, skip_bad: bool) -> None:
    """Take tasks until nobody is there to give or to hear any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            task = connection.recv()
            try:
                connection.send(_make(task, folder, skip_bad))
            except DataError as error:
                connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _receive(connection: Connection, task: _Task) -> _Done:
    try:
        answer = connection.recv()
    except (EOFError, OSError):
        reason = "the process that read it has ended; is there enough memory? Run the same command again"
        raise DataError(f"{task.source.path}: {reason}") from None
    if isinstance(answer, DataError):
        raise answer
    assert isinstance(answer, _Done)
    return answer
