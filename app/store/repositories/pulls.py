"""Pull requests, as they were last seen."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.domain.jobs import JobState
from app.store.tables import Check, Job, PullRequest, Repository, RequestJob


def locked(session: Session, repository_id: int, number: int) -> PullRequest | None:
    """Lock and return a pull request; None if it was never seen."""
    query = select(PullRequest).where(
        PullRequest.repository_id == repository_id, PullRequest.number == number
    )
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()


def all_open(session: Session, repository_id: int) -> Sequence[PullRequest]:
    """Return the pull requests that were open when they were last seen."""
    query = select(PullRequest).where(PullRequest.repository_id == repository_id, PullRequest.state == "open")
    return session.scalars(query.order_by(PullRequest.number)).all()


def of_head(session: Session, repository_id: int, sha: str) -> Sequence[PullRequest]:
    """Lock and return the open pull requests whose head this is."""
    query = select(PullRequest).where(
        PullRequest.repository_id == repository_id,
        PullRequest.head_sha == sha,
        PullRequest.state == "open",
    )
    return session.scalars(query.order_by(PullRequest.id).with_for_update()).all()


def unlooked(session: Session) -> Sequence[tuple[int, int]]:
    """Return (repository, number) of pull requests that somebody wants measured again, or something of them."""
    is_wanted = PullRequest.rerun | (func.jsonb_array_length(PullRequest.wishes) > 0)
    rows = session.execute(
        select(PullRequest.repository_id, PullRequest.number)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .where(is_wanted, PullRequest.state == "open", Repository.is_connected)
    ).all()
    return [(row[0], row[1]) for row in rows]


def unserved(session: Session, most: int) -> Sequence[tuple[PullRequest, Job]]:
    """Return open pull requests with those jobs that no worker took; not what was tried again so often already."""
    rows = session.execute(
        select(PullRequest, Job)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .join(Check, Check.id == PullRequest.check_id)
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .where(
            PullRequest.state == "open",
            PullRequest.retries < most,
            ~PullRequest.rerun,
            func.jsonb_array_length(PullRequest.wishes) == 0,
            Repository.is_connected,
            Check.state == "complete",
            Job.state.in_((JobState.NO_CAPACITY, JobState.EXPIRED)),
        )
        .order_by(PullRequest.id, Job.id)
        .with_for_update(of=PullRequest, skip_locked=True)
    ).all()
    return [(row[0], row[1]) for row in rows]


def shown_with_check(session: Session, check_id: int) -> tuple[PullRequest, str] | None:
    """Return the pull request whose newest head a check is of, and what its repository is called; nothing is locked."""
    row = session.execute(
        select(PullRequest, Repository.slug)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .where(PullRequest.check_id == check_id)
        .limit(1)
    ).one_or_none()
    return None if row is None else (row[0], row[1])
