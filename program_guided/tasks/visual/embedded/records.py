"""A question of the embedded world as the release writes questions and choices.

Departures from the paper: none; ids are in brackets behind the names of `select` and `relate`, as in the release.

    question_record(question)["semantic"][0] == {"operation": "select", "dependencies": [], "argument": "bag (7)"}
"""

from __future__ import annotations

import re
from typing import Any

from program_guided.language.syntax import flatten
from program_guided.tasks.visual.domain import ROWS, semantic_of
from program_guided.tasks.visual.embedded.phrases import full_answer, question_text
from program_guided.tasks.visual.embedded.questions import Asked, possible_answers
from program_guided.tasks.visual.embedded.vocabulary import NAMES
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import SCENE

__all__ = ["choices_record", "question_record"]


def question_record(question: Asked) -> dict[str, Any]:
    """The record of the questions file."""
    semantic, text = _semantic_with_ids(question), question_text(question.program)
    texts = [
        f"{step['operation']}: {step['argument']}"
        + (f" [{', '.join(map(str, step['dependencies']))}]" if step["dependencies"] else "")
        for step in semantic
    ]
    return {
        "semantic": semantic,
        "semanticStr": "->".join(texts),
        "question": text,
        "imageId": question.image_id,
        "answer": question.answer,
        "fullAnswer": full_answer(question.program, question.answer),
        "isBalanced": question.balanced,
        "groups": {"global": _global_group(question), "local": re.sub(r" \([^()]*\)", "", texts[-1])},
        "entailed": list(question.entailed),
        "equivalent": [question.key],
        "types": _types(question),
        "annotations": {
            "question": _words_of_objects(question, text),
            "answer": _answer_object(question),
            "fullAnswer": {},
        },
    }


def choices_record(question: Asked) -> dict[str, list[str]]:
    """The record of the choices file; if the answer is a name, all are valid and those of the kind are plausible."""
    possible = list(possible_answers(question.program))
    last = flatten(question.program.body)[-1]
    is_name = last.operation == "query" and last.words == ("name",)
    return {"valid": list(NAMES) if is_name else possible, "plausible": possible}


def _semantic_with_ids(question: Asked) -> list[dict[str, Any]]:
    semantic = semantic_of(question.program)
    for step, result in zip(semantic, question.results, strict=True):
        if step["operation"] in ("select", "relate") and isinstance(result.value, tuple) and result.value != (SCENE,):
            step["argument"] += f" ({','.join(result.value) or '-'})"
    return semantic


def _types(question: Asked) -> dict[str, str]:
    last = flatten(question.program.body)[-1]
    return {
        "structural": ROWS[last.operation].structural,
        "semantic": _semantic_type(question),
        "detailed": question.template,
    }


def _semantic_type(question: Asked) -> str:
    steps = flatten(question.program.body)
    rows = [ROWS[call.operation] for call in steps]
    if steps[0].words == (SCENE,):
        return "global"
    if any(row.family == "relate" or row.category == "rel" for row in rows):
        return "rel"
    if rows[-1].family == "exist":
        return "obj"
    return "cat" if rows[-1].category == "name" or steps[-1].words == ("name",) else "attr"


def _global_group(question: Asked) -> str | None:
    """Category of the answer to a query or a choice; other questions have no group."""
    last = flatten(question.program.body)[-1]
    row = ROWS[last.operation]
    if row.family not in ("query", "choose"):
        return None
    category = str(last.words[0]) if row.family == "query" else row.category
    return BUILT_IN.parent_of(question.answer) if category == "name" else category or None


def _answer_object(question: Asked) -> dict[str, str]:
    last = flatten(question.program.body)[-1]
    if last.words != ("name",):
        return {}
    named = question.results[last.inputs[0]].value
    return {"0": named[0]} if isinstance(named, tuple) else {}


def _words_of_objects(question: Asked, text: str) -> dict[str, str]:
    """Position of a word in the question -> id of the object, for words that refer to exactly one."""
    words = re.sub(r"[?,]", "", text).split()
    found: dict[str, str] = {}
    for call, result in zip(flatten(question.program.body), question.results, strict=True):
        ids = result.value
        if ROWS[call.operation].family not in ("select", "relate") or not isinstance(ids, tuple) or len(ids) != 1:
            continue
        noun = str(call.words[0]).split()[-1]
        if noun in words and ids != (SCENE,):
            found[str(words.index(noun))] = ids[0]
    return found
