"""Verdicts about one (case, metric), conclusions about a check: the words, and how one follows the other.

A conclusion is the first of its rows that holds over the gating verdicts. Where those come from:
docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MAX_OPEN_SHARE = 0.05
"""Over this share of unsettled gating verdicts a check cannot pass."""

MAX_HIDDEN_EFFECT = 0.10
"""An inconclusive verdict that could hide more than this keeps a check from passing (ln units)."""


class Verdict(StrEnum):
    """What is known about one metric of one case after a run."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    NO_REGRESSION = "no_regression"
    INCONCLUSIVE = "inconclusive"
    NEW = "new"
    REMOVED = "removed"
    HEAD_FAILS = "head_fails"
    BASE_FAILS = "base_fails"
    NOT_MEASURED = "not_measured"


class Conclusion(StrEnum):
    """What a check says as a whole."""

    REGRESSED = "regressed"
    NOT_MEASURED = "not_measured"
    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"


EXIT_STATUS = {
    Conclusion.PASSED: 0,
    Conclusion.REGRESSED: 1,
    Conclusion.NOT_MEASURED: 2,
    Conclusion.INCONCLUSIVE: 3,
}
"""Exit status of `ratchet check` for each conclusion."""


@dataclass(frozen=True)
class GatingVerdict:
    """The part of a verdict that a conclusion is drawn from; `could_hide` in ln units, None if unbounded."""

    verdict: Verdict
    could_hide: float | None = None


def conclude(gating: Iterable[GatingVerdict], *, unmeasured_jobs: int = 0) -> Conclusion:
    """Return the conclusion over the gating verdicts of a check.

    Cases that only one arm has are named to people and do not count here; but where head has no case at all,
    nothing was measured.

    Args:
        gating: every gating verdict of every suite and device class of the check.
        unmeasured_jobs: jobs that ended without listing a single case (no capacity, infrastructure);
            each counts as one gating verdict that was not measured.
    """
    verdicts = list(gating)
    counted = [v for v in verdicts if v.verdict not in (Verdict.NEW, Verdict.REMOVED)]
    if any(v.verdict in (Verdict.REGRESSED, Verdict.HEAD_FAILS) for v in counted):
        return Conclusion.REGRESSED
    total = len(counted) + unmeasured_jobs
    unmeasured = unmeasured_jobs + _count(counted, Verdict.NOT_MEASURED, Verdict.BASE_FAILS)
    nothing_ran = all(v.verdict is Verdict.REMOVED for v in verdicts)
    if nothing_ran or unmeasured > MAX_OPEN_SHARE * total:
        return Conclusion.NOT_MEASURED
    open_verdicts = [v for v in counted if v.verdict is Verdict.INCONCLUSIVE]
    if len(open_verdicts) > MAX_OPEN_SHARE * total or any(_could_hide_too_much(v) for v in open_verdicts):
        return Conclusion.INCONCLUSIVE
    return Conclusion.PASSED


def _count(verdicts: list[GatingVerdict], *wanted: Verdict) -> int:
    return sum(v.verdict in wanted for v in verdicts)


def _could_hide_too_much(verdict: GatingVerdict) -> bool:
    return verdict.could_hide is None or verdict.could_hide > MAX_HIDDEN_EFFECT
