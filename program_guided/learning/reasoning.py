"""A network carrying out visual programs: graphs of routines, each executed once its parents have been.

    scene = model.reader.look(pictures)
    results = carry_out(model, scene, programs)           # Z of every program: (batch, routines, d)
    results = carry_out(model, scene, programs, parallel=False)     # the same, one routine of a program at a time

Only pointed rows are computed. In parallel (Algorithm 3), a step carries out all routines whose parents are done, so a
program takes as many steps as it is deep; else (Algorithm 1) as many as it has routines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from program_guided.models.attention import Watch
from program_guided.models.config import ExecutorConfig, Form
from program_guided.models.executor import POINTED, Executor
from program_guided.models.objects import ObjectReader, PairReader

__all__ = ["RESULTS", "Programs", "Specification", "build_visual", "carry_out", "visual_config"]

RESULTS = ("Objects", "Boolean", "Answer")


def visual_config(
    form: Form, vocabulary: int, words: int, answers: int, word_width: int | None = None, **settings: int | bool
) -> ExecutorConfig:
    """The configuration of an executor for pictures, `paper` with the paper's sizes."""
    results = (("Objects", POINTED), ("Boolean", 2), ("Answer", answers))
    word_width = word_width or {"paper": 256, "plus": 16}[form]
    hidden = words * word_width if form == "paper" else 256
    sizes: dict[str, Any] = {"vocabulary": vocabulary, "words": words, "word_width": word_width, "hidden": hidden}
    sizes |= {"heads": 8} if form == "paper" else {"heads": 4, "blocks": 1}
    return ExecutorConfig(form=form, results=results, **(sizes | settings))


def build_visual(config: ExecutorConfig, numbers: int) -> Executor:
    """An untrained executor for pictures whose objects have vectors of so many numbers."""
    sizes = (config.width, config.heads, config.blocks, numbers, config.hidden)
    if config.form == "paper":
        return Executor(config, ObjectReader(*sizes, sink=config.sink))
    return Executor(config, PairReader(*sizes, config.vocabulary, config.words))


class Specification(Protocol):
    """Pictures as a reader has looked at them."""

    def about(self, of: Tensor, said: Tensor | None = None) -> Any:
        """Those of these numbers, as routines that say these words (batch, L) are shown them."""


Routines = tuple[Tensor, ...]
"""Programs (N,) of a batch, and a routine (N,) of each."""


@dataclass(frozen=True)
class Programs:
    """A batch of visual programs. When routines can be carried out is found once."""

    words: Tensor
    """(batch, routines, L), 0 for no word"""
    parents: Tensor
    """(batch, routines, 2), -1 for none"""
    exists: Tensor
    """(batch, routines)"""
    of: Tensor
    """(batch,) the picture's number in the scene"""

    @cached_property
    def in_sequence(self) -> list[Routines]:
        """The routines of each step, one of every program at a time."""
        return _by_step(
            torch.arange(self.exists.shape[1], device=self.words.device).expand_as(self.exists), self.exists
        )

    @cached_property
    def in_parallel(self) -> list[Routines]:
        """The routines of each step, all whose parents are done; parents stand before them."""
        parents = self.parents.cpu().numpy()
        depth = np.full((len(parents), parents.shape[1] + 1), -1)  # the last one is for -1: no parent
        programs = np.arange(len(parents))[:, None]
        for routine in range(parents.shape[1]):
            depth[:, routine] = depth[programs, parents[:, routine]].max(axis=1) + 1
        return _by_step(torch.from_numpy(depth[:, :-1]).to(self.parents.device), self.exists)


def _by_step(when: Tensor, exists: Tensor) -> list[Routines]:
    """The routines (batch, routines) that there are, by their steps."""
    when = when.masked_fill(~exists, -1)
    return [(when == step).nonzero(as_tuple=True) for step in range(int(when.max()) + 1)]


def carry_out(
    model: Executor,
    scene: Specification,
    programs: Programs,
    *,
    parallel: bool = True,
    watch: list[Watch] | None = None,
) -> Tensor:
    """Z of every program after its last routine. `watch` gets the attention weights of each step."""
    results = torch.zeros(*programs.exists.shape, model.config.width, device=programs.words.device)
    for sample, routine in programs.in_parallel if parallel else programs.in_sequence:
        weights: Watch | None = None
        if watch is not None:
            watch.append(weights := {})
        shown = scene.about(programs.of[sample], programs.words[sample, routine])
        rows = _step(model, shown, programs, results, sample, routine, weights)
        results = results.index_put((sample, routine), rows)
    return results


def _step(
    model: Executor,
    shown: Any,
    programs: Programs,
    results: Tensor,
    sample: Tensor,
    routine: Tensor,
    watch: Watch | None,
) -> Tensor:
    """New rows of these routines of these programs."""
    parents = programs.parents[sample, routine]
    if not bool((parents >= 0).any()):
        parents = parents[:, :0]  # nobody is heard
    if model.config.form == "plus" and model.config.structure:  # looks at a routine and its parents only
        rows = torch.cat([routine[:, None], parents.clamp(min=0)], dim=1)
        words, known = programs.words[sample[:, None], rows], results[sample[:, None], rows]
        pointed = torch.zeros_like(sample)[:, None]
        parents = torch.where(parents >= 0, torch.arange(1, rows.shape[1], device=parents.device), -1)
    else:
        words, known, pointed = programs.words[sample], results[sample], routine[:, None]
    output: Tensor = model(shown, words, known, pointed, parents[:, None], watch=watch)
    return output[:, 0]
