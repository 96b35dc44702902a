"""Default folders of the embedded world, which is built when it is first needed."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["TEST_WORLD", "WORLD", "is_ready", "ready_world"]

WORLD, TEST_WORLD = Path("out/visual"), Path("out/visual-test")


def is_ready(folder: Path) -> bool:
    """True if a folder has a world with its index."""
    from program_guided.tasks.visual.index.assembly import HEADER

    return (folder / "index" / HEADER).is_file()


def ready_world(only_test: bool = False) -> Path:
    """The folder of the embedded world, built and indexed first if it is incomplete.

    With `only_test`, if the world is missing, a smaller one with the whole test split is built instead.
    """
    from program_guided.tasks.visual.embedded.building import SPLITS

    if is_ready(WORLD) or not only_test:
        folder, splits, time = WORLD, dict(SPLITS), "some minutes"
    else:
        folder, splits, time = TEST_WORLD, {**dict.fromkeys(SPLITS, 1), "test": SPLITS["test"]}, "half a minute"
    if not is_ready(folder):
        try:
            _make(folder, splits, time)
        except KeyboardInterrupt:
            print("interrupted; the same command resumes it", file=sys.stderr)
            raise
    return folder


def _make(folder: Path, splits: dict[str, int], time: str) -> None:
    """Write and index a world; one that is already written is only indexed."""
    from program_guided.output import bar_for_each, progress_bars
    from program_guided.tasks.visual.embedded.building import write_world
    from program_guided.tasks.visual.index.building import make_index

    with progress_bars() as progress:
        show = bar_for_each(progress)
        if not (folder / "objects" / "gqa_objects_info.json").is_file():
            print(f"making the embedded world in {folder} (once; {time}) ...", file=sys.stderr, flush=True)
            write_world(folder, splits, progress=show)
        make_index(folder, folder / "index", progress=lambda moment: show("index", moment.done, moment.total))
