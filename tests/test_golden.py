"""Logits of the shipped weights, frozen before the framework was rebuilt: they must not change by accident."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from program_guided.learning.agents import OracleAgent
from program_guided.learning.checkpoint import read_checkpoint
from program_guided.learning.execution import WorldExecution, infer
from program_guided.tasks.minecraft.splits import load_split
from program_guided.tasks.minecraft.task import Minecraft
from program_guided.tasks.minecraft.world.batch import Batch

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())
IMPOSSIBLE = -99.0


@torch.inference_mode()
@pytest.mark.parametrize("name", GOLDEN)
def test_the_logits_of_shipped_weights_are_what_they_were(name):
    model = read_checkpoint(name).build(Minecraft.reader).eval()
    steps = GOLDEN[name]
    batch = Batch(load_split("longer")[: len(steps[0])], len(steps[0]))
    for number in range(batch.count):
        batch.place(number, number)
    execution = WorldExecution(model, batch)
    for expected in steps:
        logits, rows = infer(model, execution.observe())
        execution.keep(rows)
        found = torch.where(logits.isinf(), torch.tensor(IMPOSSIBLE), logits).numpy()
        np.testing.assert_allclose(found, np.array(expected), atol=2e-3)
        batch.step(OracleAgent().act(batch))
