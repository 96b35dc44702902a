"""Reference interpreter: executes the syntax tree directly, loops included. Slow, simple, and independent of
the routine table, which tests compare with it.

    for call, inputs, value in interpret(program, execute=lambda call, inputs: world.execute(call, inputs)): ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from program_guided.language.syntax import Block, Call, If, Loop, Node, Program, Ref, While, calls

__all__ = ["Execute", "Executed", "interpret"]

Execute = Callable[[Call, tuple[Any, ...]], Any]
"""Function of a call and the values of its inputs; returns the value of the call."""
Executed = tuple[Call, tuple[Any, ...], Any]
"""A call, the values of its inputs, and its own value."""


def interpret(program: Program, execute: Execute) -> Iterator[Executed]:
    """Execute a program and yield its calls in the order of their execution, nested calls first.

    `execute` is given a call and the values of its inputs, in the order of its parameters. A condition holds if its
    value is true.
    """
    yield from _Interpreter(execute).block(program.body, 0)


class _Interpreter:
    """`values` holds the latest value of each call, by its number in the order of `calls`. The argument `first` of a
    method is the number of the first call below the node that it executes."""

    def __init__(self, execute: Execute) -> None:
        self.execute = execute
        self.values: dict[int, Any] = {}

    def block(self, block: Block, first: int) -> Iterator[Executed]:
        for node in block:
            yield from self.node(node, first)
            first += _size(node)

    def node(self, node: Node, first: int) -> Iterator[Executed]:
        if isinstance(node, Call):
            yield from self.call(node, first)
        elif isinstance(node, Loop):
            for _ in range(node.times):
                yield from self.block(node.body, first)
        elif isinstance(node, While):
            while (yield from self.call(node.condition, first)):
                yield from self.block(node.body, first + _size(node.condition))
        else:
            yield from self.if_(node, first)

    def if_(self, node: If, first: int) -> Iterator[Executed]:
        for condition, body in node.branches:
            value = yield from self.call(condition, first)
            first += _size(condition)
            if value:
                yield from self.block(body, first)
                return
            first += sum(map(_size, body))
        yield from self.block(node.otherwise, first)

    def call(self, call: Call, first: int) -> Generator[Executed, None, Any]:
        """Execute a call and return its value."""
        inputs: list[Any] = []
        for argument in call.arguments:
            if isinstance(argument, Call):
                inputs.append((yield from self.call(argument, first)))
                first += _size(argument)
            elif isinstance(argument, Ref):
                inputs.append(self.values[argument.number])
        value = self.values[first] = self.execute(call, tuple(inputs))
        yield call, tuple(inputs), value
        return value


def _size(node: Node) -> int:
    """Number of calls in a node."""
    return sum(1 for _ in calls((node,)))
