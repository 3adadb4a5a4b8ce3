"""What is marked in a trend, in words: for whoever points at it, and for the lists below the picture."""

from __future__ import annotations

from typing import Any

from app.domain.units import format_quantity
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.fingerprints import FactChange
from app.reports.words import VERDICTS, count
from app.services.read_marks import FailedRun, TrendBudget, TrendEpoch, TrendMarks, VoidPoint
from app.web.sentences import reason_sentence

_FAILURES = {verdict.value: VERDICTS[verdict].name for verdict in (Verdict.HEAD_FAILS, Verdict.BASE_FAILS)}
"""Verdicts that say more than that there is no point."""

_FACTS = 3
"""Facts of an epoch that are told in a sentence."""


def fact_words(change: FactChange) -> str:
    """Return what became of a fact: `driver 550.54 → 560.28`."""
    return f"{change.name} {change.before} → {change.after}"


def epoch_words(epoch: TrendEpoch) -> str:
    """Return what changed about the machine."""
    told = [fact_words(change) for change in epoch.changes[:_FACTS]]
    more = len(epoch.changes) - len(told)
    words = ", ".join([*told, *([f"{more} more"] if more else [])])
    return f"{'A machine of before is back' if epoch.is_back else 'Another machine'}: {words}"


def void_words(point: VoidPoint) -> str:
    """Return how many of a point's values do not count, and why."""
    why = "; ".join(map(_reason, point.reasons or ()))
    told = f"{point.n_void} of {count(point.n_values, 'value')} void"
    return f"{told}: {why}" if why else told


def _reason(code: str | None) -> str:
    """Return a reason as it stands within a sentence."""
    told = reason_sentence(code)
    return f"{told[:1].lower()}{told[1:]}"


def failed_words(run: FailedRun) -> str:
    """Return why a run brought no point."""
    said = _FAILURES.get(run.verdict or "", "")
    told = ": ".join(part for part in (said, _reason(run.reason)) if part)
    return f"{told[:1].upper()}{told[1:]}" or "No value of it counts"


def budget_words(limit: float, unit: str, *, is_minimum: bool) -> str:
    """Return a limit as it is drawn."""
    return f"budget: at {'least' if is_minimum else 'most'} {format_quantity(limit, unit)}"


def limits(budget: TrendBudget | None) -> list[tuple[float, bool]]:
    """Return the limits of a budget, each with whether it is the smallest value allowed."""
    if budget is None:
        return []
    both = ((budget.max, False), (budget.min, True))
    return [(limit, is_minimum) for limit, is_minimum in both if limit is not None]


def told(marks: TrendMarks) -> dict[str, Any]:
    """Return the words that the script shows: of each epoch, of each run without a point, and of reasons by code."""
    reasons = {reason for point in marks.void for reason in point.reasons or ()}
    return {
        "epochs": [epoch_words(epoch) for epoch in marks.epochs],
        "failed": [failed_words(run) for run in marks.failed],
        "reasons": {reason: _reason(reason) for reason in sorted(reasons)},
    }


def percent(deviation: float) -> str:
    """Return how far the control is off, with its sign."""
    return quantities.change(deviation)
