"""Learning from reward alone (L_R), as the paper does it: advantage actor-critic.

64 worlds, an update after every 5 steps of each, learning rate 1e-3, entropy 0.1; all programs from the beginning. The
paper does not give the discount, the value's weight and the optimiser: those are in `settings.A2CSettings`.

    learner = A2C(model, worlds, A2CSettings(), seed=0)
    loss = learner.step()       # 5 steps in every world, and one update
"""

from __future__ import annotations

import math

from torch import Tensor

from program_guided.learning.rollouts import RewardLearner, Rollout, standardised
from program_guided.learning.settings import A2CSettings

__all__ = ["A2C"]


class A2C(RewardLearner[A2CSettings]):
    """An iteration is a rollout of `num_steps` steps in every world, and one update."""

    counts_routines_left = False

    def step(self) -> float:
        """Act and learn from it; the loss."""
        loss = self.optimizer_step(self._loss(self.collect()))
        if math.isfinite(loss):
            self.end_iteration()
        return loss

    def _loss(self, rollout: Rollout) -> Tensor:
        """The loss of the steps as they were taken: the weights are still the same, so nothing is computed anew."""
        error = (rollout.values - rollout.returns).square().mean()
        advantages = rollout.advantages
        if self.settings.standardise:
            advantages = standardised(advantages, rollout.running)
        gain = (rollout.log_probabilities * advantages).mean()
        return self.settings.vf_coef * error - gain - self.entropy_weight * rollout.entropy.mean()
