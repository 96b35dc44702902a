"""Every measure against an example computed by hand."""

import dataclasses

import pytest

from program_guided.errors import DataError
from program_guided.tasks.visual.graph import Box, Scene, SceneObject
from program_guided.tasks.visual.metrics import Cell, evaluate, grid_cells, grounding, step_count
from program_guided.tasks.visual.release.reading import Choices, Question


def step(operation, argument, *inputs):
    return {"operation": operation, "dependencies": list(inputs), "argument": argument}


def question(key, answer, structural, **more):
    fields = {"semantic_type": "attr", "semantic": (step("select", "bag (1)"),)} | more
    return Question(key, "1", "What is it ?", answer, structural=structural, **fields)


QUESTIONS = {
    each.key: each
    for each in (
        question("a", "red", "query", global_group="color", entailed=("a", "e", "f")),
        question("b", "red", "query", global_group="color"),
        question("c", "blue", "query", global_group="color"),
        question("d", "yes", "verify", entailed=("g",), semantic_type="obj"),
        question("h", "color", "compare", detailed="twoCommon", global_group="common"),
        question("e", "yes", "verify", is_balanced=False),
        question("f", "no", "verify", is_balanced=False),
        question("g", "no", "verify", is_balanced=False),
    )
}
PREDICTIONS = {"a": "red", "b": "blue", "c": "blue", "d": "no", "h": "shape", "e": "yes", "f": "yes", "g": "no"}
CHOICES = {
    "a": Choices(frozenset({"red", "blue"}), frozenset({"red"})),
    "b": Choices(frozenset({"red", "blue"}), frozenset({"red"})),
    "c": Choices(frozenset({"red", "blue"}), frozenset({"blue"})),
    "d": Choices(frozenset({"yes"}), frozenset({"yes"})),
}


@pytest.fixture(name="scores")
def scored():
    return evaluate(QUESTIONS, PREDICTIONS, CHOICES)


def test_accuracy_counts_balanced_questions_only(scores):
    # right: a, c; wrong: b, d, h
    assert scores["questions"] == 5
    assert scores["accuracy"] == pytest.approx(100 * 2 / 5)


def test_open_is_query_and_binary_is_all_else(scores):
    assert scores["open"] == pytest.approx(100 * 2 / 3)
    assert scores["binary"] == 0
    # of verify (d) and compare (h), h is now right
    assert evaluate(QUESTIONS, PREDICTIONS | {"h": "color"})["binary"] == pytest.approx(50)


def test_consistency_is_over_what_right_answers_entail(scores):
    # a is right and entails e (right) and f (wrong), itself excluded; d is wrong and does not count
    assert scores["consistency"] == pytest.approx(50)
    better = evaluate(QUESTIONS, PREDICTIONS | {"d": "yes"}, CHOICES)
    assert better["consistency"] == pytest.approx((50 + 100) / 2)


def test_validity_and_plausibility_look_the_prediction_up_and_common_has_its_own_answers(scores):
    # valid: a, b, c, and h (shape is one of the three); not valid: d ("no")
    assert scores["validity"] == pytest.approx(100 * 4 / 5)
    # plausible: a, c, h
    assert scores["plausibility"] == pytest.approx(100 * 3 / 5)


def test_distribution_is_chi_square_weighted_by_group_size(scores):
    # color: gold red 2 blue 1, predicted red 1 blue 2: (1-2)²/2 + (2-1)²/1 = 1.5, three questions
    # common: gold color 1, predicted shape 1: (0-1)²/1 = 1, one question
    assert scores["distribution"] == pytest.approx((1.5 * 3 + 1 * 1) / 4 / 100)


def test_accuracy_is_broken_down_by_type_words_and_steps(scores):
    assert scores["structural"] == pytest.approx({"compare": 0, "query": 100 * 2 / 3, "verify": 0})
    assert scores["semantic"] == pytest.approx({"attr": 50, "obj": 0})
    assert scores["words"] == pytest.approx({"4": 40})
    assert scores["steps"] == pytest.approx({"1": 40})


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ([("select", "bag (1)"), ("exist", "?", 0)], 1),
        ([("select", "bag (1)"), ("relate", "_,on,s (2)", 0), ("query", "name", 1)], 2),
        ([("select", "bag (1)"), ("query", "color", 0)], 2),
        ([("select", "bag (1)"), ("choose name", "a|b", 0)], 1),
        ([("select", "a"), ("exist", "?", 0), ("select", "b"), ("exist", "?", 2), ("and", "", 1, 3)], 3),
    ],
)
def test_steps_leave_out_exist_and_asking_for_a_name(steps, count):
    semantic = tuple(step(*each) for each in steps)
    assert step_count(dataclasses.replace(QUESTIONS["a"], semantic=semantic)) == count


def test_without_choices_groups_or_entailed_questions_a_measure_is_none():
    scores = evaluate({"d": QUESTIONS["d"]}, {"d": "yes"})
    assert [scores[name] for name in ("validity", "plausibility", "distribution", "consistency", "open")] == [None] * 5
    assert scores["binary"] == 100


def test_without_answers_only_validity_and_plausibility_are_scored():
    questions = {key: dataclasses.replace(each, answer=None) for key, each in QUESTIONS.items()}
    scores = evaluate(questions, PREDICTIONS, CHOICES)
    assert (scores["questions"], scores["validity"], scores["plausibility"]) == (
        5,
        pytest.approx(80),
        pytest.approx(60),
    )
    assert {scores[name] for name in ("accuracy", "binary", "open", "consistency", "distribution")} == {None}
    assert scores["structural"] == scores["steps"] == {}


def test_questions_without_choices_can_be_left_out_of_validity():
    choices = {key: each for key, each in CHOICES.items() if key != "d"}
    scores = evaluate(QUESTIONS, PREDICTIONS, choices, skip_bad=True)
    # valid: a, b, c, h; d, which is not valid, is left out
    assert scores["validity"] == 100
    assert scores["plausibility"] == pytest.approx(100 * 3 / 4)
    assert scores["accuracy"] == pytest.approx(100 * 2 / 5), "of all"


SCENE = Scene(
    "1", 100, 200, {"7": SceneObject("bag", Box(0, 0, 50, 100)), "8": SceneObject("cup", Box(25, 0, 50, 200))}
)


def test_grounding_is_attention_times_the_share_of_a_cell_inside_a_region():
    # cells: left column 0.6 + 0.1 (top, bottom), right column 0.3 + 0; the bag is the top left quarter,
    # the cup covers half of every cell: 0.6 * 1 + (0.6 + 0.1 + 0.3 + 0) * 0.5 = 1.1
    grounded = question(
        "a", "red", "query", grounding={"question": {"2": "7"}, "fullAnswer": {"0": "8"}, "answer": {"0": "8"}}
    )
    cells = grid_cells([[0.6, 0.1], [0.3, 0.0]])
    assert grounding([grounded], {"a": cells}, {"1": SCENE}) == pytest.approx(110)


def test_grounding_is_a_mean_over_questions_and_a_scene_is_the_whole_picture():
    about_scene = question("a", "sunny", "query", semantic=(step("select", "scene"), step("query", "weather", 0)))
    other = question("b", "red", "query", grounding={"question": {"2": "7"}, "fullAnswer": {}})
    attention = {"a": [Cell(0.25, 0.25, 0.75, 0.75, 0.5)], "b": [Cell(0.25, 0, 0.75, 0.5, 0.4)]}
    # a: 0.5 * 1; b: half of the cell lies on the bag: 0.4 * 0.5
    assert grounding([about_scene, other], attention, {"1": SCENE}) == pytest.approx(100 * (0.5 + 0.2) / 2)


def test_what_is_missing_is_named():
    with pytest.raises(DataError, match="no prediction for question 'a'"):
        evaluate(QUESTIONS, {})
    with pytest.raises(DataError, match="no choices for question 'a'"):
        evaluate(QUESTIONS, PREDICTIONS, {})
    with pytest.raises(DataError, match="question 'a' has no answer"):
        evaluate(QUESTIONS | {"a": dataclasses.replace(QUESTIONS["a"], answer=None)}, PREDICTIONS)
    with pytest.raises(DataError, match="no balanced question"):
        evaluate({}, {})
    grounded = question("a", "red", "query", grounding={"question": {"2": "9"}})
    with pytest.raises(DataError, match="image '1' has no object '9'"):
        grounding([grounded], {"a": [Cell(0, 0, 1, 1, 1)]}, {"1": SCENE})
    with pytest.raises(DataError, match="no scene graph of image '1'"):
        grounding([grounded], {"a": [Cell(0, 0, 1, 1, 1)]}, {})
