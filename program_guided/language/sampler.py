"""Random programs of a given shape, over the operations and words of any domain.

    sample_program(UniformVocabulary(DOMAIN), Shape(routines=(3, 12), depth=2), random.Random(0))

A vocabulary draws calls one by one; an argument that it leaves `OPEN` becomes a nested call, or a reference to a call
that is always executed before.

Only `Random.random` is called, so that a seed gives the same program under every version of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, TypeVar

from program_guided.language.domain import ACTION, BOOLEAN, Choice, Domain, Input, Number, Operation, Parameter
from program_guided.language.syntax import Argument, Block, Call, If, Loop, Node, Program, Ref, While, Word

__all__ = ["OPEN", "CallSource", "Shape", "UniformVocabulary", "between", "heights", "pick", "sample_program"]

Item = TypeVar("Item")

OPEN = Ref(-1)
"""Placeholder of an argument that will be a result."""
REFERENCE_PROBABILITY = 0.6
"""Probability that an open argument refers to an earlier result, if there is one, instead of being a nested call."""
NAME_PROBABILITY = 0.5
"""Probability that a result is named without need."""
MAX_FREE_DEPTH = 2
"""Depth from which on nested calls are restricted to the operations that nest least."""


def between(random: Random, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return low + int(random.random() * (high - low + 1))


def pick(random: Random, items: Sequence[Item]) -> Item:
    """One of the items, uniformly."""
    return items[between(random, 0, len(items) - 1)]


@dataclass(frozen=True)
class Shape:
    """Distribution of the shapes of sampled programs."""

    routines: tuple[int, int]
    """Minimum and maximum number; `loop` bodies count once, nested calls not at all."""
    depth: int = 2
    """Maximum depth of nested blocks."""
    control: float = 0.4
    """Probability that a statement opens a block, where it can."""
    while_: float = 0.35
    """Share of `while` among the blocks, in sequential domains; there are none in others."""
    loop: float = 0.0
    else_: float = 0.4
    """Share of the ifs that have an else."""
    elif_: float = 0.0
    named_only: bool = False
    """Only named results are referred to; without, also those of nested calls and conditions, by number."""


class CallSource(Protocol):
    """Draws the calls of a program."""

    @property
    def domain(self) -> Domain: ...

    def behaviour(self, random: Random) -> Call: ...

    def condition(self, random: Random) -> Call: ...

    def repetition(self, random: Random) -> tuple[Call, Call]:
        """The condition of a `while`, and a behaviour that makes progress towards its end."""
        ...


@dataclass(frozen=True)
class UniformVocabulary:
    """Uniform distribution over operations and words; results are left open."""

    domain: Domain

    def behaviour(self, random: Random) -> Call:
        static = not self.domain.sequential
        return _draw(random, [row for row in self.domain.operations if static or row.output != BOOLEAN])

    def condition(self, random: Random) -> Call:
        return _draw(random, [row for row in self.domain.operations if row.output == BOOLEAN])

    def repetition(self, random: Random) -> tuple[Call, Call]:
        return self.condition(random), self.behaviour(random)


def sample_program(vocabulary: CallSource, shape: Shape, random: Random) -> Program:
    """One program."""
    body = _block(vocabulary, shape, random, between(random, *shape.routines), shape.depth)
    if vocabulary.domain.max_inputs:
        body = _Connection(vocabulary.domain, random, shape.named_only).block(body)
    return Program(body)


def _block(vocabulary: CallSource, shape: Shape, random: Random, routines: int, depth: int) -> Block:
    nodes: list[Node] = []
    while routines > 0:
        size = 1
        if routines >= 2 and depth > 0 and vocabulary.domain.has_conditions and random.random() < shape.control:
            size = between(random, 2, min(routines, 2 + 3 * depth))
            nodes.append(_control(vocabulary, shape, random, size, depth - 1))
        else:
            nodes.append(vocabulary.behaviour(random))
        routines -= size
    return tuple(nodes)


def _control(vocabulary: CallSource, shape: Shape, random: Random, size: int, depth: int) -> Node:
    """A block of `size` routines, its conditions included."""

    def block(routines: int) -> Block:
        return _block(vocabulary, shape, random, routines, depth)

    kind = random.random()
    while_ = shape.while_ if vocabulary.domain.sequential else 0.0
    if kind < while_:
        condition, progress = vocabulary.repetition(random)
        return While(condition, (progress, *block(size - 2)))
    if kind < while_ + shape.loop:
        return Loop(between(random, 1, 3), block(size))
    if size >= 4 and random.random() < shape.elif_:
        otherwise = int(size >= 5 and random.random() < shape.else_)
        first = between(random, 1, size - 3 - otherwise)
        branches = (
            (vocabulary.condition(random), block(first)),
            (vocabulary.condition(random), block(size - 2 - first - otherwise)),
        )
        return If(branches, block(1) if otherwise else ())
    if size >= 3 and random.random() < shape.else_:
        first = between(random, 1, size - 2)
        return If(((vocabulary.condition(random), block(first)),), block(size - 1 - first))
    return If(((vocabulary.condition(random), block(size - 1)),))


class _Connection:
    """Fills the open arguments of a program with results, and names results."""

    def __init__(self, domain: Domain, random: Random, named_only: bool = False) -> None:
        self.domain, self.random, self.named_only = domain, random, named_only
        self.number = 0
        self.certain: list[tuple[int, str]] = []
        """Number and result type of every call that is always executed before."""
        self.heights = heights(domain)

    def block(self, block: Block) -> Block:
        return tuple(self.node(node) for node in block)

    def node(self, node: Node) -> Node:
        if isinstance(node, Call):
            return self.statement(node)
        if isinstance(node, If):
            return self.if_(node)
        if isinstance(node, While):
            return While(self.condition(node.condition), self.optional(node.body))
        return Loop(node.times, self.block(node.body))

    def if_(self, node: If) -> If:
        branches, certain = [], 0
        for condition, body in node.branches:
            drawn = self.condition(condition)
            certain = certain or len(self.certain)
            branches.append((drawn, self.optional(body)))
        otherwise = self.optional(node.otherwise)
        del self.certain[certain:]
        return If(tuple(branches), otherwise)

    def optional(self, block: Block) -> Block:
        """A block that may not be executed."""
        certain = len(self.certain)
        connected = self.block(block)
        del self.certain[certain:]
        return connected

    def statement(self, call: Call) -> Call:
        connected = self.named(self.call(call))
        if self.named_only and not connected.result:
            self.certain.pop()
        return connected

    def condition(self, call: Call) -> Call:
        connected = self.call(call)
        if self.named_only:
            self.certain.pop()
        return connected

    def named(self, call: Call) -> Call:
        """A statement; its result is named if it would have no effect otherwise."""
        output = self.domain.operation(call.operation).output
        needed = self.domain.sequential and output != ACTION
        if call.result or not (needed or (output != ACTION and self.random.random() < NAME_PROBABILITY)):
            return call
        return replace(call, result=f"{call.operation}_{self.number}")

    def call(self, call: Call, depth: int = 0) -> Call:
        operation = self.domain.operation(call.operation)
        given = zip(operation.parameters, call.arguments, strict=True)
        arguments = tuple(self.argument(parameter, each, depth) for parameter, each in given)
        if depth == 0 or not self.named_only:
            self.certain.append((self.number, operation.output))
        self.number += 1
        return replace(call, arguments=arguments)

    def argument(self, parameter: Parameter, given: Argument, depth: int) -> Argument:
        if isinstance(given, Call):
            return self.call(given, depth + 1)
        return self.result(parameter.takes or "", depth) if given is OPEN else given

    def result(self, type: str, depth: int) -> Argument:
        known = [number for number, output in self.certain if output == type]
        operations = [row for row in self.domain.operations if row.output == type and row.name in self.heights]
        if known and (not operations or self.random.random() < REFERENCE_PROBABILITY):
            return Ref(pick(self.random, known))
        if not operations:
            raise ValueError(f"domain {self.domain.name}: no operation gives {type} without taking it")
        lowest = min(self.heights[row.name] for row in operations)
        shallow = [row for row in operations if depth < MAX_FREE_DEPTH or self.heights[row.name] == lowest]
        return self.call(_draw(self.random, shallow), depth + 1)


def heights(domain: Domain) -> dict[str, int]:
    """Minimum depth of nested calls of each operation that can be made of nested calls alone."""
    heights: dict[str, int] = {}
    for height in range(len(domain.operations)):
        known = {row.output for row in domain.operations if row.name in heights}
        ready = [row.name for row in domain.operations if row.name not in heights and known.issuperset(_needed(row))]
        heights |= dict.fromkeys(ready, height)
    return heights


def _needed(operation: Operation) -> list[str]:
    return [parameter.type for parameter in operation.parameters if isinstance(parameter, Input)]


def _draw(random: Random, operations: Sequence[Operation]) -> Call:
    operation = pick(random, operations)
    return Call(operation.name, tuple(_argument(random, parameter) for parameter in operation.parameters))


def _argument(random: Random, parameter: Parameter) -> Argument:
    """A word, or an open argument if a result is accepted; each with probability 1/2 if both are."""
    is_result = not parameter.is_word or (parameter.takes is not None and random.random() < 0.5)
    return OPEN if is_result else _word(random, parameter)


def _word(random: Random, parameter: Parameter) -> Word:
    if isinstance(parameter, Choice):
        return pick(random, parameter.words)
    if isinstance(parameter, Number):
        return between(random, parameter.low, parameter.high)
    return "something"
