"""Records that cannot be read and are skipped: all are counted, the first are named.

skipped = Skipped()
questions = list(read_questions(path, skipped.add))
print("\\n".join(skipped.lines()))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from program_guided.errors import DataError
from program_guided.output import counted

__all__ = ["ADVICE", "MAX_LINES", "OnBad", "Skipped", "refuse"]

OnBad = Callable[[DataError], None]
"""Called with the error of a bad record, which is then skipped."""

MAX_LINES = 10
"""Maximum number of skipped records that are named."""
ADVICE = "correct it, or skip bad records"


def refuse(error: DataError) -> None:
    """Raise the error of a record, with advice: the opposite of `Skipped.add`."""
    raise DataError(f"{error}; {ADVICE}") from None


class Skipped:
    """Number of skipped records, and the errors of the first of them."""

    def __init__(self, errors: Iterable[DataError | str] = ()) -> None:
        self.count = 0
        self.first: list[str] = []
        for error in errors:
            self.add(error)

    def add(self, error: DataError | str) -> None:
        self.count += 1
        if len(self.first) < MAX_LINES:
            self.first.append(str(error))

    def as_dict(self) -> dict[str, Any]:
        """Count and first errors, for figures."""
        return {"count": self.count, "first": list(self.first)}

    def lines(self, elsewhere: str = "") -> list[str]:
        """Lines for a user, none if nothing was skipped; `elsewhere`: where all are listed."""
        if not self.count:
            return []
        title = f"skipped {counted(self.count, 'piece')} that could not be read:"
        rest = self.count - len(self.first)
        more = [f"  and {rest:,} more{elsewhere and f', listed in {elsewhere}'}"] if rest else []
        return [title, *(f"  {line}" for line in self.first), *more]
