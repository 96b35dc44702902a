"""Training of the detector: losses on drawn pictures of scenes that carry no questions.

loss = detector_loss(network, pictures, labels)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from program_guided.tasks.visual.detector.labels import NONE, SLOTS, Labels, slot_of
from program_guided.tasks.visual.detector.network import CELL, UNIT, DetectorNetwork, Heads, Map, overlap, proposals
from program_guided.tasks.visual.embedded.vectors import SCENE_VALUES, VALUE_PARTS

__all__ = ["detector_loss", "matched"]

SPREAD = 0.7
"""Standard deviation, in cells, of the neighbourhood of a centre that is not counted as empty."""
PROPOSED = 0.2
"""Minimum score of a proposal that stage two is trained on."""
MATCH = 0.5
"""Minimum intersection over union of a detection with an object."""
JITTER = 0.06
BOX, NAME, VALUE, ROLE, SCENE, GROUND = 1.0, 1.0, 1.0, 2.0, 0.3, 5.0
"""Weights of the losses."""


def detector_loss(network: DetectorNetwork, pictures: Tensor, labels: Sequence[Labels]) -> Tensor:
    """The loss of both stages."""
    seen = network.look(pictures)
    first = _centre_loss(seen, labels)
    boxes, numbers = _examples(seen, pictures, labels)
    heads = network.describe(pictures, seen.context, boxes)
    return first + _description_loss(heads, labels, numbers) + SCENE * _scene_loss(seen.scene, labels)


def _centre_loss(seen: Map, labels: Sequence[Labels]) -> Tensor:
    """CenterNet's focal loss of the scores, and the distance of the boxes."""
    scores, raw = seen.scores, seen.boxes
    heat, found = torch.zeros_like(scores), list[tuple[int, int, int, int, Tensor]]()
    rows = torch.arange(scores.shape[2])[:, None] + 0.5
    columns = torch.arange(scores.shape[3])[None] + 0.5
    for at, each in enumerate(labels):
        taken: set[tuple[int, int, int]] = set()
        for name, box in zip(each.names.tolist(), torch.from_numpy(each.boxes), strict=True):
            x, y = ((box[:2] + box[2:]) / (2 * CELL)).tolist()
            row, column = min(int(y), scores.shape[2] - 1), min(int(x), scores.shape[3] - 1)
            slot = next((slot for slot in _slots(name) if (slot, row, column) not in taken), None)
            if slot is None:
                continue
            taken.add((slot, row, column))
            near = torch.exp(-((rows - y).square() + (columns - x).square()) / (2 * SPREAD**2))
            heat[at, slot] = torch.maximum(heat[at, slot], near)
            sides = (box[2:] - box[:2]).clamp(min=1) / UNIT
            found.append((at, slot, row, column, torch.cat([box.new_tensor([x - column, y - row]), sides.log()])))
    where = torch.tensor([place[:4] for place in found]).T
    positive = torch.zeros_like(scores, dtype=torch.bool)
    positive[where[0], where[1], where[2], where[3]] = True
    sure, unsure = functional.logsigmoid(scores), functional.logsigmoid(-scores)
    share = scores.sigmoid()
    gain = torch.where(positive, (1 - share).square() * sure, (1 - heat).pow(4) * share.square() * unsure)
    given = raw[where[0], where[1], :, where[2], where[3]]
    boxes = functional.smooth_l1_loss(given, torch.stack([place[4] for place in found]), beta=0.05, reduction="sum")
    return (-gain.sum() + BOX * boxes) / len(found)


def _slots(name: int) -> tuple[int, ...]:
    own = slot_of(name)
    return (own, *(slot for slot in range(SLOTS) if slot != own))


def _examples(seen: Map, pictures: Tensor, labels: Sequence[Labels]) -> tuple[list[Tensor], list[Tensor]]:
    """Boxes that stage two is trained on, and the numbers of their objects: proposals, and the true box, moved, of an
    object that none was proposed for."""
    boxes, numbers = list[Tensor](), list[Tensor]()
    for at, each in enumerate(labels):
        true = torch.from_numpy(each.boxes)
        proposed, _ = proposals(seen, at, pictures.shape, PROPOSED)
        best, which = matched(proposed, true)
        kept = best >= MATCH
        missing = torch.tensor(
            [number for number in range(len(true)) if number not in which[kept].tolist()], dtype=torch.long
        )
        sides = (true[:, 2:] - true[:, :2]).repeat(1, 2)[missing]
        moved = true[missing] + JITTER * sides * torch.randn(len(missing), 4)
        boxes.append(torch.cat([proposed[kept], moved]))
        numbers.append(torch.cat([which[kept], missing]))
    return boxes, numbers


def matched(proposed: Tensor, true: Tensor) -> tuple[Tensor, Tensor]:
    """For every proposed box, the largest intersection over union with a true one, and its number."""
    if not len(proposed) or not len(true):
        return torch.zeros(len(proposed)), torch.zeros(len(proposed), dtype=torch.long)
    best, which = overlap(proposed, true).max(dim=1)
    return best, which


def _description_loss(heads: Heads, labels: Sequence[Labels], numbers: Sequence[Tensor]) -> Tensor:
    pairs = list(zip(labels, numbers, strict=True))
    names = torch.cat([torch.from_numpy(each.names)[number] for each, number in pairs])
    values = torch.cat([torch.from_numpy(each.attributes)[number] for each, number in pairs])
    roles = torch.cat([torch.from_numpy(each.roles)[number] for each, number in pairs])
    loss = NAME * functional.cross_entropy(heads.names, names, label_smoothing=0.02)
    known = 0.0
    total = heads.values.new_zeros(())
    for at, part in enumerate(VALUE_PARTS.values()):
        logits = heads.values[:, part]
        there = values[:, at] != NONE
        if bool(there.any()):
            total = total + functional.cross_entropy(logits[there], values[there, at], reduction="sum")
            known += float(there.sum())
    attributes = VALUE * total / max(1.0, known)
    given = functional.binary_cross_entropy_with_logits(heads.roles, roles, reduction="none").sum(dim=1).mean()
    ground = torch.cat([torch.from_numpy(each.ground)[number] for each, number in pairs])
    distance = functional.smooth_l1_loss(heads.ground, ground, beta=0.02)
    return loss + 2 * attributes + 0.5 * ROLE * given + GROUND * distance


def _scene_loss(logits: Tensor, labels: Sequence[Labels]) -> Tensor:
    true = torch.stack([torch.from_numpy(each.scene) for each in labels])
    parts = logits.split([len(values) for values in SCENE_VALUES.values()], dim=1)  # type: ignore[no-untyped-call]
    return sum(
        (functional.cross_entropy(part, true[:, at], ignore_index=NONE) for at, part in enumerate(parts)),
        start=logits.new_zeros(()),
    )
