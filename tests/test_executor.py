"""The executor: its forms are equal, shortcuts are exact, inputs are ordered, padding changes nothing."""

from dataclasses import dataclass, fields
from random import Random

import numpy as np
import pytest
import torch
from domains import ERRANDS, minecraft_model
from parallel import advance_parallel, start_parallel

from program_guided.language import (
    BOOLEAN,
    Choice,
    Domain,
    Input,
    Operation,
    Pointer,
    Shape,
    UniformVocabulary,
    Vocabulary,
    parse,
    sample_program,
)
from program_guided.language.pointer import advance, start
from program_guided.language.table import Kind, compile_program
from program_guided.learning import executor_agent
from program_guided.learning.examples import programs_of, tensors_of
from program_guided.learning.execution import TRUE, Programs, WorldExecution, _advance, execute, follow, infer
from program_guided.learning.executor_agent import ExecutorAgent
from program_guided.learning.observation import Observation
from program_guided.models.attention import TableAttention
from program_guided.models.config import ExecutorConfig, PaperConfig
from program_guided.models.model import Sizes, Step
from program_guided.models.readers import Custom, Grid, Objects, Sequence
from program_guided.models.semantics import structure
from program_guided.registry import build_model, model_config
from program_guided.tasks.minecraft.agents import placed
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.executor import MinecraftExecutor
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.world.batch import Batch
from program_guided.tasks.minecraft.world.rules import Outcome

MODELS = ("paper", "plus")
SMALL = {"word_width": 8, "hidden": 32, "heads": 4}


@pytest.fixture(params=MODELS)
def model(request):
    torch.manual_seed(0)
    return minecraft_model(request.param, **SMALL).eval()


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def specification_of(model, batch):
    return model.reader.encode(tensors_of(batch.observe().specification))


def pointed_row(model, batch, watch=None):
    """The new rows of Z of all worlds at the beginning of their programs."""
    return infer(model, WorldExecution(model, batch).observe(), watch)[1]


# In the world ----------------------------------------------------------------------------------------------------

OWN = [each.name for each in fields(PaperConfig) if each.name not in ExecutorConfig.__dataclass_fields__]
LITERAL = {name: False for name in OWN if name != "released"}
RELEASED = [{}, {"structure": False}, {"memory": False}, {"projections": False}, {"blocks": 1}]
VARIANTS = {"whole": {}, "no P^t": {"structure": False}, "no P^s": {"semantics": False}, "no memory": {"memory": False}}


def test_every_addition_to_the_paper_s_equations_has_a_switch():
    assert len(LITERAL) == 14
    assert all(getattr(PaperConfig(), name) is True for name in LITERAL)


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(pytest.param(name, VARIANTS[each], id=f"{name}, {each}") for name in MODELS for each in VARIANTS),
        *(pytest.param("paper", {each: False}, id=f"paper, no {each}") for each in LITERAL),
        pytest.param("paper", LITERAL, id="paper, literal"),
        *(pytest.param("paper", {"released": True, **each}, id=f"paper, released, {each}") for each in RELEASED),
        pytest.param("plus", {"names": True}, id="plus, names"),
    ],
)
def test_computing_the_pointed_row_equals_computing_every_row(name, settings):
    """Algorithm 1: thirty steps of random programs, Z kept between the steps in both forms."""
    torch.manual_seed(0)
    model = minecraft_model(name, **SMALL, **settings).eval()
    every = load_split("longer") + load_split("complex")
    chosen = np.random.default_rng(len(name) + len(settings)).choice(len(every), 12, replace=False)
    batch = Batch([every[number] for number in chosen], 12)
    for number in range(12):
        batch.place(number, number)
    execution = WorldExecution(model, batch)
    routines = int(batch.programs.size.max())
    results = torch.zeros(12, routines, model.width)
    words = torch.from_numpy(batch.view.words)[:, :routines]
    for _ in range(30):
        _, rows = infer(model, execution.observe())
        pointed = torch.from_numpy(batch.routine.astype(np.int64)).clamp(max=routines - 1)[:, None]
        parents = torch.from_numpy(batch.previous.astype(np.int64))[:, None, None]
        results = model.full(Step(specification_of(model, batch), words, results, pointed, parents))
        running = torch.from_numpy(batch.outcome == Outcome.RUNNING)
        close(results[torch.arange(12), pointed[:, 0]][running], rows[running])
        execution.keep(rows)
        close(results[running], execution.results[running, :routines])
        best, _ = batch.best_actions()
        batch.step(best.argmax(axis=1))
        execution.forget(batch.outcome != Outcome.RUNNING)
        results[torch.from_numpy(batch.outcome != Outcome.RUNNING)] = 0


@torch.no_grad()
def test_in_the_released_order_a_routine_that_was_not_executed_starts_as_its_words():
    torch.manual_seed(0)
    model = minecraft_model("paper", **SMALL, released=True).eval()
    words = torch.tensor([[[1, 2, 3, 4], [5, 6, 0, 0]]])
    step = Step(None, words, torch.zeros(1, 2, model.width), torch.tensor([[0]]), torch.full((1, 1, 1), -1))
    block, program = model.blocks[0], model.read_program(step)
    rows = torch.randn(1, 2, model.width)
    rows[0, 1] = 0
    started = block.attend_words(rows, torch.tensor([[0, 1]]), program)
    close(started[0, 0], rows[0, 0])
    close(started[0, 1], model.semantics(words[0, 1]))


def test_without_projections_the_attentions_have_hardly_any_weights():
    def of_attentions(**config):
        model = minecraft_model("paper", **config)
        parts = [part for name, part in model.named_parameters() if ".rows." in name or ".words." in name]
        return sum(part.numel() for part in parts + list(model.reader.attend.parameters()))

    assert of_attentions() > 250_000
    assert of_attentions(projections=False) < 5_000
    assert of_attentions(projections=False, count_feature=False) == 0


@torch.no_grad()
def test_names_differ_by_what_they_name_alone():
    """`env[river] > 0` and `env[silver] > 0` are the same to a model that does not know the names."""
    torch.manual_seed(0)
    model = minecraft_model("plus", **SMALL, names=True).eval()
    texts = [f"if env[{name}] > 0:\n    build_bridge()\n" for name in ("river", "silver")]
    words = torch.tensor(np.stack([compile_program(parse(text, DOMAIN), DOMAIN).word_ids for text in texts]))
    river = torch.tensor([[1] * 24 + [3]] * 2).view(2, 5, 5)

    def rows():
        arrays = {"map": river, "agent": torch.zeros(2, 2, dtype=torch.int8), "inventory": torch.zeros(2, 7)}
        at, results = torch.zeros(2, 1, dtype=torch.long), torch.zeros(2, words.shape[1], model.width)
        return model(Step(model.reader.encode(arrays), words, results, at, at[..., None] - 1))[:, 0]

    assert not torch.allclose(*rows(), atol=1e-3)
    model.reader.names.zero_()
    close(*rows())


def test_structure_guidance_is_equation_2():
    table = compile_program(load_split("longer")[0].program, DOMAIN)
    pointer, answer = start(table), True
    for _ in range(30):
        if pointer.finished(table):
            break
        parents = torch.tensor([[[*pointer.parents(table)] or [-1]]])
        allowed = structure(torch.tensor([[pointer.routine]]), parents, len(table))[0].any(dim=0)
        for i in range(len(table)):
            for j in range(len(table)):
                wanted = i == j or (i == pointer.routine and j in pointer.parents(table))
                assert bool(allowed[i, j]) == wanted
        pointer = advance(table, pointer, answer)
        answer = not answer


def test_structure_guidance_has_a_matrix_for_every_place_of_a_parent():
    allowed = structure(torch.tensor([[3]]), torch.tensor([[[2, 0, 2]]]), 4)[0]
    assert torch.equal(allowed[0], torch.eye(4, dtype=torch.bool))
    assert [each.nonzero().tolist() for each in allowed[1:]] == [[[3, 2]], [[3, 0]], [[3, 2]]]


@torch.no_grad()
def test_padding_batch_size_and_batch_order_change_nothing(model):
    entries = load_split("complex")[:8]

    def rows_of(chosen, sides):
        batch = Batch([entries[number] for number in chosen], len(chosen), sides=(5, 8))
        wide = Batch([entries[number] for number in chosen], len(chosen), sides=sides)
        for number in range(len(chosen)):
            batch.place(number, number)
            wide.place(number, number)
        for name, array in batch.worlds._asdict().items():
            target = wide.worlds._asdict()[name]
            if name == "cells":
                target[:] = 0
                target[:, :8, :8] = array
            else:
                target[...] = array
        return pointed_row(model, wide)

    together = rows_of(range(8), (5, 8))
    close(rows_of([3], (5, 8))[0], together[3])
    close(rows_of(range(7, -1, -1), (5, 8)).flip(0), together)
    close(rows_of(range(8), (5, 12)), together)


@pytest.mark.parametrize("other", [False, True], ids=["values are the table", "other values"])
@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("null_key", [False, True])
def test_attention_from_tables_equals_attention_item_by_item(null_key, hides, other):
    torch.manual_seed(0)
    attention = TableAttention(32, 4, null_key, count_feature=hides)
    query, common = torch.randn(9, 32, requires_grad=True), torch.randn(9, 32, requires_grad=True)
    table = torch.randn(20, 32, requires_grad=True)
    values = torch.randn(20, 32, requires_grad=True) if other else table
    index = torch.randint(0, 20, (9, 11, 3), dtype=torch.int16)
    index[:, 7:] = -1
    weights = torch.randn(9, 32)
    visible = (torch.arange(20)[:, None] % 3 > 0) | (torch.arange(4) > 1) if hides else None
    visible = visible if visible is None else visible.float()
    found = []
    for form in (attention, attention.plain):
        watch = {}
        output = form(query, table, index, common, values if other else None, watch, "items", visible)
        given = (query, common, table, values, *attention.parameters())
        found.append((output, watch["items"], *torch.autograd.grad((output * weights).sum(), given)))
    for short, plain in zip(*found, strict=True):
        close(short, plain)


@torch.no_grad()
def test_position_free_heads_give_equal_cells_equal_weights():
    torch.manual_seed(0)
    model = minecraft_model("paper", **SMALL).eval()
    batch = Batch(load_split("test")[:5], 5)
    batch.reset()
    watch = {}
    pointed_row(model, batch, watch)
    weights, kinds = watch["cells 0"][..., :64], torch.from_numpy(batch.worlds.cells).flatten(1)
    for world in range(5):
        for kind in kinds[world].unique():
            equal = weights[world][:, kinds[world] == kind]
            assert float(equal[:2].std(dim=1, correction=0).max()) < 1e-6
            if kind and equal.shape[1] > 4:
                assert float(equal[2:].std(dim=1, correction=0).min()) > 1e-6, "the others know the position"


@torch.no_grad()
def test_attention_weights_are_given_when_asked_for(model):
    batch = Batch(load_split("test")[:5], 5)
    for number in range(5):
        batch.place(number, number)
    execution, watch = WorldExecution(model, batch), {}
    for _ in range(3):
        _, rows = infer(model, execution.observe(), watch)
        execution.keep(rows)
        batch.step(batch.best_actions()[0].argmax(axis=1))
    cells = watch["cells 0"]
    assert cells.shape[:2] == (5, model.config.heads)
    cells = cells[..., :64]
    assert bool((cells >= 0).all())
    assert bool((cells.sum(dim=2) <= 1 + 1e-5).all())
    routines = watch["routines 0"]
    close(routines.sum(dim=-1), torch.ones(routines.shape[:-1]))
    assert bool((cells.masked_select(torch.from_numpy(batch.worlds.cells).flatten(1)[:, None] == 0) == 0).all())


def test_an_agent_records_the_attention_weights_of_each_step(model):
    batch, agent = placed(load_split("test")[:2]), ExecutorAgent(model)
    attention = agent.decide(batch, agent.begin(batch), watch=True).attention
    assert attention["cells 0"].shape[:2] == (2, model.config.heads)
    assert attention["routines 0"].shape == (2, model.config.heads, 1, 2)
    assert not agent.decide(batch, agent.begin(batch)).attention


@pytest.mark.parametrize(("penalty", "outcome"), [(0.0, "timeout"), (1.0, "finished")])
def test_a_greedy_agent_with_constant_logits_goes_in_circles_without_a_repetition_penalty(
    monkeypatch, model, penalty, outcome
):
    """In every state it prefers up, a little less down, left and right; so it stands at the upper wall."""
    preferred = torch.tensor([[0.9, 0.8, 0.7, 0.6, *[-9] * 6]])
    monkeypatch.setattr(executor_agent, "infer", lambda *_: (preferred, torch.zeros(1, model.width)))
    executor = MinecraftExecutor(model, None, repetition_penalty=penalty)
    moments = executor.run("goto(5, 5); goto(1, 1)", map="@....\n.....\n..g..\n.....\n.....\n")
    assert moments[-1].outcome == outcome


@pytest.mark.parametrize("name", MODELS)
def test_the_default_sizes_stay_under_the_paper_s(name):
    assert minecraft_model(name).parameter_count() < 1_500_000


# On static specifications ----------------------------------------------------------------------------------------

INTEGER, OBJECTS = "Integer", "Objects"
FIRST, SECOND, THIRD = (Input(name, INTEGER) for name in ("first", "second", "third"))
THINGS = Input("things", OBJECTS)

MEASURES = Domain(
    "measures",
    1,
    (
        Operation("select", (Choice("name", ("bag", "cat", "dog")),), output=OBJECTS),
        Operation("filter", (THINGS, Choice("color", ("red", "white"))), output=OBJECTS),
        Operation("count", (THINGS,), output=INTEGER),
        Operation("minus", (FIRST, SECOND), output=INTEGER),
        Operation("clamp", (FIRST, SECOND, THIRD), output=INTEGER),
        Operation("greater", (FIRST, SECOND)),
        Operation("between", (FIRST, SECOND, THIRD)),
        Operation("exist", (THINGS,)),
    ),
)
"""Ordered inputs, up to three of them, on a specification that does not change."""
WORDS = Vocabulary.of(MEASURES)
SPECIFICATIONS, BATCH = 5, 24


@dataclass(frozen=True)
class Shapes:
    """A specification of one's own: vectors."""

    vectors: torch.Tensor

    def about(self, of):
        return Shapes(self.vectors[of])


class ShapeReader(torch.nn.Module):
    """A reader of one's own: a row attends to vectors."""

    independent = True

    def __init__(self, sizes, width):
        super().__init__()
        self.attend = torch.nn.MultiheadAttention(width, 2, kdim=6, vdim=6, batch_first=True)

    def encode(self, arrays):
        return Shapes(arrays["features"].float())

    def prepare(self, specification, parents, exists, words):
        return specification.vectors

    def forward(self, query, vectors, block, watch=None):
        return self.attend(query, vectors, vectors, need_weights=False)[0]

    def point(self, rows, specification):
        scores = rows[..., :6] @ specification.vectors.transpose(1, 2)
        return torch.cat([scores, rows[..., 6:7]], dim=2)

    def parts(self, specification):
        return torch.ones(specification.vectors.shape[:2], dtype=torch.bool)


def vectors(random, count):
    return {"features": random.normal(size=(count, 6)), "positions": random.random((count, 2))}


READERS = {
    "objects": (Objects(features=6, positions=2), vectors),
    "sequence": (Sequence(values=7), lambda random, count: {"items": random.integers(0, 7, count)}),
    "custom": (Custom(ShapeReader), lambda random, count: vectors(random, 4)),
}
STATIC = [
    pytest.param(name, reader, id=f"{name}, {reader}")
    for name, reader in (("plus", "objects"), ("plus", "sequence"), ("paper", "objects"), ("paper", "sequence"))
] + [pytest.param("paper", "custom", id="paper, custom"), pytest.param("plus", "custom", id="plus, custom")]


def static_model(name, reader, seed=0, **settings):
    torch.manual_seed(seed)
    sizes = Sizes(
        vocabulary=WORDS.words,
        words=MEASURES.routine_width,
        operation_words=MEASURES.operation_words,
        inputs=MEASURES.max_inputs,
        sequential=False,
        results=((OBJECTS, None), (INTEGER, 5), (BOOLEAN, 2)),
    )
    return build_model(name, model_config(name)(**SMALL, **settings), sizes, READERS[reader][0]).eval()


def static_arrays(reader, seed):
    config, draw = READERS[reader]
    random = np.random.default_rng(seed)
    return tensors_of(config.collate([draw(random, int(random.integers(1, 6))) for _ in range(SPECIFICATIONS)]))


def static_tables(seed, count=BATCH, control=0.0):
    random, shape = Random(seed), Shape(routines=(2, 8), depth=2, control=control, else_=0.6, elif_=0.3)
    tables = list[object]()
    while len(tables) < count:
        table = compile_program(sample_program(UniformVocabulary(MEASURES), shape, random), MEASURES)
        if bool(control) == (not table.parallel):
            tables.append(table)
    assert max((table.inputs >= 0).sum(axis=1).max() for table in tables) == 3
    return tables


def static_programs(tables, seed):
    return programs_of(tables, WORDS, np.random.default_rng(seed).integers(0, SPECIFICATIONS, len(tables)))


def at_once(programs, steps):
    """Pointers (batch, rows) and parents (batch, rows, K) of each step, -1 for none."""
    for sample, routine in steps:
        places = [routine[sample == number].tolist() for number in range(len(programs.of))]
        longest = max(map(len, places))
        pointed = torch.tensor([each + [-1] * (longest - len(each)) for each in places])
        parents = programs.inputs.gather(1, pointed.clamp(min=0)[..., None].expand(-1, -1, programs.inputs.shape[2]))
        yield pointed, parents.masked_fill(pointed[..., None] < 0, -1)


def by_all_rows(model, specification, programs, steps):
    """Z by `full`, and by computing the pointed rows of all programs, along the same steps."""
    about = specification.about(programs.of)
    whole = torch.zeros(*programs.exists.shape, model.width)
    pointed_only = whole.clone()
    for pointed, parents in at_once(programs, steps):
        new = model(Step(about, programs.words, pointed_only, pointed, parents))
        whole = model.full(Step(about, programs.words, whole, pointed, parents))
        for sample, place in (pointed >= 0).nonzero().tolist():
            pointed_only[sample, pointed[sample, place]] = new[sample, place]
    return whole, pointed_only


@torch.no_grad()
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "reader"), STATIC)
def test_sequential_and_parallel_execution_and_all_rows_agree(name, reader, seed):
    """Algorithm 1 against Algorithm 3, all rows of Z against pointed rows, on random programs with ordered inputs."""
    model, programs = static_model(name, reader, seed), static_programs(static_tables(seed), seed)
    specification = model.reader.encode(static_arrays(reader, seed))
    parallel = execute(model, specification, programs)
    close(execute(model, specification, programs, parallel=False), parallel)
    for steps in (programs.in_sequence, programs.in_parallel):
        for found in by_all_rows(model, specification, programs, steps):
            close(found, parallel)
    assert len(programs.in_parallel) < len(programs.in_sequence)
    assert float(parallel[programs.exists].std(dim=0).min()) > 1e-3, "rows differ"
    about = specification.about(programs.of)
    parts = model.reader.parts(specification).shape[1]
    for kind, size in model.sizes.results:
        assert model.decode(parallel, kind, about).shape == (*programs.exists.shape, size or parts + 1)


@torch.no_grad()
@pytest.mark.parametrize(
    "settings",
    [{"structure": False, "blocks": 1}, {"semantics": False}, {"memory": False}],
    ids=lambda settings: f"no {next(iter(settings))}",
)
@pytest.mark.parametrize(("name", "reader"), STATIC[:4])
def test_pointed_rows_equal_all_rows_without_guidance_and_memory(name, reader, settings):
    """Without P^t, routines that are executed at once attend to each other: then the forms agree for one block."""
    model, programs = static_model(name, reader, **settings), static_programs(static_tables(7), 7)
    specification = model.reader.encode(static_arrays(reader, 7))
    for parallel, steps in ((False, programs.in_sequence), (True, programs.in_parallel)):
        found = execute(model, specification, programs, parallel=parallel)
        for other in by_all_rows(model, specification, programs, steps):
            close(other, found)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("name", "reader"), STATIC)
def test_padding_and_the_other_programs_of_a_batch_change_nothing(name, reader, seed):
    model, programs = static_model(name, reader, seed), static_programs(static_tables(seed), seed)
    specification = model.reader.encode(static_arrays(reader, seed))
    together = execute(model, specification, programs)
    for number in (0, 5, BATCH - 1):
        size = int(programs.exists[number].sum())
        whole = (programs.words, programs.inputs, programs.exists)
        alone = Programs(*(each[number : number + 1, :size] for each in whole), programs.of[number : number + 1])
        close(execute(model, specification, alone)[0], together[number, :size])


COUNTS = "a = count(select(bag))\nb = count(select(cat))\nc = count(filter(select(dog), red))\n"


@torch.no_grad()
@pytest.mark.parametrize(("one", "other"), [("greater(a, b)", "greater(b, a)"), ("clamp(a, b, c)", "clamp(a, c, b)")])
@pytest.mark.parametrize(("name", "reader"), STATIC)
def test_the_order_of_inputs_decides_the_result(name, reader, one, other):
    def difference(**settings):
        model = static_model(name, reader, **settings)
        tables = [compile_program(parse(COUNTS + call, MEASURES), MEASURES) for call in (one, other)]
        specification = model.reader.encode(static_arrays(reader, 0))
        results = execute(model, specification, programs_of(tables, WORDS, np.zeros(2)))
        assert float((results[0, :-1] - results[1, :-1]).abs().max()) < 1e-6, "before it, all is the same"
        return float((results[0, -1] - results[1, -1]).abs().max())

    assert difference() > 1e-3
    if name == "paper":
        assert difference(ordered=False) < 1e-5


@torch.no_grad()
def test_inputs_without_an_order_are_a_set():
    """`minus(a, a)` has one parent, if places mean nothing, and two if they do."""
    table = compile_program(parse("a = count(select(bag))\nminus(a, a)", MEASURES), MEASURES)
    attended = {}
    for ordered in (True, False):
        model, watches = static_model("paper", "objects", ordered=ordered), []
        specification = model.reader.encode(static_arrays("objects", 0))
        execute(model, specification, programs_of([table], WORDS, np.zeros(1)), watch=watches)
        attended[ordered] = (watches[-1]["routines 0"][0, :, 0] > 0).sum(dim=1)
    assert (attended[True] == 3).all()
    assert (attended[False] == 2).all()


# Conditions on static specifications -----------------------------------------------------------------------------


def path_by_full(model, specification, table, of):
    """Algorithm 1 with the language's pointer, one program alone, all rows of Z; its results and its path."""
    programs = programs_of([table], WORDS, np.array([of]))
    about, results, path = specification.about(programs.of), torch.zeros(1, len(table), model.width), []
    pointer = start(table)
    while not pointer.finished(table):
        path.append(pointer.routine)
        at = torch.tensor([[pointer.routine]])
        results = model.full(Step(about, programs.words, results, at, programs.inputs[:, at[0]]))
        truth = bool(model.decode(results[0, pointer.routine], BOOLEAN).argmax() == TRUE)
        pointer = advance(table, pointer, truth if table.kind[pointer.routine] != Kind.STEP else None)
    return results[0], path


@torch.no_grad()
@pytest.mark.parametrize(("name", "reader"), STATIC)
def test_executing_all_rows_and_following_the_pointer_equals_executing_the_path_alone(name, reader):
    taken = set()
    for seed in range(2):
        model, tables = static_model(name, reader, seed), static_tables(seed, control=0.6)
        programs = static_programs(tables, seed)
        assert programs.flow is not None
        specification = model.reader.encode(static_arrays(reader, seed))
        every = execute(model, specification, programs)
        truth = model.decode(every, BOOLEAN).argmax(dim=2) == TRUE
        executed, last = follow(programs, truth)
        alone = execute(model, specification, programs, parallel=False)
        close(every[executed], alone[executed])
        assert torch.equal((alone != 0).any(dim=2), executed), "off the path nothing is executed"
        for number, table in list(enumerate(tables))[::3]:
            results, path = path_by_full(model, specification, table, int(programs.of[number]))
            assert executed[number].nonzero()[:, 0].tolist() == path
            assert int(last[number]) == path[-1]
            close(every[number, path], results[path])
            taken |= {bool(truth[number, row]) for row in path if table.kind[row] != Kind.STEP}
        assert int((programs.exists & ~executed).sum()) > 10
    assert taken == {True, False}


def test_following_given_answers_is_the_language_s_pointer():
    tables = static_tables(11, count=60, control=0.6)
    programs = static_programs(tables, 11)
    for seed in range(3):
        truth = torch.rand(programs.exists.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
        executed, last = follow(programs, truth)
        for number, table in enumerate(tables):
            pointer, path = start(table), []
            while not pointer.finished(table):
                path.append(pointer.routine)
                is_condition = table.kind[pointer.routine] != Kind.STEP
                pointer = advance(table, pointer, bool(truth[number, path[-1]]) if is_condition else None)
            assert executed[number].nonzero()[:, 0].tolist() == path
            assert int(last[number]) == path[-1]
    without = static_programs(static_tables(12), 12)
    executed, last = follow(without, torch.zeros_like(without.exists))
    assert torch.equal(executed, without.exists)
    assert torch.equal(last, without.exists.sum(dim=1) - 1)


def test_a_pointer_in_tensors_moves_as_the_language_s_does():
    tables = [compile_program(entry.program, DOMAIN) for entry in load_split("complex")[:200]]
    longest = max(map(len, tables))
    flow = torch.zeros(len(tables), longest, 3, dtype=torch.long)
    for number, table in enumerate(tables):
        columns = np.stack([table.kind, table.on_true, table.on_false], axis=1)
        flow[number, : len(table)] = torch.from_numpy(columns.astype(np.int64))
    random = np.random.default_rng(0)
    alone, together = [start(table) for table in tables], torch.zeros(len(tables), dtype=torch.long)
    sizes = torch.tensor([len(table) for table in tables])
    for _ in range(60):
        answers = random.random(len(tables)) < 0.5
        alone = [
            pointer if pointer.finished(table) else advance(table, pointer, bool(answer))
            for table, pointer, answer in zip(tables, alone, answers, strict=True)
        ]
        together = _advance(flow, together, torch.from_numpy(answers), sizes)
        assert together.tolist() == [pointer.routine for pointer in alone]
    assert any(pointer.finished(table) for table, pointer in zip(tables, alone, strict=True))


def test_parallel_steps_in_tensors_are_the_language_s():
    tables = static_tables(3)
    programs = static_programs(tables, 3)
    frontiers = [start_parallel(table) for table in tables]
    for sample, routine in programs.in_parallel:
        for number, frontier in enumerate(frontiers):
            now = [pointer.routine for pointer in frontier.pointers]
            assert routine[sample == number].tolist() == now
        frontiers = [
            advance_parallel(table, frontier, {pointer.routine: None for pointer in frontier.pointers})
            for table, frontier in zip(tables, frontiers, strict=True)
        ]
    assert all(frontier.finished() for frontier in frontiers)


# Data flow in a world that changes -------------------------------------------------------------------------------

WORLD_READERS = {
    "grid": (
        Grid(kinds=4, side=5, items=2),
        lambda random: {
            "map": random.integers(1, 5, (5, 5)),
            "agent": random.integers(0, 5, 2),
            "inventory": random.integers(0, 3, 2),
        },
    ),
    "objects": (Objects(features=6, positions=2), lambda random: vectors(random, int(random.integers(1, 6)))),
}


@torch.no_grad()
@pytest.mark.parametrize("settings", [{}, {"structure": False}], ids=["whole", "no P^t"])
@pytest.mark.parametrize("reader", WORLD_READERS)
@pytest.mark.parametrize("name", MODELS)
def test_the_pointed_row_equals_all_rows_with_data_flow_in_a_world(name, reader, settings):
    """Parents are the routine executed before and the inputs; the specification is another one at every step."""
    torch.manual_seed(0)
    config, draw = WORLD_READERS[reader]
    words = Vocabulary.of(ERRANDS)
    results = (("Action", 6), ("Integer", 5), ("Thing", 4), (BOOLEAN, 2))
    sizes_of = results if reader == "grid" else (*results, (OBJECTS, None))
    sizes = Sizes(words.words, ERRANDS.routine_width, ERRANDS.operation_words, ERRANDS.max_inputs, True, sizes_of)
    assert sizes.parents == 4
    model = build_model(name, model_config(name)(**SMALL, **settings), sizes, config).eval()
    source, random, count = Random(0), np.random.default_rng(0), 16
    shape = Shape(routines=(4, 10), depth=2, control=0.5, while_=0.4)
    tables = [compile_program(sample_program(UniformVocabulary(ERRANDS), shape, source), ERRANDS) for _ in range(count)]
    programs = programs_of(tables, words, np.zeros(count))
    pointers = [start(table) for table in tables]
    kept = torch.zeros(*programs.exists.shape, model.width)
    whole, both = kept.clone(), 0
    for _ in range(40):
        arrays = tensors_of(config.collate([draw(random) for _ in range(count)]))
        pointed = torch.tensor([[pointer.routine] for pointer in pointers])
        parents = torch.full((count, 1, sizes.parents), -1)
        for number, (pointer, table) in enumerate(zip(pointers, tables, strict=True)):
            parents[number, 0, 0] = pointer.previous
            parents[number, 0, 1:] = torch.from_numpy(table.inputs[pointer.routine].astype(np.int64))
        both += int(((parents[:, 0, 0] >= 0) & (parents[:, 0, 1] >= 0)).sum())
        mask = torch.ones(count, sum(size for _, size in results), dtype=torch.bool)
        seen = Observation(arrays, programs.words, kept, pointed, parents, mask, None)
        _, rows = infer(model, seen.pointed_only() if model.local else seen)
        whole = model.full(Step(model.reader.encode(arrays), programs.words, whole, pointed, parents))
        kept = kept.index_put((torch.arange(count), pointed[:, 0]), rows)
        close(kept, whole)
        for number, table in enumerate(tables):
            is_step = table.kind[pointers[number].routine] == Kind.STEP
            if random.random() < 0.7:  # else it takes another step
                pointers[number] = advance(table, pointers[number], None if is_step else bool(random.random() < 0.5))
            if pointers[number].finished(table):
                pointers[number] = start(table)
                kept[number] = whole[number] = 0
    assert both > 30, "both kinds of parents occurred"


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_in_a_world_too_the_order_of_inputs_decides_and_the_routine_before_is_no_input(name):
    torch.manual_seed(0)
    config, draw = WORLD_READERS["grid"]
    words, random = Vocabulary.of(ERRANDS), np.random.default_rng(0)
    results = (("Action", 6), ("Integer", 5), ("Thing", 4), (BOOLEAN, 2))
    sizes = Sizes(words.words, ERRANDS.routine_width, ERRANDS.operation_words, ERRANDS.max_inputs, True, results)
    model = build_model(name, model_config(name)(**SMALL), sizes, config).eval()
    table = compile_program(
        parse("a = count(gold)\nb = count(wood)\nx = count(iron)\ny = less(a, b)", ERRANDS), ERRANDS
    )
    arrays = tensors_of(config.collate([draw(random)]))
    programs, known = programs_of([table], words, np.zeros(1)), torch.randn(1, 4, model.width)

    def row(*parents):
        given = (programs.words, known, torch.tensor([[3]]), torch.tensor([[parents]]))
        return model(Step(model.reader.encode(arrays), *given))[0, 0]

    rows = [row(2, 0, 1, -1), row(2, 1, 0, -1), row(0, 2, 1, -1), row(-1, 0, 1, -1)]
    for number, one in enumerate(rows):
        for other in rows[number + 1 :]:
            assert float((one - other).abs().max()) > 1e-3


def test_a_pointer_s_parents_are_those_of_the_executor():
    """The routine executed before, then the inputs in their order."""
    table = compile_program(parse("a = count(gold)\nb = count(wood)\nx = less(a, b)", ERRANDS), ERRANDS)
    assert Pointer(2, 1).parents(table) == (1, 0, 1)
    assert table.inputs[2].tolist() == [0, 1, -1]
