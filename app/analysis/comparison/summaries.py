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
from app.analysis.comparison.results import BASE_IS_ZERO, TOO_FEW, BenchmarkValues

DRAW_IN = 5.0
"""Robust standard deviations beyond which a value is drawn in."""

ENOUGH_TO_DRAW_IN = 7
"""Values of a side from which on its middle and spread are known well enough for that."""

_LEAST_MIDDLE = 1e-100
"""Size of base's middle beside the largest value below which nothing is told as a share of it."""

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
    values over the size of base's middle, or where that is next to nothing over the largest value; then, and without
    an effect, `note` says why there is no change to show. `paired` is None unless every value has its block on both
    sides; `unpaired` and `effect` are None where a side has fewer than two values. `floor` is the least standard
    deviation of a value.
    """

    is_log: bool
    effect: float | None = None
    paired: Estimate | None = None
    paired_effect: float = 0.0
    unpaired: Estimate | None = None
    floor: float = 0.0
    note: str = ""


def summary_of(values: BenchmarkValues) -> Summary:
    """Return the summary of one benchmark; a side may be empty."""
    base, head = (np.array([value for _, value in side]) for side in (values.base, values.head))
    is_log = bool(len(base) and len(head) and min(base.min(), head.min()) > 0)
    if len(base) < 2 or len(head) < 2:
        return Summary(is_log, note=TOO_FEW)
    base, head, note = (np.log(base), np.log(head), "") if is_log else _shares(base, head)
    bases, heads, floor = _drawn_in(base), _drawn_in(head), _floor(np.concatenate((base, head)))
    effect, unpaired = heads.mean - bases.mean, _unpaired(bases, heads)
    rows = _blocks(values)
    if len(rows) < max(len(base), len(head)):
        return Summary(is_log, effect, unpaired=unpaired, floor=floor, note=note)
    differences = _drawn_in(np.array([head[h] - base[b] for b, h in rows]))
    paired = Estimate(differences.variance, differences.freedom, 1 / len(rows))
    return Summary(is_log, effect, paired, differences.mean, unpaired, floor, note)


def _shares(base: Array, head: Array) -> tuple[Array, Array, str]:
    """Return both sides over the size of base's middle, and why they are over the largest value if they are.

    They are divided by the largest first: sums of the largest floats there are have no number.
    """
    largest = float(np.abs(np.concatenate((base, head))).max()) or 1.0
    base, head = base / largest, head / largest
    middle = float(abs(np.median(base)))
    return (base, head, BASE_IS_ZERO) if middle < _LEAST_MIDDLE else (base / middle, head / middle, "")


def _floor(values: Array) -> float:
    steps = np.diff(np.sort(values))
    steps = steps[steps > 0]
    return float(steps.min()) * ROUNDING_SD if len(steps) else 0.0


class _Drawn(NamedTuple):
    """A side drawn in: mean, variance of one value and its degrees of freedom (those drawn in tell nothing of it)."""

    n: int
    mean: float
    variance: float
    freedom: float


def _drawn_in(values: Array) -> _Drawn:
    n, middle = len(values), float(np.median(values))
    rest, inside = values - middle, n  # a mean of equal values may be off by rounding, that of zeros is not
    if n >= ENOUGH_TO_DRAW_IN:
        reach = DRAW_IN * MAD_TO_SD * float(np.median(np.abs(rest)))
        far = int((np.abs(rest) > reach).sum())
        if reach > 0 and n - far >= 2:
            rest, inside = np.clip(rest, -reach, reach), n - far
    variance = float(rest.var(ddof=1)) * ((n - 1) / (inside - 1)) ** 2
    return _Drawn(n, middle + float(rest.mean()), variance, inside - 1.0)


def _unpaired(base: _Drawn, head: _Drawn) -> Estimate:
    """Return the estimate of two samples: with one variance where theirs are alike, else Welch's."""
    factor = 1 / base.n + 1 / head.n
    quiet, loud = sorted((base, head), key=lambda side: side.variance)
    if loud.variance <= ALIKE * quiet.variance or loud.variance == 0:
        freedom = base.freedom + head.freedom
        pooled = (base.freedom * base.variance + head.freedom * head.variance) / freedom
        return Estimate(pooled, freedom, factor)
    # Both shares of the error are relative to the louder variance: by themselves they may be too small for a float.
    of_quiet, of_loud = quiet.variance / loud.variance / quiet.n, 1 / loud.n
    error = of_quiet + of_loud
    freedom = error**2 / (of_quiet**2 / quiet.freedom + of_loud**2 / loud.freedom)
    return Estimate(loud.variance * (error / factor), freedom, factor)


def _blocks(values: BenchmarkValues) -> Sequence[tuple[int, int]]:
    """Return rows of base and head in the same block."""
    at = {block: i for i, (block, _) in enumerate(values.base) if block is not None}
    return [(at[block], i) for i, (block, _) in enumerate(values.head) if block is not None and block in at]
