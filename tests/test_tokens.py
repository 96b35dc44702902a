"""Programs as tokens, for models without a pointer."""

import numpy as np
import pytest

from program_guided.language.tokens import SYMBOL, SYMBOLS, token_table, tokens_of, tokens_of_routines
from program_guided.language.vocabulary import Vocabulary
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft

VOCABULARY = Vocabulary.of(DOMAIN)


def text(tokens):
    names = ("", *SYMBOLS, *VOCABULARY.words[1:])
    return " ".join(names[token] for token in tokens if token)


def read(program):
    return text(tokens_of(Minecraft().parse(program), DOMAIN, VOCABULARY))


def test_every_bracket_comma_and_keyword_is_a_token_and_blocks_are_enclosed():
    assert read("if is_there[river]:\n  mine(wood)\nelse:\n  goto(4, 2)\n") == (
        "if is_there ( river ) : newline indent mine ( wood ) newline dedent "
        "else : newline indent goto ( 4 , 2 ) newline dedent"
    )
    assert read("while env[gold] > 0:\n  loop(2):\n    mine(gold)\n") == (
        "while env ( gold , > , 0 ) : newline indent loop ( 2 ) : newline indent mine ( gold ) newline dedent dedent"
    )


def test_results_are_named_in_the_order_of_their_definition_where_they_are_used():
    assert read("n = count(gold)\nk = count(wood)\nwhile less(carried(iron), k):\n  mine(iron)\n") == (
        "count ( gold ) newline result 0 = count ( wood ) newline "
        "while less ( carried ( iron ) , result 0 ) : newline indent mine ( iron ) newline dedent"
    )


def test_programs_that_differ_have_tokens_that_differ():
    entries = [*load_split("train")[:500], *load_split("data-flow")[:200]]
    table = token_table([entry.program for entry in entries], DOMAIN, VOCABULARY)
    assert len(np.unique(table, axis=0)) == len({entry.text for entry in entries})
    assert table.max() < len(SYMBOLS) + len(VOCABULARY)


@pytest.mark.parametrize("program", ["mine(gold)", "goto(4, 2)", "place(iron, 1, 3)", "build_bridge()"])
def test_a_routine_reads_as_a_program_of_one_line(program):
    table = Minecraft().compile(program)
    (tokens,) = tokens_of_routines(VOCABULARY.encode(table))
    assert text(tokens) == read(program)


def test_a_table_has_room_for_any_program_of_one_routine():
    programs = [Minecraft().parse("build_bridge()")]
    words = VOCABULARY.encode(Minecraft().compile("place(iron, 1, 3)"))
    assert token_table(programs, DOMAIN, VOCABULARY).shape[1] >= tokens_of_routines(words).shape[1]


def test_symbols_and_words_share_no_number():
    assert SYMBOL["("] == 1
    assert max(SYMBOL.values()) == len(SYMBOLS)
