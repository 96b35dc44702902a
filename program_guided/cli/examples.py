"""`proto examples`: the examples that ship, or a copy of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from program_guided.cli.parsing import parse
from program_guided.errors import DataError, ProgramError
from program_guided.output import Flag, OptionalPath, print_json, print_table
from program_guided.shipped import EXAMPLES, summary, written_seed

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """List the examples that ship: programs, maps, and tasks in one file each.

To change them, copy them to a folder of yours."""


@dataclass(frozen=True)
class Examples:
    """The examples."""

    copy: OptionalPath = None
    """Copy them all to this folder."""
    json: Flag = False
    """Print the list as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = parse("proto examples", DESCRIPTION, arguments, {"examples": Examples()}).examples
    files = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".prg", ".map", ".txt", ".py"))
    if options.copy is not None:
        _copy(files, options.copy)
    found = [_described(path) for path in files]
    if options.json:
        print_json({"examples": found})
    elif options.copy is not None:
        print(f"copied {len(files)} files to {options.copy}; try: proto run {options.copy / 'bridge.prg'}")
    else:
        headings = ("name", "task", "seed", "try", "what it shows")
        print_table("", headings, [["" if each[key] is None else str(each[key]) for key in HEADINGS] for each in found])
    return 0


HEADINGS = ("name", "task", "seed", "command", "about")


def _described(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    name = path.name.removesuffix(".txt").removesuffix(".prg").removesuffix(".map")
    about: dict[str, Any] = {"name": name, "file": path.name, "task": None, "seed": written_seed(text)}
    if path.suffix == ".py":
        command, task = f"proto examples --copy . && proto train {path.name}", path.name
        return {**about, "task": task, "command": command, "about": summary(text)}
    if path.suffix == ".map":
        about_map = "A map of one's own: a square of symbols, here with a river."
        return {**about, "command": f"proto run gold_rush --map {name}", "about": about_map}
    if path.suffix == ".txt":
        return {**about, "command": f"proto check {name}", "about": summary(text)}
    return {**about, "task": _task(path), "command": f"proto run {name}", "about": summary(text)}


def _task(path: Path) -> str | None:
    from program_guided.cli.tasks import program_of, read_source

    try:
        return str(program_of(read_source(path), None)[0].name)
    except ProgramError:
        return None


def _copy(files: Sequence[Path], folder: Path) -> None:
    """Copy files, never over one that differs."""
    from program_guided.files import make_folder_of, write_atomically

    for path in files:
        target = folder / path.name
        make_folder_of(target)
        if target.exists() and (not target.is_file() or target.read_bytes() != path.read_bytes()):
            raise DataError(f"{target}: is there already, and differs; remove it, or name another folder")
    for path in files:
        write_atomically(folder / path.name, path.read_bytes())
