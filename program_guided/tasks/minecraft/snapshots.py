"""A world of a batch -> a `Snapshot` for the pictures, and an agent's execution -> a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from program_guided.language.printer import print_call
from program_guided.language.table import RoutineTable
from program_guided.learning.agents import Agent, OracleAgent
from program_guided.tasks.minecraft.domain import DOMAIN, KINDS, NUMBERS, OBJECTS
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.planner import UNREACHABLE
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, Action, Outcome

__all__ = ["execution", "routine_text", "snapshot"]


def execution(batch: Batch, agent: Agent) -> Iterator[Snapshot]:
    """Snapshots of world 0 from now to the end of its program, or until the planner finds no plan."""
    yield snapshot(batch, 0)
    while batch.outcome[0] == Outcome.RUNNING:
        if isinstance(agent, OracleAgent) and batch.best_actions()[1][0] >= UNREACHABLE:
            yield replace(snapshot(batch, 0), message="there is no way to finish the pointed routine, stopped")
            return
        action = agent.act(batch)
        batch.step(action)
        yield snapshot(batch, 0, batch.action_name(int(action[0])))


def snapshot(batch: Batch, i: int, action: str = "") -> Snapshot:
    """World i at this moment."""
    worlds, program = batch.worlds, int(batch.worlds.program[i])
    text, side = batch.entries[program].text, int(worlds.side[i])
    outcome, routine = Outcome(int(worlds.outcome[i])), int(worlds.routine[i])
    if outcome in (Outcome.WRONG_ANSWER, Outcome.WRONG_PLACE, Outcome.MISSING_OBJECT):
        routine = int(worlds.previous[i])
    lines = [call.line - 1 for call in batch.tables[program].calls]
    return Snapshot(
        cells=tuple(tuple(KINDS[cell] for cell in row) for row in worlds.cells[i, :side, :side]),
        agent=(int(worlds.agent[i, 0]), int(worlds.agent[i, 1])),
        inventory={thing: int(count) for thing, count in zip(OBJECTS, worlds.inventory[i], strict=True)},
        program=tuple(text.splitlines()),
        pointed=lines[routine] if routine < len(lines) else None,
        time=int(worlds.time[i]),
        action=action,
        message=_message(batch, i, action, outcome),
        outcome=str(outcome),
    )


def _message(batch: Batch, i: int, action: str, outcome: Outcome) -> str:
    """Description of the routine that ended in the last step; "" if none did."""
    ended = int(batch.ended[i])
    if ended < 0:
        return ""
    routine = routine_text(batch.tables[int(batch.worlds.program[i])], ended)
    if outcome == Outcome.WRONG_ANSWER:
        return f"answered {action}, but {routine} is {_right(batch, i, action)}"
    if outcome in (Outcome.WRONG_PLACE, Outcome.MISSING_OBJECT):
        return f"{routine}: {outcome}"
    return f"{routine} is {action}" if action in ACTION_NAMES[Action.TRUE :] else f"{routine} ended"


def routine_text(table: RoutineTable, row: int) -> str:
    """A routine as the program says it; results that it takes are named, or written out."""
    names: list[str | None] = []
    for call in table.calls[: row + 1]:
        plain = print_call(replace(call, result=None), DOMAIN, names)
        names.append(call.result or plain)
    return plain


def _right(batch: Batch, i: int, wrong: str) -> str:
    """The right answer to the routine that ended."""
    if wrong in ("true", "false"):
        return "false" if wrong == "true" else "true"
    call = batch.tables[int(batch.program[i])].calls[int(batch.ended[i])]
    thing = str(call.words[0])
    if call.operation == "carried":
        count = batch.worlds.inventory[i, OBJECTS.index(thing)]
    else:
        count = batch.worlds.counts[i, KINDS.index(thing)]
    return str(min(count, NUMBERS[-1]))
