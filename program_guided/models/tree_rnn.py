"""`tree_rnn`: a rival in the paper that composes the program's syntax tree into vectors, without pointer and table.

As in the paper and in Program Guided Agent (Sun et al., 2020): embeddings of 128; a node (a line of the program) is the
mean of its tokens; a node with a block also gets the sum of its children, composed by a 128 x 128 matrix; an output
projection of 128 x 128 and a bias; an LSTM of 128 that attends to the nodes. Decided here, where they are silent: nodes
pass through tanh, and have the position of their line, as in the standard transformer, or an LSTM could not go on to
the next of two equal lines; the state is encoded as by `pga`, without modulation. See `recurrent.py`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from program_guided.language.tokens import SYMBOL
from program_guided.models.config import TreeRNNConfig
from program_guided.models.model import Sizes
from program_guided.models.readers.config import ReaderConfig
from program_guided.models.recurrent import Recurrent
from program_guided.models.semantics import sinusoids

__all__ = ["TreeRNN"]

MAX_LINES = 1024


@final
class TreeRNN(Recurrent):
    """The model of `TreeRNNConfig`."""

    def __init__(self, config: TreeRNNConfig, sizes: Sizes, reader: ReaderConfig) -> None:
        width = config.width
        super().__init__("tree_rnn", config, sizes, reader, memory=2 * width, heads=1)
        self.config = config
        self.compose = nn.Linear(width, width, bias=False)
        self.project = nn.Linear(width, width)
        self.cell = nn.LSTMCell(2 * width, width)
        self.positions: Tensor
        self.register_buffer("positions", sinusoids(MAX_LINES, width, linear=False), persistent=False)

    def settings(self) -> dict[str, Any]:
        return asdict(self.config)

    def encode_programs(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        parent, line, depth, lines = self._tree(tokens)
        within = line.masked_fill(line < 0, lines)
        members = one_hot(within, lines + 1)[..., :lines].float().transpose(1, 2)
        own = members @ self.tokens(tokens) / members.sum(dim=2, keepdim=True).clamp(min=1)
        exists = members.sum(dim=2) > 0
        child = one_hot(parent + 1, lines + 1)[..., 1:].float().transpose(1, 2)  # (programs, parent, child)
        nodes = torch.tanh(own)
        for level in reversed(range(int(depth.max()))):
            composed = torch.tanh(own + self.compose(child @ nodes))
            nodes = torch.where((depth == level)[..., None], composed, nodes)
        places = self.positions[torch.arange(lines, device=tokens.device).clamp(max=MAX_LINES - 1)]
        return self.project(nodes) + places, exists

    def move(self, found: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        hidden, cell = memory.chunk(2, dim=1)
        return torch.cat(self.cell(torch.cat([found, state], dim=1), (hidden, cell)), dim=1)

    def _tree(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
        """Parents of the lines (programs, lines), -1 for none; the line of each token (programs, tokens), -1 for tokens
        that only open and close blocks; the lines' depths (programs, lines), and their number."""
        newline, indent, dedent = (tokens == SYMBOL[name] for name in ("newline", "indent", "dedent"))
        line = newline.int().cumsum(dim=1) - newline.int()
        level = indent.int().cumsum(dim=1) - dedent.int().cumsum(dim=1)
        lines = int(newline.sum(dim=1).max())
        line = line.masked_fill(indent | dedent | (tokens == 0), -1).long()
        depth = tokens.new_full((len(tokens), lines + 1), -1)
        depth.scatter_(1, line.masked_fill(line < 0, lines), level.long())
        depth = depth[:, :lines]
        every = torch.arange(lines, device=tokens.device)
        above = (depth[:, None, :] == depth[:, :, None] - 1) & (every[None, None] < every[None, :, None])
        parent = torch.where(above, every, -1).amax(dim=2).masked_fill(depth <= 0, -1)
        return parent, line, depth, lines
