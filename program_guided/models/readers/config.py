"""Configurations of readers: the arrays of a specification, and the network that reads it. No torch here.

A task's `encode` returns the arrays of one specification by name; `collate` makes a batch of many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from program_guided.errors import DataError

if TYPE_CHECKING:
    from program_guided.models.model import Sizes
    from program_guided.models.readers.reader import Reader

__all__ = ["Arrays", "CrossAttention", "Custom", "Grid", "Objects", "ReaderConfig", "Sequence"]

Arrays = dict[str, NDArray[Any]]
"""A batch of specifications: the first axis of every array counts them."""
MAX_PARTS = 256
"""Maximum number of objects or items; each is identified by its place in the list."""
MAX_SIDE = 64
"""Maximum number of rows and of columns of a grid."""


@dataclass(frozen=True, kw_only=True)
class CrossAttention:
    """The attention of `paper` to a specification (CrossAtt2, Eq. 5), and the additions to it."""

    heads: int = 8
    blocks: int = 2
    hidden: int = 256
    null_key: bool = True
    """A null key, which makes counts visible."""
    position_free_heads: bool = True
    """Half of the heads attend to the content of cells without their position."""
    count_feature: bool = True
    """Heads output the number of items similar to the best one, in addition to their mean."""
    inventory_items: bool = True
    """The inventory as items to attend to; without, it is added to every cell."""
    normalised_encoders: bool = True
    """LayerNorm after the encoders of cells and of the inventory."""
    projections: bool = True
    """Learned projections of queries, keys and values."""


class ReaderConfig(ABC):
    """Configuration of the reader of one kind of specification."""

    options: ClassVar[tuple[str, ...]] = ()
    """Fields that a training may set."""
    has_parts: ClassVar[bool] = True
    """Whether a specification has parts that a result can point at."""

    @abstractmethod
    def collate(self, specifications: Many[Mapping[str, ArrayLike]]) -> Arrays:
        """A batch of specifications; `DataError` names an array that is missing or has the wrong shape."""

    @abstractmethod
    def build(self, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> Reader:
        """The reader of `plus`."""

    @abstractmethod
    def build_attention(self, sizes: Sizes, width: int, attention: CrossAttention) -> Reader:
        """The reader of `paper`: attention and nothing else."""

    def as_dict(self) -> dict[str, Any]:
        """The record in a checkpoint, as JSON."""
        return asdict(self) if is_dataclass(self) and not isinstance(self, type) else {}


@final
@dataclass(frozen=True)
class Grid(ReaderConfig):
    """A square map with an agent: arrays `map` (side, side), `agent` (row, column) and `inventory` (items,).

    A smaller map is padded with kind 0 (off the map); kinds of cells are numbered from 1.
    """

    kinds: tuple[str, ...] | int
    """Names of the kinds of cells in the order of their numbers, from 1; or the number of kinds."""
    side: int
    """Maximum side."""
    items: tuple[str, ...] | int = 0
    """Names of the items that can be carried, or the number of them."""
    names: bool = False
    """`plus`: words that are names of kinds or items are represented by what they name alone, so that words without
    training examples work too; for languages in which such words have no other meaning."""
    plans: int = 6
    """`plus`: heads of the value propagation, which finds paths over the map."""
    visits: bool = False
    """In a world: how often the agent has been at each cell since the pointed routine began is part of what every model
    sees, a memory of what was tried; array `visits` (side, side)."""
    train_side: int = 0
    """`plus`: largest side of the maps of train, if it is less than `side`, else 0. No scores are learned of rows and
    columns beyond it, so they score as the lowest of the others."""

    propagation: bool = True
    """`plus`: value propagation over the map (`plans` heads); without, paths must be found by attention."""
    counting: bool = True
    """`plus`: heads that count kinds of cells and items; without, attention, which averages."""
    context: bool = True
    """`plus`: the inventory and the cells beside the agent are added to every reading."""

    options: ClassVar[tuple[str, ...]] = ("names", "plans", "visits", "propagation", "counting", "context")
    has_parts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.side <= MAX_SIDE:
            raise DataError(f"readers.Grid: side {self.side}; it must be from 1 to {MAX_SIDE}")

    @property
    def kind_count(self) -> int:
        """Number of kinds of cells, kind 0 (off the map) included."""
        return 1 + (self.kinds if isinstance(self.kinds, int) else len(self.kinds))

    @property
    def item_count(self) -> int:
        return self.items if isinstance(self.items, int) else len(self.items)

    def named(self, words: Many[str]) -> NDArray[np.float32] | None:
        """(words, kinds + items) 1 where a word is the name of a kind or an item; None if no word is."""
        kinds = () if isinstance(self.kinds, int) else self.kinds
        items = () if isinstance(self.items, int) else self.items
        unnamed = self.kind_count - len(kinds)
        names: list[str | None] = [*[None] * unnamed, *kinds, *(items or [None] * self.item_count)]
        table = np.array([[word == name for name in names] for word in words], np.float32)
        return table if self.names and table.any() else None

    def collate(self, specifications: Many[Mapping[str, ArrayLike]]) -> Arrays:
        maps = np.zeros((len(specifications), self.side, self.side), np.int16 if self.kind_count > 128 else np.int8)
        agents = np.zeros((len(specifications), 2), np.int8 if self.side <= 128 else np.int16)
        inventories = np.zeros((len(specifications), self.item_count), np.int16)
        for row, specification in enumerate(specifications):
            cells = _array(specification, "map", 2)
            if max(cells.shape) > self.side or cells.shape[0] != cells.shape[1]:
                raise DataError(f"map: its shape is {cells.shape}; expected a square with sides of at most {self.side}")
            if cells.size and not (cells.min() >= 1 and cells.max() < self.kind_count):
                raise DataError(
                    f"map: kinds of cells are from 1 to {self.kind_count - 1}, here {cells.min()} to {cells.max()}"
                )
            maps[row, : len(cells), : len(cells)] = _whole(cells, "map")
            agent = _array(specification, "agent", 1)
            if agent.shape != (2,) or not ((agent >= 0) & (agent < len(cells))).all():
                raise DataError(f"agent: {agent.tolist()}; expected (row, column), each from 0 to {len(cells) - 1}")
            agents[row] = _whole(agent, "agent")
            if self.item_count:
                carried = _array(specification, "inventory", 1)
                if carried.shape != (self.item_count,):
                    raise DataError(f"inventory: its shape is {carried.shape}; expected ({self.item_count},)")
                if carried.min() < 0:
                    raise DataError(f"inventory: {carried.tolist()}; counts are 0 or more")
                inventories[row] = _whole(carried, "inventory")
        return {"map": maps, "agent": agents, "inventory": inventories}

    def build(self, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> Reader:
        from program_guided.models.readers.grid import GridReader

        return GridReader(self, sizes, width, heads, hidden)

    def build_attention(self, sizes: Sizes, width: int, attention: CrossAttention) -> Reader:
        from program_guided.models.readers.grid import GridAttention

        return GridAttention(self, width, attention)


@final
@dataclass(frozen=True)
class Objects(ReaderConfig):
    """A set of objects: arrays `features` (objects, features) and `positions` (objects, 2 or 3), or `boxes`
    (objects, 4: left, top, right, bottom) if `positions` is 4; positions are about 0 to 1."""

    features: int
    """Length of an object's vector."""
    positions: int = 2
    """Coordinates of an object: 2, 3, or 4 for boxes; 0 for none."""
    depth: int = -1
    """Place among the features of a number that says how near an object is; pairs are compared by it as by their
    coordinates. -1: there is none."""

    named: bool = False
    """Features have names (`name_features`): a word is true of an object as far as the feature of its name says so."""

    patch: int = 0
    """Pixels of a cell's side, where objects are the cells of a picture, row by row, and features their pixels (3,
    side, side), from 0 to 255; a convolutional network reads them (`patches.py`). 0: features are vectors."""
    columns: int = 0
    """Cells of a row of the picture."""
    vector: int = 0
    """Length of the vector that the network gives each cell."""

    @property
    def coordinates(self) -> int:
        """Numbers by which the places of two objects are compared."""
        return self.positions + (self.depth >= 0)

    @property
    def read(self) -> Objects:
        """The same of the vectors that are read off patches."""
        return replace(self, features=self.vector, patch=0) if self.patch else self

    def collate(self, specifications: Many[Mapping[str, ArrayLike]]) -> Arrays:
        where = "boxes" if self.positions == 4 else "positions"
        widths = {"features": self.features} | ({where: self.positions} if self.positions else {})
        found = [{name: _array(each, name, 2) for name in widths} for each in specifications]
        longest = max([1, *(len(each["features"]) for each in found)])
        if longest > MAX_PARTS:
            raise DataError(f"features: {longest} objects; at most {MAX_PARTS} can be distinguished")
        arrays: Arrays = {name: np.zeros((len(found), longest, width), np.float32) for name, width in widths.items()}
        arrays["exists"] = np.zeros((len(found), longest), np.bool_)
        for row, each in enumerate(found):
            count = len(each["features"])
            arrays["exists"][row, :count] = True
            for name, width in widths.items():
                if (count or len(each[name])) and each[name].shape != (count, width):
                    raise DataError(f"{name}: its shape is {each[name].shape}; expected ({count}, {width})")
                arrays[name][row, :count] = _finite(each[name], name).reshape(count, width)
        return arrays

    def build(self, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> Reader:
        from program_guided.models.readers.objects import ObjectReader

        return ObjectReader(self, sizes, width, heads, blocks, hidden)

    def build_attention(self, sizes: Sizes, width: int, attention: CrossAttention) -> Reader:
        from program_guided.models.readers.objects import ObjectAttention

        return ObjectAttention(self, width, attention)


@final
@dataclass(frozen=True)
class Sequence(ReaderConfig):
    """A list of items: array `items` (length,) of integers from 0, or (length, features) of vectors."""

    values: int = 0
    """Number of different integers; 0 if items are vectors."""
    features: int = 0
    """Length of an item's vector, if items are vectors."""

    def __post_init__(self) -> None:
        if (self.values > 0) == (self.features > 0):
            raise DataError("readers.Sequence: give either values (items are integers) or features (items are vectors)")

    def collate(self, specifications: Many[Mapping[str, ArrayLike]]) -> Arrays:
        width = self.values or self.features
        given = [_array(each, "items", 1 if self.values else 2) for each in specifications]
        longest = max([1, *map(len, given)])
        if longest > MAX_PARTS:
            raise DataError(f"items: {longest} of them; at most {MAX_PARTS} can be distinguished")
        features = np.zeros((len(specifications), longest, width), np.float32)
        positions = np.zeros((len(specifications), longest, 1), np.float32)
        exists = np.zeros((len(specifications), longest), np.bool_)
        for row, items in enumerate(given):
            count = len(items)
            exists[row, :count] = True
            positions[row, :count, 0] = np.arange(count) / 8
            if self.values and count and not (items.min() >= 0 and items.max() < self.values):
                raise DataError(f"items: values are from 0 to {self.values - 1}, here {items.min()} to {items.max()}")
            if self.values and (items != items.astype(int)).any():
                raise DataError("items: expected integers; for vectors give readers.Sequence(features=...)")
            if not self.values and count and items.shape != (count, width):
                raise DataError(f"items: their shape is {items.shape}; expected ({count}, {width})")
            one_hot = np.eye(self.values, dtype=np.float32)
            features[row, :count] = one_hot[items.astype(int)] if self.values else _finite(items, "items")[:, :width]
        return {"features": features, "positions": positions, "exists": exists}

    def as_objects(self) -> Objects:
        """The same as objects with a position on a line."""
        return Objects(features=self.values or self.features, positions=1)

    def build(self, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> Reader:
        return self.as_objects().build(sizes, width, heads, blocks, hidden)

    def build_attention(self, sizes: Sizes, width: int, attention: CrossAttention) -> Reader:
        return self.as_objects().build_attention(sizes, width, attention)


@final
@dataclass(frozen=True)
class Custom(ReaderConfig):
    """A user's reader: a function `(sizes, width) -> nn.Module` that implements the protocol of `reader.py`."""

    make: Callable[[Sizes, int], Any]

    def collate(self, specifications: Many[Mapping[str, ArrayLike]]) -> Arrays:
        return {name: np.stack([np.asarray(each[name]) for each in specifications]) for name in specifications[0]}

    def build(self, sizes: Sizes, width: int, heads: int, blocks: int, hidden: int) -> Reader:
        return self.make(sizes, width)

    def build_attention(self, sizes: Sizes, width: int, attention: CrossAttention) -> Reader:
        return self.make(sizes, width)

    def as_dict(self) -> dict[str, Any]:
        return {"custom": getattr(self.make, "__qualname__", type(self.make).__name__)}


def _whole(values: NDArray[Any], name: str) -> NDArray[Any]:
    if (values != np.floor(values)).any():
        raise DataError(f"{name}: expected integers, here {values.ravel()[:8].tolist()}")
    return values


def _finite(values: NDArray[Any], name: str) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise DataError(f"{name}: holds values that are not finite numbers")
    return values


def _array(specification: Mapping[str, ArrayLike], name: str, dimensions: int) -> NDArray[Any]:
    if not isinstance(specification, Mapping):
        raise DataError(f"encode gives {type(specification).__name__}; expected a dictionary of arrays, with {name!r}")
    try:
        found = np.asarray(specification[name])
    except KeyError:
        raise DataError(f"encode gives no '{name}'; it gives {', '.join(specification) or 'nothing'}") from None
    if found.size == 0:
        return np.zeros((0,) * dimensions)
    if found.ndim != dimensions:
        raise DataError(
            f"{name}: its shape is {found.shape}; expected {dimensions} {'axis' if dimensions == 1 else 'axes'}"
        )
    if found.dtype.kind not in "biuf":
        raise DataError(f"{name}: its elements are of type {found.dtype}; expected numbers")
    return found
