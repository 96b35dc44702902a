"""The language of visual questions: the table, and round trips of `semantic` lists."""

import copy
import re

import numpy as np
import pytest

from program_guided.errors import DataError, ProgramError
from program_guided.language import compile_program, print_program
from program_guided.tasks.visual.domain import (
    DOMAIN,
    OPEN_ROWS,
    ROWS,
    found_ids,
    parse_visual,
    program_of,
    routine_words,
    row_of,
    semantic_of,
    table_of,
)
from tests.test_visual_data import real_json

FORMS = [
    ("select", [], "mirror (2672975)", "mirror"),
    ("select", [], "dishwasher (-) ", "dishwasher"),
    ("select", [], "mirror(12, 3)", "mirror"),
    ("select", [], "mirror(-)", "mirror"),
    ("select", [], "women's t-shirt (4)", "women's t-shirt"),
    ("relate", [0], "_,same shape,_ (4)", "_,same shape,_"),
    ("verify rel", [0], "girl,looking at,o (-) ", "girl,looking at,o"),
    ("filter hposition", [0], "not(left)", "not(left)"),
    ("select", [], "scene", "scene"),
    ("select", [], "this (381558)", "this"),
    ("select", [], "person (1,2)", "person"),
    ("relate", [0], "_,on,s (2672975)", "_,on,s"),
    ("relate", [0], "plate,beside,s (-)", "plate,beside,s"),
    ("relate", [0], "book,to the left of,o (1026411,3)", "book,to the left of,o"),
    ("relate", [0], "furniture,same color,_ (9)", "furniture,same color,_"),
    ("relate", [0], "furniture,same color (9)", "furniture,same color"),
    ("choose rel", [0], "faucet,to the right of|to the left of,s (7)", "faucet,to the left of|to the right of,s"),
    ("choose vposition", [0], "top|bottom", "bottom|top"),
    ("choose name", [0], "truck|train", "train|truck"),
    ("choose less healthy", [0, 0], "", ""),
    ("filter size", [0], "not(large)", "not(large)"),
    ("filter sportActivity", [0], "skiing", "skiing"),
    ("filter face expression", [0], "happy ", "happy"),
    ("query", [0], "hposition", "hposition"),
    ("exist", [0], "?", "?"),
    ("same", [0], "gender", "gender"),
    ("same color", [0, 0], "", ""),
    ("common", [0, 0], "", ""),
]


def steps(operation, dependencies, argument):
    first = [] if operation == "select" else [{"operation": "select", "dependencies": [], "argument": "thing (7)"}]
    return [*first, {"operation": operation, "dependencies": dependencies, "argument": argument}]


def stripped(semantic):
    """The `semantic` list that a round trip must preserve, computed without the domain."""
    result = []
    for step in semantic:
        argument = re.sub(r" \((-|[\d,]+)\) ?$", "", step["argument"]).strip()
        pieces = argument.split(",")
        argument = ",".join("|".join(sorted(piece.split("|"))) for piece in pieces)
        result.append({**step, "argument": argument})
    return result


def round_trip(semantic):
    program = program_of(semantic)
    text = print_program(program, DOMAIN)
    assert parse_visual(text) == program
    return semantic_of(parse_visual(text))


def test_the_table_has_the_138_operations_of_the_release():
    assert len({row.release_name for row in ROWS.values()}) == 138
    assert [each.name for each in DOMAIN.operations] == [*ROWS, *OPEN_ROWS]
    counts = {}
    for row in ROWS.values():
        counts[row.family] = counts.get(row.family, 0) + 1
    singles = dict.fromkeys(["select", "relate", "query", "exist", "and", "or", "common"], 1)
    assert counts == singles | {"filter": 38, "verify": 38, "choose": 48, "different": 3, "same": 4}
    assert not DOMAIN.sequential


@pytest.mark.parametrize(("operation", "dependencies", "argument", "expected"), FORMS)
def test_every_form_of_argument_survives_a_round_trip(operation, dependencies, argument, expected):
    back = round_trip(steps(operation, dependencies, argument))[-1]
    assert back == {"operation": operation, "dependencies": dependencies, "argument": expected}


def test_every_operation_of_the_table_survives_a_round_trip():
    arguments = {0: "", 1: "word", 2: "a|b", 3: "name,near,s", 4: "name,near|on,o"}
    boolean = {"operation": "exist", "dependencies": [0], "argument": "?"}
    for row in ROWS.values():
        inputs = [0 if kind == "Objects" else 1 for kind in row.operation.inputs]
        argument = "?" if row.family == "exist" else arguments[len(row.form.parameters)]
        step = {"operation": row.release_name, "dependencies": inputs, "argument": argument}
        semantic = [*steps("select", [], "thing"), boolean, step]
        assert round_trip(semantic) == semantic


@pytest.mark.parametrize(
    ("operation", "inputs", "argument", "text"),
    [
        ("choose bigger", [0, 1], "", "choose_comparative([1], bigger, [2])"),
        ("verify sharpness", [0], "not(sharp) (-)", "verify_attribute([2], sharpness, not(sharp))"),
        ("filter face shape", [0], "round (12)", "filter_attribute([2], face shape, round)"),
        ("choose sharpness", [0], "sharp|blunt", "choose_attribute([2], sharpness, blunt, sharp)"),
        ("same size", [0, 1], "", "same_attribute([1], size, [2])"),
        ("different tone", [0, 1], "", "different_attribute([1], tone, [2])"),
    ],
)
def test_a_category_that_was_never_seen_is_read_as_its_family(operation, inputs, argument, text):
    inputs = inputs if len(inputs) == 2 else [1]
    step = {"operation": operation, "dependencies": inputs, "argument": argument}
    semantic = [*steps("select", [], "thing"), *steps("select", [], "bag"), step]
    program = program_of(semantic)
    assert program == parse_visual(f"select(thing)\nselect(bag)\n{text}")
    assert round_trip(semantic) == stripped(semantic)
    family, _, category = operation.partition(" ")
    assert routine_words(program.body[-1])[:2] == (family, category)


@pytest.mark.parametrize("operation", ["verify", "glance", "glance color", "exist color", "select color"])
def test_an_unknown_family_is_an_error(operation):
    step = {"operation": operation, "dependencies": [0, 0, 0], "argument": "?"}
    with pytest.raises(DataError, match=f"step 1 of 'semantic': (unknown operation '{operation}'|'verify')"):
        program_of([*steps("select", [], "thing"), step])


@pytest.mark.parametrize("argument", ["utensil,on top of", "utensil,on top of (12)", "_,near"])
def test_a_role_that_was_cut_off_is_an_error(argument):
    with pytest.raises(DataError, match="'relate' cannot have the argument"):
        program_of(steps("relate", [0], argument))
    assert program_of(steps("relate", [0], "utensil,same color"))


def test_all_real_questions_compile_and_lose_only_their_ids():
    questions = {**real_json("train_questions.json"), **real_json("dev_questions.json")}
    assert len(questions) == 11_062
    for question in questions.values():
        assert round_trip(question["semantic"]) == stripped(question["semantic"])
        assert len(table_of(question["semantic"])) == len(question["semantic"])


@pytest.mark.parametrize(
    ("argument", "ids"), [("bag (42)", ("42",)), ("bag(1, 2)", ("1", "2")), ("bag (-) ", ()), ("bag (\u0663)", None)]
)
def test_ids_are_ascii_digits(argument, ids):
    semantic = [{"operation": "select", "dependencies": [], "argument": argument}]
    assert found_ids(semantic) == [ids]
    assert program_of(semantic) == parse_visual("select(bag)")


@pytest.mark.parametrize(
    ("last", "compares", "structural"),
    [
        ("choose_larger([1], [2])", True, "compare"),
        ("choose_comparative([1], bigger, [2])", True, "compare"),
        ("choose_color([1], red, blue)", False, "choose"),
        ("choose_attribute([1], sharpness, sharp, blunt)", False, "choose"),
        ("same_color([1], [2])", False, "compare"),
    ],
)
def test_comparatives_are_the_choices_between_two_inputs(last, compares, structural):
    row, _ = row_of(parse_visual(f"select(bag)\nselect(wine)\n{last}").body[-1])
    assert (row.compares, row.structural) == (compares, structural)


def test_nothing_in_brackets_reaches_a_table():
    questions = list(real_json("dev_questions.json").values())
    for question in questions:
        changed = copy.deepcopy(question["semantic"])
        for number, step in enumerate(changed):
            step["argument"] = re.sub(r" \((-|[\d,]+)\)", f" ({'-' if number % 2 else '77,88'})", step["argument"])
        before, after = table_of(question["semantic"]), table_of(changed)
        assert before.calls == after.calls
        assert np.array_equal(before.operation, after.operation)
        assert not any(re.search(r"\d|\(-\)", " ".join(routine_words(call))) for call in before.calls)


def test_the_order_of_options_is_dropped():
    one, other = (program_of(steps("choose color", [0], argument)) for argument in ("white|black", "black|white"))
    assert one == other == parse_visual("select(thing)\nchoose_color(white, black)")


def test_an_input_may_be_left_out_named_or_numbered():
    texts = (
        "select(bag)\nselect(wine)\nsame_color()",
        "bag = select(bag)\nwine = select(wine)\nsame_color(bag, wine)",
        "Select(bag)\nSelect(wine)\nSameColor([1], [2])",
    )
    assert len({compile_program(parse_visual(text), DOMAIN).parents for text in texts}) == 1
    assert semantic_of(parse_visual(texts[0]))[2]["dependencies"] == [0, 1]


def test_family_and_category_are_separate_words():
    program = program_of(steps("filter face expression", [0], "not(sad)"))
    assert routine_words(program.body[1]) == ("filter", "face expression", "not", "", "sad")


def test_the_role_of_a_relation_is_among_the_words_of_the_operation():
    program = program_of(steps("relate", [0], "bag,to the left of,s (5)"))
    assert routine_words(program.body[1]) == ("relate", "", "", "subject", "bag", "to the left of")
    assert DOMAIN.operation_words == routine_words(program.body[1]).index("bag")


@pytest.mark.parametrize(
    ("semantic", "message"),
    [
        ([], "not a list of steps"),
        ("select", "not a list of steps"),
        ([{"operation": "select"}], "step 0 of 'semantic': expected 'operation', 'argument' and 'dependencies'"),
        (steps("sniff smell", [0], "bad"), "step 1 of 'semantic': unknown operation 'sniff smell'"),
        (steps("choose color", [0], "white"), "'choose color' cannot have the argument 'white'"),
        (steps("relate", [0], "on"), "'relate' cannot have the argument 'on'"),
        (steps("select", [], " (42)"), "'select' cannot have the argument"),
        (steps("and", [0, 0], ""), "'and' takes Boolean and Boolean, but its dependencies give Objects and Objects"),
        (steps("query", [], "name"), "'query' takes Objects, but its dependencies give nothing"),
        (steps("exist", [1], "?"), "it depends on step 1, which is not an earlier step"),
        (steps("exist", [-1], "?"), "it depends on step -1, which is not an earlier step"),
        (steps("exist", ["0"], "?"), "'dependencies' must be a list of step numbers"),
        (steps("exist", [0], None), "'operation' and 'argument' must be texts"),
    ],
)
def test_a_bad_step_is_named(semantic, message):
    with pytest.raises(DataError, match=re.escape(message)):
        program_of(semantic)


def test_a_mistake_in_a_written_program_is_shown_with_a_caret():
    with pytest.raises(ProgramError, match=r"(?s)unknown operation 'filter_colour'.*\^"):
        parse_visual("select(bag)\nfilter_colour(red)")
