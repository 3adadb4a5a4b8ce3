"""What one benchmark's values say by themselves: the effect, and two estimates of how sure it is.

Values of both sides that were measured next to each other (one block) share what the machine did then, so that their
differences may be quieter than the values; where they are not, all values together know the noise better. Both
estimates are kept, and `significance.py` combines them. Values far from their side's middle are drawn in.

Source: K. K. Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61 (1974), for what drawing in
costs in variance and degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.analysis.arrays import MAD_TO_SD, ROUNDING_SD, Array
from app.analysis.comparison.results import BenchmarkValues

DRAW_IN = 3.0
"""Robust standard deviations beyond which a value is drawn in."""

ENOUGH_TO_DRAW_IN = 10
"""Values of a side from which on its middle and spread are known well enough for that."""

ALIKE = 9.0
"""Largest ratio of two variances that are taken as one: few values of one law differ by more only now and then."""


@dataclass(frozen=True)
class Estimate:
    """A variance of single values (or of single differences), its degrees of freedom, and how the effect's follows.

    The effect's standard error is √(`variance` · `factor`).
    """

    variance: float
    freedom: float
    factor: float


@dataclass(frozen=True)
class Summary:
    """One benchmark on its working scale.

    `effect` is the mean of head less that of base: of logarithms where all values are positive (`is_log`), else of
    values over the size of base's middle. `paired` is None unless every value has its block on both sides; `unpaired`
    and `effect` are None where a side has fewer than two values. `floor` is the least standard deviation of a value.
    """

    is_log: bool
    effect: float | None = None
    paired: Estimate | None = None
    paired_effect: float = 0.0
    unpaired: Estimate | None = None
    floor: float = 0.0


def summary_of(values: BenchmarkValues) -> Summary:
    """Return the summary of one benchmark; a side may be empty."""
    base, head = (np.array([value for _, value in side]) for side in (values.base, values.head))
    is_log = bool(len(base) and len(head) and min(base.min(), head.min()) > 0)
    if len(base) < 2 or len(head) < 2:
        return Summary(is_log)
    base, head, floor = _on_scale(base, head, is_log=is_log)
    bases, heads = _drawn_in(base), _drawn_in(head)
    effect = float(heads.values.mean() - bases.values.mean())
    unpaired = _unpaired(bases, heads)
    rows = _blocks(values)
    if len(rows) < max(len(base), len(head)):
        return Summary(is_log, effect, unpaired=unpaired, floor=floor)
    differences = _drawn_in(np.array([head[h] - base[b] for b, h in rows]))
    paired = Estimate(differences.variance, differences.freedom, 1 / len(rows))
    return Summary(is_log, effect, paired, float(differences.values.mean()), unpaired, floor)


def _on_scale(base: Array, head: Array, *, is_log: bool) -> tuple[Array, Array, float]:
    size = float(abs(np.median(base))) or float(np.abs(np.concatenate((base, head))).max()) or 1.0
    base, head = (np.log(base), np.log(head)) if is_log else (base / size, head / size)
    steps = np.diff(np.sort(np.concatenate((base, head))))
    steps = steps[steps > 0]
    return base, head, float(steps.min()) * ROUNDING_SD if len(steps) else 0.0


class _Drawn(NamedTuple):
    """Values drawn in, with the variance of one and its degrees of freedom: those drawn in tell nothing of it."""

    values: Array
    variance: float
    freedom: float


def _drawn_in(values: Array) -> _Drawn:
    n = len(values)
    if n >= ENOUGH_TO_DRAW_IN:
        middle = float(np.median(values))
        reach = DRAW_IN * MAD_TO_SD * float(np.median(np.abs(values - middle)))
        far = int((np.abs(values - middle) > reach).sum())
        if reach > 0 and far and n - far >= 2:
            values = np.clip(values, middle - reach, middle + reach)
            inside = n - far - 1
            return _Drawn(values, float(values.var(ddof=1)) * ((n - 1) / inside) ** 2, inside)
    return _Drawn(values, float(values.var(ddof=1)), n - 1.0)


def _unpaired(base: _Drawn, head: _Drawn) -> Estimate:
    """Return the estimate of two samples: with one variance where theirs are alike, else Welch's."""
    factor = 1 / len(base.values) + 1 / len(head.values)
    freedom = base.freedom + head.freedom
    low, high = sorted((base.variance, head.variance))
    if high <= ALIKE * low or high == 0:
        pooled = (base.freedom * base.variance + head.freedom * head.variance) / freedom
        return Estimate(pooled, freedom, factor)
    shares = [(side.variance / len(side.values), side.freedom) for side in (base, head)]
    error = sum(share for share, _ in shares)
    return Estimate(error / factor, 1 / sum((share / error) ** 2 / d for share, d in shares), factor)


def _blocks(values: BenchmarkValues) -> Sequence[tuple[int, int]]:
    """Return rows of base and head in the same block."""
    at = {block: i for i, (block, _) in enumerate(values.base) if block is not None}
    return [(at[block], i) for i, (block, _) in enumerate(values.head) if block is not None and block in at]
