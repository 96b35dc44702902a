"""Shared by several test files: small domains, the paper's Minecraft program, and untrained models of that world."""

from dataclasses import replace

from program_guided.language import ACTION, BOOLEAN, Choice, Domain, Input, Number, Operation, Text

__all__ = [
    "ERRANDS",
    "INTEGER",
    "OBJECTS_TYPE",
    "PAPER_PROGRAM",
    "VISUAL",
    "minecraft_model",
    "minecraft_reader",
    "minecraft_with",
]

OBJECTS_TYPE = "Objects"
_OBJECTS, _OTHERS = Input("objects", OBJECTS_TYPE), Input("others", OBJECTS_TYPE)

VISUAL = Domain(
    name="visual",
    version=1,
    operations=(
        Operation("select", (Text("name"),), output=OBJECTS_TYPE),
        Operation(
            "filter_color",
            (_OBJECTS, Choice("color", ("red", "green", "light blue", "white"))),
            output=OBJECTS_TYPE,
        ),
        Operation("relate", (_OBJECTS, Text("name"), Text("relation")), output=OBJECTS_TYPE),
        Operation("verify_relation", (_OBJECTS, Text("relation"), _OTHERS), output=BOOLEAN),
        Operation("exist", (_OBJECTS,), output=BOOLEAN),
        Operation("and", (Input("first", BOOLEAN), Input("second", BOOLEAN)), output=BOOLEAN),
        Operation("query", (_OBJECTS, Text("what")), output="Answer"),
    ),
)
"""Visual questions in small: calls take each other's results, and nothing changes."""

INTEGER = "Integer"
_THING = Choice("thing", ("gold", "wood", "iron", "river"))
_INTEGERS = [Input(name, INTEGER) for name in ("first", "second", "third")]

ERRANDS = Domain(
    name="errands",
    version=1,
    operations=(
        Operation("mine", (_THING,), output=ACTION),
        Operation("goto", (Number("x", 1, 12, type=INTEGER), Number("y", 1, 12, type=INTEGER)), output=ACTION),
        Operation("give", (Choice("what", ("gold", "wood"), type="Thing"), Input("amount", INTEGER)), output=ACTION),
        Operation("rest", output=ACTION),
        Operation("count", (_THING,), output=INTEGER),
        Operation("carried", (_THING,), output=INTEGER),
        Operation("nearest", (_THING,), output="Thing"),
        Operation("plus", (_INTEGERS[0], Number("second", 0, 99, type=INTEGER)), output=INTEGER),
        Operation("less", tuple(_INTEGERS[:2])),
        Operation("greater", tuple(_INTEGERS[:2])),
        Operation("ordered", tuple(_INTEGERS)),
        Operation("not", (Input("truth", BOOLEAN),)),
        Operation("is_there", (_THING,), lookup=True),
        Operation(
            "env",
            (_THING, Choice("comparison", (">", "==", "<")), Number("number", 0, 99, type=INTEGER)),
            lookup=True,
        ),
    ),
    sequential=True,
    header="run",
)
"""Control flow and data flow in a world that changes."""

PAPER_PROGRAM = """\
def run():
  if is_there[River]:
    mine(Wood)
    build_bridge()
    if agent[Iron] < 3:
      mine(Iron)
    place(Iron, 1, 1)
  else:
    goto(4, 2)
  while env[Gold] > 0:
    mine(Gold)
"""
"""Program Guided Agent's figure 1, in its own spelling."""


def minecraft_reader(*, names=False, plans=6):
    """The reader of the world, with its two options."""
    from program_guided.tasks.minecraft.task import Minecraft

    return replace(Minecraft.reader, names=names, plans=plans)


def minecraft_model(name="plus", *, names=False, plans=6, **config):
    """An untrained model of the world."""
    from program_guided.registry import build_model, model_config
    from program_guided.tasks.minecraft.task import Minecraft

    return build_model(
        name, model_config(name)(**config), Minecraft().sizes(), minecraft_reader(names=names, plans=plans)
    )


def minecraft_with(programs, **options):
    """The task with these programs (entries) for train: they are trained on, and evaluated on too."""
    from program_guided.tasks.minecraft.task import Minecraft

    class Few(Minecraft):
        def entries(self, split):
            return (*programs, *programs)

    return Few(held_out=len(programs), **options)
