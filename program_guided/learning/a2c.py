"""Learning from reward alone (L_R), as the paper does it: advantage actor-critic.

64 worlds, an update after every 5 steps of each, learning rate 1e-3, entropy 0.1; all programs from the beginning. The
paper says nothing of the discount, the value's weight and the optimiser: those are in `settings.A2CSettings`.

    training = A2CTraining(model, entries, A2CSettings(), seed=0)
    loss = training.step()       # 5 steps in every world, and one update
"""

from __future__ import annotations

import math

from torch import Tensor

from program_guided.learning.experience import Experience, RewardLearner
from program_guided.learning.settings import A2CSettings

__all__ = ["A2CTraining"]


class A2CTraining(RewardLearner[A2CSettings]):
    """A turn is a rollout of `horizon` steps in every world, and one update."""

    tells_left = False

    def step(self) -> float:
        """Act and learn from it; the loss."""
        loss = self.descend(self._loss(self.collect()))
        self.done += math.isfinite(loss)
        return loss

    def _loss(self, lived: Experience) -> Tensor:
        """Of the steps as they were taken: the weights are still the same, so nothing is computed anew."""
        error = (lived.values - lived.returns).square().mean()
        gain = (lived.log_probabilities * lived.advantages).mean()
        return self.settings.value * error - gain - self.entropy_weight * lived.entropy.mean()
