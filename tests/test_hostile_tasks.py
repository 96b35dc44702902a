"""Tasks that are unusual or wrong: no conditions, other options, wrong arrays, misleading names, code that changed."""

import json
import sys
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest
import torch

from program_guided import Objects, Range, Task, WorldTask, behaviour, condition, operation, readers, registry
from program_guided.cli.main import main
from program_guided.errors import DataError, ProgramError
from program_guided.language.domain import Choice, Domain, Number, Operation
from program_guided.language.parser import parse
from program_guided.language.syntax import Program
from program_guided.learning.agents import RandomAgent
from program_guided.learning.checkpoint import read_checkpoint, save_checkpoint
from program_guided.learning.ppo import PPO
from program_guided.learning.settings import PPOSettings, SupervisedSettings
from program_guided.learning.trainer import Job, train
from program_guided.learning.worlds import Outcome, pointed_rows
from program_guided.models.config import VALUE, PlusConfig
from program_guided.registry import build_model
from program_guided.tasks.commands import world_agent
from program_guided.tasks.executor import StaticExecutor, load_executor
from program_guided.tasks.python_worlds import feasible
from program_guided.tasks.world_task import Entry, Failed

TINY = {"word_width": 8, "hidden": 16, "heads": 2, "blocks": 1}
Color = Literal["red", "blue"]
Count = Annotated[int, Range(0, 4)]
Value = Annotated[int, Range(0, 3)]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    torch.set_num_threads(1)


def proto(*arguments, monkeypatch, capsys):
    """A command in this process: (exit code, standard output, standard error)."""
    monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


@dataclass(eq=False)
class Shelves(Task):
    """A static task with an option."""

    name: ClassVar = "shelves"
    reader: ClassVar = readers.Objects(features=2, positions=0)
    many: int = 30
    """Examples of a split."""
    doubtful: bool = False
    """Whether the oracle does not know which things are red."""

    def encode(self, scene):
        return {"features": [[color == "red", color == "blue"] for color in scene]}

    def examples(self, split):
        for number in range(self.many):
            scene = [("blue", "red")[number >> place & 1] for place in range(1 + number % 4)]
            yield "if any_red():\n  count(red)\nelse:\n  count(blue)", scene, 1

    @operation
    def any_red(self, scene) -> bool:
        return None if self.doubtful else "red" in scene

    @operation
    def count(self, scene, color: Color) -> Count:
        return scene.count(color)


def checkpoint_of(task, folder, **changes):
    model = build_model("plus", PlusConfig(**TINY), task.sizes(), task.reader_config)
    origin = replace(task.origin(), given=f"{__name__}:{type(task).__name__}", **changes)
    save_checkpoint(folder, "plus", model, task.reader_config, origin)
    return model


class Plain(WorldTask):
    """A world without conditions."""

    name, actions, limit = "plain", ("left", "right"), 12
    reader = readers.Sequence(values=6)
    split_sizes: ClassVar = {"train": 8, "test": 2}

    def draw(self, random):
        return {"at": random.randint(0, 3)}

    def act(self, world, action):
        world["at"] = min(5, max(0, world["at"] + (1 if action == "right" else -1)))

    def encode(self, world):
        return {"items": [world["at"]]}

    @behaviour
    def reach(self, world, place: Annotated[int, Range(0, 5)]):
        return world["at"] == place


def test_a_world_without_conditions_is_learned_from_reward():
    task = Plain()
    entries = task.entries("train")
    worlds = task.worlds(entries, 8)
    assert worlds.answers is None
    settings = PPOSettings(steps=512, num_envs=8, num_steps=16, warmup=1, window=8, minibatch_size=64)
    model = build_model("plus", PlusConfig(**TINY), task.sizes(), task.reader_config)
    learner = PPO(model, worlds, settings, 0)
    with torch.no_grad():
        rollout = learner.collect()
    assert not rollout.right.any(), "no step is an answer, so all of them count for the policy"
    assert np.isfinite(learner.step())


class Counting(Plain):
    """A world with values, and a condition that takes them."""

    name = "counting"

    def programs(self, split):
        return [f"n = place()\nif less(n, {number}):\n  reach({number})" for number in range(1, 6)]

    @operation
    def place(self, world) -> Annotated[int, Range(0, 5)]:
        return world["at"]

    @operation
    def less(self, world, a: Annotated[int, Range(0, 5)], b: Annotated[int, Range(0, 5)]) -> bool:
        return a < b


def test_values_and_conditions_that_take_them_are_labelled_and_learned():
    """After a right answer that is its label, after a wrong one all others are; both are replayed with their inputs."""
    task = Counting(held_out=1)
    worlds = task.worlds(task.entries("train"), 32)
    settings = PPOSettings(steps=4000, num_envs=32, num_steps=8, window=32, minibatch_size=128, learning_rate=3e-3)
    learner = PPO(build_model("plus", PlusConfig(**TINY), task.sizes(), task.reader_config), worlds, settings, 0)
    labelled = dict.fromkeys(("place", "less"), 0)
    for _ in range(8):
        running = worlds.outcome == Outcome.RUNNING
        names = [worlds.operation_names()[each] for each in worlds.programs.operation[pointed_rows(worlds)]]
        tables, routines = [worlds.tables[each] for each in worlds.program], worlds.routine.tolist()
        truth = {i: worlds._truth(i, tables[i], routines[i]) for i in np.flatnonzero(running).tolist()}
        right = learner._act(learner.execution.observe().kept())["right"].numpy()
        for i in np.flatnonzero(right.any(axis=1) & running).tolist():
            first, values = worlds._slots["Boolean" if names[i] == "less" else "Integer"]
            assert right[i, first + values.index(truth[i])], "what is right is always among the labels"
            labelled[names[i]] += 1
    assert min(labelled.values()) > 8
    losses = [learner.step() for _ in range(14)]
    assert losses[-1] < losses[0]


def test_truncated_worlds_are_resumed_as_they_were():
    """The time limit of a curriculum is set after the worlds are restored; what it truncated stays truncated."""
    task = Plain()
    one, other = (task.worlds(task.entries("train"), 16) for _ in range(2))
    one.seed(3)
    one.reset()
    one.time_limit = 5
    agent = RandomAgent(0)
    for step in range(5):
        one.step_or_reset(agent.act(one))
        if step == 1:
            one.reset(np.arange(16) < 8)
    assert {int(Outcome.RUNNING), int(Outcome.TIMEOUT)} <= set(one.outcome.tolist())
    other.time_limit = 3
    other.restore(one.state())
    assert np.array_equal(one.outcome, other.outcome)
    other.time_limit = 5
    agents = RandomAgent(1), RandomAgent(1)
    for _ in range(20):
        one.step_or_reset(agents[0].act(one))
        other.step_or_reset(agents[1].act(other))
        assert np.array_equal(one.time, other.time)
        assert np.array_equal(one.program, other.program)


def test_a_world_depends_on_the_seed_and_its_number_not_on_how_many_there_are():
    task = Plain()
    few, many = (task.worlds(task.entries("train"), count) for count in (3, 9))
    for worlds in (few, many):
        worlds.seed(5)
        for _ in range(4):
            worlds.reset()
    assert np.array_equal(few.program, many.program[:3])


def test_hindsight_without_candidates_teaches_nothing():
    task = Plain()
    worlds = task.worlds(task.entries("train"), 4)
    worlds.seed(0)
    worlds.reset()
    hindsight = worlds.hindsight()
    hindsight._candidates = []
    with hindsight.step():
        worlds.step(RandomAgent(0).act(worlds))
    assert [len(each) for each in hindsight.lessons(1.0, np.random.default_rng(0))] == [0, 0, 0]


def test_options_of_a_task_are_in_its_checkpoint_and_its_identity(tmp_path):
    task = Shelves(many=12)
    checkpoint_of(task, tmp_path)
    assert read_checkpoint(tmp_path).task.options == {"many": 12, "doubtful": False}
    assert task.identity() != Shelves(many=13).identity()
    loaded = load_executor(tmp_path, f"{__name__}:Shelves")
    assert len(loaded.task.source("test")) == 12
    assert len(load_executor(tmp_path, Shelves(many=9)).task.source("test")) == 9


def test_the_identity_of_a_task_knows_its_answers_and_specifications(monkeypatch):
    before = Shelves().identity()
    monkeypatch.setattr(Shelves, "encode", lambda self, scene: {"features": [[0.5, 0.5] for _ in scene]})
    assert Shelves().identity() != before


def test_an_answer_is_not_the_label_of_a_condition_that_is_not_known():
    task = Shelves(doubtful=True)
    batch = task.source("train").batch(np.arange(4))
    assert (batch.targets["Boolean"] < 0).all()
    assert (batch.targets["Count"] < 0).all()


def test_a_wrong_branch_does_not_hide_a_wrong_answer():
    task = Shelves()
    program = "if any_red():\n  count(red)\nelse:\n  count(blue)"
    seen = set()
    for seed in range(30):
        torch.manual_seed(seed)
        model = build_model("plus", PlusConfig(**TINY), task.sizes(), task.reader_config)
        execution = StaticExecutor(task, model, None).run(program, ["red", "blue", "blue"])
        assert (execution.truth, execution.shown_truth) == (1, "1"), "one is red"
        assert execution.right == (execution.findings[-1].result == "1")
        seen.add(execution.findings[-1].truth)
    assert "not known" in seen, "some took the other branch, whose routine the oracle did not execute"


def test_a_task_that_changed_is_not_loaded(tmp_path, monkeypatch):
    checkpoint_of(Shelves(), tmp_path)
    monkeypatch.setattr(Shelves.count, "__annotations__", {"color": Color, "return": Annotated[int, Range(0, 9)]})
    with pytest.raises(DataError, match=r"the task 'shelves' has changed since \(results: .*raise its version"):
        load_executor(tmp_path, f"{__name__}:Shelves")


def test_a_task_with_a_new_operation_is_not_loaded(tmp_path):
    class Renamed(Shelves):
        name: ClassVar = "shelves"

        @operation
        def any_blue(self, scene) -> bool:
            return "blue" in scene

    checkpoint_of(Shelves(), tmp_path)
    with pytest.raises(DataError, match=r"has changed since \(new words: any_blue\)"):
        load_executor(tmp_path, Renamed())


def test_a_result_type_may_have_the_name_of_the_state_value():
    class Levels(Shelves):
        name: ClassVar = "levels"

        @operation
        def level(self, scene) -> Value:
            return min(3, len(scene))

    assert VALUE not in Levels().results
    assert "Value_" in Levels().results


@pytest.mark.parametrize(
    ("values", "good", "bad"), [((1, 2, 4, 8), "4", "3"), ((5, 1, 3), "3", "2"), ((2, 3, 4), "4", "5")]
)
def test_numbers_of_a_literal_are_those_and_no_others(values, good, bad):
    class Steps(Shelves):
        name: ClassVar = "steps"

        def walk(self, scene, step):
            return step

        walk.__annotations__.update({"step": Literal[values], "return": bool})
        walk = operation(walk)

    task = Steps()
    assert task.parse(f"walk({good})")
    assert task.call([], task.parse(f"walk({good})").body[0], ()) == int(good)
    with pytest.raises(ProgramError):
        task.parse(f"walk({bad})")


def test_names_that_fold_to_one_are_refused():
    with pytest.raises(DataError, match="'is_lit' and 'islit' are spellings of one name"):
        Domain("lamps", 1, (Operation("is_lit"), Operation("islit")))
    with pytest.raises(DataError, match="'red' and 'Red' are spellings of one name"):
        Choice("color", ("red", "Red"))
    assert Number("n", 0, 3)


@pytest.mark.parametrize(
    ("reader", "arrays", "message"),
    [
        (readers.Grid(kinds=3, side=4), {"map": [[1, 1], [1, 1]], "agent": (2, 0)}, "agent: .*each from 0 to 1"),
        (readers.Grid(kinds=3, side=4), {"map": [[1, 1], [1, 1]], "agent": (0, -1)}, "agent"),
        (readers.Grid(kinds=3, side=4), {"map": [[1, 1], [1, 1]], "agent": (0,)}, "agent"),
        (readers.Grid(kinds=3, side=4, items=2), {"map": [[1]], "agent": (0, 0), "inventory": [1]}, "inventory"),
        (readers.Sequence(values=4), {"items": [1.7]}, "expected integers"),
        (readers.Sequence(values=4), {"numbers": [1]}, "encode gives no 'items'"),
        (readers.Sequence(features=3), {"items": [[1.0], [2.0]]}, r"expected \(2, 3\)"),
        (readers.Sequence(features=1), {"items": [[np.nan]]}, "not finite"),
        (readers.Objects(features=1, positions=0), {"features": [[np.inf]]}, "not finite"),
        (readers.Objects(features=1, positions=0), {"features": [["red"]]}, "expected numbers"),
    ],
)
def test_arrays_that_cannot_be_read_are_one_clear_error(reader, arrays, message):
    with pytest.raises(DataError, match=message):
        reader.collate([arrays])


def test_many_kinds_of_cells_are_kept_apart():
    cells = readers.Grid(kinds=200, side=2).collate([{"map": [[1, 150], [200, 128]], "agent": (0, 0)}])["map"]
    assert cells[0].tolist() == [[1, 150], [200, 128]]


def test_a_sequence_is_of_integers_or_of_vectors():
    with pytest.raises(DataError, match="either values"):
        readers.Sequence()


class Hopeless(Plain):
    name = "hopeless"

    def best(self, world, routine, place):
        return "left"

    def programs(self, split):
        return ["reach(5)"] * 300


def test_a_program_that_cannot_be_finished_is_named_before_training():
    with pytest.raises(DataError, match=r"in none of 200 worlds within 12 steps(.|\n)*reach\(5\)"):
        Hopeless().check("dense")


def test_a_hidden_method_is_one_clear_error():
    with pytest.raises(DataError, match="Mine.check: 'check' is a method of"):

        class Mine(Shelves):
            def check(self, scene):
                return True

    with pytest.raises(DataError, match="Other.train: "):

        class Other(Shelves):
            @operation
            def train(self, scene) -> bool:
                return True


SHELVES = """
import sizes
from program_guided import Task, operation, readers

class Boxes(Task):
    name = "boxes"
    reader = readers.Sequence(values=4)
    def encode(self, numbers): return {"items": numbers}
    def examples(self, split):
        for number in range(sizes.MANY): yield "empty()", [number % 4]
    @operation
    def empty(self, numbers) -> bool: return not numbers
"""


def test_a_file_may_import_its_neighbours_from_any_folder(tmp_path, monkeypatch, capsys):
    folder = tmp_path / ".pyenv" / "tasks"
    folder.mkdir(parents=True)
    (folder / "boxes.py").write_text(SHELVES)
    (folder / "sizes.py").write_text("MANY = 30\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    code, out, _ = proto("dataset", "stats", folder / "boxes.py", "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert json.loads(out)["splits"]["train"]["examples"] == 30
    assert registry.named_before(str(folder / "boxes.py"))
    (folder / "broken.py").write_text("x = 1\nimport no_such_module_here\n")
    code, _, error = proto("dataset", "stats", folder / "broken.py", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 1
    assert f"{folder}/broken.py:2: ModuleNotFoundError: No module named 'no_such_module_here'" in error
    assert "Traceback" not in error


def test_a_changed_switch_of_a_reader_or_a_model_is_not_resumed(tmp_path):
    """Both have fields called `positions`."""
    from program_guided.models.config import PaperConfig

    def job(**changes):
        settings = SupervisedSettings(steps=2, eval_every=1, batch_size=4, warmup=1)
        task = Shelves(held_out=5)
        given = {"resume": False, **changes}
        config = PaperConfig(**TINY, positions=given.pop("positions", True))
        return Job(task, "paper", config, task.reader_config, settings, tmp_path, **given)

    train(job())
    with pytest.raises(DataError, match="model positions was True, is False"):
        train(job(resume=True, positions=False))


def test_all_of_nothing_is_not_dropped():
    with pytest.raises(DataError, match="feature-dropout 1"):
        SupervisedSettings(feature_dropout=1.0).check()


def test_objects_that_do_not_exist_are_one_clear_error():
    class Far(Shelves):
        name: ClassVar = "far"

        @operation
        def beyond(self, scene) -> Objects:
            return [99]

        def examples(self, split):
            yield "beyond()", ["red"]

    with pytest.raises(DataError, match="beyond: .*99"):
        Far().source("train").batch(np.zeros(1, np.int64))


def test_a_condition_in_a_world_must_be_known():
    class Silent(Plain):
        name = "silent"

        @condition
        def odd(self, world) -> bool:
            return None

    task = Silent()
    worlds = task.worlds([Entry(task.parse("if odd():\n  reach(1)"), 0)], 1)
    worlds.place(0, 0)
    with pytest.raises(DataError, match="silent.odd: gives None"):
        worlds.step(np.array([worlds.answers[0]]))


def test_a_world_s_results_are_of_their_type():
    """A condition may give anything true or false; a value that is out of its range is one clear error."""

    class Careless(Plain):
        name, seen = "careless", 7

        @condition
        def far(self, world) -> bool:
            return [world["at"]]

        @operation
        def place(self, world) -> Annotated[int, Range(0, 3)]:
            return self.seen

    task = Careless()
    worlds = task.worlds([Entry(task.parse("if far():\n  reach(1)"), 0)], 1)
    worlds.place(0, 0)
    worlds.step(np.array([worlds.answers[0]]))
    assert worlds.outcome[0] == Outcome.RUNNING, "a list that is not empty is true"
    worlds = task.worlds([Entry(task.parse("n = place()\nreach(1)"), 0)], 1)
    worlds.place(0, 0)
    with pytest.raises(DataError, match="careless.place: 7 is not .*; expected one of 0, 1, 2, 3"):
        worlds.step(np.array([worlds.first_answer]))


def test_an_action_that_fails_a_program_makes_a_world_infeasible():
    class Brittle(Plain):
        name = "brittle"

        def act(self, world, action):
            raise Failed

        def best(self, world, routine, place):
            return "left"

    task = Brittle()
    assert not feasible(task, task.compile("reach(1)"), 0)


def test_a_task_derived_from_a_loaded_one_is_another_task(tmp_path):
    (tmp_path / "whole.py").write_text(
        "from program_guided import Task, operation, readers\n\n\nclass Whole(Task):\n    name = 'whole'\n"
        "    reader = readers.Sequence(values=3)\n    def encode(self, s): return {'items': s}\n"
        "    def examples(self, split): yield 'odd()', [1]\n    @operation\n    def odd(self, s) -> bool: return True\n"
    )
    whole = registry.load_task(str(tmp_path / "whole.py"))

    class Mine(whole):
        name = "mine"

    assert Mine().given == ""
    assert whole().given == str(tmp_path / "whole.py")
    assert Mine().origin().given == "mine"


@pytest.mark.parametrize("model", ["plus", "paper"])
@pytest.mark.parametrize("sizes", [{"word_width": 9, "heads": 8}, {"word_width": 5, "heads": 4}])
def test_sizes_that_do_not_fit_together_are_one_clear_error(model, sizes):
    task = Shelves()
    config = registry.model_config(model)(**sizes)
    with pytest.raises(DataError, match=r"word-width \d, heads \d: the width d = "):
        build_model(model, config, task.sizes(), task.reader_config)
    odd = registry.model_config(model)(heads=3, hidden=24)
    assert build_model(model, odd, task.sizes(), task.reader_config).width % 6 == 0


def test_hidden_is_a_multiple_of_heads_for_objects():
    task = Shelves()
    with pytest.raises(DataError, match="hidden 12, heads 8: a reader of objects needs"):
        build_model("plus", PlusConfig(hidden=12, heads=8), task.sizes(), task.reader_config)


def test_the_oracle_s_errors_do_not_stop_an_executor(tmp_path):
    task = Fragile()
    checkpoint_of(task, tmp_path)
    execution = load_executor(tmp_path, task).run("largest()", [])
    assert (execution.truth, execution.shown_truth) == (None, "not known")
    assert execution.right is None


class Fragile(Task):
    name = "fragile"
    reader = readers.Sequence(values=4)

    def encode(self, numbers):
        return {"items": numbers}

    def examples(self, split):
        for number in range(20):
            yield "largest()", [number % 4], 3 if number == 13 and self.wrong else None

    wrong = False

    @operation
    def largest(self, numbers) -> Annotated[int, Range(0, 3)]:
        return max(numbers)


def test_a_wrong_label_is_an_error_that_names_its_example():
    class Wrong(Fragile):
        name = "wrong"

        def examples(self, split):
            for number in range(20):
                yield "largest()", [number % 4], 9 if number == 13 else None

    with pytest.raises(DataError, match="wrong, train, example 13: largest: 9 is not"):
        Wrong().source("train").batch(np.arange(20))


def test_a_while_in_a_tree_of_a_static_task_is_refused():
    task = Shelves()
    body = parse("while any_red():\n  n = count(red)", replace(task.domain, sequential=True)).body
    with pytest.raises(DataError, match="'while' would never end"):
        task.compile(Program(body))


def test_a_map_has_no_parts_to_point_at():
    class Pointing(Task):
        name = "pointing"
        reader = readers.Grid(kinds=2, side=3)

        def encode(self, scene):
            return {"map": scene, "agent": (0, 0)}

        def examples(self, split):
            for _ in range(9):
                yield "all()", [[1, 1], [1, 2]]

        @operation
        def all(self, scene) -> Objects:
            return [0]

    with pytest.raises(DataError, match="Objects are sets of parts, which a map does not have"):
        Pointing(held_out=2).check("dense")


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"map": [[1, 1.5], [1, 1]], "agent": (0, 0), "inventory": [0]}, "map: expected integers"),
        ({"map": [[1, 1], [1, 1]], "agent": (0, 0.5), "inventory": [0]}, "agent: expected integers"),
        ({"map": [[1, 1], [1, 1]], "agent": (0, 0), "inventory": [-1]}, "inventory: .*counts are 0 or more"),
    ],
)
def test_arrays_of_a_map_are_whole_numbers(arrays, problem):
    with pytest.raises(DataError, match=problem):
        readers.Grid(kinds=2, side=3, items=1).collate([arrays])
    with pytest.raises(DataError, match="side 65; it must be from 1 to 64"):
        readers.Grid(kinds=2, side=65)


def test_minibatches_that_are_empty_are_not_a_divergence():
    task = Plain()
    worlds = task.worlds(task.entries("train"), 4)
    settings = PPOSettings(steps=64, num_envs=4, num_steps=8, warmup=1, window=8, minibatch_size=1)
    model = build_model("plus", PlusConfig(**TINY), task.sizes(), task.reader_config)
    assert np.isfinite(PPO(model, worlds, settings, 0).step())


class Spoken(Plain):
    """A world whose language has free text; `ready` programs come later."""

    name, words = "spoken", ("one", "two")

    def programs(self, split):
        return [f"say({word})" for word in self.words for _ in range(4)]

    @behaviour
    def say(self, world, word: str):
        return True


def test_a_checkpoint_s_words_are_used_where_programs_have_changed_since(tmp_path, monkeypatch, capsys):
    model = checkpoint_of(Spoken(), tmp_path / "run")
    monkeypatch.setattr(Spoken, "words", ("zwei", "one", "two", "three"))
    assert world_agent(Spoken(), str(tmp_path / "run"))[2].vocabulary.words == model.sizes.vocabulary


def test_a_behaviour_that_returns_nothing_or_never_ends_is_one_clear_error():
    class Silent(Plain):
        name = "silent"
        split_sizes: ClassVar = {"train": 12, "test": 2}

        def best(self, world, routine, *place):
            return "left"

        @behaviour
        def stay(self, world):
            return self.ends

        @condition
        def high(self, world) -> bool:
            return world["at"] > 2

        def programs(self, split):
            return ["if high():\n  stay()\nreach(0)"] * 12

    Silent.ends = None
    with pytest.raises(DataError, match="silent.stay: gives None"):
        Silent(held_out=1).check("dense")
    Silent.ends = False
    with pytest.raises(DataError, match="never ends stay in any world of train"):
        Silent(held_out=1).check("dense")


def test_a_result_that_may_be_unknown_may_say_so():
    class Doubtful(Fragile):
        name = "doubtful"

        @operation
        def perhaps(self, numbers) -> bool | None:
            return None

        @operation
        def color(self, numbers) -> Color | None:
            return "red"

    assert {each.name: each.output for each in Doubtful().domain.operations}["color"] == "Color"
    assert Doubtful().results["Boolean"].name == "Boolean"


def test_splits_that_are_sampled_share_the_shortest_programs():
    class Two(Plain):
        name = "two"
        split_sizes: ClassVar = {"train": 60, "test": 20}

        @condition
        def high(self, world) -> bool:
            return world["at"] > 2

    shortest = {split: min(len(Two().compile(each)) for each in Two().programs(split)) for split in Two().splits}
    assert shortest["train"] == 1
    assert not set(map(str, Two().programs("train"))) & set(map(str, Two().programs("test")))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "bridge", "--agent", "visual"), "is a program of minecraft, not of visual"),
        (("run", "lists.py"), "is no program; if it is a task: proto train lists.py"),
        (("run", "brige"), "unknown example 'brige': did you mean 'bridge'?"),
        (
            ("dataset", "stat", "--help"),
            "'stat' is not one of 'build', 'index', 'stats' (for help: proto dataset --help)",
        ),
        (("train",), "name the task before the options"),
    ],
)
def test_a_mistake_is_one_line(arguments, problem, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, error = proto(*arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert code in (1, 2)
    assert problem in error or arguments == ("train",)
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("out"))
