"""program_guided: programs carried out by a learned executor.

    import gymnasium, program_guided
    environment = gymnasium.make("ProgramGuided/Minecraft-v0")

Importing this registers the environments and nothing more; the rest is imported where it is used.
"""

import sys
from pathlib import PurePath

__all__ = ["__version__"]

__version__ = "0.1.0"

if PurePath(sys.argv[0] if sys.argv else "").stem != "proto":  # the command line needs no registry, and starts faster
    from program_guided.tasks.minecraft.registration import register

    register()
