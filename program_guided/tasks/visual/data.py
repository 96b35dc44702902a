"""The data of the visual task: an index of questions and scene graphs, and the features of the pictures."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from program_guided.errors import DataError
from program_guided.tasks.visual.features import Detected, ObjectFeatures
from program_guided.tasks.visual.index import Index
from program_guided.tasks.visual.ontology import find_ontology
from program_guided.tasks.visual.plan import OBJECTS_FOLDER

__all__ = ["VisualData"]


MAX_FEATURE_BYTES = 2_000_000_000
"""Maximum size of the features kept in memory, whichever set of questions they are read for."""


class VisualData:
    """A folder with an index, and the features of its pictures: its folder `objects`, or another folder or file. The
    release's ontology is read if it lies in the folder `ontology`; graphs are complete if they are of a built world."""

    def __init__(self, folder: Path, features: Path | None = None) -> None:
        self.folder = folder
        self.index = Index.open(folder / "index")
        self.index.check_sources(folder)
        self.features = ObjectFeatures(features or folder / OBJECTS_FOLDER)
        self.ontology = replace(find_ontology(folder), complete=self.index.header["plan"] is not None)
        self._cache: OrderedDict[int, Detected] = OrderedDict()
        self._cache_bytes = 0
        self._check_seeds()

    def _check_seeds(self) -> None:
        """Raise `DataError` for features of other scenes; those of another detector are of the same."""
        plan, other = self.index.header["plan"], self.features.plan
        if plan is None or other is None:
            return
        known, found = ([each[key] for key in ("version", "seed")] for each in (plan, other))
        if known != found:
            raise DataError(
                f"{self.features.info_path}: is of the world with seed {found[1]} (version {found[0]}), but the "
                f"questions are of seed {known[1]} (version {known[0]}); give the features of that world"
            )

    def detected(self, image: int) -> Detected:
        """Detected objects of a picture by its number in the index; the least recently used are dropped beyond the
        maximum size."""
        if image in self._cache:
            self._cache.move_to_end(image)
            return self._cache[image]
        detected = self.features.read(self.index.images[image])
        self._cache[image] = detected
        self._cache_bytes += detected.features.nbytes
        while self._cache_bytes > MAX_FEATURE_BYTES:
            _, dropped = self._cache.popitem(last=False)
            self._cache_bytes -= dropped.features.nbytes
        return detected

    @cached_property
    def feature_count(self) -> int:
        """Length of an object's feature vector."""
        return int(self.features.read(self.features.image_ids[0], 1).features.shape[1])

    @property
    def patches(self) -> tuple[int, int, int] | None:
        """Rows and columns of cells of pixels, and pixels of a cell's side; None if features are not pixels."""
        found = (self.features.made_by or {}).get("cells")
        return tuple(found) if found else None

    @property
    def named(self) -> bool:
        """True if features are those of the embedded world's detectors, each number the probability of a name."""
        from program_guided.tasks.visual.embedded.vectors import SIZE

        return self.features.plan is not None and self.patches is None and self.feature_count == SIZE

    def first_of(self, names: tuple[str, ...]) -> str:
        """The first of these sets that the index has."""
        found = next((name for name in names if name in self.index.sets), None)
        if found is None:
            there = ", ".join(self.index.sets)
            raise DataError(f"{self.index.folder}: has none of the sets {', '.join(names)} (there are {there})")
        return found

    def pictures(self, name: str) -> set[str]:
        """Pictures that a set of questions is about."""
        return self.index.questions(name).pictures

    def check_pictures(self, name: str) -> None:
        """Raise `DataError` if a set has questions about pictures without features."""
        pictures = self.pictures(name)
        missing = sorted(pictures.difference(self.features.image_ids))
        if missing:
            raise DataError(
                f"{self.features.info_path}: has no features of {len(missing):,} of the {len(pictures):,} pictures of "
                f"{name}, such as {missing[0]}; give the features of these pictures"
            )
