"""The comparers under test: what each says of every case of a check. A new one is a function and a line in `COMPARERS`.

The classical ones are what people use: a t-test a case, as it is or corrected for the number of cases, ranks with
control of the false-discovery rate, a threshold on the means. The clairvoyant knows each case's true noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from app.analysis.comparison.results import BenchmarkValues
from benchmarks.detection.checks import Check
from benchmarks.detection.densities import Array

ALPHA = 0.05
THRESHOLD = 0.05


@dataclass(frozen=True)
class Comparer:
    """A comparer: `compare(check)` answers a verdict a case, in the order of `check.benchmarks`.

    `intervals(check)` answers the 95 % intervals of ln(head / base), shape (cases, 2); None if it has none.
    """

    name: str
    title: str
    compare: Callable[[Check], list[str]]
    intervals: Callable[[Check], Array] | None = None


def _verdicts(effect: Array, significant: Array) -> list[str]:
    return [
        ("regressed" if e > 0 else "improved") if sure else "inconclusive"
        for e, sure in zip(effect, significant, strict=True)
    ]


def _welch(check: Check) -> tuple[Array, Array, Array]:
    """Return estimate, two-sided p-value, and half width of the 95 % interval of ln(head) − ln(base)."""
    from scipy import stats

    base, head = np.log(check.base), np.log(check.head)
    parts = [side.var(axis=1, ddof=1) / check.blocks for side in (base, head)]
    error = np.sqrt(parts[0] + parts[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        df = error**4 / ((parts[0] ** 2 + parts[1] ** 2) / (check.blocks - 1))
    df = np.nan_to_num(df, nan=check.blocks - 1)
    effect = head.mean(axis=1) - base.mean(axis=1)
    return effect, _two_sided(effect, error, df), stats.t.ppf(0.975, df) * error


def _two_sided(effect: Array, error: Array, df: Array | int) -> Array:
    """Return Student's p-value; values without any noise differ for certain, or not at all."""
    from scipy import stats

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(2 * stats.t.sf(np.abs(effect) / error, df), nan=1.0)


def _welch_intervals(check: Check) -> Array:
    effect, _, half = _welch(check)
    return np.stack([effect - half, effect + half], axis=1)


def t_test(check: Check) -> list[str]:
    """Welch's t-test of the logarithms at 0.05, whatever the number of cases."""
    effect, p, _ = _welch(check)
    return _verdicts(effect, p < ALPHA)


def t_bonferroni(check: Check) -> list[str]:
    """Welch's t-test at 0.05 over the number of cases."""
    effect, p, _ = _welch(check)
    return _verdicts(effect, p < ALPHA / len(p))


def paired_bonferroni(check: Check) -> list[str]:
    """The t-test of the pairs at 0.05 over the number of cases."""
    mean, error = _paired(check)
    return _verdicts(mean, _two_sided(mean, error, check.blocks - 1) < ALPHA / len(mean))


def _paired(check: Check) -> tuple[Array, Array]:
    """Return mean and standard error of the pairs."""
    return check.pairs.mean(axis=1), check.pairs.std(axis=1, ddof=1) / math.sqrt(check.blocks)


def _paired_intervals(check: Check) -> Array:
    from scipy import stats

    mean, error = _paired(check)
    half = stats.t.ppf(0.975, check.blocks - 1) * error
    return np.stack([mean - half, mean + half], axis=1)


def mann_whitney_bh(check: Check) -> list[str]:
    """Mann-Whitney's ranks, with Benjamini-Hochberg at 0.05 over the cases."""
    from scipy import stats

    p = stats.mannwhitneyu(check.head, check.base, axis=1).pvalue
    effect = np.median(np.log(check.head), axis=1) - np.median(np.log(check.base), axis=1)
    return _verdicts(effect, stats.false_discovery_control(p) < ALPHA)


def threshold(check: Check) -> list[str]:
    """Means more than 5 % apart."""
    effect = check.head.mean(axis=1) / check.base.mean(axis=1) - 1
    return _verdicts(effect, np.abs(effect) > THRESHOLD)


def clairvoyant(check: Check) -> list[str]:
    """Mean of the pairs without their nuisance over its true standard error, 0.05 a side over the number of cases."""
    effect = (check.pairs - check.hidden).mean(axis=1)
    return _verdicts(effect, np.abs(effect) / check.sd > NormalDist().inv_cdf(1 - ALPHA / len(effect)))


def _clairvoyant_intervals(check: Check) -> Array:
    effect, half = (check.pairs - check.hidden).mean(axis=1), NormalDist().inv_cdf(0.975) * check.sd
    return np.stack([effect - half, effect + half], axis=1)


def _ours() -> Comparer:
    from app.analysis.comparison import compare

    def verdicts(check: Check) -> list[str]:
        return [found.verdict.value for found in compare(benchmarks_of(check))]

    def intervals(check: Check) -> Array:
        found = compare(benchmarks_of(check))
        return np.log1p([[one.ci_low, one.ci_high] for one in found])

    return Comparer("ours", "Ratchet", verdicts, intervals)


def benchmarks_of(check: Check) -> list[BenchmarkValues]:
    """Return a check as `ratchet compare` reads it: no history, blocks by name."""
    names = [str(block) for block in range(check.blocks)]
    return [
        BenchmarkValues(name, *(tuple(zip(names, side.tolist(), strict=True)) for side in (base, head)))
        for name, base, head in zip(check.benchmarks, check.base, check.head, strict=True)
    ]


def _of(
    name: str, title: str, compare: Callable[[Check], list[str]], intervals=None
) -> Callable[[], Comparer]:
    return lambda: Comparer(name, title, compare, intervals)


COMPARERS: dict[str, Callable[[], Comparer]] = {
    "ours": _ours,
    "t_test": _of("t_test", "t-test at 0.05", t_test, _welch_intervals),
    "t_bonferroni": _of("t_bonferroni", "t-test, Bonferroni", t_bonferroni, _welch_intervals),
    "paired": _of("paired", "paired t, Bonferroni", paired_bonferroni, _paired_intervals),
    "mann_whitney": _of("mann_whitney", "Mann-Whitney, BH", mann_whitney_bh),
    "threshold": _of("threshold", "threshold 5 %", threshold),
    "clairvoyant": _of("clairvoyant", "clairvoyant", clairvoyant, _clairvoyant_intervals),
}
"""name -> how it is made."""


@dataclass(frozen=True)
class CheckScore:
    """Counts over checks; they add up."""

    checks: int = 0
    flat_checks: int = 0
    flat_failed: int = 0
    """Flat checks with any `regressed`."""
    flat_marked: int = 0
    """Flat checks with any `regressed` or `improved`."""
    changes: int = 0
    found: int = 0
    """Changes whose verdict says the right direction."""
    wrong: int = 0
    """Unchanged cases called changed, in all checks."""
    covered: int = 0
    intervals: int = 0

    def __add__(self, other: CheckScore) -> CheckScore:
        """Return the counts of both."""
        return CheckScore(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def power(self) -> float:
        """Return the share of changes found."""
        return self.found / self.changes if self.changes else math.nan

    @property
    def false_failures(self) -> float:
        """Return the share of flat checks that would have failed."""
        return self.flat_failed / self.flat_checks if self.flat_checks else math.nan

    @property
    def coverage(self) -> float:
        """Return the share of intervals with the true effect inside; NaN without intervals."""
        return self.covered / self.intervals if self.intervals else math.nan


def score_check(check: Check, comparer: Comparer) -> CheckScore:
    """Return the counts of one check."""
    verdicts, truth = comparer.compare(check), check.truth
    if len(verdicts) != len(truth):
        raise ValueError(f"{comparer.name} answered {len(verdicts)} verdicts for {len(truth)} cases")
    changed = [(v, t) for v, t in zip(verdicts, truth, strict=True) if t != "no_regression"]
    marks = [
        v
        for v, t in zip(verdicts, truth, strict=True)
        if t == "no_regression" and v in ("regressed", "improved")
    ]
    covered = inside(check, comparer.intervals(check)) if comparer.intervals else np.zeros(0)
    return CheckScore(
        checks=1,
        flat_checks=int(not changed),
        flat_failed=int(not changed and "regressed" in marks),
        flat_marked=int(not changed and bool(marks)),
        changes=len(changed),
        found=sum(v == t for v, t in changed),
        wrong=len(marks),
        covered=int(covered.sum()),
        intervals=len(covered),
    )


def inside(check: Check, intervals: Array) -> Array:
    """Return for each case whether the true effect lies in its interval."""
    return (intervals[:, 0] <= check.effect) & (check.effect <= intervals[:, 1])
