"""`proto features extract, pack`: features of one's own pictures, and the release's, packed for training."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from program_guided.errors import UsageError
from program_guided.output import Flag, announce, counted, progress_bars
from program_guided.tasks.visual.release.skipping import Skipped

__all__ = ["Extract", "Features", "Pack"]

INTERRUPTED = "interrupted; the same command resumes it"


@dataclass(frozen=True)
class Extract:
    """Extract features of a folder of pictures by a pretrained network, in the layout of the release. An interrupted
    extraction is resumed by the same command."""

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
            print(INTERRUPTED, file=sys.stderr)
            return 130
        done = "wrote" if extracted.new else "nothing to do: there are"
        print(f"{done} {self.out} and {info_path(self.out)} of {counted(extracted.pictures, 'picture')}")
        if extracted.skipped:
            print(f"skipped {counted(len(extracted.skipped), 'picture')}:")
            print("\n".join(f"  {line}" for line in extracted.skipped))
        print(f'next, in Python: ObjectFeatures(Path("{self.out}"))')
        return 0


@dataclass(frozen=True)
class Pack:
    """Pack features of the release for training: half precision, no padding, mapped into memory. Interrupted packing is
    resumed by the same command, which also makes damaged files anew."""

    out: Path
    """Folder of the packed features."""
    source: Annotated[Path | None, tyro.conf.arg(name="from", metavar="PATH")] = None
    """Folder of gqa_objects_*.h5 and gqa_objects_info.json, or one .h5 file; not needed to verify."""
    objects: int | None = None
    """Maximum number of objects of a picture, the first ones; by default 50, or all cells that tile a picture."""
    skip_bad: Flag = False
    """Skip, count and list pictures that cannot be read, instead of stopping at the first."""
    verify: Flag = False
    """Only verify all checksums of packed features."""

    def run(self) -> int:
        if self.verify:
            return self._verify()
        if self.source is None:
            raise UsageError("missing: --from PATH (for help: proto features pack --help)")
        try:
            return self._pack(self.source)
        except KeyboardInterrupt:
            print(INTERRUPTED, file=sys.stderr)
            return 130

    def _pack(self, source: Path) -> int:
        from program_guided.tasks.visual.features import ObjectChunks
        from program_guided.tasks.visual.packing import pack

        with ObjectChunks(source) as chunks, progress_bars() as progress:
            bar = progress.add_task("pictures", total=0, visible=False)

            def show(done: int, total: int) -> None:
                progress.update(bar, completed=done, total=total, visible=True)

            begin = partial(announce, f"packing {source} in {self.out}")
            packing = pack(chunks, self.out, self.objects, self.skip_bad, show, begin)
        done = "wrote" if packing.made else "nothing to do: there is"
        print(f"{done} {self.out} of {counted(packing.pictures, 'picture')}, in {counted(packing.shards, 'shard')}")
        for line in Skipped(packing.skipped).lines():
            print(line)
        print(f"next: proto train visual --features {self.out} --data DIR")
        return 0

    def _verify(self) -> int:
        from program_guided.tasks.visual.packed import Packed

        packed = Packed(self.out, verify=True)
        print(f"{self.out}: whole, every file has its checksum ({counted(len(packed.image_ids), 'picture')})")
        return 0


Features = Annotated[Extract, tyro.conf.subcommand("extract")] | Annotated[Pack, tyro.conf.subcommand("pack")]
"""The command's actions."""
