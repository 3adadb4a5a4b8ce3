"""Two clock states: a machine that runs at one of two speeds, and takes the other one now and then.

The distance between the states is seen in neighbouring runs, whose differences are either noise or that distance.
Where two states are likely, each value is put on the lower one's level, so that the states are neither noise nor
changes; they are given up where a change comes out that the values do not show. The method is our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from app.analysis.arrays import MAD_TO_SD, Array, upper_median
from app.analysis.detection.outliers import robust_sd

MIN_POINTS = 30
"""Fewer points cannot tell two states from steps."""

MIN_SWITCHES = 6
"""A machine that changed its state fewer times may have changed for good."""

MIN_DISTANCE = 3.2
"""Standard deviations within a state by which the states must lie apart."""

VALLEY = 0.65
"""Largest density between the states, over the lower density at one of them. One broad law has no valley."""

MOST_AT_HALF = 3
"""Differences of about half the distance, over those of about the distance: one broad law has many."""

_WINDOW = 31
"""Points among which both states are to be found."""
_EVERY = 2
"""Points that share one window."""
_STRIDE = 3
"""Of a window's values every third is tried as the level."""
_CHUNK = 2048
"""Windows looked at in one go, which bounds memory."""


@dataclass(frozen=True, eq=False)
class States:
    """`distance` between the states; `y` with every value on the lower state's level, shape (n,)."""

    distance: float
    y: Array


def find_states(y: Array) -> States | None:
    """Return the two states that `y`, shape (n,), switches between; None without any."""
    if len(y) < MIN_POINTS:
        return None
    distance = _distance(y)
    if distance is None:
        return None
    level = _levels(y, distance)
    high = _is_high(y, level, distance)
    states = States(distance, y - distance * high)
    return states if _beyond_doubt(y, level, high, states) else None


def on_lower_state(y: Array, level: Array, distance: float) -> Array:
    """Return `y` with every value on the lower state's side of a known `level`; all of shape (n,)."""
    result: Array = y - distance * _is_high(y, level, distance)
    return result


def only_states_changed(y: Array, lowered: Array, boundaries: Sequence[int], distance: float) -> bool:
    """Tell whether a change is only one of which state was taken for the lower one: the values do not show it.

    Args:
        y: the values, shape (n,).
        lowered: the same, each on the lower state's level.
        boundaries: ascending places where that level was found to change.
        distance: between the states.
    """
    starts = np.array([0, *boundaries])
    lengths = np.diff([*starts, len(y)])
    told, seen = (np.diff(np.add.reduceat(of, starts) / lengths) for of in (lowered, y))
    return bool(((np.abs(told) > distance / 2) & (np.abs(seen) < np.abs(told) / 2)).any())


def _is_high(y: Array, level: Array, distance: float) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = np.abs(y - level - distance) < np.abs(y - level)
    return result


def _distance(y: Array) -> float | None:
    """Return how far neighbouring runs lie apart when they do: the upper of two classes of differences (Otsu's)."""
    sizes = np.sort(np.abs(y[1:] - y[:-1]))
    m = len(sizes)
    below = np.arange(1, m)
    above = m - below
    sums = sizes.cumsum()
    lower, upper = sums[:-1] / below, (sums[-1] - sums[:-1]) / above
    between = (below * above) * (upper - lower) ** 2
    between[(above < max(MIN_SWITCHES, 0.08 * m)) | (above > 0.7 * m)] = -1
    cut = int(between.argmax()) + 1
    if between[cut - 1] < 0:
        return None
    near, far = sizes[:cut], sizes[cut:]
    distance = float(far[len(far) // 2])
    noise = math.sqrt(float(near @ near) / cut)
    width = MAD_TO_SD * upper_median(np.abs(far - distance))
    if not (0 < 2.2 * noise <= distance and width <= 1.6 * noise):
        return None
    at_half, at_distance = (_count(sizes, share * distance, 0.15 * distance) for share in (0.5, 1.0))
    return distance if at_half <= MOST_AT_HALF * at_distance else None


def _count(in_order: Array, middle: float, half: float) -> int:
    low, high = np.searchsorted(in_order, (middle - half, middle + half))
    return int(high - low)


def _levels(y: Array, distance: float) -> Array:
    """Return the lower state's level around each point: that which the values of its window fit best."""
    half = _WINDOW // 2
    padded = np.concatenate((y[:half][::-1], y, y[-half:][::-1]))
    windows = sliding_window_view(padded, _WINDOW)[::_EVERY]
    parts = [_levels_of(windows[at : at + _CHUNK], distance) for at in range(0, len(windows), _CHUNK)]
    return np.repeat(np.concatenate(parts), _EVERY)[: len(y)]


def _levels_of(windows: Array, distance: float) -> Array:
    tried = windows[:, ::_STRIDE]
    cost, off, off_high = np.empty(tried.shape), np.empty(windows.shape), np.empty(windows.shape)
    for i in range(tried.shape[1]):
        np.subtract(windows, tried[:, i, None], out=off)
        np.subtract(off, distance, out=off_high)
        np.minimum(np.abs(off, out=off), np.abs(off_high, out=off_high), out=off)
        cost[:, i] = np.minimum(off, distance / 2, out=off).sum(axis=1)
    level = tried[np.arange(len(tried)), np.argmin(cost, axis=1)][:, None]
    lowered = windows - distance * _is_high(windows, level, distance)
    lowered.partition(_WINDOW // 2, axis=1)
    result: Array = lowered[:, _WINDOW // 2]
    return result


def _beyond_doubt(y: Array, level: Array, high: NDArray[np.bool_], states: States) -> bool:
    switches = int(np.count_nonzero(high[1:] != high[:-1]))
    if switches < MIN_SWITCHES or not 0.05 < high.mean() < 0.95:
        return False
    within = robust_sd(np.diff(states.y)) / math.sqrt(2)
    if states.distance < MIN_DISTANCE * within:
        return False
    where = (y - level) / states.distance
    third = 1 / 3
    between = np.mean((where > third) & (where < 2 * third))
    at_one = min(np.mean(np.abs(where) < third / 2), np.mean(np.abs(where - 1) < third / 2))
    return bool(between <= VALLEY * at_one)
