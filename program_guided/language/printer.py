"""Syntax tree -> the one canonical spelling; `parse(print_program(t)) == t`. Lengths are counted in this spelling too.

def run():
  n = count(gold)
  while less(carried(gold), n):
    mine(gold)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from program_guided.language.domain import Domain, Input, Operation, Parameter
from program_guided.language.syntax import Argument, Block, Call, If, Loop, Node, Program, Ref, While, Word, calls

__all__ = ["count_control", "count_tokens", "print_call", "print_program", "relined"]

INDENT = "  "
COMPARATORS = ("==", ">=", "<=", "<", ">")
PHRASE = r'[^\s,()\[\]:;"#<>=≥≤](?:[^,()\[\]:;"#<>=≥≤]*[^\s,()\[\]:;"#<>=≥≤])?'
PLAIN = re.compile(rf"{PHRASE}(?:\({PHRASE}\))?")
"""Text that the grammar reads as one argument without quotes."""

Names = Sequence[str | None]
"""The names of all results of a program, by the numbers of their calls."""


def print_program(program: Program, domain: Domain | None = None) -> str:
    """The program's text, ending with a newline; without its domain, still a spelling that the domain reads."""
    names = [call.result for call in calls(program.body)]
    domain = domain or _implied_domain(program)
    header = [f"def {domain.header}():"] if domain.header else []
    lines = header + list(_lines(program.body, domain, names, len(header)))
    return "\n".join(lines) + "\n"


def print_call(call: Call, domain: Domain, names: Names | None = None) -> str:
    """The text of one routine; with `names` (of all calls), inputs and its own result are printed by name."""
    text = _print_call(call, domain, names or ())
    return f"{call.result} = {text}" if call.result and names is not None else text


def count_tokens(program: Program, domain: Domain) -> int:
    """Number of tokens as the papers count them: every bracket, comma and colon is one."""
    return len(re.findall(r"\w+|[<>=]+|[^\w\s]", print_program(program, domain)))


def count_control(block: Block) -> int:
    """Number of `if`, `elif` and `while` below a block."""
    total = 0
    for node in block:
        if isinstance(node, If):
            bodies = [body for _, body in node.branches]
            total += len(bodies) + sum(map(count_control, bodies)) + count_control(node.otherwise)
        elif not isinstance(node, Call):
            total += isinstance(node, While) + count_control(node.body)
    return total


def relined(program: Program, domain: Domain) -> Program:
    """The same program with the line numbers of its canonical spelling, without printing and parsing it again."""
    body, _ = _relined(program.body, 1 + bool(domain.header))
    return Program(body)


def _implied_domain(program: Program) -> Domain:
    """The operations of a program, as far as it shows them: any argument may be a result, comparisons are lookups."""
    operations = {
        call.operation: Operation(
            call.operation, (Input("argument", "any"),) * len(call.arguments), lookup=len(call.arguments) > 1
        )
        for call in calls(program.body)
    }
    return Domain("implied", 1, tuple(operations.values()))


def _relined(block: Block, line: int) -> tuple[Block, int]:
    """A block renumbered from a line on, and the line after it."""
    nodes: list[Node] = []
    for node in block:
        if isinstance(node, Call):
            nodes.append(_at(node, line))
            line += 1
        elif isinstance(node, If):
            branches = []
            for condition, body in node.branches:
                inner, after = _relined(body, line + 1)
                branches.append((_at(condition, line), inner))
                line = after
            otherwise, line = _relined(node.otherwise, line + 1) if node.otherwise else ((), line)
            nodes.append(If(tuple(branches), otherwise))
        elif isinstance(node, While):
            condition = _at(node.condition, line)
            inner, line = _relined(node.body, line + 1)
            nodes.append(While(condition, inner))
        else:
            inner, line = _relined(node.body, line + 1)
            nodes.append(Loop(node.times, inner))
    return tuple(nodes), line


def _at(call: Call, line: int) -> Call:
    """A call, and the calls nested in it, moved to a line."""
    arguments = (_at(each, line) if isinstance(each, Call) else each for each in call.arguments)
    return replace(call, arguments=tuple(arguments), line=line)


def _lines(block: Block, domain: Domain, names: Names, depth: int) -> Iterator[str]:
    indent = INDENT * depth
    for node in block:
        if isinstance(node, Call):
            yield indent + print_call(node, domain, names)
        elif isinstance(node, If):
            for number, (condition, body) in enumerate(node.branches):
                yield f"{indent}{'elif' if number else 'if'} {_print_call(condition, domain, names)}:"
                yield from _lines(body, domain, names, depth + 1)
            if node.otherwise:
                yield f"{indent}else:"
                yield from _lines(node.otherwise, domain, names, depth + 1)
        else:
            opening = (
                f"while {_print_call(node.condition, domain, names)}"
                if isinstance(node, While)
                else f"loop({node.times})"
            )
            yield f"{indent}{opening}:"
            yield from _lines(node.body, domain, names, depth + 1)


def _print_call(call: Call, domain: Domain, names: Names) -> str:
    operation = domain.operation(call.operation)
    given = zip(operation.parameters, call.arguments, strict=True)
    arguments = [_print_argument(argument, parameter, domain, names) for parameter, argument in given]
    if not _is_lookup(call, operation):
        return f"{call.operation}({', '.join(arguments)})"
    return " ".join([f"{call.operation}[{arguments[0]}]", *map(str, call.arguments[1:])])


def _is_lookup(call: Call, operation: Operation) -> bool:
    """True if a call is written `name[first]` or `name[first] > 0`."""
    words = call.words
    if not operation.lookup or not words or len(words) != len(call.arguments):
        return False
    return len(words) == 1 or (len(words) == 3 and words[1] in COMPARATORS and isinstance(words[2], int))


def _print_argument(argument: Argument, parameter: Parameter, domain: Domain, names: Names) -> str:
    if isinstance(argument, Call):
        return _print_call(argument, domain, names)
    if isinstance(argument, Ref):
        return _print_reference(argument.number, names)
    return _print_word(argument, parameter, names)


def _print_reference(number: int, names: Names) -> str:
    """The result's name if it has a unique one, else its number."""
    name = names[number] if number < len(names) else None
    return name if name and names.count(name) == 1 else f"[{number + 1}]"


def _print_word(word: Word, parameter: Parameter, names: Names) -> str:
    """A word, in quotes if it could be read as something else without."""
    text = str(word)
    could_be_call = parameter.takes is not None and "(" in text
    if PLAIN.fullmatch(text) and text.lower() not in names and not could_be_call:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
