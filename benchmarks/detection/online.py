"""Alarms while a series grows: what a detector says after every new point.

A detector without an online form is run again on every prefix. It alarms at a point when it then reports a change
farther than `SAME` points from every change that it has alarmed for before; that an index wanders by less as points
arrive is no new alarm, and that a change is taken back is none either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from benchmarks.detection.densities import Array
from benchmarks.detection.generator import Series
from benchmarks.detection.scoring import TOLERANCE

Detect = Callable[[Array], list[int]]
Alarm = tuple[int, int]
"""(index of the newest point when it was raised, index of the change it claims)."""
Online = Callable[[Array], list[Alarm]]

FIRST = 30
"""Points of the first prefix that is looked at."""
SAME = 5
"""Points within which two reported changes are one."""


def by_prefixes(detect: Detect, first: int = FIRST) -> Online:
    """Return the online form of `detect`: on every prefix of at least `first` points."""

    def online(values: Array) -> list[Alarm]:
        alarms: list[Alarm] = []
        for end in range(first, len(values) + 1):
            for index in detect(values[:end]):
                if all(abs(index - known) > SAME for _, known in alarms):
                    alarms.append((end - 1, index))
        return alarms

    return online


def delay(series: Series, alarms: Iterable[Alarm]) -> float:
    """Return points seen of the new level when the first alarm for it came: 1 = its first point; inf = never.

    Counts an alarm raised at or after the change that claims a change at most `SAME` points before it.
    """
    (change,) = series.changes
    after = [at - change + 1 for at, index in alarms if at >= change and index >= change - SAME]
    return min(after, default=math.inf)


def delay_by_prefixes(series: Series, detect: Detect) -> float:
    """Return the delay of a detector without online form; it is run on prefixes from the change on, until it alarms.

    What it reports there before the first new point is no alarm for the change.
    """
    (change,) = series.changes
    known = detect(series.values[:change])
    for end in range(change + 1, len(series.values) + 1):
        for index in detect(series.values[:end]):
            if index >= change - SAME and all(abs(index - other) > SAME for other in known):
                return end - change
    return math.inf


def false_alarms(series: Series, alarms: Iterable[Alarm]) -> int:
    """Return how many alarms claim a change where a flat series has none, or before the one that it has."""
    first = series.changes[0] - TOLERANCE if series.changes else len(series.values)
    return sum(index < first for _, index in alarms)
