"""What a case's numbers read like wherever it is shown, in a table of HTML or of a terminal."""

from __future__ import annotations

from app.domain.results import CaseVerdict
from app.reports import quantities


def interval_text(case: CaseVerdict) -> str:
    """Return the interval of a case's change as it is shown: `exact` where the metric is compared exactly."""
    if quantities.finite(case.change) is None:
        return quantities.ABSENT
    return "exact" if case.kind == "exact" else quantities.interval(case.ci_low, case.ci_high)
