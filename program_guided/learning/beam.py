"""Beam search for the most likely program of each of some questions.

    guesses, familiar = search(network, codec, [codec.lexicon.read("Is the bag red?")], beam=4)
    guesses[0][0].program, guesses[0][0].log_probability

A hypothesis is extended only by what the automaton of the language expects, so every one that ends is a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.derivation import State, Terminal
from program_guided.language.syntax import Program
from program_guided.learning.codec import Codec, Encoded, Sentence
from program_guided.learning.cursor import Cursor
from program_guided.models.translator import BEGINNING, Memory, Translator

__all__ = ["BEAM", "LENGTH_PENALTY", "Guess", "search"]

BEAM = 4
LENGTH_PENALTY = 0.6
"""Both as in the paper."""
MAX_LENGTH = (2, 24)
"""Terminals for each word of the longest question, and more."""
IMPOSSIBLE = -1e9
FORCED = -7.0
"""Log-probability of a terminal that only ends a program which is too long."""


@dataclass(frozen=True)
class Guess:
    """A program that a question may mean."""

    program: Program | None
    """None if the sequence is no program, without the constraint."""
    log_probability: float
    score: float
    """By which guesses are ordered: the log-probability over the length penalty."""


@dataclass
class _Hypothesis:
    numbers: list[int]
    log_probability: float
    cursor: Cursor
    state: State | None
    """State of the automaton; None without the constraint."""

    def score(self) -> float:
        return self.log_probability / ((5 + len(self.numbers)) / 6) ** LENGTH_PENALTY


@torch.no_grad()
def search(
    network: Translator,
    codec: Codec,
    sentences: Sequence[Sentence],
    beam: int = BEAM,
    constrained: bool = True,
) -> tuple[list[list[Guess]], list[float]]:
    """Guesses for each question, the best one first, and the probability that a program can answer it."""
    encoded = codec.encode(sentences)
    memory = network.encode(encoded.source)
    per_word, more = MAX_LENGTH
    max_length = per_word * memory.there.shape[1] + more
    ended = _Search(network, codec, encoded, memory, beam, constrained).run(max_length)
    guesses = [_guesses(codec, found, extra, beam) for found, extra in zip(ended, encoded.extra, strict=True)]
    return guesses, memory.familiar.sigmoid().tolist()


def _guesses(codec: Codec, found: list[_Hypothesis], extra: Sequence[object], beam: int) -> list[Guess]:
    best = sorted(found, key=lambda each: -each.score())[:beam]
    programs = [codec.program(each.numbers, extra) for each in best]  # type: ignore[arg-type]
    return [Guess(program, each.log_probability, each.score()) for program, each in zip(programs, best, strict=True)]


class _Search:
    """The hypotheses of some questions, extended together."""

    def __init__(
        self, network: Translator, codec: Codec, encoded: Encoded, memory: Memory, beam: int, constrained: bool
    ) -> None:
        self._network, self._codec, self._encoded, self._memory = network, codec, encoded, memory
        self._beam, self._constrained = beam, constrained
        self.ended: list[list[_Hypothesis]] = [[] for _ in encoded.extra]

    def run(self, max_length: int) -> list[list[_Hypothesis]]:
        """The hypotheses that have ended, of each question."""
        start = self._codec.grammar.start() if self._constrained else None
        offers = offers_of(self._encoded)
        alive = [[_Hypothesis([], 0.0, Cursor.of(each), start)] for each in offers]
        rows = torch.arange(len(alive))
        last, places = torch.full((len(alive), 1), BEGINNING), torch.zeros((len(alive), 1), dtype=torch.long)
        caches = self._network.caches(self._memory)
        for step in range(max_length):
            scores, caches = self._network.decode(_taken(self._memory, rows), last, places, caches, step)
            alive, parents = self._extended(alive, scores[:, 0])
            questions = [question for question, each in enumerate(alive) for _ in each]
            if not questions:
                break
            rows, taken = torch.tensor(questions), torch.tensor(parents)
            caches = [each.taken(taken) for each in caches]
            last = torch.tensor([[each.numbers[-1]] for some in alive for each in some])
            places = torch.tensor([[each.cursor.place] for some in alive for each in some])
        for question, some in enumerate(alive):
            if some and self._constrained and not self.ended[question]:
                self.ended[question] += self._completed(some[0], self._encoded.extra[question])
        return self.ended

    def _completed(self, hypothesis: _Hypothesis, extra: Sequence[Terminal]) -> list[_Hypothesis]:
        """A hypothesis that is too long, ended by the shortest way; none if it needs a phrase and there is none."""
        grammar, state = self._codec.grammar, hypothesis.state
        assert state is not None
        numbers, value = list(hypothesis.numbers), hypothesis.log_probability
        while state.stack:
            allowed = self._masks([replace(hypothesis, state=state)], len(self._codec.terminals) + len(extra))[0]
            places = np.flatnonzero(allowed)
            if not len(places):
                return []
            numbers.append(min(map(int, places), key=self._codec.closing))
            value += FORCED
            state = grammar.advance(state, self._codec.terminal(numbers[-1], extra))
        return [_Hypothesis(numbers, value, hypothesis.cursor, state)]

    def _extended(self, alive: list[list[_Hypothesis]], scores: Tensor) -> tuple[list[list[_Hypothesis]], list[int]]:
        """The best extensions of each question's hypotheses, and the rows that they extend."""
        flat = [each for some in alive for each in some]
        if self._constrained:
            scores = scores.masked_fill(~torch.from_numpy(self._masks(flat, scores.shape[1])), IMPOSSIBLE)
        values, numbers = scores.topk(min(2 * self._beam, scores.shape[1]), dim=1)
        likely, terminals = values.tolist(), numbers.tolist()
        after: list[list[_Hypothesis]] = []
        parents: list[int] = []
        first = 0
        for question, some in enumerate(alive):
            candidates = [
                (hypothesis.log_probability + value, row, number)
                for row, hypothesis in enumerate(some, first)
                for value, number in zip(likely[row], terminals[row], strict=True)
                if value > IMPOSSIBLE / 2
            ]
            kept, taken = self._kept(question, sorted(candidates, reverse=True)[: 2 * self._beam], flat)
            after.append(kept)
            parents += taken
            first += len(some)
        return after, parents

    def _kept(
        self, question: int, candidates: Sequence[tuple[float, int, int]], flat: Sequence[_Hypothesis]
    ) -> tuple[list[_Hypothesis], list[int]]:
        """Hypotheses that go on, and their rows; those that stop are put aside."""
        kept: list[_Hypothesis] = []
        rows: list[int] = []
        for value, row, number in candidates:
            parent = flat[row]
            longer = _Hypothesis([*parent.numbers, number], value, parent.cursor, parent.state)
            if number == self._codec.stop:
                self.ended[question].append(longer)
            elif len(kept) < self._beam:
                kept.append(longer)
                rows.append(row)
        if self._is_over(self.ended[question], kept):
            return [], []
        for each in kept:
            each.cursor = each.cursor.moved(each.numbers[-1])
        for each in kept if self._constrained else ():
            assert each.state is not None
            terminal = self._codec.terminal(each.numbers[-1], self._encoded.extra[question])
            each.state = self._codec.grammar.advance(each.state, terminal)
        return kept, rows

    def _is_over(self, ended: Sequence[_Hypothesis], alive: Sequence[_Hypothesis]) -> bool:
        """Whether enough have ended, and the best of them is now ahead of all that go on."""
        if not alive or not ended:
            return not alive
        best = max(each.score() for each in ended)
        return best > alive[0].score() and (len(ended) >= self._beam or alive[0].score() < best - MARGIN)

    def _masks(self, flat: Sequence[_Hypothesis], width: int) -> NDArray[np.bool_]:
        """Which terminals may come next, those without a number included."""
        numbered = len(self._codec.terminals)
        masks = np.empty((len(flat), width), np.bool_)
        for row, each in enumerate(flat):
            assert each.state is not None
            mask = self._codec.mask(self._codec.grammar.expected(each.state))
            masks[row, :numbered] = mask[:numbered]
            masks[row, numbered:] = mask[numbered]
        return masks


MARGIN = 4.0
"""Lead in score from which on others are no longer looked for."""


def offers_of(encoded: Encoded) -> list[list[list[int]]]:
    """Terminals that each word of each question offers."""
    return encoded.source.offers.tolist()


def _taken(memory: Memory, rows: Tensor) -> Memory:
    return Memory(*(each[rows] for each in memory))
