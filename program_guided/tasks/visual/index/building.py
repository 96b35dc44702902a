"""Builds an index of the release: streams every file once, in several processes; an interrupted build is resumed.

Departures from the paper: it does not describe files. Finished parts are kept in `unfinished/` until the index is
complete; they are reused only if the sources have not changed.

    make_index(Path("gqa"), Path("gqa/index"), processes=2)        then Index.open(Path("gqa/index"))

With more than one process, a script needs `if __name__ == "__main__":` around the call, as always in Python.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.files import LOCK, held, sweep, unfinished
from program_guided.tasks.visual.checksums import check_file
from program_guided.tasks.visual.domain import DOMAIN
from program_guided.tasks.visual.index.assembly import FORMAT, VERSION, PartFile, assemble
from program_guided.tasks.visual.index.parts import COLUMNS, Part, load_part, read_part, write_part
from program_guided.tasks.visual.index.reading import Index
from program_guided.tasks.visual.plan import REMEDY, complete_world
from program_guided.tasks.visual.release.sources import QUESTIONS, Source, find_sources

__all__ = ["UNFINISHED", "Progress", "make_index"]

UNFINISHED = "unfinished"
BYTES_PER_BYTE, BYTES_PER_SECOND = 0.75, 8e6
"""Measured on one core: bytes of the index and of the parts that are kept until its end, and speed, by source."""


@dataclass(frozen=True)
class Progress:
    """Progress of indexing."""

    done: int
    total: int
    """Bytes of the sources."""
    records: int
    skipped: int
    doing: str


@dataclass(frozen=True)
class _Setting:
    """Options of all parts."""

    folder: Path
    skip_bad: bool
    pictures: frozenset[str] | None


@dataclass(frozen=True)
class _Task:
    """A part to build."""

    source: Source
    number: int
    """Number of the source."""
    part: int = 0
    start: int = 0

    def path(self, folder: Path) -> Path:
        return folder / UNFINISHED / f"{self.number:04d}-{self.part:05d}.npz"


@dataclass(frozen=True)
class _Done:
    """A part that was built."""

    task: _Task
    end: int
    last: bool
    records: int
    skipped: int

    def next(self) -> list[_Task]:
        """The next part of the source, if there is one."""
        return [] if self.last else [replace(self.task, part=self.task.part + 1, start=self.end)]


def make_index(
    root: Path,
    folder: Path,
    only: Sequence[str] = (),
    skip_bad: bool = False,
    processes: int = 1,
    progress: Callable[[Progress], None] = lambda moment: None,
    begin: Callable[[float, float], None] = lambda megabytes, seconds: None,
    pictures: Collection[str] | None = None,
) -> bool:
    """Build or resume the index; False if it is complete and its sources have not changed. `begin` is called with the
    costs, if there is anything to do. If `pictures` are given, questions about others are bad records."""
    world, missing = complete_world(root), list[str]()
    sources = find_sources(root, only, (lambda error: missing.append(str(error))) if skip_bad else None)
    plan = {
        "format": FORMAT,
        "version": VERSION,
        "domain_version": DOMAIN.version,
        "skip_bad": skip_bad,
        "plan": dict(world.plan) if world else None,
        "pictures": None if pictures is None else hashlib.sha256(json.dumps(sorted(pictures)).encode()).hexdigest(),
        "sources": [source.fingerprint(root) for source in sources],
    }
    if _is_made(folder, plan):
        if any((folder / name).exists() for name in (UNFINISHED, LOCK)):  # killed at its very end
            with suppress(DataError), held(folder):
                shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
        return False
    size = sum(source.size for source in sources)
    begin(size * BYTES_PER_BYTE / 1e6, size / BYTES_PER_SECOND / processes)
    with held(folder):
        for source in sources:
            about = world.about(source.path) if world else None
            if about is not None:
                check_file(source.path, about, REMEDY, verify=True)
        setting = _Setting(folder, skip_bad, None if pictures is None else frozenset(pictures))
        _build(root, setting, sources, plan, missing, processes, progress)
    return True


def _build(
    root: Path,
    setting: _Setting,
    sources: Sequence[Source],
    plan: Mapping[str, Any],
    missing: Sequence[str],
    processes: int,
    progress: Callable[[Progress], None],
) -> None:
    folder = setting.folder
    sweep(folder / UNFINISHED)
    unfinished(folder / UNFINISHED, plan)
    tasks, files = [_Task(source, number) for number, source in enumerate(sources)], list[PartFile]()
    moment = Progress(0, sum(source.size for source in sources), 0, len(missing), "")
    for done in chain(_finished(tasks, folder), _executed(tasks, setting, processes)):
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
    if not moment.records or all(source.kind != QUESTIONS for source in sources):
        raise DataError(f"{root}: no record could be read; read without skipping bad ones to see the first error")
    progress(replace(moment, doing="assembling"))
    for source in sources:
        if not source.is_unchanged():
            raise DataError(f"{source.path}: has changed while it was indexed; run the same command again")
    files.sort(key=lambda file: file.path.name)
    assemble(folder, files, {name: plan[name] for name in ("skip_bad", "plan", "pictures", "sources")}, missing)
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)


def _is_made(folder: Path, plan: Mapping[str, Any]) -> bool:
    """True if the index in a folder is complete and was built by this plan."""
    try:
        header = Index.open(folder).header
    except DataError:
        return False
    return all(header.get(name) == value for name, value in plan.items())


def _finished(tasks: list[_Task], folder: Path) -> Iterator[_Done]:
    """Parts of an earlier run; `tasks` is changed to those that remain."""
    for task in list(tasks):
        tasks.remove(task)
        todo = [task]
        while todo and (part := load_part(todo[0].path(folder))) is not None and _is_of(part, todo[0]):
            done = _Done(todo[0], part.end, part.last, part.records, len(part.skipped))
            todo = done.next()
            yield done
        tasks += todo


def _is_of(part: Part, task: _Task) -> bool:
    whole = part.columns.keys() == COLUMNS[task.source.kind].keys()
    return whole and (part.source, part.start) == (str(task.source.path), task.start)


def _executed(tasks: list[_Task], setting: _Setting, processes: int) -> Iterator[_Done]:
    """Build all parts, the largest sources first, to keep all processes busy until the end."""
    waiting = sorted(tasks, key=lambda task: task.start - task.source.size)
    processes = min(processes, len(waiting))
    if processes > 1:
        yield from _in_processes(waiting, setting, processes)
    while waiting:
        done = _make(waiting.pop(0), setting)
        waiting = done.next() + waiting
        yield done


def _make(task: _Task, setting: _Setting) -> _Done:
    part = read_part(task.source, task.start, setting.skip_bad, setting.pictures)
    write_part(task.path(setting.folder), part)
    return _Done(task, part.end, part.last, part.records, len(part.skipped))


def _in_processes(waiting: list[_Task], setting: _Setting, count: int) -> Iterator[_Done]:
    """Build the parts of one source in sequence, those of different sources in parallel."""
    workers = _start(setting, count)
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


def _start(setting: _Setting, count: int) -> dict[Connection, SpawnProcess]:
    """Start worker processes; they ignore Ctrl-C and end when the main process closes their pipes."""
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, SpawnProcess] = {}
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, setting), daemon=True)
            process.start()
            there.close()
            workers[here] = process
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    return workers


def _serve(connection: Connection, setting: _Setting) -> None:
    """Execute tasks until the main process closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            task = connection.recv()
            try:
                connection.send(_make(task, setting))
            except DataError as error:
                connection.send(error)
            except MemoryError:
                connection.send(DataError(f"{task.source.path}: there is not enough memory to read it"))
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
