"""What `proto run --task visual` does: a program answered on a scene of the embedded world, beside the oracle."""

from __future__ import annotations

import dataclasses
from typing import Any

from program_guided.cli.output import print_json
from program_guided.cli.run import Run
from program_guided.errors import DataError
from program_guided.files import renamed

__all__ = ["answer"]


def answer(options: Run) -> int:
    """1 if the answer is known to be wrong."""
    from program_guided.cli.checking import read_task_program
    from program_guided.learning.reasoner import Reasoner
    from program_guided.tasks.visual.domain import canonical

    if options.map is not None or options.inventory is not None or options.gif is not None:
        raise DataError("--map, --inventory and --gif are for minecraft")
    if options.seed < 0:
        raise DataError(f"--seed {options.seed}: a seed is not below 0")
    program = canonical(read_task_program(options.program, "visual"))
    reasoner = Reasoner.from_pretrained(options.agent or "visual")
    reasoner.check(program, str(options.program))
    reasoning = reasoner.run(program, options.seed)
    if options.png is not None:
        with renamed(options.png) as temporary:
            reasoning.picture(options.program.name).save(temporary, "PNG")
    last = reasoning.findings[-1]
    if options.json:
        findings = [dataclasses.asdict(finding) for finding in reasoning.findings]
        print_json({"program": str(options.program), "seed": options.seed, "answer": last.said, "routines": findings})
    else:
        _print(reasoning)
        if options.png is not None:
            print("wrote", options.png)
    return int(last.right is False)


def _print(reasoning: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("routine", "executor", "oracle", ""):
        table.add_column(heading)
    verdicts = {True: ("right", "green"), False: ("wrong", "red"), None: ("not known", "dim")}
    for each in reasoning.findings:
        verdict, style = verdicts[each.right]
        sure = f"{each.said} ({each.probability:.2f})"
        table.add_row(Text(each.routine), Text(sure), Text(each.truth), Text(verdict, style))
    Console().print(table)
    print(f"answer: {reasoning.answer}")
