"""Training of visual reasoning: accuracy, parallel and sequential execution, independence of ids, resumption."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import program_guided
from benchmarks import gqa, indexing, reasoning, visual
from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.examples import moved
from program_guided.learning.execution import TRUE
from program_guided.learning.execution import execute as run_model
from program_guided.learning.results import NO_TARGET
from program_guided.learning.settings import SupervisedSettings
from program_guided.learning.supervised import result_loss
from program_guided.learning.trainer import Job, train
from program_guided.registry import build_model, model_config
from program_guided.tasks.visual.batches import other_pictures
from program_guided.tasks.visual.commands.evaluate import MEASURES, Evaluate, means
from program_guided.tasks.visual.commands.run import Run
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS, parse_visual
from program_guided.tasks.visual.embedded import building, folders
from program_guided.tasks.visual.embedded.building import write_world
from program_guided.tasks.visual.embedded.detections import Simulation
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.evaluation import answer_questions
from program_guided.tasks.visual.features import ObjectChunks
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.oracle import NOT_REACHED, execute
from program_guided.tasks.visual.packing import pack
from program_guided.tasks.visual.plan import WORLD_FILE
from program_guided.tasks.visual.reasoner import Reasoner
from program_guided.tasks.visual.release.reading import read_questions
from program_guided.tasks.visual.task import Visual
from tests.detectors import save_detector
from tests.test_visual_ontology import FILES

SMALL = {"word_width": 8, "hidden": 32, "heads": 4, "blocks": 1}
NOISE = 0.3
"""Uncertainty of the simulated detector."""
PROTO = Path(sys.executable).with_name("proto")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
EXAMPLE = Path(__file__).parent.parent / "examples" / "bag_wine.prg"

pytestmark = pytest.mark.usefixtures("one_thread")


def test_weights_of_other_data_are_matched_by_the_names_of_words_and_answers(tmp_path):
    """Words are numbered by frequency: other data have others, in another order."""
    one, other = (Visual(data=written(tmp_path / str(seed), (12, 3, 3), seed)) for seed in (1, 2))
    settings = SupervisedSettings(steps=1, batch_size=8, eval_every=1, learning_rate=1e-9)
    config = model_config("plus")(**SMALL)
    train(Job(one, "plus", config, one.reader_config, settings, tmp_path / "one"))
    job = Job(other, "plus", config, other.reader_config, settings, tmp_path / "other", start=tmp_path / "one")
    fresh = build_model("plus", config, other.sizes(), other.reader_config)
    train(job)
    before, after = load_file(tmp_path / "one/model.safetensors"), load_file(tmp_path / "other/model.safetensors")
    words, others = one.vocabulary.words, other.vocabulary.words
    assert words != others
    both = sorted(set(words) & set(others))
    at, there = ([every.index(word) for word in both] for every in (others, words))
    for name in ("semantics.word.weight", "reader.word.weight", "reader.operation.weight"):
        torch.testing.assert_close(after[name][at], before[name][there], atol=1e-6, rtol=0)
    torch.testing.assert_close(after["reader.gate.weight"][at][:, at], before["reader.gate.weight"][there][:, there])
    mine, theirs = other.origin().answers["Answer"], one.origin().answers["Answer"]
    known = sorted(set(mine) & set(theirs))
    rows = [each.index for each in (mine, theirs)]
    torch.testing.assert_close(
        after["heads.Answer.2.weight"][[rows[0](word) for word in known]],
        before["heads.Answer.2.weight"][[rows[1](word) for word in known]],
        atol=1e-6,
        rtol=0,
    )
    assert after.keys() == fresh.state_dict().keys()
    recorded = json.loads((tmp_path / "other/config.json").read_text())["training"]["start"]
    assert recorded == "one", "no paths of the machine"


def written(folder, scenes, seed=0, noise=NOISE):
    sights = {"objects": Simulation(noise=noise, misses=0.0)}
    write_world(folder, dict(zip(("train", "val", "test"), scenes, strict=True)), seed, sights)
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


@pytest.fixture(name="sight")
def sight_fixture(tmp_path, monkeypatch):
    """Scenes are seen by a detector that has learned nothing."""
    save_detector(tmp_path / "detector")
    monkeypatch.chdir(tmp_path)


def job(world, folder, target="dense", model="plus", features=None, **changes):
    task = Visual(data=world, features=features)
    settings = SupervisedSettings(steps=6, eval_every=3, batch_size=32, warmup=2, feature_dropout=0.1, relabelled=0.0)
    config = model_config(model)(**SMALL)
    return Job(task, model, config, task.reader_config, settings, folder, target=target, **changes)


def built(task, model="plus", **parts):
    torch.manual_seed(0)
    found = build_model(model, model_config(model)(**SMALL | parts), task.sizes(), task.reader_config)
    task.prepare(found)
    return found


def model_of(world, model="plus", **parts):
    return built(Visual(data=world), model, **parts).eval()


def outputs(model, source, examples, parallel=True):
    types = list(source.results.values())
    return outputs_of(model, examples.arrays, examples.programs, types, parallel=parallel)


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("parts", [{}, {"semantics": False}], ids=["whole", "no P^s"])
@pytest.mark.parametrize("model", ["plus", "paper"])
def test_parallel_and_sequential_execution_agree(world, model, parts):
    """Execute all test programs, in batches and one by one."""
    model, source = model_of(world, model, **parts), Visual(data=world).question_set("test_all")
    examples = source.batch(np.arange(len(source)))
    assert (examples.programs.inputs >= 0).all(dim=2).any(), "some routines must have two inputs"
    together, one_by_one = (outputs(model, source, examples, parallel) for parallel in (True, False))
    there = examples.programs.exists
    for name in source.results:
        close(together.probabilities[name][there], one_by_one.probabilities[name][there])
    for number in range(0, len(source), 17):
        single = source.batch(np.array([number]))
        alone = outputs(model, source, single).probabilities["Answer"][0]
        close(alone, together.probabilities["Answer"][number, : len(alone)])


def test_examples_do_not_depend_on_ids(world, tmp_path):
    """Change the ids of objects, in graphs and in brackets: tensors and targets stay equal."""

    def renamed(text):
        text = re.sub(r'"argument":"([^"]*) \((\d+(?:,\d+)*)\)"', lambda found: _bracketed(found), text)
        return text

    def _bracketed(found):
        ids = ",".join(str(int(key) + 700) for key in found[2].split(","))
        return f'"argument":"{found[1]} ({ids})"'

    for path in world.rglob("*.json"):
        if "index" in path.parts or "objects" in path.parts or path.name == WORLD_FILE:
            continue
        text = path.read_text("utf-8")
        if path.name.endswith("sceneGraphs.json"):
            text = json.dumps({image: _other_ids(record) for image, record in json.loads(text).items()})
        copy = tmp_path / path.relative_to(world)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(renamed(text), "utf-8")
    make_index(tmp_path, tmp_path / "index")
    before, after = Visual(data=world), Visual(data=tmp_path, features=world / "objects")
    scenes = [task.opened.index.scene("1000000").objects for task in (before, after)]
    assert set(scenes[0]) != set(scenes[1])
    one, other = (task.question_set("train_balanced").batch(np.arange(100)) for task in (before, after))
    assert one.targets["Objects"].sum() > 0
    for name in one.targets:
        assert torch.equal(one.targets[name], other.targets[name])
    assert torch.equal(one.programs.words, other.programs.words)


def _other_ids(record):
    objects = {str(int(key) + 700): thing for key, thing in record["objects"].items()}
    for thing in objects.values():
        for relation in thing["relations"]:
            relation["object"] = str(int(relation["object"]) + 700)
    return record | {"objects": objects}


def test_partial_supervision_has_the_answer_alone(world):
    model, source = model_of(world), Visual(data=world, perceived=False).question_set("train_balanced")
    examples = source.batch(np.arange(64), dense=True)
    bare = source.batch(np.arange(64), dense=False)
    assert (bare.targets["Objects"] == 0).all()
    known = (bare.targets["Boolean"] != NO_TARGET) | (bare.targets["Answer"] != NO_TARGET)
    assert torch.equal(known.nonzero()[:, 1], bare.last), "one routine of each program, its last"
    scene = model.reader.encode(examples.arrays)
    results = torch.randn(*examples.types.shape, model.width, generator=torch.Generator().manual_seed(0))

    def loss(each):
        return result_loss(model, scene, each, results, source.results).item()

    assert loss(examples) != loss(bare)


def test_names_of_features_teach_select_and_filter_where_the_answers_alone_are_known(world):
    source = Visual(data=world).question_set("train_balanced")
    dense, bare = (source.batch(np.arange(64), dense=each) for each in (True, False))
    taught = bare.targets["Objects"].sum(dim=2) > 0
    families = source.families[bare.operations]
    assert set(families[taught.numpy()]) == {"select", "filter"}
    known = taught & (dense.targets["Objects"].sum(dim=2) > 0)
    same = (bare.targets["Objects"] > 0) == (dense.targets["Objects"] > 0)
    assert same[known].float().mean() > 0.9, "nearly always what the oracle says"


def test_questions_about_other_pictures_are_labelled_by_the_oracle(world):
    source = Visual(data=world).question_set("train_balanced")
    numbers, own = np.arange(60), source.set.columns["image"][:60]
    one, same, other = (source.batch(numbers, about=about) for about in (None, own, own[::-1]))
    for name in one.targets:
        assert torch.equal(one.targets[name], same.targets[name])
    truths = Counter()
    booleans, answers = other.targets["Boolean"], other.targets["Answer"]
    for row, number in enumerate(numbers):
        question, image = source.set.question(int(number)), source.index.images[own[::-1][row]]
        result = execute(question.program, source.index.scene(image))[-1].value
        if isinstance(result, bool) and own[row] != own[::-1][row]:
            assert (booleans[row, other.last[row]] == TRUE) == result
            truths[result] += 1
        if result is None and own[row] != own[::-1][row]:
            assert booleans[row, other.last[row]] == answers[row, other.last[row]] == NO_TARGET
    assert min(truths[True], truths[False]) > 0
    none = [(each.targets["Objects"][..., -1] > 0).sum() for each in (one, other)]
    assert none[1] > none[0], "more results are empty"


def test_a_share_of_the_questions_is_relabelled(world):
    task, numbers = Visual(data=world), np.arange(400) % 60
    own = task.question_set("train_balanced").set.columns["image"][numbers]

    def about(target, share):
        return task.learner(built(task), SupervisedSettings(relabelled=share), target, seed=0)._about(numbers)

    assert about("dense", 0.0) is None
    assert 0.3 < np.mean(about("dense", 0.5) != own) < 0.5
    assert about("partial", 0.5) is None, "without the oracle there are no labels"


def test_graphs_of_a_release_are_not_complete_and_nothing_is_relabelled_there(world, tmp_path):
    for path in world.glob("*.json"):
        if path.name != WORLD_FILE:
            shutil.copy(path, tmp_path)
    make_index(tmp_path, tmp_path / "index")
    task = Visual(data=tmp_path, features=world / "objects")
    assert Visual(data=world).opened.ontology.complete
    assert not task.opened.ontology.complete
    learner = task.learner(built(task), SupervisedSettings(relabelled=0.5), "dense", seed=0)
    assert learner._about(np.arange(60)) is None


def test_rare_kinds_of_questions_are_drawn_more_often(world):
    task = Visual(data=world)
    source = task.question_set("train_balanced")
    kinds = [(row.family, row.category in COMPARATIVES) for row in (last_row(question) for question in source.set)]
    settings = SupervisedSettings(batch_size=64, per_specification=4)
    learner = task.learner(built(task), settings, "dense", seed=0)
    drawn = np.concatenate([learner._draw() for _ in range(400)])
    available, sampled = Counter(kinds), Counter(kinds[number] for number in drawn)
    for one, other in pairwise(sorted(available, key=available.__getitem__, reverse=True)):
        ratio = (sampled[other] / sampled[one]) / (available[other] / available[one])
        assert ratio == pytest.approx((available[one] / available[other]) ** 0.5, rel=0.35), (one, other)
    images = np.asarray(source.set.columns["image"])[learner._draw()]
    assert (images.reshape(-1, 4) == images[::4, None]).all(), "groups of four are about one picture"


def last_row(question):
    return ROWS[list(calls(question.program.body))[-1].operation]


def test_all_tensors_of_examples_move_to_a_device(world):
    examples = moved(Visual(data=world).question_set("train_balanced").batch(np.arange(4)), torch.device("meta"))
    tensors = [*vars(examples).values(), *vars(examples.programs).values()]
    tensors += [*examples.arrays.values(), *examples.targets.values()]
    assert all(each.device.type == "meta" for each in tensors if isinstance(each, torch.Tensor))


def test_a_question_of_yes_or_no_is_answered_by_the_boolean(world):
    source = Visual(data=world).question_set("train_balanced")
    examples = source.batch(np.arange(len(source)), dense=False)
    rows = torch.arange(len(source))
    answers = [source.index.answers[number] for number in source.set.columns["answer"].tolist()]
    for answer, truth in zip(answers, examples.targets["Boolean"][rows, examples.last].tolist(), strict=True):
        assert truth == {"yes": TRUE, "no": 1 - TRUE}.get(answer, NO_TARGET)


@pytest.mark.parametrize(("model", "steps", "minimum"), [("plus", 230, 90), ("paper", 160, 60)])
def test_a_small_executor_learns_a_small_world(world, model, steps, minimum):
    """Dense supervision: accuracy on the training questions far above chance."""
    task = Visual(data=world)
    settings = SupervisedSettings(
        steps=steps, learning_rate=4e-3, batch_size=64, warmup=20, ema=0.9, feature_dropout=0.2, relabelled=0.0
    )
    learner = task.learner(built(task, model, word_width=16, hidden=64, blocks=2), settings, "dense", 0)
    losses = [learner.step() for _ in range(steps)]
    assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:10])
    source = task.question_set("train_balanced")
    assert answer_questions(learner.average, source, np.arange(len(source))).accuracy >= minimum


def test_ablations_change_the_outputs(world):
    source = Visual(data=world).question_set("test_balanced")
    examples = source.batch(np.arange(20), dense=False)
    found = [
        outputs(model_of(world, **parts), source, examples).probabilities["Answer"]
        for parts in ({}, {"structure": False}, {"semantics": False})
    ]
    assert all((found[0] - other).abs().max() > 1e-4 for other in found[1:])
    rows = torch.arange(20)
    last = found[2][rows, examples.last]
    same_length = examples.last == examples.last[0]
    about = examples.programs.of == examples.programs.of[0]
    shape = (examples.programs.inputs == examples.programs.inputs[0]).flatten(1).all(dim=1)
    blind = last[same_length & about & shape]
    close(blind, blind[:1].expand_as(blind))


def test_the_same_seed_gives_the_same_weights_and_a_checkpoint_records_all(world, checkpoint, tmp_path):
    train(job(world, tmp_path / "again"))
    one, other = (load_file(folder / "model.safetensors") for folder in (checkpoint, tmp_path / "again"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    config = json.loads((checkpoint / "config.json").read_text())
    assert config["task"]["name"] == "visual"
    assert config["training"]["target"] == "dense"
    assert len(config["training"]["curve"]) == 2
    reasoner, task = program_guided.load(checkpoint), Visual(data=world)
    assert isinstance(reasoner, Reasoner)
    assert (reasoner.task.vocabulary, reasoner.task.results) == (task.vocabulary, task.results)
    assert reasoner.checkpoint.reader["features"] == SIZE


def test_a_training_is_not_resumed_on_other_data(world, tmp_path):
    train(job(world, tmp_path / "run"))
    other = written(tmp_path / "other", (30, 4, 6), seed=1)
    with pytest.raises(DataError, match="begun with other settings"):
        train(job(other, tmp_path / "run", resume=True))


def test_features_and_ontology_are_part_of_what_a_training_was_made_of(tmp_path):
    world = tmp_path / "world"
    sights = {"objects": Simulation(noise=NOISE), "clean": Simulation()}
    write_world(world, {"train": 12, "val": 2, "test": 2}, sights=sights)
    make_index(world, world / "index")
    with ObjectChunks(world / "clean") as chunks:
        pack(chunks, tmp_path / "packed")
    found = {name: Visual(data=world, features=world / name).identity() for name in sights}
    assert found["objects"]["features"] != found["clean"]["features"]
    assert found["objects"] | {"features": ""} == found["clean"] | {"features": ""}
    assert Visual(data=world).identity() == found["objects"]
    assert Visual(data=world, features=tmp_path / "packed").identity() == found["clean"]
    train(job(world, tmp_path / "run"))
    with pytest.raises(DataError, match="task features was "):
        train(job(world, tmp_path / "run", resume=True, features=world / "clean"))
    (world / "ontology").mkdir()
    for name, text in FILES.items():
        (world / "ontology" / name).write_text(text, "utf-8")
    changed = Visual(data=world).identity()
    assert changed["ontology"] != found["objects"]["ontology"]
    assert changed | {"ontology": ""} == found["objects"] | {"ontology": ""}


def proto(*arguments, folder=None, **environment):
    command, environment = [PROTO, *map(str, arguments)], ENVIRONMENT | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=environment)


def test_a_killed_training_is_resumed_to_the_same_weights(world, tmp_path):
    """`paper`, from answers; tests/test_soak.py kills a training of `plus`."""
    more = ("--target", "partial", "--model", "paper", "--word-width", "4")
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def command(folder, *also):
        sizes = ("--steps", "12", "--eval-every", "6", "--batch-size", "16")
        return [PROTO, "train", "visual", "--data", world, *sizes, "--out", folder, *more, *also]

    printed = subprocess.run(command(whole), env=ENVIRONMENT, check=True, capture_output=True, text=True)
    assert "held-out" in printed.stdout
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
    sizes = ("--steps", "4", "--eval-every", "2", "--batch-size", "16", "--processes", "2")
    trained = proto("train", "visual", "--data", world, "--out", tmp_path / "run", *sizes)
    assert trained.returncode == 0, trained.stderr
    state = load_file(tmp_path / "run/training.safetensors")
    assert {"0.random", "1.random"} <= state.keys()


def test_the_world_is_built_when_it_is_first_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_detector(tmp_path / "detector")
    monkeypatch.setattr(building, "SPLITS", {"train": 3, "val": 1, "test": 2})
    assert folders.ready_world(only_test=True) == Path("out/visual-test")
    assert folders.ready_world() == Path("out/visual")
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("building the embedded world")) == ("", 2)
    small, whole = (VisualData(folder).index for folder in (Path("out/visual-test"), Path("out/visual")))
    assert (small.sets["train_balanced"], whole.sets["train_balanced"]) == (20, 60)
    tests = [list(index.questions("test_balanced")) for index in (small, whole)]
    assert tests[0] == tests[1], "the same questions"
    monkeypatch.delattr(building, "write_world")
    for only_test in (False, True):
        assert folders.ready_world(only_test) == Path("out/visual"), "nothing is built twice"


@pytest.mark.parametrize("model", ["plus", "paper"])
def test_attention_to_objects_has_an_axis_of_rows_before_that_of_heads(world, model):
    task, watch = Visual(data=world), []
    examples = task.question_set("train_balanced").batch(np.arange(3))
    executor = built(task, model).eval()
    with torch.inference_mode():
        run_model(executor, executor.reader.encode(examples.arrays), examples.programs, watch=watch)
    weights = watch[0]["objects 0"]
    assert weights.shape[1:] == (1, SMALL["heads"], examples.arrays["exists"].shape[1])


@pytest.mark.usefixtures("sight")
def test_the_results_of_a_program_are_compared_with_the_oracle(checkpoint, tmp_path):
    options = ("--task", "visual", "--agent", checkpoint, "--seed", "7")
    printed = proto("run", EXAMPLE, *options, "--png", tmp_path / "one.png")
    assert printed.returncode in (0, 1), printed.stderr
    assert "wine = select(bottle)" in printed.stdout
    assert "2 bottle" in printed.stdout, "the oracle's result"
    from PIL import Image

    with Image.open(tmp_path / "one.png") as picture:
        assert picture.width > 1000
    found = json.loads(proto("run", EXAMPLE, *options, "--json").stdout)
    assert [each["truth"] for each in found["routines"]] == ["2 bottle", "10 backpack", "yes"]
    assert found["answer"] == found["routines"][-1]["result"]
    assert printed.returncode == int(found["routines"][-1]["right"] is False)
    assert found["right"] == found["routines"][-1]["right"]


def test_a_word_that_is_not_in_the_vocabulary_is_one_clear_error(checkpoint):
    reasoner = program_guided.load(checkpoint)
    with pytest.raises(DataError, match="line 1, select: unknown word 'furnitre': did you mean 'furniture'?"):
        reasoner.run("things = select(furnitre)\nexist(things)")
    for seed in (-1, "x"):
        with pytest.raises(DataError, match="expected an integer, 0 or above"):
            reasoner.run("things = select(furniture)\nexist(things)", seed)


def test_only_checkpoints_that_differ_in_their_seed_alone_are_averaged():
    def agent(seed, steps=3000, eval_every=500, accuracy=90.0, hidden=256):
        scores = dict.fromkeys(MEASURES, accuracy)
        training = {"model": "plus", "config": {"hidden": hidden}, "target": "dense", "task": {"data": "x"}}
        settings = {"steps": steps, "eval_every": eval_every}
        return {"training": training | {"seed": seed, "settings": settings}, "splits": {"test": scores}}

    agents = {"a": agent(0), "b": agent(1, eval_every=100, accuracy=92.0), "c": agent(0), "d": agent(2, steps=60)}
    found = means(agents | {"e": agent(3, hidden=32)})
    assert [mean["agents"] for mean in found] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert (found[0]["accuracy"], found[0]["standard_error"]) == (91, pytest.approx(1))


@pytest.mark.usefixtures("sight")
def test_right_and_wrong_are_by_comparison_with_the_oracle(checkpoint):
    reasoner = program_guided.load(checkpoint)
    verdicts = []
    for seed in range(20):
        reasoning = reasoner.run("things = select(furniture)\nexist(things)", seed)
        for finding in reasoning.findings:
            assert finding.right == (finding.result == finding.truth)
            verdicts.append(finding.right)
        assert len(reasoning.findings[0].boxes) >= (reasoning.findings[0].result != "none")
    assert {True, False} == set(verdicts)
    unknown = reasoner.run("whole = select(scene)\nquery(whole, weather)").findings
    assert unknown[0].right is None


def elsewhere(world, reasoner):
    """True for each question of test about another picture that is answered as by the oracle, if it has an answer."""
    data = VisualData(world)
    questions = list(data.index.questions("test_balanced"))
    images = other_pictures(np.array([int(question.image_id) for question in questions]))
    verdicts = []
    for question, image in zip(questions, map(str, images.tolist()), strict=True):
        scene = data.index.scene(image)
        answer = execute(question.program, scene)[-1].value
        if isinstance(answer, bool) or answer in reasoner.task.results["Answer"].values:
            verdicts.append(reasoner.reason(question.program, scene, data.features.read(image)).right)
    return verdicts


def test_checkpoints_are_measured_by_the_release_s_measures(world, checkpoint, tmp_path):
    train(job(world, tmp_path / "seed 1", seed=1))
    train(job(world, tmp_path / "partial", "partial"))
    save, sheet = tmp_path / "visual.json", tmp_path / "sheet.png"
    agents = (checkpoint, tmp_path / "seed 1", tmp_path / "partial")
    command = ("evaluate", *agents, "oracle", "--task", "visual", "--data", world, "--breakdown", "--save", save)
    printed = proto(*command, "--sheet", sheet, "--shown", "3")
    assert printed.returncode == 0, printed.stderr
    assert "partial supervision" in printed.stdout
    assert "60.3" in printed.stdout, "the paper's figure"
    figures = json.loads(save.read_text())
    full, partial, oracle = figures["means"]
    assert (oracle["model"], oracle["accuracy"], oracle["consistency"]) == ("oracle", 100, 100)
    assert (full["model"], full["ablation"]) == ("plus", "full model")
    assert (full["seeds"], partial["seeds"]) == ([0, 1], [0])
    found = [figures["agents"][str(agent)]["splits"]["test"] for agent in agents]
    assert full["accuracy"] == pytest.approx((found[0]["accuracy"] + found[1]["accuracy"]) / 2)
    assert found[0]["questions"] == VisualData(world).index.sets["test_balanced"]
    assert 0 < found[0]["known_elsewhere"] < found[0]["questions"]
    for agent, scores in zip(agents, found, strict=True):
        verdicts = elsewhere(world, program_guided.load(agent))
        assert scores["known_elsewhere"] == len(verdicts)
        assert scores["elsewhere"] == pytest.approx(100 * np.mean(verdicts)), "two ways to count"
    assert {"consistency", "validity", "plausibility", "distribution", "structural", "steps"} <= found[0].keys()
    assert "select" in found[0]["routines"]
    assert sheet.stat().st_size > 1000
    source = Visual(data=world).question_set("test_balanced")
    again = answer_questions(program_guided.load(checkpoint).model, source, np.arange(len(source)))
    assert again.accuracy == pytest.approx(found[0]["accuracy"]), "two ways to count"
    more = ("evaluate", save, checkpoint, "--task", "visual", "--data", world, "--save", tmp_path / "more.json")
    assert proto(*more).returncode == 0
    kept = json.loads((tmp_path / "more.json").read_text())
    assert kept["means"] == figures["means"], "saved figures are shown with measured ones"
    assert kept["agents"]["oracle"]["measured"]["command"] == figures["command"]
    assert "measured" not in kept["agents"][str(checkpoint)]
    one = ("evaluate", f"oracle@{save}", checkpoint, *more[3:])
    assert proto(*one).returncode == 0
    kept = json.loads((tmp_path / "more.json").read_text())
    assert set(kept["agents"]) == {"oracle", str(checkpoint)}
    assert "did you mean 'oracle'?" in proto("evaluate", f"orcale@{save}", checkpoint, *more[3:]).stderr
    figures["agents"]["oracle"]["splits"]["test"]["questions"] += 1
    save.write_text(json.dumps(figures))
    refused = proto(*more)
    assert refused.returncode == 1
    assert "measure both on the same data" in refused.stderr
    save.write_text("{}")
    assert "is no file that" in proto(*more).stderr


def test_speed_is_measured(world, checkpoint, capsys):
    figures = visual.measure(0.05, world, checkpoint)
    assert figures["checkpoint"] == checkpoint.name
    assert figures["largest_difference"] < 1e-5
    assert {"executed, one program at a time, sequential", "trained"} <= figures["questions_per_second"].keys()
    assert min(figures["questions_per_second"].values()) > 0
    many, alone = "256 programs at once", "one program at a time"
    assert figures["programs"] == len(VisualData(world).index.questions("test_balanced")) > figures["branching"] > 0
    assert {f"executed, {many}", f"from picture to answer, {alone}"} <= set(figures["times_faster"])
    steps = figures["steps"][many]
    assert 1 < steps["parallel"] < steps["sequential"]
    index = dict.fromkeys(("questions", "different_questions", "seconds", "cpu_seconds"), 1)
    index |= {"peak_megabytes": None, "read_per_second": 1.0}
    reasoning.print_figures({**figures, "index": index})
    printed = capsys.readouterr().out
    assert "questions a second, one core" in printed
    assert "indexed in 1 s" in printed


def test_the_cost_of_an_update_is_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sizes = {"word_width": 8, "hidden": 16, "heads": 2}
    one, other = (gqa.measure(batch, 1, 0.01, **sizes) for batch in (2, 4))
    assert one["parameters"] == other["parameters"] > 1000
    for figures in (one, other):
        update = figures["update"]
        assert update["gigaflop_per_question"] > figures["answer_gigaflop"] > 0, "forward and backward"
        assert min(update["questions_per_second"], update["peak_megabytes"], figures["read_per_second"]) > 0
        gqa.print_figures(figures)
    assert "an answer: 0.0 GFLOP" in capsys.readouterr().out
    assert not list(tmp_path.iterdir()), "the temporary folder is gone"


def test_only_the_parts_that_are_asked_for_are_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    figures = reasoning.Options(seconds=0.01, pictures=3, parts=("features",)).measure(lambda *progress: None)
    assert figures.keys() == {"features"}
    reasoning.print_figures(figures)
    assert "features at random access" in capsys.readouterr().out


def test_speed_of_indexing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index = indexing.measure(40, processes=1, seconds=0.05)
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
    ("arguments", "message"),
    [
        (("train", "visual", "--target", "reward"), "target reward: the targets of visual are dense, partial"),
        (("train", "visual", "--batch-size", 0), "batch-size 0: at least 1 is needed"),
        (("train", "visual", "--held-out", 0), "held-out 0: at least 1 is needed"),
        (("evaluate", "nobody", "--task", "visual"), "nobody: does not exist"),
        (("evaluate", "oracle", "--task", "visual", "--data", "nowhere"), "there is no finished index"),
        (("run", "x.prg", "--task", "visual"), "x.prg"),
    ],
)
def test_a_wrong_command_gets_one_clear_error(arguments, message, tmp_path):
    run = proto(*arguments, folder=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("error: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "agents", "message"),
    [
        (Evaluate(split=()), ("oracle",), "name at least one split"),
        (Evaluate(shown=0), ("oracle",), "one question to show"),
        (Evaluate(sheet=Path("x.gif")), ("x",), "must end with .png"),
        (Evaluate(sheet=Path("x.png")), ("oracle",), "name one first"),
        (Evaluate(), ("x.json",), "x.json"),
        (Evaluate(images=Path("/")), ("oracle",), "images /: they are what a sheet is drawn on; name a sheet"),
    ],
)
def test_wrong_options_of_evaluate_are_errors(options, agents, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        options.run(Visual(), agents)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [(Run(seed=-1), "expected 0 or above"), (Run(png=Path("x.gif")), "must end with .png")],
)
def test_wrong_options_of_run_are_errors(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        options.run(Visual(), EXAMPLE, parse_visual(EXAMPLE.read_text("utf-8")), "x")


CONDITIONAL = """
things = select(furniture)
if exist(things):
    query(things, name)
else:
    exist(select(person))
"""


@pytest.mark.usefixtures("sight")
def test_only_the_routines_on_the_path_of_the_answers_are_shown(checkpoint):
    """A program with `if`: the branch is the executor's, and its answer is compared with the oracle's."""
    reasoner, branches = program_guided.load(checkpoint), set()
    for seed in range(30):
        reasoning = reasoner.run(CONDITIONAL, seed)
        condition = reasoning.findings[1]
        texts = [finding.routine for finding in reasoning.findings]
        assert condition.routine.startswith("exist"), texts
        branches.add(condition.result)
        assert len(reasoning.findings) == (3 if condition.result == "yes" else 4), texts
        assert ("query" in texts[-1]) == (condition.result == "yes")
        truths = execute(parse_visual(CONDITIONAL), reasoning.scene)
        expected = next(truth for truth in reversed(truths) if truth.problem != NOT_REACHED).value
        if expected is None:
            assert reasoning.right is None
        else:
            label = {True: "yes", False: "no"}.get(expected, expected)
            assert reasoning.right == (reasoning.answer == label)
    assert branches <= {"yes", "no"}


@pytest.mark.usefixtures("sight")
def test_a_condition_decides_which_branch_is_executed(world, tmp_path):
    """Set the weights to always predict yes, then no."""
    train(job(world, tmp_path / "run"))
    reasoner = program_guided.load(tmp_path / "run")
    for truth, count in ((TRUE, 3), (1 - TRUE, 4)):
        with torch.no_grad():
            bias = [each for each in reasoner.model.heads["Boolean"].modules() if isinstance(each, torch.nn.Linear)]
            bias[-1].weight.zero_()
            bias[-1].bias.copy_(torch.eye(2)[truth])
        findings = reasoner.run(CONDITIONAL, 3).findings
        assert (findings[1].result, len(findings)) == ("yes" if truth == TRUE else "no", count)


@pytest.mark.usefixtures("sight")
def test_a_reasoner_needs_no_data(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_make", None)
    assert program_guided.load(checkpoint).run("exist(select(furniture))").answer in ("yes", "no")
    assert [path.name for path in tmp_path.iterdir()] == ["detector"]


def test_a_program_in_no_known_language_is_one_clear_error(tmp_path):
    (tmp_path / "x.prg").write_text("fly(moon)")
    run = proto("run", "x.prg", folder=tmp_path)
    assert run.returncode == 1
    assert "fly" in run.stderr
    assert "Traceback" not in run.stderr


def test_features_of_other_pictures_are_an_error_before_training_begins(world, tmp_path):
    features = tmp_path / "objects"
    shutil.copytree(world / "objects", features)
    info = json.loads((features / "gqa_objects_info.json").read_text())
    image = VisualData(world).index.questions("train_balanced").question(0).image_id
    del info[image]
    (features / "gqa_objects_info.json").write_text(json.dumps(info))
    with pytest.raises(DataError, match=f"has no features of 1 of the .* pictures of train_balanced, such as {image};"):
        Visual(data=world, features=features).check("dense")
    Visual(data=world).check("dense")


def test_an_error_is_one_line_for_a_user(tmp_path):
    run = proto("train", "visual", "--data", "nowhere", folder=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("error: nowhere/index: there is no finished index")
    assert run.stderr.count("\n") == 1


def test_a_checkpoint_whose_parts_do_not_fit_is_one_clear_error(checkpoint, tmp_path):
    config = json.loads((checkpoint / "config.json").read_text())
    del config["sha256"]
    fewer = config["sizes"] | {"vocabulary": config["sizes"]["vocabulary"][:-1]}
    changes = {"none": {"sizes": None}, "fewer": {"sizes": fewer}, "reader": {"reader": {"features": 3}}}
    for name, change in changes.items():
        shutil.copytree(checkpoint, tmp_path / name)
        (tmp_path / name / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(DataError, match="is damaged, or not|do not fit"):
            program_guided.load(tmp_path / name)


def test_questions_about_pictures_without_a_scene_graph_are_answered_but_not_supervised(world, tmp_path):
    for path in world.glob("*.json"):
        if path.name not in ("val_sceneGraphs.json", "world.json"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    make_index(tmp_path, tmp_path / "index")
    task = Visual(data=tmp_path, features=world / "objects")
    task.check("dense")
    with_graphs, without = (task.question_set(name).batch(np.arange(4)) for name in ("train_balanced", "val_balanced"))
    known = task.results["Objects"].known
    supervised = [known(batch.targets["Objects"]).any() for batch in (with_graphs, without)]
    assert [bool(each) for each in supervised] == [True, False]
    rows = torch.arange(4)
    answers = torch.maximum(without.targets["Answer"], without.targets["Boolean"])[rows, without.last]
    assert (answers != -1).any()


def test_dense_supervision_needs_scene_graphs(world, tmp_path):
    for name in ("train_balanced_questions.json", "val_balanced_questions.json"):
        (tmp_path / name).write_bytes((world / name).read_bytes())
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="no scene graphs of train_balanced, which the target dense needs"):
        Visual(data=tmp_path, features=world / "objects").check("dense")
    Visual(data=tmp_path, features=world / "objects").check("partial")
    (tmp_path / "index").rename(tmp_path / "kept")
    (tmp_path / "val_balanced_questions.json").unlink()
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="held-out 2000: train_balanced has no more questions"):
        Visual(data=tmp_path, features=world / "objects").check("partial")


def bare(path):
    """Remove programs and answers of the questions of a file."""
    records = json.loads(path.read_text("utf-8"))
    for record in records.values():
        del record["semantic"], record["answer"]
    path.write_text(json.dumps(records), "utf-8")


def test_sets_without_programs_are_one_clear_error_before_training_begins(world, tmp_path):
    for path in world.glob("*.json"):
        if path.name != WORLD_FILE:
            shutil.copy(path, tmp_path)
    shutil.copy(world / "test_balanced_questions.json", tmp_path / "submission_all_questions.json")
    bare(tmp_path / "submission_all_questions.json")
    make_index(tmp_path, tmp_path / "index")
    task = Visual(data=tmp_path, features=world / "objects")
    task.check("dense")
    with pytest.raises(DataError, match="of submission_all have no program or answer, which the target partial needs"):
        replace(task, train_set="submission_all").check("partial")
    bare(tmp_path / "val_balanced_questions.json")
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="no question of val_balanced has a program and an answer"):
        Visual(data=tmp_path, features=world / "objects").check("partial")


def test_a_set_is_not_trained_and_evaluated_on(world):
    task = Visual(data=world, train_set="val_balanced", held_out=15)
    source, numbers = task._held_out
    assert source is task._train
    assert len(numbers) >= 15
    assert set(numbers.tolist()).isdisjoint(task._trained_on.tolist())
    pictures = source.specification_numbers()
    assert set(pictures[numbers]).isdisjoint(pictures[task._trained_on])


def test_without_a_validation_set_the_last_pictures_of_train_are_held_out(world, tmp_path):
    for name in ("train_balanced_questions.json", "train_sceneGraphs.json", "objects"):
        (tmp_path / name).symlink_to(world / name)
    make_index(tmp_path, tmp_path / "index")
    task = Visual(data=tmp_path, held_out=50)
    task.check_data("dense")
    source, numbers = task._held_out
    pictures = source.specification_numbers()
    assert 50 <= len(numbers) < 100
    assert set(pictures[numbers]).isdisjoint(pictures[task._trained_on])
    assert len(numbers) + len(task._trained_on) == len(source)
    learner = task.learner(built(task), SupervisedSettings(batch_size=64), "dense", 0)
    drawn = learner._source.numbers[np.concatenate([learner._draw() for _ in range(30)])]
    assert set(drawn).isdisjoint(numbers)
    assert task.validate(built(task)).completion >= 0
    with pytest.raises(DataError, match="held-out 100000: train_balanced has no more questions"):
        Visual(data=tmp_path, held_out=100_000).check_data("dense")
