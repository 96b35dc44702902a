"""The executor of photographs as it is kept: a folder with `config.json`, like any checkpoint, and its weights.

    PhotographExecutor.of(learned, settings).save(Path("out/real-pictures/executor"))
    executor = PhotographExecutor.load(Path("out/real-pictures/executor"))
    reasoning = executor.run(program, Path("photo.jpg"))
    reasoning.answer, reasoning.findings[0].result; reasoning.picture().save("reasoning.png")

Departures from the paper: where a routine points is shown for every routine, also where it gives an answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from program_guided.errors import DataError
from program_guided.language.printer import print_call
from program_guided.language.syntax import Program
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.checkpoint import (
    CONFIG,
    FORMAT,
    Checkpoint,
    Origin,
    read_checkpoint,
    read_tensors,
    write_config,
    write_tensors,
)
from program_guided.learning.examples import programs_of
from program_guided.learning.execution import execute
from program_guided.output import counted
from program_guided.tasks.executor import check_words
from program_guided.tasks.visual.batches import BOOLEAN_TARGETS
from program_guided.tasks.visual.domain import ANSWER, OBJECTS
from program_guided.tasks.visual.drawing.findings import Corners, Finding, Photograph
from program_guided.tasks.visual.photographs.backbone import load_backbone
from program_guided.tasks.visual.photographs.detector import KINDS, find_detector
from program_guided.tasks.visual.photographs.files import read_picture
from program_guided.tasks.visual.photographs.part_words import Classes, WordModel
from program_guided.tasks.visual.photographs.parts import WINDOWS, Parts, parts_of
from program_guided.tasks.visual.photographs.pointing import Pointing
from program_guided.tasks.visual.photographs.reading import Reading, untrained
from program_guided.tasks.visual.photographs.settings import PictureSettings
from program_guided.tasks.visual.photographs.study import Learned
from program_guided.tasks.visual.reasoner import Reasoning
from program_guided.tasks.visual.task import Visual
from program_guided.version import VERSION

__all__ = ["PhotographExecutor", "people_of"]

NAME, WEIGHTS = "photographs", "model.safetensors"
"""Key of the record in `config.json` that tells these executors from others, and the file of all tensors."""
SHOWN, LEAST = 3, 0.5
"""Maximum number of parts that are drawn, and their least attention as a share of the largest."""

PERSON = 0.3
"""Probability from which a detected box is that of a person, whose face labels do not cover."""


@dataclass(frozen=True)
class PhotographExecutor:
    """Executors whose probabilities are averaged, and how photographs are read for them."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    reading: Reading
    members: tuple[Pointing, ...]
    settings: PictureSettings
    detector: bool
    """Whether the parts that it was trained on are those of the detector too."""

    @classmethod
    def of(cls, learned: Learned, settings: PictureSettings) -> PhotographExecutor:
        """The part of the executors of a seed that is kept."""
        data = learned.data
        reading, detector = data.fitted[0], bool(data.classes.kind_names)
        return cls(data.words, data.answers, reading, learned.members, settings, detector)

    def save(self, folder: Path) -> None:
        """Write a folder."""
        own = {each.name for each in fields(PictureSettings)}
        record = {"answers": list(self.answers), "members": len(self.members), "detector": self.detector}
        record["settings"] = {name: value for name, value in asdict(self.settings).items() if name in own}
        plus = self.members[0].plus
        config = {
            "format": FORMAT,
            "program_guided": VERSION,
            "task": asdict(Origin(Visual.name, Visual.version, Visual.name, {ANSWER: list(self.answers)})),
            "model": {"name": "plus", "config": plus.settings()},
            "sizes": plus.sizes.as_dict(),
            "reader": {NAME: record},
            "training": {},
        }
        tensors = {f"words.{name}": _small(name, each) for name, each in self.reading.words.arrays.items()}
        tensors |= {f"reading.{name}": each for name, each in self.reading.tensors.items()}
        for number, member in enumerate(self.members):
            tensors |= {f"members.{number}.{name}": each for name, each in member.state_dict().items()}
        write_tensors(folder / WEIGHTS, tensors, {"format": "pt"})
        write_config(folder / CONFIG, config)

    @staticmethod
    def is_kept(name: str) -> bool:
        """Whether a folder holds such an executor."""
        return (Path(name) / CONFIG).is_file() and NAME in read_checkpoint(name).reader

    @classmethod
    def load(cls, folder: Path) -> PhotographExecutor:
        """Read a folder."""
        checkpoint: Checkpoint = read_checkpoint(folder)
        tensors, _ = read_tensors(checkpoint.folder / WEIGHTS)
        try:
            record = checkpoint.reader[NAME]
            settings, answers = PictureSettings(**record["settings"]), tuple(record["answers"])
            groups: dict[str, dict[str, Tensor]] = {}
            for name, tensor in tensors.items():
                group, _, rest = name.partition(".")
                groups.setdefault(group, {})[rest] = tensor
            arrays = {name: each.float() for name, each in groups["words"].items()}
            reading, words = Reading(WordModel(arrays), groups["reading"]), checkpoint.sizes.vocabulary
            members = []
            for number in range(int(record["members"])):
                weights = _of_member(groups["members"], number)
                parts, features = len(weights["preferred"]), weights["look.weight"].shape[1]
                member = untrained(words, len(answers), (parts, features), settings)
                member.load_state_dict(weights)
                members.append(member.eval())
            return cls(words, answers, reading, tuple(members), settings, bool(record["detector"]))
        except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise DataError(f"{checkpoint.folder}: its files do not fit together ({error}); train again") from None

    def run(self, program: Program, path: Path, source: str = "program", attention: bool = False) -> Reasoning:
        """Execute a program on a photograph; with `attention`, findings have the weights of all parts."""
        check_words(program, Vocabulary(self.words), Visual().domain, source)
        picture = read_picture(path)
        parts = self._parts(picture)
        background = Photograph(*picture.size, picture, people=people_of(parts[0], *picture.size))
        return self.reason(program, parts, background, attention)

    @torch.inference_mode()
    def reason(
        self, program: Program, parts: tuple[Parts, Classes], background: Photograph, attention: bool = False
    ) -> Reasoning:
        """Execute a program on the parts of a photograph."""
        vocabulary = Vocabulary(self.words)
        task = Visual()
        table = task.compile(program)
        programs = programs_of([table], vocabulary, np.zeros(1))
        found, classes = parts
        evidence = self.reading.evidence(found, self.reading.words.score(found.features, classes))
        routines = torch.arange(len(table))
        words = programs.words[0, routines]
        about = evidence.about(torch.zeros(len(table), dtype=torch.int64))
        about = about.mentioning(programs.words.expand(len(table), -1, -1), routines)
        points, booleans, answers = [], [], []
        for member in self.members:
            rows = execute(member, evidence, programs)[0]
            points.append(member.pointed(rows))
            scores = member.answer(rows, about, words)
            booleans.append(scores[0].softmax(dim=1))
            answers.append(scores[1].softmax(dim=1))
        pointed, truth, answer = (torch.stack(each).mean(dim=0) for each in (points, booleans, answers))
        corners = _corners(found, background)
        names, findings = [call.result for call in table.calls], []
        for row, call in enumerate(table.calls):
            chosen = _chosen(pointed[row])
            boxes, share = tuple(corners[part] for part in chosen), float(pointed[row, chosen].sum())
            kind = task.domain.operation(call.operation).output
            if kind == OBJECTS:
                result, probability = f"points at {counted(len(boxes), 'part')}", share
            else:
                values = self.answers if kind == ANSWER else tuple(BOOLEAN_TARGETS)
                likely = (answer if kind == ANSWER else truth)[row].max(dim=0)
                result, probability = values[int(likely.indices)], float(likely.values)
            weights = tuple(zip(corners, pointed[row].tolist(), strict=True)) if attention else ()
            text = print_call(call, task.domain, names)
            findings.append(
                Finding(text, result, None, None, boxes, probability, tuple(call.inputs), attention=weights)
            )
        return Reasoning(None, tuple(findings), None, background)

    def _parts(self, picture: Image.Image) -> tuple[Parts, Classes]:
        detector = find_detector() if self.detector else None
        if self.detector and detector is None:
            raise DataError("the executor was trained with the detector; install it with: make photo")
        if len(self.members[0].preferred) < len(WINDOWS):
            raise DataError("the executor was trained on the features of other objects than those of a photograph")
        backbone = load_backbone()
        linear, found = backbone.classifier, parts_of(picture, backbone, detector)
        return found, found.classes((linear.weight.numpy(), linear.bias.numpy(), backbone.class_names))


def _small(name: str, tensor: Tensor) -> Tensor:
    """The tensor; in a byte each if it says which classes stand for which words."""
    return tensor.to(torch.uint8) if name.startswith(("kinds_", "classes_")) else tensor


def _of_member(tensors: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    return {name.partition(".")[2]: each for name, each in tensors.items() if name.partition(".")[0] == str(number)}


def people_of(parts: Parts, width: int, height: int) -> tuple[Corners, ...] | None:
    """Boxes of the people that the detector has found; None without a detector."""
    boxes, shares = parts.boxes[0, len(WINDOWS) :], parts.kinds[0, len(WINDOWS) :]
    if not len(boxes):
        return None
    chosen = (shares[:, KINDS.index("person")] >= PERSON) & (boxes != np.array(WINDOWS[0], np.float32)).any(axis=1)
    return tuple((a, b, c, d) for a, b, c, d in (boxes[chosen] * [width, height, width, height]).tolist())


def _chosen(attention: Tensor) -> list[int]:
    """The parts that are attended to most."""
    order = attention.argsort(descending=True)[:SHOWN]
    return order[attention[order] >= LEAST * attention.max()].tolist()


def _corners(parts: Parts, background: Photograph) -> list[Corners]:
    """Boxes of the parts, in pixels."""
    size = np.array([background.width, background.height] * 2)
    return [(a, b, c, d) for a, b, c, d in (parts.boxes[0] * size).tolist()]
