"""Programs up to what does not matter: the order of operands that mean the same in either order, names and sharing.

signature(parse("and([1], [2])...")) == signature(parse("and([2], [1])..."))
in_order(program, domain, lexicon.read("Is the dog or the cat large?"))     operands as the question mentions them
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence

from program_guided.language.derivation import normal_form
from program_guided.language.domain import Domain
from program_guided.language.sentences import Word
from program_guided.language.syntax import Argument, Block, Call, If, Program, Ref, While, flatten

__all__ = ["in_order", "is_plain", "signature"]

Naming = Callable[[Call], str]


def signature(program: Program, domain: Domain, named: Naming | None = None) -> tuple[str, ...]:
    """Equal for two programs that differ in nothing that matters; `named`: what operations are called, their own names
    if left out."""
    named = named or _own_name
    if domain.sequential or not is_plain(program):
        return tuple(_Lines(domain, named).block(normal_form(program, domain).body))
    lines = _Lines(domain, named)
    digests: list[str] = []
    steps = flatten(program.body)
    for call in steps:
        digests.append(_digest(lines.call(call, digests)))
    taken = {number for call in steps for number in call.inputs}
    return tuple(each for number, each in enumerate(digests) if number not in taken)


def is_plain(program: Program) -> bool:
    """Whether there is no control flow in a program."""
    return all(isinstance(node, Call) for node in program.body)


def _own_name(call: Call) -> str:
    return call.operation


class _Lines:
    """Calls and blocks as texts, operands sorted where their order does not matter."""

    def __init__(self, domain: Domain, named: Naming) -> None:
        self._domain, self._named = domain, named

    def block(self, block: Block) -> Iterator[str]:
        for node in block:
            if isinstance(node, Call):
                yield self.call(node)
            elif isinstance(node, If):
                for condition, body in node.branches:
                    yield from ("if", self.call(condition), *self.block(body), "end")
                yield from ("else", *self.block(node.otherwise), "end")
            else:
                opening = self.call(node.condition) if isinstance(node, While) else str(node.times)
                yield from (type(node).__name__, opening, *self.block(node.body), "end")

    def call(self, call: Call, digests: Sequence[str] | None = None) -> str:
        arguments = [self._argument(each, digests) for each in call.arguments]
        for one, other in self._domain.operation(call.operation).unordered:
            arguments[one], arguments[other] = sorted((arguments[one], arguments[other]))
        return f"{self._named(call)}({', '.join(arguments)})"

    def _argument(self, argument: Argument, digests: Sequence[str] | None) -> str:
        if isinstance(argument, Call):
            return self.call(argument, digests)
        if isinstance(argument, Ref):
            return f"[{argument.number}]" if digests is None else digests[argument.number]
        return repr(argument)


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()


def in_order(program: Program, domain: Domain, sentence: Sequence[Word]) -> Program:
    """The normal form, operands that mean the same in either order as the sentence mentions them: alphabetical order
    cannot be learned for words that were never seen."""
    if domain.sequential or not is_plain(program):
        return normal_form(program, domain)
    first: dict[str, int] = {}
    for at, word in enumerate(sentence):
        for form in (*word.forms, *word.text.split()):
            first.setdefault(form, at)
    flat = flatten(program.body)
    mentioned: list[frozenset[int]] = []
    ordered: list[Call] = []
    for call in flat:
        places = [_places(each, first, mentioned) for each in call.arguments]
        arguments = list(call.arguments)
        for one, other in domain.operation(call.operation).unordered:
            if _key(places[one], places[other]) > _key(places[other], places[one]):
                arguments[one], arguments[other] = arguments[other], arguments[one]
        mentioned.append(frozenset().union(*places))
        ordered.append(Call(call.operation, tuple(arguments)))
    return normal_form(Program(tuple(ordered)), domain)


def _places(argument: Argument, first: dict[str, int], mentioned: Sequence[frozenset[int]]) -> frozenset[int]:
    """Places of a sentence that mention an argument."""
    if isinstance(argument, Ref):
        return mentioned[argument.number]
    text = str(argument)
    place = first.get(text, next((first[word] for word in text.split() if word in first), None))
    return frozenset() if place is None else frozenset({place})


def _key(own: frozenset[int], others: frozenset[int]) -> float:
    """The mean place of what is mentioned of one operand and not of the other; the end if nothing is."""
    left = own - others
    return sum(left) / len(left) if left else math.inf
