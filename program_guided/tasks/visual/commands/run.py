"""`proto run` for a program about a picture: executes it on a scene of the embedded world, as does the oracle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from program_guided.errors import DataError
from program_guided.files import make_folder_of, renamed
from program_guided.language.syntax import Program
from program_guided.output import Flag, OptionalPath, print_json, print_table

if TYPE_CHECKING:
    from program_guided.tasks.visual.reasoner import Reasoning
    from program_guided.tasks.visual.task import Visual

__all__ = ["Run"]

VERDICTS = {True: "right", False: "wrong", None: "not known"}


@dataclass(frozen=True)
class Run:
    """Execute a program on a scene of the embedded world, and compare every result with the oracle's."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data", "features")

    seed: int = 0
    """Seed of the scene; left out, the one that the program names (# seed: 9), or 0."""
    png: OptionalPath = None
    """Draw the results to this PNG file."""
    json: Flag = False
    """Print the results as JSON."""

    def run(self, task: Visual, path: Path, program: Program, agent: str) -> int:
        """Return 1 if the answer differs from the oracle's."""
        from program_guided.tasks.executor import load_executor

        if self.seed < 0:
            raise DataError(f"seed {self.seed}: expected 0 or above")
        if self.png is not None:
            check_png(self.png)
        reasoner = load_executor(agent, task)
        reasoner.check(program, str(path))
        reasoning = reasoner.run(program, self.seed)
        if self.png is not None:
            with renamed(self.png) as temporary:
                reasoning.picture(path.name).save(temporary, "PNG")
        self._report(path, reasoning)
        return int(reasoning.right is False)

    def _report(self, path: Path, reasoning: Reasoning) -> None:
        if self.json:
            routines = [asdict(finding) for finding in reasoning.findings]
            about = {"program": str(path), "seed": self.seed}
            print_json({**about, "answer": reasoning.answer, "right": reasoning.right, "routines": routines})
            return
        rows = [
            [each.routine, f"{each.result} ({each.probability:.2f})", each.truth, VERDICTS[each.right]]
            for each in reasoning.findings
        ]
        print_table("", ("routine", "executor", "oracle", ""), rows)
        print(f"answer: {reasoning.answer} (seed {self.seed})")
        if self.png is not None:
            print("wrote", self.png)


def check_png(path: Path) -> None:
    """Raise `DataError` for a path that a picture cannot be written to."""
    if path.suffix.lower() != ".png":
        raise DataError(f"{path}: the file's name must end with .png")
    make_folder_of(path)
