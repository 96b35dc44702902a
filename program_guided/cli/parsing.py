"""Options in two steps: what decides which other options there are (a task, a target, a model), then all of them.

Both steps are parsed by tyro. The options of a task are its own dataclass, so is the configuration of a model.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import field, fields, make_dataclass
from itertools import pairwise, takewhile
from typing import Any, TypeVar

import tyro

from program_guided.errors import UsageError

__all__ = ["STYLE", "asks_for_help", "own_options", "parse", "part_of", "read", "select"]

T = TypeVar("T")
HELP = {"-h", "--help"}
STYLE = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.CascadeSubcommandArgs)
PHRASES = {
    r"Unrecognized options: (?:.*?(?=--))?([^,]*).*": r"unknown option \1",
    r"invalid choice (.*) for argument '(?:\w+\.)?(.*)'\. Expected one of \((.*?),?\)\.": r"\2: \1 is not one of \3",
    r"Missing value for argument '(.*)'\. Expected (\d+) values\.": r"\1: a value is missing (\2 expected)",
    r"Error parsing (.*?): ": r"\1: ",
    r"invalid literal for int\(\) with base 10: (.*)": r"\1 is not a whole number",
    r"could not convert string to float: (.*)": r"\1 is not a number",
    r"no type matching .* could be instantiated from \[(.*)\]\.": r"\1 is not what is expected here",
}
"""Phrases of tyro, and ours."""


def select(kind: type[T], arguments: Sequence[str], prog: str) -> T:
    """The options of a dataclass among others, which are passed over."""
    found, _ = read(kind, prog, arguments, return_unknown_args=True, add_help=False)
    return found


def parse(prog: str, description: str, arguments: Sequence[str], parts: Mapping[str, Any]) -> Any:
    """All options: those of several dataclasses side by side, given as defaults (or as classes, where an option has
    none). The result has an attribute for each."""
    given = [_field(name, part) for name, part in parts.items()]
    together = make_dataclass("Options", given, kw_only=True)
    together.__doc__ = description
    return read(together, prog, arguments, description=description)


def read(kind: Any, prog: str, arguments: Sequence[str], **how: Any) -> Any:
    """Arguments as tyro reads them; `UsageError` says in one line what is wrong and how to get help."""
    said = io.StringIO()
    try:
        with redirect_stderr(said), _unbroken_lines(arguments):
            return tyro.cli(kind, prog=prog, args=list(arguments), config=STYLE, **how)
    except SystemExit as ended:
        if not ended.code:  # the help has been printed
            raise
    if asks_for_help(arguments) and arguments:  # of something that there is not
        return read(kind, prog, [each for each in arguments if each not in HELP], **how)
    problem, given = _problem(said.getvalue()), takewhile(lambda each: not each.startswith("-"), arguments)
    command = shlex.join([*prog.split(), *(each for each in given if repr(each) not in problem)])
    raise UsageError(f"{problem} (for help: {command} --help)")


@contextmanager
def _unbroken_lines(arguments: Sequence[str]) -> Iterator[None]:
    """Let tyro break no line of an error's box; help is as wide as the terminal."""
    before = os.environ.get("COLUMNS")
    if HELP.isdisjoint(arguments):
        os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS", None)
        if before is not None:
            os.environ["COLUMNS"] = before


def _problem(box: str) -> str:
    """The problem in tyro's box: its title above, advice in further sections below."""
    lines = [line.strip("│| ") for line in re.sub(r"\x1b\[[\d;]*m", "", box).splitlines()]
    sections: list[list[str]] = [[]]
    for line in lines:
        if set(line) <= set("─-") or line[:1] in "╭╰+":
            sections.append([])
        else:
            sections[-1].append(line)
    filled = [each for each in sections if each] or [["it cannot be read"]]
    framed = not {"╭", "+"}.isdisjoint(box)
    first, *advice = filled if framed or len(filled) == 1 else filled[1:]  # without a frame, the title is a section
    missing = [line for line in first[1:] if not line.endswith("(required)")]
    text = f"missing: {', '.join(missing)}" if first[0].startswith("Missing from") else first[0]
    for pattern, shown in PHRASES.items():
        text = re.sub(pattern, shown, text)
    meant = [line.split()[0] for each in advice for line in each if each[0].startswith("Perhaps") and line[:1] == "-"]
    return text + (f": did you mean {meant[0]}?" if meant else "")


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether a command is to explain itself."""
    return not arguments or not HELP.isdisjoint(arguments)


def _field(name: str, part: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    if isinstance(part, type):
        return name, part
    return name, type(part), field(default_factory=lambda: part)


def part_of(default: Any, name: str, leave_out: Sequence[str] = (), only: Sequence[str] | None = None) -> Any:
    """A dataclass of some of another one's options, with the same defaults and help; None if there are none."""
    kept = [each for each in fields(default) if each.name not in leave_out and (only is None or each.name in only)]
    if not kept:
        return None
    hints = _hints(type(default))
    helps = _helps(type(default))
    members = [
        (each.name, _with_help(hints[each.name], helps.get(each.name, "")), field(default=getattr(default, each.name)))
        for each in kept
    ]
    return make_dataclass(name, members, frozen=True)()


def own_options(task: Any, command: Any) -> dict[str, Any]:
    """The options of a task that a command has, as a part for `parse`."""
    left_out = (*task.training_options, *getattr(command, "LEAVE_OUT", ()))
    part = part_of(task, "Options", leave_out=left_out)
    return {} if part is None else {"task_options": part}


def _hints(kind: type) -> dict[str, Any]:
    import typing

    return typing.get_type_hints(kind, include_extras=True)


def _with_help(hint: Any, text: str) -> Any:
    from typing import Annotated

    return Annotated[hint, tyro.conf.arg(help=text)] if text else hint


def _helps(kind: type) -> dict[str, str]:
    """The texts that stand below the fields of a dataclass and of those it derives from."""
    import ast
    import inspect
    import textwrap

    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
        for one, other in pairwise(body):
            is_text = isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant)
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and is_text:
                found[one.target.id] = " ".join(str(other.value.value).split())  # type: ignore[attr-defined]
    return found
