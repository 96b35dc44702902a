"""The training loop around what learns: processes, progress, logs, checkpoints, and going on after an interruption.

    train(Job(task, "plus", PlusConfig(), task.reader_config, ImitationSettings(), folder=Path("out/plus"), seed=0))

A run is a folder: `training.safetensors` (all that the rest of the training depends on: one file, so that it is never
half of something), and what follows from it: `model.safetensors` and `config.json` (a checkpoint of the averaged
weights), `log.jsonl` and TensorBoard's events, which are written again when a run is resumed. Killed at any moment and
resumed, a run ends with the same weights as if never interrupted. Ctrl-C or SIGTERM saves first; a second one does not.

Lightning Fabric starts the processes and says where tensors live; gradients are averaged in one go, so a step is the
same on one process, on several (gloo), on GPUs, or on machines started by torchrun.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.multiprocessing.spawn import ProcessRaisedException
from torch.nn.attention import SDPBackend, sdpa_kernel

from program_guided.errors import DataError
from program_guided.files import check_writable, held, sweep, write_atomically
from program_guided.learning.checkpoint import (
    CONFIG,
    Origin,
    load_weights,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from program_guided.learning.learner import AllReduce, Learner, Share, check_device
from program_guided.learning.settings import Algorithm, Settings, Target
from program_guided.models.model import Model, Sizes
from program_guided.models.readers.config import ReaderConfig
from program_guided.registry import build_model

__all__ = ["OPTIONS", "STATE", "Job", "Moment", "Trainable", "Training", "Validation", "launch", "train"]

STATE, LOG, OPTIONS = "training.safetensors", "log.jsonl", "options.json"
INTERRUPTED = "interrupted"

for talker in ("distributed", "rank_zero"):  # no banner of the processes
    logging.getLogger(f"lightning_fabric.utilities.{talker}").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Validation:
    """Figures of a model on what is held out, in %."""

    completion: float
    """Programs finished, or last results right."""
    routines: Mapping[str, float] = field(default_factory=dict)
    """By operation."""
    lengths: Mapping[str, float] = field(default_factory=dict)
    """By program length."""


class Trainable(Protocol):
    """A task as training needs it."""

    def origin(self) -> Origin: ...
    def sizes(self) -> Sizes: ...
    def check(self, target: Target) -> None:
        """One clear error for a target or options that cannot be."""

    def prepare(self, model: Model) -> None:
        """Give an untrained model what the data tell without labels."""

    def learner(
        self,
        model: Model,
        settings: Any,
        target: Target,
        seed: int,
        share: Share,
        all_reduce: AllReduce,
    ) -> Learner[Any]: ...

    def validate(self, model: Model) -> Validation:
        """Figures on the held-out part of train."""

    def identity(self) -> dict[str, Any]:
        """Options and data that must be the same when a training is resumed; JSON."""


class Training(ABC):
    """A training from beginning to end, whatever is trained."""

    settings: Settings
    folder: Path
    seed: int
    processes: int
    accelerator: str
    resume: bool
    wandb: bool
    """Log to Weights & Biases too."""
    about: Mapping[str, Any] | None
    """Provenance of the run: command, commit, machine."""
    options: Mapping[str, Any] | None
    """All options by name, to be kept beside the run."""

    @abstractmethod
    def build(self) -> Any:
        """The network to train, with its first weights."""

    @abstractmethod
    def learner(self, model: Any, share: Share, all_reduce: AllReduce) -> Learner[Any]:
        """The training of a network that was built."""

    @abstractmethod
    def validate(self, model: Any) -> Validation:
        """Figures on what is held out."""

    @abstractmethod
    def save(self, model: Any, training: Mapping[str, Any]) -> None:
        """Write a checkpoint, with the record of its training."""

    @abstractmethod
    def identity(self) -> dict[str, dict[str, Any]]:
        """All that must be the same when the training is resumed, besides seed and settings: by part, JSON."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """The part of the record of a training that is its own."""

    def check(self) -> None:
        """One clear error for a training that cannot begin."""
        self.settings.check(self.processes)
        if not 0 <= self.seed < 2**31:
            raise DataError(f"seed {self.seed}: a seed is from 0 to 2**31 - 1")
        check_device(self.accelerator)
        if self.wandb and importlib.util.find_spec("wandb") is None:
            raise DataError("wandb is not installed; install it with: pip install 'program_guided[wandb]'")
        self.check_own()
        state = self.folder / STATE
        if self.resume and not state.is_file():
            raise DataError(f"{self.folder}: there is no training to resume ({STATE} is missing)")
        if not self.resume and state.is_file():
            raise DataError(f"{self.folder}: holds a training already; resume it, or name another folder")
        if not self.resume and (self.folder / CONFIG).is_file():
            raise DataError(f"{self.folder}: holds a checkpoint already; name another folder")
        check_writable(state)

    @abstractmethod
    def check_own(self) -> None:
        """One clear error for what only this training needs."""


@dataclass(frozen=True)
class Job(Training):
    """The training of an executor on a task."""

    task: Trainable
    model: str
    """The name of a model."""
    config: Any
    """Its configuration."""
    reader: ReaderConfig
    settings: Settings
    folder: Path
    target: Target = "dense"
    algorithm: Algorithm = "ppo"
    seed: int = 0
    processes: int = 1
    accelerator: str = "cpu"
    start: Path | None = None
    """A checkpoint whose weights are the first ones."""
    resume: bool = False
    wandb: bool = False
    """Log to Weights & Biases too."""
    about: Mapping[str, Any] | None = None
    """Provenance of the run: command, commit, machine."""
    options: Mapping[str, Any] | None = None
    """All options by name, to be kept beside the run."""

    def build(self) -> Model:
        model: Model = build_model(self.model, self.config, self.task.sizes(), self.reader)
        self.task.prepare(model)
        if self.start is not None and not self.resume:
            load_weights(model, self.start, self.task.origin().answers)
        return model

    def learner(self, model: Model, share: Share, all_reduce: AllReduce) -> Learner[Any]:
        return self.task.learner(model, self.settings, self.target, self.seed, share, all_reduce)

    def validate(self, model: Model) -> Validation:
        return self.task.validate(model)

    def save(self, model: Model, training: Mapping[str, Any]) -> None:
        save_checkpoint(self.folder, self.model, model, self.reader, self.task.origin(), training)

    def identity(self) -> dict[str, dict[str, Any]]:
        origin = self.task.origin()
        return {
            "task": {"name": origin.name, "version": origin.version, **self.task.identity()},
            "model": {"name": self.model, **asdict(self.config)},
            "reader": self.reader.as_dict(),
            "training": {"target": self.target},
        }

    def described(self) -> dict[str, Any]:
        return {
            "target": self.target,
            **({"algorithm": self.algorithm} if self.target in ("reward", "progress") else {}),
            "task": self.task.identity(),
            **({"start": self.start.name} if self.start else {}),
        }

    def check_own(self) -> None:
        self.task.check(self.target)
        with torch.device("meta"):
            build_model(self.model, self.config, self.task.sizes(), self.reader)
        if self.start is not None and not self.resume:
            self.build()


@dataclass(frozen=True)
class Moment:
    """A moment of a training."""

    step: int
    steps: int
    samples: int
    seconds: float
    loss: float
    completion: float | None
    """% of the held-out programs right by the averaged weights, when they were last evaluated."""
    evaluated: bool = False
    """Whether that was now."""
    routines: Mapping[str, float] = field(default_factory=dict)
    """Then, % of routines right, by operation."""
    lengths: Mapping[str, float] = field(default_factory=dict)
    """Then, % finished of the programs of at most so many tokens."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Then, the learner's own figures."""


def train(job: Training, watch: Callable[[Moment], None] = lambda moment: None) -> None:
    """Train to the end; the checkpoint is in the job's folder. `watch` is called after every iteration of the first
    process. KeyboardInterrupt if the training was interrupted; its state is then saved."""
    job.check()
    alone = job.processes == 1 or _by_torchrun()
    first = os.environ.get("RANK", "0") == "0"
    with held(job.folder) if first else nullcontext():
        if first:
            sweep(job.folder)
            if job.options is not None and not job.resume:
                text = json.dumps(dict(job.options), indent=2, default=str) + "\n"
                write_atomically(job.folder / OPTIONS, text.encode())
        with nullcontext() if alone else _Interrupts(pass_on=True):
            problem = launch(partial(_work, job=job, watch=watch if alone else None), job.processes, job.accelerator)
    if problem == INTERRUPTED:
        raise KeyboardInterrupt
    if problem:
        raise DataError(problem)


class _Interrupts:
    """Notes Ctrl-C and SIGTERM, so that the iteration can be completed and saved; a second one raises KeyboardInterrupt
    at once."""

    def __init__(self, pass_on: bool = False) -> None:
        self.asked, self._pass_on = False, pass_on
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                    self._before[number] = signal.signal(number, self._note)
            if multiprocessing.parent_process() is not None:  # the first process passes it on, once
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        for process in multiprocessing.active_children() if self._pass_on else []:
            process.terminate()


def launch(work: Callable[[Any], Any], processes: int, accelerator: str = "cpu") -> Any:
    """`work(fabric)` in so many processes, or in those that torchrun has started; what the first one returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Fabric speaks of devices that are not there
        from lightning_fabric import Fabric

        machines, strategy = 1, "auto" if processes == 1 else "ddp_spawn"
        if _by_torchrun():
            processes = int(os.environ["LOCAL_WORLD_SIZE"])
            machines, strategy = int(os.environ["WORLD_SIZE"]) // processes, "ddp"
        try:
            fabric = Fabric(accelerator=accelerator, devices=processes, num_nodes=machines, strategy=strategy)
        except (RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"accelerator {accelerator} with {processes} processes: {reason}") from None
        try:
            return fabric.launch(partial(_together, work=work))
        except ProcessRaisedException as error:
            _, separator, problem = str(error).rpartition(f"{DataError.__name__}: ")
            if not separator:
                raise
            raise DataError(problem.strip()) from None


def _together(fabric: Any, work: Callable[[Any], Any]) -> Any:
    """Processes end together, and their connections before them: one that is left open can abort a process."""
    if multiprocessing.parent_process() is not None:
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    result = work(fabric)
    if torch.distributed.is_initialized():
        fabric.barrier()
        torch.distributed.destroy_process_group()
    return result


def _end_with(parent: int) -> None:
    """A process whose starter was killed ends too: it would go on writing to a folder whose training is resumed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def _work(fabric: Any, job: Training, watch: Callable[[Moment], None] | None) -> str | None:
    """The work of each process. Of several, one that fails ends the others, which would wait for it for ever."""
    try:
        return _run(fabric, job, watch)
    except DataError as error:
        if fabric.world_size > 1:
            raise
        return str(error)


@contextmanager
def _compiled_products() -> Iterator[None]:
    """Matrix products by oneDNN, which compiles one for every shape that it meets: up to twice as fast where shapes
    recur. It may round the factors where the processor has units for that; elsewhere it is as exact as the default."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with sdpa_kernel(SDPBackend.MATH):  # attention in one kernel is slower with it
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def _run(fabric: Any, job: Training, watch: Callable[[Moment], None] | None) -> str | None:
    if fabric.world_size > 1:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // fabric.strategy.num_processes))
    run = _Run(fabric, job)
    if job.resume:
        run.restore()
    if watch is None and fabric.is_global_zero:
        from program_guided.learning.progress import ProgressBar

        with ProgressBar() as bar:
            return run.to_the_end(bar)
    return run.to_the_end(watch if fabric.is_global_zero and watch is not None else lambda moment: None)


class _Run:
    """A training in this process."""

    def __init__(self, fabric: Any, job: Training) -> None:
        self.fabric, self.job = fabric, job
        torch.manual_seed(job.seed)
        share = (fabric.global_rank, fabric.world_size)
        self.training = job.learner(job.build().to(fabric.device), share, self._mean)
        self.seconds, self.curve = 0.0, list[dict[str, Any]]()
        self.losses: list[float] = []
        """Since the last evaluation."""
        self._since = time.perf_counter()

    def _mean(self, tensor: Tensor) -> Tensor:
        return self.fabric.all_reduce(tensor, reduce_op="mean") if self.fabric.world_size > 1 else tensor

    def to_the_end(self, watch: Callable[[Moment], None]) -> str | None:
        """Train; say what went wrong, if anything did."""
        with _compiled_products() if self.training.shapes_recur else nullcontext():
            return self._to_the_end(watch)

    def _to_the_end(self, watch: Callable[[Moment], None]) -> str | None:
        training, settings = self.training, self.job.settings
        log = _Log(self.job, self.curve) if self.fabric.is_global_zero else None
        completion = self.curve[-1]["completion"] if self.curve else None
        with _Interrupts() as interrupts:
            while training.done < settings.iterations:
                loss = training.step()
                if loss != loss:
                    return (
                        f"the loss is not a number any more after {self.step:,} steps; {self._kept()}. "
                        f"A new training with a lower learning rate may help"
                    )
                self.losses.append(loss)
                steps = settings.iterations * settings.stride
                moment = Moment(self.step, steps, self.samples, self._elapsed(), loss, completion)
                if self.step % settings.eval_every < settings.stride or training.done == settings.iterations:
                    if log is not None:
                        moment = self._evaluated(replace(moment, loss=sum(self.losses) / len(self.losses)))
                        completion = moment.completion
                        self.curve.append(_line(moment))
                    self.losses = []
                    self._save()
                    if log is not None:
                        log.add(self.curve[-1])
                watch(moment)
                if self._any(interrupts.asked) and training.done < settings.iterations:
                    self._save()
                    return INTERRUPTED
        return None

    def _any(self, asked: bool) -> bool:
        """Whether any process was interrupted."""
        return bool(self._mean(torch.tensor(float(asked))) > 0) if self.fabric.world_size > 1 else asked

    def _kept(self) -> str:
        if (self.job.folder / STATE).is_file():
            return f"the last state that was saved is kept in {self.job.folder}"
        return "no state had been saved yet"

    @property
    def step(self) -> int:
        return self.training.done * self.job.settings.stride

    @property
    def samples(self) -> int:
        return self.training.done * self.job.settings.samples

    def _elapsed(self) -> float:
        return self.seconds + time.perf_counter() - self._since

    def _evaluated(self, moment: Moment) -> Moment:
        found = asdict(self.job.validate(self.training.average))
        return replace(moment, seconds=self._elapsed(), evaluated=True, figures=self.training.figures(), **found)

    def _save(self) -> None:
        """The first process writes the states of all."""
        own = self.training.state()
        states: list[Any] = [own]
        if self.fabric.world_size > 1:
            states = [None] * self.fabric.world_size
            torch.distributed.all_gather_object(states, own)
        if not self.fabric.is_global_zero:
            return
        tensors = {f"{rank}.{name}": tensor for rank, (part, _) in enumerate(states) for name, tensor in part.items()}
        for name, model in (("model", self.training.model), ("average", self.training.average)):
            tensors |= {f"{name}.{key}": tensor for key, tensor in model.state_dict().items()}
        optimizer = self.training.optimizer.state_dict()["state"]
        tensors |= {f"optimizer.{i}.{key}": tensor for i, each in optimizer.items() for key, tensor in each.items()}
        numbers = {
            "job": _identity(self.job),
            "processes": self.fabric.world_size,
            "states": [numbers for _, numbers in states],
            "seconds": self._elapsed(),
            "losses": self.losses,
            "curve": self.curve,
        }
        write_tensors(self.job.folder / STATE, tensors, {"numbers": json.dumps(numbers)})
        self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        self.job.save(self.training.average, self._provenance())

    def _provenance(self) -> dict[str, Any]:
        """The record of the training in its checkpoint."""
        job = self.job
        return {
            **(job.about or {}),
            **job.described(),
            "seed": job.seed,
            "processes": self.fabric.world_size,
            "settings": asdict(job.settings),
            "steps": self.step,
            "samples": self.samples,
            "minutes": self._elapsed() / 60,
            "curve": self.curve,
        }

    def restore(self) -> None:
        """Go on from the saved state."""
        path = self.job.folder / STATE
        tensors, metadata = read_tensors(path)
        try:
            numbers = json.loads(metadata["numbers"])
            identity, processes = numbers["job"], numbers["processes"]
        except (KeyError, ValueError):
            raise DataError(f"{path}: is damaged, or not the state of a training") from None
        if processes != self.fabric.world_size:
            raise DataError(f"{path}: the training ran on {processes} processes; resume it with as many")
        asked = _identity(self.job)
        if identity != asked:
            wrong = sorted(name for name in identity.keys() | asked.keys() if identity.get(name) != asked.get(name))
            changes = [f"{name} was {identity.get(name, 'not there')}, is {asked.get(name, 'gone')}" for name in wrong]
            raise DataError(
                f"{path}: the training was begun with other settings, or by another version: {'; '.join(changes)}. "
                "Resume it with the same, or begin anew in another folder"
            )
        try:
            self._restore(tensors, numbers)
        except (KeyError, ValueError, RuntimeError, IndexError, TypeError) as error:
            raise DataError(f"{path}: is damaged, a part of the state is missing or wrong ({error})") from None
        self._since = time.perf_counter()
        if self.fabric.is_global_zero:
            self._save_checkpoint()  # killed in its last save, the run may have an older one

    def _restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        training, rank = self.training, self.fabric.global_rank
        training.model.load_state_dict(_under("model.", tensors))
        training.average.load_state_dict(_under("average.", tensors))
        optimizer = training.optimizer.state_dict()
        for name, tensor in _under("optimizer.", tensors).items():
            number, key = name.split(".", 1)
            optimizer["state"].setdefault(int(number), {})[key] = tensor
        if not optimizer["state"]:
            raise ValueError("nothing of the optimizer")
        training.optimizer.load_state_dict(optimizer)
        training.restore(_under(f"{rank}.", tensors), numbers["states"][rank])
        self.seconds, self.losses, self.curve = numbers["seconds"], numbers["losses"], numbers["curve"]


def _identity(job: Training) -> dict[str, Any]:
    """All that must be the same when a training is resumed, as JSON reads it back."""
    parts = job.identity()
    parts["training"] = {**parts.get("training", {}), "seed": job.seed, **asdict(job.settings)}
    flat = {f"{part} {name}": value for part, values in parts.items() for name, value in values.items()}
    return json.loads(json.dumps(flat))


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _line(moment: Moment) -> dict[str, Any]:
    """The record of an evaluated moment."""
    kept = ("step", "samples", "seconds", "loss", "completion", "routines", "lengths", "figures")
    return {name: getattr(moment, name) for name in kept}


class _Log:
    """JSON lines, TensorBoard and Weights & Biases; entries after the state that is resumed are purged."""

    def __init__(self, job: Training, curve: list[dict[str, Any]]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.path = job.folder / LOG
        write_atomically(self.path, "".join(json.dumps(line) + "\n" for line in curve).encode("utf-8"))
        self.board = SummaryWriter(str(job.folder), purge_step=curve[-1]["step"] if curve else None)
        self.wandb = _wandb_run(job) if job.wandb else None
        if curve:  # purged with what lies behind it, and perhaps never written
            self._draw(curve[-1])

    def add(self, line: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._draw(line)

    def _draw(self, line: Mapping[str, Any]) -> None:
        scalars = {"loss": line["loss"], "completion": line["completion"], **line["figures"]}
        scalars["samples a second"] = line["samples"] / line["seconds"]
        scalars |= {f"routines/{name}": share for name, share in line["routines"].items()}
        scalars |= {f"tokens/up to {tokens}": share for tokens, share in line["lengths"].items()}
        for name, number in scalars.items():
            self.board.add_scalar(name, number, line["step"])
        self.board.flush()
        if self.wandb is not None:
            self.wandb.log(scalars, step=line["step"])


def _wandb_run(job: Training) -> Any:
    """The run at Weights & Biases; a resumed one is the same run."""
    import wandb

    path = job.folder / "wandb-run.txt"
    if not path.is_file():
        write_atomically(path, wandb.util.generate_id().encode("ascii"))
    return wandb.init(
        project="program_guided",
        id=path.read_text("ascii"),
        name=job.folder.name,
        dir=str(job.folder),
        resume="allow",
        config=_identity(job),
    )
