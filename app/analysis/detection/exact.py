"""Changes of a metric that the same code gives again and again: memory, recompiles, sizes. No statistics.

The first value that differs from the level by more than the tolerance is a change, at once. One that comes back to the
level soon was a spike. The level of a regime is its first value, so that a slow creep adds up until it is told. A
series that varies all the time is handed back, to be examined like a time. The method is our own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

from app.analysis.detection.results import ChangePoint, Episode, Examination

LONGEST_SPIKE = 4
"""Points after which what has not come back is no spike: one fewer than a regime of a sampled series has."""

RESTLESS_SHARE = 5
"""A series that moves by more than the tolerance oftener than at every so manieth point is not exact."""

_FEW_MOVES = 4
"""Moves that any series may have without being called restless."""


def examine_exact(values: Sequence[float], tolerance: float) -> Examination | None:
    """Return the changes and spikes of an exact series; None if it varies too much to be one.

    Args:
        values: finite, one a commit, in the order of their commits; any number of them.
        tolerance: the change that is still none (ln units); a change of sign, or from or to zero, always exceeds it.
    """
    if _is_restless(values, tolerance):
        return None
    begins, spikes = _regimes(values, tolerance)
    in_spike = {i for start, end in spikes for i in range(start, end)}
    levels = [
        median(values[i] for i in range(start, end) if i not in in_spike)
        for start, end in itertools.pairwise([*begins, len(values)])
    ]
    return Examination(
        change_points=tuple(
            _change_point(index, before, after)
            for index, before, after in zip(begins[1:], levels, levels[1:], strict=False)
        ),
        episodes=tuple(_episode(values, start, end) for start, end in spikes),
        noise=0.0 if len(values) else None,
    )


def distance(start: float, end: float) -> float:
    """Return how far apart two values are (ln units): infinite between zero, positive and negative ones."""
    if start == end:
        return 0.0
    if start == 0 or end == 0 or (start > 0) != (end > 0):
        return math.inf
    return abs(math.log(abs(end)) - math.log(abs(start)))


def _is_restless(values: Sequence[float], tolerance: float) -> bool:
    moves = sum(distance(a, b) > tolerance for a, b in itertools.pairwise(values))
    return moves > max(_FEW_MOVES, len(values) / RESTLESS_SHARE)


def _regimes(values: Sequence[float], tolerance: float) -> tuple[list[int], list[tuple[int, int]]]:
    """Return where regimes begin, the first at 0, and the spikes between (half-open)."""
    begins, spikes, i = [0] if len(values) else [], [], 1
    while i < len(values):
        level = values[begins[-1]]
        if distance(level, values[i]) <= tolerance:
            i += 1
            continue
        soon = range(i + 1, min(i + 1 + LONGEST_SPIKE, len(values)))
        back = next((j for j in soon if distance(level, values[j]) <= tolerance), None)
        if back is None:
            begins.append(i)
            i += 1
        else:
            spikes.append((i, back))
            i = back
    return begins, spikes


def _change_point(index: int, before: float, after: float) -> ChangePoint:
    return ChangePoint(
        index=index,
        start=index,
        end=index,
        before=before,
        after=after,
        change=_share(before, after),
        ci_low=None,
        ci_high=None,
        p_value=0.0,
        kind="step",
        standing="confirmed",
    )


def _episode(values: Sequence[float], start: int, end: int) -> Episode:
    return Episode(start, end, "spike", _share(values[start - 1], median(values[start:end])))


def _share(before: float, after: float) -> float | None:
    """Return after/before − 1; None across or beside zero, and where the ratio is beyond all numbers."""
    share = after / before - 1 if math.isfinite(distance(before, after)) and before else math.nan
    return share if math.isfinite(share) else None
