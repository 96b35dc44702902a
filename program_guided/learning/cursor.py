"""The place in a question that its program has come to: a function of the question and of the terminals so far.

The programs of a world follow the order of their sentences, so each terminal that a word offers moves the cursor past
that word. The decoder reads the question relative to the cursor: what it has learned of short sentences holds in long
ones.

    cursor = Cursor.of(offers)              # of each word, the terminals that it offers
    cursor = cursor.moved(number)           # after each terminal
    cursor.place
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Cursor", "cursors"]

BACK, AHEAD = 16, 25
"""Words before and after the cursor that a terminal may be found at."""


@dataclass(frozen=True)
class Cursor:
    """A place between the words of a question."""

    words: Mapping[int, Sequence[int]]
    """Terminal -> the words that offer it."""
    place: int = 0
    used: frozenset[int] = frozenset()
    """Words that were found already, as far as they are near."""

    @classmethod
    def of(cls, offers: Sequence[Sequence[int]]) -> Cursor:
        """The cursor before the first word."""
        words: dict[int, list[int]] = {}
        for at, terminals in enumerate(offers):
            for terminal in {*terminals}:
                if terminal >= 0:
                    words.setdefault(terminal, []).append(at)
        return cls(words)

    def moved(self, terminal: int) -> Cursor:
        """The cursor after a terminal: past the nearest word that offers it, never back."""
        near = [at for at in self.words.get(terminal, ()) if -BACK <= at - self.place <= AHEAD and at not in self.used]
        if not near:
            return self
        found = min(near, key=lambda at: abs(at - self.place))
        place = max(self.place, found + 1)
        used = frozenset(at for at in (*self.used, found) if at >= place - BACK)
        return Cursor(self.words, place, used)


def cursors(offers: Sequence[Sequence[int]], terminals: Sequence[int]) -> list[int]:
    """The place before each terminal of a sequence."""
    cursor, places = Cursor.of(offers), []
    for terminal in terminals:
        places.append(cursor.place)
        cursor = cursor.moved(terminal)
    return places
