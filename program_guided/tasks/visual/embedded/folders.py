"""Default folders of the embedded world, which is built when it is first needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from program_guided.errors import DataError

__all__ = ["TEST_WORLD", "WORLD", "is_ready", "ready_world"]

WORLD, TEST_WORLD = Path("out/visual"), Path("out/visual-test")

Show = Callable[[str, int, int], None]
"""Called with (description, number done, total)."""


def is_ready(folder: Path) -> bool:
    """True if a folder has a complete world with its index."""
    from program_guided.tasks.visual.index import Index

    try:
        Index.open(folder / "index").check_sources(folder)
    except DataError:
        return False
    return True


def ready_world(only_test: bool = False, show: Show | None = None) -> Path:
    """The folder of the embedded world, built and indexed first if it is incomplete; by default with progress bars.

    With `only_test`, if the world is missing, a smaller one with the whole test split is built instead.
    """
    from program_guided.output import bar_for_each, progress_bars
    from program_guided.tasks.visual.embedded.building import SPLITS

    if is_ready(WORLD) or not only_test:
        folder, splits = WORLD, dict(SPLITS)
    else:
        folder, splits = TEST_WORLD, {**dict.fromkeys(SPLITS, 1), "test": SPLITS["test"]}
    if is_ready(folder):
        return folder
    try:
        if show is not None:
            _make(folder, splits, show)
            return folder
        with progress_bars() as progress:
            _make(folder, splits, bar_for_each(progress))
    except KeyboardInterrupt:
        print("the world is not complete: the same command resumes it", file=sys.stderr)
        raise
    return folder


def _make(folder: Path, splits: Mapping[str, int], show: Show) -> None:
    """Build and index a world; one that is complete is only indexed."""
    from program_guided.output import announce
    from program_guided.tasks.visual.embedded.building import cost_of, plan_of, sights_of, write_world
    from program_guided.tasks.visual.index.building import make_index
    from program_guided.tasks.visual.plan import OBJECTS_FOLDER, read_world

    world = read_world(folder)
    if world is None and not (folder / OBJECTS_FOLDER / "gqa_objects_info.json").is_file():
        announce(f"building the embedded world in {folder} (once)", *cost_of(splits))
        write_world(folder, splits, progress=show)
    elif world is not None and world.files is None and world.plan == plan_of(splits, 0, sights_of()):
        announce(f"building the embedded world in {folder} again, which was interrupted", *cost_of(splits))
        write_world(folder, splits, progress=show)
    index = folder / "index"
    begin = partial(announce, f"indexing {folder} in {index}")
    make_index(folder, index, progress=lambda moment: show("index", moment.done, moment.total), begin=begin)
