"""`proto operations`: the language of a task, one line for each operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyro

from program_guided.cli.parsing import parse
from program_guided.cli.tasks import named_task
from program_guided.language.domain import Choice, Number, Operation, Parameter
from program_guided.output import Flag, print_json, print_table
from program_guided.registry import DEFAULT_TASK

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = "List the operations of a task: the results and words that each takes, its result, and its meaning."


@dataclass(frozen=True)
class Operations:
    """The task whose language it is."""

    task: tyro.conf.Positional[str] = DEFAULT_TASK
    """A built-in or installed task, path/to/file.py, or module:Class."""
    json: Flag = False
    """Print the list as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = parse("proto operations", DESCRIPTION, arguments, {"operations": Operations()}).operations
    domain = named_task(options.task).domain
    found = [_described(operation) for operation in domain.operations]
    if options.json:
        print_json({"task": domain.name, "operations": found})
        return 0
    rows = [
        [
            each["spelling"],
            ", ".join(each["inputs"]),
            "; ".join(f"{name}: {what}" for name, what in each["arguments"].items()),
            each["result"],
            each["about"],
        ]
        for each in found
    ]
    print_table(f"operations of {domain.name}", ("operation", "inputs", "arguments", "result", "meaning"), rows)
    return 0


def _described(operation: Operation) -> dict[str, Any]:
    return {
        "name": operation.name,
        "spelling": _spelling(operation),
        "inputs": list(operation.inputs),
        "arguments": {each.name: _accepts(each) for each in operation.words},
        "result": operation.output,
        "about": operation.about,
    }


def _spelling(operation: Operation) -> str:
    names = [each.name for each in operation.parameters]
    if operation.lookup:
        return " ".join([f"{operation.name}[{names[0]}]", *names[1:]])
    return f"{operation.name}({', '.join(names)})"


def _accepts(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        return " ".join(parameter.words)
    if isinstance(parameter, Number):
        return f"{parameter.low} to {parameter.high}"
    return "any text"
