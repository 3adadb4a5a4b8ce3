"""What was measured before a run: the run or upload that the points before its own come from."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.store.tables import Commit, Environment, Job, Run, Upload

FEW = 40
"""Results of a run whose histories are looked at: those of one run rarely come from several."""


class Before(NamedTuple):
    """The run or upload before another one, the arms of both that are points of the same history, and its commit."""

    run_id: int | None
    upload_id: int | None
    arm: str
    before_arm: str
    sha: str
    subject: str
    measured_at: datetime


def of_run(session: Session, run_id: int) -> Before | None:
    """Return what most of the run's histories had as the point before."""
    return _first(session, _BEFORE_RUN, run_id)


def of_upload(session: Session, upload_id: int) -> Before | None:
    """Return what most of the upload's histories had as the point before."""
    return _first(session, _BEFORE_UPLOAD, upload_id)


def _first(session: Session, query: str, its_id: int) -> Before | None:
    row = session.execute(text(query), {"id": its_id, "few": FEW}).one_or_none()
    return Before(*row) if row else None


# A result of no branch, as of a pull request's head, is held against the newest point of the project's own branch.
_BEFORE = """
    with its as (
      select result.id, series_id, arm,
        coalesce(result.branch, project.branch) as branch, coalesce(place, 'infinity') as place
      from result
        join series on series.id = result.series_id
        join project on project.id = series.project_id
      where result.{column} = :id
      order by result.branch is null, arm desc, result.id limit :few)
    select before.run_id, before.upload_id, its.arm, before.arm, commit.sha, commit.subject, max(before.measured_at)
    from its
      cross join lateral (
        select * from result as earlier
        where earlier.series_id = its.series_id and earlier.branch = its.branch and earlier.place <= its.place
          and (earlier.id < its.id or earlier.place < its.place and its.place < 'infinity')
          and earlier.{column} is distinct from :id
        order by earlier.place desc, earlier.id desc limit 1) as before
      join commit on commit.id = before.commit_id
    group by before.run_id, before.upload_id, its.arm, before.arm, commit.id
    order by count(*) desc, its.arm desc, before.run_id desc, before.upload_id desc limit 1
    """
_BEFORE_RUN, _BEFORE_UPLOAD = (_BEFORE.format(column=column) for column in ("run_id", "upload_id"))


def published_before(session: Session, run: Run, job: Job) -> Before | None:
    """Return the last published run of the same suite on the same device class, for a run without points of its own."""
    row = session.execute(
        select(Run.id, Commit.sha, Commit.subject, Run.published_at)
        .join(Job, Job.id == Run.job_id)
        .join(Commit, Commit.id == Job.head_commit_id)
        .where(
            Run.project_id == run.project_id,
            Run.id < run.id,
            Run.published_at.is_not(None),
            Job.suite == job.suite,
            Job.device_class == job.device_class,
        )
        .order_by(Run.id.desc())
        .limit(1)
    ).one_or_none()
    return Before(row[0], None, "head", "head", row[1], row[2], row[3]) if row and row[3] else None


def environment_of(session: Session, before: Before) -> Environment | None:
    """Return the environment that it was measured in; None where that is not known."""
    query = select(Environment)
    if before.run_id is not None:
        query = query.join(Run, Run.environment_id == Environment.id).where(Run.id == before.run_id)
    else:
        query = query.join(Upload, Upload.environment_id == Environment.id).where(
            Upload.id == before.upload_id
        )
    return session.scalars(query).one_or_none()
