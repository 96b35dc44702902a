"""Which checkpoints are averaged, which of the paper's figures stand beside them, and programs made for a measure."""

import pytest

from program_guided.errors import DataError
from program_guided.language.syntax import calls
from program_guided.tasks.commands import means_of
from program_guided.tasks.minecraft.agents import PlannerAgent, rollout
from program_guided.tasks.minecraft.building import programs_with_numbers
from program_guided.tasks.minecraft.commands.evaluate import _in_paper, _kind


def agent(seed, model="plus", completion=90.0, *, reader=None, task=None, target="dense", **settings):
    settings = {"steps": 20_000, "loss": "cross-entropy", "eval_every": 500} | settings
    training = {
        "model": model,
        "config": {
            "structure": settings.pop("structure", True),
            "hidden": settings.pop("hidden", 256),
            "memory": False,
        },
        "reader": reader or {"names": False},
        "target": target,
        "task": task or {"held_out": 200, "without": []},
        "seed": seed,
        "settings": settings,
    }
    return {"training": training, "splits": {"test": {"completion": completion}, "longer": {"completion": 50.0}}}


def test_only_checkpoints_that_differ_in_their_seed_are_averaged():
    agents = {
        "a": agent(0, completion=90.0),
        "b": agent(1, completion=94.0, eval_every=250),
        "c": agent(0, loss="l2"),
        "d": agent(1, loss="l2"),
        "e": agent(0, steps=40, hidden=64),
        "f": agent(0, model="paper"),
        "g": agent(0, structure=False),
        "h": agent(0, reader={"names": True}),
        "i": agent(0, task={"held_out": 200, "without": ["mine(gold)"]}),
        "j": agent(0, target="reward"),
        "planner": {"training": {}, "splits": {"test": {"completion": 100.0}}},
    }
    means = means_of(agents, "completion")
    found = {(tuple(mean["agents"]), mean["split"]): (mean["completion"], tuple(mean["seeds"])) for mean in means}
    assert found == {
        (("a", "b"), "test"): (92.0, (0, 1)),
        (("a", "b"), "longer"): (50.0, (0, 1)),
        (("c", "d"), "test"): (90.0, (0, 1)),
        (("c", "d"), "longer"): (50.0, (0, 1)),
    }
    assert means[0]["standard_error"] == pytest.approx(2.0)
    assert means[1]["standard_error"] == 0


def test_a_kind_of_training_is_named_by_its_model_target_and_missing_parts():
    kinds = {
        "plus, dense": agent(0),
        "paper, reward": agent(0, model="paper", target="reward"),
        "plus, dense, no structure": agent(0, structure=False),
        "plus, dense, names": agent(0, reader={"names": True}),
        "plus, dense, no mine(gold)": agent(0, task={"without": ["mine(gold)"]}),
    }
    assert [_kind(each["training"]) for each in kinds.values()] == list(kinds)


def test_the_paper_s_figures_stand_only_beside_what_they_are_of():
    all_seen, unseen = {"sides": (5, 8), "unseen": None}, {"sides": (5, 8), "unseen": "Mine( gold )"}
    assert _in_paper(all_seen, "reward", "longer") == "91.2"
    assert _in_paper(all_seen, "planner", "longer") == ""
    assert _in_paper({**all_seen, "sides": (10, 10)}, "reward", "longer") == ""
    assert [_in_paper(unseen, kind, "test") for kind in ("planner", "reward", "dense")] == ["11.4", "59.3", ""]
    assert _in_paper(unseen, "reward", "longer") == ""


def test_programs_with_numbers_compare_with_them_and_can_be_finished():
    entries = programs_with_numbers(5, 8, 6)
    assert entries == programs_with_numbers(5, 8, 6)
    for entry in entries:
        numbers = [int(call.words[2]) for call in calls(entry.program.body) if call.operation in ("agent", "env")]
        assert max(numbers) in range(5, 9)
    assert rollout(entries, PlannerAgent()).finished.all()


@pytest.mark.parametrize("numbers", [(4, 8), (8, 5), (5, 100)])
def test_numbers_that_train_has_or_no_program_can_have_are_refused(numbers):
    with pytest.raises(DataError, match="two numbers from 5 to 99, rising"):
        programs_with_numbers(*numbers, 1)
