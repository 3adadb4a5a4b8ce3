"""How far a check has come, in a few cheap numbers: what a terminal or a page shows while it waits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.jobs import TERMINAL, JobState
from app.store.repositories import checks, jobs, runs
from app.store.tables import Job


@dataclass(frozen=True)
class JobProgress:
    """One suite on one device class: where it stands; `place` is 1-based and set only while it waits."""

    suite: str
    device_class: str
    state: str
    phase: str
    detail: str
    reason: str | None
    message: str | None
    place: int | None
    attempts: int
    claimed_after_s: float | None
    """From the request to the newest lease, by the database's clock [s]."""
    pairs: int
    settled: int
    cases: int
    device_s: float
    budget_s: float


def watch_check(session: Session, check_id: int) -> dict[str, Any]:
    """Return `{check, state, conclusion, title, jobs: [...]}` as plain JSON. Raises NotFoundError."""
    check = checks.one(session, check_id)
    if check is None:
        raise NotFoundError(f"there is no check {check_id}")
    its_jobs = jobs.of_request(session, check.request_id)
    return {
        "check": check.id,
        "state": check.state,
        "conclusion": check.conclusion,
        "title": check.title,
        "jobs": [asdict(_progress(session, job)) for job in its_jobs],
    }


def _progress(session: Session, job: Job) -> JobProgress:
    run = runs.latest_of_job(session, job.id)
    attempt = runs.attempt_of(session, run)[0] if run else None
    live = attempt is not None and job.state not in TERMINAL and job.state != JobState.QUEUED
    gating = [verdict for _, verdict, gates in runs.states_of(session, run.id) if gates] if run else []
    return JobProgress(
        suite=job.suite,
        device_class=job.device_class,
        state=job.state,
        phase=attempt.phase if attempt and live else "",
        detail=attempt.detail if attempt and live else "",
        reason=job.reason,
        message=job.message,
        place=jobs.queue_place(session, job) + 1 if job.state == JobState.QUEUED else None,
        attempts=job.attempt,
        claimed_after_s=(attempt.started_at - job.created_at).total_seconds() if attempt else None,
        pairs=runs.progress(session, run.id)[0] if run else 0,
        settled=sum(verdict is not None for verdict in gating),
        cases=len(gating),
        device_s=max(run.device_s, attempt.device_s) if run and attempt else 0.0,
        budget_s=job.budget_s,
    )
