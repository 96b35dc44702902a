"""The pictures: distinct at a glance, equal in size over an execution, written wholly or not at all."""

from __future__ import annotations

import doctest
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from program_guided.errors import DataError
from program_guided.tasks.minecraft.domain import KINDS, OBJECTS, THINGS
from program_guided.tasks.minecraft.pictures import layout, listing, terminal
from program_guided.tasks.minecraft.pictures.layout import Layout
from program_guided.tasks.minecraft.pictures.picture import BANDS, BANNERS, picture, save_gif, save_png
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.pictures.sprites import SPRITES, sprite

PROGRAM = (
    "def run():",
    "  if is_there[river]:",
    "    mine(wood)",
    "    build_bridge()",
    "    if agent[iron] < 3:",
    "      mine(iron)",
    "    place(iron, 1, 1)",
    "  else:",
    "    goto(4, 2)",
    "  while env[gold] > 0:",
    "    mine(gold)",
    "  sell(silver)",
)
LONG_PROGRAM = ("def run():", *(f"  place(rectangle, {line}, 1)" for line in range(2, 61)))
OUTCOMES = ("running", "finished", "wrong answer", "wrong place", "missing object", "timeout")


def snapshot(side: int = 8, /, **changes: object) -> Snapshot:
    """Everything there is on one map, from the left upper corner on; the rest is flat."""
    names = [*THINGS, *["flat"] * (side * side - len(THINGS))]
    start = Snapshot(
        cells=tuple(tuple(names[row * side : (row + 1) * side]) for row in range(side)),
        agent=(2, 1),
        inventory={"gold": 2, "silver": 12},
        program=PROGRAM,
        pointed=1,
        time=0,
    )
    return replace(start, **changes)  # type: ignore[arg-type]


def execution(steps: int) -> list[Snapshot]:
    """A walk along the map, a message at every tenth step, finished at the end."""
    walk = [
        snapshot(
            agent=(step // 8 % 8, step % 8),
            pointed=step * len(PROGRAM) // steps,
            time=step,
            action="right",
            message="mine(gold) ended" if step % 10 == 5 else "",
        )
        for step in range(steps - 1)
    ]
    return [*walk, snapshot(pointed=None, time=steps - 1, outcome="finished", message="finished")]


def on_grass(*names: str, size: int = 48) -> np.ndarray:
    tile = sprite("flat", size).copy()
    for name in names:
        tile.alpha_composite(sprite(name, size))
    return np.asarray(tile.convert("RGB"), dtype=int)


def rows_coloured(image: Image.Image, colour: str) -> set[int]:
    wanted = Image.new("RGB", (1, 1), colour).getpixel((0, 0))
    return set(np.nonzero((np.asarray(image) == wanted).all(axis=2).sum(axis=1) > 20)[0].tolist())


def printed(moment: Snapshot, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(terminal.view(moment))
    return console.export_text().splitlines()


def test_every_kind_but_outside_and_the_agent_have_a_sprite() -> None:
    assert set(SPRITES) == {*KINDS, "agent"} - {"outside"}
    for name in SPRITES:
        assert sprite(name, 48).size == (48, 48)
        assert sprite(name, 48).mode == "RGBA"
        assert sprite(name, 48) is sprite(name, 48)


@pytest.mark.parametrize("size", [24, 48])
def test_any_two_sprites_differ_visibly(size: int) -> None:
    for one, other in combinations(SPRITES, 2):
        assert np.abs(on_grass(one, size=size) - on_grass(other, size=size)).mean() > 12, (one, other)


def test_what_the_agent_stands_on_stays_visible() -> None:
    for one, other in combinations(THINGS, 2):
        assert np.abs(on_grass(one, "agent") - on_grass(other, "agent")).mean() > 10, (one, other)
    for name in THINGS:
        assert np.abs(on_grass(name, "agent") - on_grass(name)).mean() > 10, name


def test_a_picture_shows_every_change() -> None:
    changes = {"agent": (4, 4), "inventory": {"gold": 3}, "pointed": 2, "time": 1, "action": "up", "message": "ended"}
    drawn = {picture(snapshot(8, **{name: value})).tobytes() for name, value in changes.items()}
    assert len(drawn | {picture(snapshot()).tobytes()}) == 1 + len(changes)


@pytest.mark.parametrize("side", [5, 8, 12])
@pytest.mark.parametrize("program", [PROGRAM, LONG_PROGRAM])
def test_all_pictures_of_an_execution_are_equally_large(side: int, program: tuple[str, ...]) -> None:
    moments = [
        snapshot(side, program=program, pointed=pointed, outcome=outcome, message="a long message " * length)
        for pointed, outcome, length in zip((0, 5, 11, None, 3, 7), OUTCOMES, (0, 1, 2, 5, 20, 99), strict=True)
    ]
    assert len({picture(moment).size for moment in moments}) == 1


def test_a_picture_grows_with_its_cells() -> None:
    small, large = picture(snapshot(), cell=24), picture(snapshot(), cell=96)
    assert large.width == pytest.approx(4 * small.width, rel=0.02)


def test_the_band_moves_with_the_pointed_line() -> None:
    layout_of_all = Layout.of(snapshot(), 48)
    for pointed in range(len(PROGRAM)):
        _, top, _, bottom = layout_of_all.row_at(pointed)
        assert rows_coloured(picture(snapshot(pointed=pointed)), BANDS["running"]) == set(range(top, bottom))
    assert not rows_coloured(picture(snapshot(pointed=None)), BANDS["running"])


@pytest.mark.parametrize("pointed", [0, 1, 30, 58, 59])
def test_a_long_program_scrolls_to_its_pointed_line(pointed: int) -> None:
    shown = listing.window(LONG_PROGRAM, pointed, 16)
    assert len(shown) == 16
    assert [row.text for row in shown if row.pointed] == [LONG_PROGRAM[pointed]]
    assert (shown[0].text == "…") == (pointed >= 9)
    assert (shown[-1].text == "…") == (pointed < 52)
    assert rows_coloured(picture(snapshot(program=LONG_PROGRAM, pointed=pointed)), BANDS["running"])


def test_a_program_that_fits_is_shown_whole_and_one_that_is_over_from_its_end() -> None:
    assert [row.text for row in listing.window(PROGRAM, 5, len(PROGRAM))] == list(PROGRAM)
    assert listing.window(LONG_PROGRAM, None, 10)[-1].text == LONG_PROGRAM[-1]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_banner_has_the_colour_of_the_outcome(outcome: str) -> None:
    drawn = picture(snapshot(outcome=outcome))
    right, bottom = Layout.of(snapshot(), 48).banner[2:]
    expected = BANNERS[{"running": "running", "finished": "finished", "timeout": "timeout"}.get(outcome, "failed")]
    assert drawn.getpixel((right - 12, bottom - 12)) == Image.new("RGB", (1, 1), expected).getpixel((0, 0))


def test_a_saved_picture_is_read_back_as_it_was(tmp_path: Path) -> None:
    save_png(snapshot(), tmp_path / "moment.png")
    with Image.open(tmp_path / "moment.png") as image:
        assert image.convert("RGB").tobytes() == picture(snapshot()).tobytes()


def test_a_saved_execution_is_small_and_has_a_frame_for_every_snapshot(tmp_path: Path) -> None:
    moments = execution(60)
    save_gif(moments, tmp_path / "execution.gif")
    assert (tmp_path / "execution.gif").stat().st_size < 500_000
    assert [file.name for file in tmp_path.iterdir()] == ["execution.gif"]
    durations = []
    with Image.open(tmp_path / "execution.gif") as image:
        assert getattr(image, "n_frames", 1) == len(moments)
        for index, moment in enumerate(moments):
            image.seek(index)
            durations.append(image.info["duration"])
            if index % 20 == 19:
                difference = np.asarray(image.convert("RGB"), dtype=int) - np.asarray(picture(moment), dtype=int)
                assert np.abs(difference).mean() < 2
    assert durations == [250] * 59 + [1500]


@pytest.fixture(params=["png", "gif"])
def save(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    ways = {"png": lambda path: save_png(snapshot(), path), "gif": lambda path: save_gif(execution(3), path)}
    return ways[request.param]


def test_a_missing_folder_is_one_line_of_error(save: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder") as caught:
        save(tmp_path / "missing" / "file")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="it is a folder"):
        save(tmp_path)


def test_an_unwritable_folder_is_reported_and_left_as_it_was(
    save: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Not by chmod: root may write anywhere.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match="file: cannot be written: Permission denied"):
        save(tmp_path / "file")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    save: Callable[[Path], None], error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Image.Image, file: io.BufferedWriter, *__: object, **___: object) -> None:
        file.write(b"half of a")
        raise error

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(DataError if isinstance(error, OSError) else KeyboardInterrupt):
        save(tmp_path / "file")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_an_execution_without_snapshots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no snapshots"):
        save_gif([], tmp_path / "execution.gif")


@pytest.mark.parametrize("side", [5, 8, 12])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_terminal_view_fits_a_small_terminal_and_shows_the_whole_program(side: int, outcome: str) -> None:
    lines = printed(snapshot(side, outcome=outcome, message="what has just happened " * 9, pointed=5))
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    for line in PROGRAM:
        assert any(line in row for row in lines), line


def test_a_long_program_scrolls_in_the_terminal_too() -> None:
    lines = printed(snapshot(program=LONG_PROGRAM, pointed=30))
    assert len(lines) < 24
    assert [row for row in lines if "> 31" in row and LONG_PROGRAM[30] in row]
    assert sum("…" in row for row in lines) == 2


def test_the_terminal_symbols_are_distinct_without_colour() -> None:
    symbols = [symbol for symbol, _ in terminal.SYMBOLS.values()]
    assert set(terminal.SYMBOLS) == set(THINGS)
    assert len(set(symbols)) == len(symbols)
    assert {len(symbol) for symbol in symbols} == {2}
    text = "\n".join(printed(snapshot()))
    for name, (symbol, _) in terminal.SYMBOLS.items():
        assert f"{symbol} {name}" in text
    assert all(f"{name:9} " in text for name in OBJECTS)


def test_the_agent_stands_in_its_cell_in_the_terminal() -> None:
    third = next(row for row in printed(snapshot()) if row.startswith("│ 3 "))
    assert third.startswith("│ 3  ·@  ·")


def test_without_a_terminal_an_execution_is_its_two_ends_and_its_messages() -> None:
    log = io.StringIO()
    terminal.animate(iter(execution(60)), delay=10, console=Console(file=log, width=80))
    lines = log.getvalue().splitlines()
    expected = [f"step {step}: mine(gold) ended" for step in range(5, 59, 10)]
    assert [line for line in lines if line.startswith("step")] == expected
    assert len(lines) < 2 * 24 + 6


@pytest.mark.parametrize(("steps", "views"), [(0, 0), (1, 1), (2, 2)])
def test_without_a_terminal_no_view_is_printed_twice(steps: int, views: int) -> None:
    log = io.StringIO()
    terminal.animate(execution(60)[60 - steps :], console=Console(file=log, width=80))
    assert log.getvalue().count("carries") == views


def test_a_terminal_plays_every_snapshot_in_place() -> None:
    screen = io.StringIO()
    terminal.animate(execution(5), delay=0, console=Console(file=screen, width=80, height=30, force_terminal=True))
    for step in range(5):
        assert f"step {step}" in screen.getvalue()


def test_importing_the_package_loads_no_drawing_library() -> None:
    package = "program_guided.tasks.minecraft.pictures.snapshot"
    check = f"import sys, {package}; sys.exit(not {{'PIL', 'rich'}}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("module", [listing, layout])
def test_the_examples_in_the_documentation_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
