"""Patches of pixels as objects: a convolutional network that gives every cell of a picture a vector and a box.

The paper names "an image patch encoder" as one way to read a picture. Cells are put together again as the picture, so
that the network sees across their borders. The numbers of a vector are from 0 to 1, like a detector's probabilities; a
cell's box begins as the cell itself. Every cell has a score too, and those with the highest are the objects that a
reader compares: pairs of all cells would be too many. In training, noise is added to the scores, so that others are
tried. Nothing but the loss of the executor teaches all this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from program_guided.models.readers.config import Objects

__all__ = ["PatchEncoder", "Seen"]

WIDTH = 32
"""Channels of the first layer."""
ABSENT = -3.0
"""Initial logit of every number of a vector: most are true of few cells."""
GROUPS = 8
DEEP = 8
"""Pixels of the sides of what a number stands for, from which there are blocks: smaller ones would cost most."""
KEPT = 40
"""Cells that are kept of a picture."""
MAX_LOG = 2.0
"""Bound of the absolute logarithm of a box's side, in sides of the cell."""


class _Block(nn.Module):
    """Two convolutions with a residual path."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(_convolution(width, width), nn.ReLU(), _convolution(width, width))

    def forward(self, maps: Tensor) -> Tensor:
        return torch.relu(maps + self.layers(maps))


def _convolution(before: int, after: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False), nn.GroupNorm(GROUPS, after))


@dataclass(frozen=True)
class Seen:
    """Cells of pictures, read."""

    arrays: dict[str, Tensor]
    """`features` (n, objects, vector), `boxes` (n, objects, 4), `exists`"""
    scores: Tensor
    """(n, objects) logits: there is an object"""
    kept: Tensor
    """(n, objects) numbers of their cells"""
    cells: int

    def spread(self, values: Tensor, of: Tensor, missing: float) -> Tensor:
        """Values (programs, ..., objects) as values of all cells, by the picture of each program."""
        at = self.kept.index_select(0, of)
        at = at.view(len(at), *(1,) * (values.dim() - 2), -1).expand_as(values)
        return values.new_full((*values.shape[:-1], self.cells), missing).scatter(-1, at, values)


class PatchEncoder(nn.Module):
    """Pixels of cells -> vectors and boxes."""

    def __init__(self, config: Objects) -> None:
        super().__init__()
        self.side, self.columns, self.size = config.patch, config.columns, config.vector
        layers: list[nn.Module] = []
        before, reduced = 3, 1
        while reduced < self.side:
            reduced *= 2
            after = WIDTH * min(4, max(1, reduced.bit_length() - 1))
            layers += [_convolution(before, after, 2), nn.ReLU()]
            if reduced >= DEEP:
                layers += [_Block(after), _Block(after)]
            before = after
        self.layers = nn.Sequential(*layers)
        self.read = nn.Conv2d(before, self.size + 5, 1)
        bias = torch.full((self.size + 5,), ABSENT)
        bias[self.size :] = 0.0
        self.read.bias = nn.Parameter(bias)

    def keep(self, arrays: Mapping[str, Tensor]) -> Seen:
        """The cells with the highest scores."""
        every, scores = self(arrays)
        ranks = scores.detach()
        if self.training:
            ranks = ranks - torch.empty_like(ranks).exponential_().log()
        kept = ranks.topk(min(KEPT, ranks.shape[1]), dim=1).indices
        rows = torch.arange(len(kept), device=kept.device)[:, None]
        return Seen({name: each[rows, kept] for name, each in every.items()}, scores[rows, kept], kept, ranks.shape[1])

    def forward(self, arrays: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        """Arrays with `features` (n, cells, vector) and `boxes` (n, cells, 4) that were read off the pixels; and
        (n, cells) logits of an object."""
        pixels, cells = arrays["features"], arrays["boxes"]
        count, rows = len(pixels), pixels.shape[1] // self.columns
        grid = pixels.view(count, rows, self.columns, 3, self.side, self.side)
        picture = grid.permute(0, 3, 1, 4, 2, 5).reshape(count, 3, rows * self.side, self.columns * self.side)
        read = self.read(self.layers(picture / 127.5 - 1)).flatten(2).transpose(1, 2)
        vectors, box, scores = read.split([self.size, 4, 1], dim=2)
        low, sides = cells[..., :2], cells[..., 2:] - cells[..., :2]
        centre = low + sides * box[..., :2].sigmoid()
        half = sides * (MAX_LOG * (box[..., 2:] / MAX_LOG).tanh()).exp() / 2
        boxes = torch.cat([centre - half, centre + half], dim=2)
        return {**arrays, "features": vectors.sigmoid(), "boxes": boxes}, scores[..., 0]
