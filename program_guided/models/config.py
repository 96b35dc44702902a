"""Configurations of the models; no torch here, so that the command line can show them at once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from program_guided.errors import DataError

__all__ = [
    "TRANSLATORS",
    "VALUE",
    "ExecutorConfig",
    "ModelConfig",
    "PGAConfig",
    "PaperConfig",
    "PlusConfig",
    "RecurrentConfig",
    "TransformerConfig",
    "TranslatorConfig",
    "TreeRNNConfig",
]

VALUE = "Value"
"""The result type of a state's value, for learning from reward."""
MAX_BLOCKS, MAX_WIDTH = 8, 8192
COMMON_WIDTH = 128
"""Approximate width d of a model if no width of words is given."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Configuration common to all models."""

    hidden: int = 256
    """Hidden width of MLPs."""

    def check(self) -> None:
        """One clear error for a configuration that cannot be."""
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is int and not 1 <= value <= MAX_WIDTH:
                raise DataError(f"{each.name.replace('_', '-')} {value}: it must be from 1 to {MAX_WIDTH}")

    def without(self) -> list[str]:
        """Parts that are on by default and off here."""
        return [each.name for each in fields(self) if each.default is True and getattr(self, each.name) is False]


@dataclass(frozen=True, kw_only=True)
class ExecutorConfig(ModelConfig):
    """Configuration of executors in the paper's sense: words, parents and specification are attended to."""

    word_width: int | None = None
    """d_m; the width d is L times this. Default: the smallest multiple of heads with d of at least 128."""
    heads: int = 8
    """Attention heads."""
    blocks: int = 2
    """paper: stacked blocks. plus: readings of the specification."""
    memory: bool = True
    """Each step of a routine starts from its own last result; without, from zero."""
    structure: bool = True
    """The structure guidance P^t; without, every routine attends to every other."""
    semantics: bool = True
    """The semantic guidance P^s."""

    def check(self) -> None:
        if not 1 <= self.blocks <= MAX_BLOCKS:
            raise DataError(f"blocks {self.blocks}: it must be from 1 to {MAX_BLOCKS}")
        super().check()

    def word_width_of(self, words: int) -> int:
        """Width of a word, for routines of `words` words."""
        least = -(-COMMON_WIDTH // (words * self.heads)) * self.heads
        return self.word_width or (least + self.heads if words * least % 2 else least)

    def width_of(self, words: int) -> int:
        """Width d, for routines of `words` words."""
        word_width = self.word_width_of(words)
        width = words * word_width
        if width % 2 or width % self.heads:
            raise DataError(
                f"word-width {word_width}, heads {self.heads}: the width d = {width} ({words} words of a routine, each "
                f"{word_width}) must be even and a multiple of heads"
            )
        return width


@dataclass(frozen=True, kw_only=True)
class PlusConfig(ExecutorConfig):
    """`plus`: our executor."""


@dataclass(frozen=True, kw_only=True)
class PaperConfig(ExecutorConfig):
    """`paper`: the paper's executor; every addition to its equations can be switched off."""

    ordered: bool = True
    """A learned code of an input's place is added to its result; without, inputs are a set."""
    released: bool = False
    """The order of the authors' published code: Z starts as P^s, and a block reads the specification, the parents and
    the specification again; without, that of the equations: words, parents, specification."""
    projections: bool = True
    """Learned projections in the attentions; without, queries, keys and values are the rows themselves, as in Eq. 3
    to 5."""
    positions: bool = True
    """Positional encoding of the routines."""
    linear_frequencies: bool = True
    """Linear frequencies of the positional encoding; without, the standard transformer's."""
    shifted: bool = True
    """Positions are shifted at random in training; without, they start at 0."""
    tied_query_key: bool = True
    """Queries and keys of the first attention are initialised equal and large."""
    residual: bool = True
    """Residual connections around the attentions."""
    normalise: bool = True
    """LayerNorm after the first and second attention."""
    feed_forward: bool = True
    """An MLP at the end of each block, as in the standard transformer."""
    null_key: bool = True
    """A null key in CrossAtt2, which makes counts visible."""
    position_free_heads: bool = True
    """Half of the heads of CrossAtt2 attend to the content of cells without their position, so that they can count."""
    count_feature: bool = True
    """Heads of CrossAtt2 output the number of items similar to the best one, in addition to their mean."""
    inventory_items: bool = True
    """The inventory as items to attend to; without, it is added to every cell."""
    normalised_encoders: bool = True
    """LayerNorm after the encoders of cells and of the inventory."""


@dataclass(frozen=True, kw_only=True)
class PGAConfig(ModelConfig):
    """`pga`: Program Guided Agent (Sun et al., 2020), a rival in the paper; for worlds on a map."""

    word_width: int = 32
    """Width of a word."""
    fusion: Literal["modulation", "concat"] = "modulation"
    """Way of the pointed routine into the network: it scales and shifts every channel, or stands beside them."""
    with_propagation: bool = False
    """Give it the value propagation of `plus`, which finds paths over the map; not part of PGA."""


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(ModelConfig):
    """Configuration of models without a pointer, which read the program's tokens; for worlds on a map."""

    width: int = 128
    """Width of tokens, of the state and of the memory."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(RecurrentConfig):
    """`transformer`: self-attention over the program's tokens, a rival in the paper."""

    layers: int = 2
    """Layers of self-attention."""
    heads: int = 8
    """Attention heads."""
    feed_forward: int = 256
    """Hidden width of a layer's MLP."""

    def check(self) -> None:
        super().check()
        if self.width % self.heads:
            raise DataError(f"width {self.width}, heads {self.heads}: the width must be a multiple of heads")


@dataclass(frozen=True, kw_only=True)
class TreeRNNConfig(RecurrentConfig):
    """`tree_rnn`: the program's syntax tree composed into vectors, a rival in the paper."""


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig:
    """Configuration of the translator."""

    width: int = 160
    """d, the width of all layers."""
    heads: int = 4
    """Attention heads."""
    encoder_layers: int = 3
    """Layers of the encoder."""
    decoder_layers: int = 3
    """Layers of the decoder."""
    hidden: int = 512
    """Hidden width of MLPs."""
    dropout: float = 0.1
    """Dropout of sublayers, in training."""
    cursor: bool = False
    """Read the question relative to where the program has come to (`learning/cursor.py`): for programs that follow the
    order of their sentences."""

    def check(self) -> None:
        """One clear error for a configuration that cannot be."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name not in ("dropout", "cursor") and not (type(value) is int and 1 <= value <= 4096):
                raise DataError(f"{each.name.replace('_', '-')} {value}: it must be from 1 to 4096")
        if not 0 <= self.dropout < 1:
            raise DataError(f"dropout {self.dropout}: it must be at least 0 and less than 1")
        if self.width % (4 * self.heads):
            raise DataError(f"width {self.width}: it must be a multiple of 4 heads, {4 * self.heads}")


TRANSLATORS = {
    "plus": TranslatorConfig(),
    "paper": replace(TranslatorConfig(), width=512, heads=8, encoder_layers=6, decoder_layers=6, hidden=2048),
}
