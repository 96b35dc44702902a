"""What commands have in common: figures as JSON with where they come from, and progress bars."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from program_guided import __version__
from program_guided.errors import DataError
from program_guided.files import write_atomically

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = [
    "Flag",
    "OptionalNumber",
    "OptionalPath",
    "OptionalText",
    "bar_for_each",
    "counted",
    "print_json",
    "progress_bars",
    "provenance",
    "refuse",
    "report",
    "save_json",
]

QUIET_SECONDS = 20.0
"""Between lines that tell how far work is, where no bar can be drawn."""
Flag = tyro.conf.FlagCreatePairsOff[bool]
"""An option that is off unless it is given."""
OptionalPath = Annotated[Path | None, tyro.conf.arg(metavar="PATH")]
OptionalText = Annotated[str | None, tyro.conf.arg(metavar="TEXT")]
OptionalNumber = Annotated[int | None, tyro.conf.arg(metavar="INT")]


def print_json(figures: dict[str, Any]) -> None:
    """Figures for a program to read."""
    print(json.dumps(figures, indent=2))


def provenance() -> dict[str, Any]:
    """The command, the code and the machine that figures were made with."""
    return {
        "command": " ".join(["proto", *map(_shown, sys.argv[1:])]),
        "version": __version__,
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
    }


def _shown(argument: str) -> str:
    """An argument; of an absolute path only the name, since the rest says nothing to others."""
    return Path(argument).name if Path(argument).is_absolute() else argument


def save_json(figures: dict[str, Any], path: Path) -> None:
    """Write figures with their provenance."""
    write_atomically(path, (json.dumps(provenance() | figures, indent=2) + "\n").encode("utf-8"))


def report(figures: dict[str, Any], save: Path | None, as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """Save figures if asked to, and print them: as JSON, or as `show` does for a person."""
    if save is not None:
        save_json(figures, save)
    if as_json:
        print_json(figures)
        return
    show(figures)
    if save is not None:
        print("wrote", save)


def progress_bars(amounts: str = "{task.completed:,.0f}/{task.total:,.0f}") -> Progress:
    """Bars for work that takes a while: what, how much of it, time left; beside the output, and where that is no
    terminal, a line from time to time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    spoken = time.monotonic()

    class Bars(Progress):
        def update(self, task_id: TaskID, **changes: Any) -> None:
            nonlocal spoken
            super().update(task_id, **changes)
            if self.disable and time.monotonic() - spoken > QUIET_SECONDS:
                spoken, task = time.monotonic(), self._tasks[task_id]
                print(f"{task.description}: {task.percentage:.0f} % done", file=sys.stderr, flush=True)

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(24),
        TextColumn(amounts),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=console,
        disable=not console.is_terminal,
    )


def bar_for_each(progress: Progress) -> Callable[[str, int, int], None]:
    """To be told what is done, how much of it, of how much; each has a bar."""
    bars: dict[str, Any] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in bars:
            bars[what] = progress.add_task(what, total=total)
        progress.update(bars[what], completed=done)

    return show


def refuse(options: Any, task: str, *names: str) -> None:
    """One clear error if options were given that mean nothing for a task."""
    defaults = {field.name: field.default for field in dataclasses.fields(options)}
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != defaults[name]]
    if given:
        raise DataError(f"{', '.join(given)}: not for {task}; leave {'it' if len(given) == 1 else 'them'} out")


def counted(number: int, thing: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _commit() -> str | None:
    """The commit of the package's own files, marked if they have been changed since."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", ".")
    return f"{commit}-changed" if commit and changed else commit


def _git(*arguments: str) -> str | None:
    folder = Path(__file__).parent.parent
    try:
        asked = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
