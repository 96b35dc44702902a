"""The pointer over batches of programs (learning/execution.py) is the language's: 10,000 random static programs."""

from random import Random

import numpy as np
import torch
from domains import VISUAL
from parallel import waves

from program_guided.language import Shape, UniformVocabulary, compile_program, sample_program
from program_guided.language.pointer import advance, start
from program_guided.language.table import Kind
from program_guided.language.vocabulary import Vocabulary
from program_guided.learning.examples import programs_of
from program_guided.learning.execution import follow

PROGRAMS, BATCH = 10_000, 500
SHAPES = (
    Shape(routines=(1, 4), control=0.0),
    Shape(routines=(2, 8), depth=2, control=0.6, loop=0.2),
    Shape(routines=(4, 16), depth=4, control=0.7, loop=0.1, else_=0.6, elif_=0.6),
)


def path_of(table, truths):
    """The rows that the language's pointer executes."""
    pointer, path = start(table), []
    while not pointer.finished(table):
        path.append(pointer.routine)
        is_condition = table.kind[pointer.routine] != Kind.STEP
        pointer = advance(table, pointer, bool(truths[pointer.routine]) if is_condition else None)
    return path


def test_the_pointer_of_a_batch_moves_as_the_language_s():
    vocabulary, source, lengths = Vocabulary.of(VISUAL), UniformVocabulary(VISUAL), set()
    for first in range(0, PROGRAMS, BATCH):
        seeds = range(first, first + BATCH)
        programs = [sample_program(source, SHAPES[seed % len(SHAPES)], Random(seed)) for seed in seeds]
        tables = [compile_program(program, VISUAL) for program in programs]
        batch = programs_of(tables, vocabulary, np.zeros(BATCH))
        truths = torch.from_numpy(np.random.default_rng(first).random(batch.exists.shape) < 0.5)
        executed, last = follow(batch, truths)
        for row, table in enumerate(tables):
            path = path_of(table, truths[row])
            assert executed[row].nonzero()[:, 0].tolist() == sorted(path)
            assert int(last[row]) == path[-1]
            lengths.add(len(path))
    assert max(lengths) > 20


def test_routines_of_a_batch_are_executed_in_the_waves_of_the_language():
    vocabulary, source = Vocabulary.of(VISUAL), UniformVocabulary(VISUAL)
    programs = [sample_program(source, SHAPES[0], Random(seed)) for seed in range(500)]
    tables = [compile_program(program, VISUAL) for program in programs]
    batch = programs_of(tables, vocabulary, np.zeros(len(tables)))
    found = [[] for _ in tables]
    for sample, routine in batch.in_parallel:
        for number in sample.unique().tolist():
            found[number].append(tuple(routine[sample == number].tolist()))
    assert [tuple(waves) for waves in found] == [waves(table) for table in tables]
