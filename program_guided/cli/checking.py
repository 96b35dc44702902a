"""What `proto check` does; apart from the command itself so that `proto --help` need not load the language."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from program_guided.cli.check import Check
from program_guided.cli.output import counted, print_json
from program_guided.errors import DataError, ProgramError, ProgramGuidedError
from program_guided.language.parser import read_program
from program_guided.language.printer import count_control, count_tokens, print_call, print_program
from program_guided.language.syntax import Program
from program_guided.language.table import Kind, RoutineTable, compile_program
from program_guided.tasks.minecraft.domain import DOMAIN as MINECRAFT
from program_guided.tasks.visual.domain import DOMAIN as VISUAL

__all__ = ["read_task_program", "report"]

DOMAINS = {"minecraft": MINECRAFT, "visual": VISUAL}


def read_task_program(path: Path, task: str) -> Program:
    """A program of a task; one of another task is told apart from one that is wrong."""
    try:
        return read_program(path, DOMAINS[task])
    except ProgramError:
        for other in DOMAINS.keys() - {task}:
            with suppress(ProgramError):
                read_program(path, DOMAINS[other])
                raise DataError(f"{path}: is a program of {other}, not of {task}; add --task {other}") from None
        raise


def report(options: Check) -> int:
    """1 if any file has a mistake."""
    if not options.files:
        raise DataError("no file to check; say which, as in: proto check examples/bridge.prg")
    reports = [_report(options, path) for path in options.files]
    if options.json:
        print_json({"files": reports})
    return int(not all(report["valid"] for report in reports))


def _report(options: Check, path: Path) -> dict[str, Any]:
    domain = DOMAINS[options.task]
    try:
        program = read_task_program(path, options.task)
    except ProgramGuidedError as error:
        problems = [vars(problem) for problem in error.problems] if isinstance(error, ProgramError) else []
        if not options.json:
            print(error if isinstance(error, ProgramError) else f"error: {error}", file=sys.stderr)
        return {"file": str(path), "valid": False, "problems": problems or [{"message": str(error)}]}
    table = compile_program(program, domain)
    names = [call.result for call in table.calls]
    figures = {
        "file": str(path),
        "valid": True,
        "tokens": count_tokens(program, domain),
        "routines": len(table),
        "control_flows": count_control(program.body),
        "program": print_program(program, domain),
        "table": [_row(table, row, print_call(table.calls[row], domain, names)) for row in range(len(table))],
    }
    if not options.json:
        _print(options, path, figures)
    return figures


def _print(options: Check, path: Path, figures: dict[str, Any]) -> None:
    flows = (
        "without control flow" if not figures["control_flows"] else f"{figures['control_flows']} of them if or while"
    )
    print(f"{path}: a program of {counted(figures['routines'], 'routine')} ({flows}), {figures['tokens']} tokens")
    if options.canonical:
        print(figures["program"], end="")
    if options.table:
        _print_table(figures["table"])


def _row(table: RoutineTable, row: int, call: str) -> dict[str, Any]:
    return {
        "routine": row,
        "call": call,
        "words": list(table.words[row]),
        "kind": Kind(table.kind[row]).name.lower(),
        "on_true": int(table.on_true[row]),
        "on_false": int(table.on_false[row]),
        "parents": list(table.parents[row]),
        "exit": row in table.exits,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for heading in ("routine", "call", "kind", "then", "if false", "parents", ""):
        shown.add_column(heading)

    def target(row: int) -> str:
        return str(row) if row < len(rows) else "end"

    for row in rows:
        other = target(row["on_false"]) if row["kind"] != "step" else ""
        note = " ".join(["entrance"] * (row["routine"] == 0) + ["exit"] * row["exit"])
        parents = ", ".join(map(str, row["parents"]))
        cells = (str(row["routine"]), row["call"], row["kind"], target(row["on_true"]), other, parents, note)
        shown.add_row(*(cell.replace("[", r"\[") for cell in cells))
    Console().print(shown)
