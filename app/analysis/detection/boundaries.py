"""What is a boundary between two segments worth, where exactly does it lie, and which ones stay?

A boundary's evidence is the largest difference between what lies before and after it, over windows of all lengths that
its segments hold, in standard errors of the noise at that length: long windows where noise averages out, short ones
where the machine drifts. Boundaries leave from the weakest on, each judged against the neighbours that it then has,
until all that remain are beyond doubt.

Sources: C. Truong et al., Selective review of offline change point detection methods, Signal Processing 167 (2020),
for backward elimination; D. L. Wallace, Bounds on normal approximations to Student's and the chi-square distributions,
Annals of Mathematical Statistics 30 (1959), for t to z; G. K. Smyth, Linear models and empirical Bayes methods for
assessing differential expression, SAGMB 3 (2004), for variances that borrow from the whole series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array, running_sums
from app.analysis.detection.noise import NoiseProfile

CERTAIN = 4.3
"""Standard errors from which on a boundary stays."""

CERTAIN_AT_ENDS = 5.0
"""The same of the first and last boundary, near an end of the series."""

AT_ONCE = 10
"""Points of the newest regime up to which `CERTAIN` is enough, so that a clear change is told soon."""

NEAR_END = 60
"""Points of the first and last regime beyond which `CERTAIN` is enough again."""

PRIOR_FREEDOM = 20
"""Runs that the noise of the whole series counts for in a segment's own."""

LEAST_VARIANCE = 0.5
"""A segment's noise is taken as no less than this share of the series' variance."""

MOST_FREEDOM = 60
"""Runs of two segments beyond which a standard error is as good as known."""

SHORTEST = 5
"""Points of a regime: what reverts sooner is a spike."""

REACH = 25
"""Points by which a boundary may move when it is placed exactly."""

BOUND = 3.0
"""Standard deviations beyond which a value says no more about where a boundary lies."""

LEAST_CORRELATED, MOST_CORRELATED = 0.2, 0.8
"""Correlation of neighbouring runs below which placing a boundary takes none, and above which it is taken as this."""


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


def strongest(segments: Segments, boundaries: Sequence[int], least: float = CERTAIN) -> list[int]:
    """Return the boundaries that have `least` standard errors beside one another, and more near the ends."""
    return next(strongest_by(segments, boundaries, (least,)))


def strongest_by(segments: Segments, boundaries: Sequence[int], bars: Sequence[float]) -> Iterator[list[int]]:
    """Yield for each of the ascending `bars`, in standard errors, the boundaries that reach it beside one another.

    Near the ends the bar is higher.

    In each turn those leave that are too weak and no stronger than their neighbours: far apart they do not touch one
    another, so that all of a turn may leave at once.
    """
    edges = np.array(segments.edges(boundaries))
    inner = _evidence(segments, edges)
    for least in bars:
        while len(inner):
            worth = np.concatenate(([np.inf], inner, [np.inf]))
            leaves = (inner < _bars(edges, least)) & (inner <= worth[:-2]) & (inner < worth[2:])
            if not leaves.any():
                break
            edges = edges[np.concatenate(([True], ~leaves, [True]))]
            inner = _evidence(segments, edges)
        yield edges[1:-1].tolist()


def _evidence(segments: Segments, edges: NDArray[np.intp]) -> Array:
    return segments.evidence(edges) if len(edges) > 2 else np.empty(0)


def _bars(edges: NDArray[np.intp], least: float) -> Array:
    """Return from how many standard errors on each inner edge stays, shape (len(edges) − 2,).

    A regime that an end cuts may be drift that is about to turn, and the newest one is looked at after every point.
    """
    bars, newest = np.full(len(edges) - 2, least), edges[-1] - edges[-2]
    if edges[1] <= NEAR_END:
        bars[0] = max(least, CERTAIN_AT_ENDS)
    if newest <= AT_ONCE:
        bars[-1] = least  # the only boundary of a short series, too
    elif newest <= NEAR_END:
        bars[-1] = max(least, CERTAIN_AT_ENDS)
    return bars


def replaced(segments: Segments, boundaries: Sequence[int]) -> list[int]:
    """Return every boundary at the place between its neighbours that saves the most squared error."""
    edges = segments.edges(boundaries)
    sums, weights = segments.sums, segments.noise.weight_sums
    for i in range(1, len(edges) - 1):
        start, end = edges[i - 1], edges[i + 1]
        total, weight = sums[start + 1 : end] - sums[start], weights[start + 1 : end] - weights[start]
        rest, its_weight = sums[end] - sums[start] - total, weights[end] - weights[start] - weight
        edges[i] = start + 1 + int(np.argmax(total * total / weight + rest * rest / its_weight))
    return edges[1:-1]


def placed(segments: Segments, boundaries: Sequence[int], raw: Array, distance: float | None) -> list[int]:
    """Return every boundary where the untreated values fit the levels on its sides best, under a bounded loss.

    Where neighbouring runs are correlated, what counts is how far a run lies from what the run before foretold.

    Args:
        segments: treated values, whose segments give the levels.
        boundaries: ascending places.
        raw: untreated values, shape (n,): a spike beside a boundary belongs to neither level.
        distance: between two clock states, of which a value may be in either; None without states.
    """
    edges = segments.edges(boundaries)
    phi = _correlation(segments, boundaries) if distance is None else 0.0
    for i in range(1, len(edges) - 1):
        start, at, end = edges[i - 1 : i + 2]
        low, high = max(start + 1, at - REACH), min(end - 1, at + REACH)
        if high <= low:
            continue
        scale = segments.weights[low : high + 1] / (segments.noise.sd**2 * (1 + phi))
        before, after = (
            raw[low - 1 : high + 1] - float(segments.y[a:b].sum()) / (b - a)
            for a, b in ((start, at), (at, end))
        )
        old = _loss(before[1:] - phi * before[:-1], scale, distance)
        first = _loss(after[1:] - phi * before[:-1], scale, distance)
        new = _loss(after[1:] - phi * after[:-1], scale, distance)
        olds, news = running_sums(old)[:-1], running_sums(new)[1:]
        edges[i] = low + int((olds + first + (news[-1] - news)).argmin())
    return edges[1:-1]


def _correlation(segments: Segments, boundaries: Sequence[int]) -> float:
    """Return the correlation of neighbouring runs around their levels; 0 where it is small."""
    edges = segments.edges(boundaries)
    rest = segments.y - np.repeat(segments.means(boundaries), np.diff(edges))
    squares = float(rest @ rest)
    correlation = float(rest[1:] @ rest[:-1]) / squares if squares else 0.0
    return min(correlation, MOST_CORRELATED) if correlation >= LEAST_CORRELATED else 0.0


def _loss(rest: Array, scale: Array, distance: float | None) -> Array:
    squares = rest * rest
    if distance is not None:
        squares = np.minimum(squares, (rest - distance) ** 2)
    result: Array = np.minimum(squares * scale, BOUND**2)
    return result


def without_spikes(segments: Segments, boundaries: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the boundaries that are no edges of a spike, and the spikes (half-open)."""
    edges, spikes, i = segments.edges(boundaries), [], 1
    while i < len(edges) - 2:
        start, first, end, last = edges[i - 1 : i + 3]
        if end - first < SHORTEST and _same_level(segments, start, first, end, last):
            spikes.append((first, end))
            del edges[i : i + 2]
        else:
            i += 1
    return edges[1:-1], spikes


def _same_level(segments: Segments, start: int, first: int, end: int, last: int) -> bool:
    noise, sums = segments.noise, segments.sums
    before = (sums[first] - sums[start]) / (noise.weight_sums[first] - noise.weight_sums[start])
    after = (sums[last] - sums[end]) / (noise.weight_sums[last] - noise.weight_sums[end])
    spread = noise.variance(start, first) + noise.variance(end, last)
    return bool((after - before) ** 2 < CERTAIN**2 * spread)
