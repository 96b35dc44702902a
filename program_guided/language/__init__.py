"""One language for all tasks: text -> syntax tree -> routine table -> pointer. Needs no torch and no numba.

    from program_guided.language import compile_program, parse
    table = compile_program(parse(text, DOMAIN), DOMAIN)

docs/language.md is the guide.
"""

from program_guided.errors import Problem, ProgramError
from program_guided.language.domain import ACTION, BOOLEAN, Choice, Domain, Input, Number, Operation, Parameter, Text
from program_guided.language.interpreter import interpret
from program_guided.language.parser import parse, read_program
from program_guided.language.pointer import Pointer, advance, start
from program_guided.language.printer import count_control, count_tokens, print_call, print_program
from program_guided.language.sampler import Shape, UniformVocabulary, sample_program
from program_guided.language.syntax import Call, If, Loop, Program, Ref, While, calls, flatten, map_calls
from program_guided.language.table import Kind, RoutineTable, compile_program
from program_guided.language.vocabulary import Vocabulary

__all__ = [
    "ACTION",
    "BOOLEAN",
    "Call",
    "Choice",
    "Domain",
    "If",
    "Input",
    "Kind",
    "Loop",
    "Number",
    "Operation",
    "Parameter",
    "Pointer",
    "Problem",
    "Program",
    "ProgramError",
    "Ref",
    "RoutineTable",
    "Shape",
    "Text",
    "UniformVocabulary",
    "Vocabulary",
    "While",
    "advance",
    "calls",
    "compile_program",
    "count_control",
    "count_tokens",
    "flatten",
    "interpret",
    "map_calls",
    "parse",
    "print_call",
    "print_program",
    "read_program",
    "sample_program",
    "start",
]
