"""Two executions beside each other: routine by routine, drawn, and chosen from a split by their outcome."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from program_guided.errors import DataError
from program_guided.language.parser import parse
from program_guided.language.syntax import Program
from program_guided.learning.agents import OracleAgent, RandomAgent
from program_guided.tasks.minecraft.agents import rollout
from program_guided.tasks.minecraft.commands.run import Run, prepare, strip_of
from program_guided.tasks.minecraft.domain import DOMAIN, OBJECTS, THINGS
from program_guided.tasks.minecraft.pictures import beside
from program_guided.tasks.minecraft.pictures.beside import Executed, Strip, comparison
from program_guided.tasks.minecraft.pictures.picture import BANNERS
from program_guided.tasks.minecraft.pictures.snapshot import Snapshot
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft

PROGRAM = "if is_there[river]:\n  mine(wood)\n  build_bridge()\nwhile env[gold] > 0:\n  mine(gold)\n"
SEED = 30


class Always:
    """Plans, but gives one answer to every condition."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def act(self, batch: Any) -> Any:
        actions = OracleAgent().act(batch)
        answered = batch.action_name(int(actions[0])) in ("true", "false")
        wanted = next(number for number in range(len(THINGS)) if batch.action_name(number) == self.answer)
        return np.full_like(actions, wanted) if answered else actions


class Waiting:
    """Walks up, whatever is asked for."""

    def act(self, batch: Any) -> Any:
        return np.zeros(batch.count, np.int64)


def program(text: str = PROGRAM) -> Program:
    return parse(text, DOMAIN)


def strip(agent: Any, text: str = PROGRAM) -> Strip:
    return strip_of(prepare(program(text), SEED, None, None), agent, "agent")


def world(side: int = 8, **changes: Any) -> Snapshot:
    names = [*THINGS, *["flat"] * (side * side - len(THINGS))]
    start = Snapshot(
        cells=tuple(tuple(names[row * side : (row + 1) * side]) for row in range(side)),
        agent=(2, 1),
        inventory=dict.fromkeys(OBJECTS, 12),
        program=tuple(PROGRAM.splitlines()),
        pointed=1,
        time=3,
    )
    return replace(start, **changes)


def drawn_strip(count: int, name: str = "agent", failed: bool = False, **changes: Any) -> Strip:
    """An execution of `count` routines, the last of which may fail."""
    end = world(outcome="wrong place" if failed else "finished", pointed=2 if failed else None, **changes)
    problems = [""] * (count - 1) + ["wrong place" if failed else ""]
    return Strip(name, tuple(Executed("place(rectangle, 8, 8)", end, 7, problem=each) for each in problems), end)


def has_colour(image: Image.Image, colour: str) -> bool:
    return bool((np.asarray(image) == Image.new("RGB", (1, 1), colour).getpixel((0, 0))).all(axis=2).any())


def test_a_strip_has_every_routine_once_and_its_steps_add_up() -> None:
    planned = strip(OracleAgent())
    assert planned.end.outcome == "finished"
    assert [each.routine for each in planned.routines][:3] == ["is_there[river]", "mine(wood)", "build_bridge()"]
    assert sum(each.steps for each in planned.routines) == planned.end.time == planned.routines[-1].end.time
    assert planned.routines[0].result == "true"
    assert planned.routines[-1].answer == "false"
    assert not any(each.problem for each in planned.routines)
    assert planned.headline == f"finished after {planned.end.time} steps"


def test_a_wrong_answer_is_shown_with_the_right_one() -> None:
    wrong = strip(Always("false"))
    assert [each.result for each in wrong.routines] == ["false, but it is true"]
    assert wrong.headline == "wrong answer after 1 step"


def test_a_count_is_shown_with_the_right_one() -> None:
    text = "n = count(gold)\nwhile less(carried(gold), n):\n  mine(gold)\n"
    right = strip(OracleAgent(), text).routines[0]
    wrong = next(each for seed in range(20) if (each := strip(RandomAgent(seed), text).routines[0]).problem)
    assert right.answer.isdigit()
    assert wrong.result == f"{wrong.answer}, but it is {right.answer}"


def test_a_timeout_is_a_failure_of_the_pointed_routine() -> None:
    waiting = strip(Waiting(), "mine(gold); sell(gold)")
    last = waiting.routines[-1]
    assert waiting.end.outcome == "timeout"
    assert (last.routine, last.problem, last.steps) == ("mine(gold)", "timeout", waiting.end.time)


@pytest.mark.parametrize(("count", "side"), [(1, 8), (5, 12), (7, 8), (13, 5)])
def test_any_number_of_routines_is_drawn_on_any_map(count: int, side: int) -> None:
    start = world(side)
    strips = [replace(each, end=replace(each.end, cells=start.cells)) for each in (drawn_strip(count), drawn_strip(2))]
    image = comparison(start, strips)
    assert image.width <= 2 * beside.MARGIN + 500 + beside.MAX_COLUMNS * (beside.FRAME_WIDTH + beside.GAP)
    assert has_colour(image, BANNERS["finished"])
    assert not has_colour(image, BANNERS["failed"])


def numbers(long: Strip, focus: int | None = None) -> list[int]:
    """The routines that are shown, from 0, after a check that all others are counted."""
    at, found = 0, []
    for each in long.shown(focus):
        if not isinstance(each, int):
            assert each is long.routines[at]
            found.append(at)
        at += each if isinstance(each, int) else 1
    assert at == len(long.routines)
    return found


def varied(count: int) -> Strip:
    long = drawn_strip(count)
    return replace(long, routines=tuple(replace(each, steps=at) for at, each in enumerate(long.routines)))


def test_a_long_execution_is_shortened_to_its_ends() -> None:
    assert numbers(varied(40)) == [*range(5), *range(34, 40)]
    assert numbers(varied(beside.MAX_FRAMES)) == list(range(beside.MAX_FRAMES))


@pytest.mark.parametrize("focus", [0, 1, 6, 20, 37, 39])
@pytest.mark.parametrize("count", [13, 14, 20, 40])
def test_a_long_execution_keeps_its_ends_and_the_routine_at_which_the_other_agent_failed(
    focus: int, count: int
) -> None:
    found = numbers(varied(count), focus)
    assert {0, count - 1} <= set(found)
    assert focus in found or focus >= count
    assert len(varied(count).shown(focus)) <= beside.MAX_FRAMES


def test_a_failure_is_red() -> None:
    image = comparison(world(), [drawn_strip(3), drawn_strip(3, failed=True)])
    assert has_colour(image, BANNERS["failed"])


def test_a_long_program_is_shortened_with_a_note_around_the_line_that_failed() -> None:
    lines = tuple(f"  mine(gold) {number}" for number in range(1, 91))
    start, failed = world(program=lines), drawn_strip(2, failed=True)
    failed = replace(failed, end=replace(failed.end, program=lines, pointed=59))
    listing = beside._Listing.of(start, [failed], "program", 900)
    numbers = [row.number for row in listing.rows]
    assert 60 in numbers
    assert listing.rows[0].text == f"… {numbers[1] - 1} lines above"  # type: ignore[operator]
    assert listing.rows[-1].text == f"… {90 - numbers[-2]} lines below"  # type: ignore[operator]
    assert comparison(start, [failed, failed]).height < 1600


def test_both_agents_that_fail_at_a_line_are_named_there() -> None:
    listing = beside._Listing.of(world(), [drawn_strip(1, "a", True), drawn_strip(1, "b", True)], "program", 900)
    assert listing.failed == {3: ("a", "b")}


def executed(capsys: pytest.CaptureFixture[str], text: str = PROGRAM, agent: str = "planner", **options: Any) -> Any:
    """The JSON of a run, and its exit code."""
    code = Run(json=True, **options).run(Minecraft(), Path("program.prg"), program(text), agent)
    return json.loads(capsys.readouterr().out), code


def test_two_executions_are_written_and_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "beside.png"
    found, code = executed(capsys, seed=SEED, beside="random", png=path)
    one, other = found["executions"]
    assert code == 0
    assert (one["agent"], one["outcome"], other["agent"]) == ("planner", "finished", "random")
    assert one["routines"][0] == {"routine": "is_there[river]", "time": 1, "answer": "true", "problem": None}
    with Image.open(path) as image:
        assert image.width > 1000
    assert path.stat().st_size < 300_000
    swapped, code = executed(capsys, agent="random", seed=SEED, beside="planner")
    assert swapped["executions"] == [other, one]
    assert code == int(other["outcome"] != "finished")


def test_the_table_names_the_routines_of_both_agents(capsys: pytest.CaptureFixture[str]) -> None:
    Run(seed=SEED, beside="random").run(Minecraft(), Path("program.prg"), program("mine(gold)"), "planner")
    shown = capsys.readouterr().out
    assert "mine(gold)" in shown
    assert "planner: finished after" in shown
    assert "random: " in shown


def test_a_program_of_a_split_runs_in_its_own_world(capsys: pytest.CaptureFixture[str]) -> None:
    found, code = executed(capsys, "build_bridge()", split="standard", skip=2)
    number = int(found["program"].split()[1])
    entries = load_split("test")
    assert "build_bridge()" in entries[number].text
    assert sum("build_bridge()" in entry.text for entry in entries[:number]) == 2
    assert (found["seed"], code) == (entries[number].seed, 0)
    assert found["steps"] == rollout(entries, OracleAgent()).steps[number]


def finishes(found: Any) -> list[bool]:
    return [each["outcome"] == "finished" for each in found["executions"]]


@pytest.mark.parametrize(
    ("only", "agents", "expected"),
    [
        ("differ", ("planner", "random"), [True, False]),
        ("right", ("planner", "random"), [True, True]),
        ("wrong", ("random", "random"), [False, False]),
        ("any", ("random", "planner"), None),
    ],
)
def test_programs_are_chosen_by_their_outcomes(
    only: Any, agents: tuple[str, str], expected: list[bool] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    found, code = executed(capsys, "mine(gold)", agents[0], beside=agents[1], split="test", only=only)
    assert code == 0
    assert expected is None or finishes(found) == expected


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "only without a split": ({"only": "wrong"}, "name the split"),
    "skip without a split": ({"skip": 1}, "name the split"),
    "differ from whom": ({"split": "test", "only": "differ"}, "two agents are needed"),
    "a map for a split": ({"split": "test", "map": Path("river")}, "leave map and inventory out"),
    "no such split": ({"split": "tset"}, "did you mean 'test'"),
    "a negative number": ({"split": "test", "skip": -1}, "0 or more"),
    "an animation of two": ({"beside": "random", "gif": Path("x.gif")}, "an animation shows one agent"),
    "another ending": ({"beside": "random", "png": Path("x.jpg")}, "must end with .png"),
    "none as wanted": ({"split": "data-flow", "only": "wrong"}, "data-flow: no program"),
    "too few as wanted": ({"split": "test", "skip": 5000}, "programs of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_get_one_clear_line(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options, expected = WRONG[case]
    with pytest.raises(DataError) as caught:
        Run(**options).run(Minecraft(), Path("program.prg"), program("goto(4, 2)"), "planner")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_command_finds_a_case_in_a_split_without_a_program(tmp_path):
    png = tmp_path / "case.png"
    command = [sys.executable, "-m", "program_guided", "run", "--split", "test", "--agent", "planner"]
    found = subprocess.run([*command, "--beside", "random", "--only", "differ", "--png", str(png)], capture_output=True)
    assert found.returncode == 0, found.stderr
    assert png.is_file()
    refused = subprocess.run([*command[:-2], "--task", "visual"], capture_output=True, text=True)
    assert refused.returncode != 0
    assert "name a program before the options" in refused.stderr
    assert refused.stderr.count("\n") == 1
