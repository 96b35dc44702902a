"""Registers the environments with Gymnasium, without importing them."""

from __future__ import annotations

import gymnasium

__all__ = ["EASY", "MEDIUM", "MINECRAFT", "register"]

MINECRAFT = "ProgramGuided/Minecraft-v0"
EASY, MEDIUM = "ProgramGuided/Minecraft-Easy-v0", "ProgramGuided/Minecraft-Medium-v0"
_MODULE = "program_guided.tasks.minecraft.environment"


def register() -> None:
    """Register the world for `gymnasium.make` and `gymnasium.make_vec`; idempotent."""
    for name, difficulty in ((EASY, "easy"), (MEDIUM, "medium"), (MINECRAFT, "full")):
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point=f"{_MODULE}:MinecraftEnv",
                vector_entry_point=f"{_MODULE}:MinecraftVectorEnv",
                kwargs={"difficulty": difficulty},
            )
