"""`proto run` in the world: execute a program and watch it, in the terminal or as pictures; alone, or by two agents
beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from program_guided.errors import DataError, WorldError
from program_guided.files import make_folder_of
from program_guided.language.syntax import Program, calls
from program_guided.output import Flag, OptionalPath, OptionalText, counted, print_json, print_table, progress_bars
from program_guided.shipped import example
from program_guided.tasks.commands import world_agent

if TYPE_CHECKING:
    from program_guided.tasks.minecraft.pictures.beside import Executed, Strip
    from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
    from program_guided.tasks.minecraft.task import Minecraft
    from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["Run", "prepare", "strip_of"]

Only = Literal["any", "right", "wrong", "differ"]
WANTED: dict[Only, tuple[bool | None, bool | None]] = {
    "any": (None, None),
    "right": (True, True),
    "wrong": (False, False),
    "differ": (True, False),
}
"""Whether the agent and the one beside it finish the programs to choose from; None: either."""


@dataclass(frozen=True)
class _Case:
    """A program and the world that it is executed in."""

    name: str
    program: Program
    seed: int
    map: Path | None
    inventory: dict[str, int] | None

    def batch(self) -> Batch:
        """The world at the start of the program."""
        return prepare(self.program, self.seed, self.map, self.inventory)

    @property
    def world(self) -> str:
        return f"seed {self.seed}" if self.map is None else f"map {self.map.name}"


@dataclass(frozen=True)
class Run:
    """Execute a program in a world, animated."""

    LEAVE_OUT: ClassVar[tuple[str, ...]] = ("data_flow",)
    FINDS_PROGRAMS: ClassVar[bool] = True
    """With --split, a program may be left out."""

    seed: int = 0
    """Seed of the world, and of chance; left out, the one that the program names (# seed: 9), or 0."""
    map: OptionalPath = None
    """File with a map to run in (symbols . # ~ = $ g w i s t c r, and @ for the agent), or the name of an example,
    instead of a sampled world."""
    inventory: dict[str, int] | None = None
    """Objects that the agent carries at the start, as in: --inventory wood 2 gold 1."""
    beside: OptionalText = None
    """A second agent (a checkpoint, planner or random) that executes the same program in the same world: both
    executions are shown routine by routine, and drawn beside each other by --png."""
    split: OptionalText = None
    """Execute a program of this split in its own world: the first one that contains all routines of PROGRAM."""
    only: Only = "any"
    """Choose programs of the split that all agents finish (right), that none does (wrong), or that the agent finishes
    and the one beside it does not (differ)."""
    skip: int = 0
    """Such programs of the split to pass over."""
    gif: OptionalPath = None
    """Write the animation to this file."""
    png: OptionalPath = None
    """Write the last moment to this file; with --beside, both executions."""
    delay: float = 0.15
    """Seconds between steps in the terminal."""
    json: Flag = False
    """Print the execution as JSON, without animation."""

    def run(self, task: Minecraft, path: Path, program: Program, agent: str) -> int:
        """1 if the program was not finished; a program chosen from a split by its outcome has the wanted one."""
        self._check()
        agents = [agent] if self.beside is None else [agent, self.beside]
        acting = [_maker(task, name, self.seed) for name in agents]
        if self.beside is not None or self.split is not None:
            for make in acting:
                make()  # unreadable checkpoints are errors before anything is executed
        if self.split is None:
            case = _Case(str(path), program, self.seed, self.map, self.inventory)
        else:
            case = self._chosen(self.split, program, acting)
        if self.beside is None:
            finished = self._execute(task, case, agent, acting[0])
        else:
            finished = self._compare(case, agents, acting)
        return int(self.split is None and not finished)

    def _execute(self, task: Minecraft, case: _Case, agent: str, make: Callable[[], Any]) -> bool:
        """Show the execution by one agent; whether it finishes."""
        from program_guided.tasks.minecraft.snapshots import execution

        moments = list(execution(case.batch(), make()))
        last = moments[-1]
        self._draw(moments)
        if self.json:
            steps = [{"time": each.time, "action": each.action, "message": each.message} for each in moments[1:]]
            about = {"program": case.name, "seed": case.seed, "outcome": last.outcome, "steps": last.time}
            print_json({**about, "trace": steps})
        else:
            self._show(moments, agent, case)
            if self.map is not None and last.outcome != "finished":
                self._try_planner(task, case)
            self._print_written()
        return last.outcome == "finished"

    def _compare(self, case: _Case, agents: Sequence[str], acting: Sequence[Callable[[], Any]]) -> bool:
        """Show the executions by two agents beside each other; whether the first one finishes."""
        from program_guided.tasks.minecraft.snapshots import snapshot

        names = _short_names(agents)
        strips = [strip_of(case.batch(), make(), name) for name, make in zip(names, acting, strict=True)]
        if self.png is not None:
            from program_guided.tasks.minecraft.pictures.beside import save_comparison

            note = f"{'program' if self.split is None else case.name}, {case.world}"
            save_comparison(snapshot(case.batch(), 0), strips, self.png, note)
        if self.json:
            executions = [{"agent": agent, **_as_dict(strip)} for agent, strip in zip(agents, strips, strict=True)]
            print_json({"program": case.name, "seed": case.seed, "executions": executions})
        else:
            print(f"{Path(case.name).name} ({case.world})")
            print("\n".join(strips[0].end.program))
            _print_strips(strips)
            self._print_written()
        return strips[0].end.outcome == "finished"

    def _chosen(self, split: str, program: Program, acting: Sequence[Callable[[], Any]]) -> _Case:
        """The wanted program of the split."""
        from program_guided.tasks.minecraft.splits import load_split, split_name
        from program_guided.tasks.minecraft.world.rules import Outcome

        name, routines = split_name(split), _routines(program)
        entries = [(at, each) for at, each in enumerate(load_split(name)) if routines <= _routines(each.program)]
        left = self.skip
        with progress_bars() as progress:
            show = progress.bar(f"programs of {name}", len(entries))
            for done, (number, entry) in enumerate(entries):
                show(done)
                case = _Case(f"program {number} of {name}", entry.program, entry.seed, None, None)
                wanted = zip(acting, WANTED[self.only], strict=False)
                if all(each is None or (_outcome(case, make()) == Outcome.FINISHED) == each for make, each in wanted):
                    if left == 0:
                        return case
                    left -= 1
        found = counted(self.skip - left, "program") if self.skip > left else "no program"
        having = f" of {len(entries)} with these routines" if routines else ""
        raise DataError(f"{name}: {found}{having} is as wanted (only {self.only}, skip {self.skip})")

    def _show(self, moments: list[Snapshot], agent: str, case: _Case) -> None:
        from program_guided.tasks.minecraft.pictures.terminal import animate

        animate(moments, self.delay)
        last = moments[-1]
        stopped = last.message if last.outcome == "running" else last.outcome
        world = case.world if self.split is None else f"{case.name}, {case.world}"
        print(f"{agent}: {stopped} after {counted(last.time, 'step')} ({world})")

    def _try_planner(self, task: Any, case: _Case) -> None:
        """Report if the planner fails on the user's map too: the program may be impossible there."""
        from program_guided.tasks.minecraft.snapshots import execution

        *_, last = execution(case.batch(), world_agent(task, "planner")[0])
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
        if self.beside is not None and self.gif is not None:
            raise DataError(f"{self.gif}: an animation shows one agent; two beside each other are drawn as PNG")
        self._check_choice()

    def _check_choice(self) -> None:
        """Raise `DataError` for options of a split that contradict each other."""
        if self.split is None and (self.only != "any" or self.skip):
            raise DataError(f"only {self.only}, skip {self.skip}: they choose a program of a split; name the split")
        if self.split is not None and (self.map is not None or self.inventory is not None):
            raise DataError(f"split {self.split}: its programs have their own worlds; leave map and inventory out")
        if self.only == "differ" and self.beside is None:
            raise DataError("only differ: two agents are needed; name the one beside")
        if self.skip < 0:
            raise DataError(f"skip {self.skip}: a number of programs is 0 or more")

    def _draw(self, moments: list[Snapshot]) -> None:
        if self.gif is not None or self.png is not None:
            from program_guided.tasks.minecraft.pictures.picture import save_gif, save_png

            if self.gif is not None:
                save_gif(moments, self.gif)
            if self.png is not None:
                save_png(moments[-1], self.png)

    def _print_written(self) -> None:
        written = [str(path) for path in (self.gif, self.png) if path is not None]
        if written:
            print("wrote", " and ".join(written))


def strip_of(batch: Batch, agent: Any, name: str) -> Strip:
    """The execution of world 0 by an agent, routine by routine."""
    from program_guided.tasks.minecraft.pictures.beside import Executed, Strip
    from program_guided.tasks.minecraft.snapshots import execution, routine_text

    table, routines, begun = batch.tables[int(batch.program[0])], list[Executed](), 0
    for moment in execution(batch, agent):
        ended = int(batch.ended[0])
        if moment.time > begun and ended >= 0:
            routines.append(_executed(routine_text(table, ended), moment, moment.time - begun))
            begun = moment.time
    if moment.outcome in ("timeout", "running"):
        pointed = routine_text(table, int(batch.routine[0]))
        problem = "timeout" if moment.outcome == "timeout" else "no way"
        routines.append(Executed(pointed, moment, moment.time - begun, problem=problem))
    return Strip(name, tuple(routines), moment)


def _executed(routine: str, moment: Snapshot, steps: int) -> Executed:
    """A routine that has just ended."""
    from program_guided.tasks.minecraft.pictures.beside import Executed
    from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, Action

    answer = moment.action if moment.action in ACTION_NAMES[Action.TRUE :] else ""
    problem = "" if moment.outcome in ("running", "finished", "timeout") else moment.outcome
    if problem == "wrong answer":
        problem = f"it is {moment.message.rpartition(' is ')[2]}"
    return Executed(routine, moment, steps, answer, problem)


def _maker(task: Minecraft, name: str, seed: int) -> Callable[[], Any]:
    """A function that returns the agent: chance begins anew each time, a checkpoint is read once."""

    def make() -> Any:
        return world_agent(task, name, seed=seed)[0]

    return make if name == "random" else cache(make)


def _outcome(case: _Case, agent: Any) -> int:
    from program_guided.learning.agents import run_programs

    return int(run_programs(case.batch(), agent).outcome[0])


def _routines(program: Program) -> set[tuple[Any, ...]]:
    return {(call.operation, *call.words) for call in calls(program.body)}


def _short_names(agents: Sequence[str]) -> list[str]:
    """The names of checkpoints without their folders, where that distinguishes them."""
    short = [Path(agent).name or agent for agent in agents]
    return short if len(set(short)) == len(short) else list(agents)


def _as_dict(strip: Strip) -> dict[str, Any]:
    routines = [
        {"routine": each.routine, "time": each.end.time, "answer": each.answer or None, "problem": each.problem or None}
        for each in strip.routines
    ]
    return {"outcome": strip.end.outcome, "steps": strip.end.time, "routines": routines}


def _print_strips(strips: Sequence[Strip]) -> None:
    """Print the executions as one table, and their outcomes."""
    count = max(len(strip.routines) for strip in strips)
    rows = [[str(number + 1), *(text for strip in strips for text in _cells(strip, number))] for number in range(count)]
    print_table("", ("", *(heading for strip in strips for heading in (strip.agent, ""))), rows)
    for strip in strips:
        print(f"{strip.agent}: {strip.headline}")


def _cells(strip: Strip, number: int) -> tuple[str, str]:
    if number >= len(strip.routines):
        return "", ""
    each = strip.routines[number]
    return each.routine, each.result if not each.problem else f"{each.result}  FAILED"


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
