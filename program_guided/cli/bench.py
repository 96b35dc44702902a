"""`proto bench`: measure speed, beside a peer or a naive form in the same run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import program_guided
from program_guided.cli.parsing import parse, select
from program_guided.errors import DataError, UsageError
from program_guided.output import Flag, OptionalPath, bar_for_each, progress_bars, report

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Measure speed, beside peers in the same run (they come with the extra `bench`).

Options that belong to a benchmark are shown with it: proto bench NAME --help"""


@dataclass(frozen=True)
class PartialSelection:
    """The benchmark, where it may be missing."""

    what: tyro.conf.Positional[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Output:
    """Where the figures go."""

    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Write the figures to this file too."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    known = _benchmarks()
    parts = {"selection": _selection(known), "output": Output()}
    chosen = select(PartialSelection, arguments, "proto bench").what
    if not chosen or chosen[0] not in known:
        parse("proto bench", DESCRIPTION, arguments, parts)
        raise UsageError(f"name a benchmark: {', '.join(known)}")
    module = importlib.import_module(known[chosen[0]][0])
    options = parse("proto bench", DESCRIPTION, arguments, parts | {"measuring": module.Options()})
    with progress_bars() as progress:
        figures = options.measuring.measure(bar_for_each(progress))
    report(figures, options.output.save, options.output.json, module.print_figures)
    return 0


def _selection(known: Mapping[str, tuple[str, str]]) -> type:
    """The benchmark, and its options."""
    explained = "; ".join(f"{name}: {about}" for name, (_, about) in known.items())
    names: Any = Literal[tuple(known)]
    what: Any = Annotated[names, tyro.conf.Positional, tyro.conf.arg(help=explained)]
    return make_dataclass("Selection", [("what", what)], frozen=True)


def _benchmarks() -> Mapping[str, tuple[str, str]]:
    """By name, the module of a benchmark and what it measures. They are in a folder beside the package, and are not
    installed with it."""
    root = Path(program_guided.__file__).parents[1]
    if not (root / "benchmarks").is_dir():
        raise DataError(
            "the benchmarks come with a clone of the repository, not with the installed package; run this from a clone"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    found: Mapping[str, tuple[str, str]] = importlib.import_module("benchmarks").BENCHMARKS
    return found
