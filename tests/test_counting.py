"""Programs of the 2D Minecraft world that count and compare: environments, agents, pictures, tokens and learning."""

import sys

import gymnasium
import numpy as np
import pytest
import torch

import program_guided
from program_guided.cli.main import main
from program_guided.errors import DataError, ProgramError, WorldError
from program_guided.language.parser import parse
from program_guided.language.syntax import Call, Program, Ref, calls
from program_guided.learning.settings import ImitationSettings, PPOSettings
from program_guided.models.config import PlusConfig
from program_guided.models.plus import Plus
from program_guided.tasks.minecraft.agents import PlannerAgent, rollout
from program_guided.tasks.minecraft.commands.play import Game
from program_guided.tasks.minecraft.domain import ACTIONS, CONTROL_FLOW, DOMAIN, NUMBERS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.executor import MinecraftExecutor
from program_guided.tasks.minecraft.observation import ObservedWorlds, observe
from program_guided.tasks.minecraft.scenario import world_of
from program_guided.tasks.minecraft.snapshots import execution, snapshot
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, FIRST_NUMBER, Outcome
from program_guided.tasks.minecraft.wrappers import ProgramTokens, text_of

ENOUGH = """
n = count(gold)
mine(gold)
while less(carried(wood), n): mine(wood)
if greater(n, 2): sell(wood)
"""
MEADOW = "\n".join(["@gg..", "g.w..", "..w.$", ".....", "....."])


def numbers(answers):
    return [FIRST_NUMBER + answer for answer in answers]


def test_the_words_of_the_papers_language_keep_their_numbers():
    assert DOMAIN.vocabulary[: len(CONTROL_FLOW.vocabulary)] == CONTROL_FLOW.vocabulary
    assert set(DOMAIN.vocabulary) - set(CONTROL_FLOW.vocabulary) == {"greater", "less", "equal", "count", "carried"}


def test_the_planner_remembers_what_it_has_counted():
    batch = world_of({"program": ENOUGH, "map": MEADOW}, 0)
    moments = list(execution(batch, PlannerAgent()))
    said = [moment.message for moment in moments[:-1] if " is " in moment.message]
    assert said == [
        "count(gold) is 3",
        "carried(wood) is 0",
        "less(carried(wood), n) is true",
        "carried(wood) is 1",
        "less(carried(wood), n) is true",
        "carried(wood) is 2",
        "less(carried(wood), n) is true",
    ]
    assert moments[-1].message == "there is no way to finish the pointed routine, stopped"


def test_a_wrong_number_is_corrected_in_words():
    batch = world_of({"program": ENOUGH, "map": MEADOW}, 0)
    batch.step(np.array(numbers([4])))
    assert batch.outcome[0] == Outcome.WRONG_ANSWER
    assert snapshot(batch, 0, "4").message == "answered 4, but count(gold) is 3"


def test_counts_above_the_largest_number_are_that_number():
    batch = world_of({"program": "n = carried(gold)\nif equal(n, 20): mine(gold)", "inventory": {"gold": 57}}, 0)
    batch.step(np.array(numbers([NUMBERS[-1]])))
    assert batch.routine[0] == 1
    assert ACTION_NAMES[batch.best_actions()[0][0].argmax()] == "true"


@pytest.mark.parametrize("kind", ["split", "program"])
def test_an_environment_of_programs_that_count_has_numbers_among_its_actions(kind):
    given = {"split": "data-flow"} if kind == "split" else {"program": ENOUGH}
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", **given)
    assert environment.action_space.n == len(ACTION_NAMES)
    observation, info = environment.reset(seed=1)
    over = False
    while not over:
        assert observation in environment.observation_space
        batch = environment.unwrapped.batch
        (best,) = PlannerAgent().act(batch)
        assert info["action_mask"][best]
        assert info["action_mask"].shape == (len(ACTION_NAMES),)
        observation, reward, terminated, truncated, info = environment.step(best)
        over = terminated or truncated
    assert reward == 1


def test_an_environment_of_other_programs_refuses_one_that_counts():
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", split="test")
    assert environment.action_space.n == len(ACTIONS)
    with pytest.raises(WorldError, match="this program has data flow"):
        environment.reset(options={"program": ENOUGH})


def test_an_environment_with_numbers_runs_plain_programs_too():
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", split="data-flow")
    observation, info = environment.reset(seed=0, options={"program": "mine(gold)"})
    assert observation in environment.observation_space
    assert info["action_mask"].shape == (len(ACTION_NAMES),)
    assert not info["action_mask"][FIRST_NUMBER:].any()


def test_many_worlds_are_observed_as_one_is():
    environments = gymnasium.make_vec("ProgramGuided/Minecraft-v0", num_envs=8, split="data-flow")
    observations, _ = environments.reset(seed=3)
    assert environments.single_action_space.n == len(ACTION_NAMES)
    assert observations in environments.observation_space
    assert observations["flow"].shape[2] == 5


def test_what_is_observed_from_outside_is_what_learning_observes():
    entries = load_split("data-flow")[:40]
    batch = Batch(entries, len(entries))
    for number in range(len(entries)):
        batch.place(number, number)
    for _ in range(30):
        running = np.flatnonzero(batch.outcome == Outcome.RUNNING)
        seen, outside = batch.observe(running), ObservedWorlds(observe(batch)).observe(running)
        np.testing.assert_array_equal(seen.mask, outside.mask)
        np.testing.assert_array_equal(seen.parents, outside.parents)
        batch.step(PlannerAgent().act(batch))


def test_a_state_with_numbers_is_restored():
    entries = load_split("data-flow")[:16]
    batch, other = Batch(entries, 32), Batch(entries, 32)
    batch.reset()
    for _ in range(12):
        batch.step_or_reset(PlannerAgent().act(batch))
    other.restore(batch.state())
    for _ in range(20):
        actions = PlannerAgent().act(batch)
        np.testing.assert_array_equal(actions, PlannerAgent().act(other))
        batch.step_or_reset(actions)
        other.step_or_reset(actions)
        np.testing.assert_array_equal(batch.worlds.counted, other.worlds.counted)


def untrained(data_flow):
    torch.manual_seed(0)
    task = Minecraft(data_flow=data_flow)
    return task, Plus(PlusConfig(), task.sizes(), task.reader_config)


def test_an_executor_of_the_whole_language_runs_both_kinds_of_programs():
    task, model = untrained(data_flow=True)
    executor = MinecraftExecutor(model, None, task)
    plain, counting = executor.run(["mine(gold)", ENOUGH], seed=[0, 0])
    assert set(counting[0].choice.probabilities) == set(map(str, NUMBERS))
    assert set(plain[0].choice.probabilities) == set(ACTIONS[:8])
    alone = executor.run("mine(gold)", seed=0)
    assert alone.actions == plain.actions


def test_an_executor_of_the_papers_language_says_that_it_never_counted():
    task, model = untrained(data_flow=False)
    assert model.sizes.inputs == 0
    with pytest.raises(WorldError, match="not trained to give; take the planner"):
        MinecraftExecutor(model, None, task).run(ENOUGH)


def test_the_executor_acts_on_what_the_environment_gives():
    _, model = untrained(data_flow=True)
    executor = MinecraftExecutor(model, None)
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", program=ENOUGH)
    observation, info = environment.reset(seed=0)
    action, state = executor.predict(observation)
    assert info["action_mask"][action]
    observation, *_ = environment.step(action)
    executor.predict(observation, state)


def test_the_inputs_of_a_comparison_are_its_parents():
    entry = Entry(parse(ENOUGH, DOMAIN), 0)
    batch = Batch([entry], 1)
    batch.place(0, 0)
    while ACTION_NAMES[PlannerAgent().act(batch)[0]] not in ("true", "false"):
        batch.step(PlannerAgent().act(batch))
    assert batch.observe().parents.tolist() == [[2, 2, 0]]  # carried(wood) before it; carried(wood) < count(gold)


@pytest.mark.parametrize("settings", [ImitationSettings(num_envs=32, steps=3), PPOSettings(num_envs=32, steps=1024)])
def test_both_ways_of_learning_run_on_programs_that_count(settings):
    task, model = untrained(data_flow=True)
    target = "dense" if isinstance(settings, ImitationSettings) else "reward"
    learner = task.learner(model, settings, target, seed=0)
    assert (learner.worlds.programs.inputs >= 0).any()
    for _ in range(2):
        assert np.isfinite(learner.step())


def test_conditions_that_take_results_are_not_asked_for_out_of_place():
    batch = Batch(load_split("data-flow")[:200], 4)
    asked = batch.conditions().number >= 0
    assert asked.any()
    assert (batch.programs.inputs[asked] < 0).all()
    assert {DOMAIN.operations[row].name for row in batch.programs.operation[asked]} <= {"agent", "env", "is_there"}


def test_a_program_without_results_is_no_training_for_the_papers_language():
    plain, whole = Minecraft(), Minecraft(data_flow=True)
    assert len(whole.entries("train")) == len(plain.entries("train")) + len(load_split("data-flow-train"))
    assert plain.identity() != whole.identity()


def test_names_of_results_are_tokens():
    environment = ProgramTokens(gymnasium.make("ProgramGuided/Minecraft-v0", program=ENOUGH))
    observation, _ = environment.reset(seed=0)
    text = text_of(observation["tokens"])
    assert "name0 = count ( gold )" in text
    assert "less ( carried ( wood ) , name0 )" in text


def test_a_person_answers_with_the_number_keys():
    game = Game(lambda seed: world_of({"program": ENOUGH, "map": MEADOW}, seed), 0)
    assert game.asked().startswith("how many cells of gold are on the map?")
    assert game.press("m")
    assert game.note == "a question: answer with a number (a step has passed)"
    game.press("3")
    assert game.note == "count(gold) is 3"
    for key in "dmaa":  # gold lies to the right
        game.press(key)
    assert game.asked().startswith("how many wood do you carry?")
    game.press("0")
    assert game.asked().startswith("is 0 less than 3?")
    game.press("h")
    assert game.note == "best: true (1 to go)"


def test_a_person_answers_large_numbers():
    begin = {"program": "n = carried(gold)\nif equal(n, 13): mine(gold)", "inventory": {"gold": 13}}
    game = Game(lambda seed: world_of(begin, seed), 0)
    game.press("+")
    game.press("3")
    assert game.note == "carried(gold) is 13"


@pytest.mark.parametrize(
    "body",
    [
        (Call("count", ("gold",)),),  # no name: it would have no effect
        (Call("greater", (Ref(1), 2)),),
        (Call("count", ("gold",), result="n"), Call("less", (Ref(0), Ref(5)), result="m")),
        (Call("mine", ("gold",), result="n"), Call("less", (Ref(0), 2), result="m")),
    ],
)
def test_a_tree_that_no_text_says_is_refused(body):
    with pytest.raises((WorldError, ProgramError, DataError)):
        world_of({"program": Program(body)}, 0)


def test_a_tree_with_results_is_run_as_its_text():
    tree = parse(ENOUGH, DOMAIN)
    runs = [rollout([Entry(program, 5)], PlannerAgent()).steps[0] for program in (tree, parse(ENOUGH, DOMAIN))]
    assert runs[0] == runs[1]
    assert world_of({"program": tree}, 5).entries[0].text == world_of({"program": ENOUGH}, 5).entries[0].text


def test_shipped_executors_are_of_the_papers_language():
    executor = program_guided.load("minecraft")
    assert executor.model.sizes.vocabulary == CONTROL_FLOW.vocabulary
    assert executor.task.data_flow is False


def test_a_count_that_is_never_compared_has_numbers_among_the_actions_too():
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", program="n = count(gold)\nmine(gold)")
    assert environment.action_space.n == len(ACTION_NAMES)
    environment.reset(seed=0)


@pytest.mark.parametrize(("name", "actions"), [("Easy", ACTIONS), ("Medium", ACTION_NAMES)])
def test_easier_programs_of_the_split_have_the_actions_that_they_need(name, actions):
    environment = gymnasium.make(f"ProgramGuided/Minecraft-{name}-v0", split="data-flow")
    assert environment.action_space.n == len(actions)
    environment.reset(seed=0)


def test_an_operation_is_no_name_though_a_result_is_named_so():
    environment = ProgramTokens(
        gymnasium.make("ProgramGuided/Minecraft-v0", program="mine = count(gold)\nif less(mine, 2): mine(gold)")
    )
    text = text_of(environment.reset(seed=0)[0]["tokens"])
    assert "name0 = count ( gold )" in text
    assert "less ( name0 , 2 )" in text
    assert "mine ( gold )" in text


def test_a_plain_executor_acts_where_numbers_are_not_asked_for():
    _, model = untrained(data_flow=False)
    environment = gymnasium.make("ProgramGuided/Minecraft-v0", split="data-flow")
    observation, _ = environment.reset(seed=0, options={"program": "mine(gold)"})
    action, _ = MinecraftExecutor(model, None).predict(observation)
    assert ACTIONS[action]


def test_undo_forgets_the_tens():
    game = Game(lambda seed: world_of({"program": ENOUGH, "map": MEADOW}, seed), 0)
    for key in "+u3":
        game.press(key)
    assert game.note == "count(gold) is 3"


def test_programs_without_comparisons_are_learned_with_all_actions():
    task = Minecraft(data_flow=True, without=("greater()", "less()", "equal()", "count()", "carried()"))
    assert task.worlds(task.entries("train")[:50], 4).action_count == len(ACTION_NAMES)


def test_checkpoints_of_both_languages_are_measured_side_by_side(tmp_path, monkeypatch, capsys):
    def proto(*arguments):
        monkeypatch.setattr(sys, "argv", ["proto", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr().err

    flow = tmp_path / "flow"
    proto("train", "minecraft", "--data-flow", "--steps", 2, "--num-envs", 8, "--held-out", 2, "--out", flow)
    proto("evaluate", "minecraft", flow, "--tokens", 40, "--json")
    proto("evaluate", flow, "minecraft", "--tokens", 40, "--json")


def test_nothing_is_compared_with_itself():
    for split in ("data-flow-train", "data-flow"):
        for entry in load_split(split):
            for call in calls(entry.program.body):
                assert len(call.arguments) != 2 or call.arguments[0] != call.arguments[1], entry.text
