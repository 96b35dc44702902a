"""Output of commands: figures as JSON with their provenance, tables, announcements, and progress bars."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from program_guided.files import write_atomically
from program_guided.version import VERSION

if TYPE_CHECKING:
    from rich.progress import Progress

    from program_guided.bars import Bars

__all__ = [
    "Flag",
    "OptionalNumber",
    "OptionalPath",
    "OptionalText",
    "announce",
    "bar_for_each",
    "counted",
    "print_json",
    "print_table",
    "progress_bars",
    "provenance",
    "report",
    "save_json",
]

QUIET_SECONDS = 20.0
"""Seconds between lines of progress, where no bar can be drawn."""
Flag = tyro.conf.FlagCreatePairsOff[bool]
"""An option that is off unless it is given."""
OptionalPath = Annotated[Path | None, tyro.conf.arg(metavar="PATH")]
OptionalText = Annotated[str | None, tyro.conf.arg(metavar="TEXT")]
OptionalNumber = Annotated[int | None, tyro.conf.arg(metavar="INT")]


def announce(what: str, megabytes: float, seconds: float) -> None:
    """Print on standard error what a long computation costs, before it begins."""
    duration = counted(round(seconds / 60), "minute") if seconds > 90 else counted(max(1, round(seconds)), "second")
    print(f"{what}: about {max(1, megabytes):,.0f} MB of disk and {duration} ...", file=sys.stderr, flush=True)


def print_json(figures: Mapping[str, Any]) -> None:
    """Print figures as JSON."""
    print(json.dumps(figures, indent=2))


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: texts to the left, numbers to the right; 160 columns wide if the output is no terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        cells = [row[number] for row in rows if number < len(row) and row[number]]
        numeric = bool(cells) and all(cell[:1].isdigit() or cell[:1] in "+-" for cell in cells)
        table.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)


def provenance() -> dict[str, Any]:
    """The command, the code and the machine that figures were made with."""
    return {
        "command": f"{_program()} {shlex.join(map(_shown, sys.argv[1:]))}".strip(),
        "version": VERSION,
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
    }


def _program() -> str:
    """The program that is run: this one, or a script of a clone."""
    script = Path(sys.argv[0])
    is_script = script.suffix == ".py" and script.name != "__main__.py"
    return (
        f"python {Path(*script.parts[script.parts.index('tools') :])}"
        if is_script and "tools" in script.parts
        else "proto"
    )


def _shown(argument: str) -> str:
    """An argument; absolute paths are shortened to the name, since their folders are local to the machine."""
    return Path(argument).name if Path(argument).is_absolute() else argument


def save_json(figures: Mapping[str, Any], path: Path) -> None:
    """Write figures with their provenance."""
    write_atomically(path, (json.dumps({**provenance(), **figures}, indent=2) + "\n").encode("utf-8"))


def report(
    figures: Mapping[str, Any], save: Path | None, as_json: bool, show: Callable[[Mapping[str, Any]], None]
) -> None:
    """Save figures if a path is given, and print them as JSON or by `show`."""
    if save is not None:
        save_json(figures, save)
    if as_json:
        print_json(figures)
        return
    show(figures)
    if save is not None:
        print("wrote", save)


def progress_bars(amounts: str | None = None, transient: bool = False) -> Bars:
    """Progress bars on standard error: description, amount done, rate, time left; if it is no terminal, a line every
    `QUIET_SECONDS`. `transient` bars vanish at their end."""
    from program_guided.bars import AMOUNTS, Bars

    return Bars(amounts or AMOUNTS, transient, QUIET_SECONDS)


def bar_for_each(progress: Progress) -> Callable[[str, int, int], None]:
    """A function of (description, done, total) that shows one bar for each description."""
    bars: dict[str, Any] = {}

    def show(description: str, done: int, total: int) -> None:
        if description not in bars:
            bars[description] = progress.add_task(description, total=total)
        progress.update(bars[description], completed=done)

    return show


def counted(number: int, thing: str) -> str:
    """Number and noun: `1 step`, `2 steps`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _commit() -> str | None:
    """The commit of the package's own files, marked if they have been changed since."""
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:  # installed inside of another repository
        return None
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", ".")
    return f"{commit}-changed" if commit and changed else commit


def _git(*arguments: str) -> str | None:
    folder = Path(__file__).parent
    try:
        completed = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
