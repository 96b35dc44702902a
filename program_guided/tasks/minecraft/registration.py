"""Registers the environments with Gymnasium, without importing them."""

from __future__ import annotations

import gymnasium

__all__ = ["MINECRAFT", "register"]

MINECRAFT = "ProgramGuided/Minecraft-v0"
_MODULE = "program_guided.tasks.minecraft.environment"


def register() -> None:
    """Register the world for `gymnasium.make` and `gymnasium.make_vec`; idempotent."""
    if MINECRAFT not in gymnasium.registry:
        gymnasium.register(
            id=MINECRAFT,
            entry_point=f"{_MODULE}:MinecraftEnv",
            vector_entry_point=f"{_MODULE}:MinecraftVectorEnv",
        )
