"""Maps seen by convolutions, as in Program Guided Agent (Sun et al., 2020): how the paper's rivals see a state.

Decided here: the map is centred on the agent, and a cell has its row and column, since the cells of `paper` have both
their offset to the agent and their position. Seen as a whole map with a plane for the agent, `pga` needed about three
times as many steps (docs/log.md).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from program_guided.errors import DataError
from program_guided.models.readers.config import Grid, ReaderConfig
from program_guided.models.readers.grid import MAX_OFFSET, MAX_VISITS, Maps

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

    @property
    def plane_count(self) -> int:
        return self.kinds + 2 + self.visits

    def planes(self, maps: Maps) -> Tensor:
        """(batch, planes, window, window) of the cells around the agent: a plane for each kind of cell, two for row and
        column, perhaps one for visits."""
        side, offsets = maps.side, torch.arange(-MAX_OFFSET, MAX_OFFSET + 1, device=maps.kinds.device)
        row, column = (maps.agent.long()[:, :, None] + offsets).unbind(dim=1)
        row, column = row[:, :, None].expand(-1, -1, len(offsets)), column[:, None].expand(-1, len(offsets), -1)
        inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)
        index = (row * side + column).masked_fill(~inside, side * side).flatten(1)
        shape = (len(index), self.plane_count, *row.shape[1:])
        planes = torch.empty(shape, device=index.device, memory_format=torch.channels_last).zero_()
        kinds = pad(maps.kinds, (0, 1)).gather(1, index).view_as(row)
        planes.scatter_(1, kinds.long()[:, None], 1.0)
        planes[:, self.kinds], planes[:, self.kinds + 1] = (each * inside / self.config.side for each in (row, column))
        if maps.visits is not None:
            visits = pad(maps.visits, (0, 1)).gather(1, index).view_as(row)
            planes[:, -1] = visits.clamp(max=MAX_VISITS) / MAX_VISITS
        return planes


class StateEncoder(nn.Module):
    """Maps and inventories as vectors. With a goal, every channel is scaled and shifted by it (FiLM)."""

    width = CHANNELS[-1] + INVENTORY

    def __init__(self, reader: MapReader, goal: int | None = None) -> None:
        super().__init__()
        sizes = zip((reader.plane_count, *CHANNELS), CHANNELS, strict=False)
        self.convolutions = nn.ModuleList(nn.Conv2d(*size, kernel_size=3, stride=2, padding=1) for size in sizes)
        self.norms = nn.ModuleList(nn.GroupNorm(1, channels) for channels in CHANNELS)
        self.carried = nn.ModuleList([nn.Linear(max(1, reader.items), INVENTORY), nn.Linear(INVENTORY, INVENTORY)])
        layers = (*CHANNELS, INVENTORY, INVENTORY)
        self.modulations = None if goal is None else nn.ModuleList(nn.Linear(goal, 2 * each) for each in layers)

    def forward(self, planes: Tensor, inventory: Tensor, goal: Tensor | None = None) -> Tensor:
        """(batch, width); planes of `MapReader.planes`, inventory (batch, items), goal (batch, goal)."""
        seen, carried = planes, inventory.float()
        for number, convolution in enumerate(self.convolutions):
            seen = relu(self._modulated(self.norms[number](convolution(seen)), goal, number))
        carried = carried if carried.shape[1] else carried.new_zeros(len(carried), 1)
        for number, layer in enumerate(self.carried):
            carried = relu(self._modulated(layer(carried), goal, len(self.convolutions) + number))
        return torch.cat([seen.amax(dim=(2, 3)), carried], dim=1)

    def _modulated(self, channels: Tensor, goal: Tensor | None, layer: int) -> Tensor:
        if self.modulations is None or goal is None:
            return channels
        scale, shift = self.modulations[layer](goal).chunk(2, dim=1)
        if channels.ndim == 4:
            scale, shift = scale[..., None, None], shift[..., None, None]
        return channels * (1 + scale) + shift
