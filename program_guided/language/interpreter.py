"""Reference interpreter: walks the syntax tree the plain way, loops and all. Slow, obvious, and independent of
the routine table, which the tests compare with it.

    for call in interpret(program, answer=lambda call: world.holds(call)): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from program_guided.language.syntax import Block, Call, If, Loop, Program, While

__all__ = ["interpret"]


def interpret(program: Program, answer: Callable[[Call], bool]) -> Iterator[Call]:
    """Yield the routines in the order of their execution; `answer` is asked once at each condition."""
    yield from _block(program.body, answer)


def _block(block: Block, answer: Callable[[Call], bool]) -> Iterator[Call]:
    for node in block:
        if isinstance(node, Call):
            yield node
        elif isinstance(node, Loop):
            for _ in range(node.times):
                yield from _block(node.body, answer)
        elif isinstance(node, While):
            yield node.condition
            while answer(node.condition):
                yield from _block(node.body, answer)
                yield node.condition
        elif isinstance(node, If):
            yield from _if(node, answer)


def _if(node: If, answer: Callable[[Call], bool]) -> Iterator[Call]:
    for condition, body in node.branches:
        yield condition
        if answer(condition):
            yield from _block(body, answer)
            return
    yield from _block(node.otherwise, answer)
