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

from app.analysis.arrays import Array
from app.analysis.detection.noise import NoiseProfile, lengths_up_to

PERMISSIVE = 2.8
"""Standard errors above which a place is worth a second look."""

AT_ENDS = 40
"""Longest window that is looked at where an end cuts it."""


class Scan:
    """Contrasts of windows at every place and scale, which stay the same while the yardstick is improved."""

    def __init__(self, sums: Array, weight_sums: Array) -> None:
        """Take running sums of the weighted values and of the weights, both of shape (n + 1,), n ≥ 2."""
        n = len(sums) - 1
        self._n = n
        lengths = lengths_up_to(max(1, n // 2))
        self._inside = [(k, _inside(sums, weight_sums, k)) for k in lengths.tolist()]
        self._at = np.unique(np.concatenate((np.arange(1, n)[:AT_ENDS], np.arange(1, n)[-AT_ENDS:])))
        lengths = lengths_up_to(min(AT_ENDS, n - 1))[:, None]
        self._low, self._high = np.maximum(self._at - lengths, 0), np.minimum(self._at + lengths, n)
        self._before = weight_sums[self._at] - weight_sums[self._low]
        self._after = weight_sums[self._high] - weight_sums[self._at]
        means = (sums[self._high] - sums[self._at]) / self._after - (
            sums[self._at] - sums[self._low]
        ) / self._before
        self._contrast = means * means

    def candidates(self, noise: NoiseProfile) -> NDArray[np.intp]:
        """Return ascending places (first point after) of possible changes by the yardstick `noise`."""
        least = (PERMISSIVE * noise.sd) ** 2
        chosen = np.zeros(self._n + 1, dtype=np.bool_)
        for k, statistic in self._inside:
            peaks = _peaks(statistic, least * float(noise.inflation[k]), max(1, k // 3))
            if peaks is not None:
                chosen[k + peaks] = True
        chosen[self._at[self._peaks_at_ends(noise, least)]] = True
        places: NDArray[np.intp] = chosen.nonzero()[0]
        return places

    def _peaks_at_ends(self, noise: NoiseProfile, least: float) -> NDArray[np.bool_]:
        spread = noise.inflation[self._high - self._at] / self._after
        spread += noise.inflation[self._at - self._low] / self._before
        statistic = self._contrast / spread
        peak = statistic > least
        peak[:, 1:] &= statistic[:, 1:] >= statistic[:, :-1]
        peak[:, :-1] &= statistic[:, :-1] >= statistic[:, 1:]
        result: NDArray[np.bool_] = peak.any(axis=0)
        return result


def _inside(sums: Array, weights: Array, k: int) -> Array:
    """Return the squared contrast over its white variance at places k to n − k, where both windows are whole."""
    share = 1 / (weights[k:] - weights[:-k])
    mean = (sums[k:] - sums[:-k]) * share
    difference = mean[k:] - mean[:-k]
    difference *= difference
    difference /= share[k:] + share[:-k]
    return difference


def _peaks(statistic: Array, least: float, gap: int) -> NDArray[np.intp] | None:
    """Return where `statistic` is largest in each stretch above `least`; stretches lie more than `gap` apart."""
    over = (statistic > least).nonzero()[0]
    if not len(over):
        return None
    height = statistic[over]
    breaks = ((over[1:] - over[:-1]) > gap).nonzero()[0]
    if not len(breaks):
        one: NDArray[np.intp] = over[height.argmax() : height.argmax() + 1]
        return one
    starts = np.concatenate(([0], breaks + 1))
    sizes = np.concatenate((starts[1:], [len(over)])) - starts
    largest = np.maximum.reduceat(height, starts).repeat(sizes)
    peaks: NDArray[np.intp] = over[height == largest]
    return peaks
