"""Steps and slides: which boundaries are one ramp, that a segmentation into levels shows as a staircase?

Boundaries in one direction, near to one another, are held against a single slide from one level to the next; whatever
explains the values better, with fewer numbers, is what is reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array, running_sums
from app.analysis.detection.segments import Segments

NEAR = 100
"""Points between two boundaries of one ramp at most; also how far beyond them a ramp may begin or end."""

PRICE = 6.0
"""Squared standard errors that each number of a model must save: place and size of a step, both ends and the size of
a ramp."""

SHORTEST_RAMP = 5
"""Points of a slide: anything quicker is a step."""

_COARSE = np.array([0, 2, 4, 8, 16, 32, 64])
_FINE = np.arange(-8, 9)
_ASIDE = 2
"""Points by which a step may fit the treated values better elsewhere."""


class Shape(NamedTuple):
    """A change from `start` to `end`, the first point of the new level; of a step both are its place."""

    start: int
    end: int

    @property
    def shows(self) -> int:
        """The first point at which it shows: of a ramp, where a quarter of the way is passed."""
        return self.start + (self.end - self.start) // 4

    @property
    def is_ramp(self) -> bool:
        """Whether the level slides."""
        return self.end > self.start


def shapes_of(segments: Segments, boundaries: Sequence[int]) -> list[Shape]:
    """Return the changes that the boundaries stand for, in order."""
    if not boundaries:
        return []
    found: list[Shape] = []
    fit = _RampFit(segments)
    for first, last in _staircases(segments, boundaries):
        group = boundaries[first : last + 1]
        low = found[-1].end if found else 0
        high = boundaries[last + 1] if last + 1 < len(boundaries) else segments.n
        ramp = fit.better_than(group, low, high)
        found.extend([ramp] if ramp else [Shape(at, at) for at in group])
    return found


def _staircases(segments: Segments, boundaries: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last number of boundaries that go one way, near to one another."""
    up = np.diff(segments.means(boundaries)) > 0
    first = 0
    for i, (at, after) in enumerate(itertools.pairwise(boundaries)):
        if up[i] != up[i + 1] or after - at > NEAR:
            yield first, i
            first = i + 1
    yield first, len(boundaries) - 1


class _RampFit:
    """Least squares of ramps: everything from running sums, so that no place costs a look at the values."""

    def __init__(self, segments: Segments) -> None:
        y = segments.y
        self._sums = running_sums(y)
        self._moments = running_sums(y * np.arange(len(y)))
        self._noise = segments.noise

    def better_than(self, steps: Sequence[int], low: int, high: int) -> Shape | None:
        """Return the ramp between `low` and `high` that explains more than `steps` do; None without one."""
        low, high = max(low, steps[0] - 2 * NEAR), min(high, steps[-1] + 2 * NEAR)
        if high - low < SHORTEST_RAMP + 4:
            return None
        start, end, gain = self._best(low, high, steps[0] - _COARSE, steps[-1] + _COARSE)
        if gain > 0:
            start, end, gain = self._best(low, high, start + _FINE, end + _FINE)
        length = min(max(end - start, 1), len(self._noise.inflation) - 1)
        unit = self._noise.sd**2 * float(self._noise.inflation[length])
        saved = (gain - self._best_gain_of_steps(low, steps, high)) / unit
        return Shape(start, end) if gain > 0 and saved > PRICE * (3 - 2 * len(steps)) else None

    def _best_gain_of_steps(self, low: int, steps: Sequence[int], high: int) -> float:
        """Return what the steps save where they fit the treated values best, as a ramp is fitted to them, too.

        They were placed by untreated values, of which a spike beside a step may have moved some.
        """
        edges = [low, *steps, high]
        for i in range(1, len(edges) - 1):
            places = range(
                max(edges[i] - _ASIDE, edges[i - 1] + 1), min(edges[i] + _ASIDE, edges[i + 1] - 1) + 1
            )
            if places:
                tried = np.array([[*edges[:i], at, *edges[i + 1 :]] for at in places])
                edges[i] = places[int(self._gains_of_steps(tried).argmax())]
        return float(self._gains_of_steps(np.array([edges]))[0])

    def _gains_of_steps(self, edges: NDArray[np.intp]) -> Array:
        """Return the squared error that a level for each segment saves against one for all, row by row."""
        sums = self._sums[edges]
        totals, lengths = sums[:, 1:] - sums[:, :-1], edges[:, 1:] - edges[:, :-1]
        gains: Array = (totals**2 / lengths).sum(axis=1) - totals.sum(axis=1) ** 2 / lengths.sum(axis=1)
        return gains

    def _best(
        self, low: int, high: int, starts: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> tuple[int, int, float]:
        """Return the best of all pairs of a start and an end, and the squared error that it saves; 0 if none fits."""
        start, end = np.tile(starts, len(ends)), ends.repeat(len(starts))
        fits = (start >= low + 2) & (end <= high - 2) & (end - start >= SHORTEST_RAMP)
        start, end = start[fits], end[fits]
        if not len(start):
            return 0, 0, 0.0
        width, after = end - start, high - end
        share = (width + 1) / 2 + after
        share_squares = (width + 1) * (2 * width + 1) / (6 * width) + after
        slide = (
            self._moments[end] - self._moments[start] - (start - 1) * (self._sums[end] - self._sums[start])
        )
        product = slide / width + self._sums[high] - self._sums[end]
        n, mean = high - low, (self._sums[high] - self._sums[low]) / (high - low)
        gain = (product - share * mean) ** 2 / (share_squares - share * share / n)
        best = int(np.argmax(gain))
        return int(start[best]), int(end[best]), float(gain[best])
