"""`proto evaluate`: measure agents in their task, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from program_guided.cli.parsing import own_options, parse, read, select
from program_guided.cli.tasks import command_of, is_checkpoint, task_of_agents, with_options
from program_guided.errors import UsageError
from program_guided.output import OptionalText
from program_guided.registry import DEFAULT_TASK, NETWORKS, named

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Measure agents: checkpoints, or the built-in ones of their task.

Options that belong to a task are shown with an agent of it, or with --task: proto evaluate --task TASK --help"""


@dataclass(frozen=True)
class Selection:
    """Whom to measure, and in what."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")] = ()
    """Checkpoints (folders that 'proto train' wrote, or shipped ones by name), or built-in agents: planner, random,
    oracle, symbolic. Several are shown side by side; checkpoints that differ in their seed only are averaged too. Left
    out, the shipped checkpoint with the task's name."""
    task: OptionalText = None
    """A built-in or installed task, path/to/file.py, or module:Class; left out, that of the checkpoints."""


def network_of(agent: str) -> str | None:
    """The kind of network that an agent is a checkpoint of, or whose name it is; None for executors and built-in
    agents."""
    from program_guided.learning.networks import kind_of

    return kind_of(agent) if is_checkpoint(agent) else agent if agent in NETWORKS else None


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    chosen = select(Selection, arguments, "proto evaluate")
    agents = chosen.agents or (DEFAULT_TASK if chosen.task is None else chosen.task,)
    network = network_of(agents[0])
    if network is not None:
        return int(read(named(NETWORKS[network]["evaluate"]), "proto evaluate", arguments).run())
    task = task_of_agents(agents, chosen.task)
    command = command_of(task, "evaluate")
    parts = {"selection": Selection(), "measuring": command, **own_options(task, command)}
    options = parse("proto evaluate", DESCRIPTION, arguments, parts)
    if options.selection.agents != chosen.agents:
        raise UsageError("name the agents before the options, as in: proto evaluate AGENT --breakdown")
    given = with_options(task, getattr(options, "task_options", None))
    return int(options.measuring.run(given, agents))
