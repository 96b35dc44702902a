"""Learning from reward: advantages by closed form, labels from conditions, and that it learns, again the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from domains import minecraft_model, minecraft_reader, minecraft_with
from PIL import Image

from benchmarks import learn
from program_guided.language import compile_program, parse
from program_guided.language.syntax import Program
from program_guided.learning.a2c import A2C
from program_guided.learning.execution import WorldExecution, infer
from program_guided.learning.observation import Observation
from program_guided.learning.ppo import PPO
from program_guided.learning.replay import AnswerReplay
from program_guided.learning.rollouts import advantages, entropy
from program_guided.learning.settings import A2CSettings, PPOSettings
from program_guided.learning.trainer import Job, train
from program_guided.learning.worlds import routines_left
from program_guided.models.config import PlusConfig
from program_guided.tasks.executor import load_executor
from program_guided.tasks.minecraft.agents import RandomAgent, rollout
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.hindsight import WORDS, named_in, routine_of
from program_guided.tasks.minecraft.pictures.plots import plot_trainings
from program_guided.tasks.minecraft.replay import CountConditions
from program_guided.tasks.minecraft.routines import read_routine
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import Action, Operation, Outcome
from program_guided.tasks.minecraft.world.state import program_set

TINY = {"word_width": 8, "hidden": 32, "heads": 4, "blocks": 1}
SMALL_PPO = PPOSettings(
    steps=4 * 32 * 16, eval_every=2 * 32 * 16, num_envs=32, num_steps=16, minibatch_size=128, window=8, variants=4
)
SMALL_A2C = A2CSettings(steps=12 * 16 * 5, eval_every=6 * 16 * 5, num_envs=16, variants=4)
TEXTS = (
    "mine(gold)",
    "goto(2, 3)",
    "if is_there[river]:\n  mine(wood)\nsell(gold)",
    "while env[gold] > 0:\n  mine(gold)\nif agent[gold] >= 2:\n  goto(1, 1)\nelse:\n  goto(2, 2)",
)

pytestmark = pytest.mark.usefixtures("one_thread")


def entries(*texts):
    return tuple(Entry(parse(text, DOMAIN), 100 * seed) for seed, text in enumerate(texts))


def learner(settings, name="plus", programs=None, seed=0, **more):
    torch.manual_seed(seed)
    kind = PPO if isinstance(settings, PPOSettings) else A2C
    worlds = Minecraft().worlds(programs or entries(*TEXTS), settings.num_envs, variants=settings.variants)
    return kind(minecraft_model(name, **TINY, plans=2), worlds, settings, seed, **more)


def lists(*rows):
    return torch.tensor(rows, dtype=torch.float32)


def test_advantages_of_an_episode_that_ends_are_those_of_its_discounted_reward():
    """With lambda 1 they are the return less the value, whatever the values are."""
    values = lists([0.3], [-0.2], [0.7], [5.0])
    never, last = torch.zeros(3, 1, dtype=torch.bool), torch.tensor([[False], [False], [True]])
    found = advantages(lists([0], [0], [1]), values, last, last, gamma=0.9, gae_lambda=1.0)
    torch.testing.assert_close(found, lists([0.81 - 0.3], [0.9 + 0.2], [1 - 0.7]))
    bootstrapped = advantages(lists([0], [0], [1]), values, never, last, gamma=0.9, gae_lambda=1.0)
    torch.testing.assert_close(bootstrapped[2], lists(1 + 0.9 * 5 - 0.7))


def test_advantages_with_lambda_are_the_geometric_sum_of_temporal_difference_errors():
    random = np.random.default_rng(0)
    rewards, values = random.random(6), random.random(7)
    gamma, gae_lambda = 0.97, 0.8
    errors = [rewards[t] + gamma * values[t + 1] - values[t] for t in range(6)]
    expected = [sum((gamma * gae_lambda) ** (k - t) * errors[k] for k in range(t, 6)) for t in range(6)]
    never = torch.zeros(6, 1, dtype=torch.bool)
    found = advantages(
        torch.tensor(rewards)[:, None], torch.tensor(values)[:, None], never, never, gamma=gamma, gae_lambda=gae_lambda
    )
    torch.testing.assert_close(found[:, 0], torch.tensor(expected))


def test_advantages_do_not_reach_over_the_end_of_an_episode():
    ended = torch.tensor([[False], [True], [False]])
    values = torch.zeros(4, 1)
    found = advantages(lists([0], [0], [1]), values, ended, ended, gamma=1.0, gae_lambda=1.0)
    assert found[:, 0].tolist() == [0, 0, 1]


def test_routines_left_is_the_shortest_way_to_the_end():
    texts = ("mine(gold)", "mine(gold); sell(gold)", TEXTS[2], TEXTS[3])
    programs = program_set(tuple(compile_program(parse(text, DOMAIN), DOMAIN) for text in texts))
    assert routines_left(programs).tolist() == [1, 2, 1, 2, 2, 1, 3, 4, 2, 1, 1]


def test_labels_of_conditions_are_those_of_the_planner():
    """No label comes from the planner, and every one agrees with it; every answered condition gets one."""
    training = learner(SMALL_PPO, programs=load_split("train")[:200])
    training.worlds.offer(np.arange(200, dtype=np.int32))
    training.worlds.reset()
    labelled = 0
    for _ in range(100):
        best, _ = training.worlds.best_actions()
        running = training.worlds.outcome == Outcome.RUNNING
        record = training._act(training.execution.observe().kept())
        right = record["right"].numpy()
        known = right.any(axis=1) & running
        assert (right.sum(axis=1) <= 1).all()
        assert best[right & running[:, None]].all()
        asked = running & best[:, [Action.TRUE, Action.FALSE]].any(axis=1)
        assert (known == asked)[training.worlds.outcome != Outcome.TIMEOUT].all()
        labelled += int(known.sum())
    assert labelled > 50


def test_the_replay_keeps_the_latest_labels_and_is_restored():
    training = learner(SMALL_PPO, programs=load_split("train")[:200])
    training.worlds.offer(np.arange(200, dtype=np.int32))
    training.worlds.reset()
    replay, added = AnswerReplay(40, training.worlds), []
    for _ in range(4):
        collected = training.collect()
        added += collected.right[collected.right.any(dim=1)].tolist()
        replay.add(collected)
    assert len(added) > len(replay) == 40
    observation, answers = replay.draw(30, torch.Generator().manual_seed(0))
    assert (observation.mask & answers).sum() == 30
    again = AnswerReplay(40, training.worlds)
    again.restore(replay.state())
    assert replay.state()["replay right"].tolist() == added[-40:]
    drawn = again.draw(30, torch.Generator().manual_seed(0))
    assert torch.equal(drawn[1], answers)
    torch.testing.assert_close(infer(training.model, drawn[0])[0], infer(training.model, observation)[0])


def test_what_follows_from_a_condition_is_so_in_every_world():
    batch = Batch(load_split("train")[:300], 64)
    batch.reset()
    conditions, worlds = CountConditions(batch.programs), np.arange(batch.count)
    row_of = {number: row for row, number in enumerate(conditions.number) if number >= 0}
    rows = [row_of[number] for number in range(len(conditions.words))]
    holds = np.stack([batch.conditions_hold(worlds, np.full(batch.count, row)) for row in rows])
    for one, true in enumerate(holds):
        implied = conditions.implied[one][true.astype(int)].T
        known = implied >= 0
        assert (implied[known] == holds[known]).all()
        assert known[one].all(), "a condition follows from itself"
    asked = {tuple(words): number for number, words in enumerate(conditions.words.tolist())}

    def number(text):
        return asked[tuple(compile_program(parse(f"if {text}:\n  mine(gold)", DOMAIN), DOMAIN).word_ids[0].tolist())]

    more, some, exact = number("env[gold] > 1"), number("is_there[gold]"), number("agent[gold] >= 1")
    assert conditions.implied[more, 1, some] == 1
    assert conditions.implied[more, 0, some] == -1
    assert conditions.implied[some, 0, more] == 0
    assert conditions.implied[more, 1, exact] == -1, "what is carried is something else than what lies around"


def test_programs_whose_routines_fail_are_drawn_more_often():
    settings = replace(SMALL_PPO, curriculum_threshold=0.0, curriculum_focus=1.0)
    training = learner(settings, programs=entries("mine(gold)", "goto(2, 3)"))
    operation = training.worlds.programs.operation
    mine, goto = (np.flatnonzero(operation == each) for each in (Operation.MINE, Operation.GOTO))
    training.curriculum.count(np.repeat(mine, 98), np.repeat(goto, 98))
    training.curriculum.offer(training._numpy)
    assert np.bincount(training.curriculum._offered)[1] > 0.95 * len(training.curriculum._offered)


def test_reward_is_given_at_the_end_of_a_program_and_only_there():
    sparse, dense = (learner(SMALL_PPO, each_routine=each) for each in (False, True))
    for training, other in ((sparse, False), (dense, True)):
        ends = rewards = finished = 0
        for _ in range(300):
            record = training._act(training.execution.observe().kept())
            over = training.worlds.outcome != Outcome.RUNNING
            ends += int(((training.worlds.ended >= 0) & (~over | (training.worlds.outcome == Outcome.FINISHED))).sum())
            rewards += int(record["rewards"].sum())
            finished += int((record["terminated"].numpy() & (training.worlds.outcome == Outcome.FINISHED)).sum())
        assert rewards == (ends if other else finished) > 0


@pytest.mark.parametrize("name", ["plus", "paper"])
def test_a_rollout_executed_again_gives_the_same_probabilities(name):
    """Z, masks and pointers are kept with each step: the same weights choose with the same probabilities."""
    training = learner(SMALL_PPO, name)
    collected = training.collect()
    log_probabilities, _ = training.policy(collected.observation)
    again = log_probabilities.gather(1, collected.actions[:, None])[:, 0]
    torch.testing.assert_close(again, collected.log_probabilities, atol=1e-5, rtol=1e-5)
    part = collected.take(torch.tensor([5, 3]))
    assert part.actions.tolist() == [collected.actions[5], collected.actions[3]]


@pytest.mark.parametrize("name", ["plus", "paper"])
def test_a2c_learns_from_the_steps_as_they_were_taken(name):
    """The gradient through the steps themselves is that of executing them again."""
    training = learner(SMALL_A2C, name)
    collected = training.collect()
    log_probabilities, rows = training.policy(collected.observation)
    again = replace(
        collected,
        log_probabilities=log_probabilities.gather(1, collected.actions[:, None])[:, 0],
        entropy=entropy(log_probabilities),
        values=training.value(rows, collected.left),
    )
    parameters = list(training.model.parameters())
    gradients = [
        torch.autograd.grad(training._loss(each), parameters, allow_unused=True) for each in (collected, again)
    ]
    for one, other in zip(*gradients, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_observations_of_programs_of_different_length_go_together():
    observations = []
    for text in (TEXTS[0], TEXTS[3]):
        batch = Batch(entries(text), 3)
        batch.reset()
        observations.append(WorldExecution(minecraft_model("paper", **TINY), batch).observe().kept())
    together = Observation.together(observations)
    torch.manual_seed(0)
    model = minecraft_model("paper", **TINY)
    alone = torch.cat([infer(model, each)[0] for each in observations])
    torch.testing.assert_close(infer(model, together)[0], alone, atol=1e-5, rtol=1e-5)


def test_longer_programs_are_admitted_when_enough_episodes_succeed():
    training = learner(replace(SMALL_PPO, retry_share=0.5))
    curriculum = training.curriculum
    assert curriculum.limit == 1
    training._recent = np.arange(8) < 5
    training.end_iteration()
    assert curriculum.limit == 1
    assert training.worlds.retry_share == 0
    training._recent = np.arange(8) < 6
    training.end_iteration()
    assert curriculum.limit == 3
    assert len(training._recent) == 0, "episodes of shorter programs do not count for longer ones"
    training._recent = np.ones(8, np.bool_)
    training.end_iteration()
    assert curriculum.limit == 5
    assert training.worlds.retry_share == 0.5, "all programs are admitted"
    assert learner(replace(SMALL_PPO, curriculum_threshold=0.0)).curriculum.limit == 5


def test_a2c_has_no_curriculum_unless_it_is_given_one():
    assert learner(SMALL_A2C).curriculum is None
    assert learner(replace(SMALL_A2C, curriculum_threshold=0.7)).curriculum.limit == 1


def test_answers_may_be_given_or_forgiven():
    """The interpreter's answers are executed, so that no episode ends in a wrong one."""
    for answers, learned in (("given", False), ("forgiven", True)):
        training = learner(replace(SMALL_A2C, answers=answers, num_steps=40))
        rollout, every = training._collect()
        due = ~every.observation.mask[:, : training.worlds.first_answer].any(dim=1)
        assert due.any()
        assert bool((every.running & due).any()) == learned
        labelled = every.right.any(dim=1) & due
        assert (every.right[labelled].sum(dim=1) == 1).all(), "the right answer is known in every case"
        assert (training.worlds.outcome != Outcome.WRONG_ANSWER).all()
        assert len(rollout) == int(every.running.sum())


def test_standardised_advantages_change_what_a2c_learns():
    plain, other = (learner(replace(SMALL_A2C, standardise=each)) for each in (False, True))
    assert plain.step() != other.step()


def test_failed_episodes_are_tried_again_in_the_same_world():
    entries_of = entries("mine(gold)", "goto(2, 3)", "mine(iron)")
    for share in (0.0, 1.0):
        worlds = Minecraft().worlds(entries_of, 64, variants=8)
        worlds.seed(0)
        worlds.time_limit, worlds.retry_share = 2, share
        worlds.reset()
        before = worlds.program.copy(), worlds.worlds.cells.copy(), worlds.worlds.agent.copy()
        nothing = np.full(64, int(Action.MINE), np.int64)
        for _ in range(3):
            worlds.step_or_reset(nothing)
        failed = worlds.time == 0
        assert failed.sum() > 30
        same = [
            (now[failed] == then[failed]).reshape(failed.sum(), -1).all(axis=1)
            for now, then in zip((worlds.program, worlds.worlds.cells, worlds.worlds.agent), before, strict=True)
        ]
        assert np.all(same) == (share == 1.0)


@pytest.mark.parametrize("settings", [SMALL_PPO, SMALL_A2C], ids=["ppo", "a2c"])
@pytest.mark.parametrize("name", ["plus", "paper"])
def test_the_same_seed_gives_the_same_training(settings, name):
    losses = [[training.step() for _ in range(3)] for training in (learner(settings, name) for _ in range(2))]
    assert losses[0] == losses[1]
    assert losses[0] != [training.step() for training in [learner(settings, name, seed=1)] for _ in range(3)]


@pytest.mark.parametrize("settings", [SMALL_PPO, SMALL_A2C], ids=["ppo", "a2c"])
def test_interrupted_and_resumed_it_ends_with_the_same_weights(tmp_path, settings):
    def job(name, **changes):
        given = (minecraft_with(entries(*TEXTS)), "plus", PlusConfig(**TINY), minecraft_reader(plans=2))
        return Job(*given, settings, tmp_path / name, target="reward", **changes)

    class Stop(Exception):
        pass

    def stop(moment):
        if moment.step > settings.steps * 0.7:
            raise Stop

    train(job("whole"))
    with pytest.raises(Stop):
        train(job("cut"), stop)
    train(job("cut", resume=True))
    whole, cut = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


def test_a_small_executor_learns_from_reward_alone(tmp_path):
    """The identity task of this world: go where the program says, in unseen worlds."""
    texts = [f"goto({x}, {y})" for x in (1, 3, 5) for y in (1, 3, 5)]
    settings = PPOSettings(
        steps=80_000,
        eval_every=80_000,
        num_envs=64,
        minibatch_size=512,
        learning_rate=4e-3,
        ema=0.97,
        inverse_temperature=1.0,
        window=256,
    )
    given = (PlusConfig(word_width=16, hidden=64, heads=4, blocks=1), minecraft_reader(plans=4))
    train(Job(minecraft_with(entries(*texts)), "plus", *given, settings, tmp_path, target="reward"))
    fresh = tuple(Entry(entry.program, entry.seed + 10_000 + i) for entry in entries(*texts) for i in range(10))
    learned = rollout(fresh, load_executor(tmp_path, sample=True))
    by_chance = rollout(fresh, RandomAgent())
    assert learned.finished.mean() >= 0.85 > by_chance.finished.mean()
    assert np.median(learned.steps) < np.median(by_chance.steps) / 3, "rivers are in the way of a few"


def test_a2c_with_the_paper_s_settings_learns_to_answer_conditions():
    texts = [
        "if env[gold] > 9: mine(gold)",
        "if env[iron] <= 9: goto(1, 1)",
        "if agent[gold] > 5: mine(gold)",
        "if agent[wood] < 9: goto(2, 2)",
    ]
    torch.manual_seed(0)
    model, settings = minecraft_model("paper", word_width=16, hidden=64, heads=4, blocks=1), A2CSettings()
    worlds = Minecraft().worlds(entries(*texts), settings.num_envs, variants=settings.variants)
    training = A2C(model, worlds, settings, seed=0)
    for _ in range(20):
        training.step()
    by_chance = training.figures()["episodes finished"]
    for _ in range(380):
        training.step()
    assert training.figures()["episodes finished"] > 85 > 75 > by_chance


def test_lessons_in_hindsight_are_successes():
    """A lesson replayed from the state it begins in: its routine is finished exactly then, and was not asked for."""
    training = learner(SMALL_PPO, programs=load_split("train")[:300])
    training.worlds.offer(np.arange(300, dtype=np.int32))
    training.worlds.reset()
    kinds, number_of = set(), {tuple(words): number for number, words in enumerate(WORDS.tolist())}
    for _ in range(6):
        training._hindsight = training.worlds.hindsight()
        states, actions, asked = [], [], []
        for _ in range(16):
            worlds = training.worlds
            states.append(worlds.state())
            asked.append([table.calls[min(int(at), len(table) - 1)] for table, at in pointing(worlds)])
            actions.append(training._act(training.execution.observe().kept())["actions"].numpy())
        numbers, words, delays = training._hindsight.lessons(1.0, np.random.default_rng(0))
        for number, named, delay in list(zip(numbers, words.tolist(), delays, strict=True))[::7]:
            step, world = divmod(int(number), training.worlds.count)
            call = routine_of(number_of[tuple(named)])
            kinds.add(call.operation)
            before = asked[step][world]
            assert (before.operation, before.words) != (call.operation, call.words)
            again = Batch([Entry(Program((call,)), 0)], training.worlds.count, require_worlds=False)
            again.restore({**states[step], "program": np.zeros_like(states[step]["program"])})
            again.begin(world, 0)
            for later in range(step, step + int(delay) + 1):
                assert again.outcome[world] == Outcome.RUNNING
                again.worlds.outcome[:world], again.worlds.outcome[world + 1 :] = Outcome.TIMEOUT, Outcome.TIMEOUT
                again.step(actions[later])
            assert again.outcome[world] == Outcome.FINISHED
    assert kinds >= {"goto", "mine", "place"}


def test_hindsight_does_not_name_what_the_programs_do_not():
    removed = read_routine("mine(gold)")
    every = load_split("train")
    without = [entry for entry in every if not removed.in_program(entry.program)]
    calls = [routine_of(number) for number in range(len(WORDS))]
    for programs in (every, without):
        batch = Batch(programs, 1, require_worlds=False)
        unnamed = [call for call, named in zip(calls, named_in(batch.programs), strict=True) if not named]
        reachable = [call for call in unnamed if all(word <= 8 for word in call.words if isinstance(word, int))]
        assert reachable == [call for call in calls if removed.is_call(call) and programs is without]


def pointing(batch):
    return ((batch.tables[program], at) for program, at in zip(batch.worlds.program, batch.worlds.routine, strict=True))


def test_bench_learn_measures_ours_beside_the_peer(monkeypatch, capsys):
    monkeypatch.setattr(learn, "PROCESSES", 1)
    monkeypatch.setattr(learn, "ROUNDS", 1)
    monkeypatch.setattr(learn, "MANY", SMALL_A2C)
    monkeypatch.setattr(learn, "PEERS", {1: "Stable-Baselines3, one world"})
    turns = []
    figures = learn.measure(0.01, lambda *turn: turns.append(turn))
    speeds, ratios = figures["steps_per_second"], figures["times_faster_than"]
    assert len(turns) == len(speeds) == len(ratios) + len(learn.PEERS)
    assert all(speed > 0 for speed in speeds.values())
    for name, against in ratios.items():
        assert against == {peer: speeds[name] / speeds[peer] for peer in learn.PEERS.values()}
    learn.print_figures(figures)
    assert "PPO, plus" in capsys.readouterr().out


def test_learning_curves_are_drawn_beside_the_paper_s_figures(tmp_path):
    curve = [{"samples": 1e6 * at, "seconds": 60.0 * at, "completion": 20.0 * at} for at in (1, 2, 3)]
    shorter = curve[:2]
    for name, by in (("steps.png", "samples"), ("time.png", "seconds")):
        plot_trainings({"plus": [curve, shorter], "paper": [curve]}, tmp_path / name, by=by, ends={"theirs": 97.3})
        with Image.open(tmp_path / name) as picture:
            assert picture.size[0] > 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steps.png", "time.png"]


def test_a_word_that_no_training_program_has_is_read_as_the_mean_of_its_alternatives():
    task = Minecraft(without=("is_there[river]",), held_out=3000)
    index = task.vocabulary.index
    learner = task.learner(minecraft_model("plus", memory=False, **TINY), SMALL_PPO, "reward", 0)
    others = learner.stand_ins[index["river"]]
    assert {index["gold"], index["bridge"], index["wall"]} <= set(others)
    assert index["mine"] not in others
    assert index["gold"] not in learner.stand_ins
    learner.step()
    (table,) = learner._word_tables
    torch.testing.assert_close(table[index["river"]], table[others].mean(dim=0))
    assert not torch.allclose(table[index["gold"]], table[others].mean(dim=0))
    assert not Minecraft(held_out=3000)._stand_ins(np.array(sorted(index.values())))
