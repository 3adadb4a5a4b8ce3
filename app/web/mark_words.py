"""What is marked in a trend, in words: for whoever points at it, and for the lists below the picture."""

from __future__ import annotations

from typing import Any

from app.reports import mark_words as words
from app.services.read_marks import FailedRun, TrendBudget, TrendEpoch, TrendMarks, VoidPoint


def epoch_words(epoch: TrendEpoch) -> str:
    """Return what changed about the machine."""
    facts = [(fact.name, fact.before, fact.after) for fact in epoch.changes]
    return words.epoch_words(facts, is_back=epoch.is_back)


def void_words(point: VoidPoint) -> str:
    """Return how many of a point's values do not count, and why."""
    return words.void_words(point.n_void, point.n_values, point.reasons)


def failed_words(run: FailedRun) -> str:
    """Return why a run brought no point."""
    return words.failed_words(run.verdict, run.reason)


def limits(budget: TrendBudget | None) -> list[tuple[float, bool]]:
    """Return the limits of a budget, each with whether it is the smallest value allowed."""
    if budget is None:
        return []
    both = ((budget.max, False), (budget.min, True))
    return [(limit, is_minimum) for limit, is_minimum in both if limit is not None]


def budget_labels(budget: TrendBudget | None, unit: str) -> list[str]:
    """Return its limits in words."""
    return [words.budget_words(limit, unit, is_minimum=is_minimum) for limit, is_minimum in limits(budget)]


def script_words(marks: TrendMarks, unit: str) -> dict[str, Any]:
    """Return the words that the script shows: of epochs, runs without a point and limits, and of reasons by code."""
    reasons = {reason for point in marks.void for reason in point.reasons or ()}
    return {
        "epochs": [epoch_words(epoch) for epoch in marks.epochs],
        "failed": [failed_words(run) for run in marks.failed],
        "budget": budget_labels(marks.budget, unit),
        "reasons": {reason: words.reason_words(reason) for reason in sorted(reasons)},
    }
