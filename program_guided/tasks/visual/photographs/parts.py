"""Parts of a photograph: windows of three sizes and the boxes of the detector, each cropped and read by the network.

Departures from the paper: it takes 50 objects of the release's detector. Where there is no detector, the parts are the
windows alone.

    extract_parts(Path("pictures"), Path("parts.npz"))
    parts = Parts.read(Path("parts.npz"), ["n161313", ...])
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from program_guided.errors import DataError, quote
from program_guided.files import held, read_arrays, unfinished, write_arrays
from program_guided.tasks.visual.features import ObjectFeatures
from program_guided.tasks.visual.photographs.backbone import Backbone, load_backbone
from program_guided.tasks.visual.photographs.detector import KINDS, Detector, find_detector
from program_guided.tasks.visual.photographs.files import find_pictures, read_picture
from program_guided.tasks.visual.photographs.part_words import Classes

__all__ = ["WINDOWS", "Parts", "extract_parts", "parts_of"]

Floats = NDArray[np.float32]

VERSION = 1
WINDOWS = tuple(
    (left, top, left + side, top + side)
    for side, starts in ((1.0, (0.0,)), (0.6, (0.0, 0.4)), (0.4, (0.0, 0.3, 0.6)))
    for top in starts
    for left in starts
)
"""Boxes of the windows, as shares of the picture; the first is the whole picture."""
DETECTED = 30
"""Maximum number of detected boxes."""
SIDE, AT_ONCE = 192, 11
"""Side in pixels that a part is resized to, and number of parts that are read at once."""
MARGIN = 0.05
"""Margin around a detected box, as a share of its sides."""
LEVELS, SAMPLES = 4, 24
"""Levels of each of red, green and blue in a histogram of colours, and the side of the grid of sampled pixels."""
CLASSES_SMALLEST = 1e-6

Progress = Callable[[int, int], None]
Classifier = tuple[Floats, Floats, tuple[str, ...]]
"""Weights, bias and the names of classes."""


@dataclass(frozen=True)
class Parts:
    """Parts of pictures, all with the same number of parts."""

    boxes: Floats
    """(pictures, parts, 4) x1, y1, x2, y2 as shares of the picture"""
    features: Floats
    """(pictures, parts, dimension) mean of the network's last layer"""
    kinds: Floats
    """(pictures, parts, kinds) the detector's probabilities; of a window, the largest of what lies inside"""
    colours: Floats
    """(pictures, parts, LEVELS ** 3) histograms"""

    @classmethod
    def read(cls, path: Path, images: Sequence[str]) -> Parts:
        """The parts of the pictures with these ids."""
        found = read_arrays(path)
        if found is None:
            raise DataError(f"{path}: is missing or damaged; remove it, and run the same command again")
        about, arrays = found
        rows = {name: row for row, name in enumerate(about["names"])}
        missing = next((name for name in images if name not in rows), None)
        if missing is not None:
            raise DataError(f"{path}: there are no parts of image {quote(missing)}")
        chosen = [rows[name] for name in images]
        names = ("boxes", "features", "kinds", "colours")
        return cls(*(arrays[name][chosen].astype(np.float32) for name in names))

    @classmethod
    def of_objects(cls, features: ObjectFeatures, images: Sequence[str]) -> Parts:
        """The objects of a file of features as parts; a picture's first one is repeated where it has fewer."""
        found = [features.read(image) for image in images]
        count = max(len(each.boxes) for each in found)
        rows = [np.arange(count) * (np.arange(count) < len(each.boxes)) for each in found]
        boxes = [each.boxes / np.array([each.width, each.height] * 2, np.float32) for each in found]
        return cls(
            np.stack([each[row] for each, row in zip(boxes, rows, strict=True)]).astype(np.float32),
            np.stack([each.features[row] for each, row in zip(found, rows, strict=True)]).astype(np.float32),
            *np.zeros((2, len(images), count, 0), np.float32),
        )

    def classes(self, classifier: Classifier | None) -> Classes:
        """Probabilities of the detector's kinds, and of the classes of the network's classifier, if it is given."""
        kinds = KINDS if self.kinds.shape[2] else ()
        if classifier is None:
            return Classes(self.kinds, kinds, np.zeros((*self.boxes.shape[:2], 0), np.float32), ())
        weights, bias, names = classifier
        scores = self.features @ weights.T + bias
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return Classes(self.kinds, kinds, scores / scores.sum(axis=-1, keepdims=True), names)


def parts_of(picture: Image.Image, backbone: Backbone, detector: Detector | None) -> Parts:
    """The parts of one picture."""
    windows = np.array(WINDOWS, np.float32)
    if detector is None:
        boxes, kinds = np.zeros((0, 4), np.float32), np.zeros((0, len(KINDS)), np.float32)
    else:
        boxes, kinds = detector.detect(picture, DETECTED)
    within = (_inside(boxes, windows)[..., None] * kinds).max(axis=1, initial=0.0)
    missing = (0 if detector is None else DETECTED) - len(boxes)  # repeat the whole picture where there are few boxes
    boxes = np.concatenate([windows, boxes, np.repeat(windows[:1], missing, axis=0)])
    kinds = np.concatenate([within, kinds, np.repeat(within[:1], missing, axis=0)])
    crops = [_crop(picture, box, MARGIN if number >= len(windows) else 0.0) for number, box in enumerate(boxes)]
    small = [np.asarray(each.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float32) for each in crops]
    pixels = torch.from_numpy(np.stack(small)).permute(0, 3, 1, 2)
    with torch.inference_mode():
        features = torch.cat([backbone(some).mean(dim=1) for some in torch.split(pixels, AT_ONCE)]).numpy()
    colours = np.stack([_colours(each) for each in crops])
    return Parts(boxes[None], features[None], kinds[None], colours[None])


def _inside(boxes: Floats, windows: Floats) -> Floats:
    """(windows, boxes) the share of each box that lies inside of a window."""
    low, high = np.maximum(windows[:, None, :2], boxes[:, :2]), np.minimum(windows[:, None, 2:], boxes[:, 2:])
    sizes = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    return np.asarray(np.clip(high - low, 0, None).prod(axis=2) / np.maximum(sizes, CLASSES_SMALLEST))


def _crop(picture: Image.Image, box: Floats, margin: float) -> Image.Image:
    """A part of a picture, of at least four pixels a side."""
    size = np.array(picture.size, np.float32)
    around = np.float32(margin) * (box[2:] - box[:2])
    low = ((box[:2] - around) * size).astype(int).clip(min=0)
    high = np.maximum(((box[2:] + around) * size).astype(int), (box[:2] * size).astype(int) + 4)
    high = np.minimum(high, size.astype(int))
    return picture.crop((*low.tolist(), *high.tolist()))


def _colours(part: Image.Image) -> Floats:
    """Histogram of the colours in the middle of a part."""
    width, height = part.size
    middle = part.crop((width // 6, height // 6, width - width // 6, height - height // 6))
    levels = np.asarray(middle.resize((SAMPLES, SAMPLES)), np.int64) * LEVELS // 256
    numbers = (levels * np.array([LEVELS**2, LEVELS, 1])).sum(axis=2)
    return np.asarray(np.bincount(numbers.ravel(), minlength=LEVELS**3) / SAMPLES**2, np.float32)


def extract_parts(
    images: Path, out: Path, only: Iterable[str] | None = None, progress: Progress = lambda done, total: None
) -> None:
    """Write the parts of all pictures of a folder (or of those with the ids `only`) to a file, or resume that."""
    pictures, detector = find_pictures(images), find_detector()
    wanted = sorted(pictures if only is None else set(only) & pictures.keys())
    plan = {
        "version": VERSION,
        "detector": detector is not None,
        "pictures": [[n, pictures[n].stat().st_size] for n in wanted],
    }
    made_of = hashlib.sha256(json.dumps(plan).encode("ascii")).hexdigest()
    found = read_arrays(out, only="made_of")
    if found is not None and found[0]["made_of"] == made_of:
        return
    backbone, work = load_backbone(), out.with_name(f"{out.name}.unfinished")
    with held(work):
        pieces, every = unfinished(work / "pieces", plan), list[dict[str, NDArray[np.float16]]]()
        for number, name in enumerate(wanted):
            progress(number, len(wanted))
            path = pieces / f"{number}.npz"
            if read_arrays(path) is None:
                one = parts_of(read_picture(pictures[name]), backbone, detector)
                write_arrays(path, {}, {key: value.astype(np.float16) for key, value in vars(one).items()})
            piece = read_arrays(path)
            assert piece is not None
            every.append(piece[1])
        together = {key: np.concatenate([each[key] for each in every]) for key in every[0]}
        write_arrays(out, {"names": wanted, "made_of": made_of}, together)
        for path in pieces.iterdir():
            path.unlink()
