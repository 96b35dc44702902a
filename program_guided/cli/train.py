"""`proto train`: train a model on a task, with progress, logs and checkpoints; interrupted, it goes on with
--resume."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from program_guided.cli.parsing import asks_for_help, parse, part_of, read, select
from program_guided.cli.tasks import named_task
from program_guided.errors import DataError, UsageError
from program_guided.files import read_json
from program_guided.learning.settings import Algorithm, Target
from program_guided.output import Flag, OptionalPath, provenance
from program_guided.registry import MODELS, NETWORKS, model_config, named, named_before

__all__ = ["DESCRIPTION", "main"]

DESCRIPTION = """Train a model on a task.

Options that belong to a task, a target, an algorithm or a model are shown with these:
proto train TASK --target reward --help"""
RESUMABLE = "the state is saved in {}: go on with the same command and --resume"
NOT_RECORDED = ("config", "out", "resume")
FLAGS = ("wandb",)
"""Options that are on or left out; other switches have a form with --no- too."""


@dataclass(frozen=True)
class Selection:
    """Options that decide which others there are."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """A built-in or installed task, path/to/file.py, or module:Class."""
    target: Target = "dense"
    """dense: the oracle's results, or the planner's actions, are labels (L_D). partial: only the answer is (L_P).
    reward: +1 when the program is finished, nothing else (L_R). progress: +1 for every routine that is finished."""
    model: Literal[tuple(MODELS)] = "plus"  # type: ignore[valid-type]
    """plus: the best there is here. paper: as close to the paper as works."""
    algorithm: Algorithm = "ppo"
    """Algorithm for the targets reward and progress."""
    config: OptionalPath = None
    """The options of another run: its folder, or the options.json in it. Those on the command line win."""


@dataclass(frozen=True)
class PartialSelection:
    """Options that have to be known first."""

    task: tyro.conf.Positional[tuple[str, ...]] = ()
    config: OptionalPath = None


@dataclass(frozen=True)
class Run:
    """Options of the run."""

    seed: int = 0
    """Seed of the weights, the data's order, the worlds and chance."""
    out: OptionalPath = None
    """Folder of the run; out/TASK-TARGET-MODEL-SEED if left out (with the algorithm, if it is not the default,
    and with what is switched on of the task)."""
    start: OptionalPath = None
    """A checkpoint to begin with, instead of weights that are drawn by chance."""
    resume: Flag = False
    """Go on with the run in that folder."""
    processes: int = 1
    """Processes (or devices) that share the work."""
    accelerator: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    """Device of the tensors."""
    wandb: Flag = False
    """Log to Weights & Biases too (extra `wandb`)."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    if arguments and arguments[0] in NETWORKS:
        return int(read(named(NETWORKS[arguments[0]]["train"]), "proto train", arguments).run())
    given = select(PartialSelection, arguments, "proto train")
    recorded = {} if given.config is None else read_options(given.config)
    if not given.task and "task" not in recorded:
        if asks_for_help(arguments):
            parse("proto train", DESCRIPTION, arguments, {"selection": Selection, "run": Run()})
        raise UsageError("name the task before the options, as in: proto train lists.py --seed 1")
    if not given.task:
        arguments = [str(recorded["task"]), *arguments]
    chosen = select(Selection, _with_recorded(recorded, arguments, [Selection]), "proto train")
    task = named_task(chosen.task)
    recipe = task.recipe(chosen.target, chosen.model, chosen.algorithm)
    reader = task.plain_reader
    optional = {"reader": part_of(replace(reader, **recipe.reader), "Reader", only=reader.options)}
    parts = {
        "selection": Selection,
        "run": Run(),
        "task": task,
        "model": _configured(model_config(chosen.model), recipe.model),
        **{name: part for name, part in optional.items() if part is not None},
        "settings": recipe.settings,
    }
    every = _with_recorded(recorded, arguments, parts.values())
    unknown = recorded.keys() - {"task", *(each.name for part in parts.values() for each in fields(part))}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise DataError(f"{given.config}: {names}: no option of {chosen.task} with {chosen.target} and {chosen.model}")
    return _train(parse("proto train", DESCRIPTION, every, parts))


def _configured(kind: Any, options: Mapping[str, Any]) -> Any:
    """A model's configuration with those options of a recipe that it has."""
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in options.items() if name in known})


def read_options(path: Path) -> dict[str, Any]:
    """The options that a run has recorded, by name."""
    from program_guided.learning.trainer import OPTIONS

    file = path / OPTIONS if path.is_dir() else path
    found = read_json(file)
    kinds = (str, int, float, bool, list, type(None))
    if not isinstance(found, dict) or not all(isinstance(value, kinds) for value in found.values()):
        raise DataError(f"{file}: does not hold the options of a run, as 'proto train' writes them ({OPTIONS})")
    return found


def _record(options: Any) -> dict[str, Any]:
    """All options of a run by name, but those that say where it is and whether it is resumed."""
    parts = [part for name, part in vars(options).items()]
    every = {each.name: getattr(part, each.name) for part in parts for each in fields(part)}
    return {name: value for name, value in every.items() if name not in NOT_RECORDED}


def _with_recorded(recorded: Mapping[str, Any], arguments: Sequence[str], parts: Iterable[Any]) -> list[str]:
    """Arguments with recorded options of some dataclasses before those of the user: the last one wins."""
    known = [each.name for part in parts for each in fields(part) if each.name != "task"]
    words = [word for name in known if name in recorded for word in _argument(name, recorded[name])]
    at = next((place for place, each in enumerate(arguments) if each.startswith("-")), len(arguments))
    return [*arguments[:at], *words, *arguments[at:]]


def _argument(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is None or (value is False and name in FLAGS):
        return []
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    return [option, *map(str, value)] if isinstance(value, list) else [option, str(value)]


def _train(options: Any) -> int:
    from program_guided.learning.progress import ProgressBar
    from program_guided.learning.trainer import STATE, Job, train

    chosen, run, task = options.selection, options.run, options.task
    options.model.check()
    options.settings.check(run.processes)
    target = chosen.target if chosen.algorithm == Selection.algorithm else f"{chosen.target}-{chosen.algorithm}"
    switched_on = [name.replace("_", "-") for name, value in task.options().items() if value is True]
    name = "-".join([task.task_name, *switched_on, target, chosen.model, str(run.seed)])
    folder = run.out or Path("out") / name
    task.check(chosen.target)
    reader = task.reader_config
    if hasattr(options, "reader"):
        reader = replace(reader, **vars(options.reader))
    job = Job(
        task,
        chosen.model,
        options.model,
        reader,
        options.settings,
        folder,
        target=chosen.target,
        algorithm=chosen.algorithm,
        seed=run.seed,
        processes=run.processes,
        accelerator=run.accelerator,
        start=run.start,
        resume=run.resume,
        wandb=run.wandb,
        about=provenance(),
        options=_record(options),
    )
    job.check()
    first = os.environ.get("RANK", "0") == "0"
    if first:
        print(f"training in {folder}; watch it with: tensorboard --logdir {folder}", flush=True)
    try:
        with ProgressBar() as bar:
            train(job, bar)
    except KeyboardInterrupt:
        resumable = (folder / STATE).is_file()
        state = RESUMABLE.format(folder) if resumable else "no state had been saved yet"
        print("interrupted;", state, file=sys.stderr)
        return 130
    if first:
        if bar.moments == 0:
            print(f"{folder}: the training was finished already; for a longer one, begin anew with --start {folder}")
        named = "" if named_before(task.given) else f" --task {task.given}"
        print(f"wrote {folder}; next: proto evaluate {folder}{named}    proto run PROGRAM --agent {folder}{named}")
    return 0
