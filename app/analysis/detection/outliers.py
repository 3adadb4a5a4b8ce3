"""Single runs that lie far off: they may not move a level, however far off they are.

What does not last is measured from a running median. A little beyond the noise it is drawn in (Huber's loss), far
beyond it does not count at all (a redescending loss), so that neither heavy tails nor spikes make a change.

Sources: P. J. Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35 (1964);
P. Fearnhead and G. Rigaill, Changepoint detection in the presence of outliers, JASA 114 (2019), for why a bounded
loss is what change-point detection needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from app.analysis.arrays import Array

WINDOW = 9
"""Points of the running median: what lasts for four points or fewer is no regime."""

END_WINDOW = 5
"""Points of the median at the ends: three new ones at the end are already a level."""

DRAW_IN = 3.0
"""Standard deviations beyond which a value is drawn in."""

IGNORE = 8.0
"""Standard deviations beyond which a value does not count at all."""

_BULK = 0.4
"""Share of the sizes that is taken for noise whatever the others are: up to six of ten may hold a change."""
_BULK_SIZE = 0.5244
"""Size that this share of standard normal values does not exceed."""
_HUBER = 2.5
_HUBER_BIAS = 0.964
"""Mean square of a standard normal value whose size is cut at `_HUBER`."""
_RESIDUAL_TO_NOISE = 1.1
"""A value is nearer to a running median that it is part of than to the true level."""


def robust_sd(x: Array) -> float:
    """Return the standard deviation of values around 0 from their bulk, shape (n,), n ≥ 1.

    The root mean square of values cut at 2.5 normal standard deviations of their smaller sizes: as good as the plain
    one for normal values, and blind to how far outliers lie. Where many of them are 0, as of a coarse timer, the size
    of the largest tenth stands for the typical one; 0 if nine of ten are 0.
    """
    sizes = np.abs(x)
    bulk, high = int(len(sizes) * _BULK), len(sizes) * 9 // 10
    in_order = sizes.copy()
    in_order.partition(bulk)
    typical = float(in_order[bulk]) / _BULK_SIZE
    if typical <= 0:
        in_order.partition(high)
        typical = float(in_order[high])
    if typical <= 0:
        return 0.0
    np.minimum(sizes, _HUBER * typical, out=sizes)
    return math.sqrt(float(sizes @ sizes) / len(sizes) / _HUBER_BIAS)


def running_median(y: Array) -> Array:
    """Return the running median of `y`, shape (n,); at the ends the median of the outermost points there."""
    n, half = len(y), WINDOW // 2
    out = np.empty(n)
    if n >= WINDOW:
        out[half : n - half] = np.partition(sliding_window_view(y, WINDOW), half, axis=1)[:, half]
    near = min(END_WINDOW, n)
    for i in {*range(min(half, n)), *range(max(0, n - half), n)}:
        start = max(0, min(i - near // 2, n - near))
        out[i] = median(y[start : start + near].tolist())
    return out


@dataclass(frozen=True, eq=False)
class Bounded:
    """Values with what lies far off drawn in, and which of them were far beyond the noise; both of shape (n,)."""

    y: Array
    ignored: NDArray[np.bool_]

    def spikes(self) -> list[tuple[int, int]]:
        """Return runs of at least two neighbouring values that were ignored, half-open, that both came and went."""
        n = len(self.y)
        edges = np.diff(np.concatenate(([0], self.ignored.astype(np.int8), [0])))
        starts, ends = (edges == 1).nonzero()[0].tolist(), (edges == -1).nonzero()[0].tolist()
        return [
            (start, end)
            for start, end in zip(starts, ends, strict=True)
            if end - start >= 2 and start > 0 and end < n
        ]


def without_outliers(y: Array, floor: float) -> Bounded:
    """Return `y`, shape (n,), with values far from its running median drawn in or put on it."""
    level = running_median(y)
    rest = y - level
    sd = max(robust_sd(rest) * _RESIDUAL_TO_NOISE, floor)
    ignored = np.abs(rest) > IGNORE * sd
    kept = np.clip(rest, -DRAW_IN * sd, DRAW_IN * sd)
    kept[ignored] = 0.0
    return Bounded(level + kept, ignored)
