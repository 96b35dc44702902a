"""The language of visual questions: GQA's 138 operations as families x categories, and its `semantic` lists.

A category or comparative that is none of these (`choose bigger` of testdev) is a word of its family's open operation:
`choose_comparative([1], bigger, [2])`, `verify_attribute([1], sharpness, sharp)`.

Departures from the paper (Table "program_gqa"): the operations are those of the release, each with its category, so
that `verify_shape` and `verify_color` are distinguished. Object ids (or `-` for "absent") that the release writes in
brackets behind an argument leak answers: they are dropped on reading, and so is the order of `choose`'s options.

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
from program_guided.language.domain import BOOLEAN, Choice, Domain, Input, Operation, Parameter, Text
from program_guided.language.parser import parse
from program_guided.language.syntax import Argument, Call, Program, Ref, Word, flatten, map_calls
from program_guided.language.table import RoutineTable, compile_program
from program_guided.learning.results import Answer, Boolean, ResultType, Subset

__all__ = [
    "ANSWER",
    "ATTRIBUTE_CATEGORIES",
    "COMPARATIVES",
    "DOMAIN",
    "OBJECTS",
    "OPEN_ROWS",
    "RESULTS",
    "ROWS",
    "Form",
    "Row",
    "canonical",
    "found_ids",
    "negated",
    "parse_visual",
    "program_of",
    "results_of",
    "routine",
    "routine_words",
    "row_of",
    "semantic_of",
    "table_of",
    "with_words",
]

OBJECTS = "Objects"
ANSWER = "Answer"

SHARED_CATEGORIES = (
    "activity,age,brightness,cleanliness,color,company,depth,face expression,fatness,flavor,gender,hardness,height,"
    "hposition,length,material,opaqness,pattern,pose,race,realism,shape,size,sportActivity,state,texture,thickness,"
    "tone,vposition,weather,weight,width"
)
"""Categories that filter, verify and choose share."""


def _categories(*more: str) -> tuple[str, ...]:
    """Categories of a family; the empty one is the bare operation."""
    return tuple(sorted({"", *SHARED_CATEGORIES.split(","), *more}))


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
STRUCTURAL = {
    "query": "query",
    "verify": "verify",
    "exist": "verify",
    "choose": "choose",
    "and": "logical",
    "or": "logical",
    "same": "compare",
    "different": "compare",
    "common": "compare",
}
"""Family of the last operation -> structural type of a question."""
ATTRIBUTE_CATEGORIES = tuple(sorted({*FILTERED, *VERIFIED, *CHOSEN} - {"", "name", "type"}))


@dataclass(frozen=True)
class Form:
    """Spelling of an argument in the release: the pattern that reads it and the template that writes it."""

    parameters: tuple[Parameter, ...]
    pattern: re.Pattern[str]
    template: str
    options: tuple[int, int] | None = None
    """Indices of two words whose order is irrelevant; they are sorted."""

    @property
    def has_role(self) -> bool:
        """True if the last word is the role of a relation."""
        return bool(self.parameters) and self.parameters[-1] == ROLE

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
        if self.has_role and words[-1] == "unsaid" and not all(each.startswith("same ") for each in words[1:-1]):
            return None  # the role was cut off
        return self.canonical(words) if all(words) else None

    def canonical(self, words: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same words, options sorted."""
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
"""Role of the named object in a relation -> its spelling; the last two occur with `same color` and the like."""
SPELT_ROLES = {spelling.removeprefix(","): role for role, spelling in ROLES.items()}
ROLE = Choice("role", tuple(ROLES))
_NAME, _RELATION = Text("name"), Text("relation")
_FIRST, _SECOND = Text("first option"), Text("second option")

NOTHING = Form((), re.compile(r""), "")
QUESTION_MARK = Form((), re.compile(r"\??"), "?")
WORD = Form((Text("value", ("not",)),), re.compile(r"([^|]+)"), "{}")
OPTIONS = Form((_FIRST, _SECOND), re.compile(r"([^|]+)\|([^|]+)"), "{}|{}", (0, 1))
RELATION = Form((_NAME, _RELATION, ROLE), re.compile(r"([^,|]+),([^,|]+)(?:,\s*([so_]))?"), "{},{}{}")
RELATIONS = Form(
    (_NAME, _FIRST, _SECOND, ROLE), re.compile(r"([^,|]+),([^,|]+)\|([^,|]+)(?:,\s*([so_]))?"), "{},{}|{}{}", (1, 2)
)


@dataclass(frozen=True)
class Family:
    """Operations that differ only in their category."""

    name: str
    categories: tuple[str, ...]
    form: Form
    inputs: tuple[str, ...]
    output: str
    about: str


ONE, TWO = (OBJECTS,), (OBJECTS, OBJECTS)
BARE = ("",)
FAMILIES = (
    Family("select", BARE, WORD, (), OBJECTS, "all objects of this name"),
    Family("relate", BARE, RELATION, ONE, OBJECTS, "objects of this name in this relation to the input"),
    Family("filter", FILTERED, WORD, ONE, OBJECTS, "those objects of the input that are this"),
    Family("query", BARE, WORD, ONE, ANSWER, "value of this attribute of the input"),
    Family("choose", CHOSEN, OPTIONS, ONE, ANSWER, "which of two things the input is"),
    Family("choose", ("rel",), RELATIONS, ONE, ANSWER, "in which of two relations the input is to an object"),
    Family("choose", COMPARATIVES, NOTHING, TWO, ANSWER, "which of two inputs is more so"),
    Family("common", BARE, NOTHING, TWO, ANSWER, "attribute in which two inputs are equal"),
    Family("verify", VERIFIED, WORD, ONE, BOOLEAN, "whether the input is this"),
    Family("verify", ("rel",), RELATION, ONE, BOOLEAN, "whether the input is in this relation to an object"),
    Family("exist", BARE, QUESTION_MARK, ONE, BOOLEAN, "whether the input has any object"),
    Family("same", BARE, WORD, ONE, BOOLEAN, "whether the objects of the input are equal in this attribute"),
    Family("same", ("color", "material", "shape"), NOTHING, TWO, BOOLEAN, "whether two inputs are equal in this"),
    Family("different", BARE, WORD, ONE, BOOLEAN, "whether the objects of the input differ in this attribute"),
    Family("different", ("color", "shape"), NOTHING, TWO, BOOLEAN, "whether two inputs differ in this"),
    Family("and", BARE, NOTHING, (BOOLEAN, BOOLEAN), BOOLEAN, "whether both inputs are true"),
    Family("or", BARE, NOTHING, (BOOLEAN, BOOLEAN), BOOLEAN, "whether any input is true"),
)


OPEN_FAMILIES = (
    Family("filter", ("attribute",), WORD, ONE, OBJECTS, "those objects of the input that are this, in any category"),
    Family("choose", ("attribute",), OPTIONS, ONE, ANSWER, "which of two things the input is, in any category"),
    Family("choose", ("comparative",), NOTHING, TWO, ANSWER, "which of two inputs is more so, in any respect"),
    Family("verify", ("attribute",), WORD, ONE, BOOLEAN, "whether the input is this, in any category"),
    Family("same", ("attribute",), NOTHING, TWO, BOOLEAN, "whether two inputs are equal, in any category"),
    Family("different", ("attribute",), NOTHING, TWO, BOOLEAN, "whether two inputs differ, in any category"),
)
"""Operations whose first word is their category."""


@dataclass(frozen=True)
class Row:
    """An operation: its name in programs and in the release, its family, category and form."""

    operation: Operation
    release_name: str
    family: str
    category: str
    form: Form

    @property
    def compares(self) -> bool:
        """True if it chooses the one of two inputs that is more so; the comparative may be unknown elsewhere."""
        return self.family == "choose" and len(self.operation.inputs) == 2

    @property
    def structural(self) -> str:
        """Structural type of questions whose last operation it is."""
        return "compare" if self.compares else STRUCTURAL[self.family]


def _row(family: Family, category: str, *further: Parameter) -> Row:
    release_name = f"{family.name} {category}".rstrip()
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", release_name).replace(" ", "_").lower()
    inputs = tuple(Input(each.lower(), each) for each in family.inputs)
    parameters = (*inputs[:1], *further, *family.form.parameters, *inputs[1:])
    operation = Operation(name, parameters, family.output, about=family.about, unordered=_unordered(family, parameters))
    return Row(operation, release_name, family.name, category, family.form)


def _unordered(family: Family, parameters: Sequence[Parameter]) -> tuple[tuple[int, int], ...]:
    """Options of a choice, and the two inputs of whatever takes two: all such operations are symmetric."""
    words = [at for at, each in enumerate(parameters) if each.is_word][-len(family.form.parameters) :]
    inputs = [at for at, each in enumerate(parameters) if not each.is_word]
    options = [] if family.form.options is None else [(words[family.form.options[0]], words[family.form.options[1]])]
    return (*options, *([(inputs[0], inputs[1])] if len(inputs) == 2 else []))


ROWS = {row.operation.name: row for row in (_row(family, each) for family in FAMILIES for each in family.categories)}
"""Rows of the 138 operations, by their names in programs."""
_BY_RELEASE_NAME = {row.release_name: row for row in ROWS.values()}
OPEN_ROWS = {
    row.operation.name: row
    for row in (_row(family, each, Text("category")) for family in OPEN_FAMILIES for each in family.categories)
}
"""The same of operations whose category is their first word."""


def row_of(call: Call) -> tuple[Row, tuple[Word, ...]]:
    """The row of a call, and its words; the category of an open operation is part of the row."""
    if call.operation in ROWS:
        return ROWS[call.operation], call.words
    row, (category, *words) = OPEN_ROWS[call.operation], call.words
    return replace(row, category=str(category), release_name=f"{row.family} {category}"), tuple(words)


_BRACKETS = re.compile(r"(?:\s+\([^()]*\)|\s*\((?:-|[0-9,\s]+)\))\s*$")
"""Ids behind an argument, with or without a space before them; `not(large)` does not match."""
_IDS = re.compile(r"\((-|[0-9,\s]+)\)\s*$")
_NEGATION = re.compile(r"not\((.+)\)")


def program_of(semantic: Sequence[Mapping[str, Any]]) -> Program:
    """The program of a question's `semantic` list."""
    if not isinstance(semantic, Sequence) or isinstance(semantic, str) or not semantic:
        raise DataError("'semantic' is not a list of steps: expected at least one")
    program: list[Call] = []
    for number, step in enumerate(semantic):
        try:
            program.append(_call(step, program))
        except _StepError as error:
            raise DataError(f"step {number} of 'semantic': {error}") from None
    return Program(tuple(program))


def found_ids(semantic: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...] | None]:
    """Ids of the objects that each step finds, as they stand in brackets: none for `(-)`; None where there are no
    brackets, or where the step finds no objects. They are targets of dense supervision, and never inputs."""
    return [_ids(str(step["argument"])) if _finds_objects(step) else None for step in semantic]


def _finds_objects(step: Mapping[str, Any]) -> bool:
    return str(step["operation"]).split(" ")[0] in ("select", "relate", "filter")


def _ids(argument: str) -> tuple[str, ...] | None:
    match = _IDS.search(argument)
    return (
        None if match is None else tuple(each.strip() for each in match[1].split(",") if each.strip() not in ("", "-"))
    )


def semantic_of(program: Program) -> list[dict[str, Any]]:
    """A program as the release writes it, without ids."""
    semantic = []
    for call in flatten(canonical(program).body):
        row, words = row_of(call)
        argument = row.form.spell(words)
        semantic.append({"operation": row.release_name, "dependencies": list(call.inputs), "argument": argument})
    return semantic


def table_of(semantic: Sequence[Mapping[str, Any]]) -> RoutineTable:
    """The routine table of a `semantic` list."""
    return compile_program(program_of(semantic), DOMAIN)


def parse_visual(text: str, source: str = "<program>") -> Program:
    """Parse the text of a program; options are sorted."""
    return canonical(parse(text, DOMAIN, source))


def canonical(program: Program) -> Program:
    """The same program with the options of every `choose` sorted."""
    return Program(map_calls(program.body, _canonical))


def routine(operation: str, words: Sequence[Word], inputs: Sequence[int]) -> Call:
    """Build a call from its words and the numbers of the calls whose results it takes."""
    remaining, numbers = iter(words), iter(inputs)
    arguments: list[Argument] = []
    for parameter in DOMAIN.operation(operation).parameters:
        arguments.append(next(remaining) if parameter.is_word else Ref(next(numbers)))
    return Call(operation, tuple(arguments))


def with_words(call: Call, words: Sequence[Word]) -> Call:
    """The same call with other words."""
    remaining = iter(words)
    arguments = (next(remaining) if isinstance(argument, str | int) else argument for argument in call.arguments)
    return replace(call, arguments=tuple(arguments))


def negated(word: str) -> tuple[bool, str]:
    """Split a word into (True if it is `not(..)`, the word itself)."""
    match = _NEGATION.fullmatch(word)
    return (True, match[1]) if match else (False, word)


def routine_words(call: Call) -> tuple[str, ...]:
    """Words of a routine that a model reads: family, category, `not` or "", the role of a relation or "", then its
    other words, each a whole phrase.

    Family and category are separate words, so that a model can generalise to a `verify_shape` that train lacks.
    """
    row, words_of_call = row_of(call)
    plain = [negated(str(word)) for word in words_of_call]
    negation = "not" if any(is_negated for is_negated, _ in plain) else ""
    words = [word for _, word in plain]
    role = words.pop() if row.form.has_role else ""
    return (row.family, row.category, negation, role, *words)


OPERATION_WORDS = 4
WORDS = 8
"""L of the paper; the longest routine here has seven words."""
DOMAIN = Domain(
    "visual",
    version=1,
    operations=tuple(row.operation for row in (ROWS | OPEN_ROWS).values()),
    routine_words=routine_words,
    operation_words=OPERATION_WORDS,
    width=WORDS,
)


RESULTS = (OBJECTS, BOOLEAN, ANSWER)
"""Result types, in the order of their heads."""


def results_of(answers: Sequence[str]) -> dict[str, ResultType]:
    """Result types with these possible answers."""
    return {OBJECTS: Subset(OBJECTS), BOOLEAN: Boolean(), ANSWER: Answer(values=tuple(answers))}


def _canonical(call: Call) -> Call:
    row, words = row_of(call)
    before = call.words[: len(call.words) - len(words)]
    return call if row.form.options is None else with_words(call, (*before, *row.form.canonical(words)))


class _StepError(Exception):
    """A step that cannot be read."""


def _call(step: Mapping[str, Any], before: Sequence[Call]) -> Call:
    name, argument, inputs = _fields(step)
    row, category = _row_named(name, len(inputs))
    words = _words(row.operation.name, _BRACKETS.sub("", argument).strip())
    if words is None:
        raise _StepError(f"'{name}' cannot have the argument {quote(argument)}")
    outputs = tuple(_output(number, before) for number in inputs)
    if outputs != row.operation.inputs:
        expected, found = (" and ".join(types) or "nothing" for types in (row.operation.inputs, outputs))
        raise _StepError(f"'{name}' takes {expected}, but its dependencies give {found}")
    return routine(row.operation.name, (*category, *words), inputs)


def _row_named(name: str, inputs: int) -> tuple[Row, tuple[str, ...]]:
    """The row of an operation of the release, and its category if that is a word of an open operation."""
    if name in _BY_RELEASE_NAME:
        return _BY_RELEASE_NAME[name], ()
    family, _, category = name.partition(" ")
    for row in OPEN_ROWS.values():
        if category and row.family == family and len(row.operation.inputs) == inputs:
            return row, (category,)
    raise _StepError(f"unknown operation {quote(name)}")


@lru_cache(maxsize=1 << 16)
def _words(operation: str, argument: str) -> tuple[str, ...] | None:
    """Words of an argument; cached, since arguments without ids repeat."""
    return (ROWS | OPEN_ROWS)[operation].form.read(argument)


def _fields(step: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
    try:
        name, argument, inputs = step["operation"], step["argument"], step["dependencies"]
    except (KeyError, TypeError):
        raise _StepError("expected 'operation', 'argument' and 'dependencies'") from None
    if not isinstance(name, str) or not isinstance(argument, str):
        raise _StepError("'operation' and 'argument' must be texts")
    if not isinstance(inputs, list) or any(type(number) is not int for number in inputs):
        raise _StepError("'dependencies' must be a list of step numbers")
    return " ".join(name.split()), argument, tuple(inputs)


def _output(number: int, before: Sequence[Call]) -> str:
    if not 0 <= number < len(before):
        raise _StepError(f"it depends on step {number}, which is not an earlier step")
    return DOMAIN.operation(before[number].operation).output
