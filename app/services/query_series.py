"""Stored numbers, read back: the series of a project, the points of one, and two commits side by side.

Nothing is judged here. The order of points is that of their arrival.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError, UsageError
from app.services.access import Principal
from app.services.query_changes import standing_changes
from app.services.query_runs import run_name
from app.services.series_document import series_document, visible_series
from app.services.visibility import visible_project
from app.store.repositories import projects
from app.store.repositories import series as series_rows
from app.store.tables import BenchmarkCase, Commit, Project, Result, Series

NOTE = (
    "A comparison of stored numbers, the newest of each series at each commit. It is no verdict: "
    "the two need not come from one machine at one time, and no noise was taken into account."
)

_PREFIX = re.compile(r"[0-9a-f]{7,64}")


def list_series(
    session: Session,
    principal: Principal | None,
    project: str,
    *,
    benchmark: str | None = None,
    metric: str | None = None,
    device_class: str | None = None,
    limit: int,
) -> dict[str, Any]:
    """Return `{series, more}`: the project's series with their number of points and the newest one.

    Raises NotFoundError for an unknown project.
    """
    its_project = visible_project(session, principal, project)
    rows = series_rows.find(
        session,
        its_project.id,
        benchmark=benchmark,
        metric=metric,
        device_class=device_class,
        limit=limit + 1,
    )
    shown = rows[:limit]
    ids = [row.id for row, _ in shown]
    counts, newest = series_rows.counts(session, ids), series_rows.newest(session, ids)
    documents = [
        series_document(row, case, its_project)
        | {"n": counts.get(row.id, 0), "last": _last(*newest[row.id]) if row.id in newest else None}
        for row, case in shown
    ]
    return {"series": documents, "more": len(rows) > limit}


def series_points(
    session: Session, principal: Principal | None, series_id: int, *, limit: int, with_values: bool
) -> dict[str, Any]:
    """Return `{series, points, changes}`: the newest points, oldest first, and the newest changes that stand.

    There are at most `limit` of both; points have their kept values if wanted. Raises NotFoundError.
    """
    row, case, its_project = visible_series(session, principal, series_id)
    rows = series_rows.points(session, series_id, limit=limit)
    points = [_point(result, commit) for result, commit in rows]
    if with_values:
        kept = series_rows.values(session, [result.id for result, _ in rows])
        for point, (result, _) in zip(points, rows, strict=True):
            point["values"] = kept.get(result.id, [])
    return {"series": series_document(row, case, its_project), "points": points} | standing_changes(
        session, row, limit=limit
    )


def compare_commits(
    session: Session, principal: Principal | None, project: str, *, base: str, head: str
) -> dict[str, Any]:
    """Return both commits' medians of every series, and the change head/base − 1 where both have one.

    Args:
        session: the session.
        principal: who reads.
        project: the project's name.
        base: a commit id, or at least seven digits of one.
        head: likewise.

    Raises:
        NotFoundError: there is no such project or commit.
        UsageError: a commit id is none, or it is ambiguous.
    """
    its_project = visible_project(session, principal, project)
    base_sha = _commit(session, its_project, "base", base)
    head_sha = _commit(session, its_project, "head", head)
    compared = [
        _compared(series_document(row, case, its_project), by_sha.get(base_sha), by_sha.get(head_sha))
        for row, case, by_sha in _by_series(session, its_project, (base_sha, head_sha))
    ]
    return {
        "project": its_project.name,
        "base": base_sha,
        "head": head_sha,
        "note": NOTE,
        "series": [pair for pair in compared if pair["base_run"] and pair["head_run"]],
        "only_base": [pair for pair in compared if not pair["head_run"]],
        "only_head": [pair for pair in compared if not pair["base_run"]],
    }


def _commit(session: Session, project: Project, name: str, text: str) -> str:
    prefix = text.lower()
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"{name}={text[:80]!r} is no commit: give at least 7 hexadecimal digits", code="bad_commit"
        )
    found = projects.commits_like(session, project.id, prefix)
    if not found:
        raise NotFoundError(f"{name}: {project.name!r} has no commit {prefix}")
    if len(found) > 1 and found[0].sha != prefix:
        raise UsageError(
            f"{name}: {prefix} is the beginning of several commits; give more digits", code="ambiguous_commit"
        )
    return found[0].sha


def _by_series(
    session: Session, project: Project, shas: tuple[str, str]
) -> Sequence[tuple[Series, BenchmarkCase, dict[str, Result]]]:
    results: dict[int, dict[str, Result]] = defaultdict(dict)
    rows = {}
    for row, case, sha, result in series_rows.at_commits(session, project.id, shas):
        results[row.id][sha] = result
        rows[row.id] = row, case
    return [(row, case, results[series_id]) for series_id, (row, case) in rows.items()]


def _compared(series: dict[str, Any], base: Result | None, head: Result | None) -> dict[str, Any]:
    return series | _side("base", base) | _side("head", head) | {"change": _change(base, head)}


def _side(name: str, result: Result | None) -> dict[str, Any]:
    return {
        f"{name}_median": result and result.value,
        f"{name}_n": result and result.n,
        f"{name}_run": result and run_name(result),
    }


def _change(base: Result | None, head: Result | None) -> float | None:
    if base is None or head is None or base.value == 0:
        return None
    change = head.value / base.value - 1
    return change if math.isfinite(change) else None


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
