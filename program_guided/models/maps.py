"""Maps seen by convolutions, as in Program Guided Agent (Sun et al., 2020): how the paper's rivals see a state."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, relu

from program_guided.errors import DataError
from program_guided.models.readers.config import Grid, ReaderConfig
from program_guided.models.readers.grid import MAX_VISITS, Maps

__all__ = ["MapReader", "StateEncoder"]

CHANNELS = (32, 64, 96, 128)
"""Channels of the convolutions; each has a kernel of 3 and a stride of 2, pads the border and is normalised."""
INVENTORY = 256
"""Width of the inventory's two layers."""


class MapReader(nn.Module):
    """The reader of models that encode maps themselves: it hands them on."""

    independent = False

    def __init__(self, config: ReaderConfig, model: str) -> None:
        super().__init__()
        if not isinstance(config, Grid):
            raise DataError(f"model {model}: it reads maps (readers.Grid), not {type(config).__name__}")
        self.config = config
        self.kinds, self.items, self.visits = config.kind_count, config.item_count, config.visits

    def encode(self, arrays: dict[str, Tensor]) -> Maps:
        """The maps as they are."""
        return Maps.read(arrays)

    def parts(self, maps: Maps) -> Tensor:
        """(batch, cells) whether there is a cell."""
        return maps.kinds > 0


class StateEncoder(nn.Module):
    """Maps and inventories as vectors. With a goal, every channel is scaled and shifted by it (FiLM)."""

    width = CHANNELS[-1] + INVENTORY

    def __init__(self, reader: MapReader, goal: int | None = None) -> None:
        super().__init__()
        self.kinds, planes = reader.kinds, reader.kinds + 1 + reader.visits
        sizes = zip((planes, *CHANNELS), CHANNELS, strict=False)
        self.convolutions = nn.ModuleList(nn.Conv2d(*size, kernel_size=3, stride=2, padding=1) for size in sizes)
        self.norms = nn.ModuleList(nn.GroupNorm(1, channels) for channels in CHANNELS)
        self.carried = nn.ModuleList([nn.Linear(max(1, reader.items), INVENTORY), nn.Linear(INVENTORY, INVENTORY)])
        layers = (*CHANNELS, INVENTORY, INVENTORY)
        self.modulations = None if goal is None else nn.ModuleList(nn.Linear(goal, 2 * each) for each in layers)

    def forward(self, maps: Maps, goal: Tensor | None = None) -> Tensor:
        """(batch, width); goal (batch, goal)."""
        seen = self.planes(maps)
        for number, convolution in enumerate(self.convolutions):
            seen = relu(self._modulated(self.norms[number](convolution(seen)), goal, number))
        carried = maps.inventory.float()
        carried = carried if carried.shape[1] else carried.new_zeros(len(carried), 1)
        for number, layer in enumerate(self.carried):
            carried = relu(self._modulated(layer(carried), goal, len(self.convolutions) + number))
        return torch.cat([seen.amax(dim=(2, 3)), carried], dim=1)

    def planes(self, maps: Maps) -> Tensor:
        """(batch, planes, side, side): a plane for each kind of cell, one for the agent, perhaps one for its visits."""
        place = maps.agent[:, 0].long() * maps.side + maps.agent[:, 1].long()
        parts = [one_hot(maps.kinds.long(), self.kinds).float(), one_hot(place, maps.side**2).float()[..., None]]
        if maps.visits is not None:
            parts.append(maps.visits.clamp(max=MAX_VISITS)[..., None] / MAX_VISITS)
        planes = torch.cat(parts, dim=2)
        return planes.transpose(1, 2).reshape(len(planes), -1, maps.side, maps.side)

    def _modulated(self, channels: Tensor, goal: Tensor | None, layer: int) -> Tensor:
        if self.modulations is None or goal is None:
            return channels
        scale, shift = self.modulations[layer](goal).chunk(2, dim=1)
        if channels.ndim == 4:
            scale, shift = scale[..., None, None], shift[..., None, None]
        return channels * (1 + scale) + shift
