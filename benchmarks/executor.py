"""Speed of the executor on one core: by program length, against its own plain forms, and beside torch's decoder.

A sample is one step of one world: the pointed routine executed, down to the scores of the actions. The peer is
a plain two-layer `torch.nn.TransformerDecoder` of the same width, heads and hidden size over the same 64 cells, twice:
with every routine of the program as a target (what the paper's equations compute, and what a plain decoder has to), and
with the pointed routine alone (the least it can be asked).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.timing import Timed, Watch, one_core, unwatched
from program_guided.learning.examples import tensors_of
from program_guided.learning.execution import WorldExecution, infer
from program_guided.models.attention import TableAttention
from program_guided.models.config import PlusConfig
from program_guided.models.executor import Executor
from program_guided.models.model import Model, Step
from program_guided.models.propagation import spread, spread_plain
from program_guided.models.readers.grid import Cells, Maps
from program_guided.registry import build_model, model_config
from program_guided.tasks.minecraft.domain import ACTIONS, KINDS, LARGEST_SIDE, OBJECTS
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.minecraft.world.batch import Batch

__all__ = ["Options", "measure", "print_figures"]

LENGTHS = (5, 20, 80, 200)
BATCHES = (64, 1024)
CALLS = 5
"""Calls in one turn."""
WORLDS = 64
"""Worlds in the measurement by program length."""


@dataclass(frozen=True)
class Options(Timed):
    """Options of the measurement."""

    def measure(self, show: Watch) -> dict[str, Any]:
        """All figures."""
        self.check()
        return measure(self.seconds, show)


def measure(seconds: float, show: Watch = unwatched) -> dict[str, Any]:
    """All figures; each measurement runs about so many seconds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_core():
            torch.manual_seed(0)
            names = ("plus", "paper")
            parts: list[Callable[[float], Any]] = [*(partial(_by_length, name) for name in names), _shortcuts, _speeds]
            found = []
            for number, part in enumerate(parts):
                show("measured", number, len(parts))
                found.append(part(seconds))
            show("measured", len(parts), len(parts))
            *each_length, shortcuts, speeds = found
            lengths = dict(zip(names, each_length, strict=True))
            return {
                "cores": 1,
                "step_by_routines": lengths,
                "longest_against_shortest": {
                    name: each["pointed row"][str(LENGTHS[-1])] / each["pointed row"][str(LENGTHS[0])]
                    for name, each in lengths.items()
                },
                "shortcuts": shortcuts,
                "samples_per_second": speeds,
                "times_faster_than_decoder": _ratios(speeds),
            }
    finally:
        torch.set_num_threads(threads)


def _seconds(runs: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """The shortest time of many calls of each. They take turns, so that a busy moment of the machine meets all; in
    its turn each is called several times, as in use, so that its weights are in the cache after the first."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    begin = time.perf_counter()
    while min(map(len, times.values())) < 5 or time.perf_counter() - begin < seconds * len(runs):
        for name, run in runs.items():
            for _ in range(CALLS):
                started = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - started)
    return {name: min(each) for name, each in times.items()}


def _started(count: int) -> Batch:
    """Worlds some steps into their programs."""
    batch = Batch(load_split("test"), count)
    batch.reset()
    for _ in range(10):
        batch.step_or_reset(batch.best_actions()[0].argmax(axis=1))
    return batch


def _grid(batch: Batch) -> Maps:
    arrays = tensors_of(batch.observe().specification)
    return Maps.read({name: array.clone() for name, array in arrays.items()})


def _build(name: str) -> Executor:
    model: Executor = build_model(name, model_config(name)(), Minecraft().sizes(), Minecraft.reader)
    return model


def _by_length(name: str, seconds: float) -> dict[str, dict[str, float]]:
    """Milliseconds of a step of `WORLDS` worlds, by the number of routines, in both forms."""
    model, batch = _build(name).eval(), _started(WORLDS)
    grid, random = _grid(batch), np.random.default_rng(0)
    runs: dict[str, dict[str, Callable[[], object]]] = {"pointed row": {}, "all rows": {}}
    rows = batch.programs.words.astype(np.int64)
    for length in LENGTHS:
        words = torch.from_numpy(rows[random.integers(0, len(rows), (WORLDS, length))])
        results = torch.randn(WORLDS, length, model.width)
        pointed = torch.from_numpy(random.integers(1, length, (WORLDS, 1)))
        step = Step(grid, words, results, pointed, (pointed - 1)[..., None])
        runs["pointed row"][str(length)] = _without_gradients(model, step)
        if length <= LENGTHS[1]:
            runs["all rows"][str(length)] = torch.inference_mode()(partial(model.full, step))
    return {way: {length: 1e3 * time for length, time in _seconds(each, seconds).items()} for way, each in runs.items()}


def _without_gradients(model: Model, step: Step) -> Callable[[], object]:
    return torch.inference_mode()(lambda: model.decode(model(step), "Action"))


def _shortcuts(seconds: float) -> dict[str, dict[str, float]]:
    """Milliseconds forward and backward of 1,024 samples: the shortcut, the plain form, and how many times faster."""
    batch = _started(1024)
    grid, width = _grid(batch), 128
    cells = Cells(width, 256, Minecraft.reader, offsets=True, normalised=True)
    attention, query = TableAttention(width, 8, null_key=True), torch.randn(1024, width, requires_grad=True)
    index = cells.index(grid)
    plans = 6
    shapes = ((len(KINDS), plans), (grid.side, plans), (grid.side, plans), (len(KINDS), plans))
    tables = [torch.rand(1024, *shape, requires_grad=True) for shape in shapes]
    pairs = {
        "attention over cells": (
            lambda: attention(query, cells.table(grid.side), index),
            lambda: attention.plain(query, cells.table(grid.side), index),
        ),
        "values that spread": (
            lambda: spread(grid.kinds, grid.agent, *tables),
            lambda: spread_plain(grid.kinds, grid.agent, *tables),
        ),
    }
    found = {}
    for name, (short, long) in pairs.items():
        times = _seconds({"shortcut": _and_back(short), "plain": _and_back(long)}, seconds)
        shortcut, plain = 1e3 * times["shortcut"], 1e3 * times["plain"]
        found[name] = {"shortcut": shortcut, "plain": plain, "times_faster": plain / shortcut}
    return found


def _and_back(run: Callable[[], Tensor]) -> Callable[[], object]:
    return lambda: run().sum().backward()  # type: ignore[no-untyped-call]


def _speeds(seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Samples a second by model and batch size."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for count in BATCHES:
        batch = _started(count)
        models: dict[str, Callable[[], Tensor]] = {name: _executor(name, batch) for name in ("plus", "paper")}
        models |= {
            "decoder, all routines": Decoder(batch, alone=False),
            "decoder, pointed routine": Decoder(batch, alone=True),
        }
        forward = _seconds({name: torch.inference_mode()(model) for name, model in models.items()}, seconds)
        both = _seconds({name: _and_back(model) for name, model in models.items()}, seconds)
        for name in models:
            speeds = {"forward": count / forward[name], "forward and backward": count / both[name]}
            found.setdefault(name, {})[str(count)] = speeds
    return found


def _executor(name: str, batch: Batch) -> Callable[[], Tensor]:
    model = _build(name)
    execution = WorldExecution(model, batch)
    return lambda: infer(model, execution.observe())[0].clamp(min=-1e9)


def _ratios(speeds: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Speed as a multiple of each decoder's."""
    return {
        name: {
            peer: {
                count: {way: speed / speeds[peer][count][way] for way, speed in ways.items()}
                for count, ways in speeds[name].items()
            }
            for peer in speeds
            if peer.startswith("decoder")
        }
        for name in ("plus", "paper")
    }


class Decoder(nn.Module):
    """torch's own decoder, two layers: routines are targets, cells the memory."""

    def __init__(self, batch: Batch, alone: bool) -> None:
        super().__init__()
        config, sizes = PlusConfig(), Minecraft().sizes()
        word_width = config.word_width_of(sizes.words)
        self.batch, self.alone, width = batch, alone, sizes.words * word_width
        self.word = nn.Embedding(len(sizes.vocabulary), word_width)
        self.kind, self.row = nn.Embedding(len(KINDS), width), nn.Embedding(LARGEST_SIDE, width)
        self.column, self.carried = nn.Embedding(LARGEST_SIDE, width), nn.Linear(len(OBJECTS), width)
        layer = nn.TransformerDecoderLayer(width, config.heads, config.hidden, dropout=0.0, batch_first=True)
        self.decoder, self.head = nn.TransformerDecoder(layer, num_layers=2), nn.Linear(width, len(ACTIONS))

    def forward(self) -> Tensor:
        worlds, count = self.batch.worlds, self.batch.count
        number, routine = torch.arange(count), torch.from_numpy(worlds.routine.astype(np.int64))
        longest = int(self.batch.programs.size[worlds.program].max())
        routine = routine.clamp(max=longest - 1)
        words = torch.from_numpy(self.batch.view.words)[:, :longest].long()
        words = words[number, routine][:, None] if self.alone else words
        targets = self.word(words).flatten(2)
        side = worlds.cells.shape[1]
        cells = self.kind(torch.from_numpy(worlds.cells).long())
        cells = cells + self.row(torch.arange(side))[:, None] + self.column(torch.arange(side))
        cells = cells + self.carried(torch.from_numpy(worlds.inventory).float())[:, None, None]
        rows = self.decoder(targets, cells.flatten(1, 2))
        return self.head(rows[:, 0] if self.alone else rows[number, routine])


def print_figures(figures: dict[str, Any]) -> None:
    """Tables for a person."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title="milliseconds a step of 64 worlds", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("", *(f"{length} routines" for length in LENGTHS)):
        table.add_column(heading, justify="right" if heading else "left")
    for name, ways in figures["step_by_routines"].items():
        for way, times in ways.items():
            shown = (f"{times[str(length)]:.1f}" if str(length) in times else "" for length in LENGTHS)
            table.add_row(f"{name}, {way}", *shown)
    console.print(table)
    for name, ratio in figures["longest_against_shortest"].items():
        print(f"{name}: {LENGTHS[-1]} routines cost {ratio:.2f}x what {LENGTHS[0]} do")
    print()
    for name, times in figures["shortcuts"].items():
        print(
            f"{name}: {times['shortcut']:.1f} ms, plain {times['plain']:.1f} ms ({times['times_faster']:.1f}x), "
            "1,024 samples forward and backward"
        )
    print()
    table = Table(title="samples a second, one core", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for count in BATCHES:
        for way in ("forward", "forward and backward"):
            table.add_column(f"{way},\nbatch {count:,}", justify="right")
    for name, counts in figures["samples_per_second"].items():
        table.add_row(name, *(f"{speed:,.0f}" for ways in counts.values() for speed in ways.values()))
    for name, peers in figures["times_faster_than_decoder"].items():
        for peer, counts in peers.items():
            shown = (f"{ratio:.1f}x" for ways in counts.values() for ratio in ways.values())
            table.add_row(f"{name} against {peer}", *shown)
    console.print(table)
