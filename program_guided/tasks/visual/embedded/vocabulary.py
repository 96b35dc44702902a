"""Vocabulary of the embedded world: classes of objects, their attributes, and the rules of relations.

Departures from the paper: it has no such world. Values are drawn uniformly and independently of the name (an elephant
may be green), so that an answer cannot be inferred without the picture. A relation is seen in the picture: a hand that
grips, a pose, a shadow where things touch.

    CLASSES["furniture"].names[0] == "chair"        RULES[0].relation == "wearing"
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BACK",
    "CLASSES",
    "CLASS_OF",
    "HEIGHTS",
    "LOCATIONS",
    "NAMES",
    "OPEN_BELOW",
    "PLACES",
    "RAISED",
    "RELATIONS",
    "RULES",
    "RULE_OF",
    "SEATED",
    "SPATIAL",
    "SURFACES",
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
    """Mean sides in pixels, at scale 1."""
    large: bool = False
    """True if objects of the class are hosts."""


@dataclass(frozen=True)
class Rule:
    """A relation, and the position of a guest relative to its host."""

    relation: str
    hosts: tuple[str, ...]
    guests: tuple[str, ...]
    """Classes."""
    x: tuple[float, float]
    """Range of the guest's centre, in widths of the host from its left edge."""
    y: float | None
    """Height of the part of the guest that touches the host, in heights of the host from its top; None: the surface
    of the host (`SURFACES`)."""
    touch: float = 0.5
    """That part of the guest, in heights of the guest from its top."""
    guest_is_subject: bool = True
    behind: bool = False
    """True if the host covers the guest."""


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
    "adult": Class(_names("man,woman,lady"), ("age", "height", "pose", "activity", "face expression"), 44, 104, True),
    "worker": Class(
        _names("player,pilot,chef,farmer,driver"),
        ("gender", "age", "pose", "activity", "face expression"),
        44,
        104,
        True,
    ),
    "child": Class(_names("boy,girl,baby"), ("pose", "activity", "face expression"), 40, 76, True),
    "animal": Class(
        _names("cat,dog,horse,cow,sheep,elephant,giraffe,zebra,goat,rabbit"),
        (*_COLOURED, "age", "fatness", "activity"),
        76,
        62,
        True,
    ),
    "bird": Class(_names("duck,eagle,parrot"), (*_COLOURED, "age", "fatness"), 38, 34),
    "vehicle": Class(
        _names("car,van,truck,bus,tractor,motorcycle,bicycle,scooter"),
        (*_COLOURED, "cleanliness", "length"),
        104,
        62,
        True,
    ),
    "furniture": Class(
        _names("chair,table,couch,shelf,cabinet,desk,bed,bench,stool,nightstand"),
        (*_COLOURED, "material", "shape", "cleanliness", "hardness"),
        92,
        74,
        True,
    ),
    "device": Class(_names("laptop,television,phone,camera,speaker,keyboard,radio"), (*_COLOURED, "power"), 38, 30),
    "clothing": Class(
        _names("shirt,jacket,dress,hat,scarf,skirt,coat,vest"),
        ("color", "material", "pattern", "length", "cleanliness"),
        34,
        34,
    ),
    "fruit": Class(_names("apple,banana,orange,pear,lemon"), (*_COLOURED, "hardness"), 27, 26),
    "vegetable": Class(_names("carrot,potato,tomato,broccoli"), (*_COLOURED, "hardness"), 27, 26),
    "dessert": Class(_names("cake,brownie,cupcake"), ("flavor", "shape", "size"), 30, 27),
    "fast food": Class(_names("pizza,hamburger,fries"), ("shape", "size"), 30, 26),
    "container": Class(
        _names("box,basket,bowl,cup,bottle,vase,bucket"),
        ("color", "material", "shape", "weight", "fullness"),
        46,
        48,
        True,
    ),
    "bag": Class(_names("backpack,purse,suitcase"), ("color", "material", "pattern", "weight", "openness"), 38, 40),
    "toy": Class(_names("doll,ball,kite,frisbee"), (*_COLOURED, "material", "pattern"), 30, 30),
    "plant": Class(_names("tree,bush,flower,cactus"), ("color", "height"), 56, 86, True),
    "utensil": Class(_names("fork,knife,spoon"), ("color", "material", "cleanliness"), 20, 40),
    "sign": Class(_names("street sign,traffic sign,stop sign"), ("color", "shape", "size"), 38, 44),
}
CLASS_OF = {name: key for key, each in CLASSES.items() for name in each.names}
NAMES = tuple(CLASS_OF)

_PEOPLE = ("adult", "worker", "child")
_FOOD = ("fruit", "vegetable", "dessert", "fast food")
RULES = (
    Rule("wearing", _PEOPLE, ("clothing",), (0.5, 0.5), 0.46, guest_is_subject=False),
    Rule("holding", _PEOPLE, ("device", "toy", "utensil"), (1.0, 1.1), 0.5, guest_is_subject=False),
    Rule("carrying", _PEOPLE, ("bag",), (-0.05, 0.05), 0.58, 0.1, guest_is_subject=False),
    Rule("eating", _PEOPLE, _FOOD, (0.5, 0.5), 0.35, guest_is_subject=False),
    Rule("riding", ("vehicle",), _PEOPLE, (0.35, 0.55), 0.45, 0.8, behind=True),
    Rule("pushing", ("vehicle",), _PEOPLE, (-0.22, -0.18), 1.0, 1.0),
    Rule("pulling", ("vehicle",), ("animal",), (1.4, 1.5), 1.0, 1.0),
    Rule("on", ("furniture",), ("container", "device", "bag", "toy", *_FOOD), (0.2, 0.8), None, 0.95),
    Rule("under", ("furniture",), ("toy", "bag", "container"), (0.4, 0.6), 0.98, 1.0, behind=True),
    Rule("in", ("container",), ("utensil", "toy", *_FOOD), (0.4, 0.6), 0.5, 0.95),
    Rule("sitting on", ("furniture",), _PEOPLE, (0.3, 0.7), None, 0.75),
    Rule("lying on", ("furniture",), ("animal",), (0.3, 0.7), None, 0.95),
    Rule("standing on", ("furniture", "vehicle", "animal"), ("bird",), (0.15, 0.6), None, 0.97),
    Rule("leaning on", ("furniture", "vehicle", "plant"), ("sign",), (0.95, 1.05), 1.0, 1.0),
    Rule("hanging on", ("furniture", "plant"), ("clothing",), (0.0, 0.08), 0.35),
    Rule("covering", ("furniture", "vehicle"), ("clothing",), (0.3, 0.7), 0.5),
)
RAISED = {"standing": 1.0, "sitting": 1.18, "walking": 1.0, "jumping": 0.93}
"""Pose -> scale of the upper body, in the box of a person."""
SEATED = 0.82
"""Height of a seated person, as a share of its height."""
HEIGHTS = {"hat": 0.03, "scarf": 0.34}
"""Clothing -> height at which it is worn, if not on the trunk."""
SURFACES = {
    **dict.fromkeys(("table", "desk"), 0.24),
    **dict.fromkeys(("shelf", "cabinet"), 0.03),
    **dict.fromkeys(("couch", "chair", "bed"), 0.52),
    "bench": 0.6,
    "stool": 0.24,
    "nightstand": 0.18,
    **dict.fromkeys(("car", "van", "truck", "bus"), 0.04),
    **dict.fromkeys(("tractor", "scooter", "bicycle", "motorcycle"), 0.3),
}
"""Host -> height of its surface; that of an animal is its back."""
BACK = 0.32
OPEN_BELOW = ("table", "desk", "chair", "bench", "stool")
"""Furniture that something can be under."""
RULE_OF = {rule.relation: rule for rule in RULES}
SPATIAL = ("to the left of", "to the right of", "above", "below", "in front of", "behind", "near")
RELATIONS = (*SPATIAL, *(rule.relation for rule in RULES))


def release_category(category: str) -> str:
    """Name of a category in the release, "" for none."""
    return "" if category in BARE else category
