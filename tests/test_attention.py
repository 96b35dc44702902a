"""Attention between rows, positions, words and compared inputs, on tensors made by hand."""

import math

import pytest
import torch

from program_guided.models.attention import RowAttention, TableAttention
from program_guided.models.config import PaperConfig, PlusConfig
from program_guided.models.model import Sizes, Step
from program_guided.models.readers import Custom
from program_guided.models.semantics import Semantics, sinusoids
from program_guided.registry import build_model

pytestmark = pytest.mark.usefixtures("one_thread")


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_attention_between_rows_is_the_transformer_s():
    torch.manual_seed(0)
    ours, theirs = RowAttention(16, 4), torch.nn.MultiheadAttention(16, 4, batch_first=True)
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([each.weight for each in parts]))
    theirs.in_proj_bias.copy_(torch.cat([each.bias for each in parts]))
    theirs.out_proj.weight.copy_(ours.output.weight)
    theirs.out_proj.bias.copy_(ours.output.bias)
    queries, keys = 5 * torch.rand(3, 2, 16), 5 * torch.rand(3, 5, 16)
    allowed = torch.rand(3, 2, 5) < 0.6
    allowed[..., 0] = True
    watch = {}
    found = ours(queries, keys, allowed, watch, "rows")
    blocked = (~allowed).repeat_interleave(4, dim=0)
    expected, weights = theirs(queries, keys, keys, attn_mask=blocked, average_attn_weights=False)
    close(found, expected)
    close(watch["rows"], weights)


@torch.no_grad()
def test_a_null_key_is_attended_to_where_there_is_nothing_better():
    """Items whose scores are negative, and none at all: the count is relative to the best, which is the null key."""
    attention = TableAttention(8, 2, null_key=True, count_feature=True)
    attention.query.weight.copy_(torch.eye(8))
    attention.key.weight.copy_(-torch.eye(8))
    query, table = torch.rand(3, 8) + 0.5, torch.rand(4, 8) + 0.5
    index = torch.tensor([[[0], [1], [2]], [[3], [-1], [-1]], [[-1], [-1], [-1]]])
    watch = {}
    close(attention(query, table, index, watch=watch, name="items"), attention.plain(query, table, index))
    weights = watch["items"]
    assert (weights.sum(dim=2) < 0.95).all()
    assert (weights[1, :, 0] > 0).all()
    assert not weights[2].any()


def test_neighbours_differ_by_linear_frequencies_and_hardly_by_standard_ones():
    linear, standard = sinusoids(40, 32), sinusoids(40, 32, linear=False)
    for each in (linear, standard):
        close(each.square().sum(dim=1), torch.full((40,), 16.0))
    products = linear @ linear.T / 16
    assert (products - torch.eye(40))[:32, :32].abs().max() < 0.05, "orthogonal"
    assert (standard @ standard.T / 16)[0, 1] > 0.9
    close(standard[1, :2], torch.tensor([math.sin(1), math.cos(1)]))


def test_words_that_share_an_embedding_are_equal_and_no_others():
    torch.manual_seed(0)
    semantics = Semantics(5, 2, 4, shared=(2, 4))
    rows = semantics(torch.tensor([[1, 2], [1, 4], [1, 3], [0, 0]]))
    close(rows[0], rows[1])
    assert not torch.allclose(rows[0], rows[2])
    assert not rows[3].any()
    assert not Semantics(5, 2, 4, enabled=False)(torch.tensor([[1, 2]])).any()


def test_a_routine_is_the_sum_of_its_words_rows_in_the_table():
    torch.manual_seed(0)
    semantics, words = Semantics(5, 2, 4), torch.tensor([[[1, 2], [3, 0], [0, 0]]])
    table, index = semantics.table(), semantics.index(words)
    close(table[index[0, :2]].sum(dim=1), semantics(words)[0, :2])
    assert (index[0, 2] == -1).all(), "no routine"
    assert (index[0, :2] >= 0).all()


class Witness(torch.nn.Module):
    """A reader that finds nothing, and notes what it was given."""

    independent = True

    def __init__(self):
        super().__init__()
        self.given = []

    def encode(self, arrays):
        return arrays

    def prepare(self, specification, parents, exists, words):
        self.given.append((parents, exists, words))
        return specification

    def forward(self, query, view, block, watch=None):
        return torch.zeros_like(query)


SIZES = Sizes(tuple("abcdefgh"), 2, 1, 2, False, (("Boolean", 2), ("Integer", 4), ("Value", 1)))


def model_of(name, sizes=SIZES, **settings):
    torch.manual_seed(0)
    config = {"plus": PlusConfig, "paper": PaperConfig}[name](word_width=8, hidden=32, heads=4, blocks=1, **settings)
    return build_model(name, config, sizes, Custom(lambda sizes, width: Witness()))


def step_of(model, parents, pointed=2):
    random = torch.Generator().manual_seed(0)
    words = torch.tensor([[[1, 2], [3, 4], [5, 6]]])
    results = torch.randn(1, 3, model.width, generator=random)
    return Step(None, words, results, torch.tensor([[pointed]]), torch.tensor([[parents]]))


@torch.no_grad()
@pytest.mark.parametrize("name", ["plus", "paper"])
def test_without_semantic_guidance_the_reader_is_given_no_words(name):
    for enabled, expected in ((True, [5, 6]), (False, [0, 0])):
        model = model_of(name, semantics=enabled)
        model(step_of(model, [0, 1]))
        parents, exists, words = model.reader.given[-1]
        assert words[0, 0].tolist() == expected
        assert exists[0, 0].tolist() == [True, True]
        close(parents[0, 0], step_of(model, [0, 1]).results[0, :2])


@torch.no_grad()
@pytest.mark.parametrize("name", ["plus", "paper"])
def test_a_step_starts_from_the_routine_s_last_result_if_there_is_memory(name):
    for memory in (True, False):
        model = model_of(name, memory=memory)
        step = step_of(model, [0, -1])
        changed = step.results.clone()
        changed[0, 2] += 1
        again = model(Step(None, step.words, changed, step.pointed, step.parents))
        assert torch.allclose(again, model(step), atol=1e-5) == (not memory)


@torch.no_grad()
def test_two_inputs_are_compared_by_similarity_and_difference_of_their_values():
    model = model_of("plus")
    assert set(model.compared) == {"Boolean", "Integer"}, "not the value of a state"
    scores = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    decoded = {"Boolean": scores, "Integer": torch.tensor([[0.0, 9, 0, 0], [0.0, 9, 0, 0]])}
    model.decode = lambda rows, name: decoded[name][: rows.shape[2]].expand(1, 1, -1, -1)
    rows, parents = torch.zeros(1, 1, model.width), torch.zeros(1, 1, 2, model.width)

    def compared(*exists):
        return model.compare_inputs(rows, parents, torch.tensor([[exists]]))[0, 0]

    model.difference.weight.zero_()
    model.difference.bias.zero_()
    model.difference.weight[0, 0], model.difference.weight[1, 5] = 1.0, 1.0
    assert compared(True, True)[:2].tolist() == pytest.approx([0, 1], abs=1e-2), "booleans differ, integers are equal"
    model.scales["Boolean"].weight.copy_(torch.tensor([[1.0, 0.0]] * 4))
    model.difference.weight[0, :2] = torch.tensor([0.0, 1.0])
    assert compared(True, True)[0] == pytest.approx(1, abs=1e-2), "the first is true"
    decoded["Boolean"] = scores.flip(0)
    assert compared(True, True)[0] == pytest.approx(-1, abs=1e-2), "the second is true"
    for missing in ((True, False), (False, True)):
        assert not compared(*missing).any()


@torch.no_grad()
def test_the_routine_executed_before_is_not_compared():
    model = model_of("plus", Sizes(SIZES.vocabulary, 2, 1, 2, True, SIZES.results))
    rows, exists = torch.zeros(1, 1, model.width), torch.ones(1, 1, 3, dtype=torch.bool)
    parents = torch.randn(1, 1, 3, model.width)
    before = parents.clone()
    before[:, :, 0] += 3
    close(model.compare_inputs(rows, parents, exists), model.compare_inputs(rows, before, exists))
    assert not model.compare_inputs(rows, parents[:, :, :2], exists[:, :, :2]).any(), "a single input"
    codes = model._codes(3)
    assert not codes[0].any()
    close(codes[1:], model.places)


@torch.no_grad()
def test_rows_attend_to_their_own_words_at_first_and_positions_are_no_values():
    model = model_of("paper")
    words, watch = torch.tensor([[[number, number] for number in range(1, 7)]]), {}
    pointed = torch.tensor([[3]])
    model(Step(None, words, torch.zeros(1, 6, model.width), pointed, torch.tensor([[[-1]]])), watch)
    assert (watch["words 0"][0].mean(dim=0).argmax() == 3).all()
    program = model.read_program(Step(None, words, torch.zeros(1, 6, model.width), pointed, torch.tensor([[[-1]]])))
    close(program.values[program.index[0].long()].sum(dim=1), model.semantics(words)[0])
    keys = program.keys[program.index[0].long()].sum(dim=1)
    close(keys - model.semantics(words)[0], model.positions[:6])
    for block in model.blocks:
        close(block.words.key.weight, block.words.query.weight)
