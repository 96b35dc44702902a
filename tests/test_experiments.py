"""Experiments: declarations, runs that are done once and resumed, lines of results, tables beside the paper."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from program_guided import experiments
from program_guided.cli import experiment as command
from program_guided.cli import main as command_line
from program_guided.errors import DataError, UsageError
from program_guided.experiments.declaration import AGENT, MODULE, Experiment, Measure, Row
from program_guided.experiments.engine import Engine, Plan, announcement, status
from program_guided.experiments.lines import add_line, file_of, read_lines
from program_guided.experiments.runs import RESULT, STARTS, TRAINING, Commits, code_commit, runs_of, train_command
from program_guided.experiments.tables import draw, table
from program_guided.experiments.worker import BUSY, FAILED, Job, work
from program_guided.files import held
from tools import results as figures_of_documents

ROOT = Path(__file__).parents[1]
TASK = """
from program_guided import Task, operation, readers

class Signs(Task):
    name = "signs"
    reader = readers.Sequence(values=4)

    def encode(self, numbers):
        return {"items": numbers}

    def examples(self, split):
        for number in range(40):
            yield "largest_is_last()", [number % 4, number // 4 % 4]

    @operation
    def largest_is_last(self, numbers) -> bool:
        return numbers[-1] == max(numbers)
"""
TINY = ("--word-width", "8", "--hidden", "16", "--heads", "2", "--blocks", "1", "--batch-size", "8", "--held-out", "5")
TRAIN = ("signs.py", *TINY, "--warmup", "2", "--steps", "240", "--eval-every", "12")
ANSWERS, AGAIN = Measure("answers"), Measure("breakdown", ("--breakdown",))
ONE = Experiment(
    "one",
    "Questions answered, %",
    "Is it learned?",
    (Row("plus", TRAIN, paper={"test": 64.5}), Row("broken", ("signs.py", "--no-such-option"))),
    (ANSWERS,),
    score="accuracy",
    draw="curves",
)
TWO = Experiment("two", "The same", "Is it shared?", (Row("ours", TRAIN),), (ANSWERS, AGAIN), score="accuracy")
HERE = Commits("here")
REGISTER = """
import sys
sys.path.insert(0, {tests!r})
import test_experiments as t
t.experiments.EXPERIMENTS.update(one=t.ONE, two=t.TWO)
from program_guided.cli.main import main
sys.argv[0] = "proto"
main()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a task in it, from which all commands are given."""
    folder, before = tmp_path_factory.mktemp("experiments"), os.getcwd()
    (folder / "signs.py").write_text(TASK)
    os.chdir(folder)
    os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
    yield folder
    os.chdir(before)
    del os.environ["XDG_CONFIG_HOME"]


@pytest.fixture(scope="module")
def whole(place):
    """Both experiments, run to their end together."""
    plan = Plan(commits=HERE)
    engine = Engine(plan, workers=2)
    engine.run([ONE, TWO])
    return plan, engine


def proto(*arguments):
    """A command in a process of its own that knows the experiments of this file."""
    code = REGISTER.format(tests=str(Path(__file__).parent))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    given = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def starts(folder):
    return [json.loads(line)["command"] for line in (folder / STARTS).read_text().splitlines()]


# Declarations


def unique_commands():
    """Every different command of all experiments and budgets."""
    found = {}
    for each in experiments.EXPERIMENTS.values():
        for budget in ("small", "full"):
            for row, run in runs_of(each, 1, budget):
                if run.train:
                    found[tuple(train_command(run, Path("run")))] = each.name
                for measure in each.measures_of(row):
                    further = each.small_measure if budget == "small" and AGENT in measure.command else ()
                    agent = run.agent or "minecraft"
                    every = (*measure.command, *measure.arguments, *further)
                    named = tuple({AGENT: agent, "{seed}": "0"}.get(word, word) for word in every)
                    found[(*named, "--save", "x.json")] = each.name
    return found


def test_every_command_of_every_experiment_can_be_read(monkeypatch, tmp_path):
    from program_guided.cli import train
    from program_guided.experiments import instead
    from program_guided.tasks.minecraft.commands.dataset import Stats
    from program_guided.tasks.minecraft.commands.evaluate import Evaluate

    seen = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        train, "_train", lambda options: (seen.append(options.settings), options.settings.check())[1] or 0
    )
    for kind in (Evaluate, Stats):
        monkeypatch.setattr(kind, "run", lambda self, *given: seen.append(self) or 0)
    for arguments, name in unique_commands().items():
        if arguments[0] == MODULE:
            assert arguments[1] == instead.__name__
            seen.append(instead.read(arguments[2:]))
            seen[-1].check()
            continue
        try:
            assert command_line.run(list(arguments)) == 0
        except (DataError, UsageError) as error:
            pytest.fail(f"{name}: proto {' '.join(arguments)}: {error}")
    assert len(seen) == len(unique_commands()) > 60


def test_declarations_are_whole():
    for name, each in experiments.EXPERIMENTS.items():
        names = [row.name for row in each.rows]
        assert name == each.name
        assert len(set(names)) == len(names), name
        assert all(bool(row.train) + bool(row.agent) <= 1 for row in each.rows), name
        assert each.about.endswith("?")
        measures = [measure.name for row in each.rows for measure in each.measures_of(row)]
        assert measures or name == "architecture_minecraft"


def test_the_paper_s_figures_are_those_of_the_world_s_command():
    from program_guided.experiments import minecraft
    from program_guided.tasks.minecraft.commands import evaluate

    for target, figures in evaluate.PAPER.items():
        assert minecraft.PAPER[target, "paper"] == figures
    ours = {
        routine: {"planner": each["planner"], "reward": each["ProTo"]}
        for routine, each in minecraft.PAPER_UNSEEN.items()
    }
    assert ours == evaluate.PAPER_UNSEEN


def test_scripts_are_in_step_with_the_declarations():
    scripts = {path.stem: path for path in (ROOT / "runs").glob("*.sh")}
    assert scripts.keys() == experiments.EXPERIMENTS.keys()
    for name, path in scripts.items():
        last = path.read_text().splitlines()[-1]
        seeds = experiments.find(name).seeds
        assert last == f'proto experiment run {name} --seeds {seeds} "$@"'
        assert os.access(path, os.X_OK)


# Runs


def test_a_shared_training_is_done_once_and_measured_for_both(whole):
    plan, _ = whole
    (_, run), *_ = runs_of(TWO, 1, "full")
    commands = starts(plan.folder(run))
    assert [each.split()[1] for each in commands] == ["train", "evaluate", "evaluate"]
    (first,), (second,) = read_lines(plan.file(ONE)), read_lines(plan.file(TWO))
    assert first["curve"] == second["curve"]
    assert first["figures"].keys() == {"answers"}
    assert second["figures"].keys() == {"answers", "breakdown"}


def test_a_line_says_all(whole):
    plan, _ = whole
    (line,) = read_lines(plan.file(ONE))
    assert (line["experiment"], line["row"], line["seed"], line["budget"], line["commit"]) == (
        "one",
        "plus",
        0,
        "full",
        "here",
    )
    assert line["settings"]["train"] == list(TRAIN)
    assert line["settings"]["options"]["steps"] == 240
    assert line["parameters"] > 100
    assert line["minutes"] > 0
    assert len(line["curve"]) == 20
    assert line["curve"][0].keys() == {"step", "seconds", "completion"}
    assert 0 <= line["figures"]["answers"]["test"] <= 100
    assert line["machine"]["cores"]
    assert line["commands"][0].startswith("proto train signs.py ")


def test_what_cannot_be_read_is_not_tried_again_and_reported_in_a_line(whole):
    plan, engine = whole
    (failed,) = engine.failed
    assert re.fullmatch(r"broken, seed 0: error: unknown option --no-such-option.* \(.*output\.txt\)", failed)
    run = next(run for row, run in runs_of(ONE, 1, "full") if row.name == "broken")
    assert len(starts(plan.folder(run))) == 1


def test_what_is_done_is_not_done_again(whole):
    plan, _ = whole
    engine = Engine(plan)
    assert status([TWO], plan).done == 1
    engine.run([TWO])
    (_, run), *_ = runs_of(TWO, 1, "full")
    assert len(starts(plan.folder(run))) == 3
    assert "all 1 run done" in announcement([TWO], plan, 1)


def test_lines_come_back_from_finished_runs(whole):
    plan, _ = whole
    before = plan.file(TWO).read_bytes()
    plan.file(TWO).unlink()
    Engine(plan).run([TWO])
    assert plan.file(TWO).read_bytes() == before


def test_a_table_that_is_whole_at_another_commit_is_done(whole):
    assert status([TWO], Plan(commits=Commits("later"))).done == 1
    assert status([TWO], Plan(commits=Commits("later"), seeds=2)).done == 0


def test_lines_of_another_commit_do_not_fill_up_a_table_unless_asked_for(whole):
    plan, _ = whole
    later = Plan(commits=Commits("later"))
    assert status([ONE], plan).done == 1
    assert status([ONE], later).done == 0
    run = next(run for row, run in runs_of(ONE, 1, "full") if row.name == "plus")
    assert later.folder(run) != plan.folder(run)
    for other in ("any", "here"):
        asked = Plan(commits=Commits("later", other))
        assert status([ONE], asked).done == 1
        assert asked.folder(run) == plan.folder(run)
    assert status([ONE], Plan(commits=Commits("later", "elsewhere"))).done == 0


def until(condition, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_interrupted_and_killed_in_the_middle_it_goes_on_to_the_same_weights(whole, place):
    plan, _ = whole
    out, arguments = Path("killed"), ("experiment", "run", "two", "--out", "killed", "--results", "killed/results")

    def log():
        return [line for path in out.glob(f"*/{TRAINING}/log.jsonl") for line in path.read_text().splitlines()]

    process = proto(*arguments)
    until(lambda: len(log()) >= 1, process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.endswith("interrupted; the same command goes on\n")
    assert "Traceback" not in said

    steps = len(log())
    process = proto(*arguments)
    until(lambda: len(log()) > steps, process)
    process.kill()
    process.communicate()

    process = proto(*arguments)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    (folder,) = (path.parent for path in out.glob(f"*/{RESULT}"))
    commands = starts(folder)
    trainings = [each for each in commands if each.startswith("proto train")]
    assert [each.endswith("--resume") for each in trainings] == [False, True, True]
    assert len(commands) == len(trainings) + 2, "each measure once"
    assert len(read_lines(out / "results" / "two.jsonl")) == 1
    (_, run), *_ = runs_of(TWO, 1, "full")
    weights = [each / TRAINING / "model.safetensors" for each in (folder, plan.folder(run))]
    assert weights[0].read_bytes() == weights[1].read_bytes()


PLANNER = Experiment("planner", "Planner", "Busy?", (Row("planner", agent="planner"),), (Measure("nothing"),))


class Scripted:
    """A pool whose runs end with given exit codes."""

    def __init__(self, *codes):
        self.codes, self.jobs = list(codes), []

    def free(self):
        return True

    def start(self, job):
        self.jobs.append(job)

    def ended(self):
        return [(self.jobs[-1], self.codes.pop(0))]

    def stop(self):
        assert not self.codes


def test_a_run_of_another_process_is_waited_for_and_a_failed_one_tried_again(place, monkeypatch):
    monkeypatch.setattr("program_guided.experiments.engine.BUSY_SECONDS", 0.1)
    pool = Scripted(BUSY, FAILED, BUSY, FAILED, FAILED)
    engine = Engine(Plan(commits=HERE, out=Path("scripted"), results=Path("scripted")), retries=2)
    monkeypatch.setattr(engine, "_pool", lambda: pool)
    engine.run([PLANNER])
    assert len(pool.jobs) == 5
    (failed,) = engine.failed
    assert re.fullmatch(r"planner, seed 0: no output \(scripted/\w+/output\.txt\)", failed)


def test_only_one_process_has_a_run(place):
    (_, run), *_ = runs_of(PLANNER, 1, "full")
    with held(place / "held"):
        assert work(Job(str(place), "held", run, "here", {})) == BUSY
    assert not (place / "held" / RESULT).exists()


# Lines


def line(row="plus", seed=0, commit="here", **changes):
    plain = {
        "experiment": "one",
        "row": row,
        "seed": seed,
        "commit": commit,
        "commits": [commit],
        "settings": {"train": list(TRAIN), "agent": "", "measures": {}},
        "figures": {"answers": {"test": 80.0 + seed}},
        "curve": [{"step": step, "seconds": 1.0, "completion": 10.0 * seed + step} for step in (10, 20)],
        "minutes": 12.0,
        "measure_minutes": 1.0,
        "parameters": 1_300_000,
        "machine": {},
    }
    return {**plain, **changes}


def test_lines_are_sorted_and_replaced(tmp_path):
    path = tmp_path / "one.jsonl"
    for each in (line(seed=1), line("paper"), line(seed=0), line(seed=1, commit="later")):
        add_line(path, each, ["plus", "paper"])
    assert [(each["row"], each["seed"], each["commit"]) for each in read_lines(path)] == [
        ("plus", 0, "here"),
        ("plus", 1, "later"),
        ("paper", 0, "here"),
    ]
    assert os.listdir(tmp_path) == ["one.jsonl"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:-20], ":2: the line is cut off"),
        (lambda text: text.replace("}\n", "\n"), ":1: the line is damaged"),
        (lambda text: text.replace('"figures"', '"fingers"'), ":1: is no line of results: 'figures' is missing"),
        (lambda text: text.replace('"seed": 1', '"seed": NaN'), ":2: the line is damaged"),
        (lambda text: "[]\n" + text, ":1: is no line of results"),
        (lambda text: "\n" + text, ":1: the line is damaged"),
    ],
)
def test_a_damaged_line_is_an_error_that_names_it(tmp_path, damage, said):
    path = tmp_path / "one.jsonl"
    for seed in (0, 1):
        add_line(path, line(seed=seed), ["plus"])
    path.write_text(damage(path.read_text()))
    with pytest.raises(DataError, match=re.escape(f"{path}{said}")):
        read_lines(path)


def test_a_trial_is_kept_apart_from_results():
    assert file_of("one", "small", Path("results"), Path("out")) == Path("out/one.small.jsonl")
    assert file_of("one", "full", Path("results"), Path("out")) == Path("results/one.jsonl")


def test_minutes_are_those_of_results_of_any_experiment(tmp_path):
    add_line(tmp_path / "other.jsonl", line(), ["plus"])
    add_line(tmp_path / "other.jsonl", line(seed=1, minutes=20.0), ["plus"])
    found = status([ONE], Plan(commits=HERE, results=tmp_path, seeds=2))
    assert (found.minutes, found.unknown) == (2 * 17.0, 2), "the broken row is of unknown length"
    assert found.hours(2) == "0.3 + 2 of unknown length"


def test_the_code_is_that_of_the_last_commit_of_the_package():
    assert re.fullmatch(r"[0-9a-f]{12}(-changed)?", code_commit())


# Tables


def test_a_table_has_means_deviations_and_the_paper_beside():
    found = table(ONE, [line(seed=seed) for seed in range(3)])
    assert found.headings == ("", "parameters", "answers: test", "in the paper: test", "seeds", "minutes")
    assert found.rows == (("plus", "1.30M", "81.0 ± 1.0", "64.5", "3", "12"),)
    assert "| plus | 1.30M | 81.0 ± 1.0 | 64.5 | 3 | 12 |" in found.markdown()
    assert "commit here." in found.caption


def test_a_table_warns_of_several_commits():
    assert "NOT all of one commit" in table(ONE, [line(), line(seed=1, commit="later")]).caption
    assert "NOT all of one commit" in table(ONE, [line(commits=["here", "later"])]).caption
    assert "not committed" in table(ONE, [line(commit="here-changed", commits=["here-changed"])]).caption


def test_measures_stand_side_by_side():
    each = line(figures={"answers": {"test": 0.0, "longer": 7.0}, "breakdown": {"test": 50.0}}, row="ours")
    found = table(TWO, [each])
    assert found.headings[2:4] == ("answers: test / longer", "breakdown: test")
    assert found.rows[0][2:4] == ("0.0 / 7.0", "50.0")


def test_a_figure_is_drawn(tmp_path):
    path = tmp_path / "one.png"
    assert draw(ONE, [line(seed=seed) for seed in range(2)], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not draw(TWO, [line()], path), "it has no figure"


def test_documents_show_experiments_that_have_lines_and_no_others(monkeypatch, tmp_path):
    monkeypatch.setattr(figures_of_documents, "ROOT", tmp_path)
    assert figures_of_documents.experiments() == ""
    monkeypatch.setitem(experiments.EXPERIMENTS, "one", ONE)
    add_line(tmp_path / "results" / "one.jsonl", line(), ["plus"])
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.png").touch()
    shown = figures_of_documents.experiments()
    assert shown.startswith("### Questions answered, %\n\nIs it learned? `proto experiment run one`")
    assert "| plus | 1.30M | 80.0 | 64.5 | 1 | 12 |" in shown
    assert shown.endswith("![Questions answered, %](one.png)")


# The command


def test_draw_needs_the_results_alone(place, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(experiments.EXPERIMENTS, "one", ONE)
    add_line(tmp_path / "one.jsonl", line(), ["plus"])
    arguments = ["draw", "one", "--results", str(tmp_path), "--docs", str(tmp_path), "--out", "nowhere"]
    assert command.main(arguments) == 0
    shown = capsys.readouterr().out
    assert re.search(r"plus +1\.30M +80\.0 +64\.5", shown)
    assert (tmp_path / "one.png").is_file()


def test_show_and_list_say_what_is_done_and_each_command(whole, monkeypatch, capsys):
    monkeypatch.setattr(command, "code_commit", lambda: "here")
    for each in (ONE, TWO):
        monkeypatch.setitem(experiments.EXPERIMENTS, each.name, each)
    assert command.main(["show", "two"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 runs done" in shown
    assert re.search(r"^ours, seed 0: done\n  proto train signs\.py .* --seed 0 --out out/\S+/training$", shown, re.M)
    assert shown.count("  proto evaluate out/") == 2
    assert command.main(["list"]) == 0
    assert re.search(r"two +Is it shared\? +1 of 1 +0\.0", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what to do, as in: proto experiment list"),
        (["fly"], "'fly' is not one of"),
        (["run"], "name an experiment, as in: proto experiment run minecraft_test"),
        (["run", "minecraft_tests"], "did you mean 'minecraft_test'"),
        (["run", "beyond", "--seeds", "0"], "seeds 0: it must be from 1 to 100"),
        (["run", "beyond", "--workers", "0"], "workers 0"),
        (["run", "beyond", "--retries", "-1"], "retries -1"),
        (["run", "beyond", "--address", "127.0.0.1:1"], "only Ray has one"),
        (["draw", "beyond", "--results", "nowhere"], "nowhere/beyond.jsonl: there are no results yet"),
        (["run", "beyond", "--results", "signs.py/results"], "cannot be"),
        (["pictures"], "missing: --root"),
    ],
)
def test_bad_input_is_an_error_in_a_line(place, arguments, said):
    with pytest.raises((DataError, UsageError)) as caught:
        command.main(arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_some_rows_only(whole):
    plan, _ = whole
    assert [use.row.name for use in status([ONE], plan).uses] == ["plus", "broken"]
    assert [use.row.name for use in status([ONE], replace(plan, rows=("brok", "ken"))).uses] == ["broken"]
    output, _ = (process := proto("experiment", "show", "one", "--rows", "none of them")).communicate()
    assert process.returncode == 1
    assert "rows 'none of them': no row has this in its name" in output
