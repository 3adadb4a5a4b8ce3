"""A check's results in the order in which they matter, and how many there are of each kind.

Here effects are turned so that positive is worse, whatever the metric's direction: the natural logarithm of
head/base for lower-is-better metrics, its negative for the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.jobs import TERMINAL
from app.domain.results import Better, CaseVerdict, CheckResult, SuiteResult, case_label
from app.domain.verdicts import Verdict
from app.reports.case_text import deciding_bound
from app.reports.quantities import finite
from app.reports.words import VERDICTS

WITHOUT_EFFECT = frozenset(
    {Verdict.HEAD_FAILS, Verdict.BASE_FAILS, Verdict.NOT_MEASURED, Verdict.NEW, Verdict.REMOVED}
)
"""Verdicts that are told in words, because there is no change to show."""

UNMEASURED = frozenset({Verdict.NOT_MEASURED, Verdict.BASE_FAILS})

_URGENCY = {verdict: rank for rank, verdict in enumerate(VERDICTS)}


@dataclass(frozen=True)
class Finding:
    """One metric of one case together with the suite and device class that it was measured in."""

    suite: SuiteResult
    case: CaseVerdict

    @property
    def label(self) -> str:
        """The case as people read it, without its metric."""
        return case_label(self.case.benchmark, self.case.params)

    @property
    def name(self) -> str:
        """Case and metric: `bert[batch=32]/latency_p50`."""
        return f"{self.label}/{self.case.metric}"

    @property
    def effect(self) -> float | None:
        """How much worse head is, in ln units; None without an estimate."""
        return worse_ln(self.case.change, self.case.better)

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The interval of `effect`, lower bound first; None on a side that is unbounded."""
        return worse_bounds(self.case.ci_low, self.case.ci_high, self.case.better)

    @property
    def bound(self) -> float | None:
        """How much worse head can be at most, where `no_regression` rests on that [ln units]; else None."""
        return worse_ln(deciding_bound(self.case), self.case.better)


@dataclass(frozen=True)
class Tally:
    """How many gating results there are of each verdict, and jobs that listed no case at all."""

    verdicts: Counter[Verdict | None]
    unmeasured_jobs: int

    @property
    def compared(self) -> int:
        """Results that count: everything except new and removed cases, and one for each unmeasured job."""
        listed = self.verdicts[Verdict.NEW] + self.verdicts[Verdict.REMOVED]
        return self.verdicts.total() - listed + self.unmeasured_jobs

    @property
    def unmeasured(self) -> int:
        """Results without a comparison, unmeasured jobs included."""
        return sum(self.verdicts[verdict] for verdict in UNMEASURED) + self.unmeasured_jobs

    @property
    def settled(self) -> int:
        """Results that have any verdict, unmeasured jobs included."""
        return self.compared - self.verdicts[None]


def worse_ln(change: float | None, better: Better) -> float | None:
    """Return a raw change (head/base − 1) as ln units with positive = worse; None where it has no logarithm."""
    value = finite(change)
    if value is None or value <= -1:
        return None
    return math.log1p(value) if better == "lower" else -math.log1p(value)


def worse_bounds(low: float | None, high: float | None, better: Better) -> tuple[float | None, float | None]:
    """Return the interval of a raw change in ln units with positive = worse, lower bound first."""
    bounds = worse_ln(low, better), worse_ln(high, better)
    return bounds if better == "lower" else bounds[::-1]


def gating(result: CheckResult) -> list[Finding]:
    """Return the results that the conclusion is drawn from, worst first."""
    return worst_first(f for f in findings(result) if f.case.gating)


def with_verdict(result: CheckResult, verdict: Verdict) -> list[Finding]:
    """Return the gating results that have this verdict, worst first."""
    return [f for f in gating(result) if f.case.verdict is verdict]


def exploratory(result: CheckResult) -> list[Finding]:
    """Return the results that are shown but do not count, worst first."""
    return worst_first(f for f in findings(result) if not f.case.gating)


def findings(result: CheckResult) -> list[Finding]:
    """Return every result of a check, in the order of its suites."""
    return [Finding(suite, case) for suite in result.suites for case in suite.cases]


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Sort by verdict of failure, then by effect, then by name; those without an effect come last."""
    return sorted(found, key=_rank)


def most_pressing(found: Iterable[Finding]) -> list[Finding]:
    """Sort by verdict in the order of `words.VERDICTS`, and worst first within each."""
    return sorted(worst_first(found), key=lambda f: _URGENCY[f.case.verdict])


def tally(result: CheckResult) -> Tally:
    """Count the gating results of a check."""
    counted = Counter(f.case.verdict for f in findings(result) if f.case.gating)
    return Tally(counted, sum(is_unmeasured_job(suite) for suite in result.suites))


def is_unmeasured_job(suite: SuiteResult) -> bool:
    """Tell whether a job has ended, or can never begin, without a single gating case."""
    return suite.state in TERMINAL and not any(case.gating for case in suite.cases)


def spans_jobs(result: CheckResult) -> bool:
    """Tell whether a result needs its suite and device class named: the check has more than one job."""
    return len(result.suites) > 1


def job_label(result: CheckResult, suite: SuiteResult) -> str:
    """Return what tells a job from the check's others: its suite, its device class, or both; empty for the only one."""
    suites, classes = {s.name for s in result.suites}, {s.device_class for s in result.suites}
    parts = [suite.name] if len(suites) > 1 else []
    return " on ".join(parts + ([suite.device_class] if len(classes) > 1 else []))


def _rank(finding: Finding) -> tuple[bool, bool, float, str]:
    effect = finding.effect
    return (
        finding.case.verdict is not Verdict.REGRESSED,
        effect is None,
        -(effect or 0.0),
        finding.name,
    )
