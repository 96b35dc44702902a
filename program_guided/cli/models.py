"""`proto models`: checkpoints that ship, or some of one's own, and the models that can be trained."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyro

from program_guided.cli.parsing import parse
from program_guided.output import Flag, print_json, print_table
from program_guided.registry import MODELS, SHIPPED

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """List checkpoints (those that ship, if none is named), and the models that can be trained.

The accuracy is the one recorded at the end of the training: in %, on the part of train that was held out."""
COLUMNS = ("name", "task", "model", "parameters", "target", "seed", "held-out %", "minutes")


@dataclass(frozen=True)
class Models:
    """Checkpoints to describe."""

    checkpoints: tyro.conf.Positional[tuple[str, ...]] = ()
    """Folders that 'proto train' wrote, or shipped checkpoints by name."""
    json: Flag = False
    """Print the list as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = parse("proto models", DESCRIPTION, arguments, {"models": Models()}).models
    names = options.checkpoints or sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))
    found = [_described(name) for name in names]
    models = {name: _meaning(path) for name, (_, path) in MODELS.items()}
    if options.json:
        print_json({"checkpoints": found, "models": models})
        return 0
    print_table("checkpoints", COLUMNS, [[_shown(each[key]) for key in each] for each in found])
    print_table("models", ("name", "meaning"), [[name, about] for name, about in models.items()])
    return 0


def _described(name: str) -> dict[str, Any]:
    from safetensors import SafetensorError, safe_open

    from program_guided.errors import DataError
    from program_guided.learning.checkpoint import WEIGHTS, Checkpoint, read_checkpoint
    from program_guided.learning.networks import kind_of, read_network

    kind = kind_of(name)
    saved = read_checkpoint(name) if kind is None else read_network(name, kind)
    path, training = saved.folder / WEIGHTS, saved.training
    try:
        with safe_open(path, framework="numpy") as file:
            parameters = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    curve = training.get("curve") or [{}]
    return {
        "name": name,
        "task": saved.task.given if isinstance(saved, Checkpoint) else saved.config.get("given"),
        "model": saved.model if isinstance(saved, Checkpoint) else kind,
        "parameters": parameters,
        "target": training.get("target"),
        "seed": training.get("seed"),
        "accuracy": curve[-1].get("completion"),
        "minutes": training.get("minutes"),
    }


def _meaning(path: str) -> str:
    module, _, name = path.partition(":")
    return str(getattr(importlib.import_module(module), name).__doc__ or "").partition("\n")[0]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value or "")
