"""One language for all tasks: text -> syntax tree -> routine table -> pointer. Needs no torch and no numba.

    from program_guided.language import compile_program, parse
    table = compile_program(parse(text, DOMAIN), DOMAIN)

docs/language.md is the guide.
"""

from program_guided.errors import Problem, ProgramError
from program_guided.language.domain import BOOLEAN, Choice, Domain, Number, Operation, Text
from program_guided.language.interpreter import interpret
from program_guided.language.parser import parse, read_program
from program_guided.language.pointer import Frontier, Pointer, advance, advance_parallel, start, start_parallel
from program_guided.language.printer import count_control, count_tokens, print_call, print_program
from program_guided.language.sampler import Shape, UniformVocabulary, sample_program
from program_guided.language.syntax import Call, If, Loop, Program, While
from program_guided.language.table import Kind, RoutineTable, compile_program

__all__ = [
    "BOOLEAN",
    "Call",
    "Choice",
    "Domain",
    "Frontier",
    "If",
    "Kind",
    "Loop",
    "Number",
    "Operation",
    "Pointer",
    "Problem",
    "Program",
    "ProgramError",
    "RoutineTable",
    "Shape",
    "Text",
    "UniformVocabulary",
    "While",
    "advance",
    "advance_parallel",
    "compile_program",
    "count_control",
    "count_tokens",
    "interpret",
    "parse",
    "print_call",
    "print_program",
    "read_program",
    "sample_program",
    "start",
    "start_parallel",
]
