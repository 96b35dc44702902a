"""Learning to reason about pictures: it learns, its forms agree, ids mean nothing, and it survives being killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import program_guided
from program_guided.benchmarks import indexing
from program_guided.cli import dataset, visual_world
from program_guided.cli.evaluate import Evaluate
from program_guided.cli.evaluate_visual import MEASURES, _means
from program_guided.cli.run import Run
from program_guided.cli.train import Train
from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.learning.outcomes import examine, outcomes_of
from program_guided.learning.questions import NO_TARGET, Vocabulary, moved
from program_guided.learning.reasoner import Reasoner
from program_guided.learning.settings import VisualSettings
from program_guided.learning.training import Job, train
from program_guided.learning.visual import reasoning_loss
from program_guided.learning.visual_task import VisualData, VisualTask
from program_guided.tasks.visual import building
from program_guided.tasks.visual.building import write_world
from program_guided.tasks.visual.detections import Detector
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS
from program_guided.tasks.visual.indexing import make_index
from program_guided.tasks.visual.oracle import execute
from program_guided.tasks.visual.release import read_questions

SMALL = {"word_width": 8, "hidden": 32, "heads": 4, "blocks": 1}
DETECTOR = Detector(dimension=96, noise=0.3, misses=0.0)
PROTO = Path(sys.executable).with_name("proto")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
EXAMPLE = Path(__file__).parent.parent / "examples" / "bag_wine.prg"

pytestmark = pytest.mark.usefixtures("one_thread")


def written(folder, scenes, seed=0):
    write_world(folder, dict(zip(("train", "val", "test"), scenes, strict=True)), seed, DETECTOR)
    make_index(folder, folder / "index")
    return folder


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    return written(tmp_path_factory.mktemp("world"), (30, 4, 6))


@pytest.fixture(name="checkpoint", scope="module")
def checkpoint_fixture(world, one_thread, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    train(job(world, folder))
    return folder


def job(world, folder, target="dense", form="plus", **changes):
    task = VisualTask(world, target)
    settings = VisualSettings(steps=6, every=3, questions=32, warm_up=2, dropout=0.1)
    return Job(task.config(form, **SMALL), settings, folder, task=task, **changes)


def model_of(world, form="plus", **parts):
    torch.manual_seed(0)
    task = VisualTask(world)
    return task.build(task.config(form, **SMALL, **parts)).eval()


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("parts", [{}, {"semantics": False}], ids=["whole", "no P^s"])
@pytest.mark.parametrize("form", ["plus", "paper"])
def test_parallel_and_sequential_execution_agree(world, form, parts):
    """All test programs, in batches and one by one."""
    model, data = model_of(world, form, **parts), VisualData(world).questions("test_all")
    examples = data.examples(np.arange(len(data)))
    assert (examples.programs.parents >= 0).all(dim=2).any(), "some routines must have two parents"
    together, one_by_one = (
        outcomes_of(model, examples.pictures, examples.programs, parallel=parallel) for parallel in (True, False)
    )
    there = examples.programs.exists
    for name in ("objects", "booleans", "answers"):
        close(getattr(together, name)[there], getattr(one_by_one, name)[there])
    for number in range(0, len(data), 17):
        single = data.examples(np.array([number]))
        alone = outcomes_of(model, single.pictures, single.programs)
        close(alone.answers[0], together.answers[number, : alone.answers.shape[1]])


def test_ids_change_nothing(world, tmp_path):
    """Other ids of objects, in graphs and in brackets: the same tensors, targets included."""

    def renamed(text):
        text = re.sub(r'"argument":"([^"]*) \((\d+(?:,\d+)*)\)"', lambda found: _bracketed(found), text)
        return text

    def _bracketed(found):
        ids = ",".join(str(int(key) + 700) for key in found[2].split(","))
        return f'"argument":"{found[1]} ({ids})"'

    for path in world.rglob("*.json"):
        if "index" in path.parts or "objects" in path.parts:
            continue
        text = path.read_text("utf-8")
        if path.name.endswith("sceneGraphs.json"):
            text = json.dumps({image: _other_ids(record) for image, record in json.loads(text).items()})
        copy = tmp_path / path.relative_to(world)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(renamed(text), "utf-8")
    make_index(tmp_path, tmp_path / "index")
    before, after = VisualData(world), VisualData(tmp_path, world / "objects")
    assert set(before.index.scene("1000000").objects) != set(after.index.scene("1000000").objects)
    one, other = (data.questions("train_balanced").examples(np.arange(100)) for data in (before, after))
    assert one.objects.sum() > 0
    for name in ("objects", "booleans", "answers"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert torch.equal(one.programs.words, other.programs.words)


def _other_ids(record):
    objects = {str(int(key) + 700): thing for key, thing in record["objects"].items()}
    for thing in objects.values():
        for relation in thing["relations"]:
            relation["object"] = str(int(relation["object"]) + 700)
    return record | {"objects": objects}


def test_partial_supervision_sees_the_answer_alone(world):
    model, data = model_of(world), VisualData(world).questions("train_balanced")
    examples = data.examples(np.arange(64), dense=True)
    bare = data.examples(np.arange(64), dense=False)
    assert (bare.objects == 0).all()
    known = (bare.booleans != NO_TARGET) | (bare.answers != NO_TARGET)
    assert torch.equal(known.nonzero()[:, 1], bare.last), "one routine of each program, its last"
    scene = model.reader.look(examples.pictures)
    results = torch.randn(*examples.types.shape, model.config.width, generator=torch.Generator().manual_seed(0))
    losses = [reasoning_loss(model, scene, each, results, dense=False).item() for each in (examples, bare)]
    assert losses[0] == losses[1]
    assert reasoning_loss(model, scene, examples, results, dense=True).item() != losses[0]


def test_asked_about_another_picture_the_oracle_answers(world):
    data = VisualData(world).questions("train_balanced")
    numbers, own = np.arange(60), data.set.columns["image"][:60]
    one, same, other = (data.examples(numbers, about=about) for about in (None, own, own[::-1]))
    for name in ("objects", "booleans", "answers"):
        assert torch.equal(getattr(one, name), getattr(same, name))
    truths = Counter()
    for row, number in enumerate(numbers):
        question, image = data.set.question(int(number)), data.index.images[own[::-1][row]]
        result = execute(question.program, data.index.scene(image))[-1].value
        if isinstance(result, bool) and own[row] != own[::-1][row]:
            assert other.booleans[row, other.last[row]] == result
            truths[result] += 1
        if result is None and own[row] != own[::-1][row]:
            assert other.booleans[row, other.last[row]] == other.answers[row, other.last[row]] == NO_TARGET
    assert min(truths[True], truths[False]) > 0
    assert (other.objects[..., -1] > 0).sum() > (one.objects[..., -1] > 0).sum(), "more is missing"


def test_so_many_questions_are_asked_elsewhere(world):
    task, numbers = VisualTask(world), np.arange(400) % 60
    own = VisualData(world).questions("train_balanced").set.columns["image"][numbers]
    for share in (0.0, 0.5):
        about = task.learner(model_of(world), VisualSettings(elsewhere=share), seed=0)._about(numbers)
        assert (about is None) if not share else 0.3 < np.mean(about != own) < 0.5
    partial = VisualTask(world, "partial").learner(model_of(world), VisualSettings(elsewhere=0.5), seed=0)
    assert partial._about(numbers) is None, "without the oracle nobody knows the answers"


def test_rare_kinds_of_questions_are_asked_more_often(world):
    data = VisualData(world).questions("train_balanced")
    kinds = [(row.family, row.category in COMPARATIVES) for row in (last_row(question) for question in data.set)]
    learner = VisualTask(world).learner(model_of(world), VisualSettings(questions=64, together=4), seed=0)
    drawn = np.concatenate([learner._draw() for _ in range(400)])
    there, asked = Counter(kinds), Counter(kinds[number] for number in drawn)
    for one, other in pairwise(kind for kind, _ in there.most_common()):
        ratio = (asked[other] / asked[one]) / (there[other] / there[one])
        assert ratio == pytest.approx((there[one] / there[other]) ** 0.5, rel=0.35), (one, other)
    images = np.asarray(data.set.columns["image"])[learner._draw()]
    assert (images.reshape(-1, 4) == images[::4, None]).all(), "so many together are about one picture"


def last_row(question):
    return ROWS[list(calls(question.program.body))[-1].operation]


def test_everything_a_model_is_shown_moves_to_its_device(world):
    examples = moved(VisualData(world).questions("train_balanced").examples(np.arange(4)), torch.device("meta"))
    tensors = [*vars(examples).values(), *vars(examples.pictures).values(), *vars(examples.programs).values()]
    assert all(each.device.type == "meta" for each in tensors if isinstance(each, torch.Tensor))


def test_a_question_of_yes_or_no_is_answered_by_the_boolean(world):
    data = VisualData(world).questions("train_balanced")
    examples = data.examples(np.arange(len(data)), dense=False)
    rows = torch.arange(len(data))
    said = [data.index.answers[number] for number in data.set.columns["answer"].tolist()]
    for answer, truth in zip(said, examples.booleans[rows, examples.last].tolist(), strict=True):
        assert truth == {"yes": 1, "no": 0}.get(answer, NO_TARGET)


@pytest.mark.parametrize(("form", "least"), [("plus", 90), ("paper", 60)])
def test_a_small_executor_learns_a_small_world(world, form, least):
    """Dense supervision: it answers what it has been taught, far above guessing."""
    task = VisualTask(world)
    torch.manual_seed(0)
    model = task.build(task.config(form, **SMALL | {"word_width": 16, "hidden": 64, "blocks": 2}))
    learner = task.learner(model, VisualSettings(steps=250, rate=4e-3, questions=64, warm_up=20, average=0.9), 0)
    losses = [learner.step() for _ in range(250)]
    assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:10])
    data = VisualData(world).questions("train_balanced")
    assert examine(learner.average, data, np.arange(len(data))).accuracy >= least


def test_without_structure_or_semantics_something_else_is_found(world):
    data = VisualData(world).questions("test_balanced")
    examples = data.examples(np.arange(20), dense=False)
    found = [
        outcomes_of(model_of(world, **parts), examples.pictures, examples.programs).answers
        for parts in ({}, {"structure": False}, {"semantics": False})
    ]
    assert all((found[0] - other).abs().max() > 1e-4 for other in found[1:])
    rows = torch.arange(20)
    last = found[2][rows, examples.last]
    alike = examples.last == examples.last[0]
    about = examples.programs.of == examples.programs.of[0]
    shape = (examples.programs.parents == examples.programs.parents[0]).flatten(1).all(dim=1)
    blind = last[alike & about & shape]
    close(blind, blind[:1].expand_as(blind))


def test_the_same_seed_gives_the_same_weights_and_a_checkpoint_says_all(world, checkpoint, tmp_path):
    train(job(world, tmp_path / "again"))
    one, other = (load_file(folder / "model.safetensors") for folder in (checkpoint, tmp_path / "again"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["domain"]["name"] == "visual"
    assert config["training"]["target"] == "dense"
    assert len(config["training"]["curve"]) == 2
    vocabulary = Vocabulary.read(config["knows"])
    assert vocabulary == VisualData(world).vocabulary
    reasoner = program_guided.load(checkpoint)
    assert isinstance(reasoner, Reasoner)
    reasoner.save_pretrained(tmp_path / "copy")
    assert (tmp_path / "copy/model.safetensors").read_bytes() == (checkpoint / "model.safetensors").read_bytes()


def test_a_training_is_not_resumed_on_other_data(world, tmp_path):
    train(job(world, tmp_path / "run"))
    other = written(tmp_path / "other", (30, 4, 6), seed=1)
    with pytest.raises(DataError, match="begun with other settings"):
        train(job(other, tmp_path / "run", resume=True))


def proto(*arguments, folder=None, **environment):
    command, environment = [PROTO, *map(str, arguments)], ENVIRONMENT | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=environment)


@pytest.mark.parametrize("more", [(), ("--target", "partial", "--model", "paper", "--word-width", "4")])
def test_killed_and_resumed_it_ends_with_the_same_weights(world, tmp_path, more):
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def command(folder, *also):
        sizes = ("--steps", "12", "--every", "6", "--questions", "16")
        return [PROTO, "train", "visual", "--data", world, *sizes, "--out", folder, *more, *also]

    told = subprocess.run(command(whole), env=ENVIRONMENT, check=True, capture_output=True, text=True)
    assert "held-out" in told.stdout
    running = subprocess.Popen(command(killed), env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    while not (killed / "training.safetensors").exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it must be killed before its end"
    subprocess.run(command(killed, "--resume"), env=ENVIRONMENT, check=True, capture_output=True)
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, killed))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert list(whole.glob("events.*"))


def test_two_processes_share_a_training(world, tmp_path):
    sizes = ("--steps", "4", "--every", "2", "--questions", "16", "--processes", "2")
    told = proto("train", "visual", "--data", world, "--out", tmp_path / "run", *sizes)
    assert told.returncode == 0, told.stderr
    state = load_file(tmp_path / "run/training.safetensors")
    assert {"0.random", "1.random"} <= state.keys()


def test_the_world_is_made_when_it_is_first_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "SPLITS", {"train": 3, "val": 1, "test": 2})
    assert visual_world.ready_world(only_test=True) == Path("out/visual-test")
    assert visual_world.ready_world() == Path("out/visual")
    assert capsys.readouterr().out.count("making the embedded world") == 2
    small, whole = (VisualData(folder).index for folder in (Path("out/visual-test"), Path("out/visual")))
    assert (small.sets["train_balanced"], whole.sets["train_balanced"]) == (20, 60)
    tests = [list(index.questions("test_balanced")) for index in (small, whole)]
    assert tests[0] == tests[1], "the same questions"
    monkeypatch.delattr(dataset, "Build")
    for only_test in (False, True):
        assert visual_world.ready_world(only_test) == Path("out/visual"), "nothing is made twice"


def test_a_program_is_answered_beside_the_oracle(checkpoint, tmp_path):
    options = ("--task", "visual", "--agent", checkpoint, "--seed", "80")
    told = proto("run", EXAMPLE, *options, "--png", tmp_path / "one.png")
    assert told.returncode in (0, 1), told.stderr
    assert "wine = select(bottle)" in told.stdout
    assert "5 bottle" in told.stdout, "what the oracle found"
    from PIL import Image

    with Image.open(tmp_path / "one.png") as picture:
        assert picture.width > 1000
    found = json.loads(proto("run", EXAMPLE, *options, "--json").stdout)
    assert [each["truth"] for each in found["routines"]] == ["5 bottle", "3 backpack", "yes"]
    assert found["answer"] == found["routines"][-1]["said"]
    assert told.returncode == int(found["routines"][-1]["right"] is False)


def test_a_word_that_the_executor_has_never_read_is_told(checkpoint):
    reasoner = Reasoner.from_pretrained(checkpoint)
    with pytest.raises(DataError, match="line 1, select: unknown word 'furnitre': did you mean 'furniture'?"):
        reasoner.run("things = select(furnitre)\nexist(things)")
    for seed in (-1, "x"):
        with pytest.raises(DataError, match="a seed is a whole number, not below 0"):
            reasoner.run("things = select(furniture)\nexist(things)", seed)


def test_only_checkpoints_that_differ_in_their_seed_alone_are_averaged():
    def agent(seed, steps=3000, every=500, accuracy=90.0):
        scores = dict.fromkeys(MEASURES, accuracy)
        training = {"executor": {"form": "plus"}, "target": "dense", "train": "train_balanced", "data": "x"}
        settings = {"steps": steps, "every": every}
        return {"training": training | {"seed": seed, "settings": settings}, "splits": {"test": scores}}

    agents = {"a": agent(0), "b": agent(1, every=100, accuracy=92.0), "c": agent(0), "d": agent(2, steps=60)}
    means = _means(agents)
    assert [mean["agents"] for mean in means] == [["a", "b"], ["c"], ["d"]]
    assert (means[0]["accuracy"], means[0]["standard_error"]) == (91, pytest.approx(1))


def test_right_and_wrong_are_what_they_say(checkpoint):
    reasoner = Reasoner.from_pretrained(checkpoint)
    verdicts = []
    for seed in range(20):
        reasoning = reasoner.run("things = select(furniture)\nexist(things)", seed)
        for finding in reasoning.findings:
            assert finding.right == (finding.said == finding.truth)
            verdicts.append(finding.right)
        assert len(reasoning.findings[0].boxes) >= (reasoning.findings[0].said != "none")
    assert {True, False} == set(verdicts)
    unknown = reasoner.run("whole = select(scene)\nquery(whole, weather)").findings
    assert unknown[0].right is None


def test_checkpoints_are_measured_by_the_release_s_measures(world, checkpoint, tmp_path):
    train(job(world, tmp_path / "seed 1", seed=1))
    train(job(world, tmp_path / "partial", "partial"))
    save, sheet = tmp_path / "visual.json", tmp_path / "sheet.png"
    agents = (checkpoint, tmp_path / "seed 1", tmp_path / "partial")
    command = ("evaluate", *agents, "oracle", "--task", "visual", "--data", world, "--breakdown", "--save", save)
    told = proto(*command, "--sheet", sheet, "--shown", "3")
    assert told.returncode == 0, told.stderr
    assert "partial supervision" in told.stdout
    assert "60.3" in told.stdout, "the paper's figure beside it"
    figures = json.loads(save.read_text())
    full, partial, oracle = figures["means"]
    assert (oracle["model"], oracle["accuracy"], oracle["consistency"]) == ("oracle", 100, 100)
    assert (full["model"], full["seeds"], partial["seeds"]) == ("full model", [0, 1], [0])
    found = [figures["agents"][str(agent)]["splits"]["test"] for agent in agents]
    assert full["accuracy"] == pytest.approx((found[0]["accuracy"] + found[1]["accuracy"]) / 2)
    assert found[0]["questions"] == VisualData(world).index.sets["test_balanced"]
    assert 0 < found[0]["known_elsewhere"] < found[0]["questions"]
    assert 0 < found[0]["elsewhere"] <= 100
    assert {"consistency", "validity", "plausibility", "distribution", "structural", "steps"} <= found[0].keys()
    assert "select" in found[0]["routines"]
    assert sheet.stat().st_size > 1000
    data = VisualData(world).questions("test_balanced")
    again = examine(Reasoner.from_pretrained(checkpoint).model, data, np.arange(len(data)))
    assert again.accuracy == pytest.approx(found[0]["accuracy"]), "two ways to count"
    more = ("evaluate", save, checkpoint, "--task", "visual", "--data", world, "--save", tmp_path / "more.json")
    assert proto(*more).returncode == 0
    kept = json.loads((tmp_path / "more.json").read_text())
    assert kept["means"] == figures["means"], "what was saved stands beside what is measured"
    assert kept["agents"]["oracle"]["measured"]["command"] == figures["command"]
    assert "measured" not in kept["agents"][str(checkpoint)]
    one = ("evaluate", f"oracle@{save}", checkpoint, *more[3:])
    assert proto(*one).returncode == 0
    kept = json.loads((tmp_path / "more.json").read_text())
    assert set(kept["agents"]) == {"oracle", str(checkpoint)}
    assert "did you mean 'oracle'?" in proto("evaluate", f"orcale@{save}", checkpoint, *more[3:]).stderr
    figures["agents"]["oracle"]["splits"]["test"]["questions"] += 1
    save.write_text(json.dumps(figures))
    told = proto(*more)
    assert told.returncode == 1
    assert "measure both on the same data" in told.stderr
    save.write_text("{}")
    assert "is no file that" in proto(*more).stderr


def test_speed_is_measured(world, checkpoint, tmp_path):
    save = tmp_path / "bench.json"
    command = ("bench", "visual", "--data", world, "--checkpoint", checkpoint, "--questions", "40", "--seconds", "0.05")
    told = proto(*command, "--json", "--save", save, TMPDIR=str(tmp_path))
    assert told.returncode == 0, told.stderr
    figures = json.loads(told.stdout)
    assert json.loads(save.read_text()).items() >= figures.items()
    assert figures["checkpoint"] == checkpoint.name
    assert figures["largest_difference"] < 1e-5
    assert {"carried out, one program at a time, sequential", "learned"} <= figures["questions_per_second"].keys()
    assert min(figures["questions_per_second"].values()) > 0
    many, alone = "256 programs at once", "one program at a time"
    assert figures["programs"] == len(VisualData(world).index.questions("test_balanced")) > figures["branching"] > 0
    assert {f"carried out, {many}", f"from picture to answer, {alone}"} <= set(figures["times_faster"])
    steps = figures["steps"][many]
    assert 1 < steps["parallel"] < steps["sequential"]
    index = figures["index"]
    assert index["questions"] == index["different_questions"] == 40
    assert min(index[name] for name in ("seconds", "cpu_seconds", "read_per_second")) > 0
    assert index["peak_megabytes"] is None or index["peak_megabytes"] > 1
    assert not list(tmp_path.rglob("train_all_questions")), "the temporary folder is gone"


def test_questions_are_repeated_under_fresh_ids(tmp_path, monkeypatch):
    monkeypatch.setattr(indexing, "SCENES", 2)
    different = indexing._write(tmp_path, 205, lambda what, done, total: None)
    questions = list(read_questions(tmp_path / "train_all_questions"))
    keys = {question.key for question in questions}
    assert len(questions) == len(keys) == 205
    assert len({question.text for question in questions}) <= different < 100
    for question in questions[: 205 - different]:
        assert question.key.startswith(question.image_id)
        assert question.equivalent == (question.key,)
        assert keys >= set(question.entailed)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Train("visual", data=Path("nowhere")), "nowhere/index: there is no finished index"),
        (Train("visual", target="reward"), "the targets of visual are dense and partial"),
        (Train("minecraft", target="partial"), "the targets of minecraft are dense, reward and progress"),
        (Train("minecraft", data=Path("x")), "--data: not for minecraft"),
        (Train("visual", settings=VisualSettings(questions=0)), "--questions 0: at least 1 is needed"),
        (Train("visual", word_width=0), "--word-width 0: it is from 1 to 1024"),
        (Train("visual", without=("x",)), "--without: not for visual"),
        (Train("visual", resume=True), "say with --data which data the run has learned from"),
        (Train("visual", held_out=3), "--held-out: not for visual; leave it out"),
        (Evaluate(task="visual", tokens=9, figure=Path("x.png")), "--tokens, --figure: not for visual; leave them out"),
        (Evaluate(sheet=Path("x.png")), "--sheet: not for minecraft"),
        (Evaluate(("nobody",), task="visual"), "nobody: does not exist"),
        (Evaluate(("minecraft",), task="visual"), "say so with --task minecraft"),
        (Evaluate(task="visual", sheet=Path("x.gif")), "must end with .png"),
        (Run(Path("x.prg"), task="visual", gif=Path("x.gif")), "are for minecraft"),
        (Run(Path("x.prg"), task="visual"), "x.prg"),
    ],
)
def test_a_wrong_command_gets_one_clear_error(command, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        command.run()
    assert not list(tmp_path.iterdir())


def test_a_program_of_another_task_is_told():
    for example, task, other in (("bag_wine", (), "visual"), ("bridge", ("--task", "visual"), "minecraft")):
        for command in ("run", "check"):
            answered = proto(command, Path(__file__).parent.parent / "examples" / f"{example}.prg", *task)
            assert answered.returncode == 1
            assert f"is a program of {other}" in answered.stderr
            assert answered.stderr.endswith(f"add --task {other}\n")


def test_features_of_other_pictures_are_told_before_training_begins(world, tmp_path):
    features = tmp_path / "objects"
    shutil.copytree(world / "objects", features)
    info = json.loads((features / "gqa_objects_info.json").read_text())
    asked = VisualData(world).questions("train_balanced").set.question(0).image_id
    del info[asked]
    (features / "gqa_objects_info.json").write_text(json.dumps(info))
    with pytest.raises(DataError, match=f"knows no features of 1 of the .* pictures of train_balanced, as {asked};"):
        VisualTask(world, "dense", features).check()
    VisualTask(world, "dense").check()


def test_an_error_is_one_line_for_a_user(tmp_path):
    answered = proto("train", "visual", "--data", "nowhere", folder=tmp_path)
    assert answered.returncode == 1
    assert answered.stderr.startswith("error: nowhere/index: there is no finished index")
    assert answered.stderr.count("\n") == 1


def test_a_checkpoint_without_its_words_is_one_clear_error(checkpoint, tmp_path):
    for name, change in {"none": None, "fewer": {"words": ["a"], "answers": [], "numbers": 3}, "text": "x"}.items():
        config = json.loads((checkpoint / "config.json").read_text())
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config | {"knows": change}))
        with pytest.raises(DataError, match="'knows' is not what an executor of this domain needs"):
            Reasoner.from_pretrained(tmp_path / name)


def test_dense_supervision_needs_scene_graphs(world, tmp_path):
    for name in ("train_balanced_questions.json", "val_balanced_questions.json"):
        (tmp_path / name).write_bytes((world / name).read_bytes())
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="no scene graphs for --target dense; take partial"):
        VisualTask(tmp_path, "dense", world / "objects").check()
    VisualTask(tmp_path, "partial", world / "objects").check()
    (tmp_path / "index").rename(tmp_path / "kept")
    (tmp_path / "val_balanced_questions.json").unlink()
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="has none of the sets val_balanced"):
        VisualTask(tmp_path, "partial", world / "objects").check()
