"""An execution of a program in the world, from its beginning to its end: what `MinecraftExecutor.run` returns.

execution = executor.run("mine(gold); sell(gold)", seed=0)
execution.outcome, len(execution), execution[-1].inventory
execution[0].choice.action, execution[0].choice.probabilities
execution.as_dict(); execution.to_json()
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

from program_guided.tasks.minecraft.pictures.snapshot import Snapshot

__all__ = ["Choice", "Execution", "Moment"]


@dataclass(frozen=True)
class Choice:
    """An action that an executor chose, and what it was chosen by."""

    action: str
    probabilities: Mapping[str, float]
    """The probability of every action that the pointed routine allows, before the repetition penalty."""
    value: float | None
    """Expected return; None for an executor that was not trained by reward."""
    attention: tuple[tuple[float, ...], ...]
    """Attention to each cell of the map, the mean over heads and readings. The rest of 1 is attention to nothing and to
    the inventory."""


@dataclass(frozen=True)
class Moment(Snapshot):
    """The world at one time step, and the choice that was made in it."""

    routine: str = ""
    """The pointed routine; empty when the program is over."""
    choice: Choice | None = None
    """The next action; None at the end."""

    def as_dict(self) -> dict[str, Any]:
        """JSON: the moment, without the text of the program."""
        found = {
            "time": self.time,
            "routine": self.routine,
            "map": [list(row) for row in self.cells],
            "agent": list(self.agent),
            "inventory": dict(self.inventory),
            "message": self.message,
        }
        if self.choice is None:
            return found
        return found | {each.name: getattr(self.choice, each.name) for each in fields(self.choice)}


class Execution(Sequence[Moment]):
    """The moments of an execution; the last one is its end."""

    def __init__(self, moments: Sequence[Moment], seed: int) -> None:
        self.moments, self.seed = tuple(moments), seed

    @property
    def program(self) -> str:
        """The text of the program."""
        return "\n".join(self.moments[0].program) + "\n"

    @property
    def outcome(self) -> str:
        """finished, wrong answer, wrong place, missing object or timeout."""
        return self.moments[-1].outcome

    @property
    def finished(self) -> bool:
        return self.outcome == "finished"

    @property
    def steps(self) -> int:
        return self.moments[-1].time

    @property
    def actions(self) -> list[str]:
        return [moment.choice.action for moment in self.moments if moment.choice is not None]

    @overload
    def __getitem__(self, index: int) -> Moment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Moment, ...]: ...
    def __getitem__(self, index: int | slice) -> Moment | tuple[Moment, ...]:
        return self.moments[index]

    def __len__(self) -> int:
        return len(self.moments)

    def __repr__(self) -> str:
        return f"Execution({self.outcome} after {self.steps} steps, seed {self.seed}: {self.program!r})"

    def _repr_html_(self) -> str:
        from program_guided.tasks.minecraft.pictures.picture import animation_html

        return animation_html(self.moments)

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON: the trace has one entry a moment, each with the action that was chosen in it."""
        return {
            "program": self.program,
            "seed": self.seed,
            "outcome": self.outcome,
            "steps": self.steps,
            "trace": [moment.as_dict() for moment in self.moments],
        }

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.as_dict(), indent=indent)
