"""`proto play`: execute a program yourself, with the keyboard."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from program_guided.errors import DataError
from program_guided.output import OptionalPath, counted

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["KEYS", "Play"]

KEYS = {
    "w": "up",
    "s": "down",
    "a": "left",
    "d": "right",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[D": "left",
    "\x1b[C": "right",
    "m": "mine",
    "b": "build",
    "p": "place",
    "e": "sell",
    "t": "true",
    "y": "true",
    "f": "false",
    "n": "false",
}
QUIT = ("q", "\x03", "\x04", "")
HELP = "arrows, wasd: walk  m mine  b build  p place  e sell  t, f: answer  h hint  q quit"


@dataclass(frozen=True)
class Play:
    """Execute a program yourself, with the keyboard."""

    program: tyro.conf.Positional[Path | None] = None
    """File that holds the program; default: one of the test split."""
    seed: int = 0
    """Seed of the world, and number of the program if none is given."""
    map: OptionalPath = None
    """File with a map to play on (symbols . # ~ = $ g w i s t c r, and @ for the agent)."""

    def run(self) -> int:
        """0 if the program was finished."""
        import numpy as np
        from rich.console import Console, Group
        from rich.live import Live
        from rich.text import Text

        from program_guided.tasks.minecraft.domain import ACTIONS
        from program_guided.tasks.minecraft.pictures.terminal import view
        from program_guided.tasks.minecraft.snapshots import snapshot
        from program_guided.tasks.minecraft.world.rules import Outcome

        batch = self._batch()
        console = Console()

        def shown(action: str, note: str) -> Group:
            return Group(view(snapshot(batch, 0, action)), Text(note), Text(HELP, style="dim"))

        with _keyboard() as keys, Live(shown("", ""), console=console, auto_refresh=False) as live:
            live.refresh()
            while batch.outcome[0] == Outcome.RUNNING:
                key = next(keys, "")
                if key in QUIT:
                    break
                if key == "h":
                    best, left = batch.best_actions()
                    advice = " or ".join(action for action, good in zip(ACTIONS, best[0], strict=True) if good)
                    note = (
                        f"best: {advice} ({left[0]} to go)" if advice else "there is no way left to finish this routine"
                    )
                    live.update(shown("", note), refresh=True)
                elif key in KEYS:
                    action = ACTIONS.index(KEYS[key])
                    allowed = bool(batch.view.mask[0, action])
                    batch.step(np.array([action]))
                    useless = (
                        "a condition: answer t or f" if action < ACTIONS.index("true") else "nothing to answer here"
                    )
                    note = snapshot(batch, 0, KEYS[key]).message if allowed else f"{useless} (a step has passed)"
                    live.update(shown(KEYS[key], note), refresh=True)
        outcome = Outcome(int(batch.outcome[0]))
        ending = {Outcome.FINISHED: "You finished the program", Outcome.RUNNING: "You left"}
        steps = int(batch.worlds.time[0])
        ended = ending.get(outcome, f"The program failed: {outcome},")
        gap = "" if console.is_terminal else "\n"
        console.print(f"{gap}{ended} after {counted(steps, 'step')}.", highlight=False)
        return int(outcome != Outcome.FINISHED)

    def _batch(self) -> Batch:
        if self.map is not None and self.program is None:
            raise DataError("a map needs a program: proto play PROGRAM --map FILE")
        if self.program is not None:
            from program_guided.language.parser import read_program
            from program_guided.tasks.minecraft.commands.run import prepare
            from program_guided.tasks.minecraft.domain import DOMAIN

            return prepare(read_program(self.program, DOMAIN), self.seed, self.map, None)
        from program_guided.tasks.minecraft.splits import load_split
        from program_guided.tasks.minecraft.world.batch import Batch

        entries = load_split("test")
        batch = Batch([entries[self.seed % len(entries)]], 1)
        batch.place(0, 0)
        return batch


@contextmanager
def _keyboard() -> Iterator[Iterator[str]]:
    """Keys as they are pressed; where there is no terminal, the characters of standard input."""
    if not sys.stdin.isatty():
        yield (character for line in sys.stdin for character in line.strip())
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        yield iter(lambda: msvcrt.getwch(), "")  # type: ignore[attr-defined]
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin.fileno())
        yield _pressed()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed() -> Iterator[str]:
    """Keys, read past Python's own buffer: an arrow key comes as three characters at once."""
    while data := os.read(sys.stdin.fileno(), 64):
        yield from re.findall(r"\x1b\[[A-D]|.", data.decode("utf-8", "replace"), re.DOTALL)
