"""Agents on one set of questions: symbolic agents, shuffled pictures, and intervals over pictures."""

import json
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import program_guided
from program_guided.cli.tasks import task_of_agents
from program_guided.errors import DataError
from program_guided.language.sentences import Lexicon
from program_guided.language.syntax import flatten
from program_guided.learning.codec import Codec, Pair
from program_guided.learning.intervals import interval
from program_guided.learning.networks import save_network
from program_guided.learning.trainer import train
from program_guided.models.config import TranslatorConfig
from program_guided.models.translator import Translator
from program_guided.tasks.visual.batches import other_pictures as shuffled_pictures
from program_guided.tasks.visual.commands.evaluate import MEASURES, Evaluate, means
from program_guided.tasks.visual.commands.run import Run
from program_guided.tasks.visual.data import VisualData
from program_guided.tasks.visual.detector.sight import PixelSight
from program_guided.tasks.visual.domain import DOMAIN, parse_visual
from program_guided.tasks.visual.drawing.scene import Camera, draw_picture
from program_guided.tasks.visual.embedded.building import sights_of, write_world
from program_guided.tasks.visual.embedded.scenes import WIDTH, sample_scene
from program_guided.tasks.visual.embedded.vectors import SIZE
from program_guided.tasks.visual.evaluation import (
    answer_questions,
    oracle_answers,
    predicted_answers,
    right_by_picture,
    symbolic_answers,
)
from program_guided.tasks.visual.index.building import make_index
from program_guided.tasks.visual.release.reading import Question
from program_guided.tasks.visual.symbolic import answer_symbolically
from program_guided.tasks.visual.task import Visual
from tests.detectors import save_detector
from tests.test_visual_learning import job, written

pytestmark = pytest.mark.usefixtures("one_thread")


def resampled(gained, asked, times=3000):
    """Ends of an interval, picture by picture."""
    random, points = Random(5), []
    for _ in range(times):
        drawn = [random.randrange(len(asked)) for _ in asked]
        points.append(100 * sum(gained[at] for at in drawn) / sum(asked[at] for at in drawn))
    points.sort()
    return points[round(0.025 * times)], points[round(0.975 * times)]


def test_an_interval_is_that_of_a_direct_computation():
    random = np.random.default_rng(0)
    asked = random.integers(1, 12, 40)
    right = random.binomial(asked, random.random(40))
    found = interval(right, asked)
    assert found["points"] == 100 * right.sum() / asked.sum()
    low, high = resampled(right.tolist(), asked.tolist())
    assert (found["low"], found["high"]) == (pytest.approx(low, abs=1), pytest.approx(high, abs=1))
    assert high - low > 8
    assert interval(right, asked) == found, "the same twice"
    assert interval(right, asked, seed=1) != found


def test_an_interval_of_a_difference_is_of_the_same_pictures():
    """Pictures are hard or easy for both: the difference is surer than the two accuracies."""
    asked = np.full(60, 10)
    one = np.random.default_rng(0).integers(0, 10, 60)
    found = interval((one + 1) - one, asked)
    assert found == {name: pytest.approx(10) for name in ("points", "low", "high")}
    assert interval(one - (one + 1), asked)["low"] == pytest.approx(-10)


def test_questions_about_one_picture_count_as_one():
    together = interval(np.array([10, 0] * 20), np.full(40, 10))
    apart = interval(np.array([1, 0] * 200), np.ones(400, int))
    assert together["points"] == apart["points"] == 50
    width, other = (each["high"] - each["low"] for each in (together, apart))
    assert width / other == pytest.approx(10**0.5, rel=0.1)


def test_right_answers_are_counted_by_picture():
    def question(key, image, answer):
        return Question(key, image, "", answer)

    asked = [question("1", "b", "yes"), question("2", "a", "no"), question("3", "b", "red"), question("4", "c", None)]
    predictions = {"1": "yes", "2": "yes", "3": "red", "4": "yes", "9": "no"}
    found = right_by_picture({each.key: each for each in asked}, predictions)
    assert found == {"right": [0, 2], "asked": [1, 2]}, "pictures a and b; without an answer there is no right one"


def agent(accuracy, right, asked, seed=0, model="plus", **more):
    scores = dict.fromkeys(MEASURES, accuracy) | {"pictures": {"right": right, "asked": asked}}
    training = {"model": model, "config": {}, "target": "dense", "seed": seed}
    return {"training": training if seed is not None else {}, "splits": {"test": scores}} | more


def test_means_have_intervals_over_pictures_and_the_lead_of_the_first():
    asked = [2, 4, 4, 10, 5]
    one, two, other = [2, 4, 1, 8, 3], [0, 4, 3, 8, 5], [1, 0, 4, 2, 2]
    agents = {"a": agent(72, one, asked), "b": agent(80, two, asked, 1), "symbolic": agent(36, other, asked, None)}
    first, second = means(agents)
    mean = np.add(one, two) / 2
    assert first["agents"] == ["a", "b"]
    assert first["interval"] == interval(mean, np.array(asked))
    assert first["interval"]["points"] == pytest.approx(first["accuracy"])
    assert "behind" not in first
    assert second["interval"] == interval(np.array(other), np.array(asked))
    assert second["behind"] == interval(mean - other, np.array(asked))
    assert second["behind"]["points"] == pytest.approx(first["accuracy"] - second["accuracy"])
    assert "pictures" not in first.keys() | second.keys()


def test_without_the_same_pictures_there_is_no_lead():
    old = agent(50, [1], [2], None)
    del old["splits"]["test"]["pictures"]
    agents = {"a": agent(50, [1, 2], [2, 4]), "old": old, "others": agent(50, [1, 2], [4, 2], None)}
    agents["others"]["training"] = {"model": "paper", "config": {}}
    agents["nothing"] = agent(None, [], [], None, shuffled=True)
    found = {each["agents"][0]: each.keys() & {"interval", "behind"} for each in means(agents)}
    assert found == {"a": {"interval"}, "old": set(), "others": {"interval"}, "nothing": set()}


def test_shuffled_agents_are_not_averaged_with_others():
    agents = {str(at): agent(50, [1], [2], at, shuffled=True) for at in range(2)} | {"2": agent(60, [1], [2], 2)}
    found = [(each["agents"], each["ablation"]) for each in means(agents)]
    assert found == [(["0", "1"], "shuffled pictures"), (["2"], "full model")]


@pytest.fixture(name="world", scope="module")
def world_fixture(tmp_path_factory):
    """Much is detected wrongly."""
    return written(tmp_path_factory.mktemp("world"), (12, 1, 5), noise=0.35)


@pytest.fixture(name="checkpoint", scope="module")
def checkpoint_fixture(world, one_thread, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    train(job(world, folder))
    return folder


def questions(world):
    return list(VisualData(world).index.questions("test_balanced"))


def usual_answers(world):
    """Last operation -> the most frequent answer of train."""
    counts = defaultdict(Counter)
    for each in VisualData(world).index.questions("train_balanced"):
        counts[flatten(each.program.body)[-1].operation][each.answer] += 1
    return counts


def test_symbolic_agents_differ_where_a_routine_has_no_result(world):
    source = Visual(data=world).question_set("test_balanced")
    numbers, seen = np.arange(len(source)), []
    found = {
        form: symbolic_answers(form, source, numbers, seen.append).predictions
        for form in ("strict", "majority", "repair")
    }
    assert seen == 3 * [*range(1, len(source) + 1)]
    data, usual = VisualData(world), usual_answers(world)
    missing = 0
    for question in questions(world):
        detected = data.features.read(question.image_id)
        strict, repaired = (answer_symbolically(question.program, detected, repair) for repair in (False, True))
        counts = usual[flatten(question.program.body)[-1].operation]
        frequent = {answer for answer, count in counts.items() if count == max(counts.values())} or {""}
        assert found["strict"][question.key] == (strict or "")
        for form, own in (("majority", strict), ("repair", repaired)):
            answer = found[form][question.key]
            assert answer == own if own else answer in frequent
        missing += strict is None
    assert len(source) // 10 < missing < len(source)


def test_symbolic_agents_are_measured_beside_the_oracle(world, tmp_path, capsys):
    agents = ("oracle", "symbolic", "symbolic-majority", "symbolic-repair")
    assert Evaluate(save=tmp_path / "found.json").run(Visual(data=world), agents) == 0
    printed = capsys.readouterr().out
    figures = json.loads((tmp_path / "found.json").read_text("utf-8"))
    accuracy = {name: figures["agents"][name]["splits"]["test"]["accuracy"] for name in agents}
    assert accuracy["oracle"] == 100
    assert accuracy["symbolic"] < accuracy["symbolic-majority"] < 100
    assert accuracy["symbolic"] < accuracy["symbolic-repair"] < 100
    asked = Counter(question.image_id for question in questions(world))
    for mean in figures["means"]:
        scores = figures["agents"][mean["model"]]["splits"]["test"]
        pictures = scores["pictures"]
        assert pictures["asked"] == [asked[image] for image in sorted(asked)]
        assert sum(pictures["right"]) == round(scores["accuracy"] * scores["questions"] / 100)
        assert mean["interval"] == interval(np.array(pictures["right"]), np.array(pictures["asked"]))
        assert mean["interval"]["low"] <= mean["accuracy"] <= mean["interval"]["high"]
        assert scores["elsewhere"] is None
    leads = [mean["behind"]["points"] for mean in figures["means"][1:]]
    assert leads == pytest.approx([100 - accuracy[name] for name in agents[1:]])
    assert "oracle: 100.0 % (100.0 to 100.0)" in printed
    assert printed.count("; oracle leads by ") == 3
    assert f"symbolic: {accuracy['symbolic']:.1f} % (" in printed
    for given in (("oracle", str(tmp_path / "found.json")), (str(tmp_path / "found.json"), "oracle")):
        Evaluate(save=tmp_path / "both.json").run(Visual(data=world), given)
        both = json.loads((tmp_path / "both.json").read_text("utf-8"))["agents"]
        assert [name for name in agents if "measured" in both[name]] == list(agents[1:]), "the oracle is measured now"
    with pytest.raises(DataError, match=r"both\.json: another file has figures of oracle too; name agents of it as"):
        Evaluate().run(Visual(data=world), (str(tmp_path / "found.json"), str(tmp_path / "both.json")))
    again = Evaluate(save=tmp_path / "again.json")
    assert again.run(Visual(data=world), (f"oracle@{tmp_path / 'found.json'}", "symbolic")) == 0
    assert json.loads((tmp_path / "again.json").read_text("utf-8"))["means"] == figures["means"][:2]


def test_the_usual_answers_are_of_train(world, tmp_path):
    for name in ("test_balanced_questions.json", "objects"):
        (tmp_path / name).symlink_to(world / name)
    make_index(tmp_path, tmp_path / "index")
    Evaluate(json=True).run(Visual(data=tmp_path), ("symbolic",))
    with pytest.raises(DataError, match="there are no questions of train"):
        Evaluate(json=True).run(Visual(data=tmp_path), ("symbolic-majority",))


def other_pictures(world):
    """For each question, the picture half way round the list of all."""
    images = [question.image_id for question in questions(world)]
    every = sorted(set(images), key=VisualData(world).index.images.index)
    return [every[(every.index(image) - len(every) // 2) % len(every)] for image in images]


@pytest.mark.parametrize("counts", [(5, 1, 1), (1, 8, 1), (1, 1), (3, 3, 3, 3)])
def test_no_picture_is_its_own_other_one(counts):
    own = np.repeat(np.arange(len(counts)), counts)
    other = shuffled_pictures(own)
    assert (own != other).all()
    assert len({*zip(own.tolist(), other.tolist(), strict=True)}) == len(counts)


def test_one_picture_has_no_other():
    with pytest.raises(DataError, match="all questions are about one picture"):
        shuffled_pictures(np.array([4, 4]))


def test_shuffled_questions_are_answered_about_other_pictures(world, checkpoint):
    reasoner, data = program_guided.load(checkpoint), VisualData(world)
    source = Visual(data=world).question_set("test_balanced")
    own, shuffled = (answer_questions(reasoner.model, source, np.arange(len(source)), shuffled=each) for each in (0, 1))
    right = 0
    for question, image in zip(questions(world), other_pictures(world), strict=True):
        assert question.image_id != image
        answer = reasoner.reason(question.program, None, data.features.read(image)).answer
        assert shuffled.predictions[question.key] == answer
        right += answer == question.answer
    assert shuffled.accuracy == pytest.approx(100 * right / len(source)), "right is what is true of its own picture"
    assert own.predictions != shuffled.predictions


def test_shuffled_figures_say_so(world, checkpoint, tmp_path, capsys):
    save, name = tmp_path / "found.json", str(checkpoint)
    assert Evaluate(save=save, shuffled=True).run(Visual(data=world), (name,)) == 0
    assert "shuffled pictures" in capsys.readouterr().out
    figures = json.loads(save.read_text("utf-8"))
    assert figures["agents"][name]["shuffled"] is True
    both = Evaluate(json=True).run(Visual(data=world), (str(save),))
    assert both == 0
    assert json.loads(capsys.readouterr().out)["means"] == figures["means"]


@pytest.mark.parametrize("name", ["oracle", "symbolic", "symbolic-repair"])
def test_only_checkpoints_can_be_shown_other_pictures(world, name):
    with pytest.raises(DataError, match=f"shuffled: name checkpoints, not {name}"):
        Evaluate(shuffled=True).run(Visual(data=world), ("no such checkpoint is looked for", name))


def test_symbolic_agents_tell_their_task():
    for name in ("symbolic", "symbolic-majority", "symbolic-repair"):
        assert task_of_agents(("oracle", name), None).task_name == "visual"
    assert task_of_agents(("oracle",), None).task_name == "minecraft"


def test_symbolic_agents_need_the_vectors_of_the_detector(world, tmp_path):
    write_world(tmp_path, {"train": 1, "val": 1, "test": 2}, 3, sights_of(("patches",)))
    make_index(tmp_path, tmp_path / "index")
    with pytest.raises(DataError, match="its vectors have 768 numbers, but symbolic execution reads the 200"):
        Evaluate(json=True).run(Visual(data=tmp_path, features=tmp_path / "patches"), ("symbolic",))


def test_the_oracle_needs_no_features_and_the_symbolic_agents_no_graphs(world, tmp_path):
    """Questions and features alone."""
    source = Visual(data=world).question_set("test_balanced")
    assert oracle_answers(source, np.arange(len(source)), lambda done: None).accuracy == 100
    names = ("train_balanced_questions.json", "test_balanced_questions.json", "objects")
    for name in names:
        (tmp_path / name).symlink_to(world / name)
    make_index(tmp_path, tmp_path / "index")
    assert Evaluate(json=True).run(Visual(data=tmp_path), ("symbolic-repair",)) == 0
    with pytest.raises(DataError, match="there are no scene graphs of test_balanced"):
        Evaluate(json=True).run(Visual(data=tmp_path), ("oracle",))


PROGRAM = "things = select(furniture)\nexist(things)"


@pytest.fixture(name="drawing")
def drawing_fixture(tmp_path, monkeypatch):
    """A drawn picture, and a detector in the working folder."""
    monkeypatch.chdir(tmp_path)
    save_detector(tmp_path / "detector")
    draw_picture(sample_scene(5), camera=Camera()).save(tmp_path / "drawing.png")
    return tmp_path / "drawing.png"


def test_a_drawing_is_reasoned_about_as_what_the_detector_sees(checkpoint, drawing):
    reasoner = program_guided.load(checkpoint)
    found, detected = reasoner.look(PROGRAM, drawing), PixelSight().see(sample_scene(5))
    assert len(detected.boxes) > 0
    expected = reasoner.reason(PROGRAM, None, detected)
    assert [vars(each) for each in found.findings] == [vars(each) for each in expected.findings]
    assert (found.scene, found.right) == (None, None), "without its graph there is no oracle"
    assert {each.truth for each in found.findings} == {None}
    assert found.background.picture.tobytes() == Image.open(drawing).tobytes()
    of_scene = reasoner.run(PROGRAM, 5)
    assert of_scene.answer == found.answer
    assert [each.boxes for each in of_scene.findings] == [each.boxes for each in found.findings]


def run(checkpoint, **options):
    return Run(**options).run(Visual(), Path("x.prg"), parse_visual(PROGRAM), str(checkpoint))


def test_the_command_runs_on_a_drawing(checkpoint, drawing, capsys):
    assert run(checkpoint, image=str(drawing), json=True, png=Path("found.png")) == 0
    found = json.loads(capsys.readouterr().out)
    answer = program_guided.load(checkpoint).look(PROGRAM, drawing).answer
    assert (found["image"], found["right"], found["answer"]) == (str(drawing), None, answer)
    with Image.open("found.png") as picture:
        assert picture.width > WIDTH
    assert run(checkpoint, image="drawing.png") == 0
    printed = capsys.readouterr().out
    assert f"answer: {answer} (image drawing.png)" in printed
    assert "oracle" not in printed


def test_an_executor_of_other_vectors_is_one_clear_error(checkpoint, drawing, monkeypatch):
    reasoner = program_guided.load(checkpoint)
    monkeypatch.setitem(reasoner.checkpoint.reader, "features", 2048)
    with pytest.raises(DataError, match=f"^the detector: its vectors have {SIZE} numbers, but .* of 2,048"):
        reasoner.look(PROGRAM, drawing)
    with pytest.raises(DataError, match="^the detector: its vectors"):
        reasoner.run(PROGRAM)


@pytest.mark.parametrize(
    ("name", "message"),
    [("gone.png", "there is no such file; if it is a picture of your data"), ("text.png", "text.png")],
)
def test_a_wrong_drawing_is_one_clear_error(checkpoint, drawing, name, message):
    drawing.with_name("text.png").write_text("no picture")
    with pytest.raises(DataError, match=message):
        run(checkpoint, image=name)


class TrueParser:
    """Reads every question of a world as its true program, but the first as none."""

    def __init__(self, world):
        self.programs = {each.text: each.program for each in questions(world)}

    def read(self, texts):
        return [SimpleNamespace(program=self.programs[text] if at else None) for at, text in enumerate(texts)]


def test_true_programs_from_a_parser_give_the_same_answers(world, checkpoint):
    reasoner, source = program_guided.load(checkpoint), Visual(data=world).question_set("test_balanced")
    numbers = np.arange(len(source))
    given = answer_questions(reasoner.model, source, numbers).predictions
    found = predicted_answers(reasoner.model, TrueParser(world), source, numbers).predictions
    first = source.set.key(0)
    assert found.pop(first) == ""
    given.pop(first)
    texts = Counter(each.text for each in questions(world))
    same = [each.key for each in questions(world) if texts[each.text] == 1 and each.key != first]
    assert [found[key] for key in same] == [given[key] for key in same]


def test_predicted_programs_are_measured_beside_true_ones(world, checkpoint, tmp_path, capsys):
    pairs = [Pair(each.text, each.program) for each in questions(world)]
    codec = Codec.of(DOMAIN, Lexicon(), pairs)
    config = TranslatorConfig(width=16, heads=2, encoder_layers=1, decoder_layers=1, hidden=16)
    record = {"task": "visual", "given": "visual", "network": asdict(config), "threshold": 0.0, **codec.as_dict()}
    save_network(tmp_path / "parser", "parser", Translator(config, codec.sizes), record)
    asked = Evaluate(programs="predicted", parser=tmp_path / "parser", json=True)
    assert asked.run(Visual(data=world), [str(checkpoint)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert [each["ablation"] for each in figures["means"]] == ["full model", "predicted programs"]
    assert figures["agents"][f"{checkpoint} and parser"]["parser"] == "parser"
