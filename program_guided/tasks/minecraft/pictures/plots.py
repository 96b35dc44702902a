"""Plots of the splits, from the figures of `statistics.describe`.

plot_splits(describe(), Path("out/dataset_minecraft.png"))
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from program_guided.errors import DataError

__all__ = ["plot_splits"]

PANELS = (("tokens", 5), ("routines", 1), ("control_flows", 1), ("plan_steps", 5))
"""What is plotted, and how many values a bar gathers."""


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
