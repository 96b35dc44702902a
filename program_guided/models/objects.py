"""Pictures as specifications: detected objects, and two ways of reading them.

An object is a detector's vector and a box. `ObjectReader` is the paper's CrossAtt2 (Eq. 5): attention over the objects
of a picture and nothing else. The reader of `plus`, `PairReader`, adds what attention is bad at: sets (a softmax shares
out one unit, however many objects fit), and how two boxes stand to each other. It knows which objects the parents of a
routine have found, since their results can be pointed with (`point`).

    scene = reader.look(pictures).about(of)            # once; of (batch,): which picture a program is about
    seen = reader.prepare(scene, heard, allowed, said) # what the queries of a step have in common
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
SLIGHT = 0.01
"""Added to a variance, so that its root has a gradient everywhere."""
LOUD = 8.0
"""How much louder a head says whether it has picked any object, than what it looks like."""
ALIKE = 16
"""Numbers by which two objects are compared, of each kind."""
PAIR = 22
"""Numbers that tell how two boxes stand to each other."""
SHARP = 25.0
MARK = 5.0
"""Length of the mark of an object in a row of Z, at the beginning."""


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
    """(pictures, objects, width) what queries are compared with"""
    exists: Tensor
    """(pictures, objects)"""
    values: Tensor | None = None
    """(pictures, objects, width) what is told of an object that is picked"""
    pairs: Tensor | None = None
    """(pictures, objects, objects, kinds) how the second of a pair stands to the first; always of all pictures, since
    it is large"""
    of: Tensor | None = None
    """(programs,) which picture a program is about, once that is said"""

    def about(self, of: Tensor, said: Tensor | None = None) -> Scene:
        """The pictures of these numbers; they are the same whatever a routine says."""
        values = None if self.values is None else self.values.index_select(0, of)
        return Scene(self.objects.index_select(0, of), self.exists.index_select(0, of), values, self.pairs, of)


class Objects(nn.Module):
    """Objects as vectors: what is seen, and where."""

    def __init__(self, width: int, hidden: int, what: nn.Module) -> None:
        super().__init__()
        self.what, self.where = what, mlp(9, hidden, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, pictures: Pictures) -> Tensor:
        """(pictures, objects, width)"""
        seen: Tensor = self.norm(self.what(pictures.features) + self.where(_shape(pictures.boxes)))
        return seen


class Essence(nn.Module):
    """Vectors by what varies most in them (principal components, once they have been `fitted`), then a linear layer.

    What varies is known without any supervision; learned from questions, a layer over all numbers of a detector's
    vectors has enough of them to know single objects by heart.
    """

    def __init__(self, numbers: int, kept: int, width: int) -> None:
        super().__init__()
        self.components: Tensor
        self.register_buffer("components", nn.init.orthogonal_(torch.empty(kept, numbers)))
        self.learned = nn.Linear(kept, width)

    @torch.no_grad()
    def fit(self, vectors: Tensor) -> None:
        """To some vectors (count, numbers)."""
        centred = vectors - vectors.mean(dim=0)
        found = torch.linalg.eigh(centred.T @ centred).eigenvectors.T.flip(0)[: len(self.components)]
        self.components.zero_()
        self.components[: len(found)] = found

    def forward(self, vectors: Tensor) -> Tensor:
        output: Tensor = self.learned(vectors @ self.components.T)
        return output


def _shape(boxes: Tensor) -> Tensor:
    """(..., 9) edges, centre, sides and area."""
    low, high = boxes[..., :2], boxes[..., 2:]
    sides = high - low
    return torch.cat([boxes, (low + high) / 2, sides, sides.prod(dim=-1, keepdim=True)], dim=-1)


@dataclass(frozen=True)
class Seen:
    """What a step attends to, for each program of the batch."""

    scene: Scene
    stands: Tensor | None = None
    """(batch, rows, objects, parents * (1 + kinds)) how surely a parent has found an object, and how it stands to
    those that a parent has found"""
    spread: Tensor | None = None
    """(batch, rows, width) how different the objects are that the parents have found"""


class ObjectReader(nn.Module):
    """CrossAtt2 of `paper`: attention over the objects, and over an empty one with `sink`.

    An object's vector also says which one of the list it is, so that a row of Z can mean it.
    """

    def __init__(self, width: int, heads: int, blocks: int, numbers: int, hidden: int, sink: bool) -> None:
        super().__init__()
        self.objects, self.sink = Objects(width, hidden, nn.Linear(numbers, width)), sink
        self.attend = nn.ModuleList(nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(blocks))
        self.row, self.object, self.none = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.code: Tensor
        self.register_buffer("code", sinusoids(MOST_OBJECTS, width), persistent=False)

    def look(self, pictures: Pictures) -> Scene:
        objects = self.objects(pictures)
        return Scene(objects + self.code[: objects.shape[1]], pictures.exists)

    def prepare(self, scene: Scene, heard: Tensor, allowed: Tensor, said: Tensor) -> Seen:
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
        """(batch, rows, objects + 1) scores of the objects that rows mean, the last one for none."""
        scores = torch.einsum("brd,bnd->brn", self.row(rows), self.object(scene.objects)) * rows.shape[2] ** -0.5
        return torch.cat([_only(scores, scene), self.none(rows)], dim=2)


class PairReader(nn.Module):
    """The reader of `plus`.

    Every head picks objects, each by itself: those that are such as it asks for, and stand as it asks for to what the
    parents have found. It tells what the picked ones look like on the whole, how sure it is to have picked any, and how
    many. What the first head picks is marked in the row of Z, every object by a direction of its own, and pointed at.
    How different the objects are that the parents have found is told too.
    """

    def __init__(self, width: int, heads: int, numbers: int, hidden: int, kinds: int = 16, parents: int = 2) -> None:
        super().__init__()
        self.heads, self.parents, shown, stands = heads, parents, hidden // 2, parents * (2 * kinds + 1)
        self.objects = Objects(hidden, hidden, Essence(numbers, hidden, hidden))
        self.relate, self.alike = mlp(PAIR, hidden // 2, kinds), nn.Linear(hidden, kinds * ALIKE)
        self.shown, self.asked = nn.Linear(hidden, shown), mlp(width, hidden, heads * shown)
        self.any = nn.Linear(width, heads)
        self.stands, self.wanted = nn.Linear(stands, hidden // 4), nn.Linear(width, stands)
        self.context, self.score = nn.Linear(width, hidden // 4), nn.Linear(hidden // 4, heads)
        self.value, self.gate = nn.Linear(hidden, hidden), nn.Linear(width, hidden)
        self.differ = nn.Linear(width, hidden)
        self.join = nn.Linear(2 * hidden + 2 * heads, width)
        self.row, self.none = nn.Linear(width, width), nn.Linear(width, 1)
        self.mark, self.least = nn.Parameter(torch.tensor(MARK)), nn.Parameter(torch.tensor(-2.0))
        self.code: Tensor
        self.register_buffer("code", nn.functional.normalize(sinusoids(MOST_OBJECTS, width)), persistent=False)
        nn.init.eye_(self.row.weight)
        nn.init.ones_(self.gate.bias)
        nn.init.constant_(self.score.bias, 2.0)

    def look(self, pictures: Pictures) -> Scene:
        objects = self.objects(pictures)
        looks = self.alike(objects).unflatten(2, (-1, ALIKE))
        alike = torch.einsum("pikd,pjkd->pijk", looks, looks) * ALIKE**-0.5
        pairs = torch.cat([self.relate(_stand(pictures.boxes)), alike], dim=3).sigmoid()
        return Scene(self.shown(objects), pictures.exists, self.value(objects), pairs)

    def prepare(self, scene: Scene, heard: Tensor, allowed: Tensor, said: Tensor) -> Seen:
        """heard (batch, rows, parents, width) are the parents' results, where allowed (batch, rows, parents)."""
        batch, rows, parents, _ = heard.shape
        assert scene.values is not None
        found = self.point(heard.flatten(1, 2), scene)[..., :-1].sigmoid().view(batch, rows, parents, -1)
        found = found * allowed[..., None]
        if parents > self.parents:  # without structure every other routine is heard, as one
            found, parents = found.sum(dim=2, keepdim=True) / allowed.sum(dim=2)[:, :, None, None].clamp(min=1), 1
        found = nn.functional.pad(found, (0, 0, 0, self.parents - parents))
        related = _related(found, scene)
        return Seen(scene, torch.cat([found.transpose(2, 3), related], dim=3), _spread(found.sum(dim=2), scene.values))

    def forward(self, query: Tensor, seen: Seen, number: int, watch: Watch | None = None) -> Tensor:
        scene = seen.scene
        assert seen.stands is not None
        assert seen.spread is not None
        assert scene.values is not None
        asked = self.asked(query).unflatten(2, (self.heads, -1))
        such = torch.einsum("brhk,bnk->brhn", asked, scene.objects) * asked.shape[3] ** -0.5
        stands = self.stands(seen.stands * self.wanted(query)[:, :, None]) + self.context(query)[:, :, None]
        so = self.score(nn.functional.gelu(stands)).transpose(2, 3)
        picked = _only(such + self.any(query)[..., None], scene).sigmoid() * so.sigmoid()
        if watch is not None:
            watch[f"objects {number}"] = picked.detach()
        values = scene.values.view(*scene.values.shape[:2], self.heads, -1)
        total = picked.sum(dim=3)
        mean = torch.einsum("brhn,bnhd->brhd", picked, values) / (total + LIKE_NOTHING)[..., None]
        count = LOUD * torch.cat([picked.amax(dim=3) - 0.5, total.log1p() - 0.5], dim=2)
        told = torch.cat([mean.flatten(2) * self.gate(query), seen.spread * self.differ(query), count], dim=2)
        marked = picked[:, :, 0] @ self.code[: picked.shape[3]]
        result: Tensor = self.join(told) + self.mark * marked
        return result

    def point(self, rows: Tensor, scene: Scene) -> Tensor:
        """(batch, rows, objects + 1) scores of the objects that rows mean, the last one for none."""
        scores = self.row(rows) @ self.code[: scene.exists.shape[1]].T + self.least
        return torch.cat([_only(scores, scene), self.none(rows)], dim=2)


def _only(scores: Tensor, scene: Scene) -> Tensor:
    """Scores (batch, ..., objects) of what there is."""
    there = scene.exists.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    return scores.masked_fill(~there, -1e9)


def _related(found: Tensor, scene: Scene) -> Tensor:
    """(batch, rows, objects, parents * kinds) how each object stands to what was found (batch, rows, parents, objects),
    picture by picture: all programs about a picture at once, so that its pairs need not be copied."""
    assert scene.pairs is not None
    batch, rows, parents, objects = found.shape
    pictures, kinds = len(scene.pairs), scene.pairs.shape[3]
    of = torch.arange(batch, device=found.device) if scene.of is None else scene.of
    at, order = of.sort(stable=True)
    place = torch.empty_like(of)
    place[order] = torch.arange(batch, device=of.device) - torch.searchsorted(at, at)
    shared = found.new_zeros(pictures, int(place.max()) + 1, rows * parents, objects)
    shared = shared.index_put((of, place), found.flatten(1, 2))
    related = torch.bmm(shared.flatten(1, 2), scene.pairs.flatten(2)).view(
        *shared.shape[:2], rows, parents, objects, kinds
    )
    return related[of, place].transpose(2, 3).flatten(3)


def _spread(weights: Tensor, values: Tensor) -> Tensor:
    """(batch, rows, width) the deviation of values (batch, objects, width), weighted (batch, rows, objects)."""
    weights = weights / (weights.sum(dim=2, keepdim=True) + LIKE_NOTHING)
    mean, square = weights @ values, weights @ values.square()
    return ((square - mean.square()).clamp(min=0) + SLIGHT).sqrt()


def _stand(boxes: Tensor) -> Tensor:
    """(pictures, objects, objects, PAIR) how the second box of a pair stands to the first: in shares of the picture
    (also sharpened: a small gap matters as much as a wide one), and each in shares of the other."""
    one, other = boxes[:, :, None], boxes[:, None]
    between = torch.cat([other - one, other[..., [2, 3, 0, 1]] - one], dim=-1)
    size = (_sides(other) / _sides(one)).log()
    return torch.cat([between, (SHARP * between).tanh(), _offset(one, other), _offset(other, one), size], dim=-1)


def _sides(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]).clamp(min=1e-3)


def _offset(host: Tensor, guest: Tensor) -> Tensor:
    """Where the guest's centre is, in sides of the host from its top left."""
    return (((guest[..., :2] + guest[..., 2:]) / 2 - host[..., :2]) / _sides(host)).clamp(-2, 3)
