"""Long commands in a real terminal: the drawn bar, Ctrl-C, and errors, in pseudo-terminals of three widths."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from program_guided.bars import Bars

ROOT = Path(__file__).parent.parent
WIDTHS = (20, 80, 200)
BAR = re.compile("[━─]{15,}")
LEFT = re.compile(r"[\d-]:[\d-]{2}:[\d-]{2} left")
RATE = re.compile(r"\d/s")
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TINY = textwrap.dedent("""
    import random
    from program_guided import Objects, Task, operation, readers

    class Tiny(Task):
        name, version = "tiny", 1
        reader = readers.Sequence(values=4)

        def encode(self, numbers):
            return {"items": numbers}

        def examples(self, split):
            source = random.Random(split)
            for _ in range(40):
                yield "some(all())", [source.randrange(4) for _ in range(3)]

        @operation
        def all(self, numbers) -> Objects:
            return range(len(numbers))

        @operation
        def some(self, numbers, given: Objects) -> bool:
            return 0 in numbers
""")


class Terminal:
    """A command in a pseudo-terminal of its own."""

    def __init__(self, command, columns, folder, **variables):
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        environment |= {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}
        self.process, self.controller = pty.fork()
        if self.process == 0:
            self.resize(columns, 0)
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "program_guided", *map(str, command)], environment)
        self.written = ""

    def resize(self, columns, terminal=None):
        size = struct.pack("HHHH", 40, columns, 0, 0)
        fcntl.ioctl(self.controller if terminal is None else terminal, termios.TIOCSWINSZ, size)

    def read(self, until=None, timeout=120.0):
        """Read to the end, or until a text or pattern is shown."""
        deadline = time.monotonic() + timeout
        while until is None or not re.search(until, self.written):
            if not select.select([self.controller], [], [], max(0, deadline - time.monotonic()))[0]:
                os.kill(self.process, signal.SIGKILL)
                pytest.fail(f"{until!r} was not shown in {timeout} seconds; at the end: {self.written[-500:]!r}")
            try:
                piece = os.read(self.controller, 65536)
            except OSError:  # the command has ended
                break
            if not piece:
                break
            self.written += COLOUR.sub("", piece.decode("utf-8", "replace"))
        return self.written

    def press(self, keys):
        os.write(self.controller, keys.encode())

    def end(self):
        """Everything that was shown, and the exit code."""
        shown = self.read()
        os.close(self.controller)
        return shown, os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny task, a world for `dataset index`, and pictures for `features extract`."""
    return prepare(tmp_path_factory.mktemp("terminal"))


def prepare(folder):
    (folder / "tiny.py").write_text(TINY)
    (folder / "images").mkdir()
    for number in range(20):
        Image.new("RGB", (40, 40), (9 * number, 0, 0)).save(folder / "images" / f"{number}.png")
    return folder


TRAININGS = {
    "dense": ("tiny.py", "--batch-size", 8),
    "reward": ("minecraft", "--target", "reward", "--num-envs", 8, "--num-steps", 8, "--minibatch-size", 64),
}
ENDLESS = ("--steps", 10**7, "--eval-every", 10**6, "--held-out", 10)


@pytest.mark.parametrize("target", TRAININGS)
def test_a_training_draws_its_bar_at_every_width_and_is_interrupted_in_one_line(folder, target):
    terminal = Terminal(("train", *TRAININGS[target], *ENDLESS, "--out", target), WIDTHS[0], folder)
    for width in WIDTHS:
        terminal.resize(width)
        terminal.written = ""
        for pattern in (BAR, r"samples/s", LEFT):
            terminal.read(pattern)
    terminal.press("\x03")
    shown, code = terminal.end()
    assert code == 130, shown[-2000:]
    assert "Traceback" not in shown
    assert f"interrupted; the state is saved in {target}: go on" in shown.strip().splitlines()[-1]
    assert shown.count("interrupted") == 1


COMMANDS = {
    "evaluate": ("evaluate", "random", "--split", "test"),
    "dataset build": ("dataset", "build", "visual", "--scenes", 30, 2, 2, "--pictures", 2, "--out", "world"),
    "dataset index": ("dataset", "index", "visual", "--root", "world", "--processes", 1),
    "bench": ("bench", "world", "--seconds", 0.05, "--memory-steps", 20_000, "--batch", 16),
    "features extract": ("features", "extract", "--images", "images", "--size", 32, "--out", "out.h5"),
}
NEEDS = {"features extract": "efficientnet_lite_pytorch"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_long_command_draws_a_bar_with_rate_and_time_left(folder, name):
    """In the narrowest terminal; tools/soak/terminal.py tries all widths."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name == "dataset index" and not (folder / "world").exists():
        Terminal(COMMANDS["dataset build"], 80, folder).end()
    shown, code = Terminal(COMMANDS[name], WIDTHS[0], folder).end()
    assert code == 0, shown[-2000:]
    assert "Traceback" not in shown
    assert "Exception" not in shown
    for pattern in (BAR, LEFT, RATE):
        assert re.search(pattern, shown), (pattern, shown[-2000:])


EARLY = """
import os, signal, sys, threading
from program_guided.cli import main
run, seconds = main.run, float(sys.argv.pop(1))
def interrupted(arguments):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    return run(arguments)
main.run = interrupted
main.main()
"""


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_an_early_interruption_is_one_line(folder, seconds):
    """While modules are imported, data are read or a model is built."""
    commands = [("train", *TRAININGS["dense"], *ENDLESS, "--out", f"early-{seconds}"), ("evaluate", "minecraft")]
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", EARLY, str(seconds), *map(str, command)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    for process in begun:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 130, said
        assert said.startswith("interrupted"), said
        assert said.count("\n") == 1, said


def test_an_interruption_in_the_middle_is_one_line(folder):
    terminal = Terminal(("evaluate", "minecraft-reward", "--worlds", 50), 80, folder)
    terminal.read(r"[1-9]\d*/25,000")
    terminal.press("\x03")
    shown, code = terminal.end()
    assert code == 130, shown[-2000:]
    assert "Traceback" not in shown
    assert shown.strip().splitlines()[-1] == "interrupted"


@pytest.mark.parametrize("width", [20, 200])
def test_a_wrong_option_stays_one_message(folder, width):
    shown, code = Terminal(("train", "tiny.py", "--learning-rate", "fast"), width, folder).end()
    expected = "error: --learning-rate: 'fast' is not a number (for help: proto train tiny.py --help)"
    assert (shown.strip(), code) == (expected, 2)


@pytest.mark.parametrize(("kind", "drawn"), [("xterm", True), ("dumb", False)])
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch, kind, drawn):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich: as if it were a terminal
    monkeypatch.setenv("TERM", kind)
    assert Bars().disable != drawn


def test_play_says_what_is_asked_for_and_takes_steps_back(folder):
    (folder / "p.prg").write_text("if is_there[gold]: mine(gold)\n")
    (folder / "p.map").write_text("@g...\n.....\n.....\n.....\n....$\n")
    terminal = Terminal(("play", "p.prg", "--map", "p.map"), 100, folder)
    for shown, key in (
        ("is there gold on the map", "f"),
        ("The program failed: wrong answer. r: again", "u"),
        ("one step back", "t"),
        ("take gold: stand on one and press m", "d"),
        ("step 2 ", "r"),
        ("the same world again", "n"),
        ("there is only this world", "t"),
        ("is_there.gold. is true", "d"),
        ("step 2 +right", "m"),
        ("You finished the program. r: again", "q"),
    ):
        terminal.read(shown)
        terminal.written = ""
        terminal.press(key)
    shown, code = terminal.end()
    assert "You finished the program after 3 steps" in shown
    assert code == 0


def test_play_goes_on_to_another_world(folder):
    terminal = Terminal(("play", "bridge", "--seed", 3), 100, folder)
    terminal.read("q quit")
    terminal.press("n")
    terminal.read("seed 4")
    terminal.press("q")
    shown, code = terminal.end()
    assert "You left after 0 steps (seed 4)" in shown
    assert code == 1


def lines_of(width, total, done, **fields):
    bars = Bars()
    task = bars.add_task("counting", total=total, **fields)
    bars.update(task, completed=done)
    console = Console(width=width)
    with console.capture() as capture:
        console.print(*bars.get_renderables())
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [5, 20, 80, 200])
def test_a_bar_is_never_wider_than_the_terminal(width):
    lines = lines_of(width, 1_000_000, 123_456, rate="12,345 samples/s", notes=("loss 0.123", ""))
    assert all(len(line) <= width for line in lines)
    assert (len(lines) == 1) == (width == 200)
    if width >= 20:
        for piece in ("123,456/1,000,000", "12,345 samples/s", "loss 0.123", "left"):
            assert any(piece in line for line in lines), piece


def test_a_bar_of_an_unknown_total_shows_what_is_done():
    assert "12" in lines_of(80, None, 12)[0]
