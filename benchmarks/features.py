"""Speed of reading the features of a picture at random: packed (`proto features pack`) against h5 files.

The h5 file is as large for a picture as the release's (100 objects of 2,048 numbers, float32), in the layout that h5py
writes unless asked for another one, contiguous; the layout of the release's own files is not known here. All objects
exist, so that nothing is gained by leaving padding out. Both are read by `ObjectFeatures`, as training does, one
picture after another in random order. Both lie in the page cache: what is saved on a disk, where a packed picture has a
quarter of the bytes, is not measured. A process compares the checksum of a packed picture when it first reads it, and
maps its pages; that is measured apart.

    figures = measure(pictures=400, seconds=3.0)
    figures["times_faster"]
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped,unused-ignore]
import numpy as np
import torch

from benchmarks.timing import Watch, one_core, speeds, unwatched
from program_guided.tasks.visual.features import DIMENSION, MAX_DETECTED, ObjectChunks, ObjectFeatures
from program_guided.tasks.visual.packing import pack

__all__ = ["measure", "print_figures", "write_objects"]

OBJECTS = 100
"""Rows of a picture in the release's files."""
OPENINGS = 5
"""Times that packed features are opened anew, for the speed of first readings."""
H5, PACKED, FIRST = "h5", "packed", "packed, read for the first time"


def measure(pictures: int, seconds: float, watch: Watch = unwatched) -> dict[str, Any]:
    """Write the features of pictures, and read each way for about so many seconds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, one_core():
            return _measure(Path(name), pictures, seconds, watch)
    finally:
        torch.set_num_threads(threads)


def _measure(folder: Path, pictures: int, seconds: float, watch: Watch) -> dict[str, Any]:
    source, packed = folder / "objects", folder / "packed"
    write_objects(source, [str(row) for row in range(pictures)], watch)
    begin = time.process_time()
    with ObjectChunks(source) as chunks:
        pack(chunks, packed, progress=lambda done, total: watch("pictures packed", done, total))
    packing = time.process_time() - begin
    order = np.random.default_rng(0).permutation(pictures).astype(str).tolist()
    with ObjectFeatures(source) as slow, ObjectFeatures(packed) as fast:
        runs = {name: [_reading(features, order)] for name, features in {H5: slow, PACKED: fast}.items()}
        found = speeds(runs, seconds, watch)
    found[FIRST] = max(_first(packed, order) for _ in range(OPENINGS))
    return {
        "pictures": pictures,
        "objects": MAX_DETECTED,
        "pictures_packed_per_second": pictures / packing,
        "pictures_per_second": found,
        "times_faster": {name: found[name] / found[H5] for name in (PACKED, FIRST)},
        "bytes_per_picture": {H5: _size(source) / pictures, PACKED: _size(packed) / pictures},
    }


def write_objects(folder: Path, images: Sequence[str], watch: Watch = unwatched) -> None:
    """Write features as the release has them; half of the numbers are 0, as behind a rectifier."""
    random, place = np.random.default_rng(0), {"file": 0, "objectsNum": OBJECTS, "width": 640, "height": 480}
    folder.mkdir()
    with h5py.File(folder / "gqa_objects_0.h5", "w") as file:
        features = file.create_dataset("features", (len(images), OBJECTS, DIMENSION), "float32")
        boxes = file.create_dataset("bboxes", (len(images), OBJECTS, 4), "float32")
        for row in range(len(images)):
            features[row] = np.maximum(random.standard_normal((OBJECTS, DIMENSION), np.float32), 0)
            boxes[row] = random.random((OBJECTS, 4), np.float32)
            watch("pictures written", row + 1, len(images))
    info = {image: place | {"idx": row} for row, image in enumerate(images)}
    (folder / "gqa_objects_info.json").write_text(json.dumps(info), "ascii")


def _reading(features: ObjectFeatures, order: Sequence[str]) -> Callable[[], int]:
    def run() -> int:
        for image in order:
            features.read(image)
        return len(order)

    return run


def _first(folder: Path, order: Sequence[str]) -> float:
    """Pictures a second, when all are read for the first time since the folder was opened."""
    with ObjectFeatures(folder) as features:
        begin = time.process_time()
        done = _reading(features, order)()
        return done / (time.process_time() - begin)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def print_figures(figures: dict[str, Any]) -> None:
    """Lines for a person."""
    found, ratios = figures["pictures_per_second"], figures["times_faster"]
    sizes = {name: f"{size / 1e3:,.0f} kB" for name, size in figures["bytes_per_picture"].items()}
    print(
        f"features at random access, {figures['pictures']:,} pictures in the page cache, {figures['objects']} objects: "
        f"packed {found[PACKED]:,.0f} pictures a second ({sizes[PACKED]} each), h5, contiguous, {found[H5]:,.0f} "
        f"({sizes[H5]} each): {ratios[PACKED]:.1f} times as fast"
    )
    print(f"packed: {figures['pictures_packed_per_second']:,.0f} pictures a second")
    print(f"when a picture is read for the first time, and its checksum compared: {ratios[FIRST]:.1f} times as fast")
