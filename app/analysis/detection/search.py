"""The search for lasting changes of level: noise and changes, told apart anew until nothing moves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.arrays import Array, running_sums
from app.analysis.detection.boundaries import (
    Segments,
    placed,
    replaced,
    strongest,
    without_spikes,
)
from app.analysis.detection.noise import local_weights, profile_of, white_noise
from app.analysis.detection.outliers import without_outliers
from app.analysis.detection.partition import best_partition
from app.analysis.detection.scan import Scan

ROUNDS = 3
"""Times that noise and changes are told apart anew; most series need two."""

GLARING = 14.0
"""Standard errors, by white noise, from which on a boundary is taken out of the noise before anything is known."""

TYPICAL_LENGTH = 20
"""Points of a segment whose noise the partition reckons with."""


@dataclass(frozen=True, eq=False)
class Found:
    """The changes of one series, with the values and the yardstick that they were found by.

    `boundaries` are first points of new regimes, `spikes` half-open stretches that reverted; `noise_varies` says that
    the noise itself changes along the series.
    """

    segments: Segments
    boundaries: list[int]
    spikes: list[tuple[int, int]]
    noise_varies: bool


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the half-open spans in order, with those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def levels_of(y: Array, boundaries: Sequence[int]) -> Array:
    """Return the level at every point: the median of its segment."""
    edges = [0, *boundaries, len(y)]
    middles = [_median(y[start:end]) for start, end in itertools.pairwise(edges)]
    return np.repeat(middles, np.diff(edges))


def _median(y: Array) -> float:
    """Return the upper median of `y`, which is one of its values; numpy's own checks more than it counts."""
    middle = len(y) // 2
    return float(np.partition(y, middle)[middle])


def search(y: Array, raw: Array, floor: float, least: float, distance: float | None) -> Found:
    """Return the changes of a series.

    Args:
        y: values on their working scale, shape (n,), states and patterns taken out.
        raw: the same with states, shape (n,): they place the boundaries.
        floor: least standard deviation of a run.
        least: smallest difference of levels that is a change.
        distance: between two clock states; None without.
    """
    treated = without_outliers(y, floor)
    bounded = treated.y
    own = local_weights(bounded)
    weights = np.ones(len(y)) if own is None else own
    roots, weight_sums = np.sqrt(weights), running_sums(weights)
    sums, squares = running_sums(bounded * weights), running_sums(bounded * bounded * weights)
    scan = Scan(sums, weight_sums)
    white = white_noise(bounded * roots, floor, weight_sums)
    boundaries = _glaring(Segments(bounded, weights, white, sums, squares, least), scan)
    for _ in range(ROUNDS):
        rest = bounded - levels_of(bounded, boundaries) if boundaries else bounded
        segments = Segments(
            bounded, weights, profile_of(rest * roots, floor, weight_sums), sums, squares, least
        )
        found = boundaries_of(segments, scan, raw, distance)
        if found == boundaries:
            break
        boundaries = found
    lasting, reverted = without_spikes(segments, boundaries)
    return Found(segments, lasting, _merged([*treated.spikes(), *reverted]), own is not None)


def _glaring(segments: Segments, scan: Scan) -> list[int]:
    """Return the boundaries that no correlation or drift explains: were many left in, they would pass for noise."""
    places = scan.candidates(segments.noise)
    if not len(places):
        return []
    noise = segments.noise
    best = best_partition(segments.sums, noise.weight_sums, places, noise.sd**2)
    return strongest(segments, best, GLARING)


def boundaries_of(segments: Segments, scan: Scan, raw: Array, distance: float | None) -> list[int]:
    """Return the boundaries that are certain by one yardstick, where they lie exactly."""
    noise = segments.noise
    places = scan.candidates(noise)
    if not len(places):
        return []
    variance = noise.sd**2 * float(noise.inflation[min(segments.n, TYPICAL_LENGTH)])
    certain = strongest(segments, best_partition(segments.sums, noise.weight_sums, places, variance))
    certain = strongest(segments, replaced(segments, certain))
    return placed(segments, certain, raw, distance)
