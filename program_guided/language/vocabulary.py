"""Words as numbers: the closed words of a domain, and the free text of given programs.

vocabulary = Vocabulary.of(DOMAIN, programs)
vocabulary.encode(table)                        (n, L) for the embedding of P^s
vocabulary.unknown_words(call, DOMAIN)          ["zeppelin"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from program_guided.language.domain import Domain
from program_guided.language.syntax import Call, Program, calls

if TYPE_CHECKING:
    from program_guided.language.table import RoutineTable

__all__ = ["NO_WORD", "UNKNOWN", "Vocabulary"]

NO_WORD = 0
UNKNOWN = "<unknown>"


@dataclass(frozen=True)
class Vocabulary:
    """Words by their number; 0 is no word. In domains with free text, 1 is any unknown word."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, domain: Domain, programs: Iterable[Program] = ()) -> Vocabulary:
        """The closed words of a domain, then the free text of programs in the order of frequency."""
        closed = domain.vocabulary
        if not domain.has_text:
            return cls(closed)
        counts = Counter(word for each in programs for call in calls(each.body) for word in domain.words_of(call))
        free = [word for word in counts if word not in domain.word_index]
        return cls((closed[0], UNKNOWN, *closed[1:], *sorted(free, key=lambda word: (-counts[word], word))))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, table: RoutineTable) -> NDArray[np.int64]:
        """(n, L) the words of a table's routines as numbers, 0 where there is none."""
        numbers = np.full((len(table), table.domain.routine_width), NO_WORD, np.int64)
        unknown = self.index.get(UNKNOWN, NO_WORD)
        for row, call in enumerate(table.calls):
            words = table.domain.words_of(call)
            numbers[row, : len(words)] = [self.index.get(word, unknown) for word in words]
        return numbers

    def unknown_words(self, call: Call, domain: Domain) -> list[str]:
        """The words of a call that have no number."""
        return [word for word in domain.words_of(call) if word not in self.index]
