"""The learners' formulas on tensors made by hand, with a model and worlds that do as they are asked: no training."""

import math
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from program_guided.errors import DataError
from program_guided.learning import imitation
from program_guided.learning.a2c import A2C
from program_guided.learning.examples import Examples
from program_guided.learning.execution import Programs, WorldExecution
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.imitation import Imitation
from program_guided.learning.observation import Observation
from program_guided.learning.ppo import PPO
from program_guided.learning.replay import AnswerReplay, equal_only
from program_guided.learning.results import Boolean, Subset, Value
from program_guided.learning.rollouts import Rollout, entropy, right_answers, standardised
from program_guided.learning.settings import A2CSettings, ImitationSettings, PPOSettings, SupervisedSettings
from program_guided.learning.supervised import Supervised, result_loss
from program_guided.learning.world_learner import WorldLearner
from program_guided.learning.worlds import Outcome, WorldObservation, routines_left
from program_guided.models.config import VALUE
from program_guided.models.model import Model, Sizes

LEFT, RIGHT, TRUE, FALSE = range(4)
"""Actions of the worlds below; the last two answer conditions."""
WIDTH, ROUTINES = 4, 3
SIZES = Sizes(("", "go", "is"), 2, 1, 0, True, (("Action", 2), ("Boolean", 2), (VALUE, 1)))
PLAIN = {"ent_coef": 0.0, "vf_coef": 0.0, "anneal": False}


class Puppet(Model):
    """A model that shows what it was given, and gives what a test wants: `logits` (actions,), rows full of ones, and
    the value `worth` of every state, plus the number of routines left."""

    def __init__(self, logits=(0.0, 0.0, 0.0, 0.0), worth=0.0):
        reader = torch.nn.Module()
        reader.encode, reader.parts, reader.independent = lambda arrays: arrays, lambda arrays: arrays["exists"], True
        super().__init__(SIZES, reader, WIDTH, WIDTH)
        self.logits, self.worth, self.given = torch.tensor(logits), worth, []

    def forward(self, step, watch=None):
        self.given.append(step.results.clone())
        return torch.ones(len(step.pointed), 1, WIDTH)

    def settings(self):
        return {}

    def decode(self, rows, result_type, specification=None):
        part = {"Action": slice(0, 2), "Boolean": slice(2, 4)}[result_type]
        return self.logits[part].expand(len(rows), 2)

    def value(self, rows, left=None):
        return self.worth + (torch.zeros(len(rows)) if left is None else left.float())


class Puppets:
    """Worlds that go as a test says: `script` holds, for each step, (outcome, routine that ended or -1) by world. Every
    program has `ROUTINES` routines, the second of which is a condition."""

    answers, first_answer, time_limit, max_routines = (TRUE, FALSE), TRUE, 300, ROUTINES

    def __init__(self, count, *script):
        self.count, self.script = count, list(script)
        self.program = np.zeros(count, np.int64)
        self.routine, self.previous = np.zeros(count, np.int64), np.full(count, -1)
        self.time, self.outcome = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.ended, self.actions = np.full(count, -1), []
        self.programs = SimpleNamespace(
            first=np.array([0]),
            size=np.array([ROUTINES]),
            operation=np.array([0, 1, 0]),
            on_true=np.array([1, 2, 3]),
            on_false=np.array([1, 3, 3]),
            words=np.array([[1, 0], [2, 0], [1, 1]]),
        )

    def observe(self, only=slice(None)):
        count = len(self.outcome[only])
        mask = np.where((self.routine[only] == 1)[:, None], [[False, False, True, True]], [[True, True, False, False]])
        words = np.tile(self.programs.words, (count, 1, 1))
        state = {"state": np.zeros((count, 1))}
        return WorldObservation(state, words, self.routine[only], self.previous[only][:, None], mask, ROUTINES)

    def step_or_reset(self, actions):
        self.actions.append(np.array(actions))
        over = self.outcome != Outcome.RUNNING
        outcome, ended = (np.array(each) for each in self.script.pop(0))
        self.outcome, self.ended = np.where(over, Outcome.RUNNING, outcome), np.where(over, -1, ended)
        self.time = np.where(over, 0, self.time + 1)
        self.routine = np.where(over, 0, np.where(self.ended >= 0, self.ended + 1, self.routine))

    step = step_or_reset

    def seed(self, seed):
        pass

    def reset(self, where=None):
        pass

    def offer(self, programs):
        self.offered = programs

    def operation_names(self):
        return ("go", "is")

    def conditions(self):
        return SimpleNamespace(words=self.programs.words[1:2], number=np.array([-1, 0, -1]), implied=equal_only([0]))

    def conditions_hold(self, numbers, rows):
        return numbers % 2 == 0

    def hindsight(self):
        return SimpleNamespace(step=nullcontext)


def learner(kind, settings, *script, count=4, model=None, **more):
    return kind(model or Puppet(), Puppets(count, *script), settings, 0, **more)


def observation(count):
    return Observation(
        {"state": torch.zeros(count, 1)},
        torch.ones(count, 1, 2, dtype=torch.long),
        torch.zeros(count, 1, WIDTH),
        torch.zeros(count, 1, dtype=torch.long),
        torch.full((count, 1, 1), -1),
        torch.ones(count, 4, dtype=torch.bool),
        None,
    )


def rollout(**given):
    """Steps whose tensors are 0, but for those given (as lists); `answers` are the right ones, -1 for none."""
    answers = torch.tensor(given.pop("answers", [-1] * len(next(iter(given.values())))))
    given = {name: torch.as_tensor(each) for name, each in given.items()}
    count = len(next(iter(given.values())))
    zeros = dict.fromkeys(("log_probabilities", "entropy", "values", "advantages", "returns"), torch.zeros(count))
    numbers = dict.fromkeys(("rows", "left", "actions"), torch.zeros(count, dtype=torch.long))
    right, running = answers[:, None] == torch.arange(4), torch.ones(count, dtype=torch.bool)
    return Rollout(observation(count), **zeros | numbers | given, right=right, running=running)


def logs(*probabilities):
    return torch.tensor(probabilities).log().requires_grad_()


# Rollouts --------------------------------------------------------------------------------------------------------

RUNNING, FINISHED, WRONG, TIMEOUT, FAILED = Outcome
EVERY_END = ([RUNNING, FINISHED, WRONG, TIMEOUT, FAILED, RUNNING], [-1, 0, 0, -1, 0, 0])
ALL_BEGIN = ([RUNNING] * 6, [-1] * 6)


def test_a_truncated_episode_is_ended_but_not_terminated():
    training = learner(A2C, A2CSettings(num_envs=6, num_steps=2), EVERY_END, ALL_BEGIN, count=6)
    record = training._act(training.execution.observe().kept())
    assert record["terminated"].tolist() == [False, True, True, False, True, False]
    assert record["ended"].tolist() == [False, True, True, True, True, False]
    assert record["running"].all()
    again = training._act(training.execution.observe().kept())
    assert again["running"].tolist() == [True, False, False, False, False, True], "those over begin again instead"
    assert again["ended"].tolist() == [False, True, True, True, True, False], "nothing reaches over that"
    assert not again["terminated"].any()


def test_the_value_after_a_truncated_episode_counts_and_after_a_terminated_one_does_not():
    settings = A2CSettings(num_envs=6, num_steps=1, gamma=0.5, gae_lambda=1.0)
    training = learner(A2C, settings, EVERY_END, count=6, model=Puppet(worth=8.0))
    collected = training.collect()
    assert collected.advantages.tolist() == [4 - 8, 1 - 8, 0 - 8, 4 - 8, 0 - 8, 4 - 8]
    assert collected.returns.tolist() == [4, 1, 0, 4, 0, 4]


def test_steps_of_worlds_that_were_over_are_left_out_and_cut_what_comes_later():
    script = ([FINISHED, RUNNING], [0, -1]), ([RUNNING, RUNNING], [-1, -1]), ([FINISHED, FINISHED], [0, 0])
    settings = A2CSettings(num_envs=2, num_steps=3, gamma=0.5, gae_lambda=1.0)
    training = learner(A2C, settings, *script, count=2)
    rollout, every = training._collect()
    assert every.advantages.tolist() == [1, 0.25, 0, 0.5, 1, 1]
    assert rollout.advantages.tolist() == [1, 0.25, 0.5, 1, 1]


def test_reward_is_for_the_end_of_a_program_or_of_each_routine():
    for each, expected in ((False, [0, 1, 0, 0, 0, 0]), (True, [0, 1, 0, 0, 0, 1])):
        training = learner(A2C, A2CSettings(num_envs=6), EVERY_END, count=6, each_routine=each)
        assert training._act(training.execution.observe().kept())["rewards"].tolist() == expected
        assert training._recent.tolist() == [True, False, False, False], "episodes that are over"


def test_ends_of_routines_are_counted_as_passed_or_failed_by_the_routine_that_was_pointed_at():
    training = learner(PPO, PPOSettings(num_envs=6, **PLAIN), EVERY_END, count=6)
    counted = []
    training.curriculum.count = lambda *rows: counted.append([each.tolist() for each in rows])
    training.worlds.routine[:] = [0, 1, 2, 0, 1, 1]
    training._act(training.execution.observe().kept())
    assert counted == [[[1, 1], [2, 0, 1]]]


def test_the_right_answer_is_the_given_one_unless_the_episode_failed_by_it():
    asked, other = [False, False, True, True], [True, True, False, False]
    mask = torch.tensor([asked] * 6 + [other])
    actions = torch.tensor([TRUE, FALSE, TRUE, FALSE, TRUE, FALSE, LEFT])
    outcome = torch.tensor([RUNNING, FINISHED, WRONG, WRONG, TIMEOUT, RUNNING, RUNNING])
    right = right_answers(mask, actions, outcome, TRUE)
    assert [row.nonzero()[:, 0].tolist() for row in right] == [[TRUE], [FALSE], [FALSE], [TRUE], [], [FALSE], []]


def test_a_wrong_value_leaves_all_others():
    value = torch.tensor([False, False, False, False, True, True, True])
    given, outcome = torch.tensor([4, 5, 6]), torch.tensor([RUNNING, WRONG, TIMEOUT])
    right = right_answers(value.expand(3, 7), given, outcome, TRUE)
    assert [row.nonzero()[:, 0].tolist() for row in right] == [[4], [4, 6], []]


def test_the_value_is_given_the_routines_left_by_ppo_and_not_by_a2c():
    script = ([RUNNING] * 3, [-1] * 3)
    for kind, settings, expected in (
        (PPO, PPOSettings(num_envs=3, num_steps=1, **PLAIN), [3, 2, 1]),
        (A2C, A2CSettings(num_envs=3, num_steps=1), [0, 0, 0]),
    ):
        training = learner(kind, settings, script, count=3)
        training.worlds.routine[:] = [0, 1, 2]
        training._left = np.array([3, 2, 1])
        collected = training.collect()
        assert collected.values.tolist() == expected
        assert collected.left.tolist() == [3, 2, 1]


def test_no_routine_is_left_where_a_program_is_over():
    training = learner(A2C, A2CSettings(num_envs=3), count=3)
    assert routines_left(training.worlds.programs).tolist() == [2, 1, 1], "the condition may lead to the end"
    training.worlds.routine[:] = [0, 2, ROUTINES]
    assert training._remaining().tolist() == [2, 1, 0]


def test_a_value_depends_on_the_routines_left_and_not_on_more_than_it_knows():
    class Plain(Puppet):
        value = Model.value

        def decode(self, rows, result_type, specification=None):
            assert result_type == VALUE
            return rows[:, 1:2]

    model, rows = Plain(), torch.zeros(3, WIDTH)
    known = len(model.encoding) - 1
    assert model.value(rows).tolist() == [0, 0, 0]
    expected = model.encoding[[0, 2, known], 1].tolist()
    assert model.value(rows, torch.tensor([0, 2, known + 5])).tolist() == expected
    assert len(set(expected)) == 3


def test_entropy_leaves_impossible_actions_out():
    log_probabilities = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).log()
    torch.testing.assert_close(entropy(log_probabilities), torch.tensor([math.log(2), 0.0]))


# Actor and critic ------------------------------------------------------------------------------------------------


def test_a2c_learns_from_advantages_and_its_value_from_returns():
    training = learner(A2C, A2CSettings(num_envs=4, vf_coef=0.5, ent_coef=0.1))
    taken, values = torch.tensor([-1.0, -2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    spread = torch.tensor([0.5, 0.7], requires_grad=True)
    given = {"advantages": [3.0, -1.0], "returns": [4.0, 1.0], "entropy": spread}
    loss = training._loss(rollout(log_probabilities=taken, values=values, **given))
    loss.backward()
    torch.testing.assert_close(loss, torch.tensor(0.5 * (9 + 1) / 2 - (-3 + 2) / 2 - 0.1 * 0.6))
    assert taken.grad.tolist() == [-3 / 2, 1 / 2]
    assert values.grad.tolist() == [0.5 * (1 - 4), 0.5 * (2 - 1)]
    torch.testing.assert_close(spread.grad, torch.tensor([-0.05, -0.05]))


def ppo(**settings):
    return learner(PPO, PPOSettings(num_envs=4, **PLAIN | {"replay_batch": 0, "clip_coef": 0.25} | settings))


def test_ppo_takes_the_smaller_of_the_clipped_and_the_free_surrogate():
    """Half as probable or 1.5 times as probable as before, better or worse than expected: the gradient is cut off only
    where it would lead further away."""
    part = rollout(
        actions=[LEFT] * 4,
        log_probabilities=torch.tensor([0.4] * 4).log(),
        advantages=[1.0, -1.0, 1.0, -1.0],
    )
    now = logs(*[[0.6, 0.4]] * 2, *[[0.2, 0.8]] * 2)
    loss = ppo()._policy_loss(part, now, torch.zeros(4, WIDTH))
    gain = 1 / torch.tensor([1.0, -1.0, 1.0, -1.0]).std()
    torch.testing.assert_close(loss, -gain * (1.25 - 1.5 + 0.5 - 0.75) / 4, rtol=1e-4, atol=1e-4)
    loss.backward()
    assert (now.grad[:, LEFT] != 0).tolist() == [False, True, True, False]
    assert now.grad[1, LEFT] > 0 > now.grad[2, LEFT]


def test_ppo_leaves_conditions_to_their_labels():
    part = rollout(actions=[0, 0, 0], advantages=[1.0, -1.0, 50.0], answers=[-1, -1, TRUE])
    for replayed, expected in ((8, [True, True, False]), (0, [True, True, True])):
        now = logs(*[[0.5, 0.5]] * 3)
        training = ppo(replay_batch=replayed, clip_coef=1e9)
        training._policy_loss(replace(part, log_probabilities=now[:, 0].detach()), now, torch.zeros(3, 4)).backward()
        assert (now.grad[:, 0] != 0).tolist() == expected


def test_ppo_rewards_entropy_and_fits_the_value_of_the_routines_left_to_returns():
    part = rollout(log_probabilities=torch.tensor([0.5, 0.5]).log(), left=[2, 3], returns=[5.0, 3.0])
    now = logs([0.5, 0.5], [0.5, 0.5])
    zero = torch.zeros(2, WIDTH)
    torch.testing.assert_close(ppo(vf_coef=1.0)._policy_loss(part, now, zero), torch.tensor((9.0 + 0.0) / 2))
    torch.testing.assert_close(ppo(ent_coef=0.1)._policy_loss(part, now, zero), torch.tensor(-0.1 * math.log(2)))


def test_hindsight_imitates_what_went_better_than_expected_and_nothing_else():
    training, lessons = ppo(), rollout(actions=[0, 0, 1], left=[1, 1, 1], returns=[1.5, 0.5, 3.0])
    now = logs(*[[0.5, 0.5]] * 3)
    loss = training._hindsight_loss(lessons, now, torch.zeros(3, WIDTH))
    torch.testing.assert_close(loss, torch.tensor(math.log(2) * (0.5 + 2.0) / 3))
    loss.backward()
    torch.testing.assert_close(now.grad, torch.tensor([[-0.5, 0], [0, 0], [0, -2]]) / 3)


def test_the_value_learns_nothing_from_hindsight():
    class Valued(Puppet):
        def value(self, rows, left=None):
            return rows[:, 0]

    training = learner(PPO, PPOSettings(num_envs=4, **PLAIN), model=Valued())
    rows = torch.zeros(2, WIDTH, requires_grad=True)
    now = logs([0.5, 0.5], [0.5, 0.5])
    training._hindsight_loss(rollout(returns=[1.0, 2.0]), now, rows).backward()
    assert rows.grad is None or not rows.grad.any()


def test_lessons_are_worth_a_discounted_reward_and_are_the_whole_program():
    training = ppo(gamma=0.5, hindsight_share=0.3)
    given = []

    def lessons(share, random):
        given.append(share)
        return np.array([2, 0]), np.array([[1, 1], [2, 1]]), np.array([0, 3])

    training._hindsight = SimpleNamespace(lessons=lessons)
    found = training._lessons(rollout(left=[5, 5, 7], actions=[0, 1, 2], returns=[9.0, 9.0, 9.0]))
    assert given == [0.3]
    assert found.returns.tolist() == [1, 0.125]
    assert found.left.tolist() == [1, 1]
    assert found.actions.tolist() == [2, 0]
    assert found.observation.words[:, 0].tolist() == [[1, 1], [2, 1]]


def test_the_discount_factor_rises_along_the_training():
    training = ppo(gamma=0.5, gamma_end=0.875, steps=800, num_steps=20)  # ten iterations of 4 x 20 steps
    found = []
    for training.done in (0, 5, 10):
        found.append(training.gamma)
    assert found == pytest.approx([0.5, 0.75, 0.875])
    assert ppo(gamma=0.5, gamma_end=None).gamma == 0.5
    with pytest.raises(DataError, match=r"gamma-end 0.4: it must be from gamma, 0.5, to 1"):
        ppo(gamma=0.5, gamma_end=0.4)


def test_advantages_are_standardised_by_those_that_count():
    found = standardised(torch.tensor([1.0, 3.0, 100.0]), torch.tensor([True, True, False]))
    torch.testing.assert_close(found, torch.tensor([-1, 1, 98]) / 2**0.5, rtol=1e-4, atol=1e-4)
    alone = torch.tensor([7.0, 100.0])
    assert torch.equal(standardised(alone, torch.tensor([True, False])), alone)


def test_minibatches_hold_every_step_once_in_each_epoch():
    training = ppo(num_steps=5, minibatch_size=8, update_epochs=2)
    parts = [part.tolist() for part in training._minibatches(17)]
    assert len(parts) == 2 * 3, "20 steps in minibatches of 8, twice; also if some are left out"
    for epoch in (parts[:3], parts[3:]):
        assert sorted(number for part in epoch for number in part) == list(range(17))


def test_the_temperature_falls_and_the_entropy_s_weight_with_the_learning_rate():
    training = ppo(steps=80, num_steps=2, inverse_temperature=4.0, ent_coef=0.1, anneal=True)
    assert training.settings.iterations == 10
    for done, temperature, weight in ((0, 1, 0.1), (5, 2.5, 0.05), (10, 4, 0.0)):
        training.done = done
        assert training.inverse_temperature == pytest.approx(temperature)
        assert training.entropy_weight == pytest.approx(weight)
    steady = ppo(steps=80, num_steps=2, ent_coef=0.1, anneal=False)
    steady.done = 5
    assert steady.entropy_weight == 0.1
    training.model.logits, training.done = torch.tensor([1.0, 0.0, 0.0, 0.0]), 10
    log_probabilities, _ = training.policy(training.execution.observe())
    assert float(log_probabilities[0, LEFT] - log_probabilities[0, RIGHT]) == pytest.approx(4)


def test_episodes_are_as_long_as_the_admitted_programs_need():
    training = ppo(steps_per_routine=10, curriculum_threshold=0.7)
    assert (training.curriculum.limit, training.worlds.time_limit) == (ROUTINES, 40)
    assert ppo(steps_per_routine=1000).worlds.time_limit == Puppets.time_limit


def test_earlier_failures_fade():
    training = ppo()
    training.curriculum._ends[:] = 10.0
    training.curriculum.offer(training._numpy)
    np.testing.assert_allclose(training.curriculum._ends, 8.0)


# Z and the repetition penalty ------------------------------------------------------------------------------------


def test_results_are_kept_while_a_program_runs_and_forgotten_when_another_begins():
    script = ([RUNNING, FINISHED], [0, -1]), ([RUNNING, RUNNING], [-1, -1])
    training = learner(A2C, A2CSettings(num_envs=2), *script, count=2)
    for filled in ([1, 1], [2, 0]):
        training.step_worlds(np.zeros(2, np.int64), torch.ones(2, WIDTH))
        assert training.execution.results.any(dim=2).sum(dim=1).tolist() == filled


def test_a_row_is_kept_in_the_place_of_its_routine_without_a_gradient():
    worlds = Puppets(3)
    worlds.routine[:] = [0, 2, ROUTINES]
    execution = WorldExecution(Puppet(), worlds)
    execution.keep(torch.ones(3, WIDTH, requires_grad=True))
    assert execution.results[..., 0].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert not execution.results.requires_grad
    execution.keep(torch.full((1, WIDTH), 2.0), np.array([1]))
    assert execution.results[:, 2, 0].tolist() == [0, 2, 1]
    execution.forget(np.array([False, True, False]))
    assert execution.results.any(dim=2).any(dim=1).tolist() == [True, False, True]


def test_positions_are_shifted_anew_when_a_program_begins_and_only_there():
    model = Puppet()
    model.shift_range = 1000
    execution = WorldExecution(model, Puppets(8), torch.Generator().manual_seed(0))
    before = execution.shift.clone()
    execution.forget(np.arange(8) < 4)
    assert (execution.shift == before).tolist() == [False] * 4 + [True] * 4
    assert WorldExecution(model, Puppets(8)).shift is None, "only in training"


def acting(worlds, agent, times):
    chosen = []
    for _ in range(times):
        actions = agent.act(worlds)
        chosen.append(int(actions[0]))
        worlds.step(actions)
    return chosen


def test_an_agent_forgets_its_results_when_a_program_begins():
    script = ([RUNNING], [0]), ([RUNNING], [1]), ([FINISHED], [2])
    model, worlds = Puppet(), Puppets(1, *script, *script)
    agent = ExecutorAgent(model)
    acting(worlds, agent, 3)
    assert [int(each.any(dim=2).sum()) for each in model.given] == [0, 1, 2]
    worlds.outcome[:], worlds.time[:], worlds.routine[:], worlds.ended[:] = RUNNING, 0, 0, -1
    acting(worlds, agent, 1)
    assert not model.given[-1].any()


def test_the_repetition_penalty_counts_within_a_routine_and_begins_anew_with_the_next():
    """The state never changes. Left is better by 1.5, so that it is chosen twice before right."""
    still = ([RUNNING], [-1])
    worlds = Puppets(1, *[still] * 10)
    model = Puppet(logits=(1.5, 0.0, 0.0, 0.0))
    agent = ExecutorAgent(model)
    assert acting(worlds, agent, 4) == [LEFT, LEFT, RIGHT, LEFT]
    worlds.ended[:] = 0
    assert acting(worlds, agent, 3) == [LEFT, LEFT, RIGHT], "a new routine"
    worlds.time[:] = 0
    assert acting(worlds, agent, 3) == [LEFT, LEFT, RIGHT], "a new program"
    strict = Puppets(1, *[still] * 3)
    assert acting(strict, ExecutorAgent(model, repetition_penalty=0.0), 3) == [LEFT] * 3


def test_repetitions_are_counted_in_each_world_and_state_by_itself():
    worlds, agent = Puppets(2), ExecutorAgent(Puppet(logits=(0.5, 0.0, 0.0, 0.0)))
    seen = worlds.observe
    at = {"state": np.array([[0.0], [1.0]])}
    worlds.observe = lambda only: replace(seen(only), specification={"state": at["state"][only]})
    assert agent.act(worlds).tolist() == [LEFT, LEFT]
    worlds.time[:], at["state"] = 1, np.array([[1.0], [1.0]])
    assert agent.act(worlds).tolist() == [LEFT, RIGHT], "the first is in a state that only the second has met"
    worlds.outcome[0] = FINISHED
    assert agent.act(worlds).tolist() == [0, LEFT], "no action where a program is over"


# Dense supervision in worlds -------------------------------------------------------------------------------------


def imitating(count=4, **settings):
    return learner(Imitation, ImitationSettings(num_envs=count, **settings), count=count)


def test_the_loss_of_conditions_is_weighted_and_states_without_a_best_action_do_not_count():
    best = torch.tensor([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]).bool()
    even = torch.zeros(3, 4)
    for weight in (1.0, 3.0):
        loss = imitating(condition_weight=weight)._loss(even, best)
        torch.testing.assert_close(loss, torch.tensor((1 + weight) * math.log(4) / 2))


def acted(training, best, probabilities):
    training.worlds.script = [([RUNNING] * training.worlds.count, [-1] * training.worlds.count)]
    training._act(best, torch.tensor(probabilities), torch.zeros(training.worlds.count, WIDTH))
    return training.worlds.actions[-1]


def test_the_planner_leads_some_steps_at_first_and_all_of_them_where_it_is_cloned():
    count = 400
    best = np.tile([False, False, True, False], (count, 1))
    unlike = [[1.0, 0.0, 0.0, 0.0]] * count
    training = imitating(count, steps=1000, planner_share=0.5)
    assert 0.4 < (acted(training, best, unlike) == TRUE).mean() < 0.6
    training.done = int(1000 * imitation.GUIDED_FOR / 2)
    assert 0.15 < (acted(training, best, unlike) == TRUE).mean() < 0.35
    training.done = int(1000 * imitation.GUIDED_FOR) + 1
    assert (acted(training, best, unlike) == LEFT).all()
    assert (acted(imitating(count, states="planner"), best, unlike) == TRUE).all()
    several = np.tile([False, True, True, False], (count, 1))
    assert set(acted(imitating(count, states="planner"), several, unlike)) == {RIGHT, TRUE}, "any of the best"


def test_more_and_more_worlds_act_greedily():
    count = 400
    best = np.ones((count, 4), np.bool_)
    training = imitating(count, steps=1000, planner_share=0.0, greedy_share=0.5, greedy_rise=0.5)
    for done, least in ((0, 0), (250, 100), (500, 200), (1000, 200)):
        training.done = done
        actions = acted(training, best, [[0.4, 0.3, 0.3, 0.0]] * count)
        assert (actions[:least] == LEFT).all()
        assert 0.2 < (actions[least : least + 100] == LEFT).mean() < 0.6


def test_extra_conditions_are_asked_in_the_place_of_the_pointed_routine_and_answered_by_the_world():
    training = imitating(8, extra_conditions=0.5)
    training.execution.results[:] = 1.0
    training.worlds.routine[:] = 2
    asked, answers = training._ask(training.execution.observe())
    assert len(answers) == 4
    assert asked.words[:, 2].tolist() == [[2, 0]] * 4, "the only condition of the programs"
    assert not asked.results[:, 2].any(), "as if it had not been executed"
    assert asked.results[:, :2].all()
    assert asked.mask.tolist() == [[False, False, True, True]] * 4
    assert set(answers.nonzero()[:, 1].tolist()) <= {TRUE, FALSE}
    assert answers.sum(dim=1).tolist() == [1] * 4
    truths = []
    training.worlds.conditions_hold = lambda numbers, rows: truths.append(numbers % 3 == 0) or truths[-1]
    _, answers = training._ask(training.execution.observe())
    assert answers[:, TRUE].tolist() == truths[0].tolist()


# Supervision on static specifications ----------------------------------------------------------------------------


class Scores(Puppet):
    """Gives the rows themselves as scores."""

    def decode(self, rows, result_type, specification=None):
        return rows[..., : 3 if result_type == "Objects" else 2]


class Pictures:
    exists = torch.tensor([[True, True], [True, False]])

    def about(self, of):
        return {"exists": self.exists[of]}


TYPES = {"Boolean": Boolean(), "Objects": Subset()}


def test_the_loss_is_the_mean_over_the_results_that_are_known():
    results = torch.zeros(2, 3, WIDTH)
    results[0, 0, 0], results[0, 1, 1], results[1, 2, 0] = 1.0, 2.0, 3.0
    boolean = torch.tensor([[0, 1, -1], [-1, 0, 0]])
    executed = torch.tensor([[True, True, True], [True, False, True]])
    words, inputs = torch.ones(2, 3, 2, dtype=torch.long), torch.full((2, 3, 1), -1)
    programs = Programs(words, inputs, torch.ones(2, 3, dtype=torch.bool), torch.tensor([0, 1]))
    nothing, targets = np.zeros((2, 3), np.int64), {"Boolean": boolean}
    examples = Examples({}, programs, nothing, torch.zeros(2, 3), targets, executed, torch.tensor([1, 2]))

    def loss(**changes):
        return result_loss(Scores(), Pictures(), replace(examples, **changes), results, TYPES)

    def unsure(score):
        return math.log(1 + math.exp(-score))

    assert float(loss()) == pytest.approx((unsure(1) + unsure(2) + unsure(3)) / 3, abs=1e-4)
    sets = torch.zeros(2, 3, 3)
    sets[1, 0, 0] = 1.0  # one object, and there is no second one in that picture
    found = loss(targets={"Boolean": boolean, "Objects": sets})
    of_set = 0.25 * (math.log(2) + math.log(2))
    assert float(found) == pytest.approx((unsure(1) + unsure(2) + unsure(3) + of_set) / 4, abs=1e-4)


class Source:
    """Examples (two about specification 7, one about 3, one about 5), of which a weight says how often they come."""

    results = TYPES

    def __init__(self, weights=(1.0, 3.0, 1.0, 1.0)):
        self._weights = np.array(weights)

    def specification_numbers(self):
        return np.array([7, 7, 3, 5])

    def weights(self):
        return self._weights


def supervised(dense=True, source=None, **settings):
    given = SupervisedSettings(batch_size=6000, **settings)
    return Supervised(Puppet(), source or Source(), given, 0, dense=dense)


def test_specifications_are_drawn_evenly_and_their_examples_by_weight():
    drawn = np.bincount(supervised()._draw(), minlength=4) / 6000
    np.testing.assert_allclose(drawn, [1 / 12, 3 / 12, 4 / 12, 4 / 12], atol=0.03)
    assert not np.bincount(supervised(source=Source((0.0, 1.0, 1.0, 1.0)))._draw(), minlength=4)[0]


def test_some_programs_are_executed_on_other_specifications_where_the_oracle_labels_them():
    numbers = np.arange(4).repeat(500)
    own = Source().specification_numbers()[numbers]
    assert supervised(relabelled=0.0)._about(numbers) is None
    assert supervised(dense=False, relabelled=0.5)._about(numbers) is None, "an answer is known of its own alone"
    other = supervised(relabelled=1.0)._about(numbers)
    assert sorted(other) == sorted(own)
    assert (other != own).mean() > 0.4
    assert 0.7 < (supervised(relabelled=0.2)._about(numbers) == own).mean() < 1


def test_dropped_features_are_zero_and_the_others_larger_in_their_place():
    examples = Examples({"features": torch.ones(50, 40)}, None, None, None, {}, None, None)
    found = supervised(feature_dropout=0.25)._dropped(examples).arrays["features"]
    assert found.unique().tolist() == pytest.approx([0, 4 / 3])
    assert 0.2 < (found == 0).float().mean() < 0.3
    assert supervised(feature_dropout=0.0)._dropped(examples) is examples


# Results ---------------------------------------------------------------------------------------------------------


def test_a_set_s_parts_are_learned_one_by_one_and_those_that_do_not_exist_are_not():
    scores, exists = torch.zeros(1, 3, requires_grad=True), torch.tensor([[True, False]])
    targets = torch.from_numpy(Subset().encode([0], 2))[None]
    loss = Subset().loss(scores, targets, exists, independent=True)
    torch.testing.assert_close(loss, torch.tensor(0.25 * 2 * math.log(2)))
    loss.backward()
    assert (scores.grad[0] != 0).tolist() == [True, False, True]
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2], "it is this one, and it is not none"
    shared = Subset().loss(scores, targets, exists, independent=False)
    torch.testing.assert_close(shared, torch.tensor(math.log(3)))


def test_a_set_is_right_if_all_its_parts_are():
    kind, exists = Subset(), torch.tensor([[True, True, False]]).expand(4, 3)
    targets = torch.from_numpy(np.stack([kind.encode([0], 3)] * 4))
    probabilities = torch.tensor([[0.6, 0.4, 0.9], [0.6, 0.6, 0.0], [0.4, 0.4, 0.0], [0.6, 0.4, 0.0]])
    assert kind.same(probabilities, targets, exists).tolist() == [True, False, False, True]
    assert kind.decode(np.array([0.9, 0.2, 0.6], np.float32)) == (frozenset({0, 2}), pytest.approx(0.6))
    assert kind.decode(np.array([0.1, 0.2], np.float32)) == (frozenset(), pytest.approx(0.8))
    together = kind.probabilities(torch.tensor([[2.0, 2.0, 0.0]]), independent=False)
    torch.testing.assert_close(together, torch.ones(1, 2))
    assert (kind.encode([], 2) == [0, 0, 1]).all(), "none"
    assert kind.encode([1, 0], 2).tolist() == [0.5, 0.5, 0]
    for wrong in ([2], [-1]):
        with pytest.raises(ValueError, match="from 0 to 1"):
            kind.encode(wrong, 2)


def test_a_value_that_the_head_cannot_give_is_wrong_and_not_learned():
    kind = Value("Number", (3, 4))
    targets = torch.tensor([kind.encode(4, 0), kind.encode(9, 0), -1])
    assert kind.known(targets).tolist() == [True, False, False]
    assert kind.judged(targets).tolist() == [True, True, False]
    found = kind.same(torch.tensor([[0.2, 0.8]] * 3), targets, torch.ones(3, 0))
    assert found.tolist() == [True, False, False]
    assert kind.decode(np.array([0.2, 0.8], np.float32)) == (4, pytest.approx(0.8))


# Answer replay --------------------------------------------------------------------------------------------------


class Implying(Puppets):
    """Two conditions: where the first is true, the second is false; where the first is false, the second is not
    known; where the second is true, the first is false."""

    def conditions(self):
        implied = np.array([[[0, -1], [1, 0]], [[-1, 0], [0, 1]]], np.int8)
        return SimpleNamespace(words=np.array([[2, 0], [2, 1]]), number=np.array([-1, 0, 1]), implied=implied)


def test_a_label_is_asked_for_as_any_condition_that_follows_from_it():
    replay = AnswerReplay(10, Implying(1))
    with pytest.raises(ValueError, match="nothing"):
        replay.draw(1, torch.Generator())
    replay.add(rollout(rows=[1, 1], answers=[TRUE, -1]))
    assert len(replay) == 1, "a condition that was labelled"
    seen, answers = replay.draw(5, torch.Generator())
    assert len(answers) == 1, "at most as many as there are"
    found = set()
    for seed in range(20):
        seen, answers = replay.draw(1, torch.Generator().manual_seed(seed))
        found.add((tuple(seen.words[0, 0].tolist()), *answers[0].nonzero()[:, 0].tolist()))
    assert found == {((2, 0), TRUE), ((2, 1), FALSE)}
    other = AnswerReplay(10, Implying(1))
    other.add(rollout(rows=[1], answers=[FALSE]))
    for seed in range(20):
        seen, answers = other.draw(1, torch.Generator().manual_seed(seed))
        asked = (seen.words[0, 0].tolist(), answers[0].nonzero()[:, 0].tolist())
        assert asked == ([2, 0], [FALSE]), "nothing else follows"


def test_half_of_the_labels_are_asked_for_as_they_were():
    """However many conditions follow from a label."""
    many = 40
    conditions = SimpleNamespace(
        words=np.stack([np.full(many, 2), np.arange(many)], axis=1),
        number=np.arange(many),
        implied=np.zeros((many, 2, many), np.int8),
    )
    worlds = Implying(1)
    worlds.conditions = lambda: conditions
    replay = AnswerReplay(400, worlds)
    replay.add(rollout(rows=[7] * 400, answers=[FALSE] * 400))
    seen, _ = replay.draw(400, torch.Generator().manual_seed(0))
    own = (seen.words[:, 0] == torch.tensor([2, 7])).all(dim=1).float().mean()
    assert 0.4 < own < 0.65


def test_what_takes_results_or_is_a_value_is_asked_for_as_it_was():
    """Row 0 is no condition that stands alone: its words and parents are kept, and all answers that may be right."""
    replay = AnswerReplay(10, Implying(1))
    step = replace(rollout(rows=[0, 1], answers=[-1, TRUE]), right=torch.tensor([[0, 1, 1, 0], [0, 0, 1, 0]]).bool())
    parents = torch.tensor([[[-1, 2]], [[-1, -1]]])
    replay.add(replace(step, observation=replace(step.observation, parents=parents)))
    kinds = set()
    for seed in range(5):
        seen, right = replay.draw(2, torch.Generator().manual_seed(seed))
        for words, parent, row in zip(seen.words[:, 0], seen.parents[:, 0], right, strict=True):
            as_it_was = words.tolist() == [1, 1]
            kinds.add(as_it_was)
            assert parent.tolist() == ([-1, 2] if as_it_was else [-1, -1])
            assert row.sum() == (2 if as_it_was else 1)
    assert kinds == {True, False}


def test_a_replay_keeps_the_latest_labels():
    replay = AnswerReplay(3, Implying(1))
    for answer in (TRUE, FALSE, FALSE, TRUE):
        replay.add(rollout(rows=[2], answers=[answer]))
    assert replay.state()["replay right"][:, TRUE].tolist() == [False, False, True]


# Every learner ---------------------------------------------------------------------------------------------------


class Line(Puppet):
    """One weight that is learned."""

    def __init__(self):
        super().__init__()
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.weight = torch.nn.Parameter(torch.zeros(2))


class Descending(WorldLearner):
    def step(self):
        return 0.0


def descending(all_reduce=None, **settings):
    given = ImitationSettings(num_envs=1, **{"weight_decay": 0.0, "warmup": 1, "anneal": False} | settings)
    more = {} if all_reduce is None else {"all_reduce": all_reduce}
    return Descending(Line(), Puppets(1), given, 0, **more)


def test_the_learning_rate_rises_over_the_warmup_and_falls_along_a_cosine():
    training = descending(steps=100, warmup=10, anneal=True, learning_rate=1.0)
    shares = []
    for training.done in (0, 4, 9, 50, 100):
        shares.append(training._schedule())
    cosine = [0.5 * (1 + math.cos(math.pi * done / 100)) for done in (0, 4, 9, 50, 100)]
    expected = [0.1 * cosine[0], 0.5 * cosine[1], cosine[2], 0.5, 0.0]
    assert shares == pytest.approx(expected)
    steady = descending(steps=100, warmup=10)
    steady.done = 99
    assert steady._schedule() == 1.0


def test_gradients_are_the_mean_of_all_processes_and_clipped():
    training = descending(all_reduce=lambda tensor: tensor / 2, learning_rate=0.5, max_grad_norm=1.0)
    loss = training.optimizer_step((training.model.weight * torch.tensor([6.0, 8.0])).sum() + 4)
    assert loss == 2.0
    torch.testing.assert_close(training.model.weight.grad, torch.tensor([0.6, 0.8]))
    free = descending(all_reduce=lambda tensor: tensor / 2, max_grad_norm=100.0)
    free.optimizer_step((free.model.weight * torch.tensor([6.0, 8.0])).sum())
    torch.testing.assert_close(free.model.weight.grad, torch.tensor([3.0, 4.0]))
    torch.testing.assert_close(training.model.weight.detach(), torch.tensor([-0.5, -0.5]))  # Adam's first step


def test_a_loss_or_gradient_that_is_not_a_number_changes_nothing():
    training = descending()
    assert math.isnan(training.optimizer_step(training.model.weight.sum() * torch.nan))
    assert training.model.weight.tolist() == [0, 0]
    assert training.average.weight.tolist() == [0, 0]


def test_the_average_follows_the_weights_faster_at_first():
    training = descending(ema=0.9, learning_rate=1.0)
    training.optimizer_step(training.model.weight.sum())
    torch.testing.assert_close(training.average.weight.detach(), torch.full((2,), -0.9))  # 1 / 10 of the old
    training.done = 10_000
    training.optimizer_step(training.model.weight.sum())
    latest = training.model.weight.detach()
    torch.testing.assert_close(training.average.weight.detach(), -0.9 * 0.9 + 0.1 * latest)


# Observations ----------------------------------------------------------------------------------------------------


def test_asking_changes_the_pointed_routine_s_words_and_takes_its_inputs_away():
    seen = replace(
        observation(2),
        words=torch.ones(2, 3, 2, dtype=torch.long),
        results=torch.ones(2, 3, WIDTH),
        pointed=torch.tensor([[0], [2]]),
        parents=torch.tensor([[[1, 0]], [[1, 0]]]),
    )
    asked = seen.asking(torch.tensor([[5, 6], [7, 8]]))
    assert asked.words.tolist() == [[[5, 6], [1, 1], [1, 1]], [[1, 1], [1, 1], [7, 8]]]
    assert asked.parents.tolist() == [[[1, -1]], [[1, -1]]]
    assert asked.results[..., 0].tolist() == [[0, 1, 1], [1, 1, 0]], "it has no result yet"
    assert seen.words.max() == 1, "the observation itself stays as it is"


def test_pointed_and_parents_only():
    seen = replace(
        observation(2),
        words=torch.arange(12).view(2, 3, 2),
        results=torch.arange(24.0).view(2, 3, WIDTH),
        pointed=torch.tensor([[2], [0]]),
        parents=torch.tensor([[[1]], [[-1]]]),
    )
    only = seen.pointed_only()
    assert only.words[0].tolist() == [[4, 5], [2, 3]]
    assert only.words[1, 0].tolist() == [6, 7]
    assert only.results[:, 0, 0].tolist() == [8, 12]
    assert only.pointed.tolist() == [[0], [0]]
    assert only.parents.tolist() == [[[1]], [[-1]]]
