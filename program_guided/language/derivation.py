"""Programs as sequences of terminals, one for each word of the language, and the automaton of all such sequences.

Terminals stand in the tree's order: the operation, then its arguments in the order of its parameters. An operation's
arity is known, so there are no brackets. `if is_there[river]: mine(wood)` is

    if  is_there  river  mine  wood  end  stop

An input is a nested call or an earlier result: `result 0` is the first result of a statement that has the wanted type,
`inner 0` that of a nested call or condition. A text is one phrase or several, joined by `+`.

    grammar = Grammar(DOMAIN)
    sequence = grammar.derive(program)
    grammar.program(sequence) == normal_form(program, DOMAIN)
    state = grammar.start()
    for terminal in sequence:
        grammar.expected(state)         # hashable: what may come next
        state = grammar.advance(state, terminal)

Whatever sequence the automaton accepts is a program that the checker accepts: arity, types of inputs, scopes of results
and the limits of the parser are part of its state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, final

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, BOOLEAN, Choice, Domain, Number, Operation, Parameter, Text
from program_guided.language.parser import MAX_ROUTINES
from program_guided.language.sampler import heights
from program_guided.language.syntax import Argument, Block, Call, If, Loop, Node, Program, Ref, While, flatten

__all__ = ["END", "STOP", "Expected", "Grammar", "State", "Terminal", "normal_form", "unwrapped"]


class Terminal(NamedTuple):
    """A word of a derivation."""

    kind: str
    """keyword, operation, word, number, wrap, phrase, result or inner."""
    text: str


def _keyword(text: str) -> Terminal:
    return Terminal("keyword", text)


IF, ELIF, ELSE, WHILE, LOOP, END, STOP, PLUS = map(
    _keyword, ("if", "elif", "else", "while", "loop", "end", "stop", "+")
)
KEYWORDS = (IF, ELIF, ELSE, WHILE, LOOP, END, STOP, PLUS)
MAX_RESULTS = 26
"""Results of a type that can be referred to, of statements and of inner calls each."""
MAX_TIMES = 99
"""Largest number of a loop."""
MAX_CALL_DEPTH, MAX_BLOCK_DEPTH = 12, 20
"""Within the limits of the parser."""
AMPLE, SCARCE = 60, 12
"""Routines that are left below which no blocks are opened, and below which no statements are added."""
NOTHING = -1


class Expected(NamedTuple):
    """The terminals that may come next: the union of its fields."""

    keywords: tuple[Terminal, ...] = ()
    output: str | None = None
    """Operations of this result type; "" for all that may stand alone."""
    shallow: bool = False
    """Only the operations that nest least."""
    parameter: int = NOTHING
    """Words that this parameter of the grammar accepts."""
    wraps: bool = False
    results: tuple[Terminal, ...] = ()
    times: int = 0
    """Numbers from 1 to this."""


class Known(NamedTuple):
    """A result that may be referred to."""

    type: str
    terminal: Terminal
    call: int


class State(NamedTuple):
    """A place in a derivation: what is still to come, and the results so far."""

    stack: Stack
    known: tuple[Known, ...] = ()
    """Results of calls that are always executed before."""
    counts: tuple[tuple[tuple[str, str], int], ...] = ()
    """Results so far by kind of terminal and type, those of other blocks included."""
    calls: int = 0
    routines: int = 0
    """Calls so far, those in loops as often as they are executed."""
    weight: int = 1
    """Executions of a call that stands here."""
    depth: int = 0
    blocks: int = 0

    def push(self, *symbols: Symbol) -> State:
        """Expect symbols, the first one first."""
        stack = self.stack
        for symbol in reversed(symbols):
            stack = (symbol, stack)
        return self._replace(stack=stack)

    def pop(self) -> State:
        return self._replace(stack=self.stack[1])  # type: ignore[misc]

    @property
    def top(self) -> Symbol:
        return self.stack[0]  # type: ignore[misc]

    @property
    def spare(self) -> int:
        """Routines that can be added here."""
        return (MAX_ROUTINES - self.routines) // self.weight

    def results(self, type: str) -> tuple[Terminal, ...]:
        return tuple(each.terminal for each in self.known if each.type == type)


class Symbol(ABC):
    """Something that is still to come."""

    @abstractmethod
    def expected(self, grammar: Grammar, state: State) -> Expected: ...

    @abstractmethod
    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        """The state after a terminal; `state` is that in which this symbol is the top."""


Stack = tuple[Symbol, "Stack"] | tuple[()]


@final
@dataclass(frozen=True)
class _Block(Symbol):
    """The statements of a block, and the terminal that ends it."""

    kind: str
    """program, while, loop, then or else."""
    before: tuple[Known, ...] = ()
    """Results that are known after the whole."""
    running: tuple[Known, ...] = ()
    """Results that are known in the next branch."""
    outer: int = 1
    """The weight outside."""
    empty: bool = True

    def expected(self, grammar: Grammar, state: State) -> Expected:
        spare = state.spare
        ends = () if self.empty else ENDS[self.kind] if spare > AMPLE else ENDS[self.kind][:1]
        if spare <= SCARCE and not self.empty:
            return Expected(ends)
        opens = grammar.openers if spare > AMPLE and state.blocks < MAX_BLOCK_DEPTH else ()
        return Expected((*opens, *ends), "", spare <= AMPLE)

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        if terminal.kind == "operation":
            return grammar.opened(self._filled(state), terminal, "result")
        return OPENING[terminal](self._filled(state)) if terminal in OPENING else self._ended(state.pop(), terminal)

    def _filled(self, state: State) -> State:
        return state.pop().push(replace(self, empty=False)) if self.empty else state

    def _ended(self, state: State, terminal: Terminal) -> State:
        if terminal == ELIF:
            return state._replace(known=self.running).push(_Condition("then", self.before))
        if terminal == ELSE:
            return state._replace(known=self.running).push(_Block("else", self.before, outer=self.outer))
        known = self.before if self.kind in ("then", "else", "while") else state.known
        return state._replace(known=known, weight=self.outer, blocks=state.blocks - 1)


@final
@dataclass(frozen=True)
class _Condition(Symbol):
    """The condition of `if`, `elif` or `while`."""

    block: str
    before: tuple[Known, ...] | None = None
    """Results that are known after the whole; None before the first condition."""

    def expected(self, grammar: Grammar, state: State) -> Expected:
        return Expected((), BOOLEAN, state.spare <= AMPLE)

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        return grammar.opened(state.pop().push(_Body(self.block, self.before)), terminal, "inner")


@final
@dataclass(frozen=True)
class _Times(Symbol):
    """The number of a loop."""

    def expected(self, grammar: Grammar, state: State) -> Expected:
        return Expected(times=max(1, min(MAX_TIMES, state.spare // SCARCE)))

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        weight = state.weight * int(terminal.text)
        return state.pop().push(_Block("loop", outer=state.weight))._replace(weight=weight)


@final
@dataclass(frozen=True)
class _Slot(Symbol):
    """An argument."""

    parameter: int
    wrapped: bool = False

    def expected(self, grammar: Grammar, state: State) -> Expected:
        parameter = grammar.parameters[self.parameter]
        wraps = isinstance(parameter, Text) and bool(parameter.wraps) and not self.wrapped
        place = self.parameter if parameter.is_word else NOTHING
        if parameter.takes is None:
            return Expected(parameter=place, wraps=wraps)
        shallow = state.spare <= AMPLE or state.depth >= MAX_CALL_DEPTH
        return Expected((), parameter.takes, shallow, place, wraps, state.results(parameter.takes))

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        if terminal.kind == "operation":
            return grammar.opened(state.pop(), terminal, "inner")
        if terminal.kind == "wrap":
            return state.pop().push(_Slot(self.parameter, wrapped=True))
        if terminal.kind == "phrase":
            return state.pop().push(_More(self.parameter))
        return grammar.settled(state.pop())


@final
@dataclass(frozen=True)
class _More(Symbol):
    """The rest of a text: `+` and a phrase, or what comes after it."""

    parameter: int

    def expected(self, grammar: Grammar, state: State) -> Expected:
        after = grammar.expected(grammar.settled(state.pop()))
        return after._replace(keywords=(PLUS, *after.keywords))

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        if terminal == PLUS:
            return state.pop().push(_Slot(self.parameter, wrapped=True))
        return grammar.advance(grammar.settled(state.pop()), terminal)


class _Action(Symbol):
    """Something that is done when it becomes the top; no terminal belongs to it."""

    @abstractmethod
    def act(self, grammar: Grammar, state: State) -> State: ...

    def expected(self, grammar: Grammar, state: State) -> Expected:
        raise AssertionError

    def advance(self, grammar: Grammar, state: State, terminal: Terminal) -> State:
        raise AssertionError


@final
@dataclass(frozen=True)
class _Finish(_Action):
    """The end of a call: its result can be referred to."""

    output: str
    kind: str

    def act(self, grammar: Grammar, state: State) -> State:
        state = state._replace(calls=state.calls + 1, routines=state.routines + state.weight, depth=state.depth - 1)
        if self.output not in grammar.taken:
            return state
        counts, key = dict(state.counts), (self.kind, self.output)
        number = counts.get(key, 0)
        known = Known(self.output, Terminal(self.kind, str(number)), state.calls - 1)
        kept = (*state.known, known) if number < MAX_RESULTS else state.known
        return state._replace(counts=tuple({**counts, key: number + 1}.items()), known=kept)


@final
@dataclass(frozen=True)
class _Body(_Action):
    """The block after a condition, and what is known in it."""

    block: str
    before: tuple[Known, ...] | None

    def act(self, grammar: Grammar, state: State) -> State:
        before = state.known if self.before is None else self.before
        return state.push(_Block(self.block, before, state.known, state.weight))


def _opening(state: State, *symbols: Symbol) -> State:
    return state.push(*symbols)._replace(blocks=state.blocks + 1)


OPENING: dict[Terminal, Callable[[State], State]] = {
    IF: lambda state: _opening(state, _Condition("then")),
    WHILE: lambda state: _opening(state, _Condition("while")),
    LOOP: lambda state: _opening(state, _Times()),
}
ENDS = {"program": (STOP,), "while": (END,), "loop": (END,), "then": (END, ELIF, ELSE), "else": (END,)}
"""Terminals that end each kind of block."""


class Grammar:
    """The derivations of a domain's programs."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.parameters = tuple(each for row in domain.operations for each in row.parameters)
        self.taken = frozenset(each.takes for each in self.parameters if each.takes is not None)
        """Result types that any operation takes."""
        self.heights = heights(domain)
        self.openers = tuple(
            terminal
            for terminal, there in (
                (IF, domain.has_conditions),
                (WHILE, domain.has_conditions and domain.sequential),
                (LOOP, domain.has_conditions),
            )
            if there
        )
        self._slots: dict[str, tuple[_Slot, ...]] = {}
        first = 0
        for row in domain.operations:
            after = first + len(row.parameters)
            self._slots[row.name] = tuple(map(_Slot, range(first, after)))
            first = after

    def start(self) -> State:
        return State((_Block("program"), ()), blocks=1)

    def expected(self, state: State) -> Expected:
        """The terminals that may come next; none after `stop`."""
        return state.top.expected(self, state) if state.stack else Expected()

    def advance(self, state: State, terminal: Terminal) -> State:
        """The state after a terminal, which must be one of those expected."""
        return self.settled(state.top.advance(self, state, terminal))

    def opened(self, state: State, terminal: Terminal, kind: str) -> State:
        """The state after the name of an operation."""
        operation = self.domain.operation(terminal.text)
        symbols = (*self._slots[operation.name], _Finish(operation.output, kind))
        return self.settled(state._replace(depth=state.depth + 1).push(*symbols))

    def settled(self, state: State) -> State:
        """The state after all that needs no terminal."""
        while state.stack and isinstance(state.top, _Action):
            state = state.top.act(self, state.pop())
        return state

    def accepts(self, expected: Expected, terminal: Terminal) -> bool:
        """Whether a terminal is one of those expected."""
        return self._accepting[terminal.kind](expected, terminal.text)

    @cached_property
    def _accepting(self) -> dict[str, Callable[[Expected, str], bool]]:
        return {
            "keyword": lambda expected, text: _keyword(text) in expected.keywords,
            "operation": self._accepts_operation,
            "word": self._accepts_word,
            "number": self._accepts_number,
            "wrap": lambda expected, text: expected.wraps and text in self._text(expected).wraps,
            "phrase": lambda expected, text: isinstance(self._parameter(expected), Text),
            "result": lambda expected, text: Terminal("result", text) in expected.results,
            "inner": lambda expected, text: Terminal("inner", text) in expected.results,
        }

    def _parameter(self, expected: Expected) -> Parameter | None:
        return None if expected.parameter == NOTHING else self.parameters[expected.parameter]

    def _text(self, expected: Expected) -> Text:
        parameter = self._parameter(expected)
        return parameter if isinstance(parameter, Text) else Text("")

    def _accepts_operation(self, expected: Expected, name: str) -> bool:
        return expected.output is not None and name in self._operations(expected.output, expected.shallow)

    def _operations(self, output: str, shallow: bool) -> frozenset[str]:
        """Names of the operations of a result type, "" for any, that can be made of nested calls."""
        rows = [row for row in self.domain.operations if row.name in self.heights and output in ("", row.output)]
        lowest = min((self.heights[row.name] for row in rows), default=0)
        return frozenset(row.name for row in rows if not shallow or self.heights[row.name] == lowest)

    def _accepts_word(self, expected: Expected, text: str) -> bool:
        parameter = self._parameter(expected)
        return isinstance(parameter, Choice) and text in parameter.words

    def _accepts_number(self, expected: Expected, text: str) -> bool:
        parameter, number = self._parameter(expected), int(text)
        in_range = isinstance(parameter, Number) and parameter.low <= number <= parameter.high
        return in_range or 1 <= number <= expected.times

    @cached_property
    def terminals(self) -> tuple[Terminal, ...]:
        """All terminals but phrases."""
        words = {word for each in self.parameters if isinstance(each, Choice) for word in each.words}
        wraps = {wrap for each in self.parameters if isinstance(each, Text) for wrap in each.wraps}
        results = range(MAX_RESULTS if self.taken else 0)
        return (
            *KEYWORDS,
            *(Terminal("operation", row.name) for row in self.domain.operations),
            *(Terminal("word", word) for word in sorted(words)),
            *(Terminal("number", str(number)) for number in self._numbers),
            *(Terminal("wrap", word) for word in sorted(wraps)),
            *(Terminal(kind, str(number)) for kind in ("result", "inner") for number in results),
        )

    @property
    def _numbers(self) -> list[int]:
        """Numbers of parameters and loops."""
        ranges = [range(each.low, each.high + 1) for each in self.parameters if isinstance(each, Number)]
        loops = [range(1, MAX_TIMES + 1)] if self.openers else []
        return sorted({number for each in (*ranges, *loops) for number in each})

    def derive(self, program: Program, phrases: Callable[[str], Sequence[str]] = str.split) -> list[Terminal]:
        """The terminals of a program in its normal form; `phrases` divides a text. `DataError` if it has none."""
        derived = [*_Derivation(self, program, phrases).block(program.body), STOP]
        state = self.start()
        for terminal in derived:
            if not self.accepts(self.expected(state), terminal):
                raise DataError(f"the program has no derivation: {terminal.kind} {terminal.text!r} cannot stand there")
            state = self.advance(state, terminal)
        return derived

    def program(self, sequence: Sequence[Terminal]) -> Program:
        """The program of a sequence that the automaton accepts."""
        return _Tree(self, sequence).program()


class _Numbering:
    """The terminals by which results are referred to."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self.calls = 0

    def add(self, operation: Operation, kind: str) -> tuple[int, Terminal, str]:
        """A call that ends: its number, its terminal and its result type."""
        key = (kind, operation.output)
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        self.calls += 1
        return self.calls - 1, Terminal(kind, str(number)), operation.output


class _Derivation:
    """The terminals of one program."""

    def __init__(self, grammar: Grammar, program: Program, phrases: Callable[[str], Sequence[str]]) -> None:
        self._domain, self._phrases = grammar.domain, phrases
        self._numbering = _Numbering()
        self._terminals: dict[int, Terminal] = {}

    def block(self, block: Block) -> Iterator[Terminal]:
        for node in block:
            yield from self._node(node)

    def _node(self, node: Node) -> Iterator[Terminal]:
        if isinstance(node, Call):
            yield from self._call(node, "result")
        elif isinstance(node, If):
            yield from self._if(node)
        elif isinstance(node, While):
            yield from (WHILE, *self._call(node.condition, "inner"), *self.block(node.body), END)
        else:
            yield from (LOOP, Terminal("number", str(node.times)), *self.block(node.body), END)

    def _if(self, node: If) -> Iterator[Terminal]:
        for number, (condition, body) in enumerate(node.branches):
            yield from (ELIF if number else IF, *self._call(condition, "inner"), *self.block(body))
        if node.otherwise:
            yield from (ELSE, *self.block(node.otherwise))
        yield END

    def _call(self, call: Call, kind: str) -> Iterator[Terminal]:
        operation = self._domain.operation(call.operation)
        yield Terminal("operation", call.operation)
        for parameter, argument in zip(operation.parameters, call.arguments, strict=True):
            yield from self._argument(parameter, argument)
        number, terminal, _ = self._numbering.add(operation, kind)
        self._terminals[number] = terminal

    def _argument(self, parameter: Parameter, argument: Argument) -> Iterator[Terminal]:
        if isinstance(argument, Call):
            yield from self._call(argument, "inner")
        elif isinstance(argument, Ref):
            yield self._terminals[argument.number]
        elif isinstance(parameter, Text):
            yield from self._text(parameter, str(argument))
        else:
            yield Terminal("number" if isinstance(parameter, Number) else "word", str(argument))

    def _text(self, parameter: Text, text: str) -> Iterator[Terminal]:
        wrap, text = unwrapped(parameter, text)
        if wrap:
            yield Terminal("wrap", wrap)
        for number, phrase in enumerate(self._phrases(text)):
            yield from (*((PLUS,) if number else ()), Terminal("phrase", phrase))


def unwrapped(parameter: Text, text: str) -> tuple[str, str]:
    """The word around a text, "" if there is none, and the text."""
    wrap, bracket, inner = text.partition("(")
    is_wrapped = bracket and wrap in parameter.wraps and " ".join(inner[:-1].split()) + ")" == inner != ")"
    return (wrap, inner[:-1]) if is_wrapped else ("", text)


class _Tree:
    """The program of one sequence."""

    def __init__(self, grammar: Grammar, sequence: Sequence[Terminal]) -> None:
        self._domain, self._sequence, self._at = grammar.domain, sequence, 0
        self._numbering = _Numbering()
        self._numbers: dict[tuple[Terminal, str], int] = {}

    def program(self) -> Program:
        body = self._block()
        if self._next() != STOP or self._at != len(self._sequence):
            raise DataError("the sequence is no derivation of a program")
        return Program(body)

    def _next(self) -> Terminal:
        if self._at >= len(self._sequence):
            raise DataError("the sequence ends within a program")
        self._at += 1
        return self._sequence[self._at - 1]

    def _is_next(self, *terminals: Terminal) -> bool:
        return self._at < len(self._sequence) and self._sequence[self._at] in terminals

    def _block(self) -> Block:
        nodes: list[Node] = []
        while not self._is_next(END, ELIF, ELSE, STOP):
            nodes.append(self._node())
        return tuple(nodes)

    def _node(self) -> Node:
        terminal = self._next()
        if terminal == IF:
            return self._if()
        if terminal == WHILE:
            return While(self._call(self._next(), "inner"), self._closed())
        if terminal == LOOP:
            return Loop(int(self._next().text), self._closed())
        return _named(self._call(terminal, "result"), self._domain, self._numbering.calls - 1)

    def _closed(self) -> Block:
        block = self._block()
        self._next()
        return block

    def _if(self) -> If:
        branches = [(self._call(self._next(), "inner"), self._block())]
        while (terminal := self._next()) == ELIF:
            branches.append((self._call(self._next(), "inner"), self._block()))
        return If(tuple(branches), self._closed() if terminal == ELSE else ())

    def _call(self, terminal: Terminal, kind: str) -> Call:
        if terminal.kind != "operation":
            raise DataError(f"the sequence has {terminal.text!r} where an operation must stand")
        operation = self._domain.operation(terminal.text)
        call = Call(operation.name, tuple(self._argument(each) for each in operation.parameters))
        number, name, output = self._numbering.add(operation, kind)
        self._numbers[name, output] = number
        return call

    def _argument(self, parameter: Parameter) -> Argument:
        terminal = self._next()
        reading: dict[str, Callable[[], Argument]] = {
            "operation": lambda: self._call(terminal, "inner"),
            "result": lambda: Ref(self._numbers[terminal, parameter.takes or ""]),
            "inner": lambda: Ref(self._numbers[terminal, parameter.takes or ""]),
            "wrap": lambda: f"{terminal.text}({self._text(self._next())})",
            "phrase": lambda: self._text(terminal),
            "number": lambda: int(terminal.text),
        }
        return reading.get(terminal.kind, lambda: terminal.text)()

    def _text(self, terminal: Terminal) -> str:
        words = [terminal.text]
        while self._is_next(PLUS):
            self._next()
            words.append(self._next().text)
        return " ".join(words)


def normal_form(program: Program, domain: Domain) -> Program:
    """The same program with results named by their numbers; if nothing changes in the domain and there is no control
    flow, each call is nested in the first that takes its result."""
    plain = not domain.sequential and all(isinstance(node, Call) for node in program.body)
    body = _nested(flatten(program.body)) if plain else program.body
    return Program(tuple(_renamed(body, domain, _Counter())))


class _Counter:
    """The number of the next call in reading order."""

    def __init__(self) -> None:
        self.calls = 0


def _renamed(block: Block, domain: Domain, counter: _Counter) -> Iterator[Node]:
    renamed = partial(_renamed, domain=domain, counter=counter)
    for node in block:
        if isinstance(node, Call):
            plain = _unnamed(node, counter)
            yield _named(plain, domain, counter.calls - 1)
        elif isinstance(node, If):
            branches = tuple((_unnamed(test, counter), tuple(renamed(body))) for test, body in node.branches)
            yield If(branches, tuple(renamed(node.otherwise)))
        elif isinstance(node, While):
            yield While(_unnamed(node.condition, counter), tuple(renamed(node.body)))
        else:
            yield Loop(node.times, tuple(renamed(node.body)))


def _unnamed(call: Call, counter: _Counter) -> Call:
    arguments = tuple(_unnamed(each, counter) if isinstance(each, Call) else each for each in call.arguments)
    counter.calls += 1
    return Call(call.operation, arguments)


def _named(call: Call, domain: Domain, number: int) -> Call:
    """A statement with the name of its result, if it would have no effect without."""
    needed = domain.sequential and domain.operation(call.operation).output != ACTION
    return replace(call, result=f"{call.operation}_{number + 1}") if needed else call


def _nested(steps: Sequence[Call]) -> Block:
    """Calls without nesting -> trees of those that no other takes."""
    taken = {number for call in steps for number in call.inputs}
    numbers: dict[int, int] = {}

    def built(at: int) -> Call:
        arguments = tuple(
            (Ref(numbers[each.number]) if each.number in numbers else built(each.number))
            if isinstance(each, Ref)
            else each
            for each in steps[at].arguments
        )
        numbers[at] = len(numbers)
        return Call(steps[at].operation, arguments)

    return tuple(built(at) for at in range(len(steps)) if at not in taken)
