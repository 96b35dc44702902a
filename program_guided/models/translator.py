"""Encoder-decoder transformer with a copy mechanism: from the words of a question to the terminals of a program.

Departures from the paper (a sequence-to-sequence transformer of six and six layers, d = 512, eight heads: the
configuration `paper`): layers are normalised before their sublayers, positions are rotary too, and begin anywhere in
training; a terminal can be copied from the source (as in CopyNet): a word offers itself, its singular and its canonical
form, and one softmax is taken over the terminals and all these offers. With `cursor`, attention is local, and to the
question relative to the cursor. A second output says whether a program can answer the question at all.

    network = Translator(TranslatorConfig(), Vocabularies(words=500, tags=20, terminals=300))
    scores, familiar = network(source, terminals, cursors)
    scores.shape                                        # (batch, length, extended terminals) log-probabilities
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from program_guided.language.sentences import FORMS
from program_guided.models.config import TranslatorConfig

__all__ = [
    "BEGINNING",
    "PADDING",
    "Cache",
    "Memory",
    "Source",
    "Translator",
    "TranslatorConfig",
    "Vocabularies",
]

BEGINNING = 1 << 30
"""Stands before the first terminal of a sequence."""
PADDING = -1
"""An offer that is none: padding, or a word that no program uses."""
MAX_SHIFT = 200
"""Words that a question may be shifted by, in training."""
NEVER = -1e4
"""Logit of what cannot be."""
NEAR_WORDS, NEAR_TERMINALS = 40, 64
"""With a cursor, words of the question are read from this far on both sides of a word or of the cursor, and terminals
from this far back: whatever is learned of short sentences holds in long ones."""


class Vocabularies(NamedTuple):
    """Sizes of the vocabularies."""

    words: int
    """Words of questions; 0 is padding, 1 any unknown word."""
    tags: int
    """0 is none."""
    terminals: int


class Source(NamedTuple):
    """Questions as numbers."""

    words: Tensor
    """(batch, source) words."""
    canonical: Tensor
    """(batch, source) their canonical forms."""
    tags: Tensor
    """(batch, source, tags of a word)"""
    offers: Tensor
    """(batch, source, forms) terminals that can be copied, those that have no number counted from the last terminal
    on."""
    origins: Tensor
    """(batch, terminals without a number) the place of a word that offers each."""


class Memory(NamedTuple):
    """Encoded questions."""

    states: Tensor
    """(batch, source, d)"""
    there: Tensor
    """(batch, source) True where there is a word."""
    offers: Tensor
    """(batch, source * forms)"""
    offered: Tensor
    """(batch, terminals without a number, d) what the decoder reads of these."""
    familiar: Tensor
    """(batch) logit of a question that programs can answer."""


class Cache(NamedTuple):
    """Keys and values of a layer of the decoder: of the terminals so far, and of the source."""

    own: tuple[Tensor, Tensor] | None
    source: tuple[Tensor, Tensor]

    def taken(self, rows: Tensor) -> Cache:
        """Other rows, for the hypotheses of a beam."""
        own = None if self.own is None else (self.own[0][rows], self.own[1][rows])
        return Cache(own, (self.source[0][rows], self.source[1][rows]))


class Reads(NamedTuple):
    """Terminals and words that each terminal reads."""

    terminals: Tensor
    """(length, terminals so far)"""
    words: Tensor
    """(batch, 1, length or 1, source)"""


class _Attention(nn.Module):
    """Multi-head attention; positions, where given, are rotary."""

    def __init__(self, config: TranslatorConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width)
        self.keys = nn.Linear(config.width, 2 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def project(self, states: Tensor, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(batch, heads, length, d / heads) keys and values."""
        keys, values = (self._split(each) for each in self.keys(states).chunk(2, dim=-1))
        return (keys if positions is None else rotated(keys, positions)), values

    def forward(
        self,
        states: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        positions: Tensor | None = None,
    ) -> Tensor:
        query = self._split(self.query(states))
        query = query if positions is None else rotated(query, positions)
        scores = query @ keys.transpose(2, 3) * query.shape[3] ** -0.5
        read = scores.masked_fill(~mask, NEVER).softmax(dim=3) @ values
        out: Tensor = self.out(read.transpose(1, 2).flatten(2))
        return out

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


def rotated(states: Tensor, positions: Tensor) -> Tensor:
    """Rotary encoding of positions (Su et al., 2021), which are (length) or (batch, length)."""
    half = states.shape[-1] // 2
    frequencies = torch.exp(torch.arange(half, device=states.device) * (-math.log(10_000.0) / half))
    angles = positions[..., None] * frequencies
    angles = angles[:, None] if positions.dim() > 1 else angles
    cosine, sine = angles.cos(), angles.sin()
    one, other = states[..., :half], states[..., half:]
    return torch.cat([one * cosine - other * sine, other * cosine + one * sine], dim=-1)


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Absolute encoding of positions (Vaswani et al., 2017)."""
    half = width // 2
    frequencies = torch.exp(torch.arange(half, device=positions.device) * (-math.log(10_000.0) / half))
    angles = positions[..., None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def _mlp(config: TranslatorConfig) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(config.width, config.hidden),
        nn.GELU(),
        nn.Dropout(config.dropout),
        nn.Linear(config.hidden, config.width),
    )


class _EncoderLayer(nn.Module):
    def __init__(self, config: TranslatorConfig) -> None:
        super().__init__()
        self.attention, self.mlp = _Attention(config), _mlp(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, read: Tensor) -> Tensor:
        """`read`: (batch, 1, source or 1, source) the words that each word reads."""
        normed, positions = self.norms[0](states), torch.arange(states.shape[1], device=states.device)
        keys, values = self.attention.project(normed, positions)
        states = states + self.dropout(self.attention(normed, keys, values, read, positions))
        return states + self.dropout(self.mlp(self.norms[1](states)))


class _DecoderLayer(nn.Module):
    def __init__(self, config: TranslatorConfig) -> None:
        super().__init__()
        self.own, self.source, self.mlp = _Attention(config), _Attention(config), _mlp(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, states: Tensor, read: Reads, cache: Cache, first: int, cursors: Tensor | None
    ) -> tuple[Tensor, Cache]:
        positions = torch.arange(first, first + states.shape[1], device=states.device)
        normed = self.norms[0](states)
        keys, values = self.own.project(normed, positions)
        if cache.own is not None:
            keys, values = torch.cat([cache.own[0], keys], dim=2), torch.cat([cache.own[1], values], dim=2)
        states = states + self.dropout(self.own(normed, keys, values, read.terminals, positions))
        states = states + self.dropout(self.source(self.norms[1](states), *cache.source, read.words, cursors))
        return states + self.dropout(self.mlp(self.norms[2](states))), Cache((keys, values), cache.source)


class Translator(nn.Module):
    """Encoder, decoder, and a softmax over terminals and what the source offers."""

    def __init__(self, config: TranslatorConfig, sizes: Vocabularies) -> None:
        super().__init__()
        self.config, self.sizes = config, sizes
        width = config.width
        self.words = nn.Embedding(sizes.words, width, padding_idx=0)
        self.tags = nn.Embedding(sizes.tags, width, padding_idx=0)
        self.terminals = nn.Embedding(sizes.terminals + 2, width)
        """The last two: a terminal without a number, and the beginning."""
        self.encoder = nn.ModuleList(_EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(_DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoded, self.decoded = nn.LayerNorm(width), nn.LayerNorm(width)
        self.generate = nn.Linear(width, sizes.terminals)
        self.copied = nn.Linear(width, len(FORMS) * width)
        self.familiar = nn.Linear(width, 1)
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.words, self.tags, self.terminals):
            nn.init.normal_(table.weight, std=width**-0.5)

    @property
    def beginning(self) -> int:
        """The number that a sequence begins with."""
        return self.sizes.terminals + 1

    def encode(self, source: Source) -> Memory:
        """Encode questions, once each."""
        there = source.words != 0
        own = self.words(source.words) + self.words(source.canonical) + self.tags(source.tags).sum(dim=2)
        states = self.dropout(own * self.config.width**0.5 + sinusoidal(self._places(source.words), self.config.width))
        read = there[:, None, None]
        if self.config.cursor:
            places = torch.arange(there.shape[1], device=there.device)
            read = read & ((places[:, None] - places).abs() <= NEAR_WORDS)
        for layer in self.encoder:
            states = layer(states, read)
        states = self.encoded(states)
        mean = (states * there[..., None]).sum(dim=1) / there.sum(dim=1, keepdim=True).clamp(min=1)
        rows = torch.arange(len(own), device=own.device)[:, None]
        return Memory(states, there, source.offers.flatten(1), own[rows, source.origins], self.familiar(mean)[:, 0])

    def _places(self, words: Tensor) -> Tensor:
        """(batch, source) places of words; in training they begin anywhere, so that longer questions are read too."""
        places = torch.arange(words.shape[1], device=words.device).expand_as(words)
        shift = torch.randint(0, MAX_SHIFT, (len(words), 1)).to(words.device) if self.training else 0
        return places + shift

    def caches(self, memory: Memory) -> list[Cache]:
        """Caches of the decoder before the first terminal."""
        positions = torch.arange(memory.states.shape[1], device=memory.states.device) if self.config.cursor else None
        return [Cache(None, layer.source.project(memory.states, positions)) for layer in self.decoder]  # type: ignore[union-attr, operator]

    def decode(
        self, memory: Memory, terminals: Tensor, cursors: Tensor, caches: list[Cache], first: int = 0
    ) -> tuple[Tensor, list[Cache]]:
        """Log-probabilities of what follows each of some terminals, the first of which is the `first` of its
        sequence: (batch, length, extended terminals). `cursors`: (batch, length) places in the question that they have
        come to."""
        places = cursors if self.config.cursor else None
        states, read = self._embedded(memory, terminals), self._reads(memory, cursors, first)
        after = []
        for layer, cache in zip(self.decoder, caches, strict=True):
            states, kept = layer(states, read, cache, first, places)
            after.append(kept)
        return self._scores(self.decoded(states), memory), after

    def forward(self, source: Source, terminals: Tensor, cursors: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of all terminals of sequences, and the logits of familiar questions."""
        memory = self.encode(source)
        scores, _ = self.decode(memory, terminals, cursors, self.caches(memory))
        return scores, memory.familiar

    def _reads(self, memory: Memory, cursors: Tensor, first: int) -> Reads:
        """Terminals and words that are read by each of some terminals, the first of which is the `first` of its
        sequence."""
        own = torch.arange(first, first + cursors.shape[1], device=cursors.device)[:, None]
        back = own - torch.arange(first + cursors.shape[1], device=cursors.device)
        if not self.config.cursor:
            return Reads(back >= 0, memory.there[:, None, None])
        words = torch.arange(memory.there.shape[1], device=cursors.device)
        near = ((words - cursors[..., None]).abs() <= NEAR_WORDS) & memory.there[:, None]
        return Reads((back >= 0) & (back <= NEAR_TERMINALS), near[:, None])

    def _embedded(self, memory: Memory, terminals: Tensor) -> Tensor:
        unnumbered = self.sizes.terminals
        places = (terminals - unnumbered).clamp(0, memory.offered.shape[1] - 1)
        is_offer = (terminals >= unnumbered) & (terminals < BEGINNING)
        known = torch.where(terminals == BEGINNING, self.beginning, terminals.clamp(max=unnumbered))
        rows = torch.arange(len(terminals), device=terminals.device)[:, None]
        offered = memory.offered[rows, places] * is_offer[..., None]
        return self.dropout((self.terminals(known) + offered) * self.config.width**0.5)

    def _scores(self, states: Tensor, memory: Memory) -> Tensor:
        """One softmax over terminals and offers; those of the same terminal are added."""
        keys = self.copied(memory.states).unflatten(-1, (len(FORMS), -1)).flatten(1, 2)
        copied = states @ keys.transpose(1, 2) * self.config.width**-0.5
        copied = copied.masked_fill((memory.offers == PADDING)[:, None], NEVER)
        shares = torch.cat([self.generate(states), copied], dim=-1).softmax(dim=-1)
        numbered = self.sizes.terminals
        own, offered = shares[..., :numbered], shares[..., numbered:]
        unnumbered = memory.offered.shape[1]
        total = torch.cat([own, own.new_zeros(*own.shape[:2], unnumbered)], dim=-1)
        places = memory.offers.clamp(min=0)[:, None].expand_as(offered)
        return total.scatter_add(-1, places, offered).clamp(min=1e-9).log()
