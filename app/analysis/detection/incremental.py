"""A growing series, examined after each new point: only its last few hundred points are looked at.

What is far behind the newest point was examined when it was new. The tail begins where the last settled change does, if
that leaves enough points to tell the noise by, so that old levels do not blur the new one; else at a multiple of
`STRIDE`, so that old points are not judged anew in each of many slightly different windows, any of which could raise a
false alarm. The price: what shows only over more points than the tail has (a change far below the noise, a ramp over
hundreds of commits) is found by an examination of the whole series alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from app.analysis.detection.changes import examine
from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.analysis.detection.signal import Array

TAIL = 200
"""Points that are looked at, at the least, of a series that has them."""

STRIDE = 50
"""The tail's beginning moves by so many points at a time: it has up to `TAIL` + `STRIDE` − 1 points."""

ENOUGH = 100
"""Points since a settled change from which on they are looked at alone."""

MARGIN = 10
"""Points at the beginning of a tail in which no change is told: too few show the level before it."""

FEWEST = 10
"""Points of a series below which nothing is told: noise that was seen in so few runs is not known."""


def begin_of_tail(n: int, settled: Iterable[int] = ()) -> int:
    """Return the row from which on a series of `n` points is examined after an append.

    Args:
        n: points of the whole series, the new ones included.
        settled: rows at which confirmed changes begin.
    """
    latest = max((row for row in settled if row <= n - ENOUGH), default=0)
    return max(0, (n - TAIL) // STRIDE * STRIDE, latest)


def examine_tail(tail: Array, begin: int = 0, *, minimum_effect: float = 0.0) -> Examination:
    """Return what the end of a series shows; rows count from the beginning of the whole series.

    Args:
        tail: finite values of the rows from `begin` on, shape (n − begin,), in the order of their commits.
        begin: the first row of the tail; 0 examines the whole series.
        minimum_effect: smaller changes, as shares, are none.
    """
    if len(tail) < FEWEST:
        return Examination()
    found = examine(tail, np.arange(begin, begin + len(tail)), minimum_effect=minimum_effect)
    first = MARGIN if begin else 0
    return replace(
        found,
        change_points=tuple(_moved(p, begin) for p in found.change_points if p.index >= first),
        episodes=tuple(_moved_episode(e, begin) for e in found.episodes if e.start >= first),
    )


def _moved(point: ChangePoint, by: int) -> ChangePoint:
    return replace(point, index=point.index + by, start=point.start + by, end=point.end + by)


def _moved_episode(episode: Episode, by: int) -> Episode:
    return replace(episode, start=episode.start + by, end=episode.end + by)
