"""The paper's rivals in a world: Program Guided Agent."""

import pytest
import torch

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, BOOLEAN
from program_guided.learning.agents import run_programs
from program_guided.learning.execution import WorldExecution, infer
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.settings import ImitationSettings, PPOSettings
from program_guided.models import readers
from program_guided.models.config import VALUE, PGAConfig
from program_guided.models.maps import StateEncoder
from program_guided.models.model import Step
from program_guided.models.pga import PGA
from program_guided.tasks.minecraft.agents import placed
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft

TASK = Minecraft()


def pga(**config):
    torch.manual_seed(0)
    return PGA(PGAConfig(**config), TASK.sizes(), TASK.reader_config)


def observed(model, programs=12, sides=(5, 8)):
    return WorldExecution(model, placed(load_split("test")[:programs], sides=sides)).observe()


@pytest.mark.parametrize("fusion", ["modulation", "concat"])
@pytest.mark.parametrize("sides", [(5, 5), (5, 8), (12, 12)])
def test_maps_of_every_side_are_seen(fusion, sides):
    model = pga(fusion=fusion)
    entries = [entry for entry in load_split("test") if "goto" not in entry.text and "place" not in entry.text][:4]
    logits, rows = infer(model, WorldExecution(model, placed(entries, sides=sides)).observe())
    assert rows.shape == (4, model.width)
    assert torch.isfinite(logits.max(dim=1).values).all()


def test_what_the_agent_sees_is_the_cells_around_it_and_their_places():
    model = pga()
    seen = observed(model)
    planes = model.reader.planes(model.reader.encode(seen.arrays))
    assert planes.shape == (12, model.reader.kinds + 2, 15, 15)
    for window, cells, (row, column) in zip(planes, seen.arrays["map"], seen.arrays["agent"].tolist(), strict=True):
        own = window[:, 7 - row : 15 - row, 7 - column : 15 - column]
        assert (own[:-2].argmax(dim=0) == cells).all()
        places = torch.arange(8) / model.reader.config.side
        assert (own[-2] == places[:, None]).all()
        assert (own[-1] == places[None]).all()
        assert window[0].sum() == 15 * 15 - (cells > 0).sum()
        assert window[-2:].sum() == own[-2:].sum()


def test_actions_and_values_are_the_policys_and_answers_the_perceptions():
    model = pga()
    rows = torch.randn(5, model.width)
    other = rows.clone()
    other[:, model.width // 2 :] += 1
    for name in (ACTION, VALUE):
        torch.testing.assert_close(model.decode(rows, name), model.decode(other, name))
    assert not torch.allclose(model.decode(rows, BOOLEAN), model.decode(other, BOOLEAN))


@pytest.mark.parametrize("fusion", ["modulation", "concat"])
def test_only_the_pointed_routine_of_a_program_matters(fusion):
    model = pga(fusion=fusion)
    seen = observed(model)
    specification = model.reader.encode(seen.arrays)

    def rows(words, results):
        return model(Step(specification, words, results, seen.pointed, seen.parents))

    before = rows(seen.words, seen.results)
    torch.testing.assert_close(before, rows(seen.words, torch.randn_like(seen.results)))
    changed = seen.words.clone()
    changed[torch.arange(12), seen.pointed[:, 0], 1] += 1
    assert not torch.isclose(before, rows(changed, seen.results)).all(dim=2).any()


def test_a_perception_only_where_an_answer_is_due_changes_nothing_that_is_read():
    model = pga()
    seen = observed(model)
    logits, _ = infer(model, seen)
    every = model(Step(model.reader.encode(seen.arrays), seen.words, seen.results, seen.pointed, seen.parents))[:, 0]
    whole = torch.cat([model.decode(every, name) for name, _ in model.sizes.results if name != VALUE], dim=1)
    due = seen.mask[:, -2:].any(dim=1)
    assert due.any()
    assert not due.all()
    torch.testing.assert_close(logits[seen.mask], whole[seen.mask])


def test_the_goal_scales_and_shifts_every_channel():
    encoder = StateEncoder(pga().reader, goal=3)
    maps = pga().reader.encode(observed(pga()).arrays)
    with torch.no_grad():
        for layer in encoder.modulations:
            layer.weight.zero_()
            layer.bias.zero_()
    state = (pga().reader.planes(maps), maps.inventory)
    plain = encoder(*state, torch.ones(12, 3))
    torch.testing.assert_close(plain, encoder(*state))
    with torch.no_grad():
        encoder.modulations[-1].bias[256:] = 7.0  # shifts the inventory
    shifted = encoder(*state, torch.ones(12, 3))
    torch.testing.assert_close(shifted[:, :128], plain[:, :128])
    assert (shifted[:, 128:] - plain[:, 128:]).mean() > 5


def test_it_can_be_given_the_value_propagation_of_plus():
    model = pga(with_propagation=True)
    infer(model, observed(model))[0][:, :4].clamp(min=-9).sum().backward()
    assert model.policy.plan.weight.grad.abs().sum() > 0
    assert not hasattr(pga().policy, "plan")


def test_it_has_about_as_many_parameters_as_the_paper_says():
    assert 1.0e6 < pga().parameter_count() < 1.4e6


def test_other_specifications_than_maps_are_refused():
    with pytest.raises(DataError, match="model pga: it reads maps"):
        PGA(PGAConfig(), TASK.sizes(), readers.Objects(features=3))


@pytest.mark.parametrize("settings", [ImitationSettings(num_envs=32, steps=3), PPOSettings(num_envs=32, steps=1024)])
def test_it_learns_from_the_planner_and_from_reward(settings):
    model = pga()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    target = "dense" if isinstance(settings, ImitationSettings) else "reward"
    learner = TASK.learner(model, settings, target, seed=0)
    learner.step()
    learner.step()
    moved = [not torch.equal(old, new) for old, new in zip(before, learner.model.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


def test_it_acts_in_worlds():
    runs = run_programs(placed(load_split("test")[:8]), ExecutorAgent(pga()))
    assert (runs.steps > 0).all()
