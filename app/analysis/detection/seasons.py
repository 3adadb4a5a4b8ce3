"""Patterns of the week: a level that depends on the day and comes again.

A pattern is taken away when it is beyond doubt, so that it is neither noise that hides a change nor a change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array, running_sums
from app.analysis.detection.outliers import robust_sd

PERIODS = (5, 6, 7)
"""Positions after which a pattern comes again: the days of a working week to those of a week."""

MIN_TURNS = 5
"""Turns of a pattern that must have been seen."""

EVIDENCE = 45.0
"""Least explained sum of squares over the noise's variance. Of chance it is chi-squared with at most 6 degrees of
freedom, so that 45 comes up in fewer than one of ten million series."""


LEAST_LEFT = 1e-6
"""Share of the noise that a perfect pattern is taken to leave."""

LEAST_SHARE = 0.2
"""A pattern that explains less than this share of the evidence, beside all other noise, is not looked into."""


def without_seasons(y: Array, x: NDArray[np.int64]) -> Array:
    """Return `y`, shape (n,), less the pattern that its positions `x` show; `y` itself if there is none."""
    periods = [period for period in PERIODS if len(y) >= MIN_TURNS * period]
    if not periods:
        return y
    rest = y - _moving_mean(y, max(periods))
    noise = robust_sd(rest)
    if noise <= 0:
        return y
    bounded = np.minimum(np.maximum(rest, -3 * noise), 3 * noise)
    best, evidence = y, EVIDENCE
    for period in periods:
        pattern, explained = _pattern(bounded, x % period, period)
        # What a pattern leaves is noise; it is only looked at where the pattern may be one.
        if explained > LEAST_SHARE * EVIDENCE * noise**2:
            found = explained / max(robust_sd(rest - pattern), LEAST_LEFT * noise) ** 2
            if found > evidence:
                best, evidence = y - pattern, found
    return best


def _pattern(rest: Array, phase: NDArray[np.int64], period: int) -> tuple[Array, float]:
    """Return the mean of each phase at every point, and the sum of squares that they explain."""
    count = np.bincount(phase, minlength=period)
    means = np.bincount(phase, rest, minlength=period) / np.maximum(count, 1)
    means -= means.sum() / period
    return means[phase], float(count @ (means * means))


def _moving_mean(y: Array, width: int) -> Array:
    """Return the mean of the `width` points around each; at the ends of those outermost."""
    n, half = len(y), width // 2
    sums = running_sums(y)
    inner = (sums[width:] - sums[:-width]) / width
    out = np.empty(n)
    out[half : half + len(inner)] = inner
    out[:half], out[half + len(inner) :] = inner[0], inner[-1]
    return out
