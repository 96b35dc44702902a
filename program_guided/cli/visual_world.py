"""The embedded world where commands expect it: made when it is first needed."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

__all__ = ["TEST_WORLD", "WORLD", "is_ready", "ready_world"]

WORLD, TEST_WORLD = Path("out/visual"), Path("out/visual-test")


def is_ready(folder: Path) -> bool:
    """Whether there is a world in a folder, with its index."""
    from program_guided.tasks.visual.assembly import HEADER

    return (folder / "index" / HEADER).is_file()


def ready_world(only_test: bool = False) -> Path:
    """The folder of the embedded world; built and indexed first if it is not whole.

    If `only_test` is needed and the world is not there, a folder with all of its test split is made instead, soon.
    """
    from program_guided.cli import dataset, dataset_visual
    from program_guided.tasks.visual.building import SPLITS

    folder, (train, val, test), time = WORLD, SPLITS.values(), "some minutes"
    if only_test and not is_ready(WORLD):
        folder, train, val, time = TEST_WORLD, 1, 1, "half a minute"
    if not is_ready(folder):
        if not (folder / "objects" / "gqa_objects_info.json").is_file():
            print(f"making the embedded world in {folder} (once; {time}) ...", flush=True)
            with redirect_stdout(io.StringIO()):  # what to do next is not the user's business here
                dataset_visual.build(dataset.Build("visual", out=folder, scenes=(train, val, test)))
        with redirect_stdout(io.StringIO()):
            code = dataset_visual.index(dataset.Index("visual", root=folder))
        if code:
            print("interrupted; the same command goes on where it stopped")
            raise SystemExit(code)
    return folder
