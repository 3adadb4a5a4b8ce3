"""What a device is good for, from measurements of a commit against itself: its grade, and the least that it can show.

Where nobody measures in pairs, two neighbouring points of a history stand for a pair.

`judge.grade_of` grades a check by its own pairs, with the same thresholds; here it is the device that is graded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median
from types import MappingProxyType
from typing import Final

from app.analysis.judge import Grade, grade_of

LARGEST_SD: Final = MappingProxyType(
    {0.0025: 0.00228, 0.005: 0.0046, 0.01: 0.0096, 0.02: 0.0198, 0.03: 0.0296, 0.05: 0.0488, 0.10: 0.0954}
)
"""Of a change (head/base − 1) the largest standard deviation of pair effects (ln units) with which it is found.

Found: the sequential rule says `regressed` within 32 pairs in at least 95 of 100 runs, for a single metric at alpha
0.01, no minimum effect, no early `no_regression`, and the prior that the deviation gives (`g_from_history`). From
200,000 simulated runs for each, rounded down; a test simulates them again.
"""

POWER = 0.95
PAIRS = 32

STEP_SDS: Final = 2.3
"""The smallest step, in standard deviations of a point (ln units), that the newest ten points of a history show.

Of 60 points, 50 of them before the step: it was found there in about 90 of 100 simulated histories with independent
normal noise, one half as large hardly ever; a test simulates them again.
"""

STEP_POINTS = 10

FEWEST_POINTS = 8
"""Points of a history from which on their noise is told."""

_MAD, _MEAN_DEVIATION = 1.4826, 1.2533
"""A normal standard deviation over its median, and its mean, absolute deviation."""


def grade_of_device(sigma_pair: float | None, *, exclusive: bool, clocks_locked: bool) -> Grade | None:
    """Return a device's grade from the pair standard deviation of its nightly A/A (ln units).

    A: for measuring alone, clocks locked, at most 0.5 %. B: for measuring alone, at most 2 %. C: all others, and every
    device that is shared, however quiet it was that night. None for a device of its own that nobody has measured.
    """
    if not exclusive:
        return "C"
    return grade_of(sigma_pair, clocks_locked=clocks_locked)


def smallest_effect(sigma_pair: float) -> float | None:
    """Return the smallest change (head/base − 1) of a fixed list that would be found; None if the largest would not.

    Args:
        sigma_pair: standard deviation of the effects of pairs of a commit with itself (ln units), ≥ 0.

    Raises:
        ValueError: it is negative or not a number.
    """
    if not sigma_pair >= 0:
        raise ValueError(f"{sigma_pair!r} is no standard deviation of pairs")
    return next((change for change, largest in LARGEST_SD.items() if sigma_pair <= largest), None)


def sd_between_neighbours(values: Sequence[float]) -> float | None:
    """Return the robust standard deviation of ln(next/previous) over a history: as of pairs, with drift in it.

    A few steps and spikes do not count. None for fewer than eight values, and where one is not above zero.
    """
    if len(values) < FEWEST_POINTS or min(values) <= 0:
        return None
    apart = [abs(math.log(after / before)) for before, after in pairwise(values)]
    return median(apart) * _MAD or fmean(apart) * _MEAN_DEVIATION


def smallest_step(sd_of_neighbours: float) -> float:
    """Return the smallest lasting change (head/base − 1) that ten new points of a history show (`STEP_SDS`)."""
    return math.expm1(STEP_SDS * sd_of_neighbours / math.sqrt(2))
