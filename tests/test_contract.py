"""The contract of a task: signatures are language and result types, every command works on a file of one's own, and a
checkpoint never runs code that was not named."""

import importlib.metadata
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest
import torch

import program_guided
from program_guided import Answer, Objects, Range, Task, WorldTask, behaviour, condition, operation, readers, registry
from program_guided.cli.main import main
from program_guided.errors import DataError
from program_guided.language.interpreter import interpret
from program_guided.language.sampler import UniformVocabulary, sample_program
from program_guided.learning.agents import OracleAgent, RandomAgent, run_programs
from program_guided.learning.evaluation import outputs_of
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.results import Boolean, Subset, Value
from program_guided.learning.worlds import Outcome
from program_guided.registry import build_model, load_task, model_config
from program_guided.tasks.executor import WorldExecutor
from program_guided.tasks.learners import evaluate_entries
from program_guided.tasks.world_task import Entry

ROOT = Path(__file__).parents[1]
LISTS, LAMPS = ROOT / "examples" / "lists.py", ROOT / "examples" / "lamps.py"
QUICK = ["--steps", "4", "--eval-every", "4", "--held-out", "20"]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Tasks that one test has named are not known to the next."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    torch.set_num_threads(1)


def proto(*arguments, monkeypatch, capsys):
    """A command in this process: (exit code, standard output, standard error)."""
    monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


# Signatures ------------------------------------------------------------------------------------------------------

Color = Literal["red", "blue"]
Integer = Annotated[int, Range(0, 4)]


class Scenes(Task):
    name = "scenes"
    reader = readers.Objects(features=2, positions=0)

    def encode(self, scene):
        return {"features": [[float(color == each) for each in ("red", "blue")] for color in scene]}

    def examples(self, split):
        for number in range(30):
            scene = [("blue", "red")[number >> place & 1] for place in range(1 + number % 4)]
            yield "count(color(red))", scene
            yield f"a = count(color(red))\ngreater(a, {number % 3})", scene
            yield "if exist(color(blue)):\n  describe(color(red))\nelse:\n  largest(count(color(blue)), 1, 2)", scene

    @operation
    def color(self, scene, color: Color) -> Objects:
        return {place for place, each in enumerate(scene) if each == color}

    @operation
    def count(self, scene, some: Objects) -> Integer:
        return len(some)

    @operation
    def exist(self, scene, some: Objects) -> bool:
        return bool(some)

    @operation
    def greater(self, scene, a: Integer, b: Integer) -> bool:
        return a > b

    @operation
    def largest(self, scene, a: Integer, b: Integer, c: Integer) -> Integer:
        return max(a, b, c)

    @operation
    def describe(self, scene, some: Objects) -> Answer:
        return "several" if len(some) > 1 else "one" if some else None


def test_a_signature_is_language_and_result_type():
    domain = Scenes().domain
    shown = {
        each.name: ([type(one).__name__ for one in each.parameters], each.inputs, each.output)
        for each in domain.operations
    }
    assert shown == {
        "color": (["Choice"], (), "Objects"),
        "count": (["Input"], ("Objects",), "Integer"),
        "exist": (["Input"], ("Objects",), "Boolean"),
        "greater": (["Number", "Number"], ("Integer", "Integer"), "Boolean"),
        "largest": (["Number"] * 3, ("Integer",) * 3, "Integer"),
        "describe": (["Input"], ("Objects",), "Answer"),
    }
    results = Scenes().results
    assert [type(kind) for kind in results.values()][:3] == [Subset, Value, Boolean]
    assert results["Integer"].values == (0, 1, 2, 3, 4)
    assert results["Answer"].values == ("one", "several")
    assert domain.max_inputs == 3


def test_the_oracle_executes_calls_words_and_inputs_in_their_order():
    task, scene = Scenes(), ["red", "blue", "blue"]
    assert task.execute(task.compile("greater(count(color(red)), count(color(blue)))"), scene)[-1] is False
    assert task.execute(task.compile("greater(count(color(blue)), count(color(red)))"), scene)[-1] is True
    assert task.execute(task.compile("largest(0, 3, count(color(blue)))"), scene)[-1] == 3
    branch = task.compile("if exist(color(blue)):\n  count(color(blue))\nelse:\n  count(color(red))")
    assert task.execute(branch, scene) == [{1, 2}, True, {1, 2}, 2, None, None]
    assert task.execute(branch, ["red"])[-1] == 1


def test_what_the_oracle_does_not_know_is_not_supervised():
    task = Scenes()
    table = task.compile("describe(color(red))")
    assert task.execute(table, ["blue"]) == [set(), None]
    examples = enumerate(task.examples("train"))
    number = next(number for number, (program, scene) in examples if "if" in program and "red" not in scene)
    batch = task.train.batch(np.array([number]))
    known = {name: int(task.results[name].known(target).sum()) for name, target in batch.targets.items()}
    assert known == {"Objects": 2, "Integer": 0, "Boolean": 1, "Answer": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bad": "def bad(self, scene): ..."}, "has no return annotation"),
        ({"encode": "def encode(self, scene) -> bool: ..."}, "'encode' is a method of"),
        ({"bad": "def bad(self, scene, thing) -> bool: ..."}, "has no type"),
        ({"bad": "def bad(self, scene, thing: int) -> bool: ..."}, "is no result type"),
        ({"bad": "def bad(self, scene, thing: float) -> bool: ..."}, "is no result type"),
    ],
)
def test_a_signature_that_cannot_be_read_is_one_clear_error(change, message):
    functions = {}
    for name, given in change.items():
        if isinstance(given, str):
            scope = {}
            exec(given, scope)
            given = operation(scope[name])
        functions[name] = given
    with pytest.raises(DataError, match=message):
        type("Bad", (Scenes,), functions)().domain  # noqa: B018


def test_a_result_that_is_not_of_its_type_is_one_clear_error():
    class Wrong(Scenes):
        @operation
        def count(self, scene, some: Objects) -> Integer:
            return 99

    with pytest.raises(DataError, match="count: 99 is not Integer"):
        Wrong().train.batch(np.array([0]))


def test_arrays_of_another_shape_are_one_clear_error():
    class Wrong(Scenes):
        def encode(self, scene):
            return {"features": [[1.0] * 5 for _ in scene]}

    with pytest.raises(DataError, match=r"features: its shape is \(1, 5\)"):
        Wrong().train.batch(np.array([0]))


def test_conditions_of_static_programs_are_decided_by_the_executor():
    """Executing all routines and following the pointer equals executing the path alone."""
    task = Scenes()
    torch.manual_seed(0)
    for name in ("plus", "paper"):
        model = build_model(name, model_config(name)(), task.sizes(), task.reader_config).eval()
        tables = [task.compile(example[0]) for example in task.examples("train")]
        arrays = tensors_of(task.reader_config.collate([task.encode(each[1]) for each in task.examples("train")]))
        programs = programs_of(tables, task.vocabulary, np.arange(len(tables)))
        types = list(task.results.values())
        both = [outputs_of(model, arrays, programs, types, parallel=way) for way in (True, False)]
        assert torch.equal(both[0].last, both[1].last)
        assert torch.equal(both[0].executed, both[1].executed)
        on_path = both[0].executed
        for kind in task.results:
            one, other = (each.probabilities[kind][on_path] for each in both)
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


# Worlds ----------------------------------------------------------------------------------------------------------

Item = Literal["coin", "key"]


class Errands(WorldTask):
    """A world with data flow: counts are named, compared and waited for."""

    name, actions, limit = "errands", ("take_coin", "take_key", "drop"), 40
    reader = readers.Sequence(values=8)
    split_sizes: ClassVar = {"train": 60, "test": 20}

    def draw(self, random):
        return {"coin": random.randint(0, 3), "key": random.randint(0, 3), "last": "", "left": 3}

    def act(self, world, action):
        world["last"] = ""
        if action.startswith("take_") and world["left"] and world[action[5:]] < 4:
            world["last"], world["left"] = action[5:], world["left"] - 1
            world[action[5:]] += 1
        elif action == "drop":
            world["left"] = 3

    def encode(self, world):
        return {"items": [world["coin"], world["key"], world["left"]]}

    def best(self, world, routine, item):
        return f"take_{item}" if world["left"] else "drop"

    @behaviour
    def take(self, world, item: Item):
        return world["last"] == item

    @operation
    def carried(self, world, item: Item) -> Integer:
        return world[item]

    @condition
    def less(self, world, a: Integer, b: Integer) -> bool:
        return a < b


def test_data_flow_in_a_world_is_executed_as_the_interpreter_does():
    """Pointer, interpreter and the batch of worlds execute the same routines with the same values."""
    task, finished = Errands(), 0
    for seed in range(400):
        program = sample_program(
            UniformVocabulary(task.domain), replace(task.shape, routines=(1, 7)), random.Random(seed)
        )
        worlds = task.worlds([Entry(program, seed)], 1)
        worlds.place(0, 0)
        table, trace = worlds.tables[0], []
        while worlds.outcome[0] == Outcome.RUNNING:
            worlds.step(OracleAgent().act(worlds))
            if worlds.ended[0] >= 0:
                trace.append(table.calls[int(worlds.ended[0])].operation)
        if worlds.outcome[0] != Outcome.FINISHED:
            continue
        finished += 1
        world = task.draw(random.Random(f"{seed} {worlds._checked[0, 0]}"))

        def execute(call, inputs, world=world):
            if call.operation != "take":
                return task.call(world, call, inputs)
            for _ in range(4):
                task.act(world, task.best(world, "take", *call.words))
                if task.call(world, call, ()):
                    return True
            raise AssertionError("never taken")

        assert [call.operation for call, _, _ in interpret(program, execute)] == trace
    assert finished > 100


def test_while_less_than_a_named_number_runs_that_often():
    task = Errands()
    text = "n = carried(key)\nwhile less(carried(coin), n):\n  take(coin)"
    worlds = task.worlds([Entry(task.parse(text), 0)], 1)
    worlds.place(0, 0)
    worlds._worlds[0] |= {"coin": 0, "key": 2}
    taken = 0
    while worlds.outcome[0] == Outcome.RUNNING:
        worlds.step(OracleAgent().act(worlds))
        taken += worlds._worlds[0]["last"] == "coin" and worlds.ended[0] >= 0
    assert worlds.outcome[0] == Outcome.FINISHED
    assert worlds._worlds[0]["coin"] == 2


def test_a_wrong_value_ends_the_episode():
    task = Errands()
    worlds = task.worlds([Entry(task.parse("n = carried(key)\nif less(n, 2):\n  take(coin)"), 0)], 1)
    worlds.place(0, 0)
    right = int(OracleAgent().act(worlds)[0])
    first, values = worlds._slots["Integer"]
    worlds.step(np.array([first + (right - first + 1) % len(values)]))
    assert worlds.outcome[0] == Outcome.WRONG_ANSWER


def lamps():
    return load_task(str(LAMPS))()


def test_the_planner_finishes_every_sampled_program_and_chance_few():
    task = lamps()
    entries = task.entries("test")[:60]
    assert evaluate_entries(task, OracleAgent(), entries)["completion"] == 100
    assert evaluate_entries(task, RandomAgent(), entries)["completion"] < 40
    assert not {each.program for each in task.entries("train")} & {each.program for each in task.entries("test")}


def test_worlds_resume_from_their_state_without_holding_code():
    task = lamps()
    entries = task.entries("train")[:20]
    one, other = (task.worlds(entries, 8, variants=4) for _ in range(2))
    agent = RandomAgent(0)
    one.seed(5)
    one.reset()
    for _ in range(23):
        one.step_or_reset(agent.act(one))
    state = one.state()
    assert all(array.dtype.kind in "iub" for array in state.values())
    other.restore(state)
    agents = RandomAgent(1), RandomAgent(1)
    for _ in range(40):
        one.step_or_reset(agents[0].act(one))
        other.step_or_reset(agents[1].act(other))
    for name in ("program", "routine", "previous", "time", "outcome"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.observe().specification["map"], other.observe().specification["map"])


def test_hindsight_is_true():
    """A lesson's routine had not ended before its step, and ended after `delay` more steps of the same routine."""
    task = lamps()
    worlds = task.worlds(task.entries("train")[:40], 16, variants=4)
    worlds.seed(0)
    worlds.reset()
    hindsight, agent, records = worlds.hindsight(), RandomAgent(3), []
    for _ in range(40):
        before = [dict(vars(worlds._worlds[i]), map=[list(r) for r in worlds._worlds[i].map]) for i in range(16)]
        with hindsight.step():
            worlds.step_or_reset(agent.act(worlds))
        records.append((before, worlds.ended.copy(), worlds.outcome.copy()))
    numbers, words, delays = hindsight.lessons(1.0, np.random.default_rng(0))
    assert len(numbers) > 50
    vocabulary = task.vocabulary.words
    for number, row, delay in zip(numbers, words, delays, strict=True):
        step, i = divmod(int(number), 16)
        name, lamp = (vocabulary[word] for word in row[:2])
        room = type(worlds._worlds[0])(**records[step][0][i])
        assert not getattr(task, name)(room, lamp)
        later = step + int(delay)
        assert all(records[t][1][i] < 0 for t in range(step, later))


# Files of one's own ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["path", "module", "entry point"])
def test_every_command_works_on_a_task_of_ones_own(way, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = str(LISTS)
    if way != "path":
        (tmp_path / "my_lists.py").write_text(LISTS.read_text())
        monkeypatch.syspath_prepend(str(tmp_path))
        given = "my_lists:Lists"
    if way == "entry point":
        point = importlib.metadata.EntryPoint("digits", "my_lists:Lists", registry.GROUP)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
        given = "digits"
    run = {"monkeypatch": monkeypatch, "capsys": capsys}
    (tmp_path / "ask.prg").write_text("greater(maximum(everything()), count(above(everything(), 4)))\n")
    (tmp_path / "wrong.prg").write_text("greater(maximum(everything()), above(everything(), 4))\n")
    assert proto("check", "ask.prg", "--task", given, **run)[0] == 0
    code, _, error = proto("check", "wrong.prg", "--task", given, **run)
    assert code == 1
    assert "Digit" in error
    code, out, _ = proto("dataset", "stats", given, "--json", **run)
    assert json.loads(out)["splits"]["test"]["examples"] == 800
    code, out, error = proto("train", given, *QUICK, **run)
    assert code == 0, error
    folder = "out/lists-dense-plus-0"
    assert f"wrote {folder}" in out
    more = [] if way != "module" else ["--task", given]
    code, out, error = proto("evaluate", folder, *more, "--json", **run)
    assert code == 0, error
    figures = json.loads(out)["agents"][folder]["splits"]["test"]
    assert figures["examples"] == 800
    assert set(figures["routines"]) == {"above", "count", "equal", "everything", "greater", "maximum", "minimum"}
    code, out, _ = proto("run", "ask.prg", "--agent", folder, *more, "--example", "3", "--json", **run)
    assert code in (0, 1)
    assert [each["routine"].split("(")[0] for each in json.loads(out)["routines"]] == [
        "everything",
        "maximum",
        "everything",
        "above",
        "count",
        "greater",
    ]
    executor = program_guided.load(folder, task=given)
    execution = executor.run("count(above(everything(), 4))", [1, 7, 9])
    assert execution.findings[-1].truth == "2"
    code, _, error = proto("train", given, *QUICK, "--target", "partial", "--model", "paper", **run)
    assert code == 0, error


def test_every_command_works_in_a_world_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = {"monkeypatch": monkeypatch, "capsys": capsys}
    (tmp_path / "go.prg").write_text("if lit(red):\n  switch(red)\nwhile lit(blue):\n  switch(blue)\nvisit(green)\n")
    assert proto("check", "go.prg", "--task", LAMPS, **run)[0] == 0
    few = [*QUICK, "--num-envs", "8", "--variants", "2"]
    for target, more in (("dense", []), ("reward", ["--num-steps", "4"]), ("reward", ["--algorithm", "a2c"])):
        out = f"out/{target}{len(more)}{more[-1:]}"
        code, _, error = proto("train", LAMPS, "--target", target, *few, *more, "--out", out, **run)
        assert code == 0, error
    code, shown, error = proto("evaluate", out, "planner", "random", "--json", **run)
    assert code == 0, error
    agents = json.loads(shown)["agents"]
    assert agents["planner"]["splits"]["test"]["completion"] == 100
    code, shown, _ = proto("run", "go.prg", "--task", LAMPS, "--agent", "planner", "--seed", "1", "--json", **run)
    assert code == 0
    assert json.loads(shown)["outcome"] == "finished"
    code, shown, _ = proto("dataset", "stats", LAMPS, "--json", **run)
    assert json.loads(shown)["splits"]["test"]["finished_by"]["planner"] == 100


def test_a_checkpoint_never_runs_code_that_was_not_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = {"monkeypatch": monkeypatch, "capsys": capsys}
    (tmp_path / "trap.py").write_text(LISTS.read_text())
    code, _, error = proto("train", "trap.py", *QUICK, "--out", "run", **run)
    assert code == 0, error
    assert proto("evaluate", "run", **run)[0] == 0  # named before, to the command that trained it
    (tmp_path / "trap.py").write_text("raise SystemExit('the code was run')\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another user"))
    for module in [name for name in sys.modules if name.startswith("_program_guided_task_trap")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(DataError, match=r"given as trap\.py.*name the task yourself"):
        program_guided.load("run")
    code, _, error = proto("evaluate", "run", **run)
    assert code == 1
    assert "--task trap.py" in error
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config["task"]["given"] = "trap:Lists"
    del config["sha256"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="name the task yourself"):
        program_guided.load("run")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nothing.py", "there is no such file"),
        ("unheard", "unknown task 'unheard'"),
        ("empty.py", "has no task"),
        ("two.py", "has 2 tasks"),
        ("two.py:Three", "has no task 'Three'"),
        ("json:JSONDecoder", "is not a Task"),
        ("no_such_module:Task", "there is no module"),
        ("broken.py", "is not Python"),
    ],
)
def test_a_task_that_cannot_be_loaded_is_one_clear_error(given, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("class Broken(:\n")
    (tmp_path / "two.py").write_text(LISTS.read_text() + "\n\nclass Other(Lists):\n    name = 'other'\n")
    with pytest.raises(DataError, match=message):
        load_task(given)


# Documents -------------------------------------------------------------------------------------------------------


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text("utf-8"), re.DOTALL)


def test_the_code_of_your_task_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    boxes, loading, corridor, options, result_type = blocks("your_task.md")
    (tmp_path / "boxes.py").write_text(boxes)
    (tmp_path / "corridor.py").write_text(corridor)
    run = {"monkeypatch": monkeypatch, "capsys": capsys}
    code, _, error = proto("train", "boxes.py", *QUICK, **run)
    assert code == 0, error
    exec(loading, {})
    few = ["--num-envs", "8", "--variants", "2", "--held-out", "5", "--eval-every", "4"]
    for target, steps in (("dense", ["--steps", "4"]), ("reward", ["--steps", "64", "--num-steps", "4"])):
        code, _, error = proto("train", "corridor.py", "--target", target, *few, *steps, **run)
        assert code == 0, error
    exec(options, {})
    scope = {}
    exec(result_type, scope)
    assert scope["Direction"]().show(90) == "90°"
    assert scope["Direction"]().size == 8


def test_the_code_of_your_model_runs(monkeypatch, tmp_path):
    code, _ = blocks("your_model.md")
    (tmp_path / "mean.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(registry.MODELS, "mean", ("mean:Mean", "mean:MeanConfig"))
    task = Scenes()
    task.held_out = 10
    model = build_model("mean", model_config("mean")(), task.sizes(), task.reader_config)
    settings = replace(task.recipe("dense", "mean", "ppo").settings, batch_size=16, steps=3)
    learner = task.learner(model, settings, "dense", 0)
    assert all(np.isfinite(learner.step()) for _ in range(3))
    world = lamps()
    learner = world.learner(
        build_model("mean", model_config("mean")(), world.sizes(), world.reader_config),
        replace(world.recipe("dense", "mean", "ppo").settings, num_envs=8, steps=3),
        "dense",
        0,
    )
    assert np.isfinite(learner.step())


def test_examples_are_short():
    for path in (LISTS, LAMPS):
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= 80
        assert max(map(len, lines)) <= 120


def test_run_programs_counts_what_was_begun():
    task = lamps()
    entries = [Entry(task.parse("visit(red)\nvisit(blue)"), 0)]
    worlds = task.worlds(entries, 1)
    worlds.place(0, 0)
    runs = run_programs(worlds, OracleAgent())
    assert sum(runs.begun.values()) == 2
    assert runs.finished.all()


# Cases that a user meets ------------------------------------------------------------------------------------------


class Words(Task):
    """Free text, answers out of the training data, and routines that make no sense on another specification."""

    name = "words"
    reader = readers.Sequence(features=3)

    def encode(self, words):
        return {"items": [[len(word), word.count("a"), float(word[0] == "b")] for word in words]}

    def examples(self, split):
        for number in range(40):
            words = ["banana", "apple", "kiwi"][: 1 + number % 3] + (["fig"] if split == "test" else [])
            yield f'first_with("{words[-1]}")', list(words)
            yield f'only(find("{words[0]}"))', words

    @operation
    def find(self, words, word: str) -> Objects:
        return np.array([each == word for each in words])

    @operation
    def only(self, words, some: Objects) -> str:
        return words[np.flatnonzero(some)[0]]

    @operation
    def first_with(self, words, word: str) -> str:
        return next(each for each in words if each == word)


def test_free_text_is_learned_as_words_and_unknown_words_are_errors():
    task = Words(held_out=10)
    assert {"banana", "apple", "kiwi"} < set(task.vocabulary.words)
    assert task.vocabulary.words[1] == "<unknown>"
    assert set(task.results["Answer"].values) == {"banana", "apple", "kiwi"}
    model = build_model("plus", model_config("plus")(heads=4), task.sizes(), task.reader_config)
    task.prepare(model)
    settings = replace(task.recipe("dense", "plus", "ppo").settings, batch_size=16, steps=4, relabelled=0.9)
    learner = task.learner(model, settings, "dense", 0)
    assert all(np.isfinite(learner.step()) for _ in range(4))


def test_a_mask_of_booleans_is_a_set_of_parts():
    task = Words(held_out=10)
    target = task.train.batch(np.array([1])).targets["Objects"][0, 0]
    assert target.nonzero()[:, 0].tolist() == [0]


def test_an_answer_that_train_never_gives_is_wrong_and_not_left_out():
    from program_guided.learning.evaluation import measure

    task = Words(held_out=10)
    model = build_model("plus", model_config("plus")(heads=4), task.sizes(), task.reader_config)
    measured = measure(model.eval(), task.source("test"), [each.name for each in task.domain.operations])
    assert measured.examples == 80
    assert measured.answers["first_with"] == 0  # the last word of every list of test is `fig`


def test_specifications_with_one_example_each_do_not_repeat_it_in_a_batch():
    class Single(Scenes):
        def examples(self, split):
            yield from ((program, list(scene)) for program, scene in super().examples(split))

    for task, together in ((Scenes(held_out=10), 3), (Single(held_out=10), 1)):
        model = build_model("plus", model_config("plus")(heads=4), task.sizes(), task.reader_config)
        learner = task.learner(model, replace(task.recipe("dense", "plus", "ppo").settings, batch_size=12), "dense", 0)
        assert learner._together == together


def test_two_processes_share_the_training_of_a_task_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, error = proto(
        "train", LISTS, *QUICK, "--processes", "2", "--out", "run", monkeypatch=monkeypatch, capsys=capsys
    )
    assert code == 0, error
    assert json.loads((tmp_path / "run" / "config.json").read_text())["training"]["processes"] == 2


def test_a_process_that_fails_ends_the_others(tmp_path, monkeypatch, capsys):
    """A wrong label among the held-out examples, which the first process alone evaluates."""
    monkeypatch.chdir(tmp_path)
    wrong = 'yield program(source), numbers, 99 if split == "train" and _ == 3 and number > 990 else None'
    text = LISTS.read_text().replace("for _ in range({", "for number in range({")
    (tmp_path / "wrong.py").write_text(text.replace("yield program(source), numbers", wrong))
    code, _, error = proto(
        "train", "wrong.py", *QUICK, "--processes", "2", "--out", "run", monkeypatch=monkeypatch, capsys=capsys
    )
    assert code == 1
    assert re.fullmatch(r"error: lists, train, example \d+: \w+: 99 is not .*\n", error)


def test_an_error_in_a_task_s_own_code_is_one_line_with_its_place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(LISTS.read_text().replace("return len(list(some))", "return [][3]"))
    code, _, error = proto("dataset", "stats", "broken.py", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 1
    assert re.fullmatch(r"error: .*broken\.py:\d+, in count: IndexError: .*\n", error)


def test_the_axes_of_a_readers_tensors_are_checked():
    task = Scenes()
    model = build_model("plus", model_config("plus")(heads=4), task.sizes(), task.reader_config)
    scene = model.reader.encode(tensors_of(task.reader_config.collate([task.encode(["red", "blue"])])))
    assert model.reader.point(torch.zeros(1, 2, model.width), scene).shape == (1, 2, 3)
    with pytest.raises(Exception, match="rows"):
        model.reader.point(torch.zeros(1, model.width), scene)


def test_programs_of_a_world_task_are_run_at_once_with_the_results_of_each_alone():
    task = lamps()
    programs = [entry.program for entry in task.entries("test")[:4]]
    executor = WorldExecutor(task, OracleAgent())
    together = executor.run(programs, seed=[0, 1, 2, 3])
    alone = [executor.run(program, seed=seed) for seed, program in enumerate(programs)]
    assert [run.as_dict() for run in together] == [run.as_dict() for run in alone]
    assert len({len(run.steps) for run in together}) > 1
    assert json.loads(together[0].to_json()) == together[0].as_dict()
    assert [run.outcome for run in executor.run(programs[0], seed=[0, 1])] == ["finished"] * 2
