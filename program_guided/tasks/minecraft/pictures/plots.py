"""Plots: of the splits, from the figures of `statistics.describe`, and of trainings, from their checkpoints.

plot_splits(describe(), Path("out/dataset_minecraft.png"))
plot_trainings({"plus": [[{"seconds": 60.0, "completion": 71.5}, ...], ...]}, Path("out/training.png"))
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from program_guided.errors import DataError

__all__ = ["plot_splits", "plot_trainings"]

PANELS = (("tokens", 5), ("routines", 1), ("control_flows", 1), ("plan_steps", 5))
"""Statistic of each panel, and the width of its histogram bins."""
MIN_FAILED = 0.25
"""Minimum % that is drawn: a logarithmic scale has no 0."""


def plot_splits(splits: dict[str, Any], path: Path) -> None:
    """Four histograms over all splits, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    for panel, (key, width) in zip(axes.flat, PANELS, strict=True):
        for number, (name, split) in enumerate(splits.items()):
            histogram = np.array(split[key]["histogram"], float)
            padded = np.pad(histogram, (0, -len(histogram) % width)).reshape(-1, width).sum(axis=1)
            share = 100 * padded / padded.sum()
            panel.stairs(
                share,
                np.arange(len(share) + 1) * width,
                label=name,
                fill=number == 0,
                alpha=0.35 if number == 0 else 1.0,
            )
        panel.set_xlabel(key.replace("_", " "))
        panel.set_ylabel("% of programs")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False)
    figure.suptitle("2D Minecraft: the fixed splits")
    _save(figure, path)


Curve = Sequence[Mapping[str, float]]


def plot_trainings(
    curves: Mapping[str, Sequence[Curve]], path: Path, *, by: str = "seconds", ends: Mapping[str, float] | None = None
) -> None:
    """Plot the % of held-out programs finished, against minutes ("seconds") or steps ("samples") of training, on a
    logarithmic scale of failures. Each kind of training has the curves of its seeds, their mean and standard error.
    `ends` are figures of other work, by name, shown as lines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    unit, label = {"seconds": (60, "minutes of training"), "samples": (1e6, "million steps in the world")}[by]
    figure, panel = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for number, (kind, seeds) in enumerate(curves.items()):
        colour = f"C{number}"
        at = [np.array([each[by] for each in curve]) / unit for curve in seeds]
        failed = [np.array([100 - each["completion"] for each in curve]) for curve in seeds]
        if len(seeds) > 1:
            for along, one in zip(at, failed, strict=True):
                panel.semilogy(along, one.clip(MIN_FAILED), color=colour, alpha=0.3, linewidth=0.8)
        along = np.linspace(max(each[0] for each in at), min(each[-1] for each in at), 200)
        every = np.array([np.interp(along, *each) for each in zip(at, failed, strict=True)])
        mean, error = every.mean(axis=0), every.std(axis=0, ddof=1 if len(seeds) > 1 else 0) / len(seeds) ** 0.5
        name = f"{kind}, mean of {len(seeds)} seeds" if len(seeds) > 1 else kind
        panel.semilogy(along, mean.clip(MIN_FAILED), color=colour, linewidth=1.8, label=name)
        low, high = (mean - error).clip(MIN_FAILED), (mean + error).clip(MIN_FAILED)
        panel.fill_between(along, low, high, color=colour, alpha=0.2, linewidth=0)
    for name, completion in (ends or {}).items():
        panel.axhline(100 - completion, color="black", linestyle="--", linewidth=1, label=f"{name}: {completion:g}")
    panel.set_xlabel(label)
    panel.set_ylabel("% of held-out programs finished")
    panel.set_ylim(100, MIN_FAILED * 0.9)
    marks = (0, 50, 80, 90, 95, 98, 99, 99.5)
    panel.set_yticks([100 - mark for mark in marks], [f"{mark:g}" for mark in marks], minor=False)
    panel.set_yticks([], minor=True)
    panel.set_xlim(left=0)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="best")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    """Write a PNG atomically."""
    import matplotlib.pyplot as plt

    temporary = path.with_name(f".{path.stem}.{os.getpid()}.png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(temporary, dpi=110)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        plt.close(figure)
