"""Change points read back: those of a series, those of a project, and the measurements that would settle suspicions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.changes import STANDING, ChangeState
from app.domain.notices import Acceptance
from app.domain.results import Better
from app.services.access import Principal
from app.services.paging import page_end
from app.services.series_document import series_document, visible_series
from app.services.visibility import visible_project
from app.store.repositories import changes, origins
from app.store.repositories.changes import ChangeContext
from app.store.tables import ChangePoint, Job, Series


def series_changes(
    session: Session,
    principal: Principal | None,
    series_id: int,
    *,
    states: Collection[ChangeState],
    before: int | None = None,
    limit: int,
) -> dict[str, Any]:
    """Return `{series, changes, more, next}`: the change points of one series, in the order of its history.

    Args:
        session: the session.
        principal: who reads.
        series_id: the series.
        states: only these; empty means those that stand, suspected and confirmed.
        before: only those with smaller ids: with `next`, the list goes on.
        limit: the newest so many.

    Raises NotFoundError.
    """
    row, case, project = visible_series(session, principal, series_id)
    found = changes.find(
        session, series_id=series_id, states=states or STANDING, before=before, limit=limit + 1
    )
    return {
        "series": series_document(row, case, project),
        "changes": _in_order(_documents(session, found[:limit])),
    } | _page_end(found, limit)


def _page_end(found: Sequence[ChangeContext], limit: int) -> dict[str, Any]:
    return page_end(len(found) > limit, [context.change.id for context in found[:limit]])


def standing_changes(session: Session, series: Series, *, limit: int) -> dict[str, Any]:
    """Return `{changes}`: the newest `limit` changes of the series that stand, in the order of its history."""
    found = changes.find(session, series_id=series.id, states=STANDING, limit=limit)
    return {"changes": _in_order(_documents(session, found))}


def _in_order(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(documents, key=lambda change: (change["branch"], change["index"], change["id"]))


def project_changes(
    session: Session,
    principal: Principal | None,
    project: str,
    *,
    states: Collection[ChangeState],
    since: datetime | None,
    before: int | None = None,
    limit: int,
) -> dict[str, Any]:
    """Return `{project, changes, more, next}`: the change points of all series of the project, the newest first.

    `since` leaves out what was neither first seen nor moved to another state then or later; for the rest see
    `series_changes`. Raises NotFoundError for an unknown project.
    """
    its_project = visible_project(session, principal, project)
    found = changes.find(
        session,
        project_id=its_project.id,
        states=states or STANDING,
        since=since,
        before=before,
        limit=limit + 1,
    )
    documents = [
        change | {"series": series_document(context.series, context.case, context.project)}
        for change, context in zip(_documents(session, found[:limit]), found, strict=False)
    ]
    return {"project": its_project.name, "changes": documents} | _page_end(found, limit)


def wanted_measurements(
    session: Session, principal: Principal | None, project: str, *, before: int | None, limit: int
) -> dict[str, Any]:
    """Return `{project, wanted, more, next}`: what to measure and post so that suspicions are settled.

    For every suspicion that our own agents do not measure just now: its commit, and the one before it.

    Args:
        session: the session.
        principal: who reads.
        project: its name.
        before: only suspicions with smaller ids: with the last one's, the list goes on.
        limit: the newest so many suspicions.

    Raises NotFoundError for an unknown project.
    """
    its_project = visible_project(session, principal, project)
    found = changes.wanted(session, its_project.id, before=before, limit=limit + 1)
    wanted = [entry for context in found[:limit] for entry in _wanted(context)]
    return {"project": its_project.name, "wanted": wanted} | _page_end(found, limit)


def _wanted(context: ChangeContext) -> Iterator[dict[str, Any]]:
    change, series, case = context.change, context.series, context.case
    seen = _size(change, series.unit)
    for sha, why in (
        (context.commit.sha, f"suspected to have changed {series.metric} {seen}"),
        (context.previous.sha, f"the commit before {context.commit.sha[:12]}, suspected {seen}"),
    ):
        yield {
            "commit": sha,
            "benchmark": case.benchmark,
            "params": case.params,
            "metric": series.metric,
            "unit": series.unit,
            "better": series.better,
            "device_class": series.device_class,
            "branch": change.branch,
            "series": series.id,
            "change": change.id,
            "why": why,
        }


def _size(change: ChangePoint, unit: str) -> str:
    levels = f"from {change.before:.6g} to {change.after:.6g} {unit}".removesuffix(" 1")
    return levels if change.change is None else f"by {change.change:+.2%}, {levels}"


def _documents(session: Session, found: Sequence[ChangeContext]) -> list[dict[str, Any]]:
    jobs, ids = _jobs(session, found), [context.change.id for context in found]
    accepted, pulls = origins.acceptances(session, ids), origins.pulls_of(session, ids)
    return [
        {
            **_document(context, jobs.get(context.change.request_id or 0)),
            "pull_request": pulls.get(context.change.id),
            "acceptance": _accepted(accepted.get(context.change.id)),
        }
        for context in found
    ]


def _accepted(its: Acceptance | None) -> dict[str, Any] | None:
    return {"by": its.by, "reason": its.reason, "at": its.at, "pull_request": its.number} if its else None


def _jobs(session: Session, found: Sequence[ChangeContext]) -> dict[int, Job]:
    requests = {context.change.request_id for context in found if context.change.request_id is not None}
    return changes.jobs_of(session, requests) if requests else {}


def _document(context: ChangeContext, job: Job | None) -> dict[str, Any]:
    change = context.change
    return {
        "id": change.id,
        "branch": change.branch,
        "commit": context.commit.sha,
        "previous": context.previous.sha,
        "index": change.index,
        "end": context.end.sha,
        "end_index": change.end_index,
        "kind": change.kind,
        "state": change.state,
        "before": change.before,
        "after": change.after,
        "change": change.change,
        "worse": is_worse(change, context.series.better),
        "ci_low": change.ci_low,
        "ci_high": change.ci_high,
        "p_value": change.p_value,
        "reason": change.reason,
        "label": change.label,
        "evidence": change.evidence,
        "corrects": change.corrects_id,
        "measurement": {"job": job.id, "state": job.state} if job else None,
        "first_seen_at": change.first_seen_at,
        "examined_at": change.examined_at,
        "confirmed_at": change.confirmed_at,
        "closed_at": change.closed_at,
    }


def is_worse(change: ChangePoint, better: Better | str) -> bool | None:
    """Say whether the level moved the wrong way; None for what is no lasting change of level."""
    return moved_worse(change.before, change.after, better)


def moved_worse(before: float | None, after: float | None, better: Better | str) -> bool | None:
    """Say whether this is the wrong way; None where there are no two levels."""
    if before is None or after is None:
        return None
    return (after > before) == (better == "lower")
