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
from program_guided.tasks.minecraft.commands.evaluate import PAPER_UNSEEN
from program_guided.tasks.visual.commands.evaluate import PAPER as PAPER_VISUAL
from program_guided.tasks.visual.domain import DOMAIN as VISUAL
from program_guided.tasks.visual.domain import ROWS, parse_visual

ROOT = Path(__file__).parent.parent
SPLITS = ("test", "longer", "complex")
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


def split_rows():
    for name, split in results("dataset_minecraft.json")["splits"].items():
        columns = ("tokens", "routines", "control_flows", "plan_steps")
        spread = [f"{split[key]['mean']:.0f} ({split[key]['minimum']}–{split[key]['maximum']})" for key in columns]
        yield f"| {name} | {split['programs']:,} | {' | '.join(spread)} |"


def bench_rows():
    figures = results("bench_world.json")
    speed, ratio = figures["steps_per_second"], figures["times_faster_than"]
    yield f"| step alone | {speed['step_alone'] / 1e6:.0f} million | |"
    yield f"| observe, step, new episodes in feasible worlds | {speed['environment'] / 1e6:.1f} million | |"
    yield f"| EnvPool's MiniGrid | {speed['envpool'] / 1e6:.2f} million | {ratio['envpool']:.0f}x slower |"
    yield f"| MiniGrid, SyncVectorEnv | {speed['minigrid'] / 1e3:.1f} thousand | {ratio['minigrid']:,.0f}x slower |"


def test_readme_shows_the_measured_splits():
    for row in split_rows():
        assert row in README
    prior = results("dataset_minecraft.json")["splits"]["test"]["finished_by"]["answers_by_prior"]
    assert f"finishes {prior:.0f} % of the test programs" in README


def test_readme_shows_the_measured_speed():
    for row in bench_rows():
        assert row in README


def test_readme_shows_the_measured_completion():
    minutes = results("evaluate.json")["agents"]["minecraft-reward"]["training"]["minutes"]
    assert f"in {minutes:.0f} minutes;" in README
    for agent, found in results("evaluate.json")["agents"].items():
        for name in ("test", "longer", "complex"):
            split = found["splits"][name]
            figures = rf"{split['programs']}\s+{split['completion']:.1f}\s+([\d.]+\s+)?{split['mean_steps']:.1f}\b"
            row = rf"{name}\s+{agent}\s+{figures}"
            assert re.search(row, README), (name, agent)


def dense_rows():
    figures = results("dense.json")
    for kind, splits in figures["means"].items():
        form = kind.split(",")[0]
        trainings = [
            agent["training"] for agent in figures["agents"].values() if agent["training"]["executor"]["form"] == form
        ]
        completion = " | ".join(f"{splits[name]['completion']:.1f}" for name in ("test", "longer", "complex"))
        size = f"{trainings[0]['parameters'] / 1e6:.2f}M"
        minutes = max(training["minutes"] for training in trainings)
        yield f"| `{form}`, mean of {len(trainings)} seeds | {size} | {completion} | {minutes:.0f} |"


def test_readme_shows_the_dense_figures():
    for row in dense_rows():
        assert row in README


def test_readme_shows_what_strictly_greedy_executors_do():
    strict = results("dense_strict.json")
    assert " 0 --save " in strict["command"], "without a repetition penalty"
    for kind, splits in strict["means"].items():
        figures = " / ".join(f"{splits[name]['completion']:.1f}" for name in ("test", "longer", "complex"))
        assert re.search(rf"`{kind.split(',')[0]}` (finishes )?{figures} %", README)


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


def reward_rows():
    with_names, without = results("reward.json"), results("reward_without_names.json")
    for title, figures in (("`plus`", with_names), ("`plus`, `--no-names`", without)):
        agents = [each for each in figures["agents"].values() if each["training"]["executor"]["form"] == "plus"]
        (mean,) = figures["means"].values()
        yield reward_row(f"{title}, mean of {len(agents)} seeds", agents, [mean[name] for name in SPLITS])
    (paper,) = (each for each in with_names["agents"].values() if each["training"]["executor"]["form"] == "paper")
    yield reward_row("`paper`, one seed", [paper], [paper["splits"][name] for name in SPLITS])


def reward_row(title, agents, found):
    steps, minutes = (max(agent["training"][key] for agent in agents) for key in ("samples", "minutes"))
    shown = " | ".join(f"{each['completion']:.1f}" for each in found)
    return f"| {title} | {shown} | {steps / 1e6:.0f} | {minutes:.0f} |"


def test_readme_shows_what_is_learned_from_reward():
    for row in reward_rows():
        assert row in README
    text = (ROOT / "docs" / "training.md").read_text("utf-8")
    figures = results("reward.json")["agents"]["out/reward-paper-0"]
    assert f"{figures['splits']['test']['completion']:.1f} % of the standard programs" in text
    losses = [moment["loss"] for moment in figures["training"]["curve"]]
    assert {f"{loss:.2f}" for loss in losses} == {"-0.21"}
    by_chance = results("evaluate.json")["agents"]["random"]["splits"]["test"]["completion"]
    assert f"acting by chance finishes {by_chance:.1f} %" in text


def test_readme_shows_unseen_routines_beside_the_paper():
    for name in ("gold", "river", "silver"):
        figures, without = (results(f"unseen_{name}{names}.json") for names in ("", "_without_names"))
        paper = PAPER_UNSEEN[figures["unseen"]]
        (ours,), (others,) = ([a for a in each["agents"].values() if a["training"]] for each in (figures, without))
        assert ours["training"]["without"] == others["training"]["without"] == [figures["unseen"]]
        assert ours["training"]["executor"]["names"]
        found = [each["splits"]["test"] for each in (figures["agents"]["planner"], ours, others)]
        completions = (*(each["completion"] for each in found), paper["planner"], paper["reward"])
        shown = " | ".join([str(found[0]["programs"]), *(f"{completion:.1f}" for completion in completions)])
        assert f"| `{figures['unseen']}` | {shown} |" in README


def test_readme_shows_the_speed_of_learning():
    figures = results("bench_learn.json")
    speeds, ratios = figures["steps_per_second"], figures["times_faster_than"]
    for name, against in ratios.items():
        shown = " | ".join(f"{ratio:.1f}x" for ratio in against.values())
        assert f"| {name} | {speeds[name]:,.0f} | {shown} |" in README
    for peer in next(iter(ratios.values())):
        assert f"({speeds[peer]:,.0f})" in README


def ablation_of(mean):
    """The row of the paper's ablation table."""
    return mean["ablation"] if "ablation" in mean else mean["model"]


def visual_rows():
    means = results("visual.json")["means"]
    assert [mean["split"] for mean in means] == ["test"] * len(means)
    for mean in means:
        kept = [f"{mean[name]:.1f}" for name in ("accuracy", "binary", "open", "consistency")]
        model = ablation_of(mean)
        paper = f"{PAPER_VISUAL[model]:.1f}" if model in PAPER_VISUAL else ""
        seeds = f", mean of {len(mean['seeds'])} seeds" if len(mean["seeds"]) > 1 else ""
        yield f"| {model}{seeds} | {' | '.join(kept)} | {paper} |"


def test_readme_shows_what_is_answered_about_pictures():
    rows = list(visual_rows())
    assert len(rows) == 5, "four models and the oracle"
    for row in rows:
        assert row in README
    agents = results("visual.json")["agents"]
    shipped = results("visual_shipped.json")["agents"]["visual"]["splits"]["test"]
    compared = (
        f"answers {shipped['accuracy']:.1f} % of the questions and {shipped['structural']['compare']:.1f} % of those"
    )
    assert compared in " ".join(README.split())
    shown = (f"{shipped[name]:.1f}" for name in ("accuracy", "binary", "open", "consistency"))
    assert re.search(r"full model\s+" + r"\s+".join(shown), README), "what make demo prints"
    minutes = max(each["training"].get("minutes", 0) for each in agents.values())
    assert f"in at most {minutes:.0f} minutes" in README


def real_picture_rows():
    figures = results("real_pictures.json")
    for name, accuracy in figures["accuracy"].items():
        kinds = (figures["structural"][kind][name] for kind in ("query", "choose", "verify", "logical", "compare"))
        yield f"| {name} | {accuracy:.1f} | {' | '.join(f'{each:.1f}' for each in kinds)} |"


def test_readme_shows_what_real_pictures_teach():
    figures = results("real_pictures.json")
    assert all(len(seeds) == 3 for seeds in figures["seeds"].values())
    for row in real_picture_rows():
        assert row in README
    readme = " ".join(README.split())
    for other in ("blind", "shuffled"):
        gained = figures["differences"][f"picture - {other}"]
        interval = (
            f"{gained['points']:.1f} points (95 % interval over pictures: {gained['low']:.1f} to {gained['high']:.1f})"
        )
        assert interval in readme
    assert f"{figures['questions']['test']:,} questions about {figures['pictures']['test']} other pictures" in readme
    assert "not comparable with the paper's split" in readme
    learning = " ".join((ROOT / "docs" / "visual_learning.md").read_text("utf-8").split())
    for steps in (100, 150):
        picture, blind = (
            results(f"real_pictures_folds_{steps}.json")["accuracy"][name] for name in ("picture", "blind")
        )
        assert re.search(rf"{steps} [^;]*{picture:.1f} %[^;]* {blind:.1f} %", learning), steps
    assert f"right in {figures['priors']['whole program']:.1f} %" in readme
    assert f"{figures['unknown_answers']:.1f} % of the answers are never given in train" in readme


def measured_way(what):
    """A row of the benchmark as it is called now: executed alone, or from picture to answer."""
    way, _, how = what.partition(", ")
    return f"{way if way.startswith('from') else 'executed'}, {how}"


def visual_speed_rows():
    figures = results("bench_visual.json")
    speeds = figures["questions_per_second"]
    for what, ratio in figures["times_faster"].items():
        found = (speeds[f"{what}, {order}"] for order in ("sequential", "parallel"))
        yield f"| {measured_way(what)} | {' | '.join(f'{speed:,.0f}' for speed in found)} | {ratio:.2f}x |"


def test_readme_shows_the_speed_of_reasoning():
    for row in visual_speed_rows():
        assert row in README
    figures = results("bench_visual.json")
    readme, index = " ".join(README.split()), figures["index"]
    assert figures["largest_difference"] < 1e-5
    ratios = {measured_way(what): ratio for what, ratio in figures["times_faster"].items()}
    by_picture = ratios["executed, the programs of a picture at once"]
    alone = ratios["executed, one program at a time"]
    assert (
        f"takes {by_picture:.1f} times as long one routine after another; one program at a time, {alone:.2f}" in readme
    )
    assert f"learns from {figures['questions_per_second']['learned']:,.0f} questions a second" in readme
    assert index["questions"] == 1_000_000
    indexed = f"a million questions are indexed in {index['seconds']:.0f} seconds and {index['peak_megabytes']:,.0f} MB"
    assert indexed in readme
    assert f"{index['read_per_second'] / 1e3:.0f} thousand a second" in readme


def full_models():
    """The full models of the visual task: the mean, and each."""
    figures = results("visual.json")
    mean = next(each for each in figures["means"] if ablation_of(each) == "full model")
    return mean, [figures["agents"][name] for name in mean["agents"]]


def test_readme_shows_what_questions_about_other_pictures_are_worth():
    readme = " ".join(README.split())
    mean, agents = full_models()
    settings = [agent["training"]["settings"] for agent in agents]
    assert all(each.get("relabelled", each.get("elsewhere")) == 0.25 for each in settings)
    (without,) = (each for each in results("visual_elsewhere.json")["means"] if each["seeds"] == [0])
    assert f"{mean['elsewhere']:.1f} % as the oracle does, instead of {without['elsewhere']:.1f} % with" in readme
    every = [f"{each['accuracy']:.1f}" for each in results("visual_elsewhere_0.json")["means"][:3]]
    assert f"the first three rows are {every[0]}, {every[1]} and {every[2]} %" in readme
    prior = results("dataset_visual.json")["blind_prior"]["whole program"]
    assert f"Guessing by the whole program answers {prior:.1f} %" in readme
    full = [agent["splits"]["test"]["structural"] for agent in agents]
    compared, *others = sorted(sum(each[kind] for each in full) / 3 for kind in full[0])
    assert f"of the table answers {compared:.1f} % of them, and at least {others[0]:.1f} % of any other type" in readme


def test_readme_shows_how_it_generalises():
    for name, key in (("sides_10", "test"), ("sides_12", "test"), ("tokens_200", "200 tokens")):
        completion = results(f"{name}.json")["agents"]["minecraft"]["splits"][key]["completion"]
        assert f"{completion:.1f} %" in README, name


def test_readme_shows_the_executor_s_speed():
    figures = results("bench_executor.json")
    for form in ("plus", "paper"):
        speed = figures["samples_per_second"][form]
        ratio = figures["times_faster_than_decoder"][form]["decoder, all routines"]
        shown = " | ".join(
            f"{speed[count][way] / 1e3:.1f} thousand ({ratio[count][way]:.1f}x)"
            for count in ("64", "1024")
            for way in ("forward", "forward and backward")
        )
        assert f"| `{form}` | {shown} |" in README
    for form in ("plus", "paper"):
        assert f"{figures['longest_against_shortest'][form]:.2f}x" in README
    alone = figures["times_faster_than_decoder"]["plus"]["decoder, pointed routine"]
    ratios = [f"{alone[count][way]:.1f}x" for count in ("64", "1024") for way in ("forward", "forward and backward")]
    assert " / ".join(ratios) in " ".join(README.split())


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
        "play",
        "features",
        "experiment",
        "bench visual",
        "run examples/bridge.prg",
        "run examples/bag_wine.prg",
        f"run {tmp_path}/count.prg --task examples/lists.py --agent any",
        "evaluate --task minecraft",
        "evaluate --task visual",
        "dataset build visual",
        "dataset index visual",
        "dataset stats visual",
        "train visual",
        "train minecraft --model paper",
        "train minecraft --target reward",
        "train minecraft --target reward --algorithm a2c",
    )
    known = {
        "--version",
        "--nnodes",
        "--nproc-per-node",
        "--rdzv-backend",
        "--rdzv-endpoint",
    }  # the last are torchrun's
    for command in commands:
        known.update(re.findall(r"--[a-z][a-z-]*[a-z]", helped(*command.split())))
    for name, path in DOCUMENTS.items():
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", path.read_text("utf-8")))
        assert not named - known, name


@pytest.mark.parametrize("name", ["README.md", "language.md", "training.md", "visual_learning.md"])
def test_the_python_of_the_documents_runs(tmp_path, name):
    for code in re.findall(r"```python\n(.*?)```", DOCUMENTS[name].read_text("utf-8"), re.DOTALL):
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr


def test_layers_use_only_what_lies_below_them():
    kept = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert kept.returncode == 0, kept.stdout
