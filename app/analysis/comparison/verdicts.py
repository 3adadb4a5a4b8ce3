"""Has head changed a benchmark? From the values of a whole check to one verdict a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.analysis.comparison.results import TOO_LARGE, BenchmarkValues, Comparison
from app.analysis.comparison.significance import Significance, q_values, significance_of
from app.analysis.comparison.summaries import Summary, summary_of
from app.domain.results import Better
from app.domain.verdicts import Verdict

FALSE_DISCOVERY_RATE = 0.05
"""Share of false verdicts among those of one direction; with no change at all, probability of any."""


def compare(
    benchmarks: Sequence[BenchmarkValues],
    *,
    better: Better = "lower",
    minimum_effect: float = 0.0,
    tolerance: float = 0.02,
) -> list[Comparison]:
    """Return the comparison of every benchmark of a check, in order.

    Args:
        benchmarks: with finite values.
        better: which direction is better.
        minimum_effect: smaller changes are no verdict (a share of base).
        tolerance: `no_regression` says that nothing worse than this share is left in the interval.
    """
    if not benchmarks:
        return []
    summaries = [summary_of(values) for values in benchmarks]
    least = np.array([_on_scale(minimum_effect, summary) for summary in summaries])
    found = significance_of(summaries, least)
    larger, smaller = q_values(found.larger), q_values(found.smaller)
    worse, improved = (larger, smaller) if better == "lower" else (smaller, larger)
    comparisons = []
    for i, (values, summary) in enumerate(zip(benchmarks, summaries, strict=True)):
        verdict = Verdict.INCONCLUSIVE
        if summary.effect is not None:
            verdict = _verdict(worse[i], improved[i], within=_within(found, i, summary, better, tolerance))
        comparisons.append(_comparison(values, summary, found, i, float(min(worse[i], improved[i])), verdict))
    return comparisons


def _on_scale(share: float, summary: Summary) -> float:
    return math.log1p(share) if summary.is_log else share


def _within(found: Significance, i: int, summary: Summary, better: Better, tolerance: float) -> bool:
    """Tell whether the interval leaves nothing worse than the tolerance."""
    if better == "lower":
        return bool(found.high[i] < _on_scale(tolerance, summary))
    return bool(found.low[i] > (-math.log1p(tolerance) if summary.is_log else -tolerance))


def _verdict(worse: float, improved: float, *, within: bool) -> Verdict:
    if worse <= FALSE_DISCOVERY_RATE:
        return Verdict.REGRESSED
    if improved <= FALSE_DISCOVERY_RATE:
        return Verdict.IMPROVED
    return Verdict.NO_REGRESSION if within else Verdict.INCONCLUSIVE


def _comparison(
    values: BenchmarkValues, summary: Summary, found: Significance, i: int, q_value: float, verdict: Verdict
) -> Comparison:
    known = summary.effect is not None
    change, low, high = (_raw(end, summary) for end in (found.effect[i], found.low[i], found.high[i]))
    return Comparison(
        benchmark=values.benchmark,
        change=change,
        ci_low=low if change is not None else None,
        ci_high=high if change is not None else None,
        p_value=float(found.p_value[i]) if known else 1.0,
        q_value=q_value if known else 1.0,
        verdict=verdict,
        n_base=len(values.base),
        n_head=len(values.head),
        note=summary.note or (TOO_LARGE if change is None else ""),
    )


def _raw(effect: float, summary: Summary) -> float | None:
    """Return head/base − 1; None where it has no finite number, or the values allow none."""
    if summary.note:
        return None
    try:
        raw = math.expm1(effect) if summary.is_log else float(effect)
    except OverflowError:
        return None
    return raw if math.isfinite(raw) else None
