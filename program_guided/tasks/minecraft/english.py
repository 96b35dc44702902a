"""Programs of the world in English: several ways to say each construct, drawn by chance.

    say(parse("if is_there[river]:\\n  mine(wood)\\n  build_bridge()", DOMAIN), Random(0))
    "If there is a river, mine a wood and build a bridge."

A sentence says its program without ambiguity: a body of plain statements ends with its sentence, any other body stands
between "do the following:" and "That is all.", and "Otherwise" belongs to the last `if` of the same level.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random

from program_guided.errors import DataError
from program_guided.language.parser import parse
from program_guided.language.sampler import Shape, between, pick, sample_program
from program_guided.language.syntax import Argument, Block, Call, If, Loop, Program, Ref, While, calls
from program_guided.tasks.minecraft.domain import DEFAULT_SIDES, DOMAIN, LARGEST_SIDE
from program_guided.tasks.minecraft.sampler import DataFlowVocabulary, MinecraftVocabulary
from program_guided.tasks.minecraft.splits import load_split

__all__ = ["by_hand", "rephrase", "say"]

BY_HAND = Path(__file__).with_name("by_hand.jsonl")
MASS = ("gold", "wood", "iron", "silver", "flat")
"""Things that are not counted in the plural."""
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
BEHAVIOURS = {
    "mine": ("mine {a}", "mine {a}", "get {a}", "collect {a}", "take {a}", "dig up {a}", "pick up {a}", "fetch {a}"),
    "sell": ("sell {a}", "sell {a}", "sell {a} to the merchant", "trade {a}", "sell {a} to a merchant"),
    "goto": ("go to {at}", "go to {at}", "walk to {at}", "move to {at}", "head to {at}"),
    "place": ("place {a} at {at}", "put {a} at {at}", "put {a} in {at}", "drop {a} at {at}", "set {a} down at {at}"),
    "build_bridge": ("build a bridge", "build a bridge", "make a bridge", "construct a bridge", "bridge the river"),
}
PLACES = ("({x}, {y})", "column {x}, row {y}", "column {x} and row {y}", "{x}, {y}", "x {x} and y {y}", "cell {x} {y}")
COMPARED = {
    "<": ("fewer than {n}", "less than {n}", "under {n}"),
    "<=": ("at most {n}", "no more than {n}", "up to {n}"),
    "==": ("exactly {n}", "precisely {n}"),
    ">": ("more than {n}", "over {n}"),
    ">=": ("at least {n}", "no fewer than {n}", "{n} or more"),
}
INVERSE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""Comparison -> the one that holds when it does not."""
CARRYING = ("you carry {}", "you have {}", "you hold {}", "your inventory has {}", "you are carrying {}")
ON_MAP = ("there are {} on the map", "the map has {}", "there are {} in the world", "the world has {}")
PRESENT = ("there is {}", "there is {} on the map", "the map has {}", "you can see {}", "you see {}")
ABSENT = ("there is no {}", "there is no {} on the map", "the map has no {}", "there is no {} left")
NUMBER_OF = {
    "count": ("the number of {} on the map", "the amount of {} on the map", "how many {} are on the map"),
    "carried": ("the number of {} that you carry", "the amount of {} you carry", "how many {} you have"),
}
ASSIGNED = ("let {name} be {number}", "call {number} {name}", "remember {number} as {name}")
BETWEEN = {
    "greater": ("is greater than", "is more than", "is larger than", "exceeds"),
    "less": ("is less than", "is smaller than", "is below"),
    "equal": ("equals", "is equal to", "is the same as"),
}
WHILE, IF = ("while", "while", "as long as", "so long as"), ("if", "if", "if", "when", "in case")
FOLLOWING = ("do the following:", "do this:", "follow these steps:")
DONE = ("That is all.", "That ends it.", "End of that.")
OTHERWISE = ("otherwise", "otherwise", "else", "if not")
NEXT = ("then ", "then ", "after that, ", "next, ", "now ", "", "", "", "", "", "", "")
SHAPES_OF_PRACTICE = (
    Shape(routines=(1, 3), depth=1, control=0.6, loop=0.15),
    Shape(routines=(2, 7), depth=2, control=0.6, loop=0.1, elif_=0.15),
    Shape(routines=(2, 14), depth=3, control=0.6),
    Shape(routines=(3, 10), depth=2, control=0.5),
)
"""Shapes of the programs that a parser is trained on besides those of train."""
SAMPLED = 0.6
"""Their share."""
PRACTISED = (
    partial(MinecraftVocabulary, LARGEST_SIDE, (0, 12)),
    partial(MinecraftVocabulary, DEFAULT_SIDES[1]),
    partial(DataFlowVocabulary, DEFAULT_SIDES[1]),
)
MEASURED = ("test", "longer", "complex", "test-complex", "data-flow")
ALPHABETS = ("abcdefghijklmnopq", "xyzuvwabcdefghijk", "nmkpqrstuvwxyzabc")


def say(program: Program, random: Random) -> str:
    """The program in English; `DataError` if it refers to a result that has no name."""
    return _Speaker(program, random).text


@cache
def by_hand() -> tuple[tuple[str, Program], ...]:
    """Sentences that were written by hand, not from the templates, with their programs."""
    lines = BY_HAND.read_text("utf-8").splitlines()
    return tuple((record["question"], parse(record["program"], DOMAIN)) for record in map(json.loads, lines))


def rephrase(program: Program, random: Random) -> tuple[str, Program]:
    """A sentence for the program, or for a sampled one that is in no split to measure on."""
    if random.random() < SAMPLED:
        vocabulary, shape = PRACTISED[between(random, 0, 2)](), pick(random, SHAPES_OF_PRACTICE)
        sampled = sample_program(vocabulary, replace(shape, named_only=True), random)
        program = program if sampled in _measured() else sampled
    return say(program, random), program


@cache
def _measured() -> frozenset[Program]:
    return frozenset(entry.program for split in MEASURED for entry in load_split(split))


class _Speaker:
    """Says one program."""

    def __init__(self, program: Program, random: Random) -> None:
        self._random = random
        names = pick(random, ALPHABETS)
        named = [number for number, call in enumerate(calls(program.body)) if call.result]
        if len(named) > len(names):
            raise DataError(f"the program has more than {len(names)} named results, so no sentence")
        self._names = dict(zip(named, names, strict=False))
        self._calls = 0
        self.text = " ".join(self._sentences(program.body))

    def _pick(self, ways: Sequence[str]) -> str:
        return pick(self._random, ways)

    def _sentences(self, block: Block) -> Iterator[str]:
        """A sentence for each control structure, and for runs of plain statements."""
        run: list[str] = []
        openings = chain([""], iter(lambda: self._pick(NEXT), None))
        for node in block:
            if isinstance(node, Call):
                run.append(self._statement(node))
                if self._random.random() < 0.6:
                    continue
            if run:
                yield _sentence(f"{next(openings)}{self._listed(run)}.")
                run = []
            if not isinstance(node, Call):
                yield from self._control(node, next(openings))
        if run:
            yield _sentence(f"{next(openings)}{self._listed(run)}.")

    def _listed(self, statements: Sequence[str]) -> str:
        """`a, b and c`, or `a, then b, then c`."""
        if len(statements) == 1:
            return statements[0]
        if self._random.random() < 0.3:
            return ", then ".join(statements)
        last = self._pick((" and ", ", and ", " and then "))
        return f"{', '.join(statements[:-1])}{last}{statements[-1]}"

    def _control(self, node: If | While | Loop, opening: str, inner: bool = False) -> Iterator[str]:
        """`inner`: within the sentence of another, so that the condition must come first."""
        if isinstance(node, If):
            yield from self._if(node, opening, inner)
        elif isinstance(node, While):
            yield from self._while(node, opening, inner)
        else:
            times = f"{opening}{self._pick(('repeat {} times', 'do {} times', 'do it {} times'))}"
            yield from self._body(times.format(self._number(node.times)) + ":", node.body, ":")

    def _if(self, node: If, opening: str, inner: bool) -> Iterator[str]:
        (condition, body), *others = node.branches
        said = self._condition(condition)
        if _is_one(body) and not (inner or others) and self._random.random() < 0.2:
            yield _sentence(f"{opening}{self._listed(self._statements(body))} if {said}.")
        else:
            alone = not others and not node.otherwise
            yield from self._body(f"{opening}{self._pick(IF)} {said},", body, alone=alone)
        for condition, body in others:
            yield from self._body(f"{self._pick(OTHERWISE[:3])}, if {self._condition(condition)},", body)
        if node.otherwise:
            yield from self._body(f"{self._pick(OTHERWISE)},", node.otherwise)

    def _while(self, node: While, opening: str, inner: bool) -> Iterator[str]:
        if self._everything(node) and not inner and self._random.random() < 0.5:
            self._calls += 2
            all_of = self._pick(("all the {}", "all of the {}", "every {}"))
            thing = str(node.condition.words[0])
            yield _sentence(f"{opening}mine {all_of.format(thing if 'every' in all_of else _many(thing))}.")
            return
        until = self._inverse(node.condition) if self._random.random() < 0.35 else None
        said = self._condition(node.condition) if until is None else until
        word = self._pick(WHILE) if until is None else "until"
        if _is_one(node.body) and not inner and self._random.random() < 0.5:
            yield _sentence(f"{opening}{self._listed(self._statements(node.body))} {word} {said}.")
        else:
            yield from self._body(f"{opening}{word} {said},", node.body, alone=True)

    @staticmethod
    def _everything(node: While) -> bool:
        thing = node.condition.words[:1]
        return node == While(Call("is_there", thing), (Call("mine", thing),))

    def _body(self, opening: str, block: Block, mark: str = "", alone: bool = False) -> Iterator[str]:
        """A body of plain statements in the same sentence; any other between two phrases. If nothing can follow that
        belongs to it (`alone`), the body may be another control structure of this kind."""
        if _is_plain(block):
            yield _sentence(f"{opening} {self._listed(self._statements(block))}.")
        elif alone and _is_open(block) and self._random.random() < 0.4:
            (inner,) = block
            (after,) = self._control(inner, "", inner=True)  # type: ignore[arg-type]
            yield _sentence(f"{opening} {after[0].lower()}{after[1:]}")
        else:
            yield _sentence(f"{opening.removesuffix(mark) if mark else opening} {self._pick(FOLLOWING)}")
            yield from self._sentences(block)
            yield self._pick(DONE)

    def _statements(self, block: Block) -> list[str]:
        return [self._statement(node) for node in block if isinstance(node, Call)]

    def _statement(self, call: Call) -> str:
        if call.operation in NUMBER_OF:
            number = self._number_of(call)
            return self._pick(ASSIGNED).format(name=self._names[self._calls - 1], number=number)
        self._calls += 1
        words = [str(word) for word in call.words]
        way = self._pick(BEHAVIOURS[call.operation])
        thing = self._a(words[0]) if "{a}" in way else ""
        return way.format(a=thing, at=self._place(words[-2:]) if "{at}" in way else "")

    def _place(self, words: Sequence[str]) -> str:
        return self._pick(PLACES).format(x=words[0], y=words[1])

    def _a(self, thing: str) -> str:
        ways = ("a {}", "one {}", "a {}", "a piece of {}") if thing in MASS else ("a {}", "one {}", "a {}")
        return _article(self._pick(ways).format(thing))

    def _condition(self, call: Call) -> str:
        if call.operation in BETWEEN:
            first, second = (self._operand(each) for each in call.arguments)
            said = f"{first} {self._pick(BETWEEN[call.operation])} {second}"
        else:
            said = self._test(call.operation, *call.words)
        self._calls += 1
        return said

    def _test(self, operation: str, thing: object, comparison: object = "", number: object = 0) -> str:
        if operation == "is_there":
            some = self._pick(("any", "some")) + f" {thing}" if thing in MASS else _article(f"a {thing}")
            return self._pick(PRESENT).format(some)
        amount = self._pick(COMPARED[str(comparison)]).format(n=self._number(int(str(number))))
        return self._pick(CARRYING if operation == "agent" else ON_MAP).format(f"{amount} {_many(str(thing))}")

    def _inverse(self, call: Call) -> str | None:
        """The condition under which a `while` ends, where it can be said simply."""
        if call.operation == "is_there":
            self._calls += 1
            return self._pick(ABSENT).format(call.words[0])
        if call.operation not in ("agent", "env") or str(call.words[1]) not in INVERSE:
            return None
        self._calls += 1
        return self._test(call.operation, call.words[0], INVERSE[str(call.words[1])], call.words[2])

    def _operand(self, argument: Argument) -> str:
        if isinstance(argument, Ref):
            if argument.number not in self._names:
                raise DataError("the program refers to a result that has no name, so it has no sentence")
            return self._names[argument.number]
        return self._number_of(argument) if isinstance(argument, Call) else self._number(int(argument))

    def _number_of(self, call: Call) -> str:
        self._calls += 1
        return self._pick(NUMBER_OF[call.operation]).format(_many(str(call.words[0])))

    def _number(self, number: int) -> str:
        return NUMBERS[number] if number < len(NUMBERS) and between(self._random, 0, 2) == 0 else str(number)


def _is_plain(block: Block) -> bool:
    return all(isinstance(node, Call) for node in block)


def _is_one(block: Block) -> bool:
    return len(block) == 1 and _is_plain(block)


def _is_open(block: Block) -> bool:
    """A control structure with one plain body, and nothing else."""
    inner = block[0]
    if len(block) > 1 or not isinstance(inner, If | While):
        return False
    bodies = [inner.body] if isinstance(inner, While) else [body for _, body in inner.branches]
    return len(bodies) == 1 and _is_plain(bodies[0]) and not (isinstance(inner, If) and inner.otherwise)


def _many(thing: str) -> str:
    return thing if thing in MASS else f"{thing}s"


def _article(words: str) -> str:
    return f"an {words[2:]}" if words[:2] == "a " and words[2] in "aeiou" else words


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
