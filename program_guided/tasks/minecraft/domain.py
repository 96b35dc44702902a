"""The language of the 2D Minecraft world, as tables.

Departures from the paper (Table "program_minecraft"): `silver` is a full item, and shapes can be mined,
placed and sold like items. `loop` and `elif` are PGA's.

    mine(gold)    goto(4, 2)    place(iron, 1, 1)    build_bridge()    sell(gold)
    agent[iron] < 3             env[gold] > 0        is_there[river]

Data flow is ours: in the paper's language (`CONTROL_FLOW`) no routine takes the result of another.

    n = count(gold)
    while less(carried(wood), n): mine(wood)
"""

from __future__ import annotations

from dataclasses import replace

from program_guided.language.domain import ACTION, Choice, Domain, Input, Number, Operation

__all__ = [
    "ACTIONS",
    "COMPARATORS",
    "CONTROL_FLOW",
    "COUNT",
    "DEFAULT_SIDES",
    "DOMAIN",
    "KINDS",
    "LARGEST_SIDE",
    "NUMBERS",
    "OBJECTS",
    "SMALLEST_SIDE",
    "TERRAIN",
    "THINGS",
]

OBJECTS = ("gold", "wood", "iron", "silver", "triangle", "circle", "rectangle")
"""Objects that can be carried, in the order of the inventory."""
TERRAIN = ("flat", "wall", "river", "bridge", "merchant")
THINGS = TERRAIN + OBJECTS
KINDS = ("outside", *THINGS)
"""Kinds of cells; the index of a kind is the cell's value. `outside` is padding."""
COMPARATORS = (">", ">=", "==", "<", "<=")
ACTIONS = ("up", "down", "left", "right", "mine", "build", "place", "sell", "true", "false")

NUMBERS = tuple(range(21))
"""Results of `count` and `carried`; the largest one stands for itself and all above."""
COUNT = "Count"
"""The result type of `count` and `carried`."""

SMALLEST_SIDE = 5
LARGEST_SIDE = 12
DEFAULT_SIDES = (SMALLEST_SIDE, 8)
"""Sides of the paper's maps."""
"""The paper's worlds go to 8; larger ones measure generalisation."""
LARGEST_COUNT = 99

_OBJECT = Choice("object", OBJECTS)
_THING = Choice("thing", THINGS)
_X = Number("x", 1, LARGEST_SIDE)
_Y = Number("y", 1, LARGEST_SIDE)
_COUNT_COMPARED = (_THING, Choice("comparison", COMPARATORS), Number("number", 0, LARGEST_COUNT))
_TWO_COUNTS = (Input("first", COUNT), Number("second", 0, NUMBERS[-1], type=COUNT))

CONTROL_FLOW = Domain(
    name="minecraft",
    version=1,
    operations=(
        Operation("mine", (_OBJECT,), output=ACTION, about="take an object of this kind from the map"),
        Operation("goto", (_X, _Y), output=ACTION, about="walk to column x, row y"),
        Operation("place", (_OBJECT, _X, _Y), output=ACTION, about="put an object of this kind at column x, row y"),
        Operation("build_bridge", output=ACTION, about="turn a cell of river into a bridge, for one wood"),
        Operation("sell", (_OBJECT,), output=ACTION, about="give one of these to a merchant"),
        Operation("agent", _COUNT_COMPARED, lookup=True, about="compares how many of these the agent carries"),
        Operation("env", _COUNT_COMPARED, lookup=True, about="compares how many of these are on the map"),
        Operation("is_there", (_THING,), lookup=True, about="whether one of these is on the map"),
    ),
    sequential=True,
    header="run",
)
"""The paper's language."""

DOMAIN = replace(
    CONTROL_FLOW,
    operations=(
        *CONTROL_FLOW.operations,
        Operation("greater", _TWO_COUNTS, about="whether the first number is larger"),
        Operation("less", _TWO_COUNTS, about="whether the first number is smaller"),
        Operation("equal", _TWO_COUNTS, about="whether two numbers are equal"),
        Operation("count", (_THING,), output=COUNT, about="how many of these are on the map"),
        Operation("carried", (_OBJECT,), output=COUNT, about="how many of these the agent carries"),
    ),
    extends=CONTROL_FLOW,
)
"""The whole language."""
