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
        self._n = len(sums) - 1
        self._inside = _Whole(sums, weight_sums)
        self._ends = _AtEnds(sums, weight_sums)

    def candidates(self, noise: NoiseProfile) -> NDArray[np.intp]:
        """Return ascending places (first point after) of possible changes by the yardstick `noise`."""
        least = (PERMISSIVE * noise.sd) ** 2
        chosen = np.zeros(self._n + 1, dtype=np.bool_)
        chosen[self._inside.peaks(noise, least)] = True
        chosen[self._ends.peaks(noise, least)] = True
        places: NDArray[np.intp] = chosen.nonzero()[0]
        return places


class _Whole:
    """Windows that both fit: places k to n − k of every length k, one length after the other in one array."""

    def __init__(self, sums: Array, weight_sums: Array) -> None:
        n = len(sums) - 1
        self._lengths = lengths_up_to(max(1, n // 2))
        self._counts = n + 1 - 2 * self._lengths
        self._gaps = np.maximum(self._lengths // 3, 1)
        self._starts = np.concatenate(([0], self._counts.cumsum()[:-1]))
        self._contrast = np.concatenate([_contrast(sums, weight_sums, k) for k in self._lengths.tolist()])

    def peaks(self, noise: NoiseProfile, least: float) -> NDArray[np.intp]:
        """Return where the contrast is largest in each stretch above the bar of its length.

        Stretches of one length lie more than a third of it apart.
        """
        bars = (least * noise.inflation[self._lengths]).repeat(self._counts)
        over = (self._contrast > bars).nonzero()[0]
        if not len(over):
            return over
        which = self._starts.searchsorted(over, side="right") - 1
        breaks = ((over[1:] - over[:-1] > self._gaps[which[1:]]) | (which[1:] > which[:-1])).nonzero()[0]
        starts = np.concatenate(([0], breaks + 1))
        height = self._contrast[over]
        largest = np.maximum.reduceat(height, starts)
        is_peak = height == largest.repeat(np.concatenate((breaks + 1, [len(over)])) - starts)
        places: NDArray[np.intp] = (over - self._starts[which] + self._lengths[which])[is_peak]
        return places


def _contrast(sums: Array, weights: Array, k: int) -> Array:
    """Return the squared contrast over its white variance at places k to n − k, where both windows are whole."""
    share = 1 / (weights[k:] - weights[:-k])
    mean = (sums[k:] - sums[:-k]) * share
    difference = mean[k:] - mean[:-k]
    difference *= difference
    difference /= share[k:] + share[:-k]
    return difference


class _AtEnds:
    """Windows that an end of the series cuts: of the first and the last places, arrays of shape (lengths, places)."""

    def __init__(self, sums: Array, weight_sums: Array) -> None:
        n = len(sums) - 1
        at = np.arange(1, n)
        self._at = at if len(at) <= 2 * AT_ENDS else np.concatenate((at[:AT_ENDS], at[-AT_ENDS:]))
        lengths = lengths_up_to(min(AT_ENDS, n - 1))[:, None]
        low, high = np.maximum(self._at - lengths, 0), np.minimum(self._at + lengths, n)
        self._left, self._right = self._at - low, high - self._at
        self._before = weight_sums[self._at] - weight_sums[low]
        self._after = weight_sums[high] - weight_sums[self._at]
        difference = (sums[high] - sums[self._at]) / self._after - (sums[self._at] - sums[low]) / self._before
        self._contrast = difference * difference

    def peaks(self, noise: NoiseProfile, least: float) -> NDArray[np.intp]:
        """Return the places at which some length has a peak above the bar."""
        spread = noise.inflation[self._right] / self._after + noise.inflation[self._left] / self._before
        statistic = self._contrast / spread
        peak = statistic > least
        peak[:, 1:] &= statistic[:, 1:] >= statistic[:, :-1]
        peak[:, :-1] &= statistic[:, :-1] >= statistic[:, 1:]
        places: NDArray[np.intp] = self._at[peak.any(axis=0)]
        return places
