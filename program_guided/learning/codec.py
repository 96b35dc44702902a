"""Questions and programs as numbers: the vocabularies of a parser, which travel in its checkpoint.

codec = Codec.of(domain, lexicon, pairs)
encoded = codec.encode([lexicon.read("Is the bag red?")])       encoded.source goes to the translator
numbers = codec.targets(codec.derivation(program, sentence), encoded.extra[0])
program = codec.program(numbers, encoded.extra[0])
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from program_guided.errors import DataError
from program_guided.language.comparison import in_order
from program_guided.language.derivation import END, STOP, Expected, Grammar, Terminal, unwrapped
from program_guided.language.domain import Domain, Number, Text
from program_guided.language.sentences import FORMS, Lexicon, Word
from program_guided.language.syntax import Call, Program, calls
from program_guided.models.translator import PADDING, Source, Vocabularies

__all__ = ["Codec", "Encoded", "Pair", "Sentence", "checked", "padded_length"]

UNKNOWN = 1
FREQUENT_WORD, FREQUENT_PHRASE = 2, 3
"""Occurrences from which on a word of questions, and a phrase of programs, has a number of its own."""
MAX_TAGS = 4
ROUND = 16
"""Lengths of batches are multiples of this."""
CLOSING = (STOP, END)
"""Terminals that end something, the best first."""
Sentence = tuple[Word, ...]


class Pair(NamedTuple):
    """A question and its program."""

    question: str
    program: Program
    group: str = ""
    """Questions of a group, such as a picture, are held out together."""


class Encoded(NamedTuple):
    """Questions as numbers."""

    source: Source
    extra: list[list[Terminal]]
    """For each question, the terminals that it offers and that have no number of their own."""


@dataclass(frozen=True)
class Codec:
    """The vocabularies of a parser."""

    domain: Domain
    lexicon: Lexicon
    words: tuple[str, ...]
    """Words of questions; the first two are padding and any unknown word."""
    tags: tuple[str, ...]
    phrases: tuple[str, ...]
    """Phrases of programs that can be generated: frequent ones, and such as once stood in no question."""

    @classmethod
    def of(cls, domain: Domain, lexicon: Lexicon, pairs: Sequence[Pair]) -> Codec:
        """The vocabularies of some pairs; phrases of their programs join the lexicon."""
        texts = dict.fromkeys(text for pair in pairs for text in _texts(pair.program, domain))
        every = lexicon.joined(Lexicon.of([text for text in texts if " " in text]))
        sentences = [every.read(pair.question) for pair in pairs]
        counts = Counter(form for each in sentences for word in each for form in {word.text, word.forms[-1]})
        words = sorted(word for word, count in counts.items() if count >= FREQUENT_WORD)
        tags = sorted({tag for each in every.tags.values() for tag in each})
        phrases: Counter[str] = Counter()
        for pair, sentence in zip(pairs, sentences, strict=True):
            offered = {form for word in sentence for form in word.forms}
            for text in _texts(pair.program, domain):
                phrases.update({each: 1 if each in offered else FREQUENT_PHRASE for each in every.divide(text)})
        frequent = sorted(phrase for phrase, count in phrases.items() if count >= FREQUENT_PHRASE)
        return cls(domain, every, ("", "<unknown>", *words), ("", *tags), tuple(frequent))

    def as_dict(self) -> dict[str, Any]:
        """JSON, for a checkpoint."""
        vocabularies = {"words": self.words, "tags": self.tags, "phrases": self.phrases}
        return {"lexicon": self.lexicon.as_dict(), **{name: list(each) for name, each in vocabularies.items()}}

    @classmethod
    def from_dict(cls, domain: Domain, record: Mapping[str, Any]) -> Codec:
        vocabularies = (tuple(map(str, record[name])) for name in ("words", "tags", "phrases"))
        return cls(domain, Lexicon.from_dict(record["lexicon"]), *vocabularies)

    def digest(self, pairs: Sequence[Pair]) -> str:
        """Identify questions, programs and what is known of words."""
        text = json.dumps([[pair.question, repr(pair.program)] for pair in pairs])
        return hashlib.sha256((text + json.dumps(self.as_dict())).encode("utf-8")).hexdigest()[:16]

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(self.domain)

    @cached_property
    def terminals(self) -> tuple[Terminal, ...]:
        return (*self.grammar.terminals, *(Terminal("phrase", phrase) for phrase in self.phrases))

    @cached_property
    def index(self) -> dict[Terminal, int]:
        return {terminal: number for number, terminal in enumerate(self.terminals)}

    @property
    def stop(self) -> int:
        return self.index[STOP]

    @property
    def sizes(self) -> Vocabularies:
        return Vocabularies(len(self.words), len(self.tags), len(self.terminals))

    @cached_property
    def _words(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _tags(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tags)}

    @cached_property
    def _has_numbers(self) -> bool:
        return any(isinstance(each, Number) for each in self.grammar.parameters)

    def knows(self, word: Word) -> bool:
        """Whether a word was met in training, or is known otherwise."""
        return any(form in self._words or form in self.lexicon for form in word.forms)

    def terminal_of(self, form: str) -> Terminal | None:
        """The terminal that a form of a word offers."""
        if form.isdigit() and form.isascii() and self._has_numbers:
            return Terminal("number", form)
        if self.domain.has_text:
            return Terminal("phrase", form) if any(map(str.isalnum, form)) else None
        return Terminal("word", form)

    def encode(self, sentences: Sequence[Sentence]) -> Encoded:
        """Sentences as tensors, padded."""
        width = padded_length(max(map(len, sentences)))
        shape = (len(sentences), width)
        words, canonical = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        tags = np.zeros((*shape, MAX_TAGS), np.int64)
        offers = np.full((*shape, len(FORMS)), PADDING, np.int64)
        extra, places = [], []
        for row, sentence in enumerate(sentences):
            found: dict[Terminal, int] = {}
            for at, word in enumerate(sentence):
                words[row, at] = self._words.get(word.text, UNKNOWN)
                canonical[row, at] = self._words.get(word.forms[-1], UNKNOWN)
                known = [self._tags[tag] for tag in word.tags[:MAX_TAGS] if tag in self._tags]
                tags[row, at, : len(known)] = known
                offers[row, at] = [self._offer(form, at, found) for form in word.forms]
            extra.append(list(found))
            places.append(list(found.values()))
        source = Source(*map(torch.from_numpy, (words, canonical, tags, offers, _padded(places))))
        return Encoded(source, extra)

    def _offer(self, form: str, at: int, found: dict[Terminal, int]) -> int:
        terminal = self.terminal_of(form)
        if terminal is None or (terminal.kind != "phrase" and terminal not in self.index):
            return PADDING
        if terminal in self.index:
            return self.index[terminal]
        found.setdefault(terminal, at)
        return len(self.terminals) + list(found).index(terminal)

    def derivation(self, program: Program, sentence: Sentence) -> list[Terminal]:
        """The terminals of a program, operands in the question's order."""
        return self.grammar.derive(in_order(program, self.domain, sentence), self.lexicon.divide)

    def targets(self, derivation: Sequence[Terminal], extra: Sequence[Terminal]) -> list[int]:
        """Numbers of terminals; `PADDING` for one that can be neither generated nor copied."""
        own = {terminal: len(self.terminals) + at for at, terminal in enumerate(extra)}
        return [self.index.get(terminal, own.get(terminal, PADDING)) for terminal in derivation]

    def terminal(self, number: int, extra: Sequence[Terminal]) -> Terminal:
        """The terminal of a number."""
        return self.terminals[number] if number < len(self.terminals) else extra[number - len(self.terminals)]

    def program(self, numbers: Sequence[int], extra: Sequence[Terminal]) -> Program | None:
        """The program of a sequence; None if it is none."""
        sequence = [self.terminal(number, extra) for number in numbers]
        state = self.grammar.start()
        for terminal in sequence:
            if not state.stack or not self.grammar.accepts(self.grammar.expected(state), terminal):
                return None
            state = self.grammar.advance(state, terminal)
        return None if state.stack else self.grammar.program(sequence)

    def closing(self, number: int) -> int:
        """Rank of a terminal by how soon a program ends with it."""
        if number >= len(self.terminals):
            return len(CLOSING)
        terminal = self.terminals[number]
        if terminal.kind == "operation":
            return len(CLOSING) + 1 + self.grammar.heights.get(terminal.text, 0)
        return CLOSING.index(terminal) if terminal in CLOSING else len(CLOSING) + (terminal.kind == "keyword") * 100

    def mask(self, expected: Expected) -> NDArray[np.bool_]:
        """Which terminals may come next; the last one stands for all phrases without a number."""
        if expected not in self._masks:
            further = Terminal("phrase", "")
            accepted = [self.grammar.accepts(expected, each) for each in (*self.terminals, further)]
            self._masks[expected] = np.array(accepted)
        return self._masks[expected]

    @cached_property
    def _masks(self) -> dict[Expected, NDArray[np.bool_]]:
        return {}


def _texts(program: Program, domain: Domain) -> list[str]:
    """The free texts of a program, without what is wrapped around them."""
    return [text for call in calls(program.body) for text in _of_call(call, domain)] if domain.has_text else []


def _of_call(call: Call, domain: Domain) -> Iterator[str]:
    for parameter, argument in zip(domain.operation(call.operation).parameters, call.arguments, strict=True):
        if isinstance(parameter, Text):
            yield unwrapped(parameter, str(argument))[1]


def padded_length(length: int) -> int:
    """Length of a batch of sequences: one of few, since matrix products of a new shape must be compiled."""
    return -(-max(1, length) // ROUND) * ROUND


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    padded = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return padded


def checked(pairs: Iterable[Sequence[Any]], parse: Any) -> list[Pair]:
    """Pairs as a task gives them, programs parsed."""
    found = []
    for number, given in enumerate(pairs):
        if not (isinstance(given, Sequence) and 2 <= len(given) <= 3 and isinstance(given[0], str)):
            raise DataError(f"question {number}: expected (question, program) or (question, program, group)")
        question, program, *group = given
        program = parse(program, f"program of question {number}") if isinstance(program, str) else program
        found.append(Pair(question, program, str(group[0]) if group else str(number)))
    return found
