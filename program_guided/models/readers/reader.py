"""The protocol of a reader: the network through which a model reads a specification.

A reader is an `nn.Module`. It encodes a batch of specifications once (`encode`); in every step it answers the queries
of the pointed routines, whose words and parent results it is given. Axes: `batch` programs, `rows` pointed routines of
each, `parents` of each row, `words` L, `width` d, `parts` of a specification (objects, items, cells).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from jaxtyping import Bool, Float, Integer
from torch import Tensor

from program_guided.models.attention import Watch

__all__ = ["Reader", "Specification"]


class Specification(Protocol):
    """Specifications encoded by a reader."""

    def about(self, of: Tensor) -> Any:
        """Select the specification of each program, by its number (batch,)."""


class Reader(Protocol):
    """The methods that a model calls.

    A reader whose parts can be pointed at (`Objects`) has an array `exists` (specifications, parts) among those that it
    encodes, and `feature_dropout` drops numbers of the array `features`. Optional methods, called if they are there:
    `fit(arrays)` before a training, with specifications of train. Optional attributes: `named_words`, numbers of words
    that are represented by what they name alone; `reads_pixels`, True if features are pixels, which are not dropped;
    `visits`, True to be given an array of that name, the agent's visits
    to each cell since the pointed routine began.
    """

    independent: bool
    """True if each part is pointed at independently (a set); False if all share one distribution, as in the paper."""

    def encode(self, arrays: Mapping[str, Tensor]) -> Any:
        """Encode a batch of specifications as a `Specification`; program i is about specification i until `about`."""

    def prepare(
        self,
        specification: Any,
        parents: Float[Tensor, "batch rows parents width"],
        exists: Bool[Tensor, "batch rows parents"],
        words: Integer[Tensor, "batch rows words"],
    ) -> Any:
        """Compute once what all queries of a step use.

        parents (batch, rows, parents, width) are the results of the parents where they exist (batch, rows, parents),
        words (batch, rows, words) those of the pointed routines, 0 for none.
        """

    def __call__(
        self, query: Float[Tensor, "batch rows width"], view: Any, block: int, watch: Watch | None = None
    ) -> Float[Tensor, "batch rows width"]:
        """(batch, rows, width) -> (batch, rows, width): answers to queries about a prepared view."""

    def point(
        self, rows: Float[Tensor, "batch rows width"], specification: Any
    ) -> Float[Tensor, "batch rows parts_and_none"]:
        """(batch, rows, parts + 1) scores of the parts that rows of Z point at, the last one for none."""

    def parts(self, specification: Any) -> Bool[Tensor, "batch parts"]:
        """(batch, parts) mask of the parts that exist."""
