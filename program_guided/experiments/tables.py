"""Lines of results as tables and figures, the paper's figures beside.

table(experiment, lines).markdown()
draw(experiment, lines, Path("docs/training_curve.png"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from program_guided.errors import DataError
from program_guided.experiments.declaration import PARAMETERS, Experiment, Row

__all__ = ["Table", "draw", "table"]

Line = Mapping[str, Any]
MISSING = "-"


@dataclass(frozen=True)
class Table:
    """A table of an experiment."""

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table and its caption as Markdown."""
        every = (self.headings, ("---",) * len(self.headings), *self.rows)
        cells = "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in every)
        return f"{cells}\n\n{self.caption}"

    def print(self) -> None:
        """Show it in the terminal."""
        from program_guided.output import print_table

        print_table(self.title, self.headings, self.rows)
        print(self.caption)


def table(experiment: Experiment, lines: Sequence[Line]) -> Table:
    """Means over seeds, and standard deviations where there are several, of the rows that have lines."""
    every = [(row, [line for line in lines if line["row"] == row.name]) for row in experiment.rows]
    shown = [(row, found) for row, found in every if found]
    columns = list(_columns(experiment, shown))
    kept = [column for column in columns if any(cell for cell in column[1])]
    headings = tuple(heading for heading, _ in kept)
    rows = tuple(zip(*(cells for _, cells in kept), strict=True)) if kept else ()
    return Table(experiment.title, _caption([line for _, found in shown for line in found]), headings, rows)


Shown = Sequence[tuple[Row, Sequence[Line]]]


def _columns(experiment: Experiment, shown: Shown) -> Iterator[tuple[str, list[str]]]:
    """Heading and cells of every column; one without any content is left out of the table."""
    yield "", [row.name for row, _ in shown]
    yield "parameters", [_parameters(found) for _, found in shown]
    yield "in the paper", [_millions(row.paper.get(PARAMETERS)) for row, _ in shown]
    for measure, splits in _measures(experiment, shown).items():
        heading = f"{measure}: {' / '.join(splits)}"
        yield heading, [_figures(found, measure, splits) for _, found in shown]
    splits = list(dict.fromkeys(split for row, _ in shown for split in row.paper if split != PARAMETERS))
    yield f"in the paper: {' / '.join(splits)}", [_paper(row, splits) for row, _ in shown]
    yield "seeds", [str(len(found)) for _, found in shown]
    yield "minutes", [_minutes(found) for _, found in shown]


def _measures(experiment: Experiment, shown: Shown) -> dict[str, list[str]]:
    """Measures in the order of the declaration, and the splits that were measured."""
    names = dict.fromkeys(each.name for row, _ in shown for each in experiment.measures_of(row))
    lines = [line for _, found in shown for line in found]
    splits = {name: list(dict.fromkeys(_keys(line["figures"].get(name, {}) for line in lines))) for name in names}
    return {name: each for name, each in splits.items() if each}


def _keys(each: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in each:
        yield from one


def _figures(lines: Sequence[Line], measure: str, splits: Sequence[str]) -> str:
    found = [[line["figures"].get(measure, {}).get(split) for line in lines] for split in splits]
    return " / ".join(map(_mean, found)) if any(map(any, found)) or any(0.0 in each for each in found) else ""


def _mean(numbers: Sequence[float | None]) -> str:
    """Mean and standard deviation over seeds."""
    known = [number for number in numbers if number is not None]
    if not known:
        return MISSING
    return f"{fmean(known):.1f} ± {stdev(known):.1f}" if len(known) > 1 else f"{known[0]:.1f}"


def _paper(row: Row, splits: Sequence[str]) -> str:
    found = [row.paper.get(split) for split in splits]
    return " / ".join(MISSING if each is None else f"{each:.1f}" for each in found) if any(found) else ""


def _parameters(lines: Sequence[Line]) -> str:
    known = [line["parameters"] for line in lines if line["parameters"] is not None]
    return _millions(known[0] / 1e6) if known else ""


def _millions(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}M"


def _minutes(lines: Sequence[Line]) -> str:
    """Minutes of the slowest training."""
    slowest = max(line["minutes"] for line in lines)
    return "" if not slowest else f"{slowest:.0f}" if slowest >= 10 else f"{slowest:.1f}"


def _caption(lines: Sequence[Line]) -> str:
    """The commits, and a warning if there are several."""
    commits = sorted({commit for line in lines for commit in (line["commit"], *line.get("commits", ()))})
    if not commits:
        return "No run is done yet."
    several = "; rows are NOT all of one commit, so they may differ for other reasons" if len(commits) > 1 else ""
    changed = [each for each in commits if each.endswith("-changed")]
    unclean = "; 'changed': with changes that were not committed" if changed else ""
    deviation = ", ± the standard deviation" if max(_seeds(lines)) > 1 else ""
    kind = "commit" if len(commits) == 1 else "commits"
    return f"Mean over seeds{deviation}; minutes of the slowest seed; {kind} {', '.join(commits)}{several}{unclean}."


def _seeds(lines: Sequence[Line]) -> list[int]:
    rows = [line["row"] for line in lines]
    return [rows.count(row) for row in rows]


def draw(experiment: Experiment, lines: Sequence[Line], path: Path) -> bool:
    """Draw the experiment's figure to a PNG file; False if it has none, or no lines for it."""
    panels = {"curves": _draw_curves, "minutes": _draw_minutes, "lengths": _draw_lengths}
    if experiment.draw is None or not lines:
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from program_guided.files import renamed

    figure = plt.figure(figsize=(9, 5), layout="constrained")
    panels[experiment.draw](experiment, lines, figure)
    figure.suptitle(experiment.title)
    try:
        with renamed(path) as temporary:
            figure.savefig(temporary, format="png", dpi=110)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be drawn ({error})") from None
    finally:
        plt.close(figure)
    return True


def _draw_curves(experiment: Experiment, lines: Sequence[Line], figure: Any) -> None:
    """Completion of held-out programs by steps: mean and standard error over seeds, as in the paper."""
    _plot_curves(experiment, lines, figure, "steps", _by_steps)


def _draw_minutes(experiment: Experiment, lines: Sequence[Line], figure: Any) -> None:
    """The same by minutes, for trainings whose steps cannot be compared."""
    _plot_curves(experiment, lines, figure, "minutes", _by_minutes)


Curves = Sequence[Sequence[Mapping[str, float]]]
"""The curve of each seed."""
Points = tuple[list[float], list[list[float]]]
"""Places on the horizontal axis, and at each the completion by every seed."""


def _plot_curves(
    experiment: Experiment, lines: Sequence[Line], figure: Any, label: str, points: Callable[[Curves], Points]
) -> None:
    axes = figure.subplots()
    for row in experiment.rows:
        curves = [line["curve"] for line in lines if line["row"] == row.name and line["curve"]]
        if curves:
            places, values = points(curves)
            means = [fmean(each) for each in values]
            errors = [stdev(each) / len(each) ** 0.5 if len(each) > 1 else 0.0 for each in values]
            (drawn,) = axes.plot(places, means, label=row.name, marker="." if len(places) == 1 else None)
            low, high = ([mean + sign * error for mean, error in zip(means, errors, strict=True)] for sign in (-1, 1))
            axes.fill_between(places, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel=label, ylabel="held-out programs finished, %", ylim=(0, 100))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _by_steps(curves: Curves) -> Points:
    """Steps that all seeds have."""
    seeds = [{line["step"]: line["completion"] for line in curve} for curve in curves]
    steps = sorted(set.intersection(*(set(each) for each in seeds)))
    return steps, [[each[step] for each in seeds] for step in steps]


def _by_minutes(curves: Curves) -> Points:
    """Minutes of the first seed's evaluations at which all seeds were trained; between evaluations, interpolated."""
    import numpy as np

    seeds = [([line["seconds"] / 60 for line in curve], [line["completion"] for line in curve]) for curve in curves]
    begin, end = max(minutes[0] for minutes, _ in seeds), min(minutes[-1] for minutes, _ in seeds)
    places = [each for each in seeds[0][0] if begin <= each <= end] or [end]
    values = [[float(np.interp(place, *seed)) for seed in seeds] for place in places]
    return places, values


BIN = 5
"""Width of a histogram's bins, in tokens."""


def _draw_lengths(experiment: Experiment, lines: Sequence[Line], figure: Any) -> None:
    """Distribution of program lengths by split, and completion by length."""
    left, right = figure.subplots(1, 2)
    for line in lines:
        for measure in line.get("tokens", {}).values():
            for split, tokens in measure.items():
                if isinstance(tokens, dict):
                    bins = [sum(tokens["histogram"][at : at + BIN]) for at in range(0, len(tokens["histogram"]), BIN)]
                    share = [100 * each / sum(bins) for each in bins]
                    left.stairs(share, [at * BIN for at in range(len(bins) + 1)], label=split)
        _plot_by_length(line, right)
    left.set(xlabel="tokens", ylabel="% of programs")
    right.set(xlabel="tokens, up to", ylabel="programs finished, %", ylim=(0, 101))
    left.set_xlim(right=1.6 * left.get_xlim()[1])  # room for the legend
    for axes, corner in ((left, "upper right"), (right, "lower left")):
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc=corner, frameon=False, fontsize="small")


def _plot_by_length(line: Line, axes: Any) -> None:
    """Completion of all programs of a line, of all splits together, by length."""
    finished: dict[int, list[float]] = {}
    for measure in line.get("tokens", {}).values():
        for classes in (each for each in measure.values() if isinstance(each, list)):
            for one in classes:
                so_far = finished.setdefault(one["up_to"], [0.0, 0.0])
                so_far[0] += one["programs"] * one["completion"]
                so_far[1] += one["programs"]
    bounds = [bound for bound in sorted(finished) if bound < LONGEST]
    if bounds:
        shares = [finished[bound][0] / finished[bound][1] for bound in bounds]
        axes.plot(bounds, shares, marker=".", label=line["row"].replace("`", ""))


LONGEST = 10**6
"""The bound of the last class, which has none."""
