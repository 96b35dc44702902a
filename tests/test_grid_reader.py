"""The readers of grids, part by part: cells as sums of table rows, counts, items, neighbours, paths, names."""

import pytest
import torch

from program_guided.models.model import Sizes
from program_guided.models.readers import grid
from program_guided.models.readers.config import CrossAttention, Grid
from program_guided.models.readers.grid import COUNTED, MAX_CARRIED, MAX_OFFSET, Cells, GridAttention, GridReader, Maps

SIDE, WIDTH, HEADS = 3, 16, 2
KINDS, ITEMS = ("flat", "gold", "wall"), ("gold", "wood")
FLAT, GOLD, WALL = 1, 2, 3
WORDS = ("", "mine", "gold", "wood", "wall")
SIZES = Sizes(WORDS, 2, 1, 0, True, (("Action", 4),))
MAP = [[FLAT, GOLD, WALL], [FLAT, FLAT, GOLD], [0, 0, 0]]

pytestmark = pytest.mark.usefixtures("one_thread")


def maps(cells=MAP, agent=(1, 0), inventory=(2, 0)):
    given = {"map": cells, "agent": agent, "inventory": inventory}
    kinds = {"map": torch.int8, "agent": torch.int8, "inventory": torch.int16}
    return Maps.read({name: torch.tensor([each], dtype=kinds[name]) for name, each in given.items()})


def reader(names=False, **parts):
    torch.manual_seed(0)
    return GridReader(Grid(KINDS, SIDE, ITEMS, names=names, plans=2, **parts), SIZES, WIDTH, HEADS, 16)


def attention(**changes):
    torch.manual_seed(0)
    return GridAttention(Grid(KINDS, SIDE, ITEMS), WIDTH, CrossAttention(heads=HEADS, blocks=1, hidden=16, **changes))


def nothing(rows=1):
    exists = torch.zeros(1, rows, 0, dtype=torch.bool)
    return torch.zeros(1, rows, 0, WIDTH), exists, torch.zeros(1, rows, 2, dtype=torch.long)


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("offsets", [True, False])
def test_a_cell_is_the_sum_of_its_kind_its_place_and_its_offset_to_the_agent(offsets):
    torch.manual_seed(0)
    cells = Cells(WIDTH, 16, Grid(KINDS, SIDE, ITEMS), offsets=offsets, normalised=True)
    table, index = cells.table(SIDE), cells.index(maps())[0].long()
    for number, found in enumerate(index):
        row, column = divmod(number, SIDE)
        kind = MAP[row][column]
        if kind == 0:
            assert (found == -1).all(), "there is no such cell"
            continue
        expected = cells.what(torch.eye(len(KINDS) + 1)[kind]) + cells.rows[row] + cells.columns[column]
        if offsets:
            one_hot = torch.eye(2 * MAX_OFFSET + 1)
            down, right = row - 1, column - 0
            expected = expected + cells.where(torch.cat([one_hot[down + MAX_OFFSET], one_hot[right + MAX_OFFSET]]))
        close(table[found].sum(dim=0), expected)


def test_cells_of_each_kind_and_items_are_counted_up_to_a_limit():
    assert reader()._amounts(maps(inventory=(2, 60)))[0, :, 0].tolist() == [0, 3, 2, 1, 2, COUNTED + 1]


@torch.no_grad()
def test_the_count_is_that_of_what_a_head_picks():
    network = reader()
    network.pick.weight.zero_()
    network.pick.bias.zero_()
    network.pick.bias.view(HEADS, -1)[0, GOLD], network.pick.bias.view(HEADS, -1)[1, 4] = 99.0, 99.0
    counts = network.count(torch.zeros(1, WIDTH), network._amounts(maps(inventory=(5, 0)))).view(HEADS, -1)
    for head, count in enumerate((2, 5)):
        assert counts[head, 0] == pytest.approx(count / COUNTED)
        assert (counts[head, 1:] > 0).tolist() == [step < count for step in range(COUNTED)]
    named = torch.zeros(1, HEADS, 6)
    named[:, :, FLAT] = 999.0
    more = network.count(torch.zeros(1, WIDTH), network._amounts(maps()), named).view(HEADS, -1)
    assert more[:, 0].tolist() == pytest.approx([3 / COUNTED] * 2)


@torch.no_grad()
def test_the_context_is_the_inventory_and_the_cells_beside_the_agent():
    network, amounts, kinds = reader(), MAX_CARRIED + 1, len(KINDS) + 1
    around = (FLAT, FLAT, 0, 0, FLAT)  # its own cell, up, down (off the map), left (off the map), right
    expected = network.carried.weight[0 * amounts + 2] + network.carried.weight[1 * amounts + MAX_CARRIED]
    for place, kind in enumerate(around):
        expected = expected + network.beside.weight[place * kinds + kind]
    close(network._context(maps(inventory=(2, 50)))[0], expected)


def path_to(network, *, kind=None, row=None, column=None, agent=(1, 0), cost=None, cells=MAP):
    """The advantages of up, down, left and right for the first head, whose goal is a kind, a row or a column."""
    kinds = len(KINDS) + 1
    with torch.no_grad():
        network.plan.weight.zero_()
        network.plan.bias.zero_()
        scores = network.plan.bias.view(-1, network.plans)
        for place, first in ((kind, 0), (row, 2 * kinds), (column, 2 * kinds + SIDE)):
            if place is not None:
                scores[first + place, 0] = 20.0
        if cost is not None:
            scores[kinds + cost, 0] = 10.0
        found = network.find_path(torch.zeros(1, WIDTH), maps(cells, agent)).view(5, network.plans)[:, 0]
    return found[0].item(), found[1:].tolist()


def test_paths_lead_to_the_goal_of_a_kind_a_row_or_a_column():
    network = reader()
    here, ways = path_to(network, kind=GOLD)
    assert here == pytest.approx(10 / 3), "clipped"
    assert ways[3] > 0 > max(ways[1], ways[2]), "right; down and left are off the map"
    _, ways = path_to(network, row=0)
    assert ways.index(max(ways)) == 0
    _, ways = path_to(network, column=2)
    assert ways.index(max(ways)) == 3
    assert max(abs(way) for way in ways) <= 3


def test_paths_lead_around_what_is_costly():
    network, cells = reader(), [[FLAT, GOLD, WALL], [FLAT, FLAT, FLAT], [0, 0, 0]]
    _, ways = path_to(network, kind=WALL, agent=(0, 0), cells=cells)
    assert ways[3] > 0 > ways[1], "straight over the gold"
    _, ways = path_to(network, kind=WALL, agent=(0, 0), cost=GOLD, cells=cells)
    assert ways[1] > 0 > ways[3], "around it"


def test_costs_are_positive(monkeypatch):
    """Values that could grow along a circle would never settle."""
    network, given = reader(), []
    monkeypatch.setattr(grid, "spread", lambda *tables: given.append(tables[-1]) or torch.zeros(1, 5, network.plans))
    with torch.no_grad():
        network.plan.bias.fill_(-50.0)
        network.find_path(torch.zeros(1, WIDTH), maps())
    assert given[0].min() > 0.04


@pytest.mark.parametrize("part", ["propagation", "counting", "context"])
def test_parts_can_be_left_out(part):
    network, less = reader(), reader(**{part: False})
    count = lambda model: sum(each.numel() for each in model.parameters())  # noqa: E731
    assert count(less) < count(network)
    query, none = torch.randn(1, 1, WIDTH), torch.zeros(1, 1, 0, WIDTH)
    view = less.prepare(maps(), none, torch.zeros(1, 1, 0, dtype=torch.bool), torch.zeros(1, 1, 2, dtype=torch.long))
    assert less(query, view, 0).shape == query.shape


@torch.no_grad()
def test_named_kinds_and_items_have_scores_of_their_own():
    network = reader(names=True)
    network.mean.weight.zero_()
    network.mean.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))  # kinds by head, items by head, goals
    named = network.prepare(maps(), *nothing()[:2], torch.tensor([[[1, 2]]])).named
    assert named[0].tolist() == [0, 0, 1, 0, 1, 0], "gold is a kind of cell and an item"
    to_pick, to_reach = network._named_scores(torch.zeros(1, WIDTH), named)
    assert to_pick[0].tolist() == [[0, 0, 1, 0, 3, 0], [0, 0, 2, 0, 4, 0]]
    assert to_reach[0].tolist() == [[0, 0], [0, 0], [5, 6], [0, 0]]
    assert network.named_words == [2, 3, 4]
    assert reader().names is None


@torch.no_grad()
def test_every_count_of_every_item_has_a_row_of_its_own():
    network, carrying = attention(), maps(inventory=(3, 99))
    view = network.prepare(carrying, *nothing())
    first, amounts = len(network.cells.table(SIDE)), MAX_CARRIED + 1
    items = view.index[0, SIDE * SIDE :].long()
    assert items.tolist() == [[first + 1 + 3, *[first] * 3], [first + 1 + amounts + MAX_CARRIED, *[first] * 3]]
    assert not view.table[first].any()
    one_hot = torch.cat([torch.eye(2)[1], torch.eye(amounts)[MAX_CARRIED]])
    close(view.table[items[1, 0]], network.carried(one_hot))
    added = attention(inventory_items=False)
    close(added.prepare(carrying, *nothing()).inventory, added.carried(torch.tensor([[3.0, 99.0]])))


@torch.no_grad()
def test_half_of_the_heads_do_not_see_positions():
    view = attention().prepare(maps(), *nothing())
    kinds, places = len(KINDS) + 1, len(attention().cells.table(SIDE))
    assert view.visible[:kinds].all()
    assert view.visible[places:].all()
    assert not view.visible[kinds:places, 0].any()
    assert view.visible[kinds:places, 1].all()
    assert attention(position_free_heads=False).prepare(maps(), *nothing()).visible is None


@torch.no_grad()
@pytest.mark.parametrize("network", [reader(), reader(names=True), attention()], ids=["plus", "names", "paper"])
def test_rows_of_one_map_are_read_by_themselves(network):
    query, words = torch.rand(1, 3, WIDTH), torch.tensor([[[1, 2], [1, 3], [0, 0]]])
    together = network(query, network.prepare(network_maps := maps(), *nothing(3)[:2], words), 0)
    for row in range(3):
        view = network.prepare(network_maps, *nothing()[:2], words[:, [row]])
        close(network(query[:, [row]], view, 0), together[:, [row]])
    assert network.parts(network_maps)[0].tolist() == [True] * 6 + [False] * 3
    assert network_maps.about(torch.tensor([0, 0])).kinds.shape == (2, 9)
