"""The command `proto`: picks the subcommand, prints errors in one piece, and keeps start-up light."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import tyro

from program_guided import __version__
from program_guided.cli.bench import Bench
from program_guided.cli.check import Check
from program_guided.cli.dataset import Dataset
from program_guided.cli.evaluate import Evaluate
from program_guided.cli.play import Play
from program_guided.cli.run import Run
from program_guided.errors import ProgramGuidedError

__all__ = ["main"]

Command = (
    Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Dataset, tyro.conf.subcommand("dataset")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
)

_STYLE = (
    tyro.conf.OmitArgPrefixes,
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.CascadeSubcommandArgs,
)


DESCRIPTION = "Write a program, and watch it carried out. Try: proto run examples/bridge.prg --seed 9"


def main() -> None:
    """Run the command line."""
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"program_guided {__version__}")
            sys.exit(0)
        command = tyro.cli(Command, prog="proto", description=DESCRIPTION, config=_STYLE)  # type: ignore[call-overload]
        code = command.run()
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


def _close_output() -> None:
    """Python writes what is left of the output when it ends; here nobody takes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
