"""Programs in English: the question that a program answers, and the sentence that its answer makes.

Departures from the paper: its questions come first and programs are read off them; in the embedded world it is the
other way round, so that every program has a text.

    question_text(parse_visual("select(bag)\\nfilter_color(red)\\nexist()")) == "Is there a red bag in the picture?"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from program_guided.language.syntax import Call, Program, flatten
from program_guided.tasks.visual.domain import COMPARATIVES, ROWS, negated

__all__ = ["full_answer", "question_text"]

COUNTABLE = {
    "clothing": "piece of clothing",
    "furniture": "piece of furniture",
    "food": "piece of food",
    "fast food": "piece of fast food",
    "broccoli": "piece of broccoli",
    "fries": "portion of fries",
    "_": "thing",
}
"""Name -> countable noun phrase, for names that cannot follow `a`."""
POSITIONS = {
    "hposition": {"left": "on the left", "right": "on the right", "middle": "between left and right"},
    "vposition": {"top": "at the top", "bottom": "at the bottom", "middle": "at half height"},
}
SCENE_QUESTIONS = {"place": "Which place is it?", "weather": "How is the weather?", "location": "Is it indoors or not?"}
POSITION_QUESTIONS = {"hposition": "On which side of the picture is {}?", "vposition": "How high in the picture is {}?"}
SCENE = "scene"


@dataclass(frozen=True)
class _Noun:
    """A noun phrase: the name, its premodifiers and its postmodifiers."""

    name: str
    before: str = ""
    after: str = ""

    @property
    def bare(self) -> str:
        return f"{self.before}{COUNTABLE.get(self.name, self.name)}{self.after}"

    @property
    def the(self) -> str:
        return f"the {self.bare}"

    @property
    def a(self) -> str:
        return _a(self.bare)


def question_text(program: Program) -> str:
    """The question in English."""
    steps = list(flatten(program.body))
    text = _QUESTIONS[ROWS[steps[-1].operation].family](steps, len(steps) - 1)
    return text[0].upper() + text[1:]


def full_answer(program: Program, answer: str) -> str:
    """The answer as a sentence."""
    steps = list(flatten(program.body))
    if answer in ("yes", "no"):
        statement = _statement(steps, len(steps) - 1)
        return f"Yes, {statement}." if answer == "yes" else f"No, it is not so that {statement}."
    return f"It is {answer}."


def _a(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _noun(steps: Sequence[Call], at: int) -> _Noun:
    """Noun phrase for the result of an Objects routine."""
    call = steps[at]
    row, words = ROWS[call.operation], [str(word) for word in call.words]
    if row.family == "select":
        return _Noun(words[0])
    noun = _noun(steps, call.inputs[0])
    return _related(words, noun) if row.family == "relate" else _filtered(row.category, words[0], noun)


def _filtered(category: str, word: str, noun: _Noun) -> _Noun:
    is_negated, value = negated(word)
    if category in POSITIONS:
        return replace(noun, after=f"{noun.after} {POSITIONS[category][value]}")
    if is_negated:
        return replace(noun, after=f"{noun.after} that is not {value}")
    return replace(noun, before=f"{value} {noun.before}")


def _related(words: Sequence[str], other: _Noun) -> _Noun:
    name, relation, role = words
    ends = {
        "subject": f" that is {relation} {other.the}",
        "object": f" that {other.the} is {relation}",
        "either": f" of the {relation} as {other.the}",
        "unsaid": f" of the {relation} as {other.the}",
    }
    return _Noun(name, after=ends[role])


def _the(steps: Sequence[Call], at: int, number: int = 0) -> str:
    noun = _noun(steps, steps[at].inputs[number])
    return "it" if noun.name == SCENE else noun.the


def _query(steps: Sequence[Call], at: int) -> str:
    category, noun = str(steps[at].words[0]), _the(steps, at)
    if noun == "it":
        return SCENE_QUESTIONS[category]
    if category in POSITION_QUESTIONS:
        return POSITION_QUESTIONS[category].format(noun)
    return f"what is the {category} of {noun}?"


def _choose(steps: Sequence[Call], at: int) -> str:
    call, category = steps[at], ROWS[steps[at].operation].category
    words = [str(word) for word in call.words]
    if category in COMPARATIVES:
        return f"which is {category}, {_the(steps, at, 0)} or {_the(steps, at, 1)}?"
    if category == "rel":
        name, first, second, role = words
        ends = (_Noun(name).the, _the(steps, at))
        subject, other = ends if role == "subject" else ends[::-1]
        return f"is {subject} {first} or {second} {other}?"
    if category == "name":
        words = [_Noun(word).a for word in words]
    words = [POSITIONS[category][word] for word in words] if category in POSITIONS else words
    return f"is {_the(steps, at)} {words[0]} or {words[1]}?"


def _common(steps: Sequence[Call], at: int) -> str:
    return f"what do {_the(steps, at, 0)} and {_the(steps, at, 1)} have in common?"


def _boolean(steps: Sequence[Call], at: int) -> str:
    """Turn a statement into a question: `the bag is red` -> `is the bag red?`"""
    row, call = ROWS[steps[at].operation], steps[at]
    if row.family == "exist":
        return f"is there {_noun(steps, call.inputs[0]).a} in the picture?"
    if row.family == "verify" and row.category != "rel":
        return f"is {_the(steps, at)} {_value(row.category, str(call.words[0]))}?"
    return f"is it so that {_statement(steps, at)}?"


def _statement(steps: Sequence[Call], at: int) -> str:
    return _STATEMENTS[ROWS[steps[at].operation].family](steps, at)


def _state_exist(steps: Sequence[Call], at: int) -> str:
    return f"there is {_noun(steps, steps[at].inputs[0]).a} in the picture"


def _state_verify(steps: Sequence[Call], at: int) -> str:
    category, words = ROWS[steps[at].operation].category, [str(word) for word in steps[at].words]
    if category != "rel":
        return f"{_the(steps, at)} is {_value(category, words[0])}"
    name, relation, role = words
    ends = (_Noun(name).a, _the(steps, at))
    subject, other = ends if role == "subject" else ends[::-1]
    return f"{subject} is {relation} {other}"


def _state_same(steps: Sequence[Call], at: int) -> str:
    row, call = ROWS[steps[at].operation], steps[at]
    if row.category:
        return f"{_the(steps, at, 0)} and {_the(steps, at, 1)} have {_article(row.family)} {row.category}"
    noun = _noun(steps, call.inputs[0])
    verdict = "the same" if row.family == "same" else "not the same"
    return f"the {call.words[0]} of every {noun.bare} is {verdict}"


def _article(family: str) -> str:
    return "the same" if family == "same" else "a different"


def _state_both(steps: Sequence[Call], at: int) -> str:
    first, second = (_statement(steps, number) for number in steps[at].inputs)
    many = any(steps[number].operation in ("and", "or") for number in steps[at].inputs)
    return f"{first}{',' * many} {steps[at].operation} {second}"


def _value(category: str, word: str) -> str:
    is_negated, value = negated(word)
    return ("not " if is_negated else "") + (POSITIONS[category][value] if category in POSITIONS else value)


Phrase = Callable[[Sequence[Call], int], str]
_STATEMENTS: dict[str, Phrase] = {
    "exist": _state_exist,
    "verify": _state_verify,
    "same": _state_same,
    "different": _state_same,
    "and": _state_both,
    "or": _state_both,
}
_QUESTIONS: dict[str, Phrase] = {
    "query": _query,
    "choose": _choose,
    "common": _common,
    **dict.fromkeys(_STATEMENTS, _boolean),
}
