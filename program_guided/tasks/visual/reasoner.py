"""A trained executor of programs about pictures: the result of `program_guided.load` for a visual checkpoint.

reasoner = program_guided.load("out/visual-dense-plus-0")
reasoning = reasoner.run('bag = select(bag)\\nexist(bag)', seed=3)
reasoning.answer, reasoning.findings[0].result, reasoning.findings[0].right
reasoning.picture().save("reasoning.png")

Without a scene graph there is no oracle to compare with: `reasoner.reason(program, None, detected)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.errors import DataError
from program_guided.language.printer import print_call
from program_guided.language.syntax import Program
from program_guided.language.table import Kind
from program_guided.learning.checkpoint import Checkpoint
from program_guided.learning.evaluation import Outputs, outputs_of
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.execution import Programs
from program_guided.learning.execution import execute as execute_model
from program_guided.learning.results import THRESHOLD
from program_guided.models.attention import Watch
from program_guided.models.model import Model
from program_guided.output import counted
from program_guided.tasks.executor import check_words
from program_guided.tasks.visual.batches import arrays_of
from program_guided.tasks.visual.detector.pictures import read_drawing
from program_guided.tasks.visual.detector.sight import PixelSight
from program_guided.tasks.visual.domain import OBJECTS
from program_guided.tasks.visual.drawing.figure import draw_card, draw_figure
from program_guided.tasks.visual.drawing.findings import Corners, Finding, Photograph
from program_guided.tasks.visual.drawing.scene import png_bytes
from program_guided.tasks.visual.embedded.patches import Patches
from program_guided.tasks.visual.embedded.scenes import sample_scene
from program_guided.tasks.visual.features import Detected, tile
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN, Ontology
from program_guided.tasks.visual.oracle import NOT_REACHED, SCENE, Result, Value, execute
from program_guided.tasks.visual.targets import matching

if TYPE_CHECKING:
    from PIL import Image

    from program_guided.tasks.visual.task import Visual

__all__ = ["Reasoner", "Reasoning"]

NOT_AN_OBJECT = "?"


@dataclass(frozen=True)
class Reasoning:
    """A program executed on a picture."""

    scene: Scene | None
    """The scene graph, if there is one."""
    findings: tuple[Finding, ...]
    """Results of the executed routines, in program order."""
    right: bool | None
    """True if the answer is the oracle's; None if the oracle has none."""
    background: Scene | Photograph
    """The picture that results are drawn on."""

    @property
    def answer(self) -> str:
        """The result of the last routine executed."""
        return self.findings[-1].result

    def picture(self, title: str = "") -> Image.Image:
        """Draw the picture, and beside it the program's graph with the result of every routine."""
        return draw_figure(self.background, self.findings, title)

    def _repr_png_(self) -> bytes:
        return png_bytes(self.picture())

    def card(self, title: str = "") -> Image.Image:
        """Draw a small figure, for a `contact_sheet` of many."""
        return draw_card(self.background, self.findings, title)


class Reasoner:
    """A model, and the task with the checkpoint's vocabulary and answers; needs no data."""

    def __init__(self, task: Visual, model: Model, checkpoint: Checkpoint) -> None:
        self.task, self.model, self.checkpoint = task, model.eval(), checkpoint

    def run(self, program: str | Program, seed: int = 0, attention: bool = False) -> Reasoning:
        """Execute a program on the picture of a scene of the embedded world: on what the detector sees in it, or on its
        pixels, if the executor reads patches."""
        if not isinstance(seed, int) or seed < 0:
            raise DataError(f"seed {seed!r}: expected an integer, 0 or above")
        parsed = self._parsed(program)
        self.check(parsed)
        scene = sample_scene(seed)
        return self.reason(parsed, scene, self._checked(self._sight.see(scene)), attention=attention)

    def look(self, program: str | Program, path: Path, attention: bool = False) -> Reasoning:
        """Execute a program on a drawn picture in a file, on what the detector sees in it."""
        parsed = self._parsed(program)
        self.check(parsed)
        picture = read_drawing(path)
        return self.reason(parsed, None, self._checked(self._sight.look(picture)), picture, attention=attention)

    @cached_property
    def _sight(self) -> PixelSight | Patches:
        return Patches() if self.checkpoint.reader["patch"] else PixelSight()

    def _checked(self, detected: Detected) -> Detected:
        self.check_features(detected, "the detector")
        return detected

    def check(self, program: Program, source: str = "program") -> None:
        """Raise `DataError` if a program has a word that is not in the vocabulary."""
        check_words(program, self.task.vocabulary, self.task.domain, source)

    def check_features(self, detected: Detected, source: str) -> None:
        """Raise `DataError` if the vectors of detected objects are not of the length that the executor reads."""
        found, expected = detected.features.shape[1], int(self.checkpoint.reader["features"])
        if found != expected:
            raise DataError(
                f"{source}: its vectors have {found:,} numbers, but {self.checkpoint.folder} was trained on vectors of "
                f"{expected:,}; give features of the detector that it was trained on"
            )

    def reason(
        self,
        program: str | Program,
        scene: Scene | None,
        detected: Detected,
        photograph: Image.Image | None = None,
        ontology: Ontology = BUILT_IN,
        attention: bool = False,
    ) -> Reasoning:
        """Execute a program on the detected objects of a picture. The scene graph is for the oracle alone, the
        photograph is drawn on; with `attention`, findings have the weights of the detected objects."""
        parsed = self._parsed(program)
        table = self.task.compile(parsed)
        programs = programs_of([table], self.task.vocabulary, np.zeros(1))
        arrays, types = tensors_of(arrays_of([detected])), list(self.task.results.values())
        outputs = outputs_of(self.model, arrays, programs, types)
        truths = () if scene is None else execute(parsed, scene, ontology)
        names = [call.result for call in table.calls]
        rows = np.flatnonzero(outputs.executed[0].numpy()).tolist()
        weights = _attention(self.model, arrays, programs, len(detected.boxes)) if attention else {}
        boxes = [_corners(box) for box in detected.boxes.tolist()]
        findings = [
            replace(
                self._finding(
                    print_call(table.calls[row], self.task.domain, names),
                    self.task.domain.operation(table.calls[row].operation).output,
                    row,
                    outputs,
                    detected,
                    None if scene is None else _Truth(truths[row], scene),
                ),
                inputs=tuple(rows.index(number) for number in table.calls[row].inputs if number in rows),
                condition=place - 1 if place and table.kind[rows[place - 1]] != Kind.STEP else None,
                attention=tuple(zip(boxes, weights.get(row, ()), strict=False)),
            )
            for place, row in enumerate(rows)
        ]
        right = None if scene is None else _verdict(findings[-1], int(outputs.last[0]), truths, scene)
        return Reasoning(scene, tuple(findings), right, _background(scene, detected, photograph))

    def _parsed(self, program: str | Program) -> Program:
        return self.task.parse(program) if isinstance(program, str) else program

    def _finding(
        self, text: str, kind: str, row: int, outputs: Outputs, detected: Detected, truth: _Truth | None
    ) -> Finding:
        """The result of one routine, by the head of its result type."""
        probabilities = outputs.probabilities[kind][0, row].numpy()
        if kind == OBJECTS:
            return _objects(text, probabilities[: len(detected.boxes)], detected, truth)
        result_type = self.task.results[kind]
        value, probability = result_type.decode(probabilities)
        result, expected = result_type.show(value), truth.shown if truth else None
        right = None if truth is None or truth.value is None else result == expected
        return Finding(text, result, expected, right, probability=probability)


@dataclass(frozen=True)
class _Truth:
    """The oracle's result of a routine."""

    result: Result
    scene: Scene

    @property
    def value(self) -> Value | None:
        return self.result.value

    @property
    def shown(self) -> str:
        return _shown(self.result, self.scene)


def _background(scene: Scene | None, detected: Detected, photograph: Image.Image | None) -> Scene | Photograph:
    """The photograph if there is one, else the scene as its graph describes it, else the detected boxes."""
    if scene is not None and photograph is None:
        return scene
    boxes = tuple(_corners(box) for box in detected.boxes.tolist())
    return Photograph(detected.width, detected.height, photograph, boxes, scene)


def _corners(box: Sequence[float]) -> Corners:
    x1, y1, x2, y2 = box
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _objects(text: str, probabilities: NDArray[np.float32], detected: Detected, truth: _Truth | None) -> Finding:
    chosen = probabilities > THRESHOLD
    boxes = tuple(_corners(box) for box in detected.boxes[chosen].tolist())
    probability = float(np.where(chosen, probabilities, 1 - probabilities).min(initial=1.0))
    if truth is None:
        return Finding(text, counted(len(boxes), "object") if boxes else "none", None, None, boxes, probability)
    ids = _matched(boxes, truth.scene, tile(detected.boxes, detected.width, detected.height))
    meant = truth.value if isinstance(truth.value, tuple) and truth.value != (SCENE,) else None
    right = None if meant is None else set(ids) == set(meant)
    missed = tuple(truth.scene.objects[key].box.corners for key in meant or () if key not in ids)
    return Finding(text, _listed(ids, truth.scene), truth.shown, right, boxes, probability, missed=missed)


def _attention(model: Model, arrays: dict[str, Tensor], programs: Programs, count: int) -> dict[int, list[float]]:
    """Routine -> attention weights of the objects in its last reading of the picture, the mean over heads. Nothing for
    models that move their pointer step by step."""
    watch: list[Watch] = []
    with torch.inference_mode():
        execute_model(model, model.reader.encode(arrays), programs, watch=watch)
    found: dict[int, list[float]] = {}
    for (_, routines), weights in zip(programs.in_parallel, watch, strict=False):
        read = [each for name, each in weights.items() if name.startswith("objects")]
        if read:
            found |= dict(zip(routines.tolist(), read[-1][:, 0].mean(dim=1)[:, :count].tolist(), strict=True))
    return found


def _verdict(last: Finding, row: int, truths: Sequence[Result], scene: Scene) -> bool | None:
    """True if the last result is the oracle's answer, even if the oracle took another branch; None if it has none."""
    if truths[row].problem != NOT_REACHED:
        return last.right
    expected = next(truth for truth in reversed(truths) if truth.problem != NOT_REACHED)
    return None if expected.value is None else last.result == _shown(expected, scene)


def _matched(boxes: Sequence[Corners], scene: Scene, cells: bool) -> list[str]:
    """Ids of the objects that boxes, or cells, match, in the graph's order."""
    if not boxes or not scene.objects:
        return [NOT_AN_OBJECT] * bool(boxes)
    keys = list(scene.objects)
    corners = np.array([scene.objects[key].box.corners for key in keys])
    overlaps = matching(corners, np.array(boxes), cells).T
    best = [keys[at] if overlaps[row, at] else NOT_AN_OBJECT for row, at in enumerate(overlaps.argmax(1))]
    return sorted(set(best), key=[*keys, NOT_AN_OBJECT].index)


def _listed(ids: Sequence[str], scene: Scene) -> str:
    named = [f"{key} {scene.objects[key].name}" if key in scene.objects else key for key in ids]
    return ", ".join(named) or "none"


def _shown(result: Result, scene: Scene) -> str:
    """Result of the oracle as text."""
    if result.value is None:
        return result.problem
    if isinstance(result.value, tuple):
        return _listed(result.value, scene)
    return result.value if isinstance(result.value, str) else ("no", "yes")[result.value]
