"""Examples that ship with the package: programs, maps, and tasks in one file each.

A program may begin with comments; `# seed: 9` among them is its default seed, the first other one says what it shows.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

__all__ = ["EXAMPLES", "example", "summary", "written_seed"]

EXAMPLES = Path(__file__).parent / "examples"
SEED = re.compile(r"#\s*seed:\s*(\d{1,18})\s*", re.IGNORECASE)


def example(given: Path, suffix: str = ".prg") -> Path:
    """A file as it is given, or the example of that name (`bridge`, `bridge.prg`), if there is no such file."""
    if given.exists() or given.name != str(given):
        return given
    names = (given.name, f"{given.name}{suffix}", f"{given.name}{suffix}.txt")
    return next((EXAMPLES / name for name in names if (EXAMPLES / name).is_file()), given)


def written_seed(text: str) -> int | None:
    """The seed that a program's first comments name."""
    found = (SEED.fullmatch(line) for line in _comments(text))
    return next((int(match[1]) for match in found if match), None)


def summary(text: str) -> str:
    """The first comment of a program that says something else, or the first line of a Python file."""
    said = [line.lstrip("# ") for line in _comments(text) if not SEED.fullmatch(line)]
    return said[0] if said else text.partition("\n")[0].strip('" ')


def _comments(text: str) -> list[str]:
    return list(takewhile(lambda line: line.startswith("#"), (line.strip() for line in text.splitlines())))
