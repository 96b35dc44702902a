"""The only place that names tasks and models.

A task is given by a built-in name (`minecraft`), the name of an installed entry point of the group
`program_guided.tasks`, `path/to/file.py` (or `path/to/file.py:Class`), or `module:Class`. Code is run only because the
user named or installed it: a checkpoint that names a file is loaded with that file only if the user named it before, to
a command that trained with it; else the error says what to name.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.files import write_atomically

__all__ = [
    "COMMANDS",
    "DEFAULT_TASK",
    "EXPERIMENTS",
    "MODELS",
    "NETWORKS",
    "SHIPPED",
    "TASKS",
    "build_model",
    "known_tasks",
    "load_task",
    "model_config",
    "named",
    "named_before",
    "remember",
]

MODELS = {
    "plus": ("program_guided.models.plus:Plus", "program_guided.models.config:PlusConfig"),
    "paper": ("program_guided.models.paper:Paper", "program_guided.models.config:PaperConfig"),
    "pga": ("program_guided.models.pga:PGA", "program_guided.models.config:PGAConfig"),
    "transformer": (
        "program_guided.models.transformer:Transformer",
        "program_guided.models.config:TransformerConfig",
    ),
    "tree_rnn": ("program_guided.models.tree_rnn:TreeRNN", "program_guided.models.config:TreeRNNConfig"),
}
"""By name, the class of a model and that of its configuration."""
TASKS = {
    "minecraft": "program_guided.tasks.minecraft.task:Minecraft",
    "visual": "program_guided.tasks.visual.task:Visual",
}
DEFAULT_TASK = "minecraft"
"""The task that is meant where none is named."""
COMMANDS = {
    "play": ("program_guided.tasks.minecraft.commands.play:Play", "Execute a program yourself, with the keyboard."),
    "features": ("program_guided.tasks.visual.commands.features:Features", "Extract features of your own pictures."),
}
"""Commands that belong to one task: name -> (module:Class, what it does)."""
EXPERIMENTS = {"pictures": "program_guided.tasks.visual.commands.experiment:Experiment"}
"""Experiments of one task with options of their own, which are no declarations: name -> module:Class."""
NETWORKS = {
    "detector": {
        "train": "program_guided.tasks.visual.commands.detector:TrainDetector",
        "evaluate": "program_guided.tasks.visual.commands.detector:EvaluateDetector",
    },
    "parser": {
        "train": "program_guided.tasks.parser_commands:TrainParser",
        "evaluate": "program_guided.tasks.parser_commands:EvaluateParser",
    },
}
"""Networks that are no executors: name -> command -> module:Class."""
GROUP = "program_guided.tasks"
"""Entry points of installed packages."""
SHIPPED = Path(__file__).parent / "weights"
"""Each folder in here is a checkpoint that can be loaded by its name."""


def model_config(name: str) -> Any:
    """The class of a model's configuration."""
    if name not in MODELS:
        raise DataError(f"unknown model {name!r}; there are {', '.join(MODELS)}")
    return named(MODELS[name][1])


def build_model(name: str, config: Any, sizes: Any, reader: Any) -> Any:
    """An untrained model."""
    return named(MODELS[name][0])(config, sizes, reader)


def known_tasks() -> dict[str, str]:
    """Built-in and installed tasks: name -> module:Class."""
    return {each.name: each.value for each in entry_points(group=GROUP)} | TASKS


def load_task(given: str) -> Any:
    """The class of a task; one clear error if there is none."""
    base = named("program_guided.tasks.base:TaskBase")
    if given in known_tasks():
        found = named(known_tasks()[given])
    elif _file_of(given) is not None:
        found = _of_file(given, base)
    elif ":" in given:
        found = _of_module(given)
    else:
        known = ", ".join(known_tasks())
        raise DataError(f"unknown task {given!r}; give a file (task.py), module:Class, or one of {known}")
    if not (isinstance(found, type) and issubclass(found, base)):
        raise DataError(f"{given}: is not a Task; derive it from program_guided.Task or program_guided.WorldTask")
    task: Any = found
    if task.__abstractmethods__:
        missing = ", ".join(sorted(task.__abstractmethods__))
        raise DataError(f"{given}: the class {task.__name__} lacks what every such task has: {missing}")
    task.given = given
    return task


def named(path: str) -> Any:
    """The object that a path `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _of_module(given: str) -> Any:
    module, _, name = given.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and not module.startswith(error.name):
            raise
        raise DataError(f"{given}: there is no module {module!r}; is it installed, or in this folder?") from None
    if not hasattr(found, name):
        raise DataError(f"{given}: the module {module!r} has no {name!r}")
    return getattr(found, name)


def _file_of(given: str) -> tuple[Path, str] | None:
    """The file and the class (or "") that a task is given by: path.py or path.py:Class; None if it is no file."""
    place, separator, name = given.rpartition(".py:")
    if separator:
        return Path(f"{place}.py"), name
    return (Path(given), "") if given.endswith(".py") else None


def _of_file(given: str, base: type) -> Any:
    path, name = _file_of(given) or (Path(given), "")
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "there is no such file"
        raise DataError(f"{path}: {problem}; is the path right?")
    module = _module_of(path)
    own = {
        each.__name__: each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, base) and each.__module__ == module.__name__
    }
    if name:
        if name not in own:
            raise DataError(f"{given}: {path} has no task {name!r}; it has {', '.join(own) or 'none'}")
        return own[name]
    if len(own) != 1:
        found = (
            f"has {len(own)} tasks ({', '.join(own)}); name one, as in {path}:{next(iter(own))}"
            if own
            else "has no task"
        )
        raise DataError(f"{path}: {found}; a task is a class derived from program_guided.Task or WorldTask")
    return next(iter(own.values()))


def _module_of(path: Path) -> Any:
    """The module of a file, read once."""
    resolved = path.resolve()
    name = f"_program_guided_task_{path.stem}_{hashlib.sha256(str(resolved).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, resolved)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(resolved.parent) not in sys.path:
        sys.path.append(str(resolved.parent))  # modules beside it can be imported, as beside a script
    try:
        spec.loader.exec_module(module)
    except DataError:
        del sys.modules[name]
        raise
    except SyntaxError as error:
        del sys.modules[name]
        raise DataError(f"{error.filename or path}:{error.lineno or 1}: is not Python: {error.msg}") from None
    except Exception as error:
        del sys.modules[name]
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(resolved)]
        raise DataError(f"{path}:{lines[-1] if lines else 1}: {type(error).__name__}: {error}") from None
    return module


def _store() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "program_guided" / "tasks.json"


def _stored() -> dict[str, str]:
    try:
        read = json.loads(_store().read_text("utf-8"))
        return {str(key): str(value) for key, value in read.items()}
    except (OSError, ValueError, AttributeError, RuntimeError):
        return {}


def _place(given: str) -> str | None:
    """The file that a task was given by, from the root; None if it was given in another way."""
    found = _file_of(given)
    return str(found[0].resolve()) if found is not None and found[0].is_file() else None


def remember(given: str) -> None:
    """Note that the user named this file as a task, so that checkpoints which were trained with it can be loaded
    without naming it again. Where nothing can be written, it has to be named."""
    place = _place(given)
    if place is None:
        return
    try:
        known: Mapping[str, str] = _stored()
        if known.get(place) != given:
            write_atomically(_store(), json.dumps({**known, place: given}, indent=1).encode("utf-8"))
    except (DataError, OSError, RuntimeError):
        pass


def named_before(given: str) -> bool:
    """Whether a task may be loaded without being named again: it is built in, installed, or a file that the user has
    named to this program before."""
    return given in known_tasks() or _place(given) in _stored()
