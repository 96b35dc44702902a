"""Draws the gallery: executes its programs by the weights that ship and writes docs/gallery.md with its pictures.

python tools/gallery.py
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import program_guided
from program_guided.tasks.minecraft.pictures.picture import save_gif

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Gallery

Programs executed by the executors that ship, drawn by `python tools/gallery.py`. Most of them go well; some do not, and
are here for that.
"""


@dataclass(frozen=True)
class Exhibit:
    """A program, where it is executed, and what there is to see."""

    name: str
    title: str
    program: str
    seed: int
    about: str
    agent: str = "minecraft"
    inventory: dict[str, int] = field(default_factory=dict)


WORLD = (
    Exhibit(
        "gold_rush",
        "A loop that looks",
        "while env[gold] > 0:\n  mine(gold)\n  sell(gold)\ngoto(4, 2)",
        8,
        "Nobody counted the gold beforehand: the executor answers the condition each time it comes back to it.",
    ),
    Exhibit(
        "shapes",
        "A pattern",
        "place(triangle, 1, 1)\nplace(circle, 2, 1)\nplace(rectangle, 3, 1)\nif is_there[wall]:\n  goto(5, 5)",
        9,
        "`place` fetches what it does not have. x is the column, y the row, both from 1.",
    ),
    Exhibit(
        "trader",
        "Branches in a loop",
        "loop(2):\n  if agent[gold] >= 3:\n    sell(gold)\n  elif agent[silver] >= 2:\n    sell(silver)\n  else:\n"
        "    mine(iron)\n    sell(iron)\nwhile agent[wood] > 0:\n  sell(wood)",
        7,
        "`loop` and `elif` of Program Guided Agent.",
    ),
    Exhibit(
        "reward",
        "Learned from reward alone",
        "if is_there[river]:\n  mine(wood)\n  build_bridge()\nwhile env[gold] > 0:\n  mine(gold)",
        30,
        "By `minecraft-reward`, which never saw a planner: only +1 at the end of a program.",
        agent="minecraft-reward",
    ),
    Exhibit(
        "large_numbers",
        "What it has not learned",
        "while agent[wood] > 5:\n  sell(wood)\nmine(gold)",
        0,
        "No program of train compares with a number above 4. A wrong answer ends the program.",
        inventory={"wood": 7},
    ),
)
PICTURES = (
    Exhibit(
        "bag_wine",
        "The paper's first figure",
        'wine = select(bottle)\nleft = relate(wine, bag, "to the left of", subject)\nexist(left)',
        875,
        "Is the bag to the left of the wine? The embedded world has bottles for wine.",
    ),
    Exhibit(
        "same_color",
        "A comparison",
        "first = select(backpack)\nsecond = select(bottle)\nsame_color(first, second)",
        1080,
        "The last routine takes the results of the two before it, in their order.",
    ),
    Exhibit(
        "playing",
        "Over two corners",
        "sweets = select(brownie)\nsweet = filter_vposition(sweets, middle)\n"
        "someone = relate(sweet, person, eating, subject)\nquery(someone, activity)",
        834,
        "What is the person doing who eats the brownie in the middle?",
    ),
    Exhibit(
        "carrying",
        "A mistake",
        "lady = select(lady)\nthing = relate(lady, _, carrying, object)\nquery(thing, name)",
        1247,
        "The oracle's result stands beside a wrong one.",
    ),
)


def execute(exhibit: Exhibit) -> str:
    """Write the animation of a program in the world; its section of the page."""
    executor = program_guided.load(exhibit.agent)
    moments = executor.run(exhibit.program, seed=exhibit.seed, inventory=exhibit.inventory or None)
    save_gif(moments, DOCS / "gallery" / f"{exhibit.name}.gif")
    last = moments[-1]
    event = f" ({last.message})" if last.outcome != "finished" else ""
    return section(exhibit, f"{last.outcome} after {last.time} steps{event}", "gif")


def reason(exhibit: Exhibit) -> str:
    """Write the picture of a program about a picture; its section of the page."""
    reasoning = program_guided.load("visual").run(exhibit.program, seed=exhibit.seed)
    picture = reasoning.picture().convert("P", palette=1, colors=96)
    picture.save(DOCS / "gallery" / f"{exhibit.name}.png", optimize=True)
    verdict = {True: "right", False: "wrong", None: "not known to the oracle"}[reasoning.right]
    return section(exhibit, f"answer: {reasoning.answer} ({verdict})", "png")


def section(exhibit: Exhibit, outcome: str, suffix: str) -> str:
    """A section of the page."""
    return (
        f"### {exhibit.title}\n\n{exhibit.about}\n\n```\n{exhibit.program}\n```\n\n"
        f"![{exhibit.title}: {outcome}](gallery/{exhibit.name}.{suffix})\n\nSeed {exhibit.seed}: {outcome}.\n"
    )


BESIDE = """### Two agents beside each other

The first program with a bridge among the longer ones that the densely trained executor finishes and `minecraft-reward`
does not. A picture is the world at the end of a routine; the circle marks the place of the failure. `minecraft-reward`
has built a third bridge of the last wood, which `place(wood, 8, 7)` needs. Any checkpoint may stand on either side.

```
proto run --program "build_bridge()" --split longer --beside minecraft-reward --only differ --png beside.png
```

![Two agents beside each other: one finishes after 132 steps, the other runs out of time](gallery/beside.png)
"""


def draw_beside() -> str:
    """Write the picture of two agents; its section of the page."""
    (command,) = re.findall(r"^proto (run .*) beside.png$", BESIDE, re.MULTILINE)
    picture = str(DOCS / "gallery" / "beside.png")
    subprocess.run([sys.executable, "-m", "program_guided", *shlex.split(command), picture], check=True)
    return BESIDE


def main() -> None:
    """Write the page and its pictures."""
    (DOCS / "gallery").mkdir(exist_ok=True)
    bridge = (
        "### Cross the river\n\nThe example of Program Guided Agent: `proto run bridge`.\n\n"
        "![A program executed by the learned executor](bridge.gif)\n"
    )
    world, pictures = map(execute, WORLD), map(reason, PICTURES)
    parts = (HEAD, "## In the world\n", bridge, *world, draw_beside(), "## On pictures\n", *pictures)
    (DOCS / "gallery.md").write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
