"""The search for lasting changes of level: noise and changes, told apart anew until nothing moves.

Where it ends depends on where it begins: changes that are left in the noise raise the bar for themselves, and noise
that is taken for changes lowers it. So it begins several times, with few boundaries and with many, and of the ends the
one is kept that explains the series most cheaply.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from app.analysis.arrays import Array, running_sums, upper_median
from app.analysis.detection.boundaries import placed, replaced, without_spikes
from app.analysis.detection.certainty import certain_where_placed, strongest, strongest_by
from app.analysis.detection.excursions import Excursion
from app.analysis.detection.explanation import cost_of
from app.analysis.detection.noise import local_weights, profile_of, white_noise
from app.analysis.detection.outliers import Bounded, without_outliers
from app.analysis.detection.partition import best_partition
from app.analysis.detection.scan import Scan
from app.analysis.detection.segments import Segments

ROUNDS = 3
"""Times that noise and changes are told apart anew; most series need two."""

STARTS = (5.5, 9.0, 14.0)
"""Standard errors, by white noise, of the boundaries that a search begins with: all that are likely, those beyond doubt
whatever the noise is, and one between."""

TYPICAL_LENGTH = 20
"""Points of a segment whose noise the partition reckons with."""


@dataclass(frozen=True, eq=False)
class Found:
    """The changes of one series, with the values and the yardstick that they were found by.

    `boundaries` are first points of new regimes, `spikes` half-open stretches that reverted; `noise_varies` says that
    the noise itself changes along the series. `excursions` are put on the base level in the segments.
    """

    segments: Segments
    boundaries: list[int]
    spikes: list[tuple[int, int]]
    noise_varies: bool
    excursions: tuple[Excursion, ...] = ()


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
    own = local_weights(treated.y)
    weights = np.ones(len(y)) if own is None else own
    segments, boundaries = _Search.of(treated, raw, weights, floor, least, distance).best()
    lasting, reverted = without_spikes(segments, boundaries)
    lasting = certain_where_placed(segments, lasting)
    return Found(segments, lasting, _merged([*treated.spikes(), *reverted]), own is not None)


@dataclass(frozen=True, eq=False)
class _Search:
    """What stays the same in one series while noise and changes are told apart.

    `y` are bounded values, `raw` untreated ones, `roots` those of the weights; all of shape (n,). `plain` has the
    values with white noise for a yardstick.
    """

    y: Array
    raw: Array
    roots: Array
    floor: float
    distance: float | None
    plain: Segments
    scan: Scan
    improvements: dict[tuple[int, ...], tuple[Segments, list[int]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, bounded: Bounded, raw: Array, weights: Array, floor: float, least: float, distance: float | None
    ) -> _Search:
        """Return the search of bounded values that count by their weights, shape (n,)."""
        y, roots, weight_sums = bounded.y, np.sqrt(weights), running_sums(weights)
        sums, squares = running_sums(y * weights), running_sums(y * y * weights)
        noise = white_noise(y * roots, floor, weight_sums)
        plain = Segments(y, weights, noise, sums, squares, least)
        return cls(y, raw, roots, floor, distance, plain, Scan(sums, weight_sums))

    def best(self) -> tuple[Segments, list[int]]:
        """Return the boundaries that explain the series most cheaply, with the yardstick by which they are certain."""
        ends = {tuple(end[1]): end for end in map(self._settled, self._starts())}
        if len(ends) == 1:
            return next(iter(ends.values()))
        return min(ends.values(), key=lambda end: self._cost(end[1]))

    def _starts(self) -> list[list[int]]:
        """Return the boundaries that are certain by white noise, for each of `STARTS`."""
        noise = self.plain.noise
        places = self.scan.candidates(noise)
        if not len(places):
            return [[]]
        found = best_partition(self.plain.sums, noise.weight_sums, places, noise.sd**2)
        return list(strongest_by(self.plain, found, STARTS))

    def _settled(self, boundaries: list[int]) -> tuple[Segments, list[int]]:
        """Return where the search ends that begins with `boundaries`."""
        for _ in range(ROUNDS):
            before = boundaries
            segments, boundaries = self._improved(before)
            if boundaries == before:
                break
        return segments, boundaries

    def _improved(self, boundaries: list[int]) -> tuple[Segments, list[int]]:
        """Return the boundaries that are certain beside the noise that `boundaries` leave; searches meet here."""
        key = tuple(boundaries)
        if key not in self.improvements:
            noise = profile_of(self._rest(boundaries), self.floor, self.plain.noise.weight_sums)
            segments = self.plain.by(noise)
            self.improvements[key] = segments, boundaries_of(segments, self.scan, self.raw, self.distance)
        return self.improvements[key]

    def _rest(self, boundaries: Sequence[int]) -> Array:
        """Return what the levels leave, each run by the root of its weight."""
        return (self.y - levels_of(self.y, boundaries) if boundaries else self.y) * self.roots

    def _cost(self, boundaries: list[int]) -> float:
        return cost_of(self._rest(boundaries), len(boundaries), self.floor)


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
    levels = np.empty(len(y))
    for start, end in itertools.pairwise(edges):
        levels[start:end] = upper_median(y[start:end])
    return levels


def boundaries_of(segments: Segments, scan: Scan, raw: Array, distance: float | None) -> list[int]:
    """Return the boundaries that are certain by one yardstick, where they lie exactly."""
    noise = segments.noise
    places = scan.candidates(noise)
    if not len(places):
        return []
    variance = noise.sd**2 * float(noise.inflation[min(segments.n, TYPICAL_LENGTH)])
    certain = strongest(segments, best_partition(segments.sums, noise.weight_sums, places, variance))
    better = replaced(segments, certain)
    if better != certain:
        certain = strongest(segments, better)
    return placed(segments, certain, raw, distance) if certain else []
