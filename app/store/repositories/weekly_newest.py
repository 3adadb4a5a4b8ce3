"""The newest numbers that series have by the end of a week, on their project's branch.

Of each series one look into the index of its history, backwards from its end: a week that has just ended is at the
first or second point of it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.store.repositories.sides import StoredNumber
from app.store.tables import Attempt, Commit, Device, Job, LeaseDevice, Run

MOST = 20_000
"""Series that one look reads."""


class NewestNumber(NamedTuple):
    """The newest number of a series, of a commit that was made at `at`; its place orders the branch's commits."""

    project_id: int
    project: str
    number: StoredNumber
    at: datetime


def newest(
    session: Session,
    project_ids: Collection[int],
    metrics: Collection[str] | None,
    *,
    since: datetime,
    before: datetime,
    device_classes: Collection[str] | None = None,
) -> list[NewestNumber]:
    """Return the newest number of each series of a commit before a moment, unless that commit is older than `since`.

    Of series with several versions of their benchmark each has its own; `MOST` series are looked at.

    Args:
        session: the session.
        project_ids: the projects.
        metrics: only series of these, None for all.
        since: the oldest commit that counts.
        before: the first moment that does not count.
        device_classes: only on these, None for all.
    """
    rows = session.execute(
        _NEWEST,
        {
            "projects": list(project_ids),
            "metrics": None if metrics is None else list(metrics),
            "classes": None if device_classes is None else list(device_classes),
            "since": since,
            "before": before,
            "most": MOST,
        },
    )
    return [NewestNumber(row[0], row[1], StoredNumber._make(row[3:]), row[2]) for row in rows]


class ClassOfProject(NamedTuple):
    """A device class of a project, and how many cases have series on it."""

    project_id: int
    device_class: str
    case_ids: list[int]


def classes(session: Session, project_ids: Collection[int]) -> list[ClassOfProject]:
    """Return the device classes of projects with the cases that have series there, by project and class."""
    rows = session.execute(_CLASSES, {"projects": list(project_ids)})
    return [ClassOfProject(*row) for row in rows]


class MeasuredRun(NamedTuple):
    """A run of ours: the commit of its arm base, and one of its devices with what tells its figures."""

    base_sha: str | None
    model: str
    kind: str
    fingerprint: dict[str, Any]


def measured_runs(session: Session, run_ids: Collection[int]) -> dict[int, MeasuredRun]:
    """Return what is known of runs, by their ids."""
    rows = session.execute(
        select(Run.id, Commit.sha, Device.model, Device.kind, Device.fingerprint)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .join(LeaseDevice, LeaseDevice.lease_id == Attempt.lease_id)
        .join(Device, Device.id == LeaseDevice.device_id)
        .join(Job, Job.id == Run.job_id)
        .outerjoin(Commit, Commit.id == Job.base_commit_id)
        .where(Run.id.in_(run_ids))
        .order_by(Run.id, Device.id.desc())
    )
    return {row[0]: MeasuredRun(*row[1:]) for row in rows}


# The walk ends at the first point whose commit is old enough.
_NEWEST = text(
    """
    select project.id, project.name, newest.at,
      series.id, case_id, benchmark, params, metric, unit, better, device_class, version,
      newest.value, newest.low, newest.high, newest.n, newest.run_id, newest.upload_id, newest.sha
    from (
      select series.* from series
      where project_id = any(cast(:projects as bigint[]))
        and (cast(:metrics as text[]) is null or metric = any(cast(:metrics as text[])))
        and (cast(:classes as text[]) is null or device_class = any(cast(:classes as text[])))
      order by id desc limit :most) as series
      join project on project.id = series.project_id
      join benchmark_case on benchmark_case.id = series.case_id
      cross join lateral (
        select result.value, result.low, result.high, result.n, result.run_id, result.upload_id, commit.sha,
          coalesce(commit.authored_at, commit.created_at) as at
        from result join commit on commit.id = result.commit_id
        where result.series_id = series.id and result.branch = project.branch and result.place is not null
          and coalesce(commit.authored_at, commit.created_at) < :before
        order by result.place desc, result.id desc limit 1) as newest
    where newest.at >= :since
    order by project.name, benchmark, params_key, device_class, metric, series.id
    """
)

_CLASSES = text(
    """
    select project_id, device_class, array_agg(distinct case_id) from series
    where project_id = any(cast(:projects as bigint[]))
    group by project_id, device_class order by project_id, device_class
    """
)
