"""Where exactly does a boundary lie, and which pairs of boundaries are the two edges of a spike?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.analysis.arrays import Array, running_sums
from app.analysis.detection.certainty import CERTAIN
from app.analysis.detection.segments import Segments

SHORTEST = 5
"""Points of a regime: what reverts sooner is a spike."""

REACH = 25
"""Points by which a boundary may move when it is placed exactly."""

BOUND = 3.0
"""Standard deviations beyond which a value says no more about where a boundary lies."""

LEAST_CORRELATED, MOST_CORRELATED = 0.2, 0.8
"""Correlation of neighbouring runs below which placing a boundary takes none, and above which it is taken as this."""


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
    phi = _correlation_at_lag_one(segments, boundaries) if distance is None else 0.0
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


def _correlation_at_lag_one(segments: Segments, boundaries: Sequence[int]) -> float:
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
