"""Patterns of the week: a level that depends on the day and comes again.

A pattern is taken away when it is beyond doubt, so that it is neither noise that hides a change nor a change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.analysis.detection.outliers import robust_sd
from app.analysis.detection.signal import Array

PERIODS = (5, 6, 7)
"""Positions after which a pattern comes again: the days of a working week to those of a week."""

MIN_TURNS = 5
"""Turns of a pattern that must have been seen."""

EVIDENCE = 45.0
"""Least explained sum of squares over the noise's variance. Of chance it is chi-squared with at most 6 degrees of
freedom, so that 45 comes up in fewer than one of ten million series."""


def without_seasons(y: Array, x: NDArray[np.int64]) -> Array:
    """Return `y`, shape (n,), less the pattern that its positions `x` show; `y` itself if there is none."""
    best, evidence = None, EVIDENCE
    for period in PERIODS:
        if len(y) < MIN_TURNS * period:
            continue
        pattern, found = _pattern(y, x, period)
        if found > evidence:
            best, evidence = pattern, found
    return y if best is None else y - best


def _pattern(y: Array, x: NDArray[np.int64], period: int) -> tuple[Array, float]:
    """Return the pattern of `period` at every point and how much it explains (noise variances)."""
    rest = y - _moving_mean(y, period)
    noise = robust_sd(rest)
    if noise <= 0:
        return rest, 0.0
    phase = (x % period).astype(np.intp)
    bounded = np.clip(rest, -3 * noise, 3 * noise)
    count = np.bincount(phase, minlength=period)
    means = np.bincount(phase, bounded, minlength=period) / np.maximum(count, 1)
    means -= means.mean()
    left = robust_sd(rest - means[phase])
    return means[phase], float(count @ means**2) / max(left, 1e-300) ** 2


def _moving_mean(y: Array, width: int) -> Array:
    """Return the mean of the `width` points around each; at the ends of those that are there."""
    n, half = len(y), width // 2
    sums = np.concatenate(([0.0], np.cumsum(y)))
    at = np.arange(n)
    low, high = np.maximum(at - half, 0), np.minimum(at - half + width, n)
    result: Array = (sums[high] - sums[low]) / (high - low)
    return result
