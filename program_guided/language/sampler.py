"""Random programs of a wanted shape, in the words of any domain.

    sample_program(UniformVocabulary(DOMAIN), Shape(routines=(3, 12), depth=2), random.Random(0))

Only `Random.random` is drawn from, so that a seed gives the same program under every version of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeVar

from program_guided.language.domain import BOOLEAN, Choice, Domain, Number, Operation, Parameter
from program_guided.language.syntax import Block, Call, If, Loop, Node, Program, While, Word

__all__ = ["Shape", "UniformVocabulary", "Vocabulary", "between", "pick", "sample_program"]

Item = TypeVar("Item")


def between(random: Random, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return low + int(random.random() * (high - low + 1))


def pick(random: Random, items: Sequence[Item]) -> Item:
    """One of the items, all alike."""
    return items[between(random, 0, len(items) - 1)]


@dataclass(frozen=True)
class Shape:
    """What a sampled program looks like."""

    routines: tuple[int, int]
    """Fewest and most; `loop` bodies count once."""
    depth: int = 2
    """How deep blocks are nested."""
    control: float = 0.4
    """How often a statement opens a block, where it can."""
    while_: float = 0.35
    """Of the blocks, how many repeat by a condition."""
    loop: float = 0.0
    else_: float = 0.4
    """Of the ifs, how many have an else."""
    elif_: float = 0.0


class Vocabulary(Protocol):
    """Draws the calls of a program."""

    def behaviour(self, random: Random) -> Call: ...

    def condition(self, random: Random) -> Call: ...

    def repetition(self, random: Random) -> tuple[Call, Call]:
        """A condition to repeat by, and a behaviour that brings its end nearer."""
        ...


@dataclass(frozen=True)
class UniformVocabulary:
    """Any operation with any words, all alike."""

    domain: Domain

    def behaviour(self, random: Random) -> Call:
        return self._call(random, [row for row in self.domain.operations if row.output != BOOLEAN])

    def condition(self, random: Random) -> Call:
        return self._call(random, [row for row in self.domain.operations if row.output == BOOLEAN])

    def repetition(self, random: Random) -> tuple[Call, Call]:
        return self.condition(random), self.behaviour(random)

    def _call(self, random: Random, operations: Sequence[Operation]) -> Call:
        operation = pick(random, operations)
        return Call(operation.name, tuple(_word(random, parameter) for parameter in operation.parameters))


def sample_program(vocabulary: Vocabulary, shape: Shape, random: Random) -> Program:
    """One program."""
    return Program(_block(vocabulary, shape, random, between(random, *shape.routines), shape.depth))


def _block(vocabulary: Vocabulary, shape: Shape, random: Random, routines: int, depth: int) -> Block:
    nodes: list[Node] = []
    while routines > 0:
        size = 1
        if routines >= 2 and depth > 0 and random.random() < shape.control:
            size = between(random, 2, min(routines, 2 + 3 * depth))
            nodes.append(_control(vocabulary, shape, random, size, depth - 1))
        else:
            nodes.append(vocabulary.behaviour(random))
        routines -= size
    return tuple(nodes)


def _control(vocabulary: Vocabulary, shape: Shape, random: Random, size: int, depth: int) -> Node:
    """A block of `size` routines, its conditions included."""

    def block(routines: int) -> Block:
        return _block(vocabulary, shape, random, routines, depth)

    kind = random.random()
    if kind < shape.while_:
        condition, progress = vocabulary.repetition(random)
        return While(condition, (progress, *block(size - 2)))
    if kind < shape.while_ + shape.loop:
        return Loop(between(random, 1, 3), block(size))
    if size >= 4 and random.random() < shape.elif_:
        first = between(random, 1, size - 3)
        branches = (
            (vocabulary.condition(random), block(first)),
            (vocabulary.condition(random), block(size - 2 - first)),
        )
        return If(branches, block(1) if random.random() < shape.else_ else ())
    if size >= 3 and random.random() < shape.else_:
        first = between(random, 1, size - 2)
        return If(((vocabulary.condition(random), block(first)),), block(size - 1 - first))
    return If(((vocabulary.condition(random), block(size - 1)),))


def _word(random: Random, parameter: Parameter) -> Word:
    if isinstance(parameter, Choice):
        return pick(random, parameter.words)
    if isinstance(parameter, Number):
        return between(random, parameter.low, parameter.high)
    return "something"
