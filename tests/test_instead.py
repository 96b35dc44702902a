"""The experiment `instead`: policies of Stable-Baselines3 in the place of an executor, trained and measured as one."""

import json
import os
import signal
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from program_guided import experiments
from program_guided.errors import DataError
from program_guided.experiments import instead
from program_guided.experiments.declaration import AGENT, MODULE, Experiment, Measure, Row
from program_guided.experiments.engine import Engine, Plan
from program_guided.experiments.lines import read_lines
from program_guided.experiments.runs import STARTS, Commits, commands, runs_of
from program_guided.experiments.tables import _by_minutes, draw
from program_guided.tasks.learners import evaluate_entries
from program_guided.tasks.minecraft.agents import PlannerAgent
from program_guided.tasks.minecraft.task import Minecraft

COMMAND = (MODULE, instead.__name__)
TINY = ("--num-envs", "32", "--variants", "1", "--held-out", "4", "--eval-minutes", "0.001")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def baselines():
    pytest.importorskip("sb3_contrib", reason="needs the extra `instead`: pip install 'program_guided[instead]'")
    from program_guided.experiments import baselines

    return baselines


@pytest.fixture(scope="module")
def trained(baselines, tmp_path_factory):
    """By algorithm, a training of one rollout and its folder."""
    found = {}
    for name in baselines.ALGORITHMS:
        settings = {**baselines.SETTINGS, "n_steps": 8, "batch_size": 64, "n_epochs": 1}
        plan = baselines.Plan(name, num_envs=8, variants=1, held_out=4, settings=settings)
        found[name] = baselines.Training(plan, tmp_path_factory.mktemp("instead") / name)
        found[name].to_the_end(minutes=1e-6)
    return found


# The declaration


def test_all_rows_are_trained_as_long_as_ours_and_measured_in_the_same_ways():
    experiment = experiments.find("instead")
    ours, *others = experiment.rows
    assert ours.train == ("minecraft", "--target", "reward", "--model", "plus")
    measures = [(each.name, each.arguments) for each in experiment.measures_of(ours)]
    for row in others:
        options = instead.read((*row.train[2:], "--out", "x"))
        assert options.minutes == ours.minutes
        assert [(each.name, each.arguments) for each in experiment.measures_of(row)] == measures
    assert [instead.read((*row.train[2:], "--out", "x")).algorithm for row in others] == [
        "ppo",
        "maskable",
        "recurrent",
    ]


def test_a_command_of_a_module_is_shown_as_one_types_it():
    experiment = experiments.find("instead")
    row, run = next((row, run) for row, run in runs_of(experiment, 1, "small") if row.train[0] == MODULE)
    train, first, *_ = commands(experiment, row, run, Path("run"))
    assert train.startswith(f"python -m {instead.__name__} --algorithm ppo --minutes 40 --minutes ")
    assert train.endswith("--seed 0 --out run/training")
    assert first.startswith(f"python -m {instead.__name__} evaluate run/training --repetition-penalty 0 --split test")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--minutes", "0"), "minutes 0.0: it must be more than 0"),
        (("--seed", "-1"), "seed -1"),
        (("--num-envs", "9"), "num-envs 9: it must be a multiple of 32"),
        (("--held-out", "5000"), "held-out 5000: it must be from 1 to "),
    ],
)
def test_options_that_cannot_be_are_an_error_in_a_line(baselines, capsys, tmp_path, arguments, said):
    assert instead.main(["--algorithm", "ppo", "--out", str(tmp_path / "x"), *arguments]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {said}")
    assert shown.count("\n") == 1


def test_without_the_libraries_the_error_says_how_to_install_them(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.delitem(sys.modules, "program_guided.experiments.baselines", raising=False)
    assert instead.main(["--algorithm", "ppo", "--out", str(tmp_path / "x")]) == 1
    assert "pip install 'program_guided[instead]'" in capsys.readouterr().err


# Trainings


def test_training_leaves_out_the_held_out_programs_and_evaluates_on_them(trained):
    training = trained["ppo"]
    entries = Minecraft().entries("train")
    batch = training.model.get_env().environments.unwrapped.batch
    texts = [entry.text for entry in entries]
    assert [entry.text for entry in batch.entries] == texts[:-4]
    (line,) = training.curve
    assert line["step"] == 64
    assert line["completion"] in (0, 25, 50, 75, 100)


def test_a_finished_training_has_its_record_and_a_model_that_stable_baselines_reads(trained):
    from stable_baselines3 import PPO

    folder = trained["ppo"].folder
    record = json.loads((folder / "trained.json").read_text())
    assert record.keys() == {"options", "parameters", "minutes", "curve"}
    assert record["curve"] == [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert record["curve"][0].keys() == {"step", "seconds", "completion"}
    model = PPO.load(folder / "model.zip", device="cpu")
    assert sum(each.numel() for each in model.policy.parameters()) == record["parameters"]


@pytest.mark.parametrize("name", ["ppo", "maskable", "recurrent"])
def test_a_training_is_resumed_with_its_weights_steps_and_minutes(baselines, trained, name):
    before = trained[name]
    after = baselines.Training(before.plan, before.folder)
    weights, again = before.model.policy.state_dict(), after.model.policy.state_dict()
    assert all((weights[key] == again[key]).all() for key in weights)
    assert (after.model.num_timesteps, after.seconds, after.curve) == (64, before.seconds, before.curve)
    moments = [each.model.policy.optimizer.state_dict()["state"][0]["exp_avg"] for each in (before, after)]
    assert (moments[0] == moments[1]).all()


def test_a_training_with_other_settings_and_a_damaged_one_are_refused(baselines, trained, tmp_path):
    plan = trained["ppo"].plan
    with pytest.raises(DataError, match="begun with another seed, 0; resume it with the same"):
        baselines.Training(baselines.Plan(**{**vars(plan), "seed": 1}), trained["ppo"].folder)
    whole = (trained["ppo"].folder / "model.zip").read_bytes()
    (tmp_path / "model.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="model.zip: is damaged"):
        baselines.Training(plan, tmp_path)


def test_interrupted_it_saves_and_the_same_command_continues(baselines, tmp_path, monkeypatch, capsys):
    given = ["--algorithm", "ppo", *TINY, "--out", str(tmp_path)]
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(instead, "_show", lambda line: os.kill(os.getpid(), signal.SIGTERM))
    assert instead.main([*given, "--minutes", "10"]) == 130
    assert "interrupted; the same command goes on" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is handler
    assert not (tmp_path / "trained.json").exists()
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        state = json.loads(archive.read("state.json"))
    minutes = state["seconds"] / 60
    assert instead.main([*given, "--minutes", str(minutes + 1e-5)]) == 0
    record = json.loads((tmp_path / "trained.json").read_text())
    assert [line["step"] for line in record["curve"]] == [state["steps"], 2 * state["steps"]] == [1024, 2048]
    assert record["curve"][0] == state["curve"][0]
    assert record["minutes"] > minutes


def test_features_do_not_depend_on_the_order_of_an_observation_s_entries(trained):
    """Rollouts have the environment's order, minibatches that of the space."""
    model = trained["ppo"].model
    observation, _ = model.policy.obs_to_tensor(model.get_env().reset())
    turned = dict(reversed(observation.items()))
    assert list(turned) != list(observation)
    assert (model.policy.extract_features(turned) == model.policy.extract_features(observation)).all()


# Measures


@pytest.mark.parametrize("name", ["ppo", "maskable", "recurrent"])
def test_the_agent_acts_in_the_worlds_in_which_it_is_measured(baselines, trained, name):
    """Its observations are those of the worlds, also after steps."""
    task, seen = Minecraft(), []
    agent = baselines.PolicyAgent(trained[name].model, baselines.ALGORITHMS[name], repetition_penalty=0)
    logits = agent._logits
    agent._logits = lambda numbers: seen.append(len(numbers)) or logits(numbers)

    class Both:
        def act(self, worlds):
            actions = agent.act(worlds)
            observed, _ = agent._environments.reset(options={"reset_mask": np.zeros(worlds.count, bool)})
            assert (observed["agent"] == worlds.specification["agent"]).all()
            mask = worlds.observe().mask
            running = worlds.outcome == 0
            if baselines.ALGORITHMS[name].masks:
                assert mask[np.arange(worlds.count), actions][running].all()
            assert (actions[~running] == 0).all()
            return PlannerAgent().act(worlds)

    assert evaluate_entries(task, Both(), task.entries("test")[:6])["completion"] == 100
    assert seen[0] == 6 > seen[-1] >= 1


def test_measures_are_those_of_proto_evaluate(trained, tmp_path, capsys, monkeypatch):
    every = Minecraft.entries
    monkeypatch.setattr(Minecraft, "entries", lambda self, split: every(self, split)[:9])
    folder, save = trained["maskable"].folder, tmp_path / "x.json"
    given = ["evaluate", str(folder), "--sample", "--seed", "1", "--split", "longer", "--split", "test"]
    assert instead.main([*given, "--save", str(save)]) == 0
    (agent,) = json.loads(save.read_text())["agents"].values()
    assert agent["splits"].keys() == {"test"}
    assert agent["splits"]["test"]["programs"] == 9
    assert "test: " in capsys.readouterr().out


# The whole way, and the figure


def test_a_row_of_a_module_becomes_a_line_and_a_curve_by_minutes(baselines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measure = Measure(
        "strictly greedy", ("--repetition-penalty", "0", "--split", "test"), (*COMMAND, "evaluate", AGENT)
    )
    row = Row("PPO", (*COMMAND, "--algorithm", "ppo", "--minutes", "83"), small=(*TINY, "--minutes", "0.001"))
    small = Experiment("small", "Programs finished, %", "Is it learned?", (row,), (measure,), draw="minutes")
    plan = Plan(budget="small", commits=Commits("here"))
    engine = Engine(plan, workers=1)
    engine.run([small])
    assert engine.failed == []
    (line,) = read_lines(plan.file(small))
    assert line["commands"][0].startswith(f"python -m {instead.__name__} --algorithm ppo --minutes 83 ")
    assert line["figures"]["strictly greedy"].keys() == {"test"}
    assert line["settings"]["options"]["settings"]["gamma"] == baselines.SETTINGS["gamma"]
    assert line["parameters"] > 1000
    ((_, run),) = runs_of(small, 1, "small")
    assert len((plan.folder(run) / STARTS).read_text().splitlines()) == 2
    assert draw(small, [line], tmp_path / "small.png")
    assert os.path.getsize(tmp_path / "small.png") > 1000


def test_curves_by_minutes_are_interpolated_where_all_seeds_were_trained():
    def curve(*points):
        return [{"step": 0, "seconds": 60 * minutes, "completion": completion} for minutes, completion in points]

    places, values = _by_minutes([curve((1, 10), (2, 20), (4, 40)), curve((0.5, 0), (2.5, 20))])
    assert (places, values) == ([1, 2], [[10, 5], [20, 15]])
    assert _by_minutes([curve((1, 10)), curve((3, 30))]) == ([1], [[10, 30]])
