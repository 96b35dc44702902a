"""The ontology of the release's files and the one that is built in: kinds, values, and what is not certain."""

import pytest

from program_guided.errors import DataError
from program_guided.tasks.visual.domain import parse_visual
from program_guided.tasks.visual.graph import scene_of
from program_guided.tasks.visual.ontology import BUILT_IN, find_ontology, read_ontology
from program_guided.tasks.visual.oracle import PLACED, answer_of, execute
from tests.test_visual_data import real_folder, real_json

FILES = {
    "objects.txt": "animal,9,animal,S,A,G\nanimals,9,animal,P,A,G\n\ndog,5,animal,S\ndogs,5,animal,P\n"
    "eagle,3,bird,S\nlake,6,place,S,K:sea\nsea,3,place,S\n"
    "taxi,2,vehicle,S,E:cab.taxi cab\nfood truck,2,place,S,K:taxi\n"
    "pie,4,food,U,S\n",
    "attributes.txt": "metal;9;material;C:metal;A:metallic\nchrome;8;material;C:metal;N\nwood;7;material;C:wood\n"
    "tan;5;color;S:beige\nbeige;5;color\nred;5;color\nnylon,51;material;C:rubber\nopen;3;15\nshut;3;15\n"
    "light;1;weight,tone\nheavy;2;weight\n",
    "relations.txt": "near,5,direct,F\nalong,2,direct,G:near\non,4,direct\nabove,3,direct,F\nunder,2,direct,D:above\n"
    "below,2,direct,D:above,G:under\nto the left of,2,direct,D:rl\nto the right of,2,direct,D:rl\n"
    "taller than,2,comparative,G:then\nshorter than,2,comparative,G:then\n",
}


@pytest.fixture
def folder(tmp_path):
    own = tmp_path / "ontology"
    own.mkdir()
    for name, text in FILES.items():
        (own / name).write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def ontology(folder):
    return find_ontology(folder)


def test_without_files_the_built_in_one_serves(tmp_path):
    assert find_ontology(tmp_path) is BUILT_IN
    assert BUILT_IN.is_a("parrot", "animal")
    assert BUILT_IN.is_a("lake", "sea") is False


@pytest.mark.parametrize(
    ("name", "word", "truth"),
    [
        ("dog", "animal", True),
        ("dogs", "animal", True),
        ("dog", "animals", False),
        ("dogs", "animals", True),
        ("eagle", "bird", True),
        ("eagle", "animal", True),
        ("dog", "eagle", False),
        ("lake", "sea", None),
        ("sea", "lake", None),
        ("taxi", "cab", True),
        ("taxi cab", "vehicle", True),
        ("food truck", "taxi", None),
        ("food truck", "vehicle", None),
        ("food truck", "place", True),
        ("food truck", "animal", False),
        ("unheard of", "unheard of", True),
        ("unheard of", "animal", False),
    ],
)
def test_names_cover_others(ontology, name, word, truth):
    assert ontology.is_a(name, word) is truth


@pytest.mark.parametrize(
    ("known", "category", "value", "truth"),
    [
        ({"chrome"}, "material", "metal", True),
        ({"chrome"}, "material", "metallic", True),
        ({"metal"}, "material", "chrome", None),
        ({"chrome"}, "material", "wood", False),
        ({"nylon"}, "material", "wood", False),
        ({"tan"}, "color", "beige", None),
        ({"beige"}, "color", "tan", None),
        ({"tan"}, "color", "red", False),
        ({"tan", "red"}, "color", "beige", None),
        (set(), "color", "red", None),
        ({"open"}, "", "shut", False),
        ({"heavy"}, "", "light", False),
        ({"heavy"}, "tone", "light", None),
        ({"open"}, "", "light", None),
    ],
)
def test_values_hold_or_not_or_perhaps(ontology, known, category, value, truth):
    assert ontology.holds(known, category, value) is truth


@pytest.mark.parametrize(
    ("one", "other", "truth"),
    [
        ("above", "below", True),
        ("under", "above", True),
        ("under", "below", False),
        ("to the right of", "to the left of", True),
        ("to the right of", "above", False),
        ("near", "along", False),
        ("near", "on", False),
        ("taller than", "shorter than", False),
    ],
)
def test_relations_of_one_axis_are_opposite_if_they_do_not_mean_the_same(ontology, one, other, truth):
    assert ontology.are_opposite(one, other) is ontology.are_opposite(other, one) is truth
    assert not BUILT_IN.are_opposite(one, other)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("select(lake); relate(dog, above, subject); exist()", "yes"),
        ("select(dog); relate(lake, below, subject); exist()", None),
        ("select(lake); relate(dog, below, object); exist()", None),
        ("select(lake); relate(dog, below, subject); exist()", "no"),
        ("select(dog); verify_rel(lake, under, subject)", None),
        ("select(dog); verify_rel(lake, on, subject)", "no"),
        ("select(dog); choose_rel(lake, above, below, subject)", None),
        ("select(lake); choose_rel(dog, above, below, subject)", "above"),
    ],
)
def test_the_opposite_of_a_relation_is_not_certainly_absent(ontology, text, answer):
    scene = picture(("dog", [], [("above", "1")]), ("lake", [], []))
    assert answer_of(execute(parse_visual(text.replace("; ", "\n")), scene, ontology)) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("select(dog); select(lake); choose_larger()", "lake"),
        ("select(dog); select(lake); choose_comparative([1], bigger, [2])", "lake"),
        ("select(dog); select(lake); choose_smaller()", "dog"),
        ("select(dog); select(lake); choose_shorter()", "lake"),
        ("select(dog); select(lake); choose_taller()", "dog"),
        ("select(dog); relate(lake, taller than, object); exist()", "no"),
    ],
)
def test_comparatives_come_from_the_graph_in_either_direction(ontology, text, answer):
    scene = picture(("dog", [], [("smaller than", "1")]), ("lake", [], [("shorter than", "0")]))
    assert answer_of(execute(parse_visual(text.replace("; ", "\n")), scene, ontology)) == answer
    assert not ontology.mean_the_same("taller than", "shorter than")


def test_food_is_healthy_by_its_name_or_category(ontology):
    assert ontology.health("pie") is False
    assert ontology.health("dog") is None
    assert [BUILT_IN.health(name) for name in ("apple", "pizza", "rice")] == [True, False, None]


def picture(*objects):
    """A scene of (name, attributes, relations)."""
    box = {"x": 0, "y": 0, "w": 9, "h": 9}
    things = {
        str(number): {
            "name": name,
            **box,
            "attributes": list(attributes),
            "relations": [{"name": relation, "object": other} for relation, other in relations],
        }
        for number, (name, attributes, relations) in enumerate(objects)
    }
    return scene_of({"width": 90, "height": 90, "objects": things}, "picture")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select(sea); exist()", "a lake may be called sea"),
        ("select(dog); exist()", "yes"),
        ("select(eagle); exist()", "no"),
        ("select(she); exist()", "'she' is known only by the id that stood in brackets"),
        ("select(dog); filter_color(beige); exist()", "whether anything is beige is not known"),
        ("select(dog); filter_color(not(beige)); exist()", "whether anything is not(beige) is not known"),
        ("select(dog); filter_color(red); exist()", "no"),
        ("select(taxi); filter_color(red); exist()", "whether anything is red is not known"),
        ("select(taxi); filter_color(not(red)); exist()", "whether anything is not(red) is not known"),
        ("select(dog); filter_color(not(red)); exist()", "yes"),
        ("select(dog); verify_color(beige)", "color is not known"),
        ("select(dog); verify_color(red)", "no"),
        ("select(taxi); verify_material(metal)", "yes"),
        ("select(lake); relate(dog, near, subject); exist()", "whether anything is related by near is not known"),
        (
            "select(dog); relate(_, same color, either); exist()",
            "whether anything is related by same color is not known",
        ),
        (
            "select(dog); relate(taxi, same color, either); exist()",
            "whether anything is related by same color is not known",
        ),
        ("select(dog); relate(dog, same color, either); exist()", "no"),
        ("select(lake); relate(dog, on, subject); exist()", "no"),
        ("select(dog); select(lake); same_color()", "color is not known"),
        ("select(dog); select(taxi); choose_larger()", "taxi"),
        ("select(dog); select(taxi); choose_comparative([1], bigger, [2])", "taxi"),
        ("select(dog); select(taxi); choose_comparative([1], heavier, [2])", "it is not known which is heavier"),
        ("select(taxi); verify_attribute([1], material, wood)", "no"),
        ("select(dog); filter_attribute([1], color, tan); exist()", "yes"),
        ("select(taxi); choose_attribute([1], material, metal, wood)", "metal"),
        ("select(dog); select(taxi); same_attribute([1], color, [2])", "color is not known"),
    ],
)
def test_a_no_that_is_not_certain_is_no_result(ontology, text, expected):
    scene = picture(
        ("dog", ["tan"], [("along", "1")]), ("lake", ["beige"], []), ("taxi", ["chrome"], [("larger than", "0")])
    )
    results = execute(parse_visual(text.replace("; ", "\n")), scene, ontology)
    problems = [result.problem for result in results if result.problem and not result.problem.startswith("step ")]
    assert (answer_of(results) or problems[0]) == expected


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("objects.txt", "dog,many,animal\n", r"objects\.txt:1: expected a name, a number"),
        ("attributes.txt", "red;5;color\n\n;3\n", r"attributes\.txt:3: expected a name, a number"),
        ("relations.txt", "near\n", r"relations\.txt:1: expected"),
        ("relations.txt", None, r"relations\.txt: cannot be read .*three files"),
        ("objects.txt", b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_files_that_are_not_the_release_s_are_refused(folder, file, text, error):
    path = folder / "ontology" / file
    path.unlink() if text is None else path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=error):
        read_ontology(folder / "ontology")


def test_every_answer_of_the_real_questions_is_in_the_release_s_ontology():
    ontology = read_ontology(real_folder() / "ontology")
    values = {value for values in ontology.values.values() for value in values} | set(ontology.value_synonyms)
    names = set(ontology.above) | set(ontology.synonyms)
    others = {"yes", "no", "front", "behind", "color", "material", "shape"}
    others |= {word for placed in PLACED.values() for word in placed.words}
    for file in ("train_questions.json", "dev_questions.json"):
        answers = {question["answer"] for question in real_json(file).values()}
        assert answers - names - values - others == set()
