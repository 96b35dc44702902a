"""Questions that a parser reads in a second on one core: constrained to programs of the domain, and not, in one run.

figures = measure(Path("out/minecraft-parser-0"), questions=64, seconds=3)
figures["constrained"], figures["unconstrained"], figures["cost"]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch

from benchmarks.timing import Timed, Watch, check_counts, one_core, speeds, unwatched
from program_guided.errors import DataError
from program_guided.learning.parser import BATCH, Parser
from program_guided.output import OptionalPath, OptionalText, print_table
from program_guided.tasks.parser import load_parser, shipped_parsers

__all__ = ["Options", "measure", "print_figures"]

FORMS = {"constrained": True, "unconstrained": False}


@dataclass(frozen=True)
class Options(Timed):
    """Options of the measurement."""

    parser: OptionalPath = None
    """A parser; left out, the first that ships."""
    task: OptionalText = None
    """Its task, if it is a file of one's own."""
    root: OptionalPath = None
    """Folder of real questions, for a parser of these."""
    split: str = "test"
    """The split whose questions are read."""
    questions: int = 64
    """Questions that are read."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        check_counts(questions=self.questions)
        parsers = shipped_parsers() if self.parser is None else [self.parser]
        if not parsers:
            raise DataError("no parser ships with this version; train one, and name it")
        task, parser = load_parser(parsers[0], self.task)
        given = task.questions(self.split) if self.root is None else task.real_questions(self.root, self.split)
        asked = [str(each[0]) for each in islice(given, self.questions)]
        return {"task": task.task_name, "split": self.split, **measure(parser, asked, self.seconds, show)}


def measure(parser: Parser, questions: list[str], seconds: float, show: Watch = unwatched) -> dict[str, Any]:
    """Questions a second in each form, one by one and in batches."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core():
            batches = [questions[first : first + BATCH] for first in range(0, len(questions), BATCH)]
            runs = {
                name: [partial(_read, parser, batch, constrained) for batch in batches]
                for name, constrained in FORMS.items()
            }
            one = {"one by one": [partial(_read, parser, questions[:1], True)]}
            found = speeds(runs | one, seconds, show)
    finally:
        torch.set_num_threads(threads)
    cost = 100 * (found["unconstrained"] / found["constrained"] - 1)
    return {"questions": len(questions), **found, "cost": cost}


def _read(parser: Parser, questions: list[str], constrained: bool) -> int:
    return len(parser.read(questions, constrained=constrained))


def print_figures(figures: dict[str, Any]) -> None:
    """A table for a person."""
    rows = [[name, f"{figures[name]:.1f}"] for name in (*FORMS, "one by one")]
    print_table(f"questions of {figures['task']}, {figures['split']}", ("decoding", "questions/s"), rows)
    print(f"the constraint takes {figures['cost']:.0f} % more time")
