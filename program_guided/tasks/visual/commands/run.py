"""`proto run` for a program about a picture: executes it on a scene of the embedded world, as does the oracle, or on a
picture of one's own data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from program_guided.errors import DataError, quote
from program_guided.files import make_folder_of, renamed
from program_guided.language.syntax import Program
from program_guided.output import Flag, OptionalPath, OptionalText, print_json, print_table

if TYPE_CHECKING:
    from program_guided.tasks.visual.features import ObjectFeatures
    from program_guided.tasks.visual.graph import Scene
    from program_guided.tasks.visual.ontology import Ontology
    from program_guided.tasks.visual.reasoner import Reasoner, Reasoning
    from program_guided.tasks.visual.task import Visual

__all__ = ["Run"]

VERDICTS = {True: "right", False: "wrong", None: "not known"}


@dataclass(frozen=True)
class Run:
    """Execute a program on a scene of the embedded world, or on a picture of the data, and compare every result with
    the oracle's, if there is a scene graph."""

    seed: int = 0
    """Seed of the scene; left out, the one that the program names (# seed: 9), or 0."""
    image: OptionalText = None
    """Instead of a scene of the embedded world: a drawn picture (a file), the id of a picture of the data or features,
    or, for an executor that 'proto experiment pictures' has kept, a photograph (a file)."""
    images: OptionalPath = None
    """Folder of pictures to draw on; by default the scene is drawn from its graph, or the detected boxes if there is
    none."""
    png: OptionalPath = None
    """Draw the picture and the program's graph, with the result of every routine, to this PNG file."""
    attention: Flag = False
    """Draw also, for every routine, how much attention it pays to each object that was detected."""
    json: Flag = False
    """Print the results as JSON."""

    def run(self, task: Visual, path: Path, program: Program, agent: str) -> int:
        """Return 1 if the answer differs from the oracle's."""
        from program_guided.tasks.executor import load_executor

        reasoning = self._on_photograph(path, program, agent)
        if reasoning is None:
            self._check(task)
            reasoner: Reasoner = load_executor(agent, task)
            reasoner.check(program, str(path))
            reasoning = self._reasoning(task, reasoner, program)
        if self.png is not None:
            with renamed(self.png) as temporary:
                reasoning.picture(path.name).save(temporary, "PNG")
        self._report(path, reasoning)
        return int(reasoning.right is False)

    def _on_photograph(self, path: Path, program: Program, agent: str) -> Reasoning | None:
        """Execute the program on a photograph; None if the agent is not for photographs."""
        from program_guided.tasks.visual.photographs.executor import PhotographExecutor

        if not PhotographExecutor.is_kept(agent):
            return None
        if self.image is None:
            raise DataError(f"{agent}: executes programs on photographs; name the file of one as the image")
        self._check_drawing()
        return PhotographExecutor.load(Path(agent)).run(program, Path(self.image), str(path), self.attention)

    def _check(self, task: Visual) -> None:
        """Raise `DataError` for options that exclude each other."""
        if self.seed < 0:
            raise DataError(f"seed {self.seed}: expected 0 or above")
        given = task.data is not None or task.features is not None
        if self.image is None and (given or self.images is not None):
            raise DataError("data, features and images are of one's own pictures: name one of these as the image")
        if self.image is not None and not given and not Path(self.image).is_file():
            raise DataError(
                f"image {quote(self.image)}: there is no such file; if it is a picture of your data, give the data or "
                "the features"
            )
        self._check_drawing()

    def _check_drawing(self) -> None:
        if self.png is not None:
            check_png(self.png)
        elif self.attention and not self.json:
            raise DataError("attention is drawn, or printed as JSON: name a PNG file to draw to")

    def _reasoning(self, task: Visual, reasoner: Reasoner, program: Program) -> Reasoning:
        if self.image is None:
            return reasoner.run(program, self.seed, self.attention)
        if task.data is None and task.features is None:
            return reasoner.look(program, Path(self.image), self.attention)
        return self._about(task, reasoner, program)

    def _about(self, task: Visual, reasoner: Reasoner, program: Program) -> Reasoning:
        """Execute the program on a picture of the data."""
        from program_guided.tasks.visual.photographs.files import picture_path, read_picture

        assert self.image is not None
        photograph = None if self.images is None else read_picture(picture_path(self.images, self.image))
        features, scene, ontology = self._opened(task)
        detected = features.read(self.image)
        reasoner.check_features(detected, str(features.info_path))
        return reasoner.reason(program, scene, detected, photograph, ontology, self.attention)

    def _opened(self, task: Visual) -> tuple[ObjectFeatures, Scene | None, Ontology]:
        """Features, and the picture's scene graph if there is one: features alone have none."""
        from program_guided.tasks.visual.data import VisualData
        from program_guided.tasks.visual.features import ObjectFeatures
        from program_guided.tasks.visual.ontology import BUILT_IN

        if task.data is None:
            assert task.features is not None
            return ObjectFeatures(task.features), None, BUILT_IN
        data = VisualData(task.data, task.features)
        known = self.image in data.index.scene_ids
        return data.features, data.index.scene(str(self.image)) if known else None, data.ontology

    def _report(self, path: Path, reasoning: Reasoning) -> None:
        about: dict[str, Any] = {"seed": self.seed} if self.image is None else {"image": self.image}
        if self.json:
            routines = [asdict(finding) for finding in reasoning.findings]
            found = {"answer": reasoning.answer, "right": reasoning.right, "routines": routines}
            print_json({"program": str(path), **about, **found})
            return
        compared = reasoning.scene is not None
        rows = [
            [
                each.routine,
                f"{each.result} ({each.probability:.2f})",
                *((each.truth or "", VERDICTS[each.right]) * compared),
            ]
            for each in reasoning.findings
        ]
        print_table("", ("routine", "executor", *(("oracle", "") * compared)), rows)
        ((what, value),) = about.items()
        print(f"answer: {reasoning.answer} ({what} {value})")
        if self.png is not None:
            print("wrote", self.png)


def check_png(path: Path) -> None:
    """Raise `DataError` for a path that a picture cannot be written to."""
    if path.suffix.lower() != ".png":
        raise DataError(f"{path}: the file's name must end with .png")
    make_folder_of(path)
