"""The syntax tree of a program: frozen, compared without regard to where it stood in the text.

    Program((If(branches=((Call("is_there", ("river",)), (Call("mine", ("wood",)),)),)),))

is `if is_there[river]: mine(wood)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Block", "Call", "If", "Loop", "Node", "Program", "While", "Word", "calls"]

Word = str | int
"""What an argument is after checking: a word of the domain, a number, or free text."""


@dataclass(frozen=True)
class Call:
    """A routine: an operation, its words, and (in graph programs) the routines it takes results from."""

    operation: str
    words: tuple[Word, ...] = ()
    inputs: tuple[int, ...] = ()
    """Numbers from 0 of the calls whose results it takes."""
    result: str | None = None
    """The name its result was given: `bag = select(bag)`."""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class If:
    """`if`, any number of `elif`, perhaps `else` (an empty block where there is none)."""

    branches: tuple[tuple[Call, Block], ...]
    otherwise: Block = ()


@dataclass(frozen=True)
class While:
    """`while`: the body as long as the condition is answered true."""

    condition: Call
    body: Block


@dataclass(frozen=True)
class Loop:
    """`loop(n)`: the body n times over. No routine of its own: nothing is decided there."""

    times: int
    body: Block


Node = Call | If | While | Loop
Block = tuple[Node, ...]


@dataclass(frozen=True)
class Program:
    """A whole program."""

    body: Block


def calls(block: Block) -> Iterator[Call]:
    """Every call below a block, conditions included, in reading order."""
    for node in block:
        if isinstance(node, Call):
            yield node
        elif isinstance(node, If):
            for condition, body in node.branches:
                yield condition
                yield from calls(body)
            yield from calls(node.otherwise)
        elif isinstance(node, While):
            yield node.condition
            yield from calls(node.body)
        else:
            yield from calls(node.body)
