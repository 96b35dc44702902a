"""The syntax tree of a program: immutable, compared without regard to line numbers.

`if is_there[river]: mine(wood)` is

    Program((If(branches=((Call("is_there", ("river",)), (Call("mine", ("wood",)),)),)),))

and `n = count(gold)`, `less(carried(gold), n)` is

    Program((Call("count", ("gold",), "n"), Call("less", (Call("carried", ("gold",)), Ref(0)))))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

__all__ = [
    "Argument",
    "Block",
    "Call",
    "If",
    "Loop",
    "Node",
    "Program",
    "Ref",
    "While",
    "Word",
    "calls",
    "flatten",
    "map_calls",
]

Word = str | int
"""A word of the domain, a number, or free text, after checking."""


@dataclass(frozen=True)
class Ref:
    """The result of a call: its number from 0 in the order of `calls`."""

    number: int


@dataclass(frozen=True)
class Call:
    """A routine: an operation and its arguments, in the order of the operation's parameters."""

    operation: str
    arguments: tuple[Argument, ...] = ()
    result: str | None = None
    """The name of its result: `bag = select(bag)`."""
    line: int = field(default=0, compare=False)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The arguments that are words, in their order."""
        return tuple(argument for argument in self.arguments if isinstance(argument, str | int))

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The numbers of the calls whose results it takes by reference; nested calls have no number yet (`flatten`)."""
        return tuple(argument.number for argument in self.arguments if isinstance(argument, Ref))


Argument = Word | Ref | Call


@dataclass(frozen=True)
class If:
    """`if`, any number of `elif`, perhaps `else` (an empty block where there is none)."""

    branches: tuple[tuple[Call, Block], ...]
    otherwise: Block = ()


@dataclass(frozen=True)
class While:
    """`while`: the body as long as the condition is true."""

    condition: Call
    body: Block


@dataclass(frozen=True)
class Loop:
    """`loop(n)`: the body n times. It is no routine: nothing is decided there."""

    times: int
    body: Block


Node = Call | If | While | Loop
Block = tuple[Node, ...]


@dataclass(frozen=True)
class Program:
    """A whole program."""

    body: Block

    def _repr_html_(self) -> str:
        from program_guided.language.display import program_html

        return program_html(self)


def calls(block: Block) -> Iterator[Call]:
    """Every call below a block in reading order, conditions included, nested calls before the call that takes them."""
    for call in _statements(block):
        yield from _nested_first(call)


def flatten(body: Block) -> tuple[Call, ...]:
    """All calls of a whole program in the order of `calls`, each nested call replaced by a reference to it."""
    flat: list[Call] = []
    for call in _statements(body):
        _flatten(call, flat)
    return tuple(flat)


def map_calls(block: Block, change: Callable[[Call], Call]) -> Block:
    """The same block with every call changed, nested calls before the call that takes them."""
    return tuple(_mapped(node, change) for node in block)


def _statements(block: Block) -> Iterator[Call]:
    """Calls that are nested in no other call."""
    for node in block:
        if isinstance(node, Call):
            yield node
        elif isinstance(node, If):
            for condition, body in node.branches:
                yield condition
                yield from _statements(body)
            yield from _statements(node.otherwise)
        elif isinstance(node, While):
            yield node.condition
            yield from _statements(node.body)
        else:
            yield from _statements(node.body)


def _nested_first(call: Call) -> Iterator[Call]:
    for argument in call.arguments:
        if isinstance(argument, Call):
            yield from _nested_first(argument)
    yield call


def _flatten(call: Call, flat: list[Call]) -> Ref:
    arguments = tuple(_flatten(each, flat) if isinstance(each, Call) else each for each in call.arguments)
    flat.append(call if arguments == call.arguments else replace(call, arguments=arguments))
    return Ref(len(flat) - 1)


def _mapped(node: Node, change: Callable[[Call], Call]) -> Node:
    if isinstance(node, Call):
        return _changed(node, change)
    if isinstance(node, If):
        branches = tuple((_changed(condition, change), map_calls(body, change)) for condition, body in node.branches)
        return If(branches, map_calls(node.otherwise, change))
    if isinstance(node, While):
        return While(_changed(node.condition, change), map_calls(node.body, change))
    return Loop(node.times, map_calls(node.body, change))


def _changed(call: Call, change: Callable[[Call], Call]) -> Call:
    arguments = tuple(_changed(each, change) if isinstance(each, Call) else each for each in call.arguments)
    return change(call if arguments == call.arguments else replace(call, arguments=arguments))
