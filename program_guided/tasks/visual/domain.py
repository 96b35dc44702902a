"""The language of visual questions: GQA's 138 operations as families x categories, and its `semantic` lists.

Departures from the paper (Table "program_gqa"): the operations are those of the release, each with its category, so
that `verify_shape` can be told from `verify_color`. What the release writes in brackets behind an argument (object
ids, or `-` for "absent") gives answers away and is dropped on reading; so is the order of `choose`'s options.

    program_of([{"operation": "select", "dependencies": [], "argument": "bag (42)"},
                {"operation": "filter size", "dependencies": [0], "argument": "not(large)"},
                {"operation": "exist", "dependencies": [1], "argument": "?"}])

    select(bag)    filter_size([1], not(large))    exist([2])        is its text
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from program_guided.errors import DataError, quote
from program_guided.language.domain import BOOLEAN, Choice, Domain, Operation, Parameter, Text
from program_guided.language.parser import parse
from program_guided.language.syntax import Call, Program, Word, calls
from program_guided.language.table import RoutineTable, compile_program

__all__ = [
    "ANSWER",
    "ATTRIBUTE_CATEGORIES",
    "COMPARATIVES",
    "DOMAIN",
    "OBJECTS",
    "ROWS",
    "Form",
    "Row",
    "canonical",
    "negated",
    "parse_visual",
    "program_of",
    "routine_words",
    "semantic_of",
    "table_of",
]

OBJECTS = "Objects"
ANSWER = "Answer"

SHARED_CATEGORIES = (
    ",activity,age,brightness,cleanliness,color,company,depth,face expression,fatness,flavor,gender,hardness,height,"
    "hposition,length,material,opaqness,pattern,pose,race,realism,shape,size,sportActivity,state,texture,thickness,"
    "tone,vposition,weather,weight,width"
)
"""What filter, verify and choose have in common; the empty category is the bare operation."""


def _categories(*more: str) -> tuple[str, ...]:
    return tuple(sorted({*SHARED_CATEGORIES.split(","), *more}))


FILTERED = _categories("event", "liquid", "orientation", "room", "sport")
VERIFIED = _categories("location", "place", "room", "type")
CHOSEN = _categories("location", "name", "place")
COMPARATIVES = (
    "healthier",
    "less healthy",
    "higher",
    "lower",
    "larger",
    "smaller",
    "longer",
    "shorter",
    "taller",
    "older",
    "younger",
)
ATTRIBUTE_CATEGORIES = tuple(sorted({*FILTERED, *VERIFIED, *CHOSEN} - {"", "name", "type"}))


@dataclass(frozen=True)
class Form:
    """How an argument is spelt in the release: the pattern that reads it and the template that writes it."""

    parameters: tuple[Parameter, ...]
    pattern: re.Pattern[str]
    template: str
    options: tuple[int, int] | None = None
    """Two words whose order means nothing."""

    def read(self, argument: str) -> tuple[str, ...] | None:
        """The words of an argument without brackets; None if it has another form."""
        match = self.pattern.fullmatch(argument)
        if match is None:
            return None
        words = tuple(" ".join((word or "").split()) for word in match.groups())
        words = tuple(
            SPELT_ROLES[word] if parameter == ROLE else word
            for word, parameter in zip(words, self.parameters, strict=True)
        )
        return self.canonical(words) if all(words) else None

    def canonical(self, words: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same words, options in their one order."""
        if self.options is None:
            return words
        ordered = dict(zip(self.options, sorted(str(words[at]) for at in self.options), strict=True))
        return tuple(ordered.get(at, word) for at, word in enumerate(words))

    def spell(self, words: Sequence[Word]) -> str:
        """The argument as the release writes it."""
        spelt = [
            ROLES[str(word)] if parameter == ROLE else word
            for word, parameter in zip(words, self.parameters, strict=True)
        ]
        return self.template.format(*spelt)


ROLES = {"subject": ",s", "object": ",o", "either": ",_", "unsaid": ""}
"""Which end of a relation the named object is, and its spelling; the last two are those of `same color`."""
SPELT_ROLES = {spelling.removeprefix(","): role for role, spelling in ROLES.items()}
ROLE = Choice("role", tuple(ROLES))
_NAME, _RELATION = Text("name"), Text("relation")
_FIRST, _SECOND = Text("first option"), Text("second option")

NOTHING = Form((), re.compile(r""), "")
ASKED = Form((), re.compile(r"\??"), "?")
WORD = Form((Text("value"),), re.compile(r"([^|]+)"), "{}")
OPTIONS = Form((_FIRST, _SECOND), re.compile(r"([^|]+)\|([^|]+)"), "{}|{}", (0, 1))
RELATION = Form((_NAME, _RELATION, ROLE), re.compile(r"([^,|]+),([^,|]+)(?:,\s*([so_]))?"), "{},{}{}")
RELATIONS = Form(
    (_NAME, _FIRST, _SECOND, ROLE), re.compile(r"([^,|]+),([^,|]+)\|([^,|]+)(?:,\s*([so_]))?"), "{},{}|{}{}", (1, 2)
)


@dataclass(frozen=True)
class Family:
    """Operations that differ in their category only."""

    name: str
    categories: tuple[str, ...]
    form: Form
    inputs: tuple[str, ...]
    output: str


ONE, TWO = (OBJECTS,), (OBJECTS, OBJECTS)
BARE = ("",)
FAMILIES = (
    Family("select", BARE, WORD, (), OBJECTS),
    Family("relate", BARE, RELATION, ONE, OBJECTS),
    Family("filter", FILTERED, WORD, ONE, OBJECTS),
    Family("query", BARE, WORD, ONE, ANSWER),
    Family("choose", CHOSEN, OPTIONS, ONE, ANSWER),
    Family("choose", ("rel",), RELATIONS, ONE, ANSWER),
    Family("choose", COMPARATIVES, NOTHING, TWO, ANSWER),
    Family("common", BARE, NOTHING, TWO, ANSWER),
    Family("verify", VERIFIED, WORD, ONE, BOOLEAN),
    Family("verify", ("rel",), RELATION, ONE, BOOLEAN),
    Family("exist", BARE, ASKED, ONE, BOOLEAN),
    Family("same", BARE, WORD, ONE, BOOLEAN),
    Family("same", ("color", "material", "shape"), NOTHING, TWO, BOOLEAN),
    Family("different", BARE, WORD, ONE, BOOLEAN),
    Family("different", ("color", "shape"), NOTHING, TWO, BOOLEAN),
    Family("and", BARE, NOTHING, (BOOLEAN, BOOLEAN), BOOLEAN),
    Family("or", BARE, NOTHING, (BOOLEAN, BOOLEAN), BOOLEAN),
)


@dataclass(frozen=True)
class Row:
    """One of the 138: its name in programs and in the release, its family, its category, its form."""

    operation: Operation
    release_name: str
    family: str
    category: str
    form: Form


def _row(family: Family, category: str) -> Row:
    release_name = f"{family.name} {category}".rstrip()
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", release_name).replace(" ", "_").lower()
    operation = Operation(name, family.form.parameters, family.inputs, family.output)
    return Row(operation, release_name, family.name, category, family.form)


ROWS = {row.operation.name: row for row in (_row(family, each) for family in FAMILIES for each in family.categories)}
"""The table, by the operation's name in programs."""
_BY_RELEASE_NAME = {row.release_name: row for row in ROWS.values()}

DOMAIN = Domain("visual", version=1, operations=tuple(row.operation for row in ROWS.values()))

_BRACKETS = re.compile(r"(?:\s+\([^()]*\)|\s*\((?:-|[\d,\s]+)\))\s*$")
"""Ids behind an argument, also where the space before them is missing; `not(large)` is none."""
_NEGATION = re.compile(r"not\((.+)\)")


def program_of(semantic: Sequence[Mapping[str, Any]]) -> Program:
    """The program that a question's `semantic` list says."""
    if not isinstance(semantic, Sequence) or isinstance(semantic, str) or not semantic:
        raise DataError("'semantic' is not a list of steps")
    program: list[Call] = []
    for number, step in enumerate(semantic):
        try:
            program.append(_call(step, program))
        except _Bad as bad:
            raise DataError(f"step {number} of 'semantic': {bad}") from None
    return Program(tuple(program))


def semantic_of(program: Program) -> list[dict[str, Any]]:
    """A program as the release writes it, without ids."""
    return [
        {
            "operation": ROWS[call.operation].release_name,
            "dependencies": list(call.inputs),
            "argument": ROWS[call.operation].form.spell(call.words),
        }
        for call in calls(canonical(program).body)
    ]


def table_of(semantic: Sequence[Mapping[str, Any]]) -> RoutineTable:
    """The routine table of a `semantic` list."""
    return compile_program(program_of(semantic), DOMAIN)


def parse_visual(text: str, source: str = "<program>") -> Program:
    """A program as a person writes it, options in their one order."""
    return canonical(parse(text, DOMAIN, source))


def canonical(program: Program) -> Program:
    """The same program with the options of every `choose` in their one order."""
    return Program(
        tuple(replace(call, words=ROWS[call.operation].form.canonical(call.words)) for call in calls(program.body))
    )


def negated(word: str) -> tuple[bool, str]:
    """(whether it is `not(..)`, the word itself)."""
    match = _NEGATION.fullmatch(word)
    return (True, match[1]) if match else (False, word)


def routine_words(call: Call) -> tuple[str, ...]:
    """What a model may read of a routine: family, category, `not` or nothing, then its words, each a whole phrase.

    Family and category are words of their own, so that `verify_shape` can be understood without having been seen.
    """
    row = ROWS[call.operation]
    plain = [negated(str(word)) for word in call.words]
    negation = "not" if any(is_negated for is_negated, _ in plain) else ""
    return (row.family, row.category, negation, *(word for _, word in plain))


class _Bad(Exception):
    """A step that cannot be read."""


def _call(step: Mapping[str, Any], before: Sequence[Call]) -> Call:
    name, argument, inputs = _fields(step)
    row = _BY_RELEASE_NAME.get(name)
    if row is None:
        raise _Bad(f"unknown operation {quote(name)}")
    words = _words(row.release_name, _BRACKETS.sub("", argument).strip())
    if words is None:
        raise _Bad(f"'{name}' cannot have the argument {quote(argument)}")
    outputs = tuple(_output(number, before) for number in inputs)
    if outputs != row.operation.inputs:
        wanted, given = (" and ".join(types) or "nothing" for types in (row.operation.inputs, outputs))
        raise _Bad(f"'{name}' takes {wanted}, but its dependencies give {given}")
    return Call(row.operation.name, words, inputs)


@lru_cache(maxsize=1 << 16)
def _words(release_name: str, argument: str) -> tuple[str, ...] | None:
    """Arguments repeat without their ids, so what one says is remembered."""
    return _BY_RELEASE_NAME[release_name].form.read(argument)


def _fields(step: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
    try:
        name, argument, inputs = step["operation"], step["argument"], step["dependencies"]
    except (KeyError, TypeError):
        raise _Bad("expected 'operation', 'argument' and 'dependencies'") from None
    if not isinstance(name, str) or not isinstance(argument, str):
        raise _Bad("'operation' and 'argument' must be texts")
    if not isinstance(inputs, list) or any(type(number) is not int for number in inputs):
        raise _Bad("'dependencies' must be a list of step numbers")
    return " ".join(name.split()), argument, tuple(inputs)


def _output(number: int, before: Sequence[Call]) -> str:
    if not 0 <= number < len(before):
        raise _Bad(f"it depends on step {number}, which does not stand before it")
    return DOMAIN.operation(before[number].operation).output
