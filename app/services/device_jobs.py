"""Jobs that look after devices: a commit against itself, a calibration, the last commit on a machine that changed.

They are for one device, come after everything that somebody waits for, and have the settings of a head that landed.
Asking twice for the same is one job.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA, ALPHA_PASS
from app.config import ServiceSettings
from app.services.device_purpose import Purpose
from app.services.job_sources import source_with
from app.services.lease_jobs import hint
from app.store.repositories import access, clock, fleet, jobs, machines
from app.store.repositories.upsert import get_or_create
from app.store.tables import Commit, Device, Epoch, Job, Request, RequestJob

BANDS = {"calibrate": 5, "bridge": 5, "self_check": 20}
SELF_CHECK_CASES = 2
SELF_CHECK_PAIRS = 32
SELF_CHECK_MINUTES = 10.0
FIRST_CALIBRATION = timedelta(minutes=5)
"""After a quarantine; each further one waits twice as long, a day at most."""

LONGEST_SPACING = timedelta(days=1)


def tend_devices(session: Session, settings: ServiceSettings) -> int:
    """Ask for whatever the devices of live workers are due for; return how many jobs were made."""
    now = clock.now(session)
    made = 0
    for device in fleet.tended_devices(session, within=settings.worker_live_for):
        if device.health == "quarantined":
            made += _calibrate(session, settings, device, now)
        elif device.health == "good":
            made += _self_check(session, settings, device, now)
            made += _bridge(session, settings, device)
    return made


def _calibrate(session: Session, settings: ServiceSettings, device: Device, now: datetime) -> bool:
    """Have a device in quarantine show its control again, first soon and then ever more rarely."""
    past = machines.jobs_since_quarantine(session, device.id)
    spacing = min(FIRST_CALIBRATION * 2 ** len(past), LONGEST_SPACING)
    since = past[-1].created_at if past else machines.quarantined_at(session, device.id)
    if any(job.finished_at is None for job in past) or (since is not None and now - since < spacing):
        return False
    like = jobs.newest_on(session, device.device_class)
    if like is None:
        return False
    return _make(
        session,
        settings,
        device,
        like,
        Purpose.CALIBRATE,
        f"{now:%Y-%m-%dT%H:%M}",
        (None, _head(session, like)),
    )


def _self_check(session: Session, settings: ServiceSettings, device: Device, now: datetime) -> bool:
    """Have a device measure a commit against itself, once in the night of every day."""
    if not settings.self_check_from <= now.hour < settings.self_check_until:
        return False
    like = jobs.newest_landed_on(session, device.device_class)
    if like is None:
        return False
    head = _head(session, like)
    return _make(session, settings, device, like, Purpose.SELF_CHECK, f"{now:%Y-%m-%d}", (head, head))


def _bridge(session: Session, settings: ServiceSettings, device: Device) -> bool:
    """Have the last commit of the history measured on a machine that has changed since."""
    epoch: Epoch | None = machines.last_epoch(session, device.id)
    if epoch is None or not epoch.changes:
        return False
    like = jobs.newest_landed_on(session, device.device_class)
    if like is None:
        return False
    return _make(
        session, settings, device, like, Purpose.BRIDGE, f"epoch {epoch.id}", (None, _head(session, like))
    )


def _head(session: Session, job: Job) -> Commit:
    return session.get_one(Commit, job.head_commit_id)


def _make(
    session: Session,
    settings: ServiceSettings,
    device: Device,
    like: Job,
    purpose: Purpose,
    occasion: str,
    commits: tuple[Commit | None, Commit],
) -> bool:
    base, head = commits
    source = source_with(session, settings, like, [commit for commit in commits if commit is not None])
    if source is None:
        return False
    key = f"{purpose}/{device.id}/{occasion}"
    job, is_new = get_or_create(
        session,
        Job,
        {"key": key},
        project_id=like.project_id,
        suite=like.suite,
        device_class=device.device_class,
        device_id=device.id,
        base_commit_id=base.id if base else None,
        head_commit_id=head.id,
        spec=like.spec
        | {
            "source": source,
            "base_sha": base.sha if base else None,
            "head_sha": head.sha,
            "purpose": purpose,
        },
        policy=_policy(like, purpose, head),
        budget_s=min(like.budget_s, SELF_CHECK_MINUTES * 60),
        max_pairs=SELF_CHECK_PAIRS,
        band=BANDS[purpose],
        deadline_at=clock.now(session, plus_s=settings.queue_deadline_s),
    )
    if not is_new:
        return False
    request, _ = get_or_create(
        session, Request, {"key": key}, project_id=like.project_id, trigger=str(purpose), asked_by="service"
    )
    session.add(RequestJob(request_id=request.id, job_id=job.id))
    session.flush()
    hint(session, job)
    access.audit(session, "service", f"device.{purpose}", f"device/{device.id}", job=job.id)
    return True


def _policy(like: Job, purpose: Purpose, head: Commit) -> dict[str, Any]:
    policy: dict[str, Any] = like.policy | {"purpose": str(purpose), "alpha": ALPHA, "alpha_pass": ALPHA_PASS}
    policy.pop("history", None)
    if purpose is Purpose.BRIDGE and head.branch:
        policy["history"] = head.branch
    if purpose is Purpose.SELF_CHECK:
        policy |= {"most_cases": SELF_CHECK_CASES, "budgets": []}
    return policy
