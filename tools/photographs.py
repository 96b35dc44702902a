"""Draws docs/photographs.md: programs executed on photographs of dev, six answered rightly and six wrongly.

python tools/photographs.py ROOT EXECUTOR

ROOT and EXECUTOR are those of `proto experiment pictures`. The questions are the first of each kind, by the numbers of
pictures, one of each picture and of each operation that answers; they are not chosen by hand.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from program_guided.errors import DataError
from program_guided.language.vocabulary import Vocabulary
from program_guided.tasks.executor import check_words
from program_guided.tasks.visual.domain import DOMAIN, program_of
from program_guided.tasks.visual.photographs.executor import PhotographExecutor
from program_guided.tasks.visual.reasoner import Reasoning

DOCS = Path(__file__).parents[1] / "docs"
EACH, LARGEST = 6, 60_000
HEAD = """# Photographs

Questions about photographs of dev, answered by the executor alone that `proto experiment pictures` keeps: the first
that are answered rightly and the first that are not, one of each picture and of each operation that answers (drawn by
`python tools/photographs.py`). A box is a part that a routine points at, a number a probability or share of attention.
Questions and annotations: GQA, CC BY 4.0; photographs: from Flickr by way of Visual Genome, CC BY 4.0.
"""


def reasonings(root: Path, executor: PhotographExecutor) -> Iterator[tuple[dict[str, Any], Reasoning]]:
    """Questions of dev in the order of their pictures, and how they are answered."""
    questions = json.loads((root / "dev_questions.json").read_text("utf-8"))
    seen = set[tuple[str, str]]()
    for question in sorted(questions.values(), key=lambda each: (each["imageId"], each["question"])):
        kind = question["imageId"], question["semantic"][-1]["operation"]
        if kind in seen:
            continue
        seen.add(kind)
        program = program_of(question["semantic"])
        try:
            check_words(program, Vocabulary(executor.words), DOMAIN)
        except DataError:
            continue  # a word that train does not have
        yield question, executor.run(program, root / "images" / f"{question['imageId']}.jpg")


def chosen(root: Path, executor: PhotographExecutor) -> list[tuple[dict[str, Any], Reasoning, bool]]:
    """As many right answers as wrong ones."""
    taken: dict[bool, list[tuple[dict[str, Any], Reasoning, bool]]] = {True: [], False: []}
    pictures, operations = set[str](), set[tuple[str, bool]]()
    for question, reasoning in reasonings(root, executor):
        right, operation = reasoning.answer == question["answer"], question["semantic"][-1]["operation"]
        if question["imageId"] in pictures or (operation, right) in operations or len(taken[right]) == EACH:
            continue
        pictures.add(question["imageId"])
        operations.add((operation, right))
        taken[right].append((question, reasoning, right))
        if all(len(each) == EACH for each in taken.values()):
            break
    return taken[True] + taken[False]


def compressed(picture: Image.Image) -> bytes:
    """A JPEG of at most `LARGEST` bytes."""
    for quality in range(80, 10, -5):
        data = io.BytesIO()
        picture.convert("RGB").save(data, "JPEG", quality=quality, optimize=True)
        if data.tell() <= LARGEST:
            break
    return data.getvalue()


def main() -> None:
    """Write the page and its pictures."""
    root, agent = map(Path, sys.argv[1:])
    parts, folder = [HEAD], DOCS / "photographs"
    folder.mkdir(exist_ok=True)
    for number, (question, reasoning, right) in enumerate(chosen(root, PhotographExecutor.load(agent)), 1):
        name = f"{number:02d}.jpg"
        verdict = "right" if right else f"wrong: {question['answer']}"
        (folder / name).write_bytes(
            compressed(reasoning.picture(f"{question['question']}  {reasoning.answer} ({verdict})"))
        )
        parts.append(f"![{question['question']} {reasoning.answer}, {verdict}](photographs/{name})\n")
    (DOCS / "photographs.md").write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
