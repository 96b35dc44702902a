"""Targets from the names of features, without any label, of `select` and `filter`: for a training by answers alone.

    targets = perceived(program, features, numbers)     numbers: word -> the feature of that name
    targets[routine]                                    (objects,) what it finds; None where that is not said

`select(bag)` finds the objects whose feature `bag` is over a half, `filter_color(.., red)` those of its input whose
feature `red` is. All other routines, and words that no feature is named after (`vehicle`), are left to the answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from program_guided.language.syntax import Program
from program_guided.language.table import compile_program
from program_guided.tasks.visual.domain import DOMAIN, negated, row_of

__all__ = ["perceived"]

TRUE = 0.5
"""Value of a feature above which its name is true of an object."""


def perceived(
    program: Program, features: NDArray[np.floating], numbers: Mapping[str, int]
) -> list[NDArray[np.bool_] | None]:
    """The objects that each routine finds, as far as features are named after its word."""
    found: list[NDArray[np.bool_] | None] = []
    for call in compile_program(program, DOMAIN).calls:
        row, words = row_of(call)
        among = found[call.inputs[0]] if call.inputs else np.ones(len(features), np.bool_)
        is_negated, word = negated(str(words[0])) if words else (False, "")
        if row.family not in ("select", "filter") or word not in numbers or among is None:
            found.append(None)
            continue
        there = features[:, numbers[word]] > TRUE
        found.append(among & (~there if is_negated else there))
    return found
