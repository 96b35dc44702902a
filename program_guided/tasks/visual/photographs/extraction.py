"""Features of a folder of pictures, in the layout of the release's `gqa_objects` files; the objects are grid cells.

    features     (pictures, cells, 1280) float16        bboxes      (pictures, cells, 4) pixels x1, y1, x2, y2
    class_names  (1000,)                                class_weights, class_bias: of the classifier of cells

and, next to `my.h5`, the file `my_info.json`: picture (its name without the suffix) -> file, idx, objectsNum, width,
height. Departures from the paper: it takes detected objects. Finished pieces are kept in `my.h5.unfinished` until all
are done, so that a killed extraction is resumed and incomplete files are never read.

    extract(Path("pictures"), Path("my.h5"))        then ObjectFeatures(Path("my.h5")).read("holiday")
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped,unused-ignore]
import numpy as np
import torch
from numpy.typing import NDArray
from PIL.Image import Resampling

from program_guided.errors import DataError
from program_guided.files import held, read_arrays, sweep, unfinished, write_arrays, write_atomically
from program_guided.learning.learner import check_device
from program_guided.tasks.visual.checksums import described
from program_guided.tasks.visual.features import INFO_CHECKSUM, info_path
from program_guided.tasks.visual.h5 import CHECKED, FAULTS, read_text, write_h5, write_text
from program_guided.tasks.visual.photographs.backbone import CELL, NAME, Backbone, load_backbone
from program_guided.tasks.visual.photographs.files import find_pictures, read_picture

__all__ = ["SIZE", "Extracted", "extract"]

VERSION = 1
SIZE = 448
"""Sides of the square that a picture is fitted to, in pixels."""
MAX_SIZE = 2048
PER_PIECE = 32
"""Pictures of a piece: the maximum lost when extraction is killed."""
MEGABYTES_PER_PICTURE, SECONDS_PER_PICTURE = 0.8, 0.15
"""Measured on one core, at the default size, with the pieces that are kept until the end."""

Progress = Callable[[int, int], None]
"""Called with (number of pictures done, total)."""


@dataclass(frozen=True)
class Extracted:
    """The outcome of an extraction."""

    pictures: int
    skipped: tuple[str, ...]
    new: bool
    """False if the features were complete already."""


@dataclass(frozen=True)
class _Piece:
    """Features of consecutive pictures."""

    features: NDArray[np.float16]
    """(n, cells, dimension)"""
    sizes: NDArray[np.int64]
    """(n, 2) width and height"""
    names: list[str]
    skipped: list[str]


def extract(
    images: Path,
    out: Path,
    size: int = SIZE,
    skip_bad: bool = False,
    device: str = "cpu",
    progress: Progress = lambda done, total: None,
    begin: Callable[[float, float], None] = lambda megabytes, seconds: None,
) -> Extracted:
    """Extract the features of all pictures of a folder, or resume an extraction. `begin` is called with the costs, if
    there is anything to do."""
    if out.suffix != ".h5":
        raise DataError(f"{out}: the name of the file must end with .h5")
    if not CELL <= size <= MAX_SIZE or size % CELL:
        raise DataError(f"a size of {size} pixels: a multiple of {CELL} is needed, {MAX_SIZE} at most")
    check_device(device)
    pictures = find_pictures(images)
    stats = {name: path.stat() for name, path in pictures.items()}
    plan = {
        "version": VERSION,
        "backbone": NAME,
        "size": size,
        "skip_bad": skip_bad,
        "pictures": [[path.name, stats[name].st_size, stats[name].st_mtime_ns] for name, path in pictures.items()],
    }
    fingerprint = hashlib.sha256(json.dumps(plan).encode("ascii")).hexdigest()
    finished = _finished(out, fingerprint)
    if finished is not None:
        return finished
    backbone = load_backbone().to(device)
    named, share = list(pictures.items()), (size / SIZE) ** 2
    begin(MEGABYTES_PER_PICTURE * share * len(named), SECONDS_PER_PICTURE * share * len(named))
    work = out.with_name(f"{out.name}.unfinished")
    with held(work):
        pieces = unfinished(work / "pieces", plan)
        sweep(pieces)
        paths = _extract(named, pieces, backbone, size, skip_bad, progress)
        extracted = _assemble(out, paths, backbone, size, fingerprint)
        shutil.rmtree(work, ignore_errors=True)
    return extracted


def _extract(
    named: Sequence[tuple[str, Path]], folder: Path, backbone: Backbone, size: int, skip_bad: bool, progress: Progress
) -> list[Path]:
    """Extract the missing pieces; the paths of all."""
    paths: list[Path] = []
    for start in range(0, len(named), PER_PIECE):
        progress(start, len(named))
        paths.append(folder / f"{start:08d}.npz")
        if _load(paths[-1]) is None:
            piece = _read(named[start : start + PER_PIECE], backbone, size, skip_bad)
            about = {"names": piece.names, "skipped": piece.skipped}
            write_arrays(paths[-1], about, {"features": piece.features, "sizes": piece.sizes})
    progress(len(named), len(named))
    return paths


def _finished(out: Path, fingerprint: str) -> Extracted | None:
    """The existing result, if it was extracted from the same pictures with the same settings."""
    try:
        with h5py.File(out, "r") as file:
            info = described(info_path(out))["sha256"]
            if (read_text(file, out, "made_of"), read_text(file, out, INFO_CHECKSUM)) == (fingerprint, info):
                skipped = json.loads(read_text(file, out, "skipped") or "[]")
                return Extracted(len(file["features"]), tuple(skipped), new=False)
    except (*FAULTS, DataError):
        pass
    return None


def _read(named: Sequence[tuple[str, Path]], backbone: Backbone, size: int, skip_bad: bool) -> _Piece:
    """Features of some pictures, extracted one at a time to bound memory."""
    cells, dimension = (size // CELL) ** 2, backbone.classifier.in_features
    features, sizes, names, skipped = list[NDArray[np.float16]](), list[tuple[int, int]](), list[str](), list[str]()
    for name, path in named:
        try:
            pixels, shape = _pixels(path, size)
        except DataError as error:
            if not skip_bad:
                raise DataError(f"{error}; correct it, or skip bad pictures") from None
            skipped.append(str(error))
            continue
        with torch.inference_mode():
            grid = backbone(torch.from_numpy(pixels)[None].to(backbone.classifier.weight.device))[0]
        features.append(grid.cpu().numpy().astype(np.float16))
        sizes.append(shape)
        names.append(name)
    stacked = np.stack(features) if features else np.zeros((0, cells, dimension), np.float16)
    return _Piece(stacked, np.array(sizes, np.int64).reshape(-1, 2), names, skipped)


def _pixels(path: Path, size: int) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """((3, size, size) in 0..255, (width, height) of the picture after EXIF rotation)."""
    picture = read_picture(path)
    fitted = picture.resize((size, size), Resampling.BICUBIC)
    return np.ascontiguousarray(np.asarray(fitted, np.float32).transpose(2, 0, 1)), picture.size


def _boxes(width: int, height: int, side: int) -> NDArray[np.float32]:
    """(side * side, 4) the cells of a picture, row by row."""
    rows, columns = np.divmod(np.arange(side * side), side)
    corners = np.stack([columns, rows, columns + 1, rows + 1], 1)
    return (corners * np.array([width, height, width, height]) / side).astype(np.float32)


def _load(path: Path) -> _Piece | None:
    """Load a piece; None if it is missing or damaged."""
    found = read_arrays(path)
    if found is None:
        return None
    about, arrays = found
    return _Piece(arrays["features"], arrays["sizes"], about["names"], about["skipped"])


def _assemble(out: Path, paths: Sequence[Path], backbone: Backbone, size: int, fingerprint: str) -> Extracted:
    """Write all pieces to one file. The info file is removed first and written last: without it nothing is read."""
    side, classifier = size // CELL, backbone.classifier
    info: dict[str, dict[str, int]] = {}
    skipped: list[str] = []
    sweep(out.parent, out.name)
    info_path(out).unlink(missing_ok=True)
    sweep(out.parent, info_path(out).name)
    with write_h5(out) as (file, check):
        shape = (0, side * side, classifier.in_features)
        kept: dict[str, Any] = {"maxshape": (None, *shape[1:]), "chunks": (1, *shape[1:]), **CHECKED}
        features = file.create_dataset("features", shape, "float16", **kept)
        kept = {"maxshape": (None, side * side, 4), "chunks": (1, side * side, 4), **CHECKED}
        boxes = file.create_dataset("bboxes", (0, side * side, 4), "float32", **kept)
        for piece in _pieces(paths):
            start, end = len(info), len(info) + len(piece.names)
            features.resize(end, axis=0)
            boxes.resize(end, axis=0)
            features[start:end] = piece.features
            skipped += piece.skipped
            for name, (width, height) in zip(piece.names, piece.sizes.tolist(), strict=True):
                boxes[len(info)] = _boxes(width, height, side)
                place = {"file": 0, "idx": len(info), "objectsNum": side * side}
                info[name] = place | {"width": width, "height": height}
            check()
        names = np.array([name.encode("utf-8") for name in backbone.class_names])
        weights, bias = classifier.weight.cpu().numpy(), classifier.bias.cpu().numpy()
        for name, data in {"class_names": names, "class_weights": weights, "class_bias": bias}.items():
            file.create_dataset(name, data=data, **CHECKED)
        encoded = json.dumps(info).encode("ascii")
        file.attrs["size"] = size
        texts = {"backbone": NAME, "made_of": fingerprint, "skipped": json.dumps(skipped)}
        for name, text in (*texts.items(), (INFO_CHECKSUM, hashlib.sha256(encoded).hexdigest())):
            write_text(file, name, text)
    write_atomically(info_path(out), encoded)
    return Extracted(len(info), tuple(skipped), new=True)


def _pieces(paths: Sequence[Path]) -> Iterator[_Piece]:
    for path in paths:
        piece = _load(path)
        if piece is None:
            raise DataError(f"{path}: is gone or damaged; run the same command again")
        yield piece
