"""Where might something have changed? A cheap, permissive look at every point and every scale.

At each length the means before and after every point are compared (a moving-sum statistic); where they differ by more
than noise often does, the place of the largest difference becomes a candidate. Windows are cut at the ends, so that
the last points are looked at as well. What a candidate is worth is decided later.

Source: B. Eichinger and C. Kirch, A MOSUM procedure for the estimation of multiple random change points, Bernoulli 24
(2018).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.analysis.detection.noise import NoiseProfile
from app.analysis.detection.signal import Array

PERMISSIVE = 2.4
"""Standard errors above which a place is worth a second look."""

AT_ENDS = 40
"""Longest window that is looked at where an end cuts it."""


def candidates(sums: Array, noise: NoiseProfile) -> NDArray[np.intp]:
    """Return ascending places (first point after) of possible changes.

    Args:
        sums: running sums of the weighted values, shape (n + 1,).
        noise: the yardstick.
    """
    n = len(sums) - 1
    chosen = np.zeros(n + 1, dtype=np.bool_)
    least = (PERMISSIVE * noise.sd) ** 2
    for k in noise.lengths[noise.lengths <= max(1, n // 2)].tolist():
        chosen[k + _peaks(_inside(sums, noise, k), least, max(1, k // 3))] = True
    for k in noise.lengths[noise.lengths <= min(AT_ENDS, n - 1)].tolist():
        ends = np.concatenate((np.arange(1, min(k, n - k + 1)), np.arange(max(k, n - k) + 1, n)))
        if len(ends):
            chosen[ends[_peaks(_at_ends(sums, noise, ends, k), least, max(1, k // 3))]] = True
    return np.flatnonzero(chosen)


def _inside(sums: Array, noise: NoiseProfile, k: int) -> Array:
    """Return the squared contrast over its inflation at places k to n − k, where both windows are whole."""
    weights = noise.weight_sums
    total, weight = sums[k:] - sums[:-k], weights[k:] - weights[:-k]
    mean, share = total / weight, 1 / weight
    difference = mean[k:] - mean[:-k]
    result: Array = difference * difference / (noise.inflation[k] * (share[k:] + share[:-k]))
    return result


def _at_ends(sums: Array, noise: NoiseProfile, at: NDArray[np.intp], k: int) -> Array:
    """Return the same at places whose windows are cut by an end."""
    weights = noise.weight_sums
    low, high = np.maximum(at - k, 0), np.minimum(at + k, len(sums) - 1)
    before, after = weights[at] - weights[low], weights[high] - weights[at]
    difference = (sums[high] - sums[at]) / after - (sums[at] - sums[low]) / before
    spread = noise.inflation[high - at] / after + noise.inflation[at - low] / before
    result: Array = difference * difference / spread
    return result


def _peaks(statistic: Array, least: float, gap: int) -> NDArray[np.intp]:
    """Return where `statistic` is largest in each stretch above `least`; stretches lie more than `gap` apart."""
    over = np.flatnonzero(statistic > least)
    if not len(over):
        return over
    starts = np.concatenate(([0], np.flatnonzero(np.diff(over) > gap) + 1))
    height = statistic[over]
    largest = np.repeat(np.maximum.reduceat(height, starts), np.diff(np.append(starts, len(over))))
    peaks: NDArray[np.intp] = over[height == largest]
    return peaks
