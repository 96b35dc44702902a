"""Layout of a program's graph: routines in layers below their inputs, edges on ways of their own.

    layout = arrange([(), (0,), (0,), (1, 2)])
    layout.layers == (0, 1, 1, 2)        layout.across == (0.5, 0.0, 1.0, 0.5)

The method of Sugiyama et al. (1981), with one pass of barycentres from the bottom to the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Layout", "arrange"]

WAY = 0.2
"""Width of an edge's way past a layer, in routines."""


@dataclass(frozen=True)
class Layout:
    """Where the routines of a graph stand, and how its edges run."""

    layers: tuple[int, ...]
    """The layer of each routine, 0 at the top."""
    across: tuple[float, ...]
    """Left side of each routine, in widths of a routine."""
    ways: dict[tuple[int, int], tuple[float, ...]]
    """(input, routine) -> centres of the edge's way past each layer between them, in widths of a routine."""
    width: float
    """Width of the graph, in widths of a routine."""


def arrange(inputs: Sequence[tuple[int, ...]], above: Sequence[int | None] = ()) -> Layout:
    """Lay out the graph of some routines, each with its inputs; `above`: another that it stands below."""
    layers = _layers(inputs, above or [None] * len(inputs))
    edges = sorted({(source, number) for number, sources in enumerate(inputs) for source in sources})
    items: list[tuple[int, ...]] = [(number,) for number in range(len(inputs))]
    below: dict[tuple[int, ...], list[tuple[int, ...]]] = {item: [] for item in items}
    for source, number in edges:
        way = [(source, number, layer) for layer in range(layers[source] + 1, layers[number])]
        items += way
        for one, other in zip([(source,), *way], [*way, (number,)], strict=True):
            below.setdefault(one, []).append(other)
    centres: dict[tuple[int, ...], float] = {}
    for layer in reversed(range(max(layers, default=0) + 1)):
        own = [item for item in items if (item[2] if len(item) > 1 else layers[item[0]]) == layer]
        wanted = {item: _wanted(item, below[item], inputs, centres) for item in own}
        centres |= _apart(wanted)
    first = min((centres[item] - _width(item) / 2 for item in items), default=0.0)
    last = max((centres[item] + _width(item) / 2 for item in items), default=0.0)
    return Layout(
        tuple(layers),
        tuple(round(centres[(number,)] - 0.5 - first, 6) for number in range(len(inputs))),
        {
            (source, number): tuple(
                round(centres[(source, number, layer)] - first, 6)
                for layer in range(layers[source] + 1, layers[number])
            )
            for source, number in edges
        },
        last - first,
    )


def _layers(inputs: Sequence[tuple[int, ...]], above: Sequence[int | None]) -> list[int]:
    """The layer of each routine: below its inputs, and as near to the routine that takes its result as can be."""
    layers: list[int] = []
    floor = 0
    for sources, condition in zip(inputs, above, strict=True):
        if condition is not None:
            floor = max(floor, layers[condition] + 1)
        layers.append(max([floor, *(layers[source] + 1 for source in sources)]))
    for number in reversed(range(len(inputs))):
        takers = [layers[other] for other, sources in enumerate(inputs) if number in sources]
        if takers and number not in above:
            layers[number] = max(layers[number], min(takers) - 1)
    return layers


def _wanted(
    item: tuple[int, ...],
    below: Sequence[tuple[int, ...]],
    inputs: Sequence[tuple[int, ...]],
    centres: dict[tuple[int, ...], float],
) -> float:
    """Barycentre of the items below, shifted by the place of this one among the inputs."""
    shifts = []
    for other in below:
        sources = tuple(dict.fromkeys(inputs[other[0]])) if len(other) == 1 else (item[0],)
        shifts.append(centres[other] + sources.index(item[0]) - (len(sources) - 1) / 2)
    return sum(shifts) / len(shifts) if shifts else 0.0


def _width(item: tuple[int, ...]) -> float:
    return WAY if len(item) > 1 else 1.0


def _apart(wanted: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """Centres of the items of a layer, as near as can be to the wanted ones without overlap."""
    order = sorted(wanted, key=lambda item: (wanted[item], item))
    centres: dict[tuple[int, ...], float] = {}
    edge = float("-inf")
    for item in order:
        centres[item] = max(wanted[item], edge + _width(item) / 2)
        edge = centres[item] + _width(item) / 2
    shift = sum(wanted[item] - centres[item] for item in order) / max(1, len(order))
    return {item: centre + shift for item, centre in centres.items()}
