"""`proto features extract`: what a pretrained network sees in one's own pictures, in the layout of the release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from program_guided.cli.output import Flag, counted, progress_bars

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """Extract features of a folder of pictures. Interrupted, it goes on by the same command."""

    what: tyro.conf.Positional[Literal["extract"]]
    """What to do."""
    images: Path
    """Folder of pictures; a picture's id is its name without the ending."""
    out: Path
    """The file to write, ending with .h5; NAME_info.json, written beside it, says which row is whose."""
    size: int = 448
    """Sides of the square that pictures are fitted to, in pixels; every 32 pixels make a cell."""
    skip_bad: Flag = False
    """Leave out pictures that cannot be read, and list them, instead of stopping there."""
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    """Where the network runs."""

    def run(self) -> int:
        from program_guided.learning.extraction import extract
        from program_guided.tasks.visual.features import info_path

        try:
            with progress_bars() as progress:
                bar = progress.add_task("pictures", total=0, visible=False)

                def show(done: int, total: int) -> None:
                    progress.update(bar, completed=done, total=total, visible=True)

                extracted = extract(self.images, self.out, self.size, self.skip_bad, self.device, show)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on where it stopped")
            return 130
        done = "wrote" if extracted.new else "nothing to do: there are"
        print(f"{done} {self.out} and {info_path(self.out)} of {counted(extracted.pictures, 'picture')}")
        if extracted.skipped:
            print(f"left out {counted(len(extracted.skipped), 'picture')}:")
            print("\n".join(f"  {line}" for line in extracted.skipped))
        print(f'next, in Python: ObjectFeatures(Path("{self.out}"))')
        return 0
