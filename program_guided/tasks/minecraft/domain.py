"""The language of the 2D Minecraft world, as tables.

Departures from the paper (Table "program_minecraft"): `silver` is a full item, and shapes can be mined,
placed and sold like items. `loop` and `elif` are PGA's.

    mine(gold)    goto(4, 2)    place(iron, 1, 1)    build_bridge()    sell(gold)
    agent[iron] < 3             env[gold] > 0        is_there[river]
"""

from __future__ import annotations

from program_guided.language.domain import ACTION, Choice, Domain, Number, Operation

__all__ = [
    "ACTIONS",
    "COMPARATORS",
    "DOMAIN",
    "KINDS",
    "LARGEST_SIDE",
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

SMALLEST_SIDE = 5
LARGEST_SIDE = 12
"""The paper's worlds go to 8; larger ones measure generalisation."""
LARGEST_COUNT = 99

_OBJECT = Choice("object", OBJECTS)
_THING = Choice("thing", THINGS)
_X = Number("x", 1, LARGEST_SIDE)
_Y = Number("y", 1, LARGEST_SIDE)
_COUNT = (_THING, Choice("comparison", COMPARATORS), Number("number", 0, LARGEST_COUNT))

DOMAIN = Domain(
    name="minecraft",
    version=1,
    operations=(
        Operation("mine", (_OBJECT,), output=ACTION, about="take an object of this kind from the map"),
        Operation("goto", (_X, _Y), output=ACTION, about="walk to column x, row y"),
        Operation("place", (_OBJECT, _X, _Y), output=ACTION, about="put an object of this kind at column x, row y"),
        Operation("build_bridge", output=ACTION, about="turn a cell of river into a bridge, for one wood"),
        Operation("sell", (_OBJECT,), output=ACTION, about="give one of these to a merchant"),
        Operation("agent", _COUNT, lookup=True, about="compares how many of these the agent carries"),
        Operation("env", _COUNT, lookup=True, about="compares how many of these are on the map"),
        Operation("is_there", (_THING,), lookup=True, about="whether one of these is on the map"),
    ),
    sequential=True,
    header="run",
)
