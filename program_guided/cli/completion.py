"""`proto completion`: a script that completes commands, options and names in a shell."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import tyro

from program_guided.cli.main import COMMANDS, run
from program_guided.cli.parsing import parse
from program_guided.registry import COMMANDS as OF_TASKS
from program_guided.registry import SHIPPED, known_tasks

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Print a script that completes commands, options and names.

Write it to a file, and let your shell read that when it starts: proto completion bash > ~/.proto_completion, and
`source ~/.proto_completion` in ~/.bashrc (or zsh and ~/.zshrc; for fish, a file in ~/.config/fish/completions)."""
Shell = Literal["bash", "zsh", "fish"]
BASH = """_proto() {{
  local words
  case "$COMP_CWORD:${{COMP_WORDS[1]}}" in
    1:*) words="{commands}" ;;
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _proto proto"""
ZSH = "autoload -U compinit bashcompinit && compinit -u && bashcompinit\n"


@dataclass(frozen=True)
class Completion:
    """The shell."""

    shell: tyro.conf.Positional[Shell]
    """The shell that the script is for."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    shell = parse("proto completion", DESCRIPTION, arguments, {"completion": Completion}).completion.shell
    words = {command: sorted(_words(command)) for command in (*COMMANDS, *OF_TASKS)}
    print(_fish(words) if shell == "fish" else ZSH * (shell == "zsh") + _bash(words))
    return 0


def _bash(words: Mapping[str, Sequence[str]]) -> str:
    cases = "\n".join(f'    *:{command}) words="{" ".join(each)}" ;;' for command, each in words.items())
    return BASH.format(commands=" ".join(words), cases=cases)


def _fish(words: Mapping[str, Sequence[str]]) -> str:
    first = f"complete -c proto -n __fish_use_subcommand -f -a '{' '.join(words)}'"
    others = (
        f"complete -c proto -n '__fish_seen_subcommand_from {command}' -a '{' '.join(each)}'"
        for command, each in words.items()
    )
    return "\n".join([first, *others])


def _words(command: str) -> set[str]:
    """Names that a command takes, and the options that its help shows, for every task."""
    names = _names(command)
    return set(names).union(*(_options([command, *each]) for each in _variants(command)))


def _names(command: str) -> tuple[str, ...]:
    from program_guided.shipped import EXAMPLES

    programs = tuple(path.stem for path in EXAMPLES.glob("*.prg"))
    tasks, checkpoints = tuple(known_tasks()), tuple(path.name for path in SHIPPED.iterdir())
    actions = ("build", "index", "stats")
    return {
        **dict.fromkeys(("run", "play", "check"), programs),
        **dict.fromkeys(("train", "operations"), tasks),
        **dict.fromkeys(("evaluate", "models"), checkpoints),
        "dataset": (*actions, *tasks),
        "completion": get_args(Shell),
        "features": ("extract",),
    }.get(command, ())


def _variants(command: str) -> Iterator[list[str]]:
    """Arguments with which the help of a command shows other options."""
    yield []
    if command == "run":
        yield from ([each] for each in _names("run"))
    for task in known_tasks():
        if command == "train":
            yield from ([task, "--target", target] for target in ("dense", "reward"))
        if command == "evaluate":
            yield ["--task", task]
        if command == "dataset":
            yield from ([action, task] for action in ("build", "index", "stats"))


def _options(arguments: Sequence[str]) -> set[str]:
    from program_guided.errors import ProgramGuidedError

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(ProgramGuidedError, SystemExit):
        run([*arguments, "--help"])
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", shown.getvalue()))
