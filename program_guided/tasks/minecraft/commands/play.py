"""`proto play`: execute a program yourself, with the keyboard."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from program_guided.errors import DataError
from program_guided.language.parser import parse, read_text
from program_guided.language.syntax import Ref
from program_guided.output import OptionalNumber, OptionalPath, counted
from program_guided.shipped import example, written_seed
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, FIRST_NUMBER, Action, Outcome

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["KEYS", "Game", "Play"]

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
    "f": "false",
    **{str(digit): str(digit) for digit in range(10)},
}
TEN = "+"
"""Adds ten to the number that follows."""
MIN_WIDTH = 60
"""Columns of a terminal that has room for the map beside the program."""
QUIT = ("q", "\x03", "\x04", "")
HELP = (
    "arrows, wasd: walk  m mine  b build  p place  e sell  t, f, 0-9: answer",
    "h hint  u undo  r retry  n next  q quit",
)
ASKED = {
    "mine": "take {0}: stand on one and press m; ends when you have it",
    "goto": "walk to column {0}, row {1}; ends when you stand there",
    "place": "put {0} at column {1}, row {2}: carry one there and press p; anywhere else fails",
    "build_bridge": "build a bridge: carry wood to a river's side and press b; ends when there is a bridge",
    "sell": "sell {0}: carry one to a merchant ($$) and press e; anywhere else fails",
    "agent": "do you carry {0} {1} {2}? t or f; a wrong answer fails",
    "env": "is the number of {0} on the map {1} {2}? t or f; a wrong answer fails",
    "is_there": "is there {0} on the map? t or f; a wrong answer fails",
    "greater": "is {0} greater than {1}? t or f; a wrong answer fails",
    "less": "is {0} less than {1}? t or f; a wrong answer fails",
    "equal": "is {0} equal to {1}? t or f; a wrong answer fails",
    "count": "how many cells of {0} are on the map? 0 to 9, +3 for 13; a wrong answer fails",
    "carried": "how many {0} do you carry? 0 to 9, +3 for 13; a wrong answer fails",
}
"""By operation: what is asked for, and what ends it."""
OVER = {
    Outcome.FINISHED: "You finished the program",
    Outcome.RUNNING: "You left",
}


@dataclass(frozen=True)
class Play:
    """Execute a program yourself, with the keyboard."""

    program: tyro.conf.Positional[Annotated[Path | None, tyro.conf.arg(metavar="PROGRAM")]] = None
    """File that holds the program, or the name of an example; default: one of the test split."""
    seed: OptionalNumber = None
    """Seed of the world, and number of the program if none is given; left out, the one that the program names
    (# seed: 9), or 0."""
    map: OptionalPath = None
    """File with a map to play on (symbols . # ~ = $ g w i s t c r, and @ for the agent), or the name of an example."""

    def run(self) -> int:
        """0 if the program was finished."""
        from rich.console import Console, Group
        from rich.live import Live
        from rich.text import Text

        from program_guided.tasks.minecraft.pictures.terminal import view
        from program_guided.tasks.minecraft.snapshots import snapshot

        game, console = self._game(), Console()
        if console.is_terminal and console.width < MIN_WIDTH:
            raise DataError(f"the terminal has {console.width} columns; {MIN_WIDTH} are needed to play")

        def shown() -> Group:
            asked = Text(game.asked(), style="bold")
            help_lines = [Text(line, style="dim") for line in HELP]
            return Group(view(snapshot(game.batch, 0, game.action)), asked, Text(game.note), *help_lines)

        with _keyboard() as keys, Live(shown(), console=console, auto_refresh=False) as live:
            live.refresh()
            for key in keys:
                if key in QUIT:
                    break
                if game.press(key):
                    if console.is_dumb_terminal:
                        console.print(shown())
                    live.update(shown(), refresh=True)
        outcome = game.outcome
        steps = counted(len(game.moves), "step")
        gap = "" if console.is_terminal else "\n"
        ended = OVER.get(outcome, f"The program failed: {outcome},")
        console.print(f"{gap}{ended} after {steps}{game.place}.", highlight=False)
        return int(outcome != Outcome.FINISHED)

    def _game(self) -> Game:
        if self.seed is not None and self.seed < 0:
            raise DataError(f"seed {self.seed}: expected 0 or above")
        if self.program is None:
            if self.map is not None:
                raise DataError("a map needs a program: proto play PROGRAM --map FILE")
            return Game(_of_test, self.seed or 0)
        from program_guided.tasks.minecraft.commands.run import prepare
        from program_guided.tasks.minecraft.domain import DOMAIN

        path = example(self.program)
        text = read_text(path)
        program = parse(text, DOMAIN, str(path))
        seed = self.seed if self.seed is not None else written_seed(text) or 0
        return Game(lambda number: prepare(program, number, self.map, None), seed, one_world=self.map is not None)


class Game:
    """A world, and the actions taken in it so far; a world is deterministic, so that these can be taken back."""

    def __init__(self, begin: Callable[[int], Batch], seed: int, one_world: bool = False) -> None:
        self.batch, self.seed = begin(seed), seed
        self.moves: list[int] = []
        self.action, self.note, self.tens = "", "", 0
        self._begin, self._one_world = begin, one_world

    @property
    def outcome(self) -> Outcome:
        return Outcome(int(self.batch.outcome[0]))

    @property
    def place(self) -> str:
        """The world, in words."""
        return "" if self._one_world else f" (seed {self.seed})"

    def asked(self) -> str:
        """The pointed routine in words, and what ends it."""
        worlds = self.batch.worlds
        if self.outcome != Outcome.RUNNING:
            ended = OVER.get(self.outcome, f"The program failed: {self.outcome}")
            return f"{ended}. r: again, n: another one, u: take the last step back, q: quit"
        calls, routine = self.batch.tables[int(worlds.program[0])].calls, int(worlds.routine[0])
        if routine >= len(calls):
            return "nothing is left to do: the next step, whatever it is, ends the program"
        call, numbers = calls[routine], worlds.counted[0]
        given = (numbers[each.number] if isinstance(each, Ref) else each for each in call.arguments)
        return ASKED[call.operation].format(*given)

    def press(self, key: str) -> bool:
        """React to a key; False if it has no meaning."""
        if key == "h":
            self.note = self._hint()
        elif key == "u":
            self._again(self.seed, self.moves[:-1], "one step back" if self.moves else "nothing to take back")
        elif key == "r":
            self._again(self.seed, [], "the same world again")
        elif key == "n":
            self._next()
        elif key == TEN and self.outcome == Outcome.RUNNING:
            self.tens += 1
            self.note = f"{10 * self.tens} and the digit that you press next"
        elif key in KEYS and self.outcome == Outcome.RUNNING:
            self._step(KEYS[key])
            self.tens = 0
        else:
            return False
        return True

    def _next(self) -> None:
        if self._one_world:
            self.note = "there is only this world: the map is given"
            return
        self._again(self.seed + 1, [], f"seed {self.seed + 1}")

    def _again(self, seed: int, moves: list[int], note: str) -> None:
        import numpy as np

        self.batch, self.seed, self.moves = self._begin(seed), seed, moves
        for move in moves:
            self.batch.step(np.array([move]))
        self.action, self.note, self.tens = "", note, 0

    def _step(self, action: str) -> None:
        import numpy as np

        from program_guided.tasks.minecraft.snapshots import snapshot

        number = ACTION_NAMES.index(action)
        if number >= FIRST_NUMBER:
            number = min(number + 10 * self.tens, len(ACTION_NAMES) - 1)
        mask = self.batch.view.mask[0]
        allowed = number < len(mask) and bool(mask[number])
        self.batch.step(np.array([number]))
        self.moves, action = [*self.moves, number], ACTION_NAMES[number]
        useless = "nothing to answer here"
        if not mask[: Action.TRUE].any():
            useless = "a condition: answer t or f" if mask[Action.TRUE] else "a question: answer with a number"
        message = snapshot(self.batch, 0, action).message
        self.action, self.note = action, message if allowed else f"{useless} (a step has passed)"

    def _hint(self) -> str:
        if self.outcome != Outcome.RUNNING:
            return "the program is over"
        best, left = self.batch.best_actions()
        advice = " or ".join(action for action, good in zip(ACTION_NAMES, best[0], strict=False) if good)
        return f"best: {advice} ({left[0]} to go)" if advice else "there is no way left to finish this routine"


def _of_test(number: int) -> Batch:
    """A program of the test split."""
    from program_guided.tasks.minecraft.splits import load_split
    from program_guided.tasks.minecraft.world.batch import Batch

    entries = load_split("test")
    batch = Batch([entries[number % len(entries)]], 1)
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
