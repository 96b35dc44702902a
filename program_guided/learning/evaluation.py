"""Evaluation on static specifications: which results are right.

measured = measure(model, source, operation_names)      # every example of a source
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from program_guided.language.domain import BOOLEAN
from program_guided.learning.examples import Examples, ExampleSource, moved
from program_guided.learning.execution import TRUE, Programs, execute, follow
from program_guided.learning.results import ResultType
from program_guided.models.model import Model

__all__ = ["Measured", "Outputs", "measure", "outputs_of"]

BATCH = 256
"""Examples executed at once."""


@dataclass(frozen=True)
class Outputs:
    """The results of all routines of a batch of programs, decoded as every type."""

    probabilities: dict[str, Tensor]
    """By result type, (batch, routines, ...)"""
    executed: Tensor
    """(batch, routines) the routines on the path that the model's own answers take"""
    last: Tensor
    """(batch,) the last one of them"""
    exists: Tensor
    """(specifications, parts) which parts there are"""

    def right(self, examples: Examples, types: Sequence[ResultType]) -> tuple[Tensor, Tensor]:
        """(batch, routines) where it is known what is right, and where the result is that. A routine that should have
        been executed and was not is wrong."""
        known = torch.zeros_like(examples.executed)
        right, there = torch.zeros_like(examples.executed), self.exists[examples.programs.of][:, None]
        for number, kind in enumerate(types):
            target, given = examples.targets[kind.name], self.probabilities[kind.name]
            of_kind = (examples.types == number) & kind.judged(target) & examples.executed
            known |= of_kind
            right |= of_kind & self.executed & kind.same(given, target, there)
        return known, right

    def result(self, types: Sequence[ResultType], row: int, routine: int, number: int) -> tuple[Any, float]:
        """A result, and how sure it is."""
        kind = types[number]
        return kind.decode(self.probabilities[kind.name][row, routine].numpy())


@torch.inference_mode()
def outputs_of(
    model: Model,
    arrays: dict[str, Tensor],
    programs: Programs,
    types: Sequence[ResultType],
    *,
    parallel: bool = True,
) -> Outputs:
    """Execute programs and decode every routine; on the model's device, the outputs on the CPU."""
    device = next(model.parameters()).device
    programs = moved(programs, device)
    specification = model.reader.encode({name: array.to(device) for name, array in arrays.items()})
    results = execute(model, specification, programs, parallel=parallel)
    about, independent = specification.about(programs.of), model.reader.independent
    scores = {kind.name: model.decode(results, kind.name, about) for kind in types}
    truth = torch.ones_like(programs.exists)
    if programs.flow is not None:
        truth = scores[BOOLEAN].argmax(dim=2) == TRUE
    executed, last = follow(programs, truth)
    given = {kind.name: kind.probabilities(scores[kind.name], independent).cpu() for kind in types}
    return Outputs(given, executed.cpu(), last.cpu(), model.reader.parts(specification).cpu())


@dataclass(frozen=True)
class Measured:
    """Shares of right results in a set of examples, in %."""

    accuracy: float
    """Last results that are right."""
    routines: dict[str, float]
    """Results that are right, by operation."""
    counts: dict[str, int]
    """Results that are known, by operation."""
    answers: dict[str, float]
    """Last results that are right, by the operation that gives them."""
    examples: int

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def measure(
    model: Model,
    source: ExampleSource,
    names: Sequence[str],
    numbers: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Measured:
    """Measure a model on examples of a static task; `names` are those of the operations."""
    numbers = np.arange(len(source)) if numbers is None else numbers
    types = list(source.results.values())
    counts: dict[str, Counter[str]] = {part: Counter() for part in ("known", "right", "asked", "answered")}
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        examples = source.batch(some)
        outputs = outputs_of(model, examples.arrays, examples.programs, types)
        known, right = outputs.right(examples, types)
        operations = np.array([*names, ""])[examples.operations]
        counts["known"].update(operations[known.numpy()].tolist())
        counts["right"].update(operations[right.numpy()].tolist())
        rows = torch.arange(len(some))
        asked = known[rows, examples.last]
        answered = right[rows, examples.last] & (outputs.last == examples.last)
        given = operations[rows.numpy(), examples.last.numpy()]
        counts["asked"].update(given[asked.numpy()].tolist())
        counts["answered"].update(given[answered.numpy()].tolist())
        progress(first + len(some))
    asked_in_all = sum(counts["asked"].values())
    return Measured(
        100 * sum(counts["answered"].values()) / max(1, asked_in_all),
        {name: 100 * counts["right"][name] / count for name, count in sorted(counts["known"].items())},
        dict(sorted(counts["known"].items())),
        {name: 100 * counts["answered"][name] / count for name, count in sorted(counts["asked"].items())},
        asked_in_all,
    )
