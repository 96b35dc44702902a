"""From the text to the actions a program is read once and compiled once, and nothing else is loaded on the way."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from program_guided.cli import main as command_line
from program_guided.language import parser, table
from program_guided.tasks.minecraft import entry, scenario, splits

EXAMPLES = Path(__file__).parent.parent / "examples"
BRIDGE = EXAMPLES / "bridge.prg"

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def counts(monkeypatch):
    """Counts of how often programs were read and compiled, and splits loaded."""
    counted = Counter()

    def count(owner, name, what):
        original = getattr(owner, name)

        def counting(*given, **named):
            counted[what] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counting)

    count(parser._Reader, "__init__", "read")
    count(table._Rows, "__init__", "compiled")
    count(scenario, "load_difficulty", "splits")
    count(splits, "load_split", "splits")
    assert entry.compile_program is table.compile_program, "every module compiles by the same function"
    return counted


def proto(monkeypatch, capsys, *arguments):
    """A command in this process: its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    return ended.value.code, capsys.readouterr().out


@pytest.mark.parametrize("agent", [(), ("--agent", "planner")], ids=["executor", "planner"])
def test_running_a_program_reads_it_once_and_compiles_it_once(monkeypatch, capsys, counts, agent):
    code, printed = proto(monkeypatch, capsys, "run", BRIDGE, "--seed", 9, "--json", *agent)
    assert (code, json.loads(printed)["outcome"]) == (0, "finished")
    assert counts == {"read": 1, "compiled": 1}


def test_running_a_program_on_a_map_of_one_s_own_reads_and_compiles_it_once(monkeypatch, capsys, counts, tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("mine(gold)\nsell(gold)\n")
    drawn.write_text("@....\n~~~~~\n.g..$\n.....\n.....\n")
    given = ("--map", drawn, "--inventory", "wood", 1, "--agent", "planner", "--json")
    code, printed = proto(monkeypatch, capsys, "run", program, *given)
    assert (code, json.loads(printed)["outcome"]) == (0, "finished")
    assert counts == {"read": 1, "compiled": 1}


def test_checking_a_program_reads_it_once_and_compiles_it_once(monkeypatch, capsys, counts):
    code, printed = proto(monkeypatch, capsys, "check", BRIDGE, "--json")
    assert (code, json.loads(printed)["files"][0]["valid"]) == (0, True)
    assert counts == {"read": 1, "compiled": 1}


def test_the_executor_of_a_user_reads_a_text_once_and_compiles_it_once(counts):
    import program_guided

    executor = program_guided.load("minecraft")
    assert not counts, "loading an executor reads no program"
    for number in (1, 2):
        assert executor.run(BRIDGE.read_text("utf-8"), seed=9)[-1].outcome == "finished"
        assert counts == {"read": number, "compiled": number}
