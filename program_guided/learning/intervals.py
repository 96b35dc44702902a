"""Bootstrap intervals over pictures: questions about one picture are correlated, so pictures are resampled with all
their questions.

    interval(right, asked)                # of the share of right answers: {"points": 87.1, "low": 85.9, "high": 88.2}
    interval(right - other, asked)        # of a difference
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["interval"]

RESAMPLES = 10_000
CONFIDENCE = 95
"""Percent of the resamples inside of an interval."""


def interval(gained: NDArray[np.floating[Any]], asked: NDArray[np.integer[Any]], seed: int = 0) -> dict[str, float]:
    """% gained of the questions asked, both summed by picture (pictures,), and its interval."""
    drawn = np.random.default_rng(seed).integers(0, len(asked), (RESAMPLES, len(asked)))
    points = 100 * gained[drawn].sum(axis=1) / asked[drawn].sum(axis=1)
    low, high = np.percentile(points, [(100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2])
    return {"points": float(100 * gained.sum() / asked.sum()), "low": float(low), "high": float(high)}
