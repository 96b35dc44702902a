"""Results that a call may take: those of calls that are always executed before it.

Calls are added in reading order. After a branch, or the body of a `while`, its calls may not have been executed. A name
refers to every result that may have been assigned to it last; it can be used where there is exactly one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

__all__ = ["Named", "Names", "Scope"]


@dataclass(frozen=True)
class Named:
    """The results that a name may refer to at some place of a program."""

    given: Mapping[int, int | None]
    """Line of an assignment that may have been the last one executed -> number of its call, None for a later call."""
    doubt: str = ""
    """The reason why there may have been no assignment; "" if there always was one."""

    def joined(self, other: Named) -> Named:
        return Named({**self.given, **other.given}, self.doubt or other.doubt)


Names = dict[str, Named]
"""The results of every name."""


class Scope:
    """The calls so far, and the names at the present place."""

    def __init__(self) -> None:
        self.outputs: list[str | None] = []
        """Result type of each call; None for one that has a mistake."""
        self.lines: list[int] = []
        self.names: Names = {}
        self.used: set[int] = set()
        """Calls whose results have been taken."""
        self._doubts: dict[int, str] = {}
        """Calls that may not have been executed -> the reason."""

    def __len__(self) -> int:
        return len(self.outputs)

    def add(self, output: str | None, line: int) -> int:
        """Add a call; its number."""
        self.outputs.append(output)
        self.lines.append(line)
        return len(self) - 1

    def assign(self, name: str, number: int) -> None:
        self.names[name] = Named({self.lines[number]: number})

    def doubt(self, number: int) -> str:
        """The reason why a call may not have been executed here; "" if it always has."""
        return self._doubts.get(number, "")

    def nearest_unused(self, types: Iterable[str]) -> list[int] | None:
        """The nearest unused results of these types, in their order; None if there are not enough."""
        wanted, found = list(types), list[int]()
        for number in range(len(self) - 1, -1, -1):
            free = number not in self.used and not self.doubt(number)
            if wanted and free and self.outputs[number] in (wanted[-1], None):
                found.append(number)
                wanted.pop()
        return None if wanted else found[::-1]

    def close(self, first: int, where: str) -> None:
        """Leave a block: its calls, numbered from `first`, may not have been executed."""
        for number in range(first, len(self)):
            self._doubts.setdefault(number, f"inside of {where}")

    def join(self, ends: Iterable[Names], where: str) -> None:
        """Leave branches that end with these names: any of them may have been taken."""
        ends = list(ends)
        every = {name for names in ends for name in names}
        self.names = {name: _joined([names.get(name) for names in ends], f"inside of {where}") for name in every}

    def expect(self, assigned: Mapping[str, int], where: str) -> None:
        """Record that names may have been assigned, on these lines, by an earlier pass through a block."""
        for name, line in assigned.items():
            before, later = self.names.get(name), Named({line: None})
            self.names[name] = before.joined(later) if before else replace(later, doubt=where)


def _joined(ends: list[Named | None], where: str) -> Named:
    given = [each for each in ends if each is not None]
    joined = given[0]
    for each in given[1:]:
        joined = joined.joined(each)
    return joined if joined.doubt or len(given) == len(ends) else replace(joined, doubt=where)
