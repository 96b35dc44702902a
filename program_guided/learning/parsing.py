"""Measures of a parser on questions whose programs are known.

figures = measure(parser, pairs, trained_on, agree)
figures["canonical"], figures["expected calibration error"], figures["coverage"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from program_guided.language.comparison import signature
from program_guided.language.derivation import normal_form
from program_guided.language.domain import Choice, Domain, Number, Text
from program_guided.language.printer import print_program
from program_guided.language.sentences import normalised, singular
from program_guided.language.syntax import Argument, Call, Program, calls, map_calls
from program_guided.learning.beam import BEAM
from program_guided.learning.codec import Pair
from program_guided.learning.intervals import interval
from program_guided.learning.parser import Parser, Reading

__all__ = ["Agreement", "calibration_error", "cause", "coverage", "measure", "relaxed", "shown", "template"]

Agreement = Callable[[Program, Program], bool | None]
"""Whether two programs have the same result; None where that cannot be said."""
BINS = 10
COVERAGES = (50, 70, 80, 90, 95, 100)
QUANTILES = (0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class _Judged:
    """A question, how it was read, and whether that is right."""

    pair: Pair
    reading: Reading
    strict: bool
    canonical: bool
    relaxed: bool
    same_result: bool | None


def measure(
    parser: Parser,
    pairs: Sequence[Pair],
    trained_on: Sequence[Pair] = (),
    agree: Agreement | None = None,
    beam: int = BEAM,
    constrained: bool = True,
    every: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """All measures, in %. `trained_on`: questions whose texts and templates are not new; `every`: list every question,
    not only those that are read wrongly."""
    domain = parser.codec.domain
    readings: list[Reading] = []
    for first in range(0, len(pairs), CHUNK):
        readings += parser.read([pair.question for pair in pairs[first : first + CHUNK]], beam, constrained)
        progress(len(readings))
    judged = [_judged(pair, reading, domain, agree) for pair, reading in zip(pairs, readings, strict=True)]
    texts = {normalised(pair.question) for pair in trained_on}
    templates = {template(pair.program, domain) for pair in trained_on}
    new = [each for each in judged if normalised(each.pair.question) not in texts]
    unseen = [each for each in judged if template(each.pair.program, domain) not in templates]
    compared = [each.same_result for each in judged if each.same_result is not None]
    sure, right = [each.reading.confidence for each in judged], [each.canonical for each in judged]
    return {
        "questions": len(pairs),
        "strict": _percent([each.strict for each in judged]),
        "canonical": _percent(right),
        "interval": _interval(judged),
        "same result": _percent(compared),
        "valid": _percent([each.reading.program is not None for each in judged]),
        "number and category ignored": _percent([each.relaxed for each in judged]),
        "new texts": _percent([each.canonical for each in new]) if texts else None,
        "unseen templates": _percent([each.canonical for each in unseen]) if templates else None,
        "counts": {"new texts": len(new), "unseen templates": len(unseen), "compared": len(compared)},
        "lengths": _by_length(judged),
        "expected calibration error": 100 * calibration_error(sure, right),
        "coverage": coverage(sure, right),
        "understood": _percent([each.reading.understood for each in judged]),
        "right of the understood": _percent([each.canonical for each in judged if each.reading.understood]),
        "causes": dict(Counter(_cause(each, domain) for each in judged if not each.canonical).most_common()),
        "wrong": [_shown(each, domain) for each in judged if not each.canonical],
        "read": [_shown(each, domain) for each in judged] if every else [],
    }


CHUNK = 512


def _judged(pair: Pair, reading: Reading, domain: Domain, agree: Agreement | None) -> _Judged:
    program = reading.program
    if program is None:
        return _Judged(pair, reading, False, False, False, None if agree is None else False)
    canonical = signature(program, domain) == signature(pair.program, domain)
    strict = canonical and normal_form(program, domain) == normal_form(pair.program, domain)
    similar = canonical or relaxed(program, domain) == relaxed(pair.program, domain)
    same = None if agree is None else agree(program, pair.program)
    return _Judged(pair, reading, strict, canonical, similar, same)


def _percent(verdicts: Sequence[bool]) -> float | None:
    return 100 * sum(verdicts) / len(verdicts) if verdicts else None


def _interval(judged: Sequence[_Judged]) -> dict[str, float] | None:
    """Canonical matches with their interval over groups: questions about one picture are correlated."""
    groups = {each.pair.group: number for number, each in enumerate(judged)}
    places = {group: number for number, group in enumerate(groups)}
    right, asked = np.zeros(len(places)), np.zeros(len(places), np.int64)
    for each in judged:
        right[places[each.pair.group]] += each.canonical
        asked[places[each.pair.group]] += 1
    return interval(right, asked) if judged else None


def _by_length(judged: Sequence[_Judged]) -> dict[str, float]:
    """% canonical by the number of words of the question, at most as many as the key."""
    lengths = [len(normalised(each.pair.question)) for each in judged]
    bounds = sorted({int(np.quantile(lengths, share, method="higher")) for share in QUANTILES}) if judged else []
    found, low = {}, 0
    for high in bounds:
        some = [each.canonical for each, length in zip(judged, lengths, strict=True) if low < length <= high]
        found[str(high)] = _percent(some) or 0.0
        low = high
    return found


def calibration_error(sure: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Guo et al., 2017), with ten bins of equal width."""
    if not sure:
        return 0.0
    confidence, correct = np.array(sure), np.array(right, float)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == each].sum() - correct[bins == each].sum()) for each in range(BINS)]
    return float(sum(gaps) / len(confidence))


def coverage(sure: Sequence[float], right: Sequence[bool]) -> dict[str, float]:
    """% right of the surest questions, by the % that these are of all."""
    order = np.argsort(-np.array(sure), kind="stable")
    verdicts = np.array(right, float)[order]
    kept = {share: max(1, round(share * len(verdicts) / 100)) for share in COVERAGES}
    return {str(share): float(100 * verdicts[:count].mean()) for share, count in kept.items()} if len(order) else {}


def template(program: Program, domain: Domain) -> tuple[str, ...]:
    """The program without its arguments."""
    return signature(Program(map_calls(program.body, lambda call: _blanked(call, domain))), domain)


def _blanked(call: Call, domain: Domain) -> Call:
    arguments: list[Argument] = []
    for parameter, argument in zip(domain.operation(call.operation).parameters, call.arguments, strict=True):
        is_text = isinstance(argument, str | int) and isinstance(parameter, Text | Choice | Number)
        arguments.append("_" if is_text else argument)
    return Call(call.operation, tuple(arguments), call.result)


def relaxed(program: Program, domain: Domain) -> tuple[str, ...]:
    """The program without the number of nouns and the categories of operations, which a question may not show."""
    plain = Program(map_calls(program.body, _singular))
    return signature(plain, domain, lambda call: domain.words_of(call)[0])


def cause(program: Program, other: Program, domain: Domain) -> str:
    """The first respect in which two programs differ."""
    if relaxed(program, domain) == relaxed(other, domain):
        same = [call.operation for call in calls(program.body)] == [call.operation for call in calls(other.body)]
        return "number" if same else "category"
    one, two = (Counter(domain.words_of(call)[0] for call in calls(each.body)) for each in (program, other))
    if one != two:
        return "operations"
    if template(program, domain) != template(other, domain):
        return "structure"
    texts = [sorted(str(word) for call in calls(each.body) for word in call.words) for each in (program, other)]
    return "attachment" if texts[0] == texts[1] else "argument"


def _cause(judged: _Judged, domain: Domain) -> str:
    program = judged.reading.program
    return "no program" if program is None else cause(program, judged.pair.program, domain)


def _shown(judged: _Judged, domain: Domain) -> dict[str, Any]:
    program = judged.reading.program
    return {
        "question": judged.pair.question,
        "right": judged.canonical,
        "understood": judged.reading.understood,
        "confidence": judged.reading.confidence,
        "read": None if program is None else shown(program, domain),
        "meant": shown(judged.pair.program, domain),
        "unknown": dict(judged.reading.unknown),
    }


def shown(program: Program, domain: Domain) -> str:
    """A program in one line."""
    lines = print_program(normal_form(program, domain), domain).splitlines()
    return "; ".join(line for line in lines if not line.startswith("def "))


def _singular(call: Call) -> Call:
    arguments = (singular(each) if isinstance(each, str) else each for each in call.arguments)
    return Call(call.operation, tuple(arguments), call.result)
