"""The embedded world where commands expect it: made when it is first needed."""

from __future__ import annotations

from pathlib import Path

__all__ = ["WORLD", "ready_world"]

WORLD = Path("out/visual")


def ready_world() -> Path:
    """The folder of the embedded world; built and indexed first if it is not whole."""
    from program_guided.cli import dataset, dataset_visual
    from program_guided.tasks.visual.assembly import HEADER

    if not (WORLD / "index" / HEADER).is_file():
        if not (WORLD / "objects" / "gqa_objects_info.json").is_file():
            print(f"making the embedded world in {WORLD} (once; some minutes) ...", flush=True)
            dataset_visual.build(dataset.Build("visual"))
        code = dataset_visual.index(dataset.Index("visual", root=WORLD))
        if code:
            raise SystemExit(code)
    return WORLD
