"""Batches of worlds: the same whatever their size, true to the rules, and never impossible."""

import numpy as np
import pytest

from program_guided.errors import WorldError
from program_guided.language.parser import parse
from program_guided.learning.worlds import pointed_rows
from program_guided.tasks.minecraft.agents import PlannerAgent, RandomAgent
from program_guided.tasks.minecraft.domain import ACTIONS, DOMAIN, KINDS, OBJECTS
from program_guided.tasks.minecraft.entry import Entry
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import MERCHANTS, TIME_LIMIT, WALKABLE, Action, Cell, Operation, Outcome

SIDE = 8


def entry(text, seed=0):
    return Entry(parse(text, DOMAIN), seed)


def noisy(batch, random, noise=0.1):
    """The planner's actions, now and then replaced by any action at all."""
    wild = random.random(batch.count) < noise
    return np.where(wild, random.integers(0, len(ACTIONS), batch.count), PlannerAgent().act(batch))


def shown(batch, count):
    """All that the first worlds of a batch are and show."""
    arrays = {**batch.worlds._asdict(), **batch.view._asdict(), "ended": batch.ended}
    return {name: array[:count].copy() for name, array in arrays.items()}


def recounted(batch, world):
    side = batch.worlds.side[world]
    return np.bincount(batch.worlds.cells[world, :side, :side].ravel(), minlength=len(KINDS))


def play_to_the_end(batch):
    while (batch.outcome == Outcome.RUNNING).any():
        batch.step(PlannerAgent().act(batch))


# --- determinism


@pytest.mark.parametrize("split", ["train", "longer"])
def test_a_world_is_the_same_in_a_batch_of_3_and_in_a_batch_of_64(split):
    entries = load_split(split)[:300]
    few, lots = Batch(entries, 3, variants=4, time_limit=60), Batch(entries, 64, variants=4, time_limit=60)
    random, resets = np.random.default_rng(0), 0
    for batch in (few, lots):
        batch.seed(7)
        batch.reset()
    for _ in range(500):
        ours, theirs = shown(few, 3), shown(lots, 3)
        assert all((ours[name] == theirs[name]).all() for name in ours)
        resets += (few.outcome != Outcome.RUNNING).sum()
        actions = noisy(lots, random)
        few.step_or_reset(np.ascontiguousarray(actions[:3]))
        lots.step_or_reset(actions)
    assert resets > 20


def test_a_batch_does_not_remember_what_was_played_before_a_seed():
    entries = load_split("test")[:100]
    fresh, used = Batch(entries, 8, variants=8), Batch(entries, 8, variants=8)
    for number in range(100):
        used.place(number % 8, 99 - number, number % 8)
    used.reset()
    for _ in range(100):
        used.step_or_reset(PlannerAgent().act(used))
    for batch in (fresh, used):
        batch.seed(3)
        batch.reset()
    ours, theirs = shown(fresh, 8), shown(used, 8)
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_other_seeds_draw_other_programs_and_worlds():
    batch = Batch(load_split("test"), 32, variants=16)
    drawn = []
    for seed in range(4):
        batch.seed(seed)
        batch.reset()
        drawn.append((batch.worlds.program.copy(), batch.worlds.cells.copy()))
    for first in range(4):
        for second in range(first):
            assert (drawn[first][0] == drawn[second][0]).mean() < 0.2
            assert (drawn[first][1] == drawn[second][1]).all(axis=(1, 2)).mean() < 0.2


def test_a_programs_world_does_not_depend_on_the_other_programs():
    entries = load_split("test")[:40]
    together = Batch(entries, 1, variants=3)
    for number in (0, 17, 39):
        alone = Batch(entries[number : number + 1], 1, variants=3)
        for variant in range(3):
            together.place(0, number, variant)
            alone.place(0, 0, variant)
            for name in ("cells", "side", "agent", "inventory", "counts"):
                assert (getattr(together.worlds, name) == getattr(alone.worlds, name)).all()
            assert (together.view.words == alone.view.words).all()


def test_the_variants_of_a_program_are_different_worlds_and_another_seed_gives_others():
    program = "mine(gold)\nsell(gold)"
    batches = [Batch([entry(program, seed)], 1, variants=20) for seed in (1, 2)]
    maps = []
    for batch in batches:
        for variant in range(20):
            batch.place(0, 0, variant)
            maps.append(batch.worlds.cells[0].tobytes())
    assert len(set(maps)) == 40


def test_playing_in_a_world_does_not_wear_it_out():
    batch = Batch(load_split("test")[:50], 50)
    for number in range(50):
        batch.place(number, number)
    before = shown(batch, 50)
    play_to_the_end(batch)
    assert (batch.worlds.cells != before["cells"]).any()
    for number in range(50):
        batch.place(number, number)
    after = shown(batch, 50)
    assert all((after[name] == before[name]).all() for name in before)


def test_the_best_actions_are_found_without_changing_anything():
    batch, random = Batch(load_split("longer")[:64], 64, variants=2), np.random.default_rng(1)
    batch.reset()
    for _ in range(60):
        before = shown(batch, 64)
        first = batch.best_actions()
        second = batch.best_actions()
        after = shown(batch, 64)
        assert all((after[name] == before[name]).all() for name in before)
        assert all((ours == theirs).all() for ours, theirs in zip(first, second, strict=True))
        batch.step_or_reset(noisy(batch, random))


def test_whether_a_condition_holds_can_be_asked_of_any_world():
    """The planner's answer there; worlds that stand elsewhere can be asked too."""
    batch, random, met = Batch(load_split("complex")[:40], 256), np.random.default_rng(2), 0
    batch.reset()
    for _ in range(40):
        best, _ = batch.best_actions()
        rows, worlds = pointed_rows(batch), np.arange(batch.count)
        conditions = np.flatnonzero(best[:, Action.TRUE] | best[:, Action.FALSE])
        holds = batch.conditions_hold(conditions, rows[conditions])
        np.testing.assert_array_equal(holds, best[conditions, Action.TRUE])
        some = np.flatnonzero(batch.programs.operation == Operation.IS_THERE)[:1].repeat(batch.count)
        kind = batch.programs.arguments[some[0], 0]
        there = (batch.worlds.cells == kind).any(axis=(1, 2))
        np.testing.assert_array_equal(batch.conditions_hold(worlds, some), there)
        met += len(conditions)
        batch.step_or_reset(noisy(batch, random))
    assert met > 100


def test_asking_for_the_best_actions_does_not_change_the_episodes_to_come():
    asked, silent = (Batch(load_split("test")[:64], 4, variants=2, time_limit=6) for _ in range(2))
    asked.reset()
    silent.reset()
    for step in range(60):
        asked.best_actions()
        for batch in (asked, silent):
            batch.step_or_reset(np.full(4, step % len(ACTIONS)))
    ours, theirs = shown(asked, 4), shown(silent, 4)
    assert all((ours[name] == theirs[name]).all() for name in ours)


# --- what always holds


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_counts_inventory_and_agent_stay_right_over_many_steps(noise):
    batch, random = Batch(load_split("longer"), 64, variants=2), np.random.default_rng(4)
    batch.reset()
    built, placed = 0, 0
    for _ in range(400):
        before = batch.worlds.counts.copy(), batch.worlds.time.copy()
        batch.step_or_reset(noisy(batch, random, noise))
        worlds = batch.worlds
        going_on = worlds.time > before[1]
        built += (worlds.counts[going_on, Cell.BRIDGE] > before[0][going_on, Cell.BRIDGE]).sum()
        placed += (worlds.counts[going_on, Cell.GOLD :] > before[0][going_on, Cell.GOLD :]).sum()
        assert (worlds.inventory >= 0).all()
        assert (worlds.agent >= 0).all()
        assert (worlds.agent < worlds.side[:, None]).all()
        assert WALKABLE[worlds.cells[np.arange(64), worlds.agent[:, 0], worlds.agent[:, 1]]].all()
        assert all((worlds.counts[world] == recounted(batch, world)).all() for world in range(64))
        assert (worlds.routine <= batch.programs.size[worlds.program]).all()
    assert built > 5
    assert placed > (20 if noise < 1 else 0)


def test_the_masks_random_agent_never_takes_an_action_without_meaning():
    batch, agent = Batch(load_split("complex"), 64), RandomAgent(0)
    batch.reset()
    for _ in range(100):
        actions = agent.act(batch)
        assert batch.view.mask[np.arange(64), actions].all()
        asked = batch.view.mask[:, Action.TRUE]
        assert (batch.view.mask.sum(axis=1) == np.where(asked, 2, 8)).all()
        batch.step_or_reset(actions)


def test_worlds_that_are_over_stand_still():
    batch = Batch(load_split("test")[:32], 32, time_limit=5)
    batch.reset()
    for _ in range(5):
        batch.step(np.zeros(32, np.int64))
    before = shown(batch, 32)
    assert (batch.outcome != Outcome.RUNNING).all()
    batch.step(np.full(32, Action.DOWN))
    after = shown(batch, 32)
    assert all((after[name] == before[name]).all() for name in before if name != "ended")
    assert (batch.ended == -1).all()


# --- the drawn worlds


def drawn_worlds(split, sides, count=800):
    batch = Batch(load_split(split), count, variants=4, sides=sides)
    batch.seed(1)
    batch.reset()
    return batch


def reachable(cells, start, closed=()):
    """Cells that can be walked to."""
    seen, waiting = {start}, [start]
    while waiting:
        row, column = waiting.pop()
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            inside = 0 <= r < len(cells) and 0 <= c < len(cells)
            if inside and (r, c) not in seen and WALKABLE[cells[r, c]] and cells[r, c] not in closed:
                seen.add((r, c))
                waiting.append((r, c))
    return seen


def pieces(cells, closed=()):
    free = {(int(r), int(c)) for r, c in np.argwhere(WALKABLE[cells]) if cells[r, c] not in closed}
    count = 0
    while free:
        free -= reachable(cells, next(iter(free)), closed)
        count += 1
    return count


@pytest.mark.parametrize("split", ["train", "longer", "complex"])
def test_every_drawn_world_follows_the_rules(split):
    batch = drawn_worlds(split, (5, 8))
    worlds, merchants, rivers, bridges, walls, carried = batch.worlds, [], [], [], [], []
    for world in range(batch.count):
        side = int(worlds.side[world])
        cells = worlds.cells[world, :side, :side]
        assert 5 <= side <= 8
        assert (worlds.cells[world] == Cell.OUTSIDE).sum() == SIDE * SIDE - side * side
        assert (cells != Cell.OUTSIDE).all()
        assert (worlds.counts[world] == recounted(batch, world)).all()
        assert MERCHANTS[0] <= (cells == Cell.MERCHANT).sum() <= MERCHANTS[1]
        water = (cells == Cell.RIVER) | (cells == Cell.BRIDGE)
        lines = water.all(axis=0).sum() + water.all(axis=1).sum()
        assert water.sum() == side * lines, "a river is one full row or column"
        assert lines <= 1
        assert (cells == Cell.BRIDGE).sum() <= min(1, lines)
        assert pieces(cells, closed=(Cell.BRIDGE,)) == 1 + lines, "each bank is in one piece"
        if (cells == Cell.BRIDGE).any():
            assert pieces(cells) == 1, "the bridge joins the banks"
        assert WALKABLE[cells[tuple(worlds.agent[world])]]
        assert (worlds.inventory[world] >= 0).all()
        assert worlds.time[world] == 0
        assert worlds.outcome[world] == Outcome.RUNNING
        merchants.append(int((cells == Cell.MERCHANT).sum()))
        rivers.append(lines)
        bridges.append((cells == Cell.BRIDGE).any())
        walls.append((cells == Cell.WALL).any())
        carried.append(worlds.inventory[world].any())
    assert set(worlds.side.tolist()) == {5, 6, 7, 8}
    assert set(merchants) == {2, 3, 4}
    for share in map(np.mean, (rivers, bridges, walls)):
        assert 0.2 < share < 0.9
    assert 0.5 < np.mean(carried) <= 1


def test_every_coordinate_of_a_program_lies_on_its_maps():
    batch = drawn_worlds("train", (5, 8))
    for world in range(batch.count):
        table = batch.tables[batch.worlds.program[world]]
        places = [call.words[-2:] for call in table.calls if call.operation in ("goto", "place")]
        assert max((max(place) for place in places), default=0) <= batch.worlds.side[world]


@pytest.mark.parametrize(("split", "sides"), [("train", (5, 8)), ("longer", (5, 8)), ("complex", (10, 12))])
def test_the_planner_finishes_every_drawn_world(split, sides):
    batch = drawn_worlds(split, sides, count=1000)
    assert set(batch.worlds.side.tolist()) == set(range(sides[0], sides[1] + 1))
    play_to_the_end(batch)
    assert (batch.outcome == Outcome.FINISHED).all()
    assert batch.worlds.time.min() >= 1
    assert batch.worlds.time.max() <= TIME_LIMIT


def test_large_maps_use_coordinates_that_small_ones_do_not_have():
    with pytest.raises(WorldError, match="side 5 to 8"):
        Batch([entry("goto(12, 10)")], 1)
    batch = Batch([entry("goto(12, 10)")], 4, sides=(10, 12), variants=4)
    batch.reset()
    assert batch.worlds.cells.shape == (4, 12, 12)
    assert (batch.worlds.side == 12).all()
    play_to_the_end(batch)
    assert (batch.worlds.agent == (9, 11)).all()
    assert (batch.outcome == Outcome.FINISHED).all()


def test_a_program_is_never_over_before_it_begins_in_a_drawn_world():
    batch = Batch([entry("goto(1, 1)")], 500, variants=500)
    batch.reset()
    assert (batch.worlds.agent != 0).any(axis=1).all()
    assert not batch.worlds.routine.any()


@pytest.mark.parametrize(
    "condition",
    [
        "is_there[river]",
        "is_there[bridge]",
        "is_there[wall]",
        "is_there[gold]",
        "agent[wood] >= 2",
        "agent[silver] == 0",
        "agent[circle] < 4",
        "env[iron] > 0",
        "env[triangle] == 4",
        "env[merchant] > 2",
        "env[merchant] <= 3",
        "env[wall] < 2",
    ],
)
@pytest.mark.parametrize("body", ["goto(1, 1)", "mine(wood)"])
def test_a_condition_is_true_in_some_worlds_of_a_program_and_false_in_others(condition, body):
    batch = Batch([entry(f"if {condition}:\n  {body}\nelse:\n  goto(5, 5)")], 400, variants=400)
    for variant in range(400):
        batch.place(variant, 0, variant)
    best, steps = batch.best_actions()
    assert (steps == 1).all()
    assert (best[:, [Action.TRUE, Action.FALSE]].sum(axis=1) == 1).all()
    assert 0.25 < best[:, Action.TRUE].mean() < 0.75


def test_worlds_offer_what_a_program_mines_and_not_only_that():
    batch = Batch([entry("mine(gold)")], 200, variants=200)
    for variant in range(200):
        batch.place(variant, 0, variant)
    assert (batch.worlds.counts[:, Cell.GOLD] > 0).all()
    others = [Cell[thing.upper()] for thing in OBJECTS if thing != "gold"]
    assert (batch.worlds.counts[:, others] > 0).mean() > 0.3


# --- which programs are drawn


def test_offer_restricts_the_programs_of_the_coming_episodes():
    batch = Batch(load_split("test")[:50], 16, time_limit=3)
    batch.seed(5)
    batch.offer(np.array([3, 11, 40], np.int32))
    seen = set()
    batch.reset()
    for _ in range(40):
        seen |= set(batch.worlds.program.tolist())
        batch.step_or_reset(np.zeros(16, np.int64))
    assert seen == {3, 11, 40}
    batch.offer(np.arange(50, dtype=np.int32))
    for _ in range(60):
        seen |= set(batch.worlds.program.tolist())
        batch.step_or_reset(np.zeros(16, np.int64))
    assert len(seen) > 40


def test_offered_programs_and_their_variants_are_drawn_equally_often():
    batch = Batch(load_split("test")[:10], 3000, variants=2)
    batch.offer(np.array([2, 5, 7], np.int32))
    batch.reset()
    shares = np.bincount(batch.worlds.program, minlength=10) / 3000
    assert np.flatnonzero(shares).tolist() == [2, 5, 7]
    assert (abs(shares[[2, 5, 7]] - 1 / 3) < 0.05).all()
    maps = {number: batch.worlds.cells[batch.worlds.program == number] for number in (2, 5, 7)}
    for cells in maps.values():
        first = (cells == cells[0]).all(axis=(1, 2)).mean()
        assert abs(first - 0.5) < 0.06


def test_reset_begins_anew_only_where_asked():
    batch = Batch(load_split("test")[:50], 10)
    batch.reset()
    for _ in range(4):
        batch.step(np.zeros(10, np.int64))
    before, where = shown(batch, 10), np.arange(10) % 3 == 0
    batch.reset(where)
    after = shown(batch, 10)
    assert (after["time"] == np.where(where, 0, before["time"])).all()
    assert all((after[name][~where] == before[name][~where]).all() for name in before)
    assert (before["time"][~where] > 0).all()


@pytest.mark.parametrize(
    "program",
    [
        "while agent[gold] < 99: mine(gold)",
        "while env[merchant] > 0: goto(1, 1)",
        "goto(9, 1)",
        "place(iron, 1, 12)",
        "while agent[river] == 0: mine(wood)",
    ],
)
def test_an_impossible_program_is_refused_by_its_text(program):
    with pytest.raises(WorldError, match="impossible") as refused:
        Batch([entry(program)], 1)
    assert "def run()" in str(refused.value)
    assert program.split("(")[0].split()[-1] in str(refused.value)


def test_an_impossible_program_among_others_is_never_drawn():
    entries = [entry("mine(gold)"), entry("while agent[gold] < 99: mine(gold)"), entry("goto(2, 2)")]
    batch = Batch(entries, 200)
    assert [batch.possible(number) for number in range(3)] == [True, False, True]
    batch.reset()
    assert set(batch.worlds.program.tolist()) == {0, 2}
    with pytest.raises(WorldError, match="impossible"):
        batch.place(0, 1)
    with pytest.raises(WorldError, match="impossible"):
        batch.offer(np.array([1], np.int32))


@pytest.mark.parametrize("variant", [-1, 3, 100])
def test_a_variant_that_does_not_exist_is_refused(variant):
    with pytest.raises(WorldError, match=f"variant {variant}"):
        Batch([entry("mine(gold)")], 1, variants=3).place(0, 0, variant)


def test_a_batch_needs_a_program():
    with pytest.raises(WorldError, match="at least one"):
        Batch([], 1)
