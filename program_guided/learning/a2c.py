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

    def _loss(self, experience: Experience) -> Tensor:
        settings = self.settings
        log_probabilities, rows = self.policy(experience.observation)
        taken = log_probabilities.gather(1, experience.actions[:, None])[:, 0]
        entropy = -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1).mean()
        error = (self.value(rows, experience.left) - experience.returns).square().mean()
        return settings.value * error - (taken * experience.advantages).mean() - self.entropy_weight * entropy
