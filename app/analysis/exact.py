"""Exact comparison of metrics that the same code gives again and again: memory, recompiles, sizes, accuracy.

No statistics and no interval: medians are compared after the first block, against the metric's tolerance. A
metric that turns out to vary is handed back, and is then sampled like a time. The method is our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.domain.results import Better
from app.domain.verdicts import Verdict

MIN_VALUES = 2
"""Values of each arm that an exact comparison needs: those of the first block."""


@dataclass(frozen=True)
class ExactComparison:
    """The outcome of an exact comparison.

    `effect` is in ln units, positive = worse, and infinite where one median is zero. `change` is head/base −
    1; it is None where base is zero and head is not (`from_zero`).
    """

    verdict: Verdict
    effect: float
    change: float | None
    from_zero: bool = False


def is_countable(value: float) -> bool:
    """Tell whether `value` can be compared exactly: finite and not negative; zero counts."""
    return 0 <= value < math.inf


def compare_exact(
    base: Sequence[float], head: Sequence[float], better: Better, tolerance: float
) -> ExactComparison | None:
    """Return how head's median compares with base's, or None if the metric varies too much to say.

    It varies too much when base differs from itself by more than `tolerance`, or when the medians differ by
    more than `tolerance` but not by more than that and what an arm differs from itself together: a metric
    that is only nearly deterministic must not fail a check by its noise.

    Args:
        base: at least `MIN_VALUES` finite values ≥ 0.
        head: the same of the other arm.
        better: which direction of the metric is better.
        tolerance: the change that is still no regression (ln units).
    """
    spread = max(_range(base), _range(head))
    if _range(base) > tolerance:
        return None
    before, after = median(base), median(head)
    effect = _distance(before, after) if better == "lower" else -_distance(before, after)
    if tolerance < abs(effect) <= tolerance + spread:
        return None
    from_zero = before == 0 and after > 0
    change = None if from_zero else after / before - 1 if before else 0.0
    return ExactComparison(_verdict(effect, tolerance), effect, change, from_zero)


def _verdict(effect: float, tolerance: float) -> Verdict:
    if effect > tolerance:
        return Verdict.REGRESSED
    return Verdict.IMPROVED if effect < -tolerance else Verdict.NO_REGRESSION


def _range(values: Sequence[float]) -> float:
    return _distance(min(values), max(values))


def _distance(start: float, end: float) -> float:
    """Return ln(end/start) with 0 → 0 as no distance and 0 ↔ positive as an infinite one."""
    if start == end:
        return 0.0
    if start == 0 or end == 0:
        return math.inf if start == 0 else -math.inf
    return math.log(end) - math.log(start)
