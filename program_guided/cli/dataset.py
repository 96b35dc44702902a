"""`proto dataset`: what is learned from, made, indexed and described."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from program_guided.cli.output import Flag, OptionalPath, OptionalText, print_json, progress_bars, refuse, save_json
from program_guided.errors import DataError
from program_guided.files import make_folder_of, write_atomically

__all__ = ["PROCESSES", "Dataset"]

PROCESSES = min(4, os.cpu_count() or 1)
"""That read questions, unless said otherwise."""


@dataclass(frozen=True)
class Build:
    """Make the data anew from its seed; the files come out the same.

    minecraft: the splits that are shipped. visual: the embedded world, in the release's own formats.
    """

    task: tyro.conf.Positional[Literal["minecraft", "visual"]] = "minecraft"
    """Whose data."""
    verify: Flag = False
    """minecraft: write nothing; say whether what would be written is what is there."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=("--folder",), metavar="PATH")] = None
    """Where the files are; left out, minecraft: in the package, visual: out/visual."""
    scenes: tuple[int, int, int] = (4000, 200, 300)
    """visual: scenes of train, val and test; there are twenty balanced questions about each of train, ten of the
    others."""
    seed: int = 0
    """visual: another seed, another world."""
    pictures: int = 12
    """visual: how many scenes of test are drawn, to be looked at."""
    noise: float = 1.0
    """visual: length of the noise of a detector's vectors; what is true of an object has length 1 each."""
    misses: float = 0.005
    """visual: how often a detector does not find an object, from 0 to 1."""

    def run(self) -> int:
        """1 if a file to be verified is not identical."""
        if self.task == "visual":
            from program_guided.cli.dataset_visual import build

            refuse(self, "visual", "verify")
            return build(self)
        refuse(self, "minecraft", "scenes", "seed", "pictures", "noise", "misses")
        from program_guided.tasks.minecraft.building import build_splits
        from program_guided.tasks.minecraft.splits import SIZES, SPLITS_FOLDER, encode

        folder = self.out or SPLITS_FOLDER
        self._check(folder)
        with progress_bars() as progress:
            bars = {name: progress.add_task(name, total=size) for name, size in SIZES.items()}
            files = encode(build_splits(lambda name, done: progress.update(bars[name], completed=done)))
        if self.verify:
            return self._verify(folder, files)
        for name, data in files.items():
            write_atomically(folder / name, data)
        print(f"wrote {', '.join(files)} to {folder}; next: proto dataset stats minecraft")
        return 0

    def _check(self, folder: Path) -> None:
        """What can be wrong before minutes have been spent."""
        if not self.verify:
            make_folder_of(folder / "index.json")
        elif not (folder / "index.json").is_file():
            raise DataError(f"{folder}: there are no splits to verify")

    def _verify(self, folder: Path, files: dict[str, bytes]) -> int:
        different = []
        for name, data in files.items():
            try:
                if (folder / name).read_bytes() != data:
                    different.append(name)
            except OSError as error:
                raise DataError(f"{folder / name}: cannot be read ({error.strerror})") from None
        if different:
            print(f"different: {', '.join(different)}")
            return 1
        print(f"identical: {', '.join(files)}")
        return 0


@dataclass(frozen=True)
class Stats:
    """Describe the data: its programs, its answers, and what guessing achieves."""

    task: tyro.conf.Positional[Literal["minecraft", "visual"]] = "minecraft"
    """Whose data."""
    plot: Path = Path("out/dataset_minecraft.png")
    """minecraft: where the picture goes."""
    root: OptionalPath = None
    """visual: the folder of the release, or of a world that was built; left out, the embedded world."""
    test: OptionalText = None
    """visual: the set of questions that guessing is tried on, as testdev_balanced."""
    json: Flag = False
    """Print the figures as JSON (and draw nothing)."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self) -> int:
        if self.task == "visual":
            from program_guided.cli.dataset_visual import stats

            return stats(self)
        from program_guided.tasks.minecraft.statistics import describe

        if self.plot.suffix.lower() != ".png":
            raise DataError(f"{self.plot}: the picture's name must end with .png")
        figures = {"task": self.task, "splits": describe()}
        if self.save is not None:
            save_json(figures, self.save)
        if self.json:
            print_json(figures)
            return 0
        from program_guided.tasks.minecraft.pictures.plots import plot_splits

        plot_splits(figures["splits"], self.plot)
        _print(figures["splits"])
        print("wrote", " and ".join(str(path) for path in (self.plot, self.save) if path is not None))
        return 0


@dataclass(frozen=True)
class Index:
    """Read the release once into a compact index, which training reads. Interrupted, it goes on by the same command."""

    task: tyro.conf.Positional[Literal["visual"]]
    """Whose data."""
    root: Path
    """The folder of the release as it was unpacked: questions, scene graphs, choices; or of a world that was built."""
    out: OptionalPath = None
    """Folder of the index; left out, `index` in the root."""
    only: tuple[str, ...] = ()
    """Sets of questions to read, as train_balanced val_balanced; left out, all that are there."""
    skip_bad: Flag = False
    """Leave out what cannot be read, count it and list it, instead of stopping there."""
    processes: int = PROCESSES
    """Files that are read side by side."""
    verify: Flag = False
    """Write nothing; compare the checksums of the index that is there."""

    def run(self) -> int:
        from program_guided.cli.dataset_visual import index

        return index(self)


@dataclass(frozen=True)
class Dataset:
    """Make, index or describe what is learned from."""

    command: (
        Annotated[Build, tyro.conf.subcommand("build")]
        | Annotated[Index, tyro.conf.subcommand("index")]
        | Annotated[Stats, tyro.conf.subcommand("stats")]
    )

    def run(self) -> int:
        return self.command.run()


def _print(splits: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()

    def show(title: str, headings: dict[str, Callable[[dict[str, Any]], str]]) -> None:
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("split", *headings):
            table.add_column(heading, justify="left" if heading == "split" else "right")
        for name, split in splits.items():
            table.add_row(name, *(cell(split) for cell in headings.values()))
        console.print(table)

    def spread(key: str) -> Callable[[dict[str, Any]], str]:
        return lambda split: f"{split[key]['mean']:.0f} ({split[key]['least']}–{split[key]['most']})"

    def finished(key: str) -> Callable[[dict[str, Any]], str]:
        return lambda split: f"{split['finished_by'][key]:.1f}"

    show(
        "programs: mean (least–most)",
        {
            "programs": lambda split: str(split["programs"]),
            "tokens": spread("tokens"),
            "routines": spread("routines"),
            "if, while": spread("control_flows"),
            "plan steps": spread("plan_steps"),
        },
    )
    show(
        "conditions that are true, and programs finished without looking, in %",
        {
            "true": lambda split: f"{split['conditions']['true']:.0f}",
            "by kind": lambda split: f"{split['conditions']['least_true']:.0f}–{split['conditions']['most_true']:.0f}",
            "by chance": finished("random"),
            "random walk": finished("walks_at_random"),
            "usual answers": finished("answers_by_prior"),
        },
    )
    console.print("Random walk: knows every answer, acts by chance.")
    console.print("Usual answers: plans like the oracle, answers by what is usual for the condition's words in train.")
