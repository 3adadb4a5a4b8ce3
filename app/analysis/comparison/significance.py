"""From summaries of all benchmarks to p-values, intervals and q-values.

Two one-sided tests a benchmark, for worse and for better, each beyond the minimum effect. The paired and the unpaired
test are combined by the Cauchy combination, which holds whatever their dependence and loses next to nothing against
the better of the two. Over the benchmarks, the false-discovery rate is controlled in each direction: with no change
anywhere, a check fails with at most that probability.

Sources: Y. Liu and J. Xie, Cauchy combination test, JASA 115 (2020); Y. Benjamini and Y. Hochberg, Controlling the
false discovery rate, JRSS B 57 (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.comparison.moderation import moderated
from app.analysis.comparison.summaries import Estimate, Summary
from app.analysis.student import quantile, upper_tail

PAIRED_SHARE = 0.2
"""Weight of the paired test beside the unpaired one, which has twice the degrees of freedom: where pairing helps much,
a fifth of the weight costs little, and where it does not, it raises fewer false alarms."""

INTERVAL_ALPHA = 0.05
"""1 − level of the interval that is shown, and that `no_regression` rests on."""


@dataclass(frozen=True, eq=False)
class _Test:
    """One kind of estimate of every benchmark, shape (cases,); freedom is 0 where there is none."""

    effect: Array
    error: Array
    freedom: Array

    @property
    def exists(self) -> NDArray[np.bool_]:
        return self.freedom > 0

    def upper(self, least: Array | float) -> Array:
        """Return the probability of an effect as large if the true one were `least`; 1 without an estimate."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (self.effect - least) / self.error
        t = np.where(self.error > 0, t, np.copysign(np.inf, self.effect - least))
        t = np.where((self.error == 0) & (self.effect == least), 0.0, t)
        p: Array = np.where(self.exists, upper_tail(t, np.maximum(self.freedom, 1.0)), 1.0)
        return p

    def half_width(self) -> Array:
        """Return half the width of the interval; nan without an estimate."""
        reach = quantile(1 - INTERVAL_ALPHA / 2, np.maximum(self.freedom, 1.0))
        width: Array = np.where(self.exists, reach * self.error, np.nan)
        return width


@dataclass(frozen=True, eq=False)
class Significance:
    """What the values of all benchmarks say; arrays of shape (cases,), effects positive where head is larger.

    `larger` and `smaller` are one-sided p-values beyond the minimum effect, `p_value` two-sided against no effect.
    `low` and `high` bound the interval; nan where there is none.
    """

    effect: Array
    p_value: Array
    larger: Array
    smaller: Array
    low: Array
    high: Array


def significance_of(summaries: Sequence[Summary], minimum_effect: Array) -> Significance:
    """Return p-values and intervals of all benchmarks.

    Args:
        summaries: of every benchmark.
        minimum_effect: on each one's working scale, shape (cases,), ≥ 0.
    """
    paired = _test_of(summaries, lambda s: s.paired, lambda s: s.paired_effect, count=2.0)
    unpaired = _test_of(summaries, lambda s: s.unpaired, lambda s: s.effect or 0.0, count=1.0)
    mirrored = [_Test(-test.effect, test.error, test.freedom) for test in (paired, unpaired)]
    above = _combined(paired.upper(0.0), unpaired.upper(0.0), paired.exists)
    below = _combined(mirrored[0].upper(0.0), mirrored[1].upper(0.0), paired.exists)
    best = _Test(
        *(
            np.where(paired.exists, a, b)
            for a, b in zip(vars(paired).values(), vars(unpaired).values(), strict=True)
        )
    )
    half = best.half_width()
    return Significance(
        effect=best.effect,
        p_value=np.minimum(2 * np.minimum(above, below), 1.0),
        larger=_combined(paired.upper(minimum_effect), unpaired.upper(minimum_effect), paired.exists),
        smaller=_combined(
            mirrored[0].upper(minimum_effect), mirrored[1].upper(minimum_effect), paired.exists
        ),
        low=best.effect - half,
        high=best.effect + half,
    )


def q_values(p_values: Array) -> Array:
    """Return the smallest false-discovery rate at which each of the tests, shape (m,), would be significant."""
    m = len(p_values)
    order = np.argsort(p_values)[::-1]
    ranked = p_values[order] * m / np.arange(m, 0, -1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(ranked)
    return np.minimum(q, 1.0)


def _test_of(
    summaries: Sequence[Summary],
    estimate_of: Callable[[Summary], Estimate | None],
    effect_of: Callable[[Summary], float],
    count: float,
) -> _Test:
    """Return one kind of test; `count` values make one difference, and so many variances of rounding."""
    estimates = [estimate_of(summary) or Estimate(0.0, 0.0, 0.0) for summary in summaries]
    variance, freedom, factor = (
        np.array(column) for column in zip(*(vars(e).values() for e in estimates), strict=True)
    )
    variance, freedom = moderated(variance, freedom)
    floor = np.array([summary.floor for summary in summaries])
    error = np.sqrt(np.maximum(variance, count * floor**2) * factor)
    return _Test(np.array([effect_of(summary) for summary in summaries]), error, freedom)


def _combined(paired: Array, unpaired: Array, both: NDArray[np.bool_]) -> Array:
    """Return the Cauchy combination where both tests exist, else the unpaired one."""
    smallest = 1e-15
    a, b = (np.clip(p, smallest, 1 - smallest) for p in (paired, unpaired))
    with np.errstate(divide="ignore"):
        mean = PAIRED_SHARE / np.tan(np.pi * a) + (1 - PAIRED_SHARE) / np.tan(np.pi * b)
    together: Array = np.arctan2(1.0, mean) / np.pi
    return np.where(both, together, unpaired)
