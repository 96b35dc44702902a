"""What several test files speak of: a small domain of graph programs, and the paper's Minecraft program."""

from program_guided.language import BOOLEAN, Choice, Domain, Operation, Text

__all__ = ["OBJECTS_TYPE", "PAPER_PROGRAM", "VISUAL"]

OBJECTS_TYPE = "Objects"

VISUAL = Domain(
    name="visual",
    version=1,
    operations=(
        Operation("select", (Text("name"),), output=OBJECTS_TYPE),
        Operation(
            "filter_color",
            (Choice("color", ("red", "green", "light blue", "white")),),
            inputs=(OBJECTS_TYPE,),
            output=OBJECTS_TYPE,
        ),
        Operation("relate", (Text("name"), Text("relation")), inputs=(OBJECTS_TYPE,), output=OBJECTS_TYPE),
        Operation("verify_relation", (Text("relation"),), inputs=(OBJECTS_TYPE, OBJECTS_TYPE), output=BOOLEAN),
        Operation("exist", inputs=(OBJECTS_TYPE,), output=BOOLEAN),
        Operation("and", inputs=(BOOLEAN, BOOLEAN), output=BOOLEAN),
        Operation("query", (Text("what"),), inputs=(OBJECTS_TYPE,), output="Answer"),
    ),
)
"""Visual questions in small: calls take each other's results, and there is no control flow."""

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
