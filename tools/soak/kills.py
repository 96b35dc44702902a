"""Kills long commands at random moments and at every rename, resumes them, and compares what they leave byte by byte.

    python tools/soak/kills.py --count 30 --seed 0
    python tools/soak/kills.py --only "train reward" --count 3

Each command runs in a process of its own (forked, so that nothing is imported twice), which is killed by SIGKILL: while
it works, and again while it is resumed, in a third of the cases; then it is resumed to its end. Times in the logs and
TensorBoard's events, which hold them, are not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Value
from pathlib import Path
from typing import Any

__all__ = ["JOBS", "Job", "soak"]

TINY = ("--word-width", 8, "--hidden", 16, "--heads", 2, "--blocks", 1)
REWARD = ("train", "minecraft", "--target", "reward", "--num-envs", 8, "--num-steps", 16, "--minibatch-size", 64)
VISUAL = ("train", "visual", "--data", ".", "--features", "world/objects")
TIMES = {"minutes", "seconds", "samples a second", "sha256"}
STATE = "training.safetensors"
EVERY_RENAME = 10


@dataclass(frozen=True)
class Job:
    """A command, and the files that it makes."""

    command: tuple[Any, ...]
    made: str
    """The file or folder that is compared."""
    needs: tuple[str, ...] = ()
    """Commands whose files it reads."""
    training: bool = False
    """Whether it goes on with --resume, once there is something to resume; others go on by themselves."""


JOBS = {
    "build": Job(("dataset", "build", "visual", "--scenes", 40, 3, 3, "--pictures", 3, "--out", "world"), "world"),
    "index": Job(
        ("dataset", "index", "visual", "--root", "world", "--processes", 1, "--out", "index"), "index", ("build",)
    ),
    "extract": Job(("features", "extract", "--images", "images", "--size", 32, "--out", "out.h5"), "out.h5"),
    "train dense": Job(
        (
            "train",
            "minecraft",
            *TINY,
            "--steps",
            24,
            "--eval-every",
            8,
            "--num-envs",
            8,
            "--held-out",
            4,
            "--out",
            "run",
        ),
        "run",
        training=True,
    ),
    "train reward": Job(
        (*REWARD, *TINY, "--steps", 1536, "--eval-every", 512, "--held-out", 4, "--window", 8, "--out", "run"),
        "run",
        training=True,
    ),
    "train visual": Job(
        (*VISUAL, *TINY, "--steps", 9, "--eval-every", 3, "--batch-size", 8, "--held-out", 8, "--out", "run"),
        "run",
        ("build", "index"),
        training=True,
    ),
}


def start(arguments: list[Any], folder: Path, kill_at: int = -1, renames: Any = None) -> int:
    """A command in a process of its own, which kills itself before the rename of this number; its process id."""
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_RDWR)
        log = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, target in enumerate((nowhere, nowhere, log)):
            os.dup2(target, number)
        sys.argv = ["proto", *map(str, arguments)]
        os.replace = _counted(os.replace, kill_at, renames)  # type: ignore[assignment]
        from program_guided.cli.main import main

        main()
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _counted(replace: Callable[..., None], kill_at: int, renames: Any) -> Callable[..., None]:
    count = 0

    def counted(*given: Any, **named: Any) -> None:
        nonlocal count
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        if renames is not None:
            renames.value = count
        replace(*given, **named)

    return counted


def finish(process: int, after: float | None = None) -> int:
    """Wait for a process, and kill it and its children after this time; its exit code."""
    deadline = None if after is None else time.monotonic() + after
    while True:
        ended, status = os.waitpid(process, 0 if deadline is None else os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        assert deadline is not None
        if time.monotonic() >= deadline:
            os.killpg(process, signal.SIGKILL)
            deadline = None
        time.sleep(0.001)


def arguments_of(job: Job, folder: Path) -> list[Any]:
    """The command with which a person begins it, or goes on."""
    resumed = job.training and (folder / job.made / STATE).is_file()
    return [*job.command, *(["--resume"] if resumed else [])]


def content(path: Path) -> dict[str, Any]:
    """All that was made, without times."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    kept = [each for each in files if not each.name.startswith("events.") and each.name != STATE]
    return {str(each.relative_to(path)): _timeless(each) for each in kept}


def _timeless(path: Path) -> Any:
    if path.suffix not in (".json", ".jsonl"):
        return path.read_bytes()
    texts = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text("utf-8")]
    return [json.loads(text, object_hook=_without_times) for text in texts]


def _without_times(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in (*TIMES, "command")}


class Soak:
    """One command, killed and resumed again and again."""

    def __init__(self, name: str, base: Path, source: random.Random) -> None:
        self.name, self.job, self.source, self.base = name, JOBS[name], source, base
        self.base.mkdir()
        self._prepare()
        renames = Value("i", 0)
        whole = self._folder("whole")
        begun = time.monotonic()
        self._must_end(start(arguments_of(self.job, whole), whole, renames=renames), whole)
        self.seconds, self.renames = time.monotonic() - begun, renames.value
        self.expected = content(whole / self.job.made)

    def _prepare(self) -> None:
        inputs = self.base / "inputs"
        inputs.mkdir()
        for needed in self.job.needs:
            self._must_end(start(list(JOBS[needed].command), inputs), inputs)
        if self.name == "extract":
            from PIL import Image

            (inputs / "images").mkdir()
            for number in range(12):
                Image.new("RGB", (40, 40), (9 * number, 0, 0)).save(inputs / "images" / f"{number}.png")

    def _folder(self, name: str) -> Path:
        """A folder with the files that the command reads."""
        folder = self.base / name
        folder.mkdir()
        for each in (self.base / "inputs").iterdir():
            if each.name != "said.txt":
                (folder / each.name).symlink_to(each)
        return folder

    def _must_end(self, process: int, folder: Path) -> None:
        code = finish(process)
        if code:
            raise RuntimeError(f"{self.name}: exit code {code}: {(folder / 'said.txt').read_text()[-2000:]}")

    def killed_at(self, rename: int) -> str:
        """Killed before this rename, then resumed: what is wrong, or nothing."""
        return self._resumed(f"rename {rename}", lambda folder: start(self._arguments(folder), folder, rename), None)

    def killed_after(self, number: int) -> str:
        """Killed at a random moment, then resumed: what is wrong, or nothing."""
        seconds = self.source.uniform(0, self.seconds)
        return self._resumed(f"kill {number}", lambda folder: start(self._arguments(folder), folder), seconds)

    def _arguments(self, folder: Path) -> list[Any]:
        return arguments_of(self.job, folder)

    def _resumed(self, name: str, begin: Callable[[Path], int], seconds: float | None) -> str:
        folder = self._folder(name)
        finish(begin(folder), seconds)
        if seconds is not None and self.source.random() < 1 / 3:
            finish(start(self._arguments(folder), folder), self.source.uniform(0, self.seconds))
        code = finish(start(self._arguments(folder), folder))
        said = (folder / "said.txt").read_text()
        if code or "Traceback" in said:
            return f"{name}: exit code {code}: {said[-2000:]}"
        found = content(folder / self.job.made)
        different = [each for each in found.keys() | self.expected.keys() if found.get(each) != self.expected.get(each)]
        if different:
            return f"{name} ({seconds}): {', '.join(sorted(different))} differ"
        shutil.rmtree(folder)
        return ""


def soak(name: str, count: int, seed: int, tell: Callable[[str], None] = print) -> dict[str, int]:
    """Kill one command `count` times at random moments, and once at each of its renames (at `count` of them, if that is
    less than `EVERY_RENAME`)."""
    with tempfile.TemporaryDirectory() as folder:
        one = Soak(name, Path(folder) / "soak", random.Random(f"{name} {seed}"))
        renames = list(range(one.renames))
        if count < EVERY_RENAME:
            renames = sorted(one.source.sample(renames, min(count, len(renames))))
        problems = [each for each in map(one.killed_at, renames) if each]
        problems += [each for each in map(one.killed_after, range(count)) if each]
        for each in problems:
            tell(f"{name}: {each}")
        return {"renames": one.renames, "killed": len(renames) + count, "different": len(problems)}


def main() -> int:
    """1 if anything was lost or differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30, help="kills of every command at random moments")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*JOBS], action="append", help="only this command")
    parser.add_argument("--save", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    _import_all()
    from program_guided.output import report

    figures: dict[str, Any] = {"count": options.count, "seed": options.seed, "commands": {}}
    for name in options.only or JOBS:
        begun = time.monotonic()
        found = soak(name, options.count, options.seed, lambda text: print(text, flush=True))
        figures["commands"][name] = found
        minutes = (time.monotonic() - begun) / 60
        print(
            f"{name:14} {found['renames']:3} renames, killed {found['killed']:3} times, {found['different']} differ, "
            f"{minutes:.1f} min",
            flush=True,
        )
    report(figures, options.save, False, lambda figures: None)
    return int(any(each["different"] for each in figures["commands"].values()))


def _import_all() -> None:
    """Import all that the commands import, so that forked processes begin at once."""
    import h5py  # noqa: F401
    import lightning_fabric  # noqa: F401
    import tensorboard  # noqa: F401
    import torch

    import program_guided.tasks.minecraft.world.batch
    import program_guided.tasks.visual.task  # noqa: F401

    torch.set_num_threads(1)


if __name__ == "__main__":
    sys.exit(main())
