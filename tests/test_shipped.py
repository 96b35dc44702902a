"""The weights that ship: they load, they fit in the package, and they do what was published."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import program_guided
from program_guided.learning.agents import run_programs
from program_guided.learning.checkpoint import SHIPPED
from program_guided.learning.codec import checked
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.parsing import measure as measure_parser
from program_guided.tasks.executor import load_executor
from program_guided.tasks.learners import evaluate_entries
from program_guided.tasks.minecraft.agents import placed
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.parser import load_parser, shipped_parsers
from program_guided.tasks.visual.detector.evaluation import measure
from program_guided.tasks.visual.detector.labels import labels_of
from program_guided.tasks.visual.detector.pictures import pixels
from program_guided.tasks.visual.detector.training import load_detector
from program_guided.tasks.visual.drawing.scene import Camera
from program_guided.tasks.visual.embedded.building import scenes_of, write_world
from program_guided.tasks.visual.evaluation import answer_questions
from program_guided.tasks.visual.index.building import make_index

ROOT = Path(__file__).parent.parent


def figures(name):
    return json.loads((ROOT / "results" / f"{name}.json").read_text("utf-8"))


SIZES = {"minecraft": 5_000_000, "minecraft-reward": 5_000_000, "visual": 10_000_000}


@pytest.fixture(scope="module")
def executor():
    return program_guided.load("minecraft")


@pytest.mark.parametrize("name", SIZES)
def test_the_shipped_checkpoints_are_small_and_say_where_they_come_from(name):
    assert sum(path.stat().st_size for path in (SHIPPED / name).iterdir()) < SIZES[name]
    training = json.loads((SHIPPED / name / "config.json").read_text())["training"]
    assert training["command"].startswith("proto train visual" if name == "visual" else "proto train minecraft")
    assert training["target"] == ("reward" if name == "minecraft-reward" else "dense")
    assert training["commit"]
    assert training["samples"] > 100_000


def test_the_shipped_parsers_are_small_together_and_say_where_they_come_from():
    assert shipped_parsers() == ["minecraft-parser", "visual-parser"]
    files = [path for name in shipped_parsers() for path in (SHIPPED / name).iterdir()]
    assert sum(path.stat().st_size for path in files) < 6_000_000
    for name in shipped_parsers():
        training = json.loads((SHIPPED / name / "config.json").read_text())["training"]
        assert training["command"].startswith(f"proto train parser {name.removesuffix('-parser')}")
        assert training["commit"]


@pytest.mark.parametrize(("name", "split", "share"), [("visual", "test", 0.95), ("minecraft", "longer", 0.8)])
def test_the_shipped_parsers_read_questions(name, split, share):
    task, parser = load_parser(f"{name}-parser")
    pairs = checked(list(task.questions(split))[::40][:40], task.parse)
    found = measure_parser(parser, pairs)
    assert found["valid"] == 100
    assert found["canonical"] >= 100 * share


def test_the_surest_shipped_parser_reads_a_question():
    picture = program_guided.ask("Is the bag to the left of the bottle red?")
    world = program_guided.ask("If there is a river, mine a wood and build a bridge.")
    assert (picture.task.task_name, world.task.task_name) == ("visual", "minecraft")
    assert picture.understood
    assert world.understood
    assert world.program.split() == ["if", "is_there[river]:", "mine(wood)", "build_bridge()"]
    assert not program_guided.ask("Wie wird das Wetter morgen in Berlin?").understood


def test_the_shipped_detector_is_small_and_says_where_it_comes_from():
    assert sum(path.stat().st_size for path in (SHIPPED / "detector").iterdir()) < 8_000_000
    training = json.loads((SHIPPED / "detector" / "config.json").read_text())["training"]
    assert training["command"].startswith("proto train detector")
    assert training["commit"]


def test_the_shipped_detector_finds_what_was_published():
    """In pictures of the test split, which it was not trained on."""
    scenes = list(scenes_of("test", 40, seed=0))
    network = load_detector()
    found = [network.detect(torch.from_numpy(pixels(scene, Camera()))[None])[0] for scene in scenes]
    measures, published = measure(found, list(map(labels_of, scenes))), figures("detector")["measures"]
    for name in ("AP50", "names", "attributes"):
        assert measures[name] >= published[name] - 0.05


@pytest.mark.parametrize(("name", "less"), [("minecraft", 1), ("minecraft-reward", 2)])
def test_the_shipped_executors_reach_what_was_published(name, less):
    """200 programs of the test split, which they were not trained on, each in three worlds; the published in one."""
    published = figures("evaluate")["agents"][name]["splits"]["test"]["completion"]
    found = evaluate_entries(Minecraft(), program_guided.load(name), load_split("test")[:200], variants=3)["completion"]
    assert found >= published - less


def test_a_program_is_run_in_three_lines(executor):
    moments = executor.run("while env[gold] > 0: mine(gold)", seed=2)
    assert moments[-1].outcome == "finished"
    assert not any("gold" in row for row in moments[-1].cells)
    in_my_world = executor.run("mine(gold)", map="@....\n.....\n..g..\n.....\n.....\n")
    assert in_my_world[-1].outcome == "finished"


def test_running_twice_gives_the_same_steps_and_sampling_others(executor):
    first, second = (executor.run("mine(gold); sell(gold); goto(1, 1)", seed=4) for _ in range(2))
    assert [moment.action for moment in first] == [moment.action for moment in second]
    sampling = load_executor("minecraft", sample=True, seed=1)
    assert sampling.run("mine(gold)", seed=4)[-1].outcome == "finished"


@torch.no_grad()
def test_larger_maps_and_longer_programs_are_executed(executor):
    larger = run_programs(placed(load_split("test")[:20], sides=(12, 12)), ExecutorAgent(executor.model))
    assert larger.finished.sum() > 10
    long = executor.run(
        "\n".join(["mine(wood)", "goto(2, 2)", "goto(3, 3)"] * 1 + ["goto(1, 2)", "goto(2, 1)"] * 40), seed=1
    )
    assert long[-1].outcome == "finished"


def test_the_shipped_reasoner_answers_what_was_published(tmp_path):
    """About scenes of the test split, which it was not trained on."""
    published = figures("visual_shipped")["agents"]["visual"]["splits"]["test"]["accuracy"]
    write_world(tmp_path, {"train": 1, "val": 1, "test": 40})
    make_index(tmp_path, tmp_path / "index")
    reasoner = program_guided.load("visual")
    task = replace(reasoner.task, data=tmp_path).restored(reasoner.checkpoint)
    asked = task.question_set("test_balanced")
    assert answer_questions(reasoner.model, asked, np.arange(len(asked))).accuracy >= published - 4


@pytest.mark.parametrize(("program", "seed", "answer"), [("bag_wine", 875, "yes"), ("passer_by", 207, "yes")])
def test_the_programs_of_the_demo_are_answered(program, seed, answer):
    reasoning = program_guided.load("visual").run((ROOT / "examples" / f"{program}.prg").read_text("utf-8"), seed)
    assert reasoning.answer == answer
    assert all(finding.right for finding in reasoning.findings)


def test_the_reasoner_reads_nested_calls_and_decides_conditions():
    reasoner = program_guided.load("visual")
    nested, flat = (reasoner.run(text, seed=3) for text in ("exist(select(bag))", "select(bag)\nexist()"))
    assert [finding.result for finding in nested.findings] == [finding.result for finding in flat.findings]
    lengths = set()
    for seed in range(10):
        reasoning = reasoner.run("if exist(select(bag)): select(bag)", seed)
        assert len(reasoning.findings) == 2 + (reasoning.findings[1].result == "yes")
        lengths.add(len(reasoning.findings))
    assert lengths == {2, 3}, "some scenes have a bag, others have none"
