"""From the signatures of a task's methods to its language Γ and its result types O.

    @operation
    def filter_color(self, scene, some: Objects, color: Color) -> Objects: ...

An annotation is `bool`, a `Literal` of words, `Annotated[int, Range(0, 9)]`, `str` (free text as an argument, an answer
out of the training data's as a result), `Objects` (a set of parts of the specification), or `Annotated[..., T]` with a
`ResultType` T of one's own. An argument is a word where its type has words (`filter_color(some, red)`), and a result of
another routine where some operation gives that type (`equal_color(a, b)`).
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, BOOLEAN, Choice, Input, Number, Operation, Parameter, Text
from program_guided.language.syntax import Call
from program_guided.learning.results import Action, Boolean, ResultType, Subset, Value
from program_guided.learning.results import Answer as AnswerType
from program_guided.models.config import VALUE

__all__ = [
    "Answer",
    "Method",
    "Objects",
    "Range",
    "Signatures",
    "arguments_of",
    "behaviour",
    "condition",
    "operation",
    "read_signatures",
]

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "_program_guided_kind"
PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
OPERATION, BEHAVIOUR, CONDITION = "operation", "behaviour", "condition"

Objects = Annotated[Collection[int], Subset("Objects")]
"""A set of parts of the specification, by their numbers from 0."""
Answer = Annotated[str, AnswerType()]
"""One of the answers that the training data gives."""


@dataclass(frozen=True)
class Range:
    """Whole numbers from low to high, both included: `Annotated[int, Range(0, 9)]`."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise DataError(f"Range({self.low}, {self.high}): the first number is the lowest")


def operation(function: Function) -> Function:
    """Mark a method as an operation: its signature is its language, its body the oracle. It returns the result, or None
    where that is not known."""
    setattr(function, MARK, OPERATION)
    return function


def behaviour(function: Function) -> Function:
    """Mark a method of a WorldTask as a behaviour: called after every step with the world, it says whether the routine
    has ended."""
    setattr(function, MARK, BEHAVIOUR)
    return function


def condition(function: Function) -> Function:
    """Mark a method of a WorldTask as a condition: it answers true or false."""
    setattr(function, MARK, CONDITION)
    return function


@dataclass(frozen=True)
class Method:
    """One operation of a task."""

    name: str
    kind: str
    arguments: tuple[tuple[str, ResultType | None], ...]
    """Names and types; None for free text."""
    output: ResultType | None
    """None for behaviours."""
    about: str = ""
    """First line of its docstring."""


@dataclass(frozen=True)
class Signatures:
    """Language and result types of a task's methods."""

    operations: tuple[Operation, ...]
    results: Mapping[str, ResultType]
    """Result types that operations give, by name."""
    methods: Mapping[str, Method]


def read_signatures(task: type, actions: tuple[str, ...] = ()) -> Signatures:
    """The language and the result types of a task's class; one clear error for a signature that cannot be read."""
    marked = {name: each for name, each in _members(task).items() if hasattr(each, MARK)}
    if not marked:
        raise DataError(f"{task.__name__}: has no operations; mark methods with @operation, @behaviour or @condition")
    for name in marked:
        if any(hasattr(base, name) for base in task.__mro__ if base.__module__.startswith("program_guided.tasks.")):
            raise DataError(
                f"{task.__name__}.{name}: {name!r} is a method of program_guided's tasks; give the operation another "
                "name"
            )
    methods = _unified({name: _method(task, name, function) for name, function in marked.items()})
    outputs = [method.output for method in methods.values() if method.output is not None]
    results = _distinct(task, outputs)
    ordered = {ACTION: Action(values=actions)} if any(each.kind == BEHAVIOUR for each in methods.values()) else {}
    types = {**ordered, **results}
    operations = tuple(_operation(task, method, results) for method in methods.values())
    return Signatures(operations, types, methods)


def _unified(methods: Mapping[str, Method]) -> dict[str, Method]:
    """The same, where types of the same values are one type, whatever each is called where it is written."""
    names: dict[tuple[Any, ...], str] = {}

    def unified(kind: ResultType | None) -> ResultType | None:
        if type(kind) is not Value:
            return kind
        return replace(kind, name=names.setdefault(kind.values, kind.name))

    return {
        name: replace(
            method,
            output=unified(method.output),
            arguments=tuple((argument, unified(kind)) for argument, kind in method.arguments),
        )
        for name, method in methods.items()
    }


def _members(task: type) -> dict[str, Any]:
    """Methods by name in the order of their definition, those of base classes first."""
    found: dict[str, Any] = {}
    for base in reversed(task.__mro__):
        found.update(vars(base))
    return found


def _method(task: type, name: str, function: Any) -> Method:
    kind = getattr(function, MARK)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DataError(f"{task.__name__}.{name}: {error}; define types at the top of the file") from None
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) < 2 or any(each.kind not in PLAIN for each in parameters):
        raise DataError(
            f"{task.__name__}.{name}: expected the arguments self, the specification or the world, and then those of "
            "the routine, each by its name (no *arguments)"
        )
    names = [each.name for each in parameters[2:]]
    arguments = tuple((each, _argument(task, name, each, function, hints)) for each in names)
    about = (inspect.getdoc(function) or "").partition("\n")[0]
    if kind == BEHAVIOUR:
        return Method(name, kind, arguments, None, about)
    output = Boolean() if kind == CONDITION else _output(task, name, function, hints)
    return Method(name, kind, arguments, output, about)


def _output(task: type, name: str, function: Any, hints: Mapping[str, Any]) -> ResultType:
    if "return" not in hints:
        raise DataError(f"{task.__name__}.{name}: has no return annotation; write one, as in: def {name}(...) -> bool")
    kinds = [each for each in get_args(hints["return"]) if each is not NoneType]
    optional = get_origin(hints["return"]) in (Union, UnionType) and len(kinds) == 1  # None: not known
    given = kinds[0] if optional else hints["return"]
    return AnswerType() if given is str else _type_of(task, f"{name} returns", given, function)


def _argument(task: type, name: str, argument: str, function: Any, hints: Mapping[str, Any]) -> ResultType | None:
    if argument not in hints:
        raise DataError(
            f"{task.__name__}.{name}: the argument {argument!r} has no type; write it as in: {argument}: Objects"
        )
    return None if hints[argument] is str else _type_of(task, f"{name}, {argument}:", hints[argument], function)


def _type_of(task: type, place: str, annotation: Any, function: Any) -> ResultType:
    """The result type of an annotation."""
    if annotation is bool:
        return Boolean()
    if get_origin(annotation) is Literal:
        return Value(_alias(annotation, function), tuple(get_args(annotation)))
    if get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, ResultType):
                return extra
            if isinstance(extra, Range):
                return Value(_alias(annotation, function), tuple(range(extra.low, extra.high + 1)))
    shown = getattr(annotation, "__name__", str(annotation))
    expected = "bool, a Literal of words, Annotated[int, Range(0, 9)], str, Objects, or Annotated[..., a ResultType]"
    raise DataError(f"{task.__name__}.{place} {shown} is no result type; expected {expected}")


def _alias(annotation: Any, function: Any) -> str:
    """The name that an annotation has in the task's file: `Color = Literal["red", "blue"]` is Color."""
    for name, value in function.__globals__.items():
        if not name.startswith("_") and value == annotation and type(value) is type(annotation):
            return f"{name}_" if name in (ACTION, BOOLEAN, VALUE) else name
    values = get_args(annotation)
    return (
        "Integer"
        if get_origin(annotation) is Annotated
        else "_".join(str(value) for value in values[:3]).replace(".", "_")
    )


def _distinct(task: type, outputs: list[ResultType]) -> dict[str, ResultType]:
    results: dict[str, ResultType] = {}
    for output in outputs:
        if results.setdefault(output.name, output) != output:
            raise DataError(
                f"{task.__name__}: two different result types are called {output.name}; give one another name"
            )
    return results


def _operation(task: type, method: Method, results: Mapping[str, ResultType]) -> Operation:
    parameters = tuple(_parameter(task, method.name, name, kind, results) for name, kind in method.arguments)
    output = ACTION if method.output is None else method.output.name
    return Operation(method.name, parameters, output, about=method.about)


def _parameter(
    task: type, operation: str, name: str, kind: ResultType | None, results: Mapping[str, ResultType]
) -> Parameter:
    if kind is None:
        return Text(name)
    given = kind.name if kind.name in results else None
    if isinstance(kind, Value) and _is_range(kind.values):
        return Number(name, kind.values[0], kind.values[-1], given)
    if isinstance(kind, Value):
        return Choice(name, tuple(str(value) for value in kind.values), given)
    if given is None:
        raise DataError(
            f"{task.__name__}.{operation}, {name}: no operation gives {kind.name}, so it can never be called"
        )
    return Input(name, kind.name)


def _is_range(values: Sequence[Any]) -> bool:
    whole = all(type(value) is int for value in values)
    return whole and tuple(values) == tuple(range(values[0], values[-1] + 1))


def arguments_of(method: Method, call: Call, inputs: Sequence[Any]) -> list[Any]:
    """A routine's arguments as its method takes them: words as values, and the results of its inputs."""
    values = iter(inputs)
    return [
        _as_value(argument, kind) if isinstance(argument, str | int) else next(values)
        for argument, (_, kind) in zip(call.arguments, method.arguments, strict=True)
    ]


def _as_value(word: str | int, kind: ResultType | None) -> Any:
    """The value that a word stands for: that of a Literal, or the word itself."""
    values = getattr(kind, "values", ())
    return next((value for value in values if value == word or str(value) == word), word)
