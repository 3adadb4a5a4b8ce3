"""Where did this series change? From values to change points, one step after the other.

    values → working scale → patterns of the week and clock states taken out → outliers drawn in
           → noise at every length → candidates → best partition → what is certain → exact places
           → steps, ramps and spikes told apart

The middle line is gone through again with the changes found so far taken out of the noise, until nothing moves. What
each step rests on is said in its module; figures and limits: docs/statistics.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.analysis.detection.boundaries import (
    SHORTEST,
    Segments,
    placed,
    replaced,
    running_sums,
    strongest,
    without_spikes,
)
from app.analysis.detection.noise import local_weights, profile_of
from app.analysis.detection.outliers import without_outliers
from app.analysis.detection.partition import best_partition
from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.analysis.detection.scan import Scan
from app.analysis.detection.seasons import without_seasons
from app.analysis.detection.shapes import Shape, shapes_of
from app.analysis.detection.signal import Array, Signal, signal_of
from app.analysis.detection.significance import Z_95, chosen_p_value
from app.analysis.detection.states import find_states, on_lower_state

FEWEST = 4
"""Values below which nothing can be said."""

CONFIRMED = 5.5
"""Standard errors from which on a change with enough points is no longer only suspected."""

_ROUNDS = 3
"""Times that noise and changes are told apart anew; most series need two."""

_TYPICAL_LENGTH = 20
"""Points of a segment whose noise the partition reckons with."""


def examine(values: Array, x: NDArray[np.int64] | None = None, *, minimum_effect: float = 0.0) -> Examination:
    """Return the change points and episodes of one series.

    Args:
        values: finite values in the order of their commits, shape (n,); any n, any sign.
        x: ascending integer positions, shape (n,), for patterns that come again; default 0 to n − 1.
        minimum_effect: changes of a smaller share are none (of the largest value, if some value is not positive).
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < FEWEST:
        return Examination()
    signal = signal_of(values)
    if signal.is_constant:
        return Examination(noise=0.0, relative=signal.is_log)
    least = math.log1p(minimum_effect) if signal.is_log else minimum_effect
    found = _find(signal, np.arange(len(values)) if x is None else x, least)
    return _Report(signal, values, found).examination()


@dataclass(frozen=True, eq=False)
class _Found:
    segments: Segments
    boundaries: list[int]
    spikes: list[tuple[int, int]]


def _find(signal: Signal, x: NDArray[np.int64], least: float) -> _Found:
    """Return what changed, clock states taken out with the levels that are found with them."""
    y = without_seasons(signal.y, x)
    states = find_states(y)
    if states is None:
        return _search(y, y, signal.floor, least, None)
    lowered, before = states.y, None
    for _ in range(_ROUNDS):
        found = _search(lowered, y, signal.floor, least, states.distance)
        if before is not None and found.boundaries == before.boundaries:
            break
        before = found
        lowered = on_lower_state(y, _levels(lowered, found.boundaries), states.distance)
    return found


def _levels(y: Array, boundaries: Sequence[int]) -> Array:
    edges = [0, *boundaries, len(y)]
    middles = [_median(y[start:end]) for start, end in itertools.pairwise(edges)]
    return np.repeat(middles, np.diff(edges))


def _median(y: Array) -> float:
    """Return the upper median of `y`, which is one of its values; numpy's own checks more than it counts."""
    middle = len(y) // 2
    return float(np.partition(y, middle)[middle])


def _search(y: Array, raw: Array, floor: float, least: float, distance: float | None) -> _Found:
    """Return the changes of `y`, placed by `raw` values that may be in either of two states."""
    bounded = without_outliers(y, floor)
    weights = local_weights(bounded)
    if weights is None:
        weights = np.ones(len(y))
    roots, weight_sums = np.sqrt(weights), running_sums(weights)
    sums, squares = running_sums(bounded * weights), running_sums(bounded * bounded * weights)
    scan = Scan(sums, weight_sums)
    boundaries: list[int] = []
    for _ in range(_ROUNDS):
        rest = bounded - _levels(bounded, boundaries) if boundaries else bounded
        segments = Segments(
            bounded, weights, profile_of(rest * roots, floor, weight_sums), sums, squares, least
        )
        found = _boundaries(segments, scan, raw, distance)
        if found == boundaries:
            break
        boundaries = found
    return _Found(segments, *without_spikes(segments, boundaries))


def _boundaries(segments: Segments, scan: Scan, raw: Array, distance: float | None) -> list[int]:
    noise = segments.noise
    places = scan.candidates(noise)
    if not len(places):
        return []
    variance = noise.sd**2 * float(noise.inflation[min(segments.n, _TYPICAL_LENGTH)])
    certain = strongest(segments, best_partition(segments.sums, noise.weight_sums, places, variance))
    certain = strongest(segments, replaced(segments, certain))
    return placed(segments, certain, raw, distance)


@dataclass(frozen=True, eq=False)
class _Report:
    """Puts what was found into words of the series' unit."""

    signal: Signal
    values: Array
    found: _Found

    def examination(self) -> Examination:
        segments = self.found.segments
        shapes = shapes_of(segments, self.found.boundaries)
        points = []
        for i, shape in enumerate(shapes):
            start = shapes[i - 1].end if i else 0
            end = shapes[i + 1].start if i + 1 < len(shapes) else segments.n
            points.append(self._change_point(start, shape, end))
        spikes = tuple(self._spike(*span) for span in self.found.spikes)
        return Examination(tuple(points), spikes, segments.noise.sd, self.signal.is_log)

    def _change_point(self, start: int, shape: Shape, end: int) -> ChangePoint:
        segments, n = self.found.segments, self.found.segments.n
        before, after = self._level(start, shape.start), self._level(shape.end, end)
        change = after / before - 1 if before and before * after > 0 else None
        z = float(segments.evidence(np.array([start, (shape.start + shape.end) // 2, end]))[0])
        low, high = self._interval(start, shape, end, change)
        seen = n - shape.end >= SHORTEST
        return ChangePoint(
            index=shape.shows,
            start=shape.start,
            end=shape.end,
            before=before,
            after=after,
            change=change,
            ci_low=low,
            ci_high=high,
            p_value=chosen_p_value(z, n),
            kind="ramp" if shape.is_ramp else "step",
            standing="confirmed" if seen and z >= CONFIRMED else "suspected",
        )

    def _level(self, start: int, end: int) -> float:
        return float(np.median(self.values[start:end]))

    def _interval(
        self, start: int, shape: Shape, end: int, change: float | None
    ) -> tuple[float | None, float | None]:
        if change is None or not self.signal.is_log:
            return None, None
        noise = self.found.segments.noise
        spread = noise.variance(start, shape.start) + noise.variance(shape.end, end)
        half = Z_95 * math.sqrt(float(spread))
        return (1 + change) * math.exp(-half) - 1, (1 + change) * math.exp(half) - 1

    def _spike(self, start: int, end: int) -> Episode:
        around = self._level(max(0, start - 10), start)
        size = self._level(start, end) / around - 1 if around > 0 else None
        return Episode(start, end, "spike", size)
