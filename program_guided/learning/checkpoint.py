"""Checkpoints: a folder with `config.json` (readable) and `model.safetensors`, the layout of Hugging Face repositories.

    save_checkpoint(folder, model, Origin(...), training={...})
    checkpoint = read_checkpoint("out/lists-0")       # a folder, or a shipped one by name
    model = checkpoint.build(task.reader)

`config.json` names the task that a model was trained for; reading a checkpoint never runs that task's code. Files are
written under another name and renamed, so a reader sees the old file or the new one, never a part. A folder that is no
checkpoint or is damaged is refused with one clear error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from program_guided.errors import DataError
from program_guided.files import write_atomically
from program_guided.models.model import Model, Sizes
from program_guided.models.readers.config import ReaderConfig
from program_guided.registry import SHIPPED, build_model, model_config
from program_guided.version import VERSION

__all__ = [
    "CONFIG",
    "Checkpoint",
    "Origin",
    "find",
    "load_weights",
    "read_checkpoint",
    "read_tensors",
    "save_checkpoint",
    "write_tensors",
]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
CHECKSUM = "sha256"
"""Key of the checksum of all values, in the metadata of a file; weights from elsewhere may lack it."""
OF_NO_USE = "the file is of no use: take another, or train again"
FORMAT = 2
"""Raised when the meaning of the weights changes."""


@dataclass(frozen=True)
class Origin:
    """The task that a model was trained for."""

    name: str
    version: int
    given: str
    """The task as the user named it: a name, path.py or module:Class."""
    answers: Mapping[str, list[Any]] = field(default_factory=dict)
    """By result type, the values that the training data gave (`results.Answer`)."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's `config.json`."""

    folder: Path
    task: Origin
    model: str
    config: Any
    """A `ModelConfig`."""
    sizes: Sizes
    reader: Mapping[str, Any]
    training: Mapping[str, Any]

    def build(self, reader: ReaderConfig) -> Model:
        """The model with its weights; the reader's configuration is that of the task, with what was recorded."""
        path = self.folder / CONFIG
        try:
            model = build_model(self.model, self.config, self.sizes, _restored(reader, self.reader))
        except (LookupError, ArithmeticError, TypeError, ValueError, RuntimeError):
            raise DataError(f"{path}: 'model', 'sizes' and 'reader' do not fit together") from None
        load_weights(model, self.folder)
        return model


def save_checkpoint(
    folder: Path | str,
    model_name: str,
    model: Model,
    reader: ReaderConfig,
    task: Origin,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint; `training` is the record of its training."""
    config = {
        "format": FORMAT,
        "program_guided": VERSION,
        "task": asdict(task),
        "model": {"name": model_name, "config": model.settings()},
        "sizes": model.sizes.as_dict(),
        "reader": reader.as_dict(),
        "training": dict(training or {}),
    }
    write_tensors(Path(folder) / WEIGHTS, model.state_dict(), {"format": "pt"})
    write_atomically(Path(folder) / CONFIG, (json.dumps(config, indent=2) + "\n").encode("utf-8"))


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
        f"or the name of a shipped one ({shipped})"
    )


def read_checkpoint(name: Path | str) -> Checkpoint:
    """Read a checkpoint's `config.json`."""
    folder = find(name)
    path = folder / CONFIG
    record = _read(path)
    try:
        about, model = record["task"], record["model"]
        task = Origin(str(about["name"]), int(about["version"]), str(about["given"]), dict(about["answers"]))
        config = _config(str(model["name"]), model["config"])
        sizes, reader = Sizes.read(record["sizes"]), dict(record["reader"])
        training = dict(record.get("training", {}))
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: is damaged, or not a checkpoint of this version of program_guided") from None
    return Checkpoint(folder, task, str(model["name"]), config, sizes, reader, training)


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text("utf-8"))
        version = record["format"]
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: is damaged, or not a checkpoint of program_guided") from None
    if version != FORMAT:
        raise DataError(f"{path}: a checkpoint of format {version!r}, this version reads {FORMAT}; train it again")
    return record


def _config(model: str, settings: Mapping[str, Any]) -> Any:
    """The configuration of a model, every value of the right kind."""
    kind = model_config(model)
    known = {each.name: each for each in fields(kind)}
    for name, value in settings.items():
        default = known[name].default
        right = type(value) is bool if isinstance(default, bool) else (value is None or _is_size(value))
        if not right:
            raise ValueError(name)
    return kind(**settings)


def _restored(reader: ReaderConfig, recorded: Mapping[str, Any]) -> ReaderConfig:
    """A task's reader with the values that a checkpoint recorded."""
    own = reader.as_dict()
    if own.keys() != recorded.keys():
        raise ValueError("another reader")
    changed = {name: _frozen(value) for name, value in recorded.items() if _frozen(value) != _frozen(own[name])}
    return replace(reader, **changed) if changed else reader  # type: ignore[type-var]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value <= 65536


def load_weights(model: Model, name: Path | str) -> None:
    """Give a model the weights of a checkpoint."""
    path = find(name) / WEIGHTS
    tensors, _ = read_tensors(path)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        wrong = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
        raise DataError(
            f"{path}: the weights do not fit the model: {wrong[0]} is {found.get(wrong[0], 'missing')}, "
            f"expected {expected.get(wrong[0], 'nothing of that name')} ({len(wrong)} of {len(expected)} differ); "
            "they must be of the same task, model and parts"
        )
    model.load_state_dict(tensors)


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
            raise DataError(f"{path}: {name} holds values that are not finite; {OF_NO_USE}")
    return tensors, metadata
