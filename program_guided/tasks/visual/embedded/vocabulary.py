"""Vocabulary of the embedded world: classes of objects, their attributes, and the rules of relations.

Departures from the paper: it has no such world. Values are drawn uniformly and independently of the name (an elephant
may be green), so that an answer cannot be inferred without the picture. A relation is determined by the positions and
classes of two boxes, so that it is visible.

    CLASSES["furniture"].names[0] == "chair"        RULES[0].relation == "wearing"
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CLASSES",
    "CLASS_OF",
    "LOCATIONS",
    "NAMES",
    "PLACES",
    "RELATIONS",
    "RULES",
    "SPATIAL",
    "WEATHERS",
    "WORLD_VALUES",
    "Class",
    "Rule",
    "release_category",
]


@dataclass(frozen=True)
class Class:
    """Names of objects with the same categories of attributes and similar size."""

    names: tuple[str, ...]
    categories: tuple[str, ...]
    width: int
    height: int
    """Mean sides in pixels."""
    large: bool = False
    """True if objects of the class can be placed without a host."""


@dataclass(frozen=True)
class Rule:
    """A relation, and the position of a guest relative to its host."""

    relation: str
    hosts: tuple[str, ...]
    guests: tuple[str, ...]
    """Classes."""
    anchor: tuple[float, float]
    """Centre of the guest, in sides of the host from its top left corner."""
    guest_is_subject: bool = True
    scale: float = 1.0
    """Maximum of the guest's longest side, as a share of the host's."""


WORLD_VALUES = {
    "color": ("white", "black", "brown", "blue", "green", "red", "yellow", "purple"),
    "material": ("wood", "metal", "plastic", "glass", "leather", "cloth"),
    "shape": ("round", "square", "rectangular", "triangular"),
    "size": ("small", "large"),
    "cleanliness": ("clean", "dirty"),
    "hardness": ("soft", "hard"),
    "length": ("long", "short"),
    "height": ("tall", "short"),
    "pattern": ("striped", "dotted", "checkered"),
    "weight": ("heavy", "light"),
    "flavor": ("chocolate", "vanilla", "strawberry"),
    "age": ("young", "old"),
    "gender": ("male", "female"),
    "pose": ("standing", "sitting", "walking", "jumping"),
    "activity": ("talking", "reading", "sleeping", "playing"),
    "face expression": ("happy", "sad", "angry"),
    "fatness": ("fat", "skinny"),
    "power": ("on", "off"),
    "fullness": ("full", "empty"),
    "openness": ("open", "closed"),
}
BARE = ("power", "fullness", "openness")
"""Categories without a name in the release: their values are arguments of the bare operations."""
LOCATIONS = ("indoors", "outdoors")
PLACES = ("street", "beach", "park", "farm", "kitchen", "office")
WEATHERS = ("sunny", "cloudy", "rainy", "foggy")


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


_COLOURED = ("color", "size")
CLASSES = {
    "adult": Class(_names("man,woman,lady"), ("age", "height", "pose", "activity", "face expression"), 70, 180, True),
    "worker": Class(
        _names("player,pilot,chef,farmer,driver"),
        ("gender", "age", "pose", "activity", "face expression"),
        70,
        180,
        True,
    ),
    "child": Class(_names("boy,girl,baby"), ("pose", "activity", "face expression"), 55, 115, True),
    "animal": Class(
        _names("cat,dog,horse,cow,sheep,elephant,giraffe,zebra,goat,rabbit"),
        (*_COLOURED, "age", "fatness", "activity"),
        105,
        85,
        True,
    ),
    "bird": Class(_names("duck,eagle,parrot"), (*_COLOURED, "age", "fatness"), 45, 40),
    "vehicle": Class(
        _names("car,van,truck,bus,tractor,motorcycle,bicycle,scooter"),
        (*_COLOURED, "cleanliness", "length"),
        150,
        90,
        True,
    ),
    "furniture": Class(
        _names("chair,table,couch,shelf,cabinet,desk,bed,bench,stool,nightstand"),
        (*_COLOURED, "material", "shape", "cleanliness", "hardness"),
        135,
        105,
        True,
    ),
    "device": Class(_names("laptop,television,phone,camera,speaker,keyboard,radio"), (*_COLOURED, "power"), 50, 38),
    "clothing": Class(
        _names("shirt,jacket,dress,hat,scarf,skirt,coat,vest"),
        ("color", "material", "pattern", "length", "cleanliness"),
        48,
        48,
    ),
    "fruit": Class(_names("apple,banana,orange,pear,lemon"), (*_COLOURED, "hardness"), 32, 30),
    "vegetable": Class(_names("carrot,potato,tomato,broccoli"), (*_COLOURED, "hardness"), 32, 30),
    "dessert": Class(_names("cake,brownie,cupcake"), ("flavor", "shape", "size"), 36, 30),
    "fast food": Class(_names("pizza,hamburger,fries"), ("shape", "size"), 38, 30),
    "container": Class(
        _names("box,basket,bowl,cup,bottle,vase,bucket"),
        ("color", "material", "shape", "weight", "fullness"),
        58,
        64,
        True,
    ),
    "bag": Class(_names("backpack,purse,suitcase"), ("color", "material", "pattern", "weight", "openness"), 46, 52),
    "toy": Class(_names("doll,ball,kite,frisbee"), (*_COLOURED, "material", "pattern"), 36, 36),
    "plant": Class(_names("tree,bush,flower,cactus"), ("color", "height"), 75, 115, True),
    "utensil": Class(_names("fork,knife,spoon"), ("color", "material", "cleanliness"), 18, 46),
    "sign": Class(_names("street sign,traffic sign,stop sign"), ("color", "shape", "size"), 46, 46),
}
CLASS_OF = {name: key for key, each in CLASSES.items() for name in each.names}
NAMES = tuple(CLASS_OF)

_PEOPLE = ("adult", "worker", "child")
_FOOD = ("fruit", "vegetable", "dessert", "fast food")
RULES = (
    Rule("wearing", _PEOPLE, ("clothing",), (0.5, 0.4), guest_is_subject=False, scale=0.5),
    Rule("holding", _PEOPLE, ("device", "toy", "utensil"), (1.0, 0.5), guest_is_subject=False, scale=0.3),
    Rule("carrying", _PEOPLE, ("bag",), (0.0, 0.65), guest_is_subject=False, scale=0.35),
    Rule("eating", (*_PEOPLE, "animal"), _FOOD, (0.5, 0.1), guest_is_subject=False, scale=0.3),
    Rule("riding", ("vehicle",), _PEOPLE, (0.5, -0.1)),
    Rule("pushing", ("vehicle",), _PEOPLE, (1.2, 0.4)),
    Rule("pulling", ("vehicle",), ("animal",), (-0.35, 0.55)),
    Rule("on", ("furniture",), ("container", "device", "bag", *_FOOD), (0.5, -0.15), scale=0.5),
    Rule("under", ("furniture",), ("toy", "bag", "animal"), (0.5, 1.15), scale=0.6),
    Rule("in", ("container",), ("utensil", "toy", *_FOOD), (0.5, 0.5), scale=0.45),
    Rule("sitting on", ("furniture",), _PEOPLE, (0.25, 0.1)),
    Rule("lying on", ("furniture",), ("animal",), (0.75, 0.15), scale=0.7),
    Rule("standing on", ("furniture", "vehicle", "animal"), ("bird",), (0.1, -0.15), scale=0.5),
    Rule("leaning on", ("furniture", "vehicle", "plant"), ("sign",), (1.0, 0.75), scale=0.5),
    Rule("hanging on", ("furniture", "plant"), ("clothing",), (0.0, 0.3), scale=0.5),
    Rule("covering", ("furniture", "vehicle"), ("clothing",), (0.5, 0.5), scale=0.6),
)
SPATIAL = ("to the left of", "to the right of", "above", "below", "in front of", "behind", "near")
RELATIONS = (*SPATIAL, *(rule.relation for rule in RULES))


def release_category(category: str) -> str:
    """Name of a category in the release, "" for none."""
    return "" if category in BARE else category
