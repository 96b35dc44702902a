"""Pictures as specifications: detected objects, and two ways of reading them.

An object is a detector's vector and a box. `ObjectReader` is the paper's CrossAtt2 (Eq. 5): attention over the objects
of a picture and nothing else. The reader of `plus`, `PairReader`, adds what attention is bad at: sets (a softmax shares
out one unit, however many objects fit), and how two boxes stand to each other. It knows which objects the parents of a
routine have found, since their results can be pointed with (`point`).

    scene = reader.look(pictures).about(of)            # once; of (batch,): which picture a program is about
    seen = reader.prepare(scene, heard, allowed)       # what the queries of a step have in common
    reader(query, seen, number)                        # (batch, rows, width) -> (batch, rows, width)
    reader.point(rows, scene)                          # (batch, rows, objects + 1): scores, the last for "none"
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from program_guided.models.attention import Watch
from program_guided.models.guidance import mlp, sinusoids

__all__ = ["ObjectReader", "PairReader", "Pictures"]

MOST_OBJECTS = 256
"""Objects that can be told apart by their place in the list."""
LIKE_NOTHING = 0.1
"""Weight of nothing in the mean of the objects that a head has picked."""


@dataclass(frozen=True)
class Pictures:
    """Pictures as a detector sees them."""

    features: Tensor
    """(pictures, objects, numbers)"""
    boxes: Tensor
    """(pictures, objects, 4) left, top, right, bottom, as shares of the picture's sides"""
    exists: Tensor
    """(pictures, objects)"""


@dataclass(frozen=True)
class Scene:
    """Pictures as a reader has looked at them, one for each program once it is said what programs are `about`."""

    objects: Tensor
    """(pictures, objects, width)"""
    exists: Tensor
    """(pictures, objects)"""
    pairs: Tensor | None = None
    """(pictures, objects, objects, kinds) how the second of a pair stands to the first"""

    def about(self, of: Tensor) -> Scene:
        """The pictures of these numbers."""
        return Scene(self.objects[of], self.exists[of], None if self.pairs is None else self.pairs[of])


class Objects(nn.Module):
    """Objects as vectors: what is seen, where, and which one of the list it is."""

    def __init__(self, width: int, hidden: int, numbers: int) -> None:
        super().__init__()
        self.what, self.where = nn.Linear(numbers, width), mlp(9, hidden, width)
        self.norm = nn.LayerNorm(width)
        self.code: Tensor
        self.register_buffer("code", sinusoids(MOST_OBJECTS, width), persistent=False)

    def forward(self, pictures: Pictures) -> Tensor:
        """(pictures, objects, width)"""
        seen = self.norm(self.what(pictures.features) + self.where(_shape(pictures.boxes)))
        return seen + self.code[: seen.shape[1]]


def _shape(boxes: Tensor) -> Tensor:
    """(..., 9) edges, centre, sides and area."""
    low, high = boxes[..., :2], boxes[..., 2:]
    sides = high - low
    return torch.cat([boxes, (low + high) / 2, sides, sides.prod(dim=-1, keepdim=True)], dim=-1)


@dataclass(frozen=True)
class Seen:
    """What a step attends to, for each program of the batch."""

    scene: Scene
    found: Tensor | None = None
    """(batch, rows, objects, parents) how surely a parent has found an object"""
    related: Tensor | None = None
    """(batch, rows, objects, parents * kinds) how an object stands to those that a parent has found"""


class Pointer(nn.Module):
    """Which objects a row of Z means: scores of all of them, and of none."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.row, self.object = nn.Linear(width, width), nn.Linear(width, width)
        self.none = nn.Linear(width, 1)
        self.scale = width**-0.5

    def forward(self, rows: Tensor, scene: Scene) -> Tensor:
        scores = torch.einsum("brd,bnd->brn", self.row(rows), self.object(scene.objects)) * self.scale
        scores = scores.masked_fill(~scene.exists[:, None], -1e9)
        return torch.cat([scores, self.none(rows)], dim=2)


class ObjectReader(nn.Module):
    """CrossAtt2 of `paper`: attention over the objects, and over an empty one with `sink`."""

    def __init__(self, width: int, heads: int, blocks: int, numbers: int, hidden: int, sink: bool) -> None:
        super().__init__()
        self.objects, self.pointer, self.sink = Objects(width, hidden, numbers), Pointer(width), sink
        self.attend = nn.ModuleList(nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(blocks))

    def look(self, pictures: Pictures) -> Scene:
        return Scene(self.objects(pictures), pictures.exists)

    def prepare(self, scene: Scene, heard: Tensor, allowed: Tensor) -> Seen:
        return Seen(scene)

    def forward(self, query: Tensor, seen: Seen, number: int, watch: Watch | None = None) -> Tensor:
        objects, missing = seen.scene.objects, ~seen.scene.exists
        if self.sink:
            objects = torch.cat([objects, objects.new_zeros(len(objects), 1, objects.shape[2])], dim=1)
            missing = torch.cat([missing, missing.new_zeros(len(missing), 1)], dim=1)
        wanted = watch is not None
        attended, weights = self.attend[number](
            query, objects, objects, key_padding_mask=missing, need_weights=wanted, average_attn_weights=False
        )
        if watch is not None:
            watch[f"objects {number}"] = weights.detach()
        result: Tensor = attended
        return result

    def point(self, rows: Tensor, scene: Scene) -> Tensor:
        scores: Tensor = self.pointer(rows, scene)
        return scores


class PairReader(nn.Module):
    """The reader of `plus`.

    Every head scores every object by what it shows, by whether a parent has found it, and by how it stands to what a
    parent has found; it then takes the mean of the objects it has picked, and says how sure it is to have picked any.
    """

    def __init__(self, width: int, heads: int, numbers: int, hidden: int, kinds: int = 16, parents: int = 2) -> None:
        super().__init__()
        self.heads, self.parents, self.kinds = heads, parents, kinds
        self.objects, self.pointer = Objects(width, hidden, numbers), Pointer(width)
        self.relate = mlp(14, hidden // 2, kinds)
        self.shown, self.asked = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.stands, self.wanted = nn.Linear(parents * (kinds + 1), hidden), nn.Linear(width, parents * (kinds + 1))
        self.score = nn.Linear(hidden, heads)
        self.value, self.join = nn.Linear(width, width), nn.Linear(width + 2 * heads, width)

    def look(self, pictures: Pictures) -> Scene:
        pairs = self.relate(_stand(pictures.boxes)) * pictures.exists[:, :, None, None]
        return Scene(self.objects(pictures), pictures.exists, pairs)

    def prepare(self, scene: Scene, heard: Tensor, allowed: Tensor) -> Seen:
        """heard (batch, rows, parents, width) are the parents' results, where allowed (batch, rows, parents)."""
        batch, rows, parents, _ = heard.shape
        found = self.pointer(heard.flatten(1, 2), scene)[..., :-1].sigmoid().view(batch, rows, parents, -1)
        found = found * allowed[..., None]
        if parents > self.parents:  # without structure every other routine is heard, as one
            found, parents = found.sum(dim=2, keepdim=True) / allowed.sum(dim=2)[:, :, None, None].clamp(min=1), 1
        found = nn.functional.pad(found, (0, 0, 0, self.parents - parents))
        related = torch.einsum("brpi,bijk->brjpk", found, scene.pairs).flatten(3)
        return Seen(scene, found.transpose(2, 3), related)

    def forward(self, query: Tensor, seen: Seen, number: int, watch: Watch | None = None) -> Tensor:
        assert seen.found is not None
        assert seen.related is not None
        batch, width = len(query), query.shape[2]
        stands = torch.cat([seen.found, seen.related], dim=3) * self.wanted(query)[:, :, None]
        hidden = self.shown(seen.scene.objects)[:, None] * self.asked(query)[:, :, None] + self.stands(stands)
        scores = self.score(nn.functional.gelu(hidden)).masked_fill(~seen.scene.exists[:, None, :, None], -1e9)
        picked = scores.sigmoid().transpose(2, 3)  # (batch, rows, heads, objects)
        if watch is not None:
            watch[f"objects {number}"] = picked.detach()
        values = self.value(seen.scene.objects).view(batch, 1, -1, self.heads, width // self.heads)
        total = picked.sum(dim=3)
        mean = torch.einsum("brhn,bxnhd->brhd", picked, values) / (total + LIKE_NOTHING)[..., None]
        told = torch.cat([mean.flatten(2), picked.amax(dim=3), total.log1p()], dim=2)
        result: Tensor = self.join(told)
        return result

    def point(self, rows: Tensor, scene: Scene) -> Tensor:
        scores: Tensor = self.pointer(rows, scene)
        return scores


def _stand(boxes: Tensor) -> Tensor:
    """(pictures, objects, objects, 14) how the second box of a pair stands to the first, in shares of the picture and
    of the first box."""
    one, other = boxes[:, :, None], boxes[:, None]
    between = (other - one, other[..., [2, 3, 0, 1]] - one)
    side = (one[..., 2:] - one[..., :2]).clamp(min=1e-3)
    offset = ((other[..., :2] + other[..., 2:]) / 2 - one[..., :2]) / side
    size = (other[..., 2:] - other[..., :2]) / side
    apart = torch.maximum(one[..., :2] - other[..., 2:], other[..., :2] - one[..., 2:])
    return torch.cat([*between, offset.clamp(-4, 4), size.clamp(max=8).log1p(), apart], dim=-1)
