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
from program_guided.models.evidence import FIRST_ARGUMENT
from program_guided.models.guidance import mlp, sinusoids

__all__ = ["ObjectReader", "PairReader", "Pictures"]

MOST_OBJECTS = 256
"""Objects that can be told apart by their place in the list."""
LIKE_NOTHING = 0.1
"""Weight of nothing in the mean of the objects that a head has picked."""
SLIGHT = 0.01
"""Added to a variance, so that its root has a gradient everywhere."""
LOUD = 8.0
"""How much louder it is said whether a head has picked any object, than what it looks like."""
LIKELY = 3.0
"""How much louder it is said how alike two objects are, than how they stand to each other."""
SOFT = 5.0
"""No logit is larger: a probability that is all but 1, wrongly, would learn no more."""
LOOK, RELATION, TURN, PLAN = 8.0, 4.0, 8.0, 4.0
"""What words look like, as objects and as relations, whether they turn relations round, and what operations do with
them is learned so much faster: a word is said in few questions."""
QUIET = 0.16
"""Size of the looks of words at the beginning."""
FREE = 0.3
"""Size, at the beginning, of what makes operations ask with different words."""
EVEN = 0.5
"""How much a routine asks with each of its words at the beginning."""
PARENTS = 2
"""Routines whose results a routine can take."""
RELATIONS = 2
"""Relations that a routine asks for at once; it may have to choose between two."""
KINDS = 16
"""Ways in which two objects can be alike."""
ALIKE = 16
"""Numbers by which two objects are compared in each of them."""
SHAPE, PAIR = 13, 22
"""Numbers that tell where a box is, and how two boxes stand to each other."""
SHARP = 25.0
"""How much an offset is enlarged where a small one matters as much as a large one."""
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
class Places:
    """Where each program stands among those about the same picture: what is done with a picture is done for all of them
    at once, and nothing of it is copied."""

    of: Tensor
    """(programs,) which picture a program is about"""
    slot: Tensor
    """(programs,) the picture's number times `most`, and the program's own place"""
    pictures: int
    most: int

    @classmethod
    def among(cls, of: Tensor, pictures: int) -> Places:
        at, order = of.sort(stable=True)
        place = torch.empty_like(of)
        place[order] = torch.arange(len(of), device=of.device) - torch.searchsorted(at, at)
        most = int(place.max()) + 1 if len(of) else 1
        return cls(of, of * most + place, pictures, most)

    def times(self, rows: Tensor, shown: Tensor) -> Tensor:
        """Rows (programs, N, a) times what is shown (pictures, a, b) of the picture of each: (programs, N, b)."""
        together = rows.new_zeros(self.pictures * self.most, *rows.shape[1:]).index_copy(0, self.slot, rows)
        product = torch.bmm(together.view(self.pictures, -1, rows.shape[2]), shown)
        return product.view(len(together), rows.shape[1], -1).index_select(0, self.slot)


@dataclass(frozen=True)
class Scene:
    """Pictures as a reader has looked at them."""

    objects: Tensor
    """(pictures, objects, width) what queries are compared with"""
    exists: Tensor
    """(pictures, objects); (programs, objects) once it is said what programs are `about`"""
    values: Tensor | None = None
    """(pictures, objects, width) what is told of an object that is picked"""
    pairs: Tensor | None = None
    """(pictures, objects * objects, width) what is known of a pair"""
    places: Places | None = None
    """Which picture each program is about, once that is said"""

    def about(self, of: Tensor, said: Tensor | None = None) -> Scene:
        """For programs about the pictures of these numbers; they are the same whatever a routine says."""
        places = Places.among(of, len(self.objects))
        return Scene(self.objects, self.exists.index_select(0, of), self.values, self.pairs, places)


class Objects(nn.Module):
    """Objects as vectors: what is seen, and where."""

    def __init__(self, width: int, hidden: int, what: nn.Module) -> None:
        super().__init__()
        self.what, self.where = what, mlp(SHAPE, hidden, width)
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
    """(..., SHAPE) edges, centre, sides and area; and, sharpened, on which side of the lines between the picture's
    thirds the centre is."""
    low, high = boxes[..., :2], boxes[..., 2:]
    sides, centre = high - low, (low + high) / 2
    thirds = [(SHARP * (centre - third / 3)).tanh() for third in (1, 2)]
    return torch.cat([boxes, centre, sides, sides.prod(dim=-1, keepdim=True), *thirds], dim=-1)


@dataclass(frozen=True)
class Seen:
    """What a step attends to, for each program of the batch."""

    scene: Scene
    found: Tensor | None = None
    """(batch, rows, parents, objects) how surely a parent has found an object; (batch, rows, parents, 1) if none has
    found any"""
    spread: Tensor | None = None
    """(batch, rows, width) how different the objects are that the parents have found"""
    operation: Tensor | None = None
    """(batch, rows, turns, width) what routines do"""
    words: Tensor | None = None
    """(batch, rows, L, width) what the words of routines look like, as objects and as relations"""
    ahead: Tensor | None = None
    """(batch, rows, 1) 1 for relations as they are, -1 for relations turned round"""


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
        objects, missing = _own(seen.scene), ~seen.scene.exists
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
        scores = torch.einsum("brd,bnd->brn", self.row(rows), self.object(_own(scene))) * rows.shape[2] ** -0.5
        return torch.cat([_only(scores, scene), self.none(rows)], dim=2)


class PairReader(nn.Module):
    """The reader of `plus`.

    Every head picks objects, each by itself: those that are such as it asks for, and stand as it asks for to what the
    parents have found. It tells what the picked ones look like on the whole, how sure it is to have picked any, and how
    many. What the first head picks is marked in the row of Z, every object by a direction of its own, and pointed at.
    How different the objects are that the parents have found is told too.

    `RELATIONS` relations are asked for at once. What is known of a pair of objects is how their boxes stand to each
    other, what both are, and how alike they are in many ways; a relation holds where that is such as is asked for. It
    is told which objects stand in it to any that the parents have found, and whether it holds among those.
    Relations are turned round by the words of the operation and by the last word, the role; if any word could do that,
    `left` might be learned as `right` turned round, and roles as relations, which is harder.

    Words ask directly: each has a look of its own, as an object and as a relation. What a routine does, and nothing
    else, decides which of its words a head asks with: `to the left of` is the same of anything.
    """

    def __init__(
        self, width: int, heads: int, turns: int, numbers: int, hidden: int, vocabulary: int, words: int
    ) -> None:
        super().__init__()
        self.heads, self.turns, shown, beside = heads, turns, hidden // 2, hidden // 4
        known = beside + KINDS
        self.objects = Objects(hidden, hidden, Essence(numbers, hidden, hidden))
        self.stand, self.both = nn.Linear(PAIR, beside), nn.Linear(hidden, 2 * beside, bias=False)
        self.alike = nn.Linear(hidden, KINDS * ALIKE)
        self.shown, self.word = nn.Linear(hidden, shown), nn.Embedding(vocabulary, shown + 1 + known + 1, padding_idx=0)
        self.turned = nn.Embedding(vocabulary, 1, padding_idx=0)
        self.parts = (heads * words, RELATIONS * words, PARENTS + RELATIONS, beside)
        self.operation = nn.Embedding(vocabulary, turns * sum(self.parts), padding_idx=0)
        self.stands, self.score = nn.Linear(PARENTS + RELATIONS, beside), nn.Linear(beside, heads)
        self.value, self.gate = nn.Linear(hidden, hidden), nn.Linear(width, hidden)
        self.differ = nn.Linear(width, hidden)
        self.join = nn.Linear(2 * hidden + 2 * heads + 2 * RELATIONS, width)
        self.row, self.none = nn.Linear(width, width), nn.Linear(width, 1)
        self.mark, self.least = nn.Parameter(torch.tensor(MARK)), nn.Parameter(torch.tensor(-2.0))
        self.code: Tensor
        self.register_buffer("code", nn.functional.normalize(sinusoids(MOST_OBJECTS, width)), persistent=False)
        nn.init.eye_(self.row.weight)
        self.loud: Tensor
        self.register_buffer("loud", torch.tensor([LOOK] * (shown + 1) + [RELATION] * known + [LOOK]), False)
        with torch.no_grad():
            self.word.weight.mul_(QUIET / self.loud)
            self.operation.weight.mul_(FREE / PLAN)
            self.turned.weight.mul_(1 / TURN)
        nn.init.ones_(self.gate.bias)
        nn.init.constant_(self.score.bias, 2.0)

    def look(self, pictures: Pictures) -> Scene:
        objects = self.objects(pictures)
        one, other = self.both(objects).chunk(2, dim=2)
        stand = nn.functional.gelu(self.stand(_stand(pictures.boxes)) + one[:, :, None] + other[:, None])
        looks = nn.functional.normalize(self.alike(objects).unflatten(2, (KINDS, ALIKE)), dim=3)
        alike = LIKELY * torch.einsum("pikd,pjkd->pijk", looks, looks)
        pairs = torch.cat([stand, alike], dim=3).flatten(1, 2)
        return Scene(self.shown(objects), pictures.exists, self.value(objects), pairs)

    def prepare(self, scene: Scene, heard: Tensor, allowed: Tensor, said: Tensor) -> Seen:
        """heard (batch, rows, parents, width) are the parents' results, where allowed (batch, rows, parents)."""
        batch, rows, parents, _ = heard.shape
        found = self.point(heard.flatten(1, 2), scene)[..., :-1].sigmoid()
        found = found.view(batch, rows, parents, found.shape[2]) * allowed[..., None]
        if parents > PARENTS:  # without structure every other routine is heard, as one
            found, parents = found.sum(dim=2, keepdim=True) / allowed.sum(dim=2)[:, :, None, None].clamp(min=1), 1
        found = nn.functional.pad(found, (0, 0, 0, PARENTS - parents))
        operation = _each(PLAN * self.operation(said[..., :FIRST_ARGUMENT].long()).sum(dim=2), self.turns)
        place = torch.arange(said.shape[2], device=said.device)
        last = (said != 0).cumsum(dim=2).argmax(dim=2, keepdim=True)  # the first of the largest
        turning = (said != 0) & ((place < FIRST_ARGUMENT) | (place == last))
        ahead = (
            (1 + TURN * self.turned(said.long())[..., 0]).tanh().masked_fill(~turning, 1.0).prod(dim=2, keepdim=True)
        )
        words, spread = self.word(said.long()) * self.loud, _spread(found.sum(dim=2), scene)
        if not bool(found.any()):  # routines without parents, as `select`: what was found is the same of every object
            found = found[..., :1]
        return Seen(scene, found, spread, operation, words, ahead)

    def forward(self, query: Tensor, seen: Seen, number: int, watch: Watch | None = None) -> Tensor:
        scene, found = seen.scene, seen.found
        assert found is not None
        assert seen.spread is not None
        assert seen.operation is not None
        assert seen.words is not None
        assert scene.values is not None
        assert scene.places is not None
        shown = scene.objects.shape[2]
        looks, relations = seen.words[..., : shown + 1], seen.words[..., shown + 1 :]
        plan = seen.operation[:, :, number].split_with_sizes(self.parts, dim=2)
        asked, least = torch.split(_each(EVEN + plan[0], self.heads) @ looks, [shown, 1], dim=3)
        such = scene.places.times(asked.flatten(1, 2), scene.objects.transpose(1, 2)) * shown**-0.5
        such = such.view(*asked.shape[:3], -1)
        reached, among = self._relate(_each(EVEN + plan[1], RELATIONS) @ relations, seen)
        stands = torch.cat([found, reached], dim=2).transpose(2, 3) * (1 + plan[2])[:, :, None]
        so = self.score(nn.functional.gelu(self.stands(stands) + plan[3][:, :, None])).transpose(2, 3)
        picked = _only(_soft(such + least), scene).sigmoid() * _soft(so).sigmoid()
        if watch is not None:
            watch[f"objects {number}"] = picked.detach()
        total = picked.sum(dim=3)
        seen_as = scene.places.times(picked.flatten(1, 2), scene.values).view(*total.shape, self.heads, -1)
        mean = seen_as.diagonal(dim1=2, dim2=3).transpose(2, 3) / (total + LIKE_NOTHING)[..., None]
        count = LOUD * torch.cat([picked.amax(dim=3) - 0.5, total.log1p() - 0.5, among - 0.5], dim=2)
        told = torch.cat([mean.flatten(2) * self.gate(query), seen.spread * self.differ(query), count], dim=2)
        marked = picked[:, :, 0] @ self.code[: picked.shape[3]]
        result: Tensor = self.join(told) + self.mark * marked
        return result

    def _relate(self, asked: Tensor, seen: Seen) -> tuple[Tensor, Tensor]:
        """Which objects (batch, rows, RELATIONS, objects) stand in each relation to any found one; and whether it
        fails between any two found ones, and holds between any two of different parents (batch, rows, 2 *
        RELATIONS)."""
        scene, found = seen.scene, seen.found
        assert found is not None
        assert seen.ahead is not None
        assert scene.places is not None
        assert scene.pairs is not None
        batch, rows, _, objects = found.shape
        if objects != scene.exists.shape[1]:  # nothing to stand in a relation to
            return found.new_zeros(batch, rows, RELATIONS, objects), found.new_zeros(batch, rows, 2 * RELATIONS)
        asked, least = torch.split(asked, [asked.shape[3] - 1, 1], dim=3)
        fits = scene.places.times(asked.flatten(1, 2), scene.pairs.transpose(1, 2)) * asked.shape[3] ** -0.5
        fits = fits.view(batch, rows, RELATIONS, objects, objects) + least[..., None]
        share = (1 + seen.ahead[..., None, None]) / 2
        holds = _soft(share * fits + (1 - share) * fits.transpose(3, 4)).sigmoid()
        every = found.amax(dim=2)[:, :, None, :, None]
        from_any = every * holds
        reached = from_any.amax(dim=3)
        fails = ((every - from_any) * every.transpose(3, 4)).flatten(3).amax(dim=3)
        one, other = found[:, :, :1, :, None], found[:, :, 1:2, None, :]
        between = (one * other * holds).flatten(3).amax(dim=3)
        return reached, torch.cat([fails, between], dim=2)

    def point(self, rows: Tensor, scene: Scene) -> Tensor:
        """(batch, rows, objects + 1) scores of the objects that rows mean, the last one for none."""
        scores = self.row(rows) @ self.code[: scene.exists.shape[1]].T + self.least
        return torch.cat([_only(scores, scene), self.none(rows)], dim=2)


def _each(rows: Tensor, count: int) -> Tensor:
    """(batch, rows, count, ...)"""
    return rows.view(*rows.shape[:2], count, -1)


def _soft(logits: Tensor) -> Tensor:
    """Between -SOFT and SOFT, and never quite flat."""
    return logits * (1 + (logits / SOFT).square()).rsqrt()


def _own(scene: Scene) -> Tensor:
    """(programs, objects, width) the objects of each program's picture."""
    assert scene.places is not None
    return scene.objects.index_select(0, scene.places.of)


def _only(scores: Tensor, scene: Scene) -> Tensor:
    """Scores (batch, ..., objects) of what there is."""
    there = scene.exists.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    return scores.masked_fill(~there, -1e9)


def _spread(weights: Tensor, scene: Scene) -> Tensor:
    """(batch, rows, width) how different objects are, weighted (batch, rows, objects): deviation of their values."""
    assert scene.values is not None
    assert scene.places is not None
    weights = weights / (weights.sum(dim=2, keepdim=True) + LIKE_NOTHING)
    both = scene.places.times(weights, torch.cat([scene.values, scene.values.square()], dim=2))
    mean, square = both.chunk(2, dim=2)
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
