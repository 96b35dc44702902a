"""`proto run` in the world: execute a program and watch it, in the terminal or as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from program_guided.errors import DataError, WorldError
from program_guided.files import make_folder_of
from program_guided.language.syntax import Program
from program_guided.output import Flag, OptionalPath, counted, print_json
from program_guided.shipped import example
from program_guided.tasks.commands import world_agent

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
    from program_guided.tasks.minecraft.task import Minecraft
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["Run", "prepare"]


@dataclass(frozen=True)
class Run:
    """Execute a program in a world, animated."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data_flow",)

    seed: int = 0
    """Seed of the world, and of chance; left out, the one that the program names (# seed: 9), or 0."""
    map: OptionalPath = None
    """File with a map to run in (symbols . # ~ = $ g w i s t c r, and @ for the agent), or the name of an example,
    instead of a sampled world."""
    inventory: dict[str, int] | None = None
    """Objects that the agent carries at the start, as in: --inventory wood 2 gold 1."""
    gif: OptionalPath = None
    """Write the animation to this file."""
    png: OptionalPath = None
    """Write the last moment to this file."""
    delay: float = 0.15
    """Seconds between steps in the terminal."""
    json: Flag = False
    """Print the execution as JSON, without animation."""

    def run(self, task: Minecraft, path: Path, program: Program, agent: str) -> int:
        """1 if the program was not finished."""
        from program_guided.tasks.minecraft.snapshots import execution

        self._check()
        batch = prepare(program, self.seed, self.map, self.inventory)
        acting, *_ = world_agent(task, agent, seed=self.seed)
        moments = list(execution(batch, acting))
        last = moments[-1]
        self._draw(moments)
        if self.json:
            steps = [{"time": each.time, "action": each.action, "message": each.message} for each in moments[1:]]
            about = {"program": str(path), "seed": self.seed, "outcome": last.outcome, "steps": last.time}
            print_json({**about, "trace": steps})
        else:
            self._show(moments, agent)
            if self.map is not None and last.outcome != "finished":
                self._try_planner(task, program)
            written = [str(path) for path in (self.gif, self.png) if path is not None]
            if written:
                print("wrote", " and ".join(written))
        return int(last.outcome != "finished")

    def _show(self, moments: list[Snapshot], agent: str) -> None:
        from program_guided.tasks.minecraft.pictures.terminal import animate

        animate(moments, self.delay)
        last = moments[-1]
        stopped = last.message if last.outcome == "running" else last.outcome
        world = f"seed {self.seed}" if self.map is None else f"map {self.map.name}"
        print(f"{agent}: {stopped} after {counted(last.time, 'step')} ({world})")

    def _try_planner(self, task: Any, program: Program) -> None:
        """Report if the planner fails on the user's map too: the program may be impossible there."""
        from program_guided.tasks.minecraft.snapshots import execution

        batch = prepare(program, self.seed, self.map, self.inventory)
        *_, last = execution(batch, world_agent(task, "planner")[0])
        if last.outcome != "finished":
            print("the planner does not finish this program on this map either: is everything there, and within reach?")

    def _check(self) -> None:
        """Raise `DataError` for wrong options before anything is run."""
        for path, suffix in ((self.gif, ".gif"), (self.png, ".png")):
            if path is not None:
                if path.suffix.lower() != suffix:
                    raise DataError(f"{path}: the file's name must end with {suffix}")
                make_folder_of(path)
        if not 0 <= self.delay <= 60:
            raise DataError(f"delay {self.delay}: a delay is from 0 to 60 seconds")

    def _draw(self, moments: list[Snapshot]) -> None:
        if self.gif is not None or self.png is not None:
            from program_guided.tasks.minecraft.pictures.picture import save_gif, save_png

            if self.gif is not None:
                save_gif(moments, self.gif)
            if self.png is not None:
                save_png(moments[-1], self.png)


def prepare(program: Program, seed: int, map_file: Path | None, inventory: dict[str, int] | None) -> Batch:
    """A batch of one world at the start of the program."""
    from program_guided.tasks.minecraft.scenario import world_of

    options: dict[str, object] = {"program": program, "inventory": inventory}
    if map_file is not None:
        try:
            options["map"] = example(map_file, ".map").read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise DataError(f"{map_file}: the map cannot be read ({reason}); is the path right?") from None
    try:
        return world_of(options, seed)
    except WorldError as error:
        raise DataError(f"{map_file}: {error}" if map_file is not None else str(error)) from None
