"""Programs of the world in English: several ways to say each construct, drawn by chance.

    say(parse("if is_there[river]:\\n  mine(wood)\\n  build_bridge()", DOMAIN), Random(0))
    "If there is a river, mine a wood and build a bridge."

A sentence says its program without ambiguity: a condition that stands last is of one statement, a body of plain
statements ends with its sentence, any other body stands between "do the following:" and "That is all.", and "Otherwise"
belongs to the last `if` of the same level.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, groupby
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
ORDINALS = ["", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
BEHAVIOURS = {
    "mine": (
        *("mine {a}",) * 4,
        *("get {a}", "collect {a}", "take {a}", "dig up {a}", "pick up {a}", "fetch {a}", "grab {a}", "gather {a}"),
        *("obtain {a}", "dig for {a}", "pick {a} up", "find {a}", "harvest {a}", "bring back {a}", "go and get {a}"),
    ),
    "sell": (
        *("sell {a}",) * 3,
        *("sell {a} to the merchant", "trade {a}", "sell {a} to a merchant", "trade {a} with the merchant"),
        *("sell {a} off", "exchange {a}", "give {a} to the merchant", "bring {a} to a merchant"),
    ),
    "goto": (
        *("go to {at}",) * 3,
        *("walk to {at}", "move to {at}", "head to {at}", "walk over to {at}", "go over to {at}", "run to {at}"),
        *("travel to {at}", "head for {at}", "return to {at}", "step to {at}", "make your way to {at}", "visit {at}"),
    ),
    "place": (
        *("place {a} at {at}", "put {a} at {at}", "put {a} in {at}", "drop {a} at {at}", "set {a} down at {at}"),
        *("place {a} in {at}", "leave {a} at {at}", "lay {a} at {at}", "put down {a} at {at}", "put {a} on {at}"),
        *("drop {a} off at {at}", "bring {a} to {at}", "place {a} on {at}", "deposit {a} at {at}"),
    ),
    "build_bridge": (
        *("build a bridge",) * 3,
        *("make a bridge", "construct a bridge", "bridge the river", "build the bridge", "put up a bridge"),
        *("build a bridge over the river", "build a bridge across the river", "put a bridge over the river"),
        *("lay a bridge", "make a bridge across the river"),
    ),
}
PLACES = (
    *("({x}, {y})", "column {x}, row {y}", "column {x} and row {y}", "{x}, {y}", "x {x} and y {y}", "cell {x} {y}"),
    *("cell ({x}, {y})", "row {y}, column {x}", "row {y} and column {x}", "position ({x}, {y})", "{x} {y}"),
    *("the cell in column {x}, row {y}", "the cell in column {x} and row {y}", "column {x} of row {y}"),
    *("x = {x}, y = {y}", "x={x} and y={y}", "coordinates {x}, {y}", "the cell at ({x}, {y})", "[{x}, {y}]"),
    *("column {nx}, row {ny}", "the {ox} column and the {oy} row", "the {ox} column, {oy} row"),
    *("the {oy} row, {ox} column", "row {ny}, column {nx}", "the cell in row {y} and column {x}"),
)
COMPARED = {
    "<": ("fewer than {n}", "less than {n}", "under {n}"),
    "<=": ("at most {n}", "no more than {n}", "up to {n}", "{n} or fewer", "not more than {n}", "a maximum of {n}"),
    "==": ("exactly {n}", "precisely {n}", "just {n}"),
    ">": ("more than {n}", "over {n}", "above {n}"),
    ">=": ("at least {n}", "no fewer than {n}", "{n} or more", "not fewer than {n}", "no less than {n}"),
}
INVERSE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""Comparison -> the one that holds when it does not."""
HOLDERS = ("you {}", "you {}", "you {}", "I {}", "we {}", "the agent {}s")
HELD = ("carry {}", "have {}", "hold {}", "own {}", "have got {}")
CARRYING = (
    *("your inventory has {}", "you are carrying {}", "you've got {}", "there are {} in your inventory"),
    *("the inventory holds {}", "the inventory has {}", "your inventory contains {}", "you are holding {}"),
    *("{} are in the inventory", "{} are in your inventory"),
)
ON_MAP = (
    *("there are {} on the map", "the map has {}", "there are {} in the world", "the world has {}", "there are {}"),
    *("the map contains {}", "{} are on the map", "the map shows {}", "you can see {}", "there are {} left"),
    *("{} are left on the map", "{} are left", "you see {} on the map", "there are {} around"),
)
PRESENT = (
    *("there is {}", "there is {} on the map", "the map has {}", "you can see {}", "you see {}", "there's {}"),
    *("there is {} in the world", "there is {} left", "{} exists", "{} is on the map", "there is still {}"),
    *("you find {}", "{} is left", "{} is there", "the map contains {}", "there is {} somewhere", "{} can be seen"),
)
PRESENT_MANY = ("there are {}", "there are {} on the map", "you see {}", "{} exist", "{} are left", "the map has {}")
ABSENT = (
    *("there is no {}", "there is no {} on the map", "the map has no {}", "there is no {} left", "no {} is left"),
    *("there is no more {}", "you see no {}", "no {} is on the map", "there isn't any {}", "there isn't any {} left"),
)
ABSENT_MANY = (
    *("there are no {}", "there are no {} left", "there are no more {}", "no {} are left", "the {} are all gone"),
    *("all the {} are gone", "there aren't any {}", "there aren't any {} left"),
)
COUNTED = ("mine", "sell")
"""Behaviours that are said with a number when they stand several times: mine two gold."""
QUESTIONS = ("is there {}?", "is there {} on the map?", "do you see {}?", "can you see {}?", "does the map have {}?")
SO, NOT_SO = ("if so,", "if yes,", "if there is,"), ("if not,", "otherwise,", "if there isn't,")
POLITE = ("please ", "please ", "could you please ", "you should ", "I want you to ", "try to ", "kindly ", "just ")
DOUBLED = ("get", "dig", "put", "drop", "set", "grab", "run", "step")
"""Verbs whose last letter is doubled before -ing."""
NUMBER_OF = {
    "count": ("the number of {} on the map", "the amount of {} on the map", "how many {} are on the map"),
    "carried": ("the number of {} that you carry", "the amount of {} you carry", "how many {} you have"),
}
ASSIGNED = (
    *("let {name} be {number}", "call {number} {name}", "remember {number} as {name}", "set {name} to {number}"),
    *("store {number} in {name}", "{name} is {number}", "let {name} equal {number}"),
)
BETWEEN = {
    "greater": ("is greater than", "is more than", "is larger than", "exceeds", "is above", "is higher than"),
    "less": ("is less than", "is smaller than", "is below", "is lower than"),
    "equal": ("equals", "is equal to", "is the same as", "is exactly"),
}
WHILE = ("while", "while", "as long as", "so long as")
IF = ("if", "if", "if", "if", "when", "in case", "only if", "provided that")
FOLLOWING = ("do the following:", "do this:", "follow these steps:")
DONE = ("That is all.", "That ends it.", "End of that.")
OTHERWISE = ("otherwise", "otherwise", "else", "if not")
THEN = (",", ",", ",", ", then", " then")
ELSE = ("; otherwise", ", otherwise", "; otherwise,", ", or else", "; if not,", " and otherwise", ", else")
KEEP = ("keep", "keep", "continue", "go on", "keep on")
TWICE = ("twice", "twice", "two times", "2 times")
MINE_ALL = (
    *("mine all the {0}", "mine all of the {0}", "mine every {1}", "collect all the {0}", "get all the {0}"),
    *("mine all {0}", "take every {1}", "gather all {0}", "collect every {1} on the map", "get all {0} on the map"),
    *("pick up all the {0}", "mine all the {0} that there are", "grab every {1}", "take all of the {0}"),
)
SELL_ALL = (
    *("sell all your {0}", "sell all the {0} you have", "sell all of your {0}", "sell every {1} that you have"),
    *("sell all the {0} that you carry", "trade all your {0}", "sell every {1} you carry", "sell your {0}, all of it"),
)
NEXT = (
    *("then ", "then ", "after that, ", "next, ", "now ", "afterwards, ", "finally, ", "and then "),
    *("",) * 12,
)
FIRST = ("first, ", "first of all, ", "first ", "to begin with, ")
SHAPES_OF_PRACTICE = (
    Shape(routines=(1, 3), depth=1, control=0.6, loop=0.15),
    Shape(routines=(2, 7), depth=2, control=0.6, loop=0.1, elif_=0.15),
    Shape(routines=(2, 14), depth=3, control=0.6),
    Shape(routines=(3, 10), depth=2, control=0.5),
)
"""Shapes of the programs that a parser is trained on besides those of train."""
MAX_PRACTISED = 15
"""Routines and conditions of these, at most: fewer than any program of `longer` has."""
SAMPLED = 0.6
"""Share of the varied sentences whose program is sampled."""
REPEATED = 0.15
"""Share of these, at most, in which a statement stands several times."""
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
        sampled = _repeated(sample_program(vocabulary, replace(shape, named_only=True), random), random)
        fits = len(list(calls(sampled.body))) <= MAX_PRACTISED and sampled not in _measured()
        program = sampled if fits else program
    return say(program, random), program


def _repeated(program: Program, random: Random) -> Program:
    """The program, now and then with one of its statements several times."""
    places = [
        at for at, node in enumerate(program.body) if isinstance(node, Call) and node.operation in ("mine", "sell")
    ]
    if not places or any(call.inputs or call.result for call in calls(program.body)) or random.random() > REPEATED:
        return program
    at = pick(random, places)
    return Program((*program.body[:at], *[program.body[at]] * between(random, 1, 3), *program.body[at:]))


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
        self._last = ""
        """The thing that was mentioned last, which `it` stands for."""
        self.text = " ".join(self._sentences(program.body))

    def _pick(self, ways: Sequence[str]) -> str:
        return pick(self._random, ways)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _sentences(self, block: Block) -> Iterator[str]:
        """A sentence for each control structure, and for runs of plain statements."""
        first = self._pick(FIRST) if len(block) > 1 and self._chance(0.12) else ""
        openings = chain([first], iter(lambda: self._pick(NEXT), None))
        for is_call, nodes in groupby(block, lambda node: isinstance(node, Call)):
            if not is_call:
                for node in nodes:
                    yield from self._control(node, next(openings))  # type: ignore[arg-type]
                continue
            for run in self._runs([node for node in nodes if isinstance(node, Call)]):
                polite = self._pick(POLITE) if self._chance(0.06) else ""
                yield _sentence(f"{next(openings)}{polite}{self._listed(self._statements(run))}.")

    def _runs(self, statements: Sequence[Call]) -> Iterator[Block]:
        """Statements, divided into sentences by chance."""
        run: Block = ()
        for each in statements:
            run = (*run, each)
            if self._chance(0.4):
                yield run
                run = ()
        if run:
            yield run

    def _listed(self, statements: Sequence[str]) -> str:
        """`a, b and c`, or `a, then b, then c`."""
        if len(statements) == 1:
            return statements[0]
        if self._chance(0.3):
            return ", then ".join(statements)
        last = self._pick(
            (" and ", ", and ", " and then ", ", then ", " and finally " if len(statements) > 2 else " and ")
        )
        return f"{', '.join(statements[:-1])}{last}{statements[-1]}"

    def _control(self, node: If | While | Loop, opening: str, inner: bool = False) -> Iterator[str]:
        """`inner`: within the sentence of another, so that the condition must come first."""
        if isinstance(node, If):
            yield from self._if(node, opening, inner)
        elif isinstance(node, While):
            yield from self._while(node, opening, inner)
        else:
            yield from self._loop(node, opening, inner)

    def _loop(self, node: Loop, opening: str, inner: bool) -> Iterator[str]:
        number = self._number(node.times)
        times = self._pick(TWICE) if node.times == 2 and self._chance(0.4) else f"{number} times"
        if _is_one(node.body) and not inner and self._chance(0.4):
            yield _sentence(f"{opening}{self._listed(self._statements(node.body))} {times}.")
            return
        said = self._pick(("repeat {}", "do {}", "do it {}", "do this {}", "repeat this {}"))
        yield from self._body(opening + said.format(times) + ":", node.body, ":")

    def _if(self, node: If, opening: str, inner: bool) -> Iterator[str]:
        (condition, body), *others = node.branches
        otherwise: Sequence[str] = OTHERWISE
        if condition.operation == "is_there" and not (inner or others) and self._chance(0.12):
            self._calls += 1
            yield _sentence(f"{opening}{self._pick(QUESTIONS).format(self._some(str(condition.words[0])))}")
            yield from self._body(self._pick(SO), body, alone=not node.otherwise)
            otherwise = NOT_SO
        else:
            word, said = self._tested(condition)
            plain = _is_plain(body) and not (inner or others)
            if plain and node.otherwise and _is_plain(node.otherwise) and self._chance(0.35):
                yield self._either(f"{opening}{word} {said}", body, node.otherwise)
                return
            if plain and _is_one(body) and not node.otherwise and self._chance(0.25):
                self._last = ""
                yield _sentence(f"{opening}{self._listed(self._statements(body))} {word} {said}.")
            else:
                alone = not others and not node.otherwise
                yield from self._body(f"{opening}{word} {said}{self._pick(THEN)}", body, alone=alone)
        for condition, body in others:
            yield from self._body(f"{self._pick(OTHERWISE[:3])}, if {self._condition(condition)},", body)
        if node.otherwise:
            yield from self._body(f"{self._pick(otherwise).removesuffix(',')},", node.otherwise)

    def _tested(self, condition: Call) -> tuple[str, str]:
        """`if` and the condition, or `unless` and its opposite."""
        if tuple(condition.words[1:]) == ("==", 0) and self._chance(0.3):
            self._calls += 1
            self._last = thing = str(condition.words[0])
            if condition.operation == "env":
                return "unless", self._pick(PRESENT).format(self._some(thing))
            return "unless", self._holding(f"{self._pick(('any', 'some'))} {_many(thing)}")
        return self._pick(IF), self._condition(condition)

    def _either(self, condition: str, body: Block, otherwise: Block) -> str:
        """Both branches in one sentence."""
        one = self._listed(self._statements(body))
        other = self._listed(self._statements(otherwise))
        return _sentence(f"{condition}{self._pick(THEN)} {one}{self._pick(ELSE)} {other}.")

    def _while(self, node: While, opening: str, inner: bool) -> Iterator[str]:
        everything = self._everything(node)
        if everything and not inner and self._chance(0.5):
            self._calls += 2
            self._last = str(node.condition.words[0])
            yield _sentence(f"{opening}{self._pick(everything).format(_many(self._last), self._last)}.")
            return
        until = self._inverse(node) if self._chance(0.35) else None
        said = self._condition(node.condition) if until is None else until
        word = self._pick(WHILE) if until is None else self._pick(("until", "until", "till"))
        if _is_one(node.body) and not inner and self._chance(0.5):
            self._last = ""
            statements = self._statements(node.body)
            body = self._listed(statements)
            if all(map(_has_gerund, statements)) and self._chance(0.45):
                body = f"{self._pick(KEEP)} {self._listed([_gerund(each) for each in statements])}"
            yield _sentence(f"{opening}{body} {word} {said}.")
        else:
            keep = _is_one(node.body) and self._chance(0.15)
            yield from self._body(f"{opening}{word} {said},", node.body, alone=True, keep=keep)

    @staticmethod
    def _everything(node: While) -> tuple[str, ...]:
        """Ways to say a loop that ends when nothing is left."""
        thing = node.condition.words[:1]
        if node == While(Call("is_there", thing), (Call("mine", thing),)):
            return MINE_ALL
        return SELL_ALL if node == While(Call("agent", (*thing, ">", 0)), (Call("sell", thing),)) else ()

    def _body(
        self, opening: str, block: Block, mark: str = "", alone: bool = False, keep: bool = False
    ) -> Iterator[str]:
        """A body of plain statements in the same sentence (`keep`: "keep mining"); any other between two phrases. If
        nothing can follow that belongs to it (`alone`), the body may be another control structure of this kind."""
        if _is_plain(block):
            statements = self._statements(block)
            if keep and all(map(_has_gerund, statements)):
                statements = [f"{self._pick(KEEP)} {_gerund(each)}" for each in statements]
            yield _sentence(f"{opening} {self._listed(statements)}.")
        elif alone and _is_open(block) and self._random.random() < 0.4:
            (inner,) = block
            (after,) = self._control(inner, "", inner=True)  # type: ignore[arg-type]
            yield _sentence(f"{opening} {after[0].lower()}{after[1:]}")
        else:
            yield _sentence(f"{opening.removesuffix(mark) if mark else opening} {self._pick(FOLLOWING)}")
            yield from self._sentences(block)
            yield self._pick(DONE)

    def _statements(self, block: Block) -> list[str]:
        """Statements; the same one several times may be one with a number."""
        found: list[str] = []
        for call, same in groupby(node for node in block if isinstance(node, Call)):
            count = len([*same])
            if count > 1 and call.operation in COUNTED and self._chance(0.7):
                self._calls += count
                self._last = str(call.words[0])
                amount = f"{self._number(count)} {self._pieces(self._last)}"
                found.append(self._pick(BEHAVIOURS[call.operation]).format(a=amount))
            else:
                found += [self._statement(call) for _ in range(count)]
        return found

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
        x, y = map(int, words)
        if max(x, y) >= len(ORDINALS):
            return f"({x}, {y})"
        spelt = {"nx": NUMBERS[x], "ny": NUMBERS[y], "ox": ORDINALS[x], "oy": ORDINALS[y]}
        return self._pick(PLACES).format(x=x, y=y, **spelt)

    def _a(self, thing: str) -> str:
        if thing == self._last and self._chance(0.15):
            return "it"
        self._last = thing
        ways = (
            ("a {}", "one {}", "a piece of {}", "{}", "{}", "some {}") if thing in MASS else ("a {}", "a {}", "one {}")
        )
        return _article(self._pick((*ways, "the {}", "another {}") if self._chance(0.3) else ways).format(thing))

    def _pieces(self, thing: str) -> str:
        return f"pieces of {thing}" if thing in MASS and self._chance(0.3) else _many(thing)

    def _some(self, thing: str) -> str:
        return self._pick(("any", "some")) + f" {thing}" if thing in MASS else _article(f"a {thing}")

    def _condition(self, call: Call) -> str:
        if call.operation in BETWEEN:
            first, second = (self._operand(each) for each in call.arguments)
            said = f"{first} {self._pick(BETWEEN[call.operation])} {second}"
        else:
            said = self._test(call.operation, *call.words)
        self._calls += 1
        return said

    def _test(self, operation: str, thing: object, comparison: object = "", number: object = 0) -> str:
        name = self._last = str(thing)
        if operation == "is_there":
            if name not in MASS and self._chance(0.25):
                return self._pick(PRESENT_MANY).format(f"{self._pick(('any', 'some'))} {_many(name)}")
            return self._pick(PRESENT).format(self._some(name))
        if number == 0 and comparison == "==" and self._chance(0.6):
            return self._none(operation, name)
        if number == 0 and comparison == ">" and operation == "agent" and self._chance(0.5):
            return self._holding(f"{self._pick(('any', 'some'))} {_many(name)}")
        amount = self._pick(COMPARED[str(comparison)]).format(n=self._number(int(str(number))))
        return self._amount(operation, f"{amount} {self._pieces(name)}")

    def _amount(self, operation: str, amount: str) -> str:
        return self._holding(amount) if operation == "agent" else self._pick(ON_MAP).format(amount)

    def _holding(self, amount: str) -> str:
        if self._chance(0.4):
            return self._pick(CARRYING).format(amount)
        holder = self._pick(HOLDERS)
        verb = self._pick(HELD).format(amount)
        return holder.format(verb) if not holder.endswith("s") else _third(holder, verb)

    def _none(self, operation: str, thing: str) -> str:
        if operation == "env":
            return self._absent(thing)
        many = _many(thing)
        return self._pick((self._holding(f"no {many}"), f"you do not have any {many}", f"you don't have any {many}"))

    def _absent(self, thing: str) -> str:
        many = ABSENT_MANY if thing not in MASS and self._chance(0.5) else ()
        return self._pick(many or ABSENT).format(_many(thing) if many else thing)

    def _inverse(self, node: While) -> str | None:
        """The condition under which a `while` ends, where it can be said simply."""
        call = node.condition
        if call.operation == "is_there":
            self._calls += 1
            self._last = str(call.words[0])
            return self._absent(self._last)
        if call.operation not in ("agent", "env") or str(call.words[1]) not in INVERSE:
            return None
        self._calls += 1
        thing, comparison, number = call.words
        if comparison == "<" and self._chance(0.5):
            of_it = node.body == (Call("mine", (thing,)),) and self._chance(0.3)
            some = ("of it" if thing in MASS else "of them") if of_it else self._pieces(str(thing))
            self._last = str(thing)
            return self._amount(call.operation, f"{self._number(int(number))} {some}")
        return self._test(call.operation, thing, INVERSE[str(comparison)], number)

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


def _has_gerund(statement: str) -> bool:
    return not statement.startswith(("go and", "make your"))


def _gerund(statement: str) -> str:
    """`mine a gold` -> `mining a gold`."""
    verb, _, rest = statement.partition(" ")
    stem = verb + verb[-1] if verb in DOUBLED else verb.removesuffix("e")
    return f"{stem}ing {rest}"


def _third(holder: str, verb: str) -> str:
    """`the agent {}s`, `carry {n} gold` -> `the agent carries {n} gold`."""
    first, _, rest = verb.partition(" ")
    form = {"carry": "carries", "have": "has"}.get(first, f"{first}s")
    return f"{holder.removesuffix(' {}s')} {form} {rest}"


def _many(thing: str) -> str:
    return thing if thing in MASS else f"{thing}s"


def _article(words: str) -> str:
    return f"an {words[2:]}" if words[:2] == "a " and words[2] in "aeiou" else words


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
