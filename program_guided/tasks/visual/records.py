"""A question of the embedded world as the release writes questions and choices.

Departures from the paper: none; ids stand in brackets behind what was selected, as in the release, for readers to drop.

    question_record(asked)["semantic"][0] == {"operation": "select", "dependencies": [], "argument": "bag (7)"}
"""

from __future__ import annotations

import re
from typing import Any

from program_guided.language.syntax import calls
from program_guided.tasks.visual.concepts import parent_of
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS, semantic_of
from program_guided.tasks.visual.oracle import SCENE
from program_guided.tasks.visual.phrases import full_answer, question_text
from program_guided.tasks.visual.questions import Asked, possible_answers
from program_guided.tasks.visual.vocabulary import NAMES

__all__ = ["choices_record", "question_record"]

STRUCTURAL = {
    "query": "query",
    "verify": "verify",
    "exist": "verify",
    "choose": "choose",
    "and": "logical",
    "or": "logical",
    "same": "compare",
    "different": "compare",
    "common": "compare",
}


def question_record(asked: Asked) -> dict[str, Any]:
    """The record of the questions file."""
    semantic, text = _semantic_with_ids(asked), question_text(asked.program)
    texts = [
        f"{step['operation']}: {step['argument']}"
        + (f" [{', '.join(map(str, step['dependencies']))}]" if step["dependencies"] else "")
        for step in semantic
    ]
    return {
        "semantic": semantic,
        "semanticStr": "->".join(texts),
        "question": text,
        "imageId": asked.image_id,
        "answer": asked.answer,
        "fullAnswer": full_answer(asked.program, asked.answer),
        "isBalanced": asked.balanced,
        "groups": {"global": _global_group(asked), "local": re.sub(r" \([^()]*\)", "", texts[-1])},
        "entailed": list(asked.entailed),
        "equivalent": [asked.key],
        "types": _types(asked),
        "annotations": {"question": _words_of_objects(asked, text), "answer": _answer_object(asked), "fullAnswer": {}},
    }


def choices_record(asked: Asked) -> dict[str, list[str]]:
    """The record of the choices file: where a name is asked, any is valid, those of the right kind are plausible."""
    possible = list(possible_answers(asked.program))
    last = tuple(calls(asked.program.body))[-1]
    name_asked = last.operation == "query" and last.words == ("name",)
    return {"valid": list(NAMES) if name_asked else possible, "plausible": possible}


def _semantic_with_ids(asked: Asked) -> list[dict[str, Any]]:
    semantic = semantic_of(asked.program)
    for step, result in zip(semantic, asked.results, strict=True):
        if step["operation"] in ("select", "relate") and isinstance(result.value, tuple) and result.value != (SCENE,):
            step["argument"] += f" ({','.join(result.value) or '-'})"
    return semantic


def _types(asked: Asked) -> dict[str, str]:
    steps = tuple(calls(asked.program.body))
    rows = [ROWS[call.operation] for call in steps]
    last = rows[-1]
    compared = last.family == "choose" and last.category in COMPARATIVES
    return {
        "structural": "compare" if compared else STRUCTURAL[last.family],
        "semantic": _semantic_type(asked),
        "detailed": asked.template,
    }


def _semantic_type(asked: Asked) -> str:
    steps = tuple(calls(asked.program.body))
    rows = [ROWS[call.operation] for call in steps]
    if steps[0].words == (SCENE,):
        return "global"
    if any(row.family == "relate" or row.category == "rel" for row in rows):
        return "rel"
    if rows[-1].family == "exist":
        return "obj"
    return "cat" if rows[-1].category == "name" or steps[-1].words == ("name",) else "attr"


def _global_group(asked: Asked) -> str | None:
    """What an open question, or a choice, is about; yes and no have no group."""
    last = tuple(calls(asked.program.body))[-1]
    row = ROWS[last.operation]
    if row.family not in ("query", "choose"):
        return None
    category = str(last.words[0]) if row.family == "query" else row.category
    return parent_of(asked.answer) if category == "name" else category or None


def _answer_object(asked: Asked) -> dict[str, str]:
    last = tuple(calls(asked.program.body))[-1]
    if last.words != ("name",):
        return {}
    named = asked.results[last.inputs[0]].value
    return {"0": named[0]} if isinstance(named, tuple) else {}


def _words_of_objects(asked: Asked, text: str) -> dict[str, str]:
    """Number of a word of the question -> the object it means, where it means one."""
    words = re.sub(r"[?,]", "", text).split()
    found: dict[str, str] = {}
    for call, result in zip(calls(asked.program.body), asked.results, strict=True):
        ids = result.value
        if ROWS[call.operation].family not in ("select", "relate") or not isinstance(ids, tuple) or len(ids) != 1:
            continue
        noun = str(call.words[0]).split()[-1]
        if noun in words and ids != (SCENE,):
            found[str(words.index(noun))] = ids[0]
    return found
