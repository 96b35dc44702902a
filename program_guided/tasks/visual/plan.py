"""The plan of a built world: written before its files, completed after them, and checked by all that reads them.

`world.json` has the plan (seed, number of scenes, detector) and, once the world is complete, size and checksum of every
file. A folder without it was not built here: it holds a release, of which nothing more is known.

    with built(folder, {"seed": 0, ...}) as (files, resumed):
        files.append(...)                             # every path, once it is written
    complete_world(folder).plan["seed"]               # None for a release, `DataError` for a world that is incomplete
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from program_guided.errors import DataError
from program_guided.files import held, sweep
from program_guided.tasks.visual.checksums import check_file, described, read_record, write_record

__all__ = [
    "FEATURE_FOLDERS",
    "OBJECTS_FOLDER",
    "REMEDY",
    "WORLD_FILE",
    "World",
    "built",
    "complete_world",
    "read_world",
]

WORLD_FILE = "world.json"
FORMAT = "program_guided visual world"
OBJECTS_FOLDER = "objects"
"""Folder of the features of a world's pictures."""
FEATURE_FOLDERS = (OBJECTS_FOLDER, "clean", "true", "patches", "perfect")
"""Folders of the features of a built world: detected, simulated, detected in the true boxes, cells of pixels, and
simulated without any error."""
REMEDY = "build it again with proto dataset build visual"


@dataclass(frozen=True)
class World:
    """A world that was built in a folder."""

    folder: Path
    plan: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]] | None
    """Size and checksum by path in the folder; None while it is being built, and if that was interrupted."""

    def about(self, path: Path) -> Mapping[str, Any] | None:
        """Size and checksum of a file; None if it is no part of the world."""
        return (self.files or {}).get(path.relative_to(self.folder).as_posix())

    def check(self, verify: bool = False) -> None:
        """Raise `DataError` if the world is incomplete, or a file has another size or, with `verify`, checksum."""
        if self.files is None:
            seed, scenes = self.plan["seed"], " ".join(map(str, self.plan["scenes"].values()))
            raise DataError(
                f"{self.folder}: its world (seed {seed}, scenes {scenes}) is being built, or that was interrupted; "
                f"wait, or {REMEDY}"
            )
        for name, about in self.files.items():
            check_file(self.folder / name, about, REMEDY, verify)


def read_world(folder: Path) -> World | None:
    """The world in a folder, complete or not; None if there is none."""
    path = folder / WORLD_FILE
    if not path.is_file():
        return None
    record = read_record(path, FORMAT, REMEDY)
    return World(folder, record["plan"], record["files"])


def complete_world(folder: Path, verify: bool = False) -> World | None:
    """The world in a folder, checked; None if there is none."""
    world = read_world(folder)
    if world is not None:
        world.check(verify)
    return world


def _written(world: World) -> list[Path]:
    """Paths of a world's files; of features and pictures alone, if it is incomplete."""
    if world.files is not None:
        return [world.folder / name for name in world.files]
    features = [world.folder.joinpath(name).glob("gqa_objects_*") for name in world.plan.get("features", ())]
    return [path for found in (*features, (world.folder / "pictures").glob("*.png")) for path in found]


@contextmanager
def built(folder: Path, plan: Mapping[str, Any]) -> Iterator[tuple[list[Path], bool]]:
    """Build a world: the files of another one, complete or not, are removed first; the paths appended to the list are
    its own. Gives True if the same world was being built when it was interrupted: its files that are there are whole.
    """
    with held(folder):
        try:
            former = read_world(folder)
        except DataError:
            former = None
        record = {"format": FORMAT, "plan": dict(plan), "files": None}
        resumed = former is not None and former.files is None and former.plan == record["plan"]
        write_record(folder / WORLD_FILE, record)
        for path in _written(former) if former and not resumed else ():
            path.unlink(missing_ok=True)
        for each in (folder, *(path for path in folder.iterdir() if path.is_dir())):
            sweep(each)
        paths: list[Path] = []
        yield paths, resumed
        files = {path.relative_to(folder).as_posix(): described(path) for path in paths}
        write_record(folder / WORLD_FILE, record | {"files": files})
