"""The week in one sentence: what a lead has to know who reads nothing else."""

from __future__ import annotations

from app.domain.results import case_label
from app.domain.weekly import Cause, Drift, Monthly
from app.domain.weekly_report import WeeklyReport
from app.reports import quantities
from app.reports.sentences import isolated, named_case
from app.reports.weekly import amounts
from app.reports.words import count


def headline(report: WeeklyReport) -> str:
    """Return the sentence, without markup."""
    changes = report.changes
    if not report.coverage.n_series:
        return "There is nothing to report on yet: no series has a point."
    if changes.n_waste:
        return f"{_standing(report)}{_cost(changes.waste_total)}."
    if changes.n_drifts:
        one = count(changes.n_drifts, "series drifts", "series drift")
        return f"No single commit made anything worse that still is, but {one} slowly for the worse."
    if not report.coverage.n_measured:
        return "Nothing was measured in this week, and no known loss stands."
    if changes.n_gains:
        return f"No known loss stands, and {count(changes.n_gains, 'change')} made something better."
    return "No known loss stands, and nothing has moved."


def second_sentence(report: WeeklyReport) -> str:
    """Return what the first sentence rests on, or what to do first."""
    changes = report.changes
    if changes.waste:
        return f"First: {_first(changes.waste[0])}"
    if changes.drifts:
        return f"First: {_drift(changes.drifts[0])}"
    if not report.coverage.n_series:
        return (
            "It fills by itself once benchmarks are measured, results are posted, or a history is imported."
        )
    if changes.gains:
        return f"Best: {_moved(changes.gains[0])}."
    return ""


def _standing(report: WeeklyReport) -> str:
    n, new = report.changes.n_waste, report.changes.n_new
    stands = f"{count(n, 'loss', 'losses')} {'stands' if n == 1 else 'stand'}"
    if not new:
        return f"{stands}, none of them new"
    if new == n:
        return f"{stands}, {'and it is' if n == 1 else 'all'} new in this week"
    return f"{stands}, {new} of them new"


def _cost(total: Monthly | None) -> str:
    told = amounts.amounts(total)
    return f": {told[0]} a month" if told else ""


def _first(cause: Cause) -> str:
    who = f"{isolated(cause.owner)} has it" if cause.owner else "nobody has taken it on"
    author = f" by {isolated(cause.commit.author)}" if cause.commit.author else ""
    return f"{_moved(cause)}, since {cause.commit.sha[:10]}{author}; {who}."


def _moved(cause: Cause) -> str:
    its = cause.worst.series
    told = amounts.amounts(cause.monthly) if cause.worst.effect > 0 else amounts.saved(cause.monthly)
    cost = f" ({told[0]} a month)" if told else ""
    case = named_case(case_label(its.benchmark, its.params))
    return f"{case} on {isolated(its.device_class)} {quantities.change(cause.worst.change)}{cost}"


def _drift(drift: Drift) -> str:
    its = drift.moved.series
    case = named_case(case_label(its.benchmark, its.params))
    change = quantities.change(drift.moved.change)
    return f"{case} on {isolated(its.device_class)} {change} since the week of {drift.since.monday:%-d %B}."
