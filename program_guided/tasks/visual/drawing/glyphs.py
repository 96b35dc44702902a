"""Glyphs of the objects of the embedded world: a few strokes each, in percent of the box.

Departures from the paper: its pictures are photographs.

A drawing is a text of strokes separated by semicolons, from back to front. A stroke is a color (by default the
object's own), a kind and points (x, y) from the top left. Kinds and colors are those of `painting.py`.

    GLYPHS["frisbee"][0] == Stroke("oval", "main", ((0.0, 0.24), (1.0, 0.8)))
"""

from __future__ import annotations

from program_guided.tasks.visual.drawing.strokes import read_strokes

__all__ = ["GLYPHS", "LEGS"]


# Animals, 105 x 85, looking to the right.
_LEGS = "dark box 22 58 30 98; dark box 58 58 66 98; box 12 58 20 100; box 67 58 75 100"
_BODY = "blob 4 34 40 30 80 28 84 60 70 76 40 72 10 76 2 60"
_TAIL = "bar 7 40 2 62"
_HORSE = (
    f"{_TAIL}; {_LEGS}; {_BODY}; blob 58 46 68 4 84 0 102 26 96 38 82 28 82 62; "
    "dark shape 66 0 70 12 60 42 56 34 62 10; "
    "shape 72 8 74 0 79 7; ink oval 80 12 84 17"
)
# Birds, 45 x 40.
_BIRD = "gold line 45 80 45 100; gold line 58 80 58 100; blob 0 48 30 40 60 30 85 55 70 92 35 88; "
# Vehicles, 150 x 90.
_WHEELS = "ink oval 12 68 32 100; steel oval 18 78 26 90; ink oval 68 68 88 100; steel oval 74 78 82 90"
_SPOKES = "ring 0 42 36 100; ring 64 42 100 100"
# Clothing, 48 x 48.
_SLEEVES = "shape 28 4 72 4 100 34 86 50 76 38 76 {0} 24 {0} 24 38 14 50 0 34"
_FRONT = "white shape 40 4 60 4 50 26; line 50 26 50 {0}; ink oval 53 40 58 45; ink oval 53 60 58 65"
_DRAWER = "dark box 10 {0} 90 {1}; gold oval 46 {2} 54 {3}"

DRAWINGS = {  # people, animals, vehicles
    "animal, cat": f"bar 8 44 2 10; {_LEGS}; {_BODY}; shape 68 26 68 0 82 12; shape 84 12 98 0 98 26; "
    "oval 66 8 100 48; "
    "ink oval 75 22 79 28; ink oval 88 22 92 28; rose oval 81 31 86 35",
    "dog": f"bar 8 42 0 18; {_LEGS}; {_BODY}; blob 66 10 84 6 94 22 100 26 100 40 84 46 68 40; "
    "dark blob 64 8 76 8 74 44 64 38; "
    "ink oval 82 17 86 23; ink oval 95 24 100 31",
    "horse": _HORSE,
    "zebra": _HORSE + "".join(f"; ink bar {x} 34 {x - 2} 68" for x in (18, 30, 42, 54)) + "; ink bar 68 18 78 28",
    "cow": f"{_TAIL}; rose oval 48 66 62 82; {_LEGS}; {_BODY}; dark blob 18 32 40 32 38 52 22 52; "
    "dark blob 52 46 66 44 68 62 54 64; "
    "white bar 70 14 66 2; white bar 90 14 96 2; blob 66 12 94 12 96 36 90 50 72 50 66 34; "
    "rose oval 69 36 93 52; ink oval 73 20 77 26; ink oval 86 20 90 26",
    "sheep": f"{_LEGS}; {_BODY}; oval 4 26 28 52; oval 22 18 48 46; oval 42 20 68 46; oval 2 44 28 74; "
    "oval 26 50 52 78; oval 46 48 76 76; "
    "dark blob 68 18 90 16 98 40 88 54 74 48; oval 62 10 84 28; white oval 82 26 87 32",
    "elephant": "bar 4 40 0 66; dark soft 20 58 32 98; dark soft 52 58 64 98; soft 6 58 19 100; soft 64 58 77 100;"
    "blob 2 30 30 8 66 10 80 40 76 76 40 74 6 78; blob 64 14 90 10 98 40 100 92 90 94 86 50 66 48; "
    "dark blob 54 12 76 14 74 54 58 50; white bar 84 50 96 60; ink oval 84 22 88 27",
    "giraffe": "bar 5 52 1 70; dark box 18 66 25 98; dark box 46 66 53 98; box 8 64 15 100; "
    "box 56 64 63 100; blob 2 54 30 48 64 46 68 72 36 74 4 76; "
    "shape 46 54 72 6 86 8 68 62; blob 68 0 86 0 102 14 96 20 70 16; ink line 76 3 75 0; ink line 80 3 81 0; "
    "ink oval 82 5 86 9; "
    "dark oval 12 54 22 62; dark oval 28 60 38 70; dark oval 42 56 52 66; dark oval 62 34 70 42; "
    "dark oval 68 18 76 26; dark oval 56 44 64 52",
    "goat": f"{_LEGS}; {_BODY}; white bar 74 12 62 0; white bar 80 10 72 0; "
    "blob 64 40 70 10 86 8 100 30 94 40 82 36 78 54; white shape 84 38 92 38 87 56; ink oval 80 18 84 23",
    "rabbit": "white oval 6 60 24 80; blob 10 60 40 40 76 52 84 90 60 100 16 100; "
    "blob 60 44 56 0 66 -2 72 42; blob 74 42 78 -2 88 0 82 44; oval 56 34 92 70; ink oval 78 46 82 51; "
    "rose oval 88 54 92 58",
    "bird, duck": f"{_BIRD}; oval 56 4 88 42; gold blob 84 20 100 22 100 34 84 34; "
    "dark blob 16 52 58 48 60 72 34 78; ink oval 72 14 78 21",
    "eagle": f"{_BIRD}; dark blob 0 0 46 30 70 52 44 68 14 48; white oval 60 12 90 46; "
    "gold shape 86 22 100 30 96 46 86 38; ink oval 76 22 82 29",
    "parrot": "dark shape 30 60 0 100 14 100 50 76; gold line 50 84 50 100; gold line 60 84 60 100; "
    "blob 34 30 60 4 86 14 80 70 52 92 26 74; dark blob 30 40 54 40 46 80 24 78; "
    "gold blob 80 14 100 18 98 40 84 34; white oval 62 14 80 32; ink oval 68 20 76 28",
    "vehicle, car": "blob 18 44 30 4 68 4 84 42; glass shape 28 40 36 14 49 14 49 40; "
    f"glass shape 53 40 53 14 64 14 74 40; soft 0 38 100 84; {_WHEELS}; gold oval 92 48 100 60",
    "van": "blob 0 0 74 0 98 44 100 86 0 86; glass shape 58 42 58 12 72 12 88 42; glass box 8 14 28 40; "
    f"glass box 32 14 52 40; {_WHEELS}",
    "truck": "box 0 0 64 82; dark line 20 0 20 82; dark line 42 0 42 82; "
    f"dark shape 66 22 86 22 98 50 98 82 66 82; glass shape 71 48 71 28 83 28 92 48; {_WHEELS}",
    "bus": "soft 0 0 100 86; glass box 5 14 18 42; glass box 21 14 34 42; glass box 37 14 50 42; "
    f"glass box 53 14 66 42; glass box 69 14 82 42; glass box 86 14 100 56; dark box 0 54 84 60; {_WHEELS}",
    "tractor": "dark box 62 8 67 40; shape 40 40 92 40 96 78 40 78; glass box 14 0 46 44; box 8 0 52 8; "
    "ink oval 0 36 42 100; main oval 11 53 31 83; ink oval 68 62 94 100; main oval 76 73 86 89",
    "motorcycle": "ink oval 0 46 34 100; glass oval 9 61 25 85; ink oval 66 46 100 100; "
    "glass oval 75 61 91 85; bar 82 72 68 14; bar 68 14 58 12; steel blob 36 60 64 60 66 86 34 86; "
    "blob 30 42 50 30 74 30 70 60 40 66; ink blob 8 34 46 36 44 46 14 44",
    "bicycle": f"{_SPOKES}; bar 18 72 34 32; bar 34 32 68 32; bar 68 32 46 72; bar 46 72 18 72; "
    "bar 34 32 46 72; bar 82 72 66 12; bar 66 12 56 14; ink soft 26 22 44 30; ink oval 42 67 50 79",
    "scooter": "ink oval 6 70 26 100; steel oval 12 80 20 92; ink oval 76 70 96 100; steel oval 82 80 90 92; "
    "bar 86 80 72 6; ink bar 60 6 80 6; blob 0 66 36 58 52 74 72 74 80 40 88 46 80 88 8 88; ink soft 10 44 44 56",
}
DRAWINGS |= {  # furniture, devices, clothing, food
    "furniture, table": "dark box 10 30 17 88; dark box 83 30 90 88; box 4 34 12 100; box 88 34 96 100; "
    "soft 0 18 100 36",
    "desk": "box 4 34 12 100; box 56 34 96 100; dark box 60 40 92 56; dark box 60 62 92 78; "
    "gold oval 73 46 79 51; gold oval 73 68 79 73; soft 0 18 100 36",
    "chair": "dark box 30 60 37 92; dark box 64 60 71 92; box 20 0 29 100; box 71 60 79 100; "
    "soft 20 2 29 56; dark box 29 8 34 48; soft 18 50 82 62",
    "couch": "wood box 8 86 14 100; wood box 86 86 92 100; soft 6 8 94 66; dark line 50 10 50 54; "
    "soft 12 50 50 78; soft 50 50 88 78; dark box 6 74 94 90; soft 0 36 16 90; soft 84 36 100 90",
    "shelf": "box 6 0 94 100; pale box 13 7 87 31; pale box 13 39 87 62; pale box 13 70 87 94; "
    "dark box 18 11 24 31; dark box 26 14 32 31; dark box 60 44 66 62; dark box 68 42 74 62; dark box 30 76 50 94",
    "cabinet": "dark box 12 92 20 100; dark box 80 92 88 100; box 4 0 96 94; dark box 10 8 48 86; "
    "dark box 52 8 90 86; gold oval 41 44 46 50; gold oval 54 44 59 50",
    "nightstand": "dark box 22 88 30 100; dark box 70 88 78 100; box 20 24 80 90; dark box 26 36 74 56; "
    "dark box 26 62 74 82; gold oval 47 43 53 50; gold oval 47 69 53 76; soft 14 16 86 26",
    "bed": "box 0 10 9 100; box 91 40 100 100; white soft 9 50 92 66; white blob 10 50 14 34 32 36 34 52; "
    "soft 32 46 93 66; dark box 6 64 94 82",
    "bench": "dark box 14 20 20 100; dark box 80 20 86 100; box 4 12 96 24; box 4 30 96 42; soft 0 56 100 68",
    "stool": "bar 36 30 26 98; bar 64 30 74 98; dark bar 32 70 68 70; oval 20 12 80 40",
    "device, television": "ink box 44 82 56 94; ink soft 26 92 74 100; soft 0 0 100 86; glass box 7 9 93 76; "
    "white shape 12 14 40 14 18 60",
    "laptop": "soft 14 0 86 68; glass box 20 8 80 60; shape 14 68 86 68 100 96 0 96; "
    "dark shape 20 74 80 74 86 86 14 86",
    "phone": "soft 24 0 76 100; glass box 30 12 70 80; white oval 45 85 55 96; ink line 42 6 58 6",
    "camera": "dark box 30 4 66 24; soft 0 18 100 100; ink oval 26 26 74 94; glass oval 36 40 64 80; "
    "gold oval 82 26 92 38",
    "speaker": "soft 18 0 82 100; ink oval 34 6 66 34; steel oval 43 14 57 26; ink oval 26 42 74 94; "
    "steel oval 40 58 60 78",
    "keyboard": "soft 0 20 100 82; white box 20 60 80 72"
    + "".join(f"; white box {x} {y} {x + 9} {y + 10}" for y in (28, 42) for x in range(6, 90, 13)),
    "radio": "ink line 80 26 94 0; soft 0 24 100 100; ink oval 8 40 48 92; steel oval 18 54 38 78; "
    "white box 56 38 92 54; gold oval 58 66 70 82; gold oval 78 66 90 82",
    "clothing, shirt": f"{_SLEEVES.format(96)}; white blob 38 0 62 0 58 14 42 14",
    "jacket": f"{_SLEEVES.format(90)}; {_FRONT.format(90)}; dark box 28 66 42 78; dark box 62 66 74 78",
    "coat": f"{_SLEEVES.format(100)}; {_FRONT.format(100)}; dark box 24 52 76 60; dark shape 28 4 40 4 48 28",
    "vest": "shape 26 0 40 0 50 26 60 0 74 0 80 34 82 96 18 96 20 34; ink line 50 26 50 96; "
    "gold oval 54 44 59 49; gold oval 54 64 59 69",
    "dress": "shape 32 0 40 12 60 12 68 0 72 20 64 44 92 100 8 100 36 44 28 20; dark box 35 42 65 50",
    "skirt": "shape 26 8 74 8 98 96 2 96; dark box 26 6 74 18; dark line 42 20 34 94; dark line 58 20 66 94",
    "hat": "oval 0 62 100 96; blob 22 78 24 10 50 18 76 10 78 78; dark shape 22 58 78 58 78 72 22 72",
    "scarf": "shape 52 20 70 26 82 96 60 100; shape 34 20 54 24 44 100 22 96; soft 14 4 86 32; "
    "dark line 62 84 80 82; dark line 24 84 46 88",
    "fruit, apple": "wood bar 50 24 56 4; leaf blob 54 14 80 0 84 16; "
    "blob 50 20 84 14 98 50 76 100 50 92 24 100 2 50 16 14; white oval 22 32 34 48",
    "banana": "blob 4 26 12 22 40 66 92 50 100 62 66 96 26 88; wood box 2 14 12 28",
    "orange": "oval 4 6 96 100; leaf blob 46 12 60 0 76 6 60 14; dark oval 30 40 35 45; "
    "dark oval 60 34 65 39; dark oval 46 66 51 71",
    "pear": "wood bar 50 18 56 2; blob 40 10 60 10 66 44 92 70 70 102 30 102 8 70 34 44; white oval 26 62 36 78",
    "lemon": "blob 0 50 14 44 34 16 66 16 86 44 100 50 86 58 66 86 34 86 14 58; white oval 32 30 46 42",
    "vegetable, potato": "blob 4 40 30 10 76 16 100 50 80 90 30 92 4 70; dark oval 28 36 34 42; "
    "dark oval 60 30 66 36; dark oval 46 64 52 70; dark oval 74 58 80 64",
    "carrot": "leaf blob 64 30 60 0 76 2 76 26; leaf blob 70 34 98 8 104 24 82 40; "
    "blob 54 18 84 46 6 104 -2 96; dark line 52 42 62 50; dark line 36 60 46 70",
    "tomato": "blob 50 16 90 16 102 56 76 102 24 102 -2 56 10 16; "
    "leaf shape 50 0 56 14 76 12 60 24 66 36 50 28 34 36 40 24 24 12 44 14",
    "broccoli": "leaf shape 38 50 62 50 58 100 42 100; oval 0 24 46 66; oval 54 24 100 66; oval 24 34 76 74; "
    "oval 22 0 78 48",
    "dessert, cake": "shape 4 34 96 34 96 96 4 96; "
    "white blob 0 24 100 24 98 50 82 62 66 46 50 62 34 46 18 62 2 50; white box 4 66 96 74; rose oval 40 4 60 28",
    "brownie": "shape 0 36 26 12 100 12 100 66 76 92 0 92; dark shape 0 36 76 36 76 92 0 92; "
    "pale oval 36 18 46 26; pale oval 62 20 72 28",
    "cupcake": "dark shape 14 52 86 52 74 100 26 100; main blob 4 58 12 30 36 26 50 0 66 26 88 30 96 58; "
    "rose oval 42 0 58 18; ink line 38 60 41 96; ink line 62 60 59 96",
    "fast food, pizza": "shape 2 22 98 22 50 100; dark soft 0 8 100 28; rose oval 26 32 44 52; "
    "rose oval 56 32 74 52; rose oval 42 60 58 78",
    "hamburger": "soft 6 70 94 98; wood soft 2 56 98 74; "
    "leaf blob 0 48 20 54 40 48 60 56 80 48 100 54 98 62 2 62; blob 4 50 8 8 50 -6 92 8 96 50; "
    "white oval 34 18 40 24; white oval 54 14 60 20; white oval 68 26 74 32",
    "fries": "gold box 18 14 28 60; gold box 30 2 40 60; gold box 42 10 52 60; gold box 54 0 64 60; "
    "gold box 66 8 76 60; gold box 76 16 84 60; shape 10 40 50 52 90 40 80 100 20 100",
}
DRAWINGS |= {  # containers, bags, toys, plants, utensils, signs; faces and shapes
    "container, box": "shape 0 30 76 30 76 100 0 100; pale shape 0 30 24 8 100 8 76 30; "
    "dark shape 76 30 100 8 100 78 76 100; gold box 32 30 44 54",
    "basket": "ring 16 2 84 90; shape 4 46 96 46 82 100 18 100; dark line 8 62 92 62; dark line 12 80 88 80; "
    "dark line 34 48 38 98; dark line 66 48 62 98; dark soft 0 40 100 52",
    "bowl": "dark box 34 86 66 98; blob 0 40 100 40 88 84 64 94 36 94 12 84; pale oval 0 28 100 54",
    "cup": "ring 62 32 100 74; shape 8 14 78 14 70 98 16 98; pale oval 8 6 78 24",
    "bottle": "wood box 41 0 59 10; blob 40 8 60 8 62 34 80 46 80 104 20 104 20 46 38 34; white box 21 60 79 82",
    "vase": "leaf bar 48 26 40 6; leaf bar 52 26 62 4; rose oval 30 0 48 14; gold oval 54 0 72 14; "
    "blob 30 20 70 20 60 36 96 66 70 104 30 104 4 66 40 36; dark line 14 66 86 66",
    "bucket": "ring 10 0 90 76; shape 4 36 96 36 80 100 20 100; pale oval 4 26 96 46; dark line 12 62 88 62",
    "bag, backpack": "ring 34 0 66 24; dark soft 2 40 20 88; dark soft 80 40 98 88; soft 12 10 88 100; "
    "dark soft 24 52 76 90; gold box 44 56 56 62; ink line 22 34 78 34",
    "purse": "ring 20 0 80 84; blob 6 40 94 40 104 100 -4 100; dark shape 10 42 90 42 50 74; gold oval 44 64 56 76",
    "suitcase": "ring 34 0 66 34; soft 0 20 100 94; dark box 16 20 24 94; dark box 76 20 84 94; "
    "gold box 42 20 58 28; ink oval 10 92 24 100; ink oval 76 92 90 100",
    "toy, ball": "oval 2 2 98 98; white blob 20 8 50 30 50 70 20 92 34 50; white blob 80 8 60 30 60 70 80 92 68 50",
    "doll": "hair soft 24 0 76 40; skin bar 30 46 8 62; skin bar 70 46 92 62; skin box 36 78 46 100; "
    "skin box 54 78 64 100; shape 34 38 66 38 86 84 14 84; skin oval 28 2 72 42; ink oval 38 18 44 24; "
    "ink oval 56 18 62 24; ink line 44 32 56 32",
    "kite": "ink line 44 66 60 80; ink line 60 80 44 88; ink line 44 88 60 100; shape 50 0 92 30 46 72 8 30; "
    "dark line 50 0 46 72; dark line 8 30 92 30; rose shape 50 78 66 76 64 86",
    "frisbee": "oval 0 24 100 80; pale oval 14 30 86 64; main oval 24 36 76 58",
    "plant, tree": "wood shape 42 56 58 56 64 100 36 100; "
    "blob 20 72 -4 52 10 32 14 12 36 10 52 -6 70 8 90 14 92 34 104 54 80 72 50 66; dark oval 22 36 28 40; "
    "dark oval 60 22 66 26; dark oval 70 46 76 50; dark oval 40 50 46 54",
    "bush": "wood box 46 84 54 100; blob 6 96 -4 66 8 50 14 28 36 34 50 16 66 34 88 28 92 52 104 68 94 96; "
    "dark oval 24 56 30 60; dark oval 64 52 70 56; dark oval 44 74 50 78; rose oval 38 42 46 47; "
    "rose oval 76 70 84 75",
    "flower": "leaf bar 50 36 50 100; leaf blob 50 86 20 62 12 72; leaf blob 50 80 80 58 88 68; "
    "oval 34 0 66 24; oval 8 10 46 34; oval 54 10 92 34; oval 14 28 50 52; oval 50 28 86 52; "
    "gold oval 35 18 65 38",
    "cactus": "blob 34 60 8 60 4 28 20 28 22 48 36 46; blob 66 52 80 50 80 18 96 18 94 64 66 66; "
    "soft 32 4 68 86; dark line 44 10 44 80; dark line 56 10 56 80; rose oval 40 0 60 9; "
    "wood shape 20 82 80 82 72 100 28 100",
    "utensil, fork": "soft 36 36 64 100; shape 4 0 20 0 20 22 40 22 40 0 60 0 60 22 80 22 80 0 96 0 90 40 10 40",
    "knife": "dark soft 30 56 72 100; blob 30 60 26 0 50 -2 80 24 74 60",
    "spoon": "soft 36 30 64 100; oval 6 0 94 44; pale oval 26 8 60 30",
    "sign, street sign": "steel box 46 46 54 100; soft 0 8 100 52; white line 12 24 88 24; white line 12 38 66 38",
    "traffic sign": "steel box 46 70 54 100; shape 50 0 100 74 0 74; white box 45 26 55 50; white oval 44 56 56 68",
    "stop sign": "steel box 46 60 54 100; shape 28 0 72 0 96 24 96 54 72 76 28 76 4 54 4 24; white box 16 32 84 46",
    "": "soft 0 0 100 100",
}


GLYPHS = {name: read_strokes(text) for names, text in DRAWINGS.items() for name in names.split(", ")}
"""Strokes of names, and of classes (for names without strokes); those of '' are the default."""
LEGS = frozenset(read_strokes(_LEGS))
"""Legs of animals, which are not seen when they lie."""
