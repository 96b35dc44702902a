"""The executor: its forms are equal, shortcuts are exact, and what should change nothing changes nothing."""

import numpy as np
import pytest
import torch
from domains import VISUAL

from program_guided.language import parse
from program_guided.language.pointer import Frontier, advance, advance_parallel, start, start_parallel
from program_guided.language.table import compile_program
from program_guided.learning import agent as agent_module
from program_guided.learning.agent import ExecutorAgent
from program_guided.learning.execution import Execution, build, minecraft_config
from program_guided.models.attention import TableAttention
from program_guided.models.config import ExecutorConfig
from program_guided.models.executor import Executor
from program_guided.models.grid import Grid
from program_guided.models.guidance import Pointers, ready, structure
from program_guided.tasks.minecraft.batch import Batch
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.rules import Outcome
from program_guided.tasks.minecraft.splits import load_split

FORMS = ("paper", "plus")
SMALL = {"word_width": 8, "hidden": 32, "heads": 4}


@pytest.fixture(params=FORMS)
def model(request):
    torch.manual_seed(0)
    return build(minecraft_config(request.param, **SMALL)).eval()


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def grids(batch):
    worlds = batch.worlds
    return Grid(
        torch.from_numpy(worlds.cells).flatten(1), torch.from_numpy(worlds.agent), torch.from_numpy(worlds.inventory)
    )


LITERAL = dict.fromkeys(ExecutorConfig.PAPER_ONLY, False)
VARIANTS = {"whole": {}, "no P^t": {"structure": False}, "no P^s": {"semantics": False}, "no memory": {"memory": False}}


@torch.no_grad()
@pytest.mark.parametrize(
    ("form", "settings"),
    [
        *(pytest.param(form, VARIANTS[name], id=f"{form}, {name}") for form in FORMS for name in VARIANTS),
        *(pytest.param("paper", {name: False}, id=f"paper, no {name}") for name in LITERAL),
        pytest.param("paper", LITERAL, id="paper, literal"),
        pytest.param("plus", {"names": True}, id="plus, names"),
    ],
)
def test_computing_the_pointed_row_equals_computing_every_row(form, settings):
    """Algorithm 1: forty steps of random programs, Z carried along in both forms."""
    torch.manual_seed(0)
    model = build(minecraft_config(form, **SMALL, **settings)).eval()
    every = load_split("longer") + load_split("complex")
    chosen = np.random.default_rng(len(form) + len(settings)).choice(len(every), 12, replace=False)
    batch = Batch([every[number] for number in chosen], 12)
    for number in range(12):
        batch.place(number, number)
    execution = Execution(model, batch)
    routines = int(batch.programs.size.max())
    results = torch.zeros(12, routines, model.config.width)
    words = torch.from_numpy(batch.view.words)[:, :routines]
    for _ in range(40):
        _, rows = execution.infer()
        pointed = torch.from_numpy(batch.worlds.routine.astype(np.int64)).clamp(max=routines - 1)[:, None]
        parents = torch.from_numpy(batch.worlds.previous.astype(np.int64))[:, None, None]
        results = model.full(grids(batch), words, results, pointed, parents)
        running = torch.from_numpy(batch.outcome == Outcome.RUNNING)
        close(results[torch.arange(12), pointed[:, 0]][running], rows[running])
        execution.keep(rows)
        close(results[running], execution.results[running, :routines])
        best, _ = batch.best_actions()
        batch.step(best.argmax(axis=1))
        execution.forget(batch.outcome != Outcome.RUNNING)
        results[torch.from_numpy(batch.outcome != Outcome.RUNNING)] = 0


@torch.no_grad()
def test_names_differ_by_what_they_name_alone():
    """`env[river] > 0` and `env[silver] > 0` are the same to one who does not know what is called river or silver."""
    torch.manual_seed(0)
    model = build(minecraft_config("plus", **SMALL, names=True)).eval()
    texts = [f"if env[{name}] > 0:\n    build_bridge()\n" for name in ("river", "silver")]
    words = torch.tensor(np.stack([compile_program(parse(text, DOMAIN), DOMAIN).word_ids for text in texts]))
    river = torch.tensor([[1] * 24 + [3]] * 2)

    def rows():
        grid = Grid(river, torch.zeros(2, 2, dtype=torch.int8), torch.zeros(2, 7))
        at = torch.zeros(2, 1, dtype=torch.long)
        return model(grid, words, torch.zeros(2, words.shape[1], model.config.width), at, at[..., None] - 1)[:, 0]

    assert not torch.allclose(*rows(), atol=1e-3)
    model.reader.names.zero_()
    close(*rows())


class Shapes(torch.nn.Module):
    """A reader of another kind of specification: objects, attended to by a row."""

    def __init__(self, width):
        super().__init__()
        self.attend = torch.nn.MultiheadAttention(width, 2, batch_first=True)

    def prepare(self, objects, heard, allowed, said):
        return objects

    def forward(self, query, objects, number, watch=None):
        return self.attend(query, objects, objects, need_weights=False)[0]


def random_graph(random):
    """The text of a random program whose calls take each other's results."""

    def objects():
        lines = [f"select({random.choice(['bag', 'wine', 'cat'])})"]
        for _ in range(random.integers(3)):
            lines.append(random.choice(["filter_color(red)", "filter_color(white)", "relate(dog, near)"]))
        return lines

    def boolean(depth):
        kind = random.integers(3 if depth else 2)
        if kind == 0:
            return [*objects(), "exist()"]
        if kind == 1:
            return [*objects(), *objects(), "verify_relation(left)"]
        return [*boolean(depth - 1), *boolean(depth - 1), "and()"]

    return "\n".join([*objects(), "query(name)"] if random.random() < 0.2 else boolean(3))


def random_graphs(seed, count=12):
    random = np.random.default_rng(seed)
    return [compile_program(parse(random_graph(random), VISUAL), VISUAL) for _ in range(count)]


def graph_model(form):
    torch.manual_seed(0)
    results = (("Objects", 5), ("Boolean", 2), ("Answer", 7))
    config = ExecutorConfig(
        form=form,
        vocabulary=len(VISUAL.vocabulary),
        words=VISUAL.routine_width,
        results=results,
        word_width=8,
        heads=2,
        hidden=16,
    )
    return Executor(config, Shapes(config.width)).eval()


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
def test_parallel_execution_equals_sequential_execution_on_graphs(form, seed):
    """Algorithms 3 and 4 against Algorithm 1, all rows against pointed rows, and one class for another task."""
    model = graph_model(form)
    tables = random_graphs(seed)
    routines = max(map(len, tables))
    words = torch.zeros(len(tables), routines, VISUAL.routine_width, dtype=torch.long)
    for number, table in enumerate(tables):
        words[number, : len(table)] = torch.from_numpy(table.word_ids.astype(np.int64))
    objects = torch.randn(len(tables), 6, model.config.width)
    empty = torch.zeros(len(tables), routines, model.config.width)

    one_by_one = empty
    for row in range(routines):
        pointed = torch.tensor([[row if row < len(table) else -1] for table in tables])
        one_by_one = model.full(objects, words, one_by_one, pointed, parents_of(tables, pointed))

    whole, pointed_only = empty, empty.clone()
    frontiers = [start_parallel(table) for table in tables]
    while not all(frontier.finished() for frontier in frontiers):
        most = max(len(frontier.pointers) for frontier in frontiers)
        rows = [[pointer.routine for pointer in frontier.pointers] for frontier in frontiers]
        pointed = torch.tensor([each + [-1] * (most - len(each)) for each in rows])
        parents = parents_of(tables, pointed)
        whole = model.full(objects, words, whole, pointed, parents)
        new = model(objects, words, pointed_only, pointed, parents)
        for sample, place in zip(*np.nonzero(pointed.numpy() >= 0), strict=True):
            pointed_only[sample, pointed[sample, place]] = new[sample, place]
        frontiers = [
            advance_parallel(table, frontier, {pointer.routine: None for pointer in frontier.pointers})
            for table, frontier in zip(tables, frontiers, strict=True)
        ]
    assert isinstance(frontiers[0], Frontier)
    close(whole, pointed_only)
    close(whole, one_by_one)
    for kind, size in model.config.results:
        assert model.decode(whole, kind).shape == (len(tables), routines, size)


def parents_of(tables, pointed):
    """(batch, R, 2) the inputs of the pointed rows, -1 for none."""
    parents = torch.full((*pointed.shape, 2), -1)
    for sample, table in enumerate(tables):
        for place, row in enumerate(pointed[sample].tolist()):
            if row >= 0:
                inputs = table.parents[row]
                parents[sample, place, : len(inputs)] = torch.tensor(inputs, dtype=torch.long)
    return parents


def test_structure_guidance_is_equation_2():
    table = compile_program(load_split("longer")[0].program, DOMAIN)
    pointer, answer = start(table), True
    for _ in range(30):
        if pointer.finished(table):
            break
        parents = torch.tensor([[[*pointer.parents(table)] or [-1]]])
        allowed = structure(torch.tensor([[pointer.routine]]), parents, len(table))[0]
        for i in range(len(table)):
            for j in range(len(table)):
                wanted = i == j or (i == pointer.routine and j in pointer.parents(table))
                assert bool(allowed[i, j]) == wanted
        pointer = advance(table, pointer, answer)
        answer = not answer


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
        return Execution(model, wide).infer()[1]

    together = rows_of(range(8), (5, 8))
    close(rows_of([3], (5, 8))[0], together[3])
    close(rows_of(range(7, -1, -1), (5, 8)).flip(0), together)
    close(rows_of(range(8), (5, 12)), together)


@pytest.mark.parametrize("other", [False, True], ids=["values are the table", "other values"])
@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("sink", [False, True])
def test_attention_from_tables_equals_attention_item_by_item(sink, hides, other):
    torch.manual_seed(0)
    attention = TableAttention(32, 4, sink, tells=hides)
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
def test_blind_heads_give_equal_cells_equal_weights():
    torch.manual_seed(0)
    model = build(minecraft_config("paper", **SMALL)).eval()
    batch = Batch(load_split("test")[:5], 5)
    batch.reset()
    watch = {}
    Execution(model, batch).infer(watch)
    weights, kinds = watch["cells 0"][..., :64], torch.from_numpy(batch.worlds.cells).flatten(1)
    for world in range(5):
        for kind in kinds[world].unique():
            alike = weights[world][:, kinds[world] == kind]
            assert float(alike[:2].std(dim=1, correction=0).max()) < 1e-6
            if kind and alike.shape[1] > 4:
                assert float(alike[2:].std(dim=1, correction=0).min()) > 1e-6, "the others see where"


@torch.no_grad()
def test_attention_weights_are_given_when_asked_for(model):
    batch = Batch(load_split("test")[:5], 5)
    for number in range(5):
        batch.place(number, number)
    execution, watch = Execution(model, batch), {}
    for _ in range(3):
        _, rows = execution.infer(watch)
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


def test_an_agent_says_what_each_step_looked_at(model):
    agent = ExecutorAgent(model)
    agent.watch = []
    moments = agent.run("mine(gold)", seed=0)
    assert len(agent.watch) == len(moments) - 1
    assert all(each["cells 0"].shape[:2] == (1, model.config.heads) for each in agent.watch)
    assert all(each["routines 0"].shape == (1, model.config.heads, 1, 2) for each in agent.watch)


@pytest.mark.parametrize(("reluctance", "outcome"), [(0.0, "timeout"), (1.0, "finished")])
def test_a_greedy_agent_with_one_idea_goes_in_circles_unless_it_is_reluctant(monkeypatch, model, reluctance, outcome):
    """Whatever it sees it prefers up, a little less down, left and right; so it stands at the upper wall."""
    preferred = torch.tensor([[0.9, 0.8, 0.7, 0.6, *[-9] * 6]])
    monkeypatch.setattr(agent_module.Execution, "infer", lambda *_: (preferred, torch.zeros(1, model.config.width)))
    agent = ExecutorAgent(model, reluctance=reluctance)
    moments = agent.run("goto(5, 5); goto(1, 1)", map="@....\n.....\n..g..\n.....\n.....\n")
    assert moments[-1].outcome == outcome


@pytest.mark.parametrize("form", FORMS)
def test_the_shipped_sizes_stay_under_the_paper_s(form):
    assert sum(parameter.numel() for parameter in build(minecraft_config(form)).parameters()) < 1_500_000


def test_pointers_in_tensors_move_as_the_language_s_do():
    tables = [compile_program(entry.program, DOMAIN) for entry in load_split("complex")[:200]]
    most = max(map(len, tables))
    columns = torch.zeros(2, len(tables), most, dtype=torch.long)
    for number, table in enumerate(tables):
        columns[:, number, : len(table)] = torch.from_numpy(np.stack([table.on_true, table.on_false]).astype(np.int64))
    random = np.random.default_rng(0)
    alone, together = [start(table) for table in tables], Pointers.start(len(tables))
    sizes = torch.tensor([len(table) for table in tables])
    for _ in range(60):
        answers, ended = random.random(len(tables)) < 0.5, random.random(len(tables)) < 0.7
        ended &= (together.routine < sizes).numpy()
        alone = [
            advance(table, pointer, bool(answer)) if end else pointer
            for table, pointer, answer, end in zip(tables, alone, answers, ended, strict=True)
        ]
        together = together.advance(*columns, torch.from_numpy(ended), torch.from_numpy(answers))
        assert together.routine.tolist() == [pointer.routine for pointer in alone]
        assert together.previous.tolist() == [pointer.previous for pointer in alone]


def test_pointers_of_graphs_in_tensors_are_the_language_s():
    tables = random_graphs(3)
    most = max(map(len, tables))
    exists = torch.tensor([[row < len(table) for row in range(most)] for table in tables])
    every = torch.arange(most).expand(len(tables), -1)
    parents = parents_of(tables, torch.where(exists, every, -1))
    ended = torch.zeros_like(exists)
    frontiers = [start_parallel(table) for table in tables]
    for _ in range(most):
        now = ready(parents, exists, ended)
        for number, frontier in enumerate(frontiers):
            assert now[number].nonzero()[:, 0].tolist() == [pointer.routine for pointer in frontier.pointers]
        ended = ended | now
        frontiers = [
            advance_parallel(table, frontier, {pointer.routine: None for pointer in frontier.pointers})
            for table, frontier in zip(tables, frontiers, strict=True)
        ]
