"""`proto check`: are these texts programs? Prints every mistake with its place, or the routine table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from program_guided.cli.output import Flag

__all__ = ["Check"]


@dataclass(frozen=True)
class Check:
    """Check programs, and show how they were understood."""

    files: tyro.conf.Positional[tuple[Path, ...]]
    """Files that hold a program each."""
    task: Literal["minecraft", "visual"] = "minecraft"
    """Whose language they are in."""
    table: Flag = False
    """Print the routine table: each routine, where the pointer goes from it, and its parents."""
    canonical: Flag = False
    """Print the program in its canonical spelling."""
    json: Flag = False
    """Print all of it as JSON."""

    def run(self) -> int:
        """1 if any file has a mistake."""
        from program_guided.cli.checking import report

        return report(self)
