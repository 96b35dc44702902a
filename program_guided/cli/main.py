"""The command `proto`: picks the subcommand, prints errors in one piece, and keeps start-up light."""

from __future__ import annotations

import importlib
import os
import sys
from functools import reduce
from operator import or_
from typing import Annotated, Any

import tyro

from program_guided import __version__
from program_guided.errors import ProgramGuidedError

__all__ = ["main"]

COMMANDS = ("run", "play", "check", "train", "evaluate", "dataset", "features", "bench", "experiment")
"""Each is a file of this folder with a dataclass of the same name."""
DESCRIPTION = "Write a program, and watch it carried out. Try: proto run examples/bridge.prg --seed 9"

_STYLE = (
    tyro.conf.OmitArgPrefixes,
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.CascadeSubcommandArgs,
)


def main() -> None:
    """Run the command line."""
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"program_guided {__version__}")
            sys.exit(0)
        code = _read(sys.argv[1:]).run()
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


def _read(arguments: list[str]) -> Any:
    """The command that the arguments ask for; only its own file is loaded, unless all are to be listed."""
    if arguments and arguments[0] in COMMANDS:
        name, command = arguments[0], _command(arguments[0])
        default = command.default(arguments) if hasattr(command, "default") else tyro.MISSING_NONPROP
        return tyro.cli(command, prog=f"proto {name}", args=arguments[1:], default=default, config=_STYLE)
    choices = [Annotated[_command(name), tyro.conf.subcommand(name)] for name in COMMANDS]
    every: Any = reduce(or_, choices)
    return tyro.cli(every, prog="proto", description=DESCRIPTION, args=arguments, config=_STYLE)


def _command(name: str) -> Any:
    return getattr(importlib.import_module(f"program_guided.cli.{name}"), name.capitalize())


def _close_output() -> None:
    """Python writes what is left of the output when it ends; here nobody takes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
