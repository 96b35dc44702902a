"""Tells Gymnasium the environments' names, without importing them."""

from __future__ import annotations

import gymnasium

__all__ = ["MINECRAFT", "register"]

MINECRAFT = "ProgramGuided/Minecraft-v0"
_MODULE = "program_guided.tasks.minecraft.environment"


def register() -> None:
    """Make `gymnasium.make` and `gymnasium.make_vec` know the world; twice is once."""
    if MINECRAFT not in gymnasium.registry:
        gymnasium.register(
            id=MINECRAFT,
            entry_point=f"{_MODULE}:MinecraftEnv",
            vector_entry_point=f"{_MODULE}:MinecraftVectorEnv",
        )
