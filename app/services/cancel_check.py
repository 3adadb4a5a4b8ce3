"""Somebody no longer wants a check: what waits is closed, what runs is asked to stop."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.jobs import HELD, JobState
from app.services.access import Principal, Scope
from app.services.lease_jobs import announce, end_job
from app.store.repositories import access, checks, clock, jobs


def cancel_check(session: Session, principal: Principal, check_id: int) -> None:
    """Cancel every job that only this check needs; an agent hears of it in its next answer.

    Raises NotFoundError for an unknown check, AccessError where its project's checks are not the principal's to cancel.
    Cancelling a finished check changes nothing.
    """
    check = checks.one(session, check_id)
    if check is None:
        raise NotFoundError(f"there is no check {check_id}")
    principal.require(Scope.JOBS_CREATE, check.project_id)
    check.cancelled_at = check.cancelled_at or clock.now(session)
    session.flush()
    for job in jobs.of_request(session, check.request_id, lock=True):
        if jobs.is_needed(session, job.id):
            continue
        if job.state == JobState.QUEUED:
            end_job(session, job, JobState.CANCELLED, reason="cancelled", message=f"by {principal.name}")
        elif job.state in HELD and job.cancel_requested_at is None:
            job.cancel_requested_at = clock.now(session)
            announce(session, job)
    access.audit(session, principal.name, "check.cancelled", f"check/{check_id}")
