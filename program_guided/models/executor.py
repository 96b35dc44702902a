"""The Program-guided Transformer (section 4), for every task: what differs between tasks is handed in as a reader.

A step carries out the pointed routines: their rows of the result matrix Z are told what routines say (CrossAtt1,
Eq. 3), what the routines before them found (MaskedSelfAtt, Eq. 4) and what the specification shows (CrossAtt2, Eq. 5),
in stacked blocks, and are decoded by the head of their result type. Rows that are not pointed at keep their results.

    rows = executor(specification, words, results, pointed, parents)     # the pointed rows only: the fast form
    results = executor.full(specification, words, results, pointed, parents)   # all of Z, as the paper writes it
    outputs = executor.decode(rows, "Action")

The two forms are equal, for one pointer (Algorithm 1) and for many (Algorithm 3), since a row that is not pointed at
does not change within a step either. Two configurations:

`paper`: the equations, and what they need to work at all, each with a switch: docs/paper_map.md lists it.

`plus`: a row reads its own words instead of searching for itself among all routines; the specification is read more
than once, with an MLP after each reading, by a reader made for its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from program_guided.models.attention import RowAttention, TableAttention, Watch
from program_guided.models.config import ExecutorConfig
from program_guided.models.guidance import Semantics, mlp, sinusoids, structure

__all__ = ["POINTED", "Executor"]

POINTED = 0
"""Size of a result type whose results are parts of the specification."""


@dataclass(frozen=True)
class Routines:
    """A batch of programs as `paper` attends to it: routines are sums of table rows."""

    index: Tensor
    """(batch, routines, L, or L + 1 with positions)"""
    keys: Tensor
    """(rows, d) the table of words and positions"""
    values: Tensor
    """(rows, d) the table of words, 0 for positions"""
    positions: Tensor
    """(batch, routines) rows of `encoding`"""
    encoding: Tensor
    """(2 * d, d)"""


@dataclass(frozen=True)
class Program:
    """What blocks need to know of a batch of programs."""

    semantics: Semantics
    words: Tensor
    """(batch, routines, L)"""
    routines: Routines | None


class Executor(nn.Module):
    """A reader sees: `reader.prepare(specification, heard, allowed, said)` looks at one, for rows whose parents'
    results (batch, rows, K, d) are heard where allowed (batch, rows, K) and whose words (batch, rows, L) are said;
    `reader(query, seen, number, watch)` answers queries (batch, rows, d) about it; `reader.point(rows, specification)`
    says which parts of it rows mean, for results of size `POINTED`. Words that are `alike` are told apart by the reader
    alone."""

    def __init__(self, config: ExecutorConfig, reader: nn.Module, alike: Sequence[int] = ()) -> None:
        super().__init__()
        self.config = config
        self.semantics = Semantics(config.vocabulary, config.words, config.word_width, config.semantics, alike)
        blocks = [PaperBlock(config) for _ in range(config.blocks)] if config.form == "paper" else [PlusBlock(config)]
        self.blocks: Any = nn.ModuleList(blocks)
        self.reader: Any = reader
        self.encoding: Tensor
        if config.form == "paper" and config.matched:
            self._begin_with_positions()
        # 2 * width is the encoding's period.
        encoding = sinusoids(2 * config.width, config.width, config.spaced) * 2**0.5
        self.register_buffer("encoding", encoding, persistent=False)
        sizes = {name: size for name, size in config.results if size != POINTED}
        self.heads = nn.ModuleDict({name: mlp(config.width, config.hidden, size) for name, size in sizes.items()})

    @torch.no_grad()
    def _begin_with_positions(self) -> None:
        """Let every row of `paper` begin by attending to its own words: queries and keys of CrossAtt1 see positions
        alike. Left to chance, most rows attend to all routines at once for a long time."""
        for block in self.blocks:
            block.words.key.weight.copy_(block.words.query.weight.mul_(3))

    def forward(
        self,
        specification: Any,
        words: Tensor,
        results: Tensor,
        pointed: Tensor,
        parents: Tensor,
        shift: Tensor | None = None,
        watch: Watch | None = None,
    ) -> Tensor:
        """The new rows of Z of the pointed routines, (batch, R, d): nothing else is computed.

        words (batch, routines, L) with 0 for no word, results (batch, routines, d), pointed (batch, R), parents
        (batch, R, K) with -1 for none. `shift` (batch,) moves the routines' positions (for training: positions that
        short programs never reach are seen too). `watch` is filled with attention weights: "routines 0" (batch * R,
        heads, 1, 1 + K), a row's own result first; "cells 0" (batch * R, heads, cells); in `paper` also "words 0"
        (batch * (R + R * K), heads, routines).
        """
        program = self._read(words, shift)
        if not self.config.structure:
            parents = _all_others(words, pointed)
        batch, count, most = parents.shape
        numbers = torch.cat([pointed, parents.flatten(1)], dim=1)
        rows, others = torch.split(_take(results, numbers), [count, count * most], dim=1)
        rows = rows if self.config.memory else torch.zeros_like(rows)
        heard, said = others.view(batch, count, most, others.shape[2]), self._said(_take(words, pointed))
        seen = self.reader.prepare(specification, heard, parents >= 0, said)
        allowed = torch.cat([torch.ones_like(pointed, dtype=torch.bool)[..., None], parents >= 0], dim=2)
        for number, block in enumerate(self.blocks):
            both = block.tell(torch.cat([rows, others], dim=1), numbers, program, watch, f"words {number}")
            told, heard = torch.split(both, [count, count * most], dim=1)
            keys = torch.cat([told[:, :, None], heard.view(batch, count, most, told.shape[2])], dim=2)
            flat = (told.flatten(0, 1)[:, None], keys.flatten(0, 1), allowed.flatten(0, 1)[:, None])
            rows = block.follow(told, *flat, watch, f"routines {number}").view_as(told)
            rows = block.look(rows, self.reader, seen, number, watch)
        return rows

    def full(self, specification: Any, words: Tensor, results: Tensor, pointed: Tensor, parents: Tensor) -> Tensor:
        """All of Z after a step, (batch, routines, d): every row computed, as in Eq. 3 to 5, with the mask P^t."""
        routines = words.shape[1]
        program = self._read(words, None)
        every = torch.arange(routines, device=words.device).expand(len(words), -1)
        exists = (words != 0).any(dim=2)
        allowed = structure(pointed, parents, routines)
        if not self.config.structure:
            allowed = allowed | exists[:, None]
        active = torch.nn.functional.one_hot(pointed + 1, routines + 1)[..., 1:].sum(dim=1).bool()[..., None]
        seen = self.reader.prepare(specification, *self._heard(results, pointed, parents), self._said(words))
        results = results if self.config.memory else results.masked_fill(active, 0.0)
        for number, block in enumerate(self.blocks):
            told = block.tell(results, every, program)
            rows = block.follow(told, told, told, allowed, None, "")
            results = torch.where(active, block.look(rows, self.reader, seen, number, None), results)
        return results

    def decode(self, rows: Tensor, result_type: str) -> Tensor:
        """The explicit output of rows of one result type."""
        output: Tensor = self.heads[result_type](rows)
        return output

    def point(self, rows: Tensor, specification: Any) -> Tensor:
        """Scores of the parts of a specification that rows (batch, rows, d) mean, the last one for none."""
        scores: Tensor = self.reader.point(rows, specification)
        return scores

    def _said(self, words: Tensor) -> Tensor:
        """Words as a reader is told them: none without the semantic guidance."""
        return words if self.config.semantics else torch.zeros_like(words)

    def _heard(self, results: Tensor, pointed: Tensor, parents: Tensor) -> tuple[Tensor, Tensor]:
        """Every row's parents' results, for those that are pointed at; nothing for the others."""
        batch, count, most = parents.shape
        routines, width = results.shape[1:]
        heard = _take(results, parents.flatten(1)).view(batch, count, most * width)
        at = pointed.clamp(min=0)[..., None]
        everywhere = results.new_zeros(batch, routines, most * width).scatter(1, at.expand(-1, -1, most * width), heard)
        allowed = torch.zeros(batch, routines, most, dtype=torch.bool, device=results.device)
        allowed = allowed.scatter(1, at.expand(-1, -1, most), (parents >= 0) & (pointed >= 0)[..., None])
        return everywhere.view(batch, routines, most, width), allowed

    def _read(self, words: Tensor, shift: Tensor | None) -> Program:
        routines = self._routines(words, shift) if self.config.form == "paper" else None
        return Program(self.semantics, words, routines)

    def _routines(self, words: Tensor, shift: Tensor | None) -> Routines:
        positions = torch.arange(words.shape[1], device=words.device).expand(words.shape[:2])
        positions = (positions if shift is None else positions + shift[:, None]) % len(self.encoding)
        values, index = self.semantics.table(), self.semantics.index(words)
        keys = values
        if self.config.positions:
            missing = (words == 0).all(dim=2, keepdim=True)
            index = torch.cat([index, (len(values) + positions[..., None]).masked_fill(missing, -1)], dim=2)
            keys = torch.cat([values, self.encoding])
            values = torch.cat([values, torch.zeros_like(self.encoding)])
        used, index = _only_used(len(keys), index)
        return Routines(index, keys[used], values[used], positions, self.encoding)


class PaperBlock(nn.Module):
    """Eq. 3 to 5, with the additions that the configuration asks for."""

    def __init__(self, config: ExecutorConfig) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.words, self.rows = TableAttention(width, config.heads), RowAttention(width, config.heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        if config.feed_forward:
            self.think = mlp(width, config.hidden, width)

    def tell(
        self, rows: Tensor, numbers: Tensor, program: Program, watch: Watch | None = None, name: str = ""
    ) -> Tensor:
        """H_1 (Eq. 3): rows told what routines say."""
        routines, asking = program.routines, rows
        assert routines is not None
        if self.config.positions:
            asking = rows + routines.encoding[routines.positions.gather(1, numbers.clamp(min=0))]
        index = routines.index.repeat_interleave(rows.shape[1], dim=0)
        given = (routines.keys, index, None, routines.values)
        told = self.words(asking.flatten(0, 1), *given, watch, name).view_as(rows)
        return self._after(rows, told, 0)

    def follow(
        self, told: Tensor, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str
    ) -> Tensor:
        """H_2 (Eq. 4): rows told what the routines before them found."""
        return self._after(told, self.rows(queries, keys, allowed, watch, name).view_as(told), 1)

    def look(self, rows: Tensor, reader: nn.Module, seen: Any, number: int, watch: Watch | None = None) -> Tensor:
        """Z (Eq. 5): rows told what the specification shows."""
        found = reader(rows, seen, number, watch)
        rows = rows + found if self.config.residual else found
        return rows + self.think(self.norms[2](rows)) if self.config.feed_forward else rows

    def _after(self, before: Tensor, attended: Tensor, norm: int) -> Tensor:
        rows = before + attended if self.config.residual else attended
        return self.norms[norm](rows) if self.config.normalise else rows


class PlusBlock(nn.Module):
    """Words directly, then the parents' results, then the specification several times."""

    def __init__(self, config: ExecutorConfig) -> None:
        super().__init__()
        width = config.width
        self.inject, self.rows = nn.Linear(2 * width, width), RowAttention(width, config.heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + 2 * config.blocks))
        self.think = nn.ModuleList(mlp(width, config.hidden, width) for _ in range(config.blocks))

    def tell(
        self, rows: Tensor, numbers: Tensor, program: Program, watch: Watch | None = None, name: str = ""
    ) -> Tensor:
        """Rows told what their own routines say."""
        words = program.semantics(_take(program.words, numbers))
        return self.norms[0](self.inject(torch.cat([words, rows], dim=2)))

    def follow(
        self, told: Tensor, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str
    ) -> Tensor:
        """Rows told what the routines before them found (Eq. 4)."""
        return told + self.rows(queries, keys, allowed, watch, name).view_as(told)

    def look(self, rows: Tensor, reader: nn.Module, seen: Any, number: int, watch: Watch | None = None) -> Tensor:
        """Rows told what the specification shows, and what follows from it, several times."""
        for turn, think in enumerate(self.think):
            rows = rows + reader(self.norms[2 + 2 * turn](rows), seen, turn, watch)
            rows = rows + think(self.norms[3 + 2 * turn](rows))
        return self.norms[1](rows)


def _take(rows: Tensor, numbers: Tensor) -> Tensor:
    """Rows by number: (batch, routines, d), (batch, N) -> (batch, N, d); row 0 where the number is -1."""
    numbers = numbers.clamp(min=0)
    if rows.requires_grad:  # the gradient of the other way is summed in any order by several threads
        return rows.gather(1, numbers[..., None].expand(-1, -1, rows.shape[2]))
    return rows[torch.arange(len(rows), device=rows.device)[:, None], numbers]


def _all_others(words: Tensor, pointed: Tensor) -> Tensor:
    """Every routine but the pointed one as a parent: (batch, R, routines)."""
    every = torch.arange(words.shape[1], device=words.device).expand(len(words), pointed.shape[1], -1)
    missing = (words == 0).all(dim=2)[:, None] | (every == pointed[..., None])
    return every.masked_fill(missing, -1)


def _only_used(rows: int, index: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows of a table occur in the index, and the index into those."""
    used = torch.zeros(rows + 1, dtype=torch.bool, device=index.device)
    used[index.flatten()] = True
    number = used[:-1].cumsum(0) - 1
    compact = torch.where(index >= 0, number[index.clamp(min=0)], -1)
    return used[:-1], compact.to(torch.int16)
