"""Text -> tree -> text: every spelling of a program is that program, and printing loses nothing."""

import re
from random import Random

import pytest
from domains import OBJECTS_TYPE, PAPER_PROGRAM, VISUAL
from hypothesis import given, settings
from hypothesis import strategies as st

from program_guided.language import (
    BOOLEAN,
    Call,
    Choice,
    If,
    Loop,
    Program,
    ProgramError,
    Ref,
    Shape,
    UniformVocabulary,
    While,
    count_control,
    count_tokens,
    parse,
    print_call,
    print_program,
    sample_program,
)
from program_guided.language.parser import LARGEST_TEXT, MAX_LOOPS, MAX_NESTED, MAX_ROUTINES
from program_guided.tasks.minecraft.domain import CONTROL_FLOW, COUNT, DOMAIN

PAPER_TREE = Program(
    (
        If(
            (
                (
                    Call("is_there", ("river",)),
                    (
                        Call("mine", ("wood",)),
                        Call("build_bridge"),
                        If(((Call("agent", ("iron", "<", 3)), (Call("mine", ("iron",)),)),)),
                        Call("place", ("iron", 1, 1)),
                    ),
                ),
            ),
            otherwise=(Call("goto", (4, 2)),),
        ),
        While(Call("env", ("gold", ">", 0)), (Call("mine", ("gold",)),)),
    )
)

PAPER_PROGRAM_IN_PROTO_SPELLING = """\
If IsThere(river):
    Mine(wood)
    BuildBridge()
    If Agent[iron] < 3:
        Mine(iron)
    Place(iron, 1, 1)
Else:
    Goto(4, 2)
While Env[Gold] > 0:
    Mine(Gold)
"""


def tree(text):
    return parse(text, DOMAIN)


# The Minecraft language ------------------------------------------------------------------------------------------


def test_the_papers_program_is_read_as_its_tree():
    assert tree(PAPER_PROGRAM) == PAPER_TREE


def test_both_printed_spellings_give_equal_trees():
    assert tree(PAPER_PROGRAM_IN_PROTO_SPELLING) == tree(PAPER_PROGRAM)


def test_the_shorter_program_in_print_is_the_same_in_both_spellings():
    in_proto = "If IsThere(river):\n    Mine(wood)\n    BuildBridge()\nElse:\n    Goto(4, 2)\n"
    in_proto += "While Env[Gold] > 0:\n    Mine(Gold)\n"
    in_pga = "def run():\n  if is_there[River]:\n    mine(Wood)\n    build_bridge()\n  else:\n    goto(4, 2)\n"
    in_pga += "  while env[Gold] > 0:\n    mine(Gold)\n"
    expected = Program(
        (
            If(
                ((Call("is_there", ("river",)), (Call("mine", ("wood",)), Call("build_bridge"))),),
                (Call("goto", (4, 2)),),
            ),
            While(Call("env", ("gold", ">", 0)), (Call("mine", ("gold",)),)),
        )
    )
    assert tree(in_proto) == tree(in_pga) == expected


def test_the_canonical_spelling_of_the_papers_program():
    assert print_program(PAPER_TREE, DOMAIN) == PAPER_PROGRAM.replace("River", "river").replace("Wood", "wood").replace(
        "Iron", "iron"
    ).replace("Gold", "gold")


ONE_CALL = {
    "build_bridge()": Call("build_bridge"),
    "BuildBridge()": Call("build_bridge"),
    "BUILD_BRIDGE()": Call("build_bridge"),
    "buildbridge ( )": Call("build_bridge"),
    "_build__bridge_()": Call("build_bridge"),
    "mine(gold)": Call("mine", ("gold",)),
    "Mine(GOLD)": Call("mine", ("gold",)),
    "mine[gold]": Call("mine", ("gold",)),
    'mine("gold")': Call("mine", ("gold",)),
    "mine(\tgold\t)": Call("mine", ("gold",)),
    "goto(4,2)": Call("goto", (4, 2)),
    "goto( 4 , 2 )": Call("goto", (4, 2)),
    "goto(04, 012)": Call("goto", (4, 12)),
    'goto("4", 2)': Call("goto", (4, 2)),
    "place(Iron, 1, 12)": Call("place", ("iron", 1, 12)),
    "sell(Silver)": Call("sell", ("silver",)),
    "sell(rectangle);": Call("sell", ("rectangle",)),
    "mine(gold)  # the nearest": Call("mine", ("gold",)),
    "mine(gold)#the nearest": Call("mine", ("gold",)),
}


@pytest.mark.parametrize("text", ONE_CALL)
def test_a_call_may_be_spelt(text):
    assert tree(text) == Program((ONE_CALL[text],))


ONE_CONDITION = {
    "is_there[river]": Call("is_there", ("river",)),
    "IsThere(River)": Call("is_there", ("river",)),
    "IS_THERE [ RIVER ]": Call("is_there", ("river",)),
    "agent[Iron] < 3": Call("agent", ("iron", "<", 3)),
    "agent(iron)<3": Call("agent", ("iron", "<", 3)),
    "env[gold] = 0": Call("env", ("gold", "==", 0)),
    "env[gold] == 0": Call("env", ("gold", "==", 0)),
    "env[gold]==0": Call("env", ("gold", "==", 0)),
    "env[gold] >= 99": Call("env", ("gold", ">=", 99)),
    "env[gold] ≥ 99": Call("env", ("gold", ">=", 99)),
    "Env(gold) ≤ 99": Call("env", ("gold", "<=", 99)),
    "env[gold] <= 99": Call("env", ("gold", "<=", 99)),
    "env[merchant] > 007": Call("env", ("merchant", ">", 7)),
}


@pytest.mark.parametrize("text", ONE_CONDITION)
@pytest.mark.parametrize("keyword", ["if", "While", "IF", "whilE"])
def test_a_condition_may_be_spelt(text, keyword):
    (node,) = tree(f"{keyword} {text}: mine(gold)").body
    condition = node.branches[0][0] if isinstance(node, If) else node.condition
    assert isinstance(node, If if keyword.lower() == "if" else While)
    assert condition == ONE_CONDITION[text]


def test_every_thing_and_every_comparison_can_be_asked_for():
    for operation in DOMAIN.operations:
        for parameter in operation.parameters:
            for word in parameter.words if isinstance(parameter, Choice) else ():
                others = {"object": "gold", "thing": "gold", "comparison": "<", "number": 3, "x": 1, "y": 1}
                words = tuple(word if row is parameter else others[row.name] for row in operation.parameters)
                call = Call(operation.name, words, result="n" if operation.output == COUNT else None)
                body = (If(((call, (Call("build_bridge"),)),)) if operation.output == BOOLEAN else call,)
                assert tree(print_program(Program(body), DOMAIN)) == Program(body)


TWO_MINES = Program((Call("mine", ("gold",)), Call("mine", ("wood",))))


@pytest.mark.parametrize(
    "text",
    [
        "mine(gold)\nmine(wood)",
        "mine(gold)\r\nmine(wood)\r\n",
        "mine(gold)\rmine(wood)\r",
        "\ufeffmine(gold)\nmine(wood)\n",
        "\ufeff\n# by hand\n\n   # indented anyhow\nmine(gold)\n\t\n \t \nmine(wood)\n\n\n",
        "mine(gold); mine(wood)",
        "mine(gold) ;mine(wood);",
        "mine(gold);mine(wood); # both",
        "def run():\n\tmine(gold)\n\tmine(wood)",
        "DEF anything ( ) :\n \tmine(gold)\n \tmine(wood)   ",
        "def run(): mine(gold); mine(wood)",
        "def run():  # begins\n  # nothing yet\n  mine(gold)\n# at the edge\n  mine(wood)",
        "mine(gold)\x0c\nmine(wood)\u00a0",
    ],
)
def test_line_ends_blank_lines_comments_and_semicolons_mean_nothing_else(text):
    assert tree(text) == TWO_MINES


@pytest.mark.parametrize(
    "text",
    [
        "def run(): while env[Gold] > 0: mine(Gold)",
        "while env[gold] > 0: mine(gold)",
        "while env[gold] > 0:\n mine(gold)",
        "def run(): while env[gold] > 0:\n\n                mine(gold)",
        "def run():\n  while env[gold] > 0: mine(gold)",
    ],
)
def test_a_block_may_stand_on_the_line_of_its_header(text):
    assert tree(text) == Program((While(Call("env", ("gold", ">", 0)), (Call("mine", ("gold",)),)),))


def test_the_shortest_program_with_a_loop_counts_seventeen_tokens():
    assert count_tokens(tree("def run(): while env[Gold] > 0: mine(Gold)"), DOMAIN) == 17


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("mine(gold)", 5 + 4),
        ("build_bridge()", 5 + 3),
        ("goto(4, 2)", 5 + 6),
        ("place(iron, 1, 1)", 5 + 8),
        ("loop(12): mine(gold)", 5 + 5 + 4),
        ("if agent[iron] >= 3: mine(iron)\nelse: mine(wood)", 5 + 8 + 4 + 2 + 4),
        (PAPER_PROGRAM, 5 + 6 + 4 + 3 + 8 + 4 + 8 + 2 + 6 + 8 + 4),
    ],
)
def test_every_bracket_comma_and_colon_is_a_token(text, tokens):
    assert count_tokens(tree(text), DOMAIN) == tokens


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("mine(gold)", 0),
        ("loop(3): mine(gold)", 0),
        ("loop(3): while env[gold] > 0: mine(gold)", 1),
        ("if is_there[river]: mine(gold)\nelse: mine(wood)", 1),
        ("if is_there[river]: mine(gold)\nelif is_there[wood]: mine(wood)", 2),
        ("if is_there[river]: mine(gold)\nelse:\n  while is_there[wood]: mine(wood)", 2),
        (PAPER_PROGRAM, 3),
    ],
)
def test_every_if_elif_and_while_is_counted_as_control(text, control):
    assert count_control(tree(text).body) == control


BRANCHES = """\
def run():
  if is_there[river]:
    build_bridge()
  elif agent[wood] == 0:
    loop(3):
      mine(wood)
      goto(1, 1)
  elif env[gold] <= 2:
    mine(gold)
  else:
    if is_there[iron]:
      mine(iron)
    else:
      sell(gold)
  mine(silver)
"""


def test_elif_else_and_loop_are_read_as_one_branching():
    wood, gold = Call("mine", ("wood",)), Call("mine", ("gold",))
    assert tree(BRANCHES) == Program(
        (
            If(
                (
                    (Call("is_there", ("river",)), (Call("build_bridge"),)),
                    (Call("agent", ("wood", "==", 0)), (Loop(3, (wood, Call("goto", (1, 1)))),)),
                    (Call("env", ("gold", "<=", 2)), (gold,)),
                ),
                (If(((Call("is_there", ("iron",)), (Call("mine", ("iron",)),)),), (Call("sell", ("gold",)),)),),
            ),
            Call("mine", ("silver",)),
        )
    )


def test_elif_else_and_loop_are_printed_as_they_are_read():
    assert print_program(tree(BRANCHES), DOMAIN) == BRANCHES


def test_an_else_belongs_to_the_if_of_its_own_indentation():
    inner = tree("if is_there[river]:\n  if is_there[wood]: mine(wood)\n  else: mine(iron)")
    outer = tree("if is_there[river]:\n  if is_there[wood]: mine(wood)\nelse: mine(iron)")
    wood = (Call("is_there", ("wood",)), (Call("mine", ("wood",)),))
    river, iron = Call("is_there", ("river",)), (Call("mine", ("iron",)),)
    assert inner == Program((If(((river, (If((wood,), iron),)),)),))
    assert outer == Program((If(((river, (If((wood,)),)),), iron),))


def test_a_line_may_open_several_blocks_that_the_next_lines_fill():
    text = "while is_there[gold]: if is_there[river]: loop(2):\n    mine(gold)\n    mine(wood)\nmine(iron)"
    loop = Loop(2, TWO_MINES.body)
    branching = If(((Call("is_there", ("river",)), (loop,)),))
    assert tree(text) == Program((While(Call("is_there", ("gold",)), (branching,)), Call("mine", ("iron",))))


def test_indentations_may_differ_between_blocks_and_mix_tabs_where_the_meaning_is_plain():
    text = "if is_there[river]:\n \t mine(gold)\n \t if is_there[wood]:\n \t  \tmine(wood)\n \t mine(iron)\n"
    text += "if is_there[gold]:\n\tmine(gold)"
    inner = If(((Call("is_there", ("wood",)), (Call("mine", ("wood",)),)),))
    first = If(((Call("is_there", ("river",)), (Call("mine", ("gold",)), inner, Call("mine", ("iron",)))),))
    second = If(((Call("is_there", ("gold",)), (Call("mine", ("gold",)),)),))
    assert tree(text) == Program((first, second))


def test_a_call_knows_its_line_but_is_compared_without_it():
    first, second = tree("mine(gold)"), tree("\n# later\n\nmine(gold)")
    assert (first.body[0].line, second.body[0].line) == (1, 4)
    assert first == second


def test_a_routine_is_printed_alone_in_its_canonical_spelling():
    calls = {"mine(gold)": Call("mine", ("gold",)), "env[gold] > 0": Call("env", ("gold", ">", 0))}
    calls |= {"build_bridge()": Call("build_bridge"), "is_there[river]": Call("is_there", ("river",))}
    for text, call in calls.items():
        assert print_call(call, DOMAIN) == text


SHAPES = (
    Shape(routines=(1, 6)),
    Shape(routines=(4, 20), depth=3, control=0.7, while_=0.3, loop=0.3, else_=0.5, elif_=0.7),
    Shape(routines=(20, 60), depth=9, control=0.9, while_=0.25, loop=0.2, else_=0.6, elif_=0.5),
)


def programs_of(domain):
    return st.builds(
        lambda shape, seed: sample_program(UniformVocabulary(domain), shape, Random(seed)),
        st.sampled_from(SHAPES),
        st.integers(0, 2**32),
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(programs_of(DOMAIN))
def test_a_printed_program_is_read_as_itself(program):
    text = print_program(program, DOMAIN)
    assert tree(text) == program
    assert print_program(tree(text), DOMAIN) == text


def respell(text, random):
    """The same program as another person would have typed it."""
    unit = random.choice(["\t", " ", "  ", "   ", " \t"])
    end = random.choice(["\n", "\r\n", "\r"])
    without_header = random.random() < 0.5
    lines = []
    for line in text.splitlines()[without_header:]:
        content = line.lstrip(" ")
        depth = (len(line) - len(content)) // 2 - without_header
        content = re.sub(r"[a-z_]+", lambda match: respell_word(match[0], random), content)
        if random.random() < 0.5:
            content = re.sub(r"\[(\w+)\]", r"(\1)", content)
        content = content.replace(">=", random.choice([">=", " ≥ "])).replace("<=", random.choice(["<=", "≤"]))
        content = re.sub(r"(?<![<>])==", random.choice(["=", "=="]), content)
        content = re.sub(r"(?<=[,()\[\]:])", lambda _: random.choice(["", " "]), content)
        lines.append(unit * depth + content + random.choice(["", " ", "  # why: because", "#"]))
        lines += random.choice([[], [], [""], ["      # aside"], ["\t"]])
    return random.choice(["", "\ufeff"]) + end.join(lines) + random.choice(["", end])


def respell_word(word, random):
    keyword = word in ("def", "if", "elif", "else", "while", "loop")
    word = word if keyword or random.random() < 0.5 else word.replace("_", "")
    return random.choice([word, word.upper(), word.title(), "".join(random.choice([c, c.upper()]) for c in word)])


@settings(max_examples=400, deadline=None, derandomize=True)
@given(programs_of(CONTROL_FLOW), st.integers(0, 2**32))  # names have one spelling
def test_every_spelling_of_a_program_is_that_program(program, seed):
    assert tree(respell(print_program(program, DOMAIN), Random(seed))) == program


@pytest.mark.parametrize(
    "text",
    [
        "if is_there[river]:" * MAX_NESTED + "mine(gold)",
        "loop(1):" * (MAX_NESTED - 1) + "mine(gold);" * MAX_ROUTINES,
        f"loop({MAX_LOOPS}): mine(gold)",
        "mine(gold)\n" * MAX_ROUTINES,
    ],
    ids=["deepest", "deep and long", "most loops", "most routines"],
)
def test_the_largest_programs_that_can_be_read_can_be_printed_and_read_again(text):
    assert len(text) <= LARGEST_TEXT
    program = tree(text)
    assert tree(print_program(program, DOMAIN)) == program


# Graph programs --------------------------------------------------------------------------------------------------


def graph(text):
    return parse(text, VISUAL)


def test_inputs_that_are_left_out_are_the_nearest_unused_results():
    assert graph("Select(bag)\nSelect(wine)\nVerify_relation(left)") == Program(
        (
            Call("select", ("bag",)),
            Call("select", ("wine",)),
            Call("verify_relation", (Ref(0), "left", Ref(1))),
        )
    )


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("select(a)\nexist()", [(), (0,)]),
        ("select(a)\nselect(b)\nexist()\nexist()", [(), (), (1,), (0,)]),
        ("select(a)\nfilter_color(red)\nquery(name)", [(), (0,), (1,)]),
        ("select(a)\nexist()\nselect(b)\nexist()\nand()", [(), (0,), (), (2,), (1, 3)]),
        ("select(a)\nselect(b)\nselect(c)\nverify_relation(left)\nexist()\nand()", [(), (), (), (1, 2), (0,), (3, 4)]),
        ("select(a)\nselect(b)\nexist([2])\nexist()", [(), (), (1,), (0,)]),
        ("a = select(x)\nselect(y)\nrelate(a, dog, left)\nexist()\nexist()", [(), (), (0,), (2,), (1,)]),
        ("select(a); exist(); select(b); exist(); and()", [(), (0,), (), (2,), (1, 3)]),
    ],
)
def test_a_result_that_was_used_is_not_taken_again_unless_it_is_named(text, inputs):
    assert [call.inputs for call in graph(text).body] == inputs


@pytest.mark.parametrize(
    "spelling",
    [
        "verify_relation(bag, left, wine)",
        "verify_relation([1], left, [2])",
        "verify_relation([1], left, wine)",
        "Verify_Relation(BAG, left, Wine)",
        "verifyrelation(bag, wine, left)",
        "verify_relation(left, bag, wine)",
        "verify_relation(left, [1], [2])",
        'verify_relation([ 1 ], "left", [02])',
        "verify_relation(left)",
    ],
)
def test_inputs_are_named_numbered_or_left_out(spelling):
    program = graph(f"bag = select(handbag)\nWINE = select(wine)\n{spelling}")
    assert program.body[2] == Call("verify_relation", (Ref(0), "left", Ref(1)))
    assert [call.result for call in program.body] == ["bag", "wine", None]


def test_a_name_means_the_last_result_that_was_given_it():
    program = graph("a = select(x)\na = filter_color(a, red)\nexist(a)")
    assert [call.inputs for call in program.body] == [(), (0,), (1,)]


def test_a_result_whose_name_was_taken_later_is_printed_by_its_number():
    program = graph("a = select(x)\na = select(y)\nverify_relation([1], left, a)")
    assert print_program(program, VISUAL) == "a = select(x)\na = select(y)\nverify_relation([1], left, [2])\n"


def test_one_result_may_be_taken_twice():
    assert graph("select(a)\nverify_relation([1], same, [1])").body[1].inputs == (0, 0)


def test_a_word_may_be_the_name_of_a_result():
    text = "bag = select(bag)\nleft = select(left)\nverify_relation(bag, left, left)\nrelate(left, bag, left)"
    program = graph(text)
    assert program.body[2] == Call("verify_relation", (Ref(0), "left", Ref(1)))
    assert program.body[3] == Call("relate", (Ref(1), "bag", "left"))
    assert graph(print_program(program, VISUAL)) == program


def test_a_word_that_is_the_name_of_a_result_is_printed_in_quotes():
    program = graph("bag = select(Bag)\nrelate(bag, wine, bag)")
    assert print_program(program, VISUAL) == 'bag = select("Bag")\nrelate(bag, wine, "bag")\n'


def test_a_text_in_quotes_is_never_an_input():
    program = graph('bag = select(x)\nrelate("bag", bag, left)')
    assert program.body[1] == Call("relate", (Ref(0), "bag", "left"))


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("bag", "bag"),
        ("Big  Red \t Bag", "Big Red Bag"),
        ("to the left of", "to the left of"),
        ("wine(red)", "wine(red)"),
        ("wine ( deep red )", "wine(deep red)"),
        ("it's", "it's"),
        ("-3", "-3"),
        ("3", "3"),
        ("if", "if"),
        ("back\\slash", "back\\slash"),
        ('"bag"', "bag"),
        ('"  big   bag "', "big bag"),
        ('"[1]"', "[1]"),
        ('"a, b"', "a, b"),
        ('"a # b"', "a # b"),
        ('"say \\"hi\\""', 'say "hi"'),
        ('"back\\\\slash"', "back\\slash"),
        ('">"', ">"),
        ('"=="', "=="),
        ('"x: y; z"', "x: y; z"),
        ("Süß", "Süß"),
        ("包", "包"),
    ],
)
def test_a_free_text_is_kept_whole_and_survives_printing(argument, word):
    program = graph(f"select({argument})")
    assert program == Program((Call("select", (word,)),))
    assert graph(print_program(program, VISUAL)) == program


def test_a_choice_of_two_words_is_read_in_any_spelling():
    for spelling in ("light blue", "Light_Blue", "lightblue", '"light blue"', "LIGHT  BLUE"):
        assert graph(f"select(a)\nfilter_color({spelling})").body[1].words == ("light blue",)


def test_a_graph_program_may_stand_below_a_def_and_is_printed_without_one():
    program = graph("def question():\n  select(a)\n  exist()")
    assert print_program(program, VISUAL) == "select(a)\nexist([1])\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select(a)\nexist()\nand([2], [1])", "[1] is Objects, but 'and' takes Boolean"),
        ("a = select(a)\nexist()\nand([2], a)", "a is Objects, but 'and' takes Boolean"),
        ("select(a)\nexist()\nquery(name, [2])", "[2] is Boolean, but 'query' takes Objects"),
        ("select(a)\nexist()\nexist()", "no unused result of that type"),
        ("exist()", "'exist' takes Objects, but no unused result"),
        ("select(a)\nexist()\nand()", "'and' takes Boolean and Boolean, but no unused result"),
        ("select(a)\nexist([2])", "there is no result [2] before this call (1 so far)"),
        ("select(a)\nexist([0])", "there is no result [0] before this call (1 so far)"),
        ("select(a)\nexist([-1])", "there is no result [-1] before this call (1 so far)"),
        ("select(a)\nexist(b)", "there is no result b before this call (1 so far)"),
        ('a = select(a)\nexist("a")', "there is no result a before this call (1 so far)"),
        ("select(a)\nfilter_color([1], gold)", "unknown color 'gold'"),
        ("b = exist(b)", "there is no result b before this call (0 so far)"),
    ],
)
def test_inputs_that_do_not_fit_are_mistakes(text, message):
    with pytest.raises(ProgramError) as caught:
        graph(text)
    assert message in caught.value.problems[0].message
    assert len(caught.value.problems) == 1


NAMES = ("bag", "Wine", "left", "_x1", "höhe", "select")
WORDS = (*NAMES, "Bag", "to the left of", "[1]", "a, b", '"', "\\", '\\"', "#1", "wine(red)", "wine (red)", "(", "if")
WORDS += (">", "==", "≥", "=", "-1", "7", "x:", ";", "包", "a  b", "\u2028.", "İ")
free_texts = st.one_of(
    st.sampled_from(WORDS), st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=8)
).filter(str.strip)


def quote(word):
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def nearest_unused(wanted, outputs, used):
    """By the sentence in checker.py; None if there are not enough."""
    found = []
    for kind in reversed(wanted):
        before = found[-1] if found else len(outputs)
        fitting = [number for number in range(before) if outputs[number] == kind and number not in used]
        if not fitting:
            return None
        found.append(fitting[-1])
    return tuple(reversed(found))


@st.composite
def graph_programs(draw):
    """A text, and the program that it says."""
    lines, calls, outputs, used, names = [], [], [], set(), {}
    for _ in range(draw(st.integers(1, 8))):
        possible = [row for row in VISUAL.operations if set(row.inputs) <= set(outputs)]
        operation = draw(st.sampled_from(possible))
        texts = [draw(st.sampled_from(p.words) if isinstance(p, Choice) else free_texts) for p in operation.words]
        spelt = [
            text if re.fullmatch(r"[^\W_][\w ]*[^\W_]|\w", text) and draw(st.booleans()) else quote(text)
            for text in texts
        ]
        inputs, spelt_inputs = nearest_unused(operation.inputs, outputs, used), []
        if inputs is None or draw(st.booleans()):
            fitting = [[n for n, output in enumerate(outputs) if output == wanted] for wanted in operation.inputs]
            inputs = tuple(draw(st.sampled_from(numbers)) for numbers in fitting)
            for number in inputs:
                known = [name for name, owner in names.items() if owner == number]
                spelt_inputs.append(draw(st.sampled_from([f"[{number + 1}]", *known, *map(str.upper, known)])))
        elif inputs:  # a word that is the name of a result would be taken for an input
            known = [" ".join(text.split()).lower() in names for text in texts]
            spelt = [quote(text) if is_name else word for text, is_name, word in zip(texts, known, spelt, strict=True)]
        arguments = ", ".join(spelt_inputs[:1] + spelt + spelt_inputs[1:])
        name = draw(st.none() | st.sampled_from(NAMES))
        lines.append((f"{name} = " if name else "") + f"{operation.name}({arguments})")
        words, refs = iter([" ".join(text.split()) for text in texts]), iter([Ref(number) for number in inputs])
        places = tuple(next(words if parameter.is_word else refs) for parameter in operation.parameters)
        calls.append(Call(operation.name, places, name and name.lower()))
        outputs.append(operation.output)
        used.update(inputs)
        if name:
            names[name.lower()] = len(calls) - 1
    return "\n".join(lines), Program(tuple(calls))


@settings(max_examples=1_500, deadline=None, derandomize=True)
@given(graph_programs())
def test_a_graph_program_is_read_as_it_is_meant_and_survives_printing(case):
    text, program = case
    assert graph(text) == program
    printed = print_program(program, VISUAL)
    assert graph(printed) == program
    assert print_program(graph(printed), VISUAL) == printed


@pytest.mark.parametrize("call", ["query(a)", "query(A)", "query([1])", "filter_color(a)"])
def test_a_result_in_the_place_of_a_word_is_told(call):
    with pytest.raises(ProgramError, match="is a result; then an argument of '[a-z_]+' is missing"):
        graph(f"a = select(bag)\n{call}")


def test_the_types_of_the_visual_domain_are_what_these_tests_take_them_for():
    outputs = {operation.name: operation.output for operation in VISUAL.operations}
    assert [name for name, output in outputs.items() if output == OBJECTS_TYPE] == ["select", "filter_color", "relate"]
