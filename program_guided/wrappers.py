"""Observation wrappers of the environments, for common networks; docs/environments.md shows how to use them."""

from program_guided.tasks.minecraft.wrappers import (
    MAX_TOKENS,
    PLANES,
    TOKENS,
    FlatVector,
    OneHotPlanes,
    ProgramTokens,
    VectorFlatVector,
    VectorOneHotPlanes,
    VectorProgramTokens,
    text_of,
)

__all__ = [
    "MAX_TOKENS",
    "PLANES",
    "TOKENS",
    "FlatVector",
    "OneHotPlanes",
    "ProgramTokens",
    "VectorFlatVector",
    "VectorOneHotPlanes",
    "VectorProgramTokens",
    "text_of",
]
