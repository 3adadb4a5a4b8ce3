"""A suspicion asks for measurements, and what they said settles it.

Where our own agents measure the project, the commit before and the suspected one are measured in pairs, by a request
of the trigger `confirm`: after the checks of pull requests, before everything else. Two commits are measured once, or
again where that did not come about; an answer settles suspicions of exactly these commits. Settings and source are
those of a head that has landed since it was checked. Where there is none, or results are posted from elsewhere, nobody
can be told to measure: what is wanted is listed, and more values of those commits, or later points, settle it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA
from app.config import ServiceSettings
from app.domain.changes import MACHINE_CHANGE, MEASURED_NO_CHANGE, WITHIN_CHANCE, ChangeState
from app.domain.jobs import TERMINAL, JobState
from app.domain.verdicts import Verdict
from app.services.confirm_once import confirm_once, is_rise
from app.services.job_sources import source_with
from app.services.lease_jobs import hint
from app.services.weigh_change import is_beyond_chance
from app.store.repositories import access, changes, clock, fleet, jobs, runs
from app.store.repositories.upsert import get_or_create
from app.store.tables import ChangePoint, Commit, Job, Request, RequestJob, Series
from app.store.tables import Verdict as VerdictRow

TRIGGER = "confirm"
BAND = 5
"""Claimed after the checks of pull requests (0), before pushes (10): somebody may be about to build on the commit."""


TRIES = 3
"""Jobs for the same two commits, all but the last of which did not come to an end: what fails so often fails again."""


def ask_to_confirm(session: Session, settings: ServiceSettings, change: ChangePoint) -> Request | None:
    """Have our own agents measure the suspected change in pairs; None where they cannot, or need not (yet).

    Nobody is asked for what is the machine's, or not beyond chance among the series of its commit. At most one
    unfinished request a suspicion, one for all suspicions of the same two commits in a series, and so many unfinished
    ones a project as `RATCHET_CONFIRMATIONS_MOST` says.
    """
    if change.request_id is not None or change.label == MACHINE_CHANGE:
        return None
    if change.reason == WITHIN_CHANCE:
        if not is_beyond_chance(session, change.project_id, change.series_id, change.branch, change):
            return None
        change.reason = None
    change.request_id = changes.asked_before(session, change)
    if change.request_id is not None:
        change.reason = None  # what it says is still to be read
        return None
    series = session.get_one(Series, change.series_id)
    before = session.get_one(Commit, change.previous_commit_id)
    after = session.get_one(Commit, change.commit_id)
    like = jobs.newest_landed(session, series.id, change.branch)
    if like is None or not _can_be_measured(session, settings, like):
        return None
    source = source_with(session, settings, like, (before, after))
    if source is None:
        return None
    job = _job(session, settings, like, series.metric, change.branch, source, before, after)
    if job is None:
        return None
    request, _ = get_or_create(
        session,
        Request,
        {"key": f"{change.project_id}/{TRIGGER}/{change.id}/{job.id}"},
        project_id=change.project_id,
        trigger=TRIGGER,
        asked_by="service",
    )
    get_or_create(session, RequestJob, {"request_id": request.id, "job_id": job.id})
    change.request_id, change.reason = request.id, None
    session.flush()
    if job.state == JobState.QUEUED:
        hint(session, job)
    access.audit(session, "service", "change.confirmation_requested", f"change/{change.id}", job=job.id)
    return request


def _can_be_measured(session: Session, settings: ServiceSettings, like: Job) -> bool:
    going = jobs.unfinished(session, like.project_id, BAND)
    if going >= settings.confirmations_most:
        return False
    most = fleet.most_devices_of_one_worker(session, like.device_class, within=settings.worker_live_for)
    return most >= like.devices_needed


def _job(
    session: Session,
    settings: ServiceSettings,
    like: Job,
    metric: str,
    branch: str,
    source: dict[str, str],
    before: Commit,
    after: Commit,
) -> Job | None:
    """Return the paired job; suspicions of other cases in the same metric of the same suite share it.

    One that ended without having measured is followed by another; None after so many as `TRIES`.
    """
    spec = like.spec | {"source": source, "base_sha": before.sha, "head_sha": after.sha}
    policy: dict[str, Any] = like.policy | {"alpha": ALPHA, "gate": [metric], "history": branch}
    identity = {
        "trigger": TRIGGER,
        "project": like.project_id,
        "class": like.device_class,
        "spec": spec["suite"],
        "base": before.sha,
        "head": after.sha,
        "policy": policy,
    }
    for nth in range(TRIES):
        key = hashlib.sha256(json.dumps(identity | {"nth": nth}, sort_keys=True).encode()).hexdigest()
        job, _ = get_or_create(
            session,
            Job,
            {"key": key},
            project_id=like.project_id,
            suite=like.suite,
            device_class=like.device_class,
            devices_needed=like.devices_needed,
            base_commit_id=before.id,
            head_commit_id=after.id,
            spec=spec,
            policy=policy,
            budget_s=like.budget_s,
            max_pairs=like.max_pairs,
            band=BAND,
            deadline_at=clock.now(session, plus_s=settings.queue_deadline_s),
        )
        if job.state not in TERMINAL or job.state == JobState.SUCCEEDED:
            return job
    return None


def settle_by_measurement(session: Session, change: ChangePoint) -> None:
    """Confirm or withdraw a suspicion by what its measurement said; without an answer it stands, with the reason.

    A job that failed, or could not measure, is no answer: it says nothing of the code, and may be asked for again. Nor
    is one that measured other commits, because the suspicion has moved since.
    """
    assert change.request_id is not None
    job = changes.jobs_of(session, [change.request_id]).get(change.request_id)
    if job is None:
        return
    if (job.base_commit_id, job.head_commit_id) != (change.previous_commit_id, change.commit_id):
        change.request_id = change.reason = None
        return
    if job.state not in TERMINAL:
        return
    now = clock.now(session)
    verdict = _verdict(session, job, session.get_one(Series, change.series_id))
    answer = measured_answer(change, verdict) if verdict is not None else None
    change.examined_at = now
    if answer == ChangeState.CONFIRMED:
        assert verdict is not None
        confirm_once(session, change, f"measured in pairs: {verdict.verdict}")
    elif answer == ChangeState.WITHDRAWN:
        change.state, change.closed_at, change.reason = answer, now, MEASURED_NO_CHANGE
    else:
        said = verdict.verdict if verdict is not None else job.reason or job.state
        change.reason = f"measured in pairs without an answer: {said}"
        if job.state != JobState.SUCCEEDED:
            change.request_id = None


def _verdict(session: Session, job: Job, series: Series) -> VerdictRow | None:
    if job.state != JobState.SUCCEEDED:
        return None
    run = runs.latest_of_job(session, job.id)
    return runs.verdict_of(session, run.id, series.case_id, series.metric) if run else None


def measured_answer(change: ChangePoint, verdict: VerdictRow) -> ChangeState | None:
    """Return what a verdict makes of a suspicion; None if it leaves it open.

    A verdict in the suspected direction confirms. It withdraws where not even half of the suspected change is left in
    the interval, or in the difference of an exact metric: a suspicion is seen larger than it is, but hardly twice.
    """
    rises = is_rise(change)
    if verdict.verdict in (Verdict.REGRESSED, Verdict.IMPROVED) and verdict.change is not None:
        return ChangeState.CONFIRMED if (verdict.change > 0) == rises else ChangeState.WITHDRAWN
    if verdict.verdict not in (Verdict.NO_REGRESSION, Verdict.INCONCLUSIVE) or change.change is None:
        return None
    bound = verdict.change if verdict.kind == "exact" else verdict.ci_high if rises else verdict.ci_low
    if bound is None:
        return None
    left = bound if rises else -bound
    return ChangeState.WITHDRAWN if left < abs(change.change) / 2 else None
