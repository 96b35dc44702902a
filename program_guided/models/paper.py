"""`paper`: the paper's executor (Eq. 3 to 5) and the additions that its equations need to work, each with a switch.

Taken literally, with Z = 0 at the start and no residual connection, all rows of Z stay identical. docs/paper_map.md
lists every addition, its reason and what it is worth; `PaperConfig` has a switch for each.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, final

import torch
from torch import Tensor, nn

from program_guided.models.attention import RowAttention, TableAttention, Watch
from program_guided.models.config import PaperConfig
from program_guided.models.executor import Executor
from program_guided.models.model import Sizes, Step, take
from program_guided.models.readers.config import CrossAttention, ReaderConfig
from program_guided.models.semantics import Semantics, mlp, sinusoids

__all__ = ["Paper"]

MAX_SHIFT = 48


@dataclass(frozen=True)
class Routines:
    """Programs as blocks attend to them: routines are sums of table rows."""

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


@final
class Paper(Executor):
    """The executor of `PaperConfig`."""

    def __init__(self, config: PaperConfig, sizes: Sizes, reader: ReaderConfig) -> None:
        word_width, width = config.word_width_of(sizes.words), config.width_of(sizes.words)
        parts = [each.name for each in fields(CrossAttention) if isinstance(each.default, bool)]
        attention = CrossAttention(
            heads=config.heads,
            blocks=config.blocks * (1 + config.released),
            hidden=config.hidden,
            **{name: getattr(config, name) for name in parts},
        )
        semantics = Semantics(len(sizes.vocabulary), sizes.words, word_width, config.semantics)
        super().__init__(
            sizes,
            reader.build_attention(sizes, width, attention),
            width,
            config.hidden,
            semantics,
            guided=config.structure,
            memory=config.memory,
            ordered=config.ordered,
        )
        self.config, self.reads_ahead = config, config.released
        self.blocks = nn.ModuleList(PaperBlock(width, config) for _ in range(config.blocks))
        self.shift_range = MAX_SHIFT if config.shifted else 0
        self.positions: Tensor
        # 2 * width is the encoding's period.
        encoding = sinusoids(2 * width, width, config.linear_frequencies) * 2**0.5
        self.register_buffer("positions", encoding, persistent=False)
        if config.tied_query_key and config.projections and not config.released:
            self._tie_queries_to_keys()

    @torch.no_grad()
    def _tie_queries_to_keys(self) -> None:
        """Initialise queries and keys of CrossAtt1 equal, so that every row attends to its own words. With a random
        initialisation, rows attend to all routines for a large part of the training."""
        for block in self.blocks:
            block.words.key.weight.copy_(block.words.query.weight.mul_(3))

    def settings(self) -> dict[str, Any]:
        return asdict(self.config)

    def read_program(self, step: Step) -> Routines | Tensor:
        """The routines as sums of table rows; in the order of the `released` code, P^s (batch, routines, d)."""
        words = step.words
        positions = torch.arange(words.shape[1], device=words.device).expand(words.shape[:2])
        positions = (positions if step.shift is None else positions + step.shift[:, None]) % len(self.positions)
        if self.config.released:
            return self.semantics(words)
        values, index = self.semantics.table(), self.semantics.index(words)
        keys = values
        if self.config.positions:
            missing = (words == 0).all(dim=2, keepdim=True)
            index = torch.cat([index, (len(values) + positions[..., None]).masked_fill(missing, -1)], dim=2)
            keys = torch.cat([values, self.positions])
            values = torch.cat([values, torch.zeros_like(self.positions)])
        used, index = _only_used(len(keys), index)
        return Routines(index, keys[used], values[used], positions, self.positions)


class PaperBlock(nn.Module):
    """Eq. 3 to 5, with the additions of the configuration."""

    def __init__(self, width: int, config: PaperConfig) -> None:
        super().__init__()
        self.config = config
        self.rows = RowAttention(width, config.heads, config.projections)
        if not config.released:
            self.words = TableAttention(width, config.heads, projections=config.projections)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        if config.feed_forward:
            self.mlp = mlp(width, config.hidden, width)

    def attend_words(
        self, rows: Tensor, numbers: Tensor, program: Routines | Tensor, watch: Watch | None = None, name: str = ""
    ) -> Tensor:
        if isinstance(program, Tensor):
            empty = (rows == 0).all(dim=2, keepdim=True)
            return torch.where(empty, take(program, numbers), rows)
        queries = rows
        if self.config.positions:
            queries = rows + program.encoding[program.positions.gather(1, numbers.clamp(min=0))]
        index = program.index.repeat_interleave(rows.shape[1], dim=0)
        given = (program.keys, index, None, program.values)
        attended = self.words(queries.flatten(0, 1), *given, watch, name).view_as(rows)
        return self._after(rows, attended, 0)

    def read_ahead(self, rows: Tensor, reader: Any, view: Any, number: int) -> Tensor:
        if not self.config.released:
            return rows
        return self._after(rows, reader(rows, view, 2 * number), 0)

    def attend_parents(
        self, rows: Tensor, queries: Tensor, keys: Tensor, allowed: Tensor, watch: Watch | None, name: str
    ) -> Tensor:
        return self._after(rows, self.rows(queries, keys, allowed, watch, name).view_as(rows), 1)

    def read_specification(
        self, rows: Tensor, reader: Any, view: Any, number: int, watch: Watch | None = None
    ) -> Tensor:
        found = reader(rows, view, 2 * number + 1 if self.config.released else number, watch)
        rows = rows + found if self.config.residual else found
        return rows + self.mlp(self.norms[2](rows)) if self.config.feed_forward else rows

    def _after(self, before: Tensor, attended: Tensor, norm: int) -> Tensor:
        rows = before + attended if self.config.residual else attended
        return self.norms[norm](rows) if self.config.normalise else rows


def _only_used(rows: int, index: Tensor) -> tuple[Tensor, Tensor]:
    """A mask of the rows of a table that occur in the index, and the index into those."""
    used = torch.zeros(rows + 1, dtype=torch.bool, device=index.device)
    used[index.flatten()] = True
    number = used[:-1].cumsum(0) - 1
    compact = torch.where(index >= 0, number[index.clamp(min=0)], -1)
    return used[:-1], compact.to(torch.int16)
