"""Checkpoints: a folder with `config.json` (readable) and `model.safetensors`, the layout of Hugging Face repositories.

    save_pretrained(model, folder, training={...})
    model, config = from_pretrained("minecraft")       # a shipped one by name, or a folder

Files are written under another name and renamed, so a reader sees the old file or the new one, never a part. A folder
that is not such a checkpoint, is damaged, or was made for another world is refused with one clear error.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from program_guided import __version__
from program_guided.errors import DataError
from program_guided.files import write_atomically
from program_guided.language.domain import Domain
from program_guided.learning.execution import build
from program_guided.models.config import ExecutorConfig
from program_guided.models.executor import Executor
from program_guided.tasks.minecraft.domain import DOMAIN

__all__ = [
    "CONFIG",
    "SHIPPED",
    "domain_of",
    "find",
    "from_pretrained",
    "read_tensors",
    "save_pretrained",
    "start_from",
    "write_tensors",
]

SHIPPED = Path(__file__).parent.parent / "weights"
"""Each folder in here is a checkpoint that can be loaded by its name."""
CONFIG, WEIGHTS = "config.json", "model.safetensors"
CHECKSUM = "sha256"
"""Of all values, in the metadata of a file; weights from elsewhere may lack it."""
OF_NO_USE = "the file is of no use: take another, or train anew (--start takes weights that are whole)"
FORMAT = 1
"""Raised when the meaning of the weights changes."""


def save_pretrained(
    model: Executor,
    folder: Path | str,
    training: Mapping[str, Any] | None = None,
    domain: Domain = DOMAIN,
    knows: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint; `training` tells how it came to be, `knows` what it needs besides its weights."""
    folder = Path(folder)
    config = {
        "format": FORMAT,
        "program_guided": __version__,
        "domain": {"name": domain.name, "version": domain.version},
        "executor": model.config.as_dict(),
        **({"knows": dict(knows)} if knows else {}),
        "training": dict(training or {}),
    }
    write_tensors(folder / WEIGHTS, model.state_dict(), {"format": "pt"})
    write_atomically(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode("utf-8"))


def find(name: Path | str) -> Path:
    """The folder of a checkpoint: a folder of the user's, else a shipped one of that name."""
    folder = Path(name)
    if (folder / CONFIG).is_file():
        return folder
    if (SHIPPED / name / CONFIG).is_file():
        return SHIPPED / name
    shipped = ", ".join(sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))) or "none"
    problem = f"has no {CONFIG}" if folder.is_dir() else "is no folder" if folder.exists() else "does not exist"
    raise DataError(
        f"{name}: {problem}; a checkpoint is a folder with {CONFIG} and {WEIGHTS}, as 'proto train' writes it, "
        f"or the name of a shipped one ({shipped}); other agents: planner, random (minecraft), oracle (evaluate visual)"
    )


def from_pretrained(
    name: Path | str,
    domain: Domain = DOMAIN,
    make: Callable[[ExecutorConfig, Any], Executor] = lambda config, knows: build(config),
) -> tuple[Executor, dict[str, Any]]:
    """The executor of a checkpoint, and what its `config.json` says; `make` builds it from both its parts."""
    folder = find(name)
    config = _read_config(folder / CONFIG, domain)
    try:
        model = make(_executor_config(folder / CONFIG, config), config.get("knows"))
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{folder / CONFIG}: 'knows' is not what an executor of this domain needs to know") from None
    tensors, _ = read_tensors(folder / WEIGHTS)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        wrong = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
        raise DataError(
            f"{folder / WEIGHTS}: the weights do not fit {CONFIG}: {wrong[0]} is {found.get(wrong[0], 'missing')}, "
            f"expected {expected.get(wrong[0], 'nothing of that name')} ({len(wrong)} of {len(expected)} differ)"
        )
    model.load_state_dict(tensors)
    return model, config


def start_from(name: Path | str, model: Executor) -> None:
    """Give a model the weights of a checkpoint."""
    tensors, _ = read_tensors(find(name) / WEIGHTS)
    try:
        model.load_state_dict(tensors)
    except RuntimeError:
        problem = "its weights do not fit; it must be of the same task, form and parts"
        raise DataError(f"--start {name}: {problem}") from None


def domain_of(name: Path | str) -> str:
    """The name of the domain that a checkpoint is made for."""
    path = find(name) / CONFIG
    return str(_read(path)["domain"]["name"])


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text("utf-8"))
        _ = config["format"], config["domain"]["name"], config["domain"]["version"], dict(config.get("training", {}))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: is damaged, or not a checkpoint of program_guided") from None
    return config


def _read_config(path: Path, domain: Domain) -> dict[str, Any]:
    config = _read(path)
    version, name, domain_version = config["format"], config["domain"]["name"], config["domain"]["version"]
    if version != FORMAT:
        raise DataError(f"{path}: a checkpoint of format {version!r}, this version reads {FORMAT}; train it again")
    if name != domain.name:
        raise DataError(f"{path}: an executor for the task '{name}', not '{domain.name}': say so with --task {name}")
    if domain_version != domain.version:
        raise DataError(
            f"{path}: made for version {domain_version} of the task '{name}', this is version {domain.version}; "
            "train it again"
        )
    return config


def _executor_config(path: Path, config: Mapping[str, Any]) -> ExecutorConfig:
    try:
        settings = dict(config["executor"])
        settings["results"] = tuple((str(kind), int(size)) for kind, size in settings["results"])
        known = {field.name: field.type for field in dataclasses.fields(ExecutorConfig)}
        if not settings.keys() <= known.keys() or settings["form"] not in ("paper", "plus"):
            raise ValueError
        for name, value in settings.items():
            kind = known[name]
            if (kind == "bool" and type(value) is not bool) or (kind == "int" and not _is_size(value)):
                raise ValueError
        return ExecutorConfig(**settings)
    except (ValueError, KeyError, TypeError, DataError):
        raise DataError(f"{path}: 'executor' is not the configuration of an executor of this version") from None


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value <= 65536


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """One safetensors file, whole or not at all, that knows its checksum."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(tensors, {**metadata, CHECKSUM: _checksum(tensors)})
    write_atomically(path, _in_order(content))


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its header sorted: the library writes it in any order, and equal weights should be equal
    files."""
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode("utf-8")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode("utf-8") + tensors[name].numpy().tobytes())
    return digest.hexdigest()


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file; not a number is never right."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
    except FileNotFoundError:
        raise DataError(f"{path}: does not exist") from None
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path}: is damaged or not a safetensors file ({error}); {OF_NO_USE}") from None
    if metadata.get(CHECKSUM, "") not in ("", _checksum(tensors)):
        raise DataError(f"{path}: is damaged, its checksum is not that of its values; {OF_NO_USE}")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{path}: {name} holds values that are not numbers; {OF_NO_USE}")
    return tensors, metadata
