"""`proto dataset` of the world: rebuild and describe the shipped splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from program_guided.errors import DataError
from program_guided.files import make_folder_of, write_atomically
from program_guided.output import Flag, OptionalPath, print_json, progress_bars, save_json

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.task import Minecraft

__all__ = ["Build", "Stats"]


@dataclass(frozen=True)
class Build:
    """Rebuild the shipped splits from their seeds; the files are identical."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data_flow",)

    verify: Flag = False
    """Write nothing; compare the existing files with those that would be written."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=("--folder",), metavar="PATH")] = None
    """Folder of the files; default: that of the package."""

    def run(self, task: Minecraft) -> int:
        """1 if a file to be verified is not identical."""
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
        """Raise errors that can be found before the splits are built."""
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
    """Describe the splits: programs, conditions, and the completion of agents without perception."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data_flow",)

    plot: Path = Path("out/dataset_minecraft.png")
    """File of the picture."""
    json: Flag = False
    """Print the figures as JSON (and draw nothing)."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def run(self, task: Minecraft) -> int:
        from program_guided.tasks.minecraft.statistics import describe

        if self.plot.suffix.lower() != ".png":
            raise DataError(f"{self.plot}: the picture's name must end with .png")
        figures: dict[str, Any] = {"task": task.task_name, "splits": describe()}
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
        return lambda split: f"{split[key]['mean']:.0f} ({split[key]['minimum']}–{split[key]['maximum']})"

    def finished(key: str) -> Callable[[dict[str, Any]], str]:
        return lambda split: f"{split['finished_by'][key]:.1f}"

    show(
        "programs: mean (minimum–maximum)",
        {
            "programs": lambda split: str(split["programs"]),
            "tokens": spread("tokens"),
            "routines": spread("routines"),
            "if, while": spread("control_flows"),
            "plan steps": spread("plan_steps"),
        },
    )
    show(
        "conditions that are true, and programs finished without perception, in %",
        {
            "true": lambda split: f"{split['conditions']['true']:.0f}",
            "by kind": lambda split: f"{split['conditions']['min_true']:.0f}–{split['conditions']['max_true']:.0f}",
            "by chance": finished("random"),
            "random walk": finished("walks_at_random"),
            "prior answers": finished("answers_by_prior"),
        },
    )
    console.print("Random walk: answers like the oracle, acts at random.")
    console.print(
        "Prior answers: plans like the oracle, gives the more frequent answer to a condition's words in train."
    )
