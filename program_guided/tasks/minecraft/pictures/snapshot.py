"""One moment of an execution, as the pictures show it. Plain data: any agent, any way of drawing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """The visible state of a world at one time step."""

    cells: tuple[tuple[str, ...], ...]
    """Rows from the top, each the names (of `KINDS`, never "outside") of its cells from the left."""
    agent: tuple[int, int]
    """Row and column of the agent, from 0."""
    inventory: dict[str, int]
    """Number of each of `OBJECTS` that it carries."""
    program: tuple[str, ...]
    """The program's lines, as printed."""
    pointed: int | None
    """The line (from 0) of the pointed routine; None when the program is over."""
    time: int
    action: str = ""
    """The action that led here (of `rules.ACTION_NAMES`), empty at the start."""
    message: str = ""
    """The last event: "mine(gold) ended", "finished", "failed: wrong answer"."""
    outcome: str = "running"
    """running, finished, wrong answer, wrong place, missing object or timeout."""

    def _repr_png_(self) -> bytes:
        from program_guided.tasks.minecraft.pictures.picture import png_bytes

        return png_bytes(self)
