"""The configuration of an executor; no torch here, so that the command line can show it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

from program_guided.errors import DataError

__all__ = ["ExecutorConfig", "Form", "Parts", "left_out"]

Form = Literal["paper", "plus"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Parts of the model that can be taken away, to measure what they are worth."""

    structure: bool = True
    """The structure guidance P^t; without, every routine attends to every other."""
    semantics: bool = True
    """The semantic guidance P^s."""
    positions: bool = True
    """paper: positional encoding of the routines."""
    spaced: bool = True
    """paper: evenly spaced frequencies of that; without, the standard transformer's."""
    shifted: bool = True
    """paper: positions that begin anywhere in training, not always at 0."""
    matched: bool = True
    """paper: queries and keys of the first attention begin equal and large."""
    scaled: bool = True
    """paper: LayerNorm behind the encoders of cells and of what is carried."""
    residual: bool = True
    """paper: residual paths around the attentions."""
    normalise: bool = True
    """paper: LayerNorm after the first and second attention."""
    sink: bool = True
    """paper: an empty item in CrossAtt2, which makes counts visible."""
    blind: bool = True
    """paper: half of the heads of CrossAtt2 see what lies in a cell and not where, so that they can count."""
    tells: bool = True
    """paper: heads of CrossAtt2 tell how many cells are like the best one, beside their mean."""
    objects: bool = True
    """paper: what the agent carries as objects to attend to; without, it is added to every cell."""
    feed_forward: bool = True
    """paper: an MLP at the end of each block, as in the standard transformer."""


@dataclass(frozen=True, kw_only=True)
class ExecutorConfig(Parts):
    """Form, sizes and parts of an executor."""

    PAPER_ONLY: ClassVar[tuple[str, ...]] = (
        "positions",
        "spaced",
        "shifted",
        "matched",
        "scaled",
        "residual",
        "normalise",
        "sink",
        "blind",
        "tells",
        "objects",
        "feed_forward",
    )

    form: Form
    vocabulary: int
    words: int
    """L: words of a routine."""
    results: tuple[tuple[str, int], ...]
    """Result types and the size of each one's output."""
    word_width: int = 32
    """d_m; the executor's width d is L times this."""
    heads: int = 8
    hidden: int = 256
    """Hidden width of MLPs."""
    blocks: int = 2
    """`paper`: stacked blocks. `plus`: how often the specification is read."""
    plans: int = 6
    """`plus`: heads that find ways."""
    names: bool = False
    """`plus`: whether words that name things are told apart by what they name alone; without, each has its meaning to
    learn."""
    memory: bool = True
    """Whether a routine that takes several steps goes on from its own last result, or begins anew at each."""

    def __post_init__(self) -> None:
        missing = [name.replace("_", "-") for name in self.PAPER_ONLY if not getattr(self, name)]
        if self.form == "plus" and missing:
            raise DataError(f"--no-{missing[0]} belongs to --model paper; plus is built without such parts")
        if self.form == "paper" and self.names:
            raise DataError("--names belongs to --model plus")

    @property
    def width(self) -> int:
        return self.words * self.word_width

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def left_out(settings: Mapping[str, Any]) -> list[str]:
    """Which parts that an executor usually has one of these settings (`as_dict`) is without."""
    usual = [each.name for each in fields(ExecutorConfig) if each.default is True]
    return [name for name in usual if settings.get(name, True) is False]
