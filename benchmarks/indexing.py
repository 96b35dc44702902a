"""Speed and memory of indexing questions, and speed of reading them: `make_index`, as `proto dataset index` calls it.

Some thousand questions of the embedded world are written again and again, under fresh ids and about fresh pictures,
into the ten chunks of `train_all_questions`. The index is made in a process of its own, which torch is not loaded into;
the memory is the sum of the peaks of that process and of those that read for it.

    figures = measure(1_000_000, processes=2, seconds=3.0)
    figures["seconds"], figures["peak_megabytes"], figures["read_per_second"]
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Watch, one_core, speeds, unwatched
from program_guided.errors import DataError
from program_guided.tasks.visual.embedded.building import FIRST_IMAGE, scenes_of
from program_guided.tasks.visual.embedded.questions import Asked, Questioner
from program_guided.tasks.visual.embedded.records import question_record
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.index.building import Progress, make_index
from program_guided.tasks.visual.release.reading import CHUNKS

__all__ = ["measure", "print_figures"]

SET = "train_all"
SCENES = 200
"""Scenes whose questions are repeated."""
BATCH, BATCHES = 1024, 16
"""Questions read at once, and how many times in one call that is timed."""


def measure(questions: int, processes: int, seconds: float, watch: Watch = unwatched) -> dict[str, Any]:
    """Index questions with several processes, then read them for some seconds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        different = _write(folder, questions, watch)
        figures = _in_a_process(folder, processes, watch)
        return {
            "questions": questions,
            "different_questions": different,
            "processes": processes,
            **figures,
            "read_per_second": _read(folder / "index", seconds),
        }


def _write(folder: Path, questions: int, watch: Watch) -> int:
    """Write the chunks; how many of the questions differ in more than their ids."""
    (folder / f"{SET}_questions").mkdir()
    scenes, questioner = list[tuple[str, list[str]]](), Questioner(seed=0)
    for scene in scenes_of("train", SCENES, seed=0):
        scenes.append((scene.image_id, [_text(asked) for asked in questioner.about(scene)]))
        watch("questions made", len(scenes), SCENES)
        if sum(len(records) for _, records in scenes) >= questions:
            break
    records, done = _repeated(scenes), 0
    for chunk in range(CHUNKS):
        end = questions * (chunk + 1) // CHUNKS
        path = folder / f"{SET}_questions" / f"{SET}_questions_{chunk}.json"
        with path.open("w", encoding="utf-8") as file:
            between = "{"
            for record in islice(records, end - done):
                file.write(between + record)
                between = ",\n"
            file.write("}" if end > done else "{}")
        done = end
        watch("questions written", done, questions)
    return min(questions, sum(len(records) for _, records in scenes))


def _text(asked: Asked) -> str:
    return f"{json.dumps(asked.key)}:{json.dumps(question_record(asked), separators=(',', ':'))}"


def _repeated(scenes: list[tuple[str, list[str]]]) -> Iterator[str]:
    """Records without end; the ids of questions begin with that of the picture, so all are fresh if that is."""
    for image in count(FIRST_IMAGE["train"]):
        before, records = scenes[image % len(scenes)]
        yield from (record.replace(before, str(image)) for record in records)


def _in_a_process(folder: Path, processes: int, watch: Watch) -> dict[str, Any]:
    """The last message of `_index`."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_index, args=(there, folder, processes))
    process.start()
    there.close()
    try:
        while True:
            message = here.recv()
            if isinstance(message, Progress):
                watch("megabytes indexed", message.done >> 20, message.total >> 20)
            elif isinstance(message, DataError):
                raise message
            else:
                return dict(message)
    except (EOFError, OSError):
        raise DataError("the process that made the index has ended; is there enough memory and room?") from None
    finally:
        here.close()
        process.terminate()
        process.join()


def _index(connection: Connection, folder: Path, processes: int) -> None:
    """Make the index; send how far it is, then what it took."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    peaks: dict[int, float | None] = {}

    def show(moment: Progress) -> None:
        pids = (os.getpid(), *(each.pid for each in multiprocessing.active_children()))
        peaks.update({pid: _peak(pid) for pid in pids if pid is not None})
        connection.send(moment)

    begin = time.perf_counter()
    try:
        make_index(folder, folder / "index", processes=processes, progress=show)
    except DataError as error:
        connection.send(error)
        return
    seconds, cpu = time.perf_counter() - begin, os.times()
    peaks[os.getpid()] = _peak(os.getpid())
    known = [peak for peak in peaks.values() if peak is not None]
    connection.send(
        {
            "seconds": seconds,
            "cpu_seconds": cpu.user + cpu.system + cpu.children_user + cpu.children_system,
            "peak_megabytes": sum(known) if len(known) == len(peaks) else None,
        }
    )


def _peak(pid: int) -> float | None:
    """Peak of a process's resident memory, in MB; None where the system has no such figure."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def _read(folder: Path, seconds: float) -> float:
    """Questions a second, in random batches, on one core."""
    train = Index.open(folder).questions(SET)
    numbers = np.random.default_rng(0).integers(0, len(train), (BATCHES, BATCH))
    with one_core():
        return speeds({"read": [lambda: sum(len(train.batch(each).lengths) for each in numbers)]}, seconds)["read"]


def print_figures(index: dict[str, Any]) -> None:
    """Lines for a person."""
    memory = "" if index["peak_megabytes"] is None else f", {index['peak_megabytes']:,.0f} MB at most"
    print(
        f"{index['questions']:,} questions ({index['different_questions']:,} different ones, under fresh ids) indexed "
        f"in {index['seconds']:,.0f} s ({index['cpu_seconds']:,.0f} s of CPU time){memory}; "
        f"read: {index['read_per_second']:,.0f} a second"
    )
