"""`proto check`: are these texts programs? Prints every mistake with its place, or the routine table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from program_guided.cli.parsing import parse
from program_guided.errors import ProgramError, ProgramGuidedError, UsageError
from program_guided.output import Flag, OptionalText, counted, print_json

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = "Check programs, and show how they were understood."


@dataclass(frozen=True)
class Check:
    """Programs to check."""

    files: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Files that hold a program each, names of examples, or - for standard input; their language tells the task."""
    program: OptionalText = None
    """The program itself, instead of a file."""
    task: OptionalText = None
    """A built-in or installed task, path/to/file.py, or module:Class, if the language is to be that of a task."""
    table: Flag = False
    """Print the routine table: each routine, where the pointer goes from it, and its parents."""
    canonical: Flag = False
    """Print the program in its canonical spelling."""
    json: Flag = False
    """Print all of it as JSON."""


def main(arguments: Sequence[str]) -> int:
    """1 if any file has a mistake."""
    options = parse("proto check", DESCRIPTION, arguments, {"check": Check()}).check
    given = options.files if options.program is None else (*options.files, None)
    if not given:
        raise UsageError("no file to check; name one, as in: proto check bridge")
    reports = [_report(options, path) for path in given]
    if options.json:
        print_json({"files": reports})
    return int(not all(report["valid"] for report in reports))


def _report(options: Check, path: Path | None) -> dict[str, Any]:
    from program_guided.cli.tasks import named_task, program_of, read_source

    try:
        source = read_source(path, options.program)
        task, program = program_of(source, None if options.task is None else named_task(options.task))
    except ProgramGuidedError as error:
        problems = [vars(problem) for problem in error.problems] if isinstance(error, ProgramError) else []
        if not options.json:
            print(error if isinstance(error, ProgramError) else f"error: {error}", file=sys.stderr)
        return {"file": str(path or "<program>"), "valid": False, "problems": problems or [{"message": str(error)}]}
    figures = {"file": str(source.path), "valid": True, **_figures(task, program)}
    if not options.json:
        _print(options, figures)
    return figures


def _figures(task: Any, program: Any) -> dict[str, Any]:
    from program_guided.language.printer import count_control, count_tokens, print_call, print_program
    from program_guided.language.table import compile_program

    domain = task.domain
    table = compile_program(program, domain)
    names = [call.result for call in table.calls]
    return {
        "task": domain.name,
        "tokens": count_tokens(program, domain),
        "routines": len(table),
        "control_flows": count_control(program.body),
        "program": print_program(program, domain),
        "table": [_row(table, row, print_call(table.calls[row], domain, names)) for row in range(len(table))],
    }


def _print(options: Check, figures: Mapping[str, Any]) -> None:
    flows = (
        "without control flow" if not figures["control_flows"] else f"{figures['control_flows']} of them if or while"
    )
    routines = counted(figures["routines"], "routine")
    print(f"{figures['file']}: a program of {figures['task']}, {routines} ({flows}), {figures['tokens']} tokens")
    if options.canonical:
        print(figures["program"], end="")
    if options.table:
        _print_table(figures["table"])


def _row(table: Any, row: int, call: str) -> dict[str, Any]:
    from program_guided.language.table import Kind

    return {
        "routine": row,
        "call": call,
        "words": list(table.words[row]),
        "kind": Kind(table.kind[row]).name.lower(),
        "on_true": int(table.on_true[row]),
        "on_false": int(table.on_false[row]),
        "inputs": [int(each) for each in table.inputs[row]],
        "parents": list(table.parents[row]),
        "exit": row in table.exits,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Routines are numbered from 1, as the results that have no name are."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for heading in ("routine", "call", "kind", "then", "if false", "parents", ""):
        shown.add_column(heading)

    def target(row: int) -> str:
        return str(row + 1) if row < len(rows) else "end"

    for row in rows:
        other = target(row["on_false"]) if row["kind"] != "step" else ""
        note = " ".join(["entrance"] * (row["routine"] == 0) + ["exit"] * row["exit"])
        parents = ", ".join(map(target, row["parents"]))
        cells = (target(row["routine"]), row["call"], row["kind"], target(row["on_true"]), other, parents, note)
        shown.add_row(*(cell.replace("[", r"\[") for cell in cells))
    Console().print(shown)
