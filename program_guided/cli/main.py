"""The command `proto`: picks the subcommand, prints errors in one piece, and keeps start-up light.

Exit codes: 0; 1 for an error, or for an outcome that is not the wanted one; 2 for a command line that cannot be read;
130 after Ctrl-C. Whatever is not needed for this is imported inside of functions: Ctrl-C may come at any time.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

__all__ = ["COMMANDS", "main", "run"]

COMMANDS = {
    "run": "Execute a program with a learned executor: proto run bridge",
    "ask": 'Ask in English, and see the program and its answer: proto ask "Is the bag red?"',
    "examples": "List the example programs, maps and tasks, or copy them to a folder.",
    "check": "Check programs, and show how they were understood.",
    "operations": "List the operations of a task's language.",
    "train": "Train a model on a task.",
    "evaluate": "Measure agents in their task.",
    "models": "List checkpoints that ship, and the models that can be trained.",
    "experiment": "Train and measure all rows of a table of the paper, or of ours.",
    "dataset": "Make, index or describe the data of a task.",
    "bench": "Measure speed, beside peers (from a clone).",
    "completion": "Print a script that completes commands and options in a shell.",
}
"""Each is a file of this folder with a function `main`; further ones belong to tasks (`registry.COMMANDS`)."""
FIRST = ("run", "examples", "play", "check")
"""Commands that the help names first."""
DESCRIPTION = "Write a program, and watch a learned executor execute it. Try: proto run bridge"
HELP = ("", "-h", "--help", "help")
PLAIN = {"·": ".", "…": "...", "–": "-", "—": "-", "±": "+-", "°": " degrees", "×": "x", "’": "'"}
"""Characters that this package prints, and what stands for them in a terminal that has only ASCII."""


def main() -> None:
    """Run the command line."""
    interrupted: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, interrupt)
        _prepare_streams()
        code = _exit_code(sys.argv[1:])
        sys.stdout.flush()
    except BaseException as error:
        # An import that is interrupted may end with any other error.
        code = _explained(KeyboardInterrupt() if interrupted else error)
    sys.exit(code)


def _exit_code(arguments: list[str]) -> Any:
    try:
        return run(arguments)
    except SystemExit as ended:  # the help of a command
        return ended.code


def _explained(error: BaseException) -> int:
    """Print an error in one piece; the exit code."""
    from program_guided.errors import ProgramGuidedError, UsageError

    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        return 130
    if isinstance(error, ProgramGuidedError):
        print(f"{error}" if str(error).count("error:") else f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    if isinstance(error, BrokenPipeError):
        # The reader of a pipe has gone (`proto ... | head`): nothing more to say, also not at exit.
        _close_output()
        return 0
    if isinstance(error, OSError):
        _close_output()
        file = f"{error.filename}: " if error.filename is not None else ""
        print(f"error: {file}{error.strerror or error}", file=sys.stderr)
        return 1
    if isinstance(error, MemoryError):
        print(f"error: there is not enough memory ({error or 'an allocation failed'})", file=sys.stderr)
        return 1
    place = _place_in_task(error)
    if place is None:
        raise error
    print(f"error: {place}: {type(error).__name__}: {error} (in the task's own code)", file=sys.stderr)
    return 1


def run(arguments: list[str]) -> int:
    """The command that the arguments name; only its own file is loaded."""
    import importlib

    from program_guided.errors import UsageError
    from program_guided.registry import COMMANDS as OF_TASKS

    name, rest = (arguments or [""])[0], arguments[1:]
    if name in COMMANDS:
        return int(importlib.import_module(f"program_guided.cli.{name}").main(rest))
    if name in OF_TASKS:
        from program_guided.cli.parsing import read

        module, _, attribute = OF_TASKS[name][0].partition(":")
        return int(read(getattr(importlib.import_module(module), attribute), f"proto {name}", rest).run())
    if name in ("--version", "-V"):
        from program_guided.version import VERSION

        print(f"program_guided {VERSION}")
        return 0
    described = COMMANDS | {each: about for each, (_, about) in OF_TASKS.items()}
    if name in HELP:
        print(_help(described))
        return 0
    from program_guided.language.domain import unknown

    raise UsageError(f"{unknown('command', name, described)} (there are {', '.join(described)})")


def _help(described: dict[str, str]) -> str:
    order = dict.fromkeys((*FIRST, *described))
    lines = [f"  {name:12}{described[name]}" for name in order]
    usage = "usage: proto COMMAND ...    proto COMMAND --help    proto --version"
    return "\n".join([usage, "", DESCRIPTION, "", *lines])


def _place_in_task(error: BaseException) -> str | None:
    """The last line of a user's task that an error went through; None if it went through none."""
    import traceback

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [frame for frame in frames if _defines_task(frame.f_globals)]
    return f"{own[-1].f_code.co_filename}:{own[-1].f_lineno}, in {own[-1].f_code.co_name}" if own else None


def _defines_task(names: dict[str, Any]) -> bool:
    """Whether these are the names of a user's module that defines a task."""
    module = str(names.get("__name__", ""))
    classes = [each for each in names.values() if isinstance(each, type) and each.__module__ == module]
    is_task = any(base.__name__ == "TaskBase" for each in classes for base in each.__mro__)
    return is_task and not module.startswith("program_guided.")


def _prepare_streams() -> None:
    """Make standard streams usable: one that is closed is opened again, as nothing, since the next file that is opened
    would take its number; characters that an output cannot show are replaced."""
    import codecs

    closed = sys.stdout is None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plain")
    if closed:
        from program_guided.errors import DataError

        raise DataError("standard output is closed; send it to a file, or to /dev/null")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replacement of characters that an output cannot show."""
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in characters), error.end


def _close_output() -> None:
    """Python writes what is left of the output when it ends; here nobody takes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
