"""README is short, its links lead somewhere, and so do those of every other document."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MAX_LINES, MAX_NUMBERS = 120, 60
DOCUMENTS = sorted(
    path for place in ("*.md", "docs/*.md", "program_guided/weights/*/README.md") for path in ROOT.glob(place)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HOSTS = {"arxiv.org", "openreview.net", "cs.stanford.edu", "keepachangelog.com"}
"""Hosts that documents may link to; the project itself has none."""


def anchors(text):
    """Anchors of the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(path, text):
    """Links to files that are not in the repository, to headings that are not there, and to other hosts."""
    for link in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        target, _, anchor = link.partition("#")
        if "://" in target:
            if target.split("/")[2] not in HOSTS:
                yield link
            continue
        file = path.parent / target if target else path
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            yield link


def test_readme_is_short():
    assert len(README.splitlines()) <= MAX_LINES
    assert len(re.findall(r"\d+", README)) <= MAX_NUMBERS


def test_readme_begins_with_a_picture_a_program_and_three_commands():
    screen = README[: README.index("## Install")]
    assert screen.index("![") < screen.index("def run():") < screen.index("make demo") < screen.index("| % |")
    program = screen[screen.index("def run():") : screen.index("\n```\n", screen.index("def run():"))]
    assert len(program.splitlines()) == 6
    commands = screen[screen.index("make demo") :].partition("```")[0]
    assert len(commands.splitlines()) == 3


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    assert list(dead_links(path, path.read_text("utf-8"))) == []


def test_dead_links_are_found():
    text = (
        "[a](LICENSE) [b](NOTHING) [c](docs/language.md#the-language) [d](docs/language.md#no) [e](https://no.where/x)"
    )
    assert list(dead_links(ROOT / "README.md", text)) == ["NOTHING", "docs/language.md#no", "https://no.where/x"]


def test_every_document_is_a_page_of_the_site():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"([\w/-]+\.md)\b", nav))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= named
    assert {page for page in named if "/" not in page} <= {path.name.lower() for path in DOCUMENTS}


def test_the_gallery_is_small():
    pictures = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".gif", ".png")]
    assert sum(path.stat().st_size for path in pictures) < 1_500_000
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert set(re.findall(r"\]\(gallery/([\w.]+)\)", page)) == {
        path.name for path in (ROOT / "docs" / "gallery").iterdir()
    }
