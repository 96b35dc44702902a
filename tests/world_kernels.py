"""Inner kernels of the world that tests call from Python."""

import numpy as np

from program_guided.tasks.minecraft.domain import KINDS
from program_guided.tasks.minecraft.world import kernels
from program_guided.tasks.minecraft.world.compiled import compiled

inner_begin, inner_step = kernels.begin, kernels.step_world


@compiled
def begin(worlds, i, programs, program):
    inner_begin(worlds, i, programs, program)


@compiled
def step_world(worlds, i, programs, action, time_limit):
    return inner_step(worlds, i, programs, action, time_limit)


def recount(worlds, i):
    side = worlds.side[i]
    worlds.counts[i] = np.bincount(worlds.cells[i, :side, :side].ravel(), minlength=len(KINDS))
