"""All errors that program_guided raises for users.

    ProgramGuidedError
    ├── ProgramError      a program's text is wrong (carries every problem found)
    ├── WorldError        a map, an inventory or a program cannot be put together
    ├── DataError         a file is missing, damaged or of another version
    └── UsageError        a command line that cannot be read

The command line prints them in one piece and exits with 1 (2 for a UsageError); nothing else should reach a user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DataError", "Problem", "ProgramError", "ProgramGuidedError", "UsageError", "WorldError", "quote"]

SHOWN_WIDTH = 100
"""Maximum number of characters of a source line that are shown, around the caret."""
MAX_QUOTE_LENGTH = 40


def quote(text: str) -> str:
    """Quote a user's text in a message: cut if long, and without control characters."""
    cut = text if len(text) <= MAX_QUOTE_LENGTH else text[: MAX_QUOTE_LENGTH - 1] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut) + "'"


class ProgramGuidedError(Exception):
    """Root of the tree above."""


class WorldError(ProgramGuidedError):
    """A requested world cannot be made."""


class DataError(ProgramGuidedError):
    """A file or an option does not hold what it should."""


class UsageError(ProgramGuidedError):
    """A command line that cannot be read."""


@dataclass(frozen=True)
class Problem:
    """One mistake in a program: where it is, what is wrong, what was expected."""

    line: int
    """Number of the line from 1; 0 for a problem of the program as a whole."""
    column: int
    """Position in the line from 1, in characters."""
    width: int
    """Number of characters to underline."""
    message: str
    expected: str = ""

    def render(self, source: str, lines: Sequence[str]) -> str:
        """The message, the line of source, and carets under the place."""
        if not 1 <= self.line <= len(lines):
            return f"{source}: error: {self.message}" + (f"\n  {self.expected}" if self.expected else "")
        shown, caret = _window(lines[self.line - 1], self.column - 1, max(1, self.width))
        gutter = " " * len(str(self.line))
        return (
            f"{source}:{self.line}:{self.column}: error: {self.message}\n"
            f"  {self.line} | {shown}\n"
            f"  {gutter} | {caret}" + (f" {self.expected}" if self.expected else "")
        )


class ProgramError(ProgramGuidedError):
    """A text that is not a program; `problems` holds all that was found wrong, in reading order."""

    def __init__(self, problems: Sequence[Problem], text: str = "", source: str = "<program>") -> None:
        self.problems = tuple(problems)
        self.source = source
        self.advice = ""
        lines = [_printable(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        super().__init__("\n".join(problem.render(source, lines) for problem in self.problems))

    def __str__(self) -> str:
        return super().__str__() + (f"\n{self.advice}" if self.advice else "")


def _printable(line: str) -> str:
    """A line with one column for each character, so that the caret is at the right place."""
    return "".join(character if character.isprintable() else " " for character in line)


def _window(line: str, start: int, width: int) -> tuple[str, str]:
    """The part of a line around the caret, and the caret's own line."""
    first = max(0, start - SHOWN_WIDTH // 2) if len(line) > SHOWN_WIDTH else 0
    shown = line[first : first + SHOWN_WIDTH]
    width = max(1, min(width, SHOWN_WIDTH - (start - first)))
    return shown.rstrip(), " " * (start - first) + "^" * width
