"""The readers of objects, part by part: ranges, places, pairs and the respects in which they are compared, masks."""

from dataclasses import replace

import pytest
import torch

from program_guided.models.model import Sizes
from program_guided.models.readers import objects as reading
from program_guided.models.readers.config import CrossAttention, Objects
from program_guided.models.readers.objects import (
    BOX,
    LINK,
    RELATIONS,
    ObjectAttention,
    ObjectReader,
    Places,
    PrincipalComponents,
    Ranges,
    Scene,
)

WIDTH, HEADS, BLOCKS, HIDDEN = 32, 4, 2, 16
VOCABULARY = ("", "same", "left", "color", "size", "red", "blue")
SAME, LEFT, COLOR, SIZE, RED, BLUE = range(1, 7)
SIZES = Sizes(VOCABULARY, 2, 1, 2, False, (("Objects", None), ("Boolean", 2)))
POSITIONS = (0, 1, 2, 3, BOX)

pytestmark = pytest.mark.usefixtures("one_thread")


def arrays_of(count=1, objects=4, features=3, positions=2, seed=0):
    """Random objects, all of which exist."""
    random = torch.Generator().manual_seed(seed)
    arrays = {"features": torch.rand(count, objects, features, generator=random)}
    if positions == BOX:
        low = torch.rand(count, objects, 2, generator=random) / 2
        arrays["boxes"] = torch.cat([low, low + 0.1 + torch.rand(count, objects, 2, generator=random) / 3], dim=2)
    elif positions:
        arrays["positions"] = torch.rand(count, objects, positions, generator=random)
    return arrays | {"exists": torch.ones(count, objects, dtype=torch.bool)}


def reader_of(features=3, positions=2, sizes=SIZES, seed=0):
    torch.manual_seed(seed)
    reader = ObjectReader(Objects(features, positions), sizes, WIDTH, HEADS, BLOCKS, HIDDEN)
    torch.nn.init.zeros_(reader.row.bias)  # else it would prefer some places in the list
    torch.nn.init.constant_(reader.least, -20.0)  # sure of what was not found
    return reader


def silent(reader):
    """A reader whose words and operations mean nothing yet, so that a test can give them a meaning."""
    with torch.no_grad():
        for part in (reader.word, reader.gate, reader.operation, reader.turned):
            part.weight.zero_()
    return reader


def rows_marking(reader, *found):
    """(1, 1, parents, width) results of parents, each of which has found these objects."""
    marks = [sum((40 * reader.code[number] for number in each), torch.zeros(WIDTH)) for each in found]
    return torch.stack(marks)[None, None]


def prepared(reader, scene, *found, words=(0, 0)):
    parents = rows_marking(reader, *found) if found else torch.zeros(1, 1, 0, WIDTH)
    exists = torch.ones(1, 1, len(found), dtype=torch.bool)
    return reader.prepare(scene, parents, exists, torch.tensor([[words]]))


def relating(reader, view):
    """Probabilities that objects stand in the first relation to any found one, and those of pairs: that it fails
    between found ones, that it holds between the first and the second input."""
    relations = view.words[..., view.scene.objects.shape[2] + 1 :]
    weights = torch.zeros(1, 1, RELATIONS, view.words.shape[2])
    weights[..., 0] = 1.0  # the operation's word
    reached, among = reader._relate(weights, relations, view)
    return reached[0, 0, 0], among[0, 0, 0], among[0, 0, RELATIONS]


def close(one, other, tolerance=1e-5):
    torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


# Ranges, places, components --------------------------------------------------------------------------------------


def test_ranges_are_those_of_the_objects_that_exist():
    ranges = Ranges(Objects(features=2, positions=2))
    arrays = {
        "features": torch.tensor([[[1.0, 5.0], [3.0, 5.0], [99.0, 99.0]]]),
        "positions": torch.tensor([[[-1.0, 0.0], [1.0, 4.0], [99.0, 99.0]]]),
        "exists": torch.tensor([[True, True, False]]),
    }
    ranges.fit(arrays)
    found = ranges(arrays)
    assert found["features"].tolist() == [[[0, 0], [1, 0], [0, 0]]], "a constant stays, what does not exist is 0"
    assert found["positions"].tolist() == [[[0, 0], [1, 1], [0, 0]]]
    assert torch.equal(found["exists"], arrays["exists"])


def test_boxes_and_long_vectors_are_not_scaled():
    assert Ranges(Objects(reading.RAW_FEATURES, BOX)).scaled == ["features"]
    assert Ranges(Objects(reading.RAW_FEATURES + 1, 3)).scaled == ["positions"]
    assert Ranges(Objects(2, 0)).scaled == ["features"]
    ranges, arrays = Ranges(Objects(reading.RAW_FEATURES + 1, BOX)), arrays_of(features=65, positions=BOX)
    ranges.fit(arrays)
    assert all(torch.equal(found, arrays[name]) for name, found in ranges(arrays).items())


def test_components_are_the_directions_of_greatest_variance_the_greatest_first():
    vectors = torch.zeros(40, 3)
    vectors[:, 1], vectors[:, 0] = torch.linspace(-5, 5, 40), torch.linspace(-1, 1, 40)[torch.randperm(40)]
    components = PrincipalComponents(3, 2, 4)
    components.fit(vectors + 7)
    found = components.components.abs()
    assert found.argmax(dim=1).tolist() == [1, 0]
    close(found.amax(dim=1), torch.ones(2), 0.05)
    more = PrincipalComponents(2, 5, 4)
    more.fit(vectors[:, :2])
    assert more.components[2:].abs().sum() == 0, "there are no more than numbers"


def test_products_are_those_of_each_program_s_own_specification():
    random = torch.Generator().manual_seed(0)
    of = torch.tensor([2, 0, 2, 2, 0])
    rows, matrices = torch.rand(5, 3, 4, generator=random), torch.rand(3, 4, 6, generator=random)
    places = Places.among(of, 3)
    close(places.times(rows, matrices), torch.stack([rows[i] @ matrices[of[i]] for i in range(5)]))
    assert places.max_programs == 3
    assert sorted(places.slot.tolist()) == sorted(set(places.slot.tolist())), "each has a slot of its own"
    assert Places.among(of[:0], 3).times(rows[:0], matrices).shape == (0, 3, 6)


def test_programs_can_be_about_any_of_the_specifications_more_than_once():
    arrays = arrays_of(count=3)
    arrays["exists"][1, 2:] = arrays["exists"][0, 1:] = False
    scene = reader_of().encode(arrays)
    about = scene.about(torch.tensor([1, 1, 0])).about(torch.tensor([2, 1]))
    assert about.exists.tolist() == [[True] * 4, [True, True, False, False]]
    assert about.places.of.tolist() == [2, 1]
    close(about.own(about.objects), scene.objects[[2, 1]])


# Positions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
def test_features_of_positions_have_their_sizes(positions):
    if positions:
        where = reading._positions(arrays_of(positions=positions))
        assert reading._placed(where).shape == (1, 4, reading._placed_size(positions))
        assert reading._ordered(where).shape == (1, 4, 4, reading._ordered_size(positions))
        assert reading._related(where).shape == (1, 4, 4, reading._related_size(positions))
    assert reading._ordered_size(0) == 0


def test_positions_between_lines_are_seen():
    point = reading._placed(torch.tensor([[[0.1], [0.5], [0.9]]]))[0]
    assert point[:, 0].tolist() == pytest.approx([0.1, 0.5, 0.9])
    assert point[:, 1:].sign().tolist() == [[-1, -1], [1, -1], [1, 1]]
    box = reading._placed(torch.tensor([[[0.0, 0.5, 0.2, 0.9]]]))[0, 0]
    close(box[4:9], torch.tensor([0.1, 0.7, 0.2, 0.4, 0.08]))  # centre, sides, area
    assert box[9::2].sign().tolist() == [-1] * 5, "left of all lines"
    assert box[10::2].sign().tolist()[:3] == [1] * 3, "below three of them"


def test_the_order_of_two_objects_has_a_sign():
    where = torch.tensor([[[0.1, 0.8], [0.5, 0.2]]])
    ordered = reading._ordered(where)[0]
    assert ordered[0, 1].sign().tolist() == [1, -1, 1, -1], "the second is to the right, and above"
    close(ordered[0, 1], -ordered[1, 0])
    assert not ordered[0, 0].any()
    nearly = reading._order_of(torch.tensor([0.500]), torch.tensor([0.504]))
    assert nearly[1] > 4 * nearly[0] > 0.3, "small offsets are seen on a finer scale"


def test_the_order_of_two_boxes_is_that_of_their_edges_and_sides():
    small, large = torch.tensor([0.4, 0.4, 0.5, 0.5]), torch.tensor([0.1, 0.3, 0.7, 0.6])
    order = reading._order_of(small, large)
    assert order[:4].sign().tolist() == [-1, -1, 1, 1], "it reaches further in all directions"
    assert order[4:7].tolist() == pytest.approx([1, 1, 1], abs=1e-3), "wider, taller, larger"
    assert reading._order_of(large, small)[4:7].tolist() == pytest.approx([-1, -1, -1], abs=1e-3)
    assert order[7:15].sign().tolist() == [1, 1, -1, -1] * 2, "they overlap: its right is right of the other's left"
    assert order[15].item() == pytest.approx(1), "the smaller one lies in the larger one"
    assert (order[16:] < -0.9).all(), "there is no gap between them"
    flat = torch.tensor([0.4, 0.4, 0.4, 0.4])
    assert reading._order_of(flat, large).isfinite().all()


def test_relations_hold_offsets_distances_and_places_in_each_other_s_box():
    related = reading._related(torch.tensor([[[0.0, 0.0], [0.3, 0.4]]]))[0]
    close(related[0, 1, :2], torch.tensor([0.3, 0.4]))
    close(related[0, 1, -1], torch.tensor(0.5), 1e-3)
    close(related[0, 1, :-1], -related[1, 0, :-1])
    host, guest = torch.tensor([0.0, 0.0, 0.4, 0.2]), torch.tensor([0.2, 0.1, 0.4, 0.2])
    close(reading._offset(host, guest), torch.tensor([0.75, 0.75]))
    close(reading._offset(guest, host), torch.tensor([0.0, 0.0]))
    close(reading._offset(host, guest + 9), torch.tensor([3.0, 3.0]))
    boxes = reading._related(torch.stack([host, guest])[None])[0]
    close(boxes[0, 1, 16:20], torch.tensor([0.75, 0.75, 0.0, 0.0]))
    close(boxes[0, 1, 20:], torch.tensor([0.5, 0.5]).log())
    close(boxes[0, 1, :4], guest - host)


# Small functions -------------------------------------------------------------------------------------------------


def test_a_count_is_encoded_by_the_thresholds_that_it_exceeds():
    for count in (0, 3, 10):
        found = reading._thresholds(torch.tensor([float(count)]))[0]
        assert found[0] == pytest.approx(count / 10)
        assert (found[1:] > 0).tolist() == [step < count for step in range(10)]
        assert found[1:].abs().min() > 0.7


def test_logits_are_clipped_smoothly():
    logits = torch.tensor([-500.0, -1.0, 0.0, 0.1, 500.0], requires_grad=True)
    clipped = reading._soft_clip(logits)
    assert clipped.tolist() == pytest.approx([-5, -0.9806, 0, 0.1, 5], abs=1e-3)
    clipped.sum().backward()
    assert (logits.grad > 0).all()


def test_the_deviation_is_that_of_the_objects_found():
    scene = Scene(torch.zeros(1, 3, 1), torch.ones(1, 3, dtype=torch.bool), Places.among(torch.tensor([0]), 1))
    scene = replace(scene, values=torch.tensor([[[0.0, 5.0], [4.0, 5.0], [100.0, 100.0]]]))
    found = reading._deviation(torch.tensor([[[5e4, 5e4, 0.0]]]), scene)[0, 0]
    close(found, torch.tensor([4.01, 0.01]).sqrt(), 1e-3)


def test_a_head_reads_its_own_part_of_the_values():
    reader, scene = reader_of(), reader_of().encode(arrays_of())
    weights = torch.rand(1, 2, HEADS, 4)
    found = reader._values(weights, scene)
    values = scene.values[0].view(4, HEADS, -1)
    close(found[0], torch.einsum("rhn,nhd->rhd", weights[0], values))


# What parents have found -----------------------------------------------------------------------------------------


def test_the_objects_that_a_parent_has_marked_are_found_and_no_others():
    reader, scene = reader_of(), reader_of().encode(arrays_of())
    found = prepared(reader, scene, [1], [0, 3]).found
    assert (found[0, 0] > 0.5).tolist() == [[False, True, False, False], [True, False, False, True]]
    missing = torch.tensor([[[True, False]]])
    view = reader.prepare(scene, rows_marking(reader, [1], [0, 3]), missing, torch.zeros(1, 1, 2, dtype=torch.long))
    assert not view.found[0, 0, 1].any(), "a parent that is not there has found nothing"
    assert reader.prepare(scene, *_none(), torch.zeros(1, 1, 2, dtype=torch.long)).found.shape == (1, 1, 2, 4)


def _none():
    return torch.zeros(1, 1, 0, WIDTH), torch.zeros(1, 1, 0, dtype=torch.bool)


def test_objects_that_do_not_exist_are_never_found_or_pointed_at():
    reader, arrays = reader_of(), arrays_of()
    arrays["exists"][0, 1:] = False
    scene = reader.encode(arrays)
    assert (prepared(reader, scene, [0, 1]).found[0, 0, 0] > 0.5).tolist() == [True, False, False, False]
    scores = reader.point(rows_marking(reader, [0, 1])[0], scene)
    assert scores.shape == (1, 1, 5)
    assert (scores[0, 0, 1:4] < -1e8).all()
    assert reader.parts(scene).tolist() == [[True, False, False, False]]


def test_without_structure_guidance_what_all_parents_have_found_is_averaged():
    reader, scene = reader_of(), reader_of().encode(arrays_of())
    parents = rows_marking(reader, [0], [0], [1], [])
    exists = torch.tensor([[[True, True, True, False]]])
    found = reader.prepare(scene, parents, exists, torch.zeros(1, 1, 2, dtype=torch.long)).found
    assert found.shape == (1, 1, reader.slots, 4)
    assert found[0, 0, 0, :2].tolist() == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert not found[0, 0, 1:].any()


# Pairs, in the respects that words name --------------------------------------------------------------------------

THINGS = {
    "features": torch.tensor([[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]]),  # color, size
    "positions": torch.tensor([[[0.1, 0.1], [0.4, 0.4], [0.6, 0.6], [0.9, 0.9]]]),
    "exists": torch.ones(1, 4, dtype=torch.bool),
}


def comparing(coordinate=None, left=False):
    """A reader that knows one relation: same in a coordinate of the features, or to the left."""
    reader = silent(reader_of(features=2))
    scene = reader.encode(THINGS)
    first = scene.objects.shape[2] + 1 + HIDDEN // 4  # attributes and bias, then what was learned of pairs
    with torch.no_grad():
        if left:
            reader.word.weight[LEFT, first] = -4.0
        else:
            reader.word.weight[SAME, first + 4 + coordinate], reader.word.weight[SAME, -1] = -9.0, 0.5
    return reader, scene


@pytest.mark.parametrize(("coordinate", "equal"), [(0, [True, True, False, False]), (1, [True, False, True, False])])
def test_objects_are_compared_in_the_respect_that_a_word_names(coordinate, equal):
    reader, scene = comparing(coordinate)
    reached, fails, holds = relating(reader, prepared(reader, scene, [0], [1], words=(SAME, 0)))
    reached, _, _ = relating(reader, prepared(reader, scene, [0], words=(SAME, 0)))
    assert (reached > 0.5).tolist() == equal
    assert bool(fails > 0.5) == (not equal[1])
    assert bool(holds > 0.5) == equal[1]


def test_raw_features_are_compared_by_their_squared_difference():
    reader = reader_of(features=2)
    pairs = reader.encode(THINGS).pairs.view(4, 4, -1)
    differences = (THINGS["features"][0][:, None] - THINGS["features"][0][None]).square()
    scale = (HIDDEN // 4 + reader.direct) ** 0.5
    close(pairs[..., -2:], differences * scale)
    long = reader_of(features=reading.RAW_FEATURES + 1)
    assert long.raw == 0
    assert long.encode(arrays_of(features=65)).pairs.shape[2] == HIDDEN // 4 + 4


def test_a_relation_has_a_direction_and_a_word_of_the_operation_inverts_it():
    reader, scene = comparing(left=True)
    reached, _, holds = relating(reader, prepared(reader, scene, [1], [3], words=(LEFT, 0)))
    assert not holds > 0.5, "from the first to the second it is to the right"
    reached, _, _ = relating(reader, prepared(reader, scene, [1], words=(LEFT, 0)))
    assert (reached > 0.6).tolist() == [True, False, False, False]
    _, _, holds = relating(reader, prepared(reader, scene, [3], [1], words=(LEFT, 0)))
    assert holds > 0.5
    with torch.no_grad():
        reader.turned.weight[LEFT] = -1.0
    view = prepared(reader, scene, [1], words=(LEFT, 0))
    assert view.direction.item() == pytest.approx(-1, abs=1e-3)
    reached, _, _ = relating(reader, view)
    assert (reached > 0.6).tolist() == [False, False, True, True]
    with torch.no_grad():
        reader.turned.weight[RED] = -1.0
    assert prepared(reader, scene, [1], words=(SAME, RED)).direction.item() > 0.7, "an argument does not invert"


def test_a_relation_is_to_any_of_the_objects_found_and_to_none_without_parents():
    reader, scene = comparing(0)
    reached, _, _ = relating(reader, prepared(reader, scene, [1, 2], words=(SAME, 0)))
    assert (reached > 0.5).all()
    reached, fails, holds = relating(reader, prepared(reader, scene, words=(SAME, 0)))
    assert not reached.any()
    assert (fails.item(), holds.item()) == (0, 0)


def test_words_that_occur_together_are_respects_of_a_comparison():
    reader = reader_of()
    before = reader.gate.weight.detach().clone()
    together = torch.zeros(len(VOCABULARY), len(VOCABULARY), dtype=torch.bool)
    together[COLOR, [RED, BLUE]] = True
    reader.link_words(together)
    close(reader.gate.weight - before, LINK * together.float())


def gated(concepts, respect):
    """A reader and a scene of three objects of which these words are true (1) or false (-1), compared by one word."""
    reader = silent(reader_of(features=2))
    arrays = {"features": torch.zeros(1, 3, 2), "positions": torch.full((1, 3, 2), 0.5)}
    scene = reader.encode(arrays | {"exists": torch.ones(1, 3, dtype=torch.bool)})
    truths = torch.zeros(1, 3, len(VOCABULARY))
    truths[0, :, [RED, SIZE]] = torch.tensor(concepts, dtype=torch.float32)
    with torch.no_grad():
        reader.gate.weight[SAME, respect] = 1.0
    return reader, replace(scene, concepts=truths, pairs=torch.zeros_like(scene.pairs))


CONCEPTS = ((1, 1), (1, -1), (-1, 1))


@pytest.mark.parametrize(("respect", "expected"), [(RED, [True, True, False]), (SIZE, [True, False, True])])
def test_objects_are_compared_by_the_words_that_are_true_of_both(respect, expected):
    reader, scene = gated(CONCEPTS, respect)
    reached, _, _ = relating(reader, prepared(reader, scene, [0], words=(SAME, 0)))
    assert (reached > 0.5).tolist() == expected
    weights = torch.zeros(1, 1, RELATIONS, 2)
    weights[..., 0] = 1.0
    for other in (1, 2):
        view = prepared(reader, scene, [0], [other], words=(SAME, 0))
        found = reader._compare(weights, torch.zeros(1, 1, 4), view)[0, 0]
        assert bool(found[0] > 0.5) == bool(found[0] > -0.5) == expected[other], "agreement"
        assert bool(found[RELATIONS] < 0.5) == expected[other], "disagreement among all"


def test_comparing_does_not_change_what_words_mean():
    reader = reader_of(features=2)
    reader.encode(THINGS).concepts.sum().backward()
    assert reader.word.weight.grad is None or not reader.word.weight.grad.any()
    assert reader.concept_bias.grad.all()


def test_the_two_inputs_are_ordered_in_space_and_the_preferred_one_s_value_is_given():
    reader, scene = silent(reader_of(features=2)), reader_of(features=2).encode(THINGS)
    weights, order = torch.zeros(1, 1, RELATIONS, 2), reading._ordered_size(2)
    nothing = torch.zeros(1, 1, order)
    at = slice(2 * RELATIONS, 2 * RELATIONS + order)

    def compared(*found, preference=nothing):
        return reader._compare(weights, preference, prepared(reader, scene, *found, words=(SAME, 0)))[0, 0]

    assert (compared([0], [3])[at] > 0.9).all()
    assert (compared([3], [0])[at] < -0.9).all()
    assert not compared([0], [])[at].any(), "one of them is missing"
    assert not compared([0], [])[at.stop :].any()
    with torch.no_grad():
        second, first = (compared([0], [3], preference=sign * torch.ones(1, 1, order)) for sign in (9, -9))
    share = 1 / (1 + reading.NULL_WEIGHT)
    close(second[at.stop :], share * scene.values[0, 3], 1e-3)
    close(first[at.stop :], share * scene.values[0, 0], 1e-3)


def test_the_routine_executed_before_is_no_input():
    reader = silent(reader_of(features=2, sizes=replace(SIZES, sequential=True)))
    scene = reader.encode(THINGS)
    assert (reader.first_input, reader.slots) == (1, 3)
    view = prepared(reader, scene, [2], [0], [3], words=(SAME, 0))
    order = slice(2 * RELATIONS, 2 * RELATIONS + 4)
    found = reader._compare(torch.zeros(1, 1, RELATIONS, 2), torch.zeros(1, 1, 4), view)[0, 0, order]
    assert (found > 0.9).all(), "from the first input to the second"


# The whole reader ------------------------------------------------------------------------------------------------


def read(reader, arrays, found=((1,), (2,)), words=(SAME, RED), block=0):
    watch = {}
    scene = reader.encode(arrays)
    view = prepared(reader, scene, *found, words=words)
    query = torch.rand(1, 1, WIDTH, generator=torch.Generator().manual_seed(3))
    return reader(query, view, block, watch), watch[f"objects {block}"]


@torch.no_grad()
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_order_of_objects_does_not_matter(positions):
    reader, arrays = reader_of(positions=positions), arrays_of(positions=positions)
    reader.mark.zero_()  # it says which objects were picked, by their place
    order = torch.tensor([2, 0, 3, 1])
    result, picked = read(reader, arrays)
    permuted = {name: array[:, order] for name, array in arrays.items()}
    again, repicked = read(reader, permuted, found=((3,), (0,)))
    close(again, result, 1e-4)
    close(repicked, picked[..., order], 1e-4)
    assert (picked.amax(dim=3) - picked.amin(dim=3)).max() > 1e-3, "the objects do differ"


@torch.no_grad()
@pytest.mark.parametrize("positions", POSITIONS)
def test_objects_that_do_not_exist_change_nothing(positions):
    reader, arrays = reader_of(positions=positions), arrays_of(positions=positions)
    result, picked = read(reader, arrays)
    other = arrays_of(positions=positions, seed=5)
    longer = {name: torch.cat([array, other[name][:, :3]], dim=1) for name, array in arrays.items()}
    longer["exists"][:, 4:] = False
    again, repicked = read(reader, longer)
    close(again, result)
    close(repicked[..., :4], picked)
    assert not repicked[..., 4:].any()


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_scene_without_objects_is_read(positions):
    reader, arrays = reader_of(positions=positions), arrays_of(positions=positions, objects=1)
    arrays = {name: torch.zeros_like(array) for name, array in arrays.items()}
    result, picked = read(reader, arrays, found=((0,), (0,)))
    assert result.isfinite().all()
    assert not picked.any()
    result.sum().backward()
    assert all(each.grad is None or each.grad.isfinite().all() for each in reader.parameters())


@torch.no_grad()
def test_the_objects_that_the_first_head_picks_are_marked_and_can_be_pointed_at():
    reader = silent(reader_of(features=2))
    reader.join.weight.zero_()
    reader.join.bias.zero_()
    scene = reader.encode(THINGS)
    attribute = scene.objects[0] - scene.objects[0].mean(dim=0)
    reader.word.weight[RED, : scene.objects.shape[2]] = 40 * attribute[2]
    result, picked = read(reader, THINGS, found=(), words=(RED, 0))
    close(result[0, 0], reader.mark * picked[0, 0, 0] @ reader.code[:4])
    scores = reader.point(result, scene)[0, 0, :4]
    close(scores, (reader.code[:4] @ result[0, 0]) + reader.least)
    assert int(scores.argmax()) == int(picked[0, 0, 0].argmax())


def test_marks_have_a_gradient_where_nothing_is_picked(monkeypatch):
    results, gradients = [], []
    for leak in (reading.LEAK, 0.0):
        monkeypatch.setattr(reading, "LEAK", leak)
        reader = reader_of()
        with torch.no_grad():
            reader.score.bias.fill_(-1e4)
            reader.join.weight.zero_()
        result, picked = read(reader, arrays_of(), found=())
        assert picked.max() < 0.01
        result.sum().backward()
        results.append(result.detach())
        gradients.append(reader.word.weight.grad[RED].norm())
    close(*results)
    assert gradients[0] > 2 * gradients[1]


@torch.no_grad()
def test_counts_grow_with_the_objects_picked_and_found():
    """The reader's output depends on how many there are, not only on their mean."""
    reader = reader_of()
    one = {name: array[:, :1] for name, array in arrays_of().items()}
    many = {name: array.expand(-1, 5, *array.shape[2:]) for name, array in one.items()}
    reader.mark.zero_()
    few, _ = read(reader, one, found=((0,),))
    more, _ = read(reader, many, found=((0, 1, 2),))
    assert (few - more).abs().max() > 0.1


@torch.no_grad()
def test_softmax_attention_is_restricted_to_what_the_parents_have_found():
    reader, scene = reader_of(), reader_of().encode(arrays_of())
    scene = replace(scene, values=torch.eye(4, HIDDEN)[None], keys=torch.zeros_like(scene.keys))
    found = prepared(reader, scene, [2], []).found
    query, inside = torch.zeros(1, 1, WIDTH), torch.zeros(1, 1, HEADS)
    free = reader._attend(query, scene, found, inside - 5)[0, 0, :4]
    close(free, torch.full((4,), 0.25))
    inside = reader._attend(query, scene, found, inside + 1)[0, 0, :4]
    assert inside[2] > 0.95


# Attention and nothing else --------------------------------------------------------------------------------------


def attention_of(positions=2, null_key=True):
    torch.manual_seed(0)
    return ObjectAttention(
        Objects(3, positions), WIDTH, CrossAttention(heads=HEADS, blocks=1, hidden=16, null_key=null_key)
    )


@torch.no_grad()
@pytest.mark.parametrize("null_key", [True, False])
@pytest.mark.parametrize("positions", POSITIONS)
def test_attention_leaves_out_what_does_not_exist(positions, null_key):
    reader, arrays, watch = attention_of(positions, null_key), arrays_of(positions=positions), {}
    arrays["exists"][0, 2:] = False
    scene = reader.encode(arrays)
    query = torch.rand(1, 3, WIDTH)
    result = reader(query, reader.prepare(scene, *_none(), torch.zeros(1, 1, 2, dtype=torch.long)), 0, watch)
    weights = watch["objects 0"]
    assert weights.shape == (1, 3, HEADS, 4), "without the null object"
    assert not weights[..., 2:].any()
    assert (weights[..., :2] > 0).all()
    total = weights.sum(dim=3)
    assert (total < 1).all() if null_key else torch.allclose(total, torch.ones(1, 3, HEADS))
    short = {name: array[:, :2] for name, array in arrays.items()}
    close(reader(query, reader.encode(short), 0), result)


@torch.no_grad()
def test_an_object_of_attention_has_a_code_of_its_place_and_is_pointed_at_if_it_exists():
    reader, arrays = attention_of(), arrays_of()
    arrays["exists"][0, 3] = False
    scene = reader.encode(arrays)
    close(scene.objects - reader.objects(reader.ranges(arrays)), reader.code[:4][None])
    scores = reader.point(torch.rand(1, 2, WIDTH), scene)
    assert scores.shape == (1, 2, 5)
    assert (scores[..., 3] < -1e8).all()
    assert scores[..., [0, 1, 2, 4]].abs().max() < 1e3
    assert reader.parts(scene).tolist() == [[True, True, True, False]]


@torch.no_grad()
def test_attention_without_objects_is_finite_with_a_null_key():
    reader, arrays = attention_of(), arrays_of(objects=1)
    arrays["exists"][:] = False
    assert reader(torch.rand(1, 1, WIDTH), reader.encode(arrays), 0).isfinite().all()
