"""A check that somebody wants made once more: its pull request's, or just the same commits and suites."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.services.access import Principal, Scope
from app.services.forge.ask_measure import Wanted, ask_measure, connected_repository
from app.store.repositories import awaiting, checks, jobs
from app.store.tables import MeasureRequest, PullRequest


def can_be_measured_again(session: Session, principal: Principal | None, check_id: int) -> bool:
    """Say whether somebody may have a check made again, and its repository can be reached."""
    found = None if principal is None else checks.with_context(session, check_id)
    if principal is None or found is None or not principal.may(Scope.JOBS_CREATE, found[1].id):
        return False
    return connected_repository(session, found[1]) is not None


def measure_again(session: Session, principal: Principal, check_id: int) -> MeasureRequest:
    """Have a check made again; return the request. Raises what `ask_measure` raises."""
    found = checks.with_context(session, check_id)
    if found is None:
        raise NotFoundError(f"there is no check {check_id}")
    check, project, base, head = found
    of_pull = awaiting.of_check(session, PullRequest, check_id)
    if of_pull is not None:
        return ask_measure(session, principal, project, Wanted(pull=of_pull[0].number))
    suites = dict.fromkeys(job.suite for job in jobs.of_request(session, check.request_id))
    return ask_measure(
        session, principal, project, Wanted(head=head.sha, base=base.sha, suites=tuple(suites))
    )
