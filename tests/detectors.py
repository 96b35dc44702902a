"""A detector that has learned nothing, for tests that need one but not what it sees."""

from dataclasses import asdict

import torch

from program_guided.learning.networks import save_network
from program_guided.tasks.visual.detector.network import SLOTS, DetectorNetwork
from program_guided.tasks.visual.detector.settings import DetectorConfig

__all__ = ["TINY", "save_detector"]

TINY = DetectorConfig(width=4, vector=16, context=8)


def save_detector(folder):
    """Write the checkpoint of an untrained detector, which sees objects everywhere. In the working folder, as
    `detector`, it stands before the shipped one."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = DetectorNetwork(TINY)
        torch.nn.init.constant_(network.located.bias.view(SLOTS, 5)[:, 0], 1.0)
    save_network(folder, "detector", network, asdict(TINY))
    return folder
