"""Questions with other arguments: a phrase that stands in a question and in its program is replaced in both by another
of the same tags and number.

    recombined("Is the red bag on the table?", program, domain, lexicon, Random(0))
    "is the blue hat on the shelf ?" and its program
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from program_guided.language.derivation import unwrapped
from program_guided.language.domain import Domain, Text
from program_guided.language.sampler import pick
from program_guided.language.sentences import Lexicon
from program_guided.language.syntax import Argument, Call, Program, calls, map_calls

__all__ = ["recombined"]

REPLACED = 0.6
"""Probability that a phrase is replaced."""
SYNONYM = 0.15
"""Probability that a synonym of the new phrase stands in the question."""


def recombined(
    question: str, program: Program, domain: Domain, lexicon: Lexicon, random: Random
) -> tuple[str, Program]:
    """Another question of the same form, with its program."""
    sentence, phrases = lexicon.read(question), _phrases(program, domain)
    words = [word.text for word in sentence]
    otherwise = {form for word in sentence for form in word.forms if form != word.text}
    new: dict[str, str] = {}
    said: dict[str, str] = {}
    for phrase in phrases:
        others = () if phrase in otherwise else lexicon.others(phrase)
        if others and phrase in words and random.random() < REPLACED:
            new[phrase] = pick(random, others)
            known = lexicon.spoken(new[phrase])
            said[phrase] = pick(random, known) if known and random.random() < SYNONYM else new[phrase]
    if not new or len({new.get(phrase, phrase) for phrase in phrases}) < len(phrases):
        return question, program
    text = " ".join(_articles([said.get(word, word) for word in words]))
    return text, Program(map_calls(program.body, lambda call: _replaced(call, domain, new)))


def _phrases(program: Program, domain: Domain) -> list[str]:
    """The texts of a program, each once."""
    found: dict[str, None] = {}
    for call in calls(program.body):
        given = zip(domain.operation(call.operation).parameters, call.arguments, strict=True)
        found.update((unwrapped(each, str(text))[1], None) for each, text in given if isinstance(each, Text))
    return list(found)


def _replaced(call: Call, domain: Domain, new: Mapping[str, str]) -> Call:
    given = zip(domain.operation(call.operation).parameters, call.arguments, strict=True)
    arguments: list[Argument] = []
    for parameter, argument in given:
        if not isinstance(parameter, Text):
            arguments.append(argument)
            continue
        wrap, text = unwrapped(parameter, str(argument))
        text = new.get(text, text)
        arguments.append(f"{wrap}({text})" if wrap else text)
    return Call(call.operation, tuple(arguments), call.result, call.line)


def _articles(words: list[str]) -> list[str]:
    """`a` or `an`, by what follows."""
    followed = zip(words, [*words[1:], ""], strict=True)
    return [
        ("an" if after[:1] in ("a", "e", "i", "o", "u") else "a") if word in ("a", "an") else word
        for word, after in followed
    ]
