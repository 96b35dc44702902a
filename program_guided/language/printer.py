"""Syntax tree -> the one canonical spelling; `parse(print_program(t)) == t`.

    def run():
      if is_there[river]:
        mine(wood)

is what a program looks like. Lengths are counted in this spelling too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from program_guided.language.domain import Domain
from program_guided.language.syntax import Block, Call, If, Program, While, Word, calls

__all__ = ["count_control", "count_tokens", "print_call", "print_program"]

INDENT = "  "
COMPARATORS = ("==", ">=", "<=", "<", ">")
PHRASE = r'[^\s,()\[\]:;"#<>=≥≤](?:[^,()\[\]:;"#<>=≥≤]*[^\s,()\[\]:;"#<>=≥≤])?'
PLAIN = re.compile(rf"{PHRASE}(?:\({PHRASE}\))?")
"""What the grammar reads as one argument without quotes."""


def print_program(program: Program, domain: Domain) -> str:
    """The program's text, ending with a newline."""
    names = [call.result for call in calls(program.body)]
    header = [f"def {domain.header}():"] if domain.header else []
    lines = header + list(_lines(program.body, domain, names, len(header)))
    return "\n".join(lines) + "\n"


def print_call(call: Call, domain: Domain, names: list[str | None] | None = None) -> str:
    """One routine; with `names` (of all calls) its inputs and its result's name too."""
    operation = domain.operation(call.operation)
    words = [_print_word(word, names or (), bare=operation.lookup) for word in call.words]
    if operation.lookup:
        return " ".join([f"{call.operation}[{words[0]}]", *words[1:]])
    inputs = [_print_input(number, names) for number in call.inputs] if names is not None else []
    text = f"{call.operation}({', '.join(inputs[:1] + words + inputs[1:])})"
    return f"{call.result} = {text}" if call.result and names is not None else text


def count_tokens(program: Program, domain: Domain) -> int:
    """Length as the papers count it: every bracket, comma and colon is a token."""
    return len(re.findall(r"\w+|[<>=]+|[^\w\s]", print_program(program, domain)))


def count_control(block: Block) -> int:
    """How many `if`, `elif` and `while` stand below a block."""
    total = 0
    for node in block:
        if isinstance(node, If):
            bodies = [body for _, body in node.branches]
            total += len(bodies) + sum(map(count_control, bodies)) + count_control(node.otherwise)
        elif not isinstance(node, Call):
            total += isinstance(node, While) + count_control(node.body)
    return total


def _lines(block: Block, domain: Domain, names: list[str | None], depth: int) -> Iterator[str]:
    indent = INDENT * depth
    for node in block:
        if isinstance(node, Call):
            yield indent + print_call(node, domain, names)
        elif isinstance(node, If):
            for number, (condition, body) in enumerate(node.branches):
                yield f"{indent}{'elif' if number else 'if'} {print_call(condition, domain)}:"
                yield from _lines(body, domain, names, depth + 1)
            if node.otherwise:
                yield f"{indent}else:"
                yield from _lines(node.otherwise, domain, names, depth + 1)
        else:
            opening = (
                f"while {print_call(node.condition, domain)}" if isinstance(node, While) else f"loop({node.times})"
            )
            yield f"{indent}{opening}:"
            yield from _lines(node.body, domain, names, depth + 1)


def _print_input(number: int, names: list[str | None]) -> str:
    """The result's name, unless a later result took the same name or it has none."""
    name = names[number]
    return name if name and names.count(name) == 1 else f"[{number + 1}]"


def _print_word(word: Word, names: Sequence[str | None], bare: bool) -> str:
    """A word as it is where that can only be read as this word, else in quotes; `bare`: comparisons stand alone."""
    text = str(word)
    if (PLAIN.fullmatch(text) and text.lower() not in names) or (bare and text in COMPARATORS):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
