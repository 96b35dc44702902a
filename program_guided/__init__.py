"""program_guided: programs carried out by a learned executor.

    import gymnasium, program_guided
    environment = gymnasium.make("ProgramGuided/Minecraft-v0")
    executor = program_guided.load("minecraft")
    reasoner = program_guided.load("out/visual-dense-plus-0")

Importing this registers the environments and nothing more; the rest is imported where it is used.
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from program_guided.learning.agent import ExecutorAgent
    from program_guided.learning.reasoner import Reasoner

__all__ = ["__version__", "load"]

__version__ = "0.1.0"


def load(name: str | Path = "minecraft") -> ExecutorAgent | Reasoner:
    """A trained executor: one that ships, by its name, or one from a folder that `proto train` wrote."""
    from program_guided.learning.checkpoint import domain_of

    if domain_of(name) == "visual":
        from program_guided.learning.reasoner import Reasoner

        return Reasoner.from_pretrained(name)
    from program_guided.learning.agent import ExecutorAgent

    return ExecutorAgent.from_pretrained(name)


# The command line needs no registry, and starts faster without.
if PurePath(sys.argv[0] if sys.argv else "").name not in ("proto", "proto.exe"):
    from program_guided.tasks.minecraft.registration import register

    register()
