"""`proto features extract`: features of a folder of pictures by a pretrained network, in the layout of the release."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import tyro

from program_guided.output import Flag, announce, counted, progress_bars

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """Extract features of a folder of pictures. An interrupted extraction is resumed by the same command."""

    what: tyro.conf.Positional[Literal["extract"]]
    """extract: features of every picture of a folder."""
    images: Path
    """Folder of pictures; a picture's id is its file name without the suffix."""
    out: Path
    """The file to write, ending with .h5; NAME_info.json next to it maps pictures to rows."""
    size: int = 448
    """Side of the square that pictures are resized to, in pixels; a cell is 32 pixels wide."""
    skip_bad: Flag = False
    """Skip and list pictures that cannot be read, instead of stopping at the first."""
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    """Device of the network."""

    def run(self) -> int:
        from program_guided.tasks.visual.features import info_path
        from program_guided.tasks.visual.photographs.extraction import extract

        try:
            with progress_bars() as progress:
                bar = progress.add_task("pictures", total=0, visible=False)

                def show(done: int, total: int) -> None:
                    progress.update(bar, completed=done, total=total, visible=True)

                begin = partial(announce, f"extracting features of {self.images}")
                extracted = extract(self.images, self.out, self.size, self.skip_bad, self.device, show, begin)
        except KeyboardInterrupt:
            print("interrupted; the same command resumes it", file=sys.stderr)
            return 130
        done = "wrote" if extracted.new else "nothing to do: there are"
        print(f"{done} {self.out} and {info_path(self.out)} of {counted(extracted.pictures, 'picture')}")
        if extracted.skipped:
            print(f"skipped {counted(len(extracted.skipped), 'picture')}:")
            print("\n".join(f"  {line}" for line in extracted.skipped))
        print(f'next, in Python: ObjectFeatures(Path("{self.out}"))')
        return 0
