"""One run: `proto train` (or another command that trains), then the command of each measure, each in a process with one
thread; then `result.json`.

    python -m program_guided.experiments.worker '{"place": ..., "folder": ..., "run": ..., ...}'

What exists is not made again: a training that was interrupted is resumed, a measure that was saved is kept. Ctrl-C,
SIGTERM and the end of the process that started it stop it; a training saves its state first.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any

from program_guided.errors import DataError, ProgramGuidedError
from program_guided.experiments.runs import (
    OUTPUT,
    RESULT,
    STARTS,
    TRAINED,
    TRAINING,
    Run,
    code_commit,
    in_process,
    shown,
    train_command,
    write_run,
)
from program_guided.files import check_writable, held, read_json, write_atomically
from program_guided.output import provenance

__all__ = ["BUSY", "DONE", "FAILED", "STOPPED", "UNUSABLE", "Job", "environment", "main", "python_path", "work"]

DONE, FAILED, UNUSABLE, BUSY, STOPPED = 0, 1, 2, 75, 130
"""Exit codes: everything is measured; a command failed; a command line that cannot be read, which another attempt does
not mend; another process has the run; interrupted."""
PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""
CURVE = ("step", "seconds", "completion")
PATIENCE = 120.0
"""Seconds in which a training whose worker was killed may save its state."""


@dataclass(frozen=True)
class Job:
    """A run that is to be finished."""

    place: str
    """The folder that the command was given in, on all machines the same."""
    folder: str
    """The folder of the run, from there."""
    run: Run
    commit: str
    measures: Mapping[str, Sequence[str]]
    """File of each measure -> arguments of `proto`."""
    node: str = ""
    """The node of a cluster that works on it."""

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return Path(self.place) / self.folder

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        record = json.loads(text)
        run = record.pop("run")
        return cls(**record, run=Run(**{**run, "train": tuple(run["train"])}))


class Failed(ProgramGuidedError):
    """A command that ended with an error."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"exit code {code}")


def main() -> None:
    """Run the job that the command line gives, in a process of its own."""
    _die_with_parent()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = work(Job.from_json(sys.argv[1]))
    except KeyboardInterrupt:
        code = STOPPED
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def work(job: Job) -> int:
    """Finish a run; the exit code. Its errors stand at the end of `OUTPUT`."""
    folder = job.path
    check_writable(folder / RESULT)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(folder))
        except DataError:
            return BUSY
        output = stack.enter_context((folder / OUTPUT).open("a", encoding="utf-8"))
        return _logged(job, output)


def _logged(job: Job, output: IO[str]) -> int:
    try:
        write_run(job.run, job.path, job.commit)
        _finish(job, output)
    except Failed as error:
        return UNUSABLE if error.code == UNUSABLE else FAILED
    except ProgramGuidedError as error:
        print(f"error: {error}", file=output, flush=True)
        return FAILED
    return DONE


def _finish(job: Job, output: IO[str]) -> None:
    folder = job.path
    if job.run.train and not (folder / TRAINED).is_file():
        _train(job, output)
    for file, arguments in job.measures.items():
        if not (Path(job.place) / file).is_file():
            begun = time.monotonic()
            _run(job, arguments, output)
            _add(folder / "minutes.json", {Path(file).name: (time.monotonic() - begun) / 60})
    _write(folder / RESULT, _result(job, folder))


def _train(job: Job, output: IO[str]) -> None:
    from program_guided.learning.trainer import STATE

    folder = job.path
    _wait_until_free(folder / TRAINING)
    resumed = ["--resume"] if (folder / TRAINING / STATE).is_file() else []
    _run(job, [*train_command(job.run, Path(job.folder)), *resumed], output)
    _write(folder / TRAINED, _training(folder / TRAINING))


def _wait_until_free(training: Path) -> None:
    """Wait for a training whose worker was killed, and which is saving its state."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with held(training):
                return
        except DataError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def _run(job: Job, arguments: Sequence[str], output: IO[str]) -> None:
    """A command in a process with one thread; its start is noted, its output kept."""
    _note_start(job, arguments)
    print(f"$ {shown(arguments)}", file=output, flush=True)
    with _child(in_process(arguments), job.place, output) as child:
        code = child.wait()
    if code == STOPPED:
        raise KeyboardInterrupt
    if code:
        raise Failed(code)


def _note_start(job: Job, arguments: Sequence[str]) -> None:
    path = job.path / STARTS
    before = path.read_bytes() if path.is_file() else b""
    place = {"host": platform.node(), "node": job.node, "process": os.getpid()}
    line = json.dumps({"command": shown(arguments), "time": time.time(), "commit": code_commit(), **place}) + "\n"
    write_atomically(path, before + line.encode("utf-8"))


@contextmanager
def _child(command: Sequence[str], place: str, output: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with this one; interrupted, it is asked to end, and the second time made to."""
    child = subprocess.Popen(
        command,
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environment(),
        start_new_session=True,  # Ctrl-C in a terminal reaches it once, from here
        preexec_fn=_die_with_parent,
    )
    try:
        yield child
    except BaseException:
        child.terminate()
        try:
            child.wait()
        except BaseException:
            child.kill()
        raise


def environment() -> dict[str, str]:
    """Variables with which a process runs this very package, on one thread."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": python_path()}


def python_path() -> str:
    """Path on which a process finds this very package first."""
    root = str(Path(__file__).parents[2])
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each != root]
    return os.pathsep.join([root, *others])


def _die_with_parent() -> None:
    """Let Linux end this process when the one that started it ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _training(folder: Path) -> dict[str, Any]:
    """The record of a training that has ended; commands other than `proto train` write it themselves."""
    if (folder / TRAINED).is_file():
        return dict(read_json(folder / TRAINED))
    from program_guided.learning.checkpoint import WEIGHTS, read_checkpoint, read_tensors
    from program_guided.learning.trainer import OPTIONS

    training = read_checkpoint(folder).training
    tensors, _ = read_tensors(folder / WEIGHTS)
    return {
        "options": read_json(folder / OPTIONS),
        "parameters": sum(tensor.numel() for tensor in tensors.values()),
        "minutes": training["minutes"],
        "curve": [{name: line[name] for name in CURVE} for line in training["curve"]],
    }


def _result(job: Job, folder: Path) -> dict[str, Any]:
    """Everything that is known of a run; figures of all measures that were ever made of it."""
    trained = read_json(folder / TRAINED) if job.run.train else {}
    starts = [json.loads(line) for line in (folder / STARTS).read_text("utf-8").splitlines()]
    minutes = read_json(folder / "minutes.json") if (folder / "minutes.json").is_file() else {}
    return {
        "commit": job.commit,
        "commits": sorted({each["commit"] for each in starts}),
        **trained,
        "measure_minutes": sum(minutes.values()),
        "measures": {path.name: read_json(path) for path in sorted(folder.glob("measure-*.json"))},
        "machine": provenance()["machine"],
    }


def _write(path: Path, record: Any) -> None:
    write_atomically(path, (json.dumps(record, indent=1) + "\n").encode("utf-8"))


def _add(path: Path, entries: Mapping[str, float]) -> None:
    known = read_json(path) if path.is_file() else {}
    _write(path, {**known, **entries})


if __name__ == "__main__":
    main()
