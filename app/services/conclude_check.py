"""From verdicts to a conclusion, once every job of a check has ended."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.jobs import TERMINAL, JobState
from app.domain.verdicts import Conclusion, GatingVerdict, Verdict, conclude
from app.reports.titles import check_title
from app.services.check_moved import check_moved
from app.services.metrics.counted import observe_verdict
from app.services.read_check import read_check
from app.store.repositories import access, checks, clock, jobs, outbox, runs
from app.store.tables import Check, Job


def conclude_check(session: Session, check_id: int) -> Conclusion | None:
    """Conclude the check if all its jobs have ended; return its conclusion, None while it is still going.

    A concluded check keeps its conclusion. Raises NotFoundError for an unknown check.
    """
    check = checks.locked(session, check_id)
    if check is None:
        raise NotFoundError(f"there is no check {check_id}")
    if check.conclusion is not None:
        return Conclusion(check.conclusion)
    its_jobs = jobs.of_request(session, check.request_id)
    if any(job.state not in TERMINAL for job in its_jobs):
        return None
    conclusion = _conclusion(session, list(its_jobs))
    _store(session, check, conclusion)
    return conclusion


def _conclusion(session: Session, its_jobs: list[Job]) -> Conclusion:
    gating: list[GatingVerdict] = []
    unmeasured = 0
    for job in its_jobs:
        verdicts = gating_verdicts(session, job)
        unmeasured += not verdicts
        gating += verdicts
    return conclude(gating, unmeasured_jobs=unmeasured)


def gating_verdicts(session: Session, job: Job) -> list[GatingVerdict]:
    """Return the gating verdicts that the job's run published; a job that did not succeed has none."""
    if job.state != JobState.SUCCEEDED:
        return []
    run = runs.latest_of_job(session, job.id)
    rows = runs.verdict_rows(session, run.id) if run else []
    return [
        GatingVerdict(Verdict(row.verdict or Verdict.NOT_MEASURED), row.could_hide)
        for row, _ in rows
        if row.gating
    ]


def _store(session: Session, check: Check, conclusion: Conclusion) -> None:
    check.conclusion, check.state = conclusion.value, "complete"
    check.concluded_at = clock.now(session)
    session.flush()
    check.title = check_title(read_check(session, check.id))
    outbox.put_again(session, "check.render", f"check.render/{check.id}", {"check_id": check.id})
    access.audit(session, "service", "check.concluded", f"check/{check.id}", conclusion=conclusion.value)
    check_moved(session, check.id)
    observe_verdict(session, check)
