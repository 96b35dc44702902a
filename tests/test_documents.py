"""Documents say what the results say, and the layers are what the design says."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from program_guided.cli import main as command_line
from program_guided.language.syntax import calls
from program_guided.tasks.visual.domain import DOMAIN as VISUAL
from program_guided.tasks.visual.domain import ROWS, parse_visual
from tools import results as figures_of_documents
from tools.results import BLOCK

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAPER_MAP = (ROOT / "docs" / "paper_map.md").read_text("utf-8")
DOCUMENTS = {path.name: path for path in (*ROOT.glob("*.md"), *sorted(ROOT.glob("docs/*.md")))}
SWITCHES = {
    "--asked": "--extra-conditions",
    "--rising": "--greedy-rise",
    "--no-blind": "--no-position-free-heads",
    "--no-matched": "--no-tied-query-key",
    "--no-objects": "--no-inventory-items",
    "--no-scaled": "--no-normalised-encoders",
    "--no-sink": "--no-null-key",
    "--no-spaced": "--no-linear-frequencies",
    "--no-tells": "--no-count-feature",
}
"""Names of options when results/additions.json was measured, and their names now."""


def results(name):
    return json.loads((ROOT / "results" / name).read_text("utf-8"))


def test_the_paper_map_shows_what_each_addition_is_worth():
    """Completion of the standard split without it, at the switch that takes it away."""
    found = results("additions.json")["agents"]
    for agent in found.values():
        command = agent["training"]["command"].split()
        options = [SWITCHES.get(each, each) for each in command[command.index("--out") + 2 :]]
        if options[-2:] == ["--memory", "False"]:
            options[-2:] = ["--no-memory"]
        completion = f"{agent['splits']['test']['completion']:.1f}"
        if not options or len(options) > 4 or options[0] in ("--no-structure", "--no-semantics"):
            assert f"{completion} %" in PAPER_MAP, options
        else:
            taken = options[:1] if options[0].startswith("--no-") else options
            end = f" with `{' '.join(options[1:])}`" if taken != options else " |"
            assert f"| `{' '.join(taken)}` | {completion}{end}" in PAPER_MAP, options
    assert len(found) >= 23
    strict, whole = (results(name)["means"]["paper, dense"]["test"] for name in ("dense_strict.json", "dense.json"))
    assert f"{strict['completion']:.1f} instead of {whole['completion']:.1f}" in PAPER_MAP


def test_training_says_what_the_paper_s_algorithm_comes_to():
    text = (ROOT / "docs" / "training.md").read_text("utf-8")
    figures = results("reward.json")["agents"]["out/reward-paper-0"]
    assert f"{figures['splits']['test']['completion']:.1f} % of the standard programs" in text
    losses = [moment["loss"] for moment in figures["training"]["curve"]]
    assert {f"{loss:.2f}" for loss in losses} == {"-0.21"}
    by_chance = results("evaluate.json")["agents"]["random"]["splits"]["test"]["completion"]
    assert f"acting by chance finishes {by_chance:.1f} %" in text


def test_visual_learning_says_what_folds_of_real_pictures_teach():
    learning = " ".join((ROOT / "docs" / "visual_learning.md").read_text("utf-8").split())
    for steps in (100, 150):
        found = results(f"real_pictures_folds_{steps}.json")["accuracy"]
        assert re.search(rf"{steps} [^;]*{found['picture']:.1f} %[^;]* {found['blind']:.1f} %", learning), steps


def test_the_figures_of_documents_are_those_of_results():
    assert [path.name for path in figures_of_documents.outdated()] == [], "write them with: python tools/results.py"


def test_a_figure_that_was_changed_by_hand_is_found(monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    (tmp_path / "docs" / "results.md").write_text(page.replace("| 0.50M | 100.0 |", "| 0.50M | 100.1 |"), "utf-8")
    monkeypatch.setattr(figures_of_documents, "ROOT", tmp_path)
    monkeypatch.setattr(figures_of_documents, "results", cache(lambda name: results(f"{name}.json")))
    assert [path.name for path in figures_of_documents.outdated()] == ["results.md"]


def test_every_block_of_figures_is_shown_and_its_ends_are_there():
    shown = []
    for path in (path for place in figures_of_documents.PLACES for path in ROOT.glob(place)):
        text = path.read_text("utf-8")
        assert text.count("<!-- figures: ") == text.count("<!-- end -->") == len(BLOCK.findall(text)), path.name
        shown += re.findall(r"<!-- figures: ([\w-]+) -->", text)
    assert sorted(shown) == sorted(figures_of_documents.BLOCKS)


def shown_table(name, title):
    """Rows below a heading of a document, cell by cell."""
    text = (ROOT / name).read_text("utf-8")
    below = text[text.index(title) :]
    rows = re.findall(r"^\| (.*) \|$", below[: below.index("<!-- end -->")], re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows[2:]]


def test_tables_show_what_was_measured():
    """Some cells, read from the raw figures by another way than the tool's."""
    plus = [agent for name, agent in results("dense.json")["agents"].items() if "plus" in name]
    for column, split in ((2, "test"), (3, "longer"), (4, "complex")):
        mean = sum(agent["splits"][split]["completion"] for agent in plus) / len(plus)
        assert shown_table("docs/results.md", "## From a planner")[0][column] == f"{mean:.1f}"
    finished = results("evaluate.json")["agents"]["minecraft-reward"]["splits"]["longer"]["outcomes"]["finished"]
    card = shown_table("program_guided/weights/minecraft-reward/README.md", "figures: card-minecraft-reward")
    assert card[0][2] == f"{finished / 5:.1f}", "of 500 programs"
    world = results("bench_world.json")["steps_per_second"]
    ratio = world["environment"] / world["minigrid"]
    assert shown_table("docs/speed.md", "## The world")[3][2] == f"{ratio:,.0f}x slower"
    pictures, real = results("real_pictures.json"), shown_table("docs/results.md", "figures: real -->")
    agents, differences = real[: len(pictures["accuracy"])], real[len(pictures["accuracy"]) + 2 :]  # two tables
    assert [row[:2] for row in agents] == [[name, f"{share:.1f}"] for name, share in pictures["accuracy"].items()]
    assert [row[:2] for row in differences] == [
        [name, f"{each['points']:+.1f}"] for name, each in pictures["differences"].items()
    ]
    assert len(shown_table("docs/results.md", "figures: visual -->")) == 5, "four models and the oracle"


def test_every_file_the_documents_name_exists():
    for document in DOCUMENTS.values():
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


REFERENCE = re.compile(r"`([\w/]+\.py)(?:::?([A-Za-z_][\w.]*))?`")
"""`models/paper.py`, `models/paper.py::Paper`, `models/paper.py:Paper.read_program`."""


@cache
def names_of(path):
    """Names that a module defines: functions, classes with their methods and fields, and constants."""
    found = set()

    def note(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    note(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found.update(prefix + each.id for each in targets if isinstance(each, ast.Name))

    note(ast.parse(path.read_text("utf-8")).body, "")
    return found


def missing_references(text):
    """References of a text to files that there are not, and to names that a file does not define."""
    for path, name in REFERENCE.findall(text):
        place = next((each / path for each in (ROOT / "program_guided", ROOT) if (each / path).is_file()), None)
        if place is None:
            if name or "/" in path or not any((ROOT / "program_guided").rglob(path)):
                yield path
        elif name and name not in names_of(place):
            yield f"{path}::{name}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_function_the_documents_name_exists(name):
    assert not list(missing_references(DOCUMENTS[name].read_text("utf-8")))


def test_a_reference_to_what_does_not_exist_is_found():
    text = "`models/paper.py::Paper`, `models/paper.py:Paper.settings`, `models/config.py::PaperConfig.ordered`"
    assert not list(missing_references(text))
    wrong = "`models/paper.py::Papers`, `models/paper.py:Paper.nothing`, `models/nowhere.py`, `learning/none.py::f`"
    assert list(missing_references(wrong)) == [
        "models/paper.py::Papers",
        "models/paper.py::Paper.nothing",
        "models/nowhere.py",
        "learning/none.py",
    ]


def walk(title):
    """The hops of a walk through the code, in order: (file, function)."""
    text = DOCUMENTS["architecture.md"].read_text("utf-8")
    section = text[text.index(title) :].partition("\n### ")[0].partition("\n## ")[0]
    return [(path, name) for path, name in REFERENCE.findall(section) if name]


@pytest.mark.usefixtures("one_thread")
def test_the_walk_from_text_to_action_is_the_way_a_command_goes(monkeypatch, capsys):
    """Every hop is called, for the first time after the one before it; what is compiled cannot be seen from here."""
    called = []

    def note(frame, event, argument):
        if event == "call" and "program_guided" in frame.f_code.co_filename:
            called.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    monkeypatch.setattr(sys, "argv", ["proto", "run", str(ROOT / "examples" / "bridge.prg"), "--seed", "9", "--json"])
    sys.setprofile(note)
    try:
        with pytest.raises(SystemExit):
            command_line.main()
    finally:
        sys.setprofile(None)
    assert json.loads(capsys.readouterr().out)["outcome"] == "finished"
    first = {hop: number for number, hop in reversed(list(enumerate(called)))}
    *hops, last = walk("### From text to action")
    assert last == ("tasks/minecraft/world/kernels.py", "step_world")
    hops = [(str(ROOT / "program_guided" / path), name) for path, name in hops]
    assert [hop for hop in hops if hop not in first] == []
    assert [first[hop] for hop in hops] == sorted({first[hop] for hop in hops})


def test_the_visual_programs_of_the_language_s_document_are_programs():
    text = (ROOT / "docs" / "language.md").read_text("utf-8")
    section = text[text.index("## Programs about pictures") : text.index("## What a program becomes")]
    before = "bags = select(x)\na = select(x)\nb = select(y)\nfirst = exist(a)\nsecond = exist(b)\n"
    families = set()
    for row in re.findall(r"^\| `.*", section, re.MULTILINE):
        _, takes, gives, examples = (cell.strip() for cell in row.strip("|").split("|"))
        for call in re.findall(r"`(\w+\(.*?\)+)`", examples):
            *_, last = calls(parse_visual(before + call).body)
            operation = VISUAL.operation(last.operation)
            assert gives == operation.output, call
            assert len(operation.inputs) == (2 if takes.startswith("two") else bool(takes)), call
            families.add(ROWS[last.operation].family)
    assert families == {row.family for row in ROWS.values()}


def test_the_commands_of_the_readme_are_commands():
    for command in sorted(set(re.findall(r"^proto (\w+)", README, re.MULTILINE))):
        assert helped(command), command


def helped(*arguments):
    """The help of a command."""
    asked = [Path(sys.executable).with_name("proto"), *arguments, "--help"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_option_the_documents_name_is_an_option(tmp_path):
    (tmp_path / "count.prg").write_text("count(everything())\n")
    commands = (
        "check",
        "examples",
        "models",
        "operations",
        "play",
        "features extract",
        "features pack",
        "experiment",
        "bench visual",
        "run examples/bridge.prg",
        "run examples/bag_wine.prg",
        f"run {tmp_path}/count.prg --task examples/lists.py --agent any",
        "ask",
        "bench ask",
        "train parser",
        "evaluate parser",
        "evaluate --task minecraft",
        "evaluate --task visual",
        "dataset build visual",
        "dataset index visual",
        "dataset stats visual",
        "train visual",
        "train minecraft --model paper",
        "train minecraft --model pga",
        "train minecraft --target reward",
        "train minecraft --target reward --algorithm a2c",
    )
    known = {
        "--version",
        "--no-deps",
        "--wheel-dir",
        "--nnodes",
        "--nproc-per-node",
        "--rdzv-backend",
        "--rdzv-endpoint",
    }  # of pip and of torchrun
    for command in commands:
        known.update(re.findall(r"--[a-z][a-z-]*[a-z]", helped(*command.split())))
    for name, path in DOCUMENTS.items():
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", path.read_text("utf-8")))
        assert not named - known, name


@pytest.mark.parametrize("name", ["README.md", "environments.md", "language.md", "training.md", "visual_learning.md"])
def test_the_python_of_the_documents_runs(tmp_path, name):
    for code in re.findall(r"```python\n(.*?)```", DOCUMENTS[name].read_text("utf-8"), re.DOTALL):
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr


def test_layers_use_only_what_lies_below_them():
    kept = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert kept.returncode == 0, kept.stdout
