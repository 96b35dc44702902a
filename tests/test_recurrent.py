"""The paper's rivals without a pointer: Transformer and Tree-RNN; and what every model remembers of its visits."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from program_guided.errors import DataError, WorldError
from program_guided.language.tokens import SYMBOL
from program_guided.learning.agents import run_programs
from program_guided.learning.execution import WorldExecution, infer
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.settings import A2CSettings, ImitationSettings, PPOSettings
from program_guided.models import readers
from program_guided.models.readers.grid import _bounded
from program_guided.models.recurrent import Recurrent
from program_guided.registry import build_model, model_config
from program_guided.tasks.minecraft.agents import placed
from program_guided.tasks.minecraft.observation import ObservedWorlds, observe
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft

TASK = Minecraft()
ENTRIES = load_split("train")[:24]
RIVALS = ("transformer", "tree_rnn")


def build(name, visits=False, **config):
    torch.manual_seed(0)
    reader = replace(TASK.reader_config, visits=visits)
    return build_model(name, model_config(name)(**config), TASK.sizes(), reader)


def acted(model, worlds, steps, execution):
    """Observations, memories and whether worlds ran, of some steps with sampled actions."""
    generator, seen, rows = torch.Generator().manual_seed(0), [], []
    for _ in range(steps):
        seen.append(execution.observe().kept())
        logits, memory = infer(model, seen[-1])
        rows.append(memory)
        execution.keep(memory)
        over = worlds.outcome != 0
        worlds.step_or_reset(torch.multinomial(logits.softmax(dim=1), 1, generator=generator)[:, 0].numpy())
        execution.forget(over)
    return seen, rows


@pytest.mark.parametrize("name", RIVALS)
def test_unrolled_steps_are_those_one_by_one(name):
    model = build(name)
    worlds = TASK.worlds(ENTRIES, 6, variants=2)
    worlds.reset()
    worlds.time_limit = 7  # so that episodes end within the steps
    with torch.no_grad():
        seen, rows = acted(model, worlds, 20, WorldExecution(model, worlds))
        together = type(seen[0]).together(seen)
        assert together.begun.view(20, 6)[1:].any()
        logits, unrolled = infer(model, together, length=20)
    torch.testing.assert_close(unrolled, torch.cat(rows))
    assert logits.shape == (120, 10)


@pytest.mark.parametrize("name", RIVALS)
def test_gradients_flow_through_the_steps_of_a_rollout_and_stop_at_a_new_episode(name):
    model = build(name)
    worlds = placed(ENTRIES[:4])
    execution = WorldExecution(model, worlds)
    first = execution.observe()
    memory = torch.randn(4, 1, model.width, requires_grad=True)
    begun = torch.tensor([False] * 4 + [False, True, False, True])
    seen = replace(type(first).together([first, first]), begun=begun, results=torch.cat([memory, memory]))
    infer(model, seen, length=2)[1][4:].sum().backward()
    reached = memory.grad.abs().sum(dim=(1, 2)) > 0
    assert reached.tolist() == [True, False, True, False]


@pytest.mark.parametrize("name", RIVALS)
def test_neither_pointer_nor_table_are_seen(name):
    model = build(name)
    worlds = placed(ENTRIES[:8])
    seen = WorldExecution(model, worlds).observe()
    plain = infer(model, seen)[1]
    other = replace(seen, words=seen.words + 1, pointed=seen.pointed + 3, parents=seen.parents + 2)
    torch.testing.assert_close(plain, infer(model, other)[1])
    tokens = seen.tokens.clone()
    tokens[:, 0] = tokens[0, 0] + 1
    assert not torch.isclose(plain, infer(model, replace(seen, tokens=tokens))[1]).all(dim=1).any()


@pytest.mark.parametrize("name", RIVALS)
def test_kept_encodings_are_forgotten_when_the_weights_change(name):
    model = build(name)
    seen = WorldExecution(model, placed(ENTRIES[:4])).observe()
    with torch.no_grad():
        before = infer(model, seen)[1]
        torch.testing.assert_close(before, infer(model, seen)[1])
        model.tokens.weight += 0.1
        fresh = build(name)
        fresh.load_state_dict(model.state_dict())
        after = infer(model, seen)[1]
        torch.testing.assert_close(after, infer(fresh, seen)[1])
    assert not torch.allclose(before, after)


def test_a_tree_has_the_nesting_of_the_program():
    model = build("tree_rnn")
    text = (
        "if is_there[river]:\n  mine(wood)\n  while env[gold] > 0:\n    mine(gold)\nelse:\n  goto(1, 1)\nmine(iron)\n"
    )
    worlds = TASK.worlds([replace(ENTRIES[0], program=TASK.parse(text))], 1)
    parent, line, depth, lines = model._tree(torch.from_numpy(worlds.tokens()).long())
    assert lines == 7
    assert parent[0].tolist() == [-1, 0, 0, 2, -1, 4, -1]
    assert depth[0].tolist() == [0, 1, 1, 2, 0, 1, 0]
    tokens = worlds.tokens()[0]
    assert (line[0].numpy()[tokens == SYMBOL["newline"]] == np.arange(7)).all()


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize(
    "settings",
    [
        ImitationSettings(num_envs=16, num_steps=4, steps=8, variants=2),
        PPOSettings(num_envs=16, num_steps=8, steps=256, minibatch_size=64, variants=2),
        A2CSettings(num_envs=16, steps=160, variants=2),
    ],
    ids=["dense", "ppo", "a2c"],
)
def test_they_learn_by_every_algorithm_and_resume_to_the_same_weights(name, settings):
    target = "dense" if isinstance(settings, ImitationSettings) else "reward"
    once = TASK.learner(build(name, visits=True), settings, target, seed=0)
    before = [parameter.detach().clone() for parameter in once.model.parameters()]
    once.step()
    tensors, numbers = once.state()
    weights, optimizer = deepcopy(once.model.state_dict()), deepcopy(once.optimizer.state_dict())
    again = TASK.learner(build(name, visits=True), settings, target, seed=0)
    again.model.load_state_dict(weights)
    again.optimizer.load_state_dict(optimizer)
    again.restore(deepcopy(tensors), numbers)
    assert once.step() == again.step()
    for one, other in zip(once.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    moved = [not torch.equal(old, new) for old, new in zip(before, once.model.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


@pytest.mark.parametrize("name", RIVALS)
def test_they_act_to_the_end_of_programs(name):
    runs = run_programs(placed(ENTRIES[:8]), ExecutorAgent(build(name)))
    assert (runs.steps > 0).all()


@pytest.mark.parametrize("name", RIVALS)
def test_observations_without_the_program_s_text_are_refused_in_one_line(name):
    worlds = ObservedWorlds(observe(placed(ENTRIES[:2])))
    with pytest.raises(WorldError, match="reads the program's text"):
        ExecutorAgent(build(name)).act(worlds)


def test_sizes():
    transformer = build("transformer")
    layers = sum(each.numel() for each in transformer.layers.parameters())
    assert 0.26e6 < layers < 0.27e6
    assert isinstance(build("tree_rnn"), Recurrent)
    with pytest.raises(DataError, match="must be a multiple of heads"):
        model_config("transformer")(width=100).check()
    with pytest.raises(DataError, match="reads maps"):
        build_model("tree_rnn", model_config("tree_rnn")(), TASK.sizes(), readers.Objects(features=3))


# Visits


@pytest.mark.parametrize("name", ["plus", "paper", "pga", "transformer", "tree_rnn"])
def test_every_model_sees_where_it_has_been(name):
    model = build(name, visits=True).eval()
    seen = WorldExecution(model, placed(ENTRIES[:6])).observe()
    row, column = seen.arrays["agent"].long().T
    visits = seen.arrays["visits"].clone()
    visits[torch.arange(6), row, column] = 2
    other = replace(seen, arrays=seen.arrays | {"visits": visits})
    assert not torch.isclose(infer(model, seen)[1], infer(model, other)[1]).all(dim=1).any()


def test_visits_are_counted_since_the_routine_began():
    model = build("plus", visits=True)
    worlds = placed(ENTRIES[:12])
    execution = WorldExecution(model, worlds)
    expected = np.zeros((12, 8, 8), int)
    for _ in range(40):
        expected[worlds.ended >= 0] = 0
        seen = execution.observe()
        np.testing.assert_array_equal(seen.arrays["visits"].numpy(), expected)
        best, _ = worlds.best_actions()
        execution.keep(torch.zeros(12, model.width))
        expected[np.arange(12), worlds.worlds.agent[:, 0], worlds.worlds.agent[:, 1]] += 1
        worlds.step(best.argmax(axis=1))
    assert expected.max() > 0


def test_the_repetition_penalty_knows_a_state_again_whatever_was_visited():
    worlds = placed(ENTRIES[:1])
    agent = ExecutorAgent(build("plus", visits=True))
    memory = agent.begin(worlds)
    for _ in range(2):
        agent.decide(worlds, memory)  # the world stands still
    (chosen,) = memory.penalty._chosen
    assert len({state for state, _ in chosen}) == 1


def test_rows_beyond_the_maps_of_train_are_never_the_best():
    scores = torch.randn(5, 12, 6)
    bounded = _bounded(scores, 8)
    torch.testing.assert_close(bounded[:, :8], scores[:, :8])
    torch.testing.assert_close(bounded[:, 8:], scores[:, :8].amin(dim=1, keepdim=True).expand(-1, 4, -1))
