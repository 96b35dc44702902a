"""Programs about lists of numbers: a task in one file.

proto train examples/lists.py
proto evaluate out/lists-dense-plus-0 --breakdown
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Annotated

from program_guided import Objects, Range, Task, operation, readers

Digit = Annotated[int, Range(0, 9)]


class Lists(Task):
    """A list of up to eight digits, and programs that select, count and compare."""

    name, version = "lists", 1
    reader = readers.Sequence(values=10)

    def encode(self, numbers: Sequence[int]) -> dict[str, Sequence[int]]:
        return {"items": numbers}

    def examples(self, split: str) -> Iterator[tuple[str, list[int]]]:
        source = random.Random(f"lists {split}")
        for _ in range({"train": 1000, "test": 200}[split]):
            numbers = [source.randrange(10) for _ in range(source.randint(2, 8))]
            for _ in range(4):
                yield program(source), numbers

    @operation
    def everything(self, numbers: Sequence[int]) -> Objects:
        return range(len(numbers))

    @operation
    def above(self, numbers: Sequence[int], some: Objects, limit: Digit) -> Objects:
        return [place for place in some if numbers[place] > limit]

    @operation
    def maximum(self, numbers: Sequence[int], some: Objects) -> Digit:
        return max((numbers[place] for place in some), default=0)

    @operation
    def minimum(self, numbers: Sequence[int], some: Objects) -> Digit:
        return min((numbers[place] for place in some), default=0)

    @operation
    def count(self, numbers: Sequence[int], some: Objects) -> Digit:
        return len(list(some))

    @operation
    def greater(self, numbers: Sequence[int], a: Digit, b: Digit) -> bool:
        return a > b

    @operation
    def equal(self, numbers: Sequence[int], a: Digit, b: Digit) -> bool:
        return a == b


def program(source: random.Random) -> str:
    """A number, or a comparison of two; sometimes which of two is asked depends on a condition."""
    kind = source.random()
    if kind < 0.4:
        return number(source)
    comparison = f"{source.choice(('greater', 'equal'))}({number(source)}, {number(source)})"
    return comparison if kind < 0.8 else f"if {comparison}:\n  {number(source)}\nelse:\n  {number(source)}"


def number(source: random.Random) -> str:
    """An operation that gives a number, of all items or of those above a limit, which may be such a number itself."""
    limit = str(source.randrange(9)) if source.random() < 0.8 else f"{pick(source)}(everything())"
    return f"{pick(source)}({source.choice(('everything()', f'above(everything(), {limit})'))})"


def pick(source: random.Random) -> str:
    """An operation that gives a number."""
    return source.choice(("maximum", "minimum", "count"))
