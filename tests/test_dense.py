"""Dense supervision: the loss, and a small training that must learn."""

import numpy as np
import torch

from program_guided.language import parse
from program_guided.learning.dense import DenseSettings, dense_loss, train_dense
from program_guided.learning.execution import minecraft_executor
from program_guided.tasks.minecraft.batch import Entry
from program_guided.tasks.minecraft.domain import DOMAIN


def test_the_loss_takes_every_best_action_for_right():
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, -torch.inf, -torch.inf], [1.0, 2.0, 3.0, 4.0]])
    best = torch.tensor([[True, True, False, False], [True, False, False, False], [False] * 4])
    expected = (np.log(2) + np.log1p(np.exp(-2.0))) / 2
    torch.testing.assert_close(float(dense_loss(logits.log_softmax(1), best)), float(expected), atol=1e-6, rtol=1e-6)


def test_training_lowers_the_loss_and_is_the_same_for_the_same_seed():
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        model = minecraft_executor(word_width=16, hidden=64, passes=1, plans=4)
        entries = [Entry(parse(f"mine({thing})", DOMAIN), seed) for seed, thing in enumerate(("gold", "wood", "iron"))]
        settings = DenseSettings(worlds=64, warm_up=10)
        losses.append([progress.loss for progress in train_dense(model, entries, 40, 0, settings)])
    assert losses[0] == losses[1]
    assert np.mean(losses[0][-5:]) < 0.8 * np.mean(losses[0][:5])
