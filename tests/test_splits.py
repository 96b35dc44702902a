"""The shipped splits: their sizes and shapes, no leak, every entry can be finished, and looking is needed."""

import fnmatch
import json
import operator
import shutil
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from program_guided.errors import DataError
from program_guided.language.parser import parse
from program_guided.language.printer import count_control, count_tokens, print_program
from program_guided.language.syntax import Call, If, Loop, Ref, While, calls
from program_guided.language.table import compile_program
from program_guided.learning.worlds import pointed_rows
from program_guided.tasks.minecraft.agents import PlannerAgent, PriorAgent, RandomAgent, condition_key, rollout
from program_guided.tasks.minecraft.domain import CONTROL_FLOW, DOMAIN, KINDS, OBJECTS
from program_guided.tasks.minecraft.splits import (
    ALIASES,
    DATA_FLOW,
    SIZES,
    SPLITS_FOLDER,
    encode,
    load_mixed_train,
    load_split,
    split_name,
)
from program_guided.tasks.minecraft.world.rules import ACTION_NAMES, Action, Operation, Outcome

ROOT = Path(__file__).parents[1]
COMPARED = {"greater": ">", "less": "<", "equal": "=="}
HOLDS = {">": operator.gt, ">=": operator.ge, "==": operator.eq, "<": operator.lt, "<=": operator.le}
OFTEN = 20
"""A kind of condition that is executed less often says nothing about balance."""


@cache
def executed_conditions(split):
    """(entry, routine, words, whether it held) of every condition that the planner meets; whether it holds is
    counted here from the map and the inventory, without the world's own kernels."""
    met, counted = [], {}

    def watch(batch, actions):
        asked = (batch.programs.operation[pointed_rows(batch)] >= Operation.AGENT) & (batch.outcome == Outcome.RUNNING)
        for world in np.flatnonzero(asked):
            routine = int(batch.worlds.routine[world])
            words, call = batch.tables[world].words[routine], batch.tables[world].calls[routine]
            cells, inventory = batch.worlds.cells[world], batch.worlds.inventory[world]
            if call.operation in ("count", "carried"):
                counted[world, routine] = count(call.operation, words[1], cells, inventory)
                assert ACTION_NAMES[actions[world]] == str(counted[world, routine])
                continue
            if call.operation in COMPARED:
                left, right = (
                    counted[world, each.number] if isinstance(each, Ref) else each for each in call.arguments
                )
                holds = bool(HOLDS[COMPARED[call.operation]](left, right))
            else:
                holds = truth(words, cells, inventory)
            assert holds == (actions[world] == Action.TRUE), (words, "the planner answers otherwise")
            met.append((int(world), routine, words, holds))

    assert rollout(load_split(split), PlannerAgent(), watch=watch).finished.all()
    return met


def truth(words, cells, inventory):
    place, thing, comparison, number = words if len(words) == 4 else (*words, ">", 0)
    return bool(HOLDS[comparison](count(place, thing, cells, inventory), number))


def count(place, thing, cells, inventory):
    if place in ("agent", "carried"):
        return int(inventory[OBJECTS.index(thing)]) if thing in OBJECTS else 0
    return int((cells == KINDS.index(thing)).sum())


def tokens(split):
    return [count_tokens(entry.program, DOMAIN) for entry in load_split(split)]


def control(split):
    return [count_control(entry.program.body) for entry in load_split(split)]


def every_entry():
    return [entry for split in SIZES for entry in load_split(split)]


# --- sizes and shapes


def test_the_splits_are_those_of_the_papers_and_two_with_data_flow():
    papers = {"train": 4000, "test": 500, "longer": 500, "complex": 500, "test-complex": 500}
    assert papers | {"data-flow-train": 2000, "data-flow": 500} == SIZES
    assert set(DATA_FLOW) == SIZES.keys() - papers.keys()


@pytest.mark.parametrize("split", SIZES)
def test_a_split_has_the_size_it_promises(split):
    assert len(load_split(split)) == SIZES[split]
    assert len((SPLITS_FOLDER / f"{split}.jsonl").read_text("utf-8").splitlines()) == SIZES[split]


@pytest.mark.parametrize("split", ["train", "test", *DATA_FLOW])
def test_train_and_test_have_at_most_80_tokens_and_four_ifs_and_whiles(split):
    assert max(tokens(split)) <= 80
    assert max(control(split)) <= 4
    assert set(control(split)) | {0} == {0, 1, 2, 3, 4}


def test_longer_has_more_than_80_tokens():
    assert min(tokens("longer")) > 80


def test_complex_has_more_than_four_ifs_and_whiles():
    assert min(control("complex")) > 4


def test_test_complex_is_about_twice_as_long_as_train():
    assert 1.6 <= np.mean(tokens("test-complex")) / np.mean(tokens("train")) <= 2.4


def test_tokens_are_counted_as_the_papers_do():
    text = "def run(): while env[Gold] > 0: mine(Gold)"
    assert count_tokens(parse(text, DOMAIN), DOMAIN) == 17


@pytest.mark.parametrize("split", SIZES)
def test_every_kind_of_routine_occurs(split):
    seen = {call.operation for entry in load_split(split) for call in compile_program(entry.program, DOMAIN).calls}
    assert seen == {row.name for row in (DOMAIN if split in DATA_FLOW else CONTROL_FLOW).operations}


@pytest.mark.parametrize("split", DATA_FLOW)
def test_every_program_with_data_flow_uses_a_result_that_it_has_named(split):
    for entry in load_split(split):
        every = list(calls(entry.program.body))
        used = {number for call in every for number in call.inputs}
        assert used, entry.text
        assert all(every[number].result for number in used), entry.text


@pytest.mark.parametrize("split", DATA_FLOW)
def test_results_are_often_used_when_what_was_counted_has_changed(split):
    """Else they could be counted anew, and the data flow would be of no use."""
    stale, latest = [], {}

    def watch(batch, actions):
        for world in np.flatnonzero(batch.outcome == Outcome.RUNNING):
            table, routine = batch.tables[world], int(batch.worlds.routine[world])
            call, seen = table.calls[routine], (batch.worlds.cells[world], batch.worlds.inventory[world])
            if call.operation in ("count", "carried"):
                latest[world, routine] = count(call.operation, call.words[0], *seen)
            for number in call.inputs:
                given = table.calls[number]
                if not given.result:
                    continue
                stale.append(latest[world, number] != count(given.operation, given.words[0], *seen))

    rollout(load_split(split), PlannerAgent(), watch=watch)
    assert np.mean(stale) > 0.2


def test_the_programs_of_both_languages_are_mixed_evenly():
    whole = load_mixed_train()
    assert Counter(whole) == Counter([*load_split("train"), *load_split("data-flow-train")])
    held_out = [bool((entry.table.inputs >= 0).any()) for entry in whole[-200:]]
    assert 50 <= sum(held_out) <= 80


# --- no leak


def test_no_program_occurs_twice_neither_in_a_split_nor_across_splits():
    counted = Counter(entry.text for entry in every_entry())
    assert [text for text, count in counted.items() if count > 1] == []
    assert len(counted) == sum(SIZES.values())


def test_no_program_occurs_twice_when_read_again_from_another_spelling():
    again = [parse(respelled(entry.text), DOMAIN) for entry in every_entry()]
    assert again == [entry.program for entry in every_entry()]
    assert len(set(again)) == sum(SIZES.values())


def respelled(text):
    """The other spelling in print: capitals, `BuildBridge`, `IsThere(river)`, deeper indentation."""
    spellings = {"build_bridge": "BuildBridge", "is_there[": "IsThere(", "mine": "Mine", "while": "While", "if ": "If "}
    lines = []
    for line in text.splitlines():
        if "is_there[" in line:
            line = line.replace("]", ")")
        for old, new in spellings.items():
            line = line.replace(old, new)
        indentation = len(line) - len(line.lstrip())
        lines.append(" " * 2 * indentation + line.lstrip())
    return "\n".join(lines)


def test_no_program_of_a_test_split_does_what_a_program_of_train_does():
    """Compared by what is executed: routines and where they lead."""

    def meaning(entry):
        table = compile_program(entry.program, DOMAIN)
        return table.words, tuple(table.on_true.tolist()), tuple(table.on_false.tolist())

    train = {meaning(entry) for entry in load_split("train")}
    leaked = [
        entry.text for split in SIZES if split != "train" for entry in load_split(split) if meaning(entry) in train
    ]
    assert leaked == []


def test_the_leak_test_would_find_a_leak():
    text = load_split("train")[1].text
    assert respelled(text) != text
    assert parse(respelled(text), DOMAIN) in {entry.program for entry in load_split("train")}


def test_programs_are_stored_in_the_canonical_spelling():
    for split in SIZES:
        for line in (SPLITS_FOLDER / f"{split}.jsonl").read_text("utf-8").splitlines():
            record = json.loads(line)
            assert record.keys() == {"program", "seed"}
            assert print_program(parse(record["program"], DOMAIN), DOMAIN) == record["program"]
            assert 0 <= record["seed"] < 2**31


# --- every entry can be finished


@pytest.mark.parametrize("split", SIZES)
def test_the_planner_finishes_every_entry_in_time(split):
    result = rollout(load_split(split), PlannerAgent())
    assert result.finished.all()
    assert (result.failed_at == -1).all()
    assert result.steps.max() <= 300
    assert result.steps.min() >= 3


# --- looking is needed


@pytest.mark.parametrize("split", SIZES)
def test_every_kind_of_condition_is_true_in_30_to_70_percent_of_its_executions(split):
    true, total = Counter(), Counter()
    for _, _, words, holds in executed_conditions(split):
        place, *given = words
        kinds = [place]
        if place not in COMPARED:
            kinds += [(place, given[0]), (place, "any", given[1] if len(given) == 3 else ">")]
        for kind in kinds:
            total[kind] += 1
            true[kind] += holds
    shares = {kind: true[kind] / total[kind] for kind in total if total[kind] >= OFTEN}
    asked = ("greater", "less", "equal") if split in DATA_FLOW else ("agent", "env", "is_there")
    assert shares.keys() > set(asked)
    assert len(shares) > (5 if split in DATA_FLOW else 25)
    assert {kind: share for kind, share in shares.items() if not 0.3 <= share <= 0.7} == {}


@pytest.mark.parametrize("split", SIZES)
def test_both_branches_of_if_else_are_taken(split):
    rows = [if_else_rows(entry.program) for entry in load_split(split)]
    answers = [holds for entry, routine, _, holds in executed_conditions(split) if routine in rows[entry]]
    assert len(answers) > 60
    assert 0.35 < np.mean(answers) < 0.65


def if_else_rows(program):
    """Rows of the routine table whose condition has an else."""
    rows, number = set(), 0

    def read(block):
        nonlocal number
        for node in block:
            assert not isinstance(node, Loop), "a loop would stand several times in the table"
            if isinstance(node, Call):
                number += len(list(calls((node,))))
            elif isinstance(node, While):
                number += len(list(calls((node.condition,))))
                read(node.body)
            elif isinstance(node, If):
                ((condition, body),) = node.branches
                number += len(list(calls((condition,))))
                rows.update({number - 1} if node.otherwise else ())
                read(body)
                read(node.otherwise)

    read(program.body)
    assert number == len(compile_program(program, DOMAIN))
    return rows


@pytest.mark.parametrize("split", SIZES)
def test_loops_are_entered_and_left_out(split):
    kinds = [compile_program(entry.program, DOMAIN).kind for entry in load_split(split)]
    first = {}
    for entry, routine, _, holds in executed_conditions(split):
        if kinds[entry][routine] == 2:
            first.setdefault((entry, routine), holds)
    assert 0.3 < np.mean(list(first.values())) < 0.7


@pytest.mark.parametrize("split", SIZES)
def test_acting_at_random_finishes_few_programs(split):
    assert rollout(load_split(split), RandomAgent(0)).finished.mean() < 0.1


@cache
def usual_answers():
    """The more frequent answer to each condition in train."""
    votes = Counter()

    def watch(batch, actions):
        asked = (batch.programs.operation[pointed_rows(batch)] >= Operation.AGENT) & (batch.outcome == Outcome.RUNNING)
        for world in np.flatnonzero(asked):
            votes[condition_key(batch, world)] += 1 if actions[world] == Action.TRUE else -1

    rollout(load_split("train"), PlannerAgent(), watch=watch)
    return {key: vote > 0 for key, vote in votes.items()}


@pytest.mark.parametrize("split", SIZES)
def test_answering_by_what_is_usual_finishes_few_programs_that_ask_much(split):
    asking = [entry for entry in load_split(split) if count_control(entry.program.body) >= 3]
    assert len(asking) > 50
    assert rollout(asking, PriorAgent(usual_answers())).finished.mean() < 0.35


# --- files


def test_the_alias_of_the_paper_means_test():
    assert ALIASES == {"standard": "test"}
    assert split_name("standard") == "test"
    assert load_split("standard") == load_split("test")


@pytest.mark.parametrize("name", ["tests", "", "Train", "train.jsonl", "../train"])
def test_an_unknown_split_is_refused_and_the_known_ones_are_named(name):
    with pytest.raises(DataError, match="train, test, longer, complex, test-complex"):
        load_split(name)


def test_a_misspelled_split_is_guessed():
    with pytest.raises(DataError, match="did you mean 'longer'"):
        split_name("longr")


def test_encoding_the_loaded_splits_gives_the_shipped_bytes():
    files = encode({split: load_split(split) for split in SIZES})
    shipped = {path.name: path.read_bytes() for path in SPLITS_FOLDER.iterdir()}
    assert files.keys() == shipped.keys()
    for name, data in files.items():
        assert data == shipped[name], name


def test_every_file_of_the_splits_is_part_of_an_installed_package():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    package = ROOT / "program_guided"
    names = [path.relative_to(package).as_posix() for path in SPLITS_FOLDER.iterdir()]
    left_out = [name for name in names if not any(fnmatch.fnmatch(name, row) for row in patterns["program_guided"])]
    assert left_out == []


@pytest.fixture
def folder(tmp_path):
    """A copy of the shipped files, to be damaged."""
    return Path(shutil.copytree(SPLITS_FOLDER, tmp_path / "splits"))


def damage_index(folder, change):
    index = json.loads((folder / "index.json").read_text("utf-8"))
    changed = change(index)
    (folder / "index.json").write_text(json.dumps(index if changed is None else changed), "utf-8")


def test_a_copy_in_another_folder_can_be_loaded(folder):
    assert load_split("test", folder) == load_split("test")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-1], id="cut short"),
        pytest.param(lambda data: data + b"\n", id="a line more"),
        pytest.param(lambda data: data.replace(b"gold", b"iron", 1), id="another program"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"\xff\xfe" + data, id="not text"),
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), id="other line ends"),
    ],
)
def test_a_damaged_split_is_refused_by_its_path(folder, damage):
    path = folder / "test.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="test.jsonl"):
        load_split("test", folder)
    assert len(load_split("longer", folder)) == SIZES["longer"], "the others are not touched"


@pytest.mark.parametrize("name", ["test.jsonl", "index.json"])
def test_a_missing_file_is_refused_by_its_path_and_with_advice(folder, name):
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"{name}.*proto dataset build"):
        load_split("test", folder)


def test_a_missing_folder_is_refused_by_its_path(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        load_split("test", tmp_path / "nowhere")


def test_a_folder_in_place_of_a_file_is_refused(folder):
    (folder / "test.jsonl").unlink()
    (folder / "test.jsonl").mkdir()
    with pytest.raises(DataError, match="test.jsonl"):
        load_split("test", folder)


@pytest.mark.parametrize("version", [0, DOMAIN.version + 1, str(DOMAIN.version), None])
def test_splits_of_another_version_of_the_world_are_refused(folder, version):
    damage_index(folder, lambda index: index.update(domain_version=version))
    with pytest.raises(DataError, match=f"version {version} of the world, this is {DOMAIN.version}"):
        load_split("test", folder)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda index: [], id="a list"),
        pytest.param(lambda index: index.pop("splits") and None, id="no splits"),
        pytest.param(lambda index: index["splits"].pop("test") and None, id="a split is missing"),
        pytest.param(lambda index: index["splits"].update(test=3), id="a split is a number"),
        pytest.param(lambda index: index["splits"]["test"].pop("sha256") and None, id="no checksum"),
        pytest.param(lambda index: index["splits"]["test"].update(sha256="0" * 64), id="another checksum"),
    ],
)
def test_a_damaged_index_is_refused(folder, change):
    damage_index(folder, change)
    with pytest.raises(DataError, match=r"index\.json|test\.jsonl"):
        load_split("test", folder)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\xff"])
def test_an_index_that_is_no_json_is_refused(folder, data):
    (folder / "index.json").write_bytes(data)
    with pytest.raises(DataError, match=r"index\.json"):
        load_split("test", folder)


def test_an_index_nested_too_deeply_is_damaged(folder):
    (folder / "index.json").write_text("[" * 100_000, "ascii")
    with pytest.raises(DataError, match="index.json: is damaged"):
        load_split("test", folder)
