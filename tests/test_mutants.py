"""The list of mutations (tools/mutants.toml) fits the code; `make mutants` runs it."""

import ast
import importlib.util
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tool():
    specification = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    sys.modules["mutants"] = module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    yield module
    del sys.modules["mutants"]


def test_every_mutation_can_be_applied_once(tool):
    mutants = tool.listed()
    tool.check(mutants)
    assert len(mutants) >= 100
    changed = Counter((each.path, each.applied((ROOT / each.file).read_text("utf-8"))) for each in mutants)
    assert max(changed.values()) == 1, "none is listed twice"


def test_the_tests_of_every_mutant_exist(tool):
    named = {name for mutant in tool.listed() for name in mutant.tests if name.endswith(".py")}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_a_mutation_that_no_longer_fits_is_an_error(tool):
    mutant = tool.listed()[0]
    for wrong in (replace(mutant, old="this is not there"), replace(mutant, old="e"), replace(mutant, new=mutant.old)):
        with pytest.raises(tool.BadList, match=mutant.name):
            tool.check([wrong])


def test_systematic_mutations_change_one_expression_each(tool):
    found = tool.systematic("language/pointer.py", (), False)
    source = (ROOT / found[0].file).read_text("utf-8")
    whole = ast.dump(ast.parse(source))
    assert len(found) > 15
    assert all(ast.dump(ast.parse(each.applied(source))) != whole for each in found)
    lines = {each.new.strip() for each in found}
    assert "return self.routine != len(table)" in lines
    assert "if answer is None and table.kind[routine] == Kind.STEP:" in lines
    assert any("answer is None) and (answer" in line for line in lines)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork of a process with threads
def test_a_mutant_is_killed_by_a_failing_test_and_survives_a_passing_one(tool, tmp_path):
    copy = tmp_path / "copy"
    (copy / "program_guided").mkdir(parents=True)
    (copy / "program_guided" / "__init__.py").touch()
    source = copy / "program_guided" / "sum.py"
    source.write_text("def add(a, b):\n    return a + b\n")
    (copy / "test_sum.py").write_text(
        "from program_guided.sum import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"
    )
    before = source.stat().st_mtime_ns
    mutant = tool.Mutant("sum: times", "sum.py", "a + b", "a * b", ("test_sum.py",))
    ended = ended_of(tool.Run(copy, mutant, 60))
    assert (ended["outcome"], ended["by"]) == ("killed", "test_sum.py::test_add")
    assert ended_of(tool.Run(copy, replace(mutant, new="b + a"), 60))["outcome"] == "survived"
    endless = replace(mutant, old="    return a + b", new="    while True:\n        pass")
    assert ended_of(tool.Run(copy, endless, 3))["by"] == "time limit"
    assert (source.read_text(), source.stat().st_mtime_ns) == ("def add(a, b):\n    return a + b\n", before)
    with pytest.raises(tool.BadList, match="pytest ended with"):
        ended_of(tool.Run(copy, replace(mutant, tests=("test_nothing.py",)), 60))


def ended_of(run):
    while (ended := run.ended()) is None:
        time.sleep(0.01)
    return ended
