"""What was found, in words of the series' unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.analysis.arrays import Array, median
from app.analysis.detection.boundaries import SHORTEST
from app.analysis.detection.excursions import Excursion, above_base
from app.analysis.detection.p_values import Z_95, chosen_p_value
from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.analysis.detection.search import Found
from app.analysis.detection.shapes import Shape, shapes_of
from app.analysis.detection.signal import Signal
from app.analysis.detection.spread import changes_of_noise

CONFIRMED = 5.5
"""Standard errors from which on a change with enough points is no longer only suspected."""

AROUND = 10
"""Points before a spike, and after it, that tell the level around it."""


@dataclass(frozen=True, eq=False)
class Report:
    """One series with what was found in it.

    `values` has shape (n,), in the series' unit. Changes of a share smaller than `minimum_effect` are none.
    """

    signal: Signal
    values: Array
    found: Found
    minimum_effect: float = 0.0

    def examination(self) -> Examination:
        """Return the change points and episodes."""
        segments = self.found.segments
        shapes = shapes_of(segments, self.found.boundaries)
        points = []
        for i, shape in enumerate(shapes):
            start = shapes[i - 1].end if i else 0
            end = shapes[i + 1].start if i + 1 < len(shapes) else segments.n
            point = self._change_point(start, shape, end)
            if self._is_large_enough(point):
                points.append(point)
        episodes = [
            *(self._spike(*span) for span in self.found.spikes),
            *map(self._excursion, self.found.excursions),
            *changes_of_noise(self.found),
        ]
        episodes.sort(key=lambda episode: episode.start)
        return Examination(
            tuple(points), tuple(episodes), segments.noise.sd * self.signal.unit, self.signal.is_log
        )

    def _change_point(self, start: int, shape: Shape, end: int) -> ChangePoint:
        segments, n = self.found.segments, self.found.segments.n
        before, after = self._level(start, shape.start), self._level(shape.end, end)
        change = _share(before, after) if self.signal.is_log else None
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

    def _is_large_enough(self, point: ChangePoint) -> bool:
        if point.change is None:
            return abs(point.after - point.before) >= self.minimum_effect * self.signal.unit
        return abs(point.change) >= self.minimum_effect

    def _level(self, start: int, end: int) -> float:
        return median(self._on_base[start:end])

    @cached_property
    def _on_base(self) -> Array:
        """Return the values with excursions put on the base level, shape (n,)."""
        if not self.found.excursions:
            return self.values
        off = above_base(len(self.values), self.found.excursions)
        result: Array = (
            self.values * np.exp(-off) if self.signal.is_log else self.values - off * self.signal.unit
        )
        return result

    def _interval(
        self, start: int, shape: Shape, end: int, change: float | None
    ) -> tuple[float | None, float | None]:
        if change is None:
            return None, None
        noise = self.found.segments.noise
        spread = noise.variance(start, shape.start) + noise.variance(shape.end, end)
        half = Z_95 * math.sqrt(float(spread))
        ends = (1 + change) * math.exp(-half) - 1, (1 + change) * math.exp(half) - 1
        return ends[0], ends[1] if math.isfinite(ends[1]) else None

    def _spike(self, start: int, end: int) -> Episode:
        around = np.concatenate(
            (self.values[max(0, start - AROUND) : start], self.values[end : end + AROUND])
        )
        level = median(around) if len(around) else 0.0
        return Episode(start, end, "spike", _share(level, self._level(start, end)) if level > 0 else None)

    def _excursion(self, one: Excursion) -> Episode:
        return Episode(one.start, one.end, "spike", math.expm1(one.height) if self.signal.is_log else None)


def _share(before: float, after: float) -> float | None:
    """Return after/before − 1, or None where that is beyond all numbers."""
    share = after / before - 1
    return share if math.isfinite(share) else None
