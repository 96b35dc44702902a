"""Which checkpoints are averaged."""

from program_guided.cli.evaluate import _groups, _in_paper


def agent(seed, form="plus", **settings):
    settings = {"steps": 20_000, "loss": "cross-entropy"} | settings
    executor = {"form": form, "structure": True, "hidden": settings.pop("hidden", 256)}
    return {"training": {"executor": executor, "target": "dense", "seed": seed, "settings": settings}}


def test_only_checkpoints_that_differ_in_their_seed_are_averaged():
    agents = {
        "a": agent(0),
        "b": agent(1),
        "c": agent(0, loss="l2"),
        "d": agent(1, loss="l2"),
        "e": agent(0, steps=40, hidden=64),
        "f": agent(0, form="paper"),
        "planner": {"training": None},
    }
    seeds = {kind: [each["training"]["seed"] for each in group] for kind, group in _groups(agents).items()}
    assert seeds == {
        "plus, dense": [0, 1],
        "plus, dense, loss l2": [0, 1],
        "plus, dense, hidden 64, steps 40": [0],
        "paper, dense": [0],
    }


def test_the_paper_s_figures_stand_only_beside_what_they_are_of():
    seen, unseen = {"sides": (5, 8), "unseen": None}, {"sides": (5, 8), "unseen": "Mine( gold )"}
    assert _in_paper(seen, "reward", "longer") == "91.2"
    assert _in_paper(seen, "planner", "longer") == ""
    assert _in_paper({**seen, "sides": (10, 10)}, "reward", "longer") == ""
    assert [_in_paper(unseen, kind, "test") for kind in ("planner", "reward", "dense")] == ["11.4", "59.3", ""]
    assert _in_paper(unseen, "reward", "longer") == ""
