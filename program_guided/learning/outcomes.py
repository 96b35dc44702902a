"""What an executor has found: the results of all routines of a batch of visual programs, and which of them are right.

    outcomes = outcomes_of(model, examples.pictures, examples.programs)     # carried out and decoded
    outcomes.objects, outcomes.booleans, outcomes.answers
    examine(model, data, np.arange(len(data))).accuracy                     # of a whole set of questions

An object is meant if its probability is over 0.5. In `paper` objects share one unit of probability, so each is measured
against the most probable one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.learning.questions import NO_TARGET, Examples, Questions, Vocabulary, moved
from program_guided.learning.reasoning import RESULTS, Programs, carry_out
from program_guided.models.executor import Executor
from program_guided.models.objects import Pictures
from program_guided.tasks.visual.domain import DOMAIN, ROWS

__all__ = ["Examination", "Outcomes", "examine", "examine_elsewhere", "outcomes_of"]

OBJECTS, BOOLEAN, ANSWER = range(len(RESULTS))
FAMILIES = np.array([*(ROWS[operation.name].family for operation in DOMAIN.operations), ""])
"""Family of every operation, nothing of none."""
AT_ONCE = 256
"""Questions carried out at once."""


@dataclass(frozen=True)
class Outcomes:
    """Of a batch of programs; every row is decoded as every type."""

    objects: Tensor
    """(batch, routines, objects) how probably an object is meant"""
    booleans: Tensor
    """(batch, routines, 2) probabilities of false and true"""
    answers: Tensor
    """(batch, routines, answers) probabilities"""

    def right(self, examples: Examples) -> Tensor:
        """(batch, routines) whether the result is the known one: for objects, the same set."""
        meant = (self.objects > 0.5) == (examples.objects[..., :-1] > 0)
        exists = examples.pictures.exists[examples.programs.of][:, None]
        sets = (meant | ~exists).all(dim=2)
        booleans = self.booleans.argmax(dim=2) == examples.booleans
        answers = self.answers.argmax(dim=2) == examples.answers
        types = examples.types
        return torch.where(types == OBJECTS, sets, torch.where(types == BOOLEAN, booleans, answers))

    @staticmethod
    def known(examples: Examples) -> Tensor:
        """(batch, routines) whether it is known what is right."""
        found = examples.objects.sum(dim=2) > 0
        return found | (examples.booleans != NO_TARGET) | (examples.answers != NO_TARGET)


@torch.inference_mode()
def outcomes_of(model: Executor, pictures: Pictures, programs: Programs, *, parallel: bool = True) -> Outcomes:
    """Carry out programs and decode every routine; on the device of the model, the results on the CPU."""
    device = next(model.parameters()).device
    pictures, programs = moved(pictures, device), moved(programs, device)
    scene = model.reader.look(pictures)
    results = carry_out(model, scene, programs, parallel=parallel)
    scores = model.point(results, scene.about(programs.of))
    if model.config.form == "paper":
        shares = scores.softmax(dim=2)
        objects = shares / shares.amax(dim=2, keepdim=True)
    else:
        objects = scores.sigmoid()
    booleans, answers = (model.decode(results, kind).softmax(dim=2) for kind in ("Boolean", "Answer"))
    return Outcomes(objects[..., :-1].cpu(), booleans.cpu(), answers.cpu())


@dataclass(frozen=True)
class Examination:
    """How a set of questions was answered."""

    predictions: Mapping[str, str]
    """Answers by the questions' ids."""
    accuracy: float
    """% of the answers that are right."""
    families: Mapping[str, float]
    """% of the routines whose result is right, of those whose result is known, by family of operations."""


def examine(
    model: Executor,
    data: Questions,
    asked: NDArray[np.int64],
    progress: Callable[[int], None] = lambda done: None,
) -> Examination:
    """Answer the questions of these numbers; routines are judged where there are scene graphs."""
    predictions: dict[str, str] = {}
    right: Counter[str] = Counter()
    known: Counter[str] = Counter()
    correct = 0
    for first in range(0, len(asked), AT_ONCE):
        numbers = asked[first : first + AT_ONCE]
        examples = data.examples(numbers, dense=bool(data.index.scene_ids))
        outcomes = outcomes_of(model, examples.pictures, examples.programs)
        answers = _answers(outcomes, examples, data.vocabulary)
        predictions |= {data.set.key(int(number)): answer for number, answer in zip(numbers, answers, strict=True)}
        wanted = [data.index.answers[number] for number in data.set.columns["answer"][numbers].tolist()]
        correct += sum(one == other for one, other in zip(answers, wanted, strict=True))
        families = FAMILIES[examples.operations]
        judged, verdict = outcomes.known(examples).numpy(), outcomes.right(examples).numpy()
        known.update(families[judged].tolist())
        right.update(families[judged & verdict].tolist())
        progress(len(predictions))
    return Examination(
        predictions, 100 * correct / max(1, len(asked)), {key: 100 * right[key] / known[key] for key in known}
    )


def examine_elsewhere(model: Executor, data: Questions, asked: NDArray[np.int64]) -> tuple[int, float]:
    """Ask each question about the picture half way round the list: (how often the oracle knows the answer, % of those
    that are right)."""
    own = data.set.columns["image"][asked]
    about = np.roll(own, len(own) // 2)
    known = right = 0
    for first in range(0, len(asked), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        examples = data.examples(asked[some], about=about[some])
        outcomes, rows = outcomes_of(model, examples.pictures, examples.programs), torch.arange(len(examples.last))
        judged = outcomes.known(examples)[rows, examples.last]
        known += int(judged.sum())
        right += int((judged & outcomes.right(examples)[rows, examples.last]).sum())
    return known, 100 * right / max(1, known)


def _answers(outcomes: Outcomes, examples: Examples, vocabulary: Vocabulary) -> list[str]:
    rows = torch.arange(len(examples.last))
    truths = outcomes.booleans[rows, examples.last].argmax(dim=1).tolist()
    numbers = outcomes.answers[rows, examples.last].argmax(dim=1).tolist()
    types = examples.types[rows, examples.last].tolist()
    return [
        ("no", "yes")[truth] if kind == BOOLEAN else vocabulary.answers[number]
        for kind, truth, number in zip(types, truths, numbers, strict=True)
    ]
