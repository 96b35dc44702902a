"""Parsers: training that can be resumed, decoding that gives nothing but programs, checkpoints, measures, commands."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from random import Random

import pytest
import torch
from domains import VISUAL

from program_guided.errors import DataError
from program_guided.language import Program, parse, print_program
from program_guided.language.comparison import signature
from program_guided.language.recombination import recombined
from program_guided.language.sentences import Lexicon
from program_guided.learning.beam import search
from program_guided.learning.codec import Codec, Pair, checked
from program_guided.learning.cursor import cursors
from program_guided.learning.networks import read_network
from program_guided.learning.parser import Parser, chosen_threshold
from program_guided.learning.parsing import calibration_error, cause, coverage, measure, relaxed, template
from program_guided.learning.settings import TranslationSettings
from program_guided.learning.trainer import train
from program_guided.learning.translation import KIND, TranslationJob, divided
from program_guided.models.config import TRANSLATORS, TranslatorConfig
from program_guided.models.translator import BEGINNING, Translator
from program_guided.tasks.visual.domain import DOMAIN as RELEASE
from program_guided.tasks.visual.domain import parse_visual
from program_guided.tasks.visual.embedded.building import scenes_of
from program_guided.tasks.visual.english import agreement_on
from program_guided.tasks.visual.ontology import BUILT_IN

NAMES = ("bag", "dog", "cat", "hat", "cup", "tree", "car", "bus", "ship", "coffee table")
COLORS = ("red", "green", "white")
SMALL = TranslatorConfig(width=48, heads=2, encoder_layers=1, decoder_layers=1, hidden=96, dropout=0.0)
QUICK = TranslationSettings(steps=6, eval_every=3, batch_size=8, warmup=2, held_out=0.2)


@dataclass(frozen=True)
class Colors:
    """A task of the small language: `Is there a red bag?`"""

    task_name: str = "colors"
    given: str = "colors"
    domain = VISUAL

    def parse(self, text, source="<program>"):
        return parse(text, VISUAL, source)

    def questions(self, split):
        for name in NAMES:
            for color in COLORS:
                yield f"Is there a {color} {name}?", f"exist(filter_color(select({name}), {color}))", name
            yield f"Is there any {name}?", f"exist(select({name}))", name

    def real_questions(self, root, split):
        raise DataError("none")

    def lexicon(self, root=None):
        return Lexicon.of([*NAMES, *COLORS], {"mug": "cup"}, dict.fromkeys(NAMES, ("a thing",)))

    def rephrased(self, question, program, lexicon, random):
        return recombined(question, program, VISUAL, lexicon, random)


def job(folder, **given):
    return TranslationJob(Colors(), replace(QUICK, **given.pop("settings", {})), folder, config=SMALL, **given)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A parser of the small task, and its job."""
    settings = {"steps": 250, "eval_every": 125, "batch_size": 32, "learning_rate": 5e-3, "warmup": 20, "ema": 0.95}
    training = job(tmp_path_factory.mktemp("parser") / "run", settings=settings)
    train(training)
    saved = read_network(training.folder, KIND)
    return Parser.restored(saved, VISUAL), training


def test_a_parser_learns_and_its_checkpoint_reads_the_same(trained):
    parser, training = trained
    readings = parser.read([pair.question for pair in training.corpus.held_out])
    right = [
        reading.program is not None and signature(reading.program, VISUAL) == signature(pair.program, VISUAL)
        for reading, pair in zip(readings, training.corpus.held_out, strict=True)
    ]
    assert sum(right) >= 0.8 * len(right)
    assert 0 < parser.threshold < 1


def test_a_word_that_was_never_seen_is_copied(trained):
    parser, _ = trained
    (reading,) = parser.read(["Is there a red zeppelin?"])
    assert "zeppelin" in reading.unknown
    assert reading.program is None or "zeppelin" in print_program(reading.program, VISUAL)


@pytest.mark.parametrize("question", ["", "?!", "zq xv bn", "why " * 2_500, "я не понимаю", "\x00\ud800", "a" * 10_000])
def test_no_question_is_too_strange(trained, question):
    parser, _ = trained
    (reading,) = parser.read([question])
    assert 0 <= reading.confidence <= 1
    for each in reading.alternatives:
        assert parse(print_program(each.program, VISUAL), VISUAL)
    assert question or not reading.understood


def test_a_question_that_is_read_in_part_is_not_understood(trained):
    parser, _ = trained
    (reading,) = parser.read(["Is there a red bag? " + "And " * 400])
    assert reading.confidence == 0
    assert not reading.understood


def test_alternatives_are_ordered_and_different(trained):
    parser, _ = trained
    (reading,) = parser.read(["Is there a green hat?"])
    programs = [each.program for each in reading.alternatives]
    assert len(programs) == len(set(programs)) > 1
    assert reading.confidence <= math.exp(reading.alternatives[0].log_probability)


def test_questions_are_read_alone_as_in_a_batch(trained):
    parser, training = trained
    asked = [pair.question for pair in training.corpus.train[:9]]
    together = parser.read(asked)
    for question, reading in zip(asked, together, strict=True):
        (alone,) = parser.read([question])
        assert alone.program == reading.program
        assert alone.confidence == pytest.approx(reading.confidence, abs=1e-4)


@pytest.mark.parametrize("domain", [VISUAL, RELEASE])
def test_an_untrained_network_gives_programs_only(domain):
    pairs = [Pair("is the dog red", parse("exist(select(dog))", domain))]
    codec = Codec.of(domain, Lexicon.of(["dog"]), pairs)
    torch.manual_seed(0)
    network = Translator(SMALL, codec.sizes).eval()
    sentences = [codec.lexicon.read(text) for text in ("is the dog red", "some words")]
    for guesses in search(network, codec, sentences)[0]:
        for guess in guesses:
            assert guess.program is not None
            assert parse(print_program(guess.program, domain), domain) == guess.program


@pytest.mark.parametrize("cursor", [False, True])
def test_the_cache_of_the_decoder_changes_nothing(cursor):
    codec = Codec.of(VISUAL, Colors().lexicon(), checked(Colors().questions("train"), Colors().parse))
    network = Translator(replace(SMALL, cursor=cursor), codec.sizes).eval()
    encoded = codec.encode([codec.lexicon.read("is there a red bag"), codec.lexicon.read("is there any mug ?")])
    numbers = torch.tensor([[BEGINNING, 9, 10, 11], [BEGINNING, 12, 9, 8]])
    places = torch.tensor([[0, 1, 1, 3], [0, 0, 2, 4]])
    whole, _ = network(encoded.source, numbers, places)
    memory = network.encode(encoded.source)
    caches = network.caches(memory)
    for at in range(4):
        step, caches = network.decode(memory, numbers[:, at : at + 1], places[:, at : at + 1], caches, at)
        assert torch.allclose(step[:, 0], whole[:, at], atol=1e-5)


def test_a_cursor_goes_behind_the_nearest_word_and_never_back():
    offers = [[], [5], [7], [5], [], [7, 9]]
    assert cursors(offers, [3, 5, 7, 7, 5, 9]) == [0, 0, 2, 3, 6, 6]
    assert cursors([[4]] * 60, [4] * 60) == list(range(60))


def test_probabilities_sum_to_one_with_what_is_copied():
    codec = Codec.of(VISUAL, Colors().lexicon(), checked(Colors().questions("train"), Colors().parse))
    network = Translator(SMALL, codec.sizes).eval()
    encoded = codec.encode([codec.lexicon.read("is there a red zeppelin")])
    scores, _ = network(encoded.source, torch.tensor([[BEGINNING]]), torch.tensor([[0]]))
    assert encoded.extra[0]
    assert float(scores.detach().exp().sum()) == pytest.approx(1, abs=1e-4)


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path):
    train(job(tmp_path / "whole"))

    class Stop(Exception):
        pass

    def watch(moment):
        if moment.step == 4:
            raise Stop

    with pytest.raises(Stop):
        train(job(tmp_path / "parts"), watch)
    train(job(tmp_path / "parts", resume=True))
    whole, parts = (read_network(tmp_path / name, KIND) for name in ("whole", "parts"))
    assert all(torch.equal(whole.tensors[name], parts.tensors[name]) for name in whole.tensors)
    assert whole.config == parts.config


def test_groups_are_held_out_together():
    pairs = checked(Colors().questions("train"), Colors().parse)
    for fold in range(3):
        corpus = divided(pairs, 0.2, fold)
        assert not {pair.group for pair in corpus.train} & {pair.group for pair in corpus.held_out}
        assert len({pair.group for pair in corpus.held_out}) == 2


def test_targets_become_the_program_again():
    pairs = [
        Pair("Is the dog or the zebra not large?", parse_visual("exist(filter_size(select(zebra), not(large)))")),
        Pair("Is it a wine glass?", parse_visual("exist(select(wine glass))")),
    ]
    codec = Codec.of(RELEASE, Lexicon(), pairs)
    for pair in pairs:
        sentence = codec.lexicon.read(pair.question)
        encoded = codec.encode([sentence])
        numbers = codec.targets(codec.derivation(pair.program, sentence), encoded.extra[0])
        program = codec.program(numbers, encoded.extra[0])
        assert program is not None
        assert signature(program, RELEASE) == signature(pair.program, RELEASE)
    assert Codec.from_dict(RELEASE, json.loads(json.dumps(codec.as_dict()))) == codec


def test_two_programs_agree_if_they_do_on_every_scene():
    agree = agreement_on(list(scenes_of("val", 12, seed=3)), BUILT_IN)
    yes, also = parse_visual("exist(select(scene))"), parse_visual("or(exist(select(scene)), exist(select(bag)))")
    bag = parse_visual("exist(select(bag))")
    assert agree(yes, also)
    assert agree(bag, yes) is False
    assert agree(bag, bag)
    assert agree(bag, parse_visual("query(select(unicorn), color)")) is None, "no scene has an answer"


def test_the_vocabularies_hold_no_ids():
    pairs = [Pair("Is there a bag?", parse_visual("exist(select(bag))"))]
    text = json.dumps(Codec.of(RELEASE, Lexicon(), pairs).as_dict())
    assert not any(character.isdigit() for character in text)


def test_measures(trained):
    parser, training = trained
    figures = measure(parser, training.corpus.held_out, training.corpus.train, lambda one, other: one == other)
    assert figures["valid"] == 100
    assert figures["strict"] <= figures["canonical"] <= figures["number and category ignored"]
    assert figures["new texts"] == figures["canonical"]
    assert figures["counts"]["unseen templates"] == 0
    assert len(figures["wrong"]) == sum(figures["causes"].values())
    assert json.dumps(figures)


def test_calibration_error_and_coverage_are_those_of_hand_made_readings():
    assert calibration_error([0.95, 0.95, 0.15, 0.15], [True, True, False, False]) == pytest.approx(0.1)
    assert coverage([0.9, 0.8, 0.2, 0.1], [True, True, False, False])["50"] == 100
    assert coverage([], []) == {}


def test_the_threshold_separates_right_from_wrong():
    assert 0.3 < chosen_threshold([0.9, 0.8, 0.7], [0.1, 0.3]) <= 0.7
    assert chosen_threshold([], []) == 0


@pytest.mark.parametrize(
    ("read", "meant", "why"),
    [
        ("exist(select(dogs))", "exist(select(dog))", "number"),
        ("exist(filter_size(select(dog), small))", "exist(filter_height(select(dog), small))", "category"),
        ("exist(select(dog))", "exist(select(cat))", "argument"),
        ("exist(select(dog))", "query(select(dog), name)", "operations"),
    ],
)
def test_errors_are_sorted_by_cause(read, meant, why):
    assert cause(parse_visual(read), parse_visual(meant), RELEASE) == why


def test_templates_have_no_arguments_and_relaxed_programs_no_number():
    one, other = parse_visual("exist(select(dogs))"), parse_visual("exist(select(cat))")
    assert template(one, RELEASE) == template(other, RELEASE)
    assert relaxed(one, RELEASE) == relaxed(parse_visual("exist(select(dog))"), RELEASE)


def test_the_paper_s_configuration_is_the_paper_s():
    paper = TRANSLATORS["paper"]
    assert (paper.encoder_layers, paper.decoder_layers, paper.width, paper.heads) == (6, 6, 512, 8)
    with pytest.raises(DataError, match="multiple"):
        replace(SMALL, heads=5).check()


@pytest.mark.parametrize("given", [[("only a question",)], [("q", 3, "g", "more")], [(3, "exist(select(dog))")]])
def test_questions_of_another_shape_are_one_clear_error(given):
    with pytest.raises(DataError, match="question 0"):
        checked(given, Colors().parse)


TASK = """
from program_guided import Objects, Task, operation, readers


class Shelf(Task):
    name, version = "shelf", 1
    reader = readers.Sequence(values=4)

    def encode(self, numbers):
        return {"items": numbers}

    def examples(self, split):
        yield "exist(every(red))", [1, 2]

    def questions(self, split):
        for color in ("red", "green", "white", "black", "pink"):
            yield f"Is there anything {color}?", f"exist(every({color}))"
            yield f"Do you see {color} things?", f"exist(every({color}))"

    @operation
    def every(self, numbers, color: str) -> Objects:
        return ()

    @operation
    def exist(self, numbers, some: Objects) -> bool:
        return bool(some)
"""


def proto(*arguments, cwd):
    command = [sys.executable, "-m", "program_guided", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


def test_a_user_s_task_with_questions_can_be_asked(tmp_path):
    (tmp_path / "shelf.py").write_text(TASK)
    small = ["--width", 16, "--heads", 2, "--encoder-layers", 1, "--decoder-layers", 1, "--hidden", 16]
    quick = ["--steps", 4, "--eval-every", 2, "--batch-size", 4, "--out", "parser"]
    done = proto("train", "parser", "shelf.py", *small, *quick, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    asked = proto("ask", "Is there anything red?", "--parser", "parser", "--json", cwd=tmp_path)
    figures = json.loads(asked.stdout)
    assert figures["task"] == "shelf"
    assert figures["alternatives"]
    measured = proto("evaluate", "parser", "--split", "train", "--json", cwd=tmp_path)
    assert json.loads(measured.stdout)["measures"]["valid"] == 100


def test_a_task_without_questions_says_so(tmp_path):
    done = proto("train", "parser", "program_guided/examples/lamps.py", cwd=".")
    assert done.returncode == 1
    assert "questions(split)" in done.stderr


def test_a_program_of_other_random_numbers_is_another_question():
    program: Program = parse("exist(select(bag))", VISUAL)
    lexicon = Colors().lexicon()
    found = {recombined("is there any bag ?", program, VISUAL, lexicon, Random(seed))[0] for seed in range(9)}
    assert len(found) > 1
