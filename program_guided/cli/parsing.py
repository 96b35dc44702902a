"""Options in two steps: what decides which other options there are (a task, a target, a model), then all of them.

Both steps are parsed by tyro. The options of a task are its own dataclass, so is the configuration of a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, make_dataclass
from itertools import pairwise
from typing import Any, TypeVar

import tyro

__all__ = ["STYLE", "asks_for_help", "own_options", "parse", "part_of", "select"]

T = TypeVar("T")
STYLE = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.CascadeSubcommandArgs)


def select(kind: type[T], arguments: Sequence[str]) -> T:
    """The options of a dataclass among others, which are passed over."""
    found, _ = tyro.cli(kind, args=list(arguments), return_unknown_args=True, add_help=False, config=STYLE)
    return found


def parse(prog: str, description: str, arguments: Sequence[str], parts: Mapping[str, Any]) -> Any:
    """All options: those of several dataclasses side by side, given as defaults (or as classes, where an option has
    none). The result has an attribute for each."""
    given = [_field(name, part) for name, part in parts.items()]
    together = make_dataclass("Options", given, kw_only=True)
    together.__doc__ = description
    return tyro.cli(together, prog=prog, description=description, args=list(arguments), config=STYLE)


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether a command is to explain itself."""
    return not arguments or not {"-h", "--help"}.isdisjoint(arguments)


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
    part = part_of(task(), "Options", leave_out=left_out)
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
