"""The routine table and the pointer, checked by hand; Algorithms 2 and 4 line by line."""

import numpy as np
import pytest
from domains import PAPER_PROGRAM, VISUAL
from parallel import Frontier, advance_parallel, start_parallel, waves

from program_guided.language import (
    Kind,
    Pointer,
    Vocabulary,
    advance,
    compile_program,
    parse,
    start,
)
from program_guided.language.pointer import NOWHERE
from program_guided.tasks.minecraft.domain import CONTROL_FLOW, DOMAIN

STEP, IF, WHILE = Kind.STEP, Kind.IF, Kind.WHILE


def table_of(text, domain=DOMAIN):
    return compile_program(parse(text, domain), domain)


def flow(table):
    """(kind, next if true, next if false) of every row."""
    return list(zip(table.kind.tolist(), table.on_true.tolist(), table.on_false.tolist(), strict=True))


# Flows -----------------------------------------------------------------------------------------------------------

PAPER = table_of(PAPER_PROGRAM)
# 0 if is_there[river]:            -> 1, else 6
# 1   mine(wood)
# 2   build_bridge()
# 3   if agent[iron] < 3:          -> 4, else 5
# 4     mine(iron)
# 5   place(iron, 1, 1)            -> 7, behind the else
# 6 else: goto(4, 2)
# 7 while env[gold] > 0:           -> 8, else over
# 8   mine(gold)                   -> 7


def test_the_papers_program_flows_as_drawn():
    assert flow(PAPER) == [
        (IF, 1, 6),
        (STEP, 2, 2),
        (STEP, 3, 3),
        (IF, 4, 5),
        (STEP, 5, 5),
        (STEP, 7, 7),
        (STEP, 7, 7),
        (WHILE, 8, 9),
        (STEP, 7, 7),
    ]


def test_the_papers_program_has_one_entrance_and_the_loops_condition_as_its_exit():
    assert len(PAPER) == 9
    assert PAPER.entrance == 0
    assert PAPER.exits == (7,)


def test_the_papers_program_has_these_successors_and_parents():
    assert PAPER.successors == ((1, 6), (2,), (3,), (4, 5), (5,), (7,), (7,), (8, 9), (7,))
    assert PAPER.parents == ((), (0,), (1,), (2,), (3,), (3, 4), (0,), (5, 6, 8), (7,))


def test_in_a_flow_every_routine_is_a_wave_of_its_own():
    assert waves(PAPER) == tuple((row,) for row in range(9))


def test_the_words_of_a_routine_begin_with_its_operation():
    assert PAPER.words == (
        ("is_there", "river"),
        ("mine", "wood"),
        ("build_bridge",),
        ("agent", "iron", "<", 3),
        ("mine", "iron"),
        ("place", "iron", 1, 1),
        ("goto", 4, 2),
        ("env", "gold", ">", 0),
        ("mine", "gold"),
    )


def test_word_numbers_are_places_in_the_vocabulary_and_zero_where_there_is_no_word():
    assert PAPER.word_ids.shape == (9, 4)
    vocabulary = DOMAIN.vocabulary
    assert vocabulary[0] == ""
    spelt = [[vocabulary[number] for number in row] for row in PAPER.word_ids]
    assert spelt == [
        ["is_there", "river", "", ""],
        ["mine", "wood", "", ""],
        ["build_bridge", "", "", ""],
        ["agent", "iron", "<", "3"],
        ["mine", "iron", "", ""],
        ["place", "iron", "1", "1"],
        ["goto", "4", "2", ""],
        ["env", "gold", ">", "0"],
        ["mine", "gold", "", ""],
    ]


def test_the_vocabulary_names_every_word_once():
    assert len(set(DOMAIN.vocabulary)) == len(DOMAIN.vocabulary) == 1 + 8 + 12 + 5 + 100 + 5
    assert DOMAIN.vocabulary[1:10] == (*(operation.name for operation in CONTROL_FLOW.operations), "gold")
    assert DOMAIN.vocabulary[-5:] == tuple(operation.name for operation in DOMAIN.operations[8:])


def test_the_operation_of_a_routine_is_its_row_in_the_domain():
    names = [DOMAIN.operations[row].name for row in PAPER.operation]
    assert names == [words[0] for words in PAPER.words]


@pytest.mark.parametrize("column", ["operation", "kind", "on_true", "on_false", "word_ids"])
def test_the_arrays_of_a_table_cannot_be_written(column):
    array = getattr(PAPER, column)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


FLOWS = {
    "a step": ("mine(gold)", [(STEP, 1, 1)], (0,)),
    "two steps": ("mine(gold); mine(wood)", [(STEP, 1, 1), (STEP, 2, 2)], (1,)),
    "an if at the end": ("if is_there[gold]: mine(gold)", [(IF, 1, 2), (STEP, 2, 2)], (0, 1)),
    "an if and else at the end": (
        "if is_there[gold]: mine(gold)\nelse: mine(wood)",
        [(IF, 1, 2), (STEP, 3, 3), (STEP, 3, 3)],
        (1, 2),
    ),
    "elif without else": (
        "if is_there[gold]: mine(gold)\nelif is_there[wood]: mine(wood)\nmine(iron)",
        [(IF, 1, 2), (STEP, 4, 4), (IF, 3, 4), (STEP, 4, 4), (STEP, 5, 5)],
        (4,),
    ),
    "elif and else": (
        "if is_there[gold]: mine(gold)\nelif is_there[wood]: mine(wood)\nelse: mine(iron)\nmine(silver)",
        [(IF, 1, 2), (STEP, 5, 5), (IF, 3, 4), (STEP, 5, 5), (STEP, 5, 5), (STEP, 6, 6)],
        (5,),
    ),
    "a while": ("while is_there[gold]: mine(gold)", [(WHILE, 1, 2), (STEP, 0, 0)], (0,)),
    "a while in a while": (
        "while is_there[gold]:\n  while is_there[wood]: mine(wood)\nmine(iron)",
        [(WHILE, 1, 3), (WHILE, 2, 0), (STEP, 1, 1), (STEP, 4, 4)],
        (3,),
    ),
    "an if that ends a while": (
        "while is_there[gold]:\n  if is_there[wood]: mine(wood)\nmine(iron)",
        [(WHILE, 1, 3), (IF, 2, 0), (STEP, 0, 0), (STEP, 4, 4)],
        (3,),
    ),
    "an if with else that ends a while": (
        "while is_there[gold]:\n  if is_there[wood]: mine(wood)\n  else: mine(iron)",
        [(WHILE, 1, 4), (IF, 2, 3), (STEP, 0, 0), (STEP, 0, 0)],
        (0,),
    ),
    "a while that ends a branch": (
        "if is_there[gold]:\n  while is_there[wood]: mine(wood)\nelse:\n  mine(iron)\nmine(gold)",
        [(IF, 1, 3), (WHILE, 2, 4), (STEP, 1, 1), (STEP, 4, 4), (STEP, 5, 5)],
        (4,),
    ),
    "an if that ends an if that ends an if": (
        "if is_there[gold]:\n if is_there[wood]:\n  if is_there[iron]: mine(iron)\n else: mine(wood)\nelse: sell(gold)",
        [(IF, 1, 5), (IF, 2, 4), (IF, 3, 6), (STEP, 6, 6), (STEP, 6, 6), (STEP, 6, 6)],
        (2, 3, 4, 5),
    ),
    "a loop is its body laid out": (
        "loop(3): mine(gold)\nmine(wood)",
        [(STEP, 1, 1), (STEP, 2, 2), (STEP, 3, 3), (STEP, 4, 4)],
        (3,),
    ),
    "a loop of an if": (
        "loop(2):\n  if is_there[gold]: mine(gold)",
        [(IF, 1, 2), (STEP, 2, 2), (IF, 3, 4), (STEP, 4, 4)],
        (2, 3),
    ),
    "a loop in a loop": ("loop(2): loop(2): mine(gold)", [(STEP, row, row) for row in (1, 2, 3, 4)], (3,)),
    "a loop that ends a while": (
        "while is_there[gold]:\n  loop(2): mine(gold)",
        [(WHILE, 1, 3), (STEP, 2, 2), (STEP, 0, 0)],
        (0,),
    ),
    "a loop of a while": (
        "loop(2):\n  while is_there[gold]: mine(gold)",
        [(WHILE, 1, 2), (STEP, 0, 0), (WHILE, 3, 4), (STEP, 2, 2)],
        (2,),
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_control_flow_is_laid_out_by_hand(name):
    text, expected, exits = FLOWS[name]
    table = table_of(text)
    assert flow(table) == expected
    assert table.exits == exits


def test_a_loop_repeats_its_calls_in_the_table():
    table = table_of("loop(2):\n  mine(gold)\n  goto(4, 2)")
    assert table.words == (("mine", "gold"), ("goto", 4, 2)) * 2


def test_the_longest_loop_fits_in_the_table():
    table = table_of("loop(1000): mine(gold)")
    assert len(table) == 1000
    assert table.on_true[-1] == 1000


# Algorithm 2 -----------------------------------------------------------------------------------------------------


def test_a_pointer_starts_at_the_entrance_with_nothing_before_it():
    pointer = start(PAPER)
    assert pointer == Pointer(0, NOWHERE)
    assert pointer.parents(PAPER) == ()
    assert not pointer.finished(PAPER)


@pytest.mark.parametrize("answers", [{0: True, 3: True}, {0: True, 3: False}, {0: False}])
def test_the_pointer_goes_through_the_papers_program(answers):
    expected = [0, 1, 2, 3, *([4] if answers.get(3) else []), 5] if answers[0] else [0, 6]
    expected += [7, 8, 7, 8, 7]
    gold, pointer = iter([True, True, False]), start(PAPER)
    for row in expected:
        assert pointer.routine == row
        answer = next(gold) if pointer.routine == 7 else answers.get(pointer.routine)
        after = advance(PAPER, pointer, answer)
        assert after.previous == pointer.routine
        if not after.finished(PAPER):
            assert after.parents(PAPER) == (pointer.routine,)
            assert pointer.routine in PAPER.parents[after.routine]
        pointer = after
    assert pointer == Pointer(9, 7)
    assert pointer.finished(PAPER)


@pytest.mark.parametrize("row", [0, 3, 7])
def test_a_condition_without_an_answer_cannot_be_left(row):
    with pytest.raises(ValueError, match=f"routine {row} is a condition"):
        advance(PAPER, Pointer(row))


@pytest.mark.parametrize("answer", [None, True, False])
def test_an_answer_means_nothing_at_a_behaviour(answer):
    assert advance(PAPER, Pointer(5, 4), answer) == Pointer(7, 5)


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_an_answer_may_come_out_of_an_array(kind):
    assert advance(PAPER, Pointer(0), kind(True)) == Pointer(1, 0)
    assert advance(PAPER, Pointer(0), kind(False)) == Pointer(6, 0)


# Graphs ----------------------------------------------------------------------------------------------------------

BAG_AND_WINE = table_of("Select(bag)\nSelect(wine)\nVerify_relation(left)", VISUAL)
DIAMOND = table_of(
    "bag = select(bag)\nred = filter_color(bag, red)\nrelate(bag, table, on)\nexist(red)\nexist([3])\nand([4], [5])\n",
    VISUAL,
)
# 0 bag -> 1 red -> 3 exist -> 5 and
#       -> 2 table -> 4 exist ->


def test_the_parents_of_a_graphs_routine_are_its_inputs_in_their_order():
    assert BAG_AND_WINE.parents == ((), (), (0, 1))
    assert DIAMOND.parents == ((), (0,), (0,), (1,), (2,), (3, 4))
    assert table_of("select(a)\nselect(b)\nverify_relation([2], left, [1])", VISUAL).parents[2] == (1, 0)


def test_a_graph_has_its_last_routine_as_its_exit():
    assert BAG_AND_WINE.exits == (2,)
    assert DIAMOND.exits == (5,)


def test_a_graph_run_by_one_pointer_is_run_in_reading_order():
    assert DIAMOND.entrance == 0
    assert DIAMOND.successors == tuple((row + 1,) for row in range(6))
    assert flow(DIAMOND) == [(STEP, row + 1, row + 1) for row in range(6)]
    pointer = start(DIAMOND)
    for row, parents in enumerate(DIAMOND.parents):
        assert (pointer.routine, pointer.parents(DIAMOND)) == (row, parents)
        pointer = advance(DIAMOND, pointer)
    assert pointer.finished(DIAMOND)


def test_routines_that_need_only_earlier_waves_are_executed_together():
    assert waves(BAG_AND_WINE) == ((0, 1), (2,))
    assert waves(DIAMOND) == ((0,), (1, 2), (3, 4), (5,))


def test_a_wave_is_the_longest_way_to_a_routine_not_the_shortest():
    table = table_of("select(a)\nfilter_color(red)\nfilter_color(white)\nverify_relation([1], left, [3])", VISUAL)
    assert waves(table) == ((0,), (1,), (2,), (3,))


def test_chains_that_meet_nowhere_run_side_by_side():
    table = table_of("select(a)\nexist()\nselect(b)\nfilter_color(red)\nexist()\nselect(c)", VISUAL)
    assert waves(table) == ((0, 2, 5), (1, 3), (4,))


def test_the_words_of_a_graphs_routine_are_its_own_without_its_inputs():
    assert DIAMOND.words == (
        ("select", "bag"),
        ("filter_color", "red"),
        ("relate", "table", "on"),
        ("exist",),
        ("exist",),
        ("and",),
    )


def test_free_text_is_unknown_to_the_closed_vocabulary():
    vocabulary = Vocabulary.of(VISUAL).words
    assert vocabulary[:2] == ("", "<unknown>")
    spelt = [[vocabulary[number] for number in row] for row in DIAMOND.word_ids]
    assert spelt == [
        ["select", "<unknown>", ""],
        ["filter_color", "red", ""],
        ["relate", "<unknown>", "<unknown>"],
        ["exist", "", ""],
        ["exist", "", ""],
        ["and", "", ""],
    ]


# Algorithms 3 and 4 ----------------------------------------------------------------------------------------------


def rows(frontier):
    return tuple(pointer.routine for pointer in frontier.pointers)


@pytest.mark.parametrize("table", [BAG_AND_WINE, DIAMOND], ids=["bag and wine", "diamond"])
def test_pointers_that_end_together_execute_the_waves(table):
    frontier = start_parallel(table)
    for wave in waves(table):
        assert rows(frontier) == wave
        assert not frontier.finished()
        frontier = advance_parallel(table, frontier, dict.fromkeys(wave))
    assert frontier.finished()
    assert frontier.ended == frozenset(range(len(table)))


def test_a_routine_waits_for_all_its_inputs_and_others_go_on():
    frontier = advance_parallel(DIAMOND, start_parallel(DIAMOND), {0: None})
    assert rows(frontier) == (1, 2)
    frontier = advance_parallel(DIAMOND, frontier, {1: None})
    assert rows(frontier) == (2, 3)
    frontier = advance_parallel(DIAMOND, frontier, {3: True})
    assert rows(frontier) == (2,)
    frontier = advance_parallel(DIAMOND, frontier, {2: None})
    assert rows(frontier) == (4,)
    frontier = advance_parallel(DIAMOND, frontier, {4: False})
    assert rows(frontier) == (5,)
    assert advance_parallel(DIAMOND, frontier, {5: False}).finished()


def test_nothing_moves_where_nothing_has_ended():
    for table in (PAPER, DIAMOND):
        frontier = start_parallel(table)
        assert advance_parallel(table, frontier, {}) == frontier


def test_a_boolean_in_a_graph_is_a_result_and_not_a_turning():
    table = table_of("select(a)\nexist()\nselect(b)\nexist()\nand()", VISUAL)
    for answer in (True, False, None):
        frontier = advance_parallel(table, start_parallel(table), {0: None, 2: None})
        assert rows(advance_parallel(table, frontier, {1: answer, 3: answer})) == (4,)


@pytest.mark.parametrize("answers", [[True, True, True, False], [True, False, False], [False, True, True, False]])
def test_in_a_flow_the_frontier_is_the_one_pointer(answers):
    frontier, pointer, said = start_parallel(PAPER), start(PAPER), iter(answers)
    while not pointer.finished(PAPER):
        assert frontier.pointers == (pointer,)
        answer = next(said) if PAPER.kind[pointer.routine] != STEP else None
        frontier = advance_parallel(PAPER, frontier, {pointer.routine: answer})
        pointer = advance(PAPER, pointer, answer)
    assert frontier.finished()
    assert next(said, "all were asked") == "all were asked"


def test_in_a_flow_a_frontier_does_not_pass_a_condition_without_an_answer():
    with pytest.raises(ValueError, match="routine 0 is a condition"):
        advance_parallel(PAPER, start_parallel(PAPER), {0: None})


def test_pointers_and_frontiers_are_values():
    assert {Pointer(1, 0), Pointer(1, 0)} == {Pointer(1, 0)}
    assert Frontier((Pointer(0),)) == start_parallel(PAPER)
