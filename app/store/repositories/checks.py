"""Checks and reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.domain.jobs import TERMINAL
from app.store.tables import (
    Check,
    Commit,
    Invocation,
    Job,
    Project,
    Report,
    Request,
    RequestJob,
    Run,
    Verdict,
)


def one(session: Session, check_id: int) -> Check | None:
    """Return the check, or None."""
    return session.get(Check, check_id)


def locked(session: Session, check_id: int) -> Check | None:
    """Lock and return the check, or None."""
    return session.get(Check, check_id, with_for_update=True, populate_existing=True)


def newest(session: Session, project_id: int) -> Check | None:
    """Return the project's newest check, or None."""
    query = select(Check).where(Check.project_id == project_id).order_by(Check.id.desc()).limit(1)
    return session.scalars(query).one_or_none()


def unfinished(session: Session, project_id: int, trigger: str) -> int:
    """Return how many checks of the project that this has started are still waited for."""
    query = (
        select(func.count())
        .select_from(Check)
        .join(Request, Request.id == Check.request_id)
        .where(Check.project_id == project_id, Check.state != "complete", Request.trigger == trigger)
    )
    return session.scalar(query) or 0


def of_request(session: Session, request_id: int) -> Check | None:
    """Return the request's check, or None."""
    return session.scalars(select(Check).where(Check.request_id == request_id)).one_or_none()


def of_job(session: Session, job_id: int) -> Sequence[Check]:
    """Return the checks that need this job."""
    return session.scalars(
        select(Check)
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .where(RequestJob.job_id == job_id)
    ).all()


def begin(session: Session, job_id: int) -> None:
    """Note of the checks that need this job that something of them is measured."""
    of_job = (
        select(Check.id)
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .where(RequestJob.job_id == job_id, Check.state != "running")
        .order_by(Check.id)  # in which several jobs of the same checks wait for each other
        .with_for_update(of=Check, key_share=True)
    )
    session.execute(update(Check).where(Check.id.in_(of_job)).values(state="running"))


def with_context(session: Session, check_id: int) -> tuple[Check, Project, Commit, Commit] | None:
    """Return the check with its project, base commit and head commit."""
    base, head = aliased(Commit), aliased(Commit)
    row = session.execute(
        select(Check, Project, base, head)
        .join(Project, Project.id == Check.project_id)
        .join(base, base.id == Check.base_commit_id)
        .join(head, head.id == Check.head_commit_id)
        .where(Check.id == check_id)
    ).one_or_none()
    return (row[0], row[1], row[2], row[3]) if row else None


def recent(
    session: Session,
    *,
    limit: int,
    project: str | None = None,
    project_ids: Collection[int] | None = None,
    before: int | None = None,
    commit_id: int | None = None,
) -> Sequence[tuple[Check, Project, Commit, Commit]]:
    """Return the newest checks with project, base and head, or those next older than the check `before`.

    `commit_id` is one of both commits.
    """
    base, head = aliased(Commit), aliased(Commit)
    query = (
        select(Check, Project, base, head)
        .join(Project, Project.id == Check.project_id)
        .join(base, base.id == Check.base_commit_id)
        .join(head, head.id == Check.head_commit_id)
        .order_by(Check.id.desc())
        .limit(limit)
    )
    if project is not None:
        query = query.where(Project.name == project)
    if project_ids is not None:
        query = query.where(Check.project_id.in_(project_ids))
    if before is not None:
        query = query.where(Check.id < before)
    if commit_id is not None:
        query = query.where((Check.head_commit_id == commit_id) | (Check.base_commit_id == commit_id))
    return [(row[0], row[1], row[2], row[3]) for row in session.execute(query)]


@dataclass(frozen=True)
class JobCount:
    """How far a job of a check has come in its newest run: gating results planned, settled, pairs begun."""

    check_id: int
    state: str
    device_class: str
    gating: int
    settled: int
    pairs: int


def job_counts(session: Session, check_ids: Collection[int]) -> Sequence[JobCount]:
    """Return how far every job of these checks has come, in one statement."""
    newest = (
        select(
            Check.id.label("check_id"),
            Job.id.label("job_id"),
            Job.state,
            Job.device_class,
            func.max(Run.id).label("run_id"),
        )
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .outerjoin(Run, Run.job_id == Job.id)
        .where(Check.id.in_(check_ids))
        .group_by(Check.id, Job.id)
        .subquery()
    )
    planned = Verdict.run_id == newest.c.run_id, Verdict.gating
    gating = select(func.count()).select_from(Verdict).where(*planned).scalar_subquery()
    settled = select(func.count(Verdict.verdict)).where(*planned).scalar_subquery()
    pairs = (
        select(func.count(func.distinct(Invocation.pair_index)))
        .where(Invocation.run_id == newest.c.run_id)
        .scalar_subquery()
    )
    columns = newest.c.check_id, newest.c.state, newest.c.device_class, gating, settled, pairs
    return [JobCount(*row) for row in session.execute(select(*columns).order_by(newest.c.job_id))]


def ready_to_conclude(session: Session) -> Sequence[int]:
    """Return unfinished checks all of whose jobs have ended: their hint may have been lost."""
    still_going = (
        select(RequestJob.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .where(Job.state.not_in([str(state) for state in TERMINAL]))
    )
    return session.scalars(
        select(Check.id).where(Check.state != "complete", Check.request_id.not_in(still_going))
    ).all()


def without_report(session: Session, *, older_than: timedelta, newer_than: timedelta | None) -> Sequence[int]:
    """Return concluded checks whose report is missing although it is time, and not yet time for it to go."""
    query = (
        select(Check.id)
        .outerjoin(Report, Report.check_id == Check.id)
        .where(
            Check.state == "complete",
            Report.check_id.is_(None),
            Check.concluded_at < func.clock_timestamp() - older_than,
        )
    )
    if newer_than is not None:
        query = query.where(Check.concluded_at > func.clock_timestamp() - newer_than)
    return session.scalars(query).all()


def report(session: Session, check_id: int) -> bytes | None:
    """Return the compressed report of the check, or None."""
    return session.scalars(select(Report.html_gz).where(Report.check_id == check_id)).one_or_none()


def put_report(session: Session, check_id: int, html_gz: bytes) -> None:
    """Store the report; a later rendering of the same check replaces it."""
    statement = insert(Report).values(check_id=check_id, html_gz=html_gz)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["check_id"], set_={"html_gz": html_gz, "created_at": func.clock_timestamp()}
        )
    )
