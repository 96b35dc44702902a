"""The command line as a user runs it: real processes, their output and exit codes."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

import program_guided
from benchmarks import BENCHMARKS
from program_guided import output
from program_guided.cli import bench
from program_guided.cli.main import COMMANDS, main
from program_guided.errors import DataError
from program_guided.registry import COMMANDS as OF_TASKS
from program_guided.shipped import example, summary, written_seed

PROTO = Path(sys.executable).with_name("proto")
EXAMPLES = Path(__file__).parent.parent / "examples"


def proto(*arguments, standard_input="", folder=None):
    command = [str(PROTO), *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run(
        command, input=standard_input, capture_output=True, text=True, timeout=300, cwd=folder, env=environment
    )


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_help_names_every_command():
    helped = proto("--help")
    assert helped.returncode == 0
    for command in (*COMMANDS, *OF_TASKS):
        assert command in helped.stdout
        assert proto(command, "--help").returncode == 0
    assert proto().stdout == helped.stdout


def test_the_package_is_the_command_too():
    module = [sys.executable, "-m", "program_guided", "--version"]
    assert subprocess.run(module, capture_output=True, text=True).stdout == proto("--version").stdout


HEAVY = ("torch", "numba", "matplotlib", "PIL", "gymnasium")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["check", str(EXAMPLES / "bridge.prg")], ["check", str(EXAMPLES / "mistakes.prg.txt")]],
    ids=["help", "version", "check", "check mistakes"],
)
def test_help_and_check_import_neither_torch_nor_numba(arguments):
    answered = python(
        f"import sys; sys.argv = ['proto', *{arguments!r}]\n"
        "from program_guided.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    assert answered.stdout.splitlines()[-1] == "[]", answered.stderr


def test_check_shows_three_mistakes_with_carets_and_exits_with_one():
    checked = proto("check", EXAMPLES / "mistakes.prg.txt")
    assert checked.returncode == 1
    assert checked.stderr.count("error:") == 3
    under = [line.partition("|")[2].partition("expected")[0].strip() for line in checked.stderr.splitlines()]
    assert sum(set(text) == {"^"} for text in under) == 3
    assert "did you mean 'gold'" in checked.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize("task", [(), ("--task", "visual")], ids=["found by its language", "named"])
def test_check_understands_visual_programs(task):
    checked = proto("check", EXAMPLES / "passer_by.prg", *task, "--table")
    assert checked.returncode == 0, checked.stderr
    assert "a program of visual, 6 routines" in checked.stdout
    assert "and(someone, exists)" in checked.stdout


def test_check_in_the_language_of_a_named_task_alone():
    checked = proto("check", EXAMPLES / "bridge.prg", "--task", "visual")
    assert checked.returncode == 1
    assert "error:" in checked.stderr
    assert "Traceback" not in checked.stderr


def test_check_reports_as_json():
    report = json.loads(proto("check", EXAMPLES / "bridge.prg", EXAMPLES / "mistakes.prg.txt", "--json").stdout)
    good, bad = report["files"]
    assert good["valid"]
    assert good["routines"] == 9 == len(good["table"])
    assert [problem["line"] for problem in bad["problems"]] == [3, 4, 5]


VISUAL_EXAMPLES = ("bag_wine.prg", "passer_by.prg")
WORLD_EXAMPLES = sorted(set(EXAMPLES.glob("*.prg")) - set(map(EXAMPLES.joinpath, VISUAL_EXAMPLES)))


@pytest.mark.parametrize("example", WORLD_EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_finished_by_the_planner(example):
    ran = json.loads(proto("run", example, "--agent", "planner", "--seed", 3, "--json").stdout)
    assert ran["outcome"] == "finished"
    assert ran["steps"] == len(ran["trace"])


def test_run_writes_an_animation_and_a_picture(tmp_path):
    ran = proto(
        "run",
        EXAMPLES / "bridge.prg",
        "--agent",
        "planner",
        "--seed",
        3,
        "--gif",
        tmp_path / "a.gif",
        "--png",
        tmp_path / "a.png",
    )
    assert ran.returncode == 0
    assert "finished after" in ran.stdout
    with Image.open(tmp_path / "a.gif") as animation, Image.open(tmp_path / "a.png") as picture:
        assert animation.n_frames > 3
        assert picture.size[0] > 300
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gif", "a.png"]


def test_run_takes_a_map_and_an_inventory(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("mine(gold)\nsell(gold)\n")
    drawn.write_text("@....\n~~~~~\n.g..$\n.....\n.....\n")
    ran = json.loads(
        proto("run", program, "--agent", "planner", "--map", drawn, "--inventory", "wood", 1, "--json").stdout
    )
    assert ran["outcome"] == "finished"
    assert "build" in [step["action"] for step in ran["trace"]]


def test_a_map_on_which_the_program_cannot_be_finished_is_reported(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("mine(gold)\n")
    drawn.write_text("@....\n.....\n.....\n.....\n.....\n")
    ran = proto("run", program, "--map", drawn, "--delay", 0)
    assert ran.returncode == 1
    assert "the planner does not finish this program on this map either" in ran.stdout


def test_the_outcome_of_a_random_agent_has_a_reason():
    ran = proto("run", EXAMPLES / "bridge.prg", "--agent", "random", "--json")
    outcome = json.loads(ran.stdout)["outcome"]
    assert outcome in ("finished", "wrong answer", "wrong place", "missing object", "timeout")
    assert ran.returncode == int(outcome != "finished")


WRONG = {
    "no such program": (["run", "nowhere.prg"], "nowhere.prg"),
    "no such map": (["run", EXAMPLES / "bridge.prg", "--map", "nowhere.txt"], "nowhere.txt"),
    "a file for a folder": (["run", EXAMPLES / "bridge.prg", "--gif", EXAMPLES / "bridge.prg" / "x.gif"], "x.gif"),
    "no such object": (["run", EXAMPLES / "bridge.prg", "--inventory", "glod", "1"], "did you mean 'gold'"),
    "no such split": (["evaluate", "--split", "longr"], "did you mean 'longer'"),
    "nothing left to train on": (
        ["train", "minecraft", "--held-out", 3999, "--without", "mine(gold)", "--out", "x"],
        "programs of train are left; at least one must be trained on",
    ),
    "a side that is too small": (["evaluate", "random", "--split", "complex", "--sides", 5, 5], "complex: no world of"),
    "a program with mistakes": (["run", EXAMPLES / "mistakes.prg.txt"], "did you mean 'gold'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_command_gets_one_clear_error(case, tmp_path):
    arguments, fragment = WRONG[case]
    answered = proto(*arguments, folder=tmp_path)
    assert answered.returncode == 1
    assert fragment in answered.stderr
    assert "error" in answered.stderr
    assert "Traceback" not in answered.stderr
    assert not list(tmp_path.iterdir())


UNREADABLE = {
    "run bridge --sed 3": "unknown option --sed: did you mean --seed? (for help: proto run bridge --help)",
    "run bridge --seed three": "--seed: 'three' is not a whole number (for help: proto run bridge --help)",
    "run bridge --delay": "--delay: a value is missing (1 expected) (for help: proto run bridge --help)",
    "run": "name a program before the options",
    "run bridge shapes": "one program at a time",
    "run bridge --program mine(gold)": "give a file or --program, not both",
    "train minecraft --target best": "--target: 'best' is not one of 'dense', 'partial', 'reward', 'progress'",
    "train --steps 3": "name the task before the options",
    "features extract": "missing: --images PATH, --out PATH",
    "check": "no file to check",
    "bench something": "what: 'something' is not one of 'world'",
    "completion tcsh": "shell: 'tcsh' is not one of 'bash', 'zsh', 'fish'",
    "rnu": "unknown command 'rnu': did you mean 'run'?",
}


@pytest.mark.parametrize("command", UNREADABLE)
def test_a_command_line_that_cannot_be_read_is_answered_in_one_line(command):
    answered = proto(*command.split())
    assert answered.returncode == 2
    assert answered.stderr.startswith(f"error: {UNREADABLE[command]}")
    assert answered.stderr.count("\n") == 1
    assert not answered.stdout


PROGRAM = "mine(gold)\nsell(gold)\n"


@pytest.mark.parametrize("given", ["text", "standard input"])
def test_a_program_need_not_be_a_file(given):
    arguments = ("--program", PROGRAM) if given == "text" else ("-",)
    ran = proto("run", *arguments, "--agent", "planner", "--json", standard_input=PROGRAM)
    assert json.loads(ran.stdout)["outcome"] == "finished"
    checked = proto("check", *arguments, standard_input=PROGRAM)
    assert "a program of minecraft, 2 routines" in checked.stdout


def test_an_example_is_run_by_its_name_with_the_seed_that_it_names(tmp_path):
    text = (EXAMPLES / "gold_rush.prg").read_text()
    ran = json.loads(proto("run", "gold_rush", "--agent", "planner", "--json", folder=tmp_path).stdout)
    assert ran["seed"] == written_seed(text) == 1
    assert "mine(gold) ended" in [step["message"] for step in ran["trace"]]
    other = json.loads(proto("run", "gold_rush", "--agent", "planner", "--json", "--seed", 0, folder=tmp_path).stdout)
    assert other["seed"] == 0
    shown = proto("run", "gold_rush", "--map", "river", "--agent", "planner", "--delay", 0, folder=tmp_path).stdout
    assert "finished after" in shown
    assert "(map river)" in shown


def test_a_file_comes_before_an_example_of_its_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert example(Path("bridge")) == EXAMPLES.resolve() / "bridge.prg"
    (tmp_path / "bridge").touch()
    assert example(Path("bridge")) == Path("bridge")
    assert example(Path("some/bridge")) == Path("some/bridge")


def test_a_seed_is_named_among_the_first_comments_only():
    assert written_seed("# Shows it.\n# seed: 12\nmine(gold)") == 12
    assert written_seed("mine(gold)\n# seed: 12") is None
    assert written_seed("# seed: twelve\nmine(gold)") is None
    assert summary("# seed: 12\n# Shows it.\nmine(gold)") == "Shows it."


def test_examples_are_listed_and_copied(tmp_path):
    listed = json.loads(proto("examples", "--json").stdout)["examples"]
    by_name = {each["name"]: each for each in listed}
    assert by_name["bag_wine"]["task"] == "visual"
    assert by_name["bridge"]["seed"] == 9
    assert all(each["about"] for each in listed)
    assert all(each["seed"] is not None for each in listed if each["file"].endswith(".prg"))
    assert proto("examples", "--copy", "mine", folder=tmp_path).returncode == 0
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {each["file"] for each in listed}
    (tmp_path / "mine" / "bridge.prg").write_text("mine(gold)\n")
    again = proto("examples", "--copy", "mine", folder=tmp_path)
    assert again.returncode == 1
    assert "is there already, and differs" in again.stderr


def test_models_and_operations_are_listed(tmp_path):
    listed = json.loads(proto("models", "--json").stdout)
    assert {each["name"]: each["task"] for each in listed["checkpoints"]}["minecraft-reward"] == "minecraft"
    assert all(each["parameters"] > 100_000 for each in listed["checkpoints"])
    assert all(each["accuracy"] > (90 if each["task"] == "minecraft" else 80) for each in listed["checkpoints"])
    assert set(listed["models"]) >= {"plus", "paper"}
    for task, count in (("minecraft", 13), ("visual", 144)):
        found = json.loads(proto("operations", task, "--json").stdout)["operations"]
        assert len(found) == count
        assert all(each["about"] for each in found)
    own = json.loads(proto("operations", EXAMPLES / "lists.py", "--json").stdout)["operations"]
    (above,) = (each for each in own if each["name"] == "above")
    assert (above["inputs"], above["arguments"], above["result"]) == (
        ["Objects", "Digit"],
        {"limit": "0 to 9"},
        "Objects",
    )


def test_completion_knows_commands_options_and_names():
    script = proto("completion", "bash").stdout
    completed = subprocess.run(
        ["bash", "-c", f"{script}\nCOMP_WORDS=(proto run br); COMP_CWORD=2; _proto; echo ${{COMPREPLY[@]}}"],
        capture_output=True,
        text=True,
    )
    assert completed.stdout.split() == ["bridge"], completed.stderr
    for word in ("--hindsight-share", "--sides", "minecraft-reward", "--noise"):
        assert word in script


def test_a_run_s_options_are_read_back_and_the_command_line_wins(tmp_path):
    short = ("--steps", 1, "--eval-every", 1, "--held-out", 5, "--batch-size", 8)
    first = proto("train", EXAMPLES / "lists.py", *short, "--no-anneal", "--out", "a", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    second = proto("train", "--config", "a", "--seed", 3, "--out", "b", folder=tmp_path)
    assert second.returncode == 0, second.stderr
    one, other = (json.loads((tmp_path / name / "options.json").read_text()) for name in "ab")
    assert (one["anneal"], one["batch_size"], one["seed"]) == (False, 8, 0)
    assert other == one | {"seed": 3}
    (tmp_path / "c.json").write_text(json.dumps(one | {"window": 3}))
    for name, problem in (("c.json", "window: no option of"), ("a/config.json", "does not hold the options of a run")):
        refused = proto("train", "--config", name, "--out", "c", folder=tmp_path)
        assert refused.returncode == 1
        assert problem in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()


def test_closed_streams_and_plain_terminals_are_no_traceback():
    def shell(command, **variables):
        return subprocess.run(
            command, shell=True, capture_output=True, text=True, timeout=120, env=os.environ | variables
        )

    closed = shell(f"{PROTO} check bridge >&-")
    assert (closed.returncode, closed.stderr) == (
        1,
        "error: standard output is closed; send it to a file, or to /dev/null\n",
    )
    assert shell(f"{PROTO} check nowhere 2>&-").returncode == 1
    assert "You left" in shell(f"{PROTO} play bridge <&-").stdout
    plain = shell(f"{PROTO} run bridge --agent planner --delay 0", PYTHONIOENCODING="ascii")
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.isascii()
    assert "?" not in plain.stdout


def test_an_impossible_program_is_an_error_not_a_wait(tmp_path):
    program = tmp_path / "p.prg"
    program.write_text("while is_there[merchant]: goto(1, 1)\n")
    begin = time.monotonic()
    answered = proto("run", program)
    assert answered.returncode == 1
    assert "impossible" in answered.stderr
    assert time.monotonic() - begin < 60


def test_evaluate_finds_every_test_program_finished_by_the_planner():
    figures = json.loads(proto("evaluate", "planner", "--split", "standard", "complex", "--json").stdout)
    splits = figures["agents"]["planner"]["splits"]
    assert {name: split["completion"] for name, split in splits.items()} == {"test": 100.0, "complex": 100.0}


def in_a_terminal(*arguments, keys):
    """Run in a pseudo-terminal, press keys one after the other, and return all that was shown."""
    controller, terminal = os.openpty()
    environment = os.environ | {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    command = [str(PROTO), *map(str, arguments)]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown, waiting = b"", list(keys)
    while True:
        if not select.select([controller], [], [], 60)[0]:
            process.kill()
            pytest.fail(f"nothing was shown for a minute after {shown!r}")
        try:
            piece = os.read(controller, 65536)
        except OSError:  # the program has gone
            break
        shown += piece
        if waiting and shown.count(b"q quit") > len(keys) - len(waiting):
            os.write(controller, waiting.pop(0).encode())
    os.close(controller)
    return process.wait(timeout=60), shown.decode("utf-8", "replace")


def test_play_follows_the_keys_and_reports_the_outcome(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("if is_there[gold]: mine(gold)\n")
    drawn.write_text("@g...\n.....\n.....\n.....\n....$\n")
    code, shown = in_a_terminal("play", program, "--map", drawn, keys=["h", "t", "\x1b[C", "m", "q"])
    assert code == 0
    for message in (
        "best: true (1 to go)",
        "is_there[gold] is true",
        "mine(gold) ended",
        "You finished the program after 3",
    ):
        assert message in shown
    code, shown = in_a_terminal("play", program, "--map", drawn, keys=["f", "q"])
    assert code == 1
    assert "The program failed: wrong answer, after 1 step" in shown
    assert "You left after 0 steps" in in_a_terminal("play", "--seed", 5, keys=["q"])[1]


def test_play_reads_keys_from_a_pipe_too(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("mine(gold)\n")
    drawn.write_text("@g...\n.....\n.....\n.....\n....$\n")
    assert (
        "You finished the program after 2 steps" in proto("play", program, "--map", drawn, standard_input="dm").stdout
    )


def test_dataset_build_makes_the_shipped_files_byte_for_byte():
    verified = proto("dataset", "build", "minecraft", "--verify")
    assert verified.returncode == 0, verified.stdout
    assert "identical" in verified.stdout


def test_dataset_build_writes_whole_files_and_verify_sees_a_change(tmp_path, monkeypatch, capsys):
    from program_guided.tasks.minecraft import building
    from program_guided.tasks.minecraft.commands.dataset import Build
    from program_guided.tasks.minecraft.splits import SIZES, SPLITS_FOLDER, load_split
    from program_guided.tasks.minecraft.task import Minecraft

    monkeypatch.setattr(building, "build_splits", lambda progress: {name: load_split(name) for name in SIZES})
    assert Build(out=tmp_path).run(Minecraft()) == 0
    for path in SPLITS_FOLDER.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert Build(out=tmp_path, verify=True).run(Minecraft()) == 0
    (tmp_path / "test.jsonl").write_bytes(b"")
    assert Build(out=tmp_path, verify=True).run(Minecraft()) == 1
    assert "different: test.jsonl" in capsys.readouterr().out


def test_dataset_stats_plots_and_saves(tmp_path):
    described = proto("dataset", "stats", "--plot", tmp_path / "s.png", "--save", tmp_path / "s.json")
    assert described.returncode == 0, described.stderr
    with Image.open(tmp_path / "s.png") as plot:
        assert plot.size[0] > 600
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["task"] == "minecraft"
    assert figures["splits"]["train"]["programs"] == 4000
    assert {"command", "commit", "machine"} <= figures.keys()


def test_bench_world_measures_and_reports_missing_peers(tmp_path):
    answered = proto("bench", "world", "--seconds", 0.1, "--memory-steps", 100_000, "--batch", 64, "--json")
    figures = json.loads(answered.stdout)
    assert figures["steps_per_second"]["environment"] > 0
    assert set(figures["times_faster_than"]) == {"minigrid", "envpool"}


def test_bench_lists_its_benchmarks_and_their_options():
    helped = proto("bench", "--help")
    assert helped.returncode == 0
    assert all(name in helped.stdout for name in BENCHMARKS)
    assert "--batch" in proto("bench", "world", "--help").stdout
    assert "--batch" not in proto("bench", "executor", "--help").stdout


def test_bench_without_a_clone_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(program_guided, "__file__", str(tmp_path / "program_guided" / "__init__.py"))
    with pytest.raises(DataError, match="come with a clone of the repository"):
        bench.main(["world"])


def test_a_negative_seed_and_senseless_numbers_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["run", EXAMPLES / "bridge.prg", "--seed", "-3"],
        ["run", EXAMPLES / "bridge.prg", "--seed", "9" * 25],
        ["run", EXAMPLES / "bridge.prg", "--delay", "-1"],
        ["run", EXAMPLES / "bridge.prg", "--gif", "x.png"],
        ["bench", "world", "--seconds", "0"],
        ["bench", "world", "--batch", "0"],
        ["bench", "visual", "--questions", "0"],
        ["play", "--map", EXAMPLES / "river.map"],
        ["evaluate", "--split"],
        ["evaluate", "planner", "--worlds", "0"],
        ["evaluate", "planner", "--sides", "9", "40"],
        ["evaluate", "planner", "--figure", "x.png"],
        ["evaluate", "nowhere"],
        ["train", "minecraft", "--steps", "0"],
        ["train", "minecraft", "--learning-rate", "-1"],
        ["train", "minecraft", "--processes", "0"],
        ["train", "minecraft", "--num-envs", "9", "--processes", "2"],
        ["train", "minecraft", "--resume", "--out", "nowhere"],
        ["train", "minecraft", "--blocks", "9"],
        ["train", "minecraft", "--target", "partial"],
        ["train", "minecarft"],
        ["evaluate", "planner", "--task", "nowhere.py"],
        ["dataset", "build", "--verify", "--folder", EXAMPLES],
    ):
        monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 1, arguments
        assert said.startswith("error: "), arguments
        assert said.count("\n") == 1, arguments


def test_a_closed_pipe_or_full_disk_is_no_traceback():
    for command in (f"{PROTO} --help | head -1", f"{PROTO} check {EXAMPLES}/bridge.prg --table | head -1"):
        answered = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        assert answered.stdout
        assert not answered.stderr
    full = subprocess.run(
        f"{PROTO} check {EXAMPLES}/bridge.prg > /dev/full", shell=True, capture_output=True, text=True
    )
    assert full.stderr.startswith("error: ")
    assert "Traceback" not in full.stderr


def test_the_planner_stops_where_there_is_no_way(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("mine(silver)\n")
    drawn.write_text("@....\n" + ".....\n" * 4)
    ran = proto("run", program, "--agent", "planner", "--map", drawn)
    assert ran.returncode == 1
    assert "there is no way to finish the pointed routine, stopped after 0 steps" in ran.stdout


def test_a_wrong_answer_is_shown_with_the_right_one(tmp_path):
    program, drawn = tmp_path / "p.prg", tmp_path / "map.txt"
    program.write_text("if is_there[gold]: mine(gold)\n")
    drawn.write_text("@....\n" + ".....\n" * 4)
    played = proto("play", program, "--map", drawn, standard_input="t")
    assert "answered true, but is_there[gold] is false" in played.stdout
    assert "wrong answer: wrong answer" not in played.stdout


def test_a_program_longer_than_an_observation_can_be_run(tmp_path):
    program = tmp_path / "p.prg"
    program.write_text("loop(75):\n  goto(1, 1)\n  goto(2, 1)\n")
    ran = json.loads(proto("run", program, "--agent", "planner", "--json").stdout)
    assert ran["outcome"] == "finished"


def test_the_version_can_be_asked_for():
    assert proto("--version").stdout.startswith("program_guided 0.")


def test_where_no_bar_can_be_drawn_a_line_shows_the_progress(monkeypatch, capsys):
    for quiet, printed in ((60.0, ""), (0.0, "counting: 50 % done\n")):
        monkeypatch.setattr(output, "QUIET_SECONDS", quiet)
        with output.progress_bars() as progress:
            progress.update(progress.add_task("counting", total=4), completed=2)
        assert capsys.readouterr().err == printed


@pytest.mark.parametrize(("text", "advised"), [("gotoo(1, 2)", True), ("mine(glod)", False)])
def test_a_task_of_one_s_own_is_advised_where_an_operation_is_unknown(text, advised):
    checked = proto("check", "--program", text)
    assert checked.returncode == 1
    assert ("--task FILE.py" in checked.stderr) == advised
