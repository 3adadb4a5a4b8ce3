"""A trend as plain JSON values: the points as columns of equal length, the changes as documents."""

from __future__ import annotations

from typing import Any

from app.services.read_trend import Trend, TrendChange
from app.services.series_document import series_document


def trend_document(trend: Trend) -> dict[str, Any]:
    """Return the trend; `row` of points and changes counts from the oldest of the history's `n` points, 0.

    `first` and `last` are the rows shown, `thinned` says whether any between them is left out.

    Values and bounds are in the series' unit, times are in UTC, sizes of changes are after/before − 1.
    """
    points = trend.points
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
