"""The command `proto`: picks the subcommand, prints errors in one piece, and keeps start-up light."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

import tyro

from program_guided.cli.parsing import STYLE
from program_guided.errors import DataError, ProgramGuidedError
from program_guided.registry import COMMANDS as OF_TASKS
from program_guided.version import VERSION

__all__ = ["main"]

COMMANDS = {
    "run": "Execute a program with a learned executor.",
    "check": "Check programs, and show how they were understood.",
    "train": "Train a model on a task.",
    "evaluate": "Measure agents in their task.",
    "dataset": "Make, index or describe the data of a task.",
    "bench": "Measure speed, beside peers.",
}
"""Each is a file of this folder with a function `main`; further ones belong to tasks (`registry.COMMANDS`)."""
DESCRIPTION = "Write a program, and watch a learned executor execute it. Try: proto run examples/bridge.prg --seed 9"
HELP = ("", "-h", "--help", "help")


def main() -> None:
    """Run the command line."""
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"program_guided {VERSION}")
            sys.exit(0)
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(code)
    except ProgramGuidedError as error:
        print(f"{error}" if str(error).count("error:") else f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe has gone (`proto ... | head`): nothing more to say, also not at exit.
        _close_output()
        sys.exit(0)
    except OSError as error:
        _close_output()
        print(f"error: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        place = _place_in_task(error)
        if place is None:
            raise
        print(f"error: {place}: {type(error).__name__}: {error} (in the task's own code)", file=sys.stderr)
        sys.exit(1)


def _run(arguments: list[str]) -> int:
    """The command that the arguments name; only its own file is loaded."""
    name, rest = (arguments or [""])[0], arguments[1:]
    if name in COMMANDS:
        return int(importlib.import_module(f"program_guided.cli.{name}").main(rest))
    if name in OF_TASKS:
        module, _, attribute = OF_TASKS[name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        return int(tyro.cli(command, prog=f"proto {name}", args=rest, config=STYLE).run())
    print(_help(), file=sys.stdout if name in HELP else sys.stderr)
    if name in HELP:
        return 0
    raise DataError(f"unknown command {name!r}; the commands are listed above")


def _place_in_task(error: Exception) -> str | None:
    """The last line of a user's task that an error went through; None if it went through none."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [frame for frame in frames if _defines_task(frame.f_globals)]
    return f"{own[-1].f_code.co_filename}:{own[-1].f_lineno}, in {own[-1].f_code.co_name}" if own else None


def _defines_task(names: dict[str, Any]) -> bool:
    """Whether these are the names of a user's module that defines a task."""
    module = str(names.get("__name__", ""))
    classes = [each for each in names.values() if isinstance(each, type) and each.__module__ == module]
    is_task = any(base.__name__ == "TaskBase" for each in classes for base in each.__mro__)
    return is_task and not module.startswith("program_guided.")


def _help() -> str:
    described = COMMANDS | {name: about for name, (_, about) in OF_TASKS.items()}
    lines = [f"  {name:12}{about}" for name, about in described.items()]
    usage = "usage: proto COMMAND ...    proto COMMAND --help    proto --version"
    return "\n".join([usage, "", DESCRIPTION, "", *lines])


def _close_output() -> None:
    """Python writes what is left of the output when it ends; here nobody takes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
