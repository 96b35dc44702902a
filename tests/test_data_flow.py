"""Results that calls take from each other, in programs with control flow: read, printed, laid out and executed."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import count, islice
from random import Random
from zlib import crc32

import numpy as np
import pytest
from domains import ERRANDS, VISUAL
from parallel import start_parallel, waves

from program_guided.errors import ProgramError
from program_guided.language import (
    BOOLEAN,
    Call,
    Choice,
    Domain,
    If,
    Input,
    Kind,
    Number,
    Operation,
    Pointer,
    Program,
    Ref,
    Shape,
    Text,
    UniformVocabulary,
    Vocabulary,
    While,
    advance,
    calls,
    compile_program,
    flatten,
    interpret,
    map_calls,
    parse,
    print_call,
    print_program,
    sample_program,
    start,
)
from program_guided.language.lines import MAX_NESTED_CALLS
from program_guided.language.printer import relined
from program_guided.tasks.minecraft.domain import CONTROL_FLOW
from program_guided.tasks.minecraft.domain import DOMAIN as MINECRAFT
from program_guided.tasks.visual.domain import DOMAIN as PICTURES
from program_guided.tasks.visual.domain import canonical, parse_visual, semantic_of
from program_guided.tasks.visual.embedded.scenes import sample_scene
from program_guided.tasks.visual.oracle import answer_of, execute

STEP, IF, WHILE = Kind.STEP, Kind.IF, Kind.WHILE
COUNT, CARRIED = Call("count", ("gold",)), Call("carried", ("gold",))
MINE = Call("mine", ("gold",))


def table_of(text, domain=ERRANDS):
    return compile_program(parse(text, domain), domain)


def flow(table):
    return list(zip(table.kind.tolist(), table.on_true.tolist(), table.on_false.tolist(), strict=True))


def problems(text, domain=ERRANDS):
    with pytest.raises(ProgramError) as caught:
        parse(text, domain)
    return [(f"{each.line}:{each.column}", each.message) for each in caught.value.problems]


# The syntax tree -------------------------------------------------------------------------------------------------

CARRY_ALL = """\
def run():
  n = count(gold)
  while less(carried(gold), n):
    mine(gold)
"""


def test_a_condition_takes_a_named_result_and_a_nested_call():
    program = parse(CARRY_ALL, ERRANDS)
    condition = Call("less", (CARRIED, Ref(0)))
    assert program == Program((Call("count", ("gold",), "n"), While(condition, (MINE,))))
    assert print_program(program, ERRANDS) == CARRY_ALL
    assert (condition.words, condition.inputs) == ((), (0,))


def test_calls_come_in_the_order_of_execution_nested_ones_first():
    program = parse(CARRY_ALL, ERRANDS)
    assert [call.operation for call in calls(program.body)] == ["count", "carried", "less", "mine"]


def test_a_flat_program_has_references_in_the_place_of_nested_calls():
    program = parse(CARRY_ALL, ERRANDS)
    assert flatten(program.body) == (
        Call("count", ("gold",), "n"),
        Call("carried", ("gold",)),
        Call("less", (Ref(1), Ref(0))),
        MINE,
    )
    deep = parse("if not(not(less(count(gold), count(wood)))): rest()", ERRANDS)
    assert [call.inputs for call in flatten(deep.body)] == [(), (), (0, 1), (2,), (3,), ()]
    assert flatten(flatten(deep.body)) == flatten(deep.body)


def test_every_call_can_be_changed_nested_ones_too():
    program = parse("loop(2):\n  if less(count(gold), count(wood)): mine(gold)\n  else: rest()", ERRANDS)
    seen = []
    assert map_calls(program.body, lambda call: seen.append(call.operation) or call) == program.body
    assert seen == ["count", "count", "less", "mine", "rest"]


def test_the_order_of_inputs_matters():
    one, other = (
        parse(f"a = count(gold)\nb = count(wood)\nx = greater({given})", ERRANDS) for given in ("a, b", "b, a")
    )
    assert one != other
    assert [program.body[2].inputs for program in (one, other)] == [(0, 1), (1, 0)]


READ = {
    "goto(4, 2)": Call("goto", (4, 2)),
    "goto(count(gold), 2)": Call("goto", (COUNT, 2)),
    "goto(2, plus(count(gold), 1))": Call("goto", (2, Call("plus", (COUNT, 1)))),
    "give(gold, count(gold))": Call("give", ("gold", COUNT)),
    "Give(Nearest( Wood ), Count[Gold])": Call("give", (Call("nearest", ("wood",)), COUNT)),
    "x = env[gold] > 0": Call("env", ("gold", ">", 0), "x"),
    'x = env(gold, ">", count(gold))': Call("env", ("gold", ">", COUNT), "x"),
    "x = not(env[gold] > 0)": Call("not", (Call("env", ("gold", ">", 0)),), "x"),
    "x = not(is_there[river])": Call("not", (Call("is_there", ("river",)),), "x"),
    "x = not(is there(river))": Call("not", (Call("is_there", ("river",)),), "x"),
}


@pytest.mark.parametrize("text", READ)
def test_an_argument_is_a_word_or_a_call_as_its_parameter_has_it(text):
    program = parse(text, ERRANDS)
    assert program == Program((READ[text],))
    assert parse(print_program(program, ERRANDS), ERRANDS) == program


def test_a_name_is_a_result_where_a_result_is_accepted_and_a_word_in_quotes():
    program = parse('gold = nearest(wood)\nn = count(gold)\ngive(gold, n)\ngive("gold", n)', ERRANDS)
    assert program.body[1:] == (
        Call("count", ("gold",), "n"),
        Call("give", (Ref(0), Ref(1))),
        Call("give", ("gold", Ref(1))),
    )
    assert print_program(program, ERRANDS) == (
        'def run():\n  gold = nearest(wood)\n  n = count("gold")\n  give(gold, n)\n  give("gold", n)\n'
    )
    assert parse(print_program(program, ERRANDS), ERRANDS) == program


def test_a_number_counts_nested_calls_before_the_call_that_takes_them():
    program = parse("a = plus(count(gold), 1)\ngoto([1], [2])", ERRANDS)
    assert program.body[1] == Call("goto", (Ref(0), Ref(1)))
    assert print_program(program, ERRANDS) == "def run():\n  a = plus(count(gold), 1)\n  goto([1], a)\n"


def test_inputs_may_be_left_out_in_a_flow_too():
    program = parse("count(gold)\ncount(wood)\nif less(): rest()\nelif greater([2], [1]): rest()", ERRANDS)
    assert program.body[2].branches[0][0] == Call("less", (Ref(0), Ref(1)))
    assert program.body[2].branches[1][0] == Call("greater", (Ref(1), Ref(0)))


def test_what_may_not_have_been_executed_is_not_taken_for_an_input_that_was_left_out():
    text = "count(gold)\nif is_there[river]:\n  x = count(wood)\n  y = count(iron)\ngive(gold)"
    assert parse(text, ERRANDS).body[2] == Call("give", ("gold", Ref(0)))


def test_a_phrase_in_brackets_is_a_word_where_only_words_are_accepted():
    domain = Domain("sizes", 1, (*VISUAL.operations, Operation("not", (Input("truth", BOOLEAN),))))
    program = parse("x = select(a)\nrelate(x, not(large), on)\nquery(not(large))\nselect(not(large))", domain)
    assert [call.words for call in program.body[1:]] == [("not(large)", "on"), ("not(large)",), ("not(large)",)]
    assert parse(print_program(program, domain), domain) == program
    nested = parse("select(a)\nnot(exist())", domain).body[1]
    assert nested == Call("not", (Call("exist", (Ref(0),)),))


def test_brackets_behind_no_operation_are_a_word_where_the_parameter_has_it():
    domain = Domain("words", 1, (Operation("f", (Choice("word", ("a", "g(a)"), type=BOOLEAN),)),))
    assert parse("f(g(a))", domain) == parse('f("g(a)")', domain) == Program((Call("f", ("g(a)",)),))
    assert problems("f(h(a))", domain) == [("1:3", "unknown operation 'h'")]


def test_a_word_that_could_be_a_call_is_printed_in_quotes():
    domain = Domain("words", 1, (Operation("f", (Choice("word", ("a", "f(a)"), type=BOOLEAN),)),))
    program = Program((Call("f", ("f(a)",)), Call("f", (Call("f", ("a",)),))))
    assert print_program(program, domain) == 'f("f(a)")\nf(f(a))\n'
    assert parse(print_program(program, domain), domain) == program


def test_a_call_alone_is_printed_with_the_names_of_its_inputs():
    program = parse("a = count(gold)\nx = less(a, count(wood))", ERRANDS)
    flat = flatten(program.body)
    assert print_call(flat[2], ERRANDS) == "less([1], [2])"
    assert print_call(flat[2], ERRANDS, [call.result for call in flat]) == "x = less(a, [2])"


PRINTED = (
    ("n = count(gold)\nn = count(wood)\nif less([1], n): rest()", "if less([1], [2]):", ERRANDS),
    (CARRY_ALL, "while less(carried(gold), n):", ERRANDS),
    ("if is_there[gold]: rest()\nelif is_there[wood]: rest()\nelse: mine(gold)", "elif is_there[wood]:", ERRANDS),
    ("if is_there[gold]:\n  loop(2): rest()\nelse:\n  rest()\nmine(gold)", "loop(2):", ERRANDS),
    ('bag = select(bag)\nx = relate(bag, "bag", on)', 'relate(bag, "bag", on)', VISUAL),
    (r'select("a \\ \"b\"")', r'select("a \\ \"b\"")', VISUAL),
)


@pytest.mark.parametrize(("text", "line", "domain"), PRINTED)
def test_what_is_printed_is_read_as_the_same_program_on_the_same_lines(text, line, domain):
    program = parse(text, domain)
    printed = print_program(program, domain)
    assert line in printed
    again = parse(printed, domain)
    assert again == program
    lines = [call.line for call in calls(again.body)]
    assert [call.line for call in calls(relined(program, domain).body)] == lines


def test_the_deepest_nested_calls_are_read_and_deeper_ones_refused():
    deepest = "x = " + "not(" * MAX_NESTED_CALLS + "is_there[gold]" + ")" * MAX_NESTED_CALLS
    program = parse(deepest, ERRANDS)
    assert len(list(calls(program.body))) == MAX_NESTED_CALLS + 1
    assert parse(print_program(program, ERRANDS), ERRANDS) == program
    deeper = "if " + "not(" * 23 + "is_there[gold]" + ")" * 23 + ":\n  rest()\nmine(glod)"
    assert [message for _, message in problems(deeper)] == [
        "calls are nested more than 20 deep",
        "unknown thing 'glod': did you mean 'gold'?",
    ]


def test_the_deepest_nested_call_may_hold_a_word_with_brackets():
    text = "filter_color(" * MAX_NESTED_CALLS + "select(not(large))" + ", red)" * MAX_NESTED_CALLS
    assert next(calls(parse(text, VISUAL).body)).words == ("not(large)",)


def test_a_text_in_quotes_is_one_word_and_backslashes_escape():
    assert parse(r'select("a \"b\" \\ c")', VISUAL).body[0].words == (r'a "b" \ c',)
    message = "a call stands in the place of name, which is a word"
    assert problems('select(not("large"))', VISUAL) == [("1:8", message)]


def test_arguments_are_not_reordered_where_a_word_could_be_a_result():
    ((place, message),) = problems("n = count(gold)\nx = plus(3, n)")
    assert (place, message) == ("2:10", "there is no result 3 before this call (1 so far)")


def test_a_name_is_in_lower_case_unless_that_has_another_number_of_letters():
    for name, expected in (("N", "n"), ("İ", "İ")):
        text = f"{name} = count(gold)\nif less({name}, {name}): rest()"
        assert [call.result for call in calls(parse(text, ERRANDS).body)] == [expected, None, None]


def test_def_can_only_open_a_program():
    for text, place in (("rest()\ndef run():\n  rest()", "2:1"), ("def a():\n  rest()\ndef b():\n  rest()", "3:1")):
        assert (place, "'def' can only open the program") in problems(text)


def test_a_name_that_one_branch_may_not_have_set_may_not_be_set():
    text = "if is_there[gold]:\n  if is_there[wood]: n = count(gold)\nelse:\n  n = count(wood)\nif less(n, n): rest()"
    assert {message for _, message in problems(text)} == {"'n' may not be set here (line 2): it is set inside of an if"}


def test_the_routine_before_is_the_first_parent():
    assert table_of("n = count(gold)\nm = count(wood)\nif less(n, m): rest()").parents[2] == (1, 0)


def test_brackets_in_quotes_and_comments_are_not_nested():
    assert parse('select("' + "(" * 40 + '")  # ' + "(" * 40, VISUAL).body[0].words == ("(" * 40,)


# Names -----------------------------------------------------------------------------------------------------------

N = "n = count(gold)\n"
RIGHT = {
    "in the same block": (N + "goto(n, 1)", [0]),
    "in an enclosing block": (N + "if is_there[gold]:\n  loop(2):\n    goto(n, 1)", [0]),
    "set again before": (N + "n = count(wood)\ngoto(n, 1)", [1]),
    "by itself": (N + "n = plus(n, 1)\ngoto(n, 1)", [0, 1]),
    "earlier in the same while": ("while is_there[gold]:\n  n = count(gold)\n  goto(n, 1)", [1]),
    "set again earlier in the same while": (N + "while is_there[gold]:\n  n = count(gold)\n  goto(n, 1)", [2]),
    "earlier in the same loop": (N + "loop(3):\n  n = count(wood)\n  goto(n, 1)\ngoto(n, 1)", [1, 1]),
    "a loop of one pass": (N + "loop(1):\n  goto(n, 1)\n  n = count(wood)", [0]),
    "a branch": (N + "if is_there[gold]:\n  n = count(wood)\n  goto(n, 1)\nelse:\n  goto(n, 1)", [2, 0]),
    "set again behind an if": (N + "if is_there[gold]: n = count(wood)\nn = count(iron)\ngoto(n, 1)", [3]),
    "a condition's nested call by its number": ("if less(count(gold), count(wood)): rest()\ngoto([1], [2])", [0, 1]),
    "a while's condition by its number": ("while less(count(gold), count(wood)): rest()\ngoto([1], [2])", [0, 1]),
    "an elif's in its else": (
        "if is_there[gold]: rest()\nelif less(count(gold), count(wood)): goto([3], 1)\nelse: goto([4], 1)",
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_name_is_the_last_result_that_was_certainly_given_it(name):
    text, expected = RIGHT[name]
    program = parse(text, ERRANDS)
    assert [number for call in calls(program.body) for number in call.inputs] == expected
    assert parse(print_program(program, ERRANDS), ERRANDS) == program


WRONG = {
    "only in a branch": (
        "if is_there[gold]:\n  n = count(gold)\ngoto(n, 1)",
        "3:6",
        "'n' may not be set here (line 2): it is set inside of an if",
    ),
    "only in a while": (
        "while is_there[gold]:\n  n = count(gold)\ngoto(n, 1)",
        "3:6",
        "'n' may not be set here (line 2): it is set inside of a while",
    ),
    "later in a while": (
        "while is_there[gold]:\n  goto(n, 1)\n  n = count(gold)",
        "2:8",
        "'n' may not be set here (line 3): it is set later, inside of the while",
    ),
    "later in a loop": (
        "loop(2):\n  goto(n, 1)\n  n = count(gold)",
        "2:8",
        "'n' may not be set here (line 3): it is set later, inside of the loop",
    ),
    "in the other branch": (
        "if is_there[gold]:\n  n = count(gold)\nelse:\n  goto(n, 1)",
        "4:8",
        "x 'n' is not a number",
    ),
    "in every branch": (
        "if is_there[gold]:\n  n = count(gold)\nelse:\n  n = count(wood)\ngoto(n, 1)",
        "5:6",
        "'n' could be the result of line 2 or of line 4; give them different names",
    ),
    "before and in a branch": (
        N + "if is_there[gold]:\n  n = count(gold)\ngoto(n, 1)",
        "4:6",
        "'n' could be the result of line 1 or of line 3; give them different names",
    ),
    "before and in a while": (
        N + "while is_there[gold]:\n  n = count(gold)\ngoto(n, 1)",
        "4:6",
        "'n' could be the result of line 1 or of line 3; give them different names",
    ),
    "before and later in a while": (
        N + "while is_there[gold]:\n  goto(n, 1)\n  if is_there[wood]:\n    n = count(gold)",
        "3:8",
        "'n' could be the result of line 1 or of line 5; give them different names",
    ),
    "before and later in a loop": (
        N + "loop(2):\n  goto(n, 1)\n  n = count(gold)",
        "3:8",
        "'n' could be the result of line 1 or of line 4; give them different names",
    ),
    "by a while's own condition": (
        N + "while less(n, count(wood)):\n  n = count(gold)",
        "2:12",
        "'n' could be the result of line 1 or of line 3; give them different names",
    ),
    "a number in a branch": (
        "if is_there[gold]:\n  n = count(gold)\ngoto([2], 1)",
        "3:6",
        "[2] may have no result here (line 2): it stands inside of an if",
    ),
    "a number in an elif's condition": (
        "if is_there[gold]: rest()\nelif less(count(gold), count(wood)): rest()\ngoto([3], 1)",
        "3:6",
        "[3] may have no result here (line 2): it stands inside of an if",
    ),
    "a number in a while": (
        "while is_there[gold]:\n  n = count(gold)\ngoto([2], 1)",
        "3:6",
        "[2] may have no result here (line 2): it stands inside of a while",
    ),
    "a number of a later call": (
        "loop(2):\n  goto([2], 1)\n  n = count(gold)",
        "2:8",
        "there is no result [2] before this call (0 so far)",
    ),
    "a wrong type": (
        "t = nearest(gold)\nx = less(t, count(gold))",
        "2:10",
        "t is Thing, but 'less' takes Integer",
    ),
    "a nested call of a wrong type": (
        "x = less(nearest(gold), count(gold))",
        "1:10",
        "'less' takes Integer, but 'nearest' gives Thing",
    ),
    "an unknown nested call": (
        "x = less(cuont(gold), count(gold))",
        "1:10",
        "unknown operation 'cuont': did you mean 'count'?",
    ),
    "a wrong word in a nested call": (
        "x = less(count(glod), count(gold))",
        "1:16",
        "unknown thing 'glod': did you mean 'gold'?",
    ),
    "too many inputs": (
        "x = less(count(gold), count(wood), count(iron))",
        "1:5",
        "'less' takes 2 inputs and 0 arguments, not 3 in all",
    ),
    "a name as a condition": (N + "if n: rest()", "2:4", "'n' is not a call"),
    "a nested call that is no condition": ("if count(gold): rest()", "1:4", "'count' is not a condition"),
    "a value that nobody takes": ("count(gold)\nrest()", "1:1", "'count' gives Integer and does nothing by itself"),
    "a condition that nobody takes": ("is_there[gold]", "1:1", "'is_there' is a condition and does nothing by itself"),
    "a nested condition that nobody takes": ("less(count(gold), 1)", "1:19", "there is no result 1 before this call"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_result_that_may_not_be_there_or_does_not_fit_is_a_mistake(name):
    text, place, message = WRONG[name]
    ((found, reported),) = problems(text)
    assert found == place
    assert message in reported


def test_an_if_without_a_call_is_answered_with_an_example():
    with pytest.raises(ProgramError, match=r"expected a call, as in: while greater\(a, b\):"):
        parse("n = count(gold)\nwhile n: rest()", ERRANDS)


def test_a_call_without_effect_is_fine_where_its_result_is_taken_later():
    assert len(parse("count(gold)\ncount(wood)\nx = less()", ERRANDS).body) == 3
    assert len(parse("count(gold)\ngoto([1], 1)", ERRANDS).body) == 2


def test_a_mistake_does_not_make_what_it_takes_useless():
    texts = [
        "count(gold)\ngoto([1], 13)",
        "count(gold)\ngoot([1], 1)",
        "count(gold)\ngive()",
        "n = count(gold)\ngoot(n)",
    ]
    for text in texts:
        ((place, _),) = problems(text)
        assert place.startswith("2:")


def test_a_behaviour_may_have_a_name_in_minecraft():
    program = parse("x = mine(gold)\nrich = agent[gold] > 3", MINECRAFT)
    assert print_program(program, MINECRAFT) == "def run():\n  x = mine(gold)\n  rich = agent[gold] > 3\n"


# Static programs -------------------------------------------------------------------------------------------------


def test_a_static_program_may_decide_and_repeat_but_not_wait():
    text = "bag = select(bag)\nif exist(bag):\n  loop(2): query(bag, color)\nelse:\n  exist(select(box))\n"
    program = parse(text, VISUAL)
    assert parse(print_program(program, VISUAL), VISUAL) == program
    ((place, message),) = problems("while exist(select(a)): select(b)", VISUAL)
    assert (place, message) == ("1:1", "nothing changes in visual programs, so 'while' would never end")


def test_a_static_program_with_conditions_is_run_by_one_pointer():
    table = table_of("a = select(a)\nif exist(a): query(a, color)\nelse: query(a, name)", VISUAL)
    assert not table.parallel
    assert table.parents == ((), (0,), (0,), (0,))
    assert waves(table) == ((0,), (1,), (2,), (3,))
    assert start_parallel(table).pointers == (Pointer(0),)
    assert Pointer(3, 1).parents(table) == (0,)


def test_nested_calls_of_a_static_program_run_in_parallel():
    table = table_of("verify_relation(select(a), left, filter_color(select(b), red))", VISUAL)
    assert table.parallel
    assert waves(table) == ((0, 1), (2,), (3,))
    assert table.inputs.tolist() == [[-1, -1], [-1, -1], [1, -1], [0, 2]]


def test_calls_may_be_nested_in_programs_about_pictures():
    nested, flat = parse_visual("exist(select(bag))"), parse_visual("select(bag)\nexist()")
    assert flatten(nested.body) == flat.body
    assert semantic_of(nested) == semantic_of(flat)
    assert print_program(nested, PICTURES) == "exist(select(bag))\n"
    assert canonical(parse_visual("choose_color(select(bag), white, black)")).body[0].words == ("black", "white")


def test_the_oracle_executes_nested_calls_and_the_branch_that_is_taken():
    scene = sample_scene(3)
    name, other = next(iter(scene.objects.values())).name, "zeppelin"
    nested = execute(parse_visual(f"exist(select({name}))"), scene)
    assert nested == execute(parse_visual(f"select({name})\nexist()"), scene)
    for word, answer in ((name, "no"), (other, "yes")):
        text = f"if exist(select({word})):\n  exist(select({other}))\nelse:\n  exist(select({name}))"
        results = execute(parse_visual(text), scene)
        assert answer_of(results) == answer
        assert sum(result.problem == "the program does not get here" for result in results) == 2
    assert answer_of(execute(parse_visual("if verify_color(select(zeppelin), red): select(_)"), scene)) is None


# The table -------------------------------------------------------------------------------------------------------


def test_a_condition_s_nested_calls_stand_before_it_and_a_while_goes_back_to_the_first():
    table = table_of(CARRY_ALL)
    # 0 n = count(gold)    1 carried(gold)    2 while less([1], [0])    3 mine(gold)
    assert flow(table) == [(STEP, 1, 1), (STEP, 2, 2), (WHILE, 3, 4), (STEP, 1, 1)]
    assert table.inputs.tolist() == [[-1] * 3, [-1] * 3, [1, 0, -1], [-1] * 3]
    assert table.inputs.dtype == np.int16
    assert table.calls[2] == Call("less", (Ref(1), Ref(0)))
    assert table.parents == ((), (0, 3), (1, 0), (2,))
    assert Pointer(2, 1).parents(table) == (1, 1, 0)
    assert Pointer(0).parents(table) == ()


def test_the_false_of_a_condition_goes_to_the_nested_calls_of_the_next():
    text = "if less(count(gold), count(wood)): rest()\nelif less(carried(gold), carried(wood)): mine(gold)\nrest()"
    table = table_of(text)
    assert flow(table) == [
        *[(STEP, 1, 1), (STEP, 2, 2), (IF, 3, 4), (STEP, 8, 8)],
        *[(STEP, 5, 5), (STEP, 6, 6), (IF, 7, 8), (STEP, 8, 8), (STEP, 9, 9)],
    ]
    assert table.inputs[6].tolist() == [4, 5, -1]


def test_a_loop_refers_within_each_copy_and_is_referred_to_in_its_last():
    table = table_of("a = count(gold)\nloop(3):\n  b = plus(a, 1)\n  goto(b, a)\ngoto(b, a)")
    assert table.inputs[:, :2].tolist() == [[-1, -1], [0, -1], [1, 0], [0, -1], [3, 0], [0, -1], [5, 0], [5, 0]]


def test_a_loop_in_a_loop_refers_to_its_own_pass():
    table = table_of("loop(2):\n  a = count(gold)\n  loop(2):\n    goto(a, plus(a, 1))\n  goto(a, 1)")
    assert [call.inputs for call in table.calls] == [
        *[(), (0,), (0, 1), (0,), (0, 3), (0,)],
        *[(), (6,), (6, 7), (6,), (6, 9), (6,)],
    ]


def test_a_parameter_that_was_given_a_word_takes_no_row():
    table = table_of("n = count(gold)\ngoto(4, n)\ngoto(n, 4)\ngive(gold, n)")
    assert table.inputs.tolist() == [[-1, -1, -1], [-1, 0, -1], [0, -1, -1], [-1, 0, -1]]
    assert [table.domain.words_of(call) for call in table.calls] == [
        ("count", "gold"),
        ("goto", "4", ""),
        ("goto", "", "4"),
        ("give", "gold"),
    ]
    assert table.words == (("count", "gold"), ("goto", 4), ("goto", "", 4), ("give", "gold"))


def test_the_inputs_of_a_table_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        table_of(CARRY_ALL).inputs[0] = 1


def test_a_domain_without_inputs_has_an_empty_column_of_them():
    assert CONTROL_FLOW.max_inputs == 0
    assert table_of("mine(gold)\nmine(wood)", CONTROL_FLOW).inputs.shape == (2, 0)


# Domains and vocabularies ----------------------------------------------------------------------------------------


def test_an_operation_knows_which_parameters_accept_results_and_which_words():
    give, mine = ERRANDS.operation("give"), ERRANDS.operation("mine")
    assert (give.inputs, mine.inputs) == (("Thing", "Integer"), ())
    assert [parameter.name for parameter in give.words] == ["what"]
    assert [(each.takes, each.is_word) for each in give.parameters] == [("Thing", True), ("Integer", False)]
    assert (Text("name").takes, Text("name").is_word, Number("n").takes) == (None, True, None)
    assert (ERRANDS.max_inputs, ERRANDS.routine_width) == (3, 4)


def test_a_domain_may_have_words_of_its_own_for_routines():
    domain = Domain("own", 1, ERRANDS.operations, routine_words=lambda call: ("a", "", call.operation, ""), width=4)
    table = compile_program(Program((MINE,)), domain)
    assert (domain.words_of(MINE), table.words, domain.routine_width) == (
        ("a", "", "mine", ""),
        (("a", "", "mine"),),
        4,
    )
    with pytest.raises(ValueError, match="routine_words and width go together"):
        Domain("own", 1, ERRANDS.operations, width=4)


def test_the_vocabulary_of_a_closed_domain_is_the_domain_s():
    for domain in (MINECRAFT, ERRANDS):
        assert Vocabulary.of(domain, [Program((MINE,))]).words == domain.vocabulary


def test_free_text_joins_the_vocabulary_the_most_frequent_first():
    program = parse("select(wine)\nselect(bag)\nselect(wine)\nselect(apple)\nfilter_color(red)", VISUAL)
    vocabulary = Vocabulary.of(VISUAL, [program, program])
    assert vocabulary.words == ("", "<unknown>", *VISUAL.vocabulary[1:], "wine", "apple", "bag")
    table = compile_program(parse("select(bag)\nfilter_color(red)\nselect(zeppelin)", VISUAL), VISUAL)
    spelt = [[vocabulary.words[number] for number in row] for row in vocabulary.encode(table)]
    assert spelt == [["select", "bag", ""], ["filter_color", "red", ""], ["select", "<unknown>", ""]]
    assert vocabulary.encode(table).dtype == np.int64
    assert [vocabulary.unknown_words(call, VISUAL) for call in table.calls] == [[], [], ["zeppelin"]]


def test_the_numbers_of_a_table_s_words_are_those_of_the_closed_vocabulary():
    for domain, text in ((VISUAL, "select(bag)\nexist()"), (ERRANDS, CARRY_ALL), (MINECRAFT, "mine(gold)")):
        table = table_of(text, domain)
        assert np.array_equal(table.word_ids, Vocabulary.of(domain).encode(table))
        assert table.word_ids.dtype == np.int16


# Execution -------------------------------------------------------------------------------------------------------


def test_the_interpreter_hands_values_on():
    counts = {"gold": 3, "wood": 5}

    def execute(call, inputs):
        if call.operation in ("count", "carried"):
            return counts[call.words[0]]
        if call.operation == "less":
            return inputs[0] < inputs[1]
        return inputs[0] + call.words[0] if call.operation == "plus" else None

    text = "n = count(gold)\nif less(n, count(wood)):\n  loop(2):\n    m = plus(n, 1)\n    goto(m, n)\nelse: rest()"
    trace = list(interpret(parse(text, ERRANDS), execute))
    assert [(call.operation, inputs, value) for call, inputs, value in trace] == [
        *[("count", (), 3), ("count", (), 5), ("less", (3, 5), True)],
        *[("plus", (3,), 4), ("goto", (4, 3), None)] * 2,
    ]


def test_a_name_means_the_value_of_the_latest_execution():
    numbers = iter(range(100))
    text = "while is_there[gold]:\n  n = count(gold)\n  goto(n, n)"
    trace = interpret(parse(text, ERRANDS), lambda call, inputs: next(numbers) + 1)
    given = [(inputs, value) for call, inputs, value in islice(trace, 9) if call.operation != "is_there"]
    assert given == [((), 2), ((2, 2), 3), ((), 5), ((5, 5), 6), ((), 8), ((8, 8), 9)]


# Random programs -------------------------------------------------------------------------------------------------

MAX_STEPS = 150
SHAPES = (
    Shape(routines=(1, 5)),
    Shape(routines=(2, 10), depth=2, control=0.6, while_=0.4, loop=0.2),
    Shape(routines=(4, 14), depth=4, control=0.7, while_=0.3, loop=0.25, else_=0.6, elif_=0.6),
)


def sampled(domain, number):
    source = UniformVocabulary(domain)
    return [sample_program(source, SHAPES[seed % len(SHAPES)], Random(seed)) for seed in range(number)]


@pytest.fixture(scope="module", params=[(ERRANDS, 10_000), (VISUAL, 4_000)], ids=["errands", "visual"])
def programs(request):
    domain, number = request.param
    return domain, sampled(domain, number)


def test_a_random_program_survives_printing(programs):
    domain, sample = programs
    for program in sample:
        text = print_program(program, domain)
        assert parse(text, domain) == program, text


def renamed(block, random):
    """The same block, many results with the same name."""
    return tuple(renamed_node(node, random) for node in block)


def renamed_node(node, random):
    if isinstance(node, Call):
        return replace(node, result=random.choice(["a", "b", "gold", "bag", node.result]))
    if isinstance(node, If):
        branches = tuple((condition, renamed(body, random)) for condition, body in node.branches)
        return If(branches, renamed(node.otherwise, random))
    return replace(node, body=renamed(node.body, random))


def test_a_random_program_survives_printing_whatever_its_names(programs):
    domain, sample = programs
    for seed, program in enumerate(sample[::5]):
        again = Program(renamed(program.body, Random(seed)))
        text = print_program(again, domain)
        assert parse(text, domain) == again, text


def value_of(call, inputs, step):
    """A value that depends on all that it may; 0, which is false, one time in two, so that loops end."""
    drawn = crc32(repr((call.operation, call.words, inputs, step)).encode()) >> 3
    return drawn % 16 + 1 if drawn // 16 % 2 else 0


def executed(steps, call, inputs):
    return value_of(call, inputs, next(steps))


def by_interpreter(program):
    for call, inputs, value in islice(interpret(program, partial(executed, count())), MAX_STEPS):
        yield call.operation, call.words, call.result, inputs, value


def by_pointer(table):
    pointer, values, step = start(table), {}, 0
    while not pointer.finished(table) and step < MAX_STEPS:
        row = pointer.routine
        rows = [parent for parent in table.inputs[row].tolist() if parent >= 0]
        assert values.keys() >= set(rows)
        assert tuple(rows) == table.calls[row].inputs
        before = (pointer.previous,) if table.domain.sequential and step else ()
        assert pointer.parents(table) == (*before, *rows)
        assert set(pointer.parents(table)) <= set(table.parents[row])
        call, inputs = table.calls[row], tuple(values[parent] for parent in rows)
        values[row] = value_of(call, inputs, step)
        yield call.operation, call.words, call.result, inputs, values[row]
        pointer, step = advance(table, pointer, bool(values[row])), step + 1


def test_the_interpreter_and_the_pointer_hand_on_the_same_values(programs):
    domain, sample = programs
    for program in sample:
        assert list(by_interpreter(program)) == list(by_pointer(compile_program(program, domain)))


def test_the_random_programs_reach_every_corner(programs):
    domain, sample = programs
    texts = [print_program(program, domain) for program in sample]
    text = "".join(texts)
    keywords = ("if ", "elif ", "else:", "loop(", *(["while "] * domain.sequential))
    assert min(text.count(word) for word in keywords) > len(sample) // 20
    every = Counter(call.operation for program in sample for call in calls(program.body))
    assert min(every[operation.name] for operation in domain.operations) > len(sample) // 20
    arguments = [each for program in sample for call in calls(program.body) for each in call.arguments]
    assert min(sum(isinstance(each, kind) for each in arguments) for kind in (Ref, Call, str)) > len(sample) // 2
    assert "[1]" in text


def test_a_name_that_can_be_read_is_the_result_that_was_given_it_last(programs, monkeypatch):
    """Programs that give many results the same name mean, where they are read, what is meant at execution."""
    domain, sample = programs
    by_name = "program_guided.language.printer._print_reference"
    monkeypatch.setattr(by_name, lambda number, names: names[number] or f"[{number + 1}]")
    outcomes = Counter()
    for seed, program in enumerate(sample[::2]):
        text = print_program(Program(renamed(program.body, Random(seed))), domain)
        try:
            read = parse(text, domain)
        except ProgramError as error:
            outcomes["could be" if "could be" in str(error) else "of another type"] += 1
            continue
        outcomes["read"] += 1
        names, results = {}, [call.result for call in calls(read.body)]
        for call, inputs, value in islice(interpret(read, partial(executed, count())), MAX_STEPS):
            given = [each for each in call.arguments if isinstance(each, Ref | Call)]
            for argument, found in zip(given, inputs, strict=True):
                if isinstance(argument, Ref) and results[argument.number]:
                    assert found == names[results[argument.number]], text
            if call.result:
                names[call.result] = value
    assert min(outcomes["read"], outcomes["could be"]) > 50
