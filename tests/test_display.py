"""Programs, tables, worlds, executions and reasonings show themselves in notebooks."""

import base64
import re
import subprocess
import sys
from html import unescape
from io import BytesIO

import pytest
from PIL import Image

import program_guided
from program_guided.language import compile_program, parse, print_program
from program_guided.language.display import highlighted, html_table
from program_guided.tasks.executor import Execution, Finding, WorldRun, WorldStep
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.environment import MinecraftEnv
from program_guided.tasks.visual.domain import parse_visual

WORLD = "if is_there[river]:\n  build_bridge()\nwhile env[gold] > 0:\n  mine(gold)"
PICTURE = 'bag = select(bag)\nnear = relate(bag, person, "to the left of", subject)\nfilter_color(near, "not(red)")'
PNG = b"\x89PNG\r\n\x1a\n"

pytestmark = pytest.mark.usefixtures("one_thread")


def text_of(html):
    return unescape(re.sub(r"<[^>]*>", "", html))


def test_a_program_without_its_domain_is_printed_so_that_the_domain_reads_it():
    assert parse(print_program(parse(WORLD, DOMAIN)), DOMAIN) == parse(WORLD, DOMAIN)
    assert parse_visual(print_program(parse_visual(PICTURE))) == parse_visual(PICTURE)
    shown = print_program(parse(WORLD, DOMAIN))
    assert "env[gold] > 0" in shown
    assert "mine(gold)" in shown
    assert '"not(red)"' in print_program(parse_visual(PICTURE)), "any argument may take a result of a call"


def test_a_program_shows_its_text_with_coloured_words():
    program = parse(WORLD, DOMAIN)
    html = program._repr_html_()
    assert text_of(html) == print_program(program)
    for kind in ("if", "while", "mine", "gold", "0"):
        assert re.search(rf'<span style="color:#\w+">{kind}</span>', html), kind
    assert len(set(re.findall(r'span style="color:(#\w+)"', html))) == 4


def test_html_is_escaped():
    assert highlighted('f("<b>")') == highlighted("f(") + '<span style="color:#8fd694">&quot;&lt;b&gt;&quot;</span>)'
    assert "<b>" not in html_table(["<b>"], [["<b>"]])


def test_a_routine_table_shows_which_routine_follows_which():
    table = compile_program(parse(WORLD, DOMAIN), DOMAIN)
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table._repr_html_().split("<tr>")[2:]]
    assert [[text_of(cell) for cell in row] for row in rows] == [
        ["0", "is_there[river]", "1", "2", ""],
        ["1", "build_bridge()", "2", "", "0"],
        ["2", "env[gold] > 0", "3", "end", "0, 1, 3"],
        ["3", "mine(gold)", "2", "", "2"],
    ]


def test_an_execution_in_the_world_is_an_animation_and_each_moment_a_picture():
    execution = program_guided.load("minecraft").run("mine(gold)", seed=2)
    (encoded,) = re.findall(r'src="data:image/gif;base64,([^"]+)"', execution._repr_html_())
    animation = Image.open(BytesIO(base64.b64decode(encoded)))
    assert animation.n_frames == len(execution)
    picture = execution[0]._repr_png_()
    assert picture.startswith(PNG)
    assert Image.open(BytesIO(picture)).size == animation.size
    environment = MinecraftEnv()
    environment.reset(seed=0)
    assert environment._repr_png_().startswith(PNG)


def test_a_reasoning_and_its_scene_are_pictures():
    reasoning = program_guided.load("visual").run("bag = select(bag)\nexist(bag)", seed=875)
    shown = Image.open(BytesIO(reasoning._repr_png_()))
    assert shown.size == reasoning.picture().size
    assert Image.open(BytesIO(reasoning.scene._repr_png_())).size == (reasoning.scene.width, reasoning.scene.height)


def test_executions_of_one_s_own_tasks_are_tables():
    html = Execution((Finding(2, "count([1])", "3", 0.97, "4", False),), 3, 4, "4", False)._repr_html_()
    assert [text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)] == ["count([1])", "3", "0.97", "4"]
    html = WorldRun((WorldStep(1, "visit(red)", "up"),), "finished", None)._repr_html_()
    shown = [text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)]
    assert shown == ["1", "visit(red)", "up", "", "finished", ""]


def test_display_of_the_language_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['proto']; import program_guided.language.display; "
        "print({'torch', 'PIL', 'numba', 'matplotlib', 'rich'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
