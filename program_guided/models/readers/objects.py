"""Sets of objects as specifications: vectors with positions or boxes, and two readers of them.

`ObjectAttention` is the paper's CrossAtt2 (Eq. 5): attention over the objects and nothing else. `ObjectReader`, of
`plus`, adds what attention does not compute: sets (the weights of a softmax sum to one, however many objects match),
counts, relations of two objects, and the respects in which they are equal. The objects found by the parents of a
routine are decoded from their results (`point`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from program_guided.errors import DataError
from program_guided.models.attention import DotAttention, Watch
from program_guided.models.model import Sizes
from program_guided.models.readers.config import MAX_PARTS, CrossAttention, Objects
from program_guided.models.readers.patches import PatchEncoder, Seen
from program_guided.models.semantics import mlp, sinusoids

__all__ = ["ObjectAttention", "ObjectReader", "Scene"]

THRESHOLD = 0.5
"""Probability from which an object counts as found."""
NULL_WEIGHT = 0.1
"""Weight of a null object in the mean of the objects that a head picks."""
VARIANCE_FLOOR = 0.01
"""Added to a variance, so that the gradient of its root is finite."""
COUNT_SCALE = 8.0
"""Scale of counts relative to the values of the picked objects."""
MAX_LOGIT = 5.0
"""Bound of the absolute value of logits: the gradient of a saturated probability would vanish."""
LEAK = 0.1
"""Gradient of logits, relative to that of probabilities, in the marks of picked objects, so that operations learn that
pick nothing; the marks themselves are the probabilities."""
ATTRIBUTE_SCALE, RELATION_SCALE, INVERSION_SCALE, PLAN_SCALE = 8.0, 4.0, 8.0, 4.0
"""Factors of the learning rate of word embeddings (as attributes of objects, as relations, as inversions of relations)
and of operation embeddings: a word occurs in few questions."""
WORD_STD = 0.16
"""Initial standard deviation of word embeddings, scaled."""
PLAN_STD = 0.3
"""Initial standard deviation of operation embeddings, scaled."""
INITIAL_WORD_WEIGHT = 0.5
"""Initial weight of each word of a routine in its queries."""
RELATIONS = 2
"""Number of relations that a routine queries at once: `choose` operations compare two."""
RAW_FEATURES = 64
"""Maximum length of vectors that are compared number by number; longer ones are compared through concepts alone."""
MAX_CONCEPTS = 512
"""Maximum number of words by which objects are compared."""
NOT_FOUND_WEIGHT = 0.01
"""Weight of an object that no parent has found, in attention restricted to found objects."""
COUNTED = 10
"""Number of thresholds by which a count is encoded."""
SHARP = 25.0
"""Scale of offsets whose sign matters more than their size."""
LINES = (0.18, 0.3, 0.5, 0.7, 0.82)
"""Shares of the sides of a specification at which a box's centre comes to another position: GQA's, and the middle."""
NEVER = -1e9
"""Score of an object that does not exist."""
BOX = 4
"""Coordinates of a box: left, top, right, bottom; a depth may follow."""
OPPOSITE = [2, 3, 0, 1]
"""Coordinates of the opposite edges."""
GATE_STD = 0.01
"""Standard deviation of the weights of words in comparisons, before training."""
LINK = 0.3
"""Weight of a word in a comparison, before training, if it occurs in programs together with the word that compares."""
NAMED = 16.0
"""Initial difference of a word's score between an object that has the feature of that name and one that has not."""
ALL_COMPONENTS = 256
"""Maximum length of vectors of which all principal components are kept."""
MARK = 5.0
"""Initial length of the mark of an object in a row of Z."""


@dataclass(frozen=True)
class Places:
    """The place of each program among those about the same specification, so that products with matrices of a
    specification are computed for all its programs at once, without copies."""

    of: Tensor
    """(programs,) the specification that a program is about"""
    slot: Tensor
    """(programs,) the specification's number times `max_programs`, plus the program's own place"""
    count: int
    """Number of specifications."""
    max_programs: int
    """Maximum number of programs about one specification."""

    @classmethod
    def among(cls, of: Tensor, count: int) -> Places:
        at, order = of.sort(stable=True)
        place = torch.empty_like(of)
        place[order] = torch.arange(len(of), device=of.device) - torch.searchsorted(at, at)
        max_programs = int(place.max()) + 1 if len(of) else 1
        return cls(of, of * max_programs + place, count, max_programs)

    def times(self, rows: Tensor, matrices: Tensor) -> Tensor:
        """Rows (programs, N, a) times a matrix (count, a, b) of the specification of each: (programs, N, b)."""
        together = rows.new_zeros(self.count * self.max_programs, *rows.shape[1:]).index_copy(0, self.slot, rows)
        product = torch.bmm(together.view(self.count, -1, rows.shape[2]), matrices)
        return product.view(len(together), rows.shape[1], -1).index_select(0, self.slot)


@dataclass(frozen=True)
class Scene:
    """Specifications encoded by a reader."""

    objects: Tensor
    """(specifications, objects, width) keys of the picking heads"""
    exists: Tensor
    """(programs, objects)"""
    places: Places
    """The specification of each program."""
    values: Tensor | None = None
    """(specifications, objects, width) values of picked objects"""
    pairs: Tensor | None = None
    """(specifications, objects * objects, width) features of pairs of objects"""
    concepts: Tensor | None = None
    """(specifications, objects, concepts) how much a word is true of an object, by which objects are compared"""
    named: Tensor | None = None
    """(specifications, objects, vocabulary) the feature of each word's name, 0 for words without one"""
    keys: Tensor | None = None
    """(specifications, objects, width) keys of softmax attention"""
    where: Tensor | None = None
    """(specifications, objects, 1 to 4) positions or boxes"""
    all_exist: Tensor | None = None
    """(specifications, objects)"""
    seen: Seen | None = None
    """The cells that the objects are, where they were read off pixels."""

    def about(self, of: Tensor) -> Scene:
        """Select the specification of each program, by its number."""
        exists = self.exists if self.all_exist is None else self.all_exist
        places = Places.among(of, len(self.objects))
        return replace(self, exists=exists.index_select(0, of), places=places, all_exist=exists)

    def own(self, matrices: Tensor) -> Tensor:
        """(programs, ...) matrices of the specification of each program."""
        return matrices.index_select(0, self.places.of)


class Ranges(nn.Module):
    """Scales each coordinate of arrays to a range of 1, after `fit`; boxes, and vectors longer than `RAW_FEATURES`, are
    not scaled."""

    def __init__(self, config: Objects) -> None:
        super().__init__()
        widths = {"features": config.features, "positions": config.positions}
        self.scaled = [name for name, width in widths.items() if 0 < width <= RAW_FEATURES]
        if config.positions == BOX:
            self.scaled.remove("positions")
        self.where, self.depth = "boxes" if config.positions == BOX else "positions", config.depth
        for name in self.scaled:
            self.register_buffer(f"{name}_low", torch.zeros(widths[name]))
            self.register_buffer(f"{name}_range", torch.ones(widths[name]))

    @torch.no_grad()
    def fit(self, arrays: Mapping[str, Tensor]) -> None:
        """Compute the ranges of the objects of some specifications."""
        for name in self.scaled:
            rows = arrays[name][arrays["exists"]]
            low, high = rows.amin(dim=0), rows.amax(dim=0)
            getattr(self, f"{name}_low").copy_(low)
            getattr(self, f"{name}_range").copy_(torch.where(high > low, high - low, 1.0))

    def forward(self, arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
        found = dict(arrays)
        for name in self.scaled:
            low, extent = getattr(self, f"{name}_low"), getattr(self, f"{name}_range")
            found[name] = ((arrays[name] - low) / extent).masked_fill(~arrays["exists"][..., None], 0.0)
        if self.depth >= 0:
            found[self.where] = torch.cat([found[self.where], found["features"][..., self.depth, None]], dim=-1)
        return found


class ObjectEncoder(nn.Module):
    """Encodes objects as vectors: their features and positions."""

    def __init__(self, config: Objects, width: int, hidden: int, what: nn.Module) -> None:
        super().__init__()
        self.what, self.positions = what, config.coordinates
        if self.positions:
            self.where = mlp(_placed_size(self.positions), hidden, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, arrays: Mapping[str, Tensor]) -> Tensor:
        """(specifications, objects, width)"""
        found = self.what(arrays["features"])
        if self.positions:
            found = found + self.where(_placed(_positions(arrays)))
        encoded: Tensor = self.norm(found)
        return encoded


class PrincipalComponents(nn.Module):
    """Principal components of vectors (after `fit`), then a linear layer.

    They need no supervision; a layer over the full vectors of a detector, learned from questions, has enough parameters
    to overfit to single objects."""

    def __init__(self, numbers: int, kept: int, width: int) -> None:
        super().__init__()
        self.components: Tensor
        self.register_buffer("components", nn.init.orthogonal_(torch.empty(kept, numbers)))
        self.learned = nn.Linear(kept, width)

    @torch.no_grad()
    def fit(self, vectors: Tensor) -> None:
        """Compute the components of some vectors (count, numbers)."""
        centred = vectors - vectors.mean(dim=0)
        found = torch.linalg.eigh(centred.T @ centred).eigenvectors.T.flip(0)[: len(self.components)]
        self.components.zero_()
        self.components[: len(found)] = found

    def forward(self, vectors: Tensor) -> Tensor:
        output: Tensor = self.learned(vectors @ self.components.T)
        return output


@final
class ObjectAttention(nn.Module):
    """CrossAtt2 of `paper`: attention over the objects, and over a null object with `null_key`.

    An object's vector includes a code of its place in the list, so that a row of Z can point at it.
    """

    independent = False

    def __init__(self, config: Objects, width: int, attention: CrossAttention) -> None:
        super().__init__()
        self.look = PatchEncoder(config) if config.patch else None
        self.reads_pixels = config.patch > 0
        config = config.read
        self.ranges = Ranges(config)
        self.objects = ObjectEncoder(config, width, attention.hidden, nn.Linear(config.features, width))
        self.null_key = attention.null_key
        attend: Any = nn.MultiheadAttention if attention.projections else DotAttention
        self.attend = nn.ModuleList(attend(width, attention.heads, batch_first=True) for _ in range(attention.blocks))
        self.row, self.object, self.none = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.code: Tensor
        self.register_buffer("code", sinusoids(MAX_PARTS, width), persistent=False)

    def fit(self, arrays: Mapping[str, Tensor]) -> None:
        """Compute the ranges of features and positions in some specifications."""
        self.ranges.fit(arrays)

    def encode(self, arrays: Mapping[str, Tensor]) -> Scene:
        arrays = arrays if self.look is None else self.look(arrays)[0]
        objects = self.objects(self.ranges(arrays))
        return Scene(objects + self.code[: objects.shape[1]], arrays["exists"], _one_to_one(objects))

    def prepare(
        self,
        scene: Scene,
        parents: Float[Tensor, "batch rows parents width"],
        exists: Bool[Tensor, "batch rows parents"],
        words: Integer[Tensor, "batch rows words"],
    ) -> Scene:
        return scene

    def forward(
        self, query: Float[Tensor, "batch rows width"], view: Scene, block: int, watch: Watch | None = None
    ) -> Float[Tensor, "batch rows width"]:
        objects, missing = view.own(view.objects), ~view.exists
        if self.null_key:
            objects = torch.cat([objects, objects.new_zeros(len(objects), 1, objects.shape[2])], dim=1)
            missing = torch.cat([missing, missing.new_zeros(len(missing), 1)], dim=1)
        attended, weights = self.attend[block](
            query,
            objects,
            objects,
            key_padding_mask=missing,
            need_weights=watch is not None,
            average_attn_weights=False,
        )
        if watch is not None:
            watch[f"objects {block}"] = weights.detach().transpose(1, 2)[..., : view.exists.shape[1]]
        result: Tensor = attended
        return result

    def point(
        self, rows: Float[Tensor, "batch rows width"], specification: Scene
    ) -> Float[Tensor, "batch rows parts_and_none"]:
        objects = self.object(specification.own(specification.objects))
        scores = torch.einsum("brd,bnd->brn", self.row(rows), objects) * rows.shape[2] ** -0.5
        return torch.cat([_mask_missing(scores, specification), self.none(rows)], dim=2)

    def parts(self, specification: Scene) -> Bool[Tensor, "batch parts"]:
        return specification.exists


@dataclass(frozen=True)
class ObjectView:
    """Values used by all queries of a step."""

    scene: Scene
    found: Tensor
    """(batch, rows, parents, objects) probability that a parent has found an object"""
    deviation: Tensor
    """(batch, rows, width) standard deviation of the objects that the parents have found"""
    plan: Tensor
    """(batch, rows, blocks, width) embeddings of the operations"""
    words: Tensor
    """(batch, rows, L, width) embeddings of the words, as attributes and as relations"""
    gates: Tensor | None
    """(batch, rows, L, concepts) the respects in which words compare two objects"""
    direction: Tensor
    """(batch, rows, 1) 1 for relations as they are, -1 for inverted ones"""
    named: Tensor | None
    """(batch, rows, L, objects) scores of the words by the features of their names"""


@final
class ObjectReader(nn.Module):
    """The reader of `plus`.

    Every head picks objects independently: those whose attributes match its query, and whose relations to the objects
    found by the parents do. It outputs the mean of the picked objects, the probability that any was picked, and their
    number. The objects picked by the first head are marked in the row of Z, each by a direction of its own; `point`
    decodes the marks. In addition, heads attend to the objects by a softmax, for superlatives such as largest or first.

    `RELATIONS` relations are queried at once. Features of a pair of objects are their positions, both their vectors,
    and the respects in which they are equal: coordinate by coordinate for short vectors, and by the words that are true
    of both. The routine's words query these features, so `same_color` compares colors alone. Relations are inverted by
    the words of the operation only: if any word could do that, `left` might be learned as the inverse of `right`.

    A query is a weighted sum of word embeddings, one as an attribute and one as a relation for each word. The weights
    depend on the operation alone: `to the left of` has the same meaning for all objects.
    """

    independent = True

    def __init__(self, config: Objects, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> None:
        super().__init__()
        if hidden % heads:
            raise DataError(f"hidden {hidden}, heads {heads}: a reader of objects needs a multiple of heads")
        self.look = PatchEncoder(config) if config.patch else None
        self.reads_pixels = config.patch > 0
        config = config.read
        self.heads, self.blocks, self.operation_words = heads, blocks, sizes.operation_words
        self.first_input, self.slots = int(sizes.sequential), max(2 + int(sizes.sequential), sizes.parents)
        vocabulary, shown, beside = len(sizes.vocabulary), hidden // 2, hidden // 4
        self.raw = config.features if config.features <= RAW_FEATURES else 0
        self.concepts = min(vocabulary, MAX_CONCEPTS)
        self.direct = self.raw + _ordered_size(config.coordinates)
        known = beside + self.direct
        kept = config.features if config.features <= ALL_COMPONENTS else hidden
        what = nn.Linear(self.raw, hidden) if self.raw else PrincipalComponents(config.features, kept, hidden)
        self.ranges = Ranges(config)
        self.objects = ObjectEncoder(config, hidden, hidden, what)
        self.positions = config.coordinates
        if self.positions:
            self.stand = nn.Linear(_related_size(self.positions), beside)
        self.both = nn.Linear(hidden, 2 * beside, bias=not self.positions)
        self.shown, self.word = nn.Linear(hidden, shown), nn.Embedding(vocabulary, shown + 1 + known + 1, padding_idx=0)
        self.gate = nn.Embedding(vocabulary, self.concepts, padding_idx=0)
        self.concept_scale = nn.Parameter(torch.ones(()))
        self.concept_bias = nn.Parameter(torch.zeros(self.concepts))
        if config.named:
            self.named_scale = nn.Parameter(torch.ones(()))
            self.named: Tensor
            self.register_buffer("named", torch.full((vocabulary,), -1))
            self.spell = nn.Linear(self.concepts, width, bias=False)
        self.has_names = config.named
        self.turned = nn.Embedding(vocabulary, 1, padding_idx=0)
        order = _ordered_size(self.positions)
        self.plan_sizes = (heads * sizes.words, RELATIONS * sizes.words, self.slots + RELATIONS, beside, heads, order)
        self.operation = nn.Embedding(vocabulary, blocks * sum(self.plan_sizes), padding_idx=0)
        self.stands, self.score = nn.Linear(self.slots + RELATIONS, beside), nn.Linear(beside, heads)
        self.value, self.value_gate = nn.Linear(hidden, hidden), nn.Linear(width, hidden)
        self.deviation_gate = nn.Linear(width, hidden)
        self.query, self.key = nn.Linear(width, heads * beside), nn.Linear(hidden, heads * beside)
        counts = (COUNTED + 1) * (heads + self.slots)
        compared = 2 * RELATIONS + order + hidden
        self.join = nn.Linear(3 * hidden + 2 * heads + 2 * RELATIONS + counts + compared, width)
        self.row, self.none = nn.Linear(width, width), nn.Linear(width, 1)
        self.mark, self.least = nn.Parameter(torch.tensor(MARK)), nn.Parameter(torch.tensor(-2.0))
        self.code: Tensor
        self.register_buffer("code", nn.functional.normalize(sinusoids(MAX_PARTS, width)), persistent=False)
        self.scale: Tensor
        scale = [ATTRIBUTE_SCALE] * (shown + 1) + [RELATION_SCALE] * known + [ATTRIBUTE_SCALE]
        self.register_buffer("scale", torch.tensor(scale), False)
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        nn.init.eye_(self.row.weight)
        self.word.weight.mul_(WORD_STD / self.scale)
        self.gate.weight.mul_(GATE_STD / RELATION_SCALE)
        self.operation.weight.mul_(PLAN_STD / PLAN_SCALE)
        self.turned.weight.mul_(1 / INVERSION_SCALE)
        nn.init.ones_(self.value_gate.bias)
        nn.init.constant_(self.score.bias, 2.0)

    def fit(self, arrays: Mapping[str, Tensor]) -> None:
        """Compute the ranges of features and positions in some specifications, or the principal components of long
        vectors."""
        self.ranges.fit(arrays)
        if isinstance(self.objects.what, PrincipalComponents) and self.look is None:
            self.objects.what.fit(arrays["features"][arrays["exists"]])

    def word_axes(self) -> dict[str, tuple[int, ...]]:
        """Parameter -> its axes that are numbered by the words of the vocabulary."""
        embeddings = ("word", "turned", "operation")
        of_names = {"named": (0,), "spell.weight": (1,)} if self.has_names else {}
        of_words = {"gate.weight": (0, 1), "concept_bias": (0,), **of_names}
        return of_words | {f"{name}.weight": (0,) for name in embeddings}

    @torch.no_grad()
    def invert(self, words: Iterable[int]) -> None:
        """Let these words of an operation invert relations. Learned from nothing, the two directions of a relation are
        each other's opposite, and teach it nothing until one is inverted."""
        for word in words:
            self.turned.weight[word] = -2 / INVERSION_SCALE

    @torch.no_grad()
    def link_words(self, together: Tensor) -> None:
        """Let operation words compare objects by the arguments that they occur together with in programs (vocabulary,
        vocabulary): `color` by `red`, `blue` and so on."""
        self.gate.weight[together[:, : self.concepts]] += LINK

    def name_features(self, named: Mapping[int, int]) -> None:
        """Let words be true of the objects in which the feature of the same name is large, where features have names.
        `named`: word -> feature."""
        for word, feature in named.items():
            self.named[word] = feature

    def encode(self, arrays: Mapping[str, Tensor]) -> Scene:
        seen = None if self.look is None else self.look.keep(arrays)
        arrays = self.ranges(arrays if seen is None else seen.arrays)
        objects = self.objects(arrays)
        one, other = self.both(objects).chunk(2, dim=2)
        stand = one[:, :, None] + other[:, None]
        if self.positions:
            stand = stand + self.stand(_related(_positions(arrays)))
        direct = list[Tensor]()
        if self.positions:
            direct.append(_ordered(_positions(arrays)))
        if self.raw:
            direct.append((arrays["features"][:, :, None] - arrays["features"][:, None]).square())
        scale = (stand.shape[3] + self.direct) ** 0.5  # the scale they would have if they alone were compared
        pairs = [nn.functional.gelu(stand), *(each * scale for each in direct)]
        shown, named = self.shown(objects), self._named(arrays["features"])
        concepts = self._concepts(shown) if named is None else named[..., : self.concepts]
        places = _one_to_one(objects)
        pair = torch.cat(pairs, dim=3).flatten(1, 2)
        keys, where = self.key(objects), _positions(arrays) if self.positions else None
        values = self.value(objects)
        return Scene(shown, arrays["exists"], places, values, pair, concepts, named, keys, where, seen=seen)

    def _concepts(self, shown: Tensor) -> Tensor:
        """(specifications, objects, concepts) from -1 to 1: how much the words that compare are true of an object."""
        attributes = self.word.weight[: self.concepts, : shown.shape[2]] * self.scale[: shown.shape[2]]
        scores = (shown @ attributes.T * shown.shape[2] ** -0.5).detach()  # comparing does not change what words mean
        return (self.concept_scale * scores + self.concept_bias).tanh()

    def _named(self, features: Tensor) -> Tensor | None:
        """(specifications, objects, vocabulary) the features of words' names, 0 for words without; None if features
        have no names."""
        if not self.has_names:
            return None
        return features[..., self.named.clamp(min=0)].masked_fill(self.named < 0, 0.0)

    def prepare(
        self,
        scene: Scene,
        parents: Float[Tensor, "batch rows parents width"],
        exists: Bool[Tensor, "batch rows parents"],
        words: Integer[Tensor, "batch rows words"],
    ) -> ObjectView:
        found = self._found(scene, parents, exists)
        is_word = (words != 0)[..., : self.operation_words]
        plan = PLAN_SCALE * self.operation(words[..., : self.operation_words].long()).sum(dim=2)
        turned = (1 + INVERSION_SCALE * self.turned(words[..., : self.operation_words].long())[..., 0]).tanh()
        direction = turned.masked_fill(~is_word, 1.0).prod(dim=2, keepdim=True)
        gates = RELATION_SCALE * self.gate(words.long()) if exists.shape[2] else None
        deviation, plan = _deviation(found.sum(dim=2), scene), _split(plan, self.blocks)
        meanings, named = self.word(words.long()) * self.scale, None
        if scene.named is not None:
            scores = (NAMED * self.named_scale * (scene.named - THRESHOLD)).masked_fill(self.named < 0, 0.0)
            every = scene.own(scores).transpose(1, 2)
            named = every[torch.arange(len(words), device=words.device)[:, None, None], words.long()]
        return ObjectView(scene, found, deviation, plan, meanings, gates, direction, named)

    def _found(self, scene: Scene, parents: Tensor, exists: Tensor) -> Tensor:
        """(batch, rows, slots, objects) probability that each parent has found an object, 0 for missing parents."""
        batch, rows, count, _ = parents.shape
        found = self._point(parents.flatten(1, 2), scene).sigmoid()
        found = found.view(batch, rows, count, scene.exists.shape[1]) * exists[..., None]
        if count > self.slots:  # without structure guidance every other routine is a parent: their mean
            found, count = found.sum(dim=2, keepdim=True) / exists.sum(dim=2)[:, :, None, None].clamp(min=1), 1
        return nn.functional.pad(found, (0, 0, 0, self.slots - count))

    def forward(
        self, query: Float[Tensor, "batch rows width"], view: ObjectView, block: int, watch: Watch | None = None
    ) -> Float[Tensor, "batch rows width"]:
        scene, found = view.scene, view.found
        assert scene.values is not None
        shown = scene.objects.shape[2]
        attributes, relations = view.words[..., : shown + 1], view.words[..., shown + 1 :]
        plan = view.plan[:, :, block].split_with_sizes(self.plan_sizes, dim=2)
        weights = _split(INITIAL_WORD_WEIGHT + plan[0], self.heads)
        attribute_query, bias = torch.split(weights @ attributes, [shown, 1], dim=3)
        matches = scene.places.times(attribute_query.flatten(1, 2), scene.objects.transpose(1, 2)) * shown**-0.5
        matches = matches.view(*attribute_query.shape[:3], -1)
        if view.named is not None:
            matches = matches + weights @ view.named
        reached, among = self._relate(_split(INITIAL_WORD_WEIGHT + plan[1], RELATIONS), relations, view)
        stands = torch.cat([found, reached], dim=2).transpose(2, 3) * (1 + plan[2])[:, :, None]
        related = self.score(nn.functional.gelu(self.stands(stands) + plan[3][:, :, None])).transpose(2, 3)
        if scene.seen is not None:
            bias = bias + scene.own(scene.seen.scores)[:, None, None]
        matches, related = _soft_clip(matches + bias), _soft_clip(related)
        picked = _mask_missing(matches, scene).sigmoid() * related.sigmoid()
        if watch is not None:
            watch[f"objects {block}"] = _of_all_parts(picked.detach(), scene, 0.0)
        total = picked.sum(dim=3)
        mean = self._values(picked, scene) / (total + NULL_WEIGHT)[..., None]
        certainty = COUNT_SCALE * torch.cat([picked.amax(dim=3) - 0.5, total.log1p() - 0.5, among - 0.5], dim=2)
        counts = _thresholds(torch.cat([total, found.sum(dim=3)], dim=2)).flatten(2)
        attended = self._attend(query, scene, found, plan[4])
        compared = self._compare(_split(INITIAL_WORD_WEIGHT + plan[1], RELATIONS), plan[5], view)
        gated = (mean.flatten(2) * self.value_gate(query), view.deviation * self.deviation_gate(query))
        result: Tensor = self.join(torch.cat([*gated, attended, certainty, counts, compared], dim=2))
        if view.gates is not None and scene.named is not None:
            result = result + self._spelt(view)
        leak = LEAK / MAX_LOGIT * (matches[:, :, 0] + related[:, :, 0]) * scene.exists[:, None]
        marks = picked[:, :, 0] + leak - leak.detach()
        return result + self.mark * (marks @ self.code[: marks.shape[2]])

    def _spelt(self, view: ObjectView) -> Tensor:
        """(batch, rows, width) the words that are true of what the parents have found, in the respects that the routine
        names: `query_color` of a red thing is spelt `red`."""
        assert view.gates is not None
        assert view.scene.named is not None
        found = view.found.amax(dim=2)
        shares = found / (found.sum(dim=2, keepdim=True) + NULL_WEIGHT)
        words = view.scene.places.times(shares, view.scene.named[..., : self.concepts])
        spelt: Tensor = self.spell(words * view.gates.sum(dim=2))
        return spelt

    def _values(self, weights: Tensor, scene: Scene) -> Tensor:
        """(batch, rows, heads, width / heads) values of objects, weighted (batch, rows, heads, objects) head by
        head."""
        assert scene.values is not None
        every = scene.places.times(weights.flatten(1, 2), scene.values).view(*weights.shape[:3], self.heads, -1)
        return every.diagonal(dim1=2, dim2=3).transpose(2, 3)

    def _attend(self, query: Tensor, scene: Scene, found: Tensor, inside: Tensor) -> Tensor:
        """(batch, rows, width) softmax attention to the objects; `inside` (batch, rows, heads), learned for each
        operation, restricts it to those that its parents have found."""
        assert scene.keys is not None
        queries = _split(self.query(query), self.heads)
        keys = scene.own(scene.keys)
        keys = keys.view(*keys.shape[:2], self.heads, -1)
        scores = torch.einsum("brhd,bnhd->brhn", queries, keys) * queries.shape[3] ** -0.5
        among = (found.amax(dim=2, keepdim=True) + NOT_FOUND_WEIGHT).log()
        weights = _mask_missing(scores + (1 + inside)[..., None].relu() * among, scene).softmax(dim=3)
        return self._values(weights, scene).flatten(2)

    def _relate(self, weights: Tensor, relations: Tensor, view: ObjectView) -> tuple[Tensor, Tensor]:
        """Probability that objects (batch, rows, RELATIONS, objects) stand in each relation to any found one; and
        (batch, rows, 2 * RELATIONS) that it fails between any two found ones, and that it holds between any object of
        the first input and any of the second.

        weights (batch, rows, RELATIONS, L) of words in a relation, relations (batch, rows, L, width) their embeddings.
        """
        scene, found = view.scene, view.found
        batch, rows, _, objects = found.shape
        if view.gates is None:  # no parents: no object to be related to
            return found.new_zeros(batch, rows, RELATIONS, objects), found.new_zeros(batch, rows, 2 * RELATIONS)
        assert scene.pairs is not None
        assert scene.concepts is not None
        query, bias = torch.split(weights @ relations, [relations.shape[3] - 1, 1], dim=3)
        matches = scene.places.times(query.flatten(1, 2), scene.pairs.transpose(1, 2)) * query.shape[3] ** -0.5
        respects = (weights @ view.gates)[..., None, :] * scene.own(scene.concepts)[:, None, None]
        same = scene.places.times(respects.flatten(1, 3), scene.concepts.transpose(1, 2))
        same = same.view(batch, rows, RELATIONS, -1)
        matches = (matches.view_as(same) + same + bias).view(batch, rows, RELATIONS, objects, objects)
        share = (1 + view.direction[..., None, None]) / 2
        holds = _soft_clip(share * matches + (1 - share) * matches.transpose(3, 4)).sigmoid()
        every = found.amax(dim=2)[:, :, None, :, None]
        from_any = every * holds
        reached = from_any.amax(dim=3)
        fails = ((every - from_any) * every.transpose(3, 4)).flatten(3).amax(dim=3)
        one, other = (found[:, :, self.first_input + at, None] for at in (0, 1))
        between = (one[..., None] * other[:, :, :, None] * holds).flatten(3).amax(dim=3)
        return reached, torch.cat([fails, between], dim=2)

    def _compare(self, weights: Tensor, preference: Tensor, view: ObjectView) -> Tensor:
        """(batch, rows, ...) comparison of what the parents have found on the whole: agreement of the first two inputs
        in the respects of the words, disagreement among all, their order in space, and the value of the one that the
        operation prefers by that order (the taller one).

        weights (batch, rows, RELATIONS, L) of words in a relation, preference (batch, rows, order).
        """
        scene, found = view.scene, view.found
        assert scene.concepts is not None
        assert scene.values is not None
        batch, rows, order, hidden = *found.shape[:2], _ordered_size(self.positions), scene.values.shape[2]
        if view.gates is None:
            return found.new_zeros(batch, rows, 2 * RELATIONS + order + hidden)
        one, other = (found[:, :, self.first_input + at] for at in (0, 1))
        parts = torch.stack([one, other, found.amax(dim=2)], dim=2)
        parts = (parts / (parts.sum(dim=3, keepdim=True) + NULL_WEIGHT)).flatten(1, 2)
        means = _split(scene.places.times(parts, scene.concepts).view(batch, rows, -1), 3)
        squares = scene.places.times(parts, scene.concepts.square()).view_as(means)
        respects = (weights @ view.gates).transpose(2, 3)
        agreement = (means[:, :, 0] * means[:, :, 1])[:, :, None] @ respects
        disagreement = (squares[:, :, 2] - means[:, :, 2].square())[:, :, None] @ respects
        both = ((one.sum(dim=2) > THRESHOLD) & (other.sum(dim=2) > THRESHOLD))[..., None]
        ordered = found.new_zeros(batch, rows, 0)
        if scene.where is not None:
            where = _split(scene.places.times(parts, scene.where).view(batch, rows, -1), 3)
            ordered = _order_of(where[:, :, 0], where[:, :, 1]).masked_fill(~both, 0.0)
        values = _split(scene.places.times(parts, scene.values).view(batch, rows, -1), 3)
        share = (preference * ordered).sum(dim=2, keepdim=True).sigmoid()
        preferred = (share * values[:, :, 1] + (1 - share) * values[:, :, 0]).masked_fill(~both, 0.0)
        return torch.cat([agreement[:, :, 0], disagreement[:, :, 0], ordered, preferred], dim=2)

    def point(
        self, rows: Float[Tensor, "batch rows width"], specification: Scene
    ) -> Float[Tensor, "batch rows parts_and_none"]:
        scores = _of_all_parts(self._point(rows, specification), specification, NEVER)
        return torch.cat([scores, self.none(rows)], dim=2)

    def _point(self, rows: Tensor, scene: Scene) -> Tensor:
        """(batch, rows, objects) scores of the objects."""
        return _mask_missing(self.row(rows) @ self.code[: scene.exists.shape[1]].T + self.least, scene)

    def parts(self, specification: Scene) -> Bool[Tensor, "batch parts"]:
        return _of_all_parts(specification.exists.float(), specification, 0.0) > 0


def _of_all_parts(values: Tensor, scene: Scene, missing: float) -> Tensor:
    """Values of objects (programs, ..., objects) as those of all cells, where objects are some of them."""
    return values if scene.seen is None else scene.seen.spread(values, scene.places.of, missing)


def _one_to_one(objects: Tensor) -> Places:
    """Program i is about specification i."""
    every = torch.arange(len(objects), device=objects.device)
    return Places(every, every, len(objects), 1)


def _split(rows: Tensor, count: int) -> Tensor:
    """(batch, rows, count, ...)"""
    return rows.view(*rows.shape[:2], count, -1)


def _soft_clip(logits: Tensor) -> Tensor:
    """Clip logits smoothly to -MAX_LOGIT to MAX_LOGIT; the gradient is never 0."""
    return logits * (1 + (logits / MAX_LOGIT).square()).rsqrt()


def _mask_missing(scores: Tensor, scene: Scene) -> Tensor:
    """Scores (batch, ..., objects), `NEVER` for objects that do not exist."""
    exists = scene.exists.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    return scores.masked_fill(~exists, NEVER)


def _thresholds(counts: Tensor) -> Tensor:
    """(..., COUNTED + 1) counts, scaled and as thresholds."""
    steps = torch.arange(COUNTED, device=counts.device) + 0.5
    return torch.cat([counts[..., None] / COUNTED, ((counts[..., None] - steps) * 2).tanh()], dim=-1)


def _deviation(weights: Tensor, scene: Scene) -> Tensor:
    """(batch, rows, width) standard deviation of objects' values, weighted (batch, rows, objects)."""
    assert scene.values is not None
    weights = weights / (weights.sum(dim=2, keepdim=True) + NULL_WEIGHT)
    both = scene.places.times(weights, torch.cat([scene.values, scene.values.square()], dim=2))
    mean, square = both.chunk(2, dim=2)
    return ((square - mean.square()).clamp(min=0) + VARIANCE_FLOOR).sqrt()


def _positions(arrays: Mapping[str, Tensor]) -> Tensor:
    return arrays["boxes"] if "boxes" in arrays else arrays["positions"]


def _placed_size(coordinates: int) -> int:
    return 5 + 2 * len(LINES) + coordinates if coordinates >= BOX else 3 * coordinates


def _placed(positions: Tensor) -> Tensor:
    """Features of an object's position (for a box: its edges, centre, sides and area, and depth), and its sharpened
    offsets to lines across the specification."""
    if positions.shape[-1] < BOX:
        return torch.cat([positions, *((SHARP * (positions - third / 3)).tanh() for third in (1, 2))], dim=-1)
    low, high = positions[..., :2], positions[..., 2:BOX]
    sides, centre = high - low, (low + high) / 2
    lines = [(SHARP * (centre - line)).tanh() for line in LINES]
    return torch.cat([positions, centre, sides, sides.prod(dim=-1, keepdim=True), *lines], dim=-1)


def _ordered_size(coordinates: int) -> int:
    return 18 + 2 * (coordinates - BOX) if coordinates >= BOX else 2 * coordinates


def _ordered(positions: Tensor) -> Tensor:
    """(specifications, objects, objects, ...) sharpened offsets of the second object of a pair to the first, for each
    coordinate; for boxes, between equal and between opposite edges, which is wider, taller and larger, how much they
    overlap, and the gap between them."""
    return _order_of(positions[:, :, None], positions[:, None])


def _order_of(one: Tensor, other: Tensor) -> Tensor:
    offset = other - one
    if one.shape[-1] < BOX:
        return _sharpened(offset)
    opposite = other[..., OPPOSITE] - one[..., :BOX]
    sides = (_sides(other) / _sides(one)).log()
    ordered = torch.cat([SHARP * offset[..., :BOX], 5 * sides, 5 * sides.sum(dim=-1, keepdim=True)], dim=-1).tanh()
    within, gap = _overlap(one, other)
    return torch.cat([ordered, _sharpened(opposite), within, _sharpened(gap), _sharpened(offset[..., BOX:])], dim=-1)


def _overlap(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """(..., 1) area that two boxes share, as a share of the smaller one; and the gap between them, negative if they
    overlap."""
    apart = torch.maximum(one[..., :2], other[..., :2]) - torch.minimum(one[..., 2:BOX], other[..., 2:BOX])
    shared = apart.clamp(max=0).prod(dim=-1)
    smaller = torch.minimum(_sides(one).prod(dim=-1), _sides(other).prod(dim=-1))
    return (shared / smaller)[..., None], apart.amax(dim=-1, keepdim=True)


def _sharpened(offset: Tensor) -> Tensor:
    return torch.cat([(SHARP * offset).tanh(), (5 * SHARP * offset).tanh()], dim=-1)


def _related_size(coordinates: int) -> int:
    return 22 + 2 * (coordinates - BOX) if coordinates >= BOX else 3 * coordinates + 1


def _related(positions: Tensor) -> Tensor:
    """(specifications, objects, objects, ...) relation of the second object of a pair to the first: offsets, also
    sharpened; for boxes, also relative to the sides of each."""
    one, other = positions[:, :, None], positions[:, None]
    offset = other - one
    if positions.shape[-1] < BOX:
        distance = (offset.square().sum(dim=-1, keepdim=True) + 1e-6).sqrt()
        return torch.cat([offset, (SHARP * offset).tanh(), (3 * offset).tanh(), distance], dim=-1)
    between = torch.cat([offset[..., :BOX], other[..., OPPOSITE] - one[..., :BOX]], dim=-1)
    size = (_sides(other) / _sides(one)).log()
    boxes = [between, (SHARP * between).tanh(), _offset(one, other), _offset(other, one), size]
    return torch.cat([*boxes, _sharpened(offset[..., BOX:])], dim=-1)


def _sides(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:BOX] - boxes[..., :2]).clamp(min=1e-3)


def _offset(host: Tensor, guest: Tensor) -> Tensor:
    """Position of the guest's centre, in sides of the host from its top left."""
    return (((guest[..., :2] + guest[..., 2:BOX]) / 2 - host[..., :2]) / _sides(host)).clamp(-2, 3)
