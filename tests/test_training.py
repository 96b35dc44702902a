"""Training: it learns, it is repeatable, it survives being killed, and it runs in two processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from domains import minecraft_model, minecraft_reader, minecraft_with
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import program_guided
from program_guided.errors import DataError
from program_guided.language import parse
from program_guided.learning.checkpoint import read_checkpoint, save_checkpoint
from program_guided.learning.execution import infer
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.imitation import Imitation, dense_loss, squared_loss
from program_guided.learning.settings import ImitationSettings
from program_guided.learning.trainer import Job, train
from program_guided.models.config import PaperConfig, PlusConfig
from program_guided.tasks.executor import load_executor
from program_guided.tasks.minecraft.agents import rollout
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.minecraft.world.batch import Batch

TINY = {"word_width": 8, "hidden": 32, "heads": 4, "blocks": 1}
PROTO = Path(sys.executable).with_name("proto")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def entries(*texts, worlds=1):
    return tuple(Entry(parse(text, DOMAIN), 100 * seed + i) for seed, text in enumerate(texts) for i in range(worlds))


def job(folder, **changes):
    settings = ImitationSettings(steps=30, eval_every=10, num_envs=32, warmup=5, variants=4)
    few = entries("mine(gold)", "goto(2, 3)", "if is_there[river]:\n  mine(wood)\nsell(gold)")
    return Job(minecraft_with(few), "plus", PlusConfig(**TINY), minecraft_reader(plans=2), settings, folder, **changes)


def imitation(model, programs, settings):
    return Imitation(
        model, Minecraft().worlds(programs, settings.num_envs, variants=settings.variants), settings, seed=0
    )


def weights(folder):
    return load_file(folder / "model.safetensors")


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_loss_takes_every_best_action_for_right():
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, -torch.inf, -torch.inf], [1.0, 2.0, -torch.inf, 4.0]])
    logits.requires_grad_()
    best = torch.tensor([[True, True, False, False], [True, False, False, False], [False] * 4])
    expected = torch.tensor([np.log(2), np.log1p(np.exp(-2.0)), 0.0], dtype=torch.float32)
    losses = dense_loss(logits, best)
    torch.testing.assert_close(losses.detach(), expected)
    losses.sum().backward()
    assert logits.grad[2].abs().max() < 1e-6, "where nothing is right or wrong there is nothing to learn"


def test_the_squared_loss_is_the_distance_to_an_even_choice_of_the_best():
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    best = torch.tensor([[True, True, False, False], [False] * 4])
    torch.testing.assert_close(squared_loss(logits, best), torch.tensor([4 * 0.25**2, 0.0]))


@pytest.mark.parametrize("change", [{"states": "planner"}, {"loss": "l2"}, {}], ids=["cloning", "l2", "dagger"])
@pytest.mark.parametrize("name", ["paper", "plus"])
def test_training_lowers_the_loss_and_is_the_same_for_the_same_seed(name, change):
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        model = minecraft_model(name, **TINY, plans=2)
        settings = ImitationSettings(steps=80, num_envs=64, warmup=10, variants=4, learning_rate=5e-3, **change)
        training = imitation(model, entries("mine(gold)", "mine(wood)", "mine(iron)"), settings)
        losses.append([training.step() for _ in range(80)])
    assert losses[0] == losses[1]
    assert np.mean(losses[0][-5:]) < 0.9 * np.mean(losses[0][:5])


def test_conditions_that_no_program_reaches_are_learned_as_extra_conditions():
    """No program here ever comes to its conditions; asked in between, they are answered all the same."""
    mine = "\n".join(["mine(gold)"] * 3)
    programs = entries(f"{mine}\nif is_there[river]:\n  mine(gold)", f"{mine}\nif is_there[iron]:\n  mine(gold)")

    def answered(extra_conditions):
        torch.manual_seed(0)
        model = minecraft_model("plus", **TINY, plans=2)
        settings = ImitationSettings(
            steps=150,
            num_envs=64,
            warmup=10,
            variants=64,
            learning_rate=5e-3,
            greedy_share=0,
            extra_conditions=extra_conditions,
        )
        training = imitation(model, programs, settings)
        training.worlds.time_limit = 4
        for _ in range(150):
            training.step()
        fresh = entries(*(f"if is_there[{kind}]:\n  goto(1, 1)" for kind in ("river", "iron")), worlds=100)
        batch = Batch(fresh, len(fresh))
        batch.reset()
        best, _ = batch.best_actions()
        return best[np.arange(batch.count), ExecutorAgent(model).act(batch)].mean()

    assert answered(extra_conditions=0.5) > 0.9
    assert answered(extra_conditions=0.0) < 0.75


def test_a_small_executor_learns_one_routine_programs(tmp_path):
    """End to end: trained from nothing, it finishes nine in ten, in unseen worlds."""
    kinds = [f"mine({thing})" for thing in ("gold", "wood", "iron")] + [f"goto({x}, {y})" for x, y in ((2, 2), (4, 1))]
    kinds += ["build_bridge()", "sell(gold)"]
    config = PlusConfig(word_width=16, hidden=64, heads=4, blocks=1)
    settings = ImitationSettings(
        steps=1200, num_envs=128, warmup=50, learning_rate=4e-3, ema=0.99, variants=512, eval_every=1200
    )
    train(Job(minecraft_with(entries(*kinds)), "plus", config, minecraft_reader(), settings, tmp_path))
    fresh = tuple(Entry(entry.program, entry.seed + 10_000) for entry in entries(*kinds, worlds=25))
    assert rollout(fresh, program_guided.load(tmp_path)).finished.mean() >= 0.9


def test_a_run_leaves_a_checkpoint_a_log_and_events(tmp_path):
    train(job(tmp_path, about={"command": "a test"}))
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["training"]["command"] == "a test"
    assert config["training"]["seed"] == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30]
    assert lines == config["training"]["curve"]
    assert list(tmp_path.glob("events.*"))
    assert not list(tmp_path.glob(".*.tmp"))


def test_interrupted_at_any_step_and_resumed_it_ends_with_the_same_weights(tmp_path):
    train(job(tmp_path / "whole"))

    class Stop(Exception):
        pass

    def stop_at(step):
        def watch(moment):
            if moment.step == step:
                raise Stop

        return watch

    for step in (13, 10, 29):
        folder = tmp_path / f"at {step}"
        with pytest.raises(Stop):
            train(job(folder), stop_at(step))
        train(job(folder, resume=True))
        assert same(weights(folder), weights(tmp_path / "whole"))
        whole, again = ((tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("whole", folder.name))
        assert [json.loads(line)["loss"] for line in whole] == [json.loads(line)["loss"] for line in again]


COMMAND = [
    "train",
    "minecraft",
    "--steps",
    "24",
    "--num-envs",
    "16",
    "--eval-every",
    "12",
    "--variants",
    "1",
    "--held-out",
    "2",
    "--out",
]


REWARD = ("--target", "reward", "--steps", "1024", "--eval-every", "256", "--num-steps", "16")
REWARD += ("--minibatch-size", "64")


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path):
    """`paper`; tests/test_soak.py kills trainings of `plus`."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def command(folder, *more):
        return [PROTO, *COMMAND, folder, "--model", "paper", *more]

    subprocess.run(command(whole), env=ENVIRONMENT, check=True, capture_output=True)
    running = subprocess.Popen(command(killed), env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    while not (killed / "training.safetensors").exists() and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it must be killed before its end"
    subprocess.run(command(killed, "--resume"), env=ENVIRONMENT, check=True, capture_output=True)
    assert same(weights(whole), weights(killed))


def in_two_threads(steps):
    """The reference for two processes: two halves of the worlds, that wait for each other's gradients."""
    settings = ImitationSettings(steps=steps, num_envs=16, eval_every=12, variants=1)
    together, gradients, models = threading.Barrier(2), {}, {}

    def half(number):
        def mean(tensor):
            gradients[number] = tensor.clone()
            together.wait()
            found = (gradients[0] + gradients[1]) / 2
            together.wait()
            return found

        worlds = Minecraft().worlds(load_split("train")[:-2], 8, variants=1)
        training = Imitation(models[number], worlds, settings, 0, (number, 2), mean)
        for _ in range(steps):
            training.step()

    for number in range(2):
        torch.manual_seed(0)
        models[number] = minecraft_model("plus")
    threads = [threading.Thread(target=half, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(*(model.state_dict() for model in models.values()))
    return models[0]


def test_two_processes_share_a_training(tmp_path):
    """Really two: the state holds the worlds of both, they are different worlds, and the gradient is that of both."""
    command = [PROTO, *COMMAND, tmp_path, "--processes", "2", "--no-visits"]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    assert "distributed" not in ran.stdout + ran.stderr, "Fabric prints nothing"
    state = load_file(tmp_path / "training.safetensors")
    assert state["0.worlds.agent"].shape == state["1.worlds.agent"].shape == (8, 2)
    assert not torch.equal(state["0.worlds.random"], state["1.worlds.random"])
    for name, tensor in in_two_threads(24).state_dict().items():
        torch.testing.assert_close(state[f"model.{name}"], tensor, atol=1e-5, rtol=1e-4)
    again = subprocess.run([*command, "--resume"], env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert again.returncode == 0, again.stderr


def test_two_processes_learn_from_reward(tmp_path):
    command = [PROTO, *COMMAND, tmp_path, *REWARD, "--processes", "2"]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    state = load_file(tmp_path / "training.safetensors")
    assert state["0.worlds.agent"].shape == state["1.worlds.agent"].shape == (8, 2)
    assert not torch.equal(state["0.worlds.random"], state["1.worlds.random"])


def test_a_loss_that_is_not_a_number_stops_the_training_and_keeps_the_last_state(tmp_path):
    train(job(tmp_path))
    state = load_file(tmp_path / "training.safetensors")
    broken = job(tmp_path / "broken")

    def poison(moment):
        if moment.step == 15:
            torch.nn.init.constant_(poisoned[0], torch.nan)

    poisoned = []
    original = torch.optim.AdamW.__init__

    def remember(self, parameters, *rest, **settings):
        given = list(parameters)
        poisoned[:] = given
        original(self, given, *rest, **settings)

    torch.optim.AdamW.__init__ = remember
    try:
        with pytest.raises(DataError, match="not a number any more after 15 steps; the last state"):
            train(broken, poison)
    finally:
        torch.optim.AdamW.__init__ = original
    kept = load_file(tmp_path / "broken" / "training.safetensors")
    assert kept.keys() == state.keys()
    load_executor(tmp_path / "broken")


def test_a_folder_that_holds_a_training_is_not_overwritten(tmp_path):
    train(job(tmp_path))
    with pytest.raises(DataError, match="holds a training already; resume it"):
        train(job(tmp_path))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/config.json").write_bytes((tmp_path / "config.json").read_bytes())
    with pytest.raises(DataError, match="holds a checkpoint already"):
        train(job(tmp_path / "copy"))
    with pytest.raises(DataError, match="no training to resume"):
        train(job(tmp_path / "other", resume=True))
    with pytest.raises(DataError, match="seed was 0, is 1"):
        train(job(tmp_path, resume=True, seed=1))


@pytest.fixture
def checkpoint(tmp_path):
    torch.manual_seed(0)
    model, reader = minecraft_model("plus", **TINY, plans=2), minecraft_reader(plans=2)
    save_checkpoint(tmp_path / "model", "plus", model, reader, Minecraft().origin(), {"seed": 3})
    return tmp_path / "model"


def test_a_checkpoint_is_read_as_it_was_written(checkpoint, tmp_path):
    found = read_checkpoint(checkpoint)
    assert (found.model, found.config, found.training) == ("plus", PlusConfig(**TINY), {"seed": 3})
    assert found.sizes == Minecraft().sizes()
    model = found.build(Minecraft.reader)
    assert model.reader.plans == 2, "what the checkpoint recorded of the reader"
    save_checkpoint(tmp_path / "again", found.model, model, minecraft_reader(plans=2), found.task, found.training)
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (checkpoint / name).read_bytes()
    assert same(model.state_dict(), weights(checkpoint))


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def change(path, **changes):
    config = {name: value for name, value in json.loads(path.read_text()).items() if name != "sha256"}
    path.write_text(json.dumps(config | changes))


def edit(path):
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"training": {"seed": 17}}))


def rename_a_tensor(path):
    tensors = load_file(path)
    tensors["other"] = tensors.pop(next(iter(tensors)))
    save_file(tensors, path)


def overwrite_some_bytes(path):
    content = bytearray(path.read_bytes())
    content[-400:-300] = bytes(100)
    path.write_bytes(content)


def change_part(folder, part, **changes):
    config = json.loads((folder / "config.json").read_text())
    change(folder / "config.json", **{part: config[part] | changes})


def change_model(folder, **changes):
    config = json.loads((folder / "config.json").read_text())["model"]["config"]
    change_part(folder, "model", config=config | changes)


def spoil_a_tensor(path):
    tensors = load_file(path)
    next(iter(tensors.values())).fill_(torch.nan)
    save_file(tensors, path)


DAMAGES = {
    "truncated weights": (lambda folder: cut(folder / "model.safetensors"), "damaged or not a safetensors file"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "does not exist"),
    "text for weights": (lambda folder: (folder / "model.safetensors").write_text("x" * 99), "damaged or not"),
    "other weights": (lambda folder: rename_a_tensor(folder / "model.safetensors"), "the weights do not fit the model"),
    "weights that are not numbers": (lambda folder: spoil_a_tensor(folder / "model.safetensors"), "not finite"),
    "weights of other bytes": (lambda folder: overwrite_some_bytes(folder / "model.safetensors"), "its checksum"),
    "no words": (lambda folder: change_part(folder, "sizes", vocabulary=[]), "has changed since"),
    "words without a number": (lambda folder: change_part(folder, "sizes", words="four"), "is damaged, or not a"),
    "a number for yes or no": (lambda folder: change_model(folder, memory=2), "is damaged, or not a checkpoint"),
    "a width of 0": (lambda folder: change_model(folder, hidden=0), "hidden 0: it must be from 1 to"),
    "parts of another model": (lambda folder: change_model(folder, positions=False), "is damaged, or not a checkpoint"),
    "a reader of something else": (lambda folder: change(folder / "config.json", reader={"values": 3}), "do not fit"),
    "an edited configuration": (lambda folder: edit(folder / "config.json"), "its checksum is wrong"),
    "a number for a training": (lambda folder: change(folder / "config.json", training=3), "is damaged"),
    "truncated configuration": (lambda folder: cut(folder / "config.json"), "is damaged"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
    "a list for a configuration": (lambda folder: (folder / "config.json").write_text("[]"), "is damaged"),
    "an older format": (lambda folder: change(folder / "config.json", format=0), "format 0"),
    "another version of the task": (lambda folder: change_part(folder, "task", version=0), "trained for version 0"),
    "a task in a file that was never named": (
        lambda folder: change_part(folder, "task", name="mine", given="mine.py"),
        "code is not run because a checkpoint says so",
    ),
    "an unknown model": (lambda folder: change_part(folder, "model", name="seq2seq"), "unknown model 'seq2seq'"),
    "a foreign model": (lambda folder: change_model(folder, layers=3), "is damaged, or not a checkpoint"),
    "no folder": (lambda folder: (folder.rename(folder.with_name("moved")), None)[1], "does not exist"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_bad_checkpoint_is_one_clear_error(checkpoint, name):
    damage, message = DAMAGES[name]
    damage(checkpoint)
    with pytest.raises(DataError, match=message):
        load_executor(checkpoint)
    ran = subprocess.run([PROTO, "evaluate", checkpoint], capture_output=True, text=True)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_checkpoint_of_another_task_is_one_clear_error(checkpoint):
    change_part(checkpoint, "task", name="visual", given="visual")
    with pytest.raises(DataError, match="was trained for the task 'visual', not 'minecraft'"):
        load_executor(checkpoint, "minecraft")
    ran = subprocess.run([PROTO, "evaluate", checkpoint], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr


def without(*prefixes):
    def damage(path):
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            metadata = {"numbers": file.metadata()["numbers"]}
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(prefixes)}
        assert len(kept) < len(tensors)
        save_file(kept, path, metadata)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "damaged or not a safetensors file"),
        (without("optimizer."), "is damaged"),
        (without("0.random"), "is damaged"),
        (without("model.heads"), "is damaged"),
    ],
    ids=["truncated", "no optimizer", "no random numbers", "half a model"],
)
def test_a_damaged_state_is_one_clear_error(tmp_path, damage, message):
    train(job(tmp_path))
    damage(tmp_path / "training.safetensors")
    with pytest.raises(DataError, match=message):
        train(job(tmp_path, resume=True))


def test_a_training_can_begin_with_the_weights_of_another(tmp_path):
    train(job(tmp_path / "first"))
    slowly = replace(
        job(tmp_path / "second", start=tmp_path / "first"), settings=ImitationSettings(steps=1, learning_rate=1e-9)
    )
    train(slowly)
    for name, tensor in weights(tmp_path / "first").items():
        torch.testing.assert_close(weights(tmp_path / "second")[name], tensor)
    other = replace(job(tmp_path / "third", start=tmp_path / "first"), model="paper", config=PaperConfig(**TINY))
    with pytest.raises(DataError, match="do not fit"):
        train(other)
    with pytest.raises(DataError, match="does not exist"):
        train(job(tmp_path / "third", start=tmp_path / "none"))


def test_what_cannot_begin_is_one_clear_error(tmp_path):
    with pytest.raises(DataError, match="seed -1: a seed is from 0"):
        train(job(tmp_path, seed=-1))
    if not torch.cuda.is_available():
        with pytest.raises(DataError, match="device cuda: torch finds no such device"):
            train(job(tmp_path, accelerator="cuda"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["plus", "paper", "pga"])
def test_the_gradient_is_of_the_states_that_were_seen_though_the_worlds_have_stepped(name):
    torch.manual_seed(0)
    task = Minecraft()
    model = minecraft_model(name)
    worlds = task.worlds(load_split("train")[:40], 32, variants=2)
    learner = Imitation(model, worlds, ImitationSettings(num_envs=32, variants=2), 0)
    seen, best = learner.execution.observe().kept(), torch.from_numpy(learner.worlds.best_actions()[0].copy())
    learner._loss(infer(model, seen)[0], best).backward()
    expected = [None if each.grad is None else each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    learner._step().backward()
    assert not torch.equal(learner.execution.observe().arrays["agent"], seen.arrays["agent"])
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)
