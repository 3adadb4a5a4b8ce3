"""Stored numbers, read back: the series of a project, and the points of one.

Nothing is judged here. The order of points is that of their arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.services.access import Principal
from app.services.paging import page_end
from app.services.query_changes import standing_changes
from app.services.query_runs import run_name
from app.services.series_document import series_document, visible_series
from app.services.visibility import visible_project, visible_projects
from app.store.repositories import explorer
from app.store.repositories import series as series_rows
from app.store.repositories.explorer import Sought
from app.store.tables import Commit, Result


def list_series(
    session: Session,
    principal: Principal | None,
    chosen: Mapping[str, str],
    *,
    words: Sequence[str] = (),
    after: int | None = None,
    limit: int,
) -> dict[str, Any]:
    """Return `{series, more, next}`: the series with all words and values, their number of points and the newest one.

    Args:
        session: the session.
        principal: who reads.
        chosen: values of `explorer.FACETS` by their names.
        words: each is somewhere in a series' project, benchmark, parameters, metric or device class.
        after: the series that the page before ended with.
        limit: the most series; `next` is the last one where there are more.

    Raises NotFoundError for an unknown project.
    """
    if "project" in chosen:
        visible_project(session, principal, chosen["project"])
    sought = Sought(tuple(words), dict(chosen), visible_projects(principal))
    rows = explorer.find(session, sought, limit=limit + 1, after=after)
    shown = rows[:limit]
    ids = [row.id for row, _, _ in shown]
    counts, newest = series_rows.counts(session, ids), series_rows.newest(session, ids)
    documents = [
        series_document(row, case, its_project)
        | {"n": counts.get(row.id, 0), "last": _last(*newest[row.id]) if row.id in newest else None}
        for row, case, its_project in shown
    ]
    return {"series": documents} | page_end(len(rows) > limit, ids)


def series_points(
    session: Session,
    principal: Principal | None,
    series_id: int,
    *,
    before: int | None = None,
    limit: int,
    with_values: bool,
) -> dict[str, Any]:
    """Return `{series, points, changes, more, next}`: the newest points, oldest first, and the changes that stand.

    Args:
        session: the session.
        principal: who reads.
        series_id: the series.
        before: the result that the page before began with; None for the newest points.
        limit: the most points, and the most changes; `next` is the first result of the page where there are older ones.
        with_values: whether points have their kept values.

    Raises NotFoundError.
    """
    row, case, its_project = visible_series(session, principal, series_id)
    found = series_rows.points(session, series_id, before=before, limit=limit + 1)
    rows = found[-limit:]
    points = [_point(result, commit) for result, commit in rows]
    if with_values:
        kept = series_rows.values(session, [result.id for result, _ in rows])
        for point, (result, _) in zip(points, rows, strict=True):
            point["values"] = kept.get(result.id, [])
    return (
        {"series": series_document(row, case, its_project), "points": points}
        | standing_changes(session, row, limit=limit)
        | page_end(len(found) > limit, [result.id for result, _ in reversed(rows)])
    )


def _last(result: Result, commit: Commit) -> dict[str, Any]:
    return {"commit": commit.sha, "time": _time(result, commit), "value": result.value}


def _point(result: Result, commit: Commit) -> dict[str, Any]:
    return {
        "commit": commit.sha,
        "branch": commit.branch,
        "time": _time(result, commit),
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "n": result.n,
        "arm": result.arm,
        "run": run_name(result),
        "flags": result.flags,
        "measured_at": result.measured_at,
    }


def _time(result: Result, commit: Commit) -> Any:
    """Return the commit's time; where nobody said it, when the result was measured or received."""
    return commit.authored_at or result.measured_at
