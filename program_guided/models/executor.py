"""The executor (section 4 of the paper): a transformer over the rows of Z, the words of the routines and a reader.

A step executes the pointed routines: their rows of the result matrix Z attend to the semantics of the program
(CrossAtt1, Eq. 3), to their own and their parents' results (MaskedSelfAtt, Eq. 4) and to the specification (CrossAtt2,
Eq. 5), in stacked blocks, and are decoded by the head of their result type. Rows that are not pointed at keep their
results.

    rows = executor(step)            # the pointed rows only: the fast form
    results = executor.full(step)    # all of Z, as the paper writes it

The two forms are equal, for one pointer (Algorithm 1) and for many (Algorithm 3), since rows that are not pointed at do
not change within a step. Departure from the paper: the inputs of a routine are ordered. A learned code of its place
among the inputs is added to the row of a parent (`ordered`), else `greater(a, b)` would equal `greater(b, a)`.

`paper.py` and `plus.py` are the two executors.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from program_guided.models.attention import Watch
from program_guided.models.model import Model, Sizes, Step, take
from program_guided.models.semantics import Semantics, structure

__all__ = ["Block", "Executor"]


class Block(Protocol):
    """One layer of an executor; `program` is what `Executor.read_program` returned."""

    def attend_words(
        self, rows: Tensor, numbers: Tensor, program: Any, watch: Watch | None = None, name: str = ""
    ) -> Tensor:
        """H_1 (Eq. 3) of rows (batch, N, d) of the routines `numbers` (batch, N)."""

    def read_ahead(self, rows: Tensor, reader: Any, view: Any, number: int) -> Tensor:
        """The pointed rows before they attend to their parents; unchanged, unless the specification is read first."""

    def attend_parents(
        self, rows: Tensor, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str
    ) -> Tensor:
        """H_2 (Eq. 4) of rows: queries attend to keys where allowed."""

    def read_specification(
        self, rows: Tensor, reader: Any, view: Any, number: int, watch: Watch | None = None
    ) -> Tensor:
        """Z (Eq. 5) of rows."""


class Executor(Model):
    """Base class of `paper` and `plus`."""

    reads_ahead = False
    """Whether the pointed rows read the specification before they attend to their parents (`Block.read_ahead`)."""

    def __init__(
        self,
        sizes: Sizes,
        reader: Any,
        width: int,
        hidden: int,
        semantics: Semantics,
        *,
        guided: bool,
        memory: bool,
        ordered: bool = True,
    ) -> None:
        """`guided`: use the structure guidance P^t; `memory`: each step of a routine starts from its own last
        result."""
        super().__init__(sizes, reader, width, hidden)
        self.semantics, self.guided, self.memory = semantics, guided, memory
        self.places = nn.Parameter(torch.randn(sizes.inputs, width)) if ordered and sizes.inputs else None
        self.blocks: Any

    @abstractmethod
    def read_program(self, step: Step) -> Any:
        """The programs of a step, as blocks read them."""

    def compare_inputs(self, rows: Tensor, parents: Tensor, exists: Tensor) -> Tensor:
        """Rows (batch, rows, d) after comparing their parents' results (batch, rows, parents, d); unchanged by
        default."""
        return rows

    def forward(self, step: Step, watch: Watch | None = None) -> Tensor:
        """New rows of Z of the pointed routines.

        `watch` is filled with "routines 0" (batch * rows, heads, 1, 1 + parents), a row's own result first, with the
        weights of the reader, and in `paper` with "words 0" (batch * (rows + rows * parents), heads, routines).
        """
        program, pointed, parents = self.read_program(step), step.pointed, self._parents(step)
        batch, count, places = parents.shape
        numbers = torch.cat([pointed, parents.flatten(1)], dim=1)
        rows, parent_rows = torch.split(take(step.results, numbers), [count, count * places], dim=1)
        rows = rows if self.memory else torch.zeros_like(rows)
        parent_results, exists = parent_rows.view(batch, count, places, self.width), parents >= 0
        view = self.reader.prepare(step.specification, parent_results, exists, self._words(take(step.words, pointed)))
        allowed = torch.cat([torch.ones_like(pointed, dtype=torch.bool)[..., None], exists], dim=2)
        for number, block in enumerate(self.blocks):
            both = block.attend_words(torch.cat([rows, parent_rows], dim=1), numbers, program, watch, f"words {number}")
            own, of_parents = torch.split(both, [count, count * places], dim=1)
            own = block.read_ahead(own, self.reader, view, number)
            of_parents = of_parents.view(batch, count, places, self.width) + self._codes(places)
            keys = torch.cat([own[:, :, None], of_parents], dim=2)
            given = (own.flatten(0, 1)[:, None], keys.flatten(0, 1), allowed.flatten(0, 1)[:, None])
            rows = block.attend_parents(own, *given, watch, f"routines {number}").view_as(own)
            rows = self.compare_inputs(rows, parent_results, exists) if self.guided else rows
            rows = block.read_specification(rows, self.reader, view, number, watch)
        return rows

    def full(self, step: Step) -> Tensor:
        """All of Z after a step, (batch, routines, d): every row computed, as in Eq. 3 to 5, with the mask P^t."""
        program, pointed, routines = self.read_program(step), step.pointed, step.words.shape[1]
        every = torch.arange(routines, device=pointed.device).expand(len(pointed), -1)
        separate = self.guided or self.reads_ahead
        masks = structure(pointed, self._parents(step) if separate else step.parents[..., :0], routines)
        if not separate:
            masks = masks | (step.words != 0).any(dim=2)[:, None, None]
        if self.places is None and not self.reads_ahead:  # a set: no place of a parent has a code of its own
            masks = masks.any(dim=1, keepdim=True)
        active = torch.nn.functional.one_hot(pointed + 1, routines + 1)[..., 1:].sum(dim=1).bool()[..., None]
        parent_results, exists = self._parent_results(step)
        results = step.results if self.memory else step.results.masked_fill(active, 0.0)
        view = self.reader.prepare(step.specification, parent_results, exists, self._words(step.words))
        codes = torch.cat([self._codes(masks.shape[1] - 1).new_zeros(1, self.width), self._codes(masks.shape[1] - 1)])
        for number, block in enumerate(self.blocks):
            known = block.attend_words(results, every, program)
            own = block.read_ahead(known, self.reader, view, number)
            keys = torch.cat([own[:, None], known[:, None] + codes[1:, None]], dim=1).flatten(1, 2)
            rows = block.attend_parents(own, own, keys, masks.movedim(1, 2).flatten(2), None, "")
            rows = self.compare_inputs(rows, parent_results, exists) if self.guided else rows
            rows = block.read_specification(rows, self.reader, view, number)
            results = torch.where(active, rows, results)
        return results

    def _parents(self, step: Step) -> Tensor:
        """(batch, rows, parents) numbers of the parents, -1 for none; without duplicates if inputs are not ordered."""
        if not self.guided:
            return _every_other_routine(step)
        if self.places is not None:
            return step.parents
        duplicate = step.parents == step.pointed[..., None]
        if step.parents.shape[2] > 1:
            equal = step.parents[..., None] == step.parents[..., None, :]
            duplicate = duplicate | equal.tril(diagonal=-1).any(dim=3)
        return step.parents.masked_fill(duplicate, -1)

    def _codes(self, places: int) -> Tensor:
        """(places, d) codes of the places of parents: 0 for the routine executed before, learned ones for the inputs.
        Without structure guidance all routines are parents, without order."""
        if self.places is None or not self.guided:
            return self.encoding.new_zeros(places, self.width)
        before = self.places.new_zeros(int(self.sizes.sequential), self.width)
        return torch.cat([before, self.places])[:places]

    def _words(self, words: Tensor) -> Tensor:
        """The words given to the reader: none without the semantic guidance."""
        return words if self.semantics.enabled else torch.zeros_like(words)

    def _parent_results(self, step: Step) -> tuple[Tensor, Tensor]:
        """Parents' results (batch, routines, parents, d) of the pointed rows, 0 for other rows; and a mask of them."""
        parents = self._parents(step)
        batch, count, places = parents.shape
        routines, width = step.results.shape[1:]
        found = take(step.results, parents.flatten(1)).view(batch, count, places * width)
        at = torch.where(step.pointed >= 0, step.pointed, routines)[..., None]  # no pointer: a row after the last
        everywhere = step.results.new_zeros(batch, routines + 1, places * width)
        everywhere = everywhere.scatter(1, at.expand(-1, -1, places * width), found)[:, :-1]
        exists = torch.zeros(batch, routines + 1, places, dtype=torch.bool, device=parents.device)
        exists = exists.scatter(1, at.expand(-1, -1, places), parents >= 0)[:, :-1]
        return everywhere.reshape(batch, routines, places, width), exists


def _every_other_routine(step: Step) -> Tensor:
    """Every routine but the pointed one as a parent: (batch, rows, routines)."""
    words, pointed = step.words, step.pointed
    every = torch.arange(words.shape[1], device=words.device).expand(len(words), pointed.shape[1], -1)
    missing = (words == 0).all(dim=2)[:, None] | (every == pointed[..., None])
    return every.masked_fill(missing, -1)
