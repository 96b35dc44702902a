"""`transformer`: a rival in the paper that reads the whole program token by token, without pointer and table.

As in the paper: two layers of self-attention over the tokens, eight heads, width 128, feed-forward 256 (0.26 million
parameters; the 2.63 million that the paper names fit no reading of that). Decided here, where the paper is silent: the
state is encoded as by `pga`, without modulation; the memory, which must know how far the program is, is a gated
recurrent unit of 128, and attends to the encoded tokens once in every step; positions are those of the standard
transformer; layers are normalised first. See `recurrent.py`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, final

import torch
from torch import Tensor, nn

from program_guided.models.config import TransformerConfig
from program_guided.models.model import Sizes
from program_guided.models.readers.config import ReaderConfig
from program_guided.models.recurrent import Recurrent
from program_guided.models.semantics import sinusoids

__all__ = ["Transformer"]

MAX_TOKENS = 4096


@final
class Transformer(Recurrent):
    """The model of `TransformerConfig`."""

    def __init__(self, config: TransformerConfig, sizes: Sizes, reader: ReaderConfig) -> None:
        width = config.width
        super().__init__("transformer", config, sizes, reader, memory=width, heads=config.heads)
        self.config = config
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, config.heads, config.feed_forward, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.cell = nn.GRUCell(2 * width, width)
        self.positions: Tensor
        self.register_buffer("positions", sinusoids(MAX_TOKENS, width, linear=False), persistent=False)

    def settings(self) -> dict[str, Any]:
        return asdict(self.config)

    def encode_programs(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        exists = tokens != 0
        place = (exists.cumsum(dim=1) - 1).clamp(0, MAX_TOKENS - 1)
        vectors = self.tokens(tokens) + self.positions[place]
        for layer in self.layers:
            vectors = layer(vectors, src_key_padding_mask=~exists)
        return self.norm(vectors), exists

    def move(self, found: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        moved: Tensor = self.cell(torch.cat([found, state], dim=1), memory)
        return moved
