"""program_guided: programs executed by a learned executor.

    import gymnasium, program_guided
    environment = gymnasium.make("ProgramGuided/Minecraft-v0")
    executor = program_guided.load("minecraft")
    executor = program_guided.load("out/lists-dense-plus-0", task="lists.py")

    from program_guided import Objects, Task, operation, readers      # a task of one's own: docs/your_task.md

Importing this registers the environments and nothing more; the rest is imported where it is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, overload

from program_guided.version import VERSION

if TYPE_CHECKING:
    from program_guided.learning.results import ResultType
    from program_guided.models import readers
    from program_guided.tasks.executor import TrainedExecutor
    from program_guided.tasks.minecraft.executor import MinecraftExecutor
    from program_guided.tasks.parser import Asked
    from program_guided.tasks.signatures import Answer, Objects, Range, behaviour, condition, operation
    from program_guided.tasks.task import Task
    from program_guided.tasks.visual.reasoner import Reasoner
    from program_guided.tasks.world_task import Failed, WorldTask

__all__ = [
    "Answer",
    "Failed",
    "Objects",
    "Range",
    "ResultType",
    "Task",
    "WorldTask",
    "__version__",
    "ask",
    "behaviour",
    "condition",
    "load",
    "operation",
    "readers",
]

__version__ = VERSION

_WHERE = {
    "ResultType": "program_guided.learning.results",
    "readers": "program_guided.models",
    **dict.fromkeys(
        ("Answer", "Objects", "Range", "behaviour", "condition", "operation"), "program_guided.tasks.signatures"
    ),
    "Task": "program_guided.tasks.task",
    **dict.fromkeys(("Failed", "WorldTask"), "program_guided.tasks.world_task"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'program_guided' has no attribute {name!r}")
    module = import_module(_WHERE[name])
    return import_module(f"{_WHERE[name]}.{name}") if name == "readers" else getattr(module, name)


@overload
def load(
    name: Literal["minecraft", "minecraft-reward"] = "minecraft", task: None = None, *, device: str = "cpu"
) -> MinecraftExecutor: ...
@overload
def load(name: Literal["visual"], task: None = None, *, device: str = "cpu") -> Reasoner: ...
@overload
def load(name: str | Path, task: str | None = None, *, device: str = "cpu") -> TrainedExecutor: ...
def load(name: str | Path = "minecraft", task: str | None = None, *, device: str = "cpu") -> Any:
    """A trained executor: one that ships, by its name, or one from a folder that `proto train` wrote.

    `task` names the task of a checkpoint that was trained with a file of one's own, as path.py or module:Class;
    `device` is one of torch's, as in "cuda".
    """
    from program_guided.tasks.executor import load_executor

    return load_executor(name, task, device=device)


def ask(question: str, parser: str | Path | None = None, task: str | None = None) -> Asked:
    """The program that a question in English means, with alternatives and how sure the parser is.

    `parser`: a folder that `proto train parser` wrote, or a shipped one by name; left out, the shipped one that is
    surest. `task` names the parser's task, if it is a file of one's own.
    """
    from program_guided.tasks.parser import ask as asked

    return asked(question, parser, task)


# The command line needs no registry, and starts faster without.
_started_as = PurePath(sys.argv[0] if sys.argv else "").name
if _started_as not in ("proto", "proto.exe") and sys.orig_argv[1:3] != ["-m", "program_guided"]:
    from program_guided.tasks.minecraft.registration import register

    register()
