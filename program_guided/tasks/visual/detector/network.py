"""The detector's network, in two stages.

Stage one looks at the whole picture at half its resolution and predicts, for every cell of 8 x 8 pixels and each of two
slots, whether an object has its centre there, and its box (as CenterNet does; two slots, since what lies in a thing
shares its centre). Stage two looks at a crop around each box, at full resolution, and at the context that stage one has
seen there, and gives a vector, from which name, attributes and roles are read off linearly.

    network = DetectorNetwork(DetectorConfig())
    found = network.detect(pictures)        pictures (n, 3, height, width) uint8
    found[0].boxes, found[0].heads.vectors
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from program_guided.tasks.visual.detector.labels import SLOTS
from program_guided.tasks.visual.detector.settings import DetectorConfig
from program_guided.tasks.visual.embedded.vectors import ROLES, SCENE_VALUES, VALUES
from program_guided.tasks.visual.embedded.vocabulary import NAMES

__all__ = ["CELL", "THRESHOLD", "Detections", "DetectorNetwork", "Heads", "Map", "overlap", "proposals"]

CELL = 8
"""Side of a cell in pixels of the picture."""
CROP = 64
"""Side of a crop."""
AROUND = 1.25
"""Side of the part of the picture that is cropped, in sides of the box."""
UNIT = 32.0
"""Side of a box, in pixels, whose logarithm is 0."""
MAX_LOG = 3.0
GEOMETRY = 6
MAX_OBJECTS = 40
THRESHOLD = 0.1
"""Probability from which there may be an object: an executor weighs what is uncertain."""
HEADS = [len(NAMES), len(VALUES), len(ROLES), 1]
"""Sizes of what is read off a vector."""


@dataclass(frozen=True)
class Map:
    """Output of stage one."""

    scores: Tensor
    """(n, slots, rows, columns) logits: an object's centre is here"""
    boxes: Tensor
    """(n, slots, 4, rows, columns) centre in the cell (0 to 1), logarithms of the sides in UNITs"""
    context: Tensor
    """(n, context, rows, columns)"""
    scene: Tensor
    """(n, values of the scene) logits"""


@dataclass(frozen=True)
class Heads:
    """Output of stage two, for objects."""

    vectors: Tensor
    """(objects, vector)"""
    names: Tensor
    """(objects, names) logits"""
    values: Tensor
    """(objects, values) logits of attributes, those of a category one after another"""
    roles: Tensor
    """(objects, roles) logits"""
    ground: Tensor
    """(objects,) height of the ground that the object, or its host, stands on, as a share of the picture"""


@dataclass(frozen=True)
class Detections:
    """Detected objects of a picture, the most certain first."""

    boxes: Tensor
    """(objects, 4) x1, y1, x2, y2 in pixels"""
    scores: Tensor
    """(objects,) probability that there is an object"""
    heads: Heads
    scene: Tensor
    """(values of the scene) logits"""


class _Block(nn.Module):
    """Two convolutions with a residual path."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])

    def forward(self, maps: Tensor) -> Tensor:
        inner = functional.relu(self.norms[0](self.first(maps)))
        return functional.relu(maps + self.norms[1](self.second(inner)))


def _down(before: int, after: int) -> nn.Sequential:
    """Half the resolution."""
    convolution = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())


class DetectorNetwork(nn.Module):
    """Both stages."""

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        w = config.width
        self.stem = nn.Sequential(_down(3, w), _down(w, 2 * w))
        self.middle = nn.Sequential(_down(2 * w, 3 * w), _Block(3 * w))
        self.deep = nn.Sequential(_down(3 * w, 4 * w), _Block(4 * w), _Block(4 * w))
        self.from_deep, self.from_middle = nn.Conv2d(4 * w, 3 * w, 1), nn.Conv2d(3 * w, 2 * w, 1)
        self.join_middle, self.join = _Block(3 * w), _Block(2 * w)
        self.located = nn.Conv2d(2 * w, SLOTS * 5, 1)
        self.around = nn.Conv2d(2 * w, config.context, 1)
        self.scene = nn.Linear(8 * w, sum(map(len, SCENE_VALUES.values())))
        nn.init.constant_(self.located.bias.view(SLOTS, 5)[:, 0], -4.0)  # type: ignore[union-attr]
        self.crop = nn.Sequential(
            _down(3, w), _down(w, 2 * w), _Block(2 * w), _down(2 * w, 4 * w), _Block(4 * w), _down(4 * w, 6 * w)
        )
        inputs = 6 * w * 16 + config.context + GEOMETRY
        self.vector = nn.Sequential(
            nn.Linear(inputs, 2 * config.vector),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(2 * config.vector, config.vector),
        )
        self.heads = nn.Linear(config.vector, sum(HEADS))

    def look(self, pictures: Tensor) -> Map:
        """Stage one. pictures (n, 3, height, width) uint8."""
        half = functional.avg_pool2d(pictures.float().div_(127.5).sub_(1), 2)
        near = self.stem(half)
        middle = self.middle(near)
        deep = self.deep(middle)
        middle = self.join_middle(middle + _larger(self.from_deep(deep), middle))
        near = self.join(near + _larger(self.from_middle(middle), near))
        found = self.located(near)
        found = found.view(len(found), SLOTS, 5, *found.shape[2:])
        scene = torch.cat([deep.mean(dim=(2, 3)), deep.amax(dim=(2, 3))], dim=1)
        return Map(found[:, :, 0], found[:, :, 1:], self.around(near), self.scene(scene))

    def describe(self, pictures: Tensor, context: Tensor, boxes: Sequence[Tensor]) -> Heads:
        """Stage two, for the boxes of each picture; the objects of all pictures one after another."""
        height, width = pictures.shape[2:]
        crops = [_cropped(picture, box) for picture, some in zip(pictures, boxes, strict=True) for box in some.tolist()]
        if not crops:
            return self._read(context.new_zeros(0, self.config.vector))
        around = torch.cat([_context(each, some) for each, some in zip(context, boxes, strict=True)])
        seen = self.crop(torch.stack(crops).float().div_(127.5).sub_(1)).flatten(1)
        return self._read(
            self.vector(torch.cat([seen, around, _geometry(torch.cat(list(boxes)), width, height)], dim=1))
        )

    def _read(self, vectors: Tensor) -> Heads:
        names, values, roles, ground = self.heads(vectors).split(HEADS, dim=1)
        return Heads(vectors, names, values, roles, ground[:, 0])

    @torch.no_grad()
    def detect(self, pictures: Tensor, threshold: float = THRESHOLD) -> list[Detections]:
        """Objects of pictures, each at least as probable as a threshold."""
        seen = self.look(pictures)
        found = [proposals(seen, at, pictures.shape, threshold) for at in range(len(pictures))]
        heads = self.describe(pictures, seen.context, [boxes for boxes, _ in found])
        counts = [len(boxes) for boxes, _ in found]
        parts = [each.split(counts) for each in vars(heads).values()]
        return [
            Detections(boxes, scores, Heads(*(part[at] for part in parts)), seen.scene[at])
            for at, (boxes, scores) in enumerate(found)
        ]

    @torch.no_grad()
    def describe_boxes(self, pictures: Tensor, boxes: Tensor) -> Detections:
        """Objects in given boxes of one picture."""
        seen = self.look(pictures)
        return Detections(boxes, torch.ones(len(boxes)), self.describe(pictures, seen.context, [boxes]), seen.scene[0])


def _larger(maps: Tensor, other: Tensor) -> Tensor:
    return functional.interpolate(maps, size=other.shape[2:], mode="nearest")


def proposals(seen: Map, at: int, shape: Sequence[int], threshold: float) -> tuple[Tensor, Tensor]:
    """Boxes and scores of a picture: peaks of the scores, without those that nearly equal a better one."""
    scores = seen.scores[at].detach().sigmoid()
    peaks = scores == functional.max_pool2d(scores[:, None], 3, stride=1, padding=1)[:, 0]
    slots, rows, columns = ((scores >= threshold) & peaks).nonzero(as_tuple=True)
    kept = scores[slots, rows, columns]
    order = kept.argsort(descending=True, stable=True)[:MAX_OBJECTS]
    slots, rows, columns, kept = slots[order], rows[order], columns[order], kept[order]
    boxes = decoded(seen.boxes[at].detach()[slots, :, rows, columns], rows, columns, shape)
    keep = suppressed(boxes)
    return boxes[keep], kept[keep]


def decoded(raw: Tensor, rows: Tensor, columns: Tensor, shape: Sequence[int]) -> Tensor:
    """Boxes in pixels, of what stage one gives for cells."""
    centre = (torch.stack([columns, rows], dim=1) + raw[:, :2]) * CELL
    sides = raw[:, 2:].clamp(-MAX_LOG, MAX_LOG).exp() * UNIT
    boxes = torch.cat([centre - sides / 2, centre + sides / 2], dim=1)
    height, width = shape[-2:]
    limits = boxes.new_tensor([width, height, width, height])
    return torch.minimum(boxes.clamp(min=0), limits)


def suppressed(boxes: Tensor, limit: float = 0.75) -> Tensor:
    """Numbers of the boxes that overlap with no better one by more than a limit (of intersection over union)."""
    keep: list[int] = []
    overlaps = overlap(boxes, boxes)
    for at in range(len(boxes)):
        if not keep or bool((overlaps[at, keep] <= limit).all()):
            keep.append(at)
    return torch.tensor(keep, dtype=torch.long)


def overlap(one: Tensor, other: Tensor) -> Tensor:
    """(boxes, boxes) intersection over union."""
    low = torch.maximum(one[:, None, :2], other[None, :, :2])
    high = torch.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(dim=2)
    areas = [(each[:, 2:] - each[:, :2]).prod(dim=1) for each in (one, other)]
    return shared / (areas[0][:, None] + areas[1][None] - shared).clamp(min=1e-6)


def _cropped(picture: Tensor, box: Sequence[float]) -> Tensor:
    """(3, CROP, CROP) part of a picture around a box."""
    height, width = picture.shape[1:]
    x1, y1, x2, y2 = box
    more = (AROUND - 1) / 2
    across, down = max(4.0, more * (x2 - x1)), max(4.0, more * (y2 - y1))
    left, top = min(max(0, int(x1 - across)), width - 4), min(max(0, int(y1 - down)), height - 4)
    right, bottom = max(left + 4, min(width, round(x2 + across))), max(top + 4, min(height, round(y2 + down)))
    part = picture[:, top:bottom, left:right].float()
    return functional.adaptive_avg_pool2d(part, CROP)


def _context(context: Tensor, boxes: Tensor) -> Tensor:
    """(objects, context) what stage one has seen at the centres of boxes."""
    centre = ((boxes[:, :2] + boxes[:, 2:]) / (2 * CELL)).long()
    columns, rows = centre[:, 0].clamp(0, context.shape[2] - 1), centre[:, 1].clamp(0, context.shape[1] - 1)
    return context[:, rows, columns].T


def _geometry(boxes: Tensor, width: int, height: int) -> Tensor:
    """(objects, GEOMETRY) edges as shares of the picture, logarithms of the sides."""
    shares = boxes / boxes.new_tensor([width, height, width, height])
    return torch.cat([shares, ((boxes[:, 2:] - boxes[:, :2]).clamp(min=1) / UNIT).log()], dim=1)
