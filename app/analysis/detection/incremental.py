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
from numpy.lib.stride_tricks import sliding_window_view

from app.analysis.arrays import Array, row_medians
from app.analysis.detection.boundaries import SHORTEST
from app.analysis.detection.changes import examine
from app.analysis.detection.results import ChangePoint, Episode, Examination

TAIL = 200
"""Points that are looked at, at the least, of a series that has them."""

STRIDE = 50
"""The tail's beginning moves by so many points at a time: it has up to `TAIL` + `STRIDE` − 1 points."""

ENOUGH = 100
"""Points since a settled change from which on they are looked at alone."""

MARGIN = 10
"""Points at the beginning of a tail in which no change is told: too few show the level before it."""

FAR = 6.0
"""Standard deviations off the level before from which on runs that do not last are a spike; they are back at the level
when less than half of that is left."""

BACK = 2
"""Points back at the level that end a spike, and points beside a spike whose level it still blurs."""

RECENT = 20
"""Newest points among which spikes are looked for: a regime, and what must come before and after one."""

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

    A change is confirmed only when enough points are at its new level, and none is told of a spike that has reverted.
    A level that comes back is told as such even if it has gone away and come back before: whether the code or the
    machine did it is measured.

    Args:
        tail: finite values of the rows from `begin` on, shape (n − begin,), in the order of their commits.
        begin: the first row of the tail; 0 examines the whole series.
        minimum_effect: smaller changes, as shares, are none.
    """
    if len(tail) < FEWEST:
        return Examination()
    rows = np.arange(begin, begin + len(tail))
    found = examine(tail, rows, minimum_effect=minimum_effect, with_excursions=False)
    first = MARGIN if begin else 0
    spikes = _recent_spikes(tail, found, minimum_effect)
    points = [
        _with_standing(tail, point)
        for point in found.change_points
        if point.index >= first and not any(_is_part(point, spike) for spike in spikes)
    ]
    others = [
        episode
        for episode in found.episodes
        if episode.start >= MARGIN
        and (episode.kind != "spike" or _has_reverted(tail, episode))
        and not any(_meet(episode, spike) for spike in spikes)
    ]
    episodes = sorted([*others, *spikes], key=lambda episode: episode.start)
    return replace(
        found,
        change_points=tuple(
            replace(p, index=p.index + begin, start=p.start + begin, end=p.end + begin) for p in points
        ),
        episodes=tuple(replace(e, start=e.start + begin, end=e.end + begin) for e in episodes),
    )


def _with_standing(tail: Array, point: ChangePoint) -> ChangePoint:
    """Return the change as suspected if too few points are nearer to its new level than to the old one."""
    since = tail[point.index :]
    nearer = np.abs(since - point.after) < np.abs(since - point.before)
    return point if int(nearer.sum()) >= SHORTEST else replace(point, standing="suspected")


def _has_reverted(tail: Array, spike: Episode) -> bool:
    """Tell whether enough points after the spike are nearer to the level before it than to the spike's own."""
    level = float(np.median(tail[spike.start - MARGIN : spike.start]))
    height = float(np.median(tail[spike.start : spike.end])) - level
    after = np.abs(tail[spike.end : spike.end + BACK] - level)
    return len(after) == BACK and bool((after < abs(height) / 2).all())


def _recent_spikes(tail: Array, found: Examination, minimum_effect: float) -> list[Episode]:
    """Return runs of far values among the newest points that are followed by points back at the level before."""
    if not found.noise or not found.relative or len(tail) <= MARGIN:
        return []
    y = np.log(tail)
    far = max(FAR * found.noise, float(np.log1p(minimum_effect)))
    first = max(MARGIN, len(y) - RECENT)
    levels = row_medians(sliding_window_view(y[first - MARGIN : -1], MARGIN))
    spikes, i = [], first
    while i < len(y):
        level = float(levels[i - first])
        height = float(y[i]) - level
        if abs(height) <= far:
            i += 1
            continue
        share = (y[i:] - level) / height
        length = int(np.argmax(share < 0.5)) or len(share)
        back = np.abs(share[length : length + BACK]) < 0.5
        if 2 <= length < SHORTEST and len(back) == BACK and bool(back.all()):
            size = float(np.expm1(np.median(y[i : i + length]) - level))
            spikes.append(Episode(i, i + length, "spike", size))
            i += length
        i += 1
    return spikes


def _is_part(point: ChangePoint, spike: Episode) -> bool:
    return spike.start - BACK <= point.index <= spike.end + BACK


def _meet(one: Episode, other: Episode) -> bool:
    return one.start <= other.end and other.start <= one.end
