"""Entailment: programs whose answers follow from an answered question.

Departures from the paper: it takes the release's lists; the embedded world derives its own from the last routine.

    entailed_programs(parse_visual("select(bag)\\nquery(color)"), "red")        select(bag), verify_color(red)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from program_guided.language.syntax import Program, flatten
from program_guided.tasks.visual.concepts import CONVERSE
from program_guided.tasks.visual.domain import ROWS, canonical, routine, with_words
from program_guided.tasks.visual.embedded.references import Steps, extend, moved

__all__ = ["entailed_programs"]


def entailed_programs(program: Program, answer: str) -> list[Program]:
    """Programs whose answers follow from the answer to this one."""
    steps = flatten(program.body)
    rule = _RULES.get(ROWS[steps[-1].operation].family)
    return [canonical(Program(each)) for each in rule(steps, answer)] if rule else []


def _replaced(steps: Steps, operation: str, *words: str) -> Steps:
    """The same program with another last routine."""
    return (*steps[:-1], routine(operation, words, steps[-1].inputs))


def _named(family: str, category: str) -> str | None:
    """Operation of a family for a category, if there is one."""
    return next((name for name, row in ROWS.items() if (row.family, row.category) == (family, category)), None)


def _query(steps: Steps, answer: str) -> Iterator[Steps]:
    category = str(steps[-1].words[0])
    if category == "name":
        before = steps[-2]
        if ROWS[before.operation].family == "relate":
            named = with_words(before, (answer, *before.words[1:]))
            yield extend((*steps[:-2], named), "exist")
    elif (verify := _named("verify", category)) is not None:
        yield _replaced(steps, verify, answer)


def _verify(steps: Steps, answer: str) -> Iterator[Steps]:
    row, call = ROWS[steps[-1].operation], steps[-1]
    if answer != "yes":
        return
    if row.category == "rel":
        yield extend((*steps[:-1], routine("relate", call.words, call.inputs)), "exist")
    elif row.category:
        yield _replaced(steps, "query", row.category)


def _choose(steps: Steps, answer: str) -> Iterator[Steps]:
    row, words = ROWS[steps[-1].operation], [str(word) for word in steps[-1].words]
    verify = _named("verify", row.category) if row.category else "verify"
    if row.category == "rel":
        name, *options, role = words
        for option in options:
            yield _replaced(steps, "verify_rel", name, option, role)
    elif verify is not None and words:
        for option in words:
            yield _replaced(steps, verify, option)
    elif row.category in CONVERSE:
        yield _replaced(steps, f"choose_{CONVERSE[row.category].replace(' ', '_')}")


def _exist(steps: Steps, answer: str) -> Iterator[Steps]:
    """Drop a filter: if there is a red bag, there is a bag."""
    if answer == "yes" and ROWS[steps[-2].operation].family == "filter":
        yield extend(steps[:-2], "exist")


def _both(steps: Steps, answer: str) -> Iterator[Steps]:
    """Split a true `and` or a false `or`, which determine both operands."""
    if answer == {"and": "yes", "or": "no"}[steps[-1].operation]:
        first, second = steps[-1].inputs
        yield steps[: first + 1]
        shift = first + 1
        yield moved(steps[shift : second + 1], -shift)


def _same(steps: Steps, answer: str) -> Iterator[Steps]:
    row = ROWS[steps[-1].operation]
    other = _named("different" if row.family == "same" else "same", row.category)
    if other is not None:
        yield _replaced(steps, other, *map(str, steps[-1].words))


def _common(steps: Steps, answer: str) -> Iterator[Steps]:
    yield _replaced(steps, f"same_{answer}")


_RULES: dict[str, Callable[[Steps, str], Iterator[Steps]]] = {
    "query": _query,
    "verify": _verify,
    "choose": _choose,
    "exist": _exist,
    "and": _both,
    "or": _both,
    "same": _same,
    "different": _same,
    "common": _common,
}
