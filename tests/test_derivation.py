"""Derivations of programs: round trips, and the automaton that accepts nothing but programs."""

from random import Random

import pytest
from domains import ERRANDS, VISUAL
from hypothesis import given, settings
from hypothesis import strategies as st

from program_guided.errors import DataError
from program_guided.language import Domain, Program, Shape, UniformVocabulary, parse, print_program, sample_program
from program_guided.language.derivation import STOP, Grammar, Terminal, normal_form
from program_guided.tasks.minecraft.domain import DOMAIN as MINECRAFT
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.visual.domain import DOMAIN as RELEASE

DOMAINS = {"minecraft": MINECRAFT, "release": RELEASE, "errands": ERRANDS, "small": VISUAL}
GRAMMARS = {name: Grammar(domain) for name, domain in DOMAINS.items()}
PHRASE = Terminal("phrase", "dog")


def random_sequence(grammar: Grammar, random: Random, length: int) -> list[Terminal]:
    state, sequence = grammar.start(), []
    while state.stack:
        expected = grammar.expected(state)
        accepted = [each for each in (*grammar.terminals, PHRASE) if grammar.accepts(expected, each)]
        assert accepted, (sequence, expected)
        ends = [each for each in accepted if each == STOP or each.text == "end"]
        sequence.append(random.choice(ends if ends and len(sequence) > length else accepted))
        state = grammar.advance(state, sequence[-1])
    return sequence


def parsed(program: Program, domain: Domain) -> Program:
    return parse(print_program(program, domain), domain)


@pytest.mark.parametrize("name", DOMAINS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), length=st.integers(0, 60))
def test_every_sequence_that_is_accepted_is_a_program(name, seed, length):
    grammar, domain = GRAMMARS[name], DOMAINS[name]
    program = grammar.program(random_sequence(grammar, Random(seed), length))
    assert parsed(program, domain) == program


@pytest.mark.parametrize("name", ["minecraft", "release", "errands"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), named_only=st.booleans())
def test_sampled_programs_survive_the_round_trip(name, seed, named_only):
    grammar, domain = GRAMMARS[name], DOMAINS[name]
    shape = Shape(routines=(1, 10), depth=3, elif_=0.3, loop=0.2, named_only=named_only)
    program = normal_form(sample_program(UniformVocabulary(domain), shape, Random(seed)), domain)
    assert grammar.program(grammar.derive(program)) == program
    assert parsed(program, domain) == program


@pytest.mark.parametrize("split", ["test", "longer", "data-flow"])
def test_programs_of_the_splits_have_derivations(split):
    grammar = GRAMMARS["minecraft"]
    for entry in load_split(split):
        program = normal_form(entry.program, MINECRAFT)
        assert grammar.program(grammar.derive(program)) == program


def test_terminals_stand_in_the_order_of_the_tree():
    program = parse("if is_there[river]:\n  mine(wood)\nelse:\n  goto(4, 2)", MINECRAFT)
    words = [terminal.text for terminal in GRAMMARS["minecraft"].derive(program)]
    assert words == ["if", "is_there", "river", "mine", "wood", "else", "goto", "4", "2", "end", "stop"]


def test_texts_are_phrases_and_may_be_wrapped():
    program = parse("filter_size(select(coffee table), not(very large))\nexist()", RELEASE)
    derived = GRAMMARS["release"].derive(normal_form(program, RELEASE))
    shown = [terminal.text for terminal in derived]
    assert shown == ["exist", "filter_size", "select", "coffee", "+", "table", "not", "very", "+", "large", "stop"]


def test_results_of_branches_cannot_be_taken_after_them():
    grammar = GRAMMARS["minecraft"]
    state = grammar.start()
    for kind, text in [
        *[("keyword", "if"), ("operation", "is_there"), ("word", "river"), ("operation", "count"), ("word", "gold")],
        *[("keyword", "end"), ("keyword", "if"), ("operation", "greater")],
    ]:
        state = grammar.advance(state, Terminal(kind, text))
    assert grammar.expected(state).results == ()


def test_a_call_that_is_taken_by_nothing_stays_a_statement():
    program = parse("bag = select(bag)\nother = select(dog)\nexist(bag)", RELEASE)
    assert len(normal_form(program, RELEASE).body) == 2


def test_what_is_outside_of_the_limits_has_no_derivation():
    with pytest.raises(DataError, match="no derivation"):
        GRAMMARS["minecraft"].derive(parse("loop(900):\n  mine(gold)", MINECRAFT))


@pytest.mark.parametrize("words", [[], [STOP, STOP], [Terminal("keyword", "end")]])
def test_no_sequence_of_anything_else_becomes_a_program(words):
    with pytest.raises(DataError):
        GRAMMARS["minecraft"].program(words)
