"""`executor.predict` on what environments give: it acts as `executor.run` does, through wrappers and over resets."""

import json
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit
from stable_baselines3.common.evaluation import evaluate_policy

import program_guided
from program_guided.errors import DataError, WorldError
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.stable_baselines import make_vec_env
from program_guided.tasks.minecraft.domain import ACTIONS, KINDS, OBJECTS
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.world.rules import Outcome
from program_guided.wrappers import FlatVector, OneHotPlanes, ProgramTokens, VectorOneHotPlanes

NAME = "ProgramGuided/Minecraft-v0"
INDICES = (115, 104, 15, 3)
"""The first two are finished only because of the repetition penalty, the third one is not finished."""
FAR = 1
"""Seed of a world in which the gold is some steps away."""
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def executor():
    return program_guided.load("minecraft-reward")


@pytest.fixture(scope="module")
def executions(executor):
    entries = [load_split("complex")[index] for index in INDICES]
    return executor.run([entry.program for entry in entries], seed=[entry.seed for entry in entries])


def played(executor, environment, index, remember=True):
    """Actions of an episode by `predict`, and its outcome."""
    observation, _ = environment.reset(options={"split": "complex", "index": index})
    actions, state, over = [], None, False
    while not over:
        action, new = executor.predict(observation, state)
        state = new if remember else None
        observation, _, terminated, truncated, info = environment.step(action)
        actions.append(ACTIONS[int(action)])
        over = terminated or truncated
    return actions, str(info["outcome"])


def test_predict_acts_as_run_does(executor, executions):
    environment = gymnasium.make(NAME)
    for index, execution in zip(INDICES, executions, strict=True):
        assert played(executor, environment, index) == (execution.actions, execution.outcome)
    assert [execution.finished for execution in executions] == [True, True, False, True]


def test_predict_needs_its_state_for_the_repetition_penalty(executor):
    assert played(executor, gymnasium.make(NAME), INDICES[0], remember=False)[1] == "timeout"


@pytest.mark.parametrize(
    "wrap",
    [
        RecordEpisodeStatistics,
        lambda environment: TimeLimit(environment, 299),
        lambda environment: OneHotPlanes(environment, program=True),
        lambda environment: OneHotPlanes(environment, program=True, centred=True),
        ProgramTokens,
    ],
)
def test_predict_acts_through_wrappers_that_keep_the_information(executor, executions, wrap):
    environment = wrap(gymnasium.make(NAME))
    assert played(executor, environment, INDICES[0]) == (executions[0].actions, executions[0].outcome)


@pytest.mark.parametrize("wrap", [OneHotPlanes, FlatVector, FlattenObservation])
def test_predict_refuses_observations_that_lack_the_program(executor, wrap):
    observation, _ = wrap(gymnasium.make(NAME)).reset(seed=0)
    with pytest.raises(WorldError, match="leave out"):
        executor.predict(observation)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("informed", [False, True])
def test_predict_acts_in_many_worlds_as_the_agent_does_over_new_episodes(executor, mode, informed):
    environments = gymnasium.make_vec(NAME, num_envs=12, split="test", time_limit=30, autoreset_mode=mode)
    agent, state, ends, starts = ExecutorAgent(executor.model), None, 0, np.ones(12, np.bool_)
    observations, _ = environments.reset(seed=5)
    for _ in range(70):
        expected = agent.act(environments.batch)
        running = environments.batch.outcome == Outcome.RUNNING
        actions, state = executor.predict(observations, state, episode_start=starts if informed else None)
        assert (actions[running] == expected[running]).all()
        observations, _, terminated, truncated, _ = environments.step(expected)
        starts = terminated | truncated
        ends += starts.sum()
    assert ends > 12


def test_a_condition_that_is_asked_again_at_once_does_not_count_as_a_repetition(executor):
    """The body ends where it begins, so the pointer comes back to the condition within a step."""
    options = {"program": "while is_there[gold]: goto(1, 1)", "map": "@....\n.g...\n.....\n.....\n....."}
    environment = gymnasium.make(NAME, time_limit=60)
    observation, _ = environment.reset(seed=0, options=options)
    state = None
    for _ in range(60):
        action, state = executor.predict(observation, state)
        assert ACTIONS[int(action)] == "true"
        observation, *_, info = environment.step(action)
    assert info["outcome"] == Outcome.TIMEOUT


def test_predict_returns_a_new_state_and_leaves_the_old_one(executor):
    environment = gymnasium.make(NAME)
    observation, _ = environment.reset(options={"split": "complex", "index": INDICES[0]})
    state, over = None, False
    while not over:
        (action, new), (again, _) = (executor.predict(observation, state) for _ in range(2))
        assert action == again
        state = new
        observation, _, terminated, truncated, info = environment.step(action)
        over = terminated or truncated
    assert info["outcome"] == Outcome.FINISHED


def test_sampled_actions_differ_from_call_to_call_and_are_allowed():
    sampler = program_guided.load("minecraft-reward")
    observations, infos = gymnasium.make_vec(NAME, num_envs=64).reset(seed=0)
    drawn = [sampler.predict(observations, deterministic=False)[0] for _ in range(12)]
    assert any((one != drawn[0]).any() for one in drawn[1:])
    assert all(infos["action_mask"][np.arange(64), one].all() for one in drawn)


def test_the_evaluation_of_stable_baselines_takes_an_executor(executor):
    environments = make_vec_env(NAME, 8, seed=3, split="test")
    returns, lengths = evaluate_policy(executor, environments, n_eval_episodes=24, return_episode_rewards=True)
    assert np.mean(returns) > 0.9
    assert 5 < np.mean(lengths) < 60
    planes = make_vec_env(NAME, 8, seed=3, split="test", wrapper=lambda many: VectorOneHotPlanes(many, program=True))
    assert evaluate_policy(executor, planes, n_eval_episodes=24, return_episode_rewards=True) == (returns, lengths)


def test_the_evaluation_of_stable_baselines_takes_an_executor_in_one_environment(executor):
    environment = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(NAME, split="test"))
    environment.reset(seed=0)
    mean, _ = evaluate_policy(executor, environment, n_eval_episodes=4, warn=False)
    assert mean == 1.0


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("words", lambda words: words[:, :2], "words: expected the shape"),
        ("map", lambda cells: cells + 60, "map: a value is not from 0 to 12"),
        ("agent", lambda agent: agent - 9, "agent: a value is not from 0 to 7"),
        ("time", lambda time: None, "no time"),
    ],
)
def test_a_wrong_observation_is_refused(executor, name, change, problem):
    observation, _ = gymnasium.make(NAME).reset(seed=0)
    wrong = {**observation, name: change(observation[name])}
    if wrong[name] is None:
        del wrong[name]
    with pytest.raises(WorldError, match=problem):
        executor.predict(wrong)


def test_a_state_of_other_environments_and_wrong_starts_are_refused(executor):
    observations, _ = gymnasium.make_vec(NAME, num_envs=3).reset(seed=0)
    _, state = executor.predict(observations)
    others, _ = gymnasium.make_vec(NAME, num_envs=2).reset(seed=0)
    with pytest.raises(WorldError, match="state: it is of 3 worlds"):
        executor.predict(others, state)
    with pytest.raises(WorldError, match="episode_start"):
        executor.predict(others, None, np.ones(3, np.bool_))


# Executions ----------------------------------------------------------------------------------------------------------


def test_programs_and_seeds_are_run_at_once_with_the_results_of_each_alone(executor):
    program = "mine(gold); sell(gold)"
    alone = [executor.run(program, seed=seed) for seed in (1, 2)]
    together = executor.run(program, seed=[1, 2])
    assert [each.actions for each in together] == [each.actions for each in alone]
    assert [each.seed for each in together] == [1, 2]
    both = executor.run([program, "goto(2, 3)"], seed=1)
    assert [each.program for each in both] == [alone[0].program, "def run():\n  goto(2, 3)\n"]
    assert both[0].actions == alone[0].actions
    for programs, seeds in (([], 0), ([program], []), ([program] * 2, [1, 2, 3])):
        with pytest.raises(WorldError, match="programs and .* seeds"):
            executor.run(programs, seed=seeds)


def test_an_execution_shows_every_choice_and_what_it_was_made_by(executor):
    execution = executor.run("if is_there[gold]: mine(gold)", seed=FAR)
    assert execution.steps > 4
    assert [moment.time for moment in execution] == list(range(execution.steps + 1))
    assert execution[0].routine == "is_there[gold]"
    assert set(execution[0].choice.probabilities) == {"true", "false"}
    assert execution[-1].choice is None
    assert execution[-1].routine == ""
    assert execution[-1].outcome == execution.outcome
    for moment, following in pairwise(execution):
        choice = moment.choice
        assert choice.action == following.action
        assert sum(choice.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert choice.probabilities[choice.action] == max(choice.probabilities.values())
        assert len(choice.attention) == len(moment.cells)
        assert {len(row) for row in choice.attention} == {len(moment.cells)}
        assert 0 < sum(map(sum, choice.attention)) <= 1 + 1e-5
        assert 0.2 < choice.value < 1.5
    early, late = execution[0].choice.value, execution[-2].choice.value
    assert late > early, "the end is near"


def test_only_an_executor_that_learned_from_reward_gives_values():
    execution = program_guided.load("minecraft").run("mine(gold)", seed=0)
    assert all(moment.choice is None or moment.choice.value is None for moment in execution)


def test_an_execution_is_json(executor):
    execution = executor.run("mine(gold); sell(gold)", seed=4)
    record = json.loads(execution.to_json())
    assert record == json.loads(json.dumps(execution.as_dict()))
    assert (record["outcome"], record["steps"], record["seed"]) == (execution.outcome, execution.steps, 4)
    assert [step["action"] for step in record["trace"][:-1]] == execution.actions
    assert "action" not in record["trace"][-1]
    first = record["trace"][0]
    assert first["routine"] == "mine(gold)"
    assert {kind for row in first["map"] for kind in row} < set(KINDS)
    assert set(first["inventory"]) == set(OBJECTS)
    assert first["probabilities"] == pytest.approx(dict(execution[0].choice.probabilities))


@pytest.mark.parametrize("device", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(DataError, match=f"device '{device}'"):
        program_guided.load("minecraft", device=device)
