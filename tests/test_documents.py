"""Documents say what the results say, and the layers are what the design says."""

import json
import re
import subprocess
import sys
from pathlib import Path

from program_guided.cli.evaluate import PAPER_UNSEEN
from program_guided.cli.evaluate_visual import PAPER as PAPER_VISUAL
from program_guided.language.syntax import calls
from program_guided.tasks.visual.domain import DOMAIN as VISUAL
from program_guided.tasks.visual.domain import ROWS, parse_visual

ROOT = Path(__file__).parent.parent
SPLITS = ("test", "longer", "complex")
README = (ROOT / "README.md").read_text("utf-8")
PAPER_MAP = (ROOT / "docs" / "paper_map.md").read_text("utf-8")


def results(name):
    return json.loads((ROOT / "results" / name).read_text("utf-8"))


def split_rows():
    for name, split in results("dataset_minecraft.json")["splits"].items():
        columns = ("tokens", "routines", "control_flows", "plan_steps")
        spread = [f"{split[key]['mean']:.0f} ({split[key]['least']}–{split[key]['most']})" for key in columns]
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
    assert strict["reluctance"] == 0
    for kind, splits in strict["means"].items():
        figures = " / ".join(f"{splits[name]['completion']:.1f}" for name in ("test", "longer", "complex"))
        assert re.search(rf"`{kind.split(',')[0]}` (finishes )?{figures} %", README)


def test_the_paper_map_shows_what_each_addition_is_worth():
    """Completion of the standard split without it, at the switch that takes it away."""
    found = results("additions.json")["agents"]
    for agent in found.values():
        command = agent["training"]["command"].split()
        options = command[command.index("--out") + 2 :]
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
    for told, figures in (("`plus`", with_names), ("`plus`, `--names False`", without)):
        agents = [each for each in figures["agents"].values() if each["training"]["executor"]["form"] == "plus"]
        (mean,) = figures["means"].values()
        yield reward_row(f"{told}, mean of {len(agents)} seeds", agents, [mean[name] for name in SPLITS])
    (paper,) = (each for each in with_names["agents"].values() if each["training"]["executor"]["form"] == "paper")
    yield reward_row("`paper`, one seed", [paper], [paper["splits"][name] for name in SPLITS])


def reward_row(told, agents, found):
    steps, minutes = (max(agent["training"][key] for agent in agents) for key in ("samples", "minutes"))
    shown = " | ".join(f"{each['completion']:.1f}" for each in found)
    return f"| {told} | {shown} | {steps / 1e6:.0f} | {minutes:.0f} |"


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


def visual_rows():
    means = results("visual.json")["means"]
    assert [mean["split"] for mean in means] == ["test"] * len(means)
    for mean in means:
        kept = [f"{mean[name]:.1f}" for name in ("accuracy", "binary", "open", "consistency")]
        paper = f"{PAPER_VISUAL[mean['model']]:.1f}" if mean["model"] in PAPER_VISUAL else ""
        seeds = f", mean of {len(mean['seeds'])} seeds" if len(mean["seeds"]) > 1 else ""
        yield f"| {mean['model']}{seeds} | {' | '.join(kept)} | {paper} |"


def test_readme_shows_what_is_answered_about_pictures():
    rows = list(visual_rows())
    assert len(rows) == 5, "four models and the oracle"
    for row in rows:
        assert row in README
    agents = results("visual.json")["agents"]
    shipped = agents["visual"]["splits"]["test"]
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
    told = " ".join((ROOT / "docs" / "visual_learning.md").read_text("utf-8").split())
    for steps in (100, 150):
        picture, blind = (
            results(f"real_pictures_folds_{steps}.json")["accuracy"][name] for name in ("picture", "blind")
        )
        assert re.search(rf"{steps} [^;]*{picture:.1f} %[^;]* {blind:.1f} %", told), steps
    assert f"right in {figures['priors']['whole program']:.1f} %" in readme
    assert f"{figures['unknown_answers']:.1f} % of the answers are never given in train" in readme


def visual_speed_rows():
    figures = results("bench_visual.json")
    speeds = figures["questions_per_second"]
    for what, ratio in figures["times_faster"].items():
        found = (speeds[f"{what}, {order}"] for order in ("sequential", "parallel"))
        yield f"| {what} | {' | '.join(f'{speed:,.0f}' for speed in found)} | {ratio:.2f}x |"


def test_readme_shows_the_speed_of_reasoning():
    for row in visual_speed_rows():
        assert row in README
    figures = results("bench_visual.json")
    readme, index = " ".join(README.split()), figures["index"]
    assert figures["largest_difference"] < 1e-5
    by_picture = figures["times_faster"]["carried out, the programs of a picture at once"]
    alone = figures["times_faster"]["carried out, one program at a time"]
    assert (
        f"takes {by_picture:.1f} times as long one routine after another; one program at a time, {alone:.2f}" in readme
    )
    assert f"learns from {figures['questions_per_second']['learned']:,.0f} questions a second" in readme
    assert index["questions"] == 1_000_000
    indexed = f"a million questions are indexed in {index['seconds']:.0f} seconds and {index['peak_megabytes']:,.0f} MB"
    assert indexed in readme
    assert f"{index['read_per_second'] / 1e3:.0f} thousand a second" in readme


def full_models():
    """Of the full models of the visual task: the mean, and each."""
    figures = results("visual.json")
    mean = next(each for each in figures["means"] if each["model"] == "full model")
    return mean, [figures["agents"][name] for name in mean["agents"]]


def test_readme_shows_what_questions_about_other_pictures_are_worth():
    readme = " ".join(README.split())
    mean, agents = full_models()
    assert all(agent["training"]["settings"]["elsewhere"] == 0.25 for agent in agents)
    (without,) = (each for each in results("visual_elsewhere.json")["means"] if each["seeds"] == [0])
    assert f"{mean['elsewhere']:.1f} % as the oracle does, instead of {without['elsewhere']:.1f} % with" in readme
    every = [f"{each['accuracy']:.1f}" for each in results("visual_elsewhere_0.json")["means"][:3]]
    assert f"the first three rows are {every[0]}, {every[1]} and {every[2]} %" in readme
    prior = results("dataset_visual.json")["blind_prior"]["whole program"]
    assert f"Guessing by the whole program answers {prior:.1f} %" in readme
    full = [agent["splits"]["test"]["structural"] for agent in agents]
    compared, *others = sorted(sum(each[kind] for each in full) / 3 for kind in full[0])
    assert f"answers {compared:.1f} % of them, and at least {others[0]:.1f} % of any other type" in readme


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
    for document in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        text = document.read_text("utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
    map_text = (ROOT / "docs" / "paper_map.md").read_text("utf-8")
    for path, name in re.findall(r"`([a-z_/]+\.py)(?:::(\w+))?`", map_text):
        places = [ROOT / "program_guided" / path, ROOT / "program_guided/tasks/minecraft" / path, ROOT / path]
        found = [place for place in places if place.exists()]
        assert found, path
        assert not name or re.search(rf"(def|class) {name}\b", found[0].read_text("utf-8")), f"{path}::{name}"


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
    for command in re.findall(r"^proto (\w+)", README, re.MULTILINE):
        helped = subprocess.run([Path(sys.executable).with_name("proto"), command, "--help"], capture_output=True)
        assert helped.returncode == 0, command


def test_the_python_of_the_documents_runs(tmp_path):
    told = README + (ROOT / "docs" / "visual_learning.md").read_text("utf-8")
    for code in re.findall(r"```python\n(.*?)```", told, re.DOTALL):
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr


def test_layers_use_only_what_lies_below_them():
    kept = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True)
    assert kept.returncode == 0, kept.stdout
