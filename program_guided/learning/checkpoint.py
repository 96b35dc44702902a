"""Checkpoints: a folder with `config.json` (readable) and `model.safetensors`, the layout of Hugging Face repositories.

    save_checkpoint(folder, "plus", model, task.reader_config, task.origin(), training={...})
    checkpoint = read_checkpoint("out/lists-0")       # a folder, or a shipped one by name
    model = checkpoint.build(task.reader)

`config.json` names the task that a model was trained for; reading a checkpoint never runs that task's code. Files are
written under another name and renamed, so a reader sees the old file or the new one, never a part. A folder that is no
checkpoint or is damaged is refused with one clear error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from program_guided.errors import DataError
from program_guided.files import record_checksum, write_atomically
from program_guided.models.model import Model, Sizes
from program_guided.models.readers.config import ReaderConfig
from program_guided.registry import SHIPPED, build_model, model_config
from program_guided.version import VERSION

__all__ = [
    "CONFIG",
    "FORMAT",
    "PLAIN",
    "WEIGHTS",
    "Checkpoint",
    "Origin",
    "check_fit",
    "find",
    "load_weights",
    "read_checkpoint",
    "read_config",
    "read_tensors",
    "save_checkpoint",
    "write_config",
    "write_tensors",
]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
CHECKSUM = "sha256"
"""Key of the checksum of a file's values, in its metadata; what was made elsewhere or by hand may lack it."""
HEADER = "header sha256"
"""Key of the checksum of a file's other metadata, and of the types and shapes of its tensors."""
PLAIN = {"format": "pt"}
"""Metadata that says nothing, as weights have it."""
OF_NO_USE = "restore it from a copy, or train again"
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""Types of weights that are read; they are computed with in float32."""
MAX_NUMBER = 65536
"""Upper bound of the numbers of a configuration."""
PIXELS = "reader.look."
"""Weights of the network that reads pixels."""
KEYS = {"format", "program_guided", "task", "model", "sizes", "reader", "training", "network", "config"}
"""Possible keys of a configuration, beside that of its checksum."""
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
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the task; paths of the machine are left out."""


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
        tensors, _ = read_tensors(self.folder / WEIGHTS)
        try:
            restored = _restored(reader, self.reader)
            with torch.device("meta"):  # takes no memory, whatever the file asks for
                check_fit(build_model(self.model, self.config, self.sizes, restored), tensors, self.folder / WEIGHTS)
            model: Model = build_model(self.model, self.config, self.sizes, restored)
        except (LookupError, ArithmeticError, TypeError, ValueError, RuntimeError, MemoryError):
            raise DataError(f"{path}: 'model', 'sizes' and 'reader' do not fit together") from None
        model.load_state_dict(tensors)
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
    write_tensors(Path(folder) / WEIGHTS, model.state_dict(), PLAIN)
    write_config(Path(folder) / CONFIG, config)


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a `config.json` with its checksum."""
    signed = {**config, CHECKSUM: record_checksum(config)}
    write_atomically(path, (json.dumps(signed, indent=2) + "\n").encode("utf-8"))


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
    record = read_config(path)
    if "network" in record:
        raise DataError(f"{folder}: is a {record['network']}, not an executor; give a checkpoint of a task")
    try:
        about, model = record["task"], record["model"]
        names = (str(about["name"]), int(about["version"]), str(about["given"]))
        task = Origin(*names, dict(about["answers"]), dict(about["options"]))
        config = _config(str(model["name"]), model["config"])
        sizes, reader = Sizes.read(record["sizes"]), dict(record["reader"])
        training = dict(record["training"])
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DataError(f"{path}: is damaged, or not a checkpoint of this version of program_guided") from None
    return Checkpoint(folder, task, str(model["name"]), config, sizes, reader, training)


def read_config(path: Path) -> dict[str, Any]:
    """The record of a checkpoint, checked."""
    try:
        record = json.loads(path.read_text("utf-8"))
        version, checksum = record["format"], record.pop(CHECKSUM, None)
        unknown = record.keys() - KEYS
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: is damaged, or not a checkpoint of program_guided") from None
    if version != FORMAT:
        raise DataError(f"{path}: a checkpoint of format {version!r}, this version reads {FORMAT}; train it again")
    if unknown:
        raise DataError(f"{path}: is damaged: {', '.join(sorted(unknown))}: no such part of a configuration")
    if checksum not in (None, record_checksum(record)):
        raise DataError(f"{path}: is damaged: its checksum is wrong (if you have edited it, remove {CHECKSUM!r})")
    return record


def _config(model: str, settings: Mapping[str, Any]) -> Any:
    """The configuration of a model, every value of the right kind."""
    kind = model_config(model)
    hints = get_type_hints(kind)
    for name, value in settings.items():
        if not _is_of(value, hints[name]):
            raise ValueError(name)
    config = kind(**settings)
    config.check()
    return config


def _restored(reader: ReaderConfig, recorded: Mapping[str, Any]) -> ReaderConfig:
    """A task's reader with the values that a checkpoint recorded."""
    own = reader.as_dict()
    if own.keys() != recorded.keys() or not all(_alike(recorded[name], own[name]) for name in own):
        raise ValueError("another reader")
    changed = {name: _frozen(value) for name, value in recorded.items() if _frozen(value) != _frozen(own[name])}
    return replace(reader, **changed) if changed else reader  # type: ignore[type-var]


def _alike(value: Any, own: Any) -> bool:
    """Whether a recorded value is of the type of the task's own, and equal to it or of a possible size."""
    if type(_frozen(value)) is not type(_frozen(own)):
        return False
    return type(value) is not int or value == own or 0 <= value <= MAX_NUMBER


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value read from JSON is of a type."""
    if get_origin(hint) in (Union, UnionType):
        return any(_is_of(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER
    return type(value) is hint and (hint is not int or abs(value) <= MAX_NUMBER)


def load_weights(model: Model, name: Path | str, answers: Mapping[str, Sequence[Any]] | None = None) -> None:
    """Give a model the weights of a checkpoint.

    Other data number words and answers in another order, and have others: those of the checkpoint are given to the
    words and answers of the same name, the rest keep their first weights; so does a network of pixels that the
    checkpoint has not. `answers`: by result type, the values of the model's outputs, where the data give them.
    """
    path = find(name) / WEIGHTS
    tensors, _ = read_tensors(path)
    tensors = {key: own for key, own in model.state_dict().items() if key.startswith(PIXELS)} | tensors
    if _same_numbers(model, name, answers or {}):
        check_fit(model, tensors, path)
        model.load_state_dict(tensors)
        return
    own = model.state_dict()
    places = _places(model, read_checkpoint(name), answers or {})
    fitted = {key: _matched(own[key], each, places.get(key, {})) for key, each in tensors.items() if key in own}
    check_fit(model, tensors | fitted, path)
    model.load_state_dict(fitted)


Places = dict[int, tuple[list[int], list[int]]]
"""Axis of a tensor -> numbers there that mean the same: the model's own, and the checkpoint's."""


def _same_numbers(model: Model, name: Path | str, answers: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a checkpoint has the same words and answers in the same order."""
    checkpoint = read_checkpoint(name)
    recorded = {key: list(values) for key, values in checkpoint.task.answers.items()}
    return checkpoint.sizes.vocabulary == model.sizes.vocabulary and recorded == {
        key: list(values) for key, values in answers.items()
    }


def _places(model: Model, checkpoint: Checkpoint, answers: Mapping[str, Sequence[Any]]) -> dict[str, Places]:
    """By tensor, which of its numbers mean the same in the model and in a checkpoint."""
    words = _common(model.sizes.vocabulary, checkpoint.sizes.vocabulary)
    found: dict[str, Places] = {key: dict.fromkeys(axes, words) for key, axes in model.word_axes().items()}
    for kind, values in answers.items():
        common = _common(values, checkpoint.task.answers.get(kind, []))
        found |= {key: dict.fromkeys(axes, common) for key, axes in model.value_axes(kind).items()}
    return found


def _common(own: Sequence[Any], others: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Numbers of the values that both have."""
    place = {value: at for at, value in enumerate(others)}
    pairs = [(at, place[value]) for at, value in enumerate(own) if value in place]
    return [at for at, _ in pairs], [other for _, other in pairs]


def _matched(own: Tensor, given: Tensor, places: Places) -> Tensor:
    """A tensor with the values of another, each where it means the same; the rest is its own."""
    if own.dim() != given.dim() or any(
        own.shape[axis] != given.shape[axis] for axis in range(own.dim()) if axis not in places
    ):
        return given  # it does not fit, which `_check_fit` says
    result, source = own.clone(), given.to(own)
    if not places:
        return source
    own_at, given_at = [], []
    for axis in range(own.dim()):
        here, there = places.get(axis, (list(range(own.shape[axis])), list(range(own.shape[axis]))))
        kept = [(a, b) for a, b in zip(here, there, strict=True) if a < own.shape[axis] and b < given.shape[axis]]
        own_at.append(torch.tensor([a for a, _ in kept], dtype=torch.long))
        given_at.append(torch.tensor([b for _, b in kept], dtype=torch.long))
    result[torch.meshgrid(*own_at, indexing="ij")] = source[torch.meshgrid(*given_at, indexing="ij")]
    return result


def check_fit(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """One clear error if a file's weights are not those of a model."""
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        wrong = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
        raise DataError(
            f"{path}: the weights do not fit the model: {wrong[0]} is {found.get(wrong[0], 'missing')}, "
            f"expected {expected.get(wrong[0], 'nothing of that name')} ({len(wrong)} of {len(expected)} differ); "
            "they must be of the same task, model and parts"
        )
    for name, tensor in model.state_dict().items():
        given = tensors[name].dtype
        if given != tensor.dtype and not (tensor.is_floating_point() and given in FLOATS):
            raise DataError(f"{path}: {name} is of type {given}, expected {tensor.dtype}")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """One safetensors file, whole or not at all, that knows its checksum."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    sums = {CHECKSUM: _checksum(tensors), HEADER: _header_checksum(tensors, metadata)}
    content = save(tensors, {**metadata, **sums})
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
        digest.update(name.encode("utf-8") + tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _header_checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    shapes = {name: [str(tensor.dtype), *tensor.shape] for name, tensor in tensors.items()}
    return record_checksum({"metadata": dict(metadata), "tensors": shapes})


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
    checksum, header = metadata.pop(CHECKSUM, None), metadata.pop(HEADER, None)
    unsigned = header is None and metadata in ({}, PLAIN)
    if checksum not in (None, _checksum(tensors)) or not (unsigned or header == _header_checksum(tensors, metadata)):
        raise DataError(f"{path}: is damaged, its checksum is not that of its values; {OF_NO_USE}")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{path}: {name} holds values that are not finite; {OF_NO_USE}")
    return tensors, metadata
