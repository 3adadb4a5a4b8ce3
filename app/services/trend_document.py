"""A trend as plain JSON values: the points as columns of equal length, what else there is as lists of documents."""

from __future__ import annotations

from typing import Any

from app.services.read_marks import FailedRun, TrendBudget, TrendEpoch, VoidPoint
from app.services.read_trend import Trend, TrendChange
from app.services.series_document import series_document


def trend_document(trend: Trend) -> dict[str, Any]:
    """Return the trend; `row` of points and changes counts from the oldest of the history's `n` points, 0.

    `first` and `last` are the rows shown, `thinned` says whether any between them is left out.

    Values, bounds and limits are in the series' unit, times are in UTC, sizes of changes are after/before − 1.
    """
    points, marks = trend.points, trend.marks
    return {
        "series": series_document(trend.series, trend.case, trend.project),
        "branch": trend.branch,
        "branches": list(trend.branches),
        "n": trend.n,
        "first": trend.rows.start,
        "last": trend.rows.stop - 1,
        "thinned": trend.is_thinned,
        "points": {
            "row": points.row,
            "value": points.value,
            "low": points.low,
            "high": points.high,
            "n": points.n,
            "commit": points.sha,
            "subject": points.subject,
            "author": points.author,
            "time": points.time,
            "run": points.run,
            "flags": points.flags,
        },
        "changes": [_change(change) for change in trend.changes],
        "machines": marks.n_machines,
        "epochs": [_epoch(epoch) for epoch in marks.epochs],
        "control": {
            "row": marks.control.row,
            "deviation": marks.control.deviation,
            "thinned": marks.control.is_thinned,
        },
        "void": [_void(point) for point in marks.void],
        "failed": [_failed(run) for run in marks.failed],
        "budget": None if marks.budget is None else _budget(marks.budget),
    }


def _change(its: TrendChange) -> dict[str, Any]:
    return {
        "id": its.id,
        "row": its.row,
        "commit": its.sha,
        "previous": its.previous_sha,
        "kind": its.kind,
        "state": its.state,
        "worse": its.is_worse,
        "machine": its.is_machine,
        "change": its.change,
        "ci_low": its.low,
        "ci_high": its.high,
        "before": its.before,
        "after": its.after,
    }


def _epoch(its: TrendEpoch) -> dict[str, Any]:
    return {
        "row": its.row,
        "commit": its.sha,
        "returned": its.is_back,
        "changes": [{"name": fact.name, "before": fact.before, "after": fact.after} for fact in its.changes],
    }


def _void(its: VoidPoint) -> dict[str, Any]:
    reasons = None if its.reasons is None else list(its.reasons)
    return {"row": its.row, "n_void": its.n_void, "n_values": its.n_values, "reasons": reasons}


def _failed(its: FailedRun) -> dict[str, Any]:
    return {
        "row": its.row,
        "commit": its.sha,
        "run": its.run,
        "verdict": its.verdict,
        "reason": its.reason,
    }


def _budget(its: TrendBudget) -> dict[str, Any]:
    return {"benchmark": its.benchmark, "max": its.max, "min": its.min}
