"""What a case's numbers read like wherever it is shown, in a table of HTML or of a terminal."""

from __future__ import annotations

from app.domain.results import CaseVerdict
from app.domain.verdicts import Verdict
from app.reports import quantities

BOUND_LEVEL = "95 %"
"""Level of the bound that `no_regression` rests on, 1 − `analysis.sequential.ALPHA_PASS`."""


def interval_text(case: CaseVerdict) -> str:
    """Return what a table says of how sure a case's change is: what its verdict rests on.

    `exact` where the metric is compared exactly, the one-sided bound where that settled it, else the interval.
    """
    if quantities.finite(case.change) is None:
        return quantities.ABSENT
    if case.kind == "exact":
        return "exact"
    bound = deciding_bound(case)
    if bound is None:
        return quantities.interval(case.ci_low, case.ci_high)
    return f"{'≤' if case.better == 'lower' else '≥'} {quantities.change(bound)}"


def deciding_bound(case: CaseVerdict) -> float | None:
    """Return the worst change that a `no_regression` leaves possible; None where something else settled the case."""
    is_bounded = case.verdict is Verdict.NO_REGRESSION and case.kind == "sampled"
    return quantities.finite(case.bound_pass) if is_bounded else None
