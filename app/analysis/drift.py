"""Slow drifts: what a series lost over months that no confirmed change of it explains.

Detection asks where the level stepped. Many steps below what it finds add up all the same, and what leaks has no step
at all. So the level of the newest week is held against that of some months before, and the confirmed changes between
are taken off. The error is that of two medians of points with the noise that their quartiles show; from 5.5 standard
errors on, as for change points that points confirm (docs/statistics.md), it is a drift among thousands of series.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.results import Better
from app.domain.weekly import Level

LEAST_ERRORS = 5.5
"""Standard errors from which on a rest is no chance among thousands of series."""

LEAST_EFFECT = math.log(1.02)
"""What is less is nothing to act on: the default tolerance of a gate."""

LEAST_POINTS = 3
"""Points that either week has at least: quartiles of fewer say nothing of the noise."""

QUARTILES = 1.349
"""Distance of a normal distribution's quartiles in standard deviations."""

MEDIAN_ERROR = 1.2533
"""Standard error of a median over that of a mean, of normal values: √(π/2)."""


@dataclass(frozen=True)
class Rest:
    """The whole effect from then to now, what confirmed changes explain of it, and what is left (ln units)."""

    effect: float
    explained: float
    error: float

    @property
    def rest(self) -> float:
        """What is left."""
        return self.effect - self.explained

    @property
    def is_drift(self) -> bool:
        """Whether the rest is for the worse, worth acting on, and no chance."""
        return self.rest >= LEAST_EFFECT and self.rest >= LEAST_ERRORS * self.error


def rest_of(then: Level, now: Level, better: Better, confirmed: Iterable[float]) -> Rest | None:
    """Return what is left of a series' way from one week to another; None where that cannot be told.

    Args:
        then: its level some months ago.
        now: its level now, in the same unit.
        better: which way is better.
        confirmed: effects of the confirmed changes between (ln units, positive = worse), the machine's included.
    """
    if min(then.n, now.n) < LEAST_POINTS or min(then.median, now.median) <= 0:
        return None
    error = math.hypot(_error(then), _error(now))
    effect = math.log(now.median / then.median)
    return Rest(effect if better == "lower" else -effect, sum(confirmed), error)


def _error(level: Level) -> float:
    """Return the standard error of a median (ln units)."""
    sd = (level.high - level.low) / QUARTILES / level.median
    return MEDIAN_ERROR * sd / math.sqrt(level.n)
