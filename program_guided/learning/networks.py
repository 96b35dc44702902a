"""Checkpoints of networks that are no executors: a detector, a parser.

    save_network(folder, "detector", network, asdict(config), training={...})
    saved = read_network("detector", "detector")        # a folder, or a shipped one by name
    network.load_state_dict(saved.tensors)

The layout is that of `checkpoint.py`: `config.json`, which names the kind of network, and `model.safetensors`. Weights
are kept in half precision and computed with in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from program_guided.errors import DataError
from program_guided.learning.checkpoint import (
    CONFIG,
    FORMAT,
    PLAIN,
    WEIGHTS,
    check_fit,
    find,
    read_config,
    read_tensors,
    write_config,
    write_tensors,
)
from program_guided.version import VERSION

__all__ = ["Saved", "kind_of", "load_network", "read_network", "save_network"]

KEYS = {"format", "program_guided", "network", "config", "training"}


@dataclass(frozen=True)
class Saved:
    """A network as it was saved."""

    folder: Path
    config: Mapping[str, Any]
    training: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


def save_network(
    folder: Path, kind: str, network: nn.Module, config: Mapping[str, Any], training: Mapping[str, Any] | None = None
) -> None:
    """Write a checkpoint; `training` is the record of its training."""
    halves = {name: each.half() if each.is_floating_point() else each for name, each in network.state_dict().items()}
    write_tensors(folder / WEIGHTS, halves, PLAIN)
    record = {"format": FORMAT, "program_guided": VERSION, "network": kind, "config": dict(config)}
    write_config(folder / CONFIG, {**record, "training": dict(training or {})})


def kind_of(name: Path | str) -> str | None:
    """The kind of network that a checkpoint is of; None for an executor, and where there is no checkpoint."""
    try:
        record = read_config(find(name) / CONFIG)
    except DataError:
        return None
    return record.get("network")


def read_network(name: Path | str, kind: str) -> Saved:
    """Read a checkpoint of a kind of network."""
    folder = find(name)
    record = read_config(folder / CONFIG)
    if record.keys() != KEYS or record["network"] != kind:
        raise DataError(f"{folder}: is not a {kind}; train one with: proto train {kind}")
    tensors, _ = read_tensors(folder / WEIGHTS)
    return Saved(folder, record["config"], record["training"], tensors)


def load_network(network: nn.Module, saved: Saved) -> None:
    """Give a network its weights."""
    check_fit(network, saved.tensors, saved.folder / WEIGHTS)
    network.load_state_dict(
        {name: each.float() if each.dtype == torch.float16 else each for name, each in saved.tensors.items()}
    )
