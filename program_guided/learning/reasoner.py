"""A trained executor that carries out programs about pictures: what `program_guided.load` gives of a visual checkpoint.

reasoner = program_guided.load("out/visual-dense-plus-0")
reasoning = reasoner.run('bag = select(bag)\\nexist(bag)', seed=3)
reasoning.answer, reasoning.findings[0].said, reasoning.findings[0].right
reasoning.picture().save("reasoning.png")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from program_guided.errors import DataError
from program_guided.language.domain import BOOLEAN, unknown
from program_guided.language.printer import print_call
from program_guided.language.syntax import Program, calls
from program_guided.learning.checkpoint import from_pretrained, save_pretrained
from program_guided.learning.outcomes import outcomes_of
from program_guided.learning.questions import Vocabulary, pictures_of
from program_guided.learning.reasoning import build_visual
from program_guided.models.config import ExecutorConfig
from program_guided.models.executor import Executor
from program_guided.tasks.visual.detections import Detector, detect
from program_guided.tasks.visual.domain import DOMAIN, OBJECTS, parse_visual, routine_words
from program_guided.tasks.visual.features import Detected
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.oracle import Result, execute
from program_guided.tasks.visual.panels import Corners, Finding, draw_card, draw_reasoning
from program_guided.tasks.visual.scenes import sample_scene
from program_guided.tasks.visual.targets import MATCHING_OVERLAP, overlap

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Reasoner", "Reasoning"]

NOT_AN_OBJECT = "?"


@dataclass(frozen=True)
class Reasoning:
    """A program carried out on a scene."""

    scene: Scene
    findings: tuple[Finding, ...]

    @property
    def answer(self) -> str:
        """What the last routine found."""
        return self.findings[-1].said

    def picture(self, title: str = "") -> Image.Image:
        """One panel for every routine."""
        return draw_reasoning(self.scene, self.findings, title)

    def card(self, title: str = "") -> Image.Image:
        """The same in small, for a `contact_sheet` of many."""
        return draw_card(self.scene, self.findings, title)


class Reasoner:
    """An executor and its vocabulary."""

    def __init__(self, model: Executor, config: Mapping[str, Any]) -> None:
        self.model, self.config = model.eval(), dict(config)
        self.vocabulary = Vocabulary.read(config["knows"])

    @classmethod
    def from_pretrained(cls, name: Path | str) -> Reasoner:
        """From the folder of a checkpoint."""
        return cls(*from_pretrained(name, DOMAIN, _build))

    def save_pretrained(self, folder: Path | str) -> None:
        """Write a folder with `config.json` and `model.safetensors`."""
        save_pretrained(self.model, folder, self.config.get("training"), DOMAIN, self.vocabulary.as_dict())

    def run(self, program: str | Program, seed: int = 0) -> Reasoning:
        """Carry out a program on a scene of the embedded world, seen by its detector; its words must be known."""
        if not isinstance(seed, int) or seed < 0:
            raise DataError(f"seed {seed!r}: a seed is a whole number, not below 0")
        parsed = parse_visual(program) if isinstance(program, str) else program
        self.check(parsed)
        scene = sample_scene(seed)
        detector = Detector(dimension=self.vocabulary.numbers)
        return self.reason(parsed, scene, detect(scene, detector, seed))

    def check(self, program: Program, source: str = "program") -> None:
        """One clear error if a program says a word that the executor has never read."""
        for call in calls(program.body):
            for word in routine_words(call):
                if word not in self.vocabulary.word_numbers:
                    told = unknown("word", word, self.vocabulary.words)
                    raise DataError(
                        f"{source}, line {call.line}, {call.operation}: {told} (the executor has never read it; "
                        "the words that it knows are in its config.json, under knows)"
                    )

    def reason(self, program: str | Program, scene: Scene, detected: Detected) -> Reasoning:
        """Carry out a program on what was detected in a scene; the graph is only compared with."""
        parsed = parse_visual(program) if isinstance(program, str) else program
        routines = tuple(calls(parsed.body))
        found = outcomes_of(self.model, pictures_of([detected]), self.vocabulary.encode(routines))
        truths = execute(parsed, scene)
        names = [call.result for call in routines]
        findings = []
        for row, call in enumerate(routines):
            kind, text = DOMAIN.operation(call.operation).output, print_call(call, DOMAIN, names)
            if kind == OBJECTS:
                meant = found.objects[0, row, : len(detected.boxes)].numpy()
                findings.append(_objects(text, meant, scene, detected, truths[row]))
            else:
                sure = (found.booleans if kind == BOOLEAN else found.answers)[0, row]
                value = ("no", "yes") if kind == BOOLEAN else self.vocabulary.answers
                said, truth = value[int(sure.argmax())], _told(truths[row], scene)
                right = None if truths[row].value is None else said == truth
                findings.append(Finding(text, said, truth, right, probability=float(sure.max())))
        return Reasoning(scene, tuple(findings))


def _build(config: ExecutorConfig, knows: Any) -> Executor:
    vocabulary = Vocabulary.read(knows)
    if (len(vocabulary.words), ("Answer", len(vocabulary.answers))) != (config.vocabulary, config.results[-1]):
        raise ValueError
    return build_visual(config, vocabulary.numbers)


def _objects(text: str, meant: np.ndarray, scene: Scene, detected: Detected, truth: Result) -> Finding:
    chosen = meant > 0.5
    boxes: list[Corners] = [tuple(box) for box in detected.boxes[chosen].tolist()]
    ids = _shown(boxes, scene)
    right = set(ids) == set(truth.value) if isinstance(truth.value, tuple) and truth.value != ("scene",) else None
    sure = float(np.where(chosen, meant, 1 - meant).min(initial=1.0))
    return Finding(text, _listed(ids, scene), _told(truth, scene), right, tuple(boxes), sure)


def _shown(boxes: Sequence[Corners], scene: Scene) -> list[str]:
    """Ids of the objects that boxes show, in the graph's order."""
    if not boxes or not scene.objects:
        return [NOT_AN_OBJECT] * bool(boxes)
    keys = list(scene.objects)
    overlaps = overlap(np.array(boxes), np.array([scene.objects[key].box.corners for key in keys]))
    best = [
        keys[at] if overlaps[row, at] >= MATCHING_OVERLAP else NOT_AN_OBJECT
        for row, at in enumerate(overlaps.argmax(1))
    ]
    return sorted(set(best), key=[*keys, NOT_AN_OBJECT].index)


def _listed(ids: Sequence[str], scene: Scene) -> str:
    named = [f"{key} {scene.objects[key].name}" if key in scene.objects else key for key in ids]
    return ", ".join(named) or "none"


def _told(result: Result, scene: Scene) -> str:
    """An oracle's result in words."""
    if result.value is None:
        return result.problem
    if isinstance(result.value, tuple):
        return _listed(result.value, scene)
    return result.value if isinstance(result.value, str) else ("no", "yes")[result.value]
