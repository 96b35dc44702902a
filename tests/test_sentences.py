"""Words of questions, sentences of programs, comparison of programs, and other arguments in a question."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from program_guided.language import Shape, parse, sample_program
from program_guided.language.comparison import in_order, signature
from program_guided.language.derivation import Grammar, normal_form
from program_guided.language.recombination import recombined
from program_guided.language.sentences import MAX_WORDS, Lexicon, normalised, singular
from program_guided.tasks.minecraft.domain import DOMAIN as MINECRAFT
from program_guided.tasks.minecraft.english import by_hand, say
from program_guided.tasks.minecraft.sampler import MinecraftVocabulary
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.visual.domain import DOMAIN as RELEASE
from program_guided.tasks.visual.domain import parse_visual
from program_guided.tasks.visual.task import Visual

LEXICON = Lexicon.of(
    ["to the left of", "coffee table", "man", "T-shirt", "red", "blue"],
    synonyms={"guy": "man"},
    tags={"man": ("a person",), "red": ("color",), "blue": ("color",), "coffee table": ("a furniture",)},
)


def words(text: str) -> list[str]:
    return [word.text for word in LEXICON.read(text)]


def test_words_are_normalised_and_known_phrases_are_one_word():
    assert words("What’s TO the left of the guys?") == ["what", "'s", "to the left of", "the", "guys", "?"]
    assert words("isn't the coffee-table's T-shirt 12") == ["is", "n't", "the", "coffee table", "'s", "T-shirt", "12"]


def test_plural_and_synonym_are_forms_of_a_word():
    assert LEXICON.word("guys").forms == ("guys", "guy", "man")
    assert LEXICON.word("guys").tags == ("a person",)
    assert words("coffee tables") == ["coffee tables"]
    assert LEXICON.word("coffee tables").forms == ("coffee tables", "coffee table", "coffee table")
    assert LEXICON.word("three").forms[-1] == "3"


@pytest.mark.parametrize(
    ("plural", "one"), [("trees", "tree"), ("knives", "knife"), ("glass", "glass"), ("boxes", "box"), ("bus", "bus")]
)
def test_singular(plural, one):
    assert singular(plural) == one


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_has_words(text):
    read = LEXICON.read(text)
    assert len(read) <= MAX_WORDS
    assert all(word.text and len(word.forms) == 3 for word in read)


def test_ten_thousand_characters_are_read_at_once():
    assert len(LEXICON.read("why " * 2_500)) == MAX_WORDS
    assert len(LEXICON.read("a" * 10_000)) == 1


def test_a_lexicon_survives_its_record():
    assert Lexicon.from_dict(LEXICON.as_dict()) == LEXICON
    assert LEXICON.near("coffe table") == ["coffee table"]


def test_programs_that_differ_in_order_only_are_equal():
    one = parse_visual("or(exist(select(dog)), exist(select(cat)))")
    other = parse_visual("a = select(cat)\nb = exist(a)\nor(exist(select(dog)), b)")
    assert signature(one, RELEASE) == signature(other, RELEASE)
    assert signature(one, RELEASE) != signature(parse_visual("and(exist(select(dog)), exist(select(cat)))"), RELEASE)


def test_a_result_that_is_shared_equals_one_that_is_computed_twice():
    shared = parse_visual("b = select(bag)\nand(verify_color(b, red), verify_size(b, large))")
    twice = parse_visual("and(verify_size(select(bag), large), verify_color(select(bag), red))")
    assert signature(shared, RELEASE) == signature(twice, RELEASE)


def test_the_order_of_statements_and_of_conditions_matters_in_a_world():
    one, other = parse("mine(gold)\nmine(wood)", MINECRAFT), parse("mine(wood)\nmine(gold)", MINECRAFT)
    assert signature(one, MINECRAFT) != signature(other, MINECRAFT)


def test_operands_are_put_in_the_order_of_the_question():
    program = parse_visual("choose_color(select(car), blue, red)")
    asked = in_order(program, RELEASE, LEXICON.read("Is the car red or blue?"))
    assert [terminal.text for terminal in Grammar(RELEASE).derive(asked)][2:5] == ["car", "red", "blue"]
    assert signature(asked, RELEASE) == signature(program, RELEASE)


def test_arguments_are_replaced_in_question_and_program():
    program = parse_visual("verify_color(select(man), red)")
    found = {recombined("Is the man red?", program, RELEASE, LEXICON, Random(seed)) for seed in range(20)}
    assert ("is the man blue ?", parse_visual("verify_color(select(man), blue)")) in found
    assert all(("blue" in question) == ("blue" in str(other)) for question, other in found)


@pytest.mark.parametrize("split", ["test", "longer", "complex", "data-flow"])
def test_no_two_programs_of_the_world_have_the_same_sentence(split):
    said = {}
    for number, entry in enumerate(load_split(split)):
        program = normal_form(entry.program, MINECRAFT)
        for seed in range(2):
            key = normalised(say(entry.program, Random(1000 * seed + number)))
            assert len(key) < MAX_WORDS
            assert said.setdefault(key, program) == program


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_short_programs_have_sentences_of_their_own(seed):
    shape = Shape(routines=(2, 5), depth=3, control=0.8, elif_=0.4, loop=0.2)
    program = sample_program(MinecraftVocabulary(8), shape, Random(seed))
    key = normalised(say(program, Random(seed)))
    assert SAID.setdefault(key, normal_form(program, MINECRAFT)) == normal_form(program, MINECRAFT)


SAID: dict = {}


def test_thirty_sentences_are_written_by_hand():
    assert len(by_hand()) == 30
    for question, program in by_hand():
        assert Grammar(MINECRAFT).derive(normal_form(program, MINECRAFT))
        assert LEXICON.read(question)


def test_sentences_of_a_split_are_the_same_every_time():
    one, other = (list(Minecraft().questions("test"))[:20] for _ in range(2))
    assert one == other


def test_no_program_to_measure_on_is_trained_on():
    tested = {entry.program for entry in load_split("test")}
    entry = load_split("train")[0]
    task, random = Minecraft(), Random(0)
    drawn = [task.rephrased("", entry.program, task.lexicon(), random)[1] for _ in range(300)]
    assert tested.isdisjoint(drawn)
    assert len(set(drawn)) > 100


def test_the_ontology_gives_kinds_attributes_and_relations():
    lexicon = Visual().lexicon(Path("/nowhere"))
    assert lexicon.word("red").tags[0] == "color"
    assert "a person" in lexicon.word("men").tags
    assert lexicon.word("to the left of").tags == ("relation",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What´s a t‑shirt?", ("what", "'s", "a", "t", "shirt", "?")),
        ("-3 and −4, 5-6", ("-3", "and", "-4", ",", "5", "6")),
    ],
)
def test_signs_are_normalised(text, words):
    assert normalised(text) == words


@pytest.mark.parametrize(
    ("many", "one"), [("shoes", "shoe"), ("buses", "bus"), ("skis", "ski"), ("coffee pies", "coffee pie")]
)
def test_singulars(many, one):
    assert singular(many) == one


def test_the_plural_of_a_phrase_offers_the_phrase_as_programs_spell_it():
    (word,) = Lexicon.of(["t-shirt"]).read("t-shirts")
    assert "t-shirt" in word.forms
