"""Segments of a series, and what a boundary between two of them is worth.

A boundary's evidence is the largest difference between what lies before and after it, over windows of all lengths that
its segments hold, in standard errors of the noise at that length: long windows where noise averages out, short ones
where the machine drifts.

Sources: D. L. Wallace, Bounds on normal approximations to Student's and the chi-square distributions, Annals of
Mathematical Statistics 30 (1959), for t to z; G. K. Smyth, Linear models and empirical Bayes methods for assessing
differential expression, SAGMB 3 (2004), for variances that borrow from the whole series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.detection.noise import NoiseProfile

PRIOR_FREEDOM = 20
"""Runs that the noise of the whole series counts for in a segment's own."""

LEAST_VARIANCE = 0.5
"""A segment's noise is taken as no less than this share of the series' variance."""

MOST_FREEDOM = 60
"""Runs of two segments beyond which a standard error is as good as known."""


@dataclass(frozen=True, eq=False)
class Segments:
    """Weighted values `y`, shape (n,), with their yardstick; boundaries are ascending places 0 < place < n.

    `sums` and `squares` are running sums of the weighted values and their squares, shape (n + 1,). A difference of
    levels below `least` is none.
    """

    y: Array
    weights: Array
    noise: NoiseProfile
    sums: Array
    squares: Array
    least: float = 0.0

    def by(self, noise: NoiseProfile) -> Segments:
        """Return the same values with another yardstick."""
        return replace(self, noise=noise)

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.y)

    def edges(self, boundaries: Sequence[int]) -> list[int]:
        """Return the segments' ends: 0, the boundaries, n."""
        return [0, *boundaries, self.n]

    def means(self, boundaries: Sequence[int]) -> Array:
        """Return the weighted mean of every segment."""
        return self._means(np.array(self.edges(boundaries)))

    def _means(self, edges: NDArray[np.intp]) -> Array:
        sums, weights = self.sums[edges], self.noise.weight_sums[edges]
        result: Array = (sums[1:] - sums[:-1]) / (weights[1:] - weights[:-1])
        return result

    def evidence(self, edges: NDArray[np.intp]) -> Array:
        """Return the evidence of every inner edge, shape (len(edges) − 2,), as if of a standard normal value."""
        start, at, end = edges[:-2, None], edges[1:-1, None], edges[2:, None]
        left, right = at - start, end - at
        longest = np.maximum(left, right)
        lengths = np.minimum(self._lengths(int(longest.max()))[None, :], longest)
        lengths_before, lengths_after = np.minimum(lengths, left), np.minimum(lengths, right)
        before, after = at - lengths_before, at + lengths_after
        weights, sums = self.noise.weight_sums, self.sums
        wl, wr = weights[at] - weights[before], weights[after] - weights[at]
        difference = (sums[after] - sums[at]) / wr - (sums[at] - sums[before]) / wl
        inflation, own = self.noise.inflation, self._own_variances(edges)[:, None]
        spread = inflation[lengths_before] / wl * own[:-1]
        spread += inflation[lengths_after] / wr * own[1:]
        largest = (difference * difference / spread).max(axis=1)
        worth = _as_normal(largest, PRIOR_FREEDOM + np.minimum((left + right)[:, 0], MOST_FREEDOM))
        if self.least:
            means = self._means(edges)
            worth[np.abs(means[1:] - means[:-1]) < self.least] = 0.0
        return worth

    def _lengths(self, longest: int) -> NDArray[np.intp]:
        lengths = self.noise.lengths
        return np.concatenate((lengths[: int(lengths.searchsorted(longest))], (longest,)))

    def _own_variances(self, edges: NDArray[np.intp]) -> Array:
        """Return the variance of a run of unit weight in each segment, moderated by that of the series."""
        weight, total, squares = (
            at_edges[1:] - at_edges[:-1]
            for at_edges in (self.noise.weight_sums[edges], self.sums[edges], self.squares[edges])
        )
        error = np.maximum(squares - total * total / weight, 0.0)
        common = self.noise.sd**2
        own = (PRIOR_FREEDOM * common + error) / (PRIOR_FREEDOM + (edges[1:] - edges[:-1]) - 1)
        return np.maximum(own, LEAST_VARIANCE * common)


def _as_normal(squared_t: Array, freedom: Array) -> Array:
    """Return the standard normal value as rare as Student's t with that many degrees of freedom."""
    result: Array = np.sqrt(freedom * np.log1p(squared_t / freedom)) * (1 - 0.25 / freedom)
    return result
