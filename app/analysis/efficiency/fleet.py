"""Time of devices in a week, and what a sample of runs tells of all of them.

Pure arithmetic; times are in seconds of one device, so that two devices of a lease count twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

Z = 1.959964
"""Quantile of the normal distribution for 95 % on both sides."""


def span_there(
    start: datetime, end: datetime, *, since: datetime, last_seen: datetime, now: datetime, is_live: bool
) -> tuple[datetime, datetime]:
    """Return from when to when a device was there between `start` and `end`; the same moment twice where it was not.

    It counts from when it was registered (`since`) to when its worker was heard of last, of a live one until now. Of
    what was between nothing is kept: a worker that was away for a day and came back is taken to have been there.
    """
    first, last = max(start, since), min(end, now if is_live else last_seen)
    return first, max(first, last)


class Total(NamedTuple):
    """A total with the half width of its 95 % interval; that is 0 where nothing had to be estimated."""

    value: float
    half: float


def total_of_sample(amounts: Sequence[float], sizes: Sequence[float], n_all: int, size_all: float) -> Total:
    """Return what all runs come to, by a sample of them.

    The ratio estimator (Cochran 1977, Sampling Techniques, 6.2): what is told in proportion to device time, times the
    device time of all. A run that tells nothing counts with 0, so that the total is of those that tell something.
    Where the sample is all of them it is the plain sum.

    Args:
        amounts: what each run of the sample comes to.
        sizes: device time of each, in the same order [s].
        n_all: how many runs there are.
        size_all: the device time of all of them [s].
    """
    n = len(amounts)
    if n >= n_all or n == 0 or math.fsum(sizes) <= 0:
        return Total(math.fsum(amounts), 0.0)
    ratio = math.fsum(amounts) / math.fsum(sizes)
    if n == 1:
        return Total(ratio * size_all, ratio * size_all)
    rests = [amount - ratio * size for amount, size in zip(amounts, sizes, strict=True)]
    variance = math.fsum(rest * rest for rest in rests) / (n - 1)
    half = Z * n_all * math.sqrt((1 - n / n_all) * variance / n)
    return Total(ratio * size_all, half)


def weighted_mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Return the mean of the values that there are, by their weights; None where there is none."""
    known = [
        (value, weight)
        for value, weight in zip(values, weights, strict=True)
        if value is not None and weight > 0
    ]
    if not known:
        return None
    return math.fsum(value * weight for value, weight in known) / math.fsum(weight for _, weight in known)
