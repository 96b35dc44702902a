"""Readers: the networks through which a model reads a specification, one for each kind.

    reader = readers.Grid(kinds=("floor", "wall", "lamp"), side=6)
    reader = readers.Objects(features=15, positions=3)
    reader = readers.Sequence(values=10)

These are configurations and need no torch; a model builds its network from them. `reader.py` is the protocol of
the networks; a task may give a function `(sizes, width) -> nn.Module` of its own instead.
"""

from program_guided.models.readers.config import Custom, Grid, Objects, ReaderConfig, Sequence

__all__ = ["Custom", "Grid", "Objects", "ReaderConfig", "Sequence"]
