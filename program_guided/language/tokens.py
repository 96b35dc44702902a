"""Programs as sequences of tokens, for models that read the text and get no pointer and no table.

Every word, bracket, comma, colon and keyword is a token; lines end with `newline`, and blocks are enclosed by `indent`
and `dedent`, so that nothing of the structure is lost. Named results are the tokens `result 0`, `result 1` and so on,
in the order of their definition.

    tokens = token_table(programs, domain, vocabulary)      # (programs, tokens) numbers, 0 for none
    tokens = tokens_of_routines(words)                      # (routines, tokens): each routine as a program of one line

Numbers from 1 on are `SYMBOLS`, after these the words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from program_guided.language.domain import Domain
from program_guided.language.syntax import Block, Call, If, Loop, Program, Ref, While, calls
from program_guided.language.vocabulary import NO_WORD, UNKNOWN, Vocabulary

__all__ = ["SYMBOL", "SYMBOLS", "token_table", "tokens_of", "tokens_of_routines"]

MAX_RESULTS = 26
SYMBOLS = (
    *("(", ")", ",", ":", "=", "if", "elif", "else", "while", "loop", "newline", "indent", "dedent"),
    *(f"result {number}" for number in range(MAX_RESULTS)),
)
"""Tokens that are no words of the domain."""
SYMBOL = {name: number for number, name in enumerate(SYMBOLS, start=1)}
"""The number of each."""


def token_table(programs: Sequence[Program], domain: Domain, vocabulary: Vocabulary) -> NDArray[np.int16]:
    """(programs, tokens), 0 beyond the end; wide enough for any program of one routine."""
    found = [tokens_of(program, domain, vocabulary) for program in programs]
    table = np.zeros((len(found), max(_width(domain.routine_width), *map(len, found), 1)), np.int16)
    for row, tokens in enumerate(found):
        table[row, : len(tokens)] = tokens
    return table


def tokens_of(program: Program, domain: Domain, vocabulary: Vocabulary) -> list[int]:
    """The tokens of a program."""
    unknown = vocabulary.index.get(UNKNOWN, NO_WORD)
    return [
        SYMBOL[token] if is_symbol else len(SYMBOLS) + vocabulary.index.get(token, unknown)
        for is_symbol, token in _Lines(program, domain).block(program.body)
    ]


def tokens_of_routines(words: NDArray[np.integer[Any]]) -> NDArray[np.int16]:
    """(routines, L) words -> (routines, tokens): `operation ( word , word ) newline`; 0 where there is no word."""
    tokens, given = np.zeros((len(words), _width(words.shape[1])), np.int16), words != NO_WORD
    numbers = np.where(given, words.astype(np.int16) + len(SYMBOLS), 0)
    tokens[:, 0], tokens[:, 1], tokens[:, 2:-2:2] = numbers[:, 0], SYMBOL["("], numbers[:, 1:]
    tokens[:, 3:-2:2] = np.where(given[:, 2:], SYMBOL[","], 0)
    tokens[:, -2:] = SYMBOL[")"], SYMBOL["newline"]
    return tokens


def _width(words: int) -> int:
    """Tokens of a program of one routine of `words` words."""
    return 3 + 2 * max(1, words - 1)


Token = tuple[bool, str]
"""Whether it is one of `SYMBOLS`, and its text."""


class _Lines:
    """The tokens of a program, line by line."""

    def __init__(self, program: Program, domain: Domain) -> None:
        self.domain, self._number = domain, count()
        every = list(calls(program.body))
        used = sorted({number for call in every for number in call.inputs})
        self._named = {number: f"result {rank % MAX_RESULTS}" for rank, number in enumerate(used)}

    def block(self, block: Block) -> Iterator[Token]:
        for node in block:
            if isinstance(node, Call):
                call, name = self._call(node)
                yield from (*([(True, name), (True, "=")] if name else []), *call, (True, "newline"))
            elif isinstance(node, If):
                for number, (condition, body) in enumerate(node.branches):
                    yield from self._nested("elif" if number else "if", self._call(condition)[0], body)
                if node.otherwise:
                    yield from self._nested("else", [], node.otherwise)
            elif isinstance(node, While):
                yield from self._nested("while", self._call(node.condition)[0], node.body)
            else:
                yield from self._nested("loop", _times(node), node.body)

    def _nested(self, keyword: str, opening: list[Token], body: Block) -> Iterator[Token]:
        yield from ((True, keyword), *opening, (True, ":"), (True, "newline"), (True, "indent"))
        yield from self.block(body)
        yield True, "dedent"

    def _call(self, call: Call) -> tuple[list[Token], str | None]:
        """The tokens of a call, and the name of its result, if it is used."""
        arguments = [self._argument(argument) for argument in call.arguments]
        operation = [word for word in self.domain.words_of(call)[: self.domain.operation_words] if word]
        tokens: list[Token] = [*((False, word) for word in operation), (True, "(")]
        for number, argument in enumerate(arguments):
            tokens += [*([(True, ",")] if number else []), *argument]
        return [*tokens, (True, ")")], self._named.get(next(self._number))

    def _argument(self, argument: object) -> list[Token]:
        if isinstance(argument, Call):
            return self._call(argument)[0]
        if isinstance(argument, Ref):
            return [(True, self._named[argument.number])]
        return [(False, str(argument))]


def _times(node: Loop) -> list[Token]:
    return [(True, "("), (False, str(node.times)), (True, ")")]
