"""`proto run`: carry out a program in a world and watch it, in the terminal or as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from program_guided.cli.output import Flag, OptionalPath, OptionalText, counted, print_json
from program_guided.errors import DataError
from program_guided.files import make_folder_of

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.agents import Agent
    from program_guided.tasks.minecraft.batch import Batch
    from program_guided.tasks.minecraft.pictures.snapshot import Snapshot

__all__ = ["Run", "named_agent", "prepare"]


@dataclass(frozen=True)
class Run:
    """Carry out a program in a world, animated; or answer one about a picture."""

    program: tyro.conf.Positional[Path]
    """File that holds the program."""
    task: Literal["minecraft", "visual"] = "minecraft"
    """visual: about a scene of the embedded world, beside the oracle's results."""
    agent: OptionalText = None
    """Who carries it out: a learned executor (a folder that 'proto train' wrote, or one that ships: minecraft,
    minecraft-reward, visual; if none is named, the one with the task's name); in minecraft also planner (the oracle) or
    random."""
    seed: int = 0
    """Seed of the world, and of chance."""
    map: OptionalPath = None
    """File with a map to run in (symbols . # ~ = $ g w i s t c r, and @ for the agent) instead of a drawn world."""
    inventory: dict[str, int] | None = None
    """What the agent carries at the start, as in: --inventory wood 2 gold 1."""
    gif: OptionalPath = None
    """Write the animation to this file."""
    png: OptionalPath = None
    """Write the last moment to this file; visual: the picture of reasoning."""
    delay: float = 0.15
    """Seconds between steps in the terminal."""
    json: Flag = False
    """Print the execution as JSON, without animation."""

    def run(self) -> int:
        """1 if the program was not finished."""
        from program_guided.tasks.minecraft.snapshots import execution

        self._check()
        if self.task == "visual":
            from program_guided.cli.run_visual import answer

            return answer(self)
        agent = self.agent or "minecraft"
        batch = prepare(self.program, self.seed, self.map, self.inventory)
        moments = list(execution(batch, named_agent(agent, self.seed)))
        last = moments[-1]
        self._draw(moments)
        if self.json:
            steps = [{"time": each.time, "action": each.action, "message": each.message} for each in moments[1:]]
            print_json({"program": str(self.program), "outcome": last.outcome, "steps": last.time, "trace": steps})
        else:
            from program_guided.tasks.minecraft.pictures.terminal import animate

            animate(moments, self.delay)
            stopped = last.message if last.outcome == "running" else last.outcome
            print(f"{agent}: {stopped} after {counted(last.time, 'step')}")
            if self.map is not None and last.outcome != "finished":
                self._doubt()
            written = [str(path) for path in (self.gif, self.png) if path is not None]
            if written:
                print("wrote", " and ".join(written))
        return int(last.outcome != "finished")

    def _doubt(self) -> None:
        """A map of one's own may ask for the impossible."""
        from program_guided.tasks.minecraft.snapshots import execution

        batch = prepare(self.program, self.seed, self.map, self.inventory)
        *_, last = execution(batch, named_agent("planner", self.seed))
        if last.outcome != "finished":
            print("the planner does not finish this program on this map either: is everything there, and within reach?")

    def _check(self) -> None:
        """What can be wrong before anything has run."""
        for path, suffix in ((self.gif, ".gif"), (self.png, ".png")):
            if path is not None:
                if path.suffix.lower() != suffix:
                    raise DataError(f"{path}: the file's name must end with {suffix}")
                make_folder_of(path)
        if not 0 <= self.delay <= 60:
            raise DataError(f"--delay {self.delay}: a delay is from 0 to 60 seconds")

    def _draw(self, moments: list[Snapshot]) -> None:
        if self.gif is not None or self.png is not None:
            from program_guided.tasks.minecraft.pictures.picture import save_gif, save_png

            if self.gif is not None:
                save_gif(moments, self.gif)
            if self.png is not None:
                save_png(moments[-1], self.png)


def named_agent(name: str, seed: int, **acting: Any) -> Agent:
    """The planner, chance, or the executor of a checkpoint."""
    from program_guided.tasks.minecraft.agents import AGENTS

    if name in AGENTS:
        return AGENTS[name](seed)
    import torch

    from program_guided.learning.agent import ExecutorAgent

    torch.set_num_threads(1)  # steps are small: threads gain nothing, and wait for each other where cores are busy
    return ExecutorAgent.from_pretrained(name, seed=seed, **acting)


def prepare(program: Path, seed: int, map_file: Path | None, inventory: dict[str, int] | None) -> Batch:
    """A batch of one world in which the program is about to begin."""
    from program_guided.cli.checking import read_task_program
    from program_guided.tasks.minecraft.scenario import world_of

    options: dict[str, object] = {"program": read_task_program(program, "minecraft"), "inventory": inventory}
    if map_file is not None:
        try:
            options["map"] = map_file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise DataError(f"{map_file}: the map cannot be read ({reason}); is the path right?") from None
    return world_of(options, seed)
