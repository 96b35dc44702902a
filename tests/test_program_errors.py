"""A mistake in a text is reported once, at its place, in words; and nothing but a ProgramError is ever raised."""

import re
import time
from random import Random

import pytest
from domains import ERRANDS, PAPER_PROGRAM, VISUAL
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from program_guided.errors import DataError, ProgramError, ProgramGuidedError
from program_guided.language import (
    Program,
    Shape,
    UniformVocabulary,
    parse,
    print_program,
    read_program,
    sample_program,
)
from program_guided.language.parser import LARGEST_TEXT, MAX_LOOPS, MAX_NESTED, MAX_PROBLEMS, MAX_ROUTINES
from program_guided.tasks.minecraft.domain import DOMAIN, OBJECTS

SECONDS = 10.0
"""Longest time of the processor that any text may take."""


def error_of(text, domain=DOMAIN):
    with pytest.raises(ProgramError) as caught:
        parse(text, domain)
    return caught.value


def places(error):
    return [f"{problem.line}:{problem.column}" for problem in error.problems]


def split_lines(text):
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


# What a message looks like ---------------------------------------------------------------------------------------


def test_three_mistakes_give_three_problems_with_line_column_caret_and_suggestion():
    error = error_of("def run():\n  mine(glod)\n  if is_there[river]:\n    gotoo(4, 2)\n  place(iron, 0, 1)\n")
    assert str(error) == (
        "<program>:2:8: error: unknown object 'glod': did you mean 'gold'?\n"
        "  2 |   mine(glod)\n"
        "    |        ^^^^ expected gold, wood, iron, silver, triangle, circle or rectangle\n"
        "<program>:4:5: error: unknown operation 'gotoo': did you mean 'goto'?\n"
        "  4 |     gotoo(4, 2)\n"
        "    |     ^^^^^ expected one of mine, goto, place, build_bridge, sell, agent, env, is_there, greater, less, "
        "equal, count, carried\n"
        "<program>:5:15: error: x 0 is out of range\n"
        "  5 |   place(iron, 0, 1)\n"
        "    |               ^ expected a whole number from 1 to 12"
    )
    assert [(problem.line, problem.column, problem.width) for problem in error.problems] == [
        (2, 8, 4),
        (4, 5, 5),
        (5, 15, 1),
    ]


def test_the_gutter_is_as_wide_as_the_line_number():
    assert str(error_of("\n" * 122 + "mine(coal)")).splitlines()[:3] == [
        "<program>:123:6: error: unknown object 'coal'",
        "  123 | mine(coal)",
        "      |      ^^^^ expected gold, wood, iron, silver, triangle, circle or rectangle",
    ]


def test_problems_come_in_reading_order_whatever_found_them():
    text = "mine(glod); gotoo(1, 1)\nif is_there[rive]:\nmine(iron\nsell(gld)\n  mine(wood)"
    assert places(error_of(text)) == ["1:6", "1:13", "2:1", "2:13", "3:10", "4:6", "5:1"]


def test_a_long_line_is_shown_cut_around_the_caret():
    error = error_of("mine(gold);" * 50 + "mine(glod)" + ";mine(gold)" * 50)
    header, shown, caret = str(error).splitlines()
    assert header.startswith("<program>:1:556: error")
    assert len(shown) <= 110
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "glod"


def test_a_tab_takes_one_column_so_that_the_caret_stands_right():
    _, shown, caret = str(error_of("if is_there[river]:\n\t\tmine(\tglod)")).splitlines()
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "glod"


def test_the_caret_stands_right_behind_a_byte_order_mark():
    _, shown, caret = str(error_of("\ufeffmine(glod)")).splitlines()
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "glod"


def test_after_twenty_mistakes_the_rest_is_not_read():
    error = error_of("mine(coal)\n" * 100)
    assert len(error.problems) == MAX_PROBLEMS + 1
    assert error.problems[-1].message == "too many mistakes; the rest was not read"
    assert str(error).endswith("<program>: error: too many mistakes; the rest was not read")


def test_twenty_mistakes_in_broken_lines_are_counted_alike():
    assert len(error_of("mine(\n" * 100).problems) == MAX_PROBLEMS + 1


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", " \t", "\ufeff", "def run():\n  # nothing\n"])
def test_an_empty_text_is_no_program(text):
    (problem,) = error_of(text).problems
    assert "the program is empty" in problem.message or "nothing is indented below 'def'" in problem.message


def test_a_problem_of_the_whole_names_the_source_and_no_line():
    with pytest.raises(ProgramError) as caught:
        parse("", DOMAIN, source="empty.txt")
    assert str(caught.value) == "empty.txt: error: the program is empty\n  expected at least one routine"
    assert caught.value.source == "empty.txt"


@pytest.mark.parametrize("character", ["\x1b", "\u2028", "\ud800", "\u202e"])
@pytest.mark.parametrize("text", ["mine(a{}b)", "mine(gold) {}$", 'goto("a{}b", 1)'])
def test_what_a_terminal_cannot_show_is_not_in_the_message(character, text):
    shown = str(error_of(text.format(character)))
    assert [character for character in shown if not character.isprintable() and character != "\n"] == []


# One table of wrong programs -------------------------------------------------------------------------------------

WRONG = [
    # (text, line:column, what the caret underlines, a part of the message); "" is the place behind the line's end.
    # Words.
    ("mine(glod)", "1:6", "glod", "unknown object 'glod': did you mean 'gold'?"),
    ("mine(coal)", "1:6", "coal", "unknown object 'coal'"),
    ("mine(river)", "1:6", "river", "unknown object 'river'"),
    ("sell( merchant )", "1:7", "merchant", "unknown object 'merchant'"),
    ("mine('gold')", "1:6", "'gold'", "did you mean 'gold'?"),
    ('mine("glod")', "1:6", '"glod"', "unknown object 'glod': did you mean 'gold'?"),
    ('mine("")', "1:6", '""', "unknown object ''"),
    ("mine([1])", "1:6", "[1]", "unknown object '[1]'"),
    ("if is_there[rivr]: mine(gold)", "1:13", "rivr", "unknown thing 'rivr': did you mean 'river'?"),
    ("mnie(gold)", "1:1", "mnie", "unknown operation 'mnie': did you mean 'mine'?"),
    ("  \nfly(4, 2)", "2:1", "fly", "unknown operation 'fly'"),
    ("if is_ther[river]: mine(gold)", "1:4", "is_ther", "did you mean 'is_there'?"),
    # Numbers.
    ("goto(0, 2)", "1:6", "0", "x 0 is out of range"),
    ("goto(4, 13)", "1:9", "13", "y 13 is out of range"),
    ("goto(-4, 2)", "1:6", "-4", "x -4 is out of range"),
    ("goto(four, 2)", "1:6", "four", "x 'four' is not a number"),
    ("goto(4.5, 2)", "1:6", "4.5", "x '4.5' is not a number"),
    ("goto(+4, 2)", "1:6", "+4", "x '+4' is not a number"),
    ("place(iron, 1, 99999999999)", "1:16", "99999999999", "is out of range"),
    ("if env[gold] > 100: mine(gold)", "1:16", "100", "number 100 is out of range"),
    ("if env[gold] > -1: mine(gold)", "1:16", "-1", "number -1 is out of range"),
    ("if env[gold] > ٣: mine(gold)", "1:16", "٣", "unexpected '٣'"),
    ("loop(0): mine(gold)", "1:6", "0", "cannot loop 0 times"),
    ("loop(-2): mine(gold)", "1:6", "-2", "cannot loop -2 times"),
    (f"loop({MAX_LOOPS + 1}): mine(gold)", "1:6", "1001", "cannot loop 1001 times"),
    ("loop(x): mine(gold)", "1:6", "x", "unexpected 'x'"),
    # How many arguments.
    ("mine()", "1:1", "mine", "'mine' takes 1 argument, not 0"),
    ("goto(4)", "1:1", "goto", "'goto' takes 2 arguments, not 1"),
    ("place(iron, 1, 1, 1)", "1:1", "place", "'place' takes 3 arguments, not 4"),
    ("build_bridge(1)", "1:1", "build_bridge", "'build_bridge' takes 0 arguments, not 1"),
    ("if agent[gold]: mine(gold)", "1:4", "agent", "'agent' takes 3 arguments, not 1"),
    ("if is_there[river] > 2: mine(gold)", "1:4", "is_there", "'is_there' takes 1 argument, not 3"),
    # Conditions and behaviours.
    ("is_there[river]", "1:1", "is_there", "'is_there' is a condition and does nothing by itself"),
    ("if mine(gold): mine(gold)", "1:4", "mine", "'mine' is not a condition"),
    ("while goto(1, 2): mine(gold)", "1:7", "goto", "'goto' is not a condition"),
    ("agent[gold] > 3", "1:1", "agent", "'agent' is a condition and does nothing by itself"),
    ("if n: mine(gold)", "1:4", "n", "'n' is not a call"),
    ("mine(count(gold))", "1:6", "count(gold)", "unknown object 'count(gold)'"),
    ("mine(count(gold, wood))", "1:6", "count(gold, wood)", "a call stands in the place of object, which is a word"),
    ("mine(gold[1])", "1:6", "gold[1]", "a call stands in the place of object, which is a word"),
    # Punctuation.
    ("mine(gold", "1:10", "", "the line is not complete"),
    ("mine(gold  # the nearest", "1:10", " ", "the line is not complete"),
    ("mine", "1:5", "", "the line is not complete"),
    ("mine gold", "1:6", "gold", "unexpected 'gold'"),
    ("mine(gold))", "1:11", ")", "unexpected ')'"),
    ("mine(gold,)", "1:11", ")", "unexpected ')'"),
    ("mine(gold]", "1:10", "]", "unexpected ']'"),
    ('mine("gold)', "1:6", '"', "unexpected '\"'"),
    ("mine(gold) mine(wood)", "1:12", "mine", "unexpected 'mine'"),
    ("mine(gold);;mine(wood)", "1:12", ";", "unexpected ';'"),
    (";", "1:1", ";", "unexpected ';'"),
    ("$", "1:1", "$", "unexpected '$'"),
    ("env[gold, wood]", "1:9", ",", "unexpected ','"),
    ("if env[gold] => 3: mine(gold)", "1:15", ">", "unexpected '>'"),
    ("if env[gold] != 3: mine(gold)", "1:14", "!", "unexpected '!'"),
    ("if env[gold] > : mine(gold)", "1:16", ":", "unexpected ':'"),
    ("if env[gold] > three: mine(gold)", "1:16", "three", "unexpected 'three'"),
    ("loop 3: mine(gold)", "1:6", "3", "unexpected '3'"),
    ("def run(x): mine(gold)", "1:9", "x", "unexpected 'x'"),
    ("def run:\n  mine(gold)", "1:8", ":", "unexpected ':'"),
    ("mine(gold)\u200b", "1:11", "\u200b", "ZERO WIDTH SPACE"),
    # Keywords and blocks.
    ("whlie env[gold] > 0:\n  mine(gold)", "1:1", "whlie", "unknown statement 'whlie': did you mean 'while'?"),
    ("if is_there[gold]: mine(gold)\nelse if is_there[wood]: mine(wood)", "2:1", "else if", "did you mean 'elif'?"),
    ("for x in y:\n  mine(gold)", "1:5", "x in y", "unexpected 'x in y'"),
    ("if is_there[river]:", "1:1", "if", "nothing is indented below 'if'"),
    ("if is_there[river]:\nmine(gold)", "1:1", "if", "nothing is indented below 'if'"),
    ("if is_there[river]:\nelse:\n  mine(gold)", "1:1", "if", "nothing is indented below 'if'"),
    ("def run():\n  while is_there[river]:\n  mine(gold)", "2:3", "while", "nothing is indented below 'while'"),
    ("if is_there[river]: while is_there[gold]:\nmine(gold)", "1:21", "while", "nothing is indented below 'while'"),
    ("mine(gold)\nelse: mine(wood)", "2:1", "else", "'else' does not follow an 'if' of the same indentation"),
    ("elif is_there[gold]: mine(wood)", "1:1", "elif", "'elif' does not follow an 'if'"),
    ("while is_there[gold]: mine(gold)\nelse: mine(wood)", "2:1", "else", "'else' does not follow an 'if'"),
    ("if is_there[gold]: else: mine(wood)", "1:20", "else", "'else' does not follow an 'if'"),
    ("if is_there[gold]: mine(gold)\nelse: mine(iron)\nelse: mine(iron)", "3:1", "else", "does not follow an 'if'"),
    ("if is_there[gold]: mine(gold)\nelse: mine(iron)\nelif is_there[iron]: mine(iron)", "3:1", "elif", "not follow"),
    ("def run(): mine(gold)\nmine(wood)", "1:1", "def", "statements stand outside of 'def'"),
    # Indentation.
    ("mine(gold)\n  mine(wood)", "2:1", "  ", "unexpected indentation"),
    (" mine(gold)", "1:1", " ", "unexpected indentation"),
    ("if is_there[gold]:\n   mine(gold)\n mine(wood)", "3:1", " ", "unexpected indentation"),
    ("if is_there[gold]: mine(gold)\n  mine(wood)", "2:1", "  ", "unexpected indentation"),
    ("if is_there[gold]:\n  mine(gold)\n\tmine(wood)", "3:1", "\t", "indentation mixes tabs and spaces"),
    ("\u00a0mine(gold)", "1:1", "\u00a0", "indentation with a character other than space and tab"),
    ("\x0cmine(gold)", "1:1", "\x0c", "indentation with a character other than space and tab"),
]


@pytest.mark.parametrize(("text", "place", "underlined", "message"), WRONG, ids=[repr(row[0])[1:-1] for row in WRONG])
def test_a_wrong_program_is_told_its_mistake_and_where_it_is(text, place, underlined, message):
    error = error_of(text)
    assert places(error) == [place]
    assert message in error.problems[0].message
    line, column = map(int, place.split(":"))
    assert split_lines(text)[line - 1][column - 1 :][: len(underlined)] == underlined
    assert error.problems[0].width == max(1, len(underlined))
    head, shown, caret = str(error).splitlines()
    assert head == f"<program>:{place}: error: {error.problems[0].message}"
    under = caret.index("^") - len(f"  {line} | ")
    assert (under, caret.count("^")) == (column - 1, max(1, len(underlined)))
    assert shown.startswith(f"  {line} |")


WRONG_GRAPHS = [
    ("select(a)\nexsit()", "2:1", "exsit", "unknown operation 'exsit': did you mean 'exist'?"),
    ("select()", "1:1", "select", "'select' takes 1 argument, not 0"),
    ('select("  ")', "1:8", '"  "', "name is empty"),
    ("select(a)\nexist([2])", "2:7", "[2]", "there is no result [2]"),
    ("select(a)\nverify_relation([1], left, [9])", "2:28", "[9]", "there is no result [9]"),
    ("select(a)\nexist()\nand([2], [1])", "3:10", "[1]", "[1] is Objects, but 'and' takes Boolean"),
    ("a = select(a)\nfilter_color(a, rde)", "2:17", "rde", "unknown color 'rde': did you mean 'red'?"),
    ("exist()", "1:1", "exist", "no unused result of that type stands before it"),
    (
        "select(a)\nwhile exist(): select(b)",
        "2:1",
        "while",
        "nothing changes in visual programs, so 'while'",
    ),
    ("exist(selct(a))", "1:7", "selct", "unknown operation 'selct': did you mean 'select'?"),
    ("and(exist(select(a)), select(b))", "1:23", "select", "'and' takes Boolean, but 'select' gives Objects"),
    ("query(select(a))", "1:7", "select(a)", "select(...) is a result; then an argument of 'query' is missing"),
    ('select("a#b"', "1:13", "", "the line is not complete"),
    ("select(a)\n[1]", "2:1", "[", "unexpected '['"),
    ("a == select(b)", "1:4", "=", "unexpected '='"),
    ("select(a):", "1:10", ":", "unexpected ':'"),
]


@pytest.mark.parametrize(("text", "place", "underlined", "message"), WRONG_GRAPHS, ids=[row[0] for row in WRONG_GRAPHS])
def test_a_wrong_graph_program_is_told_its_mistake_and_where_it_is(text, place, underlined, message):
    (problem,) = error_of(text, VISUAL).problems
    line, column = map(int, place.split(":"))
    assert (problem.line, problem.column, problem.width) == (line, column, max(1, len(underlined)))
    assert message in problem.message
    assert split_lines(text)[line - 1][column - 1 :][: len(underlined)] == underlined


ONE_SLIP = {
    "a missing colon": ("if is_there[river]\n  mine(gold)", "1:19"),
    "a missing colon before an else": (
        "while is_there[gold]:\n  if is_there[river]\n    mine(gold)\n  else:\n    mine(wood)",
        "2:21",
    ),
    "a missing colon after else": ("if is_there[river]:\n  mine(gold)\nelse\n  mine(wood)", "3:5"),
    "a broken if on one line before an else": ("if is_there[river: mine(gold)\nelse: mine(wood)", "1:18"),
    "a misspelt if before an else": ("iff is_there[river]:\n  mine(gold)\nelse:\n  mine(wood)", "1:1"),
    "an unknown condition before elif and else": (
        "if is_the[river]:\n  mine(gold)\nelif is_there[gold]:\n  mine(wood)\nelse: mine(iron)",
        "1:4",
    ),
    "else if before an else": (
        "if is_there[river]:\n  mine(gold)\nelse if is_there[gold]:\n  mine(wood)\nelse:\n  mine(iron)",
        "3:1",
    ),
    "a colon too many": ("mine(gold):\nmine(wood)", "1:11"),
    "a colon alone": (":", "1:1"),
    "a tab below spaces": ("def run():\n  if is_there[river]:\n\tmine(gold)", "3:1"),
    "spaces below a tab": ("def run():\n\tif is_there[river]:\n        mine(gold)", "3:1"),
    "a line one space too far in": ("if is_there[river]:\n  mine(gold)\n   mine(wood)\n  mine(iron)", "3:1"),
    "a line one space too far out": ("if is_there[river]:\n    mine(gold)\n   mine(wood)\n    mine(iron)", "3:1"),
    "a def in the middle": ("mine(gold)\ndef run():\n  mine(gold)", "2:1"),
    "a second def": ("def run():\n  mine(gold)\ndef again():\n  mine(wood)", "3:1"),
    "a broken def": ("def run)(:\n  mine(gold)\n  mine(wood)", "1:8"),
}


@pytest.mark.parametrize("slip", ONE_SLIP)
def test_one_slip_gives_one_message(slip):
    text, place = ONE_SLIP[slip]
    assert places(error_of(text)) == [place]


def test_a_wrong_call_keeps_its_number_so_that_later_inputs_are_not_called_wrong():
    text = "select(a)\nselct(b)\nexist([3])\nverify_relation([1], left, [2])"
    assert places(error_of(text, VISUAL)) == ["2:1", "3:7"]


def test_a_header_that_cannot_be_read_still_opens_its_block():
    text = "if is_there(:\n  mine(gold)\n  mine(glod)\nmine(iron"
    assert places(error_of(text)) == ["1:13", "3:8", "4:10"]


# Limits ----------------------------------------------------------------------------------------------------------

LIMITS = {
    "a megabyte of text": ("mine(gold)\n" * 95_325, f"characters; at most {LARGEST_TEXT:,} are read"),
    "a megabyte on one line": ("x" * 1_048_576, f"characters; at most {LARGEST_TEXT:,} are read"),
    "one character too many": ("#" * (LARGEST_TEXT + 1), f"{LARGEST_TEXT + 1:,} characters"),
    "5,000 nested ifs": ("\n".join(" " * depth + "if is_there[river]:" for depth in range(5_000)), "characters"),
    "5,000 nested ifs on one line": ("if is_there[river]:" * 5_000 + "mine(gold)", "nested more than 50 deep"),
    "400 nested ifs": ("\n".join(" " * depth + "if is_there[river]:" for depth in range(400)), "more than 50 deep"),
    "one if too deep": ("loop(1):" * (MAX_NESTED + 1) + "mine(gold)", "nested more than 50 deep"),
    "nothing but elses": ("else:" * (LARGEST_TEXT // 5), "does not follow"),
    "loop(1000) nested": ("loop(1000):" * 40 + "mine(gold)", "more than 1,000 routines"),
    "loop(1000) twice": ("loop(1000): loop(1000): mine(gold)", "more than 1,000 routines"),
    "one routine too many": ("mine(gold)\n" * (MAX_ROUTINES + 1), "more than 1,000 routines"),
    "one routine too many by loops": ("loop(1000): mine(gold)\nmine(gold)", "more than 1,000 routines"),
    "conditions are routines": ("loop(501): while is_there[gold]: mine(gold)", "more than 1,000 routines"),
    "nothing but routines on a line": ("mine(gold);" * (LARGEST_TEXT // 11), "more than 1,000 routines"),
    "the longest line of letters": ("a" * LARGEST_TEXT, "not complete"),
    "the longest line of digits": ("1" * LARGEST_TEXT, "unexpected"),
    "the longest line of spaces": (" " * (LARGEST_TEXT - 10) + "mine(gold)", "unexpected indentation"),
    "the longest line of brackets": ("(" * LARGEST_TEXT, "unexpected '('"),
    "nested brackets": ("mine(" * (LARGEST_TEXT // 5), "nested more than 20 deep"),
    "the longest line of quotes": ('"' * LARGEST_TEXT, "unexpected"),
    "an endless string": ('mine("' + "\\" * (LARGEST_TEXT - 6), "unexpected '\"'"),
    "a call of 50,000 arguments": ("mine(" + "a," * 49_990 + "a)", "'mine' takes 1 argument, not 49991"),
    "the longest call": ("mine(" + "a," * (LARGEST_TEXT // 2 - 4) + "a)", "'mine' takes 1 argument"),
    "a word of spaces": ("mine(a" + " " * (LARGEST_TEXT - 8) + "b)", "unknown object"),
    "the longest operation": ("a" * (LARGEST_TEXT - 2) + "()", "unknown operation"),
    "the longest object": ("mine(" + "a" * (LARGEST_TEXT - 6) + ")", "unknown object"),
    "a huge number": (f"goto({'9' * 99_000}, 1)", "is out of range"),
    "a huge count": (f"if env[gold] > {'9' * 99_000}: mine(gold)", "is out of range"),
    "a huge loop": (f"loop({'9' * 99_000}): mine(gold)", "cannot loop"),
    "50,000 lines": ("a\n" * 50_000, "not complete"),
    "nothing but empty lines": ("\n" * LARGEST_TEXT, "the program is empty"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_text_beyond_all_limits_is_refused_at_once(name):
    text, message = LIMITS[name]
    before = time.process_time()
    error = error_of(text)
    assert time.process_time() - before < SECONDS
    assert message in error.problems[0].message


@pytest.mark.parametrize("name", LIMITS)
def test_a_message_is_short_however_long_the_text(name):
    error = error_of(LIMITS[name][0])
    assert max(len(line) for line in str(error).splitlines()) < 300


@pytest.mark.parametrize(
    "text",
    ["select(a)\n" * 998 + "exist([" + "9" * 50_000 + "])", "\n".join(["select(a)"] * 500 + ["exist()"] * 501)],
    ids=["a huge reference", "too many calls"],
)
def test_a_graph_program_beyond_all_limits_is_refused_at_once(text):
    before = time.process_time()
    error_of(text, VISUAL)
    assert time.process_time() - before < SECONDS


def test_the_largest_programs_are_still_read():
    assert len(parse("mine(gold)\n" * MAX_ROUTINES, DOMAIN).body) == MAX_ROUTINES
    assert parse(f"loop({MAX_LOOPS}): mine(gold)", DOMAIN).body[0].times == MAX_LOOPS
    assert parse("loop(1):" * MAX_NESTED + "mine(gold)", DOMAIN)
    assert parse("mine(gold)" + " " * (LARGEST_TEXT - 10), DOMAIN)


def test_the_caret_of_a_block_too_deep_stands_under_the_block():
    error = error_of("loop(1):" * MAX_NESTED + "while is_there[gold]: mine(gold)")
    assert places(error) == [f"1:{1 + len('loop(1):') * MAX_NESTED}"]


# Files -----------------------------------------------------------------------------------------------------------


def write(tmp_path, data):
    path = tmp_path / "program.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_is_read_whatever_its_line_ends_and_byte_order_mark(tmp_path, mark, end):
    path = write(tmp_path, mark + PAPER_PROGRAM.replace("\n", end).encode())
    assert read_program(path, DOMAIN) == read_program(str(path), DOMAIN) == parse(PAPER_PROGRAM, DOMAIN)


def test_a_mistake_in_a_file_is_told_with_the_files_name(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfmine(gold)\r\nmine(glod)")
    with pytest.raises(ProgramError) as caught:
        read_program(path, DOMAIN)
    assert str(caught.value).startswith(f"{path}:2:6: error: unknown object 'glod': did you mean 'gold'?\n")


@pytest.mark.parametrize(
    ("data", "place", "byte"),
    [
        (b"mine(\xff)", "1:6", "0xff"),
        (b"mine(gold)\r\n  mine(\x80)", "2:8", "0x80"),
        (b"# caf\xe9\nmine(gold)", "1:6", "0xe9"),
        ("# größer\nmine(größer \xff".encode()[:-2] + b"\xfe)", "2:13", "0xfe"),
        (b"\xef\xbb\xbfmine(gold)\nmine(\xff)", "2:6", "0xff"),
        (b"\xef\xbb\xbfmine(\xff)", "1:6", "0xff"),
        (b"mine(gold)\rmine(\xff)", "2:6", "0xff"),
        ("mine(gold)".encode("utf-16"), "1:1", "0xff"),
        (b"mine(gold\xc3", "1:10", "0xc3"),
    ],
    ids=["start", "second line", "latin 1", "after umlauts", "after a mark", "mark", "old mac", "utf-16", "cut"],
)
def test_bytes_that_are_not_utf8_are_told_with_their_place(tmp_path, data, place, byte):
    with pytest.raises(ProgramError) as caught:
        read_program(write(tmp_path, data), DOMAIN)
    (problem,) = caught.value.problems
    assert f"byte {byte} is not UTF-8" in problem.message
    assert f"{problem.line}:{problem.column}" == place


def test_a_missing_file_is_a_data_error_that_names_it(tmp_path):
    with pytest.raises(DataError, match=r"no-such\.txt: cannot be read \(No such file or directory\)"):
        read_program(tmp_path / "no-such.txt", DOMAIN)


def test_a_folder_is_no_program(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_program(tmp_path, DOMAIN)


def test_a_path_that_cannot_be_is_a_data_error():
    with pytest.raises(DataError, match="cannot be read"):
        read_program("a\0b", DOMAIN)


def test_all_errors_have_one_root():
    assert issubclass(ProgramError, ProgramGuidedError)
    assert issubclass(DataError, ProgramGuidedError)


# Anything at all -------------------------------------------------------------------------------------------------


def check(text, domain):
    """Either a program that survives printing, or problems that lie within the text; nothing else."""
    result = program_or_error(text, domain)
    if isinstance(result, ProgramError):
        assert str(result).strip()
        assert result.problems
        for problem in result.problems:
            check_place(problem, split_lines(text))
    else:
        assert isinstance(result, Program)
        assert parse(print_program(result, domain), domain) == result


def program_or_error(text, domain):
    try:
        return parse(text, domain)
    except ProgramError as error:
        return error


def check_place(problem, lines):
    """A caret stands under the line, or right behind it."""
    assert problem.message
    if problem.line != 0:
        assert 1 <= problem.line <= len(lines), problem
        behind = len(lines[problem.line - 1]) + 1
        assert 1 <= problem.column <= behind, problem
        assert 1 <= problem.width <= max(1, behind - problem.column), problem


TOKENS = (
    *("def run():", "if", "elif", "else:", "while", "loop(2):", "loop", ":", ";", ",", "(", ")", "[", "]", "=", "=="),
    *("\n", "\r\n", "\r", "\n  ", "\n    ", "\n\t", " ", "#", '"', "\\", "\ufeff", "\x0c", "\u2028", "0", "-1", "≥"),
    *("mine(gold)", "goto(4, 2)", "build_bridge()", "is_there[river]", "env[gold] > 0", "agent", "gold", "glod"),
    *("n = count(gold)", "less(n, count(wood))", "not(", "goto(n, 2)", "n", "while less(n, carried(gold)):", "x = "),
    *("select(bag)", "exist()", "bag = ", "bag", "[1]", "verify_relation(left)", "and([2], [3])", '"a b"', "İ", "mine"),
)
LINES = ["mine(gold)", "mine(gold", "if is_there[river]:", "elif env[gold] > 0:", "else:", "else: goto(4, 2)", ""]
LINES += ["if is_there[gold]: mine(gold)", "while agent[wood] < 3:", "whlie is_there[gold]:", "loop(3):", "loop(-1):"]
LINES += ["select(bag)", "bag = select(wine)", "exist()", "exist(bag)", "and()", "relate(bag, a b, left)", "query([1])"]
LINES += ["n = count(gold)", "n = plus(n, 1)", "goto(n, 2)", "if less(n, carried(gold)):", "x = not(env[gold] > 0)"]
indented_lines = st.tuples(st.sampled_from(["", "", "  ", "    ", "\t"]), st.sampled_from(LINES)).map("".join)
arbitrary_texts = st.one_of(
    st.text(st.characters(), max_size=60),
    st.text(st.sampled_from('abgoldmineif _:;,()[]="#<>\\\n\t\r 019-\0\x1b\u2028'), max_size=60),
    st.lists(st.sampled_from(TOKENS), max_size=24).map("".join),
    st.lists(indented_lines, max_size=10).map("\n".join),
)
FUZZ = settings(
    max_examples=4_000,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@FUZZ
@given(arbitrary_texts, st.sampled_from([DOMAIN, VISUAL, ERRANDS]))
@example("if is_there[river]: while is_there[river]:", DOMAIN)
@example("def run():\ndef run():", DOMAIN)
@example("İ = select(bag)\nexist()", VISUAL)
@example('select(">")', VISUAL)
@example("loop(1):" * MAX_NESTED + "mine(gold)", DOMAIN)
def test_an_arbitrary_text_is_a_program_or_a_program_error(text, domain):
    check(text, domain)


def sampled_texts(count, domain=DOMAIN):
    shape = Shape(routines=(1, 9), depth=3, control=0.6, while_=0.3, loop=0.2, else_=0.5, elif_=0.5)
    vocabulary = UniformVocabulary(domain)
    return [print_program(sample_program(vocabulary, shape, Random(seed)), domain) for seed in range(count)]


VALID_FLOWS = (
    *((text, DOMAIN) for text in sampled_texts(60)),
    *((text, ERRANDS) for text in sampled_texts(60, ERRANDS)),
    (PAPER_PROGRAM, DOMAIN),
    (PAPER_PROGRAM.replace("  ", "\t").replace("\n", "\r\n"), DOMAIN),
    ("if IsThere(river): Mine(wood)\nElif Agent(iron) ≥ 3: Goto(4, 2)  # go\nElse: loop(3): Sell(iron)", DOMAIN),
)
VALID_GRAPHS = (
    ("Select(bag)\nSelect(wine)\nVerify_relation(left)", VISUAL),
    ("bag = select(bag)\nred = filter_color(bag, red)\nexist(red)\nrelate([1], a(b), left)\nexist()\nand()", VISUAL),
    ('a = select("a, \\"b\\" # c")\na = relate(a, "[1]", to the left of)\nquery("what, else?", a)', VISUAL),
)
PIECE = re.compile(r"\w+|\s|.", re.DOTALL)
MUTANTS = tuple("()[]:;,\"'#<>=≥\\ \t\n\r0a_İ\x00\ufeff")


def units(text, size):
    """A text as a list of its characters, lines or tokens; joined they are the text."""
    return {"character": list, "line": lambda text: text.splitlines(keepends=True), "token": PIECE.findall}[size](text)


def mutate(text, size, change, first, second, piece):
    """One slip of the fingers: at these places, taken modulo the length."""
    parts = units(text, size)
    if not parts:
        return piece
    i, j = first % len(parts), second % len(parts)
    if change == "delete":
        del parts[i]
    elif change == "insert":
        parts.insert(i, piece)
    elif change == "repeat":
        parts.insert(i, parts[j])
    else:
        parts[i], parts[j] = parts[j], parts[i]
    return "".join(parts)


mutations = st.tuples(
    st.sampled_from(["character", "line", "token"]),
    st.sampled_from(["delete", "insert", "repeat", "swap"]),
    st.integers(0, 999),
    st.integers(0, 999),
    st.sampled_from([*MUTANTS, *TOKENS, *OBJECTS]),
)


@FUZZ
@given(st.sampled_from(VALID_FLOWS) | st.sampled_from(VALID_GRAPHS), st.lists(mutations, min_size=1, max_size=3))
def test_a_program_with_slips_of_the_fingers_is_a_program_or_a_program_error(case, slips):
    text, domain = case
    for slip in slips:
        text = mutate(text, *slip)
    check(text, domain)


def test_the_programs_that_are_mutated_are_right_before():
    for text, domain in VALID_FLOWS + VALID_GRAPHS:
        assert isinstance(parse(text, domain), Program)
