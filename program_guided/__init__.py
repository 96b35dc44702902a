"""program_guided: programs carried out by a learned executor.

    import gymnasium, program_guided
    environment = gymnasium.make("ProgramGuided/Minecraft-v0")

Importing this registers the environments and nothing more; the rest is imported where it is used.
"""

from program_guided.tasks.minecraft.registration import register

__all__ = ["__version__"]

__version__ = "0.1.0"

register()
